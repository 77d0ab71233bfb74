//! Every setting matters: each field of the registry changes a figure of some Run.

use crate::common::random::{Random, random_run};
use serde_json::Value as Json;
use shardscope::core::report::{evaluate, report};
use shardscope::core::rl::predict;
use shardscope::core::run::registry::{FIELDS, Field, Slot};
use shardscope::core::run::{Run, Value};
use shardscope::core::whole_run::whole_run;
use shardscope::io::link::decode;
use std::thread;

/// Fields that change no figure, and why.
const NO_FIGURE: &[(&str, &str)] = &[
    ("model.name", "a name"),
    ("model.arguments", "passed through to Megatron-LM"),
    ("currency", "the symbol of the price"),
    ("profile.name", "a name"),
    ("profile.gpu", "a remark on where the profile is from"),
    ("profile.version", "a remark on where the profile is from"),
];

/// Runs in which rarely used fields mean something.
const SPECIAL: &[&str] = &[
    "model=qwen-3-30b-a3b&gpus=64&tp=1&pp=1&ep=64&ep_overlap=1f1b&moe_dispatch=per-node&seq_len=4096&global_batch=256",
    "model=qwen-3-30b-a3b&gpus=64&tp=1&pp=1&ep=64&ep_overlap=1f1b&gpu.base=h100-sxm-80gb&gpu.inter_gb_per_s=80&seq_len=4096&global_batch=256",
    "model=mixtral-8x7b&gpus=64&ep=8&tp=1&pp=1",
    "model=mixtral-8x7b&gpus=64&ep=8&tp=1&pp=1&moe_rank_capacity=2",
    "model=deepseek-v3&gpus=256&ep=32&tp=1&pp=1&stack=megatron-2026&moe_sigma=0.6&moe_clones=1&seq_len=4096&global_batch=512",
    "model=deepseek-v3&gpus=256&ep=8&tp=1&pp=1&stack=megatron-2026&weight_shards=8&expert_weight_shards=2&seq_len=4096&global_batch=512",
    "model=deepseek-v3&gpus=256&ep=32&tp=1&pp=8&stack=megatron-2025&seq_len=4096&global_batch=512",
    "zero=3&tp=1&pp=1&gpus=64&stack=deepspeed&precision=bf16&overlap.dp=0",
    "gpus=64&tp=1&pp=1&cp=8&cp_comm=hierarchical&seq_len=32768&global_batch=64",
    "tp=8&pp=1&gpus=64&sequence_parallel=false",
    "model=deepseek-v3&gpus=512&ep=64&tp=1&pp=8&stage_layers=8,8,8,8,8,7,7,7&model.mtp_modules=1&stack=deepseek-v3",
    "model=deepseek-v3.2&gpus=256&ep=8&tp=1&pp=1&stack=megatron-2026&gpu=b200-sxm&capacity_factor=2",
    "model=deepseek-v4-flash&gpus=64&ep=8&tp=1&pp=1",
    "model=qwen-3-next-80b-a3b&gpus=64&ep=8&tp=1&pp=1",
    "model=nemotron-3-nano&gpus=64&ep=8&tp=1&pp=1",
    "model=nemotron-3-super&gpus=64&ep=8&tp=1&pp=1",
    "model=kimi-k3&gpus=256&ep=32&tp=1&pp=1",
    "model=mimo-v2-flash&gpus=64&ep=8&tp=1&pp=1",
    "model=gemma-4-31b&gpus=8&tp=1&pp=1&global_batch=8",
    "model=llama-4-scout&gpus=64&ep=8&tp=1&pp=1&seq_len=32768&global_batch=64",
    "model.base=llama-3.1-8b&model.vision.hidden=1024&model.vision.layers=24",
    "model.base=llama-3.1-8b&model.vision.hidden=1024&model.vision.layers=24&model.vision.window=56",
    "model.base=llama-3.1-8b&model.vision.base=internvit-300m",
    "model.base=llama-3.1-8b&model.vision.base=qwen3.5&model.vision.image_sizes=448x448:3,1920x1080:1",
    "model.base=llama-3.1-8b&model.vision.base=qwen3.5&model.vision.placement=own-ranks&model.vision.gpus=4&gpus=68",
    "model.base=llama-3.1-8b&model.vision.base=qwen3.5&model.vision.placement=own-ranks&gpus=5&tp=1&pp=1&global_batch=8",
    "model=gpt-3-175b&gpus=64&tp=8&pp=8",
    "precision=mxfp8&gpu=b200-sxm&stack=megatron-2025",
    "precision=nvfp4&gpu=b200-sxm",
    "precision=fsdp-mixed&zero=3&pp=1&gpus=16&stack=fsdp2&hsdp_shard=8&optimizer=sgd",
    "zero=1&tp=1&pp=1&gpus=16&hsdp_shard=8",
    "zero=2&pp=1&gpus=16",
    "zero=3&pp=1&tp=8&gpus=64&stack=megatron-2026&fsdp_double_buffer=true",
    "tokens_total=1e12&spare_quantile=0.99",
    "cp=2&gpus=32&seq_len=32768&global_batch=32",
    "lengths.base=log-normal&lengths.median=1000&lengths.sigma=1&lengths.pack=8192&gpus=64&tp=1&pp=1",
    "lengths.base=histogram&lengths.values=1k:22,8k:15&gpus=64&tp=1&pp=1&micro_batch=2",
    "lengths.base=constant&lengths.median=1000&lengths.pack=8192&gpus=64&tp=1&pp=1&cp=2&cp_dynamic=true&cp_rank_tokens=4096",
    "model=mixtral-8x7b&adapter.method=lora&gpus=8&ep=8&tp=1&pp=1&global_batch=64",
    "adapter.method=lora&gpus=8&tp=1&pp=1&stack=hf-trainer&global_batch=8",
    "adapter.method=qlora&gpus=1&tp=1&pp=1&stack=hf-trainer&global_batch=8",
    "offload.optimizer=cpu&zero=3&pp=1&gpus=16&tp=1&stack=deepspeed&host_memory_gib=2048",
    "offload.parameters=cpu&offload.optimizer=nvme&zero=3&pp=1&gpus=16&tp=1&stack=deepspeed&host_memory_gib=2048",
    "offload.optimizer=cpu&offload.framework=megatron&pp=1&gpus=16&tp=1&host_memory_gib=2048",
    "offload.activations=cpu&stack=megatron-2025&pp=1&gpus=16&tp=1&host_memory_gib=2048",
    "schedule=optimal&pp=4&gpus=32&schedule_options.memory_limit=2&offload.order=true&gpu.base=h100-sxm-80gb\
        &gpu.host_gb_per_s=400",
    "offload.optimizer=cpu&gpus=1&tp=1&pp=1&global_batch=1&stack=hf-trainer&host_memory_gib=512",
    "phases.framework=verl&pp=1&gpus=16&zero=3",
    "objective=dpo&pp=1&tp=1&gpus=16&zero=3&stack=hf-trainer&host_memory_gib=2048",
    "objective.base=distillation&objective.teacher=policy&pp=1&tp=1&gpus=16&zero=3&stack=hf-trainer",
    "phases.framework=openrlhf&pp=1&gpus=16&zero=3&phases.critic=policy&phases.reward=policy",
    "phases.framework=nemo-rl&model=qwen-3-32b&gpus=64&tp=8&pp=1&global_batch=64&seq_len=4096&rl.algorithm=grpo\
        &rl.prompts=512&rl.samples=16&rl.prompt_tokens=100&rl.response_tokens.mean=1500&rl.response_limit=8192\
        &rl.rollout_tp=4&rl.turns=2&rl.tool_s=1&rl.steps=100",
    "phases.framework=nemo-rl&model=qwen-3-32b&gpus=64&tp=8&pp=1&global_batch=192&seq_len=4096&rl.algorithm=grpo\
        &rl.prompts=512&rl.samples=16&rl.prompt_tokens=100&rl.response_tokens.median=1500&rl.response_limit=8192\
        &rl.rollout_tp=4&rl.rollout_gpus=32&rl.staleness=1",
    "model=qwen-3-32b&gpus=64&tp=8&pp=1&global_batch=64&seq_len=4096&rl.algorithm=grpo&rl.prompts=512&rl.samples=16\
        &rl.prompt_tokens=100&rl.response_tokens.mean=1500&rl.response_limit=8192&rl.rollout_tp=4&rl.rollout_gpus=32",
    "schedule=interleaved-1f1b&virtual_stages=2&zero=2&zero2_reduce=group",
    "schedule=chimera",
    "schedule=hanayo",
    "schedule=zb-auto",
    "schedule=seq1f1b",
    "schedule=custom&pp=2&gpus=4&tp=1&global_batch=4&schedule_options.order=0F0,0F1,0BW0,0BW1|1F0,1BW0,1F1,1BW1",
    "loader_ns=2&cuda_graphs=true&measured_step_s=20&tokens_total=1e12&price_per_gpu_hour=2",
    "gpus=4096&global_batch=2048&tokens_total=1e12&eval_every=100&eval_samples=512&grid_kg_per_kwh=0.3&failures=shared&price_per_gpu_hour=2",
    "gpus=4096&global_batch=2048&tokens_total=1e12&rollbacks=20&rollback_steps=400&context_phases=16384:1e11",
    "gpus=4096&global_batch=2048&tokens_total=1e12&checkpoint_every_s=600&checkpoint_async=false",
    "profile.means=1,1,1,1,1,1,1&profile.widths=0.1,0.1,0.1,0.1,0.1,0.1,0.1&profile.spread=0.1",
    "profile.means=1,1,1,1,1,1,1&profile.widths=0.06,0.06,0.06,0.06,0.06,0.06,0.06&profile.spread=0.07&profile.runs=1000",
];

