//! The one number of the Run of the page that a step is about, before and after the settings of the step.

use crate::gallery::certificate;
use crate::panels::budget::{budget_tokens, show_tokens};
use crate::panels::changes::{SettingChange, changes};
use crate::panels::overlap::exposed;
use crate::panels::whole::{WholeRunAnswer, duration};
use crate::prelude::*;
use crate::views::View;
use crate::words::name;
use shardscope_core::advice::certify::proof;
use shardscope_core::memory::StageMemory;
use shardscope_core::report::Memory;
use shardscope_core::rl::predict;
use shardscope_core::run::registry::{Slot, field};
use shardscope_core::search::differences;
use shardscope_core::search::ladder::CHOSEN;
use shardscope_core::traffic::Traffic;

/// A number of a report.
#[derive(Clone, Copy, Debug)]
pub enum Gauge {
    Step,
    /// Idle share of the pipeline.
    Bubble,
    /// Memory of the fullest GPU.
    Peak,
    /// A component of it.
    Held(Component),
    /// Bytes that a rank sends; of gradients and gathered weights those of both, since stages one and two of ZeRO
    /// gather weights with the messages of gradients.
    Sent(Traffic),
    /// Tokens of samples that a GPU trains on in a second.
    Rate,
    /// Time of messages that no compute hides.
    Exposed(Traffic),
    /// Time from the first step to the last token.
    Calendar,
    /// Training between two saves that loses least.
    Interval,
    /// Parameters that a token uses.
    Active,
    /// Distance of the pipeline's order from the best one.
    Certificate,
    /// A step of reinforcement learning.
    RlStep,
}

/// Runs that a step is shown on where its number does not change on the Run of the page: settings as in a link.
const OTHERS: [&str; 9] = [
    "",
    "model=llama-3.1-8b&gpus=64&tp=1&pp=4&zero=0&micro_batch=2&global_batch=128&cross_entropy=te-fused",
    "model=llama-3.1-8b&gpus=64&tp=1&pp=1&seq_len=1024&global_batch=64&overlap.dp=0&cross_entropy=te-fused",
    "model=llama-3.1-70b&gpus=64&tp=8&pp=1&zero=3&seq_len=8192&global_batch=64",
    "model=llama-3.1-8b&gpus=64&tp=8&pp=1&seq_len=4096&global_batch=64",
    "model=llama-3.1-8b&gpus=64&tp=2&pp=4&global_batch=64",
    "model=llama-3.1-8b&gpus=64&tp=1&pp=1&zero=1&global_batch=64",
    "model=llama-3.1-70b&gpus=64&tp=4&pp=4&global_batch=128",
    "model=mixtral-8x7b&gpus=64&tp=1&pp=2&ep=8&seq_len=4096&global_batch=128",
];

