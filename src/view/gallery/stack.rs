//! Whole timelines one below the other: the title of each, the axis below all, and how two of them compare.

use super::GalleryAction;
use super::card::letter;
use crate::charts::prepared::Prepared;
use crate::charts::ticks::tick_times;
use crate::charts::viewport::Viewport;
use crate::node::figure::Scope;
use crate::panels::pipeline::ranks;
use crate::panels::schedules::{ComparedSchedule, TELLING, UNTOLD, against};
use crate::panels::waterfall::part_words;
use crate::prelude::*;
use crate::words::{is_told, unnamed, verdict_under};
use shardscope_core::advice::ScheduleFigures;
use shardscope_core::report::{ScheduleVariant, by_rank};
use shardscope_core::units::{GIB, seconds_beside};

/// Memory at `time` on a curve of MiB over time.
fn held(curve: &[(f64, u32)], time: f64) -> Bytes {
    let before = curve.partition_point(|(at, _)| *at <= time);
    let mib = before.checked_sub(1).map_or(0, |at| curve[at].1);
    Bytes(f64::from(mib) / 1024.0 * GIB)
}

/// The title of a timeline: its letter and name, a button that takes it away, and one that makes its schedule the
/// Run's.
pub fn title(run: &Run, at: usize, variant: ScheduleVariant, set: Vec<(&'static str, String)>) -> Node {
    let name = t!("{letter}  {name}", letter = verbatim(letter(at).to_string()), name = variant.name());
    let away = el("button", &[("class", "quiet")], &[text("×")])
        .label(t!("Take {name} away", name = variant.name()))
        .on(Action::Gallery(GalleryAction::Tick(variant)));
    let choose = match unnamed(run, &set) {
        _ if set.is_empty() => leaf("small", "muted", "your run"),
        Some(words) => leaf("small", "muted", words),
        None => link_button("Use it").on(Action::Apply(set)),
    };
    let parts = [heading(name), choose, away];
    el("div", &[("class", "lane-title")], &parts)
}

/// The schedules that are ticked, each with what takes it away.
pub fn chips(ticked: &[ScheduleVariant]) -> Node {
    let chip = |variant: &ScheduleVariant| {
        let name = variant.name();
        el("button", &[], &[text(name.clone()), text(verbatim(" ×"))])
            .label(t!("Take {name} away", name))
            .on(Action::Gallery(GalleryAction::Tick(*variant)))
    };
    ticked.iter().map(chip).collect()
}

/// Step and bubble of a timeline, and the memory of the chosen rank: at `cursor`, and at most.
pub fn beside(prepared: &Prepared, curve: &[(f64, u32)], cursor: Option<f64>, unit: MemoryUnit) -> Node {
    let figures = ScheduleFigures::of(&prepared.evaluation);
    let peak = curve.iter().map(|(_, held)| *held).max().unwrap_or(0);
    let peak = Bytes(f64::from(peak) / 1024.0 * GIB);
    let now = cursor.map_or(Message::default(), |time| verbatim(unit.show(held(curve, time))));
    let run = &prepared.evaluation.scenario.run;
    let (class, sign, verdict) = verdict_under(run, &[], &figures);
    let scope = Scope::of(run, None);
    Node::from_iter([
        strong(verbatim(show_seconds(figures.step_s))).reports("step.time_s", &scope),
        aside(t!(
            "bubble {share}",
            share = scope.says("pipeline.bubble_fraction", show_percent(figures.bubble_fraction))
        )),
        leaf("b", "now", now),
        aside(t!("peak {peak}", peak = scope.says("activations of the pictured rank", unit.show(peak)))),
        leaf("b", class, t!("{sign}{verdict}", sign, verdict)),
    ])
}

/// Parts of a step, mean over the ranks, that are told apart where two schedules are compared: what its ranks idle and
/// for what, and all that is not idle. They sum to the step. None for a schedule that never drains.
fn step_parts(evaluation: &Evaluation) -> Option<[(&'static str, Seconds); 5]> {
    let (step, idle) = (&evaluation.report.step, by_rank(evaluation)?.bubble);
    let sum = idle.fill_drain_s + idle.unequal_stages_s + idle.unequal_microbatches_s + idle.messages_s;
    Some([
        ("fill and drain", idle.fill_drain_s),
        ("waiting for the longest stage", idle.unequal_stages_s),
        ("waiting for the longest micro-batch", idle.unequal_microbatches_s),
        ("waiting for messages between stages", idle.messages_s),
        ("work of a rank", step.time_s - sum),
    ])
}

/// Parts of the step with what each takes less in `best` than in `other`: those of [`step_parts`]; where one of the two
/// never drains, what its ranks wait for is not known, and the parts of the step are told apart alone.
fn parts_less(best: &Evaluation, other: &Evaluation) -> Vec<(&'static str, Seconds)> {
    if let (Some(here), Some(there)) = (step_parts(best), step_parts(other)) {
        return here.into_iter().zip(there).map(|((name, a), (_, b))| (name, b - a)).collect();
    }
    let (here, there) = (&best.report.step.parts, &other.report.step.parts);
    let seconds = |kind| there.iter().filter(|part| part.kind == kind).map(|part| part.seconds).sum::<Seconds>();
    here.iter().map(|part| (part_words(part.kind), seconds(part.kind) - part.seconds)).collect()
}

/// What makes the step of `best` shorter than that of `other`: the parts of it that differ by a fifth of the difference
/// or more, those that are shorter first, and what remains. Each with what it takes less; they sum to the difference.
fn reasons(best: &Evaluation, other: &Evaluation) -> Vec<(&'static str, Seconds)> {
    let gain = other.report.step.time_s - best.report.step.time_s;
    let mut parts = parts_less(best, other);
    parts.retain(|(_, less)| less.0.abs() >= TELLING * gain.0);
    parts.sort_by(|one, next| next.1.0.total_cmp(&one.1.0));
    let rest = gain - parts.iter().map(|(_, less)| *less).sum::<Seconds>();
    if rest.0.abs() > UNTOLD * gain.0 {
        parts.push(("the rest", rest));
    }
    parts
}

/// A timeline with its schedule.
type Lane<'a> = (ScheduleVariant, &'a Prepared);

fn step_of(lane: &Lane) -> Seconds {
    lane.1.evaluation.report.step.time_s
}

/// The shortest step of `lanes`.
fn shortest<'a, 'b>(lanes: impl Iterator<Item = &'b Lane<'a>>) -> Option<&'b Lane<'a>>
where
    'a: 'b,
{
    lanes.min_by(|a, b| step_of(a).0.total_cmp(&step_of(b).0))
}

/// Why the Run cannot train under the schedule of `lane`: its software has it not, or no GPU the memory.
fn hindrance(lane: &Lane) -> Option<Message> {
    let evaluation = &lane.1.evaluation;
    let is_out = evaluation.report.memory.overall() == Verdict::Oom;
    let memory = is_out.then(|| t!("out of memory"));
    unnamed(&evaluation.scenario.run, &[]).or(memory)
}

/// What the fastest, `best`, is compared with: the first of `lanes`, or the next in speed where it is the first.
fn beside_it<'a>(best: &Lane, lanes: &[&Lane<'a>]) -> Option<Lane<'a>> {
    let first = lanes.first().filter(|first| first.0 != best.0);
    let next = || shortest(lanes.iter().copied().filter(|one| one.0 != best.0));
    first.copied().or_else(next).copied()
}

