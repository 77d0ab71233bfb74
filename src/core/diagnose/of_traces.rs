//! What a trace, several of a job, or two runs of one program say beside the prediction.

use super::causes::{
    CauseId, Found, FoundCause, LEAST, MessageRates, amounts, causes, explained, predicted_amounts, rates_of,
};
use super::dimension::GroupSizes;
use super::expected::{ExpectedStep, StepShare, shares};
use super::figures::{of_files, of_report, seconds_of_files, seconds_of_report, share_of_files};
use super::of_steps::beside_range;
use super::parts::{Attribution, GapReason, MeasuredPart, attribute};
use super::ranks::{SeveralRanks, several};
use super::remedies::remedies;
use super::trace::{RankTrace, StepWindow};
use super::waits::{CallsOf, calls};
use super::workers::{WorkerOp, WorkerTimes};
use super::{Comparison, Diagnosis, GapRow, KernelRow, MessageRow, PartRow};
use crate::issue::Issue;
use crate::message::Message;
use crate::run::{Run, Scenario};
use crate::t;
use crate::time::{ComputePeak, KernelClass, executed_flops};
use crate::units::{fixed, show_off, significant};
use std::collections::BTreeMap;

/// A window shorter than this share of the predicted step, whose micro-batches cannot be counted, is no step of it.
const NO_STEP: f64 = 1.0 / 3.0;
/// Counted micro-batches nearer than this to those of the run are all of them.
const WHOLE: f64 = 0.1;
/// Share of the window in gaps before kernels that were launched in time, from which on the trace may lack kernels.
const DAMAGED: f64 = 0.2;
/// Compute of a rank over that of the others of its stage, from which on the rank itself is slow.
const SLOW_RANK: f64 = 1.05;
/// Share by which a profiler lengthens a step, from which on times of the host are those of the profiler.
const PROFILED: f64 = 0.15;
/// Share of kernels with unknown names from which the split of compute is uncertain.
const UNKNOWN: f64 = 0.1;

/// Diagnoses the traces of one rank or several; the parts are those of the first.
pub fn of_traces(traces: &[&RankTrace], run: &Run) -> Diagnosis {
    of_traces_beside(traces, None, run)
}

/// Diagnoses the traces of one rank or several beside `reference`, another trace of the program; where there is none,
/// beside the prediction for `run`.
pub fn of_traces_beside(traces: &[&RankTrace], reference: Option<&RankTrace>, run: &Run) -> Diagnosis {
    let scenario = Scenario::new(run);
    let sizes = scenario.as_ref().map_or_else(
        |_| GroupSizes { tp: run.tp, cp: run.cp, ep: run.ep, dp: 1, pp: run.pp, gpus: run.gpus },
        |scenario| GroupSizes::from(&scenario.layout),
    );
    let sizes = sizes_of_job(traces, sizes);
    let pipelined = sizes.pp > 1;
    let windows: Vec<(&RankTrace, StepWindow, usize)> = traces
        .iter()
        .filter_map(|trace| trace.median_window().map(|(window, count)| (*trace, window, count)))
        .collect();
    let Some((trace, window, count)) = windows.first().copied() else {
        return without_kernels();
    };
    let scenario = scenario.as_ref().ok();
    let seconds = window.length() as f64 * 1e-9;
    let found = attribute(trace, window, sizes);
    let calls = calls(trace, window, sizes);
    let rank = trace.rank.unwrap_or(0);
    // A trace of another job says nothing of its place in this run's pipeline.
    let stage = stage_of(trace, rank, scenario).unwrap_or(0);
    let expected = ExpectedStep::of(run, usize::try_from(stage).unwrap_or(0));
    let mut diagnosis = Diagnosis::empty(Comparison::AnotherRun, Message::default());
    diagnosis.window_ns = window.length();
    diagnosis.rank = trace.rank;
    let (expected, warning) = judged(&mut diagnosis, trace, window, run, expected, &found);
    diagnosis.warnings.extend(warning);
    let measured_shares = shares(&found, pipelined);
    let expected = expected.map(|expected| expected.with_unknown_groups(&measured_shares));
    rows(&mut diagnosis, rank, &measured_shares, &found, &calls, expected.as_ref());
    for (other, window, _) in windows.iter().skip(1) {
        diagnosis.parts.extend(measured_parts(other, *window, sizes));
    }
    let beside = reference.and_then(|other| {
        let window = other.median_window()?.0;
        Some((other, attribute(other, window, sizes), self::calls(other, window, sizes)))
    });
    let rates = match (&beside, &expected) {
        (Some((.., calls)), _) => rates_of(calls),
        (None, Some(expected)) => expected.message_rates(&calls),
        _ => MessageRates::default(),
    };
    let measured = amounts(&found, &calls, trace, pipelined, &rates);
    let predicted = match &beside {
        Some((other, parts, calls)) => amounts(parts, calls, other, pipelined, &MessageRates::default()),
        None => expected.as_ref().map(|expected| predicted_amounts(expected, &measured)).unwrap_or_default(),
    };
    let compares = reference.is_some() || matches!(diagnosis.comparison, Comparison::Longer | Comparison::PartOfStep);
    diagnosis.causes = causes(&Found {
        trace,
        parts: &found,
        calls: &calls,
        rates: &rates,
        run,
        window: seconds,
        measured: &measured,
        predicted: &predicted,
        compares,
    });
    if diagnosis.comparison == Comparison::AnotherRun {
        without_changes(&mut diagnosis.causes);
    }
    let both: Vec<(&RankTrace, StepWindow)> = windows.iter().map(|(trace, window, _)| (*trace, *window)).collect();
    diagnosis.ranks = ranks_beside(&both, sizes, scenario);
    if let Some(late) = diagnosis.ranks.as_ref().and_then(late_rank) {
        tell_late(&mut diagnosis.causes, late, seconds);
    }
    if let Some(expected) = expected.as_ref().filter(|_| compares) {
        explains(&mut diagnosis, seconds - expected.time);
    }
    if diagnosis.step && reference.is_none() && diagnosis.comparison != Comparison::Shorter {
        diagnosis.remedies = remedies(run);
    }
    diagnosis.read = read_words(trace, window, count, &diagnosis, expected.as_ref());
    doubts(&mut diagnosis, trace, window, &found);
    diagnosis
}

