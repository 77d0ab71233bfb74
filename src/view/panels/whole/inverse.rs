//! The inverse questions: what trains within some days on these GPUs, and how many GPUs some tokens need by a date.

use crate::panels::budget::set_keeping_budget;
use crate::panels::plan::rows::line;
use crate::prelude::*;
use shardscope_core::advice::fit::words;
use shardscope_core::run::AdapterMethod;
use shardscope_core::run::follow::with_following;
use shardscope_core::run::presets::{MODELS, ModelPreset};
use shardscope_core::search::catalogue::{CatalogueRow, TrainedModel};
use shardscope_core::sort::sort_by;
use shardscope_core::units::group;
use shardscope_core::whole_run::{Deadline, optimal_tokens};
use std::sync::Arc;

/// Models with the tokens that they train on within `days`, as far as they are known; `own` is the page's Run. With
/// `optimal` each bar marks the tokens for which the model would be compute-optimal.
pub fn trains(own: &Run, days: f64, rows: &[CatalogueRow], optimal: bool) -> Node {
    if rows.is_empty() {
        return muted(
            "Every model of the catalogue on these GPUs, each in the fastest layout that fits: some seconds a model.",
        );
    }
    let largest = largest(own, rows);
    let tokens = || rows.iter().filter_map(|(_, trained)| trained.as_ref()).map(|trained| trained.tokens);
    let (low, high) = (tokens().fold(f64::MAX, f64::min) / 30.0, tokens().fold(0.0, f64::max) * 1.5);
    let at = |tokens: f64| ((tokens / low).ln() / (high / low).ln()).clamp(0.0, 1.0);
    let (mut known, mut without) = (Vec::new(), Vec::new());
    for (preset, trained) in by_size(rows) {
        let name = preset.choice.label;
        let Some(trained) = trained else {
            without.push(name);
            continue;
        };
        let is_own = own.model.base == Some(preset.choice.id);
        let tokens_bar = tokens_bar(own, trained, optimal, at);
        let budget = own
            .tokens_total
            .map(|tokens| text(t!("{days} days", days = significant(days * tokens / trained.tokens, 3))));
        let [take, figures @ ..] = trained_cells(own, name, trained, tokens_bar);
        known.push((is_own, std::iter::once(take).chain(budget).chain(figures).collect()));
    }
    let head = [
        "model",
        "your budget takes",
        "tokens",
        "per active parameter",
        "parameters",
        "memory",
        "tokens (log scale)",
        "layout",
    ];
    let budgeted = own.tokens_total.is_some();
    let head: Vec<&str> = head.into_iter().filter(|name| budgeted || *name != "your budget takes").collect();
    let title = t!("Tokens within {days} days", days = number(days, 3));
    let mut parts = vec![largest, if known.is_empty() { Node::none() } else { table(title, &head, &known) }];
    parts.extend(optimal.then(|| {
        muted(
            "The grey mark: tokens for which the model is compute-optimal, by the refit of \
        Besiroglu et al. 2024 (18 a parameter at 1e24 FLOP). It is disputed: the third fit that Hoffmann et al. 2022 \
        print says 98, their first two about 20. It is no advice: models that are served are trained far beyond it.",
        )
    }));
    if !without.is_empty() {
        let names = without.join(", ");
        parts.push(muted(t!(
            "No layout of these fits or divides here at {tokens} tokens a sequence and a batch of {batch}: {names}.",
            tokens = own.seq_len,
            batch = own.global_batch,
            names
        )));
    }
    parts.into_iter().collect()
}

/// The models with what they train on: the largest first, whether it fits or is tight.
fn by_size(rows: &[CatalogueRow]) -> Vec<(&'static ModelPreset, Option<&TrainedModel>)> {
    let models = rows.iter().filter_map(|(place, trained)| Some((MODELS.get(*place)?, trained.as_deref())));
    let mut models: Vec<_> = models.collect();
    let size = |trained: Option<&TrainedModel>| trained.map_or(0.0, |trained| trained.parameters);
    sort_by(&mut models, |a, b| size(b.1).total_cmp(&size(a.1)));
    models
}

