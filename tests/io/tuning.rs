//! Files of fine-tuning as their programs' own examples have them, read into the Run that they mean; and runs of
//! fine-tuning out into every such format and back.

use shardscope::core::message::Message;
use shardscope::core::run::presets::{TUNED, TunedRun};
use shardscope::core::run::registry::{FIELDS, field};
use shardscope::core::run::{Run, Scenario, Value};
use shardscope::io::dialect::rows::reader::SettingsReader;
use shardscope::io::dialect::{dialect, entries, not_said};
use shardscope::io::import::{Meaning, read};
use std::fs;

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/launch/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

fn with(run: &Run, settings: &str) -> Run {
    let set = settings.split_whitespace().map(|pair| {
        let (key, value) = pair.split_once('=').unwrap();
        (key, value.to_owned())
    });
    let set: Vec<(&str, String)> = set.collect();
    run.with_texts(&set).unwrap_or_else(|| panic!("{settings}"))
}

/// A page with 16 GPUs and nothing like the files: what they leave out is of it.
fn page() -> Run {
    with(&Run::default(), "gpus=16 seq_len=3072 micro_batch=4 global_batch=64 zero=1 recompute=none")
}

fn import(name: &str) -> Meaning {
    read(&data(name), &page()).unwrap_or_else(|issues| panic!("{name}: {issues:?}"))
}

