//! What a measured step without parts is consistent with: each hypothesis is one change of the run, tried on the
//! calculator, and ranked by how near its step comes to what was measured.
//!
//! A log has one number a step, so that nothing here says what a run does; every row comes with the measurement that
//! settles it.

use super::causes::{CauseId, FoundCause};
use super::figures::{of_report, seconds_of_files, seconds_of_report, share_of_files};
use crate::maths::{exp, ln};
use crate::message::{Message, verbatim};
use crate::report::evaluate_plain;
use crate::run::registry::field;
use crate::run::{OneOf, Recompute, Run, Scenario};
use crate::sort::sort_by;
use crate::t;
use crate::time::ComputePeak;
use crate::units::{fixed, significant};
use serde::{Deserialize, Serialize};

/// Hypotheses that are listed.
const LISTED: usize = 5;
/// A range holds four of five runs: its ends are 2.68 standard deviations of the logarithm apart.
const ENDS: f64 = 2.68;
/// Factor by which kernels alone do not lengthen a step: unfused kernels of a public run made it 3 times as long
/// (ms-swift 9797), a host that compiles at every micro-batch 37 times.
const BY_KERNELS: f64 = 10.0;
/// Two hypotheses whose scores differ by less cannot be told apart by a log.
const ALIKE: f64 = 3.0;
/// A figure of utilisation this near to one way of counting is counted so.
pub(super) const SAME_COUNT: f64 = 0.015;

