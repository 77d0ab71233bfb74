//! The pipeline in text: legend, what an op waits for, the chain that fixes the time, the picture as a table.

use super::memory::of_rank;
use super::overlap::names;
use crate::charts::figure::{bands, key, swatch};
use crate::charts::prepared::{KeyNotes, memory_curve};
use crate::charts::shape::Shape;
use crate::node::action::PanelChoice;
use crate::prelude::*;
use crate::words;
use shardscope_core::pipeline::trace::{OpPlace, StartCause};
use shardscope_core::pipeline::{OpKind, OrderItem, TimedOp, Trace};
use shardscope_core::report::{Pipeline, microbatch_waits};
use shardscope_core::traffic::Traffic;
use shardscope_core::units::GIB;

/// Definition of "in span", wherever the two bubbles stand side by side.
pub(crate) const IN_SPAN: &str = "idle time between a rank's first and last op over its work, on the worst rank: \
    waiting before its start and after its end is left out";

/// Ranks of the table: of more, the first.
const MAX_ROWS: usize = 256;

/// Legend of the colours, and the idle share. `stride`: one of every `stride` ranks is drawn; `other`: the evaluation
/// drawn below in the same colours; `notes`: what both have beside their blocks.
pub fn legend(evaluation: &Evaluation, other: Option<&Evaluation>, stride: usize, notes: KeyNotes) -> Node {
    let pipeline = &evaluation.report.pipeline;
    let drawn = || std::iter::once(evaluation).chain(other);
    let any = |is: &dyn Fn(&OrderItem) -> bool| {
        let mut rows = drawn().flat_map(|one| &one.order.ranks);
        rows.any(|row| row.written().iter().any(is))
    };
    let has = |kind| any(&|item| item.ops().any(|op| op.kind == kind));
    let split = has(OpKind::W);
    let paired = any(&|item| matches!(item, OrderItem::Pair(..)));
    let backward = match (split, has(OpKind::BW)) {
        (true, false) => "B backward (input)",
        (true, true) => "BW backward, B (input)",
        _ => "BW backward",
    };
    let once = words::once(pipeline);
    let paired = paired && !notes.columns;
    let note = |view: bool, class: &str, message: Message| {
        if view { leaf("span", class, message) } else { Node::none() }
    };
    let thinned = t!(
        "one of every {stride} of the {ranks} ranks is drawn, the fullest among them",
        stride,
        ranks = evaluation.order.pp()
    );
    Node::from_iter([
        swatch(&("c-forward", "F forward")),
        swatch(&("c-backward", backward)),
        if split { swatch(&("c-weight", "W weight gradient")) } else { Node::none() },
        notes_key(notes),
        bubble(pipeline),
        note(once.is_some(), "", once.unwrap_or_default()),
        note(paired, "", t!("two halves in one block: an overlapped pair")),
        note(notes.shades, "", t!("lighter: later stages of the rank")),
        note(stride > 1, "", thinned),
        note(true, "phone-hide", t!("Ctrl + wheel zooms, drag pans")),
    ])
}

/// What the bars of messages between ranks and the columns of short passes are, where such are drawn.
fn notes_key(notes: KeyNotes) -> Node {
    let message = notes.messages.then(|| swatch(&("c-exposed", "message on its way")));
    // Forward over backward is not an overlapped pair.
    let columns = notes.columns.then(bands);
    message.into_iter().chain(columns).collect()
}

