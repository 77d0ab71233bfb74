//! One answer everywhere: over many random runs, figures of the same field of the same report have the same digits in
//! every tree, and a figure that stands out in those trees says which field it is.

use super::translations::gallery_of;
use crate::common::random::{Random, random_run};
use shardscope::core::memory::Verdict;
use shardscope::core::report::{Evaluation, evaluate, report};
use shardscope::core::run::Run;
use shardscope::core::run::presets::published;
use shardscope::core::search::session::{PlanQuery, PlanSession};
use shardscope::core::units::{MemoryUnit, show_seconds};
use shardscope::core::whole_run::range;
use shardscope::io::export::{Stamp, export};
use shardscope::view::node::Node;
use shardscope::view::node::action::{Dialog, PlanFold};
use shardscope::view::node::figure::Scope;
use shardscope::view::panel::Panel;
use shardscope::view::panels::compare::{Second, compare};
use shardscope::view::panels::plan::{self, PlanView};
use shardscope::view::panels::strip::{budget, strip};
use shardscope::view::panels::suggest::{SearchProgressShown, name, suggestion};
use shardscope::view::panels::waterfall::waterfall;
use shardscope::view::panels::whole::{WholeRunAnswer, answer, calendar, choices};
use shardscope::web::dialogs::page::content;
use std::collections::{BTreeMap, BTreeSet};

const UNIT: MemoryUnit = MemoryUnit::Gib;

/// Field and scope of a figure.
type Named = (String, String);

/// The number that a text begins with: blanks between digits group them, another one ends it.
fn number_of(text: &str) -> String {
    let chars: Vec<char> = text.trim().chars().collect();
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let groups = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
    let end = (0..chars.len()).find(|at| chars[*at].is_whitespace() && !groups(*at)).unwrap_or(chars.len());
    chars[..end].iter().collect()
}

/// Adds the figures of `tree` to those that are known; panics where one has other digits than before.
fn agree(tree: &Node, known: &mut BTreeMap<Named, String>) -> usize {
    let figures = tree.figures();
    let count = figures.len();
    for (field, scope, text) in figures {
        // A unit may stand apart from its number, and a column name it once for all rows.
        let digits = number_of(&text);
        let before = known.entry((field.clone(), scope.clone())).or_insert_with(|| digits.clone());
        assert_eq!(*before, digits, "{field} of {scope}");
    }
    count
}

/// Holds the main figures to those that are known; where their range is wide they have two digits of theirs.
fn agree_shortened(tree: &Node, known: &BTreeMap<Named, String>) -> usize {
    let mut count = 0;
    for (field, scope, text) in tree.figures() {
        let Some(full) = known.get(&(field.clone(), scope)) else { continue };
        let number = |text: &str| {
            let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
            let unit = if text.contains('k') { 1e3 } else { 1.0 };
            unit * digits.parse::<f64>().unwrap_or(0.0)
        };
        let [short, whole] = [&text, full].map(|text| number(text));
        // Half a unit of the second digit, or of the last place that the longer one has.
        let decimals =
            full.split_once('.').map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
        let second = if whole > 0.0 { 0.05 * 10f64.powf(whole.log10().floor()) } else { 0.0 };
        let last = 0.5 * 0.1f64.powi(i32::try_from(decimals).unwrap());
        let is_near = |short: f64| (short - whole).abs() <= second.max(last) * (1.0 + 1e-9);
        // Two digits may round up into the next unit: 998 ms are 1.0 s.
        let is_same = is_near(short) || short == 1.0 && [60.0, 1000.0].iter().any(|unit| is_near(*unit));
        assert!(is_same, "{field}: {text} beside {full}");
        count += 1;
    }
    count
}