/// Counts which share of `difference`, the seconds by which the window is longer, the causes are.
fn explains(diagnosis: &mut Diagnosis, difference: f64) {
    diagnosis.difference_s = Some(difference);
    diagnosis.explained = explained(&diagnosis.causes, difference);
}

/// The groups of the run's layout; of a job of another size nothing is known.
fn sizes_of_job(traces: &[&RankTrace], sizes: GroupSizes) -> GroupSizes {
    let other = traces.first().and_then(|trace| trace.world).filter(|ranks| *ranks != sizes.gpus);
    other.map_or(sizes, GroupSizes::unknown)
}

fn without_kernels() -> Diagnosis {
    let mut none = Diagnosis::empty(Comparison::AnotherRun, t!("The trace has no kernels of a GPU."));
    let message = t!("the trace has no kernels of a GPU: record with ProfilerActivity.CUDA");
    none.errors.push(Issue::error("files", message));
    none
}

/// The parts of a rank beside which nothing is predicted.
fn measured_parts(trace: &RankTrace, window: StepWindow, sizes: GroupSizes) -> impl Iterator<Item = PartRow> {
    let rank = trace.rank.unwrap_or(0);
    let parts = shares(&attribute(trace, window, sizes), sizes.pp > 1).into_iter();
    parts.map(move |(name, measured_ns)| PartRow { rank, name, measured_ns, predicted_s: None })
}

/// Takes back the changes that were tried: what helps another program is not tried on this run.
fn without_changes(causes: &mut [FoundCause]) {
    for cause in causes {
        cause.set.clear();
        cause.change_s = None;
    }
}

/// Pipeline stage of `rank` of a trace by the layout of the run; none where the trace is of another job.
fn stage_of(trace: &RankTrace, rank: u64, scenario: Option<&Scenario>) -> Option<u64> {
    let scenario = scenario.filter(|scenario| trace.world == Some(scenario.layout.gpus))?;
    Some(scenario.layout.mesh().place(rank).pp)
}

