//! Tensors that ZeRO-2, ZeRO-3 and FSDP gather and scatter beside the shards that stay.

use super::holding::{Holding, ModelEnd, ShardGroup, head_elements, holdings, is_last, kinds_of};
use super::states::shards;
use crate::explain::symbols::{
    BUCKET, CLONED_SHARE, ELEMENTS, EXPERTS_OF_LAYER, GATHERED, GRADIENT, HEAD, LARGEST_LAYER, LARGEST_WEIGHT,
    QUANTISED, ROOT, SECOND_SHARDS, STORED_LINEARS, TWO_CHUNKS,
};
use crate::explain::{Quantity, Symbol};
use crate::memory::estimate::{Item, RankLoad};
use crate::model::layer_elements;
use crate::run::{Reduction, Scenario};

/// Elements of the largest layer on the rank, the unit that FSDP gathers.
pub(crate) fn largest_layer(scenario: &Scenario, load: &RankLoad) -> f64 {
    let layout = &scenario.layout;
    load.stages
        .iter()
        .flat_map(|stage| kinds_of(scenario, *stage).to_vec())
        .map(|(kind, _)| {
            let layer = layer_elements(&scenario.model, kind);
            layer.dense_per_rank(&scenario.model, layout.tp) + layer.experts_per_rank(layout.ep, layout.etp)
        })
        .fold(0.0, f64::max)
}

/// Elements of the root unit: embedding, head and final norm.
pub(crate) fn root_elements(holdings: &[Holding]) -> f64 {
    let root = |part: &&Holding| part.end.is_some() && !part.kind.is_adapter();
    holdings.iter().filter(root).map(|part| part.elements).sum()
}

/// Elements of the two largest chunks on the rank: the gradients of one accumulate over a group of micro-batches while
/// those of another are reduced. Source: Llama 3, section 3.3.2 (FSDP shards gradients, N micro-batches of a stage in a
/// row); PyTorch FSDP2 `set_requires_gradient_sync` on the last of them.
pub(crate) fn accumulating(scenario: &Scenario, load: &RankLoad) -> f64 {
    let chunk = |stage: &usize| -> f64 {
        let alone = RankLoad { stages: vec![*stage], in_flight: vec![0.0], weight_versions: 1 };
        let parts = holdings(scenario, &alone);
        let trained = parts.iter().filter(|part| part.trained);
        trained.map(|part| part.elements).sum()
    };
    let (mut most, mut next) = (0.0, 0.0);
    for elements in load.stages.iter().map(chunk) {
        if elements > most {
            (most, next) = (elements, most);
        } else if elements > next {
            next = elements;
        }
    }
    most + next
}

/// Bytes a weight that gathered linears take beside themselves: their quantised copies, unless those are what is kept
/// or each product makes its own (torchao).
pub(crate) fn gathered_copies(scenario: &Scenario) -> f64 {
    let apart = scenario.software.keeps_quantised && !scenario.precision.param_gather;
    if apart { scenario.precision.copies(&scenario.gpu) } else { 0.0 }
}

