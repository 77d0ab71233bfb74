//! Settings that follow a choice: those of a fine-tuning where adapters are chosen, those that a program trains with
//! where it is, a batch with which a schedule of pairs has pairs. Only what nobody set follows: a setting that stands
//! as the format of links has it.

use super::presets::{PUBLISHED, Stack, Trainer, published_alike};
use super::registry::field;
use super::{AdapterMethod, FOR_PAIRS, Run};

/// Fields and values, as a link writes them.
type Set = Vec<(&'static str, String)>;

/// Tokens of a sequence and sequences of a batch of a fine-tuning: those of `QLoRA`'s run of 65 B parameters
/// (artidoro/qlora `scripts/finetune_guanaco_65b.sh`: targets of 512 tokens, 16 micro-batches of one). No constant of
/// the estimate: they only begin a run.
const TUNED: [u64; 2] = [512, 16];

/// Software of pretraining that the page opens with, and that of a link that names none.
const BEFORE_TUNING: [&str; 2] = ["megatron-2024", "megatron-2025"];
/// Software that trains beside a quantised base, and adapters on a node or less.
pub(crate) const TUNES: &str = "hf-trainer";
/// Software that trains adapters in pipelines and over several nodes.
pub(crate) const CUTS: &str = "megatron-2025";

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
            let is_layout = |key: &str| key.starts_with("recompute") || key == "zero";
            let kept = |(key, value): &(&'static str, String)| {
                let is_set = |run: &Run| text(run, key) != text(&Run::default(), key);
                let followed = earlier.iter().any(|(other, was)| other == key && text(run, key).as_ref() == Some(was));
                (!is_set(run) || followed) && text(run, key).as_ref() != Some(value) && !(chooses && is_layout(key))
            };
            implied.iter().filter(|one| kept(one)).cloned().chain(gone).collect()
        }
        "gpus" => batch_of_gpus(before, run),
        _ => Set::new(),
    }
}

/// `set`, settings that a line, a list, a button or a card asks for in place of those of `before`, with what follows
/// the adapters, the GPUs, the schedule or the software that it brings: length, batch, software and precision that
/// neither it nor `before` states.
pub fn with_following(before: &Run, mut set: Set) -> Set {
    let Some(after) = before.with_texts(&set) else { return set };
    let mut follows = Set::new();
    if before.adapter.method.is_none() && after.adapter.method.is_some() {
        follows.extend(following(before, &after, "adapter.method", true));
    }
    if before.gpus != after.gpus {
        follows.extend(following(before, &after, "gpus", true));
    }
    if before.stack != after.stack {
        follows.extend(following(before, &after, "stack", true));
    }
    if before.schedule != after.schedule {
        follows.extend(pairing(&after));
    }
    for (key, text) in follows {
        if set.iter().all(|(named, _)| *named != key) {
            set.push((key, text));
        }
    }
    set
}

/// A batch with which passes run in pairs, where the schedule of `run` pairs them and nobody set a batch: batch and
/// length of the published run of this model under this schedule on these GPUs, else the fewest sequences with which
/// every pipeline has as many micro-batches of one sequence as pairs ask for, whatever is cut by tensor parallelism.
fn pairing(run: &Run) -> Set {
    if !run.schedule.pairs_passes() || is_changed(run, "global_batch") {
        return Set::new();
    }
    let mut published = published_alike(run).into_iter().map(|(_, other)| other);
    if let Some(other) = published.find(|other| other.schedule == run.schedule) {
        let keys = ["seq_len", "global_batch"].into_iter().filter(|key| !is_changed(run, key));
        return keys.filter_map(|key| Some((key, text(&other, key)?))).collect();
    }
    let batch = run.training_gpus().saturating_mul(FOR_PAIRS);
    if batch > run.global_batch { vec![("global_batch", batch.to_string())] } else { Set::new() }
}

/// True if the field `key` of `run` has another value than the format of links.
fn is_changed(run: &Run, key: &str) -> bool {
    field(key).is_some_and(|field| field.is_changed(run))
}

/// The text of a field of `run`.
fn text(run: &Run, key: &str) -> Option<String> {
    field(key)?.text(run)
}

