//! Seconds of one layer, by kind of work and pass.

/// Seconds of one layer and micro-batch on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LayerTime {
    /// The linears: forward, gradient of the input, gradient of the weight.
    pub linear: [f64; 3],
    /// Weight gradients of the column-cut linears: tensor-parallel reductions of the backward pass run beside them.
    pub column_weight: f64,
    /// The attention core, forward and backward.
    pub core: (f64, f64),
    /// Elementwise kernels, recurrences and expert permutation, forward and backward.
    pub elementwise: (f64, f64),
    /// Host overhead, forward and backward together.
    pub host: f64,
    /// Router, experts and what moves tokens between them; 0 where the FFN is dense.
    pub routed: [f64; 3],
    /// The experts that every token visits, forward and backward: a part of `routed`.
    pub shared: [f64; 2],
    /// Time that recomputing single modules would repeat.
    pub modules: ModuleTime,
}

/// Forward seconds of single modules, for recomputation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ModuleTime {
    pub norm: f64,
    /// The whole dense FFN.
    pub ffn: f64,
    /// The experts' activation function.
    pub expert_activation: f64,
    /// The experts that every token visits.
    pub shared_experts: f64,
    /// MLA's up-projections.
    pub mla_up: f64,
    /// The last product, whose output no backward pass reads.
    pub last: f64,
    /// All but the attention core and every second product.
    pub second: f64,
}

/// A third of the host's work launches the forward pass.
pub(crate) const FORWARD_HOST: f64 = 1.0 / 3.0;

impl LayerTime {
    /// Forward pass.
    pub fn forward(&self) -> f64 {
        self.linear[0] + self.core.0 + self.elementwise.0 + self.host * FORWARD_HOST
    }
    /// Backward pass without the weights' gradients.
    pub fn backward_input(&self) -> f64 {
        self.linear[1] + self.core.1 + self.elementwise.1 + self.host * (1.0 - FORWARD_HOST)
    }
    /// Gradients of the weights.
    pub fn backward_weight(&self) -> f64 {
        self.linear[2]
    }
    pub(super) fn add(&mut self, times: [f64; 3]) {
        for (sum, time) in self.linear.iter_mut().zip(times) {
            *sum += time;
        }
    }
    pub(super) fn add_column(&mut self, times: [f64; 3]) {
        self.add(times);
        self.column_weight += times[2];
    }
}
