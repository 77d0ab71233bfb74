//! Megatron-LM's arguments.
//!
//! Source: NVIDIA/Megatron-LM, `megatron/training/arguments.py`: names, defaults, and what follows from what.

mod layout;
mod model;

use super::book::Book;
use super::words::{self, Script};
use super::{Dialect, Entries, Same, computes, nodes, same, steps, write_same};
use crate::issue::Issue;
use crate::run::{
    Based, CpComm, CrossEntropy, Module, MoeDispatch, Optimizer, PrecisionParts, Recompute, Run,
    Scenario, Schedule, Value,
};

/// Megatron-LM.
pub static DIALECT: Dialect = Dialect {
    id: "megatron",
    name: "Megatron-LM",
    file: "megatron.sh",
    entries,
    read,
    write,
    print,
};

/// What both count alike; the global batch is the last.
static SAME: &[Same] = &[
    same("--tensor-model-parallel-size", "tp", Some(1)),
    same("--pipeline-model-parallel-size", "pp", Some(1)),
    same("--context-parallel-size", "cp", Some(1)),
    same("--expert-model-parallel-size", "ep", Some(1)),
    same("--seq-length", "seq_len", None),
    same("--micro-batch-size", "micro_batch", None),
    same("--global-batch-size", "global_batch", None),
];

/// The modules that selective recomputation names.
const MODULES: [(Module, &str); 5] = [
    (Module::Norm, "layernorm"),
    (Module::Mlp, "mlp"),
    (Module::MoeAct, "moe_act"),
    (Module::MlaUp, "mla_up_proj"),
    (Module::CoreAttn, "core_attn"),
];

/// How context-parallel ranks exchange.
const EXCHANGES: [(CpComm, &str); 3] = [
    (CpComm::Ring, "p2p"),
    (CpComm::AllGather, "allgather"),
    (CpComm::Ulysses, "a2a"),
];

/// Whether an argument is one of Megatron's that this file knows.
#[must_use]
pub fn knows(name: &str) -> bool {
    let name = name.replace('_', "-");
    let well_known = [
        "--num-layers",
        "--hidden-size",
        "--num-attention-heads",
        "--use-distributed-optimizer",
    ];
    SAME.iter().any(|row| row.name == name) || well_known.contains(&&*name)
}

#[allow(clippy::unnecessary_wraps)] // other programs' files can be wrong
fn entries(text: &str) -> Result<Entries, Issue> {
    let script = Script::read(text);
    let mut entries: Entries = script.arguments();
    for (name, _) in &mut entries {
        *name = name.replace('_', "-");
    }
    // Scripts keep the size of the cluster in variables.
    for (name, variables) in [
        ("--nnodes", &["NNODES", "NUM_NODES", "SLURM_NNODES"][..]),
        (
            "--nproc-per-node",
            &["GPUS_PER_NODE", "NPROC_PER_NODE", "NGPUS_PER_NODE"],
        ),
    ] {
        let known = entries
            .iter()
            .any(|(known, value)| known == name && first_number(value));
        if let Some(count) = script.number(variables).filter(|_| !known) {
            entries.push((name.to_owned(), Value::from(count)));
        }
    }
    // "--nnodes 4 train.py": what follows the last launcher's argument is the program.
    for (name, value) in &mut entries {
        if let Value::List(items) = value
            && ["--nnodes", "--nproc-per-node"].contains(&&**name)
        {
            *value = items.first().cloned().unwrap_or_default();
        }
    }
    Ok(entries)
}

fn first_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::List(items) => matches!(items.first(), Some(Value::Number(_))),
        _ => false,
    }
}

fn read(book: &mut Book) {
    book.same(&SAME[..SAME.len() - 1], DIALECT.name);
    cluster(book);
    batch(book);
    model::read(book);
    parallel(book);
    layout::read(book);
    precision(book);
    recompute(book);
    kernels(book);
    let count = book.count("--train-iters", "steps").or_else(|| {
        let samples = book.count("--train-samples", "samples")?;
        Some(samples / book.run.global_batch.max(1))
    });
    book.steps(count);
}

fn cluster(book: &mut Book) {
    let nodes = book.count("--nnodes", "nodes");
    let each = book.count("--nproc-per-node", "GPUs a node");
    match (nodes, each) {
        (Some(nodes), Some(each)) => book.set("gpus", &Value::from(nodes.saturating_mul(each))),
        // torchrun starts one node unless it is told.
        (None, Some(each)) if !book.has("--nnodes") => book.set("gpus", &Value::from(each)),
        _ => {
            let gpus = book.run.gpus;
            book.assume(format!(
                "{gpus} GPUs, as on this page: the launcher says how many"
            ));
        }
    }
}

