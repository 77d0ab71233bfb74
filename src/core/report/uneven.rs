//! Layers split so that no stage works longer than it must: the split that the Run has, the best there is, the even one
//! and the note's, side by side.

use super::evaluate::{Evaluation, evaluate};
use super::passes::layer_seconds;
use crate::memory::Verdict;
use crate::memory::methods::uneven::split as note_split;
use crate::pipeline::balance::{Work, optimum};
use crate::run::Run;
use crate::run::presets::{Measured, PUBLISHED};
use crate::units::Seconds;

/// Splits of the Run's layers and the steps they give.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// Layers a stage as the Run has them.
    pub own: Vec<u64>,
    /// Its step.
    pub own_s: Seconds,
    /// The split whose longest stage is shortest, within memory where there is enough for any.
    pub best: Vec<u64>,
    /// The step with it.
    pub best_s: Seconds,
    /// Whether it fits.
    pub best_verdict: Verdict,
    /// The step with layers split evenly, where the Run's own are not.
    pub even_s: Option<Seconds>,
    /// What the rule of the uneven-PP note gives: where it is made for, one stage a rank.
    pub note: Option<Vec<u64>>,
    /// What was measured, where the Run is a published one but for its layers a stage.
    pub measured: Option<Pair>,
}

/// The same layers split evenly and not.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Layers a stage, as many on each.
    pub even: Vec<u64>,
    /// Layers a stage of the other split.
    pub uneven: Vec<u64>,
    /// The even split's step over the other's, as measured.
    pub gain: f64,
}

impl Pair {
    /// The first even split among `steps` (layers a stage, seconds) with the first that is not.
    #[must_use]
    pub fn of(steps: &[(&[u64], f64)]) -> Option<Self> {
        let is_even = |split: &[u64]| split.windows(2).all(|pair| pair[0] == pair[1]);
        let (even, long) = steps.iter().find(|(split, _)| is_even(split))?;
        let (uneven, short) = steps.iter().find(|(split, _)| !is_even(split))?;
        Some(Self {
            even: even.to_vec(),
            uneven: uneven.to_vec(),
            gain: long / short,
        })
    }
    /// The most that the gain could be if every layer cost the same, whatever stands beside those of the first rank, as
    /// a fraction: the longest rank goes from that and `e` layers to `l`, and that is worth `l - u` of them at best,
    /// with `u` left on the first rank: `(l - u + e)/l`.
    #[must_use]
    pub fn bound(&self) -> Option<(u64, u64)> {
        let (first, before) = (self.uneven.first()?, self.even.first()?);
        let longest = self.uneven.iter().max()?;
        Some((longest - first + before, *longest))
    }
}

/// The splits of a Run's layers side by side: the even one, its own where that is another, the best one.
#[must_use]
pub fn splits(evaluation: &Evaluation) -> Vec<(Vec<u64>, Evaluation)> {
    let Some(balance) = balance(evaluation) else {
        return Vec::new();
    };
    let mut found: Vec<(Vec<u64>, Evaluation)> = Vec::new();
    for split in [None, Some(balance.own), Some(balance.best)] {
        if let Some(one) = with_split(evaluation, split) {
            let layers = one.scenario.stage_layers.clone();
            if !found.iter().any(|(known, _)| *known == layers) {
                found.push((layers, one));
            }
        }
    }
    found
}

/// The Run with other layers a stage. A measured step stands for its own split: others are as much faster as the model
/// says.
fn with_split(evaluation: &Evaluation, split: Option<Vec<u64>>) -> Option<Evaluation> {
    let mut run = Run {
        stage_layers: split,
        measured_step_s: None,
        ..evaluation.scenario.run.clone()
    };
    let found = evaluate(&run).ok()?;
    let Some(scale) = evaluation.report.step.rescaled_by else {
        return Some(found);
    };
    run.measured_step_s = Some(found.report.step.time_s.0 * scale);
    evaluate(&run).ok()
}

