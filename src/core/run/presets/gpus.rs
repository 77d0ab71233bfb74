//! Published accelerators: peaks are dense (no sparsity), links one direction per GPU, "80 GB" cards hold 80 GiB of
//! which the driver shows a little less.

use crate::cluster::Gpu;
use crate::field::Choice;
use crate::source::{
    A10_SHEET, A40_SHEET, A800_REPORTS, A6000_SHEET, DEEPEP, FUJII_2024, GA102, GH200_SHEET, H20_SHEET, L40_SHEET,
    LOCKWOOD, MI455X_ANNOUNCED, NANOCHAT, PRIMUS, RTX_6000_ADA, RTX_PRO_6000, RUBIN_ANNOUNCED, STAS, Source, T4_SHEET,
    TORCH_OOM, TORCHTITAN, TSUBAME, V100_SHEET,
};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, GIB};

/// GPUs that sustain the same shares of their peaks and run the same kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuFamily {
    /// Before Ampere: tensor cores for fp16 alone.
    Volta,
    /// Turing of inference servers, 70 W.
    Turing,
    /// Ampere of games: half rate where products are summed in fp32.
    GeForceAmpere,
    /// Ampere of workstations and PCIe servers, GA102 at its full rate.
    AmpereCard,
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
    /// Ada of workstations, the full rate at 300 W.
    AdaAt300W,
    /// Blackwell of workstations.
    RtxBlackwell,
    B200,
    B300,
    /// Blackwell with Grace.
    Gb200,
    /// Blackwell Ultra with Grace.
    Gb300,
    /// NVIDIA's announced Rubin with Vera.
    Rubin,
    /// AMD's MI300X.
    Mi300,
    /// AMD's MI325X: an MI300X with more power and memory.
    Mi325,
    /// AMD's MI350X and MI355X.
    Mi350,
    /// AMD's announced MI400, 72 on one link.
    Mi400,
}

impl GpuFamily {
    pub const fn is_amd(self) -> bool {
        matches!(self, Self::Mi300 | Self::Mi325 | Self::Mi350 | Self::Mi400)
    }
    /// Blackwell of data centers and what follows it: other matrix instructions than before.
    pub const fn is_blackwell(self) -> bool {
        matches!(self, Self::B200 | Self::B300 | Self::Gb200 | Self::Gb300 | Self::Rubin)
    }
    /// Its maker has named figures and no data sheet: peaks, and what is reached of them, may still move.
    pub const fn is_announced(self) -> bool {
        matches!(self, Self::Rubin | Self::Mi400)
    }
    /// Tensor cores multiply bf16: NVIDIA's do since Ampere.
    pub(crate) const fn computes_in_bf16(self) -> bool {
        !matches!(self, Self::Volta | Self::Turing)
    }
    /// Software of the year in which the first of them were trained on, where that is 2024 or later and NVIDIA's:
    /// preset of the stack.
    pub(crate) const fn stack_of_its_year(self) -> Option<&'static str> {
        match self {
            Self::H200 => Some("nemo-2024"),
            Self::B200 | Self::B300 | Self::Gb200 | Self::Gb300 | Self::Rubin => Some("megatron-2025"),
            _ => None,
        }
    }
    /// The GPUs of a node are joined pairwise, without a switch: a group reaches only its own links.
    pub(crate) const fn joins_pairs(self) -> bool {
        matches!(self, Self::Mi300 | Self::Mi325 | Self::Mi350)
    }
}

/// A published accelerator.
#[derive(Clone, Copy, Debug)]
pub struct GpuPreset {
    pub choice: Choice,
    /// GPUs with the same kernels.
    pub family: GpuFamily,
    pub gpu: Gpu,
    /// Memory of the host that such a GPU usually has, over all channels, by its makers' sheets: DGX-1 (8 of
    /// DDR4-2400), DGX A100 (16 of DDR4-3200), DGX H100 (16 of DDR5-4800), DGX B200 (16 of DDR5-5600), two EPYC 9004
    /// of MI300X (24 of DDR5-4800), Grace 512 GB/s, a desktop (2 of DDR4-3200 or DDR5-5600). Of a superchip, a GPU's
    /// share.
    pub host_dram: BytesPerSecond,
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

/// The first preset, in the order of the page, that people call `name`: "H800", "RTX 4090", "4090", "B200".
pub fn gpu_called(name: &str) -> Option<&'static GpuPreset> {
    GPUS.iter().find(|preset| preset.is_called(name))
}

