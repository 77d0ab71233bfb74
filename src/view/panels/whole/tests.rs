//! The view of the whole run, held to facts from outside.

use super::days::{Cell, cells};
use super::interval::losses_at;
use super::*;
use crate::panels::budget::own_budget;
use shardscope_core::run::registry::field;
use shardscope_core::run::{FailureClass, Failures, RunLength};
use shardscope_core::units::group;
use shardscope_core::whole_run::{self, LossKind, RunEvent, range};

fn run(length: RunLength) -> Run {
    Run { tokens_total: Some(15e12), length, ..Run::default() }
}

fn priced() -> Run {
    let length = RunLength { grid_kg_per_kwh: Some(0.4), ..RunLength::default() };
    Run { price_per_gpu_hour: Some(2.0), ..run(length) }
}

/// Widths of the segments of a picture made of `<i class style="left:..;width:..">`, as shares.
fn widths(html: &str) -> Vec<f64> {
    html.split("<i class=\"")
        .skip(1)
        .filter_map(|bar| bar.split("width:").nth(1)?.split('%').next()?.parse().ok())
        .collect()
}

#[test]
fn every_figure_opens_a_formula_that_is_there() {
    let run = priced();
    let evaluation = evaluate(&run).unwrap();
    let found = WholeRunAnswer::new(&evaluation).unwrap();
    let range = range(&evaluation, &found.setting);
    let view = Node::from_iter([
        answer(&run, &found, Some(&range)),
        calendar(&found, Some(&range)),
        choices(&found),
        caption(Caption::Failures, &evaluation, Some(&found)),
    ]);
    let actions = view.actions().into_iter();
    let figures: Vec<_> = actions
        .filter_map(|action| if let Action::ExplainWhole(figure) = action { Some(*figure) } else { None })
        .collect();
    assert!(figures.len() >= 15, "{figures:?}");
    for figure in figures {
        let html = derivation(&evaluation, figure, MemoryUnit::Gib).to_html();
        assert!(html.contains("class=\"term\""), "{figure:?}: {html}");
    }
}

/// A run that does not fit, one that its software does not run (nanotron has no zero-bubble schedule), and one that is
/// both: the figures are said to be hypothetical wherever Run's are, and of a published run and one that fits never.
#[test]
fn figures_of_a_run_that_does_not_run_are_said_to_be_hypothetical() {
    use crate::panels::issues::only_if;
    let of = |text: &str| {
        let fields = text.split('&').map(|pair| pair.split_once('=').unwrap());
        let set: Vec<_> = fields.map(|(key, value)| (field(key).unwrap().key, value.to_owned())).collect();
        let evaluation = evaluate(&Run::default().with_texts(&set).unwrap()).unwrap();
        let strip = crate::panels::strip::strip(&evaluation.scenario.run, &evaluation.report, MemoryUnit::Gib);
        (only_if(&evaluation, MemoryUnit::Gib), strip.to_html(), evaluation)
    };
    let over = "model=qwen-3-32b&gpu=a100-sxm-40gb&gpus=128&tp=4&pp=8&micro_batch=1&global_batch=256&schedule=";
    for (run, out, unable) in [
        (over.replace("&tp=4&pp=8", "&tp=1&pp=1").replace("&schedule=", ""), true, false),
        (format!("{over}gpipe&stack=fsdp2"), true, true),
        ("schedule=zb-v&stack=nanotron&recompute=full".to_owned(), false, true),
        ("recompute=full".to_owned(), false, false),
    ] {
        let (said, strip, evaluation) = of(&run);
        let html = said.to_html();
        assert_eq!(html.contains("Out of memory"), out, "{run} {html}");
        assert_eq!(html.contains(" if it fitted"), out, "{run} {html}");
        assert_eq!(html.contains("ran."), unable, "{run} {html}");
        assert_eq!(html.is_empty(), !out && !unable, "{run} {html}");
        assert_eq!(strip.contains("if it fitted"), out, "{run}");
        // The need is the one that Run shows.
        if out {
            assert!(html.contains(&MemoryUnit::Gib.number(evaluation.report.memory.peak_bytes)), "{html}");
        }
    }
    for preset in shardscope_core::run::presets::all_published() {
        assert!(only_if(&evaluate(&preset.run()).unwrap(), MemoryUnit::Gib).to_html().is_empty(), "{}", preset.id);
    }
}

