//! Programs that launch Megatron-LM's core: Megatron-Bridge, Primus, NeMo-RL, verl, slime, ms-swift, LLaMA-Factory and
//! the environment files of MLPerf.
//!
//! Sources, each at a commit of August 2026 unless it is said: NVIDIA-NeMo/Megatron-Bridge 067f987
//! `training/config.py`,
//! `training/mixed_precision.py`, `scripts/performance/argument_parser.py`; AMD-AGI/Primus fd1eeab `primus/configs`;
//! NVIDIA-NeMo/RL 7ea279a `examples/configs`; verl-project/verl b178a3c (January 2026) `trainer/config`; THUDM/slime
//! 624b824
//! `slime/utils/arguments.py`; modelscope/ms-swift 3602360 `swift/megatron/arguments`; hiyouga/LLaMA-Factory ff6d4d1
//! `examples/megatron`; `mlcommons/training_results_v5.1` 4da2d1c `config_*.sh`.

use super::source::Settings;
use super::table::{Program, STAGES, SettingRow, Together, by, otherwise, row, when};
use super::values::{
    ADAPTED, DYNAMIC, LENGTHS, cache_precision, colocated, engine, engine_of_verl, engine_precision, estimator,
    estimator_of_slime, forced, full, gpu, gpus, groups, leaves, limit, measured, modules, objective, on, precision,
    prefers, prompts, rank, recipe, reference, rewards, sequence, teacher, tunes,
};
use crate::dialect::text::words::entries;
use crate::dialect::{SettingEntries, megatron};
use shardscope_core::run::Value;

/// The sections of a configuration of Megatron-Bridge.
#[rustfmt::skip]
static BRIDGE_ROWS: [SettingRow; 34] = [
    by("def", recipe),
    by("begins with", recipe),
    by("--recipe", recipe),
    by("recipe", recipe),
    row("model.0", "model"),
    row("model.hf_path", "model"),
    row("--hf-path", "model"),
    row("--model-recipe-name", "model"),
    row("--model-name", "model"),
    row("--model-size", "model"),
    by("mixed_precision", precision),
    by("mixed_precision.0", measured),
    by("--compute-dtype", measured),
    by("--recompute-modules", modules),
    by("--gpu", gpu),
    by("--num-gpus", gpus),
    row("--gpus-per-node", "@gpus_per_node"),
    row("--max-steps", "--train-iters"),
    row("--activation-offload-layers", "--cpu-offloading-num-layers"),
    row("--moe-a2a-overlap", "--overlap-moe-expert-parallel-comm"),
    row("--task", "peft.kind"),
    row("--*", "--*"),
    by("model.recompute_modules", modules),
    by("model.num_query_groups", groups),
    row("model.*", "--*"),
    row("dataset.seq_length", "--seq-length"),
    row("dataset.sequence_length", "--seq-length"),
    row("train.*", "--*"),
    row("ddp.*", "--*"),
    row("mixed_precision.grad_reduce_in_fp32", "--grad-reduce-in-fp32"),
    row("optimizer.*", "--*"),
    row("comm_overlap.*", "--*"),
    row("peft.dim", "peft.rank"),
    row("peft.target_modules", "peft.targets"),
];

/// A command line of Megatron-Bridge, or a recipe as a file of Python.
pub(super) static BRIDGE: Program = Program {
    name: "Megatron-Bridge",
    is: |s| {
        s.begins(&["--model-recipe-name"]) || s.is_bridge_before()
            || s.begins(&["--recipe"]) && s.begins(&["model.", "train.", "--recipe"]) && s.text.contains("recipe")
            // Files of NeMo before have Lightning's trainer.
            || s.begins(&["model.tensor_model_parallel_size", "model.pipeline_model_parallel_size"])
                && !s.begins(&["trainer.", "run."])
    },
    base: &megatron::DIALECT,
    rows: &BRIDGE_ROWS,
    together: &[],
    silent: "--bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
        --cross-entropy-loss-fusion --cross-entropy-fusion-impl te --cuda-graph-impl none",
    says: None,
};

pub(super) static PRIMUS: Program = Program {
    name: "Primus",
    is: |s| ["pre", "sft", "post"].iter().any(|kind| s.is(&format!("modules.{kind}_trainer.framework"), "megatron")),
    base: &megatron::DIALECT,
    rows: &[
        row("modules.*.model", "model"),
        when("modules.*.overrides.lora.enabled", ADAPTED),
        row("modules.*.overrides.lora.dim", "peft.rank"),
        row("modules.*.overrides.*", "--*"),
        row("platform.num_nodes", "--nnodes"),
        // Files of a model and of a trainer that stand before it.
        row("extends", "?extends"),
        row("*", "--*"),
    ],
    together: &[],
    silent: "--bf16 --use-distributed-optimizer --nproc-per-node 8 --@gpu mi300x",
    says: super::table::FILES_OF_PRIMUS,
};

