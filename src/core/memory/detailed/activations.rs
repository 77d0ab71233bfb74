//! Activations that one chunk keeps of one micro-batch.

use super::frozen;
use super::holding::layers_of;
use crate::explain::symbols::{
    ELEMENT, EXPERT_TENSOR, HIDDEN, IMBALANCE, IN_ONE_LAYER, KEPT_SHARE, KEYS, LAYERS, LINEAR_INPUT, MODULE_LAYER,
    OUTPUTS, REPEATS, RESIDUAL, TENSOR, TOKENS,
};
use crate::explain::{Provenance, Quantity};
use crate::memory::estimate::RankLoad;
use crate::memory::recompute::{LayerRecompute, leaves};
use crate::model::{
    Cut, KeptTensor as Tensor, LayerKind, Mixer, Quantised, Role, Swiglu, layer_inventory, vision_inventory,
};
use crate::run::{AttentionKernel, CpComm, PrecisionRecipe, Recompute, Scenario, StageKinds};

/// Pieces that a chunk of one kind of layers has at most, about.
const PIECES: usize = 16;

/// A tensor that some layers of a chunk keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece<Q = f64> {
    /// Name of the tensor.
    pub name: &'static str,
    /// Bytes of it in one layer.
    pub bytes: Q,
    /// The share of it that recomputation leaves.
    pub share: f64,
    /// Layers that keep it.
    pub layers: f64,
    /// True of the residual stream where it enters a layer.
    pub enters: bool,
}

impl<Q: Quantity> Piece<Q> {
    /// Bytes of all its layers.
    pub fn total(&self) -> Q {
        let layer = self.bytes.called(IN_ONE_LAYER);
        layer * KEPT_SHARE.factor::<Q>(self.share) * LAYERS.of::<Q>(self.layers)
    }
}

/// Tensors that a chunk keeps of one micro-batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept<Q = f64> {
    /// Each kind of tensor of each kind of layer.
    pub pieces: Vec<Piece<Q>>,
    /// Bytes that come back for a while when the largest recomputed layer is computed again.
    pub recomputed: f64,
    /// Bytes that wait on the host, the inputs of modules.
    pub away: f64,
}

impl<Q: Quantity> Kept<Q> {
    pub fn bytes(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.bytes.value() * piece.share * piece.layers).sum()
    }

    fn add(&mut self, name: &'static str, bytes: Q, share: f64, layers: f64) {
        self.push(Piece { name, bytes, share, layers, enters: false });
    }

    fn push(&mut self, piece: Piece<Q>) {
        if piece.bytes.value() * piece.share * piece.layers > 0.0 {
            self.pieces.push(piece);
        }
    }
}

/// Tokens of the largest micro-batch on one context-parallel rank, T = s b / c.
pub fn tokens(scenario: &Scenario) -> f64 {
    scenario.most_tokens_per_rank()
}

/// True where the gathered inputs of column-parallel linears are kept: PyTorch's tensor parallelism keeps them,
/// whatever ZeRO shards; Megatron gathers them again in the backward pass (`tensor_parallel/layers.py`,
/// `LinearWithGradAccumulationAndAsyncCommunication`).
pub(crate) fn keeps_gathered_inputs(scenario: &Scenario) -> bool {
    scenario.runs_pytorch_layers() && scenario.layout.sequence_parallel
}

/// A layer of this scenario as one rank sees it.
pub fn cut<Q: Quantity>(scenario: &Scenario) -> Cut<Q> {
    let (run, layout) = (&scenario.run, &scenario.layout);
    let tp = layout.tp as f64;
    let residual = if layout.sequence_parallel { tp } else { 1.0 };
    let ulysses = layout.cp > 1 && matches!(run.cp_comm, CpComm::Ulysses | CpComm::Hierarchical);
    Cut {
        tokens: TOKENS.of(tokens(scenario)),
        keys: KEYS.of(scenario.attended_tokens()),
        tp: TENSOR.of(tp),
        residual: RESIDUAL.of(residual),
        linear_input: LINEAR_INPUT.of(if keeps_gathered_inputs(scenario) { 1.0 } else { residual }),
        etp: EXPERT_TENSOR.of(layout.etp),
        // A padded capacity is what every expert computes; without one the busiest rank decides.
        routed: IMBALANCE.of(room_of_experts(scenario) * expert_padding(scenario)),
        outputs: OUTPUTS.of(if ulysses || copies_context(scenario) { 2.0 } else { 1.0 }),
        flash: run.runs_flash_attention(),
        swiglu: match scenario.software.fused_swiglu {
            false => Swiglu::Parts,
            true if run.fp8_swiglu && scenario.model.gated_ffn => Swiglu::Fp8Input,
            true => Swiglu::Input,
        },
        fp8: run.fp8_activations,
        quantised: kept_copy(scenario)
            .map(|recipe| Quantised { element: recipe.element, context: recipe.keeps_context }),
        element: scenario.precision.computes.activation(),
    }
}

