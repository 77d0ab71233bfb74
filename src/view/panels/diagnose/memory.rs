//! The GPU of a message that memory ran out, over the prediction; what was asked for.

use super::{amount, head, legend, legend_item};
use crate::charts::ticks::ticks;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::diagnose::MemoryFound;
use shardscope_core::units::{GIB, number, show_of_gpu};

fn gib(bytes: f64) -> String {
    show_of_gpu(Bytes(bytes))
}

/// Parts of the message with their classes, and the bytes that are in use.
fn held(memory: &MemoryFound) -> (Vec<(&'static str, &'static str, f64)>, f64) {
    let message = &memory.message;
    let (allocated, unused) = (message.allocated.unwrap_or(0.0), message.unused.unwrap_or(0.0));
    let outside = message.process.map_or(0.0, |process| (process - allocated - unused).max(0.0));
    let total = message.total.unwrap_or(0.0);
    let uncounted = message.uncounted().filter(|bytes| *bytes > 0.02 * total).unwrap_or(0.0);
    let parts = vec![
        ("other processes", "me d-muted", message.others.unwrap_or(0.0)),
        ("neither free nor counted", "me d-muted", uncounted),
        ("outside PyTorch", "me d-host", outside),
        ("allocated by PyTorch", "me d-text", allocated),
        ("reserved and not in use", "me d-muted hatched", unused),
    ];
    let sum = parts.iter().map(|part| part.2).sum();
    (parts, sum)
}

/// Class of the colour of a predicted part; logits at their peak have that of allocated memory.
fn colour(part: &str) -> &'static str {
    match Component::ALL.iter().position(|one| one.name() == part) {
        None if part == "logits at their peak" => "d-text",
        Some(0) => "d-weights",
        Some(1) => "d-gradients",
        Some(2) => "d-states",
        Some(3) => "d-activations",
        Some(4) => "d-buffers",
        _ => "d-host",
    }
}

/// A part of a bar in its key.
fn item(class: &str, words: &'static str, bytes: f64, of: &Scope) -> Node {
    legend_item(class, Message::joined(" ", [words.into(), of.says(words, gib(bytes))]))
}

