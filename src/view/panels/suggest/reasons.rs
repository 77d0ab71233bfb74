//! Why a layout does better: the parts of the step or of the memory that it changes, and what is set with it.

use crate::panels::changes::changes;
use crate::panels::names::gpus_words;
use crate::panels::waterfall::part_words;
use crate::prelude::*;
use crate::words;
use shardscope_core::pipeline::release::needed_release;
use shardscope_core::report::{report, work};
use shardscope_core::run::follow::following;
use shardscope_core::run::{OffloadParts, Recompute};
use shardscope_core::search::better::{Better, Cause, Gain, Reason};
use shardscope_core::search::ladder::tried_before;
use shardscope_core::search::{differences, is_in_differences, least_saved, least_told};
use shardscope_core::time::PartKind;
use shardscope_core::units::group;
use std::cmp::Ordering;

/// Why a layout is better, and what else it changes.
pub(super) fn reasons(
    evaluation: &Evaluation,
    step_s: Seconds,
    better: &Better,
    beside: &[&Better],
    unit: MemoryUnit,
) -> Vec<Message> {
    let (own, time_s) = (&evaluation.scenario.run, better.figures.time_s);
    let mut reasons: Vec<Message> = better.cause.iter().map(|cause| why(own, better, cause, unit)).collect();
    reasons.extend(better.cause.as_ref().and_then(|cause| set_together(own, better, cause.reason)));
    match better.gain {
        Gain::Batch => {
            reasons.extend(saved(better));
            reasons.push(t!("A larger batch changes what the model learns."));
        }
        Gain::Length => {
            let saved = unit.beyond(evaluation.report.memory.peak_bytes, better.figures.peak.bytes);
            reasons.push(t!("In all {saved} less.", saved));
            reasons.push(t!("The batch stays {batch} sequences.", batch = own.global_batch));
            reasons.extend(tight_length(better, own, unit));
        }
        Gain::Adapter => reasons.extend(begun_length(own, &better.run)),
        Gain::Offload | Gain::Hosted => reasons.extend(copies(&better.run)),
        Gain::Fewest => {
            reasons.push(t!("A step takes {time}.", time = show_seconds(time_s)));
            reasons.push(why_not_fewer(own, better.run.gpus, beside));
        }
        _ => {}
    }
    reasons.extend(assumed_host(own, &better.run, unit));
    let needed = needed_release(&better.run).filter(|_| needed_release(own).is_none());
    reasons.extend(needed.map(|needed| t!("{why}.", why = needed.words())));
    match better.gain {
        // The title of a change has it.
        gain if !matches!(gain, Gain::Change | Gain::Offload | Gain::Hosted) && better.run.stack != own.stack => {
            let software = verbatim(better.run.stack.preset_row().choice.label);
            reasons.push(t!("By {software}.", software));
        }
        _ => {}
    }
    // Such gains were measured of training steps.
    let least = if own.rl.algorithm.is_none() { least_saved(own, 1.0 - time_s / step_s) } else { 0.0 };
    if better.gain == Gain::Time && least > 0.0 {
        reasons.push(t!(
            "Where such gains were measured, three of four were at least {least} %.",
            least = show_gain(least)
        ));
    }
    if better.gain == Gain::Equal {
        reasons.push(t!(
            "Gains below {tie} % cannot be told apart. Measure both: 20 steps each.",
            tie = show_gain(least_told(own))
        ));
    }
    if better.gain == Gain::Gpus {
        reasons.push(t!("A step takes {time}.", time = show_seconds(time_s)));
    }
    reasons
}

/// The parts of the step that a larger batch lessens, each with its share of what it saves; none where one is all.
fn saved(better: &Better) -> Option<Message> {
    let part = |(kind, share): &(PartKind, f64)| {
        t!("{name} {share}", name = Message::plain(part_words(*kind)), share = show_percent(*share))
    };
    let parts = Message::joined(", ", better.saved.iter().map(part));
    (better.saved.len() > 1).then(|| t!("Of the time it saves per token: {parts}.", parts))
}

