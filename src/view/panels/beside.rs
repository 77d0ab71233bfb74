//! One micro-batch on the busiest rank, drawn: what the GPU computes, the messages of one kind beside it, and what of
//! them it waits for.

use super::overlap::{exposed, names};
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::figure::{key, save};
use crate::charts::ink::Ink;
use crate::charts::ticks::{tick_label, ticks};
use crate::node::action::PanelChoice;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::report::{
    DrawnPass, MicrobatchWaits, PairingChange, PassPart, PassParts, PassWork, microbatch_waits, report,
};
use shardscope_core::search::can_run;
use shardscope_core::search::paired::batch_for_pairs;
use shardscope_core::traffic::{Beside, Traffic};

/// Height of a lane, of the words above two of them, of the gap below, and of the axis.
const LANE: f64 = 22.0;
const WORDS: f64 = 22.0;
const GAP: f64 = 8.0;
const AXIS: f64 = 18.0;
/// How much of its colour compute has that nothing hides behind, and a message that is hidden.
const FAINT: f64 = 0.45;

/// Colours of the picture and their meaning.
const KEY: [(&str, &str); 7] = [
    ("c-forward", "forward, messages may hide behind it"),
    ("c-backward", "backward, messages may hide behind it"),
    ("c-forward half", "other compute"),
    ("c-exposed half", "message, hidden"),
    ("c-exposed", "message, exposed"),
    ("hatch", "the GPU waits: for the message below, or where none is below for other kinds"),
    ("c-weight", "weight gradients, apart"),
];

/// The picture of the kind that is chosen; where none is, of experts' messages under a schedule that pairs passes, else
/// of that which costs most; nothing where no messages are sent
/// inside a micro-batch.
pub(super) fn beside(evaluation: &Evaluation, chosen: Option<Traffic>, unit: MemoryUnit) -> Node {
    let (all, run) = (microbatch_waits(evaluation), &evaluation.scenario.run);
    let cost = |one: &MicrobatchWaits| exposed(&evaluation.report, one.traffic).map_or(0.0, |(time, _)| time.0);
    let costliest = all.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)));
    // A schedule that pairs passes is chosen for what hides in a pair.
    let paired = all.iter().find(|one| one.traffic == Traffic::Ep && run.schedule.pairs_passes());
    let drawn = all.iter().find(|one| Some(one.traffic) == chosen).or(paired).or(costliest);
    let Some(drawn) = drawn else {
        return Node::none();
    };
    let kinds = all.iter().map(|one| {
        let choice = Action::Choose(PanelChoice::Beside(Some(one.traffic)));
        (choice, names(one.traffic, run).0.into(), one.traffic == drawn.traffic)
    });
    let mut parts = drawn.passes.iter().flat_map(|pass| &pass.parts);
    let cut = parts.any(|part| part.work == PassWork::Weights);
    let shown = if cut { &KEY[..] } else { &KEY[..KEY.len() - 1] };
    let label = t!(
        "One micro-batch: compute, and the messages beside it: {kind}",
        kind = Message::from(names(drawn.traffic, run).0)
    );
    let parts = [
        choices(
            ["One micro-batch", "Messages drawn"],
            kinds,
            Node::from_iter([leaf("span", "spring", ""), save("micro-batch")]),
        ),
        key(shown),
        el("div", &[("class", "beside-picture")], &[picture(drawn).inline(label)]),
        el("p", &[("role", "status")], &[said(drawn, run), more_microbatches(evaluation, drawn, unit)]),
        fold("Show as a table", data(drawn)),
    ];
    el("div", &[("class", "beside")], &parts)
}

