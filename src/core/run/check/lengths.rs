//! Lengths of samples: what they need to be a distribution, and what the sequence has room for.

use super::Check;
use crate::issue::Issue;
use crate::run::registry::{field, first_set};
use crate::run::{Layout, LengthShape, LengthsParts, SampleLengths};
use crate::t;
use crate::units::whole;

/// Spread of a log-normal distribution that is proposed where none is given.
const SIGMA: f64 = 1.0;
/// Histogram that is proposed where none is given.
const HISTOGRAM: &str = "1k:22,2k:15,4k:29,8k:28";

impl Check<'_> {
    /// A distribution with all that it needs, a packed sequence that holds its longest sample, and the sizes of dynamic
    /// context parallelism.
    pub fn lengths(&mut self, layout: &Layout) {
        let (run, parts) = (self.run, &self.run.lengths);
        let Some(shape) = parts.base else {
            let idle = if *parts == LengthsParts::default() { None } else { first_set(run, "lengths") };
            let idle = idle.or_else(|| run.cp_dynamic.then(|| field("cp_dynamic")).flatten());
            if let Some(idle) = idle {
                let message = t!("{field} says nothing while every sample fills its sequence", field = idle.label);
                self.warnings.push(Issue::warning(idle.key, message));
            }
            return;
        };
        for (key, is_set) in
            [("microbatch_lengths", run.microbatch_lengths.is_some()), ("documents", run.documents.is_some())]
        {
            if is_set {
                let message = "lengths are given one by one and as a distribution: use one or the other";
                self.refuse(key, message, "");
            }
        }
        match shape {
            LengthShape::LogNormal if parts.median.is_none() => {
                let message = t!("a log-normal distribution needs its median");
                self.refuse("lengths.median", message, (run.seq_len / 8).max(1));
            }
            LengthShape::LogNormal if parts.sigma.is_none() => {
                self.refuse("lengths.sigma", t!("a log-normal distribution needs its spread"), SIGMA);
            }
            LengthShape::Constant | LengthShape::LogNormal => {}
            LengthShape::Histogram => self.histogram(),
        }
        if let Some(median) = parts.median.filter(|median| *median > run.seq_len as f64) {
            let message = t!(
                "a sample of {median} tokens does not fit a sequence of {seq_len}",
                median = median.to_string(),
                seq_len = run.seq_len
            );
            self.refuse("lengths.median", message, run.seq_len);
        }
        if let Some(pack) = parts.pack {
            if pack < run.seq_len {
                let message = t!(
                    "a sample of {seq_len} tokens, as long as one may be, does not fit a packed sequence of {pack}",
                    seq_len = run.seq_len,
                    pack
                );
                let issue = Issue::error("lengths.pack", message).with_fix("lengths.pack", run.seq_len);
                self.issues.push(issue.or_fix("seq_len", pack));
            } else if !pack.is_multiple_of(run.cp) {
                let message = t!("{pack} tokens do not divide by cp={cp}", pack, cp = run.cp);
                self.refuse("lengths.pack", message, pack.div_ceil(run.cp).saturating_mul(run.cp));
            }
        }
        if run.cp_dynamic {
            self.dynamic_context(layout);
        }
    }

    /// Ranges whose edges rise and whose last fits the sequence.
    fn histogram(&mut self) {
        let run = self.run;
        let Some(values) = &run.lengths.values else {
            self.refuse("lengths.values", t!("a histogram needs ranges with their shares"), HISTOGRAM);
            return;
        };
        let ranges = &values.0;
        if ranges.iter().map(|(_, share)| share).sum::<f64>() <= 0.0 {
            self.refuse("lengths.values", t!("the shares sum to nothing: no sample has a length"), HISTOGRAM);
        } else if ranges.first().is_some_and(|(edge, _)| *edge == 0)
            || ranges.windows(2).any(|pair| pair[1].0 <= pair[0].0)
        {
            let message = t!("edges rise from one range to the next, and the first is above 0");
            self.refuse("lengths.values", message, HISTOGRAM);
        } else if let Some((edge, _)) = ranges.last().filter(|(edge, _)| *edge > run.seq_len) {
            let message = t!(
                "a sample of {edge} tokens does not fit a sequence of {seq_len}",
                edge = *edge,
                seq_len = run.seq_len
            );
            let ranks = run.cp.saturating_mul(run.tp).max(1);
            let fitting = edge.div_ceil(ranks).saturating_mul(ranks);
            self.issues.push(Issue::error("lengths.values", message).with_fix("seq_len", fitting));
        }
    }

    /// What does not go with dynamic context parallelism. Source: Megatron-LM d98e8a6,
    /// `megatron/training/arguments.py`, `--hybrid-context-parallel`.
    fn dynamic_context(&mut self, layout: &Layout) {
        let run = self.run;
        if run.pp > 1 {
            let message = "dynamic context parallelism has no pipeline: Megatron-LM refuses PP above 1 with it";
            self.refuse("pp", message, 1);
        }
        if run.zero == 3 {
            let message = "dynamic context parallelism does not run with sharded weights: Megatron-LM refuses it";
            self.refuse("zero", message, 1);
        }
        let longest = SampleLengths::of(&run.lengths, run.seq_len).map_or(0.0, |lengths| lengths.longest());
        let ranks = layout.dp.saturating_mul(layout.cp).max(1);
        if let Some(tokens) = run.cp_rank_tokens.filter(|tokens| tokens.saturating_mul(ranks) as f64 + 0.5 < longest) {
            let message = t!(
                "a sample of {longest} tokens does not fit {ranks} ranks of {tokens} tokens",
                longest = whole(longest).unwrap_or(0),
                ranks,
                tokens
            );
            let fitting = whole((longest / ranks as f64).ceil()).unwrap_or(1);
            self.refuse("cp_rank_tokens", message, fitting);
        }
    }
}