/// The kinds of messages that can be drawn in the blocks, the `chosen` one pressed, and what is drawn of it; nothing
/// where no messages are sent inside a micro-batch.
pub fn messages_drawn(evaluation: &Evaluation, chosen: Option<Traffic>) -> Node {
    let kinds: Vec<Traffic> = microbatch_waits(evaluation).iter().map(|one| one.traffic).collect();
    if kinds.is_empty() {
        return Node::none();
    }
    let chosen = chosen.filter(|kind| kinds.contains(kind));
    let option = |kind: Option<Traffic>| {
        let name = kind.map_or_else(|| t!("none"), |kind| names(kind, &evaluation.scenario.run).0.into());
        (Action::Choose(PanelChoice::Beside(kind)), name, kind == chosen)
    };
    let options = std::iter::once(None).chain(kinds.into_iter().map(Some)).map(option);
    let key = key(&[("c-exposed half", "message, hidden"), ("c-exposed", "message, exposed")]);
    let beside = if chosen.is_some() { key } else { Node::none() };
    let head = choices(["Messages in the blocks", "Messages drawn in the timeline"], options, beside);
    let words = chosen.map(|_| {
        muted(
            "The end of each block is the time it waits for these messages; the part before is what it hides of them. \
                Both are sums over its layers, and happen in each of them. Zoom in where blocks are too small to show \
                it; Overlap draws one micro-batch layer by layer.",
        )
    });
    Node::from_iter([head, words.unwrap_or_default()])
}

pub(super) fn kind_name(kind: OpKind) -> &'static str {
    match kind {
        OpKind::F => "forward",
        OpKind::B => "backward for the input",
        OpKind::W => "gradient of the weight",
        OpKind::BW => "backward",
    }
}

pub(super) fn op_name(op: TimedOp) -> Message {
    t!(
        "{kind} of micro-batch {microbatch} on stage {stage}",
        kind = kind_name(op.op.kind),
        microbatch = op.op.microbatch,
        stage = op.op.stage
    )
}

/// The lines of the tooltip for the op at `place`.
pub fn describe(trace: &Trace, place: OpPlace) -> Vec<Message> {
    let Some(op) = trace.get(place) else {
        return Vec::new();
    };
    let named = |place: OpPlace| trace.get(place).map(op_name).unwrap_or_default();
    let waited = match trace.cause(place) {
        StartCause::Nothing => t!("starts with the step"),
        StartCause::Rank(before) => t!("follows the {before}", before = named(before)),
        StartCause::Host(_) => t!("waits for activations on their way to the host or back"),
        StartCause::Result(result) => t!("waits for rank {rank}: {result}", rank = result.rank, result = named(result)),
    };
    vec![
        t!("rank {rank}: {op}", rank = place.rank, op = op_name(op)),
        t!(
            "{start} to {end} ({length})",
            start = show_seconds(Seconds(op.start)),
            end = show_seconds(Seconds(op.end)),
            length = show_seconds(Seconds(op.end - op.start))
        ),
        waited,
    ]
}

/// The critical path in a sentence.
pub fn critical(path: &[(OpPlace, TimedOp)]) -> Message {
    let Some((_, last)) = path.last() else {
        return Message::default();
    };
    let crossings = path.windows(2).filter(|two| two[0].0.rank != two[1].0.rank).count();
    let mut on: Vec<(usize, f64)> = Vec::new();
    for (place, op) in path {
        let time = op.end - op.start;
        match on.iter_mut().find(|(rank, _)| *rank == place.rank) {
            Some((_, sum)) => *sum += time,
            None => on.push((place.rank, time)),
        }
    }
    let most = on.iter().fold((0, 0.0), |most, next| if next.1 > most.1 { *next } else { most });
    t!(
        "Critical path: {ops} ops, {crossings} transfers between ranks, {share} of {time} on rank {rank}; only what \
            is on it makes the step longer.",
        ops = path.len(),
        crossings,
        share = show_percent(most.1 / last.end),
        time = show_seconds(Seconds(last.end)),
        rank = most.0
    )
}

/// Pixels between two rows that have a name or a number beside them, at least.
const NAME: f64 = 14.0;

