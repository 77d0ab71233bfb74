//! Samples of unequal length: how they spread, how full their micro-batches are, and which replica a step waits for.

use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::figure::{figure, key};
use crate::charts::ink::Ink;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::report::lengths::{DealtStep, LengthsReport, dealt_steps};
use shardscope_core::run::{Deal, SamplePool};
use shardscope_core::units::thousands;

/// Replicas that are drawn, the slowest among them.
const ROWS: usize = 16;
/// Height of a replica's row, of the words above a step, and of the gap below it, pixels.
const ROW: f64 = 12.0;
const WORDS: f64 = 18.0;
const GAP: f64 = 10.0;
/// Ranges of the histogram; its height with the words below it, pixels.
const BINS: usize = 16;
const HIGH: f64 = 90.0;
const AXIS: f64 = 18.0;

/// Lengths to try: what they are like, median in tokens, and standard deviation of the logarithm.
const EXAMPLES: [(&str, u64, &str); 4] =
    [("short answers", 400, "1"), ("chats", 1000, "1.2"), ("reasoning", 6000, "1"), ("agents", 16_000, "1.2")];

/// Articles for continued pretraining, counted by Qwen3's tokenizer, in percent. Source: `dataset_stats_qwen.md` of
/// elsayedhazemm/gemma3-pt.
const ARTICLES: [(u64, &str); 6] =
    [(1000, "21.8"), (2000, "15.3"), (4000, "29.4"), (8000, "27.7"), (16_000, "5.6"), (32_000, "0.1")];

/// The panel.
pub fn lengths(evaluation: &Evaluation) -> Node {
    let scenario = &evaluation.scenario;
    let (Some(found), Some(pool)) = (&evaluation.report.lengths, &scenario.samples) else {
        return Node::from_iter([
            given(evaluation),
            muted(
                "Every sample of this run fills its sequence. Samples of fine-tuning and of long contexts do not: \
                    packed into sequences they leave room at the end, and attention makes some micro-batches longer \
                    than others. A step then waits for the slowest replica.",
            ),
            examples(&scenario.run),
        ]);
    };
    let room = shardscope_core::report::lengths::room_tokens(scenario);
    let filled = t!(
        "{samples} samples of {mean_tokens} tokens on average make a micro-batch: {fill} of its {room} tokens, and \
            {real} of what is computed. Attention takes {attention_share} of the time; in a sample of {equal_tokens} \
            tokens it takes as long as the rest.",
        samples = significant(found.samples, 3),
        mean_tokens = significant(found.mean_tokens, 4),
        fill = show_percent(found.fill),
        room = thousands(room),
        real = show_percent(found.real),
        attention_share = show_percent(found.attention_share),
        equal_tokens = significant(found.equal_tokens, 3)
    );
    let end = apply("fix", full(), "", "make them all full");
    Node::from_iter([
        el("p", &[], &[text(&filled), text(verbatim(" ")), end]),
        key(&[("c-activations", "samples"), ("c-weights", "tokens")]),
        figure(
            "lengths",
            "Samples by length: their number, and the tokens in them",
            histogram(pool, found, scenario.dynamic_rank_tokens()).inline("Histogram of sample lengths"),
        ),
        dealt(evaluation),
        ways(evaluation, found),
        muted(
            "Drawn with a fixed seed: micro-batches of a step are picked at random from a pool of packed ones, of up \
                to 32 steps; the slowest replica of the mean step is what the report times. Source of the dynamic \
                division: Megatron-LM, hybrid_cp_schedule.py, which also waits between groups of samples that it \
                fills to 5 %; that wait is not counted, nor the messages that short samples save. In a pipeline stages \
                wait for each other too where a long micro-batch follows a short one: the step has both.",
        ),
    ])
}

