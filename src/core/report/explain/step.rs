//! The step and its compute: formulas with this run's values.

use super::super::draft::Draft;
use super::super::evaluation::Evaluation;
use super::super::passes::Pass;
use super::super::step::{mean_of, mean_over_stages, offloading};
use super::inputs::{makespan, ratio, seconds, simulated};
use super::wires;
use crate::explain::symbols::{
    BUSY, CORE_PASSES, GAP_SHARE, HOST_ADDED, KERNEL_BYTES, LAYER_GAP, LOADED, LOADER, MEASURED, MEMORY_RATE, OFFLOADED,
};
use crate::explain::{Provenance, Quantity, Term, Unit, Written, written};
use crate::message::Message;
use crate::model::Mixer;
use crate::run::{Constant, Multiplier, ReferencePlace, Scenario};
use crate::source::FMS_ACCELERATION;
use crate::t;
use crate::time::{
    Clock, ComputePeak, ComputeTime, ELEMENTWISE, HOST_PER_LAYER, Rates, attention_seconds, eager_gap_formula, family,
    gap, gemm_formula, loading, routed_gap_formula, routed_host, stage_loading, step_end, through_memory, together,
    units_of_adapters,
};
use crate::traffic::HeldParameters;
use crate::units::{Seconds, show_seconds, significant};

/// The parts of the step, and its range.
pub fn step(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let pipeline = &evaluation.report.pipeline;
    let waiting = [makespan(evaluation), simulated("B", "mean busy time of a rank", pipeline.ideal_s.0)];
    let mut parts = vec![
        compute(evaluation),
        Term::made("I", "waiting in the pipeline", Unit::Seconds, waiting, |[whole, busy]| whole - busy),
        wires::exposed(evaluation),
        optimizer(evaluation),
    ];
    if step.host_s.0 > 0.0 {
        parts.push(loader(evaluation));
    }
    let term = Term::sum("T", "step time", Unit::Seconds, parts);
    match step.rescaled_by {
        Some(scale) => term.note(t!(
            "scaled by {scale} to the step you measured: the model alone says {scale_2}; the \
            parts keep their proportions",
            scale = significant(scale, 3),
            scale_2 = show_seconds(step.time_s * (1.0 / scale))
        )),
        None => spread(term, evaluation),
    }
    .note("leaves out stragglers, contention between jobs, checkpoints and evaluation")
}

/// Origin of the range around the step.
fn spread(term: Term, evaluation: &Evaluation) -> Term {
    if let Some(sd) = evaluation.report.step.log_sd {
        let profile = &evaluation.scenario.run.profile;
        return term.note(t!(
            "range: 1.34 standard deviations of {percent} % either way, by a profile of {runs} runs",
            percent = significant(sd * 100.0, 2),
            runs = profile.runs.unwrap_or(0)
        ));
    }
    let step = &evaluation.report.step;
    term.note(t!(
        "range: {low} to {high} times the prediction, where four of five of {of} lie whose publisher was not seen \
            before",
        low = significant(step.low_s / step.time_s, 2),
        high = significant(step.high_s / step.time_s, 3),
        of = step.range.of
    ))
}

/// `predicted` as long as the measured step has it.
fn measured(evaluation: &Evaluation, predicted: Written) -> Written {
    match evaluation.report.step.rescaled_by {
        Some(scale) => predicted * MEASURED.of::<Written>(scale),
        None => predicted,
    }
}

