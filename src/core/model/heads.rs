//! The heads that a mixer's attention has.

use super::architecture::Architecture;
use super::pattern::Mixer;

/// Heads of an attention that has keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    pub query: u64,
    pub key_value: u64,
    /// Width of a query and a key.
    pub qk: u64,
    /// Width of a value.
    pub value: u64,
    /// Keys serve as values.
    pub shared_kv: bool,
}

impl Heads {
    pub const fn queries(&self) -> u64 {
        self.query * self.qk
    }
    /// Width of what the key and value projections make.
    pub(crate) const fn projected_kv(&self) -> u64 {
        self.key_value * (self.qk + if self.shared_kv { 0 } else { self.value })
    }
    /// Width of the attention output over all heads.
    pub const fn output(&self) -> u64 {
        self.query * self.value
    }
}

impl Architecture {
    /// The heads of `mixer`; none where it is no attention. Latent attention unfolds as many keys and values as
    /// queries.
    pub(crate) fn attention_heads(&self, mixer: Mixer) -> Option<Heads> {
        // 0 stands for values as wide as keys.
        let value_width = |key_width: u64| if self.value_head_dim == 0 { key_width } else { self.value_head_dim };
        let usual = Heads {
            query: self.heads,
            key_value: self.kv_heads,
            qk: self.head_dim,
            value: value_width(self.head_dim),
            shared_kv: false,
        };
        match mixer {
            Mixer::Full | Mixer::Window | Mixer::Chunked => Some(usual),
            Mixer::Second => self.second.map(|second| Heads {
                key_value: second.kv_heads,
                qk: second.head_dim,
                value: value_width(second.head_dim),
                shared_kv: second.shared_kv,
                ..usual
            }),
            Mixer::Latent | Mixer::Sparse => self.mla.map(|mla| Heads {
                query: self.heads,
                key_value: self.heads,
                qk: mla.qk_nope_head_dim + mla.qk_rope_head_dim,
                value: mla.v_head_dim,
                shared_kv: false,
            }),
            Mixer::Compressed(_) => Some(Heads { key_value: 1, shared_kv: true, ..usual }),
            Mixer::None | Mixer::DeltaNet | Mixer::Kda | Mixer::Mamba => None,
        }
    }
}