/// Settings that a step makes on the Run, and the number that they change.
pub(super) type OnRun = (Gauge, &'static [(&'static str, &'static str)]);

impl Gauge {
    /// The view that shows it.
    const fn view(self) -> View {
        if matches!(self, Self::Calendar | Self::Interval) { View::Whole } else { View::Run }
    }

    /// Its value can be a sentence.
    const fn is_worded(self) -> bool {
        matches!(self, Self::Certificate | Self::RlStep)
    }

    /// Its name; `gathers` is true where gathered weights are counted together with gradients.
    fn name(self, tokens: f64, gathers: bool) -> Message {
        match self {
            Self::Calendar => t!("The time of your run for {tokens} tokens", tokens = show_tokens(tokens)),
            Self::Interval => t!("The best time between two saves of your run"),
            Self::Active => t!("The share of parameters that a token of your run uses"),
            Self::Certificate => t!("The certificate of your run's pipeline, without a search"),
            Self::Step => t!("The step time of your run"),
            Self::Rate => t!("Tokens of samples a second on a GPU of your run"),
            Self::RlStep => t!("The step of reinforcement learning of your run"),
            Self::Bubble => t!("The bubble of your run"),
            Self::Peak => t!("The fullest GPU of your run"),
            Self::Held(part) => t!("On the fullest GPU of your run: {part}", part = part.name()),
            Self::Sent(Traffic::Dp | Traffic::Zero3) => {
                t!("What a GPU of your run sends in a step: {kind}", kind = "gradients and gathered weights")
            }
            Self::Sent(kind) => t!("What a GPU of your run sends in a step: {kind}", kind = traffic(kind)),
            Self::Exposed(Traffic::Zero3 | Traffic::Dp) if gathers => {
                t!("What no compute of your run hides: {kind}", kind = "gradients and gathered weights")
            }
            Self::Exposed(kind) => t!("What no compute of your run hides: {kind}", kind = traffic(kind)),
        }
    }

    fn value(self, evaluation: &Evaluation, unit: MemoryUnit) -> Message {
        self.value_on(evaluation, evaluation.report.memory.peak_stage, unit)
    }

    /// The number; memory is that of `rank`, or of the fullest one where there is no such rank.
    fn value_on(self, evaluation: &Evaluation, rank: usize, unit: MemoryUnit) -> Message {
        let report = &evaluation.report;
        let whole = || WholeRunAnswer::new(evaluation).ok();
        let row = |kind| report.overlap.iter().find(|row| row.traffic == kind);
        verbatim(match self {
            Self::Certificate => {
                let found = proof(evaluation).map(|proof| certificate::words(&proof.certificate()));
                return found.unwrap_or_else(|_| t!("No bound for this kind."));
            }
            Self::RlStep => {
                let step = predict(&evaluation.scenario.run);
                return step.map_or_else(|_| Message::default(), |step| verbatim(show_seconds(step.step_s)));
            }
            Self::Step => show_seconds(report.step.time_s),
            Self::Rate => show_count(report.step.tokens_per_s_per_gpu),
            Self::Bubble => show_percent(report.pipeline.bubble_fraction),
            Self::Peak => unit.show(report.memory.peak_bytes),
            Self::Held(part) => {
                let component =
                    |rank: &StageMemory| rank.components().into_iter().find(|(name, _)| *name == part.name());
                let chosen = report.memory.per_stage.get(rank).or_else(|| report.memory.fullest());
                chosen.and_then(component).map_or_else(String::new, |(_, bytes)| unit.show(bytes))
            }
            Self::Sent(kind) => {
                let with = match kind {
                    Traffic::Dp => Some(Traffic::Zero3),
                    Traffic::Zero3 => Some(Traffic::Dp),
                    _ => None,
                };
                let rows = [Some(kind), with].into_iter().flatten().filter_map(row);
                show_bytes(rows.fold(Bytes::ZERO, |sum, row| sum + row.bytes_per_gpu))
            }
            Self::Exposed(kind) => show_seconds(exposed(report, kind).map_or(Seconds::ZERO, |(time, _)| time)),
            Self::Calendar => {
                whole().map_or_else(String::new, |whole| duration(Seconds(86_400.0 * whole.figures.days)))
            }
            Self::Interval => whole().map_or_else(String::new, |whole| duration(whole.setting.best_interval)),
            Self::Active => show_percent(report.parameters.active as f64 / report.parameters.total as f64),
        })
    }
}

/// The memory of two Runs with as many ranks, of which there are several.
fn alike([now, then]: [&Evaluation; 2]) -> Option<[&Memory; 2]> {
    let [now, then] = [now, then].map(|evaluation| &evaluation.report.memory);
    (now.per_stage.len() > 1 && now.per_stage.len() == then.per_stage.len()).then_some([now, then])
}

impl Gauge {
    /// Its name where it is of one of several ranks of `memory`.
    fn name_of_rank(self, memory: &Memory) -> Option<Message> {
        let Self::Held(part) = self else { return None };
        let rank = memory.peak_stage;
        (memory.per_stage.len() > 1)
            .then(|| t!("On rank {rank}, the fullest of your run: {part}", rank, part = part.name()))
    }

    /// That another rank is the fullest with the settings of a step, which Memory and Compare then show.
    fn fullest_then(self, runs: [&Evaluation; 2], unit: MemoryUnit) -> Option<Message> {
        let (Self::Held(part), [now, then]) = (self, alike(runs)?) else { return None };
        let rank = then.peak_stage;
        (rank != now.peak_stage).then(|| {
            let held = self.value_on(runs[1], rank, unit);
            t!("Then rank {rank} is the fullest, with {held} of {part}.", rank, held, part = part.name())
        })
    }

    /// Where the settings of a step change the fullest rank by nothing: the rank that they change most.
    fn on_another_rank(self, runs: [&Evaluation; 2], unit: MemoryUnit) -> Option<Message> {
        let (Self::Held(part), [now, then]) = (self, alike(runs)?) else { return None };
        let bytes = |memory: &Memory, rank: usize| {
            let parts = memory.per_stage.get(rank)?.components();
            parts.into_iter().find(|(name, _)| *name == part.name()).map(|(_, bytes)| bytes.0)
        };
        let change = |rank: usize| Some((bytes(then, rank)? - bytes(now, rank)?).abs());
        let by_change = |a: &usize, b: &usize| change(*a).unwrap_or(0.0).total_cmp(&change(*b).unwrap_or(0.0));
        let rank = (0..now.per_stage.len()).max_by(by_change)?;
        let [before, after] = runs.map(|run| self.value_on(run, rank, unit));
        (before != after).then(|| {
            t!("On rank {rank}, which holds less in all, it goes from {before} to {after}.", rank, before, after)
        })
    }
}

fn traffic(kind: Traffic) -> &'static str {
    match kind {
        Traffic::Dp => "gradients",
        Traffic::Zero3 => "gathered weights",
        Traffic::Tp => "tensor parallel",
        Traffic::Pp => "between stages",
        Traffic::Cp => "context parallel",
        Traffic::Ep => "tokens for experts",
    }
}

