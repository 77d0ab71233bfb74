//! Messages between ranks, the time of each on its link, and the compute that can hide it.
//!
//! Traffic depends on neither time nor pipelines: the compute it may hide behind arrives as seconds.

mod beside;
mod calls;
mod collective;
mod dispatch;
mod gradients;
mod grid;
mod held;
mod kind;
mod overlap;
mod playbook;
mod ratios;
mod sequence;
mod shards;
mod volume;
mod waits;

pub use beside::{Beside, ByLink, CONTENTION, RoutedWindows, Sent, StageWindows, Wait};
pub(crate) use beside::{exposed_of, hidden_behind};
pub use calls::{CallCount, CallKind};
pub(crate) use calls::{forwards, model_ends, routed_forwards, stage_pairs, step_calls};
pub(crate) use collective::{ALL_TO_ALL, DISPATCH, FUSED_DISPATCH, LATENCY, on_wire};
pub use collective::{Fabric, INTER, INTRA};
pub use dispatch::Copies;
pub(crate) use dispatch::{DISPATCHERS, FP8_ELEMENT, is_once_a_node};
pub(crate) use gradients::{
    GradientSharing, at_update, between_groups, embedding_bytes, replica_bytes, shared_bytes, sharing,
};
pub use gradients::{StepMessages, step_messages, step_sync};
pub use grid::{GridCut, grid_cuts};
pub use held::HeldParameters;
pub use kind::Traffic;
pub use overlap::{CarriedBy, Direction, OverlapRow, PassTraffic};
pub(crate) use overlap::{OverlapTotals, overlap_rows};
pub(crate) use playbook::playbook_term;
pub use playbook::{PlaybookRatio, playbook_ratio};
pub use ratios::{flops_per_byte, ring_block_ratio};
pub use sequence::{SequenceCut, ring_buffer, ring_pieces, ring_steps, ring_work, sequence_cuts};
pub(crate) use shards::{shards, with_microbatch};
pub use volume::{MicrobatchTraffic, bandwidth, microbatch_traffic, ring_bandwidth};
pub(crate) use volume::{
    boundary_bytes, clone_bytes, context_bytes, expert_bytes, routed_layers, sent_states, sheet_bandwidth, tensor_bytes,
};
pub use waits::{StageWaits, stage_waits};
pub(crate) use waits::{layer_waits, paired_windows};