/// The settings that the button of `better` changes, where its cause and its title name a part of them alone: all of a
/// shorter sequence, of an adapter those that its title leaves out.
pub(super) fn set_together(own: &Run, better: &Better, reason: Reason) -> Option<Message> {
    // A title of a layout or a change says all that differs, and a larger batch is all that its card changes.
    if !matches!(better.gain, Gain::Length | Gain::Adapter) {
        return None;
    }
    let other = &better.run;
    let all = changes(other, own);
    if all.len() < 2 || relevant(own, other, reason).to_string() == differences(other, own).to_string() {
        return None;
    }
    let in_title = |key: &str| {
        let of_layout = other.gpus > 1 && is_in_differences(key);
        better.gain == Gain::Adapter && (of_layout || ["adapter.method", "seq_len", "global_batch"].contains(&key))
    };
    let said = all.into_iter().filter(|change| !in_title(change.field.key));
    let said = said.map(|change| t!("{field}: {to}", field = change.field.label, to = change.to));
    let said: Vec<_> = said.collect();
    (!said.is_empty()).then(|| t!("Together it sets {settings}.", settings = Message::joined(", ", said)))
}

/// Numbers of GPUs that were tried before `found`, and what fails on them: "Tried before, and no layout was found
/// that fits: 32, 48 GPUs. Numbers between were not tried." On more GPUs than `own` has, what fails is its layouts
/// without further offloading, and the cards `beside` that fit on its own GPUs are named.
pub(super) fn why_not_fewer(own: &Run, found: u64, beside: &[&Better]) -> Message {
    let tried = tried_before(own, found);
    if tried.is_empty() && found > own.gpus {
        let gpus = gpus_words(own.gpus);
        // All cards fit.
        let here = || beside.iter().filter(|other| other.run.gpus <= own.gpus);
        let moves = own.offload != OffloadParts::default();
        return match (here().next().is_some(), here().any(|other| other.run.offload != own.offload)) {
            (true, true) if !moves => t!(
                "As it is set and without offloading, no layout was found that fits on {gpus}; other cards fit there. \
                    {found} is the next number that was tried.",
                gpus,
                found
            ),
            (true, _) => t!(
                "As it is set, no layout was found that fits on {gpus}; other cards fit there. {found} is the next \
                    number that was tried.",
                gpus,
                found
            ),
            _ if moves => {
                t!("No layout was found that fits on {gpus}; {found} is the next number that was tried.", gpus, found)
            }
            _ => t!(
                "Without offloading, no layout was found that fits on {gpus}; {found} is the next number that was \
                    tried.",
                gpus,
                found
            ),
        };
    }
    if tried.is_empty() {
        return t!("It is the smallest number that was tried.");
    }
    if tried == [1] {
        return t!("Tried before, and no layout was found that fits: 1 GPU.");
    }
    // One number more is as short as words for it.
    let count = if tried.len() > NUMBERS + 1 { tried.len() - NUMBERS } else { 0 };
    let numbers = Message::joined(", ", tried[count..].iter().map(|count| verbatim(group(&count.to_string()))));
    if count > 0 {
        return t!(
            "Tried before, and no layout was found that fits: {numbers} GPUs, and {count} smaller numbers. Numbers \
                between were not tried.",
            numbers,
            count
        );
    }
    t!("Tried before, and no layout was found that fits: {numbers} GPUs. Numbers between were not tried.", numbers)
}

/// Where the length of a card of adapters is from: that of the published run, which follows adapters by every route
/// where `own` states none; or the longest of its halves that fits.
pub(super) fn begun_length(own: &Run, other: &Run) -> Option<Message> {
    let adapted = Run { adapter: other.adapter.clone(), ..own.clone() };
    let set = following(own, &adapted, "adapter.method", true);
    let (_, begun) = set.iter().find(|(key, _)| *key == "seq_len")?;
    let (tokens, begun) = (other.seq_len.to_string(), verbatim(group(begun)));
    Some(if set.iter().any(|(key, text)| *key == "seq_len" && *text == tokens) {
        t!("{begun} tokens are those of QLoRA's published run: set your own.", begun)
    } else {
        let tokens = verbatim(group(&tokens));
        t!("{tokens} tokens a sequence fit; QLoRA's published run had {begun}.", tokens, begun)
    })
}

/// Numbers of GPUs that are listed at most.
pub(super) const NUMBERS: usize = 6;

/// What `other` assumes of the host, of which `own` says nothing: what leaves the GPU has to find room there.
pub(super) fn assumed_host(own: &Run, other: &Run, unit: MemoryUnit) -> Option<Message> {
    let gib = other.host_memory_gib.filter(|_| own.host_memory_gib.is_none())?;
    let assumed = unit.show(Bytes::from_gib(gib));
    let need = report(other).ok().and_then(|after| after.memory.host).map(|host| unit.show(host.total_bytes));
    Some(match need {
        Some(need) => {
            t!("It assumes hosts of {assumed} a node, of which it needs {need}: set what yours have.", assumed, need)
        }
        None => t!("It assumes hosts of {assumed} a node: set what yours have.", assumed),
    })
}

