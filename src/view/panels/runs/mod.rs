//! The runs that a person measured: those that are kept, what they teach, the profile that the page's Run uses.

mod fitted;

pub use fitted::fitted;

use crate::node::action::{Compare, RunsAction};
use crate::panels::issues::line;
use crate::prelude::*;
use crate::words;
use shardscope_core::calibrate::{MemoryKind, Observation, RunStanding};
use shardscope_core::run::{Multiplier, Profile};
use shardscope_core::units::show_off;
use std::sync::Arc;

fn button(class: &str, label: &'static str, action: Action) -> Node {
    leaf("button", class, label).on(action)
}

/// The runs that are kept, each to be opened or removed.
pub fn kept(observations: &[Observation]) -> Node {
    if observations.is_empty() {
        return muted("No run is kept yet. A measured run narrows the range; the second and third narrow it less.");
    }
    let faults = observations.iter().filter_map(|one| {
        let issues = Scenario::new(&one.run).err()?;
        let name = verbatim(&*one.name);
        let message = issues.first()?.message.clone();
        let issue = shardscope_core::issue::Issue::error("", t!("{name}: {message}", name, message));
        Some(line(&issue))
    });
    let name = |one: &Observation| {
        let title = words::line(&one.run);
        let name = [load("link", &one.run, &title, &[text(verbatim(&*one.name))]), aside(&title)];
        el("span", &[("class", "wrap")], &name)
    };
    let table = Rows::of(observations.iter().enumerate())
        .column("run", |(_, one)| name(one))
        .column("measured", |(_, one)| leaf("span", "wrap", figures(one)))
        .column("", |(at, _)| button("quiet", "Remove", Action::Measured(RunsAction::Remove(*at))))
        .table("Runs that are kept");
    let mut parts = vec![leaf("h3", "", "Runs that are kept"), table];
    parts.extend(faults);
    Node::from_iter(parts)
}

/// Measurements of a run: "6.01 s, allocated 37.1 GiB".
pub(crate) fn figures(one: &Observation) -> Message {
    let step = one.step_s.map(|step| verbatim(show_seconds(Seconds(step))));
    let peak = |peak: &shardscope_core::calibrate::MeasuredPeak| {
        let gib = significant(peak.gib, 4);
        match peak.kind {
            MemoryKind::Allocated => t!("allocated {gib} GiB", gib),
            MemoryKind::Reserved => t!("reserved {gib} GiB", gib),
            MemoryKind::Device => t!("device {gib} GiB", gib),
        }
    };
    let ratio = |(kind, ratio): &(Multiplier, f64)| {
        t!("{kind}: {ratio} times as long", kind = kind.name(), ratio = significant(*ratio, 3))
    };
    let figures_of_one = step.into_iter().chain(one.peaks.iter().map(peak)).chain(one.ratios.iter().map(ratio));
    Message::joined(", ", figures_of_one)
}

/// `run` without a profile and without a measured step: what observations are of.
pub fn bare(run: &Run) -> Run {
    Run { profile: Profile::default(), measured_step_s: None, ..run.clone() }
}

/// The profile that `run` uses, with the way out of it, beside `read`, one that was brought in, and `fitted`, that of
/// the runs that are kept; nothing where there is neither of the first two. `link` writes the link of a Run.
pub fn profiles(run: &Run, read: Option<&Profile>, fitted: Option<&Profile>, link: impl Fn(&Run) -> String) -> Node {
    let present = Some(&run.profile).filter(|profile| profile.means.is_some());
    let is_new = |other: &&Profile| {
        !present.is_some_and(|present| present.means == other.means && present.widths == other.widths)
    };
    let (read, fitted) = (read.filter(is_new), fitted.filter(is_new));
    if present.is_none() && read.is_none() {
        return Node::none();
    }
    let columns: Vec<(Message, &Profile)> = [(t!("in use"), present), (t!("read"), read), (t!("of your runs"), fitted)]
        .into_iter()
        .filter_map(|(what, profile)| Some((what, profile?)))
        .collect();
    let heading = if read.is_some() { "A profile was read" } else { "The profile in use" };
    let mut parts = vec![
        leaf("h3", "", heading),
        paragraph(
            "Every step and range of the page, its plan and its exports follow the profile in use, and the link holds \
                it.",
        ),
        compared(&columns),
    ];
    let mut buttons = Vec::new();
    if let Some(read) = read {
        let with = Run { profile: read.clone(), measured_step_s: None, ..run.clone() };
        buttons.push(load("main", &with, "", &[text("Use this profile")]));
        buttons.push(text(" "));
        let both = Action::Compare(Compare::Keep(Arc::new(with)));
        buttons.push(button("", "Compare what both predict", both));
    } else {
        let without = Action::Measured(RunsAction::Without);
        let both = Action::Compare(Compare::Keep(Arc::new(bare(run))));
        buttons.push(button("", "Without the profile", without));
        buttons.push(text(" "));
        buttons.push(button("", "Compare with the built-in model", both));
    }
    parts.push(el("p", &[("class", "row-of-buttons")], &buttons));
    if let Some(profile) = present {
        let alone = Run { profile: profile.clone(), ..Run::default() };
        let inside = copied("", &link(&alone), Node::none());
        parts.push(fold("As text, for a wiki: paste it here to use it", inside));
    }
    Node::from_iter(parts)
}

