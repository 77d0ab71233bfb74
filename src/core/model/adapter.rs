//! The linears of a layer that adapters may be added to, and what such an adapter has.
//!
//! LoRA adds `B A x` to `W x`, A of r x in and B of out x r: `r (in + out)` parameters a linear. DoRA scales every row
//! of the sum by a magnitude of its own: `out` more. Source: PEFT `tuners/lora/layer.py` and `dora.py`.

use super::architecture::Architecture;
use super::pattern::{LayerKind, Mixer};
use crate::field::one_of;

one_of! {
    /// A linear of a layer, by PEFT's name for it in a Llama.
    Target {
        /// Queries; of a latent attention down and up.
        Query = "q_proj" "q",
        /// Keys; of a latent attention the joint down-projection.
        Key = "k_proj" "k",
        /// Values; of a latent attention the joint up-projection.
        Value = "v_proj" "v",
        /// Output of attention.
        Output = "o_proj" "o",
        /// Gate of an FFN.
        Gate = "gate_proj" "gate",
        /// Up projection of an FFN.
        Up = "up_proj" "up",
        /// Down projection of an FFN.
        Down = "down_proj" "down",
    }
}

/// Dimension along which tensor parallelism cuts a linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Along its output: queries, keys, values, gate, up.
    Column,
    /// Along its input: the output of attention, down.
    Row,
}

/// A linear `in -> out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// The linear that it adapts.
    pub target: Target,
    pub input: u64,
    pub output: u64,
    /// The cut of that linear.
    pub side: Side,
    /// Routed experts that have one each; none: a layer has one.
    pub experts: Option<u64>,
}

impl Linear {
    const fn new(target: Target, input: u64, output: u64) -> Self {
        let side = match target {
            Target::Output | Target::Down => Side::Row,
            _ => Side::Column,
        };
        Self { target, input, output, side, experts: None }
    }

    /// Elements of the linear; of one expert where each expert has a linear of its own.
    pub const fn elements(&self) -> u64 {
        self.input * self.output
    }

    /// True if both are parts of one matrix where queries, keys and values are one, and gate and up.
    fn is_one_with(&self, next: &Self) -> bool {
        let attention = |target| matches!(target, Target::Query | Target::Key | Target::Value);
        let up = |target| matches!(target, Target::Gate | Target::Up);
        let same = attention(self.target) && attention(next.target) || up(self.target) && up(next.target);
        same && self.input == next.input && self.experts == next.experts
    }

    /// Elements of its adapter of `rank` on one of `tp` ranks: A and B, of which one is cut as the linear is; with
    /// `magnitudes` one an output row more.
    pub fn adapter(&self, rank: u64, magnitudes: bool, tp: u64) -> f64 {
        let (r, t) = (rank as f64, tp as f64);
        let (input, output) = (self.input as f64, self.output as f64);
        let (a, b) = match self.side {
            Side::Column => (r * input, r * output / t),
            Side::Row => (r * input / t, r * output),
        };
        let scaled = if magnitudes { output / t } else { 0.0 };
        a + b + scaled
    }
}

/// `list` of a layer of `kind` with linears that are one matrix as one, with one A: queries, keys and values, gate and
/// up. The projections of a latent attention are matrices of their own. Source: Megatron core `linear_qkv` and
/// `linear_fc1` (`attention.py`, `mlp.py`), `linear_q_down_proj`, `linear_kv_down_proj` (`multi_latent_attention.py`).
pub(crate) fn joined(list: Vec<Linear>, kind: LayerKind) -> Vec<Linear> {
    let is_latent = matches!(kind.mixer, Mixer::Latent | Mixer::Sparse);
    let is_apart = |target| is_latent && matches!(target, Target::Query | Target::Key | Target::Value);
    let mut whole: Vec<Linear> = Vec::with_capacity(list.len());
    for linear in list {
        match whole.last_mut().filter(|before| before.is_one_with(&linear) && !is_apart(linear.target)) {
            Some(before) => before.output += linear.output,
            None => whole.push(linear),
        }
    }
    whole
}

/// The linears of a layer of `kind` that adapters may be added to. State-space models and linear attentions have none
/// that PEFT names.
pub fn linears(model: &Architecture, kind: LayerKind) -> Vec<Linear> {
    let mut list = mixer(model, kind.mixer);
    if kind.ffn.is_dense() {
        list.extend(ffn(model, model.hidden, model.ffn));
    }
    if let Some(moe) = model.moe.filter(|_| kind.ffn.is_routed()) {
        let each = ffn(model, moe.input(model.hidden), moe.expert_ffn);
        list.extend(each.into_iter().map(|linear| Linear { experts: Some(moe.experts), ..linear }));
        if moe.shared_experts > 0 {
            list.extend(ffn(model, model.hidden, moe.shared_experts * moe.expert_ffn));
        }
    }
    list
}

