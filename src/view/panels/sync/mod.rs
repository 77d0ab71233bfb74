//! Gradients on the timeline: the end of the step drawn rank by rank, what hides and what shows, in words and a table.

mod picture;

use crate::charts::figure::{key, save};
use crate::node::action::PanelChoice;
use crate::node::figure::Scope;
use crate::prelude::*;
use picture::picture;
use shardscope_core::pipeline::sync::ReducePolicy;
use shardscope_core::report::sync::{Charged, GradientSync, gradient_sync};
use shardscope_core::traffic::CONTENTION;

/// Rows of the table; of more, the first.
const MAX_ROWS: usize = 256;
/// The choices, and what the page calls them.
pub(crate) const CHOICES: [(ReducePolicy, &str); 3] = [
    (ReducePolicy::Eager, "eagerly, bucket by bucket"),
    (ReducePolicy::RankEnd, "when a rank is done"),
    (ReducePolicy::StepEnd, "at the end of the step"),
];

/// The panel for gradients that leave by `policy`.
pub fn sync(evaluation: &Evaluation, policy: ReducePolicy) -> Node {
    let Some(found) = gradient_sync(evaluation, policy) else {
        return muted(nothing(evaluation));
    };
    Node::from_iter([
        choices(
            ["Gradients leave", "When gradients leave"],
            CHOICES.map(|(known, label)| {
                let choice = Action::Choose(PanelChoice::Policy(known));
                (choice, label.into(), known == policy)
            }),
            Node::from_iter([leaf("span", "spring", ""), save("gradients")]),
        ),
        picture(evaluation, &found).inline("The end of the step by rank: ops, and the gradients on each rank's wire"),
        key(&KEY),
        el("p", &[("role", "status")], &[text(said(&found))]),
        el("p", &[("class", "muted")], &[relation(&found)]),
        buckets(&found),
    ])
}

/// Why there is nothing to draw.
fn nothing(evaluation: &Evaluation) -> &'static str {
    let layout = &evaluation.scenario.layout;
    if layout.dp * layout.cp <= 1 {
        "There is one copy of the model: no gradients are sent."
    } else if evaluation.scenario.updates() > 1.0 {
        "PipeDream updates the weights after every micro-batch: gradients are sent then, and nothing is left for the \
            end of the step."
    } else {
        "ZeRO-2 and 3 scatter gradients in every micro-batch or group of them: that is inside the backward passes \
            above, and nothing is left for the end of the step."
    }
}

/// Colours of the picture and their meaning.
const KEY: [(&str, &str); 5] = [
    ("c-exposed half", "gradients, hidden behind ops or in a bubble"),
    ("c-exposed", "gradients after the pipeline's end: exposed"),
    ("c-forward", "F"),
    ("c-backward", "B, BW"),
    ("c-weight", "W"),
];

/// The three policies in a sentence.
fn said(found: &GradientSync) -> Message {
    let shown = [("end", 0), ("rank", 1), ("eager", 2)];
    let [end, rank, eager] = shown
        .map(|(policy, at)| Scope::run().part(policy).says("gradients.exposed_s", show_seconds(found.exposed[at])));
    let hidden: f64 = found.ranks.iter().map(|rank| rank.behind + rank.bubble).sum();
    let total: f64 = found.ranks.iter().map(|rank| rank.total).sum();
    // In a step of years the traffic is below the rounding error.
    let share = if total > 0.0 { hidden / total } else { 1.0 };
    let rank_of = found.ranks.get(found.charged.rank);
    let slowed = rank_of.map_or(0.0, |rank| rank.slowed);
    t!(
        "The step waits {eager} for its gradients when they leave eagerly, {rank} when a rank first ends its own \
            work, {end} when all wait for the last op. As drawn, {share} of the traffic is hidden; it slows the ops \
            beside it by {contention} of the time they share, {slowed} on rank {busiest}.",
        eager,
        rank,
        end,
        share = Scope::run().says("gradients.hidden share", show_percent(share)),
        contention = Scope::run().says("contention", show_percent(CONTENTION.value)),
        slowed = Scope::run().says("gradients.slowed_s", show_seconds(Seconds(slowed))),
        busiest = found.charged.rank
    )
}

