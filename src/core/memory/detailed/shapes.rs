//! The formula of every tensor that the detailed method counts, by its name, in the symbols of one book.
//!
//! The sizes themselves are computed where the tensors are; `tests/page_free/explained.rs` holds each of these formulas to them.

use super::activations::{cut, kept_copy};
use super::holding::padded_vocabulary;
use super::logits::loss_kernel;
use crate::explain::{Formula, Provenance, Term, Unit};
use crate::run::{Format, Recipe, Scenario};

/// Every symbol that a formula below may use.
#[must_use]
pub fn book(scenario: &Scenario) -> Vec<Term> {
    let (model, layout, cut) = (&scenario.model, &scenario.layout, cut(scenario));
    let kernel = loss_kernel(scenario).value;
    let count = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Count);
    let size = |symbol, name: &'static str, value: u64| Term::count(symbol, name, value);
    let mut book = model.symbols();
    let padded = padded_vocabulary(scenario);
    let heads = 1.0 + model.mtp_modules as f64;
    let tokens = "tokens of a micro-batch on a rank";
    book.extend([
        Term::given("T", tokens, cut.tokens, Unit::Tokens),
        count("s", "keys that a query meets", cut.keys),
        Term::given("b", "bytes an activation", cut.element, Unit::Bytes),
        size("V", "vocabulary, padded to equal parts", padded),
        count("t", "tensor parallel", cut.tp),
        count("r", "ranks that cut norms and residuals", cut.residual),
        count("r_l", "ranks that cut the inputs of the linears", cut.linear_input),
        size("c", "context parallel", layout.cp),
        count("o", "copies of the attention output", cut.outputs),
        count("e", "heads of the model: its own and one for each predicted token more", heads),
        Term::given("l", "bytes per logit held", kernel.held, Unit::Bytes),
        Term::given("p", "bytes per logit at the worst instant", kernel.peak, Unit::Bytes),
    ]);
    if model.moe.is_some() {
        let imbalance = "rows of the busiest rank over the average";
        book.extend([
            Term::given("u", imbalance, cut.routed, Unit::Ratio),
            count("t_e", "expert tensor parallel", cut.etp),
        ]);
    }
    book
}

/// The bytes of tensor `name` of one layer or exchange; marked where no one line says them.
#[must_use]
pub fn tensor(scenario: &Scenario, book: &[Term], symbol: &'static str, name: &'static str, bytes: f64) -> Term {
    let term = Term::given(symbol, name, bytes, Unit::Bytes);
    // Formulas are of layers that are all alike; the others' tensors differ by kind or by precision, and what stages send
    // where multi-token prediction stands apart.
    let alike = scenario.model.is_plain()
        && !scenario.keeps_bf16()
        && scenario.mtp_stage == scenario.last_stage()
        && !(scenario.software.repeats_kv && name.contains("keys and values"));
    match formula(scenario, name).filter(|_| alike) {
        Some(formula) => match scale(scenario, name) {
            Some(low) => {
                let name = "bytes of an element with its scale over those of bf16";
                let value = Formula::new(low.clone()).value(&[]).unwrap_or(1.0);
                let low = Term::given("y", name, value, Unit::Ratio).by(low, Vec::new());
                let mut book = book.to_vec();
                book.push(low);
                term.over(format!("y ({formula})"), &book)
            }
            None => term.over(formula, book),
        },
        None => term.marked(Provenance::AddedUp, rule(name)),
    }
}

/// Bytes of an element over those of bf16, where its precision is another.
fn scale(scenario: &Scenario, name: &'static str) -> Option<String> {
    match name {
        "softmax statistics" | "attention scores" | "dropout masks" | "router logits" | "probabilities and indices" => {
            None
        }
        _ if scenario.run.fp8_activations => low_precision(name).map(str::to_owned),
        _ if scenario.precision.computes == Format::Fp32 => Some("4/2".to_owned()),
        _ => quantised(scenario, kept_copy(scenario)?, name),
    }
}

/// The same of what a recipe quantises: see `Role::quantised`.
fn quantised(scenario: &Scenario, recipe: &Recipe, name: &'static str) -> Option<String> {
    let low = format!("({})/2", recipe.formula);
    let unfused = !scenario.software.fused_swiglu;
    let gated = scenario.model.gated_ffn;
    match name {
        "input of the down projection" | "input of the experts' down projection" if gated && unfused => {
            Some(format!("(1 + {low})/2"))
        }
        "input of QKV"
        | "input of the FFN"
        | "input of the down projection"
        | "tokens by expert"
        | "input of the experts' down projection" => Some(low),
        "shared experts" if gated && unfused => Some(format!("(3 + {low})/4")),
        "shared experts" if gated => Some(format!("(2 + {low})/3")),
        "shared experts" | "latents" => Some(format!("(1 + {low})/2")),
        "attention output" if recipe.keeps_context => Some(format!("1 + {low}")),
        _ => None,
    }
}

