//! Kinds of time of a calendar: their names and colours, in the order of the bar.

use shardscope_core::whole_run::{Loss, LossKind, WholeRun};

/// A kind of time that does not train: the kind, its name, the class of its colour.
pub(super) type Row = (LossKind, &'static str, &'static str);

/// All kinds, in the order of the bar behind the training.
pub(super) const KINDS: [Row; 7] = [
    (LossKind::Stragglers, "Stragglers", "c-recompute"),
    (LossKind::Evaluation, "Evaluation", "c-weight"),
    (LossKind::Rollbacks, "Rollbacks", "c-kernels"),
    (LossKind::Checkpoints, "Checkpoints", "c-gradients"),
    (LossKind::RepeatedWork, "Repeated work", "c-backward"),
    (LossKind::Restarts, "Restarts", "c-exposed"),
    (LossKind::Startup, "Start-up", "c-opt-step"),
];

/// Class of the training itself.
pub(super) const TRAINING: &str = "c-compute";

pub fn kind(kind: LossKind) -> &'static str {
    KINDS.iter().find(|row| row.0 == kind).map_or("", |row| row.1)
}

/// The losses of a run with their rows, in the order of the bar.
pub(super) fn in_order(figures: &WholeRun) -> impl Iterator<Item = (&'static Row, Loss)> {
    KINDS.iter().filter_map(|row| {
        let found = figures.losses.iter().find(|loss| loss.kind == row.0);
        Some((row, *found?))
    })
}
