//! The format that launches a run, and the formats that are beside a script.

use shardscope_core::run::Run;
use shardscope_core::run::presets::Trainer;

/// Files that stand beside a script of one's own: what is trained is said there.
pub(crate) const BESIDE_A_SCRIPT: [&str; 3] = ["deepspeed", "accelerate", "peft"];

/// The format that launches `run`: that of its software's program, Megatron-LM's where the program has none. It is
/// given by its id, so that the page can ask for it without loading the dialects.
pub fn launcher(run: &Run) -> &'static str {
    match run.stack.preset_row().trainer {
        Trainer::Torchtitan => "torchtitan",
        Trainer::DeepSpeed => "deepspeed",
        Trainer::Torchtune => "torchtune",
        Trainer::Composer => "llm-foundry",
        Trainer::HuggingFace => "trl",
        Trainer::Nanotron => "nanotron",
        Trainer::Megatron | Trainer::PyTorch | Trainer::DeepSeek | Trainer::MaxText | Trainer::PaxMl => "megatron",
    }
}