fn mixer(model: &Architecture, mixer: Mixer) -> Vec<Linear> {
    let h = model.hidden;
    match mixer {
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => {
            let Some(heads) = model.attention_heads(mixer) else {
                return Vec::new();
            };
            let (key, kv) = (heads.key_value * heads.qk, heads.projected_kv());
            let mut list = vec![Linear::new(Target::Query, h, heads.queries()), Linear::new(Target::Key, h, key)];
            // Where keys serve as values, one projection makes both.
            if kv > key {
                list.push(Linear::new(Target::Value, h, kv - key));
            }
            list.push(Linear::new(Target::Output, heads.output(), h));
            list
        }
        Mixer::Latent | Mixer::Sparse => {
            let Some(mla) = model.mla else {
                return Vec::new();
            };
            let (a, q, kv) = (model.heads, mla.q_lora_rank, mla.kv_lora_rank);
            let query = a * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
            let mut list = match q {
                0 => vec![Linear::new(Target::Query, h, query)],
                _ => vec![Linear::new(Target::Query, h, q), Linear::new(Target::Query, q, query)],
            };
            let up = a * (mla.qk_nope_head_dim + mla.v_head_dim);
            list.extend([
                Linear::new(Target::Key, h, kv + mla.qk_rope_head_dim),
                Linear::new(Target::Value, kv, up),
                Linear::new(Target::Output, a * mla.v_head_dim, h),
            ]);
            list
        }
        _ => Vec::new(),
    }
}

fn ffn(model: &Architecture, input: u64, width: u64) -> Vec<Linear> {
    let mut list = vec![Linear::new(Target::Up, input, width)];
    if model.gated_ffn {
        list.insert(0, Linear::new(Target::Gate, input, width));
    }
    list.push(Linear::new(Target::Down, width, input));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PEFT's MetaMathQA comparison prints the trained parameters of Llama-3.2-3B (28 layers, h 3072, f 8192, 24 heads
    /// and 8 key-value heads of 128): rank 64 beside q and v 18,350,080; rank 10 beside the FFN 9,461,760.
    #[test]
    fn adapters_of_llama_3_2_3b_are_as_many_as_peft_prints() {
        let model = Architecture::llama(28, 3072, 8192, 24, 8, 128_256);
        let parameters = |rank, targets: &[Target]| -> f64 {
            let list = linears(&model, model.kind(0));
            let beside = list.iter().filter(|linear| targets.contains(&linear.target));
            28.0 * beside.map(|one| one.adapter(rank, false, 1)).sum::<f64>()
        };
        let ffn = [Target::Gate, Target::Up, Target::Down];
        assert_eq!(parameters(64, &[Target::Query, Target::Value]), 18_350_080.0);
        assert_eq!(parameters(10, &ffn), 9_461_760.0);
    }

    /// All seven linears: `r (2 (h + a e) + 2 (h + k e) + 3 (h + f))`; DoRA adds a magnitude an output row.
    #[test]
    fn all_seven_linears_of_a_llama_layer_add_up() {
        let (h, f, kv, r) = (4096, 14336, 1024, 16);
        let model = Architecture::llama(32, h, f, 32, 8, 128_256);
        let list = linears(&model, model.kind(0));
        let sum = |magnitudes| list.iter().map(|one| one.adapter(r, magnitudes, 1)).sum::<f64>();
        let lora = r * (4 * h + 2 * (h + kv) + 3 * (h + f));
        assert_eq!(sum(false), lora as f64);
        assert_eq!(sum(true), (lora + 3 * h + 2 * kv + 2 * f) as f64);
        let layer = super::super::layer_elements(&model, model.kind(0)).total();
        let elements: u64 = list.iter().map(Linear::elements).sum();
        assert_eq!(elements, layer - 2 * h);
    }

    /// A column-cut linear keeps A whole and cuts B, a row-cut one the other way round: between `A_lin/t` and `A_lin`.
    #[test]
    fn tensor_parallelism_cuts_one_of_the_two_matrices() {
        let model = Architecture::llama(1, 4096, 14336, 32, 8, 128_256);
        for linear in linears(&model, model.kind(0)) {
            let (whole, cut) = (linear.adapter(8, true, 1), linear.adapter(8, true, 4));
            assert!(cut > whole / 4.0 && cut < whole, "{linear:?}");
        }
    }
}
