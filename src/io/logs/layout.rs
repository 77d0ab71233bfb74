//! The run that a text log states: by its program's own arguments, by lines that name a setting, by what it counts; the
//! rest is the page's.

use super::collect::Heard;
use super::patterns::{ACCUMULATION, LOCAL_BATCH, LogProgram, LoggedQuantity, NODES, REPLICAS, SHARDS, TOKENS};
use super::reading::Reading;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::presets::Trainer;
use shardscope_core::run::{Based, Run, Scenario, Value};
use shardscope_core::t;
use shardscope_core::units::{group, significant, whole};

/// Memory of a device that differs more from that of the Run's GPU is of another GPU.
const SAME_DEVICE: f64 = 0.12;
/// A batch that is computed from rates is this near to a whole number.
const WHOLE: f64 = 0.01;

/// Relative error that three digits of each of two figures leave.
const DIGITS: f64 = 0.01;

impl Reading {
    /// The run that the log states, where it works with the rest of `present`.
    pub(super) fn layout(&mut self, heard: &Heard, present: &Run) {
        let is_stated = self.take_settings(heard, present);
        // A layout that the log does not state, or not all of it, has to work.
        if self.run != *present && Scenario::new(&self.run).is_err() {
            let kept = Self::new(Message::default(), present).run;
            if Scenario::new(&kept).is_ok() {
                self.notes
                    .push(t!("what it states does not work with the rest of this page's run: the run is the page's"));
                self.run = kept;
            }
        }
        if !is_stated {
            self.assumed.push(t!("what it does not state of model, cluster and layout is as on this page"));
        }
        self.device(heard);
        let page = Self::new(Message::default(), present).run;
        self.stated = (!is_stated).then(|| self.run.differences(&page));
    }

    /// Takes what the log states into `present`, whether that works or not; true if the log prints all its arguments.
    pub(super) fn take_settings(&mut self, heard: &Heard, present: &Run) -> bool {
        let stated = heard.dump.run(present);
        let is_stated = stated.is_some();
        match stated {
            Some(Ok(meaning)) => {
                self.run = Self::new(Message::default(), &meaning.run).run;
                let used = meaning.used.into_iter();
                self.used.extend(used.map(|(entry, what)| (verbatim(entry), what)));
                self.assumed.extend(meaning.assumed);
                self.run.tokens_total = present.tokens_total;
                self.assumed.push(t!("GPU and links, as on this page: {gpu}", gpu = self.run.gpu.title()));
            }
            Some(Err(issues)) => {
                let messages = issues.into_iter().map(|issue| issue.message);
                self.notes.extend(messages.map(|message| t!("its arguments cannot be taken: {message}", message)));
            }
            None => self.software(heard),
        }
        self.settings(heard);
        if let Some(batch) = heard.series_of(LoggedQuantity::GlobalBatch).and_then(|(_, series)| series.last()) {
            self.batch(heard, batch);
        } else {
            self.counted_batch(heard);
        }
        is_stated
    }

    /// The software of a program whose logs do not state it, unless the page's Run has one of that program.
    fn software(&mut self, heard: &Heard) {
        let (id, trainers): (_, &[Trainer]) = match heard.program() {
            Some(
                LogProgram::MegatronLm | LogProgram::MegatronBridge | LogProgram::MegatronSwift | LogProgram::Slime,
            ) => ("megatron-2025", &[Trainer::Megatron]),
            Some(LogProgram::Torchtitan) => ("torchtitan", &[Trainer::Torchtitan]),
            Some(LogProgram::AutoModel | LogProgram::OlmoCore) => ("fsdp2", &[Trainer::PyTorch]),
            Some(LogProgram::Torchtune) => ("torchtune", &[Trainer::Torchtune]),
            Some(LogProgram::Nanotron) => ("nanotron", &[Trainer::Nanotron]),
            Some(LogProgram::DeepSpeed) => ("deepspeed", &[Trainer::DeepSpeed]),
            Some(LogProgram::HfTrainer | LogProgram::MsSwift | LogProgram::Axolotl | LogProgram::LlamaFactory) => {
                ("hf-trainer", &[Trainer::HuggingFace, Trainer::PyTorch, Trainer::DeepSpeed])
            }
            Some(LogProgram::MaxText) => ("maxtext", &[Trainer::MaxText]),
            Some(LogProgram::Composer) => ("composer-2023", &[Trainer::Composer]),
            _ => return,
        };
        if !trainers.contains(&self.run.stack.preset_row().trainer) {
            self.run.stack = Based::preset(id);
            let label = self.run.stack.preset_row().choice.label;
            self.assumed.push(t!("software: {label}; attention, overlap and fusion follow it", label));
        }
    }

