//! The playbook's overview of strategies and its best measured layouts.

use super::super::caption::listed;
use crate::charts::figure::{legend, swatch};
use crate::learn::prelude::*;
use shardscope_core::units::GIB;

/// Sequence length at which the figure's slips are named.
const LONG: u64 = 16_384;
/// Ranks of every strategy.
const RANKS: f64 = 8.0;
/// Bytes per token, layer and hidden unit: of a layer without stored scores, and with full recomputation.
const KEPT: [f64; 2] = [34.0, 2.0];

/// One way to use the ranks: parameters of a rank, and what its activations are divided by.
struct Strategy {
    name: &'static str,
    parameters: f64,
    divisor: f64,
    /// The figure's own divisor, where that is something else.
    drawn: f64,
}

/// The strategies of the figure over Llama 3.1 8B, and the bytes of activations of a token, per byte that is kept.
fn strategies() -> (Vec<Strategy>, f64) {
    let Some(model) = model("llama-3.1-8b") else {
        return (Vec::new(), 0.0);
    };
    let (all, layers) = (model.elements().total() as f64, model.layers as f64);
    let (h, embedding) = (model.hidden as f64, (model.hidden * model.vocab) as f64);
    let ffn = layers * 3.0 * h * model.ffn as f64;
    let one = |name, parameters, divisor| Strategy { name, parameters, divisor, drawn: divisor };
    let list = vec![
        one("none", all, 1.0),
        one("ZeRO-3", all / RANKS, 1.0),
        Strategy { drawn: KEPT[0] / (10.0 + 24.0 / RANKS), ..one("TP + SP", all / RANKS, RANKS) },
        one("PP", (all - 2.0 * embedding) / RANKS + embedding, 1.0),
        Strategy { drawn: RANKS * RANKS, ..one("CP", all, RANKS) },
        one("EP", all - ffn + ffn / RANKS, 1.0),
    ];
    (list, layers * h)
}

/// Bytes of activations at `s` tokens, with full recomputation or without; of the strategy as it is, and as it is
/// drawn.
fn activations(one: &Strategy, each: f64, s: u64, full: bool) -> [f64; 2] {
    [one.divisor, one.drawn].map(|divisor| KEPT[usize::from(full)] * s as f64 * each / divisor)
}

pub(super) fn savings(dials: &Dials) -> Live {
    let (s, full) = (dials.get("s"), dials.get("r") == 1);
    let (list, each) = strategies();
    let bars: Vec<Bar> = list
        .iter()
        .map(|one| {
            let states = STATES.map(|bytes| bytes * one.parameters);
            let [kept, _] = activations(one, each, s, full);
            Bar::new(verbatim(one.name), states.into_iter().chain([kept]).collect::<Vec<_>>())
        })
        .collect();
    let named = |name: &str| list.iter().position(|one| one.name == name);
    let total = |name: &str| gib(named(name).and_then(|at| bars.get(at)).map_or(0.0, Bar::total));
    let slip = |name: &str| {
        let one = named(name).and_then(|at| list.get(at));
        one.map_or([0.0; 2], |one| activations(one, each, LONG, false)).map(gib)
    };
    let ([ours, printed], [cut, drawn]) = (slip("TP + SP"), slip("CP"));
    let note = t!(
        "States of {states} bytes per parameter, as in the playbook's figure. At {long} tokens it draws {printed} of \
            activations for {tp}, its count without SP: with it they are {ours}. For CP it draws {drawn}, divided by \
            the ranks twice: once is {cut}.",
        states = number(STATES.iter().sum(), 3),
        long = LONG,
        printed,
        tp = verbatim("TP + SP"),
        ours,
        drawn,
        cut
    );
    let kept = KEPT[usize::from(full)];
    let values = format!("{kept} · {s} · {} = {}", number(each, 7), gib(kept * s as f64 * each));
    let live = Live::of([
        t!(
            "One GPU would need {none} for a model of eight billion parameters at {s} tokens; of eight ranks each \
                needs {zero} with {sharded}, and {tp} with {cut}.",
            none = total("none"),
            s,
            zero = total("ZeRO-3"),
            sharded = verbatim("ZeRO-3"),
            tp = total("TP + SP"),
            cut = verbatim("TP + SP")
        ),
        t!("Shards, pipelines and experts divide states; context parallelism divides activations; tensor parallelism \
                divides both and sends most. Shard states for short sequences; else cut tokens or recompute."),
    ])
    .below(
        "the memory of a rank with shards",
        named("ZeRO-3").and_then(|at| bars.get(at)).map_or(0.0, Bar::total),
        16.0 * GIB,
        gib,
    )
    .formula("A = 34 s b h L; recomputed in full: 2 s b h L", values)
    .compared(note)
    .memory(&bars);
    Live { table: Node::from_iter([acts(), live.table]), ..live }
}

