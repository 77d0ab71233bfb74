//! Parameters that a pipeline rank holds, and the ranks over which their states are sharded.

use crate::memory::estimate::RankLoad;
use crate::model::{LayerElements, LayerKinds, Mixer, layer_elements, stage_range};
use crate::run::{Adapter, Saved, Scenario};
use std::ops::Range;

/// Group that shards a parameter's states, if it is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardGroup {
    /// Sharded over d c, or the HSDP group.
    Dense,
    /// Routed experts: sharded over their own data-parallel group.
    Expert,
    /// Not trained and not sharded: weights only.
    Frozen,
    /// Adapters and what is trained beside them: over the group of the dense parameters, or whole on every rank.
    Adapter,
    /// Adapters beside routed experts: over the group of the experts, or whole on every rank.
    ExpertAdapter,
}

impl ShardGroup {
    /// True of what is trained beside a frozen base.
    pub(crate) fn is_adapter(self) -> bool {
        matches!(self, Self::Adapter | Self::ExpertAdapter)
    }
}

/// Parameters at the ends of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelEnd {
    /// Embedding of the tokens.
    Embedding,
    /// Norm before the head.
    FinalNorm,
    /// Language-model head.
    Head,
}

/// Parameters with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Holding {
    /// Their name on the page.
    pub name: &'static str,
    /// The end of the model that these parameters are (embedding or head); none of layers.
    pub end: Option<ModelEnd>,
    /// Elements on one GPU, after t, x and te, before ZeRO.
    pub elements: f64,
    /// The group that shards them.
    pub kind: ShardGroup,
    /// True where they have gradients and states.
    pub trained: bool,
    /// Parameters in linears of layers, which a recipe quantises.
    pub linears: f64,
    /// Elements of the largest hidden matrix among them on one GPU, which Muon keeps whole; 0 where Adam steps in:
    /// embedding, head and norms.
    pub largest_matrix: f64,
}

/// Elements of the embedding or head on one rank: `V h / t`.
pub(crate) fn embedding_elements(scenario: &Scenario) -> f64 {
    scenario.padded_vocabulary() as f64 * scenario.model.hidden as f64 / scenario.layout.tp as f64
}

/// Elements of the head on one rank: as the embedding's, of a score's its one row.
pub(crate) fn head_elements(scenario: &Scenario) -> f64 {
    if scenario.model.headless { scenario.model.hidden as f64 } else { embedding_elements(scenario) }
}

/// The transformer layers of global stage `stage`.
pub(crate) fn layers_of(scenario: &Scenario, stage: usize) -> Range<u64> {
    stage_range(&scenario.stage_layers, stage)
}

/// True of the global stage that ends the model.
pub(crate) fn is_last(scenario: &Scenario, stage: usize) -> bool {
    stage + 1 == scenario.stage_layers.len()
}

/// The kinds of layers on global stage `stage`, and how many are of each.
pub(crate) fn kinds_of(scenario: &Scenario, stage: usize) -> LayerKinds {
    scenario.model.kinds(layers_of(scenario, stage))
}

/// All parameters of the rank that holds `load`.
pub(crate) fn holdings(scenario: &Scenario, load: &RankLoad) -> Vec<Holding> {
    let mut list = Holdings { scenario, list: Vec::with_capacity(6) };
    for &stage in &load.stages {
        list.stage(stage, load);
    }
    if let Some(adapter) = &scenario.adapter {
        list.freeze(adapter, load);
    }
    list.list
}

/// Parameters of the model on the rank that holds `load`, adapters left out, elements.
pub(crate) fn parameters(scenario: &Scenario, load: &RankLoad) -> f64 {
    let parts = holdings(scenario, load).into_iter().filter(|part| !part.kind.is_adapter());
    parts.map(|part| part.elements).sum()
}

/// Elements of the largest matrix of a layer on one rank, outside and inside the experts: gate and up are one matrix.
fn largest_matrices(scenario: &Scenario) -> [f64; 2] {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let h = model.hidden as f64;
    let up = if model.gated_ffn { 2.0 } else { 1.0 };
    let t = layout.tp as f64;
    let ranks = model.key_value_ranks(layout.tp);
    let shapes = [Mixer::Full, Mixer::Second].map(|mixer| model.attention_heads(mixer));
    let widths = shapes.into_iter().zip(ranks).filter_map(|(heads, ranks)| {
        let heads = heads?;
        Some(heads.queries() as f64 / t + heads.projected_kv() as f64 / ranks as f64)
    });
    let attention = widths.fold(0.0, f64::max);
    let dense = h * attention.max(up * model.ffn as f64 / t);
    let expert = model.moe.map_or(0.0, |moe| h * up * moe.expert_ffn as f64 / layout.etp as f64);
    [dense, expert]
}

