//! The peak of a rank whose gradients are freed after every step: that of its fullest moment.
//!
//! peak = weights + states + max(loss, a layer's backward pass, the optimizer's step)
//!
//! Loss: activations, logits, gradients of earlier micro-batches. Backward pass: activations, everything that one layer
//! computes again with its gradients, gathered and unpacked weights. Step: gradients and one temporary of the size of
//! the trained weights. Source: the slopes and intercepts of fms-acceleration's measured peaks
//! (`public/data/finetune.csv`,
//! `tests/accuracy/finetune.rs`): pure bf16 with Adam takes 6 bytes a parameter between steps and 10 at the
//! optimizer's, whatever the batch.

use super::activations::{Chunks, cut};
use super::holding::{Holding, ShardGroup, head_elements, holdings, kinds_of};
use super::items::{Placed, activation_items, heads_in_flight, library_workspaces, state_items};
use super::logits::{self, eager_kernel};
use super::sharding::{clones, largest_layer, root_elements};
use super::states::{shards, trained_bytes};
use super::transient::largest;
use crate::explain::symbols::{GATHERED, LARGEST_LAYER, LOGIT_PEAK, ROOT};
use crate::explain::{Provenance, Quantity};
use crate::memory::estimate::{Component, Item, RankLoad};
use crate::model::{Biases, LayerKind, layer_elements, linears};
use crate::run::{AdapterMethod, BaseFormat, Optimizer, Recompute, Scenario};

/// A moment of a step at which a rank may be fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeakMoment {
    Loss,
    Backward,
    Step,
}

impl PeakMoment {
    /// All of them, in the order of a step.
    pub const ALL: [Self; 3] = [Self::Loss, Self::Backward, Self::Step];

    /// Words in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Loss => "at the loss",
            Self::Backward => "in a layer's backward pass",
            Self::Step => "at the optimizer's step",
        }
    }
}

/// Everything that is there at the fullest moment.
pub fn items<Q: Quantity>(scenario: &Scenario, chunks: &Chunks<Q>, load: &RankLoad) -> Vec<Placed<Q>> {
    let rank = Rank::new(scenario, chunks, load);
    let mut items: Vec<_> = rank.always().into_iter().map(apart).collect();
    let bytes = |items: &Vec<Placed<Q>>| items.iter().map(|(item, _)| item.bytes.value()).sum::<f64>();
    let fullest = PeakMoment::ALL
        .map(|moment| rank.at(moment))
        .into_iter()
        .fold(Vec::new(), |most, moment| if bytes(&moment) > bytes(&most) { moment } else { most });
    items.extend(fullest);
    items
}

/// Everything that is there at `moment`.
pub fn items_at(scenario: &Scenario, chunks: &Chunks<f64>, load: &RankLoad, moment: PeakMoment) -> Vec<Item<f64>> {
    let rank = Rank::new(scenario, chunks, load);
    rank.always().into_iter().chain(rank.at(moment).into_iter().map(|(item, _)| item)).collect()
}

fn apart<Q>(item: Item<Q>) -> Placed<Q> {
    (item, None)
}

/// Bytes between two steps: weights and states, and gradient shards where FSDP keeps them.
pub fn steady(scenario: &Scenario, load: &RankLoad) -> f64 {
    let chunks = Chunks::<f64>::of(scenario);
    let rank = Rank::new(scenario, &chunks, load);
    let always: f64 = rank.always().iter().map(|item| item.bytes).sum();
    let left = if rank.sharded && scenario.adapter.is_none() { rank.gradients(true) } else { 0.0 };
    always + left
}

/// A rank and its parameters, which may be sharded.
struct Rank<'a, Q> {
    scenario: &'a Scenario,
    chunks: &'a Chunks<Q>,
    load: &'a RankLoad,
    holdings: Vec<Holding>,
    sharded: bool,
}

fn added_up<Q: Quantity>(bytes: f64) -> Q {
    Q::marked(bytes, Provenance::AddedUp)
}

fn gradient_items<Q: Quantity>(bytes: f64) -> Item<Q> {
    Item::held(Component::Gradients, "trained parameters", added_up(bytes))
}

fn buffer<Q: Quantity>(name: &'static str, bytes: f64) -> Placed<Q> {
    apart(Item::buffer(name, added_up(bytes)))
}