/// The momentary part of sharding on one rank.
///
/// ZeRO-2: gradients of one layer while those of the layer before are reduced, `2 g U`, and the head's, `w R_head`;
/// reduced by groups of micro-batches, those of the chunk that accumulates and of the one before it, `g A`; none once a
/// step. ZeRO-3: two gathered layers (one where a rank has no more) with the quantised copies of one, and the root unit
/// (embedding and head, whole for the step), `(2 w + q) U + w R`, the gradients of a layer in compute precision with
/// the one before in the reduce-scatter, `(w + g) U`, and the head's, `w R_head`: with a pipeline as without where
/// every micro-batch gathers and reduces. FSDP under a pipeline adds up whole gradients until the last micro-batch, `g
/// P` in the format of the reduction, and ZeRO-3 keeps its weights gathered, `w P + q L`
/// ([`Scenario::waits_for_last_microbatch`]); with their shards beside them torchtitan's peaks of 405B are met to 3 %
/// on average, without to 7. Source: PyTorch FSDP2 `_fsdp_param_group.py` (`to_accumulated_grad_if_needed`).
///
/// Double buffers of Megatron-FSDP stay: two gathered layers and the gradients of two in the format of the reduction,
/// `(2 w + q) U + 2 g U`. Units of unequal size take the largest, as its `MaxPoolAllocator` does; its
/// `FixedPoolAllocator` makes those of rarer sizes for each layer instead. Source: Megatron-LM d98e8a6,
/// `megatron_fsdp/param_and_grad_buffer.py:2524` (`UB_BUFFER_NUM`).
pub fn buffers<Q: Quantity>(scenario: &Scenario, load: &RankLoad, holdings: &[Holding]) -> Vec<Item<Q>> {
    let beside = host_bucket(scenario, holdings).into_iter().chain(clones(scenario, holdings));
    let fetched = scenario.fetches_parameters();
    if shards(scenario, ShardGroup::Dense) <= 1.0 && shards(scenario, ShardGroup::Expert) <= 1.0 && !fetched {
        return beside.collect();
    }
    let precision = scenario.precision;
    let unit = LARGEST_LAYER.of::<Q>(largest_layer(scenario, load));
    // Two layers, or all that a rank has.
    let inner = holdings.iter().filter(|part| part.end.is_none() && !part.kind.is_adapter());
    let two = (unit * 2.0).min(ELEMENTS.of::<Q>(inner.map(|part| part.elements).sum::<f64>()));
    let (w, again) = (GATHERED.of::<Q>(scenario.gathered_weight()), QUANTISED.summand::<Q>(gathered_copies(scenario)));
    // The gradients of a frozen base do not exist, those of adapters are small.
    let reduced = |symbol: Symbol, bytes: f64| {
        if scenario.adapter.is_some() { Q::number(0.0) } else { symbol.of::<Q>(bytes) }
    };
    let g = reduced(GRADIENT, precision.reduced());
    let scattered = reduced(GATHERED, precision.gathered_weight());
    // What is not sharded is whole among the states.
    let cut = |part: &&Holding| shards(scenario, part.kind) > 1.0;
    let sum = |part: fn(&Holding) -> f64| holdings.iter().filter(cut).map(part).sum::<f64>();
    let elements = || ELEMENTS.of::<Q>(sum(|part| part.elements));
    let waiting = || {
        // A step of one micro-batch adds nothing up.
        let several = scenario.layout.microbatches > 1;
        let bytes = if several { reduced(GRADIENT, precision.accumulated()) } else { scattered };
        Item::buffer("gradients waiting for the last micro-batch", bytes * elements())
    };
    let last = load.stages.iter().any(|stage| is_last(scenario, *stage));
    let head = if last { head_elements(scenario) } else { 0.0 };
    let mut list = match scenario.zero.stage {
        2 if scenario.waits_for_last_microbatch() => vec![waiting()],
        2 => match scenario.reduction() {
            Reduction::MicroBatch if scenario.run.keeps_double_buffers() => vec![
                Item::buffer("double buffers of gradients", g * two),
                Item::momentary("gradient of the head", scattered * HEAD.of::<Q>(head)),
            ],
            Reduction::MicroBatch => vec![
                Item::momentary("gradients being reduced", g * two),
                Item::momentary("gradient of the head", scattered * HEAD.of::<Q>(head)),
            ],
            Reduction::Group => {
                let two = TWO_CHUNKS.of::<Q>(accumulating(scenario, load));
                let summed = reduced(GRADIENT, precision.accumulated());
                vec![Item::buffer("gradients of a group of micro-batches", summed * two)]
            }
            Reduction::Step => Vec::new(),
        },
        3 if scenario.waits_for_last_microbatch() => {
            let copies = again * STORED_LINEARS.summand::<Q>(sum(|part| part.linears));
            vec![Item::buffer("gathered weights of the stage", w * elements() + copies), waiting()]
        }
        3 if scenario.run.shards_weights() => weight_shards(scenario, load, holdings),
        3 if scenario.run.keeps_double_buffers() => vec![
            Item::buffer("double buffers of gathered layers", w * two + again * unit),
            Item::buffer("gathered embedding and head", gathered_root(scenario, holdings)),
            Item::buffer("double buffers of gradients", g * two),
            Item::momentary("gradient of the head", scattered * HEAD.of::<Q>(head)),
        ],
        3 => vec![
            Item::momentary("gathered layers", w * two + again * unit),
            Item::buffer("gathered embedding and head", gathered_root(scenario, holdings)),
            Item::momentary("gradients being reduced", scattered * unit + g * (two - unit)),
            Item::momentary("gradient of the head", scattered * HEAD.of::<Q>(head)),
        ],
        _ => Vec::new(),
    };
    list.extend(second_copy(scenario, holdings));
    list.extend(beside);
    list
}

