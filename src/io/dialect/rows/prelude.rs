//! Names that nearly every program's reader and writer say.

pub(in crate::dialect) use crate::dialect::rows::program::{Dialect, SettingsWriter};
pub(in crate::dialect) use crate::dialect::rows::reader::SettingsReader;
pub(in crate::dialect) use crate::dialect::rows::values::{Same, bare, computes, is_off, is_precision, same, steps};
pub(in crate::dialect) use crate::dialect::text::ImportText;
pub(in crate::dialect) use crate::dialect::text::SettingEntries;
pub(in crate::dialect) use shardscope_core::issue::Issue;
pub(in crate::dialect) use shardscope_core::run::*;
pub(in crate::dialect) use shardscope_core::t;
pub(in crate::dialect) use shardscope_core::units::whole;
