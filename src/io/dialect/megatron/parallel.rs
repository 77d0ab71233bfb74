//! Division of the work in Megatron-LM's arguments: sizes, exchanges, shards, overlap.

use super::forks;
use super::modules;
use crate::dialect::rows::prelude::*;
use shardscope_core::cluster::RankOrder;
use shardscope_core::run::presets::{MEGATRON_2024, MEGATRON_2025};

/// Counts with the same meaning in both: those of the grid, and others, of which the global batch is the last.
pub(crate) static SAME: &[Same] = &[
    same("--tensor-model-parallel-size", "tp", Some(1)),
    same("--pipeline-model-parallel-size", "pp", Some(1)),
    same("--context-parallel-size", "cp", Some(1)),
    same("--expert-model-parallel-size", "ep", Some(1)),
    same("--seq-length", "seq_len", None),
    same("--micro-batch-size", "micro_batch", None),
    same("--global-batch-size", "global_batch", None),
];

/// Counts of the grid among them.
pub(crate) const GRID: usize = 4;

/// Exchange of context-parallel ranks.
const EXCHANGES: [(CpComm, &str); 4] = [
    (CpComm::Ring, "p2p"),
    (CpComm::AllGather, "allgather"),
    (CpComm::Ulysses, "a2a"),
    (CpComm::Hierarchical, "a2a+p2p"),
];

/// "If this value is None, then use micro-batch-size * data-parallel-size as the global batch size."
pub fn batch(reader: &mut SettingsReader) {
    let [.., global] = SAME else { return };
    if reader.has(global.name) || !reader.has("--micro-batch-size") {
        return reader.same(std::slice::from_ref(global), "Megatron-LM");
    }
    // LLaMA-Factory's name for it.
    let each = reader.count("--gradient-accumulation-steps", "micro-batches a step and rank");
    let run = &reader.run;
    let dp = (run.gpus / (run.tp * run.pp * run.cp).max(1)).max(1);
    let all = run.micro_batch.saturating_mul(dp).saturating_mul(each.unwrap_or(1).max(1));
    if each.is_some() {
        return reader.set(global.field, all);
    }
    reader.assume(t!("global batch {all}: one micro-batch per rank, Megatron-LM's default", all));
    reader.set(global.field, all);
}

const ETP: &str = "--expert-tensor-parallel-size";

/// Each of the others switches the first on (`distributed_data_parallel_config.py:279`,
/// `param_and_grad_buffer.py:2053`).
const DOUBLE_BUFFER: [&str; 3] = ["--fsdp-double-buffer", "--use-nccl-ub", "--megatron-fsdp-max-pool-double-buffer"];

/// Takes the settings of parallelism beside its degrees, which are read before.
pub fn read(reader: &mut SettingsReader) {
    expert_tensor_ranks(reader);
    let sequence = reader.flag("--sequence-parallel", "sequence parallelism");
    if reader.run.tp > 1 {
        reader.set("sequence_parallel", sequence);
    }
    tensor_overlap(reader);
    if reader.flag("--no-async-tensor-model-parallel-allreduce", "no TP overlap") && reader.run.tp > 1 {
        reader.run.overlap.tp = Some(0.0);
    }
    if reader.flag("--use-tp-pp-dp-mapping", "rank order") {
        reader.run.rank_order = RankOrder::DpLast;
    }
    forks::expert_ranks(reader);
    context_exchange(reader);
    dynamic_context(reader);
    sharding(reader);
    if reader.flag("--overlap-grad-reduce", "gradients overlap with the backward pass") {
        if reader.run.overlap.dp == Some(0.0) {
            reader.run.overlap.dp = None;
        }
    } else {
        reader.assume("DP overlap 0: --overlap-grad-reduce is not there");
        reader.run.overlap.dp = Some(0.0);
    }
    reader.flag("--overlap-param-gather", "ZeRO-1's gathers overlap with the forward pass");
}

/// Tensor-parallel ranks of the experts.
fn expert_tensor_ranks(reader: &mut SettingsReader) {
    let experts = reader.run.model.resolve().is_ok_and(|model| model.moe.is_some());
    let name = if modules::are_there(reader) { modules::EXPERTS_TP } else { ETP };
    let etp = if experts || !reader.is_default(name) { reader.count(name, "ETP") } else { None };
    if experts && name == modules::EXPERTS_TP {
        reader.set("etp", etp.unwrap_or(1));
    } else if experts {
        // `args.expert_tensor_parallel_size = args.tensor_model_parallel_size` where it is not given.
        let etp = etp.or_else(|| forks::expert_cut(reader)).unwrap_or_else(|| {
            let tp = reader.run.tp;
            reader.assume(t!("ETP {tp}: as TP, unless Megatron-LM is told", tp));
            tp
        });
        reader.set("etp", etp);
    }
}