/// The fastest of the timelines in a sentence: against the first, or the next where it is the first, and why. Where the
/// Run cannot train under it, the fastest under which it can in another, and why.
pub fn winner(lanes: &[Lane]) -> Option<Message> {
    fastest(lanes, true)
}

/// The same with what saves most of the difference alone: all that makes it stands below the timelines.
pub fn winner_in_brief(lanes: &[Lane]) -> Option<Message> {
    fastest(lanes, false)
}

/// True if the step of `best` is known to be shorter than that of `other`.
fn is_told_of(best: &Lane, other: &Lane) -> bool {
    is_told(&best.1.evaluation.scenario.run, step_of(other) / step_of(best))
}

fn fastest(lanes: &[Lane], all_parts: bool) -> Option<Message> {
    let best = shortest(lanes.iter())?;
    let named = |lane: &Lane| match hindrance(lane) {
        Some(missing) => t!("{name} ({missing})", name = lane.0.name(), missing),
        None => lane.0.name(),
    };
    let all: Vec<&Lane> = lanes.iter().collect();
    let beside = beside_it(best, &all)?;
    let is_told = is_told_of(best, &beside);
    let said = fastest_of(named(best), [best, &beside], all_parts, |name, step, time, share, other| {
        if is_told {
            t!("Fastest: {name}, {step}, {time} ({share}) less than {other}.", name, step, time, share, other)
        } else {
            t!(
                "Shortest as computed: {name}, {step}, {time} ({share}) less than {other}, which may be as fast.",
                name,
                step,
                time,
                share,
                other
            )
        }
    });
    if hindrance(best).is_none() {
        return Some(said);
    }
    let software = verbatim(best.1.evaluation.scenario.run.stack.preset_row().choice.label);
    let able: Vec<&Lane> = lanes.iter().filter(|lane| hindrance(lane).is_none()).collect();
    let Some(own) = shortest(able.iter().copied()) else {
        return Some(Message::joined(" ", [said, t!("{software} runs none of them here.", software)]));
    };
    let Some(other) = beside_it(own, &able) else {
        let step = Scope::of(&own.1.evaluation.scenario.run, None).says("step.time_s", show_seconds(step_of(own)));
        let alone = t!("The only one that {software} runs here: {name}, {step}.", software, name = own.0.name(), step);
        return Some(Message::joined(" ", [said, alone]));
    };
    let is_told = is_told_of(own, &other);
    let own_words = fastest_of(own.0.name(), [own, &other], all_parts, |name, step, time, share, other| {
        let software = software.clone();
        if is_told {
            t!(
                "The fastest that {software} runs here: {name}, {step}, {time} ({share}) less than {other}.",
                software,
                name,
                step,
                time,
                share,
                other
            )
        } else {
            t!(
                "Of those that {software} runs here the shortest as computed: {name}, {step}, {time} ({share}) less \
                    than {other}, which may be as fast.",
                software,
                name,
                step,
                time,
                share,
                other
            )
        }
    });
    Some(Message::joined(" ", [said, own_words]))
}

