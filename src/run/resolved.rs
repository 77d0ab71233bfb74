//! A Run with every optional field filled in with what it means, and the next value that a stepper would give.

use super::based::{GpuParts, ModelParts, PrecisionParts};
use super::registry::{Field, Slot, Steps};
use super::value::Value;
use super::{Precision, Run, Scenario};
use crate::cluster::Gpu;
use crate::model::Architecture;

/// How far the stepper looks for a value that works.
const SEARCH: u64 = 4096;

impl Run {
    /// The same Run with its presets spelled out and its unset fields set to what they mean, as far as it resolves:
    /// what the form shows in fields that were left alone.
    #[must_use]
    pub fn resolved(&self) -> Self {
        let mut run = self.clone();
        if let Ok(model) = self.model.resolve() {
            run.model.parts = ModelParts::from(model);
        }
        if let Ok(gpu) = self.gpu.resolve() {
            run.gpus_per_node = run.gpus_per_node.or(Some(gpu.per_node));
            run.gpu.parts = GpuParts::from(gpu);
        }
        if let Ok(precision) = self.precision.resolve() {
            run.precision.parts = PrecisionParts::from(precision);
        }
        run
    }

    /// This Run with `field` one step up or down; none where there is no further value that works.
    #[must_use]
    pub fn stepped(&self, field: &Field, up: bool) -> Option<Self> {
        let now = match field.get(self) {
            Value::Null => field.get(&self.resolved()),
            value => value,
        };
        let Value::Number(now) = now else {
            return None;
        };
        let with = |value: f64| {
            let mut run = self.clone();
            field.set(&mut run, &Value::Number(value)).ok()?;
            Some(run)
        };
        let steps = match &field.slot {
            Slot::Count { steps, .. } | Slot::Number { steps, .. } => *steps,
            _ => return None,
        };
        match steps {
            Steps::Double => with(if up { now * 2.0 } else { (now / 2.0).floor() }),
            Steps::By(step) => {
                let next = if up { now + step } else { now - step };
                // 0.1 + 0.2 is shown as 0.3.
                with((next * 1e9).round() / 1e9)
            }
            Steps::Valid => {
                let errors = |run: &Self| Scenario::new(run).err().map_or(0, |issues| issues.len());
                let wrong_now = errors(self);
                (1..=SEARCH)
                    .map(|distance| now + if up { distance as f64 } else { -(distance as f64) })
                    .take_while(|value| *value >= 1.0)
                    .filter_map(with)
                    .find(|run| errors(run) <= wrong_now)
            }
        }
    }
}

impl From<Architecture> for ModelParts {
    fn from(model: Architecture) -> Self {
        let (moe, mla, vision) = (model.moe, model.mla, model.vision);
        Self {
            layers: Some(model.layers),
            hidden: Some(model.hidden),
            ffn: Some(model.ffn),
            heads: Some(model.heads),
            kv_heads: Some(model.kv_heads),
            head_dim: Some(model.head_dim),
            vocab: Some(model.vocab),
            gated_ffn: Some(model.gated_ffn),
            tied_embeddings: Some(model.tied_embeddings),
            norm: Some(model.norm),
            biases: Some(model.biases),
            dropout: Some(model.dropout),
            learned_positions: Some(model.learned_positions),
            mtp_modules: Some(model.mtp_modules),
            experts: moe.map(|moe| moe.experts),
            top_k: moe.map(|moe| moe.top_k),
            expert_ffn: moe.map(|moe| moe.expert_ffn),
            shared_experts: moe.map(|moe| moe.shared_experts),
            dense_layers: moe.map(|moe| moe.dense_layers),
            q_lora_rank: mla.map(|mla| mla.q_lora_rank),
            kv_lora_rank: mla.map(|mla| mla.kv_lora_rank),
            qk_nope_head_dim: mla.map(|mla| mla.qk_nope_head_dim),
            qk_rope_head_dim: mla.map(|mla| mla.qk_rope_head_dim),
            v_head_dim: mla.map(|mla| mla.v_head_dim),
            image_width: vision.map(|vision| vision.image_width),
            image_height: vision.map(|vision| vision.image_height),
            channels: vision.map(|vision| vision.channels),
            patch: vision.map(|vision| vision.patch),
            vision_hidden: vision.map(|vision| vision.hidden),
            vision_ffn: vision.map(|vision| vision.ffn),
            vision_layers: vision.map(|vision| vision.layers),
        }
    }
}

impl From<Gpu> for GpuParts {
    fn from(gpu: Gpu) -> Self {
        // Through decimal text, so that 79.2 GiB come back as 79.2 and not as 79.19999.
        let tidy = |value: f64| Some((value * 1e6).round() / 1e6);
        Self {
            memory_gib: tidy(gpu.memory.gib()),
            usable_gib: tidy(gpu.usable.gib()),
            bf16_tflops: tidy(gpu.bf16.0 / 1e12),
            fp8_tflops: tidy(gpu.fp8.0 / 1e12),
            hbm_gb_per_s: tidy(gpu.hbm.0 / 1e9),
            intra_gb_per_s: tidy(gpu.intra.0 / 1e9),
            inter_gb_per_s: tidy(gpu.inter.0 / 1e9),
            gpus_per_node: Some(gpu.per_node),
        }
    }
}

impl From<Precision> for PrecisionParts {
    fn from(bytes: Precision) -> Self {
        Self {
            weights: Some(bytes.weights),
            grads: Some(bytes.grads),
            grad_accumulation: Some(bytes.grad_accumulation),
            master: Some(bytes.master),
            moment1: Some(bytes.moment1),
            moment2: Some(bytes.moment2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::registry::field;

    fn step(run: &Run, key: &str, up: bool) -> Option<String> {
        let field = field(key).unwrap();
        run.stepped(field, up).and_then(|run| field.text(&run))
    }

    #[test]
    fn the_stepper_walks_values_that_work() {
        let run = Run::default();
        let up = |key| step(&run, key, true).unwrap();
        let down = |key| step(&run, key, false).unwrap();
        assert_eq!((up("tp"), down("tp")), ("4".to_owned(), "1".to_owned()));
        assert_eq!((up("pp"), down("pp")), ("8".to_owned(), "2".to_owned()));
        assert_eq!(up("gpus"), "128");
        assert_eq!(up("global_batch"), "264");
        assert_eq!(step(&run, "micro_batch", false), None);
        assert_eq!(up("seq_len"), "16384");
        assert_eq!(up("overlap.tp"), "0.4");
        assert_eq!(up("model.layers"), "33");
        assert_eq!(step(&run, "zero", false), Some("0".to_owned()));
    }

    #[test]
    fn a_resolved_run_means_the_same() {
        let run = Run::default();
        let spelled = Scenario::new(&run.resolved()).unwrap();
        let short = Scenario::new(&run).unwrap();
        assert_eq!(spelled.model, short.model);
        assert_eq!(spelled.layout, short.layout);
    }
}
