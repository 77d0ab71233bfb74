//! Fixes that work: whatever an issue proposes is tried on the Run before it is shown.
//!
//! A check that finds a fault sees one field of the Run and proposes values that may mend it; whether a value divides
//! the GPUs, suits the schedule and keeps the batch whole is known only here, where the whole Run is.

use super::draft::Draft;
use super::schedule::{in_run, spec};
use crate::issue::{Fix, Issue, Severity};
use crate::pipeline::spec::op_count;
use crate::pipeline::{Spec, preview, warnings};
use crate::run::{Run, Scenario};

/// Ops of the orders that are built to try the fixes of one Run, in all: some orders are known to exist only once
/// built.
const MAX_OPS: u64 = 2_000_000;
/// Fixes that need a second field to follow, tried for one proposal.
const MAX_FOLLOWED: usize = 8;

/// Fields and values, as a link writes them.
type Set = Vec<(&'static str, String)>;

/// The issues of `run` with the fixes that work, each error naming the first. `built`: the schedule of the Run, where
/// it is known to have an order.
pub(super) fn mend(run: &Run, built: Option<&Spec>, issues: Vec<Issue>) -> Vec<Issue> {
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error);
    let mut trial = Trial { run, built, errors: errors.map(|issue| issue.field.clone()).collect(), ops: MAX_OPS };
    let mut mended: Vec<Issue> = Vec::with_capacity(issues.len());
    for issue in issues {
        let issue = trial.mended(issue);
        let issue = trial.agreeing(issue, &mut mended);
        mended.push(issue);
    }
    mended
}

/// Result of trying some values.
enum Tried {
    /// The Run works, or is wrong only where it was.
    Works,
    /// The Run would work if these were set as well.
    Wants(Set),
    /// The Run does not work.
    Fails,
}

/// The Run on which fixes are tried.
struct Trial<'a> {
    run: &'a Run,
    built: Option<&'a Spec>,
    /// Fields that are wrong as it is.
    errors: Vec<String>,
    /// Ops that may still be built.
    ops: u64,
}

impl Trial<'_> {
    /// The issue with those of its proposals that work.
    fn mended(&mut self, mut issue: Issue) -> Issue {
        let proposed = issue.fix.take().into_iter();
        let proposed: Vec<Fix> = proposed.chain(issue.or.take().map(|or| *or)).collect();
        if proposed.is_empty() {
            return issue;
        }
        let mut tried =
            proposed.into_iter().filter_map(|fix| self.working(&issue, fix)).collect::<Vec<_>>().into_iter();
        issue.fix = tried.next();
        issue.or = tried.next().map(Box::new);
        if issue.severity == Severity::Error { issue.naming_its_fix() } else { issue }
    }

    /// Gives the warning `later` and an earlier one of the same field one fix, where both set the same keys and one of
    /// the fixes works for both: one press mends both.
    fn agreeing(&mut self, mut later: Issue, mended: &mut [Issue]) -> Issue {
        fn keys(issue: &Issue) -> Option<Vec<&'static str>> {
            let fix = issue.fix.as_ref().filter(|_| issue.severity == Severity::Warning);
            fix.map(|fix| fix.set.iter().map(|(key, _)| *key).collect())
        }
        let alike = |earlier: &&mut Issue| earlier.field == later.field && keys(earlier) == keys(&later);
        if keys(&later).is_none() {
            return later;
        }
        let Some(earlier) = mended.iter_mut().find(alike) else {
            return later;
        };
        if let (Some(first), Some(second)) = (&earlier.fix, &later.fix)
            && first != second
        {
            if matches!(self.attempt(&later, &first.set), Tried::Works) {
                later.fix = Some(first.clone());
            } else if matches!(self.attempt(earlier, &second.set), Tried::Works) {
                earlier.fix = Some(second.clone());
            }
        }
        later
    }

    /// The first value of `fix` that works alone, else the first that works with what has to follow it.
    fn working(&mut self, issue: &Issue, fix: Fix) -> Option<Fix> {
        let (first, rest) = fix.set.split_first()?;
        let other = |value: u64| {
            let mut set = vec![(first.0, value.to_string())];
            set.extend_from_slice(rest);
            set
        };
        let values: Vec<Set> = std::iter::once(fix.set.clone()).chain(fix.instead.into_iter().map(other)).collect();
        let mut followed = Vec::new();
        for (at, set) in values.into_iter().enumerate() {
            match self.attempt(issue, &set) {
                Tried::Works if at == 0 => {
                    return Some(Fix { label: fix.label, ..Fix::new(set) });
                }
                Tried::Works => return Some(Fix::new(set)),
                Tried::Wants(more) if followed.len() < MAX_FOLLOWED => {
                    followed.push([set, more].concat());
                }
                Tried::Wants(_) | Tried::Fails => {}
            }
        }
        let works = |set: &Set| matches!(self.attempt(issue, set), Tried::Works);
        followed.into_iter().find(works).map(Fix::new)
    }

    /// Tries `set` as a fix of `issue`.
    fn attempt(&mut self, issue: &Issue, set: &Set) -> Tried {
        let Some(after) = self.run.with_texts(set).filter(|after| after != self.run) else {
            return Tried::Fails;
        };
        let is_error = issue.severity == Severity::Error;
        let errors = match self.possible(&after) {
            Ok(warnings) => {
                let same = |other: &Issue| (&other.field, &other.message) == (&issue.field, &issue.message);
                return if warnings.iter().any(same) { Tried::Fails } else { Tried::Works };
            }
            Err(errors) => errors,
        };
        let earlier = |error: &Issue| {
            is_error
                && error.field != issue.field
                && self.errors.contains(&error.field)
                && set.iter().all(|(key, _)| error.field != *key)
        };
        let mut new = errors.iter().filter(|error| !earlier(error));
        match (new.next(), new.next()) {
            (None, _) => Tried::Works,
            (Some(error), None) => match &error.fix {
                Some(fix) if set.iter().all(|(key, _)| fix.set.iter().all(|own| own.0 != *key)) => {
                    Tried::Wants(fix.set.clone())
                }
                _ => Tried::Fails,
            },
            _ => Tried::Fails,
        }
    }

    /// Warnings that are known before anything is simulated, or errors.
    fn possible(&mut self, run: &Run) -> Result<Vec<Issue>, Vec<Issue>> {
        let scenario = Scenario::new(run)?;
        let spec = spec(&scenario).map_err(|issue| vec![issue])?;
        let previewed = preview(&spec).map_err(|issue| vec![in_run(issue, &scenario)])?;
        let warnings = match previewed {
            Some(warnings) => warnings,
            None if self.built == Some(&spec) => Vec::new(),
            None => {
                let left = self.ops.checked_sub(op_count(&spec));
                self.ops = left.ok_or_else(|| vec![Issue::error("schedule", "not tried")])?;
                Draft::of(run)?.timed()?;
                warnings(&spec)
            }
        };
        let in_run = |issue| in_run(issue, &scenario);
        let warnings = warnings.into_iter().map(in_run).collect();
        Ok([scenario.warnings.clone(), warnings].concat())
    }
}
