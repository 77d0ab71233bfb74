//! Rates of the kernels of a scenario: those that its family of GPUs sustains ([`FAMILIES`](super::FAMILIES)), and a
//! few
//! constants for all of them.
//!
//! [`IN_TRAINING`] and the host constants are fitted to training runs, and are the same for every GPU, model and
//! layout.

use super::families::family;
use super::kernels::kernel_shares;
use crate::maths::ln;
use crate::run::presets::{FSDP, GpuFamily, MEGATRON_2024, MEGATRON_2025};
use crate::run::{AttentionKernel, Constant, Format, GraphPart, Multiplier, Precision, Scenario, recipe};
use crate::source::{Cited, FUJII_2024, LLM_FOUNDRY, NEMO, PRIMUS_TURBO, SIMUMAX, TRANSFORMER_ENGINE};
use crate::units::{BytesPerSecond, FlopsPerSecond, Seconds};
use serde::Serialize;

/// Rate of kernels inside a training step, over the one they sustain alone. Fitted to tables 3 and 4 of Fujii 2024 and
/// the published throughput rows together; fitted to table 3 alone it comes out 1.05, to table 4 alone 0.87, to the
/// throughput rows alone 0.82, and traded against the host's time.
pub const IN_TRAINING: Cited<f64> =
    Cited::fitted(MEGATRON_2024.gemm, &FUJII_2024, "fitted to tables 3 and 4, and to the throughput rows");
/// Rate of kernels inside a training step over the one they sustain alone, in NVIDIA's own runs since the end of 2024:
/// containers whose libraries are tuned to the shapes of their recipes. Fitted to these runs.
pub(crate) const TUNED: Cited<f64> =
    Cited::fitted(MEGATRON_2025.gemm, &NEMO, "fitted to the dgxc runs of Llama 3.1 on H100, in bf16");
/// Rate of kernels inside a training step over the one they sustain alone, under PyTorch's FSDP. Fitted to the runs of
/// llm-foundry.
pub(crate) const UNDER_FSDP: Cited<f64> = Cited::fitted(FSDP.gemm, &LLM_FOUNDRY, "fitted to its MPT runs");
/// Spread of GPUs of a kind, standard deviation over mean: a step waits for the slowest of N, which is about
/// `σ √(2 ln N)` slower than the mean. Fitted to how NVIDIA's runs slow down from 8 to 2304 GPUs with the same work
/// each.
pub(crate) const SPREAD: Cited<f64> =
    Cited::fitted(0.0125, &NEMO, "fitted to the dgxc runs on 8 to 2304 GPUs; products of 128 GPUs are the reference");
/// Host time a layer and micro-batch, forward and backward, that no kernel hides, with eager launches of Megatron-LM of
/// 2024. Fitted as [`IN_TRAINING`] is.
pub(crate) const HOST_PER_LAYER: Cited<Seconds> =
    Cited::fitted(MEGATRON_2024.host, IN_TRAINING.source, IN_TRAINING.place);
/// Host time of each further step of ring attention that no kernel hides. Fitted as [`IN_TRAINING`] is.
pub(crate) const HOST_PER_RING_STEP: Cited<Seconds> =
    Cited::fitted(Seconds(30e-6), IN_TRAINING.source, IN_TRAINING.place);
/// The gap that a GEMM costs besides its FLOPs and bytes.
pub(crate) const LAUNCH: Cited<Seconds> = Cited::new(Seconds(11e-6), &SIMUMAX, "fit to 183 GEMM shapes on A100");
/// Share of host overhead and gaps that remains with CUDA graphs.
pub(crate) const GRAPH_SHARE: f64 = 0.1;
/// Rate at which kernels that quantise read and write, at most. The sets of GEMMs of a layer of hidden size 4096 take
/// 1.08 to 2.3 ms longer on B300, 1.7 and 2.8 ms on H200, when they quantise 1.24 G elements of 3 to 6 bytes each.
pub(crate) const QUANTISE: Cited<BytesPerSecond> = Cited::new(
    BytesPerSecond(2.9e12),
    &TRANSFORMER_ENGINE,
    "GEMM speedups, with quantisation against without: 2.7 to 3.4 TB/s on B300, 2.7 and 2.9 on H200",
);
/// Products in MXFP8 on MI355X, as shares of its fp8 peak: by Primus-Turbo, and by hipBLASLt.
pub(crate) const MXFP8_OF_AMD: Cited<(f64, f64)> =
    Cited::new((0.36, 0.226), &PRIMUS_TURBO, "means of model shapes, forward: 1795 and 1132 TFLOP/s of 5000");
