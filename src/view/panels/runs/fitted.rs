//! Result of a calibration: constants before and after, each run against the fit, and the runs to make next.

use super::{bare, deviation, factor, standings};
use crate::panels::changes::changes;
use crate::panels::issues::line;
use crate::prelude::*;
use shardscope_core::calibrate::{
    Calibrated, LearnedMultiplier, NextRun, Observation, disagreement, informed_by, warning, wrong_layout,
};
use shardscope_core::issue::Issue;
use shardscope_core::report::{FOUR_OF_FIVE, report};

/// The view of a fit of `observations` for `present`; `command` writes the launch command of a run.
pub fn fitted(
    observations: &[Observation],
    of: &Calibrated,
    present: &Run,
    command: impl Fn(&Run) -> Option<String>,
) -> Node {
    let fit = &of.fit;
    let name = |index: usize| {
        let found = observations.get(index);
        found.map(|one| one.name.clone()).unwrap_or_default()
    };
    let issue = |message: Message| line(&Issue::warning("", message));
    let named = |index: usize, message: Message| issue(t!("{name}: {message}", name = verbatim(name(index)), message));
    let mut parts = vec![leaf("h3", "", "Fitted to your runs")];
    parts.extend(mixed(observations).map(issue));
    parts.extend(of.left_out().into_iter().map(issue));
    for run in &fit.standings {
        parts.extend(warning(run).map(|message| named(run.observation, message)));
    }
    parts.extend(disagreement(&fit.standings, name).map(issue));
    let wrong = fit.memory.allocated.iter().filter(|one| one.is_wrong());
    parts.extend(wrong.map(|one| named(one.observation, wrong_layout(one))));
    parts.extend(predicted(of, present));
    parts.push(constants(of));
    parts.push(muted(t!(
        "Times of each kind of work over those of the built-in model, with one standard deviation. Besides these, \
            four of five runs lie within {spread} of the model either way.",
        spread = show_percent((FOUR_OF_FIVE * fit.spread).exp_m1())
    )));
    if fit.memory.runs > 0 {
        parts.push(paragraph(t!(
            "Memory: {gib} GiB beyond the model's overhead, reserved {ratio} times allocated.",
            gib = significant(fit.memory.overhead_gib, 2),
            ratio = significant(fit.memory.ratio, 3)
        )));
    }
    let stand = standings(observations, &fit.standings);
    if stand != Node::none() {
        parts.push(leaf("h3", "", "Your runs against the model"));
        parts.push(stand);
    }
    parts.push(next(of, present, command));
    Node::from_iter(parts)
}

/// Notice that the runs are of more than one GPU or software.
fn mixed(observations: &[Observation]) -> Option<Message> {
    let first = &observations.first()?.run;
    let other =
        observations.iter().find(|one| one.run.gpu.base != first.gpu.base || one.run.stack.base != first.stack.base)?;
    let what = |run: &Run| {
        let stack = run.stack.base.map(verbatim);
        Message::joined(" · ", std::iter::once(run.gpu.title()).chain(stack))
    };
    Some(t!(
        "these runs are of {one} and of {other}: a profile holds for one GPU and one software, fit them apart",
        one = what(first),
        other = what(&other.run)
    ))
}

/// The step of the page's run with the profile of the runs, and without it.
fn predicted(of: &Calibrated, present: &Run) -> Option<Node> {
    let plain = bare(present);
    let with = Run { profile: of.profile.clone(), ..plain.clone() };
    let (with, before) = (report(&with).ok()?.step, report(&plain).ok()?.step);
    let [low, high, before] = [with.low_s, with.high_s, before.time_s].map(show_seconds);
    Some(paragraph(t!(
        "This page's run: {low} to {high} a step in four of five runs with this profile; the built-in model says \
            {before}.",
        low,
        high,
        before
    )))
}