/// True if the difference of two layouts names the setting `key`.
fn is_of_layout(key: &str) -> bool {
    key == "stage_layers" || CHOSEN.contains(&key)
}

/// The settings of `then` that differ from those of `now`: sizes as layouts name them, and the other settings of the
/// step by name.
fn change(then: &Run, now: &Run, settings: &[(&'static str, &'static str)]) -> Message {
    let differs = differences(then, now);
    let is_set = |key: &str| settings.iter().any(|(set, _)| *set == key);
    let others = changes(then, now).into_iter().filter(|change| is_set(change.field.key));
    let others = others.filter(|change| !is_of_layout(change.field.key)).map(|change| said(&change));
    let parts: Vec<Message> = std::iter::once(differs).chain(others).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { named(settings) } else { Message::joined(", ", parts) }
}

/// The runs on the way to all `pairs`, where they change two sizes of the layout: the first of them alone, so that each
/// has its own effect beside it.
fn between(run: &Run, changed: &Run, pairs: &[(String, String)]) -> Vec<Run> {
    let ways = (1..pairs.len()).map(|count| run.with_differences(&pairs[..count]));
    let is_apart = |one: &Run| !differences(one, run).is_empty() && !differences(changed, one).is_empty();
    ways.filter(|(one, issues)| issues.is_empty() && is_apart(one)).map(|(one, _)| one).collect()
}

