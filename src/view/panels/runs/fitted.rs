//! What measured runs teach: constants before and after, how each run stands, and the runs to make next.

use super::{factor, standings};
use crate::core::calibrate::{Calibrated, Observation, informed_by, warning, wrong_layout};
use crate::core::issue::Issue;
use crate::core::message::{Message, verbatim};
use crate::core::report::FOUR_OF_FIVE;
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::{show_percent, significant};
use crate::view::node::action::Save;
use crate::view::node::markup::{Action, Node, el, leaf, load, table, text};
use crate::view::panels::issues::line;

/// The view of a fit of `observations` for `present`; `command` writes the launch command of a run.
#[must_use]
pub fn fitted(
    observations: &[Observation],
    of: &Calibrated,
    present: &Run,
    command: impl Fn(&Run) -> Option<String>,
) -> Node {
    let fit = &of.fit;
    let mut parts = vec![leaf("h3", "", "What your runs taught")];
    let named = |index: usize, message: Message| {
        let name = observations.get(index);
        let name = verbatim(name.map(|one| one.name.clone()).unwrap_or_default());
        line(&Issue::warning("", t!("{name}: {message}", name, message)))
    };
    for run in &fit.standings {
        parts.extend(warning(run).map(|message| named(run.observation, message)));
    }
    let wrong = fit.memory.allocated.iter().filter(|one| one.is_wrong());
    parts.extend(wrong.map(|one| named(one.observation, wrong_layout(one))));
    parts.push(constants(of));
    parts.push(leaf("p", "muted", t!(
        "Times of each kind of work over the shipped constants, with one standard deviation. Besides these, four of five runs lie within {spread} of the model either way.",
        spread = show_percent((FOUR_OF_FIVE * fit.spread).exp_m1())
    )));
    if fit.memory.runs > 0 {
        parts.push(leaf(
            "p",
            "",
            t!(
                "Memory: {gib} GiB beyond the model's overhead, reserved {ratio} times allocated.",
                gib = significant(fit.memory.overhead_gib, 2),
                ratio = significant(fit.memory.ratio, 3)
            ),
        ));
    }
    parts.push(standings(observations, &fit.standings));
    parts.push(next(of, present, command));
    Node::from_iter(parts)
}

fn constants(of: &Calibrated) -> Node {
    let row = |lesson: &crate::core::calibrate::Lesson| {
        let words = if lesson.informed {
            t!("informed by your runs")
        } else {
            t!(
                "not informed by your runs; {what} would be",
                what = informed_by(lesson.multiplier)
            )
        };
        let cells = vec![
            text(lesson.multiplier.name()),
            text(factor(1.0, lesson.before)),
            text(factor(lesson.factor, lesson.width)),
            text(show_percent(lesson.share)),
            leaf("span", "wrap", words),
        ];
        (lesson.informed, cells)
    };
    let rows: Vec<_> = of.fit.lessons.iter().map(row).collect();
    let head = ["time of", "before", "after", "largest share of a step", ""];
    table("What your runs taught", &head, &rows)
}

/// The runs to make next, the first with its launch command.
fn next(of: &Calibrated, present: &Run, command: impl Fn(&Run) -> Option<String>) -> Node {
    let Some(first) = of.next.first() else {
        return Node::none();
    };
    let row = |next: &crate::core::calibrate::Next| {
        // Opened with the values that are known already.
        let run = Run {
            profile: present.profile.clone(),
            ..next.run.clone()
        };
        let differences = run.differences(present).into_iter();
        let mut settings: Vec<Message> = differences
            .map(|(key, value)| verbatim(format!("{key}={value}")))
            .collect();
        if settings.is_empty() {
            settings.push(t!("this page's run"));
        }
        let layout = Message::joined(", ", settings);
        let width = |log: f64| text(format!("± {}", show_percent(log.exp_m1())));
        let cells = vec![
            load("link", &run, "", &[text(layout)]),
            text(next.teaches.name()),
            width(next.sd.0),
            width(next.sd.1),
        ];
        (false, cells)
    };
    let rows: Vec<_> = of.next.iter().map(row).collect();
    let head = ["run", "informs most", "range now", "range after it"];
    let mut parts = vec![
        leaf("h3", "", "The next run to try"),
        leaf(
            "p",
            "muted",
            "The runs that would narrow the prediction of this page's run most, on the GPUs that you have. Some steps on mock data are enough.",
        ),
        table("The next run to try", &head, &rows),
    ];
    if let Some(command) = command(&first.run) {
        let copy = leaf("button", "", "Copy").on(Action::Save(Save::Copy));
        let script = el(
            "pre",
            &[("class", "file"), ("tabindex", "0")],
            &[text(verbatim(command))],
        );
        parts.push(leaf("h4", "", "Launch command of the first"));
        parts.push(el("div", &[("class", "taken")], &[script, copy]));
    }
    Node::from_iter(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::calibrate::Request;
    use crate::core::report::evaluate;

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
            plan: Vec::new(),
        };
        let of = request.answer().unwrap();
        let launch = |run: &Run| Some(format!("torchrun --gpus {}", run.gpus));
        let html = fitted(&request.observations, &of, &Run::default(), launch).to_html();
        for words in [
            "GEMM and attention",
            "not informed by your runs",
            "60 % slower",
            "mine",
            "The next run to try",
            "torchrun --gpus 8",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
}