fn constants(of: &Calibrated) -> Node {
    let name = |lesson: &LearnedMultiplier| {
        let words = if lesson.informed {
            t!("fitted")
        } else {
            t!("Not measured: try {what}.", what = informed_by(lesson.multiplier))
        };
        el("span", &[("class", "wrap")], &[inline(lesson.multiplier.name()), aside(words)])
    };
    Rows::of(&of.fit.lessons)
        .column("time of", |lesson| name(lesson))
        .column("before", |lesson| deviation(lesson.before))
        .column("after", |lesson| factor(lesson.factor, lesson.width))
        .figures("share of a step", |lesson| show_percent(lesson.share))
        .marked(|lesson| lesson.informed)
        .table("Fitted to your runs")
}

/// The runs to make next, the first with its launch command.
fn next(of: &Calibrated, present: &Run, command: impl Fn(&Run) -> Option<String>) -> Node {
    let Some(first) = of.next.first() else {
        return Node::none();
    };
    let name = |next: &NextRun| {
        // Opened with the values that are known already.
        let run = Run { profile: present.profile.clone(), ..next.run.clone() };
        let differences = changes(&run, present).into_iter();
        let setting = |change: crate::panels::changes::SettingChange| {
            Message::joined(" ", [Message::plain(change.field.label), change.to])
        };
        let mut settings: Vec<Message> = differences.map(setting).collect();
        if settings.is_empty() {
            settings.push(t!("this page's run"));
        }
        let layout = Message::joined(", ", settings);
        let name =
            [load("link", &run, "", &[text(layout)]), aside(t!("tells most about {what}", what = next.teaches.name()))];
        el("span", &[("class", "wrap")], &name)
    };
    let table = Rows::of(&of.next)
        .column("run, where it differs from this page", |next| name(next))
        .column("one deviation now", |next| deviation(next.sd.0))
        .column("one deviation after it", |next| deviation(next.sd.1))
        .table("The next run to try");
    let mut parts = vec![
        leaf("h3", "", "The next run to try"),
        muted("The runs that would narrow the prediction of this page's run most, on the GPUs that you have."),
        table,
    ];
    if let Some(command) = command(&first.run) {
        let heading = if command.starts_with("#!") { "Launch command of the first" } else { "Settings of the first" };
        parts.push(subheading(heading));
        parts.push(copied("", &command, Node::none()));
    }
    Node::from_iter(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::calibrate::CalibrateRequest;

    fn view(observations: Vec<Observation>) -> String {
        let request = CalibrateRequest {
            observations,
            name: "ours".to_owned(),
            question: Some(Run::default()),
            gpus: Some(8),
            plan: Vec::new(),
        };
        let calibrated = request.answer().unwrap();
        let launch = |run: &Run| Some(format!("torchrun --gpus {}", run.gpus));
        fitted(&request.observations, &calibrated, &Run::default(), launch).to_html()
    }

    /// A run on `gpus` GPUs that took `times` as long as the model says.
    fn measured(name: &str, gpus: u64, times: f64) -> Observation {
        let run = Run { gpus, global_batch: 4 * gpus, ..Run::default() };
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        Observation::step(name, run, seconds * times)
    }

    #[test]
    fn a_fit_says_what_was_learned_what_was_not_and_what_to_run_next() {
        let html = view(vec![measured("mine", 8, 1.6)]);
        for words in [
            "GEMM and attention",
            "Not measured: try",
            "60 % slower",
            "mine",
            "The next run to try",
            "in four of five runs with this profile",
            "GPUs 8",
            "torchrun --gpus 8",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    #[test]
    fn runs_that_disagree_are_named_together_and_those_of_two_gpus_are_not_mixed_silently() {
        let html = view(vec![measured("slow", 8, 1.45), measured("fast", 16, 0.7)]);
        assert!(html.contains("these runs disagree"), "{html}");
        assert!(html.contains("slow (+") && html.contains("fast (−") || html.contains("fast (-"));
        assert!(!html.contains("% slower than the model expects"));
        let mut other = measured("other", 8, 1.0);
        other.run.gpu = shardscope_core::run::Based::preset("a100-sxm-80gb");
        let html = view(vec![measured("mine", 8, 1.0), other]);
        assert!(html.contains("fit them apart"), "{html}");
    }
}
