//! A synthetic trace: the kernels that are predicted for a run, with delays added. The page offers it as an example,
//! and tests check that a diagnosis finds the delays. Nothing in it is measured.

use super::dimension::ProcessGroup;
use super::expected::{ExpectedStep, StepShare};
use super::trace::{AttentionPass, GpuWork, RankTrace, StepMark, WorkKind};
use crate::issue::Issue;
use crate::report::{Evaluation, evaluate};
use crate::run::{Run, Scenario};
use crate::time::KernelClass;
use crate::traffic::Traffic;

/// The delays that are added to a synthetic trace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MadeDelays {
    /// Seconds of data-parallel messages that run behind the last kernel of the backward pass.
    pub late_reduction: f64,
    /// Seconds of a pause of the host, before the second half of the micro-batches.
    pub pause: f64,
    /// Factor by which attention takes longer.
    pub attention: f64,
}

/// Calls that the reduction of gradients is divided into. A choice.
const CALLS: u64 = 8;

/// A synthetic trace while kernels are added to it.
struct MadeRank {
    trace: RankTrace,
    /// End of the last kernel or gap, nanoseconds: the next kernel starts there.
    at: i64,
}

/// Time from a launch to its kernel, nanoseconds. A choice.
const AHEAD: i64 = 200_000;

impl MadeRank {
    /// Adds a kernel of `length` nanoseconds that starts where the last one ended.
    fn kernel(&mut self, class: KernelClass, length: i64, attention: Option<AttentionPass>) {
        if length <= 0 {
            return;
        }
        let (start, launch) = (self.at, self.at - AHEAD);
        let group = class.is_message().then_some(0);
        let work = WorkKind::Kernel(class);
        let kernel = GpuWork {
            start,
            end: start + length,
            work,
            launch: Some(launch),
            graphed: false,
            group,
            bytes: 0,
            attention,
        };
        self.trace.activities.push(kernel);
        self.trace.calls.push(launch);
        self.trace.kernels_ns += length;
        self.at += length;
    }
}

#[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// A synthetic trace of the first pipeline rank of `run`: its predicted parts, with `delays`.
///
/// # Errors
/// The settings of `run` that cannot work.
pub fn made_trace(run: &Run, delays: MadeDelays) -> Result<RankTrace, Vec<Issue>> {
    let expected = ExpectedStep::of(run, 0)?;
    let scenario = Scenario::new(run)?;
    let seconds_of = |share: StepShare| expected.shares.get(&share).copied().unwrap_or(0.0);
    let group = ProcessGroup {
        name: "0".to_owned(),
        description: "DATA_PARALLEL_GROUP".to_owned(),
        size: scenario.layout.dp,
        stride: 1,
    };
    let trace =
        RankTrace { rank: Some(0), world: Some(scenario.layout.gpus), groups: vec![group], ..RankTrace::default() };
    let mut made = MadeRank { trace, at: 1_000_000_000 };
    let begin = made.at;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // layers and passes of a run
    let (layers, forwards) = (expected.attention_layers.round() as u64, expected.forwards.round() as u64);
    let microbatches = expected.microbatches;
    // A backward pass takes twice as long as a forward pass, and begins with the forward passes that it repeats.
    let parts = (layers * microbatches * (forwards + 2)).max(1) as f64;
    let stretch = if delays.attention > 0.0 { delays.attention } else { 1.0 };
    let each = |share: StepShare| seconds_of(share) / parts;
    let products = each(StepShare::Products);
    // Elementwise kernels run in every layer, embedding and loss once a pass.
    let (of_layers, of_passes): (Vec<_>, Vec<_>) = expected
        .kernels_of(StepShare::Others)
        .map(|(class, seconds)| (class, seconds / parts))
        .partition(|(class, _)| *class == KernelClass::Elementwise);
    let attention = each(StepShare::Attention) * stretch;
    let gap = seconds_of(StepShare::Launches) / (layers * microbatches).max(1) as f64;
    for microbatch in 0..microbatches {
        if microbatch == microbatches / 2 && delays.pause > 0.0 {
            made.at += ns(delays.pause);
        }
        for pass in 0..=forwards {
            for _ in 0..layers {
                let (times, kind) =
                    if pass < forwards { (1.0, AttentionPass::Forward) } else { (2.0, AttentionPass::Backward) };
                made.kernel(KernelClass::Products, ns(products * times), None);
                made.kernel(KernelClass::Attention, ns(attention * times), Some(kind));
                for (class, seconds) in &of_layers {
                    made.kernel(*class, ns(seconds * times), None);
                }
                if pass == 0 {
                    made.at += ns(gap);
                }
            }
            let times = if pass < forwards { 1.0 } else { 2.0 };
            for (class, seconds) in &of_passes {
                made.kernel(*class, ns(seconds * times * layers as f64), None);
            }
        }
    }
    late_launches(&mut made.trace);
    let reduction = seconds_of(StepShare::ExposedDp) + delays.late_reduction;
    for _ in 0..CALLS {
        made.kernel(KernelClass::ReduceScatter, ns(reduction / CALLS as f64), None);
    }
    made.kernel(KernelClass::Optimizer, ns(seconds_of(StepShare::Optimizer)), None);
    let end = made.at;
    made.trace.marks = vec![StepMark { number: 1, begin: begin - 2 * AHEAD, end }];
    Ok(made.trace.sorted())
}

/// Makes every gap a late launch: the kernel behind a gap is launched 5 µs before it starts.
fn late_launches(trace: &mut RankTrace) {
    let mut end = trace.activities.first().map_or(0, |kernel| kernel.start);
    for kernel in &mut trace.activities {
        if kernel.start > end {
            kernel.launch = Some(kernel.start - 5_000);
        }
        end = end.max(kernel.end);
    }
}

/// Seconds of the data-parallel messages of `evaluation`, hidden or not.
pub fn data_parallel_seconds(evaluation: &Evaluation) -> f64 {
    let rows = evaluation.report.overlap.iter().filter(|row| matches!(row.traffic, Traffic::Dp | Traffic::Zero3));
    rows.map(|row| row.comm_s.0).sum()
}

/// The example of the page: gradients are reduced after the backward pass instead of beside it, and the host pauses
/// once.
///
/// # Errors
/// As [`made_trace`].
pub fn example_trace(run: &Run) -> Result<RankTrace, Vec<Issue>> {
    let evaluation = evaluate(run)?;
    let step = evaluation.report.step.time_s.0;
    let late_reduction = data_parallel_seconds(&evaluation).max(0.25 * step);
    made_trace(run, MadeDelays { late_reduction, pause: 0.03 * step, attention: 1.0 })
}
