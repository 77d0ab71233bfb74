//! Published accelerators: peaks are dense (no sparsity), links one direction per GPU, "80 GB" cards hold 80 GiB of
//! which the driver shows a little less.

use crate::cluster::Gpu;
use crate::run::choices::Choice;
use crate::source::{DEEPEP, FUJII_2024, H20_SHEET, STAS, Source, TORCH_OOM, TORCHTITAN, TSUBAME};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, GIB};

/// A published accelerator.
#[derive(Clone, Copy, Debug)]
pub struct GpuPreset {
    /// Id and name.
    pub choice: Choice,
    /// Its figures.
    pub gpu: Gpu,
    /// Where peaks, memory and links stand.
    pub source: &'static Source,
    /// What the reader should know of the figures.
    pub remark: &'static str,
    /// Where the usable memory was read.
    pub usable_source: &'static Source,
}

/// The preset with this id.
#[must_use]
pub fn gpu(id: &str) -> Option<&'static GpuPreset> {
    GPUS.iter().find(|preset| preset.choice.id == id)
}

/// The columns of the table below.
struct Sheet {
    id: &'static str,
    label: &'static str,
    /// Size on the box and what the driver shows, GiB.
    gib: (f64, f64),
    /// Dense bf16 and fp8 peak, TFLOP/s.
    tflops: (f64, f64),
    /// Memory bandwidth, TB/s.
    hbm_tb: f64,
    /// Scale-up link, GB/s one direction.
    intra_gb: f64,
    /// Network a GPU, Gbit/s.
    nic_gbit: f64,
    per_node: u64,
    source: &'static Source,
    remark: &'static str,
}

impl Sheet {
    const fn preset(self) -> GpuPreset {
        GpuPreset {
            choice: Choice {
                id: self.id,
                label: self.label,
            },
            gpu: Gpu {
                memory: Bytes(self.gib.0 * GIB),
                usable: Bytes(self.gib.1 * GIB),
                bf16: FlopsPerSecond(self.tflops.0 * 1e12),
                fp8: FlopsPerSecond(self.tflops.1 * 1e12),
                hbm: BytesPerSecond(self.hbm_tb * 1e12),
                intra: BytesPerSecond(self.intra_gb * 1e9),
                inter: BytesPerSecond(self.nic_gbit / 8.0 * 1e9),
                per_node: self.per_node,
            },
            source: self.source,
            remark: self.remark,
            usable_source: &TORCH_OOM,
        }
    }
}

/// All GPU presets, in the order of the page.
pub static GPUS: &[GpuPreset] = &[
    Sheet {
        id: "h100-sxm-80gb",
        label: "H100 80 GB",
        gib: (80.0, 79.2),
        tflops: (989.0, 1979.0),
        hbm_tb: 3.35,
        intra_gb: 450.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &STAS,
        remark: "700 W, 989 TFLOP/s at 1830 MHz",
    }
    .preset(),
    Sheet {
        id: "h100-sxm-94gb",
        label: "H100 94 GB",
        gib: (94.0, 93.1),
        tflops: (989.0, 1979.0),
        hbm_tb: 2.4,
        intra_gb: 450.0,
        nic_gbit: 200.0,
        per_node: 4,
        source: &TSUBAME,
        remark: "HBM2e; four a node in Fujii 2024, bandwidth and NIC inferred",
    }
    .preset(),
    Sheet {
        id: "h100-sxm-96gb",
        label: "H100 96 GB (500 W)",
        gib: (96.0, 95.0),
        tflops: (989.0, 1979.0),
        hbm_tb: 2.4,
        intra_gb: 450.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &TORCHTITAN,
        remark: "HBM2e at 500 W: the part behind the torchtitan and Llama 3 figures",
    }
    .preset(),
    Sheet {
        id: "h800-sxm-80gb",
        label: "H800 80 GB",
        gib: (80.0, 79.2),
        tflops: (989.0, 1979.0),
        hbm_tb: 3.35,
        intra_gb: 200.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &DEEPEP,
        remark: "NVLink cut to 200 GB/s a direction; 160 reached",
    }
    .preset(),
    Sheet {
        id: "h200-sxm-141gb",
        label: "H200 141 GB",
        gib: (141.0, 139.8),
        tflops: (989.0, 1979.0),
        hbm_tb: 4.8,
        intra_gb: 450.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &STAS,
        remark: "the compute of an H100",
    }
    .preset(),
    Sheet {
        id: "h20-sxm-96gb",
        label: "H20 96 GB",
        gib: (96.0, 95.0),
        tflops: (148.0, 296.0),
        hbm_tb: 4.0,
        intra_gb: 450.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &H20_SHEET,
        remark: "37 FLOP a byte: memory-bound operations are nearly free",
    }
    .preset(),
    Sheet {
        id: "a100-sxm-40gb",
        label: "A100 40 GB",
        gib: (40.0, 39.5),
        tflops: (312.0, 312.0),
        hbm_tb: 1.555,
        intra_gb: 300.0,
        nic_gbit: 200.0,
        per_node: 8,
        source: &FUJII_2024,
        remark: "no fp8",
    }
    .preset(),
    Sheet {
        id: "a100-sxm-80gb",
        label: "A100 80 GB",
        gib: (80.0, 79.25),
        tflops: (312.0, 312.0),
        hbm_tb: 2.04,
        intra_gb: 300.0,
        nic_gbit: 200.0,
        per_node: 8,
        source: &STAS,
        remark: "no fp8",
    }
    .preset(),
    Sheet {
        id: "b200-sxm",
        label: "B200 180 GB",
        gib: (180.0, 178.35),
        tflops: (2250.0, 4500.0),
        hbm_tb: 8.0,
        intra_gb: 900.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &STAS,
        remark: "some sheets print 192 GB",
    }
    .preset(),
    Sheet {
        id: "gb200",
        label: "GB200 186 GB (NVL72)",
        gib: (186.0, 184.31),
        tflops: (2500.0, 5000.0),
        hbm_tb: 8.0,
        intra_gb: 900.0,
        nic_gbit: 400.0,
        per_node: 72,
        source: &STAS,
        remark: "72 GPUs on one NVLink",
    }
    .preset(),
    Sheet {
        id: "mi300x",
        label: "MI300X 192 GB",
        gib: (192.0, 191.7),
        tflops: (1307.0, 2614.0),
        hbm_tb: 5.3,
        intra_gb: 448.0,
        nic_gbit: 400.0,
        per_node: 8,
        source: &STAS,
        remark: "full mesh without a switch: a pair gets 64 GB/s of the 448",
    }
    .preset(),
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
        }
    }
}
