//! The `schedule` request: one schedule under given durations, as an object in and an object out.
//!
//! For tests, scripts and the JavaScript API; the names are those of `ScheduleRequest` in
//! `src/web/javascript/api.d.ts`.

use super::certify::Certificate;
use super::durations::Durations;
use super::fields::Reader;
use super::op::OpKind;
use super::registry::{Built, Spec, StageCount};
use super::simulate::Timeline;
use super::spec::{build, check};
use super::stats::measure;
use super::steady::step_seconds;
use crate::issue::Issue;
use crate::message::Message;
use crate::run::Value;
use crate::t;
use serde::{Serialize, Serializer};

/// The response.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleReply {
    /// Empty where there is an answer.
    pub errors: Vec<Issue>,
    /// Sizes that some implementation refuses.
    pub warnings: Vec<Issue>,
    /// First start to last end.
    pub makespan_s: f64,
    /// Mean busy time of a rank.
    pub ideal_s: f64,
    /// Idle over total time.
    pub bubble_fraction: f64,
    /// Idle over ideal time.
    pub bubble_over_ideal: f64,
    /// Idle between a rank's first and last op.
    pub bubble_span: f64,
    /// Chunk activations that each rank holds at most.
    pub peak_in_flight: Vec<u32>,
    /// Copies of the weights on each rank.
    pub weight_copies: Vec<u32>,
    /// Seconds of a step once the pipeline is full, of a schedule that never drains; the figures above are of one step
    /// with fill and drain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_s: Option<f64>,
    /// Unit of the request's durations.
    pub unit: &'static str,
    /// Distance of the order from the best one, where the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Tokens, a list a rank.
    pub order: Vec<Vec<String>>,
    /// Every op with its times, unless the request leaves them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<OpEntry>,
}

/// `[rank, kind, stage, microbatch, start_s, end_s]`.
#[derive(Clone, Copy, Debug)]
pub struct OpEntry {
    rank: usize,
    kind: OpKind,
    stage: u32,
    microbatch: u32,
    start: f64,
    end: f64,
}

impl Serialize for OpEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.rank, self.kind.letters(), self.stage, self.microbatch, self.start, self.end).serialize(serializer)
    }
}

/// Answers one request.
///
/// # Errors
/// Unknown fields, wrong types, and schedules that dead-lock or have no order.
pub fn answer(request: &Value) -> Result<ScheduleReply, Vec<Issue>> {
    let mut read = Reader::new(request)?;
    let (spec, sizes) = read.spec();
    let (ops, certified) = (read.flag("ops", true), read.flag("certificate", false));
    read.done()?;
    let Some(spec) = spec else {
        return Err(vec![Issue::error("schedule", "name a schedule")]);
    };
    let one = |issue: Issue| vec![issue.naming_its_fix()];
    check(&spec).map_err(one)?;
    let durations = if spec.schedule.stages == StageCount::Order {
        // The number of stages is known once the order is read.
        Durations::unit(1)
    } else {
        sizes.durations(spec.stages())?
    };
    let mut built = build(&spec, &durations).map_err(one)?;
    let durations = sizes.durations(built.order.stages)?;
    let steady_s = spec.schedule.endless.then(|| step_seconds(&durations, built.order.microbatches));
    let (timeline, stats) = measure(&built.order, &durations).map_err(|fault| vec![fault.issue("order")])?;
    let certificate = if certified { certificate(&spec, &mut built, &durations) } else { None };
    Ok(ScheduleReply {
        errors: Vec::new(),
        warnings: built.warnings,
        makespan_s: stats.makespan_s,
        ideal_s: stats.ideal_s,
        bubble_fraction: stats.bubble_fraction,
        bubble_over_ideal: stats.bubble_over_ideal,
        bubble_span: stats.bubble_span,
        peak_in_flight: stats.peak_in_flight,
        weight_copies: stats.weight_copies,
        steady_s,
        unit: "chunk",
        certificate,
        order: built.order.tokens(),
        ops: if ops { entries(&timeline) } else { Vec::new() },
    })
}

/// The certificate of an order; a warning says why there is none.
fn certificate(spec: &Spec, built: &mut Built, durations: &Durations) -> Option<Certificate> {
    let found = if spec.schedule.endless {
        Err(t!("the schedule never drains"))
    } else {
        Certificate::of(&built.order, durations)
    };
    found.map_err(|reason| built.warnings.push(no_certificate(reason))).ok()
}

/// The issue that says why there is no certificate.
pub(crate) fn no_certificate(reason: Message) -> Issue {
    Issue::warning("certificate", t!("No bound for this kind: {reason}", reason))
}

fn entries(timeline: &Timeline) -> Vec<OpEntry> {
    let ranks = timeline.ranks.iter().enumerate();
    ranks
        .flat_map(|(rank, ops)| {
            ops.iter().map(move |timed| OpEntry {
                rank,
                kind: timed.op.kind,
                stage: timed.op.stage,
                microbatch: timed.op.microbatch,
                start: timed.start,
                end: timed.end,
            })
        })
        .collect()
}
