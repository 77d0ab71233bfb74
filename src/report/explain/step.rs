//! The step, its compute, utilisation and tokens a second: formulas with this run's values.

use super::super::Evaluation;
use super::{seconds, wires};
use crate::explain::{Term, Unit};
use crate::model::head_forward_flops;
use crate::source::NARAYANAN_2021;
use crate::time::{
    ATTENTION_HALF, COUPLING, Clock, ComputeTime, ELEMENTWISE, HOST_PER_LAYER, IN_TRAINING, Range,
    Rates, STEP_END, family, range,
};
use crate::units::{Seconds, show_seconds, significant};

/// What the step is the sum of, and how sure that is.
pub fn step(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let run = &evaluation.scenario.run;
    let mut term = seconds("T", "step time", step.time_s.0).by(
        "C + I + X + O + H",
        vec![
            compute(evaluation),
            seconds("I", "waiting in the pipeline, simulated", step.bubble_s.0),
            wires::exposed(evaluation),
            seconds(
                "O",
                format!(
                    "optimizer: states and gradients through memory, and {} for the end of a step",
                    show_seconds(STEP_END)
                ),
                step.optimizer_s.0,
            ),
            seconds("H", "what the data loader adds", step.host_s.0),
        ],
    );
    if run.loader_ns > 0.0 {
        let p = COUPLING.value;
        term = term.note(format!(
            "GPUs that need b and a loader that needs f take (b^{p} + f^{p})^(1/{p}); f = loader_ns s² samples a rank"
        ));
    }
    match step.rescaled_by {
        Some(scale) => term.note(format!(
            "scaled by {} to the step you measured: the model alone says {}; the parts keep their proportions",
            significant(scale, 3),
            show_seconds(step.time_s * (1.0 / scale)),
        )),
        None => spread(term, evaluation),
    }
    .note("leaves out stragglers, contention between jobs, checkpoints and evaluation")
}

/// Where the range around the step comes from.
fn spread(term: Term, evaluation: &Evaluation) -> Term {
    let Range {
        low,
        high,
        runs,
        of,
    } = range(&evaluation.scenario);
    term.note(format!(
        "range: {low} to {high} times the prediction, where four of five of {runs} {of} lie"
    ))
}

/// Compute of the average rank, by kind of kernel.
pub fn compute(evaluation: &Evaluation) -> Term {
    let (scenario, step) = (&evaluation.scenario, &evaluation.report.step);
    let clock = Clock::new(scenario);
    let scale = step.rescaled_by.unwrap_or(1.0);
    let m = scenario.usual_microbatches();
    let stages: Vec<ComputeTime> = (0..scenario.stage_layers.len())
        .map(|stage| clock.stage(scenario, stage))
        .collect();
    let loads = &evaluation.loads;
    let mean = |part: fn(&ComputeTime) -> Seconds| -> f64 {
        let ranks = loads.iter().map(|load| {
            let copies = load.stages.len() as f64 / scenario.chunks as f64;
            let held = load.stages.iter().filter_map(|stage| stages.get(*stage));
            held.map(|time| part(time).0).sum::<f64>() * m / copies
        });
        ranks.sum::<f64>() / loads.len().max(1) as f64 * scale
    };
    let (linear, attention) = (mean(|time| time.linear), mean(|time| time.attention));
    let (again, host) = (mean(|time| time.recompute), mean(|time| time.host));
    let rest = step.compute_s.0 - linear - attention - again - host;
    let rates = clock.rates();
    let ratio = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Ratio);
    let mut parts = vec![
        linears(evaluation, rates, linear),
        seconds("A", "attention core, forward and backward", attention)
            .by(
                "Σ n (1 + k/s) (1/a + 2.5/o)",
                vec![
                    Term::given(
                        "a",
                        "rate on long sequences, FLOP/s",
                        rates.attention_forward.0,
                        Unit::Count,
                    ),
                    Term::given(
                        "o",
                        "the same of the backward pass",
                        rates.attention_backward.0,
                        Unit::Count,
                    ),
                    ratio(
                        "k",
                        "tokens at which it runs at half of it",
                        ATTENTION_HALF.value,
                    ),
                ],
            )
            .from(ATTENTION_HALF.source, ATTENTION_HALF.place)
            .note("n: causal half of 4 a d s FLOPs a token; s: tokens a rank sees"),
        seconds(
            "G",
            "gaps that the host leaves, a layer and micro-batch",
            host,
        )
        .by(
            "Σ g layers micro-batches",
            vec![seconds("g", "a layer and micro-batch", rates.host.0)],
        )
        .from(HOST_PER_LAYER.source, HOST_PER_LAYER.place),
        seconds(
            "E",
            format!(
                "norms, activation functions and rotary at {:.0} % of the memory bandwidth; embedding, head, loss",
                ELEMENTWISE.value * 100.0
            ),
            rest,
        ),
    ];
    let formula = if again > 0.0 {
        parts.push(seconds("R", "the forward pass computed again", again));
        "L + A + G + E + R"
    } else {
        "L + A + G + E"
    };
    seconds("C", "compute of the average rank", step.compute_s.0).by(formula, parts)
}