/// "Largest that fits here: Gemma 3 27B with LoRA, 27.4 B parameters, 8,192 tokens a sequence."
fn largest(own: &Run, rows: &[CatalogueRow]) -> Node {
    let fitting = rows.iter().filter_map(|(place, trained)| Some((MODELS.get(*place)?, trained.as_deref()?)));
    let fitting = fitting.filter(|(_, trained)| trained.fits);
    let Some((preset, trained)) = fitting.max_by(|a, b| a.1.parameters.total_cmp(&b.1.parameters)) else {
        let done = rows.len() == MODELS.len();
        if !done {
            return Node::none();
        }
        let lead = leaf("p", "lead", "No model of the catalogue fits here.").say("role", "status");
        return Node::from_iter([lead, with_less(own)]);
    };
    let what = own.adapter.method.map_or_else(|| t!("all weights"), |method| verbatim(method.choice().label));
    let words = t!(
        "Largest that fits on {gpus} × {gpu}: {model}, {parameters} parameters, {what}, at {tokens} tokens a \
            sequence, with {software}.",
        gpus = own.gpus,
        gpu = own.gpu.title(),
        model = verbatim(preset.choice.label),
        parameters = show_count(trained.parameters),
        what,
        tokens = own.seq_len,
        software = own.stack.preset_row().choice.label
    );
    let larger = by_size(rows)
        .into_iter()
        .filter(|(_, other)| other.is_some_and(|other| !other.fits && other.parameters > trained.parameters));
    let larger: Vec<Message> = larger.map(|(preset, _)| verbatim(preset.choice.label)).collect();
    let larger = (!larger.is_empty())
        .then(|| t!("Larger ones are tight and may run out: {models}.", models = Message::joined(", ", larger)));
    let more = (rows.len() < MODELS.len()).then(|| t!("Still looking."));
    let said = std::iter::once(words).chain(larger).chain(more);
    let lead = leaf("p", "lead", Message::joined(" ", said)).say("role", "status");
    Node::from_iter([lead, with_less(own)])
}

/// The same search with a method that needs less memory, as a press: LoRA, then `QLoRA`; nothing beyond.
fn with_less(own: &Run) -> Node {
    let method = match own.adapter.method {
        Some(AdapterMethod::Lora | AdapterMethod::Dora) => AdapterMethod::Qlora,
        None => AdapterMethod::Lora,
        Some(AdapterMethod::Qlora) => return Node::none(),
    };
    let set = with_following(own, vec![("adapter.method", method.id().to_owned())]);
    let label = match set.as_slice() {
        [_] => t!("Search with {method}", method = method.choice().label),
        [_, others @ ..] => {
            t!("Search with {method}, {settings}", method = method.choice().label, settings = words(others))
        }
        [] => return Node::none(),
    };
    let press = el("button", &[("class", "link")], &[text(label)]);
    let why = match method {
        AdapterMethod::Qlora => t!("QLoRA holds the frozen weights in 4 bits: a larger model may fit."),
        _ => t!("LoRA trains a small part of the weights: a larger model may fit."),
    };
    el("p", &[("class", "muted")], &[text(why), text(" "), press.on(Action::SearchModels(set))])
}

/// A ratio: in whole numbers from ten on, else in two digits.
fn ratio(value: f64) -> String {
    if value < 10.0 { significant(value, 2) } else { group(&format!("{value:.0}")) }
}

/// A bar of the tokens that a model trains on, the budget and, with `optimal`, its compute-optimal tokens marked; `at`
/// is the place of a number of tokens.
fn tokens_bar(own: &Run, trained: &TrainedModel, optimal: bool, at: impl Fn(f64) -> f64) -> Node {
    let mark = |class, tokens: f64, title: Message| {
        let place = percent("left", at(tokens));
        el("u", &[("class", class), ("style", &place)], &[]).title(title)
    };
    let mut marks = vec![el("i", &[("style", &percent("width", at(trained.tokens)))], &[])];
    marks.extend(
        own.tokens_total.map(|tokens| mark("budget", tokens, t!("your budget: {tokens}", tokens = show_count(tokens)))),
    );
    if optimal {
        let tokens = optimal_tokens(trained.active);
        marks.push(mark("optimal", tokens, t!("compute-optimal: {tokens}", tokens = show_count(tokens))));
    }
    el("span", &[("class", "tokens-bar")], &marks)
}

