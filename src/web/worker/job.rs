//! What a worker is asked and what it answers, as data.

use crate::core::accuracy::{Prediction, read};
use crate::core::report::{ScheduleFigures, Timed, schedule_figures, schedule_ids, time};
use crate::core::run::Run;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Work that takes longer than a frame of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Job {
    /// Orders and simulates the pipeline of a Run: one reply.
    Evaluate(#[serde(with = "as_link")] Run),
    /// Evaluates a Run under every schedule, in the order of the menu: a reply each.
    AllSchedules(#[serde(with = "as_link")] Run),
    /// Evaluates the rows of a table of measurements, in their order: a reply each.
    Accuracy {
        /// The table's file name.
        file: String,
        /// Its text.
        csv: String,
    },
}

/// A part of a job's result. Replies are numbers; the messages of a Run that cannot be evaluated are computed where they
/// are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The simulation; none where the Run cannot be simulated.
    Evaluated(Option<Timed>),
    /// A schedule's figures; none where it cannot run.
    Schedule(Option<ScheduleFigures>),
    /// What the calculator predicts for a row; none where it cannot evaluate it.
    Predicted(Option<Prediction>),
}

impl Job {
    /// Its replies, each computed when it is asked for.
    #[must_use]
    pub fn replies(self) -> Box<dyn Iterator<Item = Reply>> {
        match self {
            Self::Evaluate(run) => {
                let evaluated = move || Reply::Evaluated(time(&run).ok());
                Box::new(std::iter::once_with(evaluated))
            }
            Self::AllSchedules(run) => Box::new(
                schedule_ids().map(move |id| Reply::Schedule(schedule_figures(&run, id).ok())),
            ),
            Self::Accuracy { file, csv } => {
                let (rows, _) = read(&file, &csv);
                let predicted = rows.into_iter().map(|row| Prediction::of(&row));
                Box::new(predicted.map(Reply::Predicted))
            }
        }
    }
}

/// A job or a reply as bytes. Both ends are the same build, so the form has no version; it is never stored.
#[must_use]
pub fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    // Nothing in a job or reply fails to serialise; an empty message is one that `from_bytes` refuses.
    postcard::to_allocvec(message).unwrap_or_default()
}

/// The job or reply of [`to_bytes`]; none where the bytes are something else.
#[must_use]
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

/// A Run travels as its link, which holds all of it.
mod as_link {
    use crate::core::run::Run;
    use crate::io::link;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(run: &Run, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&link::encode(run))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Run, D::Error> {
        Ok(link::decode(&String::deserialize(deserializer)?).run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::{evaluate, evaluate_timed, with_schedule};

    #[test]
    fn a_simulation_that_arrives_gives_the_report_of_the_page_itself() {
        let run = Run {
            global_batch: 512,
            ..Run::default()
        };
        let mut arrived = 0;
        for id in schedule_ids().filter(|id| *id != "custom") {
            let run = run.with_texts(&with_schedule(&run, id)).unwrap();
            let job: Job = from_bytes(&to_bytes(&Job::Evaluate(run.clone()))).unwrap();
            assert_eq!(job, Job::Evaluate(run.clone()));
            let sent = job.replies().next().unwrap();
            let Some(Reply::Evaluated(Some(timed))) = from_bytes(&to_bytes(&sent)) else {
                panic!("{id}: another reply arrived");
            };
            let arrived_report = evaluate_timed(&run, timed).unwrap().report;
            assert_eq!(arrived_report, evaluate(&run).unwrap().report, "{id}");
            arrived += 1;
        }
        assert_eq!(arrived, schedule_ids().count() - 1);
    }

    #[test]
    fn every_schedule_and_every_row_of_a_table_gets_a_reply() {
        let all = Job::AllSchedules(Run::default()).replies();
        assert_eq!(all.count(), schedule_ids().count());
        let job = Job::Accuracy {
            file: "uneven_pp_h20.csv".to_owned(),
            csv: "first,second,step_time_s\n14,14,28.3887\n10,18,19.6071\n".to_owned(),
        };
        assert_eq!(job.replies().count(), 2);
    }

    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(from_bytes::<Job>(&[]), None);
        assert_eq!(from_bytes::<Reply>(&[9, 1, 2]), None);
    }
}
