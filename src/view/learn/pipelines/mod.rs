//! Pipelines from one micro-batch at a time to two directions at once.

mod bubbles;
mod uneven;

use super::dials::{Dials, Slider, slider};
use super::pictures::{Pipeline, legend, pipeline_table, pipelines};
use super::{Lesson, Live, Step};
use crate::core::message::Message;
use crate::core::run::Schedule;
use crate::core::source::{CHIMERA, HANAYO, ZERO_BUBBLE};
use crate::core::source::{DEEPSEEK_V3, GPIPE, LECTURE, NARAYANAN_2021, PIPEDREAM, UNEVEN_PP};
use crate::core::t;
use crate::core::units::{number, show_percent};
use bubbles::share;

const P: Slider = slider("p", "ranks", &[2, 4, 8, 16], 1);
const M: Slider = slider("m", "micro-batches", &[4, 8, 16, 32], 1);
/// Enough of them for schedules that need more than ranks.
const MANY: Slider = M.over(&[16, 32], 0);
const V: Slider = slider("v", "stages per rank", &[2, 4], 0);
const L: Slider = slider("l", "layers of the first rank", &[0, 2, 6, 8, 10, 12, 13, 14], 4);
const TOWER: Slider = slider("v", "width of the vision tower", &[1280, 4096, 8000], 1);
const W: Slider = slider("w", "waves", &[1, 2, 4], 1);

/// The lesson.
#[rustfmt::skip]
pub(super) const LESSON: Lesson = Lesson {
    id: "pipelines",
    title: "How pipelines fill up",
    about: "from one micro-batch at a time to DualPipe",
    steps: &[
        Step { id: "naive", title: "One micro-batch at a time", sliders: &[P, M.over(&[1, 2, 4, 8], 2)], live: naive, source: (&LECTURE, "naive pipeline"), on_run: &[] },
        Step { id: "gpipe", title: "GPipe: many micro-batches", sliders: &[P, M], live: gpipe, source: (&GPIPE, "section 2.3"), on_run: &[("schedule", "gpipe")] },
        Step { id: "1f1b", title: "1F1B: start backward passes early", sliders: &[P, M], live: one_f_one_b, source: (&NARAYANAN_2021, "section 2.2.1"), on_run: &[("schedule", "1f1b")] },
        Step { id: "interleaving", title: "Interleaving: smaller stages", sliders: &[P, MANY, V], live: interleaved, source: (&NARAYANAN_2021, "section 2.2.2"), on_run: &[("schedule", "interleaved-1f1b"), ("virtual_stages", "2")] },
        Step { id: "zb-h1", title: "ZB-H1: split the backward pass", sliders: &[P, MANY], live: zb_h1, source: (&ZERO_BUBBLE, "section 3.1"), on_run: &[("schedule", "zb-h1")] },
        Step { id: "zb-v", title: "ZB-V: a V of two stages", sliders: &[P, M.over(&[32], 0)], live: zb_v, source: (&ZERO_BUBBLE, "section 6"), on_run: &[("schedule", "zb-v")] },
        Step { id: "chimera", title: "Chimera: two directions", sliders: &[P, MANY], live: chimera, source: (&CHIMERA, "section 3.1"), on_run: &[("schedule", "chimera")] },
        Step { id: "hanayo", title: "Hanayo: waves instead of copies", sliders: &[P, MANY, W], live: hanayo, source: (&HANAYO, "section 3"), on_run: &[("schedule", "hanayo")] },
        Step { id: "dualpipe", title: "DualPipe: overlap the directions", sliders: &[P, M.over(&[32], 0)], live: dualpipe, source: (&DEEPSEEK_V3, "section 3.2.1"), on_run: &[("schedule", "dualpipe")] },
        Step { id: "pipedream", title: "PipeDream: never drain", sliders: &[P, M.over(&[4, 8, 16, 32], 2)], live: pipedream, source: (&PIPEDREAM, "section 3.3"), on_run: &[("schedule", "pipedream")] },
        Step { id: "bubble", title: "The bubble against micro-batches", sliders: &[P.over(&[4, 8, 16], 1), V.over(&[2, 4, 8], 0)], live: bubbles::bubbles, source: (&NARAYANAN_2021, "section 2.2"), on_run: &[("micro_batch", "1")] },
        Step { id: "uneven", title: "Uneven stages: equal time, not equal layers", sliders: &[L, TOWER], live: uneven::uneven, source: (&UNEVEN_PP, "table of steps"), on_run: &[] },
    ],
};

