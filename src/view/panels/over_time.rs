//! Memory over one step as stacked areas: a column a pixel, each with the fullest instant that falls into it, so that
//! no peak is lost however many ops a step has.

use super::pipeline::kind_name;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::memory::PeakMoment;
use shardscope_core::memory::curve::LiveChunk;
use shardscope_core::pipeline::OpKind;
use shardscope_core::report::over_time::{Instant, OverTime};
use shardscope_core::sort::sort;

/// The picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Areas {
    /// For each pixel column the tops of the six components on the scale, 0 to 1, each on top of the one before.
    pub columns: Vec<[f64; 6]>,
    /// Bytes at the top of the picture.
    pub scale: Bytes,
    /// The capacity on the scale, 0 to 1.
    pub capacity: f64,
    /// The fullest instant on the axis, 0 to 1.
    pub peak: f64,
    /// Its height on the scale, 0 to 1.
    pub top: f64,
}

/// Lays out the curve over `width` pixel columns; the scale ends above the higher of capacity and peak.
pub(crate) fn areas(curve: &OverTime, capacity: Bytes, width: usize) -> Areas {
    let fullest = curve.fullest();
    let most = fullest.total();
    let scale = most.max(capacity) * 1.08;
    let makespan = curve.makespan.0.max(f64::MIN_POSITIVE);
    let mut columns = Vec::with_capacity(width);
    let mut next = 0;
    for column in 0..width {
        let end = makespan * (column + 1) as f64 / width as f64;
        // The value at which the column begins counts as well as the changes within it.
        let mut worst = curve.at(Seconds(makespan * column as f64 / width as f64));
        let is_last = column + 1 == width;
        while let Some(one) = curve.instants.get(next).filter(|one| one.time.0 < end || is_last) {
            if one.total().0 > worst.total().0 {
                worst = *one;
            }
            next += 1;
        }
        columns.push(tops(&worst, scale));
    }
    Areas { columns, scale, capacity: capacity / scale, peak: fullest.time.0 / makespan, top: most / scale }
}

fn tops(instant: &Instant, scale: Bytes) -> [f64; 6] {
    let mut at = 0.0;
    instant.components.map(|bytes| {
        at += bytes / scale;
        at
    })
}

/// "stage 0: 4 micro-batches × 8 layers, 27.1 GiB".
fn alive((one, layers): &(LiveChunk, u64), several: bool, unit: MemoryUnit) -> Message {
    let bytes = unit.show(one.bytes);
    // Splits are fractions of a micro-batch.
    let count = (one.microbatches * 100.0).round() / 100.0;
    let alive = if count > 1.0 {
        let count = number(count, 3);
        t!("{count} micro-batches × {layers} layers, {bytes}", count, layers, bytes)
    } else {
        let count = number(count, 3);
        t!("{count} micro-batch × {layers} layers, {bytes}", count, layers, bytes)
    };
    if several { t!("stage {stage}: {alive}", stage = one.stage, alive) } else { alive }
}

/// The fullest instant in words: when it is, what runs, what is alive, what stands on top.
pub(crate) fn peak_words(curve: &OverTime, unit: MemoryUnit) -> Message {
    let fullest = curve.fullest();
    let (time, total) = (show_seconds(fullest.time), unit.show(fullest.total()));
    let when = match curve.op {
        _ if curve.moment.is_some() => {
            let moment = curve.moment.map_or("", PeakMoment::words);
            t!("Fullest at {time} with {total}, {moment}.", time, total, moment)
        }
        Some(op) => t!(
            "Fullest at {time} with {total}, as the {kind} of micro-batch {microbatch} begins.",
            time,
            total,
            kind = kind_name(op.op.kind),
            microbatch = op.op.microbatch
        ),
        None => t!("Fullest at {time} with {total}.", time, total),
    };
    let mut then: Vec<Message> = curve.alive.iter().map(|one| alive(one, curve.alive.len() > 1, unit)).collect();
    if curve.head.0 > 0.0 {
        then.push(t!("of it logits and inputs of the head, {head}", head = unit.show(curve.head)));
    }
    if curve.moment.is_some() || curve.op.is_some_and(|op| op.op.kind != OpKind::F) {
        for (name, bytes) in curve.momentary.iter().filter(|(_, bytes)| bytes.0 > 0.0) {
            then.push(t!("{part}, {bytes}", part = *name, bytes = unit.show_any(*bytes)));
        }
    }
    if then.is_empty() {
        then.push(t!("no activations"));
    }
    let alive = Message::joined("; ", then);
    t!("{when} Alive then: {alive}.", when, alive)
}

