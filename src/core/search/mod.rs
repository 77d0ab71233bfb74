//! The best layout, found and explained: which parallel sizes, ZeRO stage, micro-batch, schedule and recomputation make
//! a step shortest on a given cluster.
//!
//! A [`Space`] lists the layouts that divide the model and the GPUs; [`bound`] computes the least time and memory of
//! each; a [`Search`] computes the full report only of layouts that may still win. Its answer is the same as if it had
//! reported all of them. It is resumable: [`Search::step`] works for a budget and returns the progress, so that a page
//! stays responsive.

mod able;
mod all_bounds;
mod allowance;
pub mod answers;
pub mod auto;
pub mod axes;
pub mod better;
pub mod bound;
pub mod catalogue;
pub mod dates;
mod engine;
pub mod facts;
mod fastest;
pub mod filter;
pub mod front;
pub mod kinds;
mod known;
pub mod ladder;
mod layout_field;
pub mod map;
pub mod neighbours;
pub mod orders;
pub mod paired;
mod plan;
mod promise;
mod proposal;
mod ranking;
pub mod recipe;
mod request;
pub mod session;
mod space;
pub mod stages;
pub mod sweep;
mod why;

pub use crate::advice::{is_told, least_saved, least_told, untold};
pub use crate::pipeline::able::can_run;
pub use crate::run::presets::{PublishedAlike, published_alike};
pub use allowance::WORK;
pub use axes::{Axes, SplitRule};
pub use engine::{Search, SearchProgress};
pub use fastest::{Fastest, fastest, serves, serves_at};
pub use known::published_layouts;
pub use plan::{Plan, PlanRow, recommended, simpler, ties};
pub use promise::{LayoutPlace, Promise};
pub use proposal::Proposal;
pub use ranking::{Figures, FoundLayout, is_listed};
pub use request::{PlanRequest, TOP, measured_step, nothing_found, plan};
pub use space::{Block, Member, Space};
pub use why::{differences, is_in_differences, main_loss, stages_words, why};
