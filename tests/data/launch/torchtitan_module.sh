#!/usr/bin/bash
# Source: the shape of pytorch/torchtitan at b5bcd76, run_train.sh and torchtitan/config/README.md; what qwen3_30b_a3b sets is
# in torchtitan/models/qwen3/config_registry.py. Written for this test.
NGPU=8 MODULE=qwen3 CONFIG=qwen3_30b_a3b ./run_train.sh --parallelism.expert_parallel_degree 8 --metrics.log_freq 1
