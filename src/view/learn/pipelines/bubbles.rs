//! The bubble of every schedule against the number of micro-batches.

use super::super::pictures::Pipeline;
use crate::learn::prelude::*;

/// Schedules with a bubble of their own, how they are called, and their colours.
const SCHEDULES: [(Schedule, &str, Ink); 6] = [
    (Schedule::OneFOneB, "GPipe, 1F1B", Ink::Muted),
    (Schedule::Interleaved, "Interleaved 1F1B", Ink::Forward),
    (Schedule::ZbH1, "ZB-H1", Ink::Weight),
    (Schedule::Chimera, "Chimera", Ink::Memory(1)),
    (Schedule::DualPipe, "DualPipe", Ink::Exposed),
    (Schedule::ZbV, "ZB-V", Ink::Backward),
];
/// Place of the schedule whose bubble does not shrink: it waits in each unit of as many micro-batches as ranks.
const CHIMERA: usize = 3;
/// Micro-batches per rank of the pipeline.
const TIMES: [u32; 5] = [1, 2, 4, 8, 16];

/// The idle share of `schedule`; none where it has no order for these sizes.
fn bubble(schedule: Schedule, p: u32, v: u32, m: u32) -> Option<f64> {
    let one = Pipeline::of(schedule, |spec| {
        (spec.pp, spec.microbatches) = (p, m);
        if schedule == Schedule::Interleaved {
            spec.virtual_stages = v;
        }
    })?;
    Some(one.stats.bubble_fraction)
}

pub(super) fn bubbles(dials: &Dials) -> Live {
    let (p, m, v) = (dials.small("p"), dials.small("m"), dials.small("v"));
    let counts = TIMES.map(|times| times * p);
    let found = SCHEDULES.map(|(schedule, _, _)| counts.map(|m| bubble(schedule, p, v, m)));
    let at = |which: usize| {
        let shrinking = found.iter().enumerate().filter(|(place, _)| *place != CHIMERA);
        let shares = shrinking.filter_map(|(_, of)| of[which]);
        let (low, high) = shares.fold((1.0_f64, 0.0_f64), |(low, high), share| (low.min(share), high.max(share)));
        [low, high].map(show_percent)
    };
    let ([low_few, high_few], [low_many, high_many]) = (at(1), at(TIMES.len() - 1));
    let [few, many] = [1, TIMES.len() - 1].map(|which| found[CHIMERA][which].unwrap_or(0.0));
    let chimera = if many > 0.0 {
        t!(
            "Only Chimera waits in each unit of {p}: {few_idle} at {few}, {many_idle} at {many}.",
            p,
            few_idle = show_percent(few),
            few = counts[1],
            many_idle = show_percent(many),
            many = counts[TIMES.len() - 1]
        )
    } else {
        t!("Chimera on {p} ranks never waits.", p)
    };
    let lines = SCHEDULES.iter().zip(&found).map(|((_, name, ink), found)| {
        let points = counts.iter().zip(found);
        Line {
            name: (*name).into(),
            ink: *ink,
            points: points.filter_map(|(m, share)| Some((f64::from(*m), (*share)? * 100.0))).collect(),
            marks: Marks::Dots,
        }
    });
    let plot = Plot {
        up: Axis { name: "bubble, percent of the step", spacing: Spacing::Linear },
        lines: lines.collect(),
        level: None,
    };
    let head: Vec<&'static str> = std::iter::once("micro-batches").chain(SCHEDULES.map(|(_, name, _)| name)).collect();
    let rows = counts.iter().enumerate().map(|(which, m)| {
        let share = |of: &[Option<f64>; 5]| of[which].map_or_else(String::new, show_percent);
        let mut row: Vec<Message> = vec![verbatim(m.to_string())];
        row.extend(found.iter().map(|of| verbatim(share(of))));
        row
    });
    let across = Axis { name: "micro-batches", spacing: Spacing::Doublings };
    let [idle, work] = [u64::from(p - 1), u64::from(v * m)];
    let ideal = f64::from(p - 1) / f64::from(m);
    let now = bubble(Schedule::Interleaved, p, v, m).unwrap_or(1.0);
    Live::of([
        t!(
            "Filling and draining are paid once per step, so bubbles shrink with the number of micro-batches: from \
                {low_few} to {high_few} at {few}, to {low_many} to {high_many} at {many}.",
            low_few,
            high_few,
            few = counts[1],
            low_many,
            high_many,
            many = counts[TIMES.len() - 1]
        ),
        chimera,
        t!("The schedule matters most where micro-batches are few, as in large runs."),
    ])
    .below("the bubble of interleaved 1F1B", now, 0.04, show_percent)
    .formula("bubble = (p − 1) / (v m + p − 1)", share(idle, work + idle))
    .note(t!(
        "Interleaved 1F1B with {m} micro-batches; all lines are simulated, with the three passes equally long.",
        m
    ))
    .compared(t!(
        "Megatron-LM and the playbook divide by the work instead of the step: (p − 1) / m, {ideal} for 1F1B.",
        ideal = significant(ideal, 3)
    ))
    .plots(across, &[plot], &head, rows.collect())
}

