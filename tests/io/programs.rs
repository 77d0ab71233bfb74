//! Files of programs that say the settings of another one, as their own examples have them: read by the tables.

use shardscope::core::memory::Verdict;
use shardscope::core::report::evaluate;
use shardscope::core::run::registry::field;
use shardscope::core::run::{Run, Value};
use shardscope::io::dialect::text::yaml;
use shardscope::io::import::{Meaning, read};
use std::fs;

/// A file, the GPUs of the page that it is read on, and what it means: `key=value` with blanks between. The sizes are
/// the file's own; a batch of reinforcement learning is prompts times answers, one of MLPerf sequences a rank times
/// ranks.
const FILES: [(&str, u64, &str); 28] = [
    (
        "primus_llama3_70b.yaml",
        8,
        "model=llama-3.1-70b gpu=mi300x gpus=8 tp=1 pp=1 micro_batch=3 global_batch=24 seq_len=8192 zero=3 recompute.layers=80 \
         cross_entropy=te-fused dummy_wgrad=false",
    ),
    (
        "primus_torchtitan.yaml",
        8,
        "model=llama-3.1-70b gpu=mi300x gpus=8 micro_batch=2 global_batch=16 seq_len=8192 zero=3 recompute=full",
    ),
    (
        "automodel_deepseek_v3.yaml",
        64,
        "model=deepseek-v3 gpu=h100-sxm-80gb gpus=256 tp=1 pp=4 ep=64 micro_batch=1 global_batch=256 seq_len=4096 recompute=full \
         schedule=interleaved-1f1b moe_dispatch=hybridep moe_balance=forced",
    ),
    (
        "automodel_peft.yaml",
        64,
        "model=llama-3.1-70b gpu=h100-sxm-80gb gpus=8 tp=4 pp=2 micro_batch=1 global_batch=32 seq_len=4096 adapter.method=lora \
         adapter.rank=16 sequence_parallel=false",
    ),
    (
        "bridge_llama3_70b.py",
        8,
        "model=llama-3.1-70b gpu=h100-sxm-80gb gpus=64 tp=4 pp=4 cp=2 virtual_stages=5 micro_batch=1 global_batch=256 seq_len=8192 \
         schedule=interleaved-1f1b precision=bf16 zero=1 stack.tp_overlap=userbuffers",
    ),
    (
        "bridge_command.sh",
        8,
        "model=deepseek-v3 gpu=gb200 gpus=256 tp=1 pp=4 ep=64 virtual_stages=4 micro_batch=1 global_batch=4096 seq_len=4096 \
         precision=mxfp8 recompute.modules=mla_up",
    ),
    (
        "bridge_overrides.sh",
        8,
        "model=llama-3.1-8b gpus=8 tp=2 cp=4 global_batch=8 seq_len=65536 recompute=full sequence_parallel=true",
    ),
    (
        "nemo_rl_70b.yaml",
        8,
        "model=llama-3.1-70b gpus=64 tp=4 pp=4 micro_batch=1 global_batch=512 seq_len=4096 zero=1 phases.framework=nemo-rl \
         phases.rollout_tp=8",
    ),
    (
        "nemo_rl_async.yaml",
        8,
        "model=qwen-3-30b-a3b gpus=32 pp=2 ep=8 seq_len=4096 phases.framework=nemo-rl phases.rollout_tp=2 rl.algorithm=grpo \
         rl.prompts=64 rl.samples=32 rl.response_limit=4096 rl.rollout_gpus=16 rl.staleness=1 rl.updates=1 rl.eager=false \
         rl.old_log_probs=false",
    ),
    (
        "nemo_rl_dtensor.yaml",
        64,
        "model=llama-3.1-8b gpus=8 tp=2 micro_batch=1 global_batch=512 seq_len=4096 zero=3 recompute=full phases.framework=nemo-rl",
    ),
    (
        "verl_fsdp.sh",
        64,
        "model=qwen-2.5-7b gpus=8 micro_batch=40 global_batch=1280 seq_len=1536 zero=3 recompute=full phases.framework=verl \
         phases.rollout_tp=2 phases.reference=true phases.offload=false rl.algorithm=grpo rl.samples=5 rl.response_limit=1024",
    ),
    (
        "verl_megatron.sh",
        64,
        "model=deepseek-v3 gpus=256 tp=1 pp=16 ep=16 etp=1 micro_batch=1 global_batch=512 seq_len=6144 recompute=full \
         stage_layers=4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,1 phases.offload=true phases.rollout_tp=32",
    ),
    (
        "slime_qwen3_30b.sh",
        64,
        "model=qwen-3-30b-a3b gpus=8 tp=4 ep=8 etp=1 micro_batch=2 global_batch=256 seq_len=8192 recompute=full \
         offload.optimizer=cpu phases.framework=slime phases.placement=colocated rl.algorithm=grpo rl.prompts=32 rl.samples=8 \
         rl.response_limit=8192 rl.placement=colocated rl.updates=1 rl.old_log_probs=false rl.steps=3000 rl.rollout_gpus=",
    ),
    // Eight GPUs train, sixteen generate.
    (
        "slime_async.sh",
        64,
        "model=qwen-3-8b gpus=24 tp=4 micro_batch=1 global_batch=256 seq_len=4096 phases.framework=slime phases.rollout_tp=2 \
         rl.algorithm=grpo rl.prompts=64 rl.samples=8 rl.response_limit=4096 rl.rollout_gpus=16 rl.staleness=1 rl.updates=2 \
         rl.old_log_probs=true rl.steps=1000",
    ),
    (
        "swift_megatron.sh",
        64,
        "model=qwen-3-30b-a3b gpus=16 tp=1 pp=2 ep=8 micro_batch=1 global_batch=16 seq_len=8192 recompute=full zero=1",
    ),
    (
        "swift_lora.sh",
        64,
        "model=qwen-2.5-7b gpus=1 micro_batch=1 global_batch=16 seq_len=131 adapter.method=lora adapter.rank=8 recompute=full",
    ),
    (
        "llama-factory_mca.yaml",
        8,
        "model=qwen-3-30b-a3b gpus=8 tp=1 pp=4 ep=2 micro_batch=1 global_batch=16 seq_len=4096 recompute=full zero=1",
    ),
    (
        "llama-factory_v1.yaml",
        8,
        "model=qwen-3-8b gpus=8 micro_batch=1 global_batch=8 seq_len=2048 adapter.method=lora adapter.rank=16 zero=3",
    ),
    (
        "mlperf_405b.sh",
        64,
        "model=llama-3.1-405b gpu=gb300 gpus=256 tp=4 pp=8 cp=2 virtual_stages=8 micro_batch=1 global_batch=448 seq_len=8192 \
         precision=fp8-current zero=1",
    ),
    (
        "mlperf_lora.sh",
        64,
        "model=llama-2-70b gpu=h100-sxm-80gb gpus=64 tp=4 pp=1 cp=2 micro_batch=1 global_batch=8 seq_len=8192 adapter.method=lora \
         adapter.rank=16 adapter.base=fp8 adapter.targets=q_proj,k_proj,v_proj,o_proj",
    ),
    ("torchtitan_derived.py", 64, "model=llama-3.1-405b gpus=512"),
    (
        "verl_case.sh",
        64,
        "model=qwen-3-8b gpu=h100-sxm-80gb gpus=8 micro_batch=8 global_batch=1280 seq_len=3072 precision=fsdp-mixed zero=3 \
         phases.offload=false phases.rollout_tp=2",
    ),
    (
        "verl_tuning.sh",
        64,
        "model=qwen-2.5-7b gpus=8 tp=4 pp=1 micro_batch=1 global_batch=8 seq_len=1024 zero=1 recompute=none",
    ),
    (
        "automodel_gb200.yaml",
        64,
        "model=gpt-oss-120b gpu=gb200 gpus=32 ep=16 micro_batch=8 global_batch=1280 seq_len=4096 precision=mxfp8 recompute=full \
         moe_dispatch=hybridep",
    ),
    (
        "primus_mixtral.yaml",
        64,
        "model=mixtral-8x22b gpu=mi300x gpus=32 tp=1 pp=4 ep=8 etp=1 micro_batch=1 global_batch=16 seq_len=4096 recompute.layers=14",
    ),
    (
        "llama-factory_oft.yaml",
        8,
        "model=llama-3.1-8b gpus=8 micro_batch=1 global_batch=64 seq_len=2048 adapter.method=lora adapter.rank=8 recompute=full",
    ),
    (
        "nemo_rl_base.yaml nemo_rl_recipe.yaml",
        64,
        "model=llama-3.1-8b gpus=32 tp=1 micro_batch=1 global_batch=512 seq_len=4096 recompute=full zero=3 phases.framework=nemo-rl",
    ),
    (
        "primus_model.yaml primus_qwen.yaml",
        64,
        "model.layers=24 model.hidden=5120 model.ffn=13824 model.kv_heads=8 model.biases=qkv model.vocab=152064 gpu=mi300x gpus=8 \
         global_batch=64 seq_len=4096",
    ),
];

