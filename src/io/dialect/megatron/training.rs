//! How the model is trained in Megatron-LM's arguments: precision, optimizer, recomputation, kernels, steps.

use crate::core::run::{CrossEntropy, Module, MoeDispatch, Optimizer, Recompute, Run, Value};
use crate::io::dialect::settings_reader::Book;
use crate::io::dialect::settings_writer::Say;
use crate::io::dialect::{computes, is_precision, steps};

/// The modules that selective recomputation names.
const MODULES: [(Module, &str); 5] = [
    (Module::Norm, "layernorm"),
    (Module::Mlp, "mlp"),
    (Module::MoeAct, "moe_act"),
    (Module::MlaUp, "mla_up_proj"),
    (Module::CoreAttn, "core_attn"),
];

/// Takes all of it.
pub fn read(book: &mut Book) {
    precision(book);
    recompute(book);
    kernels(book);
    let count = book.count("--train-iters", "steps").or_else(|| {
        let samples = book.count("--train-samples", "samples")?;
        Some(samples / book.run.global_batch.max(1))
    });
    book.steps(count);
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

/// Says the same.
pub fn write(run: &Run, say: &mut Say) {
    match computes(&run.precision) {
        "fp16" => say.yes("--fp16"),
        "fp32" => {}
        _ => say.yes("--bf16"),
    }
    if is_precision(run, "bf16") && computes(&run.precision) == "bf16" {
        say.yes("--grad-reduce-in-bf16");
    }
    if run.precision.base == Some("te-fp8") {
        say.text("--fp8-format", "hybrid");
    }
    let (optimizer, momentum) = match run.optimizer {
        Optimizer::Sgd => ("sgd", Some(0)),
        Optimizer::SgdMomentum => ("sgd", None),
        Optimizer::Muon => ("muon", None),
        _ => ("adam", None),
    };
    say.text("--optimizer", optimizer);
    if let Some(momentum) = momentum {
        say.count("--sgd-momentum", momentum);
    }
    match &run.recompute {
        Recompute::None => {}
        Recompute::Selective => say.text("--recompute-granularity", "selective"),
        Recompute::Full | Recompute::Layers(_) => {
            say.text("--recompute-granularity", "full");
            let layers = match run.recompute {
                Recompute::Layers(layers) => Some(layers),
                _ => None,
            };
            say.text(
                "--recompute-method",
                if layers.is_some() { "block" } else { "uniform" },
            );
            say.count("--recompute-num-layers", layers.unwrap_or(1));
        }
        Recompute::Modules(modules) => {
            say.text("--recompute-granularity", "selective");
            let names = MODULES
                .iter()
                .filter(|(module, _)| modules.contains(module));
            let mut names: Vec<Value> = names
                .map(|(_, name)| Value::Text((*name).to_owned()))
                .collect();
            let one = if names.len() == 1 { names.pop() } else { None };
            say.value("--recompute-modules", one.unwrap_or(Value::List(names)));
        }
    }
    say.text(
        "--attention-backend",
        if run.flash_attention {
            "flash"
        } else {
            "unfused"
        },
    );
    if matches!(
        run.cross_entropy,
        CrossEntropy::MegatronFused | CrossEntropy::TeFused
    ) {
        say.yes("--cross-entropy-loss-fusion");
        let te = run.cross_entropy == CrossEntropy::TeFused;
        say.text(
            "--cross-entropy-fusion-impl",
            if te { "te" } else { "native" },
        );
    }
    if !run.fused_swiglu {
        say.yes("--no-bias-swiglu-fusion");
    }
    if run.cuda_graphs {
        say.text("--cuda-graph-impl", "local");
    }
    if run.moe_dispatch == MoeDispatch::PerNode {
        say.text("--moe-token-dispatcher-type", "flex");
        say.text("--moe-flex-dispatcher-backend", "deepep");
    }
    if let Some(factor) = run.capacity_factor {
        say.number("--moe-expert-capacity-factor", factor);
        say.yes("--moe-pad-expert-input-to-capacity");
    }
    if let Some(steps) = steps(run) {
        say.count("--train-iters", steps);
    }
}