/// Tokens that an expert rank keeps room for, over the average: a padded capacity, or a rank's, which pages cut down to
/// what came and a tenth. Source: Megatron-LM `transformer_config.py`, `moe_expert_rank_capacity_factor`,
/// `moe_paged_stash_buffer_size_factor_cuda` (1.10).
fn room_of_experts(scenario: &Scenario) -> f64 {
    const STASH: f64 = 1.1;
    let run = &scenario.run;
    match (run.capacity_factor, run.moe_rank_capacity) {
        (Some(padded), _) => padded,
        (None, Some(room)) if run.moe_paged_stash => room.min(STASH * scenario.imbalance()),
        (None, Some(room)) => room,
        (None, None) => scenario.imbalance(),
    }
}

/// The attention output is kept as the kernel wrote it and as the projection reads it: FlashAttention's own kernels put
/// sequences first, and of one sequence both orders are the same.
fn copies_context(scenario: &Scenario) -> bool {
    let software = &scenario.software;
    let flash = [AttentionKernel::Flash2, AttentionKernel::Flash3, AttentionKernel::Flash4];
    let sequences_first = flash.contains(&software.attention);
    software.copies_context && sequences_first && scenario.sequences() > 1
}

/// The recipe in whose copies the inputs of linears wait.
pub(crate) fn kept_copy(scenario: &Scenario) -> Option<&'static PrecisionRecipe> {
    scenario.precision.recipe.filter(|_| scenario.software.keeps_quantised)
}

/// Keys and values that attention keeps over those that were projected: recomputation that keeps every second product
/// keeps those, and repeats them again.
fn repeated_keys(scenario: &Scenario, mixer: Mixer, tp: f64) -> f64 {
    let again = *scenario.run.recomputed() == Recompute::OpSelective;
    let (Some(heads), Some(read)) =
        (scenario.model.attention_heads(mixer), scenario.attended(mixer).filter(|_| !again))
    else {
        return 1.0;
    };
    let on_rank = |heads: u64| (heads as f64 / tp).max(1.0);
    on_rank(read.key_value) / on_rank(heads.key_value)
}

/// Rows of the experts of a rank as a recipe pads them, over those that they get: half of the multiple an expert.
fn expert_padding(scenario: &Scenario) -> f64 {
    let (layout, model) = (&scenario.layout, &scenario.model);
    let (Some(recipe), Some(moe)) = (scenario.precision.recipe, model.moe) else {
        return 1.0;
    };
    let sent = tokens(scenario) * (moe.top_k * layout.etp) as f64;
    let cut = if layout.sequence_parallel { layout.tp as f64 } else { 1.0 };
    let experts = (moe.experts / layout.ep).max(1) as f64;
    1.0 + experts * recipe.rows / 2.0 * cut / sent
}

/// Tensors that global stage `stage` keeps of one micro-batch, its logits not included.
pub fn kept(scenario: &Scenario, stage: usize) -> Kept {
    Layers::of(scenario).kept(stage)
}

/// Tensors that each global stage keeps, worked out once a kind of stage.
#[derive(Clone, Debug)]
pub struct Chunks<Q = f64> {
    kinds: StageKinds,
    kept: Vec<Kept<Q>>,
}

impl<Q: Quantity> Chunks<Q> {
    /// Factors of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        Self::of_kinds(scenario, StageKinds::new(scenario))
    }

    /// Factors of `scenario`, whose stages are of `kinds`.
    pub fn of_kinds(scenario: &Scenario, kinds: StageKinds) -> Self {
        let mut layers = Layers::of(scenario);
        let kept = kinds.sample.iter().map(|stage| layers.kept(*stage));
        Self { kept: kept.collect(), kinds }
    }

    /// True where two ranks hold the same of the same kinds of stages, whatever is in flight.
    pub fn are_alike(&self, one: &RankLoad, other: &RankLoad) -> bool {
        let kind = |stage: &usize| self.kinds.of[*stage];
        let (left, right) = (one.stages.iter().map(kind), other.stages.iter().map(kind));
        one.weight_versions == other.weight_versions && left.eq(right)
    }

    /// Tensors of `stage`.
    pub fn kept(&self, stage: usize) -> &Kept<Q> {
        &self.kept[self.kinds.of[stage]]
    }
}

/// Tensors of layers of each kind, listed once.
struct Layers<'a, Q> {
    scenario: &'a Scenario,
    /// Share of a module's inputs that stays where modules are offloaded: those of the last layer of a stage.
    stays: f64,
    cut: Cut<Q>,
    known: Vec<(LayerKind, bool, Vec<Tensor<Q>>)>,
}

impl<'a, Q: Quantity> Layers<'a, Q> {
    fn of(scenario: &'a Scenario) -> Self {
        Self { scenario, stays: 1.0, cut: cut(scenario), known: Vec::new() }
    }

