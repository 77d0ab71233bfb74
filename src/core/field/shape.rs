//! Shapes of a model, figures of a GPU: given by a preset, changed part by part by a person.

use super::choice::OneOf;
use super::held::Settable;
use crate::issue::Issue;
use crate::t;
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, GIB};
use std::marker::PhantomData;

/// Something that is resolved from what a person set and what a preset has.
pub trait PresetShape: Sized {
    /// Parts of it that a person may set.
    type Parts: Settable + Default;
    /// Value used where nothing says it, beside an issue.
    const STAND_IN: Self;

    /// As set in `parts`, else as in `base`, else `usual`; an issue at `key` where nothing says it.
    fn resolve(
        parts: &Self::Parts,
        base: Option<Self>,
        key: &'static str,
        usual: Option<Self>,
        missing: &mut MissingParts,
    ) -> Self;

    /// The parts that mean it.
    fn spelled(self) -> Self::Parts;
}

/// Issues at parts that neither a preset nor the person gave.
#[derive(Default)]
pub struct MissingParts(Vec<Issue>);

impl MissingParts {
    /// An issue at `key`, and a value to use in its place.
    pub(crate) fn need<T: PresetShape>(&mut self, key: &'static str) -> T {
        let whole = key.split('.').next().unwrap_or(key);
        let message =
            t!("needed where {whole} has no base; give it, or name a preset as {whole}.base", whole = whole.to_owned());
        self.0.push(Issue::error(key, message));
        T::STAND_IN
    }
    pub(crate) fn issue(&mut self, issue: Issue) {
        self.0.push(issue);
    }
    /// `resolved`, if nothing was missing.
    pub(crate) fn done<T>(self, resolved: T) -> Result<T, Vec<Issue>> {
        if self.0.is_empty() { Ok(resolved) } else { Err(self.0) }
    }
}

/// A value that is set as a `$set`: the conversions to and from it, and what stands in for a missing one.
macro_rules! scalar {
    ($({$($bound:tt)*})? $type:ty as $set:ty, $of:expr, $set_of:expr, $stand_in:expr) => {
        impl$(<$($bound)*>)? PresetShape for $type {
            type Parts = Option<$set>;
            const STAND_IN: Self = $stand_in;

            fn resolve(
                parts: &Self::Parts,
                base: Option<Self>,
                key: &'static str,
                usual: Option<Self>,
                missing: &mut MissingParts,
            ) -> Self {
                let set = parts.map($of);
                set.or(base).or(usual).unwrap_or_else(|| missing.need(key))
            }

            fn spelled(self) -> Self::Parts {
                Some($set_of(self))
            }
        }
    };
}

/// Six decimals: 79.2 comes back as 79.2 and not as 79.19999.
fn tidy(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

scalar!(u64 as u64, |set| set, |value| value, 1);
scalar!(f64 as f64, |set| set, |value| value, 0.0);
scalar!(bool as bool, |set| set, |value| value, false);
scalar!({T: OneOf} T as T, |set| set, |value| value, T::ALL[0].0);

/// May stay unset: its meaning then follows from other settings.
impl PresetShape for Option<f64> {
    type Parts = Self;
    const STAND_IN: Self = None;

    fn resolve(parts: &Self, base: Option<Self>, _: &'static str, _: Option<Self>, _: &mut MissingParts) -> Self {
        parts.or(base.flatten())
    }

    fn spelled(self) -> Self {
        self
    }
}

scalar!(Bytes as f64, Bytes::from_gib, |bytes: Bytes| tidy(bytes.gib()), Self(GIB));
scalar!(FlopsPerSecond as f64, |tera| Self(tera * 1e12), |rate: Self| tidy(rate.0 / 1e12), Self(1e12));
scalar!(BytesPerSecond as f64, |giga| Self(giga * 1e9), |rate: Self| tidy(rate.0 / 1e9), Self(1e9));

/// Set beside the shapes, no shape itself: a name.
impl<T> PresetShape for PhantomData<T>
where
    Option<T>: Settable,
{
    type Parts = Option<T>;
    const STAND_IN: Self = Self;

    fn resolve(_: &Option<T>, _: Option<Self>, _: &'static str, _: Option<Self>, _: &mut MissingParts) -> Self {
        Self
    }

    fn spelled(self) -> Option<T> {
        None
    }
}
