//! Splits of the layers over the stages of a pipeline whose longest stage is shortest.
//!
//! `optimum` is exact for layers of any times and limits of memory.

/// Work of the stages.
#[derive(Clone, Debug, PartialEq)]
pub struct StageWork<'a> {
    /// Seconds of each layer, in the model's order.
    pub layers: &'a [f64],
    /// Work of the first stage beside its layers: embedding, vision tower.
    pub first: f64,
    /// Work of the last stage beside its layers: head and loss.
    pub last: f64,
    /// Most layers that each stage has memory for; none without a limit.
    pub most: Option<&'a [u64]>,
}

impl StageWork<'_> {
    /// Seconds of the longest of `split`'s stages.
    pub fn longest(&self, split: &[u64]) -> f64 {
        let mut from = 0;
        let mut longest = 0.0f64;
        for (stage, layers) in split.iter().enumerate() {
            let to = (from + usize::try_from(*layers).unwrap_or(usize::MAX)).min(self.layers.len());
            let mut time: f64 = self.layers[from..to].iter().sum();
            if stage == 0 {
                time += self.first;
            }
            if stage + 1 == split.len() {
                time += self.last;
            }
            longest = longest.max(time);
            from = to;
        }
        longest
    }
}

/// Most steps of a search, stages × layers²: they take about a second. The deepest published model has some hundred
/// layers.
const MAX_STEPS: usize = 1 << 28;

/// The split of the layers over `stages` stages whose longest stage is shortest; of several such splits the one with
/// the least sum of squared stage times. None where the stages have memory for fewer layers than there are, or where
/// the search would take too long.
pub(crate) fn optimum(work: &StageWork, stages: usize) -> Option<Vec<u64>> {
    let count = work.layers.len();
    if stages.saturating_mul(count).saturating_mul(count) > MAX_STEPS {
        return None;
    }
    let mut sums = vec![0.0];
    for time in work.layers {
        sums.push(sums[sums.len() - 1] + time);
    }
    let stages: Vec<Stage> = (0..stages).map(|stage| Stage::of(work, &sums, stage, stages)).collect();
    // The margin is for rounding.
    most_even(&stages, count, shortest(&stages, count)? * (1.0 + 1e-12))
}

/// One stage of a split.
struct Stage<'a> {
    /// For each layer of the model, the seconds of all layers before it; the last entry is the sum of all.
    sums: &'a [f64],
    /// Seconds of the stage's work beside its layers.
    beside: f64,
    /// Most layers that the stage has memory for.
    max_layers: usize,
}

impl<'a> Stage<'a> {
    fn of(work: &StageWork, sums: &'a [f64], stage: usize, stages: usize) -> Self {
        let first = if stage == 0 { work.first } else { 0.0 };
        let last = if stage + 1 == stages { work.last } else { 0.0 };
        let most = work.most.and_then(|most| most.get(stage).copied()).unwrap_or(u64::MAX);
        Self { sums, beside: first + last, max_layers: usize::try_from(most).unwrap_or(usize::MAX) }
    }

    /// Its seconds with the layers of `from..to`.
    fn seconds(&self, from: usize, to: usize) -> f64 {
        self.sums[to] - self.sums[from] + self.beside
    }
}

/// The least seconds of the longest stage over all splits, by dynamic programming over the first `j` layers on the
/// stages up to `s`: `best(s, j) = min over i of max(best(s−1, i), time(s, i..j))`.
///
/// As `i` grows, `best(s−1, i)` grows and `time(s, i..j)` falls, so the minimum is where they cross. The crossing
/// moves up with `j`, so `meet` never goes back.
fn shortest(stages: &[Stage], count: usize) -> Option<f64> {
    let mut best = vec![f64::INFINITY; count + 1];
    best[0] = 0.0;
    for stage in stages {
        let mut meet = 0;
        let next = (0..=count).map(|to| {
            let least = to.saturating_sub(stage.max_layers);
            meet = least.max(meet);
            while meet < to && best[meet] < stage.seconds(meet, to) {
                meet += 1;
            }
            let longest = |from: usize| best[from].max(stage.seconds(from, to));
            if meet > least { longest(meet).min(longest(meet - 1)) } else { longest(meet) }
        });
        best = next.collect();
    }
    best.last().copied().filter(|longest| longest.is_finite())
}

