//! Identifies the allocation that failed by its size: a tensor of the run, or logits of other settings. Where several
//! tensors have that size, all of them are named.

use super::{Moment, OutOfMemory};
use crate::message::{Message, verbatim};
use crate::run::Scenario;
use crate::sort::sort_by;
use crate::t;
use crate::units::{GIB, fixed, thousands};
use serde::{Deserialize, Serialize};

/// Two sizes count as equal if they differ by less than this share. The program prints sizes with two decimals.
const SAME: f64 = 0.01;

/// Half of the second decimal, with which the program prints a size, and a margin for rounding: GiB.
const PRINTED: f64 = 0.0051;

/// The allocator rounds large allocations up to a multiple of this. Source: PyTorch
/// `c10/cuda/CUDACachingAllocator.cpp`, `kRoundLarge`.
const ROUNDED: f64 = 2.0 * 1024.0 * 1024.0;

/// Bytes of a logit with the name of their format; fp32 comes first, since losses are computed in it.
const FORMATS: [(u64, &str); 2] = [(4, "fp32"), (2, "bf16")];

/// The tensor that the failed allocation was most likely for; where several have its size, the first of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fingerprint {
    pub name: Message,
    /// Tokens of a micro-batch of the run; of logits with another number of tokens, that number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Relative difference between the size that was asked for and that of the tensor.
    pub off: f64,
    /// True if all tensors of this size are logits.
    pub logits: bool,
    /// Bytes of a logit: 4 in fp32, which a fused loss does not store; 0 of another tensor.
    #[serde(skip)]
    pub logit_bytes: u64,
    /// True if the tensor has more tokens than a micro-batch of the run.
    pub longer: bool,
    /// True for the scores of attention, which FlashAttention never stores.
    #[serde(skip)]
    pub scores: bool,
    /// Other tensors that have the same size to the precision of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<SizeReading>,
    /// The questions whose answers tell these tensors apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decides: Option<Message>,
}

/// A tensor that the size which was asked for may be of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeReading {
    pub name: Message,
    pub tokens: f64,
    pub off: f64,
    /// Bytes of a logit; 0 of another tensor.
    pub logit_bytes: u64,
    /// It has more tokens than a micro-batch of the run.
    pub longer: bool,
    /// True for the scores of attention.
    pub scores: bool,
    /// True for logits of the whole vocabulary on each rank of TP.
    pub whole_vocabulary: bool,
}

impl Fingerprint {
    /// The readings of one size, the likeliest first; none without a reading. The frames of `message` tell some apart:
    /// in the loss nothing asks for a tensor that is no logits, and what is converted to fp32 is in fp32.
    fn of(mut readings: Vec<SizeReading>, message: &OutOfMemory) -> Option<Self> {
        if message.moment == Some(Moment::Loss) && readings.iter().any(SizeReading::is_logits) {
            readings.retain(SizeReading::is_logits);
        }
        let is_wide = |reading: &SizeReading| reading.logit_bytes == 4;
        if message.to_fp32 && readings.iter().any(is_wide) {
            readings.retain(is_wide);
        }
        let decides = what_decides(&readings);
        let logits = readings.iter().all(SizeReading::is_logits);
        let mut readings = readings.into_iter();
        let SizeReading { name, tokens, off, logit_bytes, longer, scores, .. } = readings.next()?;
        let (tokens, also) = (Some(tokens), readings.collect());
        Some(Self { name, tokens, off, logits, logit_bytes, longer, scores, also, decides })
    }

    /// The tensors of this size in words, joined by "or".
    pub fn names(&self) -> Message {
        let first = self.name.clone();
        self.also.iter().fold(first, |names, other| t!("{names}, or of {other}", names, other = &other.name))
    }

    /// What to look up to know which of several tensors it was; none of one alone.
    pub fn to_look_up(&self) -> Option<Message> {
        let questions = self.decides.as_ref()?;
        Some(t!("More than one tensor has this size. What tells them apart: {questions}", questions))
    }

    /// True if one of the tensors of this size is logits.
    pub(super) fn has_logits(&self) -> bool {
        self.logit_bytes > 0 || self.also.iter().any(SizeReading::is_logits)
    }

    /// True if one of the tensors of this size is logits in fp32.
    pub(super) fn has_wide_logits(&self) -> bool {
        self.logit_bytes == 4 || self.also.iter().any(|reading| reading.logit_bytes == 4)
    }

    /// True if one of the tensors of this size has no more tokens than a micro-batch of the run.
    pub(super) fn may_be_of_run(&self) -> bool {
        !self.longer || self.also.iter().any(|reading| !reading.longer)
    }

    /// Numbers of tokens, more than a micro-batch of the run has, whose logits have this size.
    pub(super) fn longer_tokens(&self) -> Vec<f64> {
        let first = self.tokens.filter(|_| self.longer && self.logit_bytes > 0);
        let others = self.also.iter().filter(|reading| reading.longer && reading.is_logits());
        first.into_iter().chain(others.map(|reading| reading.tokens)).collect()
    }

