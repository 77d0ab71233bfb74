//! Training in Megatron-LM's arguments: recomputation, kernels, steps.

use super::forks;
use super::precision;
use super::release::Release;
use crate::dialect::rows::prelude::*;

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
    // Of releases before 2022, and of Megatron-DeepSpeed: every layer again. Source: Megatron-LM v2.6
    // `megatron/arguments.py`, bigscience-workshop/Megatron-DeepSpeed `megatron/arguments.py`.
    let before = reader.any(["--checkpoint-activations", "--deepspeed-activation-checkpointing"], "full recomputation");
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
                let row = |name: &str| MODULES.iter().find(|(_, known)| *known == name);
                let (known, other): (Vec<_>, Vec<_>) = names.split_whitespace().partition(|name| row(name).is_some());
                for name in other {
                    reader
                        .assume(t!("module {name} is kept: its recomputation is not modelled", name = name.to_owned()));
                }
                let modules = MODULES.iter().filter(|(_, name)| known.contains(name));
                Recompute::Modules(modules.map(|(module, _)| *module).collect())
            }
        },
        _ if before => Recompute::Full,
        _ if short => Recompute::Selective,
        _ => Recompute::None,
    };
    reader.recompute(recompute);
}

fn kernels(reader: &mut SettingsReader) {
    attention_kernel(reader);
    if reader.flag("--no-gradient-accumulation-fusion", "weight gradients of their own") {
        reader.set("dummy_wgrad", false);
    }
    let fused = reader.flag("--cross-entropy-loss-fusion", "fused loss");
    let implementation = reader.word("--cross-entropy-fusion-impl", "fused loss of");
    let loss = match implementation.as_deref() {
        Some("te") if fused => CrossEntropy::TeFused,
        Some("linear") if fused => CrossEntropy::FusedLinear,
        _ if fused => CrossEntropy::MegatronFused,
        _ => CrossEntropy::Megatron,
    };
    reader.set("cross_entropy", loss.id());
    let apart = reader.flag("--no-bias-swiglu-fusion", "SwiGLU in several kernels");
    reader.set("fused_swiglu", !apart);
    reader.run.fp8_swiglu = reader.flag("--activation-func-fp8-input-store", "input of the SwiGLU in fp8");
    graphs(reader);
    offload(reader);
    if reader.flag("--use-transformer-engine-op-fuser", "experts and permutation as one kernel") {
        reader.set("stack.moe_fused", true);
    }
    if let Some(format) = reader.word("--moe-dispatch-fwd-dtype", "tokens to experts in") {
        reader.set("fp8_dispatch", format == "mxfp8");
    }
    if reader.flag("--delay-wgrad-compute", "weight gradients of experts wait") {
        reader.set("delay_wgrad", true);
    }
    experts(reader);
}

fn attention_kernel(reader: &mut SettingsReader) {
    let legacy = reader.flag("--use-flash-attn", "FlashAttention");
    reader.flag("--deepspeed", "the engine of DeepSpeed");
    let own = forks::is_deepspeed(reader);
    let legacy = legacy | (own && reader.any(forks::FLASH_OF_DEEPSPEED, "FlashAttention"));
    reader.flag("--use-mcore-models", "models of Megatron core");
    let backend = reader.word("--attention-backend", "attention");
    let layers = reader.word("--transformer-impl", "layers of");
    // Megatron-LM's own layers store the scores by default; Transformer Engine picks a kernel.
    let stored = matches!(backend.as_deref(), Some("unfused" | "local"))
        || (own || layers.as_deref() == Some("local")) && backend.is_none();
    let fused = legacy || !stored;
    if fused {
        for name in ["--attention-softmax-in-fp32", "--no-masked-softmax-fusion", "--masked-softmax-fusion"] {
            reader.moot(name, "the attention kernel has its own softmax");
        }
    }
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
    if reader.count("--flash-attention-version", "FlashAttention") == Some(3) && fused {
        reader.run.stack.parts.attention = Some(AttentionKernel::Flash3);
    }
    reader.set("flash_attention", fused);
}

