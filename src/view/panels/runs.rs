//! What measured runs teach: constants before and after, how each run stands, and the runs to make next.

use crate::core::calibrate::{Calibrated, Observation, informed_by, warning, wrong_layout};
use crate::core::message::{Message, verbatim};
use crate::core::t;
use crate::core::units::{Seconds, show_off, show_percent, show_seconds, significant};
use crate::view::node::markup::{Node, el, leaf, load, table, text};

/// The view of a fit of `observations`; `command` writes the launch command of a run.
#[must_use]
pub fn fitted(
    observations: &[Observation],
    of: &Calibrated,
    command: impl Fn(&crate::core::run::Run) -> Option<String>,
) -> Node {
    let mut parts = vec![leaf("h3", "", "What your runs taught"), constants(of)];
    let name = |index: usize| {
        let observation = observations.get(index);
        observation.map(|one| one.name.clone()).unwrap_or_default()
    };
    if !of.fit.standings.is_empty() {
        let rows: Vec<_> = of
            .fit
            .standings
            .iter()
            .map(|run| {
                let off = |predicted: f64| text(show_off(predicted / run.measured_s - 1.0, 1));
                let cells = vec![
                    text(verbatim(name(run.observation))),
                    text(show_seconds(Seconds(run.measured_s))),
                    off(run.before_s),
                    off(run.after_s),
                ];
                (run.stands_out(), cells)
            })
            .collect();
        let head = ["run", "measured", "shipped constants", "your profile"];
        parts.push(table("Your runs", &head, &rows));
    }
    let named = |index: usize, message: Message| {
        let name = verbatim(name(index));
        leaf(
            "li",
            "issue warning",
            t!("{name}: {message}", name, message),
        )
    };
    let mut warnings: Vec<Node> = Vec::new();
    for run in &of.fit.standings {
        warnings.extend(warning(run).map(|message| named(run.observation, message)));
    }
    for one in of.fit.memory.allocated.iter().filter(|one| one.is_wrong()) {
        warnings.push(named(one.observation, wrong_layout(one)));
    }
    if !warnings.is_empty() {
        parts.push(el("ul", &[("class", "gaps")], &warnings));
    }
    if of.fit.memory.runs > 0 {
        parts.push(leaf(
            "p",
            "",
            t!(
                "Memory: {gib} GiB beyond the model's overhead, reserved {ratio} times allocated.",
                gib = significant(of.fit.memory.overhead_gib, 2),
                ratio = significant(of.fit.memory.ratio, 3)
            ),
        ));
    }
    parts.push(next(of, command));
    Node::from_iter(parts)
}

fn constants(of: &Calibrated) -> Node {
    let width = |log: f64| format!("± {}", show_percent(log.exp_m1()));
    let rows: Vec<_> = of
        .fit
        .lessons
        .iter()
        .map(|lesson| {
            let words = if lesson.informed {
                t!("times {factor}", factor = significant(lesson.factor, 3))
            } else {
                t!(
                    "not informed by your runs; {what} would be",
                    what = informed_by(lesson.multiplier)
                )
            };
            let cells = vec![
                text(lesson.multiplier.name()),
                text(words),
                text(width(lesson.before)),
                text(width(lesson.width)),
            ];
            (false, cells)
        })
        .collect();
    let head = ["time of", "learned", "width before", "after"];
    table("What your runs taught", &head, &rows)
}

/// The runs to make next, the first with its launch command.
fn next(of: &Calibrated, command: impl Fn(&crate::core::run::Run) -> Option<String>) -> Node {
    let Some(first) = of.next.first() else {
        return Node::none();
    };
    let rows: Vec<_> = of
        .next
        .iter()
        .map(|next| {
            let run = &next.run;
            let layout = t!(
                "{gpus} GPUs, TP {tp} PP {pp} CP {cp}, micro-batch {micro} of {seq_len} tokens",
                gpus = run.gpus,
                tp = run.tp,
                pp = run.pp,
                cp = run.cp,
                micro = run.micro_batch,
                seq_len = run.seq_len
            );
            let sd = |log: f64| text(show_percent(log.exp_m1()));
            (
                false,
                vec![
                    load("link", run, "", &[text(layout)]),
                    text(next.teaches.name()),
                    sd(next.sd.0),
                    sd(next.sd.1),
                ],
            )
        })
        .collect();
    let head = ["run", "teaches most", "width now", "after it"];
    let mut parts = vec![
        leaf("h3", "", "The next run to try"),
        table("The next run to try", &head, &rows),
    ];
    if let Some(command) = command(&first.run) {
        let copy = leaf("button", "", "Copy").on(crate::view::node::markup::Action::Save(
            crate::view::node::action::Save::Copy,
        ));
        let shown = el("div", &[], &[copy, leaf("pre", "", verbatim(command))]);
        parts.push(crate::view::node::markup::fold(
            "Launch command of the first",
            shown,
        ));
    }
    Node::from_iter(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::calibrate::Request;
    use crate::core::report::evaluate;
    use crate::core::run::Run;

    #[test]
    fn a_fit_says_what_was_learned_what_was_not_and_what_to_run_next() {
        let run = Run {
            gpus: 8,
            global_batch: 32,
            ..Run::default()
        };
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        let request = Request {
            observations: vec![Observation::step("mine", run, seconds * 1.6)],
            name: "ours".to_owned(),
            question: Some(Run::default()),
            gpus: Some(8),
        };
        let of = request.answer().unwrap();
        let html = fitted(&request.observations, &of, |_| Some("torchrun".to_owned())).to_html();
        for words in [
            "GEMM and attention",
            "not informed by your runs",
            "60 % slower",
            "mine",
            "The next run to try",
            "torchrun",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
}
