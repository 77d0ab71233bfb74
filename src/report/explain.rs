//! The formula behind a figure of the report, with this run's values.

use super::Evaluation;
use crate::explain::{Term, Unit};
use crate::memory::{self, Component, Verdict, methods};
use crate::run::{Method, OneOf, presets};
use crate::source::{GPIPE, NARAYANAN_2021, PLAYBOOK};
use crate::time::{IN_TRAINING, RANGE, family};
use crate::units::significant;

/// A figure that the page can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Memory of a pipeline rank.
    Memory(usize),
    /// One component of it.
    Component(usize, Component),
    /// Micro-batches in flight on a pipeline rank.
    InFlight(usize),
    /// Memory of a pipeline rank by another method.
    Method(Method, usize),
    /// What memory is held against, and the rule of the verdict.
    Capacity,
    /// The step's time.
    Step,
    /// Idle share.
    Bubble,
    /// Model FLOPs utilisation.
    Mfu,
    /// Tokens a second and GPU.
    Tokens,
    /// Visible communication.
    Exposed,
    /// The playbook's ratio of an overlap row.
    Overlap(usize),
}

impl Figure {
    /// As an attribute of the page writes it: `memory:0`.
    #[must_use]
    pub fn id(self) -> String {
        match self {
            Self::Memory(rank) => format!("memory:{rank}"),
            Self::Component(rank, component) => format!("{}:{rank}", component.name()),
            Self::InFlight(rank) => format!("in-flight:{rank}"),
            Self::Method(method, rank) => format!("{}:{rank}", method.id()),
            Self::Capacity => "capacity".to_owned(),
            Self::Step => "step".to_owned(),
            Self::Bubble => "bubble".to_owned(),
            Self::Mfu => "mfu".to_owned(),
            Self::Tokens => "tokens".to_owned(),
            Self::Exposed => "exposed".to_owned(),
            Self::Overlap(row) => format!("overlap:{row}"),
        }
    }

    /// The figure with this id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        let (name, number) = id.split_once(':').unwrap_or((id, "0"));
        let number = number.parse().ok()?;
        let component = |of: &Component| of.name() == name;
        if let Some(component) = Component::ALL.into_iter().find(component) {
            return Some(Self::Component(number, component));
        }
        if let Some(method) = Method::from_id(name) {
            return Some(Self::Method(method, number));
        }
        Some(match name {
            "memory" => Self::Memory(number),
            "in-flight" => Self::InFlight(number),
            "capacity" => Self::Capacity,
            "step" => Self::Step,
            "bubble" => Self::Bubble,
            "mfu" => Self::Mfu,
            "tokens" => Self::Tokens,
            "exposed" => Self::Exposed,
            "overlap" => Self::Overlap(number),
            _ => return None,
        })
    }
}

/// How `figure` comes about; none where the report has no such figure.
#[must_use]
pub fn explain(evaluation: &Evaluation, figure: Figure) -> Option<Term> {
    match figure {
        Figure::Memory(rank) => memory::explain(&evaluation.scenario, &evaluation.loads, rank),
        Figure::Component(rank, component) => self::component(evaluation, rank, component),
        Figure::InFlight(rank) => in_flight(evaluation, rank),
        Figure::Method(method, rank) => {
            let explain = methods::info(method).explain;
            explain(&evaluation.scenario, &evaluation.loads, rank)
        }
        Figure::Capacity => Some(capacity(evaluation)),
        Figure::Step => Some(step(evaluation)),
        Figure::Bubble => Some(bubble(evaluation)),
        Figure::Mfu => Some(mfu(evaluation)),
        Figure::Tokens => Some(tokens(evaluation)),
        Figure::Exposed => Some(exposed(evaluation)),
        Figure::Overlap(row) => evaluation.report.overlap.get(row)?.term.clone(),
    }
}

/// A component's own formula where the method has one, else the one that it is part of.
fn component(evaluation: &Evaluation, rank: usize, component: Component) -> Option<Term> {
    let whole = memory::explain(&evaluation.scenario, &evaluation.loads, rank)?;
    let symbols: &[&str] = match component {
        Component::Weights => &["W", "M_m", "M"],
        Component::Gradients => &["G", "M_g", "M"],
        Component::Optimizer => &["O", "M_o", "M"],
        Component::Activations => &["A"],
        Component::Buffers => &["B"],
        Component::Overhead => &["X"],
    };
    let own = symbols
        .iter()
        .find_map(|symbol| whole.parts.iter().find(|part| part.symbol == *symbol));
    let Some(own) = own.filter(|part| !part.formula.is_empty()) else {
        return Some(whole);
    };
    let mut own = own.clone();
    own.name = format!("{} of stage {rank}", own.name);
    own.source = own.source.or(whole.source);
    Some(own)
}

