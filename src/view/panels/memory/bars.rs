//! The memory bars: one stacked bar a pipeline rank on a common scale, against the capacity.

use crate::prelude::*;
use shardscope_core::memory::StageMemory;
use shardscope_core::report::Memory;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    pub component: Component,
    pub bytes: Bytes,
    /// Left edge on the scale, 0 to 1.
    pub start: f64,
    /// Length on the scale, 0 to 1.
    pub length: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Pipeline ranks that it stands for: one, or several alike in a row.
    pub stages: (usize, usize),
    /// Its parts, left to right; empty ones left out.
    pub segments: Vec<Segment>,
    /// The end of the bar.
    pub total: Bytes,
    /// The fullest of all.
    pub is_peak: bool,
    /// Range of its need on the scale, 0 to 1, where it is the fullest of all.
    pub range: Option<(f64, f64)>,
}

impl Bar {
    /// Its end on the scale, 0 to 1.
    pub fn end(&self) -> f64 {
        self.segments.last().map_or(0.0, |part| part.start + part.length)
    }
    /// "rank 3", or "rank 4–7".
    pub fn name(&self) -> Message {
        let (first, last) = self.stages;
        if first == last { t!("rank {first}", first) } else { t!("rank {first}–{last}", first, last) }
    }
}

/// A part shorter than this is drawn without a line between it and the next.
const SLIVER: f64 = 0.008;

impl Segment {
    /// True if it is too short to be set apart from its neighbours.
    pub fn is_sliver(&self) -> bool {
        self.length < SLIVER
    }
    /// Its class in the style sheet.
    pub fn class(&self) -> String {
        let sliver = if self.is_sliver() { " sliver" } else { "" };
        format!("segment c-{component}{sliver}", component = self.component.name())
    }
}

/// The picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// A bar a rank; equal neighbours share one.
    pub bars: Vec<Bar>,
    /// The capacity on the scale, 0 to 1.
    pub capacity: f64,
}

impl Bars {
    /// The components that any bar has, in the order of the bars' parts.
    pub fn used(&self) -> impl Iterator<Item = Component> {
        Component::ALL.into_iter().filter(|component| {
            let mut parts = self.bars.iter().flat_map(|bar| &bar.segments);
            parts.any(|part| part.component == *component)
        })
    }
}

/// Lays the bars out on a scale of their own.
pub fn bars(memory: &Memory) -> Bars {
    bars_on(memory, scale(memory))
}

/// End of the scale: a little beyond the longest of capacity, fullest rank and range of its need.
pub fn scale(memory: &Memory) -> Bytes {
    let need = memory.peak_bytes.max(memory.need_high_bytes);
    need.max(memory.capacity_bytes) * 1.02
}

/// Lays the bars out on a scale that ends at `scale`.
pub(crate) fn bars_on(memory: &Memory, scale: Bytes) -> Bars {
    let mut bars: Vec<Bar> = Vec::new();
    for rank in &memory.per_stage {
        let mut at = 0.0;
        let mut segments = Vec::new();
        for (component, (_, bytes)) in Component::ALL.into_iter().zip(rank.components()) {
            let length = bytes / scale;
            if bytes.0 > 0.0 {
                segments.push(Segment { component, bytes, start: at, length });
            }
            at += length;
        }
        match bars.last_mut() {
            Some(last) if last.segments == segments => last.stages.1 = rank.stage,
            _ => bars.push(Bar {
                stages: (rank.stage, rank.stage),
                segments,
                total: rank.total,
                is_peak: false,
                range: None,
            }),
        }
        if rank.stage == memory.peak_stage
            && let Some(bar) = bars.last_mut()
        {
            let share = |bytes: Bytes| (bytes / scale).min(1.0);
            bar.is_peak = true;
            // With phases the range is that of the largest one.
            let range = (share(memory.need_low_bytes), share(memory.need_high_bytes));
            bar.range = memory.phases.is_empty().then_some(range);
        }
    }
    Bars { bars, capacity: memory.capacity_bytes / scale }
}

/// A named part of a component and its bytes on each of some ranks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComponentRow {
    pub component: Component,
    pub name: &'static str,
    /// Bytes on each rank; 0 where a rank has none.
    pub bytes: Vec<Bytes>,
}

/// The named parts of all components over the ranks, for the table behind the bars.
pub(crate) fn part_rows(ranks: &[&StageMemory]) -> Vec<ComponentRow> {
    let mut rows: Vec<ComponentRow> = Vec::new();
    for component in Component::ALL {
        for rank in ranks {
            for part in rank.parts(component) {
                if !rows.iter().any(|row| row.component == component && row.name == part.name) {
                    let on = |rank: &&StageMemory| {
                        let items =
                            rank.items.iter().filter(|item| item.component == component && item.name == part.name);
                        items.map(|item| item.bytes).sum()
                    };
                    rows.push(ComponentRow { component, name: part.name, bytes: ranks.iter().map(on).collect() });
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::report;

    #[test]
    fn the_named_parts_of_a_rank_add_up_to_its_total() {
        let memory = report(&Run::default()).unwrap().memory;
        let ranks: Vec<_> = memory.per_stage.iter().collect();
        let rows = part_rows(&ranks);
        for (at, rank) in ranks.iter().enumerate() {
            let sum: Bytes = rows.iter().map(|row| row.bytes[at]).sum();
            assert!((sum / rank.total - 1.0).abs() < 1e-9);
        }
        let logits = rows.iter().find(|row| row.name == "logits").unwrap();
        assert!(logits.bytes[0] == Bytes::ZERO && logits.bytes[3].0 > 0.0);
    }

    #[test]
    fn parts_touch_and_end_at_the_total() {
        let memory = report(&Run::default()).unwrap().memory;
        let picture = bars(&memory);
        assert_eq!(picture.bars.len(), 4);
        for bar in &picture.bars {
            let mut at = 0.0;
            for segment in &bar.segments {
                assert!((segment.start - at).abs() < 1e-12);
                at += segment.length;
            }
            assert!((at - bar.total / (memory.capacity_bytes / picture.capacity)).abs() < 1e-12);
        }
    }
}
