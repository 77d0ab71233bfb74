//! Compute time: kernels by shape and GPU, each stage's passes, the optimizer, and the parts of a step.
//!
//! Time depends on neither pipelines nor traffic: waiting and communication arrive as numbers.

mod adapter;
mod attention;
mod compute;
mod elementwise;
mod families;
mod gemm;
mod kernel_class;
mod kernel_times;
mod kernels;
mod launches;
mod layer;
mod layer_time;
mod muon;
mod range;
mod rates;
mod recurrence;
mod roofline;
mod routed;
mod step;
mod vision;

pub use compute::{Clock, ComputeTime, step_end};
pub(crate) use elementwise::through_memory;
pub use families::{FAMILIES, FamilyRates, MOVED_BY_RUNS, family};
pub(crate) use gemm::gemm_formula;
pub use kernel_class::{KernelClass, NamedKernel};
pub use kernel_times::{KernelPass, KernelTimes};
pub(crate) use kernels::{FLASH_1, KERNELS, LAST_WAVE};
pub(crate) use launches::eager_gap_formula;
pub use launches::units_of_adapters;
pub(crate) use layer::{attention_seconds, gap};
pub use range::{
    BETWEEN, BETWEEN_LAYOUTS, FOUR_OF_FIVE, OTHER_HOST, OpenField, Products, RANGES, REACH, RangeOf, RangePart,
    RangeShare, SEEN, StepClass, StepRange, UNSEEN, between_layouts, is_new_ground, range, range_ends,
};
pub(crate) use rates::{
    ATTENTION_HALF, ELEMENTWISE, GROUPED, GROUPED_ON_MI350, HOST_PER_LAYER, HOST_PER_RING_STEP, LAUNCH, MXFP8_OF_AMD,
    OPERANDS, PERMUTE, QUANTISE, SPREAD, TUNED, UNDER_FSDP,
};
pub use rates::{ComputePeak, IN_TRAINING, Rates, STEP_END};
pub use roofline::{Kernel, kernels, roof};
pub(crate) use routed::routed_gap_formula;
pub use routed::{RoutedTime, paced_by, routed_host};
pub use step::{
    BubbleShares, MfuBy, Part, PartKind, RankKernels, RankParts, Step, StepParts, executed_flops, with_loader,
};
pub(crate) use step::{COUPLING, loader_floor, loading, stage_loading, together, token_rate, utilisation};
