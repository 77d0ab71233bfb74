//! Published accelerators: peaks are dense (no sparsity), links one direction per GPU, "80 GB" cards hold 80 GiB of
//! which the driver shows a little less.

use crate::cluster::Gpu;
use crate::field::Choice;
use crate::source::{DEEPEP, FUJII_2024, H20_SHEET, LOCKWOOD, NANOCHAT, STAS, Source, TORCH_OOM, TORCHTITAN, TSUBAME};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, GIB};

/// GPUs that sustain the same shares of their peaks and run the same kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuFamily {
    A100,
    H100,
    /// H100 whose power is limited to 500 W.
    H100At500W,
    /// Hopper with more memory.
    H200,
    /// Hopper with a quarter of the multiprocessors' rate.
    H20,
    /// Cards of workstations and PCIe servers.
    Ada,
    B200,
    B300,
    /// Blackwell with Grace.
    Gb200,
    /// Blackwell Ultra with Grace.
    Gb300,
    /// AMD's MI300 and after.
    Mi300,
}

impl GpuFamily {
    pub const fn is_amd(self) -> bool {
        matches!(self, Self::Mi300)
    }
    /// Software of the year in which the first of them were trained on, where that is 2024 or later and NVIDIA's:
    /// preset of the stack.
    pub(crate) const fn stack_of_its_year(self) -> Option<&'static str> {
        match self {
            Self::H200 => Some("nemo-2024"),
            Self::B200 | Self::B300 | Self::Gb200 | Self::Gb300 => Some("megatron-2025"),
            _ => None,
        }
    }
    /// The GPUs of a node are joined pairwise, without a switch: a group reaches only its own links.
    pub(crate) const fn joins_pairs(self) -> bool {
        matches!(self, Self::Mi300)
    }
}

/// A published accelerator.
#[derive(Clone, Copy, Debug)]
pub struct GpuPreset {
    pub choice: Choice,
    /// GPUs with the same kernels.
    pub family: GpuFamily,
    pub gpu: Gpu,
    /// Place of peaks, memory and links in it.
    pub source: &'static Source,
    /// A note on the figures.
    pub remark: &'static str,
    /// Source of the usable memory.
    pub usable_source: &'static Source,
}

pub fn gpu(id: &str) -> Option<&'static GpuPreset> {
    GPUS.iter().find(|preset| preset.choice.id == id)
}

/// Ids of the presets of `families`, in the order of the page.
pub fn ids_of(families: &[GpuFamily]) -> String {
    let presets = GPUS.iter().filter(|preset| families.contains(&preset.family));
    presets.map(|preset| preset.choice.id).collect::<Vec<_>>().join(", ")
}

/// Figures of a data sheet, in the units that makers print.
#[derive(Clone, Copy)]
struct Sheet {
    /// Size on the box and as the driver shows it, GiB.
    gib: (f64, f64),
    /// Dense bf16, fp8 and fp4 peak, TFLOP/s.
    tflops: (f64, f64, f64),
    /// Memory bandwidth, TB/s.
    hbm_tb: f64,
    /// Scale-up link, GB/s one direction.
    intra_gb: f64,
    /// Network a GPU, Gbit/s.
    nic_gbit: f64,
    /// Link to the host's memory, GB/s one direction: PCIe x16 of its generation, or NVLink-C2C.
    host_gb: f64,
    /// Rated power, W.
    tdp_w: f64,
    per_node: u64,
    /// Source of the usable memory.
    usable: &'static Source,
}

const fn preset(
    id: &'static str,
    label: &'static str,
    family: GpuFamily,
    sheet: Sheet,
    source: &'static Source,
    remark: &'static str,
) -> GpuPreset {
    let gpu = Gpu {
        memory: Bytes(sheet.gib.0 * GIB),
        usable: Bytes(sheet.gib.1 * GIB),
        bf16: FlopsPerSecond(sheet.tflops.0 * 1e12),
        fp8: FlopsPerSecond(sheet.tflops.1 * 1e12),
        fp4: FlopsPerSecond(sheet.tflops.2 * 1e12),
        hbm: BytesPerSecond(sheet.hbm_tb * 1e12),
        intra: BytesPerSecond(sheet.intra_gb * 1e9),
        inter: BytesPerSecond(sheet.nic_gbit / 8.0 * 1e9),
        nvls: BytesPerSecond(0.0),
        host: BytesPerSecond(sheet.host_gb * 1e9),
        tdp_w: sheet.tdp_w,
        per_node: sheet.per_node,
    };
    GpuPreset { choice: Choice { id, label }, family, gpu, source, remark, usable_source: sheet.usable }
}

