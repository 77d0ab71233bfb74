//! Layouts that may run out of memory: what is said of them, and the published runs among them.

use super::cards_of;
use super::found::SearchProgressShown;
use super::lead::{unsaid_batch, why_here};
use crate::prelude::*;
use crate::words;
use shardscope_core::report::Peak;
use shardscope_core::search::better::{Better, Betters, Gain};
use shardscope_core::search::{PublishedAlike, least_told, published_alike, published_layouts};

/// "Published: DeepSeek-V3, 2048 H800": runs that were published of this model on so many of these GPUs, each a press
/// away; without those that are `said` already, and nothing where the Run is one.
pub(super) fn as_published(run: &Run, said: &[&str]) -> Node {
    let mut found = published_alike(run);
    if found.iter().any(|(_, other)| other == run) {
        return Node::none();
    }
    found.retain(|(one, _)| !said.contains(&one.id));
    if found.is_empty() {
        return Node::none();
    }
    let buttons = found.iter().flat_map(|one| [text(" "), published_button(one)]);
    let parts: Vec<Node> =
        std::iter::once(text("Published runs of this model on these GPUs:")).chain(buttons).collect();
    el("p", &[("class", "muted fewest published")], &parts)
}

/// Tight layouts that take less time, on demand, below one sentence: that none which fits is known to be faster,
/// and by how much they are.
pub(super) fn only_tight(
    evaluation: &Evaluation,
    searched: &SearchProgressShown,
    clause: Message,
    unit: MemoryUnit,
) -> Node {
    let tight = &searched.betters.tight;
    let step_s = searched.step_of(evaluation);
    let shown: Vec<&Better> = tight.iter().take(MOST_TIGHT).collect();
    let cards: Node = cards_of(evaluation, step_s, &shown, unit).into_iter().collect();
    let (run, peak) = (&evaluation.scenario.run, evaluation.report.memory.peak());
    let (class, sign, _) = words::verdict_words(run, peak.overall, [peak.bytes, peak.capacity]);
    let parts = [
        el(
            "p",
            &[("class", class)],
            &[
                text(sign),
                inline(tight_words(evaluation, searched, clause)),
                ran_so(&evaluation.scenario.run, searched),
                unsaid_batch(evaluation, searched),
                why_here(evaluation),
            ],
        ),
        fold("Show the tight ones", el("div", &[("class", "suggestions")], &[cards])),
    ];
    el("div", &[("class", "only-tight")], &parts)
}

/// "2 layouts take 12 to 30 % less time but may need more than 79.2 GiB": what is said wherever none that fits is said
/// to be faster. None where no tight layout is known that is.
pub(super) fn tight_clause(
    evaluation: &Evaluation,
    searched: &SearchProgressShown,
    unit: MemoryUnit,
) -> Option<Message> {
    let Betters { list, tight, .. } = &searched.betters;
    if tight.is_empty() || list.iter().any(|better| better.gain == Gain::Time) {
        return None;
    }
    let step_s = searched.step_of(evaluation);
    let saved = |better: &Better| 100.0 * (1.0 - better.figures.time_s / step_s);
    let least = tight.iter().map(saved).fold(f64::INFINITY, f64::min);
    let most = tight.iter().map(saved).fold(0.0, f64::max);
    let usable = unit.show(evaluation.report.memory.capacity_bytes);
    let [least, most] = [least, most].map(|percent| show_gain(percent / 100.0));
    let range = if least == most { verbatim(most) } else { t!("{least} to {most}", least, most) };
    let own_tight = are_as_tight(&evaluation.report.memory.peak(), tight);
    Some(match tight.len() {
        1 if own_tight => t!("1 layout that is tight, as this run is, takes {range} % less time", range),
        count if own_tight => {
            t!("{count} layouts that are tight, as this run is, take {range} % less time", count, range)
        }
        1 => t!("1 layout takes {range} % less time but may need more than {usable}", range, usable),
        count => t!("{count} layouts take {range} % less time but may need more than {usable}", count, range, usable),
    })
}