/// The cells of a model's row: what is asked for first, the layout, which is longest, last.
fn trained_cells(own: &Run, name: &'static str, trained: &TrainedModel, tokens_bar: Node) -> [Node; 7] {
    let run = Arc::new(Run {
        tokens_total: own.tokens_total,
        price_per_gpu_hour: own.price_per_gpu_hour,
        ..trained.run.clone()
    });
    let title = t!("Takes this model in this layout; all else stays");
    let take = el("button", &[("class", "link")], &[text(name)]).title(title).on(Action::Take(run));
    let layout = [text(line(&trained.run, trained.dp)), if trained.fits { Node::none() } else { aside(" ▲ tight") }];
    let layout = el("span", &[("class", "wrap")], &layout);
    let peak = MemoryUnit::Gib.show(trained.peak);
    [
        take,
        text(verbatim(show_count(trained.tokens))),
        text(verbatim(ratio(trained.tokens / trained.active))),
        text(verbatim(show_count(trained.parameters))),
        text(verbatim(peak)),
        tokens_bar,
        layout,
    ]
}

/// Whose layout a date was asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateLayout {
    /// That of the Run, on every number of GPUs.
    Own,
    /// The one that is chosen for each number of GPUs, as the page does while its layout is chosen.
    Chosen,
}

/// The smallest number of GPUs that trains on `tokens` within `days`, in the layout `of`; `done` once every count was
/// tried.
pub fn dates(own: &Run, days: f64, found: Option<&Deadline>, done: bool, of: DateLayout) -> Node {
    let is_chosen = of == DateLayout::Chosen;
    let Some(found) = found else {
        return match (done, of) {
            (false, _) => muted("Trying numbers of GPUs…"),
            (true, DateLayout::Chosen) => muted("No layout that fits was found on any number of GPUs that was tried."),
            (true, DateLayout::Own) => {
                let words = muted("No number of GPUs works with this layout.");
                Node::from_iter([words, with_chosen_layout(own, own.gpus)])
            }
        };
    };
    let (mean, high) = (significant(found.days, 3), significant(found.high_days, 3));
    let limit = number(days, 3);
    let (words, gpus) = match found.gpus {
        Some(gpus) if is_chosen => (
            t!(
                "In the layout chosen for each number of GPUs, {gpus} GPUs: {mean} days in the mean, nine of ten runs \
                    within {high}.",
                gpus,
                mean,
                high
            ),
            gpus,
        ),
        Some(gpus) => (
            t!(
                "In this layout, {gpus} GPUs: {mean} days in the mean, nine of ten runs within {high}.",
                gpus,
                mean,
                high
            ),
            gpus,
        ),
        None if done && found.missing_bytes.iter().all(|missing| missing.0 > 0.0) => {
            (t!("Out of memory with this layout on each number of GPUs that was tried."), 0)
        }
        None if done && is_chosen => (
            t!(
                "In the layout chosen for each number of GPUs, none that was tried ends within {limit} days nine times \
                    in ten. The earliest is {gpus}: {mean} days in the mean, nine of ten within {high}.",
                limit,
                gpus = found.fastest_gpus,
                mean,
                high
            ),
            found.fastest_gpus,
        ),
        None if done => (
            t!(
                "In this layout, no number of GPUs ends within {limit} days nine times in ten. The earliest is {gpus}: \
                    {mean} days in the mean, nine of ten within {high}.",
                limit,
                gpus = found.fastest_gpus,
                mean,
                high
            ),
            found.fastest_gpus,
        ),
        None => (t!("{count} numbers of GPUs tried, none is enough yet", count = found.counts.len()), 0),
    };
    let press = (gpus > 0 && gpus != own.gpus)
        .then(|| apply("main", vec![("gpus", gpus.to_string())], "", t!("Use {gpus} GPUs", gpus)));
    let other = done && !is_chosen;
    let other = if other { with_chosen_layout(own, if gpus > 0 { gpus } else { own.gpus }) } else { Node::none() };
    let missing = |missing: &Bytes| if missing.0 > 0.0 { MemoryUnit::Gib.show(*missing) } else { "–".to_owned() };
    let counts = Rows::of(found.counts.iter().zip(&found.missing_bytes))
        .figures("GPUs", |((gpus, ..), _)| group(&gpus.to_string()))
        .figures("days", |((_, mean, _), _)| significant(*mean, 3))
        .figures("nine of ten within", |((.., high), _)| significant(*high, 3))
        .figures("memory missing", |(_, bytes)| missing(bytes))
        .marked(|((gpus, ..), _)| Some(*gpus) == found.gpus)
        .table(t!("Days by number of GPUs"));
    let why = found.gpus.and_then(|gpus| why_not_fewer(gpus, days, found, of));
    let why = muted(Message::joined(" ", tried(found, of).into_iter().chain(why)));
    let lead = [leaf("b", "", words), text(" "), press.unwrap_or_default()];
    Node::from_iter([el("p", &[], &lead), other, why, fold("All numbers that were tried", counts)])
}

