//! `weave`: what every 1F1B-like schedule is made of.

use crate::pipeline::op::{Item, Op};

/// First `warm_up` forwards, then one forward and one backward group in turn, then the groups that are left.
///
/// `group(i, out)` appends the i-th of `groups` backward groups.
pub(crate) fn weave(
    warm_up: usize,
    forwards: impl ExactSizeIterator<Item = Op>,
    groups: usize,
    mut group: impl FnMut(usize, &mut Vec<Item>),
) -> Vec<Item> {
    let mut out = Vec::with_capacity(forwards.len() + 2 * groups);
    let mut forwards = forwards.map(Item::from);
    out.extend(forwards.by_ref().take(warm_up));
    for index in 0..groups {
        out.extend(forwards.next());
        group(index, &mut out);
    }
    out.extend(forwards);
    out
}

/// As [`weave`], with forward and backward of the steady state run as overlapped pairs.
pub(crate) fn weave_pairs(
    warm_up: usize,
    mut forwards: impl ExactSizeIterator<Item = Op>,
    backwards: impl Iterator<Item = Op>,
) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::with_capacity(2 * forwards.len());
    out.extend(forwards.by_ref().take(warm_up).map(Item::from));
    for backward in backwards {
        out.push(match forwards.next() {
            Some(forward) => Item::Pair(forward, backward),
            None => Item::One(backward),
        });
    }
    out
}

/// A backward cut in two: group i is B of unit i and, from i = `delay` on, W of unit i − `delay`; the W that are left
/// come at the end.
pub(crate) fn delayed_weights(
    units: usize,
    delay: usize,
    b: impl Fn(usize) -> Op,
    w: impl Fn(usize) -> Op,
) -> impl Fn(usize, &mut Vec<Item>) {
    move |index, out| {
        out.push(b(index).into());
        if let Some(weight) = index.checked_sub(delay) {
            out.push(w(weight).into());
        }
        if index + 1 == units {
            let next = units.saturating_sub(delay);
            out.extend((next..units).map(|weight| Item::from(w(weight))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(i: usize) -> u32 {
        u32::try_from(i).unwrap()
    }

    #[test]
    fn warm_up_then_one_each_then_the_rest() {
        let forwards = (0..4).map(|i| Op::f(0, i));
        let items = weave(2, forwards, 4, |i, out| {
            out.push(Op::bw(0, index(i)).into());
        });
        let text: Vec<String> = items.iter().map(ToString::to_string).collect();
        assert_eq!(text.join(" "), "0F0 0F1 0F2 0BW0 0F3 0BW1 0BW2 0BW3");
    }

    #[test]
    fn weights_come_their_delay_later_and_none_is_lost() {
        let group = delayed_weights(3, 1, |i| Op::b(0, index(i)), |i| Op::w(0, index(i)));
        let mut out = Vec::new();
        (0..3).for_each(|index| group(index, &mut out));
        let text: Vec<String> = out.iter().map(ToString::to_string).collect();
        assert_eq!(text.join(" "), "0B0 0B1 0W0 0B2 0W1 0W2");
    }
}