fn momentary<Q: Quantity>(name: &'static str, bytes: f64) -> Placed<Q> {
    apart(Item::momentary(name, added_up(bytes)))
}

impl<'a, Q: Quantity> Rank<'a, Q> {
    fn new(scenario: &'a Scenario, chunks: &'a Chunks<Q>, load: &'a RankLoad) -> Self {
        Self {
            scenario,
            chunks,
            load,
            holdings: holdings(scenario, load),
            sharded: scenario.fetches_parameters()
                || scenario.zero.stage == 3 && shards(scenario, ShardGroup::Dense) > 1.0,
        }
    }

    fn always(&self) -> Vec<Item<Q>> {
        let states = state_items(self.scenario, self.load, &self.holdings);
        let lasting = states.filter(|item| item.component != Component::Gradients);
        lasting.chain([library_workspaces(self.scenario)]).chain(clones(self.scenario, &self.holdings)).collect()
    }

    /// Gradients of all that is trained, sharded or whole.
    fn gradients(&self, cut: bool) -> f64 {
        let gradient_bytes = |part: &Holding| {
            let bytes = trained_bytes(self.scenario, part.kind).gradients() * part.elements;
            let leaves = |offload: crate::run::Offload| offload.gradients.is_some();
            if cut && self.scenario.offload.is_some_and(leaves) {
                return 0.0;
            }
            // ZeRO-2 cuts gradients, not weights.
            let cuts = self.sharded || self.scenario.shards_gradients();
            let over = if cut && cuts { shards(self.scenario, part.kind) } else { 1.0 };
            bytes / over
        };
        self.holdings.iter().filter(|part| part.trained).map(gradient_bytes).sum()
    }

    /// Gradients that earlier micro-batches left.
    fn earlier(&self) -> f64 {
        if self.scenario.layout.microbatches <= 1 {
            return 0.0;
        }
        self.gradients(!self.scenario.sums_whole())
    }

    /// True where shards of gradients are added up beside whole weights.
    fn reduces_to_shards(&self) -> bool {
        let scenario = self.scenario;
        scenario.shards_gradients() && !scenario.sums_whole() && shards(scenario, ShardGroup::Dense) > 1.0
    }

    /// Width h of every token of a micro-batch, in bytes.
    fn stream(&self) -> f64 {
        let cut = cut::<f64>(self.scenario);
        cut.element * cut.tokens * self.scenario.model.hidden as f64 / cut.residual
    }

    /// Activations of all micro-batches in flight, and tensors that adapters keep beside them.
    fn activations(&self) -> Vec<Placed<Q>> {
        let mut items: Vec<Placed<Q>> = activation_items(self.scenario, self.chunks, self.load).collect();
        let stays = |adapter: &crate::run::Adapter| adapter.base.is_some_and(BaseFormat::stays_unpacked);
        if self.scenario.adapter.as_ref().is_some_and(stays) && *self.scenario.run.recomputed() != Recompute::Full {
            let stages = self.load.stages.iter();
            let layers: u64 = stages.map(|stage| self.layers(*stage)).sum();
            let bytes = layers as f64 * self.matrices()[1];
            items.push(buffer("unpacked weights", bytes));
        }
        if *self.scenario.run.recomputed() != Recompute::Full {
            let kinds = self.load.stages.iter();
            let kinds = kinds.flat_map(|stage| kinds_of(self.scenario, *stage).to_vec());
            let bytes = kinds.map(|(kind, layers)| layers as f64 * self.scaled_outputs(kind));
            items.push(buffer("outputs before the magnitudes", bytes.sum()));
        }
        items
    }

    /// True of DeepSpeed's stage 3, which has master weights beside its shards, and gathers and reduces each module by
    /// itself. Source: DeepSpeed edaa722 `runtime/zero/partitioned_param_coordinator.py` (`release_sub_module`),
    /// `stage3.py:1321` (a gradient that is larger than the bucket is reduced at once).
    fn by_deepspeed(&self) -> bool {
        let scenario = self.scenario;
        self.sharded && scenario.software.of_hub && scenario.adapter.is_none() && scenario.precision.master > 0.0
    }

