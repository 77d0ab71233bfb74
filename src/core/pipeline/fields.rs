//! The fields of a `schedule` request: a schedule with its sizes, and durations.

use super::durations::Durations;
use super::registry::{ScheduleInfo, Spec};
use super::rows::{SCHEDULES, schedule};
use crate::issue::Issue;
use crate::message::Message;
use crate::run::{OneOf, Schedule as Kind, Value, Variant};
use crate::t;
use crate::units::whole;

/// Seconds of an op at most: 30 thousand years, and sums of them stay finite.
const MAX_DURATION: f64 = 1e12;
/// Factor of a stage at most.
const LARGEST: f64 = 1e9;

/// Less than this is 0, so that a share of it stays finite.
const SMALLEST: f64 = 1e-15;

fn or_none(number: f64) -> f64 {
    if number < SMALLEST { 0.0 } else { number }
}

/// A number for all, or a list with one for each.
enum Each<T> {
    All(T),
    List(Vec<T>),
}

impl<T: Copy> Each<T> {
    /// One for each of `count` stages or ranks.
    fn list(&self, key: &'static str, count: u32) -> Result<Vec<T>, Vec<Issue>> {
        match self {
            Self::All(one) => Ok(vec![*one; count as usize]),
            Self::List(list) if list.len() == count as usize => Ok(list.clone()),
            Self::List(list) => {
                let message = t!("{key} has {list} entries and needs {count}", key, list = list.len(), count);
                Err(vec![Issue::error(key, message)])
            }
        }
    }
}

/// The durations of a request, before the number of stages is known.
pub(super) struct Sizes {
    forward: Each<f64>,
    backward_input: Each<f64>,
    backward_weight: Each<f64>,
    pair: Option<f64>,
    p2p: f64,
    scale: Option<Vec<f64>>,
}

impl Sizes {
    pub fn durations(&self, stages: u32) -> Result<Durations, Vec<Issue>> {
        let mut durations = Durations {
            forward: self.forward.list("forward_s", stages)?,
            backward_input: self.backward_input.list("backward_input_s", stages)?,
            backward_weight: self.backward_weight.list("backward_weight_s", stages)?,
            ..Durations::unit(0).with_p2p(self.p2p)
        };
        if let Some(pair) = self.pair {
            durations = durations.with_pair(pair);
        }
        let Some(scale) = &self.scale else {
            return Ok(durations);
        };
        if scale.len() != stages as usize {
            let message = t!("{scale} factors for {stages} global stages", scale = scale.len(), stages);
            return Err(vec![Issue::error("stage_scale", message)]);
        }
        Ok(durations.with_stage_scale(scale))
    }
}

/// Reads the fields of an object, and collects faults and the fields that were not read.
pub(super) struct Reader<'a> {
    entries: &'a [(String, Value)],
    asked: Vec<&'static str>,
    issues: Vec<Issue>,
}

impl<'a> Reader<'a> {
    pub fn new(request: &'a Value) -> Result<Self, Vec<Issue>> {
        match request {
            Value::Map(entries) => Ok(Self { entries, asked: Vec::new(), issues: Vec::new() }),
            other => {
                Err(vec![Issue::error("", t!("a request is an object of fields, this is {kind}", kind = other.kind()))])
            }
        }
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.push(key);
        let entry = self.entries.iter().find(|(name, _)| name == key);
        entry.map(|(_, value)| value).filter(|value| **value != Value::Null)
    }

    fn wrong(&mut self, key: &'static str, wanted: impl Into<Message>) {
        self.issues.push(Issue::error(key, t!("{key} takes {wanted}", key, wanted = wanted.into())));
    }

    fn count(&mut self, key: &'static str) -> Option<u32> {
        let count = match self.get(key)? {
            Value::Number(number) => whole(*number).and_then(|count| u32::try_from(count).ok()),
            _ => None,
        };
        if count.is_none() {
            self.wrong(key, "a whole number below 2^32");
        }
        count
    }

    fn seconds(&mut self, key: &'static str) -> Option<f64> {
        match self.get(key)? {
            Value::Number(number) if (0.0..=MAX_DURATION).contains(number) => Some(or_none(*number)),
            _ => {
                self.wrong(key, "seconds from 0 to 10^12");
                None
            }
        }
    }

    /// Seconds of every stage, or a list by stage.
    fn times(&mut self, key: &'static str) -> Option<Each<f64>> {
        let one = |value: &Value| match value {
            Value::Number(number) if (0.0..=MAX_DURATION).contains(number) => Some(or_none(*number)),
            _ => None,
        };
        let found = match self.get(key)? {
            Value::List(items) => items.iter().map(one).collect::<Option<Vec<_>>>().map(Each::List),
            value => one(value).map(Each::All),
        };
        if found.is_none() {
            self.wrong(key, "seconds from 0 to 10^12, or a list of them, one a global stage");
        }
        found
    }

    /// Activations of every rank, or a list by rank.
    fn limits(&mut self) -> Option<Each<u32>> {
        let one = |value: &Value| match value {
            Value::Number(number) => whole(*number).and_then(|count| u32::try_from(count).ok()),
            _ => None,
        };
        let found = match self.get("memory_limit")? {
            Value::List(items) => items.iter().map(one).collect::<Option<Vec<_>>>().map(Each::List),
            value => one(value).map(Each::All),
        };
        if found.is_none() {
            self.wrong("memory_limit", "a whole number below 2^32, or a list of them, one a rank");
        }
        found
    }