/// True for the rows that have a name and a number beside them, as many as fit: the fullest rank's is one, and the
/// first where that leaves it the room.
fn named(evaluation: &Evaluation, shape: Shape) -> impl Fn(&usize) -> bool + use<> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few
    let every = (NAME / shape.rows.pitch).ceil().max(1.0) as usize;
    let fullest = shape.ranks.row(evaluation.report.memory.peak_stage);
    // Names go on from the fullest rank's; those before it leave it its room.
    move |row| match row.checked_sub(fullest) {
        Some(below) => below.is_multiple_of(every),
        None => row.is_multiple_of(every) && row + every <= fullest,
    }
}

/// Rank names beside the rows, as many as fit, each a button where `are_pressed`, and what the chosen rank holds at
/// most.
pub fn rank_names(evaluation: &Evaluation, shape: Shape, chosen: usize, are_pressed: bool) -> Node {
    let at = |y: f64| format!("top:{y:.1}px");
    let names = (0..shape.count).filter(named(evaluation, shape)).enumerate().map(|(index, row)| {
        let rank = shape.ranks.rank(row);
        // The names of thin rows at both ends stay beside the picture, and none covers the one above it.
        let beside = (shape.middle(rank) - 6.0).clamp(0.0, (shape.rows_height() - 12.0).max(0.0));
        let place = at(beside.max(12.0 * index as f64));
        let attributes = [("style", place.as_str()), ("aria-pressed", if rank == chosen { "true" } else { "false" })];
        let name = text(t!("rank {rank}", rank));
        if shape.shares_axis() || !are_pressed {
            return el("span", &[attributes[0], ("class", if rank == chosen { "own" } else { "" })], &[name]);
        }
        let words = name.clone();
        let button = el("button", &attributes, &[name]).title("Show this rank's memory").on(PanelAction::Rank(rank));
        if shape.curve > 0.0 {
            return button;
        }
        // On phones rows are closer than fingers: there the name is no button.
        let class = if rank == chosen { "tag own" } else { "tag" };
        let tag = [("class", class), ("aria-hidden", "true"), attributes[0]];
        Node::from_iter([button, el("span", &tag, &[words])])
    });
    let names: Node = names.collect();
    if shape.curve == 0.0 {
        return names;
    }
    let curve = memory_curve(evaluation, chosen.min(evaluation.loads.len().saturating_sub(1)));
    let most = curve.iter().map(|(_, held)| *held).max().unwrap_or(0);
    let peak = MemoryUnit::Gib.number(Bytes(f64::from(most) / 1024.0 * GIB));
    let foot = |y: f64, message: Message| el("span", &[("style", &at(shape.rows_height() + y))], &[text(message)]);
    if shape.shares_axis() {
        let rank = foot(30.0, t!("rank {rank}", rank = chosen));
        return Node::from_iter([names, foot(16.0, "GiB".into()), rank]);
    }
    Node::from_iter([
        names,
        foot(26.0, "memory".into()),
        foot(44.0, t!("rank {rank}", rank = chosen)),
        foot(62.0, verbatim(format!("{peak} GiB"))),
    ])
}

/// Memory of each row's rank beside it, a bar that ends at the capacity; the fullest stands out.
pub fn rank_memory(evaluation: &Evaluation, shape: Shape, unit: MemoryUnit) -> Node {
    let memory = &evaluation.report.memory;
    let is_named = named(evaluation, shape);
    let row = |row: usize| {
        let rank = shape.ranks.rank(row);
        let total = memory.per_stage.get(rank)?.total;
        let share = (total / memory.capacity_bytes).min(1.0);
        let fullest = memory.peak_stage == rank;
        let bar = el("i", &[("style", &percent("width", share))], &[]);
        let number = if is_named(&row) { unit.number(total) } else { String::new() };
        let cells = [
            el("span", &[("class", "fill")], &[bar]),
            leaf("b", "", verbatim(number)).reports("memory.per_stage.total_bytes", &of_rank(rank)),
        ];
        let style = format!("top:{:.2}px;height:{:.2}px", row as f64 * shape.rows.pitch, shape.rows.height);
        let class = match (fullest, total.0 > memory.capacity_bytes.0) {
            (true, true) if memory.verdict == Verdict::Tight => "fullest over tight-bars",
            (false, true) if memory.verdict == Verdict::Tight => "over tight-bars",
            (true, true) => "fullest over",
            (false, true) => "over",
            (true, false) => "fullest",
            (false, false) => "",
        };
        let label = t!("memory of rank {rank}: {bytes}", rank, bytes = unit.show(total));
        Some(el("span", &[("class", class), ("style", &style)], &cells).title(label))
    };
    let rows: Node = (0..shape.count).filter_map(row).collect();
    let foot = format!("top:{:.1}px", shape.rows_height());
    let words = t!("{unit} of {capacity} per GPU", unit = unit.name(), capacity = unit.number(memory.capacity_bytes));
    Node::from_iter([rows, el("small", &[("style", &foot)], &[text(words)])])
}

