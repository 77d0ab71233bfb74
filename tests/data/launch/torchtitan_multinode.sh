#!/bin/bash
# Source: pytorch/torchtitan, multinode_trainer.slurm at 030cd95 and run_train.sh at 0168bd5 (how it is started), with overrides of
# torchtitan/config/job_config.py at 000204a.
#SBATCH --nodes=4
NGPU=${NGPU:-"8"}
CONFIG_FILE=${CONFIG_FILE:-"./torchtitan/models/llama3/train_configs/llama3_70b.toml"}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)

if [ "$COMM_MODE" = "fake_backend" ]; then
    echo "Running with fake process groups" >&2
fi
srun torchrun --nnodes 4 --nproc_per_node=${NGPU} --rdzv_backend c10d --rdzv_endpoint "$head_node_ip:29500" \
    -m torchtitan.train --job.config_file ${CONFIG_FILE} --model.name llama3 --model.flavor=70B \
    --training.local-batch-size 8 --parallelism.tensor_parallel_degree 8 --training.compile
dcgmi profile --resume