/// "If this value is None, then use micro-batch-size * data-parallel-size as the global batch size."
fn batch(book: &mut Book) {
    let [.., global] = SAME else { return };
    if book.has(global.name) || !book.has("--micro-batch-size") {
        return book.same(std::slice::from_ref(global), DIALECT.name);
    }
    let run = &book.run;
    let dp = (run.gpus / (run.tp * run.pp * run.cp).max(1)).max(1);
    let all = run.micro_batch.saturating_mul(dp);
    book.assume(format!(
        "global batch {all}: one micro-batch a rank where Megatron-LM is not told"
    ));
    book.set(global.field, &Value::from(all));
}

fn parallel(book: &mut Book) {
    let experts = book
        .run
        .model
        .resolve()
        .is_ok_and(|model| model.moe.is_some());
    let etp = book.count("--expert-tensor-parallel-size", "ETP");
    if experts {
        // `args.expert_tensor_parallel_size = args.tensor_model_parallel_size` where it is not given.
        let etp = etp.unwrap_or_else(|| {
            let tp = book.run.tp;
            book.assume(format!("ETP {tp}: as TP, unless Megatron-LM is told"));
            tp
        });
        book.set("etp", &Value::from(etp));
    }
    let sequence = book.flag("--sequence-parallel", "sequence parallelism");
    if book.run.tp > 1 {
        book.set("sequence_parallel", &Value::Bool(sequence));
    }
    let exchange = book.word("--cp-comm-type", "CP exchange");
    if book.run.cp > 1 {
        let known = EXCHANGES
            .iter()
            .find(|(_, name)| exchange.as_deref() == Some(name));
        match (known, exchange) {
            (Some((exchange, _)), _) => book.run.cp_comm = *exchange,
            (None, Some(other)) => {
                book.assume(format!("CP exchange as on this page: {other} is not known"));
            }
            (None, None) => book.run.cp_comm = CpComm::Ring,
        }
    }
    let distributed = book.flag("--use-distributed-optimizer", "ZeRO-1");
    let fsdp = ["--use-megatron-fsdp", "--use-custom-fsdp"]
        .map(|name| book.flag(name, "Megatron-FSDP"))
        .contains(&true);
    let torch = book.flag("--use-torch-fsdp2", "ZeRO-3");
    let strategy = book.word("--data-parallel-sharding-strategy", "sharded:");
    let zero = match strategy.as_deref() {
        _ if torch => 3,
        Some("optim_grads_params") if fsdp => 3,
        Some("optim_grads") if fsdp => 2,
        Some("optim") if fsdp => 1,
        _ => u64::from(distributed),
    };
    book.set("zero", &Value::from(zero));
    let instances = book.count("--num-distributed-optimizer-instances", "groups of shards");
    let run = &mut book.run;
    let group = run.gpus / (run.tp * run.pp).max(1);
    let shard = instances.map_or(group, |instances| group / instances.max(1));
    if run.hsdp_shard.unwrap_or(group) != shard {
        run.hsdp_shard = Some(shard).filter(|shard| *shard != group);
    }
    if book.flag(
        "--overlap-grad-reduce",
        "gradients overlap with the backward pass",
    ) {
        if book.run.overlap.dp == 0.0 {
            book.run.overlap.dp = Run::default().overlap.dp;
        }
    } else {
        book.assume("DP overlap 0: --overlap-grad-reduce is not there");
        book.run.overlap.dp = 0.0;
    }
    book.flag(
        "--overlap-param-gather",
        "ZeRO-1's gathers overlap with the forward pass",
    );
}

fn precision(book: &mut Book) {
    let half = book.flag("--fp16", "fp16");
    let brain = book.flag("--bf16", "bf16");
    let eight = book.word("--fp8-format", "fp8").is_some();
    let accumulate = book.flag("--accumulate-allreduce-grads-in-fp32", "fp32 gradients");
    let reduce = book.flag("--grad-reduce-in-bf16", "bf16 gradients");
    book.precision(match (eight, brain, half) {
        (true, ..) => "te-fp8",
        (_, true, _) if reduce => "bf16",
        // Gradients of a bf16 run accumulate in fp32 unless it says otherwise.
        (_, true, _) => "bf16-fp32-grads",
        (_, _, true) if accumulate => "bf16-fp32-grads",
        (_, _, true) => "fp16",
        _ => "fp32",
    });
    let momentum = book.number("--sgd-momentum", "momentum");
    let optimizer = match book.word("--optimizer", "optimizer").as_deref() {
        None | Some("adam") => Optimizer::Adam,
        Some("sgd") if momentum == Some(0.0) => Optimizer::Sgd,
        Some("sgd") => Optimizer::SgdMomentum,
        Some("muon" | "dist_muon") => Optimizer::Muon,
        Some(other) => {
            let said = format!("optimizer as on this page: {other} is not known");
            book.assume(said);
            book.run.optimizer
        }
    };
    book.run.optimizer = optimizer;
}

