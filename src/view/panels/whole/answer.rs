//! The key figures of the whole run, each with its range.

use super::found::{Answer, duration};
use crate::core::message::{Message, verbatim};
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::{Seconds, group, show_count, significant};
use crate::core::whole_run::{Figure, Range};
use crate::view::node::markup::{Action, Node, aside, el, leaf, percent, strong, text};

const DAY: f64 = 86_400.0;

/// A number and its unit, which stands behind it in small type.
struct Value(String, Message);

/// A number of at most four digits at the largest unit that it fills.
fn scaled(value: f64, units: &[(f64, &'static str)]) -> Value {
    let unit = units.iter().find(|(size, _)| value >= size * 0.9995).or(units.last());
    let (size, name) = unit.copied().unwrap_or((1.0, ""));
    Value(significant(value / size, 3), name.into())
}

/// Days, of short runs hours or minutes.
fn calendar(days: f64) -> Value {
    let (per_day, name) = match days {
        _ if days >= 2.0 => (1.0, "days"),
        _ if days * 24.0 >= 2.0 => (24.0, "hours"),
        _ => (1440.0, "minutes"),
    };
    Value(significant(days * per_day, 3), name.into())
}

const HOURS: &[(f64, &str)] = &[(1e9, "billion"), (1e6, "million"), (1e4, "thousand"), (1.0, "")];
const ENERGY: &[(f64, &str)] = &[(1e9, "TWh"), (1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh")];
const CO2E: &[(f64, &str)] = &[(1e6, "Mt CO₂e"), (1e4, "kt CO₂e"), (1.0, "t CO₂e"), (1e-3, "kg CO₂e")];

/// The key figures; each opens its formula.
#[must_use]
pub fn answer(run: &Run, answer: &Answer, range: Option<&Range>) -> Node {
    let (figures, setting) = (&answer.figures, &answer.setting);
    let ends = range.map(|range| [range.low_days / figures.days, range.high_days / figures.days]);
    let energy = range.map(|range| [range.low_energy_kwh, range.high_energy_kwh].map(|kwh| kwh / figures.energy_kwh));
    let mut cells = vec![
        figure(t!("First step to last token"), Figure::Days, figures.days, calendar, ends, Message::default()),
        figure(t!("GPU-hours"), Figure::GpuHours, figures.gpu_hours, |hours| scaled(hours, HOURS), ends, spare(answer)),
    ];
    if let Some((cost, price)) = figures.cost.zip(run.price_per_gpu_hour) {
        let sign = figures.currency.clone();
        let money = |cost: f64| {
            let Value(number, unit) = scaled(cost, HOURS);
            Value(format!("{sign}{number}"), unit)
        };
        let note = t!("at {price} per GPU-hour", price = format!("{sign}{}", significant(price, 3)));
        cells.push(figure(t!("Cost"), Figure::Cost, cost, money, ends, note));
    }
    let lost = Seconds((1.0 - figures.productive) * figures.days * DAY);
    let share = |share: f64| Value(significant(share * 100.0, 3), t!("%"));
    let inverse = ends.map(|[low, high]| [1.0 / high, (1.0 / low).min(1.0 / figures.productive)]);
    cells.push(figure(
        t!("Productive time"),
        Figure::Productive,
        figures.productive,
        share,
        inverse,
        t!("{time} lost", time = duration(lost)),
    ));
    let often =
        figures.mtti_s.map_or_else(|| t!("nothing fails"), |mtti| t!("one every {time}", time = duration(mtti)));
    let count = |count: f64| {
        let digits = if count < 9.95 { format!("{count:.1}") } else { group(&format!("{count:.0}")) };
        Value(if count == 0.0 { "0".to_owned() } else { digits }, t!("expected"))
    };
    let interruptions = figures.interruptions;
    cells.push(figure(t!("Interruptions"), Figure::Interruptions, interruptions, count, None, often));
    let pue = t!("PUE {pue}", pue = significant(setting.pue, 3));
    cells.push(figure(t!("Energy"), Figure::Energy, figures.energy_kwh, |kwh| scaled(kwh, ENERGY), energy, pue));
    if let Some((co2e, factor)) = figures.co2e_t.zip(setting.grid) {
        let note = t!("{factor} kg per kWh", factor = significant(factor, 3));
        cells.push(figure(t!("Emissions"), Figure::Co2e, co2e, |tonnes| scaled(tonnes, CO2E), energy, note));
    }
    cells.into_iter().collect()
}

fn spare(answer: &Answer) -> Message {
    let count = answer.figures.spares;
    if count == 0 { t!("no spare nodes") } else { t!("with {count} spare nodes", count) }
}

/// A figure with its range, which `ends` gives as shares of it, and what else is said below.
fn figure(
    name: Message,
    of: Figure,
    value: f64,
    show: impl Fn(f64) -> Value,
    ends: Option<[f64; 2]>,
    note: Message,
) -> Node {
    let Value(number, unit) = show(value);
    let marks = ends.map_or_else(Node::none, |ends| {
        let [low, high] = ends.map(|end| (end - 0.5).clamp(0.0, 1.0));
        let place = format!("{};{}", percent("left", low), percent("width", high - low));
        Node::from_iter([el("u", &[("style", &place)], &[]), el("b", &[], &[])])
    });
    let range = ends.map_or_else(Message::default, |[low, high]| {
        let (Value(low, one), Value(high, other)) = (show(value * low), show(value * high));
        if one == other {
            t!("{low} to {high} {unit}", low, high, unit = other)
        } else {
            t!("{low} {from} to {high} {unit}", low, from = one, high, unit = other)
        }
    });
    let cells = [
        leaf("span", "name", name),
        el("span", &[("class", "value")], &[strong(verbatim(number)), text(" "), aside(unit)]),
        el("span", &[("class", "whisker")], &[marks]),
        leaf("span", "range", range),
        leaf("span", "range", note),
    ];
    el("button", &[("class", "key")], &cells).on(Action::ExplainWhole(of))
}

/// Tokens as people say them: `15.6 T`.
pub(super) fn tokens(count: f64) -> String {
    show_count(count)
}