/// The way to an answer that is of no one layout: `gpus` GPUs with the layout that the search chooses on them.
fn with_chosen_layout(own: &Run, gpus: u64) -> Node {
    let press = link_button(t!("Choose the layout on {gpus} GPUs", gpus));
    let press = press.on(Action::Name(set_keeping_budget(own, &[("gpus", gpus.to_string())])));
    el(
        "p",
        &[("class", "muted")],
        &[text("Other layouts were not tried: one may be faster, or need fewer GPUs."), text(" "), press],
    )
}

/// The numbers of GPUs that were tried: "Tried in this layout: 12 numbers of GPUs that divide the batch, 8 to 512."
fn tried(found: &Deadline, of: DateLayout) -> Option<Message> {
    let ((least, ..), (most, ..)) = (found.counts.first()?, found.counts.last()?);
    let count = found.counts.len();
    Some(if of == DateLayout::Chosen {
        t!(
            "Tried, each in its fastest layout that fits: {count} numbers of GPUs, {least} to {most}; one between them \
                may do as well.",
            count,
            least,
            most
        )
    } else if count == 1 {
        t!("Tried in this layout: {least} GPUs, the one number that divides the batch.", least)
    } else {
        t!(
            "Tried in this layout: {count} numbers of GPUs that divide the batch, {least} to {most}.",
            count,
            least,
            most
        )
    })
}

