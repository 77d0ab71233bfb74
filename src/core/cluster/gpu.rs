//! One GPU and its links, by the data sheet.

use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond};

/// What one GPU holds, computes and sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// The size on the box: "80 GB" is 80 GiB.
    pub memory: Bytes,
    /// What the driver shows a process.
    pub usable: Bytes,
    /// Dense bf16 peak.
    pub bf16: FlopsPerSecond,
    /// Dense fp8 peak; the bf16 peak where there is no fp8.
    pub fp8: FlopsPerSecond,
    /// Dense fp4 peak; the fp8 peak where there is no fp4.
    pub fp4: FlopsPerSecond,
    /// Memory bandwidth.
    pub hbm: BytesPerSecond,
    /// Scale-up link, one direction, per GPU.
    pub intra: BytesPerSecond,
    /// Network between nodes, one direction, per GPU.
    pub inter: BytesPerSecond,
    /// Link to the host's memory, one direction, by its data sheet.
    pub host: BytesPerSecond,
    /// GPUs on the scale-up link.
    pub per_node: u64,
}

impl Gpu {
    /// Whether tensor cores compute in fp8.
    #[must_use]
    pub(crate) fn computes_in_fp8(&self) -> bool {
        self.fp8.0 > self.bf16.0
    }

    /// Whether they compute in fp4, and read the scales of blocks: Blackwell and its like.
    #[must_use]
    pub(crate) fn computes_in_fp4(&self) -> bool {
        self.fp4.0 > self.fp8.0
    }
}
