//! Settings of a Run that may make it smaller, and their values from the smallest change to the largest.

use super::{Set, TrialValues};
use crate::run::{AttentionKernel, Format, OneOf, Optimizer, Recompute, Run, Scenario, Selective};

/// Context parallelism beyond this is not suggested.
const MAX_CP: u64 = 64;
/// Shorter sequences are not suggested.
const MIN_TOKENS: u64 = 256;
/// GPUs are multiplied by at most this.
const MAX_GPUS: u64 = 64;

/// Everything that may help `scenario` on the GPUs that it has.
pub(crate) fn ladders(scenario: &Scenario) -> Vec<TrialValues> {
    let run = &scenario.run;
    let mut list = parallelism(scenario);
    list.push(ladder(
        "micro_batch",
        divisors(run.micro_batch)
            .rev()
            .filter(|size| *size < run.micro_batch)
            .map(|size| count_setting("micro_batch", size)),
    ));
    list.push(TrialValues { monotone: true, ..ladder("recompute.layers", layers(scenario).into_iter()) });
    list.push(ladder("recompute", modules(scenario).into_iter()));
    // Megatron-LM refuses ZeRO-2 and 3 with a pipeline, and both communicate once a micro-batch there.
    let most_zero = if run.pp > 1 { 1 } else { 3 };
    list.push(ladder("zero", (run.zero + 1..=most_zero).map(|stage| count_setting("zero", stage))));
    let bytes = scenario.precision;
    if bytes.weights == 2.0 && bytes.gradients() > 2.0 {
        let shorter = match bytes.recipe {
            Some(_) => setting("precision.grads", "2"),
            None => setting("precision", "bf16"),
        };
        list.push(ladder("precision", [shorter].into_iter()));
    }
    list.push(ladder("cross_entropy", loss_kernels(run).into_iter()));
    if run.tp > 1 && !run.sequence_parallel {
        list.push(ladder("sequence_parallel", [setting("sequence_parallel", "true")].into_iter()));
    }
    if run.attention_kernel() == AttentionKernel::Eager && run.precision.computes() != Format::Fp32 {
        list.push(ladder("flash_attention", [setting("flash_attention", "true")].into_iter()));
    }
    if run.is_tuned() {
        list.extend(tuning(scenario));
    }
    list.retain(|ladder| !ladder.rungs.is_empty());
    list
}

/// Changes of fine-tuning: adapters beside a frozen or a quantised base, optimizers that keep less, states, parameters
/// or activations on the host as the software moves them. A check that refuses a combination drops it.
fn tuning(scenario: &Scenario) -> [TrialValues; 6] {
    let (run, software) = (&scenario.run, &scenario.software);
    let quantised = scenario.adapter.as_ref().map(|adapter| adapter.base.is_some());
    let adapters: &[&str] = match quantised {
        None => &["lora", "qlora"],
        Some(false) => &["qlora"],
        Some(true) => &[],
    };
    let mut shorter = Vec::new();
    if run.optimizer == Optimizer::Adam && !software.flat_buffers && run.adapter.method.is_none() {
        if software.frees_gradients && run.precision.base != Some("bf16-pure") {
            shorter.push(setting("precision", "bf16-pure"));
        }
        shorter.push(setting("optimizer", "adam-8bit"));
    }
    let parts = &run.offload;
    let moved = |key: &'static str, known: bool, zero: u64| {
        let mut rung = setting(key, "cpu");
        if run.zero < zero && run.training_gpus() > 1 {
            rung.extend(count_setting("zero", zero));
        }
        ladder(key, (!known).then_some(rung).into_iter())
    };
    let sharded = u64::from(!software.flat_buffers) + 1;
    [
        ladder("adapter.method", adapters.iter().map(|method| setting("adapter.method", method))),
        ladder("optimizer", shorter.into_iter()),
        ladder("seq_len", shorter_sequences(run).map(|tokens| count_setting("seq_len", tokens))),
        moved("offload.optimizer", parts.optimizer.is_some(), sharded),
        moved("offload.parameters", parts.parameters.is_some(), 3),
        moved("offload.activations", parts.activations.is_some(), 0),
    ]
}

/// Half of the Run's sequence length, a quarter and so on; nothing for sequences of unequal length.
pub(crate) fn shorter_sequences(run: &Run) -> impl Iterator<Item = u64> {
    let halved = std::iter::successors(Some(run.seq_len), |tokens| Some(tokens / 2));
    let unequal = run.microbatch_lengths.is_some() || run.lengths.base.is_some();
    halved.skip(1).take_while(move |tokens| *tokens >= MIN_TOKENS && !unequal)
}

/// More GPUs, by doubling.
pub(crate) fn more_gpus(run: &Run) -> TrialValues {
    let doubled = (1..).map(|power| 1u64 << power).take_while(|times| *times <= MAX_GPUS);
    ladder("gpus", doubled.map(|times| count_setting("gpus", run.gpus.saturating_mul(times))))
}