/// The kinds of blocks of the first screen's picture, and the idle share; `notes`: what it has beside its blocks.
pub fn kinds(evaluation: &Evaluation, notes: KeyNotes) -> Node {
    let pipeline = &evaluation.report.pipeline;
    let has = |kind: OpKind| {
        evaluation.order.ranks.iter().any(|row| row.written().iter().any(|item| item.ops().any(|op| op.kind == kind)))
    };
    let mut rows = evaluation.order.ranks.iter();
    let paired = rows.any(|row| row.written().iter().any(|item| matches!(item, OrderItem::Pair(..))));
    let halves = (paired && !notes.columns).then(|| leaf("span", "of-blocks", t!("halves: a pair at once")));
    Node::from_iter([
        swatch(&("c-forward", "forward")),
        swatch(&("c-backward", "backward")),
        if has(OpKind::W) { swatch(&("c-weight", "weight gradient")) } else { Node::none() },
        if notes.shades { swatch(&("c-forward later", "later stages")) } else { Node::none() },
        bubble(pipeline),
        halves.unwrap_or_default(),
        notes_key(notes),
        evaluation.report.tower.map_or_else(Node::none, |tower| waits_for_tower(tower.waits_s, pipeline)),
    ])
}

/// The part of the idle share that is the wait for a tower on GPUs of its own, which the picture of the pipeline does
/// not draw.
fn waits_for_tower(waits: Seconds, pipeline: &Pipeline) -> Node {
    let share = show_percent(waits / pipeline.makespan_s);
    let words = t!("of it {share} wait for the tower, not drawn here", share);
    let whole = t!(
        "The step waits {waits} for the tower, which has GPUs of its own; Costs and scaling draws both.",
        waits = show_seconds(waits)
    );
    leaf("span", "", words).title(whole)
}

/// The colours of several pictures on one axis; `notes`: what they have beside their blocks.
pub fn colours(drawn: &[&Evaluation], notes: KeyNotes) -> Node {
    let any = |is: &dyn Fn(&Evaluation) -> bool| drawn.iter().any(|one| is(one));
    let splits = |one: &Evaluation| {
        let mut rows = one.order.ranks.iter();
        rows.any(|row| row.written().iter().any(|item| item.ops().any(|op| op.kind == OpKind::W)))
    };
    Node::from_iter([
        swatch(&("c-forward", "forward")),
        swatch(&("c-backward", "backward")),
        if any(&splits) { swatch(&("c-weight", "weight gradient")) } else { Node::none() },
        if notes.shades { swatch(&("c-forward later", "later stages of the rank")) } else { Node::none() },
        notes_key(notes),
        swatch(&("hatch", "bubble")),
    ])
}

