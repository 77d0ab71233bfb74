//! Models: shapes, parameters, FLOPs and the tensors that layers keep, whole and by pipeline stage.

mod adapter;
mod architecture;
mod conventions;
mod elements;
mod encoders;
mod flops;
mod heads;
mod images;
mod inventory;
mod kept;
mod kept_mixers;
mod kinds;
mod mixers;
mod parameters;
mod pattern;
mod pattern_text;
mod routed;
mod stage;
mod vision;

pub(crate) use adapter::joined;
pub use adapter::{Linear, Side, Target, linears};
pub use architecture::{
    Architecture, ArchitectureParts, Biases, Mla, MlaParts, Moe, MoeParts, Norm, QkNorm, TowerPlace, Vision,
    VisionEncoder, VisionParts,
};
pub(crate) use conventions::earlier_megatron;
pub use conventions::{CONVENTIONS, Convention, CountedBy};
pub(crate) use conventions::{as_nanotron, visited};
pub use elements::{LayerElements, layer_elements};
pub use flops::{AttentionCount, model_flops_per_token};
pub(crate) use flops::{
    head_forward_flops, layer_forward_flops, mean_keys, projection_flops, trained_flops, weight_gradient_flops,
};
pub use heads::Heads;
pub use images::{ImageSize, ImageSizes};
pub(crate) use inventory::layer_inventory;
pub use kept::{Cut, KeptTensor, Quantised, Role, Swiglu};
pub(crate) use kept_mixers::widths as key_value_widths;
pub use kinds::LayerKinds;
pub use mixers::{
    Compressed, CompressedParts, DeltaNet, DeltaNetParts, Indexer, IndexerParts, Kda, KdaParts, Mamba, MambaParts,
    SecondHeads, SecondHeadsParts,
};
pub(crate) use pattern::MAX_KINDS;
pub use pattern::{Ffn, LayerKind, Mixer, Pattern, PatternError};
pub(crate) use stage::stage_elements;
pub use stage::stage_range;
pub(crate) use vision::{vision_flops, vision_inventory};
