//! Records what the calculator answers, so that a change that should change no answer can be held to it: `answers`
//! prints one line for each of about 4,500 seeded requests of every verb and for each panel, drawer and lesson in both
//! languages: a name and a hash of the answer. Compare the output before and after (`diff`); `answers NAME` prints one
//! request with its answer.
//!
//! Runs are those of the tests (`tests/common/random.rs`); texts, traces and messages are those of `tests/data`.

#[path = "../tests/common/random.rs"]
#[allow(dead_code)] // the tests use more of it
mod random;

use random::{Random, random_run};
use serde_json::{Value, json};
use shardscope::core::accuracy::FILES;
use shardscope::core::field::OneOf;
use shardscope::core::memory::Component;
use shardscope::core::message::Catalogue;
use shardscope::core::report::{Figure, Refusal, Report, evaluate, explain, schedule_ids};
use shardscope::core::run::{Method, Run};
use shardscope::core::units::MemoryUnit;
use shardscope::io::evidence::{EvidenceReader, diagnose};
use shardscope::io::export;
use shardscope::io::request::{Answer, Verb, answer};
use shardscope::view::learn::{StepId, StepQuestion};
use shardscope::view::node::Node;
use shardscope::view::panel::Panel;
use shardscope::view::panels::about::about;
use shardscope::view::panels::strip::strip;
use shardscope::view::panels::waterfall::waterfall;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Seed of the Runs.
const SEED: u64 = 26;
/// Drawn Runs that work; a few of them make the slow requests.
const RUNS: usize = 900;
/// Runs whose panels are printed.
const SHOWN_RUNS: usize = 12;
const UNIT: MemoryUnit = MemoryUnit::Gib;