/// The batch with which passes run in pairs, where none does for want of micro-batches.
fn more_microbatches(evaluation: &Evaluation, drawn: &MicrobatchWaits, unit: MemoryUnit) -> Node {
    let lacks = drawn.passes.iter().any(|pass| pass.pass == DrawnPass::Pair) && drawn.paired < SMALLEST_PRINTED;
    let (run, layout) = (&evaluation.scenario.run, &evaluation.report.layout);
    let batch = batch_for_pairs(run, layout.dp);
    if !lacks || batch <= run.global_batch {
        return Node::none();
    }
    let set = vec![("global_batch", batch.to_string())];
    let memory = |set: &[(&'static str, String)]| {
        let larger = run.with_texts(set).filter(|larger| can_run(larger) || !can_run(run))?;
        Some(report(&larger).ok()?.memory)
    };
    let Some(larger) = memory(&set) else {
        return Node::none();
    };
    if larger.overall() != Verdict::Oom || evaluation.report.memory.overall() == Verdict::Oom {
        return Node::from_iter([text(" "), apply("fix", set, "", t!("Set the batch to {batch}", batch))]);
    }
    // A button leads to what fits: the larger batch with the first change that keeps the schedule.
    let peak = larger.peak();
    let whose = Scope::of_changed(run, &set);
    let words = t!(
        "With batch {batch} passes run in pairs, out of memory: {peak} of {capacity}.",
        batch,
        peak = whose.says("memory.peak_bytes", unit.show(peak.bytes)),
        capacity = whose.says("memory.capacity_bytes", unit.show(peak.capacity))
    );
    let changes: [(&'static str, String, Message); 5] = [
        ("recompute", "selective".to_owned(), t!("selective recomputation")),
        ("recompute", "full".to_owned(), t!("full recomputation")),
        ("zero", (run.zero + 1).to_string(), t!("ZeRO-{stage}", stage = run.zero + 1)),
        ("pp", (run.pp * 2).to_string(), t!("PP {ranks}", ranks = run.pp * 2)),
        ("pp", (run.pp * 4).to_string(), t!("PP {ranks}", ranks = run.pp * 4)),
    ];
    let fitting = changes.into_iter().find_map(|(key, value, change)| {
        let both = vec![set[0].clone(), (key, value)];
        let fits = memory(&both).is_some_and(|memory| memory.overall() == Verdict::Fits);
        fits.then(|| apply("fix", both, "", t!("Set the batch to {batch} with {change}", batch, change)))
    });
    Node::from_iter([text(" "), inline(words), text(" "), fitting.unwrap_or_default()])
}

/// What the picture says, in words.
fn said(drawn: &MicrobatchWaits, run: &Run) -> Node {
    let show = show_seconds;
    let (stage, rank, layers, pieces) = (drawn.stage, drawn.rank, drawn.layers, drawn.pieces);
    let place = if layers > pieces {
        t!(
            "Stage {stage} of rank {rank}, the busiest; its {layers} layers are drawn in {pieces} pieces.",
            stage,
            rank,
            layers,
            pieces
        )
    } else {
        t!("Stage {stage} of rank {rank}, the busiest, layer by layer.", stage, rank)
    };
    let all = drawn.passes.iter().filter(|pass| pass.pass != DrawnPass::Pair);
    let apart: Beside = all.clone().fold(Beside::default(), |sum, pass| sum + pass.messages());
    let pair = drawn.passes.iter().find(|pass| pass.pass == DrawnPass::Pair);
    let words = match pair {
        Some(pair) if drawn.paired < SMALLEST_PRINTED => {
            let beside = pair.messages();
            let hidden = t!(
                "No pass of this step runs in a pair: it has too few micro-batches per pipeline. In a pair {hidden} \
                    of {sent} on the wire would hide behind the other micro-batch.",
                hidden = in_a_pair("hidden", beside.comm - beside.not_hidden),
                sent = in_a_pair("sent", beside.comm)
            );
            let adds = t!(
                "Messages would add {exposed}: {waits} that are waited for, and {slows} by which hidden ones slow \
                    compute.",
                exposed = in_a_pair("exposed", beside.exposed()),
                waits = in_a_pair("waits", beside.not_hidden),
                slows = in_a_pair("slows", beside.slows)
            );
            Message::joined(" ", [hidden, adds])
        }
        Some(pair) => pair_words(pair, drawn, all.map(PassParts::seconds).sum()),
        None if apart.slows.0 > 0.0 => t!(
            "Of {sent} on the wire {hidden} hide, {waits} are waited for, and compute is slowed by {slows}.",
            sent = show(apart.comm),
            hidden = show(apart.comm - apart.not_hidden),
            waits = show(apart.not_hidden),
            slows = show(apart.slows)
        ),
        None if apart.window.0 > 0.0 => t!(
            "Of {sent} on the wire {hidden} hide, {waits} are waited for.",
            sent = show(apart.comm),
            hidden = show(apart.comm - apart.not_hidden),
            waits = show(apart.not_hidden)
        ),
        None => t!("No compute may run beside these messages: all of {sent} are waited for.", sent = show(apart.comm)),
    };
    // Of passes that run: those of one micro-batch, or a pair.
    let is_paired = drawn.paired >= SMALLEST_PRINTED;
    let runs = drawn.passes.iter().filter(|pass| pair.is_none() || (pass.pass == DrawnPass::Pair) == is_paired);
    let others = other_words(&runs.collect::<Vec<_>>(), run);
    let others = others.map_or_else(Node::none, |words| Node::from_iter([text(" "), inline(words)]));
    Node::from_iter([inline(words), others, text(" "), inline(place)])
}

/// What the hatched time without a message below it waits for, of `passes` together: "Besides, the passes of one
/// micro-batch wait 113 ms for what is not drawn here: TP activations 96.0 ms, CP keys, values 17.0 ms."
fn other_words(passes: &[&PassParts], run: &Run) -> Option<Message> {
    let mut sums: Vec<(Option<Traffic>, Seconds)> = Vec::new();
    for (kind, seconds) in passes.iter().flat_map(|pass| pass.others.iter().copied()) {
        match sums.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, sum)) => *sum += seconds,
            None => sums.push((kind, seconds)),
        }
    }
    if sums.is_empty() {
        return None;
    }
    let time = show_seconds(sums.iter().map(|(_, seconds)| *seconds).sum());
    let parts = sums.iter().map(|(kind, seconds)| {
        let time = show_seconds(*seconds);
        match kind {
            Some(traffic) => t!("{traffic} {time}", traffic = Message::from(names(*traffic, run).0), time),
            None => t!("data that is loaded {time}", time),
        }
    });
    let parts = Message::joined(", ", parts);
    Some(match passes {
        [pair] if pair.pass == DrawnPass::Pair => t!(
            "Besides, a pair waits {time} for what is not drawn here, hatched without a message below: {parts}.",
            time,
            parts
        ),
        _ => t!(
            "Besides, the passes of one micro-batch wait {time} for what is not drawn here, hatched without a message \
                below: {parts}.",
            time,
            parts
        ),
    })
}

