//! A step of reinforcement learning: why the end of generation idles, what older weights buy, the split of the GPUs,
//! and one group of them or two.

use crate::learn::prelude::*;
use shardscope_core::rl::{GpuGroup, RlStep, SplitPoint, predict, step};
use shardscope_core::source::{AREAL, NEMO_RL, TRL_COLOCATED, VERL};

const LIMIT: Slider = slider("R", "tokens at which a response is cut", &[2048, 4096, 8192, 16_384], 2);
const STALE: Slider = slider("η", "steps by which responses may be older", &[0, 1, 2, 4], 0);
const ENGINES: Slider = slider("g", "GPUs that generate", &[8, 16, 24, 32, 40, 48, 56], 5);
const PLACE: Slider = slider("w", "where the engines stand", &[0, 1, 2], 1).called(place_name);

pub(super) const LESSON: Lesson = Lesson {
    id: "rl",
    title: "Reinforcement learning",
    about: "generation, staleness, split",
    steps: &[
        LessonStep {
            id: "tail",
            title: "The longest response decides",
            sliders: &[LIMIT],
            live: tail,
            source: (&NEMO_RL, "docs/about/performance-summary.md: longest and mean sequences"),
            on_run: (Gauge::RlStep, &[("rl.response_limit", "4096")]),
        },
        LessonStep {
            id: "staleness",
            title: "What staleness buys",
            sliders: &[STALE],
            live: staleness,
            source: (&AREAL, "areal/core/staleness_manager.py"),
            on_run: (Gauge::RlStep, &[("rl.rollout_gpus", "32"), ("rl.staleness", "1")]),
        },
        LessonStep {
            id: "split",
            title: "How to split the GPUs",
            sliders: &[ENGINES],
            live: split,
            source: (&VERL, "docs/advance/dynamic_schedule.md"),
            on_run: (Gauge::RlStep, &[("rl.rollout_gpus", "48"), ("rl.staleness", "1")]),
        },
        LessonStep {
            id: "place",
            title: "One group of GPUs or two",
            sliders: &[PLACE],
            live: place,
            source: (&TRL_COLOCATED, "the whole text"),
            on_run: (Gauge::RlStep, &[("rl.rollout_gpus", "32")]),
        },
    ],
};

/// Qwen3 32B by GRPO on 64 H100: 256 prompts with 8 responses of 1500 tokens.
const RUN: &str = "model=qwen-3-32b&gpus=64&tp=8&pp=1&seq_len=4096&stack=megatron-2025&phases.framework=nemo-rl\
    &rl.algorithm=grpo&rl.prompts=256&rl.samples=8&rl.prompt_tokens=100&rl.response_tokens.mean=1500&rl.rollout_tp=4";

const PHASES: Scale = Scale {
    parts: &[("generate", Ink::Forward), ("the last tenth of the responses", Ink::Exposed), ("rest", Ink::Memory(4))],
    unit: ("s", 1.0),
};

const WAITS: Scale = Scale { parts: &[("works", Ink::Forward), ("waits", Ink::Exposed)], unit: ("s", 1.0) };

/// A run with all that a step of reinforcement learning needs: settings as in a link.
pub(super) fn complete() -> String {
    format!("{RUN}&rl.response_limit=8192")
}

/// The run of the lesson with `more` settings.
fn with(more: &str) -> Option<Run> {
    let text = format!("{RUN}{more}");
    let pairs: Vec<(String, String)> = text
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let (run, issues) = Run::from_pairs(&pairs);
    issues.is_empty().then_some(run)
}

fn step_of(more: &str) -> Option<RlStep> {
    predict(&with(more)?).ok()
}

/// Seconds of decoding while a tenth of the responses or less is left.
fn tail_of(step: &RlStep) -> f64 {
    let tail = step.phases.iter().filter(|phase| phase.name.id() == "tail");
    tail.map(|phase| phase.seconds.0).sum()
}

