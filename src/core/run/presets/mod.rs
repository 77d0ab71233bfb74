//! The published models and GPUs one can start from. Ids never change; corrected data gets a new id.

mod abilities;
mod gpus;
mod known;
mod mlperf;
mod models;
mod published;
mod shapes;
mod stacks;
mod tuned;

pub use abilities::{Abilities, CombinedCuts};
pub use gpus::{GPUS, GpuFamily, GpuPreset, gpu, gpu_called, ids_of};
pub use known::{PublishedAlike, all as all_published, published, published_alike};
pub use mlperf::MLPERF_RUNS;
pub use models::{MODELS, ModelPreset, by_maker, model};
pub use published::{Measured, PUBLISHED, PublishedRun, WHOLE_RUNS};
pub(crate) use stacks::Launches;
pub use stacks::{FSDP, MEGATRON_2024, MEGATRON_2025, Peers, STACKS, Software, Stack, Trainer};
pub use tuned::{TUNED, TunedRun};
