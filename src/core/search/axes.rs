//! Values that each searched field may take: divisors of model and cluster, the values that the request allows, and
//! those it pins.

use super::able::limit;
use crate::field::Held;
use crate::issue::Issue;
use crate::report::SHOWN_CHUNKS;
use crate::run::presets::published_alike;
use crate::run::registry::field;
use crate::run::{Recompute, Run, Schedule, TpOverlap, Value, divisors};
use crate::statics::named;
use crate::t;

/// Fewest tokens of a sequence on a context-parallel rank that are tried unasked: below, ring blocks outweigh
/// attention.
const TOKENS_PER_RANK: u64 = 1024;
/// Micro-batches that are tried unasked.
const MICRO_BATCHES: [u64; 4] = [1, 2, 4, 8];
/// Chunks a rank that are tried unasked.
const CHUNKS: [u64; 5] = [2, 3, 4, 6, 8];
/// Schedules that are tried unasked: what training frameworks ship, without what changes the result of a step.
const SCHEDULES: [Schedule; 4] = [Schedule::OneFOneB, Schedule::Interleaved, Schedule::ZbH1, Schedule::ZbV];
/// More pipeline ranks than this are tried only on request.
const MAX_RANKS: u64 = 128;

named! {
    /// Split of layers over stages.
    #[derive(PartialOrd, Ord)]
    pub enum SplitRule: id {
        /// As evenly as it goes.
        Even = "even",
        /// The last stage counts its head as one layer.
        SpareLast = "spare-last",
        /// The embedding and the head count as one layer each (Llama 3).
        SpareEnds = "spare-ends",
        /// The run's own.
        Given = "given",
    }
}

/// The values that are tried, by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    pub tp: Vec<u64>,
    pub pp: Vec<u64>,
    pub cp: Vec<u64>,
    pub ep: Vec<u64>,
    /// Expert tensor parallel; none: 1 and tp.
    pub etp: Option<Vec<u64>>,
    pub zero: Vec<u64>,
    /// Sequences a micro-batch.
    pub micro_batch: Vec<u64>,
    pub sequence_parallel: Vec<bool>,
    pub recompute: Vec<Recompute>,
    pub schedules: Vec<Schedule>,
    /// Chunks a rank, of the schedules that take any; none: 2, and more where stages come out equal.
    pub virtual_stages: Option<Vec<u64>>,
    pub splits: Vec<SplitRule>,
    /// Only what the software of the run can run.
    pub able: bool,
}

impl Axes {
    /// Values that are tried for `run` where the request names none.
    ///
    /// # Errors
    /// A model or GPU that is not complete.
    pub fn of(run: &Run) -> Result<Self, Vec<Issue>> {
        let (model, gpu) = (run.model.resolve()?, run.gpu.resolve()?);
        let (gpus, per_node) = (run.training_gpus(), run.gpus_per_node.unwrap_or(gpu.per_node));
        let experts = model.moe.map_or(1, |moe| moe.experts);
        let divisors = |whole: u64, most: u64| divisors(whole).take_while(|part| *part <= most).collect();
        Ok(Self {
            tp: divisors(gpus, per_node),
            pp: divisors(gpus, model.layers.min(MAX_RANKS)),
            cp: divisors(gpus, (run.seq_len / TOKENS_PER_RANK).max(1)),
            ep: divisors(experts, gpus),
            etp: None,
            zero: vec![0, 1, 2, 3],
            micro_batch: MICRO_BATCHES.to_vec(),
            sequence_parallel: with_sequences(run),
            recompute: vec![Recompute::None, Recompute::Selective, Recompute::Full],
            schedules: SCHEDULES.to_vec(),
            virtual_stages: None,
            splits: vec![SplitRule::Even, SplitRule::SpareLast, SplitRule::SpareEnds],
            able: false,
        })
    }

    /// Values that are tried for `run`, of which its software can run all, under every schedule that it has, and with
    /// the modules that its model was published to recompute on as many of these GPUs.
    ///
    /// # Errors
    /// A model or GPU that is not complete.
    pub fn able(run: &Run) -> Result<Self, Vec<Issue>> {
        let mut axes = Self::of(run)?;
        for (_, published) in published_alike(run) {
            if !axes.recompute.contains(&published.recompute) {
                axes.recompute.push(published.recompute);
            }
        }
        limit(&mut axes, run);
        Ok(axes)
    }

    /// Keeps `name` as `run` has it. A pin on what is not searched changes nothing: that is kept anyway.
    ///
    /// # Errors
    /// A name that is no field.
    pub fn pin(&mut self, name: &str, run: &Run) -> Result<(), Issue> {
        match name {
            "recompute" => self.recompute = vec![run.recompute.clone()],
            "schedule" => self.schedules = vec![run.schedule],
            "stage_layers" => {
                self.splits = vec![if run.stage_layers.is_some() { SplitRule::Given } else { SplitRule::Even }];
            }
            "dp" => {
                let message = "dp is derived from gpus, tp, pp and cp: pin those";
                return Err(Issue::error("pin", message));
            }
            other => {
                let Some(field) = field(other) else {
                    return Err(Issue::error("pin", t!("{other} is no field of a run", other = other.to_owned())));
                };
                // Names that are not searched and an `etp` that the run leaves open are refused: both stay as the run
                // has them.
                let _ = self.limit(other, &field.get(run));
            }
        }
        Ok(())
    }

