//! What goes out comes back: every form, every preset, Runs at random; and what other programs write.
#![allow(clippy::unwrap_used)] // helpers that tests share

use proptest::prelude::*;
use shardscope::run::presets::{GPUS, MODELS};
use shardscope::run::{OneOf, Run, Scenario, Schedule, Value};
use shardscope::share::dialect::{DIALECTS, book::Book, not_said};
use shardscope::share::export::{FORMATS, Stamp, export};
use shardscope::share::import::read;

const STAMP: Stamp = Stamp {
    date: "2026-11-21",
    address: "https://example.org/x/",
};

/// A Run in words, understood.
fn run(json: &str) -> Run {
    Run::from_value(&serde_json::from_str::<Value>(json).unwrap()).unwrap()
}

/// Every model preset on one GPU type after the other, in a layout that works for it.
fn presets() -> impl Iterator<Item = Run> {
    MODELS.iter().zip(GPUS.iter().cycle()).map(|(model, gpu)| {
        let (pp, experts) = (if model.architecture.layers.is_multiple_of(4) { 4 } else { 1 }, model.architecture.moe.is_some());
        let tp = if model.architecture.heads.is_multiple_of(2) { 2 } else { 1 };
        run(&format!(
            r#"{{"model":"{}","gpu":"{}","gpus":64,"tp":{tp},"pp":{pp},"ep":{},"etp":1,"seq_len":1024}}"#,
            model.choice.id,
            gpu.choice.id,
            if experts { 8 } else { 1 }
        ))
    })
}

fn comes_back(run: &Run) {
    for format in FORMATS.iter().filter(|format| format.id != "csv") {
        let text = export(run, format.id, &STAMP).unwrap_or_else(|issues| panic!("{issues:?}"));
        // Whatever the page shows at the time.
        let present = Run {
            tp: 1,
            pp: 1,
            gpus: 8,
            ..Run::default()
        };
        let back = read(&text, &present).unwrap_or_else(|issues| panic!("{issues:?}: {text}"));
        assert_eq!(&back.run, run, "{}: {text}", format.id);
    }
}

/// The settings alone, without the link: they parse, say the same again, and what is not listed as lost is the same.
fn settings_say_what_they_can(run: &Run) {
    let scenario = Scenario::new(run).unwrap();
    for dialect in DIALECTS {
        let entries = (dialect.write)(&scenario);
        let text = (dialect.print)(&entries, &[]);
        assert_eq!((dialect.entries)(&text).unwrap(), entries, "{text}");
        let mut book = Book::new(entries, Run::default());
        (dialect.read)(&mut book);
        assert_eq!(book.errors, [], "{text}");
        assert_eq!(book.left(), [""; 0], "{text}");
        let lost: Vec<&str> = not_said(dialect, &scenario)
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        let same = |key: &str| lost.contains(&key);
        let back = &book.run;
        assert!(back.tp == run.tp || same("tp"), "{text}");
        assert!(back.pp == run.pp || same("pp"), "{text}");
        assert!(back.zero == run.zero || same("zero"), "{text}");
        assert!(back.gpus == run.gpus || same("gpus"), "{text}");
        assert!(
            back.micro_batch == run.micro_batch || same("micro_batch"),
            "{text}"
        );
        assert!(
            back.global_batch == run.global_batch || same("global_batch"),
            "{text}"
        );
        // Sizes that every launcher has are never lost.
        for key in ["tp", "pp", "gpus", "micro_batch", "global_batch"] {
            assert!(!lost.contains(&key), "{} loses {key}: {text}", dialect.name);
        }
    }
}

#[test]
fn every_preset_comes_back_from_every_form() {
    for run in presets() {
        comes_back(&run);
        settings_say_what_they_can(&run);
    }
}

/// Node-limited routing and `DeepEP` in Megatron-LM's arguments, in the settings alone and in every form.
#[test]
fn groups_of_experts_and_their_dispatch_come_back() {
    let megatron = DIALECTS
        .iter()
        .find(|dialect| dialect.id == "megatron")
        .unwrap();
    let run = run(
        r#"{"model":{"base":"mixtral-8x7b","moe":{"groups":4,"top_groups":2}},"tp":1,"ep":8,
            "moe_dispatch":"per-node","fp8_dispatch":true}"#,
    );
    comes_back(&run);
    let entries = (megatron.write)(&Scenario::new(&run).unwrap());
    let mut book = Book::new(entries, Run::default());
    (megatron.read)(&mut book);
    assert_eq!(book.run.model.resolve(), run.model.resolve());
    assert_eq!(book.run.moe_dispatch, run.moe_dispatch);
    // It has no word for the precision of the dispatch alone.
    let lost = not_said(megatron, &Scenario::new(&run).unwrap());
    let lost: Vec<&str> = lost.into_iter().map(|(key, _)| key).collect();
    assert_eq!(lost, ["fp8_dispatch"]);
}