/// A press on a figure of Run opens what it is made of with losses: the figure that was pressed is named there, to the
/// digit, under its own name.
#[test]
fn a_formula_with_losses_names_the_figure_of_the_steps_alone() {
    let evaluation = evaluate(&priced()).unwrap();
    let pressed = own_budget(&evaluation).marked_figures();
    for figure in [WholeRunFigure::Cost, WholeRunFigure::Days] {
        let drawer = derivation(&evaluation, figure, MemoryUnit::Gib);
        for field in ["budget.cost", "budget.days"] {
            let of =
                |list: &[(String, String)]| list.iter().find(|(name, _)| name == field).map(|(_, shown)| shown.clone());
            assert_eq!(of(&drawer.marked_figures()), of(&pressed), "{figure:?}");
        }
        assert!(drawer.to_html().contains("The formula above has losses"), "{figure:?}");
    }
}

#[test]
fn the_bar_is_as_long_as_the_calendar_and_the_losses_as_what_is_lost() {
    let evaluation = evaluate(&run(RunLength::default())).unwrap();
    let found = WholeRunAnswer::new(&evaluation).unwrap();
    let range = range(&evaluation, &found.setting);
    // The bar ends at the days, on an axis that ends 3 % behind the bracket.
    let bar: f64 = widths(&calendar::bar(&found, Some(&range)).to_html()).iter().sum();
    assert!((bar / 100.0 - found.figures.days / (range.high_days * 1.03)).abs() < 1e-3, "{bar}");
    let losses: f64 = widths(&calendar::losses(&found, Some(&range)).to_html()).iter().sum();
    // The bars of the losses, and that of all of them: each three fifths of a row.
    assert!((losses - 120.0).abs() < 0.1, "{losses}");
}

/// The day at which the bar ends is the number of the key figure above it; the interruptions of the running job, which
/// the rows of the losses count, and those during a restart stand beside their sum.
#[test]
fn the_bar_and_the_rows_count_what_the_key_figures_say() {
    let own = Run { gpus: 2048, tokens_total: Some(15e12), ..run(RunLength::default()) };
    let evaluation = evaluate(&own).unwrap();
    let found = WholeRunAnswer::new(&evaluation).unwrap();
    let range = range(&evaluation, &found.setting);
    let figures = answer(&own, &found, Some(&range)).figures();
    let of = |field: &str| figures.iter().find(|(name, ..)| name == field).map(|(.., shown)| shown.clone());
    let days = of(WholeRunFigure::Days.id()).unwrap();
    let bar = words(&calendar::bar(&found, Some(&range)).to_html());
    assert!(found.figures.days > 2.0 && bar.contains(&format!("ends day {days} ")), "{days}: {bar}");
    let [running, restarts] = found.apart().unwrap();
    assert!((running + restarts - found.figures.interruptions).abs() < 1e-9 * found.figures.interruptions);
    let html = words(&answer(&own, &found, Some(&range)).to_html());
    let count = of("whole:broken").unwrap();
    assert!(html.contains(&format!(": {count} of the running job, ")), "{html}");
    let losses = words(&calendar::losses(&found, Some(&range)).to_html());
    assert!(losses.contains(&format!("{count} × ")), "{count}: {losses}");
}

/// Steps times the tokens of one are the tokens trained, or the line that says both names what makes them more.
#[test]
fn a_growing_batch_is_named_where_its_steps_are_counted() {
    for ramp in [None, Some(vec![32, 32, 1_000_000])] {
        let own = run(RunLength { batch_ramp: ramp.clone(), ..RunLength::default() });
        let evaluation = evaluate(&own).unwrap();
        let found = WholeRunAnswer::new(&evaluation).unwrap();
        let tokens = found.figures.steps * evaluation.scenario.tokens_per_step();
        let line = words(&fields::steps(&evaluation, &found).to_html());
        assert_eq!(tokens > 15e12 * 1.000_1, ramp.is_some(), "{tokens}");
        let named =
            line.contains(&format!("grows from 32 to 256 sequences over the first {} sequences", group("1000000")));
        assert_eq!(named, ramp.is_some(), "{line}");
    }
}

#[test]
fn units_are_small_and_numbers_have_four_digits_at_most() {
    for (tokens, price) in [(1e9, 0.5), (15e12, 2.0), (1e15, 40.0)] {
        let run = Run { tokens_total: Some(tokens), price_per_gpu_hour: Some(price), ..priced() };
        let evaluation = evaluate(&run).unwrap();
        let html = answer(&run, &WholeRunAnswer::new(&evaluation).unwrap(), None).to_html();
        for value in html.split("class=\"value\">").skip(1) {
            let (number, unit) = value.split_once("</b>").unwrap();
            let number = number.rsplit_once('>').unwrap().1;
            let digits = number.chars().filter(char::is_ascii_digit).count();
            assert!((1..=5).contains(&digits), "{number} of {tokens}");
            // A unit stands behind a number, a prefix in it.
            let is_count = unit.starts_with("</span>");
            assert!(unit.starts_with(" <small>") || is_count, "{unit}");
        }
    }
}

