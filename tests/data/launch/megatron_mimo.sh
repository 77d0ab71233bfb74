#!/bin/bash
# Source: names of NVIDIA/Megatron-LM at d98e8a6, examples/mimo/scripts/run_hetero_nemotron_20l_mock_train.sh and
# examples/mimo/training/args.py; sizes made small.
torchrun --nnodes 1 --nproc-per-node 8 -m examples.mimo.pretrain_mimo \
    --model-provider nemotron-moe-vlm --encoder-tp 2 --encoder-dp 1 --llm-offset 2 --llm-tp 2 --llm-pp 1 --llm-dp 3 \
    --use-distributed-optimizer --overlap-grad-reduce --bf16 --seq-length 8192 --micro-batch-size 1 \
    --global-batch-size 12 --num-layers 4 --hidden-size 2048 --num-attention-heads 16 --ffn-hidden-size 1024 \
    --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 1024 --position-embedding-type none \
    --normalization RMSNorm --disable-bias-linear --vocab-size 131072 --img-w 512 --img-h 512
