//! Limits of any order: the best known pipeline against memory, what is proven of it, and the joint search.

use super::card::Gallery;
use super::certificate::{covered, words as proven};
use crate::charts::drawing::Form;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::words;
use shardscope_core::advice::certify::{BestSplit, SplitOrder};
use shardscope_core::advice::{ScheduleFigures, ScheduleRow};
use shardscope_core::report::ScheduleVariant;
use shardscope_core::run::presets::{STACKS, Stack};
use shardscope_core::search::{can_run, least_told, serves_at};
use shardscope_core::sort::sort_by;
use shardscope_core::units::GIB;

/// Pipelines that take longer than the shortest by this factor are not drawn.
const SLOWEST: f64 = 1.6;

/// Schedules of ops that a certificate can speak of, with their figures: none that never drains or exchanges ops
/// between ranks.
fn known<'a>(gallery: &'a Gallery) -> Vec<(&'a ScheduleRow, &'a ScheduleFigures)> {
    let drain = gallery.rows.iter().filter(|row| !row.variant.schedule.row().endless);
    let certified = drain.filter(|row| !matches!((gallery.certificate)(row.variant), Some(None)));
    let rows: Vec<_> = certified.filter_map(|row| Some((row, row.figures.as_ref().ok()?))).collect();
    let shortest = rows.iter().map(|(_, figures)| figures.makespan_s.0).fold(f64::INFINITY, f64::min);
    rows.into_iter().filter(|(_, figures)| figures.makespan_s.0 < SLOWEST * shortest).collect()
}

/// The best known pipeline against memory as a staircase, and what is proven of the best that fits.
pub fn best_known(gallery: &Gallery) -> Node {
    let mut rows = known(gallery);
    if rows.len() < 2 || gallery.own.order.ranks.len() < 2 {
        return Node::none();
    }
    sort_by(&mut rows, |(_, a), (_, b)| {
        a.peak_bytes.0.total_cmp(&b.peak_bytes.0).then(a.makespan_s.0.total_cmp(&b.makespan_s.0))
    });
    // The least bound of all: known once the last certificate is there.
    let bounds: Option<Vec<f64>> =
        rows.iter().map(|(row, _)| Some((gallery.certificate)(row.variant)?.as_ref()?.unlimited_s)).collect();
    let floor = bounds.and_then(|bounds| bounds.into_iter().reduce(f64::min));
    // Whether a schedule is covered by a bound is known with its certificate: before, none is called the shortest.
    let waits = rows.iter().any(|(row, _)| (gallery.certificate)(row.variant).is_none());
    let picture = staircase(gallery, &rows, floor, waits);
    let answer = answer(gallery);
    let heads = [
        title("How good can any order be?"),
        leaf("small", "", "the pipeline's time, without what follows its last pass, against the fullest GPU's memory"),
    ];
    Node::from_iter([
        el("div", &[("class", "panel-head")], &heads),
        el("div", &[("class", "halves")], &[picture, el("div", &[], &[answer])]),
    ])
}