    /// The unit of FSDP that holds embedding and head; where they are units of their own the head, which is whole for
    /// the `loss` alone (torchtune `custom_sharded_layers`; DeepSpeed).
    fn root(&self, loss: bool) -> Option<Placed<Q>> {
        let elements = if self.scenario.software.ends_apart || self.by_deepspeed() {
            f64::from(u8::from(loss)) * head_elements(self.scenario)
        } else {
            root_elements(&self.holdings)
        };
        let bytes = GATHERED.of::<Q>(self.scenario.precision.gathered_weight()) * ROOT.of::<Q>(elements);
        self.sharded.then(|| apart(Item::buffer("gathered embedding and head", bytes)))
    }

    /// Bytes that eager norms keep in fp32 beside their input.
    fn eager_norm(&self) -> f64 {
        let software = &self.scenario.software;
        if software.fused_kernels || software.compile { 0.0 } else { 2.0 * self.stream() }
    }

    fn at(&self, moment: PeakMoment) -> Vec<Placed<Q>> {
        match moment {
            PeakMoment::Loss => self.loss(),
            PeakMoment::Backward => self.backward(),
            PeakMoment::Step => self.step(),
        }
    }

    fn loss(&self) -> Vec<Placed<Q>> {
        let mut items = self.activations();
        let heads = heads_in_flight(self.scenario, self.load);
        if heads > 0.0 {
            let kernel = self.loss_bytes();
            let inputs = logits::inputs(self.scenario, heads) + heads * self.eager_norm() / 2.0;
            let logits = LOGIT_PEAK.of::<Q>(kernel) * logits::logits::<Q>(self.scenario);
            items.extend([apart(Item::buffer("logits", logits)), buffer("inputs of the head", inputs)]);
        }
        items.push(apart(gradient_items(self.earlier())));
        items.extend(self.root(true));
        if self.sharded && self.scenario.learnt.compares() {
            let unit = LARGEST_LAYER.of::<Q>(largest_layer(self.scenario, self.load));
            let gathered = GATHERED.of::<Q>(self.scenario.gathered_weight()) * unit * 2.0;
            items.push(apart(Item::momentary("gathered layers", gathered)));
        }
        items
    }

    /// Bytes a logit at the fullest moment of the loss: its backward pass, or the pass of another model before it.
    fn loss_bytes(&self) -> f64 {
        let own = eager_kernel(self.scenario).value;
        if self.scenario.learnt.compares() { own.max(logits::compared(self.scenario).value) } else { own }
    }

    fn backward(&self) -> Vec<Placed<Q>> {
        let scenario = self.scenario;
        let mut items = self.activations();
        let heads = heads_in_flight(scenario, self.load);
        // Nothing of the loss is left but the gradient of its input, and what the first layer's pass leaves of the
        // head's.
        let first = scenario.layout.microbatches <= 1;
        let width = match () {
            () if heads <= 0.0 || !self.trains_head() || self.by_deepspeed() => 0.0,
            // FSDP2 reduces it with the root, at the end of each backward pass.
            () if self.sharded && !scenario.sums_whole() => scenario.precision.gathered_weight(),
            // ZeRO-2 adds it up in shards, and has it whole until it is reduced.
            () if first || self.reduces_to_shards() => trained_bytes(scenario, ShardGroup::Dense).gradients(),
            () => 0.0,
        };
        let head = width * head_elements(scenario);
        items.push(apart(gradient_items(self.earlier() + head)));
        items.extend(self.root(false));
        let recomputed = self.load.stages.iter().map(|stage| self.chunks.kept(*stage).recomputed);
        let recomputed = recomputed.fold(0.0, f64::max);
        let norms = if recomputed > 0.0 { 2.0 * self.eager_norm() } else { 0.0 };
        let outputs =
            if recomputed > 0.0 { self.kinds().map(|kind| self.scaled_outputs(kind)).fold(0.0, f64::max) } else { 0.0 };
        items.push(momentary("recomputed layer", recomputed + norms + outputs));
        if recomputed > 0.0 {
            let [copies, largest] = self.copied_experts();
            items.push(momentary("copies of indexed experts", copies + largest));
        }
        let exchange = if scenario.software.of_hub { 0.0 } else { largest::<f64>(scenario, &self.load.stages).1 };
        items.push(momentary("gradients inside a layer", self.inside().max(exchange)));
        items.push(momentary("unpacked weights", self.unpacked()));
        if self.sharded {
            let unit = LARGEST_LAYER.of::<Q>(largest_layer(scenario, self.load));
            let gathered = GATHERED.of::<Q>(scenario.gathered_weight()) * unit * 2.0;
            items.push(apart(Item::momentary("gathered layers", gathered)));
            if scenario.adapter.is_none() {
                let gradient = GATHERED.of::<Q>(scenario.precision.gathered_weight()) * unit;
                items.push(apart(Item::momentary("gradients being reduced", gradient)));
                items.extend(self.other_streams(unit));
            }
            items.extend(self.boundaries());
        }
        items
    }

