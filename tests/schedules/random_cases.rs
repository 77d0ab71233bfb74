//! The search on seeded random pipelines, by size: how many are proven optimal, how many are within 1 and 3 % of their bound. Some of
//! each size are tried; `SHARDSCOPE_CASES` of 6,000 or more tries 60 and prints the whole table (`-- --nocapture`).

use crate::common::random::Random;
use shardscope::core::pipeline::certify::certificate::WORK;
use shardscope::core::pipeline::certify::modulo::periodic;
use shardscope::core::pipeline::certify::{Search, Stages};

fn cases(few: usize) -> usize {
    let asked = std::env::var("SHARDSCOPE_CASES").ok().and_then(|asked| asked.parse::<usize>().ok());
    asked.map_or(few, |asked| (asked / 100).clamp(few, 60))
}

/// Between `low` and `high`, in hundredths.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * f64::from(random.one(&(0..=100).collect::<Vec<i32>>())) / 100.0
}

/// Uneven stages, some with a long last one; caps from p/2 to 2 p, lags to a fifth of a forward, split and whole backwards.
fn uneven(random: &mut Random, ranks: usize, microbatches: u32) -> Stages {
    let mut forward: Vec<f64> = (0..ranks).map(|_| between(random, 0.7, 1.3)).collect();
    if random.once_in(3) {
        forward[ranks - 1] *= between(random, 1.2, 2.0);
    }
    let scaled = |random: &mut Random, low, high| -> Vec<f64> {
        forward.iter().map(|time| time * between(random, low, high)).collect()
    };
    let (backward, weight) = (scaled(random, 0.9, 1.4), scaled(random, 0.6, 1.0));
    let whole = random.once_in(4);
    let sum = backward.iter().zip(&weight).map(|(backward, weight)| backward + weight);
    let room = random.one(&[ranks / 2, 3 * ranks / 4, ranks, 3 * ranks / 2, 2 * ranks]);
    Stages {
        home: (0..ranks).collect(),
        microbatches,
        backward_input: if whole { sum.collect() } else { backward },
        forward,
        backward_weight: weight,
        whole,
        lag: between(random, 0.0, 0.2),
        room: vec![u32::try_from(room).unwrap(); ranks],
        apart: Vec::new(),
    }
}

#[test]
fn random_pipelines_are_ordered_close_to_their_bound() {
    // Ranks, micro-batches, cases of a plain run; shares within 1 % and largest gap that are held, of the plain run.
    for (ranks, microbatches, few) in [(4, 8, 12), (4, 16, 6), (8, 16, 3), (8, 32, 1), (16, 64, 1)] {
        let mut random = Random::new(33);
        let (mut optimal, mut near, mut within, mut worst, mut sum) = (0, 0, 0, 0.0_f64, 0.0);
        let tried = cases(few);
        for _ in 0..tried {
            let stages = uneven(&mut random, ranks, microbatches);
            let (problem, scale) = stages.problem();
            let mut search = Search::new(&problem, WORK);
            if let Some(chains) = periodic(&stages) {
                search.start_from(chains);
            }
            search.finish();
            let (makespan, chains) = search.best.clone().unwrap();
            // The order is one, and the simulator says the same of it.
            let seconds = stages.seconds(&chains).unwrap();
            assert!((seconds / scale.seconds(makespan) - 1.0).abs() < 1e-4, "{stages:?}");
            assert!(search.lower <= makespan);
            #[allow(clippy::cast_precision_loss)] // far below 2^52
            let gap = makespan as f64 / search.lower as f64 - 1.0;
            optimal += usize::from(gap < 1e-4);
            near += usize::from(gap <= 0.01);
            within += usize::from(gap <= 0.03);
            worst = worst.max(gap);
            sum += gap;
        }
        println!(
            "p {ranks}, m {microbatches}: {tried} cases, {optimal} optimal, {near} within 1 %, {within} within 3 %, mean {:.2} %, worst {:.1} %",
            100.0 * sum / tried as f64,
            100.0 * worst
        );
        // Every case of four ranks was proven in the reference's own search.
        assert!(ranks > 4 || optimal == tried, "p {ranks}, m {microbatches}: {optimal} of {tried}");
    }
}
