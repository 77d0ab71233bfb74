//! The layers of a model as a Run sets them, and the shapes of what mixes tokens besides attention.

use super::based::{Based, Missing};
use super::model_parts::ModelParts;
use crate::issue::Issue;
use crate::model::{
    Architecture, Compressed, DeltaNet, Ffn, Indexer, Kda, LayerKind, Mamba, Mixer, Pattern, PatternError, SecondHeads,
};
use crate::t;

impl Missing {
    /// The sizes of a part that a model may have: all that were said and the preset's others, or nothing; an issue at
    /// each that is missing.
    fn group<const N: usize>(
        &mut self,
        keys: [&str; N],
        said: [Option<u64>; N],
        base: Option<[u64; N]>,
    ) -> Option<[u64; N]> {
        if base.is_none() && said.iter().all(Option::is_none) {
            return None;
        }
        Some(std::array::from_fn(|at| self.need(keys[at], said[at], base.map(|base| base[at]), 1)))
    }

    /// An issue for every part that a layer of the pattern needs and the model does not have.
    pub(super) fn kinds(&mut self, model: &Architecture) {
        let modules = model.module_kinds();
        for (kind, _) in model.all_kinds().iter().chain(modules.iter()) {
            for key in needs(model, *kind) {
                let kind = kind.to_string();
                let message = t!("layers {kind} of model.pattern need it", kind);
                self.issue(Issue::error(key, message));
            }
        }
    }
}

/// The fields that a layer of `kind` needs and `model` does not have.
fn needs(model: &Architecture, kind: LayerKind) -> impl Iterator<Item = &'static str> {
    let mixer = match kind.mixer {
        Mixer::Window => ("model.window", model.window > 0),
        Mixer::Chunked => ("model.chunk", model.chunk > 0),
        Mixer::Second => ("model.second.head_dim", model.second.is_some()),
        Mixer::Latent => ("model.mla.kv_lora_rank", model.mla.is_some()),
        Mixer::Sparse if model.mla.is_none() => ("model.mla.kv_lora_rank", false),
        Mixer::Sparse => ("model.dsa.top_k", model.indexer.is_some()),
        Mixer::DeltaNet => ("model.gdn.value_heads", model.delta_net.is_some()),
        Mixer::Kda => ("model.kda.heads", model.kda.is_some()),
        Mixer::Mamba => ("model.mamba.heads", model.mamba.is_some()),
        Mixer::Compressed(_) if model.window == 0 => ("model.window", false),
        Mixer::Compressed(Compressed::INDEXED) if model.indexer.is_none() => ("model.dsa.top_k", false),
        Mixer::Compressed(_) => ("model.csa.q_lora_rank", model.compressed.is_some()),
        Mixer::None | Mixer::Full => ("", true),
    };
    let ffn = ("model.moe.experts", model.moe.is_some() || !kind.ffn.is_routed());
    [mixer, ffn].into_iter().filter_map(|(key, there)| (!there).then_some(key))
}

impl Based<ModelParts> {
    /// The pattern that was said, else the preset's, and the layers: as said, else those that the pattern writes, else the
    /// preset's; whole repeats of the pattern.
    pub(super) fn layers(&self, base: Option<Architecture>, missing: &mut Missing) -> (Pattern, u64) {
        let parts = &self.parts;
        let kept = base.map_or(Pattern::UNIFORM, |m| m.pattern);
        let written = parts.pattern.as_deref().map(|text| {
            Pattern::parse(text).map_err(|error| {
                missing.issue(Issue::error("model.pattern", error.message(text)));
            })
        });
        let (pattern, own) = match written {
            Some(Ok(pattern)) => (pattern.shortest(), Some(pattern.layers())),
            Some(Err(())) => (Pattern::UNIFORM, Some(1)),
            None => (kept, base.map(|m| m.layers)),
        };
        let layers = missing.need("model.layers", parts.layers, own, 1);
        let period = pattern.layers().max(1);
        if !layers.is_multiple_of(period) {
            let message = t!("{layers} layers are no whole repeats of the pattern of {period}", layers, period);
            let nearest = (layers / period).max(1);
            let whole = [nearest * period, (nearest + 1) * period];
            let issue = Issue::error("model.layers", message);
            missing.issue(issue.with_near("model.layers", layers, whole));
        }
        (pattern, layers)
    }

