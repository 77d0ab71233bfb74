//! Lesson on feeding a GPU: the kernels of the Run's layer against memory and arithmetic, FlashAttention's tiles, and
//! recorded kernels beside predicted ones.

use super::profiled;
use crate::learn::prelude::*;
use shardscope_core::source::{FLASH_2, STAS, TRACELENS};
use shardscope_core::time::kernels;

const B: Slider = slider("b", "sequences of a micro-batch", &[1, 2, 4, 8], 0);
const T: Slider = slider("t", "tensor-parallel ranks", &[1, 2, 4, 8], 1);
const TILE: Slider = slider("B", "queries of a tile", &[16, 32, 64, 128, 256], 3);

pub(super) const LESSON: Lesson = Lesson {
    id: "gpu",
    title: "How a GPU is fed",
    about: "memory against arithmetic, and tiles",
    steps: &[
        LessonStep {
            id: "kernels",
            title: "The kernels of your run",
            sliders: &[B, T],
            live: of_run,
            source: (&STAS, "accelerators, maximum achievable FLOP/s"),
            on_run: (Gauge::Step, &[("tp", "4")]),
        },
        LessonStep {
            id: "tiles",
            title: "FlashAttention: tiles instead of scores",
            sliders: &[SEQUENCE, TILE],
            live: tiles,
            source: (&FLASH_2, "section 3"),
            on_run: (Gauge::Step, &[("flash_attention", "false")]),
        },
        LessonStep {
            id: "profile",
            title: "A profiler's picture, and the calculator's",
            sliders: &[slider("k", "kernels between products", &[0, 1], 0).called(profiled::way)],
            live: profiled::profiled,
            source: (&TRACELENS, "tests/traces/h100, Qwen1.5-0.5B"),
            on_run: (Gauge::Step, &[("stack", "hf-trainer")]),
        },
    ],
};

const BOUND: Scale =
    Scale { parts: &[("bound by arithmetic", Ink::Forward), ("bound by memory", Ink::Exposed)], unit: ("µs", 1e-6) };

/// The Run of the page with these sliders; a default Run where that does not work.
fn scenario(run: &Run, b: u64, t: u64) -> Option<Scenario> {
    let change = |run: &Run| Run { micro_batch: b, tp: t, ..run.clone() };
    Scenario::new(&change(run)).or_else(|_| Scenario::new(&change(&Run::default()))).ok()
}

/// Share of the peak that the kernels of a layer reach together.
fn reached(scenario: &Scenario) -> f64 {
    let kernels = kernels(scenario);
    let seconds: f64 = kernels.iter().map(|kernel| kernel.seconds).sum();
    let work: f64 = kernels.iter().map(|kernel| kernel.flops).sum();
    work / seconds / scenario.gpu.bf16.0
}

/// The share to reach on `run`: half of the way from where the sliders start to the best that they can do, so that
/// every run opens with something to find.
fn aim(run: &Run) -> f64 {
    let at = |b: u64, t: u64| scenario(run, b, t).map_or(0.0, |scenario| reached(&scenario));
    let start = at(B.values[B.start], T.values[T.start]);
    let places = B.values.iter().flat_map(|b| T.values.iter().map(move |t| at(*b, *t)));
    f64::midpoint(start, places.fold(start, f64::max))
}

fn of_run(dials: &Dials) -> Live {
    let Some(scenario) = scenario(dials.run(), dials.get("b"), dials.get("t")) else {
        return Live::default();
    };
    let kernels = kernels(&scenario);
    let ridge = scenario.gpu.bf16.0 / scenario.gpu.hbm.0;
    let bars: Vec<Bar> = kernels
        .iter()
        .map(|kernel| {
            let fed = kernel.intensity() < ridge;
            Bar::new(kernel.name, if fed { [0.0, kernel.seconds] } else { [kernel.seconds, 0.0] })
        })
        .collect();
    let reached = reached(&scenario);
    Live::of([
        t!(
            "A GPU computes {ridge} operations in the time of reading one byte. A kernel with fewer operations per \
                byte waits for memory: norms and activation functions always, matrix products where few tokens use \
                each weight.",
            ridge = number(ridge, 3)
        ),
        t!(
            "The kernels of a layer of your run reach {reached} of the peak. Larger micro-batches feed it better; \
                tensor-parallel ranks make products smaller.",
            reached = show_percent(reached)
        ),
    ])
    .formula(
        "P ≤ min(F, M I),  F = M I at I = F / M",
        format!(
            "{} · 10¹² / ({} · 10¹²) = {}",
            number(scenario.gpu.bf16.0 / 1e12, 3),
            number(scenario.gpu.hbm.0 / 1e12, 3),
            number(ridge, 3)
        ),
    )
    .note(t!("A dense layer with plain attention, in bf16, at the run's sizes; where these sliders do not work on \
        your run, the default run is shown."))
    .above("the share of the peak", reached, aim(dials.run()), show_percent)
    .bars(&BOUND, &bars, None)
}

