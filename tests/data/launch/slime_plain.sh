# Source: names of THUDM/slime at 624b824, slime/utils/arguments.py.
python3 train.py --hf-checkpoint Qwen/Qwen3-30B-A3B --actor-num-nodes 4 --actor-num-gpus-per-node 8 --colocate \
    --rollout-batch-size 64 --n-samples-per-prompt 8 --global-batch-size 512 --rollout-max-response-len 4096 \
    --max-tokens-per-gpu 8192 --tensor-model-parallel-size 2 --expert-model-parallel-size 4 --sequence-parallel
