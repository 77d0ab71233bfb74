//! Origin of the layout: chosen for the visitor, with the rung that it needed, or set by hand; and changes that would
//! do where nothing fits.

use crate::prelude::*;
use shardscope_core::search::ladder::{Choice, Failure, Outcome};

/// The words of the sentence: "Layout: chosen for you", with undo and the rung on hover, or "Layout: yours · choose for
/// me".
pub fn chip(chosen: bool, outcome: Option<&Outcome>) -> Node {
    if !chosen {
        let choose = link_button("choose for me").on(Action::ChooseLayout(true));
        return el("span", &[("class", "whose")], &[inline("Layout: yours"), text(" · "), choose]);
    }
    let words = leaf_chosen(outcome);
    let undo = match outcome {
        Some(Outcome::Chosen(_) | Outcome::Failed(_)) => {
            Node::from_iter([text(" "), link_button("undo").on(Action::ChooseLayout(false))])
        }
        Some(Outcome::Undivided) | None => Node::none(),
    };
    el("span", &[("class", "whose chosen")], &[words, undo])
}

fn leaf_chosen(outcome: Option<&Outcome>) -> Node {
    let words = el("b", &[], &[text("✦ Layout: chosen for you")]);
    match outcome {
        Some(outcome) => words.title(reason(outcome)),
        None => words.title("It follows the model and the GPUs until you set a layout field."),
    }
}

/// The rung that was needed, in a sentence.
pub fn reason(outcome: &Outcome) -> Message {
    match outcome {
        Outcome::Chosen(choice) => {
            let rung = choice.rung.words(&choice.run);
            t!("Chosen: {rung}. It follows the model and the GPUs until you set a layout field.", rung)
        }
        Outcome::Failed(failure) if failure.verdict() == Verdict::Tight => {
            t!("No layout fits, even with full recomputation: this one is tight.")
        }
        Outcome::Failed(_) => t!("No layout fits, even with full recomputation: this one needs least."),
        Outcome::Undivided => t!("No layout divides these GPUs, this batch and this model."),
    }
}

/// The missing memory where the last rung failed, and the ways out, each as a button.
pub fn failed(outcome: Option<&Outcome>, unit: MemoryUnit) -> Node {
    let Some(Outcome::Failed(failure)) = outcome else {
        return Node::none();
    };
    let missing = unit.show(failure.missing());
    let words = match failure.verdict() {
        Verdict::Tight => {
            t!(
                "Tight: the range of the need passes what a GPU has by {missing}, even with full recomputation.",
                missing
            )
        }
        _ => t!("Out of memory: {missing} are missing, even with full recomputation.", missing),
    };
    let buttons = buttons(failure);
    let none = buttons.is_empty().then(|| inline(t!("Nothing that was tried fits.")));
    let after: Node = buttons.into_iter().chain(none).flat_map(|one| [text(" "), one]).collect();
    el("p", &[("class", "issue error unfit")], &[inline(words), after])
}

/// The buttons: more GPUs, adapters, a shorter sequence.
fn buttons(failure: &Failure) -> Vec<Node> {
    let several = |choice: &Choice, set: Vec<(&'static str, String)>, words: Message| {
        let title =
            t!("{layout}: {peak}", layout = sizes(&choice.run), peak = MemoryUnit::Gib.show(choice.figures.peak.bytes));
        apply("fix", set, title, words)
    };
    let button =
        |choice: &Choice, key: &'static str, value: String, words: Message| several(choice, vec![(key, value)], words);
    let more = failure.gpus.iter().map(|choice| {
        let gpus = choice.run.gpus;
        button(choice, "gpus", gpus.to_string(), t!("Use {gpus} GPUs", gpus))
    });
    // By another software where the Run's own does not do it.
    let by = |choice: &Choice, set: &mut Vec<(&'static str, String)>, words: Message| {
        let stack = choice.run.stack.preset_row().choice;
        if choice.run.stack == failure.run.stack {
            return words;
        }
        set.push(("stack", stack.id.to_owned()));
        t!("{change} by {software}", change = words, software = stack.label)
    };
    let adapters = failure.adapters.iter().filter_map(|choice| {
        let method = choice.run.adapter.method?.choice();
        let mut set = vec![("adapter.method", method.id.to_owned())];
        let words = by(choice, &mut set, t!("Train {adapter}", adapter = method.label));
        Some(several(choice, set, words))
    });
    let shorter = failure.shorter.iter().map(|choice| {
        let tokens = choice.run.seq_len;
        let mut set = vec![("seq_len", tokens.to_string())];
        let method = choice.run.adapter.method.filter(|method| failure.run.adapter.method != Some(*method));
        let words = match method.map(OneOf::choice) {
            Some(method) => {
                set.push(("adapter.method", method.id.to_owned()));
                t!("Train {adapter} on {tokens} tokens", adapter = method.label, tokens)
            }
            None => t!("Set the sequence to {tokens}", tokens),
        };
        let words = by(choice, &mut set, words);
        let is_tight = choice.figures.peak.overall == Verdict::Tight;
        several(choice, set, if is_tight { t!("{change} (tight)", change = words) } else { words })
    });
    more.chain(adapters).chain(shorter).collect()
}

