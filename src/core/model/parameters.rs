//! Parameters of a model, layer by layer, split by how parallelism divides them.
//!
//! Source: the shapes of the models themselves; the division over tensor- and expert-parallel ranks as Megatron Core
//! does it (attention and FFN matrices cut, norms and router whole on every rank, experts over EP and expert-TP).

use super::architecture::Architecture;
use super::elements::{LayerElements, layer_elements, norm_width};
use std::ops::Range;

impl Architecture {
    /// Elements of the input embedding, learned positions included.
    pub fn embedding(&self) -> LayerElements {
        LayerElements {
            sharded: self.vocab * self.hidden,
            replicated: self.learned_positions * self.hidden,
            ..LayerElements::default()
        }
    }

    /// Elements of the language-model head, whether or not it shares the embedding's; of a score's head its one row.
    pub fn head(&self) -> LayerElements {
        if self.headless {
            return LayerElements { replicated: self.hidden, ..LayerElements::default() };
        }
        LayerElements { sharded: self.vocab * self.hidden, ..LayerElements::default() }
    }

    /// The head is the embedding once more.
    pub(crate) fn shares_embedding(&self) -> bool {
        self.tied_embeddings && !self.headless
    }

    /// Elements of the final norm; before it, r streams of the residual are weighed by `r (r h + 1) + 1`.
    pub(crate) fn final_norm(&self) -> LayerElements {
        let streams = self.compressed.map_or(0, |compressed| {
            let r = compressed.streams;
            r * (r * self.hidden + 1) + 1
        });
        LayerElements { replicated: norm_width(self, self.hidden) + streams, ..LayerElements::default() }
    }

    /// Elements of one multi-token-prediction module without its layer: the 2 h × h projection, a norm of either half
    /// and one before the head.
    pub(crate) fn mtp_projection(&self) -> LayerElements {
        LayerElements {
            sharded: 2 * self.hidden * self.hidden,
            replicated: 3 * norm_width(self, self.hidden),
            ..LayerElements::default()
        }
    }

    /// Elements of the vision tower and its projector: patch convolution `C P² h_v` a frame, layers of
    /// `4 h_v q_v + 2 h_v f_v` (3 where gated) and two norms each.
    pub(crate) fn vision_tower(&self) -> LayerElements {
        self.vision
            .map_or(LayerElements::default(), |vision| {
                let h = vision.hidden;
                LayerElements {
                    sharded: vision.patch_elements() * h
                        + vision.layers * (4 * h * vision.queries() + vision.ffn_matrices() * h * vision.ffn),
                    replicated: vision.layers * 4 * h,
                    ..LayerElements::default()
                }
            })
            .plus(self.projector())
    }

    /// Elements of the vision tower and its projector on the first stage: none where the tower has ranks of its own.
    pub(crate) fn tower_on_stage(&self) -> LayerElements {
        let apart = self.vision.is_some_and(|vision| vision.is_apart());
        if apart { LayerElements::default() } else { self.vision_tower() }
    }

    /// Elements of the two-layer projector behind the vision tower: `h_v h + h²`, of merged patches
    /// `w² + w h` with `w = merge² h_v`.
    pub fn projector(&self) -> LayerElements {
        self.vision.map_or(LayerElements::default(), |vision| LayerElements {
            sharded: vision.projector_elements(self.hidden),
            ..LayerElements::default()
        })
    }

    /// Parameters that one token visits by the three conventions in use: without embedding and head, with the head (a
    /// tied one counts), with the input embedding too (a tied one counts once).
    pub fn active_by_convention(&self) -> [u64; 3] {
        let used = self.elements().active() - self.vision_tower().total();
        let ends = self.embedding().total();
        let head = self.head().total();
        if self.tied_embeddings { [used - ends, used, used] } else { [used - ends - head, used - ends, used] }
    }

    pub(crate) fn layers_elements(&self, layers: Range<u64>) -> LayerElements {
        let kinds = self.kinds(layers);
        let each = kinds.iter();
        each.map(|(kind, count)| layer_elements(self, *kind).times(*count))
            .fold(LayerElements::default(), LayerElements::plus)
    }

    /// Elements of one multi-token-prediction module: its layers, projection and norms. The embedding and the head that
    /// it shares are not among them.
    pub(crate) fn module_elements(&self) -> LayerElements {
        let kinds = self.module_kinds();
        let each = kinds.iter();
        each.map(|(kind, count)| layer_elements(self, *kind).times(*count))
            .fold(self.mtp_projection(), LayerElements::plus)
    }

    /// Elements of the multi-token-prediction modules; embedding and head that they share are not among them.
    pub(crate) fn modules_elements(&self) -> LayerElements {
        if self.mtp_modules == 0 { LayerElements::default() } else { self.module_elements().times(self.mtp_modules) }
    }

    /// The whole model; a tied head counts once, multi-token prediction not at all.
    pub fn elements(&self) -> LayerElements {
        let ends = self.embedding().plus(self.final_norm()).plus(self.vision_tower());
        let head = if self.shares_embedding() { LayerElements::default() } else { self.head() };
        ends.plus(head).plus(self.layers_elements(0..self.layers))
    }
}