/// The time of `what` in a pair of passes, in a sentence.
fn in_a_pair(what: &str, time: Seconds) -> Message {
    Scope::run().part("pair").says(format!("beside:{what}"), show_seconds(time))
}

/// Why a pair takes longer than its two passes one after the other, where it does.
fn longer(change: PairingChange) -> Option<Message> {
    if change.total().0 >= 0.0 {
        return None;
    }
    let seconds = |what: &str, time: Seconds| in_a_pair(what, time);
    let costs = [
        (change.host.0 > 0.0).then(|| {
            t!(
                "the host, which launches the kernels of both passes, adds {time}",
                time = seconds("host adds", change.host)
            )
        }),
        (change.shards.0 > 0.0).then(|| {
            t!(
                "messages of ZeRO, with less compute to hide behind, add {time}",
                time = seconds("shards add", change.shards)
            )
        }),
        (change.messages.0 < 0.0).then(|| {
            t!(
                "messages of experts are exposed {time} longer",
                time = seconds("messages add", Seconds(-change.messages.0))
            )
        }),
    ];
    let costs = Message::joined(" · ", costs.into_iter().flatten());
    Some(if change.messages.0 > 0.0 {
        t!(
            "It is longer: messages of experts are exposed {saved} less, but {costs}. The schedule runs pairs all the \
                same; one without pairs may be faster.",
            saved = seconds("messages save", change.messages),
            costs
        )
    } else {
        t!("It is longer: {costs}. The schedule runs pairs all the same; one without pairs may be faster.", costs)
    })
}

