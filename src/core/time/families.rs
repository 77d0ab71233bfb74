//! Sustained rates of each family of GPUs: one sourced table. Kernel benchmarks give the share of the data-sheet peak
//! that power, clocks and tiles leave.

use crate::run::Scenario;
use crate::run::presets::GpuFamily;
use crate::source::{
    CUDA_NOTES, GPU_FLOPS_BENCH, MARKIDIS_2018, MEGATRON_BRIDGE, MI455X_ANNOUNCED, RTX_6000_ADA, RUBIN_ANNOUNCED,
    SIMUMAX, STAS, Source, T4_SHEET, TORCHTITAN,
};

/// Sustained rates of one family of GPUs, as shares of its data-sheet bf16 (or fp8) peak.
#[derive(Clone, Copy, Debug)]
pub struct FamilyRates {
    /// The GPUs; none: all that are in no other row.
    pub gpus: &'static [GpuFamily],
    /// Large bf16 GEMMs.
    pub gemm: f64,
    /// Large fp8 GEMMs.
    pub gemm_fp8: f64,
    /// Large fp4 GEMMs, of the fp4 peak.
    pub gemm_fp4: f64,
    /// The attention kernel of Megatron-LM of 2024, forward and backward, causal count, long sequences, head width 128,
    /// all multiprocessors busy. Others are in `KERNELS`.
    pub attention: (f64, f64),
    /// Number of multiprocessors: a wave is as many tiles.
    pub multiprocessors: u64,
    /// Query rows of a tile of the attention kernel.
    pub attention_tile: u64,
    /// Place of the figures.
    pub source: &'static Source,
    /// A note on them.
    pub remark: &'static str,
}