/// Values that `field` takes, about where `now` stands.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
fn values(field: &Field, now: &Value, random: &mut Random) -> Vec<Value> {
    let ids = |options: Vec<_>| options.into_iter().map(|choice: shardscope::core::run::Choice| choice.id.to_owned());
    match (&field.slot, now) {
        (Slot::Count { range, .. }, now) => {
            let mut counts = vec![0, 1, 2, 3, 4, 8, 16, 64, 128, 512, 1024, 4096];
            if let Value::Number(now) = now {
                counts.extend([now * 2.0, now / 2.0, now + 1.0, now - 1.0].map(|count| count.max(0.0) as u64));
            }
            counts.into_iter().filter(|count| (range.0..=range.1).contains(count)).map(Value::from).collect()
        }
        (Slot::Number { range, .. }, now) => {
            let mut numbers = vec![0.3, 0.6, 1.7, 4.0, 16.0, 64.0, 1e3, 1e12];
            if let Value::Number(now) = now {
                numbers.extend([now * 1.5, now * 0.5]);
            }
            numbers.into_iter().filter(|number| (range.0..=range.1).contains(number)).map(Value::Number).collect()
        }
        (Slot::Toggle, _) => [true, false].map(Value::Bool).into(),
        (Slot::Choice { options }, _) => ids(options()).map(Value::Text).collect(),
        (Slot::Set { options }, _) => ids(options()).map(|id| Value::List(vec![Value::Text(id)])).collect(),
        (Slot::Counts, _) => [vec![9, 8, 8, 7], vec![8192; 32], vec![4096; 32], vec![33, 31], vec![64, 32, 4096]]
            .map(|list: Vec<u64>| Value::List(list.into_iter().map(Value::from).collect()))
            .into(),
        (Slot::Numbers { length, range }, _) => {
            let number = Value::Number(range.0 + (range.1 - range.0) * random.one(&[0.02, 0.05]));
            vec![Value::List(vec![number; *length])]
        }
        (Slot::Text, _) => [
            "Wd,Ad",
            "vetted",
            "32768:2e11",
            "h100-sxm-80gb:3,gb200:9",
            "MEM*E",
            "0F0,0F1,0BW0,0BW1|1F0,1F1,1BW0,1BW1",
            "zzzzzzzzzzzzzzzzzzzzz",
            "a name",
            "512:1,4096:3",
            "448x448:1,896x896:3",
        ]
        .map(|text| Value::Text(text.to_owned()))
        .into(),
    }
}