/// The optimizer on the slowest rank: states, gradients and weights are read and written in its memory.
fn optimizer(evaluation: &Evaluation) -> Term {
    let scenario = &evaluation.scenario;
    let clock = Clock::new(scenario);
    let ranks = evaluation.loads.iter().map(|load| (&load.stages[..], HeldParameters::trained(scenario, &load.stages)));
    let end = |(stages, held): &(&[usize], HeldParameters)| {
        step_end::<f64>(scenario, clock.rates(), stages, held.updated(scenario))
    };
    let (stages, slowest) = ranks.max_by(|a, b| end(a).total_cmp(&end(b))).unwrap_or_default();
    let term = written(|| {
        let mut time = step_end::<Written>(scenario, clock.rates(), stages, slowest.updated(scenario));
        let states = scenario.offload.map_or(0.0, |offload| offload.states());
        if scenario.offload.is_some() || scenario.learnt.reference == ReferencePlace::Offloaded {
            let added = Draft::of(&scenario.run).map_or(0.0, |draft| offloading(&draft, &evaluation.loads).0);
            let added = Written::marked(added, Provenance::AddedUp).called(HOST_ADDED);
            time = (Written::number(1.0) - OFFLOADED.of::<Written>(states)) * time + added;
        }
        measured(evaluation, time).term("O", "optimizer on the slowest rank", Unit::Seconds)
    });
    Term { value: evaluation.report.step.optimizer_s.0, ..term }
}

/// Seconds by which the data loader lengthens the step; it does so where it is nearly as slow as the GPUs, or slower.
fn loader(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let busy = step.compute_s + step.bubble_s + step.exposed_comm_s + step.optimizer_s;
    let term = written(|| {
        let floor = measured(evaluation, loading(&evaluation.scenario)).called(LOADER);
        let busy = BUSY.of::<Written>(busy.0);
        let loads = if evaluation.scenario.run.loader_stage_s > 0.0 {
            measured(evaluation, stage_loading(&evaluation.scenario)).called(LOADED)
        } else {
            Written::number(0.0)
        };
        (together(busy + loads, floor) - busy).term("H", "what the data loader adds", Unit::Seconds)
    });
    Term { value: step.host_s.0, ..term }.note("computed and loaded in turn through a short queue")
}

/// Compute of the average rank, by kind of kernel.
pub fn compute(evaluation: &Evaluation) -> Term {
    let (scenario, step) = (&evaluation.scenario, &evaluation.report.step);
    let clock = Clock::new(scenario);
    let scale = step.rescaled_by.unwrap_or(1.0);
    let passes = Pass::all(scenario, &clock);
    let mean = |part: fn(&ComputeTime) -> Seconds| {
        mean_of(scenario, &evaluation.loads, &passes, |pass| part(&pass.compute).0) * scale
    };
    let (linear, attention) = (mean(|time| time.linear), mean(|time| time.attention));
    let (again, host) = (mean(|time| time.recompute), mean(|time| time.host));
    let beside = mean(|time| time.beside);
    let rest = mean(|time| time.total()) - linear - attention - again - host - beside;
    let rates = clock.rates();
    let mut parts = vec![linears(evaluation, rates, linear)];
    parts.extend((attention > 0.0).then(|| attention_core(evaluation, rates, attention)));
    parts.extend([
        host_gaps(scenario, rates, host),
        seconds(
            "E",
            t!(
                "norms, activation functions and rotary at {share} % of the memory bandwidth; embedding, head, loss",
                share = ELEMENTWISE.value * 100.0
            ),
            rest,
        )
        .added_up(|| through_memory(KERNEL_BYTES.of_piece(), MEMORY_RATE.of_piece()))
        .with(vec![MEMORY_RATE.term(rates.elementwise.0)]),
    ]);
    if again > 0.0 {
        parts.push(seconds("R", "the forward pass computed again", again).marked(Provenance::AddedUp));
    }
    if beside > 0.0 {
        let name = "forward passes of the reference or the teacher";
        parts.push(seconds("F", name, beside).marked(Provenance::AddedUp));
    }
    // Overlapped pairs take less than their parts; micro-batches of unequal length more or less than equal ones.
    let other = step.compute_s.0 - linear - attention - again - host - beside - rest;
    if other.abs() > step.compute_s.0 * 1e-9 {
        let name = "what overlapped pairs and unequal micro-batches change";
        parts.push(simulated("D", name, other));
    }
    Term::sum("C", "compute of the average rank", Unit::Seconds, parts)
}