/// The linears of the layers: what a GEMM costs.
fn linears(evaluation: &Evaluation, rates: &Rates, value: f64) -> Term {
    let scenario = &evaluation.scenario;
    let family = family(scenario);
    let count = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Count);
    let ratio = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Ratio);
    let mut rate = count("r", "GEMM rate in training, FLOP/s", rates.gemm.0);
    if (rates.gemm.0 - rates.gemm_plain.0).abs() < 1.0 {
        rate = rate
            .by(
                "t g F",
                vec![
                    ratio("t", "in training over alone, fitted", IN_TRAINING.value),
                    ratio("g", "share of peak that large GEMMs sustain", family.gemm),
                    count("F", "bf16 peak, FLOP/s", scenario.gpu.bf16.0),
                ],
            )
            .from(family.source, "kernel benchmarks")
            .note(family.remark);
    }
    seconds("L", "linears of the layers, by their shapes on a rank", value)
        .by(
            "Σ (2 q M N K/r + B/b + l)",
            vec![
                rate,
                Term::given("b", "bytes a second of operands and results", rates.operands.0, Unit::Bytes),
                seconds("l", "gap of a launch", rates.launch.0),
            ],
        )
        .note("q: what tiles of 256 x 128 and smaller waste at the edges and in the last wave; B: bytes of the operands and the result")
}

/// Model FLOPs over the peak, and what is really executed.
pub fn mfu(evaluation: &Evaluation) -> Term {
    let (report, scenario) = (&evaluation.report, &evaluation.scenario);
    let step = &report.step;
    let count = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Count);
    let (layers, tokens) = (scenario.model.layers as f64, report.layout.tokens_per_step);
    let head = head_forward_flops(&scenario.model);
    let layer = (step.model_flops / (3.0 * tokens) - head) / layers;
    let flops = count("M", "model FLOPs of a step", step.model_flops)
        .by(
            "3 D (L f + w)",
            vec![
                count("D", "tokens a step", tokens),
                count("L", "layers", layers),
                count("f", "forward FLOPs of a token in a layer, on average", layer),
                count("w", "forward FLOPs of a token in the head, 2 h v", head),
            ],
        )
        .note(format!(
            "f: projections 2 h d (a + 2 k) + 2 a d h, attention 4 a d s counted {}, FFN 6 h f gated or 4 h f; the backward pass is twice the forward one",
            scenario.run.attention_flops_note()
        ));
    let mut parts = vec![
        flops,
        seconds("T", "step time", step.time_s.0),
        count("N", "GPUs", scenario.layout.gpus as f64),
        count("F", "bf16 peak, FLOP/s", scenario.gpu.bf16.0),
    ];
    if step.hfu > step.mfu {
        parts.push(
            Term::given("HFU", "hardware FLOPs utilisation", step.hfu, Unit::Share).by(
                "U x",
                vec![
                    Term::given("U", "model FLOPs utilisation", step.mfu, Unit::Share),
                    Term::given(
                        "x",
                        "compute with recomputation over compute without",
                        step.hfu / step.mfu,
                        Unit::Ratio,
                    ),
                ],
            ),
        );
    }
    Term::given("U", "model FLOPs utilisation", step.mfu, Unit::Share)
        .by("M/(T N F)", parts)
        .from(&NARAYANAN_2021, "section 5.1, without recomputation")
        .note(format!(
            "hardware FLOPs utilisation (HFU), with what recomputation executes: {:.1} %",
            step.hfu * 100.0
        ))
}

