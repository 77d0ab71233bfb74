//! Layers split so that no stage works longer than it must: the even split, that of NVIDIA's note, the Run's own and
//! the best there is, side by side.

use crate::memory::Verdict;
use crate::message::{FigureKey, Message, verbatim};
use crate::report::{Evaluation, LayerSplits, Pair, SplitFigures, SplitOrigin, SplitSeeds, evaluate, split_seeds};
use crate::run::Run;
use crate::run::presets::{Measured, PUBLISHED, PublishedRun};
use crate::sort::{sort, sort_by};
use crate::t;
use crate::units::{Seconds, show_seconds, significant};
use std::sync::OnceLock;

/// Share by which measured steps may be longer than computed ones before that is said.
const FAR_OFF: f64 = 0.5;

/// A split of the Run's layers, and what it gives.
#[derive(Clone, Debug)]
pub struct LayerSplit {
    /// Its origins, in the order of [`SplitOrigin`].
    pub origins: Vec<SplitOrigin>,
    /// Layers a stage.
    pub layers: Vec<u64>,
    /// The Run with it.
    pub evaluation: Evaluation,
}

impl LayerSplit {
    pub fn step_s(&self) -> Seconds {
        self.evaluation.report.step.time_s
    }
    pub fn verdict(&self) -> Verdict {
        self.evaluation.report.memory.verdict
    }
}

/// Splits of the Run's layers, each once.
#[derive(Clone, Debug)]
pub struct BalancedSplits {
    /// In the order of their first origin.
    pub splits: Vec<LayerSplit>,
    /// Measurement, where the Run is a published one but for its layers a stage.
    pub measured: Option<Pair>,
}

impl BalancedSplits {
    /// The split by `origin`.
    pub fn of(&self, origin: SplitOrigin) -> Option<&LayerSplit> {
        let is_by = |split: &&LayerSplit| split.origins.contains(&origin);
        self.splits.iter().find(is_by)
    }

    /// Says how far the measured steps are from the computed ones, and why only their ratio is compared.
    pub fn far_off(&self) -> Option<Message> {
        let [even, uneven] = self.measured.as_ref()?.steps_s;
        let computed = self.of(SplitOrigin::Even)?.step_s();
        let short = 1.0 - computed.0 / even;
        (short > FAR_OFF).then(|| {
            t!(
                "Its steps of {even} and {uneven} are several times what this run computes, which is {percent} % \
                    short of them: the note describes neither its software nor its data loading, which it counts to \
                    the first stage (loader_stage_s); only their ratio is compared.",
                even = show_seconds(Seconds(even)),
                uneven = show_seconds(Seconds(uneven)),
                percent = significant(short * 100.0, 2)
            )
        })
    }

    /// Adds `origin` to the origins of the split `layers`; false where that is not among the splits.
    fn join(&mut self, origin: SplitOrigin, layers: &[u64]) -> bool {
        let same = self.splits.iter_mut().find(|split| split.layers == layers);
        same.map(|split| split.origins.push(origin)).is_some()
    }

    /// Adds the split of `evaluation`, or its origin where the split is there already.
    fn enter(&mut self, origin: SplitOrigin, evaluation: Option<Evaluation>) {
        let Some(evaluation) = evaluation else { return };
        let layers = evaluation.scenario.stage_layers.clone();
        if !self.join(origin, &layers) {
            self.splits.push(LayerSplit { origins: vec![origin], layers, evaluation });
        }
    }
}

impl From<&BalancedSplits> for LayerSplits {
    fn from(balance: &BalancedSplits) -> Self {
        let even = balance.of(SplitOrigin::Even).map(LayerSplit::step_s);
        let figures = |split: &LayerSplit| SplitFigures {
            origins: split.origins.clone(),
            stage_layers: split.layers.clone(),
            step_s: split.step_s(),
            against_even: even.map_or(1.0, |even| even / split.step_s()),
            peak_bytes: split.evaluation.report.memory.peak_bytes,
            verdict: split.verdict(),
        };
        let splits = balance.splits.iter().map(figures).collect();
        Self { splits, measured: balance.measured.clone(), note: balance.far_off() }
    }
}