fn recompute(book: &mut Book) {
    let short = book.flag("--recompute-activations", "selective recomputation");
    let granularity = book.word("--recompute-granularity", "recomputation");
    let method = book.word("--recompute-method", "by");
    let layers = book.count("--recompute-num-layers", "layers");
    let modules = book.word("--recompute-modules", "modules");
    let recompute = match granularity.as_deref() {
        Some("full") if method.as_deref() == Some("block") => {
            Recompute::Layers(layers.unwrap_or(1))
        }
        Some("full") => {
            if layers.is_some_and(|layers| layers > 1) {
                book.assume("full recomputation of every layer: the inputs that groups of layers save are not counted");
            }
            Recompute::Full
        }
        Some("selective") => match modules {
            None => Recompute::Selective,
            Some(names) => {
                let known = |name: &str| MODULES.iter().find(|(_, known)| *known == name);
                let (known, other): (Vec<_>, Vec<_>) = names
                    .split_whitespace()
                    .partition(|name| known(name).is_some());
                for name in other {
                    book.assume(format!(
                        "module {name} is kept: its recomputation is not modelled"
                    ));
                }
                let modules = MODULES.iter().filter(|(_, name)| known.contains(name));
                Recompute::Modules(modules.map(|(module, _)| *module).collect())
            }
        },
        _ if short => Recompute::Selective,
        _ => Recompute::None,
    };
    book.recompute(recompute);
}

fn kernels(book: &mut Book) {
    let legacy = book.flag("--use-flash-attn", "FlashAttention");
    let backend = book.word("--attention-backend", "attention");
    let stored = matches!(backend.as_deref(), Some("unfused" | "local"));
    book.set("flash_attention", &Value::Bool(legacy || !stored));
    let fused = book.flag("--cross-entropy-loss-fusion", "fused loss");
    let implementation = book.word("--cross-entropy-fusion-impl", "fused loss of");
    book.run.cross_entropy = match implementation.as_deref() {
        Some("te") if fused => CrossEntropy::TeFused,
        _ if fused => CrossEntropy::MegatronFused,
        _ => CrossEntropy::Megatron,
    };
    let apart = book.flag("--no-bias-swiglu-fusion", "SwiGLU in several kernels");
    book.set("fused_swiglu", &Value::Bool(!apart));
    let graphs = book.flag("--enable-cuda-graph", "CUDA graphs");
    let local = book
        .word("--cuda-graph-impl", "CUDA graphs")
        .is_some_and(|by| by != "none");
    book.set("cuda_graphs", &Value::Bool(graphs || local));
    let capacity = book.number("--moe-expert-capacity-factor", "capacity factor");
    let padded = book.flag(
        "--moe-pad-expert-input-to-capacity",
        "padded to the capacity",
    );
    book.run.capacity_factor = capacity.filter(|_| padded);
    let dispatcher = book.word("--moe-token-dispatcher-type", "expert dispatch");
    let old = book.flag("--moe-enable-deepep", "expert dispatch by DeepEP");
    let backend = book.word("--moe-flex-dispatcher-backend", "expert dispatch by");
    // DeepEP and HybridEP both; `flex` alone is DeepEP.
    book.run.moe_dispatch = if dispatcher.as_deref() == Some("flex") || old || backend.is_some() {
        MoeDispatch::PerNode
    } else {
        MoeDispatch::AllToAll
    };
}

fn write(s: &Scenario) -> Entries {
    let run = &s.run;
    let mut out = Vec::new();
    let (count, each) = nodes(s);
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    say("--nnodes", Value::from(count));
    say("--nproc-per-node", Value::from(each));
    write_same(SAME, run, &mut out);
    model::write(s, &mut out);
    layout::write(s, &mut out);
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    let yes = || Value::Bool(true);
    let text = |text: &str| Value::Text(text.to_owned());
    if s.model.moe.is_some() {
        say("--expert-tensor-parallel-size", Value::from(run.etp));
    }
    if s.layout.sequence_parallel {
        say("--sequence-parallel", yes());
    }
    if let Some((_, name)) = EXCHANGES
        .iter()
        .find(|(exchange, _)| *exchange == run.cp_comm && run.cp > 1)
    {
        say("--cp-comm-type", text(name));
    }
    match run.zero {
        0 => {}
        1 => say("--use-distributed-optimizer", yes()),
        stage => {
            say("--use-megatron-fsdp", yes());
            let sharded = if stage == 2 {
                "optim_grads"
            } else {
                "optim_grads_params"
            };
            say("--data-parallel-sharding-strategy", text(sharded));
            say("--use-distributed-optimizer", yes());
        }
    }
    let group = s.layout.dp * s.layout.cp;
    if s.zero.shard < group {
        say(
            "--num-distributed-optimizer-instances",
            Value::from(group / s.zero.shard.max(1)),
        );
    }
    if run.overlap.dp > 0.0 {
        say("--overlap-grad-reduce", yes());
        if run.zero > 0 {
            say("--overlap-param-gather", yes());
        }
    }
    write_training(run, &mut out);
    out
}

