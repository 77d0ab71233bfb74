//! Operations of a whole pipeline as JSON: Primus' `dump_pp_data` (`{rank: {iteration: {"fwd_start": [...]}}}`,
//! milliseconds of each rank's own clock) and rocprofv3's dispatches.

use crate::json_scan::{JsonEvent, Scanner};
use shardscope_core::diagnose::{GpuWork, RankTrace, WorkKind, WorkerOp};
use shardscope_core::time::KernelClass;
use std::collections::{BTreeMap, HashMap};

/// Values that are kept at most.
const MAX_VALUES: usize = 4_000_000;

/// The lists of a rank and iteration.
const LISTS: [&str; 4] = ["fwd_start", "fwd_end", "bwd_start", "bwd_end"];

/// A dump of Primus as far as it was read.
#[derive(Default)]
pub(crate) struct PrimusReader {
    /// By rank, iteration and list.
    lists: BTreeMap<(u64, u64), [Vec<f64>; 4]>,
    values: usize,
}

impl PrimusReader {
    pub fn take(&mut self, scanner: &Scanner, _: &str, event: JsonEvent) {
        // {"0": {"1": {"fwd_start": [0.1, ...]}}}: depth 4 inside a list.
        if let JsonEvent::Number(number) = event
            && scanner.depth() == 4
            && let Some(list) = LISTS.iter().position(|name| *name == scanner.above(0))
            && let (Ok(iteration), Ok(rank)) = (scanner.above(1).parse(), scanner.above(2).parse())
            && self.values < MAX_VALUES
        {
            self.values += 1;
            self.lists.entry((rank, iteration)).or_default()[list].push(number * 1e-3);
        }
    }

    pub fn finish(self) -> Vec<WorkerOp> {
        let mut ops = Vec::new();
        for ((rank, iteration), [forward, forward_end, backward, backward_end]) in self.lists {
            for (is_backward, starts, ends) in [(false, forward, forward_end), (true, backward, backward_end)] {
                let pairs = starts.into_iter().zip(ends).enumerate();
                ops.extend(pairs.filter(|(_, (start, end))| end >= start).map(|(at, (start, end))| WorkerOp {
                    step: iteration,
                    dp: 0,
                    pp: rank,
                    microbatch: at as u64,
                    backward: is_backward,
                    start,
                    end,
                }));
            }
        }
        ops
    }
}

/// A result of rocprofv3 as far as it was read.
#[derive(Default)]
pub(crate) struct RocprofReader {
    names: HashMap<u64, KernelClass>,
    symbol: (u64, String),
    /// Start, end and kernel of the dispatch being read.
    open: [u64; 3],
    dispatches: Vec<[u64; 3]>,
}

/// A whole number from its own text: nanoseconds of a clock have more digits than a double holds.
fn exact_integer(scanner: &Scanner, number: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating
    scanner.token().parse().unwrap_or(number.max(0.0) as u64)
}

impl RocprofReader {
    pub fn take(&mut self, scanner: &Scanner, key: &str, event: JsonEvent) {
        match event {
            JsonEvent::Number(number) if key == "kernel_id" && scanner.above(1) == "kernel_symbols" => {
                self.symbol.0 = exact_integer(scanner, number);
            }
            JsonEvent::Text(text) if key == "formatted_kernel_name" && scanner.above(1) == "kernel_symbols" => {
                text.clone_into(&mut self.symbol.1);
            }
            JsonEvent::End if scanner.above(0) == "kernel_symbols" => {
                let (id, name) = std::mem::take(&mut self.symbol);
                self.names.insert(id, KernelClass::of(&name).class);
            }
            JsonEvent::Number(number) if scanner.above(1) == "kernel_dispatch" => match key {
                "start_timestamp" => self.open[0] = exact_integer(scanner, number),
                "end_timestamp" => self.open[1] = exact_integer(scanner, number),
                _ => {}
            },
            JsonEvent::Number(number) if key == "kernel_id" && scanner.above(2) == "kernel_dispatch" => {
                self.open[2] = exact_integer(scanner, number);
            }
            JsonEvent::End if scanner.above(0) == "kernel_dispatch" => {
                let open = std::mem::take(&mut self.open);
                if open[1] > open[0] && self.dispatches.len() < MAX_VALUES {
                    self.dispatches.push(open);
                }
            }
            _ => {}
        }
    }

    /// The trace; none without dispatches.
    pub fn finish(self) -> Option<RankTrace> {
        let activities = self.dispatches.iter().filter_map(|[start, end, kernel]| {
            let class = self.names.get(kernel).copied().unwrap_or(KernelClass::Elementwise);
            Some(work(i64::try_from(*start).ok()?, i64::try_from(*end).ok()?, WorkKind::Kernel(class)))
        });
        let trace = RankTrace { activities: activities.collect(), ..RankTrace::default() };
        let trace = RankTrace { kernels_ns: trace.activities.iter().map(|one| one.end - one.start).sum(), ..trace };
        (!trace.activities.is_empty()).then(|| trace.sorted())
    }
}

/// Work of which nothing but its time and kind is known.
pub(super) fn work(start: i64, end: i64, kind: WorkKind) -> GpuWork {
    GpuWork { start, end, work: kind, launch: None, graphed: false, group: None, bytes: 0, attention: None }
}
