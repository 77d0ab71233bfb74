//! Messages of the page around a frame to the calculator in it, as JSON:
//!
//! | message | reply |
//! | --- | --- |
//! | `{type: "shardscope:ping"}` | `{type: "shardscope:pong", version}` |
//! | `{type: "shardscope:get"}` | `{type: "shardscope:run", run, link, errors, notices}` |
//! | `{type: "shardscope:set", run or link, panel, theme, lang, lesson, sliders}` | the same, afterwards |
//!
//! The Run is what the frame's own address says. `public/lazy/embed_protocol.js` carries the messages.

use super::{auto, json, link};
use serde::Serialize;
use shardscope_core::issue::Issue;
use shardscope_core::report::evaluate;
use shardscope_core::run::{OneOf, Value};
use shardscope_core::search::auto::choose;
use shardscope_core::t;
use shardscope_view::palette::Theme;
use shardscope_view::steps::StepId;
use shardscope_view::views::Embed;

/// Effects of a message.
#[derive(Default, Serialize)]
pub struct FrameAnswer {
    /// Reply to the page around the frame; none where the message is not one of the protocol.
    reply: Option<Reply>,
    /// Text behind `#` in the frame's address.
    fragment: Option<String>,
    /// True if the frame has to be loaded again: another panel is another page.
    reloads: bool,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Reply {
    #[serde(rename = "shardscope:pong")]
    Pong { version: &'static str },
    #[serde(rename = "shardscope:run")]
    Run { run: Value, link: String, errors: Vec<Issue>, notices: Vec<Issue> },
}

/// A choice of what is shown: its name, its key in a link, and the values that it takes.
struct Choice {
    name: &'static str,
    key: &'static str,
    takes: fn(&str) -> bool,
    values: fn() -> String,
}

const CHOICES: [Choice; 5] = [
    Choice { name: "panel", key: PANEL, takes: |text| Embed::from_id(text).is_some(), values: ids::<Embed> },
    Choice { name: "theme", key: "view.theme", takes: |text| Theme::from_id(text).is_some(), values: ids::<Theme> },
    Choice {
        name: "lang",
        key: "view.lang",
        takes: |text| matches!(text, "en" | "zh"),
        values: || "en, zh".to_owned(),
    },
    Choice {
        name: "lesson",
        key: LESSON,
        takes: |text| StepId::named(text).is_some(),
        values: || "a lesson and a step, such as pipelines.interleaving".to_owned(),
    },
    Choice {
        name: "sliders",
        key: SLIDERS,
        takes: are_sliders,
        values: || "values of its sliders, such as p.8,m.16".to_owned(),
    },
];
const PANEL: &str = "view.embed";
const LESSON: &str = "view.lesson";
const SLIDERS: &str = "view.sliders";
/// What the gallery of schedules shows.
const GALLERY: [&str; 4] = ["view.ticked", "view.sort", "view.axis", "view.limit"];

fn ids<T: OneOf>() -> String {
    T::ALL.iter().map(|(_, choice)| choice.id).collect::<Vec<_>>().join(", ")
}

/// Answers `message`, which came to the frame at `address`.
pub fn answer(message: &str, address: &str) -> FrameAnswer {
    let message = match json::read(message) {
        Ok(message) => message,
        Err(errors) => return present(address, errors),
    };
    match message.get("type") {
        Some(Value::Text(name)) if name == "shardscope:ping" => {
            FrameAnswer { reply: Some(Reply::Pong { version: env!("CARGO_PKG_VERSION") }), ..FrameAnswer::default() }
        }
        Some(Value::Text(name)) if name == "shardscope:get" => present(address, Vec::new()),
        Some(Value::Text(name)) if name == "shardscope:set" => match set(&message, address) {
            Ok((fragment, reloads)) => FrameAnswer {
                reply: present(&format!("{}#{fragment}", page(address)), Vec::new()).reply,
                fragment: Some(fragment),
                reloads,
            },
            Err(errors) => present(address, errors),
        },
        _ => FrameAnswer::default(),
    }
}

/// An address without its fragment.
fn page(address: &str) -> &str {
    address.split('#').next().unwrap_or_default()
}

/// The Run of `address`, and what is wrong with it or with what was asked.
fn present(address: &str, mut errors: Vec<Issue>) -> FrameAnswer {
    let read = link::decode(address);
    let wrong = match &read.auto {
        None => evaluate(&read.run).err(),
        Some(given) => choose(&read.run, given.iter().map(String::as_str)).err(),
    };
    errors.extend(wrong.unwrap_or_default());
    let run = auto::to_value(&read);
    let written = auto::encode(&run).unwrap_or_else(|_| link::encode(&read.run));
    let reply = Reply::Run { link: format!("{}#{written}", page(address)), run, errors, notices: read.notices };
    FrameAnswer { reply: Some(reply), ..FrameAnswer::default() }
}

/// The fragment that `message` wants, and whether that is another panel.
fn set(message: &Value, address: &str) -> Result<(String, bool), Vec<Issue>> {
    let (mut view, mut run): (Vec<_>, Vec<_>) = pairs(address).partition(|(key, _)| is_view(key));
    let written;
    match (message.get("run"), message.get("link")) {
        (None, None) => {}
        (None, Some(Value::Text(link))) => {
            run = pairs(link).filter(|(key, _)| !is_view(key)).collect();
            // Which schedules are shown is a part of what is linked.
            let gallery: Vec<_> = pairs(link).filter(|(key, _)| GALLERY.contains(key)).collect();
            view.retain(|(key, _)| !gallery.iter().any(|(known, _)| known == key));
            view.extend(gallery);
        }
        (None, Some(_)) => return Err(vec![Issue::error("", t!("link is a text"))]),
        (Some(given), _) => {
            // As an attribute has it: JSON.
            let parsed = match given {
                Value::Text(text) if text.starts_with('{') => Some(json::read(text)?),
                _ => None,
            };
            written = auto::encode(parsed.as_ref().unwrap_or(given))?;
            run = pairs(&written).collect();
        }
    }
    let panel = value_in(&view, PANEL);
    for choice in &CHOICES {
        let wanted = match message.get(choice.name) {
            None => continue,
            Some(Value::Text(text)) if (choice.takes)(text) => text,
            Some(_) => {
                let message = t!("one of: {values}", values = (choice.values)());
                return Err(vec![Issue::error(choice.name, message)]);
            }
        };
        // Sliders are those of one step.
        let is_other = choice.key == LESSON && value_in(&view, LESSON) != Some(wanted);
        view.retain(|(key, _)| *key != choice.key && !(is_other && *key == SLIDERS));
        view.push((choice.key, wanted));
    }
    let reloads = panel != value_in(&view, PANEL);
    let entries = run.iter().chain(&view);
    let entries: Vec<_> = entries.map(|(key, value)| format!("{key}={value}")).collect();
    Ok((entries.join("&"), reloads))
}

fn value_in<'a>(settings: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    let found = settings.iter().find(|(known, _)| *known == key);
    found.map(|(_, value)| *value)
}

/// Key and value of each setting of a link, as they are there.
fn pairs(link: &str) -> impl Iterator<Item = (&str, &str)> {
    let settings = link::fragment(link).split('&');
    settings.filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn is_view(key: &str) -> bool {
    key.starts_with("view.")
}

/// `p.8,m.16`: symbols of sliders with a count each.
fn are_sliders(text: &str) -> bool {
    text.split(',').all(|one| {
        let mut letters = one.chars();
        let symbol = letters.next().is_some_and(char::is_alphabetic);
        let count = letters.as_str().strip_prefix('.');
        symbol && count.is_some_and(|count| count.parse::<u64>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://host/index.html";
    const HERE: &str = "https://host/index.html#v=1&tp=4&view.embed=strip&view.sliders=p.8";

    fn asked(message: &str) -> serde_json::Value {
        serde_json::to_value(answer(message, HERE)).unwrap()
    }

    fn set_to(what: &str) -> serde_json::Value {
        asked(&format!(r#"{{"type":"shardscope:set",{what}}}"#))
    }

    /// The guide for pages around a frame has every panel.
    #[test]
    fn the_guide_names_every_panel() {
        let guide = include_str!("../../docs/embedding.md");
        let row = guide.lines().find(|line| line.starts_with("| `view.embed` |")).unwrap();
        for (panel, choice) in Embed::ALL {
            assert!(row.contains(&format!("`{}`", choice.id)), "{panel:?}");
        }
    }

    #[test]
    fn a_frame_says_its_version_and_its_run() {
        let pong = &asked(r#"{"type":"shardscope:ping"}"#)["reply"];
        assert_eq!(pong["type"], "shardscope:pong");
        assert_eq!(pong["version"], env!("CARGO_PKG_VERSION"));
        let answer = asked(r#"{"type":"shardscope:get"}"#);
        assert!(answer["fragment"].is_null());
        let reply = &answer["reply"];
        assert_eq!(reply["run"], serde_json::json!({ "tp": 4 }));
        assert_eq!(reply["link"], format!("{PAGE}#v=1&tp=4"));
        assert_eq!(reply["errors"], serde_json::json!([]));
    }

    /// The address is the only place of the Run: what is set is what the new address says.
    #[test]
    fn what_is_set_is_where_the_address_goes() {
        for (what, fragment, reloads) in [
            (r#""run":{"tp":1,"gpus":32}"#, "v=1&gpus=32&tp=1&view.embed=strip&view.sliders=p.8", false),
            (r#""run":"{\"tp\":1}""#, "v=1&tp=1&view.embed=strip&view.sliders=p.8", false),
            (r#""link":"v=1&pp=2&view.embed=all""#, "v=1&pp=2&view.embed=strip&view.sliders=p.8", false),
            (
                r#""link":"v=1&pp=4&view.ticked=1f1b,zb-h1&view.open=schedules""#,
                "v=1&pp=4&view.embed=strip&view.sliders=p.8&view.ticked=1f1b,zb-h1",
                false,
            ),
            (
                r#""run":{"gpus":8,"tp":2,"layout":"auto"}"#,
                "v=1&gpus=8&tp=2&layout=auto&view.embed=strip&view.sliders=p.8",
                false,
            ),
            (r#""theme":"dark""#, "v=1&tp=4&view.embed=strip&view.sliders=p.8&view.theme=dark", false),
            (r#""lesson":"zero.2""#, "v=1&tp=4&view.embed=strip&view.lesson=zero.2", false),
            (r#""panel":"memory""#, "v=1&tp=4&view.sliders=p.8&view.embed=memory", true),
        ] {
            let answer = set_to(what);
            assert_eq!(answer["fragment"], fragment, "{what}");
            assert_eq!(answer["reloads"], reloads, "{what}");
            let run = auto::to_value(&link::decode(fragment));
            assert_eq!(answer["reply"]["link"], format!("{PAGE}#{}", auto::encode(&run).unwrap()));
        }
    }

    #[test]
    fn a_run_that_cannot_work_is_set_and_says_why() {
        let answer = set_to(r#""run":{"tp":7}"#);
        assert_eq!(answer["reply"]["run"], serde_json::json!({ "tp": 7 }));
        assert!(answer["reply"]["errors"][0]["message"].is_string());
        assert!(answer["fragment"].is_string());
    }

    #[test]
    fn what_is_not_understood_changes_nothing() {
        for bad in [
            r#""run":{"tp":"x"}"#,
            r#""run":{"nonsense":1}"#,
            r#""run":"tp=2""#,
            r#""run":[1]"#,
            r#""link":7"#,
            r#""panel":"cellar""#,
            r#""theme":1"#,
            r#""lesson":"7""#,
            r#""sliders":"p=8""#,
        ] {
            let answer = set_to(bad);
            assert!(answer["fragment"].is_null(), "{bad}");
            assert!(answer["reply"]["errors"][0]["message"].is_string(), "{bad}");
            assert_eq!(answer["reply"]["run"], serde_json::json!({ "tp": 4 }), "{bad}");
        }
        assert!(asked(r#"{"type":"other"}"#)["reply"].is_null());
        assert!(asked("7")["reply"].is_null());
    }
}
