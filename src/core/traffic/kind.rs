//! The kinds of communication of a step.

use crate::statics::named;
use serde::Serialize;

named! {
    /// A kind of communication, by the parallelism that sends it.
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Traffic: id {
        /// Gradients of data parallelism, and the weights that ZeRO-1 and 2 gather.
        Dp = "dp",
        /// Weights that ZeRO-3 gathers.
        Zero3 = "zero3",
        /// Activations of tensor parallelism.
        Tp = "tp",
        /// Activations and their gradients between pipeline stages.
        Pp = "pp",
        /// Keys and values of context parallelism.
        Cp = "cp",
        /// Tokens on their way to experts and back.
        Ep = "ep",
    }
}
