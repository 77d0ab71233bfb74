//! Durations of ops: per global stage and micro-batch, a pair, and the latency between ranks.

use super::fault::OrderFault;
use super::op::{Op, OpKind, OrderItem};
use crate::t;

/// Seconds of every op of an order.
///
/// A pair of F on stage s and backward on stage t takes, where nothing else is said, F(s) + B(t) + W(t). A pair time
/// given for a stage is shared out between its forward and its backward in proportion to what they take alone, so that
/// pairs across unequal stages (and micro-batches) have a time too: pair(s)·F(s)/T(s) + pair(t)·(B(t)+W(t))/T(t),
/// T = F + B + W. For equal stages that is the given time.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Durations {
    /// tF of each global stage.
    pub forward: Vec<f64>,
    /// tB of each global stage: gradient of the input only.
    pub backward_input: Vec<f64>,
    /// tW of each global stage.
    pub backward_weight: Vec<f64>,
    /// An overlapped pair on each global stage; none: the sum of its parts.
    pub pair: Option<Vec<f64>>,
    /// Latency of an edge between different ranks; no contention, the sender stays free.
    pub p2p: f64,
    /// A factor for each op index (micro-batch · splits + split); none: all equal.
    pub microbatch_scale: Option<Vec<f64>>,
}

impl Durations {
    /// `stages` stages that all take as long.
    pub fn uniform(stages: u32, forward: f64, backward_input: f64, backward_weight: f64) -> Self {
        let stages = stages as usize;
        Self {
            forward: vec![forward; stages],
            backward_input: vec![backward_input; stages],
            backward_weight: vec![backward_weight; stages],
            pair: None,
            p2p: 0.0,
            microbatch_scale: None,
        }
    }
    /// One micro-batch alone: forward through all stages and back, with a message between neighbours each way. Stages
    /// on the same rank exchange none; they are counted, so with such stages this is more than the chain takes.
    pub fn of_one_microbatch(&self) -> f64 {
        let passes = [&self.forward, &self.backward_input, &self.backward_weight];
        let messages = 2.0 * self.forward.len().saturating_sub(1) as f64;
        passes.into_iter().flatten().sum::<f64>() + messages * self.p2p
    }
    /// All of them `scale` times as long.
    pub fn rescaled(mut self, scale: f64) -> Self {
        let lists = [&mut self.forward, &mut self.backward_input, &mut self.backward_weight];
        let pairs = self.pair.iter_mut();
        for seconds in lists.into_iter().chain(pairs).flatten() {
            *seconds *= scale;
        }
        self.p2p *= scale;
        self
    }
    /// One second an op: what slots are counted in.
    pub fn unit(stages: u32) -> Self {
        Self::uniform(stages, 1.0, 1.0, 1.0)
    }
    /// With latency `p2p` between ranks.
    pub fn with_p2p(self, p2p: f64) -> Self {
        Self { p2p, ..self }
    }
    /// With `pair` for an overlapped pair on any stage.
    pub fn with_pair(self, pair: f64) -> Self {
        let pair = Some(vec![pair; self.forward.len()]);
        Self { pair, ..self }
    }
    /// With one factor per global stage on everything that the stage does.
    pub fn with_stage_scale(mut self, scale: &[f64]) -> Self {
        let lists = [
            Some(&mut self.forward),
            Some(&mut self.backward_input),
            Some(&mut self.backward_weight),
            self.pair.as_mut(),
        ];
        for list in lists.into_iter().flatten() {
            for (time, factor) in list.iter_mut().zip(scale) {
                *time *= factor;
            }
        }
        self
    }
    /// With one factor per op index on everything done to it.
    pub fn with_microbatch_scale(self, scale: Vec<f64>) -> Self {
        Self { microbatch_scale: Some(scale), ..self }
    }