/// Bytes a parameter of weights, gradients and moments in the figure; its text has twelve for the last.
const STATES: [f64; 3] = [2.0, 2.0, 8.0];

/// The parts of the model that each strategy acts on.
fn acts() -> Node {
    let rows = ACTS.iter().map(|row| row.map(Message::from).to_vec()).collect();
    listed("What each strategy acts on", &["strategy", "divides", "along", "its cost"], rows)
}

/// The playbook's table of methods. Source: Ultra-Scale Playbook, 5D parallelism in a nutshell.
#[rustfmt::skip]
const ACTS: [[&str; 4]; 8] = [
    ["DP", "activations, by a smaller batch per rank", "batch", "limited by the largest batch"],
    ["PP", "weights", "layers", "bubble, and schedules that are hard to write"],
    ["TP + SP", "weights and activations", "hidden dimension, sequence", "needs a fast link"],
    ["CP", "activations", "sequence", "messages in attention"],
    ["EP", "weights of experts", "experts", "needs experts; messages to and from them"],
    ["ZeRO-1", "optimizer states", "data-parallel ranks", "messages for weights"],
    ["ZeRO-2", "optimizer states and gradients", "data-parallel ranks", "messages for weights"],
    ["ZeRO-3", "optimizer states, gradients and weights", "data-parallel ranks", "messages for weights"],
];

/// A best layout of the playbook: nodes of eight H100s, data, tensor, pipeline ranks, accumulation, micro-batch, ZeRO,
/// MFU in percent.
type Best = (u64, [u64; 6], f64);

/// By billions of parameters, the fastest of all layouts that were measured, at sequences of 4096 tokens and a batch of
/// a million. Source: Ultra-Scale Playbook, benchmarking thousands of configurations, second heat map.
const MEASURED: [(f64, &[Best]); 4] = [
    (
        1.34,
        &[
            (1, [4, 1, 2, 16, 4, 1], 44.32),
            (2, [8, 1, 2, 32, 1, 1], 41.59),
            (4, [16, 1, 2, 16, 1, 1], 38.38),
            (8, [32, 1, 2, 8, 1, 1], 32.47),
            (16, [64, 2, 1, 1, 4, 0], 29.46),
            (32, [64, 4, 1, 1, 4, 0], 23.20),
            (64, [128, 2, 2, 1, 2, 1], 5.25),
        ],
    ),
    (
        3.57,
        &[
            (1, [4, 1, 2, 32, 2, 1], 46.68),
            (2, [8, 1, 2, 16, 2, 1], 43.77),
            (4, [16, 1, 2, 8, 2, 1], 40.39),
            (8, [32, 1, 2, 8, 1, 1], 35.53),
            (16, [32, 4, 1, 1, 8, 0], 34.59),
            (32, [64, 4, 1, 1, 4, 0], 26.77),
            (64, [128, 4, 1, 1, 2, 1], 10.49),
        ],
    ),
    (
        8.86,
        &[
            (1, [2, 1, 4, 128, 1, 1], 45.22),
            (2, [4, 4, 1, 16, 4, 1], 43.94),
            (4, [16, 1, 2, 16, 1, 1], 43.31),
            (8, [32, 1, 2, 8, 1, 1], 39.50),
            (16, [16, 8, 1, 2, 8, 0], 36.33),
            (32, [32, 8, 1, 1, 8, 0], 32.71),
            (64, [128, 4, 1, 1, 2, 0], 18.69),
        ],
    ),
    (
        80.0,
        &[
            (4, [1, 8, 4, 256, 1, 0], 14.76),
            (8, [1, 4, 16, 256, 1, 0], 30.65),
            (16, [1, 4, 32, 256, 1, 0], 34.29),
            (32, [4, 4, 16, 64, 1, 1], 30.75),
            (64, [32, 16, 1, 4, 2, 1], 17.79),
        ],
    ),
];

/// Colours of the four sizes.
const INKS: [Ink; 4] = [Ink::Forward, Ink::Backward, Ink::Memory(3), Ink::Exposed];

/// Nodes of the columns of the grid.
const NODES: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const CELL: f64 = 62.0;
const HEAD: f64 = 40.0;