/// Seconds that copies between the GPU and its host take in a step, and how many of them the passes do not hide.
fn copies(run: &Run) -> Option<Message> {
    let step = report(run).ok()?.offload?;
    let (copies, exposed) = (show_seconds(step.transfer_s), show_seconds(step.exposed_s));
    if step.exposed_s > Seconds::ZERO {
        return Some(t!("Copies to the host and back take {copies} a step; {exposed} do not hide.", copies, exposed));
    }
    Some(t!(
        "Copies to the host and back take {copies} a step; they hide behind the passes where nothing else uses the \
            link.",
        copies
    ))
}

/// What a sequence of twice the tokens of `better` is, where it is no longer than that of the Run and tight: such runs
/// are no wall.
pub(super) fn tight_length(better: &Better, own: &Run, unit: MemoryUnit) -> Option<Message> {
    let tokens = better.run.seq_len.saturating_mul(2);
    let twice = Run { seq_len: tokens, ..better.run.clone() };
    if tokens >= own.seq_len || work(&twice).is_none_or(|work| work > MOST_WORK) {
        return None;
    }
    let peak = report(&twice).ok()?.memory.peak();
    let is_tight = peak.overall == Verdict::Tight && !peak.may_run_out();
    is_tight.then(|| t!("{tokens} tokens are tight, {peak}.", tokens, peak = unit.show(peak.bytes)))
}

/// Units of work of the largest report that a card asks for.
pub(super) const MOST_WORK: u64 = 20_000;

/// The cause in a sentence: what is set differently, and the quantity before and after.
pub(super) fn why(own: &Run, better: &Better, cause: &Cause, unit: MemoryUnit) -> Message {
    let other = &better.run;
    let Cause { reason, before, after, pipelines } = *cause;
    let [(dp, m), (other_dp, other_m)] = pipelines;
    let (name, show): (&'static str, Box<dyn Fn(f64) -> String>) = match reason {
        Reason::Part(PartKind::Bubble) => (part_words(PartKind::Bubble), Box::new(show_percent)),
        Reason::Part(part) => (part_words(part), Box::new(|value| show_seconds(Seconds(value)))),
        Reason::Share(part) => (part_words(part), Box::new(show_percent)),
        Reason::Memory(component) => (component.name(), Box::new(move |value| unit.show_any(Bytes(value)))),
    };
    // No line ends between a number and its unit.
    let [before, after] = [before, after].map(|value| match show(value).as_str() {
        "" => t!("none"),
        figure => verbatim(figure.replace(' ', "\u{a0}")),
    });
    // A share says what it divides by.
    let after = match reason {
        Reason::Part(PartKind::Bubble) => t!("{share} of the pipeline's time", share = after),
        Reason::Share(_) => t!("{share} of the step", share = after),
        Reason::Part(_) | Reason::Memory(_) => after,
    };
    let bubble = matches!(reason, Reason::Part(PartKind::Bubble) | Reason::Share(PartKind::Bubble));
    if better.gain == Gain::Batch {
        return t!(
            "Batch {batch} leaves {counted} per pipeline, {other_batch} leaves {other_m}: {name} {before} to {after}.",
            batch = own.global_batch,
            counted = words::of_microbatches(m),
            other_batch = other.global_batch,
            other_m,
            name = Message::plain(name),
            before,
            after
        );
    }
    // More micro-batches are a cause of a smaller bubble, fewer are not.
    if bubble && other_m > m && own.pp > 1 && other.pp > 1 {
        let counted = words::of_microbatches(m);
        return t!(
            "DP {dp} leaves {counted} per pipeline, DP {other_dp} leaves {other_m}: {name} {before} to {after}.",
            dp,
            counted,
            other_dp,
            other_m,
            name = Message::plain(name),
            before,
            after
        );
    }
    // Adapters bring a length of their own: what it shortens is not lessened by frozen weights.
    let of_tokens = |component: Component| {
        use Component::{Activations, Buffers, Overhead};
        let tokens = |run: &Run| run.seq_len.saturating_mul(run.micro_batch);
        matches!(component, Activations | Buffers | Overhead) && tokens(other) < tokens(own)
    };
    let differs = match better.gain {
        Gain::Length => t!("Fewer tokens in a micro-batch"),
        Gain::Adapter if matches!(reason, Reason::Memory(component) if of_tokens(component)) => {
            t!("Fewer tokens in a micro-batch")
        }
        Gain::Adapter if own.adapter.method.is_none() => t!("The weights are frozen"),
        _ => relevant(own, other, reason),
    };
    // The card's title says all that differs.
    if matches!(better.gain, Gain::Change | Gain::Offload | Gain::Hosted | Gain::Split) {
        return t!("{name}: {before} to {after}.", name = Message::plain(name), before, after);
    }
    t!("{differs}: {name} {before} to {after}.", differs, name = Message::plain(name), before, after)
}