pub(super) static NEMO_RL: Program = Program {
    name: "NeMo-RL",
    is: |s| {
        s.begins(&["policy.megatron_cfg."])
            && (s.number("policy.megatron_cfg.enabled") == Some(1.0)
                || s.number("policy.megatron_cfg.enabled").is_none()
                    && s.number("policy.dtensor_cfg.enabled") != Some(1.0))
    },
    base: &megatron::DIALECT,
    rows: &[
        row("policy.model_name", "model"),
        row("policy.train_global_batch_size", "--global-batch-size"),
        row("policy.train_micro_batch_size", "--micro-batch-size"),
        row("policy.max_total_sequence_length", "--seq-length"),
        by("policy.precision", precision),
        by("policy.megatron_cfg.activation_checkpointing", full),
        // Layers that are computed again where that is switched on.
        row("policy.megatron_cfg.recompute_granularity", "?"),
        row("policy.megatron_cfg.recompute_modules", "?recompute_modules"),
        row("policy.megatron_cfg.distributed_data_parallel_config.*", "--*"),
        row("policy.megatron_cfg.optimizer.*", "--*"),
        row("policy.megatron_cfg.peft.dim", "peft.rank"),
        when("policy.megatron_cfg.peft.enabled", ADAPTED),
        when("policy.megatron_cfg.fp8_cfg.enabled", FP8),
        row("policy.megatron_cfg.fp8_cfg.fp8_recipe", "--fp8-recipe"),
        row("policy.megatron_cfg.fp8_cfg.fp8_param", "--fp8-param-gather"),
        row("policy.megatron_cfg.*", "--*"),
        row("policy.generation.vllm_cfg.tensor_parallel_size", "@phases.rollout_tp"),
        row("policy.generation.vllm_cfg.gpu_memory_utilization", "@share"),
        by("grpo.num_prompts_per_step", prompts),
        row("grpo.num_generations_per_prompt", "@rl.samples"),
        by("loss_fn.force_on_policy_ratio", forced),
        by("loss_fn.reference_policy_kl_penalty", reference),
        row("policy.generation.vllm_cfg.enforce_eager", "@rl.eager"),
        by("policy.generation.backend", engine),
        by("policy.generation.vllm_cfg.precision", engine_precision),
        by("policy.generation.vllm_cfg.kv_cache_dtype", cache_precision),
        row("policy.generation.vllm_kwargs.max_num_seqs", "@rl.max_sequences"),
        row("cluster.num_nodes", "--nnodes"),
        row("cluster.gpus_per_node", "--nproc-per-node"),
        by("dpo.*", prefers),
        by("sft.*", tunes),
        by("rm.*", rewards),
    ],
    together: &NEMO_RL_TOGETHER,
    silent: "--bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --grad-reduce-in-bf16 \
        --use-precision-aware-optimizer --no-gradient-accumulation-fusion --nnodes 1 --nproc-per-node 8 \
        --@phases.framework nemo-rl",
    says: super::table::FULL_LENGTH,
};

/// The sequence of reinforcement learning: the prompt and the answer.
const VERL_SEQUENCE: [(&str, Option<f64>); 2] =
    [("data.max_prompt_length", Some(512.0)), ("data.max_response_length", Some(512.0))];

/// Settings of a step that follow from several of NeMo-RL together. The engine's sequences are as long as the
/// training's, so that a response is at most that long.
pub(super) const NEMO_RL_TOGETHER: [Together; 4] = [
    Together {
        from: &[
            ("grpo.num_prompts_per_step", None),
            ("policy.max_total_sequence_length", None),
            ("policy.generation.max_new_tokens", Some(f64::INFINITY)),
        ],
        to: "@rl.response_limit",
        of: |n| Some(n[1].min(n[2])),
    },
    Together {
        from: &[
            ("grpo.num_prompts_per_step", None),
            ("grpo.num_generations_per_prompt", None),
            ("policy.train_global_batch_size", None),
        ],
        to: "@rl.updates",
        of: |n| (n[2] > 0.0).then(|| (n[0] * n[1] / n[2]).floor().max(1.0)),
    },
    Together {
        from: &[
            ("grpo.num_prompts_per_step", None),
            ("policy.generation.colocated.enabled", None),
            ("policy.generation.colocated.resources.num_nodes", Some(1.0)),
            ("policy.generation.colocated.resources.gpus_per_node", None),
        ],
        to: "@rl.rollout_gpus",
        of: |n| (n[1] == 0.0).then(|| n[2] * n[3]),
    },
    Together {
        from: &[
            ("grpo.num_prompts_per_step", None),
            ("grpo.async_grpo.enabled", None),
            ("grpo.async_grpo.max_trajectory_age_steps", Some(1.0)),
        ],
        to: "@rl.staleness",
        of: |n| (n[1] > 0.0).then(|| n[2]),
    },
];

/// The tokens of a micro-batch of verl, with its default, the sequence, and what the tokens are multiplied by: those of
/// a rank are a part of them. Source: verl b178a3c `verl/workers/actor/megatron_actor.py:806`, `dp_actor.py:552`,
/// `verl/trainer/config/actor/actor.yaml:33`.
pub(super) const VERL_BUDGET: [(&str, Option<f64>); 5] = [
    ("actor_rollout_ref.actor.use_dynamic_bsz", None),
    ("actor_rollout_ref.actor.ppo_max_token_len_per_gpu", Some(16384.0)),
    VERL_SEQUENCE[0],
    VERL_SEQUENCE[1],
    ("actor_rollout_ref.actor.megatron.context_parallel_size", Some(1.0)),
];