/// Calls `visit` with every element of a tree that stands out, by its text; what is hidden from screen readers says
/// what a label says.
fn standing_out(node: &Node, visit: &mut impl FnMut(&str, bool)) {
    match node {
        Node::Element(element) if element.attributes.iter().any(|(name, _)| *name == "aria-hidden") => {}
        Node::Element(element) => {
            if element.tag == "b" {
                let named = element.figure.is_some();
                if let [Node::Text(message)] = &element.children[..] {
                    visit(&message.to_string(), named);
                }
            }
            element.children.iter().for_each(|child| standing_out(child, visit));
        }
        Node::List(pieces) => pieces.iter().for_each(|piece| standing_out(piece, visit)),
        Node::Text(_) | Node::Prose(_) | Node::Picture(_) => {}
    }
}

/// Adds the quantities of a tree that say of no field which they are, to what is known of `place`. Options of a list are
/// values that may be chosen, a picture is drawn to a scale and its table has the figures, and what is hidden from
/// screen readers says what a label says.
fn without_field(node: &Node, place: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match node {
        Node::Element(element) if element.figure.is_some() || ["select", "svg"].contains(&element.tag) => {}
        Node::Element(element) if element.attributes.iter().any(|(name, _)| *name == "aria-hidden") => {}
        Node::Element(element) => element.children.iter().for_each(|child| without_field(child, place, found)),
        Node::List(pieces) => pieces.iter().for_each(|piece| without_field(piece, place, found)),
        Node::Text(message) | Node::Prose(message) => {
            let text = message.to_string();
            let plain = text.trim_matches([' ', '·', ',']).trim_start_matches(['+', '−', '-', '±', '≈']).trim_start();
            if is_quantity(plain) {
                found.entry(place.to_owned()).or_default().insert(text);
            }
        }
        Node::Picture(_) => {}
    }
}

/// Places whose figures are no field of a report: terms of a formula, which `explained.rs` computes again (the drawers),
/// and the times at which a table of memory over the step looks at it.
const WITHOUT: [&str; 3] = ["About(None)", "AboutWhole(Days)", "OverTime"];

/// Every quantity that stands by itself says which figure it is, in all other panels, cards and dialogs.
#[test]
fn every_figure_says_which_it_is() {
    let mut random = Random::new(50);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut tried = 0;
    // A tenth of the runs: each has every panel, the whole run and its range.
    while tried < runs() / 10 {
        let run = random_run(&mut random);
        let Ok(own) = evaluate(&run) else { continue };
        tried += 1;
        for panel in Panel::ALL {
            without_field(&panel.view(&own, UNIT), &format!("{panel:?}"), &mut found);
        }
        without_field(&waterfall(&own), "waterfall", &mut found);
        without_field(&strip(&own.scenario.run, &own.report, UNIT), "strip", &mut found);
        without_field(&budget(&own, &Scope::run()), "budget", &mut found);
        if let Ok(whole) = WholeRunAnswer::new(&own) {
            let range = range(&own, &whole.setting);
            without_field(&answer(&run, &whole, Some(&range)), "answer of the whole run", &mut found);
            without_field(&calendar(&whole, Some(&range)), "calendar", &mut found);
            without_field(&choices(&whole), "choices", &mut found);
        }
        let stamp = Stamp { date: "2026-11-28", address: "https://example.org/" };
        let dialogs = [Dialog::Published, Dialog::Methods, Dialog::Glossary(None), Dialog::Keys];
        for dialog in dialogs.into_iter().take(if tried == 1 { 4 } else { 0 }) {
            without_field(&content(dialog, &run, &stamp), &dialog.id(), &mut found);
        }
    }
    for run in [Run::default(), Run { pp: 8, global_batch: 64, ..Run::default() }] {
        for tree in gallery_of(&run) {
            without_field(&tree, "schedules", &mut found);
        }
    }
    found.retain(|place, _| !WITHOUT.iter().any(|known| place.starts_with(known)));
    assert!(found.is_empty(), "figures without a field: {found:?}");
}

