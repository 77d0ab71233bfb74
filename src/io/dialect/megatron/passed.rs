//! Arguments that change no figure, passed through from other scripts and from a model's config.json.

use super::super::settings_reader::SettingsReader;
use super::super::settings_writer::SettingsWriter;
use crate::io::config::passed::{FLAGS, VALUES, is_plain};

/// Takes them from other arguments.
pub(super) fn read(reader: &mut SettingsReader) -> Option<String> {
    let mut words = Vec::new();
    for (name, _) in VALUES {
        if let Some(text) = reader.word(name, "passed through:").filter(|text| is_plain(text)) {
            words.push(format!("{name} {text}"));
        }
    }
    words.extend(FLAGS.iter().filter(|name| reader.flag(name, "passed through")).map(|name| (*name).to_owned()));
    (!words.is_empty()).then(|| words.join(" "))
}

/// Says those of `text` that are known.
pub(super) fn write(text: &str, writer: &mut SettingsWriter) {
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if FLAGS.contains(&word) {
            writer.say(word, true);
        } else if VALUES.iter().any(|(name, _)| *name == word)
            && let Some(value) = words.next_if(|value| is_plain(value) && !value.starts_with("--"))
        {
            match value.parse::<f64>() {
                Ok(number) => writer.say(word, number),
                Err(_) => writer.say(word, value),
            }
        }
    }
}
