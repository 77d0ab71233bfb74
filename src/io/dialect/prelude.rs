//! Names that nearly every program's reader and writer say.

pub(super) use super::program::{Dialect, SettingsWriter};
pub(super) use super::settings_reader::SettingsReader;
pub(super) use super::values::{Entries, Same, bare, computes, is_precision, same, steps};
pub(super) use crate::core::issue::Issue;
pub(super) use crate::core::run::*;
pub(super) use crate::core::t;
pub(super) use crate::core::units::whole;