/// The batch that adapters brought with them, where it stands and other GPUs bring another: it does not matter whether
/// the adapters or the GPUs were chosen first. A batch that somebody set to the same number is taken as that one.
fn batch_of_gpus(before: &Run, run: &Run) -> Set {
    let is_adapted = before.adapter.method.is_some() && before.adapter.method == run.adapter.method;
    let [was, now] = [before, run].map(batch);
    let stands = before.global_batch == was && run.global_batch == was;
    if is_adapted && stands && was != now { vec![("global_batch", now.to_string())] } else { Set::new() }
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
    let software = Some(("stack", tuner(run, method).to_owned()));
    let sizes = [("seq_len", TUNED[0].to_string()), ("global_batch", batch(run).to_string())];
    software.into_iter().chain(sizes).collect()
}

/// Software that trains `method` on the GPUs of `run` where that of the page has no adapters.
fn tuner(run: &Run, method: AdapterMethod) -> &'static str {
    let per_node = run.gpu.resolve().map_or(1, |gpu| run.gpus_per_node.unwrap_or(gpu.per_node));
    if method == AdapterMethod::Qlora || run.gpus <= per_node { TUNES } else { CUTS }
}

/// `run` by software that trains its adapters, where its own is known to train none; else as it is.
pub(crate) fn by_tuner(run: &Run) -> Run {
    let method = run.adapter.method.filter(|_| !run.is_adapted_by_its_software());
    let set = method.map(|method| vec![("stack", tuner(run, method).to_owned())]);
    set.and_then(|set| run.with_texts(&set)).unwrap_or_else(|| run.clone())
}

/// What went with the adapters of `before` goes with them: length, batch and software are those that the page opens
/// with.
fn pretraining(before: &Run) -> Set {
    let keys = before.adapter.method.map_or_else(Set::new, |method| begun(before, method));
    let gone = keys.iter().filter(|(key, value)| text(before, key).as_ref() == Some(value));
    let gone = gone.filter(|(key, _)| *key != "stack" || before.stack.parts == Run::default().stack.parts);
    gone.map(|(key, _)| (*key, text(&Run::example(), key).unwrap_or_default())).collect()
}

