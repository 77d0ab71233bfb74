//! The runs that a person measured: those that are kept, what they teach, the profile that the page's Run uses.

mod fitted;

pub use fitted::fitted;

use super::words;
use crate::core::calibrate::{MemoryKind, Observation, Standing};
use crate::core::message::{Message, verbatim};
use crate::core::run::{Multiplier, Profile, Run, Scenario};
use crate::core::t;
use crate::core::units::{Seconds, show_off, show_percent, show_seconds, significant};
use crate::view::node::action::{Compare, Measured};
use crate::view::node::markup::{Action, Node, el, leaf, load, table, text};
use crate::view::panels::issues::line;
use std::sync::Arc;

fn button(class: &str, label: &'static str, action: Action) -> Node {
    leaf("button", class, label).on(action)
}

/// The runs that are kept, each to be opened or removed.
#[must_use]
pub fn kept(observations: &[Observation]) -> Node {
    if observations.is_empty() {
        return leaf(
            "p",
            "muted",
            "No run is kept yet. One run of yours takes away most of what this calculator cannot know of a cluster and its software.",
        );
    }
    let row = |(at, one): (usize, &Observation)| {
        let remove = button("quiet", "Remove", Action::Measured(Measured::Remove(at)));
        let cells = vec![
            load(
                "link",
                &one.run,
                words::line(&one.run),
                &[text(verbatim(&*one.name))],
            ),
            text(words::line(&one.run)),
            text(figures(one)),
            remove,
        ];
        (false, cells)
    };
    let rows: Vec<_> = observations.iter().enumerate().map(row).collect();
    let faults = observations.iter().filter_map(|one| {
        let issues = Scenario::new(&one.run).err()?;
        let name = verbatim(&*one.name);
        let message = issues.first()?.message.clone();
        let issue = crate::core::issue::Issue::error("", t!("{name}: {message}", name, message));
        Some(line(&issue))
    });
    let head = ["run", "layout", "measured", ""];
    let mut parts = vec![table("Runs that are kept", &head, &rows)];
    parts.extend(faults);
    Node::from_iter(parts)
}

/// What was measured of a run: "6.01 s, allocated 37.1 GiB".
fn figures(one: &Observation) -> Message {
    let step = one.step_s.map(|step| verbatim(show_seconds(Seconds(step))));
    let peak = |peak: &crate::core::calibrate::Peak| {
        let gib = significant(peak.gib, 4);
        match peak.kind {
            MemoryKind::Allocated => t!("allocated {gib} GiB", gib),
            MemoryKind::Reserved => t!("reserved {gib} GiB", gib),
            MemoryKind::Device => t!("device {gib} GiB", gib),
        }
    };
    let ratio = |(kind, ratio): &(Multiplier, f64)| {
        t!(
            "{kind}: {ratio} times as long",
            kind = kind.name(),
            ratio = significant(*ratio, 3)
        )
    };
    let all = step
        .into_iter()
        .chain(one.peaks.iter().map(peak))
        .chain(one.ratios.iter().map(ratio));
    Message::joined(", ", all)
}

/// `run` without a profile and without a measured step: what observations are of.
#[must_use]
pub(crate) fn bare(run: &Run) -> Run {
    Run {
        profile: Profile::default(),
        measured_step_s: None,
        ..run.clone()
    }
}

