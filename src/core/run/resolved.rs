//! A Run with every optional field filled in with what it means, and the next value that a stepper would give.

use super::registry::{Field, Slot, Steps};
use super::{GpuParts, ModelParts, PrecisionParts};
use super::{Run, Scenario};
use crate::field::Value;
use crate::maths::exp2;

/// Consecutive integers that the stepper tries until one works.
const MAX_TRIES: u64 = 4096;

impl Run {
    /// The Run with its presets spelled out and its unset fields set to what they mean, as far as it resolves: what the
    /// form shows in fields that were left alone.
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
            if precision.recipe.is_none() {
                run.precision.parts.param_gather = None;
            }
            if !precision.is_low() {
                (run.precision.parts.bf16_first, run.precision.parts.bf16_last) = (None, None);
            }
        }
        run.spell_stack();
        run.length.spell();
        if let (None, Ok(scenario)) = (&self.stage_layers, Scenario::new(self)) {
            run.stage_layers = Some(scenario.stage_layers);
        }
        run
    }

    /// This Run with `field` one step up or down; none where there is no further value that works.
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
            Steps::Valid | Steps::Round => {
                let errors = |run: &Self| Scenario::new(run).err().map_or(0, |issues| issues.len());
                let wrong_now = errors(self);
                let works = |run: &Self| errors(run) <= wrong_now;
                if steps == Steps::Round
                    && let Some(run) = round(now, up).filter_map(with).find(works)
                {
                    return Some(run);
                }
                (1..=MAX_TRIES)
                    .map(|distance| now + if up { distance as f64 } else { -(distance as f64) })
                    .take_while(|value| *value >= 1.0)
                    .filter_map(with)
                    .find(works)
            }
        }
    }
}

/// Round numbers that the stepper tries until one works.
const MAX_ROUND: usize = 256;

/// The numbers from `now` to its double or half: the multiples of the largest power of two first, then those of the
/// next smaller power, at most [`MAX_ROUND`] in all.
fn round(now: f64, up: bool) -> impl Iterator<Item = f64> {
    let powers = (0..42).rev().map(|power| exp2(f64::from(power)));
    let candidates = move |power: f64| {
        let first = if up { (now / power).floor() + 1.0 } else { (now / power).ceil() - 1.0 };
        let multiples = (0..MAX_ROUND).map(move |distance| {
            let distance = distance as f64;
            power * if up { first + distance } else { first - distance }
        });
        multiples.take_while(move |value| *value >= 1.0 && *value <= now * 2.0 && *value * 2.0 >= now)
    };
    powers.flat_map(candidates).take(MAX_ROUND)
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
        assert_eq!((up("global_batch"), down("global_batch")), ("512".to_owned(), "128".to_owned()));
        assert_eq!(step(&run, "micro_batch", false), None);
        assert_eq!(up("seq_len"), "16384");
        assert_eq!(up("overlap.tp"), "0.4");
        assert_eq!(up("model.layers"), "33");
        assert_eq!(step(&run, "zero", false), Some("0".to_owned()));
    }

    #[test]
    fn batch_and_cluster_grow_by_round_numbers_that_divide() {
        // One data-parallel rank: every batch divides, and 257 is not a usual one.
        let wide = Run { tp: 16, ..Run::default() };
        assert_eq!(step(&wide, "global_batch", true).unwrap(), "512");
        // Eight ranks a replica, and replicas that divide 256 sequences: up to 2048 GPUs, and no further.
        let mut run = Run::default();
        for gpus in ["128", "256", "512", "1024", "2048"] {
            let field = field("gpus").unwrap();
            run = run.stepped(field, true).unwrap();
            assert_eq!(field.text(&run).unwrap(), gpus);
        }
        assert_eq!(step(&run, "gpus", true), None);
        // 24 ranks a replica: no power of two divides.
        let odd = Run { pp: 12, gpus: 192, ..Run::default() };
        assert_eq!(step(&odd, "gpus", true).unwrap(), "384");
        assert_eq!(step(&odd, "gpus", false).unwrap(), "96");
    }

    #[test]
    fn a_resolved_run_means_the_same() {
        let run = Run::default();
        let spelled = Scenario::new(&run.resolved()).unwrap();
        let short = Scenario::new(&run).unwrap();
        assert_eq!(spelled.model, short.model);
        assert_eq!(spelled.layout, short.layout);
        assert_eq!(run.resolved().stage_layers, Some(vec![8; 4]));
    }
}
