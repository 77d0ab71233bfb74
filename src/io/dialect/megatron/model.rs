//! The model in Megatron-LM's arguments.

use super::forks;
use super::pattern;
use super::release::Release;
use crate::config::passed::{FLAGS, VALUES, is_plain};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::words::is_open;
use shardscope_core::message::Message;
use shardscope_core::model::{Architecture, Biases, Norm, QkNorm};
use shardscope_core::run::presets;
use shardscope_core::run::registry::FIELDS;

/// Takes the model, if the text says one: `--num-layers` is required of one. What no argument says is as in the preset
/// that the tokenizer is of.
pub fn read(reader: &mut SettingsReader) {
    reader.word("--tokenizer-type", "tokenizer");
    let tokenizer = reader.word("--tokenizer-model", "tokenizer of");
    if by_name(reader) {
        return;
    }
    let preset = tokenizer.and_then(|name| hub::preset(&name));
    let Some(parts) = shapes(reader, preset) else { return };
    let named = preset.and_then(|id| Some((id, completed(&parts, id)?)));
    let Some((id, whole)) = named.filter(|(_, whole)| *whole != parts) else {
        return reader.model(parts);
    };
    reader.model(whole);
    let label = presets::model(id).map_or(id, |preset| preset.choice.label);
    reader.assume(t!(
        "what Megatron-LM has no argument for is taken from {label}, whose tokenizer the text names",
        label
    ));
}

/// Sizes that settings may say beside the name of a model.
const SIZES: [(&str, &str, &str); 10] = [
    ("--num-layers", "layers", "model.layers"),
    ("--hidden-size", "hidden size", "model.hidden"),
    ("--ffn-hidden-size", "FFN size", "model.ffn"),
    ("--num-attention-heads", "heads", "model.heads"),
    ("--num-query-groups", "key-value heads", "model.kv_heads"),
    ("--vocab-size", "vocabulary", "model.vocab"),
    ("--num-experts", "experts", "model.moe.experts"),
    ("--moe-router-topk", "experts per token", "model.moe.top_k"),
    ("--moe-ffn-hidden-size", "expert FFN size", "model.moe.expert_ffn"),
    ("--mtp-num-layers", "multi-token-prediction modules", "model.mtp_modules"),
];

/// Takes the model that other programs' settings name, with the sizes that they change; false where none is known by
/// the name and the sizes say one.
fn by_name(reader: &mut SettingsReader) -> bool {
    if !reader.has(NAME) {
        return false;
    }
    let named = reader.last(NAME).and_then(|value| hub::model(value.text()?));
    if named.is_none() && reader.has("--num-layers") {
        return false;
    }
    hub::read(reader, NAME);
    // The switch beside a number of key-value heads, which is taken below.
    reader.value("--group-query-attention");
    let experts = reader.run.model.resolve().is_ok_and(|model| model.moe.is_some());
    for (name, what, key) in SIZES {
        if named.is_none() || key.starts_with("model.moe.") && !experts {
            continue;
        }
        if let Some(count) = reader.count(name, what) {
            reader.set(key, count);
        }
    }
    true
}

/// A model's name in the settings of programs that launch Megatron-LM.
const NAME: &str = "model";

/// `parts` with what no argument says of the preset `id`: settings that its arguments would say as these do.
fn completed(parts: &ModelParts, id: &'static str) -> Option<ModelParts> {
    let preset: Based<ModelParts> = Based::preset(id);
    let model = preset.resolve().ok()?;
    let mut writer = SettingsWriter::default();
    write_shapes(&model, 0, Release::Y2026, &mut writer);
    let written = shapes(&mut SettingsReader::new(writer.done(), Run::default()), None)?;
    let run = |parts: ModelParts| Run { model: Based { base: None, parts }, ..Run::default() };
    let (mut meant, said, whole) = (run(parts.clone()), run(written), run(model.into()));
    for field in FIELDS.iter().filter(|field| field.key.starts_with("model.")) {
        let value = field.get(&whole);
        if field.get(&meant) == field.get(&said) && field.get(&said) != value {
            field.set(&mut meant, &value).ok()?;
        }
    }
    Some(meant.model.parts)
}

