//! Time of generating a batch: all together from one start, or as a stream of which batches are taken.

use super::engine::EngineModel;
use super::lengths::Lengths;
use crate::units::Seconds;

/// Share of the responses whose decoding counts as the tail.
const TAIL: f64 = 0.1;

/// The responses that engines generate for a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<'a> {
    pub lengths: &'a Lengths,
    /// Mean tokens of a prompt.
    pub prompt: f64,
    /// Responses that a prompt has.
    pub samples: f64,
    /// Responses that a step trains on.
    pub used: f64,
    /// Responses that are generated for them: filtered ones included.
    pub generated: f64,
    /// Over-sampling: generated until the used ones are there.
    pub oversampling: f64,
    /// Engines.
    pub engines: f64,
    /// Seconds that a response waits for its tools.
    pub tools: f64,
}

/// Time of generation, by its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rollout {
    pub prefill: Seconds,
    /// Decoding until nine of ten responses have ended.
    pub full: Seconds,
    /// The rest of it.
    pub tail: Seconds,
    /// Waiting for tools.
    pub tools: Seconds,
    /// Responses that an engine decodes at once, at most.
    pub at_once: f64,
}

impl Rollout {
    pub fn total(&self) -> Seconds {
        self.prefill + self.full + self.tail + self.tools
    }

    /// The parts, each `factor` times as long.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let [prefill, full, tail, tools] = [self.prefill, self.full, self.tail, self.tools].map(|part| part * factor);
        Self { prefill, full, tail, tools, ..self }
    }
}

impl Batch<'_> {
    /// Responses that an engine has to generate.
    fn per_engine(&self) -> f64 {
        self.generated * self.oversampling / self.engines
    }

    /// Prompts of a step are read once for all their samples.
    fn prefill(&self, engine: &EngineModel) -> Seconds {
        engine.prefill(self.prompt * self.per_engine() / self.samples.max(1.0))
    }

    /// All start together and the step waits for the last one: `T = Σ (ℓ_j − ℓ_(j−1)) t(alive_j, p + (ℓ_j +
    /// ℓ_(j−1))/2)`, exact for equal starts. Those beyond the capacity come after: `(n − n₀)/n₀ ℓ t(n₀)`
    /// more.
    pub fn together(&self, engine: &EngineModel) -> Rollout {
        let lengths = self.lengths;
        let all = self.per_engine();
        let at_once = all.min(engine.capacity(self.prompt, lengths.mean)).max(1.0);
        let classes = lengths.classes.len() as f64;
        // With over-sampling the step ends when the first of them are enough.
        let end = if self.oversampling > 1.0 {
            lengths.quantile(1.0 / self.oversampling)
        } else {
            lengths.longest(self.generated)
        };
        let (mut full, mut tail, mut from) = (0.0, 0.0, 0.0);
        for (ended, length) in lengths.classes.iter().map(|length| length.min(end)).chain([end]).enumerate() {
            if length <= from {
                continue;
            }
            let share = (1.0 - ended as f64 / classes).max(0.0);
            let alive = (at_once * share).max(1.0);
            let time = (length - from) * engine.iteration(alive, self.prompt + f64::midpoint(length, from));
            if share > TAIL {
                full += time;
            } else {
                tail += time;
            }
            from = length;
        }
        let waiting = (all - at_once).max(0.0) / at_once;
        full += waiting * lengths.mean * engine.iteration(at_once, self.prompt + 0.75 * lengths.mean);
        Rollout {
            prefill: self.prefill(engine),
            full: Seconds(full),
            tail: Seconds(tail),
            tools: Seconds(self.tools),
            at_once,
        }
    }

    /// Batches are taken from a stream with `in_flight` batches started and not trained, φ: `n = min(capacity, (φ −
    /// ½) B/E)`, since a batch is taken when B are finished, so that B/2 finished ones wait on average; `T = B ℓ/(E
    /// n) t(n)`. Where batches are ordered by start, no shorter than the longest response over φ.
    pub fn stream(&self, engine: &EngineModel, in_flight: f64, by_start: bool) -> Rollout {
        let lengths = self.lengths;
        let each = self.generated / self.engines;
        let capacity = engine.capacity(self.prompt, lengths.mean).max(1.0);
        let at_once = capacity.min((in_flight - 0.5) * each);
        let context = self.prompt + lengths.before;
        let latency = |running: f64, length: f64| length * engine.iteration(running.max(1.0), context) + self.tools;
        let mut decode = each / at_once * latency(at_once, lengths.mean);
        if by_start {
            let longest = lengths.longest(self.generated);
            let running = at_once.min(each * lengths.mean * in_flight / longest);
            decode = decode.max(latency(running, longest) / in_flight);
        }
        let prefill = engine.prefill(self.prompt * each / self.samples.max(1.0));
        let stream = Rollout { prefill, full: Seconds(decode), at_once, ..Rollout::default() };
        // A stream is never slower than waiting for each batch.
        let waited = Self { oversampling: 1.0, ..self.clone() }.together(engine);
        if waited.total() < stream.total() { waited } else { stream }
    }
}
