//! Adapters: the linears that have one, what is trained whole, how the base is stored.
//!
//! Source: Hugging Face PEFT `tuners/lora/config.py`.

use crate::dialect::rows::prelude::*;
use crate::dialect::text::words::is_open;
use shardscope_core::model::{Biases, Target};

/// Words that name every linear of a layer.
const ALL: [&str; 2] = ["all", "all-linear"];

/// The linear with this name in any of the programs; of gate and router the router is none.
fn target(word: &str) -> &'static [Target] {
    match word {
        "q_proj" => &[Target::Query],
        "k_proj" => &[Target::Key],
        "v_proj" => &[Target::Value],
        "o_proj" | "output_proj" | "out_proj" | "linear_proj" => &[Target::Output],
        "gate_proj" | "w1" => &[Target::Gate],
        "up_proj" | "w3" => &[Target::Up],
        "down_proj" | "w2" | "linear_fc2" => &[Target::Down],
        "Wqkv" | "qkv_proj" | "query_key_value" | "linear_qkv" => &[Target::Query, Target::Key, Target::Value],
        "gate_up_proj" | "linear_fc1" => &[Target::Gate, Target::Up],
        _ => &[],
    }
}

/// The words of a list, of a text with commas, or of a regular expression such as `.*(q|k|v)_proj`.
fn words_of(value: &Value) -> Vec<String> {
    let split = |text: &str| -> Vec<String> {
        if text.contains(")_proj") {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let short = |word: &&str| !target(&format!("{word}_proj")).is_empty();
            return words.filter(short).map(|word| format!("{word}_proj")).collect();
        }
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        // Other words of a regular expression are no names of linears.
        let pattern = text.contains(['(', '|', '*', '^']);
        words.filter(|word| !word.is_empty() && (!pattern || !target(word).is_empty())).map(str::to_owned).collect()
    };
    match value {
        Value::Text(text) => split(text),
        Value::List(items) => items.iter().flat_map(words_of).collect(),
        _ => Vec::new(),
    }
}

/// Format of a base of this name on the Hub, where its name says that it is quantised. AWQ's groups of 128 are as large
/// as GPTQ's.
#[must_use]
pub(in crate::dialect) fn stored_as(name: &str) -> Option<BaseFormat> {
    let name = name.to_ascii_lowercase();
    let has = |part| name.contains(part);
    match () {
        () if has("bnb-4bit") || has("bnb-nf4") => Some(BaseFormat::Nf4Double),
        () if has("gptq") || has("awq") => Some(BaseFormat::Gptq4),
        () => None,
    }
}

/// Linears with an adapter; none: all.
pub(in crate::dialect) fn targets(reader: &mut SettingsReader, name: &str) -> Option<Vec<Target>> {
    // What the text does not set is named by that.
    if reader.last(name).and_then(Value::text).is_some_and(is_open) {
        return None;
    }
    let words = words_of(&reader.value(name)?);
    reader.note(name, t!("{what} {value}", what = "adapted linears", value = words.join(" ")));
    if words.iter().any(|word| ALL.contains(&&**word)) {
        return None;
    }
    for word in words.iter().filter(|word| target(word).is_empty()) {
        reader.assume(t!("no adapter beside {name}: it is none of the linears of a layer", name = word.clone()));
    }
    let named = |one: &Target| words.iter().any(|word| target(word).contains(one));
    let every = Target::ALL.iter().map(|(one, _)| *one);
    let named: Vec<Target> = every.filter(named).collect();
    (!named.is_empty() && named.len() < Target::ALL.len()).then_some(named)
}

/// Ends of the model that are trained whole.
pub(in crate::dialect) fn saved(reader: &mut SettingsReader, name: &str) -> Option<Vec<Saved>> {
    let words = words_of(&reader.value(name)?);
    reader.note(name, t!("{what} {value}", what = "trained whole", value = words.join(" ")));
    // The last two are Megatron-LM's names.
    let found: Vec<Saved> = words
        .iter()
        .filter_map(|word| match word.as_str() {
            "word_embeddings" => Some(Saved::Embedding),
            "output_layer" => Some(Saved::Head),
            word => Saved::from_id(word),
        })
        .collect();
    (!found.is_empty()).then_some(found)
}