/// Tokens of GPT-2's tokenizer. Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
/// section 2.3.
const GPT_2: u64 = 50_257;

/// Tokens of Llama 2's tokenizer. Source: Touvron et al. 2023, "Llama 2: Open Foundation and Fine-Tuned Chat Models",
/// section 2.2.
const LLAMA_2: u64 = 32_000;

/// The vocabulary that the kind of the tokenizer decides, with the words of it and whether it is sure; none of a kind
/// of many tokenizers.
fn of_tokenizer_kind(reader: &SettingsReader) -> Option<(u64, Message, bool)> {
    if is_of_gpt_2(reader) {
        return Some((GPT_2, t!("vocabulary {vocab}: that of GPT-2's tokenizer", vocab = GPT_2), true));
    }
    // Megatron-LM d98e8a6 `megatron/training/arguments.py`, `--tokenizer-type`.
    if reader.last("--tokenizer-type").and_then(Value::text)? != "Llama2Tokenizer" {
        return None;
    }
    let vocab = LLAMA_2;
    // Its size is that of the file, whoever trained it: Megatron-LM core_r0.12.0
    // `megatron/training/tokenizer/tokenizer.py` (`_Llama2Tokenizer`, `vocab_size`). Meta's file is `tokenizer.model`,
    // and so are those of others: google/gemma-7b, whose `config.json` has a vocabulary of 256000.
    let file = reader.last("--tokenizer-model").and_then(Value::text);
    let is_another = |file: &&str| {
        let last = file.rsplit('/').next().unwrap_or_default();
        !is_open(last) && !file.to_ascii_lowercase().contains("llama")
    };
    Some(match file.filter(is_another) {
        Some(file) => {
            let file = file.to_owned();
            let words = t!(
                "vocabulary {vocab}: that of Llama 2's tokenizer, whose kind is named; the file {file} decides it, \
                    which is not here: set the vocabulary",
                vocab,
                file
            );
            (vocab, words, false)
        }
        None => (vocab, t!("vocabulary {vocab}: that of Llama 2's tokenizer, which is named", vocab), true),
    })
}

/// True where a text takes GPT-2's tokenizer: by its name, or by files of words and merges without another's name.
/// Source: Megatron-LM d98e8a6 `megatron/core/tokenizers/text/libraries/megatron_hf_tokenizer.py:40`; `pretrain_gpt.py`
/// of `core_r0.12.0` (`args_defaults`).
fn is_of_gpt_2(reader: &SettingsReader) -> bool {
    match reader.last("--tokenizer-type").and_then(Value::text) {
        Some(kind) => kind == "GPT2BPETokenizer",
        None => reader.has("--vocab-file") && reader.has("--merge-file"),
    }
}

/// The vocabulary as it is padded: as given, that of the model whose `tokenizer` is named, or the `present` one.
fn vocabulary(reader: &mut SettingsReader, tokenizer: Option<&'static str>, present: Option<u64>) -> Option<u64> {
    let is_padded = reader.has("--padded-vocab-size") || reader.has("--pad-vocab-size-to");
    let vocab = reader.count("--vocab-size", "vocabulary").or_else(|| {
        let preset = tokenizer.and_then(presets::model);
        let vocab = preset.map(|preset| preset.architecture.vocab).or(present)?;
        if is_padded {
            return Some(vocab);
        }
        if let Some((vocab, words, is_sure)) = of_tokenizer_kind(reader).filter(|_| preset.is_none()) {
            reader.assume(words);
            reader.doubted |= !is_sure;
            return Some(vocab);
        }
        if let Some(preset) = preset {
            let model = preset.choice.label;
            reader.assume(t!("vocabulary {vocab}: that of {model}, whose tokenizer is named", vocab, model));
            return Some(vocab);
        }
        reader.assume(t!(
            "vocabulary {vocab}, as on this page: the text does not say it, and names no tokenizer that is known here",
            vocab
        ));
        Some(vocab)
    });
    let multiple = reader.count("--make-vocab-size-divisible-by", "vocabulary in parts of");
    let padded = reader.count("--padded-vocab-size", "padded vocabulary");
    // Megatron-DeepSpeed's name for it.
    let padded = padded.or_else(|| reader.count("--pad-vocab-size-to", "padded vocabulary"));
    // Padded to a multiple for every tensor-parallel rank; by 128 it is anyway.
    let vocab = match (vocab, multiple) {
        (Some(vocab), Some(multiple)) if multiple > 0 && multiple != 128 => {
            let whole = multiple.saturating_mul(reader.run.tp.max(1));
            vocab.div_ceil(whole).checked_mul(whole)
        }
        _ => vocab,
    };
    // Said, it takes the place of what is padded. Source: Megatron-LM d98e8a6 `training_config.py:682`.
    padded.or(vocab)
}

