//! Questions with one answer: a button each, the last one's answer in a sentence, and a button to use it.

use super::controls::PlanView;
use super::rows::layout;
use crate::prelude::*;
use shardscope_core::search::answers::{AnswerState, MAX_GPUS, PlanQuestion};
use shardscope_core::search::session::{Asked, PlanCommand};
use shardscope_core::search::sweep::Points;
use shardscope_core::units::group;

const fn ask(question: PlanQuestion) -> PlanCommand {
    PlanCommand::Ask(Asked::Sweep(question))
}

const BUTTONS: [(PlanCommand, &str); 3] = [
    (ask(PlanQuestion::FewestGpus), "Fewest GPUs"),
    (ask(PlanQuestion::LongestSequence), "Longest sequence"),
    (PlanCommand::Ask(Asked::MicroBatch), "Largest micro-batch"),
];

/// The buttons, and the last answer.
pub(crate) fn buttons(view: &PlanView) -> Node {
    let answer = view.result.answer.as_ref();
    let answer = answer.map_or_else(Node::none, |answer| show(view, answer));
    let buttons = el("p", &[("class", "chips ask")], &[super::controls::buttons(&BUTTONS)]);
    Node::from_iter([buttons, answer])
}

fn show(view: &PlanView, answer: &AnswerState) -> Node {
    let (words, run) = match answer {
        AnswerState::MicroBatch(found) => match found.as_ref() {
            None => (t!("No micro-batch fits in this run's layout."), None),
            Some(run) => {
                let count = run.micro_batch;
                let set = count == view.query.run.micro_batch;
                let largest = t!(
                    "The largest micro-batch size that divides the batch and fits in this run's layout is {count}.",
                    count
                );
                let already = set.then(|| t!("It is set already."));
                (Message::joined(" ", std::iter::once(largest).chain(already)), (!set).then(|| run.clone()))
            }
        },
        AnswerState::Sweep(_, sweep) if !sweep.done => {
            let tried = sweep.points.last().map_or(0, |point| point.value);
            (t!("Searching; {tried} tried.", tried), None)
        }
        AnswerState::Sweep(question, sweep) => swept(*question, sweep),
    };
    let used = run.map_or_else(Node::none, |run| load("fix", &run, "", &[text("use this")]));
    el("p", &[("class", "answer"), ("role", "status")], &[text(&words), text(" "), used])
}

fn swept(question: PlanQuestion, sweep: &Points) -> (Message, Option<Run>) {
    let Some((value, found)) = sweep.last_fit() else {
        let none = match question {
            PlanQuestion::FewestGpus => {
                t!("No number of GPUs up to {max} can train this.", max = MAX_GPUS)
            }
            PlanQuestion::LongestSequence => {
                t!("No sequence of this length or more fits on these GPUs.")
            }
        };
        return (none, None);
    };
    let (number, how) = (group(&value.to_string()), layout(found));
    let step = &found.figures;
    let time = show_seconds(step.time_s);
    let words = match question {
        PlanQuestion::FewestGpus => t!(
            "{number} GPUs are the fewest of 1, 2, 4, 8, … that can train this: {how}, {time} per step.",
            number,
            how,
            time
        ),
        PlanQuestion::LongestSequence => t!(
            "{number} tokens are the longest sequence of this one's doublings that fits: {how}, {time} per step.",
            number,
            how,
            time
        ),
    };
    (words, Some(found.run.clone()))
}
