//! llm-foundry's YAML: Composer's trainer with its FSDP.
//!
//! Source: mosaicml/llm-foundry, `scripts/train/yamls`, `llmfoundry/models/mpt/configuration_mpt.py` and Composer's
//! `distributed/dist_strategy.py`: names and defaults.

use super::tuning::{self, LowRank};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::yaml;
use shardscope_core::model::{Biases, Norm};

pub(crate) static DIALECT: Dialect = Dialect {
    id: "llm-foundry",
    name: "llm-foundry",
    file: "llm_foundry.yaml",
    entries: |text| entries(text.text),
    keys: &["device_train_microbatch_size", "global_train_batch_size", "  global_train_batch_size"],
    told: |_| None,
    silent: "composer-2023",
    read,
    write,
    print: yaml::print,
};

/// The settings that a text says, with what `${name}` stands for put in.
pub(crate) fn entries(text: &str) -> Result<SettingEntries, Issue> {
    let mut entries = yaml::entries(text)?;
    of_platform(&mut entries);
    // A name may stand for another.
    for _ in 0..2 {
        let before = entries.clone();
        for (_, value) in &mut entries {
            let Value::Text(text) = value else { continue };
            let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
            let found = name.and_then(|name| before.iter().find(|(key, _)| key == name));
            if let Some((_, meant)) = found {
                *value = meant.clone();
            }
        }
    }
    Ok(entries)
}

/// Takes the settings out of a file that starts a run on the platform of Mosaic, which has them as its `parameters` and
/// the GPUs as `compute.gpus`. Source: mosaicml/llm-foundry 8c8dd48 `mcli/mcli-1b.yaml`.
fn of_platform(entries: &mut SettingEntries) {
    const INNER: &str = "parameters.";
    if !entries.iter().any(|(name, _)| name.starts_with(INNER)) {
        return;
    }
    let gpus = entries.iter().find(|(name, _)| name == "compute.gpus").map(|(_, value)| value.clone());
    entries.retain_mut(|(name, _)| match name.strip_prefix(INNER) {
        Some(inner) => {
            *name = inner.to_owned();
            true
        }
        None => false,
    });
    entries.extend(gpus.map(|gpus| ("gpus".to_owned(), gpus)));
}

fn read(reader: &mut SettingsReader) {
    tuning::begin(reader);
    let length_of_model = reader.count("model.max_seq_len", "sequence");
    if let Some(length) = length_of_model.filter(|_| !reader.has("max_seq_len")) {
        reader.set("seq_len", length);
    }
    tuning::sequence(reader, &["max_seq_len"], DIALECT.name, 0);
    model(reader);
    let tp = reader.count("tp_config.tensor_parallel_degree", "TP").unwrap_or(1);
    reader.set("tp", tp.max(1));
    reader.set("cp", 1);
    mesh(reader);
    let shards = strategy(reader);
    batch(reader);
    let optimizer = reader.word("optimizer.name", "optimizer").unwrap_or_default();
    reader.run.optimizer = match optimizer.as_str() {
        name if name.contains("lion") => Optimizer::Lion,
        name if name.contains("sgd") => Optimizer::Sgd,
        name if name.contains("adam") || name.is_empty() => Optimizer::Adam,
        other => {
            reader.unknown_optimizer("optimizer.name", other);
            reader.run.optimizer
        }
    };
    let word = reader.word("precision", "computes in").unwrap_or_default();
    reader.precision(match (word.as_str(), shards) {
        ("fp32", _) => "fp32",
        ("amp_fp8", _) => "te-fp8",
        ("amp_fp16", _) => "fp16",
        // Frozen weights too: `llmfoundry/models/hf/hf_causal_lm.py` (004a023) loads without a `torch_dtype`.
        _ => "fsdp-mixed",
    });
    let duration = reader.word("max_duration", "steps").unwrap_or_default();
    let count = duration.strip_suffix("ba").and_then(|count| count.parse().ok());
    reader.steps(count);
    tuning::compile(reader, "compile_config");
    reader.run.flash_attention = None;
    for name in ["model.attn_config.attn_impl", "model.config_overrides.attn_config.attn_impl"] {
        if reader.word(name, "attention").as_deref() == Some("torch") {
            reader.run.flash_attention = Some(false);
        }
    }
    if reader.flag("expandable_segments", "expandable segments") {
        reader.run.allocator = shardscope_core::run::Allocator::Expandable;
    }
    reader.flag("model.use_flash_attention_2", "attention without stored scores");
}