    /// What FSDP2 holds of a layer beside itself, `2 w U`: the input of the reduce-scatter of the layer before until
    /// the next one begins, and the flat result of an all-gather, whose blocks belong to a stream of its own, so that
    /// nothing else takes them (in the forward pass two are there at once). Where parameters come from the host, `2 w
    /// U/N` more: the shard on its way in and that of the gradient on its way out. DeepSpeed, which keeps master
    /// weights beside its shards, has buckets instead. Source: PyTorch 002a76f `_fully_shard/_fsdp_param_group.py`
    /// (`reduce_scatter_state`, `wait_for_unshard`), `_fsdp_param.py` (`all_gather_inputs`), `_fsdp_collectives.py`
    /// (`foreach_reduce`).
    fn other_streams(&self, unit: Q) -> Option<Placed<Q>> {
        let scenario = self.scenario;
        let second = scenario.software.of_hub && !scenario.sums_whole() && scenario.precision.master == 0.0;
        let shards = if scenario.fetches_parameters() { 1.0 / shards(scenario, ShardGroup::Dense) } else { 0.0 };
        let bytes = GATHERED.of::<Q>(scenario.precision.gathered_weight()) * unit * (2.0 + 2.0 * shards);
        second.then(|| apart(Item::momentary("buffers of FSDP2's streams", bytes)))
    }

    /// Experts that are in one parameter and are taken by an index, in the backward pass of a layer: a copy of each
    /// that a token visits, `w E`, and, where they are trained, a gradient as large as the larger of the two
    /// parameters, which the passes of single experts add to another. Models whose experts are modules of their own
    /// have none. Source: transformers 4.55.2 `modeling_gpt_oss.py` (`self.gate_up_proj[expert_idx]`).
    fn copied_experts(&self) -> [f64; 2] {
        let (scenario, model, layout) = (self.scenario, &self.scenario.model, &self.scenario.layout);
        // gpt-oss is the model with sinks and biases everywhere.
        if !scenario.software.of_hub || !model.sinks || model.biases != Biases::All {
            return [0.0; 2];
        }
        let experts = |kind| layer_elements(model, kind).experts_per_rank(layout.ep, layout.etp);
        let copies = scenario.precision.gathered_weight() * self.kinds().map(experts).fold(0.0, f64::max);
        let trained = if scenario.adapter.is_none() { 1.0 } else { 0.0 };
        let up = if model.gated_ffn { 2.0 } else { 1.0 };
        [copies, trained * copies * up / (up + 1.0)]
    }

    fn trains_head(&self) -> bool {
        self.scenario.adapter.is_none()
    }

    /// With FSDP the gradients of the layers' outputs stay until the backward pass of the model ends, in place of that
    /// of one layer: peaks over tokens rise by `4 h L`, not `2 h L`, and by 4 h less a layer.
    fn boundaries(&self) -> Option<Placed<Q>> {
        // Measured under Hugging Face's Trainer with FSDP 1 alone.
        let trainer = self.scenario.software.of_hub && self.scenario.sums_whole();
        let full = self.scenario.run.recompute == Recompute::Full && trainer;
        let layers: u64 = self.load.stages.iter().map(|stage| self.layers(*stage)).sum();
        let bytes = (layers.saturating_sub(2)) as f64 * self.stream();
        full.then(|| momentary("gradients between layers", bytes))
    }

    fn layers(&self, stage: usize) -> u64 {
        kinds_of(self.scenario, stage).iter().map(|(_, count)| *count).sum()
    }

