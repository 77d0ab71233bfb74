//! A model's `config.json` as Hugging Face's transformers writes it, read into the shapes of a model.
//!
//! Nothing is guessed silently: every entry that was used says for what, every other is listed as ignored, and what the
//! file leaves to its library's defaults is listed as assumed.

mod families;
mod layers;
pub(crate) mod passed;
mod vision;

use families::{ModelFamily, family, unknown};
pub(crate) use layers::attention;
use passed::of_config;
use shardscope_core::issue::Issue;
use shardscope_core::message::{Argument, Message, verbatim};
use shardscope_core::model::QkNorm;
use shardscope_core::run::registry::out_of_range;
use shardscope_core::run::{Based, ModelParts, Run, Value};
use shardscope_core::t;

/// A model's configuration as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file's own name for its kind: "llama".
    pub kind: String,
    /// The shapes, for a Run's model without a base.
    pub parts: ModelParts,
    /// The entry and its meaning for the model.
    pub used: Vec<(String, Message)>,
    /// Values that the file leaves out, with those taken instead.
    pub assumed: Vec<Message>,
    /// Entries that say nothing of shapes, with their values.
    pub ignored: Vec<(String, Value)>,
    /// Parts of this kind that the calculator does not count.
    pub notes: Vec<&'static str>,
}

impl Config {
    pub fn model(&self) -> Based<ModelParts> {
        Based { base: None, parts: self.parts.clone() }
    }
}

/// The entries of every decoder like Llama.
const SHARED: [&str; 3] = ["hidden_size", "num_key_value_heads", "intermediate_size"];
/// Names that a count of experts goes by.
const EXPERTS: [&str; 4] = ["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"];
/// Names of how many of them a token visits.
const TOP_K: [&str; 5] = ["num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k", "moe_topk"];
/// Names of how many experts every token visits.
const SHARED_EXPERTS: [&str; 4] =
    ["n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert"];
/// Entries that are counted as if they had this value: convolutions of four positions, experts in every layer behind
/// the first that has some, and the degrees of a release's own code.
const COUNTED: [(&str, f64); 6] = [
    ("mamba_d_conv", 4.0),
    ("conv_kernel", 4.0),
    ("linear_conv_kernel_dim", 4.0),
    ("moe_layer_interval", 1.0),
    ("pretraining_tp", 1.0),
    ("ep_size", 1.0),
];

/// True of an entry whose value is the one that is counted.
pub(crate) fn is_counted((key, value): &(String, Value)) -> bool {
    COUNTED.iter().any(|(name, counted)| name == key && *value == Value::Number(*counted))
}

