#!/bin/sh
# Source: huggingface/trl, documentation of DeepSpeed: its command, with the arguments of examples/scripts/sft.py.
accelerate launch --config_file examples/accelerate_configs/deepspeed_zero3.yaml --num_processes 4 examples/scripts/sft.py \
    --model_name_or_path Qwen/Qwen2.5-7B-Instruct \
    --dataset_name trl-lib/Capybara \
    --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --max_length 4096 \
    --gradient_checkpointing
