//! Settings that shorten a part of a predicted step, each tried on the run; and what to look at where none does.

use super::differences;
use super::figures::{of_report, seconds_of_report};
use crate::advice::{is_told, least_saved, untold};
use crate::issue::{Issue, Severity};
use crate::memory::Verdict;
use crate::message::Message;
use crate::pipeline::able::can_run;
use crate::report::{Report, plain_report};
use crate::run::presets::Trainer;
use crate::run::{CpComm, EpOverlap, OneOf, Recompute, Run, Scenario, Schedule, TpOverlap};
use crate::sort::sort_by;
use crate::t;
use crate::time::PartKind;
use crate::units::{show_gain, show_percent};
use serde::Serialize;

/// What to do about a part of the predicted step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remedy {
    pub part: PartKind,
    /// Predicted seconds of the part.
    pub seconds: f64,
    /// The settings of the change and their values; empty where no setting helps.
    #[serde(skip_serializing_if = "Message::is_empty")]
    pub change: Message,
    /// What the change is predicted to gain, or what to look at where no setting helps.
    pub words: Message,
    /// Fields and values of the change; empty where no setting helps.
    pub set: Vec<(&'static str, String)>,
    /// Predicted step of the run as it is and with the change, seconds; none without a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_s: Option<[f64; 2]>,
    /// The gain is larger than the error of such differences: the change is offered.
    pub told: bool,
}

/// Parts below this share of the step are left out. A choice.
const LEAST: f64 = 0.005;
/// Changes that shorten the step by less than this share are none. A choice.
const LEAST_GAIN: f64 = 0.005;

/// Parts of the step that something can be done about.
const PARTS: [PartKind; 10] = [
    PartKind::Kernels,
    PartKind::Recompute,
    PartKind::Launches,
    PartKind::Bubble,
    PartKind::ExposedTp,
    PartKind::ExposedCp,
    PartKind::ExposedEp,
    PartKind::ExposedDp,
    PartKind::Optimizer,
    PartKind::Loader,
];

