#!/usr/bin/env bash
# Source: the shape of verl-project/verl at 1dda039, examples/sft/gsm8k/run_qwen_megatron_fsdp.sh, whose sizes these are, with the
# defaults of verl/trainer/config/sft_trainer_engine.yaml; written for this test.
NPROC=${NPROC:-8}
TP=${TP:-4}
ENGINE=(
    engine=megatron
    engine.tensor_model_parallel_size=${TP}
    engine.pipeline_model_parallel_size=1
)
torchrun --standalone --nnodes=1 --nproc_per_node=$NPROC \
    -m verl.trainer.sft_trainer \
    model.path=Qwen/Qwen2.5-Math-7B \
    data.train_batch_size=8 \
    data.max_token_len_per_gpu=1024 \
    optim=megatron \
    optim.lr=1e-5 \
    "${ENGINE[@]}"
