//! A run as a file states it: its layout, its step, its peaks, and every guess that was made.

use super::collect::Heard;
use super::patterns::{LogProgram, LoggedQuantity};
use super::steps::{ODD, Summary, first_left_out};
use serde::{Deserialize, Serialize};
use shardscope_core::calibrate::{COARSE_NOISE, MeasuredPeak, MemoryKind, NOISE, Observation};
use shardscope_core::diagnose::{stated_settings, unlike};
use shardscope_core::issue::Issue;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::model::CountedBy;
use shardscope_core::report::report;
use shardscope_core::run::registry::field;
use shardscope_core::run::{Multiplier, Run, Scenario};
use shardscope_core::t;
use shardscope_core::time::{IN_TRAINING, Rates};
use shardscope_core::traffic::{INTER, INTRA};
use shardscope_core::units::{MemoryUnit, fixed, show_bandwidth, show_off, show_seconds, significant};

/// Sizes of a run that its log and its settings both may state.
pub(crate) const SIZES: [&str; 8] = ["gpus", "tp", "pp", "cp", "ep", "micro_batch", "global_batch", "seq_len"];
/// Counts that differ more are not the same.
const SAME_COUNT: f64 = 0.03;
/// Steps between lines of a program that prints means since its start, at least, that tell a step: of fewer none can
/// be told from one with an evaluation or a checkpoint in it.
const CLOCKED: usize = 3;
/// Rate of a large product inside kernels of all shapes, over that of the best shape: as the rates' table takes MAMF.
const OF_BEST_SHAPE: f64 = 0.92;

/// What a rate of a log counts a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RateOf {
    Tokens,
    TokensPerGpu,
    Sequences,
}

impl RateOf {
    fn of(quantity: LoggedQuantity) -> Option<Self> {
        Some(match quantity {
            LoggedQuantity::TokensPerSecond => Self::Tokens,
            LoggedQuantity::TokensPerGpu => Self::TokensPerGpu,
            LoggedQuantity::CurrentSamplesPerSecond | LoggedQuantity::SamplesPerSecond => Self::Sequences,
            _ => return None,
        })
    }

    /// What a step of `run` has of it.
    fn work(self, run: &Run) -> f64 {
        let sequences = run.global_batch as f64;
        match self {
            Self::Tokens => sequences * run.seq_len as f64,
            Self::TokensPerGpu => sequences * run.seq_len as f64 / run.gpus as f64,
            Self::Sequences => sequences,
        }
    }
}

/// In words: the step that a rate was divided by.
fn step_words(run: &Run) -> Message {
    t!(
        "a step of {batch} sequences of {seq_len} tokens on {gpus} GPUs",
        batch = run.global_batch,
        seq_len = run.seq_len,
        gpus = run.gpus
    )
}

/// In words: a step of `found` seconds and the steps that it is of.
fn duration_words(found: LoggedSteps) -> Message {
    summary_words(show_seconds(shardscope_core::units::Seconds(found.seconds)), found.used, found.left_out)
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedSteps {
    pub seconds: f64,
    /// Half the distance between the 16th and the 84th of 100 steps, over the median.
    pub spread: f64,
    /// Steps that count.
    pub used: usize,
    /// First and odd ones, left out.
    pub left_out: usize,
}

/// A file, understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub program: Message,
    /// The run that was logged: by the arguments that the log prints, else the Run that it is read beside.
    pub run: Run,
    /// Fields that it states and their values, where the rest of the run is the one at hand; none where it states a run
    /// of its own.
    pub stated: Option<Vec<(String, String)>>,
    /// Settings that it states, of those that a diagnosis may take to differ.
    pub known: Vec<String>,
    pub step: Option<LoggedSteps>,
    /// Seconds of the steps that it tells of, in their order.
    pub series: Vec<f64>,
    /// What its rate counts, where its steps follow from a rate and the batch of the run.
    #[serde(default)]
    pub by_rate: Option<RateOf>,
    /// Sequences of a step by its own two rates, where it prints both.
    #[serde(default)]
    pub sequences: Option<f64>,
    /// The numbers that the log gives them, or their place where it gives none; empty of what is no log of lines.
    pub numbers: Vec<u64>,
    /// Standard deviation of the logarithm of the step, for the fit.
    pub sigma: f64,
    /// Peaks of the fullest GPU that it tells of.
    pub peaks: Vec<MeasuredPeak>,
    /// Multipliers measured by themselves, over the model's prediction.
    pub ratios: Vec<(Multiplier, f64)>,
    /// Measured figures and how they were read: figure, value and unit.
    pub measured: Vec<(Message, Message)>,
    /// Settings that were found, and how they were read: entry and meaning.
    pub used: Vec<(Message, Message)>,
    /// Values that it leaves out, with those taken instead.
    pub assumed: Vec<Message>,
    /// Figures that do not agree, or cannot be used.
    pub notes: Vec<Message>,
    /// The published count of FLOPs that the program's TFLOP/s and MFU follow, where it is known.
    pub counted_by: Option<CountedBy>,
    /// Whose count they follow, in a sentence; empty of no program.
    pub count_words: Message,
}