/// At most `most` instants for a table: evenly spaced over the step, and the fullest.
pub(crate) fn sampled(curve: &OverTime, most: usize) -> Vec<Instant> {
    let count = curve.instants.len();
    let stride = count.div_ceil(most.max(1)).max(1);
    let mut chosen: Vec<usize> = (0..count).step_by(stride).collect();
    chosen.push(curve.peak);
    sort(&mut chosen);
    chosen.dedup();
    chosen.into_iter().filter_map(|at| curve.instants.get(at).copied()).collect()
}

/// The curve as a table: a few instants, the fullest among them.
pub(crate) fn curve_table(curve: &OverTime, unit: MemoryUnit) -> Node {
    let fullest = curve.fullest();
    let is_fullest = |instant: &Instant| *instant == fullest;
    let time = |instant: &Instant| {
        let time = show_seconds(instant.time);
        if is_fullest(instant) { t!("{time} (fullest)", time) } else { verbatim(time) }
    };
    let [.., activations, buffers, overhead] = Component::ALL;
    let bytes = |instant: &Instant, component: Component| unit.number(instant.components[component as usize]);
    Rows::of(sampled(curve, 24))
        .column("time", time)
        .figures("activations", |instant| bytes(instant, activations))
        .figures("buffers", |instant| bytes(instant, buffers))
        .figures("overhead", |instant| bytes(instant, overhead))
        .figures(t!("total {value}", value = unit.name()), |instant| unit.number(instant.total()))
        .marked(is_fullest)
        .table("Memory over the step")
}

/// The legend of the six components and of the line across them.
pub fn legend(usable: Bytes, unit: MemoryUnit) -> Node {
    let entry = |component: Component| super::memory::legend_entry(component);
    let components: Node = Component::ALL.into_iter().map(entry).collect();
    let line = t!("line: {usable} usable", usable = Scope::run().says("usable memory of the GPU", unit.show(usable)));
    Node::from_iter([components, inline(&line)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::over_time::over_time;

    #[test]
    fn however_narrow_the_picture_the_peak_is_in_it() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let memory = &evaluation.report.memory;
        for rank in &memory.per_stage {
            let curve = over_time(&evaluation, rank.stage).unwrap();
            for width in [3, 50, 700] {
                let picture = areas(&curve, memory.capacity_bytes, width);
                assert_eq!(picture.columns.len(), width);
                let highest = picture.columns.iter().map(|tops| tops[5]);
                let highest = highest.fold(0.0, f64::max);
                assert!((highest - rank.total / picture.scale).abs() < 1e-9);
                assert!((picture.top - highest).abs() < 1e-9);
                for tops in &picture.columns {
                    assert!(tops.is_sorted() && tops[5] <= 1.0);
                }
            }
        }
    }

    #[test]
    fn the_peak_is_told_in_words() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let curve = over_time(&evaluation, 0).unwrap();
        let words = peak_words(&curve, MemoryUnit::Gib).to_string();
        assert!(words.contains("backward of micro-batch 0 begins"), "{words}");
        assert!(words.contains("4 micro-batches × 8 layers, "), "{words}");
        assert!(!words.contains("GB"), "{words}");
        let last = over_time(&evaluation, 3).unwrap();
        let words = peak_words(&last, MemoryUnit::Gib).to_string();
        assert!(words.contains("1 micro-batch × 8 layers"), "{words}");
        assert!(words.contains("logits"), "{words}");
    }

    #[test]
    fn a_table_of_the_curve_is_short_and_has_the_peak() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let curve = over_time(&evaluation, 1).unwrap();
        let rows = sampled(&curve, 12);
        assert!(rows.len() <= 13 && rows.contains(&curve.fullest()));
    }
}
