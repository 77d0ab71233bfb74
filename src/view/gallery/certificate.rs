//! A certificate in words: how much longer a schedule is than the shortest order of the same stages with as many
//! activations.

use crate::prelude::*;
use shardscope_core::pipeline::certify::Certificate;
use shardscope_core::pipeline::certify::certificate::Bound;
use shardscope_core::report::ScheduleVariant;

/// A schedule with its certificate; without one where no bound applies to its kind of order.
pub type ScheduleCertificate = (ScheduleVariant, Option<Certificate>);

/// A line with the certificate; its tooltip says which orders it covers. `answer` is none before the certificate is
/// computed, and none inside where no bound applies.
pub(super) fn line(answer: Option<&Option<Certificate>>) -> Node {
    match answer {
        None => leaf("p", "certificate", ""),
        Some(None) => leaf("p", "certificate", "No bound for this kind.").title(NO_BOUND),
        Some(Some(certificate)) => {
            let class = if certificate.proven { "certificate proven" } else { "certificate" };
            leaf("p", class, words(certificate)).title(covered(certificate))
        }
    }
}

/// The reasons why no bound applies to a kind of order.
const NO_BOUND: &str = "The schedule never drains, holds several copies of the weights, or its ranks exchange ops.";

/// "◆ Shortest order of these stages with 4 micro-batches a rank (the backward in one op)", or how much longer its
/// pipeline is at most than the shortest order that holds no more: the rest of the step is no part of it.
/// Another limit of memory, another split or several copies of the weights may give a shorter order.
pub(crate) fn words(certificate: &Certificate) -> Message {
    let (held, ops) = (held(certificate), ops(certificate));
    // A certificate covers orders of the same stages with as many ops a backward; others may be shorter. So the line
    // names both.
    let chunks = certificate.chunks;
    let stages = (chunks > 1).then(|| t!("{chunks} stages a rank", chunks));
    let which = Message::joined(", ", stages.into_iter().chain([t!("the backward {ops}", ops)]));
    if certificate.proven {
        return t!("◆ Shortest order of these stages with {held} ({which})", held, which);
    }
    t!(
        "◇ Within {gap} of the shortest order of these stages ({which}) with as many activations",
        gap = show_at_most(certificate.gap),
        which
    )
}

/// The ops of a backward pass: "in one op".
fn ops(certificate: &Certificate) -> Message {
    if certificate.whole_backward { t!("in one op") } else { t!("in two ops") }
}

/// The micro-batches whose activations a rank may hold: "1 micro-batch a rank", "up to 4 micro-batches a rank".
fn held(certificate: &Certificate) -> Message {
    let limits = &certificate.memory_limit;
    let most = limits.iter().copied().max().unwrap_or(0);
    let chunks = certificate.chunks.max(1);
    let count = number(f64::from(most) / f64::from(chunks), 3);
    match (most == chunks, limits.iter().all(|limit| *limit == most)) {
        (true, _) => t!("1 micro-batch a rank"),
        (false, true) => t!("{count} micro-batches a rank", count),
        (false, false) => t!("up to {count} micro-batches a rank", count),
    }
}

/// The orders that the certificate covers, the largest of its lower bounds and the reason for it.
pub(super) fn covered(certificate: &Certificate) -> Message {
    let seconds = |time: f64| show_seconds(Seconds(time));
    let binding = &certificate.binding;
    let memory = binding.memory_rank.zip(binding.microbatches);
    let why = match (binding.bound, memory) {
        (Bound::Memory, Some((rank, held))) => {
            t!("rank {rank} holds {held} activations of a stage", held, rank)
        }
        (Bound::Both, Some((rank, held))) => t!(
            "rank {work_rank} is always busy, and rank {rank} holds {held} activations of a stage",
            work_rank = binding.work_rank,
            held,
            rank
        ),
        _ => t!("rank {rank} is always busy", rank = binding.work_rank),
    };
    let ops = ops(certificate);
    let [bound, more] = [certificate.lower_bound_s, certificate.one_more_s].map(seconds);
    let more = if more == bound {
        t!("One activation more on every rank does not lower it.")
    } else {
        t!("With one activation more on every rank the bound is {more}.", more)
    };
    let least = t!(
        "With one copy of the weights and the backward {ops}, no order of these stages at this memory is shorter than \
            {bound} ({why}).",
        ops,
        bound,
        why
    );
    let own = seconds(certificate.lower_bound_s * (1.0 + certificate.gap));
    let held = held(certificate);
    let own = (!certificate.proven).then(|| t!("The pipeline of this order takes {own} and holds {held}.", own, held));
    Message::joined(" ", std::iter::once(least).chain(own).chain([more]))
}