/// A file alone says that the one below it is missing; with that it does not.
#[test]
fn a_file_over_another_one_asks_for_it() {
    let asks = |names: &str| {
        let lines = import(names, 32).assumed;
        lines.iter().any(|said| said.to_string().contains("nemo_rl_base.yaml, which is not here"))
    };
    assert!(asks("nemo_rl_recipe.yaml") && !asks("nemo_rl_base.yaml nemo_rl_recipe.yaml"));
    // The line above wins: null takes the section away.
    let both = import("nemo_rl_base.yaml nemo_rl_recipe.yaml", 32);
    assert!(both.ignored.iter().all(|said| !said.to_string().starts_with("policy.optimizer.")), "{:?}", both.ignored);
}

/// A model that is no preset is the one whose config.json stands before the settings; alone, experts that it needs are
/// missed.
#[test]
fn a_model_of_a_config_json_is_taken_with_the_settings() {
    let config = r#"{"model_type":"qwen3_moe","hidden_size":1024,"intermediate_size":3072,"moe_intermediate_size":512,
        "num_attention_heads":16,"num_key_value_heads":4,"head_dim":128,"num_hidden_layers":12,"num_experts":32,
        "num_experts_per_tok":4,"vocab_size":151936}"#;
    let settings = text("automodel_gb200.yaml").replace("openai/gpt-oss-120b", "ours/small-moe");
    let alone = read(&settings, &Run::default()).unwrap_err();
    assert!(alone[0].message.to_string().starts_with("ours/small-moe is no preset"), "{alone:?}");
    let both = read(&format!("{config}\n---\n{settings}"), &Run::default()).unwrap();
    let model = both.run.model.resolve().unwrap();
    assert_eq!((model.layers, model.moe.map(|moe| moe.experts), both.run.ep), (12, Some(32), 16));
}

