//! The formula behind a figure of the report, with this run's values.

mod inputs;
mod step;
mod utilisation;
mod volume;
mod wires;

use self::inputs::{makespan, simulated};
use super::Evaluation;
use crate::explain::{Provenance, Quantity, Term, Unit, Written, written};
use crate::memory::verdict::{Chance, chance};
use crate::memory::{self, Component, Verdict, methods};
use crate::run::{Method, OneOf, Schedule, presets};
use crate::source::{GPIPE, PIPEDREAM};
use crate::t;
use crate::units::{MemoryUnit, show_percent, show_seconds};

/// A figure that the page can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Memory of a pipeline rank.
    Memory(usize),
    Component(usize, Component),
    /// Micro-batches in flight on a pipeline rank.
    InFlight(usize),
    /// Memory of a pipeline rank by another method.
    Method(Method, usize),
    /// Memory that the need is held against, and the rule of the verdict.
    Capacity,
    /// The step's time.
    Step,
    Compute,
    /// Idle share.
    Bubble,
    /// Model FLOPs utilisation.
    Mfu,
    /// Tokens a second and GPU.
    Tokens,
    /// Visible communication.
    Exposed,
    /// A row of the overlap table.
    Overlap(usize),
    /// Layers of the first rank by the rule of the uneven-PP note.
    Rule,
    /// Memory of a phase of reinforcement learning.
    Phase(usize),
}

impl Figure {
    /// As an attribute of the page writes it: `memory:0`.
    pub fn id(self) -> String {
        match self {
            Self::Memory(rank) => format!("memory:{rank}"),
            Self::Component(rank, component) => format!("{}:{rank}", component.name()),
            Self::InFlight(rank) => format!("in-flight:{rank}"),
            Self::Method(method, rank) => format!("{}:{rank}", method.id()),
            Self::Capacity => "capacity".to_owned(),
            Self::Step => "step".to_owned(),
            Self::Compute => "compute".to_owned(),
            Self::Bubble => "bubble".to_owned(),
            Self::Mfu => "mfu".to_owned(),
            Self::Tokens => "tokens".to_owned(),
            Self::Exposed => "exposed".to_owned(),
            Self::Overlap(row) => format!("overlap:{row}"),
            Self::Rule => "rule".to_owned(),
            Self::Phase(at) => format!("phase:{at}"),
        }
    }
}

/// Derivation of `figure`; none where the report has no such figure.
pub fn explain(evaluation: &Evaluation, figure: Figure) -> Option<Term> {
    match figure {
        Figure::Memory(rank) => memory::explain(&evaluation.scenario, &evaluation.loads, rank),
        Figure::Component(rank, component) => self::component(evaluation, rank, component),
        Figure::InFlight(rank) => in_flight(evaluation, rank),
        Figure::Method(method, rank) => methods::explain(method, &evaluation.scenario, &evaluation.loads, rank),
        Figure::Capacity => Some(capacity(evaluation)),
        Figure::Step => Some(step::step(evaluation)),
        Figure::Compute => Some(step::compute(evaluation)),
        Figure::Bubble => Some(bubble(evaluation)),
        Figure::Mfu => Some(utilisation::mfu(evaluation)),
        Figure::Tokens => Some(utilisation::tokens(evaluation)),
        Figure::Exposed => Some(wires::exposed(evaluation)),
        Figure::Overlap(row) => wires::row(evaluation, row),
        Figure::Rule => methods::uneven::explain_split(&evaluation.scenario),
        Figure::Phase(at) => {
            let memory = &evaluation.report.memory;
            let (scenario, loads) = (&evaluation.scenario, &evaluation.loads);
            memory::phases::explain(scenario, loads, &memory.per_stage, memory.phases.get(at)?)
        }
    }
}

/// The formula of a component; where the method has none for it, the formula of the total.
fn component(evaluation: &Evaluation, rank: usize, component: Component) -> Option<Term> {
    let total = memory::explain(&evaluation.scenario, &evaluation.loads, rank)?;
    let Some(part) = total.parts.iter().find(|part| part.symbol == component.symbol()) else {
        return Some(total);
    };
    let name = t!("{figure} of rank {rank}", figure = part.name.clone(), rank);
    Some(Term { name, source: part.source.or(total.source), ..part.clone() })
}

fn in_flight(evaluation: &Evaluation, rank: usize) -> Option<Term> {
    let load = evaluation.loads.get(rank)?;
    let chunks = load.stages.iter().zip(&load.in_flight).map(|(stage, held)| {
        let name = t!("micro-batches of stage {stage} alive at once", stage);
        Term::given("n", name, *held, Unit::Ratio).marked(Provenance::Simulated)
    });
    let chunks = chunks.collect();
    let stages = Term::count("c", "stages of the rank", load.stages.len() as u64);
    let name = t!("micro-batches in flight on rank {rank}", rank);
    let mean = written(|| (Written::all("n", chunks) / Written::part(stages)).term("i", name, Unit::Ratio));
    let mean = Term { value: load.stage_microbatches(), ..mean };
    Some(
        mean.note(
            "counted in the simulated order: from the start of a forward to the end of the backward that frees it",
        )
        .note("where activations weigh most, by their bytes"),
    )
}

