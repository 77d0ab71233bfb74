//! Kinds of GPUs for one budget: tokens a second, days and money of each, in a chart and a table.

use super::budget::{PRICE, budget_tokens, money, show_price, show_tokens, sign};
use crate::charts::drawing::Form;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::node::figure::Scope;
use crate::panels::plan::rows::layout as layout_of;
use crate::prelude::*;
use shardscope_core::report::report;
use shardscope_core::run::presets::GPUS;
use shardscope_core::search::FoundLayout;
use shardscope_core::search::kinds::{KindRow, on};
use shardscope_core::sort::sort_by;

/// A kind with its layout, and what the budget takes with it.
struct KindLine<'a> {
    id: &'static str,
    name: &'static str,
    found: &'a FoundLayout,
    /// Its Run with the budget and the prices as they are now.
    run: Run,
    hours: f64,
    /// Price of a GPU-hour, where one was given: none is assumed, so that no kind is ranked by what nobody said.
    price: Option<f64>,
}

impl<'a> KindLine<'a> {
    fn new(own: &Run, place: usize, found: &'a FoundLayout) -> Option<Self> {
        let choice = &GPUS.get(place)?.choice;
        let hours = budget_tokens(own) / found.figures.tokens_per_s_per_gpu / 3600.0;
        let price = own.price(choice.id);
        let kind = on(own, choice.id);
        let run = Run {
            tokens_total: kind.tokens_total,
            price_per_gpu_hour: kind.price_per_gpu_hour,
            length: kind.length,
            ..found.run.clone()
        };
        Some(Self { id: choice.id, name: choice.label, found, run, hours, price })
    }

    fn days(&self) -> f64 {
        self.hours / self.found.run.gpus as f64 / 24.0
    }

    fn cost(&self) -> Option<f64> {
        self.price.map(|price| price * self.hours)
    }

    /// Both ends of the days, by those of the step.
    fn days_range(&self) -> Option<[f64; 2]> {
        let step = report(&self.found.run).ok()?.step;
        let days = self.days();
        Some([days * (step.low_s / step.time_s), days * (step.high_s / step.time_s)])
    }

    /// Both ends of the cost, by those of the step.
    fn cost_range(&self) -> Option<[f64; 2]> {
        let step = report(&self.found.run).ok()?.step;
        let cost = self.cost()?;
        Some([cost * (step.low_s / step.time_s), cost * (step.high_s / step.time_s)])
    }
}

/// The comparison, as far as it is known; `done` once every kind has its row.
pub fn kinds(evaluation: &Evaluation, rows: &[KindRow], done: bool) -> Node {
    let own = &evaluation.scenario.run;
    if own.rl.algorithm.is_some() {
        return muted(
            "Kinds of GPUs are compared by training steps on tokens: steps of reinforcement learning generate as well.",
        );
    }
    let known = rows.iter().filter_map(|(place, found)| KindLine::new(own, *place, found.as_deref()?));
    let mut lines: Vec<KindLine> = known.collect();
    // The cheapest first, then those without a price, the fastest first.
    sort_by(&mut lines, |a, b| {
        let key = |line: &KindLine| line.cost().map_or((1, line.days()), |cost| (0, cost));
        let ((a, x), (b, y)) = (key(a), key(b));
        a.cmp(&b).then(x.total_cmp(&y))
    });
    let without = rows.iter().filter(|(_, found)| found.is_none());
    let without: Vec<&str> = without.filter_map(|(place, _)| Some(GPUS.get(*place)?.choice.label)).collect();
    let mut parts = vec![leaf("p", "lead", verdict(own, &lines, done)).say("role", "status")];
    if !lines.is_empty() {
        parts.push(chart(own, &lines));
        parts.push(data_table(evaluation, &lines));
    }
    if !without.is_empty() {
        let names = without.join(", ");
        parts.push(muted(t!("No layout of this run fits and runs on {names}.", names)));
    }
    parts.push(muted(
        "Each kind in the fastest layout found for it that fits and that this software runs, this run's own among \
            those tried, on as many GPUs: steps alone, without losses and spares. No price is fetched: type what you \
            pay.",
    ));
    parts.into_iter().collect()
}

