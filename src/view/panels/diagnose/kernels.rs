//! Kernels by class, and messages by kind.

use super::{head, seconds_of};
use crate::prelude::*;
use shardscope_core::diagnose::Diagnosis;

pub(super) fn kernels(found: &Diagnosis) -> Node {
    let compared = found.kernels.iter().any(|row| row.predicted_s.is_some());
    let mut rows = Rows::of(found.kernels.clone())
        .figures("class", |row| row.class.name().replace('_', " "))
        .figures("measured", |row| seconds_of(row.measured_ns));
    if compared {
        // None and 0 are two things: a message is predicted by the part that it is in, not by its class.
        let shown = |seconds: f64| if seconds > 0.0 { show_seconds(Seconds(seconds)) } else { "0".to_owned() };
        rows = rows.figures("predicted", |row| row.predicted_s.map_or_else(|| "–".to_owned(), shown));
    }
    let is_apart = compared && found.kernels.iter().any(|row| row.predicted_s.is_none());
    let beside = if is_apart { t!("–: predicted by part, not by class") } else { Message::default() };
    let rows = rows.figures("kernels", |row| row.count.to_string()).figures("median", |row| seconds_of(row.median_ns));
    let messages = Rows::of(found.messages.clone())
        .figures("messages", |row| format!("{} {}", row.dimension.name(), row.kind.name().replace('_', " ")))
        .figures("calls", |row| row.count.to_string())
        .figures("measured", |row| seconds_of(row.measured_ns))
        .figures("bytes", |row| if row.bytes > 0 { show_bytes(Bytes(row.bytes as f64)) } else { String::new() })
        .figures("waiting", |row| row.waiting_ns.map_or_else(String::new, seconds_of));
    let mut parts = vec![head("Kernels by class", beside, Node::none()), rows.table("Kernels by class")];
    if !found.messages.is_empty() {
        parts.push(messages.table("Messages by kind"));
    }
    el("div", &[], &parts)
}
