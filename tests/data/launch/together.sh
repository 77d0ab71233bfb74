deepspeed --num_gpus 8 train.py --model_name Qwen/Qwen3-8B
---
{"zero_optimization": {"stage": 3}}
---
from transformers import Trainer, TrainingArguments
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, deepspeed="ds.json")
trainer = Trainer(model=options.model_name, args=args)
