//! Gradients on the timeline: the end of the step drawn rank by rank, what hides and what shows, in words and a table.

use super::drawing::{Anchor, Box, Drawing, Ink, save};
use super::lod::Sums;
use super::markup::{Html, ask, el, span, table, text};
use super::pipeline::op_name;
use super::ticks::ticks;
use super::timeline::cells;
use super::viewport::Viewport;
use crate::pipeline::sync::{Bucket, Policy};
use crate::report::sync::{Charged, GradientSync, gradient_sync};
use crate::report::{Evaluation, Figure};
use crate::traffic::CONTENTION;
use crate::units::{MemoryUnit, Seconds, show_percent, show_seconds};

/// Ranks drawn; of more, every n-th.
const MOST_RANKS: usize = 32;
/// Rows of the table; of more, the first.
const MOST_ROWS: usize = 256;
/// The width that decides what is told apart, pixels.
const WIDTH: f64 = 800.0;
/// Height of the time axis.
const AXIS: f64 = 22.0;

/// The choices: what is asked of the panel, and what the page calls it.
const CHOICES: [(Policy, &str, &str); 3] = [
    (Policy::Eager, "eager", "eagerly, bucket by bucket"),
    (Policy::RankEnd, "rank", "when a rank is done"),
    (Policy::StepEnd, "end", "at the end of the step"),
];

/// The panel; `of` is the chosen policy.
#[must_use]
pub fn sync(evaluation: &Evaluation, of: &str) -> Html {
    let chosen = CHOICES.iter().find(|choice| choice.1 == of);
    let policy = chosen.map_or(Policy::Eager, |choice| choice.0);
    let Some(found) = gradient_sync(evaluation, policy) else {
        return span("p", "muted", nothing(evaluation));
    };
    Html::from_iter([
        choices(policy),
        picture(evaluation, &found)
            .inline("The end of the step by rank: ops, and the gradients on each rank's wire"),
        legend(),
        el("p", &[("role", "status")], &[text(&said(&found))]),
        el("p", &[("class", "muted")], &[relation(&found)]),
        buckets(&found),
    ])
}

/// Why there is nothing to draw.
fn nothing(evaluation: &Evaluation) -> &'static str {
    let layout = &evaluation.scenario.layout;
    if layout.dp * layout.cp <= 1 {
        "There is one copy of the model: no gradients are sent."
    } else {
        "ZeRO-2 and 3 scatter gradients in every micro-batch: that is inside the backward passes above, and nothing is left for the end of the step."
    }
}

fn choices(chosen: Policy) -> Html {
    let button = |(policy, of, label): (Policy, &str, &str)| {
        let pressed = if policy == chosen { "true" } else { "false" };
        let attributes = [
            ("class", "toggle-link"),
            ("data-of", of),
            ("aria-pressed", pressed),
        ];
        el("button", &attributes, &[text(label)])
    };
    let group = [
        ("class", "tools"),
        ("role", "group"),
        ("aria-label", "When gradients leave"),
    ];
    let buttons: Html = CHOICES.into_iter().map(button).collect();
    el(
        "div",
        &[("class", "panel-head")],
        &[
            span("small", "", "Gradients leave"),
            el("span", &group, &[buttons]),
            span("span", "spring", ""),
            save("gradients", "", MemoryUnit::default()),
        ],
    )
}

fn legend() -> Html {
    let item = |class: &str, said: &str| {
        let swatch = span("i", &format!("swatch {class}"), "");
        el("span", &[], &[swatch, text(said)])
    };
    el(
        "div",
        &[("class", "legend")],
        &[
            item(
                "c-exposed half",
                "gradients, hidden behind ops or in a bubble",
            ),
            item("c-exposed", "gradients after the pipeline's end: exposed"),
            item("c-forward", "F"),
            item("c-backward", "B, BW"),
            item("c-weight", "W"),
        ],
    )
}