/// What a pair hides and adds, and the share of the passes that run in pairs; its two passes alone take `apart`.
fn pair_words(pair: &PassParts, drawn: &MicrobatchWaits, apart: Seconds) -> Message {
    let share = drawn.paired;
    let beside = pair.messages();
    let hidden = t!(
        "In a pair {hidden} of {sent} on the wire hide behind the other micro-batch; {share} of the passes run in \
            pairs.",
        hidden = in_a_pair("hidden", beside.comm - beside.not_hidden),
        sent = in_a_pair("sent", beside.comm),
        share = Scope::run().says("beside:passes in pairs", show_percent(share))
    );
    // The two parts of what the picture's title says that messages add.
    let adds = t!(
        "Messages add {exposed}: {waits} that are waited for, and {slows} by which hidden ones slow compute.",
        exposed = in_a_pair("exposed", beside.exposed()),
        waits = in_a_pair("waits", beside.not_hidden),
        slows = in_a_pair("slows", beside.slows)
    );
    let shorter = (apart.0 > 0.0).then(|| {
        t!(
            "A pair takes {pair}, the two passes one after the other {apart}.",
            pair = in_a_pair("takes", pair.seconds()),
            apart = in_a_pair("apart", apart)
        )
    });
    let why = shorter.is_some().then(|| longer(drawn.change)).flatten();
    Message::joined(" ", [hidden, adds].into_iter().chain(shorter).chain(why))
}

/// The name of a pass.
const fn pass_name(pass: DrawnPass) -> &'static str {
    match pass {
        DrawnPass::Forward => "forward pass",
        DrawnPass::Backward => "backward pass",
        DrawnPass::Both => "forward and backward pass",
        DrawnPass::Pair => "a pair of passes",
    }
}

/// The name of a part's compute, a short one for its block, and of the message beside it.
const fn part_names(work: PassWork) -> [&'static str; 3] {
    match work {
        PassWork::Other => ["other compute", "", ""],
        PassWork::Window => ["compute that messages may hide behind", "", ""],
        PassWork::Weights => ["weight gradients", "W", ""],
        PassWork::AttentionForward => ["attention, forward", "attention F", "combine B"],
        PassWork::ExpertsBackward => ["experts, backward", "experts B", "dispatch F"],
        PassWork::ExpertsForward => ["experts, forward", "experts F", "dispatch B"],
        PassWork::AttentionBackward => ["attention, backward", "attention B", "combine F"],
        PassWork::Waits => ["other messages and loading", "", ""],
    }
}

/// Colour of a part's compute and how much it has of it; none where nothing is computed.
fn ink(pass: DrawnPass, work: PassWork) -> Option<(Ink, f64)> {
    let own = if pass == DrawnPass::Forward { Ink::Forward } else { Ink::Backward };
    match work {
        PassWork::Other if matches!(pass, DrawnPass::Pair | DrawnPass::Both) => Some((Ink::Muted, FAINT)),
        PassWork::Other => Some((own, FAINT)),
        PassWork::Window => Some((own, 1.0)),
        PassWork::Weights => Some((Ink::Weight, 1.0)),
        PassWork::AttentionForward | PassWork::ExpertsForward => Some((Ink::Forward, 1.0)),
        PassWork::ExpertsBackward | PassWork::AttentionBackward => Some((Ink::Backward, 1.0)),
        PassWork::Waits => None,
    }
}

