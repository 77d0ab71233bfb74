//! One contract for each verb. What a request takes is declared twice: by its reader, and with types and meaning in
//! `api.d.ts`, as the interface that is called after the verb. They have the same keys, and from that interface the
//! lists of the guide are written here, the schemas of the assistants' tools by `tools/npm/requests.js`, the classes of
//! the Python package by `tools/python/backend.py`. What a verb answers stands in the types.

use crate::common::tokens::tokens;
use serde_json::{Value as Json, json};
use shardscope::core::accuracy::FILES;
use shardscope::io::request::{Verb, answer};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Answer of the scoreboard, which has no function of its own in `api.d.ts`: `answerLine` asks it.
const SCOREBOARD: &str = "ToolScore | { errors: Issue[]; text: string }";
/// Keys of answers that hold Runs or their parts, whose keys are those of the registry, and what a file says of itself.
const FREE: [&str; 4] = ["run", "profile", "chosen", "about"];
/// Keys of a diagnosis whose objects have no type in `api.d.ts`.
const UNTYPED: [&str; 3] = ["workers", "series", "memory"];
/// A key that no request has.
const UNKNOWN: &str = "no_such_key";

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The type of a verb's answer in `api.d.ts`.
fn answer_type(code: &str, verb: Verb) -> &str {
    let name = match verb {
        Verb::Import => "importText",
        Verb::Export => "exportRun",
        Verb::Log => "readLog",
        Verb::WholeRun => "wholeRun",
        Verb::Scoreboard => return SCOREBOARD,
        other => other.name(),
    };
    function(code, name).1
}

/// The interface of a verb's request; those of a Run have none.
fn request_interface(verb: Verb) -> Option<&'static str> {
    Some(match verb {
        Verb::Schedule => "ScheduleRequest",
        Verb::Plan => "PlanRequest",
        Verb::Import => "ImportRequest",
        Verb::Export => "ExportRequest",
        Verb::Calibrate => "CalibrateRequest",
        Verb::Log => "LogRequest",
        Verb::Diagnose => "DiagnoseRequest",
        Verb::WholeRun => "WholeRunRequest",
        Verb::Scoreboard => "ScoreboardRequest",
        Verb::Report | Verb::Certify | Verb::Rl => return None,
    })
}

/// Key, declaration and comment of each member of an interface of `api.d.ts`.
fn members(types: &str, interface: &str) -> Vec<(String, String, String)> {
    let start = format!("export interface {interface} {{");
    let (_, body) = types.split_once(&start).unwrap_or_else(|| panic!("no {start} in api.d.ts"));
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut found, mut rest) = (Vec::new(), body.trim_start());
    while !rest.starts_with('}') {
        let mut about = String::new();
        if let Some((comment, behind)) = rest.strip_prefix("/**").and_then(|rest| rest.split_once("*/")) {
            about = one_line(
                &comment.lines().map(|line| line.trim().trim_start_matches('*')).collect::<Vec<_>>().join(" "),
            );
            rest = behind.trim_start();
        }
        let mut depth = 0;
        let end = rest.char_indices().find(|(_, sign)| {
            depth += match sign {
                '{' | '(' | '[' => 1,
                '}' | ')' | ']' => -1,
                _ => 0,
            };
            depth < 0 || depth == 0 && *sign == ';'
        });
        let (declared, behind) = rest.split_at(end.unwrap().0);
        let without_comments = declared.split("/**").map(|piece| piece.rsplit("*/").next().unwrap());
        let declared = one_line(&without_comments.collect::<String>());
        let key = declared.split(['?', ':']).next().unwrap().to_owned();
        found.push((key, declared, about));
        rest = behind.trim_start_matches(';').trim_start();
    }
    found
}

/// The keys of a request, as its refusal of an unknown one lists them; none where the request is a Run itself.
fn request_keys(verb: Verb) -> Vec<String> {
    let Err(issues) = answer(verb, &format!(r#"{{"run":{{}},"{UNKNOWN}":1}}"#)) else {
        panic!("{} takes {UNKNOWN}", verb.name())
    };
    let refused = issues.iter().find(|issue| issue.field == UNKNOWN).unwrap_or_else(|| panic!("{issues:?}"));
    let message = refused.message.to_string();
    let listed = message.split_once("a request has ").map(|(_, keys)| keys.split(", ").map(str::to_owned).collect());
    listed.unwrap_or_default()
}

/// Declarations of TypeScript without their comments.
fn declarations() -> String {
    let text = text("src/web/javascript/api.d.ts");
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |code, piece| code + piece.split_once("*/").unwrap().1)
}