/// Adapters beside routed experts: gpt-oss has its experts in one parameter, which PEFT adapts where it is named alone.
/// Source: PEFT 0.18.0 `tuners/lora/config.py:647` (`target_parameters`), transformers 4.55.2 `modeling_gpt_oss.py`
/// (`GptOssExperts.gate_up_proj`).
fn experts(reader: &mut SettingsReader) -> Option<ExpertAdapters> {
    let names = ["target_parameters", "lora_target_parameters", "--target-parameters"];
    let name = names.into_iter().find(|name| reader.has(name));
    let named = name.and_then(|name| Some((name, reader.value(name)?)));
    if let Some((name, value)) = named {
        let text = |value: &Value| value.text().unwrap_or_default().to_owned();
        let words = if let Value::List(items) = &value { items.iter().map(text).collect() } else { vec![text(&value)] };
        if words.iter().any(|word| word.contains("experts") || word.contains("_proj")) {
            let value = words.join(" ");
            reader.note(name, t!("{what} {value}", what = "adapted parameters", value));
            return Some(ExpertAdapters::Each);
        }
        reader.leave(name);
    }
    // The model with sinks and biases everywhere.
    let model = reader.run.model.resolve().ok()?;
    let stacked = model.moe.is_some() && model.sinks && model.biases == Biases::All;
    stacked.then_some(ExpertAdapters::None)
}

/// A program's settings of adapters.
pub(in crate::dialect) struct LowRank {
    pub rank: Option<u64>,
    pub dora: bool,
    /// Format of the base.
    pub base: Option<BaseFormat>,
    pub targets: Option<Vec<Target>>,
    pub saved: Option<Vec<Saved>>,
}

impl LowRank {
    pub fn take(self, reader: &mut SettingsReader) {
        let four = matches!(self.base, Some(BaseFormat::Nf4 | BaseFormat::Nf4Double));
        let method = match (self.dora, four) {
            (true, _) => AdapterMethod::Dora,
            (false, true) => AdapterMethod::Qlora,
            (false, false) => AdapterMethod::Lora,
        };
        let default = method == AdapterMethod::Qlora && self.base == Some(BaseFormat::Nf4Double);
        let experts = experts(reader);
        reader.run.adapter = AdapterParts {
            method: Some(method),
            experts,
            rank: self.rank.filter(|rank| *rank > 0),
            targets: self.targets,
            base: self.base.filter(|_| !default),
            modules_to_save: self.saved,
            ..AdapterParts::default()
        };
    }
}

/// True if every linear of a layer has an adapter.
pub(in crate::dialect) fn all_linear(adapter: &Adapter) -> bool {
    adapter.targets.len() == Target::ALL.len()
}

pub(in crate::dialect) fn target_names(adapter: &Adapter) -> Vec<&'static str> {
    adapter.targets.iter().map(|target| target.id()).collect()
}

/// Says the adapted linears: `all-linear` or their names.
pub(in crate::dialect) fn write_linears(writer: &mut SettingsWriter, name: &str, adapter: &Adapter) {
    if all_linear(adapter) {
        writer.say(name, "all-linear");
    } else {
        writer.say(name, super::list(&target_names(adapter)));
    }
}

/// Says what is trained whole, where anything is.
pub(in crate::dialect) fn write_saved(writer: &mut SettingsWriter, name: &str, adapter: &Adapter) {
    writer.when(!adapter.saved.is_empty(), name, super::list(&saved_names(adapter)));
}

pub(in crate::dialect) fn saved_names(adapter: &Adapter) -> Vec<&'static str> {
    adapter.saved.iter().map(|end| end.id()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_expression_names_its_linears() {
        let text = "model.layers.[\\d]+.(_wrapped.)?(mlp|self_attn).(up|down|gate|q|k|v|o)_proj";
        assert_eq!(words_of(&Value::Text(text.to_owned())).len(), 7);
        let text = Value::Text("q_proj,v_proj".to_owned());
        assert_eq!(words_of(&text), ["q_proj", "v_proj"]);
    }
}
