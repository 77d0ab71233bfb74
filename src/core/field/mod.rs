//! Settings as data: the declaration of one is its whole story.
//!
//! `fields!` declares a struct that a person fills, `shape!` something that a preset has and a person changes part by
//! part (a model, a GPU). Each row is a doc line, which the form shows as the hint, and `name: type = default => row`,
//! the row built from its section (`model`, `cluster`, `parallelism`, `training`, `method`). From it come the part, its
//! resolution, key, type, range, name, unit and place in the form; links, JSON, the form and the tests walk the rows.
//!
//! To add a setting: a row, and the line that reads it. A new type of value implements [`Held`].

mod choice;
mod held;
mod macros;
mod row;
mod set;
mod shape;
mod text;
mod value;

pub use choice::{Choice, OneOf, one_of};
pub(crate) use held::at;
pub use held::{Held, Settable};
pub(crate) use macros::{fields, shape};
pub use row::{FieldOf, Group, Row, Slot, Steps};
pub(crate) use row::{cluster, method, model, parallelism, training};
pub use set::LONGEST_TEXT;
pub use shape::{MissingParts, PresetShape};
pub use text::plain;
pub use value::Value;
