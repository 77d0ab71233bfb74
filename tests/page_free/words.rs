//! No rendered text of any panel, dialog or lesson, over many runs, has a brace (a hole of a template that nothing
//! filled), a key of a link or English in Chinese.

use super::translations::{RUNS, catalogue, cluster_of, cluster_view, drawers, gallery_of, is_english, measured};
use crate::common::random::{Random, random_run};
use shardscope::core::message::{Catalogue, Message, verbatim};
use shardscope::core::report::evaluate;
use shardscope::core::run::Run;
use shardscope::core::run::registry::FIELDS;
use shardscope::core::search::ladder::Ladder;
use shardscope::core::search::session::{PlanQuery, PlanSession};
use shardscope::core::units::MemoryUnit;
use shardscope::io::export::Stamp;
use shardscope::io::link;
use shardscope::view::learn::{StepId, StepQuestion};
use shardscope::view::node::Node;
use shardscope::view::panel::Panel;
use shardscope::view::panels::about::about;
use shardscope::view::panels::chosen::{LayoutOrigin, Whose, chip, failed};
use shardscope::view::panels::compare::{Second, compare};
use shardscope::view::panels::derived::derived;
use shardscope::view::panels::issues::line;
use shardscope::view::panels::limits::limits;
use shardscope::view::panels::provenance::sources;
use shardscope::view::panels::published;
use shardscope::view::panels::suggest::{SearchProgressShown, lead, suggestion};
use shardscope::view::panels::waterfall::waterfall;
use shardscope::web::dialogs::page::{content, named};
use std::collections::BTreeSet;

/// Texts that are the same in every language: words of a training log as the log has them, ids of programs, minutes,
/// code.
const SAME: [&str; 10] =
    ["global batch size", " min", "cpu", "mlp", "megatron", "userbuffers", "false", "torchtitan", "round(", "rubin"];

const UNIT: MemoryUnit = MemoryUnit::Gib;

/// Everything that the page says of `run`.
fn pages(run: &Run) -> Vec<Node> {
    let mut nodes = Vec::new();
    match evaluate(run) {
        Ok(evaluation) => {
            nodes.extend(Panel::ALL.iter().map(|panel| panel.view(&evaluation, UNIT)));
            nodes.extend(drawers(&evaluation).iter().map(|term| about(term, UNIT)));
            nodes.extend(cluster_view(&evaluation));
            let mesh = evaluation.scenario.layout.mesh();
            let last_of_node = mesh.per_node.min(mesh.ranks()) - 1;
            nodes.extend([last_of_node, mesh.ranks() - 1].into_iter().flat_map(|gpu| cluster_of(&evaluation, gpu)));
            nodes.extend(evaluation.warnings().iter().map(line));
            nodes.push(waterfall(&evaluation));
            nodes.push(suggestion(&evaluation, &SearchProgressShown::default(), UNIT));
            let own = Run::default();
            let other = evaluate(&own).unwrap();
            nodes.push(compare(&evaluation, &Second { run: &own, evaluation: Ok(&other) }, UNIT));
        }
        Err(issues) => nodes.extend(issues.iter().map(line)),
    }
    nodes.push(published::beside(run));
    nodes
}

/// Pages, dialogs and lessons that depend on no run.
fn others() -> Vec<Node> {
    let run = Run::default();
    let mut nodes = measured();
    nodes.extend(gallery_of(&run));
    nodes.extend(["published", "methods", "glossary"].map(|page| content(named(page), &run, &Stamp::default())));
    nodes.extend([limits(), sources(), derived(&run)]);
    for id in StepId::all() {
        let page = StepQuestion { step: id, ..StepQuestion::default() }.page();
        nodes.extend([page.head, page.words, page.practice, page.on_run]);
    }
    for run in [Run::default(), Run { gpus: 1, global_batch: 8, ..Run::default() }] {
        let outcome = Ladder::new(&run).unwrap().finished();
        let whose = |origin: LayoutOrigin, outcome, gain, waits| {
            let surer = (origin == LayoutOrigin::Published).then_some(0.072);
            chip(&Whose { origin, waits, outcome, gain, surer, tight: None, peak: None, of_link: false })
        };
        nodes.extend([
            whose(LayoutOrigin::Chosen, Some(&outcome), None, false),
            whose(LayoutOrigin::Chosen, None, None, true),
            whose(LayoutOrigin::Example, None, Some(0.23), false),
            whose(LayoutOrigin::Published, None, None, false),
            failed(Some(&outcome), UNIT),
        ]);
    }
    let run = Run { gpus: 8, global_batch: 16, ..Run::default() };
    let query = PlanQuery { extras: Vec::new(), ..PlanQuery::improve(&run) };
    let mut session = PlanSession::new(query).unwrap();
    while !session.step(1 << 20) {}
    let evaluation = evaluate(&run).unwrap();
    nodes.push(suggestion(&evaluation, &SearchProgressShown::of(&session.result(true), &evaluation), UNIT));
    nodes
}