fn staircase(gallery: &Gallery, rows: &[(&ScheduleRow, &ScheduleFigures)], floor: Option<f64>, waits: bool) -> Node {
    let capacity = gallery.own.report.memory.capacity_bytes.0;
    let point = |figures: &ScheduleFigures| (figures.peak_bytes.0, figures.makespan_s.0);
    // Beyond twice the memory of a GPU nothing is shown.
    let seen: Vec<_> = rows.iter().filter(|(_, figures)| figures.peak_bytes.0 < 2.0 * capacity).collect();
    if seen.is_empty() {
        return muted("No picture: every schedule takes more than twice the memory of a GPU.");
    }
    let mut steps: Vec<&&(&ScheduleRow, &ScheduleFigures)> = Vec::new();
    for row in &seen {
        if !waits && steps.last().is_none_or(|last| row.1.makespan_s.0 < last.1.makespan_s.0 * (1.0 - 1e-6)) {
            steps.push(row);
        }
    }
    let across = PlotScale::around(seen.iter().map(|(_, figures)| figures.peak_bytes.0).chain([capacity]));
    let up = PlotScale::around(seen.iter().map(|(_, figures)| figures.makespan_s.0).chain(floor));
    let corner = |pair: &[&&(&ScheduleRow, &ScheduleFigures)]| {
        let ((left, high), (right, _)) = (point(pair[0].1), point(pair[1].1));
        [(left, high), (right, high)]
    };
    let end = steps.last().map(|last| point(last.1));
    let right = seen.last().map_or(capacity, |(_, figures)| figures.peak_bytes.0.max(capacity));
    let line = steps.windows(2).flat_map(corner).chain(end).chain(end.map(|(_, low)| (right, low)));
    let line: Vec<_> = line.collect();
    let mut marks = vec![PlotMark::Rule(capacity, t!("usable memory"))];
    if !line.is_empty() {
        marks.push(PlotMark::Line(line, Ink::Accent));
    }
    // Names on the line come first.
    let is_step = |row: &ScheduleRow| steps.iter().any(|step| step.0.variant == row.variant);
    let (on_line, beside): (Vec<_>, Vec<_>) = seen.iter().copied().partition(|(row, _)| is_step(row));
    let mut names = Vec::new();
    for (row, figures) in on_line.iter().chain(&beside) {
        let name = row.variant.name();
        let bound = (gallery.certificate)(row.variant).and_then(Option::as_ref).map(proven);
        let figure =
            verbatim(format!("{} · {}", show_seconds(figures.makespan_s), gallery.unit.show(figures.peak_bytes)));
        let title = Message::joined(", ", [name, figure].into_iter().chain(bound));
        let (form, ink, text) =
            if is_step(row) { (Form::Large, Ink::Accent, Ink::Text) } else { (Form::Hollow, Ink::Muted, Ink::Muted) };
        names.push((point(figures), text, row.variant.name()));
        marks.push(PlotMark::Dot(point(figures), form, ink, title));
    }
    marks.push(PlotMark::Names(names));
    marks.extend(floor.map(|floor| PlotMark::Level(floor, t!("bound {floor}", floor = show_seconds(Seconds(floor))))));
    let ticks = across.per(GIB).round().into_iter().map(|gib| gib * GIB).collect();
    let across = PlotAxis::new(across, ticks, |bytes| verbatim(gallery.unit.show(Bytes(bytes))));
    let up =
        PlotAxis::new(up, up.round(), |time| verbatim(show_seconds(Seconds(time)))).named(t!("step of the pipeline"));
    let others = unbounded(gallery);
    let rings = if waits {
        t!("Rings: schedules. Which are the shortest known is drawn when their bounds are computed.")
    } else {
        // A narrow picture has no names beside its points.
        let names = Message::joined(", ", steps.iter().map(|step| step.0.variant.name()));
        t!(
            "Filled, from the left: the shortest known pipeline with so much memory, {names}. Rings: other schedules.",
            names
        )
    };
    let left = (!others.is_empty()).then(|| {
        t!(
            "Left out, for no bound here covers them and they may be shorter: {others}.",
            others = Message::joined(", ", others)
        )
    });
    let bound = floor.map(|floor| {
        t!(
            "The bound: with one copy of the weights no order of these stages is below {floor}, whatever its memory.",
            floor = show_seconds(Seconds(floor))
        )
    });
    // A low frame has room for the key alone.
    let proof = Message::joined(" ", bound.into_iter().chain(left));
    let words = Message::joined(" ", [rings.clone(), proof.clone()].into_iter().filter(|part| !part.is_empty()));
    let picture = draw(&across, 220.0, &[Plot { up, marks }]).inline(words);
    let proof = if proof.is_empty() { Node::none() } else { leaf("p", "muted", proof) };
    el("figure", &[("class", "chart")], &[picture, caption(rings), proof])
}

/// Names of the schedules with figures that no certificate covers.
fn unbounded(gallery: &Gallery) -> Vec<Message> {
    let without = |row: &&ScheduleRow| {
        row.figures.is_ok()
            && (row.variant.schedule.row().endless || matches!((gallery.certificate)(row.variant), Some(None)))
    };
    gallery.rows.iter().filter(without).map(|row| row.variant.name()).collect()
}