fn tail(dials: &Dials) -> Live {
    let at = |limit: u64| step_of(&format!("&rl.response_limit={limit}"));
    let bars = LIMIT.values.iter().filter_map(|limit| {
        let step = at(*limit)?;
        let (generation, tail) = (step.generation_s.0, tail_of(&step));
        Some(Bar::new(t!("{limit} tokens", limit), [generation - tail, tail, step.step_s.0 - generation]))
    });
    let bars: Vec<Bar> = bars.collect();
    let limit = dials.get("R");
    let Some(step) = at(limit) else { return Live::default() };
    Live::of([
        t!(
            "Responses that start together end at different times, and the step waits for the longest. Cut at {limit} \
                tokens, places of the engines work {busy} of the time.",
            limit,
            busy = show_percent(step.busy)
        ),
        t!(
            "While few responses are left, weights are read for them alone: the last tenth takes {tail} of {all}. The \
                limit, not the mean, sets the time.",
            tail = show_seconds(Seconds(tail_of(&step))),
            all = show_seconds(step.generation_s)
        ),
    ])
    .formula(
        "idle = 1 − ℓ / longest",
        format!("1 − 1500 / {} = {}", number((1500.0 / step.busy).round(), 5), show_percent(1.0 - step.busy)),
    )
    .note(t!("Lengths are spread log-normally, by an assumed sigma: no published run prints it."))
    .below("the idle share of the engines' places", 1.0 - step.busy, 0.5, show_percent)
    .bars(&PHASES, &bars, None)
}

/// The step on two groups of 32 GPUs, with responses up to `steps` old.
fn stale_step(steps: u64) -> Option<RlStep> {
    step_of(&format!("&rl.response_limit=4096&rl.rollout_gpus=32&rl.staleness={steps}"))
}

/// The share of a step in which a group waits.
fn idle_of(step: &RlStep, group: GpuGroup) -> f64 {
    step.idle.iter().find(|idle| idle.group == group).map_or(0.0, |idle| idle.share)
}

/// The share of all GPU time that waits.
fn waiting(run: &Run, step: &RlStep) -> f64 {
    let engines = step.rollout_gpus as f64 / run.gpus as f64;
    let trainer = idle_of(step, GpuGroup::Trainer) * (1.0 - engines);
    idle_of(step, GpuGroup::All) + idle_of(step, GpuGroup::Engines) * engines + trainer
}

fn staleness(dials: &Dials) -> Live {
    let bars = STALE.values.iter().filter_map(|steps| {
        let step = stale_step(*steps)?;
        let waits = step.step_s.0 * idle_of(&step, GpuGroup::Trainer);
        Some(Bar::new(t!("η = {steps}", steps), [step.step_s.0 - waits, waits]))
    });
    let bars: Vec<Bar> = bars.collect();
    let steps = dials.get("η");
    let (Some(now), Some(first)) = (stale_step(steps), stale_step(0)) else { return Live::default() };
    let (time, idle) = (show_seconds(now.step_s), show_percent(idle_of(&now, GpuGroup::Trainer)));
    let with_age = if steps == 0 {
        t!("With the newest weights alone a step takes {time}; the trainer waits {idle} of it.", time, idle)
    } else {
        t!(
            "With {steps}, a step takes {time} instead of {first}; the trainer waits {idle} of it. Whether learning \
                suffers is not said.",
            steps,
            time,
            first = show_seconds(first.step_s),
            idle
        )
    };
    Live::of([
        t!("Two groups of GPUs that use each other's newest result work in turn. If responses may come from weights \
                that are some steps old, the next batch is generated while the last is trained on."),
        with_age,
    ])
    .formula(
        "T = max(generation, training) + sync",
        format!("{} , {} , {}", show_seconds(now.generation_s), show_seconds(now.training_s), show_seconds(now.sync_s)),
    )
    .note(t!("The bars are the trainer's GPUs. Without staleness both times add up."))
    .below("the step over that without staleness", now.step_s.0 / first.step_s.0, 0.9, show_percent)
    .bars(&WAITS, &bars, None)
}

