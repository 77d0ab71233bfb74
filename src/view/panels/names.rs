//! Names of layouts and of changes: the settings that differ, and the kind of a card.

use crate::panels::changes::{SettingChange, changes};
use crate::panels::uneven::short;
use crate::prelude::*;
use crate::words;
use shardscope_core::diagnose::differences as settings_in_words;
use shardscope_core::run::Recompute;
use shardscope_core::run::registry::Field;
use shardscope_core::search::better::{Better, Gain};
use shardscope_core::search::{differences, is_in_differences, stages_words};

/// The sizes of a layout that are not 1, its schedule, and what else differs from `own`.
pub fn brief(run: &Run, own: &Run) -> Message {
    let sizes = [("TP", run.tp), ("PP", run.pp), ("CP", run.cp), ("EP", run.ep), ("ETP", run.etp)];
    let used = sizes.into_iter().filter(|(_, size)| *size > 1);
    let mut parts: Vec<Message> = used.map(|(name, size)| verbatim(format!("{name} {size}"))).collect();
    if parts.is_empty() {
        let replicas = run.data_parallel().unwrap_or(run.gpus);
        parts.push(verbatim(format!("DP {replicas}")));
    }
    if run.pp > 1 {
        parts.push(words::schedule(run));
    }
    if run.zero != own.zero {
        parts.push(verbatim(format!("ZeRO-{}", run.zero)));
    }
    if run.micro_batch != own.micro_batch {
        parts.push(t!("micro-batch {micro_batch}", micro_batch = run.micro_batch));
    }
    if run.recompute != own.recompute {
        parts.push(match run.recompute {
            Recompute::None => t!("no recomputation"),
            Recompute::Selective => t!("selective"),
            _ => run.recompute.words(),
        });
    }
    if run.sequence_parallel != own.sequence_parallel && run.tp > 1 {
        parts.push(if run.sequence_parallel { t!("sequence parallel") } else { t!("no sequence parallel") });
    }
    if run.stage_layers != own.stage_layers && run.pp > 1 {
        parts.push(match run.stage_layers.as_deref() {
            Some(layers) => stages_words(layers),
            None => t!("layers split evenly"),
        });
    }
    if run.adapter.method != own.adapter.method {
        parts
            .push(run.adapter.method.map_or_else(|| t!("all weights"), |method| Message::plain(method.choice().label)));
    }
    Message::joined(" · ", parts)
}

/// What a press that makes `run` the page's in place of `own` sets: "Sets ZeRO stage 3, Micro-batch size 8".
pub(super) fn sets(run: &Run, own: &Run) -> Message {
    t!("Sets {settings}", settings = Message::joined(", ", settings_in_words(run, own)))
}

/// More GPUs than the Run has: no layout fits on its own as it is set.
pub(super) const MORE_GPUS: &str = "Fewest GPUs in another layout";

/// Words of a gain, and the colour that it has in the pictures; `is_one`: a single setting changes; `is_more`: on more
/// GPUs than the Run has; `is_full`: the Run trains all weights, where an adapter may be the smaller change.
pub(super) const fn kind(gain: Gain, is_one: bool, is_more: bool, is_full: bool) -> (&'static str, &'static str) {
    match gain {
        Gain::Change if is_full && is_one => ("Smallest change, all weights trained", "c-recompute"),
        Gain::Change if is_full => ("Fewest changes, all weights trained", "c-recompute"),
        Gain::Change if !is_one => ("Fewest changes that fit", "c-recompute"),
        Gain::Fewest if is_more => (MORE_GPUS, "c-weight"),
        Gain::Fits => ("Fastest that fits", "c-forward"),
        Gain::Change => ("Smallest change that fits", "c-recompute"),
        Gain::Length => ("Longest sequence, this layout", "c-activations"),
        Gain::Adapter => ("An adapter that fits", "c-weight"),
        Gain::Offload => ("Fits with the host's memory", "c-activations"),
        Gain::Fewest => ("Fewest GPUs", "c-weight"),
        Gain::Hosted => ("Less time with the host's memory", "c-activations"),
        Gain::Batch => ("Larger batch", "c-backward"),
        Gain::Time => ("Less time", "c-forward"),
        Gain::Split => ("Less time, this layout", "c-forward"),
        Gain::Memory => ("Less memory, about as fast", "c-activations"),
        Gain::Gpus => ("Fewer GPU-hours", "c-weight"),
        Gain::Equal => ("May be equal", "c-overhead"),
    }
}

/// As [`kind`], of a layout that fits where a change beside it is faster by the memory of the host.
pub(super) const WITHOUT_HOST: (&str, &str) = ("Fits without the host's memory", "c-forward");

