//! Settings that follow a choice: those of a fine-tuning where adapters are chosen, those that a program trains with
//! where it is. Only what nobody set follows: a setting that stands as the format of links has it.

use super::presets::{PUBLISHED, Trainer};
use super::registry::field;
use super::{AdapterMethod, Run};

/// Fields and values, as a link writes them.
type Set = Vec<(&'static str, String)>;

/// Tokens of a sequence and sequences of a batch of a fine-tuning: those of `QLoRA`'s run of 65 B parameters
/// (artidoro/qlora `scripts/finetune_guanaco_65b.sh`: targets of 512 tokens, 16 micro-batches of one). No constant of
/// the estimate: they only begin a run.
const TUNED: [u64; 2] = [512, 16];

/// Software of pretraining that the page opens with, and that of a link that names none.
const BEFORE_TUNING: [&str; 2] = ["megatron-2024", "megatron-2025"];
/// Software that trains beside a quantised base.
const TUNES: &str = "hf-trainer";

/// The published run whose software a stack is.
const DEEPSEEK: &str = "deepseek-v3";

/// What follows `run`, in which `key` was chosen after `before`: settings that nobody set, by the choice. `chooses`: a
/// layout is chosen after it, so that none of it follows.
pub fn following(before: &Run, run: &Run, key: &str, chooses: bool) -> Set {
    match key {
        "adapter.method" => match (before.adapter.method, run.adapter.method) {
            (None, Some(method)) => tuning(run, method),
            (Some(_), None) => pretraining(before),
            _ => Set::new(),
        },
        "stack" => {
            let (implied, earlier) = (implied(run), implied(before));
            // What followed the software before goes with it.
            let gone = earlier.iter().filter(|(key, value)| {
                text(run, key).as_ref() == Some(value) && implied.iter().all(|(other, _)| other != key)
            });
            let gone: Set = gone.map(|(key, _)| (*key, text(&Run::default(), key).unwrap_or_default())).collect();
            let is_layout = |key: &str| key.starts_with("recompute");
            let kept = |(key, value): &(&'static str, String)| {
                let is_set = |run: &Run| text(run, key) != text(&Run::default(), key);
                let followed = earlier.iter().any(|(other, was)| other == key && text(run, key).as_ref() == Some(was));
                (!is_set(run) || followed) && text(run, key).as_ref() != Some(value) && !(chooses && is_layout(key))
            };
            implied.iter().filter(|one| kept(one)).cloned().chain(gone).collect()
        }
        _ => Set::new(),
    }
}

/// The text of a field of `run`.
fn text(run: &Run, key: &str) -> Option<String> {
    field(key)?.text(run)
}

/// Sequences of a batch that a fine-tuning on the GPUs of `run` begins with: software without pipelines and tensor
/// ranks has a sequence of the batch on each GPU.
fn batch(run: &Run) -> u64 {
    TUNED[1].max(run.gpus).min(Run::default().global_batch.max(TUNED[1]))
}

/// Keys of the settings of `run` that stand as one of its choices sets them where nobody did: those of its adapters and
/// those of its software.
pub fn set_along(run: &Run) -> Vec<&'static str> {
    let of_adapter = run.adapter.method.map_or_else(Set::new, |method| begun(run, method));
    let stands = |(key, value): &(&'static str, String)| {
        text(run, key).as_ref() == Some(value) && text(&Run::default(), key).as_ref() != Some(value)
    };
    of_adapter.into_iter().chain(implied(run)).filter(stands).map(|(key, _)| key).collect()
}

/// Settings that adapters begin with.
fn begun(run: &Run, method: AdapterMethod) -> Set {
    let software = (method == AdapterMethod::Qlora).then(|| ("stack", TUNES.to_owned()));
    let sizes = [("seq_len", TUNED[0].to_string()), ("global_batch", batch(run).to_string())];
    software.into_iter().chain(sizes).collect()
}

/// What went with the adapters of `before` goes with them: length, batch and software are those that the page opens
/// with.
fn pretraining(before: &Run) -> Set {
    let keys = before.adapter.method.map_or_else(Set::new, |method| begun(before, method));
    let gone = keys.iter().filter(|(key, value)| text(before, key).as_ref() == Some(value));
    let gone = gone.filter(|(key, _)| *key != "stack" || before.stack.parts == Run::default().stack.parts);
    gone.map(|(key, _)| (*key, text(&Run::example(), key).unwrap_or_default())).collect()
}

/// A fine-tuning's length and batch, and for a quantised base software that has one.
fn tuning(run: &Run, method: AdapterMethod) -> Set {
    let unset = |key: &str| field(key).is_some_and(|field| !field.is_changed(run));
    let mut set = Set::new();
    let is_bare = run.stack.parts == Run::default().stack.parts;
    let pretrains = run.stack.base.is_none_or(|base| BEFORE_TUNING.contains(&base));
    let moves = method == AdapterMethod::Qlora && is_bare && pretrains;
    if moves {
        set.push(("stack", TUNES.to_owned()));
    }
    if unset("seq_len") && run.microbatch_lengths.is_none() && run.lengths.base.is_none() {
        set.push(("seq_len", TUNED[0].to_string()));
    }
    if unset("global_batch") {
        set.push(("global_batch", batch(run).to_string()));
    }
    set
}