/// What a run whose micro-batches have lengths that were given one by one comes to, and the press that makes them
/// equal.
fn given(evaluation: &Evaluation) -> Node {
    let scenario = &evaluation.scenario;
    if scenario.run.microbatch_lengths.is_none() {
        return Node::none();
    }
    let pipeline = &evaluation.report.pipeline;
    let message = t!(
        "This run has {microbatches} micro-batches of its own lengths: {makespan_s} simulated, {bubble_fraction} of \
            it bubble. ",
        microbatches = scenario.layout.microbatches,
        makespan_s = Scope::run().says("pipeline.makespan_s", show_seconds(pipeline.makespan_s)),
        bubble_fraction = Scope::run().says("pipeline.bubble_fraction", show_percent(pipeline.bubble_fraction))
    );
    let mut set = vec![("microbatch_lengths", String::new())];
    if evaluation.order.splits == 1 && pipeline.schedule == Schedule::Custom {
        set.push(("schedule_options.order", String::new()));
        set.push(("schedule", "1f1b".to_owned()));
    }
    let equal = apply("fix", set, "", "make them equal");
    el("p", &[], &[text(&message), equal])
}

/// Settings of samples that fill their sequence.
fn full() -> Vec<(&'static str, String)> {
    let keys = ["lengths.base", "lengths.median", "lengths.sigma", "lengths.values", "lengths.pack", "lengths.deal"];
    let mut set: Vec<_> = keys.map(|key| (key, String::new())).into();
    set.push(("cp_dynamic", "false".to_owned()));
    set
}

/// Buttons with lengths that fit the run's sequence.
fn examples(run: &Run) -> Node {
    let pack = ("lengths.pack", run.seq_len.to_string());
    let log_normal = EXAMPLES.iter().filter(|(_, median, _)| median * 4 <= run.seq_len);
    let log_normal = log_normal.map(|(name, median, sigma)| {
        let set = vec![
            ("lengths.base", "log-normal".to_owned()),
            ("lengths.median", median.to_string()),
            ("lengths.sigma", (*sigma).to_owned()),
            pack.clone(),
        ];
        let label = t!(
            "{name}: log-normal, median {median}, σ {sigma}",
            name = *name,
            median = thousands(*median),
            sigma = verbatim(*sigma)
        );
        apply("choose", set, "", label)
    });
    let ranges = ARTICLES.iter().filter(|(edge, _)| *edge <= run.seq_len);
    let ranges: Vec<String> = ranges.map(|(edge, share)| format!("{edge}:{share}")).collect();
    let articles = (ranges.len() > 1).then(|| {
        let set = vec![("lengths.base", "histogram".to_owned()), ("lengths.values", ranges.join(",")), pack.clone()];
        apply("choose", set, "", t!("articles of continued pretraining: histogram, up to the sequence"))
    });
    let buttons: Node = log_normal.chain(articles).collect();
    Node::from_iter([
        muted("Examples, packed to the sequence; no public mix of samples has its lengths printed:"),
        buttons,
    ])
}

