#!/bin/bash
# Source: huggingface/trl, documentation of the PEFT integration, its command with FSDP of Trainer's arguments.
accelerate launch --num_processes 4 trl/scripts/sft.py \
    --model_name_or_path Qwen/Qwen2.5-7B-Instruct \
    --dataset_name trl-lib/Capybara \
    --use_peft \
    --lora_r 32 \
    --lora_alpha 16 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --max_length 4096 \
    --gradient_checkpointing \
    --optim paged_adamw_8bit \
    --bf16 \
    --fsdp "full_shard auto_wrap" \
    --output_dir out