/// Calls `visit` with every text of a tree that is prose: not a file, a formula or a name that is the same in every
/// language.
fn texts(node: &Node, place: &'static str, visit: &mut impl FnMut(&Message, &'static str)) {
    match node {
        Node::Element(element) => {
            let given =
                |name: &str| element.attributes.iter().find(|(key, _)| *key == name).map(|(_, text)| text.to_string());
            // Terms of the glossary stand in English beside their meaning.
            let verbatim = given("translate").as_deref() == Some("no") || ["pre", "code", "dt"].contains(&element.tag);
            if verbatim {
                return;
            }
            for (name, message) in &element.attributes {
                if ["aria-label", "title", "placeholder"].contains(name) {
                    visit(message, name);
                }
            }
            element.children.iter().for_each(|child| texts(child, element.tag, visit));
        }
        Node::Text(message) | Node::Prose(message) => visit(message, place),
        Node::Picture(svg) => {
            // Words of a picture are a string by then: every one has to be the same in every language.
            for piece in svg.split('>').skip(1) {
                let text = piece.split('<').next().unwrap_or_default();
                visit(&verbatim(text), "picture");
            }
        }
        Node::List(pieces) => pieces.iter().for_each(|piece| texts(piece, place, visit)),
    }
}

/// Keys of the registry that are no words: what no sentence has by chance.
fn keys() -> Vec<&'static str> {
    let keys = FIELDS.iter().map(|field| field.key);
    keys.filter(|key| key.contains('_') || key.contains('.')).collect()
}

/// Faults of a text in English and in Chinese.
fn faults(message: &Message, place: &str, (keys, catalogue): (&[&str], &Catalogue), found: &mut BTreeSet<String>) {
    let (english, chinese) = (message.to_string(), message.translated(catalogue));
    for text in [&english, &chinese] {
        if text.contains(['{', '}']) {
            found.insert(format!("a brace: {text}"));
        }
        // A call in a program's source is no key: cross_entropy(logits).
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"._(".contains(c));
        for word in words.map(|word| word.trim_end_matches('.')) {
            if keys.contains(&word) {
                found.insert(format!("a key, {word}, {place}: {text}"));
            }
        }
    }
    message.templates(&mut |template| {
        if is_english(template) && !catalogue.contains_key(template) {
            found.insert(format!("no Chinese: {template}"));
        }
    });
    // Text that was formatted into a string stays English: a word that is no name, or one that the catalogue has.
    message.verbatims(&mut |text| {
        let is_key = FIELDS.iter().any(|field| field.key == text);
        if !is_key && catalogue.get(text.trim()).is_some_and(|row| row != text.trim()) {
            found.insert(format!("a text of the catalogue in a string, {place}: {text}"));
        } else if !is_key && is_english(text) && !SAME.iter().any(|name| text.contains(name)) {
            found.insert(format!("a word in a string, {place}: {text}"));
        }
    });
}

#[test]
fn no_text_has_a_brace_a_key_or_english_in_chinese() {
    let (catalogue, keys) = (catalogue(), keys());
    let mut found = BTreeSet::new();
    let mut count = 0;
    let mut check = |nodes: Vec<Node>| {
        for node in nodes {
            texts(&node, "", &mut |message, place| {
                count += 1;
                faults(message, place, (&keys, &catalogue), &mut found);
            });
        }
    };
    for link in RUNS {
        check(pages(&link::decode(link).run));
    }
    let mut random = Random::new(7);
    for _ in 0..40 {
        check(pages(&random_run(&mut random)));
    }
    check(others());
    println!("{count} texts");
    assert!(count > 20_000, "{count}");
    assert!(found.is_empty(), "{} texts: {found:#?}", found.len());
}

/// Words behind "1" that end like a plural and are none: verbs of what has that number, units, "less".
const NO_PLURALS: [&str; 12] =
    ["is", "has", "was", "takes", "needs", "holds", "sends", "peaks", "s", "ms", "µs", "less"];

/// The faults of a text about `run`: one thing in the plural, a proposal of the software that the run has.
fn miscounted(text: &str, run: &Run, found: &mut BTreeSet<String>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    for pair in words.windows(2) {
        let counted = pair[1].trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let is_plural = counted.ends_with('s') && counted.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
        if pair[0].trim_start_matches(['(', '“', '"']) == "1" && is_plural && !NO_PLURALS.contains(&counted) {
            found.insert(format!("one in the plural: {text}"));
        }
    }
    if words.len() > 4
        && words.windows(2).any(|pair| pair[0] == "0.0" && ["GiB", "GB"].iter().any(|unit| pair[1].starts_with(unit)))
    {
        found.insert(format!("a size that prints as zero: {text}"));
    }
    if text.contains(&format!("Software: {}", run.stack.preset_row().choice.label)) {
        found.insert(format!("a proposal of what is set: {text}"));
    }
}

