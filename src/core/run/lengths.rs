//! Lengths of the samples of a training set, as a person sets them.

use crate::field::Steps::Double;
use crate::field::{Held, Row, Slot, Value, fields, one_of, training};
use crate::units::{parse_count, parse_number, shortest};

one_of! {
    /// Distribution of the lengths of samples.
    LengthShape {
        /// All alike.
        Constant = "constant" "all equal",
        /// Log-normal, cut at the sequence.
        LogNormal = "log-normal" "log-normal",
        /// Shares of ranges of length.
        Histogram = "histogram" "histogram",
    }
}

one_of! {
    /// How micro-batches are dealt to the data-parallel replicas of a step.
    Deal {
        /// In the order in which they come.
        Arrival = "arrival" "as they arrive",
        /// The longest first, each to the replica with the least work.
        Sorted = "sorted" "longest first",
    }
}

/// Most ranges of a histogram.
const MOST_RANGES: usize = 256;

/// Shares of samples by length: each up to an edge in tokens, log-uniform from the edge before.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthHistogram(pub Vec<(u64, f64)>);

impl LengthHistogram {
    /// Reads `1k:22,2k:15`, a pasted table of two columns, or JSON's `[[1024, 22], [2048, 15]]`.
    fn read(text: &str) -> Option<Self> {
        let has_colons = text.contains(':');
        let ends = |c: char| matches!(c, '|' | ';' | '\n') || has_colons && c == ',';
        let range = |entry: &str| {
            let entry = entry.trim();
            let (edge, share) = entry.split_once([':', ',', '\t', ' '])?;
            Some((parse_count(edge.trim())?, parse_number(share.trim())?))
        };
        let entries = text.split(ends).filter(|entry| !entry.trim().is_empty());
        let ranges: Option<Vec<_>> = entries.map(range).collect();
        ranges.filter(|ranges| (1..=MOST_RANGES).contains(&ranges.len())).map(Self)
    }
}

impl Held for LengthHistogram {
    fn slot(_: &Row) -> Slot {
        Slot::Text
    }
    fn get(&self) -> Value {
        let range = |(edge, share): &(u64, f64)| format!("{edge}:{}", shortest(*share));
        Value::Text(self.0.iter().map(range).collect::<Vec<_>>().join(","))
    }
    fn of(value: &Value) -> Option<Self> {
        Self::read(value.text()?)
    }
}

fields! {
    /// Lengths of samples, and how they come into micro-batches.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LengthsParts in "lengths." {
        /// distribution of the samples' lengths; unset: each fills its sequence
        base: Option<LengthShape> => training("Sample lengths").advanced(),
        /// median tokens of a sample, of a log-normal distribution or of equal ones
        median: Option<f64> => training("Median sample").unit("tokens").number(1.0, 1e9, 256.0).advanced(),
        /// standard deviation of the logarithm of a log-normal length
        sigma: Option<f64> => training("Spread of samples").symbol("σ").number(0.01, 3.0, 0.1).advanced(),
        /// upper edge in tokens and share of each range of length, with commas: 1k:22,2k:15,4k:29,8k:28,16k:6
        values: Option<LengthHistogram> => training("Histogram of samples").advanced(),
        /// capacity of a sequence that samples are packed into, at least the longest; unset: none are packed, shorter
        /// ones of a micro-batch are padded to its longest
        pack: Option<u64> => training("Packed to").unit("tokens").count(1, 1 << 40, Double).advanced(),
        /// how micro-batches come to the data-parallel replicas; unset: as they arrive
        deal: Option<Deal> => training("Dealt").advanced(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_read_as_typed_as_pasted_and_from_json() {
        let read = |text: &str| LengthHistogram::read(text).map(|found| found.0);
        let two = Some(vec![(1024, 22.0), (2048, 0.5)]);
        for text in ["1k:22,2k:0.5", "1024:22;2048:0.5", "1024\t22\n2048\t0.5\n", "1024,22|2048,0.5", " 1k 22 \n2k 0.5"]
        {
            assert_eq!(read(text), two, "{text}");
        }
        assert_eq!(read("1024,1"), Some(vec![(1024, 1.0)]));
        for text in ["", "1k", "1k:-2", "zzz", "1k:22,2k"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
