#!/bin/bash
# Source: names of NVIDIA/Megatron-LM at d98e8a6, megatron/core/transformer/transformer_config.py; sizes made small.
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \
    --tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --bf16 \
    --seq-length 8192 --micro-batch-size 1 --global-batch-size 8 --num-layers 4 --hidden-size 1024 \
    --ffn-hidden-size 4096 --num-attention-heads 8 --vocab-size 32000 --position-embedding-type rope \
    --normalization RMSNorm --swiglu --disable-bias-linear --attention-dropout 0 --hidden-dropout 0 \
    --multi-latent-attention --kv-lora-rank 512 --experimental-attention-variant dsa \
    --dsa-indexer-n-heads 4 --dsa-indexer-head-dim 64 --dsa-indexer-topk 8