/// Several ranks of one step, each with its compute and, where it is known, its pipeline stage.
fn ranks_beside(
    windows: &[(&RankTrace, StepWindow)],
    sizes: GroupSizes,
    scenario: Option<&Scenario>,
) -> Option<SeveralRanks> {
    let compute = windows.iter().map(|(trace, window)| {
        let is_of_run = scenario.is_some_and(|scenario| trace.world == Some(scenario.layout.gpus));
        let stage = if is_of_run {
            trace.rank.and_then(|rank| stage_of(trace, rank, scenario))
        } else {
            (sizes.pp <= 1).then_some(0)
        };
        (stage, attribute(trace, *window, sizes).compute() as f64 * 1e-9)
    });
    several(windows, sizes).map(|ranks| ranks.with_compute(&compute.collect::<Vec<_>>()))
}

/// Diagnoses the longer step of two traces of one rank beside the shorter one: two runs of one program.
pub fn of_two_traces(first: &RankTrace, second: &RankTrace, run: &Run) -> Diagnosis {
    let length = |trace: &RankTrace| trace.median_window().map_or(0, |(window, _)| window.length());
    let (long, short) = if length(first) >= length(second) { (first, second) } else { (second, first) };
    let mut diagnosis = of_traces_beside(&[long], Some(short), run);
    let Some((window, _)) = short.median_window() else {
        return diagnosis;
    };
    let sizes = GroupSizes { tp: run.tp, cp: run.cp, ep: run.ep, dp: 1, pp: run.pp, gpus: run.gpus };
    let sums = |trace: &RankTrace, window: StepWindow| {
        let found = attribute(trace, window, sizes);
        [window.length(), found.compute(), found.exposed(), found.idle()].map(|ns| ns as f64 * 1e-9)
    };
    let own = long.median_window().map_or(window, |(window, _)| window);
    let named = |which: &str, sums: [f64; 4]| {
        let fields = ["step", "compute", "exposed messages", "gaps"].map(|field| format!("{field} of the {which} one"));
        let mut seconds = sums.into_iter();
        fields.map(|field| seconds_of_files(field, seconds.next().unwrap_or_default()))
    };
    let [more, compute, exposed, idle] = named("longer", sums(long, own));
    let [less, ours, theirs, gaps] = named("shorter", sums(short, window));
    diagnosis.comparison = Comparison::TwoRuns;
    diagnosis.verdict = t!(
        "Two traces of one rank: {more} against {less}. Compute {compute} against {ours}, exposed messages {exposed} \
            against {theirs}, gaps {idle} against {gaps}.",
        more,
        less,
        compute,
        ours,
        exposed,
        theirs,
        idle,
        gaps
    );
    // What the calculator predicts is not what it is compared with.
    (diagnosis.predicted_s, diagnosis.low_s, diagnosis.high_s) = (None, None, None);
    diagnosis.parts.iter_mut().for_each(|part| part.predicted_s = None);
    diagnosis.kernels.iter_mut().for_each(|row| row.predicted_s = None);
    let seconds = own.length() as f64 * 1e-9;
    explains(&mut diagnosis, seconds - window.length() as f64 * 1e-9);
    diagnosis
}

/// Takes what the profiler costs, known from the same step without it, from what is said of the host.
pub fn without_profiler(diagnosis: &mut Diagnosis, unprofiled: f64) {
    let window = diagnosis.window_ns as f64 * 1e-9;
    let cost = window - unprofiled;
    // Another step than the trace's.
    if !(0.0..0.5 * window).contains(&cost) || unprofiled <= 0.0 {
        return;
    }
    let mut left = cost;
    for cause in diagnosis.causes.iter_mut().filter(|cause| cause.id == CauseId::HostLate) {
        if let Some(own) = &mut cause.seconds {
            let less = own.min(left);
            *own -= less;
            left -= less;
        }
    }
    diagnosis.causes.retain(|cause| cause.seconds.is_none_or(|own| own >= LEAST * window));
    diagnosis.causes.iter_mut().for_each(|cause| cause.without(unprofiled));
    crate::sort::sort_by(&mut diagnosis.causes, |a: &FoundCause, b| {
        b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0))
    });
    if let Some(difference) = diagnosis.difference_s {
        explains(diagnosis, difference - cost);
    }
    diagnosis.read.push(t!(
        "The log's step takes {unprofiled}: {cost} of the traced one are the profiler's, and are taken from the host.",
        unprofiled = seconds_of_files("step without the profiler", unprofiled),
        cost = seconds_of_files("cost of the profiler", cost)
    ));
    if cost > PROFILED * unprofiled {
        let share = share_of_files("cost of the profiler over the step", cost / unprofiled);
        diagnosis.warnings.push(Issue::warning(
            "files",
            t!(
                "the profiler makes the step {share} longer: record one or two steps with record_shapes=False and \
                    with_stack=False",
                share
            ),
        ));
    }
}

