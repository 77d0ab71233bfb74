//! Preview of an import before it is applied: its format, what may matter and is not read, its changes, and the entries
//! used, assumed, without effect.

use super::{Meaning, Unread, UnreadKind, read, read_given};
use crate::dialect::rows::reader::ModelBy;
use crate::dialect::{Branch, Given};
use shardscope_core::advice::fit::label;
use shardscope_core::issue::{Fix, Issue};
use shardscope_core::message::{Message, verbatim};
use shardscope_core::report::evaluate;
use shardscope_core::run::Run;
use shardscope_core::run::registry::{FIELDS, field};
use shardscope_core::t;
use shardscope_core::units::{MemoryUnit, show_count};
use shardscope_view::node::markup::{
    Action, Node, aside, bullet, el, fold, leaf, load, muted, paragraph, subheading, table, text,
};
use shardscope_view::panels::issues::line;
use shardscope_view::panels::words;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Reads `text` and shows its effect on `present`, or why it cannot be read; a layout is chosen for another model alone
/// where the page's `follows` it.
pub fn summary(text: &str, present: &Run, follows: bool) -> Node {
    match read(text, present) {
        Ok(meaning) => understood(&meaning, text, present, follows),
        Err(issues) => issues.into_iter().map(|issue| line(&Issue::error("", issue.message))).collect(),
    }
}

/// True if `run` is `present` with another model and nothing else.
pub fn is_model_alone(run: &Run, present: &Run) -> bool {
    run.model != present.model && Run { model: present.model.clone(), ..run.clone() } == *present
}

/// Undecided conditions whose other way is read as well.
const MAX_OTHERS: usize = 8;

fn understood(meaning: &Meaning, text_read: &str, present: &Run, follows: bool) -> Node {
    let Meaning { format, run, used, assumed, ignored, unread, .. } = meaning;
    let changes = changes(present, run);
    let count = changes.len();
    let words = if count == 0 { "Nothing to change" } else { "Use this" };
    let mut parts = vec![
        leaf("p", "size", t!("Read as {format}.", format)),
        trust(meaning),
        counts(meaning),
        size(run),
        asked(meaning, present),
        if follows && is_model_alone(run, present) { chosen_later(unread) } else { outcome(run, unread) },
        take(run, words),
    ];
    parts.push(not_decided(meaning, text_read, present));
    if !unread.is_empty() {
        parts.push(subheading("May matter and not read"));
        parts.push(matters(unread));
    }
    if count > 0 {
        parts.push(subheading("What changes"));
        parts.push(table("What changes", &["", "now", "then"], &changes));
    }
    if !assumed.is_empty() {
        let items: Node = assumed.iter().map(bullet).collect();
        parts.push(subheading("Assumed"));
        parts.push(el("ul", &[("class", "gaps")], &[items]));
    }
    if !used.is_empty() {
        let rows: Vec<_> =
            used.iter().map(|(key, what)| (false, vec![leaf("code", "", verbatim(key)), text(what)])).collect();
        let count = t!("entries used: {count}", count = rows.len());
        parts.push(fold(&count, table("Entries used", &["entry", "read as"], &rows)));
    }
    if !ignored.is_empty() {
        let count = t!("entries without effect: {count}", count = ignored.len());
        parts.push(fold(&count, leaf("code", "muted", Message::joined(", ", ignored.iter().map(Message::from)))));
    }
    el("div", &[("class", "imported")], &parts)
}

/// How far the reading carries: whether something that may matter is not read, and whether the model and the files that
/// decide the layout are here at all.
fn trust(meaning: &Meaning) -> Node {
    let missing = meaning.unread.iter().any(|one| one.kind == UnreadKind::MissingFile);
    let open = meaning.branches.iter().any(|branch| !branch.decided);
    match (meaning.model.by, meaning.unread.len()) {
        (ModelBy::Page, _) => leaf("p", "issue warning", "✕ Not enough was read: no model that is known here"),
        _ if missing => leaf("p", "issue warning", "✕ Not enough was read: a file that decides the run is not here"),
        (_, 0) if !open && meaning.model.sure => paragraph("✓ Trust it: everything that may matter is read"),
        _ if open || meaning.unread.iter().any(Unread::could_change_memory) => leaf(
            "p",
            "issue warning",
            "▲ Trust the layout, not yet memory and step: settings that are not read may change them",
        ),
        _ => leaf("p", "issue warning", "▲ Trust layout and memory, not yet the step: what is not read may change it"),
    }
}