/// The declaration that begins with `start`: up to the `;` or the closing brace outside of all brackets.
fn declaration<'t>(code: &'t str, start: &str) -> &'t str {
    let from = code.find(start).unwrap_or_else(|| panic!("no {start} in api.d.ts"));
    let mut depth = 0;
    for (at, sign) in code[from..].char_indices() {
        match sign {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
        let is_interface_end = sign == '}' && start.starts_with("export interface");
        if depth == 0 && (sign == ';' || is_interface_end) {
            return &code[from..=from + at];
        }
    }
    panic!("{start} has no end")
}

/// The keys that `part` of the declarations names, and those of all interfaces that it names.
fn keys_within(code: &str, part: &str) -> BTreeSet<String> {
    let (mut keys, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = vec![part.to_owned()];
    while let Some(part) = waiting.pop() {
        let words = tokens(&part);
        for (at, word) in words.iter().enumerate() {
            let mut behind = words[at + 1..].iter().map(|token| token.text).skip_while(|sign| *sign == "?");
            let is_name = word.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if is_name && behind.next() == Some(":") {
                keys.insert(word.text.to_owned());
            }
            let start = format!("export interface {} {{", word.text);
            if code.contains(&start) && seen.insert(word.text.to_owned()) {
                waiting.push(declaration(code, &start).to_owned());
            }
        }
    }
    keys
}

/// The function `name` of `api.d.ts`: its arguments and its answer.
fn function<'t>(code: &'t str, name: &str) -> (&'t str, &'t str) {
    let whole = declaration(code, &format!("export function {name}("));
    let mut depth = 0;
    let end = whole.char_indices().find(|(_, sign)| {
        depth += match sign {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        *sign == ')' && depth == 0
    });
    whole.split_at(end.unwrap().0)
}

/// The part of the guide about a verb.
fn section(guide: &str, verb: Verb) -> &str {
    let start = format!("\n**{}**:", verb.name());
    let from = guide.find(&start).unwrap_or_else(|| panic!("no {start} in GUIDE.md"));
    let rest = &guide[from + start.len()..];
    let end = ["\n**", "\n## "].into_iter().filter_map(|next| rest.find(next)).min();
    &rest[..end.unwrap_or(rest.len())]
}

#[test]
fn the_reader_of_a_request_and_its_interface_have_the_same_keys() {
    let types = text("src/web/javascript/api.d.ts");
    let mut count = 0;
    for verb in Verb::ALL {
        // A Run that may also stand under `run` is described as the request itself.
        let mut read: Vec<String> =
            request_keys(verb).into_iter().filter(|key| verb != Verb::Rl || key != "run").collect();
        let mut declared: Vec<String> = request_interface(verb)
            .map_or_else(Vec::new, |interface| members(&types, interface).into_iter().map(|(key, ..)| key).collect());
        read.sort();
        declared.sort();
        assert_eq!(read, declared, "{}: what is read, and what api.d.ts declares", verb.name());
        count += read.len();
    }
    assert!(count > 40, "{count}");
}

/// The lists of the guide are written from the interfaces where they differ from them.
#[test]
fn the_guide_lists_the_keys_of_every_request() {
    const HEADING: &str = "Keys of the request";
    let (types, guide) = (text("src/web/javascript/api.d.ts"), text("tools/npm/GUIDE.md"));
    let mut written = guide.clone();
    for verb in Verb::ALL {
        let Some(interface) = request_interface(verb) else { continue };
        let part = section(&written, verb);
        let at = part.find(HEADING).unwrap_or_else(|| panic!("no line `{HEADING}:` in GUIDE.md, {}", verb.name()));
        let (before, rest) = part.split_at(at + part[at..].find('\n').unwrap() + 1);
        let mut rest = rest.trim_start_matches('\n');
        while rest.starts_with("- ") {
            rest = rest.split_once('\n').map_or("", |(_, behind)| behind);
        }
        let rest = rest.trim_start_matches('\n');
        let line = |(_, declared, about): (String, String, String)| {
            if about.is_empty() { format!("- `{declared}`\n") } else { format!("- `{declared}`: {about}\n") }
        };
        let list: String = members(&types, interface).into_iter().map(line).collect();
        let end = if rest.is_empty() { "" } else { "\n" };
        let new = format!("{before}\n{list}{end}{rest}");
        written = written.replacen(part, &new, 1);
    }
    if written != guide {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/npm/GUIDE.md"), &written).unwrap();
        panic!("tools/npm/GUIDE.md was out of date: its lists of keys are written anew");
    }
}

/// Every verb is a tool of assistants; its schema is that of its interface.
#[test]
fn every_verb_is_a_tool_with_the_schema_of_its_interface() {
    let tools = text("tools/npm/tools.js");
    for verb in Verb::ALL {
        let start = format!("\n  {}: {{", verb.name().replace('-', "_"));
        let (_, tool) = tools.split_once(&start).unwrap_or_else(|| panic!("no tool {start}"));
        let tool = tool.split_once("\n  },").unwrap().0;
        if let Some(interface) = request_interface(verb) {
            let asked = format!("request('{}')", interface.trim_end_matches("Request"));
            assert!(tool.contains(&asked), "{}: {asked}", verb.name());
        }
    }
}

#[test]
fn every_verb_is_a_function_of_both_packages() {
    let (python, code) = (text("tools/python/shardscope/__init__.py"), declarations());
    let lines = declaration(&code, "export function answerLine(");
    for verb in Verb::ALL {
        assert!(lines.contains(&format!("\"{}\"", verb.name())), "answerLine: {}", verb.name());
        assert!(python.contains(&format!("_ask(\"{}\"", verb.name())), "tools/python: {}", verb.name());
    }
}

/// The keys of `value` and of all within it, but for those of Runs.
fn collect(value: &Json, skipped: &[&str], keys: &mut BTreeSet<String>) {
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                keys.insert(key.clone());
                if !skipped.contains(&key.as_str()) {
                    collect(value, skipped, keys);
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect(item, skipped, keys)),
        _ => {}
    }
}

