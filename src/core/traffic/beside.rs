//! Communication beside compute: what hides, what does not, and what hidden traffic slows the compute by.
//!
//! One rule for the overlap table, the gradients on the timeline and the step: of `comm` seconds on the wire beside a
//! `window` of compute, `H = min(comm, φ window)` hide; `comm - H` do not, and `x H` of the compute are lost to
//! traffic that runs on the same multiprocessors and memory. A second of a micro-batch's compute hides one second of
//! its messages, of whichever kind: tensor and context parallel first, then experts, then `ZeRO`, which can wait. So a
//! shorter kernel never makes a pass longer.

use crate::explain::Quantity;
use crate::source::{Cited, FUJII_2024};
use crate::units::{Bytes, Seconds, by_field};

/// Traffic of a pass and the compute beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// Time on the wire.
    pub comm: Seconds,
    /// Compute that it may hide behind.
    pub window: Seconds,
    /// Time that does not hide.
    pub not_hidden: Seconds,
    /// Time by which it slows the compute beside it.
    pub slows: Seconds,
}

impl Beside {
    /// `comm` beside `window`, of which `share` may hide it; a hidden second slows the compute by `tax` seconds. Where
    /// nothing may hide there is no window.
    pub fn new(comm: Seconds, window: Seconds, share: f64, tax: f64) -> Self {
        if comm.0 <= 0.0 {
            return Self::default();
        }
        let window = if share > 0.0 { window } else { Seconds::ZERO };
        let hidden = hidden_behind(comm.0, window.0, share).max(0.0);
        Self { comm, window, not_hidden: Seconds(left_over(comm.0, hidden)), slows: Seconds(slowed(hidden, tax)) }
    }
    /// Nothing runs beside it.
    pub fn alone(comm: Seconds) -> Self {
        Self::new(comm, Seconds::ZERO, 0.0, 0.0)
    }
    /// Seconds by which the step is longer.
    pub fn exposed(self) -> Seconds {
        self.not_hidden + self.slows
    }
    /// Seconds of compute that hide it: nothing else hides behind them.
    pub fn hidden(self) -> Seconds {
        self.comm - self.not_hidden
    }
}

/// Seconds of `comm` that hide behind `share` of a `window` of compute.
pub(crate) fn hidden_behind<Q: Quantity>(comm: Q, window: Q, share: Q) -> Q {
    comm.min(window * share)
}

/// Seconds of `comm` that do not hide.
fn left_over<Q: Quantity>(comm: Q, hidden: Q) -> Q {
    comm - hidden
}

/// Seconds by which `hidden` traffic slows the compute beside it, `tax` a second.
fn slowed<Q: Quantity>(hidden: Q, tax: Q) -> Q {
    tax * hidden
}

/// Seconds by which `comm`, of which `hidden` hide, makes a step longer.
pub(crate) fn exposed_of<Q: Quantity>(comm: Q, hidden: Q, tax: Q) -> Q {
    left_over(comm, hidden) + slowed(hidden, tax)
}

by_field!(Beside { comm, window, not_hidden, slows });

/// Share of hidden gradient and `ZeRO` traffic that its compute is slowed by. Fitted with the other constants, mostly
/// by the ZeRO-3 rows of llm-foundry and `InternEvo`; published slow-downs run from 2 % to 50 %.
pub const CONTENTION: Cited<f64> = Cited::fitted(0.4, &FUJII_2024, "fitted with the throughput rows");

/// The compute of one micro-batch on a stage that communication may run beside, and its passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageWindows {
    /// Weight gradients of the column-cut linears.
    pub column_weight: Seconds,
    /// Attention core, forward.
    pub attention_forward: Seconds,
    /// Attention core, backward.
    pub attention_backward: Seconds,
    /// The linears, forward and backward.
    pub linear: Seconds,
    /// The whole forward pass.
    pub forward: Seconds,
    /// The whole backward pass.
    pub backward: Seconds,
    /// Kernels of the routed layers.
    pub routed: RoutedWindows,
}

/// Kernels of the routed layers of a stage, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoutedWindows {
    pub layers: f64,
    /// Attention and norms, forward and backward.
    pub attention: [f64; 2],
    /// Router, experts and permutation: forward, gradient of the input, gradient of the weight.
    pub experts: [f64; 3],
    /// Shared experts, forward and backward.
    pub shared: [f64; 2],
}

/// Bytes that a GPU sends, and their time on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// Bytes that a GPU sends.
    pub bytes: Bytes,
    /// Time on the wire.
    pub comm: Seconds,
}

by_field!(Sent { bytes, comm });

/// What a GPU sends over each kind of link, and how long that is on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByLink {
    /// Over the links of its node.
    pub node: Sent,
    /// Over its network card.
    pub card: Sent,
}

by_field!(ByLink { node, card });

/// One kind of message, of a micro-batch or of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wait {
    /// Bytes that a GPU sends.
    pub bytes: Bytes,
    /// Its traffic in the forward pass.
    pub forward: Beside,
    /// Its traffic in the backward pass.
    pub backward: Beside,
    /// The part of it that is gradients and weights of routed experts, which have data-parallel groups of their own.
    pub experts: Sent,
}

impl Wait {
    /// Both passes together.
    pub fn both(self) -> Beside {
        self.forward + self.backward
    }
    /// Seconds by which the passes are longer.
    pub fn exposed(self) -> Seconds {
        self.both().exposed()
    }
}

by_field!(Wait { bytes, forward, backward, experts });

#[cfg(test)]
mod tests {
    use super::*;

    /// `X = W - H + x H` with `H = min(W, φ w)`, by hand: 10 s beside 5 s of which 0.8 may hide, 0.4 a hidden second.
    #[test]
    fn what_does_not_hide_and_what_slows_are_apart() {
        let part = Beside::new(Seconds(10.0), Seconds(5.0), 0.8, 0.4);
        assert_eq!((part.not_hidden.0, part.slows.0), (6.0, 1.6));
        let hidden = Beside::new(Seconds(1.0), Seconds(5.0), 0.8, 0.4);
        assert_eq!((hidden.not_hidden.0, hidden.slows.0), (0.0, 0.4));
        assert_eq!(Beside::alone(Seconds(3.0)).exposed().0, 3.0);
        // Compute that may hide nothing is no compute to hide behind.
        let none = Beside::new(Seconds(10.0), Seconds(5.0), 0.0, 0.4);
        assert_eq!((none.window.0, none.not_hidden.0), (0.0, 10.0));
    }
}