/// Sizes by arguments; the vocabulary is that of the preset whose tokenizer is named, where no argument says it.
fn shapes(reader: &mut SettingsReader, tokenizer: Option<&'static str>) -> Option<ModelParts> {
    let letters = pattern::hybrid(reader);
    let (letters, written) = letters.unzip();
    let Some(layers) = reader.count("--num-layers", "layers").or(written) else {
        reader.assume("the model, as on this page: --num-layers is not there");
        return None;
    };
    let now = reader.run.model.resolve().ok();
    let hidden = reader.count("--hidden-size", "hidden size");
    let heads = reader.count("--num-attention-heads", "heads");
    let gated = reader.any(["--swiglu", "--quick-geglu"], "gated FFN");
    // Megatron-DeepSpeed's name: liglu, geglu, reglu, swiglu.
    let gated = gated | reader.word("--glu-activation", "gated FFN").is_some();
    reader.flag("--squared-relu", "squared ReLU");
    let ffn = reader.count("--ffn-hidden-size", "FFN size").or_else(|| {
        let hidden = hidden?;
        // `int((4 * args.hidden_size * 2 / 3) / 64) * 64` with SwiGLU.
        let ffn = if gated { 4 * hidden * 2 / 3 / 64 * 64 } else { 4 * hidden };
        reader.assume(t!("FFN size {ffn}: what Megatron-LM takes where it is not given", ffn));
        Some(ffn)
    });
    let grouped = reader.flag("--group-query-attention", "grouped-query attention");
    let groups = reader.count("--num-query-groups", "key-value heads");
    let by_deepspeed = reader.count("--num-key-value-heads", "key-value heads");
    let vocab = vocabulary(reader, tokenizer, now.map(|model| model.vocab));
    let positions = reader.count("--max-position-embeddings", "positions");
    let kind = reader.word("--position-embedding-type", "positions");
    let rotary = reader.flag("--use-rotary-position-embeddings", "rotary positions");
    let learned = matches!(kind.as_deref(), None | Some("learned_absolute")) && !rotary;
    let norm = reader.word("--normalization", "norm");
    let bare = reader.flag("--disable-bias-linear", "no biases");
    let qkv = reader.flag("--add-qkv-bias", "biases of queries, keys and values");
    let dropout = reader.number("--hidden-dropout", "dropout").unwrap_or_else(|| {
        reader.assume("dropout: 0.1 unless Megatron-LM is told");
        0.1
    });
    let layers = forks::without_noop(reader, layers);
    let mut parts = ModelParts {
        layers: Some(layers),
        hidden,
        ffn,
        heads,
        kv_heads: groups.filter(|_| grouped).or(by_deepspeed).or(heads),
        head_dim: reader.count("--kv-channels", "head width"),
        vocab,
        gated_ffn: Some(gated),
        tied_embeddings: Some(!reader.flag("--untie-embeddings-and-output-weights", "a head of its own")),
        norm: Some(if norm.is_some_and(|norm| norm.eq_ignore_ascii_case("RMSNorm")) { Norm::Rms } else { Norm::Layer }),
        qk_norm: Some(if reader.flag("--qk-layernorm", "norm of queries and keys") {
            QkNorm::Head
        } else {
            QkNorm::None
        }),
        biases: Some(match (bare, qkv) {
            (true, true) => Biases::Qkv,
            (true, false) => Biases::None,
            (false, _) => Biases::All,
        }),
        dropout: Some(dropout > 0.0),
        learned_positions: Some(positions.filter(|_| learned).unwrap_or(0)),
        mtp_modules: Some(reader.count("--mtp-num-layers", "multi-token-prediction modules").unwrap_or(0)),
        ..ModelParts::default()
    };
    experts(reader, &mut parts);
    latent(reader, &mut parts);
    pattern::read(reader, &mut parts, letters);
    parts.arguments = passed(reader);
    Some(parts)
}