fn split(dials: &Dials) -> Live {
    let Some(run) = with("&rl.response_limit=4096&rl.rollout_gpus=32&rl.staleness=1") else { return Live::default() };
    let Ok(found) = step(&run) else { return Live::default() };
    let line = |of: fn(&SplitPoint) -> Seconds| -> Vec<(f64, f64)> {
        found.split.iter().map(|point| (point.rollout_gpus as f64, of(point).0)).collect()
    };
    let steps = line(|point| point.step_s);
    let shortest = steps.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let engines = dials.get("g");
    let near = found.split.iter().min_by_key(|point| point.rollout_gpus.abs_diff(engines));
    let Some(point) = near.copied() else { return Live::default() };
    let here = vec![(point.rollout_gpus as f64, point.step_s.0)];
    let lines = [
        (t!("step"), Ink::Text, steps.clone(), Marks::None),
        (t!("generation alone"), Ink::Forward, line(|point| point.generation_s), Marks::None),
        (t!("training alone"), Ink::Backward, line(|point| point.training_s), Marks::None),
        (t!("this split"), Ink::Exposed, here, Marks::Dots),
    ];
    let lines = lines.map(|(name, ink, points, marks)| Line { name, ink, points, marks });
    let up = Axis { name: "s a step", spacing: Spacing::Linear };
    let rows = found.split.iter().map(|point| {
        let times = [point.step_s, point.generation_s, point.training_s];
        let times = times.map(|time| verbatim(show_seconds(time)));
        [vec![verbatim(point.rollout_gpus.to_string())], times.to_vec()].concat()
    });
    let over = point.step_s.0 / shortest - 1.0;
    Live::of([
        t!(
            "More GPUs for the engines shorten generation and lengthen training. The step is the longer of the two: \
                with {engines} of {gpus} GPUs generating, it is {over} above the shortest.",
            engines = point.rollout_gpus,
            gpus = run.gpus,
            over = show_percent(over)
        ),
        t!("Near the point where both are equal the curve is flat, and our error is larger than the gain: take any \
                split of the flat part."),
    ])
    .formula(
        "T(g) = max(generation(g), training(N − g)) + sync",
        format!("max({}, {})", show_seconds(point.generation_s), show_seconds(point.training_s)),
    )
    .below("the excess over the shortest step", over, 0.1, show_percent)
    .plots(
        Axis { name: "GPUs that generate", spacing: Spacing::Linear },
        &[Plot { up, lines: lines.into(), level: None }],
        &["GPUs that generate", "step", "generation alone", "training alone"],
        rows.collect(),
    )
}

/// Names of the places, and what each sets.
const PLACES: [(&str, &str); 3] = [
    ("all GPUs in turn", ""),
    ("two groups that wait", "&rl.rollout_gpus=32"),
    ("two groups, a step apart", "&rl.rollout_gpus=32&rl.staleness=1"),
];

fn place_name(at: usize) -> &'static str {
    PLACES.get(at).map_or("", |(name, _)| name)
}

fn place(dials: &Dials) -> Live {
    let at = |(_, settings): (&str, &str)| {
        let run = with(&format!("&rl.response_limit=4096{settings}"))?;
        let step = predict(&run).ok()?;
        let waits = waiting(&run, &step);
        Some((step, waits))
    };
    let bars = PLACES.iter().filter_map(|place| {
        let (step, waits) = at(*place)?;
        Some(Bar::new(place.0, [step.step_s.0 * (1.0 - waits), step.step_s.0 * waits]))
    });
    let bars: Vec<Bar> = bars.collect();
    let chosen = usize::try_from(dials.of("w").unwrap_or(1)).unwrap_or(1);
    let Some((step, waits)) = PLACES.get(chosen).and_then(|place| at(*place)) else { return Live::default() };
    Live::of([
        t!(
            "Engines on the training's GPUs use all of them for both kinds of work, but weights, states and cache make \
                room for each other. Engines of their own keep their cache, and wait."
        ),
        t!(
            "Here, {place}: a step takes {time}, and {waits} of the GPU time is spent waiting.",
            place = Message::plain(place_name(chosen)),
            time = show_seconds(step.step_s),
            waits = show_percent(waits)
        ),
    ])
    .formula("in turn: T = generation + training + sync", show_seconds(step.step_s))
    .note(t!("Two times within the factor of our error are not told apart."))
    .below("the share of GPU time that waits", waits, 0.3, show_percent)
    .bars(&WAITS, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// huggingface.co/blog/vllm-colocate: a server's GPUs wait while the trainer works, and the reverse, so that two
    /// equal groups that wait for each other spend half of their time so.
    #[test]
    fn two_equal_groups_that_take_turns_wait_about_half_of_the_time() {
        let run = with("&rl.response_limit=4096&rl.rollout_gpus=32").unwrap();
        let waits = waiting(&run, &predict(&run).unwrap());
        assert!((0.35..0.55).contains(&waits), "{waits}");
    }
}