fn ladder(field: &'static str, rungs: impl Iterator<Item = Set>) -> TrialValues {
    TrialValues { field, rungs: rungs.collect(), monotone: false }
}

/// The change that sets `key` to a text.
fn setting(key: &'static str, value: &str) -> Set {
    vec![(key, value.to_owned())]
}

/// The change that sets `key` to a count.
fn count_setting(key: &'static str, value: u64) -> Set {
    vec![(key, value.to_string())]
}

fn divisors(number: u64) -> impl DoubleEndedIterator<Item = u64> {
    (1..=number.min(4096)).filter(move |size| number.is_multiple_of(*size))
}

/// Larger tp within the node, larger pp, cp and ep; layers by stage are even again where the stages change.
fn parallelism(scenario: &Scenario) -> Vec<TrialValues> {
    let (run, layout) = (&scenario.run, &scenario.layout);
    let sizes = move |key: &'static str, now: u64, others: u64, most: u64| {
        let room = run.training_gpus() / others.max(1);
        let fitting = divisors(room).filter(move |size| *size > now && *size <= most);
        ladder(key, fitting.map(move |size| count_setting(key, size)))
    };
    let mut list = vec![
        sizes("tp", run.tp, run.pp * run.cp, layout.per_node.max(run.tp)),
        sizes("pp", run.pp, run.tp * run.cp, scenario.model.layers),
        sizes("cp", run.cp, run.tp * run.pp, MAX_CP),
    ];
    if let Some(moe) = scenario.model.moe {
        let fitting = divisors(moe.experts).filter(|size| *size > run.ep);
        list.push(ladder("ep", fitting.map(|size| count_setting("ep", size))));
    }
    let split = [("stage_layers", run.stage_layers.is_some()), ("mtp_stage", run.mtp_stage.is_some())];
    if let Some(pipeline) = list.iter_mut().find(|ladder| ladder.field == "pp") {
        for rung in &mut pipeline.rungs {
            let given = split.into_iter().filter(|(_, said)| *said);
            rung.extend(given.map(|(field, _)| (field, String::new())));
        }
    }
    list
}

/// Full recomputation of n layers a stage, of one more than now up to all.
fn layers(scenario: &Scenario) -> Vec<Set> {
    let most = scenario.stage_layers.iter().copied().max().unwrap_or(0);
    let now = match scenario.run.recompute {
        Recompute::Full => return Vec::new(),
        Recompute::Layers(layers) => layers,
        _ => 0,
    };
    let mut rungs: Vec<Set> = (now + 1..most).map(|layers| count_setting("recompute.layers", layers)).collect();
    rungs.push(setting("recompute", "full"));
    rungs
}

/// Recomputation of less than whole layers.
fn modules(scenario: &Scenario) -> Vec<Set> {
    if scenario.run.recompute != Recompute::None {
        return Vec::new();
    }
    let mut rungs = vec![setting("recompute.modules", "norm")];
    if scenario.model.moe.is_some() {
        rungs.push(setting("recompute.modules", "moe_act"));
    }
    if scenario.model.mla.is_some() {
        rungs.push(setting("recompute.modules", "mla_up"));
    }
    // Where it is that of whole layers, it is a rung of theirs by another name.
    let is_of_layers = scenario.run.software().selective == Selective::Layers;
    if !is_of_layers && (!scenario.run.runs_flash_attention() || scenario.zero.stage == 3) {
        rungs.push(setting("recompute", "selective"));
    }
    if scenario.model.moe.is_none() {
        rungs.push(setting("recompute.modules", "mlp"));
    }
    rungs
}

/// Loss kernels of the Run's software that keep fewer logits.
fn loss_kernels(run: &Run) -> Vec<Set> {
    let rungs = run.smaller_losses().iter().map(|kernel| setting("cross_entropy", kernel.id()));
    rungs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wrappers of FSDP recompute whole layers by either name: selective is no way of its own. torchtitan's is.
    #[test]
    fn selective_recomputation_of_whole_layers_is_no_rung_of_its_own() {
        for (stack, is_own) in [("fsdp2", false), ("deepspeed", false), ("torchtitan", true)] {
            let edits = [("stack", stack), ("zero", "3"), ("tp", "1"), ("pp", "1"), ("recompute", "none")];
            let run = Run::example().with_texts(&edits).unwrap();
            let rungs = modules(&Scenario::new(&run).unwrap());
            let selective = setting("recompute", "selective");
            assert_eq!(rungs.contains(&selective), is_own, "{stack}");
            let by = |kind: &str| run.with_texts(&[("recompute", kind)]).unwrap();
            assert_eq!(by("selective").recomputed() != by("full").recomputed(), is_own, "{stack}");
        }
    }
}
