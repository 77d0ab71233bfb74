//! The sizes of a model as inputs of formulas that are written as texts.

use super::Architecture;
use crate::explain::Term;
use crate::explain::symbols::{
    EXPERT_FFN, EXPERTS, FFN, HEAD_DIM, HEADS, HIDDEN, KEY_RANK, KV_HEADS, PLAIN_DIM, QUERY_RANK, ROTARY_DIM,
    SHARED_EXPERTS, TOP_K, VALUE_DIM,
};

impl Architecture {
    /// Every size with its symbol; of experts and latent attention where the model has them.
    pub fn symbols(&self) -> Vec<Term> {
        let mut symbols = vec![
            HIDDEN.term(self.hidden),
            FFN.term(self.ffn),
            HEADS.term(self.heads),
            KV_HEADS.term(self.kv_heads),
            HEAD_DIM.term(self.head_dim),
        ];
        if let Some(moe) = self.moe {
            symbols.extend([
                TOP_K.term(moe.top_k),
                EXPERTS.term(moe.experts),
                EXPERT_FFN.term(moe.expert_ffn),
                SHARED_EXPERTS.term(moe.shared_experts),
            ]);
        }
        if self.mla.is_none() && self.value_head_dim > 0 {
            symbols.push(VALUE_DIM.term(self.value_head_dim));
        }
        if let Some(mla) = self.mla {
            symbols.extend([
                QUERY_RANK.term(mla.q_lora_rank),
                KEY_RANK.term(mla.kv_lora_rank),
                PLAIN_DIM.term(mla.qk_nope_head_dim),
                ROTARY_DIM.term(mla.qk_rope_head_dim),
                VALUE_DIM.term(mla.v_head_dim),
            ]);
        }
        symbols
    }
}
