//! A step of a lesson and its views.

use super::page::Place;
use super::{DialScale, Dials, Moments, StepId, gauge, page};
use crate::panels::issues::line;
use crate::prelude::*;
use shardscope_core::issue::Issue;
use shardscope_core::report::needs_worker;

/// A step to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepQuestion {
    /// Lesson and step.
    pub step: StepId,
    /// Values of its sliders, as in a link: `p.8,m.16`.
    pub sliders: String,
    /// The Run of the page.
    pub run: Run,
    pub unit: MemoryUnit,
    /// Steps whose challenge was answered.
    pub done: Vec<StepId>,
}

/// Views of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Name of the lesson.
    pub lesson: Message,
    pub lessons: Node,
    /// Place in the lesson, and links to the steps beside.
    pub head: Node,
    pub title: Node,
    /// Positions that a link asked for and no slider has.
    pub notices: Node,
    /// Its text.
    pub words: Node,
    /// Its challenge, its formula behind a press, remarks on its sources.
    pub practice: Node,
    /// Its formula with values, and remarks on its sources.
    pub formula: Node,
    /// True if the challenge is answered.
    pub is_done: bool,
    pub sliders: Vec<DialScale>,
    /// Its settings on the Run.
    pub on_run: Node,
    /// Source of the answer.
    pub source: Node,
    /// Its picture with legend.
    pub picture: Node,
    /// What happens in the picture over time, where it shows time.
    pub moments: Option<Moments>,
    /// What the picture shows, as a table.
    pub table: Node,
    /// All steps of all lessons.
    pub overview: Node,
}

impl StepQuestion {
    /// The step, shown.
    pub fn page(&self) -> Page {
        let id = self.step;
        let step = id.step();
        let (dials, notices) = Dials::linked(step.sliders, &self.sliders);
        let dials = dials.beside(&self.run);
        let live = (step.live)(&dials);
        let place = Place { step: id, dials: &dials, done: &self.done };
        let quick = |run: &_| (!needs_worker(run)).then(|| evaluate(run).ok()).flatten();
        let notice = |message| line(&Issue::notice("view.sliders", message));
        Page {
            lesson: id.lesson().title.into(),
            lessons: page::lessons(place),
            head: page::head(id, &dials),
            title: page::title(id),
            notices: notices.into_iter().map(notice).collect(),
            words: page::words(&live),
            practice: page::practice(&live),
            formula: [page::formula(&live), page::compared(&live)].into_iter().collect(),
            is_done: live.goal.as_ref().is_some_and(super::Goal::is_done),
            sliders: dials.scales(),
            on_run: gauge::on_run(step.on_run, &self.run, self.unit, quick),
            source: page::source(id),
            picture: page::picture(&live),
            moments: live.moments,
            table: live.table,
            overview: page::overview(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(step: StepId, sliders: &str) -> Page {
        StepQuestion { step, sliders: sliders.to_owned(), run: Run::default(), unit: MemoryUnit::Gib, done: Vec::new() }
            .page()
    }

    #[test]
    fn every_step_is_a_press_away_and_the_open_one_is_marked() {
        for id in StepId::all() {
            let html = page_of(id, "").overview.to_html();
            assert_eq!(html.matches("<li").count(), StepId::all().count());
            assert_eq!(html.matches("aria-current=\"step\"").count(), 1, "{id}");
        }
    }

    /// A step's text and challenge are made for its own values: what was moved in another step does not come along. The
    /// ranks and micro-batches of the pipelines do: their steps compare schedules of one size.
    #[test]
    fn a_step_opens_with_its_own_values_but_for_the_size_of_the_pipelines() {
        let next = |step: &str, sliders: &str| -> String {
            let id = StepId::named(step).unwrap();
            let (dials, _) = Dials::linked(id.step().sliders, sliders);
            let [_, after] = id.neighbours();
            dials.carried(after.unwrap().step().sliders)
        };
        assert_eq!(next("overlap.gathers", "s.32768,n.8"), "");
        assert_eq!(next("pipelines.chimera", "p.8,m.16"), "p.8,m.16");
    }

    #[test]
    fn sliders_stand_where_a_link_says_and_at_the_nearest_value_else() {
        let step = StepId::named("pipelines.4").unwrap();
        let positions = |sliders: &str| -> (String, usize) {
            let page = page_of(step, sliders);
            let each = page.sliders.iter();
            let positions = each.map(|scale| format!("{}.{}", scale.symbol, scale.value()));
            let notices = page.notices.to_html().matches("<p").count();
            (positions.collect::<Vec<_>>().join(","), notices)
        };
        assert_eq!(positions(""), ("p.4,m.8,v.2".to_owned(), 0));
        assert_eq!(positions("p.8,v.4"), ("p.8,m.8,v.4".to_owned(), 0));
        assert_eq!(positions("p.7,m.99"), ("p.8,m.32,v.2".to_owned(), 2));
        for bad in ["q.4", "p", "p.", "p.four", ".", "p.-1", "p.99999999999999999999"] {
            assert_eq!(positions(bad), ("p.4,m.8,v.2".to_owned(), 1), "{bad}");
        }
        assert_eq!(positions(",,"), positions(""));
    }
}
