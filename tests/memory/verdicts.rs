//! The verdict rule against the 232 outcomes of Fujii 2024: fits, tight or out of memory, and whether three constants
//! fitted on one table hold on the other.

use super::estimates::{estimate_of, evidence};
use shardscope::core::accuracy::{Measurement, Outcome, Rule};
use shardscope::core::memory::Verdict;
use shardscope::core::memory::verdict::{Chance, FRAGMENTATION, OUTCOMES, PROCESS};
use shardscope::core::report::evaluate;
use shardscope::core::run::{Allocator, Method, OneOf, Run};

struct Judged {
    table: u64,
    outcome: Outcome,
    verdict: Verdict,
    /// Needed over visible, as the report has it.
    ratio: f64,
}

fn outcomes() -> Vec<Judged> {
    evidence("fujii_measured.csv")
        .iter()
        .map(|row| {
            let evaluation = evaluate(&row.run).unwrap();
            let memory = &evaluation.report.memory;
            Judged {
                table: if row.source().name.contains("table 3") { 3 } else { 4 },
                outcome: Outcome::new(&evaluation, row.measured == Measurement::RanOut),
                verdict: memory.verdict,
                ratio: memory.need_bytes / memory.capacity_bytes,
            }
        })
        .collect()
}

fn of_table(runs: &[Judged], table: u64) -> Vec<&Outcome> {
    runs.iter().filter(|run| run.table == table).map(|run| &run.outcome).collect()
}

#[test]
fn no_run_that_ran_out_of_memory_is_called_fits() {
    for run in outcomes() {
        assert!(!(run.outcome.ran_out && run.verdict == Verdict::Fits), "{}", run.ratio);
    }
}

#[test]
fn at_most_3_of_232_verdicts_are_wrong_about_the_middle_of_the_band() {
    let runs = outcomes();
    assert_eq!(runs.len(), 232);
    let wrong = runs.iter().filter(|run| (run.ratio > 1.0) != run.outcome.ran_out);
    let wrong: Vec<_> = wrong.map(|run| (run.table, run.ratio, run.outcome.ran_out)).collect();
    println!("wrong: {wrong:?}");
    assert!(wrong.len() <= 3);
    for run in &runs {
        let again = Rule::shipped().ratio(&run.outcome);
        assert!((run.ratio / again - 1.0).abs() < 1e-9, "the rule is the report's");
    }
}

#[test]
fn calibrated_on_one_table_the_rule_holds_on_the_other_within_2() {
    let runs = outcomes();
    for (here, there) in [(3, 4), (4, 3)] {
        let (calibration, test) = (of_table(&runs, here), of_table(&runs, there));
        let fitted = Rule::fitted(&calibration);
        let (ours, shipped) = (fitted.wrong(&test), Rule::shipped().wrong(&test));
        println!("{fitted:?} from table {here}: {ours} wrong on table {there}, shipped {shipped}");
        assert!(ours.abs_diff(shipped) <= 2);
    }
}

#[test]
fn the_shipped_constants_are_the_centre_of_the_best_fit() {
    let runs = outcomes();
    let all: Vec<_> = runs.iter().map(|run| &run.outcome).collect();
    let fitted = Rule::fitted(&all);
    println!("{fitted:?}, {} wrong", fitted.wrong(&all));
    assert!((fitted.fragmentation - FRAGMENTATION.value).abs() < 0.01);
    assert!((fitted.process - PROCESS.value.gib()).abs() < 0.1);
    assert_eq!(fitted.wrong(&all), Rule::shipped().wrong(&all));
}

/// Of the 31 tight runs 12 have an estimate below the memory, of which 11 ran, and 19 one above it, of which 2 ran.
#[test]
fn a_tight_run_whose_estimate_is_above_the_memory_mostly_ran_out() {
    let counts = [false, true].map(|over| {
        let tight = |run: &&Judged| run.verdict == Verdict::Tight && (run.ratio > 1.0) == over;
        let runs = outcomes();
        let ran_out: Vec<bool> = runs.iter().filter(tight).map(|run| run.outcome.ran_out).collect();
        (ran_out.len(), ran_out.iter().filter(|out| **out).count())
    });
    assert_eq!(counts, [(12, 1), (19, 17)]);
}

/// Beside a verdict stands how many measured runs with the same verdict ran: for every method the table in the code is
/// what a count of the measured runs gives.
#[test]
fn the_outcomes_shown_for_each_verdict_of_each_method_are_what_happened() {
    let rows = evidence("fujii_measured.csv");
    let counted = OUTCOMES.map(|(method, _)| {
        let outcomes: Vec<((Verdict, bool), bool)> = rows
            .iter()
            .map(|row| {
                let run = Run { memory_method: method, ..row.run.clone() };
                let ran_out = row.measured == Measurement::RanOut;
                let estimate = estimate_of(&run);
                let verdict = estimate.verdict();
                ((verdict, verdict.may_run_out(estimate.peak().1, estimate.capacity)), ran_out)
            })
            .collect();
        let kinds = [(Verdict::Fits, false), (Verdict::Tight, false), (Verdict::Tight, true), (Verdict::Oom, false)];
        let counted = kinds.map(|kind| {
            let of = outcomes.iter().filter(|(given, _)| *given == kind);
            let ran_out = of.clone().filter(|(_, ran_out)| *ran_out).count();
            Chance { like: of.count() as u64, ran_out: ran_out as u64 }
        });
        (method, counted)
    });
    assert_eq!(OUTCOMES, counted);
    assert!(Method::ALL.iter().all(|(method, _)| OUTCOMES.iter().any(|row| row.0 == *method)));
}

/// The range of the need is the verdict: no run that ran out needs less than the capacity by all of its range, none
/// that ran needs more.
#[test]
fn the_range_of_the_need_holds_what_became_of_every_measured_run() {
    for row in evidence("fujii_measured.csv") {
        let estimate = estimate_of(&row.run);
        let (low, likely, high) = (estimate.need.low, estimate.need.likely, estimate.need.high);
        assert!(low < likely && likely < high && likely == estimate.peak().1);
        let ran_out = row.measured == Measurement::RanOut;
        assert!(if ran_out { high > estimate.capacity } else { low <= estimate.capacity });
        let verdict = match (low <= estimate.capacity, high <= estimate.capacity) {
            (_, true) => Verdict::Fits,
            (true, false) => Verdict::Tight,
            (false, _) => Verdict::Oom,
        };
        assert_eq!(verdict, estimate.verdict());
    }
}

/// PyTorch's notes on CUDA semantics: expandable segments give back pages without a tensor, so that the range begins at
/// what tensors and the process take; without them, and above it, nothing changes.
#[test]
fn with_expandable_segments_the_range_begins_at_the_tensors() {
    let mut below = 0;
    for row in evidence("fujii_measured.csv") {
        let blocks = estimate_of(&row.run).need;
        let expandable = estimate_of(&Run { allocator: Allocator::Expandable, ..row.run.clone() }).need;
        assert_eq!((expandable.likely, expandable.high), (blocks.likely, blocks.high));
        assert!(expandable.low <= blocks.low);
        let tensors = (blocks.likely - PROCESS.value) / FRAGMENTATION.value + PROCESS.value;
        if row.run.cp == 1 && row.run.ep == 1 && expandable.low < blocks.low {
            assert!((expandable.low / tensors - 1.0).abs() < 1e-9);
            below += 1;
        }
    }
    assert!(below > 80, "{below}");
}
