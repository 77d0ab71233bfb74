//! Holds `locales/zh.json` to the texts of the program: every template has a row with its holes, and every row a
//! template.
//!
//! Templates come from two sides: the sources, read as text, and what the panels say of a number of runs.

use shardscope::core::advice::ScheduleRow;
use shardscope::core::advice::certify::proof;
use shardscope::core::calibrate::{CalibrateRequest, MeasuredPeak, MemoryKind, Observation};
use shardscope::core::cluster::GroupKind;
use shardscope::core::explain::Term;
use shardscope::core::explain::symbols;
use shardscope::core::message::{Catalogue, Message};
use shardscope::core::report::{Evaluation, ScheduleVariant, evaluate, explain};
use shardscope::core::run::registry::{FIELDS, Slot};
use shardscope::core::run::{Multiplier, Run, Schedule};
use shardscope::core::units::MemoryUnit;
use shardscope::core::whole_run::range;
use shardscope::io::export::Stamp;
use shardscope::io::import::{self, summary::summary};
use shardscope::io::link;
use shardscope::io::logs;
use shardscope::view::charts::prepared::Prepared;
use shardscope::view::cluster::base::base;
use shardscope::view::cluster::crossing;
use shardscope::view::cluster::legend::legend;
use shardscope::view::cluster::ranks::node_table;
use shardscope::view::cluster::selected::selected;
use shardscope::view::cluster::wires::wires;
use shardscope::view::cluster::{self, Scene};
use shardscope::view::gallery::sketch::Axis;
use shardscope::view::gallery::{Gallery, GalleryLook, best_known, cards, head, stack};
use shardscope::view::learn::{StepId, StepQuestion};
use shardscope::view::node::Node;
use shardscope::view::node::glossary::WORDS;
use shardscope::view::node::markup::leaf;
use shardscope::view::panel::Panel;
use shardscope::view::panels::about::about;
use shardscope::view::panels::derived::derived;
use shardscope::view::panels::issues::{line, only_if};
use shardscope::view::panels::limits::limits;
use shardscope::view::panels::provenance::sources;
use shardscope::view::panels::published;
use shardscope::view::panels::runs::{fitted, kept, offer, profiles};
use shardscope::view::panels::whole::{
    Caption, DateLayout, WholeRunAnswer, answer, assumed, calendar, caption, choices, dates, future, steps, trains,
};
use shardscope::web::dialogs::page::{content, named};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Calls whose first argument is a template, as they stand before it.
const CALLS: [&str; 10] =
    ["t!(", "plain(", "joined(", "say(", "translated(", "text(", ".label(", ".title(", "fold(", ".note("];

/// Words that are the same in every language: names of programs, libraries, formats, units and symbols.
const NAMES: &[&str] = &[
    "rank",
    "token",
    "tokens",
    "logit",
    "softmax",
    "all-to-all",
    "config.json",
    "all-gather",
    "reduce-scatter",
    "torchtitan",
    "axolotl",
    "nanotron",
    "llm-foundry",
    "verl",
    "uneven-pp",
    "auto",
    "dropout",
    "max",
    "min",
    "wiki",
    "ring",
];

