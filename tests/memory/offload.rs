//! Offloading against the estimators and measurements of the frameworks that do it.

use crate::common::{figures, with};
use shardscope::core::memory::Verdict;
use shardscope::core::report::report;
use shardscope::core::run::{Based, Run};

fn deepspeed(zero: u64) -> Run {
    Run {
        stack: Based::preset("deepspeed"),
        precision: Based::preset("bf16"),
        gpus: 8,
        tp: 1,
        pp: 1,
        zero,
        global_batch: 8,
        host_memory_gib: Some(4096.0),
        ..Run::default()
    }
}

/// Parameters of Llama-3.1-8B; its vocabulary needs no padding.
const P: f64 = 8_030_261_248.0;

/// DeepSpeed's own estimator (`stage3.py`, `estimate_zero3_model_states_mem_needs`): 16 P/n and 18 P/n bytes of host
/// memory a node with half as much again for buffers; of ZeRO-2 with up to four GPUs on one node 16 P.
#[test]
fn host_memory_is_what_deepspeeds_estimator_prints() {
    let host = |run: &Run, pairs: &[(&str, &str)]| {
        let report = figures(&with(run, pairs));
        assert_eq!(report.memory.per_stage[0].optimizer.0, 0.0);
        report.memory.host.unwrap().states_bytes.0
    };
    let near = |ours: f64, printed: f64| assert!((ours / printed - 1.0).abs() < 1e-9, "{ours} {printed}");
    let optimizer = ("offload.optimizer", "cpu");
    near(host(&deepspeed(3), &[optimizer]), 16.0 * P * 1.5);
    near(host(&deepspeed(3), &[optimizer, ("offload.parameters", "cpu")]), 18.0 * P * 1.5);
    let four = with(&deepspeed(2), &[("gpus", "4")]);
    near(host(&four, &[optimizer]), 16.0 * P * 1.5);
    // Two nodes share the states.
    let two = with(&deepspeed(3), &[("gpus", "16"), ("global_batch", "16")]);
    near(host(&two, &[optimizer]), 16.0 * P / 2.0 * 1.5);
}

/// Megatron-Bridge, Qwen3-30B-A3B at tp 2, pp 2, ep 4 on 16 H100: 15.3 GB less of 47.2 with all states on the host, 3.8
/// with a quarter.
#[test]
fn megatron_moves_the_moments_alone() {
    let run = Run {
        model: Based::preset("qwen-3-30b-a3b"),
        gpus: 16,
        tp: 2,
        pp: 2,
        ep: 4,
        seq_len: 4096,
        host_memory_gib: Some(4096.0),
        ..Run::default()
    };
    let held = |pairs: &[(&str, &str)]| {
        let stages = figures(&with(&run, pairs)).memory.per_stage;
        stages.iter().map(|rank| rank.allocated().gb()).fold(0.0, f64::max)
    };
    let all = ("offload.optimizer", "cpu");
    let none = held(&[]);
    for (saved, pairs) in [(15.3, vec![all]), (3.8, vec![all, ("offload.fraction", "0.25")])] {
        let ours = none - held(&pairs);
        assert!((ours / saved - 1.0).abs() < 0.02, "{ours} {saved}");
    }
}

/// prime-rl and PyTorch PR 120256: FSDP2's policy moves fp32 parameters, gradients and two moments, 16 bytes a
/// parameter.
#[test]
fn fsdp2_moves_everything_together() {
    let run = with(&deepspeed(3), &[("stack", "fsdp2"), ("precision", "fsdp-mixed")]);
    let report = figures(&with(&run, &[("offload.parameters", "cpu")]));
    let host = report.memory.host.unwrap();
    assert!((host.states_bytes.0 / (16.0 * P) - 1.0).abs() < 1e-9);
    let rank = &report.memory.per_stage[0];
    assert_eq!((rank.weights + rank.optimizer + rank.gradients).0, 0.0);
    // Parameters come for both passes in fp32, gradients leave once.
    let step = report.offload.unwrap();
    assert!((step.to_gpu_bytes.0 / (2.0 * 4.0 * P / 8.0) - 1.0).abs() < 1e-9);
    assert!((step.to_host_bytes.0 / (4.0 * P / 8.0) - 1.0).abs() < 1e-9);
}

