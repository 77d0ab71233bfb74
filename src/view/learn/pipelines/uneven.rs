//! Stages of unequal layers: NVIDIA's vision-language run, whose first rank also has the vision tower.

use super::super::caption::listed;
use super::super::moments::Moments;
use super::super::pictures::scrubbed;
use crate::charts::figure::key;
use crate::charts::strips::strips;
use crate::learn::prelude::*;
use crate::node::markup::text as text_node;
use shardscope_core::memory::MemoryMethod;
use shardscope_core::memory::RankLoad;
use shardscope_core::memory::methods::uneven::{UnevenMethod, compute_shares, projector, split};
use shardscope_core::run::presets::{Measured, PUBLISHED, PublishedRun};

/// A published run, and the step that was measured.
fn published(id: &str) -> Option<(&'static PublishedRun, f64)> {
    let published = PUBLISHED.iter().find(|published| published.id == id)?;
    let step = published.measured.iter().find_map(|figure| match figure {
        Measured::Step(seconds) => Some(*seconds),
        _ => None,
    })?;
    Some((published, step))
}

/// Width of the vision tower of the run that was measured, the second of the note's three cases.
const MEASURED_WIDTH: u64 = 4096;

/// NVIDIA's run on `tp` ranks a stage, with a vision tower of this width and `first` layers of the language model on
/// its first rank.
fn with(first: u64, tp: u64, width: u64) -> Option<Evaluation> {
    let run = published("qwen2-vl-even")?.0.run();
    let layers = run.stage_layers.as_ref()?.iter().sum::<u64>();
    let split = Some(vec![first, layers.checked_sub(first)?]);
    let tower = [("model.vision.hidden", width), ("model.vision.ffn", 4 * width)];
    let run = run.with_texts(&tower.map(|(key, value)| (key, value.to_string())))?;
    let run = Run { stage_layers: split, gpus: 2 * tp, tp, ..run };
    evaluate(&run).ok()
}

/// Pipeline ranks of the table of splits by the rule: the note's two, and three.
const RULED: [u64; 2] = [2, 3];

/// The split of the note's rule for a tower of this width, and the shares of the FLOPs that ranks then have.
fn ruled(width: u64, ranks: u64) -> Option<(Vec<u64>, Vec<f64>)> {
    let run = with(14, 2, width)?.scenario.run;
    let even = Run { stage_layers: None, pp: ranks, gpus: 2 * ranks, ..run };
    let rule = split(&Scenario::new(&even).ok()?);
    let run = Run { stage_layers: Some(rule.clone()), ..even };
    Some((rule, compute_shares(&Scenario::new(&run).ok()?)))
}

/// The rule's split of each of the note's three towers, with the share of the FLOPs of each rank.
fn splits() -> Node {
    let towers = super::TOWER.values.iter();
    let rows = towers.flat_map(|width| RULED.map(|ranks| (*width, ranks))).filter_map(|(width, ranks)| {
        let (split, shares) = ruled(width, ranks)?;
        let layers: Vec<String> = split.iter().map(u64::to_string).collect();
        let shares: Vec<String> = shares.into_iter().map(show_percent).collect();
        let cells = [width.to_string(), ranks.to_string(), layers.join("/"), shares.join(" / ")];
        Some(cells.map(verbatim).to_vec())
    });
    let head = ["width of the vision tower", "ranks", "layers per stage", "FLOPs by rank"];
    listed("NVIDIA's rule for its three towers", &head, rows.collect())
}

/// The measured steps with 14 and 14 layers, and with 10 and 18.
fn measured() -> [Seconds; 2] {
    ["qwen2-vl-even", "qwen2-vl-uneven"].map(|id| Seconds(published(id).map_or(0.0, |(_, step)| step)))
}

/// Memory of the first rank without tensor parallelism by the note's formula, GB: without its projector, as printed,
/// and the projector.
fn held(first: u64) -> [f64; 2] {
    let load = RankLoad { stages: vec![0], in_flight: vec![1.0], weight_versions: 1 };
    let Some(evaluation) = with(first, 1, MEASURED_WIDTH) else {
        return [0.0; 2];
    };
    let memory = UnevenMethod.rank(&evaluation.scenario, 0, &load);
    let projector = projector(&evaluation.scenario);
    [memory.total - projector, projector].map(Bytes::gb)
}

