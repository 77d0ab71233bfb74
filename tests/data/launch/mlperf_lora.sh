# Source: the shape and sizes of mlcommons/training_results_v5.1, llama2_70b_lora, config_DGXH100_8x8x1xtp4pp1cp2.sh (64 H100);
# written for this test.
export LORA_A2A=1
export MAX_STEPS=1024
export MINIBS=1
export LR=0.0004
export TP=4
export PP=1
export SP=1
export CP=2
export TP_COMM_OVERLAP=1
export FP8=True
export FP8_DPA=0
export DGXNNODES=8
export DGXNGPU=8
