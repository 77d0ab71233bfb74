//! Checks of a Run, part by part; a refusal proposes values, which `report::mend` tries on the whole Run.

mod adapter;
mod layout;
mod model;
mod offload;
mod pattern;
mod phases;
mod schedule;

pub use model::MAX_PARAMETERS;
pub(crate) use model::divides_by;
pub use schedule::MAX_STAGES;

use super::layout::{Layout, Zero};
use super::precision::Precision;
use super::presets::{GpuFamily, STACKS};
use super::{Based, Run};
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::message::{Message, verbatim};
use crate::model::Architecture;
use crate::t;

/// Divisors up to this, and what they leave, are proposed.
const MAX_DIVISOR: u64 = 4096;

/// Result of a pass over a Run.
pub(crate) struct Checked {
    /// Parallel sizes; of no use where there are issues.
    pub layout: Layout,
    /// ZeRO's groups; the same.
    pub zero: Zero,
    /// Layers of each global stage; the same.
    pub stage_layers: Vec<u64>,
    /// Settings that cannot work.
    pub issues: Vec<Issue>,
    /// Settings that are doubtful.
    pub warnings: Vec<Issue>,
}

/// Checks everything, so that a person sees all that is wrong at once; `errors` understands another Run.
pub fn check(
    run: &Run,
    model: &Architecture,
    gpu: &Gpu,
    precision: Precision,
    errors: fn(&Run) -> Vec<Issue>,
) -> Checked {
    let mut check = Check { run, model, issues: Vec::new(), warnings: Vec::new() };
    check.name();
    check.model();
    check.pattern();
    check.gpu(gpu);
    check.profile();
    check.stack_of_its_year();
    check.tensor();
    check.recurrent();
    let layout = check.layout(gpu);
    let zero = check.zero(&layout);
    check.sequence();
    check.context_masks();
    check.full_precision();
    check.adapter(precision);
    check.offload(gpu, &layout);
    check.phases(gpu, errors);
    check.schedule();
    check.mtp_stage();
    let stage_layers = check.stage_layers();
    Checked { layout, zero, stage_layers, issues: check.issues, warnings: check.warnings }
}

/// One pass over a Run that collects what is wrong with it.
struct Check<'a> {
    run: &'a Run,
    model: &'a Architecture,
    issues: Vec<Issue>,
    warnings: Vec<Issue>,
}

impl Check<'_> {
    fn error(&mut self, field: &str, message: impl Into<Message>) {
        self.issues.push(Issue::error(field, message));
    }

    /// The default of the format is software of before the GPU: 46 MLPerf runs on H200 and Blackwell are predicted 27 % slow
    /// with it, 9 % with the stack of their year.
    fn stack_of_its_year(&mut self) {
        let (stack, gpu) = (&self.run.stack, &self.run.gpu);
        let newer = gpu.family().and_then(GpuFamily::stack_of_its_year);
        if let Some(newer) = newer.filter(|_| *stack == Based::preset(STACKS[0].choice.id)) {
            let message = t!(
                "the training software is the default, {default}, which is older than {gpu}: published runs on such GPUs are predicted 27 % slow with it, 9 % off with the software of their year; set {newer}, or what you use",
                default = verbatim(STACKS[0].choice.label),
                gpu = gpu.title(),
                newer = verbatim(newer)
            );
            self.warnings.push(Issue::warning("stack", message).with_fix("stack", newer));
        }
    }

    /// A profile is of one GPU.
    fn profile(&mut self) {
        let (fitted, own) = (self.run.profile.gpu.as_deref(), self.run.gpu.base);
        let is_used = self.run.profile.means.is_some();
        if let (true, Some(fitted), Some(own)) = (is_used, fitted, own)
            && fitted != own
        {
            let message = t!(
                "the profile was fitted on {fitted}: what it says of kernels, links and network need not hold on {own}",
                fitted = verbatim(fitted),
                own
            );
            self.warnings.push(Issue::warning("profile.gpu", message));
        }
    }

    /// An error whose fix is the value of `candidates` nearest to `wanted` that works.
    fn error_near(
        &mut self,
        field: &'static str,
        message: Message,
        wanted: u64,
        candidates: impl IntoIterator<Item = u64>,
    ) {
        let issue = Issue::error(field, message).with_near(field, wanted, candidates);
        self.issues.push(issue);
    }
}

/// The divisors of `number` up to [`MAX_DIVISOR`], and what each leaves; in no order.
fn divisors(number: u64) -> impl Iterator<Item = u64> {
    let mut small = vec![1];
    let (mut rest, mut prime) = (number.max(1), 2);
    while rest > 1 && prime <= MAX_DIVISOR {
        let (known, mut power) = (small.len(), 1);
        while rest.is_multiple_of(prime) {
            (rest, power) = (rest / prime, power * prime);
            for at in 0..known {
                small.push(small[at] * power);
            }
        }
        // A number without a factor up to its root is prime.
        let next = prime + 1;
        prime = if prime * prime > rest { rest.max(next) } else { next };
    }
    let small = small.into_iter();
    small.filter(move |size| number > 0 && *size <= MAX_DIVISOR).flat_map(move |size| [size, number / size])
}

#[cfg(test)]
mod tests {
    use super::{MAX_DIVISOR, divisors};
    use std::collections::BTreeSet;

    #[test]
    fn divisors_are_those_that_trying_all_finds() {
        for number in [0, 1, 2, 12, 97, 1024, 4097, 8192, 16_769_023, 720_720, 1 << 53] {
            let tried = (1..=MAX_DIVISOR.min(number)).filter(|size| number % size == 0);
            let expected: BTreeSet<u64> = tried.flat_map(|size| [size, number / size]).collect();
            assert_eq!(divisors(number).collect::<BTreeSet<u64>>(), expected, "{number}");
        }
    }
}
