//! Objectives against the papers and programs that define them, and runs of which somebody published the outcome.

use crate::common::{figures, with};
use shardscope::core::memory::Verdict;
use shardscope::core::report::{Report, report};
use shardscope::core::run::{Based, Recompute, Run};

/// Full fine-tuning of Llama-3.1-8B under Hugging Face's Trainer with ZeRO-3 on 8 H100.
fn tuned() -> Run {
    Run {
        stack: Based::preset("hf-trainer"),
        precision: Based::preset("bf16"),
        gpus: 8,
        tp: 1,
        pp: 1,
        zero: 3,
        seq_len: 2048,
        global_batch: 32,
        recompute: Recompute::Full,
        ..Run::default()
    }
}

fn item(report: &Report, name: &str) -> f64 {
    let items = report.memory.per_stage[0].items.iter();
    items.filter(|item| item.name == name).map(|item| item.bytes.0).sum()
}

/// Chosen and rejected stand in one batch (TRL f2cd577, `dpo_trainer.py`, `concatenated`): ORPO's and `SimPO`'s pairs,
/// which have no reference, take what twice as many sequences take.
#[test]
fn pairs_without_a_reference_are_twice_as_many_sequences() {
    let twice = figures(&with(&tuned(), &[("micro_batch", "2"), ("global_batch", "64")]));
    for id in ["orpo", "simpo"] {
        let pairs = figures(&with(&tuned(), &[("objective", id)]));
        assert!((pairs.memory.peak_bytes.0 / twice.memory.peak_bytes.0 - 1.0).abs() < 1e-12, "{id}");
        assert!((pairs.step.time_s.0 / twice.step.time_s.0 - 1.0).abs() < 0.02, "{id}");
        assert_eq!(pairs.layout.tokens_per_step, twice.layout.tokens_per_step);
    }
}

/// A copy of the weights in 16 bits, sharded with ZeRO-3, whole below (TRL `models/utils.py`, `prepare_deepspeed`, sets
/// stage 0 for other stages); none with adapters, whose base is the reference, and none on the GPU from the host.
#[test]
fn a_reference_is_a_copy_of_the_weights() {
    let p = 8_030_261_248.0;
    let dpo = |pairs: &[(&str, &str)]| figures(&with(&with(&tuned(), &[("objective", "dpo")]), pairs));
    let near = |ours: f64, bytes: f64| assert!((ours - bytes).abs() < 1.0, "{ours} {bytes}");
    near(item(&dpo(&[]), "reference model"), 2.0 * p / 8.0);
    near(item(&dpo(&[("zero", "2")]), "reference model"), 2.0 * p);
    for none in [
        &[("adapter.method", "lora")][..],
        &[("objective.reference", "none")],
        &[("objective.reference", "offloaded"), ("host_memory_gib", "1024")],
    ] {
        near(item(&dpo(none), "reference model"), 0.0);
    }
    let host = dpo(&[("objective.reference", "offloaded"), ("host_memory_gib", "1024")]).memory.host.unwrap();
    near(host.states_bytes.0, 2.0 * p);
}

/// The reference's forward pass is a third of what training without recomputation takes, a quarter with it; KTO's model
/// and reference run over mismatched answers too (LLaMA-Factory ff6d4d1, `kto/trainer.py:188`).
#[test]
fn passes_without_gradients_lengthen_the_step() {
    let compute = |pairs: &[(&str, &str)]| {
        let run = with(&tuned(), &[("seq_len", "8192"), ("stack", "fsdp2")]);
        figures(&with(&run, pairs)).step.compute_s.0
    };
    for (recompute, share) in [("none", 1.0 / 3.0), ("full", 1.0 / 4.0)] {
        let ratio = compute(&[("objective", "dpo"), ("recompute", recompute)])
            / compute(&[("objective", "orpo"), ("recompute", recompute)]);
        assert!((ratio - 1.0 - share).abs() < 0.06, "{ratio} {share}");
    }
    let kto = compute(&[("objective", "kto"), ("recompute", "full")]);
    let plain = compute(&[("recompute", "full")]);
    assert!((kto / plain - 1.75).abs() < 0.12, "{kto} {plain}");
}

