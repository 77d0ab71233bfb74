# Source: names of pytorch/torchtitan at b5bcd76, torchtitan/config/configs.py.
torchrun --nnodes 8 --nproc_per_node=8 -m torchtitan.train --module deepseek_v3 --config deepseek_v3_671b \
    --training.num_tokens_per_microbatch_per_dp_rank 16384 --parallelism.pipeline_parallel_degree 4 \
    --parallelism.expert_parallel_degree 4