/// "TP 8 · PP 4".
fn sizes(run: &Run) -> Message {
    super::suggest::brief(run, run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::search::ladder::Ladder;

    fn climbed(run: &Run) -> Outcome {
        Ladder::new(run).unwrap().finished()
    }

    #[test]
    fn a_chosen_layout_says_its_rung_and_can_be_taken_back() {
        let outcome = climbed(&Run::default());
        let view = chip(true, Some(&outcome));
        assert!(view.to_html().contains("Layout: chosen for you"));
        assert_eq!(view.actions(), [&Action::ChooseLayout(false)]);
        assert!(failed(Some(&outcome), MemoryUnit::Gib) == Node::none());
        assert!(chip(true, None).actions().is_empty());
        let yours = chip(false, Some(&outcome));
        assert!(yours.to_html().contains("Layout: yours"));
        assert_eq!(yours.actions(), [&Action::ChooseLayout(true)]);
    }

    /// `QLoRA` of 65 B on one 48 GB GPU ran at 512 tokens (`QLoRA` paper, section 5): of 70 B on such a GPU a shorter
    /// sequence with
    /// `QLoRA` is offered, with the verdict of its own report.
    #[test]
    fn one_gpu_of_48_gb_is_offered_qlora_with_a_shorter_sequence() {
        for stack in ["hf-trainer", "megatron-2025"] {
            offers_qlora_on_a_shorter_sequence(stack);
        }
    }

    fn offers_qlora_on_a_shorter_sequence(stack: &str) {
        let edits =
            [("model", "llama-3.1-70b"), ("gpu", "l40s"), ("gpus", "1"), ("stack", stack), ("global_batch", "1")];
        let run = Run::default().with_texts(&edits.map(|(key, value)| (key, value.to_owned()))).unwrap();
        let outcome = climbed(&run);
        let Outcome::Failed(failure) = &outcome else {
            panic!("it fits");
        };
        let choice = failure.shorter.as_ref().unwrap();
        assert_eq!(choice.run.adapter.method, Some(shardscope_core::run::AdapterMethod::Qlora));
        assert!(choice.run.seq_len < run.seq_len);
        let verdict = shardscope_core::report::report(&choice.run).unwrap().memory.verdict;
        assert_ne!(verdict, Verdict::Oom);
        let html = failed(Some(&outcome), MemoryUnit::Gib).to_html();
        assert_eq!(html.contains("(tight)"), verdict == Verdict::Tight, "{html}");
        assert!(html.contains("Train QLoRA on"), "{html}");
        assert_eq!(html.contains("by Hugging Face Trainer"), stack != "hf-trainer", "{html}");
    }

    /// Every button of a failed ladder leads to a Run with a layout that fits.
    #[test]
    fn what_would_do_is_a_button_each() {
        let run = Run { gpus: 1, global_batch: 8, ..Run::default() };
        let outcome = climbed(&run);
        let view = failed(Some(&outcome), MemoryUnit::Gib);
        assert!(view.to_html().contains("GiB are missing"), "{}", view.to_html());
        let actions = view.actions();
        assert_eq!(actions.len(), 3, "more GPUs, LoRA, QLoRA: {actions:?}");
        for action in actions {
            let Action::Apply(set) = action else {
                panic!("{action:?}");
            };
            let Outcome::Failed(failure) = &outcome else {
                panic!("it fits");
            };
            let after = failure.run.with_texts(set).unwrap();
            assert!(matches!(climbed(&after), Outcome::Chosen(_)), "{set:?}");
        }
    }
}
