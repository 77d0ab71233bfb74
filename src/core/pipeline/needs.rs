//! Dependency rules of a pipeline, once, for the simulator and for explanations.
//!
//! * F(s, i) after F(s−1, i);
//! * B(s, i), whole or input only, after F(s, i) and after the gradient of stage s+1;
//! * W(s, i) after B(s, i);
//! * with sequences cut into pieces also F(s, q) after F(s, q−1) and B(s, q) after B(s, q+1) within a micro-batch,
//!   because attention is causal.

use super::op::{Op, OpKind};
use super::order::Order;

/// A result that must exist: a forward or a gradient of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// F of stage and unit.
    Forward(u32, u32),
    /// B or BW of stage and unit.
    Gradient(u32, u32),
}

/// Results that `op` waits for in `order`.
pub fn needs(op: Op, order: &Order) -> impl Iterator<Item = Need> {
    rules(op, order.stages, if order.causal { order.splits } else { 1 })
}

fn rules(op: Op, stages: u32, splits: u32) -> impl Iterator<Item = Need> {
    let Op { kind, stage: s, microbatch: i } = op;
    let slots = match kind {
        OpKind::F => [
            (s > 0).then(|| Need::Forward(s - 1, i)),
            (splits > 1 && i % splits != 0).then(|| Need::Forward(s, i - 1)),
            None,
        ],
        OpKind::B | OpKind::BW => [
            Some(Need::Forward(s, i)),
            (s + 1 < stages).then_some(Need::Gradient(s + 1, i)),
            (splits > 1 && i % splits != splits - 1).then_some(Need::Gradient(s, i + 1)),
        ],
        OpKind::W => [Some(Need::Gradient(s, i)), None, None],
    };
    slots.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_forward_waits_for_nothing_and_the_last_backward_only_for_its_forward() {
        assert_eq!(rules(Op::f(0, 3), 4, 1).count(), 0);
        let last: Vec<Need> = rules(Op::bw(3, 2), 4, 1).collect();
        assert_eq!(last, [Need::Forward(3, 2)]);
    }

    #[test]
    fn splits_go_forward_ascending_and_backward_descending() {
        let forward: Vec<Need> = rules(Op::f(0, 5), 2, 4).collect();
        assert_eq!(forward, [Need::Forward(0, 4)]);
        assert_eq!(rules(Op::f(0, 4), 2, 4).count(), 0);
        let backward: Vec<Need> = rules(Op::bw(1, 5), 2, 4).collect();
        assert_eq!(backward, [Need::Forward(1, 5), Need::Gradient(1, 6)]);
        assert_eq!(rules(Op::bw(1, 7), 2, 4).count(), 1);
    }
}
