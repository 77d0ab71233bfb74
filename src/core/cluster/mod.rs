//! The machines: what one GPU can do and hold, and how GPUs are joined.

mod gpu;
mod groups;
mod mesh;
mod span;

pub use gpu::{Gpu, GpuParts};
pub use groups::{GroupKind, Members, RANK_COLUMNS};
pub use mesh::{Mesh, ParallelAxis, RankOrder, RankPlace};
pub use span::{Link, RankGroup, Span};
