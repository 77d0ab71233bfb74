//! `uneven-pp`: NVIDIA's technical note on uneven pipelines for vision-language models (Qwen2-VL on H20).
//!
//! A vision tower and some of the language model on the first rank, the rest behind it; 16 bytes a parameter, one
//! micro-batch in flight. Its GB are 10⁹ bytes.

use crate::explain::{Provenance, Term, Unit, ceil};
use crate::issue::Issue;
use crate::memory::assumptions::{MULTI_HEAD_GPT_SHAPES, TENSORS_ONLY, UNEVEN, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::method::MemoryMethod;
use crate::model::Vision;
use crate::run::Scenario;
use crate::source::UNEVEN_PP;
use crate::t;
use crate::units::Bytes;

/// Weights, 16-bit gradients, master weights and two moments.
const WEIGHT: f64 = 2.0;
const GRADIENT: f64 = 2.0;
const STATES: f64 = 12.0;

/// One transformer of the note: width, FFN width, tensor-parallel ranks.
#[derive(Clone, Copy, Debug)]
struct Block {
    h: f64,
    f: f64,
    t: f64,
}

impl Block {
    /// `6 h + (4 h² + 2 h f)/t + (3 h + f)/t`; with f = 4 h the note's `6 h + 12 h²/t + 7 h/t`.
    fn parameters(self) -> f64 {
        let Self { h, f, t } = self;
        6.0 * h + (4.0 * h * h + 2.0 * h * f) / t + (3.0 * h + f) / t
    }

    /// `b s (18 h + 4 f)/t`; with f = 4 h the note's `34 b s h/t`.
    fn activations(self, tokens: f64) -> f64 {
        tokens * (18.0 * self.h + 4.0 * self.f) / self.t
    }

    /// Forward FLOPs of `n` tokens: `8 n h² + 4 h n² + 4 n h f`.
    fn flops(self, n: f64) -> f64 {
        let Self { h, f, .. } = self;
        8.0 * n * h * h + 4.0 * h * n * n + 4.0 * n * h * f
    }
}

/// FLOPs in the note's rule: the vision part and a layer of the language model, forward and backward.
struct Rule {
    vision: f64,
    layer: f64,
    layers: f64,
    ranks: f64,
}

impl Rule {
    fn of(scenario: &Scenario) -> Self {
        let (model, ranks) = (&scenario.model, scenario.layout.pp);
        let vision = model.vision;
        let vision = vision.map_or(0.0, |vision| tower_flops(&vision, model.hidden));
        Self {
            vision: 3.0 * vision,
            layer: 3.0 * llm(scenario).flops(scenario.run.seq_len as f64),
            layers: model.layers as f64,
            ranks: ranks as f64,
        }
    }

    /// Layers of every rank but the first: the smallest whole number that is no less than a fair share.
    fn middle(&self) -> f64 {
        ceil((self.vision + self.layer * self.layers) / (self.ranks * self.layer))
    }
}

/// The note's layers a rank: `per_middle = ceil((FLOPs/pp)/FLOPs of a layer)`, the first rank takes what is left, at
/// least none; then the layers are spread over the other ranks.
///
/// Source: uneven PP note; Megatron-LM `--decoder-first-pipeline-num-layers`.
#[must_use]
pub fn split(scenario: &Scenario) -> Vec<u64> {
    let (layers, others) = (scenario.model.layers, scenario.layout.pp.saturating_sub(1));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the layers
    let middle = Rule::of(scenario).middle().clamp(0.0, layers as f64) as u64;
    let first = layers.saturating_sub(middle.saturating_mul(others));
    let mut split = vec![first];
    if let Some(each) = (layers - first).checked_div(others) {
        let extra = (layers - first) % others;
        split.extend((0..others).map(|rank| each + u64::from(rank < extra)));
    }
    split
}

/// Derivation of the first rank's layers by the note's rule: for one stage a rank, several ranks.
#[must_use]
pub(crate) fn explain_split(scenario: &Scenario) -> Option<Term> {
    if scenario.chunks != 1 || scenario.layout.pp < 2 {
        return None;
    }
    let count = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Count);
    let flops = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Flops);
    let (rule, block) = (Rule::of(scenario), llm(scenario));
    let tokens = scenario.run.seq_len as f64;
    let layer = [
        Term::given("N", "tokens per sequence", tokens, Unit::Tokens),
        count("h", "hidden size", block.h),
        count("F", "FFN size", block.f),
    ];
    let mut vision = flops("V", "vision tower and projector, forward and backward", rule.vision);
    if let Some(tower) = scenario.model.vision {
        let book = [
            count("N", "patches of an image", tower.patches() as f64),
            count("h", "width of the tower", tower.hidden as f64),
            count("F", "FFN size of the tower", tower.ffn as f64),
            count("L", "layers of the tower", tower.layers as f64),
            count("C", "channels of an image", tower.channels as f64),
            count("p", "pixels a patch is wide", tower.patch as f64),
            count("H", "hidden size of the language model", block.h),
        ];
        let formula = "3 ((8 N h² + 4 h N² + 4 N h F) L + 2 N h C p² + 2 N h H)";
        vision = vision.over(formula, &book);
    }
    let layers = count("L", "layers of the language model", rule.layers);
    let ranks = count("r", "pipeline ranks", rule.ranks);
    let share = vec![
        vision,
        flops("f", "a layer of the language model, forward and backward", rule.layer)
            .over("3 (8 N h² + 4 h N² + 4 N h F)", &layer),
        layers.clone(),
        ranks.clone(),
    ];
    let each = count("c", "layers of every other rank", rule.middle());
    let each = each.by("ceil((V + f L)/(r f))", share);
    let first = split(scenario).first().copied()? as f64;
    Some(
        count("l", "layers of the first rank by NVIDIA's rule", first)
            .by("max(L - c (r - 1), 0)", vec![layers, each, ranks])
            .from(&UNEVEN_PP, "layer split")
            .note("where none are left for it, the layers are spread over the other ranks")
            .note("in Megatron-LM: --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers"),
    )
}

