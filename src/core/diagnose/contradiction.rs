//! A log that counts other work than the run it is compared with: it is of another run.

use super::figures::seconds_of_files;
use super::{CauseId, Comparison, Diagnosis, FoundCause};
use crate::issue::Issue;
use crate::report::report;
use crate::run::Run;
use crate::t;
use crate::units::{show_flops, significant};

/// Factor between the work that a log counts and that of the run, from which on they are two runs. Ways to count
/// (causal attention by half or whole, with recomputation or without) are tried; the factor itself is a choice.
pub(super) const OTHER_WORK: f64 = 1.35;

/// The work of a GPU in a step, FLOPs, by the rate and the steps of a log, and by `run`, of its ways to count the
/// nearest; none where they agree.
fn other_work(tflops: f64, step_s: f64, run: &Run) -> Option<[f64; 2]> {
    let report = report(&Run { measured_step_s: None, ..run.clone() }).ok()?;
    let tokens = run.global_batch as f64 * run.seq_len as f64 / run.gpus as f64;
    let counted = tflops * 1e12 * step_s;
    let ways = report.step.mfu_by.iter().map(|way| way.flops_per_token * tokens).filter(|work| *work > 0.0);
    let away = |work: f64| (counted / work).max(work / counted);
    let nearest = ways.min_by(|a, b| away(*a).total_cmp(&away(*b))).filter(|work| away(*work) > OTHER_WORK)?;
    Some([counted, nearest])
}

/// A warning where a log prints a rate that the run of the settings beside it cannot have had, as in [`contradict`].
pub fn work_of_other_settings(tflops: f64, step_s: f64, run: &Run) -> Option<Issue> {
    let [counted, nearest] = other_work(tflops, step_s, run)?;
    let message = t!(
        "The log prints {tflops} TFLOP/s a GPU over steps of {seconds}: {counted} of work a GPU. A step of the run \
            that the files state has {own}: they are of two runs, or the program counts otherwise.",
        tflops = significant(tflops, 3),
        seconds = seconds_of_files("step", step_s),
        counted = show_flops(counted),
        own = show_flops(nearest)
    );
    Some(Issue::warning("files", message))
}

/// Takes the comparison out of `found`, where a log prints a rate of `tflops` TFLOP/s a GPU that `run` cannot have had
/// over its steps of `step_s` seconds: the work of a GPU is its rate times the seconds of a step.
pub fn contradict(found: &mut Diagnosis, tflops: f64, step_s: f64, run: &Run) {
    let Some([counted, nearest]) = other_work(tflops, step_s, run) else {
        return;
    };
    let evidence = t!(
        "The log prints {tflops} TFLOP/s a GPU over steps of {seconds}: {counted} of work a GPU. A step of the run on \
            the page has {own}: model, batch, sequence or GPUs of what was logged differ.",
        tflops = significant(tflops, 3),
        seconds = seconds_of_files("step", step_s),
        counted = show_flops(counted),
        own = show_flops(nearest)
    );
    // Changes of a run that was not logged explain nothing of it.
    found.causes.retain(|cause| cause.set.is_empty());
    let change = t!("drop or paste its launch script beside the log, or set the page to the run that was logged");
    let measure = t!("its launch script beside the log");
    let cause = FoundCause::new(CauseId::AnotherSetting, evidence);
    found.causes.insert(0, FoundCause { change: Some(change), measure: Some(measure), ..cause });
    found.verdict = t!("The log is of another run than the page's, and names none: nothing is compared.");
    found.comparison = Comparison::AnotherRun;
    (found.predicted_s, found.low_s, found.high_s, found.step) = (None, None, None, false);
    found.expected.clear();
    found.made_of.clear();
    found.remedies.clear();
}