/// Settings with which the software of `run` trains, where a published run or its own default has them: torchtitan's
/// fp32 shards (`config/configs.py`, `training.dtype` and `mixed_precision_param`, at b5bcd76), and the precision and
/// the recomputation of DeepSeek-V3 (section 3.3; 3.2.3).
fn implied(run: &Run) -> Set {
    let keyed = |run: &Run, keys: &[&'static str]| -> Set {
        keys.iter().filter_map(|key| Some((*key, text(run, key)?))).collect()
    };
    match run.stack.preset_row().trainer {
        Trainer::Torchtitan => vec![("precision", "fsdp-mixed".to_owned())],
        Trainer::DeepSeek => {
            let published = PUBLISHED.iter().find(|published| published.id == DEEPSEEK);
            let low = run.gpu.resolve().is_ok_and(|gpu| gpu.computes_in_fp8());
            let keys = ["precision", "precision.grads", "fp8_activations", "recompute.modules"];
            published.filter(|_| low).map_or_else(Set::new, |published| keyed(&published.run(), &keys))
        }
        _ => Set::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// artidoro/qlora `scripts/finetune_guanaco_65b.sh`: batches of 16, targets of 512 tokens. What somebody set stays.
    #[test]
    fn adapters_bring_the_length_and_the_batch_of_a_fine_tuning() {
        let before = Run::default()
            .with_texts(&[("stack", "megatron-2025"), ("model", "llama-3.1-70b"), ("gpus", "1")])
            .unwrap();
        let after = Run {
            adapter: Run::default().with_texts(&[("adapter.method", "qlora")]).unwrap().adapter,
            ..before.clone()
        };
        let set = following(&before, &after, "adapter.method", true);
        let wanted = [("stack", "hf-trainer"), ("seq_len", "512"), ("global_batch", "16")];
        assert_eq!(set, wanted.map(|(key, value)| (key, value.to_owned())));
        let typed = Run { seq_len: 4096, global_batch: 32, ..after.clone() };
        assert_eq!(following(&before, &typed, "adapter.method", true), [("stack", "hf-trainer".to_owned())]);
        let own = Run { stack: Run::default().with_texts(&[("stack", "deepspeed")]).unwrap().stack, ..typed.clone() };
        assert!(following(&before, &own, "adapter.method", true).is_empty());
        // Another method of adapters brings nothing new.
        assert!(following(&after, &after, "adapter.method", true).is_empty());
        // What followed stands as nobody's setting, and goes with the adapters; what was typed stays.
        let next = after.with_texts(&set).unwrap();
        assert_eq!(set_along(&next), ["stack", "seq_len", "global_batch"]);
        assert_eq!(set_along(&typed), [""; 0]);
        let all = Run { adapter: before.adapter.clone(), ..next.clone() };
        let back = all.with_texts(&following(&next, &all, "adapter.method", true)).unwrap();
        assert_eq!(back, before);
        let own = Run { seq_len: 4096, ..next };
        let all = Run { adapter: before.adapter.clone(), ..own.clone() };
        assert!(!following(&own, &all, "adapter.method", true).iter().any(|(key, _)| *key == "seq_len"));
        let many = Run { gpus: 64, ..after };
        assert!(following(&before, &many, "adapter.method", true).contains(&("global_batch", "64".to_owned())));
    }

    /// DeepSeek-V3, section 3.3: fp8; section 3.2.3: norms and up-projections are recomputed.
    #[test]
    fn deepseeks_own_software_brings_its_precision_and_its_recomputation() {
        let before = Run::default()
            .with_texts(&[("stack", "megatron-2025"), ("gpu", "h800-sxm-80gb"), ("model", "deepseek-v3")])
            .unwrap();
        let after =
            Run { stack: Run::default().with_texts(&[("stack", "deepseek-v3")]).unwrap().stack, ..before.clone() };
        let set = following(&before, &after, "stack", false);
        let next = after.with_texts(&set).unwrap();
        let published = PUBLISHED.iter().find(|published| published.id == DEEPSEEK).unwrap().run();
        assert_eq!((&next.precision, &next.recompute), (&published.precision, &published.recompute));
        assert!(following(&before, &after, "stack", true).iter().all(|(key, _)| !key.starts_with("recompute")));
        // One that somebody set stays, and what followed goes with the software.
        let typed = Run { precision: Run::default().with_texts(&[("precision", "bf16")]).unwrap().precision, ..after };
        assert!(!following(&before, &typed, "stack", false).iter().any(|(key, _)| *key == "precision"));
        let back = Run { stack: before.stack.clone(), ..next.clone() };
        let set = following(&next, &back, "stack", true);
        let back = back.with_texts(&set).unwrap();
        assert_eq!(back.precision, before.precision, "{set:?}");
        // Cards without fp8 have none of it.
        let old = Run { gpu: Run::default().with_texts(&[("gpu", "a100-sxm-80gb")]).unwrap().gpu, ..typed };
        assert!(following(&before, &old, "stack", false).is_empty());
    }

    /// torchtitan keeps fp32 shards and computes in bf16 unless it is told (`TrainingConfig` at b5bcd76).
    #[test]
    fn torchtitan_brings_its_precision_and_takes_it_along() {
        let before = Run::default();
        let after = Run::default().with_texts(&[("stack", "torchtitan")]).unwrap();
        let set = following(&before, &after, "stack", true);
        assert_eq!(set, [("precision", "fsdp-mixed".to_owned())]);
        let next = after.with_texts(&set).unwrap();
        let back = Run { stack: before.stack.clone(), ..next.clone() };
        assert_eq!(back.with_texts(&following(&next, &back, "stack", true)).unwrap(), before);
    }
}
