//! Pipelines from one micro-batch at a time to two directions at once.

mod bound;
mod bubbles;
mod halves;
mod messages;
mod order;
mod uneven;

use super::caption::listed;
use super::moments::Moments;
use super::pictures::{Pipeline, legend, pipeline_table, pipelines};
use crate::learn::prelude::*;
use bubbles::share;
use order::of;
use shardscope_core::pipeline::OpKind;
use shardscope_core::source::{CHIMERA, HANAYO, ZERO_BUBBLE};
use shardscope_core::source::{DEEPSEEK_V3, GPIPE, LECTURE, NARAYANAN_2021, PIPEDREAM, UNEVEN_PP};

/// One number of ranks and one of micro-batches for all steps; not every order exists for every pair.
const P: Slider = slider("p", "ranks", &[2, 4, 8, 16], 1).kept();
const M: Slider = slider("m", "micro-batches", &[4, 8, 16, 32], 1).kept();
const V: Slider = slider("v", "stages per rank", &[2, 4], 0);
const L: Slider = slider("l", "layers of the first rank", &[0, 2, 6, 8, 10, 12, 13, 14], 5);
const TOWER: Slider = slider("v", "width of the vision tower", &[1280, 4096, 8000], 1);
const W: Slider = slider("w", "waves", &[1, 2, 4], 1);

pub(super) const LESSON: Lesson = Lesson {
    id: "pipelines",
    title: "How pipelines fill up",
    about: "from one micro-batch at a time to DualPipe",
    steps: &[
        LessonStep {
            id: "naive",
            title: "One micro-batch at a time",
            sliders: &[P, M],
            live: naive,
            source: (&LECTURE, "naive pipeline"),
            on_run: (Gauge::Bubble, &[("micro_batch", "4")]),
        },
        LessonStep {
            id: "halves",
            title: "A backward pass is two products",
            sliders: &[SEQUENCE],
            live: halves::halves,
            source: (&ZERO_BUBBLE, "section 2"),
            on_run: (Gauge::Bubble, &[("schedule", "zb-h1")]),
        },
        LessonStep {
            id: "gpipe",
            title: "GPipe: many micro-batches",
            sliders: &[P, M],
            live: gpipe,
            source: (&GPIPE, "section 2.3"),
            on_run: (Gauge::Bubble, &[("schedule", "gpipe"), ("micro_batch", "1")]),
        },
        LessonStep {
            id: "1f1b",
            title: "1F1B: start backward passes early",
            sliders: &[P, M],
            live: one_f_one_b,
            source: (&NARAYANAN_2021, "section 2.2.1"),
            on_run: (Gauge::Held(Component::Activations), &[("schedule", "gpipe")]),
        },
        LessonStep {
            id: "messages",
            title: "Messages between stages",
            sliders: &[P, M, slider("c", "message time in percent", &[5, 10, 25, 50], 2)],
            live: messages::messages,
            source: (&NARAYANAN_2021, "section 2.2.1"),
            on_run: (Gauge::Sent(Traffic::Pp), &[("pp", "8")]),
        },
        LessonStep {
            id: "interleaving",
            title: "Interleaving: smaller stages",
            sliders: &[P, M, V],
            live: interleaved,
            source: (&NARAYANAN_2021, "section 2.2.2"),
            on_run: (Gauge::Bubble, &[("schedule", "interleaved-1f1b"), ("virtual_stages", "2")]),
        },
        LessonStep {
            id: "zb-h1",
            title: "ZB-H1: split the backward pass",
            sliders: &[P, M],
            live: zb_h1,
            source: (&ZERO_BUBBLE, "section 3.1"),
            on_run: (Gauge::Bubble, &[("schedule", "zb-h1")]),
        },
        LessonStep {
            id: "zb-v",
            title: "ZB-V: a V of two stages",
            sliders: &[P, M],
            live: zb_v,
            source: (&ZERO_BUBBLE, "section 6"),
            on_run: (Gauge::Bubble, &[("schedule", "zb-v")]),
        },
        LessonStep {
            id: "chimera",
            title: "Chimera: two directions",
            sliders: &[P, M],
            live: chimera,
            source: (&CHIMERA, "section 3.1"),
            on_run: (Gauge::Bubble, &[("schedule", "chimera")]),
        },
        LessonStep {
            id: "hanayo",
            title: "Hanayo: waves instead of copies",
            sliders: &[P, M, W],
            live: hanayo,
            source: (&HANAYO, "section 3"),
            on_run: (Gauge::Bubble, &[("schedule", "hanayo")]),
        },
        LessonStep {
            id: "dualpipe",
            title: "DualPipe: overlap the directions",
            sliders: &[P, M],
            live: dualpipe,
            source: (&DEEPSEEK_V3, "section 3.2.1"),
            on_run: (Gauge::Bubble, &[("schedule", "dualpipe")]),
        },
        LessonStep {
            id: "pipedream",
            title: "PipeDream: never drain",
            sliders: &[P, M],
            live: pipedream,
            source: (&PIPEDREAM, "section 3.3"),
            on_run: (Gauge::Bubble, &[("schedule", "pipedream")]),
        },
        LessonStep {
            id: "bubble",
            title: "The bubble against micro-batches",
            sliders: &[P, M, V.over(&[2, 4, 8], 0)],
            live: bubbles::bubbles,
            source: (&NARAYANAN_2021, "section 2.2"),
            on_run: (Gauge::Bubble, &[("micro_batch", "1")]),
        },
        LessonStep {
            id: "bound",
            title: "Why no order is shorter",
            sliders: &[P, M],
            live: bound::bound,
            source: (&ZERO_BUBBLE, "section 3.2"),
            on_run: (Gauge::Certificate, &[("schedule", "zb-v")]),
        },
        LessonStep {
            id: "uneven",
            title: "Uneven stages: equal time, not equal layers",
            sliders: &[L, TOWER],
            live: uneven::uneven,
            source: (&UNEVEN_PP, "table of steps"),
            on_run: (Gauge::Bubble, &[("stage_layers", "8,8,9,7")]),
        },
    ],
};

