//! A diagnosis as Markdown, for an issue tracker: numbers and sentences, no host, user or path.

use shardscope_core::diagnose::{Diagnosis, PartRow};
use shardscope_core::units::{Bytes, Seconds, show_of_gpu, show_percent, show_seconds, significant};
use shardscope_view::panels::waterfall::part_words;
use std::fmt::Write;

/// `found` as Markdown: the verdict, what was read, tables of parts, causes.
pub fn markdown(found: &Diagnosis) -> String {
    let mut text = String::from("# Diagnosis\n\n");
    let seconds = |value: f64| show_seconds(Seconds(value));
    let ns = |value: i64| seconds(value as f64 * 1e-9);
    // Writing to a String does not fail.
    let _ = writeln!(text, "{}\n", found.verdict);
    for words in &found.read {
        let _ = writeln!(text, "- {words}");
    }
    for warning in &found.warnings {
        let _ = writeln!(text, "- Warning: {}", warning.message);
    }
    let first = found.parts.first().map(|part| part.rank);
    let own: Vec<&PartRow> = found.parts.iter().filter(|part| Some(part.rank) == first).collect();
    if !own.is_empty() {
        let _ = writeln!(text, "\n| part | measured | predicted | difference |\n| --- | ---: | ---: | ---: |");
        for part in &own {
            let predicted = part.predicted_s.map_or_else(String::new, seconds);
            let difference = part.predicted_s.map_or_else(String::new, |predicted| {
                let difference = part.measured_ns as f64 * 1e-9 - predicted;
                format!("{}{}", if difference < 0.0 { "−" } else { "+" }, seconds(difference.abs()))
            });
            let name = part.name.name();
            let _ = writeln!(text, "| {name} | {} | {predicted} | {difference} |", ns(part.measured_ns));
        }
        let whole = found.predicted_s.map_or_else(String::new, seconds);
        let _ = writeln!(text, "| window | {} | {whole} | |", ns(found.window_ns));
    }
    if !found.rl.is_empty() {
        let _ = writeln!(text, "\n| part | measured | predicted | ratio |\n| --- | ---: | ---: | ---: |");
        for row in &found.rl {
            let predicted = row.predicted_s.map_or_else(String::new, seconds);
            let ratio = row.ratio.map_or_else(String::new, |ratio| significant(ratio, 3));
            let _ = writeln!(text, "| {} | {} | {predicted} | {ratio} |", row.name.name(), seconds(row.measured_s));
        }
    }
    if !found.causes.is_empty() {
        let _ = writeln!(text, "\n## Causes\n");
        for (number, _, cause) in found.listed() {
            let amount = match (cause.seconds, cause.bytes) {
                (Some(time), _) => format!("{}, ", seconds(time)),
                (None, Some(bytes)) if bytes > 0.0 => format!("{}, ", show_of_gpu(Bytes(bytes))),
                _ => String::new(),
            };
            let mark = number.map_or_else(|| "-".to_owned(), |number| format!("{number}."));
            let title = cause.listed_title();
            let _ = writeln!(text, "{mark} **{title}** ({amount}`{}`). {}", cause.id.id(), cause.evidence);
            if let Some(words) = cause.change_words() {
                let _ = writeln!(text, "   {words}");
            }
            for words in cause.other_words().chain(cause.not_enough_words()) {
                let _ = writeln!(text, "   {words}");
            }
            if let Some(measure) = &cause.measure {
                let _ = writeln!(text, "   Settled by: {measure}.");
            }
            for line in [cause.without_it(), cause.with_change()].into_iter().flatten() {
                let _ = writeln!(text, "   {line}");
            }
        }
        if let Some(explained) = found.explained {
            let _ = writeln!(text, "\nExplained: {} of the difference.", show_percent(explained));
        }
    }
    if found.shows_remedies() && !found.remedies.is_empty() {
        let _ = writeln!(text, "\n## Where the predicted step goes\n");
        for remedy in &found.remedies {
            let (part, change) = (part_words(remedy.part), remedy.change.to_string());
            let change = if change.is_empty() { String::new() } else { format!("{change}: ") };
            let _ = writeln!(text, "- {part}, {}. {change}{}", seconds(remedy.seconds), remedy.words);
        }
    }
    text
}
