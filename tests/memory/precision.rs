//! Activations, messages and buffers follow the precision: closed forms of the papers with the bytes that it has.

use shardscope::core::issue::Severity;
use shardscope::core::report::{Report, evaluate};
use shardscope::core::run::{AttentionKernel, Based, Method, OneOf, Run};
use shardscope::core::traffic::Traffic;

fn report(run: &Run) -> Report {
    evaluate(run).unwrap().report
}

fn with(precision: &'static str, run: &Run) -> Run {
    Run { precision: Based::preset(precision), ..run.clone() }
}

fn near(ours: f64, by_hand: f64) {
    assert!((ours / by_hand - 1.0).abs() < 1e-9, "{ours} {by_hand}");
}

/// Llama-2-7B over two tensor-parallel ranks, four sequences of 4096 tokens.
fn llama() -> Run {
    Run {
        model: Based::preset("llama-2-7b"),
        gpus: 64,
        tp: 2,
        pp: 1,
        zero: 1,
        seq_len: 4096,
        micro_batch: 4,
        global_batch: 128,
        ..Run::default()
    }
}

/// `docs/methods/memory.md`: `T h (12 + 4 k/a + 6 f/h)/t` a layer in bf16, and `4 a T/t` of statistics. In fp32 the
/// first doubles, and scores of four bytes stand where the statistics were: `4 a s T/t`.
#[test]
fn activations_of_a_llama_double_in_fp32_and_scores_are_stored() {
    let (s, h, f, a, t) = (4096.0, 4096.0, 11008.0, 32.0, 2.0);
    let tokens = 4.0 * s;
    let tensors = tokens * h * (16.0 + 6.0 * f / h) / t;
    let bytes = |precision| report(&with(precision, &llama())).memory.per_stage[0].activations;
    near(bytes("bf16-fp32-grads").0, 32.0 * (tensors + 4.0 * a * tokens / t));
    near(bytes("fp32").0, 32.0 * (2.0 * tensors + 4.0 * a * s * tokens / t));
}

/// He's blog: `16 k b s h + 2 b s h + 2 k b a s² + b a s²` a layer, k the bytes of an activation: 4 in full precision,
/// 2 in mixed. Korthikanti's `s b h (34 + 5 a s/h)`, which the playbook prints, is the same at k = 2; so is the GPT
/// block of the detailed method.
#[test]
fn every_method_counts_activations_in_the_bytes_of_the_precision() {
    let (b, s, h, a, layers) = (2.0, 1024.0, 1600.0, 25.0, 48.0);
    for (precision, k) in
        [("fp32", 4.0), ("bf16", 2.0), ("fp16", 2.0), ("fsdp-mixed", 2.0), ("te-fp8", 2.0), ("deepseek-fp8", 2.0)]
    {
        let by_hand = layers * ((16.0 * k + 2.0) * b * s * h + (2.0 * k + 1.0) * b * a * s * s);
        for memory_method in [Method::Detailed, Method::He, Method::Playbook] {
            let run = Run {
                model: Based::preset("gpt-2-xl"),
                gpus: 8,
                tp: 1,
                pp: 1,
                seq_len: 1024,
                micro_batch: 2,
                global_batch: 64,
                flash_attention: Some(false),
                memory_method,
                ..Run::default()
            };
            let ours = report(&with(precision, &run)).memory.per_stage[0].activations;
            near(ours.0, by_hand);
        }
    }
}

/// Megatron Core sends activations as they are: four bytes an element in fp32 where bf16 has two.
#[test]
fn messages_of_activations_double_in_fp32() {
    let dense = Run { cp: 2, ..Run::default() };
    let routed = Run { model: Based::preset("mixtral-8x7b"), tp: 1, ep: 8, ..Run::default() };
    let mut met = Vec::new();
    for run in [dense, routed] {
        let (half, full) = (report(&with("bf16", &run)), report(&with("fp32", &run)));
        for (half, full) in half.overlap.iter().zip(&full.overlap) {
            assert_eq!(half.traffic, full.traffic);
            if half.bytes_per_gpu.0 > 0.0 {
                // Gradients of two bytes and weights of two are four and four in fp32.
                near(full.bytes_per_gpu.0, 2.0 * half.bytes_per_gpu.0);
                met.push(half.traffic);
            }
        }
    }
    for traffic in [Traffic::Tp, Traffic::Cp, Traffic::Pp, Traffic::Ep, Traffic::Dp] {
        assert!(met.contains(&traffic), "{traffic:?} sent nothing");
    }
}

/// NVIDIA's A100 data sheet has no fp8 and TF32 at half of bf16 (156 of 312 TFLOP/s), as H100's (494.5 of 989).
#[test]
fn fp8_on_a_gpu_without_it_is_an_error_whose_fix_works() {
    for policy in ["te-fp8", "fp8-lm", "deepseek-fp8", "nanotron-fp8", "fp8-delayed", "fp8-current", "fp8-blockwise"] {
        for flags in [false, true] {
            let run =
                Run { gpu: Based::preset("a100-sxm-80gb"), fp8_activations: flags, ..with(policy, &Run::default()) };
            let issues = evaluate(&run).unwrap_err();
            assert_eq!((issues.len(), issues[0].field.as_str()), (1, "precision"));
            for fix in issues[0].fixes() {
                assert!(evaluate(&run.with_texts(&fix.set).unwrap()).is_ok());
            }
        }
        assert!(evaluate(&with(policy, &Run::default())).is_ok(), "{policy}");
    }
}