/// The micro-batch of verl over all ranks, with the GPUs and the degrees whose ranks share a sequence. Source: verl
/// b178a3c `verl/workers/megatron_workers.py:357`, `verl/workers/fsdp_workers.py:249`.
const VERL_MICRO: [(&str, Option<f64>); 6] = [
    ("actor_rollout_ref.actor.ppo_micro_batch_size", None),
    ("trainer.nnodes", Some(1.0)),
    ("trainer.n_gpus_per_node", Some(8.0)),
    ("actor_rollout_ref.actor.megatron.tensor_model_parallel_size", Some(1.0)),
    ("actor_rollout_ref.actor.megatron.pipeline_model_parallel_size", Some(1.0)),
    ("actor_rollout_ref.actor.megatron.context_parallel_size", Some(1.0)),
];
/// As above, of FSDP.
pub(super) const VERL_MICRO_OF_SHARDS: [(&str, Option<f64>); 4] = [
    VERL_MICRO[0],
    VERL_MICRO[1],
    VERL_MICRO[2],
    ("actor_rollout_ref.actor.ulysses_sequence_parallel_size", Some(1.0)),
];

/// GPUs of verl's engines beside the trainer's, in `fully_async_policy` and `one_step_off_policy`. Source: verl b178a3c
/// `verl/experimental/fully_async_policy/config/fully_async_ppo_trainer.yaml`.
const APART: [(&str, Option<f64>); 2] = [("rollout.nnodes", None), ("rollout.n_gpus_per_node", Some(8.0))];
/// The mode of the trainer's first edition whose engines have GPUs of their own, and these; each node has as many as
/// the trainer's where it is not said. A batch is what is trained on between two weight syncs. Source:
/// verl-project/verl 1dda039 `verl/trainer/ppo/v1/trainer_separate_async.py:52`,
/// `verl/trainer/config/rollout/rollout.yaml:11`.
const SEPARATE: (&str, Option<f64>) = ("trainer.v1.trainer_mode=separate_async", None);
const MODE: (&str, Option<f64>) = ("trainer.v1.trainer_mode", Some(0.0));
const NODES_APART: (&str, Option<f64>) = ("actor_rollout_ref.rollout.nnodes", None);
const GPUS_APART: (&str, Option<f64>) = ("actor_rollout_ref.rollout.n_gpus_per_node", Some(0.0));

/// `count`, or `other` where it is not said.
fn or(count: f64, other: f64) -> f64 {
    if count > 0.0 { count } else { other }
}

/// Batches between two weight syncs of `fully_async_policy`, and mini-batches of each: a step generates all of them.
/// The staleness threshold is the share of them that may have been started before. Source: the same,
/// `docs/advance/fully_async.md` and `fully_async_rollouter.py:197`.
const ASYNC_ROUNDS: (&str, Option<f64>) = ("async_training.trigger_parameter_sync_step", Some(0.0));
const ASYNC_BATCHES: (&str, Option<f64>) = ("async_training.require_batches", Some(1.0));

