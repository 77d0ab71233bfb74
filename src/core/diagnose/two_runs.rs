//! Two runs of one program beside each other: what grows with the micro-batches and what does not, whether the
//! pipeline's bubble can be the reason, and what differs where no setting does.

use super::causes::{CauseId, FoundCause};
use super::figures::{of_report, seconds_of_files, share_of_files};
use super::{Comparison, Diagnosis};
use crate::message::Message;
use crate::run::{Run, Scenario};
use crate::t;
use crate::units::{show_percent, significant};

/// The step of a run, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTimes {
    pub run: Run,
    pub step_s: f64,
}

/// Ratio of two steps above which kernels alone cannot be the reason.
const BY_KERNELS: f64 = 10.0;
/// Share by which the steps of one run differ by chance: a smaller difference is none.
const SAME: f64 = 0.03;

/// The share of a step that ranks of a pipeline wait while it fills and drains: `(p − 1) / (v m + p − 1)`, of 1F1B
/// and, with v virtual stages, of its interleaved form (Megatron-LM, SC 21, section 2.2).
fn bubble(run: &Run, microbatches: u64) -> f64 {
    let (ranks, chunks) = (run.pp.max(1) as f64, run.virtual_stages.max(1) as f64);
    (ranks - 1.0) / (chunks * microbatches as f64 + ranks - 1.0)
}

/// The ratio of the tokens a second with `many` micro-batches to those with `few`, if only the bubble changes.
pub fn gain_by_bubble(run: &Run, few: u64, many: u64) -> f64 {
    (1.0 - bubble(run, many)) / (1.0 - bubble(run, few))
}

/// The part of a step that grows with its micro-batches, seconds each, and the fixed part.
pub fn per_microbatch(few: (u64, f64), many: (u64, f64)) -> Option<(f64, f64)> {
    if many.0 <= few.0 {
        return None;
    }
    let each = (many.1 - few.1) / (many.0 - few.0) as f64;
    Some((each, few.1 - few.0 as f64 * each))
}

/// Diagnoses the longer of two steps beside the other; none where they cannot be compared.
pub fn of_two_runs(first: &RunTimes, second: &RunTimes) -> Option<Diagnosis> {
    let layouts = (Scenario::new(&first.run).ok()?.layout, Scenario::new(&second.run).ok()?.layout);
    let plain = |run: &Run| Run { measured_step_s: None, global_batch: 0, ..run.clone() };
    let same_but_batch = plain(&first.run) == plain(&second.run);
    if first.run.global_batch != second.run.global_batch && same_but_batch {
        let pair = [(layouts.0.microbatches, first), (layouts.1.microbatches, second)];
        let [few, many] = if pair[0].0 <= pair[1].0 { pair } else { [pair[1], pair[0]] };
        return Some(microbatches(few, many));
    }
    if same_but_batch {
        let (long, short) = if first.step_s >= second.step_s { (first, second) } else { (second, first) };
        return Some(same_settings(long, short));
    }
    let only_gpus = |run: &Run| Run { gpus: 1, ..plain(run) };
    if only_gpus(&first.run) == only_gpus(&second.run) {
        let (few, many) = if first.run.gpus <= second.run.gpus { (first, second) } else { (second, first) };
        return Some(more_gpus(few, many));
    }
    None
}

fn base(long: &RunTimes, verdict: Message, causes: Vec<FoundCause>) -> Diagnosis {
    #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
    let window_ns = (long.step_s * 1e9) as i64;
    Diagnosis { window_ns, causes, ..Diagnosis::empty(Comparison::TwoRuns, verdict) }
}

fn cause(id: CauseId, evidence: Message, measure: Message) -> FoundCause {
    FoundCause { measure: Some(measure), ..FoundCause::new(id, evidence) }
}

