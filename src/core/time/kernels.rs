//! Rate of each attention kernel on each family of GPUs, from published kernel benchmarks.
//!
//! A kernel works through tiles of query rows, a head at a time: with n tiles over S multiprocessors it reaches
//! `R / ((1 + 400/s) (1 + x S/n))`. The first factor is the pipeline of one tile, over the keys that it sees; the
//! second the last wave, which waits for its longest tile.

use super::families::FamilyRates;
use crate::run::AttentionKernel;
use crate::run::presets::GpuFamily;
use crate::source::{AZURE_GUIDE, CUDNN_BENCHMARK, Cited, FLASH_2, FLASH_3, FLASH_4, FLYDSL, SIMUMAX, Source};

/// Wait of a pass for the last wave, in mean tiles: forward, where the longest tile of a causal mask is twice the mean,
/// and backward, whose tiles are cut finer.
pub(crate) const LAST_WAVE: Cited<(f64, f64)> =
    Cited::new((2.0, 0.7), &SIMUMAX, "64 to 4 heads on A100: 185 to 80 forward, 157 to 105 backward");

/// FlashAttention-2 over FlashAttention-1 and its Triton form.
pub(crate) const FLASH_1: Cited<f64> = Cited::new(
    1.8,
    &FLASH_2,
    "1.7 to 3.0 times FlashAttention, 1.3 to 2.5 times its Triton form: the mean of the latter",
);

/// Rate of a kernel on one family of GPUs: long sequences, causal count, head width 128, all multiprocessors busy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelRate {
    pub kernel: AttentionKernel,
    pub gpus: &'static [GpuFamily],
    /// Forward and backward, as shares of the bf16 peak.
    pub shares: (f64, f64),
    /// Place of the figures.
    pub source: &'static Source,
    /// A note on them.
    pub remark: &'static str,
}

/// H100 at any power.
const H100: &[GpuFamily] = &[GpuFamily::H100, GpuFamily::H100At500W];

/// Blackwell of data centers.
const BLACKWELL: &[GpuFamily] = &[GpuFamily::B200, GpuFamily::B300, GpuFamily::Gb200, GpuFamily::Gb300];

/// Rates of the kernels that are not the family's own.
pub(crate) static KERNELS: &[KernelRate] = &[
    KernelRate {
        kernel: AttentionKernel::Cudnn,
        gpus: H100,
        shares: (0.64, 0.52),
        source: &FLASH_3,
        remark: "484 to 539 forward at 2k to 16k; backward as on H200, times 516/612 without a mask at 16k",
    },
    KernelRate {
        kernel: AttentionKernel::Cudnn,
        gpus: &[GpuFamily::H200],
        shares: (0.73, 0.59),
        source: &CUDNN_BENCHMARK,
        remark: "cuDNN 9.19, 64 heads: 484 to 688 forward, 370 to 581 backward at 2k to 32k",
    },
    KernelRate {
        kernel: AttentionKernel::Flash3,
        gpus: H100,
        shares: (0.72, 0.53),
        source: &FLASH_3,
        remark: "521 to 616 forward at 2k to 16k; backward 1.74 times FlashAttention-2, without a mask",
    },
    KernelRate {
        kernel: AttentionKernel::Flash3,
        gpus: &[GpuFamily::H200],
        shares: (0.72, 0.53),
        source: &FLASH_3,
        remark: "as on H100",
    },
    KernelRate {
        kernel: AttentionKernel::Fp8,
        gpus: H100,
        shares: (0.96, 0.38),
        source: &CUDNN_BENCHMARK,
        remark: "as on H200, times 0.88: an older library and less power",
    },
    KernelRate {
        kernel: AttentionKernel::Fp8,
        gpus: &[GpuFamily::H200],
        shares: (1.09, 0.43),
        source: &CUDNN_BENCHMARK,
        remark: "cuDNN 9.19: 698 to 1042 forward, 370 to 471 backward",
    },
    KernelRate {
        kernel: AttentionKernel::Cudnn,
        gpus: &[GpuFamily::B200, GpuFamily::B300],
        shares: (0.62, 0.49),
        source: &SIMUMAX,
        remark: "Transformer Engine at 4096, 128 to 4 heads: 1121 to 188 forward, 936 to 389 backward",
    },
    KernelRate {
        kernel: AttentionKernel::Cudnn,
        gpus: &[GpuFamily::Gb200, GpuFamily::Gb300],
        shares: (0.7, 0.55),
        source: &CUDNN_BENCHMARK,
        remark: "cuDNN 9.22, 64 heads: 1097 to 1708 forward, 885 to 1332 backward at 2k to 16k",
    },
    KernelRate {
        kernel: AttentionKernel::Fp8,
        gpus: BLACKWELL,
        shares: (0.91, 0.68),
        source: &CUDNN_BENCHMARK,
        remark: "cuDNN 9.22 on GB200: 1420 to 2197 forward, 831 to 1687 backward",
    },
    KernelRate {
        kernel: AttentionKernel::Flash4,
        gpus: BLACKWELL,
        shares: (0.75, 0.59),
        source: &FLASH_4,
        remark: "on B200, 64 heads at 8192: 1418 forward, 1209 backward",
    },
    KernelRate {
        kernel: AttentionKernel::Flash2,
        gpus: BLACKWELL,
        shares: (0.16, 0.125),
        source: &AZURE_GUIDE,
        remark: "on GB200, two sequences of 8192: 374 forward; backward as on H100 by its forward pass",
    },
    KernelRate {
        kernel: AttentionKernel::Aiter,
        gpus: &[GpuFamily::Mi350],
        shares: (0.44, 0.32),
        source: &FLYDSL,
        remark: "on MI355X 1105 forward, of which FlyDSL's 928 is 84 %; backward as CK's by its forward pass",
    },
    KernelRate {
        kernel: AttentionKernel::Aiter,
        gpus: &[GpuFamily::Mi325],
        shares: (0.54, 0.4),
        source: &FLYDSL,
        remark: "on MI325X 711 forward, of which FlyDSL's 440 is 62 %; backward as CK's by its forward pass",
    },
    KernelRate {
        kernel: AttentionKernel::Aiter,
        gpus: &[GpuFamily::Mi300],
        shares: (0.46, 0.34),
        source: &FLYDSL,
        remark: "as on MI325X, times the products of MI300X over its own",
    },
];

/// Shares of the bf16 peak that `kernel` reaches on `gpu`: those of `family` where no table has it.
pub(crate) fn kernel_shares(kernel: AttentionKernel, gpu: Option<GpuFamily>, family: &FamilyRates) -> (f64, f64) {
    let measured = KERNELS.iter().find(|row| row.kernel == kernel && gpu.is_some_and(|gpu| row.gpus.contains(&gpu)));
    match (measured, kernel) {
        (Some(row), _) => row.shares,
        (None, AttentionKernel::Flash1) => {
            let slower = FLASH_1.value;
            (family.attention.0 / slower, family.attention.1 / slower)
        }
        (None, _) => family.attention,
    }
}
