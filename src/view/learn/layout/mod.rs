//! Choosing a layout: the recipe of the playbook, and what each size does to throughput and memory.

mod axes;
mod cuts;
mod flow;
mod measured;
mod playbook;
mod restore;

use crate::learn::prelude::*;
use axes::{batch, context, pipeline, tensor};
use shardscope_core::run::Optimizer;
use shardscope_core::search::recipe::walk;
use shardscope_core::source::{FUJII_2024, HE_BLOG, KORTHIKANTI_2022, NARAYANAN_2021, PLAYBOOK};
use shardscope_core::units::GIB;

const S: Slider = slider("s", "tokens of a sequence", &[4096, 8192, 16_384, 32_768], 1);
const G: Slider = slider("G", "GPUs", &[64, 256, 1024], 0);
const N: Slider = slider("n", "data-parallel ranks", &[32, 128, 512], 1);
const B: Slider = slider("b", "sequences of a micro-batch", &[1, 2, 4], 1);
const P: Slider = slider("N", "billions of parameters", &[8, 70, 405], 1);

pub(super) const LESSON: Lesson = Lesson {
    id: "layout",
    title: "Choosing a layout",
    about: "a recipe with real numbers",
    steps: &[
        LessonStep {
            id: "fit",
            title: "First: it must fit",
            sliders: &[S, G],
            live: fit,
            source: (
                &PLAYBOOK,
                "finding the \
            best training configuration, step 1",
            ),
            on_run: (Gauge::Peak, &[("pp", "1"), ("zero", "3")]),
        },
        LessonStep {
            id: "recomputation",
            title: "Longer sequences, or less recomputation",
            sliders: &[TENSOR],
            live: recompute,
            source: (&KORTHIKANTI_2022, "section 5"),
            on_run: (Gauge::Held(Component::Activations), &[("recompute", "full")]),
        },
        LessonStep {
            id: "batch",
            title: "Second: reach the batch",
            sliders: &[N, B],
            live: batch,
            source: (&PLAYBOOK, "finding the best training configuration, step 2"),
            on_run: (Gauge::Step, &[("micro_batch", "2")]),
        },
        LessonStep {
            id: "tensor",
            title: "Third: tensor parallelism up to the node",
            sliders: &[S],
            live: tensor,
            source: (&PLAYBOOK, "finding the best training configuration, step 3"),
            on_run: (Gauge::Step, &[("tp", "8")]),
        },
        LessonStep {
            id: "pipeline",
            title: "Pipelines beyond the node",
            sliders: &[slider("m", "micro-batches", &[8, 32, 128], 1)],
            live: pipeline,
            source: (&NARAYANAN_2021, "section 3"),
            on_run: (Gauge::Bubble, &[("pp", "8")]),
        },
        LessonStep {
            id: "context",
            title: "Context parallelism for long sequences",
            sliders: &[S.over(&[32_768, 131_072, 524_288], 1)],
            live: context,
            source: (&PLAYBOOK, "context parallelism"),
            on_run: (Gauge::Held(Component::Activations), &[("cp", "2")]),
        },
        LessonStep {
            id: "savings",
            title: "What each strategy divides",
            sliders: &[
                S.over(&[1024, 4096, 16_384], 1),
                slider("r", "full recomputation", &[0, 1], 0).called(|at| ["no", "yes"][at]),
            ],
            live: playbook::savings,
            source: (&PLAYBOOK, "5D parallelism in a nutshell"),
            on_run: (Gauge::Peak, &[("recompute", "full")]),
        },
        LessonStep {
            id: "cuts",
            title: "One layer, five ways to cut it",
            sliders: &[
                slider("k", "what cuts it", &[0, 1, 2, 3, 4], 0).called(cuts::way),
                slider("n", "ranks", &[2, 4], 1),
            ],
            live: cuts::cuts,
            source: (&PLAYBOOK, "5D parallelism in a nutshell"),
            on_run: (Gauge::Peak, &[("tp", "4")]),
        },
        LessonStep {
            id: "restore",
            title: "Shrink everything, then restore",
            sliders: &[S.over(&[4096, 8192, 16_384], 1), G.over(&[64, 128, 256], 1)],
            live: restore::restore,
            source: (&HE_BLOG, "shrink everything, then restore one by one"),
            on_run: (Gauge::Step, &[("recompute", "full")]),
        },
        LessonStep {
            id: "nodes",
            title: "The best layouts of one to many nodes",
            sliders: &[
                slider("k", "parameters", &[1, 2, 3, 4], 0).called(|at| ["1.34 B", "3.57 B", "8.86 B", "80 B"][at])
            ],
            live: playbook::nodes,
            source: (&PLAYBOOK, "benchmarking thousands of configurations"),
            on_run: (Gauge::Step, &[("gpus", "128")]),
        },
        LessonStep {
            id: "gpus",
            title: "The same run on more GPUs",
            sliders: &[slider("c", "context-parallel ranks", &[1, 2], 1), slider("p", "pipeline ranks", &[1, 2], 1)],
            live: measured::measured,
            source: (&FUJII_2024, "table 3"),
            on_run: (Gauge::Step, &[("cp", "2")]),
        },
        LessonStep {
            id: "recipe",
            title: "The whole recipe",
            sliders: &[P, G.over(&[64, 512, 2048], 1)],
            live: recipe,
            source: (&PLAYBOOK, "finding the best training configuration"),
            on_run: (Gauge::Step, &[("pp", "1")]),
        },
        LessonStep {
            id: "flow",
            title: "The recipe on your run",
            sliders: &[slider("x", "times the GPUs of your run", &[1, 2, 4], 0)],
            live: flow::flow,
            source: (&PLAYBOOK, "finding the best training configuration"),
            on_run: (Gauge::Step, &[("micro_batch", "2")]),
        },
    ],
};