/// A head with one output has no logits and no matrix over the vocabulary (transformers
/// `LlamaForSequenceClassification`, `score`: h x 1).
#[test]
fn scores_have_no_vocabulary() {
    let (h, v) = (4096.0, 128_256.0);
    let plain = figures(&tuned());
    for id in ["reward", "classification", "reranking", "embedding"] {
        let scores = figures(&with(&tuned(), &[("objective", id)]));
        let fewer = plain.parameters.total as f64 - scores.parameters.total as f64;
        assert!((fewer - (v * h - h)).abs() < 1.0, "{id}: {fewer}");
        assert_eq!(item(&scores, "logits"), 0.0, "{id}");
    }
    let one = figures(&with(&tuned(), &[("objective", "classification")]));
    assert!(one.memory.peak_bytes < plain.memory.peak_bytes && one.step.time_s < plain.step.time_s);
}

/// hiyouga/LLaMA-Factory issue 7938: Qwen2.5-7B, DPO with LoRA at 32768 tokens runs out of memory on 64 A100 of 80 GB,
/// with ZeRO-3, parameters on the host and checkpoints.
#[test]
fn a_7b_with_pairs_of_32768_tokens_runs_out_of_80_gb() {
    let run = Run {
        model: Based::preset("qwen-2.5-7b"),
        gpu: Based::preset("a100-sxm-80gb"),
        gpus: 64,
        seq_len: 32768,
        global_batch: 64,
        host_memory_gib: Some(1024.0),
        ..tuned()
    };
    let run = with(&run, &[("adapter.method", "lora"), ("adapter.rank", "32"), ("offload.parameters", "cpu")]);
    // What fuses the next token's loss leaves the logits of pairs whole (`model/loader.py:142`).
    assert_ne!(figures(&with(&run, &[("cross_entropy", "fused-linear")])).memory.verdict, Verdict::Oom);
    assert_eq!(figures(&with(&run, &[("objective", "dpo")])).memory.verdict, Verdict::Oom);
}

/// ms-swift 3602360a, `examples/megatron/rlhf/dpo/moe.sh`: 13 s a step on eight A800, Adam on the host.
#[test]
fn a_published_step_of_dpo_is_within_30_percent() {
    let run = Run {
        model: Based::preset("qwen-3-30b-a3b"),
        gpu: Based::preset("a800-sxm-80gb"),
        stack: Based::preset("megatron-2025"),
        gpus: 8,
        tp: 4,
        pp: 1,
        ep: 8,
        seq_len: 8192,
        global_batch: 4,
        recompute: Recompute::Full,
        host_memory_gib: Some(4096.0),
        ..Run::default()
    };
    let run = with(&run, &[("offload.optimizer", "cpu"), ("offload.framework", "megatron"), ("objective", "dpo")]);
    let ours = figures(&run).step.time_s.0;
    assert!((ours / 13.0 - 1.0).abs() < 0.3, "{ours}");
}

#[test]
fn what_an_objective_cannot_have_is_refused_at_its_field() {
    for (field, pairs) in [
        ("objective.reference", &[("objective", "orpo"), ("objective.reference", "resident")][..]),
        ("objective.reference", &[("objective", "dpo"), ("objective.reference", "adapters-off")]),
        ("objective.teacher", &[("objective", "distillation")]),
        ("objective.teacher", &[("objective", "dpo"), ("objective.teacher", "qwen-3-32b")]),
        ("objective", &[("objective", "dpo"), ("stack", "torchtitan")]),
    ] {
        let refused = report(&with(&tuned(), pairs)).unwrap_err();
        let issue = refused.errors.iter().find(|issue| issue.field == field);
        assert!(issue.is_some_and(|issue| issue.fix.is_some()), "{pairs:?}: {:?}", refused.errors);
    }
}

/// Full fine-tuning with ZeRO-2 holds 15 GiB of a whole copy in 16 bits: a GPU with less room than that is short of it.
#[test]
fn a_reference_that_does_not_fit_is_named() {
    let run = with(&tuned(), &[("zero", "2"), ("gpus", "64"), ("global_batch", "64"), ("seq_len", "4096")]);
    let gib = |memory: &str| [("gpu.base", "a100-sxm-80gb".to_owned()), ("gpu.memory_gib", memory.to_owned())];
    let named = |run: &Run| figures(run).warnings.iter().any(|issue| issue.field == "objective.reference");
    let dpo = with(&run, &[("objective", "dpo")]);
    let room = figures(&dpo).memory.need_bytes.gib().floor() - 4.0;
    let tight = dpo.with_texts(&gib(&room.to_string())).unwrap();
    assert_eq!(figures(&tight).memory.verdict, Verdict::Oom);
    assert!(named(&tight));
    assert!(
        !named(&dpo) && !named(&with(&tight, &[("objective.reference", "offloaded"), ("host_memory_gib", "1024")]))
    );
}