/// All figures of the report and of the whole run of `run`, none of its words; none where it makes no sense.
fn figures(run: &Run) -> Option<Vec<f64>> {
    fn take(json: &Json, into: &mut Vec<f64>) {
        match json {
            Json::Number(number) => into.extend(number.as_f64()),
            Json::Array(items) => items.iter().for_each(|item| take(item, into)),
            Json::Object(entries) => entries.values().for_each(|entry| take(entry, into)),
            _ => {}
        }
    }
    let mut figures = Vec::new();
    let evaluation = evaluate(run).ok()?;
    take(&serde_json::to_value(&evaluation.report).ok()?, &mut figures);
    if let Ok((whole, _)) = whole_run(&evaluation) {
        take(&serde_json::to_value(whole).ok()?, &mut figures);
    }
    if run.rl.algorithm.is_some()
        && let Ok(step) = predict(run)
    {
        take(&serde_json::to_value(step).ok()?, &mut figures);
    }
    Some(figures)
}

/// Some value of `field` changes a figure of `run`.
fn matters(field: &Field, run: &Run, before: &[f64], random: &mut Random) -> bool {
    let now = match field.get(run) {
        Value::Null => field.get(&run.resolved()),
        set => set,
    };
    values(field, &now, random).iter().filter(|value| **value != now).any(|value| {
        let mut changed = run.clone();
        field.set(&mut changed, value).is_ok() && figures(&changed).is_some_and(|after| after != before)
    })
}

