//! Several ranks: who is late, who waits, and the three ratios that tell a slow machine, unequal stages and unequal
//! micro-batches apart.

use super::{head, legend_item};
use crate::prelude::*;
use shardscope_core::diagnose::{CauseId, Diagnosis, SeveralRanks, WorkerTimes};

/// From this ratio on something is unequal.
const UNEQUAL: f64 = 1.05;
/// From this spread on micro-batches are.
const SCATTER: f64 = 0.05;

/// The band that names the late rank.
pub(super) fn late(found: &Diagnosis) -> Option<Node> {
    let rank = found.ranks.as_ref()?.late?;
    let cause = found.causes.iter().find(|cause| cause.id == CauseId::LateRank)?;
    let head = el("b", &[], &[text(verbatim("▲ ")), text(t!("Rank {rank} is late", rank))]);
    let words = inline(cause.evidence.clone());
    Some(el("p", &[("class", "band bad"), ("role", "status")], &[head, text(" "), words]))
}

/// A bar a rank: compute, on the wire, waiting.
pub(super) fn waits(ranks: &SeveralRanks) -> Node {
    let seconds = |value: f64| show_seconds(Seconds(value));
    let parts = |row: &shardscope_core::diagnose::RankWaits| {
        [
            ("me d-forward", row.compute_s.unwrap_or(0.0)),
            ("me d-exposed", row.wire_s),
            ("me d-muted hatched", row.waiting_s),
        ]
    };
    let most =
        ranks.ranks.iter().map(|row| parts(row).iter().map(|part| part.1).sum()).fold(f64::MIN_POSITIVE, f64::max);
    let late = ranks.late;
    let bars = |row: &shardscope_core::diagnose::RankWaits| {
        let mut start = 0.0;
        let mut inside = Vec::new();
        for (class, part) in parts(row) {
            inside.push(bar_at(class, start, part / most));
            start += part / most;
        }
        el("span", &[("class", "track wide"), ("aria-hidden", "true")], &inside)
    };
    let computes = ranks.ranks.iter().any(|row| row.compute_s.is_some());
    let mut table = Rows::of(ranks.ranks.clone())
        .marked(|row| Some(row.rank) == late)
        .figures("rank", |row| row.rank.to_string())
        .column("", bars);
    if computes {
        table = table.figures("compute", |row| row.compute_s.map_or_else(String::new, seconds));
    }
    let table = table
        .figures("on the wire", |row| seconds(row.wire_s))
        .figures("waiting for another rank", |row| seconds(row.waiting_s))
        .figures("makes the others wait", |row| seconds(row.makes_wait_s));
    let mut key = vec![
        legend_item("me d-exposed", t!("on the wire")),
        legend_item("me d-muted hatched", t!("waiting for another rank")),
    ];
    if computes {
        key.insert(0, legend_item("me d-forward", t!("compute")));
    }
    let beside = t!("{calls} calls of all ranks", calls = ranks.calls);
    Node::from_iter([
        head("Who waits, and who is waited for", beside, el("span", &[("class", "key-line")], &key)),
        el("div", &[("class", "waits")], &[table.table("Waits by rank")]),
    ])
}

/// The card of a ratio, marked where it is high.
fn ratio_card(name: &'static str, value: Option<f64>, is_high: bool, shown: String, words: Message) -> Node {
    let figure = match value {
        None => leaf("span", "muted", "not known"),
        Some(_) if is_high => leaf("b", "high", verbatim(format!("▲ {shown}"))),
        Some(_) => leaf("b", "", verbatim(shown)),
    };
    let class = if value.is_some() && is_high { "box high" } else { "box" };
    el(
        "div",
        &[("class", class)],
        &[el("p", &[("class", "named")], &[strong(name), figure]), leaf("p", "muted", words)],
    )
}

/// The measured step beside that of a pipeline without messages, of equal stages and of those that were measured.
fn step_table(workers: &WorkerTimes) -> Node {
    let seconds = |value: Option<f64>| value.map(|value| show_seconds(Seconds(value))).unwrap_or_default();
    let rows: [(Message, Option<f64>); 3] = [
        (t!("stages that take equal time, no messages"), workers.even_s),
        (t!("stages as they are, no messages"), workers.stages_s),
        (t!("measured"), Some(workers.measured_s)),
    ];
    let rows = rows.into_iter().filter(|row| row.1.is_some());
    let table = Rows::of(rows).column("The step", |row| text(row.0.clone())).figures("", |row| seconds(row.1));
    table.table("The step")
}

/// Three cards; none where neither traces of several ranks nor a job's operations were read.
pub(super) fn ratios(found: &Diagnosis) -> Option<Node> {
    if found.ranks.is_none() && found.workers.is_none() {
        return None;
    }
    let of_job = found.workers.as_ref().map(|workers| workers.ratios);
    let of_ranks = found.ranks.as_ref();
    let workers = of_job.map(|ratios| ratios.workers).or(of_ranks.and_then(|ranks| ranks.workers));
    let stages = of_job.map(|ratios| ratios.stages).or(of_ranks.and_then(|ranks| ranks.stages));
    let scatter = of_job.map(|ratios| ratios.microbatches);
    let ratio = |value: Option<f64>| value.map(|value| significant(value, 3)).unwrap_or_default();
    let high = |value: Option<f64>| value.is_some_and(|value| value > UNEQUAL);
    let unknown = |known: bool, words: Message, missing: Message| {
        if known { words } else { Message::joined(" ", [words, missing]) }
    };
    let cards = [
        ratio_card(
            "Workers",
            workers,
            high(workers),
            ratio(workers),
            unknown(
                workers.is_some(),
                t!("Slowest against the median of its stage. High: one slow machine."),
                t!("Add traces of three ranks of a stage."),
            ),
        ),
        ratio_card(
            "Stages",
            stages,
            high(stages),
            ratio(stages),
            unknown(
                stages.is_some(),
                t!("Slowest stage against the median. High: layers are split unequally."),
                t!("Add a trace of every stage."),
            ),
        ),
        ratio_card(
            "Micro-batches",
            scatter,
            scatter.is_some_and(|scatter| scatter > SCATTER),
            scatter.map(show_percent).unwrap_or_default(),
            unknown(
                scatter.is_some(),
                t!("Scatter of a rank's micro-batches. High: unequal sequence lengths."),
                t!("Add the operations of all workers."),
            ),
        ),
    ];
    let mut parts = vec![
        head("Three ratios", t!("1.00 is equal; each names another cause"), Node::none()),
        el("div", &[("class", "thirds")], &cards),
    ];
    parts.extend(found.workers.as_ref().map(step_table));
    Some(parts.into_iter().collect())
}
