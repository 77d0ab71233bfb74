//! What a model is made of: its shapes, its parameters, its FLOPs and what its layers keep, whole and by pipeline stage.

mod architecture;
mod conventions;
mod flops;
mod inventory;
mod parameters;
mod routed;
mod stage;
mod vision;

pub use architecture::{Architecture, Biases, Mla, Moe, Norm, QkNorm, Vision};
pub use conventions::{CONVENTIONS, Convention, as_nanotron, visited};
pub use flops::{AttentionCount, head_forward_flops, layer_forward_flops, model_flops_per_token};
pub use inventory::{Cut, Kept, Quantised, Role, layer_inventory};
pub use parameters::{LayerElements, layer_elements};
pub use stage::{stage_elements, stage_range};
pub use vision::vision_inventory;
