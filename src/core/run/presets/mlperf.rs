//! Runs of MLPerf Training whose configuration is published (`public/data/mlperf.csv`): their time to train, and their
//! step where the log has it.

use super::published::{Measured, PublishedRun};
use crate::source::MLPERF;
use crate::table::{Line, Table};
use std::sync::LazyLock;

const OPEN: &str = "micro-batches of one sequence where none is named, nothing recomputed, CUDA graphs where the \
    configuration is named after them; fp8 by the tensor, delayed scaling in rounds of 2024; attention in bf16, which \
    some submissions ran in fp8";

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
    Some(PublishedRun {
        id: line.text("id"),
        name: line.text("name"),
        settings: Box::leak(Box::new([line.text("run")])),
        measured: Box::leak(measured.into_boxed_slice()),
        source: &MLPERF,
        place: line.text("source").trim_start_matches("MLPerf Training "),
        assumed: OPEN,
    })
}