pub(super) fn catalogue() -> Catalogue {
    let text = fs::read_to_string("locales/zh.json").unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A string literal of the sources, and what stands right before it.
struct Literal {
    text: String,
    before: String,
}

/// The literals of a source file, tests and comments left out.
fn literals(code: &str) -> Vec<Literal> {
    let code = code.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut found = Vec::new();
    let mut before = String::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest = &rest[3..];
        } else if c == '"' {
            let mut end = 1;
            while !rest[end..].starts_with('"') {
                end += if rest[end..].starts_with('\\') { 2 } else { rest[end..].chars().next().unwrap().len_utf8() };
            }
            let text = unescaped(&rest[1..end]);
            found.push(Literal { text, before: std::mem::take(&mut before) });
            rest = &rest[end + 1..];
        } else {
            if !c.is_whitespace() {
                before.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    found
}

fn unescaped(literal: &str) -> String {
    let mut out = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        rest = match after.chars().next() {
            Some('\n') => after.trim_start(),
            Some('n') => {
                out.push('\n');
                &after[1..]
            }
            Some('u') => {
                let (code, after) = after[2..].split_once('}').unwrap();
                out.extend(u32::from_str_radix(code, 16).ok().and_then(char::from_u32));
                after
            }
            Some(c) => {
                out.push(c);
                &after[c.len_utf8()..]
            }
            None => after,
        };
    }
    out + rest
}

fn sources_of(folder: &Path, found: &mut Vec<Literal>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_of(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.extend(literals(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The holes of a template by name, sorted.
fn holes(template: &str) -> Vec<&str> {
    let mut holes: Vec<_> = template.split('{').skip(1).filter_map(|piece| Some(piece.split_once('}')?.0)).collect();
    holes.sort_unstable();
    holes.dedup();
    holes
}

/// True where a template has English words in it that are no names.
pub(super) fn is_english(template: &str) -> bool {
    let mut plain = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        plain.push_str(before);
        plain.push(' ');
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
        .split(|c: char| !c.is_alphanumeric() && !"-._/".contains(c))
        .any(|word| word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase()) && !NAMES.contains(&word))
}

/// Links of runs that between them show most of what there is to say.
pub(super) const RUNS: [&str; 13] = [
    "v=1",
    "v=1&model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&zero=1&schedule=dualpipe&global_batch=15360",
    "v=1&model=llama-3.1-70b&gpus=64&tp=8&pp=4&cp=2&schedule=zb-h1&recompute=selective&memory_method=fujii",
    "v=1&model=llama-3.1-405b&gpus=128&tp=8&pp=16&zero=1&seq_len=131072",
    "v=1&pp=4&virtual_stages=2&schedule=interleaved&layers_by_stage=8",
    "v=1&gpus=8&tp=1&pp=1&zero=3&tokens_total=1e12&price_per_gpu_hour=2",
    "v=1&pp=4&schedule=pipedream-2bw&memory_method=playbook",
    "v=1&model=gpt-3-175b&gpus=1024&tp=8&pp=16&memory_method=korthikanti&precision=fp16&recompute=full",
    "v=1&tp=7&gpus=60&wings=2&seq_len=4q",
    "v=1&gpus=1&tp=1&pp=1&zero=0&global_batch=4&stack=hf-trainer&precision=bf16&adapter.method=qlora&recompute=full",
    "v=1&gpus=8&tp=1&pp=1&zero=3&global_batch=8&stack=deepspeed&precision=bf16&offload.optimizer=cpu&offload.parameters=nvme&offload.activations=cpu&host_memory_gib=512",
    "v=1&gpus=8&tp=1&pp=1&zero=3&global_batch=8&stack=fsdp2&precision=fsdp-mixed&phases.framework=verl&phases.critic=policy&phases.reward=policy",
    "v=1&gpus=8&tp=1&pp=1&global_batch=8&offload.activations=cpu&phases.framework=trl&phases.offload=true&phases.reference=true",
];

/// Trees of the cluster view of a run.
pub(super) fn cluster_view(evaluation: &Evaluation) -> [Node; 9] {
    cluster_of(evaluation, 1)
}

/// What Cluster shows of `gpu`.
pub(super) fn cluster_of(evaluation: &Evaluation, gpu: u64) -> [Node; 9] {
    let scene = Scene::of(evaluation.scenario.layout.mesh(), 1064.0);
    let unit = MemoryUnit::Gib;
    let all = wires(evaluation);
    let wires = all.last().map_or(&[][..], Vec::as_slice);
    [
        base(&scene, evaluation),
        legend(wires, Some(0.1), unit),
        leaf("p", "", cluster::busiest(&all)),
        leaf("p", "", cluster::summary(&scene, None)),
        leaf("p", "", cluster::rails::sentence(scene.mesh, gpu, &GroupKind::ALL)),
        selected(evaluation, gpu, wires, unit),
        crossing::tables(evaluation, gpu, &all, unit),
        node_table(&scene, gpu),
        cluster::tools(evaluation, None, None),
    ]
}

/// Templates of the whole run of a run, of one with a budget, and of one in which nothing fails.
fn whole_view(evaluation: &Evaluation) -> Vec<Node> {
    let run = &evaluation.scenario.run;
    let fields = [Caption::Tokens, Caption::Price, Caption::Failures, Caption::Storage, Caption::Restart];
    let budget = [("tokens_total", "1e12"), ("failures", ""), ("failures", "0"), ("operation", "manual")];
    let mut all = Vec::new();
    for at in 0..=budget.len() {
        let Some(Ok(evaluation)) = run.with_texts(&budget[..at]).map(|run| evaluate(&run)) else { continue };
        let found = WholeRunAnswer::new(&evaluation).ok();
        all.extend(fields.map(|field| caption(field, &evaluation, found.as_ref())));
        let Some(found) = found else { continue };
        let range = range(&evaluation, &found.setting);
        let run = &evaluation.scenario.run;
        all.extend([steps(&evaluation, &found), answer(run, &found, Some(&range)), calendar(&found, Some(&range))]);
        all.extend([choices(&found), assumed(run, &found), only_if(&evaluation, MemoryUnit::Gib)]);
        all.extend([None, Some(7)].map(|seed| future(run, &found, seed)));
        let row = |at: usize| (at, None);
        all.extend([trains(run, 30.0, &[], true), trains(run, 30.0, &[row(0), row(1)], true)]);
        let asked = [(true, DateLayout::Own), (false, DateLayout::Own), (true, DateLayout::Chosen)];
        all.extend(asked.map(|(done, of)| dates(run, 30.0, None, done, of)));
    }
    all
}

/// Templates of the panels of those runs, the pages beside the calculator, and the registries of static texts.
fn shown() -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    let mut take = |node: &Node| {
        node.templates(&mut |template| {
            all.insert(template);
        });
    };
    for text in RUNS {
        let read = link::decode(text);
        for issue in &read.notices {
            take(&line(issue));
        }
        match evaluate(&read.run) {
            Ok(evaluation) => {
                for panel in Panel::ALL {
                    take(&panel.view(&evaluation, MemoryUnit::Gib));
                }
                for term in drawers(&evaluation) {
                    take(&about(&term, MemoryUnit::Gib));
                    words_of(&term, &mut |message| take(&leaf("p", "", message)));
                }
                cluster_view(&evaluation).iter().for_each(&mut take);
                whole_view(&evaluation).iter().for_each(&mut take);
                for issue in evaluation.warnings() {
                    take(&line(issue));
                }
            }
            Err(issues) => issues.iter().for_each(|issue| take(&line(issue))),
        }
        for page in ["export", "published", "methods", "glossary", "nonsense"] {
            take(&content(named(page), &read.run, &Stamp::default()));
        }
        for text in ["nothing", "v=1&tp=4"] {
            take(&summary(text, &read.run, false));
            take(&summary(text, &Run { model: Run::default().model, ..read.run.clone() }, true));
            match import::read(text, &read.run) {
                Ok(meaning) => take(&leaf("p", "", &meaning.format)),
                Err(issues) => issues.iter().for_each(|issue| take(&line(issue))),
            }
        }
        take(&published::beside(&read.run));
    }
    take(&derived(&Run::default()));
    for text in ["v=1&seq_len=16384", "v=1&pp=4&schedule=pipedream"] {
        gallery_of(&link::decode(text).run).iter().for_each(&mut take);
    }
    for node in measured() {
        take(&node);
    }
    take(&limits());
    take(&sources());
    for field in FIELDS.iter() {
        all.extend([field.label, field.hint, field.unit]);
        if let Slot::Choice { options, .. } = &field.slot {
            all.extend(options().into_iter().map(|option| option.label));
        }
    }
    all.extend(WORDS.iter().map(|word| word.meaning));
    all.extend(symbols::ALL.iter().map(|symbol| symbol.name));
    for id in StepId::all() {
        let (lesson, step) = (id.lesson(), id.step());
        all.extend([lesson.title, lesson.about, step.title]);
        all.extend(step.sliders.iter().map(|slider| slider.name));
        let page = StepQuestion { step: id, ..StepQuestion::default() }.page();
        for node in [page.head, page.words, page.practice, page.picture, page.table, page.on_run] {
            node.templates(&mut |template| {
                all.insert(template);
            });
        }
    }
    all
}

/// The terms that the drawer shows of all figures of a run.
pub(super) fn drawers(evaluation: &Evaluation) -> Vec<Term> {
    let figures = super::explained::figures(evaluation).into_iter();
    figures.filter_map(|figure| explain(evaluation, figure)).collect()
}

/// Calls `visit` with the names and notes of `term` and of all below it.
pub(super) fn words_of(term: &Term, visit: &mut impl FnMut(&Message)) {
    visit(&term.name);
    term.notes.iter().for_each(&mut *visit);
    term.parts.iter().for_each(|part| words_of(part, visit));
}

/// The gallery of schedules without its pictures, and timelines of two of them.
pub(super) fn gallery_of(run: &Run) -> Vec<Node> {
    let own = evaluate(run).unwrap();
    let look = GalleryLook::default();
    let limit = look.limit(run);
    let row = |variant| ScheduleRow::of(run, variant, limit, None);
    let rows: Vec<ScheduleRow> = ScheduleVariant::all(run).into_iter().map(row).collect();
    let certified = proof(&own).ok().map(|proof| proof.certificate());
    let gallery = Gallery {
        own: &own,
        rows: &rows,
        sketch: &|_| None,
        certificate: &|_| Some(&certified),
        axis: Axis::of(&own, false),
        look: &look,
        unit: MemoryUnit::Gib,
    };
    let prepared = Prepared::of(Arc::new(own.clone()));
    let lanes = [(ScheduleVariant::of(run), &prepared), (ScheduleVariant::of(run), &prepared)];
    vec![
        head(&gallery, 0),
        head(&gallery, 1),
        cards(&gallery),
        best_known(&gallery),
        stack::below(&lanes, MemoryUnit::Gib),
        why_fastest(run),
        stack::beside(&prepared, &[], None, MemoryUnit::Gib),
        stack::title(run, 0, ScheduleVariant::of(run), Vec::new()),
        stack::title(run, 0, ScheduleVariant::of(run), vec![("tp", "2".to_owned())]),
    ]
}

/// The sentence of the fastest of two schedules of `run`: its own, and one that takes longer.
fn why_fastest(run: &Run) -> Node {
    let both = [run.clone(), Run { schedule: Schedule::Gpipe, pp: 8, ..run.clone() }];
    let of = |run: &Run| Some((ScheduleVariant::of(run), Prepared::of(Arc::new(evaluate(run).ok()?))));
    let both: Vec<_> = both.iter().filter_map(of).collect();
    let lanes: Vec<_> = both.iter().map(|(variant, prepared)| (*variant, prepared)).collect();
    stack::winner(&lanes).map_or_else(Node::none, |words| leaf("p", "", words))
}

/// Trees about measured runs: of one that agrees with the model, one that does not, and a file.
pub(super) fn measured() -> Vec<Node> {
    let run = Run::default();
    let report = evaluate(&run).unwrap().report;
    let (seconds, peak) = (report.step.time_s.0, report.memory.peak_bytes.gib());
    let peaks = MemoryKind::ALL.map(|kind| MeasuredPeak { kind, gib: 2.0 * peak });
    let odd = Observation {
        peaks: peaks.to_vec(),
        ratios: vec![(Multiplier::Network, 1.2)],
        ..Observation::step("", run.clone(), 2.0 * seconds)
    };
    let all = [Observation::step("", run.clone(), seconds), odd];
    let request = CalibrateRequest {
        observations: all.to_vec(),
        name: String::new(),
        question: None,
        gpus: None,
        plan: Vec::new(),
    };
    let answer = request.answer().unwrap();
    let with = Run { profile: answer.profile.clone(), ..run.clone() };
    let file = |text: &str| logs::summary::summary(&logs::read(text, &run).unwrap(), &run);
    vec![
        kept(&[]),
        kept(&all),
        offer(&all[0]),
        profiles(&with, None, None, |_| String::new()),
        profiles(&run, Some(&with.profile), Some(&answer.profile), |_| String::new()),
        fitted(&all, &answer, &run, |_| Some(String::new())),
        file(
            " iteration 3/ 50 | consumed samples: 384 | elapsed time per iteration (ms): 6000.0 | global batch size: 64 |\n",
        ),
        file("# Avg bus bandwidth    : 231.5\n"),
    ]
}

#[test]
fn every_template_has_a_row_with_its_holes_and_every_row_a_template() {
    let catalogue = catalogue();
    let mut literals = Vec::new();
    sources_of(Path::new("src"), &mut literals);
    let mut templates = shown();
    let called = |literal: &&Literal| {
        let stands = |call: &str| literal.before.strip_suffix(call);
        let word = |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || "._".contains(c));
        CALLS.iter().any(|call| stands(call).is_some_and(|before| call.starts_with('.') || word(before)))
    };
    templates.extend(literals.iter().filter(called).map(|literal| literal.text.as_str()));
    let missing: Vec<_> =
        templates.iter().filter(|template| is_english(template) && !catalogue.contains_key(**template)).collect();
    let unlike: Vec<_> = catalogue.iter().filter(|(template, row)| holes(template) != holes(row)).collect();
    // The hints of fields are their doc lines.
    let hints = FIELDS.iter().map(|field| field.hint);
    let known: BTreeSet<_> = literals.iter().map(|literal| literal.text.as_str()).chain(hints).collect();
    let unused: Vec<_> = catalogue.keys().filter(|template| !known.contains(template.as_str())).collect();
    assert!(missing.is_empty(), "templates without a row in locales/zh.json: {missing:#?}");
    assert!(unlike.is_empty(), "rows with other holes than their template: {unlike:#?}");
    assert!(unused.is_empty(), "rows that no source says: {unused:#?}");
}

/// A text that is formatted into a string is English on the Chinese page: sentences are templates.
#[test]
fn no_sentence_is_taken_for_a_name() {
    let mut found = BTreeSet::new();
    for text in RUNS {
        let Ok(evaluation) = evaluate(&link::decode(text).run) else {
            continue;
        };
        for term in drawers(&evaluation) {
            words_of(&term, &mut |message| {
                message.verbatims(&mut |text| {
                    if is_english(text) {
                        found.insert(text.to_owned());
                    }
                });
            });
        }
    }
    assert!(found.is_empty(), "English in strings instead of templates (t!(..)): {found:#?}");
}

/// Labels that are names, the same in both languages.
const NAMED: [&str; 4] = ["FlashAttention", "ZeRO", "PUE", "GPU"];

#[test]
fn every_label_of_a_field_has_a_row_or_is_a_name() {
    let catalogue = catalogue();
    let labels = FIELDS.iter().map(|field| field.label);
    let missing: BTreeSet<_> =
        labels.filter(|label| !NAMED.contains(label) && !catalogue.contains_key(*label)).collect();
    assert!(missing.is_empty(), "labels without a row in locales/zh.json: {missing:#?}");
}