/// Decides what the window is of this run, and what is predicted for it.
fn judged(
    diagnosis: &mut Diagnosis,
    trace: &RankTrace,
    window: StepWindow,
    run: &Run,
    expected: Result<ExpectedStep, Vec<Issue>>,
    found: &Attribution,
) -> (Option<ExpectedStep>, Vec<Issue>) {
    let seconds = window.length() as f64 * 1e-9;
    let mut expected = match expected {
        Ok(expected) => expected,
        Err(issues) => {
            diagnosis.verdict = t!("The run of the page cannot be computed: nothing is compared.");
            return (None, issues);
        }
    };
    let counted = counted(trace.attention_kernels(window), &expected, &mut diagnosis.warnings);
    diagnosis.microbatches = counted;
    let all = expected.microbatches as f64;
    let other_job = trace.world.is_some_and(|world| world != run.gpus);
    let whole = match counted {
        Some(count) => (count / all - 1.0).abs() <= WHOLE,
        None => {
            seconds >= NO_STEP * expected.time
                && !is_faster_than_peak(found, run)
                && window.number.is_some()
                && !other_job
        }
    };
    if whole {
        diagnosis.step = true;
        diagnosis.made_of.clone_from(&expected.made_of);
        (diagnosis.comparison, diagnosis.verdict) = beside_range(seconds, &expected);
    } else {
        let Some(count) = counted.filter(|count| *count >= 0.02 && *count < all) else {
            diagnosis.verdict = no_whole_step(seconds, expected.time);
            return (None, Vec::new());
        };
        let share = count / all;
        expected = expected.scaled(share);
        diagnosis.comparison = Comparison::PartOfStep;
        diagnosis.verdict = t!(
            "Not a whole step of this run: {count} of {all} micro-batches. It is compared by what it holds: \
                {measured} measured, {predicted} predicted.",
            count = significant(count, 2),
            all = expected.microbatches,
            measured = seconds_of_files("step", seconds),
            predicted = seconds_of_report("part of the step", expected.time)
        );
    }
    (diagnosis.predicted_s, diagnosis.low_s, diagnosis.high_s) =
        (Some(expected.time), Some(expected.low), Some(expected.high));
    (Some(expected), Vec::new())
}

/// Micro-batches of a window by its attention kernels, forward and backward. Each has one backward pass; its forward
/// passes are those of the run as it is set, unless the backward ones count a whole step and the forward ones do not:
/// then the trace recomputes other layers than the run, which is a warning.
fn counted([forward, backward]: [u64; 2], expected: &ExpectedStep, warnings: &mut Vec<Issue>) -> Option<f64> {
    let layers = expected.attention_layers;
    if forward == 0 || layers <= 0.0 || expected.forwards <= 0.0 {
        return None;
    }
    let [by_forward, by_backward] = [forward as f64 / (layers * expected.forwards), backward as f64 / layers];
    let is_whole = |count: f64| (count / expected.microbatches as f64 - 1.0).abs() <= WHOLE;
    // A count of backward kernels above the forward ones has several kernels a pass.
    if is_whole(by_forward) || !is_whole(by_backward) || (forward as f64) < (1.0 - WHOLE) * backward as f64 {
        return Some(by_forward);
    }
    warnings.push(Issue::warning(
        "recompute",
        t!(
            "the trace runs attention forward {found} times for each backward pass, the run as it is set {set} times: \
                they do not recompute the same",
            found = of_files("forward passes of attention", significant(forward as f64 / backward as f64, 2)),
            set = of_report("forward passes of attention", significant(expected.forwards, 2))
        ),
    ));
    Some(by_backward)
}

/// The verdict on a window that is neither a step of the run nor a countable part of one.
fn no_whole_step(measured: f64, predicted: f64) -> Message {
    t!(
        "This is no whole step of the run on the page ({measured}; predicted {predicted}): what the trace measures by \
            itself is listed, nothing is compared.",
        measured = seconds_of_files("step", measured),
        predicted = seconds_of_report("step.time_s", predicted)
    )
}

/// How far the step of the files is from the prediction.
pub(super) fn off(seconds: f64, expected: &ExpectedStep) -> Message {
    of_files("step over the prediction", show_off(seconds / expected.time - 1.0, 1))
}