/// Inputs of layers are 2 h bytes a token against 2 FLOPs a parameter: PCIe hides them. All saved tensors are some
/// eighteen times as much, which PCIe does not hide and NVLink-C2C does.
#[test]
fn boundaries_hide_behind_compute_on_pcie_and_all_tensors_on_c2c_alone() {
    let exposed = |pairs: &[(&str, &str)]| {
        let run = with(&deepspeed(3), &[("stack", "hf-trainer"), ("offload.activations", "cpu")]);
        figures(&with(&run, pairs)).offload.unwrap().exposed_s.0
    };
    assert_eq!(exposed(&[("recompute", "full")]), 0.0);
    assert!(exposed(&[]) > 0.0);
    assert_eq!(exposed(&[("gpu.host_gb_per_s", "450")]), 0.0);
}

/// ZeRO-Offload of Llama-2-7B on four A100 takes more than 4 s on the host (DeepSpeed, blog on `ZenFlow`: its
/// introduction).
#[test]
fn the_hosts_optimizer_makes_the_step_longer() {
    let run = Run {
        model: Based::preset("llama-2-7b"),
        gpu: Based::preset("a100-sxm-80gb"),
        gpus: 4,
        seq_len: 4096,
        global_batch: 4,
        ..deepspeed(2)
    };
    let (on, off) = (figures(&with(&run, &[("offload.optimizer", "cpu")])), figures(&run));
    let added = on.step.time_s.0 - off.step.time_s.0;
    assert!((3.5..6.0).contains(&added), "{added}");
    assert!(on.memory.peak_bytes.0 < off.memory.peak_bytes.0);
    assert!(off.offload.is_none() && off.memory.host.is_none());
}

/// Adam of Megatron-LM on the host: slime issue 1139 (GLM-4.5-Air on 32 H100, 9.6 s under a profiler) and the first
/// lines of ms-swift's `examples/megatron` at 3602360a (whole steps; its Quick-start measures on A800):
/// `dense/72b_offload.sh` 80 s, `moe/qwen3_moe_offload.sh` 28 s. The fourth, `rlhf/dpo/moe.sh`, is in
/// `tests/memory/objective.rs`.
#[test]
fn published_steps_of_adam_on_the_host_are_within_30_percent() {
    let megatron = |model: &'static str, gpus, global_batch, pairs: &[(&str, &str)]| {
        let run = Run {
            model: Based::preset(model),
            gpu: Based::preset("a800-sxm-80gb"),
            stack: Based::preset("megatron-2025"),
            gpus,
            tp: 1,
            pp: 1,
            seq_len: 8192,
            global_batch,
            recompute: shardscope::core::run::Recompute::Full,
            host_memory_gib: Some(4096.0),
            ..Run::default()
        };
        figures(&with(&with(&run, &[("offload.optimizer", "cpu"), ("offload.framework", "megatron")]), pairs))
    };
    let near = |ours: f64, printed: f64| assert!((ours / printed - 1.0).abs() < 0.3, "{ours} {printed}");
    let air = megatron("glm-4.5-air", 32, 32, &[("tp", "4"), ("ep", "8"), ("gpu", "h100-sxm-80gb")]);
    near(air.offload.unwrap().exposed_s.0, 9.6);
    near(megatron("qwen-2.5-72b", 8, 16, &[("tp", "8")]).step.time_s.0, 80.0);
    near(megatron("qwen-3-30b-a3b", 4, 16, &[("ep", "4")]).step.time_s.0, 28.0);
    // One process alone: NeMo-RL pull request 3628, Qwen3-0.6B on one H100, 0.752 to 1.678 s.
    let small = megatron("gpt-2-xl", 1, 1, &[("gpu", "h100-sxm-80gb"), ("seq_len", "1024")]);
    let share = 0.596e9 / small.parameters.total as f64;
    near(small.offload.unwrap().exposed_s.0 * share, 1.678 - 0.752);
}

