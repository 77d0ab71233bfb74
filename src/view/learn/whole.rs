//! The whole run: small failures that cost days, and how often to save.

use crate::learn::prelude::*;
use shardscope_core::source::{DALY_2006, LLAMA_3};
use shardscope_core::whole_run::{Rhythm, Setting, WholeRun, best_interval, figures, setting};

const G: Slider = slider("G", "GPUs", &[512, 2048, 8192, 16_384], 2);
const MTTI: Slider = slider("M", "hours between interruptions", &[1, 3, 12, 48], 1);
const SAVE: Slider = slider("δ", "seconds that a save blocks", &[1, 10, 60, 300], 2);

pub(super) const LESSON: Lesson = Lesson {
    id: "whole",
    title: "The whole run",
    about: "failures, saves and days",
    steps: &[
        LessonStep {
            id: "failures",
            title: "Small failures cost days",
            sliders: &[G],
            live: failures,
            source: (&LLAMA_3, "section 3.3.4, table 5"),
            on_run: (Gauge::Calendar, &[("failures", "0")]),
        },
        LessonStep {
            id: "saves",
            title: "How often to save",
            sliders: &[MTTI, SAVE],
            live: saves,
            source: (&DALY_2006, "equations 6 and 37"),
            on_run: (Gauge::Interval, &[("mtti_h", "12")]),
        },
    ],
};

const CALENDAR: Scale = Scale {
    parts: &[("training", Ink::Forward), ("repeated, restarted, saved, started", Ink::Exposed)],
    unit: ("days", 86_400.0),
};

/// Interruptions that nobody planned, and the days and GPUs in which they were counted. Source: Llama 3, section 3.3.4.
const COUNTED: (f64, f64, u64) = (419.0, 54.0, 16_384);

/// Llama 3.1 405B on `gpus` GPUs for 15 T tokens, on nodes of the class that its own count is one of.
fn of_405b(gpus: u64) -> Option<(Setting, WholeRun)> {
    let evaluation = run(&format!(
        "model=llama-3.1-405b&gpus={gpus}&tp=8&pp=16&global_batch=2048&seq_len=8192&schedule=1f1b&stack=megatron-2025\
            &failures=vetted"
    ))?;
    let setting = setting(&evaluation, 15e12).ok()?;
    let whole = figures(&evaluation, &setting);
    Some((setting, whole))
}

fn failures(dials: &Dials) -> Live {
    let gpus = dials.get("G");
    let bars: Vec<Bar> = G
        .values
        .iter()
        .filter_map(|gpus| {
            let (_, whole) = of_405b(*gpus)?;
            let training = whole.training_s.0;
            Some(Bar::new(t!("{gpus} GPUs", gpus), [training, 86_400.0 * whole.days - training]))
        })
        .collect();
    let Some((setting, whole)) = of_405b(gpus) else {
        return Live::default();
    };
    let lost = 1.0 - whole.training_s.0 / (86_400.0 * whole.days);
    Live::of([
        t!(
            "One GPU fails seldom, one of many often. With {gpus} GPUs something stops the job every {every} \
                on average, {count} times in {days} days.",
            gpus,
            every = show_seconds(setting.rhythm.mtti),
            count = number(whole.interruptions.round(), 4),
            days = number(whole.days, 3)
        ),
        t!(
            "Each time the work since the last save is repeated, and the restart takes {restart}. In all, {lost} of \
                the time nothing is trained. Twice the GPUs fail twice as often.",
            restart = show_seconds(setting.rhythm.restart),
            lost = show_percent(lost)
        ),
    ])
    .formula("M = 1000 days / (nodes · rate)", show_seconds(setting.rhythm.mtti))
    .note(t!(
        "{model} for {tokens} T tokens. The rate is the mean of four published fleets; the source's own count is one \
            stop every {every} on {most} GPUs: {stops} in {counted} days.",
        model = verbatim("Llama 3.1 405B"),
        tokens = 15_u8,
        every = show_seconds(Seconds(COUNTED.1 * 86_400.0 / COUNTED.0)),
        most = COUNTED.2,
        stops = number(COUNTED.0, 4),
        counted = number(COUNTED.1, 3)
    ))
    .below("the share that does not train", lost, 0.03, show_percent)
    .bars(&CALENDAR, &bars, None)
}