/// Settings that follow from several of verl together; the names of the base are those of Megatron-LM or of torchtitan.
pub(super) const fn verl_together(
    length: &'static str,
    global: &'static str,
    micro: &'static str,
    budget: &'static [(&'static str, Option<f64>)],
    shared: &'static [(&'static str, Option<f64>)],
) -> [Together; 16] {
    [
        // Its older name counts the sequences of all ranks that have their own.
        Together {
            from: shared,
            to: micro,
            of: |n| {
                let degrees: f64 = n[3..].iter().map(|degree| degree.max(1.0)).product();
                Some((n[0] * degrees / (n[1] * n[2]).max(1.0)).floor().max(1.0))
            },
        },
        Together { from: &VERL_SEQUENCE, to: length, of: |n| Some(n.iter().sum()) },
        Together {
            from: &[("actor_rollout_ref.actor.ppo_mini_batch_size", None), ("actor_rollout_ref.rollout.n", Some(1.0))],
            to: global,
            of: |n| Some(n.iter().product()),
        },
        Together { from: &[("actor_rollout_ref.rollout.n", Some(1.0))], to: "@rl.samples", of: |n| n.first().copied() },
        Together { from: &[VERL_SEQUENCE[1]], to: "@rl.response_limit", of: |n| n.first().copied() },
        Together {
            from: &[
                ("data.train_batch_size", Some(1024.0)),
                ("actor_rollout_ref.actor.ppo_mini_batch_size", Some(256.0)),
                ASYNC_ROUNDS,
                ASYNC_BATCHES,
            ],
            to: "@rl.updates",
            of: |n| {
                let rounds = (n[2] > 0.0).then(|| n[2] * n[3]);
                rounds.or((n[1] > 0.0).then(|| (n[0] / n[1]).floor().max(1.0)))
            },
        },
        Together {
            from: &[
                (ASYNC_ROUNDS.0, None),
                ASYNC_BATCHES,
                ("actor_rollout_ref.actor.ppo_mini_batch_size", Some(256.0)),
                ("data.train_batch_size", Some(0.0)),
            ],
            to: "@rl.prompts",
            of: |n| Some(n[0] * n[1] * n[2]),
        },
        Together {
            from: &[APART[0], APART[1], ("trainer.nnodes", Some(1.0)), ("trainer.n_gpus_per_node", Some(8.0))],
            to: "@gpus",
            of: |n| Some(n[0] * n[1] + n[2] * n[3]),
        },
        Together {
            from: &[APART[0], APART[1], ("actor_rollout_ref.hybrid_engine", Some(0.0))],
            to: "@rl.rollout_gpus",
            of: |n| Some(n[0] * n[1]),
        },
        Together {
            from: &[("async_training.staleness_threshold", None), APART[0]],
            to: "@rl.staleness",
            of: |n| n.first().copied(),
        },
        // Its engines generate the next batch while this one is trained on: `docs/advance/one_step_off.md`.
        Together {
            from: &[APART[0], ("~one_step_off_policy", None)],
            to: "@rl.staleness",
            of: |n| (n[1] > 0.0).then_some(1.0),
        },
        Together {
            from: &[
                SEPARATE,
                NODES_APART,
                GPUS_APART,
                ("trainer.nnodes", Some(1.0)),
                ("trainer.n_gpus_per_node", Some(8.0)),
                MODE,
            ],
            to: "@gpus",
            of: |n| (n[0] > 0.0).then(|| n[1] * or(n[2], n[4]) + n[3] * n[4]),
        },
        Together {
            from: &[SEPARATE, NODES_APART, GPUS_APART, ("trainer.n_gpus_per_node", Some(8.0)), MODE],
            to: "@rl.rollout_gpus",
            of: |n| (n[0] > 0.0).then(|| n[1] * or(n[2], n[3])),
        },
        // One batch of theirs is generated before the first step, and so waits for the one before it.
        Together {
            from: &[SEPARATE, ("trainer.v1.separate_async.num_warmup_batches", Some(1.0)), MODE],
            to: "@rl.staleness",
            of: |n| (n[0] > 0.0).then_some(n[1]),
        },
        Together {
            from: &[
                ("trainer.v1.trainer_mode=colocate_async", None),
                ("trainer.v1.colocate_async.num_warmup_batches", Some(1.0)),
                MODE,
            ],
            to: "@rl.staleness",
            of: |n| (n[0] > 0.0).then_some(n[1]),
        },
        // With batches of tokens a micro-batch is as many whole sequences as they hold.
        Together {
            from: budget,
            to: micro,
            of: |n| {
                let ranks = n[4..].iter().copied().fold(1.0, f64::max);
                (n[0] > 0.0).then(|| (n[1] * ranks / (n[2] + n[3]).max(1.0)).floor().max(1.0))
            },
        },
    ]
}

pub(super) static VERL: Program = Program {
    name: "verl",
    is: |s| {
        s.begins(&["actor_rollout_ref.actor.megatron."])
            || s.is("actor_rollout_ref.actor.strategy", "megatron")
            || s.begins(&["actor_rollout_ref."]) && s.is("model_engine", "megatron")
            || s.begins(&["actor_rollout_ref."]) && s.has_defaults_of_megatron()
    },
    base: &megatron::DIALECT,
    rows: &[
        row("actor_rollout_ref.model.path", "model"),
        by("actor_rollout_ref.actor.strategy", engine_of_verl),
        row("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", "--micro-batch-size"),
        when("actor_rollout_ref.actor.use_dynamic_bsz", DYNAMIC),
        by("actor_rollout_ref.actor.megatron.param_offload", leaves),
        by("actor_rollout_ref.actor.megatron.optimizer_offload", leaves),
        by("actor_rollout_ref.actor.megatron.grad_offload", leaves),
        row("actor_rollout_ref.actor.megatron.override_transformer_config.*", "--*"),
        row("actor_rollout_ref.actor.megatron.*", "--*"),
        // Megatron-LM's `OptimizerConfig`, as verl hands it on.
        row("actor_rollout_ref.actor.optim.override_optimizer_config.*", "--*"),
        by("actor_rollout_ref.actor.use_kl_loss", reference),
        by("actor_rollout_ref.model.lora_rank", rank),
        by("actor_rollout_ref.model.lora.rank", rank),
        row("actor_rollout_ref.rollout.tensor_model_parallel_size", "@phases.rollout_tp"),
        row("actor_rollout_ref.rollout.gpu_memory_utilization", "@share"),
        by("algorithm.adv_estimator", estimator),
        otherwise("data.train_batch_size", "@rl.prompts", "async_training.trigger_parameter_sync_step"),
        by("async_training.use_rollout_log_probs", forced),
        row("actor_rollout_ref.actor.ppo_epochs", "@rl.epochs"),
        row("actor_rollout_ref.rollout.max_num_seqs", "@rl.max_sequences"),
        row("actor_rollout_ref.rollout.enforce_eager", "@rl.eager"),
        by("actor_rollout_ref.rollout.name", engine),
        row("trainer.nnodes", "--nnodes"),
        row("trainer.n_gpus_per_node", "--nproc-per-node"),
    ],
    together: &verl_together("--seq-length", "--global-batch-size", "--micro-batch-size", &VERL_BUDGET, &VERL_MICRO),
    silent: "--bf16 --use-distributed-optimizer --sequence-parallel --micro-batch-size 1 --nnodes 1 --nproc-per-node \
        8 --@phases.framework verl --@rl.algorithm ppo --@rl.prompts 1024",
    says: super::table::FULL_LENGTH,
};

