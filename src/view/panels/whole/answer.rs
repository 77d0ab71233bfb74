//! The key figures of the whole run, each with its range.

use super::found::{WholeRunAnswer, duration};
use crate::node::figure::Scope;
use crate::panels::budget::{day_unit, few, plain, show_price, show_tokens, sign};
use crate::panels::ranged::WIDE;
use crate::prelude::*;
use shardscope_core::whole_run::{CalendarRange, Setting, WholeRunFigure};

const DAY: f64 = 86_400.0;

/// The unit of a figure and of its range: its size, the sign before the number, its name in small type behind it. The
/// size is 0 where each number has a prefix of its own.
struct Scale {
    size: f64,
    sign: String,
    name: Message,
}

impl Scale {
    /// The largest of `units` that `value` fills.
    fn of(value: f64, units: &[(f64, &'static str)]) -> Self {
        let unit = units.iter().find(|(size, _)| value >= size * 0.9995).or(units.last());
        let (size, name) = unit.copied().unwrap_or((1.0, ""));
        Self { size, sign: String::new(), name: name.into() }
    }

    /// Of a count or an amount of money, each end of whose range has its own prefix, as on the first screen.
    fn count(sign: String) -> Self {
        Self { size: 0.0, sign, name: Message::default() }
    }

    /// `value` in this unit; of two digits where its range is `wide`, as on the first screen.
    fn number(&self, value: f64, wide: bool) -> String {
        if self.size == 0.0 {
            let (less, shown) = few(value, wide);
            return format!("{less}{}{shown}", self.sign);
        }
        let number = value / self.size;
        let digits = match number {
            _ if number < 0.1 => format!("{number:.2}"),
            // A share below one does not read as all of it.
            _ if self.size == PERCENT && (99.95..100.0).contains(&number) => nearly_all(number),
            _ => plain(number, wide),
        };
        format!("{}{digits}", self.sign)
    }
}

const PERCENT: f64 = 0.01;

/// Percent of what is almost all, with as many decimals as the first digit of the rest has: 99.98.
fn nearly_all(percent: f64) -> String {
    let rest = (100.0 - percent).max(1e-4);
    let decimals = (1..5).find(|decimals| rest * 10f64.powi(*decimals) >= 0.95).unwrap_or(4);
    let decimals = usize::try_from(decimals).unwrap_or(4);
    format!("{:.decimals$}", 100.0 - rest)
}

const EXPECTED: &[(f64, &str)] = &[(1e6, "M"), (1.0, "expected")];
const ENERGY: &[(f64, &str)] = &[(1e9, "TWh"), (1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh")];
const CO2E: &[(f64, &str)] = &[(1e6, "Mt CO₂e"), (1e3, "kt CO₂e"), (1.0, "t CO₂e"), (1e-3, "kg CO₂e")];

/// The unit of a calendar.
fn calendar(days: f64) -> Scale {
    let (size, name) = day_unit(days);
    Scale { size, sign: String::new(), name: name.into() }
}

/// The key figures; each opens its formula.
pub fn answer(run: &Run, answer: &WholeRunAnswer, range: Option<&CalendarRange>) -> Node {
    let (figures, setting) = (&answer.figures, &answer.setting);
    let ends = range.map(|range| [range.low_days / figures.days, range.high_days / figures.days]);
    let energy = range.map(|range| [range.low_energy_kwh, range.high_energy_kwh].map(|kwh| kwh / figures.energy_kwh));
    let days = figures.days;
    let mut cells = vec![
        figure(t!("To the last token"), WholeRunFigure::Days, days, &calendar(days), ends, budget(run, setting)),
        figure(
            t!("GPU-hours"),
            WholeRunFigure::GpuHours,
            figures.gpu_hours,
            &Scale::count(String::new()),
            ends,
            spare(answer),
        ),
    ];
    if let Some((cost, price)) = figures.cost.zip(setting.price) {
        let money = Scale::count(sign(run));
        let name = if figures.spares > 0 { t!("Cost, with losses and spares") } else { t!("Cost, with losses") };
        cells.push(figure(name, WholeRunFigure::Cost, cost, &money, ends, priced(run, price)));
    }
    let lost = Seconds((1.0 - figures.productive) * days * DAY);
    let shares = range.map(|range| [range.low_productive, range.high_productive].map(|end| end / figures.productive));
    let share = Scale { size: PERCENT, sign: String::new(), name: t!("%") };
    let lost = t!("{time} lost", time = Scope::run().says("whole:lost", duration(lost)));
    cells.push(figure(t!("Productive time"), WholeRunFigure::Productive, figures.productive, &share, shares, lost));
    let often = figures.mtti_s.map_or_else(
        || t!("nothing fails"),
        |mtti| t!("one every {time}", time = Scope::run().says("whole:mtti_s", duration(mtti))),
    );
    let often = match answer.apart() {
        Some([running, count]) => {
            let running = Scope::run().says("whole:broken", plain(running, false));
            let count = Scope::run().says("whole:in_restarts", significant(count, 2));
            t!("{often}: {running} of the running job, {count} during a restart", often, running, count)
        }
        None => often,
    };
    let count = Scale::of(figures.interruptions, EXPECTED);
    cells.push(figure(t!("Interruptions"), WholeRunFigure::Interruptions, figures.interruptions, &count, None, often));
    let pue = t!("PUE {pue}", pue = significant(setting.pue, 3));
    let kwh = figures.energy_kwh;
    cells.push(figure(t!("Energy"), WholeRunFigure::Energy, kwh, &Scale::of(kwh, ENERGY), energy, pue));
    if let Some((co2e, factor)) = figures.co2e_t.zip(setting.grid) {
        let note = t!("{factor} kg per kWh", factor = significant(factor, 3));
        cells.push(figure(t!("Emissions"), WholeRunFigure::Co2e, co2e, &Scale::of(co2e, CO2E), energy, note));
    }
    cells.into_iter().collect()
}

fn budget(run: &Run, setting: &Setting) -> Message {
    let tokens = show_tokens(setting.tokens);
    if run.tokens_total.is_some() { t!("{tokens} tokens", tokens) } else { t!("{tokens} tokens, assumed", tokens) }
}

fn priced(run: &Run, price: f64) -> Message {
    let assumed = run.own_price().is_none();
    let price = Scope::run().says("price_per_gpu_hour", show_price(&sign(run), price));
    if assumed { t!("at {price} per GPU-hour, assumed", price) } else { t!("at {price} per GPU-hour", price) }
}

/// The notes on what of the budget is assumed, where there is no room below the figures.
pub fn assumed(run: &Run, answer: &WholeRunAnswer) -> Node {
    let tokens = run.tokens_total.is_none().then(|| budget(run, &answer.setting));
    let price = answer.setting.price.filter(|_| run.own_price().is_none()).map(|price| priced(run, price));
    let notes: Vec<Message> = tokens.into_iter().chain(price).collect();
    if notes.is_empty() { Node::none() } else { leaf("p", "assumed", Message::joined(" · ", notes)) }
}

fn spare(answer: &WholeRunAnswer) -> Message {
    let count = answer.figures.spares;
    match count {
        0 => t!("without spare nodes"),
        1 => t!("with 1 spare node"),
        count => t!("with {count} spare nodes", count),
    }
}

/// A figure with its range, which `ends` gives as shares of it, and a note below.
fn figure(name: Message, of: WholeRunFigure, value: f64, scale: &Scale, ends: Option<[f64; 2]>, note: Message) -> Node {
    let marks = ends.map_or_else(Node::none, |ends| {
        let [low, high] = ends.map(|end| (end - 0.5).clamp(0.0, 1.0));
        Node::from_iter([bracket(low, high), el("b", &[], &[])])
    });
    let wide = ends.is_some_and(|[low, high]| high - low >= WIDE);
    let range = ends.map(|ends| {
        let end =
            |name: &str, end: f64| Scope::run().says(format!("{}, {name}", of.id()), scale.number(value * end, wide));
        let [low, high] = [end("low", ends[0]), end("high", ends[1])];
        if scale.name.is_empty() {
            t!("{low} to {high}", low, high)
        } else {
            t!("{low} to {high} {unit}", low, high, unit = scale.name.clone())
        }
    });
    let number = strong(verbatim(scale.number(value, wide))).reports(of.id(), &Scope::run());
    let unit =
        if scale.name.is_empty() { Node::none() } else { Node::from_iter([text(" "), aside(scale.name.clone())]) };
    let cells = [
        leaf("span", "name", name),
        el("span", &[("class", "value")], &[number, unit]),
        el("span", &[("class", "whisker")], &[marks]),
    ];
    let lines = range.into_iter().chain([note]).map(|words| leaf("span", "range", words));
    let cells: Vec<Node> = cells.into_iter().chain(lines).collect();
    el("button", &[("class", "key")], &cells).on(Action::ExplainWhole(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_below_one_never_reads_as_all_of_it() {
        let share = Scale { size: PERCENT, sign: String::new(), name: t!("%") };
        let shown =
            [0.5, 0.998, 0.9992, 0.999_83, 0.999_996, 0.999_999_999, 1.0].map(|value| share.number(value, false));
        assert_eq!(shown, ["50.0", "99.8", "99.9", "99.98", "99.9996", "99.9999", "100"]);
    }
}
