//! Phases of reinforcement learning against the layouts of the frameworks and their published byte counts.

use shardscope::core::memory::Verdict;
use shardscope::core::report::{Memory, report};
use shardscope::core::run::{Based, Run};
use shardscope::core::units::Bytes;

/// Parameters of Llama-3.1-8B.
const P: f64 = 8_030_261_248.0;

/// FSDP2 on eight H100, as verl's examples train 8B models.
fn with(pairs: &[(&str, &str)]) -> Run {
    let run = Run {
        stack: Based::preset("fsdp2"),
        precision: Based::preset("fsdp-mixed"),
        gpus: 8,
        tp: 1,
        pp: 1,
        zero: 3,
        seq_len: 4096,
        global_batch: 8,
        recompute: shardscope::core::run::Recompute::Full,
        ..Run::default()
    };
    crate::common::with(&run, pairs)
}

fn memory(pairs: &[(&str, &str)]) -> Memory {
    crate::common::figures(&with(pairs)).memory
}

fn phase(memory: &Memory, name: &str) -> shardscope::core::memory::StageMemory {
    let found = memory.phases.iter().find(|phase| phase.name == name);
    found.unwrap_or_else(|| panic!("{name}")).memory.clone()
}

fn item(memory: &shardscope::core::memory::StageMemory, name: &str) -> f64 {
    let own = memory.items.iter().filter(|item| item.name == name);
    own.map(|item| item.bytes.0).sum()
}

const VERL: (&str, &str) = ("phases.framework", "verl");

/// verl with `param_offload` and `optimizer_offload` off: 4 P / N of fp32 parameters and 8 P / N of states stay beside
/// the engine, which reserves half of the GPU; with both on nothing of the policy stays.
#[test]
fn what_training_leaves_stands_beside_the_engine() {
    let stays = memory(&[VERL, ("phases.reference", "false")]);
    let rollout = phase(&stays, "rollout");
    let policy = item(&rollout, "policy");
    assert!((policy / (12.0 * P / 8.0) - 1.0).abs() < 1e-6, "{policy}");
    let engine = item(&rollout, "rollout engine");
    assert!((engine / (0.5 * stays.capacity_bytes.0) - 1.0).abs() < 1e-9);
    let leaves = memory(&[VERL, ("phases.offload", "true"), ("phases.rollout_gib", "40")]);
    let rollout = phase(&leaves, "rollout");
    assert_eq!(item(&rollout, "policy"), 0.0);
    assert_eq!(rollout.allocated(), Bytes::from_gib(40.0));
}

/// The order of verl PR 729: weights are handed over to an engine whose weights alone are awake, `2 P / t_r`, through a
/// bucket of 2 GiB, before its cache is.
#[test]
fn weights_are_handed_over_before_the_cache_is_awake() {
    let staged = memory(&[VERL, ("phases.rollout_tp", "2"), ("phases.offload", "true")]);
    let sync = phase(&staged, "weight synchronisation");
    let engine = item(&sync, "rollout engine");
    assert!((engine / (2.0 * P / 2.0) - 1.0).abs() < 1e-9, "{engine}");
    let shard = item(&sync, "policy");
    assert!((shard / (2.0 * P / 8.0) - 1.0).abs() < 1e-6, "{shard}");
    assert_eq!(item(&sync, "weights on their way"), 2.0 * f64::from(1 << 30));
    // An engine that does not sleep has its whole reservation then (vLLM issue 15254).
    let awake = memory(&[VERL, ("phases.sleep", "off"), ("phases.offload", "true")]);
    let awake = phase(&awake, "weight synchronisation");
    assert!(awake.total.0 > sync.total.0 + 10e9);
}

/// A critic gives one number a token: no logits, no head (`OpenRLHF`, verl).
#[test]
fn a_critic_has_no_logits() {
    let all = memory(&[VERL, ("phases.critic", "policy"), ("phases.offload", "true")]);
    let (critic, policy) = (phase(&all, "critic update"), phase(&all, "policy update"));
    assert!(item(&policy, "logits") > 0.0);
    assert_eq!(item(&critic, "logits"), 0.0);
    assert!(critic.total.0 < policy.total.0);
    // fp32 parameters and states of all but the head, 128,256 x 4,096.
    let lasting = (critic.weights + critic.optimizer).0;
    let own = 12.0 * (P - 128_256.0 * 4096.0) / 8.0;
    assert!((lasting / own - 1.0).abs() < 1e-6, "{lasting} {own}");
}