/// DeepSpeed's Adam on a host: its pull request 735 (11.6 B of GPT-2 in 8.2 s), issue 6834 (72 B over four nodes, about
/// 10 s); torchao's optim README (1.1 B on a Ryzen 5600: DeepSpeed 1.86 s longer, its own 0.25 s beside the backward
/// pass and 0.57 s compiled, where copies do not hide).
#[test]
fn the_hosts_adam_goes_by_cores_and_memory_channels() {
    let step = |run: &Run, pairs: &[(&str, &str)]| {
        figures(&with(&with(run, &[("offload.optimizer", "cpu")]), pairs)).offload.unwrap()
    };
    let near = |ours: f64, printed: f64| assert!((ours / printed - 1.0).abs() < 0.3, "{ours} {printed}");
    let qwen = [("model", "qwen-2.5-72b"), ("gpu", "a100-sxm-80gb"), ("gpus", "32"), ("global_batch", "32")];
    near(step(&deepspeed(3), &qwen).host_step_s.0, 10.0);
    let gpt = [("model", "llama-2-13b"), ("gpu", "v100-sxm2-32gb"), ("gpus", "8"), ("precision", "fp16")];
    near(step(&deepspeed(2), &gpt).host_step_s.0 * 11.6 / 13.016, 8.2);
    let desktop = [("model", "gpt-2-xl"), ("gpus", "1"), ("gpu", "rtx-3090"), ("global_batch", "1")];
    let billion = 1.1 / 1.5576;
    near(step(&deepspeed(1), &desktop).host_step_s.0 * billion, 3.13 - 1.27);
    let alone = with(&deepspeed(0), &[("stack", "torchtune"), ("precision", "bf16-pure"), ("zero", "0")]);
    let own = step(&with(&alone, &desktop), &[("offload.framework", "torchao")]);
    near(own.host_step_s.0 * billion, 1.75 - 1.18 - 0.18);
    // Ten times the channels of two of DDR4-3200 (51.2 GB/s) on Grace (512 GB/s).
    let grace = [("model", "gpt-2-xl"), ("gpus", "1"), ("gpu", "gh200"), ("global_batch", "1")];
    let chip = step(&with(&alone, &grace), &[("offload.framework", "torchao")]);
    assert!((own.host_step_s.0 / chip.host_step_s.0 - 10.0).abs() < 1e-9);
}

#[test]
fn a_host_that_is_too_small_is_said_to_be() {
    let run = with(&deepspeed(3), &[("offload.optimizer", "cpu")]);
    let verdict = |gib: &str| {
        let report = figures(&with(&run, &[("host_memory_gib", gib)]));
        let warned = report.warnings.iter().any(|issue| issue.field == "host_memory_gib");
        (report.memory.host.unwrap().verdict.unwrap(), warned)
    };
    // 179.5 GiB.
    assert_eq!(verdict("128"), (Verdict::Oom, true));
    assert_eq!(verdict("190"), (Verdict::Tight, true));
    assert_eq!(verdict("256"), (Verdict::Fits, false));
}

/// Nothing leaves for a host of which nothing is known, and what is offered is enough.
#[test]
fn offloading_without_host_memory_is_refused_with_what_is_enough() {
    for pairs in [
        &[("offload.optimizer", "cpu")][..],
        &[("offload.optimizer", "cpu"), ("offload.parameters", "cpu")],
        &[("offload.activations", "cpu")],
        &[("stack", "fsdp2"), ("offload.parameters", "cpu")],
        &[("adapter.method", "lora"), ("offload.parameters", "cpu")],
    ] {
        let run = with(&with(&deepspeed(3), pairs), &[("host_memory_gib", "")]);
        let errors = report(&run).unwrap_err().errors;
        assert_eq!(errors[0].field, "host_memory_gib", "{pairs:?}");
        let mended = run.with_texts(&errors[0].fix.as_ref().unwrap().set).unwrap();
        let host = figures(&mended).memory.host.unwrap();
        assert_eq!(host.verdict, Some(Verdict::Fits), "{pairs:?} {host:?}");
    }
}

/// fp8 where no tensor core computes in it, and ranks and targets that are none, are errors at their fields.
#[test]
fn fp8_on_an_a100_is_refused_with_what_works() {
    let run = with(&deepspeed(1), &[("gpu", "a100-sxm-80gb"), ("precision", "te-fp8")]);
    let errors = report(&run).unwrap_err().errors;
    assert_eq!(errors[0].field, "precision");
    assert!(report(&run.with_texts(&errors[0].fix.as_ref().unwrap().set).unwrap()).is_ok());
}