/// What a memory cap of `limit` of `most` micro-batches is under automatic zero bubble: activations of the rank that
/// holds most of them and, where that is more, of one with the logits that stay as long. No bytes before it is
/// simulated.
pub fn cap(rows: &[ScheduleRow], limit: u64, most: u64, unit: MemoryUnit) -> Message {
    let row = rows.iter().find(|row| row.variant.schedule == Schedule::ZbAuto);
    let figures = row.and_then(|row| row.figures.as_ref().ok()).filter(|figures| figures.in_flight > 0.0);
    let Some(figures) = figures else {
        return t!("{limit} of {most} micro-batches", limit, most);
    };
    let [bytes, with_head] = figures.each_bytes.map(|each| unit.show(Bytes(each.0 * limit as f64)));
    if bytes == with_head {
        return t!("{limit} of {most} micro-batches, {bytes} of activations", limit, most, bytes);
    }
    t!(
        "{limit} of {most} micro-batches: {bytes} of activations, on the last rank {with_head} with logits and inputs \
            of the head",
        limit,
        most,
        bytes,
        with_head
    )
}

/// The button that makes a schedule the Run's.
fn use_it(row: &ScheduleRow, name: Message) -> Node {
    if row.set.is_empty() {
        return Node::none();
    }
    apply("", row.set.clone(), t!("Use {row}", row = name), t!("Use"))
}

/// A schedule that fits, and its figures.
type Candidate<'a> = (&'a ScheduleRow, &'a ScheduleFigures);

/// The schedules that train and fit, fastest first.
fn fitting<'a>(gallery: &'a Gallery) -> Vec<Candidate<'a>> {
    let trains = gallery.rows.iter().filter(|row| !row.variant.schedule.row().endless);
    let known = trains.filter_map(|row| Some((row, row.figures.as_ref().ok()?)));
    let mut fits: Vec<_> = known.filter(|(_, figures)| figures.verdict == Verdict::Fits).collect();
    sort_by(&mut fits, |(_, a), (_, b)| a.step_s.0.total_cmp(&b.step_s.0));
    fits
}

/// True if some known software runs `run` under the schedule of `row`.
fn runs_elsewhere(run: &Run, row: &ScheduleRow) -> bool {
    let runs = |stack: &Stack| {
        let set = [("stack", stack.choice.id.to_owned())];
        run.with_texts(&row.set).and_then(|run| run.with_texts(&set)).is_some_and(|run| can_run(&run))
    };
    STACKS.iter().any(runs)
}