/// Seconds in which the GPU waits for launches, and the formula of one of these gaps: of a pass of an eager program, of
/// a routed layer, of a part of another layer.
fn host_gaps(scenario: &Scenario, rates: &Rates, value: f64) -> Term {
    let term = seconds("G", "gaps that the host leaves", value);
    if scenario.software.launches.is_some() {
        let gap = || eager_gap_formula(scenario).unwrap_or(Written::number(0.0));
        let term = term.added_up(gap).from(&FMS_ACCELERATION, "launches of eager programs, fitted");
        // Stages may have different numbers of units.
        return match units_of_adapters(scenario, 0).filter(|_| scenario.layout.pp == 1) {
            Some(units) => term.note(t!(
                "H: FSDP gathers {units} units a pass, as each matrix of an adapter is one (PEFT), and each takes the \
                    host {each}",
                units = significant(units, 4),
                each = show_seconds(Seconds(scenario.fitted.of(Constant::Unit)))
            )),
            None => term,
        };
    }
    let term = term.from(HOST_PER_LAYER.source, HOST_PER_LAYER.place);
    if scenario.model.moe.is_some() {
        let host = seconds("H", "the host, a routed layer and micro-batch", routed_host(scenario, false));
        return term.added_up(routed_gap_formula).with(vec![host]);
    }
    term.added_up(|| gap(LAYER_GAP.of_piece(), GAP_SHARE.of_piece()))
        .with(vec![seconds("g", "a layer and micro-batch", rates.host.0)])
        .note("z: of a mixer and of a dense FFN a half each; in a CUDA graph a tenth of that")
}