/// The profile that `run` uses, with the way out of it; nothing where it uses none.
#[must_use]
pub fn in_use(run: &Run) -> Node {
    let profile = &run.profile;
    let Some(means) = &profile.means else {
        return Node::none();
    };
    let name = profile.name.as_deref().filter(|name| !name.is_empty());
    let gpu = profile.gpu.as_deref().unwrap_or("–");
    let words = t!(
        "The page's run uses the profile {name} (runs fitted: {runs}, GPU: {gpu}, version {version}). Every step and range of the page, its plan and its exports follows it, and the link holds it.",
        name = name.map_or_else(
            || t!("without a name"),
            |name| verbatim(format!("“{name}”"))
        ),
        runs = profile.runs.unwrap_or(0),
        gpu = verbatim(gpu),
        version = verbatim(profile.version.as_deref().unwrap_or("–"))
    );
    let widths = profile.widths.as_deref().unwrap_or_default();
    let rows: Vec<_> = Multiplier::ALL
        .iter()
        .zip(means)
        .enumerate()
        .map(|(at, (kind, mean))| {
            let width = widths.get(at).copied().unwrap_or_default();
            (false, vec![text(kind.name()), text(factor(*mean, width))])
        })
        .collect();
    let both = Action::Compare(Compare::Keep(Arc::new(bare(run))));
    let buttons = [
        button(
            "",
            "Without the profile",
            Action::Measured(Measured::Without),
        ),
        text(" "),
        button("", "Compare with the shipped constants", both),
    ];
    Node::from_iter([
        leaf("h3", "", "The profile in use"),
        leaf("p", "", words),
        table("The profile in use", &["time of", "times"], &rows),
        el("p", &[], &buttons),
    ])
}

/// "1.13 ± 8 %": a multiplier and one standard deviation.
fn factor(mean: f64, width: f64) -> Message {
    let (mean, width) = (significant(mean, 3), show_percent(width.exp_m1()));
    verbatim(format!("{mean} ± {width}"))
}

/// The measured step of a Run that has been edited since.
#[must_use]
pub fn offer(of: &Observation) -> Node {
    let step = show_seconds(Seconds(of.step_s.unwrap_or_default()));
    let words = t!(
        "The measured {step} are of the run before this edit. Kept as a run of yours they teach the constants of every layout.",
        step
    );
    let keep = Action::Measured(Measured::KeepStep);
    let leave = Action::Measured(Measured::LeaveStep);
    let parts = [
        text(words),
        text(" "),
        button("", "Keep it as a run", keep),
        text(" "),
        button("quiet", "Leave it", leave),
    ];
    el(
        "p",
        &[("class", "issue notice"), ("role", "status")],
        &parts,
    )
}

/// Steps that were measured, against the shipped constants and against the fit.
#[must_use]
pub fn standings(observations: &[Observation], all: &[Standing]) -> Node {
    let row = |run: &Standing| {
        let name = observations.get(run.observation);
        let name = name.map(|one| one.name.clone()).unwrap_or_default();
        let off = |predicted: f64| text(show_off(predicted / run.measured_s - 1.0, 1));
        let cells = vec![
            text(verbatim(name)),
            text(show_seconds(Seconds(run.measured_s))),
            off(run.before_s),
            off(run.after_s),
        ];
        (run.stands_out(), cells)
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    if rows.is_empty() {
        return Node::none();
    }
    let head = ["run", "measured", "shipped constants", "your profile"];
    table("Your runs", &head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::calibrate::fit_step;
    use crate::core::report::evaluate;

    #[test]
    fn a_kept_run_can_be_opened_and_removed_and_one_that_cannot_work_says_why() {
        let run = Run {
            tp: 4,
            ..Run::default()
        };
        let broken = Run {
            tp: 7,
            ..Run::default()
        };
        let all = [
            Observation::step("ours", run.clone(), 6.5),
            Observation::step("odd", broken, 7.5),
        ];
        let shown = kept(&all);
        let actions = shown.actions();
        assert!(actions.contains(&&Action::Load(Arc::new(run))));
        assert!(actions.contains(&&Action::Measured(Measured::Remove(1))));
        let html = shown.to_html();
        for words in ["ours", "6.50 s", "TP4", "odd: "] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    #[test]
    fn a_profile_in_use_is_named_and_can_be_put_away() {
        let run = Run::default();
        assert_eq!(in_use(&run), Node::none());
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        let with = Run {
            profile: Profile {
                name: Some("our H100".to_owned()),
                ..fit_step(&run, seconds * 1.2).unwrap()
            },
            ..run.clone()
        };
        let shown = in_use(&with);
        let compare = Action::Compare(Compare::Keep(Arc::new(run)));
        assert!(shown.actions().contains(&&compare));
        let html = shown.to_html();
        for words in [
            "our H100",
            "h100-sxm-80gb",
            "GEMM and attention",
            "runs fitted: 1,",
        ] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
}