    /// Tries only `values` of `name`.
    ///
    /// # Errors
    /// A name that is not searched, or a value that it cannot take.
    pub fn limit(&mut self, name: &str, values: &Value) -> Result<(), Issue> {
        let wrong = |wanted: &'static str| {
            let message = t!("space.{name} takes {wanted}", name = name.to_owned(), wanted);
            Issue::error(format!("space.{name}"), message)
        };
        let list: &[Value] = match values {
            Value::List(items) if !items.is_empty() => items,
            Value::List(_) => return Err(wrong("at least one value")),
            one => std::slice::from_ref(one),
        };
        let counts = || {
            let least = u64::from(name != "zero");
            list.iter().map(|value| u64::of(value).filter(|count| *count >= least)).collect::<Option<Vec<u64>>>()
        };
        let counts = || counts().ok_or_else(|| wrong("whole numbers"));
        match name {
            "tp" => self.tp = counts()?,
            "pp" => self.pp = counts()?,
            "cp" => self.cp = counts()?,
            "ep" => self.ep = counts()?,
            "etp" => self.etp = Some(counts()?),
            "zero" => {
                self.zero = counts()?;
                if self.zero.iter().any(|stage| *stage > 3) {
                    return Err(wrong("stages 0 to 3"));
                }
            }
            "micro_batch" => self.micro_batch = counts()?,
            "virtual_stages" => self.virtual_stages = Some(counts()?),
            "sequence_parallel" => {
                let flags: Option<_> = list.iter().map(bool::of).collect();
                self.sequence_parallel = flags.ok_or_else(|| wrong("true, false or both"))?;
            }
            "schedule" => {
                let one = |value| Schedule::of(value).filter(|schedule| *schedule != Schedule::Custom);
                let schedules: Option<_> = list.iter().map(one).collect();
                self.schedules = schedules.ok_or_else(|| wrong("ids of schedules"))?;
            }
            "recompute" => {
                let kinds: Option<_> = list.iter().map(|value| Recompute::from_rule(value.text()?)).collect();
                self.recompute = kinds.ok_or_else(|| wrong("none, selective, op-selective, full"))?;
            }
            "split" => {
                let splits = [SplitRule::Even, SplitRule::SpareLast, SplitRule::SpareEnds];
                let one = |value: &Value| splits.into_iter().find(|split| value.text() == Some(split.id()));
                let splits: Option<_> = list.iter().map(one).collect();
                self.splits = splits.ok_or_else(|| wrong("even, spare-last, spare-ends"))?;
            }
            _ => {
                let message = t!("space.{name} is not searched", name = name.to_owned());
                return Err(Issue::error(format!("space.{name}"), message));
            }
        }
        Ok(())
    }

    /// Chunks a rank that `schedule` is tried with on `pp` ranks of `layers`.
    pub fn chunks(&self, schedule: Schedule, run: &Run, pp: u64, layers: u64) -> Vec<ScheduleChunks> {
        if let Some(fixed) = schedule.fixed_chunks(&run.schedule_options) {
            return vec![ScheduleChunks { schedule, virtual_stages: 1, each: fixed }];
        }
        let equal = |v: u64| {
            let stages = pp.saturating_mul(v);
            (layers..layers + 3).any(|layers| layers.is_multiple_of(stages))
        };
        let unasked = || {
            let more = CHUNKS.into_iter();
            more.filter(|v| if self.able { SHOWN_CHUNKS.contains(v) } else { *v == 2 } || equal(*v)).collect()
        };
        let list: Vec<u64> = self.virtual_stages.clone().unwrap_or_else(unasked);
        list.into_iter().map(|v| ScheduleChunks { schedule, virtual_stages: v, each: v }).collect()
    }
}

/// Sequence parallelism that is tried unasked: userbuffers need it.
fn with_sequences(run: &Run) -> Vec<bool> {
    if run.software().tp_overlap == TpOverlap::Userbuffers { vec![true] } else { vec![true, false] }
}

/// A schedule with its chunks a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleChunks {
    pub schedule: Schedule,
    /// `virtual_stages` of the run: 1 where the schedule fixes its chunks.
    pub virtual_stages: u64,
    /// Chunks a rank.
    pub each: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_space_divides_the_cluster_and_stays_in_the_node() {
        let axes = Axes::of(&Run::default()).unwrap();
        assert_eq!(axes.tp, [1, 2, 4, 8]);
        assert_eq!(axes.pp, [1, 2, 4, 8, 16, 32]);
        assert_eq!(axes.cp, [1, 2, 4, 8]);
        assert_eq!(axes.ep, [1]);
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        let run = Run::default();
        let mut axes = Axes::of(&run).unwrap();
        assert!(axes.pin("dp", &run).is_err());
        assert!(axes.pin("typo", &run).is_err());
        assert!(axes.pin("seq_len", &run).is_ok());
        assert!(axes.limit("tp", &Value::List(Vec::new())).is_err());
        assert!(axes.limit("zero", &Value::Number(4.0)).is_err());
        assert!(axes.limit("tp", &Value::Number(4.0)).is_ok());
        assert_eq!(axes.tp, [4]);
    }
}