/// Tokens a second and GPU, and what a token budget takes.
pub fn tokens(evaluation: &Evaluation) -> Term {
    let report = &evaluation.report;
    let count = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Count);
    let mut term = count(
        "R",
        "tokens a second and GPU",
        report.step.tokens_per_s_per_gpu,
    )
    .by(
        "D/(T N)",
        vec![
            count("D", "tokens a step", report.layout.tokens_per_step),
            seconds("T", "step time", report.step.time_s.0),
            count("N", "GPUs", evaluation.scenario.layout.gpus as f64),
        ],
    )
    .note("every position of every sequence counts as a token");
    if let Some(hours) = report.step.gpu_hours {
        let hours = crate::units::group(&format!("{hours:.0}"));
        term = term.note(format!(
            "the token budget takes {hours} GPU-hours: budget/(3600 R)"
        ));
    }
    term
}

#[cfg(test)]
mod tests {
    use super::super::super::evaluate;
    use super::*;
    use crate::run::{Based, Recompute, Run};

    fn parts_of(term: &Term, symbols: &str) -> f64 {
        let parts = term.parts.iter();
        parts
            .filter(|part| symbols.contains(part.symbol))
            .map(|part| part.value)
            .sum()
    }

    #[test]
    fn the_parts_of_the_step_and_of_its_compute_add_up() {
        let full = Run {
            recompute: Recompute::Full,
            measured_step_s: Some(30.0),
            loader_ns: 2.0,
            ..Run::default()
        };
        let experts = Run {
            model: Based::preset("mixtral-8x7b"),
            tp: 1,
            ep: 8,
            ..Run::default()
        };
        for run in [Run::default(), full, experts] {
            let evaluation = evaluate(&run).unwrap();
            let step = step(&evaluation);
            assert!((parts_of(&step, "CIXOH") / step.value - 1.0).abs() < 1e-9);
            let compute = compute(&evaluation);
            assert!((parts_of(&compute, "LAGER") / compute.value - 1.0).abs() < 1e-9);
            for part in &compute.parts {
                assert!(part.value > 0.0, "{} {}", part.symbol, part.value);
            }
        }
    }

    /// The formula of the drawer, computed by hand from its own inputs.
    #[test]
    fn utilisation_follows_from_the_inputs_shown_beside_it() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let term = mfu(&evaluation);
        let at = |term: &Term, symbol: &str| {
            let part = term.parts.iter().find(|part| part.symbol == symbol);
            part.unwrap().value
        };
        let flops = &term.parts[0];
        // Llama 3.1 8B, causal: 8192 projections and FFN of 218 M parameters, twice; attention 4 a d s/2.
        let layer = 2.0 * 218_103_808.0 + 4.0 * 4096.0 * 4096.0;
        assert!((at(flops, "f") / layer - 1.0).abs() < 1e-9);
        let by_hand = 3.0 * at(flops, "D") * (at(flops, "L") * at(flops, "f") + at(flops, "w"));
        assert!((flops.value / by_hand - 1.0).abs() < 1e-12);
        let share = flops.value / (at(&term, "T") * at(&term, "N") * at(&term, "F"));
        assert!((share / term.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_measured_step_is_named_with_the_factor() {
        let mut run = Run::default();
        let alone = evaluate(&run).unwrap().report.step.time_s.0;
        run.measured_step_s = Some(alone * 1.25);
        let notes = step(&evaluate(&run).unwrap()).notes.join("\n");
        assert!(notes.contains("scaled by 1.25") && !notes.contains("range"));
    }
}
