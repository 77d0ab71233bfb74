# Source: names of volcengine/verl at b178a3c, verl/trainer/config/sft_trainer_engine.yaml.
torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer model.path=Qwen/Qwen2.5-7B engine=fsdp \
    data.train_batch_size=64 data.max_length=4096
