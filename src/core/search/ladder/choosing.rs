//! A layout for a Run: the guess of the climb, then the fastest of a search over all layouts.

use super::climb::{Climb, LadderChoice, Searched};
use crate::issue::Issue;
use crate::run::Run;
use crate::search::allowance::WORK;
use crate::search::fastest::{Fastest, faster};

/// What a choice ends with.
#[derive(Clone, Debug)]
pub(in crate::search) enum ChoiceEnd {
    /// The fastest layout that fits and that the software can run.
    Layout(Box<LadderChoice>),
    /// Layouts divide the GPUs, the batch and the model, and none fits.
    NoneFits,
    /// None divides them.
    Undivided,
}

/// A choice under way.
#[derive(Clone, Debug)]
pub(in crate::search) struct Choosing {
    /// The climb to the guess.
    climb: Climb,
    /// Keys of the fields that stay as they are.
    pins: Vec<String>,
    /// Work of the search once a guess is known.
    faster: u64,
    /// The search over all layouts, once the climb is over.
    fastest: Option<Box<Fastest>>,
    chosen: Option<ChoiceEnd>,
}

impl Choosing {
    /// The choice for `run`, whose fields in `pins` stay. The search does the work `faster` where a guess is known,
    /// else the default.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision.
    pub(in crate::search) fn new(run: &Run, pins: &[&str], faster: u64) -> Result<Self, Vec<Issue>> {
        let climb = Climb::new(run, pins)?;
        let pins = pins.iter().map(|pin| (*pin).to_owned()).collect();
        Ok(Self { climb, pins, faster, fastest: None, chosen: None })
    }

    /// The Run without what belongs to one layout.
    pub(in crate::search) fn run(&self) -> &Run {
        self.climb.run()
    }

    /// Works for about `budget` units: what is chosen, once that is known.
    pub(in crate::search) fn step(&mut self, budget: u64) -> Option<&ChoiceEnd> {
        if self.chosen.is_none() {
            self.chosen = self.work(budget);
        }
        self.chosen.as_ref()
    }

    fn work(&mut self, budget: u64) -> Option<ChoiceEnd> {
        if let Some(fastest) = &mut self.fastest {
            return if fastest.step(budget) { Some(self.choose()) } else { None };
        }
        if self.climb.step(budget) {
            let pins: Vec<&str> = self.pins.iter().map(String::as_str).collect();
            let work = if self.climb.choice().is_some() { self.faster } else { WORK };
            match Fastest::within(self.climb.run(), &pins, work) {
                Ok(fastest) => self.fastest = Some(Box::new(fastest)),
                Err(_) => return Some(ChoiceEnd::Undivided),
            }
        }
        None
    }

    /// The faster of the guess and the layout that the search found.
    fn choose(&self) -> ChoiceEnd {
        let Some(search) = &self.fastest else { return ChoiceEnd::Undivided };
        let searched = Searched::from(search.progress());
        let found = search.found().map(|found| LadderChoice {
            run: found.run.clone(),
            figures: found.figures,
            searched: Some(searched),
        });
        let guess = self.climb.choice().map(|guess| LadderChoice { searched: Some(searched), ..guess.clone() });
        match faster(found, guess, |choice| choice.figures.time_s.0) {
            Some(choice) => ChoiceEnd::Layout(Box::new(choice)),
            None if self.climb.evaluated() + searched.layouts == 0 => ChoiceEnd::Undivided,
            None => ChoiceEnd::NoneFits,
        }
    }
}
