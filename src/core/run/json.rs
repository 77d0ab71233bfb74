//! A Run as an object: `{"tp": 4, "model": {"base": "llama-3.1-8b", "layers": 40}}` and back, through the registry.

use super::Run;
use super::presets::gpu_called;
use super::registry::{BASED, FIELDS, Field, KEEP_THEIR_BASE, clear_parts, field, parts, plain};
use crate::field::Value;
use crate::issue::Issue;
use crate::message::Message;
use crate::t;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names that are not fields but may be expected, and what to use instead.
const DERIVED: &[(&str, &str)] = &[("dp", "dp is derived: gpus / (tp pp cp); set gpus instead")];

/// The field of prices by GPU, which links and JSON write a pair a GPU, and the field of one price, by which each is
/// read.
const PRICES: &str = "prices";
const PRICE_OF: &str = "prices.";
const PRICE: &str = "price_per_gpu_hour";

/// Most issues that are reported: as many as a link has settings.
const MAX_ISSUES: usize = 512;

impl Run {
    /// The Run that an object means; what is left out has its default.
    ///
    /// # Errors
    /// One issue for every unknown field, unknown id, wrong type or value out of range.
    pub fn from_value(object: &Value) -> Result<Self, Vec<Issue>> {
        if !matches!(object, Value::Map(_)) {
            return Err(vec![Issue::error(
                "",
                t!("a run is an object of fields, this is {kind}", kind = object.kind()),
            )]);
        }
        let (run, issues) = Self::of(&object.flat(has_parts), |run, key, value| {
            let set = run.assign(key, value);
            set.map_err(|message| Issue::error(key, message))
        });
        if issues.is_empty() { Ok(run) } else { Err(issues) }
    }

    /// Sets one field by its dotted key.
    ///
    /// # Errors
    /// Why not: unknown key, wrong type, out of range.
    pub fn assign(&mut self, key: &str, value: &Value) -> Result<(), Message> {
        if let Some(id) = key.strip_prefix(PRICE_OF) {
            return self.set_price(id, value);
        }
        match field(key) {
            Some(field) => field.set(self, value),
            None => Err(DERIVED
                .iter()
                .find(|(name, _)| *name == key)
                .map_or_else(|| t!("no such field{guess}", guess = near(key)), |(_, why)| (*why).into())),
        }
    }

    /// Sets the price of a GPU-hour of the GPU `id`, or unsets it.
    fn set_price(&mut self, id: &str, value: &Value) -> Result<(), Message> {
        let price = match value {
            Value::Null => None,
            Value::Number(price) => Some(*price),
            _ => return Err(t!("Enter a price.")),
        };
        let prices = self.length.prices.clone().unwrap_or_default().with(id, price);
        let prices = prices.ok_or_else(|| t!("there is no such GPU or price"))?;
        self.length.prices = (!prices.0.is_empty()).then_some(prices);
        Ok(())
    }

    /// The prices that differ from those of `from`, a pair each.
    fn changed_prices(&self, from: &Self) -> Vec<(String, Value)> {
        let [ours, theirs] = [self, from].map(|run| run.length.prices.as_ref().map_or(&[][..], |prices| &prices.0));
        let key = |id: &str| format!("{PRICE_OF}{id}");
        let gone = theirs.iter().filter(|(id, _)| ours.iter().all(|(own, _)| own != id));
        let gone = gone.map(|(id, _)| (key(id), Value::Null));
        let new = ours.iter().filter(|price| !theirs.contains(price));
        new.map(|(id, price)| (key(id), Value::Number(*price))).chain(gone).collect()
    }

    /// A model, GPU or precision said in parts, with no base named, has none; a stack and an objective keep their own.
    fn forget_base<V>(&mut self, key: &str, pairs: &[(String, V)]) {
        let Some((whole, _)) = key.split_once('.') else {
            return;
        };
        let named = |(other, _): &(String, V)| other == whole || other.strip_prefix(whole) == Some(".base");
        if pairs.iter().any(named) {
            return;
        }
        if let Some(base) = field(whole).filter(|_| !KEEP_THEIR_BASE.contains(&whole) && BASED.contains(&whole)) {
            base.unset(self);
        }
    }