/// GPUs follow from a mesh of copies and shards.
fn mesh(reader: &mut SettingsReader) {
    let sizes = match reader.value("fsdp_config.device_mesh") {
        Some(Value::List(items)) => items,
        _ => Vec::new(),
    };
    let sizes: Vec<u64> = sizes
        .iter()
        .filter_map(|size| match size {
            Value::Number(size) => whole(*size),
            _ => None,
        })
        .collect();
    match sizes[..] {
        [copies, shard] => {
            reader
                .note("fsdp_config.device_mesh", t!("{what} {value}", what = "ranks that share shards", value = shard));
            let gpus = copies.saturating_mul(shard).saturating_mul(reader.run.tp);
            reader.set("gpus", gpus);
            reader.run.hsdp_shard = Some(shard).filter(|shard| copies > 1 && *shard > 0);
        }
        _ => tuning::gpus_of_page(reader),
    }
}

/// Reads the sharding and recomputation of FSDP; false where there is none.
fn strategy(reader: &mut SettingsReader) -> bool {
    let word = reader.word("fsdp_config.sharding_strategy", "shards").unwrap_or_default();
    let stage = match word.as_str() {
        "FULL_SHARD" | "HYBRID_SHARD" => 3,
        "SHARD_GRAD_OP" | "_HYBRID_SHARD_ZERO2" => 2,
        _ => 0,
    };
    reader.set("zero", stage);
    let again = reader.flag("fsdp_config.activation_checkpointing", "full recomputation");
    tuning::checkpoint(reader, again);
    let moved = reader.flag("fsdp_config.activation_cpu_offload", "activations on the host");
    tuning::offload_activations(reader, moved);
    if moved {
        reader.run.offload.framework = Some(OffloadFramework::Fsdp2);
    }
    let mixed = reader.word("fsdp_config.mixed_precision", "reduced gradients").unwrap_or_default();
    reader.run.stack.parts.grad_reduce_bytes = match mixed.as_str() {
        "PURE" => Some(2.0),
        "DEFAULT" => Some(4.0),
        _ => None,
    };
    stage > 0
}

fn batch(reader: &mut SettingsReader) {
    let micro = reader.count("device_train_microbatch_size", "micro-batch");
    if let Some(micro) = micro {
        reader.set("micro_batch", micro.max(1));
    }
    match reader.count("global_train_batch_size", "global batch") {
        Some(global) => reader.set("global_batch", global),
        None => reader.assume("the global batch, as on this page: the text does not say"),
    }
}