fn picture(drawn: &MicrobatchWaits) -> Drawing {
    let last = drawn.passes.iter().map(|pass| pass.seconds().0).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let each = WORDS + 2.0 * LANE + GAP;
    let foot = each * drawn.passes.len() as f64;
    let mut drawing = Drawing::new(foot + AXIS);
    for (at, pass) in drawn.passes.iter().enumerate() {
        let top = each * at as f64;
        let messages = pass.messages();
        let words = t!(
            "{pass}: {time}, messages add {exposed}",
            pass = Message::from(pass_name(pass.pass)),
            time = show_seconds(pass.seconds()),
            exposed = show_seconds(messages.exposed())
        );
        // None of a step that has no pairs: as it would be.
        let words = match pass.pass {
            DrawnPass::Pair if drawn.paired < SMALLEST_PRINTED => t!("{pass}, with more micro-batches", pass = words),
            _ => words,
        };
        drawing.heading(top + 10.0, words);
        let lanes = [top + WORDS, top + WORDS + LANE];
        for (y, name) in lanes.into_iter().zip(["compute", "wire"]) {
            drawing.name(y + LANE / 2.0 - 1.0, name);
        }
        let mut start = 0.0;
        for part in &pass.parts {
            lay(&mut drawing, pass.pass, part, (start, last), lanes);
            start += part.seconds().0;
        }
    }
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    for tick in ticks(0.0, last, 5) {
        let x = tick / last;
        if x < 0.97 {
            drawing.line((x, foot), (x, foot + 4.0), Ink::Line, 1.0);
            drawing.words((x, foot + 12.0), Anchor::Middle, Ink::Muted, verbatim(tick_label(tick)));
        }
    }
    drawing
}

/// Draws a part from `start` on: its compute, the message below it, and what is waited for hatched.
fn lay(drawing: &mut Drawing, pass: DrawnPass, part: &PassPart, (start, last): (f64, f64), lanes: [f64; 2]) {
    let [name, short, sent] = part_names(part.work);
    let tall = LANE - 2.0;
    let Beside { comm, not_hidden, slows, .. } = part.message;
    let mut block =
        |row: usize, from: f64, seconds: f64, ink: Option<(Ink, f64)>, label: Message, short: &'static str| {
            if seconds <= 0.0 {
                return;
            }
            let (x, width) = (from / last, seconds / last);
            // A hairline of paper separates neighbours.
            let at = Box { x, width: (width - 0.001).max(width * 0.7), y: lanes[row], height: tall };
            match ink {
                None => drawing.hatch(at),
                Some((ink, opacity)) => {
                    drawing.fill(at, Ink::Paper, 1.0, "");
                    drawing.fill(at, ink, opacity, label);
                    let words = if opacity < 1.0 { Ink::Text } else { Ink::Paper };
                    if !short.is_empty() {
                        drawing.fitted((x + width / 2.0, lanes[row] + tall / 2.0), words, width, short);
                    }
                }
            }
        };
    let computes = (part.compute + slows).0;
    let timed = |name: &'static str, seconds: f64| {
        t!("{name}: {time}", name = Message::from(name), time = show_seconds(Seconds(seconds)))
    };
    block(0, start, computes, ink(pass, part.work), timed(name, computes), short);
    block(0, start + computes, not_hidden.0, None, Message::default(), "");
    // The hidden part ends with the compute where more follows, and begins with it where nothing does.
    let hidden = (comm - not_hidden).0;
    let begin = if not_hidden.0 > 0.0 { start + computes - hidden } else { start };
    let exposed_name = if hidden > 0.0 { "" } else { sent };
    block(1, begin, hidden, Some((Ink::Exposed, FAINT)), timed("message, hidden", hidden), sent);
    let waits = timed("message, exposed", not_hidden.0);
    block(1, start + computes, not_hidden.0, Some((Ink::Exposed, 1.0)), waits, exposed_name);
}

