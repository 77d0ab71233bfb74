//! Settings of a step: its sliders and their places.

use crate::prelude::*;

/// A value that can be changed.
#[derive(Clone, Copy)]
pub struct Slider {
    /// As formulas write it.
    pub symbol: &'static str,
    pub name: &'static str,
    /// The values that it takes, in order.
    pub values: &'static [u64],
    /// Index of the value that it starts at.
    pub start: usize,
    /// The name that is shown in place of the value at an index; none: the value.
    pub name_of: Option<fn(usize) -> &'static str>,
    /// The next step of the lesson opens with the slider where it is; else every step opens with its own values, which
    /// its text and its challenge are made for.
    pub is_kept: bool,
}

impl Slider {
    /// The slider over other values.
    pub(super) const fn over(self, values: &'static [u64], start: usize) -> Self {
        Self { values, start, ..self }
    }
    /// The slider, which stays where it is from step to step of its lesson.
    pub(super) const fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }
    /// The slider with a name for each value.
    pub(super) const fn called(self, name_of: fn(usize) -> &'static str) -> Self {
        Self { name_of: Some(name_of), ..self }
    }
}

/// A slider that is called `name` and written `symbol`.
pub(super) const fn slider(symbol: &'static str, name: &'static str, values: &'static [u64], start: usize) -> Slider {
    Slider { symbol, name, values, start, name_of: None, is_kept: false }
}

pub(super) const SEQUENCE: Slider = slider("s", "tokens of a sequence", &[2048, 4096, 8192, 16_384, 32_768], 2);
pub(super) const TENSOR: Slider = slider("t", "tensor-parallel ranks", &[1, 2, 4, 8], 1);

/// A slider as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct DialScale {
    /// As formulas write it.
    pub symbol: String,
    pub name: Message,
    /// The values that it takes, in order.
    pub values: Vec<u64>,
    /// Index of its value.
    pub position: usize,
    /// Its value in words.
    pub shown: Message,
}

impl DialScale {
    pub fn value(&self) -> u64 {
        self.values.get(self.position).copied().unwrap_or_default()
    }
}

/// The positions of a step's sliders, and the Run of the page.
#[must_use]
pub struct Dials {
    sliders: &'static [Slider],
    positions: Vec<usize>,
    run: Run,
}

impl Dials {
    /// `sliders` at `positions`: a slider without a position is at its start, one with too large a position at its end.
    pub fn new(sliders: &'static [Slider], positions: &[usize]) -> Self {
        let each = sliders.iter().enumerate();
        let positions = each.map(|(at, slider)| {
            let position = positions.get(at).copied().unwrap_or(slider.start);
            position.min(slider.values.len().saturating_sub(1))
        });
        Self { sliders, positions: positions.collect(), run: Run::default() }
    }
    /// The dials beside `run`.
    pub fn beside(self, run: &Run) -> Self {
        Self { run: run.clone(), ..self }
    }
    /// The Run of the page.
    pub fn run(&self) -> &Run {
        &self.run
    }
    /// Values for a link to a step with the sliders `next`: those of sliders that were moved here, that are kept from
    /// step to step, and that it has as well.
    pub fn carried(&self, next: &[Slider]) -> String {
        let moved = self.sliders.iter().zip(&self.positions);
        let moved = moved.filter(|(slider, at)| slider.is_kept && slider.start != **at);
        let kept = moved.filter_map(|(slider, at)| {
            let value = slider.values.get(*at)?;
            let same = next.iter().find(|one| one.symbol == slider.symbol && one.name == slider.name)?;
            let differs = same.values.contains(value) && same.values.get(same.start) != Some(value);
            differs.then(|| format!("{}.{value}", slider.symbol))
        });
        kept.collect::<Vec<_>>().join(",")
    }
    /// `sliders` where a link says that they are, `p.8,m.16`, the others at their start; what no slider has
    /// is moved to its nearest value, or left out, with a notice.
    pub fn linked(sliders: &'static [Slider], link: &str) -> (Self, Vec<Message>) {
        let mut dials = Self::new(sliders, &[]);
        let mut notices = Vec::new();
        for pair in link.split(',').filter(|pair| !pair.is_empty()) {
            let (symbol, value) = pair.split_once('.').unwrap_or((pair, ""));
            let mut each = dials.sliders.iter().zip(&mut dials.positions);
            let found = each.find(|(slider, _)| slider.symbol == symbol);
            let (Some((slider, position)), Ok(value)) = (found, value.parse::<u64>()) else {
                let pair = verbatim(pair);
                notices.push(t!("{pair} in the link is not a slider of this step with a value.", pair));
                continue;
            };
            let values = slider.values.iter().enumerate();
            let nearest = values.min_by_key(|(_, known)| known.abs_diff(value));
            *position = nearest.map_or(slider.start, |(position, _)| position);
            if slider.values[*position] != value {
                notices.push(t!(
                    "The slider {symbol} has no {value}; the nearest value is {nearest}.",
                    symbol = slider.symbol,
                    value,
                    nearest = slider.values[*position]
                ));
            }
        }
        (dials, notices)
    }
    /// The sliders as they are shown.
    pub fn scales(&self) -> Vec<DialScale> {
        let scale = |(slider, position): (&Slider, &usize)| DialScale {
            symbol: slider.symbol.to_owned(),
            name: slider.name.into(),
            values: slider.values.to_vec(),
            position: *position,
            shown: match slider.name_of {
                Some(name) => name(*position).into(),
                None => verbatim(slider.values[*position].to_string()),
            },
        };
        self.sliders.iter().zip(&self.positions).map(scale).collect()
    }
    /// The value of the slider `symbol`, where there is one.
    pub fn of(&self, symbol: &str) -> Option<u64> {
        let mut each = self.sliders.iter().zip(&self.positions);
        let found = each.find(|(slider, _)| slider.symbol == symbol);
        found.map(|(slider, position)| slider.values[*position])
    }
    /// The value of the slider `symbol`; 1 where there is none.
    pub fn get(&self, symbol: &str) -> u64 {
        self.of(symbol).unwrap_or(1)
    }
    /// The value of the slider `symbol` as a 32-bit count.
    pub fn small(&self, symbol: &str) -> u32 {
        u32::try_from(self.get(symbol)).unwrap_or(u32::MAX)
    }
}
