//! A diagnosis in a link: its parts and causes as numbers, with the settings of their changes, never the trace.

use super::causes::{CauseId, FoundCause, OtherChange};
use super::expected::StepShare;
use super::{Comparison, Diagnosis, PartRow, memory};
use crate::advice::fit::shown;
use crate::message::Message;
use crate::report::report;
use crate::run::Run;
use crate::run::registry::{FIELDS, field};
use crate::t;
use std::fmt::Write;

/// Letters of the text at most.
const MOST: usize = 2000;
/// Parts and causes that are kept at most.
const ROWS: usize = 24;

fn micro(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e6)
}

fn seconds(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|micro| micro.is_finite() && micro.abs() < 1e15).map(|micro| micro / 1e6)
}

/// Parts and causes of `found` as the text of a link; none where there is nothing to keep. `~` separates sections, `_`
/// the values of one. The first section is the comparison with the window, the prediction and its range in
/// microseconds; then each part with what was measured and predicted; then each cause, which begins with `!`, with
/// microseconds (`s`) or bytes (`b`), and the settings of each change that removes it (`c`).
pub fn brief(found: &Diagnosis) -> Option<String> {
    if found.parts.is_empty() && found.causes.is_empty() {
        return None;
    }
    // A change of a run that the files state is none of the page's, whose run the link holds.
    let with_changes = text_of(found, found.own.is_none());
    let text = if with_changes.len() > MOST { text_of(found, false) } else { with_changes };
    (text.len() <= MOST).then_some(text)
}

/// True where the settings of `cause` remove it; those of a log are the cause itself.
fn is_removed_by_set(found: &Diagnosis, cause: &FoundCause) -> bool {
    found.comparison == Comparison::Memory || cause.change_s.is_some()
}

/// The fields of a change with their values, `:` between the two and `,` between fields; none where a value has another
/// letter than an id or a number.
fn text_of_change(set: &[(&'static str, String)]) -> Option<String> {
    let is_plain = |value: &str| value.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter));
    let fields: Option<Vec<String>> =
        set.iter().map(|(key, value)| is_plain(value).then(|| format!("{}:{value}", key.replace('_', "-")))).collect();
    fields.filter(|fields| !fields.is_empty()).map(|fields| fields.join(","))
}

/// The change of such a text; none where a field is not known.
fn change_of_text(text: &str) -> Option<Vec<(&'static str, String)>> {
    let field = |pair: &str| {
        let (name, value) = pair.split_once(':')?;
        let field = FIELDS.iter().find(|field| field.key.replace('_', "-") == name)?;
        Some((field.key, value.to_owned()))
    };
    text.split(',').map(field).collect()
}

/// [`brief`], with the settings of changes or without.
fn text_of(found: &Diagnosis, has_changes: bool) -> String {
    let or_empty = |value: Option<f64>| value.map_or_else(String::new, micro);
    let mut text = format!(
        "{}_{}_{}_{}_{}",
        found.comparison.name().replace('_', "-"),
        micro(found.window_ns as f64 * 1e-9),
        or_empty(found.predicted_s),
        or_empty(found.low_s),
        or_empty(found.high_s)
    );
    let first = found.parts.first().map(|part| part.rank);
    for part in found.parts.iter().filter(|part| Some(part.rank) == first).take(ROWS) {
        let measured = micro(part.measured_ns as f64 * 1e-9);
        let (name, predicted) = (part.name.name().replace('_', "-"), or_empty(part.predicted_s));
        // Writing to a String cannot fail.
        let _ = write!(text, "~{name}_{measured}_{predicted}");
    }
    for cause in found.causes.iter().take(ROWS) {
        let amount = match (cause.seconds, cause.bytes) {
            (Some(seconds), _) => format!("_s{}", micro(seconds)),
            (None, Some(bytes)) => format!("_b{bytes:.0}"),
            _ => String::new(),
        };
        let _ = write!(text, "~!{}{amount}", cause.id.id());
        if has_changes && is_removed_by_set(found, cause) {
            let sets = std::iter::once(&cause.set).chain(cause.others.iter().map(|other| &other.set));
            for change in sets.filter_map(|set| text_of_change(set)) {
                let _ = write!(text, "_c{change}");
            }
        }
    }
    text
}