/// The picture as a table: the parts of a pass that are alike are one row.
fn data(drawn: &MicrobatchWaits) -> Node {
    let mut rows: Vec<(DrawnPass, PassPart)> = Vec::new();
    for pass in &drawn.passes {
        for part in &pass.parts {
            match rows.iter_mut().find(|(of, known)| *of == pass.pass && known.work == part.work) {
                Some((_, known)) => {
                    known.compute += part.compute;
                    known.message = known.message + part.message;
                }
                None => rows.push((pass.pass, *part)),
            }
        }
    }
    let traffic = drawn.traffic.id();
    let time = |(pass, part): &(DrawnPass, PassPart), field: &'static str, seconds: Seconds| {
        let shown = if seconds.0 > 0.0 { show_seconds(seconds) } else { "–".to_owned() };
        let of = Scope::run().part(format_args!("{traffic}, {}, {}", pass_name(*pass), part_names(part.work)[0]));
        inline(verbatim(shown)).reports(field, &of)
    };
    Rows::of(rows)
        .column("pass", |(pass, _)| text(pass_name(*pass)))
        .column("compute", |(_, part)| text(part_names(part.work)[0]))
        .column("takes", |row| time(row, "microbatch.compute_s", row.1.compute))
        .column("message", |(_, part)| text(part_names(part.work)[2]))
        .column("on the wire", |row| time(row, "microbatch.comm_s", row.1.message.comm))
        .column("hidden", |row| time(row, "microbatch.hidden_s", row.1.message.hidden()))
        .column("waited for", |row| time(row, "microbatch.not_hidden_s", row.1.message.not_hidden))
        .column("slows compute by", |row| time(row, "microbatch.slows_s", row.1.message.slows))
        .table("One micro-batch")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;

    fn deepseek(schedule: Schedule) -> Run {
        Run {
            model: Based::preset("deepseek-v3"),
            gpu: Based::preset("h800-sxm-80gb"),
            gpus: 2048,
            tp: 1,
            pp: 16,
            ep: 64,
            global_batch: 15_360,
            schedule,
            ..Run::default()
        }
    }

    #[test]
    fn a_pair_is_drawn_with_its_four_all_to_alls_and_passes_apart_wait() {
        let html =
            |schedule| beside(&evaluate(&deepseek(schedule)).unwrap(), Some(Traffic::Ep), MemoryUnit::Gib).to_html();
        let pairs = html(Schedule::DualPipe);
        for word in
            ["combine B", "dispatch F", "dispatch B", "combine F", "a pair of passes:", "of the passes run in pairs"]
        {
            assert!(pairs.contains(word), "{word}");
        }
        // Two ranks that meet from both sides pair nothing with one micro-batch a direction.
        let run = Run { pp: 2, tp: 8, ep: 256, global_batch: 256, ..deepseek(Schedule::DualPipe) };
        let none = beside(&evaluate(&run).unwrap(), Some(Traffic::Ep), MemoryUnit::Gib).to_html();
        assert!(none.contains("No pass of this step runs in a pair") && !none.contains("0.0 %"), "{none}");
        // What the words say that messages add is what stands above the pair; what is waited for besides is that of
        // the passes that run, not of the pair that does not.
        let drawn = microbatch_waits(&evaluate(&run).unwrap()).into_iter().find(|one| one.traffic == Traffic::Ep);
        let drawn = drawn.unwrap();
        let pair = drawn.passes.iter().find(|pass| pass.pass == DrawnPass::Pair).unwrap().messages();
        assert!(none.contains(&format!("Messages would add {}:", show_seconds(pair.exposed()))), "{none}");
        let apart = drawn.passes.iter().filter(|pass| pass.pass != DrawnPass::Pair).flat_map(|pass| &pass.parts);
        let waits = apart.filter(|part| part.work == PassWork::Waits).map(|part| part.compute).sum();
        let words = format!("the passes of one micro-batch wait {} for", show_seconds(waits));
        assert!(waits.0 > 0.0 && none.contains(&words), "{words}: {none}");
        // The batch that is offered has pairs.
        let evaluation = evaluate(&run).unwrap();
        let set =
            beside(&evaluation, Some(Traffic::Ep), MemoryUnit::Gib).actions().into_iter().find_map(
                |action| match action {
                    Action::Apply(set) if set[0].0 == "global_batch" => Some(set.clone()),
                    _ => None,
                },
            );
        let larger = evaluate(&run.with_texts(&set.unwrap()).unwrap()).unwrap();
        // It leads to what fits where this run does, and keeps the schedule.
        let fits = |evaluation: &Evaluation| evaluation.report.memory.overall() != Verdict::Oom;
        assert!(fits(&larger) || !fits(&evaluation), "{none}");
        assert_eq!(larger.scenario.run.schedule, Schedule::DualPipe);
        // What a pair's messages add is what is waited for and what slows compute, to the millisecond that is shown.
        let drawn = microbatch_waits(&larger).into_iter().find(|one| one.traffic == Traffic::Ep).unwrap();
        let pair = drawn.passes.iter().find(|pass| pass.pass == DrawnPass::Pair).unwrap().messages();
        assert!((pair.exposed().0 - pair.not_hidden.0 - pair.slows.0).abs() < 1e-12);
        let more = beside(&larger, Some(Traffic::Ep), MemoryUnit::Gib).to_html();
        assert!(more.contains("of the passes run in pairs") && !more.contains("Set the batch"), "{more}");
        let apart = html(Schedule::OneFOneB);
        assert!(!apart.contains("a pair of passes:") && apart.contains("url(#hatched)"), "{apart}");
        assert!(apart.contains("No compute may run beside these messages"), "{apart}");
    }

    /// Tensor parallelism of 8 beside experts: the GPU waits for its messages too, which are not drawn. All the hatched
    /// time of the pair is in words.
    #[test]
    fn hatched_time_without_a_message_has_its_reason_in_words() {
        let run = Run { pp: 2, tp: 8, cp: 2, ep: 256, global_batch: 4096, ..deepseek(Schedule::DualPipe) };
        let evaluation = evaluate(&run).unwrap();
        let drawn = microbatch_waits(&evaluation).into_iter().find(|one| one.traffic == Traffic::Ep).unwrap();
        let pair = &drawn.passes[0];
        assert!(drawn.paired > SMALLEST_PRINTED && pair.pass == DrawnPass::Pair);
        let hatched: f64 =
            pair.parts.iter().filter(|part| part.work == PassWork::Waits).map(|part| part.compute.0).sum();
        let html = beside(&evaluation, Some(Traffic::Ep), MemoryUnit::Gib).to_html();
        let words = format!("Besides, a pair waits {} for", show_seconds(Seconds(hatched)));
        assert!(hatched > 0.0 && html.contains(&words), "{words}: {html}");
        assert!(html.contains("TP activations "), "{html}");
        // One kind of messages, and nothing that is loaded: all that is waited for is drawn.
        let alone = beside(&evaluate(&Run::default()).unwrap(), Some(Traffic::Tp), MemoryUnit::Gib).to_html();
        assert!(!alone.contains("Besides, "), "{alone}");
    }

    #[test]
    fn each_kind_inside_a_micro_batch_is_one_press_and_the_costliest_is_drawn_first() {
        let run = Run { cp: 2, zero: 3, pp: 1, tp: 2, gpus: 64, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        for traffic in [Traffic::Tp, Traffic::Cp, Traffic::Zero3, Traffic::Dp] {
            let view = beside(&evaluation, Some(traffic), MemoryUnit::Gib);
            let choice = Action::Choose(PanelChoice::Beside(Some(traffic)));
            assert!(view.actions().contains(&&choice), "{traffic:?}");
            let html = view.to_html();
            assert_eq!(html.matches("aria-pressed=\"true\"").count(), 1, "{traffic:?}");
            assert!(!html.contains("NaN"), "{traffic:?}");
        }
        let alone = Run { gpus: 1, tp: 1, pp: 1, ..Run::default() };
        assert_eq!(beside(&evaluate(&alone).unwrap(), None, MemoryUnit::Gib), Node::none());
    }
}
