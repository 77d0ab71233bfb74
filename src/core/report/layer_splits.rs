//! Splits of a Run's layers over its stages, as the report says them.

use crate::memory::Verdict;
use crate::message::Message;
use crate::units::{Bytes, Seconds};
use serde::Serialize;

/// The rule or method that a split is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitOrigin {
    /// As many layers on each stage as it goes.
    Even,
    /// The rule of the uneven-PP note: for one stage a rank.
    Rule,
    /// The Run.
    Own,
    /// The fastest of the splits whose longest stage is shortest, within memory where there is enough for any, and of
    /// those above.
    Best,
}

/// Splits of the Run's layers side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSplits {
    /// In the order of their first origin.
    pub splits: Vec<SplitFigures>,
    /// Measured steps, where the Run is a published one but for its layers a stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Pair>,
    /// Distance of the measured steps from the computed ones, where it is large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Message>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitFigures {
    pub origins: Vec<SplitOrigin>,
    pub stage_layers: Vec<u64>,
    pub step_s: Seconds,
    /// The even split's step over its own.
    pub against_even: f64,
    /// Bytes on its fullest rank.
    pub peak_bytes: Bytes,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
}

/// Layers split evenly and not, both measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Layers a stage, as many on each.
    pub even: Vec<u64>,
    /// Layers a stage of the other split.
    pub uneven: Vec<u64>,
    /// The even split's step over the other's, as measured.
    pub gain: f64,
    /// Both steps as measured, the even split's first, seconds.
    pub steps_s: [f64; 2],
}

impl Pair {
    /// The first even split among `steps` (layers a stage, seconds) with the first that is not.
    pub fn of(steps: &[(&[u64], f64)]) -> Option<Self> {
        let is_even = |split: &[u64]| split.windows(2).all(|pair| pair[0] == pair[1]);
        let (even, long) = steps.iter().find(|(split, _)| is_even(split))?;
        let (uneven, short) = steps.iter().find(|(split, _)| !is_even(split))?;
        Some(Self { even: even.to_vec(), uneven: uneven.to_vec(), gain: long / short, steps_s: [*long, *short] })
    }
    /// The most that the gain could be if every layer cost the same, whatever is beside those of the first rank, as
    /// a fraction: the longest rank goes from that and `e` layers to `l`, and that is worth `l - u` of them at best,
    /// with `u` left on the first rank: `(l - u + e)/l`.
    pub fn bound(&self) -> Option<(u64, u64)> {
        let (first, before) = (self.uneven.first()?, self.even.first()?);
        let longest = self.uneven.iter().max()?;
        Some((longest - first + before, *longest))
    }
}
