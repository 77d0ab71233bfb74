//! The step, its compute, utilisation and tokens a second: formulas with this run's values.

use super::super::Evaluation;
use super::super::evaluate::held;
use super::{seconds, simulated, wires};
use crate::explain::{Mark, Term, Unit};
use crate::model::{Architecture, head_forward_flops, layer_forward_flops};
use crate::run::Scenario;
use crate::source::NARAYANAN_2021;
use crate::time::{
    ATTENTION_HALF, COUPLING, Clock, ComputeTime, ELEMENTWISE, HOST_PER_LAYER, IN_TRAINING, Range,
    Rates, STEP_END, family, range, step_end,
};
use crate::units::{Seconds, show_seconds, significant};

fn count(symbol: &'static str, name: &str, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Count)
}

fn ratio(symbol: &'static str, name: &str, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Ratio)
}

/// What the step is the sum of, and how sure that is.
pub fn step(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let pipeline = &evaluation.report.pipeline;
    let mut parts = vec![
        compute(evaluation),
        seconds("I", "waiting in the pipeline", step.bubble_s.0).by(
            "M - B",
            vec![
                simulated("M", "first start to last end", pipeline.makespan_s.0),
                simulated("B", "mean busy time of a rank", pipeline.ideal_s.0),
            ],
        ),
        wires::exposed(evaluation),
        optimizer(evaluation),
    ];
    let formula = if step.host_s.0 > 0.0 {
        parts.push(loader(evaluation));
        "C + I + X + O + H"
    } else {
        "C + I + X + O"
    };
    let term = seconds("T", "step time", step.time_s.0).by(formula, parts);
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

/// The factor of a measured step, for formulas whose inputs it does not scale.
fn scaled(evaluation: &Evaluation, formula: &str) -> (String, Term) {
    let scale = evaluation.report.step.rescaled_by;
    let formula = match scale {
        Some(_) => format!("({formula}) x"),
        None => formula.to_owned(),
    };
    let name = "measured over predicted step";
    (formula, ratio("x", name, scale.unwrap_or(1.0)))
}

/// States, gradients and weights of the slowest rank through its memory.
fn optimizer(evaluation: &Evaluation) -> Term {
    let (scenario, zero) = (&evaluation.scenario, evaluation.scenario.zero);
    let (precision, clock) = (scenario.precision, Clock::new(scenario));
    let shard = |size: u64| if zero.stage == 0 { 1.0 } else { size as f64 };
    let (n, n_e) = (shard(zero.shard), shard(zero.expert_shard));
    let ranks = evaluation.loads.iter().map(|load| {
        let held = held(scenario, &load.stages);
        let updated = held.dense / n + held.experts / n_e;
        let kept = if zero.stage == 3 {
            updated
        } else {
            held.total()
        };
        (
            step_end(scenario, clock.rates(), updated, kept).0,
            held,
            updated,
            kept,
        )
    });
    let slowest = ranks.max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, held, updated, kept) = slowest.unwrap_or_default();
    let parameters = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Parameters);
    let bytes = |symbol, name: &str, value| Term::given(symbol, name, value, Unit::Bytes);
    let shares = [
        parameters("P_d", "parameters outside the experts", held.dense),
        parameters("P_e", "routed experts", held.experts),
        count("N", "ranks that share the states", n),
        count("N_e", "ranks that share the experts' states", n_e),
    ];
    let formula = if held.experts > 0.0 {
        "P_d/N + P_e/N_e"
    } else {
        "P_d/N"
    };
    let states = precision.optimizer(scenario.run.optimizer);
    let (whole, scale) = scaled(evaluation, "((2 o + g + w) U + 1.5 g P)/β + e");
    let book = [
        bytes("o", "bytes of states a parameter, read and written", states),
        bytes(
            "g",
            "bytes a gradient and its accumulation",
            precision.gradients(),
        ),
        bytes("w", "bytes a weight", precision.weights.min(2.0)),
        parameters("U", "parameters that the rank updates", updated).over(formula, &shares),
        parameters(
            "P",
            "parameters whose gradients it reads for the norm and clears",
            kept,
        ),
        Term::given(
            "β",
            "rate of the memory, as kernels reach it",
            clock.rates().elementwise.0,
            Unit::Bandwidth,
        ),
        seconds("e", "the end of a step", STEP_END.0),
        scale,
    ];
    let time = evaluation.report.step.optimizer_s.0;
    seconds("O", "optimizer on the slowest rank", time).over(whole, &book)
}

