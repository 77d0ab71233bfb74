//! The whole run as rows of a table: figure, value, note.

use shardscope_core::report::Evaluation;
use shardscope_core::units::{Seconds, group, show_count, show_percent, significant};
use shardscope_core::whole_run::whole_run;
use shardscope_view::panels::whole::{duration, kind};

/// The rows, where the run has a token budget and ends.
pub(super) fn table(evaluation: &Evaluation) -> Option<Vec<Vec<String>>> {
    let (whole, _) = whole_run(evaluation).ok()?;
    let range = whole.range?;
    let row = |name: &str, value: String, note: String| vec![name.to_owned(), value, note];
    let (low, high) = (significant(range.low_days, 3), significant(range.high_days, 3));
    let days = significant(whole.days, 3);
    let of_days = |value: f64| {
        let [low, high] = [range.low_days, range.high_days].map(|days| show_count(value * days / whole.days));
        format!("{low} to {high}")
    };
    let mut rows = vec![
        row("tokens", show_count(whole.tokens), format!("{} steps", group(&format!("{:.0}", whole.steps)))),
        row("days", days, format!("{low} to {high} in four of five cases")),
        row(
            "GPU-hours",
            show_count(whole.gpu_hours),
            format!("{}; with {} spare nodes", of_days(whole.gpu_hours), whole.spares),
        ),
    ];
    if let Some(cost) = whole.cost {
        rows.push(row("cost", format!("{}{}", whole.currency, show_count(cost)), of_days(cost)));
    }
    let often = whole.mtti_s.map_or_else(String::new, |mtti| format!("one every {}", duration(mtti)));
    let (low, high) = (show_percent(range.low_productive), show_percent(range.high_productive));
    rows.push(row(
        "productive",
        show_percent(whole.productive),
        format!("{low} to {high}; MFU over the calendar {}", show_percent(whole.calendar_mfu)),
    ));
    rows.push(row("interruptions", significant(whole.interruptions, 3), often));
    let calendar = Seconds(whole.days * 86_400.0);
    let losses = whole.losses.iter().filter(|loss| loss.seconds.0 > 0.0);
    rows.extend(losses.map(|loss| row(kind(loss.kind), duration(loss.seconds), show_percent(loss.seconds / calendar))));
    if let Some((every, best)) = whole.checkpoint_s.zip(whole.best_checkpoint_s) {
        rows.push(row("checkpoint every", duration(every), format!("least loss at {}", duration(best))));
    }
    let (low, high) = (significant(range.low_energy_kwh / 1e3, 3), significant(range.high_energy_kwh / 1e3, 3));
    rows.push(row("energy, MWh", significant(whole.energy_kwh / 1e3, 3), format!("{low} to {high}")));
    if let Some(co2e) = whole.co2e_t {
        let ends = [range.low_energy_kwh, range.high_energy_kwh];
        let [low, high] = ends.map(|kwh| significant(co2e * kwh / whole.energy_kwh, 3));
        rows.push(row("t CO2e, location-based", significant(co2e, 3), format!("{low} to {high}")));
    }
    Some(rows)
}
