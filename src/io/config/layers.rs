//! The kinds of a model's layers as config.json lists them: lists by layer, rules by number, and the shapes of what
//! mixes tokens. Source: transformers' `configuration_<kind>.py`.

use super::Reader;
use super::families::{Mixers, ModelFamily};
use shardscope_core::issue::Issue;
use shardscope_core::model::{Ffn, LayerKind, Mixer, Pattern};
use shardscope_core::run::{ModelParts, Value};
use shardscope_core::t;

/// Layers that a list may name.
const MAX_LAYERS: u64 = 100_000;

impl Reader<'_> {
    /// True if the file has `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        !matches!(self.config.get(key), None | Some(Value::Null))
    }

    /// The list under the first of `keys` that is there.
    fn list(&mut self, keys: &[&'static str], what: &'static str) -> Option<Vec<Value>> {
        for key in keys {
            if let Some(Value::List(list)) = self.config.get(key) {
                let list = list.clone();
                self.take(key, what, (list.len() as u64).into());
                return Some(list);
            }
        }
        None
    }

    /// The pattern of layers that differ, and the shapes that they need.
    pub(super) fn layers(&mut self, family: &ModelFamily, parts: &mut ModelParts) {
        self.shapes(family, parts);
        let Some(layers) = parts.layers.filter(|layers| *layers <= MAX_LAYERS) else {
            return;
        };
        if let Some(pattern) = self.letters(parts) {
            parts.pattern = Some(pattern);
            return;
        }
        let mixers = self.mixers(family, parts, layers);
        let ffns = self.ffns(family, parts, layers);
        if mixers.is_none() && ffns.is_none() {
            return;
        }
        let kinds: Vec<LayerKind> = (0..layers)
            .map(|layer| {
                let at = usize::try_from(layer).unwrap_or(0);
                let kind = mixers.as_ref().and_then(|list| list.get(at).copied());
                let kind = kind.unwrap_or(LayerKind::new(attention(parts), Ffn::Both));
                if kind.ffn != Ffn::Both {
                    return kind;
                }
                let routed = parts.moe.experts.is_some()
                    && layer >= parts.moe.dense_layers.unwrap_or(0)
                    && ffns.as_ref().is_none_or(|list| list.get(at) == Some(&true));
                let ffn = match (routed, family.beside) {
                    (true, true) => Ffn::Both,
                    (true, false) => Ffn::Experts,
                    (false, _) => Ffn::Dense,
                };
                LayerKind { ffn, ..kind }
            })
            .collect();
        if let Err(error) = parts.set_kinds(&kinds) {
            self.errors.push(Issue::error("model.pattern", error.message("")));
        }
    }

    /// Windows, chunks, gates, second heads, indexer, state-space models and linear attention.
    fn shapes(&mut self, family: &ModelFamily, parts: &mut ModelParts) {
        let gate = self.has("attn_output_gate");
        parts.output_gate =
            if gate { Some(self.yes("attn_output_gate", "output gate", false)) } else { Some(family.gate) };
        parts.sinks = Some(family.sinks);
        if self.has("index_topk") {
            parts.indexer.heads = self.need(&["index_n_heads"], "indexer heads");
            parts.indexer.head_dim = self.need(&["index_head_dim"], "indexer head width");
            parts.indexer.top_k = self.need(&["index_topk"], "selected keys");
        }
        if self.has("linear_num_value_heads") {
            parts.delta_net.key_heads = self.need(&["linear_num_key_heads"], "delta net key heads");
            parts.delta_net.value_heads = self.need(&["linear_num_value_heads"], "delta net value heads");
            parts.delta_net.head_dim = self.need(&["linear_key_head_dim"], "delta net head width");
            self.count(&["linear_value_head_dim"], "delta net head width");
        }
        if self.has("mamba_num_heads") || self.has("mamba_n_heads") {
            parts.mamba.heads = self.need(&["mamba_num_heads", "mamba_n_heads"], "Mamba heads");
            parts.mamba.head_dim = self.need(&["mamba_head_dim", "mamba_d_head"], "Mamba head width");
            parts.mamba.state = self.need(&["ssm_state_size", "mamba_d_state"], "Mamba state");
            parts.mamba.groups = self.need(&["n_groups", "mamba_n_groups"], "Mamba groups");
        }
        if self.has("global_head_dim") {
            parts.second.head_dim = self.need(&["global_head_dim"], "second shape, head width");
            let keys = ["num_global_key_value_heads", "num_key_value_heads"];
            parts.second.kv_heads = self.need(&keys, "second shape, key-value heads");
            parts.second.shared_kv = Some(self.yes("attention_k_eq_v", "keys as values", false));
        }
        if self.has("hybrid_layer_pattern") {
            // The windows' heads are the first shape, those of full attention the second.
            parts.second.kv_heads = parts.kv_heads;
            parts.second.head_dim = parts.head_dim;
            let window = self.count(&["swa_num_key_value_heads"], "key-value heads of windows");
            parts.kv_heads = window.or(parts.kv_heads);
            let width = self.count(&["swa_head_dim"], "head width of windows");
            parts.head_dim = width.or(parts.head_dim);
            parts.value_head_dim = self.count(&["v_head_dim"], "value head width");
        }
        if self.has("compress_ratios") {
            parts.compressed.q_lora_rank = self.need(&["q_lora_rank"], "query rank");
            parts.compressed.o_lora_rank = self.need(&["o_lora_rank"], "output rank");
            parts.compressed.o_groups = self.need(&["o_groups"], "output groups");
            let one = "one stream";
            parts.compressed.streams = Some(self.count_or(&["hc_mult"], "residual streams", 1, one));
        }
        if let Some(Value::Map(_)) = self.config.get("linear_attn_config") {
            self.kda(parts);
        }
    }

    /// Kimi's `linear_attn_config`, an object.
    fn kda(&mut self, parts: &mut ModelParts) {
        let inner = self.config.get("linear_attn_config");
        let number = |key: &str| match inner.and_then(|own| own.get(key)) {
            Some(Value::Number(number)) => shardscope_core::units::whole(*number),
            _ => None,
        };
        let (heads, width) = (number("num_heads"), number("head_dim"));
        (parts.kda.heads, parts.kda.head_dim) = (heads, width);
        // Kimi K3's configuration states that its gate has no rank of its own.
        parts.kda.gate_rank = number("gate_rank").or(width);
        self.take("linear_attn_config", "heads of linear attention", heads.unwrap_or(0).into());
    }

    /// Nemotron's letters, and the module's.
    fn letters(&mut self, parts: &mut ModelParts) -> Option<String> {
        let key = "hybrid_override_pattern";
        let text = match self.config.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => return None,
        };
        self.take(key, "layers by letter", text.clone().into());
        let module = match self.config.get("mtp_hybrid_override_pattern") {
            Some(Value::Text(module)) => module.clone(),
            _ => String::new(),
        };
        if !module.is_empty() {
            let key = "mtp_hybrid_override_pattern";
            self.take(key, "layers of a module", module.clone().into());
        }
        let whole = if module.is_empty() { text } else { format!("{text}/{module}") };
        match Pattern::parse(&whole) {
            Ok(pattern) => parts.layers = Some(pattern.layers()),
            Err(error) => {
                let message = error.message(&whole);
                self.errors.push(Issue::error("model.pattern", message));
            }
        }
        Some(whole)
    }

    /// Reads the mixer of each layer, where the file states it; the FFN of `Both` is not in the file.
    fn mixers(&mut self, family: &ModelFamily, parts: &mut ModelParts, layers: u64) -> Option<Vec<LayerKind>> {
        let full = attention(parts);
        let layer = |mixer| LayerKind::new(mixer, Ffn::Both);
        let listed = self.list(&["layer_types", "layers_block_type"], "what mixes tokens, by layer");
        let kinds: Option<Vec<LayerKind>> = if let Some(list) = listed {
            // Where no layer is an FFN alone, each has one behind its mixer.
            let apart = list.iter().any(|item| matches!(item.text(), Some("moe" | "mlp")));
            let behind = |kind: LayerKind| if apart { kind } else { LayerKind::new(kind.mixer, Ffn::Both) };
            let kinds = list.iter().map(|item| named(item.text()?, full, parts).map(behind));
            let kinds: Option<Vec<LayerKind>> = kinds.collect();
            if kinds.is_none() {
                self.unread("layer_types");
            }
            kinds
        } else if let Some(list) = self.list(&["hybrid_layer_pattern"], "windows, by layer") {
            let window = |item: &Value| matches!(item, Value::Number(one) if *one > 0.0);
            let kinds = list.iter();
            Some(kinds.map(|item| layer(if window(item) { Mixer::Window } else { Mixer::Second })).collect())
        } else if let Some(list) = self.list(&["compress_ratios"], "compression, by layer") {
            // Some files have an entry for the multi-token-prediction module behind.
            let ratios = list.iter().take(usize::try_from(layers).unwrap_or(0));
            let kinds = ratios.map(|item| match item {
                Value::Number(ratio) if (0.0..=255.0).contains(ratio) => {
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 255
                    Some(layer(Mixer::Compressed(*ratio as u8)))
                }
                _ => None,
            });
            let kinds: Option<Vec<LayerKind>> = kinds.collect();
            if kinds.is_none() {
                self.unread("compress_ratios");
            }
            kinds
        } else if let Some(Value::Map(_)) = self.config.get("linear_attn_config") {
            self.one_based(layers, full)
        } else {
            self.ruled(family, layers, full)
        };
        let kinds = kinds?;
        let any = |mixer: Mixer| kinds.iter().any(|kind| kind.mixer == mixer);
        let is_compressed = kinds.first().is_some_and(|kind| matches!(kind.mixer, Mixer::Compressed(_)));
        if any(Mixer::Window) || is_compressed {
            let keys = ["sliding_window", "sliding_window_size"];
            parts.window = self.need(&keys, "sliding window");
        }
        if any(Mixer::Chunked) {
            parts.chunk = self.need(&["attention_chunk_size"], "attention chunk");
        }
        if kinds.len() as u64 != layers {
            self.unread("layer_types");
            return None;
        }
        Some(kinds)
    }

    /// `kda_layers` of `linear_attn_config`, counted from 1.
    fn one_based(&mut self, layers: u64, full: Mixer) -> Option<Vec<LayerKind>> {
        let list = self.config.get("linear_attn_config")?.get("kda_layers")?;
        let Value::List(list) = list else { return None };
        let is_linear = |layer: u64| list.contains(&Value::from(layer));
        let kinds = (1..=layers).map(|layer| {
            let mixer = if is_linear(layer) { Mixer::Kda } else { full };
            LayerKind::new(mixer, Ffn::Both)
        });
        Some(kinds.collect())
    }

    /// A rule by the number of a layer: one in `n` is full attention, from 1.
    fn ruled(&mut self, family: &ModelFamily, layers: u64, full: Mixer) -> Option<Vec<LayerKind>> {
        let (other, every) = match family.mixers {
            Mixers::Alike => (None, 1),
            Mixers::Windows(every) => (Some(Mixer::Window), every),
            Mixers::Chunks(every) => (Some(Mixer::Chunked), every),
            Mixers::WindowsIfSaid => {
                let kind = LayerKind::new(Mixer::Window, Ffn::Both);
                return self.has("sliding_window").then(|| (0..layers).map(|_| kind).collect());
            }
            Mixers::WindowsBehind => return self.windows_behind(layers, full),
        };
        let windows = self.count(
            &["sliding_window_pattern", "full_attention_interval"],
            "layers from one with full attention to the next",
        );
        let other = match other {
            None if self.has("linear_num_value_heads") => Some(Mixer::DeltaNet),
            None if windows.is_some() => Some(Mixer::Window),
            other => other,
        }?;
        let every = windows.unwrap_or(every).max(1);
        let rotary = self.list(&["no_rope_layers"], "layers with rotary positions");
        let kinds = (1..=layers).map(|layer| {
            let at = usize::try_from(layer - 1).unwrap_or(0);
            let listed = rotary.as_ref().and_then(|list| list.get(at));
            let is_full = match listed {
                // 1: with rotary positions, and inside chunks.
                Some(Value::Number(rotary)) => *rotary == 0.0,
                _ => layer.is_multiple_of(every),
            };
            LayerKind::new(if is_full { full } else { other }, Ffn::Both)
        });
        Some(kinds.collect())
    }

    /// Windows in the layers from `max_window_layers` on, which are none where that is every layer.
    fn windows_behind(&mut self, layers: u64, full: Mixer) -> Option<Vec<LayerKind>> {
        let is_on = self.config.get("use_sliding_window").is_some() && self.yes("use_sliding_window", "windows", false);
        if !is_on || !self.has("sliding_window") {
            return None;
        }
        let first = self.count_or(&["max_window_layers"], "first layer with a window", 28, "the library's default");
        let mixer = |layer| if layer < first { full } else { Mixer::Window };
        (first < layers).then(|| (0..layers).map(|layer| LayerKind::new(mixer(layer), Ffn::Both)).collect())
    }

    /// Reads which layers have experts, where the file has more than the number of leading dense layers.
    fn ffns(&mut self, family: &ModelFamily, parts: &mut ModelParts, layers: u64) -> Option<Vec<bool>> {
        parts.moe.experts?;
        if let Some(list) = self.list(&["mlp_layer_types"], "experts, by layer") {
            let sparse = |item: &Value| matches!(item, Value::Text(name) if name == "sparse");
            return Some(list.iter().map(sparse).collect());
        }
        if let Some(list) = self.list(&["moe_layer_freq"], "experts, by layer") {
            let routed = |item: &Value| matches!(item, Value::Number(one) if *one > 0.0);
            return Some(list.iter().map(routed).collect());
        }
        let what = "layers from one with experts to the next";
        if let Some(list) = self.list(&["moe_layers"], "layers with experts") {
            self.count(&["interleave_moe_layer_step"], what);
            let routed = (0..layers).map(|layer| list.contains(&Value::from(layer)));
            return Some(routed.collect());
        }
        let steps = ["decoder_sparse_step", "interleave_moe_layer_step"];
        let step = self.count(&steps, what).unwrap_or(family.sparse_step).max(1);
        self.count(&["moe_layer_freq"], what);
        let dense = self.list(&["mlp_only_layers"], "dense layers").unwrap_or_default();
        if step == 1 && dense.is_empty() {
            return None;
        }
        let routed = (0..layers).map(|layer| (layer + 1).is_multiple_of(step) && !dense.contains(&Value::from(layer)));
        Some(routed.collect())
    }

    fn unread(&mut self, key: &'static str) {
        let message = t!("{key} names layers that are not known, or not as many as there are", key);
        self.errors.push(Issue::error("model.pattern", message));
    }
}