/// How many settings are read, without effect, and left out though they may matter.
fn counts(meaning: &Meaning) -> Node {
    let names: BTreeSet<&String> = meaning.used.iter().map(|(name, _)| name).collect();
    let (read, none, open) = (names.len(), meaning.ignored.len(), meaning.unread.len());
    paragraph(t!("{read} read · {none} no effect here · {open} may matter, not read", read, none, open))
}

/// The buttons that take the Run: alone, or with the settings that launch it.
fn take(run: &Run, words: &'static str) -> Node {
    let run = Arc::new(run.clone());
    let button = |class, words: &'static str, launches| {
        leaf("button", class, words).on(Action::Import(Arc::clone(&run), launches))
    };
    el("p", &[("class", "choices")], &[button("main", words, false), button("", "Use and export", true)])
}

/// The conditions that the text does not decide: how each was read, and what comes of the other way, which a button
/// takes.
fn not_decided(meaning: &Meaning, text_read: &str, present: &Run) -> Node {
    let open: Vec<&Branch> = meaning.branches.iter().filter(|branch| !branch.decided).collect();
    if open.is_empty() {
        return Node::none();
    }
    let peak = |run: &Run| evaluate(run).ok().map(|evaluation| evaluation.report.memory);
    let now = peak(&meaning.run);
    let mut worse = Vec::new();
    let mut row = |at: usize, branch: &Branch| {
        let other = (at < MAX_OTHERS).then(|| {
            let set = vec![(branch.condition.clone(), (!branch.taken).to_string())];
            read_given(text_read, present, &Given { set, files: Vec::new() }).ok()
        });
        let other = other.flatten().filter(|other| other.run != meaning.run);
        let name = Node::from_iter([
            leaf("code", "", verbatim(&branch.condition)),
            if branch.line > 0 { aside(t!(" · line {line}", line = branch.line)) } else { Node::none() },
        ]);
        let holds = text(if branch.taken { "holds" } else { "does not hold" });
        let Some(other) = other else {
            return (false, vec![name, holds, text("no other figure")]);
        };
        let memory = peak(&other.run);
        let says = memory.as_ref().map_or_else(Node::none, |memory| {
            let (verdict, peak) = (words::outlook(&memory.peak()), MemoryUnit::Gib.show(memory.peak_bytes));
            text(t!("{verdict} at {peak}", verdict, peak))
        });
        if let (Some(now), Some(then)) = (&now, memory)
            && (then.peak_bytes > now.peak_bytes || then.verdict != now.verdict)
        {
            worse.push(branch.condition.clone());
        }
        let run = Arc::new(other.run);
        let button = leaf("button", "", "Use the other way").on(Action::Import(run, false));
        (false, vec![name, holds, Node::from_iter([says, button])])
    };
    let rows: Vec<_> = open.iter().enumerate().map(|(at, branch)| row(at, branch)).collect();
    let warning = if worse.is_empty() {
        Node::none()
    } else {
        let conditions = worse.join(", ");
        leaf(
            "p",
            "issue warning",
            t!("Read the other way, these change the memory or its verdict: {conditions}", conditions),
        )
    };
    let list = table("Not decided by the text", &["condition", "read as", "the other way"], &rows);
    Node::from_iter([warning, subheading("Not decided by the text"), list])
}

/// The settings that may matter and are not read, with what they could change.
fn matters(unread: &[Unread]) -> Node {
    let row = |one: &Unread| {
        let name = Node::from_iter([
            leaf("code", "", verbatim(&one.name)),
            one.line.map_or_else(Node::none, |line| aside(t!(" · line {line}", line))),
        ]);
        (false, vec![name, text(&one.why), text(&one.could_change)])
    };
    let rows: Vec<_> = unread.iter().map(row).collect();
    table("May matter and not read", &["setting", "why it is not read", "could change"], &rows)
}