/// The micro-batch of `sft_trainer_engine.yaml`: as many whole sequences as 8192 tokens of each rank of context or
/// sequence parallelism hold, or a number of them. Source: verl b178a3c `verl/workers/engine/utils.py:76`.
pub(super) const fn tuning_together(
    micro: &'static str,
    budget: &'static [(&'static str, Option<f64>)],
) -> [Together; 1] {
    [Together {
        from: budget,
        to: micro,
        of: |n| Some(if n[0] > 0.0 { (n[1] * n[4].max(1.0) / n[2].max(1.0)).floor().max(1.0) } else { n[3] }),
    }]
}

/// Settings that make it, with their defaults; the last is the degree that its tokens are multiplied by.
pub(super) const fn tuning_budget(degree: &'static str) -> [(&'static str, Option<f64>); 5] {
    [
        ("data.use_dynamic_bsz", Some(1.0)),
        ("data.max_token_len_per_gpu", Some(8192.0)),
        ("data.max_length", Some(1024.0)),
        ("data.micro_batch_size_per_gpu", Some(4.0)),
        (degree, Some(1.0)),
    ]
}

pub(super) static VERL_TUNING: Program = Program {
    name: "verl",
    is: |s| s.is_tuning_of_verl() && s.engine_of_verl() == Some("megatron"),
    base: &megatron::DIALECT,
    rows: &[
        row("model.path", "model"),
        row("data.train_batch_size", "--global-batch-size"),
        row("data.micro_batch_size_per_gpu", "--micro-batch-size"),
        row("data.max_length", "--seq-length"),
        row("engine.override_transformer_config.*", "--*"),
        row("engine.*", "--*"),
        by("model.lora.rank", rank),
        // Ray starts the workers where torchrun does not.
        row("trainer.nnodes", "--nnodes"),
        row("trainer.n_gpus_per_node", "--nproc-per-node"),
        row("--*", "--*"),
    ],
    together: &tuning_together("--micro-batch-size", &tuning_budget("engine.context_parallel_size")),
    silent: "--bf16 --use-distributed-optimizer --sequence-parallel --micro-batch-size 8 --global-batch-size 256 \
        --seq-length 1024 --@dynamic",
    says: super::table::FULL_LENGTH,
};

/// The batch of an update by the samples of a step. Source: slime 624b824 `slime/utils/arguments.py:1972`.
const BATCH_OF_SLIME: Together = Together {
    from: &[("--rollout-batch-size", None), ("--n-samples-per-prompt", Some(1.0)), ("--num-steps-per-rollout", None)],
    to: "--global-batch-size",
    of: |n| Some((n[0] * n[1] / n[2].max(1.0)).floor()),
};

/// A step of slime. Its GPUs are those of the actor, and those of the engines beside them unless they are colocated.
/// Source: THUDM/slime 624b824 `slime/ray/placement_group.py:97`; `train_async.py:38` (the next responses are generated
/// while the last are trained on, weights move every `--update-weights-interval` of them);
/// `slime/backends/megatron_utils/actor.py:461` (one update with weights of that very step reads the old
/// log-probabilities off the loss); `slime/ray/placement_group.py:178` (reference).
const SLIME_TOGETHER: [Together; 10] = [
    Together { from: &[("--rollout-max-response-len", None)], to: "--seq-length", of: |n| n.first().copied() },
    BATCH_OF_SLIME,
    Together {
        from: &[
            ("--use-dynamic-batch-size", None),
            ("--max-tokens-per-gpu", None),
            ("--rollout-max-response-len", None),
            ("--context-parallel-size", Some(1.0)),
        ],
        to: "--micro-batch-size",
        // The tokens are those of a rank: a micro-batch has as many for each rank of context parallelism. Source: slime
        // 624b824 `slime/utils/dp_schedule.py:120`.
        of: |n| Some((n[1] * n[3].max(1.0) / n[2].max(1.0)).floor().max(1.0)),
    },
    Together {
        from: &[
            ("--rollout-num-gpus", None),
            ("--colocate", Some(0.0)),
            ("--actor-num-nodes", Some(1.0)),
            ("--actor-num-gpus-per-node", Some(8.0)),
        ],
        to: "@gpus",
        of: |n| (n[1] == 0.0).then(|| n[2] * n[3] + n[0]),
    },
    Together {
        from: &[("--rollout-num-gpus", None), ("--colocate", Some(0.0))],
        to: "@rl.rollout_gpus",
        of: |n| (n[1] == 0.0).then(|| n[0]),
    },
    Together {
        from: &[
            ("--rollout-num-gpus", None),
            ("--colocate", Some(0.0)),
            ("~train_async", None),
            ("--update-weights-interval", Some(1.0)),
        ],
        to: "@rl.staleness",
        of: |n| (n[1] == 0.0 && n[2] > 0.0).then(|| n[3]),
    },
    Together { from: &SLIME_UPDATES, to: "@rl.updates", of: updates_of_slime },
    Together {
        from: &[
            SLIME_UPDATES[0],
            SLIME_UPDATES[1],
            SLIME_UPDATES[2],
            SLIME_UPDATES[3],
            ("--kl-coef", Some(0.0)),
            ("--use-rollout-logprobs", Some(0.0)),
            ("--keep-old-actor", Some(0.0)),
            ("--advantage-estimator=ppo", None),
            ("--advantage-estimator=gspo", None),
        ],
        to: "@rl.old_log_probs",
        of: |n| {
            let is_one = updates_of_slime(n) == Some(1.0);
            let is_reused = is_one && n[4] == 0.0 && n[6..].iter().all(|told| *told == 0.0);
            Some(if is_reused || n[5] > 0.0 { 0.0 } else { 1.0 })
        },
    },
    Together {
        from: &[("--use-kl-loss", Some(0.0)), ("--kl-coef", Some(0.0))],
        to: "@phases.reference",
        of: |n| Some(f64::from(u8::from(n[0] > 0.0 || n[1] != 0.0))),
    },
    Together {
        from: &[("--rollout-batch-size", None), ("--over-sampling-batch-size", None)],
        to: "@rl.oversampling",
        of: |n| (n[0] > 0.0 && n[1] > n[0]).then(|| n[1] / n[0]),
    },
];

