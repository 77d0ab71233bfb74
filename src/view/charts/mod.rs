//! Geometry of pictures, and small pictures as SVG.

pub mod drawing;
pub mod figure;
pub mod ink;
pub mod lod;
pub(crate) mod plot;
pub mod prepared;
pub mod shape;
pub(crate) mod strips;
pub mod strokes;
pub mod ticks;
pub mod timeline;
pub mod viewport;