/// Reads a `config.json`.
///
/// # Errors
/// An issue for what is no such file, for a kind that is not known, and for every shape that it lacks.
pub fn read(config: &Value) -> Result<Config, Vec<Issue>> {
    let refuse = |message: Message| vec![Issue::error("model", message)];
    if !matches!(config, Value::Map(_)) {
        return Err(refuse(t!("a config.json is an object of settings, this is {kind}", kind = config.kind())));
    }
    // Vision-language models keep the language model's shapes one level down.
    let inner = config.get("text_config").filter(|text| matches!(text, Value::Map(_)));
    let text = inner.unwrap_or(config);
    let Some(Value::Text(kind)) = text.get("model_type").or(config.get("model_type")) else {
        return Err(refuse(t!("no model_type: is it a model's config.json?")));
    };
    let family = family_of(text, kind).map_err(refuse)?;
    let mut reader =
        Reader { config: text, defaults: family.defaults, used: Vec::new(), assumed: Vec::new(), errors: Vec::new() };
    let mut parts = reader.parts(family);
    let (arguments, passed) = of_config(text);
    parts.arguments = arguments;
    let arguments = passed.into_iter().map(|key| (key.to_owned(), t!("passed through to Megatron-LM's arguments")));
    reader.used.extend(arguments);
    if text.get("enable_moe_block").is_some() {
        reader.yes("enable_moe_block", "experts", false);
    }
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    let Reader { mut used, mut assumed, .. } = reader;
    let outer = match config.get("model_type") {
        Some(Value::Text(kind)) => kind,
        _ => kind,
    };
    if let Some(tower) = vision::tower(config, outer) {
        parts.vision = tower.parts;
        used.extend(tower.used);
        assumed.push(tower.assumed);
    } else if inner.is_some() {
        assumed.push(t!("only the language model is read; set the vision tower by hand"));
    }
    let model = Based { base: None, parts: parts.clone() };
    // A shape that can be mended is read as it is, and mended where the Run is shown.
    if let Err(issues) = model.resolve()
        && issues.iter().any(|issue| issue.fix.is_none())
    {
        return Err(issues);
    }
    let beyond = out_of_range(&Run { model, ..Run::default() });
    if !beyond.is_empty() {
        return Err(beyond);
    }
    used.push(("model_type".to_owned(), t!("{what} {value}", what = "kind of model", value = outer.to_owned())));
    let is_used = |key: &str| used.iter().any(|(name, _)| name == key);
    let left = |object: &Value| match object {
        Value::Map(entries) => entries.iter().filter(|(key, _)| !is_used(key)).cloned().collect(),
        _ => Vec::new(),
    };
    let mut ignored: Vec<(String, Value)> = left(text);
    if inner.is_some() {
        // What stands beside the language model, each key once.
        let is_tower = used.iter().any(|(name, _)| name.starts_with("vision_config."));
        let named = |key: &str| key == "text_config" || key == "vision_config" && is_tower;
        let beside = left(config).into_iter().filter(|(key, _)| !named(key));
        let new: Vec<_> = beside.filter(|(key, _)| ignored.iter().all(|(known, _)| known != key)).collect();
        ignored.extend(new);
        used.push(("text_config".to_owned(), t!("the language model")));
    }
    Ok(Config { kind: kind.clone(), parts, used, assumed, ignored, notes: family.notes.to_vec() })
}

/// The positions that a `config.json` says its language model has.
pub(crate) fn positions(config: &Value) -> Option<u64> {
    let text = config.get("text_config").filter(|text| matches!(text, Value::Map(_))).unwrap_or(config);
    match text.get("max_position_embeddings")? {
        Value::Number(positions) => shardscope_core::units::whole(*positions),
        _ => None,
    }
}

/// The family of a file of this kind; where the kind is not known, that of the keys which Llama's files have.
fn family_of(text: &Value, kind: &str) -> Result<&'static ModelFamily, Message> {
    let says = |key: &&str| !matches!(text.get(key), None | Some(Value::Null));
    let yes = |key: &str| matches!(text.get(key), Some(Value::Bool(true)));
    let kind_name = match kind {
        _ if yes("enable_moe_block") => "gemma4_moe",
        "bailing_moe" if yes("use_qk_norm") => "bailing_moe_v2",
        kind => kind,
    };
    match family(kind_name) {
        Some(family) => Ok(family),
        None if !SHARED.iter().all(says) => Err(t!(
            "model_type \"{kind}\" is not known, and its layers are no Llama's; known are {kinds}",
            kind = kind.to_owned(),
            kinds = families::names()
        )),
        None => Ok(unknown(EXPERTS.iter().any(says), says(&"kv_lora_rank"))),
    }
}

/// Walks over a file and keeps book of what it takes.
struct Reader<'a> {
    config: &'a Value,
    /// Values that the library takes where the file is silent.
    defaults: &'static [(&'static str, u64)],
    used: Vec<(String, Message)>,
    assumed: Vec<Message>,
    errors: Vec<Issue>,
}

