//! Long work beside the page: a [`Job`] is sent to a worker, which replies with [`Reply`]s. Simulations and searches
//! have a worker each, so that neither waits for the other. Where the browser refuses workers (a sandboxed frame), the
//! same jobs run in the page, slice by slice. A file that is dropped has a worker of its own while it is read, and
//! large ones have another that holds and diagnoses them.

pub mod job;

#[cfg(feature = "ui")]
pub(crate) mod asked;
#[cfg(feature = "ui")]
mod evidence;
#[cfg(feature = "ui")]
mod file;
#[cfg(feature = "ui")]
mod page;
#[cfg(feature = "ui")]
mod serve;
#[cfg(feature = "ui")]
mod slices;
#[cfg(feature = "ui")]
mod turn;

#[cfg(feature = "ui")]
pub(crate) use evidence::EvidenceWorker;
#[cfg(feature = "ui")]
pub(crate) use file::{FileEnd, FileReading};
pub use job::{Job, Reply};
#[cfg(feature = "ui")]
pub(crate) use page::number_of;
#[cfg(feature = "ui")]
pub use page::{JobProgress, JobRequest, request};
#[cfg(feature = "ui")]
pub(crate) use turn::next_turn;