fn experts(reader: &mut SettingsReader, parts: &mut ModelParts) {
    let Some(experts) = reader.count("--num-experts", "experts").filter(|experts| *experts > 1) else {
        return;
    };
    let width = reader.count("--moe-ffn-hidden-size", "expert FFN size").or(parts.ffn);
    let shared = reader.count("--moe-shared-expert-intermediate-size", "width of the shared experts");
    reader.word("--moe-token-dispatcher-type", "tokens to experts by");
    reader.flag("--moe-grouped-gemm", "grouped GEMMs");
    parts.moe.experts = Some(experts);
    let top_k = if forks::is_deepspeed(reader) {
        Some(forks::experts_of_a_token(reader))
    } else {
        reader.count("--moe-router-topk", "experts per token")
    };
    parts.moe.top_k = Some(top_k.unwrap_or_else(|| {
        reader.assume("2 experts per token: Megatron-LM where it is silent");
        2
    }));
    let groups = reader.count("--moe-router-num-groups", "expert groups");
    let chosen = reader.count("--moe-router-group-topk", "groups per token");
    parts.moe.groups = groups.filter(|groups| *groups > 0);
    parts.moe.top_groups = chosen.filter(|chosen| *chosen > 0);
    parts.moe.expert_ffn = width;
    // MindSpeed-LLM's: their number, of an expert's width.
    let of_a_width = reader.count("--n-shared-experts", "shared experts");
    let shared = shared.map(|shared| shared.div_ceil(width.unwrap_or(1).max(1))).or(of_a_width);
    parts.moe.shared_experts = Some(shared.unwrap_or(0));
    parts.moe.latent = reader.count("--moe-latent-size", "latent width");
}

fn latent(reader: &mut SettingsReader, parts: &mut ModelParts) {
    if !reader.flag("--multi-latent-attention", "latent attention") {
        return;
    }
    let mut count = |name, what, default| reader.count(name, what).unwrap_or(default);
    // The defaults of `MLATransformerConfig`.
    parts.mla.q_lora_rank = Some(count("--q-lora-rank", "query rank", 0));
    parts.mla.kv_lora_rank = Some(count("--kv-lora-rank", "key-value rank", 32));
    parts.mla.qk_nope_head_dim = Some(count("--qk-head-dim", "head width without position", 128));
    parts.mla.qk_rope_head_dim = Some(count("--qk-pos-emb-head-dim", "rotary head width", 64));
    parts.mla.v_head_dim = Some(count("--v-head-dim", "value head width", 128));
    parts.head_dim = parts.mla.v_head_dim;
}

/// Says the model, and its tokenizer where it is a preset's.
pub fn write(s: &Scenario, writer: &mut SettingsWriter) {
    write_shapes(&s.model, s.run.seq_len, Release::of(&s.software), writer);
    if let Some(text) = &s.run.model.parts.arguments {
        write_passed(text, writer);
    }
    let same = s.run.model.parts.vocab.is_none();
    if let Some(name) = hub::repository(&s.run.model.bare()).filter(|_| same) {
        writer.say("--tokenizer-type", "HuggingFaceTokenizer");
        writer.say("--tokenizer-model", name);
    }
}

