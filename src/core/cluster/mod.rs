//! The machines: what one GPU can do and hold, and how GPUs are joined.

mod gpu;
mod groups;
mod mesh;

pub use gpu::Gpu;
pub use groups::{GroupKind, Members, RankRow};
pub use mesh::{Axis, Group, Link, Mesh, Place, RankOrder, Span};