const MOVED: Scale = Scale { parts: &[("moved to and from memory", Ink::Exposed)], unit: ("GB", 1e9) };
/// Bytes of a number in bf16.
const BYTES: f64 = 2.0;

/// Bytes that attention moves for `heads` of `d` over `s` tokens: with stored scores, and in tiles of `tile` queries.
///
/// Stored: queries, keys, values and output once, scores written and read, and again after the softmax:
/// `4 s d + 4 s²`.
/// In tiles: queries and output once, keys and values once for each tile: `2 s d + 2 s d · s/B`.
fn moved(s: f64, d: f64, heads: f64, tile: f64) -> [f64; 2] {
    [4.0 * s * d + 4.0 * s * s, 2.0 * s * d + 2.0 * s * d * s / tile].map(|numbers| BYTES * heads * numbers)
}

fn tiles(dials: &Dials) -> Live {
    let (s, tile) = (dials.get("s"), dials.get("B"));
    let Some(evaluation) = run(&format!("model=llama-3.1-8b&gpus=8&tp=1&pp=1&seq_len={s}&recompute=full")) else {
        return Live::default();
    };
    let model = &evaluation.scenario.model;
    let (d, heads) = (model.head_dim as f64, model.heads as f64);
    let [stored, tiled] = moved(s as f64, d, heads, tile as f64);
    let bars = [Bar::new("scores stored", [stored]), Bar::new("FlashAttention", [tiled])];
    Live::of([
        t!(
            "Attention that stores its scores writes and reads a number for every pair of tokens: {stored} GB in a \
                layer. The arithmetic units wait for memory meanwhile.",
            stored = number(stored / 1e9, 3)
        ),
        t!(
            "FlashAttention keeps a tile of {tile} queries on the chip and lets keys and values pass by, with running \
                sums instead of scores: {tiled} GB. Scores are never in memory.",
            tile,
            tiled = number(tiled / 1e9, 3)
        ),
    ])
    .formula(
        "stored / tiles ≈ 2 B / d",
        format!("2 · {tile} / {} = {}", model.head_dim, number(2.0 * tile as f64 / d, 3)),
    )
    .note(t!(
        "{model}, one sequence, forward, without a mask; keys and values of a head often stay in the cache \
        between tiles, so memory is read less.",
        model = verbatim("Llama 3.1 8B")
    ))
    .below("the bytes of tiles as a share of those of stored scores", tiled / stored, 0.3, show_percent)
    .bars(&MOVED, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs whose kernels start above and below half of the peak: each opens with a challenge that is open, and that a
    /// place of the sliders answers.
    #[test]
    fn the_kernels_of_any_run_leave_something_to_find() {
        for settings in ["", "model=llama-3.1-70b&tp=8&gpus=64", "seq_len=512&global_batch=512", "gpu=a100-sxm-80gb"] {
            let run = shardscope_core::run::Run::default();
            let pairs: Vec<(&str, String)> =
                settings.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, to)| (key, to.into())).collect();
            let run = run.with_texts(&pairs).unwrap();
            let step = LESSON.steps.iter().find(|step| step.id == "kernels").unwrap();
            let goal = |at: &[usize]| (step.live)(&Dials::new(step.sliders, at).beside(&run)).goal.unwrap();
            assert!(!goal(&[]).is_done(), "{settings}");
            let done = (0..4).flat_map(|b| (0..4).map(move |t| [b, t])).any(|at| goal(&at).is_done());
            assert!(done, "{settings}");
        }
    }

    /// Dao 2022, theorem 2: scores take `Θ(s d + s²)` accesses, tiles `Θ(s² d² / M)` for M numbers on the chip. A
    /// tile of B queries takes M = B d, so for long sequences the ratio is `2 B / d`, and twice the tile halves what is
    /// moved.
    #[test]
    fn tiles_move_less_in_proportion_to_their_size() {
        let traffic = |tile| moved(1e7, 128.0, 1.0, tile);
        let ratio = traffic(128.0)[0] / traffic(128.0)[1];
        assert!((ratio / 2.0 - 1.0).abs() < 1e-3, "{ratio}");
        assert!((traffic(64.0)[1] / traffic(128.0)[1] - 2.0).abs() < 1e-3);
    }
}