    fn kinds(&self) -> impl Iterator<Item = LayerKind> + '_ {
        let stages = self.load.stages.iter();
        stages.flat_map(|stage| kinds_of(self.scenario, *stage).to_vec()).map(|(kind, _)| kind)
    }

    /// The gradient of a layer's output and, where the activated gate meets the up projection, those of both and of
    /// their product: `T (2 h + 6 f)`; of Hugging Face's experts one after the other.
    fn inside(&self) -> f64 {
        let (scenario, model, cut) = (self.scenario, &self.scenario.model, cut::<f64>(self.scenario));
        let tensors = if model.gated_ffn { 3.0 } else { 2.0 };
        let width = self.kinds().map(|kind| {
            let dense = if kind.ffn.is_dense() { model.ffn as f64 / cut.tp } else { 0.0 };
            let routed = model.moe.filter(|_| kind.ffn.is_routed()).map_or(0.0, |moe| {
                let apart = scenario.software.of_hub;
                let experts = if apart { moe.experts as f64 / scenario.layout.ep as f64 } else { 1.0 };
                (moe.top_k * moe.expert_ffn) as f64 * cut.routed / experts / cut.etp
            });
            dense + routed
        });
        let width = width.fold(0.0, f64::max);
        self.stream() + tensors * cut.element * cut.tokens * width
    }

    /// Output of the base where `DoRA` scales it by a magnitude, whose gradient reads it: `2 T out` of each adapted
    /// linear. Source: PEFT `lora/dora.py` (`base_result`).
    fn scaled_outputs(&self, kind: LayerKind) -> f64 {
        let adapter = self.scenario.adapter.as_ref();
        let Some(adapter) = adapter.filter(|own| own.method == AdapterMethod::Dora) else {
            return 0.0;
        };
        let (model, cut) = (&self.scenario.model, cut::<f64>(self.scenario));
        let visited = model.moe.map_or(1, |moe| moe.top_k);
        let each = adapter.beside(model, kind).into_iter().map(|linear| {
            let rows = if linear.experts.is_some() { visited } else { 1 };
            (rows * linear.output) as f64
        });
        cut.element * cut.tokens * each.sum::<f64>() / cut.tp
    }

    /// The largest matrix of a layer in 16 bits, and all of the largest layer.
    fn matrices(&self) -> [f64; 2] {
        let (model, layout) = (&self.scenario.model, &self.scenario.layout);
        let width = self.scenario.precision.computes.activation() / layout.tp as f64;
        let sizes = |kind| {
            let each = linears(model, kind).into_iter();
            each.fold([0.0; 2], |[largest, sum]: [f64; 2], linear| {
                let one = width * linear.elements() as f64;
                let experts = linear.experts.unwrap_or(1) as f64 / layout.ep as f64;
                [largest.max(one), sum + one * experts.max(1.0)]
            })
        };
        let layers = self.kinds().map(sizes);
        layers.fold([0.0; 2], |[matrix, layer]: [f64; 2], one| [matrix.max(one[0]), layer.max(one[1])])
    }

    /// The largest matrix of a quantised base in 16 bits, all of a layer where they stay; DoRA forms `W + B A` and
    /// keeps both while it norms the rows.
    fn unpacked(&self) -> f64 {
        let Some(adapter) = &self.scenario.adapter else {
            return 0.0;
        };
        let [matrix, layer] = self.matrices();
        let base = match adapter.base {
            Some(base) if base.stays_unpacked() => layer,
            Some(_) if !adapter.is_read_by(self.scenario.precision) => matrix,
            _ => 0.0,
        };
        let sums = if adapter.method == AdapterMethod::Dora { 2.0 * matrix } else { 0.0 };
        base + sums
    }

    /// Gradients, and a temporary as large as the trained weights that the rank updates: PyTorch's multi-tensor Adam.
    /// torchtune's recipes fuse it (`fused: True`), `GaLore`'s own Adam takes one parameter after the other (its
    /// `adamw.py`).
    fn step(&self) -> Vec<Placed<Q>> {
        if self.scenario.offload.is_some_and(|offload| offload.states() > 0.0) {
            return Vec::new();
        }
        let weight_bytes = |part: &Holding| {
            let bytes = trained_bytes(self.scenario, part.kind).weights * part.elements;
            let over = if self.scenario.zero.stage >= 1 { shards(self.scenario, part.kind) } else { 1.0 };
            bytes / over
        };
        let trained = self.holdings.iter().filter(|part| part.trained);
        let singly = self.scenario.software.trains_bf16 || self.scenario.run.optimizer == Optimizer::GaLore;
        let temporary = if singly { 0.0 } else { trained.map(weight_bytes).sum() };
        vec![apart(gradient_items(self.gradients(true))), momentary("temporaries of the optimizer", temporary)]
    }
}