/// The attention cores of the average rank, by kind of attention where there are several.
fn attention_core(evaluation: &Evaluation, rates: &Rates, value: f64) -> Term {
    let scenario = &evaluation.scenario;
    let name = "attention core, forward and backward";
    let mut kinds: Vec<(Mixer, bool)> = Vec::new();
    for stage in evaluation.loads.iter().flat_map(|load| &load.stages) {
        for (kind, _) in Clock::mixers_on(scenario, *stage) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let time = |(mixer, bf16): (Mixer, bool)| {
        let layers = |stage| {
            let on_stage = Clock::mixers_on(scenario, stage).into_iter();
            on_stage.filter(|(kind, _)| *kind == (mixer, bf16)).map(|(_, layers)| layers).sum::<f64>()
        };
        let passes = CORE_PASSES.of::<Written>(mean_over_stages(scenario, &evaluation.loads, layers));
        let plain = bf16.then(|| Rates::unquantised(scenario));
        let (forward, backward) = attention_seconds::<Written>(scenario, plain.as_ref().unwrap_or(rates), mixer)?;
        Some(measured(evaluation, passes * (forward + backward)))
    };
    let term = written(|| {
        let times: Vec<_> = kinds.into_iter().filter_map(|kind| Some((kind, time(kind)?))).collect();
        if let [(_, only)] = times[..] {
            return only.term("A", name, Unit::Seconds);
        }
        let parts = times.into_iter().map(|((mixer, bf16), time)| {
            let attention = attention_name(mixer);
            let name = if bf16 { t!("{attention}, in layers that stay in bf16", attention) } else { attention };
            time.term("A_i", name, Unit::Seconds)
        });
        Written::all("A_i", parts.collect()).term("A", name, Unit::Seconds)
    });
    Term { value, ..term }
}

/// The kind of attention as a part of [`attention_core`].
fn attention_name(mixer: Mixer) -> Message {
    match mixer {
        Mixer::Window => t!("attention in a window"),
        Mixer::Second => t!("attention with the second shape of heads"),
        Mixer::Chunked => t!("attention inside chunks"),
        Mixer::Latent => t!("latent attention"),
        Mixer::Sparse => t!("latent attention over selected keys"),
        Mixer::Compressed(0) => t!("attention in a window, nothing compressed"),
        Mixer::Compressed(ratio) => t!("attention over keys compressed by {ratio}", ratio),
        _ => t!("attention over all earlier tokens"),
    }
}

/// The linears of the layers: what a GEMM costs.
fn linears(evaluation: &Evaluation, rates: &Rates, value: f64) -> Term {
    let scenario = &evaluation.scenario;
    let family = family(scenario);
    let peak = ComputePeak::of(scenario);
    let name = "GEMM rate in training";
    let fitted = scenario.factors.of(Multiplier::Gemm);
    let rate = if (rates.gemm.0 - rates.gemm_plain.0).abs() < 1.0 {
        let parts = [
            ratio("t", "in training over alone, fitted", rates.in_training),
            ratio("g", "share of peak that large GEMMs sustain", family.gemm),
            Term::given("F", t!("{precision} peak", precision = peak.precision), peak.rate().0, Unit::FlopRate),
            ratio("p", "what your runs say that it takes", fitted),
        ];
        let is_fitted = (fitted - 1.0).abs() > 0.0;
        Term::made("r", name, Unit::FlopRate, parts, |[training, share, peak, takes]| {
            let alone = training * share * peak;
            if is_fitted { alone / takes } else { alone }
        })
        .from(family.source, "kernel benchmarks")
        .note(family.remark)
    } else {
        Term::given("r", name, rates.gemm.0, Unit::FlopRate).marked(Provenance::LookedUp)
    };
    seconds("L", "linears of the layers, by their shapes on a rank", value)
        .added_up(gemm_formula)
        .with(vec![
            rate,
            Term::given("b", "operands and results through memory", rates.operands.0, Unit::Bandwidth),
            seconds("l", "gap of a launch", rates.launch.0),
        ])
        .note(
            "q: what tiles of 256 x 128 and smaller waste at the edges and in the last wave; B: bytes of the \
            operands and the result",
        )
}

#[cfg(test)]
mod tests {
    use super::super::super::evaluate;
    use super::*;
    use crate::run::{Based, Recompute, Run};

    fn parts_of(term: &Term, symbols: &str) -> f64 {
        let parts = term.parts.iter();
        parts.filter(|part| symbols.contains(part.symbol)).map(|part| part.value).sum()
    }

    #[test]
    fn the_parts_of_the_step_and_of_its_compute_add_up() {
        let full =
            Run { recompute: Recompute::Full, measured_step_s: Some(30.0), loader_ns: Some(2.0), ..Run::default() };
        let experts = Run { model: Based::preset("mixtral-8x7b"), tp: 1, ep: 8, ..Run::default() };
        let loading = Run { loader_stage_s: 0.2, ..full.clone() };
        for run in [Run::default(), full, experts, loading] {
            let evaluation = evaluate(&run).unwrap();
            let step = step(&evaluation);
            assert!((parts_of(&step, "CIXOH") / step.value - 1.0).abs() < 1e-9);
            let compute = compute(&evaluation);
            assert!((parts_of(&compute, "LAGERD") / compute.value - 1.0).abs() < 1e-9);
            for part in &compute.parts {
                assert!(part.value > 0.0, "{} {}", part.symbol, part.value);
            }
        }
    }

    /// The units of an adapter's matrices are those of a pass of the whole model: without a pipeline they are said.
    #[test]
    fn units_of_adapters_are_said_of_the_whole_model() {
        for pp in ["1", "2"] {
            let set = [("adapter.method", "lora"), ("stack", "hf-trainer"), ("gpus", "8"), ("tp", "1"), ("zero", "3")];
            let run = Run::default().with_texts(&set).unwrap().with_texts(&[("pp", pp)]).unwrap();
            let evaluation = evaluate(&run).unwrap();
            assert!(units_of_adapters(&evaluation.scenario, 0).is_some());
            let compute = compute(&evaluation);
            let gaps = compute.parts.iter().find(|part| part.symbol == "G").unwrap();
            let notes: String = gaps.notes.iter().map(ToString::to_string).collect();
            assert_eq!(notes.contains("FSDP gathers"), pp == "1", "{pp}: {notes}");
        }
    }

    #[test]
    fn a_measured_step_is_named_with_the_factor() {
        let mut run = Run::default();
        let alone = evaluate(&run).unwrap().report.step.time_s.0;
        run.measured_step_s = Some(alone * 1.25);
        let notes = step(&evaluate(&run).unwrap()).notes.iter().map(ToString::to_string).collect::<String>();
        assert!(notes.contains("scaled by 1.25") && !notes.contains("range"));
    }
}
