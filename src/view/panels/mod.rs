//! Panels and pages as view trees, one module per panel.

pub mod about;
pub mod accuracy;
pub mod changes;
pub mod compare;
pub mod cuts;
pub mod derived;
pub mod issues;
pub mod limits;
pub mod memory;
pub mod methods;
pub(crate) mod over_time;
pub mod overlap;
pub mod pipeline;
pub mod plan;
pub mod provenance;
pub mod published;
pub mod runs;
pub mod schedules;
pub mod step;
pub mod strip;
pub mod suggest;
pub mod sync;
pub mod unequal;
pub mod uneven;
pub mod waterfall;
pub mod words;
