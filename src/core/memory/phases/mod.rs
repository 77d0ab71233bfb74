//! Memory of the phases of reinforcement learning: what is on a GPU while each of the models works.
//!
//! A phase = what works + what the others leave. Of a trained model weights and states stay, of a frozen one its
//! weights, unless models leave the GPU while they do not work; of the rollout engine its reservation, unless it
//! sleeps. Weights are handed over beside the engine's own, before its cache is there again: `2 P / t_r` bytes, and a
//! bucket or the largest tensor. The reservation is given, not computed. Source: verl `workers/fsdp_workers.py`
//! (`rollout_mode`,
//! `update_weights_bucket_megabytes`), NeMo-RL `algorithms/grpo.py` (`refit_policy_generation`), `OpenRLHF`
//! `cli/train_ppo_ray.py` (`colocate_...`), TRL `grpo_config.py` (`vllm_mode`).

mod explain;
mod members;

pub(crate) use explain::explain;
pub use members::Phase;
pub(crate) use members::{away, phases, policy_on_host};