/// The sentence that `head` makes of the name of `best`, its step, the time and the share that it takes less than
/// `other`, and the other's name; then the parts that make the difference, `all` of them or the first.
fn fastest_of(
    name: Message,
    [best, other]: [&Lane; 2],
    all: bool,
    head: impl Fn(Message, Message, Message, Message, Message) -> Message,
) -> Message {
    let (here, there) = (&best.1.evaluation, &other.1.evaluation);
    let step = here.report.step.time_s;
    let gain = there.report.step.time_s - step;
    let scope = Scope::of(&here.scenario.run, None);
    let beside = scope.part(other.0);
    let said = head(
        name,
        scope.says("step.time_s", show_seconds(step)),
        beside.says("step less than another's", show_seconds(gain)),
        beside.says("step less than another's, share", show_percent(1.0 - step / there.report.step.time_s)),
        other.0.name(),
    );
    let why =
        if show_seconds(step) == show_seconds(there.report.step.time_s) { Vec::new() } else { reasons(here, there) };
    let part = |(name, less): (&'static str, Seconds)| {
        let time = seconds_beside(Seconds(less.0.abs()), gain, 3);
        let (time, part) = (beside.says(format!("step less than another's: {name}"), time), Message::plain(name));
        if less.0 < 0.0 { t!("{part} {time} more", part, time) } else { t!("{part} {time} less", part, time) }
    };
    let mut why = why.into_iter().map(part);
    if all {
        let why = Message::joined(", ", why);
        return if why.is_empty() { said } else { t!("{said} Of that, mean of the ranks: {why}.", said, why) };
    }
    match why.next() {
        Some(most) => t!("{said} What saves most: {most}.", said, most),
        None => said,
    }
}

/// The time axis below all timelines, and the cursor's time.
pub fn axis(view: Viewport, cursor: Option<f64>) -> Node {
    let place = |time: f64| percent("left", view.x(time, 1.0));
    let marks = tick_times(view.start, view.end, 6)
        .into_iter()
        .map(|(tick, label)| inline(verbatim(label)).say("style", verbatim(place(tick))));
    let now = cursor.map_or_else(Node::none, |time| {
        let label = verbatim(show_seconds(Seconds(time)));
        strong(label).say("style", verbatim(place(time)))
    });
    marks.chain([now]).collect()
}