/// The fastest schedule that fits and that the Run's software can run, with its certificate; then a shorter one, if a
/// search found it or other software has it.
fn answer(gallery: &Gallery) -> Node {
    let run = &gallery.own.scenario.run;
    let software = verbatim(run.stack.preset_row().choice.label);
    let fits = fitting(gallery);
    let shortest = |keep: &dyn Fn(&Candidate) -> bool| fits.iter().find(|row| keep(row)).copied();
    let runs = |(row, figures): &Candidate| {
        let other = run.with_texts(&row.set);
        other.is_some_and(|other| serves_at(&other, figures.verdict))
    };
    let is_found = |(row, _): &Candidate| row.variant.schedule == Schedule::Optimal;
    let own = shortest(&|row| !is_found(row) && runs(row));
    let own_s = own.map_or(f64::INFINITY, |(_, figures)| figures.step_s.0);
    let beats = |found: &Candidate| found.1.step_s.0 < own_s * (1.0 - SMALLEST_PRINTED);
    let searched = shortest(&is_found).filter(runs).filter(beats);
    let elsewhere = shortest(&|row| !runs(row) && runs_elsewhere(run, row.0)).filter(beats);
    let step =
        |(row, figures): Candidate| Scope::of_changed(run, &row.set).says("step.time_s", show_seconds(figures.step_s));
    let line = |words: Message, after: Node| el("p", &[], &[text(words), text(" "), after]);
    let beside = |words: Message, figures: &ScheduleFigures| {
        let untold = words::untold(run, figures.step_s.0 / own_s);
        Message::joined(" ", std::iter::once(words).chain(untold))
    };
    let first = match own {
        Some((row, figures)) => {
            let name = row.variant.name();
            let words = t!(
                "{fastest} is {name}: {step} a step.",
                fastest = words::fastest(run),
                name = name.clone(),
                step = step((row, figures))
            );
            let (head, covers) = match (gallery.certificate)(row.variant) {
                Some(Some(found)) => (heading(proven(found)), muted(covered(found))),
                _ => (Node::none(), Node::none()),
            };
            let alike = |other: &&Candidate| {
                other.0.variant != row.variant && !words::is_told(run, other.1.step_s / figures.step_s) && runs(other)
            };
            let alike: Vec<ScheduleVariant> = fits.iter().filter(alike).map(|(other, _)| other.variant).collect();
            let (tie, mine) = (show_gain(least_told(run)), ScheduleVariant::of(run));
            let named = |variant: &ScheduleVariant| {
                let name = variant.name();
                if *variant == mine { t!("{name} (your run)", name) } else { name }
            };
            let names = Message::joined(", ", alike.iter().map(named));
            let others = match alike.len() {
                0 => None,
                1 => Some(t!("{names} may be as fast: gains below {tie} % cannot be told apart.", names, tie)),
                _ => Some(t!("These may be as fast: {names}. Gains below {tie} % cannot be told apart.", names, tie)),
            };
            let words = Message::joined(" ", std::iter::once(words).chain(others));
            // What is not known to be faster than the Run's own is not offered.
            let take = if alike.contains(&mine) { Node::none() } else { use_it(row, name) };
            Node::from_iter([line(words, take), head, covers])
        }
        None => line(t!("No schedule that {software} can run fits here.", software), Node::none()),
    };
    let searched = searched.map(|(row, figures)| {
        let name = row.variant.name();
        let words =
            t!("An order found by search, which it reads from a file: {step} a step.", step = step((row, figures)));
        line(beside(words, figures), use_it(row, name))
    });
    let elsewhere = elsewhere.map(|(row, figures)| {
        let (name, step) = (row.variant.name(), step((row, figures)));
        let words = match own {
            Some(_) => beside(t!("Shorter in other software: {name}, {step} a step.", name, step), figures),
            None => t!("Fits in other software: {name}, {step} a step.", name, step),
        };
        line(words, Node::none())
    });
    std::iter::once(first).chain(searched).chain(elsewhere).collect()
}

/// The search for a split of layers and an order together: its best so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointBest {
    /// The best so far.
    pub best: Option<BestSplit>,
    pub running: bool,
    /// It came to its end.
    pub ended: bool,
}

/// The result of the joint search beside the step of the Run, `own`.
pub fn joint(found: &JointBest, own: &Evaluation) -> Node {
    let status = match (&found.best, found.running, found.ended) {
        (_, true, _) => t!("Searching…"),
        (None, false, true) => t!("Nothing to split: this needs one stage on each of several ranks."),
        (Some(_), false, false) => t!("Stopped: the best so far."),
        _ => Message::default(),
    };
    let status = el("p", &[("class", "muted"), ("role", "status")], &[text(status)]);
    let Some(best) = &found.best else {
        return status;
    };
    let run = &own.scenario.run;
    let gap = best.found.figures.makespan_s.0 / best.lower_bound_s - 1.0;
    let certificate = if best.proven {
        t!("◆ Shortest pipeline of all splits and orders with one stage a rank and as many micro-batches in memory")
    } else {
        t!(
            "◇ Its pipeline is at most {gap} longer than the shortest of all splits and orders with one stage a rank",
            gap = show_at_most(gap)
        )
    };
    let layers = best.stage_layers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let scope = Scope::of_changed(run, &best.found.set(run, &best.stage_layers));
    let words = t!(
        "Stages of {layers} layers in an order found by search: {step}; the pipeline alone {pipeline}.",
        layers,
        step = split_step(best, &best.found, own),
        pipeline = scope.says("pipeline.makespan_s", show_seconds(best.found.figures.makespan_s))
    );
    let mut lines = vec![split_line(words, best, &best.found, own)];
    let software = verbatim(run.stack.preset_row().choice.label);
    match &best.able {
        Some(able) => {
            let words = t!(
                "{software} runs no such order. The fastest that it runs on these stages is {name}: {step}.",
                software,
                name = ScheduleVariant { schedule: able.schedule, chunks: None }.name(),
                step = split_step(best, able, own)
            );
            lines.push(split_line(words, best, able, own));
        }
        None if !best.is_able => {
            let words = t!("{software} runs no such order, and none that fits on these stages.", software);
            lines.push(paragraph(words));
        }
        None => {}
    }
    if run.measured_step_s.is_some() {
        let computed = "The steps are computed: the measured step is of your run alone, and “Use” takes it away.";
        lines.push(muted(computed));
    }
    [status, heading(certificate)].into_iter().chain(lines).collect()
}