/// Fields and values of a change.
type Set = Vec<(&'static str, String)>;

/// What to do about each part of the predicted step of `run` beside its ideal compute, the longest part first.
pub fn remedies(run: &Run) -> Vec<Remedy> {
    let run = Run { measured_step_s: None, ..run.clone() };
    let (Ok(now), Ok(scenario)) = (plain_report(&run), Scenario::new(&run)) else {
        return Vec::new();
    };
    let worth = |part: &PartKind| seconds_of(&now, *part) > LEAST * now.step.time_s.0;
    let parts = PARTS.into_iter().filter(worth);
    let mut list: Vec<Remedy> = parts.map(|part| remedy(part, &run, &scenario, &now)).collect();
    sort_by(&mut list, |a: &Remedy, b| b.seconds.total_cmp(&a.seconds));
    list
}

/// The change of a setting of `run` that shortens `part`, where its gain can be told.
pub(super) fn told_remedy(part: PartKind, run: &Run) -> Option<Remedy> {
    let run = Run { measured_step_s: None, ..run.clone() };
    let now = plain_report(&run).ok()?;
    Some(remedy(part, &run, &Scenario::new(&run).ok()?, &now)).filter(|remedy| remedy.told)
}

fn seconds_of(report: &Report, part: PartKind) -> f64 {
    report.step.parts.iter().find(|own| own.kind == part).map_or(0.0, |own| own.seconds.0)
}

/// Field and words of each warning of a run, without the figures in them.
fn doubts(report: &Report) -> Vec<(String, Vec<&'static str>)> {
    let doubtful = report.warnings.iter().filter(|issue| issue.severity >= Severity::Warning);
    let words = |issue: &Issue| {
        let mut words = Vec::new();
        issue.words().templates(&mut |template| words.push(template));
        words
    };
    doubtful.map(|issue| (issue.field.clone(), words(issue))).collect()
}

/// The best change for one part of the step of `run`, whose report is `now`.
fn remedy(part: PartKind, run: &Run, scenario: &Scenario, now: &Report) -> Remedy {
    let (seconds, step) = (seconds_of(now, part), now.step.time_s.0);
    let (able, known) = (can_run(run), doubts(now));
    let tried = |set: Set| {
        let after = run.with_texts(&set).filter(|after| after != run && (can_run(after) || !able))?;
        let report = plain_report(&after).ok()?;
        if doubts(&report).iter().any(|doubt| !known.contains(doubt)) {
            return None;
        }
        let holds = report.memory.overall() == Verdict::Fits || report.memory.need_bytes.0 <= now.memory.need_bytes.0;
        let left = seconds_of(&report, part);
        let shortens = left < seconds && report.step.time_s.0 < step * (1.0 - LEAST_GAIN);
        (holds && shortens).then_some((report.step.time_s.0, set, (after, left)))
    };
    let changes = changes(part, run, scenario).into_iter().filter_map(tried);
    let Some((after_s, set, (after, left))) = changes.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        let change = Message::default();
        return Remedy {
            part,
            seconds,
            change,
            words: look(part, scenario),
            set: Vec::new(),
            change_s: None,
            told: false,
        };
    };
    // As of all differences between layouts of one run.
    let told = is_told(run, after_s, step);
    let change = Message::joined(", ", differences(&after, run));
    let predicted = t!(
        "A step of {after} by prediction, {share} less.",
        after = seconds_of_report(format!("step.time_s with {set:?}"), after_s),
        share = of_report(format!("step.time_s with {set:?}, share less"), show_percent(1.0 - after_s / step))
    );
    let known = if told {
        let least = show_gain(least_saved(run, 1.0 - after_s / step));
        t!("Where such gains were measured, three of four were at least {least} %.", least)
    } else {
        untold(run, after_s, step)
    };
    let words = Message::joined(" ", [predicted, known]);
    let words = Message::joined(" ", std::iter::once(words).chain(beyond(part, &set, [seconds, left, step - after_s])));
    Remedy { part, seconds, change, words, set, change_s: Some([step, after_s]), told }
}

/// Why a change is predicted to save more than a `part` of `seconds` takes, of which `left` remain: it shortens others
/// along. None where it does not save more.
fn beyond(part: PartKind, set: &Set, [seconds, left, gain]: [f64; 3]) -> Option<Message> {
    let less = |what: &str, seconds: f64| seconds_of_report(format!("{what} with {set:?}, less"), seconds);
    (gain > seconds).then(|| {
        t!(
            "It saves {gain} in all, {own} of them in this part: other parts of the step become shorter with it.",
            gain = less("step.time_s", gain),
            own = less(&format!("{part:?}"), seconds - left)
        )
    })
}

/// A change of one field.
#[allow(clippy::needless_pass_by_value)] // numbers and names
fn one(key: &'static str, value: impl ToString) -> Set {
    vec![(key, value.to_string())]
}

/// Half of a size that is even.
fn half(key: &'static str, size: u64) -> Option<Set> {
    (size > 1 && size.is_multiple_of(2)).then(|| one(key, size / 2))
}

/// The settings of `run` without pairs of passes, which may take longer than the two passes alone.
fn apart(run: &Run) -> Option<Set> {
    let other = run.unpaired()?;
    let schedule = (other.schedule != run.schedule).then(|| one("schedule", other.schedule.choice().id));
    let overlap = (other.ep_overlap != run.ep_overlap).then(|| one("ep_overlap", EpOverlap::None.id()));
    Some(schedule.into_iter().chain(overlap).flatten().collect())
}