/// The end of the step: each rank's ops, its wire under them.
#[must_use]
pub fn picture(evaluation: &Evaluation, found: &GradientSync) -> Drawing {
    let timeline = &evaluation.timeline;
    let makespan = timeline.makespan();
    let all = &found.buckets;
    // The same window under every policy.
    let first = all
        .iter()
        .map(|b| b.complete - (b.end - b.start))
        .fold(makespan, f64::min);
    let longest = found
        .ranks
        .iter()
        .map(|rank| rank.total)
        .fold(0.0, f64::max);
    let back = (makespan - first).max(longest).max(makespan * 0.02);
    let start = (makespan - 1.5 * back).max(0.0);
    let view = Viewport {
        start,
        end: makespan + longest * 1.05,
        full: makespan + longest * 1.05,
    };
    let stride = timeline.ranks.len().div_ceil(MOST_RANKS).max(1);
    let count = timeline.ranks.len().div_ceil(stride);
    let pitch = (420.0 / count as f64).clamp(16.0, 40.0);
    let (op, wire) = (pitch * 0.5, pitch * 0.28);
    let height = pitch * count as f64 + AXIS;
    let mut drawing = Drawing::new(height);
    let x = |time: f64| view.x(time, 1.0).clamp(0.0, 1.0);
    for row in 0..count {
        let idle = Box {
            x: 0.0,
            width: x(makespan),
            y: row as f64 * pitch,
            height: op,
        };
        drawing.hatch(idle);
    }
    let sums = Sums::of(timeline);
    for cell in cells(&sums.rows(timeline, stride), view, WIDTH) {
        let top = cell.row as f64 * pitch;
        let gap = if cell.op.is_some() && cell.width > 3.0 {
            1.0
        } else {
            0.0
        };
        let place = Box {
            x: cell.x / WIDTH,
            width: (cell.width - gap) / WIDTH,
            y: top + cell.band.0 * op,
            height: (cell.band.1 - cell.band.0) * op,
        };
        let said = cell.op.map_or_else(String::new, op_name);
        drawing.fill(place, Ink::of(cell.kind), 1.0, &said);
    }
    for rank in (0..timeline.ranks.len()).step_by(stride) {
        let top = (rank / stride) as f64 * pitch;
        drawing.name(top + op / 2.0, &format!("rank {rank}"));
        drawing.line((0.0, top + op), (1.0, top + op), Ink::Line, 1.0);
        for bucket in all.iter().filter(|bucket| bucket.rank == rank) {
            draw_bucket(&mut drawing, bucket, makespan, top + op + 1.0, wire, x);
        }
    }
    let foot = height - AXIS;
    drawing.line(
        (x(makespan), 0.0),
        (x(makespan), foot + 4.0),
        Ink::Text,
        2.0,
    );
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    // The end of the pipeline has a label of its own.
    let (anchor, room) = if x(makespan) > 0.8 {
        (Anchor::End, -0.38..0.1)
    } else {
        (Anchor::Middle, -0.2..0.2)
    };
    for tick in ticks(view.start, view.end, 6) {
        let near = room.contains(&(x(tick) - x(makespan)));
        if !near && x(tick) < 0.97 {
            drawing.line((x(tick), foot), (x(tick), foot + 4.0), Ink::Line, 1.0);
            drawing.words(
                (x(tick), foot + 13.0),
                Anchor::Middle,
                Ink::Muted,
                &show_seconds(Seconds(tick)),
            );
        }
    }
    let end = format!("pipeline ends {}", show_seconds(Seconds(makespan)));
    drawing.words((x(makespan), foot + 13.0), anchor, Ink::Text, &end);
    drawing
}

fn draw_bucket(
    drawing: &mut Drawing,
    bucket: &Bucket,
    makespan: f64,
    y: f64,
    height: f64,
    x: impl Fn(f64) -> f64,
) {
    let time = Seconds(bucket.end - bucket.start);
    let said = format!(
        "rank {}: gradients of stage {}, {} from {} to {}",
        bucket.rank,
        bucket.stage,
        show_seconds(time),
        show_seconds(Seconds(bucket.start)),
        show_seconds(Seconds(bucket.end))
    );
    let mut part = |from: f64, to: f64, opacity: f64| {
        if to > from {
            let place = Box {
                x: x(from),
                width: x(to) - x(from),
                y,
                height,
            };
            drawing.fill(place, Ink::Exposed, opacity, &said);
        }
    };
    part(bucket.start, bucket.end.min(makespan), 0.45);
    part(bucket.start.max(makespan), bucket.end, 1.0);
    // The name stands on the longer part, where it fits.
    let hidden = (bucket.start, bucket.end.min(makespan).max(bucket.start));
    let shown = (bucket.start.max(makespan), bucket.end);
    let (part, ink) = if hidden.1 - hidden.0 > shown.1 - shown.0 {
        (hidden, Ink::Text)
    } else {
        (shown, Ink::Paper)
    };
    if x(part.1) - x(part.0) > 0.075 && height >= 10.0 {
        let middle = f64::midpoint(x(part.0), x(part.1));
        let at = (middle, y + height / 2.0);
        drawing.label(at, ink, &format!("stage {}", bucket.stage));
    }
}