/// Bytes of an element in fp8 (or E5M6), with a scale of four bytes for 128 of them, over those of bf16. Source:
/// DeepSeek-V3, sections 3.3.1 and 3.3.3.
fn low_precision(name: &'static str) -> Option<&'static str> {
    match name {
        "input of QKV"
        | "input of the FFN"
        | "input of the down projection"
        | "tokens by expert"
        | "experts' up projection"
        | "input of the experts' down projection"
        | "shared experts" => Some("(1 + 4/128)/2"),
        "latents" => Some("(1 + (1 + 4/128)/2)/2"),
        "attention output" => Some("(1.5 + 4/128)/2"),
        _ => None,
    }
}

/// What is added up where a tensor stands for several.
fn rule(name: &'static str) -> &'static str {
    match name {
        "recomputed layer" => "tensors that recomputation drops, of the largest layer",
        "dummy weight gradients" => "b out in, for each shape of a linear once",
        "multi-token prediction" => "tensors of a layer, and 4 b T h/r of its projection",
        _ => "",
    }
}

#[allow(clippy::match_same_arms)] // a line a tensor
fn formula(scenario: &Scenario, name: &'static str) -> Option<&'static str> {
    let model = &scenario.model;
    let latent = model.mla.is_some();
    let unfused = model.gated_ffn && !scenario.software.fused_swiglu;
    Some(match name {
        "input of the attention norm"
        | "input of the FFN norm"
        | "input of the router"
        | "dropout masks"
        | "FFN output"
        | "attention projection"
        | "p2p receive buffer" => "2 T h/r",
        "input of QKV" | "input of the FFN" => "2 T h/r_l",
        "queries" => "2 T a d/t",
        "keys and values" => "4 T max(k/t, 1) d",
        "inputs of the query and key norms" => "2 T (a/t + max(k/t, 1)) d",
        "inputs of the norms after attention and FFN" => "4 T h/r",
        "latents" => "4 T (q_r + k_r)/r",
        "queries, keys and values" => "2 T a (2 d_n + d_r + d_v)/t",
        "rotary keys" => "2 T a d_r/t",
        "softmax statistics" => "4 T a/t",
        "attention scores" if model.dropout => "(2 b + 1) T a s/t",
        "attention scores" => "b T a s/t",
        "attention output" if latent => "2 o T a d_v/t",
        "attention output" => "2 o T a d/t",
        "FFN up projection" | "FFN backward" if model.gated_ffn => "4 T f/t",
        "input of the down projection" if unfused => "4 T f/t",
        "FFN up projection" | "FFN backward" | "input of the down projection" => "2 T f/t",
        "router logits" => "4 T E/r",
        "probabilities and indices" => "8 T K t_e u/r",
        "tokens by expert" | "experts' output" => "2 T K t_e u h/r",
        "experts' up projection" | "experts' backward" if model.gated_ffn => "4 T K u f_e/r",
        "input of the experts' down projection" if unfused => "4 T K u f_e/r",
        "experts' up projection" | "experts' backward" | "input of the experts' down projection" => "2 T K u f_e/r",
        "shared experts" if unfused => "8 T n_s f_e/t",
        "shared experts" if model.gated_ffn => "6 T n_s f_e/t",
        "shared experts" => "4 T n_s f_e/t",
        "dispatch and combine" => "4 T K u h/r",
        "latent attention backward" => "2 T a (2 (d_n + d_r) + d_v)/t",
        "gradients of the scores" => "4 T a s/t",
        "sequence-parallel gather" => "2 T h (1 - 1/t)",
        "p2p double buffers" => "4 T h/r",
        "keys and values of the ring" if latent => "8 T a (d_n + d_r + d_v)/t",
        "keys and values of the ring" => "16 T max(k/t, 1) d",
        "gathered keys and values" if latent => "4 T (c - 1) a (d_n + d_r + d_v)/t",
        "gathered keys and values" => "8 T (c - 1) max(k/t, 1) d",
        "Ulysses exchange" if latent => {
            "2 T a max(4 (2 d_n + 2 d_r + d_v), 3 (2 d_n + 2 d_r + d_v) + d_v, 2 (2 d_n + 2 d_r + d_v) + 4 d_v)/t"
        }
        "Ulysses exchange" => {
            "2 T d max(4 (a/t + 2 max(k/t, 1)), 3 (a/t + 2 max(k/t, 1)) + a/t, 2 (a/t + 2 max(k/t, 1)) + 4 a/t)"
        }
        _ => return None,
    })
}