/// True if the `tight` layouts are no nearer to running out than a run with this `peak`, which is tight itself.
pub(in crate::panels) fn are_as_tight(peak: &Peak, tight: &[Better]) -> bool {
    let may_run_out = tight.iter().any(|better| better.figures.peak.may_run_out());
    peak.overall == Verdict::Tight && (peak.may_run_out() || !may_run_out)
}

/// What is said of faster layouts that may run out, in sentences, for the title of what is chosen.
pub fn tight_sentence(evaluation: &Evaluation, searched: &SearchProgressShown, unit: MemoryUnit) -> Option<Message> {
    let tight = tight_clause(evaluation, searched, unit)?;
    let limit = searched.rl_step.is_none().then(|| limit_of_gains(&evaluation.scenario.run));
    Some(Message::joined(" ", std::iter::once(t!("{tight}.", tight)).chain(limit)))
}

/// From which gain on layouts of `run` can be told apart.
pub(super) fn limit_of_gains(run: &Run) -> Message {
    t!("Gains below {tie} % cannot be told apart.", tie = show_gain(least_told(run)))
}

/// "Of 41,163 layouts none that fits is known to be faster; 2 layouts take 12 to 30 % less time but may need more than
/// 79.2 GiB. Gains below 7.4 % cannot be told apart."
pub(super) fn tight_words(evaluation: &Evaluation, searched: &SearchProgressShown, tight: Message) -> Message {
    let evaluated = searched.evaluated;
    // Other layers a stage, or a change that makes it fit, are a faster one that fits: its card stands above.
    let step_s = searched.step_of(evaluation);
    let is_faster = |better: &Better| match better.gain {
        Gain::Split | Gain::Hosted => true,
        Gain::Change | Gain::Offload => words::is_told(&evaluation.scenario.run, better.figures.time_s / step_s),
        _ => false,
    };
    let has_faster = searched.betters.list.iter().any(is_faster);
    let said = if has_faster {
        t!("{tight}.", tight)
    } else if searched.rl_step.is_some() {
        t!(
            "Of {evaluated} layouts of the training none that fits is known to shorten the step of reinforcement \
                learning by 1 %; {tight}.",
            evaluated,
            tight
        )
    } else {
        t!("Of {evaluated} layouts none that fits is known to be faster; {tight}.", evaluated, tight)
    };
    let apart = searched.rl_step.is_none().then(|| limit_of_gains(&evaluation.scenario.run));
    let limit = searched.partial.then(|| t!("The search ended at its limit of work."));
    Message::joined(" ", std::iter::once(said).chain(apart).chain(limit))
}

/// Published runs that ran in one of the tight layouts: "In this layout DeepSeek-V3, 2048 H800 ran."
pub(super) fn ran_so(run: &Run, searched: &SearchProgressShown) -> Node {
    let ran = ran_tight(run, searched);
    let alike = published_alike(run);
    let button = |id: &str| alike.iter().find(|(one, _)| one.id == id).map(published_button);
    let buttons: Vec<Node> = ran.iter().filter_map(|id| button(id)).flat_map(|button| [text(" "), button]).collect();
    if buttons.is_empty() {
        return Node::none();
    }
    let head = if searched.betters.tight.len() == 1 {
        text(t!("It is the layout of a run that was published:"))
    } else {
        text(t!("One of these layouts is that of a run that was published:"))
    };
    std::iter::once(text(" ")).chain([head]).chain(buttons).collect()
}

/// Ids of published runs whose layout is one of the tight ones.
pub(super) fn ran_tight(run: &Run, searched: &SearchProgressShown) -> Vec<&'static str> {
    if searched.betters.tight.is_empty() {
        return Vec::new();
    }
    let is_tight = |layout: &Run| searched.betters.tight.iter().any(|better| better.run == *layout);
    published_layouts(run).into_iter().filter(|(_, layout)| is_tight(layout)).map(|(one, _)| one.id).collect()
}

/// The button that takes a published run.
pub(super) fn published_button((one, run): &PublishedAlike) -> Node {
    let name = verbatim(one.name);
    load("", run, t!("Take the published run {name}", name = name.clone()), &[text(name)])
}

/// Tight layouts that are shown.
pub(in crate::panels) const MOST_TIGHT: usize = 4;