/// The best layout of every size on every number of nodes, with its MFU: the fuller the colour, the more. The row
/// `marked` is framed.
fn grid(marked: usize) -> Node {
    let mut drawing = Drawing::new(HEAD + CELL * MEASURED.len() as f64);
    let wide = 1.0 / NODES.len() as f64;
    let centre = |column: usize| wide * (column as f64 + 0.5);
    // All cells say their layout, or none does: the longest words decide.
    let length = |words: &str| words.chars().count() as f64 + 0.25;
    let layouts = || MEASURED.iter().flat_map(|(_, cells)| *cells).map(|(_, layout, _)| layout);
    let longest = layouts().flat_map(|layout| [sizes(layout), work(layout)]).map(|words| length(&words));
    let longest = longest.fold(0.0, f64::max);
    let room = |words: &str| wide * length(words) / longest;
    let words = t!("Best MFU in percent, by parameters and nodes");
    drawing.heading(8.0, &words);
    for (column, nodes) in NODES.into_iter().enumerate() {
        drawing.words((centre(column), HEAD - 10.0), Anchor::Middle, Ink::Muted, verbatim(nodes.to_string()));
    }
    for (row, (billions, cells)) in MEASURED.iter().enumerate() {
        let top = HEAD + CELL * row as f64;
        drawing.name(top + CELL / 2.0, verbatim(format!("{} B", number(*billions, 3))));
        for (column, nodes) in NODES.into_iter().enumerate() {
            let at = Box { x: wide * column as f64, width: wide - 0.004, y: top, height: CELL - 3.0 };
            let Some((_, layout, mfu)) = cells.iter().find(|(count, ..)| *count == nodes) else {
                drawing.hatch(at);
                continue;
            };
            drawing.fill(at, Ink::Forward, 0.06 + mfu / 100.0, verbatim(described(layout)));
            drawing.words((centre(column), top + 13.0), Anchor::Middle, Ink::Text, verbatim(number(*mfu, 3)));
            let lines = [(30.0, Ink::Text, sizes(layout)), (46.0, Ink::Text, work(layout))];
            for (below, ink, line) in lines {
                drawing.fitted((centre(column), top + below), ink, room(&line), verbatim(line));
            }
        }
        if row == marked {
            drawing.frame(Box { x: 0.0, width: 1.0, y: top - 1.0, height: CELL - 1.0 }, Ink::Accent);
        }
    }
    drawing.inline(words)
}

/// A layout in full.
fn described([dp, tp, pp, steps, b, zero]: &[u64; 6]) -> String {
    format!("DP {dp} · TP {tp} · PP {pp} · ga {steps} · mbs {b} · ZeRO-{zero}")
}

/// Its three sizes, as they stand in a cell.
fn sizes([dp, tp, pp, ..]: &[u64; 6]) -> String {
    format!("{dp} · {tp} · {pp}")
}

/// Accumulation, micro-batch and ZeRO stage, as they stand in a cell.
fn work([.., steps, b, zero]: &[u64; 6]) -> String {
    format!("{steps} · {b} · {zero}")
}

/// What stands in the cells.
fn grid_key() -> Node {
    let hatched = swatch(&("hatch", "no layout was measured"));
    legend([inline("in a cell: MFU in %; DP · TP · PP; accumulation · micro-batch · ZeRO stage"), hatched])
}