/// Ranks that share a sequence, and how they exchange keys and values.
fn context_exchange(reader: &mut SettingsReader) {
    // Megatron-DeepSpeed 4efb479 `megatron/arguments.py:974`: DeepSpeed-Ulysses.
    let by_heads = reader.count("--ds-sequence-parallel-size", "ranks that share a sequence by heads");
    if let Some(ranks) = by_heads {
        reader.set("cp", ranks);
    }
    let exchange = reader.word("--cp-comm-type", "CP exchange");
    let exchange = exchange.or_else(|| forks::exchange(reader).map(str::to_owned));
    // "the first value of the list indicates the group size of the a2a communication type".
    let near = reader.count("--hierarchical-context-parallel-sizes", "ranks that exchange heads for tokens");
    let near = near.or_else(|| reader.count("--ulysses-degree-in-cp", "ranks that exchange heads for tokens"));
    reader.run.cp_a2a = near.filter(|_| exchange.as_deref() == Some("a2a+p2p"));
    if reader.run.cp > 1 {
        let found = EXCHANGES.iter().find(|(_, name)| exchange.as_deref() == Some(name));
        match (found, exchange) {
            (Some((exchange, _)), _) => reader.run.cp_comm = *exchange,
            (None, Some(other)) => {
                reader.assume(t!("CP exchange as on this page: {other} is not known", other = other.clone()));
            }
            (None, None) if by_heads.is_some() => reader.run.cp_comm = CpComm::Ulysses,
            (None, None) => reader.run.cp_comm = CpComm::Ring,
        }
    }
}

/// What data-parallel ranks share of weights, gradients and states, and among how many of them.
fn sharding(reader: &mut SettingsReader) {
    let distributed = reader.flag("--use-distributed-optimizer", "ZeRO-1");
    let named = reader.flag("--use-megatron-fsdp", "Megatron-FSDP");
    let fsdp = named | reader.flag("--use-custom-fsdp", "Megatron-FSDP");
    let torch = reader.flag("--use-torch-fsdp2", "PyTorch's FSDP2");
    let whole = reader.flag("--torch-fsdp2-no-reshard-after-forward", "weights stay whole after the forward pass");
    if torch {
        reader.assume(
            "gradients are counted over the whole step: FSDP2 makes their shards in the backward pass, so steps of \
                one micro-batch may need less memory",
        );
    }
    let strategy = reader.word("--data-parallel-sharding-strategy", "sharded:");
    let zero = match strategy.as_deref() {
        _ if torch && whole => 2,
        _ if torch => 3,
        Some("optim_grads_params") if fsdp => 3,
        Some("optim_grads") if fsdp => 2,
        Some("optim") if fsdp => 1,
        // Megatron-LM d98e8a6 `arguments.py:3190`, ms-swift 3602360 `megatron/arguments/megatron_args.py:590`, verl
        // 1dda039 `utils/megatron_utils.py:415`, Megatron-Bridge 067f987 `scripts/performance/utils/overrides.py:100`.
        // The older name is of releases that shard nothing in silence.
        None if named => {
            reader.assume("ZeRO-3: Megatron-FSDP shards weights, gradients and states where no strategy is said");
            3
        }
        _ => u64::from(distributed),
    };
    // Megatron-DeepSpeed's: `megatron/arguments.py` (`zero-stage`).
    let stage = reader.count("--zero-stage", "ZeRO stage");
    let zero = stage.unwrap_or(zero);
    // DeepSpeed's optimizer for bf16 shards its states where no stage does: DeepSpeed edaa722
    // `runtime/bf16_optimizer.py`.
    let own = zero == 0 && reader.has("--deepspeed") && reader.has("--bf16");
    if own {
        reader.assume("ZeRO-1: DeepSpeed's optimizer for bf16 shards its states in stage 0 too");
    }
    reader.set("zero", if own { 1 } else { zero });
    let instances = reader.count("--num-distributed-optimizer-instances", "groups of shards");
    let run = &mut reader.run;
    let group = run.gpus / (run.tp * run.pp).max(1);
    let shard = instances.map_or(group, |instances| group / instances.max(1));
    if run.hsdp_shard.unwrap_or(group) != shard {
        run.hsdp_shard = Some(shard).filter(|shard| *shard != group);
    }
    weight_shards(reader);
    let outer = reader.word("--outer-dp-sharding-strategy", "between groups of shards:");
    reader.run.hsdp_optimizer = outer.as_deref() == Some("optim") && reader.run.hsdp_shard.is_some();
    reader.run.fsdp_double_buffer = fsdp && reader.any(DOUBLE_BUFFER, "buffers of FSDP stay");
}

/// Shards of a weight over tensor parallelism and the ranks above it, by the field of the latter.
const WEIGHT_SHARDS: [(&str, &str); 2] = [
    ("weight_shards", "--tensor-parallel-num-weight-shards"),
    ("expert_weight_shards", "--expert-tensor-parallel-num-weight-shards"),
];

