//! Messages of activations: those of a tensor-parallel layer, and blocks of keys and values on a ring.

use super::super::lanes::Lanes;
use super::layer::{Layer, cut, index, seconds, three};
use crate::learn::prelude::*;
use shardscope_core::cluster::ParallelAxis;
use shardscope_core::time::kernels;
use shardscope_core::traffic::ring_block_ratio;

/// The forward pass of one layer over `t` tensor-parallel ranks, whose messages are sent whole or in `chunks`.
fn halves(name: Message, layer: &Layer, chunks: u64) -> Lanes {
    let mut lanes = Lanes::new(name);
    let message = layer.waits.tp.forward.comm.0 / 4.0;
    let [norms, qkv, rotary, attention, out, up, activation, down] =
        kernels(&layer.scenario).map(|kernel| kernel.seconds);
    let pieces = chunks as f64;
    for (first, between, last) in [(qkv, rotary + attention, out), (up, activation, down)] {
        let mut ready = lanes.compute(lanes.end(), norms / 2.0, Ink::Forward, "");
        let mut done = ready;
        for _ in 0..chunks {
            ready = lanes.send(ready, message / pieces, "");
            done = lanes.compute(ready, first / pieces, Ink::Forward, "");
        }
        lanes.compute(done, between, Ink::Forward, "");
        for _ in 0..chunks {
            let done = lanes.compute(0.0, last / pieces, Ink::Forward, "");
            lanes.send(done, message / pieces, "");
        }
    }
    lanes
}

pub(super) fn tensor(dials: &Dials) -> Live {
    let (s, t) = (dials.get("s"), dials.get("t"));
    let Some(layer) = Layer::of(&cut(s, t, 1, "")) else {
        return Live::default();
    };
    let drawn = [halves("Messages as a whole".into(), &layer, 1), halves(t!("In {t} chunks", t), &layer, t)];
    let group = layer.scenario.layout.mesh().group(ParallelAxis::Tp);
    let ratio = layer.ratio(Traffic::Tp, layer.wire(group));
    let h = layer.scenario.model.hidden;
    Live::of([
        t!("Ranks that cut a layer's matrices exchange its tokens four times in a forward pass. The next product \
                needs the message: nothing runs beside it."),
        t!(
            "Cut both into chunks: a product works on one while the next arrives. Exposed are {after} of a layer \
                instead of {before}. The cost: smaller products are slower.",
            after = seconds(drawn[1].exposed()),
            before = seconds(drawn[0].exposed())
        ),
    ])
    .below("the exposed time in chunks", drawn[1].exposed(), 1e-4, seconds)
    .formula(
        "wire / compute = e F (t − 1) / (2 h B)",
        format!("2 · {} · {} / (2 · {h}) = {}", three(layer.per_byte(group)), t - 1, three(ratio)),
    )
    .note(t!(
        "Of one product as wide as the hidden size, with e bytes a number. Other products of a layer are wider, so \
            the layer as a whole does better. The picture leaves out that products of chunks are slower."
    ))
    .compared(t!("The playbook counts elements: its ratio has no e."))
    .lanes(&drawn)
}

/// Attention over the blocks of `c` ranks, each sent on while it is attended to; or all gathered first.
fn blocks(name: &'static str, layer: &Layer, c: u64) -> Lanes {
    let mut lanes = Lanes::new(name);
    let block = layer.time.attention_forward.0 / c as f64;
    let wire = layer.waits.cp.forward.comm.0;
    if layer.waits.cp.forward.window.0 > 0.0 {
        let (mut here, send) = (0.0, wire / (c - 1) as f64);
        for at in 0..c {
            let asked = here;
            lanes.compute(here, block, Ink::Forward, index(at));
            if at + 1 < c {
                here = lanes.send(asked, send, index(at + 1));
            }
        }
    } else {
        let here = lanes.send(0.0, wire, "");
        lanes.compute(here, block * c as f64, Ink::Forward, "");
    }
    lanes
}

pub(super) fn ring(dials: &Dials) -> Live {
    let (s, c) = (dials.get("s"), dials.get("c"));
    let layer_with = |more| Layer::of(&cut(s, 8, c, more));
    let (Some(layer), Some(gather)) = (layer_with("&cp_comm=ring"), layer_with("&cp_comm=all-gather")) else {
        return Live::default();
    };
    let drawn = [
        blocks("All keys and values gathered first", &gather, c),
        blocks("Block after block around the ring", &layer, c),
    ];
    let model = &layer.scenario.model;
    let share = model.kv_heads as f64 / model.heads as f64;
    let per_byte = layer.per_byte(layer.scenario.layout.mesh().group(ParallelAxis::Cp));
    let piece = s as f64 / c as f64;
    let ratio = |tokens| ring_block_ratio(share, tokens, true, per_byte);
    Live::of([
        t!(
            "A sequence is cut over {c} ranks, and keys and values travel around a ring: each rank attends to the \
                block that it has and sends it on meanwhile.",
            c
        ),
        t!(
            "{part} stay exposed, and {before} if everything were gathered first. Attention grows with the square of \
                the tokens: blocks hide from {needed} tokens per rank on.",
            part = seconds(drawn[1].exposed()),
            before = seconds(drawn[0].exposed()),
            needed = number(ratio(1.0).round(), 4)
        ),
    ])
    .below("the ratio of a transfer to the attention of a block", ratio(piece), 0.2, three)
    .formula(
        "wire / compute = 2 (k / a) F / ((s / c) B)",
        format!(
            "2 · {} / {} · {} / {} = {}",
            model.kv_heads,
            model.heads,
            three(per_byte),
            number(piece, 4),
            three(ratio(piece))
        ),
    )
    .note(t!(
        "k of a heads have keys and values of their own; a causal mask halves the attention, hence the factor. Ranks \
            exchange over the network: the tensor-parallel ranks fill the node."
    ))
    .lanes(&drawn)
}

#[cfg(test)]
mod tests {
    use super::super::layer::copies;
    use super::*;
    use shardscope_core::units::BytesPerSecond;

    /// The playbook's appendix A3 in bytes: TP 8 at hidden size 8192 on H100 gives 1.88 for one product; ring attention
    /// of Llama 3.1 70B hides from 4.9 k tokens a rank on over 400 Gbit/s; bf16 weights from 19.8 k tokens.
    #[test]
    fn the_ratios_are_those_of_the_playbook_in_bytes() {
        let layer = Layer::of(&cut(8192, 8, 2, "")).unwrap();
        assert_eq!(three(layer.ratio(Traffic::Tp, BytesPerSecond(450e9))), "1.88");
        let per_byte = layer.per_byte(layer.scenario.layout.mesh().group(ParallelAxis::Cp));
        assert_eq!(three(ring_block_ratio(0.125, 1.0, true, per_byte) / 1e3), "4.95");
        let layer = Layer::of(&copies(4096, 256, "&zero=3")).unwrap();
        let tokens = layer.ratio(Traffic::Zero3, BytesPerSecond(50e9)) * 4096.0 * 256.0 / 255.0;
        assert_eq!(three(tokens / 1e3), "19.8");
    }
}
