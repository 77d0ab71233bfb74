//! What leaves the GPU for the memory of its host or its disks, and by which framework.

use super::choices::{Choice, OneOf, one_of};
use super::{Run, Software};

one_of! {
    /// Where something goes.
    OffloadTo {
        /// Memory of the host.
        Cpu = "cpu" "host memory",
        /// Disks of the host.
        Nvme = "nvme" "NVMe",
    }
}

one_of! {
    /// Whose implementation offloads.
    OffloadFramework {
        /// ZeRO-Offload and ZeRO-Infinity.
        DeepSpeed = "deepspeed" "DeepSpeed",
        /// Megatron's `HybridDeviceOptimizer` and `cpu_offloading`.
        Megatron = "megatron" "Megatron-LM",
        /// PyTorch FSDP2's `CPUOffloadPolicy`.
        Fsdp2 = "fsdp2" "FSDP2",
        /// torchao's `CPUOffloadOptimizer`: one GPU.
        Torchao = "torchao" "torchao",
    }
}

/// What a person sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffloadParts {
    /// States of the optimizer.
    pub optimizer: Option<OffloadTo>,
    /// Gradients.
    pub gradients: Option<OffloadTo>,
    /// Parameters.
    pub parameters: Option<OffloadTo>,
    /// Kept activations.
    pub activations: Option<OffloadTo>,
    /// Whose implementation; none: that of the stack.
    pub framework: Option<OffloadFramework>,
    /// Share of the states that leave; none: all.
    pub fraction: Option<f64>,
}

/// Offloading understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offload {
    /// States of the optimizer.
    pub optimizer: Option<OffloadTo>,
    /// Gradients.
    pub gradients: Option<OffloadTo>,
    /// Parameters.
    pub parameters: Option<OffloadTo>,
    /// Kept activations.
    pub activations: Option<OffloadTo>,
    /// Whose implementation.
    pub framework: OffloadFramework,
    /// Share of the states that leave.
    pub fraction: f64,
}

impl OffloadParts {
    /// Whether anything leaves the GPU.
    #[must_use]
    pub(crate) fn leaves(&self) -> bool {
        let parts = [self.optimizer, self.gradients, self.parameters, self.activations];
        parts.iter().any(Option::is_some)
    }

    /// The ZeRO stage from which on it works: what `check` asks for.
    #[must_use]
    pub(crate) fn least_zero(&self, run: &Run) -> u64 {
        let alone = || Run { zero: 0, ..run.clone() };
        match (self.parameters, self.optimizer) {
            (Some(_), _) | (None, Some(OffloadTo::Nvme)) => 3,
            (None, Some(OffloadTo::Cpu)) => {
                let unsharded = usual(&alone(), &run.software());
                u64::from(self.framework.unwrap_or(unsharded) != OffloadFramework::Torchao)
            }
            (None, None) => 0,
        }
    }

    /// What it means in `run` under `software`; none where nothing leaves.
    #[must_use]
    pub fn resolve(&self, run: &Run, software: &Software) -> Option<Offload> {
        if !self.leaves() {
            return None;
        }
        let framework = self.framework.unwrap_or_else(|| usual(run, software));
        // DeepSpeed's gradients follow the optimizer; FSDP2 moves all three together.
        let gradients = match framework {
            OffloadFramework::DeepSpeed => self.gradients.or(self.optimizer),
            OffloadFramework::Fsdp2 => self.gradients.or(self.parameters),
            _ => self.gradients,
        };
        let optimizer = match framework {
            OffloadFramework::Fsdp2 => self.optimizer.or(self.parameters),
            _ => self.optimizer,
        };
        Some(Offload {
            optimizer,
            gradients,
            parameters: self.parameters,
            activations: self.activations,
            framework,
            fraction: self.fraction.unwrap_or(1.0),
        })
    }
}

/// Whose implementation a stack comes with.
fn usual(run: &Run, software: &Software) -> OffloadFramework {
    match run.stack.base {
        Some("deepspeed") => OffloadFramework::DeepSpeed,
        _ if software.flat_buffers => OffloadFramework::Megatron,
        _ if run.gpus == 1 => OffloadFramework::Torchao,
        _ if run.zero == 3 => OffloadFramework::Fsdp2,
        _ => OffloadFramework::DeepSpeed,
    }
}

impl Offload {
    /// Share of the optimizer's states that leave the GPU.
    #[must_use]
    pub fn states(&self) -> f64 {
        self.optimizer.map_or(0.0, |_| self.fraction)
    }

    /// Whether the master weights stay: Megatron moves the moments alone. Source: Megatron-LM `optimizer/cpu_offloading`.
    #[must_use]
    pub(crate) fn keeps_masters(&self) -> bool {
        self.framework == OffloadFramework::Megatron
    }
}
