//! The formulas behind a rank's total: its items, written instead of computed, by component.

use super::estimate::{Component, Item};
use crate::explain::{Quantity, Term, Unit, Written, written};
use crate::message::Message;

impl Component {
    /// Its symbol in formulas.
    pub(crate) const fn symbol(self) -> &'static str {
        self.symbols()[0]
    }
    /// Symbol of the component, symbol of its items, and its name in the drawer.
    const fn symbols(self) -> [&'static str; 3] {
        match self {
            Self::Weights => ["W", "W_i", "weights"],
            Self::Gradients => ["G", "G_i", "gradients"],
            Self::Optimizer => ["O", "O_i", "optimizer states"],
            Self::Activations => ["A", "A_i", "activations"],
            Self::Buffers => ["B", "B_i", "logits, transients and gathered tensors"],
            Self::Overhead => ["X", "X_i", "fragmentation and CUDA overhead"],
        }
    }
}

/// Sum of each component over the items that `inventory` hands out, each with its name in the drawer.
pub(super) fn components(inventory: impl FnOnce(&mut dyn FnMut(Item<Written>, Message))) -> [(Component, Term); 6] {
    let mut parts = Component::ALL.map(|component| (component, Vec::new()));
    written(|| {
        inventory(&mut |item, name| {
            if item.bytes.value().abs() > 0.0 {
                let (component, list) = &mut parts[item.component as usize];
                list.push(item.bytes.term(component.symbols()[1], name, Unit::Bytes));
            }
        });
    });
    parts.map(|(component, list)| {
        let [symbol, of_items, name] = component.symbols();
        (component, written(|| Written::all(of_items, list).term(symbol, name, Unit::Bytes)))
    })
}

/// The total of a rank by its components; 0 of a rank that holds nothing.
pub(super) fn total(name: Message, components: Vec<Term>) -> Term {
    Term::sum("T", name, Unit::Bytes, components)
}

/// The tree behind a rank of a published method; a component of one item has its formula.
pub(super) fn published(name: Message, items: impl FnOnce() -> Vec<Item<Written>>) -> Term {
    let components = components(|add| items().into_iter().for_each(|item| add(item, item.name.into())));
    let filled = components.into_iter().filter(|(_, sum)| !sum.parts.is_empty()).map(|(_, mut sum)| {
        if sum.parts.len() > 1 {
            return sum;
        }
        let only = sum.parts.remove(0);
        Term { symbol: sum.symbol, name: sum.name, ..only }
    });
    total(name, filled.collect())
}
