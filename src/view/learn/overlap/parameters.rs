//! Messages of parameters: gradients that leave in buckets, weights that are gathered, and what hiding them costs.

use super::super::lanes::Lanes;
use super::layer::{Layer, copies, index, seconds, three};
use crate::learn::prelude::*;
use shardscope_core::traffic::{CONTENTION, HeldParameters, step_messages};

/// A backward pass whose gradients are sent after every `size` layers.
fn buckets(name: Message, layer: &Layer, layers: u64, size: u64) -> Lanes {
    let mut lanes = Lanes::new(name);
    let backward = (layer.time.backward_input + layer.time.backward_weight).0;
    let mut sharded = HeldParameters::of(&layer.scenario, &[1]);
    sharded.dense *= size as f64;
    let message = step_messages(&layer.scenario, sharded).reduce.0;
    for at in 1..=layers {
        let done = lanes.compute(0.0, backward, Ink::Backward, index(layers - at));
        if at % size == 0 {
            lanes.send(done, message, index(at / size));
        }
    }
    lanes
}

pub(super) fn gradients(dials: &Dials) -> Live {
    let (s, n, k) = (dials.get("s"), dials.get("n"), dials.get("k"));
    let Some(layer) = Layer::of(&copies(s, n, "&zero=0")) else {
        return Live::default();
    };
    let layers = layer.scenario.model.layers;
    let drawn = [
        buckets("Sent at the end".into(), &layer, layers, layers),
        buckets(t!("In buckets of {k} layers", k), &layer, layers, k),
    ];
    let wire = layer.wire(layer.copies());
    let per_byte = layer.per_byte(layer.copies());
    let e = layer.scenario.reduced_gradient();
    let ratio = layer.ratio(Traffic::Dp, wire);
    Live::of([
        t!(
            "Gradients of the last layer are complete when the backward pass has only begun: sent then, they travel \
                while earlier layers compute. Many small messages waste the wire, so {k} layers leave together, in a \
                bucket.",
            k
        ),
        t!(
            "Of {wire} on the wire {part} stay exposed: the last bucket has no compute left to hide behind.",
            wire = seconds(drawn[1].wire()),
            part = seconds(drawn[1].exposed())
        ),
    ])
    .below("the exposed time", drawn[1].exposed(), 0.01, seconds)
    .formula(
        "wire / compute = e F (n − 1) / (2 n T B)",
        format!("{e} · {} · {} / (2 · {n} · {s}) = {}", three(per_byte), n - 1, three(ratio)),
    )
    .note(t!(
        "By the data sheets; a ring leaves a node over all its network cards, {wire}.",
        wire = show_bandwidth(wire.0)
    ))
    .compared(t!(
        "The playbook prints this ratio times the number of parameters, which cancels, and counts elements where this \
            counts bytes."
    ))
    .lanes(&drawn)
}

/// Layers of which the forward pass is drawn.
const DRAWN: u64 = 8;

/// Forward passes of layers whose weights are gathered when they are needed, or while the layer before computes.
fn gathered(name: &'static str, layer: &Layer, ahead: bool) -> Lanes {
    let mut lanes = Lanes::new(name);
    let (gather, forward) = (layer.waits.zero3.forward.comm.0, layer.time.forward.0);
    let (mut before, mut start) = (0.0, 0.0);
    for at in 0..DRAWN {
        let asked = if ahead { start } else { before };
        let here = lanes.send(asked, gather, index(at));
        start = here.max(before);
        before = lanes.compute(here, forward, Ink::Forward, index(at));
    }
    lanes
}

pub(super) fn gathers(dials: &Dials) -> Live {
    let (s, n) = (dials.get("s"), dials.get("n"));
    let Some(layer) = Layer::of(&copies(s, n, "&zero=3")) else {
        return Live::default();
    };
    let drawn =
        [gathered("Gathered when it is needed", &layer, false), gathered("Gathered one layer ahead", &layer, true)];
    let wire = layer.wire(layer.copies());
    let per_byte = layer.per_byte(layer.copies());
    let ratio = layer.ratio(Traffic::Zero3, wire);
    Live::of([
        t!("With ZeRO-3 a rank gathers each layer before it runs. If the layer waits, the GPU is idle while the wire \
                is busy."),
        t!(
            "The order of layers is given, so the next is gathered while this one computes. By the data sheets that \
                hides it from {tokens} tokens per GPU on. The cost: memory for a second layer.",
            tokens = number((ratio * s as f64).ceil(), 4)
        ),
    ])
    .below("the exposed time", drawn[1].exposed(), 0.0012, seconds)
    .formula(
        "wire / compute = e F (n − 1) / (2 n T B)",
        format!("2 · {} · {} / (2 · {n} · {s}) = {}", three(per_byte), n - 1, three(ratio)),
    )
    .note(t!(
        "By the data sheets, over {wire}, e bytes a weight; kernels and wires reach less, which the picture has.",
        wire = show_bandwidth(wire.0)
    ))
    .compared(t!("The playbook counts elements: its ratio has no e."))
    .lanes(&drawn)
}