fn histogram(pool: &SamplePool, found: &LengthsReport, rank_tokens: Option<f64>) -> Drawing {
    let shortest = pool.drawn.iter().copied().fold(f64::INFINITY, f64::min).max(1.0);
    let longest = pool.drawn.iter().copied().fold(1.0, f64::max).max(shortest * 1.001);
    let place = |tokens: f64| (tokens / shortest).log2() / (longest / shortest).log2();
    let (mut counts, mut tokens) = ([0.0_f64; BINS], [0.0_f64; BINS]);
    for length in &pool.drawn {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of the bins
        let bin = ((place(*length) * BINS as f64) as usize).min(BINS - 1);
        counts[bin] += 1.0 / pool.drawn.len() as f64;
        tokens[bin] += length / (pool.mean * pool.drawn.len() as f64);
    }
    let most = counts.iter().chain(&tokens).copied().fold(0.0, f64::max).max(1e-9);
    let mut drawing = Drawing::new(HIGH + AXIS);
    for (bin, (count, tokens)) in counts.iter().zip(&tokens).enumerate() {
        let to = shortest * (longest / shortest).powf((bin + 1) as f64 / BINS as f64);
        let each = 1.0 / BINS as f64;
        for (half, share, ink) in [(0.0, *count, Ink::Memory(3)), (0.45, *tokens, Ink::Memory(0))] {
            let height = (HIGH - 14.0) * share / most;
            let at = Box { x: (bin as f64 + half) * each, width: each * 0.42, y: HIGH - height, height };
            let label = t!(
                "up to {to} tokens: {samples} of the samples, {tokens} of the tokens",
                to = significant(to, 3),
                samples = show_percent(*count),
                tokens = show_percent(*tokens)
            );
            drawing.fill(at, ink, 1.0, label);
        }
        if bin % 4 == 3 {
            let end = (bin + 1) as f64 * each;
            drawing.words((end, HIGH + 10.0), Anchor::End, Ink::Muted, verbatim(significant(to, 3)));
        }
    }
    drawing.line((0.0, HIGH), (1.0, HIGH), Ink::Line, 1.0);
    let mut mark = |tokens: f64, words: Message| {
        let x = place(tokens);
        if (0.0..=1.0).contains(&x) {
            drawing.line((x, 10.0), (x, HIGH), Ink::Accent, 1.0);
            let anchor = if x > 0.5 { Anchor::End } else { Anchor::Start };
            drawing.words((x, 5.0), anchor, Ink::Muted, words);
        }
    };
    mark(found.equal_tokens, t!("attention as long as the rest"));
    if let Some(tokens) = rank_tokens {
        mark(tokens, t!("one rank's tokens"));
    }
    drawing
}

/// The first drawn step as samples arrive and dealt longest first.
fn dealt(evaluation: &Evaluation) -> Node {
    let Some(steps) = dealt_steps(evaluation) else { return Node::none() };
    if steps[0].replicas.len() < 2 {
        return muted("One replica waits for no other.");
    }
    let picture = figure(
        "replicas",
        "One step: a row a data-parallel replica, a box a micro-batch, hatched while it waits for the others",
        replicas(&steps).inline("Micro-batches of one step by replica, before and after balancing"),
    );
    Node::from_iter([picture, muted(of_drawn(evaluation, &steps))])
}

/// What the step of a picture is among those that are drawn, whose mean the report has.
pub(crate) fn of_drawn(evaluation: &Evaluation, steps: &[DealtStep; 2]) -> Message {
    let replicas = steps[0].replicas.len();
    let [mean_arrival, mean_sorted] = evaluation
        .report
        .lengths
        .as_ref()
        .map_or([1.0; 2], |lengths| [lengths.imbalance_arrival, lengths.imbalance_sorted]);
    let mean = t!(
        "The picture is the most usual of {count} drawn steps, whose slowest replicas take {arrival} and {sorted} \
            times the mean, on average.",
        count = steps[0].of,
        arrival = significant(mean_arrival, 3),
        sorted = significant(mean_sorted, 3)
    );
    let some = (replicas > ROWS).then(|| t!("It has {shown} of {replicas} replicas.", shown = ROWS, replicas));
    Message::joined(" ", std::iter::once(mean).chain(some))
}

/// The replicas of `step` that are drawn: the first ones and the slowest.
fn drawn_rows(step: &DealtStep) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..step.replicas.len().min(ROWS)).collect();
    let slowest = step.slowest();
    if let Some(last) = rows.last_mut().filter(|last| **last < slowest) {
        *last = slowest;
    }
    rows
}

