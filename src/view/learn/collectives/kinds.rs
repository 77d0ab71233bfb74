//! The collectives by what each rank has before and after, and which of them the parallelisms use.

use crate::learn::prelude::*;
use shardscope_core::units::GIB;

/// Ranks of the picture, and blocks of the tensor.
const RANKS: usize = 4;

/// A block on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    None,
    /// The data of this rank.
    From(usize),
    /// Added up over all ranks.
    Sum,
}

/// A collective: its name, its effect, the blocks of a rank before and after, and what the busiest rank sends of the
/// tensor.
struct Collective {
    name: &'static str,
    effect: &'static str,
    before: fn(usize, usize) -> Block,
    after: fn(usize, usize) -> Block,
    sent: f64,
}

const WHOLE: f64 = 1.0;
/// `(n - 1)/n` of four ranks.
const REST: f64 = 0.75;

fn first(rank: usize) -> Block {
    if rank == 0 { Block::From(0) } else { Block::None }
}

fn own(rank: usize, block: usize) -> Block {
    if rank == block { Block::From(rank) } else { Block::None }
}

fn summed(is_here: bool) -> Block {
    if is_here { Block::Sum } else { Block::None }
}

/// Source: Ultra-Scale Playbook, appendix A0; factors from nccl-tests, PERFORMANCE.md.
const COLLECTIVES: [Collective; 8] = [
    Collective {
        name: "broadcast",
        effect: "one rank gives all of its data to every other.",
        before: |rank, _| first(rank),
        after: |_, _| Block::From(0),
        sent: WHOLE,
    },
    Collective {
        name: "scatter",
        effect: "one rank gives each rank another part.",
        before: |rank, _| first(rank),
        after: |rank, block| if rank == block { Block::From(0) } else { Block::None },
        sent: REST,
    },
    Collective {
        name: "gather",
        effect: "one rank collects a part from each.",
        before: own,
        after: |rank, block| if rank == 0 { Block::From(block) } else { Block::None },
        sent: 1.0 - REST,
    },
    Collective {
        name: "reduce",
        effect: "the data of all ranks is added up on one.",
        before: |rank, _| Block::From(rank),
        after: |rank, _| summed(rank == 0),
        sent: WHOLE,
    },
    Collective {
        name: "all-gather",
        effect: "every rank collects the parts of all.",
        before: own,
        after: |_, block| Block::From(block),
        sent: REST,
    },
    Collective {
        name: "reduce-scatter",
        effect: "the data of all ranks is added up, and each keeps one part of the sum.",
        before: |rank, _| Block::From(rank),
        after: |rank, block| summed(rank == block),
        sent: REST,
    },
    Collective {
        name: "all-reduce",
        effect: "the data of all ranks is added up, and each keeps all of the sum.",
        before: |rank, _| Block::From(rank),
        after: |_, _| Block::Sum,
        sent: 2.0 * REST,
    },
    Collective {
        name: "all-to-all",
        effect: "every rank gives each rank another part.",
        before: |rank, _| Block::From(rank),
        after: |_, block| Block::From(block),
        sent: REST,
    },
];

/// The name of the collective at `index`.
pub(super) fn name(index: usize) -> &'static str {
    COLLECTIVES[index].name
}

/// Height of a rank's row, pixels.
const ROW: f64 = 30.0;
/// Height of the words above the rows, pixels.
const WORDS: f64 = 24.0;
/// Left edges of the two halves, as shares of the width.
const HALVES: [f64; 2] = [0.0, 0.54];
/// Width of each half, as a share of the width.
const WIDE: f64 = 0.44;

/// Colours of the blocks of each rank.
const INKS: [Ink; RANKS] = [Ink::Forward, Ink::Memory(3), Ink::Memory(1), Ink::Weight];
/// Colour of sums over all ranks.
const SUM: Ink = Ink::Exposed;

/// The blocks of all ranks before and after a collective.
fn drawn(one: &Collective) -> Drawing {
    let mut drawing = Drawing::new(WORDS + ROW * RANKS as f64);
    for (x, (words, blocks)) in HALVES.into_iter().zip([(t!("before"), one.before), (t!("after"), one.after)]) {
        drawing.words((x + WIDE / 2.0, 10.0), Anchor::Middle, Ink::Text, words);
        for rank in 0..RANKS {
            for block in 0..RANKS {
                let width = WIDE / RANKS as f64;
                let at = Box {
                    x: x + width * block as f64,
                    width: width - 0.004,
                    y: WORDS + ROW * rank as f64,
                    height: ROW - 4.0,
                };
                let middle = (at.x + at.width / 2.0, at.y + at.height / 2.0);
                match blocks(rank, block) {
                    Block::None => drawing.frame(at, Ink::Line),
                    Block::From(from) => {
                        drawing.fill(at, INKS[from], 1.0, t!("rank {rank}", rank = from));
                        drawing.words(middle, Anchor::Middle, Ink::Paper, verbatim(format!("{from}.{block}")));
                    }
                    Block::Sum => {
                        drawing.fill(at, SUM, 1.0, "sum over all ranks");
                        drawing.words(middle, Anchor::Middle, Ink::Paper, verbatim(format!("Σ.{block}")));
                    }
                }
            }
        }
    }
    for rank in 0..RANKS {
        drawing.name(WORDS + ROW * (rank as f64 + 0.5), t!("rank {rank}", rank));
    }
    drawing.words((0.49, WORDS + ROW * RANKS as f64 / 2.0), Anchor::Middle, Ink::Text, verbatim("→"));
    drawing
}