/// Relation of the picture to the step's exposed communication.
fn relation(found: &GradientSync) -> Node {
    let Charged { rank, gradients, weights, tied, inside } = found.charged;
    let of_rank = Scope::run().part(format_args!("rank {rank}"));
    let shown = |field: &'static str, time: Seconds| of_rank.says(field, show_seconds(time));
    // What takes no time is no part.
    let mut parts = Vec::new();
    if gradients.exposed().0 > 0.0 {
        parts.push(t!("gradients {time}", time = shown("exposed gradients", gradients.exposed())));
    }
    if weights.exposed().0 > 0.0 {
        parts.push(t!("updated weights {time}", time = shown("exposed weights", weights.exposed())));
    }
    if tied.0 > 0.0 {
        parts.push(t!("embeddings that both ends hold {time}", time = shown("exposed tied embeddings", tied)));
    }
    if inside.0 > 0.0 {
        parts.push(t!(
            "what passes wait for inside the pipeline {time}",
            time = shown("exposed in the pipeline", inside)
        ));
    }
    if parts.is_empty() {
        parts.push(t!("nothing"));
    }
    let parts = Message::joined(", ", parts);
    let split = t!(
        "Gradients add {not_hidden} that is not hidden, and slow compute by {slows}.",
        not_hidden = shown("gradients that do not hide", gradients.not_hidden),
        slows = shown("compute that gradients slow", gradients.slows)
    );
    let (eager, gradients) = (found.exposed[2], gradients.exposed());
    let differs = gradients.0 - eager.0;
    let tie = if differs.abs() <= 1e-3 * gradients.0 {
        "Sent eagerly, gradients are exposed for as long: no bubble follows the last op."
    } else if differs > 0.0 {
        "Sent eagerly, gradients are exposed for less: the bubble after a rank's last op hides more of them, while the \
            step, as calibrated, counts one backward pass and no bubble."
    } else {
        "Sent eagerly, gradients are exposed for longer: the step, as calibrated, hides them behind a backward pass of \
            all of a rank's chunks; in this order the last op is a smaller one."
    };
    Node::from_iter([
        ask("link", Figure::Exposed, &[text("Exposed communication of the step")]),
        text(" "),
        text(t!(
            "for rank {rank}, which has most exposed: {parts}. {split} {tie} A stage's traffic may begin within its \
                last op, for the share set as DP overlap.",
            rank,
            parts,
            split,
            tie
        )),
    ])
}

/// The picture as a table.
fn buckets(found: &GradientSync) -> Node {
    let show = |time: f64| show_seconds(Seconds(time));
    Rows::of(found.buckets.iter().take(MAX_ROWS))
        .figures("rank", |bucket| bucket.rank.to_string())
        .figures("stage", |bucket| bucket.stage.to_string())
        .figures("complete at", |bucket| show(bucket.complete))
        .figures("leave at", |bucket| show(bucket.start))
        .figures("on the wire", |bucket| show(bucket.end - bucket.start))
        .figures("hidden behind ops", |bucket| show(bucket.behind))
        .figures("hidden in bubbles", |bucket| show(bucket.bubble))
        .figures("after the end", |bucket| show(bucket.after))
        .figures("slows ops by", |bucket| show(bucket.behind * CONTENTION.value))
        .table("Gradients on the wire")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Reduction;

    fn panel(run: &Run, policy: ReducePolicy) -> Node {
        sync(&evaluate(run).unwrap(), policy)
    }

    #[test]
    fn each_policy_is_one_press_and_the_pressed_one_is_drawn() {
        let run = Run::default();
        for (policy, label) in CHOICES {
            let view = panel(&run, policy);
            let choice = Action::Choose(PanelChoice::Policy(policy));
            assert!(view.actions().contains(&&choice), "{label}");
            let html = view.to_html();
            assert_eq!(html.matches("aria-pressed=\"true\"").count(), 1);
            assert_eq!(html.matches("<tr").count(), 1 + 4);
            assert!(!html.contains("NaN") && html.contains("rank 3"));
        }
        // At the end of the step nothing hides.
        let html = |policy| panel(&run, policy).to_html();
        assert!(!html(ReducePolicy::StepEnd).contains("fill-opacity"));
        assert!(html(ReducePolicy::Eager).contains("fill-opacity"));
    }

    #[test]
    fn chunks_and_many_ranks_stay_within_a_small_picture() {
        let run =
            Run { schedule: Schedule::Interleaved, virtual_stages: 2, pp: 16, tp: 1, gpus: 128, ..Run::default() };
        let html = panel(&run, ReducePolicy::Eager).to_html();
        assert_eq!(html.matches("<tr").count(), 1 + 32);
        assert!(html.len() < 1_000_000, "{}", html.len());
    }

    #[test]
    fn a_run_that_sends_none_says_why() {
        let alone = Run { gpus: 8, ..Run::default() };
        assert!(panel(&alone, ReducePolicy::Eager).to_html().contains("one copy"));
        let sharded = Run { zero: 3, ..Run::default() };
        assert!(panel(&sharded, ReducePolicy::Eager).to_html().contains("in every micro-batch"));
        // ZeRO-2 that reduces once a step has ZeRO-1's gradients to draw.
        let once = |zero| Run { zero, zero2_reduce: Some(Reduction::Step), ..Run::default() };
        assert_eq!(panel(&once(2), ReducePolicy::Eager), panel(&once(1), ReducePolicy::Eager));
    }
}