fn write_training(run: &Run, out: &mut Entries) {
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    let yes = || Value::Bool(true);
    let text = |text: &str| Value::Text(text.to_owned());
    let is =
        |id: &'static str| run.precision.resolve() == Based::<PrecisionParts>::preset(id).resolve();
    match computes(&run.precision) {
        "fp16" => say("--fp16", yes()),
        "fp32" => {}
        _ => say("--bf16", yes()),
    }
    if is("bf16") && computes(&run.precision) == "bf16" {
        say("--grad-reduce-in-bf16", yes());
    }
    if run.precision.base == Some("te-fp8") {
        say("--fp8-format", text("hybrid"));
    }
    let (optimizer, momentum) = match run.optimizer {
        Optimizer::Sgd => ("sgd", Some(0)),
        Optimizer::SgdMomentum => ("sgd", None),
        Optimizer::Muon => ("muon", None),
        _ => ("adam", None),
    };
    say("--optimizer", text(optimizer));
    if let Some(momentum) = momentum {
        say("--sgd-momentum", Value::from(momentum));
    }
    match &run.recompute {
        Recompute::None => {}
        Recompute::Selective => say("--recompute-granularity", text("selective")),
        Recompute::Full | Recompute::Layers(_) => {
            say("--recompute-granularity", text("full"));
            let layers = match run.recompute {
                Recompute::Layers(layers) => Some(layers),
                _ => None,
            };
            say(
                "--recompute-method",
                text(if layers.is_some() { "block" } else { "uniform" }),
            );
            say("--recompute-num-layers", Value::from(layers.unwrap_or(1)));
        }
        Recompute::Modules(modules) => {
            say("--recompute-granularity", text("selective"));
            let names = MODULES
                .iter()
                .filter(|(module, _)| modules.contains(module));
            let mut names: Vec<Value> = names.map(|(_, name)| text(name)).collect();
            let one = if names.len() == 1 { names.pop() } else { None };
            say("--recompute-modules", one.unwrap_or(Value::List(names)));
        }
    }
    say(
        "--attention-backend",
        text(if run.flash_attention {
            "flash"
        } else {
            "unfused"
        }),
    );
    if matches!(
        run.cross_entropy,
        CrossEntropy::MegatronFused | CrossEntropy::TeFused
    ) {
        say("--cross-entropy-loss-fusion", yes());
        let te = run.cross_entropy == CrossEntropy::TeFused;
        say(
            "--cross-entropy-fusion-impl",
            text(if te { "te" } else { "native" }),
        );
    }
    if !run.fused_swiglu {
        say("--no-bias-swiglu-fusion", yes());
    }
    if run.cuda_graphs {
        say("--cuda-graph-impl", text("local"));
    }
    if run.moe_dispatch == MoeDispatch::PerNode {
        say("--moe-token-dispatcher-type", text("flex"));
        say("--moe-flex-dispatcher-backend", text("deepep"));
    }
    if let Some(factor) = run.capacity_factor {
        say("--moe-expert-capacity-factor", Value::Number(factor));
        say("--moe-pad-expert-input-to-capacity", yes());
    }
    if let Some(steps) = steps(run) {
        say("--train-iters", Value::from(steps));
    }
}

fn print(entries: &Entries, comments: &[String]) -> String {
    let script = words::script("pretrain_gpt.py", "", entries, comments);
    let says = |names: &[&str]| entries.iter().any(|(name, _)| names.contains(&&**name));
    // `validate_args` refuses tensor and context parallelism without it on GPUs before Blackwell, and FSDP with it.
    let one_queue = says(&["--tensor-model-parallel-size", "--context-parallel-size"])
        && !says(&["--use-megatron-fsdp"]);
    if one_queue {
        let with = "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun ";
        script.replacen("\ntorchrun ", with, 1)
    } else {
        script
    }
}

/// The schedules that Megatron-LM has.
fn schedule(run: &Run) -> Schedule {
    match run.schedule {
        Schedule::Interleaved | Schedule::Overlap | Schedule::InterleavedOverlap => run.schedule,
        _ if run.virtual_stages > 1
            && run.schedule.fixed_chunks(&run.schedule_options).is_none() =>
        {
            Schedule::Interleaved
        }
        _ => Schedule::OneFOneB,
    }
}
