//! The whole run: from the first step to the last token.
//!
//! Calendar = start-up + steps by phases + evaluations + saves + repeated work + downtime. The step comes from the
//! report; nothing here changes it, and a plain report computes nothing of it.

mod calendar;
mod effective;
mod energy;
mod explain;
mod failures;
mod formulas;
mod future;
mod inverse;
mod optimal;
mod power;
mod ramp;
mod random;
mod request;
mod setting;
mod spares;
mod spread;
mod whole;

pub use calendar::{Calendar, Loss, LossKind};
pub use effective::{Rhythm, best_interval, flat_range};
pub use energy::{Energy, activity};
pub use explain::{WholeRunFigure, best_intervals, explain};
pub use failures::time_to_interrupt;
pub use future::{RunEvent, future, seed};
pub use inverse::{Dates, Deadline, MOST_DAYS, deadline, tokens_in};
pub use optimal::{compute_optimal, optimal_tokens};
pub use power::{Activity, node_power};
pub use ramp::{Ramp, RampedSteps};
pub use random::{Random, quantile};
pub use request::{WholeRunReply, answer};
pub use setting::{Setting, evaluation_time, time_to_train};
pub use spares::{spares, suffices, under_repair};
pub use spread::{CalendarSpread, Doubt, Draw, draws, spread};
pub use whole::{CalendarRange, RangeFrom, WholeRun, figures, notes, range, setting, whole_run};
