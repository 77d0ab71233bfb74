//! How long compute takes: kernels by shape and GPU, each stage's passes, the optimizer, and what a step is made of.
//!
//! Time knows neither pipelines nor traffic: waiting and communication arrive as numbers.

mod adapter;
mod attention;
mod compute;
mod elementwise;
mod families;
mod gemm;
mod kernels;
mod layer;
mod muon;
mod range;
mod rates;
mod recurrence;
mod roofline;
mod step;
mod vision;

pub use compute::{Clock, ComputeTime, STEP_END, step_end};
pub use families::{FAMILIES, Family, family};
pub use kernels::{FLASH_1, KERNELS, KernelRate, LAST_WAVE};
pub use muon::seconds_a_parameter;
pub use range::{Products, RANGES, Range, RangeOf, range};
pub use rates::{
    ATTENTION_HALF, ELEMENTWISE, GROUPED, HOST_PER_EXPERT_LAYER, HOST_PER_LAYER,
    HOST_PER_RING_STEP, IN_TRAINING, LAUNCH, LAUNCH_EXPERTS, OPERANDS, PERMUTE, Peak, QUANTISE,
    Rates, SPREAD, TUNED, UNDER_FSDP,
};
pub use recurrence::MAMBA;
pub use roofline::{Kernel, kernels, roof};
pub use step::{
    COUPLING, MfuBy, PARTS, Part, Step, StepParts, executed_flops, loader_floor, with_loader,
};