/// As [`kind`], of a sequence that was halved until some layout fits.
pub(super) const SHORTENED: (&str, &str) = ("Shorter sequence, any layout", "c-activations");

/// "64 GPUs".
pub(super) fn gpus_words(gpus: u64) -> Message {
    match gpus {
        1 => t!("1 GPU"),
        gpus => t!("{gpus} GPUs", gpus),
    }
}

/// What a card proposes in place of `own`: its title.
pub fn name(better: &Better, own: &Run) -> Message {
    match better.gain {
        Gain::Change | Gain::Offload | Gain::Hosted => change_name(&better.run, own),
        Gain::Length => t!("A shorter sequence, this layout"),
        Gain::Batch => t!("Batch {batch}, this layout", batch = better.run.global_batch),
        Gain::Split => {
            let layers = better.run.stage_layers.as_deref().map(short).unwrap_or_default();
            t!("Uneven stages {layers}", layers)
        }
        Gain::Adapter => adapter_name(&better.run, own),
        Gain::Gpus | Gain::Fewest => Message::joined(": ", [gpus_words(better.run.gpus), brief(&better.run, own)]),
        Gain::Time | Gain::Memory | Gain::Equal | Gain::Fits => brief(&better.run, own),
    }
}

/// What each of `list` proposes in place of `own`. Two layouts never have one title: where the settings that titles are
/// made of are the same, a title goes on with the settings in which it differs from the other.
pub fn names(list: &[&Better], own: &Run) -> Vec<Message> {
    let names: Vec<Message> = list.iter().map(|better| name(better, own)).collect();
    let runs: Vec<&Run> = list.iter().map(|better| &better.run).collect();
    // What a layout leaves as the Run has it is no proposal of it.
    let more = told_apart(&names, &runs, &|run, field| field.get(run) != field.get(own));
    let full = names.into_iter().zip(more).map(|(name, more)| Message::joined(" · ", [name].into_iter().chain(more)));
    full.collect()
}

/// The settings of each of `runs` in which it differs from those of the same name, as far as they are `said`.
pub(crate) fn told_apart(names: &[Message], runs: &[&Run], said: &dyn Fn(&Run, &Field) -> bool) -> Vec<Vec<Message>> {
    let words: Vec<String> = names.iter().map(ToString::to_string).collect();
    let differ = |run: &Run, other: &Run| {
        let changes = changes(run, other).into_iter().filter(|change| said(run, change.field));
        let layers = run.stage_layers.as_deref().map(short);
        let is_told = layers != other.stage_layers.as_deref().map(short);
        let said = |change: SettingChange| match &layers {
            Some(layers) if is_told && change.field.key == "stage_layers" => t!("stages {layers}", layers),
            _ => t!("{field}: {to}", field = change.field.label, to = change.to),
        };
        changes.map(said).collect::<Vec<_>>()
    };
    let more = |at: usize| {
        let alike = (0..runs.len()).filter(|other| *other != at && words[*other] == words[at]);
        let mut parts = Vec::new();
        for part in alike.flat_map(|other| differ(runs[at], runs[other])) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    };
    (0..runs.len()).map(more).collect()
}

/// "QLoRA · TP 2", with sequence and batch where these are others.
pub(super) fn adapter_name(other: &Run, own: &Run) -> Message {
    let method = other.adapter.method.map(|method| Message::plain(method.choice().label));
    let tokens = (other.seq_len != own.seq_len).then(|| t!("{tokens} tokens", tokens = other.seq_len));
    let batch = (other.global_batch != own.global_batch).then(|| t!("batch {batch}", batch = other.global_batch));
    let same = Run { adapter: other.adapter.clone(), ..own.clone() };
    let layout = (other.gpus > 1).then(|| brief(other, &same));
    Message::joined(" · ", method.into_iter().chain(tokens).chain(batch).chain(layout))
}

/// All that differs: in the field's own terms, then every setting that these have no word for, with its value: what
/// goes to the host, the precision, which modules are recomputed.
pub(super) fn change_name(other: &Run, own: &Run) -> Message {
    let by_modules = matches!(other.recompute, Recompute::Modules(_));
    let recompute = if by_modules { own.recompute.clone() } else { other.recompute.clone() };
    let named = differences(&Run { recompute, ..other.clone() }, own);
    // How much memory the host has is no change: what it needs stands in the reasons.
    let is_said = |key: &str| key == "host_memory_gib" || is_in_differences(key);
    let others = changes(other, own).into_iter().filter(|change| !is_said(change.field.key));
    let others = others.map(|change| t!("{field}: {to}", field = change.field.label, to = change.to));
    Message::joined(", ", Some(named).into_iter().filter(|named| !named.is_empty()).chain(others))
}
