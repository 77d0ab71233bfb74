//! Fields that layouts differ in, as axes of a map and as filters of the layouts that are shown.

use super::axes::Axes;
use super::space::{Block, Member, Space};
use crate::message::{Message, verbatim};
use crate::run::{OneOf, Recompute, Schedule};
use crate::statics::named;
use serde::{Deserialize, Serialize};

named! {
    /// A field that layouts differ in.
    #[derive(Serialize, Deserialize)]
    pub enum LayoutAxis: name {
        Tp = "TP",
        Pp = "PP",
        Cp = "CP",
        Ep = "EP",
        Zero = "ZeRO",
        MicroBatch = "micro-batch",
        Schedule = "schedule",
        Recompute = "recomputation",
    }
}

impl LayoutAxis {
    /// The values that are tried, in order.
    pub fn values(self, axes: &Axes) -> Vec<u64> {
        let indices = |count: usize| (0..count as u64).collect();
        match self {
            Self::Tp => axes.tp.clone(),
            Self::Pp => axes.pp.clone(),
            Self::Cp => axes.cp.clone(),
            Self::Ep => axes.ep.clone(),
            Self::Zero => axes.zero.clone(),
            Self::MicroBatch => axes.micro_batch.clone(),
            Self::Schedule => indices(axes.schedules.len()),
            Self::Recompute => indices(axes.recompute.len()),
        }
    }

    /// The value of this field in a layout; of schedules and recomputation the index among those that are tried.
    pub fn of(self, space: &Space, block: &Block, member: Member) -> u64 {
        match self {
            Self::Tp => block.tp,
            Self::Pp => block.pp,
            Self::Cp => block.cp,
            Self::Ep => block.ep,
            Self::Zero => member.zero,
            Self::MicroBatch => block.micro_batch,
            Self::Schedule => {
                let mut schedules = space.axes.schedules.iter();
                let found = schedules.position(|schedule| *schedule == member.chunks.schedule);
                found.unwrap_or(0) as u64
            }
            Self::Recompute => block.recompute as u64,
        }
    }

    /// A value in words.
    pub fn label(self, axes: &Axes, value: u64) -> Message {
        let index = usize::try_from(value).unwrap_or(usize::MAX);
        match self {
            Self::Schedule => {
                let schedule: Option<&Schedule> = axes.schedules.get(index);
                schedule.map_or_else(Message::default, |schedule| schedule.choice().label.into())
            }
            Self::Recompute => match axes.recompute.get(index) {
                Some(Recompute::None) => "none",
                Some(Recompute::Selective) => "selective",
                Some(Recompute::OpSelective) => "op-selective",
                Some(Recompute::Full) => "full",
                Some(other) => return other.words(),
                None => "",
            }
            .into(),
            _ => verbatim(value.to_string()),
        }
    }
}

/// The layouts that are shown: of some fields those with one value, up to a tensor-parallel size, or only those that
/// fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// True where tight layouts are left out.
    pub fits: bool,
    /// Largest tensor-parallel size.
    pub max_tp: Option<u64>,
    chosen: Vec<(LayoutAxis, u64)>,
}

impl Filter {
    /// The fields that can be filtered by value.
    pub const AXES: [LayoutAxis; 3] = [LayoutAxis::Schedule, LayoutAxis::Zero, LayoutAxis::Recompute];

    /// True if everything is shown.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if `value` of `axis` is the one that is shown.
    pub fn has(&self, axis: LayoutAxis, value: u64) -> bool {
        self.chosen.contains(&(axis, value))
    }

    /// Keeps only layouts up to this tensor-parallel size; if that is set already, removes the limit.
    pub(crate) fn toggle_max_tp(&mut self, tp: u64) {
        self.max_tp = Some(tp).filter(|tp| self.max_tp != Some(*tp));
    }

    /// Keeps only `value` of `axis`; if that is set already, keeps all values again.
    pub fn toggle(&mut self, axis: LayoutAxis, value: u64) {
        let had = self.has(axis, value);
        self.chosen.retain(|(other, _)| *other != axis);
        if !had {
            self.chosen.push((axis, value));
        }
    }

    /// True if a layout is shown.
    pub fn keeps(&self, space: &Space, block: &Block, member: Member) -> bool {
        let same = |(axis, value): &(LayoutAxis, u64)| axis.of(space, block, member) == *value;
        self.max_tp.is_none_or(|tp| block.tp <= tp) && self.chosen.iter().all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::search::PlanRequest;

    #[test]
    fn a_pressed_chip_filters_and_pressed_again_does_not() {
        let request = PlanRequest::new(&Run::default(), &[], 1).unwrap();
        let space = request.search.space();
        let mut filter = Filter::default();
        filter.toggle(LayoutAxis::Zero, 3);
        filter.toggle_max_tp(2);
        let kept = space.blocks.iter().flat_map(|block| {
            let members = space.members(block).iter();
            members.map(move |member| (block, *member))
        });
        let mut kept_members = 0;
        for (block, member) in kept {
            let keeps = filter.keeps(space, block, member);
            assert_eq!(keeps, member.zero == 3 && block.tp <= 2);
            kept_members += u32::from(keeps);
        }
        assert!(kept_members > 0);
        filter.toggle(LayoutAxis::Zero, 3);
        filter.toggle_max_tp(2);
        assert!(filter.is_empty());
    }

    #[test]
    fn every_axis_labels_its_values() {
        let request = PlanRequest::new(&Run::default(), &[], 1).unwrap();
        let space = request.search.space();
        for axis in LayoutAxis::ALL {
            for value in axis.values(&space.axes) {
                assert!(!axis.label(&space.axes, value).is_empty());
            }
        }
    }
}
