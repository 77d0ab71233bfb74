//! `layout=auto` in requests: the Run of a request in the layout that is chosen for it, and the answer that names it.

use super::link;
use serde::Serialize;
use shardscope_core::issue::Issue;
use shardscope_core::run::registry::field;
use shardscope_core::run::{Run, Value};
use shardscope_core::search::auto::{KEY, VALUES, choose, named, of_layout};

/// An answer with the layout that was chosen for it.
#[derive(Serialize)]
pub struct ChosenAnswer<T> {
    #[serde(flatten)]
    answer: T,
    /// Every field of the layout, and whether no other can be faster.
    chosen: Value,
}

impl<T> ChosenAnswer<T> {
    pub fn new(answer: T, chosen: Value) -> Self {
        Self { answer, chosen }
    }
}

/// `object` without its `layout`, and whether that is `auto`.
///
/// # Errors
/// A `layout` that is neither.
pub fn taken(object: &Value) -> Result<(Value, bool), Vec<Issue>> {
    let Value::Map(entries) = object else {
        return Ok((object.clone(), false));
    };
    let is_auto = match object.get(KEY) {
        None | Some(Value::Null) => false,
        Some(value) => {
            let [auto, given] = VALUES.map(|name| value.text() == Some(name));
            if !auto && !given {
                return Err(vec![Issue::error(KEY, "layout takes auto or as-given")]);
            }
            auto
        }
    };
    Ok((Value::Map(entries.iter().filter(|(key, _)| key != KEY).cloned().collect()), is_auto))
}

/// A request whose Run has its layout, and the name of that where it was chosen. The Run is under `run`, or is the
/// request itself; `layout=auto` is beside its fields, or beside `run`.
///
/// # Errors
/// Faults of the Run, or no layout that fits.
pub fn resolved(request: &Value) -> Result<(Value, Option<Value>), Vec<Issue>> {
    let (rest, mut is_auto) = taken(request)?;
    let run = match rest.get("run") {
        Some(run) => {
            let (run, within) = taken(run)?;
            is_auto |= within;
            run
        }
        None => rest.clone(),
    };
    let has_run = rest.get("run").is_some();
    let (run, chosen) = if is_auto {
        let choice = choose(&Run::from_value(&run)?, keys(&run).iter().map(String::as_str))?;
        (choice.run.to_value(), Some(named(&choice)))
    } else {
        (run, None)
    };
    let request = match rest {
        Value::Map(entries) if has_run => {
            let place = |(key, value)| if key == "run" { (key, run.clone()) } else { (key, value) };
            Value::Map(entries.into_iter().map(place).collect())
        }
        _ => run,
    };
    Ok((request, chosen))
}

/// A request for a plan without what it says of a layout: it searches them anyway.
///
/// # Errors
/// A request in which `layout=` has another word.
pub fn unasked(request: &Value) -> Result<Value, Vec<Issue>> {
    let (request, _) = taken(request)?;
    let Value::Map(entries) = request else {
        return Ok(request);
    };
    let bare = |(key, value): (String, Value)| {
        let value = if key == "run" { taken(&value)?.0 } else { value };
        Ok((key, value))
    };
    Ok(Value::Map(entries.into_iter().map(bare).collect::<Result<_, Vec<Issue>>>()?))
}

/// The fields of a layout that an object gives.
fn keys(run: &Value) -> Vec<String> {
    let Value::Map(entries) = run else {
        return Vec::new();
    };
    let given = entries.iter().filter(|(_, value)| *value != Value::Null);
    given.map(|(key, _)| key.clone()).filter(|key| of_layout(key).is_some()).collect()
}

/// The link of a Run given as an object that may leave its layout to the search: fields that are given are written at
/// their default too.
///
/// # Errors
/// Faults of the Run.
pub fn encode(object: &Value) -> Result<String, Vec<Issue>> {
    let (object, is_auto) = taken(object)?;
    let run = Run::from_value(&object)?;
    let mut text = link::encode(&run);
    if is_auto {
        for key in keys(&object) {
            let written = field(&key).filter(|field| !field.is_changed(&run)).and_then(|field| field.text(&run));
            if let Some(value) = written {
                text.extend(["&", &key, "="]);
                link::escape(&value, &mut text);
            }
        }
        text.push_str("&layout=auto");
    }
    Ok(text)
}

/// The Run of a link as an object, which says where the layout is left to the search.
pub fn to_value(read: &link::Decoded) -> Value {
    let value = read.run.to_value();
    let (Some(given), Value::Map(mut entries)) = (&read.auto, value.clone()) else {
        return value;
    };
    for key in given.iter().filter(|key| !key.contains('.')) {
        let missing = entries.iter().all(|(known, _)| known != key);
        let is = field(key).map(|field| field.get(&read.run)).filter(|value| missing && *value != Value::Null);
        entries.extend(is.map(|value| (key.clone(), value)));
    }
    entries.push((KEY.to_owned(), Value::Text(VALUES[0].to_owned())));
    Value::Map(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    #[test]
    fn a_run_stands_under_its_name_or_alone_and_its_layout_on_either_side() {
        for request in [
            r#"{"gpus": 8, "global_batch": 16, "tp": 2, "layout": "auto"}"#,
            r#"{"run": {"gpus": 8, "global_batch": 16, "tp": 2}, "layout": "auto", "format": "markdown"}"#,
            r#"{"run": {"gpus": 8, "global_batch": 16, "tp": 2, "layout": "auto"}, "format": "markdown"}"#,
        ] {
            let (request, chosen) = resolved(&read(request).unwrap()).unwrap();
            let run = Run::from_value(request.get("run").unwrap_or(&request)).unwrap();
            let chosen = chosen.unwrap();
            assert_eq!(chosen.get("tp"), Some(&Value::Number(2.0)));
            assert_eq!(chosen.get("pp"), Some(&Value::Number(run.pp as f64)));
            assert_eq!((run.tp, run.gpus), (2, 8));
        }
        let given = read(r#"{"tp": 2, "layout": "as-given"}"#).unwrap();
        assert_eq!(resolved(&given).unwrap(), (read(r#"{"tp": 2}"#).unwrap(), None));
        assert_eq!(resolved(&read(r#"{"layout": "best"}"#).unwrap()).unwrap_err()[0].field, KEY);
    }

    /// A given field at its default stays given through a link and back.
    #[test]
    fn a_link_keeps_what_is_given_and_that_the_rest_is_chosen() {
        let object = read(r#"{"gpus": 128, "tp": 2, "layout": "auto"}"#).unwrap();
        let text = encode(&object).unwrap();
        let back = link::decode(&text);
        assert_eq!(back.auto.as_deref(), Some(&["tp".to_owned()][..]), "{text}");
        assert_eq!(back.notices, []);
        assert_eq!(encode(&to_value(&back)).unwrap(), text);
        assert_eq!(encode(&read(r#"{"gpus": 128}"#).unwrap()).unwrap(), "v=1&gpus=128");
    }
}