fn capacity(evaluation: &Evaluation) -> Term {
    let (gpu, memory) = (&evaluation.scenario.gpu, &evaluation.report.memory);
    let bytes = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Bytes);
    let preset = evaluation.scenario.run.gpu.base.and_then(presets::gpu);
    let size = bytes("box", "size on the box", gpu.memory.0);
    let kept = bytes("kept", "kept by the driver", gpu.memory.0 - gpu.usable.0);
    let is_whole = memory.capacity_bytes == gpu.memory;
    let name = "what memory is held against";
    let term =
        Term::made("C", name, Unit::Bytes, [size, kept], |[size, kept]| if is_whole { size } else { size - kept });
    let method = evaluation.scenario.run.memory_method;
    let verdicts = [
        (Verdict::Fits, false, "fits"),
        (Verdict::Tight, false, "tight"),
        (Verdict::Tight, true, "may run out"),
        (Verdict::Oom, false, "out of memory"),
    ];
    let known = verdicts.into_iter().map(|(verdict, above, word)| (chance(method, verdict, above), word));
    let term = known.filter(|(known, _)| known.like > 0).fold(term, |term, (Chance { like, ran_out }, word)| {
        term.note(t!(
            "of {like} measured runs with the verdict “{word}”, {ran_out} ran out of memory; these runs also set the \
                rule",
            like,
            word,
            ran_out
        ))
    });
    let term = term.note(t!(
        "needed: {need_low_bytes} to {need_high_bytes}, in view of measured runs; it fits if all \
        of that range is within the capacity; if some of it is, it is tight, and where the estimate itself is above \
        the capacity it may run out",
        need_low_bytes = MemoryUnit::Gib.show(memory.need_low_bytes),
        need_high_bytes = MemoryUnit::Gib.show(memory.need_high_bytes)
    ));
    match preset {
        Some(preset) => term.from(preset.usable_source, "memory that a process sees"),
        None => term,
    }
}

fn bubble(evaluation: &Evaluation) -> Term {
    let (pipeline, step) = (&evaluation.report.pipeline, &evaluation.report.step);
    let source = match pipeline.fill_s {
        Some(_) => (&PIPEDREAM, "section 3.2, a pipeline that is never flushed"),
        None => (&GPIPE, "section 2.3, idle over total"),
    };
    let parts = [simulated("C", "mean busy time of a rank", pipeline.ideal_s.0), makespan(evaluation)];
    let name = "bubble: idle share of the pipeline's time";
    let idle = Term::made("B", name, Unit::Share, parts, |[busy, whole]| Written::number(1.0) - busy / whole);
    // The report has it without the rounding of the difference.
    let term = Term { value: pipeline.bubble_fraction, ..idle }
    .from(source.0, source.1)
    .note(t!(
        "idle over ideal time, as Megatron-LM and the playbook count: {share}",
        share = show_percent(pipeline.bubble_over_ideal)
    ))
    .note(t!(
        "bubble in span: idle between a rank's first and last op over its work, on the worst rank, as the zero-bubble \
            papers count: {share}",
        share = show_percent(pipeline.bubble_span)
    ))
    .note(t!(
        "the step of {time} also includes what follows the pipeline, the optimizer and the last messages; the bubble \
            is {share} of it",
        time = show_seconds(step.time_s),
        share = show_percent(step.bubble_s / step.time_s)
    ));
    let (ranks, microbatches) = (f64::from(evaluation.order.pp()), evaluation.report.layout.microbatches as f64);
    let term = match evaluation.scenario.run.schedule {
        Schedule::Gpipe | Schedule::OneFOneB if ranks > 1.0 => {
            let share = show_percent((ranks - 1.0) / (microbatches + ranks - 1.0));
            term.note(t!("closed form, with stages of equal time: (p - 1) / (m + p - 1) = {share}", share))
        }
        _ => term,
    };
    match pipeline.fill_s.zip(pipeline.drain_s) {
        Some((fill, drain)) => term.note(t!(
            "never drained between steps: the fill of {fill} and the drain of {drain} \
            happen once in a training and are not in it",
            fill = show_seconds(fill),
            drain = show_seconds(drain)
        )),
        None => term,
    }
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
                assert!(near(term.value, bytes.0), "{name} of rank {stage}");
                assert!(term.formula().is_some());
            }
            let in_flight = explain(&evaluation, Figure::InFlight(stage)).unwrap();
            assert!(near(in_flight.value, rank.in_flight));
        }
        for row in crate::report::methods::rows(&evaluation) {
            let figure = Figure::Method(row.method, row.fullest.stage);
            let term = explain(&evaluation, figure).unwrap();
            assert!(near(term.value, row.fullest.total.0), "{}", row.label);
        }
        let capacity = explain(&evaluation, Figure::Capacity).unwrap();
        let parts: Vec<f64> = capacity.parts.iter().map(|part| part.value).collect();
        assert!(near(capacity.value, parts[0] - parts[1]));
    }
}