impl Live {
    /// With pipelines for a picture, and the idle share of the last in the note; a word where it has no order.
    fn drawn(self, drawn: Vec<(&'static str, Option<Pipeline>)>) -> Self {
        let missing = drawn.last().filter(|(_, one)| one.is_none()).map(|(name, _)| *name);
        let named = |(name, one): (&'static str, Option<Pipeline>)| Some((Message::from(name), one?));
        let drawn: Vec<(Message, Pipeline)> = drawn.into_iter().filter_map(named).collect();
        let timed = drawn.iter().map(|(name, one)| {
            let chunks = f64::from(one.order.stages) / one.timeline.ranks.len() as f64;
            (name.clone(), &one.timeline, chunks)
        });
        let moments = (!drawn.is_empty()).then(|| Moments::of(timed, false));
        let bubble = drawn.last().map(|(_, one)| show_percent(one.stats.bubble_fraction));
        let note = match missing {
            Some(schedule) => t!("{schedule} needs more micro-batches for so many ranks.", schedule),
            None => t!(
                "Simulated: idle {bubble} of the time. A forward pass of a rank takes one unit, a backward pass two.",
                bubble = bubble.unwrap_or_default()
            ),
        };
        let below = if missing.is_some() { muted(&note) } else { Node::none() };
        Self {
            formula: if missing.is_some() { None } else { self.formula },
            note: Message::joined(" ", [note, self.note]),
            legend: Node::from_iter([legend(&drawn), below]),
            picture: pipelines(&drawn),
            moments,
            table: pipeline_table(&drawn),
            ..self
        }
    }
}

/// The idle share of a pipeline; all of it where it has no order.
fn idle(one: Option<&Pipeline>) -> f64 {
    one.map_or(1.0, |one| one.stats.bubble_fraction)
}

/// Most micro-batches that a rank holds.
fn held(one: Option<&Pipeline>) -> String {
    one.map_or_else(|| "–".to_owned(), |one| number(one.held(), 3))
}

/// The idle share of all ranks from the first backward pass of rank 0, when all have work, to its last forward pass;
/// none where there are too few micro-batches for such a time.
fn idle_while_full(one: &Pipeline) -> Option<f64> {
    let first = one.timeline.ranks.first()?;
    let from = first.iter().find(|op| op.op.kind != OpKind::F)?.start;
    let to = first.iter().rev().find(|op| op.op.kind == OpKind::F)?.end;
    let ranks = &one.timeline.ranks;
    let worked: f64 = ranks.iter().flatten().map(|op| (op.end.min(to) - op.start.max(from)).max(0.0)).sum();
    (to > from).then(|| 1.0 - worked / ((to - from) * ranks.len() as f64))
}

fn naive(dials: &Dials) -> Live {
    let p = dials.get("p");
    let one = Pipeline::naive(dials.small("p"), dials.small("m"));
    Live::of([
        t!(
            "A model too large for one GPU can be cut by layers. Each of {p} GPUs, called ranks, holds the next \
                layers. A micro-batch, a few sequences of the batch, goes through all of them and back.",
            p
        ),
        t!(
            "While one rank works, the others wait. The idle share is called the bubble: {bubble}, however many \
                micro-batches follow.",
            bubble = show_percent(1.0 - 1.0 / p as f64)
        ),
    ])
    .formula("bubble = (p − 1) / p", share(p - 1, p))
    .below("the bubble", idle(one.as_ref()), 0.6, show_percent)
    .drawn(vec![("One at a time", one)])
}

fn gpipe(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let now = of(Schedule::Gpipe, dials);
    Live::of([
        t!(
            "A batch's gradient is a sum over samples, so the batch can be cut. When rank {first} has sent one \
                micro-batch on, it starts the next: after {fill} all ranks work.",
            first = 0_u8,
            fill = counts::forward_passes(p - 1)
        ),
        t!(
            "More micro-batches make filling and draining a smaller share. The cost: all forward passes come first, \
                so a rank holds the activations of {held} micro-batches.",
            held = held(now.as_ref())
        ),
    ])
    .formula("bubble = (p − 1) / (m + p − 1)", share(p - 1, m + p - 1))
    .below("the bubble", idle(now.as_ref()), 0.1, show_percent)
    .drawn(vec![("One at a time", Pipeline::naive(dials.small("p"), dials.small("m"))), ("GPipe", now)])
}

fn one_f_one_b(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let [before, now] = [Schedule::Gpipe, Schedule::OneFOneB].map(|one| of(one, dials));
    let most = now.as_ref().map_or(f64::from(dials.small("m")), Pipeline::held);
    Live::of([
        t!("The last rank can start a backward pass right after its first forward pass. If every rank then \
                alternates one forward and one backward pass, activations are freed as fast as new ones arrive."),
        t!(
            "The bubble stays the same. Rank {first} holds {now} micro-batches instead of {before}, and no more in a \
                larger batch.",
            first = 0_u8,
            now = held(now.as_ref()),
            before = held(before.as_ref())
        ),
    ])
    .formula("bubble = (p − 1) / (m + p − 1)", share(p - 1, m + p - 1))
    .below("the micro-batches that rank 0 holds", most, 3.0, |held| number(held, 3))
    .drawn(vec![("GPipe", before), ("1F1B", now)])
}

fn interleaved(dials: &Dials) -> Live {
    let (p, m, v) = (dials.get("p"), dials.get("m"), dials.get("v"));
    let [before, now] = [Schedule::OneFOneB, Schedule::Interleaved].map(|one| of(one, dials));
    Live::of([
        t!(
            "Give each rank {v} small stages instead of one large one. A pass through a stage is {v} times shorter, \
                so the pipeline fills and drains in a fraction of the time.",
            v
        ),
        t!(
            "The cost: a micro-batch crosses the ranks {v} times, with {v} times the messages, and rank {first} holds \
                {now} micro-batches instead of {before}.",
            v,
            first = 0_u8,
            now = held(now.as_ref()),
            before = held(before.as_ref())
        ),
    ])
    .formula("bubble = (p − 1) / (v m + p − 1)", share(p - 1, v * m + p - 1))
    .below("the bubble", idle(now.as_ref()), 0.05, show_percent)
    .drawn(vec![("1F1B", before), ("Interleaved 1F1B", now)])
}

fn zb_h1(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let now = of(Schedule::ZbH1, dials);
    Live::of([
        t!("A backward pass computes two gradients: of the input, which the rank before waits for, and of the \
                weights, which nobody waits for until the optimizer runs."),
        t!(
            "Split them: gradients of weights then fill the gaps while the pipeline drains. With one stage per rank \
                again, a rank holds {held} micro-batches, as in 1F1B.",
            held = held(now.as_ref())
        ),
    ])
    .formula("bubble = (p − 1)(F + B − W) / (3 m + (p − 1)(F + B − W))", share(p - 1, 3 * m + p - 1))
    .below("the bubble", idle(now.as_ref()), 0.05, show_percent)
    .drawn(vec![("Interleaved 1F1B", of(Schedule::Interleaved, dials)), ("ZB-H1", now)])
}

fn zb_v(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let now = of(Schedule::ZbV, dials);
    Live::of([
        t!("Give each rank two stages that lie as a V: forward passes go down the ranks and come back up. The first \
                rank computes the loss and starts backward at once; weight gradients fill gaps."),
        t!(
            "If the three passes take equal time, ranks idle only before their first micro-batch and after their \
                last. A rank holds {held}, as in 1F1B.",
            held = held(now.as_ref())
        ),
    ])
    .formula("bubble = (p − 1) / (6 m + p − 1)", share(p - 1, 6 * m + p - 1))
    .below("the bubble", idle(now.as_ref()), 0.02, show_percent)
    .drawn(vec![("ZB-H1", of(Schedule::ZbH1, dials)), ("ZB-V", now)])
}

fn copies(one: Option<&Pipeline>, usual: u32) -> u32 {
    one.and_then(|one| one.stats.weight_copies.iter().copied().max()).unwrap_or(usual)
}

fn chimera(dials: &Dials) -> Live {
    let now = of(Schedule::Chimera, dials);
    let plain = of(Schedule::OneFOneB, dials);
    Live::of([
        t!(
            "While one pipeline fills, its last ranks are idle. Those are the first ranks of a pipeline that runs the \
                other way. Chimera runs both, without splitting backward passes: bubble {now}, where 1F1B has \
                {before}.",
            now = show_percent(idle(now.as_ref())),
            before = show_percent(idle(plain.as_ref()))
        ),
        t!(
            "The cost: each rank holds the layers of two stages. Every weight exists in {copies} copies, whose \
                gradients must be added up.",
            copies = copies(now.as_ref(), 2)
        ),
    ])
    .below("the bubble", idle(now.as_ref()), 0.12, show_percent)
    .drawn(vec![("ZB-V", of(Schedule::ZbV, dials)), ("Chimera", now)])
}

/// Stages of each rank of `schedule` on `p` ranks, with as many micro-batches as that needs.
fn stages(schedule: Schedule, p: u32) -> Vec<Vec<u32>> {
    let one = Pipeline::of(schedule, |spec| (spec.pp, spec.microbatches, spec.waves) = (p, 2 * p, 1));
    one.map_or_else(Vec::new, |one| (0..one.order.ranks.len()).map(|rank| one.order.stages_of(rank)).collect())
}

/// Chimera on twice the ranks beside one wave of Hanayo: two ranks of the one have the stages of a rank of the other.
fn folded(p: u32) -> Node {
    let (both, wave) = (stages(Schedule::Chimera, 2 * p), stages(Schedule::Hanayo, p));
    let listing = |stages: Option<&Vec<u32>>| {
        let stages = stages.map_or(&[][..], Vec::as_slice).iter();
        verbatim(stages.map(u32::to_string).collect::<Vec<_>>().join(", "))
    };
    let last = both.len().saturating_sub(1);
    let rows = wave.iter().enumerate().map(|(rank, stages)| {
        let pair = t!("{first} and {second}", first = rank, second = last - rank);
        vec![verbatim(rank.to_string()), listing(Some(stages)), pair, listing(both.get(rank))]
    });
    let head = ["rank of Hanayo", "its stages", "ranks of Chimera", "stages of both"];
    listed("Chimera on twice the ranks, folded", &head, rows.collect())
}

fn hanayo(dials: &Dials) -> Live {
    let now = of(Schedule::Hanayo, dials);
    let p = dials.small("p");
    let live = Live::of([
        t!(
            "Chimera's second direction needs no second copy if it runs other layers. Hanayo lets a micro-batch walk \
                down the ranks and back up as a wave, {waves}, each time through the next layers.",
            waves = counts::times(dials.get("w"))
        ),
        t!(
            "A rank holds {stages} small stages and {copies} copy of its weights. More waves fill the pipeline sooner \
                and send more messages.",
            stages = 2 * dials.get("w"),
            copies = copies(now.as_ref(), 1)
        ),
    ])
    .below("the bubble", idle(now.as_ref()), 0.05, show_percent)
    .drawn(vec![("Chimera", of(Schedule::Chimera, dials)), ("Hanayo", now)]);
    let note = t!(
        "Chimera on {double} ranks has stages r and {last} − r on rank r, and a copy of both on rank {last} − r. \
            Folded into one rank the copies are one: that is a wave of Hanayo on {p} ranks.",
        double = 2 * p,
        last = 2 * p - 1,
        p
    );
    Live { note: Message::joined(" ", [live.note, note]), table: Node::from_iter([folded(p), live.table]), ..live }
}

fn dualpipe(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let now = of(Schedule::DualPipe, dials);
    let of_pairs = share(p - 2, 3 * m + p - 2);
    Live::of([
        t!("With experts on many nodes, a forward pass waits for messages as long as it computes. DualPipe feeds \
                micro-batches from both ends. In the middle a rank runs a forward and a backward pass as a pair, \
                one's messages behind the other's kernels."),
        t!(
            "The cost: as with Chimera, every weight exists in {copies} copies, for both directions.",
            copies = copies(now.as_ref(), 2)
        ),
    ])
    .formula("bubble = (p / 2 − 1)(FB + B − 2 W) / (3 m + (p / 2 − 1)(FB + B − 2 W))", of_pairs)
    .note(t!(
        "Passes of a pair are drawn one above the other; a pair FB takes the time of its parts. In a real run a pair \
            hides messages, which this picture leaves out."
    ))
    .below("the bubble", idle(now.as_ref()), 0.04, show_percent)
    .drawn(vec![("Hanayo", of(Schedule::Hanayo, dials)), ("DualPipe", now)])
}

fn pipedream(dials: &Dials) -> Live {
    let versioned = |schedule, every| of(schedule, dials).map(|one| Pipeline { updated_every: Some(every), ..one });
    let each = versioned(Schedule::Pipedream, 1);
    let double = versioned(Schedule::Pipedream2bw, dials.small("p"));
    let full = each.as_ref().and_then(idle_while_full);
    let note = match full {
        Some(idle) => t!(
            "The simulation fills once, and drains after {m} micro-batches because it has to end; PipeDream goes on. \
                In between, {idle} of the time is idle.",
            m = dials.get("m"),
            idle = show_percent(idle)
        ),
        None => t!(
            "The simulation drains after {m} micro-batches because it has to end; PipeDream goes on.",
            m = dials.get("m")
        ),
    };
    Live::of([
        t!(
            "What if the pipeline never drained? PipeDream updates after every micro-batch and lets the next ones in: \
                once full, no rank waits until the end. A backward pass must see the weights of its forward pass, so \
                rank {first} keeps {copies} versions.",
            first = 0_u8,
            copies = copies(each.as_ref(), dials.small("p"))
        ),
        t!(
            "PipeDream-2BW updates less often and keeps {two}. Gradients of older weights change the result; large \
                runs use neither.",
            two = copies(double.as_ref(), 2)
        ),
    ])
    .note(note)
    .below("the versions that PipeDream keeps", f64::from(copies(each.as_ref(), dials.small("p"))), 3.0, |count| {
        number(count, 3)
    })
    .drawn(vec![("PipeDream", each), ("PipeDream-2BW", double)])
}

#[cfg(test)]
mod tests {
    use super::super::StepId;
    use super::*;

    /// Hanayo, section 3: folded in the middle, Chimera's two copies of a stage come to be on one rank.
    #[test]
    fn both_ranks_of_chimera_that_are_folded_have_the_stages_of_hanayos_rank() {
        for p in [2, 4, 8] {
            let (both, wave) = (stages(Schedule::Chimera, 2 * p), stages(Schedule::Hanayo, p));
            assert_eq!(wave.len(), p as usize);
            for (rank, stages) in wave.iter().enumerate() {
                assert_eq!(stages, &both[rank]);
                assert_eq!(stages, &both[2 * p as usize - 1 - rank]);
            }
        }
    }

    /// `PipeDream`, section 3.2: in its steady state every rank alternates forward and backward passes, none is
    /// idle.
    #[test]
    fn pipedream_waits_only_while_it_fills_and_drains() {
        let step = LESSON.steps.iter().find(|step| step.id == "pipedream").unwrap();
        for at in [vec![1, 1], vec![1, 3], vec![2, 2]] {
            let dials = Dials::new(step.sliders, &at);
            let one = of(Schedule::Pipedream, &dials).unwrap();
            let idle = idle_while_full(&one).unwrap();
            assert!(idle.abs() < 1e-9 && one.stats.bubble_fraction > 0.05, "{at:?}: {idle}");
            let note = pipedream(&dials).note.to_string();
            assert!(note.contains("In between, 0.0 % of the time is idle."), "{note}");
        }
    }

    /// The closed forms of the papers are what the simulation gives, at the ends of every slider.
    #[test]
    fn the_formula_of_each_step_is_what_is_simulated() {
        let mut checked = 0;
        for id in StepId::all().filter(|id| id.lesson_id() == "pipelines") {
            let step = id.step();
            let last: Vec<usize> = step.sliders.iter().map(|slider| slider.values.len() - 1).collect();
            for at in [vec![0; last.len()], last, Vec::new()] {
                let live = (step.live)(&Dials::new(step.sliders, &at));
                let note = live.note.to_string();
                if let Some([_, values]) = live.formula.filter(|_| note.contains("idle")) {
                    let values = values.to_string();
                    let closed = values.rsplit_once("= ").map_or(values.as_str(), |(_, closed)| closed);
                    assert!(
                        note.contains(&format!("idle {closed} of")),
                        "{id} {at:?}: beside drawn pipelines the formula gives the idle share of the last, not {closed}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked >= 20, "{checked}");
    }
}
