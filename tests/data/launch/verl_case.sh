#!/usr/bin/env bash
# Source: the shape of verl-project/verl at 1dda039, examples/grpo_trainer/run_qwen3_8b_fsdp.sh, whose sizes these are; written
# for this test. It names gb200 and npu in branches that do not run.
DEVICE=${DEVICE:-$(python3 -c 'import torch_npu' 2>/dev/null && echo npu || echo gpu)}
MACHINE=${MACHINE:-}
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-8B}
NGPUS_PER_NODE=${NGPUS_PER_NODE:-}
ppo_mini_batch_size=${PPO_MINI_BATCH_SIZE:-256}
max_prompt_length=${MAX_PROMPT_LENGTH:-1024}
max_response_length=${MAX_RESPONSE_LENGTH:-2048}
tokens=$((8 * (max_prompt_length + max_response_length)))
EXTRA=()
case "${DEVICE}" in
    gpu | npu) ;;
    *) exit 1 ;;
esac
case "${DEVICE}" in
    gpu)
        offload=False
        case "${MACHINE}" in
            gb200)
                NGPUS_PER_NODE=4
                EXTRA+=(actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16)
                ;;
            *)
                NGPUS_PER_NODE=8
                ;;
        esac
        ;;
    npu)
        offload=True
        max_response_length=$((1024 * 32))
        EXTRA+=(actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1)
        ;;
esac
python3 -m verl.trainer.main_ppo \
    data.max_prompt_length=${max_prompt_length} \
    data.max_response_length=${max_response_length} \
    actor_rollout_ref.model.path="$MODEL_PATH" \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.ppo_mini_batch_size=${ppo_mini_batch_size} \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${tokens} \
    actor_rollout_ref.actor.fsdp_config.param_offload=${offload} \
    actor_rollout_ref.rollout.n=5 \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \
    trainer.n_gpus_per_node=${NGPUS_PER_NODE} \
    trainer.nnodes=1 \
    "${EXTRA[@]}"
