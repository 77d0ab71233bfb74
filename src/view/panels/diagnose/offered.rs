//! Before a file is there: examples to try, and what files are read.

use super::head;
use crate::prelude::*;

/// What files are read, and what each can tell; three examples, by their place.
pub fn offered() -> Node {
    let card = |at: usize, words: Message, why: Message, of: Message| {
        let open = leaf("button", "", "Open").on(PanelAction::Example(at));
        let foot = [leaf("span", "muted small", of), open];
        el("div", &[("class", "box")], &[heading(words), leaf("p", "muted", why), el("p", &[("class", "act")], &foot)])
    };
    let cards = [
        card(
            0,
            t!("Trace of one rank"),
            t!("Gradients are reduced after the backward pass instead of under it, and the host pauses once."),
            t!("made from a prediction, Llama 3.1 8B"),
        ),
        card(
            1,
            t!("Log with spikes"),
            t!("Steps of 0.68 s, now and then one of 1.35 s: what that is consistent with."),
            verbatim("nanochat, 8 × H100"),
        ),
        card(
            2,
            t!("Out of memory"),
            t!("3.91 GiB asked for, 2.13 GiB free: which tensor that was, and changes that would have fitted."),
            t!("a message of PyTorch, made up"),
        ),
    ];
    let rows = [
        (
            "Trace of one rank",
            "PyTorch profiler (.json, .gz), rocprofv3, nsys kernel trace",
            "every part in seconds; waiting as “at least”",
        ),
        (
            "Traces of several ranks",
            "the same, one file a rank; Primus, StragglerAnalysis",
            "also who is late, and waiting apart from wire time",
        ),
        ("Summary", "nsys or rocprof kernel sums (.csv, .json)", "kernels by class; no exposed time, no idle time"),
        (
            "Log",
            "Megatron-LM with its timers, NeMo, torchtitan, DeepSpeed, plain steps",
            "what is consistent with it, and what to measure next",
        ),
        ("Two logs or two traces", "of one program", "what makes the difference between them"),
        (
            "Out-of-memory message",
            "PyTorch 1.x to 2.13, NCCL, cuBLAS, JAX",
            "what was asked for, at which moment, ranked causes",
        ),
        ("Memory snapshot", "PyTorch (.pickle, .json)", "its peaks against the prediction"),
        (
            "Log of reinforcement learning",
            "verl, NeMo-RL, slime; exports of TRL's trackers",
            "generation, updates and new weights over their predictions",
        ),
    ];
    let table = Rows::of(rows)
        .column("You have", |row| text(row.0))
        .column("Files", |row| text(row.1))
        .column("What it can tell", |row| text(row.2));
    let section = |content: Node| el("section", &[], &[content]);
    let examples = Node::from_iter([
        head("Three examples to try", t!("each opens with its own run"), Node::none()),
        el("div", &[("class", "thirds")], &cards),
    ]);
    let table = el("div", &[("class", "texts")], &[table.table("What is read")]);
    let read = Node::from_iter([head("What is read", Message::default(), Node::none()), table]);
    el("div", &[("class", "diagnosis")], &[section(examples), section(read)])
}
