//! Origin of each constant of the time and memory models.

use crate::memory::detailed::LOSS_KERNELS;
use crate::memory::verdict::{FRAGMENTATION, HALF_BAND, PROCESS};
use crate::message::{Message, verbatim};
use crate::run::presets::ids_of;
use crate::run::{OneOf, PRIORS};
use crate::source::{Cited, PUBLISHED_RUNS, Source};
use crate::t;
use crate::time::{
    ATTENTION_HALF, BETWEEN, BETWEEN_LAYOUTS, COUPLING, ELEMENTWISE, FAMILIES, FLASH_1, GROUPED, GROUPED_ON_MI350,
    HOST_PER_LAYER, HOST_PER_RING_STEP, IN_TRAINING, KERNELS, LAST_WAVE, LAUNCH, MOVED_BY_RUNS, MXFP8_OF_AMD, OPERANDS,
    OTHER_HOST, PERMUTE, QUANTISE, RANGES, SPREAD, TUNED, UNDER_FSDP, UNSEEN,
};
use crate::traffic::{
    ALL_TO_ALL, CONTENTION, DISPATCH, DISPATCHERS, FP8_ELEMENT, FUSED_DISPATCH, INTER, INTRA, LATENCY,
};
use crate::units::{Seconds, show_bandwidth, show_seconds, significant};

/// A constant and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedConstant {
    /// Its value in words.
    pub name: Message,
    /// Its value, as shown.
    pub value: Message,
    pub source: &'static Source,
    /// Place within it, or how it was fitted.
    pub how: Message,
    /// True if it was fitted to training runs rather than measured elsewhere.
    pub fitted: bool,
}

impl SourcedConstant {
    fn new<T>(name: impl Into<Message>, value: Message, cited: &Cited<T>) -> Self {
        Self { name: name.into(), value, source: cited.source, how: cited.place.into(), fitted: cited.fitted }
    }
    fn number(name: &'static str, cited: &Cited<f64>) -> Self {
        Self::new(name, verbatim(significant(cited.value, 3)), cited)
    }
    fn time(name: &'static str, cited: &Cited<Seconds>) -> Self {
        Self::new(name, verbatim(show_seconds(cited.value)), cited)
    }
}

