//! A layout that a request or a link leaves to the search: `layout=auto`. Fields of the layout that are given stay, the
//! others are those of the fastest layout that fits and that the named software can run. The search does its default
//! work, so that every program and every machine chooses the same.

use super::ladder::{CHOSEN, Failure, Ladder, LadderChoice, LadderEnd, asked};
use super::layout_field::LayoutField;
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::run::registry::field;
use crate::run::{Run, Value};
use crate::t;
use crate::units::MemoryUnit;

/// Its key in requests and links.
pub const KEY: &str = "layout";

/// Values of the key: chosen by the search; as the fields say it.
pub const VALUES: [&str; 2] = ["auto", "as-given"];

/// The field of a layout that the dotted `key` gives a part of.
pub fn of_layout(key: &str) -> Option<&'static str> {
    let whole = key.split('.').next().unwrap_or(key);
    LayoutField::of_key(whole).map(LayoutField::key)
}

/// `run` in the fastest layout that serves; the fields that are `given`, by their dotted keys, stay.
///
/// # Errors
/// A Run that has no model, GPU or precision, or of which no layout fits, with what would do.
pub fn choose<'a>(run: &Run, given: impl IntoIterator<Item = &'a str>) -> Result<LadderChoice, Vec<Issue>> {
    let error = |issue: Issue| Err(vec![issue]);
    if run.measured_step_s.is_some() {
        let message = "a measured step belongs to one layout: give the layout, or leave the measured step out";
        return error(Issue::error(KEY, message));
    }
    let mut pins: Vec<&str> = given.into_iter().filter_map(of_layout).collect();
    pins.dedup();
    match Ladder::with_pins(run, &pins)?.finished() {
        LadderEnd::Chosen(choice) => Ok(*choice),
        LadderEnd::Failed(failure) => error(unfit(&failure)),
        LadderEnd::Undivided => {
            let message = "no layout that is tried divides these GPUs, this batch and this model as it is given";
            error(Issue::error(KEY, message))
        }
    }
}

/// The issue that no layout fits, with the changes that would make one fit.
fn unfit(failure: &Failure) -> Issue {
    let missing = failure.missing_words(MemoryUnit::Gib);
    let message = match failure.verdict() {
        Verdict::Tight => {
            t!("no layout fits here that this software can run; the leanest is tight, by {missing}", missing)
        }
        _ => t!("no layout fits here that this software can run: {missing} are missing in the leanest", missing),
    };
    let ways = failure.gpus.iter().chain(&failure.adapters).chain(&failure.shorter);
    let sets: Vec<_> = ways.map(|choice| asked(&failure.run, &choice.run)).collect();
    let mut sets = sets.into_iter();
    let mut issue = Issue::error(KEY, message);
    if let Some(first) = sets.next() {
        issue = issue.with_fixes(first).naming_its_fix();
    }
    if let Some(second) = sets.next() {
        issue = issue.or_fixes(second);
    }
    issue
}

/// The layout of a choice as an answer names it: every field that is chosen, and the layers of the stages where they
/// are uneven; whether no other layout can be faster.
pub fn named(choice: &LadderChoice) -> Value {
    let run = &choice.run;
    let uneven = run.stage_layers.is_some().then_some("stage_layers");
    let fields = CHOSEN.into_iter().chain(uneven).filter_map(|key| Some((key.to_owned(), field(key)?.get(run))));
    let complete = choice.searched.is_some_and(|searched| searched.complete);
    Value::Map(fields.chain([("complete".to_owned(), Value::Bool(complete))]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::can_run;

    #[test]
    fn what_is_given_stays_and_the_rest_is_no_slower_free_than_pinned() {
        let run = Run::default().with_texts(&[("tp", "8"), ("pp", "2"), ("stack", "megatron-2025")]).unwrap();
        let free = choose(&run, []).unwrap();
        let pinned = choose(&run, ["tp", "pp", "gpus"]).unwrap();
        assert_eq!((pinned.run.tp, pinned.run.pp), (8, 2));
        assert!(free.figures.time_s <= pinned.figures.time_s);
        for choice in [free, pinned] {
            assert!(can_run(&choice.run) && choice.figures.peak.overall == Verdict::Fits);
        }
    }

    /// Megatron-LM's main branch has no ZB-V.
    #[test]
    fn a_schedule_that_the_software_has_not_is_refused_where_it_is_given() {
        let run = Run::default().with_texts(&[("schedule", "zb-v"), ("pp", "4"), ("stack", "megatron-2025")]).unwrap();
        assert_eq!(choose(&run, ["schedule", "pp"]).unwrap_err()[0].field, KEY);
        assert!(can_run(&choose(&run, ["pp"]).unwrap().run));
    }

    /// Rajbhandari 2020: Adam's states take 16 bytes a parameter and more, 8 B parameters 120 GiB.
    #[test]
    fn where_nothing_fits_the_error_names_what_would() {
        let issues =
            choose(&Run::default().with_texts(&[("gpus", "1"), ("global_batch", "8")]).unwrap(), []).unwrap_err();
        let words = issues[0].message.to_string();
        assert!(issues[0].field == KEY && words.contains("missing") && words.contains("gpus="), "{words}");
        assert_eq!(issues[0].fixes().count(), 2);
    }

    #[test]
    fn parts_of_a_field_give_it() {
        assert_eq!(of_layout("recompute.modules"), Some("recompute"));
        assert_eq!(of_layout("gpus"), None);
        assert_eq!(of_layout("tp"), Some("tp"));
    }
}