pub(super) fn share(idle: u64, all: u64) -> String {
    format!("{idle} / {all} = {}", show_percent(idle as f64 / all as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GPipe, section 2.3; Narayanan 2021, section 2.2.2; Zero Bubble, sections 3.1 and 6: `(p - 1)` over what a rank
    /// works, counted in the passes that one unit of the bubble lasts.
    #[test]
    fn every_line_is_the_closed_form_of_its_paper() {
        for (p, m) in [(4_u32, 8_u32), (4, 64), (8, 16)] {
            let idle = f64::from(p - 1);
            let formula = |units: u32| idle / (f64::from(units * m) + idle);
            for (schedule, units) in
                [(Schedule::OneFOneB, 1), (Schedule::Interleaved, 4), (Schedule::ZbH1, 3), (Schedule::ZbV, 6)]
            {
                let found = bubble(schedule, p, 4, m).unwrap();
                assert!((found - formula(units)).abs() < 1e-9, "{schedule:?} {p} {m}: {found}");
            }
        }
    }

    /// At every place of the sliders the text says of each line of the picture what the table has of it: Chimera's
    /// figures are its column, the range is that of all other columns.
    #[test]
    fn the_text_says_what_the_picture_shows() {
        let step = super::super::LESSON.steps.iter().find(|step| step.id == "bubble").unwrap();
        let [ps, ms, vs] = [0, 1, 2].map(|which| step.sliders[which].values.len());
        let places = (0..ps).flat_map(|p| (0..ms).flat_map(move |m| (0..vs).map(move |v| [p, m, v])));
        for at in places {
            let dials = Dials::new(step.sliders, &at);
            let live = bubbles(&dials);
            let text: Vec<String> = live.text.iter().map(Message::to_string).collect();
            let table = live.table.to_html();
            let cells = |row: &str| -> Vec<String> {
                let cells = row.split("<td").skip(1).filter_map(|cell| cell.split_once('>')?.1.split_once("</td>"));
                cells.map(|(cell, _)| cell.to_owned()).collect()
            };
            let rows: Vec<Vec<String>> = table.split("<tr").map(cells).filter(|row| !row.is_empty()).collect();
            let percent = |cell: &String| cell.trim_end_matches([' ', '%', '\u{a0}']).parse::<f64>().ok();
            for times in [2, 16] {
                let m = (dials.get("p") * times).to_string();
                let row = rows.iter().find(|row| row[0] == m).unwrap_or_else(|| panic!("{m}: {table}"));
                let shares: Vec<Option<f64>> = row[1..].iter().map(percent).collect();
                let others = shares.iter().enumerate().filter(|(place, _)| *place != CHIMERA);
                let others: Vec<f64> = others.filter_map(|(_, share)| *share).collect();
                let low = others.iter().copied().fold(f64::INFINITY, f64::min);
                let high = others.iter().copied().fold(0.0, f64::max);
                assert!(others.len() >= 4, "{row:?}");
                let said = format!("{low:.1} % to {high:.1} % at {m}");
                assert!(text[0].contains(&said), "{at:?}: {said}; {}", text[0]);
                let chimera = shares[CHIMERA].unwrap();
                let said = format!("{chimera:.1} % at {m}");
                assert!(text[1].contains(&said) || chimera == 0.0 && text[1].contains("never"), "{at:?}: {}", text[1]);
            }
        }
    }

    /// Li and Hoefler 2021, section 3: a unit of D micro-batches, with a backward pass of two forward passes, idles
    /// 2 (D − 2) forward passes; two ranks wait nowhere.
    #[test]
    fn a_unit_of_chimera_is_that_of_its_paper() {
        for d in [2_u32, 4, 8, 16] {
            let idle = f64::from(2 * (d - 2));
            let found = bubble(SCHEDULES[CHIMERA].0, d, 2, d).unwrap();
            assert!((found - idle / (f64::from(3 * d) + idle)).abs() < 1e-9, "{d}: {found}");
        }
    }

    #[test]
    fn more_micro_batches_never_make_a_larger_bubble() {
        for (schedule, _, _) in SCHEDULES {
            let shares = TIMES.map(|times| bubble(schedule, 4, 2, 4 * times));
            let shares: Vec<f64> = shares.into_iter().flatten().collect();
            assert!(shares.len() >= 4, "{schedule:?}");
            assert!(shares.is_sorted_by(|a, b| a >= b), "{schedule:?}: {shares:?}");
        }
    }
}
