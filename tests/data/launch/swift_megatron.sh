# Source: the shape and sizes of modelscope/ms-swift at 3602360, examples/megatron/moe/qwen3_moe.sh, which says "16 * 60GiB";
# 80 GB H100 taken; written for this test.
NNODES=2 \
NPROC_PER_NODE=8 \
megatron sft \
    --model Qwen/Qwen3-30B-A3B-Base \
    --save_safetensors true \
    --pipeline_model_parallel_size 2 \
    --expert_model_parallel_size 8 \
    --moe_grouped_gemm true \
    --micro_batch_size 1 \
    --global_batch_size 16 \
    --packing true \
    --recompute_granularity full \
    --recompute_method uniform \
    --recompute_num_layers 1 \
    --cross_entropy_loss_fusion true \
    --lr 1e-5 \
    --max_length 8192 \
    --sequence_parallel true \
    --attention_backend flash