/// Takes how tokens reach their experts, and what of the experts' work is kept, cloned or cut.
fn experts(reader: &mut SettingsReader) {
    if reader.run.model.resolve().is_ok_and(|model| model.moe.is_some()) {
        let forced = reader.flag("--moe-router-force-load-balancing", "the same tokens for every expert");
        reader.run.moe_balance = forced.then_some(Balance::Forced);
    }
    reader.run.shared_expert_overlap = reader.flag("--moe-shared-expert-overlap", "shared experts beside messages");
    reader.run.moe_rank_capacity = reader.number("--moe-expert-rank-capacity-factor", "room of an expert rank");
    reader.run.moe_paged_stash = reader.flag("--moe-paged-stash", "activations of experts in pages");
    let echo = reader.flag("--moe-enable-echo", "clones of experts");
    let clones = reader.count("--moe-num-echo-experts", "clones of experts, over all ranks");
    reader.run.moe_clones = clones.filter(|_| echo).map(|clones| clones.div_ceil(reader.run.ep.max(1)).min(16));
    let capacity = reader.number("--moe-expert-capacity-factor", "capacity factor");
    let padded = reader.flag("--moe-pad-expert-input-to-capacity", "padded to the capacity");
    reader.run.capacity_factor = capacity.filter(|_| padded).or_else(|| forks::capacity(reader));
    let dispatcher = reader.word("--moe-token-dispatcher-type", "expert dispatch");
    let old = reader.flag("--moe-enable-deepep", "expert dispatch by DeepEP");
    let backend = reader.word("--moe-flex-dispatcher-backend", "expert dispatch by");
    // `flex` alone is DeepEP.
    let dispatch = match backend.as_deref() {
        Some("hybridep") => MoeDispatch::HybridEp,
        None if dispatcher.as_deref() != Some("flex") && !old => MoeDispatch::AllToAll,
        _ => MoeDispatch::PerNode,
    };
    reader.set("moe_dispatch", dispatch.id());
}

/// Takes what waits on the host: states of the optimizer, whole layers (`--cpu-offloading-num-layers`) or the inputs of
/// modules.
fn offload(reader: &mut SettingsReader) {
    let states = reader.flag("--optimizer-cpu-offload", "states of the optimizer on the host");
    let share = reader.number("--optimizer-offload-fraction", "share of the states that leave");
    let layers = reader.count("--cpu-offloading-num-layers", "layers whose activations go to the host");
    let fine = reader.flag("--fine-grained-activation-offloading", "inputs of modules on the host");
    let names = reader.word("--offload-modules", "modules whose inputs go to the host");
    let mut leaving: Vec<Leaving> = Vec::new();
    for name in names.iter().filter(|_| fine).flat_map(|names| names.split([' ', ',']).filter(|name| !name.is_empty()))
    {
        match Leaving::from_id(name) {
            Some(module) => leaving.push(module),
            // Both of its products and what is between them.
            None if name == "fused_group_mlp" => leaving.extend([Leaving::ExpertFc1, Leaving::MoeAct]),
            None => reader
                .assume(t!("module {name} stays on the GPU: its offloading is not modelled", name = name.to_owned())),
        }
    }
    if leaving.is_empty() && layers.is_some_and(|layers| layers > 0) {
        leaving.push(Leaving::Cpu);
    }
    let layers = layers.filter(|_| leaving == [Leaving::Cpu]);
    let share = share.filter(|share| states && (0.0..1.0).contains(share));
    reader.run.offload = OffloadParts {
        optimizer: states.then_some(OffloadTo::Cpu),
        activations: Some(leaving).filter(|leaving| !leaving.is_empty()),
        layers,
        fraction: share,
        ..OffloadParts::default()
    };
    if reader.run.offload.leaves() {
        reader.run.offload.framework = Some(OffloadFramework::Megatron);
    }
}

fn write_offload(run: &Run, writer: &mut SettingsWriter) {
    let Some(offload) = run.offload.resolve(run, &run.software()) else { return };
    if offload.optimizer.is_some() {
        writer.say("--optimizer-cpu-offload", true);
        writer.when(offload.fraction < 1.0, "--optimizer-offload-fraction", offload.fraction);
    }
    let Some(leaving) = offload.activations else { return };
    if leaving.are_all() {
        let layers = run.model.resolve().map_or(0, |model| model.layers);
        let leave = offload.layers.unwrap_or(layers.saturating_sub(2).max(1));
        return writer.say("--cpu-offloading-num-layers", leave);
    }
    writer.say("--fine-grained-activation-offloading", true);
    let modules = Leaving::ALL.iter().filter(|(module, _)| leaving.hold(*module));
    writer.names("--offload-modules", modules.map(|(_, choice)| choice.id));
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
    reader.set("cuda_graphs", graphs.any());
    reader.run.graph_scope = graphs.any().then(|| graphs.parts());
}

fn write_graphs(graphs: Graphs, release: Release, writer: &mut SettingsWriter) {
    let parts = graphs.parts();
    if release < Release::Y2026 {
        match parts.as_slice() {
            [GraphPart::None] => {}
            [GraphPart::Layer] => writer.say("--enable-cuda-graph", true),
            [GraphPart::Iteration] => {
                writer.say("--enable-cuda-graph", true);
                writer.say("--cuda-graph-scope", "full_iteration");
            }
            parts => {
                writer.say("--external-cuda-graph", true);
                writer.names("--cuda-graph-scope", parts.iter().map(|part| part.id()));
            }
        }
        return;
    }
    match parts.as_slice() {
        [GraphPart::None] => writer.say("--cuda-graph-impl", "none"),
        [GraphPart::Iteration] => writer.say("--cuda-graph-impl", "full_iteration"),
        [GraphPart::Layer] => writer.say("--cuda-graph-impl", "local"),
        parts => {
            writer.say("--cuda-graph-impl", "transformer_engine");
            writer.names("--cuda-graph-modules", parts.iter().map(|part| part.id()));
        }
    }
}

