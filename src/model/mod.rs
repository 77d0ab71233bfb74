//! What a model is made of: its shapes, its parameters and its FLOPs, before any layout.

mod architecture;
mod flops;
mod parameters;

pub use architecture::{Architecture, Biases, Mla, Moe, Norm, Vision};
pub use flops::{AttentionCount, head_forward_flops, layer_forward_flops, model_flops_per_token};
pub use parameters::{LayerElements, layer_elements};
