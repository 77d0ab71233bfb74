//! Identifies the allocation that failed by its size: a tensor of the run, or logits of another number of tokens.

use super::{Moment, OutOfMemory};
use crate::message::{Message, verbatim};
use crate::run::Scenario;
use crate::t;
use crate::units::{GIB, fixed, thousands};
use serde::Serialize;

/// Two sizes count as equal if they differ by less than this share. The program prints sizes with two decimals.
const SAME: f64 = 0.01;

/// Half of the second decimal, with which the program prints a size, and a margin for rounding: GiB.
const PRINTED: f64 = 0.0051;

/// Bytes of a logit with the name of their format; fp32 comes first, since losses are computed in it.
const FORMATS: [(u64, &str); 2] = [(4, "fp32"), (2, "bf16")];

/// The tensor that the failed allocation was most likely for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fingerprint {
    pub name: Message,
    /// Tokens of a micro-batch of the run; of logits with another number of tokens, that number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Relative difference between the size that was asked for and that of the tensor.
    pub off: f64,
    /// True for logits.
    pub logits: bool,
    /// Bytes of a logit: 4 in fp32, which a fused loss does not store; 0 of another tensor.
    #[serde(skip)]
    pub logit_bytes: u64,
    /// True if the tensor has more tokens than a micro-batch of the run.
    pub longer: bool,
    /// True for the scores of attention, which FlashAttention never stores.
    #[serde(skip)]
    pub scores: bool,
}

/// The logits of a sample that is longer than a micro-batch of the run: for a message whose stack is in the loss.
fn longer_logits(asked: f64, vocab: f64, tokens: f64, words: Message) -> Option<Fingerprint> {
    let counts = FORMATS.map(|format| (asked / (vocab * format.0 as f64), format));
    let is_longer = |count: &f64| (1.05 * tokens..64.0 * tokens).contains(count);
    let (count, (logit_bytes, format)) = counts.into_iter().find(|(count, _)| is_longer(count))?;
    // If a multiple of the micro-batch is printed as the same size, take the multiple: 3.91 GiB is 16 384 tokens.
    let whole = (count / tokens).round() * tokens;
    let count = if asked * (count / whole - 1.0).abs() <= PRINTED * GIB { whole } else { count };
    Some(Fingerprint {
        name: t!(
            "{tokens} tokens × {vocab} words × {format}, {times} times the tokens of a micro-batch of the run",
            tokens = fixed(count, 0),
            vocab = words,
            format,
            times = fixed(count / tokens, 1)
        ),
        tokens: Some(count),
        off: (0.005 * GIB / asked).min(SAME),
        logits: true,
        logit_bytes,
        longer: true,
        scores: false,
    })
}

/// The words of the vocabulary that a rank holds, and of what they are a part: "64 128 (128 256 / TP 2)".
fn words_of(vocab: u64, tp: u64) -> Message {
    let all = verbatim(thousands(vocab));
    match tp {
        0 | 1 => all,
        tp => t!("{words} ({all} / TP {tp})", words = verbatim(thousands(vocab / tp)), all, tp),
    }
}

/// The tensor that has the size that `message` asks for: one of the run, else logits of another number of tokens. None
/// of less than 32 MiB, which many tensors have.
pub(super) fn fingerprint(message: &OutOfMemory, scenario: &Scenario) -> Option<Fingerprint> {
    let asked = message.asked.filter(|asked| *asked > 32.0 * 1024.0 * 1024.0)?;
    let run = &scenario.run;
    let tokens = run.micro_batch as f64 * run.seq_len as f64 / scenario.layout.cp as f64;
    let vocab = scenario.model.vocab as f64 / scenario.layout.tp as f64;
    let words = words_of(scenario.model.vocab, scenario.layout.tp);
    let in_loss = message.moment == Some(Moment::Loss);
    tensor_of_run(message, asked, tokens, scenario)
        .or_else(|| longer_logits(asked, vocab, tokens, words.clone()).filter(|_| in_loss))
        .or_else(|| other_logits(asked, vocab, tokens, words))
}

/// The tensor of the run whose size is nearest to `asked`, of those within [`SAME`]. `tokens`: those of a micro-batch
/// on one rank.
fn tensor_of_run(message: &OutOfMemory, asked: f64, tokens: f64, scenario: &Scenario) -> Option<Fingerprint> {
    // Bytes of a logit, and true for scores.
    const SCORES: (u64, bool) = (0, true);
    const OTHER: (u64, bool) = (0, false);
    let (model, run, tp) = (&scenario.model, &scenario.run, scenario.layout.tp as f64);
    let vocab = model.vocab as f64 / tp;
    let mut best: Option<Fingerprint> = None;
    let mut offer = |name: Message, size: f64, (logit_bytes, scores): (u64, bool)| {
        let off = (asked / size - 1.0).abs();
        if size > 0.0 && off < SAME && best.as_ref().is_none_or(|best| off < best.off) {
            let logits = logit_bytes > 0;
            best = Some(Fingerprint { name, tokens: Some(tokens), off, logits, logit_bytes, longer: false, scores });
        }
    };
    for (bytes, format) in FORMATS {
        offer(t!("the logits of a micro-batch in {format}", format), tokens * vocab * bytes as f64, (bytes, false));
    }
    let (h, f, s) = (model.hidden as f64, model.ffn as f64 / tp, run.seq_len as f64);
    offer(t!("the input of the FFN's second product in bf16"), tokens * f * 2.0, OTHER);
    offer(t!("both halves of a gated FFN in bf16"), tokens * 2.0 * f * 2.0, OTHER);
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
    best
}

/// Logits of another number of tokens than a micro-batch of the run has: of a usual sequence length, up to 64 times
/// the tokens of a micro-batch. `vocab`: words of the vocabulary on one rank; `words`: the same in words.
fn other_logits(asked: f64, vocab: f64, tokens: f64, words: Message) -> Option<Fingerprint> {
    let counts = FORMATS.map(|format| (asked / (vocab * format.0 as f64), format));
    let plausible = counts.into_iter().filter(|(count, _)| *count > 256.0 && *count < 64.0 * tokens);
    let lengths = [1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0];
    let near = |count: f64| lengths.iter().map(|length| (count / length - 1.0).abs()).fold(f64::MAX, f64::min);
    let (count, (logit_bytes, format)) = plausible.min_by(|(a, _), (b, _)| near(*a).total_cmp(&near(*b)))?;
    // A tensor of the run is accepted within 1 %; this guess only within the rounding of the printed size.
    let rounding = (0.005 * GIB / asked).max(0.002);
    if near(count) > rounding {
        return None;
    }
    let off = near(count);
    // If the usual length is printed as the same size, take the usual length: 3.91 GiB is 16 384 tokens.
    let prints_alike = |length: &f64| asked * (count / length - 1.0).abs() <= PRINTED * GIB;
    let count = lengths.into_iter().find(prints_alike).unwrap_or(count);
    let name = t!(
        "{tokens} tokens × {vocab} words × {format}, logits of another number of tokens than the run's",
        tokens = fixed(count, 0),
        vocab = words,
        format
    );
    let longer = count > 1.05 * tokens;
    Some(Fingerprint { name, tokens: Some(count), off, logits: true, logit_bytes, longer, scores: false })
}
