//! Layouts in which a Run's model was published to run on its GPUs, beside those that a search looks at: such a run may
//! cut its layers as no search tries.

use super::layout_field::LayoutField;
use super::request::PlanRequest;
use crate::pipeline::able::can_run;
use crate::run::Run;
use crate::run::presets::{PublishedAlike, published_alike};

/// `run` in the layouts of [`published_alike`] that its software can run.
pub fn published_layouts(run: &Run) -> Vec<PublishedAlike> {
    let in_layout = |other: &Run| {
        let mut run = PlanRequest::question(run);
        for field in LayoutField::ALL {
            field.copy(other, &mut run);
        }
        run
    };
    let found = published_alike(run).into_iter().map(|(one, other)| (one, in_layout(&other)));
    found.filter(|(_, run)| can_run(run)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::report;
    use crate::run::presets::PUBLISHED;
    use crate::search::ladder::{Ladder, LadderEnd};
    use crate::search::{is_told, serves};

    /// Another layout of a published run of a model and a GPU by their names, in the layout that was published, is that
    /// run again: nothing but the layout is taken over.
    #[test]
    fn the_layout_of_a_published_run_makes_it_again() {
        let mut made = 0;
        for published in PUBLISHED.iter().filter(|published| can_run(&published.run())) {
            let run = published.run();
            let other = Run { tp: 1, pp: 1, ..run.clone() };
            let found = published_layouts(&other);
            made += usize::from(found.iter().any(|(one, again)| one.id == published.id && *again == run));
            assert!(found.iter().all(|(_, again)| PlanRequest::question(again) == PlanRequest::question(&run)));
        }
        assert!(made > 2, "{made}");
    }

    /// What is called the fastest that fits is no slower than a published layout that fits, beyond what can be told
    /// apart: the search need not look at published ones.
    #[test]
    fn no_published_layout_that_fits_is_faster_than_the_chosen_one() {
        let mut compared = 0;
        for published in PUBLISHED {
            let run = published.run();
            let Ok(own) = report(&run) else { continue };
            if !serves(&run, &own.memory.peak()) {
                continue;
            }
            let LadderEnd::Chosen(choice) = Ladder::new(&run).unwrap().finished() else { panic!("{}", published.id) };
            compared += 1;
            assert!(!is_told(&run, own.step.time_s.0, choice.figures.time_s.0), "{}", published.id);
        }
        assert!(compared > 5, "{compared}");
    }
}
