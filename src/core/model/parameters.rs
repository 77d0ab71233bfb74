//! How many parameters a model has, layer by layer, split by how parallelism divides them.
//!
//! Source: the shapes of the models themselves; the division over tensor- and expert-parallel ranks as Megatron Core
//! does it (attention and FFN matrices cut, norms and router whole on every rank, experts over EP and expert-TP).

use super::architecture::Architecture;
use super::elements::{layer_elements, norm_width};
use std::ops::Range;

/// Elements of one block, by how they are divided among ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerElements {
    /// Cut by tensor parallelism.
    pub sharded: u64,
    /// Projections of keys and values with the first and the second shape of heads, cut by tensor parallelism down to a
    /// head: of more ranks than heads several hold the same one.
    pub key_value: [u64; 2],
    /// Whole on every tensor-parallel rank: norms, router, row biases, latent down-projections.
    pub replicated: u64,
    /// Routed experts, cut by expert and expert-tensor parallelism.
    pub experts: u64,
    /// The part of `experts` that one token visits.
    pub experts_active: u64,
}

impl LayerElements {
    /// All elements.
    #[must_use]
    pub fn total(self) -> u64 {
        self.dense() + self.experts
    }
    /// The elements that one token visits.
    #[must_use]
    pub fn active(self) -> u64 {
        self.dense() + self.experts_active
    }
    /// Those outside the routed experts.
    fn dense(self) -> u64 {
        self.sharded + self.key_value.iter().sum::<u64>() + self.replicated
    }
    /// Both blocks together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            sharded: self.sharded + other.sharded,
            key_value: [0, 1].map(|shape| self.key_value[shape] + other.key_value[shape]),
            replicated: self.replicated + other.replicated,
            experts: self.experts + other.experts,
            experts_active: self.experts_active + other.experts_active,
        }
    }
    /// `count` such blocks.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            sharded: count * self.sharded,
            key_value: self.key_value.map(|held| count * held),
            replicated: count * self.replicated,
            experts: count * self.experts,
            experts_active: count * self.experts_active,
        }
    }
    /// Elements outside the experts on one rank of `tp`: `sharded/t + key_value/min(t, k) + replicated`, k of each shape.
    #[must_use]
    pub(crate) fn dense_per_rank(self, model: &Architecture, tp: u64) -> f64 {
        let each = self.key_value.iter().zip(model.key_value_ranks(tp));
        let key_value: f64 = each.map(|(held, ranks)| *held as f64 / ranks as f64).sum();
        self.sharded as f64 / tp as f64 + key_value + self.replicated as f64
    }
    /// Routed-expert elements on one rank of `ep` · `etp`.
    #[must_use]
    pub(crate) fn experts_per_rank(self, ep: u64, etp: u64) -> f64 {
        self.experts as f64 / (ep * etp) as f64
    }
}

impl Architecture {
    /// Elements of the input embedding, learned positions included.
    #[must_use]
    pub fn embedding(&self) -> LayerElements {
        LayerElements {
            sharded: self.vocab * self.hidden,
            replicated: self.learned_positions * self.hidden,
            ..LayerElements::default()
        }
    }

    /// Elements of the language-model head, whether or not it shares the embedding's.
    #[must_use]
    pub fn head(&self) -> LayerElements {
        LayerElements {
            sharded: self.vocab * self.hidden,
            ..LayerElements::default()
        }
    }

    /// Elements of the final norm; before it, r streams of the residual are weighed by `r (r h + 1) + 1`.
    #[must_use]
    pub(crate) fn final_norm(&self) -> LayerElements {
        let streams = self.compressed.map_or(0, |compressed| {
            let r = compressed.streams;
            r * (r * self.hidden + 1) + 1
        });
        LayerElements {
            replicated: norm_width(self, self.hidden) + streams,
            ..LayerElements::default()
        }
    }

    /// Elements of one multi-token-prediction module without its layer: the 2 h × h projection, a norm of either half
    /// and one before the head.
    #[must_use]
    pub(crate) fn mtp_projection(&self) -> LayerElements {
        LayerElements {
            sharded: 2 * self.hidden * self.hidden,
            replicated: 3 * norm_width(self, self.hidden),
            ..LayerElements::default()
        }
    }

    /// Elements of the vision tower and its two-layer projector: patch convolution `C P² h_v`, layers of
    /// `4 h_v² + 2 h_v f_v` and two norms each, projector `h_v h + h²`.
    #[must_use]
    pub(crate) fn vision_tower(&self) -> LayerElements {
        self.vision
            .map_or(LayerElements::default(), |vision| {
                let h = vision.hidden;
                LayerElements {
                    sharded: vision.channels * vision.patch * vision.patch * h
                        + vision.layers * (4 * h * h + 2 * h * vision.ffn),
                    replicated: vision.layers * 4 * h,
                    ..LayerElements::default()
                }
            })
            .plus(self.projector())
    }

    /// Elements of the two-layer projector behind the vision tower, `h_v h + h²`.
    #[must_use]
    pub fn projector(&self) -> LayerElements {
        self.vision
            .map_or(LayerElements::default(), |vision| LayerElements {
                sharded: vision.hidden * self.hidden + self.hidden * self.hidden,
                ..LayerElements::default()
            })
    }

    /// What one token visits by the three conventions in use: without embedding and head, with the head (a tied one
    /// counts), with the input embedding too (a tied one counts once).
    #[must_use]
    pub fn active_by_convention(&self) -> [u64; 3] {
        let all = self.elements().active() - self.vision_tower().total();
        let ends = self.embedding().total();
        let head = self.head().total();
        if self.tied_embeddings {
            [all - ends, all, all]
        } else {
            [all - ends - head, all - ends, all]
        }
    }

    /// Elements of `layers`.
    #[must_use]
    pub(crate) fn layers_elements(&self, layers: Range<u64>) -> LayerElements {
        let kinds = self.kinds(layers);
        let each = kinds.iter();
        each.map(|(kind, count)| layer_elements(self, *kind).times(*count))
            .fold(LayerElements::default(), LayerElements::plus)
    }

    /// Elements of one multi-token-prediction module: its layers, projection and norms. The embedding and the head that
    /// it shares are not among them.
    #[must_use]
    pub(crate) fn module_elements(&self) -> LayerElements {
        let kinds = self.module_kinds();
        let each = kinds.iter();
        each.map(|(kind, count)| layer_elements(self, *kind).times(*count))
            .fold(self.mtp_projection(), LayerElements::plus)
    }

    /// The whole model; a tied head counts once, multi-token prediction not at all.
    #[must_use]
    pub fn elements(&self) -> LayerElements {
        let ends = self
            .embedding()
            .plus(self.final_norm())
            .plus(self.vision_tower());
        let head = if self.tied_embeddings {
            LayerElements::default()
        } else {
            self.head()
        };
        ends.plus(head).plus(self.layers_elements(0..self.layers))
    }
}