/// The base with its adapters off is the reference (TRL, verl): no second copy.
#[test]
fn a_policy_of_adapters_needs_no_second_copy() {
    let full = memory(&[VERL]);
    let adapters = memory(&[VERL, ("adapter.method", "lora"), ("precision", "bf16")]);
    let reference = |memory: &Memory| memory.phases.iter().any(|phase| phase.name.contains("reference"));
    assert!(reference(&full) && !reference(&adapters));
    assert!(adapters.peak_bytes.0 < full.peak_bytes.0);
}

/// The verdict is that of the largest phase; what stands apart is counted apart.
#[test]
fn the_largest_phase_decides_and_models_apart_need_less() {
    let training = memory(&[]);
    assert!(training.phases.is_empty() && training.verdict == Verdict::Fits);
    let models = [("phases.critic", "policy"), ("phases.reward", "policy")];
    let peak = |placement: &'static str| {
        let mut pairs = vec![VERL, ("phases.placement", placement)];
        pairs.extend(models);
        let memory = memory(&pairs);
        let largest = memory.phases.iter().map(|phase| phase.memory.total.0);
        let largest = largest.fold(0.0, f64::max);
        assert_eq!(memory.peak_bytes.0, largest);
        largest
    };
    let order = ["apart", "pairs", "engine-apart", "colocated"].map(peak);
    assert!(order.is_sorted(), "{order:?}");
    let squeezed = memory(&[VERL, ("phases.rollout_gib", "75"), ("phases.sleep", "off")]);
    assert_eq!(squeezed.verdict, Verdict::Oom);
}

/// On the host wait weights, master weights and moments of the policy, `2 P + 12 P / d` under Megatron's distributed
/// optimizer (`docs/dist_optimizer.md`), weights of the reference and of the engine, 2 P each; gradients in no format:
/// Megatron core frees their buffers and makes them again (`param_and_grad_buffer.py`, `offload_to_cpu`).
#[test]
fn no_gradients_wait_on_the_host() {
    for grads in ["4", "2"] {
        let run = [("stack", "megatron-2025"), ("precision", "bf16-fp32-grads"), ("zero", "1"), VERL];
        let more = [("phases.offload", "true"), ("precision.grads", grads)];
        let host = memory(&[&run[..], &more].concat()).host.unwrap();
        let expected = 8.0 * (2.0 + 12.0 / 8.0 + 2.0 + 2.0) * P;
        assert!((host.total_bytes.0 / expected - 1.0).abs() < 1e-6, "{grads}: {} {expected}", host.total_bytes.0);
    }
}

/// Engines that sleep at level 1 keep their weights on the host, `2 P / t_r` a GPU (vLLM, sleep mode).
#[test]
fn a_sleeping_engines_weights_wait_on_the_host() {
    let host = memory(&[VERL]).host.unwrap();
    assert!((host.total_bytes.0 / (8.0 * 2.0 * P) - 1.0).abs() < 1e-9);
    assert!(memory(&[VERL, ("phases.sleep", "2")]).host.is_none());
}

#[test]
fn phases_that_cannot_be_are_refused_with_what_would_work() {
    for (field, pairs) in [
        ("phases.framework", vec![("phases.critic", "policy")]),
        ("phases.rollout_gib", vec![VERL, ("phases.rollout_gib", "100")]),
        ("phases.rollout_tp", vec![VERL, ("phases.rollout_tp", "3")]),
        ("phases.critic", vec![VERL, ("phases.critic", "gpt-2-xl"), ("tp", "8"), ("zero", "0")]),
    ] {
        let run = with(&pairs);
        let errors = report(&run).unwrap_err().errors;
        assert_eq!(errors[0].field, field, "{errors:?}");
        let fix = errors[0].fix.as_ref().unwrap();
        assert!(report(&run.with_texts(&fix.set).unwrap()).is_ok(), "{field}");
    }
}