impl Reading {
    /// The reading of a log of `program`, before its first line.
    pub fn new(program: Message, run: &Run) -> Self {
        let run = Run { measured_step_s: None, profile: shardscope_core::run::Profile::default(), ..run.clone() };
        Self {
            program,
            run,
            stated: Some(Vec::new()),
            known: Vec::new(),
            step: None,
            series: Vec::new(),
            by_rate: None,
            sequences: None,
            numbers: Vec::new(),
            sigma: NOISE,
            peaks: Vec::new(),
            ratios: Vec::new(),
            measured: Vec::new(),
            used: Vec::new(),
            assumed: Vec::new(),
            notes: Vec::new(),
            counted_by: None,
            count_words: Message::default(),
        }
    }

    /// The observation that it is; none where nothing was measured.
    pub fn observation(&self, name: &str) -> Option<Observation> {
        let observation = Observation {
            step_s: self.step.map(|step| step.seconds),
            sigma: self.sigma,
            peaks: self.peaks.clone(),
            ratios: self.ratios.clone(),
            ..Observation::step(name, self.run.clone(), 1.0)
        };
        (!observation.is_empty()).then_some(observation)
    }

    /// The run of the file on a page whose run is `present` now: what it states, and the rest of `present`.
    pub fn run_on(&self, present: &Run) -> Run {
        let Some(stated) = &self.stated else {
            return self.run.clone();
        };
        let stated: Vec<(&str, String)> = stated.iter().map(|(key, value)| (&**key, value.clone())).collect();
        let run = Self::new(Message::default(), present).run.with_texts(&stated);
        run.filter(|run| Scenario::new(run).is_ok()).unwrap_or_else(|| self.run.clone())
    }

    /// True where the log says which model it is of.
    pub fn states_model(&self) -> bool {
        let is_of_model = |key: &str| key == "model" || key.starts_with("model.");
        self.stated.as_ref().is_none_or(|stated| stated.iter().any(|(key, _)| is_of_model(key)))
    }

    pub(super) fn of(heard: &Heard, present: &Run) -> Result<Self, Vec<Issue>> {
        let program = match heard.program() {
            Some(program) => t!("a log of {program}", program = program.name()),
            None if heard.nccl.count() > 0 || heard.nccl.average.is_some() => {
                t!("output of {program}", program = LogProgram::NcclTests.name())
            }
            None if heard.mamf.tflops().is_some() => {
                t!("output of {program}", program = LogProgram::Mamf.name())
            }
            None => match heard.dump.run(present) {
                Some(_) => t!("arguments of a training program"),
                None => return Err(vec![Issue::error("", nothing())]),
            },
        };
        let mut reading = Self::new(program, present);
        reading.counted_by = heard.program().and_then(LogProgram::counted_by);
        reading.count_words = heard.program().map(LogProgram::count_words).unwrap_or_default();
        reading.layout(heard, present);
        let other = unlike(present);
        let mut beside_other = Self::new(Message::default(), &other);
        beside_other.take_settings(heard, &other);
        reading.known = stated_settings(&reading.run, &beside_other.run);
        if let Some(Ok(arguments)) = heard.dump.run(present) {
            reading.known.extend(arguments.stated_kernels());
        }
        reading.states_what_the_page_has(heard);
        if heard.begun > 0 {
            let times = heard.begun + 1;
            reading
                .notes
                .push(t!("its steps begin {times} times, as of several runs: the last one with steps is read", times));
        }
        if heard.grown {
            reading.notes.push(t!("its batch changes while it runs: the steps of the last batch are read"));
        }
        if heard.is_mixed() {
            reading.notes.push(t!(
                "the lines of two runs stand in it in turn: no step and no peak is read; give each run a file of its \
                    own"
            ));
        } else {
            reading.peaks(heard);
            reading.step(heard);
        }
        reading.benchmarks(heard);
        reading.leave_out(heard.impossible);
        Ok(reading)
    }

