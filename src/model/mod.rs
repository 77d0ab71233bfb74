//! What a model is made of: its shapes, its parameters and its FLOPs, whole and by pipeline stage.

mod architecture;
mod flops;
mod parameters;
mod stage;

pub use architecture::{Architecture, Biases, Mla, Moe, Norm, Vision};
pub use flops::{AttentionCount, head_forward_flops, layer_forward_flops, model_flops_per_token};
pub use parameters::{LayerElements, layer_elements};
pub use stage::{StageFlops, stage_elements, stage_flops, stage_range};