/// Writes the record, or the one answer that is asked for.
struct Record {
    asked: Option<String>,
    catalogues: [(&'static str, Catalogue); 2],
}

impl Record {
    fn line(&self, name: &str, request: &str, answer: impl FnOnce() -> String) {
        match &self.asked {
            None => println!("{name} {:016x}", hash(&answer())),
            Some(asked) if asked == name => println!("{request}\n{}", answer()),
            Some(_) => {}
        }
    }
    /// A request of a verb.
    fn ask(&self, verb: Verb, index: usize, request: &str) {
        self.line(&format!("{}:{index}", verb.name()), request, || text(answer(verb, request)));
    }
    /// A tree in both languages.
    fn show(&self, name: &str, node: impl Fn() -> Node) {
        for (language, catalogue) in &self.catalogues {
            self.line(&format!("{name}:{language}"), name, || node().to_html_in(catalogue));
        }
    }
}

/// FNV-1a, 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn text(answer: Result<Answer, Vec<shardscope::core::issue::Issue>>) -> String {
    let text = match answer {
        Ok(answer) => serde_json::to_string(&answer),
        Err(errors) => serde_json::to_string(&Refusal { errors }),
    };
    text.unwrap_or_else(|error| error.to_string())
}

fn main() -> Result<(), Box<dyn Error>> {
    let chinese = serde_json::from_str(&fs::read_to_string("locales/zh.json")?)?;
    let record = Record { asked: std::env::args().nth(1), catalogues: [("en", Catalogue::default()), ("zh", chinese)] };
    let mut random = Random::new(SEED);
    let drawn = std::iter::repeat_with(|| random_run(&mut random));
    let runs: Vec<(Run, Report)> =
        drawn.filter_map(|run| evaluate(&run).ok().map(|evaluation| (run, evaluation.report))).take(RUNS).collect();
    of_runs(&record, &runs)?;
    schedules(&record, &mut random);
    texts(&record)?;
    scoreboard(&record)?;
    panels(&record, &runs);
    Ok(())
}

/// Requests that are made of Runs.
fn of_runs(record: &Record, runs: &[(Run, Report)]) -> Result<(), Box<dyn Error>> {
    let formats: Vec<&str> = export::ids().collect();
    for (index, (run, report)) in runs.iter().enumerate() {
        let json = serde_json::to_value(run.to_value())?;
        let over = |more: Value| {
            let mut run = json.clone();
            if let (Some(run), Value::Object(more)) = (run.as_object_mut(), more) {
                run.extend(more);
            }
            run
        };
        record.ask(Verb::Report, index, &json.to_string());
        let format = formats[index % formats.len()];
        record.ask(Verb::Export, index, &json!({ "run": json, "format": format }).to_string());
        if let Ok(Answer::Exported(exported)) =
            answer(Verb::Export, &json!({ "run": json, "format": format }).to_string())
            && let Ok(text) = serde_json::to_value(&exported)
        {
            record.ask(Verb::Import, index, &json!({ "text": text["text"], "run": { "gpus": run.gpus } }).to_string());
        }
        let whole = match index % 3 {
            0 => json!({ "run": json, "days": 30 }),
            1 => over(json!({ "tokens_total": 1e12, "price_per_gpu_hour": 2 })),
            _ => json!({ "run": json, "tokens": 1e11, "by_days": 60 }),
        };
        if index % 2 == 0 {
            record.ask(Verb::WholeRun, index, &whole.to_string());
            let rl = json!({ "algorithm": "grpo", "prompts": 64, "samples": 8, "prompt_tokens": 99,
                "response_tokens": { "mean": 900 }, "response_limit": 4096 });
            record.ask(Verb::Rl, index, &over(json!({ "rl": rl })).to_string());
        }
        if index % 4 == 0 {
            let measured = json!({ "run": json, "step_s": report.step.time_s.0 * (1.0 + (index % 7) as f64 / 20.0) });
            record.ask(Verb::Calibrate, index, &json!({ "runs": [measured], "name": "ours" }).to_string());
            record.ask(Verb::Log, index, &json!({ "text": log(report), "run": json }).to_string());
        }
        if index % 30 == 0 && run.gpus <= 128 {
            record.ask(Verb::Plan, index, &json!({ "run": json, "top": 3 }).to_string());
        }
        if index % 10 == 0 && run.pp <= 4 && run.global_batch <= 32 {
            record.ask(Verb::Certify, index, &json.to_string());
        }
    }
    Ok(())
}

/// Twenty lines as Megatron prints them, a tenth slower than the report.
fn log(report: &Report) -> String {
    let millis = report.step.time_s.0 * 1100.0;
    let line = |step: usize| {
        format!(
            " [2026-03-02 11:22:{:02}] iteration {step}/ 20 | consumed samples: {} | elapsed time per iteration (ms): \
             {millis:.1} | global batch size: 64 | lm loss: 1.1E+01 |\n",
            step + 10,
            64 * step
        )
    };
    (1..=20).map(line).collect()
}

/// Requests of schedules with drawn durations.
fn schedules(record: &Record, random: &mut Random) {
    let ids: Vec<&str> = schedule_ids().filter(|id| *id != "custom").collect();
    for index in 0..250 {
        let ranks = random.one(&[2, 3, 4, 6, 8]);
        let request = json!({
            "schedule": ids[index % ids.len()],
            "pp": ranks,
            "microbatches": ranks * random.one(&[1, 2, 3, 4]),
            "virtual_stages": random.one(&[1, 2]),
            "forward_s": random.one(&[1.0, 0.7]),
            "backward_s": random.one(&[2.0, 1.9]),
        });
        record.ask(Verb::Schedule, index, &request.to_string());
    }
}

/// Files of a folder, by name.
fn files(folder: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

/// Settings of other programs, messages, and traces.
fn texts(record: &Record) -> Result<(), Box<dyn Error>> {
    for (index, file) in files("tests/data/launch")?.iter().enumerate() {
        let request = json!({ "text": fs::read_to_string(file)?, "run": { "gpus": 64 } });
        record.ask(Verb::Import, RUNS + index, &request.to_string());
    }
    let messages = fs::read_to_string("tests/data/traces/oom_messages.txt")?;
    for (index, message) in messages.split("\n\n").enumerate() {
        let request = json!({ "files": [{ "name": "oom.txt", "text": message }] });
        record.ask(Verb::Diagnose, index, &request.to_string());
    }
    for file in files("tests/data/traces")? {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        record.line(&format!("diagnose:{name}"), &name, || diagnosed(&file));
    }
    Ok(())
}

/// The diagnosis of a file.
fn diagnosed(file: &Path) -> String {
    let run = Run::default();
    let read = || {
        let mut reader = EvidenceReader::default();
        reader.push(&fs::read(file).unwrap_or_default()).map_err(|issue| vec![issue])?;
        diagnose(&[&reader.finish(&run)], &run)
    };
    text(read().map(|diagnosis| Answer::Diagnosed(Box::new(diagnosis))))
}

/// The scoreboard's questions, and the rows of the tools whose predictions are kept.
fn scoreboard(record: &Record) -> Result<(), Box<dyn Error>> {
    let mut tables = serde_json::Map::new();
    for (name, _) in FILES {
        tables.insert((*name).to_owned(), fs::read_to_string(format!("public/data/{name}"))?.into());
    }
    record.ask(Verb::Scoreboard, 0, &json!({ "tables": tables, "ask": "questions" }).to_string());
    for (index, file) in files("public/data/scoreboard")?.iter().enumerate() {
        let request = json!({ "tables": tables, "predictions": fs::read_to_string(file)? });
        record.ask(Verb::Scoreboard, index + 1, &request.to_string());
    }
    Ok(())
}

/// Panels and drawers of some Runs, and all lessons.
fn panels(record: &Record, runs: &[(Run, Report)]) {
    for (index, (run, report)) in runs.iter().take(SHOWN_RUNS).enumerate() {
        let Ok(evaluation) = evaluate(run) else { continue };
        for panel in Panel::ALL {
            record.show(&format!("panel:{panel:?}:{index}").replace(' ', ""), || panel.view(&evaluation, UNIT));
        }
        record.show(&format!("strip:{index}"), || strip(run, report, UNIT));
        record.show(&format!("waterfall:{index}"), || waterfall(&evaluation));
        let single = [
            Figure::Memory(0),
            Figure::InFlight(0),
            Figure::Capacity,
            Figure::Step,
            Figure::Compute,
            Figure::Bubble,
            Figure::Mfu,
            Figure::Tokens,
            Figure::Exposed,
            Figure::Rule,
        ];
        let components = Component::ALL.map(|component| Figure::Component(0, component));
        let methods = Method::ALL.iter().map(|(method, _)| Figure::Method(*method, 0));
        let rows = (0..report.overlap.len()).map(Figure::Overlap);
        for figure in single.into_iter().chain(components).chain(methods).chain(rows) {
            if let Some(term) = explain(&evaluation, figure) {
                record.show(&format!("drawer:{}:{index}", figure.id()), || about(&term, UNIT));
            }
        }
    }
    for id in StepId::all() {
        let page = StepQuestion { step: id, ..StepQuestion::default() }.page();
        record.show(&format!("lesson:{id:?}").replace(' ', ""), || {
            Node::from_iter([page.head.clone(), page.words.clone(), page.practice.clone(), page.on_run.clone()])
        });
    }
}
