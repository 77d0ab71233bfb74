//! The sentence above the cards: the largest loss that a known layout lessens, and the fastest one that fits.

use super::found::{SearchProgressShown, better_part};
use crate::node::figure::Scope;
use crate::panels::names::names;
use crate::panels::waterfall::{LEAST, main_loss, part_words};
use crate::prelude::*;
use crate::views::PanelsTab;
use crate::words;
use shardscope_core::search::better::{Better, Gain};
use shardscope_core::search::least_told;
use shardscope_core::time::PartKind;

/// The words in place of the cards.
pub(super) fn nothing(evaluation: &Evaluation, searched: &SearchProgressShown) -> Node {
    let words = if !searched.done {
        t!("Looking for better layouts…")
    } else if searched.evaluated == 0 {
        let out = (evaluation.report.memory.overall() == Verdict::Oom).then(|| t!("Out of memory."));
        Message::joined(" ", out.into_iter().chain([words::none_divides(&evaluation.scenario.run)]))
    } else if evaluation.report.memory.overall() == Verdict::Oom {
        let evaluated = searched.evaluated;
        if !searched.betters.done {
            t!("Looking for ways to make it fit…")
        } else if searched.partial {
            t!("Out of memory: the search ended at its limit of work and found no layout that fits.")
        } else if searched.any {
            t!("Out of memory: of {evaluated} layouts on these GPUs none fits, a few are tight.", evaluated)
        } else {
            t!("Out of memory: of {evaluated} layouts on these GPUs none fits.", evaluated)
        }
    } else {
        fastest_that_fits(evaluation, searched)
    };
    let batch = if searched.done { unsaid_batch(evaluation, searched) } else { Node::none() };
    let fits = evaluation.report.memory.overall() != Verdict::Oom;
    let why = if searched.done && fits { why_here(evaluation) } else { Node::none() };
    el("p", &[("class", "muted")], &[inline(words), batch, why])
}

/// The way to why the layout is the best, which stands above the layouts that were searched.
pub(super) fn why_here(evaluation: &Evaluation) -> Node {
    if evaluation.scenario.run.rl.algorithm.is_some() {
        return Node::none();
    }
    Node::from_iter([text(" "), link_button("Why this layout").on(Action::Tab(PanelsTab::Layouts))])
}

/// Share of the step from which on a bubble that is not the main loss is named beside it.
pub(super) const BESIDE: f64 = 0.1;

/// "Batch 256 leaves 8 micro-batches per pipeline.", where the bubble is the main loss or a tenth of the step, and few
/// micro-batches are what makes it: the idle share of 1F1B, `(p - 1) / (v m + p - 1)` (GPipe 2019, Narayanan 2021), is
/// half of it or more. With the share of the step where `main`, the main loss, is another part or is not said.
pub(super) fn batch_loss(evaluation: &Evaluation, main: Option<PartKind>) -> Option<Message> {
    let (run, report) = (&evaluation.scenario.run, &evaluation.report);
    let layout = &report.layout;
    let bubble: Seconds =
        report.step.parts.iter().filter(|part| part.kind == PartKind::Bubble).map(|part| part.seconds).sum();
    let share = bubble / report.step.time_s;
    let is_loss = share >= BESIDE || main_loss(evaluation, main).is_some_and(|(part, _)| part == PartKind::Bubble);
    let (others, chunks) = (run.pp as f64 - 1.0, run.virtual_stages as f64 * layout.microbatches as f64);
    let drains = others / (chunks + others);
    let is_simple = run.microbatch_lengths.is_none() && run.rl.algorithm.is_none() && !run.schedule.row().endless;
    if run.pp < 2 || !is_simple || !is_loss || drains < 0.5 * report.pipeline.bubble_fraction {
        return None;
    }
    let (batch, counted, size) = (run.global_batch, words::of_microbatches(layout.microbatches), run.micro_batch);
    let share = Scope::run().says("Pipeline bubble share", show_percent(share));
    Some(match (size, main) {
        (1, Some(PartKind::Bubble)) => t!("Batch {batch} leaves {counted} per pipeline.", batch, counted),
        (1, _) => {
            t!("Batch {batch} leaves {counted} per pipeline: bubble {share} of the step.", batch, counted, share)
        }
        (_, Some(PartKind::Bubble)) => {
            t!("Batch {batch} leaves {counted} of {size} sequences per pipeline.", batch, counted, size)
        }
        _ => t!(
            "Batch {batch} leaves {counted} of {size} sequences per pipeline: bubble {share} of the step.",
            batch,
            counted,
            size,
            share
        ),
    })
}