    pub fn flag(&mut self, key: &'static str, default: bool) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(yes)) => *yes,
            Some(_) => {
                self.wrong(key, "true or false");
                default
            }
        }
    }

    /// Text, or a list of lists of tokens as the answer prints them.
    fn order(&mut self) -> Option<String> {
        let tokens = |rank: &Value| match rank {
            Value::List(tokens) => {
                let texts: Option<Vec<_>> = tokens
                    .iter()
                    .map(|token| match token {
                        Value::Text(text) => Some(text.as_str()),
                        _ => None,
                    })
                    .collect();
                texts.map(|texts| texts.join(","))
            }
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let order = match self.get("order")? {
            Value::Text(text) => Some(text.clone()),
            Value::List(ranks) => ranks.iter().map(tokens).collect::<Option<Vec<_>>>().map(|ranks| ranks.join("|")),
            _ => None,
        };
        if order.is_none() {
            self.wrong("order", "a list of tokens for each rank");
        }
        order
    }

    fn scale(&mut self) -> Option<Vec<f64>> {
        let scale = match self.get("stage_scale")? {
            Value::List(items) => items
                .iter()
                .map(|item| match item {
                    Value::Number(factor) if (0.0..=LARGEST).contains(factor) => Some(or_none(*factor)),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        if scale.is_none() {
            self.wrong("stage_scale", "a list of factors from 0 to 10^9, one a global stage");
        }
        scale
    }

    pub fn spec(&mut self) -> (Option<Spec>, Sizes) {
        let id = match self.get("schedule") {
            Some(Value::Text(id)) => id.as_str(),
            Some(_) => "",
            None => "1f1b",
        };
        let found = schedule(id);
        if found.is_none() {
            let ids: Vec<_> = SCHEDULES.iter().map(ScheduleInfo::id).collect();
            self.wrong("schedule", t!("one of: {ids}", ids = ids.join(", ")));
        }
        let is = |kind: Kind| found.is_some_and(|row| row.kind == kind);
        let (custom, optimal) = (is(Kind::Custom), is(Kind::Optimal));
        let size = |count: Option<u32>, default| count.unwrap_or(if custom { 0 } else { default });
        let (pp, microbatches) = (self.count("pp"), self.count("microbatches"));
        let (virtual_stages, group) = (self.count("virtual_stages"), self.count("group"));
        let (waves, limits, splits) = (self.count("waves"), self.limits(), self.count("splits"));
        let (memory_limit, memory_limits) = match limits {
            None => (None, None),
            Some(Each::All(limit)) => (Some(limit), None),
            Some(Each::List(list)) => (None, Some(list)),
        };
        if memory_limits.is_some() && !optimal {
            self.wrong("memory_limit", t!("one number with {schedule}", schedule = id.to_owned()));
        }
        let whole_backward = self.whole_backward(found);
        let variant = self.variant();
        let order = self.order();
        let spec = found.map(|schedule| {
            let usual = Spec::new(schedule, size(pp, 4), size(microbatches, 8));
            Spec {
                virtual_stages: virtual_stages.unwrap_or(usual.virtual_stages),
                group,
                variant: variant.unwrap_or(usual.variant),
                waves: waves.unwrap_or(usual.waves),
                memory_limit,
                memory_limits,
                whole_backward,
                splits: splits.unwrap_or(usual.splits),
                order,
                ..usual
            }
        });
        let sizes = Sizes {
            forward: self.times("forward_s").unwrap_or(Each::All(1.0)),
            backward_input: self.times("backward_input_s").unwrap_or(Each::All(1.0)),
            backward_weight: self.times("backward_weight_s").unwrap_or(Each::All(f64::from(u8::from(!whole_backward)))),
            pair: self.seconds("pair_s"),
            p2p: self.seconds("p2p_s").unwrap_or(0.0),
            scale: self.scale(),
        };
        (spec, sizes)
    }

    fn variant(&mut self) -> Option<Variant> {
        let variant = match self.get("variant") {
            None => Some(Variant::Concat),
            Some(Value::Text(id)) => Variant::from_id(id),
            Some(_) => None,
        };
        if variant.is_none() {
            let ids: Vec<_> = Variant::ALL.iter().map(|(_, choice)| choice.id).collect();
            self.wrong("variant", t!("one of: {ids}", ids = ids.join(", ")));
        }
        variant
    }

    /// The backward is one op that takes `backward_input_s`.
    fn whole_backward(&mut self, found: Option<&ScheduleInfo>) -> bool {
        let asked = self.flag("whole_backward", false);
        if asked && found.is_some_and(|row| row.splits_backward && row.kind != Kind::Optimal) {
            self.wrong("whole_backward", "a schedule that does not split the backward");
        }
        if asked && self.get("backward_weight_s").is_some() {
            self.wrong("backward_weight_s", "no value with whole_backward: the backward takes backward_input_s");
        }
        asked
    }

    /// Holds where all fields were read and right.
    ///
    /// # Errors
    /// Every fault, and every field that was not read.
    pub fn done(mut self) -> Result<(), Vec<Issue>> {
        let mut known: Vec<&str> = Vec::new();
        for key in &self.asked {
            if !known.contains(key) {
                known.push(key);
            }
        }
        for (key, _) in self.entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let message = t!("no such field; a request has {join}", join = known.join(", "));
            self.issues.push(Issue::error(key.clone(), message));
        }
        if self.issues.is_empty() { Ok(()) } else { Err(self.issues) }
    }
}