/// The question for the model where the text leaves it open, with a button that keeps that of the page.
fn asked(meaning: &Meaning, present: &Run) -> Node {
    let model = meaning.run.model.title();
    match meaning.model.by {
        ModelBy::Name if !meaning.model.sure => {
            let kept = Arc::new(Run { model: present.model.clone(), ..meaning.run.clone() });
            let keep = t!("No: keep {model}", model = present.model.title());
            Node::from_iter([
                leaf(
                    "p",
                    "issue warning",
                    t!("The model is not known by its name. Closest, and taken: {model}.", model),
                ),
                el("p", &[("class", "choices")], &[leaf("button", "", keep).on(Action::Import(kept, false))]),
            ])
        }
        ModelBy::Page => leaf(
            "p",
            "issue warning",
            t!("The text names no model that is known here. Taken: {model}, of this page.", model),
        ),
        _ => Node::none(),
    }
}

/// Parameters of the model that was read.
fn size(run: &Run) -> Node {
    let Ok(model) = run.model.resolve() else {
        return Node::none();
    };
    let elements = model.elements();
    let total = show_count(elements.total() as f64);
    let active = if elements.active() == elements.total() {
        Message::default()
    } else {
        t!(", {active} active", active = show_count(elements.active() as f64))
    };
    // The name of a model that is read by its shape has its size already.
    let name = run.model.title();
    let name = if name.to_string().ends_with(&total) { Message::default() } else { t!("{model}: ", model = name) };
    paragraph(t!("{model}{total} parameters{active}", model = name, total, active))
}

/// Words in place of a verdict that the layout of the page would have and the one that is chosen would not.
fn chosen_later(unread: &[Unread]) -> Node {
    Node::from_iter([muted("Its layout is chosen when you take it: the verdict is that layout's."), doubt(unread)])
}

/// The report of the Run, in a line, before it is taken; and how many settings it leaves out.
fn outcome(run: &Run, unread: &[Unread]) -> Node {
    match evaluate(run) {
        Ok(evaluation) => {
            let report = &evaluation.report;
            let peak = MemoryUnit::Gib.show(report.memory.peak_bytes);
            let message = t!(
                "{verdict} at {peak}, on {gpus} GPUs",
                verdict = words::outlook(&report.memory.peak()),
                peak,
                gpus = run.gpus
            );
            Node::from_iter([muted(&message), doubt(unread)])
        }
        Err(issues) => {
            let items: Node = issues.iter().map(|issue| mended(issue, run)).collect();
            let words = "With the rest of this page it does not work yet:";
            Node::from_iter([leaf("p", "issue warning", words), el("ul", &[("class", "issues")], &[items])])
        }
    }
}

/// What a verdict leaves out.
fn doubt(unread: &[Unread]) -> Node {
    let memory = unread.iter().filter(|one| one.could_change_memory()).count();
    match (memory, unread.len()) {
        (_, 0) => Node::none(),
        (0, count) => {
            leaf("p", "issue warning", t!("Settings that could change the time and are left out: {count}", count))
        }
        (count, _) => {
            leaf("p", "issue warning", t!("Settings that could change this verdict and are left out: {count}", count))
        }
    }
}

/// An issue of the Run that was read, with a button for each way to mend it, which takes the mended Run.
fn mended(issue: &Issue, run: &Run) -> Node {
    let button = |fix: &Fix| Some(load("fix", &run.with_texts(&fix.set)?, "", &[text(label(fix))]));
    let words = Issue::error(&*issue.field, issue.message.clone());
    let buttons = issue.fixes().filter_map(button).collect();
    el("li", &[], &[line(&words), buttons])
}

