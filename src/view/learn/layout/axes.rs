//! Throughput and memory along one size of the layout, the others as they are.

use crate::learn::prelude::*;
use shardscope_core::traffic::playbook_ratio;
use shardscope_core::units::GIB;

/// A point of an axis: the size, tokens a second and GPU, bytes of the fullest rank, and the bubble.
struct Point {
    size: u64,
    speed: f64,
    bytes: f64,
    bubble: f64,
}

/// The points at `sizes` of the Runs that `settings` says; sizes that make no Run are left out.
fn along(sizes: &[u64], settings: impl Fn(u64) -> String) -> Vec<Point> {
    let point = |size: &u64| {
        let evaluation = run(&settings(*size))?;
        Some(Point {
            size: *size,
            speed: evaluation.report.step.tokens_per_s_per_gpu,
            bytes: evaluation.report.memory.peak_bytes.0,
            bubble: evaluation.report.pipeline.bubble_fraction,
        })
    };
    sizes.iter().filter_map(point).collect()
}

/// A figure at `size`; 0 where there is no such point.
fn at(points: &[Point], size: u64, of: fn(&Point) -> f64) -> f64 {
    points.iter().find(|point| point.size == size).map_or(0.0, of)
}

fn speed(points: &[Point], size: u64) -> f64 {
    at(points, size, |point| point.speed)
}

fn bytes(points: &[Point], size: u64) -> String {
    gib(at(points, size, |point| point.bytes))
}

impl Live {
    fn axis(self, name: &'static str, points: &[Point]) -> Self {
        let line = |name: &'static str, ink, of: fn(&Point) -> f64| Line {
            name: name.into(),
            ink,
            points: points.iter().map(|point| (point.size as f64, of(point))).collect(),
            marks: Marks::Dots,
        };
        let plot = |name, line, level| Plot { up: Axis { name, spacing: Spacing::Linear }, lines: vec![line], level };
        let level = (usable() / GIB, t!("usable: {size}", size = gib(usable())));
        let plots = [
            plot("tokens per second and GPU", line("throughput", Ink::Forward, |point| point.speed), None),
            plot("GiB of the fullest GPU", line("memory", Ink::Memory(3), |point| point.bytes / GIB), Some(level)),
        ];
        let rows = points.iter().map(|point| {
            let figures = [
                point.size.to_string(),
                significant(point.speed, 3),
                significant(point.bytes / GIB, 3),
                show_percent(point.bubble),
            ];
            figures.map(verbatim).to_vec()
        });
        let across = Axis { name, spacing: Spacing::Doublings };
        let head = [name, "tokens per second and GPU", "GiB", "bubble"];
        self.plots(across, &plots, &head, rows.collect())
    }
}

/// Loss from `before` to `after`.
fn lost(points: &[Point], before: u64, after: u64) -> String {
    show_percent((1.0 - speed(points, after) / speed(points, before).max(1e-9)).max(0.0))
}

/// Sequences of the playbook's example: a batch of 4 M tokens.
const SEQUENCES: u64 = 1024;

fn copies(n: u64, b: u64) -> String {
    format!(
        "model=llama-3.1-8b&tp=1&pp=1&zero=1&seq_len=4096&recompute=full&gpus={n}&micro_batch={b}&\
            global_batch={SEQUENCES}"
    )
}

