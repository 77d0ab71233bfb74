# Source: modelscope/ms-swift at 3602360, names of swift/arguments.
NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --per_device_train_batch_size 1 --max_length 4096
