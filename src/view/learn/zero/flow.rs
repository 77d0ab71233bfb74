//! A step of ZeRO-1 or ZeRO-2 on two lanes: what is computed, what is sent, and which messages run beside compute.

use super::super::lanes::Lanes;
use super::super::overlap::{Layer, copies, index};
use crate::learn::prelude::*;
use shardscope_core::traffic::{HeldParameters, step_messages};

/// Layers drawn as one block, and tokens of a micro-batch.
const LAYERS: u64 = 4;
const TOKENS: u64 = 4096;

/// Ways to hide messages behind compute, each beyond the one before it but the last, which replaces the third.
const WAYS: [&str; 4] = [
    "nothing is hidden",
    "gradients beside the backward pass",
    "and weights beside the update",
    "or beside the next forward pass",
];
const NOTHING: u64 = 1;
const GRADIENTS: u64 = 2;
const UPDATE: u64 = 3;
const FORWARD: u64 = 4;

/// Names of these ways beside the slider, where there is less room.
const SHORT: [&str; 4] = ["nothing", "gradients", "and weights", "or weights"];

/// The name of the way at `index` beside the slider.
pub(super) fn way(index: usize) -> &'static str {
    SHORT[index]
}

/// Seconds of the parts of a step, for each of its blocks of layers.
#[derive(Clone, Copy)]
struct Parts {
    blocks: u64,
    forward: f64,
    backward: f64,
    /// Reduce-scatter of the gradients of a block.
    reduce: f64,
    update: f64,
    /// All-gather of the updated weights of a block.
    gather: f64,
}

impl Parts {
    /// The parts of Llama 3.1 8B with `n` copies.
    fn of(n: u64) -> Option<Self> {
        let settings = copies(TOKENS, n, "&zero=1");
        let layer = Layer::of(&settings)?;
        let blocks = (layer.scenario.model.layers / LAYERS).max(1);
        let mut held = HeldParameters::of(&layer.scenario, &[1]);
        held.dense *= LAYERS as f64;
        let messages = step_messages(&layer.scenario, held);
        let each = LAYERS as f64;
        Some(Self {
            blocks,
            forward: each * layer.time.forward.0,
            backward: each * (layer.time.backward_input + layer.time.backward_weight).0,
            reduce: messages.reduce.0,
            update: run(&settings)?.report.step.optimizer_s.0 / blocks as f64,
            gather: messages.gather.0,
        })
    }

    /// Seconds of compute of a step of `m` micro-batches.
    fn computed(&self, m: u64) -> f64 {
        self.blocks as f64 * (m as f64 * (self.forward + self.backward) + self.update)
    }

    /// Seconds of messages: gradients leave once in a step with stage 1, after each micro-batch with stage 2.
    fn sent(&self, stage: u64, m: u64) -> f64 {
        let reductions = if stage == 2 { m } else { 1 };
        self.blocks as f64 * (reductions as f64 * self.reduce + self.gather)
    }

    /// A step of `m` micro-batches of which `way` says what is hidden.
    fn step(&self, name: Message, stage: u64, m: u64, way: u64) -> Lanes {
        let mut lanes = Lanes::new(name);
        let blocks = 1..=self.blocks;
        let (mut ready, mut reduced) = (0.0, 0.0);
        for batch in 1..=m {
            for block in blocks.clone() {
                let weights =
                    if way == FORWARD && batch == 1 { lanes.send(0.0, self.gather, index(block)) } else { ready };
                lanes.compute(weights, self.forward, Ink::Forward, index(block));
            }
            let sends = stage == 2 || batch == m;
            let mut done = 0.0;
            for block in blocks.clone().rev() {
                done = lanes.compute(0.0, self.backward, Ink::Backward, index(block));
                if sends && way >= GRADIENTS {
                    reduced = lanes.send(done, self.reduce, index(block));
                }
            }
            if sends && way == NOTHING {
                for block in blocks.clone().rev() {
                    reduced = lanes.send(done, self.reduce, index(block));
                }
                ready = reduced;
            }
        }
        for block in blocks {
            let updated = lanes.compute(reduced, self.update, Ink::Optimizer, index(block));
            if way == UPDATE {
                lanes.send(updated, self.gather, index(block));
            } else if way != FORWARD && block == self.blocks {
                for block in 1..=self.blocks {
                    lanes.send(updated, self.gather, index(block));
                }
            }
        }
        lanes
    }
}

