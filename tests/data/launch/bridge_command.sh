# Source: NVIDIA-NeMo/Megatron-Bridge at 067f987, scripts/performance/README.md and argument_parser.py; written for this test.
python scripts/performance/setup_experiment.py --account ours --partition batch --gpu gb200 \
  --model_family_name deepseek --model_recipe_name deepseek_v3 --num_gpus 256 --gpus_per_node 4 --compute_dtype fp8_mx \
  --pipeline_model_parallel_size 4 --virtual_pipeline_model_parallel_size 4 --expert_model_parallel_size 64 \
  --global_batch_size 4096 --micro_batch_size 1 --seq_length 4096 --recompute_modules mla_up_proj