/// Full attention of a model: latent, with an indexer, or over heads.
pub(crate) fn attention(parts: &ModelParts) -> Mixer {
    match (parts.mla.kv_lora_rank, parts.indexer.heads) {
        (Some(_), Some(_)) => Mixer::Sparse,
        (Some(_), None) => Mixer::Latent,
        (None, _) => Mixer::Full,
    }
}

/// The kind that an entry of `layer_types` names.
fn named(name: &str, full: Mixer, parts: &ModelParts) -> Option<LayerKind> {
    let with = |mixer| LayerKind::new(mixer, Ffn::Both);
    Some(match name {
        "full_attention" if parts.second.head_dim.is_some() => with(Mixer::Second),
        "full_attention" => with(full),
        "sliding_attention" => with(Mixer::Window),
        "chunked_attention" => with(Mixer::Chunked),
        "linear_attention" if parts.kda.heads.is_some() => with(Mixer::Kda),
        "linear_attention" => with(Mixer::DeltaNet),
        "mamba" => LayerKind::new(Mixer::Mamba, Ffn::None),
        "attention" => LayerKind::new(full, Ffn::None),
        "moe" => LayerKind::new(Mixer::None, Ffn::Experts),
        "mlp" => LayerKind::new(Mixer::None, Ffn::Dense),
        _ => return None,
    })
}
