//! Preview of an import before it is applied: its format, what may matter and is not read, its changes, and the entries
//! used, assumed, without effect.

use super::{Meaning, Unread, UnreadKind, read, read_given};
use crate::dialect::rows::reader::ModelBy;
use crate::dialect::{Branch, Given};
use shardscope_core::advice::fit::label;
use shardscope_core::issue::Issue;
use shardscope_core::memory::Verdict;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::report::{Evaluation, evaluate};
use shardscope_core::run::Run;
use shardscope_core::t;
use shardscope_core::units::{MemoryUnit, show_count};
use shardscope_view::node::figure::Scope;
use shardscope_view::node::markup::{
    Action, Node, aside, bullet, el, fold, leaf, muted, paragraph, subheading, table, text,
};
use shardscope_view::panels::changes::{SettingChange, changed, changes as differing};
use shardscope_view::panels::issues::line;
use shardscope_view::words;
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

/// Changes that are shown without a press.
const AT_ONCE: usize = 8;

/// Undecided conditions whose other way is read as well.
const MAX_OTHERS: usize = 8;

fn understood(meaning: &Meaning, text_read: &str, present: &Run, follows: bool) -> Node {
    let Meaning { format, run, used, assumed, ignored, unread, .. } = meaning;
    let changes = changes(present, run);
    let count = changes.len();
    let words = if count == 0 { "Nothing to change" } else { "Use this" };
    let chosen = follows && is_model_alone(run, present);
    let evaluated = if chosen { None } else { Some(evaluate(run)) };
    let issues = evaluated.as_ref().and_then(|one| one.as_ref().err());
    let is_out = evaluated.iter().flatten().any(|one| one.report.memory.overall() == Verdict::Oom);
    let ways = issues.map_or_else(Vec::new, |issues| mends(issues, run));
    let outcome = match &evaluated {
        Some(evaluated) => outcome(run, evaluated.as_ref(), unread),
        None => chosen_later(unread),
    };
    // No word of trust stands above a run that is out of memory.
    let [first, later] = if is_out { [outcome, trust(meaning, true)] } else { [trust(meaning, false), outcome] };
    let mut parts = vec![
        first,
        leaf("p", "size", t!("Read as {format}.", format)),
        counts(meaning),
        size(run),
        asked(meaning, present),
        later,
        if issues.is_some() { take_mended(run, &ways) } else { take(run, words) },
    ];
    if !unread.is_empty() {
        parts.push(subheading("May matter and not read"));
        parts.push(matters(unread));
    }
    parts.push(not_decided(meaning, text_read, present));
    if count > 0 {
        let list = table("What changes", &["", "now", "then"], &changes);
        // Some rows are read at once; a model of its own has dozens.
        if count <= AT_ONCE {
            parts.extend([subheading("What changes"), list]);
        } else {
            parts.push(fold(how_many(count, changed(run).len()), list));
        }
    }
    if !assumed.is_empty() {
        let items: Node = assumed.iter().map(bullet).collect();
        let count = t!("Assumed, not in the text: {count}", count = assumed.len());
        parts.push(fold(&count, el("ul", &[("class", "gaps")], &[items])));
    }
    if !used.is_empty() {
        let rows: Vec<_> =
            used.iter().map(|(key, what)| (false, vec![leaf("code", "", verbatim(key)), text(what)])).collect();
        let count = t!("entries used: {count}", count = names_read(meaning).len());
        parts.push(fold(&count, table("Entries used", &["entry", "read as"], &rows)));
    }
    if !ignored.is_empty() {
        let count = t!("entries without effect: {count}", count = ignored.len());
        parts.push(fold(&count, leaf("code", "muted", Message::joined(", ", ignored.iter().map(Message::from)))));
    }
    el("div", &[("class", "imported")], &parts)
}

/// How many settings change: of the run on the page, and where the page was another already, of the run that it opens
/// with, which is the count beside the run later.
fn how_many(count: usize, all: usize) -> Message {
    if count == all {
        return t!("What changes: {count}", count);
    }
    t!("What changes: {count} of the run on the page, {all} of the run that the page opens with", count, all)
}