/// A copy of the weights over fewer ranks. Source: `ZeRO`++, section 3.2.
fn second_copy<Q: Quantity>(scenario: &Scenario, holdings: &[Holding]) -> Option<Item<Q>> {
    let ranks = scenario.second_copy()?;
    let within = scenario.zero.experts_within(ranks);
    let [dense, experts] = [(false, ranks), (true, within)].map(|(routed, ranks)| {
        let parts = holdings.iter().filter(|part| (part.kind == ShardGroup::Expert) == routed);
        ELEMENTS.summand::<Q>(parts.map(|part| part.elements).sum::<f64>()) / SECOND_SHARDS.of::<Q>(ranks)
    });
    let weight = GATHERED.of::<Q>(scenario.gathered_weight());
    Some(Item::buffer("second copy of the weights (hpZ)", weight * (dense + experts)))
}

/// Buffers of weight shards above tensor parallelism: gathered weights, one for each shape of a linear, of experts one
/// more because theirs are gathered a block ahead; embedding and head; whole gradients of the largest weight, two under
/// way. Source: Megatron-LM d98e8a6, docs/api-guide/core/generalized_tensor_parallel.md, "Buffer / memory management"
/// and section 3.4.
fn weight_shards<Q: Quantity>(scenario: &Scenario, load: &RankLoad, holdings: &[Holding]) -> Vec<Item<Q>> {
    let layout = &scenario.layout;
    let kinds = load.stages.iter().flat_map(|stage| kinds_of(scenario, *stage).to_vec());
    let [mut dense, mut experts] = [0.0f64; 2];
    for (kind, _) in kinds {
        let layer = layer_elements(&scenario.model, kind);
        dense = dense.max(layer.dense_per_rank(&scenario.model, layout.tp));
        experts = experts.max(layer.experts_per_rank(layout.ep, layout.etp));
    }
    let cut = |kind: ShardGroup| shards(scenario, kind) > 1.0;
    let [dense, experts] = [(dense, ShardGroup::Dense), (experts, ShardGroup::Expert)]
        .map(|(size, kind)| if cut(kind) { size } else { 0.0 });
    let w = GATHERED.of::<Q>(scenario.sent_weight());
    let gathered = LARGEST_LAYER.of::<Q>(dense) + EXPERTS_OF_LAYER.summand::<Q>(experts) * 2.0;
    let largest = holdings.iter().filter(|part| part.trained && cut(part.kind)).map(|part| {
        let end = matches!(part.end, Some(ModelEnd::Embedding | ModelEnd::Head));
        if end { part.elements } else { part.largest_matrix }
    });
    let largest = LARGEST_WEIGHT.of::<Q>(largest.fold(0.0, f64::max));
    let mut list = vec![
        Item::buffer("gathered weights, one a shape", w * gathered),
        Item::buffer("whole weight gradients", GRADIENT.of::<Q>(scenario.precision.accumulated()) * largest * 2.0),
    ];
    if cut(ShardGroup::Dense) {
        list.push(Item::buffer("gathered embedding and head", gathered_root(scenario, holdings)));
    }
    list
}

/// Clones of experts with their gradients, `c/n P (w + g)` for c slots beside n experts of a rank, in every layer.
pub(super) fn clones<Q: Quantity>(scenario: &Scenario, holdings: &[Holding]) -> Option<Item<Q>> {
    let (slots, moe) = (scenario.clones()?, scenario.model.moe?);
    let experts = holdings.iter().filter(|part| part.kind == ShardGroup::Expert).map(|part| part.elements).sum::<f64>();
    let share = slots as f64 * scenario.layout.ep as f64 / moe.experts as f64;
    let bytes = GATHERED.of::<Q>(scenario.precision.gathered_weight()) + GRADIENT.of::<Q>(scenario.reduced_gradient());
    Some(Item::buffer("clones of experts", CLONED_SHARE.of::<Q>(share) * ELEMENTS.of::<Q>(experts) * bytes))
}

/// Bytes of the root unit, whole.
pub(crate) fn gathered_root<Q: Quantity>(scenario: &Scenario, holdings: &[Holding]) -> Q {
    GATHERED.of::<Q>(scenario.precision.gathered_weight()) * ROOT.of::<Q>(root_elements(holdings))
}