fn model(reader: &mut SettingsReader) {
    let rank = reader.count("model.peft_config.r", "rank of the adapters");
    let targets = tuning::targets(reader, "model.peft_config.target_modules");
    let kind = reader.word("model.peft_config.peft_type", "adapters");
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("lora")) {
        LowRank { rank, dora: false, base: None, targets, saved: None }.take(reader);
    }
    if reader.word("model.name", "class of models").as_deref() != Some("mpt_causal_lm") {
        hub::read(reader, "model.pretrained_model_name_or_path");
        return;
    }
    let mut count = |name: &str, what| reader.count(name, what);
    let (hidden, layers) = (count("model.d_model", "hidden size"), count("model.n_layers", "layers"));
    let (heads, vocab) = (count("model.n_heads", "heads"), count("model.vocab_size", "vocabulary"));
    let kv_heads = count("model.attn_config.kv_n_heads", "key-value heads");
    let ffn_size = count("model.ffn_config.ffn_hidden_size", "FFN size");
    let ratio = reader.number("model.ffn_config.expansion_ratio", "FFN size over hidden size");
    let ratio = ratio.or_else(|| reader.number("model.expansion_ratio", "FFN size over hidden size"));
    let wide = |hidden: u64| whole((hidden as f64 * ratio.unwrap_or(4.0)).round());
    let kind = reader.word("model.ffn_config.ffn_type", "FFN").unwrap_or_default();
    let norm = reader.word("model.norm_type", "norms").unwrap_or_default();
    let tied = tuning::switch(reader, "model.tie_word_embeddings", "tied embeddings");
    let bare = reader.flag("model.no_bias", "biases");
    let rotary = reader.flag("model.attn_config.rope", "rotary positions")
        | reader.flag("model.attn_config.alibi", "positions by ALiBi");
    let learned = tuning::switch(reader, "model.learned_pos_emb", "learned positions");
    let dropout = reader.number("model.resid_pdrop", "dropout").unwrap_or(0.0);
    let positions = if learned.unwrap_or(!rotary) { reader.run.seq_len } else { 0 };
    let parts = ModelParts {
        layers,
        hidden,
        heads,
        vocab,
        kv_heads: kv_heads.or(heads),
        head_dim: hidden.zip(heads).map(|(hidden, heads)| hidden / heads.max(1)),
        ffn: ffn_size.or_else(|| hidden.and_then(wide)),
        gated_ffn: Some(kind.contains("glu")),
        norm: Some(if norm.contains("rms") { Norm::Rms } else { Norm::Layer }),
        biases: Some(if bare { Biases::None } else { Biases::All }),
        tied_embeddings: Some(tied.unwrap_or(true)),
        learned_positions: Some(positions),
        dropout: Some(dropout > 0.0),
        ..ModelParts::default()
    };
    reader.model(parts);
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    writer.say("max_seq_len", run.seq_len);
    write_model(s, writer);
    let optimizer = match run.optimizer {
        Optimizer::Lion => "decoupled_lionw",
        Optimizer::Sgd | Optimizer::SgdMomentum => "decoupled_sgdw",
        _ => "decoupled_adamw",
    };
    writer.say("optimizer.name", optimizer);
    writer.maybe("max_duration", steps(run).map(|steps| format!("{steps}ba")));
    writer.say("global_train_batch_size", run.global_batch);
    writer.say("device_train_microbatch_size", run.micro_batch);
    writer.say(
        "precision",
        match computes(&run.precision) {
            "fp32" => "fp32",
            "fp16" => "amp_fp16",
            "fp8" => "amp_fp8",
            _ => "amp_bf16",
        },
    );
    let strategy = match run.zero {
        3 => "FULL_SHARD",
        2 => "SHARD_GRAD_OP",
        _ => "NO_SHARD",
    };
    writer.say("fsdp_config.sharding_strategy", strategy);
    match run.stack.parts.grad_reduce_bytes {
        Some(2.0) => writer.say("fsdp_config.mixed_precision", "PURE"),
        Some(4.0) => writer.say("fsdp_config.mixed_precision", "DEFAULT"),
        _ => {}
    }
    writer.say("fsdp_config.activation_checkpointing", run.recompute == Recompute::Full);
    writer.say("fsdp_config.activation_cpu_offload", tuning::offloads_activations(s));
    let copies = s.layout.dp / s.zero.shard.max(1);
    if run.zero >= 2 && copies > 1 && s.layout.cp == 1 {
        let mesh = [copies, s.zero.shard].map(Value::from);
        writer.say("fsdp_config.device_mesh", mesh.to_vec());
    }
    writer.when(run.tp > 1, "tp_config.tensor_parallel_degree", run.tp);
}

fn write_model(s: &Scenario, writer: &mut SettingsWriter) {
    let (run, m) = (&s.run, &s.model);
    if let Some(name) = hub::repository(&run.model) {
        writer.say("model.name", "hf_causal_lm");
        writer.say("model.pretrained_model_name_or_path", name);
    } else {
        writer.say("model.name", "mpt_causal_lm");
        writer.say("model.d_model", m.hidden);
        writer.say("model.n_heads", m.heads);
        writer.say("model.n_layers", m.layers);
        writer.say("model.vocab_size", m.vocab);
        writer.say("model.norm_type", if m.norm == Norm::Rms { "rmsnorm" } else { "low_precision_layernorm" });
        writer.say("model.no_bias", m.biases == Biases::None);
        writer.say("model.tie_word_embeddings", m.tied_embeddings);
        writer.say("model.learned_pos_emb", m.learned_positions > 0);
        writer.say("model.resid_pdrop", if m.dropout { 0.1 } else { 0.0 });
        writer.say("model.attn_config.kv_n_heads", m.kv_heads);
        writer.say("model.attn_config.rope", m.learned_positions == 0);
        writer.say("model.ffn_config.ffn_type", if m.gated_ffn { "mptglu" } else { "mptmlp" });
        writer.say("model.ffn_config.ffn_hidden_size", m.ffn);
    }
    if let Some(adapter) = &s.adapter {
        writer.say("model.peft_config.peft_type", "LORA");
        writer.say("model.peft_config.r", adapter.rank);
        writer.say("model.peft_config.target_modules", tuning::list(&tuning::target_names(adapter)));
    }
}