/// The products of the window would need more than the peak of the run's GPU, so it is no step of this run.
fn is_faster_than_peak(found: &Attribution, run: &Run) -> bool {
    let products = found.sum(|part| {
        use KernelClass as C;
        matches!(part, MeasuredPart::Compute(C::Products | C::Grouped | C::Attention))
    });
    let Ok(scenario) = Scenario::new(run) else {
        return false;
    };
    let flops = executed_flops(&scenario) / scenario.layout.gpus as f64;
    flops / (products.max(1) as f64 * 1e-9) > ComputePeak::of(&scenario).rate().0
}

/// The tables of the first rank.
fn rows(
    diagnosis: &mut Diagnosis,
    rank: u64,
    measured: &BTreeMap<StepShare, i64>,
    found: &Attribution,
    calls: &[CallsOf],
    expected: Option<&ExpectedStep>,
) {
    for name in StepShare::ALL {
        let measured_ns = measured.get(&name).copied().unwrap_or(0);
        let predicted_s = expected.map(|expected| expected.shares.get(&name).copied().unwrap_or(0.0));
        if measured_ns > 0 || predicted_s.is_some_and(|seconds| seconds > 0.0) {
            diagnosis.parts.push(PartRow { rank, name, measured_ns, predicted_s });
        }
    }
    for class in KernelClass::ALL {
        let (count, median_ns) = found.kernels.get(&class).copied().unwrap_or_default();
        let measured_ns = found.sum(|part| match part {
            MeasuredPart::Compute(one) | MeasuredPart::Exposed(_, one) => one == class,
            MeasuredPart::ExpertWait => class == KernelClass::ExpertWait,
            _ => false,
        });
        let predicted_s = expected.and_then(|expected| expected.kernels.get(&class).copied());
        if count > 0 || measured_ns > 0 || predicted_s.is_some_and(|seconds| seconds > 0.0) {
            diagnosis.kernels.push(KernelRow { class, count, measured_ns, median_ns, predicted_s });
        }
    }
    let gaps = found.gaps.iter().map(|(reason, gaps)| GapRow {
        reason: *reason,
        count: gaps.count,
        measured_ns: gaps.total,
        longest_ns: gaps.longest.1 - gaps.longest.0,
    });
    diagnosis.gaps = gaps.collect();
    let messages = calls.iter().map(|calls| MessageRow {
        dimension: calls.dimension,
        kind: calls.class,
        ranks: calls.ranks,
        count: calls.count,
        bytes: calls.bytes,
        measured_ns: calls.total,
        waiting_ns: calls.waiting,
        bytes_per_s: calls.rate,
    });
    diagnosis.messages = messages.collect();
}

/// How the trace was read, in sentences.
fn read_words(
    trace: &RankTrace,
    window: StepWindow,
    count: usize,
    diagnosis: &Diagnosis,
    expected: Option<&ExpectedStep>,
) -> Vec<Message> {
    let length = seconds_of_files("step", window.length() as f64 * 1e-9);
    let mut words = vec![match window.number {
        Some(number) if window.is_last => {
            t!("Step {number}, {length} on the GPU: from its first kernel to its last.", number, length = &length)
        }
        Some(number) if count < 2 => {
            t!(
                "Step {number}, {length} on the GPU: from its first kernel to the first of the next step.",
                number,
                length = &length
            )
        }
        Some(number) => t!(
            "Step {number}, {length} on the GPU: from its first kernel to the first of the next step; the median of \
                {count}.",
            number,
            length = &length,
            count
        ),
        None => t!("No ProfilerStep in it: all of it is one window of {length}.", length = &length),
    }];
    let [forward, backward] = trace.attention_kernels(window);
    if let (Some(count), Some(expected)) = (diagnosis.microbatches, expected) {
        words.push(t!(
            "{forward} attention kernels forward and {backward} backward over {layers} layers: {count} micro-batches.",
            forward,
            backward,
            layers = fixed(expected.attention_layers, 0),
            count = significant(count, 3)
        ));
    }
    words.push(t!("Parts add up to {length}, nothing is left over.", length));
    if trace.kernels_ns > 0 {
        let share = share_of_files("kernels without a name", trace.unknown_ns as f64 / trace.kernels_ns as f64);
        words.push(t!("Names of kernels that are not known: {share} of their time.", share));
    }
    if trace.with_stacks {
        words.push(t!(
            "The trace was taken with stacks or shapes, which slow the CPU: times of the host are upper bounds."
        ));
    }
    words
}