/// How the layers of `evaluation` could be balanced; none for a single stage.
#[must_use]
pub fn balance(evaluation: &Evaluation) -> Option<Balance> {
    let scenario = &evaluation.scenario;
    let stages = scenario.stage_layers.len();
    let seconds = layer_seconds(scenario);
    let ([first, layers @ .., last], true) = (seconds.as_slice(), stages > 1) else {
        return None;
    };
    let with = |split| with_split(evaluation, split);
    let mut work = Work {
        layers,
        first: *first,
        last: *last,
        most: None,
    };
    let mut best = optimum(&work, stages)?;
    let mut found = with(Some(best.clone()))?;
    if found.report.memory.verdict == Verdict::Oom
        && let Some(most) = most_layers(evaluation, &found)
    {
        work.most = Some(&most);
        if let Some(split) = optimum(&work, stages)
            && let Some(other) = with(Some(split.clone()))
        {
            (best, found) = (split, other);
        }
    }
    let own = scenario.stage_layers.clone();
    let even = scenario.run.stage_layers.is_some().then(|| with(None));
    Some(Balance {
        own_s: evaluation.report.step.time_s,
        best_s: found.report.step.time_s,
        best_verdict: found.report.memory.verdict,
        even_s: even.flatten().map(|even| even.report.step.time_s),
        note: (scenario.chunks == 1).then(|| note_split(scenario)),
        measured: measured(&scenario.run),
        own,
        best,
    })
}

/// What was measured of the splits of a published run that `run` is but for its layers a stage.
fn measured(run: &Run) -> Option<Pair> {
    let alike = |run: &Run| Run {
        stage_layers: None,
        measured_step_s: None,
        ..run.resolved()
    };
    let own = alike(run);
    let steps: Vec<(Vec<u64>, f64)> = PUBLISHED
        .iter()
        .filter_map(|published| {
            let step = published.measured.iter().find_map(|figure| match figure {
                Measured::Step(seconds) => Some(*seconds),
                _ => None,
            })?;
            let run = published.run();
            let split = run.stage_layers.clone()?;
            (alike(&run) == own).then_some((split, step))
        })
        .collect();
    let steps: Vec<_> = steps
        .iter()
        .map(|(split, step)| (&**split, *step))
        .collect();
    Pair::of(&steps)
}