pub(super) fn kinds(dials: &Dials) -> Live {
    let number_of = usize::try_from(dials.get("k")).unwrap_or(1).clamp(1, COLLECTIVES.len());
    let one = &COLLECTIVES[number_of - 1];
    let sums = (0..RANKS * RANKS).filter(|at| (one.after)(at / RANKS, at % RANKS) == Block::Sum).count();
    let rows = COLLECTIVES.iter().zip(1_usize..).map(|(one, at)| {
        vec![verbatim(at.to_string()), one.name.into(), one.effect.into(), verbatim(number(one.sent, 3))]
    });
    let head = ["number", "collective", "effect", "sent by the busiest rank, in tensors"];
    let mut entries: Vec<(Message, Ink)> =
        INKS.iter().enumerate().map(|(rank, ink)| (t!("data of rank {rank}", rank), *ink)).collect();
    entries.push((t!("sum over all ranks"), SUM));
    let live = Live::of([
        t!(
            "A collective is an exchange in which all ranks of a group take part. This is {name}: {effect}",
            name = one.name,
            effect = one.effect
        ),
        t!(
            "The busiest rank sends {share} of the tensor. A reduce-scatter and then an all-gather are an all-reduce; \
                many methods put work between those two.",
            share = show_percent(one.sent)
        ),
    ])
    .above("the number of sums on all ranks", sums as f64, 15.0, |count| number(count, 3));
    Live {
        legend: colours(&entries),
        picture: drawn(one).inline(t!("{name}: before and after", name = one.name)),
        table: data(&head, rows.collect()),
        ..live
    }
}

const SENT: Scale = Scale { parts: &[("sent by a GPU in a step", Ink::Exposed)], unit: ("GiB", GIB) };

/// The exchanges of one run by parallelism, each with its collective.
pub(super) fn in_training(dials: &Dials) -> Live {
    let t = dials.get("t");
    let settings =
        format!("model=llama-3.1-8b&gpus=64&tp={t}&pp=2&cp=2&zero=1&global_batch=128&seq_len=8192&stack=megatron-2025");
    let rows = run(&settings).map(|evaluation| evaluation.report.overlap).unwrap_or_default();
    let sent = |kind| rows.iter().find(|row| row.traffic == kind).map_or(0.0, |row| row.bytes_per_gpu.0);
    let kinds = [
        (Traffic::Dp, t!("gradients: reduce-scatter, all-gather")),
        (Traffic::Tp, t!("tensor parallel: all-gather, reduce-scatter")),
        (Traffic::Cp, t!("context parallel: send to the next")),
        (Traffic::Pp, t!("pipeline: send to the next stage")),
    ];
    let bars: Vec<Bar> = kinds.into_iter().map(|(kind, name)| Bar::new(name, [sent(kind)])).collect();
    let total: f64 = bars.iter().map(Bar::total).sum();
    let share = sent(Traffic::Tp) / total.max(1.0);
    Live::of([
        t!(
            "Every way to share a model has its collective. Data parallelism adds up gradients once per step; tensor \
                parallelism gathers and adds up tokens in every layer; pipelines and rings only send to the next rank."
        ),
        t!(
            "With {t} tensor-parallel ranks a GPU of the pictured run sends {tensor} for its layers and {gradients} \
                for gradients and weights.",
            t,
            tensor = show_bytes(Bytes(sent(Traffic::Tp))),
            gradients = show_bytes(Bytes(sent(Traffic::Dp)))
        ),
    ])
    .note(t!(
        "The pictured run: {model}, {gpus} GPUs, as the calculator counts.",
        model = verbatim(format!("Llama 3.1 8B, TP {t} · PP 2 · CP 2")),
        gpus = 64_u8
    ))
    .below("the share of tensor parallelism", share, 0.1, show_percent)
    .bars(&SENT, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(name: &str) -> Vec<Block> {
        let one = COLLECTIVES.iter().find(|one| one.name == name).unwrap();
        (0..RANKS * RANKS).map(|at| (one.after)(at / RANKS, at % RANKS)).collect()
    }

    /// An all-gather of what a reduce-scatter leaves is what an all-reduce leaves, and it sends both factors.
    #[test]
    fn a_reduce_scatter_and_an_all_gather_are_an_all_reduce() {
        let scattered = after("reduce-scatter");
        let kept: Vec<Block> = (0..RANKS).map(|rank| scattered[rank * RANKS + rank]).collect();
        assert!(kept.iter().all(|block| *block == Block::Sum));
        assert!(after("all-reduce").iter().all(|block| *block == Block::Sum));
        let sent = |name: &str| COLLECTIVES.iter().find(|one| one.name == name).unwrap().sent;
        let n = RANKS as f64;
        assert!((sent("reduce-scatter") - (n - 1.0) / n).abs() < 1e-12);
        assert!((sent("reduce-scatter") + sent("all-gather") - sent("all-reduce")).abs() < 1e-12);
        // An all-to-all is a transposition: done twice, nothing has changed.
        let transposed = after("all-to-all");
        for rank in 0..RANKS {
            for block in 0..RANKS {
                assert_eq!(transposed[rank * RANKS + block], Block::From(block));
            }
        }
    }
}
