//! Training in Megatron-LM's arguments: recomputation, kernels, steps.

use super::precision;
use crate::core::run::{
    AttentionKernel, Balance, CrossEntropy, GraphPart, Graphs, Module, MoeDispatch, OneOf, Recompute, Run, Value,
};
use crate::core::t;
use crate::io::dialect::settings_reader::SettingsReader;
use crate::io::dialect::settings_writer::SettingsWriter;

/// The modules that selective recomputation names.
const MODULES: [(Module, &str); 7] = [
    (Module::Norm, "layernorm"),
    (Module::Mlp, "mlp"),
    (Module::MoeAct, "moe_act"),
    (Module::MlaUp, "mla_up_proj"),
    (Module::CoreAttn, "core_attn"),
    (Module::Moe, "moe"),
    (Module::SharedExperts, "shared_experts"),
];

/// Takes all of it.
pub fn read(reader: &mut SettingsReader) {
    precision::read(reader);
    recompute(reader);
    kernels(reader);
    let count = reader.count("--train-iters", "steps").or_else(|| {
        let samples = reader.count("--train-samples", "samples")?;
        Some(samples / reader.run.global_batch.max(1))
    });
    reader.steps(count);
}

fn recompute(reader: &mut SettingsReader) {
    let short = reader.flag("--recompute-activations", "selective recomputation");
    let granularity = reader.word("--recompute-granularity", "recomputation");
    let method = reader.word("--recompute-method", "by");
    let layers = reader.count("--recompute-num-layers", "layers");
    let modules = reader.word("--recompute-modules", "modules");
    let recompute = match granularity.as_deref() {
        Some("full") if method.as_deref() == Some("block") => Recompute::Layers(layers.unwrap_or(1)),
        Some("full") => {
            if layers.is_some_and(|layers| layers > 1) {
                reader
                    .assume("full recomputation of every layer: the inputs that groups of layers save are not counted");
            }
            Recompute::Full
        }
        Some("selective") => match modules {
            None => Recompute::Selective,
            Some(names) => {
                let known = |name: &str| MODULES.iter().find(|(_, known)| *known == name);
                let (known, other): (Vec<_>, Vec<_>) = names.split_whitespace().partition(|name| known(name).is_some());
                for name in other {
                    reader
                        .assume(t!("module {name} is kept: its recomputation is not modelled", name = name.to_owned()));
                }
                let modules = MODULES.iter().filter(|(_, name)| known.contains(name));
                Recompute::Modules(modules.map(|(module, _)| *module).collect())
            }
        },
        _ if short => Recompute::Selective,
        _ => Recompute::None,
    };
    reader.recompute(recompute);
}

fn kernels(reader: &mut SettingsReader) {
    let legacy = reader.flag("--use-flash-attn", "FlashAttention");
    let backend = reader.word("--attention-backend", "attention");
    let layers = reader.word("--transformer-impl", "layers of");
    // Megatron-LM's own layers store the scores by default; Transformer Engine picks a kernel.
    let stored = matches!(backend.as_deref(), Some("unfused" | "local"))
        || layers.as_deref() == Some("local") && backend.is_none();
    let fused = legacy || !stored;
    // A kernel of the page's stack that this contradicts is not what the text means.
    let kernel = &mut reader.run.stack.parts.attention;
    *kernel = kernel.filter(|kernel| (*kernel != AttentionKernel::Eager) == fused);
    let is_cudnn = |kernel| matches!(kernel, AttentionKernel::Cudnn | AttentionKernel::Fp8);
    let cudnn = is_cudnn(reader.run.attention_kernel());
    match backend.as_deref() {
        Some("fused") if !cudnn => {
            reader.run.stack.parts.attention = Some(AttentionKernel::Cudnn);
        }
        Some("flash") if cudnn => reader.run.stack.parts.attention = Some(AttentionKernel::Flash2),
        _ => {}
    }
    reader.set("flash_attention", &Value::Bool(fused));
    if reader.flag("--no-gradient-accumulation-fusion", "weight gradients of their own") {
        reader.set("dummy_wgrad", &Value::Bool(false));
    }
    let fused = reader.flag("--cross-entropy-loss-fusion", "fused loss");
    let implementation = reader.word("--cross-entropy-fusion-impl", "fused loss of");
    let loss = match implementation.as_deref() {
        Some("te") if fused => CrossEntropy::TeFused,
        _ if fused => CrossEntropy::MegatronFused,
        _ => CrossEntropy::Megatron,
    };
    reader.set("cross_entropy", &Value::Text(loss.id().to_owned()));
    let apart = reader.flag("--no-bias-swiglu-fusion", "SwiGLU in several kernels");
    reader.set("fused_swiglu", &Value::Bool(!apart));
    graphs(reader);
    if reader.flag("--fine-grained-activation-offloading", "activations go to the host") {
        reader.assume("activations stay on the GPU: their offloading is not modelled");
    }
    if reader.flag("--delay-wgrad-compute", "weight gradients of experts wait") {
        reader.set("delay_wgrad", &Value::Bool(true));
    }
    if reader.run.model.resolve().is_ok_and(|model| model.moe.is_some()) {
        let forced = reader.flag("--moe-router-force-load-balancing", "the same tokens for every expert");
        reader.run.moe_balance = forced.then_some(Balance::Forced);
    }
    let capacity = reader.number("--moe-expert-capacity-factor", "capacity factor");
    let padded = reader.flag("--moe-pad-expert-input-to-capacity", "padded to the capacity");
    reader.run.capacity_factor = capacity.filter(|_| padded);
    let dispatcher = reader.word("--moe-token-dispatcher-type", "expert dispatch");
    let old = reader.flag("--moe-enable-deepep", "expert dispatch by DeepEP");
    let backend = reader.word("--moe-flex-dispatcher-backend", "expert dispatch by");
    // `flex` alone is DeepEP.
    let dispatch = match backend.as_deref() {
        Some("hybridep") => MoeDispatch::HybridEp,
        None if dispatcher.as_deref() != Some("flex") && !old => MoeDispatch::AllToAll,
        _ => MoeDispatch::PerNode,
    };
    reader.set("moe_dispatch", &Value::Text(dispatch.id().to_owned()));
}

