//! Figures for a spreadsheet: memory by stage, overlap, utilisation, the schedule by rank; bytes and seconds.

use super::Stamp;
use super::stamp::out_of_memory;
use shardscope_core::pipeline::OrderItem;
use shardscope_core::report::Evaluation;
use shardscope_core::run::OneOf;
use shardscope_view::panels::overlap::exposed;

/// Four tables with an empty line between them, after comments with version, date and link.
pub fn csv(evaluation: &Evaluation, stamp: &Stamp) -> String {
    let report = &evaluation.report;
    let mut lines = vec![format!("# {}", stamp.made()), format!("# {}", stamp.link(&evaluation.scenario.run))];
    lines.extend(out_of_memory(evaluation).map(|words| format!("# {words}")));
    lines.push(
        "stage,weights_bytes,gradients_bytes,optimizer_bytes,activations_bytes,buffers_bytes,overhead_bytes,\
            total_bytes,capacity_bytes,in_flight"
            .to_owned(),
    );
    for stage in &report.memory.per_stage {
        let parts = stage.components().map(|(_, bytes)| bytes.0.to_string());
        lines.push(format!(
            "{},{},{},{},{}",
            stage.stage,
            parts.join(","),
            stage.total.0,
            report.memory.capacity_bytes.0,
            stage.in_flight
        ));
    }
    lines.push(String::new());
    lines.push(
        "# communication: of the busiest rank; exposed_in_step_s is of the average rank, as the step counts it, and of \
            gradients and gathered weights together"
            .to_owned(),
    );
    lines.push(
        "communication,bytes_per_gpu,comm_s,compute_s,ratio,exposed_s,not_hidden_s,slows_compute_s,shares_wire_with,\
            exposed_in_step_s"
            .to_owned(),
    );
    for row in &report.overlap {
        let in_step = exposed(report, row.traffic).map_or_else(String::new, |(time, _)| time.0.to_string());
        lines.push(format!(
            "{},{},{},{},{},{},{},{},{},{in_step}",
            row.traffic.id(),
            row.bytes_per_gpu.0,
            row.comm_s.0,
            row.compute_s.0,
            row.ratio.map_or_else(String::new, |ratio| ratio.to_string()),
            row.exposed_s.0,
            row.not_hidden_s.0,
            row.slows_compute_s.0,
            row.shares_wire_with.iter().map(|traffic| traffic.id()).collect::<Vec<_>>().join(" ")
        ));
    }
    lines.push(String::new());
    lines.push("utilisation,flops_per_token,tflops_per_gpu,mfu,peak,peak_tflops".to_owned());
    let (step, tokens) = (&report.step, report.layout.tokens_per_step);
    let ours = (step.model_flops / tokens, step.tflops_per_gpu, step.mfu);
    let rows = step.mfu_by.iter().map(|row| (row.name.id(), (row.flops_per_token, row.tflops_per_gpu, row.mfu)));
    for (name, (flops, rate, share)) in std::iter::once(("shardscope", ours)).chain(rows) {
        lines.push(format!("{name},{flops},{rate},{share},{},{}", step.peak.precision, step.peak.tflops));
    }
    lines.push(String::new());
    lines.push("rank,ops,busy_s,idle_s,first_start_s,last_end_s,peak_in_flight".to_owned());
    let spans = &evaluation.spans;
    let makespan = spans.makespan();
    for (rank, row) in evaluation.order.ranks.iter().enumerate() {
        let ops = row.iter().flat_map(OrderItem::ops).count();
        let (first, last, busy) = (spans.starts[rank], spans.ends[rank], spans.busy[rank]);
        let in_flight = report.pipeline.peak_in_flight.get(rank).copied().unwrap_or(0);
        lines.push(format!("{rank},{},{busy},{},{first},{last},{in_flight}", ops, makespan - busy));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::memory::Verdict;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::presets::{PUBLISHED, PublishedRun};

    const STAMP: Stamp = Stamp { date: "2026-11-21", address: "" };

    /// The tables: the head and the rows of each, cell by cell. Two comments stand above, and another of a run that is
    /// out of memory; one says whose the communication is.
    fn tables(text: &str, is_out: bool) -> Vec<Vec<Vec<String>>> {
        let (notes, rest): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
        assert_eq!(notes.len(), 3 + usize::from(is_out));
        let cells = |line: &&str| line.split(',').map(str::to_owned).collect();
        let tables = rest.split(|line| line.is_empty());
        tables.filter(|table| !table.is_empty()).map(|table| table.iter().map(cells).collect()).collect()
    }

    fn number(cell: &str) -> f64 {
        cell.parse().unwrap()
    }

    #[test]
    fn its_figures_are_those_of_the_report() {
        let published = PUBLISHED.iter().map(PublishedRun::run);
        for run in published.chain([shardscope_core::run::Run::default()]) {
            let evaluation = evaluate(&run).unwrap();
            let report = &evaluation.report;
            let read = tables(&csv(&evaluation, &STAMP), report.memory.overall() == Verdict::Oom);
            let [memory, overlap, utilisation, ranks] = &read[..] else {
                panic!("{} tables", read.len());
            };
            for table in [memory, overlap, utilisation, ranks] {
                assert!(table.iter().all(|row| row.len() == table[0].len()));
            }
            assert_eq!(memory.len() - 1, report.memory.per_stage.len());
            for (row, stage) in memory[1..].iter().zip(&report.memory.per_stage) {
                let figure = |name: &str| {
                    let column = memory[0].iter().position(|head| head == name).unwrap();
                    number(&row[column])
                };
                for (part, bytes) in [
                    ("weights_bytes", stage.weights),
                    ("gradients_bytes", stage.gradients),
                    ("optimizer_bytes", stage.optimizer),
                    ("activations_bytes", stage.activations),
                    ("buffers_bytes", stage.buffers),
                    ("overhead_bytes", stage.overhead),
                    ("total_bytes", stage.total),
                    ("capacity_bytes", report.memory.capacity_bytes),
                ] {
                    assert!((figure(part) - bytes.0).abs() < 1e-6 * bytes.0.max(1.0), "{part}");
                }
                let sum: f64 = row[1..7].iter().map(|cell| number(cell)).sum();
                assert!((sum - figure("total_bytes")).abs() < 1e-6 * sum, "{row:?}");
            }
            assert_eq!(overlap.len() - 1, report.overlap.len());
            for (row, wire) in overlap[1..].iter().zip(&report.overlap) {
                let figures = [wire.bytes_per_gpu.0, wire.comm_s.0, wire.compute_s.0];
                for (cell, figure) in row[1..].iter().zip(figures) {
                    assert!((number(cell) - figure).abs() <= 1e-9 * figure.abs(), "{row:?}");
                }
                assert_eq!(row[0], wire.traffic.id());
            }
            // What the page shows as exposed: the parts of the step, gradients and gathered weights once.
            let head = overlap[0].iter().position(|head| head == "exposed_in_step_s").unwrap();
            let rows = || overlap[1..].iter().filter(|row| !row[head].is_empty());
            let both = rows().filter(|row| ["dp", "zero3"].contains(&&*row[0])).count() == 2;
            let counted = rows().filter(|row| !both || row[0] != "zero3");
            let sum: f64 = counted.map(|row| number(&row[head])).sum();
            let whole = report.step.exposed_comm_s.0;
            assert!((sum - whole).abs() <= 1e-9 * report.step.time_s.0, "{sum} {whole}: {overlap:?}");
            for row in &utilisation[1..] {
                let [flops, rate, share] = [1, 2, 3].map(|at| number(&row[at]));
                let per_gpu = report.step.tokens_per_s_per_gpu;
                assert!((flops * per_gpu / 1e12 / rate - 1.0).abs() < 1e-9);
                assert!((share * number(&row[5]) / rate - 1.0).abs() < 1e-9, "{row:?}");
            }
            // Busy and idle make up the pipeline; no rank runs past its end.
            let makespan = evaluation.timeline().makespan();
            assert_eq!(ranks.len() - 1, evaluation.timeline().ranks.len());
            for row in &ranks[1..] {
                let cells: Vec<f64> = row.iter().map(|cell| number(cell)).collect();
                let [_, ops, busy, idle, first, last, held] = cells[..] else {
                    panic!("{row:?}");
                };
                assert!((busy + idle - makespan).abs() < 1e-9 * makespan && idle > -1e-9 * makespan);
                assert!(first >= 0.0 && last <= makespan * (1.0 + 1e-9) && busy <= last - first + 1e-9 * makespan);
                assert!(ops >= 2.0 && held >= 1.0, "{row:?}");
            }
        }
    }
}