/// The three policies in a sentence.
fn said(found: &GradientSync) -> String {
    let [end, rank, eager] = found.exposed.map(show_seconds);
    let hidden: f64 = found
        .ranks
        .iter()
        .map(|rank| rank.behind + rank.bubble)
        .sum();
    let total: f64 = found.ranks.iter().map(|rank| rank.total).sum();
    // Beside a step of years the traffic is too short to be told from nothing.
    let share = if total > 0.0 { hidden / total } else { 1.0 };
    format!(
        "The step waits {eager} for its gradients when they leave eagerly, {rank} when a rank first ends its own work, {end} when all wait for the last op. As drawn, {} of the traffic is hidden; the ops beside it are slower by {} of the time they share.",
        show_percent(share),
        show_percent(CONTENTION.value)
    )
}

/// How the picture and the step's exposed communication belong together.
fn relation(found: &GradientSync) -> Html {
    let Charged {
        rank,
        gradients,
        weights,
        tied,
        inside,
    } = found.charged;
    let mut parts = format!(
        " counts {} of gradients and {} of updated weights for rank {rank}, which is left with most",
        show_seconds(gradients),
        show_seconds(weights)
    );
    if tied.0 > 0.0 {
        parts = format!(
            "{parts}, {} for the embeddings that both ends hold",
            show_seconds(tied)
        );
    }
    if inside.0 > 0.0 {
        parts = format!(
            "{parts}, and {} that passes wait for inside the pipeline",
            show_seconds(inside)
        );
    }
    let eager = found.exposed[2];
    let differs = gradients.0 - eager.0;
    let tie = if differs.abs() <= 1e-3 * gradients.0 {
        "The eager picture leaves the same: no bubble follows its last op."
    } else if differs > 0.0 {
        "The eager picture leaves less: the step, as calibrated, lets gradients hide behind one backward pass and no bubble; the bubble after a rank's last op hides more of them."
    } else {
        "The eager picture leaves more: the step, as calibrated, lets gradients hide behind a backward pass of all of a rank's chunks; in this order its last op is a smaller one."
    };
    Html::from_iter([
        text("The step's "),
        ask(
            "link",
            &Figure::Exposed.id(),
            &[text("exposed communication")],
        ),
        text(&format!(
            "{parts}. {tie} A stage's traffic may begin within its last op, for the share that overlap.dp names."
        )),
    ])
}

/// The picture as a table.
fn buckets(found: &GradientSync) -> Html {
    let rows: Vec<_> = found
        .buckets
        .iter()
        .take(MOST_ROWS)
        .map(|bucket| {
            let times = [
                bucket.complete,
                bucket.start,
                bucket.end - bucket.start,
                bucket.behind,
                bucket.bubble,
                bucket.after,
                bucket.behind * CONTENTION.value,
            ];
            let mut cells = vec![bucket.rank.to_string(), bucket.stage.to_string()];
            cells.extend(times.map(|time| show_seconds(Seconds(time))));
            (false, cells.iter().map(|cell| text(cell)).collect())
        })
        .collect();
    let head = [
        "rank",
        "stage",
        "complete at",
        "leave at",
        "on the wire",
        "behind ops",
        "in bubbles",
        "after the end",
        "slows ops by",
    ];
    table("Gradients on the wire", &head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Run, Schedule};

    fn panel(run: &Run, of: &str) -> String {
        sync(&evaluate(run).unwrap(), of).into_string()
    }

    #[test]
    fn each_policy_is_one_press_and_the_pressed_one_is_drawn() {
        let run = Run::default();
        for (_, of, label) in CHOICES {
            let html = panel(&run, of);
            let pressed = format!("data-of=\"{of}\" aria-pressed=\"true\">{label}");
            assert!(html.contains(&pressed), "{of}");
            assert_eq!(html.matches("aria-pressed=\"true\"").count(), 1);
            assert_eq!(html.matches("<tr").count(), 1 + 4);
            assert!(!html.contains("NaN") && html.contains("rank 3"));
        }
        // At the end of the step nothing hides.
        assert!(!panel(&run, "end").contains("fill-opacity"));
        assert!(panel(&run, "eager").contains("fill-opacity"));
    }

    #[test]
    fn chunks_and_many_ranks_stay_within_a_small_picture() {
        let run = Run {
            schedule: Schedule::Interleaved,
            virtual_stages: 2,
            pp: 16,
            tp: 1,
            gpus: 128,
            ..Run::default()
        };
        let html = panel(&run, "");
        assert_eq!(html.matches("<tr").count(), 1 + 32);
        assert!(html.len() < 1_000_000, "{}", html.len());
    }

    #[test]
    fn a_run_that_sends_none_says_why() {
        let alone = Run {
            gpus: 8,
            ..Run::default()
        };
        assert!(panel(&alone, "").contains("one copy"));
        let sharded = Run {
            zero: 3,
            ..Run::default()
        };
        assert!(panel(&sharded, "").contains("in every micro-batch"));
    }
}