/// Forward FLOPs of the tower and its linear projector for one image.
fn tower_flops(vision: &Vision, hidden: u64) -> f64 {
    let n = vision.patches() as f64;
    let (h, p) = (vision.hidden as f64, vision.patch as f64);
    let patching = 2.0 * n * h * vision.channels as f64 * p * p;
    let projector = 2.0 * n * h * hidden as f64;
    tower(vision, 1.0).flops(n) * vision.layers as f64 + patching + projector
}

fn tower(vision: &Vision, t: f64) -> Block {
    Block { h: vision.hidden as f64, f: vision.ffn as f64, t }
}

fn llm(scenario: &Scenario) -> Block {
    Block { h: scenario.model.hidden as f64, f: scenario.model.ffn as f64, t: scenario.layout.tp as f64 }
}

impl Part {
    /// Its activations, by the note's formula where it is one line.
    fn activations_term(&self, scenario: &Scenario) -> Term {
        let term = Term::given("A", "activations", self.activations, Unit::Bytes);
        let block = llm(scenario);
        let count = |symbol, name: &'static str, value| Term::given(symbol, name, value, Unit::Count);
        let book = [
            count("n", "layers of the rank", self.layers),
            count("b", "sequences per micro-batch", scenario.run.micro_batch as f64),
            Term::given("s", "tokens per sequence", scenario.run.seq_len as f64, Unit::Tokens),
            count("h", "hidden size", block.h),
            count("f", "FFN size", block.f),
            count("t", "tensor parallel", block.t),
        ];
        match self.name {
            "language model" => term.over("n b s (18 h + 4 f)/t", &book),
            "head" => term.over("8 b s h/t", &book),
            _ => term.marked(Provenance::AddedUp, "b s (18 h + 4 f)/t, layer by layer, and the pixels"),
        }
    }
}

/// A named part: parameters and bytes of activations.
struct Part {
    name: &'static str,
    /// Layers of the language model in it.
    layers: f64,
    parameters: f64,
    activations: f64,
}

