//! The symbols that formulas of memory and FLOPs use for the sizes of a model.

use super::Architecture;
use crate::explain::Term;

impl Architecture {
    /// Every size with its symbol; of experts and latent attention where the model has them.
    #[must_use]
    pub fn symbols(&self) -> Vec<Term> {
        let size = |symbol, name: &'static str, value: u64| Term::count(symbol, name, value);
        let mut symbols = vec![
            size("h", "hidden size", self.hidden),
            size("f", "FFN size", self.ffn),
            size("a", "heads", self.heads),
            size("k", "key-value heads", self.kv_heads),
            size("d", "head size", self.head_dim),
        ];
        if let Some(moe) = self.moe {
            symbols.extend([
                size("K", "experts per token", moe.top_k),
                size("E", "routed experts", moe.experts),
                size("f_e", "FFN size of an expert", moe.expert_ffn),
                size("n_s", "shared experts", moe.shared_experts),
            ]);
        }
        if let Some(mla) = self.mla {
            let keys = "rank of the keys' and values' latent";
            symbols.extend([
                size("q_r", "rank of the queries' latent", mla.q_lora_rank),
                size("k_r", keys, mla.kv_lora_rank),
                size("d_n", "head size without rotary", mla.qk_nope_head_dim),
                size("d_r", "rotary head size", mla.qk_rope_head_dim),
                size("d_v", "head size of the values", mla.v_head_dim),
            ]);
        }
        symbols
    }
}