/// Units of the figures: time, memory and traffic, speeds and shares.
const UNITS: [&str; 22] = [
    "s",
    "ms",
    "µs",
    "ns",
    "h",
    "d",
    "day",
    "days",
    "%",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "PiB",
    "MB",
    "GB",
    "TB",
    "GB/s",
    "TB/s",
    "TFLOP/s",
    "PFLOP/s",
    "GPU-hours",
];

/// True if a text is a quantity: digits, then a unit; or a sum of money.
fn is_quantity(text: &str) -> bool {
    let text = text.replace('\u{202f}', "");
    if let Some(sum) = text.strip_prefix('$') {
        return sum.trim_end_matches(['k', 'M', 'B']).parse::<f64>().is_ok();
    }
    text.split_once(' ').is_some_and(|(number, unit)| number.parse::<f64>().is_ok() && UNITS.contains(&unit))
}

/// Random runs that are looked at; `SHARDSCOPE_CASES` asks for more.
fn runs() -> usize {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    asked.and_then(|asked| asked.parse::<usize>().ok()).map_or(600, |asked| asked.clamp(600, 20_000))
}

#[test]
fn figures_of_one_field_and_scope_have_the_same_digits_in_every_tree() {
    let mut random = Random::new(49);
    let (mut tried, mut count, mut whole) = (0, 0, 0);
    let mut second: Option<Evaluation> = None;
    let every = if std::env::var("SHARDSCOPE_CASES").is_ok() { 1 } else { 10 };
    while tried < runs() {
        let run = random_run(&mut random);
        let Ok(own) = evaluate(&run) else {
            continue;
        };
        tried += 1;
        let mut known = BTreeMap::new();
        let figures = Node::from_iter([strip(&own.scenario.run, &own.report, UNIT), budget(&own, &Scope::run())]);
        let mut trees = vec![waterfall(&own), Panel::Overlap(None).view(&own, UNIT), Panel::Step.view(&own, UNIT)];
        if let Some(other) = &second {
            let second = Second { run: &other.scenario.run, evaluation: Ok(other) };
            trees.push(compare(&own, &second, UNIT));
        }
        for tree in &trees {
            count += agree(tree, &mut known);
        }
        // Every panel, of a part of the runs where no number of them is asked for: the pictures take their time.
        if tried % every == 0 {
            for panel in Panel::ALL {
                let tree = panel.view(&own, UNIT);
                count += agree(&tree, &mut known);
                standing_out(&tree, &mut |text, named| {
                    assert!(named || !is_quantity(text), "{text} of {panel:?} has no field");
                });
            }
            if let Ok(found) = WholeRunAnswer::new(&own) {
                let range = range(&own, &found.setting);
                let trees = [answer(&run, &found, Some(&range)), calendar(&found, Some(&range)), choices(&found)];
                for tree in &trees {
                    whole += agree(tree, &mut known);
                    standing_out(tree, &mut |text, named| {
                        assert!(named || !is_quantity(text), "{text} of the whole run has no field");
                    });
                }
            }
        }
        count += agree_shortened(&figures, &known);
        standing_out(&figures, &mut |text, named| assert!(named || text.is_empty(), "{text} has no field"));
        second = Some(own);
    }
    println!("{count} figures of {tried} runs, {whole} of whole runs");
    assert!(count > 10 * tried && whole > tried / 2, "{count} {whole}");
}

