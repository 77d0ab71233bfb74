//! The standard library's sort, compiled once.
//!
//! `slice::sort_by` is compiled anew for every type and comparison, about 3 kB of WebAssembly each: the forty of them
//! were 6 % of the module. Here indices are sorted, by a comparison that is given at run time; only the swaps depend on
//! the type.

use std::cmp::Ordering;

/// Sorts by `compare`; what compares equal keeps its order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let swaps = swaps(items.len(), &|a, b| compare(&items[a], &items[b]));
    for (at, other) in swaps.into_iter().enumerate() {
        items.swap(at, other);
    }
}

/// Sorts in the order of the type itself.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// The middle of `values` in order; of an even number the mean of the two in the middle, none of none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sort_by(&mut sorted, f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    let lower = if sorted.len().is_multiple_of(2) { sorted[middle - 1] } else { upper };
    Some(f64::midpoint(lower, upper))
}

/// Partner of each place in the swaps, from the first on, that sort `count` items.
fn swaps(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    for at in 0..count {
        // An item from a place before was swapped away when that place was filled.
        let mut from = order[at];
        while from < at {
            from = order[from];
        }
        order[at] = from;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(mut list in proptest::collection::vec((0u8..9, 0u16..), 0..60)) {
            let mut expected = list.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_by(&mut list, |a, b| a.0.cmp(&b.0));
            prop_assert_eq!(&list, &expected);
            expected.sort_unstable();
            sort(&mut list);
            prop_assert_eq!(list, expected);
        }
    }
}
