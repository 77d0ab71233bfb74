//! When and where an export was made.

use crate::link::encode;
use shardscope_core::report::Evaluation;
use shardscope_core::run::Run;
use shardscope_core::units::MemoryUnit;
use shardscope_view::words::runs_out;

/// Says that a run does not fit, as every exported file says it.
pub(super) fn out_of_memory(evaluation: &Evaluation) -> Option<String> {
    runs_out(&evaluation.report.memory, MemoryUnit::Gib).map(|words| words.to_string())
}

/// When and where an export was made: the calculator itself has neither clock nor address.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp<'a> {
    /// As it is to be printed: "2026-11-21".
    pub date: &'a str,
    /// Address of the page, without its fragment; empty where there is none.
    pub address: &'a str,
}

impl Stamp<'_> {
    /// "Shardscope 1.0.0, 2026-11-21".
    pub fn made(&self) -> String {
        let comma = if self.date.is_empty() { "" } else { ", " };
        format!("Shardscope {}{comma}{}", env!("CARGO_PKG_VERSION"), self.date)
    }

    /// First lines of a file of settings: its run by name, when it was made and `what` it is, the link, and that it
    /// does not fit.
    pub(super) fn head(&self, evaluation: &Evaluation, what: &str) -> Vec<String> {
        let run = &evaluation.scenario.run;
        let name = format!("{} on {} x {}", run.model.title(), run.gpus, run.gpu.title());
        let mut lines = vec![name, format!("{}: {what}", self.made()), self.link(run)];
        lines.extend(out_of_memory(evaluation));
        lines
    }

    pub fn link(&self, run: &Run) -> String {
        format!("{}#{}", self.address, encode(run))
    }
}