/// The step of `order` against the Run's own as it is computed.
fn split_ratio(order: &SplitOrder, own: &Evaluation) -> f64 {
    let step = &own.report.step;
    order.figures.step_s.0 * step.rescaled_by.unwrap_or(1.0) / step.time_s.0
}

/// "3.67 s a step (−10.3 %)".
fn split_step(best: &BestSplit, order: &SplitOrder, own: &Evaluation) -> Message {
    let run = &own.scenario.run;
    let change = split_ratio(order, own) - 1.0;
    let scope = Scope::of_changed(run, &order.set(run, &best.stage_layers));
    t!(
        "{step} a step ({change})",
        step = scope.says("step.time_s", show_seconds(order.figures.step_s)),
        change = format!("{}{}", if change < 0.0 { "−" } else { "+" }, show_percent(change.abs()))
    )
}

/// `words` on `order`, whether it fits and differs, and the button that makes it the Run's where its step is shorter.
fn split_line(words: Message, best: &BestSplit, order: &SplitOrder, own: &Evaluation) -> Node {
    let run = &own.scenario.run;
    let ratio = split_ratio(order, own);
    let set = order.set(run, &best.stage_layers);
    let fits = (order.figures.verdict != Verdict::Fits)
        .then(|| Message::plain(words::verdict_under(run, &set, &order.figures).2));
    let words = Message::joined(" ", std::iter::once(words).chain(words::untold(run, ratio)).chain(fits));
    let is_offered = ratio < 1.0 - SMALLEST_PRINTED && order.figures.verdict != Verdict::Oom;
    let use_it = if is_offered { apply("", set, t!("Use this split and order"), t!("Use")) } else { Node::none() };
    el("p", &[], &[text(words), text(" "), use_it])
}

/// Places of the schedules that get a certificate, those that are compared first.
pub fn wanted(rows: &[ScheduleRow], ticked: &[ScheduleVariant]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].figures.is_ok()).collect();
    let rank = |at: &usize| ticked.iter().position(|one| *one == rows[*at].variant).unwrap_or(usize::MAX);
    sort_by(&mut places, |a, b| rank(a).cmp(&rank(b)).then(a.cmp(b)));
    places
}

#[cfg(test)]
mod tests {
    use super::super::GalleryLook;
    use super::super::certificate::{ScheduleCertificate, line};
    use super::super::sketch::Axis;
    use super::*;
    use crate::node::markup::Action;
    use shardscope_core::advice::certify::{SplitSearch, proof};
    use shardscope_core::advice::run_with;
    use shardscope_core::report::memory_limit;
    use shardscope_core::run::Based;

    /// The panel and the first line of every certificate of `run`.
    fn shown(run: &Run) -> (String, Vec<ScheduleCertificate>) {
        let evaluation = evaluate(run).unwrap();
        let look = GalleryLook::default();
        let limit = memory_limit(run);
        let rows: Vec<ScheduleRow> =
            ScheduleVariant::all(run).iter().map(|variant| ScheduleRow::of(run, *variant, limit, None)).collect();
        let certified: Vec<ScheduleCertificate> = wanted(&rows, &look.ticked(run))
            .into_iter()
            .map(|at| {
                let variant = rows[at].variant;
                let other = evaluate(&run_with(run, variant, limit).unwrap()).unwrap();
                let proof = proof(&other).ok().map(|mut proof| {
                    while !proof.step() {}
                    proof.certificate()
                });
                (variant, proof)
            })
            .collect();
        let certificate = |variant| certified.iter().find(|(of, _)| *of == variant).map(|(_, one)| one);
        let gallery = Gallery {
            own: &evaluation,
            rows: &rows,
            sketch: &|_| None,
            certificate: &certificate,
            axis: Axis::of(&evaluation, false),
            look: &look,
            unit: MemoryUnit::Gib,
        };
        let lines: Node = certified.iter().map(|(_, one)| line(Some(one))).collect();
        (Node::from_iter([best_known(&gallery), lines]).to_html(), certified)
    }