fn in_flight(evaluation: &Evaluation, rank: usize) -> Option<Term> {
    let load = evaluation.loads.get(rank)?;
    let chunks = load
        .stages
        .iter()
        .zip(&load.in_flight)
        .map(|(stage, held)| {
            let name = format!("micro-batches of stage {stage} alive at once");
            Term::given("n", name, *held, Unit::Ratio)
        });
    let mut parts: Vec<Term> = chunks.collect();
    parts.push(Term::count(
        "c",
        "chunks of the rank",
        load.stages.len() as u64,
    ));
    Some(
        Term::given(
            "i",
            format!("micro-batches in flight on stage {rank}"),
            load.stage_microbatches(),
            Unit::Ratio,
        )
        .by("Σ n/c", parts)
        .note("counted in the simulated order: from the start of a forward to the end of the backward that frees it")
        .note("where activations weigh most, by their bytes"),
    )
}

fn capacity(evaluation: &Evaluation) -> Term {
    let (gpu, memory) = (&evaluation.scenario.gpu, &evaluation.report.memory);
    let bytes = |symbol, name: &str, value: f64| Term::given(symbol, name, value, Unit::Bytes);
    let preset = evaluation.scenario.run.gpu.base.and_then(presets::gpu);
    let term = bytes("C", "what memory is held against", memory.capacity_bytes.0).by(
        if memory.capacity_bytes == gpu.memory {
            "box"
        } else {
            "box - kept"
        },
        vec![
            bytes("box", "size on the box", gpu.memory.0),
            bytes("kept", "kept by the driver", gpu.memory.0 - gpu.usable.0),
        ],
    );
    let term = memory::verdict::BANDS.iter().fold(term, |term, band| {
        let word = match band.verdict {
            Verdict::Fits => "fits",
            Verdict::Tight => "tight",
            Verdict::Oom => "out of memory",
        };
        term.note(format!(
            "of {} measured runs that the rule calls {word}, {} ran out of memory",
            band.runs, band.ran_out
        ))
    });
    match preset {
        Some(preset) => term.from(preset.usable_source, "memory that a process sees"),
        None => term,
    }
}

fn seconds(symbol: &'static str, name: &str, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Seconds)
}

fn step(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let family = family(&evaluation.scenario);
    let scale = step.rescaled_by.map(|scale| {
        format!("scaled by {scale:.3} to the step you measured; the parts keep their proportions")
    });
    let term = seconds("T", "step time", step.time_s.0)
        .by(
            "C + I + X + O + H",
            vec![
                seconds("C", "compute of the average rank", step.compute_s.0)
                    .note(format!(
                        "every GEMM by its shape on the rank, at most {} of the bf16 peak: {} sustained alone, {} of it in training",
                        significant(family.gemm * IN_TRAINING.value, 2),
                        family.gemm,
                        IN_TRAINING.value
                    ))
                    .note(family.remark)
                    .from(family.source, "kernel benchmarks"),
                seconds("I", "waiting in the pipeline", step.bubble_s.0),
                exposed(evaluation),
                seconds("O", "optimizer", step.optimizer_s.0)
                    .note("states and gradients through memory at 85 % of its bandwidth, and 20 ms for the end of a step"),
                seconds("H", "what the data loader adds", step.host_s.0),
            ],
        )
        .note(format!(
            "four of five published dense runs took {} to {} times the prediction",
            RANGE.0, RANGE.1
        ))
        .note("leaves out stragglers, network contention, checkpoints");
    match scale {
        Some(scale) => term.note(scale),
        None => term,
    }
}