/// What is missing of the memory is the difference of the two figures beside it.
#[test]
fn missing_memory_is_the_difference_of_the_figures_beside_it() {
    let mut random = Random::new(494);
    let (mut tried, mut short) = (0, 0);
    while tried < 600 {
        let run = random_run(&mut random);
        let Ok(report) = report(&run) else { continue };
        tried += 1;
        let peak = report.memory.peak();
        if peak.verdict != Verdict::Oom || peak.bytes <= peak.capacity {
            continue;
        }
        short += 1;
        let words = strip(&run, &report, UNIT).to_html();
        let Some((before, _)) = words.split_once(" GiB missing") else {
            assert!(published(&run).is_some(), "{words}");
            continue;
        };
        let number = |text: &str| -> f64 {
            let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
            digits.parse().unwrap()
        };
        let missing = number(before.rsplit(['>', ' ']).next().unwrap());
        let [held, usable] = [peak.bytes, peak.capacity].map(|bytes| number(&UNIT.number(bytes)));
        assert!((missing - (held - usable)).abs() < 0.01, "{missing}: {held} of {usable}");
    }
    assert!(short > 100, "{short}");
}

/// The layouts, the cards and the schedules of a run beside its own figures.
#[test]
fn layouts_cards_and_schedules_say_what_the_run_says_of_itself() {
    let mut random = Random::new(4949);
    let mut counts = [0; 3];
    let mut tried = 0;
    while tried < 12 {
        let mut run = random_run(&mut random);
        (run.gpus, run.global_batch) = (run.gpus.min(16), run.global_batch.min(32));
        let Ok(own) = evaluate(&run) else {
            continue;
        };
        tried += 1;
        let query = PlanQuery { extras: Vec::new(), ..PlanQuery::improve(&run) };
        let mut session = PlanSession::new(query.clone()).unwrap();
        while !session.step(1 << 20) {}
        let result = session.result(true);
        let folds = [&PlanFold::OPEN[..], &[PlanFold::Rows]].concat();
        let view = PlanView { query: &query, result: &result, own: Some(&own), folds: &folds, unit: UNIT };
        let layouts: Node = plan::panel(&view).into_iter().collect();
        let cards = suggestion(&own, &SearchProgressShown::of(&result, &own), UNIT);
        let mut known = BTreeMap::new();
        counts[0] += agree(&waterfall(&own), &mut known);
        counts[1] += agree(&layouts, &mut known) + agree(&cards, &mut known);
        let names: Vec<_> = result.betters.list.iter().map(|better| name(better, &run).to_string()).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "two cards are called {name}");
        }
        // What a layout is said to take, it takes once it is used.
        for row in &result.rows {
            let used = evaluate(&row.run).unwrap();
            assert_eq!(used.report.step.time_s, row.figures.time_s);
            assert_eq!(used.report.memory.overall(), row.figures.peak.overall);
        }
        for tree in [&layouts, &cards] {
            standing_out(tree, &mut |text, named| assert!(named || !is_quantity(text), "{text} has no field"));
        }
    }
    for run in [Run::default(), Run { pp: 8, global_batch: 64, ..Run::default() }] {
        let own = evaluate(&run).unwrap();
        let mut known = BTreeMap::new();
        agree(&waterfall(&own), &mut known);
        for tree in gallery_of(&run) {
            counts[2] += agree(&tree, &mut known);
        }
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

/// The report for a wiki says the figures of the page.
#[test]
fn exports_say_the_digits_of_the_page() {
    let mut random = Random::new(494_949);
    let stamp = Stamp { date: "2026-11-28", address: "https://example.org/" };
    let mut tried = 0;
    while tried < 200 {
        let run = random_run(&mut random);
        let Ok(own) = evaluate(&run) else { continue };
        tried += 1;
        let mut known = BTreeMap::new();
        agree(&waterfall(&own), &mut known);
        let figures = strip(&own.scenario.run, &own.report, UNIT).figures();
        let peak = figures.into_iter().find(|(field, ..)| field == "memory.peak_bytes").unwrap().2;
        let step = show_seconds(own.report.step.time_s);
        assert_eq!(
            step.split_whitespace().next(),
            known.get(&("step.time_s".into(), "run".into())).map(String::as_str)
        );
        let markdown = export(&run, "markdown", &stamp).unwrap();
        assert!(markdown.contains(&format!("Step {step} (")) && markdown.contains(&peak), "{step} {peak}\n{markdown}");
    }
}