/// Changes that may shorten `part`; whether they do, and fit, is tried.
fn changes(part: PartKind, run: &Run, scenario: &Scenario) -> Vec<Set> {
    let larger_micro_batch = || one("micro_batch", run.micro_batch * 2);
    let trainer = run.stack.preset_row().trainer;
    // Off though there are tensor ranks: it cuts norms, and what is kept of them, over the ranks.
    let sequence = (run.tp > 1 && !run.sequence_parallel).then(|| ("sequence_parallel", true.to_string()));
    let along = || sequence.clone().map(|set| vec![set]);
    match part {
        PartKind::Recompute => {
            let kept = match run.recompute {
                Recompute::Full => scenario.model.layers / scenario.layout.pp / 2,
                Recompute::Layers(layers) => layers / 2,
                _ => 0,
            };
            let fewer = (kept > 0).then(|| one("recompute.layers", kept));
            let alone: Vec<Set> =
                ["none", "selective"].map(|kind| one("recompute", kind)).into_iter().chain(fewer).collect();
            let both = |set: &Set| Some(set.iter().cloned().chain([sequence.clone()?]).collect());
            let together: Vec<Set> = alone.iter().filter_map(both).collect();
            alone.into_iter().chain(together).collect()
        }
        PartKind::Bubble => {
            let chunks = [run.virtual_stages.max(1) * 2, run.virtual_stages.max(1) * 4];
            let interleaved = chunks.map(|chunks| {
                let schedule = ("schedule", Schedule::Interleaved.choice().id.to_owned());
                vec![schedule, ("virtual_stages", chunks.to_string())]
            });
            let schedules = [Schedule::ZbH1, Schedule::OneFOneB].map(|kind| one("schedule", kind.choice().id));
            let folded = [Schedule::ZbV, Schedule::DualPipeV]
                .map(|kind| vec![("schedule", kind.choice().id.to_owned()), ("virtual_stages", "2".to_owned())]);
            let smaller = [half("micro_batch", run.micro_batch), half("pp", run.pp)];
            interleaved.into_iter().chain(schedules).chain(folded).chain(smaller.into_iter().flatten()).collect()
        }
        PartKind::ExposedTp => {
            let overlap = match trainer {
                Trainer::Megatron => Some(TpOverlap::Userbuffers),
                Trainer::Torchtitan => Some(TpOverlap::AsyncTp),
                _ => None,
            };
            // Userbuffers need sequence parallelism.
            let overlap = overlap.map(|overlap| {
                let set = ("stack.tp_overlap", overlap.choice().id.to_owned());
                std::iter::once(set).chain(sequence.clone()).collect()
            });
            let own = run.overlap.tp.map(|_| one("overlap.tp", ""));
            let sizes = half("tp", run.tp);
            overlap.into_iter().chain(own).chain(sizes).chain(along()).collect()
        }
        PartKind::ExposedCp => {
            let exchanges = CpComm::ALL.iter().map(|(_, exchange)| one("cp_comm", exchange.id));
            half("cp", run.cp)
                .into_iter()
                .chain(run.overlap.cp.map(|_| one("overlap.cp", "")))
                .chain(exchanges)
                .collect()
        }
        PartKind::ExposedEp => {
            let beside = (trainer == Trainer::Megatron).then(|| one("ep_overlap", "1f1b"));
            let near = scenario.layout.per_node;
            let near = (run.ep > near).then(|| one("ep", near));
            beside
                .into_iter()
                .chain(apart(run))
                .chain(run.overlap.ep.map(|_| one("overlap.ep", "")))
                .chain(near)
                .chain(half("ep", run.ep))
                .collect()
        }
        PartKind::ExposedDp => {
            let lower = (1..run.zero).map(|zero| one("zero", zero));
            let own = run.overlap.dp.map(|_| one("overlap.dp", ""));
            let near = (run.zero == 3 && run.hsdp_shard.is_none()).then(|| one("hsdp_shard", scenario.layout.per_node));
            lower.chain(own).chain(near).chain([larger_micro_batch()]).collect()
        }
        PartKind::Launches => {
            let graphs = (!run.graphs().any()).then(|| one("cuda_graphs", true));
            let others = apart(run).into_iter().chain([larger_micro_batch(), one("stack.compile", true)]);
            graphs.into_iter().chain(others).collect()
        }
        PartKind::Kernels => {
            let attention = ["flash-3", "flash-4"].map(|kernel| one("stack.attention", kernel));
            let sizes = half("tp", run.tp);
            let others = sizes.into_iter().chain(along()).chain(attention);
            [larger_micro_batch(), one("stack.compile", true)].into_iter().chain(others).collect()
        }
        PartKind::Optimizer => (run.zero == 0).then(|| one("zero", 1)).into_iter().collect(),
        // What the loader takes is measured, not set.
        PartKind::Loader | PartKind::Ideal => Vec::new(),
    }
}

