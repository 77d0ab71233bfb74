//! Model FLOPs, utilisation and tokens a second: formulas with this run's values.

use super::super::Evaluation;
use super::inputs::{count, ratio, seconds};
use crate::explain::symbols::{COUNTED_KEYS, HEAD_DIM, HEADS, PLAIN_DIM, ROTARY_DIM, VALUE_DIM};
use crate::explain::{Provenance, Quantity, Term, Unit, Written, written};
use crate::field::OneOf;
use crate::message::Message;
use crate::model::{
    Architecture, AttentionCount, CountedBy, LayerKind, LayerKinds, MAX_KINDS, as_nanotron, head_forward_flops,
    layer_forward_flops, trained_flops, visited, weight_gradient_flops,
};
use crate::run::Format;
use crate::source::NARAYANAN_2021;
use crate::t;
use crate::time::{MfuBy, token_rate, utilisation};
use crate::units::show_percent;

/// Model as a count looks at it: a sequence's length, the share of the causal square, the router.
#[derive(Clone, Copy)]
struct Counted {
    seq: u64,
    attention: AttentionCount,
    router: bool,
}

/// Forward FLOPs of one token in a layer of `kind`.
fn layer_flops(model: &Architecture, symbol: &'static str, name: Message, kind: LayerKind, counted: Counted) -> Term {
    let Counted { seq, attention, router } = counted;
    written(|| layer_forward_flops::<Written>(model, kind, seq, attention, router).term(symbol, name, Unit::Flops))
}

/// Symbols of how many layers there are of a kind, and of their FLOPs.
const KINDS: [[&str; 2]; MAX_KINDS] = [
    ["L_1", "f_1"],
    ["L_2", "f_2"],
    ["L_3", "f_3"],
    ["L_4", "f_4"],
    ["L_5", "f_5"],
    ["L_6", "f_6"],
    ["L_7", "f_7"],
    ["L_8", "f_8"],
];

/// FLOPs of a token, forward and backward: those of a layer of each kind times their number, the head, and multi-token
/// prediction.
fn flops_of_token(symbol: &'static str, model: &Architecture, counted: Counted) -> Term {
    let uniform = model.pattern.is_uniform();
    let layers = |(place, (kind, count)): (usize, &(LayerKind, u64))| {
        let ([layers, each], number, name) = match (uniform, kind.ffn.is_routed()) {
            (true, false) => {
                (["L", "f"], Message::plain("layers"), Message::plain("forward FLOPs of a token in a layer"))
            }
            (true, true) => (
                ["L_e", "f_e"],
                Message::plain("layers with routed experts"),
                Message::plain("forward FLOPs of a token in a layer with routed experts"),
            ),
            (false, _) => {
                let kind = kind.to_string();
                (
                    KINDS[place],
                    t!("layers {kind} of the pattern", kind = kind.clone()),
                    t!("forward FLOPs of a token in a layer {kind}", kind),
                )
            }
        };
        Written::part(Term::count(layers, number, *count))
            * Written::part(layer_flops(model, each, name, *kind, counted))
    };
    let module = |kinds: LayerKinds| -> f64 {
        let each = kinds.iter().map(|(kind, count)| {
            *count as f64 * layer_forward_flops::<f64>(model, *kind, counted.seq, counted.attention, counted.router)
        });
        each.sum()
    };
    let flops = |symbol, name: &'static str, value| Term::given(symbol, name, value, Unit::Flops);
    let name = "forward FLOPs of a token in the head";
    let head = written(|| head_forward_flops::<Written>(model).term("w", name, Unit::Flops));
    let name = "forward FLOPs of a token in the layers of a module";
    let module = flops("f_q", name, module(model.module_kinds())).marked(Provenance::AddedUp);
    let name = "model FLOPs of a token, forward and backward";
    written(|| {
        let kinds = model.all_kinds();
        let layers = kinds.iter().enumerate().map(layers).fold(Written::number(0.0), |sum, layers| sum + layers);
        let [module, head] = [module, head].map(Written::part);
        trained_flops(model, layers, module, head).term(symbol, name, Unit::Flops)
    })
    .note("the backward pass is twice the forward one")
}

