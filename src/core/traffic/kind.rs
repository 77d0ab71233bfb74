//! The kinds of communication of a step.

use serde::Serialize;

/// A kind of communication, by the parallelism that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Traffic {
    /// Gradients of data parallelism, and the weights that ZeRO-1 and 2 gather.
    Dp,
    /// Weights that ZeRO-3 gathers.
    Zero3,
    /// Activations of tensor parallelism.
    Tp,
    /// Activations and their gradients between pipeline stages.
    Pp,
    /// Keys and values of context parallelism.
    Cp,
    /// Tokens on their way to experts and back.
    Ep,
}

impl Traffic {
    /// Id in reports.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Dp => "dp",
            Self::Zero3 => "zero3",
            Self::Tp => "tp",
            Self::Pp => "pp",
            Self::Cp => "cp",
            Self::Ep => "ep",
        }
    }
}
