//! What is learnt from: the next token, pairs of answers, a teacher, labels. It decides how many sequences a sample is,
//! which models compute beside the one that is trained, and whether the head has a vocabulary.
//!
//! Sources, by program and commit: huggingface/trl f2cd577 `trainer/dpo_trainer.py` (chosen and rejected in one batch,
//! :1344; the reference behind it, :1373), `trainer/reward_trainer.py`; hiyouga/LLaMA-Factory ff6d4d1
//! `train/dpo/trainer.py` (`concatenated_forward`, `compute_reference_log_probs`), `train/kto/trainer.py:188` (a second
//! batch for the KL term), `train/trainer_utils.py:137` (no reference beside LoRA); modelscope/ms-swift 3602360
//! `megatron/trainers/dpo_trainer.py` (`forward_step`), `megatron/trainers/rlhf_mixin.py` (`ref_models`).

use super::based::{Based, Preset};
use super::phases::SecondModel;
use crate::field::{Choice, OneOf, fields, one_of, training};

one_of! {
    /// Objectives of training.
    Objective {
        /// Pretraining and supervised fine-tuning.
        NextToken = "next-token" "next token (pretraining, SFT)",
        /// Direct preference optimisation: pairs, and a reference.
        Dpo = "dpo" "DPO",
        /// Kahneman-Tversky optimisation: single answers, a reference, and mismatched answers for its KL term.
        Kto = "kto" "KTO",
        /// Odds-ratio preference optimisation: pairs without a reference.
        Orpo = "orpo" "ORPO",
        /// Simple preference optimisation: pairs without a reference.
        Simpo = "simpo" "SimPO",
        /// A reward model: pairs, and a head with one output.
        Reward = "reward" "reward model",
        /// A teacher's logits beside the student's.
        Distillation = "distillation" "distillation (GKD)",
        /// Labels of whole sequences.
        Classification = "classification" "classification",
        /// Scores of a query with a document; a positive and a negative one a sample.
        Reranking = "reranking" "reranking",
        /// Vectors of sequences; an anchor and a positive one a sample.
        Embedding = "embedding" "embedding",
    }
}

one_of! {
    /// Place of the reference model.
    ReferencePlace {
        /// A frozen copy of the weights on the GPUs.
        Resident = "resident" "on the GPU",
        /// A frozen copy in host memory, which comes for its pass.
        Offloaded = "offloaded" "on the host",
        /// The base without its adapters.
        AdaptersOff = "adapters-off" "the base, adapters off",
        /// No reference: log-probabilities are computed before, or the objective has none.
        Nowhere = "none" "none",
    }
}

fields! {
    /// The reference and the teacher as a person sets them.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObjectiveParts in "objective." {
        /// frozen copy of the model that DPO and KTO compare with; unset: the base with its adapters off, else a copy
        /// on the GPU
        reference: Option<ReferencePlace> => training("Reference model").advanced(),
        /// model whose logits are learnt from
        teacher: Option<SecondModel> => training("Teacher").advanced(),
    }
}

impl Preset for ObjectiveParts {
    fn presets() -> Vec<Choice> {
        Objective::choices()
    }
}

/// An objective understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    pub objective: Objective,
    pub reference: ReferencePlace,
    pub teacher: Option<SecondModel>,
}

impl Objective {
    /// Sequences of a sample that are in one batch.
    pub const fn sequences(self) -> u64 {
        match self {
            Self::Dpo | Self::Orpo | Self::Simpo | Self::Reward | Self::Reranking | Self::Embedding => 2,
            Self::NextToken | Self::Kto | Self::Distillation | Self::Classification => 1,
        }
    }

    /// It goes on with a model that was pretrained.
    pub const fn follows_pretraining(self) -> bool {
        !matches!(self, Self::NextToken)
    }

    /// It compares with a reference.
    pub const fn has_reference(self) -> bool {
        matches!(self, Self::Dpo | Self::Kto)
    }

    /// The loss reads a score or a vector of a sequence: the head has no vocabulary.
    pub const fn is_headless(self) -> bool {
        matches!(self, Self::Reward | Self::Classification | Self::Reranking | Self::Embedding)
    }

    /// The loss reads log-probabilities of whole answers, for which programs keep the logits.
    pub const fn reads_log_probabilities(self) -> bool {
        matches!(self, Self::Dpo | Self::Kto | Self::Orpo | Self::Simpo | Self::Distillation)
    }
}

impl Based<ObjectiveParts> {
    /// The objective that is named; the next token where none is.
    pub fn named(&self) -> Objective {
        self.base.and_then(Objective::from_id).unwrap_or(Objective::NextToken)
    }

    /// Resolves it, beside adapters or not.
    pub fn resolve(&self, adapters: bool) -> Learnt {
        let objective = self.named();
        let usual = match (objective.has_reference(), adapters) {
            (false, _) => ReferencePlace::Nowhere,
            (true, true) => ReferencePlace::AdaptersOff,
            (true, false) => ReferencePlace::Resident,
        };
        let teacher = self.parts.teacher.filter(|_| objective == Objective::Distillation);
        Learnt { objective, reference: self.parts.reference.unwrap_or(usual), teacher }
    }
}

impl Learnt {
    /// Forward passes of the trained model's size beside its own, which keep nothing for a backward pass: the
    /// reference's, and for KTO the reference's and the model's own over the mismatched answers.
    pub fn forwards(self) -> f64 {
        let reference = if self.reference == ReferencePlace::Nowhere { 0.0 } else { 1.0 };
        match self.objective {
            Objective::Dpo => reference,
            Objective::Kto => 1.0 + 2.0 * reference,
            _ => 0.0,
        }
    }

    /// A frozen copy of the trained model's weights.
    pub fn copies_weights(self) -> bool {
        matches!(self.reference, ReferencePlace::Resident | ReferencePlace::Offloaded)
    }

    /// Log-probabilities of another model are computed while the trained one's logits wait for the backward pass.
    pub fn compares(self) -> bool {
        self.forwards() > 0.0 || self.teacher.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TRL's `DPOTrainer` concatenates chosen and rejected and runs the reference once; LLaMA-Factory's `KTO` runs both
    /// models over answers and mismatched ones; ORPO's and `SimPO`'s papers have no reference.
    #[test]
    fn objectives_have_the_passes_of_their_trainers() {
        let learnt = |id: &'static str| Based::<ObjectiveParts>::preset(id).resolve(false);
        for (id, sequences, forwards, headless) in [
            ("next-token", 1, 0.0, false),
            ("dpo", 2, 1.0, false),
            ("kto", 1, 3.0, false),
            ("orpo", 2, 0.0, false),
            ("simpo", 2, 0.0, false),
            ("reward", 2, 0.0, true),
            ("classification", 1, 0.0, true),
        ] {
            let one = learnt(id);
            assert_eq!(one.objective.sequences(), sequences, "{id}");
            assert_eq!(one.forwards(), forwards, "{id}");
            assert_eq!(one.objective.is_headless(), headless, "{id}");
        }
        assert_eq!(learnt("dpo").reference, ReferencePlace::Resident);
        let beside = Based::<ObjectiveParts>::preset("dpo").resolve(true);
        assert_eq!(beside.reference, ReferencePlace::AdaptersOff);
    }
}