    /// The tensors of a layer of `kind`, whose linears stay in `bf16` or are quantised.
    fn tensors(&mut self, kind: LayerKind, bf16: bool) -> &[Tensor<Q>] {
        let position = self.known.iter().position(|(known, plain, _)| (*known, *plain) == (kind, bf16));
        let at = position.unwrap_or_else(|| {
            let quantised = self.cut.quantised.filter(|_| !bf16);
            let cut = Cut { quantised, fp8: self.cut.fp8 && !bf16, ..self.cut };
            let mut tensors = layer_inventory(&self.scenario.model, kind, &cut);
            let times = repeated_keys(self.scenario, kind.mixer, cut.tp.value());
            let pairs = tensors.iter_mut();
            for tensor in pairs.filter(|tensor| tensor.role == Role::KeyValue) {
                tensor.bytes = REPEATS.factor::<Q>(times) * tensor.bytes;
            }
            self.known.push((kind, bf16, tensors));
            self.known.len() - 1
        });
        &self.known[at].2
    }

    fn kept(&mut self, stage: usize) -> Kept<Q> {
        let scenario = self.scenario;
        let mut sum = Kept { pieces: Vec::with_capacity(PIECES), recomputed: 0.0, away: 0.0 };
        let layers = layers_of(scenario, stage);
        self.stays = 1.0 / (layers.end - layers.start).max(1) as f64;
        let recomputed = match scenario.run.recompute {
            crate::run::Recompute::Layers(n) => n.min(layers.end - layers.start),
            _ => layers.end - layers.start,
        };
        let split = layers.start + recomputed;
        for (part, position) in [(layers.start..split, 0), (split..layers.end, u64::MAX)] {
            if part.is_empty() {
                continue;
            }
            let policy = LayerRecompute::of(scenario, position);
            for (part, bf16) in scenario.by_precision(part) {
                for (kind, count) in scenario.model.kinds(part).iter() {
                    self.add(&policy, *count as f64, (*kind, bf16), &mut sum);
                }
            }
        }
        if stage == 0 && !scenario.model.vision.is_some_and(|vision| vision.is_apart()) {
            let images = scenario.sequences() as f64
                * scenario.model.vision.map_or(1.0, |vision| {
                    // The fullest micro-batch, as its sizes.
                    vision.largest().images_a_sequence()
                });
            for tensor in vision_inventory(&scenario.model, images, &self.cut) {
                sum.add(tensor.name, tensor.bytes, 1.0, 1.0);
            }
        }
        if scenario.modules_on(stage) > 0 {
            self.prediction(&mut sum);
        }
        sum
    }

    fn add(&mut self, policy: &LayerRecompute, count: f64, of: (LayerKind, bool), sum: &mut Kept<Q>) {
        let mut dropped = 0.0;
        let (scenario, stays) = (self.scenario, self.stays);
        let leaving = scenario.offload.and_then(|offload| offload.activations);
        for tensor in self.tensors(of.0, of.1) {
            let left = policy.kept(tensor.role);
            let share = left * frozen::kept(scenario, tensor.role);
            let stays = if leaving.is_some_and(|leaving| leaves(leaving, tensor.role)) { stays } else { 1.0 };
            dropped += tensor.bytes.value() * (1.0 - left);
            sum.away += tensor.bytes.value() * share * (1.0 - stays) * count;
            let enters = tensor.role == Role::LayerInput;
            let (name, bytes) = (tensor.name, tensor.bytes);
            sum.push(Piece { name, bytes, share: share * stays, layers: count, enters });
        }
        // The last products of attention and FFN write no input of anything that is kept otherwise.
        let cut = &self.cut;
        let output = cut.tokens * HIDDEN.of::<Q>(self.scenario.model.hidden) / cut.residual * cut.element;
        match policy {
            // The compiler's partition of the graph keeps nothing that no backward pass reads.
            LayerRecompute::EverySecondProduct if scenario.software.compile => {}
            LayerRecompute::EverySecondProduct => sum.add("FFN output", output, 1.0, count),
            _ => {}
        }
        sum.recomputed = sum.recomputed.max(dropped);
    }

    /// Each prediction module keeps a layer, the two normalised halves of its projection's input and what they were
    /// before: four times a hidden state, `2 T h` in bf16.
    fn prediction(&mut self, sum: &mut Kept<Q>) {
        let model = &self.scenario.model;
        let modules = model.mtp_modules as f64;
        let kinds = model.module_kinds();
        let bytes = |(kind, count): &(LayerKind, u64)| -> f64 {
            let kept = self.tensors(*kind, false).iter();
            *count as f64 * kept.map(|tensor| tensor.bytes.value()).sum::<f64>()
        };
        let layer: f64 = kinds.iter().map(bytes).sum();
        let cut = &self.cut;
        let element = ELEMENT.of::<Q>(cut.element);
        let projection = element * cut.tokens * HIDDEN.of::<Q>(model.hidden) / cut.residual * 4.0;
        let layer = Q::marked(layer, Provenance::AddedUp).called(MODULE_LAYER);
        sum.add("multi-token prediction", layer + projection, 1.0, modules);
    }
}