/// The fastest of the timelines and why, each against the first, and each as a table.
pub fn below(lanes: &[(ScheduleVariant, &Prepared)], unit: MemoryUnit) -> Node {
    let compared = |(variant, prepared): &(ScheduleVariant, &Prepared)| {
        ComparedSchedule::new(variant.name(), &prepared.evaluation)
    };
    let others = lanes.first().into_iter().flat_map(|first| {
        lanes.iter().skip(1).map(move |other| {
            let run = &first.1.evaluation.scenario.run;
            let sentence = against(run, &compared(first), &compared(other), unit);
            paragraph(sentence)
        })
    });
    let versions = lanes.iter().filter_map(|(_, prepared)| {
        let note = match prepared.version(0, 0)? {
            ..0 => {
                "5·v−1: micro-batch 5 with the weights of one update before this step, as all of a PipeDream-2BW \
                step; a rank keeps two versions, these and the next."
            }
            _ => {
                "5·v2: micro-batch 5 with the weights after 2 updates since the step began; its backward takes the \
                    same version from the stash. Neighbouring versions differ in shade."
            }
        };
        Some(muted(note))
    });
    let tables = lanes.iter().map(|lane| {
        let summary = t!("{name} as a table", name = lane.0.name());
        let table = ranks(&lane.1.evaluation, lane.0.name());
        fold(summary, table)
    });
    let fastest = winner(lanes).map(paragraph);
    fastest.into_iter().chain(others).chain(versions).chain(tables).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::memory_limit;
    use std::sync::Arc;

    fn prepared(schedule: Schedule) -> Prepared {
        let run = Run { schedule, ..Run::default() };
        Prepared::of(Arc::new(evaluate(&run).unwrap()))
    }

    /// The longest stage of the default run is the last, which has the head. A rank of DualPipe has the first stage of
    /// one direction and the last of the other, so it waits less for the longest stage (DeepSeek-V3, section 3.2.1:
    /// each rank holds both ends).
    #[test]
    fn the_fastest_says_which_part_of_the_step_is_shorter() {
        let runs = [Schedule::OneFOneB, Schedule::DualPipe].map(prepared);
        let lanes: Vec<(ScheduleVariant, &Prepared)> =
            runs.iter().map(|one| (ScheduleVariant::of(&one.evaluation.scenario.run), one)).collect();
        let words = winner(&lanes).unwrap().to_string();
        assert!(words.starts_with("Fastest: DualPipe (") && words.contains("waiting for the longest stage"), "{words}");
        // The bar names one part, the largest that is less; below, the parts sum to the difference of the two steps.
        let brief = winner_in_brief(&lanes).unwrap().to_string();
        let (said, most) = brief.split_once(" What saves most: ").unwrap();
        let (most, _) = most.split_once(" less").unwrap();
        assert!(words.starts_with(said) && words.contains(&format!("ranks: {most} less")), "{words} / {brief}");
        assert!(below(&lanes, MemoryUnit::Gib).to_html().contains("Of that, mean of the ranks: "));
        let [best, other] = [&runs[1], &runs[0]].map(|run| &run.evaluation);
        let parts = reasons(best, other);
        let sum: f64 = parts.iter().map(|part| part.1.0).sum();
        let gain = other.report.step.time_s.0 - best.report.step.time_s.0;
        assert!((sum / gain - 1.0).abs() <= UNTOLD, "{sum} {gain}");
        assert!(
            parts[0].0 == "the rest"
                || parts.iter().filter(|part| part.0 != "the rest").all(|part| part.1 <= parts[0].1)
        );
        let [one, both] = [&runs[0], &runs[1]].map(|run| by_rank(&run.evaluation).unwrap().bubble.unequal_stages_s.0);
        assert!(both < one, "{both} {one}");
    }

    /// Megatron-LM has no ZB-V in its main branch (NVIDIA/Megatron-LM, `schedules.py`), and has interleaved 1F1B: where
    /// ZB-V is the fastest, the fastest that it runs has its own sentence, whose parts sum to the gain; where it runs
    /// one alone, that one is named, and where it runs none, that.
    #[test]
    fn the_fastest_that_the_software_runs_has_its_own_reasons() {
        let names = ["zb-v", "1f1b", "interleaved-1f1b.2", "dualpipe"];
        let run = Run::default();
        let runs = names.map(|id| {
            let variant = ScheduleVariant::named(id).unwrap();
            let set = variant.set(&run, memory_limit(&run));
            Prepared::of(Arc::new(evaluate(&run.with_texts(&set).unwrap()).unwrap()))
        });
        let lanes: Vec<Lane> =
            runs.iter().map(|one| (ScheduleVariant::of(&one.evaluation.scenario.run), one)).collect();
        let able: Vec<&Lane> = lanes.iter().filter(|lane| hindrance(lane).is_none()).collect();
        assert!(hindrance(&lanes[0]).is_some() && hindrance(&lanes[1]).is_none());
        assert!(hindrance(shortest(lanes.iter()).unwrap()).is_some() && able.len() == 2);
        let own = shortest(able.iter().copied()).unwrap();
        let said = winner(&lanes).unwrap().to_string();
        assert_eq!(said.matches("Of that, mean of the ranks").count(), 2, "{said}");
        assert!(said.contains(&format!(": {}, {}", own.0.name(), show_seconds(step_of(own)))), "{said}");
        // Of the two that it runs none is called the fastest where their steps cannot be told apart.
        let is_told = is_told_of(own, &lanes[1]);
        assert_eq!(said.contains("The fastest that Megatron-LM"), is_told, "{said}");
        assert_eq!(said.contains("which may be as fast"), !is_told, "{said}");
        let gain: f64 = reasons(&lanes[2].1.evaluation, &lanes[1].1.evaluation).iter().map(|part| part.1.0).sum();
        assert!((gain - (step_of(&lanes[1]).0 - step_of(&lanes[2]).0)).abs() < 1e-3 * gain.abs());
        let one = winner(&lanes[..2]).unwrap().to_string();
        assert!(one.contains(" runs here: 1F1B, ") && one.contains("The only one that Megatron-LM"), "{one}");
        let none = winner(&[lanes[0], lanes[3]]).unwrap().to_string();
        assert!(none.ends_with(" runs none of them here."), "{none}");
        assert!(!winner(&lanes[1..3]).unwrap().to_string().contains("runs here"));
    }

    #[test]
    fn the_memory_beside_a_timeline_is_that_of_the_cursor_and_its_peak_the_reports() {
        let one = prepared(Schedule::OneFOneB);
        let memory = &one.evaluation.report.memory;
        let curve = one.curve(memory.peak_stage);
        let unit = MemoryUnit::Gib;
        let html = beside(&one, &curve, None, unit).to_html();
        assert!(html.contains(&unit.show(memory.peak_bytes)), "{html}");
        let start = beside(&one, &curve, Some(0.0), unit).to_html();
        let now = unit.show(held(&curve, 0.0));
        assert!(start.contains(&now) && now != unit.show(memory.peak_bytes));
    }

    /// Every timeline against the first, each with its table; weight versions only of `PipeDream`.
    #[test]
    fn every_timeline_has_its_table() {
        let runs = [Schedule::OneFOneB, Schedule::Gpipe, Schedule::Pipedream, Schedule::Pipedream2bw].map(prepared);
        let lanes: Vec<(ScheduleVariant, &Prepared)> =
            runs.iter().map(|one| (ScheduleVariant::of(&one.evaluation.scenario.run), one)).collect();
        let html = below(&lanes, MemoryUnit::Gib).to_html();
        assert_eq!(html.matches("<table").count(), 4);
        assert!(html.contains("GPipe takes") && html.contains("PipeDream takes"));
        // The fastest is named with its step, and never against itself.
        let steps: Vec<f64> = runs.iter().map(|one| one.evaluation.report.step.time_s.0).collect();
        let least = steps.iter().copied().fold(f64::INFINITY, f64::min);
        let at = steps.iter().position(|step| *step <= least).unwrap();
        let words = winner(&lanes).unwrap().to_string();
        let name = lanes[at].0.name();
        // 349 ms of 4.90 s is less than estimates tell apart.
        assert!(words.starts_with(&format!("Shortest as computed: {name}")), "{words}");
        assert!(words.contains(&format!(", {}, ", show_seconds(Seconds(least)))), "{words}");
        assert!(!words.contains(&format!("less than {name};")), "{words}");
        assert!(winner(&lanes[..1]).is_none());
        // What tells them apart is on the page's own words: parts of a step that sum to it.
        for one in &runs {
            let Some(parts) = step_parts(&one.evaluation) else {
                assert!(one.evaluation.scenario.run.schedule.row().endless);
                continue;
            };
            let sum: f64 = parts.iter().map(|part| part.1.0).sum();
            assert!((sum - one.evaluation.report.step.time_s.0).abs() < 1e-9);
        }
        assert!(html.contains("after 2 updates since") && html.contains("one update before"));
        assert!(!below(&lanes[..2], MemoryUnit::Gib).to_html().contains("updates"));
        assert_eq!(runs[2].version(0, 4), Some(1));
        assert_eq!(runs[0].version(0, 4), None);
        // W(t + 1) = W(t) - ν ∇f(W(t - 1)): the weights that a step starts from are those of one update before.
        assert_eq!([0, 31].map(|k| runs[3].version(2, k)), [Some(-1); 2]);
    }

    #[test]
    fn the_axis_marks_the_cursor_where_it_is() {
        let view = Viewport::all(4.0).zoomed(2.0, 2.0);
        let html = axis(view, Some(2.0)).to_html();
        assert!(html.contains("<b style=\"left:50.000%\">2.00 s</b>"), "{html}");
    }
}
