//! An order that was typed or pasted: any ranks, stages and micro-batches, as long as it runs.

use crate::issue::Issue;
use crate::pipeline::op::{Op, OrderItem};
use crate::pipeline::order::{Order, StagePlacement, parse_ranks};
use crate::pipeline::registry::{Built, Spec};
use crate::pipeline::row::RankRow;
use crate::pipeline::spec::MAX_OPS;
use crate::pipeline::{Durations, simulate};
use crate::t;

/// The order of `spec.order`; stages and micro-batches are those it names.
pub(crate) fn build(spec: &Spec) -> Result<Built, Issue> {
    let text = spec.order.as_deref().unwrap_or_default();
    if text.len() as u64 > 16 * MAX_OPS {
        let message = t!("the order is longer than the {MAX_OPS} ops that are simulated here", MAX_OPS);
        return Err(Issue::error("order", message));
    }
    let ranks = parse_ranks(text).map_err(|bad| Issue::error("order", bad.message()))?;
    let ops = || ranks.iter().flatten().flat_map(|item: &OrderItem| item.ops());
    let end = |number: fn(Op) -> u32| ops().map(number).max().map(|last| u64::from(last) + 1);
    let (Some(stages), Some(microbatches)) = (end(|op| op.stage), end(|op| op.microbatch)) else {
        let message = "a custom schedule needs an order: tokens such as 0F0,0BW0, one line (or |) a rank";
        return Err(Issue::error("order", message));
    };
    // Every stage runs every micro-batch: numbers that promise more cells than there are ops leave some out.
    if stages.saturating_mul(microbatches) > ops().count() as u64 {
        let message = t!(
            "the order names {stages} stages and {microbatches} micro-batches but runs only {count} ops: each stage \
                runs every micro-batch forward and backward",
            stages,
            microbatches,
            count = ops().count()
        );
        return Err(Issue::error("order", message));
    }
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let order =
        Order::new(ranks.into_iter().map(RankRow::of), narrow(stages), StagePlacement::Given, narrow(microbatches));
    expect("pp", "ranks", spec.pp, order.pp())?;
    expect("microbatches", "micro-batches", spec.microbatches, order.microbatches)?;
    simulate(&order, &Durations::unit(order.stages)).map_err(|fault| fault.issue("order"))?;
    let weight_copies = (0..order.ranks.len()).map(|rank| copies(&order, rank)).collect();
    let order = Order { weight_copies, ..order };
    Ok(Built { order, warnings: Vec::new() })
}

/// Shares of the weights on a rank: its stages over S / p, rounded up.
fn copies(order: &Order, rank: usize) -> u32 {
    let stages = order.stages_of(rank).len().min(u32::MAX as usize);
    u32::try_from(stages).unwrap_or(u32::MAX).div_ceil(order.chunks_per_rank()).max(1)
}

fn expect(field: &'static str, what: &'static str, asked: u32, given: u32) -> Result<(), Issue> {
    if asked == 0 || asked == given {
        return Ok(());
    }
    let message = t!("the order has {given} {what}, {asked} are asked for", given, what, asked);
    Err(Issue::error(field, message).with_fix(field, given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{build, schedule};

    fn custom(order: &str, pp: u32, m: u32) -> Result<Built, Issue> {
        let order = Some(order.to_owned());
        let spec = Spec { order, ..Spec::new(schedule("custom").unwrap(), pp, m) };
        build(&spec, &Durations::unit(1))
    }

    #[test]
    fn an_order_that_dead_locks_says_where() {
        let issue = custom("0F0,0BW0,0F1,0BW1|1F1,1F0,1BW0,1BW1", 2, 2).unwrap_err();
        assert_eq!(issue.field, "order");
        assert!(issue.message.to_string().contains("rank 1 is stuck at its op 0, 1F1"), "{}", issue.message);
    }

    #[test]
    fn sizes_that_do_not_meet_the_order_name_the_field() {
        let order = "0F0,0BW0|1F0,1BW0";
        assert!(custom(order, 0, 0).is_ok());
        assert_eq!(custom(order, 4, 1).unwrap_err().field, "pp");
        assert_eq!(custom(order, 2, 3).unwrap_err().field, "microbatches");
        assert_eq!(custom("", 2, 3).unwrap_err().field, "order");
        assert_eq!(custom("0F4000000000,0BW4000000000", 1, 1).unwrap_err().field, "order");
    }

    #[test]
    fn both_directions_are_two_copies_of_the_weights() {
        let order = "0F0,1F1,1BW1,0BW0|0F1,1F0,1BW0,0BW1";
        assert_eq!(custom(order, 2, 2).unwrap().order.weight_copies, [2, 2]);
    }
}