/// A hypothesis: its weight before anything was measured, the changes of the run that stand for it, and what settles
/// it. The weights order the list and are shown to nobody: no data is behind them.
struct LogHypothesis {
    id: CauseId,
    weight: f64,
    changes: Vec<Vec<(&'static str, String)>>,
    /// Factors of the whole step, for what no field of a run says.
    factors: &'static [f64],
    words: fn() -> Message,
    /// What removes it, if it is the cause.
    change: fn() -> Message,
    measure: fn() -> Message,
}

#[allow(clippy::needless_pass_by_value)] // numbers and names
fn one(key: &'static str, value: impl ToString) -> Vec<(&'static str, String)> {
    vec![(key, value.to_string())]
}

/// Settings of a run that hypotheses change, of those that files may state; attention kernels and compilation are not
/// told by their fields.
const SETTINGS: [&str; 7] = ["recompute", "precision", "global_batch", "micro_batch", "seq_len", "zero", "overlap.dp"];

/// `run` with another value of every setting that a hypothesis changes and that files may state. What is read of a file
/// beside it and beside `run` is equal in the settings that the file states.
pub fn unlike(run: &Run) -> Run {
    let other = |is: bool, first: &str, second: &str| if is { second.to_owned() } else { first.to_owned() };
    let values = [
        other(run.recompute == Recompute::Full, "full", "none"),
        other(run.precision.base == Some("fp32"), "fp32", "bf16"),
        run.global_batch.saturating_mul(2).to_string(),
        run.micro_batch.saturating_mul(2).to_string(),
        run.seq_len.saturating_mul(2).to_string(),
        ((run.zero + 1) % 4).to_string(),
        other(run.overlap.dp == Some(0.0), "0", "1"),
    ];
    let set: Vec<_> = SETTINGS.into_iter().zip(values).collect();
    run.with_texts(&set).unwrap_or_else(|| run.clone())
}

/// Settings that a file states: those in which the run that was read of it beside one run equals the run that was read
/// of it beside [`unlike`] of that run.
pub fn stated_settings(beside_run: &Run, beside_unlike: &Run) -> Vec<String> {
    let differing = beside_run.differences(beside_unlike);
    let differs = |setting: &str| {
        let is_part =
            |key: &str| key.strip_prefix(setting).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        differing.iter().any(|(key, _)| is_part(key))
    };
    SETTINGS.into_iter().filter(|setting| !differs(setting)).map(str::to_owned).collect()
}

/// Kernels that are slower than those of the run's software: of attention, and of the rest.
fn slower_kernels() -> [LogHypothesis; 2] {
    [
        LogHypothesis {
            id: CauseId::AttentionFallback,
            weight: 0.08,
            changes: vec![one("stack.attention", "eager"), one("stack.attention", "flash-1")],
            factors: &[],
            words: || t!("attention on slower kernels than the stack's"),
            change: || t!("the attention kernel that the software of the run has"),
            measure: || t!("names of kernels in a trace of one step: 5 min"),
        },
        LogHypothesis {
            id: CauseId::SlowKernels,
            weight: 0.04,
            changes: vec![one("stack.compile", false)],
            factors: &[],
            words: || t!("loss or norms on slower kernels than the stack's"),
            change: || t!("the fused kernels that the software of the run has: norms, loss"),
            measure: || t!("names of kernels in a trace of one step: 5 min"),
        },
    ]
}

/// Every hypothesis for `run`. Settings that are `stated` are as they are.
fn hypotheses(run: &Run, scenario: &Scenario, stated: &[String]) -> Vec<LogHypothesis> {
    let host = scenario.software.host.0 * 1e6;
    let wire = scenario.gpu.inter.0 * 1e-9;
    let doubled = |value: u64| [value * 2, (value / 2).max(1)];
    let mut settings = vec![one("recompute", "full"), one("recompute", "none"), one("recompute", "selective")];
    settings.extend(["bf16", "fp32"].map(|precision| one("precision", precision)));
    settings.extend(doubled(run.global_batch).map(|batch| one("global_batch", batch)));
    settings.extend(doubled(run.micro_batch).map(|batch| one("micro_batch", batch)));
    settings.extend(doubled(run.seq_len).map(|length| one("seq_len", length)));
    settings.extend((0..=3).map(|zero| one("zero", zero)));
    let mut all = vec![
        LogHypothesis {
            id: CauseId::AnotherSetting,
            weight: 0.3,
            changes: settings,
            factors: &[],
            words: || t!("a setting of the run that the log does not state"),
            change: || t!("set it in the program as on the page, or on the page as in the program"),
            measure: || t!("compare the arguments that the program prints with the page: 2 min"),
        },
        LogHypothesis {
            id: CauseId::GradReduceLate,
            weight: 0.15,
            changes: vec![one("overlap.dp", 0)],
            factors: &[],
            words: || t!("gradients and weights that no compute hides"),
            change: || t!("--overlap-grad-reduce and --overlap-param-gather of Megatron-LM, or prefetching of FSDP"),
            measure: || t!("the same steps with the overlap switched off: if nothing changes it was not on, 10 min"),
        },
        LogHypothesis {
            id: CauseId::HostLate,
            weight: 0.13,
            changes: [2.0, 3.0, 5.0].map(|times| one("stack.host_us_per_layer", host.max(50.0) * times)).into(),
            factors: &[],
            words: || t!("a CPU that launches kernels late"),
            change: || t!("CUDA graphs, a larger micro-batch, fewer reads of values (.item()) in a step"),
            measure: || t!("twice the micro-batch: time that does not grow is the CPU's, 10 min"),
        },
        LogHypothesis {
            id: CauseId::SlowNetwork,
            weight: 0.1,
            changes: [0.5, 0.25, 0.05].map(|share| one("gpu.inter_gb_per_s", wire * share)).into(),
            factors: &[],
            words: || {
                t!("a network at a fraction of its rate: sockets, one card of several, no direct access to the GPU")
            },
            change: || {
                t!("the cards that NCCL uses (NCCL_DEBUG=INFO), RoCE or InfiniBand switched on, direct access to GPUs")
            },
            measure: || t!("nccl-tests on one node and on two: 10 min"),
        },
        LogHypothesis {
            id: CauseId::Loader,
            weight: 0.07,
            changes: Vec::new(),
            factors: &[1.1, 1.3, 2.0, 4.0],
            words: || t!("a data loader that is late"),
            change: || t!("more workers, prefetching, data that is prepared before"),
            measure: || t!("the same steps with mock data: 5 min"),
        },
        LogHypothesis {
            id: CauseId::LateRank,
            weight: 0.05,
            changes: Vec::new(),
            factors: &[1.05, 1.2, 1.5, 2.0],
            words: || t!("one slow GPU that all others wait for; it is constant, so that steps do not scatter by it"),
            change: || t!("no setting: look at that rank's GPU and host, and leave its node out of the job"),
            measure: || t!("one product on every GPU, and clocks (nvidia-smi -q -d PERFORMANCE): 2 min"),
        },
    ];
    all.extend(slower_kernels());
    if scenario.model.moe.is_some() {
        all.push(LogHypothesis {
            id: CauseId::EpImbalance,
            weight: 0.05,
            changes: [1.5, 2.0, 4.0].map(|times| one("moe_imbalance", times)).into(),
            factors: &[],
            words: || t!("tokens that are spread unevenly over the experts"),
            change: || t!("a capacity, a balancing loss, more expert parallelism"),
            measure: || t!("the same steps with a router that is forced to balance: 5 min"),
        });
    }
    let is_open = |set: &[(&'static str, String)]| set.iter().all(|(key, _)| stated.iter().all(|known| known != key));
    for hypothesis in &mut all {
        hypothesis.changes.retain(|set| is_open(set));
    }
    all
}

/// Score, step and change of the setting of a hypothesis that comes nearest.
type NearestStep = (f64, f64, Vec<(&'static str, String)>);

/// What a step of `measured` seconds, longer than the prediction from `low` to `high`, is consistent with, the
/// likeliest by the seconds that each would explain. From a log alone: no cause has seconds. No setting that is
/// `stated` is taken to differ.
pub fn without_parts(measured: f64, run: &Run, [predicted, low, high]: [f64; 3], stated: &[String]) -> Vec<FoundCause> {
    let run = &Run { measured_step_s: None, ..run.clone() };
    let Ok(scenario) = Scenario::new(run) else {
        return Vec::new();
    };
    let times = measured / predicted;
    // A range without width is of a run that was measured itself.
    let sigma = (ln(high / low) / ENDS).max(0.02);
    let near = |step: f64| exp(-0.5 * (ln(measured / step) / sigma) * (ln(measured / step) / sigma));
    let step_of = |set: &[(&'static str, String)]| {
        let after = run.with_texts(set).filter(|after| after != run)?;
        Some(evaluate_plain(&after).ok()?.report.step.time_s.0)
    };
    let mut scored: Vec<(NearestStep, LogHypothesis)> = Vec::new();
    for hypothesis in hypotheses(run, &scenario, stated) {
        let only_outside = matches!(hypothesis.id, CauseId::HostLate | CauseId::Loader);
        if times > BY_KERNELS && !only_outside {
            continue;
        }
        let tried = hypothesis.changes.iter().filter_map(|set| Some((step_of(set)?, set.clone())));
        let whole = hypothesis.factors.iter().map(|factor| (predicted * factor, Vec::new()));
        let best = tried.chain(whole).filter(|(step, _)| *step > predicted);
        let best = best.map(|(step, set)| (near(step), step, set)).max_by(|a, b| a.0.total_cmp(&b.0));
        let best = match best {
            // Nothing bounds how long a host or a loader may take.
            _ if times > BY_KERNELS => Some((1.0, measured, Vec::new())),
            best => best,
        };
        if let Some((score, step, set)) = best {
            scored.push(((score * hypothesis.weight, step, set), hypothesis));
        }
    }
    sort_by(&mut scored, |a: &(NearestStep, LogHypothesis), b| b.0.0.total_cmp(&a.0.0));
    // What explains next to nothing of the difference is no explanation.
    scored.retain(|((_, step, _), _)| step - predicted > 0.05 * (measured - predicted));
    let alike = match (scored.first(), scored.get(1)) {
        (Some(first), Some(second)) => second.0.0 * ALIKE > first.0.0,
        _ => false,
    };
    // The likeliest are listed, by the seconds that each explains; those that may be of any length follow, in
    // the order of their scores.
    scored.truncate(LISTED);
    let explains = |(_, step, set): &NearestStep| {
        if set.is_empty() { 0.0 } else { (step - predicted).min(measured - predicted) }
    };
    sort_by(&mut scored, |a: &(NearestStep, LogHypothesis), b| explains(&b.0).total_cmp(&explains(&a.0)));
    let causes = scored.into_iter().enumerate();
    causes
        .map(|(at, ((_, step, set), hypothesis))| told(at, measured, predicted, step, &set, &hypothesis, alike))
        .collect()
}

/// What a step of `measured` seconds, shorter than `predicted`, is consistent with: the setting that the log does not
/// state, of those that are tried, with which the prediction comes nearest. None where none comes nearer. No setting
/// that is `stated` is taken to differ.
pub fn faster_than_predicted(measured: f64, run: &Run, predicted: f64, stated: &[String]) -> Vec<FoundCause> {
    let run = &Run { measured_step_s: None, ..run.clone() };
    let Ok(scenario) = Scenario::new(run) else {
        return Vec::new();
    };
    let settings = hypotheses(run, &scenario, stated).into_iter().filter(|one| one.id == CauseId::AnotherSetting);
    let off = |step: f64| ln(measured / step).abs();
    let tried = settings.flat_map(|settings| settings.changes).filter_map(|set| {
        let after = run.with_texts(&set).filter(|after| after != run)?;
        let step = evaluate_plain(&after).ok()?.report.step.time_s.0;
        (off(step) < off(predicted)).then_some((step, set))
    });
    let Some((step, set)) = tried.min_by(|a, b| off(a.0).total_cmp(&off(b.0))) else {
        return Vec::new();
    };
    let Some(field) = set.first().and_then(|(key, _)| field(key)) else {
        return Vec::new();
    };
    let value = set.first().map(|(_, value)| value.clone()).unwrap_or_default();
    let evidence = t!(
        "Consistent with a setting that the log does not state: where {label} is {value}, the prediction is {step}. \
            {measured} were measured, {predicted} are predicted for the run as it is.",
        label = Message::plain(field.label),
        value = verbatim(value),
        step = seconds_of_report(format!("step.time_s with {set:?}"), step),
        measured = seconds_of_files("step", measured),
        predicted = seconds_of_report("step.time_s", predicted)
    );
    vec![FoundCause {
        change: Some(t!("set it on the page as in the program")),
        measure: Some(t!("compare the arguments that the program prints with the page: 2 min")),
        predicted_s: Some(step),
        set,
        ..FoundCause::new(CauseId::AnotherSetting, evidence)
    }]
}

fn told(
    at: usize,
    measured: f64,
    predicted: f64,
    step: f64,
    set: &[(&'static str, String)],
    hypothesis: &LogHypothesis,
    alike: bool,
) -> FoundCause {
    let words = (hypothesis.words)();
    let mut evidence = if measured > BY_KERNELS * predicted {
        vec![t!(
            "Consistent with {words}: a step {times} times as long as predicted, which kernels alone do not make.",
            words,
            times = significant(measured / predicted, 2)
        )]
    } else if let [(key, value)] = set {
        let (label, unit) = field(key).map_or(("", ""), |field| (field.label, field.unit));
        let long = value.parse::<f64>().ok().filter(|_| value.contains('.'));
        let value = long.map_or_else(|| value.clone(), |number| significant(number, 3));
        let value = if unit.is_empty() { value } else { format!("{value} {unit}") };
        vec![t!(
            "Consistent with {words}: where {label} is {value}, the prediction is {step}, which explains {part} of \
                {all}.",
            words,
            label = Message::plain(label),
            value = of_report(format!("tried: {set:?}"), value),
            step = seconds_of_report(format!("step.time_s with {set:?}"), step),
            part = seconds_of_report(
                format!("step.time_s with {set:?}, more"),
                (step - predicted).min(measured - predicted)
            ),
            all = seconds_of_files("beyond the prediction", measured - predicted)
        )]
    } else {
        vec![t!("Consistent with {words}.", words)]
    };
    if at == 0 && alike {
        evidence.push(t!("The log cannot tell the likeliest of these apart."));
    }
    FoundCause {
        change: Some((hypothesis.change)()),
        measure: Some((hypothesis.measure)()),
        predicted_s: Some(step),
        // What the sentence promises is what the button shows.
        set: if measured > BY_KERNELS * predicted { Vec::new() } else { set.to_vec() },
        ..FoundCause::new(hypothesis.id, Message::joined(" ", evidence))
    }
}

/// Figures of utilisation that a program prints of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatedUtilisation {
    /// Share of a peak, 0 to 1.
    pub mfu: Option<f64>,
    /// TFLOP/s a GPU.
    pub tflops: Option<f64>,
    /// Tokens a second and GPU.
    pub tokens: Option<f64>,
}

/// How a figure is counted, where it meets one way within 1.5 %.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedAs {
    /// TFLOP/s a GPU, and the peak that they are over.
    pub tflops: f64,
    pub peak_tflops: f64,
    /// Share of the GPU's dense peak that these TFLOP/s are.
    pub dense: f64,
    /// The peak is twice the dense one, that of products with half of their weights zero.
    pub sparse: bool,
    /// Whose way to count FLOPs, where tokens were counted and not FLOPs.
    pub by: Option<&'static str>,
}

/// The way in which `stated` is counted; none where none meets it, or where too little is stated.
pub fn counted(stated: &StatedUtilisation, run: &Run) -> Option<CountedAs> {
    let scenario = Scenario::new(run).ok()?;
    let dense = ComputePeak::of(&scenario).tflops;
    let h100 = 989.5;
    let peaks = [(dense, false), (2.0 * dense, true), (h100, false), (2.0 * h100, true)];
    let mfu = stated.mfu?;
    let meets = |tflops: f64, by: Option<&'static str>| {
        let near = peaks.iter().map(|(peak, sparse)| (ln(tflops / peak / mfu).abs(), *peak, *sparse));
        let best = near.filter(|(off, ..)| *off <= SAME_COUNT).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (off, peak_tflops, sparse) = best;
        Some((off, CountedAs { tflops, peak_tflops, dense: tflops / dense, sparse, by }))
    };
    if let Some(tflops) = stated.tflops {
        return Some(meets(tflops, None)?.1);
    }
    let tokens = stated.tokens?;
    let evaluation = evaluate_plain(&Run { measured_step_s: None, ..run.clone() }).ok()?;
    let ways = evaluation.report.step.mfu_by.iter();
    let ways = ways.filter_map(|way| meets(way.flops_per_token * tokens * 1e-12, Some(way.name.choice().label)));
    Some(ways.min_by(|a, b| a.0.total_cmp(&b.0))?.1)
}

/// The cause that a figure of utilisation is: nothing is slow, it is counted over another peak; none where it is over
/// the dense one of the GPU.
pub fn definition(stated: &StatedUtilisation, run: &Run) -> Option<FoundCause> {
    let counted = counted(stated, run)?;
    let mfu = stated.mfu?;
    let factor = counted.dense / mfu;
    if (factor - 1.0).abs() < 2.0 * SAME_COUNT {
        return None;
    }
    let evidence = t!(
        "{tflops} TFLOP/s are {mfu} of {peak}, {kind}, and {dense} of the dense peak of the GPU: a factor of {factor}, \
            and nothing is slow.",
        tflops = fixed(counted.tflops, 0),
        mfu = share_of_files("mfu, printed", mfu),
        peak = fixed(counted.peak_tflops, 0),
        kind = if counted.sparse { t!("the peak with half of the weights zero") } else { t!("another GPU's peak") },
        dense = share_of_files("mfu of the dense peak", counted.dense),
        factor = fixed(factor, 2)
    );
    let id = CauseId::Definition;
    Some(FoundCause { change: Some(t!("compare with the dense peak")), ..FoundCause::new(id, evidence) })
}
