//! Properties of every Run, whatever its numbers: parts sum to the total, more work never needs less memory, and
//! nothing is NaN.

use super::estimates::loads;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};
use shardscope::core::explain::Term;
use shardscope::core::memory::{self as memory_model, Component, StageMemory, methods};
use shardscope::core::run::registry::{FIELDS, Field, Slot};
use shardscope::core::run::{Run, Scenario, Value};
use shardscope::core::units::MemoryUnit;

const MODELS: &[&str] = &[
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-2-7b",
    "qwen-2.5-72b",
    "mixtral-8x7b",
    "deepseek-v3",
    "gpt-3-175b",
    "gpt-2-xl",
];

/// Settings over most of what memory depends on; not all of them make sense together.
fn any_run() -> impl Strategy<Value = Json> {
    let layout = (
        select(vec![1, 2, 4, 8]),
        select(vec![1, 2, 4, 8]),
        select(vec![1, 2, 4]),
        select(vec![1, 2, 8]),
        select(vec![1, 2, 4]),
        0..4,
    );
    let work = (
        select(vec![512, 4096, 32768]),
        select(vec![1, 2, 4]),
        select(vec![1, 3, 8]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let choices = (
        select(MODELS),
        select(vec!["ring", "all-gather", "ulysses"]),
        select(vec![
            json!("none"),
            json!("selective"),
            json!("full"),
            json!({"layers": 2}),
            json!({"modules": ["norm", "mlp", "moe_act", "mla_up", "core_attn"]}),
        ]),
        select(vec!["bf16-fp32-grads", "fp32", "fsdp-mixed", "deepseek-fp8", "playbook-20"]),
        select(vec!["adam", "sgd", "sgd-momentum", "adafactor", "adam-8bit", "lion", "muon"]),
        select(vec!["megatron", "megatron-fused", "te-fused", "chunked"]),
    );
    (layout, work, choices).prop_map(|(layout, work, choices)| {
        let (tp, pp, cp, ep, dp, zero) = layout;
        let (seq, micro_batch, microbatches, flash, fused, sequence_parallel) = work;
        let (model, cp_comm, recompute, precision, optimizer, cross_entropy) = choices;
        json!({
            "model": model, "gpus": tp * pp * cp * dp, "tp": tp, "pp": pp, "cp": cp, "ep": ep, "zero": zero,
            "seq_len": seq, "micro_batch": micro_batch, "global_batch": dp * micro_batch * microbatches,
            "flash_attention": flash, "fused_swiglu": fused, "sequence_parallel": sequence_parallel,
            "dummy_wgrad": fused, "cp_comm": cp_comm, "recompute": recompute, "precision": precision,
            "optimizer": optimizer, "cross_entropy": cross_entropy
        })
    })
}

/// The scenario, where the settings make one.
fn understood(run: &Json) -> Option<Scenario> {
    let value = serde_json::from_value(run.clone()).unwrap();
    Scenario::new(&Run::from_value(&value).ok()?).ok()
}

fn changed(run: &Json, field: &str, value: impl Into<Json>) -> Json {
    let mut run = run.clone();
    run[field] = value.into();
    run
}

fn ranks(run: &Json) -> Option<Vec<StageMemory>> {
    let scenario = understood(run)?;
    Some(memory_model::estimate(&scenario, &loads(&scenario)).per_stage)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Every rank of the changed Run needs at least what it needed.
fn never_less(before: &Json, after: &Json) -> Result<(), TestCaseError> {
    let (Some(before), Some(after)) = (ranks(before), ranks(after)) else {
        return Ok(());
    };
    for (less, more) in before.iter().zip(&after) {
        prop_assert!(more.total.0 >= less.total.0 * (1.0 - 1e-12), "rank {}", less.stage);
    }
    Ok(())
}

fn walk(term: &Term, see: &mut impl FnMut(&Term)) {
    see(term);
    for part in &term.parts {
        walk(part, see);
    }
}

/// A value anywhere in the range of a field.
fn any_value(field: &'static Field) -> BoxedStrategy<Value> {
    match &field.slot {
        Slot::Count { range: (low, high), .. } => {
            let top = *high;
            let large = (*low..=top).prop_map(Value::from);
            let small = (*low..=top.min(64)).prop_map(Value::from);
            prop_oneof![large, small].boxed()
        }
        Slot::Number { range: (low, high), .. } => (*low..=*high).prop_map(Value::Number).boxed(),
        Slot::Toggle => any::<bool>().prop_map(Value::Bool).boxed(),
        Slot::Choice { options, .. } => select(options()).prop_map(|choice| Value::Text(choice.id.to_owned())).boxed(),
        // Texts and lists mean something only together with the rest.
        Slot::Counts | Slot::Numbers { .. } | Slot::Set { .. } | Slot::Text => Just(Value::Null).boxed(),
    }
}

/// The default Run with a few fields anywhere in their range.
fn wild_run() -> impl Strategy<Value = Run> {
    let set = (0..FIELDS.len()).prop_flat_map(|at| any_value(&FIELDS[at]).prop_map(move |v| (at, v)));
    proptest::collection::vec(set, 1..5).prop_map(|changes| {
        let mut run = Run::default();
        for (at, value) in changes {
            if value != Value::Null {
                FIELDS[at].set(&mut run, &value).unwrap();
            }
        }
        run
    })
}

/// No amount of memory is NaN, infinite or negative, by any method.
fn all_amounts(scenario: &Scenario) -> Result<(), TestCaseError> {
    for (row, estimate) in methods::compare(scenario, &loads(scenario)) {
        for rank in &estimate.per_stage {
            for (name, bytes) in rank.components() {
                prop_assert!(bytes.0.is_finite() && bytes.0 >= 0.0, "{:?} {name}", row.method);
            }
            for item in &rank.items {
                prop_assert!(item.bytes.0.is_finite() && item.bytes.0 >= 0.0, "{}", item.name);
            }
            prop_assert!(rank.total.0.is_finite() && rank.total.0 >= 0.0);
        }
    }
    Ok(())
}

#[test]
fn enough_of_the_random_runs_make_sense() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let valid = (0..400).filter(|_| {
        let run = any_run().new_tree(&mut runner).unwrap().current();
        understood(&run).is_some()
    });
    assert!(valid.count() > 100);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_valid_run_makes_an_amount_nan(run in wild_run()) {
        if let Ok(scenario) = Scenario::new(&run) && scenario.layout.pp <= 64 {
            all_amounts(&scenario)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn items_sum_to_components_and_components_to_the_total(run in any_run()) {
        for rank in ranks(&run).into_iter().flatten() {
            let total: f64 = rank.components().iter().map(|(_, bytes)| bytes.0).sum();
            prop_assert!(near(total, rank.total.0));
            for (component, bytes) in [
                (Component::Weights, rank.weights),
                (Component::Gradients, rank.gradients),
                (Component::Optimizer, rank.optimizer),
                (Component::Activations, rank.activations),
                (Component::Buffers, rank.buffers),
                (Component::Overhead, rank.overhead),
            ] {
                let items = rank.items.iter().filter(|item| item.component == component);
                prop_assert!(near(items.map(|item| item.bytes.0).sum(), bytes.0));
            }
        }
    }

    #[test]
    fn no_method_returns_what_is_no_amount_of_memory(run in any_run()) {
        if let Some(scenario) = understood(&run) {
            all_amounts(&scenario)?;
        }
    }

    #[test]
    fn longer_sequences_larger_microbatches_and_more_layers_never_need_less(run in any_run()) {
        let count = |field: &str| run[field].as_u64().unwrap();
        never_less(&run, &changed(&run, "seq_len", 2 * count("seq_len")))?;
        let batch = changed(&run, "micro_batch", 2 * count("micro_batch"));
        never_less(&run, &changed(&batch, "global_batch", 2 * count("global_batch")))?;
        if let Some(scenario) = understood(&run) {
            let layers = scenario.model.layers + scenario.layout.pp;
            never_less(&run, &changed(&run, "model", json!({"base": run["model"], "layers": layers})))?;
        }
    }

    /// With sequence parallelism everything a layer keeps is cut by t, as long as there is a key-value head a rank.
    #[test]
    fn with_sequence_parallelism_activations_divide_by_t(run in any_run()) {
        let run = changed(&run, "sequence_parallel", true);
        let gpus = run["gpus"].as_u64().unwrap();
        let tp = run["tp"].as_u64().unwrap();
        let single = changed(&changed(&run, "tp", 1), "gpus", gpus / tp);
        let (Some(cut), Some(whole)) = (understood(&run), understood(&single)) else {
            return Ok(());
        };
        if cut.model.kv_heads.is_multiple_of(tp) {
            for stage in 0..cut.stage_layers.len() - 1 {
                let kept = |scenario| memory_model::chunk_activation_bytes(scenario, stage).0;
                prop_assert!(near(kept(&cut) * tp as f64, kept(&whole)));
            }
        }
    }

    /// Megatron keeps a rank's part of the inputs of QKV and FFN and gathers them again in the backward pass
    /// (Korthikanti 2022, section 4.2.2; `LinearWithGradAccumulationAndAsyncCommunication`), at every stage of ZeRO.
    /// PyTorch's `ColwiseParallel` redistributes its input to `Replicate` before the linear, which saves it for its
    /// gradient: `2 T h` elements a layer are whole there.
    #[test]
    fn inputs_of_column_cut_linears_stay_whole_in_pytorch_alone(run in any_run()) {
        let plain = json!({
            "model": "llama-2-7b", "recompute": "none", "precision": "bf16-fp32-grads", "flash_attention": true,
            "sequence_parallel": true, "ep": 1
        });
        let mut run = run;
        run.as_object_mut().unwrap().extend(plain.as_object().unwrap().clone());
        let tp = run["tp"].as_u64().unwrap();
        let gpus = run["gpus"].as_u64().unwrap();
        for (stack, whole_inputs) in [("megatron-2025", 0.0), ("torchtitan", 2.0), ("fsdp2", 2.0)] {
            let run = changed(&run, "stack", stack);
            let single = changed(&changed(&run, "tp", 1), "gpus", gpus / tp);
            let (Some(cut), Some(whole)) = (understood(&run), understood(&single)) else {
                continue;
            };
            let kept = |scenario| memory_model::chunk_activation_bytes(scenario, 1).0;
            if cut.layout.pp > 2 {
                let tokens = (cut.run.seq_len * cut.run.micro_batch) as f64 / cut.layout.cp as f64;
                let layers = (cut.model.layers / cut.layout.pp) as f64;
                let inputs = whole_inputs * 2.0 * tokens * cut.model.hidden as f64 * layers;
                let expected = kept(&whole) / tp as f64 + inputs * (1.0 - 1.0 / tp as f64);
                prop_assert!(near(kept(&cut), expected), "{stack}: {} is not {expected}", kept(&cut));
            }
        }
    }

    #[test]
    fn a_higher_zero_stage_keeps_no_more_states(run in any_run()) {
        let states = |zero: u64| -> Option<f64> {
            let ranks = ranks(&changed(&run, "zero", zero))?;
            Some(ranks.iter().map(|rank| rank.weights.0 + rank.gradients.0 + rank.optimizer.0).sum())
        };
        if let Some(all) = (0..4).map(states).collect::<Option<Vec<_>>>() {
            prop_assert!(all.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{all:?}");
        }
    }

    #[test]
    fn recomputation_never_keeps_more(run in any_run()) {
        let kept = |recompute: Json| -> Option<f64> {
            let scenario = understood(&changed(&run, "recompute", recompute))?;
            Some(memory_model::chunk_activation_bytes(&scenario, 0).0)
        };
        if let Some(none) = kept(json!("none")) {
            let full = kept(json!("full")).unwrap();
            for recompute in [json!("selective"), json!({"layers": 1}), json!({"modules": ["norm", "mlp"]})] {
                let some = kept(recompute).unwrap();
                prop_assert!(some <= none * (1.0 + 1e-12) && full <= some * (1.0 + 1e-12));
            }
        }
    }

    /// GiB is 2^30 bytes and nothing else is printed: an amount of bytes never carries "GB".
    #[test]
    fn explanations_end_at_the_total_and_never_print_gb_for_gib(run in any_run()) {
        if let Some(scenario) = understood(&run) {
            let loads = loads(&scenario);
            for (row, estimate) in methods::compare(&scenario, &loads) {
                for rank in &estimate.per_stage {
                    let term = methods::explain(row.method, &scenario, &loads, rank.stage).unwrap();
                    prop_assert!(near(term.value, rank.total.0));
                    let mut clean = true;
                    walk(&term, &mut |term| {
                        clean &= term.value.is_finite() && !term.shown(MemoryUnit::Gib).to_string().contains(" GB");
                    });
                    prop_assert!(clean, "{:?}", row.method);
                }
            }
        }
    }
}

/// With a second shard group a GPU holds what it holds in the first alone, of experts too (torchtitan
/// `parallel_dims.py`, `dp_shard_mod_ep`; Megatron-LM `parallel_state.py`, `intra_partial_expert_data_parallel_size`).
#[test]
fn a_copy_of_a_shard_group_holds_what_one_group_holds() {
    let held = |gpus: u64| {
        let run = json!({"model": "qwen-3-30b-a3b", "stack": "fsdp2", "precision": "fsdp-mixed", "zero": 3,
            "tp": 1, "pp": 1, "ep": 4, "gpus": gpus, "hsdp_shard": 16, "global_batch": gpus});
        let scenario = understood(&run).unwrap();
        let estimate = methods::compare(&scenario, &loads(&scenario)).into_iter().next().unwrap().1;
        let rank = &estimate.per_stage[0];
        (rank.weights.0, rank.gradients.0, rank.optimizer.0)
    };
    assert_eq!(held(16), held(32));
}