    /// Takes the base of `usual`, or the default, where nothing is said at all: no link could say that.
    fn or_base(&mut self, usual: &Self) {
        for base in BASED.iter().filter_map(|whole| field(whole)) {
            let keeps_parts =
                !KEEP_THEIR_BASE.contains(&base.key) && parts(base.key).any(|part| part.get(self) != Value::Null);
            if base.get(self) == Value::Null && !keeps_parts {
                // An id that was there before.
                let _ = base.set(self, &base.get(usual));
            }
        }
    }

    /// The fields that differ from the default, as dotted pairs in the registry's order; `model.base` is written where
    /// the model is changed, `model` where it is not.
    pub fn changes(&self) -> Vec<(String, Value)> {
        let mut pairs = self.changes_from(&Self::default());
        pairs.retain(|(_, value)| *value != Value::Null);
        pairs
    }

    /// The fields that differ from the default, as a link writes them: dotted key and text.
    pub fn changed_texts(&self) -> Vec<(String, String)> {
        let changes = self.changes().into_iter();
        changes.filter_map(|(key, value)| Some((key, plain(&value)?))).collect()
    }

    /// Differences from `first`, as a link writes a second Run: dotted key and text, no text where it is unset here.
    pub fn differences(&self, first: &Self) -> Vec<(String, String)> {
        let changes = self.changes_from(first).into_iter();
        changes.map(|(key, value)| (key, plain(&value).unwrap_or_default())).collect()
    }

    /// A model, GPU, precision or stack that differs is written whole: its base, then all that is set besides.
    fn changes_from(&self, from: &Self) -> Vec<(String, Value)> {
        let differs = |field: &Field| field.get(self) != field.get(from);
        let whole_differs = BASED.map(|whole| field(whole).is_some_and(differs) || parts(whole).any(differs));
        let has_parts = BASED.map(|whole| parts(whole).any(|part| part.get(self) != Value::Null));
        let mut pairs = Vec::new();
        for field in FIELDS.iter() {
            let value = field.get(self);
            let whole = field.key.split('.').next().unwrap_or_default();
            match BASED.iter().position(|based| *based == whole) {
                None if field.key == PRICES => pairs.extend(self.changed_prices(from)),
                None if differs(field) => pairs.push((field.key.to_owned(), value)),
                Some(at) if whole_differs[at] && whole == field.key => {
                    let key = if has_parts[at] { format!("{whole}.base") } else { whole.to_owned() };
                    pairs.push((key, value));
                }
                Some(at) if whole_differs[at] && value != Value::Null => pairs.push((field.key.to_owned(), value)),
                _ => {}
            }
        }
        pairs
    }

    /// The Run as an object of what differs from the default.
    pub fn to_value(&self) -> Value {
        Value::nested(self.changes())
    }

    /// Reads dotted pairs of text, as a link has them. A bad value takes its default with an issue at its field; an
    /// unknown key is left out with an issue.
    pub fn from_pairs(pairs: &[(String, String)]) -> (Self, Vec<Issue>) {
        Self::of(pairs, |run, key, text| run.read(key, "the default", |field| field.parse(text)))
    }

    /// The default Run with `pairs` set one after the other, and what could not be.
    fn of<V>(pairs: &[(String, V)], set: impl Fn(&mut Self, &str, &V) -> Result<(), Issue>) -> (Self, Vec<Issue>) {
        let mut run = Self::default();
        let mut issues = Vec::new();
        for (key, value) in pairs {
            // Nobody reads more, and an object may have a million entries.
            if issues.len() == MAX_ISSUES {
                break;
            }
            run.forget_base(key, pairs);
            if let Err(issue) = set(&mut run, key, value) {
                // Whatever was said before of the same key; the default is always accepted.
                let _ = run.assign(key, &Value::Null);
                issues.push(issue);
            }
        }
        run.or_base(&Self::default());
        (run, issues)
    }

