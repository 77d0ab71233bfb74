# Source: names of pytorch/torchtitan, torchtitan/config/job_config.py before 9810191.
torchrun --nnodes 8 --nproc_per_node=8 -m torchtitan.train --model.name llama3 --model.flavor=70B --training.seq_len 8192 \
    --training.local_batch_size 8 --parallelism.tensor_parallel_degree 2