/// Two screens of one run write the same cost and GPU-hours in the same characters: no spare node is set and nothing
/// fails, so the steps are all of the run but for its start.
#[test]
fn cost_and_gpu_hours_are_written_as_on_the_first_screen() {
    for tokens in [1e12, 15e12, 2e15] {
        let length = RunLength { failures: Some(Failures::Rate(0.0)), ..RunLength::default() };
        let run = Run { tokens_total: Some(tokens), ..run(length) };
        let evaluation = evaluate(&run).unwrap();
        let found = WholeRunAnswer::new(&evaluation).unwrap();
        let range = range(&evaluation, &found.setting);
        let whole = words(&answer(&run, &found, Some(&range)).to_html());
        let first = words(&own_budget(&evaluation).to_html());
        let cost = first.split_whitespace().find(|part| part.starts_with('$')).unwrap();
        let hours = first.split(" GPU-hours").next().unwrap().split_whitespace().last().unwrap();
        for amount in [cost, hours] {
            assert!(whole.split_whitespace().any(|part| part == amount), "{amount} of {first} is not in: {whole}");
        }
    }
}

/// The text of `html`.
fn words(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ")
}

/// Number times unit is the figure: k is a thousand, M a million.
#[test]
fn gpu_hours_are_the_number_times_its_unit() {
    for tokens in [1e9, 3e10, 1e12, 15e12] {
        let run = Run { tokens_total: Some(tokens), ..priced() };
        let found = WholeRunAnswer::new(&evaluate(&run).unwrap()).unwrap();
        let html = answer(&run, &found, None).to_html();
        let value = html.split("GPU-hours</span>").nth(1).unwrap().split("<b>").nth(1).unwrap();
        let shown = value.split_once("</b>").unwrap().0;
        let unit = [("B", 1e9), ("M", 1e6), ("k", 1e3)].into_iter().find(|(name, _)| shown.ends_with(name));
        let number = shown.trim_end_matches(['B', 'M', 'k']);
        let hours = number.parse::<f64>().unwrap() * unit.map_or(1.0, |(_, size)| size);
        assert!((hours / found.figures.gpu_hours - 1.0).abs() < 0.01, "{hours} of {}", found.figures.gpu_hours);
    }
}

#[test]
fn a_run_without_a_budget_shows_that_of_the_key_figures_and_says_that_it_is_assumed() {
    let (open, given) =
        (Run::default(), Run { tokens_total: Some(1e12), price_per_gpu_hour: Some(2.0), ..Run::default() });
    let [shown, same] = [&open, &given].map(|run| {
        let evaluation = evaluate(run).unwrap();
        let found = WholeRunAnswer::new(&evaluation).unwrap();
        (answer(run, &found, None).to_html(), found)
    });
    assert_eq!((shown.1.figures.days, shown.1.figures.cost), (same.1.figures.days, same.1.figures.cost));
    assert_eq!((shown.0.matches("assumed").count(), same.0.matches("assumed").count()), (2, 0));
}

#[test]
fn nothing_fails_nothing_is_drawn() {
    let calm = run(RunLength { failures: Some(Failures::Rate(0.0)), ..RunLength::default() });
    let evaluation = evaluate(&calm).unwrap();
    let found = WholeRunAnswer::new(&evaluation).unwrap();
    let html = Node::from_iter([choices(&found), future(&calm, &found, None), calendar(&found, None)]).to_html();
    assert!(html.contains("Nothing fails") && html.contains("No node fails"), "{html}");
    assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
}

#[test]
fn cells_hold_all_of_what_is_lost() {
    let event = |at: f64, lost: f64, down: f64| RunEvent { at: Seconds(at), lost: Seconds(lost), down: Seconds(down) };
    // Two hours down over the end of the first day, then six hours again; the third interruption cuts a repetition
    // short.
    let day = 86_400.0;
    let events = [
        event(23.0 * 3600.0, 6.0 * 3600.0, 7200.0),
        event(2.0 * day, 3600.0, 0.0),
        event(2.0 * day + 1800.0, 60.0, 0.0),
    ];
    let found = cells(&events, Seconds(3.0 * day), day);
    let near = |cell: Cell, count: u64, down: f64, repeated: f64| {
        cell.count == count && (cell.down * 24.0 - down).abs() < 1e-9 && (cell.repeated * 24.0 - repeated).abs() < 1e-9
    };
    assert_eq!(found.len(), 3);
    assert!(near(found[0], 1, 1.0, 0.0), "{found:?}");
    assert!(near(found[1], 0, 1.0, 6.0), "{found:?}");
    assert!(near(found[2], 2, 0.0, 0.5 + 1.0 / 60.0), "{found:?}");
}

