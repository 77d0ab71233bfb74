//! Demands of a model's kinds of layers on the layout, and refusals of implementations.

use super::{Check, divisors};
use crate::issue::Issue;
use crate::message::Message;
use crate::model::{Ffn, LayerKind, Mixer};
use crate::run::CpComm;
use crate::t;

impl Check<'_> {
    /// Contradictions of the pattern, and parts of it that are not modelled.
    pub fn pattern(&mut self) {
        let m = self.model;
        if m.pattern.is_uniform() {
            return;
        }
        if m.moe.is_some_and(|moe| moe.dense_layers > 0) {
            self.refuse("model.moe.dense_layers", Message::plain("the pattern says which layers have experts"), 0);
        }
        if m.any_layer(|kind| matches!(kind.mixer, Mixer::Compressed(_))) {
            self.warnings.push(Issue::warning(
                "model.pattern",
                t!("the time of DeepSeek-V4's attention is not modelled: its matrix products and a dense kernel over \
                    its keys are counted, its compressor, gathers and hyper-connections are not"),
            ));
        }
    }

    /// Sizes that tensor parallelism cuts in the recurrent mixers; with context parallelism their heads are cut over
    /// both. Source: Megatron-LM `mamba_mixer.py`, `mamba_context_parallel.py`.
    pub(crate) fn recurrent(&mut self) {
        let (m, tp) = (*self.model, self.run.tp);
        let ranks = tp.saturating_mul(self.run.cp);
        let has = |mixer| m.any_layer(|kind: LayerKind| kind.mixer == mixer);
        let mamba = m.mamba.filter(|_| has(Mixer::Mamba));
        let delta = m.delta_net.filter(|_| has(Mixer::DeltaNet));
        let kda = m.kda.filter(|_| has(Mixer::Kda));
        let cut = [
            ("the heads of Mamba-2", mamba.map(|part| part.heads), true),
            ("the groups of Mamba-2", mamba.map(|part| part.groups), false),
            ("the key heads of the gated delta net", delta.map(|part| part.key_heads), true),
            ("the value heads of the gated delta net", delta.map(|part| part.value_heads), true),
            ("the heads of Kimi delta attention", kda.map(|part| part.heads), true),
        ];
        let sizes = cut.map(|(_, size, _)| size);
        let works = |t: u64| sizes.into_iter().flatten().all(|size| size.is_multiple_of(t));
        for (what, size, heads) in cut {
            let Some(size) = size else { continue };
            let what = Message::plain(what);
            if !size.is_multiple_of(tp) {
                let message = t!("TP {tp} has to divide {what}; there are {size}", tp, what, size);
                let fitting = divisors(self.run.training_gpus()).filter(|t| works(*t));
                self.error_near("tp", message, tp, fitting);
            } else if heads && !size.is_multiple_of(ranks) {
                let message = t!("CP times TP = {ranks} has to divide {what}; there are {size}", ranks, what, size);
                self.error_near("cp", message, self.run.cp, divisors(size));
            }
        }
    }

    /// Transformer Engine's context parallelism: windows by all-gather or Ulysses, sinks by Ulysses alone. Source:
    /// Transformer Engine `context_parallel.py`.
    pub(crate) fn context_masks(&mut self) {
        let (m, run) = (self.model, self.run);
        if run.cp <= 1 {
            return;
        }
        let windows = m.any_layer(|kind| kind.mixer == Mixer::Window);
        if m.sinks && run.cp_comm != CpComm::Ulysses {
            let message = t!("Transformer Engine runs attention sinks with Ulysses only");
            let issue = Issue::error("cp_comm", message).with_fix("cp_comm", "ulysses");
            self.issues.push(issue.or_fix("cp", 1));
        } else if windows && matches!(run.cp_comm, CpComm::Ring | CpComm::Hierarchical) {
            let message = t!("Transformer Engine runs sliding windows with all-gather or Ulysses, not with a ring");
            self.refuse("cp_comm", message, "all-gather");
        }
    }

    /// True if layer `index` is an FFN alone behind a mixer alone.
    fn is_second_half(&self, index: u64) -> bool {
        let alone = |index: u64, test: fn(LayerKind) -> bool| test(self.model.kind(index));
        index > 0 && alone(index, |kind| kind.mixer == Mixer::None) && alone(index - 1, |kind| kind.ffn == Ffn::None)
    }

    /// `split` with every boundary moved to the end of the block that it falls into; none where a stage is left empty.
    pub(crate) fn whole_blocks(&self, split: &[u64]) -> Option<Vec<u64>> {
        let (mut even, mut last) = (0, 0);
        let mut whole = Vec::with_capacity(split.len());
        for layers in split {
            even += layers;
            let mut end = even;
            while end < self.model.layers && self.is_second_half(end) {
                end += 1;
            }
            if end <= last && *layers > 0 {
                return None;
            }
            whole.push(end - last);
            last = end;
        }
        Some(whole)
    }

    /// A stage of `given` that begins inside a block.
    pub(crate) fn half_block(&mut self, given: &[u64]) {
        let mut start = 0;
        for (stage, layers) in given.iter().enumerate() {
            if self.is_second_half(start) {
                let message = t!(
                    "stage {stage} would begin with an FFN while that block's mixer is on the stage before: the block \
                        is split in two",
                    stage = stage as u64
                );
                let mut issue = Issue::error("stage_layers", message);
                if let Some(whole) = self.whole_blocks(given) {
                    let list: Vec<String> = whole.iter().map(u64::to_string).collect();
                    issue = issue.with_fix("stage_layers", list.join(","));
                }
                self.issues.push(issue);
                return;
            }
            start += layers;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::run::{Based, Run, Scenario};

    #[test]
    fn a_pattern_that_does_not_parse_is_an_error_at_its_field() {
        for wrong in ["Zd*3", "(We,Ae"] {
            let mut run = Run { model: Based::preset("gpt-oss-20b"), pp: 1, tp: 1, ..Run::default() };
            run.model.parts.pattern = Some(wrong.to_owned());
            let issues = Scenario::new(&run).unwrap_err();
            assert_eq!(issues[0].field, "model.pattern", "{wrong}: {issues:?}");
        }
    }

    /// Nemotron 3 Nano's 52 layers on four stages: an even split would begin the second with the experts of an
    /// attention.
    #[test]
    fn an_even_split_keeps_blocks_whole() {
        let run = Run { model: Based::preset("nemotron-3-nano"), ..Run::default() };
        let scenario = Scenario::new(&Run { pp: 4, tp: 1, ..run }).unwrap();
        let mut start = 0;
        for layers in &scenario.stage_layers {
            assert!(scenario.model.kind(start).mixer != crate::model::Mixer::None);
            start += layers;
        }
        assert_eq!((start, scenario.stage_layers.len()), (52, 4));
    }
}