/// Layers of the stages: "10/18".
fn layers(split: &[u64]) -> Message {
    verbatim(split.iter().map(u64::to_string).collect::<Vec<_>>().join("/"))
}

fn step(split: &Evaluation) -> Seconds {
    split.report.step.time_s
}

fn bubble(split: &Evaluation) -> String {
    show_percent(split.report.pipeline.bubble_fraction)
}

/// The row of a split in the table.
fn split_row(name: &'static str, split: &Evaluation) -> Vec<Message> {
    let shares = compute_shares(&split.scenario).into_iter().map(show_percent);
    let shares = verbatim(shares.collect::<Vec<_>>().join(" / "));
    let mut row = vec![Message::from(name), layers(&split.scenario.stage_layers), shares];
    let peak = gib(split.report.memory.peak_bytes.0);
    row.extend([show_seconds(step(split)), bubble(split), peak].map(verbatim));
    row
}

/// The split of NVIDIA's rule, and what it gained where that was measured.
fn rule_words(width: u64, rule: Message) -> Message {
    if width == MEASURED_WIDTH {
        let [before, after] = measured();
        t!(
            "NVIDIA's rule counts FLOPs and gives {rule}; measured on H20 GPUs, {before} became {after}, {gain} times \
                as fast. Those steps are far longer than this estimate of them.",
            rule,
            before = show_seconds(before),
            after = show_seconds(after),
            gain = significant(before / after, 4)
        )
    } else {
        t!("NVIDIA's rule counts FLOPs and gives {rule}; this width was not measured.", rule)
    }
}

pub(super) fn uneven(dials: &Dials) -> Live {
    let (first, width) = (dials.get("l"), dials.get("v"));
    let (Some(even), Some(chosen)) = (with(14, 2, width), with(first, 2, width)) else {
        return Live::default();
    };
    let rule = split(&even.scenario);
    let Some(by_rule) = rule.first().and_then(|first| with(*first, 2, width)) else {
        return Live::default();
    };
    let [printed, projector] = held(10);
    let gain = step(&even).0 / step(&chosen).0;
    let drawn = [("even", &even), ("this split", &chosen)];
    let rows = drawn.map(|(name, split)| split_row(name, split));
    let named = |name: &'static str, split: &Evaluation| -> Message {
        let layers = layers(&split.scenario.stage_layers);
        t!("{name}: {layers} layers, a step of {time}", name, layers, time = show_seconds(step(split)))
    };
    let head = ["split", "layers per stage", "FLOPs by rank", "step", "bubble", "fullest GPU"];
    let live = Live::of([
        t!(
            "A pipeline is as fast as its slowest stage. Here the first rank also has a vision tower, so with equal \
                layers the second waits for it: {bubble} of the time is bubble.",
            bubble = bubble(&even)
        ),
        t!(
            "With {layers} layers both take about equal time, and a step takes {time} instead of {before}. But layers \
                also hold memory.",
            layers = layers(&rule),
            time = show_seconds(step(&by_rule)),
            before = show_seconds(step(&even))
        ),
    ])
    .below("the bubble of this split", chosen.report.pipeline.bubble_fraction, 0.1, show_percent)
    .formula(
        "gain = T(even) / T(uneven)",
        format!("{} / {} = {}", show_seconds(step(&even)), show_seconds(step(&chosen)), significant(gain, 3)),
    )
    .compared(t!(
        "For a tower of {width} and without tensor parallelism NVIDIA's note prints {printed} GB for the first rank, \
            which leaves out the projector of {projector} GB that its own formula has.",
        width = MEASURED_WIDTH,
        printed = significant(printed, 6),
        projector = significant(projector, 3)
    ))
    .note(rule_words(width, layers(&rule)));
    let pictured = "Even and uneven stages";
    let open = load("", &chosen.scenario.run, "Opens this split on the page.", &[text_node("Open this run")]);
    Live {
        legend: key(&[("c-forward", "F forward"), ("c-backward", "BW backward"), ("hatch", "bubble")]),
        picture: scrubbed(strips(&drawn.map(|(name, one)| (named(name, one), one.timeline()))).inline(pictured)),
        moments: Some(Moments::of(drawn.map(|(name, one)| (name.into(), one.timeline(), 1.0)), true)),
        table: Node::from_iter([el("p", &[], &[open]), data(&head, rows.into_iter().collect()), splits()]),
        ..live
    }
}