    /// True if logits of the whole vocabulary have this size.
    pub(super) fn may_be_whole_vocabulary(&self) -> bool {
        self.also.iter().any(|reading| reading.whole_vocabulary)
    }
}

impl SizeReading {
    fn is_logits(&self) -> bool {
        self.logit_bytes > 0
    }
}

/// The questions whose answers tell tensors of one size apart; none of one alone.
fn what_decides(readings: &[SizeReading]) -> Option<Message> {
    let differ = |of: fn(&SizeReading) -> bool| readings.iter().any(of) && !readings.iter().all(of);
    let all = [
        (differ(SizeReading::is_logits), t!("Is the stack of the message in the loss?")),
        (differ(|reading| reading.longer), t!("Which micro-batch and sequence had the run that failed?")),
        (differ(|reading| reading.whole_vocabulary), t!("Did it split the vocabulary over TP?")),
        (
            differ(|reading| reading.logit_bytes == 4) && readings.iter().all(SizeReading::is_logits),
            t!("Does its loss convert the logits to fp32?"),
        ),
    ];
    let mut asked: Vec<Message> = all.into_iter().filter(|(differs, _)| *differs).map(|(_, words)| words).collect();
    if asked.is_empty() && readings.len() > 1 {
        asked.push(t!("Which operation does the stack of the message name?"));
    }
    (!asked.is_empty()).then(|| Message::joined(" ", asked))
}

/// Share of `asked` by which a tensor may differ from it without the message's telling.
fn precision(asked: f64) -> f64 {
    let bytes = if asked < GIB { ROUNDED } else { ROUNDED.max(PRINTED * GIB) };
    (bytes / asked).min(SAME)
}

/// Logits of a rank: tokens of a micro-batch, the vocabulary and its parts over TP.
#[derive(Clone, Copy)]
struct RankLogits {
    asked: f64,
    tokens: f64,
    vocab: u64,
    tp: u64,
}

impl RankLogits {
    /// Words of the vocabulary on a rank.
    fn words(self) -> f64 {
        self.vocab as f64 / self.tp as f64
    }

    /// The words of the vocabulary that a rank holds, and of what they are a part: "64 128 (128 256 / TP 2)".
    fn shown_words(self) -> Message {
        let all = verbatim(thousands(self.vocab));
        match self.tp {
            0 | 1 => all,
            tp => t!("{words} ({all} / TP {tp})", words = verbatim(thousands(self.vocab / tp)), all, tp),
        }
    }

    /// Tokens whose logits in `bytes` have the size that was asked for.
    fn count(self, bytes: u64) -> f64 {
        self.asked / (self.words() * bytes as f64)
    }

    fn reading(self, name: Message, tokens: f64, off: f64, logit_bytes: u64) -> SizeReading {
        let longer = tokens > 1.05 * self.tokens;
        SizeReading { name, tokens, off, logit_bytes, longer, scores: false, whole_vocabulary: false }
    }

    /// The logits of a micro-batch of the run, of the whole vocabulary on each rank of TP: of a run without TP, or
    /// with a loss that gathers them.
    fn of_whole_vocabulary(self) -> Vec<SizeReading> {
        let readings = FORMATS.into_iter().filter(|_| self.tp > 1).map(|(bytes, format)| {
            let size = self.tokens * self.vocab as f64 * bytes as f64;
            let name = t!("the logits of a micro-batch in {format}, of the whole vocabulary without TP", format);
            let reading = self.reading(name, self.tokens, (self.asked / size - 1.0).abs(), bytes);
            SizeReading { whole_vocabulary: true, ..reading }
        });
        readings.filter(|reading| reading.off <= precision(self.asked)).collect()
    }

    /// The logits of samples that are longer than a micro-batch of the run. `is_likely` is true of a likely number of
    /// tokens.
    fn of_longer_samples(self, is_likely: impl Fn(f64) -> bool) -> Vec<SizeReading> {
        let readings = FORMATS.into_iter().map(|(bytes, format)| {
            let count = self.count(bytes);
            // If a multiple of the micro-batch is printed as the same size, take the multiple: 3.91 GiB is 16 384
            // tokens.
            let whole = (count / self.tokens).round() * self.tokens;
            let is_whole = self.asked * (count / whole - 1.0).abs() <= PRINTED * GIB;
            let count = if is_whole { whole } else { count };
            let name = t!(
                "{tokens} tokens × {vocab} words × {format}, {times} times the tokens of a micro-batch of the run",
                tokens = fixed(count, 0),
                vocab = self.shown_words(),
                format,
                times = fixed(count / self.tokens, 1)
            );
            self.reading(name, count, precision(self.asked), bytes)
        });
        let in_range = |count: f64| (1.05 * self.tokens..64.0 * self.tokens).contains(&count);
        readings.filter(|reading| in_range(reading.tokens) && is_likely(reading.tokens)).collect()
    }

