//! The layouts of the 4D paper as one picture: those that ran, those that ran out of memory, and the fastest of each
//! number of GPUs, by how many GPUs hold one copy of the model.

use crate::charts::drawing::Form;
use crate::charts::figure::save;
use crate::charts::ink::Ink;
use crate::charts::plot::{Plot, PlotAxis, PlotMark, PlotScale, draw};
use crate::prelude::*;
use shardscope_core::accuracy::{Bench, Evidence, MeasuredQuantity, Measurement};
use std::collections::BTreeMap;

/// A layout: its TP x CP x PP, and the seconds of a step; none where it ran out of memory.
type Layout = (u64, Option<f64>);

/// The layouts of the paper's tables by GPU and number of GPUs.
fn groups(bench: &Bench) -> BTreeMap<(Message, u64), Vec<Layout>> {
    let mut groups: BTreeMap<(Message, u64), Vec<Layout>> = BTreeMap::new();
    for row in bench.rows.iter().filter(|row| row.source().quantity == MeasuredQuantity::FujiiTflops) {
        groups.entry((row.run.gpu.title(), row.run.gpus)).or_default().push(layout(row));
    }
    groups
}

fn layout(row: &Evidence) -> Layout {
    let seconds = match row.measured {
        Measurement::Step(seconds) => Some(seconds),
        _ => None,
    };
    (row.run.tp * row.run.cp * row.run.pp, seconds)
}

/// The fastest layout of a group, and the least TP x CP x PP that ran.
fn best(layouts: &[Layout]) -> Option<(u64, u64)> {
    let ran = || layouts.iter().filter_map(|(size, seconds)| Some((*size, (*seconds)?)));
    let fastest = ran().min_by(|a, b| a.1.total_cmp(&b.1))?.0;
    Some((fastest, ran().map(|(size, _)| size).min()?))
}

/// Count of groups, in how many the fastest layout has the least TP x CP x PP that ran, and in how many at most twice.
fn finding(bench: &Bench) -> [usize; 3] {
    let pairs: Vec<(u64, u64)> = groups(bench).values().filter_map(|layouts| best(layouts)).collect();
    let within = |times: u64| pairs.iter().filter(|(fastest, least)| *fastest <= times * least).count();
    [pairs.len(), within(1), within(2)]
}

/// The picture, a plot a GPU; nothing without the paper's rows.
pub(super) fn layouts(bench: &Bench) -> Node {
    let groups = groups(bench);
    let mut gpus: Vec<&Message> = groups.keys().map(|(gpu, _)| gpu).collect();
    gpus.dedup();
    if gpus.is_empty() {
        return Node::none();
    }
    let pictures = gpus.into_iter().flat_map(|gpu| {
        let on_gpu = groups.iter().filter(|((name, _), _)| name == gpu).map(|((_, gpus), layouts)| (*gpus, layouts));
        [subheading(gpu), picture(on_gpu)]
    });
    let [count, least, twice] = finding(bench);
    let words = t!(
        "Across: GPUs; upwards: TP × CP × PP, the GPUs of one copy of the model. Hollow: ran out of memory; faint: \
            ran; large: the fastest. In {least} of {count} groups the fastest is one of the least TP × CP × PP that \
            ran, in {twice} of at most twice as much: cut a model no further than memory asks.",
        least,
        count,
        twice
    );
    let pieces: Vec<Node> = [heading("Best layouts beside those that ran out of memory")]
        .into_iter()
        .chain(pictures)
        .chain([caption(words), save("accuracy-layouts")])
        .collect();
    el("figure", &[("class", "chart")], &pieces)
}

fn picture<'a>(groups: impl Iterator<Item = (u64, &'a Vec<Layout>)>) -> Node {
    let mut dots: Vec<((f64, f64), Form, Ink)> = Vec::new();
    for (gpus, layouts) in groups {
        let place = |size: u64| (gpus as f64, size as f64);
        // Dots that lie above others come last.
        dots.extend(
            layouts
                .iter()
                .filter(|(_, ran)| ran.is_none())
                .map(|(size, _)| (place(*size), Form::Hollow, Ink::Backward)),
        );
        dots.extend(
            layouts.iter().filter(|(_, ran)| ran.is_some()).map(|(size, _)| (place(*size), Form::Faint, Ink::Forward)),
        );
        dots.extend(best(layouts).map(|(fastest, _)| (place(fastest), Form::Large, Ink::Accent)));
    }
    let axis = |pick: fn(&(f64, f64)) -> f64, name: &'static str| {
        let scale = PlotScale::log(dots.iter().map(|(at, ..)| pick(at)), 1.0).doubling();
        PlotAxis::new(scale.with_room(0.04), scale.powers(2.0), |tick| verbatim(number(tick, 3))).named(name)
    };
    let (across, up) = (axis(|at| at.0, "GPUs"), axis(|at| at.1, "TP × CP × PP"));
    let marks = dots.iter().map(|(at, form, ink)| PlotMark::Dot(*at, *form, *ink, Message::default())).collect();
    draw(&across, 180.0, &[Plot { up, marks }]).inline("Best layouts beside those that ran out of memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::accuracy::read;

    /// Fujii 2024, conclusion: the fastest layout is among those of the least TP x CP x PP that fit. By its tables 3
    /// and 4.
    #[test]
    fn the_papers_finding_holds_for_its_tables() {
        let csv = include_str!("../../../../public/data/fujii_measured.csv");
        let mut bench = Bench::default();
        bench.add(read("fujii_measured.csv", csv));
        let rows = bench.rows.iter().filter(|row| row.source().quantity == MeasuredQuantity::FujiiTflops);
        // As the tables themselves say, line by line.
        let (mut ran, mut out) = (0, 0);
        for line in csv.lines().filter(|line| line.starts_with(['3', '4'])) {
            if line.contains(",OOM") { out += 1 } else { ran += 1 }
        }
        let found: Vec<Layout> = rows.map(layout).collect();
        let ran_found = found.iter().filter(|(_, seconds)| seconds.is_some()).count();
        assert!(
            ran_found > 100 && ran_found <= ran && found.len() - ran_found <= out && out > 10,
            "{ran_found} {ran} {out}"
        );
        let [count, least, twice] = finding(&bench);
        // Counted in the tables by hand: only on 4 H100s is the fastest, of 4, not one of the least, 2.
        assert_eq!([count, least, twice], [11, 10, 11]);
        let html = layouts(&bench).to_html();
        assert!(html.contains("TP × CP × PP") && html.contains(&format!("In {least} of {count} groups")));
        assert!(layouts(&Bench::default()) == Node::none());
    }
}