/// File, software, and what it means: `key=value` with blanks between, `key=` where nothing is set.
const MEANT: &[(&str, &str, &str)] = &[
    // All linears, NF4 with double quantisation, shards of FSDP on the host; 4 x 16 sequences.
    (
        "axolotl_qlora_70b.yaml",
        "hf-trainer",
        "model=llama-3.1-70b gpus=16 tp=1 pp=1 zero=3 seq_len=512 micro_batch=1 global_batch=64 optimizer=adam precision=bf16 \
         recompute=full adapter.method=qlora adapter.rank=8 adapter.targets= adapter.base= offload.parameters=cpu \
         offload.framework=fsdp2 offload.optimizer=",
    ),
    // Pairs; logits whole, whatever Liger fuses (`model/loader.py:142`).
    (
        "llama-factory_dpo.yaml",
        "hf-fused",
        "model=qwen-2.5-7b zero=3 seq_len=32768 micro_batch=1 objective=dpo objective.reference= cross_entropy= \
         adapter.method=lora adapter.rank=32 offload.parameters=cpu",
    ),
    // LoRA beside int8, with embedding and head trained whole.
    (
        "axolotl_lora_8b.yaml",
        "hf-trainer",
        "model=llama-3.1-8b zero=0 seq_len=4096 micro_batch=2 global_batch=128 optimizer=adam-8bit precision=bf16 recompute=full \
         adapter.method=lora adapter.rank=32 adapter.targets= adapter.base=int8 adapter.modules_to_save=embed_tokens,lm_head",
    ),
    // 4 x 2 x 2 GPUs: shards of four ranks, two copies.
    (
        "axolotl_hsdp_tp.yaml",
        "hf-trainer",
        "model=llama-3.1-8b gpus=16 tp=2 cp=1 pp=1 zero=3 hsdp_shard=4 seq_len=2048 micro_batch=1 global_batch=8 \
         precision=bf16-pure recompute=none cross_entropy=fused-linear adapter.method= sequence_parallel=false",
    ),
    // Liger's kernels, SwiGLU's among them; the host is as large as it has to be.
    (
        "axolotl_fft_liger.yaml",
        "hf-fused",
        "model=llama-3.1-8b gpus=16 zero=3 seq_len=4096 micro_batch=2 global_batch=128 precision=fsdp-mixed recompute=full \
         adapter.method= offload.parameters=cpu offload.framework=fsdp2 cross_entropy=fused-linear fused_swiglu=true \
         host_memory_gib=128",
    ),
    // The name says that the base is quantised.
    (
        "llama-factory_gptq.yaml",
        "hf-trainer",
        "model=llama-3.1-8b zero=0 seq_len=2048 micro_batch=1 global_batch=128 precision=bf16 adapter.method=lora adapter.rank=8 \
         adapter.targets= adapter.base=gptq4 recompute=full",
    ),
    // bf16 weights beside fp32 masters; it checkpoints unless it is told not to.
    (
        "llama-factory_full_ds3.yaml",
        "hf-trainer",
        "model=llama-3.1-8b zero=3 seq_len=2048 micro_batch=1 global_batch=32 precision=bf16 recompute=full adapter.method= \
         offload.optimizer= offload.parameters= optimizer=adam",
    ),
    (
        "llama-factory_galore.yaml",
        "hf-trainer",
        "model=llama-3.1-8b zero=0 seq_len=1024 micro_batch=1 global_batch=16 precision=bf16-pure optimizer=galore recompute=full \
         adapter.method=",
    ),
    (
        "llama-factory_qlora.yaml",
        "hf-trainer",
        "model=llama-3.1-8b zero=0 seq_len=1024 micro_batch=1 global_batch=128 precision=fp16 adapter.method=qlora adapter.rank= \
         adapter.targets=q_proj,v_proj adapter.base= recompute=full",
    ),
    // max_steps -1 is none. Its README launches it with Accelerate's `deepspeed_zero3.yaml`, which is not here.
    (
        "trl_zephyr_full.yaml",
        "hf-trainer",
        "model=mistral-7b zero=3 seq_len=2048 micro_batch=16 global_batch=256 precision=fsdp-mixed recompute=full tokens_total= \
         adapter.method=",
    ),
    // TRL quantises scales only where it is told; w1, w2 and w3 are gate, down and up, `gate` is the router.
    (
        "trl_orpo_qlora.yaml",
        "hf-trainer",
        "model=mixtral-8x22b seq_len=2048 micro_batch=1 global_batch=16 precision=bf16 optimizer=adam-8bit recompute=full \
         adapter.method=qlora adapter.rank=16 adapter.targets= adapter.base=nf4",
    ),
    (
        "trl_command.sh",
        "hf-trainer",
        // Without `dtype` TRL loads the base in fp32 (`trl/trainer/model_config.py:89`).
        "model=qwen-2.5-7b gpus=4 zero=3 seq_len=4096 micro_batch=2 global_batch=64 precision=fsdp-mixed \
         optimizer=adam-8bit-paged recompute=full adapter.method=lora adapter.rank=32 adapter.base=",
    ),
    // 4 completions a rank, 8 micro-batches of them a generation, 2 an update; TRL's RL checkpoints, as its SFT does.
    // The states of 8 billion parameters fit no GPU whole: its launcher, which is not here, shards them.
    (
        "trl_grpo.yaml",
        "hf-trainer",
        "model=qwen-3-8b gpus=16 zero=3 seq_len=2560 micro_batch=4 global_batch=128 recompute=full phases.framework=trl \
         phases.reference=false rl.algorithm=grpo rl.samples=16 rl.prompts=32 rl.updates=4 rl.epochs=2 rl.response_limit=2048 \
         rl.placement=colocated rl.memory_share=0.35",
    ),
    // The launcher's file shards.
    (
        "trl_zero3.sh",
        "hf-trainer",
        "model=qwen-2.5-7b gpus=4 zero=3 seq_len=4096 micro_batch=2 global_batch=64 recompute=full adapter.method= precision=bf16",
    ),
    // The model, the sequence and the micro-batch are the program's.
    (
        "accelerate_fsdp2.yaml",
        "hf-trainer",
        "model=llama-3.1-8b gpus=8 tp=1 cp=1 zero=3 precision=fsdp-mixed recompute=none micro_batch=4 seq_len=3072 \
         global_batch=64 offload.parameters=",
    ),
    (
        "accelerate_cp.yaml",
        "hf-trainer",
        "gpus=8 tp=1 cp=8 zero=3 precision=fsdp-mixed recompute=full offload.activations=cpu micro_batch=4 global_batch=64",
    ),
    (
        "accelerate_zero3.yaml",
        "hf-trainer",
        "gpus=8 zero=3 precision=fp16 global_batch=32 offload.optimizer= offload.parameters=",
    ),
    // Recipes for several devices shard by FSDP2; the tokenizer sets no length.
    (
        "torchtune_8b_qlora.yaml",
        "torchtune",
        "model=llama-3.1-8b zero=3 seq_len=3072 micro_batch=2 global_batch=512 precision=bf16-pure recompute=full \
         adapter.method=qlora adapter.rank=8 adapter.targets= cross_entropy=chunked",
    ),
    (
        "torchtune_405b_qlora.yaml",
        "torchtune",
        "model=llama-3.1-405b zero=3 micro_batch=1 global_batch=128 precision=bf16-pure adapter.method=qlora adapter.rank=16 \
         adapter.targets=q_proj,v_proj,o_proj,gate_proj,up_proj,down_proj recompute=full cross_entropy=chunked",
    ),
    (
        "torchtune_70b_full.yaml",
        "torchtune",
        "model=llama-3.1-70b zero=3 micro_batch=2 global_batch=32 precision=bf16-pure recompute=full adapter.method= \
         offload.parameters=cpu cross_entropy=chunked",
    ),
    // One step an epoch: 32 x 2 x 16 sequences of the page's length.
    (
        "torchtune_8b_dora.yaml",
        "torchtune",
        "model=llama-3.1-8b micro_batch=2 global_batch=1024 adapter.method=dora adapter.rank=8 adapter.targets=q_proj,v_proj \
         adapter.base= recompute=none tokens_total=3145728",
    ),
    // MPT: LayerNorm, learned positions, a tied head, an FFN of four times the hidden size.
    (
        "llm-foundry_mpt_7b.yaml",
        "composer-2023",
        "gpus=8 zero=3 hsdp_shard=4 seq_len=2048 micro_batch=8 global_batch=1024 precision=fsdp-mixed recompute=full optimizer=adam \
         stack.grad_reduce_bytes=2 tokens_total=134008012800 \
         model.layers=32 model.hidden=4096 model.ffn=16384 model.heads=32 model.vocab=50368 model.norm=layernorm \
         model.learned_positions=2048 model.tied_embeddings=true model.gated_ffn=false",
    ),
    (
        "llm-foundry_llama_8b.yaml",
        "composer-2023",
        "model=llama-3.1-8b gpus=16 zero=3 seq_len=4096 micro_batch=8 global_batch=1024 precision=fsdp-mixed recompute=full \
         tokens_total=13400801280",
    ),
    // DBRX is no preset: the model of the page; its Wqkv are q, k and v. Its frozen weights are in fp32 too:
    // mosaicml/llm-foundry 004a023 `llmfoundry/models/hf/hf_causal_lm.py` loads without a `torch_dtype`.
    (
        "llm-foundry_dbrx_lora.yaml",
        "composer-2023",
        "model=llama-3.1-8b zero=3 seq_len=4096 micro_batch=1 global_batch=16 precision=fsdp-mixed optimizer=lion \
         adapter.method=lora adapter.rank=64 adapter.targets=q_proj,k_proj,v_proj tokens_total=",
    ),
    // The rest of the page stays.
    (
        "peft_qwen_lora.json",
        "hf-trainer",
        "model=qwen-2.5-7b adapter.method=lora adapter.rank=16 adapter.targets= seq_len=3072 micro_batch=4 global_batch=64",
    ),
    (
        "peft_llama_2.json",
        "hf-trainer",
        "model=llama-2-7b adapter.method=lora adapter.rank=64 adapter.targets=q_proj,v_proj",
    ),
    ("peft_mistral_head.json", "hf-trainer", "model=mistral-7b adapter.method=lora adapter.rank=16 adapter.targets="),
    // "auto" is the launcher's.
    (
        "deepspeed_z3_offload.json",
        "deepspeed",
        "zero=3 offload.optimizer=cpu offload.parameters=cpu offload.fraction= micro_batch=4 global_batch=64 overlap.dp=0",
    ),
    (
        "deepspeed_twinflow.json",
        "deepspeed",
        "gpus=8 zero=3 micro_batch=1 global_batch=32 offload.optimizer=cpu offload.parameters= offload.fraction=0.3 \
         offload.activations=cpu precision=bf16",
    ),
    (
        "deepspeed_nvme.json",
        "deepspeed",
        "gpus=8 zero=3 micro_batch=2 global_batch=16 offload.optimizer=nvme offload.parameters=nvme",
    ),
];

