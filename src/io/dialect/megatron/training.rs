//! Training in Megatron-LM's arguments: recomputation, kernels, steps.

use super::precision;
use crate::core::run::{AttentionKernel, CrossEntropy, Module, MoeDispatch, OneOf, Recompute, Run, Value};
use crate::core::t;
use crate::io::dialect::settings_reader::SettingsReader;
use crate::io::dialect::settings_writer::SettingsWriter;

/// The modules that selective recomputation names.
const MODULES: [(Module, &str); 5] = [
    (Module::Norm, "layernorm"),
    (Module::Mlp, "mlp"),
    (Module::MoeAct, "moe_act"),
    (Module::MlaUp, "mla_up_proj"),
    (Module::CoreAttn, "core_attn"),
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
    let graphs = reader.flag("--enable-cuda-graph", "CUDA graphs");
    let local = reader.word("--cuda-graph-impl", "CUDA graphs").is_some_and(|by| by != "none");
    reader.set("cuda_graphs", &Value::Bool(graphs || local));
    if reader.flag("--fine-grained-activation-offloading", "activations go to the host") {
        reader.assume("activations stay on the GPU: their offloading is not modelled");
    }
    let capacity = reader.number("--moe-expert-capacity-factor", "capacity factor");
    let padded = reader.flag("--moe-pad-expert-input-to-capacity", "padded to the capacity");
    reader.run.capacity_factor = capacity.filter(|_| padded);
    let dispatcher = reader.word("--moe-token-dispatcher-type", "expert dispatch");
    let old = reader.flag("--moe-enable-deepep", "expert dispatch by DeepEP");
    let backend = reader.word("--moe-flex-dispatcher-backend", "expert dispatch by");
    // DeepEP and HybridEP both; `flex` alone is DeepEP.
    let dispatch = if dispatcher.as_deref() == Some("flex") || old || backend.is_some() {
        MoeDispatch::PerNode
    } else {
        MoeDispatch::AllToAll
    };
    reader.set("moe_dispatch", &Value::Text(dispatch.id().to_owned()));
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
    if software.cuda_graphs {
        writer.text("--cuda-graph-impl", "local");
    }
    if software.moe_dispatch == MoeDispatch::PerNode {
        writer.text("--moe-token-dispatcher-type", "flex");
        writer.text("--moe-flex-dispatcher-backend", "deepep");
    }
    if let Some(factor) = run.capacity_factor {
        writer.number("--moe-expert-capacity-factor", factor);
        writer.yes("--moe-pad-expert-input-to-capacity");
    }
    writer.steps("--train-iters", run);
}