/// Each framework's refusals, at the field, with a fix that works.
#[test]
#[allow(clippy::too_many_lines)] // a line a refusal
fn what_a_framework_does_not_offload_is_refused() {
    let optimizer = ("offload.optimizer", "cpu");
    let parameters = ("offload.parameters", "cpu");
    let stack = |id| ("stack", id);
    for (field, pairs) in [
        ("offload.parameters", vec![parameters, ("zero", "2")]),
        ("offload.optimizer", vec![optimizer, ("zero", "0")]),
        ("offload.optimizer", vec![("offload.optimizer", "nvme"), ("zero", "2")]),
        ("offload.gradients", vec![("offload.gradients", "cpu")]),
        ("offload.activations", vec![("offload.activations", "nvme")]),
        ("offload.parameters", vec![stack("megatron-2025"), parameters, ("zero", "1")]),
        ("offload.optimizer", vec![stack("megatron-2025"), optimizer, ("zero", "0")]),
        ("offload.optimizer", vec![stack("megatron-2025"), ("offload.optimizer", "nvme"), ("zero", "1")]),
        ("optimizer", vec![stack("megatron-2025"), optimizer, ("zero", "1"), ("optimizer", "lion")]),
        (
            "offload.activations",
            vec![stack("megatron-2025"), ("offload.activations", "cpu"), ("recompute", "full"), ("zero", "1")],
        ),
        ("offload.optimizer", vec![stack("fsdp2"), optimizer]),
        ("offload.gradients", vec![stack("fsdp2"), ("offload.gradients", "cpu")]),
        ("offload.parameters", vec![stack("fsdp2"), parameters, ("zero", "2"), ("offload.framework", "fsdp2")]),
        ("offload.parameters", vec![stack("fsdp2"), ("offload.parameters", "nvme")]),
        ("optimizer", vec![optimizer, ("optimizer", "adam-8bit")]),
        ("optimizer", vec![stack("fsdp2"), parameters, ("optimizer", "adam-8bit-paged")]),
        ("offload.parameters", vec![("offload.parameters", "nvme"), ("zero", "2")]),
        (
            "offload.activations",
            vec![stack("megatron-2025"), ("offload.activations", "cpu"), ("pp", "2"), ("zero", "1")],
        ),
        ("offload.gradients", vec![stack("megatron-2025"), optimizer, ("offload.gradients", "cpu"), ("zero", "1")]),
        ("offload.parameters", vec![("gpus", "1"), stack("torchtune"), optimizer, parameters]),
        (
            "offload.gradients",
            vec![("gpus", "1"), stack("torchtune"), optimizer, ("offload.gradients", "cpu"), ("global_batch", "8")],
        ),
        ("offload.optimizer", vec![("gpus", "1"), stack("torchtune"), ("offload.optimizer", "nvme")]),
        ("offload.framework", vec![optimizer, ("offload.framework", "torchao")]),
    ] {
        let run = with(&deepspeed(3), &pairs);
        let errors = report(&run).unwrap_err().errors;
        assert_eq!(errors[0].field, field, "{pairs:?} {errors:?}");
        let fix = errors[0].fix.as_ref().unwrap();
        let mended = run.with_texts(&fix.set).unwrap();
        assert!(report(&mended).is_ok(), "{pairs:?} {:?}", report(&mended).unwrap_err().errors);
    }
}

/// Hugging Face, "FSDP-QLoRA": sharding flattens parameters of one type, which NF4 is stored as and int8 is not.
#[test]
fn int8_weights_are_not_sharded() {
    let pairs = [("stack", "hf-trainer"), ("adapter.method", "lora")];
    let warned = |base| {
        let run = with(&with(&deepspeed(3), &pairs), &[("adapter.base", base)]);
        let warnings = figures(&run).warnings;
        warnings.into_iter().find(|issue| issue.field == "adapter.base")
    };
    assert!(warned("nf4-double").is_none());
    let fix = warned("int8").unwrap().fix.unwrap();
    assert_eq!(fix.set, [("adapter.base", "nf4-double".to_owned())]);
}

