//! Files of settings that a launch command names: those of Accelerate and of DeepSpeed.

use super::deepspeed;
use super::text::{ImportText, SettingEntries, yaml};

/// The text of a file that `text` names: as it is given by this name or by the last part of it, else as the script
/// writes it.
pub(crate) fn file_named(text: &ImportText, name: &str) -> Option<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let given = || text.given().files.iter();
    let found =
        given().find(|(known, _)| known == name).or_else(|| given().find(|(known, _)| last(known) == last(name)));
    found.map(|(_, text)| text.clone()).or_else(|| text.script().files.get(name).cloned())
}

/// Puts the settings of files that a command names in their place, where they are given or the script writes them:
/// DeepSpeed's under `deepspeed.`, those of Accelerate before all others.
pub(in crate::dialect) fn take_files(text: &ImportText, entries: &mut SettingEntries) {
    let named = |entries: &SettingEntries, wanted: &[&str]| {
        let found = entries.iter().rev().find(|(name, _)| wanted.contains(&name.as_str()))?;
        Some((found.0.clone(), file_named(text, found.1.text()?)?))
    };
    if let Some((key, inner)) = named(entries, &["config_file"])
        && let Ok(settings) = yaml::entries(&inner)
    {
        entries.retain(|(name, _)| *name != key);
        entries.splice(0..0, settings);
    }
    let keys = ["deepspeed", "deepspeed_config", "deepspeed_config_file", "deepspeed_config.deepspeed_config_file"];
    if let Some((key, inner)) = named(entries, &keys)
        && let Ok(settings) = deepspeed::entries(&inner)
    {
        entries.retain(|(name, _)| *name != key);
        entries.extend(settings.into_iter().map(|(name, value)| (format!("deepspeed.{name}"), value)));
    }
}
