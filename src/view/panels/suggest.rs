//! Layouts that a search in the background found to do better, a card each, and the largest loss that a layout can
//! change.

use super::budget::keeping_budget;
use super::changes::changes;
use super::uneven::short;
use super::waterfall::{main_loss, part_words};
use crate::node::action::Compare;
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::views::PanelsTab;
use crate::words;
use shardscope_core::diagnose::differences as settings_in_words;
use shardscope_core::pipeline::release::needed_release;
use shardscope_core::report::{Peak, report, work};
use shardscope_core::rl::{TOLD_APART, predict};
use shardscope_core::run::Recompute;
use shardscope_core::run::follow::following;
use shardscope_core::run::registry::Field;
use shardscope_core::search::better::{Better, Betters, Cause, Gain, Reason};
use shardscope_core::search::ladder::tried_before;
use shardscope_core::search::session::PlanResult;
use shardscope_core::search::{
    Figures, PlanRequest, PublishedAlike, differences, is_in_differences, least_saved, least_told, published_alike,
    published_layouts, stages_words,
};
use shardscope_core::time::PartKind;
use shardscope_core::units::group;
use std::cmp::Ordering;
use std::sync::Arc;

/// Progress of the search in the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchProgressShown {
    /// True if it is over.
    pub done: bool,
    /// Layouts looked at.
    pub evaluated: u64,
    /// True if its limit of work left layouts out.
    pub partial: bool,
    /// True if some layout is within the memory of a GPU.
    pub any: bool,
    /// Layouts that do better than the page's own.
    pub betters: Betters,
    /// The step that they are measured against, where it is one of reinforcement learning: theirs are of that kind.
    pub rl_step: Option<Seconds>,
}

/// Share of a step of reinforcement learning from which on a shorter one is named.
const RL_SHARE: f64 = 0.01;

/// `betters` of a Run with reinforcement learning, with times of whole steps, and the step of the Run. A layout that
/// changes such a step by less than a hundredth is none that does better; the batch of a training step is not that of
/// reinforcement learning.
fn of_whole_steps(run: &Run, mut betters: Betters) -> (Betters, Option<Seconds>) {
    let Ok(own) = predict(run) else {
        betters.list.retain(|better| !is_of_time(better.gain));
        betters.tight.clear();
        return (betters, None);
    };
    let whole = |better: &Better| {
        let time_s = predict(&better.run).ok()?.step_s;
        let hours = |run: &Run, step: Seconds| step.0 * run.gpus as f64;
        let gains = match better.gain {
            Gain::Time | Gain::Split | Gain::Equal => time_s.0 <= own.step_s.0 * (1.0 - RL_SHARE),
            Gain::Gpus => hours(&better.run, time_s) * TOLD_APART < hours(run, own.step_s),
            Gain::Batch => false,
            Gain::Memory => time_s.0 <= own.step_s.0 * (1.0 + RL_SHARE),
            _ => true,
        };
        gains.then(|| Better { figures: Figures { time_s, ..better.figures }, ..better.clone() })
    };
    betters.list = betters.list.iter().filter_map(whole).collect();
    betters.tight = betters.tight.iter().filter_map(whole).collect();
    (betters, Some(own.step_s))
}

/// The part of the step that is the cause of `better`.
fn better_part(better: &Better) -> Option<PartKind> {
    match better.cause.as_ref()?.reason {
        Reason::Part(part) | Reason::Share(part) => Some(part),
        Reason::Memory(_) => None,
    }
}

/// True for a gain that is one of time.
const fn is_of_time(gain: Gain) -> bool {
    matches!(gain, Gain::Time | Gain::Split | Gain::Equal | Gain::Gpus | Gain::Batch)
}

impl SearchProgressShown {
    /// Share of the step of `evaluation` that the fastest layout known saves, where that can be told apart.
    pub fn gain(&self, evaluation: &Evaluation) -> Option<f64> {
        let faster = self.betters.list.iter().find(|better| better.gain == Gain::Time)?;
        Some(1.0 - faster.figures.time_s / self.step_of(evaluation))
    }

    /// Share of the step of `evaluation`, which is tight, that the fastest layout that fits takes longer; none
    /// where one that fits is faster.
    pub fn surer(&self, evaluation: &Evaluation) -> Option<f64> {
        let surer = self.betters.surer_s.filter(|_| self.rl_step.is_none())?;
        Some(surer / self.step_of(evaluation) - 1.0)
    }

    /// The part of the step that the fastest layout known lessens most: the cause that its card gives. Where none that
    /// fits is faster, of those that may run out.
    pub fn lessened(&self) -> Option<PartKind> {
        let mut faster = self.betters.list.iter().filter(|better| matches!(better.gain, Gain::Time | Gain::Split));
        better_part(faster.next().or_else(|| self.betters.tight.first())?)
    }

    /// The step of `evaluation` that layouts are measured against.
    fn step_of(&self, evaluation: &Evaluation) -> Seconds {
        self.rl_step.unwrap_or(evaluation.report.step.time_s)
    }

    /// Reads `result` for the run of `evaluation`; nothing where it is of another question, and no layouts that do
    /// better where it is of another layout.
    pub fn of(result: &PlanResult, evaluation: &Evaluation) -> Self {
        let run = &evaluation.scenario.run;
        let same = PlanRequest::question(&result.run) == PlanRequest::question(run);
        let Some(progress) = result.progress.filter(|_| same) else {
            return Self::default();
        };
        let betters = if result.run == *run { result.betters.clone() } else { Betters::default() };
        let has_rl = run.rl.algorithm.is_some();
        let (betters, rl_step) = if has_rl { of_whole_steps(run, betters) } else { (betters, None) };
        Self {
            done: progress.is_over() && betters.done,
            evaluated: progress.evaluated,
            partial: progress.stopped.is_some_and(|share| share < 1.0),
            any: result.best.is_some(),
            betters,
            rl_step,
        }
    }
}

/// The sizes of a layout that are not 1, its schedule, and what else differs from `own`.
pub fn brief(run: &Run, own: &Run) -> Message {
    let sizes = [("TP", run.tp), ("PP", run.pp), ("CP", run.cp), ("EP", run.ep), ("ETP", run.etp)];
    let used = sizes.into_iter().filter(|(_, size)| *size > 1);
    let mut parts: Vec<Message> = used.map(|(name, size)| verbatim(format!("{name} {size}"))).collect();
    if parts.is_empty() {
        let replicas = run.data_parallel().unwrap_or(run.gpus);
        parts.push(verbatim(format!("DP {replicas}")));
    }
    if run.pp > 1 {
        parts.push(words::schedule(run));
    }
    if run.zero != own.zero {
        parts.push(verbatim(format!("ZeRO-{}", run.zero)));
    }
    if run.micro_batch != own.micro_batch {
        parts.push(t!("micro-batch {micro_batch}", micro_batch = run.micro_batch));
    }
    if run.recompute != own.recompute {
        parts.push(match run.recompute {
            Recompute::None => t!("no recomputation"),
            Recompute::Selective => t!("selective"),
            _ => run.recompute.words(),
        });
    }
    if run.sequence_parallel != own.sequence_parallel && run.tp > 1 {
        parts.push(if run.sequence_parallel { t!("sequence parallel") } else { t!("no sequence parallel") });
    }
    if run.stage_layers != own.stage_layers && run.pp > 1 {
        parts.push(match run.stage_layers.as_deref() {
            Some(layers) => stages_words(layers),
            None => t!("layers split evenly"),
        });
    }
    if run.adapter.method != own.adapter.method {
        parts
            .push(run.adapter.method.map_or_else(|| t!("all weights"), |method| Message::plain(method.choice().label)));
    }
    Message::joined(" · ", parts)
}

/// What a press that makes `run` the page's in place of `own` sets: "Sets ZeRO stage 3, Micro-batch size 8".
pub(super) fn sets(run: &Run, own: &Run) -> Message {
    t!("Sets {settings}", settings = Message::joined(", ", settings_in_words(run, own)))
}

/// More GPUs than the Run has: no layout fits on its own as it is set.
const MORE_GPUS: &str = "Fewest GPUs in another layout";

