//! The procedure of Pengfei He's blog: everything that saves memory first, then one after the other taken back while it
//! fits.

use crate::learn::prelude::*;
use crate::views::PanelsTab;
use shardscope_core::run::OneOf;

/// Everything that saves memory, at first; and what is taken back, one after the other.
const SHRUNK: [(&str, &str); 6] =
    [("recompute", "full"), ("micro_batch", "1"), ("zero", "3"), ("tp", "8"), ("pp", "1"), ("cp", "1")];
const RESTORED: [(&str, &[(&str, &str)]); 5] = [
    ("less recomputation", &[("recompute", "none")]),
    ("whole weights", &[("zero", "1")]),
    ("half of the tensor ranks", &[("tp", "4")]),
    ("larger micro-batches", &[("micro_batch", "2")]),
    ("larger still", &[("micro_batch", "4")]),
];

/// A step of the procedure: its settings, and whether they are kept.
struct Tried {
    name: &'static str,
    evaluation: Evaluation,
    kept: bool,
}

/// The steps for `s` tokens on `gpus`: a change is kept where it fits and is faster.
fn walk(s: u64, gpus: u64) -> Vec<Tried> {
    let link = |set: &[(&str, &str)]| {
        let pairs: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        run(&format!("model=llama-3.1-70b&seq_len={s}&gpus={gpus}&global_batch=512&{}", pairs.join("&")))
    };
    let mut set = SHRUNK.to_vec();
    let Some(first) = link(&set) else {
        return Vec::new();
    };
    let mut best = first.report.step.time_s;
    let mut tried = vec![Tried { name: "everything shrunk", evaluation: first, kept: true }];
    for (name, changes) in RESTORED {
        let mut next = set.clone();
        for (key, value) in changes {
            next.iter_mut().filter(|(known, _)| known == key).for_each(|entry| entry.1 = value);
        }
        let Some(evaluation) = link(&next) else {
            continue;
        };
        let time = evaluation.report.step.time_s;
        let kept = evaluation.report.memory.verdict == Verdict::Fits && time < best;
        if kept {
            (set, best) = (next, time);
        }
        tried.push(Tried { name, evaluation, kept });
    }
    tried
}

pub(super) fn restore(dials: &Dials) -> Live {
    let (s, gpus) = (dials.get("s"), dials.get("G"));
    let tried = walk(s, gpus);
    let (Some(first), Some(last)) = (tried.first(), tried.iter().rfind(|one| one.kept)) else {
        return Live::default();
    };
    let bars: Vec<Bar> = tried
        .iter()
        .filter_map(|one| {
            let memory = &one.evaluation.report.memory;
            let rank = memory.per_stage.get(memory.peak_stage)?;
            let bytes = [rank.weights, rank.gradients, rank.optimizer, rank.activations, rank.buffers, rank.overhead];
            let step = show_seconds(one.evaluation.report.step.time_s);
            let name = if one.kept {
                t!("{name}, {step}: kept", name = one.name, step)
            } else {
                t!("{name}, {step}: taken back", name = one.name, step)
            };
            Some(Bar::new(name, bytes.map(|bytes| bytes.0)))
        })
        .collect();
    let time = |one: &Tried| one.evaluation.report.step.time_s;
    let peak = |one: &Tried| gib(one.evaluation.report.memory.peak_bytes.0);
    let text: Vec<Message> = vec![
        t!(
            "Pengfei He's blog first turns on all that saves memory: full recomputation, sharded weights, tensor \
                parallelism over the node. Here a GPU holds {peak} and a step takes {time}.",
            peak = peak(first),
            time = show_seconds(time(first))
        ),
        t!("Then take savings back, one at a time, and keep what fits and is faster."),
        t!(
            "At the end a GPU holds {peak} and a step takes {time}.",
            peak = peak(last),
            time = show_seconds(time(last))
        ),
    ];
    let saved = 1.0 - time(last).0 / time(first).0;
    Live::of(text)
        .below("the step time at the end", time(last).0, 40.0, |seconds| show_seconds(Seconds(seconds)))
        .formula(
            "gain = 1 − T₂ / T₁",
            format!("1 − {} / {} = {}", show_seconds(time(last)), show_seconds(time(first)), show_percent(saved)),
        )
        .note(t!(
            "The order of a procedure decides what it finds; {view} looks at all combinations.",
            view = PanelsTab::Layouts.choice().label
        ))
        .memory(&bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The view that it names is one that the page has.
    #[test]
    fn the_view_that_looks_at_all_is_one_of_the_page() {
        let step = super::super::LESSON.steps.iter().find(|step| step.id == "restore").unwrap();
        let note = (step.live)(&Dials::new(step.sliders, &[])).note.to_string();
        let views = PanelsTab::ALL.iter().map(|(_, choice)| choice.label);
        let named = views.filter(|label| note.contains(&format!("; {label} looks"))).count();
        assert_eq!(named, 1, "{note}");
    }

    /// A change that is kept fits and is never slower; one that is taken back does not fit or is no faster.
    #[test]
    fn what_is_kept_fits_and_is_faster() {
        for (s, gpus) in [(4096, 64), (8192, 128), (16_384, 256)] {
            let tried = walk(s, gpus);
            assert!(tried.len() > 3 && tried[1..].iter().any(|one| one.kept), "{s} {gpus}");
            let mut best = f64::INFINITY;
            for one in &tried {
                let report = &one.evaluation.report;
                let (fits, time) = (report.memory.peak_bytes <= report.memory.capacity_bytes, report.step.time_s.0);
                assert_eq!(one.kept, one.kept && fits && time < best, "{}", one.name);
                assert!(one.kept || !fits || time >= best || report.memory.verdict == Verdict::Tight, "{}", one.name);
                best = if one.kept { time } else { best };
            }
        }
    }
}
