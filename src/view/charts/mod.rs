//! Geometry of pictures, and small pictures as SVG.

pub mod drawing;
pub mod figure;
pub mod ink;
pub mod lod;
pub mod palette;
pub mod prepared;
pub mod scatter;
pub mod shape;
pub mod strips;
pub mod strokes;
pub mod ticks;
pub mod timeline;
pub mod viewport;
