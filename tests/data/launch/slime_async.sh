#!/bin/bash
# Source: names of THUDM/slime at 624b824, slime/utils/arguments.py, and its train_async.py; sizes written for this test.
python3 train_async.py --hf-checkpoint Qwen/Qwen3-8B --actor-num-nodes 1 --actor-num-gpus-per-node 8 \
    --rollout-num-gpus 16 --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.8 --num-rollout 1000 \
    --rollout-batch-size 64 --n-samples-per-prompt 8 --num-steps-per-rollout 2 --rollout-max-response-len 4096 \
    --tensor-model-parallel-size 4 --sequence-parallel --advantage-estimator grpo