    /// The Run that [`differences`](Self::differences) make of this one, and the differences that were not understood.
    pub fn with_differences(&self, pairs: &[(String, String)]) -> (Self, Vec<Issue>) {
        let mut run = self.clone();
        let mut issues = Vec::new();
        for (key, text) in pairs {
            if let Some(base) = based(key) {
                clear_parts(&mut run, base.key);
                if text.is_empty() {
                    base.unset(&mut run);
                }
            }
        }
        for (key, text) in pairs {
            let unset = text.is_empty();
            if unset && based(key).is_some() {
                continue;
            }
            let read =
                run.read(key, "the first run's", |field| if unset { Ok(Value::Null) } else { field.parse(text) });
            issues.extend(read.err());
        }
        // A Run whose base was removed without parts in its place could not be written as a link.
        run.or_base(self);
        (run, issues)
    }

    /// This Run with those fields set, as links write them; an empty text unsets. None where one of them cannot be set.
    pub fn with_texts<T: AsRef<str>>(&self, set: &[(&str, T)]) -> Option<Self> {
        let mut run = self.clone();
        for (key, text) in set {
            let field = field(key)?;
            field.set(&mut run, &field.parse(text.as_ref()).ok()?).ok()?;
        }
        Some(run)
    }

    /// This Run with the GPUs that `text` names by count and kind, "2048 H800" or "4 × RTX 4090"; none where it names
    /// no kind that is known.
    pub fn with_gpus_named(&self, text: &str) -> Option<Self> {
        let text = text.trim();
        let is_count = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | 'k' | 'K');
        let (count, name) = text.split_at(text.find(|c: char| !is_count(c))?);
        let name = name.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, 'x' | 'X' | '×'));
        let preset = gpu_called(name)?;
        self.with_texts(&[("gpus", count.to_owned()), ("gpu", preset.choice.id.to_owned())])
    }

    /// Sets the field `key` to what `parse` makes of its text; `instead` names what is used where that fails.
    fn read(
        &mut self,
        key: &str,
        instead: &'static str,
        parse: impl Fn(&Field) -> Result<Value, Message>,
    ) -> Result<(), Issue> {
        if let Some(id) = key.strip_prefix(PRICE_OF)
            && let Some(price) = field(PRICE).map(&parse)
        {
            let set = price.and_then(|price| self.set_price(id, &price));
            return set.map_err(|message| {
                Issue::warning(key, t!("Left out; {instead} is used. {message}", instead, message))
            });
        }
        let Some(field) = field(key) else {
            return Err(match DERIVED.iter().find(|(name, _)| *name == key) {
                Some((_, why)) => Issue::warning(key, *why),
                None => Issue::notice(key, t!("this version does not know it; left out{key}", key = near(key))),
            });
        };
        parse(field)
            .and_then(|value| field.set(self, &value))
            .map_err(|message| Issue::warning(key, t!("Left out; {instead} is used. {message}", instead, message)))
    }
}

/// The field of this key, `.base` or not, if it names a preset.
fn based(key: &str) -> Option<&'static Field> {
    field(key).filter(|field| BASED.contains(&field.key))
}

/// Keys below `prefix` exist: `model`, `model.moe`, `overlap`, `recompute`; those of prices are ids of GPUs.
fn has_parts(prefix: &str) -> bool {
    prefix == PRICES || parts(prefix).next().is_some()
}