impl GpuPreset {
    /// True if `name` is its label or a part of its id, whatever the signs between its letters and digits.
    pub fn is_called(&self, name: &str) -> bool {
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let name = plain(name);
        // A size of memory alone is no card's name.
        if name.is_empty() || name.ends_with("gb") && !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return false;
        }
        let words: Vec<String> = self.choice.id.split('-').map(plain).collect();
        let mut runs = (0..words.len()).flat_map(|from| (from + 1..=words.len()).map(move |to| (from, to)));
        plain(self.choice.label) == name || runs.any(|(from, to)| words[from..to].concat() == name)
    }
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
    /// Host memory, GB/s over all channels of a node: of a superchip, a GPU's share of its own CPU.
    dram_gb: f64,
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
    let choice = Choice { id, label };
    let host_dram = BytesPerSecond(sheet.dram_gb * 1e9);
    GpuPreset { choice, family, gpu, host_dram, source, remark, usable_source: sheet.usable }
}

// The sheets that others say their differences from.
const H100: Sheet = Sheet {
    gib: (80.0, 79.2),
    tflops: (989.0, 1979.0, 1979.0),
    hbm_tb: 3.35,
    intra_gb: 450.0,
    nic_gbit: 400.0,
    host_gb: 64.0,
    dram_gb: 614.4,
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
    dram_gb: 409.6,
    tdp_w: 400.0,
    ..H100
};
const V100: Sheet = Sheet {
    gib: (16.0, 15.78),
    tflops: (125.0, 125.0, 125.0),
    hbm_tb: 0.9,
    intra_gb: 150.0,
    nic_gbit: 50.0,
    host_gb: 16.0,
    dram_gb: 153.6,
    tdp_w: 300.0,
    ..H100
};
const B200: Sheet = Sheet {
    gib: (180.0, 178.35),
    tflops: (2250.0, 4500.0, 9000.0),
    hbm_tb: 8.0,
    intra_gb: 900.0,
    dram_gb: 716.8,
    tdp_w: 1000.0,
    ..H100
};
const MI300X: Sheet = Sheet {
    gib: (192.0, 191.7),
    tflops: (1307.0, 2614.0, 2614.0),
    hbm_tb: 5.3,
    intra_gb: 448.0,
    dram_gb: 921.6,
    tdp_w: 750.0,
    ..H100
};

