//! Pictures as pure geometry: scales, ticks, what is visible, what is under the pointer, and the same in words.
//!
//! Nothing here draws. Coordinates are CSS pixels unless a name says otherwise; `paint` turns a scene into strokes.

pub mod about;
pub mod accuracy;
pub mod changes;
pub mod compare;
pub mod cuts;
pub mod derived;
pub mod drawing;
pub mod glossary;
pub mod issues;
pub mod lod;
pub mod markup;
pub mod memory;
pub mod mesh;
pub mod methods;
pub mod over_time;
pub mod overlap;
pub mod palette;
pub mod pipeline;
pub mod plan;
pub mod prepared;
pub mod provenance;
pub mod published;
pub mod scatter;
pub mod schedules;
pub mod shape;
pub mod strip;
pub mod strips;
pub mod strokes;
pub mod sync;
pub mod ticks;
pub mod timeline;
pub mod unequal;
pub mod uneven;
pub mod viewport;
pub mod words;