fn bubble(evaluation: &Evaluation) -> Term {
    let pipeline = &evaluation.report.pipeline;
    Term::given(
        "B",
        "idle share of the ranks' time",
        pipeline.bubble_fraction,
        Unit::Share,
    )
    .by(
        "1 - C/M",
        vec![
            seconds("C", "mean busy time of a rank", pipeline.ideal_s.0),
            seconds(
                "M",
                "first start to last end, simulated",
                pipeline.makespan_s.0,
            ),
        ],
    )
    .from(&GPIPE, "section 2.3, idle over total")
    .note(format!(
        "idle over ideal time, as Megatron-LM and the playbook count: {:.1} %",
        pipeline.bubble_over_ideal * 100.0
    ))
    .note(format!(
        "idle between a rank's first and last op, as the zero-bubble papers count: {:.1} %",
        pipeline.bubble_span * 100.0
    ))
}

fn mfu(evaluation: &Evaluation) -> Term {
    let (report, scenario) = (&evaluation.report, &evaluation.scenario);
    let count = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Count);
    Term::given("U", "model FLOPs utilisation", report.step.mfu, Unit::Share)
        .by(
            "M/(T N F)",
            vec![
                count("M", "model FLOPs of a step", report.step.model_flops),
                seconds("T", "step time", report.step.time_s.0),
                count("N", "GPUs", scenario.layout.gpus as f64),
                count("F", "bf16 peak, FLOP/s", scenario.gpu.bf16.0),
            ],
        )
        .from(&NARAYANAN_2021, "section 5.1, without recomputation")
        .note(format!(
            "attention counted {}",
            scenario.run.attention_flops_note()
        ))
        .note(format!(
            "with what recomputation executes (HFU): {:.1} %",
            report.step.hfu * 100.0
        ))
}

fn tokens(evaluation: &Evaluation) -> Term {
    let report = &evaluation.report;
    let gpus = evaluation.scenario.layout.gpus;
    Term::given(
        "R",
        "tokens a second and GPU",
        report.step.tokens_per_s_per_gpu,
        Unit::Count,
    )
    .by(
        "D/(T N)",
        vec![
            Term::given(
                "D",
                "tokens a step",
                report.layout.tokens_per_step,
                Unit::Count,
            ),
            seconds("T", "step time", report.step.time_s.0),
            Term::count("N", "GPUs", gpus),
        ],
    )
}

fn exposed(evaluation: &Evaluation) -> Term {
    let overlap = &evaluation.report.overlap;
    let parts = overlap
        .iter()
        .filter(|row| row.exposed_s.0 > 0.0)
        .map(|row| {
            seconds(row.name, "", row.exposed_s.0).note(
                "wire time less what the window hides; hidden gradients still slow their compute",
            )
        })
        .collect();
    seconds(
        "X",
        "communication that nothing hides",
        evaluation.report.step.exposed_comm_s.0,
    )
    .by("Σ max(0, communication - share · window)", parts)
    .from(&PLAYBOOK, "appendix A3")
    .note("wire time is latency plus bytes over the bandwidth that collectives reach; pipeline sends wait inside the bubble")
    .note("rows are those of the busiest rank, the sum is of the average rank")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::Run;

    #[test]
    fn every_figure_of_the_memory_panel_has_a_formula_that_ends_at_it() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= theirs.abs() * 1e-9;
        for rank in &evaluation.report.memory.per_stage {
            let stage = rank.stage;
            for (component, (name, bytes)) in Component::ALL.into_iter().zip(rank.components()) {
                let term = explain(&evaluation, Figure::Component(stage, component)).unwrap();
                assert!(near(term.value, bytes.0), "{name} of stage {stage}");
                let figure = Figure::Component(stage, component);
                assert_eq!(Figure::from_id(&figure.id()), Some(figure));
                assert!(!term.formula.is_empty());
            }
            let held = explain(&evaluation, Figure::InFlight(stage)).unwrap();
            assert!(near(held.value, rank.in_flight));
        }
        for row in crate::report::methods::rows(&evaluation) {
            let figure = Figure::Method(row.method, row.fullest.stage);
            let term = explain(&evaluation, figure).unwrap();
            assert!(near(term.value, row.fullest.total.0), "{}", row.label);
            assert_eq!(Figure::from_id(&figure.id()), Some(figure));
        }
        let capacity = explain(&evaluation, Figure::Capacity).unwrap();
        let parts: Vec<f64> = capacity.parts.iter().map(|part| part.value).collect();
        assert!(near(capacity.value, parts[0] - parts[1]));
    }
}
