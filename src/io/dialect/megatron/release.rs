//! Releases of Megatron-LM by the arguments that they have.
//!
//! Source: the history of `megatron/training/arguments.py`.

use super::super::SettingEntries;
use shardscope_core::run::Software;
use shardscope_core::run::presets::Peers;

/// Arguments that Megatron-LM has since 2026, or since the last release of 2025.
const OF_2026: [&str; 4] = ["hybrid-layer-pattern", "cuda-graph-impl", "moe-flex-dispatcher-backend", "fp4-format"];
/// The argument of the kernel of attention, since December 2024.
const OF_2025: &str = "attention-backend";
/// Arguments of scripts before that: the kernel's, and the one that chose core's models until they were the default.
const OF_2024: [&str; 2] = ["use-flash-attn", "use-mcore-models"];

/// The release that arguments tell, which only some have.
pub(super) fn told(entries: &SettingEntries) -> Option<&'static str> {
    let has = |names: &[&str]| {
        entries.iter().any(|(name, _)| names.contains(&&*name.trim_start_matches('-').replace('_', "-")))
    };
    match (has(&OF_2026), has(&[OF_2025]), has(&OF_2024)) {
        (true, ..) => Some("megatron-2026"),
        (false, true, _) => Some("megatron-2025"),
        (false, false, true) => Some("megatron-2024"),
        _ => None,
    }
}

/// Releases by what their arguments can say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    /// Core 0.6 to 0.9, and before.
    Y2024,
    /// Core 0.10 to 0.15.
    Y2025,
    /// Core 0.16 and later.
    Y2026,
}

impl Release {
    pub fn of(software: &Software) -> Self {
        match software.peers {
            _ if software.is_megatron_until_2024() => Self::Y2024,
            Some(Peers::Megatron2026) => Self::Y2026,
            _ => Self::Y2025,
        }
    }
}