    /// Logits of another number of tokens than a micro-batch of the run has: of a usual sequence length, up to 64
    /// times the tokens of a micro-batch.
    fn of_usual_lengths(self) -> Vec<SizeReading> {
        let lengths = [1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0];
        let nearest = |count: f64| {
            let off = |length: f64| (count / length - 1.0).abs();
            lengths.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b))).map_or((f64::MAX, count), |at| (off(at), at))
        };
        // A tensor of the run is accepted within 1 %; this guess only within the rounding of the printed size.
        let rounding = (0.005 * GIB / self.asked).max(0.002);
        let readings = FORMATS.into_iter().filter_map(|(bytes, format)| {
            let count = self.count(bytes);
            let (off, length) = nearest(count);
            // If the usual length is printed as the same size, take the usual length: 3.91 GiB is 16 384 tokens.
            let shown = if self.asked * off <= PRINTED * GIB { length } else { count };
            let name = t!(
                "{tokens} tokens × {vocab} words × {format}, logits of another number of tokens than the run's",
                tokens = fixed(shown, 0),
                vocab = self.shown_words(),
                format
            );
            let is_plausible = count > 256.0 && count < 64.0 * self.tokens && off <= rounding;
            is_plausible.then(|| self.reading(name, shown, off, bytes))
        });
        readings.collect()
    }
}

/// The tensor that has the size that `message` asks for: one of the run, else logits of other settings. None of less
/// than 32 MiB, which many tensors have.
pub(super) fn fingerprint(message: &OutOfMemory, scenario: &Scenario) -> Option<Fingerprint> {
    let asked = message.asked.filter(|asked| *asked > 32.0 * 1024.0 * 1024.0)?;
    let run = &scenario.run;
    let logits = RankLogits {
        asked,
        tokens: run.micro_batch as f64 * run.seq_len as f64 / scenario.layout.cp as f64,
        vocab: scenario.model.vocab,
        tp: scenario.layout.tp,
    };
    let in_loss = message.moment == Some(Moment::Loss);
    let whole = logits.of_whole_vocabulary();
    let mut readings = tensors_of_run(message, logits, scenario);
    let is_of_run = !readings.is_empty();
    if !is_of_run && in_loss {
        readings = logits.of_longer_samples(|_| true);
    }
    if readings.is_empty() {
        readings = logits.of_usual_lengths();
    }
    if !is_of_run && !whole.is_empty() && readings.is_empty() {
        // As many ranks of TP as there are times the tokens: both are one size.
        readings = logits.of_longer_samples(|count| {
            let times = count / logits.tokens;
            (times - times.round()).abs() < precision(asked)
        });
    }
    readings.extend(whole);
    Fingerprint::of(readings, message)
}

/// The tensors of the run whose sizes are nearest to what was asked for, of those within [`SAME`]: several where the
/// message does not tell them apart.
fn tensors_of_run(message: &OutOfMemory, logits: RankLogits, scenario: &Scenario) -> Vec<SizeReading> {
    // Bytes of a logit, and true for scores.
    const SCORES: (u64, bool) = (0, true);
    const OTHER: (u64, bool) = (0, false);
    let (model, run, tp) = (&scenario.model, &scenario.run, scenario.layout.tp as f64);
    let RankLogits { asked, tokens, .. } = logits;
    let vocab = logits.words();
    let mut near: Vec<SizeReading> = Vec::new();
    let mut offer = |name: Message, size: f64, (logit_bytes, scores): (u64, bool)| {
        let off = (asked / size - 1.0).abs();
        if size > 0.0 && off < SAME {
            near.push(SizeReading { scores, ..logits.reading(name, tokens, off, logit_bytes) });
        }
    };
    for (bytes, format) in FORMATS {
        offer(t!("the logits of a micro-batch in {format}", format), tokens * vocab * bytes as f64, (bytes, false));
    }
    let (h, f, s) = (model.hidden as f64, model.ffn as f64 / tp, run.seq_len as f64);
    offer(t!("the input of the down projection in bf16"), tokens * f * 2.0, OTHER);
    if model.gated_ffn {
        offer(t!("both halves of a gated FFN in bf16"), tokens * 2.0 * f * 2.0, OTHER);
    }
    offer(t!("the hidden states of a micro-batch in bf16"), tokens * h * 2.0, OTHER);
    let scores = run.micro_batch as f64 * model.heads as f64 / tp * s * s;
    offer(t!("the attention scores of a layer in bf16"), scores * 2.0, SCORES);
    offer(t!("the attention scores of a layer in fp32"), scores * 4.0, SCORES);
    let heads = model.head_dim as f64 * (2.0 * model.heads as f64 + 2.0 * model.kv_heads as f64);
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    let layer = h * heads + matrices * h * model.ffn as f64;
    if message.moment == Some(Moment::GatheredWeights) {
        offer(t!("the gathered weights of a layer in bf16"), layer * 2.0, OTHER);
        offer(t!("the gathered weights of a layer in fp32"), layer * 4.0, OTHER);
    }
    if let Some(moe) = &model.moe {
        let expert = matrices * h * moe.expert_ffn as f64;
        offer(t!("the weights of an expert in bf16"), expert * 2.0, OTHER);
    }
    sort_by(&mut near, |a, b| a.off.total_cmp(&b.off));
    let worst = near.first().map_or(0.0, |best| best.off).max(precision(asked));
    near.retain(|reading| reading.off <= worst);
    near
}
