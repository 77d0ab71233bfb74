//! Precision and optimizer in Megatron-LM's arguments.

use crate::dialect::rows::prelude::*;

/// Names of the policies in `--fp8-recipe`; the first where it is silent.
const RECIPES: [(&str, &str); 4] =
    [("delayed", "fp8-delayed"), ("tensorwise", "fp8-current"), ("blockwise", "fp8-blockwise"), ("mxfp8", "mxfp8")];

/// Bytes of the types that optimizer states may have.
const DTYPES: [(&str, f64); 4] = [("fp32", 4.0), ("bf16", 2.0), ("fp16", 2.0), ("fp8", 1.0)];

/// Master weights of two bytes: what bf16 leaves of an fp32 weight. Source: Megatron-LM `distrib_optimizer.py`,
/// `store_param_remainders`.
const REMAINDERS: f64 = 2.0;

/// Takes what passes compute in, what the optimizer keeps, and which it is.
pub fn read(reader: &mut SettingsReader) {
    let half = reader.flag("--fp16", "fp16");
    let brain = reader.flag("--bf16", "bf16");
    let low = low_precision(reader);
    let accumulate = reader.flag("--accumulate-allreduce-grads-in-fp32", "fp32 gradients");
    // `fully_shard` gets a mesh and `reshard_after_forward` alone, no mixed-precision policy: gradients have the type
    // of the weights, and `grad_reduce_in_fp32` is not asked. Source: Megatron-LM d98e8a6
    // `core/distributed/torch_fully_sharded_data_parallel.py`.
    let reduce = reader.flag("--grad-reduce-in-bf16", "bf16 gradients") || reader.has("--use-torch-fsdp2");
    let recipe = reader.run.software().grad_reduce_bytes;
    if accumulate && recipe.is_some_and(|bytes| bytes < 4.0) {
        reader.run.stack.parts.grad_reduce_bytes = Some(4.0);
    }
    let id = match (low, brain, half) {
        (Some(id), ..) => id,
        (_, true, _) if reduce => "bf16",
        // Gradients of a bf16 run accumulate in fp32 unless it says otherwise.
        (_, true, _) => "bf16-fp32-grads",
        (_, _, true) if accumulate => "bf16-fp32-grads",
        (_, _, true) => "fp16",
        _ => "fp32",
    };
    if low.is_some() && !brain && !half {
        // `args.params_dtype = torch.float` unless one of the two is said: Megatron-LM d98e8a6 `arguments.py:1194`.
        reader
            .assume("bf16 beside the quantised linears: without --bf16 Megatron-LM keeps them in fp32, which is more");
    }
    let gathered =
        reader.any(["--fp8-param-gather", "--fp4-param-gather"], "weights of linears in low precision alone");
    let [first, last] = ends_in_bf16(reader);
    let mut parts = PrecisionParts {
        bf16_first: first.filter(|_| low.is_some()),
        bf16_last: last.filter(|_| low.is_some()),
        grads: (low.is_some() && reduce).then_some(2.0),
        param_gather: (low.is_some() && gathered).then_some(true),
        ..PrecisionParts::default()
    };
    states(reader, &mut parts);
    reader.policy(Based { base: Some(id), parts });
    optimizer(reader);
}

/// The recipe of a run whose linears are quantised.
fn low_precision(reader: &mut SettingsReader) -> Option<&'static str> {
    let eight = reader.word("--fp8-format", "fp8").is_some();
    let recipe = reader.word("--fp8-recipe", "recipe");
    let four = reader.word("--fp4-format", "fp4").is_some();
    reader.word("--fp4-recipe", "recipe");
    let attention = reader.any(["--fp8-dot-product-attention", "--fp8-multi-head-attention"], "attention in fp8");
    if attention && eight {
        reader.run.stack.parts.attention = Some(AttentionKernel::Fp8);
    }
    if four {
        return Some("nvfp4");
    }
    let recipe = recipe.filter(|_| eight);
    let recipe_named = |name: &str| RECIPES.iter().find(|(known, _)| *known == name);
    match recipe {
        None => eight.then_some(RECIPES[0].1),
        Some(name) => Some(recipe_named(&name).map_or_else(
            || {
                reader.assume(t!("delayed scaling: the recipe {recipe} is not known", recipe = name.clone()));
                RECIPES[0].1
            },
            |(_, id)| *id,
        )),
    }
}

/// Layers at the start and at the end that stay in bf16: one each unless their numbers are said.
fn ends_in_bf16(reader: &mut SettingsReader) -> [Option<u64>; 2] {
    let kept = reader.flag("--first-last-layers-bf16", "first and last layers in bf16");
    let names = [
        ("--num-layers-at-start-in-bf16", "first layers in bf16"),
        ("--num-layers-at-end-in-bf16", "last layers in bf16"),
    ];
    names.map(|(name, what)| {
        let count = reader.count(name, what);
        kept.then(|| count.unwrap_or(1))
    })
}

