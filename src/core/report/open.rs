//! Settings that a Run leaves open although they move its step: each with another value that software of its kind
//! takes, and the probability that a run which does not state the setting has that other value.
//!
//! The probabilities are judgement but those of graphs and of overlapped experts, which are counts of published recipes
//! (`tests/accuracy/recipes.rs`). `u² = Σ p (1 − p) (ln T'/T)²`.

use crate::run::presets::{GpuFamily, Peers, Trainer};
use crate::run::{AttentionKernel, EpOverlap, GraphPart, MoeDispatch, Run, Scenario};
use crate::time::Products;

/// Settings that are tried at most.
pub(super) const MOST_OPEN: usize = 5;
/// Share of Megatron's published steps with routed experts whose CUDA graphs hold whole layers or the iteration. Graphs
/// of parts of a layer, or none, leave its host as it is.
pub const WHOLE_GRAPHS: f64 = 0.2;
/// Share of the same steps that run the exchange of experts beside another micro-batch.
pub const EXPERTS_BESIDE: f64 = 0.27;
/// The busiest rank over the average where the router is left to itself.
const NATURAL: f64 = 1.35;

/// A setting that a Run leaves open.
pub(super) struct Open {
    /// Its key.
    pub field: &'static str,
    /// Probability of the other value.
    pub chance: f64,
    /// The Run with it.
    pub other: Run,
}

/// The settings that `scenario` leaves open, at most [`MOST_OPEN`].
pub(super) fn open_settings(scenario: &Scenario) -> Vec<Open> {
    let (run, software) = (&scenario.run, &scenario.software);
    let peers = software.peers;
    let is_now = matches!(peers, Some(Peers::Megatron2025 | Peers::Megatron2026));
    let (routed, adapted) = (scenario.model.moe.is_some(), scenario.adapter.is_some());
    let is_low = Products::of(scenario) != Products::Plain;
    let blackwell = scenario.gpu.fp4.0 > scenario.gpu.fp8.0;
    let spread_experts = routed && run.ep > 1;
    let mut open: Vec<Open> = Vec::new();
    let mut leave = |applies: bool, field: &'static str, chance: f64, set: &dyn Fn(&mut Run)| {
        if applies {
            let mut other = run.clone();
            set(&mut other);
            open.push(Open { field, chance, other });
        }
    };
    // No published recipe of a hybrid has either.
    let experts = routed && scenario.model.mamba.is_none();
    let graphs = is_now && run.graph_scope.is_none() && run.cuda_graphs.is_none();
    leave(graphs, "graph_scope", if experts { WHOLE_GRAPHS } else { 0.5 }, &|other| {
        let none = software.graphs.any() && !experts;
        other.graph_scope = Some(vec![if none { GraphPart::None } else { GraphPart::Iteration }]);
    });
    let fuses = is_now && routed && blackwell && is_low && run.stack.parts.moe_fused.is_none();
    leave(fuses, "stack.moe_fused", 0.5, &|other| other.stack.parts.moe_fused = Some(!software.moe_fused));
    leave(is_now && spread_experts && run.moe_dispatch.is_none(), "moe_dispatch", 0.4, &|other| {
        other.moe_dispatch = Some(match software.moe_dispatch {
            MoeDispatch::AllToAll => MoeDispatch::PerNode,
            MoeDispatch::PerNode | MoeDispatch::HybridEp => MoeDispatch::AllToAll,
        });
    });
    let unbalanced = spread_experts && run.moe_balance.is_none() && run.moe_imbalance.is_none();
    leave(unbalanced, "moe_balance", 0.3, &|other| other.moe_imbalance = Some(NATURAL));
    let overlaps = run.ep_overlap.is_some() || software.ep_overlap != EpOverlap::None;
    leave(is_now && experts && run.ep > 1 && !overlaps, "ep_overlap", EXPERTS_BESIDE, &|other| {
        other.ep_overlap = Some(EpOverlap::OneFOneB);
    });
    let reads = adapted && is_low && run.adapter.base.is_none() && run.precision.parts.param_gather.is_none();
    leave(reads, "adapter.base", 0.6, &|other| {
        other.precision.parts.param_gather = Some(!scenario.precision.param_gather);
    });
    // torchtitan's shipped fp8 configurations gather weights so (`enable_fsdp_float8_all_gather`), its default does
    // not.
    let titan = run.stack.preset_row().trainer == Trainer::Torchtitan;
    let shards = titan && run.zero == 3 && scenario.precision.recipe.is_some_and(|recipe| recipe.per_tensor);
    let says = adapted || run.precision.parts.param_gather.is_some();
    leave(!says && (shards || !routed && is_now && is_low), "precision.param_gather", 0.5, &|other| {
        let parts = &mut other.precision.parts;
        parts.param_gather = Some(!scenario.precision.param_gather);
        parts.grads = if titan { parts.grads } else { parts.grads.or(Some(2.0)) };
    });
    let compiles = titan && run.stack.parts.compile.is_none();
    leave(compiles, "stack.compile", 0.2, &|other| other.stack.parts.compile = Some(!software.compile));
    let kernel = match software.attention {
        // FlashAttention-2 reaches a third of their rate there, and is no default.
        AttentionKernel::Cudnn if run.gpu.family().is_some_and(GpuFamily::is_blackwell) => {
            Some(AttentionKernel::Flash4)
        }
        AttentionKernel::Cudnn => Some(AttentionKernel::Flash2),
        AttentionKernel::Flash2 => Some(AttentionKernel::Cudnn),
        _ => None,
    };
    // Beside the five of routed layers it would be the sixth, and would come in where one of those is stated.
    let attends = peers.is_some() && !(is_now && experts && run.ep > 1);
    leave(attends && run.stack.parts.attention.is_none(), "stack.attention", 0.25, &|other| {
        other.stack.parts.attention = kernel;
    });
    open.truncate(MOST_OPEN);
    open
}
