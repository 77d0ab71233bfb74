//! Runs of MLPerf Training whose configuration is published (`public/data/mlperf.csv`): their time to train, and their
//! step where the log has it.

use super::published::{Measured, PublishedRun, said};
use crate::source::MLPERF;
use crate::table::{Line, Table};
use std::sync::LazyLock;

pub static MLPERF_RUNS: LazyLock<Vec<PublishedRun>> = LazyLock::new(|| {
    let csv = include_str!("../../../../public/data/mlperf.csv");
    let table: &'static Table = Box::leak(Box::new(Table::read(csv)));
    table.lines().filter_map(run).collect()
});

fn run(line: Line<'static>) -> Option<PublishedRun> {
    let number = |column| line.number(column);
    let to_train = Measured::ToTrain {
        minutes: number("minutes")?,
        samples: number("samples")?,
        evaluations: number("evaluations")?,
        set: number("set")?,
    };
    let measured: Vec<Measured> =
        [Some(to_train), number("step_time_s").map(Measured::Step)].into_iter().flatten().collect();
    let settings = line.text("run");
    let length: &'static str = Box::leak(length(settings, to_train)?.into_boxed_str());
    Some(PublishedRun {
        id: line.text("id"),
        name: line.text("name"),
        settings: Box::leak(Box::new([settings, length])),
        measured: Box::leak(measured.into_boxed_slice()),
        source: &MLPERF,
        place: line.text("source").trim_start_matches("MLPerf Training "),
        assumed: Box::leak(left_open(settings).into_boxed_slice()),
    })
}

/// What a configuration leaves open: what is recomputed and how attention is computed where `settings` do not say it,
/// and how fp8 is scaled where they are in fp8.
fn left_open(settings: &str) -> Vec<&'static str> {
    let unless = |said: &str, words: &'static str| (!settings.contains(said)).then_some(words);
    let of_precision = |id: &str, words: &'static str| {
        let mut pairs = settings.split('&').filter_map(|pair| pair.split_once('='));
        let is_of = pairs.any(|(key, value)| ["precision", "precision.base"].contains(&key) && value == id);
        is_of.then_some(words)
    };
    let parts = [
        Some("micro-batches of one sequence where none is named"),
        unless("recompute", "nothing recomputed"),
        Some("CUDA graphs where the configuration is named after them"),
        of_precision("fp8-delayed", "fp8 by the tensor with delayed scaling where no recipe is named"),
        of_precision("fp8-current", "fp8 by the tensor with current scaling where no recipe is named"),
        unless("stack.attention=", "attention in bf16"),
    ];
    parts.into_iter().flatten().collect()
}

/// The length of the run, as links have it: the log's samples as tokens, and its evaluations.
fn length(settings: &str, to_train: Measured) -> Option<String> {
    let Measured::ToTrain { samples, evaluations, set, .. } = to_train else {
        return None;
    };
    // The settings are not read whole: this is done for each run before the first answer.
    let number = |key| said(&[settings], key)?.parse::<f64>().ok();
    let (tokens, steps) = (samples * number("seq_len")?, samples / number("global_batch")?);
    let every = (steps / evaluations).floor().max(1.0);
    Some(format!("tokens_total={tokens}&eval_every={every}&eval_samples={set}"))
}
