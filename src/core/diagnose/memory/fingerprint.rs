//! What the size that was asked for is: a tensor of the run, or logits of another number of tokens.

use super::{Moment, OutOfMemory};
use crate::message::Message;
use crate::run::Scenario;
use crate::t;
use crate::units::{GIB, fixed, thousands};
use serde::Serialize;

/// Sizes nearer than this are the same: messages are printed with two decimals.
const SAME: f64 = 0.01;

/// Half of the last decimal of a message, GiB.
const PRINTED: f64 = 0.0051;

/// What the size that was asked for is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fingerprint {
    pub name: Message,
    /// Tokens that it is for, where it is one row a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// How far it is from that size, relatively.
    pub off: f64,
    /// It is a tensor of logits.
    pub logits: bool,
    /// It has more tokens than a micro-batch of the run.
    pub longer: bool,
    /// It is the scores of attention, which no flash kernel holds.
    #[serde(skip)]
    pub scores: bool,
}

/// Frames name the logits, and the size is that of more tokens than the run's micro-batch has: a longer sample. In fp32
/// first, as losses are computed.
fn longer_logits(asked: f64, vocab: f64, tokens: f64, words: u64) -> Option<Fingerprint> {
    let formats = [(4.0, "fp32"), (2.0, "bf16")];
    let counts = formats.map(|(bytes, format)| (asked / (vocab * bytes), format));
    let (count, format) = counts.into_iter().find(|(count, _)| (1.05 * tokens..64.0 * tokens).contains(count))?;
    // A multiple of the micro-batch where the message's two decimals hold it: 3.91 GiB are printed of 16 384 tokens.
    let whole = (count / tokens).round() * tokens;
    let count = if asked * (count / whole - 1.0).abs() <= PRINTED * GIB { whole } else { count };
    Some(Fingerprint {
        name: t!(
            "{tokens} tokens × {vocab} words × {format}, {times} times the tokens of a micro-batch of the run",
            tokens = fixed(count, 0),
            vocab = thousands(words),
            format,
            times = fixed(count / tokens, 1)
        ),
        tokens: Some(count),
        off: (0.005 * GIB / asked).min(SAME),
        logits: true,
        longer: true,
        scores: false,
    })
}

/// The tensor of the run, or the number of tokens, that has the size that was asked for.
pub(super) fn fingerprint(message: &OutOfMemory, scenario: &Scenario) -> Option<Fingerprint> {
    const LOGITS: [bool; 2] = [true, false];
    const SCORES: [bool; 2] = [false, true];
    const OTHER: [bool; 2] = [false, false];
    let asked = message.asked.filter(|asked| *asked > 32.0 * 1024.0 * 1024.0)?;
    let (model, run, t) = (&scenario.model, &scenario.run, scenario.layout.tp as f64);
    let tokens = run.micro_batch as f64 * run.seq_len as f64 / scenario.layout.cp as f64;
    let off = |size: f64| (asked / size - 1.0).abs();
    let vocab = model.vocab as f64 / t;
    let mut best: Option<Fingerprint> = None;
    let mut offer = |name: Message, size: f64, [logits, scores]: [bool; 2]| {
        let far = off(size);
        if size > 0.0 && far < SAME && best.as_ref().is_none_or(|best| far < best.off) {
            best = Some(Fingerprint { name, tokens: Some(tokens), off: far, logits, longer: false, scores });
        }
    };
    for (bytes, format) in [(4.0, "fp32"), (2.0, "bf16")] {
        offer(t!("the logits of a micro-batch in {format}", format), tokens * vocab * bytes, LOGITS);
    }
    let (h, f, s) = (model.hidden as f64, model.ffn as f64 / t, run.seq_len as f64);
    offer(t!("the input of the FFN's second product in bf16"), tokens * f * 2.0, OTHER);
    offer(t!("both halves of a gated FFN in bf16"), tokens * 2.0 * f * 2.0, OTHER);
    offer(t!("the hidden states of a micro-batch in bf16"), tokens * h * 2.0, OTHER);
    let scores = run.micro_batch as f64 * model.heads as f64 / t * s * s;
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
    if best.is_some() {
        return best;
    }
    if message.moment == Some(Moment::Loss)
        && let Some(found) = longer_logits(asked, vocab, tokens, model.vocab / scenario.layout.tp.max(1))
    {
        return Some(found);
    }
    // The logits of another number of tokens: a whole number, and not far from what the run says.
    let counts = [(4.0, "fp32"), (2.0, "bf16")].map(|(bytes, format)| (asked / (vocab * bytes), format));
    let plausible = counts.into_iter().filter(|(count, _)| *count > 256.0 && *count < 64.0 * tokens);
    let sizes = [1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0];
    let near = |count: f64| sizes.iter().map(|size| (count / size - 1.0).abs()).fold(f64::MAX, f64::min);
    let (count, format) = plausible.min_by(|(a, _), (b, _)| near(*a).total_cmp(&near(*b)))?;
    // A guess needs more than a size of the run: as near as two decimals are printed.
    let printed = (0.005 * GIB / asked).max(0.002);
    if near(count) > printed {
        return None;
    }
    let off = near(count);
    // The size itself where the message's two decimals hold it: 3.91 GiB are printed of 16 384 tokens.
    let is_printed = |size: &f64| asked * (count / size - 1.0).abs() <= PRINTED * GIB;
    let count = sizes.into_iter().find(is_printed).unwrap_or(count);
    let name = t!(
        "{tokens} tokens × {vocab} words × {format}, logits of another number of tokens than the run's",
        tokens = fixed(count, 0),
        vocab = thousands(model.vocab / scenario.layout.tp.max(1)),
        format
    );
    let longer = count > 1.05 * tokens;
    Some(Fingerprint { name, tokens: Some(count), off, logits: true, longer, scores: false })
}