/// The cheapest in words, and from which price another would be as cheap.
fn verdict(own: &Run, lines: &[KindLine], done: bool) -> Message {
    let priced: Vec<&KindLine> = lines.iter().filter(|line| line.price.is_some()).collect();
    let tokens = show_tokens(budget_tokens(own));
    let Some((first, cost)) = priced.first().and_then(|first| Some((first, first.cost()?))) else {
        return if done { unpriced(own, lines) } else { t!("Looking for layouts…") };
    };
    let cost = money(&sign(own), cost);
    let (gpus, gpu, days) = (own.gpus, first.name, significant(first.days(), 3));
    let layout = layout_of(first.found);
    let said = match priced.len() {
        1 => t!(
            "{tokens} tokens on {gpus} × {gpu} in its fastest layout, {layout}: {cost} in {days} days.",
            tokens,
            gpus,
            gpu,
            layout,
            cost,
            days
        ),
        count => t!(
            "Of {count} kinds with a price, on {gpus} GPUs each, {gpu} is the cheapest for {tokens} tokens in its \
                fastest layout, {layout}: {cost} in {days} days.",
            tokens,
            gpus,
            gpu,
            layout,
            cost,
            days,
            count
        ),
    };
    let more = if done { Message::default() } else { t!("Still looking.") };
    let parts = [said, as_cheap(own, &priced), cheaper(own, lines), assumed(own, lines), more];
    Message::joined(" ", parts.into_iter().filter(|part| !part.is_empty()))
}

/// What is known where no kind has a price: the one that takes the fewest days.
fn unpriced(own: &Run, lines: &[KindLine]) -> Message {
    let Some(first) = lines.first() else { return t!("No compared kind trains this run.") };
    let fewest = t!(
        "{tokens} tokens take the fewest days on {gpus} × {gpu} in its fastest layout, {layout}: {days} days. \
            You gave no price for a kind that trains it, so no costs are compared; Run assumes {price} a GPU-hour for \
            any kind.",
        price = show_price(&sign(own), PRICE),
        tokens = show_tokens(budget_tokens(own)),
        gpus = own.gpus,
        gpu = first.name,
        layout = layout_of(first.found),
        days = significant(first.days(), 3)
    );
    let yours = lines.iter().find(|line| own.gpu.base == Some(line.id) && line.id != first.id);
    let even = yours.map(|yours| {
        t!(
            "An hour of {gpu} may cost {times} times one of {yours} for the same bill.",
            gpu = first.name,
            times = even_ratio(yours, first),
            yours = yours.name
        )
    });
    Message::joined(" ", [fewest].into_iter().chain(as_fast(lines)).chain(even))
}

/// How many times a GPU-hour of `yours` one of `line` may cost where both bills are to be the same.
fn even_ratio(yours: &KindLine, line: &KindLine) -> String {
    significant(yours.hours / line.hours, 2)
}

/// The kinds whose range of the days overlaps that of the first, which takes the fewest: none is known to take more.
fn as_fast(lines: &[KindLine]) -> Option<Message> {
    let (first, rest) = lines.split_first()?;
    let [_, high] = first.days_range()?;
    let overlaps = |line: &&KindLine| line.days_range().is_some_and(|[low, _]| low <= high);
    let alike: Vec<&KindLine> = rest.iter().filter(overlaps).collect();
    let named = |line: &&&KindLine| t!("{gpu} ({days} days)", gpu = line.name, days = significant(line.days(), 3));
    let more = alike.len().checked_sub(NAMED).filter(|more| *more > 0).map(|count| t!("{count} more", count));
    let kinds: Vec<Message> = alike.iter().take(NAMED).map(|line| named(&line)).chain(more).collect();
    (!kinds.is_empty()).then(|| {
        t!(
            "Not known to take more days, since the ranges of the steps overlap: {kinds}.",
            kinds = Message::joined(", ", kinds)
        )
    })
}