/// "; did you mean `seq_len`?" where a known key is close.
fn near(key: &str) -> Message {
    let normal = |key: &str| -> String {
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = normal(key);
    FIELDS
        .iter()
        .find(|field| {
            let name = normal(field.key);
            name == wanted
                || (wanted.len() > 2 && (name.starts_with(&wanted) || wanted.starts_with(&name) && name.len() > 2))
        })
        .map_or_else(Message::default, |field| t!("; did you mean {key}?", key = field.key))
}

/// Differences from the default, as a link's pairs: the form in which a Run passes between threads.
impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.changed_texts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?;
        Ok(Self::from_pairs(&pairs).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Run, Vec<Issue>> {
        Run::from_value(&serde_json::from_str(json).unwrap())
    }

    /// `prices` is an object of prices by the ids of GPUs.
    #[test]
    fn prices_by_gpu_are_an_object_and_a_pair_each_in_a_link() {
        let run = parse(r#"{"prices": {"b200-sxm": 4.5, "h100-sxm-80gb": 2}}"#).unwrap();
        assert_eq!((run.price("b200-sxm"), run.price("a100-sxm-80gb")), (Some(4.5), None));
        let texts = run.changed_texts();
        let pair = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
        assert_eq!(texts, [("prices.b200-sxm", "4.5"), ("prices.h100-sxm-80gb", "2")].map(pair));
        assert_eq!(Run::from_pairs(&texts), (run.clone(), Vec::new()));
        assert_eq!(Run::from_value(&run.to_value()).unwrap(), run);
        let fewer = parse(r#"{"prices": {"h100-sxm-80gb": 3}}"#).unwrap();
        assert_eq!(run.with_differences(&fewer.differences(&run)), (fewer, Vec::new()));
        for wrong in [r#"{"prices": {"abacus": 1}}"#, r#"{"prices": {"b200-sxm": -1}}"#, r#"{"prices": 2}"#] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn gpus_are_named_by_count_and_kind() {
        let named = |text: &str| Run::default().with_gpus_named(text).map(|run| (run.gpus, run.gpu.base.unwrap_or("")));
        assert_eq!(named("2048 H800"), Some((2048, "h800-sxm-80gb")));
        assert_eq!(named("4 × RTX 4090"), Some((4, "rtx-4090")));
        assert_eq!(named("1x l40s"), Some((1, "l40s")));
        // Counts stay counts: 16 384 is one, 8 * 64 a product.
        for text in ["64", "16 384", "8*64", "2k", "", "H800", "64 abacus"] {
            assert_eq!(named(text), None, "{text}");
        }
    }

    #[test]
    fn an_empty_object_is_the_default_run() {
        assert_eq!(parse("{}").unwrap(), Run::default());
        assert_eq!(Run::default().to_value(), Value::Map(Vec::new()));
    }

    #[test]
    fn objects_keep_what_they_say() {
        let run = parse(
            r#"{"model":{"base":"llama-3.1-8b","layers":40},"recompute":{"modules":["norm","mlp"]},
                "schedule_options":{"group":6},"overlap":{"tp":0.5},"precision":{"base":"bf16","master":2}}"#,
        )
        .unwrap();
        assert_eq!(run.model.parts.layers, Some(40));
        assert_eq!(run.schedule_options.group, Some(6));
        assert!((run.precision.resolve().unwrap().master - 2.0).abs() < 1e-12);
        assert_eq!(Run::from_value(&run.to_value()).unwrap(), run);
    }

    #[test]
    fn fields_are_set_by_text_all_or_none() {
        let run = Run { stage_layers: Some(vec![8; 4]), ..Run::default() };
        let set = |key, text: &str| run.with_texts(&[("tp", "4"), (key, text)]);
        let both = set("stage_layers", "").unwrap();
        assert_eq!((both.tp, both.stage_layers), (4, None));
        for (key, text) in [("typo", "1"), ("pp", "two"), ("pp", ""), ("zero", "4")] {
            assert_eq!(set(key, text), None, "{key}={text}");
        }
    }

    #[test]
    fn a_model_without_base_says_what_it_lacks() {
        let run = parse(r#"{"model":{"layers":2,"hidden":64,"ffn":256,"heads":4}}"#).unwrap();
        let issues = run.model.resolve().unwrap_err();
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0].field, "model.vocab");
    }

    #[test]
    fn wrong_things_are_named_by_their_field() {
        for (json, field) in [
            (r#"{"tp":"two"}"#, "tp"),
            (r#"{"tp":2.5}"#, "tp"),
            (r#"{"tp":-1}"#, "tp"),
            (r#"{"dp":8}"#, "dp"),
            (r#"{"typo":8}"#, "typo"),
            (r#"{"model":"llama-9"}"#, "model"),
            (r#"{"model":{"layer":2}}"#, "model.layer"),
            (r#"{"zero":4}"#, "zero"),
            (r#"{"overlap":{"dp":1.5}}"#, "overlap.dp"),
            (r#"{"stage_layers":["a"]}"#, "stage_layers"),
            (r#"{"recompute":{"modules":["all"]}}"#, "recompute.modules"),
            (r#"{"stack":"megatron-2030"}"#, "stack"),
            (r#"{"stack":{"attention":"flash-9"}}"#, "stack.attention"),
            (r#"{"tp":{"x":1}}"#, "tp"),
            ("[]", ""),
        ] {
            let issues = parse(json).unwrap_err();
            assert_eq!(issues[0].field, field, "{json}: {issues:?}");
        }
    }
}