fn saves(dials: &Dials) -> Live {
    let (mtti, save) = (Seconds(3600.0 * dials.get("M") as f64), Seconds(dials.get("δ") as f64));
    let rhythm = |every: f64| Rhythm {
        mtti,
        by_calendar: false,
        restart: Seconds(900.0),
        save,
        lag: Seconds::ZERO,
        every: Seconds(every),
    };
    let best = best_interval(mtti, save);
    let lost = 1.0 - rhythm(best.0).share();
    let minutes: Vec<f64> = (0..=20_i32).map(|at| (best.0 / 60.0) * 2f64.powf(f64::from(at - 10) / 3.0)).collect();
    let share = |minutes: f64| 100.0 * (1.0 - rhythm(60.0 * minutes).share());
    let points: Vec<(f64, f64)> = minutes.iter().map(|at| (*at, share(*at))).collect();
    let plot = Plot {
        up: Axis { name: "lost, percent of the calendar", spacing: Spacing::Linear },
        lines: vec![
            Line { name: t!("lost time"), ink: Ink::Exposed, points: points.clone(), marks: Marks::None },
            Line {
                name: t!("the best interval"),
                ink: Ink::Forward,
                points: vec![(best.0 / 60.0, 100.0 * lost)],
                marks: Marks::Dots,
            },
        ],
        level: None,
    };
    let young = (2.0 * mtti.0 * save.0).sqrt();
    let rows =
        points.iter().step_by(5).map(|(at, share)| [*at, *share].map(|value| verbatim(number(value, 3))).to_vec());
    let across = Axis { name: "minutes between saves", spacing: Spacing::Doublings };
    Live::of([
        t!(
            "A save costs {save}; an interruption costs what was computed since the last save, on average half an \
                interval. Rare saves repeat much, frequent ones cost more.",
            save = show_seconds(save)
        ),
        t!(
            "The best interval is {best}: {lost} of the calendar is lost, with a restart of {restart} each. Near it \
                the curve is flat: small changes cost little.",
            best = show_seconds(best),
            lost = show_percent(lost),
            restart = show_seconds(rhythm(1.0).restart)
        ),
    ])
    .formula(
        "τ ≈ √(2 M δ)",
        format!("√(2 · {} · {}) = {}", show_seconds(mtti), show_seconds(save), show_seconds(Seconds(young))),
    )
    .note(t!("Young's formula; the picture and the best interval are exact for exponential gaps."))
    .below("the lost share", lost, 0.05, show_percent)
    .plots(across, &[plot], &["minutes between saves", "lost, percent of the calendar"], rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3, section 3.3.4: 419 unexpected interruptions in 54 days on 16,384 GPUs, one in 3.1 hours, and more than
    /// 90 % of the time trained.
    #[test]
    fn interruptions_are_as_many_as_the_source_counted() {
        let (setting, whole) = of_405b(16_384).unwrap();
        let stops = 54.0 * 86_400.0 / setting.rhythm.mtti.0;
        assert!((stops / 419.0 - 1.0).abs() < 0.1, "{stops}");
        let trained = whole.training_s.0 / (86_400.0 * whole.days);
        assert!(trained > 0.9, "{trained}");
    }

    /// The rate is that of the published run of the whole of this training.
    #[test]
    fn the_rate_is_the_one_of_the_published_whole_run() {
        let published = shardscope_core::run::presets::WHOLE_RUNS.iter().find(|run| run.id == "whole-llama-3-405b");
        let evaluation = evaluate(&published.unwrap().run()).unwrap();
        let theirs = setting(&evaluation, 15.6e12).unwrap();
        let (ours, _) = of_405b(16_384).unwrap();
        assert_eq!(ours.rhythm.mtti, theirs.rhythm.mtti);
    }

    /// Young 1974: `√(2 M δ)` where a save is short against the gaps.
    #[test]
    fn the_best_interval_is_youngs_for_short_saves() {
        let best = best_interval(Seconds(48.0 * 3600.0), Seconds(1.0)).0;
        assert!((best / (2.0 * 48.0 * 3600.0_f64).sqrt() - 1.0).abs() < 0.01);
    }
}