/// Requests of every verb: the examples of the guide, and what it reads from files.
fn examples(guide: &str) -> Vec<(Verb, String)> {
    let mut examples = Vec::new();
    for line in guide.lines().filter_map(|line| line.strip_prefix("    echo '")) {
        let (request, command) = line.split_once("' | shardscope ").unwrap();
        examples.push((Verb::named(command).unwrap(), request.to_owned()));
    }
    let lines: Vec<String> = (1..=20)
        .map(|step| {
            format!(
                " [2026-03-02 11:22:{:02}] iteration {step}/ 20 | consumed samples: {} | elapsed time per iteration (ms): \
                 1250.0 | global batch size: 64 | lm loss: 1.1E+01 |\n",
                step + 10,
                64 * step
            )
        })
        .collect();
    let log = lines.concat();
    let memory = "CUDA out of memory. Tried to allocate 720.00 MiB. GPU 0 has a total capacity of 184.31 GiB of which 443.94 \
        MiB is free.";
    let settings = "--tensor-model-parallel-size 4 --unheard-of 7\n";
    examples.push((Verb::Log, json!({ "text": log, "run": { "gpus": 8 } }).to_string()));
    examples.push((Verb::Diagnose, json!({ "files": [{ "name": "oom.txt", "text": memory }] }).to_string()));
    examples.push((Verb::Diagnose, json!({ "files": [{ "name": "log.txt", "text": log }] }).to_string()));
    examples.push((Verb::Import, json!({ "text": settings, "run": { "gpus": 8 } }).to_string()));
    let run = json!({ "gpus": 256, "tp": 8 });
    examples.push((Verb::WholeRun, json!({ "run": run, "days": 30 }).to_string()));
    examples.push((Verb::WholeRun, json!({ "run": run, "tokens": 1e11, "by_days": 60 }).to_string()));
    let tables: BTreeMap<_, _> = FILES.iter().map(|(name, _)| (*name, text(&format!("public/data/{name}")))).collect();
    examples.push((Verb::Scoreboard, json!({ "ask": "origin" }).to_string()));
    examples.push((Verb::Scoreboard, json!({ "tables": tables, "predictions": "{}\n" }).to_string()));
    examples
}

#[test]
fn every_key_of_an_answer_is_in_the_types() {
    let (guide, code) = (text("tools/npm/GUIDE.md"), declarations());
    let examples = examples(&guide);
    let mut missing = BTreeSet::new();
    for verb in Verb::ALL {
        let typed = keys_within(&code, answer_type(&code, verb));
        let requests: Vec<&String> =
            examples.iter().filter(|(of, _)| *of == verb).map(|(_, request)| request).collect();
        assert!(!requests.is_empty(), "no example of {}", verb.name());
        for request in requests {
            let answer = answer(verb, request).unwrap_or_else(|issues| panic!("{}: {issues:?}", verb.name()));
            let skipped: &[&str] = if verb == Verb::Diagnose { &UNTYPED } else { &FREE };
            let mut keys = BTreeSet::new();
            collect(&serde_json::to_value(&answer).unwrap(), skipped, &mut keys);
            assert!(keys.contains("errors"), "{}", verb.name());
            let untyped = keys.into_iter().filter(|key| !typed.contains(key));
            missing.extend(untyped.map(|key| format!("{}: {key}", verb.name())));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_key_that_the_types_lack_is_found() {
    let code = "export interface Inner { deep?: number }\nexport interface Outer { at: Inner; list: { low: number }[] }\n\
                export function ask(request: { run: string }): Outer | null;\n";
    let (arguments, answer) = function(code, "ask");
    let texts = |keys: BTreeSet<String>| keys.into_iter().collect::<Vec<_>>();
    assert_eq!(texts(keys_within(code, arguments)), ["request", "run"]);
    assert_eq!(texts(keys_within(code, answer)), ["at", "deep", "list", "low"]);
}
