//! Exports come back: every form, every preset, Runs at random; and what other programs write.
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use shardscope::core::report::report;
use shardscope::core::run::presets::{GPUS, MODELS, PUBLISHED, PublishedRun};
use shardscope::core::run::registry::{FIELDS, field};
use shardscope::core::run::{OneOf, Run, Scenario, Schedule, Value};
use shardscope::io::dialect::rows::reader::SettingsReader;
use shardscope::io::dialect::{DIALECTS, dialect, entries, not_said};
use shardscope::io::export::{FORMATS, Stamp, export};
use shardscope::io::import::read;
use shardscope::io::link;
use std::cell::Cell;

const STAMP: Stamp = Stamp { date: "2026-11-21", address: "https://example.org/x/" };

/// A Run in words, understood.
fn run(json: &str) -> Run {
    Run::from_value(&serde_json::from_str::<Value>(json).unwrap()).unwrap()
}

/// Every model preset on one GPU type after the other, in a layout that works for it.
fn presets() -> impl Iterator<Item = Run> {
    MODELS.iter().zip(GPUS.iter().cycle()).map(|(model, gpu)| {
        let (pp, experts) =
            (if model.architecture.layers.is_multiple_of(4) { 4 } else { 1 }, model.architecture.moe.is_some());
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
    // Tables and orders hold no run.
    for format in FORMATS.iter().filter(|format| !["csv", "order", "order-table"].contains(&format.id)) {
        let text = match export(run, format.id, &STAMP) {
            Ok(text) => text,
            // Settings that would launch another model are no file.
            Err(issues) if issues.iter().all(|issue| issue.field == "model") => continue,
            Err(issues) => panic!("{issues:?}"),
        };
        // Whatever the page shows at the time.
        let present = Run { tp: 1, pp: 1, gpus: 8, ..Run::default() };
        let back = read(&text, &present).unwrap_or_else(|issues| panic!("{issues:?}: {text}"));
        assert_eq!(&back.run, run, "{}: {text}", format.id);
    }
}

/// Settings that no launcher has: the hardware, and how the calculator counts.
const NOBODYS: &[&str] = &[
    "gpu",
    "gpu.*",
    "gpus_per_node",
    "overlap.*",
    "schedule_options.*",
    "memory_method",
    "attention_flops",
    "moe_imbalance",
    "moe_sigma",
    "moe_balance",
    "fp8_activations",
    "fp8_dispatch",
    "stack",
    "stack.*",
    "dummy_wgrad",
    "measured_step_s",
    "loader_ns",
    "price_per_gpu_hour",
    "microbatch_lengths",
];

/// The fields that a program's settings have no word for, or not for every value; for some of those, the values that
/// they do have one for. From the documentation of each, as in `data/launch/*_arguments.txt`.
struct Words {
    dialect: &'static str,
    /// Besides [`MEGATRONS`]; `model.*` is every part of the model.
    may_lose: &'static [&'static str],
    keeps: &'static [Kept],
}

/// Settings that Megatron-LM alone has words for: kernels, stages, and models other than the program's own.
const MEGATRONS: &[&str] = &[
    "moe_dispatch",
    "model", // flavors; Llama and Qwen; the program's
    "model.*",
    "etp",
    "cp_comm",
    "hsdp_shard", // MiCS, ZeRO-3 only
    "zero2_reduce",
    "schedule",
    "virtual_stages",
    "stage_layers",
    "precision",
    "precision.*",
    "optimizer",
    "recompute",
    "recompute.*",
    "cross_entropy",
    "flash_attention",
    "fused_swiglu",
    "fp8_swiglu",
    "cuda_graphs",
    "graph_scope",
    "ep_overlap",
    "delay_wgrad",
    "capacity_factor",
];

/// Settings of pre-training besides that no program of fine-tuning has.
const PRETRAINING: &[&str] = &[
    "gpus", // the launcher's
    "tp",
    "pp",
    "cp",
    "ep",
    "sequence_parallel",
    "zero",
    "global_batch", // what the launcher's ranks make of the micro-batch
    "seq_len",
    "micro_batch",
    "tokens_total",
    "rank_order",
];

/// A setting, and the values that a program has a word for.
type Kept = (&'static str, &'static [&'static str]);

const LENGTHS: Kept = ("seq_len", &["1024", "2048", "4096", "8192"]);
const MICRO_BATCHES: Kept = ("micro_batch", &["1", "2", "3", "4"]);
const RECOMPUTED: Kept = ("recompute", &["none", "full"]);
const TP: Kept = ("tp", &["1", "2", "4", "8"]);
const CP: Kept = ("cp", &["1", "2", "4", "8"]);
const OPTIMIZERS: Kept = ("optimizer", &["adam", "sgd", "adafactor", "adam-8bit", "lion", "muon"]);

/// Their words; `tests/io/tuning.rs` holds them to runs of fine-tuning.
const fn tuned(dialect: &'static str, keeps: &'static [Kept]) -> Words {
    Words { dialect, may_lose: PRETRAINING, keeps }
}

const WORDS: [Words; 11] = [
    tuned("axolotl", &[OPTIMIZERS, RECOMPUTED, ("flash_attention", &["false"]), TP, CP, LENGTHS, MICRO_BATCHES]),
    tuned("llama-factory", &[OPTIMIZERS, RECOMPUTED, LENGTHS, MICRO_BATCHES]),
    tuned(
        "trl",
        &[("optimizer", &["adam", "sgd", "adafactor", "adam-8bit", "lion"]), RECOMPUTED, LENGTHS, MICRO_BATCHES],
    ),
    tuned("accelerate", &[TP, CP, ("zero", &["0", "1", "2", "3"]), ("gpus", &["1", "8", "64", "512"])]),
    tuned("torchtune", &[("optimizer", &["adam", "sgd"]), TP, RECOMPUTED, LENGTHS]),
    tuned(
        "llm-foundry",
        &[
            ("optimizer", &["adam", "sgd", "lion"]),
            RECOMPUTED,
            ("zero", &["0", "2", "3"]),
            LENGTHS,
            MICRO_BATCHES,
            ("global_batch", &["64", "256", "1024"]),
        ],
    ),
    tuned("peft", &[]),
    Words {
        dialect: "megatron",
        may_lose: &[
            "zero2_reduce",
            "model", // vision towers
            "model.*",
            "ep_overlap", // of schedules that it has not
            "schedule",
            "virtual_stages",
            "stage_layers",
            "precision",
            "precision.*",
            "optimizer",
            "cross_entropy",
        ],
        keeps: &[
            // Fused without virtual stages is refused: `transformer_config.py`, `overlap_moe_expert_parallel_comm`.
            ("schedule", &["1f1b", "interleaved-1f1b", "interleaved-overlap"]),
            ("precision", &["bf16-fp32-grads", "bf16", "fp16", "fp32", "fp8-delayed", "fp8-current", "fp8-blockwise"]),
            ("optimizer", &["adam", "sgd", "sgd-momentum", "muon"]),
            ("cross_entropy", &["megatron", "megatron-fused", "te-fused"]),
        ],
    },
    Words {
        dialect: "torchtitan",
        may_lose: &["sequence_parallel", "zero", "stack.grad_reduce_bytes"], // with tensor parallelism always; FSDP
        keeps: &[
            ("schedule", &["1f1b", "gpipe", "interleaved-1f1b", "looped-bfs", "zb-v", "dualpipev"]),
            ("zero", &["2", "3"]),
            ("recompute", &["none", "op-selective", "full"]),
            ("precision", &["fsdp-mixed", "fp32"]),
            ("optimizer", &["adam"]),
        ],
    },
    Words {
        dialect: "deepspeed",
        may_lose: &["seq_len", "ep", "sequence_parallel", "tokens_total"],
        keeps: &[
            ("cp_comm", &["ulysses"]),
            ("precision", &["bf16", "bf16-fp32-grads", "fp16", "fp32"]),
            ("optimizer", &["adam", "lion", "muon", "sgd"]),
            RECOMPUTED,
        ],
    },
    Words {
        dialect: "nanotron",
        may_lose: &["ep", "zero"],
        keeps: &[
            ("schedule", &["1f1b", "gpipe"]),
            ("zero", &["0", "1"]),
            ("precision", &["bf16", "fp16", "fp32", "playbook-20"]),
            ("optimizer", &["adam", "sgd"]),
            RECOMPUTED,
        ],
    },
];

impl Words {
    /// True where `key` may come back otherwise because `run` has `value`.
    fn may_lose(&self, run: &Run, key: &str, value: &str) -> bool {
        let named = |list: &[&str]| {
            let begins = |entry: &&str| {
                let group = entry.strip_suffix('*');
                group.map_or(*entry == key, |group| key.starts_with(group))
            };
            list.iter().any(begins)
        };
        let kept = self.keeps.iter().any(|(kept, values)| *kept == key && values.contains(&value));
        // DeepSpeed has a word for recomputation in a pipeline.
        let program = self.dialect == "deepspeed" && key == "recompute" && run.pp == 1;
        // Its pipeline engine takes stages 0 and 1 alone, and what shards as stage 3 does with them.
        let zero = ["zero", "hsdp_shard", "zero_hpz", "zero_qwz", "zero_qgz"].contains(&key);
        let program = program || self.dialect == "deepspeed" && zero && run.pp > 1 && run.zero > 1;
        // Interleaving with one stage a rank is 1F1B, and is said so.
        let plain = key == "schedule" && value.starts_with("interleaved") && run.virtual_stages == 1;
        let lost = named(self.may_lose) || (self.dialect != "megatron" && named(MEGATRONS));
        (lost && !kept) || named(NOBODYS) || plain || program
    }
}

/// True where a setting has an effect in `run`: one without need not be written.
fn counts(run: &Run, key: &str) -> bool {
    let experts = run.model.resolve().is_ok_and(|model| model.moe.is_some());
    match key {
        "sequence_parallel" => run.tp > 1,
        "cp_comm" => run.cp > 1,
        "ep" | "etp" | "capacity_factor" => experts,
        "schedule" => run.pp > 1,
        "virtual_stages" => run.schedule.fixed_chunks(&run.schedule_options).is_none(),
        _ => true,
    }
}

/// The settings alone, without the link: they parse, say the same again, and every field comes back but those that the
/// program has no word for; what is listed as lost is among these.
fn settings_say_what_they_can(run: &Run) {
    let scenario = Scenario::new(run).unwrap();
    for words in &WORDS {
        let dialect = dialect(words.dialect).unwrap();
        let written = dialect.written(&scenario);
        let text = (dialect.print)(&written, &[]);
        assert_eq!(entries(dialect, &text).unwrap(), written, "{text}");
        let mut reader = SettingsReader::new(written, Run::default());
        (dialect.read)(&mut reader);
        assert_eq!(reader.errors, [], "{text}");
        let unread = reader.left();
        // Megatron-LM's default of the second is 0.1, whose memory is not modelled.
        let known = |name: &&String| name.ends_with("_config") || *name == "--attention-dropout";
        let unread: Vec<_> = unread.iter().filter(|name| !known(name)).collect();
        assert!(unread.is_empty(), "{unread:?}: {text}");
        let may_lose = |key: &str| {
            let value = field(key).unwrap().text(run).unwrap_or_default();
            words.may_lose(run, key, &value)
        };
        let (back, meant) = (reader.run.resolved(), run.resolved());
        for field in FIELDS.iter().filter(|field| counts(run, field.key)) {
            let mut same = field.get(&back) == field.get(&meant);
            if let (Some(a), Some(b)) = (back.tokens_total, meant.tokens_total)
                && field.key == "tokens_total"
            {
                // Said in whole steps.
                same = (a - b).abs() < (run.global_batch * run.seq_len) as f64;
            }
            assert!(
                same || may_lose(field.key),
                "{} loses {} = {:?}, read back as {:?}: {text}\n{}",
                dialect.name,
                field.key,
                field.get(&meant),
                field.get(&back),
                shardscope::io::link::encode(run)
            );
        }
        for (key, value) in not_said(dialect, &scenario) {
            assert!(may_lose(key) || !counts(run, key), "{} lists {key} = {value}: {text}", dialect.name);
        }
    }
}

/// The runs that the page offers as published: each from every form, and each settings file says what it can.
#[test]
fn every_published_run_comes_back_from_every_form() {
    assert!(PUBLISHED.len() >= 13);
    for published in PUBLISHED {
        comes_back(&published.run());
        settings_say_what_they_can(&published.run());
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
    let megatron = DIALECTS.iter().find(|dialect| dialect.id == "megatron").unwrap();
    let run = run(r#"{"model":{"base":"mixtral-8x7b","moe":{"groups":4,"top_groups":2}},"tp":1,"ep":8,
            "moe_dispatch":"hybridep","fp8_dispatch":true,"rank_order":"tp-cp-ep-pp-dp","cp":8}"#);
    comes_back(&run);
    let entries = megatron.written(&Scenario::new(&run).unwrap());
    let mut reader = SettingsReader::new(entries, Run::default());
    (megatron.read)(&mut reader);
    assert_eq!(reader.run.model.resolve(), run.model.resolve());
    assert_eq!(reader.run.moe_dispatch, run.moe_dispatch);
    assert_eq!(reader.run.rank_order, run.rank_order);
    assert_eq!(reader.run.fp8_dispatch, run.fp8_dispatch);
    assert_eq!(not_said(megatron, &Scenario::new(&run).unwrap()), []);
}

/// Each argument of a script of Megatron-LM stands once, for experts by each dispatch too.
#[test]
fn each_argument_of_a_script_stands_once() {
    let dispatched = ["all-to-all", "per-node", "hybridep"].map(|dispatch| {
        run(&format!(
            r#"{{"model":"deepseek-v3","gpus":256,"tp":1,"pp":8,"ep":32,"stack":"megatron-2025",
                "moe_dispatch":"{dispatch}"}}"#
        ))
    });
    for run in presets().chain(dispatched).chain(PUBLISHED.iter().map(PublishedRun::run)) {
        let text = match export(&run, "megatron", &STAMP) {
            Ok(text) => text,
            Err(issues) if issues[0].field == "model" => continue,
            Err(issues) => panic!("{issues:?}"),
        };
        let lines = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let mut names: Vec<&str> = lines.filter(|word| word.starts_with("--")).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert!(twice.is_empty(), "{twice:?}\n{text}");
    }
}

/// Faults that an engineer of the program would meet: numbers that passes compute in, required switches, stages.
#[test]
fn settings_start_what_was_meant() {
    let text = |id: &str, json: &str| export(&run(json), id, &STAMP).unwrap_or_else(|issues| panic!("{issues:?}"));
    // fp32 shards and fp8 linears train in bf16 around them; fp32 alone says nothing.
    let shards = r#"{"gpus":256,"tp":1,"pp":1,"zero":3,"hsdp_shard":32,"precision":"fsdp-mixed"}"#;
    let fp8 = r#"{"tp":4,"pp":2,"precision":"te-fp8"}"#;
    for json in [shards, fp8] {
        assert!(text("megatron", json).contains("--bf16 "), "{json}");
        let deepspeed: Value = serde_json::from_str(&text("deepspeed", json)).unwrap();
        assert_eq!(deepspeed.get("bf16").and_then(|bf16| bf16.get("enabled")), Some(&Value::Bool(true)));
    }
    assert!(!text("megatron", r#"{"precision":"fp32"}"#).contains("--bf16"));
    assert!(text("megatron", shards).contains(": FSDP mixed"), "said to be lost");
    assert!(text("torchtitan", fp8).contains("Float8LinearConverter.Config("));
    // Megatron-LM's own checks, and what its experts do unless they are told.
    assert!(text("megatron", "{}").contains("export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun"));
    assert!(!text("megatron", shards).contains("CUDA_DEVICE_MAX_CONNECTIONS"), "FSDP refuses it");
    assert!(text("megatron", shards).contains("--ckpt-format fsdp_dtensor"), "FSDP refuses other formats");
    let long = text("megatron", r#"{"model":"gpt-3-175b","gpus":1024,"tp":8,"pp":16}"#);
    assert!(long.contains("--max-position-embeddings 8192"), "as long as the sequence");
    let experts = text("megatron", r#"{"model":"mixtral-8x7b","gpus":64,"ep":8}"#);
    assert!(experts.contains("--moe-token-dispatcher-type alltoall") && experts.contains("--moe-grouped-gemm"));
    // Five stages a rank of 80 layers: torchtitan counts 20 stages only where its ends count for nothing.
    let looped = text(
        "torchtitan",
        r#"{"model":"llama-3.1-70b","gpus":256,"tp":8,"pp":4,"schedule":"interleaved-1f1b","virtual_stages":5}"#,
    );
    assert!(
        looped.contains("layers_per_stage = 4")
            && looped.contains("first_stage_less_layers = 0")
            && looped.contains("last_stage_less_layers = 0"),
        "{looped}"
    );
    // One stage a rank of an order in a file: `PipelineScheduleMulti` would make two (`pipeline_llm`).
    let optimal = r#"{"model":"llama-3.1-70b","gpus":256,"tp":8,"pp":4,"stack":"torchtitan","schedule":"optimal"}"#;
    let ordered = text("torchtitan", optimal);
    assert!(
        ordered.contains("\"PipelineScheduleSingle\"") && ordered.contains("\"shardscope.order.csv\""),
        "{ordered}"
    );
    assert_eq!(read(&ordered, &Run::default()).unwrap().run.schedule, Schedule::Optimal);
    // Nothing that the program refuses, nothing that was never set.
    for id in ["megatron", "torchtitan", "deepspeed", "nanotron"] {
        let said = text(id, r#"{"model":"llama-3.1-70b","gpus":128,"tp":4,"pp":2,"recompute":{"layers":3}}"#);
        assert!(!said.contains("stage_layers") && !said.contains("unset"), "{said}");
    }
}

/// Models with what Megatron-LM has no arguments for: a norm over all heads, chunks of attention, a second shape of
/// heads, a dense FFN beside experts, Kimi's and DeepSeek-V4's own attention.
const NO_ARGUMENTS: [&str; 9] = [
    "minimax-m2",
    "olmo-3-32b",
    "llama-4-scout",
    "llama-4-maverick",
    "gemma-4-31b",
    "gemma-4-26b-a4b",
    "mimo-v2-flash",
    "kimi-k3",
    "deepseek-v4-flash",
];

/// Megatron-LM's arguments have a word for every shape of the other models, post-norms of Gemma 3 aside.
#[test]
fn megatron_says_every_model_that_is_no_vision_model() {
    let megatron = DIALECTS.iter().find(|dialect| dialect.id == "megatron").unwrap();
    for run in presets() {
        let lost = not_said(megatron, &Scenario::new(&run).unwrap());
        assert!(
            lost.iter().all(|(key, value)| key.starts_with("gpu")
                || NO_ARGUMENTS.contains(&&**value)
                || value == "gemma-3-27b"),
            "{lost:?}"
        );
    }
}

/// A Run that makes sense, with settings at random.
fn sensible() -> impl Strategy<Value = Run> {
    let sizes = (0usize..MODELS.len(), 0u32..4, 0u32..4, 0u32..2, 0u32..4, 1u64..5, 1u64..5);
    let choices = (0u64..4, 0usize..Schedule::ALL.len(), 0usize..13, 0usize..7, 0usize..4, any::<[bool; 6]>(), 1u64..4);
    (sizes, choices).prop_map(|((model, tp, pp, cp, dp, micro, count), (zero, schedule, precision, optimizer, loss, yes, chunks))| {
        let precisions = ["bf16-fp32-grads", "bf16", "fp16", "fp32", "playbook-20", "fsdp-mixed", "te-fp8", "fp8-lm", "deepseek-fp8", "nanotron-fp8", "fp8-delayed", "fp8-current", "fp8-blockwise"];
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

#[test]
fn a_run_at_random_comes_back() {
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let (accepted, tried) = (Cell::new(0), Cell::new(0));
    let made = TestRunner::new(config).run(&sensible(), |run| {
        tried.set(tried.get() + 1);
        // A run that cannot work is not exported; custom orders need one.
        if let Ok(report) = shardscope::core::report::report(&run) {
            accepted.set(accepted.get() + 1);
            prop_assert!(report.errors.is_empty());
            comes_back(&run);
            settings_say_what_they_can(&run);
        } else {
            for format in FORMATS {
                prop_assert!(export(&run, format.id, &STAMP).is_err());
            }
        }
        Ok(())
    });
    if let Err(error) = made {
        panic!("{error}");
    }
    println!("exchange: {} of {} runs at random make sense", accepted.get(), tried.get());
    assert!(accepted.get() * 10 >= tried.get(), "{} of {}", accepted.get(), tried.get());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_the_importer(text in "\\PC{0,300}") {
        let _ = read(&text, &Run::default());
    }

    #[test]
    fn no_mangled_settings_break_the_importer(
        which in 0usize..DIALECTS.len(), cut in 0usize..2000, noise in "[-a-z0-9:=\\[\\]{}\"'$ \n]{0,40}"
    ) {
        let text = export(&Run::default(), DIALECTS[which].id, &STAMP).unwrap();
        let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let _ = read(&format!("{}{noise}{}", &text[..at], &text[at..]), &Run::default());
    }
}

/// No file makes the page run out of memory, or compute with what no program means. Each is refused, with a reason, or
/// taken as far as it makes sense.
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
        format!("pretrain_gpt.py {latent} --num-experts 8 --moe-layer-freq ([{}0]*100000)", "0,".repeat(1000)),
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

/// The page, links and reports call an imported model by its kind and size, and a name that a person gives stays.
#[test]
fn an_imported_model_keeps_a_name() {
    let config = r#"{"model_type":"qwen2","hidden_size":5120,"intermediate_size":27648,"num_attention_heads":40,
        "num_hidden_layers":64,"num_key_value_heads":8,"vocab_size":152064,"tie_word_embeddings":false}"#;
    let mut run = read(config, &Run::default()).unwrap().run;
    // Qwen's card of the 32B: 32.5 B parameters; biases of the linears are not said by this excerpt.
    let named = run.model.title().to_string();
    assert!(named.starts_with("qwen2 · 32.") && named.ends_with(" B"), "{named}");
    assert_eq!(link::decode(&link::encode(&run)).run.model.title().to_string(), named);
    run.model.parts.name = Some("our 32B".to_owned());
    assert_eq!(run.model.title().to_string(), "our 32B");
    run.model.parts.name = Some("x".repeat(41));
    let errors = report(&run).unwrap_err();
    assert!(errors.errors.iter().any(|error| error.field == "model.name"));
}

/// Megatron-LM's layout of DeepSeek-V3 (`pipeline_parallel_layout.md`): modules of multi-token prediction on the stage
/// before the loss; and layers at both ends in bf16. Both come back from the flags that are written.
#[test]
fn megatron_says_where_multi_token_prediction_stands_and_which_layers_stay_in_bf16() {
    let args = "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --seq-length 4096 \
        --micro-batch-size 1 --global-batch-size 1024 --pipeline-model-parallel-size 16 --mtp-num-layers 1 --bf16 \
        --pipeline-model-parallel-layout 'Et*3|(tt|)*29,m|L' --fp8-format e4m3 --fp8-recipe mxfp8 \
        --first-last-layers-bf16 --num-layers-at-end-in-bf16 3 --vocab-size 129280 --swiglu";
    let present = run(r#"{"gpu":"b200-sxm","gpus":512}"#);
    let first = read(args, &present).unwrap().run;
    let means = |run: &Run| {
        let parts = &run.precision.parts;
        let stages = run.stage_layers.clone();
        assert_eq!((run.virtual_stages, run.mtp_stage), (2, Some(30)));
        assert_eq!(stages, Some([vec![3], vec![2; 29], vec![0; 2]].concat()));
        assert_eq!((parts.bf16_first, parts.bf16_last), (Some(1), Some(3)));
    };
    means(&first);
    let text = export(&first, "megatron", &STAMP).unwrap_or_else(|issues| panic!("{issues:?}"));
    means(&read(&text, &present).unwrap().run);
}