pub(super) fn flow(dials: &Dials) -> Live {
    let (stage, n, m, way) = (dials.get("z"), dials.get("n"), dials.get("m"), dials.get("w"));
    let Some(parts) = Parts::of(n) else {
        return Live::default();
    };
    let words = |way: u64| Message::from(WAYS[usize::try_from(way.clamp(NOTHING, FORWARD) - 1).unwrap_or(0)]);
    let mut drawn = vec![parts.step(words(NOTHING), stage, m, NOTHING)];
    if way > NOTHING {
        drawn.push(parts.step(words(way), stage, m, way));
    }
    let chosen = &drawn[drawn.len() - 1];
    let text = vec![
        t!("Forward, backward, a reduce-scatter of gradients, an update of the own part, an all-gather of weights: \
                one after the other, the GPU waits for both messages."),
        t!(
            "Gradients of a block can leave while earlier blocks compute; weights can travel beside the update or \
                beside the next forward pass. Of {wire} on the wire {exposed} stay exposed.",
            wire = seconds(chosen.wire()),
            exposed = seconds(chosen.exposed())
        ),
    ];
    let note = t!(
        "With several micro-batches ZeRO-1 adds gradients up and sends them once; ZeRO-2 keeps only its part of them \
            and sends after each. A block is {layers} layers.",
        layers = LAYERS
    );
    let share = chosen.exposed() / chosen.end();
    let (computed, sent) = (parts.computed(m), parts.sent(stage, m));
    Live::of(text)
        .below("the exposed share of the step", share, 0.08, show_percent)
        .worded(
            "max(compute, wire) ≤ T ≤ compute + wire",
            t!(
                "{time}, between {least} and {most}",
                time = seconds(chosen.end()),
                least = seconds(computed.max(sent)),
                most = seconds(computed + sent)
            ),
        )
        .note(note)
        .lanes(&drawn)
}

fn seconds(value: f64) -> String {
    show_seconds(Seconds(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two blocks of 1 s forward, 2 s backward, 1 s of update, messages of 3 s and 2 s. In order that is 18 s.
    /// Gradients beside backward: the last block's leave at 4 s and end at 7 s, the first's at 10 s; update
    /// and gather end at 16 s. Weights beside the update: gathers run from 11 s to 15 s. Beside the next forward:
    /// gathered at 2 s and 4 s, forward ends at 5 s, backward at 9 s, reductions at 10 s and 13 s, updates at 15 s.
    #[test]
    fn each_way_ends_when_it_does_by_hand() {
        let parts = Parts { blocks: 2, forward: 1.0, backward: 2.0, reduce: 3.0, update: 1.0, gather: 2.0 };
        let ends = [NOTHING, GRADIENTS, UPDATE, FORWARD].map(|way| parts.step(t!("step"), 1, 1, way).end());
        assert_eq!(ends, [18.0, 16.0, 15.0, 15.0]);
        assert_eq!(parts.computed(1), 8.0);
        assert_eq!(parts.sent(1, 1), 10.0);
    }

    /// Compute and messages each run one after the other: no step is shorter than either, none longer than both.
    #[test]
    fn a_step_lies_between_overlapped_and_in_order() {
        for n in [2, 16, 256] {
            let parts = Parts::of(n).unwrap();
            for (stage, m) in [(1, 1), (1, 4), (2, 1), (2, 4)] {
                let (computed, sent) = (parts.computed(m), parts.sent(stage, m));
                for way in [NOTHING, GRADIENTS, UPDATE, FORWARD] {
                    let step = parts.step(t!("step"), stage, m, way);
                    assert!((step.computed() / computed - 1.0).abs() < 1e-9, "{n} {stage} {m} {way}");
                    assert!((step.wire() / sent - 1.0).abs() < 1e-9, "{n} {stage} {m} {way}");
                    let bounds = computed.max(sent) * (1.0 - 1e-9)..=(computed + sent) * (1.0 + 1e-9);
                    assert!(bounds.contains(&step.end()), "{n} {stage} {m} {way}");
                }
            }
        }
    }
}