    /// The Run's own schedule is certified first, an endless one has no certificate, and no bound exceeds its pipeline.
    #[test]
    fn every_schedule_that_drains_has_a_certificate_in_words() {
        let run = Run { global_batch: 64, ..Run::default() };
        let (html, certified) = shown(&run);
        assert_eq!(certified.first().map(|(variant, _)| *variant), Some(ScheduleVariant::of(&run)));
        let without = certified.iter().filter(|(_, one)| one.is_none()).map(|(variant, _)| variant.schedule);
        assert!(without.clone().any(|schedule| schedule == Schedule::Pipedream));
        let (mut proven, mut open) = (0, 0);
        for found in certified.iter().filter_map(|(_, one)| one.as_ref()) {
            assert!(found.unlimited_s <= found.lower_bound_s && found.lower_bound_s <= found.best_s * (1.0 + 1e-9));
            if found.proven { proven += 1 } else { open += 1 }
        }
        assert_eq!(html.matches("certificate proven").count(), proven);
        assert!(proven > 0 && open > 0 && html.matches("◇ Within ").count() > open);
        assert!(
            html.contains("with one copy of the weights no order of these stages is below") && !html.contains("NaN")
        );
        let least =
            certified.iter().filter_map(|(_, one)| Some(one.as_ref()?.unlimited_s)).fold(f64::INFINITY, f64::min);
        let best = certified.iter().filter_map(|(_, one)| Some(one.as_ref()?.best_s)).fold(f64::INFINITY, f64::min);
        assert!(least <= best, "{least} {best}");
    }

    /// Before the certificates are there no schedule is called the shortest known: one that no bound covers is left out
    /// of the finished picture, and the first one is no other truth.
    #[test]
    fn nothing_is_called_the_shortest_before_its_bound_is_known() {
        let run = Run { global_batch: 64, ..Run::default() };
        let html = shown_of(&run).to_html();
        assert!(html.contains("when their bounds are computed") && !html.contains("Filled"), "{html}");
        let html = shown(&run).0;
        let (_, names) = html.split_once("with so much memory, ").unwrap();
        assert!(names.split(". Rings").next().unwrap().contains("ZB-"), "{names}");
    }

    /// The gallery of `run`, its certificates not yet known.
    fn shown_of(run: &Run) -> Node {
        let evaluation = evaluate(run).unwrap();
        let rows: Vec<ScheduleRow> = ScheduleVariant::all(run)
            .iter()
            .map(|variant| ScheduleRow::of(run, *variant, memory_limit(run), None))
            .collect();
        best_known(&Gallery {
            own: &evaluation,
            rows: &rows,
            sketch: &|_| None,
            certificate: &|_| None,
            axis: Axis::of(&evaluation, false),
            look: &GalleryLook::default(),
            unit: MemoryUnit::Gib,
        })
    }

    /// A schedule that the software has and whose layout it cannot run is none that it can run: Megatron-LM shards no
    /// gradients under a pipeline.
    #[test]
    fn the_fastest_that_the_software_can_run_it_can_run() {
        let mut named = 0;
        for zero in [1, 2, 3] {
            for stack in ["megatron-2025", "torchtitan", "hf-trainer"] {
                let run = Run { zero, global_batch: 64, stack: Based::preset(stack), ..Run::default() };
                let view = shown_of(&run);
                let html = view.to_html();
                assert_eq!(html.contains("The fastest that fits here and that"), !html.contains("No schedule that"));
                for action in view.actions() {
                    let Action::Apply(set) = action else { continue };
                    let other = run.with_texts(set).unwrap();
                    let peak = shardscope_core::report::report(&other).unwrap().memory.peak();
                    assert!(shardscope_core::search::serves(&other, &peak), "{stack} {zero} {set:?}");
                    named += 1;
                }
                if zero == 2 && stack == "megatron-2025" {
                    assert!(html.contains("No schedule that") && !html.contains("Shorter in other"), "{html}");
                    assert!(html.contains("Fits in other software"), "{html}");
                }
            }
        }
        assert!(named > 0);
    }

