#!/bin/bash
# Source: the shape and sizes of THUDM/slime at 624b824, scripts/run-qwen3-30B-A3B.sh (eight H100); written for this test.
source "${SCRIPT_DIR}/models/qwen3-30B-A3B.sh"
CKPT_ARGS=(
   --hf-checkpoint /root/Qwen3-30B-A3B
   --save-interval 20
)
ROLLOUT_ARGS=(
   --num-rollout 3000
   --rollout-batch-size 32
   --n-samples-per-prompt 8
   --rollout-max-response-len 8192
   --global-batch-size 256
)
PERF_ARGS=(
   --tensor-model-parallel-size 4
   --sequence-parallel
   --pipeline-model-parallel-size 1
   --expert-model-parallel-size 8
   --expert-tensor-parallel-size 1
   --recompute-granularity full
   --recompute-method uniform
   --recompute-num-layers 1
   --use-dynamic-batch-size
   --max-tokens-per-gpu 20480
)
OPTIMIZER_ARGS=(
   --optimizer adam
   --lr 1e-6
   --optimizer-cpu-offload
   --use-precision-aware-optimizer
)
ray job submit --address="http://127.0.0.1:8265" -- python3 train.py \
   --actor-num-nodes 1 \
   --actor-num-gpus-per-node 8 \
   --colocate \
   ${CKPT_ARGS[@]} ${ROLLOUT_ARGS[@]} ${OPTIMIZER_ARGS[@]} ${PERF_ARGS[@]}
