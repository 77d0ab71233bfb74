//! Orders of the pipeline, their times and their activations: for the report, the pictures and the headless `schedule`
//! command.
//!
//! A [`Spec`] (schedule id and options) becomes an [`Order`] (for each rank the list of what it runs) by one of the
//! generators in [`families`]; the one simulator, [`simulate()`], times any order under any [`Durations`]; [`Stats`]
//! measures the timeline. Formulas of papers are nowhere used for a result, only in the tests; what a step takes of a
//! pipeline that never drains is the steady state of the same rules ([`steady`]).
//!
//! Conventions: `p` ranks, `m` micro-batches, `v` chunks a rank, `S` global stages; tF forward, tB gradient of the
//! input **only**, tW gradient of the weight, all of one chunk and one micro-batch.

pub mod able;
pub mod balance;
pub mod certify;
pub mod dealing;
pub mod durations;
pub mod families;
pub mod fault;
mod fields;
mod leap;
mod machine;
pub mod needs;
pub mod op;
pub mod order;
pub mod registry;
pub mod release;
pub mod request;
pub mod row;
mod rows;
pub mod simulate;
pub mod spec;
pub mod stats;
pub mod steady;
pub mod sync;
pub mod torch_csv;
pub mod trace;

pub use durations::Durations;
pub use fault::OrderFault;
pub use op::{Half, Op, OpKind, OrderItem, TimedOp};
pub use order::{Away, Order, StagePlacement, Way};
pub use registry::{Built, HostWays, ScheduleInfo, Spec};
pub use row::RankRow;
pub use rows::{SCHEDULES, schedule};
pub use simulate::{Spans, Timeline, simulate, time};
pub use spec::{build, warnings};
pub(crate) use spec::{has_order, preview};
pub use stats::{Stats, measure};
pub use trace::Trace;