/// What a data loader adds that is nearly as slow as the GPUs, or slower.
fn loader(evaluation: &Evaluation) -> Term {
    let (step, scenario) = (&evaluation.report.step, &evaluation.scenario);
    let run = &scenario.run;
    let busy = step.compute_s + step.bubble_s + step.exposed_comm_s + step.optimizer_s;
    let samples = run.global_batch as f64 / scenario.layout.dp as f64;
    let (formula, scale) = scaled(evaluation, "l s² n");
    let scale_of = step.rescaled_by.unwrap_or(1.0);
    let floor = run.loader_ns * 1e-9 * (run.seq_len as f64).powi(2) * samples * scale_of;
    let floor = seconds("f", "what the loader needs", floor).over(
        formula,
        &[
            seconds(
                "l",
                "for a sample, over the square of its tokens",
                run.loader_ns * 1e-9,
            ),
            Term::given("s", "tokens a sequence", run.seq_len as f64, Unit::Tokens),
            count("n", "samples of a rank", samples),
            scale,
        ],
    );
    seconds("H", "what the data loader adds", step.host_s.0)
        .by(
            "(b^q + f^q)^(1/q) - b",
            vec![
                seconds("b", "what the GPUs need", busy.0),
                floor,
                ratio(
                    "q",
                    "how sharply the slower sets the pace, fitted",
                    COUPLING.value,
                ),
            ],
        )
        .note("computed and loaded in turn through a short queue")
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
    let rest = mean(|time| time.total()) - linear - attention - again - host;
    let rates = clock.rates();
    let mut parts = vec![
        linears(evaluation, rates, linear),
        seconds("A", "attention core, forward and backward", attention)
            .marked(Mark::AddedUp, "n (1 + k/s) (1/a + 2.5/o)")
            .with(vec![
                Term::given("a", "rate on long sequences", rates.attention_forward.0, Unit::FlopRate),
                Term::given("o", "the same of the backward pass", rates.attention_backward.0, Unit::FlopRate),
                Term::given("k", "tokens at which it runs at half of it", ATTENTION_HALF.value, Unit::Tokens),
            ])
            .from(ATTENTION_HALF.source, ATTENTION_HALF.place)
            .note("n: causal half of 4 a d s FLOPs a token; s: tokens a rank sees"),
        seconds("G", "gaps that the host leaves, a layer and micro-batch", host)
            .marked(Mark::AddedUp, "g layers micro-batches")
            .with(vec![seconds("g", "a layer and micro-batch", rates.host.0)])
            .from(HOST_PER_LAYER.source, HOST_PER_LAYER.place),
        seconds(
            "E",
            format!(
                "norms, activation functions and rotary at {:.0} % of the memory bandwidth; embedding, head, loss",
                ELEMENTWISE.value * 100.0
            ),
            rest,
        )
        .marked(Mark::AddedUp, "bytes/β"),
    ];
    let mut formula = String::from("L + A + G + E");
    if again > 0.0 {
        parts
            .push(seconds("R", "the forward pass computed again", again).marked(Mark::AddedUp, ""));
        formula.push_str(" + R");
    }
    // Overlapped pairs take less than their parts; micro-batches of unequal length more or less than equal ones.
    let other = step.compute_s.0 - linear - attention - again - host - rest;
    if other.abs() > step.compute_s.0 * 1e-9 {
        let name = "what overlapped pairs and unequal micro-batches change";
        parts.push(simulated("D", name, other));
        formula.push_str(" + D");
    }
    seconds("C", "compute of the average rank", step.compute_s.0).by(formula, parts)
}

/// The linears of the layers: what a GEMM costs.
fn linears(evaluation: &Evaluation, rates: &Rates, value: f64) -> Term {
    let scenario = &evaluation.scenario;
    let family = family(scenario);
    let name = "GEMM rate in training";
    let mut rate = Term::given("r", name, rates.gemm.0, Unit::FlopRate);
    if (rates.gemm.0 - rates.gemm_plain.0).abs() < 1.0 {
        rate = rate
            .by(
                "t g F",
                vec![
                    ratio("t", "in training over alone, fitted", IN_TRAINING.value),
                    ratio("g", "share of peak that large GEMMs sustain", family.gemm),
                    Term::given("F", "bf16 peak", scenario.gpu.bf16.0, Unit::FlopRate),
                ],
            )
            .from(family.source, "kernel benchmarks")
            .note(family.remark);
    } else {
        rate = rate.marked(Mark::LookedUp, "");
    }
    seconds("L", "linears of the layers, by their shapes on a rank", value)
        .marked(Mark::AddedUp, "2 q M N K/r + B/b + l")
        .with(vec![
            rate,
            Term::given("b", "operands and results through memory", rates.operands.0, Unit::Bandwidth),
            seconds("l", "gap of a launch", rates.launch.0),
        ])
        .note("q: what tiles of 256 x 128 and smaller waste at the edges and in the last wave; B: bytes of the operands and the result")
}

