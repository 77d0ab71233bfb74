//! A certificate in words: how far a schedule is from the best order of its stages under its memory.

use crate::prelude::*;
use shardscope_core::pipeline::certify::Certificate;
use shardscope_core::pipeline::certify::certificate::Bound;
use shardscope_core::report::Variant;

/// A schedule's certificate; none inside where such an order has none.
pub type Certified = (Variant, Option<Certificate>);

/// The certificate in a line, with what it covers as its tooltip.
pub(super) fn line(certificate: Option<&Option<Certificate>>) -> Node {
    let Some(found) = certificate else {
        return leaf("p", "certificate", "");
    };
    let Some(found) = found else {
        return leaf("p", "certificate", "no certificate: it never drains, or ranks exchange ops");
    };
    leaf("p", if found.proven { "certificate proven" } else { "certificate" }, words(found)).title(covered(found))
}

/// "◆ optimal", or how far from it.
pub(crate) fn words(certificate: &Certificate) -> Message {
    if certificate.proven {
        t!("◆ optimal: no order is shorter")
    } else {
        t!("◇ at most {gap} above any order", gap = show_percent(certificate.gap))
    }
}

/// The orders that the certificate covers, and the bound that binds.
pub(super) fn covered(certificate: &Certificate) -> Message {
    let seconds = |time: f64| show_seconds(Seconds(time));
    let binding = &certificate.binding;
    let memory = binding.memory_rank.zip(binding.microbatches);
    let why = match (binding.bound, memory) {
        (Bound::Memory, Some((rank, held))) => {
            t!("the {held} activations that rank {rank} may hold", held, rank)
        }
        (Bound::Both, Some((rank, held))) => t!(
            "the work of rank {work_rank} and the {held} activations that rank {rank} may hold",
            work_rank = binding.work_rank,
            held,
            rank
        ),
        _ => t!("the work of rank {rank}", rank = binding.work_rank),
    };
    let ops = if certificate.whole_backward { t!("in one op") } else { t!("in two ops") };
    t!(
        "No order of the same stages, the backward {ops}, on ranks that hold as many activations each, ends before \
            {bound}: {why} sets it. With one activation more on every rank the bound is {more}.",
        ops,
        bound = seconds(certificate.lower_bound_s),
        why,
        more = seconds(certificate.one_more_s)
    )
}