/// Llama 3.1 70B, cut as `more` says.
fn large(s: u64, gpus: u64, more: &str) -> String {
    format!("model=llama-3.1-70b&seq_len={s}&gpus={gpus}&global_batch=1024&{more}")
}

fn fit(dials: &Dials) -> Live {
    let (s, gpus) = (dials.get("s"), dials.get("G"));
    let Some(evaluation) = run(&large(s, gpus, "tp=8&pp=1")) else {
        return Live::default();
    };
    let strategies = [
        ("ZeRO-1", "tp=1&pp=1&zero=1"),
        ("ZeRO-3", "tp=1&pp=1&zero=3"),
        ("TP 8 · ZeRO-1", "tp=8&pp=1&zero=1"),
        ("TP 8 · ZeRO-3", "tp=8&pp=1&zero=3"),
        ("TP 8 · PP 4 · ZeRO-1", "tp=8&pp=4&zero=1"),
    ];
    let named = strategies.map(|(name, more)| (verbatim(name), more));
    let again = t!("{layout}, all recomputed", layout = verbatim("ZeRO-3"));
    let bars: Vec<Bar> = named
        .into_iter()
        .chain([(again, "tp=1&pp=1&zero=3&recompute=full")])
        .filter_map(|(name, more)| Bar::memory(name, &large(s, gpus, more)))
        .collect();
    let precision = evaluation.scenario.precision;
    let each = precision.weights + precision.gradients() + precision.optimizer(Optimizer::Adam);
    let parameters = evaluation.report.parameters.total as f64;
    let size = usable();
    let fitting = bars.iter().filter(|bar| bar.total() <= size).count();
    let values = format!(
        "{} · {} · 10⁹ / {gpus} = {}",
        number(each, 3),
        significant(parameters / 1e9, 3),
        gib(each * parameters / gpus as f64)
    );
    Live::of([
        t!(
            "A layout must fit into memory before its speed matters. Each strategy divides something else: ZeRO \
                optimizer states, gradients and weights; tensor parallelism matrices and activations; pipelines layers."
        ),
        t!(
            "Of these {count} layouts, with {parameters} parameters on {gpus} GPUs, {fitting} need less than {size}. \
                A strategy that divides only states leaves activations whole.",
            count = bars.len(),
            parameters = show_count(parameters),
            gpus,
            fitting,
            size = gib(size)
        ),
    ])
    .above("the number of layouts that fit", fitting as f64, 3.5, |count| number(count, 2))
    .formula("M ≥ 18 P / G", values)
    .note(t!("Weights, gradients and optimizer states, if every byte were held once; the bars hold activations and \
        buffers too."))
    .memory(&bars)
}

