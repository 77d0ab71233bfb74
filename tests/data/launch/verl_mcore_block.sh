# Source: names of volcengine/verl at b178a3c, verl/trainer/config/ppo_megatron_trainer.yaml.
python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml data.max_prompt_length=1024 \
    data.max_response_length=3072 actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.rollout.n=8 trainer.nnodes=4 trainer.n_gpus_per_node=8 \
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full \
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=block