/// What an engineer of the program would stumble over: numbers that passes compute in, required switches, stages.
#[test]
fn settings_start_what_was_meant() {
    let text = |id: &str, json: &str| {
        export(&run(json), id, &STAMP).unwrap_or_else(|issues| panic!("{issues:?}"))
    };
    // fp32 shards and fp8 linears train in bf16 around them; fp32 alone says nothing.
    let shards = r#"{"gpus":256,"tp":1,"pp":1,"zero":3,"hsdp_shard":32,"precision":"fsdp-mixed"}"#;
    let fp8 = r#"{"tp":4,"pp":2,"precision":"te-fp8"}"#;
    for json in [shards, fp8] {
        assert!(text("megatron", json).contains("--bf16 "), "{json}");
        let deepspeed: Value = serde_json::from_str(&text("deepspeed", json)).unwrap();
        assert_eq!(
            deepspeed.get("bf16").and_then(|bf16| bf16.get("enabled")),
            Some(&Value::Bool(true))
        );
    }
    assert!(!text("megatron", r#"{"precision":"fp32"}"#).contains("--bf16"));
    assert!(
        text("megatron", shards).contains("precision = fsdp-mixed"),
        "said to be lost"
    );
    assert!(text("torchtitan", fp8).contains("--model.converters quantize.linear.float8"));
    // Megatron-LM's own checks, and what its experts do unless they are told.
    assert!(text("megatron", "{}").contains("export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun"));
    assert!(
        !text("megatron", shards).contains("CUDA_DEVICE_MAX_CONNECTIONS"),
        "FSDP refuses it"
    );
    let long = text(
        "megatron",
        r#"{"model":"gpt-3-175b","gpus":1024,"tp":8,"pp":16}"#,
    );
    assert!(
        long.contains("--max-position-embeddings 8192"),
        "as long as the sequence"
    );
    let experts = text("megatron", r#"{"model":"mixtral-8x7b","gpus":64,"ep":8}"#);
    assert!(
        experts.contains("--moe-token-dispatcher-type alltoall")
            && experts.contains("--moe-grouped-gemm")
    );
    // Five stages a rank of 80 layers: torchtitan counts 20 stages only where its ends count for nothing.
    let looped = text(
        "torchtitan",
        r#"{"model":"llama-3.1-70b","gpus":256,"tp":8,"pp":4,"schedule":"interleaved-1f1b","virtual_stages":5}"#,
    );
    assert!(
        looped.contains("layers_per_stage 4")
            && looped.contains("first_stage_less_layers 0")
            && looped.contains("last_stage_less_layers 0"),
        "{looped}"
    );
    // Nothing that the program refuses, nothing that was never set.
    let latent = text(
        "nanotron",
        r#"{"model":"deepseek-v3","gpus":2048,"tp":1,"pp":16,"ep":64,"global_batch":15360}"#,
    );
    assert!(
        !latent.contains("head_dim") && latent.contains("ep = 64"),
        "{latent}"
    );
    for id in ["megatron", "torchtitan", "deepspeed", "nanotron"] {
        let said = text(
            id,
            r#"{"model":"llama-3.1-70b","gpus":128,"tp":4,"pp":2,"recompute":{"layers":3}}"#,
        );
        assert!(
            !said.contains("stage_layers") && !said.contains("unset"),
            "{said}"
        );
    }
}

/// Megatron-LM's arguments have a word for every shape of these models.
#[test]
fn megatron_says_every_model_that_is_no_vision_model() {
    let megatron = DIALECTS
        .iter()
        .find(|dialect| dialect.id == "megatron")
        .unwrap();
    for run in presets() {
        let lost = not_said(megatron, &Scenario::new(&run).unwrap());
        assert!(
            lost.iter().all(|(key, _)| key.starts_with("gpu")),
            "{lost:?}"
        );
    }
}

/// A Run that makes sense, with settings at random.
fn sensible() -> impl Strategy<Value = Run> {
    let sizes = (
        0usize..MODELS.len(),
        0u32..4,
        0u32..4,
        0u32..2,
        0u32..4,
        1u64..5,
        1u64..5,
    );
    let choices = (
        0u64..4,
        0usize..Schedule::ALL.len(),
        0usize..10,
        0usize..7,
        0usize..4,
        any::<[bool; 6]>(),
        1u64..4,
    );
    (sizes, choices).prop_map(|((model, tp, pp, cp, dp, micro, count), (zero, schedule, precision, optimizer, loss, yes, chunks))| {
        let precisions = ["bf16-fp32-grads", "bf16", "fp16", "fp32", "playbook-20", "fsdp-mixed", "te-fp8", "fp8-lm", "deepseek-fp8", "nanotron-fp8"];
        let optimizers = ["adam", "sgd", "sgd-momentum", "adafactor", "adam-8bit", "lion", "muon"];
        let losses = ["megatron", "megatron-fused", "te-fused", "chunked"];
        let (tp, pp, cp, dp) = (1u64 << tp, 1u64 << pp, 1u64 << cp, 1u64 << dp);
        let recompute = [r#""none""#, r#""full""#, r#""selective""#, r#"{"layers":3}"#, r#"{"modules":["norm","mlp"]}"#, r#"{"modules":["core_attn"]}"#];
        let ids: Vec<&str> = Schedule::ALL.iter().map(|(_, choice)| choice.id).collect();
        let text = format!(
            r#"{{"model":"{}","gpus":{},"tp":{tp},"pp":{pp},"cp":{cp},"seq_len":2048,"micro_batch":{micro},"global_batch":{},
            "zero":{zero},"schedule":"{}","virtual_stages":{chunks},"precision":"{}","optimizer":"{}","cross_entropy":"{}",
            "sequence_parallel":{},"flash_attention":{},"fused_swiglu":{},"cuda_graphs":{},"recompute":{},"cp_comm":"{}",
            "overlap":{{"dp":{}}}}}"#,
            MODELS[model].choice.id, tp * pp * cp * dp, dp * micro * count, ids[schedule], precisions[precision],
            optimizers[optimizer], losses[loss], yes[0], yes[1], yes[2], yes[3], recompute[precision % 6],
            ["ring", "all-gather", "ulysses"][loss % 3], if yes[4] { "0" } else { "0.8" },
        );
        run(&text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_at_random_comes_back(run in sensible()) {
        // What cannot work is not exported; custom orders need one.
        if let Ok(report) = shardscope::report::report(&run) {
            prop_assert!(report.errors.is_empty());
            comes_back(&run);
            settings_say_what_they_can(&run);
        } else {
            for format in FORMATS {
                prop_assert!(export(&run, format.id, &STAMP).is_err());
            }
        }
    }

    #[test]
    fn no_text_breaks_the_importer(text in "\\PC{0,300}") {
        let _ = read(&text, &Run::default());
    }

    #[test]
    fn no_mangled_settings_break_the_importer(
        which in 0usize..4, cut in 0usize..2000, noise in "[-a-z0-9:=\\[\\]{}\"'$ \n]{0,40}"
    ) {
        let text = export(&Run::default(), DIALECTS[which].id, &STAMP).unwrap();
        let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let _ = read(&format!("{}{noise}{}", &text[..at], &text[at..]), &Run::default());
    }
}

/// What a file may not make the page do: run out of memory, or compute with what no program means. Each is refused, with
/// a reason, or taken as far as it makes sense.
#[test]
fn numbers_that_no_program_means_are_refused_or_left_out() {
    let most = "9007199254740992";
    let latent = "--num-layers 61 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096";
    for text in [
        format!(
            "pretrain_gpt.py {latent} --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank {most}"
        ),
        format!(
            "pretrain_gpt.py {latent} --pipeline-model-parallel-size {most} --decoder-first-pipeline-num-layers {most}"
        ),
        format!(
            "pretrain_gpt.py {latent} --num-experts 8 --moe-layer-freq ([{}0]*100000)",
            "0,".repeat(1000)
        ),
        format!("pretrain_gpt.py {latent} --nnodes {most} --nproc-per-node {most}"),
        format!(
            "{{\"train_micro_batch_size_per_gpu\":{most},\"gradient_accumulation_steps\":{most},\"zero_optimization\":{{\"stage\":1}}}}"
        ),
        format!(
            "{{\"train_batch_size\":{most},\"sequence_parallel_size\":{most},\"tensor_parallel\":{{\"autotp_size\":{most}}},\"pipeline\":{{\"stages\":{most}}},\"zero_optimization\":{{\"stage\":1}}}}"
        ),
        format!(
            "[parallelism]\ncontext_parallel_degree = 4096\ndata_parallel_shard_degree = {most}\n[training]\nlocal_batch_size = {most}\nseq_len = 8192\n"
        ),
        "[training]\nlocal_batch_size = nan\nseq_len = inf\n".to_owned(),
    ] {
        match read(&text, &Run::default()) {
            Ok(taken) => {
                let again = Run::from_value(&taken.run.to_value());
                assert_eq!(again.as_ref(), Ok(&taken.run), "{text}");
            }
            Err(issues) => assert!(issues.iter().all(|issue| !issue.message.is_empty())),
        }
    }
}
