# Source: names of verl-project/verl at 1dda039, verl/trainer/config/engine/automodel.yaml.
torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer model.path=Qwen/Qwen2.5-7B \
    engine=automodel data.train_batch_size=64 data.max_length=4096
