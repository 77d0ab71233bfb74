//! Ways to train a part of a model that are no low-rank adapters: counted as LoRA of the rank that has as many numbers.
//!
//! Sources: modelscope/ms-swift 3602360 `swift/pipelines/train/tuner.py` (what it makes of its arguments),
//! `swift/arguments/tuner_args.py` (defaults), `swift/tuners/llamapro.py`, `swift/tuners/adapter.py`,
//! `swift/callbacks/lisa.py`; PEFT 0.18.0 `tuners/adalora/layer.py`, `boft/layer.py`, `bone/layer.py`,
//! `vera/layer.py`, `fourierft/layer.py`.

use crate::dialect::rows::prelude::*;
use shardscope_core::model::{Architecture, LayerKind, layer_elements, linears};

/// Sums over the linears of all layers.
#[derive(Default)]
struct Sums {
    inputs: f64,
    outputs: f64,
    linears: f64,
    /// Elements of all layers.
    layers: f64,
}

fn sums(model: &Architecture) -> Sums {
    let mut sums = Sums::default();
    let kinds = model.all_kinds();
    let each: &[(LayerKind, u64)] = &kinds;
    for (kind, layers) in each {
        let count = *layers as f64;
        for linear in linears(model, *kind) {
            let copies = count * linear.experts.unwrap_or(1) as f64;
            sums.inputs += copies * linear.input as f64;
            sums.outputs += copies * linear.output as f64;
            sums.linears += copies;
        }
        sums.layers += count * layer_elements(model, *kind).total() as f64;
    }
    sums
}

/// What is trained of a model.
pub(in crate::dialect) struct Counted {
    /// The rank of LoRA with as many numbers.
    pub rank: u64,
    /// True where it is in bf16 as the model is, as copies of its layers are.
    pub bf16: bool,
}

/// Takes the numbers of a way to train by its name in ms-swift; none where it is not one of them.
pub(in crate::dialect) fn counted(reader: &mut SettingsReader, kind: &str) -> Option<Counted> {
    const WAYS: [(&str, &str, u64); 8] = [
        ("adalora", "adalora_init_r", 12),
        ("adapter", "adapter_length", 128),
        ("boft", "boft_block_size", 4),
        ("bone", "reft_rank", 4),
        ("reft", "reft_rank", 4),
        ("vera", "vera_rank", 256),
        ("fourierft", "fourier_n_frequency", 2000),
        ("llamapro", "llamapro_num_new_blocks", 4),
    ];
    let (_, name, default) = WAYS.iter().find(|(way, ..)| *way == kind)?;
    let size = reader.count(name, "its size").filter(|size| *size > 0).unwrap_or(*default);
    let model = reader.run.model.resolve().ok()?;
    let (sums, n, layers) = (sums(&model), size as f64, model.layers.max(1) as f64);
    let numbers = match kind {
        // Two matrices of the rank that it begins with, and a diagonal.
        "adalora" => n * (sums.inputs + sums.outputs),
        // Down and up beside every layer's FFN or output.
        "adapter" | "reft" => 2.0 * n * model.hidden as f64 * layers,
        // A block of the inputs is turned, outputs are scaled.
        "boft" => n * sums.inputs + sums.outputs,
        "bone" => n * sums.outputs,
        // Two vectors: its matrices are shared and frozen.
        "vera" => sums.outputs + n * sums.linears,
        "fourierft" => n * sums.linears,
        // Copies of layers, trained whole.
        _ => n * sums.layers / layers,
    };
    let rank = rank_of(numbers, &sums);
    reader.assume(t!(
        "{kind} of size {size} is counted as LoRA of rank {rank}, which has as many numbers",
        kind = kind.to_owned(),
        size,
        rank
    ));
    Some(Counted { rank, bf16: kind == "llamapro" })
}

/// What LISA trains: `active` layers at a time, and the ends of the model. Layers that were active before leave no
/// states: the optimizer has the parameters that asked for gradients when it was made, before the first switch
/// (`swift/callbacks/lisa.py`, `on_step_begin`; transformers `trainer.py`, `create_optimizer`), and gradients are
/// dropped after each step.
pub(in crate::dialect) fn lisa(reader: &mut SettingsReader, active: u64) -> Option<Counted> {
    let model = reader.run.model.resolve().ok()?;
    let sums = sums(&model);
    let rank = rank_of(active as f64 * sums.layers / model.layers.max(1) as f64, &sums);
    reader.assume(t!(
        "LISA with {active} layers at a time is counted as LoRA of rank {rank} with trained embedding and head: the \
            longer backward pass is not counted",
        active,
        rank
    ));
    Some(Counted { rank, bf16: true })
}

fn rank_of(numbers: f64, sums: &Sums) -> u64 {
    shardscope_core::units::whole((numbers / (sums.inputs + sums.outputs).max(1.0)).ceil()).unwrap_or(1).max(1)
}
