//! One answer everywhere: over many random runs, figures of the same field of the same report have the same digits in
//! every tree, and a figure that stands out in those trees says which field it is.

use super::translations::gallery_of;
use crate::common::random::{Random, random_run};
use serde_json::Value;
use shardscope::core::memory::Verdict;
use shardscope::core::message::{Catalogue, Message};
use shardscope::core::report::{Evaluation, evaluate, report};
use shardscope::core::run::presets::published;
use shardscope::core::run::{OneOf, Run};
use shardscope::core::search::Figures;
use shardscope::core::search::better::{Better, Betters, Gain};
use shardscope::core::search::session::{PlanQuery, PlanSession};
use shardscope::core::units::{Bytes, MemoryUnit, Seconds, show_percent, show_seconds};
use shardscope::core::whole_run::range;
use shardscope::io::export::{Stamp, export, picture};
use shardscope::io::frame;
use shardscope::io::import::read;
use shardscope::io::import::summary::summary;
use shardscope::io::link::{decode, encode_with};
use shardscope::view::node::Node;
use shardscope::view::node::action::{Dialog, PlanFold};
use shardscope::view::node::figure::Scope;
use shardscope::view::node::markup::leaf;
use shardscope::view::palette::Theme;
use shardscope::view::panel::Panel;
use shardscope::view::panels::budget::budget;
use shardscope::view::panels::compare::{Second, compare, framed};
use shardscope::view::panels::names::name;
use shardscope::view::panels::plan::{self, PlanView};
use shardscope::view::panels::strip::strip;
use shardscope::view::panels::suggest::{SearchProgressShown, suggestion};
use shardscope::view::panels::waterfall::waterfall;
use shardscope::view::panels::whole::{WholeRunAnswer, answer, calendar, choices};
use shardscope::view::view_state::ViewState;
use shardscope::view::views::{Drawn, Embed};
use shardscope::view::words::{self, peak};
use shardscope::web::dialogs::page::content;
use std::collections::{BTreeMap, BTreeSet};

const UNIT: MemoryUnit = MemoryUnit::Gib;

/// Field and scope of a figure.
pub(super) type Named = (String, String);

/// The number that a text begins with: blanks between digits group them, another one ends it.
fn number_of(text: &str) -> String {
    let chars: Vec<char> = text.trim().chars().collect();
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let groups = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
    let end = (0..chars.len()).find(|at| chars[*at].is_whitespace() && !groups(*at)).unwrap_or(chars.len());
    chars[..end].iter().collect()
}