/// A fine-tuning's length and batch, and software that has adapters, for a quantised base one that has such a base.
fn tuning(run: &Run, method: AdapterMethod) -> Set {
    let mut set = Set::new();
    let is_bare = run.stack.parts == Run::default().stack.parts;
    let pretrains = run.stack.base.is_none_or(|base| BEFORE_TUNING.contains(&base));
    let lacks = method == AdapterMethod::Qlora || !run.stack.preset_row().has_adapters();
    if lacks && is_bare && pretrains {
        set.push(("stack", tuner(run, method).to_owned()));
    }
    if !is_changed(run, "seq_len") && run.microbatch_lengths.is_none() && run.lengths.base.is_none() {
        set.push(("seq_len", TUNED[0].to_string()));
    }
    if !is_changed(run, "global_batch") {
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
    let row = run.stack.preset_row();
    let sharded = || ("zero", Stack::fsdp_stage(run.pp).to_string());
    match row.trainer {
        Trainer::Torchtitan => vec![("precision", "fsdp-mixed".to_owned()), sharded()],
        _ if !row.has_zero_1() => vec![sharded()],
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

    /// A line of words and the list of what is trained lead to one run, and what the line names stays as it says it,
    /// also where that is what the format of links has: 8192 tokens, a batch of 256, Megatron-LM 2024.
    #[test]
    fn a_request_is_followed_by_what_the_list_sets_and_keeps_what_it_names() {
        let owned = |set: &[(&'static str, &str)]| -> Set {
            set.iter().map(|(key, text)| (*key, (*text).to_owned())).collect()
        };
        for (gpus, method, software) in [
            ("1", "qlora", "hf-trainer"),
            ("4", "lora", "hf-trainer"),
            ("64", "qlora", "hf-trainer"),
            ("64", "lora", "megatron-2025"),
        ] {
            let before = Run::default();
            let asked = owned(&[("adapter.method", method), ("model", "llama-3.1-70b"), ("gpus", gpus)]);
            let typed = before.with_texts(&with_following(&before, asked)).unwrap();
            let sized = before.with_texts(&[("model", "llama-3.1-70b"), ("gpus", gpus)]).unwrap();
            let listed = sized.with_texts(&[("adapter.method", method)]).unwrap();
            let listed = listed.with_texts(&following(&sized, &listed, "adapter.method", true)).unwrap();
            assert_eq!(typed, listed);
            assert_eq!(typed.stack.base, Some(software), "{gpus} {method}");
            assert!(typed.is_adapted_by_its_software() && typed.seq_len == 512);
        }
        let stated = [("seq_len", "8192"), ("global_batch", "256"), ("stack", "megatron-2024")];
        for (key, text) in stated {
            let set = with_following(&Run::default(), owned(&[("adapter.method", "qlora"), (key, text)]));
            let of_key: Vec<&str> = set.iter().filter(|(other, _)| *other == key).map(|(_, text)| &**text).collect();
            assert_eq!(of_key, [text], "{set:?}");
            assert_eq!(set.len(), 4, "{set:?}");
        }
        // A request without adapters, and one for a run that has some, is as it was.
        let plain = owned(&[("gpus", "8")]);
        assert_eq!(with_following(&Run::default(), plain.clone()), plain);
        let adapted = Run::default().with_texts(&[("adapter.method", "lora")]).unwrap();
        let other = owned(&[("adapter.method", "qlora")]);
        assert_eq!(with_following(&adapted, other.clone()), other);
    }

    /// `QLoRA` of 70 B parameters on one GPU: whatever is chosen first, adapters, model, kind or number of GPUs, and as
    /// one line, it is one run. Another batch than the adapters bring stays; one that somebody set to that number is
    /// taken as theirs.
    #[test]
    fn adapters_and_gpus_lead_to_one_run_in_any_order() {
        let choices = [("adapter.method", "qlora"), ("gpus", "1"), ("model", "llama-3.1-70b"), ("gpu", "l40s")];
        let before = Run::example();
        let line = choices.map(|(key, text)| (key, text.to_owned())).to_vec();
        let typed = before.with_texts(&with_following(&before, line)).unwrap();
        assert_eq!((typed.global_batch, typed.seq_len), (16, 512));
        for from in 0..choices.len() {
            let mut run = before.clone();
            for (key, text) in choices.iter().cycle().skip(from).take(choices.len()) {
                let chosen = run.with_texts(&[(*key, *text)]).unwrap();
                run = chosen.with_texts(&following(&run, &chosen, key, true)).unwrap();
            }
            assert_eq!(run, typed, "{from}");
        }
        let own = Run { global_batch: 48, gpus: 64, ..typed.clone() };
        assert!(following(&own, &Run { gpus: 1, ..own.clone() }, "gpus", true).is_empty());
        let whole = Run { global_batch: 64, ..before.clone() };
        assert!(following(&whole, &Run { gpus: 8, ..whole.clone() }, "gpus", true).is_empty());
    }

    /// A line or a button that names GPUs alone brings the adapters' batch as the form does: more GPUs than it
    /// has sequences take one each. A batch that the line names, and another than the adapters', stays.
    #[test]
    fn gpus_that_are_typed_alone_bring_the_batch_of_the_form() {
        let before = Run::example();
        let adapted = vec![("adapter.method", "qlora".to_owned()), ("gpus", "1".to_owned())];
        let adapted = before.with_texts(&with_following(&before, adapted)).unwrap();
        let asked: Set = vec![("gpus", "64".to_owned()), ("gpu", "h100-sxm-80gb".to_owned())];
        let typed = adapted.with_texts(&with_following(&adapted, asked.clone())).unwrap();
        let form = adapted.with_texts(&asked).unwrap();
        let form = form.with_texts(&following(&adapted, &form, "gpus", true)).unwrap();
        assert_eq!(typed, form);
        assert_eq!((adapted.global_batch, typed.global_batch), (16, 64));
        let named: Set = asked.iter().cloned().chain([("global_batch", "32".to_owned())]).collect();
        assert_eq!(with_following(&adapted, named.clone()), named);
        let own = Run { global_batch: 48, ..adapted };
        assert_eq!(with_following(&own, asked.clone()), asked);
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
