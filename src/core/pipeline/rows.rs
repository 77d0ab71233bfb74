//! Every schedule, one row.

use super::families::{
    chimera, controllable, custom, dualpipe, flush, hanayo, interleaved, optimal, sequence, slots, zb_auto, zb_v,
    zb_v_auto, zero_bubble,
};
use super::order::Placement;
use super::registry::{Make, Schedule, Spec, Stages};
use crate::issue::Issue;

fn no_warnings(_: &Spec) -> Vec<Issue> {
    Vec::new()
}

/// The defaults of a row.
const ROW: Schedule = Schedule {
    id: "",
    name: "",
    options: &[],
    virtual_stages: Some(1),
    stages: Stages::Ranks,
    placement: Placement::Loop,
    copies: |_, _| 1,
    splits_backward: false,
    uses_durations: false,
    work: 1,
    endless: false,
    fill: None,
    make: Make::Always(flush::naive),
    warn: no_warnings,
};

/// The rows, in the order of a menu.
pub static SCHEDULES: &[Schedule] = &[
    Schedule { id: "naive", name: "Naive", make: Make::Always(flush::naive), ..ROW },
    Schedule { id: "gpipe", name: "GPipe", make: Make::Always(flush::gpipe), ..ROW },
    Schedule {
        id: "1f1b",
        name: "1F1B",
        make: Make::Always(flush::one_f_one_b),
        warn: flush::warn_few_microbatches,
        ..ROW
    },
    Schedule { id: "eager-1f1b", name: "Eager 1F1B", make: Make::Always(flush::eager), ..ROW },
    Schedule {
        id: "interleaved-1f1b",
        name: "Interleaved 1F1B",
        options: &["group"],
        virtual_stages: None,
        stages: Stages::Chunks,
        make: Make::Sometimes(interleaved::interleaved, interleaved::has_whole_groups),
        warn: interleaved::warn_group,
        ..ROW
    },
    Schedule {
        id: "looped-bfs",
        name: "Looped breadth-first",
        virtual_stages: None,
        stages: Stages::Chunks,
        make: Make::Always(interleaved::looped_bfs),
        ..ROW
    },
    Schedule {
        id: "pipedream",
        name: "PipeDream",
        endless: true,
        copies: flush::stashed,
        make: Make::Always(flush::one_f_one_b),
        ..ROW
    },
    Schedule {
        id: "pipedream-2bw",
        name: "PipeDream-2BW",
        endless: true,
        copies: |_, _| 2,
        make: Make::Always(flush::one_f_one_b),
        warn: flush::warn_2bw,
        ..ROW
    },
    Schedule {
        id: "chimera",
        name: "Chimera",
        options: &["variant"],
        placement: Placement::Bidirectional,
        copies: |_, _| 2,
        make: Make::Sometimes(chimera::chimera, |_| false),
        warn: chimera::warn,
        ..ROW
    },
    Schedule {
        id: "hanayo",
        name: "Hanayo",
        options: &["waves"],
        virtual_stages: None, // 2 · waves
        stages: Stages::Waves,
        placement: Placement::Snake,
        make: Make::Always(hanayo::hanayo),
        warn: slots::notice_units,
        ..ROW
    },
    Schedule { id: "zb-h1", name: "ZB-H1", splits_backward: true, make: Make::Always(zero_bubble::h1), ..ROW },
    Schedule {
        id: "zb-h2",
        name: "ZB-H2",
        splits_backward: true,
        make: Make::Always(zero_bubble::h2),
        warn: zero_bubble::warn_h2,
        ..ROW
    },
    Schedule {
        id: "zb-auto",
        name: "ZB automatic",
        options: &["memory_limit"],
        splits_backward: true,
        uses_durations: true,
        make: Make::Timed(zb_auto::zb_auto),
        ..ROW
    },
    Schedule {
        id: "interleaved-zb1p",
        name: "Interleaved zero bubble",
        virtual_stages: None,
        stages: Stages::Chunks,
        splits_backward: true,
        make: Make::Sometimes(interleaved::zero_bubble, |_| false),
        warn: |spec| interleaved::warn_rounds(spec).into_iter().collect(),
        ..ROW
    },
    Schedule {
        id: "zb-v",
        name: "ZB-V",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        placement: Placement::Snake,
        splits_backward: true,
        fill: Some(|p| p.saturating_mul(2)),
        make: Make::Always(zb_v::zb_v),
        ..ROW
    },
    Schedule {
        id: "zb-v-auto",
        name: "ZB-V automatic",
        options: &["memory_limit"],
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        placement: Placement::Snake,
        splits_backward: true,
        uses_durations: true,
        make: Make::Timed(zb_v_auto::zb_v_auto),
        ..ROW
    },
    Schedule {
        id: "v-half",
        name: "V-Half",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        placement: Placement::Snake,
        splits_backward: true,
        make: Make::Always(controllable::v_half),
        ..ROW
    },
    Schedule {
        id: "v-min",
        name: "V-Min",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        placement: Placement::Snake,
        splits_backward: true,
        make: Make::Always(controllable::v_min),
        ..ROW
    },
    Schedule {
        id: "dualpipe",
        name: "DualPipe",
        virtual_stages: Some(2),
        placement: Placement::Bidirectional,
        copies: |_, _| 2,
        splits_backward: true,
        make: Make::Sometimes(dualpipe::dualpipe, |_| false),
        warn: dualpipe::warn,
        ..ROW
    },
    Schedule {
        id: "dualpipev",
        name: "DualPipeV",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        placement: Placement::Snake,
        splits_backward: true,
        make: Make::Sometimes(dualpipe::dualpipev, |_| false),
        warn: dualpipe::warn,
        ..ROW
    },
    Schedule { id: "1f1b-overlap", name: "1F1B with overlap", make: Make::Always(flush::overlap), ..ROW },
    Schedule {
        id: "interleaved-overlap",
        name: "Interleaved with overlap",
        virtual_stages: None,
        stages: Stages::Chunks,
        make: Make::Sometimes(interleaved::overlap, |_| false),
        warn: interleaved::warn_short_group,
        ..ROW
    },
    Schedule { id: "seq1f1b", name: "Seq1F1B", options: &["splits"], make: Make::Always(sequence::seq1f1b), ..ROW },
    Schedule { id: "terapipe", name: "TeraPipe", options: &["splits"], make: Make::Always(sequence::terapipe), ..ROW },
    Schedule {
        id: "optimal",
        name: "Optimal",
        options: &["memory_limit"],
        splits_backward: true,
        uses_durations: true,
        work: 200,
        make: Make::Timed(optimal::optimal),
        ..ROW
    },
    Schedule {
        id: "custom",
        name: "Custom order",
        options: &["order"],
        virtual_stages: None,
        stages: Stages::Order,
        placement: Placement::Given,
        make: Make::Given(custom::build),
        ..ROW
    },
];

/// The row of `id`.
#[must_use]
pub fn schedule(id: &str) -> Option<&'static Schedule> {
    SCHEDULES.iter().find(|schedule| schedule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_what_it_is_and_stands_once() {
        for (index, row) in SCHEDULES.iter().enumerate() {
            for text in [row.id, row.name] {
                assert!(!text.is_empty(), "{} leaves something out", row.id);
            }
            assert_eq!(SCHEDULES.iter().position(|other| other.id == row.id), Some(index));
            assert!(std::ptr::eq(schedule(row.id).unwrap(), row));
        }
    }
}
