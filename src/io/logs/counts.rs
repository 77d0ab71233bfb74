//! Whose count of FLOPs the TFLOP/s and the MFU are that a program prints.

use super::patterns::LogProgram;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::model::CountedBy;
use shardscope_core::run::OneOf;
use shardscope_core::t;

impl LogProgram {
    /// The published count that the program's figures follow; none where it is not known.
    pub(crate) fn counted_by(self) -> Option<CountedBy> {
        Some(match self {
            // Published rows of Megatron-Bridge and AutoModel (`docs/performance-summary.md`) and of MaxText
            // (AI-Hypercomputer/tpu-recipes): TFLOP/s over tokens a second are Megatron-LM's count, to 1 %.
            Self::MegatronLm | Self::MegatronSwift | Self::MegatronBridge | Self::AutoModel | Self::MaxText => {
                CountedBy::Megatron
            }
            Self::Torchtitan | Self::Nanochat => CountedBy::Torchtitan,
            Self::Nanotron => CountedBy::Nanotron,
            Self::Composer => CountedBy::Palm,
            _ => return None,
        })
    }

    /// Whose count of FLOPs its figures are, in a sentence.
    pub(crate) fn count_words(self) -> Message {
        let program = verbatim(self.name());
        if let Some(by) = self.counted_by() {
            return t!(
                "The TFLOP/s and the MFU that {program} prints follow the count of {by}: {remark}.",
                program,
                by = Message::plain(by.choice().label),
                remark = Message::plain(by.convention().remark)
            );
        }
        match self {
            Self::HfTrainer | Self::LlamaFactory | Self::Axolotl | Self::MsSwift => t!(
                "{program} itself prints no MFU: its total_flos are 6 FLOPs per token and parameter, without \
                    embeddings and attention. How a printed MFU counts FLOPs is not known.",
                program
            ),
            _ => t!("How {program} counts the FLOPs of its TFLOP/s and MFU is not known here.", program),
        }
    }
}
