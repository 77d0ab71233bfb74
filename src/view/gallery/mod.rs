//! The gallery: every schedule that the Run could have as a small picture on one axis, up to four of them as whole
//! timelines one below the other.

mod card;
mod cards;
mod head;
pub mod sketch;
pub mod stack;

pub use card::Gallery;
pub(crate) use card::letter;
pub use cards::cards;
pub use head::head;

use crate::core::report::{Variant, memory_limit};
use crate::core::run::Run;
pub use crate::view::node::action::GalleryAction;
use crate::view::panels::schedules::Sort;

/// Timelines that are compared at most.
pub(crate) const MOST: usize = 4;

/// What is looked at in the gallery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// The schedules to compare; none: the Run's own.
    pub ticked: Option<Vec<Variant>>,
    /// The order of pictures and table.
    pub sort: Sort,
    /// Whole steps; else without the part where the pattern repeats.
    pub whole: bool,
    /// Activations a rank may hold of schedules that are laid out within a limit, in stage-micro-batches; none: the Run's.
    pub limit: Option<u64>,
}

impl Look {
    /// Its state in a link: `view.ticked`, `view.sort`, `view.axis`, `view.limit`.
    #[must_use]
    pub fn linked([ticked, sort, axis, limit]: [Option<&str>; 4]) -> Self {
        let named = |list: &str| -> Vec<Variant> {
            let each = list.split(',').filter_map(Variant::named);
            each.take(MOST).collect()
        };
        Self {
            ticked: ticked.map(named),
            sort: sort.map_or_else(Sort::default, Sort::named),
            whole: axis == Some("whole"),
            limit: limit.and_then(|limit| limit.parse().ok()),
        }
    }

    /// The same, to be written.
    #[must_use]
    pub fn link(&self) -> [Option<String>; 4] {
        let names = |list: &Vec<Variant>| {
            let names: Vec<String> = list.iter().map(Variant::to_string).collect();
            names.join(",")
        };
        [
            self.ticked.as_ref().map(names),
            (self.sort != Sort::default()).then(|| self.sort.text()),
            self.whole.then(|| "whole".to_owned()),
            self.limit.map(|limit| limit.to_string()),
        ]
    }

    /// The schedules to compare under `run`, in the order of their letters.
    #[must_use]
    pub(crate) fn ticked(&self, run: &Run) -> Vec<Variant> {
        let own = || vec![Variant::of(run)];
        self.ticked.clone().unwrap_or_else(own)
    }

    /// The limit of schedules that are laid out within one.
    #[must_use]
    pub fn limit(&self, run: &Run) -> u64 {
        self.limit.unwrap_or_else(|| memory_limit(run)).max(1)
    }

    /// After a press.
    pub fn press(&mut self, run: &Run, action: GalleryAction) {
        match action {
            GalleryAction::Whole(whole) => self.whole = whole,
            GalleryAction::Tick(variant) => {
                let mut ticked = self.ticked(run);
                let before = ticked.len();
                ticked.retain(|one| *one != variant);
                if ticked.len() == before && before < MOST {
                    ticked.push(variant);
                }
                self.ticked = Some(ticked);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_what_is_looked_at() {
        let mut look = Look::default();
        assert_eq!(look.link(), [const { None }; 4]);
        let run = Run::default();
        for id in ["zb-v", "dualpipe", "interleaved-1f1b.4", "gpipe", "zb-v"] {
            look.press(&run, GalleryAction::Tick(Variant::named(id).unwrap()));
        }
        look.press(&run, GalleryAction::Whole(true));
        look.sort = look.sort.pressed("bubble").pressed("bubble");
        look.limit = Some(6);
        let link = look.link();
        let said = link.each_ref().map(|text| text.as_deref().unwrap());
        // A fifth is refused; a second press lets go.
        assert_eq!(said, ["1f1b,dualpipe,interleaved-1f1b.4", "-bubble", "whole", "6"]);
        assert_eq!(Look::linked(said.map(Some)), look);
        let bad = Look::linked([Some("zb-v,oven"), Some("taste"), Some("x"), Some("-1")]);
        assert_eq!(bad.ticked(&run).len(), 1);
        assert_eq!((bad.sort, bad.whole, bad.limit(&run)), (Sort::default(), false, 4));
    }
}