/// The diagnosis of such a text; none where it is something else.
pub fn of_brief(text: &str) -> Option<Diagnosis> {
    let mut sections = text.get(..MOST.min(text.len()))?.split('~');
    let mut head = sections.next()?.split('_');
    let name = head.next()?.replace('-', "_");
    let comparison = Comparison::ALL.into_iter().find(|one| one.name() == name)?;
    let window = seconds(head.next()?)?;
    let [predicted_s, low_s, high_s] = [(); 3].map(|()| head.next().and_then(seconds));
    let verdict = t!("From a link: parts and causes as they were found, without the trace.");
    #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
    let ns = |seconds: f64| (seconds * 1e9).round() as i64;
    let mut found =
        Diagnosis { window_ns: ns(window), predicted_s, low_s, high_s, ..Diagnosis::empty(comparison, verdict) };
    for section in sections.take(2 * ROWS) {
        let mut values = section.trim_start_matches('!').split('_');
        let name = values.next()?;
        if section.starts_with('!') {
            let id = CauseId::ALL.into_iter().find(|one| one.id() == name)?;
            let mut cause = FoundCause::new(id, Message::default());
            for value in values {
                let amount = value.strip_prefix('b').and_then(|bytes| bytes.parse().ok());
                cause.bytes = cause.bytes.or(amount.filter(|bytes: &f64| *bytes < 1e18));
                cause.seconds = cause.seconds.or(value.strip_prefix('s').and_then(seconds));
                let set = value.strip_prefix('c').and_then(change_of_text);
                if let Some(set) = set.filter(|_| cause.others.len() < ROWS) {
                    cause.others.push(OtherChange { change: Message::default(), set });
                }
            }
            // The first is that of the cause itself.
            if !cause.others.is_empty() {
                cause.set = cause.others.remove(0).set;
            }
            cause.without(window);
            found.causes.push(cause);
        } else {
            let own = name.replace('-', "_");
            let name = StepShare::ALL.into_iter().find(|one| one.name() == own)?;
            let measured_ns = ns(seconds(values.next()?)?);
            let predicted_s = values.next().and_then(seconds);
            found.parts.push(PartRow { rank: 0, name, measured_ns, predicted_s });
        }
    }
    Some(found)
}

/// `found`, which came from a link, with its changes in words, each computed for `run`, that of the link; without those
/// that change nothing of it any more.
pub fn with_changes(mut found: Diagnosis, run: &Run) -> Diagnosis {
    let is_memory = found.comparison == Comparison::Memory;
    let now = report(&Run { measured_step_s: None, ..run.clone() }).ok().map(|report| report.step.time_s.0);
    for cause in &mut found.causes {
        let is_other = cause.id == CauseId::AnotherSetting;
        let in_words = |set: &[(&'static str, String)]| {
            let words = settings_in_words(set);
            if is_memory { memory::change_in_words(words, set, run, is_other) } else { Some((words, None)) }
        };
        let own = (Message::default(), std::mem::take(&mut cause.set));
        let mut missing = Vec::new();
        let others = std::mem::take(&mut cause.others).into_iter().map(|other| (other.change, other.set));
        let told = std::iter::once(own).chain(others).filter_map(|(_, set)| {
            let changes = !set.is_empty() && run.with_texts(&set).is_some_and(|after| after != *run);
            let (change, still) = in_words(&set).filter(|_| changes)?;
            missing.push(still);
            Some(OtherChange { change, set })
        });
        let mut told: Vec<OtherChange> = told.collect();
        if told.is_empty() {
            continue;
        }
        let first = told.remove(0);
        cause.missing = missing[0];
        if !is_memory {
            let after = run.with_texts(&first.set).and_then(|after| report(&after).ok());
            cause.change_s = now.zip(after.map(|after| after.step.time_s.0)).map(|(now, after)| [now, after]);
        }
        (cause.change, cause.set, cause.others) = (Some(first.change), first.set, told);
    }
    found
}

/// The settings of a change with their values: "Micro-batch size 1, Recompute full".
fn settings_in_words(set: &[(&'static str, String)]) -> Message {
    let setting = |(key, value): &(&'static str, String)| {
        let field = field(key)?;
        let value = if value.is_empty() { t!("as the software does") } else { shown(field, value) };
        Some(Message::joined(" ", [Message::plain(field.label), value]))
    };
    Message::joined(", ", set.iter().filter_map(setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_causes_come_back_from_a_link() {
        let mut found = Diagnosis::empty(Comparison::Longer, t!("x"));
        (found.window_ns, found.predicted_s, found.low_s) = (5_620_000_000, Some(4.1), Some(3.7));
        found.high_s = Some(4.5);
        for (at, name) in StepShare::ALL.into_iter().enumerate() {
            let predicted_s = (at % 2 == 0).then_some(0.25);
            found.parts.push(PartRow {
                rank: 3,
                name,
                measured_ns: 1_000_000 * i64::try_from(at).unwrap(),
                predicted_s,
            });
        }
        for id in CauseId::ALL.into_iter().take(20) {
            let cause = format!("longer_5620000_1_1_1~!{}_s740000", id.id());
            found.causes.extend(of_brief(&cause).unwrap().causes);
        }
        let text = brief(&found).unwrap();
        assert!(text.len() <= MOST, "{}", text.len());
        let again = of_brief(&text).unwrap();
        assert_eq!((again.window_ns, again.predicted_s, again.high_s), (5_620_000_000, Some(4.1), Some(4.5)));
        let rows = |found: &Diagnosis| -> Vec<_> {
            found.parts.iter().map(|part| (part.name, part.measured_ns, part.predicted_s)).collect()
        };
        assert_eq!(rows(&again), rows(&found));
        assert_eq!(again.causes, found.causes);
        assert_eq!(brief(&again).unwrap(), text);
    }

    #[test]
    fn what_is_no_diagnosis_is_none() {
        for text in [
            "",
            "x",
            "longer",
            "longer_x",
            "longer_1~cheese_1_1",
            "longer_1~!cheese",
            "longer_1~products",
            "longer_1e99",
        ] {
            assert_eq!(of_brief(text), None, "{text}");
        }
    }
}