/// A bar with its label and `whole`, the bytes of all its parts, with what they are.
fn bar_line([label, what]: [&'static str; 2], whole: f64, parts: &[Node], of: &Scope) -> Node {
    let cells = [
        el("span", &[("class", "who")], &[strong(label), text(" "), leaf("span", "muted small", what)]),
        el("span", &[("class", "track")], parts),
        amount("whole", &gib(whole)).reports("need", of),
    ];
    el("div", &[("class", "pair-row")], &cells)
}

fn key_line(items: &[Node]) -> Node {
    let cells = [inline(""), el("span", &[("class", "key-line")], items), inline("")];
    el("div", &[("class", "pair-row axis")], &cells)
}

/// The axis below bars that end at `most` bytes, GiB, with the `limit` where one is known and whose it is: its name
/// stands in place of what is too near.
fn axis(most: f64, limit: Option<&(f64, Scope)>) -> Node {
    let place = |bytes: f64| percent("left", bytes / most);
    let marks = ticks(0.0, most / GIB, 6).into_iter();
    let marks = marks.filter(|tick| limit.is_none_or(|(limit, _)| (tick * GIB - limit).abs() > NEAR * most));
    let marks = marks.map(|tick| el("span", &[("style", &place(tick * GIB))], &[text(verbatim(number(tick, 2)))]));
    let named = limit.map(|(limit, scope)| {
        let name = t!("limit {bytes}", bytes = scope.says("total", gib(*limit)));
        // Near an end the name begins or ends there.
        let class = match limit / most {
            share if share > 0.9 => "limit last",
            share if share < 0.1 => "limit early",
            _ => "limit",
        };
        el("span", &[("class", class), ("style", &place(*limit))], &[text(name)])
    });
    let all: Vec<Node> = marks.chain(named).collect();
    let cells = [inline(""), el("span", &[("class", "ticks")], &all), inline("")];
    el("div", &[("class", "pair-row axis")], &cells)
}

/// Marks of the axis nearer to the limit than this share of it give way to its name.
const NEAR: f64 = 0.1;

/// The bar of the message over that of the prediction, with the limit and the range.
pub(super) fn bars(memory: &MemoryFound) -> Node {
    let message = &memory.message;
    let (parts, used) = held(memory);
    let asked = message.asked.unwrap_or(0.0);
    let of_message = message.total.map(|total| (total, Scope::files()));
    let limit = of_message.or_else(|| Some((memory.need?[3], Scope::compared())));
    let total = limit.as_ref().map(|(total, _)| *total);
    let free = message.free.map(|free| total.map_or(free, |total| free.min((total - used).max(0.0))));
    let high = memory.need.map_or(0.0, |need| need[2]);
    let most = (used + asked.max(free.unwrap_or(0.0))).max(total.unwrap_or(0.0)).max(high).max(1.0) * 1.02;
    let mark = || total.map(|total| el("s", &[("style", &percent("left", total / most))], &[]));
    let mut start = 0.0;
    let mut inside = Vec::new();
    let mut key = Vec::new();
    for (name, class, bytes) in parts.into_iter().filter(|part| part.2 > 0.0) {
        inside.push(bar_at(class, start, bytes / most).title(name));
        key.push(item(class, name, bytes, &Scope::files()));
        start += bytes / most;
    }
    if let Some((free, shown)) = message.free.zip(free) {
        inside.push(bar_at("free", start, shown / most).title("free"));
        // It is a part of what was asked for, so that the parts add up to more than the bar by it.
        key.push(item(
            "free",
            if asked > free { "free, inside what was asked for" } else { "free" },
            free,
            &Scope::files(),
        ));
    }
    if asked > 0.0 {
        inside.push(bar_at("asked", start, asked / most).title("asked for"));
        key.push(item("asked", "asked for", asked, &Scope::files()));
    }
    inside.extend(mark());
    let what = if asked > 0.0 { "in use and asked for" } else { "in use" };
    let mut lines = vec![bar_line(["Message", what], used + asked, &inside, &Scope::files())];
    let mut keys = vec![key_line(&key)];
    let mut range = None;
    if let Some([low, need, high, _]) = memory.need {
        let mut start = 0.0;
        let mut inside = Vec::new();
        let mut key = Vec::new();
        for (part, bytes) in memory.predicted_parts() {
            let class = format!("pr {}", colour(part));
            inside.push(bar_at(&class, start, bytes / most).title(part));
            key.push(item(&class, part, bytes, &Scope::compared()));
            start += bytes / most;
        }
        inside.push(bracket(low / most, high / most));
        inside.extend(mark());
        lines.push(bar_line(["Predicted", "peak of the GPU"], need, &inside, &Scope::compared()));
        keys.push(key_line(&key));
        range = Some(t!(
            "range {low} to {high}",
            low = Scope::compared().says("need, low", gib(low)),
            high = Scope::compared().says("need, high", gib(high))
        ));
    }
    lines.push(axis(most, limit.as_ref()));
    lines.extend(keys);
    let beside = message.total.map(|total| Scope::files().says("total", gib(total))).unwrap_or_default();
    let whose = memory.whose_prediction();
    // What PyTorch calls allocated is compared with the tensors, the bar has the rest as well.
    let of_tensors =
        message.allocated.and(memory.predicted_tensors()).zip(memory.need).map(|([_, tensors, _], need)| {
            t!(
                "Of the {need} predicted, {tensors} are tensors, which PyTorch calls allocated, and {rest} are of the \
                process and of fragmentation.",
                need = Scope::compared().says("need", gib(need[1])),
                tensors = Scope::compared().says("tensors", gib(tensors)),
                rest = Scope::compared().says("process and fragmentation", gib(need[1] - tensors))
            )
        });
    let below = Message::joined(" ", whose.into_iter().chain(of_tensors));
    Node::from_iter([
        match memory.need {
            Some(_) => head("The GPU at that moment, over the prediction", beside, legend(range)),
            None => head("The GPU at that moment", beside, Node::none()),
        },
        el("div", &[("class", "pairs")], &lines),
        if below.is_empty() { Node::none() } else { muted(below) },
    ])
}

/// What was asked for, where it is known.
pub(super) fn asked(memory: &MemoryFound) -> Option<Node> {
    let what = memory.fingerprint.as_ref()?;
    let words = t!(
        "{asked} are the size of {what}, to {off}.",
        asked = memory.message.asked.map(|asked| Scope::files().says("asked for", gib(asked))).unwrap_or_default(),
        what = what.names(),
        off = Scope::files()
            .says("off the size", show_percent(what.also.iter().map(|other| other.off).fold(what.off, f64::max)))
    );
    let lines = std::iter::once(words).chain(what.to_look_up()).map(paragraph);
    let heading = head("What was asked for", Message::default(), Node::none());
    Some(std::iter::once(heading).chain(lines).collect())
}