/// Settings that say how many updates slime makes of a step's responses.
const SLIME_UPDATES: [(&str, Option<f64>); 4] = [
    ("--rollout-batch-size", None),
    ("--n-samples-per-prompt", Some(1.0)),
    ("--num-steps-per-rollout", Some(0.0)),
    ("--global-batch-size", Some(0.0)),
];

/// Updates by [`SLIME_UPDATES`]: as said, else the responses over a batch. Source: slime 624b824
/// `slime/utils/arguments.py:1972`.
fn updates_of_slime(n: &[f64]) -> Option<f64> {
    match (n[2] > 0.0, n[3] > 0.0) {
        (true, _) => Some(n[2]),
        (false, true) => Some((n[0] * n[1] / n[3]).floor().max(1.0)),
        (false, false) => None,
    }
}

/// True of slime's settings.
fn is_of_slime(settings: &Settings) -> bool {
    settings.begins(&["--actor-num-nodes", "--rollout-batch-size", "--num-rollout"])
}

/// Settings that say that samples are trained on as they are.
fn of_samples(value: &Value) -> SettingEntries {
    let is_named = value.text().is_some_and(|name| name == "sft_loss" || name.contains(".sft_rollout."));
    if is_named || on(value) { entries(&[("@objective", "next-token")]) } else { Vec::new() }
}

/// Supervised fine-tuning of slime: the "rollout" reads samples, no engine generates. A micro-batch is as many tokens
/// as are packed into it. Source: THUDM/slime 624b824 `slime/rollout/sft_rollout.py`,
/// `slime/backends/megatron_utils/loss.py:1233` (`sft_loss_function`), `slime/utils/arguments.py:914`, `:1594`
/// (`--debug-train-only`), `slime/utils/dp_schedule.py:120`.
pub(super) static SLIME_TUNING: Program = Program {
    name: "slime",
    is: |s| is_of_slime(s) && s.is("--loss-type", "sft_loss"),
    base: &megatron::DIALECT,
    rows: &[
        row("--hf-checkpoint", "model"),
        row("--actor-num-nodes", "--nnodes"),
        row("--actor-num-gpus-per-node", "--nproc-per-node"),
        by("--loss-type", of_samples),
        by("--rollout-function-path", of_samples),
        by("--debug-train-only", of_samples),
        by("--disable-compute-advantages-and-returns", of_samples),
        row("--*", "--*"),
    ],
    together: &[
        BATCH_OF_SLIME,
        Together {
            from: &[("--max-tokens-per-gpu", None), ("--context-parallel-size", Some(1.0))],
            to: "--seq-length",
            of: |n| Some(n[0] * n[1].max(1.0)),
        },
    ],
    silent: "--bf16 --use-distributed-optimizer --nnodes 1 --nproc-per-node 8 --@objective next-token",
    says: Some(
        "every sample is counted as long as the tokens of a micro-batch (--max-tokens-per-gpu), which no file says: \
            shorter ones are packed, and a step of as many samples takes less time",
    ),
};

pub(super) static SLIME: Program = Program {
    name: "slime",
    is: is_of_slime,
    base: &megatron::DIALECT,
    rows: &[
        row("--hf-checkpoint", "model"),
        row("--actor-num-nodes", "--nnodes"),
        row("--actor-num-gpus-per-node", "--nproc-per-node"),
        when("--use-dynamic-batch-size", DYNAMIC),
        by("--advantage-estimator", estimator_of_slime),
        row("--rollout-batch-size", "@rl.prompts"),
        row("--n-samples-per-prompt", "@rl.samples"),
        by("--rollout-max-response-len", limit),
        by("--colocate", colocated),
        row("--rollout-num-gpus-per-engine", "@phases.rollout_tp"),
        row("--sglang-mem-fraction-static", "@share"),
        row("--sglang-server-concurrency", "@rl.max_sequences"),
        row("--sglang-disable-cuda-graph", "@rl.eager"),
        row("--num-rollout", "@rl.steps"),
        row("--*", "--*"),
    ],
    together: &SLIME_TOGETHER,
    // `slime/utils/arguments.py:941` (`grpo`), `slime/backends/sglang_utils/arguments.py:47` (512 requests an engine).
    silent: "--bf16 --use-distributed-optimizer --nnodes 1 --nproc-per-node 8 --@phases.framework slime \
        --@rl.algorithm grpo --@rl.samples 1",
    says: super::table::FULL_LENGTH,
};

