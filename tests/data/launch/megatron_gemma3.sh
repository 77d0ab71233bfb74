#!/bin/bash
# Source: the sizes of google/gemma-3-27b-pt's config.json, in Megatron-LM's arguments.
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \
    --tensor-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --bf16 \
    --seq-length 8192 --micro-batch-size 1 --global-batch-size 8 \
    --num-layers 62 --hidden-size 5376 --ffn-hidden-size 21504 --num-attention-heads 32 --group-query-attention \
    --num-query-groups 16 --kv-channels 128 --vocab-size 262208 --max-position-embeddings 8192 \
    --position-embedding-type rope --normalization RMSNorm --qk-layernorm --swiglu --disable-bias-linear \
    --attention-dropout 0 --hidden-dropout 0 --window-size 1023,0 --window-attn-skip-freq 6
