//! A question that the worker answers row by row, and that can be stopped.

use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;

/// A question to the worker with what is known of its answer.
pub(crate) struct WorkerQuestion<Q: Send + Sync + 'static, T: Send + Sync + 'static> {
    /// What it was asked of.
    pub of: RwSignal<Option<Q>>,
    /// What is known.
    pub found: RwSignal<T>,
    /// More will come.
    pub works: RwSignal<bool>,
    request: StoredValue<Option<JobRequest>>,
}

impl<Q: Send + Sync + 'static, T: Send + Sync + 'static> Clone for WorkerQuestion<Q, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: Send + Sync + 'static, T: Send + Sync + 'static> Copy for WorkerQuestion<Q, T> {}

impl<Q: Send + Sync + 'static, T: Default + Send + Sync + 'static> WorkerQuestion<Q, T> {
    pub fn new() -> Self {
        Self {
            of: RwSignal::new(None),
            found: RwSignal::new(T::default()),
            works: RwSignal::new(false),
            request: StoredValue::new(None),
        }
    }

    /// Asks `job`; `take` adds a reply to what is known.
    pub fn ask(self, of: Q, job: Job, take: impl Fn(&mut T, Reply) + 'static) {
        self.stop();
        self.of.set(Some(of));
        self.found.set(T::default());
        self.works.set(true);
        let asked = request(job, move |progress| match progress {
            // The view may be gone by now.
            JobProgress::Reply(reply) => drop(self.found.try_update(|found| take(found, reply))),
            JobProgress::Done | JobProgress::Failed => drop(self.works.try_set(false)),
        });
        self.request.set_value(Some(asked));
    }

    pub fn stop(self) {
        if let Some(request) = self.request.get_value() {
            request.cancel();
        }
        self.request.set_value(None);
        self.works.set(false);
    }
}
