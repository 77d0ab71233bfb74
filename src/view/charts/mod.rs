//! Geometry of pictures, and small pictures as SVG.

pub(crate) mod drawing;
pub mod figure;
pub(crate) mod ink;
pub(crate) mod lod;
pub(crate) mod plot;
pub mod prepared;
pub mod shape;
pub(crate) mod strips;
pub mod strokes;
pub(crate) mod ticks;
pub mod timeline;
pub(crate) mod viewport;