struct Holdings<'a> {
    scenario: &'a Scenario,
    list: Vec<Holding>,
}

impl Holdings<'_> {
    /// Freezes the parameters so far; adapters and copies of the ends are trained beside them.
    fn freeze(&mut self, adapter: &Adapter, load: &RankLoad) {
        for part in &mut self.list {
            part.trained = false;
            part.largest_matrix = 0.0;
        }
        let (scenario, layout) = (self.scenario, &self.scenario.layout);
        let kinds = load.stages.iter().map(|stage| kinds_of(scenario, *stage));
        let each = kinds.flat_map(|kinds| kinds.to_vec());
        let elements = each.fold([0.0; 2], |sum: [f64; 2], (kind, layers)| {
            let one = adapter.elements(&scenario.model, kind, layout.tp, layout.ep, layout.etp);
            [0, 1].map(|at| sum[at] + layers as f64 * one[at])
        });
        self.add("adapters", elements[0], ShardGroup::Adapter);
        self.add("adapters of experts", elements[1], ShardGroup::ExpertAdapter);
        let last = load.stages.iter().any(|stage| is_last(scenario, *stage));
        let (embedding, head) = (load.stages.contains(&0), last);
        for (saved, here, end, name) in [
            (Saved::Embedding, embedding, ModelEnd::Embedding, "trained embedding"),
            (Saved::Head, head, ModelEnd::Head, "trained head"),
        ] {
            if here && adapter.saved.contains(&saved) {
                self.add_end(end, name, ShardGroup::Adapter, embedding_elements(scenario));
            }
        }
    }

    fn add(&mut self, name: &'static str, elements: f64, kind: ShardGroup) {
        self.add_matrices(name, elements, kind, 0.0, 0.0);
    }

    fn add_matrices(&mut self, name: &'static str, elements: f64, kind: ShardGroup, linears: f64, largest: f64) {
        if elements > 0.0 {
            self.list.push(Holding {
                name,
                end: None,
                elements,
                kind,
                trained: kind != ShardGroup::Frozen,
                linears,
                largest_matrix: largest,
            });
        }
    }

    /// Adds an end of the model.
    fn add_end(&mut self, end: ModelEnd, name: &'static str, kind: ShardGroup, elements: f64) {
        let before = self.list.len();
        self.add(name, elements, kind);
        if let Some(added) = self.list.get_mut(before) {
            added.end = Some(end);
        }
    }

    /// Elements of a layer outside its linears: norms, row biases and the router; a latent's down-projections are whole
    /// on every rank too, but linears.
    fn beside_linears(&self, block: LayerElements) -> f64 {
        let model = &self.scenario.model;
        let down = model
            .mla
            .filter(|_| block.sharded > 0)
            .map_or(0, |mla| model.hidden * (mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim));
        block.replicated.saturating_sub(down) as f64
    }

    /// `count` blocks, whose linears a recipe quantises unless they stay in `bf16`.
    fn block(&mut self, name: &'static str, count: u64, block: LayerElements, bf16: bool) {
        let (layout, count) = (&self.scenario.layout, count as f64);
        let [dense, expert] = largest_matrices(self.scenario);
        let matrix = if block.sharded > 0 { dense } else { 0.0 };
        let elements = count * block.dense_per_rank(&self.scenario.model, layout.tp);
        let quantised = |linears: f64| if bf16 { 0.0 } else { linears };
        let linears = quantised(elements - count * self.beside_linears(block));
        self.add_matrices(name, elements, ShardGroup::Dense, linears, matrix);
        let experts = count * block.experts_per_rank(layout.ep, layout.etp);
        let linears = quantised(experts);
        self.add_matrices("routed experts", experts, ShardGroup::Expert, linears, expert);
    }

    fn stage(&mut self, stage: usize, load: &RankLoad) {
        let (scenario, model) = (self.scenario, &self.scenario.model);
        let (first, last) = (stage == 0, is_last(scenario, stage));
        let positions = model.embedding().replicated as f64;
        if first {
            self.add_end(ModelEnd::Embedding, "embedding", ShardGroup::Dense, embedding_elements(scenario) + positions);
            self.vision();
        }
        for (part, bf16) in scenario.by_precision(layers_of(scenario, stage)) {
            for (kind, count) in model.kinds(part).iter() {
                self.block("layers", *count, layer_elements(model, *kind), bf16);
            }
        }
        if last {
            let norm = model.final_norm().dense_per_rank(model, scenario.layout.tp);
            self.add_end(ModelEnd::FinalNorm, "final norm", ShardGroup::Dense, norm);
            // Tied weights live once on a rank that has both ends, and on both ends where two ranks do.
            if !(model.shares_embedding() && load.stages.contains(&0)) {
                self.add_end(ModelEnd::Head, "head", ShardGroup::Dense, head_elements(scenario));
            }
        }
        self.prediction(scenario.modules_on(stage), load);
    }

    /// Multi-token prediction: a layer and its projection each, and the embedding of the tokens it reads ahead where
    /// its rank has none. Source: Megatron-LM `multi_token_prediction.py`.
    fn prediction(&mut self, modules: u64, load: &RankLoad) {
        if modules == 0 {
            return;
        }
        let module = self.scenario.model.module_elements();
        self.block("multi-token prediction", modules, module, false);
        if !load.stages.contains(&0) && self.scenario.embeds_again() {
            let copy = embedding_elements(self.scenario);
            self.add("embedding for multi-token prediction", copy, ShardGroup::Dense);
        }
    }

    /// The vision tower and its projector are on the first stage; a frozen tower keeps its weights only.
    fn vision(&mut self) {
        let (model, tp) = (&self.scenario.model, self.scenario.layout.tp);
        if model.vision.is_some_and(|vision| vision.is_apart()) {
            return;
        }
        let projector = model.projector().dense_per_rank(model, tp);
        let tower = model.vision_tower().dense_per_rank(model, tp) - projector;
        let kind =
            if model.vision.is_some_and(|vision| vision.frozen) { ShardGroup::Frozen } else { ShardGroup::Dense };
        self.add("vision tower", tower, kind);
        self.add("projector", projector, ShardGroup::Dense);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, ModelParts, Run};

    fn load(stages: Vec<usize>) -> RankLoad {
        RankLoad { in_flight: vec![1.0; stages.len()], stages, weight_versions: 1 }
    }

    fn sum(list: &[Holding], kind: ShardGroup) -> f64 {
        list.iter().filter(|part| part.kind == kind).map(|part| part.elements).sum()
    }

    /// `docs/methods/memory.md`, worked numbers: DeepSeek-V3 with one dense and three MoE layers on 8 GPUs: 4.228 B
    /// expert parameters a GPU with ep 8.
    #[test]
    fn deepseek_v3_with_4_layers_holds_4_228_b_expert_parameters_a_gpu() {
        let mut model: Based<ModelParts> = Based::preset("deepseek-v3");
        model.parts.layers = Some(4);
        model.parts.moe.dense_layers = Some(1);
        let run = Run { model, gpus: 8, tp: 1, pp: 1, ep: 8, ..Run::default() };
        let list = holdings(&Scenario::new(&run).unwrap(), &load(vec![0]));
        assert!((sum(&list, ShardGroup::Expert) / 1e9 - 4.228).abs() < 0.001);
    }

    /// Megatron-LM: tied embeddings are two copies on two ends of a pipeline, one where one rank has both ends.
    #[test]
    fn tied_embeddings_stand_twice_on_two_ranks_and_once_on_one() {
        let run = |pp| Run { model: Based::preset("gpt-2-xl"), tp: 1, pp, ..Run::default() };
        let copies = |run: &Run, ranks: &[Vec<usize>]| -> f64 {
            let scenario = Scenario::new(run).unwrap();
            let lists = ranks.iter().map(|stages| holdings(&scenario, &load(stages.clone())));
            let parts = lists.flatten();
            parts
                .filter(|part| matches!(part.end, Some(ModelEnd::Embedding | ModelEnd::Head)))
                .map(|part| part.elements)
                .sum()
        };
        // 50257 padded to 50304, and 1024 learned positions.
        let copy = 50304.0 * 1600.0;
        let positions = 1024.0 * 1600.0;
        assert!((copies(&run(1), &[vec![0]]) - copy - positions).abs() < 1.0);
        assert!((copies(&run(2), &[vec![0], vec![1]]) - 2.0 * copy - positions).abs() < 1.0);
        assert!((copies(&run(2), &[vec![0, 1]]) - copy - positions).abs() < 1.0);
    }

    /// Megatron's golden GPT-7B pads 131073 entries to 131584 at t = 4. Source: `gpt3_7b_tp4_pp1_memory_speed`.
    #[test]
    fn the_vocabulary_is_padded_as_megatron_pads_it() {
        let mut model: Based<ModelParts> = Based::preset("llama-3.1-8b");
        model.parts.vocab = Some(131_073);
        let run = Run { model, tp: 4, ..Run::default() };
        assert_eq!(Scenario::new(&run).unwrap().padded_vocabulary(), 131_584);
    }
}
