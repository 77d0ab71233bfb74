//! Certainty of the step, its utilisation by other counts, and the time of a token budget.

use crate::node::figure::Scope;
use crate::panels::budget::{day_unit, money, sign};
use crate::panels::tower::tower_drawn;
use crate::prelude::*;
use shardscope_core::accuracy::record::{Protocol, Recipe, recorded_of};
use shardscope_core::report::TowerReport;
use shardscope_core::time::{REACH, Step, StepClass, range, range_ends};

/// Certainty of the step, utilisation, and the time of a token budget.
pub fn step(evaluation: &Evaluation) -> Node {
    let step = &evaluation.report.step;
    Node::from_iter([
        leaf("p", "muted step-note", certainty(evaluation)),
        evaluation.report.tower.as_ref().map_or_else(Node::none, tower),
        tower_drawn(evaluation),
        measured_towers(evaluation),
        utilisation(step),
        budget(evaluation),
    ])
}

/// The tower on ranks of its own beside the pipeline.
fn tower(tower: &TowerReport) -> Node {
    let [passes, stage, waits] = [tower.passes(), tower.stage_s, tower.waits_s].map(show_seconds);
    let memory = show_bytes(tower.memory_bytes);
    let beside = if tower.is_hidden() {
        t!(
            "The vision tower (GPUs of its own: {gpus}) takes {passes} of a micro-batch, the longest rank of the \
                pipeline {stage}: it is hidden but for its first images, {waits}. A rank of it needs {memory}.",
            gpus = tower.gpus,
            passes,
            stage,
            waits,
            memory
        )
    } else {
        t!(
            "The vision tower (GPUs of its own: {gpus}) takes {passes} of a micro-batch, the longest rank of the \
                pipeline {stage}: the step waits {waits} for it. More GPUs shorten it. A rank of it needs {memory}.",
            gpus = tower.gpus,
            passes,
            stage,
            waits,
            memory
        )
    };
    leaf("p", "muted", beside)
}

/// Says of a run with images that measured towers were slower.
fn measured_towers(evaluation: &Evaluation) -> Node {
    let has_images = evaluation.scenario.model.vision.is_some_and(|vision| vision.images_a_sequence() > 0.0);
    if !has_images {
        return Node::none();
    }
    muted(
        "Towers were measured slower than they are computed here, where narrow layers wait for their launches: a \
            known miss, under Accuracy.",
    )
}

/// Utilisation with the peak it is counted against, and as others count it.
fn utilisation(step: &Step) -> Node {
    let by_model_flops = t!(
        "MFU {mfu} of the {precision} peak, {tflops} TFLOP/s per GPU.",
        mfu = Scope::run().says("step.mfu", show_percent(step.mfu)),
        precision = step.peak.precision,
        tflops = significant(step.peak.tflops, 4)
    );
    let others = step.mfu_by.iter().map(|row| {
        let name = row.name.choice().label;
        let mfu = Scope::run().part(name).says("step.mfu_by.mfu", show_percent(row.mfu));
        Message::joined(" ", [name.into(), mfu])
    });
    let parts = [
        inline(&by_model_flops),
        text(" "),
        ask("link", Figure::Mfu, &[text("As others count it")]),
        text(verbatim(": ")),
        text(Message::joined(", ", others)),
        step.mfu_by.iter().find_map(|row| row.note.as_ref()).map_or_else(Node::default, |note| {
            Node::from_iter([text(verbatim(" (")), inline(note), text(verbatim(")"))])
        }),
    ];
    el("p", &[("class", "muted")], &parts)
}

/// Effect of a profile on the step; none without one.
pub fn by_profile(evaluation: &Evaluation) -> Option<Message> {
    let step = &evaluation.report.step;
    let profile = &evaluation.scenario.run.profile;
    let sd = step.log_sd.filter(|_| step.rescaled_by.is_none())?;
    let fitted = match profile.runs {
        Some(1) => t!("Fitted to 1 run"),
        runs => t!("Fitted to {runs} runs", runs = runs.unwrap_or(0)),
    };
    let fitted = match profile.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => t!("{fitted}, profile “{name}”", fitted, name = name.to_owned()),
        None => fitted,
    };
    Some(t!(
        "{fitted}: {low_s} to {high_s} holds four of five runs, up to {percent} % longer.",
        fitted,
        low_s = Scope::run().says("step.time_s, low", show_seconds(step.low_s)),
        high_s = Scope::run().says("step.time_s, high", show_seconds(step.high_s)),
        percent = significant((REACH * sd).exp_m1() * 100.0, 2)
    ))
}

/// Fewest runs that say whether a range holds.
const TELLING: usize = 15;

/// What the range of the class held of runs that set no constant, where that is less than it says.
pub fn held_less(evaluation: &Evaluation) -> Option<Message> {
    let class = StepClass::of(&evaluation.scenario);
    let kept = recorded_of(Protocol::Kept, Recipe::AsPrinted, Some(class))?;
    let is_less = kept.runs >= TELLING && kept.held < 0.8;
    is_less.then(|| {
        t!("Of {runs} further runs of this kind it held only {held}.", runs = kept.runs, held = show_percent(kept.held))
    })
}

/// Why the range does not promise to hold, where it does not.
pub fn outside(evaluation: &Evaluation) -> Option<Message> {
    let scenario = &evaluation.scenario;
    let long = StepClass::of(scenario) == StepClass::Tuned && scenario.adapter.is_some() && scenario.run.cp > 1;
    long.then(|| {
        t!("Adapters with context parallelism are outside of what was tested: their fixed times are not known, and \
            this range is judgement.")
    })
}