/// Elementwise kernels reach this share of the memory bandwidth.
pub(crate) const ELEMENTWISE: Cited<f64> = Cited::new(0.85, &SIMUMAX, "0.8 to 0.91 by kernel");
/// Operands of a GEMM arrive at this multiple of the memory bandwidth: most of the loads hide behind tiles.
pub(crate) const OPERANDS: Cited<f64> = Cited::new(1.4, &SIMUMAX, "fit to 183 GEMM shapes on A100, 2.83 TB/s");
/// Scattered reads and writes of the expert permutation, as a share of the memory bandwidth: by PyTorch's operators,
/// and by fused kernels (Transformer Engine pull requests 1373 and 1927). The fused kernel of experts has no
/// permutation (Megatron-Bridge issue 2885: products, SwiGLU, quantisation and the order of scales).
pub(crate) const PERMUTE: Cited<(f64, f64)> = Cited::new(
    (0.25, 0.5),
    &SIMUMAX,
    "permute_fwd, permute_bwd: 0.25 on A100, 0.501 and 0.511 on B200 with fused kernels",
);
/// Grouped GEMMs over one GEMM of the same rows.
pub(crate) const GROUPED: Cited<f64> = Cited::new(0.8, &SIMUMAX, "grouped 0.52 to 0.71 on A100, dense 0.72");
/// Time of the grouped products of MI350X and MI355X over that of one product at the grouped rate: in 16 bits three
/// backends reach 1,189 to 1,280 TFLOP/s, as fast as one product but for the ends of its tiles and its operands. 0.8
/// is the mean of eleven products of four shapes, by three backends each; with 1 the mean would be 19 % less. Measured
/// in bf16 on MI355X, taken for the other formats and for MI350X.
pub(crate) const GROUPED_ON_MI350: Cited<f64> =
    Cited::new(0.8, &PRIMUS_TURBO, "pull request 284: DeepSeek-V3's experts on MI355X, 16 of 2,048 and 4,096 rows");
/// Sequence length at which causal attention runs at half its asymptotic rate.
pub(crate) const ATTENTION_HALF: Cited<f64> =
    Cited::new(400.0, &crate::source::FLASH_3, "FA2 forward, d 128, causal, 512 to 16k");

/// Time of products on the slowest of `gpus` GPUs over the slowest of 128, where the other figures were fitted.
pub fn slowest(gpus: u64) -> f64 {
    let longest = |n: f64| 1.0 + SPREAD.value * (2.0 * ln(n)).sqrt();
    longest(gpus.max(1) as f64) / longest(128.0)
}

/// The rates at which the scenario's kernels run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Rate of large products in training over the one they reach alone, on the slowest GPU.
    pub in_training: f64,
    /// GEMMs of the layers.
    pub gemm: FlopsPerSecond,
    /// GEMMs that do not run in fp8: head, router, attention without `FlashAttention`.
    pub gemm_plain: FlopsPerSecond,
    /// Query rows of a tile of attention.
    pub attention_tile: f64,
    /// True if the kernels between products are fused.
    pub fused: bool,
    /// True if experts are one kernel with their activation function and quantisation.
    pub fused_experts: bool,
    /// True if narrow heads run as fast as wide ones, as FlashAttention-1's did.
    pub any_head: bool,
    /// Attention forward, long sequences.
    pub attention_forward: FlopsPerSecond,
    /// Attention backward, long sequences.
    pub attention_backward: FlopsPerSecond,
    /// Elementwise kernels.
    pub elementwise: BytesPerSecond,
    /// Operands of GEMMs.
    pub operands: BytesPerSecond,
    /// Expert permutation.
    pub permute: BytesPerSecond,
    /// Bytes of an activation that kernels read and write.
    pub element: f64,
    /// Seconds an element that is quantised; 0 where nothing is.
    pub quantise: f64,
    /// Seconds an element that is quantised behind a norm, whose kernel quantises what it writes.
    pub quantise_normed: f64,
    /// Seconds an element of a weight and micro-batch: those of one quantisation a step over its micro-batches; 0 for a
    /// frozen base that is stored quantised.
    pub quantise_weight: f64,
    pub multiprocessors: f64,
    /// Gap of a GEMM.
    pub launch: Seconds,
    /// Kernels that quantise an expert's operand: one, and one before where the largest value is looked for.
    pub casts: f64,
    /// Gap of an expert's GEMM, which no partial graph holds.
    pub launch_expert: Seconds,
    /// Host overhead of a layer and micro-batch, launched kernel by kernel.
    pub host: Seconds,
    /// Host overhead of a ring-attention step.
    pub host_ring: Seconds,
    /// Time of grouped products over that at the grouped rate.
    pub grouped: f64,
    /// Steps of K that the beginning and the end of a tile of a grouped product take.
    pub tile_end: f64,
    /// Time at the end of a step besides the optimizer's kernels.
    pub end: Seconds,
}

