//! Offload to the host's memory or disks, and the framework that does it.

use super::choices::{Leaving, OffloadFramework, OffloadTo, Schedule};
use super::{Run, Software};
use crate::field::Steps::By;
use crate::field::{fields, training};

fields! {
    /// Offloading as a person sets it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OffloadParts in "offload." {
        /// states of the optimizer leave the GPU
        optimizer: Option<OffloadTo> => training("Offload optimizer").advanced(),
        /// gradients leave the GPU; with DeepSpeed they follow the optimizer
        gradients: Option<OffloadTo> => training("Offload gradients").advanced(),
        /// parameters stay on the host and come layer by layer
        parameters: Option<OffloadTo> => training("Offload parameters").advanced(),
        /// what layers keep for the backward pass waits on the host: all of it, or the inputs of these modules
        activations: Option<Vec<Leaving>> => training("Offload activations").advanced(),
        /// of a rank whose activations all leave; unset: all but the last two
        layers: Option<u64> => training("Offloaded layers").count(1, 1 << 16, By(1.0)).advanced(),
        /// whose implementation; unset: the software's
        framework: Option<OffloadFramework> => training("Offload by").advanced(),
        /// of the optimizer's states that leave; unset: all
        fraction: Option<f64> => training("Offloaded states").unit("share").number(0.0, 1.0, 0.25).advanced(),
        /// activations of single micro-batches leave the GPU and come back where the order of the pipeline gains by it,
        /// within the activation limit; of the schedule "optimal"
        order: Option<bool> => training("Offload in the order").advanced(),
    }
}

/// Activations that leave the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activations {
    pub to: OffloadTo,
    /// Modules whose inputs they are; none: all activations.
    modules: u16,
}

impl Activations {
    /// The activations that a list of parts lets leave; none where the list is empty.
    pub fn of(list: &[Leaving]) -> Option<Self> {
        let modules = list.iter().filter(|part| !matches!(part, Leaving::Cpu | Leaving::Nvme));
        let to = if list.contains(&Leaving::Nvme) { OffloadTo::Nvme } else { OffloadTo::Cpu };
        (!list.is_empty()).then(|| Self { to, modules: modules.fold(0, |bits, part| bits | 1 << *part as u16) })
    }
    /// Whole layers leave.
    pub fn are_all(self) -> bool {
        self.modules == 0
    }
    pub fn hold(self, module: Leaving) -> bool {
        self.modules & (1 << module as u16) != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offload {
    pub optimizer: Option<OffloadTo>,
    pub gradients: Option<OffloadTo>,
    pub parameters: Option<OffloadTo>,
    pub activations: Option<Activations>,
    /// Layers of a rank whose activations all leave; none: all but the last two.
    pub layers: Option<u64>,
    pub framework: OffloadFramework,
    /// Share of the states that leave.
    pub fraction: f64,
}

impl OffloadParts {
    pub fn leaves(&self) -> bool {
        self.activations.is_some() || [self.optimizer, self.gradients, self.parameters].iter().any(Option::is_some)
    }

    /// True where the pipeline's order lets activations leave: the schedule that is searched alone can.
    pub fn leave_in_order(&self, run: &Run) -> bool {
        self.order == Some(true) && run.schedule == Schedule::Optimal
    }

    /// True where DeepSpeed shards and nothing leaves the GPUs: gradients are shards after each micro-batch. Source:
    /// DeepSpeed edaa722 `runtime/engine.py:3041`, whose `no_sync` refuses ZeRO-2 and 3.
    pub(crate) fn is_deepspeed_alone(&self) -> bool {
        !self.leaves() && self.framework == Some(OffloadFramework::DeepSpeed)
    }

    /// The ZeRO stage from which on it works; less is an issue.
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

    /// Resolves the settings in `run` under `software`; none where nothing leaves.
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
            activations: self.activations.as_deref().and_then(Activations::of),
            layers: self.layers,
            framework,
            fraction: self.fraction.unwrap_or(1.0),
        })
    }
}

/// Implementation of `run` where none is named: the software's own, else PyTorch's, else DeepSpeed's.
fn usual(run: &Run, software: &Software) -> OffloadFramework {
    software.offload.unwrap_or(match (run.training_gpus(), run.zero) {
        (1, _) => OffloadFramework::Torchao,
        (_, 3) => OffloadFramework::Fsdp2,
        _ => OffloadFramework::DeepSpeed,
    })
}

impl Offload {
    /// Nothing leaves.
    pub(crate) const NOTHING: Self = Self {
        optimizer: None,
        gradients: None,
        parameters: None,
        activations: None,
        layers: None,
        framework: OffloadFramework::DeepSpeed,
        fraction: 1.0,
    };

    /// Share of the optimizer's states that leave the GPU.
    pub fn states(&self) -> f64 {
        self.optimizer.map_or(0.0, |_| self.fraction)
    }

    /// Masters of `bytes` stay on the GPU: Megatron moves the moments alone, unless its precision-aware optimizer keeps
    /// the rest of a bf16 weight, for which the host's optimizer makes fp32 copies of its own. Source: Megatron-LM
    /// d98e8a6 `optimizer/distrib_optimizer.py:422` (no main parameter), `optimizer/cpu_offloading/hybrid_optimizer.py`
    /// (`_get_sub_optimizer_param_groups`, `param_update_in_fp32`).
    pub(crate) fn keeps_masters(&self, bytes: f64) -> bool {
        self.framework == OffloadFramework::Megatron && bytes >= 4.0
    }
}
