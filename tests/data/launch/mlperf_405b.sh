# Source: the shape and sizes of a 405B entry of MLPerf Training on 64 nodes of four GB300, mlcommons/training_results_v5.1
# config_GB300_*.sh; written for this test.
source $(dirname ${BASH_SOURCE[0]})/config_common.sh
export MINIBS=112
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL=8
export INTERLEAVED_PIPELINE=8
export CONTEXT_PARALLEL=2
export MICRO_BATCH_SIZE=1
export MODEL_SIZE="405b"
export SEQ_PARALLEL=True
export TP_COMM_OVERLAP=True
export ASYM_PP_EMBED=True
export ASYM_PP_LOSS=True
export FP8=True
export FP8_RECIPE="tensorwise"
export MAX_STEPS=500
export DGXNNODES=64
export DGXNGPU=4
export WALLTIME=$((5 + ${NEXP:-1} * 225))