/// Takes weight shards: those of tensor parallelism are among them.
fn weight_shards(reader: &mut SettingsReader) {
    let experts = reader.run.model.resolve().is_ok_and(|model| model.moe.is_some());
    for (field, name) in WEIGHT_SHARDS {
        let Some(all) = reader.count(name, "shards of a weight") else { continue };
        let is_experts = field == "expert_weight_shards";
        let tensor = if is_experts { reader.run.etp } else { reader.run.tp }.max(1);
        if is_experts && !experts {
            continue;
        }
        if !all.is_multiple_of(tensor) {
            reader.assume(t!("{name} is no multiple of the {tensor} ranks that cut a weight: left out", name, tensor));
            continue;
        }
        reader.set(field, all / tensor);
    }
}

/// Takes whether each sample runs on as many ranks as it needs; the lengths of the samples are in the data.
fn dynamic_context(reader: &mut SettingsReader) {
    reader.run.cp_dynamic = reader.flag("--hybrid-context-parallel", "dynamic context parallelism");
    let tokens = reader.count("--max-seqlen-per-dp-cp-rank", "tokens of a sample on one rank");
    reader.run.cp_rank_tokens = tokens.filter(|_| reader.run.cp_dynamic);
    if reader.run.cp_dynamic {
        reader.assume("every sample fills its sequence: lengths.base says how long they are, the script does not");
    }
}

/// Takes whether tensor-parallel messages overlap; where nothing says so they wait, whatever the stack's recipes do.
fn tensor_overlap(reader: &mut SettingsReader) {
    let overlaps = reader.flag("--tp-comm-overlap", "TP overlap by userbuffers");
    let now = reader.run.software().tp_overlap;
    let (meant, share) = match (overlaps, now) {
        (true, TpOverlap::None | TpOverlap::AsyncTp) => (TpOverlap::Userbuffers, MEGATRON_2025.overlap.tp),
        (false, TpOverlap::Userbuffers) if reader.run.tp > 1 => {
            reader.assume("TP overlap none: --tp-comm-overlap is not there");
            (TpOverlap::None, MEGATRON_2024.overlap.tp)
        }
        _ => return,
    };
    reader.run.stack.parts.tp_overlap = Some(meant);
    reader.run.overlap.tp = Some(share);
}

pub fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    writer.when(s.model.moe.is_some() && modules::example(s).is_none(), ETP, run.etp);
    if s.layout.sequence_parallel {
        writer.say("--sequence-parallel", true);
        // `validate_args` refuses it without sequence parallelism.
        writer.when(s.software.tp_overlap == TpOverlap::Userbuffers, "--tp-comm-overlap", true);
    }
    // "disable async execution of tensor-model-parallel all-reduce with weight gradient computation", 2021 to 2025.
    if run.tp > 1 && s.software.overlap.tp == 0.0 && s.software.tp_overlap == TpOverlap::None {
        writer.say("--no-async-tensor-model-parallel-allreduce", true);
    }
    writer.when(run.rank_order == RankOrder::DpLast, "--use-tp-pp-dp-mapping", true);
    if let Some((_, name)) = EXCHANGES.iter().find(|(exchange, _)| *exchange == run.cp_comm && run.cp > 1) {
        writer.say("--cp-comm-type", *name);
        if run.cp_comm == CpComm::Hierarchical {
            let near = s.exchange_ranks();
            let sizes = [near, run.cp / near.max(1)].map(Value::from).to_vec();
            writer.say("--hierarchical-context-parallel-sizes", sizes);
        }
    }
    if run.cp_dynamic {
        // `validate_args` refuses it without a loss by token.
        writer.say("--hybrid-context-parallel", true);
        writer.say("--calculate-per-token-loss", true);
        if let Some(tokens) = run.cp_rank_tokens {
            writer.say("--max-seqlen-per-dp-cp-rank", tokens);
        }
    }
    match run.zero {
        0 => {}
        1 => writer.say("--use-distributed-optimizer", true),
        stage => {
            writer.say("--use-megatron-fsdp", true);
            let sharded = if stage == 2 { "optim_grads" } else { "optim_grads_params" };
            writer.say("--data-parallel-sharding-strategy", sharded);
            writer.when(run.keeps_double_buffers(), "--fsdp-double-buffer", true);
            writer.say("--use-distributed-optimizer", true);
        }
    }
    if run.shards_weights() {
        for ((_, name), shards) in
            WEIGHT_SHARDS.into_iter().zip([run.weight_shards * run.tp, run.expert_weight_shards * run.etp])
        {
            writer.when(name.starts_with("--tensor") || s.model.moe.is_some(), name, shards);
        }
    }
    let group = s.layout.dp * s.layout.cp;
    writer.when(
        s.zero.shard < group && !run.shards_weights(),
        "--num-distributed-optimizer-instances",
        group / s.zero.shard.max(1),
    );
    writer.when(s.zero.outer > 1 && !run.shards_weights(), "--outer-dp-sharding-strategy", "optim");
    if s.software.overlap.dp > 0.0 {
        writer.say("--overlap-grad-reduce", true);
        writer.when(run.zero > 0, "--overlap-param-gather", true);
    }
}
