//! Words below the five inputs: what each means here, and where its default comes from.

use super::found::{WholeRunAnswer, duration};
use super::interval::bytes;
use crate::prelude::*;
use crate::views::View;
use shardscope_core::run::{FailureClass, Failures, Operation};
use shardscope_core::units::group;
use shardscope_core::whole_run::{LossKind, Ramp, WholeRunFigure};

/// The five inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caption {
    Tokens,
    /// Price of a GPU-hour.
    Price,
    /// Rate of interruptions.
    Failures,
    /// Rate of the storage.
    Storage,
    /// The sequel of an interruption.
    Restart,
}

/// The words below an input.
pub fn caption(of: Caption, evaluation: &Evaluation, answer: Option<&WholeRunAnswer>) -> Node {
    let run = &evaluation.scenario.run;
    let words = match of {
        // Both speak of this run's own times.
        Caption::Failures | Caption::Restart if answer.is_none() => Message::default(),
        Caption::Tokens => tokens(evaluation),
        Caption::Price if run.own_price().is_none() => t!("per GPU-hour; assumed, as in Run: type yours"),
        Caption::Price => t!("per GPU-hour"),
        Caption::Failures => failures(run, answer),
        Caption::Storage => storage(run, answer),
        Caption::Restart => restart(run, answer),
    };
    let figure = match of {
        Caption::Failures => Some(WholeRunFigure::Interruptions),
        Caption::Storage => Some(WholeRunFigure::Loss(LossKind::Checkpoints)),
        Caption::Restart => Some(WholeRunFigure::Loss(LossKind::Restarts)),
        Caption::Tokens | Caption::Price => None,
    };
    match figure.filter(|_| answer.is_some()) {
        Some(figure) => el("button", &[("class", "plain")], &[text(words)]).on(Action::ExplainWhole(figure)),
        None => text(words),
    }
}

fn tokens(evaluation: &Evaluation) -> Message {
    let active = evaluation.report.parameters.active as f64;
    match evaluation.scenario.run.tokens_total {
        Some(tokens) => t!("{count} per active parameter", count = significant(tokens / active, 3)),
        None => t!("assumed, as in Run: type yours, 15 T or 15e12"),
    }
}

fn failures(run: &Run, answer: Option<&WholeRunAnswer>) -> Message {
    let often = answer.and_then(|answer| answer.figures.mtti_s);
    let often = often.map_or_else(String::new, duration);
    if run.length.mtti_h.is_some() {
        return t!("one every {time}, as you measured it", time = often);
    }
    let Some(rate) = answer.and_then(|answer| answer.setting.rate).filter(|_| !often.is_empty()) else {
        return t!("nothing fails");
    };
    let rate = significant(rate.value, 3);
    match run.length.failures.unwrap_or(Failures::Class(FailureClass::Unknown)) {
        Failures::Class(FailureClass::Vetted) => {
            t!("one every {time}: {rate} per 1,000 node-days (Llama 3, RSC-1, RSC-2, SKT)", time = often, rate)
        }
        Failures::Class(FailureClass::Shared) => {
            t!("one every {time}: {rate} per 1,000 node-days (RSC-1 at 1,024 GPUs, OPT)", time = often, rate)
        }
        Failures::Class(FailureClass::Unknown) => {
            t!("one every {time}: {rate} per 1,000 node-days, between vetted and shared nodes", time = often, rate)
        }
        Failures::Rate(_) => t!("one every {time}: {rate} per 1,000 node-days, yours", time = often, rate),
    }
}

/// True of a run on one node or less.
fn is_one_node(run: &Run) -> bool {
    let per_node = run.gpu.resolve().ok().map(|gpu| run.gpus_per_node.unwrap_or(gpu.per_node));
    per_node.is_some_and(|per_node| run.gpus <= per_node)
}

fn storage(run: &Run, answer: Option<&WholeRunAnswer>) -> Message {
    let Some(answer) = answer else {
        return t!("50 GB/s unless you say so: the least of 40 production runs");
    };
    let stored = bytes(answer.figures.checkpoint_bytes);
    let time = duration(Seconds(answer.figures.checkpoint_bytes / answer.setting.storage));
    if run.length.checkpoint_async == Some(false) {
        return t!("{bytes} each in {time}, training waits", bytes = stored, time);
    }
    if run.length.storage_gb_per_s.is_none() && is_one_node(run) {
        // Other defaults would change what links mean.
        return t!(
            "{bytes} each in {time}, behind training; 50 GB/s is assumed, which is storage of a large cluster: set \
                what this machine has",
            bytes = stored,
            time
        );
    }
    if run.length.storage_gb_per_s.is_none() {
        return t!(
            "{bytes} each in {time}, behind training; 50 GB/s is the least of 40 production runs",
            bytes = stored,
            time
        );
    }
    t!("{bytes} each in {time}, behind training", bytes = stored, time)
}

fn restart(run: &Run, answer: Option<&WholeRunAnswer>) -> Message {
    let time = answer.map_or_else(String::new, |answer| duration(answer.setting.rhythm.restart));
    if run.length.restart_s.is_some() {
        return t!("{time} from an interruption to the first repeated step, yours", time);
    }
    match run.length.operation.unwrap_or(Operation::Automatic) {
        Operation::Warm => t!("{time}: standby nodes, saves in memory (ByteRobust)", time),
        Operation::Automatic => t!("{time} to detect, replace and load (MegaScale)", time),
        Operation::Manual => {
            t!("{time}: the weakest number here; published ratios also hold rollbacks, debugging and nights", time)
        }
    }
}

/// Parts of the calendar: the step of the Run, and their number.
pub fn steps(evaluation: &Evaluation, answer: &WholeRunAnswer) -> Node {
    let step = &evaluation.report.step;
    let words = t!(
        "A step of {tokens} tokens takes {time} ({low} to {high}): {steps} steps.",
        tokens = show_count(evaluation.scenario.tokens_per_step()),
        time = show_seconds(step.time_s),
        low = show_seconds(step.low_s),
        high = show_seconds(step.high_s),
        steps = group(&format!("{:.0}", answer.figures.steps.ceil()))
    );
    let way = leaf("button", "link", "See the step").on(Action::Show(View::Run));
    let run = &evaluation.scenario.run;
    let ramp = Ramp::of(run).ok().flatten().map(|ramp| {
        t!(
            "The batch grows from {start} to {full} sequences over the first {samples} sequences: these steps hold \
                fewer tokens.",
            start = group(&format!("{:.0}", ramp.start)),
            full = group(&run.global_batch.to_string()),
            samples = group(&format!("{:.0}", ramp.samples))
        )
    });
    let mut children = vec![text(words), text(" ")];
    children.extend(ramp.into_iter().flat_map(|ramp| [text(ramp), text(" ")]));
    children.push(way);
    el("p", &[("class", "muted")], &children)
}
