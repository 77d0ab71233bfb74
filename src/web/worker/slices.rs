//! The work of jobs: a part of the program that is loaded with the first of them. The page stands before it arrives.

use super::job::{Job, Pace, Reply};
use crate::web::late::parts;

/// The work of a job in slices, each done when it is asked for.
pub(super) type Slices = Box<dyn Iterator<Item = Option<Reply>>>;

parts! {
    work: slices(job: Job, pace: Pace) -> Slices = job.slices(pace);
}
