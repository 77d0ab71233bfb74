//! How each constant of the time and memory models was obtained.

use crate::memory::detailed::LOSS_KERNELS;
use crate::memory::verdict::{FRAGMENTATION, HALF_BAND, PROCESS};
use crate::source::{Cited, FUJII_2024, Source};
use crate::time::{
    ATTENTION_HALF, COUPLING, ELEMENTWISE, FAMILIES, GROUPED, HOST_PER_EXPERT_LAYER,
    HOST_PER_LAYER, HOST_PER_RING_STEP, IN_TRAINING, LAUNCH, OPERANDS, PERMUTE, RANGE,
    RANGE_EXPERTS,
};
use crate::traffic::{
    ALL_TO_ALL, CONTENTION, DISPATCH, DISPATCHERS, FP8_ELEMENT, INTER, INTRA, LATENCY,
};
use crate::units::{Seconds, show_seconds, significant};

/// A constant and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// What it says.
    pub name: String,
    /// Its value, as shown.
    pub value: String,
    /// The document.
    pub source: &'static Source,
    /// Place within it, or how it was fitted.
    pub how: String,
    /// Whether it was fitted to training runs rather than measured elsewhere.
    pub fitted: bool,
}

/// All of them, those fitted to training runs first.
#[must_use]
pub fn constants() -> Vec<Constant> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: String, source, how: &str| {
        all.push(Constant {
            name: name.to_owned(),
            value,
            source,
            how: how.to_owned(),
            fitted: how.starts_with("fitted"),
        });
    };
    let number = |cited: &Cited<f64>| significant(cited.value, 3);
    let time = |cited: &Cited<Seconds>| show_seconds(cited.value);
    for (name, cited) in [
        ("kernels in training over kernels alone", &IN_TRAINING),
        (
            "what hidden gradient traffic slows its compute by, share",
            &CONTENTION,
        ),
    ] {
        add(name, number(cited), cited.source, cited.place);
    }
    for (name, cited) in [
        ("host, a layer and micro-batch", &HOST_PER_LAYER),
        ("host, a step of ring attention", &HOST_PER_RING_STEP),
    ] {
        add(name, time(cited), cited.source, cited.place);
    }
    add(
        "loader and GPUs setting the pace, exponent",
        significant(COUPLING, 2),
        &FUJII_2024,
        "fitted to table 3",
    );
    for (name, cited) in [
        ("reserved over allocated memory", &FRAGMENTATION),
        ("half the width of the tight band", &HALF_BAND),
    ] {
        add(name, number(cited), cited.source, cited.place);
    }
    add(
        "a process and its libraries, GiB",
        significant(PROCESS.value.gib(), 2),
        PROCESS.source,
        PROCESS.place,
    );
    let (link, card) = DISPATCH.value;
    add(
        "once-a-node dispatch over the scale-up link; over the card",
        format!("{link}; {card}"),
        DISPATCH.source,
        DISPATCH.place,
    );
    for (name, cited) in [
        (
            "share of the multiprocessors that a once-a-node dispatch takes",
            &DISPATCHERS,
        ),
        ("bytes of an fp8 element with its scale", &FP8_ELEMENT),
        ("ring inside a node over the data sheet", &INTRA),
        ("ring between nodes over the card", &INTER),
        ("all-to-all inside a node over the data sheet", &ALL_TO_ALL),
        ("elementwise kernels over memory bandwidth", &ELEMENTWISE),
        ("GEMM operands over memory bandwidth", &OPERANDS),
        ("expert permutation over memory bandwidth", &PERMUTE),
        ("grouped GEMMs over one GEMM", &GROUPED),
        (
            "tokens at which attention runs at half its rate",
            &ATTENTION_HALF,
        ),
    ] {
        add(name, number(cited), cited.source, cited.place);
    }
    add(
        "gap of a launch",
        time(&LAUNCH),
        LAUNCH.source,
        LAUNCH.place,
    );
    add(
        "host, a routed layer",
        time(&HOST_PER_EXPERT_LAYER),
        HOST_PER_EXPERT_LAYER.source,
        HOST_PER_EXPERT_LAYER.place,
    );
    let [launch, near, far] = LATENCY.value.map(|seconds| show_seconds(Seconds(seconds)));
    add(
        "a message, a hop in the node, a hop between nodes",
        format!("{launch}, {near}, {far}"),
        LATENCY.source,
        LATENCY.place,
    );
    all.extend(tables());
    all
}

/// What is a table by itself: loss kernels, the ranges of a step, the kernels of each family of GPUs.
fn tables() -> Vec<Constant> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: String, source, how: &str| {
        all.push(Constant {
            name: name.to_owned(),
            value,
            source,
            how: how.to_owned(),
            fitted: false,
        });
    };
    for (name, cited) in &LOSS_KERNELS {
        let name = format!("bytes a logit, {name} cross-entropy");
        let value = format!("{} held, {} at peak", cited.value.held, cited.value.peak);
        add(&name, value, cited.source, cited.place);
    }
    for (name, (low, high)) in [
        ("range of a step, dense", RANGE),
        ("range of a step, routed experts", RANGE_EXPERTS),
    ] {
        let value = format!("{low} to {high} times");
        let how = "measured over predicted, four of five published runs (the accuracy panel)";
        add(name, value, &FUJII_2024, how);
    }
    for family in FAMILIES {
        let name = if family.presets.is_empty() {
            "any other GPU".to_owned()
        } else {
            family.presets.join(", ")
        };
        let value = format!(
            "GEMM {}, fp8 {}, attention {} and {}",
            family.gemm, family.gemm_fp8, family.attention.0, family.attention.1
        );
        add(&name, value, family.source, family.remark);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five constants of time and three of memory were fitted to training runs, no more; nothing is fitted to one row.
    #[test]
    fn eight_constants_are_fitted_and_every_gpu_family_is_listed() {
        let all = constants();
        assert_eq!(all.iter().filter(|constant| constant.fitted).count(), 8);
        assert!(all.iter().all(|constant| !constant.how.is_empty()));
        for family in FAMILIES {
            assert!(all.iter().any(|constant| constant.how == family.remark));
        }
    }
}