/// Adds the reasons to doubt the trace itself.
fn doubts(diagnosis: &mut Diagnosis, trace: &RankTrace, window: StepWindow, found: &Attribution) {
    // Launches that do not match may point to that of a graph.
    let waiting = found.of_gap(GapReason::Launched) + found.of_gap(GapReason::Graph);
    let launched = waiting as f64 / window.length().max(1) as f64;
    let in_pipeline = diagnosis.parts.iter().any(|part| part.name == StepShare::Bubble && part.predicted_s > Some(0.0));
    if launched > DAMAGED && !in_pipeline {
        let share = share_of_files("launched and not run", launched);
        diagnosis.warnings.push(Issue::warning(
            "files",
            t!(
                "for {share} of the window kernels were launched and did not run: the trace may have lost kernels, or \
                    their launches do not match",
                share
            ),
        ));
    }
    if trace.unknown_ns as f64 > UNKNOWN * trace.kernels_ns as f64 {
        diagnosis.warnings.push(Issue::warning(
            "files",
            t!("names of many kernels are not known: the split of compute is uncertain, that into compute, messages \
                    and gaps is not"),
        ));
    }
}

/// The rank that makes the others wait, with the seconds and what its compute says.
fn late_rank(ranks: &SeveralRanks) -> Option<(u64, f64, Option<Message>)> {
    let late = ranks.late?;
    let row = ranks.ranks.iter().find(|row| row.rank == late)?;
    let ratio = ranks.workers.filter(|ratio| ranks.slow == Some(late) && *ratio > SLOW_RANK);
    let slow = ratio.zip(row.compute_s).map(|(ratio, own)| {
        t!(
            "It computes for {own} where the ranks of its stage need {others}.",
            own = seconds_of_files("compute of the late rank", own),
            others = seconds_of_files("compute of the others", own / ratio)
        )
    });
    Some((late, row.makes_wait_s, slow))
}

/// Names the late rank in its cause, or adds the cause.
fn tell_late(causes: &mut Vec<FoundCause>, (rank, seconds, slow): (u64, f64, Option<Message>), window: f64) {
    if seconds < LEAST * window {
        return;
    }
    let evidence = t!(
        "Rank {rank} comes last: the others wait {seconds} for it in this step.",
        rank,
        seconds = seconds_of_files("late-rank", seconds)
    );
    let evidence = Message::joined(" ", std::iter::once(evidence).chain(slow));
    let known: f64 = causes.iter().filter(|one| one.id == CauseId::LateRank).filter_map(|one| one.seconds).sum();
    causes.retain(|cause| cause.id != CauseId::LateRank);
    // What is waiting is not a message that nothing hides.
    let mut waits = (seconds - known).max(0.0);
    for cause in causes.iter_mut().filter(|cause| cause.id.is_exposed() || cause.id == CauseId::EpImbalance) {
        if let Some(own) = &mut cause.seconds {
            let less = own.min(waits);
            *own -= less;
            waits -= less;
            cause.without(window);
        }
    }
    causes.retain(|cause| cause.seconds.is_none_or(|own| own >= LEAST * window));
    let cause = FoundCause {
        seconds: Some(seconds),
        change: Some(t!("look at that rank's GPU and host: clocks, errors, other processes")),
        predicted_s: Some(window - seconds),
        ..FoundCause::new(CauseId::LateRank, evidence)
    };
    let at = causes.iter().position(|one| one.seconds < Some(seconds)).unwrap_or(causes.len());
    causes.insert(at, cause);
}

/// Diagnoses a job's operations.
pub fn of_workers(ops: &[WorkerOp]) -> Option<Diagnosis> {
    let times = WorkerTimes::of(ops)?;
    let mut diagnosis = Diagnosis::empty(
        Comparison::SumsOnly,
        t!(
            "A step of {measured} on {workers} workers with {microbatches} micro-batches each.",
            measured = seconds_of_files("step", times.measured_s),
            workers = times.workers,
            microbatches = times.microbatches
        ),
    );
    #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
    let window = (times.measured_s * 1e9) as i64;
    diagnosis.window_ns = window;
    diagnosis.causes = times.causes();
    diagnosis.workers = Some(times);
    Some(diagnosis)
}
