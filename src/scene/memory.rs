//! The memory bars: one stacked bar a pipeline rank on a common scale, against the capacity.

use crate::report::Memory;
use crate::units::Bytes;

/// A bar's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// "weights", "gradients"...
    pub component: &'static str,
    /// How large.
    pub bytes: Bytes,
    /// Left edge on the scale, 0 to 1.
    pub start: f64,
    /// Length on the scale, 0 to 1.
    pub length: f64,
}

/// One bar.
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
}

/// The picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// A bar a rank, or fewer where neighbours are equal and ranks are many.
    pub bars: Vec<Bar>,
    /// The capacity on the scale, 0 to 1.
    pub capacity: f64,
}

/// More ranks than this: equal neighbours share a bar.
const MOST_BARS: usize = 16;

/// Lays the bars out; the scale ends a little beyond the longer of capacity and fullest rank.
#[must_use]
pub fn bars(memory: &Memory) -> Bars {
    let scale = memory.peak_bytes.max(memory.capacity_bytes) * 1.02;
    let mut bars: Vec<Bar> = Vec::new();
    for rank in &memory.per_stage {
        let mut at = 0.0;
        let mut segments = Vec::new();
        for (component, bytes) in rank.components() {
            let length = bytes / scale;
            if bytes.0 > 0.0 {
                segments.push(Segment {
                    component,
                    bytes,
                    start: at,
                    length,
                });
            }
            at += length;
        }
        let is_peak = rank.stage == memory.peak_stage;
        match bars.last_mut() {
            Some(last)
                if memory.per_stage.len() > MOST_BARS
                    && last.segments == segments
                    && !last.is_peak
                    && !is_peak =>
            {
                last.stages.1 = rank.stage;
            }
            _ => bars.push(Bar {
                stages: (rank.stage, rank.stage),
                segments,
                total: rank.total,
                is_peak,
            }),
        }
    }
    Bars {
        bars,
        capacity: memory.capacity_bytes / scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::report;
    use crate::run::Run;

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