/// Words of a gain, and the colour that it has in the pictures; `is_one`: a single setting changes; `is_more`: on more
/// GPUs than the Run has.
const fn kind(gain: Gain, is_one: bool, is_more: bool) -> (&'static str, &'static str) {
    match gain {
        Gain::Change if !is_one => ("Fewest changes that fit", "c-recompute"),
        Gain::Fewest if is_more => (MORE_GPUS, "c-weight"),
        Gain::Fits => ("Fastest that fits", "c-forward"),
        Gain::Change => ("Smallest change that fits", "c-recompute"),
        Gain::Length => ("Longest sequence, this layout", "c-activations"),
        Gain::Adapter => ("An adapter that fits", "c-weight"),
        Gain::Fewest => ("Fewest GPUs", "c-weight"),
        Gain::Batch => ("Larger batch", "c-backward"),
        Gain::Time => ("Less time", "c-forward"),
        Gain::Split => ("Less time, this layout", "c-forward"),
        Gain::Memory => ("Less memory, about as fast", "c-activations"),
        Gain::Gpus => ("Fewer GPU-hours", "c-weight"),
        Gain::Equal => ("May be equal", "c-overhead"),
    }
}

/// As [`kind`], of a layout that fits where a change beside it is faster by the memory of the host.
const WITHOUT_HOST: (&str, &str) = ("Fits without the host's memory", "c-forward");

/// As [`kind`], of a sequence that was halved until some layout fits.
const SHORTENED: (&str, &str) = ("Shorter sequence, any layout", "c-activations");

/// A card of a suggested layout: what it gains, what it is, the figure with the gain, the cause, the verdict, and what
/// can be done about it.
struct Card {
    gain: Gain,
    /// Words of the gain and their colour.
    kind: (&'static str, &'static str),
    /// The layout.
    run: Arc<Run>,
    /// All settings that it has other than the page's.
    sets: Message,
    name: Message,
    /// The figure that gains, its field in a report, and whose it is.
    figure: Message,
    field: &'static str,
    scope: Scope,
    /// By how much.
    saved: Message,
    /// The cause.
    why: Message,
    verdict: (Verdict, Message),
}

impl Card {
    fn view(self) -> Node {
        let (kind, colour) = self.kind;
        let (class, mark) = words::sign(self.verdict.0);
        // A gain that may be none is not offered as one.
        let used =
            if self.gain == Gain::Equal { Node::none() } else { load("main", &self.run, self.sets, &[text("Use")]) };
        let compare = el("button", &[], &[text("Compare")]).on(Action::Compare(Compare::Keep(Arc::clone(&self.run))));
        let verdict = el("span", &[("class", class)], &[leaf("b", "mark", mark), leaf("b", "word", self.verdict.1)]);
        let cells = [
            el("p", &[("class", "kind")], &[leaf("i", colour, ""), text(kind)]),
            leaf("h3", "", &self.name),
            el(
                "p",
                &[("class", "gain")],
                &[strong(self.figure).reports(self.field, &self.scope), text(t!(", {saved}", saved = self.saved))],
            ),
            leaf("p", "why", self.why),
            el("p", &[("class", "act")], &[verdict, compare, used]),
        ];
        el("article", &[("class", "suggestion")], &cells)
    }
}

/// The cards of the layouts that do better, or why there are none.
pub fn suggestion(evaluation: &Evaluation, searched: &SearchProgressShown, unit: MemoryUnit) -> Node {
    let list = &searched.betters.list;
    // The fewest GPUs are a line below the cards, where there are three of them.
    let is_line = |better: &&Better| better.gain == Gain::Fewest && list.len() > CARDS;
    let shown: Vec<&Better> = list.iter().filter(|better| !is_line(better)).collect();
    let step_s = searched.step_of(evaluation);
    let mut cards = cards_of(evaluation, step_s, &shown, unit);
    let line: Node = list.iter().filter(is_line).map(|better| fewest(evaluation, better, unit)).collect();
    let tight = tight_clause(evaluation, searched, unit)
        .map_or_else(Node::none, |clause| only_tight(evaluation, searched, clause, unit));
    let said = ran_tight(&evaluation.scenario.run, searched);
    if cards.is_empty() {
        let words = if tight == Node::none() { nothing(evaluation, searched) } else { tight };
        let none = el("div", &[("class", "suggestions none")], &[words]);
        return Node::from_iter([none, as_published(&evaluation.scenario.run, &said)]);
    }
    // A larger batch, fewer GPUs and less memory say nothing of whether another layout is faster.
    let silent = |gain: Gain| matches!(gain, Gain::Equal | Gain::Batch | Gain::Gpus | Gain::Memory);
    if tight == Node::none() && list.iter().all(|better| silent(better.gain)) {
        cards.insert(0, nothing(evaluation, searched));
    }
    let published = as_published(&evaluation.scenario.run, &said);
    Node::from_iter([el("div", &[("class", "suggestions")], &[cards.into_iter().collect(), tight]), line, published])
}

/// "Published: DeepSeek-V3, 2048 H800": runs that were published of this model on so many of these GPUs, each a press
/// away; without those that are `said` already, and nothing where the Run is one.
fn as_published(run: &Run, said: &[&str]) -> Node {
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

/// Settings that follow a change by themselves.
const FOLLOW: [&str; 2] = ["global_batch", "host_memory_gib"];

/// Cards in a row.
const CARDS: usize = 3;

/// "Fewest GPUs in another layout: 64 GPUs with TP 8 · PP 4, fits, 49.8 GiB, a step takes 171 s."
fn fewest(evaluation: &Evaluation, better: &Better, unit: MemoryUnit) -> Node {
    let (own, figures) = (&evaluation.scenario.run, &better.figures);
    let scope = Scope::of(&better.run, Some(own));
    let name = brief(&better.run, own);
    let gpus = strong(gpus_words(better.run.gpus)).reports("gpus", &scope);
    let (fits, time) = (words::fits(&figures.peak, &unit.show(figures.peak.bytes)), show_seconds(figures.time_s));
    let rest = t!("with {layout}: {fits}; a step takes {time}.", layout = name, fits, time);
    let rest = Message::joined(" ", [rest, why_not_fewer(own, better.run.gpus)]);
    let taken = keeping_budget(own, better.run.clone());
    let take = load("", &taken, sets(&taken, own), &[text("Use")]);
    // The Run fits on its own GPUs by the cards above.
    let what = if better.run.gpus > own.gpus { MORE_GPUS } else { "Fewest GPUs" };
    let parts = [text(what), text(": "), gpus, text(" "), inline(rest), text(" "), take];
    el("p", &[("class", "muted fewest")], &parts)
}

/// "64 GPUs".
fn gpus_words(gpus: u64) -> Message {
    match gpus {
        1 => t!("1 GPU"),
        gpus => t!("{gpus} GPUs", gpus),
    }
}

/// The heading of the cards.
pub fn heading(evaluation: &Evaluation) -> &'static str {
    match evaluation.report.memory.overall() {
        Verdict::Oom => "Ways to make it fit",
        Verdict::Fits | Verdict::Tight => "Layouts that do better",
    }
}