/// Takes what CUDA graphs launch: `--cuda-graph-impl` with its modules, and the flags before it.
fn graphs(reader: &mut SettingsReader) {
    let whole = reader.flag("--enable-cuda-graph", "CUDA graphs of layers");
    let outside = reader.flag("--external-cuda-graph", "CUDA graphs of layers");
    let by = reader.word("--cuda-graph-impl", "CUDA graphs by");
    let modules = reader.word("--cuda-graph-modules", "CUDA graphs of");
    let modules = modules.or_else(|| reader.word("--cuda-graph-scope", "CUDA graphs of"));
    let named = modules.unwrap_or_default();
    let named: Vec<&str> = named.split([' ', ',']).filter(|name| !name.is_empty()).collect();
    let parts = match by.as_deref() {
        Some("none") => vec![GraphPart::None],
        Some("full_iteration") => vec![GraphPart::Iteration],
        _ if named.contains(&"full_iteration") => vec![GraphPart::Iteration],
        None if !whole && !outside => vec![GraphPart::None],
        _ => match named.iter().filter_map(|name| GraphPart::from_id(name)).collect::<Vec<_>>() {
            parts if parts.is_empty() => vec![GraphPart::Layer],
            parts => parts,
        },
    };
    let graphs = Graphs::of(&parts);
    reader.set("cuda_graphs", &Value::Bool(graphs.any()));
    reader.run.graph_scope = graphs.any().then(|| graphs.parts());
}

/// Says what they launch.
fn write_graphs(graphs: Graphs, writer: &mut SettingsWriter) {
    let parts = graphs.parts();
    match parts.as_slice() {
        [GraphPart::None] => {}
        [GraphPart::Iteration] => writer.text("--cuda-graph-impl", "full_iteration"),
        [GraphPart::Layer] => writer.text("--cuda-graph-impl", "local"),
        parts => {
            writer.text("--cuda-graph-impl", "transformer_engine");
            let mut names: Vec<Value> = parts.iter().map(|part| Value::Text(part.id().to_owned())).collect();
            let one = if names.len() == 1 { names.pop() } else { None };
            writer.value("--cuda-graph-modules", one.unwrap_or(Value::List(names)));
        }
    }
}

/// Says the same.
pub fn write(run: &Run, writer: &mut SettingsWriter) {
    let software = run.software();
    precision::write(run, writer);
    match &run.recompute {
        Recompute::None | Recompute::OpSelective => {}
        Recompute::Selective => writer.text("--recompute-granularity", "selective"),
        Recompute::Full | Recompute::Layers(_) => {
            writer.text("--recompute-granularity", "full");
            let layers = match run.recompute {
                Recompute::Layers(layers) => Some(layers),
                _ => None,
            };
            writer.text("--recompute-method", if layers.is_some() { "block" } else { "uniform" });
            writer.count("--recompute-num-layers", layers.unwrap_or(1));
        }
        Recompute::Modules(modules) => {
            writer.text("--recompute-granularity", "selective");
            let names = MODULES.iter().filter(|(module, _)| modules.contains(module));
            let mut names: Vec<Value> = names.map(|(_, name)| Value::Text((*name).to_owned())).collect();
            let one = if names.len() == 1 { names.pop() } else { None };
            writer.value("--recompute-modules", one.unwrap_or(Value::List(names)));
        }
    }
    writer.text(
        "--attention-backend",
        match software.attention {
            AttentionKernel::Eager => "unfused",
            AttentionKernel::Cudnn | AttentionKernel::Fp8 => "fused",
            _ => "flash",
        },
    );
    if matches!(software.cross_entropy, CrossEntropy::MegatronFused | CrossEntropy::TeFused) {
        writer.yes("--cross-entropy-loss-fusion");
        let te = software.cross_entropy == CrossEntropy::TeFused;
        writer.text("--cross-entropy-fusion-impl", if te { "te" } else { "native" });
    }
    if !software.fused_swiglu {
        writer.yes("--no-bias-swiglu-fusion");
    }
    write_graphs(software.graphs, writer);
    if software.delay_wgrad {
        writer.yes("--delay-wgrad-compute");
    }
    if run.moe_balance == Some(Balance::Forced) {
        writer.yes("--moe-router-force-load-balancing");
    }
    let backend = match software.moe_dispatch {
        MoeDispatch::AllToAll => None,
        MoeDispatch::PerNode => Some("deepep"),
        MoeDispatch::HybridEp => Some("hybridep"),
    };
    if let Some(backend) = backend {
        writer.text("--moe-token-dispatcher-type", "flex");
        writer.text("--moe-flex-dispatcher-backend", backend);
    }
    if let Some(factor) = run.capacity_factor {
        writer.number("--moe-expert-capacity-factor", factor);
        writer.yes("--moe-pad-expert-input-to-capacity");
    }
    writer.steps("--train-iters", run);
}