#[test]
fn every_field_changes_a_figure_of_some_run() {
    let mut random = Random::new(26);
    let special = |link: &&str| {
        let run = decode(&format!("v=1&{link}")).run;
        assert!(figures(&run).is_some(), "{link}: {:?}", report(&run).err());
        run
    };
    let mut runs: Vec<Run> = SPECIAL.iter().map(special).collect();
    runs.extend((0..40).map(|_| random_run(&mut random)));
    let runs: Vec<_> = runs.into_iter().filter_map(|run| figures(&run).map(|figures| (run, figures))).collect();
    let idle = |fields: &[Field]| -> Vec<&'static str> {
        let mut random_values = Random::new(4);
        let mut is_idle =
            |field: &&Field| !runs.iter().any(|(run, before)| matters(field, run, before, &mut random_values));
        fields.iter().filter(&mut is_idle).map(|field| field.key).collect()
    };
    let mut expected: Vec<&str> = NO_FIGURE.iter().map(|(key, _)| *key).collect();
    // A thread for each quarter of the fields: this is the longest test of the house.
    let mut found: Vec<&str> = thread::scope(|scope| {
        let quarters = FIELDS.chunks(FIELDS.len().div_ceil(4)).map(|fields| scope.spawn(|| idle(fields)));
        let started: Vec<_> = quarters.collect();
        started.into_iter().flat_map(|quarter| quarter.join().unwrap()).collect()
    });
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(
        found, expected,
        "fields that change no figure (left) are not those listed in NO_FIGURE (right): read the field where its effect \
         is (memory, time, traffic), or a Run in SPECIAL where it means something, or list it with its reason"
    );
}