/// All families; the last one stands for GPUs that are in none.
pub static FAMILIES: &[FamilyRates] = &[
    FamilyRates {
        gpus: &[GpuFamily::A100],
        gemm: 0.835,
        gemm_fp8: 0.835,
        gemm_fp4: 0.835,
        attention: (0.72, 0.57),
        multiprocessors: 108,
        attention_tile: 128,
        source: &SIMUMAX,
        remark: "0.779 of peak asymptotically on the PCIe card, times MAMF 271.2/252.9 for SXM; FlashAttention-2 185 \
            forward and 157 backward on the PCIe card at 4096 with 64 heads; PCIe cards are taken for SXM ones of \
            their own peak",
    },
    FamilyRates {
        gpus: &[GpuFamily::H100, GpuFamily::H200],
        gemm: 0.74,
        gemm_fp8: 0.69,
        gemm_fp4: 0.69,
        attention: (0.394, 0.306),
        multiprocessors: 132,
        attention_tile: 128,
        source: &STAS,
        remark: "bf16: 0.92 of MAMF (794.5), between what table 4 and NVIDIA's own runs need; fp8: near 1.92 times \
            bf16 before quantisation (Transformer Engine, GEMM speedups); FlashAttention-2 335 forward with 16k \
            tokens of 16 heads; PCIe cards are taken for SXM ones of their own peak",
    },
    FamilyRates {
        gpus: &[GpuFamily::H100At500W],
        gemm: 0.57,
        gemm_fp8: 0.49,
        gemm_fp4: 0.49,
        attention: (0.394, 0.306),
        multiprocessors: 132,
        attention_tile: 128,
        source: &TORCHTITAN,
        remark: "500 W instead of 700: H100 times the root of 5/7 is 0.625 and 0.56 ± 12 %, which 14 runs of \
            torchtitan move to these; attention leaves power to spare",
    },
    FamilyRates {
        gpus: &[GpuFamily::Ada],
        gemm: 0.96,
        gemm_fp8: 0.83,
        gemm_fp4: 0.83,
        attention: (0.72, 0.57),
        multiprocessors: 128,
        attention_tile: 128,
        source: &CUDA_NOTES,
        remark: "cuBLAS reaches 158 to 165 of 165.2 on an RTX 4090 (zzc0721/torch-performance-test-data issue 78), \
            105 to 115 of 119.5 on the L20, which is Ada too: the peak with accumulation in fp32 is half of what the \
            tensor cores could feed; FlashAttention-2 as on the A100 that it was written for",
    },
    FamilyRates {
        gpus: &[GpuFamily::H20],
        gemm: 0.9,
        gemm_fp8: 0.9,
        gemm_fp4: 0.9,
        attention: (0.8, 0.7),
        multiprocessors: 78,
        attention_tile: 128,
        source: &crate::source::H20_SHEET,
        remark: "no benchmark seen: power does not limit a part this slow",
    },
    FamilyRates {
        gpus: &[GpuFamily::B200],
        gemm: 0.515,
        gemm_fp8: 0.61,
        gemm_fp4: 0.58,
        attention: (0.515, 0.44),
        multiprocessors: 148,
        attention_tile: 256,
        source: &SIMUMAX,
        remark: "bf16: 514 shapes, 0.45 to 0.51 when large, power-limited; attention 0.365 at 4096 with 64 heads; \
            fp8: 0.8 of MAMF (3432), in view of Megatron-Bridge's Llama runs; NVFP4: 0.77 of 6745, which operands as \
            here leave of cuBLAS 13.3's 5239 at 8192³ (DeepGEMM pull request 348)",
    },
    FamilyRates {
        gpus: &[GpuFamily::B300],
        gemm: 0.54,
        gemm_fp8: 0.64,
        gemm_fp4: 0.5,
        attention: (0.515, 0.44),
        multiprocessors: 148,
        attention_tile: 256,
        source: &STAS,
        remark: "bf16: benchmarks 0.60 ± 12 % (MAMF 1769), fp8 0.58 ± 10 % (MAMF 3353), NVFP4 0.49 ± 20 % (no \
            benchmark), which 4, 24 and 3 runs of Megatron-Bridge move to these; attention as B200",
    },
    FamilyRates {
        gpus: &[GpuFamily::Gb200],
        gemm: 0.57,
        gemm_fp8: 0.57,
        gemm_fp4: 0.6,
        attention: (0.515, 0.44),
        multiprocessors: 148,
        attention_tile: 256,
        source: &STAS,
        remark: "bf16: benchmarks 0.60 ± 10 % (MAMF 1822), fp8 0.57 ± 4 % (Azure, 2835 to 2907), NVFP4 0.70 ± 10 % \
            (Azure, 7488 to 7628), which 7, 81 and 16 runs of Megatron-Bridge and MLPerf move to these; attention as \
            B200",
    },
    FamilyRates {
        gpus: &[GpuFamily::Gb300],
        gemm: 0.71,
        gemm_fp8: 0.77,
        gemm_fp4: 0.61,
        attention: (0.515, 0.44),
        multiprocessors: 148,
        attention_tile: 256,
        source: &MEGATRON_BRIDGE,
        remark: "no benchmark: GB200 by its power 0.65 ± 12 %, 0.62 ± 12 % in fp8, 0.60 ± 20 % in NVFP4, which 7, \
            70 and 16 runs of Megatron-Bridge and MLPerf move to these; attention as B200",
    },
    FamilyRates {
        gpus: &[GpuFamily::Mi300],
        gemm: 0.47,
        gemm_fp8: 0.47,
        gemm_fp4: 0.47,
        attention: (0.3, 0.22),
        multiprocessors: 304,
        attention_tile: 128,
        source: &STAS,
        remark: "0.92 of MAMF (668.4), fp8 at the same share; attention by CK, of no table",
    },
    FamilyRates {
        gpus: &[GpuFamily::Mi325],
        gemm: 0.55,
        gemm_fp8: 0.55,
        gemm_fp4: 0.55,
        attention: (0.3, 0.22),
        multiprocessors: 304,
        attention_tile: 128,
        source: &STAS,
        remark: "0.92 of MAMF (784.9, 1000 W), fp8 at the same share; attention by CK as on MI300X",
    },
    FamilyRates {
        gpus: &[GpuFamily::Mi350],
        gemm: 0.57,
        gemm_fp8: 0.57,
        gemm_fp4: 0.57,
        attention: (0.3, 0.22),
        multiprocessors: 256,
        attention_tile: 128,
        source: &STAS,
        remark: "0.92 of MAMF (1565 on MI355X), fp8 and fp4 at the same share; MXFP8 by its kernels; attention by CK \
            as on MI300X; MI350X as MI355X, of its own peak",
    },
    FamilyRates {
        gpus: &[GpuFamily::Volta],
        gemm: 0.66,
        gemm_fp8: 0.66,
        gemm_fp4: 0.66,
        attention: (0.5, 0.4),
        multiprocessors: 80,
        attention_tile: 128,
        source: &MARKIDIS_2018,
        remark: "cuBLAS reaches 83 of 125 TFLOP/s in mixed precision; a fused attention kernel is taken for one of the \
            A100's count at a lower share: FlashAttention-2 does not run before Ampere",
    },
    FamilyRates {
        gpus: &[GpuFamily::Turing],
        gemm: 0.4,
        gemm_fp8: 0.4,
        gemm_fp4: 0.4,
        attention: (0.3, 0.24),
        multiprocessors: 40,
        attention_tile: 128,
        source: &T4_SHEET,
        remark: "assumed: 70 W hold its clock far below the one of the peak; no benchmark seen",
    },
    FamilyRates {
        gpus: &[GpuFamily::GeForceAmpere],
        gemm: 0.96,
        gemm_fp8: 0.96,
        gemm_fp4: 0.96,
        attention: (0.72, 0.57),
        multiprocessors: 82,
        attention_tile: 128,
        source: &CUDA_NOTES,
        remark: "as an RTX 4090, whose peak with accumulation in fp32 is half of what its tensor cores could feed too; \
            no benchmark of its own seen",
    },
    FamilyRates {
        gpus: &[GpuFamily::AmpereCard],
        gemm: 0.78,
        gemm_fp8: 0.78,
        gemm_fp4: 0.78,
        attention: (0.72, 0.57),
        multiprocessors: 84,
        attention_tile: 128,
        source: &SIMUMAX,
        remark: "as the A100 PCIe, whose 300 W they share or undercut; the A10 has 72 multiprocessors at 150 W: less \
            than this is likely; no benchmark of their own seen",
    },
    FamilyRates {
        gpus: &[GpuFamily::AdaAt300W],
        gemm: 0.6,
        gemm_fp8: 0.55,
        gemm_fp4: 0.55,
        attention: (0.4, 0.32),
        multiprocessors: 142,
        attention_tile: 128,
        source: &RTX_6000_ADA,
        remark: "assumed: 300 W for twice the rate of an L40; no benchmark seen",
    },
    FamilyRates {
        gpus: &[GpuFamily::RtxBlackwell],
        gemm: 0.86,
        gemm_fp8: 0.83,
        gemm_fp4: 0.83,
        attention: (0.6, 0.48),
        multiprocessors: 188,
        attention_tile: 128,
        source: &GPU_FLOPS_BENCH,
        remark: "cuBLASLt reaches 457.6 of 503.8 TFLOP/s in bf16 at its best shape, of which 0.95; attention by \
            analogy with Ada",
    },
    FamilyRates {
        gpus: &[GpuFamily::Rubin],
        gemm: 0.68,
        gemm_fp8: 0.6,
        gemm_fp4: 0.55,
        attention: (0.515, 0.44),
        multiprocessors: 224,
        attention_tile: 256,
        source: &RUBIN_ANNOUNCED,
        remark: "announced: shares of GB200 and GB300, nothing is measured; the range of a step is wider",
    },
    FamilyRates {
        gpus: &[GpuFamily::Mi400],
        gemm: 0.47,
        gemm_fp8: 0.47,
        gemm_fp4: 0.47,
        attention: (0.3, 0.22),
        multiprocessors: 304,
        attention_tile: 128,
        source: &MI455X_ANNOUNCED,
        remark: "announced: shares and multiprocessors of the MI300X, nothing is measured; the range of a step is \
            wider",
    },
    FamilyRates {
        gpus: &[],
        gemm: 0.74,
        gemm_fp8: 0.65,
        gemm_fp4: 0.65,
        attention: (0.394, 0.306),
        multiprocessors: 132,
        attention_tile: 128,
        source: &STAS,
        remark: "a GPU outside the table is taken for a Hopper of its own peak",
    },
];