pub(super) fn nodes(dials: &Dials) -> Live {
    let size = usize::try_from(dials.get("k")).unwrap_or(1).clamp(1, MEASURED.len()) - 1;
    let (billions, cells) = MEASURED[size];
    let mfu = |cell: Option<&Best>| cell.map_or(0.0, |(.., mfu)| *mfu);
    let [first, last] = [cells.first(), cells.last()];
    let count = |cell: Option<&Best>| cell.map_or(0, |(nodes, ..)| *nodes);
    let lines = MEASURED.iter().zip(INKS).map(|((billions, cells), ink)| Line {
        name: t!("{billions} B parameters", billions = number(*billions, 3)),
        ink,
        points: cells.iter().map(|(nodes, _, mfu)| (*nodes as f64, *mfu)).collect(),
        marks: Marks::Dots,
    });
    let plot = Plot { up: Axis { name: "MFU, %", spacing: Spacing::Linear }, lines: lines.collect(), level: None };
    let rows = MEASURED.iter().flat_map(|(billions, cells)| {
        cells.iter().map(move |(nodes, layout, mfu)| {
            let sizes = [*nodes].into_iter().chain(*layout).map(|size| size.to_string());
            let sizes = [number(*billions, 3)].into_iter().chain(sizes);
            sizes.chain([significant(*mfu, 4)]).map(verbatim).collect()
        })
    });
    let head = ["parameters, B", "nodes", "DP", "TP", "PP", "accumulation", "micro-batch", "ZeRO", "MFU, %"];
    let across = Axis { name: "nodes of eight GPUs", spacing: Spacing::Doublings };
    let tokens = last.map_or(0, |(_, [dp, _, _, steps, b, _], _)| dp * steps * b * 4096);
    let live = Live::of([
        t!(
            "The playbook measured thousands of layouts and kept the fastest of each size. With {billions} B \
                parameters they reach {few} % of the peak (MFU) on {least} and {many} % on {most}.",
            billions = number(billions, 3),
            few = number(mfu(first), 3),
            least = if count(first) == 1 { t!("one node") } else { t!("{n} nodes", n = count(first)) },
            many = number(mfu(last), 3),
            most = count(last)
        ),
        t!("The batch stays a million tokens, so more nodes have less work each to hide messages. Small models lose \
                most; the largest hardly fits on few nodes."),
    ])
    .above("the MFU on the most nodes", mfu(last) / 100.0, 0.18, show_percent)
    .worded(
        "batch = DP · accumulation · micro-batch · s",
        t!("{tokens} tokens on {nodes} nodes", tokens = number(tokens as f64, 8), nodes = count(last)),
    )
    .plots(across, &[plot], &head, rows.collect());
    let lines = second(live.legend, live.picture);
    Live { picture: Node::from_iter([grid_key(), grid(size), lines]), legend: Node::none(), ..live }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bars of the playbook's figure `5Dparallelism_8Bmemoryusage.svg`, measured in its drawing: GiB of weights,
    /// gradients, moments and activations at 1024 tokens, selective recomputation.
    #[test]
    fn the_grid_of_savings_is_the_playbooks() {
        let near = |ours: f64, drawn: f64| assert!((ours / GIB - drawn).abs() < 0.01, "{} {drawn}", ours / GIB);
        let (list, each) = strategies();
        let named = |name: &str| list.iter().find(|one| one.name == name).unwrap();
        for (name, [weights, moments, activations_drawn]) in [
            ("none", [14.96, 59.83, 4.25]),
            ("ZeRO-3", [1.87, 7.48, 4.25]),
            ("TP + SP", [1.87, 7.48, 1.625]),
            ("PP", [2.60, 10.41, 4.25]),
            ("CP", [14.96, 59.83, 0.066]),
            ("EP", [5.77, 23.08, 4.25]),
        ] {
            let one = named(name);
            near(STATES[0] * one.parameters, weights);
            near(STATES[2] * one.parameters, moments);
            near(activations(one, each, 1024, false)[1], activations_drawn);
        }
        // Korthikanti 2022: with sequence parallelism all of a layer is divided. Full recomputation: 0.25 as drawn.
        near(activations(named("TP + SP"), each, 1024, false)[0], 4.25 / 8.0);
        near(activations(named("none"), each, 1024, true)[0], 0.25);
        let step = super::super::LESSON.steps.iter().find(|step| step.id == "savings").unwrap();
        let note = (step.live)(&Dials::new(step.sliders, &[])).compared.to_string();
        assert!(note.contains("draws 26.0 GiB") && note.contains("they are 8.5 GiB"), "{note}");
    }

    /// The rows of the throughput table, which were read from the same heat map.
    #[test]
    fn the_best_layouts_are_the_published_ones() {
        let table = include_str!("../../../../public/data/throughput.csv");
        let mut found = 0;
        for row in table.lines().filter(|row| row.contains("llama-like") && row.contains("nanotron")) {
            let cell: Vec<&str> = row.split(',').collect();
            let number = |at: usize| cell[at].parse::<f64>().unwrap();
            let whole = |at: usize| cell[at].parse::<u64>().unwrap();
            let at = cell.iter().position(|cell| *cell == "H100-80GB").unwrap();
            let (_, cells) = MEASURED.iter().find(|(billions, _)| (billions - number(3)).abs() < 1e-9).unwrap();
            let (_, layout, mfu) = cells.iter().find(|(nodes, ..)| nodes * 8 == whole(at - 1)).unwrap();
            let columns = [at + 1, at + 2, at + 3, at - 2, at + 8].map(whole);
            assert_eq!([layout[0], layout[1], layout[2], layout[4], layout[5]], columns, "{row}");
            assert!((mfu - number(at + 12)).abs() < 1e-9, "{row}");
            found += 1;
        }
        assert_eq!(found, 21);
        // Every layout uses all GPUs of its nodes, and is drawn.
        let html = grid(0).to_html();
        let mut drawn = 0;
        for (nodes, layout, mfu) in MEASURED.iter().flat_map(|(_, cells)| *cells) {
            assert_eq!(layout[0] * layout[1] * layout[2], 8 * nodes);
            let (of, cell) = ([described(layout), sizes(layout), work(layout)], number(*mfu, 3));
            assert!(of.iter().all(|words| html.contains(&**words)) && html.contains(&format!(">{cell}<")), "{of:?}");
            drawn += 1;
        }
        assert_eq!(html.matches("<title").count(), drawn);
        // No cell is without its layout where another has it.
        assert_eq!(html.matches("at w700").count(), 2 * drawn, "{html}");
        assert_eq!(html.matches("url(#hatched)").count(), 4 * 7 - drawn);
        // Every batch is a million tokens: 256 sequences of 4096.
        for (_, [dp, _, _, steps, b, _], _) in MEASURED.iter().flat_map(|(_, cells)| *cells) {
            assert_eq!(dp * steps * b, 256);
        }
    }
}