fn write_experts(run: &Run, release: Release, writer: &mut SettingsWriter) {
    let software = run.software();
    let experts = run.model.resolve().is_ok_and(|model| model.moe.is_some());
    writer.when(software.moe_fused && experts, "--use-transformer-engine-op-fuser", true);
    writer.when(software.fp8_dispatch && experts, "--moe-dispatch-fwd-dtype", "mxfp8");
    writer.when(software.delay_wgrad, "--delay-wgrad-compute", true);
    writer.when(run.moe_balance == Some(Balance::Forced), "--moe-router-force-load-balancing", true);
    let backend = match software.moe_dispatch {
        MoeDispatch::AllToAll => None,
        MoeDispatch::PerNode => Some("deepep"),
        MoeDispatch::HybridEp => Some("hybridep"),
    };
    // As the time model computes, which is not Megatron-LM's default.
    writer.when(experts && backend.is_none(), "--moe-token-dispatcher-type", "alltoall");
    if let Some(backend) = backend {
        writer.say("--moe-token-dispatcher-type", "flex");
        match (release, software.moe_dispatch) {
            (Release::Y2024 | Release::Y2025, MoeDispatch::PerNode) => writer.say("--moe-enable-deepep", true),
            _ => writer.say("--moe-flex-dispatcher-backend", backend),
        }
    }
    writer.when(run.shared_expert_overlap, "--moe-shared-expert-overlap", true);
    writer.maybe("--moe-expert-rank-capacity-factor", run.moe_rank_capacity);
    writer.when(run.moe_paged_stash, "--moe-paged-stash", true);
    if let Some(slots) = run.moe_clones.filter(|slots| *slots > 0) {
        writer.say("--moe-enable-echo", true);
        writer.say("--moe-num-echo-experts", slots * run.ep);
    }
    if let Some(factor) = run.capacity_factor {
        writer.say("--moe-expert-capacity-factor", factor);
        writer.say("--moe-pad-expert-input-to-capacity", true);
    }
}

pub fn write(run: &Run, writer: &mut SettingsWriter) {
    let software = run.software();
    let release = Release::of(&software);
    precision::write(run, writer);
    match &run.recompute {
        Recompute::None | Recompute::OpSelective | Recompute::Budget(_) => {}
        Recompute::Selective => writer.say("--recompute-granularity", "selective"),
        Recompute::Full | Recompute::Layers(_) => {
            writer.say("--recompute-granularity", "full");
            let layers = match run.recompute {
                Recompute::Layers(layers) => Some(layers),
                _ => None,
            };
            writer.say("--recompute-method", if layers.is_some() { "block" } else { "uniform" });
            writer.say("--recompute-num-layers", layers.unwrap_or(1));
        }
        Recompute::Modules(modules) => {
            writer.say("--recompute-granularity", "selective");
            let names = MODULES.iter().filter(|(module, _)| modules.contains(module));
            writer.names("--recompute-modules", names.map(|(_, name)| *name));
        }
    }
    let asked = run.stack.parts.attention.is_some();
    match (release, software.attention) {
        // The kernel that the software takes on Blackwell where the same flag means FlashAttention-2 elsewhere.
        (Release::Y2024, AttentionKernel::Cudnn) if !asked => writer.say("--use-flash-attn", true),
        (Release::Y2024, AttentionKernel::Eager) => {
            writer.say("--use-mcore-models", true);
            writer.say("--transformer-impl", "local");
        }
        (Release::Y2024, AttentionKernel::Flash1 | AttentionKernel::Flash2) => writer.say("--use-flash-attn", true),
        (_, AttentionKernel::Eager) => writer.say("--attention-backend", "unfused"),
        (_, AttentionKernel::Cudnn | AttentionKernel::Fp8) => writer.say("--attention-backend", "fused"),
        (_, kernel) => {
            writer.say("--attention-backend", "flash");
            writer.when(kernel == AttentionKernel::Flash3, "--flash-attention-version", 3);
        }
    }
    let fused = match software.cross_entropy {
        CrossEntropy::MegatronFused => Some("native"),
        CrossEntropy::TeFused => Some("te"),
        CrossEntropy::FusedLinear => Some("linear"),
        _ => None,
    };
    if let Some(implementation) = fused {
        writer.say("--cross-entropy-loss-fusion", true);
        writer.say("--cross-entropy-fusion-impl", implementation);
    }
    writer.when(!software.fused_swiglu, "--no-bias-swiglu-fusion", true);
    writer.when(run.fp8_swiglu, "--activation-func-fp8-input-store", true);
    write_graphs(software.graphs, release, writer);
    if !software.dummy_wgrad && run.stack.preset_row().software.dummy_wgrad {
        writer.say("--no-gradient-accumulation-fusion", true);
    }
    write_offload(run, writer);
    write_experts(run, release, writer);
    writer.maybe("--train-iters", steps(run));
}
