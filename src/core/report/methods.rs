//! A Run by every memory method, for the table that sets them side by side.

use super::Evaluation;
use crate::issue::Issue;
use crate::memory::methods::{Slip, compare};
use crate::memory::{StageMemory, Verdict};
use crate::run::{Method, OneOf};
use crate::source::Source;
use crate::units::Bytes;

/// One method's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodRow {
    pub method: Method,
    /// Name on the page.
    pub label: &'static str,
    /// True if the Run selects it.
    pub chosen: bool,
    /// Its fullest rank.
    pub fullest: StageMemory,
    /// True if it gives every rank the same.
    pub same_on_all: bool,
    /// Memory that it holds the rank against.
    pub capacity: Bytes,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
    /// Items that it does not count.
    pub leaves_out: &'static [&'static str],
    /// Formulas that its source prints and does not mean.
    pub slips: &'static [Slip],
    /// Settings of this Run that it ignores.
    pub ignores: Vec<Issue>,
    /// Its publication.
    pub source: &'static Source,
}

/// Every method on the Run of `evaluation`, ours first.
pub fn rows(evaluation: &Evaluation) -> Vec<MethodRow> {
    let (chosen, memory) = (evaluation.scenario.run.memory_method, &evaluation.report.memory);
    compare(&evaluation.scenario, &evaluation.loads)
        .into_iter()
        .filter_map(|(info, estimate)| {
            // The page counts by the chosen one: its row says what the page says, of the fullest phase where there are.
            let fullest = if info.method == chosen { memory.fullest() } else { None };
            let fullest = fullest.or_else(|| estimate.per_stage.get(estimate.peak().0))?.clone();
            let alike = |rank: &StageMemory| rank.total == fullest.total;
            Some(MethodRow {
                method: info.method,
                label: info.method.choice().label,
                chosen: info.method == chosen,
                same_on_all: estimate.per_stage.len() > 1 && estimate.per_stage.iter().all(alike),
                capacity: estimate.capacity,
                verdict: if info.method == chosen { memory.verdict } else { estimate.verdict() },
                leaves_out: info.leaves_out,
                slips: info.slips,
                ignores: estimate.warnings,
                source: info.source,
                fullest,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::Run;

    #[test]
    fn every_method_has_a_row_and_the_chosen_one_is_the_reports() {
        for (method, _) in Method::ALL {
            let run = Run { memory_method: *method, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let rows = rows(&evaluation);
            assert_eq!(rows.len(), Method::ALL.len());
            let chosen: Vec<_> = rows.iter().filter(|row| row.chosen).collect();
            let memory = &evaluation.report.memory;
            assert_eq!(chosen.len(), 1);
            assert_eq!(chosen[0].method, *method);
            assert_eq!(chosen[0].fullest.total, memory.peak_bytes);
            assert_eq!(chosen[0].capacity, memory.capacity_bytes);
            assert_eq!(chosen[0].verdict, memory.verdict);
        }
    }

    #[test]
    fn the_paper_counts_the_box_and_the_blog_gives_every_rank_the_same() {
        let rows = rows(&evaluate(&Run::default()).unwrap());
        let row = |method| rows.iter().find(|row| row.method == method).unwrap();
        assert_eq!(row(Method::Fujii).capacity, Bytes::from_gib(80.0));
        assert!(row(Method::Detailed).capacity < Bytes::from_gib(80.0));
        assert!(row(Method::He).same_on_all && !row(Method::Detailed).same_on_all);
    }

    /// `tests/data/fujii_estimates.csv` has the paper's numbers as printed and marks its misprints.
    #[test]
    fn the_slips_shown_are_the_papers_misprints_and_what_its_formula_gives() {
        let table = include_str!("../../../tests/data/fujii_estimates.csv");
        let misprints: Vec<Vec<&str>> =
            table.lines().filter(|line| line.ends_with("misprint")).map(|line| line.split(',').collect()).collect();
        let slips = compare_slips();
        assert_eq!(misprints.len(), slips.len());
        for cells in misprints {
            let [tp, cp, pp, micro_batch] = [5, 6, 7, 8].map(|at: usize| cells[at].parse().unwrap());
            let gpus = cells[9].parse().unwrap();
            let run = Run {
                model: crate::run::Based::preset(if cells[1].ends_with("70b") {
                    "llama-3.1-70b"
                } else {
                    "llama-3.1-8b"
                }),
                gpus,
                tp,
                cp,
                pp,
                micro_batch,
                seq_len: cells[4].parse().unwrap(),
                global_batch: 1024,
                memory_method: Method::Fujii,
                ..Run::default()
            };
            let first = &evaluate(&run).unwrap().report.memory.per_stage[0];
            let place = format!("table {}, ({tp},{cp},{pp},{micro_batch}) at {gpus} GPUs", cells[0]);
            let slip = slips.iter().find(|slip| slip.place == place).unwrap();
            assert_eq!(slip.printed, format!("{} GiB", cells[10]));
            assert_eq!(slip.corrected, format!("{:.2} GiB", first.total.gib()));
        }
    }

    fn compare_slips() -> Vec<Slip> {
        let rows = rows(&evaluate(&Run::default()).unwrap());
        let paper = rows.iter().find(|row| row.method == Method::Fujii).unwrap();
        let tables = paper.slips.iter().copied();
        tables.filter(|slip| slip.place.starts_with("table")).collect()
    }
}
