//! Quantities as types: bytes, seconds, FLOPs and their rates, how they are printed and how typed text is read.
//!
//! Everything inside the crate is in SI base units; GiB, ms and TFLOP/s exist only here, where a person reads or
//! types them. A thousand is 10³ in rates and decimal counts; GiB is always 2³⁰ and never printed as GB.

mod read;
mod show;

pub(crate) use read::is_mark;
pub use read::{parse_count, parse_number, whole};
pub use show::{
    MemoryUnit, SMALLEST_PRINTED, count_to, fixed, group, number, scientific, seconds_beside, seconds_like, seconds_to,
    shortest, show_at_most, show_bandwidth, show_bytes, show_count, show_flops, show_gain, show_of_gpu, show_off,
    show_part, show_percent, show_seconds, show_storage, show_whole_percent, significant, thousands,
};

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Bytes in a GiB.
pub const GIB: f64 = (1u64 << 30) as f64;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        #[must_use]
        pub struct $name(pub f64);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0.0);
            /// The larger of two.
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                Self(items.map(|item| item.0).sum())
            }
        }
    };
}

quantity! {
    /// An amount of memory or traffic, bytes.
    Bytes
}
quantity! {
    /// A duration, seconds.
    Seconds
}
quantity! {
    /// Floating-point operations; a multiply-add is two.
    Flops
}
quantity! {
    /// A bandwidth, bytes a second, one direction.
    BytesPerSecond
}
quantity! {
    /// A compute rate, FLOP/s.
    FlopsPerSecond
}

/// Adds and scales a structure of quantities field by field.
macro_rules! by_field {
    ($name:ident { $($field:ident),* }) => {
        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field),* }
            }
        }
        impl std::ops::Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self { $($field: self.$field * factor),* }
            }
        }
    };
}
pub(crate) use by_field;

impl Div<BytesPerSecond> for Bytes {
    type Output = Seconds;
    fn div(self, rate: BytesPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}
impl Div<FlopsPerSecond> for Flops {
    type Output = Seconds;
    fn div(self, rate: FlopsPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}

impl Bytes {
    /// From GiB (2³⁰ bytes).
    pub fn from_gib(gib: f64) -> Self {
        Self(gib * GIB)
    }
    /// As a number of GiB (2³⁰ bytes).
    pub fn gib(self) -> f64 {
        self.0 / GIB
    }
    /// As a number of GB (10⁹ bytes).
    pub fn gb(self) -> f64 {
        self.0 / 1e9
    }
}