/// The kinds whose range of the cost overlaps that of the cheapest: none of them is known to be dearer.
fn as_cheap(own: &Run, priced: &[&KindLine]) -> Message {
    let [first, rest @ ..] = priced else { return Message::default() };
    let Some([_, high]) = first.cost_range() else { return Message::default() };
    let overlaps = |line: &&&KindLine| line.cost_range().is_some_and(|[low, _]| low <= high);
    let named = |line: &&KindLine| Some(verbatim(format!("{} ({})", line.name, money(&sign(own), line.cost()?))));
    let kinds: Vec<Message> = rest.iter().filter(overlaps).filter_map(named).collect();
    if kinds.is_empty() {
        return Message::default();
    }
    t!("Not known to cost more, since the ranges of the costs overlap: {kinds}.", kinds = Message::joined(", ", kinds))
}

/// That the kind of the Run is not compared where it has no price: the cost that the head of the page shows is by an
/// assumed one.
fn assumed(own: &Run, lines: &[KindLine]) -> Message {
    let is_own = |line: &&KindLine| own.gpu.base == Some(line.id) && line.price.is_none();
    let Some(line) = lines.iter().find(is_own).filter(|_| own.price_per_gpu_hour.is_none()) else {
        return Message::default();
    };
    t!(
        "{gpu}, this run's, has no price and is not compared: the cost of the run assumes {price} a GPU-hour.",
        gpu = line.name,
        price = show_price(&sign(own), PRICE)
    )
}

/// From which price on each other kind would be the cheaper one, where one alone has a price: no price is fetched.
fn cheaper(own: &Run, lines: &[KindLine]) -> Message {
    let [first, rest @ ..] = lines else { return Message::default() };
    let Some(cost) = first.cost().filter(|_| rest.iter().all(|line| line.price.is_none())) else {
        return Message::default();
    };
    let below = |line: &KindLine| {
        verbatim(format!("{} < {}", line.name, show_price(&sign(own), two_decimals(cost / line.hours))))
    };
    let kinds: Vec<Message> = rest.iter().take(NAMED).map(below).collect();
    if kinds.is_empty() {
        return Message::default();
    }
    t!("Cheaper at a price per GPU-hour of: {kinds}.", kinds = Message::joined(", ", kinds))
}

/// Kinds that are named in the sentence: the fastest; the table has all.
const NAMED: usize = 4;

/// Days across, money upwards; GPU-hours where one kind or none has a price.
fn chart(own: &Run, lines: &[KindLine]) -> Node {
    let by_money = lines.iter().filter(|line| line.price.is_some()).count() > 1;
    let up = |line: &KindLine| if by_money { line.cost() } else { Some(line.hours) };
    let points: Vec<((f64, f64), &KindLine)> =
        lines.iter().filter_map(|line| Some(((line.days(), up(line)?), line))).collect();
    let name = if by_money { t!("Cost by days") } else { t!("GPU-hours by days") };
    let currency = sign(own);
    let across = PlotScale::from_zero(points.iter().map(|(at, _)| at.0));
    let across = PlotAxis::new(across, across.round(), |days| verbatim(significant(days, 3))).named("days");
    let scale = PlotScale::from_zero(points.iter().map(|(at, _)| at.1));
    let shown = |value: f64| if by_money { money(&currency, value) } else { show_count(value) };
    let up = PlotAxis::new(scale, scale.round(), |value| verbatim(shown(value)));
    let up = up.named(if by_money { t!("cost") } else { t!("GPU-hours") });
    let dots = points.iter().map(|(at, line)| {
        let (gpu, days, amount) = (line.name, significant(at.0, 3), shown(at.1));
        let title = if by_money {
            t!("{gpu}: {amount} in {days} days", gpu, amount, days)
        } else {
            t!("{gpu}: {amount} GPU-hours in {days} days", gpu, amount, days)
        };
        PlotMark::Dot(*at, Form::Dot, Ink::Accent, title)
    });
    let names = points.iter().map(|(at, line)| (*at, Ink::Text, verbatim(line.name)));
    let marks = dots.chain([PlotMark::Names(names.collect())]).collect();
    let picture = draw(&across, 180.0, &[Plot { up, marks }]).inline(&name);
    el("figure", &[("class", "chart")], &[caption(&name), picture])
}