    /// DeepSeek-V3 on 128 RTX 4090 with PP 16: every schedule takes more than twice the memory of a GPU. No picture is
    /// drawn of none, and no list of names is empty.
    #[test]
    fn a_picture_of_no_schedule_is_not_drawn() {
        let sets = [
            ("model", "deepseek-v3"),
            ("gpus", "128"),
            ("gpu", "rtx-4090"),
            ("tp", "1"),
            ("pp", "16"),
            ("global_batch", "128"),
        ];
        let run = Run::default().with_texts(&sets.map(|(key, value)| (key, value.to_owned()))).unwrap();
        let html = shown_of(&run).to_html();
        assert!(html.contains("No picture: every schedule takes more than twice"), "{html}");
        assert!(!html.contains("Filled") && !html.contains("Rings") && html.contains("No schedule that"), "{html}");
    }

    /// What the button gives has the step that is printed before it, and the software is said to run no such order
    /// before the press. A split that takes longer than the Run's own is not offered.
    #[test]
    fn a_split_is_offered_where_it_is_shorter_and_gives_what_it_says() {
        let run = Run { global_batch: 64, ..Run::default() };
        let own = evaluate(&run).unwrap();
        let mut search = SplitSearch::new(&own).unwrap();
        while !search.step() {}
        let best = search.best();
        let layers = best.clone().unwrap().stage_layers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let found = JointBest { best, running: false, ended: true };
        let shown = joint(&found, &own);
        let html = shown.to_html();
        let mut pressed = 0;
        for action in shown.actions() {
            let Action::Apply(set) = action else { continue };
            let chosen = evaluate(&run.with_texts(set).unwrap()).unwrap();
            let step = show_seconds(chosen.report.step.time_s);
            assert!(html.contains(&step) && chosen.report.step.time_s < own.report.step.time_s, "{step}: {html}");
            assert!(set.contains(&("stage_layers", layers.clone())), "{set:?}");
            pressed += 1;
        }
        assert_eq!(pressed, 2, "{html}");
        assert!(html.contains("runs no such order. The fastest that it runs on these stages is 1F1B"), "{html}");
        assert!(html.contains("pipeline of all splits") || html.contains("Its pipeline is at most"), "{html}");
        let faster = found.best.clone().unwrap();
        let chosen = run.with_texts(&faster.found.set(&run, &faster.stage_layers)).unwrap();
        assert!(joint(&found, &evaluate(&chosen).unwrap()).actions().is_empty());
    }

    /// Llama 3.1 8B in eight stages without tensor parallelism: the last rank of automatic zero bubble keeps a bf16
    /// logit for each of 4096 tokens and 128,256 words of every micro-batch whose weight gradient is to come, more than
    /// a stage of four layers keeps. What the cap says, with what is there whatever it is, is the peak of its row.
    #[test]
    fn a_cap_says_what_its_row_holds() {
        let run = Run { tp: 1, pp: 8, seq_len: 4096, micro_batch: 1, ..Run::default() };
        let limit = shardscope_core::report::memory_limit(&run);
        let row = ScheduleRow::of(&run, ScheduleVariant::named("zb-auto").unwrap(), limit, None);
        let figures = *row.figures.as_ref().unwrap();
        let said = cap(std::slice::from_ref(&row), limit, 2 * run.pp, MemoryUnit::Gib).to_string();
        let sizes: Vec<f64> = said.split(" GiB").filter_map(|part| part.rsplit(' ').next()?.parse().ok()).collect();
        let [activations, with_head] = sizes[..] else {
            panic!("{said}");
        };
        let logits = figures.in_flight * 4096.0 * 128_256.0 * 2.0 / GIB;
        assert!(with_head > logits && with_head > activations, "{said}");
        let peak = figures.peak_bytes.0 / GIB;
        assert!(with_head < peak, "{peak}: {said}");
        // Weights, gradients and states of an eighth of 8 billion parameters and of the head, 18 bytes at most each;
        // fragments, and the context of a process.
        let rest = (8.03e9 / 8.0 + 128_256.0 * 4096.0) * 18.0 / GIB;
        assert!(peak - with_head < rest + 0.1 * peak + 3.0, "{peak}: {said}");
        assert_eq!((figures.fullest, figures.in_flight), (7, limit as f64));
    }
}
