//! A schedule as it is shown beside the others, and what choosing it sets.

use crate::message::Message;
use crate::pipeline::SCHEDULES;
use crate::run::{OneOf, Run, Schedule};
use crate::t;
use std::fmt::{self, Display, Formatter};

/// Chunks a rank with which interleaving is shown, and tried by a search whether or not they divide the layers.
pub const SHOWN_CHUNKS: [u64; 3] = [2, 4, 8];

/// A schedule as it is shown beside the others: interleaving once for each number of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleVariant {
    pub schedule: Schedule,
    /// Chunks a rank, where it is shown with several numbers of them.
    pub chunks: Option<u64>,
}

impl ScheduleVariant {
    /// All that are shown for `run`, in the menu's order: an order of one's own only where the Run has one.
    pub fn all(run: &Run) -> Vec<Self> {
        let chosen = Self::of(run);
        let mut variants = Vec::new();
        for (schedule, _) in Schedule::ALL.iter().copied() {
            match schedule {
                Schedule::Custom if chosen.schedule != schedule => {}
                Schedule::Interleaved => {
                    let mut chunks = SHOWN_CHUNKS.to_vec();
                    chunks.extend(chosen.chunks.filter(|chunks| !SHOWN_CHUNKS.contains(chunks)));
                    chunks.sort_unstable();
                    let each = chunks.into_iter().map(Some);
                    variants.extend(each.map(|chunks| Self { schedule, chunks }));
                }
                _ => variants.push(Self { schedule, chunks: None }),
            }
        }
        variants
    }

    /// The one that `run` has.
    pub fn of(run: &Run) -> Self {
        let schedule = run.schedule;
        let chunks = (schedule == Schedule::Interleaved).then_some(run.virtual_stages);
        Self { schedule, chunks }
    }

    /// The one that a link names: `zb-v`, `interleaved-1f1b.4`.
    pub fn named(text: &str) -> Option<Self> {
        let (id, chunks) = match text.split_once('.') {
            Some((id, chunks)) => (id, Some(chunks.parse().ok().filter(|chunks| *chunks > 0)?)),
            None => (text, None),
        };
        let (schedule, _) = Schedule::ALL.iter().copied().find(|(_, choice)| choice.id == id)?;
        (chunks.is_some() == (schedule == Schedule::Interleaved)).then_some(Self { schedule, chunks })
    }

    /// As people write it.
    pub fn name(self) -> Message {
        let name = Message::plain(self.schedule.choice().label);
        match self.chunks {
            Some(chunks) => t!("{name}, v = {chunks}", name, chunks),
            None => name,
        }
    }

    /// Settings that make it the schedule of `run`, as the registry's texts: an empty text unsets. `limit` is the
    /// activations that a rank may hold of a schedule that is laid out within a limit, in stage-micro-batches.
    pub fn set(self, run: &Run, limit: u64) -> Vec<(&'static str, String)> {
        let mut set = with_chunks(run, self.schedule, self.chunks);
        let row = Some(self.schedule.row()).filter(|row| row.uses("memory_limit"));
        let is_set = run.schedule == self.schedule && memory_limit(run) == limit;
        if let Some(row) = row.filter(|_| !is_set) {
            let chunks = u64::from(row.virtual_stages.unwrap_or(1));
            let default = limit == run.pp && run.schedule_options.memory_limit.is_none();
            if !default {
                let value = limit.saturating_mul(chunks).to_string();
                set.push(("schedule_options.memory_limit", value));
            }
        }
        set
    }
}

impl Display for ScheduleVariant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.schedule.id())?;
        self.chunks.map_or(Ok(()), |chunks| write!(f, ".{chunks}"))
    }
}

/// The activations that a rank of `run` may hold, in stage-micro-batches: p where its schedule takes no limit.
pub fn memory_limit(run: &Run) -> u64 {
    let row = Some(run.schedule.row()).filter(|row| row.uses("memory_limit"));
    let limit = row.and_then(|row| {
        let chunks = u64::from(row.virtual_stages.unwrap_or(1)).max(1);
        Some(run.schedule_options.memory_limit? / chunks)
    });
    limit.unwrap_or(run.pp)
}

/// Settings of `run` under the schedule `id`: two chunks a rank where it needs several and has one, layers split anew
/// where their number of stages changes.
pub fn with_schedule(run: &Run, id: &str) -> Vec<(&'static str, String)> {
    Schedule::from_id(id).map(|schedule| with_chunks(run, schedule, None)).unwrap_or_default()
}

/// The settings that give `run` the schedule `schedule`, with `chunks` chunks a rank if that is set.
fn with_chunks(run: &Run, schedule: Schedule, chunks: Option<u64>) -> Vec<(&'static str, String)> {
    let mut set = Vec::new();
    if run.schedule != schedule {
        set.push(("schedule", schedule.id().to_owned()));
    }
    let fixed = schedule.row().virtual_stages.is_some() || matches!(schedule, Schedule::Hanayo | Schedule::Custom);
    let chunks = match chunks {
        Some(chunks) => chunks,
        None if fixed => 1,
        None if run.schedule == schedule => run.virtual_stages,
        None => run.virtual_stages.max(2),
    };
    if chunks != run.virtual_stages {
        set.push(("virtual_stages", chunks.to_string()));
    }
    let stages = |run: &Run| run.schedule.stages(run);
    let split = [("stage_layers", run.stage_layers.is_some()), ("mtp_stage", run.mtp_stage.is_some())];
    if run.with_texts(&set).as_ref().map(stages) != Some(stages(run)) {
        let given = split.into_iter().filter(|(_, said)| *said);
        set.extend(given.map(|(field, _)| (field, String::new())));
    }
    set
}

/// Every id, in the menu's order.
pub fn schedule_ids() -> impl Iterator<Item = &'static str> {
    SCHEDULES.iter().map(crate::pipeline::ScheduleInfo::id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaving_is_shown_for_each_number_of_chunks_and_the_run_s_own() {
        let run =
            |virtual_stages| Run { schedule: crate::run::Schedule::Interleaved, virtual_stages, ..Run::default() };
        let chunks = |run: &Run| -> Vec<u64> {
            let variants = ScheduleVariant::all(run).into_iter();
            variants.filter_map(|variant| variant.chunks).collect()
        };
        assert_eq!(chunks(&Run::default()), [2, 4, 8]);
        assert_eq!(chunks(&run(4)), [2, 4, 8]);
        assert_eq!(chunks(&run(3)), [2, 3, 4, 8]);
    }

    #[test]
    fn a_variant_reads_as_it_is_written_and_the_run_s_own_sets_nothing() {
        for variant in ScheduleVariant::all(&Run::default()) {
            assert_eq!(ScheduleVariant::named(&variant.to_string()), Some(variant));
        }
        for text in ["", "zb", "zb-v.2", "interleaved-1f1b", "interleaved-1f1b.0", "interleaved-1f1b.x"] {
            assert_eq!(ScheduleVariant::named(text), None, "{text}");
        }
        for id in schedule_ids().filter(|id| *id != "custom") {
            let run = Run::default();
            let run = run.with_texts(&with_schedule(&run, id)).unwrap();
            assert_eq!(ScheduleVariant::of(&run).set(&run, memory_limit(&run)), [], "{id}");
        }
    }
}
