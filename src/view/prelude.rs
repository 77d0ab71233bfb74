//! Names that most files of the view use: messages, units, the run with its evaluation, and the builders of trees.

pub(crate) use crate::node::markup::{
    Action, Node, PanelAction, Rows, apply, aside, ask, bar_at, bracket, bullet, caption, choices, cited, cited_at,
    copied, el, faint, fold, footnote, grid, heading, inline, leaf, link_button, load, muted, paragraph, percent,
    prose, raw, scrolled, strong, subheading, table, text, title, toggled_fold,
};
pub(crate) use shardscope_core::memory::{Component, Verdict};
pub(crate) use shardscope_core::message::{Message, verbatim};
pub(crate) use shardscope_core::report::{Evaluation, Figure, Report, evaluate};
pub(crate) use shardscope_core::run::{OneOf, Run, Scenario, Schedule};
pub(crate) use shardscope_core::t;
pub(crate) use shardscope_core::units::{
    Bytes, MemoryUnit, SMALLEST_PRINTED, Seconds, number, show_at_most, show_bandwidth, show_bytes, show_count,
    show_gain, show_percent, show_seconds, significant,
};