    /// Settings that lines state.
    fn settings(&mut self, heard: &Heard) {
        let setting = |key: &str| {
            let found = heard.settings.iter().find(|(known, _)| *known == key);
            found.map(|(_, value)| *value)
        };
        let mut settings = heard.settings.clone();
        let run = &self.run;
        let degrees = [("tp", run.tp), ("pp", run.pp), ("cp", run.cp)];
        let [tp, pp, cp] = degrees.map(|(key, page)| setting(key).unwrap_or(page as f64));
        let shards = setting(SHARDS).map(|shards| shards * setting(REPLICAS).unwrap_or(1.0));
        let ranks = shards.or_else(|| {
            let (batch, micro) = (setting("global_batch")?, setting("micro_batch")?);
            Some(batch / micro / setting(ACCUMULATION)?).filter(|ranks| ranks.fract() == 0.0)
        });
        let nodes = setting(NODES[1]).map(|devices| devices * setting(NODES[0]).unwrap_or(1.0));
        let gpus = ranks.map(|ranks| ranks * tp * pp * cp).or(nodes);
        if let (Some(gpus), None) = (gpus, setting("gpus")) {
            settings.push(("gpus", gpus));
        }
        if let Some(shards) = shards {
            let zero = match (shards > 1.0, pp > 1.0) {
                (false, _) => 0u64,
                (true, true) => 2,
                (true, false) => 3,
            };
            self.assumed.push(t!("ZeRO {zero}: what torchtitan does unless it is told otherwise", zero));
            settings.push(("zero", zero as f64));
        }
        if let (Some(one), Some(all)) = (setting(TOKENS[0]), setting(TOKENS[1])) {
            settings.extend(["tp", "pp", "cp", "ep"].map(|key| (key, 1.0)));
            settings.push(("gpus", all / one));
            self.assumed
                .push(t!("data parallel alone: {program} has nothing else", program = LogProgram::Nanochat.name()));
        }
        if let (Some(step), Some(length)) = (setting(TOKENS[2]), setting("seq_len")) {
            settings.push(("global_batch", step / length));
        }
        // A pipeline divides the batch of a rank further.
        if let (Some(batch), true) = (setting(LOCAL_BATCH), pp < 2.0) {
            settings.push(("micro_batch", batch));
        }
        for (key, value) in settings {
            if self.run.assign(key, &Value::Number(value)).is_ok() {
                let count = group(&format!("{value:.0}"));
                self.used.push((verbatim(key), verbatim(count)));
            }
        }
    }

    /// The batch of a log that does not print it: by the samples that it counts, or by their rate.
    fn counted_batch(&mut self, heard: &Heard) {
        let grown = heard
            .series_of(LoggedQuantity::Consumed)
            .and_then(|(_, series)| series.growth())
            .map(|batch| (batch, t!("sequences per step, by those that it consumed")));
        let of_rate = || {
            let (program, rate) = heard.series_of(LoggedQuantity::CurrentSamplesPerSecond)?;
            let (own, seconds) = heard.series_of(LoggedQuantity::Seconds)?;
            let batch = rate.rates()?.median * seconds.durations()?.median;
            let words = t!("sequences per step, by its sequences per second");
            (own == program).then_some((batch, words))
        };
        let Some((batch, words)) = grown.or_else(of_rate) else {
            return;
        };
        let whole = batch.round();
        let is_whole = (batch / whole - 1.0).abs() < WHOLE;
        let value = Value::Number(whole);
        if is_whole && self.run.assign("global_batch", &value).is_ok() {
            self.used.push((verbatim(format!("global batch size {whole:.0}")), words));
        }
    }

    /// The batch of a line: sequences, or tokens where the line's own rates say so.
    fn batch(&mut self, heard: &Heard, batch: f64) {
        let median_of = |quantity| heard.series_of(quantity).and_then(|(_, series)| Some(series.rates()?.median));
        let seconds = heard.series_of(LoggedQuantity::Seconds).and_then(|(_, series)| Some(series.durations()?.median));
        let tokens = median_of(LoggedQuantity::TokensPerSecond).zip(seconds).map(|(rate, seconds)| rate * seconds);
        let is_tokens = tokens.is_some_and(|tokens| (batch / tokens - 1.0).abs() < 0.1);
        // nanotron prints three digits: "1.02K" are 1024 sequences.
        let rounded = heard.program() == Some(LogProgram::Nanotron);
        let counted = |count: f64| if rounded { even(count) } else { count.round() };
        let states_length = heard.settings.iter().any(|(key, _)| *key == "seq_len");
        if let Some(tokens) = tokens.filter(|_| rounded && !is_tokens && !states_length) {
            let length = even(tokens / batch);
            if self.run.assign("seq_len", &Value::Number(length)).is_ok() {
                let entry = verbatim(format!("{length:.0}"));
                self.used.push((entry, t!("tokens of a sequence, by its tokens per second")));
            }
        }
        let sequences = if is_tokens { batch / self.run.seq_len as f64 } else { batch };
        if self.run.assign("global_batch", &Value::Number(counted(sequences))).is_ok() {
            let meaning = if is_tokens {
                t!("tokens per step: {sequences} sequences", sequences = significant(sequences, 4))
            } else {
                t!("sequences per step")
            };
            self.used.push((verbatim(format!("global batch size {batch:.0}")), meaning));
        }
    }

    /// Says so where the device has other memory than the Run's GPU.
    fn device(&mut self, heard: &Heard) {
        let total = heard.series_of(LoggedQuantity::DeviceMemory).and_then(|(_, series)| series.last());
        let sizes = self.run.gpu.resolve().map(|gpu| (gpu.usable.gib(), gpu.memory.gib()));
        if let (Some(total), Ok((usable, memory))) = (total, sizes) {
            let near = |size: f64| (total / size - 1.0).abs() < SAME_DEVICE;
            if !near(usable) && !near(memory) {
                let (shown, memory) = (significant(total, 4), significant(memory, 4));
                self.notes.push(t!("the device has {shown} GiB, the run's GPU {memory}: another GPU", shown, memory));
            }
        }
    }
}

/// The count of most factors of two among those that are printed as `count` with three digits.
fn even(count: f64) -> f64 {
    let around = |share: f64| whole((count * share).round().max(1.0)).unwrap_or(1);
    let (least, most) = (around(1.0 - DIGITS), around(1.0 + DIGITS));
    // The largest power of two of which a multiple lies between them: they may be far apart.
    let mut multiples = (0..u64::BITS).rev().map(|power| (most >> power) << power);
    multiples.find(|multiple| *multiple >= least).unwrap_or(most) as f64
}