/// Reads a file, or several with blanks between, the first ones below the others.
fn import(names: &str, gpus: u64) -> Meaning {
    let present = Run { gpus, ..Run::default() };
    read(&text(names), &present).unwrap_or_else(|issues| panic!("{names}: {issues:?}"))
}

fn text(names: &str) -> String {
    let text = |name: &str| {
        let path = format!("{}/tests/data/launch/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains("Source: "), "{name}");
        text
    };
    names.split(' ').map(text).collect::<Vec<_>>().join("\n---\n")
}

#[test]
fn files_of_2026_mean_what_their_programs_run() {
    let mut wrong = Vec::new();
    for (name, gpus, settings) in FILES {
        let run = import(name, gpus).run.resolved();
        for setting in settings.split_whitespace() {
            let (key, value) = setting.split_once('=').unwrap();
            let said = field(key).unwrap_or_else(|| panic!("{key}")).text(&run).unwrap_or_default();
            if said != value {
                wrong.push(format!("{name}: {setting}, read as {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// These run, on the GPUs that they name: what is called out of memory has its reason beside it, and nothing is
/// refused.
#[test]
fn files_that_are_known_to_run_fit() {
    let mut wrong = Vec::new();
    for (name, gpus, _) in FILES {
        let read = import(name, gpus);
        match evaluate(&read.run) {
            Err(issues) => wrong.push(format!("{name}: {issues:?}")),
            Ok(evaluation) => {
                let memory = &evaluation.report.memory;
                let reason = read.assumed.iter().any(|said| said.to_string().contains("need less memory"));
                if memory.verdict == Verdict::Oom && !reason {
                    wrong.push(format!("{name}: {:.1} GiB", memory.peak_bytes.gib()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// slime 624b824 `slime/utils/dp_schedule.py:120`: a micro-batch has the tokens of every rank of context parallelism.
#[test]
fn tokens_of_slime_are_those_of_each_rank_of_context_parallelism() {
    for cp in [1, 2, 4] {
        let text =
            format!("{} --use-dynamic-batch-size --context-parallel-size {cp}", text("slime_plain.sh").trim_end());
        assert_eq!(read(&text, &Run::default()).unwrap().run.micro_batch, 2 * cp, "{cp}");
    }
}

/// verl b178a3c `verl/workers/fsdp_workers.py:99`: a mesh of `world / fsdp_size` copies and `fsdp_size` shards; one
/// mesh of all ranks where that is negative or not less than they are.
#[test]
fn shards_of_verl_are_held_by_as_many_ranks_as_it_says() {
    for (size, shard) in [("-1", None), ("8", Some(8)), ("32", None), ("64", None)] {
        let size = format!("actor_rollout_ref.actor.fsdp_config.fsdp_size={size}");
        let text = format!("{} {size}", text("verl_plain.sh").trim_end());
        assert_eq!(read(&text, &Run::default()).unwrap().run.hsdp_shard, shard);
    }
}

/// verl b178a3c `verl/workers/actor/dp_actor.py:552`, `megatron_actor.py:806`, `verl/workers/engine/utils.py:76`: a
/// micro-batch has the tokens of every rank that shares its sequences; `actor.yaml:33`: 16384 unless it is told.
#[test]
fn tokens_of_verl_are_those_of_each_rank_that_shares_a_sequence() {
    let micro = |file: &str, more: &str| {
        let text = format!("{} {more}", text(file).trim_end());
        read(&text, &Run::default()).unwrap().run.micro_batch
    };
    let actor = |name: &str| format!("actor_rollout_ref.actor.{name}");
    let dynamic = actor("use_dynamic_bsz=True");
    let length = "data.max_prompt_length=1024 data.max_response_length=3072";
    for (file, degree) in [
        ("verl_plain.sh", "ulysses_sequence_parallel_size"),
        ("verl_plain.sh", "fsdp_config.ulysses_sequence_parallel_size"),
        ("verl_mcore.sh", "megatron.context_parallel_size"),
    ] {
        for ranks in [1, 2, 4] {
            let of_ranks = format!("{dynamic} {length} {}={ranks}", actor(degree));
            assert_eq!(micro(file, &of_ranks), 4 * ranks, "{file} {degree}");
            let told = format!("{of_ranks} {}", actor("ppo_max_token_len_per_gpu=8192"));
            assert_eq!(micro(file, &told), 2 * ranks, "{file} {degree}");
        }
    }
    for (file, degree) in [
        ("verl_tuning_fsdp.sh", "engine.ulysses_sequence_parallel_size"),
        ("verl_tuning_mcore.sh", "engine.context_parallel_size"),
    ] {
        for ranks in [1, 2] {
            // 8192 tokens of a rank, sequences of 4096; without a budget 4 sequences, as `sft_trainer_engine.yaml:18`
            // says.
            assert_eq!(micro(file, &format!("{degree}={ranks}")), 2 * ranks, "{file}");
            assert_eq!(micro(file, &format!("{degree}={ranks} data.use_dynamic_bsz=False")), 4, "{file}");
        }
    }
}

/// verl b178a3c `verl/workers/engine/fsdp/utils.py:31`: as with reinforcement learning. Its engine is the one that the
/// command is told to take, whatever other engine the text has settings for; Ray's command says its GPUs itself.
#[test]
fn fine_tuning_of_verl_has_its_engine_its_shards_and_its_gpus() {
    let run = |text: &str| read(text, &Run::default()).unwrap().run;
    let fsdp = text("verl_tuning_fsdp.sh");
    for (size, shard) in [("-1", None), ("4", Some(4)), ("8", None)] {
        assert_eq!(run(&format!("{} engine.fsdp_size={size}", fsdp.trim_end())).hsdp_shard, shard, "{size}");
    }
    let both = format!("OTHER=\"engine=megatron engine.tensor_model_parallel_size=4\"\n{fsdp}");
    let chosen = run(&both);
    assert_eq!((chosen.zero, chosen.tp), (3, 1));
    let ray = "python3 -m verl.trainer.sft_trainer_ray model.path=Qwen/Qwen2.5-7B data.train_batch_size=64 \
        data.max_length=4096 trainer.nnodes=2 trainer.n_gpus_per_node=8";
    assert_eq!((run(ray).gpus, run(ray).zero), (16, 3));
    let megatron = run(&format!("{ray} engine=megatron engine.tensor_model_parallel_size=4"));
    assert_eq!((megatron.gpus, megatron.tp, megatron.zero), (16, 4, 1));
}

/// Every entry is used, ignored with its reason, named as not read, or silent: null, "auto", a variable that is not
/// set.
#[test]
fn every_entry_of_a_program_is_accounted_for() {
    for (name, gpus, _) in FILES {
        let text = text(name);
        let read = import(name, gpus);
        let mut book: Vec<String> = read.ignored.iter().map(ToString::to_string).collect();
        book.extend(read.unread.iter().map(|one| format!("{}: {}", one.name, one.why)));
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let word = line.trim_start_matches("export ").split([' ', ':', '=']).next().unwrap_or_default();
            let word = word.trim_start_matches(['-', '+', '$']);
            // Settings of one line each: an argument, a variable, a key of YAML with its value, an assignment of
            // Python.
            let setting =
                line.starts_with("--") || line.starts_with("export ") || word.contains('.') && line.contains('=');
            if !setting || word.is_empty() {
                continue;
            }
            let bare =
                word.strip_prefix("cfg.").or_else(|| word.strip_prefix("config.")).unwrap_or(word).replace('_', "-");
            let has = |entry: &str| entry.replace('_', "-").contains(&bare);
            let silent = read.assumed.iter().any(|said| said.to_string().contains("is not set in the text"));
            assert!(
                read.used.iter().any(|(entry, _)| has(entry)) || book.iter().any(|entry| has(entry)) || silent,
                "{name}: {word} is not in the book: {book:?}"
            );
        }
        assert!(book.iter().all(|entry| entry.contains(": ")), "{name}: {book:?}");
    }
}

/// Every entry of every file of YAML that says something: used, ignored with its reason, or named where something else
/// is taken.
#[test]
fn every_entry_of_yaml_is_accounted_for() {
    let folder = format!("{}/tests/data/launch", env!("CARGO_MANIFEST_DIR"));
    let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    // The second is a model's alone.
    let names: Vec<String> =
        names.filter(|name| name.rsplit('.').next() == Some("yaml") && name != "primus_model.yaml").collect();
    let mut wrong = Vec::new();
    for name in &names {
        let read = import(name, 64);
        let mut ignored: Vec<String> = read.ignored.iter().map(ToString::to_string).collect();
        ignored.extend(read.unread.iter().map(|one| format!("{}: {}", one.name, one.why)));
        let assumed: Vec<String> = read.assumed.iter().map(ToString::to_string).collect();
        for (entry, value) in yaml::read(&text(name)).unwrap().flat(|_| true) {
            let used = read.used.iter().any(|(known, _)| *known == entry);
            let left = ignored.iter().any(|line| line.strip_prefix(&*entry).is_some_and(|rest| rest.starts_with(": ")));
            let shown = value.text().unwrap_or(&entry);
            let instead = assumed.iter().any(|line| line.contains(&entry) || line.contains(shown));
            if value != Value::Null && shown != "none" && !used && !left && !instead {
                wrong.push(format!("{name}: {entry}"));
            }
        }
    }
    assert!(names.len() > 25 && wrong.is_empty(), "{wrong:#?}");
}