#[cfg(test)]
mod tests {
    use super::super::LESSON;
    use super::*;

    /// NVIDIA, uneven pipeline parallelism: 10 and 18 layers by the rule, 1.448 times as fast, and a printed total of
    /// 122.647 GB that lacks the projector's 0.237 GB.
    #[test]
    fn the_notes_numbers_are_beside_the_picture() {
        let step = LESSON.steps.iter().find(|step| step.id == "uneven").unwrap();
        let live = (step.live)(&Dials::new(step.sliders, &[]));
        let note = format!("{} {}", live.note, live.compared);
        for figure in ["gives 10/18", "28.4 s became 19.6 s", "1.448 times", "122.647 GB", "0.237 GB"] {
            assert!(note.contains(figure), "{note}");
        }
    }

    /// By hand, with the note's formulas: a layer of the language model is 3 (8 N h² + 4 h N² + 4 N h f) = 1.195
    /// TFLOP, the tower with its projector 8.776 TFLOP. Of 14 and 14 layers the first rank has 60.4 % of the FLOPs, of
    /// 10 and 18 it has 49.1 %.
    #[test]
    fn the_rules_split_gives_both_ranks_about_half_of_the_flops() {
        for (first, expected) in [(14, 0.604), (10, 0.491)] {
            let shares = compute_shares(&with(first, 2, MEASURED_WIDTH).unwrap().scenario);
            assert!((shares[0] - expected).abs() < 5e-4 && (shares[0] + shares[1] - 1.0).abs() < 1e-12, "{shares:?}");
        }
    }

    /// By hand, with a layer of 1.195 TFLOP and towers of 0.882, 8.775 and 33.258 TFLOP: the rule gives the other ranks
    /// `ceil(all / (p layer))` layers and the first what is left. Three ranks of the tower of 4096 have 32.1, 34.0 and
    /// 34.0 %. Of the tower of 8000 the first rank alone has half, however many follow.
    #[test]
    fn shares_by_rank_of_the_rules_splits_are_those_by_hand() {
        for (width, ranks, layers, shares) in [
            (1280, 2, vec![13, 15], vec![0.4780, 0.5220]),
            (4096, 2, vec![10, 18], vec![0.4907, 0.5093]),
            (8000, 2, vec![0, 28], vec![0.4985, 0.5015]),
            (1280, 3, vec![8, 10, 10], vec![0.3041, 0.3480, 0.3480]),
            (4096, 3, vec![4, 12, 12], vec![0.3209, 0.3395, 0.3395]),
            (8000, 3, vec![0, 14, 14], vec![0.4985, 0.2508, 0.2508]),
        ] {
            let (split, computed) = ruled(width, ranks).unwrap();
            assert_eq!(split, layers);
            let near = computed.iter().zip(&shares).all(|(ours, by_hand): (&f64, &f64)| (ours - by_hand).abs() < 1e-4);
            assert!(near && computed.len() == shares.len(), "{width} {ranks}: {computed:?}");
        }
    }

    /// The split of the rule is faster than the even one, as measured, and moving all layers is not.
    #[test]
    fn the_rules_split_is_faster_than_the_even_one() {
        let step = |first| with(first, 2, MEASURED_WIDTH).unwrap().report.step.time_s.0;
        assert!(step(10) < 0.95 * step(14));
        assert!(step(2) > step(10));
    }

    /// The note's three cases: towers of 1280, 4096 and 8000 give 13/15, 10/18 and 0/28 by its rule; each split runs,
    /// and is faster than the even one where it is not nearly even.
    #[test]
    fn the_three_cases_of_the_note_run() {
        let step = LESSON.steps.iter().find(|step| step.id == "uneven").unwrap();
        for (at, split, first) in [(0, "13/15", 13), (1, "10/18", 10), (2, "0/28", 0)] {
            let sliders = step.sliders;
            let l = sliders[0].values.iter().position(|value| *value == first).unwrap();
            let live = (step.live)(&Dials::new(sliders, &[l, at]));
            assert!(live.note.to_string().contains(&format!("gives {split};")), "{}", live.note);
            let width = sliders[1].values[at];
            let time = |first| with(first, 2, width).unwrap().report.step.time_s.0;
            assert!(time(first) < 1.05 * time(14), "{split}");
            assert!(first > 10 || time(first) < 0.95 * time(14), "{split}");
        }
    }
}
