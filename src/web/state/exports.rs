//! Exports as texts, written by the second module when they are first shown.

use crate::io::asked::Asked;
use crate::io::export::Order;
use crate::web::ask::asked;
use leptos::prelude::*;

/// Texts that are kept.
const MAX_KEPT: usize = 16;

/// The exports that were written last.
#[derive(Clone, Copy)]
pub(crate) struct Exports {
    written: RwSignal<Vec<(Order, Option<String>)>>,
    awaited: StoredValue<Vec<Order>>,
}

impl Exports {
    /// None yet.
    pub fn new() -> Self {
        Self { written: RwSignal::new(Vec::new()), awaited: StoredValue::new(Vec::new()) }
    }

    /// The text of `order`; none until it is written, which updates this signal.
    pub fn text(self, order: Order) -> Option<String> {
        let known = self.written.with(|written| {
            let known = written.iter().find(|(of, _)| *of == order);
            known.map(|(_, text)| text.clone())
        });
        if let Some(text) = known {
            return text;
        }
        if !self.awaited.with_value(|all| all.contains(&order)) {
            self.awaited.update_value(|all| all.push(order.clone()));
            leptos::task::spawn_local(async move {
                let text = asked::<Option<String>>(&Asked::Export(order.clone())).await;
                let text = text.flatten();
                self.awaited.update_value(|all| all.retain(|one| *one != order));
                self.written.update(|written| {
                    written.insert(0, (order, text));
                    written.truncate(MAX_KEPT);
                });
            });
        }
        None
    }
}