fn write_shapes(m: &Architecture, seq_len: u64, release: Release, writer: &mut SettingsWriter) {
    writer.when(!pattern::is_hybrid(m), "--num-layers", m.layers);
    writer.say("--hidden-size", m.hidden);
    writer.say("--ffn-hidden-size", m.ffn);
    writer.say("--num-attention-heads", m.heads);
    if m.kv_heads != m.heads {
        writer.say("--group-query-attention", true);
        writer.say("--num-query-groups", m.kv_heads);
    }
    writer.when(m.mla.is_none() && m.head_dim * m.heads != m.hidden, "--kv-channels", m.head_dim);
    writer.say("--vocab-size", m.vocab);
    // `validate_args` refuses sequences that are longer.
    let positions = m.learned_positions.max(seq_len);
    writer.say("--max-position-embeddings", positions);
    writer.say("--position-embedding-type", if m.learned_positions > 0 { "learned_absolute" } else { "rope" });
    writer.say("--normalization", if m.norm == Norm::Rms { "RMSNorm" } else { "LayerNorm" });
    writer.when(m.qk_norm == QkNorm::Head, "--qk-layernorm", true);
    if m.gated_ffn {
        writer.say("--swiglu", true);
    } else if m.norm == Norm::Rms {
        writer.say("--squared-relu", true);
    }
    writer.when(m.biases != Biases::All, "--disable-bias-linear", true);
    writer.when(m.biases == Biases::Qkv, "--add-qkv-bias", true);
    writer.when(!m.tied_embeddings, "--untie-embeddings-and-output-weights", true);
    let dropout = if m.dropout { 0.1 } else { 0.0 };
    writer.say("--attention-dropout", dropout);
    writer.say("--hidden-dropout", dropout);
    writer.when(m.mtp_modules > 0, "--mtp-num-layers", m.mtp_modules);
    if let Some(moe) = m.moe {
        writer.say("--num-experts", moe.experts);
        writer.say("--moe-router-topk", moe.top_k);
        if moe.groups > 1 {
            writer.say("--moe-router-num-groups", moe.groups);
            writer.say("--moe-router-group-topk", moe.top_groups);
        }
        writer.say("--moe-ffn-hidden-size", moe.expert_ffn);
        // As the time model computes, which is not Megatron-LM's default.
        writer.say("--moe-grouped-gemm", true);
        if moe.shared_experts > 0 {
            writer.say("--moe-shared-expert-intermediate-size", moe.shared_experts * moe.expert_ffn);
        }
        writer.when(moe.latent > 0, "--moe-latent-size", moe.latent);
    }
    if let Some(mla) = m.mla {
        writer.say("--multi-latent-attention", true);
        for (name, size) in [
            ("--q-lora-rank", mla.q_lora_rank),
            ("--kv-lora-rank", mla.kv_lora_rank),
            ("--qk-head-dim", mla.qk_nope_head_dim),
            ("--qk-pos-emb-head-dim", mla.qk_rope_head_dim),
            ("--v-head-dim", mla.v_head_dim),
        ] {
            writer.when(size > 0, name, size);
        }
    }
    pattern::write(m, release, writer);
}

/// Takes arguments that change no figure from other scripts, as they are.
fn passed(reader: &mut SettingsReader) -> Option<String> {
    let mut words = Vec::new();
    for (name, _) in VALUES {
        if let Some(text) = reader.word(name, "passed through:").filter(|text| is_plain(text)) {
            words.push(format!("{name} {text}"));
        }
    }
    words.extend(FLAGS.iter().filter(|name| reader.flag(name, "passed through")).map(|name| (*name).to_owned()));
    (!words.is_empty()).then(|| words.join(" "))
}

/// Says those of `text` that are known: it may come from a link.
fn write_passed(text: &str, writer: &mut SettingsWriter) {
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if FLAGS.contains(&word) {
            writer.say(word, true);
        } else if VALUES.iter().any(|(name, _)| *name == word)
            && let Some(value) = words.next_if(|value| is_plain(value) && !value.starts_with("--"))
        {
            match value.parse::<f64>() {
                Ok(number) => writer.say(word, number),
                Err(_) => writer.say(word, value),
            }
        }
    }
}
