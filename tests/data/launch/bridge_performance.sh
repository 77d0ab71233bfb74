# Source: names of NVIDIA-NeMo/Megatron-Bridge at 067f987, scripts/performance/argument_parser.py.
python scripts/performance/setup_experiment.py --model_family_name qwen --model_recipe_name qwen3_30b_a3b --gpu h100 \
    --num_gpus 32 --compute_dtype bf16 --tensor_model_parallel_size 2 --pipeline_model_parallel_size 2 \
    --expert_model_parallel_size 4 --micro_batch_size 1 --global_batch_size 64 --seq_length 4096