    /// Leaves out numbers that nothing can have measured, which are of a broken line, and says so; `others` were left
    /// out before.
    fn leave_out(&mut self, others: u64) {
        let plausible = |value: f64, most: f64| (1e-6..=most).contains(&value);
        let found = |reading: &Self| u64::from(reading.step.is_some()) + reading.peaks.len() as u64;
        let before = found(self);
        self.step = self.step.filter(|step| plausible(step.seconds, 1e7));
        self.peaks.retain(|peak| plausible(peak.gib, 1e5));
        self.ratios.retain(|(_, ratio)| plausible(*ratio, 100.0));
        self.sigma = self.sigma.min(2.0);
        let count = others + before - found(self);
        if count > 0 {
            self.notes.push(t!(
                "values that no step and no peak can have, such as 0 or no number, are left out: {count}",
                count
            ));
        }
    }

    /// The calculator's figures for the same run beside the measured step and peaks; nothing where the run does not
    /// work.
    pub fn compared(&self) -> Vec<Message> {
        let Ok(report) = report(&self.run) else {
            return Vec::new();
        };
        let step = self.step.map(|step| {
            let expected = report.step.time_s;
            t!(
                "The built-in model says {expected}, {off} against what was measured.",
                expected = show_seconds(expected),
                off = show_off(expected.0 / step.seconds - 1.0, 1)
            )
        });
        step.into_iter().chain(self.compared_peaks()).collect()
    }

    /// The measured peaks beside the calculator's figures for the same run: allocated beside allocated, reserved beside
    /// reserved; nothing where the run does not work.
    pub fn compared_peaks(&self) -> Vec<Message> {
        if self.peaks.is_empty() {
            return Vec::new();
        }
        let Ok(report) = report(&self.run) else {
            return Vec::new();
        };
        let fullest = report.memory.per_stage.get(report.memory.peak_stage);
        let peaks = fullest.into_iter().flat_map(|rank| self.peaks.iter().map(move |peak| (rank, peak)));
        let peaks = peaks.map(|(rank, peak)| {
            let (kind, bytes) = match peak.kind {
                MemoryKind::Allocated => (t!("peak of allocated memory"), rank.allocated()),
                MemoryKind::Reserved => (t!("peak of reserved memory"), rank.reserved()),
                MemoryKind::Device => (t!("memory that the driver shows"), rank.total),
            };
            let said = t!(
                "{kind}: the estimate for the fullest GPU says {expected}, {off} against what was measured.",
                kind,
                expected = MemoryUnit::Gib.show(bytes),
                off = show_off(bytes.gib() / peak.gib - 1.0, 1)
            );
            let beyond =
                Some(rank.logits_beyond()).filter(|beyond| peak.kind == MemoryKind::Allocated && beyond.0 > 0.0);
            let left_out = beyond.map(|beyond| {
                t!(
                    "It leaves out {beyond} of the logits at their peak, which the need of the GPU has: measured peaks \
                        are met without them.",
                    beyond = MemoryUnit::Gib.show(beyond)
                )
            });
            Message::joined(" ", std::iter::once(said).chain(left_out))
        });
        peaks.collect()
    }

