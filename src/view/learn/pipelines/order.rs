//! The pipeline of a schedule at the places of the sliders.

use super::super::pictures::Pipeline;
use crate::learn::prelude::*;

/// Waves of a step without their slider.
const WAVES: u32 = 2;

/// The pipeline of `schedule`; none where it has no order for these sizes.
pub(super) fn of(schedule: Schedule, dials: &Dials) -> Option<Pipeline> {
    Pipeline::of(schedule, |spec| {
        (spec.pp, spec.microbatches) = (dials.small("p"), dials.small("m"));
        if schedule == Schedule::Interleaved {
            spec.virtual_stages = dials.small("v").max(2);
        }
        spec.waves = if dials.of("w").is_some() { dials.small("w") } else { WAVES };
    })
}