/// [`batch_loss`] of the line beside the head of the cards.
pub(super) fn batch_in_line(evaluation: &Evaluation, searched: &SearchProgressShown) -> Option<Message> {
    let fits = evaluation.report.memory.overall() != Verdict::Oom;
    let (part, _) = main_loss(evaluation, searched.lessened()).filter(|_| fits)?;
    batch_loss(evaluation, Some(part))
}

/// [`batch_loss`] below the cards, of a run that fits, where no card of a larger batch says it; where the line beside
/// the head does, only on screens that leave no room for that line.
pub(super) fn unsaid_batch(evaluation: &Evaluation, searched: &SearchProgressShown) -> Node {
    let is_said = searched.betters.list.iter().any(|better| better.gain == Gain::Batch);
    let is_unfit = evaluation.report.memory.overall() == Verdict::Oom;
    let Some(words) = batch_loss(evaluation, None).filter(|_| !is_said && !is_unfit) else {
        return Node::none();
    };
    let class = if batch_in_line(evaluation, searched).is_some() { "uncaptioned" } else { "" };
    leaf("span", class, Message::joined("", [verbatim(" "), words]))
}

/// How near the step is to that of the fastest layout that fits: within the error of such differences.
pub(super) fn fastest_that_fits(evaluation: &Evaluation, searched: &SearchProgressShown) -> Message {
    if let Some(step) = searched.rl_step {
        return t!(
            "Of {evaluated} layouts of the training, none that fits is known to shorten the {step} of a step of \
                reinforcement learning by 1 %. What moves it stands above.",
            evaluated = searched.evaluated,
            step = show_seconds(step)
        );
    }
    let (tie, evaluated) = (show_gain(least_told(&evaluation.scenario.run)), searched.evaluated);
    if searched.partial {
        t!(
            "No layout that fits is known to be faster, of {evaluated} looked at: gains below {tie} % cannot be told \
                apart. The search ended at its limit of work.",
            tie,
            evaluated
        )
    } else {
        t!(
            "No layout that fits is known to be faster, of {evaluated} looked at: gains below {tie} % cannot be told \
                apart.",
            tie,
            evaluated
        )
    }
}

/// The main loss, and the card that gives it as its cause: "lessens most" where that is the first one, of a faster
/// layout; else the card by its title. Where no card does, nothing is said of what layouts do to it.
pub(super) fn loss_offered(own: &Run, searched: &SearchProgressShown, part: PartKind, share: f64) -> Message {
    let (loss, share) = (part_words(part), show_percent(share));
    let list: Vec<&Better> = searched.betters.list.iter().collect();
    match list.iter().position(|better| better_part(better) == Some(part)) {
        Some(0) if matches!(list[0].gain, Gain::Time | Gain::Split) => {
            t!("The loss that a layout lessens most: {loss}, {share} of the step.", loss, share)
        }
        Some(at) => {
            let card = names(&list, own).swap_remove(at);
            t!("The loss that the card \"{card}\" lessens: {loss}, {share} of the step.", loss, share, card)
        }
        None if searched.betters.tight.iter().any(|better| better_part(better) == Some(part)) => {
            // Where no layout is known to lessen a part, the largest is the main one, whatever layouts do to it.
            if searched.lessened().is_none() {
                t!(
                    "The largest loss beside the kernels: {loss}, {share} of the step. Layouts that lessen it most \
                        may run out of memory.",
                    loss,
                    share
                )
            } else {
                t!(
                    "The loss that a layout lessens most: {loss}, {share} of the step. Those that lessen it most may \
                        run out of memory.",
                    loss,
                    share
                )
            }
        }
        None => t!("The largest loss beside the kernels: {loss}, {share} of the step.", loss, share),
    }
}

/// The main loss, and how far the search is: the line beside the head of the cards.
pub fn lead(evaluation: &Evaluation, searched: &SearchProgressShown) -> Node {
    let loss = match main_loss(evaluation, searched.lessened()) {
        _ if evaluation.report.memory.overall() == Verdict::Oom => {
            t!("Only what fits; times against the step if it fitted.")
        }
        Some((part, share)) => {
            let main = loss_offered(&evaluation.scenario.run, searched, part, share);
            Message::joined(" ", batch_in_line(evaluation, searched).into_iter().chain([main]))
        }
        None => t!("No loss beside the kernels is {least} of the step.", least = show_percent(LEAST)),
    };
    let searched = match (searched.evaluated, searched.done) {
        (0, _) => Message::default(),
        (evaluated, true) => t!("{evaluated} layouts searched.", evaluated),
        (evaluated, false) => t!("Searching layouts: {evaluated}.", evaluated),
    };
    // Where both have no room, how far the search is gives way.
    let far = leaf("span", "far", Message::joined("", [verbatim(" "), searched]));
    el("small", &[], &[inline(loss), far])
}