    fn peaks(&mut self, heard: &Heard) {
        for (quantity, kind, words) in [
            (LoggedQuantity::Allocated, MemoryKind::Allocated, t!("peak of allocated memory")),
            (LoggedQuantity::Reserved, MemoryKind::Reserved, t!("peak of reserved memory")),
            (
                LoggedQuantity::Device,
                MemoryKind::Device,
                t!("memory that the driver shows, context and libraries included"),
            ),
        ] {
            let found = heard.series_of(quantity);
            if let Some((program, gib)) = found.and_then(|(program, series)| Some((program, series.largest()?))) {
                let unit = match program {
                    LogProgram::MegatronLm | LogProgram::NvidiaSmi | LogProgram::Accelerate | LogProgram::Nanochat => {
                        "MiB"
                    }
                    LogProgram::Nanotron => "MiB, bytes",
                    LogProgram::DeepSpeed => "\"GB\" = GiB",
                    LogProgram::MegatronBridge | LogProgram::Composer => "GB = 10⁹",
                    _ => "GiB",
                };
                let figure = t!("{gib} GiB, printed as {unit}", gib = significant(gib, 4), unit = verbatim(unit));
                self.measured.push((words, figure));
                self.peaks.push(MeasuredPeak { kind, gib });
            }
        }
        if let Some(gib) = heard.ran_out {
            self.notes.push(t!("it ran out of memory: it needed at least {gib} GiB", gib = significant(gib, 4)));
        }
        if let Some((_, series)) = heard.series_of(LoggedQuantity::Theory)
            && let Some(gib) = series.largest()
        {
            self.notes.push(t!("{gib} GiB is the program's own estimate, no measurement", gib = significant(gib, 4)));
        }
        let found = |quantity| heard.series_of(quantity).and_then(|(_, series)| series.largest());
        for (is_reserved, words) in [
            (false, t!("peak of allocated memory, of all phases")),
            (true, t!("peak of reserved memory, of all phases")),
        ] {
            if let Some(gib) = found(LoggedQuantity::OfAllPhases(is_reserved)) {
                let (gib, unit) = (significant(gib, 4), verbatim("\"gb\" = GiB"));
                self.measured.push((words, t!("{gib} GiB, printed as {unit}", gib, unit)));
            }
        }
        if found(LoggedQuantity::OfAllPhases(false)).or(found(LoggedQuantity::OfAllPhases(true))).is_some() {
            self.notes.push(t!(
                "its peaks are those of a process since it began, with all that it does besides updates: they are \
                no peak of a step and are not taken"
            ));
        }
        if heard.program() == Some(LogProgram::OlmoCore) && found(LoggedQuantity::Allocated).is_some() {
            self.notes.push(t!(
                "its active memory holds freed blocks that a stream still waits for: it is at least what is allocated"
            ));
        }
        self.shares(heard);
        if heard.series_of(LoggedQuantity::InUse).is_some() {
            self.notes.push(t!("memory in use after a phase is no peak: it is not taken"));
        }
    }