/// The differences that move `reason` the way it went, down: all that cut what is stored or cut a pass into fewer and
/// larger kernels, of another part of the step the first; all differences where none does.
pub(super) fn relevant(own: &Run, other: &Run, reason: Reason) -> Message {
    use Component::{Activations, Buffers, Gradients, Optimizer, Overhead, Weights};
    use Ordering::{Greater, Less};
    let size = |name: &'static str, of: fn(&Run) -> u64, way: Ordering| {
        let (now, then) = (of(own), of(other));
        (then.cmp(&now) == way).then(|| t!("{name} {then} instead of {now}", name = verbatim(name), then, now))
    };
    let (tp, pp) = (|way| size("TP", |run| run.tp, way), |way| size("PP", |run| run.pp, way));
    let (cp, ep) = (|way| size("CP", |run| run.cp, way), |way| size("EP", |run| run.ep, way));
    let dp = |way| size("DP", |run| run.data_parallel().unwrap_or(0), way);
    let zero = |way| size("ZeRO", |run| run.zero, way);
    let micro = |way| {
        let (now, then) = (own.micro_batch, other.micro_batch);
        (then.cmp(&now) == way).then(|| t!("micro-batch {then} instead of {now}", then, now))
    };
    let changed_schedule = || {
        let alike = (own.schedule, own.virtual_stages) == (other.schedule, other.virtual_stages);
        let both = own.pp > 1 && other.pp > 1 && !alike;
        both.then(|| t!("{then} instead of {now}", then = words::schedule(other), now = words::schedule(own)))
    };
    let recompute = || {
        let then = match other.recompute {
            Recompute::None => t!("no recomputation"),
            Recompute::Selective => t!("selective recomputation"),
            _ => other.recompute.words(),
        };
        let saves = other.recompute != Recompute::None || matches!(reason, Reason::Part(_) | Reason::Share(_));
        (own.recompute != other.recompute && saves).then_some(then)
    };
    let all = |ways: &[Option<Message>]| {
        let ways: Vec<Message> = ways.iter().flatten().cloned().collect();
        (!ways.is_empty()).then(|| Message::joined(", ", ways))
    };
    let first = match reason {
        Reason::Part(part) | Reason::Share(part) => match part {
            PartKind::Bubble => changed_schedule().or_else(|| pp(Less)).or_else(|| dp(Less)),
            PartKind::Recompute => recompute(),
            PartKind::ExposedCp => cp(Less),
            PartKind::ExposedEp => ep(Less),
            PartKind::ExposedDp => dp(Less).or_else(|| zero(Less)),
            PartKind::Optimizer => zero(Greater).or_else(|| dp(Greater)),
            PartKind::ExposedTp => tp(Less),
            PartKind::Ideal | PartKind::Kernels | PartKind::Launches | PartKind::Loader => {
                all(&[micro(Greater), tp(Less), cp(Less)])
            }
        },
        Reason::Memory(component) => {
            let sharded = || tp(Greater).or_else(|| pp(Greater));
            // ZeRO shards optimizer states from stage 1 on, gradients from 2, weights at 3.
            let shards = |from: u64| zero(Greater).filter(|_| own.zero < from && other.zero >= from);
            let cut = |from: u64| all(&[shards(from), tp(Greater), pp(Greater), ep(Greater)]);
            match component {
                Optimizer => cut(1),
                Gradients => cut(2),
                Weights => cut(3),
                Activations => {
                    let smaller = recompute().or_else(|| micro(Less)).or_else(|| cp(Greater));
                    smaller.or_else(sharded).or_else(changed_schedule)
                }
                // What ZeRO-3 gathers of the weights is a buffer.
                Buffers | Overhead => {
                    let gathered = zero(Less).filter(|_| own.zero == 3);
                    gathered.or_else(|| micro(Less)).or_else(|| cp(Greater)).or_else(sharded)
                }
            }
        }
    };
    first.unwrap_or_else(|| differences(other, own))
}
