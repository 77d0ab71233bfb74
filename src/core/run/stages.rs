//! Contents of a global stage: layers, by the format of their linears, and the modules of multi-token prediction.

use super::Scenario;
use crate::model::{Heads, LayerKinds, Mixer, stage_range};
use std::ops::Range;

impl Scenario {
    /// The heads of `mixer` as attention reads them: PyTorch's models may repeat keys and values for every query head.
    pub(crate) fn attended(&self, mixer: Mixer) -> Option<Heads> {
        let heads = self.model.attention_heads(mixer)?;
        let repeats = self.software.repeats_kv;
        Some(Heads { key_value: if repeats { heads.query } else { heads.key_value }, ..heads })
    }

    /// The layers of global stage `stage`, by index in the model.
    pub(crate) fn layers_of(&self, stage: usize) -> Range<u64> {
        stage_range(&self.stage_layers, stage)
    }

    /// The stage that ends with the loss.
    pub(crate) fn last_stage(&self) -> usize {
        self.stage_layers.len().saturating_sub(1)
    }

    /// Modules of multi-token prediction on `stage`: all are on one. Source: Megatron-LM
    /// `multi_token_prediction.py`, `mtp_on_this_rank`.
    pub(crate) fn modules_on(&self, stage: usize) -> u64 {
        if stage == self.mtp_stage { self.model.mtp_modules } else { 0 }
    }

    /// The kinds of layers on `stage`, those of its modules among them.
    pub(crate) fn kinds_on(&self, stage: usize) -> LayerKinds {
        let kinds = self.model.kinds(self.layers_of(stage));
        match self.modules_on(stage) {
            0 => kinds,
            modules => kinds.with(&self.model.module_kinds(), modules),
        }
    }

    /// True if its modules need an embedding of their own, beside none that is on their stage.
    pub(crate) fn embeds_again(&self) -> bool {
        let (model, at) = (&self.model, self.mtp_stage);
        let has_head = model.shares_embedding() && at == self.last_stage();
        model.mtp_modules > 0 && at > 0 && !has_head
    }

    /// Ranks of a pipeline that hold the embedding: the first, the last where it is tied, that of the modules.
    pub(crate) fn embedding_copies(&self) -> u64 {
        if self.layout.pp <= 1 {
            return 1;
        }
        1 + u64::from(self.model.shares_embedding()) + u64::from(self.embeds_again())
    }

    /// Hidden states of a micro-batch that `stage` hands on: its own, and from modules on a stage before the loss one
    /// of each, `1 + D`. Source: Megatron-LM `p2p_communication.py`, `mtp_standalone`.
    pub(crate) fn states_sent(&self, stage: usize) -> u64 {
        let carries = (self.mtp_stage..self.last_stage()).contains(&stage);
        1 + u64::from(carries) * self.model.mtp_modules
    }

    /// Number of `layers`, at their start and at their end, that keep their linears in bf16 under a policy of fewer
    /// bits. Source: Megatron-LM `is_first_last_bf16_layer`.
    pub(crate) fn bf16_ends(&self, layers: &Range<u64>) -> [u64; 2] {
        if !self.precision.is_low() {
            return [0; 2];
        }
        let (first, last) = (self.precision.bf16_first, self.precision.bf16_last);
        let behind = self.model.layers.saturating_sub(last).max(first);
        let within = |layer: u64| layer.clamp(layers.start, layers.end);
        [within(first) - layers.start, layers.end - within(behind)]
    }

    /// `layers` in up to three parts: in bf16, as the policy computes, in bf16 again; each with whether it stays in
    /// bf16.
    pub(crate) fn by_precision(&self, layers: Range<u64>) -> impl Iterator<Item = (Range<u64>, bool)> {
        let [first, last] = self.bf16_ends(&layers);
        let (start, end) = (layers.start + first, layers.end - last);
        [(layers.start..start, true), (start..end, false), (end..layers.end, true)]
            .into_iter()
            .filter(|(part, _)| !part.is_empty())
    }

    /// True if any layer stays in bf16 under a policy of fewer bits.
    pub(crate) fn keeps_bf16(&self) -> bool {
        self.bf16_ends(&(0..self.model.layers)) != [0; 2]
    }
}