/// Balances the layers of `evaluation`; none for a single stage.
pub fn balance(evaluation: &Evaluation) -> Option<BalancedSplits> {
    let scenario = &evaluation.scenario;
    let SplitSeeds { seeds, best } = split_seeds(evaluation, evaluate)?;
    let mut balance = BalancedSplits { splits: Vec::new(), measured: measured(&scenario.run) };
    // The Run's own first: a measured step is its.
    balance.enter(SplitOrigin::Own, Some(evaluation.clone()));
    for origin in [SplitOrigin::Even, SplitOrigin::Rule] {
        let seed = seeds.iter().find(|(own, _)| *own == origin);
        balance.enter(origin, seed.map(|(_, seed)| seed.clone()));
    }
    let found = seeds.iter().map(|(_, seed)| seed).chain([evaluation]);
    let found = found.into_iter().find(|seed| seed.scenario.stage_layers == best);
    balance.enter(SplitOrigin::Best, found.cloned());
    for split in &mut balance.splits {
        sort(&mut split.origins);
    }
    sort_by(&mut balance.splits, |a, b| a.origins[0].cmp(&b.origins[0]));
    Some(balance)
}

/// Says how far a published step of a run with a vision tower on the same kind of GPUs is from its computed one; none
/// for a run without a tower, and where no such step is far off.
pub fn tower_off(evaluation: &Evaluation) -> Option<Message> {
    evaluation.scenario.model.vision?;
    let gpu = &evaluation.scenario.run.gpu;
    // Read where the names are in its settings.
    let has_tower = |published: &&PublishedRun| published.settings.iter().any(|part| part.contains("vision"));
    PUBLISHED.iter().filter(has_tower).find_map(|published| {
        let measured = published.measured.iter().find_map(|figure| match figure {
            Measured::Step(seconds) => Some(Seconds(*seconds)),
            _ => None,
        })?;
        let run = published.run();
        let computed = evaluate(&run).ok().filter(|_| run.gpu == *gpu)?.report.step.time_s;
        let says = |field: &str, time: Seconds| {
            let (field, scope) = (format!("published:{field}"), published.name.to_owned());
            Message::figure(show_seconds(time), FigureKey { field, scope })
        };
        (1.0 - computed / measured > FAR_OFF).then(|| {
            t!(
                "{name} on these GPUs was measured at {measured} a step and computes to {computed}: a step with a \
                    vision tower may take several times as long as computed here.",
                name = verbatim(published.name),
                measured = says("measured step", measured),
                computed = says("step.time_s", computed)
            )
        })
    })
}

/// `run` without its layers a stage, its measured step and its loading: two runs that differ in nothing else become
/// equal.
fn beside_its_split(run: &Run) -> Run {
    Run { stage_layers: None, measured_step_s: None, loader_stage_s: 0.0, ..run.resolved() }
}