fn data_table(evaluation: &Evaluation, lines: &[KindLine]) -> Node {
    let own = &evaluation.scenario.run;
    let currency = sign(own);
    let yours = lines.iter().find(|line| own.gpu.base == Some(line.id));
    let cost_of_own = yours.and_then(KindLine::cost);
    let cheapest = lines.first().filter(|line| line.price.is_some()).map(|line| line.id);
    let figure = |line: &KindLine, field: &'static str, shown: String| {
        inline(verbatim(shown)).reports(field, &Scope::of(&line.run, Some(own)))
    };
    Rows::of(lines)
        .column("GPU", |line| load("link", &line.run, t!("Load this run"), &[text(line.name)]))
        .column("price", |line| match line.price {
            Some(price) => text(verbatim(show_price(&currency, price))),
            None => faint("price not given"),
        })
        .column("cost", |line| match line.cost() {
            Some(cost) => figure(line, "budget.cost", money(&currency, cost)),
            None => text(verbatim("–")),
        })
        .column("days", |line| figure(line, "budget.days", significant(line.days(), 3)))
        .column("layout", |line| leaf("span", "wrap", layout_of(line.found)))
        .column("as cheap as yours below", |line| match (cost_of_own, yours) {
            (_, Some(yours)) if yours.id == line.id => text(verbatim("–")),
            (Some(cost), _) => {
                figure(line, "budget.even_price", show_price(&currency, two_decimals(cost / line.hours)))
            }
            // Without a price of yours: how many times it.
            (None, Some(yours)) => {
                let times = even_ratio(yours, line);
                el("span", &[], &[text(t!("{times} × the price of {gpu}", times, gpu = yours.name))])
                    .reports("budget.even_ratio", &Scope::of(&line.run, Some(own)))
            }
            (None, None) => text(verbatim("–")),
        })
        .column("GPU-hours", |line| figure(line, "budget.gpu_hours", show_count(line.hours)))
        .column("step", |line| figure(line, "step.time_s", show_seconds(line.found.figures.time_s)))
        .column("tokens per second", |line| {
            let rate = line.found.figures.tokens_per_s_per_gpu * line.found.run.gpus as f64;
            figure(line, "step.tokens_per_s", show_count(rate))
        })
        .marked(|line| Some(line.id) == cheapest)
        .table(t!("Kinds of GPUs for this budget"))
}