/// Profiles side by side.
fn compared(columns: &[(Message, &Profile)]) -> Node {
    let row = |name: Message, cell: &dyn Fn(&Profile) -> Message| {
        let cells = columns.iter().map(|(_, profile)| text(cell(profile)));
        (false, std::iter::once(text(name)).chain(cells).collect())
    };
    let plain = |words: Option<&str>| verbatim(words.unwrap_or("–"));
    let mut rows: Vec<(bool, Vec<Node>)> = vec![row(t!("name"), &|of| plain(of.name.as_deref()))];
    for (at, kind) in Multiplier::ALL.iter().enumerate() {
        let cell = |of: &Profile| {
            let number = |list: &Option<Vec<f64>>| list.as_ref()?.get(at).copied();
            factor(number(&of.means).unwrap_or(1.0), number(&of.widths).unwrap_or(0.0))
        };
        rows.push(row(kind.name().into(), &cell));
    }
    rows.push(row(t!("runs fitted"), &|of| verbatim(of.runs.unwrap_or(0).to_string())));
    rows.push(row(t!("GPU"), &|of| plain(of.gpu.as_deref())));
    rows.push(row(t!("version"), &|of| plain(of.version.as_deref())));
    let head: Vec<Message> =
        std::iter::once(t!("time of")).chain(columns.iter().map(|(what, _)| what.clone())).collect();
    table("Profiles", &head, &rows)
}

/// "1.13 ± 8 %": a multiplier and one standard deviation.
fn factor(mean: f64, width: f64) -> Message {
    Message::joined(" ", [verbatim(significant(mean, 3)), deviation(width)])
}

/// "± 8 %": one standard deviation of a logarithm.
fn deviation(width: f64) -> Message {
    verbatim(format!("± {}", show_percent(width.exp_m1())))
}

/// The measured step of a Run that has been edited since.
pub fn offer(of: &Observation) -> Node {
    let step = show_seconds(Seconds(of.step_s.unwrap_or_default()));
    let words = t!(
        "The measured {step} are of the run before this edit. Kept as a run of yours they teach the constants of \
            every layout.",
        step
    );
    let keep = Action::Measured(RunsAction::KeepStep);
    let leave = Action::Measured(RunsAction::LeaveStep);
    let parts =
        [text(words), text(" "), button("", "Keep it as a run", keep), text(" "), button("quiet", "Leave it", leave)];
    el("p", &[("class", "issue notice"), ("role", "status")], &parts)
}

/// Steps that were measured, against the shipped constants and against the fit.
pub fn standings(observations: &[Observation], all: &[RunStanding]) -> Node {
    if all.is_empty() {
        return Node::none();
    }
    let off = |predicted: f64, run: &RunStanding| show_off(predicted / run.measured_s - 1.0, 1);
    Rows::of(all)
        .figures("run", |run| observations.get(run.observation).map(|one| one.name.clone()).unwrap_or_default())
        .figures("measured", |run| show_seconds(Seconds(run.measured_s)))
        .figures("built-in model", |run| off(run.before_s, run))
        .figures("your profile", |run| off(run.after_s, run))
        .marked(|run| run.stands_out())
        .table("Your runs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::calibrate::fit_step;

    #[test]
    fn a_kept_run_can_be_opened_and_removed_and_one_that_cannot_work_says_why() {
        let run = Run { tp: 4, ..Run::default() };
        let broken = Run { tp: 7, ..Run::default() };
        let observations = [Observation::step("ours", run.clone(), 6.5), Observation::step("odd", broken, 7.5)];
        let node = kept(&observations);
        let actions = node.actions();
        assert!(actions.contains(&&Action::Load(Arc::new(run))));
        assert!(actions.contains(&&Action::Measured(RunsAction::Remove(1))));
        let html = node.to_html();
        for words in ["ours", "6.50 s", "TP4", "odd: "] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    fn profile(name: &str, times: f64) -> Profile {
        let run = Run::default();
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        Profile { name: Some(name.to_owned()), ..fit_step(&run, seconds * times).unwrap() }
    }

    fn link(run: &Run) -> String {
        format!("the link of {}", run.profile.name.clone().unwrap_or_default())
    }

    #[test]
    fn a_profile_in_use_is_named_and_can_be_put_away() {
        let run = Run::default();
        assert_eq!(profiles(&run, None, None, link), Node::none());
        let with = Run { profile: profile("our H100", 1.2), ..run.clone() };
        let node = profiles(&with, None, None, link);
        let compare = Action::Compare(Compare::Keep(Arc::new(run)));
        assert!(node.actions().contains(&&compare));
        let html = node.to_html();
        for words in ["our H100", "h100-sxm-80gb", "GEMM and attention", "the link of our H100"] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }

    #[test]
    fn a_profile_that_was_read_stands_beside_the_one_in_use_before_it_is_taken() {
        let present = Run { profile: profile("ours", 1.2), ..Run::default() };
        let read = profile("theirs", 0.9);
        let node = profiles(&present, Some(&read), None, link);
        let taken = Run { profile: read, ..Run::default() };
        let load = Action::Load(Arc::new(taken));
        assert!(node.actions().contains(&&load));
        let html = node.to_html();
        assert!(html.contains("ours") && html.contains("theirs"), "{html}");
    }
}
