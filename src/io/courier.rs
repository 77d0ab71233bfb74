//! How a simulated pipeline travels from the back room to the page: ops as plain numbers, issues as lines of text.
//!
//! Both ends are the same version of the same crate, so the form needs no name of its own; it is never stored.

use crate::core::issue::{Issue, Severity};
use crate::core::pipeline::{Half, Item, Kind, Op, Order, Placement, TimedOp, Timeline};
use crate::core::report::Timed;
use crate::core::run::registry::field;
use crate::core::units::whole;

const KINDS: [Kind; 4] = [Kind::F, Kind::B, Kind::W, Kind::BW];
const HALVES: [Half; 3] = [Half::Whole, Half::First, Half::Second];
const PLACEMENTS: [Placement; 4] = [
    Placement::Loop,
    Placement::Snake,
    Placement::Bidirectional,
    Placement::Given,
];
/// Stages and micro-batches are below this: their product is within [`crate::core::pipeline::spec::MAX_OPS`].
const MOST: f64 = 16_777_216.0;

fn code<T: PartialEq>(all: &[T], one: &T) -> f64 {
    all.iter().position(|other| other == one).unwrap_or(0) as f64
}

/// The simulation as numbers: stages, placement, micro-batches, splits, causal, ranks; then of each rank its copies of
/// the weights, its number of ops, and of each op kind and half, stage and micro-batch in one, start and end.
#[must_use]
pub fn pack(timed: &Timed) -> Vec<f64> {
    let order = &timed.order;
    let mut numbers = vec![
        f64::from(order.stages),
        code(&PLACEMENTS, &order.placement),
        f64::from(order.microbatches),
        f64::from(order.splits),
        f64::from(u8::from(order.causal)),
        order.ranks.len() as f64,
    ];
    for (rank, ops) in timed.timeline.ranks.iter().enumerate() {
        let copies = order.weight_copies.get(rank).copied().unwrap_or(1);
        numbers.extend([f64::from(copies), ops.len() as f64]);
        for TimedOp {
            op,
            half,
            start,
            end,
        } in ops
        {
            let what = code(&KINDS, &op.kind) + 4.0 * code(&HALVES, half);
            let place = f64::from(op.stage) * MOST + f64::from(op.microbatch);
            numbers.extend([what, place, *start, *end]);
        }
    }
    numbers
}

/// What [`pack`] and [`issue_lines`] made of a simulation; none where it is something else.
#[must_use]
pub fn unpack(numbers: &[f64], warnings: &str) -> Option<Timed> {
    let mut numbers = numbers.iter().copied();
    let count =
        |numbers: &mut dyn Iterator<Item = f64>| u32::try_from(whole(numbers.next()?)?).ok();
    let stages = count(&mut numbers)?;
    let placement = *PLACEMENTS.get(count(&mut numbers)? as usize)?;
    let (microbatches, splits) = (count(&mut numbers)?, count(&mut numbers)?);
    let causal = count(&mut numbers)? > 0;
    let mut order = Order {
        ranks: Vec::new(),
        stages,
        placement,
        microbatches,
        splits,
        causal,
        weight_copies: Vec::new(),
    };
    let mut timeline = Timeline { ranks: Vec::new() };
    for _ in 0..count(&mut numbers)? {
        order.weight_copies.push(count(&mut numbers)?);
        let (mut items, mut ops) = (Vec::new(), Vec::new());
        for _ in 0..count(&mut numbers)? {
            let what = count(&mut numbers)? as usize;
            let place = numbers.next()?;
            let stage = (place / MOST).floor();
            let mut parts = [stage, place - stage * MOST].into_iter();
            let (stage, microbatch) = (count(&mut parts)?, count(&mut parts)?);
            let op = Op::new(KINDS[what % 4], stage, microbatch);
            let half = *HALVES.get(what / 4)?;
            match (half, items.pop()) {
                (Half::Second, Some(Item::One(first))) => items.push(Item::Pair(first, op)),
                (_, before) => {
                    items.extend(before);
                    items.push(Item::One(op));
                }
            }
            let (start, end) = (numbers.next()?, numbers.next()?);
            ops.push(TimedOp {
                op,
                half,
                start,
                end,
            });
        }
        order.ranks.push(items);
        timeline.ranks.push(ops);
    }
    Some(Timed {
        order,
        timeline,
        warnings: issues(warnings),
    })
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Notice];

/// Issues as text: a line each of severity, field, message and, with a fix, its label and what it sets, by tabs.
#[must_use]
pub fn issue_lines(issues: &[Issue]) -> String {
    let plain = |words: &str| words.replace(['\t', '\n'], " ");
    let line = |issue: &Issue| {
        let severity = code(&SEVERITIES, &issue.severity).to_string();
        let mut parts = vec![
            severity,
            plain(&issue.field),
            plain(&issue.message.to_string()),
        ];
        if let Some(fix) = &issue.fix {
            parts.push(fix.label.to_string());
            parts.extend(fix.set.iter().map(|(key, value)| format!("{key}={value}")));
        }
        parts.join("\t")
    };
    issues.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The issues of [`issue_lines`].
#[must_use]
pub fn issues(lines: &str) -> Vec<Issue> {
    let read = |line: &str| {
        let mut parts = line.split('\t');
        let severity = parts.next()?;
        let (field_of, message) = (parts.next()?, parts.next()?);
        let issue = match severity {
            "0" => Issue::error(field_of, message.to_owned()),
            "1" => Issue::warning(field_of, message.to_owned()),
            _ => Issue::notice(field_of, message.to_owned()),
        };
        let Some(label) = parts.next() else {
            return Some(issue);
        };
        let set = parts.filter_map(|part| {
            let (key, value) = part.split_once('=')?;
            Some((field(key)?.key, value.to_owned()))
        });
        Some(issue.with_fixes(label.to_owned(), set.collect()))
    };
    lines.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::{schedule_ids, time, with_schedule};
    use crate::core::run::Run;

    #[test]
    fn every_schedule_arrives_as_it_left() {
        let run = Run {
            global_batch: 512,
            ..Run::default()
        };
        let mut arrived = 0;
        for id in schedule_ids() {
            let Ok(timed) = time(&run.with_texts(&with_schedule(&run, id)).unwrap()) else {
                assert_eq!(id, "custom");
                continue;
            };
            let back = unpack(&pack(&timed), &issue_lines(&timed.warnings));
            assert_eq!(back, Some(timed), "{id}");
            arrived += 1;
        }
        assert_eq!(arrived, schedule_ids().count() - 1);
        assert_eq!(unpack(&[4.0, 0.0], ""), None);
    }

    #[test]
    fn issues_arrive_with_their_fixes() {
        let sent = vec![
            Issue::error("tp", "7 does not divide 32 heads").with_fix("tp", 4),
            Issue::warning("model.moe.experts", "a line\nand\ttabs"),
            Issue::notice("", "said"),
        ];
        let back = issues(&issue_lines(&sent));
        assert_eq!(
            back[0].fix.as_ref().unwrap().set,
            sent[0].fix.as_ref().unwrap().set
        );
        assert_eq!(back[1].message.to_string(), "a line and tabs");
        assert_eq!((back[2].severity, back.len()), (Severity::Notice, 3));
    }
}
