//! `weave`: what every 1F1B-like schedule is made of.

use crate::pipeline::op::{Op, OpKind, OrderItem};
use crate::pipeline::row::RankRow;

/// Ops of one kind, of which turn i + `lag` runs the i-th.
pub(crate) struct Strand<'a> {
    pub lag: u32,
    pub op: &'a dyn Fn(u32) -> Op,
}

/// Number of times that strands run, and their period.
#[derive(Clone, Copy)]
pub(crate) struct WeavePattern {
    /// Ops of a strand.
    pub units: u32,
    /// Op i + `period` is op i, `step` op indices on.
    pub period: u32,
    pub step: u32,
    /// Up to this op; those behind it follow no period.
    pub regular: u32,
}

impl WeavePattern {
    /// Op i is of unit i.
    pub(crate) const fn plain(units: u32) -> Self {
        Self { units, period: 1, step: 1, regular: units }
    }
}

/// In each turn one op of each strand that has begun and not ended; with `pairs` a forward and a backward of the same
/// turn run as one block.
///
/// 1F1B is a strand of forwards and one of backwards, as many turns later as its warm-up is long; a gradient of the
/// weight is a third strand.
pub(crate) fn weave(pattern: WeavePattern, strands: &[Strand], pairs: bool) -> RankRow {
    let WeavePattern { units, regular, .. } = pattern;
    let turns = |strand: &Strand, ops: u32| strand.lag..strand.lag + ops;
    let mut bounds: Vec<u32> =
        strands.iter().flat_map(|strand| [0, regular, units].map(|op| strand.lag + op)).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let turn = |items: &mut Vec<OrderItem>, turn: u32| {
        let first = items.len();
        for strand in strands {
            if !turns(strand, units).contains(&turn) {
                continue;
            }
            let op = (strand.op)(turn - strand.lag);
            match items.get_mut(first) {
                Some(item @ OrderItem::One(_)) if pairs && item.first().kind == OpKind::F => {
                    *item = OrderItem::Pair(item.first(), op);
                }
                _ => items.push(op.into()),
            }
        }
    };
    let mut row = RankRow::default();
    let mut items = Vec::new();
    for between in bounds.windows(2) {
        let (start, end) = (between[0], between[1]);
        let even = strands
            .iter()
            .all(|strand| turns(strand, regular).contains(&start) || !turns(strand, units).contains(&start));
        let period = if even { pattern.period } else { end - start };
        let times = (end - start) / period;
        let (whole, step) = (start + times * period, pattern.step.cast_signed());
        (start..start + period).for_each(|at| turn(&mut items, at));
        row.repeat(items.drain(..), times, step);
        (whole..end).for_each(|at| turn(&mut items, at));
        row.extend(items.drain(..));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(row: &RankRow) -> String {
        let tokens: Vec<String> = row.iter().map(|item| item.to_string()).collect();
        tokens.join(" ")
    }

    #[test]
    fn warm_up_then_one_each_then_the_rest() {
        let (forward, backward) = (|i| Op::f(0, i), |i| Op::bw(0, i));
        let strands = [Strand { lag: 0, op: &forward }, Strand { lag: 2, op: &backward }];
        let row = weave(WeavePattern::plain(4), &strands, false);
        assert_eq!(text(&row), "0F0 0F1 0F2 0BW0 0F3 0BW1 0BW2 0BW3");
        let row = weave(WeavePattern::plain(4), &strands, true);
        assert_eq!(text(&row), "0F0 0F1 (0F2;0BW0) (0F3;0BW1) 0BW2 0BW3");
        assert_eq!(row.loops().count(), 3);
    }

    #[test]
    fn weights_come_their_delay_later_and_none_is_lost() {
        let (b, w) = (|i| Op::b(0, i), |i| Op::w(0, i));
        let strands = [Strand { lag: 0, op: &b }, Strand { lag: 1, op: &w }];
        let row = weave(WeavePattern::plain(3), &strands, false);
        assert_eq!(text(&row), "0B0 0B1 0W0 0B2 0W1 0W2");
    }
}