/// The model and its error on measured runs; with a measured step, the factor by which it was scaled.
fn certainty(evaluation: &Evaluation) -> Message {
    let step = &evaluation.report.step;
    if let Some(words) = by_profile(evaluation) {
        return words;
    }
    let range = range(&evaluation.scenario);
    let (low, high) = range_ends(range.deviation());
    let Some(scale) = step.rescaled_by else {
        let words = t!(
            "Shape-based kernel times and measured link efficiencies. Range {low_s} to {high_s}: it holds four of five \
                {of} of publishers not seen before, in steady state and tuned.",
            low_s = Scope::run().says("step.time_s, low", show_seconds(step.low_s)),
            high_s = Scope::run().says("step.time_s, high", show_seconds(step.high_s)),
            of = Message::plain(step.range.of)
        );
        let less = [held_less(evaluation), outside(evaluation)].into_iter().flatten();
        return Message::joined(" ", std::iter::once(words).chain(less));
    };
    let alone = step.time_s * (1.0 / scale);
    let alone = show_seconds(alone);
    let factor = significant(scale, 3);
    let (low_2, high_2) = (significant(low, 2), significant(high, 3));
    if (low..=high).contains(&scale) {
        t!(
            "Scaled to your measured step: the model alone says {alone}; every part is multiplied by {factor}, within \
                the {low_2} to {high_2} of published runs. No range is shown.",
            alone,
            factor,
            low_2,
            high_2
        )
    } else {
        t!(
            "Scaled to your measured step: the model alone says {alone}; every part is multiplied by {factor}, \
                outside the {low_2} to {high_2} of published runs. No range is shown.",
            alone,
            factor,
            low_2,
            high_2
        )
    }
}

/// Days, GPU-hours and cost of the token budget.
fn budget(evaluation: &Evaluation) -> Node {
    let step = &evaluation.report.step;
    let Some((days, hours)) = step.days.zip(step.gpu_hours) else {
        return Node::none();
    };
    let (length, unit) = day_unit(days);
    let mut facts = vec![
        (unit, "budget.days", verbatim(significant(days / length, 3))),
        ("GPU-hours", "budget.gpu_hours", verbatim(show_count(hours))),
    ];
    if let Some(cost) = step.cost {
        facts.push(("cost", "budget.cost", verbatim(money(&sign(&evaluation.scenario.run), cost))));
    }
    if step.high_s > step.low_s {
        let [low, high] = [step.low_s, step.high_s].map(|seconds| show_count(hours * (seconds / step.time_s)));
        facts.push(("GPU-hours over the range", "budget.gpu_hours_range", t!("{low} to {high}", low, high)));
    }
    let facts: Node = facts
        .into_iter()
        .map(|(name, field, figure)| {
            let figure = strong(figure).reports(field, &Scope::run());
            el("span", &[], &[figure, text(" "), faint(name)])
        })
        .collect();
    let lead = inline("The token budget");
    el("p", &[("class", "budget")], &[lead, facts])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 15 T tokens at T tokens a second: 15e12/rate/86400 days; hours are days · 24 · GPUs.
    #[test]
    fn a_token_budget_is_days_gpu_hours_and_cost() {
        let run = Run { tokens_total: Some(15e12), price_per_gpu_hour: Some(2.0), ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let html = step(&evaluation).to_html();
        let days = 15e12 / evaluation.report.step.tokens_per_s / 86_400.0;
        let hours = days * 24.0 * 64.0;
        assert_eq!(day_unit(days), (1.0, "days"));
        for figure in [significant(days, 3), show_count(hours), money("$", hours * 2.0)] {
            assert!(html.contains(&figure), "{figure} {html}");
        }
        let none = step(&evaluate(&Run::default()).unwrap()).to_html();
        assert!(!none.contains("GPU-hours"));
    }

    /// The share is that of the table of measured errors, of runs that set no constant: fewer than promised of those
    /// with experts, and more of dense ones in 16 bits.
    #[test]
    fn a_range_that_held_less_of_further_runs_says_so() {
        let of = |model: &'static str| Run {
            model: shardscope_core::run::Based::preset(model),
            gpus: 256,
            ..Run::default()
        };
        let said = |model: &'static str| held_less(&evaluate(&of(model)).unwrap()).map(|words| words.to_string());
        let table = include_str!("../../../public/data/accuracy.csv");
        let row = table.lines().find(|row| row.starts_with("kept,as-printed,experts,")).unwrap();
        let held: f64 = row.split(',').nth(7).unwrap().parse().unwrap();
        let share = format!("it held only {}", show_percent(held));
        assert!(said("mixtral-8x7b").is_some_and(|words| words.contains(&share)), "{share}");
        assert_eq!(said("llama-3.1-8b"), None);
    }

    #[test]
    fn a_measured_step_is_said_to_rescale_the_model_and_by_how_much() {
        let mut run = Run::default();
        let alone = evaluate(&run).unwrap().report.step.time_s.0;
        run.measured_step_s = Some(alone * 2.0);
        let html = step(&evaluate(&run).unwrap()).to_html();
        assert!(html.contains("multiplied by 2.00, outside"), "{html}");
        assert!(!html.contains("45 %"));
    }
}
