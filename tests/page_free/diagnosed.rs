//! One answer in Diagnose: every figure says whose it is, equal ones have the same digits, and what is predicted there
//! is what the page says of the run.

use super::one_answer::{Named, agree, standing_out, without_field};
use crate::common::random::{Random, random_run};
use shardscope::core::diagnose::{Diagnosis, MadeDelays, made_trace, of_series, of_traces};
use shardscope::core::report::{Evaluation, evaluate};
use shardscope::core::run::Run;
use shardscope::core::units::MemoryUnit;
use shardscope::io::evidence::{diagnose, read as read_evidence};
use shardscope::view::node::figure::Scope;
use shardscope::view::panel::Panel;
use shardscope::view::panels::diagnose::diagnosis;
use shardscope::view::panels::waterfall::waterfall;
use std::collections::{BTreeMap, BTreeSet};

/// Steps of a log over the predicted one: far shorter, as predicted, longer, and longer than kernels alone make them.
const TIMES: [f64; 5] = [0.5, 1.0, 1.3, 2.5, 12.0];
/// Runs whose traces are made have no more passes of layers than these: a trace has several kernels each.
const PASSES: u64 = 1 << 10;

/// A log of 40 steps of `run`; with spikes where `spikes`.
fn log_of(own: &Evaluation, times: f64, spikes: bool) -> Diagnosis {
    let step = own.report.step.time_s.0 * times;
    let spike = |at: usize| if spikes && at % 9 == 7 { 2.0 } else { 1.0 };
    let steps: Vec<f64> = (0..40).map(|at| step * spike(at)).collect();
    of_series(&steps, None, &own.scenario.run)
}

/// Traces of `run`: as predicted, and with delays; none of a run with many passes.
fn traces_of(own: &Evaluation) -> Vec<Diagnosis> {
    let run = &own.scenario.run;
    if own.scenario.model.layers * own.scenario.layout.microbatches > PASSES {
        return Vec::new();
    }
    let step = own.report.step.time_s.0;
    let late = MadeDelays { late_reduction: 0.3 * step, pause: 0.2 * step, attention: 2.0 };
    let made = [MadeDelays::default(), late].into_iter().filter_map(|delays| made_trace(run, delays).ok());
    made.map(|trace| of_traces(&[&trace], run)).collect()
}

/// A message of PyTorch's allocator on a GPU of `own`, which holds a part of its memory, asks for more than is free,
/// and says a rank or none.
fn message_of(own: &Evaluation, random: &mut Random) -> Diagnosis {
    const GIB: f64 = 1_073_741_824.0;
    let total = own.report.memory.capacity_bytes.0 / GIB;
    let (allocated, unused) = (total * random.one(&[0.5, 0.8, 0.93]), total * random.one(&[0.0, 0.01, 0.06]));
    let free = total * 0.01;
    let asked = free * random.one(&[1.5, 3.0, 20.0]);
    let text = format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked:.2} GiB. GPU 0 has a total capacity of \
            {total:.2} GiB of which {free:.2} GiB is free. Process 1 has {:.2} GiB memory in use. Of the allocated \
            memory {allocated:.2} GiB is allocated by PyTorch, and {unused:.2} GiB is reserved by PyTorch but \
            unallocated.",
        total - free
    );
    let file = read_evidence(text.as_bytes(), &own.scenario.run);
    diagnose(&[&file], &own.scenario.run).unwrap()
}

/// Figures of the diagnoses of `own` that agree with one another and with what the page says of the run.
fn agreeing(own: &Evaluation, found: &Diagnosis, without: &mut BTreeMap<String, BTreeSet<String>>) -> usize {
    let run = &own.scenario.run;
    let mut page: BTreeMap<Named, String> = BTreeMap::new();
    for tree in [waterfall(own), Panel::Step.view(own, MemoryUnit::Gib)] {
        agree(&tree, &mut page);
    }
    let tree = diagnosis(found, "", run, None);
    without_field(&tree, "Diagnose", without);
    standing_out(&tree, &mut |text, named| assert!(named || !text.ends_with(" s"), "{text} has no field"));
    let mut known = BTreeMap::new();
    agree(&tree, &mut known);
    let (mut count, own_scope) = (0, scope_of(&Scope::run()));
    for ((field, scope), digits) in &known {
        let of_page = page.get(&(field.clone(), own_scope.clone())).filter(|_| scope == "compared");
        if let Some(of_page) = of_page {
            assert_eq!(of_page, digits, "{field} in Diagnose and in the run");
            count += 1;
        }
    }
    count
}

/// The name of a scope in the figures of trees.
fn scope_of(scope: &Scope) -> String {
    let mut name = String::new();
    scope.says("", "").figures(&mut |_, key| name = key.map(|key| key.scope.clone()).unwrap_or_default());
    name
}

/// Random runs, each with logs and, where they are small, traces.
#[test]
fn what_diagnose_predicts_is_what_the_run_says() {
    let mut random = Random::new(4_950);
    let mut without = BTreeMap::new();
    let (mut tried, mut traced, mut figures) = (0, 0, 0);
    while tried < 400 {
        let run = random_run(&mut random);
        let Ok(own) = evaluate(&Run { measured_step_s: None, ..run }) else { continue };
        tried += 1;
        let log = log_of(&own, random.one(&TIMES), random.once_in(2));
        let traces = traces_of(&own);
        traced += traces.len();
        for found in [log, message_of(&own, &mut random)].into_iter().chain(traces) {
            figures += agreeing(&own, &found, &mut without);
        }
    }
    assert!(without.is_empty(), "figures without a field: {without:#?}");
    println!("{figures} figures of {tried} logs and {traced} traces");
    assert!(figures > 3 * tried && traced > 100, "{figures} figures, {traced} traces");
}
