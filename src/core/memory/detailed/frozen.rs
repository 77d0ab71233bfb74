//! Tensors of a layer that a frozen linear still keeps for the backward pass.
//!
//! `y = x W` needs x for the gradient of W and W for that of x: a frozen linear keeps no input, one with an adapter
//! keeps it for the gradient of A. Norms, attention and the product of a gated FFN read the same whatever is trained.
//! Source: bitsandbytes `autograd/_functions.py` (`MatMul4Bit` saves no input), PEFT `lora/layer.py`.

use crate::model::{Role, Target};
use crate::run::Scenario;

/// The share of a tensor of `role` that stays with a frozen base: 1 where everything is trained.
pub fn kept(scenario: &Scenario, role: Role) -> f64 {
    let Some(adapter) = &scenario.adapter else {
        return 1.0;
    };
    let any = |targets: &[Target]| targets.iter().any(|target| adapter.adapts(*target));
    let share = |kept: bool| if kept { 1.0 } else { 0.0 };
    match role {
        Role::AttentionNorm => share(any(&[Target::Query, Target::Key, Target::Value])),
        Role::FfnNorm => share(any(&[Target::Gate, Target::Up])),
        Role::Routed => share(adapter.adapts_experts(&[Target::Gate, Target::Up])),
        // Of an unfused SwiGLU half is the activated gate, which the product's backward pass reads.
        Role::DenseDown | Role::RoutedDown
            if !any(&[Target::Down]) || role == Role::RoutedDown && !adapter.adapts_experts(&[Target::Down]) =>
        {
            let unfused = scenario.model.gated_ffn && !scenario.software.fused_swiglu;
            if unfused { 0.5 } else { 0.0 }
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::chunk_activation_bytes;
    use crate::model::Target;
    use crate::run::{AdapterMethod, Run, Scenario};

    /// A dense layer with nothing adapted but one linear keeps `T (4 h + 4 a e + 4 k e + 4 f) + 4 a T`; all seven add
    /// `T (4 h + 2 f)`, and keep exactly what full fine-tuning keeps. PEFT issue 1514: LoRA saves states, not
    /// activations.
    #[test]
    fn adapting_all_linears_keeps_what_full_fine_tuning_keeps() {
        let (h, f, kv, a, t, layers) = (4096.0, 14336.0, 1024.0, 32.0, 8192.0, 32.0);
        let kept = |targets: Option<&[Target]>| {
            let mut run = Run { gpus: 1, tp: 1, pp: 1, global_batch: 1, ..Run::default() };
            run.cross_entropy = Some(crate::run::CrossEntropy::FusedLinear);
            run.adapter.targets = targets.map(<[Target]>::to_vec);
            run.adapter.method = targets.map(|_| AdapterMethod::Lora);
            let scenario = Scenario::new(&run).unwrap();
            let head = 4.0 * t * h;
            (chunk_activation_bytes(&scenario, 0).0 - head) / layers - 4.0 * a * t
        };
        let linears: Vec<Target> = {
            use Target::{Down, Gate, Key, Output, Query, Up, Value};
            vec![Query, Key, Value, Output, Gate, Up, Down]
        };
        let least = t * (4.0 * h + 4.0 * h + 4.0 * kv + 4.0 * f);
        let near = |ours: f64, said: f64| assert!((ours / said - 1.0).abs() < 1e-12, "{ours} {said}");
        near(kept(Some(&[Target::Output])), least);
        near(kept(Some(&[Target::Query, Target::Value])), least + 2.0 * t * h);
        near(kept(Some(&linears)), least + t * (4.0 * h + 2.0 * f));
        near(kept(Some(&linears)), kept(None));
    }
}