#[test]
fn fp32_says_that_it_stores_scores_and_runs_as_tf32() {
    let warnings = report(&with("fp32", &Run::default())).warnings;
    let said = |field: &str| {
        let of = warnings.iter().find(|issue| issue.field == field);
        of.map(|issue| issue.severity)
    };
    assert_eq!(said("flash_attention"), Some(Severity::Warning));
    assert_eq!(said("precision"), Some(Severity::Notice));
    let text = format!("{warnings:?}");
    assert!(text.contains("TF32"), "{text}");
}

/// Transformer Engine: MXFP8 and NVFP4 are read by Blackwell's tensor cores; AMD's CDNA 4 reads the OCP's MX formats.
#[test]
fn block_scaled_formats_are_refused_where_tensor_cores_do_not_read_them() {
    for (gpu, policy, works) in [
        ("h100-sxm-80gb", "mxfp8", false),
        ("h100-sxm-80gb", "nvfp4", false),
        ("mi300x", "mxfp8", false),
        ("mi355x", "nvfp4", false),
        ("mi355x", "mxfp8", true),
        ("b200-sxm", "nvfp4", true),
        ("gb300", "mxfp8", true),
        ("a100-sxm-80gb", "nvfp4", false),
    ] {
        let run = Run { gpu: Based::preset(gpu), ..with(policy, &Run::default()) };
        match evaluate(&run) {
            Ok(_) => assert!(works, "{policy} on {gpu}"),
            Err(issues) => {
                assert!(!works, "{policy} on {gpu}: {issues:?}");
                for fix in issues[0].fixes() {
                    assert!(evaluate(&run.with_texts(&fix.set).unwrap()).is_ok(), "{gpu}");
                }
            }
        }
    }
}

/// Transformer Engine, `low_precision_training`: no recipe with scales by block but MXFP8 has attention in fp8; beside
/// NVFP4 it runs by the recipe that `NVTE_DPA_FP8_RECIPE` names (2.8).
#[test]
fn attention_in_fp8_is_refused_where_the_recipe_has_none() {
    for (policy, works) in [("fp8-delayed", true), ("fp8-blockwise", false), ("nvfp4", true)] {
        let mut run = with(policy, &Run::default());
        run.gpu = Based::preset("b200-sxm");
        run.stack.parts.attention = Some(AttentionKernel::Fp8);
        let outcome = evaluate(&run);
        assert_eq!(outcome.is_ok(), works, "{policy}");
        for issue in outcome.err().into_iter().flatten() {
            for fix in issue.fixes() {
                assert!(evaluate(&run.with_texts(&fix.set).unwrap()).is_ok());
            }
        }
    }
}

/// Megatron-LM, `is_first_last_bf16_layer`: a model whose layers all stay in bf16 computes and keeps what a bf16 model
/// does, and each layer between the ends has its share of the difference.
#[test]
fn layers_that_stay_in_bf16_take_and_keep_what_bf16_does() {
    let run = |precision, first, last| {
        let mut run = Run { gpu: Based::preset("b200-sxm"), ..with(precision, &llama()) };
        run.precision.parts.bf16_first = first;
        run.precision.parts.bf16_last = last;
        let report = report(&run);
        let stage = report.memory.per_stage[0].clone();
        [report.step.compute_s.0, stage.weights.0, stage.activations.0]
    };
    for precision in ["mxfp8", "nvfp4", "fp8-current"] {
        let [none, bf16] = [run(precision, None, None), run("bf16-fp32-grads", None, None)];
        for (first, last, share) in [(32, 0, 1.0), (3, 5, 0.25), (40, 40, 1.0), (0, 8, 0.25)] {
            let ours = run(precision, Some(first), Some(last));
            for figure in 0..3 {
                let by_hand = none[figure] + share * (bf16[figure] - none[figure]);
                near(ours[figure], by_hand);
            }
        }
        assert!(none[0] < bf16[0] && none[1] > bf16[1]);
    }
}

/// The published methods count states of all weights: of an adapter they say that they do not know it.
#[test]
fn a_published_method_says_that_it_trains_all_weights() {
    // Its software trains adapters.
    let set = [("stack", "megatron-2025".to_owned()), ("adapter.method", "lora".to_owned())];
    let adapter = Run::default().with_texts(&set).unwrap();
    for &(memory_method, _) in Method::ALL {
        let says = |run: &Run| {
            let run = Run { memory_method, ..run.clone() };
            report(&run).warnings.iter().any(|issue| issue.field == "adapter.method")
        };
        assert_eq!((says(&adapter), says(&Run::default())), (memory_method != Method::Detailed, false));
    }
}
