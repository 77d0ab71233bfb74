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

/// Bytes of a bucket by default: PyTorch's `DistributedDataParallel`, `bucket_cap_mb` of 25.
const BUCKET: f64 = 25.0 * 1024.0 * 1024.0;

/// Bytes of the gradients of a layer.
fn layer_gradients(layer: &Layer) -> f64 {
    HeldParameters::of(&layer.scenario, &[1]).total() * layer.scenario.reduced_gradient()
}

pub(super) fn gradients(dials: &Dials) -> Live {
    let (s, n, k) = (dials.get("s"), dials.get("n"), dials.get("k"));
    let Some(layer) = Layer::of(&copies(s, n, "&zero=0")) else {
        return Live::default();
    };
    let layers = layer.scenario.model.layers;
    let drawn = [
        buckets("Sent at the end".into(), &layer, layers, layers),
        buckets(t!("In buckets of {layers}", layers = counts::layers(k)), &layer, layers, k),
    ];
    let wire = layer.wire(layer.copies());
    let per_byte = layer.per_byte(layer.copies());
    let e = layer.scenario.reduced_gradient();
    let ratio = layer.ratio(Traffic::Dp, wire);
    Live::of([
        t!(
            "Gradients of the last layer are complete when the backward pass has only begun: sent then, they travel \
                while earlier layers compute. Many small messages waste the wire, so {layers} at a time leave in a \
                bucket.",
            layers = counts::layers(k)
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
    .note(Message::joined(
        " ",
        [
            t!(
                "By the data sheets; a ring leaves a node over all its network cards, {wire}.",
                wire = show_bandwidth(wire.0)
            ),
            t!(
                "PyTorch's DDP fills buckets of {size}; the gradients of a layer here are {bytes}, {count} of them.",
                size = show_bytes(Bytes(BUCKET)),
                bytes = show_bytes(Bytes(layer_gradients(&layer))),
                count = number((layer_gradients(&layer) / BUCKET).ceil(), 4)
            ),
        ],
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

/// Gathers of a step of ZeRO-3, as a formula with its value.
fn gathers_of_a_step(layers: u64) -> String {
    format!("2 L − 1 = {}", 2 * layers - 1)
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
    .note(Message::joined(
        " ",
        [
            t!(
                "By the data sheets, over {wire}, e bytes a weight; kernels and wires reach less, which the picture \
                    has.",
                wire = show_bandwidth(wire.0)
            ),
            t!(
                "A step of {layers} layers gathers {formula} times: each in the forward pass, and all but the last, \
                    which is still there, in the backward pass.",
                layers = layer.scenario.model.layers,
                formula = gathers_of_a_step(layer.scenario.model.layers)
            ),
        ],
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

    /// Llama 3.1 8B by hand: a layer has 2 · 4096 · (4096 + 1024) + 3 · 4096 · 14336 parameters in its matrices and
    /// 2 · 4096 in its norms. The playbook counts 2 L − 1 gathers a step of ZeRO-3.
    #[test]
    fn a_layers_gradients_fill_many_buckets_and_a_step_gathers_all_layers_but_one_twice() {
        let layer = Layer::of(&copies(8192, 16, "&zero=0")).unwrap();
        let elements = HeldParameters::of(&layer.scenario, &[1]).total();
        assert_eq!(elements, 2.0 * 4096.0 * (4096.0 + 1024.0) + 3.0 * 4096.0 * 14_336.0 + 2.0 * 4096.0);
        let note = super::super::LESSON.steps.iter().find(|step| step.id == "gathers").unwrap();
        let note = (note.live)(&Dials::new(note.sliders, &[])).note.to_string();
        assert!(note.contains("gathers 2 L − 1 = 63 times"), "{note}");
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