/// Texts of random runs, and of the cards beside small runs that fit and that do not: "1 GPU", never "1 GPUs"; and no
/// card proposes the Run itself or a setting that it has.
#[test]
fn one_thing_is_counted_in_the_singular_and_what_is_set_is_not_proposed() {
    let mut found = BTreeSet::new();
    let mut count = 0;
    let mut check = |run: &Run, nodes: Vec<Node>| {
        for node in nodes {
            texts(&node, "", &mut |message, _| {
                count += 1;
                miscounted(&message.to_string(), run, &mut found);
            });
        }
    };
    let mut random = Random::new(11);
    for _ in 0..40 {
        let run = random_run(&mut random);
        check(&run, pages(&run));
    }
    // Groups of 32 in domains of 72 GPUs: some lie on two.
    let domains = link::decode("v=1&model=kimi-k2&gpu=gb200&gpus=1024&tp=1&pp=8&ep=32&global_batch=4096").run;
    check(&domains, pages(&domains));
    let one = Run { gpus: 1, tp: 1, pp: 1, global_batch: 8, ..Run::default() };
    let cards = [("llama-3.1-8b", "rtx-4090", 4), ("llama-3.1-8b", "l40s", 1), ("llama-3.1-70b", "h100-sxm-80gb", 8)];
    let small = cards.map(|(model, gpu, gpus)| {
        let set = [("model", model.to_owned()), ("gpu", gpu.to_owned()), ("gpus", gpus.to_string())];
        one.with_texts(&set).unwrap()
    });
    for run in small {
        let query = PlanQuery { extras: Vec::new(), ..PlanQuery::improve(&run) };
        let mut session = PlanSession::new(query).unwrap();
        while !session.step(1 << 20) {}
        let (evaluation, result) = (evaluate(&run).unwrap(), session.result(true));
        assert!(result.betters.list.iter().chain(&result.betters.tight).all(|better| better.run != run));
        let searched = SearchProgressShown::of(&result, &evaluation);
        check(&run, vec![suggestion(&evaluation, &searched, UNIT), lead(&evaluation, &searched)]);
    }
    assert!(count > 15_000, "{count}");
    assert!(found.is_empty(), "{} texts: {found:#?}", found.len());
}

/// Words that the page's design replaced by plainer ones (its table of words): no template says them, nor its row in
/// Chinese.
const REPLACED: [&str; 51] = [
    "No layout in the search takes",
    "No warnings",
    "of ideal)",
    "by slowing compute",
    "shipped constants",
    "your runs taught",
    "what software decides",
    "Seconds of a step",
    "Allocated at most",
    "What would make it fit",
    "must it leave the node",
    "GPUs of one place",
    "May not fit",
    "My runs",
    "About this number",
    "smaller terms",
    "optimal: no",
    "the shortest known order",
    "Showing the default run",
    "Nothing takes less",
    "has a warning",
    "holds the same activations",
    "with rank 1 - 1",
    "rank 1 − 1",
    "Nothing in it was measured",
    "informed by your runs",
    "not informed by",
    "By the profile without a name",
    "fitted to measured runs (",
    "the backward in one op, on ranks that hold",
    "no certificate",
    "the range of their need",
    "do not divide by ep etp",
    "is not a whole number",
    "cannot say, and the link does",
    "takes away most of what this calculator",
    "the page says what would",
    "一步的时间去向",
    "勉强",
    "未能送达",
    "内置常数",
    // Second translations of one term: critic, reduce, kernel, ZeRO stage, data sheet, token, step time, tight.
    "评论者",
    "规约",
    "核函数",
    "ZeRO 级别",
    "规格书",
    "词元/秒",
    "更少 GPU 时",
    "步时",
    "紧张",
    "成本",
];

#[test]
fn no_template_has_a_word_that_the_design_replaced() {
    for (english, chinese) in catalogue() {
        for words in REPLACED {
            // 同步时间 and 每步时间, times of a synchronisation and of a step, have the two characters by chance.
            let chinese = chinese.replace("同步", "").replace("步时间", "").replace("最紧张的时刻", "");
            assert!(!english.contains(words) && !chinese.contains(words), "{words}: {english}");
        }
    }
}

/// A token is 词元 in every sentence; names of fields alone are written as they are.
#[test]
fn chinese_has_one_word_for_a_token() {
    for (english, chinese) in catalogue() {
        let words = chinese.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-.{}=/".contains(letter));
        let left = words.filter(|word| ["token", "tokens"].contains(word)).count();
        assert_eq!(left, usize::from(english.contains("by_days")), "{english}: {chinese}");
    }
}

/// The words of a verdict, of what is called the fastest and of what a layout saves have one function each: the digits
/// and the rule behind them are then the same everywhere.
#[test]
fn words_of_an_answer_are_written_once() {
    let mut found: Vec<String> = Vec::new();
    let phrases =
        ["\"fits\"", "✓ fits", "\"is out of memory\"", "\"both fit\"", "saved} % less\"", "The fastest that fits here"];
    let mut folders = vec![std::path::PathBuf::from("src/view"), "src/web".into(), "src/io".into()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|end| end != "rs") || path.ends_with("view/words.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let said = lines.filter(|line| phrases.iter().any(|phrase| line.contains(phrase)));
            found.extend(said.map(|line| format!("{}: {}", path.display(), line.trim())));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