/// The data-sheet peak of the precision that the layers' linears compute in: what utilisation is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComputePeak {
    /// "bf16", "fp16", "fp8", "fp4" or "tf32".
    pub precision: &'static str,
    /// TFLOP/s of a GPU, dense.
    pub tflops: f64,
}

impl ComputePeak {
    /// The rate of `scenario`: TF32 for fp32, half the bf16 peak.
    pub fn of(scenario: &Scenario) -> Self {
        let gpu = &scenario.gpu;
        let (precision, peak) = match scenario.precision.computes {
            Format::Fp8 => ("fp8", gpu.fp8),
            Format::Fp4 => ("fp4", gpu.fp4),
            Format::Fp32 => ("tf32", gpu.bf16 * 0.5),
            Format::Fp16 => ("fp16", gpu.bf16),
            Format::Bf16 => ("bf16", gpu.bf16),
        };
        Self { precision, tflops: peak.0 / 1e12 }
    }
    /// In FLOP/s.
    pub fn rate(self) -> FlopsPerSecond {
        FlopsPerSecond(self.tflops * 1e12)
    }
}

impl Rates {
    /// The rates of `scenario`: family shares of its own peaks, that of the linears by precision ([`ComputePeak`]).
    pub fn of(scenario: &Scenario) -> Self {
        Self::with(scenario, scenario.precision)
    }

    /// The rates of layers that stay in bf16 whatever the others compute in.
    pub(crate) fn unquantised(scenario: &Scenario) -> Self {
        let bf16 = Precision { computes: Format::Bf16, recipe: None, ..scenario.precision };
        Self::with(scenario, bf16)
    }

    fn with(scenario: &Scenario, precision: Precision) -> Self {
        let family = family(scenario);
        let (gpu, software) = (&scenario.gpu, &scenario.software);
        let shares = kernel_shares(software.attention, scenario.run.gpu.family(), family);
        let computes = precision.computes;
        let half = if computes == Format::Fp32 { 0.5 } else { 1.0 };
        let compute = 1.0 / scenario.factors.of(Multiplier::Gemm) / slowest(scenario.layout.gpus);
        let reached = software.gemm * compute;
        let plain = gpu.bf16 * (half * family.gemm * reached);
        let gemm = match computes {
            Format::Fp8 => (gpu.fp8 * (fp8_share(scenario, precision) * reached)).max(plain),
            Format::Fp4 => (gpu.fp4 * (family.gemm_fp4 * reached)).max(plain),
            _ => plain,
        };
        let quantising =
            (QUANTISE.value.0 / scenario.factors.of(Multiplier::Elementwise)).min(gpu.hbm.0 * ELEMENTWISE.value);
        // fp8 without a recipe of Transformer Engine casts no less.
        let cast = (computes == Format::Fp8).then_some(&recipe::DELAYED);
        let recipe = precision.recipe.or(cast);
        let moved = recipe.map_or(0.0, |recipe| recipe.moved(gpu));
        let written = recipe.map_or(0.0, |recipe| recipe.written(gpu));
        let blackwell = gpu.computes_in_fp4();
        // The fused kernel is one of a SwiGLU between quantised products.
        let fused_experts = software.moe_fused && blackwell && precision.is_low() && scenario.model.gated_ffn;
        let graphs = software.graphs;
        let share = |captured: bool| if captured { GRAPH_SHARE } else { 1.0 };
        let gap = |captured: bool| LAUNCH.value * if captured { 0.3 } else { 1.0 };
        let fitted = scenario.factors.of(Multiplier::Host);
        Self {
            in_training: software.gemm / slowest(scenario.layout.gpus),
            gemm,
            gemm_plain: plain,
            attention_tile: family.attention_tile as f64,
            fused: software.compile || software.fused_kernels,
            fused_experts,
            any_head: software.attention == AttentionKernel::Flash1,
            attention_forward: gpu.bf16 * (shares.0 * compute),
            attention_backward: gpu.bf16 * (shares.1 * compute),
            elementwise: gpu.hbm * ELEMENTWISE.value,
            operands: gpu.hbm * OPERANDS.value,
            permute: gpu.hbm * if software.fused_permutation || blackwell { PERMUTE.value.1 } else { PERMUTE.value.0 },
            element: computes.activation(),
            quantise: moved / quantising,
            quantise_normed: written / quantising,
            quantise_weight: if scenario.adapter.as_ref().is_some_and(|adapter| adapter.is_read_by(precision)) {
                0.0
            } else {
                moved / quantising / scenario.layout.microbatches.max(1) as f64
            },
            multiprocessors: family.multiprocessors as f64,
            launch: gap(graphs.any()) * fitted,
            casts: recipe.map_or(0.0, |recipe| recipe.read / 2.0),
            launch_expert: gap(graphs.hold(GraphPart::Moe)) * fitted,
            grouped: grouped_time(scenario),
            tile_end: tile_end(scenario, computes),
            host: software.host,
            host_ring: HOST_PER_RING_STEP.value * (share(graphs.hold(GraphPart::Attention)) * fitted),
            end: STEP_END * scenario.factors.of(Multiplier::All),
        }
    }
}