/// Of all splits whose stages take at most `bound` seconds each, the one with the least sum of squared seconds.
fn most_even(stages: &[Stage], count: usize, bound: f64) -> Option<Vec<u64>> {
    // The fewest layers that may come before each stage, so that the other layers fit into it and the stages behind it.
    let mut least = vec![count; stages.len() + 1];
    for (at, stage) in stages.iter().enumerate().rev() {
        let to = least[at + 1];
        let fits = |from: &usize| stage.seconds(*from, to) <= bound;
        least[at] = (to.saturating_sub(stage.max_layers)..to).rev().take_while(fits).last().unwrap_or(to);
    }
    let mut best = vec![f64::INFINITY; count + 1];
    best[0] = 0.0;
    let mut most = 0;
    let mut cuts = Vec::with_capacity(stages.len());
    for (stage, least) in stages.iter().zip(least.windows(2)) {
        let mut next = vec![f64::INFINITY; count + 1];
        let mut cut = vec![0usize; count + 1];
        // The most layers that fit into the stages up to this one.
        let before = most;
        let fits = |to: &usize| to - before <= stage.max_layers && stage.seconds(before, *to) <= bound;
        most = (before..=count).take_while(fits).last().unwrap_or(before);
        for to in least[1]..=most {
            for from in (to.saturating_sub(stage.max_layers).max(least[0])..=to.min(before)).rev() {
                let seconds = stage.seconds(from, to);
                // Smaller `from` give the stage more layers, and more time.
                if seconds > bound {
                    break;
                }
                let total = best[from] + seconds * seconds;
                if total <= next[to] && total.is_finite() {
                    (next[to], cut[to]) = (total, from);
                }
            }
        }
        best = next;
        cuts.push(cut);
    }
    if best[count].is_infinite() {
        return None;
    }
    let mut split = vec![0; stages.len()];
    let mut to = count;
    for (layers, cut) in split.iter_mut().zip(&cuts).rev() {
        *layers = (to - cut[to]) as u64;
        to = cut[to];
    }
    Some(split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Forward FLOPs of a layer of N tokens by NVIDIA's note on uneven PP: `8 N h² + 4 h N² + 4 N h f`.
    fn flops(n: f64, h: f64, f: f64) -> f64 {
        8.0 * n * h * h + 4.0 * h * n * n + 4.0 * n * h * f
    }

    /// Total FLOPs and those of a layer of the language model in the note's cases: image 224 x 224 x 3, patch 14,
    /// vision tower of 28 layers with f = 4h; language model of 28 layers, h 3584, f 18944, s 1024; 2 ranks.
    fn note(h_vit: f64) -> (f64, f64) {
        let n = 256.0;
        let layer = 3.0 * flops(1024.0, 3584.0, 18944.0);
        let vit = 3.0 * (28.0 * flops(n, h_vit, 4.0 * h_vit) + 2.0 * n * h_vit * 3.0 * 196.0);
        let projector = 3.0 * 2.0 * n * h_vit * 3584.0;
        (vit + projector + 28.0 * layer, layer)
    }

    /// Layers of the first of two ranks by the note's rule: the second rank gets `ceil((total / 2) / layer)`.
    fn note_rule(total: f64, layer: f64, layers: u64) -> u64 {
        let is_half = |second: &u64| *second as f64 >= total / 2.0 / layer;
        layers - (0..=layers).find(is_half).unwrap_or(layers)
    }

    #[test]
    fn the_notes_rule_gives_13_10_and_0_layers_to_the_first_stage() {
        for (h_vit, first) in [(1280.0, 13), (4096.0, 10), (8000.0, 0)] {
            let (total, layer) = note(h_vit);
            assert_eq!(note_rule(total, layer, 28), first, "h_vit {h_vit}");
        }
    }

    /// With the FLOPs of the note as times, the optimum is as good as the note's split or better.
    #[test]
    fn the_optimum_is_never_longer_than_the_notes_split() {
        for h_vit in [640.0, 1280.0, 2048.0, 4096.0, 6000.0, 8000.0] {
            let (total, layer) = note(h_vit);
            let layers = [layer; 28];
            let work = StageWork { layers: &layers, first: total - 28.0 * layer, last: 0.0, most: None };
            let first = note_rule(total, layer, 28);
            let best = optimum(&work, 2).unwrap();
            assert!(work.longest(&best) <= work.longest(&[first, 28 - first]) * (1.0 + 1e-12));
        }
    }

    /// The least longest stage by enumeration of all splits of up to 8 layers over up to 4 stages.
    fn by_enumeration(work: &StageWork, stages: usize) -> Option<f64> {
        let count = work.layers.len() as u64;
        let mut best: Option<f64> = None;
        let mut splits = vec![Vec::new()];
        for _ in 0..stages {
            splits = splits
                .into_iter()
                .flat_map(|split| (0..=count).map(move |layers| [split.clone(), vec![layers]].concat()))
                .collect();
        }
        for split in splits {
            let fits = work.most.is_none_or(|most| split.iter().zip(most).all(|(layers, most)| layers <= most));
            if split.iter().sum::<u64>() == count && fits {
                let longest = work.longest(&split);
                best = Some(best.map_or(longest, |best| best.min(longest)));
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_split_has_a_shorter_longest_stage(
            layers in proptest::collection::vec(0.1f64..3.0, 1..8),
            first in 0.0f64..5.0,
            last in 0.0f64..5.0,
            stages in 1usize..5,
            most in proptest::option::of(proptest::collection::vec(0u64..5, 4)),
        ) {
            let work = StageWork { layers: &layers, first, last, most: most.as_deref() };
            let found = optimum(&work, stages).map(|split| {
                assert_eq!(split.iter().sum::<u64>(), layers.len() as u64);
                work.longest(&split)
            });
            match (found, by_enumeration(&work, stages)) {
                (Some(found), Some(best)) => prop_assert!((found - best).abs() < 1e-9, "{found} {best}"),
                (found, best) => prop_assert_eq!(found, best),
            }
        }
    }

    #[test]
    fn equal_layers_without_extras_are_split_evenly() {
        let work = StageWork { layers: &[1.0; 32], first: 0.0, last: 0.0, most: None };
        assert_eq!(optimum(&work, 4).unwrap(), [8, 8, 8, 8]);
        // Llama 3 drops a layer at both ends of the pipeline because of embedding and head.
        let ends = StageWork { layers: &[1.0; 126], first: 0.9, last: 1.0, most: None };
        let split = optimum(&ends, 16).unwrap();
        assert_eq!((split[0], split[15]), (7, 7), "{split:?}");
    }
}
