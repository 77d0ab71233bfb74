//! Published methods, reproduced as printed, one file each, and what each leaves out.

pub mod fujii;
pub mod he;
pub mod playbook;
pub mod uneven;

use super::detailed;
use super::estimate::{Estimate, RankLoad};
use super::method::MemoryMethod;
use crate::explain::Term;
use crate::run::{Method, Scenario};
use crate::source::{FUJII_2024, HE_BLOG, MEGATRON, PLAYBOOK, Source, UNEVEN_PP};

/// Something that a source prints and its own formula does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// Place in the source.
    pub place: &'static str,
    /// The formula as printed.
    pub printed: &'static str,
    /// The value by the source's formula.
    pub corrected: &'static str,
}

const fn slip(place: &'static str, printed: &'static str, corrected: &'static str) -> Slip {
    Slip { place, printed, corrected }
}

/// A method of the table.
pub struct MethodInfo {
    /// Its id in a Run.
    pub method: Method,
    pub rule: &'static dyn MemoryMethod,
    /// Its publication.
    pub source: &'static Source,
    /// Items that it does not count.
    pub leaves_out: &'static [&'static str],
    /// Formulas that it prints and does not mean.
    pub slips: &'static [Slip],
}

/// The estimate of every rank by `method`.
pub fn estimate(method: Method, scenario: &Scenario, loads: &[RankLoad]) -> Estimate {
    info(method).rule.estimate(scenario, loads)
}

/// Derivation of the figure of `rank` by `method`.
pub fn explain(method: Method, scenario: &Scenario, loads: &[RankLoad], rank: usize) -> Option<Term> {
    let load = loads.get(rank)?;
    Some(info(method).rule.explain(scenario, rank, load))
}

/// All methods, ours first.
pub static METHODS: &[MethodInfo] = &[
    MethodInfo {
        method: Method::Detailed,
        rule: &detailed::Detailed,
        source: &MEGATRON,
        leaves_out: &[
            "CUDA graphs and user buffers of overlapped communication",
            "micro-batches of unequal length (all count as the longest)",
        ],
        slips: &[],
    },
    MethodInfo {
        method: Method::Fujii,
        rule: &fujii::Fujii,
        source: &FUJII_2024,
        leaves_out: &[
            "logits where there is more than one stage",
            "a fused SwiGLU, stages other than the first",
            "buffers, CUDA context, communicators, fragmentation",
        ],
        slips: &[
            slip("table 5, (8,1,16,1) at 128 GPUs", "34.48 GiB", "37.48 GiB"),
            slip("table 7, (1,2,1,1) at 16 GPUs", "70.32 GiB", "73.13 GiB"),
            slip("table 7, (1,2,1,1) at 32 GPUs", "68.92 GiB", "70.32 GiB"),
            slip("table 7, (1,2,1,1) at 64 GPUs", "68.22 GiB", "68.92 GiB"),
            slip("table 9, (2,1,1,4) at 8 GPUs", "396.97 GiB", "395.97 GiB"),
            slip(
                "equation 13, the embedding's int64 inputs",
                "8 s b h p bytes",
                "8 s b p bytes; reproduced as printed",
            ),
        ],
    },
    MethodInfo {
        method: Method::He,
        rule: &he::He,
        source: &HE_BLOG,
        leaves_out: &[
            "stages: every rank gets the mean",
            "micro-batches in flight: with a pipeline one is counted",
            "grouped-query attention, gated FFNs, logits",
            "buffers, CUDA context, communicators, fragmentation",
        ],
        slips: &[
            slip(
                "Llama 3 405B at 131072 tokens, activations",
                "147 366 233 505 792 B (s for s² in the score terms)",
                "22 313 351 535 132 672 B; 147 197 119 168 512 B with FlashAttention",
            ),
            slip(
                "activations with grouped-query attention",
                "a third term without the factor k",
                "k b s h kv/a each for keys and values",
            ),
        ],
    },
    MethodInfo {
        method: Method::Uneven,
        rule: &uneven::UnevenMethod,
        source: &UNEVEN_PP,
        leaves_out: &[
            "micro-batches in flight: one is counted",
            "grouped-query attention, gated FFNs, the input embedding",
            "sharding: every rank keeps 16 bytes per parameter",
            "buffers, CUDA context, communicators, fragmentation",
        ],
        slips: &[
            slip(
                "case 2, t = 1, first rank",
                "122.647 GB of 10⁹ bytes, without the projector",
                "122.884 GB with the projector of its own formula",
            ),
            slip(
                "case 2, t = 2, first rank",
                "61.350 GB of 10⁹ bytes, without the projector",
                "61.588 GB with the projector of its own formula",
            ),
        ],
    },
    MethodInfo {
        method: Method::Playbook,
        rule: &playbook::Playbook,
        source: &PLAYBOOK,
        leaves_out: &[
            "grouped-query attention and gated FFNs in the activations",
            "logits",
            "sharding over context-parallel ranks",
            "buffers, CUDA context, communicators, fragmentation",
        ],
        slips: &[],
    },
];

/// The row of `method`.
pub fn info(method: Method) -> &'static MethodInfo {
    METHODS.iter().find(|row| row.method == method).unwrap_or(&METHODS[0])
}

/// Every method's estimate of the same Run, in the order of the table.
pub fn compare(scenario: &Scenario, loads: &[RankLoad]) -> Vec<(&'static MethodInfo, Estimate)> {
    METHODS.iter().map(|row| (row, estimate(row.method, scenario, loads))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{OneOf, Run};

    #[test]
    fn every_method_of_a_run_has_a_row_and_an_answer() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let loads: Vec<_> = (0..4)
            .map(|rank| RankLoad { stages: vec![rank], in_flight: vec![(4 - rank) as f64], weight_versions: 1 })
            .collect();
        for (method, choice) in Method::ALL {
            let row = info(*method);
            assert!(row.method == *method && !row.leaves_out.is_empty());
            let estimated = estimate(*method, &scenario, &loads);
            for (rank, memory) in estimated.per_stage.iter().enumerate() {
                let term = explain(*method, &scenario, &loads, rank).unwrap();
                assert!(memory.total.0 > 0.0, "{}", choice.id);
                assert!((term.value / memory.total.0 - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(compare(&scenario, &loads).len(), METHODS.len());
    }

    /// A middle rank without layers has no bytes by the note on uneven pipelines: a total of 0 without parts.
    #[test]
    fn a_rank_that_holds_nothing_has_no_parts() {
        let run = Run { stage_layers: Some(vec![16, 0, 0, 16]), ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let load = RankLoad { stages: vec![1], in_flight: vec![3.0], weight_versions: 1 };
        let term = explain(Method::Uneven, &scenario, &[load.clone(), load], 1).unwrap();
        assert_eq!((term.value, term.parts.len()), (0.0, 0));
    }
}