// The sheets that others say their differences from.
const H100: Sheet = Sheet {
    gib: (80.0, 79.2),
    tflops: (989.0, 1979.0, 1979.0),
    hbm_tb: 3.35,
    intra_gb: 450.0,
    nic_gbit: 400.0,
    host_gb: 64.0,
    tdp_w: 700.0,
    per_node: 8,
    usable: &TORCH_OOM,
};
const A100: Sheet = Sheet {
    gib: (40.0, 39.5),
    tflops: (312.0, 312.0, 312.0),
    hbm_tb: 1.555,
    intra_gb: 300.0,
    nic_gbit: 200.0,
    host_gb: 32.0,
    tdp_w: 400.0,
    ..H100
};
const B200: Sheet = Sheet {
    gib: (180.0, 178.35),
    tflops: (2250.0, 4500.0, 9000.0),
    hbm_tb: 8.0,
    intra_gb: 900.0,
    tdp_w: 1000.0,
    ..H100
};
const MI300X: Sheet =
    Sheet { gib: (192.0, 191.7), tflops: (1307.0, 2614.0, 2614.0), hbm_tb: 5.3, intra_gb: 448.0, tdp_w: 750.0, ..H100 };

/// All GPU presets, in the order of the page.
pub static GPUS: &[GpuPreset] = &[
    preset("h100-sxm-80gb", "H100 80 GB", GpuFamily::H100, H100, &STAS, "700 W, 989 TFLOP/s at 1830 MHz"),
    preset(
        "h100-sxm-94gb",
        "H100 94 GB",
        GpuFamily::H100,
        Sheet { gib: (94.0, 93.1), hbm_tb: 2.4, nic_gbit: 200.0, per_node: 4, ..H100 },
        &TSUBAME,
        "HBM2e; four a node in Fujii 2024, bandwidth and NIC inferred",
    ),
    preset(
        "h100-sxm-96gb",
        "H100 96 GB (500 W)",
        GpuFamily::H100At500W,
        Sheet { gib: (96.0, 95.0), hbm_tb: 2.4, tdp_w: 500.0, ..H100 },
        &TORCHTITAN,
        "HBM2e at 500 W: the part behind the torchtitan and Llama 3 figures",
    ),
    preset(
        "h800-sxm-80gb",
        "H800 80 GB",
        GpuFamily::H100,
        Sheet { intra_gb: 200.0, ..H100 },
        &DEEPEP,
        "NVLink cut to 200 GB/s a direction; 160 reached",
    ),
    preset(
        "h200-sxm-141gb",
        "H200 141 GB",
        GpuFamily::H200,
        Sheet { gib: (141.0, 139.8), hbm_tb: 4.8, ..H100 },
        &STAS,
        "the compute of an H100",
    ),
    preset(
        "h20-sxm-96gb",
        "H20 96 GB",
        GpuFamily::H20,
        Sheet { gib: (96.0, 95.0), tflops: (148.0, 296.0, 296.0), hbm_tb: 4.0, tdp_w: 400.0, ..H100 },
        &H20_SHEET,
        "37 FLOP a byte: memory-bound operations are nearly free",
    ),
    preset(
        "h100-pcie-80gb",
        "H100 80 GB PCIe",
        GpuFamily::H100,
        Sheet { tflops: (756.0, 1513.0, 1513.0), hbm_tb: 2.0, intra_gb: 63.0, nic_gbit: 200.0, tdp_w: 350.0, ..H100 },
        &STAS,
        "PCIe 5, of which a bridge joins pairs only; 350 W",
    ),
    preset("a100-sxm-40gb", "A100 40 GB", GpuFamily::A100, A100, &FUJII_2024, "no fp8"),
    preset(
        "a100-sxm-80gb",
        "A100 80 GB",
        GpuFamily::A100,
        Sheet { gib: (80.0, 79.25), hbm_tb: 2.04, ..A100 },
        &STAS,
        "no fp8",
    ),
    preset(
        "a100-pcie-80gb",
        "A100 80 GB PCIe",
        GpuFamily::A100,
        Sheet { gib: (80.0, 79.2), hbm_tb: 1.94, intra_gb: 31.0, tdp_w: 300.0, ..A100 },
        &STAS,
        "no fp8; PCIe 4, of which a bridge joins pairs only; power-limited: the best GEMM reaches 81 % of the \
            peak",
    ),
    preset("b200-sxm", "B200 180 GB", GpuFamily::B200, B200, &STAS, "some sheets print 192 GB"),
    preset(
        "gb200",
        "GB200 186 GB (NVL72)",
        GpuFamily::Gb200,
        Sheet {
            gib: (186.0, 184.31),
            tflops: (2500.0, 5000.0, 10000.0),
            host_gb: 450.0,
            tdp_w: 1200.0,
            per_node: 72,
            ..B200
        },
        &STAS,
        "72 GPUs on one NVLink",
    ),
    preset(
        "b300-sxm",
        "B300 288 GB",
        GpuFamily::B300,
        Sheet {
            gib: (288.0, 262.5),
            tflops: (2250.0, 4500.0, 12600.0),
            nic_gbit: 800.0,
            tdp_w: 1100.0,
            usable: &LOCKWOOD,
            ..B200
        },
        &STAS,
        "fp4: 12.6 PFLOP/s there, 13.1 in Lockwood; usable: the 2.1 TB that a DGX prints, over 8",
    ),
    preset(
        "gb300",
        "GB300 288 GB (NVL72)",
        GpuFamily::Gb300,
        Sheet {
            gib: (288.0, 277.7),
            tflops: (2500.0, 5000.0, 15000.0),
            nic_gbit: 800.0,
            host_gb: 450.0,
            tdp_w: 1400.0,
            per_node: 72,
            usable: &LOCKWOOD,
            ..B200
        },
        &STAS,
        "72 GPUs on one NVLink; usable: the 20 TB that a rack prints, over 72",
    ),
    preset(
        "mi300x",
        "MI300X 192 GB",
        GpuFamily::Mi300,
        MI300X,
        &STAS,
        "full mesh without a switch: a pair gets 64 GB/s of the 448",
    ),
    preset(
        "mi325x",
        "MI325X 256 GB",
        GpuFamily::Mi300,
        Sheet { gib: (256.0, 255.7), hbm_tb: 6.0, tdp_w: 1000.0, ..MI300X },
        &STAS,
        "full mesh without a switch, as MI300X, from which the part that the driver keeps is taken",
    ),
    preset(
        "mi355x",
        "MI355X 288 GB",
        GpuFamily::Mi300,
        Sheet {
            gib: (288.0, 287.7),
            tflops: (2500.0, 5000.0, 10100.0),
            hbm_tb: 8.0,
            intra_gb: 535.5,
            tdp_w: 1400.0,
            ..MI300X
        },
        &STAS,
        "full mesh of 7 x 76.5 GB/s without a switch; the part that the driver keeps is taken from MI300X",
    ),
    preset(
        "rtx-4090",
        "RTX 4090 24 GB",
        GpuFamily::Ada,
        Sheet {
            gib: (24.0, 23.65),
            tflops: (165.2, 330.3, 330.3),
            hbm_tb: 1.008,
            intra_gb: 31.0,
            nic_gbit: 10.0,
            host_gb: 32.0,
            tdp_w: 450.0,
            ..H100
        },
        &NANOCHAT,
        "accumulation in fp32, half of what fp16 accumulation reaches; PCIe 4 without peer-to-peer copies: \
            what GPUs exchange passes through the host; a network of 10 Gb/s is assumed",
    ),
    preset(
        "rtx-5090",
        "RTX 5090 32 GB",
        GpuFamily::Ada,
        Sheet {
            gib: (32.0, 31.36),
            tflops: (209.5, 419.0, 1676.0),
            hbm_tb: 1.792,
            intra_gb: 63.0,
            nic_gbit: 10.0,
            tdp_w: 575.0,
            ..H100
        },
        &NANOCHAT,
        "accumulation in fp32; sheets that print 419 or 838 TFLOP/s count fp16 accumulation or sparsity; \
            PCIe 5 without peer-to-peer copies: what GPUs exchange passes through the host; a network of 10 Gb/s is \
            assumed",
    ),
    preset(
        "l40s",
        "L40S 48 GB",
        GpuFamily::Ada,
        Sheet {
            gib: (48.0, 44.4),
            tflops: (362.0, 733.0, 733.0),
            hbm_tb: 0.864,
            intra_gb: 31.0,
            nic_gbit: 100.0,
            host_gb: 32.0,
            tdp_w: 350.0,
            ..H100
        },
        &STAS,
        "PCIe 4, no NVLink",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_never_shows_more_than_the_box() {
        for preset in GPUS {
            let gpu = preset.gpu;
            assert!(gpu.usable.0 <= gpu.memory.0, "{}", preset.choice.id);
            assert!(gpu.inter.0 < gpu.intra.0, "{}", preset.choice.id);
            assert!(gpu.fp8.0 >= gpu.bf16.0, "{}", preset.choice.id);
            assert!(gpu.fp4.0 >= gpu.fp8.0, "{}", preset.choice.id);
        }
    }
}