fn of(schedule: Schedule, dials: &Dials) -> Option<Pipeline> {
    Pipeline::of(schedule, |spec| {
        (spec.pp, spec.microbatches) = (dials.small("p"), dials.small("m"));
        if schedule == Schedule::Interleaved {
            spec.virtual_stages = dials.small("v");
        }
        spec.waves = dials.small("w");
    })
}

impl Live {
    /// With pipelines for a picture, and the idle share of the last in the note.
    fn drawn(self, drawn: Vec<(&'static str, Option<Pipeline>)>) -> Self {
        let named = |(name, one): (&'static str, Option<Pipeline>)| Some((Message::from(name), one?));
        let drawn: Vec<(Message, Pipeline)> = drawn.into_iter().filter_map(named).collect();
        let bubble = drawn.last().map(|(_, one)| show_percent(one.stats.bubble_fraction));
        let simulated = t!(
            "Simulated: idle {bubble} of the time. A forward pass of a rank takes one unit, a backward pass two.",
            bubble = bubble.unwrap_or_default()
        );
        Self {
            note: Message::joined(" ", [simulated, self.note]),
            legend: legend(&drawn),
            picture: pipelines(&drawn),
            table: pipeline_table(&drawn),
            ..self
        }
    }
}

fn naive(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let text = vec![
        t!(
            "A model that is too large for one GPU can be cut by layers. Each of {p} GPUs, called ranks, holds the next layers, and a micro-batch, a few sequences of the batch, goes through all of them and back.",
            p
        ),
        t!(
            "While one rank works, the others wait: each is busy one part in {p} of the time, however many micro-batches follow each other. The idle share is called the bubble.",
            p
        ),
        t!("What it saves is memory: weights, gradients and optimizer states are divided by {p}.", p),
    ];
    Live::of(text)
        .formula("bubble = (p − 1) / p", share(p - 1, p))
        .drawn(vec![("One at a time", Pipeline::naive(dials.small("p"), u32::try_from(m).unwrap_or(1)))])
}

fn gpipe(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let held = of(Schedule::Gpipe, dials).map_or(0.0, |one| one.held());
    let text = vec![
        t!(
            "A batch is a sum over samples, so it can be cut. As soon as rank {first} has sent one micro-batch on, it starts the next, and after {fill} forward passes all ranks work.",
            first = 0_u8,
            fill = p - 1
        ),
        t!("The pipeline still fills and drains once a step. More micro-batches make that share smaller."),
        t!(
            "The cost: all forward passes come before all backward passes, so each rank holds the activations of {held} micro-batches.",
            held = number(held, 3)
        ),
    ];
    Live::of(text)
        .formula("bubble = (p − 1) / (m + p − 1)", share(p - 1, m + p - 1))
        .drawn(vec![("GPipe", of(Schedule::Gpipe, dials))])
}

fn one_f_one_b(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let [before, now] = [Schedule::Gpipe, Schedule::OneFOneB].map(|one| of(one, dials).map_or(0.0, |one| one.held()));
    let text = vec![
        t!(
            "The last rank can start a backward pass as soon as it has finished the first forward pass. If every rank then alternates one forward and one backward pass, activations are freed as fast as new ones arrive."
        ),
        t!(
            "The bubble stays the same. What shrinks is memory: rank {first} holds {now} micro-batches instead of {before}, however large the batch is.",
            first = 0_u8,
            now = number(now, 3),
            before = number(before, 3)
        ),
    ];
    Live::of(text)
        .formula("bubble = (p − 1) / (m + p − 1)", share(p - 1, m + p - 1))
        .drawn(vec![("GPipe", of(Schedule::Gpipe, dials)), ("1F1B", of(Schedule::OneFOneB, dials))])
}

fn interleaved(dials: &Dials) -> Live {
    let (p, m, v) = (dials.get("p"), dials.get("m"), dials.get("v"));
    let [before, now] =
        [Schedule::OneFOneB, Schedule::Interleaved].map(|one| of(one, dials).map_or(0.0, |one| one.held()));
    let text = vec![
        t!(
            "In 1F1B the last rank waits for {wait} forward passes of whole ranks, and the same again at the end.",
            wait = p - 1
        ),
        t!(
            "Give each rank {v} small stages instead of one large one. A pass through a stage is then {v} times shorter, so the pipeline fills in a fraction of the time.",
            v
        ),
        t!(
            "The cost: a micro-batch crosses the ranks {v} times, so there are {v} times as many messages, and rank {first} holds {now} micro-batches instead of {before}.",
            v,
            first = 0_u8,
            now = number(now, 3),
            before = number(before, 3)
        ),
    ];
    Live::of(text)
        .formula("bubble = (p − 1) / (v m + p − 1)", share(p - 1, v * m + p - 1))
        .drawn(vec![("1F1B", of(Schedule::OneFOneB, dials)), ("Interleaved 1F1B", of(Schedule::Interleaved, dials))])
}

fn zb_h1(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let text = vec![
        t!(
            "A backward pass computes two things: the gradient of the input, which the rank before waits for, and the gradient of the weights, which nobody waits for until the optimizer runs."
        ),
        t!(
            "Split them. Gradients of inputs are sent on at once; gradients of weights fill the gaps while the pipeline drains."
        ),
        t!("Memory stays that of 1F1B, because the gradients of weights are not put off for longer than the gaps."),
    ];
    Live::of(text)
        .formula("bubble = (p − 1)(F + B − W) / (3 m + (p − 1)(F + B − W))", share(p - 1, 3 * m + p - 1))
        .drawn(vec![("1F1B", of(Schedule::OneFOneB, dials)), ("ZB-H1", of(Schedule::ZbH1, dials))])
}

fn zb_v(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let held = of(Schedule::ZbV, dials).map_or(0.0, |one| one.held());
    let text = vec![
        t!(
            "Give each rank two stages that lie as a V: forward passes go down the ranks and come back up, so the loss is computed on the first rank."
        ),
        t!(
            "Its backward passes can start there at once, and weight gradients fill what is left. Where the three passes take equal time, ranks are idle only while they wait for the first micro-batch and after their last."
        ),
        t!("A rank holds {held} micro-batches, as in 1F1B.", held = number(held, 3)),
    ];
    Live::of(text)
        .formula("bubble = (p − 1) / (6 m + p − 1)", share(p - 1, 6 * m + p - 1))
        .drawn(vec![("ZB-H1", of(Schedule::ZbH1, dials)), ("ZB-V", of(Schedule::ZbV, dials))])
}

fn copies(one: Option<&Pipeline>) -> u32 {
    one.and_then(|one| one.stats.weight_copies.iter().copied().max()).unwrap_or(1)
}

fn chimera(dials: &Dials) -> Live {
    let now = of(Schedule::Chimera, dials);
    let text = vec![
        t!(
            "While one pipeline fills, its last ranks are idle, and those are the first ranks of a pipeline that runs the other way."
        ),
        t!(
            "Chimera runs both: half of the micro-batches enter at rank {first}, the other half at rank {last}.",
            first = 0_u8,
            last = dials.get("p") - 1
        ),
        t!(
            "The cost is memory. What enters at the last rank needs the first layers there, so each rank holds the layers of two stages: every weight exists in {copies} copies, whose gradients must be added up.",
            copies = copies(now.as_ref())
        ),
    ];
    Live::of(text).drawn(vec![("1F1B", of(Schedule::OneFOneB, dials)), ("Chimera", now)])
}

fn hanayo(dials: &Dials) -> Live {
    let now = of(Schedule::Hanayo, dials);
    let text = vec![
        t!(
            "Chimera's second direction needs no second copy if it runs other layers. Hanayo lets a micro-batch walk down the ranks and back up as a wave, {waves} times, each time through the next layers.",
            waves = dials.get("w")
        ),
        t!(
            "A rank holds {stages} small stages and {copies} copy of its weights. More waves fill the pipeline sooner and send more messages.",
            stages = 2 * dials.get("w"),
            copies = copies(now.as_ref())
        ),
    ];
    Live::of(text).drawn(vec![("Chimera", of(Schedule::Chimera, dials)), ("Hanayo", now)])
}

fn dualpipe(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let now = of(Schedule::DualPipe, dials);
    let text = vec![
        t!(
            "With experts on many nodes, a forward pass waits for messages as long as it computes. A backward pass of another micro-batch can compute meanwhile."
        ),
        t!(
            "DualPipe feeds micro-batches from both ends, so that in the middle every rank has a forward and a backward pass to run as a pair, one's messages behind the other's kernels."
        ),
        t!(
            "The cost: a micro-batch from the other end starts at rank {last}, so that rank needs the first layers too, and rank {first} the last ones. Every weight exists in {copies} copies.",
            first = 0_u8,
            last = p - 1,
            copies = copies(now.as_ref())
        ),
    ];
    Live::of(text)
        .formula(
            "bubble = (p / 2 − 1)(FB + B − 2 W) / (3 m + (p / 2 − 1)(FB + B − 2 W))",
            share(p - 2, 3 * m + p - 2),
        )
        .note(t!(
            "Passes of a pair are drawn one above the other; a pair FB takes the time of its parts. What it gains in a real run are the messages, which this picture leaves out."
        ))
        .drawn(vec![("ZB-V", of(Schedule::ZbV, dials)), ("DualPipe", now)])
}

fn pipedream(dials: &Dials) -> Live {
    let versioned = |schedule, every| of(schedule, dials).map(|one| Pipeline { updated_every: Some(every), ..one });
    let each = versioned(Schedule::Pipedream, 1);
    let double = versioned(Schedule::Pipedream2bw, dials.small("p"));
    let text = vec![
        t!(
            "What if the pipeline never drained? PipeDream updates the weights after every micro-batch and lets the next ones in without waiting: once full, no rank is idle."
        ),
        t!(
            "A backward pass must then see the weights of its own forward pass, so rank {first} keeps {copies} versions. PipeDream-2BW updates once in {p} micro-batches, and {two} versions suffice.",
            first = 0_u8,
            copies = copies(each.as_ref()),
            p = dials.get("p"),
            two = copies(double.as_ref())
        ),
        t!(
            "The gradients belong to older weights, so the result is not that of plain training. Large runs use neither."
        ),
    ];
    let note = t!("The simulation drains after {m} micro-batches, to end; PipeDream goes on.", m = dials.get("m"));
    Live::of(text)
        .note(note)
        .drawn(vec![("PipeDream; numbers: weight versions", each), ("PipeDream-2BW; numbers: weight versions", double)])
}

#[cfg(test)]
mod tests {
    use super::super::StepId;
    use super::*;

    /// The closed forms of the papers are what the simulation gives, at the ends of every slider.
    #[test]
    fn the_formula_of_each_step_is_what_is_simulated() {
        let mut held = 0;
        for id in StepId::all().filter(|id| id.lesson_id() == "pipelines") {
            let step = id.step();
            let last: Vec<usize> = step.sliders.iter().map(|slider| slider.values.len() - 1).collect();
            for at in [vec![0; last.len()], last, Vec::new()] {
                let live = (step.live)(&Dials::new(step.sliders, &at));
                let note = live.note.to_string();
                if let Some([_, values]) = live.formula.filter(|_| note.contains("idle")) {
                    let values = values.to_string();
                    let (_, closed) = values.rsplit_once("= ").unwrap();
                    assert!(note.contains(&format!("idle {closed} of")), "{id} {at:?}");
                    held += 1;
                }
            }
        }
        assert!(held >= 20, "{held}");
    }
}