/// How far the reading carries: whether something that may matter is not read, and whether the model and the files that
/// decide the layout are here at all. Of a run that `is_out` of memory it speaks of the reading alone.
fn trust(meaning: &Meaning, is_out: bool) -> Node {
    let missing = meaning.unread.iter().any(|one| one.kind == UnreadKind::MissingFile);
    let open = meaning.branches.iter().any(|branch| !branch.decided);
    let (kind, words) = match (meaning.model.by, meaning.unread.len()) {
        (ModelBy::Page, _) => ("bad", "✕ Not enough was read: no model that is known here"),
        _ if missing => ("bad", "✕ Not enough was read: a file that decides the run is not here"),
        (_, 0) if !open && meaning.model.sure && is_out => {
            ("warn", "▲ Everything that may matter is read: it is this run that is out of memory")
        }
        (_, 0) if !open && meaning.model.sure => ("good", "✓ Trust it: everything that may matter is read"),
        _ if !meaning.states_layout => {
            ("warn", "▲ The file states no layout, and settings that are not read may change memory and step")
        }
        (_, 0) if open => (
            "warn",
            "▲ Trust the layout, not yet memory and step: a condition that the text leaves open may change them",
        ),
        (_, 0) => ("warn", "▲ Trust the layout, not yet memory and step: which model it is is a guess"),
        _ if open || !meaning.model.sure || meaning.unread.iter().any(Unread::could_change_memory) => {
            ("warn", "▲ Trust the layout, not yet memory and step: settings that are not read may change them")
        }
        _ => ("warn", "▲ Trust layout and memory, not yet the step: what is not read may change it"),
    };
    let class = format!("trust {kind}");
    leaf("p", &class, words)
}

/// The names of the settings that are read, each once.
fn names_read(meaning: &Meaning) -> BTreeSet<&String> {
    meaning.used.iter().map(|(name, _)| name).collect()
}

/// How many settings are read, without effect, and left out though they may matter.
fn counts(meaning: &Meaning) -> Node {
    let (read, none, open) = (names_read(meaning).len(), meaning.ignored.len(), meaning.unread.len());
    let cell = |class, count: usize, words: &'static str, place: &'static str| {
        let parts = [leaf("b", "", verbatim(count.to_string())), leaf("span", "", words), leaf("small", "", place)];
        el("li", &[("class", class)], &parts)
    };
    let last = if open > 0 { ("warn", "listed first") } else { ("", "nothing is left out") };
    let cells = [
        cell("good", read, "✓ read", "named below"),
        cell("", none, "no effect here", "on memory and time"),
        cell(last.0, open, "▲ may matter, not read", last.1),
    ];
    el("ul", &[("class", "counts")], &cells)
}

/// The buttons that take the Run: alone, or with the settings that launch it.
fn take(run: &Run, words: &'static str) -> Node {
    let run = Arc::new(run.clone());
    let button = |class, words: &'static str, launches| {
        leaf("button", class, words).on(Action::Import(Arc::clone(&run), launches))
    };
    el("p", &[("class", "choices")], &[button("main", words, false), button("", "Use and export", true)])
}

/// The buttons where the Run does not work as it was read: first the change that makes it fit, never a Run that does
/// not work.
fn take_mended(run: &Run, ways: &[(Message, Run)]) -> Node {
    let button = |at: usize, (words, mended): &(Message, Run)| {
        let class = if at == 0 { "main" } else { "" };
        leaf("button", class, words.clone()).on(Action::Import(Arc::new(mended.clone()), false))
    };
    let as_it_is = leaf("button", "", "Use it as it is").on(Action::Import(Arc::new(run.clone()), false));
    let buttons = ways.iter().enumerate().map(|(at, way)| button(at, way)).chain([as_it_is]);
    el("p", &[("class", "choices")], &[buttons.collect()])
}