/// Two runs with equal settings: what differs is something that no setting says.
fn same_settings(long: &RunTimes, short: &RunTimes) -> Diagnosis {
    let times = long.step_s / short.step_s;
    let more = seconds_of_files("step", long.step_s);
    let less = seconds_of_files("step of the shorter run", short.step_s);
    let factor = significant(times, 2);
    if times < 1.0 + SAME {
        return base(long, t!("{more} and {less} with the same settings: nothing to explain.", more, less), Vec::new());
    }
    let verdict =
        t!("{more} against {less} with the same settings: {factor} times as long.", more, less, factor = &factor);
    if times > BY_KERNELS {
        let host = t!(
            "One step is {factor} times as long as the other: kernels alone do not make it more than 10 times as long, \
                so that it is the host or its data. Compiling again at every micro-batch did so in a public run.",
            factor
        );
        let loader = t!("The same holds for a data loader that waits for its storage.");
        let causes = vec![
            cause(
                CauseId::HostLate,
                host,
                t!("lines of recompilation (TORCH_LOGS=recompiles), CPU time by py-spy: 5 min"),
            ),
            cause(CauseId::Loader, loader, t!("the same steps with mock data: 5 min")),
        ];
        return base(long, verdict, causes);
    }
    let network = t!("Consistent with a network that fell back: sockets, one card of several, no direct access.");
    let kernels = t!("Consistent with slower kernels, clocks or another job on the node.");
    let causes = vec![
        cause(
            CauseId::SlowNetwork,
            network,
            t!("a trace of one step of each run: kernels that are equally long are not it, 5 min"),
        ),
        cause(CauseId::SlowKernels, kernels, t!("clocks of every GPU (nvidia-smi -q -d PERFORMANCE): 1 min")),
    ];
    base(long, verdict, causes)
}

/// Two runs that differ in their number of micro-batches: the fixed part of a step, and how much the bubble explains.
fn microbatches((few, first): (u64, &RunTimes), (many, second): (u64, &RunTimes)) -> Diagnosis {
    let batch = |run: &RunTimes| run.run.global_batch as f64 / run.step_s;
    let measured = batch(second) / batch(first);
    let mut causes = Vec::new();
    if let Some((each, fixed)) = per_microbatch((few, first.step_s), (many, second.step_s)) {
        let words = t!(
            "A micro-batch takes {each}, and {fixed} of the step do not grow with them: bubble, optimizer and the end \
                of the gradients' messages.",
            each = seconds_of_files("a micro-batch", each.max(0.0)),
            fixed = seconds_of_files("what does not grow", fixed.max(0.0))
        );
        if fixed > 0.05 * first.step_s {
            causes.push(cause(CauseId::Bubble, words, t!("a trace of the first and the last pipeline stage: 5 min")));
        }
    }
    let (before, after) = (bubble(&first.run, few), bubble(&second.run, many));
    let expected = gain_by_bubble(&first.run, few, many);
    let figures = || {
        let [before, after] = [("bubble before", before), ("bubble after", after)];
        let share = |(field, share)| of_report(field, show_percent(share));
        (share(before), share(after), significant(expected, 3), significant(measured, 3))
    };
    // Less than half of what the smaller bubble would give: it is not the reason.
    let rejected = first.run.pp > 1 && measured - 1.0 < 0.5 * (expected - 1.0);
    let verdict = if rejected {
        let (before, after, expected, measured) = figures();
        causes.clear();
        let evidence = t!(
            "It is not the bubble: from {before} to {after} it would give {expected} times the tokens a second, and \
                {measured} times were measured.",
            before,
            after,
            expected,
            measured
        );
        let measure =
            t!("the same steps with a micro-batch twice as large: time that does not grow is the CPU's, 10 min");
        causes.push(cause(
            CauseId::HostLate,
            t!("Consistent with a cost of every micro-batch: launches of small kernels, transport between stages."),
            measure,
        ));
        evidence
    } else if first.run.pp > 1 {
        let (before, after, expected, measured) = figures();
        t!(
            "The bubble, from {before} to {after}, would give {expected} times the tokens a second; {measured} times \
                were measured.",
            before,
            after,
            expected,
            measured
        )
    } else {
        t!("More micro-batches give {measured} times the tokens a second.", measured = significant(measured, 3))
    };
    base(if first.step_s > second.step_s { first } else { second }, verdict, causes)
}

/// One run on two numbers of GPUs: what the larger number loses.
fn more_gpus(few: &RunTimes, many: &RunTimes) -> Diagnosis {
    let rate = |run: &RunTimes| run.run.global_batch as f64 / run.step_s / run.run.gpus as f64;
    let share = rate(many) / rate(few);
    let verdict = t!(
        "{many} GPUs reach {share} of the tokens a second and GPU that {few} reach.",
        many = many.run.gpus,
        few = few.run.gpus,
        share = share_of_files("tokens a second and GPU", share)
    );
    let one_node = few.run.gpus <= 8 && many.run.gpus > 8;
    let mut causes = Vec::new();
    if share < 1.0 - SAME {
        let words = if one_node {
            t!("Consistent with messages between nodes: the smaller run has none.")
        } else {
            t!("Consistent with messages of data-parallel ranks, whose number is what grew.")
        };
        causes.push(cause(CauseId::SlowNetwork, words, t!("nccl-tests on one node and on two: 10 min")));
    }
    base(many, verdict, causes)
}
