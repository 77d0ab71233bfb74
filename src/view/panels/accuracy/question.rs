//! What the page asks about published runs. Rows and predictions stay in the second module; their views are sent.

use super::{Yours, all, near};
use crate::core::accuracy::{Bench, read};
use crate::core::calibrate::{Observation, Standing};
use crate::core::run::{Run, Scenario};
use crate::view::node::Node;
use serde::{Deserialize, Serialize};

/// Rows computed for one answer: some milliseconds.
const SLICE: usize = 8;

/// A question of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Takes the tables, each a file name and its text, in place of those before.
    Tables(Vec<(String, String)>),
    /// Computes the next rows.
    Compute,
    /// Shows a Run beside the rows that are computed.
    Near {
        /// The Run.
        run: Box<Run>,
        /// Runs that were measured by the person at the page.
        runs: Vec<Observation>,
        /// How each of them stands to the fit.
        standings: Vec<Standing>,
    },
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Rows are left; so many are computed.
    Computed(usize),
    /// All rows are computed: the view of them, or of a Run beside them.
    Shown(Node),
}

impl Question {
    /// The answer from `bench`, or what it does to it.
    #[must_use]
    pub fn answer(self, bench: &mut Bench) -> Answer {
        match self {
            Self::Tables(tables) => {
                *bench = Bench::default();
                for (file, csv) in tables {
                    bench.add(read(&file, &csv));
                }
                Answer::Computed(0)
            }
            Self::Compute => {
                if (0..SLICE).all(|_| bench.advance()) {
                    Answer::Computed(bench.done())
                } else {
                    Answer::Shown(all(bench))
                }
            }
            Self::Near { run, runs, standings } => {
                let yours = Yours { runs: &runs, standings: &standings };
                let scenario = Scenario::new(&run).ok();
                let near = scenario.map(|scenario| near(bench, &scenario, yours));
                Answer::Shown(near.unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row gets its prediction, a slice at a time, and what is sent arrives as it was made.
    #[test]
    fn rows_are_computed_a_slice_at_a_time() {
        let row = |layers: u64| format!("{layers},{},28.3887\n", 28 - layers);
        let csv: String = (5..25).map(row).collect();
        let csv = format!("first,second,step_time_s\n{csv}");
        let mut bench = Bench::default();
        let mut ask = |question: Question| {
            let bytes = postcard::to_allocvec(&question.answer(&mut bench)).unwrap();
            postcard::from_bytes::<Answer>(&bytes).unwrap()
        };
        let tables = vec![("uneven_pp_h20.csv".to_owned(), csv)];
        assert_eq!(ask(Question::Tables(tables)), Answer::Computed(0));
        assert_eq!(ask(Question::Compute), Answer::Computed(SLICE));
        assert_eq!(ask(Question::Compute), Answer::Computed(2 * SLICE));
        let Answer::Shown(all) = ask(Question::Compute) else {
            panic!("20 rows take three slices");
        };
        assert!(all.to_html().contains("20 published runs"));
        let near = ask(Question::Near { run: Box::default(), runs: Vec::new(), standings: Vec::new() });
        let Answer::Shown(near) = near else {
            panic!("another answer");
        };
        assert!(near.to_html().contains("Runs most like yours"));
        assert!(near.actions().len() > 1, "rows can be loaded");
    }
}