/// The number on `run`, now and with the step's settings, and the way there. `evaluate` gives the report of a Run.
pub(super) fn on_run(
    (gauge, settings): OnRun,
    run: &Run,
    unit: MemoryUnit,
    evaluate: impl Fn(&Run) -> Option<Evaluation>,
) -> Node {
    let set: Vec<(&'static str, String)> = settings.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    let pairs: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let (changed, issues) = run.with_differences(&pairs);
    let before = evaluate(run);
    let after = if issues.is_empty() && changed != *run { evaluate(&changed) } else { None };
    // Before and after on one GPU, where both have as many ranks: the fullest before.
    let shown = |evaluation: &Evaluation| {
        let memory = &evaluation.report.memory;
        let first = before.as_ref().map(|before| &before.report.memory);
        let first = first.filter(|first| first.per_stage.len() == memory.per_stage.len());
        gauge.value_on(evaluation, first.unwrap_or(memory).peak_stage, unit)
    };
    let cell = |name: Message, evaluation: &Evaluation| {
        el("span", &[], &[leaf("small", "", name), leaf("b", "", shown(evaluation))])
    };
    let row = if gauge.is_worded() { "before-after worded" } else { "before-after" };
    let gathers = before.iter().chain(&after).any(gathers_weights);
    let ranked = before.as_ref().and_then(|before| gauge.name_of_rank(&before.report.memory));
    let mut parts = vec![muted(ranked.unwrap_or_else(|| gauge.name(budget_tokens(run), gathers)))];
    if matches!(gauge, Gauge::RlStep) && predict(run).is_err() {
        parts.push(paragraph("Your run has no reinforcement learning, or lacks settings of it."));
        parts.push(elsewhere(gauge, settings, run, unit));
        return el("div", &[("class", "on-run")], &parts);
    }
    match (&before, &after) {
        (None, _) => {
            parts.push(paragraph("Your run does not work yet, or takes long to compute: the page says which."));
            parts.push(elsewhere(gauge, settings, run, unit));
        }
        (Some(now), None) => {
            parts.push(el("p", &[("class", row)], &[cell(t!("now"), now)]));
            if !set.is_empty() {
                parts.push(without_change(changed == *run));
            }
            parts.push(elsewhere(gauge, settings, run, unit));
        }
        (Some(now), Some(then)) => {
            let mut figures = vec![cell(t!("now"), now)];
            let mut last = run.clone();
            for step in between(run, &changed, &pairs) {
                if let Some(evaluation) = evaluate(&step) {
                    figures.extend([leaf("em", "", verbatim("→")), cell(differences(&step, &last), &evaluation)]);
                    last = step;
                }
            }
            figures.extend([leaf("em", "", verbatim("→")), cell(change(&changed, &last, settings), then)]);
            parts.push(el("p", &[("class", row)], &figures));
            parts.extend(gauge.fullest_then([now, then], unit).map(muted));
            // Of the own run, so before another is offered.
            parts.extend(unless_it_fits(&then.report.memory, unit));
            if shown(now) == shown(then) {
                parts.push(muted("It makes no difference to this number of your run."));
                let on_rank = gauge.on_another_rank([now, then], unit);
                parts.push(on_rank.map_or_else(|| elsewhere(gauge, settings, run, unit), muted));
            }
        }
    }
    // Settings that the run cannot take are not offered.
    if after.is_some() || set.is_empty() || changed == *run && before.is_some() {
        parts.push(leaf("button", "", "See it on your run").on(Action::Try(gauge.view(), set)));
    }
    el("div", &[("class", "on-run")], &parts)
}

fn gathers_weights(evaluation: &Evaluation) -> bool {
    evaluation.report.overlap.iter().any(|row| row.traffic == Traffic::Zero3)
}

/// Why the settings of a step change nothing on the run of the page.
fn without_change(has_them: bool) -> Node {
    if has_them {
        muted("Your run has this setting already.")
    } else {
        paragraph("Your run cannot run with these settings.")
    }
}

/// The words where the run with the settings of a step is tight or out of memory.
fn unless_it_fits(memory: &Memory, unit: MemoryUnit) -> Option<Node> {
    let [need, capacity] = [memory.peak_bytes, memory.capacity_bytes].map(|bytes| unit.show(bytes));
    Some(match memory.verdict {
        Verdict::Fits => return None,
        Verdict::Tight if memory.may_run_out() => {
            leaf("p", "", t!("May run out: it would need {need} of {capacity}.", need, capacity))
        }
        Verdict::Tight => leaf("p", "", t!("Tight: it would need {need} of {capacity}.", need, capacity)),
        Verdict::Oom => leaf("p", "bad", t!("✕ Out of memory: it would need {need} of {capacity}.", need, capacity)),
    })
}

/// A run on which `set` changes the number, with the number before and after each change of the layout, and a press
/// that loads it; nothing where none of [`OTHERS`] is one. Where `own` has its name, what it has that `own` has not is
/// beside the name.
fn elsewhere(gauge: Gauge, set: &[(&'static str, &'static str)], own: &Run, unit: MemoryUnit) -> Node {
    let pairs: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let complete = [super::rl::complete()];
    let others: Vec<&str> =
        if matches!(gauge, Gauge::RlStep) { complete.iter().map(String::as_str).collect() } else { OTHERS.to_vec() };
    let found = others.into_iter().filter(|_| !pairs.is_empty()).find_map(|settings| {
        let now = super::bars::run(settings)?;
        let (changed, issues) = now.scenario.run.with_differences(&pairs);
        let then = if issues.is_empty() { evaluate(&changed).ok()? } else { return None };
        let run = now.scenario.run.clone();
        let before = gauge.value(&now, unit);
        let verdict = unless_it_fits(&now.report.memory, unit);
        // Each change with its own effect: no setting is said to have that of another.
        let mut last = run.clone();
        let mut steps = Vec::new();
        for step in between(&run, &changed, &pairs) {
            if let Ok(evaluation) = evaluate(&step) {
                steps.push((gauge.value(&evaluation, unit), differences(&step, &last)));
                last = step;
            }
        }
        steps.push((gauge.value(&then, unit), change(&changed, &last, set)));
        let after = &steps.last()?.0;
        (before != *after && !after.is_empty()).then_some((run, verdict, before, steps))
    });
    let Some((run, verdict, before, mut steps)) = found else {
        return Node::none();
    };
    let called = if name(&run) == name(own) {
        t!("{run} with {settings}", run = name(&run), settings = told_apart(&run, own))
    } else {
        name(&run)
    };
    let words = if steps.len() == 1 {
        let (after, change) = steps.remove(0);
        t!(
            "Another run shows it: {run}. There it goes from {before} to {after} with {change}.",
            run = called,
            before,
            after,
            change
        )
    } else {
        let each = steps.into_iter().map(|(value, change)| t!("{change}: {value}", change, value));
        t!(
            "Another run shows it: {run}. There it goes from {before} to: {steps}.",
            run = called,
            before,
            steps = Message::joined("; then ", each)
        )
    };
    let press = load("link", &run, "", &[text("Take that run")]);
    let offered = el("p", &[("class", "muted")], &[text(words), text(" "), press]);
    [Some(offered), verdict].into_iter().flatten().collect()
}

/// Settings that [`told_apart`] names besides the layout.
const NAMED: usize = 4;

/// The settings of `run` that differ from those of `own`: its layout, then other settings by name.
fn told_apart(run: &Run, own: &Run) -> Message {
    let others: Vec<_> = changes(run, own).into_iter().filter(|change| !is_of_layout(change.field.key)).collect();
    let more = others.len().saturating_sub(NAMED);
    let named = others.into_iter().take(NAMED);
    let named = named.map(|change| said(&change));
    let more = match more {
        0 => None,
        1 => Some(t!("1 more setting")),
        n => Some(t!("{n} more settings", n)),
    };
    let parts = std::iter::once(differences(run, own)).chain(named).chain(more);
    Message::joined(", ", parts.filter(|part| !part.is_empty()))
}

/// A setting by its name, with its value and unit.
fn said(change: &SettingChange) -> Message {
    t!("{field}: {value}", field = change.field.label, value = &change.to)
}

/// Settings by name.
fn named(settings: &[(&'static str, &'static str)]) -> Message {
    let each = settings.iter().filter_map(|(key, value)| {
        let field = field(key)?;
        let chosen = match field.slot {
            Slot::Choice { options } => options().into_iter().find(|choice| choice.id == *value),
            _ => None,
        };
        let value = chosen.map_or_else(|| verbatim(*value), |choice| Message::from(choice.label));
        Some(t!("{field}: {value}", field = field.label, value))
    });
    Message::joined(", ", each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::StepId;

    /// A run of one pipeline stage has no bubble, and GPipe changes nothing of it: the step offers a run with a
    /// pipeline.
    #[test]
    fn a_step_that_changes_nothing_here_offers_a_run_that_it_changes() {
        let (run, issues) = Run::from_pairs(&[("pp".to_owned(), "1".to_owned())]);
        assert!(issues.is_empty());
        let step = StepId::named("pipelines.gpipe").unwrap().step();
        let html = on_run(step.on_run, &run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html();
        assert!(html.contains("Take that run"), "{html}");
    }

    /// A run without reinforcement learning has no step of it: the lesson offers its own run, which has one.
    #[test]
    fn a_run_without_reinforcement_learning_is_offered_one() {
        let step = StepId::named("rl.tail").unwrap().step();
        let html = |run: &Run| on_run(step.on_run, run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html();
        assert!(html(&Run::default()).contains("Take that run"));
        let offered = crate::learn::bars::run(&crate::learn::rl::complete()).unwrap().scenario.run;
        assert!(predict(&offered).is_ok() && !html(&offered).contains("Take that run"));
    }

    /// Narayanan 2021, section 2.2.1: 1F1B has the bubble of GPipe. So the bubble that many micro-batches save is not
    /// said to be GPipe's: the offered run has the same one with GPipe alone.
    #[test]
    fn gpipe_has_no_part_in_what_smaller_micro_batches_save() {
        let (gauge, settings) = StepId::named("pipelines.gpipe").unwrap().step().on_run;
        let html = elsewhere(gauge, settings, &Run::default(), MemoryUnit::Gib).to_html();
        let figures: Vec<f64> = html
            .split(" %")
            .filter_map(|text| text.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse().ok())
            .collect();
        assert!(figures.len() == 3 && html.contains("GPipe"), "{html}");
        assert!(figures[0] == figures[1] && figures[2] < figures[1], "{html}");
    }

    /// That a run would not fit is said of the own run: it stands before the run that is offered instead.
    #[test]
    fn what_does_not_fit_is_said_before_another_run_is_offered() {
        let (run, _) = Run::from_pairs(
            &[("model", "llama-3.1-405b"), ("gpus", "64"), ("pp", "1")]
                .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        let step = StepId::named("pipelines.gpipe").unwrap().step();
        let html = on_run(step.on_run, &run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html();
        let at = |words: &str| html.find(words).unwrap_or_else(|| panic!("{words}: {html}"));
        assert!(at("Out of memory: it would need") < at("Take that run"), "{html}");
    }

    /// On one run or another, the settings of every step change its number, and every step has some.
    #[test]
    fn the_settings_of_every_step_change_its_number_on_some_run() {
        let mut idle = Vec::new();
        for id in StepId::all() {
            let (gauge, settings) = id.step().on_run;
            if elsewhere(gauge, settings, &Run::default(), MemoryUnit::Gib) == Node::none() {
                idle.push(id.to_string());
            }
        }
        assert_eq!(idle, Vec::<String>::new());
    }

    /// The page as it opens: Llama 3.1 8B on 64 GPUs, as the runs that steps offer. Where a step offers another run of
    /// that name, it says what the other has.
    #[test]
    fn an_offered_run_that_has_the_name_of_the_own_says_what_it_has() {
        let (run, _) = Run::from_pairs(&[("stack".to_owned(), "megatron-2025".to_owned())]);
        let mut offered = 0;
        for id in StepId::all() {
            let html = on_run(id.step().on_run, &run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html();
            println!("{id}: {}", html.replace("><", "> <").split(['<', '>']).skip(2).step_by(2).collect::<String>());
            assert!(!html.contains(&format!("shows it: {}. There", name(&run))), "{id}: {html}");
            let with = format!("shows it: {} with ", name(&run));
            let mut words = html.split(&with).skip(1);
            let what = words.next().map(|rest| rest.split(". There it goes from").next().unwrap_or_default());
            assert!(what.is_none_or(|what| !what.is_empty()), "{id}: {html}");
            offered += u32::from(what.is_some());
        }
        assert!(offered > 0);
    }

    /// Every press leads to a run that works, and one that would not fit says so: a dense model has no top-k of
    /// experts.
    #[test]
    fn no_step_leads_to_settings_that_the_run_cannot_take() {
        let run = Run::default();
        let mut refused = 0;
        for id in StepId::all() {
            let (gauge, settings) = id.step().on_run;
            let pairs: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            let (changed, issues) = run.with_differences(&pairs);
            let html = on_run((gauge, settings), &run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html();
            let works = issues.is_empty() && evaluate(&changed).is_ok();
            assert_eq!(html.contains("See it on your run"), works, "{id}: {html}");
            refused += u32::from(!works);
        }
        assert!(refused > 0);
        let html = shown("experts.overlap");
        assert!(html.contains("Mixtral 8x7B on 64 GPUs") && !html.contains("Out of memory"), "{html}");
        // An offered run of 8 B parameters with ZeRO-0 holds 18 bytes for each of a quarter of them, and micro-batches
        // of 16,384 tokens without recomputation: it does not fit, and says so.
        let offered = |id: StepId| {
            let (gauge, settings) = id.step().on_run;
            elsewhere(gauge, settings, &run, MemoryUnit::Gib).to_html()
        };
        assert!(StepId::all().any(|id| offered(id).contains("Out of memory: it would need")));
    }

    fn shown(step: &str) -> String {
        let (run, step) = (Run::default(), StepId::named(step).unwrap().step());
        on_run(step.on_run, &run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html()
    }

    /// Pipeline ranks hold unequal memory: what a step says of one names it, the fullest after the change is that of
    /// Memory and Compare, and a change that the fullest rank does not have is shown on the rank that has it: the head
    /// and its logits are on the last.
    #[test]
    fn memory_of_one_rank_says_which() {
        let own = evaluate(&Run::default()).unwrap();
        let full = evaluate(&Run::default().with_texts(&[("recompute", "full".to_owned())]).unwrap()).unwrap();
        let [before, after] = [&own, &full].map(|one| &one.report.memory);
        let html = shown("memory.recomputation");
        let rank = before.peak_stage;
        assert!(html.contains(&format!("On rank {rank}, the fullest of your run")), "{html}");
        let held = MemoryUnit::Gib.show(after.fullest().unwrap().activations);
        let then = format!("Then rank {} is the fullest, with {held} of ", after.peak_stage);
        assert!(after.peak_stage != rank && html.contains(&then), "{then}: {html}");
        // Another run is offered only where no rank of this one shows a change.
        let buffers = |run: &Run| -> Vec<String> {
            let memory = evaluate(run).unwrap().report.memory;
            memory.per_stage.iter().map(|rank| MemoryUnit::Gib.show(rank.buffers)).collect()
        };
        for kernel in ["megatron", "megatron-fused", "te-fused"] {
            let run = Run::default().with_texts(&[("cross_entropy", kernel.to_owned())]).unwrap();
            let step = StepId::named("memory.logits").unwrap().step();
            let html = on_run(step.on_run, &run, MemoryUnit::Gib, |run| evaluate(run).ok()).to_html();
            let changed = run.with_texts(&[("cross_entropy", "megatron".to_owned())]).unwrap();
            let changes = buffers(&run) != buffers(&changed);
            assert_eq!(!changes, html.contains("Take that run"), "{kernel}: {html}");
        }
    }

    /// ZeRO, section 7: of one micro-batch stage one sends 6 bytes a parameter, stage three 8: what the step on traffic
    /// says of a run without a pipeline is both together, at first too.
    #[test]
    fn gathered_weights_of_stage_one_are_not_nothing() {
        let set = [("pp", "1"), ("tp", "1"), ("gpus", "8"), ("global_batch", "8"), ("zero", "1")];
        let run = Run::default().with_texts(&set.map(|(key, value)| (key, value.to_owned()))).unwrap();
        let evaluation = evaluate(&run).unwrap();
        let value =
            |evaluation: &Evaluation| Gauge::Sent(Traffic::Zero3).value(evaluation, MemoryUnit::Gib).to_string();
        let p = evaluation.report.parameters.total as f64;
        assert_eq!(value(&evaluation), show_bytes(Bytes(6.0 * p * 7.0 / 8.0)));
        let third = evaluate(&run.with_texts(&[("zero", "3".to_owned())]).unwrap()).unwrap();
        assert_eq!(value(&third), show_bytes(Bytes(8.0 * p * 7.0 / 8.0)));
    }

    /// Samples that are shorter than their sequence make a step shorter because it holds fewer tokens: the step on
    /// lengths compares tokens, of which fewer a second are trained on.
    #[test]
    fn unequal_samples_are_not_shown_as_a_faster_run() {
        let (gauge, settings) = StepId::named("sequence.lengths").unwrap().step().on_run;
        let run = Run { pp: 1, global_batch: 256, ..Run::default() };
        let set: Vec<(&str, String)> = settings.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        let [before, after] = [run.clone(), run.with_texts(&set).unwrap()].map(|run| evaluate(&run).unwrap());
        assert!(matches!(gauge, Gauge::Rate));
        let rate = |evaluation: &Evaluation| evaluation.report.step.tokens_per_s_per_gpu;
        assert!(rate(&after) < rate(&before) && after.report.step.time_s < before.report.step.time_s);
    }

    /// Two steps that show one figure after two changes say which change each is.
    #[test]
    fn what_differs_is_named_with_the_settings_that_no_layout_has() {
        assert!(shown("sequence.ulysses").contains("Ulysses"));
        assert!(shown("overlap.ring").contains(": 0"));
        // The time of gradients is not called that of gathered weights.
        assert!(shown("overlap.gathers").contains("gradients and gathered weights"));
    }

    /// `ZeRO`, section 5: with more of the states sharded a rank holds less; a pipeline that is taken away first makes
    /// it hold more, so both changes have a figure of their own.
    #[test]
    fn two_changes_of_a_layout_have_a_figure_each() {
        for step in ["zero.shards", "layout.fit"] {
            let html = shown(step);
            let figures: Vec<f64> =
                html.split("<b>").skip(1).filter_map(|rest| rest.split_once(" GiB")?.0.parse().ok()).collect();
            assert!(figures.len() == 3 && figures[1] > figures[0] && figures[2] < figures[1], "{html}");
        }
    }
}
