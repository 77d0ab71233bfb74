//! A Kineto trace as a measured run: where the GPU's time of a step goes.
//!
//! Windows and parts are those of [`shardscope_core::diagnose`]: a step is the GPU's, from its first kernel to the
//! first of the next. A window that is no whole step of the run at hand is no observation of it.

use super::reading::{LoggedSteps, Reading};
use shardscope_core::calibrate::Components;
use shardscope_core::diagnose::{Diagnosis, KernelRow, RankTrace, StepShare, of_traces};
use shardscope_core::issue::Issue;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::{MULTIPLIERS, Multiplier, Run, Scenario};
use shardscope_core::t;
use shardscope_core::time::{KernelClass, executed_flops};
use shardscope_core::units::{Seconds, show_seconds, significant};

/// The reading of `trace`, of which `notes` could not be read.
pub(super) fn reading(trace: &RankTrace, notes: Vec<Issue>, present: &Run) -> Reading {
    let mut reading = Reading::new(t!("a trace of PyTorch's profiler"), present);
    reading.assumed.push(t!("model, cluster and layout, as on this page: a trace has none"));
    reading.notes.extend(notes.into_iter().map(|issue| issue.message));
    let steps = trace.median_window().map_or(0, |(_, count)| count);
    let marked = !trace.marks.is_empty();
    let (ranks, device) = (trace.world, trace.device.clone());
    let found = of_traces(&[trace], &reading.run);
    let seconds = |ns: i64| ns as f64 * 1e-9;
    let part = |names: &[StepShare]| -> i64 {
        let parts = found.parts.iter().filter(|part| names.contains(&part.name));
        parts.map(|part| part.measured_ns).sum()
    };
    let compute = [StepShare::Products, StepShare::Attention, StepShare::Others, StepShare::Optimizer];
    let messages: i64 = messages_of(&found).iter().map(|row| row.measured_ns).sum();
    let idle: i64 = found.gaps.iter().map(|gap| gap.measured_ns).sum();
    let rows: [(Message, i64); 8] = [
        (t!("length of a step"), found.window_ns),
        (t!("compute"), part(&compute)),
        (t!("communication that nothing hides"), messages),
        (t!("nothing runs"), idle),
        (t!("matrix products"), part(&[StepShare::Products])),
        (t!("attention"), part(&[StepShare::Attention])),
        (t!("optimizer"), part(&[StepShare::Optimizer])),
        (t!("other kernels"), part(&[StepShare::Others])),
    ];
    for (words, ns) in rows {
        reading.measured.push((words, verbatim(show_seconds(Seconds(seconds(ns))))));
    }
    if !marked {
        reading.notes.push(t!("no ProfilerStep in it: all of it is one window, not known to be a step"));
    }
    reading.notes.extend(found.warnings.iter().map(|issue| issue.message.clone()));
    if found.step {
        reading.step = Some(LoggedSteps { seconds: seconds(found.window_ns), spread: 0.0, used: steps, left_out: 0 });
        ratios(&mut reading, &found);
    } else {
        reading.notes.push(found.verdict.clone());
    }
    if let Some(ranks) = ranks.filter(|ranks| *ranks != reading.run.gpus) {
        let gpus = reading.run.gpus;
        reading.notes.push(t!("the trace is of {ranks} GPUs, the run of {gpus}", ranks = ranks.to_string(), gpus));
    }
    if let Some(device) = device {
        reading.used.push((verbatim("deviceProperties"), verbatim(device)));
    }
    reading
}

fn messages_of(found: &Diagnosis) -> Vec<KernelRow> {
    found.kernels.iter().copied().filter(|row| row.class.is_message()).collect()
}

/// The time of a kind of work determines more constants than the step alone.
fn ratios(reading: &mut Reading, found: &Diagnosis) {
    let of = |classes: &dyn Fn(KernelClass) -> bool| -> f64 {
        let rows = found.kernels.iter().filter(|row| classes(row.class));
        rows.map(|row| row.measured_ns as f64 * 1e-9).sum()
    };
    let products = of(&|class| matches!(class, KernelClass::Products | KernelClass::Grouped | KernelClass::Attention));
    let all = of(&|class| !class.is_message());
    let others = all - products;
    if let (Ok(scenario), true) = (Scenario::new(&reading.run), products > 0.0) {
        let rate = executed_flops(&scenario) / reading.run.gpus as f64 / products / 1e12;
        let text = t!("{rate} TFLOP/s, by the operations of the model", rate = significant(rate, 3));
        reading.measured.push((t!("rate of GEMM and attention"), text));
    }
    if let Ok(model) = Components::of(&reading.run, &[0.0; MULTIPLIERS]) {
        for (kind, measured) in [(Multiplier::Gemm, products), (Multiplier::Elementwise, others)] {
            let ratio = measured / model.seconds_of(kind);
            if (0.25..4.0).contains(&ratio) {
                reading.ratios.push((kind, ratio));
            }
        }
    }
}
