//! What people see, before any page shows it: geometry of pictures (scales, ticks, what is visible and what is under the
//! pointer), small pictures as SVG, panels and pages of reference as view trees, the glossary, the plan.
//!
//! All of it is pure. Coordinates are CSS pixels unless a name says otherwise; `paint` turns the geometry of the large
//! pictures into strokes.

pub mod about;
pub mod accuracy;
pub mod action;
pub mod changes;
pub mod compare;
pub mod cuts;
pub mod derived;
pub mod drawing;
pub mod figure;
pub mod glossary;
pub mod ink;
pub mod issues;
pub mod limits;
pub mod lod;
pub mod markup;
pub mod memory;
pub mod mesh;
pub mod methods;
pub mod node;
pub mod over_time;
pub mod overlap;
pub mod paint;
pub mod palette;
pub mod patch;
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