pub(super) fn batch(dials: &Dials) -> Live {
    let (n, b) = (dials.get("n"), dials.get("b"));
    let points = along(&[8, 16, 32, 64, 128, 256, 512, 1024], |n| copies(n, b));
    let steps = run(&copies(n, b)).map_or(0, |evaluation| evaluation.report.layout.microbatches);
    Live::of([
        t!(
            "The batch follows from the training itself, and the layout must reach it exactly: what one pass of {n} \
                copies with micro-batches of {b} does not reach is accumulated over {passes}.",
            n,
            b,
            passes = counts::passes(steps)
        ),
        t!(
            "More copies take fewer passes each, but gradients are sent once per update: from {few} copies to {many} \
                throughput per GPU falls by {lost}.",
            few = points.first().map_or(0, |point| point.size),
            many = points.last().map_or(0, |point| point.size),
            lost = lost(
                &points,
                points.first().map_or(0, |point| point.size),
                points.last().map_or(0, |point| point.size)
            )
        ),
    ])
    .below("the number of passes", steps as f64, 2.0, |steps| number(steps, 3))
    .formula("accumulation = B / (b n)", format!("{SEQUENCES} / ({b} · {n}) = {steps}"))
    .note(t!(
        "A batch of {tokens} M tokens, the playbook's example.",
        tokens = number((SEQUENCES * 4096) as f64 / 1e6, 2)
    ))
    .axis("data-parallel ranks", &points)
}

/// Losses that the playbook measured on its cluster from 8 ranks to 16: tensor parallel, pipeline.
const MEASURED: [f64; 2] = [0.43, 0.14];

fn measured(share: f64) -> Message {
    t!(
        "The playbook measured {share} less from {before} ranks to {after}, on its cluster.",
        share = show_percent(share),
        before = 8_u8,
        after = 16_u8
    )
}

pub(super) fn tensor(dials: &Dials) -> Live {
    let s = dials.get("s");
    let settings = |t: u64| {
        let gpus = 16 * t;
        format!("model=llama-3.1-70b&seq_len={s}&tp={t}&pp=4&gpus={gpus}&global_batch=64")
    };
    let points = along(&[1, 2, 4, 8, 16, 32], settings);
    let (layers, hidden) = run(&settings(8)).map_or((0, 0), |evaluation| {
        let model = evaluation.scenario.model;
        (model.layers, model.hidden)
    });
    Live::of([
        t!(
            "With memory and batch settled, throughput decides. Tensor parallelism divides weights and activations, \
                here from {one} to {eight} with eight ranks.",
            one = bytes(&points, 1),
            eight = bytes(&points, 8)
        ),
        t!(
            "The cost: messages in every layer, and smaller products. Up to {node} ranks a GPU loses {inside}; twice \
                as many leave the node and lose another {outside}. So the recipe goes up to the node.",
            node = 8_u8,
            inside = lost(&points, 1, 8),
            outside = lost(&points, 8, 16)
        ),
    ])
    .below("the loss outside the node", 1.0 - speed(&points, 16) / speed(&points, 8).max(1e-9), 0.3, show_percent)
    .formula(
        "elements = 8 L T h (t − 1) / t",
        format!(
            "8 · {layers} · {s} · {hidden} · 7 / 8 = {} · 10⁹",
            significant(7.0 * (layers * s * hidden) as f64 / 1e9, 3)
        ),
    )
    .compared(measured(MEASURED[0]))
    .axis("tensor-parallel ranks", &points)
}

pub(super) fn pipeline(dials: &Dials) -> Live {
    let m = dials.get("m");
    let points = along(&[1, 2, 4, 8, 16], |p| {
        let (gpus, batch) = (32 * p, 4 * m);
        format!("model=llama-3.1-70b&seq_len=8192&tp=8&pp={p}&gpus={gpus}&global_batch={batch}")
    });
    let bubble = |p: u64| at(&points, p, |point| point.bubble);
    Live::of([
        t!(
            "A model too large for one node is cut by layers: stages send only the tokens between them, so they may \
                stand on different nodes. Memory falls from {one} to {eight} with {ranks} stages.",
            one = bytes(&points, 1),
            eight = bytes(&points, 8),
            ranks = 8_u8
        ),
        t!(
            "The cost is the bubble, {bubble} with {m} micro-batches. Activations hardly shrink: a rank holds fewer \
                layers, but more micro-batches.",
            bubble = show_percent(bubble(8)),
            m
        ),
    ])
    .below("the bubble of eight stages", bubble(8), 0.2, show_percent)
    .formula("bubble = (p − 1) / (m + p − 1)", format!("7 / ({m} + 7) = {}", show_percent(7.0 / (m as f64 + 7.0))))
    .note(t!("The simulated bubble is larger than the formula's, because the last stage has the output head besides \
        its layers."))
    .compared(Message::joined(" ", [measured(MEASURED[1]), message()]))
    .axis("pipeline ranks", &points)
}