const PARTS: Scale = Scale {
    parts: &[("hidden", Ink::Forward), ("slows compute", Ink::Backward), ("not hidden", Ink::Exposed)],
    unit: ("s", 1.0),
};

pub(super) fn cost(dials: &Dials) -> Live {
    let (percent, s) = (dials.get("φ"), dials.get("s"));
    let settings = format!(
        "model=llama-3.1-70b&gpus=64&tp=2&cp=2&pp=1&zero=3&global_batch=16&seq_len={s}&stack=megatron-2025&\
            overlap.dp={}",
        percent as f64 / 100.0
    );
    let Some(evaluation) = run(&settings) else {
        return Live::default();
    };
    let rows = &evaluation.report.overlap;
    let bars: Vec<Bar> = rows
        .iter()
        .map(|row| {
            let name = match row.traffic {
                Traffic::Dp => "gradients",
                Traffic::Zero3 => "gathered weights",
                Traffic::Tp => "tensor parallel",
                _ => "context parallel",
            };
            let hidden = (row.comm_s - row.not_hidden_s).0;
            Bar::new(name, [hidden, row.slows_compute_s.0, row.not_hidden_s.0])
        })
        .collect();
    let exposed: f64 = rows.iter().map(|row| row.exposed_s.0).sum();
    let sent: f64 = rows.iter().map(|row| row.comm_s.0).sum();
    let share = exposed / evaluation.report.step.time_s.0;
    let [wire, window, shown] = rows
        .iter()
        .find(|row| row.traffic == Traffic::Zero3)
        .map_or([0.0; 3], |row| [row.comm_s.0, row.compute_s.0, row.exposed_s.0]);
    let hidden = wire.min(window * percent as f64 / 100.0);
    Live::of([
        t!(
            "A hidden message is not free: it shares multiprocessors and memory with kernels and slows them, by {tax} \
                of each hidden second of gradients and gathered weights.",
            tax = show_percent(CONTENTION.value)
        ),
        t!(
            "And only a share of the compute has a message to hide, here {share}. Of {all} on the wire {exposed} \
                lengthen the step, {part} of it.",
            share = show_percent(percent as f64 / 100.0),
            all = seconds(sent),
            exposed = seconds(exposed),
            part = show_percent(share)
        ),
    ])
    .below("the exposed share of the step", share, 0.1, show_percent)
    .formula(
        "exposed = W − H + x H,  H = min(W, φ C)",
        format!(
            "{} − {} + {} · {} = {}",
            seconds(wire),
            seconds(hidden),
            CONTENTION.value,
            seconds(hidden),
            seconds(shown)
        ),
    )
    .note(t!("Values of the gathered weights, both passes together."))
    .bars(&PARTS, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gathered ahead, only the first gather shows where a layer computes longer; gathered late, every one does.
    #[test]
    fn what_is_gathered_ahead_hides() {
        let layer = Layer::of(&copies(32_768, 64, "&zero=3")).unwrap();
        let (gather, forward) = (layer.waits.zero3.forward.comm.0, layer.time.forward.0);
        assert!(gather < forward);
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(gathered("", &layer, true).exposed(), gather));
        assert!(near(gathered("", &layer, false).exposed(), DRAWN as f64 * gather));
    }

    /// Where backward passes are longer than messages, the last bucket is exposed, and more buckets expose less.
    #[test]
    fn the_last_bucket_has_nothing_to_hide_behind() {
        let layer = Layer::of(&copies(32_768, 16, "&zero=0")).unwrap();
        let exposed = |size| buckets("".into(), &layer, 32, size).exposed();
        let mut held = HeldParameters::of(&layer.scenario, &[1]);
        held.dense *= 4.0;
        let message = step_messages(&layer.scenario, held).reduce.0;
        assert!((exposed(4) / message - 1.0).abs() < 1e-9);
        assert!(exposed(4) < exposed(8) && exposed(8) < exposed(32));
    }
}