/// What to look at where no setting that fits shortens `part` of the step of `scenario`.
fn look(part: PartKind, scenario: &Scenario) -> Message {
    match part {
        PartKind::ExposedDp if scenario.layout.gpus <= scenario.layout.per_node => {
            t!("No overlap or sharding that was tried shortens it and fits. Look at the links within the node \
                (nccl-tests on it).")
        }
        PartKind::Kernels => {
            t!("No setting that was tried shortens it. Look at the clocks while it runs (nvidia-smi dmon) and at the \
                names of the attention and norm kernels in a trace.")
        }
        PartKind::Recompute => {
            t!("No setting with less recomputation that was tried fits and shortens the step. Look for a layout \
                that needs less memory a GPU: more pipeline or tensor ranks, sharded states, a smaller micro-batch.")
        }
        PartKind::Launches => t!(
            "No setting that was tried shortens it. Look at the CPU: its clock, other processes on it, reads of values \
                (.item()) in a step."
        ),
        PartKind::Bubble => {
            t!("No schedule, micro-batch or pipeline size that was tried shortens it and fits. More micro-batches a \
                pipeline come with a larger global batch, which changes the training, or from another layout.")
        }
        PartKind::ExposedTp => t!(
            "No overlap or tensor-parallel size that was tried shortens it and fits. Look at the links within a node \
                (nccl-tests on one node)."
        ),
        PartKind::ExposedCp => {
            t!("No exchange or context-parallel size that was tried shortens it and fits. Look at which ranks share a \
                sequence: those of a node are the fastest.")
        }
        PartKind::ExposedEp => {
            t!("No overlap or expert-parallel size that was tried shortens it and fits. Look at the all-to-all alone \
                (nccl-tests) and at how evenly the router fills the experts.")
        }
        PartKind::ExposedDp => t!(
            "No overlap or sharding that was tried shortens it and fits. Look at the network between nodes (nccl-tests \
                on one node and on two)."
        ),
        PartKind::Optimizer => {
            t!("No setting that was tried shortens it. Look whether the optimizer runs in fused kernels.")
        }
        PartKind::Loader => {
            t!("No setting of the layout shortens it. Look at workers and prefetching of the data loader; Megatron-LM \
                makes the attention mask there unless --no-create-attention-mask-in-dataloader is given.")
        }
        PartKind::Ideal => t!("The work itself at the GPU's peak rate."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(set: &[(&'static str, &str)]) -> Run {
        Run::example().with_texts(set).unwrap()
    }

    fn of(list: &[Remedy], part: PartKind) -> &Remedy {
        list.iter().find(|remedy| remedy.part == part).unwrap()
    }

    /// Runs with each kind of loss: a pipeline with few micro-batches, full recomputation, experts over nodes, ZeRO-3.
    fn runs() -> Vec<Run> {
        vec![
            Run::example(),
            run(&[("tp", "2"), ("pp", "8"), ("global_batch", "64")]),
            run(&[("pp", "1"), ("tp", "1"), ("recompute", "full")]),
            run(&[("model", "mixtral-8x7b"), ("tp", "1"), ("pp", "2"), ("ep", "8"), ("recompute", "full")]),
            run(&[("stack", "torchtitan"), ("pp", "1"), ("tp", "8"), ("zero", "3"), ("gpus", "256")]),
        ]
    }

    /// One node has no network between nodes to look at; two have one.
    #[test]
    fn within_a_node_nobody_is_sent_to_the_network() {
        for (gpus, between) in [("8", false), ("16", true)] {
            let scenario = Scenario::new(&run(&[("gpus", gpus), ("pp", "1")])).unwrap();
            let words = look(PartKind::ExposedDp, &scenario).to_string();
            assert_eq!(words.contains("network between nodes"), between, "{gpus}: {words}");
        }
    }

    /// What is promised is what a report of the changed run says; it fits or needs no more, and the software runs it.
    #[test]
    fn every_change_does_what_it_promises() {
        let mut changes = 0;
        for run in runs() {
            let now = plain_report(&run).unwrap();
            for remedy in remedies(&run) {
                let share = remedy.seconds / now.step.time_s.0;
                assert!(share > LEAST && !remedy.words.is_empty(), "{remedy:?}");
                let Some([before, promised]) = remedy.change_s else {
                    assert!(!remedy.told && remedy.set.is_empty(), "{remedy:?}");
                    continue;
                };
                let after = run.with_texts(&remedy.set).unwrap();
                let report = plain_report(&after).unwrap();
                assert!((report.step.time_s.0 / promised - 1.0).abs() < 1e-12 && promised < before, "{remedy:?}");
                assert!(can_run(&after), "{remedy:?}");
                // What is saved besides the part that it stands under is said.
                let says_beyond = remedy.words.to_string().contains("other parts");
                assert_eq!(says_beyond, before - promised > remedy.seconds, "{remedy:?}");
                let need = report.memory.need_bytes.0;
                assert!(need <= now.memory.need_bytes.0 || need <= report.memory.capacity_bytes.0, "{remedy:?}");
                // 0.076 is the published error of a difference between layouts of a dense model, 0.089 of a routed one.
                let error = if run.model.resolve().unwrap().moe.is_some() { 0.089 } else { 0.076 };
                assert_eq!(remedy.told, crate::maths::ln(before / promised) > error, "{remedy:?}");
                assert_eq!(remedy.told, !remedy.words.to_string().contains("may be equal"), "{remedy:?}");
                changes += 1;
            }
        }
        assert!(changes > 5, "{changes}");
    }

    /// Full recomputation repeats one forward pass of three passes' worth: without it the compute takes a quarter less.
    #[test]
    fn recomputation_that_is_not_needed_is_a_quarter_of_the_compute() {
        let run = run(&[("pp", "1"), ("tp", "2"), ("recompute", "full"), ("zero", "1"), ("seq_len", "2048")]);
        let list = remedies(&run);
        let remedy = of(&list, PartKind::Recompute);
        assert_eq!(remedy.set, [("recompute", "none".to_owned())]);
        assert!(remedy.told, "{remedy:?}");
        let [before, after] = remedy.change_s.unwrap();
        // Messages, optimizer and the head, which is not repeated, make it less than 1/4 of the step.
        assert!((0.12..0.26).contains(&(1.0 - after / before)), "{remedy:?}");
    }

    /// 1F1B idles `(p - 1)/m` of its work at least; another schedule of the software idles less.
    #[test]
    fn a_bubble_names_a_schedule_with_a_smaller_one() {
        let run = run(&[("tp", "1"), ("pp", "8"), ("global_batch", "64"), ("gpus", "64")]);
        let remedy = of(&remedies(&run), PartKind::Bubble).clone();
        let before = plain_report(&run).unwrap().step;
        let share = before.bubble_s.0 / before.compute_s.0;
        assert!(share > 7.0 / 8.0 - 1e-9, "{share}");
        assert!(remedy.told, "{remedy:?}");
        let after = plain_report(&run.with_texts(&remedy.set).unwrap()).unwrap().step;
        assert!(after.bubble_s.0 < before.bubble_s.0, "{remedy:?}");
    }
}