/// What keeps the next smaller number of GPUs than `gpus` from being enough.
fn why_not_fewer(gpus: u64, days: f64, found: &Deadline, of: DateLayout) -> Option<Message> {
    let before = found.counts.iter().zip(&found.missing_bytes).take_while(|((count, ..), _)| *count < gpus).last();
    let Some(((fewer, _, high), missing)) = before else {
        return (of == DateLayout::Own)
            .then(|| t!("This layout has no smaller number of GPUs that divides the batch."));
    };
    if missing.0 > 0.0 {
        return Some(t!(
            "With {fewer} GPUs, the next fewer, this layout is out of memory: {missing} are missing.",
            fewer,
            missing = MemoryUnit::Gib.show(*missing)
        ));
    }
    Some(t!(
        "With {fewer} GPUs, the next fewer, nine of ten runs end within {high} days: {late} days too late.",
        fewer,
        high = significant(*high, 3),
        late = significant(*high - days, 2)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::search::catalogue::CatalogueSearch;
    use shardscope_core::whole_run::deadline;

    /// Half of 70 B parameters with 2 bytes of weights and 2 or more of gradients are 140 GB, of which ZeRO-1 shards
    /// nothing (Rajbhandari 2020, section 5): under TP 2 no number of GPUs of 80 GB is an answer.
    #[test]
    fn a_number_of_gpus_that_is_out_of_memory_is_no_answer() {
        let texts = [("model", "llama-3.1-70b"), ("tp", "2"), ("pp", "1"), ("zero", "1"), ("gpus", "64")];
        let run = Run::default().with_texts(&texts).unwrap();
        let found = deadline(&run, 1e9, 3000.0).unwrap();
        assert!(found.gpus.is_none() && found.missing_bytes.iter().all(|missing| missing.0 > 0.0), "{found:?}");
        let html = dates(&run, 3000.0, Some(&found), true, DateLayout::Own).to_html();
        assert!(html.contains("Out of memory with this layout on each number of GPUs"), "{html}");
        // In more ranks it fits from some number of replicas on, over which ZeRO-1 shards the states.
        let run = run.with_texts(&[("tp", "4"), ("pp", "4"), ("recompute", "full")]).unwrap();
        let found = deadline(&run, 1e9, 3000.0).unwrap();
        let gpus = found.gpus.unwrap();
        let of_fewer = found.counts.iter().zip(&found.missing_bytes).take_while(|((count, ..), _)| *count < gpus);
        assert!(of_fewer.clone().count() > 0 && of_fewer.clone().all(|(_, missing)| missing.0 > 0.0), "{found:?}");
        let html = dates(&run, 3000.0, Some(&found), true, DateLayout::Own).to_html();
        assert!(html.contains("the next fewer, this layout is out of memory: "), "{html}");
    }

    #[test]
    fn a_model_can_be_loaded_in_its_layout_and_the_least_gpus_be_used() {
        let present = Run { tokens_total: Some(1e12), ..Run::default() };
        let mut catalogue = CatalogueSearch::new(&present, 30.0);
        let row = loop {
            if let Some(row) = catalogue.step(50_000).unwrap() {
                break row;
            }
        };
        let node = trains(&present, 30.0, &[row.clone(), (1, None)], true);
        let run = node.actions().into_iter().find_map(|action| match action {
            Action::Take(run) => Some(run),
            _ => None,
        });
        let run = run.unwrap();
        assert_eq!((run.tokens_total, run.gpus), (present.tokens_total, present.gpus));
        let html = node.to_html();
        let largest = format!("Largest that fits on 64 × H100 80 GB: {}, ", MODELS[row.0].choice.label);
        assert_eq!(html.contains(&largest), row.1.as_ref().is_some_and(|trained| trained.fits), "{html}");
        assert!(
            html.contains("class=\"optimal\"") && html.contains("Besiroglu") && html.contains(MODELS[1].choice.label)
        );

        let found = deadline(&present, 1e12, 30.0).unwrap();
        let enough = found.gpus.unwrap();
        // The count that it names meets the date, and the one before does not.
        let before = found.counts.iter().take_while(|(gpus, ..)| *gpus < enough).last();
        assert!(found.high_days <= 30.0 && before.is_none_or(|(.., high)| *high > 30.0));
        // And the page says why fewer are not enough.
        let html = dates(&present, 30.0, Some(&found), true, DateLayout::Own).to_html();
        let (fewer, ..) = before.unwrap();
        assert!(html.contains(&format!("With {fewer} GPUs, the next fewer, nine of ten runs end within")), "{html}");
        let node = dates(&present, 30.0, Some(&found), true, DateLayout::Own);
        let [Action::Apply(set), Action::Name(chosen)] = node.actions()[..] else { panic!("{html}") };
        assert!(set[0].1 == enough.to_string() && set == chosen, "{html}");
    }

    /// The models of 8 GPUs in the order of their sizes, whatever their verdict; those that are tight and larger than
    /// the largest that fits are named in the sentence.
    #[test]
    fn larger_models_that_are_tight_are_named_beside_the_largest_that_fits() {
        let own = Run { gpus: 8, ..Run::default() };
        let mut catalogue = CatalogueSearch::new(&own, 30.0);
        let mut rows = Vec::new();
        while rows.len() < 2 {
            let Some(row) = catalogue.step(50_000).unwrap() else { continue };
            rows.extend(row.1.is_some().then_some(row));
        }
        let size = |row: &CatalogueRow| row.1.as_ref().unwrap().parameters;
        rows.sort_by(|a, b| size(a).total_cmp(&size(b)));
        assert!(size(&rows[0]) < size(&rows[1]));
        for (fits, named) in [([true, false], true), ([false, true], false), ([true, true], false)] {
            let marked: Vec<CatalogueRow> = rows
                .iter()
                .zip(fits)
                .map(|((place, trained), fits)| {
                    let trained = trained.as_deref().map(|one| TrainedModel { fits, ..one.clone() }.into());
                    (*place, trained)
                })
                .collect();
            let html = trains(&own, 30.0, &marked, false).to_html();
            let names = [0, 1].map(|at: usize| MODELS[rows[at].0].choice.label);
            let words = format!("Larger ones are tight and may run out: {}.", names[1]);
            assert_eq!(html.contains(&words), named, "{html}");
            let table = &html[html.find("<table").unwrap()..];
            assert!(table.find(names[1]).unwrap() < table.find(names[0]).unwrap(), "{html}");
        }
    }

    /// Where no model fits with all weights, the search with LoRA is a press away: it is needed most there.
    #[test]
    fn where_nothing_fits_a_method_with_less_memory_is_offered() {
        let none: Vec<CatalogueRow> = (0..MODELS.len()).map(|place| (place, None)).collect();
        let offered = |own: &Run| {
            let answer = trains(own, 30.0, &none, false);
            answer.actions().into_iter().find_map(|action| match action {
                Action::SearchModels(set) => Some(set[0].1.clone()),
                _ => None,
            })
        };
        let with = |method: &str| Run::default().with_texts(&[("adapter.method", method)]).unwrap();
        assert_eq!(offered(&Run::default()).as_deref(), Some("lora"));
        assert_eq!(offered(&with("lora")).as_deref(), Some("qlora"));
        assert_eq!(offered(&with("qlora")), None);
    }

    #[test]
    fn a_date_that_nothing_meets_names_the_earliest() {
        let present = Run { tokens_total: Some(1e15), ..Run::default() };
        let html = dates(&present, 1.0, Some(&deadline(&present, 1e15, 1.0).unwrap()), true, DateLayout::Own).to_html();
        assert!(html.contains("In this layout, no number of GPUs ends within 1 days"), "{html}");
    }

    /// Of a layout that is chosen for each number of GPUs no sentence speaks of "this layout", and no other is offered.
    #[test]
    fn a_date_of_chosen_layouts_says_so() {
        let own = Run { tokens_total: Some(15e12), ..Run::default() };
        for days in [1.0, 30.0, 300.0] {
            let found = deadline(&own, 15e12, days).unwrap();
            let html = dates(&own, days, Some(&found), true, DateLayout::Chosen).to_html();
            assert!(html.contains("In the layout chosen for each number of GPUs, "), "{html}");
            assert!(!html.contains("this layout") && !html.contains("Other layouts were not tried"), "{html}");
        }
        let none = dates(&own, 30.0, None, true, DateLayout::Chosen).to_html();
        assert!(none.contains("No layout that fits was found"), "{none}");
    }

    /// With one micro-batch a pipeline four stages idle for three quarters of it, one stage never: on the same GPUs
    /// another layout is shorter. What is said of a date names its scope, and leads to the search for the layout.
    #[test]
    fn a_date_is_of_one_layout_and_leads_to_the_choice_of_another() {
        let own = Run { tokens_total: Some(15e12), ..Run::default() };
        let found = deadline(&own, 15e12, 30.0).unwrap();
        let other = Run { tp: 8, pp: 1, gpus: found.fastest_gpus, ..own.clone() };
        let step = |run: &Run| evaluate(run).unwrap().report.step.time_s.0;
        assert!(found.gpus.is_none() && step(&other) < step(&Run { gpus: found.fastest_gpus, ..own.clone() }));
        for (days, words) in [(30.0, "In this layout, no number of GPUs"), (300.0, "In this layout, ")] {
            let found = deadline(&own, 15e12, days).unwrap();
            let node = dates(&own, days, Some(&found), true, DateLayout::Own);
            let html = node.to_html();
            assert!(html.contains(words) && html.contains("Other layouts were not tried"), "{html}");
            let gpus = found.gpus.unwrap_or(found.fastest_gpus).to_string();
            assert!(node.actions().contains(&&Action::Name(vec![("gpus", gpus)])), "{html}");
        }
    }
}