/// Model FLOPs of a step, by the Run's convention.
fn model_flops(evaluation: &Evaluation) -> Term {
    let (report, scenario) = (&evaluation.report, &evaluation.scenario);
    let tokens = report.layout.tokens_per_step;
    let counted = Counted { seq: scenario.attended_tokens(), attention: scenario.run.attention_flops, router: true };
    let model = &scenario.model;
    let token = match &scenario.adapter {
        None => flops_of_token("m", model, counted),
        Some(adapter) => {
            let flops = |symbol, name: &'static str, value| Term::given(symbol, name, value, Unit::Flops);
            let gradients = weight_gradient_flops(model);
            let active = adapter.active_elements(model);
            let parts = [
                flops_of_token("a", model, counted),
                flops("g", "gradients of the base's weights", gradients).marked(Provenance::AddedUp),
                Term::given("A", "parameters of adapters that a token meets", active, Unit::Parameters),
            ];
            let name = "model FLOPs of a token beside a frozen base";
            Term::made("m", name, Unit::Flops, parts, |[trained, frozen, adapters]| trained - frozen + adapters * 6.0)
        }
    }
    .note(t!("attention counted {attention_flops_note}", attention_flops_note = scenario.run.attention_flops_note()));
    let tokens = Term::given("D", "tokens per step", tokens, Unit::Tokens);
    if scenario.model.vision.is_none() {
        return Term::made("M", "model FLOPs of a step", Unit::Flops, [token, tokens], |[token, tokens]| {
            token * tokens
        });
    }
    let name = "FLOPs of a step in the vision tower and projector";
    let images = Term::given("V", name, scenario.image_flops(), Unit::Flops).marked(Provenance::AddedUp);
    Term::made("M", "model FLOPs of a step", Unit::Flops, [token, tokens, images], |[token, tokens, images]| {
        token * tokens + images
    })
}

/// Step time, GPUs and the peak: what FLOPs are divided by.
fn below(evaluation: &Evaluation) -> [Term; 3] {
    let step = &evaluation.report.step;
    let name = t!("{precision} peak", precision = step.peak.precision);
    [
        seconds("T", "step time", step.time_s.0),
        count("N", "GPUs", evaluation.scenario.busy_gpus() as f64),
        Term::given("F", name, step.peak.rate().0, Unit::FlopRate),
    ]
}

/// Model FLOPs over the peak, with notes on the FLOPs that are executed and on MFU by the conventions of others.
pub fn mfu(evaluation: &Evaluation) -> Term {
    let step = &evaluation.report.step;
    let [time, gpus, peak] = below(evaluation);
    let parts = [model_flops(evaluation), time, gpus, peak];
    let mut term = Term::made("U", "model FLOPs utilisation", Unit::Share, parts, utilisation);
    if step.hfu > step.mfu {
        let again = "compute with recomputation over compute without";
        let parts = [
            Term::given("U", "model FLOPs utilisation", step.mfu, Unit::Share),
            ratio("x", again, step.hfu / step.mfu).marked(Provenance::AddedUp),
        ];
        let name = "hardware FLOPs utilisation";
        term.parts.push(Term::made("HFU", name, Unit::Share, parts, |[model, again]| model * again));
    }
    term.parts.extend(step.mfu_by.iter().map(|row| by(evaluation, row)));
    let term = term.from(&NARAYANAN_2021, "section 5.1, without recomputation").note(t!(
        "hardware FLOPs utilisation (HFU), with what recomputation executes: {hfu}",
        hfu = show_percent(step.hfu)
    ));
    let bf16 = evaluation.scenario.gpu.bf16.0 / 1e12;
    let linears = match evaluation.scenario.precision.computes {
        Format::Bf16 | Format::Fp16 => return term,
        Format::Fp32 => return term.note("fp32 matrices are multiplied in TF32, at half the bf16 peak"),
        Format::Fp8 => "the layers' linears compute in fp8; attention and head stay in bf16",
        Format::Fp4 => "the layers' linears compute in fp4; attention and head stay in bf16",
    };
    let share = show_percent(step.tflops_per_gpu / bf16);
    term.note(linears).note(t!("over the bf16 peak, as some logs have it: {bf16}", bf16 = share))
}

