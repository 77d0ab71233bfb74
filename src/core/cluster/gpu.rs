//! One GPU and its links, by the data sheet.

use crate::field::Steps::Double;
use crate::field::{cluster, shape};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond};

/// The fastest scale-up link that is PCIe: 16 lanes of the fifth generation, 32 GT/s each, one direction.
const PCIE_5: BytesPerSecond = BytesPerSecond(64e9);
/// Link to the host where nothing is said: PCIe of the fourth generation.
const PCIE_4: BytesPerSecond = BytesPerSecond(32e9);

shape! {
    /// Memory, compute and links of one GPU.
    pub struct Gpu, GpuParts in "gpu." {
        /// the size on the box
        memory as memory_gib: Bytes => cluster("Memory").unit("GiB").number(0.1, 1e6, 8.0).advanced(),
        /// what the driver shows a process
        usable as usable_gib: Bytes = memory => cluster("Usable memory").unit("GiB").number(0.1, 1e6, 1.0).advanced(),
        /// dense, without sparsity
        bf16 as bf16_tflops: FlopsPerSecond => cluster("bf16 peak").unit("TFLOP/s").number(0.1, 1e6, 10.0).advanced(),
        /// dense, without sparsity
        fp8 as fp8_tflops: FlopsPerSecond = bf16
            => cluster("fp8 peak").unit("TFLOP/s").number(0.1, 1e6, 10.0).advanced(),
        /// dense, without sparsity
        fp4 as fp4_tflops: FlopsPerSecond = fp8
            => cluster("fp4 peak").unit("TFLOP/s").number(0.1, 1e6, 10.0).advanced(),
        /// of the GPU's own memory
        hbm as hbm_gb_per_s: BytesPerSecond
            => cluster("Memory bandwidth").unit("GB/s").number(0.1, 1e6, 100.0).advanced(),
        /// one direction, per GPU (NVLink 900 is 450)
        intra as intra_gb_per_s: BytesPerSecond
            => cluster("Scale-up link").unit("GB/s").number(0.1, 1e6, 50.0).advanced(),
        /// one direction, per GPU (400 Gb/s is 50)
        inter as inter_gb_per_s: BytesPerSecond => cluster("Network").unit("GB/s").number(0.01, 1e6, 12.5).advanced(),
        /// bus bandwidth of an all-reduce that the switches of a node compute (NVLS; nccl-tests on 8 H200: 482); 0:
        /// rings
        nvls as nvls_gb_per_s: BytesPerSecond = BytesPerSecond(0.0)
            => cluster("All-reduce in the switch").unit("GB/s").number(0.0, 1e6, 50.0).advanced(),
        /// PCIe or NVLink-C2C, one direction, per GPU
        host as host_gb_per_s: BytesPerSecond = PCIE_4
            => cluster("Link to the host").unit("GB/s").number(0.1, 1e5, 16.0).advanced(),
        /// by its data sheet; energy follows from it, no step does
        tdp_w: f64 = 700.0 => cluster("Rated power").unit("W").number(1.0, 1e5, 50.0).advanced(),
        /// GPUs on its scale-up link
        per_node as gpus_per_node: u64 = 8
            => cluster("GPUs per node (of this GPU)").count(1, 1 << 20, Double).advanced(),
    }
}

impl Gpu {
    /// True if GPUs of a node exchange over a link that is no faster than PCIe: no NVLink, or a bridge between pairs.
    pub fn is_on_pcie(&self) -> bool {
        self.intra <= PCIE_5
    }

    /// True if tensor cores compute in fp8.
    pub(crate) fn computes_in_fp8(&self) -> bool {
        self.fp8.0 > self.bf16.0
    }

    /// True if they compute in fp4 and read the scales of blocks: Blackwell and its like.
    pub(crate) fn computes_in_fp4(&self) -> bool {
        self.fp4.0 > self.fp8.0
    }
}