pub(super) static SWIFT: Program = Program {
    name: "ms-swift",
    is: |s| s.entries.iter().any(|(name, value)| name == "program" && value.text() == Some("megatron")),
    base: &megatron::DIALECT,
    rows: &[
        row("--model", "model"),
        // A checkpoint of Megatron-LM names the model as well: megatron/arguments/megatron_args.py:566; `--load` of
        // releases before 4.
        otherwise("--mcore-model", "model", "--model"),
        otherwise("--load", "model", "--model"),
        row("--modules-to-save", "peft.saved"),
        row("--max-length", "--seq-length"),
        by("--rlhf-type", objective),
        by("--task-type", objective),
        by("--teacher-model", teacher),
        row("--tuner-type", "peft.kind"),
        row("--train-type", "peft.kind"),
        row("--lora-rank", "peft.rank"),
        row("--target-modules", "peft.targets"),
        row("$NNODES", "--nnodes"),
        row("nnodes", "--nnodes"),
        row("$NPROC_PER_NODE", "--nproc-per-node"),
        row("--*", "--*"),
    ],
    together: &[Together { from: &LENGTHS, to: "--seq-length", of: sequence }],
    // `expert_tensor_parallel_size: int = 1`: `swift/megatron/arguments/megatron_args.py:619`. Adapters of grouped
    // linears have `num_gemms` matrices each: modelscope/mcore-bridge f020e47 `tuners/lora.py:175`.
    silent: "--bf16 --use-distributed-optimizer --recompute-granularity selective --attention-backend flash \
        --cross-entropy-loss-fusion --micro-batch-size 1 --global-batch-size 16 --expert-tensor-parallel-size 1 \
        --peft.experts each",
    says: super::table::SAMPLES_OF_CORE,
};

/// What the settings of LLaMA-Factory are to Megatron-LM, in a file and in the command of `mcore_adapter`.
#[rustfmt::skip]
static FACTORY: [SettingRow; 21] = [
    row("model_name_or_path", "model"),
    row("cutoff_len", "--seq-length"),
    row("per_device_train_batch_size", "--micro-batch-size"),
    row("max_steps", "--train-iters"),
    by("stage", objective),
    row("finetuning_type", "peft.kind"),
    row("lora_rank", "peft.rank"),
    row("lora_target", "peft.targets"),
    by("mixed_precision", precision),
    by("recompute_modules", modules),
    row("--model-name-or-path", "model"),
    row("--cutoff-len", "--seq-length"),
    row("--per-device-train-batch-size", "--micro-batch-size"),
    row("--max-steps", "--train-iters"),
    by("--stage", objective),
    row("--finetuning-type", "peft.kind"),
    row("--lora-rank", "peft.rank"),
    row("--lora-target", "peft.targets"),
    by("--recompute-modules", modules),
    row("--*", "--*"),
    row("*", "--*"),
];

/// True of LLaMA-Factory's settings beside those of Megatron-LM.
fn is_factory(s: &Settings) -> bool {
    s.begins(&["finetuning_type", "--finetuning-type"])
        && s.begins(&["tensor_model_parallel_size", "pipeline_model_parallel_size"])
        || s.begins(&["--finetuning-type"])
            && s.begins(&["--tensor-model-parallel-size", "--pipeline-model-parallel-size"])
            && s.number("--use-mca") != Some(0.0)
}

/// LLaMA-Factory on Megatron-Bridge, which has settings of its own. Source: hiyouga/LLaMA-Factory ff6d4d1
/// `src/llamafactory/hparams/megatron_bridge_args.py:109` (the distributed optimizer and its overlaps are on unless
/// they are switched off).
pub(super) static LLAMA_FACTORY_BRIDGE: Program = Program {
    name: "LLaMA-Factory",
    is: |s| {
        let own = ["use_packed_sequences", "megatron_pretrained_checkpoint", "export_hf_on_finish", "extra_config"];
        is_factory(s) && (s.begins(&own) || s.get("mixed_precision").is_some())
    },
    base: &megatron::DIALECT,
    rows: &FACTORY,
    together: &[],
    silent: "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --bf16 --micro-batch-size 1",
    says: None,
};

/// LLaMA-Factory on `mcore_adapter`, and the trainer of that. Source: alibaba/ROLL 8eb27cc
/// `mcore_adapter/src/mcore_adapter/training_args.py:326` (no distributed optimizer unless it is said), `:57` (experts
/// are whole in every rank), `:144` (tokens are gathered).
pub(super) static LLAMA_FACTORY: Program = Program {
    name: "LLaMA-Factory",
    is: is_factory,
    base: &megatron::DIALECT,
    rows: &FACTORY,
    together: &[],
    // `:432` adds gradients up in fp32 beside bf16. So counted LLaMA-Factory's `examples/megatron/qwen3_moe_full.yaml`,
    // which runs in "8 * 78GB", would be called out of memory: 85 GiB with what fragments, 76 with gradients in bf16.
    silent: "--grad-reduce-in-bf16 --micro-batch-size 1 --expert-tensor-parallel-size 1 \
        --moe-token-dispatcher-type allgather",
    says: None,
};