/// The idle share, whose other definitions are its title.
fn bubble(pipeline: &Pipeline) -> Node {
    let share = show_percent(pipeline.bubble_fraction);
    // A key of many kinds has room for the brief words alone.
    let brief = leaf("span", "brief", t!("bubble {share}", share = share.clone()));
    let spelled = leaf("span", "spelled", t!("bubble {share} of the pipeline's time", share));
    let others = t!(
        "{ideal} of the ideal time; {span} in span, as the zero-bubble papers count: {definition}",
        ideal = show_percent(pipeline.bubble_over_ideal),
        span = show_percent(pipeline.bubble_span),
        definition = IN_SPAN
    );
    el("span", &[], &[leaf("i", "swatch hatch", ""), ask("plain", Figure::Bubble, &[spelled, brief]).title(others)])
}

/// Busy and idle time of every rank.
pub fn ranks(evaluation: &Evaluation, label: impl Into<Message>) -> Node {
    let makespan = Seconds(evaluation.spans.makespan());
    let ranks = evaluation.spans.busy.iter().zip(&evaluation.report.pipeline.peak_in_flight);
    let ranks = ranks.take(MAX_ROWS).enumerate().map(|(rank, (busy, peak))| (rank, Seconds(*busy), *peak));
    Rows::of(ranks)
        .figures("rank", |(rank, ..)| rank.to_string())
        .figures("busy", |(_, busy, _)| show_seconds(*busy))
        .figures("idle", |(_, busy, _)| show_seconds(makespan - *busy))
        .figures("idle share", |(_, busy, _)| show_percent(1.0 - *busy / makespan))
        .figures("chunks in flight", |(.., peak)| peak.to_string())
        .table(label)
}

