//! How many parameters a model has, layer by layer, split by how parallelism divides them.
//!
//! Source: the shapes of the models themselves; the division over tensor- and expert-parallel ranks as Megatron Core
//! does it (attention and FFN matrices cut, norms and router whole on every rank, experts over EP and expert-TP).

use super::architecture::{Architecture, Biases, Norm, QkNorm};

/// Elements of one block, by how they are divided among ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerElements {
    /// Cut by tensor parallelism.
    pub sharded: u64,
    /// Projections of keys and values, cut by tensor parallelism down to a head: of more ranks than heads several hold
    /// the same one.
    pub key_value: u64,
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
        self.sharded + self.key_value + self.replicated + self.experts
    }
    /// The elements that one token visits.
    #[must_use]
    pub fn active(self) -> u64 {
        self.sharded + self.key_value + self.replicated + self.experts_active
    }
    /// Both blocks together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            sharded: self.sharded + other.sharded,
            key_value: self.key_value + other.key_value,
            replicated: self.replicated + other.replicated,
            experts: self.experts + other.experts,
            experts_active: self.experts_active + other.experts_active,
        }
    }
    /// Elements outside the experts on one rank of `tp`: `sharded/t + key_value/min(t, k) + replicated`.
    #[must_use]
    pub fn dense_per_rank(self, model: &Architecture, tp: u64) -> f64 {
        let key_value = self.key_value as f64 / model.key_value_ranks(tp) as f64;
        self.sharded as f64 / tp as f64 + key_value + self.replicated as f64
    }
    /// Routed-expert elements on one rank of `ep` · `etp`.
    #[must_use]
    pub fn experts_per_rank(self, ep: u64, etp: u64) -> f64 {
        self.experts as f64 / (ep * etp) as f64
    }
}

/// The elements of transformer layer `index` (0-based).
#[must_use]
pub fn layer_elements(model: &Architecture, index: u64) -> LayerElements {
    attention(model)
        .plus(ffn(model, index))
        .plus(LayerElements {
            replicated: if model.post_norms { 4 } else { 2 } * norm_width(model, model.hidden),
            ..LayerElements::default()
        })
}

/// Elements of one normalisation over `width` channels.
fn norm_width(model: &Architecture, width: u64) -> u64 {
    match model.norm {
        Norm::Rms => width,
        Norm::Layer => 2 * width,
    }
}

/// Attention: q, k, v and output projections with the norms of q and k; or the latent form `q_down + q_up + kv_down + kv_up + out`.
fn attention(model: &Architecture) -> LayerElements {
    let (h, q, kv) = (model.hidden, model.query_width(), model.kv_width());
    if let Some(mla) = model.mla {
        let qk = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
        let (q_up, q_down) = if mla.q_lora_rank == 0 {
            (h * model.heads * qk, 0)
        } else {
            (
                mla.q_lora_rank * model.heads * qk,
                h * mla.q_lora_rank + mla.q_lora_rank,
            )
        };
        let kv_up = mla.kv_lora_rank * model.heads * (mla.qk_nope_head_dim + mla.v_head_dim);
        let kv_down = h * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
        return LayerElements {
            sharded: q_up + kv_up + model.heads * mla.v_head_dim * h,
            replicated: q_down + kv_down,
            ..LayerElements::default()
        };
    }
    let (column_bias, row_bias) = match model.biases {
        Biases::None => (0, 0),
        Biases::Qkv => (1, 0),
        Biases::All => (1, h),
    };
    let (head_norms, query_norm, key_norm) = match model.qk_norm {
        QkNorm::None => (0, 0, 0),
        QkNorm::Head => (2 * norm_width(model, model.head_dim), 0, 0),
        QkNorm::All => (0, norm_width(model, q), norm_width(model, kv)),
    };
    LayerElements {
        sharded: 2 * h * q + column_bias * q + query_norm,
        key_value: 2 * (h + column_bias) * kv + key_norm,
        replicated: row_bias + head_norms,
        ..LayerElements::default()
    }
}

/// The FFN of layer `index`: dense, or router, routed and shared experts.
fn ffn(model: &Architecture, index: u64) -> LayerElements {
    let h = model.hidden;
    let matrices = if model.gated_ffn { 3 } else { 2 };
    if let Some(moe) = model.moe
        && model.is_moe_layer(index)
    {
        // Every expert has its own biases, and the router one number an expert (gpt-oss).
        let (bias, router_bias) = match model.biases {
            Biases::All => ((matrices - 1) * moe.expert_ffn + h, moe.experts),
            _ => (0, 0),
        };
        let expert = matrices * h * moe.expert_ffn + bias;
        return LayerElements {
            sharded: moe.shared_experts * expert,
            replicated: h * moe.experts + router_bias,
            experts: moe.experts * expert,
            experts_active: moe.top_k * expert,
            ..LayerElements::default()
        };
    }
    let (column_bias, row_bias) = match model.biases {
        Biases::All => ((matrices - 1) * model.ffn, h),
        _ => (0, 0),
    };
    LayerElements {
        sharded: matrices * h * model.ffn + column_bias,
        replicated: row_bias,
        ..LayerElements::default()
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

    /// Elements of the final norm.
    #[must_use]
    pub fn final_norm(&self) -> LayerElements {
        LayerElements {
            replicated: norm_width(self, self.hidden),
            ..LayerElements::default()
        }
    }

    /// Elements of one multi-token-prediction module without its layer: the 2 h × h projection and two norms.
    #[must_use]
    pub fn mtp_projection(&self) -> LayerElements {
        LayerElements {
            sharded: 2 * self.hidden * self.hidden,
            replicated: 2 * norm_width(self, self.hidden),
            ..LayerElements::default()
        }
    }

    /// Elements of the vision tower and its two-layer projector: patch convolution `C P² h_v`, layers of
    /// `4 h_v² + 2 h_v f_v` and two norms each, projector `h_v h + h²`.
    #[must_use]
    pub fn vision_tower(&self) -> LayerElements {
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

    /// The whole model; a tied head counts once, multi-token prediction not at all.
    #[must_use]
    pub fn elements(&self) -> LayerElements {
        let dense_layers = self.layers - self.moe_layers();
        let mut all = self
            .embedding()
            .plus(self.final_norm())
            .plus(self.vision_tower());
        if !self.tied_embeddings {
            all = all.plus(self.head());
        }
        for (count, index) in [
            (dense_layers, 0),
            (self.moe_layers(), self.layers.saturating_sub(1)),
        ] {
            let layer = layer_elements(self, index);
            all = all.plus(LayerElements {
                sharded: count * layer.sharded,
                key_value: count * layer.key_value,
                replicated: count * layer.replicated,
                experts: count * layer.experts,
                experts_active: count * layer.experts_active,
            });
        }
        all
    }
}