/// Adds the figures of `tree` to those that are known; panics where one has other digits than before.
pub(super) fn agree(tree: &Node, known: &mut BTreeMap<Named, String>) -> usize {
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
        // The ends of a range are in the unit of their figure, which stands beside them.
        if field.ends_with(", low") || field.ends_with(", high") {
            continue;
        }
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
pub(super) fn standing_out(node: &Node, visit: &mut impl FnMut(&str, bool)) {
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

/// Adds the quantities of a tree that say of no field which they are, to what is known of `place`. Options of a list
/// are values that may be chosen, a picture is drawn to a scale and its table has the figures, and what is hidden from
/// screen readers says what a label says.
pub(super) fn without_field(node: &Node, place: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match node {
        Node::Element(element) if element.figure.is_some() || ["select", "svg"].contains(&element.tag) => {}
        Node::Element(element) if element.attributes.iter().any(|(name, _)| *name == "aria-hidden") => {}
        Node::Element(element) => element.children.iter().for_each(|child| without_field(child, place, found)),
        Node::List(pieces) => pieces.iter().for_each(|piece| without_field(piece, place, found)),
        Node::Text(message) | Node::Prose(message) => said_without_field(message, place, found),
        Node::Picture(_) => {}
    }
}

/// Adds the quantities of a sentence that say no field.
fn said_without_field(message: &Message, place: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut templates = Vec::new();
    message.templates(&mut |template| templates.push(template));
    // The dialog of methods writes formulas with their values.
    let is_own = |template: &&str| OF_ITS_OWN.iter().any(|known| template.starts_with(known));
    if place == "methods" || templates.iter().any(is_own) {
        return;
    }
    message.figures(&mut |shown, key| {
        let plain = shown.trim_matches([' ', '·', ',']).trim_start_matches(['+', '−', '-', '±', '≈']).trim_start();
        if key.is_none() && is_quantity(plain) {
            found.entry(format!("{place}: {}", templates.join(" | "))).or_default().insert(plain.to_owned());
        }
    });
}

/// Beginnings of sentences whose figures are said once, there: no report has them.
const OF_ITS_OWN: [&str; 13] = [
    // Sums over the passes of a picture, whose table has each pass.
    "Of {sent} on the wire {hidden} hide, {waits} are waited for",
    "No compute may run beside these messages: all of {sent} are waited for.",
    "Besides, a pair waits {time} for what is not drawn here",
    "Besides, the passes of one micro-batch wait {time} for what is not drawn here",
    // The mean of one interruption; formulas with their results; the share of steps for which spares are enough.
    "{count} × {time}",
    "{formula} = {time}, Young 1974",
    "{symbol} = {formula} = {time}",
    "Nodes under repair at once",
    // A split of layers that is not the run's.
    "With {layers} a step takes {gain} less time",
    // Bounds and the axis of pictures.
    "With one copy of the weights and the backward",
    "The bound: with one copy of the weights",
    "All pictures share one time axis",
    // A record of other runs.
    "Of {runs} further runs of this kind",
];

/// Places whose figures are no field of a report: terms of a formula, which `explained.rs` computes again (the
/// drawers), and the times at which a table of memory over the step looks at it.
const WITHOUT: [&str; 3] = ["About(None)", "AboutWhole(Days)", "OverTime"];

/// Every quantity that stands by itself says which figure it is, in all other panels, cards and dialogs.
#[test]
fn every_figure_says_which_it_is() {
    let mut random = Random::new(50);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut tried = 0;
    // A part of the runs: each has every panel, the whole run and its range.
    while tried < runs() / 30 {
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

/// Random runs that are looked at; `SHARDSCOPE_CASES` asks for more. All trees of 2,000 took 120 s of one core.
fn runs() -> usize {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    asked.and_then(|asked| asked.parse::<usize>().ok()).map_or(2_000, |asked| asked.clamp(2_000, 20_000))
}

/// One in so many runs is asked for the panel that looks for orders: it takes six times as long as all others.
const ORDERS: usize = 10;

/// Every tree of a run: its panels, those that look for `orders` too, its key figures, the whole run, and beside a
/// `second` run.
fn trees_of(own: &Evaluation, second: Option<&Evaluation>, orders: bool) -> Vec<(String, Node)> {
    let mut trees = vec![("waterfall".to_owned(), waterfall(own))];
    let panels = Panel::ALL.iter().filter(|panel| orders || **panel != Panel::Away);
    trees.extend(panels.map(|panel| (format!("{panel:?}"), panel.view(own, UNIT))));
    if let Some(other) = second {
        let second = Second { run: &other.scenario.run, evaluation: Ok(other) };
        trees.push(("comparison".to_owned(), compare(own, &second, UNIT)));
        trees.push(("comparison in another page".to_owned(), framed(own, &second, UNIT)));
    }
    // Titles of the page and of a frame.
    let titles =
        [peak(&own.scenario.run, &own.report, UNIT), words::framed(&own.scenario.run, Some(&own.report), UNIT)];
    trees.extend(titles.map(|title| ("title".to_owned(), leaf("h1", "", title))));
    if let Ok(found) = WholeRunAnswer::new(own) {
        let range = range(own, &found.setting);
        trees.push(("answer of the whole run".to_owned(), answer(&own.scenario.run, &found, Some(&range))));
        trees.push(("calendar".to_owned(), calendar(&found, Some(&range))));
        trees.push(("choices".to_owned(), choices(&found)));
    }
    trees
}

/// Figures of `count` random runs from `seed` on that agree in all trees.
fn agreeing_figures(seed: u64, count: usize) -> usize {
    let mut random = Random::new(seed);
    let (mut tried, mut figures) = (0, 0);
    let mut second: Option<Evaluation> = None;
    while tried < count {
        let run = random_run(&mut random);
        let Ok(own) = evaluate(&run) else { continue };
        tried += 1;
        let mut known = BTreeMap::new();
        for (place, tree) in trees_of(&own, second.as_ref(), tried % ORDERS == 0) {
            figures += agree(&tree, &mut known);
            // A comparison lists settings and changes too.
            standing_out(&tree, &mut |text, named| {
                let is_listing = place.starts_with("comparison");
                assert!(named || !is_quantity(text) || is_listing, "{text} of {place} has no field");
            });
        }
        let main = Node::from_iter([strip(&own.scenario.run, &own.report, UNIT), budget(&own, &Scope::run())]);
        figures += agree_shortened(&main, &known);
        standing_out(&main, &mut |text, named| assert!(named || text.is_empty(), "{text} has no field"));
        second = Some(own);
    }
    figures
}

/// A part of the runs on each core.
#[test]
fn figures_of_one_field_and_scope_have_the_same_digits_in_every_tree() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(runs());
    let figures: usize = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|at| scope.spawn(move || agreeing_figures(49 + at as u64, runs().div_ceil(threads))))
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    println!("{figures} figures of {} runs", runs());
    assert!(figures > 100 * runs(), "{figures}");
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
        // A card's layout in the comparison that its button opens.
        for better in &result.betters.list {
            let used = evaluate(&better.run).unwrap();
            let second = Second { run: &better.run, evaluation: Ok(&used) };
            counts[1] += agree(&compare(&own, &second, UNIT), &mut known.clone());
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

/// The memory that a card says a layout saves is what the comparison with it says: the difference of the two figures
/// that are printed.
#[test]
fn a_card_saves_the_memory_that_the_comparison_says() {
    let mut random = Random::new(494_950);
    let mut compared = 0;
    while compared < 200 {
        let [one, two] = [random_run(&mut random), random_run(&mut random)].map(|run| evaluate(&run));
        let (Ok(one), Ok(two)) = (one, two) else { continue };
        let (own, other) =
            if one.report.memory.peak_bytes > two.report.memory.peak_bytes { (one, two) } else { (two, one) };
        let (figures, run) = (Figures::from(&other.report), other.scenario.run.clone());
        let list = vec![Better { gain: Gain::Memory, run, figures, cause: None, saved: Vec::new() }];
        let searched =
            SearchProgressShown { betters: Betters { list, done: true, ..Betters::default() }, ..Default::default() };
        let second = Second { run: &other.scenario.run, evaluation: Ok(&other) };
        let [card, beside] =
            [suggestion(&own, &searched, UNIT), compare(&own, &second, UNIT)].map(|tree| tree.to_html());
        let Some((before, _)) = beside.split_once(" GiB less memory on its fullest GPU") else { continue };
        let saved = before.rsplit(' ').next().unwrap();
        let [held, left] = [&own, &other].map(|one| UNIT.printed(one.report.memory.peak_bytes));
        assert_eq!(saved.parse::<f64>().unwrap(), ((held - left) * 10.0).round() / 10.0);
        assert!(card.replace('\u{202f}', "").contains(&format!(", {saved} GiB less")), "{saved}: {card}");
        compared += 1;
    }
}

/// A frame and an element of a comparison hold both Runs, those of any other panel the first: as the address says that
/// is built for them, and as the frame reads it.
#[test]
fn an_embed_of_a_comparison_holds_both_runs() {
    let mut random = Random::new(494_951);
    for _ in 0..200 {
        let [run, other] = [random_run(&mut random), random_run(&mut random)];
        let view = ViewState { second: Some(other.clone()), ..ViewState::default() };
        for (panel, _) in Embed::ALL.iter().copied() {
            let address = encode_with(&run, &view.clone().framed(panel, Some(Theme::Dark), None));
            let read = decode(&address);
            let second = (panel == Embed::Compare).then(|| other.clone());
            assert_eq!((read.run, read.view.embed, read.view.second), (run.clone(), Some(panel), second), "{address}");
        }
        // The element sends its link to the frame that it holds.
        let link = encode_with(&run, &view);
        let message = serde_json::json!({ "type": "shardscope:set", "link": link, "panel": "compare" }).to_string();
        let answer = frame::answer(&message, "https://example.org/#v=1&tp=4&b.tp=2&view.embed=compare");
        let answer = serde_json::to_value(&answer).unwrap();
        let read = decode(answer["fragment"].as_str().unwrap());
        assert_eq!((read.run, read.view.embed, read.view.second), (run, Some(Embed::Compare), Some(other)));
    }
}

/// A value of a report as the page prints its kind; none of a kind that the page prints in several ways.
fn printed(report: &Value, field: &str) -> Option<String> {
    let value = field.split('.').try_fold(report, |part, key| part.get(key))?.as_f64()?;
    match field.rsplit(['.', '_']).next()? {
        "bytes" => Some(UNIT.number(Bytes(value))),
        "s" => Some(show_seconds(Seconds(value))),
        "mfu" => Some(show_percent(value)),
        _ => None,
    }
}

/// Every export says the figures of the page: Markdown as the page prints them, JSON and CSV in numbers that print so;
/// and so does the card for posts.
#[test]
fn exports_say_the_digits_of_the_page() {
    let mut random = Random::new(494_949);
    let stamp = Stamp { date: "2026-11-28", address: "https://example.org/" };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..200 {
        let run = random_run(&mut random);
        let Ok(own) = evaluate(&run) else { continue };
        let mut count = |what| *counts.entry(what).or_default() += 1;
        let mut known = BTreeMap::new();
        for panel in [Panel::Step, Panel::MemoryBars(None), Panel::MemoryTable, Panel::Overlap(None)] {
            agree(&panel.view(&own, UNIT), &mut known);
        }
        let mut shown = waterfall(&own).figures();
        shown.retain(|(field, ..)| field != "kernels share of the peak");
        agree(&waterfall(&own), &mut known);
        let of_run = |field: &str| known.get(&(field.to_owned(), "run".to_owned()));
        let markdown = export(&run, "markdown", &stamp).unwrap().replace(' ', "\u{202f}");
        let has = |row: &str| assert!(markdown.contains(&row.replace(' ', "\u{202f}")), "{row}\n{markdown}");
        for pair in shown.chunks(2).filter(|pair| own.report.step.time_s.0 > 0.0 && !pair[0].2.starts_with("0 ")) {
            let name = if pair[0].0 == "step.time_s" { "Step" } else { &pair[0].0 };
            has(&format!("| {name} | {} | {} |", pair[0].2, pair[1].2));
            count("Markdown, parts of the step");
        }
        has(&format!("MFU {}.", show_percent(own.report.step.mfu)));
        for rank in &own.report.memory.per_stage {
            let scope = format!("run rank {}", rank.stage);
            let cell = |field: &str| known.get(&(field.to_owned(), scope.clone())).cloned().unwrap();
            let parts = rank.components().map(|(component, _)| cell(component));
            let total = cell("memory.per_stage.total_bytes");
            has(&format!("| {} | {} | {total} |", rank.stage, parts.join(" | ")));
            count("Markdown, memory of a rank");
        }
        let json: Value = serde_json::from_str(&export(&run, "json", &stamp).unwrap()).unwrap();
        for ((field, _), digits) in known.iter().filter(|((_, scope), _)| scope == "run") {
            if let Some(text) = printed(&json["report"], field) {
                assert_eq!(number_of(&text), *digits, "{field}");
                count("JSON");
            }
        }
        let csv = export(&run, "csv", &stamp).unwrap();
        let rows = csv.lines().filter(|line| !line.starts_with('#')).skip(1);
        for (rank, line) in own.report.memory.per_stage.iter().zip(rows) {
            let total: f64 = line.split(',').nth(7).unwrap().parse().unwrap();
            let scope = format!("run rank {}", rank.stage);
            let digits = &known[&("memory.per_stage.total_bytes".to_owned(), scope)];
            assert_eq!(UNIT.number(Bytes(total)), *digits, "{line}");
            count("CSV");
        }
        let peak = of_run("memory.peak_bytes").unwrap();
        let card = picture(Drawn::Card, &own, Theme::Light, 900.0, UNIT, &Catalogue::default());
        for figure in [peak.clone(), show_seconds(own.report.step.time_s), show_percent(own.report.step.mfu)] {
            assert!(card.contains(&figure), "{figure}");
            count("card");
        }
    }
    println!("{counts:?}");
    assert!(counts.len() == 5 && counts.values().all(|count| *count > 50), "{counts:?}");
}

/// The verdict of an import is that of the page once its run is taken.
#[test]
fn an_import_says_the_memory_of_the_run_that_it_makes() {
    let mut random = Random::new(4_949_494);
    let stamp = Stamp { date: "2026-11-28", address: "https://example.org/" };
    let mut compared = 0;
    for _ in 0..200 {
        let run = random_run(&mut random);
        for format in ["megatron", "torchtitan", "deepspeed"] {
            let Ok(text) = export(&run, format, &stamp) else { continue };
            let Ok(meaning) = read(&text, &run) else { continue };
            let Ok(taken) = evaluate(&meaning.run) else { continue };
            let mut known = BTreeMap::new();
            agree(&summary(&text, &run, false), &mut known);
            let scope = Scope::of(&meaning.run, None);
            let page = need_of_page(&taken);
            let said = known.into_iter().find(|((field, _), _)| field == "memory.peak_bytes");
            let Some(((_, whose), digits)) = said else { continue };
            assert_eq!(format!("{scope:?}"), format!("Scope({whose:?})"));
            assert_eq!(digits, page, "{text}");
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared}");
}

/// What the software does not run is said to fit nowhere: key figures, title, comparison, Markdown.
#[test]
fn what_the_software_does_not_run_is_said_to_fit_nowhere() {
    let set = [("stack", "hf-trainer"), ("adapter.method", "lora"), ("gpus", "8"), ("seq_len", "512")];
    let places = |sizes: [(&str, &str); 2]| {
        let run = Run::example().with_texts(&set).unwrap().with_texts(&sizes).unwrap();
        let own = evaluate(&run).unwrap();
        assert_eq!(own.report.memory.verdict, Verdict::Fits);
        let second = Second { run: &run, evaluation: Ok(&own) };
        let stamp = Stamp { date: "2026-11-30", address: "https://example.org/" };
        [
            strip(&run, &own.report, UNIT).to_html(),
            peak(&run, &own.report, UNIT).to_string(),
            compare(&own, &second, UNIT).to_html(),
            export(&run, "markdown", &stamp).unwrap(),
        ]
    };
    for place in places([("tp", "2"), ("pp", "4")]) {
        assert!(place.contains("Would fit"), "{place}");
    }
    for place in places([("tp", "1"), ("pp", "1")]) {
        assert!(!place.contains("Would fit"), "{place}");
    }
}

/// The page's own row among the layouts, the card of its schedule and the chosen memory method say of it what the key
/// figures say: that it would fit, where its software does not run its schedule.
#[test]
fn lists_say_of_the_own_run_what_the_key_figures_say() {
    let set = [("gpus", "4"), ("tp", "1"), ("pp", "4"), ("seq_len", "512"), ("stack", "megatron-2026")];
    for (schedule, says) in [("zb-v", "Would fit"), ("1f1b", "Fits")] {
        let run = Run::example().with_texts(&set).unwrap().with_texts(&[("schedule", schedule)]).unwrap();
        let own = evaluate(&run).unwrap();
        assert_eq!(own.report.memory.verdict, Verdict::Fits);
        let query = PlanQuery { extras: Vec::new(), ..PlanQuery::improve(&run) };
        let mut session = PlanSession::new(query.clone()).unwrap();
        while !session.step(1 << 20) {}
        let result = session.result(true);
        let view = PlanView { query: &query, result: &result, own: Some(&own), folds: &PlanFold::OPEN, unit: UNIT };
        let layouts: Node = plan::panel(&view).into_iter().collect();
        let after = |html: String, mark: &str| html.split(mark).nth(1).unwrap().to_owned();
        let gallery: Node = gallery_of(&run).into_iter().collect();
        let places = [
            strip(&run, &own.report, UNIT).to_html(),
            after(layouts.to_html(), "class=\"you\"").split("</tr>").next().unwrap().to_owned(),
            after(gallery.to_html(), "your run").split("</li>").next().unwrap().to_owned(),
            after(Panel::Methods.view(&own, UNIT).to_html(), "aria-pressed=\"true\"")
                .split("</tr>")
                .next()
                .unwrap()
                .to_owned(),
        ];
        for place in places {
            assert!(place.contains(says) && place.contains("Would fit") == (says == "Would fit"), "{place}");
        }
    }
}

/// The need of the fullest GPU as the page says it of its own run.
fn need_of_page(own: &Evaluation) -> String {
    let figures = strip(&own.scenario.run, &own.report, UNIT).figures();
    figures.into_iter().find(|(field, ..)| field == "memory.peak_bytes").unwrap().2
}
