# Source: modelscope/ms-swift 3602360a examples/megatron/rlhf/dpo/moe.sh, its settings of memory and time.
NPROC_PER_NODE=8 \
megatron rlhf \
    --rlhf_type dpo \
    --model Qwen/Qwen3-30B-A3B-Instruct-2507 \
    --packing true \
    --tensor_model_parallel_size 4 \
    --expert_tensor_parallel_size 1 \
    --expert_model_parallel_size 8 \
    --micro_batch_size 1 \
    --global_batch_size 4 \
    --recompute_granularity full \
    --recompute_method uniform \
    --recompute_num_layers 1 \
    --finetune true \
    --cross_entropy_loss_fusion true \
    --max_length 8192 \
    --sequence_parallel true \
    --attention_backend flash