/// Memory of rank `rank`, by parts.
fn parts(scenario: &Scenario, load: &RankLoad) -> Vec<Part> {
    let (model, run) = (&scenario.model, &scenario.run);
    let tokens = run.micro_batch as f64 * run.seq_len as f64;
    let block = llm(scenario);
    let mut parts = Vec::new();
    if let (true, Some(vision)) = (load.stages.contains(&0), model.vision) {
        parts.extend(vision_parts(scenario, &vision));
    }
    let layers: u64 = load.stages.iter().filter_map(|stage| scenario.stage_layers.get(*stage)).sum();
    parts.push(Part {
        name: "language model",
        layers: layers as f64,
        parameters: layers as f64 * block.parameters(),
        activations: layers as f64 * block.activations(tokens),
    });
    if load.stages.contains(&(scenario.stage_layers.len() - 1)) {
        // `16 h V/t + 8 b s h/t`
        parts.push(Part {
            name: "head",
            layers: 0.0,
            parameters: block.h * model.vocab as f64 / block.t,
            activations: 8.0 * tokens * block.h / block.t,
        });
    }
    parts
}

/// `16 (p² C h + L · layer) + 2 W H C + 34 b s h L/t` and the projector `16 h_vit h_llm + 2 b s_vit h_vit`.
fn vision_parts(scenario: &Scenario, vision: &Vision) -> [Part; 2] {
    let b = scenario.run.micro_batch as f64;
    let tokens = b * vision.patches() as f64;
    let block = tower(vision, scenario.layout.tp as f64);
    let (layers, p) = (vision.layers as f64, vision.patch as f64);
    let channels = vision.channels as f64;
    let pixels = vision.image_width as f64 * vision.image_height as f64 * channels;
    [
        Part {
            name: "vision tower",
            layers: 0.0,
            parameters: p * p * channels * block.h + layers * block.parameters(),
            activations: 2.0 * pixels + layers * block.activations(tokens),
        },
        Part {
            name: "projector",
            layers: 0.0,
            parameters: block.h * scenario.model.hidden as f64,
            activations: 2.0 * tokens * block.h,
        },
    ]
}

fn rank_memory(scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
    let items = parts(scenario, load)
        .into_iter()
        .flat_map(|part| {
            [
                (Component::Weights, WEIGHT * part.parameters),
                (Component::Gradients, GRADIENT * part.parameters),
                (Component::Optimizer, STATES * part.parameters),
                (Component::Activations, part.activations),
            ]
            .map(|(component, bytes)| Item::held(component, part.name, Bytes(bytes)))
        })
        .collect();
    StageMemory::of_items(rank, 1.0, items)
}

/// The method of the note on uneven pipeline stages.
pub struct Uneven;

impl MemoryMethod for Uneven {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        rank_memory(scenario, rank, load)
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "uneven-pp", &[MULTI_HEAD_GPT_SHAPES, UNEVEN, TENSORS_ONLY])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        explain(scenario, rank, load)
    }
}

/// Derivation of the figure of pipeline rank `rank`.
fn explain(scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
    let parts = parts(scenario, load)
        .into_iter()
        .map(|part| {
            let states = (WEIGHT + GRADIENT + STATES) * part.parameters;
            let book =
                [Term::given("P", "parameters", part.parameters, Unit::Parameters), part.activations_term(scenario)];
            Term::given("T_i", part.name, states + part.activations, Unit::Bytes).over("16 P + A", &book)
        })
        .collect();
    let total = rank_memory(scenario, rank, load).total;
    Term::given("T", t!("memory of rank {rank} by the uneven PP note", rank), total.0, Unit::Bytes)
            .by("Σ T_i", parts)
            .from(&UNEVEN_PP, "memory")
            .note("the note prints its totals without the projector, which its formula has")
            .note("leaves out micro-batches in flight, grouped-query attention, gated FFNs, the input embedding, sharding, buffers, context, fragmentation")
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
                frozen: false,
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
            let memory = rank_memory(&scenario, 0, &load);
            let gb = |name: &'static str| -> f64 {
                let items = memory.items.iter().filter(|item| item.name == name);
                items.map(|item| item.bytes.gb()).sum()
            };
            let near = |ours: f64, printed: f64| assert!((ours - printed).abs() < 1e-3, "{ours}");
            near(gb("vision tower"), tower);
            near(gb("language model"), language);
            near(gb("projector"), 0.237);
            near(memory.total.gb() - gb("projector"), printed);
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