/// Both steps, one below the other on one axis.
pub(crate) fn replicas(steps: &[DealtStep; 2]) -> Drawing {
    let longest = steps.iter().map(|step| step.end).fold(1e-12, f64::max);
    let height = |step: &DealtStep| WORDS + ROW * drawn_rows(step).len() as f64 + GAP;
    let mut drawing = Drawing::new(steps.iter().map(height).sum());
    let mut top = 0.0;
    for (step, name) in steps.iter().zip(["as they arrive", "dealt longest first"]) {
        let words = t!("{name}, in this step: idle {idle}", name, idle = show_percent(step.idle()));
        drawing.heading(top + 8.0, words);
        for (row, at) in drawn_rows(step).into_iter().enumerate() {
            let (works, starts) = (&step.replicas[at], &step.starts[at]);
            let y = top + WORDS + ROW * row as f64;
            let mut free = 0.0;
            let idle = |drawing: &mut Drawing, from: f64, to: f64| {
                if to > from + 1e-9 {
                    drawing.hatch(Box { x: from / longest, width: (to - from) / longest, y, height: ROW - 2.0 });
                }
            };
            for (work, start) in works.iter().zip(starts) {
                idle(&mut drawing, free, *start);
                let width = (work / longest - 0.001).max(work / longest * 0.5);
                let at = Box { x: start / longest, width, y, height: ROW - 2.0 };
                let label = t!("{work} of a full micro-batch's time", work = show_percent(*work));
                drawing.fill(at, Ink::Forward, 1.0, label);
                free = start + work;
            }
            idle(&mut drawing, free, step.end);
        }
        let x = step.end / longest;
        drawing.line((x, top + WORDS), (x, top + height(step) - GAP), Ink::Text, 1.0);
        top += height(step);
    }
    drawing
}