    /// Heads of the layers B.
    pub(super) fn second(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<SecondHeads> {
        let (said, base) = (&self.parts, base.and_then(|m| m.second));
        let [kv_heads, head_dim] = missing.group(
            ["model.second.kv_heads", "model.second.head_dim"],
            [said.second_kv_heads, said.second_head_dim],
            base.map(|own| [own.kv_heads, own.head_dim]),
        )?;
        Some(SecondHeads {
            kv_heads,
            head_dim,
            shared_kv: said.second_shared_kv.or(base.map(|own| own.shared_kv)).unwrap_or(false),
        })
    }

    /// What selects the keys of the layers S and X4.
    pub(super) fn indexer(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Indexer> {
        let (said, base) = (&self.parts, base.and_then(|m| m.indexer));
        let [heads, head_dim, top_k] = missing.group(
            ["model.dsa.heads", "model.dsa.head_dim", "model.dsa.top_k"],
            [said.indexer_heads, said.indexer_head_dim, said.indexer_top_k],
            base.map(|own| [own.heads, own.head_dim, own.top_k]),
        )?;
        Some(Indexer { heads, head_dim, top_k })
    }

    /// Shapes of the layers M.
    pub(super) fn mamba(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Mamba> {
        let (said, base) = (&self.parts, base.and_then(|m| m.mamba));
        let [heads, head_dim, state, groups] = missing.group(
            ["model.mamba.heads", "model.mamba.head_dim", "model.mamba.state", "model.mamba.groups"],
            [said.mamba_heads, said.mamba_head_dim, said.mamba_state, said.mamba_groups],
            base.map(|own| [own.heads, own.head_dim, own.state, own.groups]),
        )?;
        Some(Mamba { heads, head_dim, state, groups })
    }

    /// Shapes of the layers G.
    pub(super) fn delta_net(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<DeltaNet> {
        let (said, base) = (&self.parts, base.and_then(|m| m.delta_net));
        let [key_heads, value_heads, head_dim] = missing.group(
            ["model.gdn.key_heads", "model.gdn.value_heads", "model.gdn.head_dim"],
            [said.delta_key_heads, said.delta_value_heads, said.delta_head_dim],
            base.map(|own| [own.key_heads, own.value_heads, own.head_dim]),
        )?;
        Some(DeltaNet { key_heads, value_heads, head_dim })
    }

    /// Shapes of the layers K.
    pub(super) fn kda(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Kda> {
        let (said, base) = (&self.parts, base.and_then(|m| m.kda));
        let [heads, head_dim, gate_rank] = missing.group(
            ["model.kda.heads", "model.kda.head_dim", "model.kda.gate_rank"],
            [said.kda_heads, said.kda_head_dim, said.kda_gate_rank],
            base.map(|own| [own.heads, own.head_dim, own.gate_rank]),
        )?;
        Some(Kda { heads, head_dim, gate_rank })
    }

    /// Shapes of the layers X.
    pub(super) fn compressed(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Compressed> {
        let (said, base) = (&self.parts, base.and_then(|m| m.compressed));
        let [q_lora_rank, o_lora_rank, o_groups, streams] = missing.group(
            ["model.csa.q_lora_rank", "model.csa.o_lora_rank", "model.csa.o_groups", "model.csa.streams"],
            [said.csa_q_lora_rank, said.csa_o_lora_rank, said.csa_o_groups, said.csa_streams],
            base.map(|own| [own.q_lora_rank, own.o_lora_rank, own.o_groups, own.streams]),
        )?;
        Some(Compressed { q_lora_rank, o_lora_rank, o_groups, streams })
    }
}

impl ModelParts {
    /// Takes the kinds of all layers: leading dense layers before one kind with experts, or a pattern.
    ///
    /// # Errors
    /// Where they are too many for a pattern.
    pub fn set_kinds(&mut self, kinds: &[LayerKind]) -> Result<(), PatternError> {
        let routed = |kind: &LayerKind| kind.ffn == Ffn::Experts;
        let dense = kinds.iter().take_while(|kind| !routed(kind)).count();
        let (first, rest) = kinds.split_at(dense);
        let known = [Mixer::Full, Mixer::Latent, Mixer::Sparse];
        let like = |kind: &LayerKind| known.contains(&kind.mixer) && kind.mixer == kinds[0].mixer;
        let uniform =
            kinds.iter().all(like) && first.iter().all(|kind| kind.ffn == Ffn::Dense) && rest.iter().all(routed);
        if uniform {
            self.dense_layers = self.experts.map(|_| dense as u64);
        } else {
            self.dense_layers = self.dense_layers.map(|_| 0);
            self.pattern = Some(Pattern::of(kinds)?.to_string());
        }
        Ok(())
    }
}
