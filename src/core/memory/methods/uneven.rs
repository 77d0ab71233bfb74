//! `uneven-pp`: NVIDIA's technical note on uneven pipelines for vision-language models (Qwen2-VL on H20).
//!
//! A vision tower and some of the language model on the first rank, the rest behind it; 16 bytes a parameter, one
//! micro-batch in flight. Its GB are 10⁹ bytes.

use crate::explain::symbols::{
    CHANNELS, FFN, HELD_LAYERS, HIDDEN, IMAGE_PATCHES, IMAGE_VALUES, LAYER_FLOPS, MODEL_HIDDEN, MODEL_LAYERS,
    OTHER_LAYERS, PART_PARAMETERS, PATCH_SIDE, PIPELINE_RANKS, SEQUENCE, SEQUENCES, TENSOR, TOWER_FFN, TOWER_HIDDEN,
    TOWER_LAYERS, VISION_FLOPS, VOCABULARY,
};
use crate::explain::{Quantity, Term, Unit, Written, written};
use crate::issue::Issue;
use crate::memory::assumptions::{MULTI_HEAD_GPT_SHAPES, TENSORS_ONLY, UNEVEN, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::explain::published;
use crate::memory::method::MemoryMethod;
use crate::model::Vision;
use crate::run::Scenario;
use crate::source::UNEVEN_PP;
use crate::t;
use crate::units::Bytes;

/// One transformer of the note: width, FFN width, tensor-parallel ranks.
#[derive(Clone, Copy, Debug)]
struct Block<Q> {
    h: Q,
    f: Q,
    t: Q,
}

impl<Q: Quantity> Block<Q> {
    fn of_model(scenario: &Scenario) -> Self {
        let model = &scenario.model;
        Self { h: HIDDEN.of(model.hidden), f: FFN.of(model.ffn), t: TENSOR.of(scenario.layout.tp) }
    }

    fn of_tower(scenario: &Scenario, tower: &Vision) -> Self {
        Self { h: TOWER_HIDDEN.of(tower.hidden), f: TOWER_FFN.of(tower.ffn), t: TENSOR.of(scenario.layout.tp) }
    }

    /// With f = 4 h the note's `6 h + 12 h²/t + 7 h/t`.
    fn parameters(self) -> Q {
        let Self { h, f, t } = self;
        h * 6.0 + (h.power(Q::number(2.0)) * 4.0 + h * f * 2.0) / t + (h * 3.0 + f) / t
    }

    /// Bytes of activations of one token; with f = 4 h the note's `34 h/t`.
    fn activations(self) -> Q {
        (self.h * 18.0 + self.f * 4.0) / self.t
    }

    /// Forward FLOPs of `n` tokens.
    fn flops(self, n: Q) -> Q {
        let Self { h, f, .. } = self;
        n * h.power(Q::number(2.0)) * 8.0 + h * n.power(Q::number(2.0)) * 4.0 + n * h * f * 4.0
    }
}

/// FLOPs of the tower and its linear projector for one image, forward and backward.
fn vision_flops<Q: Quantity>(scenario: &Scenario, tower: &Vision) -> Q {
    let (n, block) = (IMAGE_PATCHES.of::<Q>(tower.patches()), Block::of_tower(scenario, tower));
    let side = PATCH_SIDE.of::<Q>(tower.patch).power(Q::number(2.0));
    let patching = n * block.h * CHANNELS.of::<Q>(tower.channels) * side * 2.0;
    let projector = n * block.h * MODEL_HIDDEN.of::<Q>(scenario.model.hidden) * 2.0;
    (block.flops(n) * TOWER_LAYERS.of::<Q>(tower.layers) + patching + projector) * 3.0
}

/// Layers of every rank but the first: the smallest whole number that is no less than a fair share.
fn others_layers<Q: Quantity>(scenario: &Scenario) -> Q {
    let tower = scenario.model.vision;
    let vision = tower.map_or(Q::number(0.0), |tower| vision_flops::<Q>(scenario, &tower).called(VISION_FLOPS));
    let layer = Block::of_model(scenario).flops(SEQUENCE.signed("N").of::<Q>(scenario.run.seq_len)) * 3.0;
    let (layer, ranks) = (layer.called(LAYER_FLOPS), PIPELINE_RANKS.of::<Q>(scenario.layout.pp));
    ((vision + layer * MODEL_LAYERS.of::<Q>(scenario.model.layers)) / (ranks * layer)).ceil()
}

/// The note's layers a rank: `per_middle = ceil((FLOPs/pp)/FLOPs of a layer)`, the first rank takes what is left, at
/// least none; then the layers are spread over the other ranks.
///
/// Source: uneven PP note; Megatron-LM `--decoder-first-pipeline-num-layers`.
pub fn split(scenario: &Scenario) -> Vec<u64> {
    let (layers, others) = (scenario.model.layers, scenario.layout.pp.saturating_sub(1));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the layers
    let middle = others_layers::<f64>(scenario).clamp(0.0, layers as f64) as u64;
    let first = layers.saturating_sub(middle.saturating_mul(others));
    let mut split = vec![first];
    if let Some(each) = (layers - first).checked_div(others) {
        let extra = (layers - first) % others;
        split.extend((0..others).map(|rank| each + u64::from(rank < extra)));
    }
    split
}

/// Share of the FLOPs that each stage computes, by the note's count: the first has the tower too.
pub fn compute_shares(scenario: &Scenario) -> Vec<f64> {
    let tower = scenario.model.vision;
    let vision = tower.map_or(0.0, |tower| vision_flops::<f64>(scenario, &tower));
    let layer = Block::<f64>::of_model(scenario).flops(scenario.run.seq_len as f64) * 3.0;
    let stages = scenario.stage_layers.iter().enumerate();
    let flops: Vec<f64> =
        stages.map(|(stage, layers)| *layers as f64 * layer + if stage == 0 { vision } else { 0.0 }).collect();
    let all = flops.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    flops.into_iter().map(|part| part / all).collect()
}

/// Derivation of the first rank's layers by the note's rule: for one stage a rank, several ranks.
pub(crate) fn explain_split(scenario: &Scenario) -> Option<Term> {
    if scenario.chunks != 1 || scenario.layout.pp < 2 {
        return None;
    }
    let first = || {
        let (layers, ranks) =
            (MODEL_LAYERS.of::<Written>(scenario.model.layers), PIPELINE_RANKS.of::<Written>(scenario.layout.pp));
        let others = others_layers::<Written>(scenario).called(OTHER_LAYERS) * (ranks - Written::number(1.0));
        let first = (layers - others).max(Written::number(0.0));
        first.term("l", "layers of the first rank by NVIDIA's rule", Unit::Count)
    };
    let value = split(scenario).first().copied()? as f64;
    let term = Term { value, ..written(first) };
    Some(
        term.from(&UNEVEN_PP, "layer split")
            .note("where none are left for it, the layers are spread over the other ranks")
            .note("in Megatron-LM: --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers"),
    )
}

/// A named part: parameters and bytes of activations.
struct Part<Q> {
    name: &'static str,
    parameters: Q,
    activations: Q,
}

impl<Q: Quantity> Part<Q> {
    /// The linear projector behind the vision tower.
    fn projector(scenario: &Scenario, vision: &Vision) -> Self {
        let tower = Block::<Q>::of_tower(scenario, vision);
        let patches = SEQUENCES.of::<Q>(scenario.run.micro_batch) * IMAGE_PATCHES.of::<Q>(vision.patches());
        Self {
            name: "projector",
            parameters: tower.h * MODEL_HIDDEN.of::<Q>(scenario.model.hidden),
            activations: patches * tower.h * 2.0,
        }
    }

    /// Weights, 16-bit gradients, master weights and two moments, and activations.
    fn items(self) -> [Item<Q>; 4] {
        let parameters = self.parameters.called(PART_PARAMETERS);
        [
            (Component::Weights, parameters * 2.0),
            (Component::Gradients, parameters * 2.0),
            (Component::Optimizer, parameters * 12.0),
            (Component::Activations, self.activations),
        ]
        .map(|(component, bytes)| Item::held(component, self.name, bytes))
    }
}

/// Bytes of the projector, which the note's totals leave out and its formula has.
pub fn projector(scenario: &Scenario) -> Bytes {
    let parts = scenario.model.vision.map(|vision| Part::<f64>::projector(scenario, &vision.largest()));
    Bytes(parts.into_iter().flat_map(Part::items).map(|item| item.bytes).sum())
}

/// The model's parts on a rank that holds the chunks `load`.
fn parts<Q: Quantity>(scenario: &Scenario, load: &RankLoad) -> Vec<Part<Q>> {
    let (model, run) = (&scenario.model, &scenario.run);
    let (block, b) = (Block::<Q>::of_model(scenario), SEQUENCES.of::<Q>(run.micro_batch));
    let tokens = b * SEQUENCE.of::<Q>(run.seq_len);
    let mut parts = Vec::new();
    if let (true, Some(vision)) = (load.stages.contains(&0), model.vision.map(|vision| vision.largest())) {
        let (tower, layers) = (Block::<Q>::of_tower(scenario, &vision), TOWER_LAYERS.of::<Q>(vision.layers));
        let side = PATCH_SIDE.of::<Q>(vision.patch).power(Q::number(2.0));
        let values = vision.image_width as f64 * vision.image_height as f64 * vision.channels as f64;
        let patches = b * IMAGE_PATCHES.of::<Q>(vision.patches());
        parts.push(Part {
            name: "vision tower",
            parameters: side * CHANNELS.of::<Q>(vision.channels) * tower.h + layers * tower.parameters(),
            activations: IMAGE_VALUES.of::<Q>(values) * 2.0 + layers * patches * tower.activations(),
        });
        parts.push(Part::projector(scenario, &vision));
    }
    let layers: u64 = load.stages.iter().filter_map(|stage| scenario.stage_layers.get(*stage)).sum();
    let layers = HELD_LAYERS.of::<Q>(layers);
    parts.push(Part {
        name: "language model",
        parameters: layers * block.parameters(),
        activations: layers * tokens * block.activations(),
    });
    if load.stages.contains(&(scenario.stage_layers.len() - 1)) {
        parts.push(Part {
            name: "head",
            parameters: block.h * VOCABULARY.of::<Q>(model.vocab) / block.t,
            activations: tokens * block.h * 8.0 / block.t,
        });
    }
    parts
}

fn items<Q: Quantity>(scenario: &Scenario, load: &RankLoad) -> Vec<Item<Q>> {
    parts(scenario, load).into_iter().flat_map(Part::items).collect()
}

/// The method of the note on uneven pipeline stages.
pub struct UnevenMethod;

impl MemoryMethod for UnevenMethod {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        StageMemory::of_items(rank, 1.0, items::<f64>(scenario, load).into_iter().map(Item::plain))
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "uneven-pp", &[MULTI_HEAD_GPT_SHAPES, UNEVEN, TENSORS_ONLY])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        published(t!("memory of rank {rank} by the uneven PP note", rank), || items(scenario, load))
            .from(&UNEVEN_PP, "memory")
            .note("the note prints its totals without the projector, which its formula has")
            .note(
                "leaves out micro-batches in flight, grouped-query attention, gated FFNs, the input embedding, \
                sharding, buffers, context, fragmentation",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Architecture;
    use crate::run::Run;

    /// 224 x 224 x 3 images in patches of 14, a tower of 28 layers, 28 language-model layers at 1024 tokens.
    fn qwen(vit_hidden: u64, tp: u64, layers: Option<Vec<u64>>) -> Scenario {
        let run =
            Run { gpus: 2 * tp, tp, pp: 2, seq_len: 1024, global_batch: 32, stage_layers: layers, ..Run::default() };
        let mut scenario = Scenario::new(&run).unwrap();
        scenario.model = Architecture {
            vision: Some(Vision {
                image_width: 224,
                image_height: 224,
                channels: 3,
                patch: 14,
                hidden: vit_hidden,
                ffn: 4 * vit_hidden,
                layers: 28,
                ..Vision::BARE
            }),
            ..Architecture::llama(28, 3584, 18944, 28, 4, 152_064)
        };
        scenario
    }

    #[test]
    fn the_note_splits_28_layers_13_15_10_18_and_0_28() {
        for (hidden, printed) in [(1280, [13, 15]), (4096, [10, 18]), (8000, [0, 28])] {
            assert_eq!(split(&qwen(hidden, 1, None)), printed);
        }
    }

    #[test]
    fn case_2_is_met_and_the_printed_total_lacks_the_projector() {
        for (tp, tower, language, printed) in [(1, 91.255, 31.392, 122.647), (2, 45.653, 15.698, 61.350)] {
            let mut scenario = qwen(4096, tp, None);
            scenario.stage_layers = vec![10, 18];
            let load = RankLoad { stages: vec![0], in_flight: vec![1.0], weight_versions: 1 };
            let memory = UnevenMethod.rank(&scenario, 0, &load);
            let gb = |name: &'static str| -> f64 {
                let items = memory.items.iter().filter(|item| item.name == name);
                items.map(|item| item.bytes.gb()).sum()
            };
            let near = |ours: f64, printed: f64| assert!((ours - printed).abs() < 1e-3, "{ours}");
            near(gb("vision tower"), tower);
            near(gb("language model"), language);
            near(projector(&scenario).gb(), 0.237);
            near((memory.total - projector(&scenario)).gb(), printed);
        }
    }

    #[test]
    fn after_the_floor_at_none_the_layers_spread_over_the_other_ranks() {
        let mut scenario = qwen(8000, 1, None);
        scenario.layout.pp = 4;
        let split = split(&scenario);
        assert_eq!(split.iter().sum::<u64>(), 28);
        assert_eq!(split.len(), 4);
    }
}
