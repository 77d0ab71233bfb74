//! The formula behind a figure of the report, with this run's values.

mod step;
mod volume;
mod wires;

use super::Evaluation;
use crate::explain::{Term, Unit};
use crate::memory;
use crate::source::GPIPE;

/// A figure that the page can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Memory of a pipeline rank.
    Memory(usize),
    /// The step's time.
    Step,
    /// Its compute.
    Compute,
    /// Idle share.
    Bubble,
    /// Model FLOPs utilisation.
    Mfu,
    /// Tokens a second and GPU.
    Tokens,
    /// Visible communication.
    Exposed,
    /// A row of the overlap table.
    Overlap(usize),
}

impl Figure {
    /// As an attribute of the page writes it: `memory:0`.
    #[must_use]
    pub fn id(self) -> String {
        match self {
            Self::Memory(rank) => format!("memory:{rank}"),
            Self::Step => "step".to_owned(),
            Self::Compute => "compute".to_owned(),
            Self::Bubble => "bubble".to_owned(),
            Self::Mfu => "mfu".to_owned(),
            Self::Tokens => "tokens".to_owned(),
            Self::Exposed => "exposed".to_owned(),
            Self::Overlap(row) => format!("overlap:{row}"),
        }
    }

    /// The figure with this id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        let (name, number) = id.split_once(':').unwrap_or((id, "0"));
        let number = number.parse().ok()?;
        Some(match name {
            "memory" => Self::Memory(number),
            "step" => Self::Step,
            "compute" => Self::Compute,
            "bubble" => Self::Bubble,
            "mfu" => Self::Mfu,
            "tokens" => Self::Tokens,
            "exposed" => Self::Exposed,
            "overlap" => Self::Overlap(number),
            _ => return None,
        })
    }
}

/// How `figure` comes about; none where the report has no such figure.
#[must_use]
pub fn explain(evaluation: &Evaluation, figure: Figure) -> Option<Term> {
    match figure {
        Figure::Memory(rank) => memory::explain(&evaluation.scenario, &evaluation.loads, rank),
        Figure::Step => Some(step::step(evaluation)),
        Figure::Compute => Some(step::compute(evaluation)),
        Figure::Bubble => Some(bubble(evaluation)),
        Figure::Mfu => Some(step::mfu(evaluation)),
        Figure::Tokens => Some(step::tokens(evaluation)),
        Figure::Exposed => Some(wires::exposed(evaluation)),
        Figure::Overlap(row) => wires::row(evaluation, row),
    }
}

/// A time as an input.
fn seconds(symbol: &'static str, name: impl Into<String>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Seconds)
}

fn bubble(evaluation: &Evaluation) -> Term {
    let pipeline = &evaluation.report.pipeline;
    Term::given(
        "B",
        "idle share of the ranks' time",
        pipeline.bubble_fraction,
        Unit::Share,
    )
    .by(
        "1 - C/M",
        vec![
            seconds("C", "mean busy time of a rank", pipeline.ideal_s.0),
            seconds(
                "M",
                "first start to last end, simulated",
                pipeline.makespan_s.0,
            ),
        ],
    )
    .from(&GPIPE, "section 2.3, idle over total")
    .note(format!(
        "idle over ideal time, as Megatron-LM and the playbook count: {:.1} %",
        pipeline.bubble_over_ideal * 100.0
    ))
    .note(format!(
        "idle between a rank's first and last op, as the zero-bubble papers count: {:.1} %",
        pipeline.bubble_span * 100.0
    ))
}