#[test]
fn files_mean_what_their_examples_run() {
    let mut wrong = Vec::new();
    for (name, stack, settings) in MEANT {
        let run = import(name).run;
        let software = run.stack.base.unwrap_or_default();
        if software != *stack {
            wrong.push(format!("{name}: {software}"));
        }
        for setting in settings.split_whitespace() {
            let (key, value) = setting.split_once('=').unwrap();
            let field = field(key).unwrap_or_else(|| panic!("{key}"));
            // A preset is named; its shapes are those that it spells out.
            let meant = if key.starts_with("model.") { run.resolved() } else { run.clone() };
            let said = field.text(&meant).unwrap_or_default();
            if said != value {
                wrong.push(format!("{name}: {setting}, read as {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every entry is listed as used, assumed, ignored or not read, but for those that say nothing.
#[test]
fn every_entry_is_used_or_listed_as_ignored() {
    for (name, ..) in MEANT {
        let text = data(name);
        assert!(text.contains("Source: "), "{name}");
        let id = name.split('_').next().unwrap();
        let read = import(name);
        for (entry, value) in entries(dialect(id).unwrap(), &text).unwrap() {
            let silent = match &value {
                Value::Null => true,
                Value::Text(text) => text == "auto" || text.starts_with('$'),
                _ => false,
            };
            let used = read.used.iter().any(|(used, _)| *used == entry);
            let ignored = read.ignored.iter().any(|said| said.to_string().starts_with(&format!("{entry}: ")));
            let unread = read.unread.iter().any(|one| one.name == entry);
            // A model by a name that is not known, with the closest one.
            let named = |said: &Message| value.text().is_some_and(|value| said.to_string().contains(value));
            let assumed = read.assumed.iter().any(named);
            assert!(used || ignored || unread || assumed || silent, "{name}: {entry} = {value:?}");
        }
        assert!(!read.used.is_empty() && !read.assumed.is_empty(), "{name}");
    }
}

/// Settings of a run of fine-tuning that a program does not have; a field that is not here comes back as it was.
const LOSES: &[(&str, &str)] = &[
    (
        "axolotl",
        "zero2_reduce adapter.dtype adapter.experts adapter.sharded adapter.upcast offload.optimizer offload.gradients offload.fraction offload.framework optimizer precision cross_entropy",
    ),
    (
        "llama-factory",
        "zero2_reduce offload.optimizer cp tp hsdp_shard adapter.dtype adapter.experts adapter.sharded adapter.upcast offload.gradients offload.fraction offload.framework zero cross_entropy precision",
    ),
    (
        "trl",
        "cp tp hsdp_shard adapter.dtype adapter.experts adapter.sharded adapter.upcast offload.optimizer offload.parameters offload.gradients offload.fraction offload.framework optimizer zero precision cross_entropy",
    ),
    (
        "torchtune",
        "adapter.dtype adapter.base adapter.experts adapter.sharded adapter.upcast adapter.modules_to_save adapter.targets offload.optimizer offload.gradients offload.fraction offload.framework optimizer precision cross_entropy model zero flash_attention stack.attention",
    ),
    (
        "llm-foundry",
        "cp adapter.method adapter.base adapter.dtype adapter.experts adapter.sharded adapter.upcast adapter.modules_to_save offload.optimizer offload.parameters offload.gradients offload.fraction offload.framework optimizer precision cross_entropy zero stack.compile flash_attention stack.attention",
    ),
];

/// Runs of fine-tuning: those that the page offers, and one setting after the other changed in each.
fn tuned() -> Vec<Run> {
    let changes = [
        "",
        "adapter.method=dora adapter.rank=64 adapter.targets=q_proj,v_proj",
        "adapter.method=qlora adapter.base=nf4",
        "adapter.method=lora adapter.base=int8 adapter.modules_to_save=embed_tokens,lm_head",
        "adapter.method=lora adapter.targets=q_proj,k_proj,v_proj,o_proj",
        "optimizer=adam-8bit cross_entropy=chunked",
        "optimizer=adam-8bit-paged cross_entropy=fused-linear",
        "optimizer=galore recompute=none",
        "optimizer=lion flash_attention=false",
        "precision=fp32",
        "stack.compile=true tokens_total=1e9",
        "offload.activations=cpu host_memory_gib=4096",
    ];
    let runs = TUNED.iter().map(TunedRun::run);
    let runs = runs.flat_map(|run| changes.map(|change| with(&run, change)));
    runs.filter(|run| Scenario::new(run).is_ok()).collect()
}

/// The settings alone, without the link, over a page of as many GPUs.
#[test]
fn what_a_program_can_say_of_fine_tuning_comes_back() {
    let runs = tuned();
    assert!(runs.len() >= 80, "{}", runs.len());
    let mut wrong = std::collections::BTreeSet::new();
    for run in &runs {
        let scenario = Scenario::new(run).unwrap();
        for (id, loses) in LOSES {
            let dialect = dialect(id).unwrap();
            let written = dialect.written(&scenario);
            let text = (dialect.print)(&written, &[]);
            assert_eq!(entries(dialect, &text).unwrap(), written, "{text}");
            let present = Run {
                gpus: run.gpus,
                gpu: run.gpu.clone(),
                host_memory_gib: run.host_memory_gib,
                stack: run.stack.clone(),
                ..Run::default()
            };
            let mut reader = SettingsReader::new(written, present);
            (dialect.read)(&mut reader);
            assert_eq!(reader.errors, [], "{text}");
            let (back, meant) = (reader.run.resolved(), run.resolved());
            // Rank 8 is what is meant where none is said.
            let lost = not_said(dialect, &scenario);
            for field in FIELDS.iter() {
                let same = field.get(&back) == field.get(&meant);
                let may = loses
                    .split(' ')
                    .any(|key| key == field.key || key == "precision" && field.key.starts_with("precision."));
                let named = lost.iter().all(|(key, _)| *key != field.key) && field.key.starts_with("adapter.");
                // Said in whole steps; schedules and scale-up links mean nothing on one pipeline rank.
                let other = ["tokens_total", "sequence_parallel"].contains(&field.key);
                let rank = |run: &Run| run.adapter.rank.unwrap_or(8);
                let same = same || field.key == "adapter.rank" && rank(&back) == rank(&meant);
                if !same && !may && !named && !other {
                    wrong.insert(format!(
                        "{id} loses {} = {:?}, read back as {:?}",
                        field.key,
                        field.get(&meant),
                        field.get(&back)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// LLaMA-Factory issue 7938 as it was filed, on its 64 A100; the same stage of another loss has no reference.
#[test]
fn a_preference_run_that_ran_out_is_read_as_one() {
    let page = with(&page(), "gpus=64 gpu=a100-sxm-80gb");
    let text = data("llama-factory_dpo.yaml");
    let run = read(&text, &page).unwrap().run;
    let report = shardscope::core::report::report(&run).unwrap();
    assert_eq!(serde_json::to_value(report.memory.verdict).unwrap(), "oom");
    for (loss, id) in [("orpo", "orpo"), ("simpo", "simpo"), ("ipo", "dpo")] {
        let run = read(&text.replace("sigmoid", loss), &page).unwrap().run;
        assert_eq!(run.objective.base, Some(id));
    }
}

/// ms-swift's and TRL's names of objectives (`rlhf_args.py:232`, `model_args.py:72`, `trl dpo`).
#[test]
fn objectives_are_read_by_their_names() {
    let swift = data("swift_dpo.sh");
    let hub = data("swift_plain.sh");
    let id = |text: &str| read(text, &page()).unwrap_or_else(|issues| panic!("{issues:?}")).run.objective.base.unwrap();
    assert_eq!(id(&swift), "dpo");
    assert_eq!(id(&swift.replace("rlhf_type dpo", "rlhf_type rm")), "reward");
    assert_eq!(id(&hub), "next-token");
    for (option, named) in [
        ("--rlhf_type kto", "kto"),
        ("--rlhf_type orpo", "orpo"),
        ("--rlhf_type gkd --teacher_model Qwen/Qwen3-32B", "distillation"),
        ("--task_type seq_cls --num_labels 1", "classification"),
        ("--task_type embedding", "embedding"),
        ("--task_type causal_lm", "next-token"),
    ] {
        assert_eq!(id(&format!("{} {option}\n", hub.trim_end())), named, "{option}");
    }
    let trl = |script: &str| format!("{script} --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2");
    assert_eq!(id(&trl("trl dpo")), "dpo");
    assert_eq!(id(&trl("python trl/scripts/kto.py")), "kto");
    assert_eq!(id(&trl("trl sft")), "next-token");
}
