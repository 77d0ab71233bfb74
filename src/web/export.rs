//! Exports as texts, written by the second module when they are first shown.

use crate::io::asked::Asked;
use crate::io::export::Order;
use crate::web::import::ask_importer;
use crate::web::worker::job::{from_bytes, to_bytes};
use leptos::prelude::*;

/// Texts that are kept.
const MAX_KEPT: usize = 16;

/// The exports that were written last.
#[derive(Clone, Copy)]
pub(crate) struct Exports {
    written: RwSignal<Vec<(Order, Option<String>)>>,
    asked: StoredValue<Vec<Order>>,
}

impl Exports {
    /// None yet.
    pub fn new() -> Self {
        Self {
            written: RwSignal::new(Vec::new()),
            asked: StoredValue::new(Vec::new()),
        }
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
        if !self.asked.with_value(|asked| asked.contains(&order)) {
            self.asked.update_value(|asked| asked.push(order.clone()));
            leptos::task::spawn_local(async move {
                let question = to_bytes(&Asked::Export(order.clone()));
                let answer = ask_importer(&question, None).await;
                let text = answer.and_then(|bytes| from_bytes::<Option<String>>(&bytes)?);
                self.asked
                    .update_value(|asked| asked.retain(|one| *one != order));
                self.written.update(|written| {
                    written.insert(0, (order, text));
                    written.truncate(MAX_KEPT);
                });
            });
        }
        None
    }
}