/// A price to the hundredth.
fn two_decimals(price: f64) -> f64 {
    (price * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::search::kinds::{GpuKinds, places};

    fn searched(run: &Run) -> Vec<KindRow> {
        let mut kinds = GpuKinds::new(run, &places(run));
        let mut rows = Vec::new();
        while let Ok(row) = kinds.step(1 << 20) {
            rows.extend(row);
        }
        rows
    }

    /// Costs of several kinds stand beside the cost of the Run itself, which is by an assumed price where its own kind
    /// has none: the sentence says so there alone.
    #[test]
    fn a_run_without_a_price_is_said_not_to_be_compared() {
        let run = Run { gpus: 16, global_batch: 64, tokens_total: Some(3e11), ..Run::default() };
        let other = run.with_price("a100-sxm-80gb", Some(1.2)).unwrap();
        let both = other.with_price("h100-sxm-80gb", Some(2.0)).unwrap();
        for (run, said) in [(&run, false), (&other, true), (&both, false)] {
            let html = kinds(&evaluate(run).unwrap(), &searched(run), true).to_html();
            assert_eq!(html.contains("has no price and is not compared"), said, "{html}");
            assert!(!said || html.contains("assumes $2.00 a GPU-hour"), "{html}");
        }
    }

    /// GPU-hours are days times GPUs times 24, and cost is price times hours; at the price that is named last both
    /// kinds cost the same.
    #[test]
    fn the_cheapest_is_the_one_of_least_hours_times_price_and_prices_named_make_even() {
        let run = Run { gpus: 16, global_batch: 64, tokens_total: Some(3e11), ..Run::default() };
        let run = run.with_price("h100-sxm-80gb", Some(2.0)).unwrap().with_price("a100-sxm-80gb", Some(0.01)).unwrap();
        let rows = searched(&run);
        let evaluation = evaluate(&run).unwrap();
        let html = kinds(&evaluation, &rows, true).to_html();
        assert!(html.contains("on 16 GPUs each, A100 80 GB is the cheapest"), "{html}");
        let line = |id: &str| {
            let (place, found) = rows.iter().find(|(place, _)| GPUS[*place].choice.id == id).unwrap();
            KindLine::new(&run, *place, found.as_deref().unwrap()).unwrap()
        };
        let (own, other) = (line("h100-sxm-80gb"), line("b200-sxm"));
        let seconds = 3e11 / (run.global_batch * run.seq_len) as f64 * own.found.figures.time_s.0;
        assert!((own.days() * 86_400.0 / seconds - 1.0).abs() < 1e-9);
        assert!((own.cost().unwrap() / (seconds / 3600.0 * 16.0 * 2.0) - 1.0).abs() < 1e-9);
        let even = show_price("$", two_decimals(own.cost().unwrap() / other.hours));
        assert!(html.contains(&even) && other.cost().is_none(), "{even}\n{html}");
        let priced = run.with_price("b200-sxm", Some(own.cost().unwrap() / other.hours)).unwrap();
        let even = KindLine::new(&priced, line("b200-sxm").id_place(), other.found).unwrap();
        assert!((even.cost().unwrap() / own.cost().unwrap() - 1.0).abs() < 1e-9);
    }

    /// Nobody gave the page's own GPU a price: it is ranked by none, and stands below each that has one, with its days.
    #[test]
    fn a_kind_without_a_given_price_is_not_ranked_by_one() {
        let run = Run { gpus: 16, global_batch: 64, ..Run::default() };
        let rows = searched(&run);
        let found = |id: &str| {
            let (_, found) = rows.iter().find(|(place, _)| GPUS[*place].choice.id == id).unwrap();
            found.as_deref().unwrap().clone()
        };
        let shown = |run: &Run| kinds(&evaluate(run).unwrap(), &rows, true).to_html();
        let none = shown(&run);
        assert!(none.contains("so no costs are compared; Run assumes $2.00") && !none.contains("cheapest"), "{none}");
        assert_eq!(none.matches("price not given").count(), rows.len());
        // At as many times the price as the steps differ, on as many GPUs, both bills are the same.
        let time = |id: &str| found(id).figures.time_s.0;
        let even = significant(time("h100-sxm-80gb") / time("b200-sxm"), 2);
        let words = format!("An hour of B200 180 GB may cost {even} times one of H100 80 GB for the same bill.");
        assert!(
            none.contains(&words) && none.contains(&format!("{even} × the price of H100 80 GB")),
            "{words}: {none}"
        );
        // However dear the one that has a price is, the others have none to be cheaper by.
        let dear = run.with_price("a100-sxm-80gb", Some(1e4)).unwrap();
        let html = shown(&dear);
        let at = |name: &str| html.find(&format!("{name}</button>")).unwrap_or_else(|| panic!("{name}: {html}"));
        assert!(at("A100 80 GB") < at("H100 80 GB") && !html.contains(">$2.00<"), "{html}");
        assert_eq!(html.matches("price not given").count(), rows.len() - 1);
        assert!(found("h100-sxm-80gb").figures.time_s < found("a100-sxm-80gb").figures.time_s);
    }

    /// At prices that make the costs even their ranges overlap, although the steps do not; at ten times that price of
    /// one kind they are far apart.
    #[test]
    fn costs_are_compared_by_ranges_of_costs_and_not_of_steps() {
        let run = Run { gpus: 16, global_batch: 64, ..Run::default() };
        let rows = searched(&run);
        let [fast, slow] = ["b200-sxm", "a100-sxm-80gb"].map(|id| {
            let (place, found) = rows.iter().find(|(place, _)| GPUS[*place].choice.id == id).unwrap();
            (id, *place, found.as_deref().unwrap())
        });
        let step = |found: &FoundLayout| report(&found.run).unwrap().step;
        assert!(step(fast.2).high_s < step(slow.2).low_s, "their steps do not overlap");
        let even = step(slow.2).time_s / step(fast.2).time_s;
        for (price, overlap) in [(even, true), (even * 10.0, false)] {
            let priced = run.with_price(slow.0, Some(1.0)).unwrap().with_price(fast.0, Some(price)).unwrap();
            let html = kinds(&evaluate(&priced).unwrap(), &rows, true).to_html();
            assert_eq!(html.contains("the ranges of the costs overlap"), overlap, "{price}: {html}");
        }
    }

    /// The same number of GPUs and tokens: days are as steps, and so are their ranges. Of any two kinds without a price
    /// the slower may be equal where its range begins before that of the faster ends.
    #[test]
    fn the_fewest_days_may_be_equal_where_ranges_of_the_steps_overlap() {
        let run = Run { gpus: 16, global_batch: 64, ..Run::default() };
        let rows = searched(&run);
        let evaluation = evaluate(&run).unwrap();
        let trained: Vec<&KindRow> = rows.iter().filter(|row| row.1.is_some()).collect();
        let step = |row: &KindRow| report(&row.1.as_deref().unwrap().run).unwrap().step;
        let mut seen = [0; 2];
        for (at, one) in trained.iter().enumerate() {
            for other in &trained[at + 1..] {
                let mut steps = [one, other].map(|row| step(row));
                steps.sort_by(|a, b| a.time_s.0.total_cmp(&b.time_s.0));
                let overlap = steps[1].low_s <= steps[0].high_s;
                let html = kinds(&evaluation, &[(*one).clone(), (*other).clone()], true).to_html();
                assert_eq!(
                    html.contains("Not known to take more days, since the ranges of the steps overlap"),
                    overlap,
                    "{html}"
                );
                seen[usize::from(overlap)] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }

    /// A press on a row makes that kind's run the page's: every price that was given is still given, also the one of
    /// the GPU that the page had.
    #[test]
    fn a_pressed_row_keeps_every_price_that_was_given() {
        let given = [("h100-sxm-80gb", 3.0), ("a100-sxm-80gb", 1.1), ("b200-sxm", 4.5)];
        let run = Run { gpus: 8, global_batch: 64, price_per_gpu_hour: Some(given[0].1), ..Run::default() };
        let run =
            run.with_price(given[1].0, Some(given[1].1)).unwrap().with_price(given[2].0, Some(given[2].1)).unwrap();
        let view = kinds(&evaluate(&run).unwrap(), &searched(&run), true);
        let loaded: Vec<_> = view
            .actions()
            .into_iter()
            .filter_map(|action| if let Action::Load(run) = action { Some(run) } else { None })
            .collect();
        assert!(loaded.len() > 3, "{}", loaded.len());
        for pressed in loaded {
            for (id, price) in given {
                assert_eq!(pressed.price(id), Some(price), "{id} after {:?}", pressed.gpu.base);
            }
        }
    }

    impl KindLine<'_> {
        fn id_place(&self) -> usize {
            GPUS.iter().position(|preset| preset.choice.id == self.id).unwrap()
        }
    }
}