/// The fields that would change.
pub(crate) fn changes(before: &Run, after: &Run) -> Vec<(bool, Vec<Node>)> {
    // A field that is left alone says what it means.
    let value = |run: &Run, meant: &Run, key: &str| {
        // A model of its own has a name, and a preset another one than its id.
        if key == "model" {
            return run.model.title().to_string();
        }
        let text = field(key).and_then(|field| field.text(run).or_else(|| field.text(meant)));
        text.unwrap_or_else(|| "–".to_owned())
    };
    let (meant, means) = (before.resolved(), after.resolved());
    let differ = FIELDS.iter().filter(|field| field.get(before) != field.get(after));
    let row = |field: &shardscope_core::run::registry::Field| {
        // A value that was meant before and is now written is no change.
        let (now, then) = (value(before, &meant, field.key), value(after, &means, field.key));
        let symbol = match field.symbol {
            "" => Node::none(),
            symbol => aside(verbatim(format!(" {symbol}"))),
        };
        let label = Node::from_iter([text(field.label), symbol]);
        (now != then).then(|| (false, vec![label, leaf("code", "", verbatim(&now)), leaf("code", "", verbatim(&then))]))
    };
    differ.filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    fn summary_of(text: &str) -> Node {
        summary(text, &Run::default(), false)
    }

    #[test]
    fn a_summary_names_size_changes_entries_and_what_is_assumed() {
        let config = r#"{"model_type":"llama","hidden_size":8192,"intermediate_size":28672,"num_attention_heads":64,
            "num_hidden_layers":80,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
            "attention_bias":false,"rope_theta":500000.0}"#;
        let summary = summary_of(config);
        let mut model = Run::from_pairs(&[("model".to_owned(), "llama-3.1-70b".to_owned())]).0;
        model.model.parts.arguments = Some("--rotary-base 500000".to_owned());
        assert!(summary.actions().contains(&&Action::Import(model.into(), false)));
        let html = summary.to_html();
        for words in
            ["70.6 B parameters", "<code>Llama 3.1 70B</code>", "head width 128", "rope_theta", "num_hidden_layers"]
        {
            assert!(html.contains(words), "{words}: {html}");
        }
        let html = summary_of("nothing that is known").to_html();
        assert!(html.contains("issue error"));
    }

    /// A band with the verdict, and three counts.
    #[test]
    fn a_summary_says_how_far_to_trust_it_and_counts_what_it_read() {
        let arguments = "--tensor-model-parallel-size 2 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
            --seq-length 4096 --micro-batch-size 1 --nnodes 8 --nproc-per-node 8 --vocab-size 32000 --bf16 --seed 1";
        let whole = summary_of(arguments).to_html();
        assert!(whole.contains("✓ Trust it") && whole.contains("10 read · 1 no effect here · 0 may"), "{whole}");
        let open = summary_of(&format!("{arguments} --moe-foo-buffer 2048")).to_html();
        assert!(open.contains("▲ Trust the layout") && open.contains("1 may matter, not read"), "{open}");
        let none = summary_of("swift sft --model someone/unheard-of --train_type lora --max_length 2048").to_html();
        assert!(none.contains("✕ Not enough was read"), "{none}");
    }

    /// The Runs that the buttons of a fix would take.
    fn mends(text: &str) -> Vec<Run> {
        let summary = summary_of(text);
        assert!(summary.to_html().contains("issue error"), "{text}");
        let runs = summary.actions().into_iter().filter_map(|action| match action {
            Action::Load(run) => Some((**run).clone()),
            _ => None,
        });
        runs.collect()
    }

    /// An issue of an import offers its fix: the button takes the Run that was read, mended.
    #[test]
    fn a_fix_of_an_import_mends_what_was_read() {
        // Llama-3.1-8B has 32 heads; 8 layers are no whole repeats of a pattern of 3.
        let seven = "--tensor-model-parallel-size 7 --seq-length 4096 --nnodes 7 --nproc-per-node 8";
        let config = r#"{"model_type":"nemotron_h","hidden_size":1024,"num_attention_heads":8,"num_key_value_heads":8,
            "head_dim":128,"intermediate_size":4096,"vocab_size":1024,"num_hidden_layers":8,
            "hybrid_override_pattern":"M*-","mamba_num_heads":8,"mamba_head_dim":64,"ssm_state_size":64,"n_groups":1,
            "n_routed_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":512}"#;
        for (text, key) in [(seven, "tp"), (config, "model.layers")] {
            let runs = mends(text);
            assert!(!runs.is_empty(), "{}", summary_of(text).to_html());
            for run in runs {
                let errors = evaluate(&run).err().unwrap_or_default();
                assert!(errors.iter().all(|issue| issue.field != key), "{errors:?}");
                assert!(run.model.base.is_none() || run.seq_len == 4096, "{text}");
            }
        }
    }
}
