//! Generation and training as a queue of single responses, simulated with a seed: what the closed forms of
//! [`super::rollout`] are checked against.

use super::lengths::Lengths;
use crate::whole_run::Random;

/// A queue of engines and a trainer.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'a> {
    pub engines: usize,
    /// Responses that an engine decodes at once, at most.
    pub slots: usize,
    /// Responses of a step.
    pub batch: usize,
    pub lengths: &'a Lengths,
    /// Batches that may have been started and not trained; 1: generation and training wait for each other.
    pub in_flight: f64,
    /// A step takes the responses that started first, not those that finished first.
    pub by_start: bool,
    /// Seconds of training on a batch.
    pub training: f64,
    /// Seconds of an iteration by its number of responses.
    pub iteration: fn(f64) -> f64,
}

/// Steps before those that count, and steps that count.
const STEPS: [usize; 2] = [40, 120];

/// A response that is being decoded.
#[derive(Clone, Copy, Debug)]
struct Running {
    /// Its place in the order of starts.
    number: usize,
    /// Tokens that it lacks.
    left: u64,
}

/// An engine: what it decodes, and when its iteration ends.
#[derive(Clone, Debug, Default)]
struct Decoding {
    running: Vec<Running>,
    ends: f64,
}

impl Queue<'_> {
    /// Seconds of a step, the mean over many; the same for the same `seed`.
    pub fn step(&self, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let mut engines = vec![Decoding::default(); self.engines];
        // Responses by the order of their starts; finished and not trained.
        let (mut started, mut finished, mut waiting) = (0, Vec::new(), 0);
        let (mut trained, mut trains_until) = (0, None);
        let (mut now, mut counted_from) = (0.0, 0.0);
        while trained < STEPS[0] + STEPS[1] {
            let allowed = (trained as f64 + self.in_flight) * self.batch as f64;
            while (started as f64) < allowed.floor() && self.start(&mut engines, started, now, &mut random) {
                started += 1;
                finished.push(false);
            }
            if trains_until.is_none() && self.is_ready(&finished, waiting, trained) {
                trains_until = Some(now + self.training);
                waiting -= self.batch;
            }
            let busy = engines.iter_mut().filter(|engine| !engine.running.is_empty());
            let next = busy.min_by(|a, b| a.ends.total_cmp(&b.ends));
            match (next, trains_until) {
                (Some(engine), until) if until.is_none_or(|until| engine.ends <= until) => {
                    now = engine.ends;
                    for running in &mut engine.running {
                        running.left -= 1;
                        if running.left == 0 {
                            finished[running.number] = true;
                            waiting += 1;
                        }
                    }
                    engine.running.retain(|running| running.left > 0);
                    engine.ends = now + (self.iteration)(engine.running.len() as f64);
                }
                (_, Some(until)) => {
                    now = until;
                    trains_until = None;
                    trained += 1;
                    if trained == STEPS[0] {
                        counted_from = now;
                    }
                }
                // Nothing runs and nothing trains: no step would follow.
                _ => return f64::NAN,
            }
        }
        (now - counted_from) / STEPS[1] as f64
    }

    /// Starts response `number` on the emptiest engine; false where all are full.
    fn start(&self, engines: &mut [Decoding], number: usize, now: f64, random: &mut Random) -> bool {
        let Some(engine) = engines.iter_mut().min_by_key(|engine| engine.running.len()) else {
            return false;
        };
        if engine.running.len() >= self.slots {
            return false;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // tokens of a response
        let left = self.lengths.quantile(random.unit()).ceil().max(1.0) as u64;
        if engine.running.is_empty() {
            engine.ends = now + (self.iteration)(1.0);
        }
        engine.running.push(Running { number, left });
        true
    }

    /// True if the next batch is complete.
    fn is_ready(&self, finished: &[bool], waiting: usize, trained: usize) -> bool {
        if !self.by_start {
            return waiting >= self.batch;
        }
        let batch = trained * self.batch..(trained + 1) * self.batch;
        finished.get(batch).is_some_and(|batch| batch.iter().all(|ended| *ended))
    }
}
