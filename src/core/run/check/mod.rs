//! What a Run must satisfy, room by room; every refusal says what would work.

mod layout;
mod model;
mod schedule;

pub use model::MAX_PARAMETERS;
pub use schedule::MAX_STAGES;

use super::Run;
use super::layout::{Layout, Zero};
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::message::Message;
use crate::model::Architecture;
use crate::t;

/// How far a better value is looked for.
const SEARCH: u64 = 4096;

/// What a pass over a Run found.
pub struct Checked {
    /// Parallel sizes; of no use where there are issues.
    pub layout: Layout,
    /// ZeRO's groups; the same.
    pub zero: Zero,
    /// Layers of each global stage; the same.
    pub stage_layers: Vec<u64>,
    /// What cannot work.
    pub issues: Vec<Issue>,
    /// What is doubtful.
    pub warnings: Vec<Issue>,
}

/// Checks everything, so that a person sees all that is wrong at once.
pub fn check(run: &Run, model: &Architecture, gpu: &Gpu) -> Checked {
    let mut check = Check {
        run,
        model,
        issues: Vec::new(),
        warnings: Vec::new(),
    };
    check.model();
    check.gpu(gpu);
    check.tensor();
    let layout = check.layout(gpu);
    let zero = check.zero(&layout);
    check.sequence();
    check.schedule();
    let stage_layers = check.stage_layers();
    Checked {
        layout,
        zero,
        stage_layers,
        issues: check.issues,
        warnings: check.warnings,
    }
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

    /// An error whose fix is the nearest value that `works`.
    fn error_near(
        &mut self,
        field: &'static str,
        message: Message,
        wanted: u64,
        works: impl Fn(u64) -> bool,
    ) {
        let issue = match nearest(wanted, works) {
            Some(value) => Issue::error(
                field,
                t!("{message}; {field}={value} works", message, field, value),
            )
            .with_fix(field, value),
            None => Issue::error(field, message),
        };
        self.issues.push(issue);
    }
}

/// The nearest value to `wanted` that works, above first.
fn nearest(wanted: u64, works: impl Fn(u64) -> bool) -> Option<u64> {
    (0..=SEARCH).find_map(|distance| {
        let below = wanted.checked_sub(distance).filter(|value| *value > 0);
        [Some(wanted.saturating_add(distance)), below]
            .into_iter()
            .flatten()
            .find(|value| works(*value))
    })
}
