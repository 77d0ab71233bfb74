//! Formulas of the whole run: over numbers they are its figures, over symbols what the drawer shows.

use super::failures::NODE;
use crate::explain::Quantity;

/// Seconds of an hour.
const HOUR: f64 = 3600.0;
/// Joules of a kilowatt-hour.
const JOULES_OF_KWH: f64 = 3.6e6;

/// Time of all steps that rollbacks repeat or skip.
pub fn rolled_back<Q: Quantity>(step: Q, rollbacks: Q, steps: Q, straggler: Q) -> Q {
    step * (rollbacks * steps * straggler)
}

/// Time by which stragglers make `steps` longer.
pub fn stragglers<Q: Quantity>(steps: Q, straggler: Q) -> Q {
    steps * straggler - steps
}

/// Time of all evaluations.
pub fn evaluating<Q: Quantity>(one: Q, count: Q) -> Q {
    one * count
}

/// Time that saves block while `work` is done.
pub fn saving<Q: Quantity>(save: Q, work: Q, every: Q) -> Q {
    save * (work / every)
}

/// Share of a save in the time between interruptions below which [`best_interval`] is Young's, longer by 1.5e-5 of
/// itself at most: the exact formula, computed as it is written, takes 1 from what is 1 to rounding.
const SHORT_SAVE: f64 = 1e-9;

/// Training between two saves that loses least, `τ*`: where [`productive`] has no slope over it.
pub fn best_interval<Q: Quantity>(mtti: Q, save: Q) -> Q {
    if save.value() / mtti.value() < SHORT_SAVE { young(mtti, save) } else { mtti * (save / mtti).one_plus_w0() }
}

/// First order of [`best_interval`] in the share of a save (Young 1974).
pub fn young<Q: Quantity>(mtti: Q, save: Q) -> Q {
    (mtti * save * 2.0).root()
}

/// Training between two saves, as whole steps.
pub fn between_saves<Q: Quantity>(step: Q, steps: Q) -> Q {
    step * steps
}

/// Interruptions of the running job: each of the segments of `every` with its `save` fails `e^((τ+δ)/M) - 1` times.
pub fn broken<Q: Quantity>(work: Q, every: Q, save: Q, mtti: Q) -> Q {
    work / every * ((every + save) / mtti).growth()
}

/// Downtime of an interruption whose restarts another one begins anew: `restarts` is a restart over the time between
/// interruptions.
pub fn begun_anew<Q: Quantity>(mtti: Q, restarts: Q) -> Q {
    mtti * restarts.growth()
}

/// Share of the calendar that trains, ETTR.
pub fn productive<Q: Quantity>(every: Q, save: Q, mtti: Q, downtime: Q, lag: Q) -> Q {
    every / ((mtti + downtime + lag) * ((every + save) / mtti).growth())
}

/// GPU-hours of the calendar, spare nodes included.
pub fn gpu_hours<Q: Quantity>(gpus: Q, spares: Q, calendar: Q) -> Q {
    (gpus + spares * NODE) * calendar / Q::number(HOUR)
}

/// Mean time between interruptions of nodes that are interrupted `rate` times in 1,000 days.
pub fn time_to_interrupt<Q: Quantity>(nodes: Q, rate: Q) -> Q {
    Q::number(86_400_000.0) / (nodes * rate)
}

/// Energy of the site in kWh: watts of the nodes over the seconds of steps and over those without kernels.
pub fn energy<Q: Quantity>(working: [Q; 2], idle: [Q; 2], pue: Q) -> Q {
    let [working_w, working_s] = working;
    let [idle_w, idle_s] = idle;
    (working_w * working_s + idle_w * idle_s) / Q::number(JOULES_OF_KWH) * pue
}

/// Tonnes of CO₂ equivalent of an energy in kWh.
pub fn emitted<Q: Quantity>(kwh: Q, kg_per_kwh: Q) -> Q {
    kwh * kg_per_kwh / Q::number(1000.0)
}