/// Gradients on their way to the host: a bucket of them. Source: DeepSpeed, `reduce_bucket_size` 5e8.
fn host_bucket<Q: Quantity>(scenario: &Scenario, holdings: &[Holding]) -> Option<Item<Q>> {
    let offload = scenario.offload?;
    offload.gradients?;
    let trained = holdings.iter().filter(|part| part.trained);
    let elements = ELEMENTS.of::<Q>(trained.map(|part| part.elements).sum::<f64>());
    let bytes = elements.min(BUCKET.of(HOST_BUCKET)) * GRADIENT.of::<Q>(scenario.trained_bytes().grads);
    let sharded = scenario.zero.stage == 3;
    (!sharded).then(|| Item::buffer("gradients on their way to the host", bytes))
}

/// Elements of a bucket.
const HOST_BUCKET: f64 = 5e8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryMethod;
    use crate::memory::detailed::Detailed;
    use crate::run::{Based, Run};

    fn load() -> RankLoad {
        RankLoad { stages: vec![0], in_flight: vec![1.0], weight_versions: 1 }
    }

    fn fsdp(gpus: u64) -> Run {
        Run { gpus, tp: 1, pp: 1, zero: 3, precision: Based::preset("fsdp-mixed"), ..Run::default() }
    }

    /// Torchtitan, Llama-3.1-8B: from 8 to 128 GPUs the shards shrink by 16 · 8.03 B (1/8 − 1/128) = 14.0 GiB, and
    /// what is gathered stays.
    #[test]
    fn sixteen_times_the_ranks_leave_14_gib_less_of_shards() {
        let memory = |gpus| {
            let scenario = Scenario::new(&fsdp(gpus)).unwrap();
            Detailed.estimate(&scenario, &[load()]).per_stage.remove(0)
        };
        let (few, many) = (memory(8), memory(128));
        assert!((few.allocated().gib() - many.allocated().gib() - 14.0).abs() < 0.05);
        assert_eq!(few.buffers, many.buffers);
    }

    /// A pool of two units each, of gathered weights and of gradients (Megatron-LM d98e8a6 `param_and_grad_buffer.py`,
    /// `UB_BUFFER_NUM = 2`): a layer of Llama 3.1 8B has 2 h² + 2 h h/4 + 3 h f + 2 h elements.
    #[test]
    fn double_buffers_hold_two_layers_and_the_gradients_of_two() {
        let (h, f) = (4096.0, 14_336.0);
        let unit = 2.5 * h * h + 3.0 * h * f + 2.0 * h;
        let items = |fsdp_double_buffer, zero| {
            let run = Run { gpus: 64, tp: 1, pp: 1, zero, fsdp_double_buffer, ..Run::default() };
            let scenario = Scenario::new(&run).unwrap();
            let list = buffers::<f64>(&scenario, &load(), &holdings(&scenario, &load()));
            let pool = |name: &str| list.iter().find(|item| item.name == name).map(|item| item.bytes);
            let all: f64 = list.iter().map(|item| item.bytes).sum();
            (pool("double buffers of gathered layers"), pool("double buffers of gradients"), all, scenario)
        };
        let (weights, gradients, all, scenario) = items(true, 3);
        let [w, g] = [scenario.precision.gathered_weight(), scenario.precision.reduced()];
        assert!((weights.unwrap() / (2.0 * w * unit) - 1.0).abs() < 1e-12 && (w - 2.0).abs() < 1e-12);
        assert!((gradients.unwrap() / (2.0 * g * unit) - 1.0).abs() < 1e-12, "{gradients:?} {g}");
        let (none, no_gradients, without, _) = items(false, 3);
        assert_eq!((none, no_gradients), (None, None));
        assert!((all - without - (g - w) * unit).abs() < 1.0, "{all} {without}");
        // ZeRO-2 gathers no weights.
        assert!(items(true, 2).0.is_none() && items(true, 2).1 == gradients && items(true, 1).1.is_none());
    }

    /// Over N ranks, P parameters in v equal chunks and g bytes a gradient: a shard g P/N beside two layers for every
    /// micro-batch, beside two chunks for groups, and g P once a step, which is ZeRO-1 (PyTorch issue 102532:
    /// `SHARD_GRAD_OP` with `no_sync`).
    #[test]
    fn a_later_reduction_of_zero_2_holds_more_gradients() {
        let mut model: Based<crate::run::ModelParts> = Based::preset("llama-3.1-8b");
        // Inner stages of equal layers, without what the ends hold besides.
        model.parts.layers = Some(64);
        let run = |zero, zero2_reduce| Run {
            model: model.clone(),
            zero,
            zero2_reduce: Some(zero2_reduce),
            schedule: crate::run::Schedule::Interleaved,
            virtual_stages: 4,
            ..Run::default()
        };
        let load = RankLoad { stages: vec![1, 5, 9, 13], in_flight: vec![1.0; 4], weight_versions: 1 };
        let figures = |run: &Run| {
            let scenario = Scenario::new(run).unwrap();
            let rank = crate::memory::detailed::rank_memory(&scenario, 1, &load);
            let reduced: f64 = rank
                .items
                .iter()
                .filter(|item| item.component == crate::memory::Component::Buffers)
                .filter(|item| item.name.starts_with("gradients"))
                .map(|item| item.bytes.0)
                .sum();
            (rank.gradients.0, reduced, rank.total)
        };
        // A layer of Llama 3.1 8B, 218.1 M parameters, of which norms are whole on both tensor-parallel ranks.
        let layer = (218_112_000.0 - 8_192.0) / 2.0 + 8_192.0;
        let (g, n, p) = (4.0, 8.0, 16.0 * layer);
        let near = |ours: f64, theirs: f64| assert!((ours / theirs - 1.0).abs() < 1e-12);
        for (reduction, held, buffer) in [
            (Reduction::MicroBatch, g * p / n, 2.0 * g * layer),
            (Reduction::Group, g * p / n, 2.0 * g * p / 4.0),
            (Reduction::Step, g * p, 0.0),
        ] {
            let (gradients, reduced, total) = figures(&run(2, reduction));
            near(gradients, held);
            near(reduced + 1.0, buffer + 1.0);
            let first = figures(&run(1, Reduction::MicroBatch)).2;
            assert_eq!(total == first, reduction == Reduction::Step);
        }
    }

    /// ZeRO++, section 3.2: the secondary copy takes 2 P/8 bytes of each of a node's eight GPUs.
    #[test]
    fn a_second_copy_takes_its_share_of_the_weights() {
        let buffers = |zero_hpz| {
            let run = Run { zero_hpz, precision: Based::preset("bf16"), ..fsdp(64) };
            Detailed.estimate(&Scenario::new(&run).unwrap(), &[load()]).per_stage.remove(0).buffers.0
        };
        let copy = buffers(Some(8)) - buffers(None);
        assert!((copy / (2.0 * 8_030_261_248.0 / 8.0) - 1.0).abs() < 1e-9, "{copy}");
    }

    /// A model of 70.55 B on 64 GPUs without a pipeline, bf16 with fp32 gradients: `P/(t g) (6 + 12/(d c))`, d without
    /// the ranks of the shards, is 61.6 GiB at t 8 as at g 8, 37.0 at g 16, 18.5 at g 64, which is ZeRO-3.
    #[test]
    fn weight_shards_hold_what_their_formula_says() {
        let states = |run: Run| {
            let memory = Detailed.estimate(&Scenario::new(&run).unwrap(), &[load()]).per_stage.remove(0);
            memory.weights.gib() + memory.gradients.gib() + memory.optimizer.gib()
        };
        let base = Run {
            model: Based::preset("llama-3.1-70b"),
            stack: Based::preset("megatron-2026"),
            tp: 1,
            pp: 1,
            zero: 1,
            global_batch: 64,
            ..Run::default()
        };
        let cut = |weight_shards| Run { weight_shards, ..base.clone() };
        for (run, gib) in [(Run { tp: 8, ..base.clone() }, 61.6), (cut(8), 61.6), (cut(16), 37.0), (cut(64), 18.5)] {
            let ours = states(run);
            assert!((ours / gib - 1.0).abs() < 0.005, "{ours} of {gib}");
        }
        // One rank of each weight is none: the same to the last byte.
        assert!((states(cut(1)) - states(base.clone())).abs() < 1e-12);
        let whole = states(Run { zero: 3, ..base.clone() });
        assert!((states(cut(64)) / whole - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_hsdp_group_shards_and_the_rest_replicates() {
        let run = Run { hsdp_shard: Some(8), ..fsdp(128) };
        let scenario = Scenario::new(&run).unwrap();
        let group = Detailed.estimate(&scenario, &[load()]).per_stage.remove(0);
        let small = Scenario::new(&fsdp(8)).unwrap();
        let alone = Detailed.estimate(&small, &[load()]).per_stage.remove(0);
        assert_eq!(group.optimizer, alone.optimizer);
    }

    #[test]
    fn nothing_is_gathered_where_nothing_is_sharded() {
        let scenario = Scenario::new(&fsdp(1)).unwrap();
        let list = holdings(&scenario, &load());
        assert!(buffers::<f64>(&scenario, &load(), &list).is_empty());
    }
}