/// Bytes of the states that a precision-aware optimizer keeps.
fn states(reader: &mut SettingsReader, parts: &mut PrecisionParts) {
    let aware = reader.flag("--use-precision-aware-optimizer", "states of chosen precision");
    let mut bytes = |name: &str, what| {
        let word = reader.word(name, what)?;
        // As Megatron-Bridge's files have it: `torch.bfloat16`.
        let kind = match word.strip_prefix("torch.").unwrap_or(&word) {
            "float32" => "fp32",
            "bfloat16" => "bf16",
            "float16" | "half" => "fp16",
            "uint8" => "fp8",
            other => other,
        };
        let row = DTYPES.iter().find(|(dtype, _)| *dtype == kind);
        if row.is_none() {
            reader.leave(name);
        }
        row.map(|(_, bytes)| *bytes)
    };
    let grads = bytes("--main-grads-dtype", "gradients in");
    let master = bytes("--main-params-dtype", "master weights in");
    let first = bytes("--exp-avg-dtype", "first moment in");
    let second = bytes("--exp-avg-sq-dtype", "second moment in");
    if !aware {
        return;
    }
    parts.master = Some(master.map_or(REMAINDERS, |bytes| bytes.min(REMAINDERS)));
    (parts.moment1, parts.moment2) = (first, second);
    parts.grads = grads.filter(|bytes| *bytes < 4.0).or(parts.grads);
}

fn optimizer(reader: &mut SettingsReader) {
    let momentum = reader.number("--sgd-momentum", "momentum");
    let optimizer = match reader.word("--optimizer", "optimizer").as_deref() {
        None | Some("adam") => Optimizer::Adam,
        Some("sgd") if momentum == Some(0.0) => Optimizer::Sgd,
        Some("sgd") => Optimizer::SgdMomentum,
        Some("muon") => Optimizer::Muon,
        // "Use --optimizer muon --use-distributed-optimizer instead."
        Some("dist_muon") => {
            reader.run.zero = reader.run.zero.max(1);
            Optimizer::Muon
        }
        Some("lion") => Optimizer::Lion,
        Some(other) => {
            reader.leave("--optimizer");
            let message = t!("optimizer as on this page: {other} is not known", other = other.to_owned());
            reader.assume(message);
            reader.run.optimizer
        }
    };
    reader.run.optimizer = optimizer;
}

pub fn write(run: &Run, writer: &mut SettingsWriter) {
    match computes(&run.precision) {
        "fp16" => writer.say("--fp16", true),
        "fp32" => {}
        _ => writer.say("--bf16", true),
    }
    if let Ok(bytes) = run.precision.resolve() {
        let recipe = run.precision.base.unwrap_or("");
        let short = bytes.gradients() < 4.0;
        let aware =
            bytes.master == REMAINDERS && bytes.recipe.is_some() || run.precision.parts.master == Some(REMAINDERS);
        writer.when(short && (bytes.recipe.is_some() || is_precision(run, "bf16")), "--grad-reduce-in-bf16", true);
        // Reductions in bf16 are what the recipes of 2025 do.
        let recipes = run.stack.preset_row().software.grad_reduce_bytes;
        if !short && recipes.is_some_and(|bytes| bytes < 4.0) && run.software().grad_reduce_bytes == Some(4.0) {
            writer.say("--accumulate-allreduce-grads-in-fp32", true);
        }
        writer.when(bytes.recipe.is_none() && computes(&run.precision) == "fp8", "--fp8-format", "hybrid");
        if let Some((name, _)) = RECIPES.iter().find(|(_, id)| *id == recipe) {
            writer.say("--fp8-format", if bytes.recipe.is_some_and(|r| r.per_tensor) { "hybrid" } else { "e4m3" });
            writer.say("--fp8-recipe", *name);
            writer.when(bytes.param_gather, "--fp8-param-gather", true);
            writer.when(run.attention_kernel() == AttentionKernel::Fp8, "--fp8-dot-product-attention", true);
        }
        if recipe == "nvfp4" {
            writer.say("--fp4-format", "e2m1");
            writer.say("--fp4-recipe", "nvfp4");
            writer.when(bytes.param_gather, "--fp4-param-gather", true);
        }
        let (first, last) = (bytes.bf16_first, bytes.bf16_last);
        if bytes.recipe.is_some() && first + last > 0 {
            writer.say("--first-last-layers-bf16", true);
            writer.say("--num-layers-at-start-in-bf16", first);
            writer.say("--num-layers-at-end-in-bf16", last);
        }
        if aware {
            writer.say("--use-precision-aware-optimizer", true);
            let dtype = |bytes: f64| match bytes {
                4.0 => "fp32",
                2.0 => "bf16",
                _ => "fp8",
            };
            writer.say("--main-grads-dtype", if short { "bf16" } else { "fp32" });
            writer.say("--exp-avg-dtype", dtype(bytes.moment1));
            writer.say("--exp-avg-sq-dtype", dtype(bytes.moment2));
        }
    }
    let (optimizer, momentum) = match run.optimizer {
        Optimizer::Sgd => ("sgd", Some(0)),
        Optimizer::SgdMomentum => ("sgd", None),
        Optimizer::Muon => ("muon", None),
        Optimizer::Lion => ("lion", None),
        _ => ("adam", None),
    };
    writer.say("--optimizer", optimizer);
    writer.maybe("--sgd-momentum", momentum);
}
