//! The gallery: every schedule that the Run could have as a small picture on one axis, up to four of them as whole
//! timelines one below the other.

pub mod bounds;
mod card;
mod cards;
pub mod certificate;
mod head;
pub mod sketch;
pub mod stack;

pub use bounds::best_known;
pub use card::Gallery;
pub use card::letter;
pub use cards::cards;
pub use head::{head, opening};

pub use crate::node::action::GalleryAction;
use crate::panels::schedules::Sort;
use shardscope_core::report::{ScheduleVariant, memory_limit};
use shardscope_core::run::Run;

/// Timelines that are compared at most.
pub const MOST: usize = 4;

/// Selection and sorting of the gallery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryLook {
    /// The schedules to compare; none: the Run's own.
    pub ticked: Option<Vec<ScheduleVariant>>,
    /// The order of pictures and table.
    pub sort: Sort,
    /// Whole steps; else without the part where the pattern repeats.
    pub whole: bool,
    /// Activations a rank may hold of schedules that are laid out within a limit, in stage-micro-batches; none: the
    /// Run's.
    pub limit: Option<u64>,
}

/// The schedules that a link names: `1f1b,zb-v,interleaved-1f1b.4`; unknown ones are left out.
pub(crate) fn variants(list: &str) -> Vec<ScheduleVariant> {
    list.split(',').filter_map(ScheduleVariant::named).take(MOST).collect()
}

impl GalleryLook {
    /// The schedules to compare under `run`, in the order of their letters.
    pub fn ticked(&self, run: &Run) -> Vec<ScheduleVariant> {
        let chosen = || vec![ScheduleVariant::of(run)];
        self.ticked.clone().unwrap_or_else(chosen)
    }

    /// The limit of schedules that are laid out within one.
    pub fn limit(&self, run: &Run) -> u64 {
        self.limit.unwrap_or_else(|| memory_limit(run)).max(1)
    }

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