/// A way to deal samples: name, settings, slowest over mean.
struct Dealt {
    name: &'static str,
    set: Vec<(&'static str, String)>,
    imbalance: f64,
    is_present: bool,
}

/// A row a way, with the button that makes it the run's own.
fn ways(evaluation: &Evaluation, found: &LengthsReport) -> Node {
    let run = &evaluation.scenario.run;
    let sorted = run.lengths.deal == Some(Deal::Sorted);
    let off = ("cp_dynamic", "false".to_owned());
    let mut ways = vec![
        Dealt {
            name: "as they arrive",
            set: vec![("lengths.deal", Deal::Arrival.id().to_owned()), off.clone()],
            imbalance: found.imbalance_arrival,
            is_present: !run.cp_dynamic && !sorted,
        },
        Dealt {
            name: "dealt longest first",
            set: vec![("lengths.deal", Deal::Sorted.id().to_owned()), off],
            imbalance: found.imbalance_sorted,
            is_present: !run.cp_dynamic && sorted,
        },
    ];
    if let Some(imbalance) = found.imbalance_dynamic.filter(|_| run.zero < 3) {
        ways.push(Dealt {
            name: "dynamic context parallelism",
            set: vec![("cp_dynamic", "true".to_owned())],
            imbalance,
            is_present: run.cp_dynamic,
        });
    }
    let step = |way: &Dealt| {
        if way.is_present {
            return Some(evaluation.report.step.time_s);
        }
        // A measured step is that of this run alone.
        let other = Run { measured_step_s: None, ..run.with_texts(&way.set)? };
        Some(evaluate(&other).ok()?.report.step.time_s)
    };
    let use_way = |way: &Dealt| {
        if way.is_present { text("this run") } else { apply("choose", way.set.clone(), "", "use") }
    };
    let steps: Vec<Option<Seconds>> = ways.iter().map(step).collect();
    let rows: Vec<(Dealt, Option<Seconds>)> = ways.into_iter().zip(steps).collect();
    let best = rows.iter().filter_map(|(_, step)| *step).map(|step| step.0).fold(f64::INFINITY, f64::min);
    Rows::of(&rows)
        .column("way", |(way, _)| Message::from(way.name))
        .figures("slowest replica over the mean", |(way, _)| format!("{}×", significant(way.imbalance, 3)))
        .column("step", |(_, step)| step.map_or(t!("cannot run"), |step| verbatim(show_seconds(step))))
        .column("", |(way, _)| use_way(way))
        .marked(|(_, step)| step.is_some_and(|step| step.0 <= best))
        .table("Ways to deal samples")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixes(node: &Node) -> Vec<Vec<(&'static str, String)>> {
        let set = |action: &Action| match action {
            Action::Apply(set) => Some(set.clone()),
            _ => None,
        };
        node.actions().into_iter().filter_map(set).collect()
    }

    /// Every button of the panel makes a run that can be evaluated; each example has lengths, and the last press of
    /// its panel takes them away.
    #[test]
    fn every_press_makes_a_run() {
        let run = Run { seq_len: 65_536, pp: 1, ..Run::default() };
        let plain = lengths(&evaluate(&run).unwrap());
        let examples = fixes(&plain);
        assert_eq!(examples.len(), EXAMPLES.len() + 1);
        for example in examples {
            let unequal = evaluate(&run.with_texts(&example).unwrap()).unwrap();
            assert!(unequal.report.lengths.is_some(), "{example:?}");
            let view = lengths(&unequal);
            let html = view.to_html();
            assert!(!html.contains("NaN") && !html.contains("inf"), "{example:?}");
            for set in fixes(&view) {
                let pressed = unequal.scenario.run.with_texts(&set).unwrap();
                assert!(evaluate(&pressed).is_ok(), "{set:?}");
            }
        }
    }

    /// Lengths that were given one by one are named, and one press makes them equal.
    #[test]
    fn given_lengths_become_equal_in_one_press() {
        let set = [("microbatch_lengths", "4096,8192,2048,8192"), ("global_batch", "32")];
        let set = set.map(|(key, value)| (key, value.to_owned()));
        let run = Run::default().with_texts(&set).unwrap();
        let view = lengths(&evaluate(&run).unwrap());
        assert!(view.to_html().contains("This run has 4 micro-batches of its own lengths"), "{}", view.to_html());
        let equal = run.with_texts(&fixes(&view)[0]).unwrap();
        assert!(equal.microbatch_lengths.is_none() && evaluate(&equal).is_ok());
    }

    /// Work and waiting of each row end together, and dealing leaves less to wait for.
    #[test]
    fn the_picture_adds_up() {
        let set = [("lengths.base", "log-normal"), ("lengths.median", "1000"), ("lengths.sigma", "1.2")];
        let set = set.map(|(key, value)| (key, value.to_owned()));
        let run = Run { pp: 1, global_batch: 256, ..Run::default() }.with_texts(&set).unwrap();
        let evaluation = evaluate(&run).unwrap();
        let steps = dealt_steps(&evaluation).unwrap();
        for step in &steps {
            let ends = step.replicas.iter().map(|works| works.iter().sum::<f64>());
            assert!((ends.fold(0.0, f64::max) - step.end).abs() < 1e-9);
            assert!((0.0..1.0).contains(&step.idle()));
        }
        assert!(steps[1].idle() < steps[0].idle());
    }

    /// A step waits for the largest of all of its replicas: with four times as many the largest of the same samples is
    /// further from the mean, also where not all are drawn, and the picture's step is as the mean of those drawn.
    #[test]
    fn a_step_is_of_all_replicas_whatever_is_drawn() {
        let idle = |replicas: u64| {
            let set = [("lengths.base", "log-normal"), ("lengths.median", "1000"), ("lengths.sigma", "1.2")];
            let set = set.map(|(key, value)| (key, value.to_owned()));
            let run = Run { pp: 1, tp: 1, gpus: replicas, global_batch: 4 * replicas, ..Run::default() };
            let evaluation = evaluate(&run.with_texts(&set).unwrap()).unwrap();
            let steps = dealt_steps(&evaluation).unwrap();
            let found = evaluation.report.lengths.unwrap();
            for (step, mean) in steps.iter().zip([found.imbalance_arrival, found.imbalance_sorted]) {
                assert_eq!(step.replicas.len() as u64, replicas);
                assert!((step.imbalance() / mean - 1.0).abs() < 0.04, "{replicas}: {} {mean}", step.imbalance());
                let rows = drawn_rows(step);
                assert!(rows.len() == 16 && rows.contains(&step.slowest()));
            }
            steps[0].idle()
        };
        assert!(idle(64) > idle(16));
    }
}