/// Share of a message between stages in the next stage's forward pass, beside the figures that the sources print.
fn message() -> Message {
    let settings = "model=llama-3.1-70b&seq_len=8192&tp=8&pp=8&gpus=64&global_batch=64";
    let ratio = run(settings).and_then(|it| {
        let layers = it.scenario.model.layers as f64 / 8.0;
        playbook_ratio(&it.scenario, Traffic::Pp, it.scenario.gpu.inter, 1.0, layers)
    });
    let [sent, printed] = ratio.map_or([0.0; 2], |it| [it.corrected, it.printed]);
    t!(
        "A message takes {sent} of the next stage's forward pass; the playbook counts elements, not bytes, and would \
            say {printed}. Pengfei He's blog divides activations by the ranks too: with 1F1B the first holds as many \
            more micro-batches as it holds fewer layers.",
        sent = show_percent(sent),
        printed = show_percent(printed)
    )
}

pub(super) fn context(dials: &Dials) -> Live {
    let s = dials.get("s");
    let points = along(&[1, 2, 4, 8, 16, 32], |c| {
        let gpus = 16 * c;
        format!("model=llama-3.1-8b&seq_len={s}&tp=8&pp=1&cp={c}&gpus={gpus}&global_batch=16")
    });
    let fits = points.iter().find(|point| point.bytes < usable());
    Live::of([
        t!(
            "Of {s} tokens even one sequence may not fit: {one} on eight GPUs. No batch is smaller than that, so the \
                sequence itself is cut.",
            s,
            one = bytes(&points, 1)
        ),
        match fits {
            Some(point) => t!(
                "Activations are divided by the ranks, weights are not. It fits from {ranks} on.",
                ranks = counts::ranks(point.size)
            ),
            None => t!(
                "Activations are divided by the ranks, weights are not. It does not fit with any number of ranks shown."
            ),
        },
        t!(
            "Long attention hides the exchange of keys and values: at {many} ranks a GPU still loses {lost}.",
            many = points.last().map_or(0, |point| point.size),
            lost = lost(&points, 1, points.last().map_or(0, |point| point.size))
        ),
    ])
    .below("the ranks that it takes to fit", fits.map_or(64.0, |point| point.size as f64), 2.0, |ranks| {
        number(ranks, 3)
    })
    .formula(
        "tokens per rank = s / c",
        format!("{s} / {} = {}", fits.map_or(1, |point| point.size), s / fits.map_or(1, |point| point.size)),
    )
    .axis("context-parallel ranks", &points)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Playbook, appendix A3: `F / (32 h L B)` elements, so twice that in bytes; over 400 Gbit/s, h 8192 and 10 layers.
    #[test]
    fn a_message_between_stages_is_counted_in_bytes() {
        let ratio = 989e12 / (32.0 * 8192.0 * 10.0 * 50e9);
        let note = message().to_string();
        for share in [2.0 * ratio, ratio] {
            assert!(note.contains(&show_percent(share)), "{share}: {note}");
        }
    }

    /// Playbook: 4 M tokens of sequences of 4096 are 1024; micro-batches of 2 on 128 GPUs are accumulated over 4
    /// passes, on 512 over 1.
    #[test]
    fn the_playbooks_example_of_accumulation_comes_out() {
        assert_eq!(SEQUENCES * 4096, 4 << 20);
        for (n, steps) in [(128, 4), (512, 1)] {
            assert_eq!(run(&copies(n, 2)).unwrap().report.layout.microbatches, steps);
        }
    }
}