impl Reader<'_> {
    fn take(&mut self, key: &str, what: &'static str, value: Argument) {
        self.used.push((key.to_owned(), t!("{what} {value}", what, value)));
    }

    /// The whole number under the first of `keys` that is there.
    fn count(&mut self, keys: &[&str], what: &'static str) -> Option<u64> {
        for key in keys {
            // A number for each layer, where all are one.
            let value = match self.config.get(key) {
                Some(Value::List(items)) if items.iter().all(|item| item == &items[0]) => items.first(),
                value => value,
            };
            match value {
                None | Some(Value::Null) => {}
                Some(Value::Number(number)) if shardscope_core::units::whole(*number).is_some() => {
                    let count = shardscope_core::units::whole(*number)?;
                    self.take(key, what, count.into());
                    return Some(count);
                }
                Some(other) => {
                    let message =
                        t!("{key} takes a whole number, this is {kind}", key = (*key).to_owned(), kind = other.kind());
                    self.errors.push(Issue::error("model", message));
                    return None;
                }
            }
        }
        None
    }

    /// The library's default for the first of `keys` that it has one for, noted.
    fn default(&mut self, keys: &[&str], what: &'static str) -> Option<u64> {
        let (_, default) = self.defaults.iter().find(|(key, _)| keys.contains(key))?;
        self.assumed.push(t!("{what} {word}: the library's default for this kind", what, word = *default));
        Some(*default)
    }

    /// The count at the first of `keys`, or the library's default; refused where neither file nor library says it.
    fn need(&mut self, keys: &[&str], what: &'static str) -> Option<u64> {
        let errors = self.errors.len();
        let mut count = self.count(keys, what);
        if count.is_none() && self.errors.len() == errors {
            count = self.default(keys, what);
        }
        if count.is_none() && self.errors.len() == errors {
            let message = t!(
                "{keys} is missing ({what})",
                keys = Message::joined(" or ", keys.iter().map(|key| verbatim(*key))),
                what
            );
            self.errors.push(Issue::error("model", message));
        }
        count
    }

    /// The count at the first of `keys`, or the library's default, or `default` with the reason `why`.
    fn count_or(&mut self, keys: &[&str], what: &'static str, default: u64, why: &'static str) -> u64 {
        let count = self.count(keys, what);
        count.or_else(|| self.default(keys, what)).unwrap_or_else(|| {
            self.assumed.push(t!("{what} {default}: {why}", what, default, why));
            default
        })
    }

    fn yes(&mut self, key: &str, what: &'static str, default: bool) -> bool {
        if let Some(Value::Bool(yes)) = self.config.get(key) {
            let yes = *yes;
            self.take(key, what, if yes { "yes" } else { "no" }.into());
            return yes;
        }
        let word = if default { "yes" } else { "no" };
        self.assumed.push(t!("{what} {word}: the library's default for this kind", what, word));
        default
    }

    /// True if any of `keys` is a positive dropout probability.
    fn dropout(&mut self, keys: &[&str]) -> bool {
        let mut any = false;
        for key in keys {
            if let Some(Value::Number(share)) = self.config.get(key) {
                let share = *share;
                self.take(key, "dropout", share.into());
                any |= share > 0.0;
            }
        }
        any
    }

    /// Width of the FFN; GPT-2 leaves it out where it is four times the hidden size.
    fn ffn(&mut self, family: &ModelFamily, hidden: Option<u64>) -> Option<u64> {
        // Some models have no dense FFN.
        let keys = ["intermediate_size_mlp", "intermediate_size", "n_inner", "moe_intermediate_size"];
        if !family.short_names {
            let candidates = if family.experts { 4 } else { 3 };
            return self.need(&keys[..candidates], "FFN size");
        }
        let hidden = hidden?;
        Some(self.count_or(&keys[..3], "FFN size", 4 * hidden, "four times the hidden size"))
    }

    fn parts(&mut self, family: &ModelFamily) -> ModelParts {
        let hidden = self.need(&["hidden_size", "n_embd"], "hidden size");
        let heads = self.need(&["num_attention_heads", "n_head"], "heads");
        let mut parts = ModelParts {
            layers: self.need(&["num_hidden_layers", "n_layer"], "layers"),
            hidden,
            ffn: self.ffn(family, hidden),
            heads,
            vocab: self.need(&["vocab_size"], "vocabulary"),
            gated_ffn: Some(family.gated),
            norm: Some(family.norm),
            post_norms: Some(family.post_norms),
            biases: Some(family.biases),
            ..ModelParts::default()
        };
        if let (Some(hidden), Some(heads)) = (hidden, heads) {
            let kv = "key-value heads";
            let as_heads = "as many as heads";
            parts.kv_heads = Some(self.count_or(&["num_key_value_heads"], kv, heads, as_heads));
            let each = hidden / heads.max(1);
            let why = "hidden size over heads";
            let latent = family.latent;
            parts.head_dim = if latent { None } else { Some(self.count_or(&["head_dim"], "head width", each, why)) };
        }
        if family.attention_bias_key && self.yes("attention_bias", "attention biases", false) {
            parts.biases = Some(shardscope_core::model::Biases::Qkv);
        }
        let normed = family.qk_norm != QkNorm::None
            && (!matches!(self.config.get("use_qk_norm"), Some(Value::Bool(_)))
                || self.yes("use_qk_norm", "norm of queries and keys", true));
        parts.qk_norm = Some(if normed { family.qk_norm } else { QkNorm::None });
        parts.tied_embeddings = Some(self.yes("tie_word_embeddings", "tied embeddings", family.tied));
        let dropouts = ["resid_pdrop", "hidden_dropout", "resid_dropout"];
        parts.dropout = Some(self.dropout(&dropouts));
        if family.learned_positions {
            let keys = ["n_positions", "max_position_embeddings"];
            parts.learned_positions = self.need(&keys, "learned positions");
        }
        // A hybrid's letters say whether it has experts.
        let dense = self.has("hybrid_override_pattern") && !EXPERTS.iter().any(|key| self.has(key));
        if family.experts && !dense {
            self.experts(family, &mut parts);
        }
        if family.latent {
            self.latent(&mut parts);
        }
        if family.prediction {
            parts.mtp_modules = self.count(&["num_nextn_predict_layers"], "multi-token-prediction modules");
        }
        self.layers(family, &mut parts);
        parts
    }

    fn experts(&mut self, family: &ModelFamily, parts: &mut ModelParts) {
        parts.moe.experts = self.need(&EXPERTS, "routed experts");
        parts.moe.top_k = self.need(&TOP_K, "experts per token");
        // Mixtral's experts are as wide as a dense FFN would be; where that has a width of its own, they have the
        // other.
        let width_key = if self.has("intermediate_size_mlp") { "intermediate_size" } else { "moe_intermediate_size" };
        parts.moe.expert_ffn = self.count(&[width_key], "expert FFN size").or(parts.ffn);
        parts.moe.latent = self.count(&["moe_latent_size"], "latent width");
        let dense = ["first_k_dense_replace", "moe_layer_start_index"];
        parts.moe.dense_layers = Some(self.count(&dense, "leading dense layers").unwrap_or(0));
        let wide = self.has("moe_shared_expert_intermediate_size");
        let counted = if wide { None } else { self.count(&SHARED_EXPERTS, "shared experts") };
        let shared = counted.unwrap_or_else(|| self.shared_width(parts));
        parts.moe.shared_experts = Some(shared.max(family.shared_experts));
        // A group of one is no limit, and some kinds leave both out.
        parts.moe.groups = self.count(&["n_group"], "expert groups");
        parts.moe.top_groups = self.count(&["topk_group"], "groups per token");
    }

    /// Shared experts of a file that gives their joint width.
    fn shared_width(&mut self, parts: &ModelParts) -> u64 {
        let keys =
            ["shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"];
        let width = self.count(&keys, "width of the shared experts").unwrap_or(0);
        let each = parts.moe.expert_ffn.unwrap_or(1).max(1);
        if !width.is_multiple_of(each) {
            self.assumed.push(t!(
                "shared experts {count}: their width {width} is no multiple of the routed experts' {each}",
                count = width.div_ceil(each),
                width,
                each
            ));
        }
        width.div_ceil(each)
    }

    fn latent(&mut self, parts: &mut ModelParts) {
        parts.mla.q_lora_rank =
            Some(self.count_or(&["q_lora_rank"], "query rank", 0, "queries are projected directly"));
        parts.mla.kv_lora_rank = self.need(&["kv_lora_rank"], "key-value rank");
        parts.mla.qk_nope_head_dim = self.need(&["qk_nope_head_dim"], "head width without position");
        parts.mla.qk_rope_head_dim = self.need(&["qk_rope_head_dim"], "rotary head width");
        parts.mla.v_head_dim = self.need(&["v_head_dim"], "value head width");
        // The calculator's head width of a latent attention.
        parts.head_dim = parts.mla.v_head_dim;
    }
}

#[cfg(test)]
mod tests;