/// The picture's name for screen readers.
pub fn label(evaluation: &Evaluation) -> Message {
    let report = &evaluation.report;
    t!(
        "Timeline. {summary} Arrow keys move, comma and full stop step through ops.",
        summary = words::pipeline(&report.pipeline, report.layout.microbatches)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::prepared::Prepared;
    use crate::charts::viewport::Viewport;
    use shardscope_core::pipeline::{Durations, Spec, build, measure, schedule};
    use shardscope_core::report::explain;
    use shardscope_core::run::Based;
    use std::sync::Arc;

    #[test]
    fn an_op_says_what_it_waits_for() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let trace = Trace::new(&evaluation.order, evaluation.timeline(), evaluation.durations.p2p);
        let first = describe(&trace, OpPlace { rank: 0, at: 0 });
        assert_eq!(first[2].to_string(), "starts with the step");
        let second = describe(&trace, OpPlace { rank: 1, at: 0 });
        assert_eq!(second[2].to_string(), "waits for rank 0: forward of micro-batch 0 on stage 0");
        assert!(describe(&trace, OpPlace { rank: 9, at: 0 }).is_empty());
    }

    #[test]
    fn legend_and_table_say_what_is_drawn() {
        let run = Run { schedule: Schedule::ZbV, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let view = legend(&evaluation, None, 2, KeyNotes::of_blocks([&evaluation]));
        let message = view.to_html();
        assert!(
            message.contains("W weight gradient") && message.contains("lighter") && message.contains("one of every 2"),
            "{message}"
        );
        assert_eq!(view.actions(), [&Action::Explain(Figure::Bubble)]);
        assert_eq!(ranks(&evaluation, "").to_html().matches("<tr>").count(), 5);
        assert!(label(&evaluation).to_string().starts_with("Timeline. 4 ranks run 32"));
    }

    /// ZB-H2 of 8 ranks and 24 micro-batches of equal passes: the paper's bubble is 0; of the makespan, 3 m + (p − 1)
    /// forwards, p − 1 = 7 of 79 idle.
    #[test]
    fn both_bubbles_of_zb_h2_are_shown_and_named() {
        let mut evaluation = evaluate(&Run::default()).unwrap();
        let spec = Spec::new(schedule("zb-h2").unwrap(), 8, 24);
        let order = build(&spec, &Durations::unit(8)).unwrap().order;
        let (_, stats) = measure(&order, &Durations::unit(8)).unwrap();
        let pipeline = &mut evaluation.report.pipeline;
        pipeline.bubble_fraction = stats.bubble_fraction;
        pipeline.bubble_over_ideal = stats.bubble_over_ideal;
        pipeline.bubble_span = stats.bubble_span;
        let legend = legend(&evaluation, None, 1, KeyNotes::of_blocks([&evaluation])).to_html();
        for message in [
            "bubble 8.9 %",
            "9.7 % of the ideal time",
            "0.0 % in span, as the zero-bubble papers count",
            "between a rank's first and last op",
        ] {
            assert!(legend.contains(message), "{message}: {legend}");
        }
        let drawer =
            explain(&evaluation, Figure::Bubble).unwrap().notes.iter().map(ToString::to_string).collect::<String>();
        assert!(drawer.contains("zero-bubble papers count: 0.0 %"), "{drawer}");
    }

    /// Forward over backward is an overlapped pair in DualPipe, and a column of many passes where they are too short to
    /// be drawn apart: the key says which.
    #[test]
    fn the_key_tells_a_pair_from_a_column_of_passes() {
        let key = |schedule: &str, columns| {
            let set = [("schedule", schedule), ("virtual_stages", "2"), ("tp", "2"), ("pp", "4")];
            let prepared = Prepared::of(Arc::new(evaluate(&Run::default().with_texts(&set).unwrap()).unwrap()));
            let drawn = Shape::of(prepared.ranks(), prepared.fullest()).ranks;
            let notes =
                prepared.notes(drawn, Viewport::all(prepared.makespan()), if columns { 200.0 } else { 20_000.0 });
            kinds(&prepared.evaluation, notes).to_html()
        };
        let (pair, bands) = ("halves: a pair at once", "bands: shares of time");
        assert!(key("dualpipe", false).contains(pair) && !key("dualpipe", false).contains(bands));
        assert!(key("interleaved-1f1b", true).contains(bands) && !key("interleaved-1f1b", true).contains(pair));
        assert!(!key("interleaved-1f1b", false).contains(pair) && !key("interleaved-1f1b", false).contains(bands));
        // A column has no shade of its own for later stages.
        let later = "later stages";
        assert!(key("interleaved-1f1b", false).contains(later) && !key("interleaved-1f1b", true).contains(later));
    }

    /// PipeDream never drains: its figures are the steady state's, and the legend says what they leave out.
    #[test]
    fn a_schedule_that_never_drains_says_so() {
        let html = |schedule| {
            let run = Run { schedule, ..Run::default() };
            legend(&evaluate(&run).unwrap(), None, 1, KeyNotes::default()).to_html()
        };
        let message = "Fill (";
        assert!(html(Schedule::Pipedream).contains(message) && html(Schedule::Pipedream2bw).contains(message));
        assert!(!html(Schedule::OneFOneB).contains(message));
    }

    #[test]
    fn every_rank_says_its_memory_and_the_fullest_stands_out() {
        for pp in [2, 4, 32] {
            let run = Run { pp, tp: 1, ..Run::default() };
            let evaluation = evaluate(&run).unwrap();
            let shape = Shape::filling(evaluation.order.ranks.len(), evaluation.report.memory.peak_stage, 119.0);
            assert!((shape.rows_height() - 119.0).abs() < 1e-9);
            let html = rank_memory(&evaluation, shape, MemoryUnit::Gib).to_html();
            assert_eq!(html.matches("class=\"fill\"").count(), shape.count);
            let peak = MemoryUnit::Gib.number(evaluation.report.memory.peak_bytes);
            assert!(html.contains(&format!(">{peak}</b>")), "{html}");
        }
    }

    /// Names and numbers stand beside the same rows, and each number is of the rank that is named there.
    #[test]
    fn a_number_stands_beside_the_name_of_its_rank() {
        for (pp, height) in [(4, 119.0), (16, 119.0), (16, 240.0), (32, 119.0), (32, 60.0)] {
            for virtual_stages in [1, 2, 4] {
                let schedule = if virtual_stages > 1 { Schedule::Interleaved } else { Schedule::OneFOneB };
                let model = Based::preset("llama-3.1-405b");
                let run = Run { model, pp, tp: 8, gpus: 2048, schedule, virtual_stages, ..Run::default() };
                let Ok(evaluation) = evaluate(&Run { global_batch: 512, ..run }) else { continue };
                let memory = &evaluation.report.memory;
                let shape = Shape::filling(evaluation.order.ranks.len(), memory.peak_stage, height);
                let is_named = named(&evaluation, shape);
                let rows: Vec<usize> = (0..shape.count).filter(&is_named).collect();
                let names = rank_names(&evaluation, shape, 0, false).to_html();
                let html = rank_memory(&evaluation, shape, MemoryUnit::Gib).to_html();
                let numbers: Vec<&str> = html.split("<b>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
                for (row, number) in numbers.iter().enumerate() {
                    let rank = shape.ranks.rank(row);
                    assert_eq!(names.contains(&format!(">rank {rank}<")), !number.is_empty(), "{rank}: {names} {html}");
                    let total = MemoryUnit::Gib.number(memory.per_stage[rank].total);
                    assert!(number.is_empty() || *number == total, "rank {rank}: {number} and {total}");
                }
                assert!(rows.len() == numbers.iter().filter(|number| !number.is_empty()).count());
                let peak = memory.peak_stage;
                assert!(names.contains(&format!(">rank {peak}<")), "rank {peak} is the fullest: {names}");
                assert_eq!(html.matches("class=\"fullest").count(), 1, "{html}");
                let row = numbers.get(shape.ranks.row(peak));
                assert_eq!(row, Some(&&*MemoryUnit::Gib.number(memory.peak_bytes)), "{html}");
            }
        }
    }

    /// A name is 12 pixels high. However many ranks there are, none covers another; each stands once as a button and
    /// once, for phones, without one.
    #[test]
    fn names_of_ranks_do_not_cover_each_other() {
        for pp in [2, 4, 8, 16, 32, 64] {
            let run = Run { model: Based::preset("llama-3.1-405b"), pp, tp: 8, gpus: 2048, ..Run::default() };
            let evaluation = evaluate(&Run { global_batch: 512, ..run }).unwrap();
            let shape = Shape::filling(evaluation.order.ranks.len(), evaluation.report.memory.peak_stage, 119.0);
            let html = rank_names(&evaluation, shape, 0, true).to_html();
            let [buttons, tags] = ["<button", "<span class=\"tag"].map(|tag| {
                let each = html.split(tag).skip(1);
                let top = |rest: &str| rest.split("top:").nth(1)?.split("px").next()?.parse::<f64>().ok();
                each.filter_map(top).collect::<Vec<f64>>()
            });
            assert_eq!(buttons, tags);
            assert!(buttons.len() > 1, "{pp}: {html}");
            assert!(buttons.windows(2).all(|pair| pair[1] - pair[0] >= 11.95), "{pp}: {buttons:?}");
            assert!(buttons.iter().all(|top| *top <= 119.0 - 11.95), "{pp}: {buttons:?}");
        }
    }

    /// Naive pipelines have one chain through every op: m (p + p) of them, 2 (p − 1) hand-overs each.
    #[test]
    fn the_critical_path_of_a_naive_pipeline_is_everything() {
        let run = Run { schedule: Schedule::Naive, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let trace = Trace::new(&evaluation.order, evaluation.timeline(), evaluation.durations.p2p);
        let path: Vec<_> =
            trace.critical_path().into_iter().filter_map(|place| Some((place, trace.get(place)?))).collect();
        let message = critical(&path).to_string();
        assert!(message.contains("256 ops, 192 transfers"), "{message}");
    }
}