    /// Holds when there is a finite, non-negative time for each of `stages` stages and `units` op indices.
    ///
    /// # Errors
    /// A list that is too short, or a duration that is none.
    pub fn check(&self, stages: u32, units: u32) -> Result<(), OrderFault> {
        let lists = [
            ("forward", Some(&self.forward), stages),
            ("backward_input", Some(&self.backward_input), stages),
            ("backward_weight", Some(&self.backward_weight), stages),
            ("pair", self.pair.as_ref(), stages),
            ("microbatch_scale", self.microbatch_scale.as_ref(), units),
        ];
        for (name, list, length) in lists {
            let Some(list) = list else { continue };
            if list.len() != length as usize {
                let what = t!("{name} has {list} entries and needs {length}", name, list = list.len(), length);
                return Err(OrderFault::Durations { what });
            }
            check_times(name, list)?;
        }
        check_times("p2p", &[self.p2p])
    }

    fn scale(&self, op: Op) -> f64 {
        match &self.microbatch_scale {
            Some(scale) => scale.get(op.microbatch as usize).copied().unwrap_or(1.0),
            None => 1.0,
        }
    }
    /// Seconds of `op` alone.
    pub fn of(&self, op: Op) -> f64 {
        let at = |list: &[f64]| list.get(op.stage as usize).copied().unwrap_or(0.0);
        let time = match op.kind {
            OpKind::F => at(&self.forward),
            OpKind::B => at(&self.backward_input),
            OpKind::W => at(&self.backward_weight),
            OpKind::BW => at(&self.backward_input) + at(&self.backward_weight),
        };
        time * self.scale(op)
    }
    /// Seconds of an entry of an order.
    pub(crate) fn of_item(&self, item: OrderItem) -> f64 {
        match item {
            OrderItem::One(op) => self.of(op),
            OrderItem::Pair(first, second) => self.share(first) + self.share(second),
        }
    }
    /// Share of `op` in the time of a pair.
    fn share(&self, op: Op) -> f64 {
        let alone = self.of(op);
        let Some(pair) = &self.pair else { return alone };
        let stage = op.stage as usize;
        let at = |list: &[f64]| list.get(stage).copied().unwrap_or(0.0);
        let whole = at(&self.forward) + at(&self.backward_input) + at(&self.backward_weight);
        if whole > 0.0 { at(pair) * (alone / whole) } else { at(pair) * 0.5 * self.scale(op) }
    }
}

fn check_times(name: &'static str, times: &[f64]) -> Result<(), OrderFault> {
    match times.iter().find(|time| !(time.is_finite() && **time >= 0.0)) {
        None => Ok(()),
        Some(time) => Err(OrderFault::Durations {
            what: t!("{name} is {time}: a time is a number of seconds, zero or more", name, time = time.to_string()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_takes_the_sum_of_its_parts_unless_told_otherwise() {
        let item = OrderItem::Pair(Op::f(0, 1), Op::bw(1, 0));
        let sum = Durations::uniform(2, 10.0, 12.0, 7.0).with_stage_scale(&[1.0, 2.0]);
        assert!((sum.of_item(item) - (10.0 + 38.0)).abs() < 1e-12);
        let told = Durations::uniform(2, 10.0, 12.0, 7.0).with_pair(24.0);
        assert!((told.of_item(item) - 24.0).abs() < 1e-12);
        let explicit_sum = told.clone().with_pair(29.0).with_stage_scale(&[1.0, 2.0]);
        assert!((explicit_sum.of_item(item) - sum.of_item(item)).abs() < 1e-12);
        let zero = Durations::uniform(2, 0.0, 0.0, 0.0).with_pair(3.0);
        assert!((zero.of_item(item) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_time_that_is_no_time_is_refused() {
        assert!(Durations::unit(2).check(2, 1).is_ok());
        assert!(Durations::unit(2).check(3, 1).is_err());
        assert!(Durations::unit(2).with_p2p(f64::NAN).check(2, 1).is_err());
        assert!(Durations::uniform(2, -1.0, 1.0, 1.0).check(2, 1).is_err());
        let scaled = Durations::unit(2).with_microbatch_scale(vec![1.0]);
        assert!(scaled.check(2, 2).is_err());
    }
}