/// All of them, those fitted to training runs first.
pub fn constants() -> Vec<SourcedConstant> {
    let (number, time) = (SourcedConstant::number, SourcedConstant::time);
    let (link, card) = DISPATCH.value;
    let process = significant(PROCESS.value.gib(), 2);
    let mut constants = vec![
        number("kernels in training over kernels alone", &IN_TRAINING),
        number("the same of NVIDIA's stacks since 2025", &TUNED),
        number("the same under PyTorch's FSDP", &UNDER_FSDP),
        number("spread of GPUs of a kind, deviation over mean", &SPREAD),
        number("share by which hidden gradient traffic slows the compute beside it", &CONTENTION),
        time("host, a layer and micro-batch", &HOST_PER_LAYER),
        time("host, a step of ring attention", &HOST_PER_RING_STEP),
        number("exponent that combines the data loader's time and the GPUs' into the step", &COUPLING),
        number("reserved over allocated memory", &FRAGMENTATION),
        number("half the width of the tight band", &HALF_BAND),
        SourcedConstant::new("a process and its libraries, GiB", verbatim(process), &PROCESS),
        SourcedConstant::new(
            "once-a-node dispatch over the scale-up link; over the card",
            verbatim(format!("{link}; {card}")),
            &DISPATCH,
        ),
        number("fused dispatch over the scale-up link", &FUSED_DISPATCH),
        number("share of the multiprocessors that hidden messages of experts take", &DISPATCHERS),
        number("bytes of an fp8 element with its scale", &FP8_ELEMENT),
        number("ring inside a node over the data sheet", &INTRA),
        number("ring between nodes over the card", &INTER),
        number("all-to-all inside a node over the data sheet", &ALL_TO_ALL),
        number("elementwise kernels over memory bandwidth", &ELEMENTWISE),
        number("GEMM operands over memory bandwidth", &OPERANDS),
        SourcedConstant::new("kernels that quantise, at most", verbatim(show_bandwidth(QUANTISE.value.0)), &QUANTISE),
        SourcedConstant::new(
            "expert permutation over memory bandwidth, by PyTorch; by fused kernels",
            verbatim(format!("{}; {}", PERMUTE.value.0, PERMUTE.value.1)),
            &PERMUTE,
        ),
        SourcedConstant::new(
            "MXFP8 on MI355X over its fp8 peak, by Primus-Turbo; by hipBLASLt",
            verbatim(format!("{}; {}", MXFP8_OF_AMD.value.0, MXFP8_OF_AMD.value.1)),
            &MXFP8_OF_AMD,
        ),
        number("grouped GEMMs over one GEMM", &GROUPED),
        number("grouped GEMMs of MI350X and MI355X, time over the grouped rate's", &GROUPED_ON_MI350),
        number("tokens at which attention runs at half its rate", &ATTENTION_HALF),
        number("FlashAttention-2 over FlashAttention-1", &FLASH_1),
        SourcedConstant::new(
            "time that attention waits for its last wave, in average tiles, forward and backward",
            t!("{forward} and {backward}", forward = LAST_WAVE.value.0, backward = LAST_WAVE.value.1),
            &LAST_WAVE,
        ),
        time("gap of a launch", &LAUNCH),
    ];
    constants.extend(PRIORS.iter().map(|row| SourcedConstant::number(row.name, &row.fitted)));
    let [launch, near, far] = LATENCY.value.map(|seconds| show_seconds(Seconds(seconds)));
    constants.push(SourcedConstant::new(
        "a message, a hop in the node, a hop between nodes",
        verbatim(format!("{launch}, {near}, {far}")),
        &LATENCY,
    ));
    for (name, cited) in &LOSS_KERNELS {
        let name = t!("bytes per logit, {name} cross-entropy", name = *name);
        let value = t!("{held} held, {peak} at peak", held = cited.value.held, peak = cited.value.peak);
        constants.push(SourcedConstant::new(name, value, cited));
    }
    constants.extend([
        number("deviation of a step between publishers, of its logarithm", &BETWEEN),
        number("error of the difference between two layouts of a dense model, of its logarithm", &BETWEEN_LAYOUTS[0]),
        number("the same of a model with experts", &BETWEEN_LAYOUTS[1]),
        number("deviation of products on a GPU and in a format of which no run is known", &UNSEEN),
        number("deviation of launches on another host, of their logarithm", &OTHER_HOST),
    ]);
    constants.extend(RANGES.iter().map(|row| SourcedConstant {
        name: t!("deviations of a step, {of}", of = row.of),
        value: t!(
            "{within} for a publisher left out of the fit, {release} from one software release to the next",
            within = row.within,
            release = row.release
        ),
        source: &PUBLISHED_RUNS,
        how: t!("{runs} runs, each predicted by constants fitted without its publisher", runs = row.runs),
        fitted: false,
    }));
    constants.extend(families());
    constants.extend(kernels());
    constants
}

/// The kernels of each family of GPUs.
fn families() -> impl Iterator<Item = SourcedConstant> {
    FAMILIES.iter().map(|family| SourcedConstant {
        name: if family.gpus.is_empty() { t!("any other GPU") } else { verbatim(ids_of(family.gpus)) },
        value: t!(
            "GEMM {gemm}, fp8 {gemm_fp8}, fp4 {gemm_fp4}, attention {attention} and {backward}",
            gemm = family.gemm,
            gemm_fp8 = family.gemm_fp8,
            gemm_fp4 = family.gemm_fp4,
            attention = family.attention.0,
            backward = family.attention.1
        ),
        source: family.source,
        how: family.remark.into(),
        fitted: family.gpus.iter().any(|gpu| MOVED_BY_RUNS.contains(gpu)),
    })
}

/// The attention kernels that a family's own figures do not stand for.
fn kernels() -> impl Iterator<Item = SourcedConstant> {
    KERNELS.iter().map(|row| SourcedConstant {
        name: t!(
            "attention by {kernel}, {gpus}",
            kernel = row.kernel.choice().label,
            gpus = verbatim(ids_of(row.gpus))
        ),
        value: t!("{forward} and {backward} of the bf16 peak", forward = row.shares.0, backward = row.shares.1),
        source: row.source,
        how: row.remark.into(),
        fitted: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine constants of time, three of memory, those of routed layers and four families of GPUs were fitted to
    /// training runs; nothing is fitted to one row.
    #[test]
    fn few_constants_are_fitted_and_every_gpu_family_is_listed() {
        let list = constants();
        assert_eq!(list.iter().filter(|constant| constant.fitted).count(), 11 + PRIORS.len() + MOVED_BY_RUNS.len());
        assert!(list.iter().all(|constant| !constant.how.is_empty()));
        for family in FAMILIES {
            assert!(list.iter().any(|constant| constant.how == family.remark.into()));
        }
    }
}
