//! Launch scripts and settings as their programs' own examples have them, read into the Run that they mean; and the
//! names that the exports use, held to those that the programs know.

use shardscope::core::run::presets::{MODELS, PUBLISHED, PublishedRun, TUNED};
use shardscope::core::run::registry::field;
use shardscope::core::run::{Based, OneOf, Optimizer, Recompute, Run, Scenario, Schedule, Value};
use shardscope::io::dialect::{DIALECTS, Dialect, dialect, entries};
use shardscope::io::export::{Stamp, export};
use shardscope::io::import::{Meaning, read};
use std::collections::BTreeSet;
use std::fs;

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/launch/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// Reads a file into a Run of `gpus` GPUs, whose program says nothing of them.
fn import(name: &str, gpus: u64) -> Meaning {
    let present = Run { gpus, ..Run::default() };
    let read = read(&data(name), &present);
    read.unwrap_or_else(|issues| panic!("{name}: {issues:?}"))
}

/// The file means `settings`: `key=value` with blanks between.
fn means(name: &str, gpus: u64, settings: &str) {
    let run = import(name, gpus).run.resolved();
    let wrong: Vec<String> = settings
        .split_whitespace()
        .filter_map(|setting| {
            let (key, value) = setting.split_once('=').unwrap();
            let field = field(key).unwrap_or_else(|| panic!("{key}"));
            let said = field.text(&run).unwrap_or_default();
            (said != value).then(|| format!("{setting}, read as {said}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?}");
}

#[test]
fn scripts_of_megatron_lm_mean_what_its_examples_run() {
    // No --normalization: LayerNorm. 1 953 125 000 samples are 15 258 789 steps of 128.
    means(
        "megatron_llama3_8b_fp8.sh",
        64,
        "gpus=8 tp=1 pp=1 cp=1 ep=1 micro_batch=1 global_batch=128 seq_len=8192 zero=1 precision=fp8-delayed precision.param_gather=true \
         model.layers=32 model.hidden=4096 model.ffn=14336 model.heads=32 model.kv_heads=8 model.vocab=128256 \
         model.norm=layernorm model.biases=none model.tied_embeddings=false model.dropout=false model.gated_ffn=true \
         model.learned_positions=0 cross_entropy=megatron-fused flash_attention=true optimizer=adam schedule=1f1b \
         recompute=none overlap.dp=0.8 tokens_total=15999999934464",
    );
    // An FFN of four times the hidden size, learned positions, dropout 0.1: what is not said.
    means(
        "megatron_gpt3_175b.sh",
        64,
        "gpus=8 tp=8 pp=16 micro_batch=1 global_batch=1536 seq_len=2048 zero=0 precision=fp16 model.layers=96 \
         model.hidden=12288 model.ffn=49152 model.heads=96 model.kv_heads=96 model.biases=all model.dropout=true \
         model.gated_ffn=false model.learned_positions=2048 model.tied_embeddings=true sequence_parallel=false \
         overlap.dp=0 flash_attention=true tokens_total=1572864000000",
    );
    means(
        "megatron_mixtral.sh",
        64,
        "gpus=2 tp=1 pp=1 ep=2 etp=1 micro_batch=1 global_batch=4 seq_len=256 zero=1 precision=fp32 model.layers=2 \
         model.hidden=256 model.heads=2 model.kv_heads=2 model.moe.experts=2 model.moe.top_k=2 model.moe.expert_ffn=896 \
         model.moe.shared_experts=0 model.norm=rmsnorm model.biases=none overlap.dp=0.8 tokens_total=7168",
    );
}

#[test]
fn settings_of_torchtitan_mean_what_its_examples_run() {
    // Its converter computes in fp8.
    means(
        "torchtitan_llama3_405b.toml",
        128,
        "model=llama-3.1-405b gpus=128 tp=8 pp=1 cp=1 micro_batch=2 global_batch=32 seq_len=8192 zero=3 recompute=full \
         precision=te-fp8 optimizer=adam sequence_parallel=true tokens_total=786432000",
    );
    // Every second of the 80 layers is recomputed where nothing is said.
    means(
        "torchtitan_multinode.sh",
        64,
        "model=llama-3.1-70b gpus=32 tp=8 pp=1 micro_batch=8 global_batch=32 zero=3 recompute.layers=40",
    );
}

/// Its second line: "a preset for 128 H100 GPUs"; the launcher of the file is not here.
#[test]
fn the_gpus_of_a_preset_are_those_that_its_comment_says() {
    means("torchtitan_llama3_405b.toml", 64, "gpus=128 global_batch=32 gpu=h100-sxm-80gb");
    let read = import("torchtitan_llama3_405b.toml", 64);
    let says = |said: &shardscope::core::message::Message| said.to_string().contains("a preset for 128 H100 GPUs");
    assert!(read.assumed.iter().any(says), "{:?}", read.assumed);
}

/// Megatron-LM's example of GPT-3 175B has TP 8 and PP 16 in a script of one node: 128 GPUs are what its layout needs.
#[test]
fn a_layout_on_too_few_gpus_is_offered_the_gpus_that_it_needs() {
    let run = import("megatron_gpt3_175b.sh", 64).run;
    let issues = shardscope::core::run::Scenario::new(&run).unwrap_err();
    let first = issues.iter().find(|issue| issue.field == "gpus").and_then(|issue| issue.fix.as_ref()).unwrap();
    assert_eq!(first.set, [("gpus", "128".to_owned())]);
}

/// GPT-2's tokenizer has 50,257 tokens; `--vocab-file` and `--merge-file` are its files where no tokenizer is named
/// (Megatron-LM `pretrain_gpt.py`, `args_defaults`). Sizes of a published model are said to be its.
#[test]
fn what_files_say_of_a_model_without_its_name_is_taken() {
    let files = format!("{} --vocab-file vocab.json --merge-file merges.txt", data("megatron_gpt3_175b.sh").trim_end());
    let tokens = read(&files, &Run::default()).unwrap().run.model.resolve().unwrap().vocab;
    assert_eq!(tokens, 50_257);
    let sizes = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size \
        14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 8192 --swiglu \
        --max-position-embeddings 8192 --position-embedding-type rope --normalization RMSNorm --vocab-size 128256 \
        --disable-bias-linear --untie-embeddings-and-output-weights --hidden-dropout 0 --micro-batch-size 1 \
        --global-batch-size 128 --bf16";
    let read = read(sizes, &Run::default()).unwrap();
    assert_eq!(read.run.model.as_published(), Some("llama-3.1-8b"));
    let says =
        |said: &shardscope::core::message::Message| said.to_string().contains("Llama 3.1 8B: it has the same shape");
    assert!(read.assumed.iter().any(says), "{:?}", read.assumed);
}

/// Megatron-LM d98e8a6 `examples/llama/README.md` names context parallelism 2 as the default of its script and measures
/// it so (13,812 tokens/s on 8 H100 of 80 GB); the script as it is has `CP_SIZE=1`, of which nothing is published.
#[test]
fn the_llama_of_nvidias_readme_fits_with_the_context_parallelism_that_it_names() {
    let run = import("megatron_llama3_8b_fp8.sh", 64).run.with_texts(&[("cp", "2".to_owned())]).unwrap();
    let peak = shardscope::core::report::report(&run).unwrap().memory.peak_bytes.gib();
    assert!(peak < 79.2, "{peak}");
}

/// `configs.py` of August 2026: a step is tokens of a micro-batch times micro-batches times ranks where it is not said.
/// The GPUs are what the degrees multiply to.
#[test]
fn python_of_torchtitan_means_what_it_launches() {
    means(
        "torchtitan_llama3_70b.py",
        128,
        "model=llama-3.1-70b gpus=64 tp=4 pp=2 cp=1 micro_batch=2 global_batch=64 seq_len=8192 zero=2 recompute=full \
         precision=fp8-rowwise optimizer=adam stack=torchtitan schedule=1f1b tokens_total=524288000",
    );
    // Settings that the file lacks are those of the configuration that it begins with: TP 8, 2 x 8192 tokens, compiled,
    // fp8.
    means(
        "torchtitan_derived.py",
        64,
        "model=llama-3.1-405b gpus=512 tp=8 pp=1 cp=2 micro_batch=2 global_batch=64 seq_len=8192 zero=3 recompute=full \
         precision=fp8-rowwise stack=torchtitan stack.tp_overlap=async-tp cross_entropy=chunked tokens_total=52428800",
    );
    let derived = import("torchtitan_derived.py", 64);
    let defaults =
        derived.assumed.iter().filter(|said| said.to_string().contains("llama3_405b where the text is silent"));
    assert!(defaults.count() >= 6, "{:?}", derived.assumed);
    assert!(derived.used.iter().all(|(name, _)| name != "compile.enable"));
    means(
        "torchtitan_module.sh",
        64,
        "model=qwen-3-30b-a3b gpus=8 tp=1 ep=8 micro_batch=2 global_batch=16 seq_len=4096 recompute=full stack=torchtitan-eager",
    );
}

#[test]
fn settings_of_deepspeed_mean_what_its_examples_run() {
    // "auto" is the launcher's: as on the page.
    means(
        "deepspeed_autotp.json",
        64,
        "gpus=64 tp=4 pp=1 cp=1 zero=2 micro_batch=1 global_batch=256 precision=bf16-fp32-grads overlap.dp=0",
    );
    means(
        "deepspeed_autoep.json",
        64,
        "gpus=64 tp=1 pp=1 zero=1 micro_batch=2 global_batch=128 precision=bf16 optimizer=adam",
    );
    // One sequence over two ranks of Ulysses: two GPUs, by the three batch sizes.
    means(
        "deepspeed_autosp.json",
        64,
        "gpus=2 tp=1 pp=1 cp=2 cp_comm=ulysses zero=0 micro_batch=1 global_batch=1 precision=bf16",
    );
}

#[test]
fn settings_of_nanotron_mean_what_its_examples_run() {
    means(
        "nanotron_tiny_llama.yaml",
        64,
        "stack=nanotron gpus=8 tp=2 pp=2 cp=1 ep=1 micro_batch=2 global_batch=4 seq_len=256 zero=0 schedule=1f1b \
         recompute=none sequence_parallel=true precision=playbook-20 model.layers=2 model.hidden=16 model.ffn=64 model.heads=4 \
         model.vocab=256 model.tied_embeddings=true tokens_total=15360",
    );
    // Its Qwen has biases where attention_bias says so.
    means(
        "nanotron_qwen.yaml",
        64,
        "gpus=2 tp=2 pp=1 cp=1 micro_batch=3 global_batch=3 seq_len=8192 model.layers=12 model.hidden=256 \
         model.biases=none model.vocab=49152",
    );
}

/// Every form of TOML that means the same settings is read as they are; what is not used may have any form.
#[test]
fn toml_in_another_form_means_the_same() {
    let present = Run::default();
    let sections = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = 2\n\
        [parallelism]\ntensor_parallel_degree = 2\n";
    let meant = read(sections, &present).unwrap().run;
    for text in [
        "model = { name = 'llama3', flavor = '8B' }\ntraining = { seq_len = 8_192, local_batch_size = 2 }\n\
         parallelism = { tensor_parallel_degree = 2 }",
        "model.name = 'llama3'\nmodel.flavor = '8B'\ntraining.seq_len = 0x2000\ntraining.local_batch_size = 2\n\
         parallelism.tensor_parallel_degree = 2",
        "[ model ]\n\"name\" = \"llama3\"\nflavor = \"\"\"8B\"\"\"\n[ training ]\nseq_len = 8192\nlocal_batch_size = 2\n\
         [parallelism]\ntensor_parallel_degree = 2\n[job]\ndescription = \"\"\"\nrun with --training.seq_len 4096\n\
         [training]\n\"\"\"\nstarted = 2025-01-31T12:00:00Z\n[float8]\nfilter_fqns = [\"output, head\", 'a]b']\n\
         [[experimental.hooks]]\nname = 'a'\n[[experimental.hooks]]\nname = 'b'\n",
    ] {
        let read = read(text, &present).unwrap_or_else(|issues| panic!("{issues:?}: {text}"));
        assert_eq!(read.run, meant, "{text}");
    }
}

/// Every form of YAML that means the same settings is read as they are; what is not used may have any form.
#[test]
fn yaml_in_another_form_means_the_same() {
    let present = Run::default();
    let plain = "parallelism:\n  dp: 4\n  tp: 2\n  pp: 1\n  recompute_layer: true\ntokens:\n  sequence_length: 4096\n  \
        micro_batch_size: 2\nmodel:\n  dtype: bfloat16\n";
    let meant = read(plain, &present).unwrap().run;
    for text in [
        "parallelism: {dp: 4, tp: 2, pp: 1, recompute_layer: yes}\ntokens: {sequence_length: 4_096,\n  \
         micro_batch_size: 2}\nmodel: {dtype: 'bfloat16'}",
        "general: &all\n  project: |\n    any text: here\n    # and this\n  run: >-\n    folded\n    text\n  \
         owner: \"it\\\"s\\tme\"\n  note: text over\n    two lines\nalso: *all\n? [a, b]\n: !!python/tuple [1, 2]\n\
         degrees: &degrees {dp: 4, tp: 1}\nparallelism:\n  <<: *degrees\n  tp: &two 2\n  pp: 1\n  \
         recompute_layer: true\ntokens:\n  sequence_length: 4096\n  micro_batch_size: *two\nmodel:\n  dtype: bfloat16",
    ] {
        let read = read(text, &present).unwrap_or_else(|issues| panic!("{issues:?}: {text}"));
        assert_eq!(read.run, meant, "{text}");
    }
}

const FILES: [(&str, &str); 13] = [
    ("torchtitan", "torchtitan_llama3_70b.py"),
    ("torchtitan", "torchtitan_derived.py"),
    ("torchtitan", "torchtitan_module.sh"),
    ("megatron", "megatron_llama3_8b_fp8.sh"),
    ("megatron", "megatron_gpt3_175b.sh"),
    ("megatron", "megatron_mixtral.sh"),
    ("torchtitan", "torchtitan_llama3_405b.toml"),
    ("torchtitan", "torchtitan_multinode.sh"),
    ("deepspeed", "deepspeed_autotp.json"),
    ("deepspeed", "deepspeed_autoep.json"),
    ("deepspeed", "deepspeed_autosp.json"),
    ("nanotron", "nanotron_tiny_llama.yaml"),
    ("nanotron", "nanotron_qwen.yaml"),
];

/// Every entry is listed as used or as ignored, but for those that say nothing: null, "auto", a variable that is not
/// set.
#[test]
fn every_entry_is_used_or_listed_as_ignored() {
    for (id, name) in FILES {
        let text = data(name);
        assert!(text.contains("Source: "), "{name}");
        let entries = entries(dialect(id).unwrap(), &text).unwrap();
        let read = import(name, 64);
        assert!(!read.used.is_empty(), "{name}");
        for (entry, value) in &entries {
            let silent = match value {
                Value::Null => true,
                Value::Text(text) => text == "auto" || text.starts_with('$'),
                _ => false,
            };
            let used = read.used.iter().any(|(used, _)| used == entry);
            let unread = read.unread.iter().any(|one| one.name == *entry);
            assert!(
                used || unread
                    || read.ignored.iter().any(|said| said.to_string().starts_with(&format!("{entry}: ")))
                    || silent,
                "{name}: {entry} = {value:?} is not in the book"
            );
        }
    }
}

/// Runs that make a program say everything it can.
fn talkative() -> Vec<Run> {
    let mut runs: Vec<Run> = PUBLISHED.iter().map(PublishedRun::run).collect();
    for model in MODELS {
        let json = format!(
            r#"{{"model":"{}","gpus":64,"tp":2,"pp":1,"cp":2,"ep":4,"etp":2,"seq_len":1024,"hsdp_shard":8,"zero":3,
            "fused_swiglu":false,"cuda_graphs":true,"capacity_factor":1.5,"tokens_total":1e9,"cross_entropy":"te-fused"}}"#,
            model.choice.id
        );
        let value: Value = serde_json::from_str(&json).unwrap();
        runs.push(Run::from_value(&value).unwrap());
    }
    let odd = r#"{"model":{"base":"llama-3.1-8b","head_dim":64,"biases":"qkv","mtp_modules":1}}"#;
    runs.push(Run::from_value(&serde_json::from_str(odd).unwrap()).unwrap());
    let base = Run { virtual_stages: 4, ..Run::default() };
    for (schedule, _) in Schedule::ALL {
        runs.push(Run { schedule: *schedule, ..base.clone() });
    }
    let mut grouped = Run { schedule: Schedule::Interleaved, stage_layers: Some(vec![7, 9, 9, 7]), ..Run::default() };
    runs.push(grouped.clone());
    grouped.stage_layers = None;
    grouped.virtual_stages = 2;
    grouped.schedule_options.group = Some(8);
    runs.push(grouped);
    for (optimizer, _) in Optimizer::ALL {
        for zero in 0..4 {
            runs.push(Run { optimizer: *optimizer, zero, hsdp_shard: Some(4), ..Run::default() });
        }
    }
    for precision in ["fp16", "bf16", "fp32", "te-fp8", "playbook-20", "fsdp-mixed"] {
        let value = format!(r#"{{"precision":"{precision}"}}"#);
        runs.push(Run::from_value(&serde_json::from_str(&value).unwrap()).unwrap());
    }
    for settings in [
        "precision.base=fp8-current&precision.param_gather=true&stack.attention=fp8",
        "precision.base=nvfp4&precision.param_gather=true&gpu=gb200",
        "precision.base=mxfp8&precision.master=2&precision.moment1=2&precision.moment2=1&gpu=gb200",
    ] {
        let pairs = settings.split('&').map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        runs.push(Run::from_pairs(&pairs).0);
    }
    // Settings of fine-tuning alone.
    for tuned in TUNED {
        runs.push(tuned.run());
        for settings in [
            "adapter.method=dora&adapter.targets=q_proj,v_proj&adapter.modules_to_save=lm_head",
            "adapter.method=qlora&adapter.base=nf4&precision=fp16&flash_attention=false",
            "adapter.method=lora&adapter.base=int8&stack.compile=true&tokens_total=1e9",
            "adapter.method=lora&adapter.base=gptq4&cross_entropy=fused-linear&stack.grad_reduce_bytes=2",
            "adapter.method=&adapter.rank=&adapter.targets=&offload.optimizer=cpu&offload.framework=deepspeed&offload.fraction=0.5&zero=3&gpus=16&host_memory_gib=9000",
            "adapter.method=&adapter.rank=&host_memory_gib=9000&offload.activations=cpu&cross_entropy=chunked&optimizer=adam-mini&precision=bf16-pure",
            "adapter.method=&adapter.rank=&tp=2&cp=2&gpus=16&zero=2&hsdp_shard=4&optimizer=galore&offload.parameters=",
            "adapter.method=&adapter.rank=&gpus=16&zero=2&hsdp_shard=4&optimizer=galore&offload.parameters=&offload.optimizer=",
        ] {
            let set = settings.split('&').map(|pair| pair.split_once('=').unwrap());
            let set: Vec<_> = set.collect();
            runs.push(tuned.run().with_texts(&set).unwrap_or_else(|| panic!("{settings}")));
        }
    }
    for link in [
        "stack=megatron-2025&pp=1&offload.optimizer=cpu&offload.fraction=0.5&offload.activations=cpu&host_memory_gib=9000",
        "stack=megatron-2025&offload.activations=core_attn,attn_proj&host_memory_gib=9000&cross_entropy=fused-linear",
        "stack=torchtitan&pp=1&zero=3&offload.parameters=cpu&host_memory_gib=9000",
        "stack=megatron-2021&rank_order=tp-cp-ep-pp-dp",
        "stack=megatron-2024&stage_layers=7,9,9,7",
        "stack=megatron-2025&stage_layers=7,9,9,7",
        "stack=megatron-2026&pp=1&zero=3&fsdp_double_buffer=true",
        "stack=torchtitan&pp=1&recompute.budget=0.5",
        "stack=deepspeed&pp=1&zero=3&zero_hpz=8&zero_qwz=true&zero_qgz=true",
        "model=mixtral-8x7b&cp=4&cp_comm=hierarchical&shared_expert_overlap=true&moe_rank_capacity=2&moe_paged_stash=true",
        "stack=megatron-2025&graph_scope=layer&stack.grad_reduce_bytes=4",
        "stack=megatron-2025&graph_scope=attn,mlp&model=nemotron-3-nano&pp=1&tp=1",
        "stack=megatron-2025&graph_scope=iteration&model=mixtral-8x7b&moe_dispatch=per-node&moe_balance=forced",
        "stack=megatron-2026&model=mixtral-8x7b&dummy_wgrad=false&moe_dispatch=hybridep&fp8_dispatch=true&delay_wgrad=true",
        "stack=megatron-2026&model=nemotron-3-nano&pp=1&tp=1&graph_scope=none&stack.attention=flash-3",
        "model.base=llama-3.1-8b&model.arguments=--rotary-base 500000 --rotary-percent 0.5 --norm-epsilon 1e-5 --init-method-std 0.02 \
         --moe-router-score-function sigmoid --moe-router-topk-scaling-factor 2.5 --moe-aux-loss-coeff 0.001 \
         --use-rope-scaling --rope-scaling-factor 8 --moe-router-enable-expert-bias --save $(rm x)",
    ] {
        runs.push(shardscope::io::link::decode(&format!("v=1&{link}")).run);
    }
    for recompute in [Recompute::Full, Recompute::Selective, Recompute::Layers(3)] {
        runs.push(Run { recompute, stack: Based::preset("megatron-2025"), ..Run::default() });
    }
    runs
}

/// The names that `dialect` writes for `runs`.
fn names(dialect: &Dialect, runs: &[Run]) -> BTreeSet<String> {
    let scenarios = runs.iter().filter_map(|run| Scenario::new(run).ok());
    let entries = scenarios.flat_map(|scenario| dialect.written(&scenario));
    entries.map(|(name, _)| name).collect()
}

/// `data/launch/*_arguments.txt` are typed from the programs' own documentation, by commit: every name that an export
/// uses is there, and every name there is used by an export, so the lists stay what they are for.
#[test]
fn every_argument_of_an_export_is_one_that_its_program_knows() {
    let runs = talkative();
    let mut wrong = Vec::new();
    for dialect in DIALECTS {
        let list = data(&format!("{}_arguments.txt", dialect.id));
        let mut lines = list.lines();
        assert!(lines.next().unwrap().starts_with("# "), "{}", dialect.id);
        let known: BTreeSet<String> = lines.filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        let used = names(dialect, &runs);
        for name in used.symmetric_difference(&known) {
            wrong.push(format!("{}: {name}", dialect.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Megatron-LM asserts that at most one of these is set (`megatron/training/arguments.py`), and counts the virtual
/// stages of a layout by its bars.
#[test]
fn a_layout_of_stages_is_said_without_the_number_of_virtual_stages() {
    let run = |stage_layers: [f64; 4]| {
        let layers = Value::List(stage_layers.into_iter().map(Value::Number).collect());
        let mut run =
            Run { gpus: 64, tp: 1, pp: 2, schedule: Schedule::Interleaved, virtual_stages: 2, ..Run::default() };
        run.assign("model", &Value::from("llama-3.1-8b")).unwrap();
        run.assign("stage_layers", &layers).unwrap();
        run
    };
    for (stages, by_layout) in [([9.0, 8.0, 8.0, 7.0], true), ([8.0; 4], false)] {
        let before = run(stages);
        let text = export(&before, "megatron", &Stamp::default()).unwrap();
        assert_eq!(text.contains("--pipeline-model-parallel-layout"), by_layout, "{text}");
        assert_eq!(text.contains("--num-virtual-stages-per-pipeline-rank"), !by_layout, "{text}");
        let after = read(&text, &Run::default()).unwrap().run;
        assert_eq!((after.virtual_stages, after.schedule), (2, Schedule::Interleaved), "{text}");
    }
}

/// A batch job of 32 nodes of four GPUs: Slurm's comments say the cluster, its variables stand in the arguments.
#[test]
fn a_batch_job_says_its_nodes() {
    let script = "#!/bin/bash\n#SBATCH --nodes=32\n#SBATCH --gpus-per-node=4\n\
        torchrun --nproc-per-node $SLURM_GPUS_PER_NODE --nnodes $SLURM_NNODES pretrain_gpt.py \
        --tensor-model-parallel-size $SLURM_GPUS_PER_NODE --pipeline-model-parallel-size 8 --global-batch-size 1024";
    let run = read(script, &Run::default()).unwrap().run;
    assert_eq!((run.gpus, run.gpus_per_node, run.tp, run.pp), (128, Some(4), 4, 8));
}

/// `arguments.py` has no overlap of tensor parallelism unless `--tp-comm-overlap` stands there, and refuses it without
/// sequence parallelism; the recipes of `NeMo` set it in 2025.
#[test]
fn tensor_overlap_is_said_to_megatron_lm_and_read_from_it() {
    let megatron = dialect("megatron").unwrap();
    let launch = |settings: &str| {
        let run = shardscope::io::link::decode(&format!("v=1&stack=megatron-2025&{settings}")).run;
        let written = megatron.written(&Scenario::new(&run).unwrap());
        (megatron.print)(&written, &[])
    };
    let script = launch("tp=4");
    assert!(script.contains("--tp-comm-overlap"), "{script}");
    for without in ["tp=1", "tp=4&sequence_parallel=false", "tp=4&stack.tp_overlap=none"] {
        assert!(!launch(without).contains("--tp-comm-overlap"), "{without}");
    }
    let mut present = Run { stack: Based::preset("megatron-2025"), ..Run::default() };
    let overlap = |script: &str, present: &Run| {
        let read = read(script, present).unwrap();
        field("stack.tp_overlap").unwrap().text(&read.run.resolved())
    };
    assert_eq!(overlap(&script, &present).as_deref(), Some("userbuffers"));
    let bare = script.replace("    --tp-comm-overlap \\\n", "");
    assert_eq!(overlap(&bare, &present).as_deref(), Some("none"));
    present.stack = Based::preset("megatron-2024");
    assert_eq!(overlap(&script, &present).as_deref(), Some("userbuffers"));
}

/// The text of a field that a script or a file means, read over the default Run; and what was assumed.
fn meant(text: &str, keys: &[&str]) -> (Vec<String>, String) {
    let read = read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}"));
    let run = read.run.resolved();
    let texts = keys.iter().map(|key| field(key).unwrap().text(&run).unwrap_or_default()).collect();
    (texts, read.assumed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Megatron-LM d98e8a6 `distributed_data_parallel_config.py:279` and `param_and_grad_buffer.py:2053`: the pool of the
/// largest unit and registered buffers switch double buffers on. They are written where they change something.
#[test]
fn double_buffers_of_megatron_fsdp_are_read_and_written() {
    let sharded = "pretrain_gpt.py --tensor-model-parallel-size 2 --use-megatron-fsdp --bf16 \
        --data-parallel-sharding-strategy optim_grads_params";
    let plain = "pretrain_gpt.py --tensor-model-parallel-size 2 --use-distributed-optimizer --bf16";
    for (arguments, expected) in [
        (format!("{sharded} --fsdp-double-buffer"), "true"),
        (format!("{sharded} --use-nccl-ub"), "true"),
        (format!("{sharded} --megatron-fsdp-max-pool-double-buffer"), "true"),
        (sharded.to_owned(), "false"),
        (format!("{plain} --fsdp-double-buffer"), "false"),
    ] {
        assert_eq!(meant(&arguments, &["fsdp_double_buffer"]).0, [expected], "{arguments}");
    }
    let megatron = DIALECTS.iter().find(|dialect| dialect.id == "megatron").unwrap();
    let written = |link: &str| {
        let run = shardscope::io::link::decode(&format!("v=1&stack=megatron-2026&pp=1&{link}")).run;
        names(megatron, &[run]).contains("--fsdp-double-buffer")
    };
    assert!(written("zero=3&fsdp_double_buffer=true") && !written("zero=1&fsdp_double_buffer=true"));
}

/// Megatron-LM `arguments.py` and `transformer_config.py`: `--optimizer-offload-fraction` is the share that leaves; the
/// choices of `--offload-modules`; `linear` of `--cross-entropy-fusion-impl` joins head and loss. torchtitan
/// `job_config.py`: `training.enable_cpu_offload` is FSDP2's `CPUOffloadPolicy`.
#[test]
fn what_goes_to_the_host_is_read() {
    let megatron = "pretrain_gpt.py --tensor-model-parallel-size 2 --use-distributed-optimizer --bf16";
    let keys = ["offload.optimizer", "offload.fraction", "offload.framework", "offload.activations", "offload.layers"];
    for (arguments, fields) in [
        ("--optimizer-cpu-offload --optimizer-offload-fraction 0.25", ["cpu", "0.25", "megatron", "", ""]),
        ("--optimizer-cpu-offload", ["cpu", "", "megatron", "", ""]),
        ("--optimizer-offload-fraction 0.25", ["", "", "", "", ""]),
        ("--cpu-offloading-num-layers 30", ["", "", "megatron", "cpu", "30"]),
        (
            "--pipeline-model-parallel-size 2 --fine-grained-activation-offloading --offload-modules core_attn attn_proj",
            ["", "", "megatron", "core_attn,attn_proj", ""],
        ),
        ("--offload-modules core_attn", ["", "", "", "", ""]),
    ] {
        let (read, assumed) = meant(&format!("{megatron} {arguments}"), &keys);
        assert_eq!(read, fields, "{arguments}");
        assert!(!assumed.contains("not modelled"), "{assumed}");
    }
    let (loss, _) = meant(
        &format!("{megatron} --cross-entropy-loss-fusion --cross-entropy-fusion-impl linear"),
        &["cross_entropy"],
    );
    assert_eq!(loss, ["fused-linear"]);
    let (titan, _) = meant(
        "[training]\nenable_cpu_offload = true\nseq_len = 8192\n",
        &["offload.parameters", "offload.framework", "host_memory_gib"],
    );
    assert_eq!(titan[..2], ["cpu", "fsdp2"]);
    assert!(titan[2].parse::<f64>().unwrap() > 0.0);
}

/// torchrun starts one node where no number is said (`torch.distributed.run`, `--nnodes` 1:1): but ranks that share a
/// model are at least TP PP CP.
#[test]
fn one_nodes_gpus_are_no_fewer_than_the_ranks_of_a_model() {
    for (sizes, gpus) in [("4 4 1", "16"), ("2 4 3", "24"), ("2 2 1", "8"), ("3 4 1", "24")] {
        let sizes: Vec<&str> = sizes.split(' ').collect();
        let text = format!(
            "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size {} --pipeline-model-parallel-size {} \
             --context-parallel-size {}",
            sizes[0], sizes[1], sizes[2]
        );
        assert_eq!(meant(&text, &["gpus"]).0, [gpus], "{text}");
    }
}

/// torchtitan `pipeline_parallel.py`: 32 layers and two ends at 9 a stage are 34 = 9 + 9 + 8 + 8; DeepSpeed
/// `runtime/config.py` asserts that the global batch is micro-batch times accumulation times world; axolotl's
/// `sequence_parallel_degree` was renamed `context_parallel_size` (schemas, `deprecated.py`).
#[test]
fn what_a_program_makes_of_settings_is_said() {
    let titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n[parallelism]\n\
        pipeline_parallel_degree = 4\npipeline_parallel_layers_per_stage = 9\n";
    let (layers, assumed) = meant(titan, &["stage_layers"]);
    assert_eq!(layers, ["8,9,8,7"]);
    assert!(assumed.contains("8/9/8/7"), "{assumed}");
    let batches = |global: u64| {
        let text = format!(
            r#"{{"train_batch_size":{global},"train_micro_batch_size_per_gpu":4,"gradient_accumulation_steps":3,
            "zero_optimization":{{"stage":1}}}}"#
        );
        meant(&text, &["gpus"])
    };
    assert!(batches(100).1.contains("contradict"));
    assert_eq!(batches(96).0, ["8"]);
    assert!(!batches(96).1.contains("contradict"));
    let (cp, _) = meant("base_model: meta-llama/Llama-3.1-8B\nsequence_parallel_degree: 4\n", &["cp"]);
    assert_eq!(cp, ["4"]);
}

/// Llama 3.1 8B's config.json (meta-llama/Llama-3.1-8B): base 500000 of the rotary embedding, 1e-5 in norms, scaling of
/// Llama 3 by 8. A script for Megatron-LM says all three, and is read back with them.
#[test]
fn what_a_config_says_of_positions_and_norms_reaches_megatron_lm() {
    let config = r#"{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
        "num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
        "attention_bias":false,"rms_norm_eps":1e-05,"rope_theta":500000.0,
        "rope_scaling":{"factor":8.0,"rope_type":"llama3"}}"#;
    let run = read(config, &Run::default()).unwrap().run;
    assert_eq!(run.model.base, Some("llama-3.1-8b"));
    assert_eq!(run.model.title().to_string(), "Llama 3.1 8B");
    let megatron = dialect("megatron").unwrap();
    let script = (megatron.print)(&megatron.written(&Scenario::new(&run).unwrap()), &[]);
    for argument in ["--rotary-base 500000", "--norm-epsilon 0.00001", "--use-rope-scaling", "--rope-scaling-factor 8"]
    {
        assert!(script.contains(argument), "{argument}: {script}");
    }
    let back = read(&script, &Run::default()).unwrap().run;
    assert_eq!(back.model.parts.arguments, run.model.parts.arguments);
}

/// Names and defaults of DeepSpeed `runtime/zero/config.py` (ZeRO++), torchtitan `job_config.py` (0.5 of a budget),
/// Megatron-LM `transformer_config.py` and `arguments.py` ("the first value of the list indicates the group size of the
/// a2a communication type"; `dist_muon` is Muon with the distributed optimizer).
#[test]
fn what_programs_of_2026_say_is_read() {
    let megatron = "pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --vocab-size 32000 --swiglu \
        --num-experts 8 --context-parallel-size 8 --micro-batch-size 1";
    let zero = "zero_optimization\":{\"stage\":3,\"zero_hpz_partition_size\":8,\"zero_quantized_weights\":true,\
        \"zero_quantized_gradients\":true}}";
    let budget = "[training]\nseq_len = 8192\n[activation_checkpoint]\nmode = \"memory_budget\"\n";
    for (text, fields) in [
        (format!("{{\"train_batch_size\":64,\"{zero}"), "zero=3 zero_hpz=8 zero_qwz=true zero_qgz=true"),
        (budget.to_owned(), "recompute.budget=0.5"),
        (format!("{budget}memory_budget = 0.2\n"), "recompute.budget=0.2"),
        (
            format!("{megatron} --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 4 2"),
            "cp_comm=hierarchical cp_a2a=4",
        ),
        (
            format!("{megatron} --moe-shared-expert-overlap --moe-expert-rank-capacity-factor 1.5 --moe-paged-stash"),
            "shared_expert_overlap=true moe_rank_capacity=1.5 moe_paged_stash=true",
        ),
        (format!("{megatron} --optimizer dist_muon"), "optimizer=muon zero=1"),
    ] {
        for pair in fields.split(' ') {
            let (key, value) = pair.split_once('=').unwrap();
            assert_eq!(meant(&text, &[key]).0, [value], "{key}: {text}");
        }
    }
    let (_, assumed) = meant("base_model: meta-llama/Llama-3.1-8B\nsample_packing: true\n", &[]);
    assert!(assumed.contains("documents says"), "{assumed}");
}