/// Measurement of the splits of a published run that differs from `run` in its layers a stage and its loading alone.
fn measured(run: &Run) -> Option<Pair> {
    static STEPS: OnceLock<Vec<(Run, Vec<u64>, f64)>> = OnceLock::new();
    let step = |published: &PublishedRun| {
        let step = published.measured.iter().find_map(|figure| match figure {
            Measured::Step(seconds) => Some(*seconds),
            _ => None,
        })?;
        let run = published.run();
        Some((beside_its_split(&run), run.stage_layers?, step))
    };
    let published = STEPS.get_or_init(|| PUBLISHED.iter().filter_map(step).collect());
    // Two fields are compared before the whole Run is resolved: most runs have another batch or number of GPUs.
    let near = |known: &&(Run, Vec<u64>, f64)| known.0.gpus == run.gpus && known.0.global_batch == run.global_batch;
    let mut near = published.iter().filter(near).peekable();
    near.peek()?;
    let run = beside_its_split(run);
    let steps: Vec<_> = near.filter(|known| known.0 == run).map(|(_, split, step)| (&**split, *step)).collect();
    Pair::of(&steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{Issue, Severity};
    use crate::report::passes::layer_seconds;
    use crate::run::{Run, Schedule};

    /// Share of a step up to which two are the same.
    const SAME: f64 = 1e-6;

    fn of(run: &Run) -> BalancedSplits {
        balance(&evaluate(run).unwrap()).unwrap()
    }

    fn step(balance: &BalancedSplits, origin: SplitOrigin) -> Seconds {
        balance.of(origin).unwrap().step_s()
    }

    /// Where ranks have two stages each, the split that is shortest by stages alone is not the fastest of the pipeline
    /// for every Run: what is called the best is no slower than any split beside it, and where the Run's own is, it is
    /// that.
    #[test]
    fn no_split_beside_the_best_is_faster() {
        let mut own_is_best = 0;
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let mut layers = vec![8; 4];
            (layers[a], layers[b]) = (9, 7);
            let own = Run { pp: 2, virtual_stages: 2, schedule: Schedule::Interleaved, ..Run::default() };
            let found = of(&Run { stage_layers: Some(layers), global_batch: 64, ..own });
            let best = found.of(SplitOrigin::Best).unwrap();
            for split in found.splits.iter().filter(|split| split.verdict() != Verdict::Oom) {
                assert!(best.step_s().0 <= split.step_s().0 * (1.0 + SAME), "{:?} {:?}", best.layers, split.layers);
            }
            own_is_best += usize::from(best.origins.contains(&SplitOrigin::Own));
        }
        assert!(own_is_best > 0);
    }

    #[test]
    fn layers_add_up_to_their_stages() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let seconds = layer_seconds(&evaluation.scenario);
        assert_eq!(seconds.len(), 32 + 2);
        let times = &evaluation.durations;
        let stage = |s: usize| times.forward[s] + times.backward_input[s] + times.backward_weight[s];
        let sum = |range: std::ops::Range<usize>| seconds[range].iter().sum::<f64>();
        assert!((sum(0..9) - stage(0)).abs() < 1e-6 * stage(0), "{} {}", sum(0..9), stage(0));
        assert!((sum(9..17) - stage(1)).abs() < 1e-6 * stage(1));
        assert!((sum(25..34) - stage(3)).abs() < 1e-6 * stage(3));
    }

    /// The head makes the last of four stages of Llama 3.1 8B the longest: fewer layers there, and a shorter step.
    #[test]
    fn the_last_stage_gives_layers_away_and_the_step_is_shorter() {
        let found = of(&Run::default());
        let (own, best) = (found.of(SplitOrigin::Own).unwrap(), found.of(SplitOrigin::Best).unwrap());
        assert_eq!(own.layers, [8, 8, 8, 8]);
        assert_eq!(own.origins, [SplitOrigin::Even, SplitOrigin::Rule, SplitOrigin::Own]);
        assert!(best.layers[3] < 8, "{:?}", best.layers);
        assert_eq!(best.layers.iter().sum::<u64>(), 32);
        assert!(best.step_s().0 < own.step_s().0);
    }

    /// The page warns of a stage that the others wait for; its one press sets the best split.
    #[test]
    fn the_warning_about_a_long_stage_mends_it() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let warnings = evaluation.warnings();
        let warning = warnings.iter().find(|issue| issue.field == "stage_layers").unwrap();
        let fix = warning.fix.as_ref().unwrap();
        let mended = evaluate(&Run::default().with_texts(&fix.set).unwrap()).unwrap();
        let best = of(&Run::default()).of(SplitOrigin::Best).unwrap().layers.clone();
        assert_eq!(mended.scenario.stage_layers, best);
        let warned = |issue: &Issue| issue.field == "stage_layers" && issue.severity == Severity::Warning;
        assert!(!mended.report.warnings.iter().any(warned));
    }

    #[test]
    fn a_measured_step_is_that_of_its_own_split_only() {
        let measured = Run { measured_step_s: Some(10.0), ..Run::default() };
        let (found, plain) = (of(&measured), of(&Run::default()));
        assert_eq!(step(&found, SplitOrigin::Own), Seconds(10.0));
        let gain = |balance: &BalancedSplits| step(balance, SplitOrigin::Own) / step(balance, SplitOrigin::Best);
        assert!((gain(&found) - gain(&plain)).abs() < 1e-9);
    }

    #[test]
    fn an_uneven_run_is_held_against_the_even_one() {
        let uneven = Run { stage_layers: Some(vec![2, 10, 10, 10]), ..Run::default() };
        let found = of(&uneven);
        let even = evaluate(&Run::default()).unwrap();
        assert_eq!(step(&found, SplitOrigin::Even), even.report.step.time_s);
        let best = |balance: &BalancedSplits| balance.of(SplitOrigin::Best).unwrap().layers.clone();
        assert_eq!(best(&of(&Run::default())), best(&found));
    }

    /// Uneven-PP note, its three cases: 13/15, 10/18 and 0/28, whether or not a move is worth it.
    #[test]
    fn the_notes_rule_stands_beside_the_even_and_the_best_split() {
        let published = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even");
        for (width, printed) in [(1280, [13, 15]), (4096, [10, 18]), (8000, [0, 28])] {
            let mut run = published.unwrap().run();
            run.stage_layers = None;
            run.model.parts.vision.hidden = Some(width);
            run.model.parts.vision.ffn = Some(4 * width);
            let found = of(&run);
            assert_eq!(found.of(SplitOrigin::Rule).unwrap().layers, printed);
            assert_eq!(found.of(SplitOrigin::Even).unwrap().layers, [14, 14]);
            let best = step(&found, SplitOrigin::Best);
            for split in &found.splits {
                assert!(best.0 <= split.step_s().0 * 1.005, "{width}: {:?}", split.layers);
            }
        }
    }

    /// Qwen2-VL 72B on H20: the tower of its images stands on the first rank, beside as many layers as other ranks
    /// have; with fewer layers there a step is no longer and ranks wait less.
    #[test]
    fn a_large_vision_model_has_fewer_layers_beside_its_tower() {
        let texts = [
            ("model", "qwen-2-vl-72b"),
            ("gpu", "h20-sxm-96gb"),
            ("gpus", "64"),
            ("tp", "4"),
            ("pp", "4"),
            ("model.vision.images", "4"),
        ];
        let run = Run::default().with_texts(&texts).unwrap();
        let found = of(&run);
        let (even, best) = (found.of(SplitOrigin::Even).unwrap(), found.of(SplitOrigin::Best).unwrap());
        assert_eq!(even.layers, [20; 4]);
        assert!(best.layers[0] < 20 && best.layers.iter().sum::<u64>() == 80, "{:?}", best.layers);
        assert!(best.step_s() <= even.step_s());
        let idle = |layers: &[u64]| {
            let run = Run { stage_layers: Some(layers.to_vec()), ..run.clone() };
            evaluate(&run).unwrap().report.pipeline.bubble_fraction
        };
        assert!(idle(&best.layers) < idle(&even.layers));
    }

    /// Qwen2-VL 72B on H20 with four images, where the even split of four ranks has no memory: from every split that a
    /// run may have the same one is the best, and the warning of a long rank sets it. Of all splits over two ranks none
    /// is faster than the one that is found.
    #[test]
    fn the_best_split_is_one_from_every_start() {
        let texts = [("model", "qwen-2-vl-72b"), ("gpu", "h20-sxm-96gb"), ("gpus", "64"), ("model.vision.images", "4")];
        let base = Run::default().with_texts(&texts).unwrap();
        let four = Run { tp: 4, pp: 4, ..base.clone() };
        let starts = [
            None,
            Some(vec![17, 21, 21, 21]),
            Some(vec![12, 23, 23, 22]),
            Some(vec![13, 23, 22, 22]),
            Some(vec![19, 21, 21, 19]),
            Some(vec![11, 23, 23, 23]),
            Some(vec![14, 22, 22, 22]),
            Some(vec![30, 10, 10, 30]),
        ];
        let best = |run: &Run| of(run).of(SplitOrigin::Best).unwrap().layers.clone();
        let found = best(&four);
        for split in starts {
            assert_eq!(best(&Run { stage_layers: split.clone(), ..four.clone() }), found, "{split:?}");
        }
        let mut named = 0;
        for run in [&four, &Run { pp: 8, ..four.clone() }] {
            let evaluation = evaluate(run).unwrap();
            let warning = evaluation.warnings().iter().find(|issue| issue.field == "stage_layers");
            let Some(fix) = warning.and_then(|warning| warning.fix.clone()) else { continue };
            assert_eq!(evaluate(&run.with_texts(&fix.set).unwrap()).unwrap().scenario.stage_layers, best(run));
            named += 1;
        }
        assert!(named > 0);
        let two = Run { tp: 8, pp: 2, ..base };
        let step = |split: Vec<u64>| {
            let report = evaluate(&Run { stage_layers: Some(split), ..two.clone() }).unwrap().report;
            (report.memory.verdict != Verdict::Oom).then_some(report.step.time_s.0)
        };
        let fastest = (1..80).filter_map(|first| step(vec![first, 80 - first])).fold(f64::INFINITY, f64::min);
        assert!(step(best(&two)).unwrap() <= fastest * (1.0 + SAME), "{:?}", best(&two));
    }

    /// Uneven-PP note: 28388.7 ms with 14 and 14 layers, 19607.1 ms with 10 and 18; equal layers allow 22/18 at most.
    #[test]
    fn a_published_run_is_known_whatever_its_split() {
        let published = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even");
        for split in [None, Some(vec![10, 18]), Some(vec![12, 16])] {
            let run = Run { stage_layers: split, ..published.unwrap().run() };
            let pair = measured(&run).unwrap();
            assert!((pair.gain - 28388.7 / 19607.1).abs() < 1e-12);
            assert_eq!(pair.uneven, [10, 18]);
            assert_eq!(pair.bound(), Some((22, 18)));
        }
        assert_eq!(measured(&Run::default()), None);
    }

    #[test]
    fn every_stage_counts_where_a_rank_has_several_and_one_stage_has_nothing_to_balance() {
        let chunks = Run { schedule: Schedule::ZbV, ..Run::default() };
        let found = of(&chunks);
        assert_eq!(found.of(SplitOrigin::Best).unwrap().layers.len(), 8);
        assert!(found.of(SplitOrigin::Rule).is_none());
        let one = Run { pp: 1, ..Run::default() };
        assert!(balance(&evaluate(&one).unwrap()).is_none());
    }
}
