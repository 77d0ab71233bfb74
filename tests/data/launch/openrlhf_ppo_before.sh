# Source: OpenRLHF/OpenRLHF v0.9.9 openrlhf/cli/train_ppo_ray.py by its names, as the script beside.
python3 -m openrlhf.cli.train_ppo_ray \
   --ref_num_nodes 1 \
   --ref_num_gpus_per_node 8 \
   --actor_num_nodes 1 \
   --actor_num_gpus_per_node 8 \
   --vllm_num_engines 4 \
   --vllm_tensor_parallel_size 2 \
   --pretrain meta-llama/Meta-Llama-3-8B \
   --train_batch_size 128 \
   --micro_train_batch_size 8 \
   --rollout_batch_size 1024 \
   --max_epochs 1 \
   --zero_stage 3 \
   --actor_learning_rate 5e-7 \
   --init_kl_coef 0.01
