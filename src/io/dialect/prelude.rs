//! Names that nearly every program's reader and writer say.

pub(super) use super::program::{Dialect, SettingsWriter};
pub(super) use super::settings_reader::SettingsReader;
pub(super) use super::text::ImportText;
pub(super) use super::values::{Entries, Same, bare, computes, is_precision, same, steps};
pub(super) use shardscope_core::issue::Issue;
pub(super) use shardscope_core::run::*;
pub(super) use shardscope_core::t;
pub(super) use shardscope_core::units::whole;