/// Tight layouts that take less time, on demand, below one sentence: that none which fits is known to be faster,
/// and by how much they are.
fn only_tight(evaluation: &Evaluation, searched: &SearchProgressShown, clause: Message, unit: MemoryUnit) -> Node {
    let tight = &searched.betters.tight;
    let step_s = searched.step_of(evaluation);
    let shown: Vec<&Better> = tight.iter().take(MOST_TIGHT).collect();
    let cards: Node = cards_of(evaluation, step_s, &shown, unit).into_iter().collect();
    let (class, sign) = words::sign(evaluation.report.memory.overall());
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
fn tight_clause(evaluation: &Evaluation, searched: &SearchProgressShown, unit: MemoryUnit) -> Option<Message> {
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
pub(super) fn are_as_tight(peak: &Peak, tight: &[Better]) -> bool {
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
fn limit_of_gains(run: &Run) -> Message {
    t!("Gains below {tie} % cannot be told apart.", tie = show_gain(least_told(run)))
}

/// "Of 41,163 layouts none that fits is known to be faster; 2 layouts take 12 to 30 % less time but may need more than
/// 79.2 GiB. Gains below 7.4 % cannot be told apart."
fn tight_words(evaluation: &Evaluation, searched: &SearchProgressShown, tight: Message) -> Message {
    let evaluated = searched.evaluated;
    // Other layers a stage are a faster one that fits: its card stands above.
    let has_faster = searched.betters.list.iter().any(|better| better.gain == Gain::Split);
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
fn ran_so(run: &Run, searched: &SearchProgressShown) -> Node {
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
fn ran_tight(run: &Run, searched: &SearchProgressShown) -> Vec<&'static str> {
    if searched.betters.tight.is_empty() {
        return Vec::new();
    }
    let is_tight = |layout: &Run| searched.betters.tight.iter().any(|better| better.run == *layout);
    published_layouts(run).into_iter().filter(|(_, layout)| is_tight(layout)).map(|(one, _)| one.id).collect()
}

/// The button that takes a published run.
fn published_button((one, run): &PublishedAlike) -> Node {
    let name = verbatim(one.name);
    load("", run, t!("Take the published run {name}", name = name.clone()), &[text(name)])
}

/// Tight layouts that are shown.
pub(super) const MOST_TIGHT: usize = 4;

/// What a card proposes in place of `own`: its title.
pub fn name(better: &Better, own: &Run) -> Message {
    match better.gain {
        Gain::Change => change_name(&better.run, own),
        Gain::Length => t!("A shorter sequence, this layout"),
        Gain::Batch => t!("Batch {batch}, this layout", batch = better.run.global_batch),
        Gain::Split => {
            let layers = better.run.stage_layers.as_deref().map(short).unwrap_or_default();
            t!("Uneven stages {layers}", layers)
        }
        Gain::Adapter => adapter_name(&better.run, own),
        Gain::Gpus | Gain::Fewest => Message::joined(": ", [gpus_words(better.run.gpus), brief(&better.run, own)]),
        Gain::Time | Gain::Memory | Gain::Equal | Gain::Fits => brief(&better.run, own),
    }
}

/// What each of `list` proposes in place of `own`. Two layouts never have one title: where the settings that titles are
/// made of are the same, a title goes on with the settings in which it differs from the other.
pub fn names(list: &[&Better], own: &Run) -> Vec<Message> {
    let names: Vec<Message> = list.iter().map(|better| name(better, own)).collect();
    let words: Vec<String> = names.iter().map(ToString::to_string).collect();
    // What a layout leaves as the Run has it is no proposal of it.
    let is_proposed = |better: &Better, field: &Field| field.get(&better.run) != field.get(own);
    let differ = |better: &Better, other: &Better| {
        let changes = changes(&better.run, &other.run).into_iter();
        let changes = changes.filter(|change| is_proposed(better, change.field));
        changes.map(|change| t!("{field}: {to}", field = change.field.label, to = change.to)).collect::<Vec<_>>()
    };
    let full = |at: usize| {
        let alike = (0..list.len()).filter(|other| *other != at && words[*other] == words[at]);
        let mut parts = vec![names[at].clone()];
        for part in alike.flat_map(|other| differ(list[at], list[other])) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        Message::joined(" · ", parts)
    };
    (0..list.len()).map(full).collect()
}

/// The cards of `list` beside a step of `step_s`.
fn cards_of(evaluation: &Evaluation, step_s: Seconds, list: &[&Better], unit: MemoryUnit) -> Vec<Node> {
    let names = names(list, &evaluation.scenario.run);
    let has_faster = |better: &Better| {
        let is_faster = |other: &&Better| other.figures.time_s.0 < better.figures.time_s.0;
        better.gain == Gain::Fits && list.iter().any(|other| other.gain == Gain::Change && is_faster(other))
    };
    let card = |(better, name): (&&Better, Message)| {
        let card = card(evaluation, step_s, better, name, unit);
        if has_faster(better) { Card { kind: WITHOUT_HOST, ..card } } else { card }
    };
    list.iter().zip(names).map(|pair| card(pair).view()).collect()
}

/// The card of a layout that is called `name`, beside a step of `step_s`.
fn card(evaluation: &Evaluation, step_s: Seconds, better: &Better, name: Message, unit: MemoryUnit) -> Card {
    let own = &evaluation.scenario.run;
    // The adapter that is trained already is no gain: the shorter sequence is.
    let is_own = better.gain == Gain::Adapter
        && better.run.adapter.method == own.adapter.method
        && better.run.seq_len < own.seq_len;
    let shown = Better { gain: if is_own { Gain::Length } else { better.gain }, ..better.clone() };
    let better = &shown;
    let (figure, saved, verdict) = headline(evaluation, step_s, better, unit);
    let changed = changes(&better.run, own).into_iter().filter(|change| !FOLLOW.contains(&change.field.key)).count();
    let run = keeping_budget(own, better.run.clone());
    Card {
        gain: better.gain,
        sets: sets(&run, own),
        kind: if is_own { SHORTENED } else { kind(better.gain, changed == 1, better.run.gpus > own.gpus) },
        run: Arc::new(run),
        name,
        figure,
        field: match better.gain {
            Gain::Equal => "step.time_less",
            Gain::Time | Gain::Split | Gain::Fits | Gain::Change | Gain::Adapter if own.rl.algorithm.is_some() => {
                "rl.step_s"
            }
            Gain::Time | Gain::Split | Gain::Fits | Gain::Change | Gain::Adapter => "step.time_s",
            Gain::Memory => "memory.peak_bytes",
            Gain::Gpus | Gain::Fewest => "gpus",
            Gain::Batch => "step.time_per_token_less",
            Gain::Length => "seq_len",
        },
        scope: Scope::of(&better.run, Some(own)),
        saved,
        why: Message::joined(" ", reasons(evaluation, step_s, better, unit)),
        verdict: (better.figures.peak.overall, verdict),
    }
}

/// Share of the time a token in steps of `step_s` that the batch of `better` saves.
fn saved_a_token(own: &Run, step_s: Seconds, better: &Better) -> f64 {
    let a_token = |run: &Run, time: Seconds| time.0 / run.global_batch as f64;
    1.0 - a_token(&better.run, better.figures.time_s) / a_token(own, step_s)
}

/// What a card shows: its figure, what that saves, and whether the layout fits.
fn headline(
    evaluation: &Evaluation,
    step_s: Seconds,
    better: &Better,
    unit: MemoryUnit,
) -> (Message, Message, Message) {
    let (own, report) = (&evaluation.scenario.run, &evaluation.report);
    let figures = &better.figures;
    let (time, peak) = (show_seconds(figures.time_s), unit.show(figures.peak.bytes));
    let word = |figure: &str| words::fits(&figures.peak, figure);
    let against = || words::against(figures.time_s / step_s);
    match better.gain {
        Gain::Equal => {
            let saved = words::less(1.0 - figures.time_s / step_s);
            (saved, t!("cannot be told apart"), word(&peak))
        }
        Gain::Time | Gain::Split => {
            let saved = 1.0 - figures.time_s / step_s;
            (verbatim(time), words::less(saved), word(&peak))
        }
        Gain::Memory => {
            let saved = unit.beyond(report.memory.peak_bytes, figures.peak.bytes);
            (verbatim(peak), t!("{saved} less", saved), word(&time))
        }
        Gain::Gpus => {
            let hours = |gpus: u64, time: Seconds| gpus as f64 * time.0;
            let saved = 1.0 - hours(better.run.gpus, figures.time_s) / hours(own.gpus, step_s);
            let saved = t!("{saved} % fewer GPU-hours", saved = show_gain(saved));
            (gpus_words(better.run.gpus), saved, word(&peak))
        }
        Gain::Batch => (words::less(saved_a_token(own, step_s, better)), t!("time per token"), word(&peak)),
        Gain::Fits | Gain::Change => (verbatim(time), against(), word(&peak)),
        Gain::Length => {
            let tokens = t!("{tokens} tokens", tokens = better.run.seq_len);
            (tokens, t!("instead of {tokens}", tokens = own.seq_len), word(&peak))
        }
        Gain::Adapter => (verbatim(time), t!("a step of an adapter"), word(&peak)),
        Gain::Fewest => (gpus_words(better.run.gpus), t!("instead of {gpus}", gpus = own.gpus), word(&peak)),
    }
}

/// Why a layout is better, and what else it changes.
fn reasons(evaluation: &Evaluation, step_s: Seconds, better: &Better, unit: MemoryUnit) -> Vec<Message> {
    let (own, time_s) = (&evaluation.scenario.run, better.figures.time_s);
    let mut reasons: Vec<Message> = better.cause.iter().map(|cause| why(own, better, cause, unit)).collect();
    reasons.extend(better.cause.as_ref().and_then(|cause| set_together(own, better, cause.reason)));
    match better.gain {
        Gain::Batch => reasons.push(t!("A larger batch changes what the model learns.")),
        Gain::Length => {
            let saved = unit.beyond(evaluation.report.memory.peak_bytes, better.figures.peak.bytes);
            reasons.push(t!("In all {saved} less.", saved));
            reasons.push(t!("The batch stays {batch} sequences.", batch = own.global_batch));
            reasons.extend(tight_length(better, own, unit));
        }
        Gain::Adapter => reasons.extend(begun_length(own, &better.run)),
        Gain::Fewest => {
            reasons.push(t!("A step takes {time}.", time = show_seconds(time_s)));
            reasons.push(why_not_fewer(own, better.run.gpus));
        }
        _ => {}
    }
    reasons.extend(assumed_host(own, &better.run, unit));
    let needed = needed_release(&better.run).filter(|_| needed_release(own).is_none());
    reasons.extend(needed.map(|release| t!("Such stages need Megatron Core {release} or later.", release)));
    match better.gain {
        // The title of a change has it.
        gain if gain != Gain::Change && better.run.stack != own.stack => {
            let software = verbatim(better.run.stack.preset_row().choice.label);
            reasons.push(t!("By {software}.", software));
        }
        _ => {}
    }
    // Such gains were measured of training steps.
    let least = if own.rl.algorithm.is_none() { least_saved(own, 1.0 - time_s / step_s) } else { 0.0 };
    if better.gain == Gain::Time && least > 0.0 {
        reasons.push(t!(
            "Where such gains were measured, three of four were at least {least} %.",
            least = show_gain(least)
        ));
    }
    if better.gain == Gain::Equal {
        reasons.push(t!(
            "Gains below {tie} % cannot be told apart. Measure both: 20 steps each.",
            tie = show_gain(least_told(own))
        ));
    }
    if better.gain == Gain::Gpus {
        reasons.push(t!("A step takes {time}.", time = show_seconds(time_s)));
    }
    reasons
}

/// All settings that the button of `better` changes, where its cause and its title name a part of them alone.
fn set_together(own: &Run, better: &Better, reason: Reason) -> Option<Message> {
    // A title of a layout or a change says all that differs, and a larger batch is all that its card changes.
    if !matches!(better.gain, Gain::Length | Gain::Adapter) {
        return None;
    }
    let other = &better.run;
    let all = changes(other, own);
    if all.len() < 2 || relevant(own, other, reason).to_string() == differences(other, own).to_string() {
        return None;
    }
    let all = all.into_iter().map(|change| t!("{field}: {to}", field = change.field.label, to = change.to));
    Some(t!("Together it sets {settings}.", settings = Message::joined(", ", all.collect::<Vec<_>>())))
}

/// Numbers of GPUs that were tried before `found`, and what fails on them: "Tried before, and no layout was found
/// that fits: 32, 48 GPUs. Numbers between were not tried."
fn why_not_fewer(own: &Run, found: u64) -> Message {
    let tried = tried_before(own, found);
    if tried.is_empty() && found > own.gpus {
        return t!(
            "No layout was found that fits on {gpus}; {found} is the next number that was tried.",
            gpus = gpus_words(own.gpus),
            found
        );
    }
    if tried.is_empty() {
        return t!("It is the smallest number that was tried.");
    }
    if tried == [1] {
        return t!("Tried before, and no layout was found that fits: 1 GPU.");
    }
    // One number more is as short as words for it.
    let count = if tried.len() > NUMBERS + 1 { tried.len() - NUMBERS } else { 0 };
    let numbers = Message::joined(", ", tried[count..].iter().map(|count| verbatim(group(&count.to_string()))));
    if count > 0 {
        return t!(
            "Tried before, and no layout was found that fits: {numbers} GPUs, and {count} smaller numbers. Numbers \
                between were not tried.",
            numbers,
            count
        );
    }
    t!("Tried before, and no layout was found that fits: {numbers} GPUs. Numbers between were not tried.", numbers)
}

/// Where the length of a card of adapters is from: that of the published run, which follows adapters by every route
/// where `own` states none; or the longest of its halves that fits.
fn begun_length(own: &Run, other: &Run) -> Option<Message> {
    let adapted = Run { adapter: other.adapter.clone(), ..own.clone() };
    let set = following(own, &adapted, "adapter.method", true);
    let (_, begun) = set.iter().find(|(key, _)| *key == "seq_len")?;
    let (tokens, begun) = (other.seq_len.to_string(), verbatim(group(begun)));
    Some(if set.iter().any(|(key, text)| *key == "seq_len" && *text == tokens) {
        t!("{begun} tokens are those of QLoRA's published run: set your own.", begun)
    } else {
        let tokens = verbatim(group(&tokens));
        t!("{tokens} tokens a sequence fit; QLoRA's published run had {begun}.", tokens, begun)
    })
}

/// Numbers of GPUs that are listed at most.
const NUMBERS: usize = 6;

/// What `other` assumes of the host, of which `own` says nothing: what leaves the GPU has to find room there.
fn assumed_host(own: &Run, other: &Run, unit: MemoryUnit) -> Option<Message> {
    let gib = other.host_memory_gib.filter(|_| own.host_memory_gib.is_none())?;
    let assumed = unit.show(Bytes::from_gib(gib));
    let need = report(other).ok().and_then(|after| after.memory.host).map(|host| unit.show(host.total_bytes));
    Some(match need {
        Some(need) => {
            t!("It assumes hosts of {assumed} a node, of which it needs {need}: set what yours have.", assumed, need)
        }
        None => t!("It assumes hosts of {assumed} a node: set what yours have.", assumed),
    })
}

/// What a sequence of twice the tokens of `better` is, where it is no longer than that of the Run and tight: such runs
/// are no wall.
fn tight_length(better: &Better, own: &Run, unit: MemoryUnit) -> Option<Message> {
    let tokens = better.run.seq_len.saturating_mul(2);
    let twice = Run { seq_len: tokens, ..better.run.clone() };
    if tokens >= own.seq_len || work(&twice).is_none_or(|work| work > MOST_WORK) {
        return None;
    }
    let peak = report(&twice).ok()?.memory.peak();
    let is_tight = peak.overall == Verdict::Tight && !peak.may_run_out();
    is_tight.then(|| t!("{tokens} tokens are tight, {peak}.", tokens, peak = unit.show(peak.bytes)))
}

/// Units of work of the largest report that a card asks for.
const MOST_WORK: u64 = 20_000;

/// "QLoRA · TP 2", with sequence and batch where these are others.
fn adapter_name(other: &Run, own: &Run) -> Message {
    let method = other.adapter.method.map(|method| Message::plain(method.choice().label));
    let tokens = (other.seq_len != own.seq_len).then(|| t!("{tokens} tokens", tokens = other.seq_len));
    let batch = (other.global_batch != own.global_batch).then(|| t!("batch {batch}", batch = other.global_batch));
    let same = Run { adapter: other.adapter.clone(), ..own.clone() };
    let layout = (other.gpus > 1).then(|| brief(other, &same));
    Message::joined(" · ", method.into_iter().chain(tokens).chain(batch).chain(layout))
}

/// All that differs: in the field's own terms, then every setting that these have no word for, with its value: what
/// goes to the host, the precision, which modules are recomputed.
fn change_name(other: &Run, own: &Run) -> Message {
    let by_modules = matches!(other.recompute, Recompute::Modules(_));
    let recompute = if by_modules { own.recompute.clone() } else { other.recompute.clone() };
    let named = differences(&Run { recompute, ..other.clone() }, own);
    // How much memory the host has is no change: what it needs stands in the reasons.
    let is_said = |key: &str| key == "host_memory_gib" || is_in_differences(key);
    let others = changes(other, own).into_iter().filter(|change| !is_said(change.field.key));
    let others = others.map(|change| t!("{field}: {to}", field = change.field.label, to = change.to));
    Message::joined(", ", Some(named).into_iter().filter(|named| !named.is_empty()).chain(others))
}

/// The cause in a sentence: what is set differently, and the quantity before and after.
fn why(own: &Run, better: &Better, cause: &Cause, unit: MemoryUnit) -> Message {
    let other = &better.run;
    let Cause { reason, before, after, pipelines } = *cause;
    let [(dp, m), (other_dp, other_m)] = pipelines;
    let (name, show): (&'static str, Box<dyn Fn(f64) -> String>) = match reason {
        Reason::Part(PartKind::Bubble) => (part_words(PartKind::Bubble), Box::new(show_percent)),
        Reason::Part(part) => (part_words(part), Box::new(|value| show_seconds(Seconds(value)))),
        Reason::Share(part) => (part_words(part), Box::new(show_percent)),
        Reason::Memory(component) => (component.name(), Box::new(move |value| unit.show_any(Bytes(value)))),
    };
    // No line ends between a number and its unit.
    let [before, after] = [before, after].map(|value| match show(value).as_str() {
        "" => t!("none"),
        figure => verbatim(figure.replace(' ', "\u{a0}")),
    });
    // A share says what it divides by.
    let after = match reason {
        Reason::Part(PartKind::Bubble) => t!("{share} of the pipeline's time", share = after),
        Reason::Share(_) => t!("{share} of the step", share = after),
        Reason::Part(_) | Reason::Memory(_) => after,
    };
    let bubble = matches!(reason, Reason::Part(PartKind::Bubble) | Reason::Share(PartKind::Bubble));
    if better.gain == Gain::Batch {
        return t!(
            "Batch {batch} leaves {counted} per pipeline, {other_batch} leaves {other_m}: {name} {before} to {after}.",
            batch = own.global_batch,
            counted = words::of_microbatches(m),
            other_batch = other.global_batch,
            other_m,
            name = Message::plain(name),
            before,
            after
        );
    }
    // More micro-batches are a cause of a smaller bubble, fewer are not.
    if bubble && other_m > m && own.pp > 1 && other.pp > 1 {
        let counted = words::of_microbatches(m);
        return t!(
            "DP {dp} leaves {counted} per pipeline, DP {other_dp} leaves {other_m}: {name} {before} to {after}.",
            dp,
            counted,
            other_dp,
            other_m,
            name = Message::plain(name),
            before,
            after
        );
    }
    // Adapters bring a length of their own: what it shortens is not lessened by frozen weights.
    let of_tokens = |component: Component| {
        use Component::{Activations, Buffers, Overhead};
        let tokens = |run: &Run| run.seq_len.saturating_mul(run.micro_batch);
        matches!(component, Activations | Buffers | Overhead) && tokens(other) < tokens(own)
    };
    let differs = match better.gain {
        Gain::Length => t!("Fewer tokens in a micro-batch"),
        Gain::Adapter if matches!(reason, Reason::Memory(component) if of_tokens(component)) => {
            t!("Fewer tokens in a micro-batch")
        }
        Gain::Adapter if own.adapter.method.is_none() => t!("The weights are frozen"),
        _ => relevant(own, other, reason),
    };
    // The card's title says all that differs.
    if matches!(better.gain, Gain::Change | Gain::Split) {
        return t!("{name}: {before} to {after}.", name = Message::plain(name), before, after);
    }
    t!("{differs}: {name} {before} to {after}.", differs, name = Message::plain(name), before, after)
}

/// The differences that move `reason` the way it went, down: the first of a part of the step, all of those that cut
/// what is stored; all differences where none does.
fn relevant(own: &Run, other: &Run, reason: Reason) -> Message {
    use Component::{Activations, Buffers, Gradients, Optimizer, Overhead, Weights};
    use Ordering::{Greater, Less};
    let size = |name: &'static str, of: fn(&Run) -> u64, way: Ordering| {
        let (now, then) = (of(own), of(other));
        (then.cmp(&now) == way).then(|| t!("{name} {then} instead of {now}", name = verbatim(name), then, now))
    };
    let (tp, pp) = (|way| size("TP", |run| run.tp, way), |way| size("PP", |run| run.pp, way));
    let (cp, ep) = (|way| size("CP", |run| run.cp, way), |way| size("EP", |run| run.ep, way));
    let dp = |way| size("DP", |run| run.data_parallel().unwrap_or(0), way);
    let zero = |way| size("ZeRO", |run| run.zero, way);
    let micro = |way| {
        let (now, then) = (own.micro_batch, other.micro_batch);
        (then.cmp(&now) == way).then(|| t!("micro-batch {then} instead of {now}", then, now))
    };
    let changed_schedule = || {
        let alike = (own.schedule, own.virtual_stages) == (other.schedule, other.virtual_stages);
        let both = own.pp > 1 && other.pp > 1 && !alike;
        both.then(|| t!("{then} instead of {now}", then = words::schedule(other), now = words::schedule(own)))
    };
    let recompute = || {
        let then = match other.recompute {
            Recompute::None => t!("no recomputation"),
            Recompute::Selective => t!("selective recomputation"),
            _ => other.recompute.words(),
        };
        let saves = other.recompute != Recompute::None || matches!(reason, Reason::Part(_) | Reason::Share(_));
        (own.recompute != other.recompute && saves).then_some(then)
    };
    let first = match reason {
        Reason::Part(part) | Reason::Share(part) => match part {
            PartKind::Bubble => changed_schedule().or_else(|| pp(Less)).or_else(|| dp(Less)),
            PartKind::Recompute => recompute(),
            PartKind::ExposedCp => cp(Less),
            PartKind::ExposedEp => ep(Less),
            PartKind::ExposedDp => dp(Less).or_else(|| zero(Less)),
            PartKind::Optimizer => zero(Greater).or_else(|| dp(Greater)),
            PartKind::ExposedTp => tp(Less),
            PartKind::Ideal | PartKind::Kernels | PartKind::Launches | PartKind::Loader => {
                micro(Greater).or_else(|| tp(Less)).or_else(|| cp(Less))
            }
        },
        Reason::Memory(component) => {
            let sharded = || tp(Greater).or_else(|| pp(Greater));
            // ZeRO shards optimizer states from stage 1 on, gradients from 2, weights at 3.
            let shards = |from: u64| zero(Greater).filter(|_| own.zero < from && other.zero >= from);
            let cut = |from: u64| {
                let ways = [shards(from), tp(Greater), pp(Greater), ep(Greater)];
                let ways: Vec<Message> = ways.into_iter().flatten().collect();
                (!ways.is_empty()).then(|| Message::joined(", ", ways))
            };
            match component {
                Optimizer => cut(1),
                Gradients => cut(2),
                Weights => cut(3),
                Activations => {
                    let smaller = recompute().or_else(|| micro(Less)).or_else(|| cp(Greater));
                    smaller.or_else(sharded).or_else(changed_schedule)
                }
                // What ZeRO-3 gathers of the weights is a buffer.
                Buffers | Overhead => {
                    let gathered = zero(Less).filter(|_| own.zero == 3);
                    gathered.or_else(|| micro(Less)).or_else(|| cp(Greater)).or_else(sharded)
                }
            }
        }
    };
    first.unwrap_or_else(|| differences(other, own))
}

/// The words in place of the cards.
fn nothing(evaluation: &Evaluation, searched: &SearchProgressShown) -> Node {
    let words = if !searched.done {
        t!("Looking for better layouts…")
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
fn why_here(evaluation: &Evaluation) -> Node {
    if evaluation.scenario.run.rl.algorithm.is_some() {
        return Node::none();
    }
    Node::from_iter([text(" "), link_button("Why this layout").on(Action::Tab(PanelsTab::Layouts))])
}

/// Share of the step from which on a bubble that is not the main loss is named beside it.
const BESIDE: f64 = 0.1;

/// "Batch 256 leaves 8 micro-batches per pipeline.", where the bubble is the main loss or a tenth of the step, and few
/// micro-batches are what makes it: the idle share of 1F1B, `(p - 1) / (v m + p - 1)` (GPipe 2019, Narayanan 2021), is
/// half of it or more. With the share of the step where `main`, the main loss, is another part or is not said.
fn batch_loss(evaluation: &Evaluation, main: Option<PartKind>) -> Option<Message> {
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
fn batch_in_line(evaluation: &Evaluation, searched: &SearchProgressShown) -> Option<Message> {
    let fits = evaluation.report.memory.overall() != Verdict::Oom;
    let (part, _) = main_loss(evaluation, searched.lessened()).filter(|_| fits)?;
    batch_loss(evaluation, Some(part))
}

/// [`batch_loss`] below the cards, of a run that fits, where no card of a larger batch says it; where the line beside
/// the head does, only on screens that leave no room for that line.
fn unsaid_batch(evaluation: &Evaluation, searched: &SearchProgressShown) -> Node {
    let is_said = searched.betters.list.iter().any(|better| better.gain == Gain::Batch);
    let is_unfit = evaluation.report.memory.overall() == Verdict::Oom;
    let Some(words) = batch_loss(evaluation, None).filter(|_| !is_said && !is_unfit) else {
        return Node::none();
    };
    let class = if batch_in_line(evaluation, searched).is_some() { "uncaptioned" } else { "" };
    leaf("span", class, Message::joined("", [verbatim(" "), words]))
}

/// How near the step is to that of the fastest layout that fits: within the error of such differences.
fn fastest_that_fits(evaluation: &Evaluation, searched: &SearchProgressShown) -> Message {
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
/// layout; else the card by its title, or that none does.
fn loss_offered(own: &Run, searched: &SearchProgressShown, part: PartKind, share: f64) -> Message {
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
            // Where no layout lessens a part the largest is the main one; else a part that is larger may stay as it is.
            if searched.lessened().is_none() {
                t!(
                    "The largest loss that layouts differ in: {loss}, {share} of the step. Only layouts that may run \
                        out of memory lessen it.",
                    loss,
                    share
                )
            } else {
                t!(
                    "The loss that a layout lessens most: {loss}, {share} of the step. Only layouts that may run out \
                        of memory lessen it.",
                    loss,
                    share
                )
            }
        }
        None if list.is_empty() => {
            t!("The largest loss that layouts differ in: {loss}, {share} of the step.", loss, share)
        }
        None => {
            t!("The largest loss that layouts differ in: {loss}, {share} of the step. No card lessens it.", loss, share)
        }
    }
}

/// The main loss that layouts differ in, and how far the search is: the line beside the head of the cards.
pub fn lead(evaluation: &Evaluation, searched: &SearchProgressShown) -> Node {
    let loss = match main_loss(evaluation, searched.lessened()) {
        _ if evaluation.report.memory.overall() == Verdict::Oom => {
            t!("Only what fits; times against the step if it fitted.")
        }
        Some((part, share)) => {
            let main = loss_offered(&evaluation.scenario.run, searched, part, share);
            Message::joined(" ", batch_in_line(evaluation, searched).into_iter().chain([main]))
        }
        None => t!("No loss that a layout can change."),
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

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::presets::PUBLISHED;
    use shardscope_core::run::{Algorithm, RlParts};

    /// Where the cause names one of several settings that a button changes, a sentence names all of them.
    #[test]
    fn a_button_says_all_settings_that_it_changes() {
        let own = Run::example();
        let run = Run { tp: 4, pp: 2, micro_batch: 2, zero: 1, ..own.clone() };
        let figures = Figures::from(&report(&own).unwrap());
        let better = Better { run: run.clone(), gain: Gain::Adapter, figures, cause: None };
        let reason = Reason::Part(PartKind::Kernels);
        // The title of a faster layout has them all.
        let faster = Better { gain: Gain::Time, ..better.clone() };
        let title = name(&faster, &own).to_string();
        assert!(["TP 4", "PP 2", "micro-batch 2"].iter().all(|part| title.contains(part)), "{title}");
        assert_eq!(set_together(&own, &faster, reason), None);
        let words = set_together(&own, &better, reason).unwrap().to_string();
        for change in changes(&run, &own) {
            assert!(words.contains(change.field.label), "{}: {words}", change.field.label);
        }
        let one = Better { run: Run { micro_batch: 2, ..own.clone() }, ..better };
        assert_eq!(set_together(&own, &one, reason), None);
    }

    /// Korthikanti 2022, equation 2: activations are `s b h (34 + 5 a s / h) / t` of a layer. They grow with the
    /// micro-batch b and shrink with the ranks t.
    #[test]
    fn a_cause_moves_the_quantity_the_way_it_went() {
        let run = Run { tp: 1, micro_batch: 1, ..Run::default() };
        let other = Run { tp: 4, micro_batch: 2, ..run.clone() };
        let text = |reason| relevant(&run, &other, reason).to_string();
        assert_eq!(text(Reason::Memory(Component::Activations)), "TP 4 instead of 1");
        assert_eq!(text(Reason::Part(PartKind::Kernels)), "micro-batch 2 instead of 1");
    }

    /// Rajbhandari 2020, section 5: ZeRO-1 shards optimizer states, ZeRO-2 gradients too, ZeRO-3 weights too. Tensor
    /// and pipeline parallelism cut all of them.
    #[test]
    fn a_cause_names_the_stage_that_shards_it_and_every_cut() {
        let run = Run { tp: 1, pp: 1, zero: 1, ..Run::default() };
        let other = Run { tp: 2, pp: 2, zero: 2, ..run.clone() };
        let text = |component| relevant(&run, &other, Reason::Memory(component)).to_string();
        let cuts = "TP 2 instead of 1, PP 2 instead of 1";
        assert_eq!(text(Component::Weights), cuts);
        assert_eq!(text(Component::Optimizer), cuts);
        assert_eq!(text(Component::Gradients), format!("ZeRO 2 instead of 1, {cuts}"));
        // Stage 3 gathers the weights of a layer before its passes (section 5.3): another stage has no such buffer.
        let run = Run { zero: 3, ..run };
        assert_eq!(relevant(&run, &other, Reason::Memory(Component::Buffers)).to_string(), "ZeRO 2 instead of 3");
    }

    /// A larger batch on the same layout is no layout: beside its card alone the page says what the search found, and
    /// that the batch lessens the bubble, not that a layout can.
    #[test]
    fn a_larger_batch_is_not_called_a_layout() {
        let run = Run { global_batch: 64, ..Run::default() };
        let own = evaluate(&run).unwrap();
        let other = Run { global_batch: 256, ..run };
        let figures = Figures::from(&evaluate(&other).unwrap().report);
        let cause =
            Cause { reason: Reason::Share(PartKind::Bubble), before: 0.3, after: 0.1, pipelines: [(8, 8), (8, 32)] };
        let batch = Better { gain: Gain::Batch, run: other, figures, cause: Some(cause) };
        let said = |list: Vec<Better>| {
            let betters = Betters { list, done: true, ..Betters::default() };
            let searched = SearchProgressShown { done: true, evaluated: 19_824, betters, ..Default::default() };
            (suggestion(&own, &searched, MemoryUnit::Gib).to_html(), lead(&own, &searched).to_html())
        };
        let (cards, line) = said(vec![batch.clone()]);
        assert!(cards.contains("No layout that fits is known to be faster, of 19"), "{cards}");
        assert!(cards.contains("10.0\u{a0}% of the step"), "{cards}");
        assert!(
            line.contains("The loss that the card &quot;Batch 256, this layout&quot; lessens: ")
                && !line.contains("a layout lessens most"),
            "{line}"
        );
        let (cards, line) = said(vec![Better { gain: Gain::Time, ..batch }]);
        assert!(!cards.contains("No layout that fits") && line.contains("a layout lessens most"), "{cards} {line}");
    }

    /// Tight layouts of 70 and 88 % of the step: one sentence says that none which fits is known to be faster
    /// and that they take 12 to 30 % less time; beside other layers a stage that are faster it does not say the first.
    #[test]
    fn what_fits_and_what_is_tight_are_one_sentence() {
        let run = Run { global_batch: 64, ..Run::default() };
        let own = evaluate(&run).unwrap();
        let figures = Figures::from(&own.report);
        let better = |gain, share: f64, stages: &[u64]| {
            let run = Run { stage_layers: Some(stages.to_vec()), ..run.clone() };
            Better { gain, run, figures: Figures { time_s: figures.time_s * share, ..figures }, cause: None }
        };
        let tight = vec![better(Gain::Time, 0.7, &[7, 9, 8, 8]), better(Gain::Time, 0.88, &[7, 8, 9, 8])];
        let said = |list: Vec<Better>, tight: Vec<Better>| {
            let betters = Betters { list, tight, done: true, ..Betters::default() };
            let searched = SearchProgressShown { done: true, evaluated: 9, betters, ..Default::default() };
            suggestion(&own, &searched, MemoryUnit::Gib).to_html()
        };
        let both = said(Vec::new(), tight.clone());
        let usable = MemoryUnit::Gib.show(own.report.memory.capacity_bytes);
        let sentence = [
            "Of 9 layouts none that fits is known to be faster;",
            &format!("2 layouts take 12 to 30 % less time but may need more than {usable}."),
        ];
        let sentence = sentence.join(" ");
        assert!(both.contains(&sentence), "{both}");
        assert_eq!(both.matches("known to be faster").count(), 1, "{both}");
        let one = said(Vec::new(), tight[..1].to_vec());
        assert!(one.contains(&format!("1 layout takes 30 % less time but may need more than {usable}")), "{one}");
        let split = said(vec![better(Gain::Split, 0.9, &[9, 8, 8, 7])], tight);
        assert!(!split.contains("known to be faster") && split.contains("2 layouts take 12"), "{split}");
    }

    /// Every route to an adapter asks for one length and one batch where none is stated, those of `QLoRA`'s published
    /// run (artidoro/qlora `scripts/finetune_guanaco_65b.sh`: 512 tokens): the list of what is trained, and the cards
    /// beside a run that does not fit. The card's title has them. A length that is stated stays, on both.
    #[test]
    fn a_card_of_adapters_asks_for_what_the_list_sets() {
        use crate::choose::choose;
        use crate::panels::chosen::LayoutOrigin;
        use shardscope_core::run::Value;
        use shardscope_core::run::registry::field;
        use shardscope_core::search::ladder::{Ladder, LadderEnd, asked};

        let set = [("gpu", "rtx-4090"), ("gpus", "4"), ("tp", "1"), ("pp", "1"), ("stack", "hf-trainer")];
        let base = Run::default().with_texts(&set.map(|(key, text)| (key, text.to_owned()))).unwrap();
        for (own, tokens) in [(base.clone(), 512), (Run { seq_len: 2048, ..base }, 2048)] {
            let LadderEnd::Failed(failure) = Ladder::new(&own).unwrap().finished() else { panic!("it fits") };
            assert!(!failure.adapters.is_empty());
            for way in &failure.adapters {
                let id = way.run.adapter.method.unwrap().choice().id;
                let value = Value::Text(id.to_owned());
                let listed = choose(&own, field("adapter.method").unwrap(), &value, LayoutOrigin::Chosen, true).run;
                let pressed = own.with_texts(&asked(&failure.run, &way.run)).unwrap();
                assert_eq!(pressed, listed, "{id}");
                assert_eq!(pressed.seq_len, tokens);
                let figures = Figures::from(&evaluate(&way.run).unwrap().report);
                let better = Better { gain: Gain::Adapter, run: way.run.clone(), figures, cause: None };
                let betters = Betters { list: vec![better], done: true, ..Betters::default() };
                let searched = SearchProgressShown { done: true, betters, ..Default::default() };
                let html = suggestion(&evaluate(&failure.run).unwrap(), &searched, MemoryUnit::Gib).to_html();
                let is_begun = tokens != own.seq_len;
                assert_eq!(html.contains("512 tokens · batch 16"), is_begun, "{html}");
                assert_eq!(html.contains("those of QLoRA's published run"), is_begun, "{html}");
            }
        }
    }

    /// GPipe 2019, section 2.3: p stages and m micro-batches idle (p - 1)/(m + p - 1) of the time. Where that is a main
    /// loss the line names the batch with its micro-batches a pipeline, B/(d b); with 16 times the batch it does not,
    /// and neither does one stage. Without a card of a larger batch the words in place of the cards say it.
    #[test]
    fn a_batch_that_leaves_few_micro_batches_is_named_as_the_loss() {
        let said = |run: &Run, list: Vec<Better>| {
            let own = evaluate(run).unwrap();
            let betters = Betters { list, done: true, ..Betters::default() };
            let searched = SearchProgressShown { done: true, betters, ..Default::default() };
            let cards = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
            (own.report.layout.dp, cards, lead(&own, &searched).to_html())
        };
        let named = |batch: u64, m: u64| format!("Batch {batch} leaves {m} micro-batches per pipeline");
        for (batch, pp, is_loss) in [(64, 4, true), (32, 8, true), (2048, 4, false), (64, 1, false)] {
            let run = Run { global_batch: batch, pp, ..Run::default() };
            let (dp, cards, line) = said(&run, Vec::new());
            let m = batch / dp;
            assert_eq!(line.contains(&format!("{}. ", named(batch, m))), is_loss, "{batch} {pp}: {line}");
            assert_eq!(cards.contains(&format!("{}: bubble ", named(batch, m))), is_loss, "{batch} {pp}: {cards}");
            // Once on a screen: below the cards only where the line has no room.
            let narrow = cards.contains(&format!("class=\"uncaptioned\"> {}", named(batch, m)));
            assert_eq!(narrow, is_loss, "{batch} {pp}: {cards}");
        }
        let run = Run { global_batch: 64, ..Run::default() };
        let other = Run { global_batch: 128, ..run.clone() };
        let figures = Figures::from(&evaluate(&other).unwrap().report);
        let cause =
            Cause { reason: Reason::Part(PartKind::Bubble), before: 0.3, after: 0.2, pipelines: [(8, 8), (8, 16)] };
        let (_, cards, _) = said(&run, vec![Better { gain: Gain::Batch, run: other, figures, cause: Some(cause) }]);
        assert!(cards.contains("Batch 64 leaves 8 micro-batches per pipeline, 128 leaves 16: "), "{cards}");
        assert!(!cards.contains("per pipeline: bubble "), "{cards}");
    }

    /// Every part that the cause of a faster layout may name: the line beside the head of the cards and the marked row
    /// of the parts name the same one.
    #[test]
    fn the_main_loss_is_the_cause_that_the_card_of_a_faster_layout_gives() {
        let run = Run { tp: 8, global_batch: 64, recompute: Recompute::Full, ..Run::default() };
        let own = evaluate(&run).unwrap();
        let figures = Figures::from(&evaluate(&Run { tp: 4, ..run.clone() }).unwrap().report);
        let mut named = 0;
        for part in own.report.step.parts.iter().filter(|part| part.seconds.0 > 1e-3 * own.report.step.time_s.0) {
            let cause = Cause { reason: Reason::Part(part.kind), before: 2.0, after: 1.0, pipelines: [(8, 8), (8, 8)] };
            let better = Better { gain: Gain::Time, run: run.clone(), figures, cause: Some(cause) };
            let betters = Betters { list: vec![better], done: true, ..Betters::default() };
            let searched = SearchProgressShown { done: true, betters, ..Default::default() };
            let words = part_words(part.kind);
            let line = lead(&own, &searched).to_html();
            assert!(line.contains(&format!("a layout lessens most: {words}, ")), "{words}: {line}");
            assert!(suggestion(&own, &searched, MemoryUnit::Gib).to_html().contains(words), "{words}");
            let rows = super::super::waterfall::falls(&own, searched.lessened()).to_html();
            assert_eq!(rows.matches("row main").count(), 1, "{words}");
            named += 1;
        }
        assert!(named >= 5, "{named}");
    }

    /// Cards of every kind that have a part of the step as cause, two in either order: the first is of a faster layout
    /// and its cause is the main loss, or the line names the card whose cause is the main loss, or says that none has
    /// it.
    #[test]
    fn the_line_names_the_card_that_lessens_the_main_loss() {
        let run = Run { tp: 8, global_batch: 64, recompute: Recompute::Full, ..Run::default() };
        let own = evaluate(&run).unwrap();
        let gains = [Gain::Time, Gain::Split, Gain::Gpus, Gain::Equal, Gain::Batch, Gain::Memory];
        let better = |gain, tp, part: Option<PartKind>| {
            let run = Run { tp, stage_layers: (gain == Gain::Split).then(|| vec![7, 9, 8, 8]), ..run.clone() };
            let reason = part.map_or(Reason::Memory(Component::Weights), Reason::Part);
            let cause = Some(Cause { reason, before: 2.0, after: 1.0, pipelines: [(8, 8), (8, 8)] });
            Better { gain, figures: Figures::from(&own.report), run, cause }
        };
        let parts = [Some(PartKind::Bubble), Some(PartKind::ExposedTp), Some(PartKind::Recompute), None];
        let mut seen = [0; 3];
        for (first, second) in gains.iter().flat_map(|first| gains.map(|second| (*first, second))) {
            for (one, other) in parts.iter().flat_map(|one| parts.map(|other| (*one, other))) {
                let list = vec![better(first, 4, one), better(second, 2, other)];
                let betters = Betters { list: list.clone(), done: true, ..Betters::default() };
                let searched = SearchProgressShown { done: true, betters, ..Default::default() };
                let (main, _) = main_loss(&own, searched.lessened()).unwrap();
                let line = lead(&own, &searched).to_html().replace("&quot;", "\"");
                assert!(line.contains(part_words(main)), "{line}");
                let names = names(&list.iter().collect::<Vec<_>>(), &run);
                let named = names
                    .iter()
                    .position(|name| line.contains(&format!("The loss that the card \"{name}\" lessens: ")));
                let of_main = list.iter().position(|better| better_part(better) == Some(main));
                let is_first = line.contains("a layout lessens most");
                assert_eq!(named.or(is_first.then_some(0)), of_main, "{line}");
                assert_eq!(line.contains("No card lessens it"), of_main.is_none(), "{line}");
                assert!(!is_first || matches!(first, Gain::Time | Gain::Split), "{line}");
                seen[if is_first { 0 } else { 1 + usize::from(of_main.is_none()) }] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
    }

    /// Stages of other layers, and an even split in place of uneven ones: two layouts have two titles.
    #[test]
    fn two_cards_never_have_one_title() {
        let figures = Figures::from(&report(&Run::default()).unwrap());
        let with = |set: &[(&str, &str)]| Run::default().with_texts(set).unwrap();
        let own = with(&[("stage_layers", "9,8,8,7")]);
        let sets: [&[(&str, &str)]; 6] = [
            &[],
            &[("stage_layers", "7,8,8,9")],
            &[("stage_layers", "7,9,8,8")],
            &[("stage_layers", "7,9,8,8"), ("cross_entropy", "te-fused")],
            &[("offload.optimizer", "cpu")],
            &[("offload.optimizer", "cpu"), ("host_memory_gib", "192")],
        ];
        let runs: Vec<Run> = sets.iter().map(|set| with(set)).chain([own.clone()]).collect();
        for gain in [Gain::Time, Gain::Memory, Gain::Equal, Gain::Fits, Gain::Gpus, Gain::Split, Gain::Change] {
            let list: Vec<Better> =
                runs.iter().map(|run| Better { gain, run: run.clone(), figures, cause: None }).collect();
            let titles = names(&list.iter().collect::<Vec<_>>(), &own);
            let words: std::collections::BTreeSet<String> = titles.iter().map(ToString::to_string).collect();
            assert_eq!(words.len(), runs.len(), "{gain:?}: {words:?}");
        }
        // Where titles differ by themselves nothing is added.
        let alone = Better { gain: Gain::Time, run: runs[1].clone(), figures, cause: None };
        let title = names(&[&alone], &own)[0].to_string();
        assert!(title == name(&alone, &own).to_string() && title.ends_with("layers by stage 7/8/8/9"), "{title}");
    }

    /// The update is a small part of a step that generates: a layout that takes a fifth off it is none that shortens
    /// the step by so much, and the one that is left is measured by the whole step.
    #[test]
    fn cards_of_reinforcement_learning_are_measured_by_the_whole_step() {
        let rl = crate::panels::rl::tests::asked();
        let run = Run { rl: RlParts { algorithm: Some(Algorithm::Grpo), ..rl }, ..Run::default() };
        let own = evaluate(&run).unwrap();
        let figures = |run: &Run| Figures::from(&evaluate(run).unwrap().report);
        let others = [(Gain::Time, Run { tp: 1, pp: 1, ..run.clone() }), (Gain::Batch, run.clone())];
        let list: Vec<Better> =
            others.map(|(gain, run)| Better { gain, figures: figures(&run), run, cause: None }).into_iter().collect();
        let update = 1.0 - list[0].figures.time_s / own.report.step.time_s;
        let betters = Betters { list: list.clone(), ..Betters::default() };
        let (whole, step) = of_whole_steps(&run, betters);
        let own_step = predict(&run).unwrap().step_s;
        let other = predict(&list[0].run).unwrap().step_s;
        assert_eq!(step, Some(own_step));
        let saved = 1.0 - other / own_step;
        assert!(update > 0.02 && saved < update, "{update} {saved}");
        assert_eq!(whole.list.len(), usize::from(saved >= 0.01), "{saved}");
        let searched = SearchProgressShown { done: true, betters: whole, rl_step: step, ..Default::default() };
        assert!(searched.gain(&own).is_none_or(|gain| (gain - saved).abs() < 1e-12));
        let html = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
        assert!(!html.contains(&format!("{:.0} % less", 100.0 * update)), "{html}");
        assert!(!html.contains(&show_seconds(list[0].figures.time_s)), "{html}");
    }

    /// DeepSeek-V3's report, section 3.1: 2,048 H800. A run of the same model on as many is offered it, that run is
    /// not.
    #[test]
    fn a_run_that_was_published_is_a_press_away() {
        let published = PUBLISHED.iter().find(|one| one.id == "deepseek-v3").unwrap().run();
        let alike = Run { tp: 8, pp: 2, ep: 64, global_batch: 256, ..published.clone() };
        let html = as_published(&alike, &[]).to_html();
        assert!(html.contains("DeepSeek-V3, 2048 H800"), "{html}");
        assert!(as_published(&published, &[]) == Node::none() && as_published(&Run::default(), &[]) == Node::none());
        assert!(as_published(&Run { gpus: 1024, ..alike }, &[]) == Node::none());
    }

    /// Of DeepSeek-V3 on 2,048 H800 the run that was published takes less time than the layout that is chosen, and may
    /// run out: cards, title of the pill and layouts all say so, by the two reports' own times, and that it ran. The
    /// published run says what choosing costs it.
    #[test]
    fn a_faster_layout_that_may_run_out_is_said_wherever_none_is_said_to_be_faster() {
        use crate::panels::chosen::{LayoutOrigin, Whose, chip};
        use shardscope_core::search::ladder::{Ladder, LadderEnd};
        use shardscope_core::search::session::{PlanQuery, PlanSession};

        let published = PUBLISHED.iter().find(|one| one.id == "deepseek-v3").unwrap();
        let outcome = Ladder::new(&published.run()).unwrap().finished();
        let LadderEnd::Chosen(choice) = &outcome else { panic!("none fits") };
        let shown = |run: &Run| {
            let own = evaluate(run).unwrap();
            let query = PlanQuery::improve(run);
            let mut session = PlanSession::new(query.clone()).unwrap();
            while !session.step(1_000_000) {}
            let result = session.result(true);
            let searched = SearchProgressShown::of(&result, &own);
            let cards = suggestion(&own, &searched, MemoryUnit::Gib).to_html();
            let peak = Some(own.report.memory.peak());
            let tight = tight_sentence(&own, &searched, MemoryUnit::Gib);
            let (gain, surer) = (searched.gain(&own), searched.surer(&own));
            let origin = LayoutOrigin::of_loaded(run);
            let origin = if origin == LayoutOrigin::Published { origin } else { LayoutOrigin::Chosen };
            let outcome = (origin == LayoutOrigin::Chosen).then_some(&outcome);
            let pill =
                Whose { origin, waits: false, outcome, gain, surer, tight: tight.as_ref(), peak, of_link: false };
            let view = crate::panels::plan::PlanView {
                query: &query,
                result: &result,
                own: Some(&own),
                folds: &[],
                unit: MemoryUnit::Gib,
            };
            let plan: Node = crate::panels::plan::panel(&view).into_iter().collect();
            (own.report, cards, chip(&pill).to_html(), plan.to_html())
        };
        let (before, cards, pill, plan) = shown(&choice.run);
        let (after, ran_cards, ran_pill, _) = shown(&published.run());
        assert!(before.memory.overall() == Verdict::Fits && after.memory.peak().may_run_out());
        let saved = show_gain(1.0 - after.step.time_s / before.step.time_s);
        let clause = format!("takes {saved} % less time but may need more than");
        assert!(cards.contains(&clause) && cards.contains(published.name), "{cards}");
        assert!(pill.contains("chosen for you") && pill.contains(&clause), "{pill}");
        // A gain that cannot be told apart is not said without that.
        let limit = format!("gains below {} % cannot be told apart", show_gain(least_told(&choice.run)));
        let is_told = words::is_told(&choice.run, before.step.time_s / after.step.time_s);
        for text in [&pill, &plan] {
            assert!(is_told || text.to_lowercase().contains(&limit), "{limit}: {text}");
        }
        let head = ", but may need more than the GPU has:";
        assert!(plan.contains(head) && plan.contains(&show_seconds(after.step.time_s)), "{plan}");
        let lost = show_gain(before.step.time_s / after.step.time_s - 1.0);
        assert!(ran_pill.contains(&format!("choose for me: fits, {lost} % more time")), "{ran_pill}");
        assert!(!ran_cards.contains("that was published:"), "{ran_cards}");
    }

    /// A change that moves states to the host has a title, with units and labels.
    #[test]
    fn every_change_has_a_title() {
        let own = Run::default();
        let texts = [("offload.optimizer", "cpu"), ("host_memory_gib", "192")];
        let other = own.with_texts(&texts.map(|(key, text)| (key, text.to_owned()))).unwrap();
        let title = change_name(&other, &own).to_string();
        assert!(title.contains("Offload optimizer: ") && !title.contains("Host memory"), "{title}");
        assert_eq!(change_name(&Run { tp: 8, ..own.clone() }, &own).to_string(), "TP 8 instead of 2");
        // None of several changes is left out.
        let both = change_name(&Run { tp: 8, ..other.clone() }, &own).to_string();
        assert_eq!(both, format!("TP 8 instead of 2, {title}"));
        let modules = own.with_texts(&[("recompute.modules", "mlp".to_owned())]).unwrap();
        assert_eq!(change_name(&modules, &own).to_string(), "Recomputed modules: mlp");
        // What the press sets of the host is said before it.
        let said = assumed_host(&own, &other, MemoryUnit::Gib).unwrap().to_string();
        assert!(said.contains("It assumes hosts of 192.0 GiB a node"), "{said}");
        assert_eq!(assumed_host(&other, &other, MemoryUnit::Gib), None);
    }
}