/// The model of a benchmark, by its size.
fn of_size(value: &Value) -> SettingEntries {
    let size = value.text().unwrap_or_default().to_ascii_lowercase();
    let name = match () {
        () if size.contains("405b") => "Llama-3.1-405B",
        () if size.contains("8b") => "Llama-3.1-8B",
        () if size.contains("70b") => "Llama-2-70b-hf",
        () => return Vec::new(),
    };
    vec![("model".to_owned(), Value::Text(name.to_owned()))]
}

/// fp8 by its usual format.
const FP8: &[(&str, &str)] = &[("--fp8-format", "hybrid")];

pub(super) static MLPERF: Program = Program {
    name: "MLPerf's environment",
    is: |s| {
        s.begins(&["$MINIBS", "$DGXNNODES", "$DGXSYSTEM"])
            && s.begins(&["$TENSOR_MODEL_PARALLEL", "$TP", "$CP", "$MINIBS"])
    },
    base: &megatron::DIALECT,
    rows: &[
        by("source", of_size),
        by("$MODEL_SIZE", of_size),
        // Only the benchmark of adapters has it: Llama 2 70B with rank 16 beside attention, sequences of 8192, a base
        // in fp8 (`conf/megatron_gpt_peft_tuning_config.yaml`, `fp8_params`; since v5.1 `custom_llama.py`,
        // `fp8_model_init`).
        by("$LORA_A2A", |_| {
            let of_all = [("model", "Llama-2-70b-hf"), ("peft.kind", "lora"), ("peft.rank", "16")];
            [entries(&of_all), entries(&[("peft.base", "fp8"), ("peft.targets", "linear_qkv,linear_proj")])].concat()
        }),
        by("$SIZE", of_size),
        row("$DGXNNODES", "--nnodes"),
        row("$NNODES", "--nnodes"),
        row("$DGXNGPU", "--nproc-per-node"),
        row("$GPUS_PER_NODE", "--nproc-per-node"),
        row("$GBS", "--global-batch-size"),
        row("$TENSOR_MODEL_PARALLEL", "--tensor-model-parallel-size"),
        row("$TP", "--tensor-model-parallel-size"),
        row("$PIPELINE_MODEL_PARALLEL", "--pipeline-model-parallel-size"),
        row("$PP", "--pipeline-model-parallel-size"),
        row("$CONTEXT_PARALLEL", "--context-parallel-size"),
        row("$CP", "--context-parallel-size"),
        row("$EXPERT_PARALLEL", "--expert-model-parallel-size"),
        row("$INTERLEAVED_PIPELINE", STAGES),
        row("$SEQ_PARALLEL", "--sequence-parallel"),
        row("$SP", "--sequence-parallel"),
        row("$MICRO_BATCH_SIZE", "--micro-batch-size"),
        row("$MBS", "--micro-batch-size"),
        row("$MAX_STEPS", "--train-iters"),
        row("$ACG", "--recompute-granularity"),
        row("$ACM", "--recompute-method"),
        row("$ACL", "--recompute-num-layers"),
        row("$TP_COMM_OVERLAP", "--tp-comm-overlap"),
        row("$OVERLAP_GRAD_REDUCE", "--overlap-grad-reduce"),
        row("$OVERLAP_PARAM_GATHER", "--overlap-param-gather"),
        row("$USE_DIST_OPTIMIZER", "--use-distributed-optimizer"),
        row("$TP_PP_DP_MAPPING", "--use-tp-pp-dp-mapping"),
        row("$ASYM_PP_EMBED", "--account-for-embedding-in-pipeline-split"),
        row("$ASYM_PP_LOSS", "--account-for-loss-in-pipeline-split"),
        row("$LAYER_CUDA_GRAPH", "--enable-cuda-graph"),
        row("$MCORE_CUDA_GRAPH", "--enable-cuda-graph"),
        row("$CP_COMM_TYPE", "--cp-comm-type"),
        row("$FP8_DPA", "--fp8-dot-product-attention"),
        row("$FP8_ACT", "--activation-func-fp8-input-store"),
        row("$FP8_ACTIVATION", "--activation-func-fp8-input-store"),
        row("$FP8_PARAM_GATHER", "--fp8-param-gather"),
        row("$FP8_RECIPE", "--fp8-recipe"),
        when("$FP8", FP8),
        when("$FP4", &[("--fp4-format", "e2m1")]),
    ],
    together: &[Together {
        from: &[
            ("$MINIBS", None),
            ("$DGXNNODES", Some(1.0)),
            ("$DGXNGPU", Some(8.0)),
            ("$TENSOR_MODEL_PARALLEL", Some(1.0)),
            ("$TP", Some(1.0)),
            ("$PIPELINE_MODEL_PARALLEL", Some(1.0)),
            ("$PP", Some(1.0)),
            ("$CONTEXT_PARALLEL", Some(1.0)),
            ("$CP", Some(1.0)),
        ],
        to: "--global-batch-size",
        of: |n| Some((n[0] * n[1] * n[2] / n[3..].iter().product::<f64>().max(1.0)).floor().max(1.0)),
    }],
    silent: "--bf16 --seq-length 8192 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
        --micro-batch-size 1 \
        --nproc-per-node 8 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te",
    says: None,
};