/// The Runs that the offered fixes make, with the words of their buttons: those that fit first, then those that run
/// out of memory, then those with another fault.
fn mends(issues: &[Issue], run: &Run) -> Vec<(Message, Run)> {
    let fixes = issues.iter().flat_map(Issue::fixes);
    let mended = fixes.filter_map(|fix| Some((label(fix), run.with_texts(&fix.set)?)));
    let rank = |run: &Run| match evaluate(run).map(|one| one.report.memory.overall()) {
        Ok(Verdict::Fits) => 0,
        Ok(Verdict::Tight) => 1,
        Ok(Verdict::Oom) => 2,
        Err(_) => 3,
    };
    let mut ways: Vec<_> = mended.map(|(words, run)| (rank(&run), words, run)).collect();
    ways.sort_by_key(|(rank, ..)| *rank);
    ways.dedup_by(|one, other| one.2 == other.2);
    ways.into_iter().map(|(_, words, run)| (words, run)).collect()
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
            read_given(text_read, present, &Given { set, ..Given::default() })
        });
        let name = Node::from_iter([
            leaf("code", "", verbatim(&branch.condition)),
            if branch.line > 0 { aside(t!(" · line {line}", line = branch.line)) } else { Node::none() },
        ]);
        let holds = text(if branch.taken { "holds" } else { "does not hold" });
        let other = match other {
            None => return (false, vec![name, holds, text("not tried")]),
            Some(Err(_)) => return (false, vec![name, holds, text("cannot be read that way")]),
            Some(Ok(other)) if other.run == meaning.run => return (false, vec![name, holds, text("the same run")]),
            Some(Ok(other)) => other,
        };
        let memory = peak(&other.run);
        let says = memory.as_ref().map_or_else(Node::none, |memory| {
            let (.., verdict) = words::verdict_of(&other.run, &memory.peak());
            let peak = MemoryUnit::Gib.show(memory.peak_bytes);
            let peak = Scope::of(&other.run, None).says("memory.peak_bytes", peak);
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
fn outcome(run: &Run, evaluated: Result<&Evaluation, &Vec<Issue>>, unread: &[Unread]) -> Node {
    match evaluated {
        Ok(evaluation) => {
            let report = &evaluation.report;
            let peak = MemoryUnit::Gib.show(report.memory.peak_bytes);
            let peak = Scope::of(run, None).says("memory.peak_bytes", peak);
            let message = t!(
                "{verdict} at {peak}, on {gpus} GPUs",
                verdict = words::verdict_of(run, &report.memory.peak()).2,
                peak,
                gpus = run.gpus
            );
            let said = match report.memory.overall() {
                Verdict::Oom => leaf("p", "trust bad", &message),
                _ => muted(&message),
            };
            Node::from_iter([said, doubt(unread)])
        }
        Err(issues) => {
            let fault = |issue: &Issue| line(&Issue::error(&*issue.field, issue.words().clone()));
            let items: Node = issues.iter().map(|issue| el("li", &[], &[fault(issue)])).collect();
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

/// The fields that would change, by name: a choice by its label, a large count in words.
pub(crate) fn changes(before: &Run, after: &Run) -> Vec<(bool, Vec<Node>)> {
    let row = |change: SettingChange| {
        let field = change.field;
        // A model of its own has a name, and a preset another one than its id.
        let is_model = field.key == "model";
        let value = |run: &Run, shown: Message| if is_model { run.model.title() } else { counted(shown, field.unit) };
        let (now, then) = (value(before, change.from), value(after, change.to));
        let symbol = match field.symbol {
            "" => Node::none(),
            symbol => aside(verbatim(format!(" {symbol}"))),
        };
        let label = Node::from_iter([text(field.label), symbol]);
        // A value that was meant before and is now written is no change.
        (now != then).then(|| (false, vec![label, text(now), text(then)]))
    };
    differing(after, before).into_iter().filter_map(row).collect()
}

/// A count of ten million or more in words, with its unit: "1.57 T tokens".
fn counted(shown: Message, unit: &'static str) -> Message {
    let plain = shown.to_string();
    match plain.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(count)) if count >= 1e7 && unit.is_empty() => verbatim(show_count(count)),
        Some(Ok(count)) if count >= 1e7 => t!("{plain} {unit}", plain = show_count(count), unit),
        _ => shown,
    }
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
            ["70.6 B parameters", "<td>Llama 3.1 70B</td>", "head width 128", "rope_theta", "num_hidden_layers"]
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
        assert!(whole.contains("✓ Trust it") && whole.contains("<b>10</b><span>✓ read"), "{whole}");
        assert!(whole.contains("<b>1</b><span>no effect here") && whole.contains("<b>0</b><span>▲ may"), "{whole}");
        let open = summary_of(&format!("{arguments} --moe-foo-buffer 2048")).to_html();
        assert!(open.contains("▲ Trust the layout") && open.contains("<b>1</b><span>▲ may matter"), "{open}");
        // What may matter stands before what changes.
        let at = |words: &str| open.find(words).unwrap();
        assert!(at("May matter and not read") < at("What changes"), "{open}");
        // A model's config.json says sizes alone (transformers `configuration_utils.py`).
        let config = r#"{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
            "num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"moe_foo_buffer":2048}"#;
        let model = summary_of(config).to_html();
        assert!(model.contains("▲ The file states no layout") && !model.contains("Trust the layout"), "{model}");
        // Where all is read, the doubt is another: the release of TRL, of which the file says nothing.
        let link = "v=1&model=llama-3.1-70b&gpus=8&tp=1&pp=1&zero=3&seq_len=4096&global_batch=64&stack=hf-trainer\
            &adapter.method=lora&recompute=full";
        let tuned = crate::link::decode(link).run;
        let file = crate::export::export(&tuned, "trl", &crate::export::Stamp::default()).unwrap();
        let bare: Vec<&str> = file.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        let tuned = summary_of(&bare.join("\n")).to_html();
        assert!(tuned.contains("<b>0</b><span>▲ may") && !tuned.contains("not read may"), "{tuned}");
        assert!(tuned.contains("a condition that the text leaves open"), "{tuned}");
        // One count of what is read, with and without the list.
        let read = tuned.split_once("</b><span>✓ read").unwrap().0.rsplit_once("<b>").unwrap().1;
        assert!(tuned.contains(&format!("entries used: {read}<")), "{read} {tuned}");
        let none = summary_of("swift sft --model someone/unheard-of --train_type lora --max_length 2048").to_html();
        assert!(none.contains("✕ Not enough was read"), "{none}");
    }

    /// The Runs that the buttons of a fix would take.
    fn mends(text: &str) -> Vec<Run> {
        let summary = summary_of(text);
        assert!(summary.to_html().contains("issue error"), "{text}");
        let runs = summary.actions().into_iter().filter_map(|action| match action {
            Action::Import(run, _) => Some((**run).clone()),
            _ => None,
        });
        let mut runs: Vec<Run> = runs.collect();
        // The last takes the Run as it is.
        runs.pop();
        runs
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

    /// NVIDIA's script for GPT-3 175B names TP 8 and PP 16; a launch on one node has too few GPUs. 175 B parameters
    /// with 18 bytes of states each are 3.1 TB: no layout of 8 GPUs of 80 GB holds them, so the first button asks
    /// for GPUs.
    #[test]
    fn the_first_button_of_a_run_that_does_not_work_makes_it_fit() {
        let text = "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 96 --hidden-size 12288 \
            --num-attention-heads 96 --seq-length 2048 --micro-batch-size 1 --global-batch-size 1536 \
            --vocab-size 51200 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --bf16 \
            --use-distributed-optimizer";
        let summary = summary_of(text);
        let html = summary.to_html();
        let (_, first) = html.split_once("class=\"main\"").unwrap();
        assert!(first.split_once('>').unwrap().1.starts_with("Use 128 GPUs"), "{first}");
        assert_eq!(html.matches("class=\"main\"").count(), 1);
        assert!(!html.contains("pp=1"), "{html}");
    }

    /// Values stand by their names, as the form has them, not by the keys of a link.
    #[test]
    fn changes_are_named() {
        let other = "stack=megatron-2026&precision=te-fp8&tokens_total=1572864000000&optimizer=sgd";
        let pairs = other.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let (after, _) = Run::from_pairs(&pairs);
        let rows = changes(&Run::default(), &after).into_iter().flat_map(|(_, cells)| cells);
        let html = rows.collect::<Node>().to_html();
        for key in ["megatron-20", "te-fp8", "1572864000000", "sgd<"] {
            assert!(!html.contains(key), "{key}: {html}");
        }
        assert!(html.contains("1.57 T") && html.contains("Megatron-LM 2026"), "{html}");
    }
}
