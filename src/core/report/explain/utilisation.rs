//! Model FLOPs, utilisation and tokens a second: formulas with this run's values.

use super::super::Evaluation;
use super::{count, ratio, seconds};
use crate::explain::{Provenance, Term, Unit};
use crate::model::{
    Architecture, AttentionCount, CONVENTIONS, Convention, as_nanotron, head_forward_flops,
    layer_forward_flops, visited,
};
use crate::source::NARAYANAN_2021;
use crate::t;
use crate::time::MfuBy;
use crate::units::show_percent;

/// Forward FLOPs of one token in a layer, routed or not, that meets `keys` keys; with or without its router.
fn layer_flops(
    model: &Architecture,
    symbol: &'static str,
    name: &'static str,
    index: u64,
    keys: f64,
    router: bool,
) -> Term {
    let routed = model.moe.filter(|_| model.is_moe_layer(index));
    let left_out = match routed {
        Some(moe) if !router => 2.0 * (model.hidden * moe.experts) as f64,
        _ => 0.0,
    };
    let flops = layer_forward_flops(model, index, keys) - left_out;
    let attention = match model.mla {
        Some(mla) if mla.q_lora_rank == 0 => {
            "2 (h a (d_n + d_r) + h (k_r + d_r) + k_r a (d_n + d_v) + a d_v h) + 2 a (d_n + d_r + d_v) s"
        }
        Some(_) => {
            "2 (h q_r + q_r a (d_n + d_r) + h (k_r + d_r) + k_r a (d_n + d_v) + a d_v h) + 2 a (d_n + d_r + d_v) s"
        }
        None => "2 h d (a + 2 k) + 2 a d h + 4 a d s",
    };
    let ffn = match (routed.is_some(), model.gated_ffn) {
        (true, true) => "6 h f_e (K + n_s)",
        (true, false) => "4 h f_e (K + n_s)",
        (false, true) => "6 h f",
        (false, false) => "4 h f",
    };
    let router = if routed.is_some() && router {
        " + 2 h E"
    } else {
        ""
    };
    let formula = format!("{attention} + {ffn}{router}");
    Term::given(symbol, name, flops, Unit::Flops).over(formula, &shape(model, keys))
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
            size("K", "experts per token", moe.top_k),
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

/// FLOPs of a token, forward and backward: `layer` times the layers of each kind, the head, and multi-token prediction.
fn whole(symbol: &'static str, value: f64, model: &Architecture, keys: f64, router: bool) -> Term {
    let routed = model.moe_layers();
    let dense = model.layers - routed;
    let head = Term::given(
        "w",
        "forward FLOPs of a token in the head",
        head_forward_flops(model),
        Unit::Flops,
    )
    .over("2 h v", &shape(model, 0.0));
    let (here, there) = (
        "forward FLOPs of a token in a layer",
        "forward FLOPs of a token in a layer with routed experts",
    );
    let book = [
        Term::count("L", "layers", dense),
        layer_flops(model, "f", here, 0, keys, router),
        Term::count("L_e", "layers with routed experts", routed),
        layer_flops(model, "f_e", there, model.layers - 1, keys, router),
        Term::count("q", "modules of multi-token prediction", model.mtp_modules),
        Term::count("h", "hidden size", model.hidden),
        head,
    ];
    let layers = match (dense, routed) {
        (_, 0) => "L f",
        (0, _) => "L_e f_e",
        _ => "L f + L_e f_e",
    };
    let modules = match (model.mtp_modules, routed) {
        (0, _) => "",
        (_, 0) => " + q (f + 4 h² + w)",
        _ => " + q (f_e + 4 h² + w)",
    };
    let name = "model FLOPs of a token, forward and backward";
    Term::given(symbol, name, value, Unit::Flops)
        .over(format!("3 ({layers} + w{modules})"), &book)
        .note("the backward pass is twice the forward one")
}

/// Model FLOPs of a step, counted as the Run says.
fn model_flops(evaluation: &Evaluation) -> Term {
    let (report, scenario) = (&evaluation.report, &evaluation.scenario);
    let tokens = report.layout.tokens_per_step;
    let keys = scenario.run.attention_flops.effective(scenario.run.seq_len);
    let each = report.step.model_flops / tokens;
    let token = whole("m", each, &scenario.model, keys, true).note(t!(
        "attention counted {attention_flops_note}",
        attention_flops_note = scenario.run.attention_flops_note()
    ));
    let name = "model FLOPs of a step";
    Term::given("M", name, report.step.model_flops, Unit::Flops).by(
        "m D",
        vec![
            token,
            Term::given("D", "tokens a step", tokens, Unit::Tokens),
        ],
    )
}

/// Step time, GPUs and the peak: what FLOPs are divided by.
fn below(evaluation: &Evaluation) -> [Term; 3] {
    let step = &evaluation.report.step;
    let name = t!("{precision} peak", precision = step.peak.precision);
    [
        seconds("T", "step time", step.time_s.0),
        count("N", "GPUs", evaluation.scenario.layout.gpus as f64),
        Term::given("F", name, step.peak.rate().0, Unit::FlopRate),
    ]
}

/// Model FLOPs over the peak, what is really executed, and the same as others count it.
pub fn mfu(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let mut parts = vec![model_flops(evaluation)];
    parts.extend(below(evaluation));
    if step.hfu > step.mfu {
        let again = "compute with recomputation over compute without";
        parts.push(
            Term::given("HFU", "hardware FLOPs utilisation", step.hfu, Unit::Share).by(
                "U x",
                vec![
                    Term::given("U", "model FLOPs utilisation", step.mfu, Unit::Share),
                    ratio("x", again, step.hfu / step.mfu).marked(Provenance::AddedUp, ""),
                ],
            ),
        );
    }
    parts.extend(step.mfu_by.iter().filter_map(|row| by(evaluation, row)));
    let term = Term::given("U", "model FLOPs utilisation", step.mfu, Unit::Share)
        .by("M/(T N F)", parts)
        .from(&NARAYANAN_2021, "section 5.1, without recomputation")
        .note(t!(
            "hardware FLOPs utilisation (HFU), with what recomputation executes: {hfu}",
            hfu = show_percent(step.hfu)
        ));
    let bf16 = evaluation.scenario.gpu.bf16.0 / 1e12;
    match step.peak.precision {
        "bf16" | "fp16" => term,
        "tf32" => term.note("fp32 matrices are multiplied in TF32, at half the bf16 peak"),
        _ => term
            .note(if step.peak.precision == "fp4" {
                "the layers' linears compute in fp4; attention and head stay in bf16"
            } else {
                "the layers' linears compute in fp8; attention and head stay in bf16"
            })
            .note(t!(
                "over the bf16 peak, as some logs have it: {bf16}",
                bf16 = show_percent(step.tflops_per_gpu / bf16)
            )),
    }
}

/// Utilisation as a published convention counts it.
fn by(evaluation: &Evaluation, row: &MfuBy) -> Option<Term> {
    let convention = CONVENTIONS.iter().find(|one| one.id == row.name)?;
    let token = token_flops(evaluation, convention, row.flops_per_token);
    let tokens = evaluation.report.layout.tokens_per_step;
    let mut parts = vec![
        token,
        Term::given("D", "tokens a step", tokens, Unit::Tokens),
    ];
    parts.extend(below(evaluation));
    let name = t!("as {convention} counts", convention = convention.name);
    Some(
        Term::given("U_i", name, row.mfu, Unit::Share)
            .by("m D/(T N F)", parts)
            .from(convention.source, convention.place)
            .note(convention.remark),
    )
}

/// FLOPs of a token by a convention.
fn token_flops(evaluation: &Evaluation, convention: &Convention, value: f64) -> Term {
    let (model, seq) = (&evaluation.scenario.model, evaluation.scenario.run.seq_len);
    if convention.id == "megatron" {
        return whole(
            "m",
            value,
            model,
            AttentionCount::Causal.effective(seq),
            false,
        );
    }
    if convention.id == "nanotron" {
        let gated = as_nanotron(model);
        return whole(
            "m",
            value,
            &gated,
            AttentionCount::Full.effective(seq),
            true,
        );
    }
    let (all, embedding) = visited(model);
    let mut book = shape(model, seq as f64);
    book.extend([
        Term::count("L", "layers", model.layers),
        Term::count("N", "parameters that a token visits", all),
        Term::count("e", "of them in the input embedding", embedding),
    ]);
    let parameters = if convention.id == "torchtitan" {
        "6 (N - e)"
    } else {
        "6 N"
    };
    let attention = if model.mla.is_some() {
        "6 L a (d_n + d_r + d_v) s"
    } else {
        "12 L a d s"
    };
    let name = "model FLOPs of a token, forward and backward";
    Term::given("m", name, value, Unit::Flops).over(format!("{parameters} + {attention}"), &book)
}

/// Tokens a second and GPU, and what a token budget takes.
pub fn tokens(evaluation: &Evaluation) -> Term {
    let report = &evaluation.report;
    let rate = report.step.tokens_per_s_per_gpu;
    let mut term = Term::given("R", "tokens per second and GPU", rate, Unit::TokenRate)
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
        term = term.note(t!(
            "the token budget takes {hours} GPU-hours: budget/(3600 R)",
            hours
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
        let (flops, token) = (&term.parts[0], &term.parts[0].parts[0]);
        // Llama 3.1 8B, causal: 8192 projections and FFN of 218 M parameters, twice; attention 4 a d s/2.
        let layer = 2.0 * 218_103_808.0 + 4.0 * 4096.0 * 4096.0;
        assert!((at(token, "f") / layer - 1.0).abs() < 1e-9);
        let each = 3.0 * (at(token, "L") * at(token, "f") + at(token, "w"));
        let by_hand = each * at(flops, "D");
        assert!((flops.value / by_hand - 1.0).abs() < 1e-12);
        assert_eq!(flops.computed(), Some(token.value * at(flops, "D")));
        let share = flops.value / (at(&term, "T") * at(&term, "N") * at(&term, "F"));
        assert!((share / term.value - 1.0).abs() < 1e-12);
    }
}
