# Source: NVIDIA-NeMo/Megatron-Bridge at 067f987, scripts/training/run_recipe.py as its documentation calls it; written for this
# test.
uv run python -m torch.distributed.run --nproc_per_node=8 scripts/training/run_recipe.py \
  --recipe llama3_8b_pretrain_config train.train_iters=1000 model.tensor_model_parallel_size=2 \
  model.context_parallel_size=4 model.sequence_parallel=True model.seq_length=65536 train.global_batch_size=8 \
  model.recompute_granularity=full model.recompute_method=uniform model.recompute_num_layers=1
