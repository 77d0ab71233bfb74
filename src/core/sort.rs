//! One sort for the whole crate.
//!
//! The standard library's sorts are compiled anew for every type, 4 kB each; this one sorts indices by a comparison
//! given at run time. Use it where the list is not the hot part.

use std::cmp::Ordering;

/// Sorts by `compare`; what compares equal keeps its order.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    let mut slots: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|at| slots.get_mut(at)?.take()));
}

/// The indices below `count` in the order of `compare`.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
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
            prop_assert_eq!(list, expected);
        }
    }
}