/// Utilisation as a published convention counts it.
fn by(evaluation: &Evaluation, row: &MfuBy) -> Term {
    let convention = row.name.convention();
    let token = token_flops(evaluation, row.name, row.flops_per_token);
    let tokens = evaluation.report.layout.tokens_per_step;
    let [time, gpus, peak] = below(evaluation);
    let parts = [token, Term::given("D", "tokens per step", tokens, Unit::Tokens), time, gpus, peak];
    let name = t!("as {convention} counts", convention = row.name.choice().label);
    let share = |[token, tokens, time, gpus, peak]: [Written; 5]| utilisation([token * tokens, time, gpus, peak]);
    Term::made("U_i", name, Unit::Share, parts, share).from(convention.source, convention.place).note(convention.remark)
}

/// FLOPs of a token by a convention.
fn token_flops(evaluation: &Evaluation, counted_by: CountedBy, value: f64) -> Term {
    let (model, seq) = (&evaluation.scenario.model, evaluation.scenario.run.seq_len);
    let counted = |attention, router| Counted { seq, attention, router };
    if counted_by == CountedBy::Megatron {
        // It counts no windows.
        let whole_keys = Architecture { window: seq, chunk: seq, ..*model };
        return flops_of_token("m", &whole_keys, counted(AttentionCount::Causal, false));
    }
    if counted_by == CountedBy::Nanotron {
        let gated = as_nanotron(model);
        return flops_of_token("m", &gated, counted(AttentionCount::Full, true));
    }
    let (all, embedding) = visited(model);
    let name = "model FLOPs of a token, forward and backward";
    let term = written(|| {
        let input = |symbol, name: &'static str, number: u64| Written::part(Term::count(symbol, name, number));
        let parameters = input("N", "parameters that a token visits", all);
        let parameters = if counted_by == CountedBy::Torchtitan {
            (parameters - input("e", "of them in the input embedding", embedding)) * 6.0
        } else {
            parameters * 6.0
        };
        let square = if model.pattern.is_uniform() {
            let widths = match (model.mla, model.value_head_dim) {
                (Some(mla), _) => {
                    let plain = PLAIN_DIM.of::<Written>(mla.qk_nope_head_dim);
                    (plain + ROTARY_DIM.of::<Written>(mla.qk_rope_head_dim) + VALUE_DIM.of::<Written>(mla.v_head_dim))
                        * 6.0
                }
                (None, 0) => HEAD_DIM.of::<Written>(model.head_dim) * 12.0,
                (None, values) => (HEAD_DIM.of::<Written>(model.head_dim) + VALUE_DIM.of::<Written>(values)) * 6.0,
            };
            input("L", "layers", model.layers)
                * HEADS.of::<Written>(model.heads)
                * widths
                * COUNTED_KEYS.of::<Written>(seq)
        } else {
            let name = "FLOPs of attention over the whole square, of all layers that have it";
            let counted = if counted_by == CountedBy::Torchtitan { all - embedding } else { all };
            let square = Term::given("a_s", name, value - 6.0 * counted as f64, Unit::Flops);
            Written::part(square.marked(Provenance::AddedUp))
        };
        (parameters + square).term("m", name, Unit::Flops)
    });
    // The convention's own figure, which the formula has to give.
    Term { value, ..term }
}

/// Tokens a second and GPU, and what a token budget takes.
pub fn tokens(evaluation: &Evaluation) -> Term {
    let report = &evaluation.report;
    let [time, gpus, _] = below(evaluation);
    let parts = [Term::given("D", "tokens per step", report.layout.tokens_per_step, Unit::Tokens), time, gpus];
    let mut term = Term::made("R", "tokens per second and GPU", Unit::TokenRate, parts, token_rate)
        .note("every position of every sequence counts as a token");
    if let Some(hours) = report.step.gpu_hours {
        let hours = crate::units::group(&format!("{hours:.0}"));
        term = term.note(t!("the token budget takes {hours} GPU-hours: budget/(3600 R)", hours));
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
