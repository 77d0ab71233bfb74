//! The cells of a map and their heads.

use crate::message::{Message, verbatim};
use crate::run::Choice;
use crate::run::presets::MODELS;
use crate::search::axes::Axes;
use crate::search::filter::LayoutAxis;
use crate::search::ranking::FoundLayout;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Presets near the sizes of the playbook's picture, about 1 B to 405 B parameters.
const SIZES: [&str; 6] = ["gpt-2-xl", "llama-3.1-8b", "llama-2-13b", "llama-3.1-70b", "gpt-3-175b", "llama-3.1-405b"];
/// The two axes of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub enum MapAxes {
    /// Two fields of the search.
    Fields(LayoutAxis, LayoutAxis),
    /// Model size by nodes.
    Sizes,
    /// (TP, PP, CP) by GPUs.
    Layouts,
}

impl Default for MapAxes {
    fn default() -> Self {
        Self::Fields(LayoutAxis::Pp, LayoutAxis::Tp)
    }
}

impl MapAxes {
    /// The axes across and down; the default ones where it has none.
    fn axes(self) -> (LayoutAxis, LayoutAxis) {
        match self {
            Self::Fields(across, down) => (across, down),
            Self::Sizes | Self::Layouts => (LayoutAxis::Tp, LayoutAxis::Pp),
        }
    }

    /// With `axis` across; where it was down, the two axes are exchanged.
    pub fn with_across(self, axis: LayoutAxis) -> Self {
        let (across, down) = self.axes();
        Self::Fields(axis, if axis == down { across } else { down })
    }

    /// With `axis` down; where it was across, the two axes are exchanged.
    pub fn with_down(self, axis: LayoutAxis) -> Self {
        let (across, down) = self.axes();
        Self::Fields(if axis == across { down } else { across }, axis)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MapCell {
    Open,
    /// No layout divides.
    Void,
    /// None is listed, some are tight.
    Tight,
    /// Every layout runs out of memory.
    Out,
    Best(Rc<FoundLayout>),
}

/// The head of a column or row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Head {
    Value(LayoutAxis, u64),
    /// Nodes or GPUs.
    Count(u64),
    /// A preset, by its place in the playbook's list.
    Model(usize),
    Sizes([u64; 3]),
}

impl Head {
    /// Its text; `axes` are those of the search.
    pub fn label(self, axes: &Axes) -> Message {
        match self {
            Self::Value(axis, value) => axis.label(axes, value),
            Self::Count(count) => verbatim(count.to_string()),
            Self::Model(at) => models().nth(at).map_or("", |model| model.label).into(),
            Self::Sizes([tp, pp, cp]) => verbatim(format!("{tp}, {pp}, {cp}")),
        }
    }
}

pub(super) fn models() -> impl Iterator<Item = Choice> {
    SIZES.iter().filter_map(|id| {
        let mut presets = MODELS.iter();
        let preset = presets.find(|preset| preset.choice.id == *id)?;
        Some(preset.choice)
    })
}

/// The map as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    pub picture: MapAxes,
    /// Heads of the columns.
    pub across: Vec<Head>,
    /// Heads of the rows.
    pub down: Vec<Head>,
    /// Row by row.
    pub cells: Vec<MapCell>,
    pub done: bool,
}

impl Cells {
    pub fn cell(&self, column: usize, row: usize) -> &MapCell {
        &self.cells[row * self.across.len() + column]
    }

    /// Share of the cells that is known.
    pub fn share(&self) -> f64 {
        let open = self.cells.iter().filter(|cell| matches!(cell, MapCell::Open));
        1.0 - open.count() as f64 / self.cells.len().max(1) as f64
    }
}