    /// Reads timers. Those of DeepSpeed synchronise the GPU, so that overlap is lost and only shares mean something;
    /// those of reinforcement learning are of phases that follow each other.
    fn shares(&mut self, heard: &Heard) {
        let timers: Vec<(&'static str, f64)> = heard
            .series
            .iter()
            .filter_map(|(_, quantity, series)| match quantity {
                LoggedQuantity::Timer(name) => Some((*name, series.durations()?.median)),
                _ => None,
            })
            .collect();
        let sum: f64 = timers.iter().map(|(_, seconds)| seconds).sum();
        for (name, seconds) in timers {
            let (shown, percent) =
                (show_seconds(shardscope_core::units::Seconds(seconds)), format!("{:.0}", seconds / sum * 100.0));
            self.measured.push((Message::plain(name), t!("{shown}, {percent} % of what is timed", shown, percent)));
        }
        if sum > 0.0 && !heard.has_rounds() {
            self.notes.push(t!("its timers wait for the GPU, so that nothing overlaps: they give shares, not a step"));
        }
    }

    /// A round of reinforcement learning, which is no step: it generates, scores and takes several steps of the
    /// optimizer.
    fn round(&mut self, heard: &Heard) {
        let duration = |quantity| heard.series_of(quantity).and_then(|(_, series)| series.durations());
        let shown = |found: Summary| show_seconds(shardscope_core::units::Seconds(found.median));
        if let Some(found) = duration(LoggedQuantity::Round) {
            let (seconds, used, left_out) = (shown(found), found.used, found.left_out);
            self.measured.push((
                t!("seconds of a round: samples, scores, updates"),
                t!(
                    "{seconds} a round: the median of {used}; first and odd ones left out: {left_out}",
                    seconds,
                    used,
                    left_out
                ),
            ));
        }
        let (Some(update), Some(counted)) = (duration(LoggedQuantity::Update), heard.step_tokens()) else {
            self.notes.push(t!(
                "its rounds generate samples, score them and train on them: it does not say how long one step of the \
                training takes, and no step is read"
            ));
            return;
        };
        self.measured
            .push((t!("seconds of a step of the optimizer, of the training of a round"), verbatim(shown(update))));
        let tokens = self.run.global_batch as f64 * self.run.seq_len as f64;
        if (counted / tokens - 1.0).abs() > SAME_COUNT {
            let whole = |count: f64| fixed(count, 0);
            self.notes.push(t!(
                "a step of its training has {own} tokens, the run {tokens}: it is no step of this run and is not taken",
                own = whole(counted),
                tokens = whole(tokens)
            ));
            return;
        }
        let Summary { median, spread, used, left_out } = update;
        self.sigma = NOISE.max(spread);
        self.step = Some(LoggedSteps { seconds: median, spread, used, left_out });
    }

    fn tokens_of_step(&self) -> f64 {
        self.run.global_batch as f64 * self.run.seq_len as f64
    }

    /// The quantities that tell the time of a step, the surest first: each with the work of a step in its unit, 0 where
    /// it is a time itself, and its words.
    fn quantities(&self) -> [(LoggedQuantity, f64, Message); 8] {
        let tokens = self.tokens_of_step();
        let (gpus, batch) = (self.run.gpus as f64, self.run.global_batch as f64);
        [
            (LoggedQuantity::Seconds, 0.0, t!("seconds of a step")),
            (LoggedQuantity::StepsPerSecond, 1.0, t!("steps per second")),
            (LoggedQuantity::TokensPerSecond, tokens, t!("tokens per second over all GPUs")),
            (LoggedQuantity::TokensPerGpu, tokens / gpus, t!("tokens per second and GPU")),
            (LoggedQuantity::CurrentSamplesPerSecond, batch, t!("sequences per second over all GPUs")),
            (LoggedQuantity::Iterations, 0.0, t!("seconds of a step, by the progress bar")),
            (LoggedQuantity::MeanStepsPerSecond, 1.0, t!("steps per second, mean since the start")),
            (LoggedQuantity::SamplesPerSecond, batch, t!("sequences per second over all GPUs, mean since the start")),
        ]
    }

    /// The step by the surest of the quantities.
    fn step(&mut self, heard: &Heard) {
        if heard.has_rounds() {
            return self.round(heard);
        }
        for (quantity, work, words) in self.quantities() {
            let Some((program, series)) = heard.series_of(quantity) else {
                continue;
            };
            if quantity == LoggedQuantity::Seconds && heard.clock.is_some() && series.len() < CLOCKED {
                continue;
            }
            let found = if quantity == LoggedQuantity::MeanStepsPerSecond {
                // The last one is the mean of most steps.
                series.last().map(|rate| Summary { median: 1.0 / rate, spread: 0.0, used: 1, left_out: 0 })
            } else if work > 0.0 {
                series.rates().map(|rates| Summary { median: work / rates.median, ..rates })
            } else {
                series.durations()
            };
            let Some(found) = found else { continue };
            let (numbers, values) = series.ordered();
            self.numbers = numbers;
            self.series = if work > 0.0 { values.into_iter().map(|rate| work / rate).collect() } else { values };
            // A mean since the start has all of the run in it, as the sum that a trainer prints at its end.
            let coarse = quantity == LoggedQuantity::MeanStepsPerSecond || program == LogProgram::HfTrainer;
            self.sigma = if coarse { COARSE_NOISE } else { NOISE.max(found.spread) };
            let (used, left_out) = (found.used, found.left_out);
            let step = LoggedSteps { seconds: found.median, spread: found.spread, used, left_out };
            self.measured.push((words, duration_words(step)));
            if work > 1.0 {
                self.assumed.push(step_words(&self.run));
            }
            self.by_rate = RateOf::of(quantity);
            if program == LogProgram::HfTrainer {
                self.notes
                    .push(t!("a trainer's summary covers evaluation, saving and the first steps: it weighs little"));
            } else if coarse {
                self.notes.push(t!(
                    "its mean since the start covers evaluation, saving and the first steps: it weighs little"
                ));
            }
            self.step = Some(step);
            break;
        }
        let last = |of| heard.series_of(of).and_then(|(_, series)| series.last());
        let rates = last(LoggedQuantity::SamplesPerSecond).zip(last(LoggedQuantity::MeanStepsPerSecond));
        self.sequences = rates.map(|(samples, steps)| samples / steps);
        self.labelled(heard);
        self.agree(heard, self.tokens_of_step() / self.run.gpus as f64);
    }

    /// The reading without what was guessed of its run, which settings beside it state.
    #[must_use]
    pub fn without_guesses(mut self) -> Self {
        let step = step_words(&self.run);
        self.assumed.retain(|words| *words == step);
        self
    }

    /// The reading as of `run`, whose settings stand beside the log: where its steps follow from a rate, they are of
    /// that run's batch.
    #[must_use]
    pub fn of_run(mut self, run: &Run) -> Self {
        let factor = self.by_rate.map_or(1.0, |rate| rate.work(run) / rate.work(&self.run));
        if let Some(step) = self.step.filter(|_| (factor - 1.0).abs() > f64::EPSILON) {
            let scaled = LoggedSteps { seconds: step.seconds * factor, ..step };
            let (before, after) = (duration_words(step), duration_words(scaled));
            for (_, words) in self.measured.iter_mut().filter(|(_, words)| *words == before) {
                words.clone_from(&after);
            }
            let before = step_words(&self.run);
            for words in self.assumed.iter_mut().filter(|words| **words == before) {
                *words = step_words(run);
            }
            self.series.iter_mut().for_each(|seconds| *seconds *= factor);
            self.step = Some(scaled);
        }
        self.run = run.clone();
        self
    }

    /// Says so where the log's own rates give a step of other sequences than the run's.
    pub fn other_batch(&self) -> Option<Message> {
        let own = self.sequences.filter(|own| (own / self.run.global_batch as f64 - 1.0).abs() > SAME_COUNT)?;
        Some(t!(
            "by its own rates a step has {own} sequences, and one of the run {batch}: check batch and GPUs",
            own = significant(own, 3),
            batch = self.run.global_batch
        ))
    }

    /// A rate of the tokens that have a label: prompts and padding have none, and the log does not say how many a step
    /// has.
    fn labelled(&mut self, heard: &Heard) {
        let rate = heard.series_of(LoggedQuantity::LabelledPerGpu).and_then(|(_, series)| series.rates());
        if let Some(rate) = rate {
            let tokens = fixed(rate.median, 0);
            self.measured.push((t!("tokens per second and GPU, of those with a label"), verbatim(tokens)));
            self.notes.push(t!(
                "its tokens per second leave out prompts and padding, and it does not say how many tokens of a step \
                are left: no step follows from them"
            ));
        }
    }

    /// Adds to what the log states the sizes that it states and the page's run has too: beside a script they are the
    /// log's.
    fn states_what_the_page_has(&mut self, heard: &Heard) {
        let (run, known) = (&self.run, &self.known);
        let Some(stated) = &mut self.stated else {
            return;
        };
        for key in SIZES {
            let by_line = heard.settings.iter().any(|(set, _)| *set == key) || known.iter().any(|set| set == key);
            if by_line && stated.iter().all(|(set, _)| set != key) {
                stated.extend(field(key).and_then(|field| Some((key.to_owned(), field.text(run)?))));
            }
        }
    }

    /// Says so where the log's tokens a second and its seconds are of another batch than the Run's.
    fn agree(&mut self, heard: &Heard, tokens: f64) {
        let rate = heard.series_of(LoggedQuantity::TokensPerGpu).and_then(|(_, series)| series.rates());
        let is_timed = [LoggedQuantity::Seconds, LoggedQuantity::StepsPerSecond]
            .into_iter()
            .any(|of| heard.series_of(of).is_some());
        let by_rate = self.step.zip(rate).filter(|_| is_timed).map(|(step, rate)| rate.median * step.seconds);
        let counted = heard.step_tokens().map(|counted| counted / self.run.gpus as f64);
        if let Some(logged) = counted.or(by_rate)
            && (logged / tokens - 1.0).abs() > SAME_COUNT
        {
            let whole = |count: f64| fixed(count, 0);
            self.notes.push(t!(
                "by its own tokens per second a step has {own} tokens per GPU, the run {tokens}: \
                check batch, sequence and GPUs",
                own = whole(logged),
                tokens = whole(tokens)
            ));
        }
    }

    /// Rates of one kind of work.
    fn benchmarks(&mut self, heard: &Heard) {
        let Ok(scenario) = Scenario::new(&self.run) else {
            return;
        };
        let gpu = &scenario.gpu;
        if let Some((latency, bandwidth)) = heard.nccl.line() {
            let nodes = heard.nccl.nodes();
            let ranks = heard.nccl.ranks.max(nodes);
            let (kind, expected) = if nodes > 1 {
                let cards = (ranks / nodes).max(1) as f64;
                (Multiplier::Network, (cards * gpu.inter.0 * INTER.value).min(gpu.intra.0 * INTRA.value))
            } else {
                (Multiplier::NodeLinks, gpu.intra.0 * INTRA.value)
            };
            let latency = show_seconds(shardscope_core::units::Seconds(latency));
            self.measured.push((
                verbatim("busbw"),
                t!(
                    "{bandwidth} of large messages, latency {latency}; the model takes {expected}",
                    bandwidth = show_bandwidth(bandwidth),
                    latency,
                    expected = show_bandwidth(expected)
                ),
            ));
            if heard.nccl.ranks == 0 {
                self.assumed.push(t!("one node: the output has no list of ranks"));
            }
            let reduced = heard.nccl.collective.as_deref().is_some_and(|name| name.contains("all_reduce"));
            if nodes == 1 && bandwidth > gpu.intra.0 || reduced && bandwidth > expected * 1.15 {
                self.notes.push(t!("the switch reduces on the way (NVLS): this says nothing of rings; measure \
                    all_gather or reduce_scatter"));
            } else {
                self.ratios.push((kind, expected / bandwidth));
            }
        } else if heard.nccl.average.is_some() {
            self.notes.push(t!("the average of nccl-tests runs over all sizes: the rows are needed"));
        }
        if let Some(tflops) = heard.mamf.tflops() {
            let rate = Rates::of(&scenario).gemm.0 / 1e12;
            let expected = tflops * OF_BEST_SHAPE * IN_TRAINING.value;
            self.measured.push((
                verbatim("TFLOPS"),
                t!(
                    "{tflops} TFLOP/s of the best shape: {expected} in training, the model takes {rate}",
                    tflops = significant(tflops, 4),
                    expected = significant(expected, 3),
                    rate = significant(rate, 3)
                ),
            ));
            self.ratios.push((Multiplier::Gemm, rate / expected));
        }
    }
}

/// The issue of a file of which nothing is known.
pub(super) fn nothing() -> Message {
    t!("nothing in it is known: what is read are logs of Megatron-LM, NeMo, Megatron-Bridge, AutoModel, torchtitan, \
            DeepSpeed, Hugging Face Trainer, Accelerate, torchtune, ms-swift, axolotl, LLaMA-Factory, OLMo-core, \
            nanochat, verl, slime, nanotron, MaxText and llm-foundry, nccl-tests, MAMF-finder, \
            torch.cuda.memory_summary, nvidia-smi, a \
            Kineto trace, a memory snapshot")
}

/// "3.27 s a step: the median of 18; left out: 2 at the start".
fn summary_words(seconds: String, used: usize, left_out: usize) -> Message {
    let step = match used {
        1 => t!("{seconds} a step, by one value", seconds),
        _ => t!("{seconds} a step: the median of {used}", seconds, used),
    };
    let first = first_left_out(used + left_out);
    match (first, left_out.saturating_sub(first)) {
        (0, 0) => step,
        (_, 0) => t!("{step}; left out: {first} at the start", step, first),
        (_, long) => t!(
            "{step}; left out: {first} at the start, {long} of more than {odd} times the median",
            step,
            first,
            long,
            odd = ODD
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::summary_words;
    use crate::logs::patterns::LoggedQuantity;
    use crate::logs::steps::Series;

    /// Each count of a summary is one of its series, all of them are in its words, and none is said where it is 0.
    #[test]
    fn the_words_of_a_summary_count_every_value() {
        let last = |tail: f64| move |at: usize, count: usize| if at + 1 == count { tail } else { 1.0 };
        for tail in [1.0, 100.0] {
            for count in 1..12 {
                let mut series = Series::of(LoggedQuantity::Seconds);
                (0..count).for_each(|at| series.add(None, last(tail)(at, count)));
                let summary = series.durations().unwrap();
                assert_eq!(summary.used + summary.left_out, count);
                let words = summary_words("1.00 s".to_owned(), summary.used, summary.left_out).to_string();
                let (step, left_out) = words.split_once("; left out: ").unwrap_or((&words, ""));
                let of = |text: &str| text.rsplit(' ').next().unwrap().parse().unwrap();
                let used: usize = if step.contains("median") { of(step) } else { 1 };
                let first = left_out.split_once(" at the start").map_or(0, |(first, _)| of(first));
                let long = left_out.split_once(" of more than 1.5 times").map_or(0, |(long, _)| of(long));
                assert_eq!((used, first + long), (summary.used, summary.left_out), "{words}");
                assert!(!words.contains("median of 1") || used > 1, "{words}");
                assert!(!left_out.split([' ', ',']).any(|word| word == "0"), "{words}");
            }
        }
    }
}