fn recompute(dials: &Dials) -> Live {
    let t = dials.get("t");
    let settings =
        |s: u64, kind: &str| format!("model=llama-3.1-8b&gpus=64&pp=1&zero=1&tp={t}&seq_len={s}&recompute={kind}");
    let kinds = ["none", "full"];
    let bars: Vec<Bar> = [4096, 16_384, 65_536]
        .into_iter()
        .flat_map(|s| kinds.map(|kind| (s, kind)))
        .filter_map(|(s, kind)| {
            let name = t!("{s} tokens, {kind}", s, kind);
            Bar::memory(name, &settings(s, kind))
        })
        .collect();
    let compute = |kind| run(&settings(16_384, kind)).map_or(0.0, |evaluation| evaluation.report.step.compute_s.0);
    let [none, full] = kinds.map(compute);
    Live::of([
        t!("States stay the same however long the sequence is; activations grow with it, and soon they are most of \
                the memory."),
        t!(
            "Full recomputation keeps only the input of each layer, for {full} more compute at {s} tokens. \
                FlashAttention keeps no scores, so recomputing attention alone saves nothing here. More \
                tensor-parallel ranks divide activations too, but send more.",
            full = show_percent(full / none - 1.0),
            s = 16_384_u64
        ),
    ])
    .below(
        "the memory of the longest sequence with recomputation",
        total(&bars, bars.len().saturating_sub(1)),
        40.0 * GIB,
        gib,
    )
    .formula(
        "full / none ≤ (2 + 4 + 2) / (2 + 4)",
        format!("{} / {} = {}", show_seconds(Seconds(full)), show_seconds(Seconds(none)), significant(full / none, 3)),
    )
    .note(t!("A forward pass takes two operations per parameter and token, a backward pass four; the head is not run \
        again."))
    .memory(&bars)
}

const TIME: Scale = Scale { parts: &[("step time", Ink::Forward)], unit: ("s", 1.0) };

fn recipe(dials: &Dials) -> Live {
    let (parameters, gpus) = (dials.get("N"), dials.get("G"));
    let settings = [
        ("model", format!("llama-3.1-{parameters}b")),
        ("gpus", gpus.to_string()),
        ("global_batch", "2048".to_owned()),
        ("stack", "megatron-2025".to_owned()),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value));
    let (run, _) = Run::from_pairs(&settings);
    let walked = walk(&run, None);
    let mut bars: Vec<Bar> = walked
        .steps
        .iter()
        .zip(1_usize..)
        .map(|(step, number)| {
            let name = t!("{number} {title}", number, title = step.title);
            Bar::new(name, [step.time_s])
        })
        .collect();
    let outcome = if bars.is_empty() {
        bars.push(Bar::new("nothing fits", [0.0]));
        t!("With {parameters} B parameters on {gpus} GPUs none of its rules fits.", parameters, gpus)
    } else {
        t!(
            "With {parameters} B parameters on {gpus} GPUs it goes from {before} per step to {after}.",
            parameters,
            gpus,
            before = show_seconds(Seconds(total(&bars, 0))),
            after = show_seconds(Seconds(total(&bars, bars.len() - 1)))
        )
    };
    let text = vec![
        t!("Put together: find the simplest layout that fits, reach the batch, then change one size at a time and \
                keep what is faster."),
        outcome,
        t!("It misses changes that only win together, so the page searches all combinations. But each of its steps \
                says why."),
    ];
    let steps = walked.steps.iter().map(|step| bullet(&step.text));
    let steps = el("ol", &[], &[steps.collect()]);
    let [first, last] = [0, bars.len() - 1].map(|at| total(&bars, at));
    let live = Live::of(text)
        .below("the step time at the end", last, 10.0, |seconds| show_seconds(Seconds(seconds)))
        .formula(
            "gain = T₁ / T₂",
            format!(
                "{} / {} = {}",
                show_seconds(Seconds(first)),
                show_seconds(Seconds(last)),
                significant(first / last.max(1e-9), 3)
            ),
        )
        .bars(&TIME, &bars, None);
    Live { table: Node::from_iter([steps, live.table]), ..live }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ZeRO`, section 5: what is sharded over all GPUs is divided by them, so no layout holds less than `18 P / G`
    /// bytes.
    #[test]
    fn no_strategy_holds_less_than_one_copy_of_every_byte() {
        for gpus in [64, 256, 1024] {
            let least = 18.0 * 70.55e9 / gpus as f64;
            let bar = Bar::memory("", &large(4096, gpus, "tp=1&pp=1&zero=3&recompute=full")).unwrap();
            let states: f64 = bar.values.iter().take(3).sum();
            assert!((states / least - 1.0).abs() < 0.01, "{gpus}: {states} {least}");
            assert!(total(&[bar], 0) > least);
        }
    }
}