/// Families whose shares published runs moved from those of benchmarks: `Timeline::fit` of all runs, from the priors of
/// `core/accuracy/origin.rs`. The others are within 5 % of that fit, or have too few runs.
pub const MOVED_BY_RUNS: [GpuFamily; 4] = [GpuFamily::H100At500W, GpuFamily::B300, GpuFamily::Gb200, GpuFamily::Gb300];

/// The rates of the scenario's GPU, by the preset it is or is based on.
pub fn family(scenario: &Scenario) -> &'static FamilyRates {
    let gpu = scenario.run.gpu.family();
    let row = FAMILIES.iter().find(|family| gpu.is_some_and(|gpu| family.gpus.contains(&gpu)));
    // The table is not empty: its last row is the fallback.
    row.unwrap_or(&FAMILIES[FAMILIES.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::presets;

    #[test]
    fn every_gpu_of_the_page_has_a_family_and_no_kernel_beats_its_peak() {
        for preset in presets::GPUS {
            let row = FAMILIES.iter().find(|row| row.gpus.contains(&preset.family));
            assert!(row.is_some(), "{:?} needs a row in src/core/time/families.rs", preset.family);
        }
        for row in FAMILIES {
            for share in [row.gemm, row.gemm_fp8, row.gemm_fp4, row.attention.0, row.attention.1] {
                assert!(share > 0.0 && share < 1.0, "{}", row.remark);
            }
        }
    }
}
