//! Throughput over GPUs that was measured by layout.

use crate::learn::prelude::*;

/// GPUs of the points.
const GPUS: [u64; 6] = [8, 16, 32, 64, 128, 256];

/// A layout with four tensor-parallel ranks: context-parallel and pipeline ranks, and TFLOP/s of a GPU by [`GPUS`].
struct MeasuredLine {
    cp: u64,
    pp: u64,
    speeds: [Option<f64>; 6],
    ink: Ink,
}

const fn line(cp: u64, pp: u64, speeds: [Option<f64>; 6], ink: Ink) -> MeasuredLine {
    MeasuredLine { cp, pp, speeds, ink }
}

/// Llama 3.1 8B, sequences of 8192 tokens, micro-batches of one, a batch of 1024 sequences, A100s of 40 GB with eight a
/// node. Source: Fujii 2024, table 3.
const MEASURED: [MeasuredLine; 4] = [
    line(1, 1, [Some(194.25), Some(194.97), Some(194.64), Some(190.9), Some(191.88), Some(188.28)], Ink::Forward),
    line(1, 2, [Some(182.6), Some(178.38), Some(176.79), Some(170.84), Some(169.52), Some(153.9)], Ink::Backward),
    line(2, 1, [Some(171.16), Some(174.07), Some(171.99), Some(168.66), Some(162.15), Some(153.03)], Ink::Weight),
    line(2, 2, [None, Some(151.65), Some(148.7), Some(142.34), Some(134.34), Some(116.28)], Ink::Exposed),
];

impl MeasuredLine {
    fn points(&self) -> Vec<(f64, f64)> {
        let both = GPUS.iter().zip(self.speeds);
        both.filter_map(|(gpus, speed)| Some((*gpus as f64, speed?))).collect()
    }
    fn name(&self) -> Message {
        verbatim(format!("TP 4 · CP {} · PP {}", self.cp, self.pp))
    }
    /// Loss from the fewest GPUs to the most.
    fn lost(&self) -> f64 {
        let points = self.points();
        let ends = points.first().zip(points.last());
        ends.map_or(0.0, |((_, first), (_, last))| 1.0 - last / first)
    }
}

pub(super) fn measured(dials: &Dials) -> Live {
    let chosen = MEASURED.iter().find(|line| (line.cp, line.pp) == (dials.get("c"), dials.get("p")));
    let Some(chosen) = chosen else {
        return Live::default();
    };
    let points = chosen.points();
    let [first, last] = [points.first(), points.last()].map(|point| point.copied().unwrap_or_default());
    let lines = MEASURED.iter().map(|line| Line {
        name: line.name(),
        ink: line.ink,
        points: line.points(),
        marks: if line.name() == chosen.name() { Marks::Dots } else { Marks::None },
    });
    let plot = Plot {
        up: Axis { name: "TFLOP/s per GPU, measured", spacing: Spacing::Linear },
        lines: lines.collect(),
        level: None,
    };
    let rows = MEASURED.iter().flat_map(|line| {
        let rows = line.points().into_iter();
        rows.map(|(gpus, speed)| vec![line.name(), verbatim(number(gpus, 3)), verbatim(number(speed, 4))])
    });
    let head = ["layout", "GPUs", "TFLOP/s per GPU, measured"];
    let across = Axis { name: "GPUs", spacing: Spacing::Doublings };
    Live::of([
        t!("More GPUs for the same batch only add copies: each has fewer micro-batches, and gradients cross more \
                nodes."),
        t!(
            "With {layout} a GPU computes {before} TFLOP/s on {few} GPUs and {after} on {many}, {lost} less. Cuts that \
                are not needed cost speed, and more of it on more GPUs.",
            layout = chosen.name(),
            before = number(first.1, 4),
            few = number(first.0, 3),
            after = number(last.1, 4),
            many = number(last.0, 3),
            lost = show_percent(chosen.lost())
        ),
    ])
    .formula(
        "loss = 1 − V(most) / V(fewest)",
        format!("1 − {} / {} = {}", number(last.1, 4), number(first.1, 4), show_percent(chosen.lost())),
    )
    .note(t!(
        "{model}, sequences of {tokens} tokens, micro-batches of {b}, a batch of {batch}, A100 40 GB. FLOPs as the \
            paper counts them: attention in full.",
        model = verbatim("Llama 3.1 8B"),
        tokens = number(8192.0, 4),
        b = 1_u8,
        batch = number(1024.0, 4)
    ))
    .below("the loss with the GPUs", chosen.lost(), 0.05, show_percent)
    .plots(across, &[plot], &head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every point is a cell of the paper's table 3, as `public/data/fujii_measured.csv` has it.
    #[test]
    fn the_points_are_the_cells_of_the_papers_table() {
        let table = include_str!("../../../../public/data/fujii_measured.csv");
        for line in &MEASURED {
            for (gpus, speed) in line.points() {
                let cell = format!("3,llama-3.1-8b,a100-sxm-40gb,40,8192,4,{},{},1,{gpus},", line.cp, line.pp);
                let printed = table.lines().find_map(|row| row.strip_prefix(&*cell)).unwrap();
                let printed: f64 = printed.split(',').next().unwrap().parse().unwrap();
                assert_eq!(printed, speed, "{cell}");
            }
        }
    }
}
