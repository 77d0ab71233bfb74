//! Model FLOPs, utilisation and tokens a second: formulas with this run's values.

use super::super::Evaluation;
use super::{count, ratio, seconds};
use crate::explain::{Mark, Term, Unit};
use crate::model::{Architecture, head_forward_flops, layer_forward_flops};
use crate::run::Scenario;
use crate::source::NARAYANAN_2021;

/// Forward FLOPs of one token in a layer, routed or not.
fn layer_flops(scenario: &Scenario, symbol: &'static str, name: &'static str, index: u64) -> Term {
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
    let size = |symbol, name: &'static str, value: u64| Term::count(symbol, name, value);
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
    use crate::run::Run;

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
}