/// `fsdp_qlora` (`benchmarks_03_2024.md`) fine-tunes Llama-2-70B on two RTX 4090 with the parameters on the host, whose
/// NF4 base alone is 34.6 GB: it prints 14.92 GiB a GPU.
#[test]
fn the_frozen_base_waits_on_the_host_with_the_parameters() {
    let run = Run {
        model: Based::preset("llama-2-70b"),
        gpu: Based::preset("rtx-4090"),
        stack: Based::preset("hf-trainer"),
        gpus: 2,
        seq_len: 2048,
        micro_batch: 2,
        global_batch: 4,
        recompute: shardscope::core::run::Recompute::Full,
        host_memory_gib: Some(128.0),
        ..deepspeed(3)
    };
    let run = with(&run, &[("adapter.method", "qlora"), ("offload.parameters", "cpu")]);
    let report = figures(&run);
    assert_eq!(report.memory.verdict, Verdict::Fits);
    assert_eq!(report.memory.per_stage[0].weights.0, 0.0);
    let host = report.memory.host.unwrap();
    assert!(host.states_bytes.gib() > 34.6, "{}", host.states_bytes.gib());
}

/// Megatron-LM `fine_grained_activation_offload.py`: inputs of the named modules leave, under a pipeline too, but those
/// of the last layer of a stage. Llama 3.1 8B at tp 2 and pp 4, 8 layers and four micro-batches on the first rank: a
/// norm's input is 2 s b h/t, queries with keys and values 2 s b (a + 2 k) d/t, attention's output 2 s b a d/t.
#[test]
fn inputs_of_modules_leave_under_a_pipeline() {
    let run = Run { stack: Based::preset("megatron-2025"), host_memory_gib: Some(9000.0), ..Run::default() };
    let off = figures(&run).memory;
    let (s, h, t, layers, in_flight) = (8192.0, 4096.0, 2.0, 7.0, 4.0);
    for (modules, bytes) in [
        ("attn_norm", 2.0 * s * h / t),
        ("mlp_norm", 2.0 * s * h / t),
        ("core_attn", 2.0 * s * (32.0 + 16.0) * 128.0 / t),
        ("core_attn,attn_proj", 2.0 * s * (64.0 + 16.0) * 128.0 / t),
        ("expert_fc1", 0.0),
    ] {
        let report = figures(&with(&run, &[("offload.activations", modules)]));
        let on = report.memory;
        let left = off.per_stage[0].activations.0 - on.per_stage[0].activations.0;
        let expected = bytes * layers * in_flight;
        assert!((left - expected).abs() <= 1e-9 * expected, "{modules}: {left} {expected}");
        let host = on.host.unwrap().activations_bytes.0;
        assert!((host - 8.0 * expected).abs() <= 1e-9 * host, "{modules}: {host}");
        let step = report.offload.unwrap();
        assert_eq!(step.to_host_bytes, step.to_gpu_bytes);
    }
    for (pairs, field) in [
        (vec![("offload.activations", "attn_proj")], "offload.activations"),
        (vec![("stack", "deepspeed"), ("zero", "1"), ("offload.activations", "core_attn")], "offload.activations"),
    ] {
        let errors = report(&with(&run, &pairs)).unwrap_err().errors;
        assert!(errors.iter().any(|issue| issue.field == field && issue.fix.is_some()), "{errors:?}");
    }
}

/// Megatron-LM `--cpu-offloading-num-layers`: activations of so many layers leave, and the rest stays as it was.
#[test]
fn so_many_layers_leave_as_are_said() {
    let run = with(&deepspeed(3), &[("stack", "megatron-2025"), ("host_memory_gib", "9000")]);
    let kept = |pairs: &[(&str, &str)]| figures(&with(&run, pairs)).memory.per_stage[0].activations.0;
    let leave = |layers: &'static str| kept(&[("offload.activations", "cpu"), ("offload.layers", layers)]);
    let layers = 32.0;
    for (said, away) in [("8", 8.0), ("16", 16.0), ("30", 30.0)] {
        let share = leave(said) / kept(&[]);
        assert!((share - (1.0 - away / layers)).abs() < 1e-12, "{said}: {share}");
    }
    assert_eq!(leave("30"), kept(&[("offload.activations", "cpu")]));
}
