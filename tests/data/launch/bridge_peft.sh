# Source: names of NVIDIA-NeMo/Megatron-Bridge at 067f987, src/megatron/bridge/peft/lora.py.
torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe llama31_8b_peft_config \
    model.tensor_model_parallel_size=2 train.global_batch_size=8 train.micro_batch_size=1 dataset.sequence_length=8192