/// Forward FLOPs of one token in a layer, routed or not.
fn layer_flops(scenario: &Scenario, symbol: &'static str, name: &str, index: u64) -> Term {
    let (model, run) = (&scenario.model, &scenario.run);
    let flops = layer_forward_flops(model, index, run.seq_len, run.attention_flops);
    let attention = match model.mla {
        Some(mla) if mla.q_lora_rank == 0 => {
            "2 (h a (d_n + d_r) + h (k_r + d_r) + k_r a (d_n + d_v) + a d_v h) + 2 a (d_n + d_r + d_v) s"
        }
        Some(_) => {
            "2 (h q_r + q_r a (d_n + d_r) + h (k_r + d_r) + k_r a (d_n + d_v) + a d_v h) + 2 a (d_n + d_r + d_v) s"
        }
        None => "2 h d (a + 2 k) + 2 a d h + 4 a d s",
    };
    let ffn = match (model.is_moe_layer(index), model.gated_ffn) {
        (true, true) => "6 h f_e (K + n_s) + 2 h E",
        (true, false) => "4 h f_e (K + n_s) + 2 h E",
        (false, true) => "6 h f",
        (false, false) => "4 h f",
    };
    Term::given(symbol, name, flops, Unit::Flops)
        .over(
            format!("{attention} + {ffn}"),
            &shape(model, run.attention_flops.effective(run.seq_len)),
        )
        .note(format!("attention counted {}", run.attention_flops_note()))
}

/// The sizes of a model.
fn shape(model: &Architecture, keys: f64) -> Vec<Term> {
    let size = |symbol, name: &str, value: u64| Term::count(symbol, name, value);
    let mut book = vec![
        size("h", "hidden size", model.hidden),
        size("f", "FFN size", model.ffn),
        size("a", "heads", model.heads),
        size("k", "key-value heads", model.kv_heads),
        size("d", "head size", model.head_dim),
        size("v", "vocabulary", model.vocab),
        count("s", "keys that a query meets, as counted", keys),
    ];
    if let Some(moe) = model.moe {
        book.extend([
            size("K", "experts a token", moe.top_k),
            size("E", "routed experts", moe.experts),
            size("f_e", "FFN size of an expert", moe.expert_ffn),
            size("n_s", "shared experts", moe.shared_experts),
        ]);
    }
    if let Some(mla) = model.mla {
        book.extend([
            size("q_r", "rank of the queries' latent", mla.q_lora_rank),
            size(
                "k_r",
                "rank of the keys' and values' latent",
                mla.kv_lora_rank,
            ),
            size("d_n", "head size without rotary", mla.qk_nope_head_dim),
            size("d_r", "rotary head size", mla.qk_rope_head_dim),
            size("d_v", "head size of the values", mla.v_head_dim),
        ]);
    }
    book
}

/// Model FLOPs of a step: the layers of each kind, and the head.
fn model_flops(evaluation: &Evaluation) -> Term {
    let (report, scenario) = (&evaluation.report, &evaluation.scenario);
    let model = &scenario.model;
    let routed = model.moe_layers();
    let dense = model.layers - routed;
    let head = Term::given(
        "w",
        "forward FLOPs of a token in the head",
        head_forward_flops(model),
        Unit::Flops,
    )
    .over("2 h v", &shape(model, 0.0));
    let book = [
        Term::given(
            "D",
            "tokens a step",
            report.layout.tokens_per_step,
            Unit::Tokens,
        ),
        Term::count("L", "layers", dense),
        layer_flops(scenario, "f", "forward FLOPs of a token in a layer", 0),
        Term::count("L_e", "layers with routed experts", routed),
        layer_flops(
            scenario,
            "f_e",
            "forward FLOPs of a token in a layer with routed experts",
            model.layers - 1,
        ),
        head,
    ];
    let formula = match (dense, routed) {
        (_, 0) => "3 D (L f + w)",
        (0, _) => "3 D (L_e f_e + w)",
        _ => "3 D (L f + L_e f_e + w)",
    };
    Term::given(
        "M",
        "model FLOPs of a step",
        report.step.model_flops,
        Unit::Flops,
    )
    .over(formula, &book)
    .note("the backward pass is twice the forward one")
}

/// Model FLOPs over the peak, and what is really executed.
pub fn mfu(evaluation: &Evaluation) -> Term {
    let scenario = &evaluation.scenario;
    let step = &evaluation.report.step;
    let mut parts = vec![
        model_flops(evaluation),
        seconds("T", "step time", step.time_s.0),
        count("N", "GPUs", scenario.layout.gpus as f64),
        Term::given("F", "bf16 peak", scenario.gpu.bf16.0, Unit::FlopRate),
    ];
    if step.hfu > step.mfu {
        let again = "compute with recomputation over compute without";
        parts.push(
            Term::given("HFU", "hardware FLOPs utilisation", step.hfu, Unit::Share).by(
                "U x",
                vec![
                    Term::given("U", "model FLOPs utilisation", step.mfu, Unit::Share),
                    ratio("x", again, step.hfu / step.mfu).marked(Mark::AddedUp, ""),
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
    let rate = report.step.tokens_per_s_per_gpu;
    let mut term = Term::given("R", "tokens a second and GPU", rate, Unit::TokenRate)
        .by(
            "D/(T N)",
            vec![
                Term::given(
                    "D",
                    "tokens a step",
                    report.layout.tokens_per_step,
                    Unit::Tokens,
                ),
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
            assert!((parts_of(&compute, "LAGERD") / compute.value - 1.0).abs() < 1e-9);
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
        assert_eq!(flops.computed(), Some(by_hand));
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
