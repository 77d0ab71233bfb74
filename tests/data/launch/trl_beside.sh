# Source: QwenLM/Qwen 2df8e8a finetune/finetune_lora_ds.sh, without --model_max_length and adapters.
torchrun --nproc_per_node 8 --nnodes 1 finetune.py \
    --model_name_or_path Qwen/Qwen2.5-7B \
    --data_path data.json \
    --bf16 True \
    --output_dir output_qwen \
    --num_train_epochs 5 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --evaluation_strategy no \
    --learning_rate 3e-4 \
    --lazy_preprocess True \
    --gradient_checkpointing