/// Time of grouped products over that at the grouped rate, by the generation of the GPU.
fn grouped_time(scenario: &Scenario) -> f64 {
    // The fits are to runs of NVIDIA's GPUs and libraries. MI300X and MI325X take Hopper's: no benchmark was found.
    if scenario.run.gpu.family() == Some(GpuFamily::Mi350) {
        return GROUPED_ON_MI350.value;
    }
    let fitted = |constant| scenario.fitted.of(constant);
    match (scenario.gpu.computes_in_fp4(), scenario.gpu.computes_in_fp8()) {
        (true, _) => fitted(Constant::ProductsBlackwell),
        (false, true) => fitted(Constant::ProductsHopper),
        // The grouped rate was measured on such a GPU, A100.
        (false, false) => 1.0,
    }
}

/// Steps of K that the end of a tile takes: the same time is more of them where a step is shorter, half as many in 16
/// bits as in fp8.
fn tile_end(scenario: &Scenario, computes: Format) -> f64 {
    let gpu = &scenario.gpu;
    let of_fp8 = match computes {
        Format::Fp4 => gpu.fp4.0 / gpu.fp8.0,
        Format::Fp8 => 1.0,
        _ => 0.5,
    };
    scenario.fitted.of(Constant::TileEnd) * of_fp8
}

/// Share of the fp8 peak that large products sustain: on MI350 with scales by block it is that of AMD's own kernels.
fn fp8_share(scenario: &Scenario, precision: Precision) -> f64 {
    let by_blocks = precision.recipe.is_some_and(|recipe| recipe.microscaled);
    match scenario.run.gpu.family() {
        Some(GpuFamily::Mi350) if by_blocks && scenario.software.turbo => MXFP8_OF_AMD.value.0,
        Some(GpuFamily::Mi350) if by_blocks => MXFP8_OF_AMD.value.1,
        _ => family(scenario).gemm_fp8,
    }
}

/// Time at the end of a step besides the optimizer's kernels: the gradient norm's round trip, the learning rate, the
/// log.
pub const STEP_END: Seconds = Seconds(0.02);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    /// ML Engineering, MAMF finder: 271 TFLOP/s on A100 SXM, 794.5 on H100 SXM, 1745 on B200.
    #[test]
    fn nothing_sustains_more_than_the_best_shape_ever_measured() {
        for (id, mamf) in [
            ("a100-sxm-80gb", 271.0),
            ("h100-sxm-80gb", 794.5),
            ("b200-sxm", 1745.0),
            ("gb200", 1822.0),
            ("mi300x", 668.4),
            ("b300-sxm", 1769.0),
            ("mi325x", 784.9),
            ("mi355x", 1565.0),
            ("a100-pcie-80gb", 252.9),
        ] {
            let run = Run { gpu: Based::preset(id), ..Run::default() };
            let rates = Rates::of(&Scenario::new(&run).unwrap());
            assert!(rates.gemm.0 < mamf * 1e12, "{id}");
        }
    }
}