#[test]
fn the_least_of_the_curve_is_the_best_interval() {
    let evaluation =
        evaluate(&run(RunLength { failures: Some(Failures::Class(FailureClass::Shared)), ..RunLength::default() }));
    let found = WholeRunAnswer::new(&evaluation.unwrap()).unwrap();
    let best = found.figures.best_checkpoint_s.unwrap();
    // Downtime is the same at any interval, to first order: what is left is least at the optimum of the whole.
    let at = |factor: f64| losses_at(&found.setting, best * factor).iter().sum::<f64>();
    assert!(at(1.0) < at(0.7) && at(1.0) < at(1.4));
}

#[test]
fn the_same_link_shows_the_same_future_and_another_seed_another() {
    let run = run(RunLength::default());
    let found = WholeRunAnswer::new(&evaluate(&run).unwrap()).unwrap();
    let html = |run: &Run, chosen| future(run, &found, chosen).to_html();
    assert_eq!(html(&run, None), html(&run, None));
    assert_ne!(html(&run, None), html(&run, Some(1)));
    assert_ne!(html(&run, None), html(&Run { tokens_total: Some(14e12), ..run.clone() }, None));
}

#[test]
fn durations_are_in_the_unit_that_people_use() {
    let texts = [0.5, 90.0, 600.0, 654.0, 7100.0, 11_160.0, 6_920_640.0].map(|time| duration(Seconds(time)));
    assert_eq!(texts, ["500 ms", "90.0 s", "10 min", "10.9 min", "118 min", "3.10 h", "80.1 d"]);
}

/// What an interruption costs times the interruptions that cost it is the loss, and both are those of its formula. In
/// simulated futures as many interruptions repeat work, and as many more strike a restart.
#[test]
fn what_each_interruption_costs_adds_up_to_the_loss() {
    let classes = [FailureClass::Vetted, FailureClass::Shared].map(Failures::Class);
    let lengths = classes.map(|class| RunLength { failures: Some(class), ..RunLength::default() });
    let given = RunLength { mtti_h: Some(7.0), restart_s: Some(3600.0), ..RunLength::default() };
    for length in lengths.into_iter().chain([given]) {
        let evaluation = evaluate(&run(length)).unwrap();
        let found = WholeRunAnswer::new(&evaluation).unwrap();
        for kind in [LossKind::RepeatedWork, LossKind::Restarts] {
            let (count, time) = found.each(kind);
            let loss = found.figures.losses.iter().find(|loss| loss.kind == kind).unwrap();
            assert!((count * time.0 / loss.seconds.0 - 1.0).abs() < 1e-12, "{kind:?}");
        }
        let (count, down) = found.each(LossKind::Restarts);
        let terms = explain(&evaluation, &found.setting, &found.figures);
        let of = |figure| terms.iter().find(|(known, _)| *known == figure).map(|(_, term)| term).unwrap();
        let restarts = of(WholeRunFigure::Loss(LossKind::Restarts));
        let part = |symbol: &str| restarts.parts.iter().find(|part| part.symbol == symbol).unwrap().value;
        assert_eq!(count, part("j"));
        assert!(restarts.parts.iter().any(|part| (part.value / down.0 - 1.0).abs() < 1e-12), "{:?}", restarts.parts);
        // All interruptions are those of the running job and those that strike a restart; what differs is named.
        let running = found.figures.interruptions - found.apart().map_or(0.0, |[_, count]| count);
        assert!((running / count - 1.0).abs() < 1e-9, "{running} {count}");
        assert_eq!(found.apart().is_some(), found.setting.rhythm.by_calendar);
        assert!(if found.setting.rhythm.by_calendar {
            count < found.figures.interruptions
        } else {
            (count / found.figures.interruptions - 1.0).abs() < 1e-12
        });
        let futures: Vec<_> = (0..300).map(|seed| whole_run::future(&found.setting, seed).0).collect();
        let mean = |of: fn(&RunEvent) -> bool| {
            futures.iter().flatten().filter(|event| of(event)).count() as f64 / futures.len() as f64
        };
        let (repeat, all) = (mean(|event| event.lost.0 > 0.0), mean(|_| true));
        assert!((repeat / count - 1.0).abs() < 0.03, "{repeat} {count}");
        assert!((all / found.figures.interruptions - 1.0).abs() < 0.03, "{all} {}", found.figures.interruptions);
    }
}