/// Cards on PCIe 4 whose servers have a network of 10 Gbit/s: an assumption, no sheet says.
const PCIE_CARD: Sheet = Sheet { intra_gb: 31.0, nic_gbit: 10.0, host_gb: 32.0, dram_gb: 409.6, tdp_w: 300.0, ..H100 };

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
            dram_gb: 256.0,
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
            dram_gb: 256.0,
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
        GpuFamily::Mi325,
        Sheet { gib: (256.0, 255.7), hbm_tb: 6.0, tdp_w: 1000.0, ..MI300X },
        &STAS,
        "full mesh without a switch, as MI300X, from which the part that the driver keeps is taken",
    ),
    preset(
        "mi350x",
        "MI350X 288 GB",
        GpuFamily::Mi350,
        Sheet {
            gib: (288.0, 287.7),
            tflops: (2300.0, 4614.0, 9228.0),
            hbm_tb: 8.0,
            intra_gb: 535.5,
            tdp_w: 1000.0,
            ..MI300X
        },
        &PRIMUS,
        "AMD-AGI/Primus pull request 772: 2300 dense in bf16; the MI355X's links; the part that the driver keeps is \
            taken from MI300X",
    ),
    preset(
        "mi355x",
        "MI355X 288 GB",
        GpuFamily::Mi350,
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
            dram_gb: 89.6,
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
            dram_gb: 89.6,
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
    preset(
        "gh200",
        "GH200 96 GB",
        GpuFamily::H200,
        Sheet {
            gib: (96.0, 95.0),
            hbm_tb: 4.0,
            nic_gbit: 200.0,
            host_gb: 450.0,
            dram_gb: 512.0,
            tdp_w: 700.0,
            per_node: 4,
            ..H100
        },
        &GH200_SHEET,
        "four a node on NVLink, 450 GB/s to Grace; servers of one superchip have one a node; the sheet's 450 to \
            1000 W are of GPU and CPU together; 144 GB with HBM3e has 4.9 TB/s",
    ),
    preset(
        "a800-sxm-80gb",
        "A800 80 GB",
        GpuFamily::A100,
        Sheet { gib: (80.0, 79.25), hbm_tb: 2.04, intra_gb: 200.0, ..A100 },
        &A800_REPORTS,
        "an A100 with NVLink cut to 200 GB/s a direction; no sheet of NVIDIA's own was seen",
    ),
    preset(
        "rubin",
        "Rubin 288 GB (announced)",
        GpuFamily::Rubin,
        Sheet {
            gib: (288.0, 277.7),
            tflops: (4000.0, 17500.0, 35000.0),
            hbm_tb: 22.0,
            intra_gb: 1800.0,
            nic_gbit: 1600.0,
            host_gb: 900.0,
            dram_gb: 600.0,
            tdp_w: 1800.0,
            per_node: 72,
            ..B200
        },
        &RUBIN_ANNOUNCED,
        "announced, no data sheet: bf16 is the least certain (others print 12.5 PFLOP/s), fp4 is NVFP4 for training; \
            usable memory as a GB300 of the same size; 1.8 TB/s to Vera shared by two GPUs; watts as others print them",
    ),
    preset(
        "mi455x",
        "MI455X 432 GB (announced)",
        GpuFamily::Mi400,
        Sheet {
            gib: (432.0, 431.7),
            tflops: (10000.0, 20000.0, 40000.0),
            hbm_tb: 19.6,
            intra_gb: 1800.0,
            nic_gbit: 2400.0,
            host_gb: 64.0,
            tdp_w: 1800.0,
            per_node: 72,
            ..H100
        },
        &MI455X_ANNOUNCED,
        "announced, no data sheet: bf16 is taken for half of fp8, as on the MI355X; 3.6 TB/s both ways between 72, \
            300 GB/s to others; link to the host and watts are assumed; the part that the driver keeps is that of \
            the MI300X",
    ),
    preset(
        "v100-sxm2-16gb",
        "V100 16 GB",
        GpuFamily::Volta,
        V100,
        &V100_SHEET,
        "the peak is of fp16: tensor cores do not multiply bf16; no fp8; PCIe 3 to the host",
    ),
    preset(
        "v100-sxm2-32gb",
        "V100 32 GB",
        GpuFamily::Volta,
        Sheet { gib: (32.0, 31.74), ..V100 },
        &V100_SHEET,
        "the peak is of fp16: tensor cores do not multiply bf16; no fp8; PCIe 3 to the host",
    ),
    preset(
        "t4",
        "T4 16 GB",
        GpuFamily::Turing,
        Sheet {
            gib: (16.0, 14.56),
            tflops: (65.0, 65.0, 65.0),
            hbm_tb: 0.32,
            intra_gb: 15.75,
            host_gb: 16.0,
            tdp_w: 70.0,
            ..PCIE_CARD
        },
        &T4_SHEET,
        "the peak is of fp16: tensor cores do not multiply bf16; PCIe 3, no NVLink; a network of 10 Gb/s is assumed",
    ),
    preset(
        "a10",
        "A10 24 GB",
        GpuFamily::AmpereCard,
        Sheet { gib: (24.0, 22.06), tflops: (125.0, 125.0, 125.0), hbm_tb: 0.6, tdp_w: 150.0, ..PCIE_CARD },
        &A10_SHEET,
        "memory as an A10G shows it, the same board in Amazon's servers, whose peak is 70 TFLOP/s; PCIe 4, no \
            NVLink; a network of 10 Gb/s is assumed",
    ),
    preset(
        "a40",
        "A40 48 GB",
        GpuFamily::AmpereCard,
        Sheet { gib: (48.0, 44.4), tflops: (149.7, 149.7, 149.7), hbm_tb: 0.696, nic_gbit: 100.0, ..PCIE_CARD },
        &A40_SHEET,
        "memory as an L40 of the same size with ECC shows it; PCIe 4, of which a bridge joins pairs only",
    ),
    preset(
        "rtx-a6000",
        "RTX A6000 48 GB",
        GpuFamily::AmpereCard,
        Sheet { gib: (48.0, 47.54), tflops: (154.8, 154.8, 154.8), hbm_tb: 0.768, ..PCIE_CARD },
        &A6000_SHEET,
        "memory without ECC; PCIe 4, of which a bridge joins pairs only; a network of 10 Gb/s is assumed",
    ),
    preset(
        "l40",
        "L40 48 GB",
        GpuFamily::Ada,
        Sheet { gib: (48.0, 44.4), tflops: (181.05, 362.0, 362.0), hbm_tb: 0.864, nic_gbit: 100.0, ..PCIE_CARD },
        &L40_SHEET,
        "half the rate of an L40S; PCIe 4, no NVLink",
    ),
    preset(
        "rtx-6000-ada",
        "RTX 6000 Ada 48 GB",
        GpuFamily::AdaAt300W,
        Sheet { gib: (48.0, 44.43), tflops: (364.2, 728.5, 728.5), hbm_tb: 0.96, ..PCIE_CARD },
        &RTX_6000_ADA,
        "memory with ECC, 47.5 GiB without; PCIe 4, no NVLink; a network of 10 Gb/s is assumed",
    ),
    preset(
        "rtx-pro-6000",
        "RTX PRO 6000 96 GB",
        GpuFamily::RtxBlackwell,
        Sheet {
            gib: (96.0, 94.97),
            tflops: (503.8, 1007.6, 2015.2),
            hbm_tb: 1.792,
            intra_gb: 63.0,
            host_gb: 64.0,
            dram_gb: 89.6,
            tdp_w: 600.0,
            ..PCIE_CARD
        },
        &RTX_PRO_6000,
        "the workstation edition; PCIe 5, no NVLink; a network of 10 Gb/s is assumed",
    ),
    preset(
        "rtx-3090",
        "RTX 3090 24 GB",
        GpuFamily::GeForceAmpere,
        Sheet {
            gib: (24.0, 23.7),
            tflops: (71.0, 71.0, 71.0),
            hbm_tb: 0.936,
            dram_gb: 51.2,
            tdp_w: 350.0,
            ..PCIE_CARD
        },
        &GA102,
        "accumulation in fp32, half of what fp16 accumulation reaches; PCIe 4, of which a bridge joins pairs only; a \
            network of 10 Gb/s is assumed",
    ),
    preset(
        "rtx-3080-10gb",
        "RTX 3080 10 GB",
        GpuFamily::GeForceAmpere,
        Sheet { gib: (10.0, 9.78), tflops: (59.5, 59.5, 59.5), hbm_tb: 0.76, dram_gb: 51.2, tdp_w: 320.0, ..PCIE_CARD },
        &GA102,
        "accumulation in fp32, half of what fp16 accumulation reaches; PCIe 4 without NVLink; a network of 10 Gb/s is \
            assumed",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_found_by_what_people_call_it() {
        let id = |name: &str| gpu_called(name).map(|preset| preset.choice.id);
        for preset in GPUS {
            assert_eq!(id(preset.choice.id), Some(preset.choice.id));
            assert_eq!(id(preset.choice.label), Some(preset.choice.id));
        }
        let names = ["H800", "h100", "L40S", "L40", "4090", "RTX 4090", "A100", "MI300X", "H100 PCIe"];
        let ids = ["h800-sxm-80gb", "h100-sxm-80gb", "l40s", "l40", "rtx-4090", "rtx-4090", "a100-sxm-40gb", "mi300x"];
        assert_eq!(names.map(id), std::array::from_fn(|at| ids.get(at).copied().or(Some("h100-pcie-80gb"))));
        assert_eq!(["", "80 GB", "H", "x"].map(id), [None; 4]);
    }

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