/// Layers that each stage has memory for, from two splits of one stage a rank: memory grows by as much with each layer.
fn most_layers(a: &Evaluation, b: &Evaluation) -> Option<Vec<u64>> {
    if a.scenario.chunks != 1 {
        return None;
    }
    let capacity = a.report.memory.capacity_bytes.0;
    let ranks = a
        .report
        .memory
        .per_stage
        .iter()
        .zip(&b.report.memory.per_stage);
    let layers = a.scenario.stage_layers.iter().zip(&b.scenario.stage_layers);
    let mut slope = 0.0f64;
    for ((one, other), (few, many)) in ranks.zip(layers) {
        if few != many {
            let more = (other.total.0 - one.total.0) / (*many as f64 - *few as f64);
            slope = slope.max(more);
        }
    }
    if slope <= 0.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the layers
    let most = |(rank, layers): (&crate::memory::StageMemory, &u64)| {
        let room = *layers as f64 + (capacity - rank.total.0) / slope;
        room.clamp(0.0, a.scenario.model.layers as f64) as u64
    };
    let stages = &a.scenario.stage_layers;
    Some(
        a.report
            .memory
            .per_stage
            .iter()
            .zip(stages)
            .map(most)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Run, Schedule};

    fn of(run: &Run) -> Balance {
        balance(&evaluate(run).unwrap()).unwrap()
    }

    #[test]
    fn layers_add_up_to_their_stages() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let seconds = layer_seconds(&evaluation.scenario);
        assert_eq!(seconds.len(), 32 + 2);
        let times = &evaluation.durations;
        let stage =
            |s: usize| times.forward[s] + times.backward_input[s] + times.backward_weight[s];
        let sum = |range: std::ops::Range<usize>| seconds[range].iter().sum::<f64>();
        assert!(
            (sum(0..9) - stage(0)).abs() < 1e-6 * stage(0),
            "{} {}",
            sum(0..9),
            stage(0)
        );
        assert!((sum(9..17) - stage(1)).abs() < 1e-6 * stage(1));
        assert!((sum(25..34) - stage(3)).abs() < 1e-6 * stage(3));
    }

    /// The head makes the last of four stages of Llama 3.1 8B the longest: fewer layers there, and a shorter step.
    #[test]
    fn the_last_stage_gives_layers_away_and_the_step_is_shorter() {
        let found = of(&Run::default());
        assert_eq!(found.own, [8, 8, 8, 8]);
        assert!(found.best[3] < 8, "{:?}", found.best);
        assert_eq!(found.best.iter().sum::<u64>(), 32);
        assert!(found.best_s.0 < found.own_s.0);
        assert_eq!(found.even_s, None);
    }

    /// The page warns of a stage that the others wait for; its one press makes the step as short as the best split.
    #[test]
    fn the_warning_about_a_long_stage_mends_it() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let warnings = &evaluation.report.warnings;
        let warning = warnings
            .iter()
            .find(|issue| issue.field == "stage_layers")
            .unwrap();
        let fix = warning.fix.as_ref().unwrap();
        let mended = evaluate(&Run::default().with_texts(&fix.set).unwrap()).unwrap();
        let best = of(&Run::default()).best_s;
        assert!(
            mended.report.step.time_s.0 <= best.0 * 1.005,
            "{:?} {best:?}",
            fix.set
        );
        assert!(
            mended
                .report
                .warnings
                .iter()
                .all(|issue| issue.field != "stage_layers")
        );
    }

    #[test]
    fn a_measured_step_is_that_of_its_own_split_only() {
        let measured = Run {
            measured_step_s: Some(10.0),
            ..Run::default()
        };
        let (found, plain) = (of(&measured), of(&Run::default()));
        assert_eq!(found.own_s, Seconds(10.0));
        let gain = |balance: &Balance| balance.own_s / balance.best_s;
        assert!((gain(&found) - gain(&plain)).abs() < 1e-9);
    }

    #[test]
    fn an_uneven_run_is_held_against_the_even_one() {
        let uneven = Run {
            stage_layers: Some(vec![2, 10, 10, 10]),
            ..Run::default()
        };
        let found = of(&uneven);
        let even = evaluate(&Run::default()).unwrap();
        assert_eq!(found.even_s, Some(even.report.step.time_s));
        assert_eq!(of(&Run::default()).best, found.best);
    }

    /// Uneven-PP note: 28388.7 ms with 14 and 14 layers, 19607.1 ms with 10 and 18; equal layers allow 22/18 at most.
    #[test]
    fn a_published_run_is_known_whatever_its_split() {
        let published = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even");
        for split in [None, Some(vec![10, 18]), Some(vec![12, 16])] {
            let run = Run {
                stage_layers: split,
                ..published.unwrap().run()
            };
            let pair = measured(&run).unwrap();
            assert!((pair.gain - 28388.7 / 19607.1).abs() < 1e-12);
            assert_eq!(pair.uneven, [10, 18]);
            assert_eq!(pair.bound(), Some((22, 18)));
        }
        assert_eq!(measured(&Run::default()), None);
    }

    #[test]
    fn every_stage_counts_where_a_rank_has_several_and_one_stage_has_nothing_to_balance() {
        let chunks = Run {
            schedule: Schedule::ZbV,
            ..Run::default()
        };
        assert_eq!(of(&chunks).best.len(), 8);
        assert_eq!(of(&chunks).note, None);
        let one = Run {
            pp: 1,
            ..Run::default()
        };
        assert_eq!(balance(&evaluate(&one).unwrap()), None);
    }
}
