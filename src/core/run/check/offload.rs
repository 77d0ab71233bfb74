//! Combinations of offloading that each framework refuses, and why.

use super::Check;
use crate::cluster::Gpu;
use crate::issue::{Fix, Issue};
use crate::message::Message;
use crate::run::registry::first_set;
use crate::run::{
    Layout, Leaving, Offload, OffloadFramework, OffloadParts, OffloadTo, OneOf, Optimizer, Recompute, Schedule,
};
use crate::t;
use crate::units::Bytes;

impl Check<'_> {
    pub fn offload(&mut self, gpu: &Gpu, layout: &Layout) {
        let (run, parts) = (self.run, &self.run.offload);
        self.offload_order();
        let Some(offload) = parts.resolve(run, &run.software()) else {
            if (OffloadParts { order: None, ..parts.clone() }) != OffloadParts::default()
                && let Some(field) = first_set(run, "offload")
            {
                let message = t!("{field} says nothing where nothing is offloaded", field = field.label);
                self.warnings.push(Issue::warning(field.key, message));
            }
            return;
        };
        if run.host_memory_gib.is_none() {
            self.host(offload, gpu, layout);
        }
        match offload.framework {
            OffloadFramework::DeepSpeed => self.deepspeed(offload),
            OffloadFramework::Megatron => self.megatron(offload),
            OffloadFramework::Fsdp2 => self.fsdp2(offload),
            OffloadFramework::Torchao => self.torchao(offload),
        }
        self.eight_bit(offload);
        if offload.activations.is_some_and(|leaving| !leaving.are_all())
            && offload.framework != OffloadFramework::Megatron
        {
            self.refuse("offload.activations", "Megatron-LM alone offloads the inputs of some modules", "cpu");
        }
        let modules = offload.activations.is_none_or(|leaving| !leaving.are_all());
        if offload.layers.is_some() && (modules || offload.framework != OffloadFramework::Megatron) {
            self.refuse("offload.layers", "Megatron-LM alone offloads the activations of some layers, whole", "");
        }
        let on_disk = |to: Option<OffloadTo>| to == Some(OffloadTo::Nvme);
        let disk = [
            ("offload.optimizer", parts.optimizer),
            ("offload.gradients", parts.gradients),
            ("offload.parameters", parts.parameters),
        ];
        for (field, to) in disk {
            if on_disk(to) && offload.framework != OffloadFramework::DeepSpeed {
                let message = t!(
                    "only DeepSpeed writes states to disks, not {framework}",
                    framework = Message::plain(offload.framework.choice().label)
                );
                self.refuse(field, message, "cpu");
            }
        }
        if on_disk(offload.activations.map(|activations| activations.to)) {
            let message = "activations go to host memory: no framework here writes them to disks";
            self.refuse("offload.activations", message, "cpu");
        }
    }

    /// An order with offloading is searched by one schedule, and has the link to the host for itself.
    fn offload_order(&mut self) {
        let (run, parts) = (self.run, &self.run.offload);
        if parts.order != Some(true) {
            return;
        }
        if !parts.leave_in_order(run) {
            let message = "nothing leaves in the order of this schedule: \"optimal\" alone searches for one";
            let fix = Fix::new(vec![("schedule", Schedule::Optimal.id().to_owned())]);
            self.warnings.push(Issue { fix: Some(fix), ..Issue::warning("offload.order", message) });
            return;
        }
        let others = [
            ("offload.activations", parts.activations.is_some()),
            ("offload.parameters", parts.parameters.is_some()),
            ("offload.gradients", parts.gradients.is_some()),
        ];
        for (field, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
            let message = "activations that leave in the order have the link to the host for themselves: offload this \
                or them";
            self.refuse(field, message, "");
        }
    }

    /// bitsandbytes steps on the GPU: its states cannot be stepped by the host. Source: DeepSpeed `engine.py`
    /// (`zero_force_ds_cpu_optimizer`), bitsandbytes `optim/optimizer.py`.
    fn eight_bit(&mut self, offload: Offload) {
        let on_host = [OffloadFramework::DeepSpeed, OffloadFramework::Fsdp2].contains(&offload.framework);
        let own = [Optimizer::Adam8Bit, Optimizer::Adam8BitPaged, Optimizer::AdamPaged].contains(&self.run.optimizer);
        if offload.optimizer.is_some() && on_host && own {
            self.refuse("optimizer", "the host steps no states of bitsandbytes, which steps them on the GPU", "adam");
        }
    }

    /// Checks that offloaded bytes have a place: the fix is at least what a node needs, in steps of 64 GiB.
    fn host(&mut self, offload: Offload, gpu: &Gpu, layout: &Layout) {
        let run = self.run;
        let parameters = self.model.elements().total() as f64 / (run.tp * run.pp) as f64;
        let shared = if run.zero == 0 { 1 } else { layout.dp * run.cp };
        let shard = run.hsdp_shard.unwrap_or(shared).max(1) as f64;
        let bytes = match (offload.framework, run.adapter.method) {
            (OffloadFramework::DeepSpeed, None) => 27.0,
            (OffloadFramework::DeepSpeed, Some(_)) => 4.0,
            (_, None) => 18.0,
            (_, Some(_)) => 3.0,
        };
        let states = [offload.optimizer, offload.gradients, offload.parameters];
        let mut need = 0.0;
        if states.iter().any(Option::is_some) {
            need += bytes * parameters / shard;
        }
        if offload.activations.is_some() {
            let tokens = run.seq_len as f64 * run.micro_batch as f64 / run.cp as f64;
            let width = (self.model.hidden + self.model.ffn) as f64;
            let layers = self.model.layers as f64;
            need += 16.0 * tokens * width * layers / run.tp as f64;
        }
        let gpus = run.gpus_per_node.unwrap_or(gpu.per_node).min(run.training_gpus());
        let gib = Bytes(need * gpus as f64).gib();
        let enough = (gib / 64.0).ceil().clamp(1.0, 1e5) * 64.0;
        let message = t!(
            "say how much memory a node's host has: something is offloaded to it, {enough} GiB are enough here",
            enough = format!("{enough:.0}")
        );
        self.refuse("host_memory_gib", message, enough);
    }

    /// Source: DeepSpeed `runtime/zero/offload_config.py` and `stage_1_and_2.py`.
    fn deepspeed(&mut self, offload: Offload) {
        if offload.parameters.is_some() && self.run.zero < 3 {
            let message = "DeepSpeed offloads parameters with ZeRO-3 only";
            self.issues.push(Issue::error("offload.parameters", message).with_fix("zero", "3"));
        } else if offload.optimizer.is_some() && self.run.zero < 1 {
            let message = "DeepSpeed offloads the optimizer with ZeRO-1, 2 or 3";
            self.issues.push(Issue::error("offload.optimizer", message).with_fix("zero", "2"));
        }
        let disk = offload.optimizer == Some(OffloadTo::Nvme);
        if disk && (1..3).contains(&self.run.zero) {
            let message = "DeepSpeed writes states to disks with ZeRO-3 only";
            self.issues.push(Issue::error("offload.optimizer", message).with_fix("zero", "3"));
        }
        if offload.gradients.is_some() && offload.optimizer.is_none() {
            let message = "gradients go where the optimizer is: offload it too";
            self.issues.push(Issue::error("offload.gradients", message).with_fix("offload.optimizer", "cpu"));
        }
    }

    /// Source: Megatron-LM `transformer_config.py` and `optimizer/__init__.py`.
    fn megatron(&mut self, offload: Offload) {
        for (field, to) in
            [("offload.parameters", self.run.offload.parameters), ("offload.gradients", self.run.offload.gradients)]
        {
            if to.is_some() {
                self.refuse(field, "Megatron-LM offloads states of the optimizer and activations only", "");
            }
        }
        if offload.optimizer.is_some() {
            if self.run.zero == 0 {
                let message = "Megatron-LM offloads the states of its distributed optimizer only";
                self.issues.push(Issue::error("offload.optimizer", message).with_fix("zero", "1"));
            }
            let steps = [Optimizer::Adam, Optimizer::Sgd, Optimizer::SgdMomentum];
            if !steps.contains(&self.run.optimizer) {
                self.refuse("optimizer", "Megatron-LM steps Adam and SGD on the host, no other optimizer", "adam");
            }
        }
        if let Some(leaving) = offload.activations.filter(|leaving| !leaving.are_all()) {
            if leaving.hold(Leaving::AttnProj) && !leaving.hold(Leaving::CoreAttn) {
                let message = "Megatron-LM offloads attn_proj with core_attn only: it is what that returned";
                self.refuse("offload.activations", message, "core_attn,attn_proj");
            }
        } else if offload.activations.is_some() {
            let most = self.model.layers.saturating_sub(1).max(1);
            if offload.layers.is_some_and(|layers| layers > most) {
                let message = t!("Megatron-LM offloads at most {most} of these layers", most = most);
                self.refuse("offload.layers", message, most);
            }
            if self.run.pp > 1 {
                self.refuse("offload.activations", "Megatron-LM offloads activations without a pipeline only", "");
            } else if self.run.recompute != Recompute::None {
                let message = "Megatron-LM offloads activations without recomputation only";
                self.issues.push(Issue::error("offload.activations", message).with_fix("recompute", "none"));
            }
        }
    }

    /// Source: PyTorch `fsdp/_fully_shard/_fsdp_api.py`, `CPUOffloadPolicy`.
    fn fsdp2(&mut self, offload: Offload) {
        if offload.parameters.is_none() && offload.optimizer.or(offload.gradients).is_some() {
            let field = if offload.optimizer.is_some() { "offload.optimizer" } else { "offload.gradients" };
            let message = "FSDP offloads parameters, gradients and states together";
            self.issues.push(Issue::error(field, message).with_fix("offload.parameters", "cpu"));
        } else if offload.parameters.is_some() && self.run.zero < 3 {
            let message = "FSDP that offloads shards parameters: ZeRO-3";
            self.issues.push(Issue::error("offload.parameters", message).with_fix("zero", "3"));
        }
    }

    /// Source: torchao `optim/cpu_offload.py`.
    fn torchao(&mut self, offload: Offload) {
        if self.run.training_gpus() > 1 {
            self.refuse("offload.framework", "torchao's offloaded optimizer runs on one GPU", "deepspeed");
        }
        if offload.parameters.is_some() {
            self.refuse("offload.parameters", "torchao keeps the parameters on the GPU; FSDP offloads them", "");
        }
        let summed = self.run.global_batch > self.run.micro_batch;
        if offload.gradients.is_some() && offload.optimizer.is_some() && summed {
            let message = "torchao frees each gradient as it leaves: several micro-batches cannot be summed";
            self.refuse("offload.gradients", message, "");
        }
    }
}
