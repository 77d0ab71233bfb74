//! What can be changed in a step: its sliders, and where they stand.

use super::Step;

/// A value that can be changed.
#[derive(Clone, Copy)]
pub struct Slider {
    /// As formulas write it.
    pub symbol: &'static str,
    /// What it is.
    pub name: &'static str,
    /// The values that it takes, in order.
    pub values: &'static [u64],
    /// Index of the value that it starts at.
    pub start: usize,
}

impl Slider {
    /// The same over other values.
    pub(super) const fn over(self, values: &'static [u64], start: usize) -> Self {
        Self {
            values,
            start,
            ..self
        }
    }
}

/// A slider that is called `name` and written `symbol`.
pub(super) const fn slider(
    symbol: &'static str,
    name: &'static str,
    values: &'static [u64],
    start: usize,
) -> Slider {
    Slider {
        symbol,
        name,
        values,
        start,
    }
}

/// Tokens of a sequence.
pub(super) const SEQUENCE: Slider = slider(
    "s",
    "tokens of a sequence",
    &[2048, 4096, 8192, 16_384, 32_768],
    2,
);
/// Tensor-parallel ranks.
pub(super) const TENSOR: Slider = slider("t", "tensor-parallel ranks", &[1, 2, 4, 8], 1);

/// The positions of a step's sliders.
pub struct Dials {
    sliders: &'static [Slider],
    positions: Vec<usize>,
}

impl Dials {
    /// The sliders of `step` at `positions`; where one is missing or too large, its start or its last value.
    #[must_use]
    pub fn new(step: &Step, positions: &[usize]) -> Self {
        let each = step.sliders.iter().enumerate();
        let positions = each.map(|(at, slider)| {
            let position = positions.get(at).copied().unwrap_or(slider.start);
            position.min(slider.values.len().saturating_sub(1))
        });
        Self {
            sliders: step.sliders,
            positions: positions.collect(),
        }
    }
    /// Which value of each slider it is.
    #[must_use]
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }
    /// The value of the slider `symbol`; 1 where there is none.
    #[must_use]
    pub fn get(&self, symbol: &str) -> u64 {
        let mut each = self.sliders.iter().zip(&self.positions);
        let found = each.find(|(slider, _)| slider.symbol == symbol);
        found.map_or(1, |(slider, position)| slider.values[*position])
    }
    /// The same as a 32-bit count.
    #[must_use]
    pub fn small(&self, symbol: &str) -> u32 {
        u32::try_from(self.get(symbol)).unwrap_or(u32::MAX)
    }
}
