# Source: modelscope/ms-swift at 3602360a5623, the examples whose first comment lines state the memory of a GPU: their
# commands, without what has no part in memory.

# examples/megatron/base_to_chat.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen2.5-14B --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' \
  --tensor_model_parallel_size 4 --micro_batch_size 1 --global_batch_size 16 --packing true \
  --recompute_granularity selective --cross_entropy_loss_fusion true --max_length 8192 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/benchmark/deepspeed.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 swift sft \
  --model Qwen/Qwen2.5-14B --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' --tuner_type full \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --packing true \
  --max_length 8192 --deepspeed zero2 --attn_impl flash_attn

# examples/megatron/dense/72b_offload.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen2.5-72B-Instruct --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' \
  --tensor_model_parallel_size 8 --micro_batch_size 1 --global_batch_size 16 --packing true \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 8192 --sequence_parallel true --optimizer_cpu_offload true --use_precision_aware_optimizer true \
  --optimizer_offload_fraction 1 --attention_backend flash

# examples/megatron/dense/qwen3_32b.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3-32B --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' --tensor_model_parallel_size 8 \
  --micro_batch_size 1 --global_batch_size 16 --packing true --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/fp8/benchmark.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3-14B-FP8 --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT#20000' \
  --fp8_recipe blockwise --fp8_format e4m3 --fp8_param_gather true --tensor_model_parallel_size 4 --micro_batch_size 1 \
  --global_batch_size 16 --packing true --recompute_granularity selective --cross_entropy_loss_fusion true \
  --cross_entropy_fusion_impl native --max_length 8192 --sequence_parallel true --use_precision_aware_optimizer true \
  --exp_avg_dtype bf16 --exp_avg_sq_dtype bf16 --attention_backend flash

# examples/megatron/fp8/llm.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Instruct-2507-FP8 \
  --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT#2000' 'swift/self-cognition#1000' \
  --fp8_recipe blockwise --fp8_format e4m3 --fp8_param_gather true --tensor_model_parallel_size 2 \
  --expert_model_parallel_size 8 --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true \
  --micro_batch_size 4 --global_batch_size 16 --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 2048 --sequence_parallel true \
  --moe_expert_capacity_factor 2 --use_precision_aware_optimizer true --exp_avg_dtype bf16 --exp_avg_sq_dtype bf16 \
  --attention_backend flash

# examples/megatron/long_text.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron sft \
  --model Qwen/Qwen2.5-7B --dataset 'ZhipuAI/LongWriter-6k' --tensor_model_parallel_size 4 --micro_batch_size 1 \
  --global_batch_size 8 --packing true --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 32768 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/lora/dense.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --tensor_model_parallel_size 2 --sequence_parallel true \
  --micro_batch_size 16 --global_batch_size 16 --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 2048

# examples/megatron/lora/dpo.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron rlhf \
  --rlhf_type dpo --model Qwen/Qwen3-30B-A3B-Instruct-2507 --dataset 'AI-ModelScope/orpo-dpo-mix-40k' \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 2 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 8 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 2048 --sequence_parallel true --attention_backend flash

# examples/megatron/lora/loss_scale.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Base --dataset 'AI-ModelScope/function-calling-chatml#10000' --tuner_type lora \
  --lora_rank 8 --target_modules all-linear --modules_to_save word_embeddings output_layer \
  --expert_model_parallel_size 2 --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true \
  --micro_batch_size 8 --global_batch_size 16 --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 2048 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/lora/moe.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen3-30B-A3B --dataset 'swift/Qwen3-SFT-Mixin#2000' 'swift/self-cognition:empty_think#600' \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 2 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 8 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 2048 --sequence_parallel true --attention_backend flash

# examples/megatron/lora/mtp.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron sft \
  --model ZhipuAI/GLM-4.5-Air --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT' --mtp_num_layers 1 \
  --tuner_type lora --lora_rank 32 --target_modules linear_qkv linear_proj --moe_permute_fusion true \
  --tensor_model_parallel_size 4 --expert_model_parallel_size 4 --moe_grouped_gemm true \
  --moe_shared_expert_overlap true --micro_batch_size 1 --global_batch_size 16 --recompute_granularity full \
  --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true --packing true \
  --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/megatron/lora/new_special_tokens.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen3-30B-A3B --dataset 'swift/new_special_tokens' --tuner_type lora --lora_rank 8 \
  --target_modules all-linear --modules_to_save word_embeddings output_layer --expert_model_parallel_size 2 \
  --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 32 \
  --global_batch_size 64 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --cross_entropy_loss_fusion true --max_length 2048 --sequence_parallel true --attention_backend flash

# examples/megatron/lora/qwen3_235b.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3-235B-A22B-Instruct-2507 \
  --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT#2000' 'swift/self-cognition#1000' --tuner_type lora \
  --lora_rank 8 --target_modules all-linear --moe_permute_fusion true --tensor_model_parallel_size 4 \
  --expert_model_parallel_size 8 --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 8 \
  --global_batch_size 16 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --cross_entropy_loss_fusion true --max_length 2048 --sequence_parallel true --attention_backend flash

# examples/megatron/mcore_bridge/full/moe.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 NPROC_PER_NODE=8 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Instruct-2507 \
  --dataset 'swift/Chinese-Qwen3-235B-Thinking-2507-Distill-data-110k-SFT#20000' --moe_permute_fusion true \
  --pipeline_model_parallel_size 2 --decoder_first_pipeline_num_layers 25 --tensor_model_parallel_size 4 \
  --expert_model_parallel_size 4 --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 1 \
  --global_batch_size 4 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --cross_entropy_loss_fusion true --max_length 8192 --packing true --sequence_parallel true \
  --moe_expert_capacity_factor 2 --attention_backend flash

# examples/megatron/mcore_bridge/lora/moe.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Instruct-2507 \
  --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT#2000' 'swift/self-cognition#1000' --tuner_type lora \
  --lora_rank 8 --target_modules all-linear --moe_permute_fusion true --expert_model_parallel_size 2 \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 8 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 2048 --sequence_parallel true --moe_expert_capacity_factor 2 --attention_backend flash

# examples/megatron/mcore_bridge/lora/new_special_tokens.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Instruct-2507 --dataset 'swift/new_special_tokens' --tuner_type lora --lora_rank 8 \
  --target_modules all-linear --modules_to_save word_embeddings output_layer --expert_model_parallel_size 2 \
  --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 32 \
  --global_batch_size 64 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --cross_entropy_loss_fusion true --max_length 2048 --moe_expert_capacity_factor 2 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/moe/deepseek_v3.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model moonshotai/Moonlight-16B-A3B-Instruct --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' \
  --pipeline_model_parallel_size 2 --decoder_last_pipeline_num_layers 13 --moe_permute_fusion true \
  --expert_model_parallel_size 4 --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 1 \
  --global_batch_size 16 --packing true --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/moe/qwen3_moe.sh
NNODES=2 NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B-Base \
  --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' --pipeline_model_parallel_size 2 \
  --expert_model_parallel_size 8 --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true \
  --micro_batch_size 1 --global_batch_size 16 --packing true --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/moe/qwen3_moe_offload.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Base --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' \
  --expert_model_parallel_size 4 --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true \
  --micro_batch_size 1 --global_batch_size 16 --packing true --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 --sequence_parallel true \
  --optimizer_cpu_offload true --use_precision_aware_optimizer true --optimizer_offload_fraction 1 \
  --attention_backend flash

# examples/megatron/muon.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --optimizer dist_muon --tensor_model_parallel_size 2 --sequence_parallel true --micro_batch_size 16 \
  --global_batch_size 16 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --cross_entropy_loss_fusion true --max_length 2048

# examples/megatron/pretrain.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron pt \
  --model Qwen/Qwen2.5-7B --dataset 'swift/chinese-c4' --packing true --tensor_model_parallel_size 4 \
  --micro_batch_size 1 --global_batch_size 16 --recompute_granularity selective --cross_entropy_loss_fusion true \
  --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/megatron/rlhf/dpo/dense.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron rlhf \
  --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --dataset 'hjh0119/shareAI-Llama3-DPO-zh-en-emoji' \
  --tensor_model_parallel_size 4 --micro_batch_size 8 --global_batch_size 16 --recompute_granularity full \
  --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 \
  --sequence_parallel true --attention_backend flash

# examples/megatron/rlhf/dpo/group_by_length.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron rlhf \
  --rlhf_type dpo --model Qwen/Qwen3-4B-Instruct-2507 --dataset 'AI-ModelScope/orpo-dpo-mix-40k' \
  --tensor_model_parallel_size 4 --padding_free false --micro_batch_size 4 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/megatron/rlhf/dpo/moe.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron rlhf \
  --rlhf_type dpo --model Qwen/Qwen3-30B-A3B-Instruct-2507 --dataset 'AI-ModelScope/orpo-dpo-mix-40k' --packing true \
  --tensor_model_parallel_size 4 --expert_model_parallel_size 8 --moe_permute_fusion true --moe_grouped_gemm true \
  --moe_shared_expert_overlap true --micro_batch_size 1 --global_batch_size 4 --recompute_granularity full \
  --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 \
  --sequence_parallel true --attention_backend flash --optimizer_cpu_offload true --use_precision_aware_optimizer true \
  --optimizer_offload_fraction 1

# examples/megatron/rlhf/dpo/packing.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron rlhf \
  --rlhf_type dpo --model Qwen/Qwen3-4B-Instruct-2507 --dataset 'AI-ModelScope/orpo-dpo-mix-40k' \
  --tensor_model_parallel_size 4 --packing true --micro_batch_size 1 --global_batch_size 4 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/megatron/rlhf/kto/dense.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron rlhf \
  --rlhf_type kto --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/ultrafeedback-binarized-preferences-cleaned-kto#20000' --tensor_model_parallel_size 4 \
  --packing true --micro_batch_size 1 --global_batch_size 4 --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 8192 --sequence_parallel true \
  --attention_backend flash

# examples/megatron/rlhf/kto/moe.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron rlhf \
  --rlhf_type kto --model Qwen/Qwen3-30B-A3B-Instruct-2507 \
  --dataset 'AI-ModelScope/ultrafeedback-binarized-preferences-cleaned-kto#20000' --packing true --tuner_type lora \
  --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 2 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 1 --global_batch_size 4 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/megatron/rlhf/rm/moe.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron rlhf \
  --rlhf_type rm --model Qwen/Qwen3-30B-A3B-Instruct-2507 --dataset 'AI-ModelScope/orpo-dpo-mix-40k' --packing true \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 2 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 1 --global_batch_size 4 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/megatron/seq_cls/lora/train.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Instruct-2507 --dataset 'DAMO_NLP/jd:cls' --tuner_type lora --lora_rank 8 \
  --target_modules all-linear all-router --packing true --expert_model_parallel_size 2 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --sequence_parallel true --micro_batch_size 1 \
  --global_batch_size 2 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --cross_entropy_loss_fusion true --max_length 2048 --task_type seq_cls --num_labels 2

# examples/megatron/sft.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tensor_model_parallel_size 2 --sequence_parallel true --micro_batch_size 16 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 2048

# examples/models/gemma4/mcore.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model google/gemma-4-26B-A4B-it --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' \
  'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' 'AI-ModelScope/LaTeX_OCR:human_handwrite#2000' \
  --tuner_type full --tensor_model_parallel_size 2 --expert_model_parallel_size 4 --pipeline_model_parallel_size 2 \
  --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 8 \
  --global_batch_size 16 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --freeze_llm false --freeze_vit true --cross_entropy_loss_fusion true --max_length 4096 --sequence_parallel true \
  --attention_backend unfused --padding_free false

# examples/models/gpt_oss/mcore.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 megatron sft \
  --model openai-mirror/gpt-oss-20b \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 2 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 8 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 2048 --sequence_parallel true --padding_free false --attention_backend unfused

# examples/models/gpt_oss/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model openai-mirror/gpt-oss-20b \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --router_aux_loss_coef 1e-3 --lora_rank 8 \
  --target_modules all-linear --gradient_accumulation_steps 16 --max_length 2048

# examples/models/qwen3_5/mcore.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron sft \
  --model Qwen/Qwen3.5-35B-A3B --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' \
  'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' 'AI-ModelScope/LaTeX_OCR:human_handwrite#2000' \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 4 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 4 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --freeze_llm false \
  --freeze_vit true --cross_entropy_loss_fusion true --max_length 2048 --sequence_parallel true \
  --attention_backend flash --padding_free false

# examples/models/qwen3_5/packing.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3.5-35B-A3B --dataset 'AI-ModelScope/LongAlpaca-12k' --tuner_type full \
  --tensor_model_parallel_size 4 --expert_model_parallel_size 8 --moe_permute_fusion true --moe_grouped_gemm true \
  --moe_shared_expert_overlap true --micro_batch_size 1 --global_batch_size 4 --recompute_granularity full \
  --recompute_method uniform --recompute_num_layers 1 --packing true --freeze_llm false --freeze_vit true \
  --cross_entropy_loss_fusion true --max_length 32768 --sequence_parallel true --moe_expert_capacity_factor 2 \
  --mtp_num_layers 1 --optimizer_cpu_offload true --use_precision_aware_optimizer true \
  --optimizer_offload_fraction 0.64 --attention_backend flash

# examples/models/qwen3_5/transformers.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft \
  --model Qwen/Qwen3.5-35B-A3B --dataset 'AI-ModelScope/LaTeX_OCR:human_handwrite#2000' --tuner_type lora \
  --torch_dtype bfloat16 --per_device_train_batch_size 4 --lora_rank 8 --target_modules all-linear \
  --experts_impl grouped_mm --router_aux_loss_coef 1e-3 --gradient_accumulation_steps 1 --max_length 2048 \
  --deepspeed zero3

# examples/models/qwen3_next/mcore.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3-Next-80B-A3B-Instruct \
  --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT#2000' 'swift/self-cognition#1000' --tuner_type lora \
  --lora_rank 8 --packing true --target_modules all-linear --tensor_model_parallel_size 2 \
  --expert_model_parallel_size 4 --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true \
  --micro_batch_size 1 --global_batch_size 4 --recompute_granularity full --recompute_method uniform \
  --recompute_num_layers 1 --cross_entropy_loss_fusion true --max_length 4096 --sequence_parallel true \
  --attention_backend flash

# examples/models/qwen3_next/mtp.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 megatron sft \
  --model Qwen/Qwen3-Next-80B-A3B-Instruct \
  --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT#2000' 'swift/self-cognition#1000' --mtp_num_layers 1 \
  --tuner_type lora --lora_rank 8 --target_modules all-linear --expert_model_parallel_size 4 --moe_permute_fusion true \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 2 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --max_length 2048 --sequence_parallel true --attention_backend flash

# examples/models/qwen3_next/transformers.sh
CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model Qwen/Qwen3-Next-80B-A3B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --experts_impl grouped_mm --router_aux_loss_coef 1e-3 --gradient_accumulation_steps 2 --max_length 2048

# examples/notebook/qwen2_5-self-cognition/sft.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-3B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --gradient_accumulation_steps 16 --max_length 2048

# examples/train/agent/loss_scale/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-3B --dataset 'AI-ModelScope/function-calling-chatml#10000' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --modules_to_save embed_tokens lm_head --gradient_accumulation_steps 16 --max_length 2048 --use_liger_kernel true

# examples/train/agent/qwen2_5.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-3B --dataset 'AI-ModelScope/function-calling-chatml' \
  --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 8 \
  --max_length 8192 --packing true --use_liger_kernel true --attn_impl flash_attn

# examples/train/early_stop/lora_sft.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --gradient_accumulation_steps 16 --max_length 2048

# examples/train/flash_attention_3/mcore.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron sft \
  --model Qwen/Qwen3-30B-A3B-Base --dataset 'swift/Chinese-Qwen3-235B-2507-Distill-data-110k-SFT' --tuner_type lora \
  --lora_rank 32 --target_modules all-linear --moe_permute_fusion true --expert_model_parallel_size 4 \
  --moe_grouped_gemm true --moe_shared_expert_overlap true --micro_batch_size 1 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --cross_entropy_loss_fusion true \
  --packing true --max_length 8192 --sequence_parallel true --attention_backend flash

# examples/train/flash_attention_3/transformers.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft \
  --model Qwen/Qwen2.5-7B --dataset 'AI-ModelScope/LongAlpaca-12k' --tuner_type full --attn_impl flash_attention_3 \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --packing true \
  --max_length 16384 --deepspeed zero3 --use_liger_kernel true

# examples/train/full/dft.sh
CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-Math-1.5B \
  --dataset 'AI-MO/NuminaMath-CoT#100000' --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 8 \
  --gradient_accumulation_steps 32 --max_length 2048 --deepspeed zero2

# examples/train/full/qwen2_5_32b.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=8 CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 swift sft \
  --model Qwen/Qwen2.5-32B --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' --tuner_type full \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --packing true \
  --max_length 8192 --deepspeed zero3 --use_liger_kernel true --attn_impl flash_attn

# examples/train/full/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 16 \
  --max_length 2048

# examples/train/liger/sft.sh
NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model Qwen/Qwen2.5-7B \
  --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT#10000' --tuner_type full --torch_dtype bfloat16 \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_length 8192 --deepspeed zero3 \
  --attn_impl flash_attn --packing true --use_liger_kernel true

# examples/train/lora_sft.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --gradient_accumulation_steps 16 --max_length 2048

# examples/train/multi-gpu/ddp/train.sh
CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'swift/self-cognition#1000' --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 8 --max_length 2048 \
  --gradient_checkpointing_kwargs '{"use_reentrant": false}'

# examples/train/multi-gpu/ddp_device_map/train.sh
CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'swift/self-cognition#1000' --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 8 --max_length 2048 \
  --gradient_checkpointing_kwargs '{"use_reentrant": false}'

# examples/train/multi-gpu/deepspeed/train_zero2.sh
CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'swift/self-cognition#1000' --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 8 --max_length 2048 --deepspeed zero2

# examples/train/multi-gpu/deepspeed/train_zero3.sh
CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'swift/self-cognition#1000' --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 8 --max_length 2048 --deepspeed zero3

# examples/train/new_special_tokens/train.sh
NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'swift/new_special_tokens' --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 16 \
  --padding_free true --attn_impl flash_attn --lora_rank 16 --target_modules all-linear \
  --modules_to_save embed_tokens lm_head --gradient_accumulation_steps 1 --max_length 2048 --deepspeed zero2

# examples/train/optimizer/muon.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --optimizer muon --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 \
  --target_modules all-linear --gradient_accumulation_steps 16 --max_length 2048

# examples/train/packing/dpo.sh
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf \
  --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --dataset 'AI-ModelScope/orpo-dpo-mix-40k' --tuner_type full \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --max_length 8192 \
  --deepspeed zero3 --attn_impl flash_attn --packing true

# examples/train/packing/liger_kernel.sh
NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model Qwen/Qwen2.5-7B \
  --dataset 'AI-ModelScope/LongAlpaca-12k' --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 1 \
  --gradient_accumulation_steps 2 --packing true --max_length 16384 --deepspeed zero3 --use_liger_kernel true \
  --attn_impl flash_attn

# examples/train/packing/llm.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --packing true --torch_dtype bfloat16 --attn_impl flash_attn --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 4 --max_length 2048

# examples/train/padding_free/sft.sh
NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model Qwen/Qwen2.5-7B \
  --dataset 'liucong/Chinese-DeepSeek-R1-Distill-data-110k-SFT' --tuner_type full --torch_dtype bfloat16 \
  --per_device_train_batch_size 8 --gradient_accumulation_steps 1 --max_length 8192 --deepspeed zero3 \
  --use_liger_kernel true --attn_impl flash_attn --padding_free true

# examples/train/qlora/awq/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct-AWQ \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --gradient_accumulation_steps 16 --max_length 2048

# examples/train/qlora/bnb/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --quant_method bnb --quant_bits 4 --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 16 --max_length 2048

# examples/train/qlora/hqq.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' 'AI-ModelScope/alpaca-gpt4-data-en#500' 'swift/self-cognition#500' \
  --tuner_type lora --torch_dtype bfloat16 --quant_method hqq --quant_bits 4 --per_device_train_batch_size 1 \
  --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 16 --max_length 2048

# examples/train/rlhf/dpo/full.sh
NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'hjh0119/shareAI-Llama3-DPO-zh-en-emoji' --tuner_type full --torch_dtype bfloat16 \
  --per_device_train_batch_size 4 --gradient_accumulation_steps 1 --max_length 8192 --deepspeed zero3 \
  --attn_impl flash_attn --padding_free true

# examples/train/rlhf/dpo/lora.sh
CUDA_VISIBLE_DEVICES=0 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct \
  --dataset 'hjh0119/shareAI-Llama3-DPO-zh-en-emoji' --tuner_type lora --torch_dtype bfloat16 \
  --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear --gradient_accumulation_steps 16 \
  --max_length 2048

# examples/train/rlhf/gkd/full.sh
NPROC_PER_NODE=4 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf \
  --rlhf_type gkd --model Qwen/Qwen2.5-7B \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-en#2000' 'AI-ModelScope/alpaca-gpt4-data-zh#2000' \
  --teacher_model Qwen/Qwen2.5-14B-Instruct --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 4 \
  --gradient_accumulation_steps 1 --max_length 2048 --deepspeed zero3 --attn_impl flash_attn

# examples/train/rlhf/gkd/vllm_colocate.sh
NPROC_PER_NODE=4 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf \
  --rlhf_type gkd --model Qwen/Qwen2.5-7B \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-en#2000' 'AI-ModelScope/alpaca-gpt4-data-zh#2000' \
  --teacher_model Qwen/Qwen2.5-14B-Instruct --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 4 \
  --gradient_accumulation_steps 1 --max_length 2048 --deepspeed zero3 --attn_impl flash_attn

# examples/train/rlhf/gkd/vllm_server.sh
NPROC_PER_NODE=4 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf \
  --rlhf_type gkd --model Qwen/Qwen2.5-7B \
  --dataset 'AI-ModelScope/alpaca-gpt4-data-en#2000' 'AI-ModelScope/alpaca-gpt4-data-zh#2000' \
  --teacher_model Qwen/Qwen2.5-14B-Instruct --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 4 \
  --gradient_accumulation_steps 1 --max_length 2048 --deepspeed zero3 --attn_impl flash_attn

# examples/train/rlhf/simpo.sh
CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift rlhf --rlhf_type simpo --model Qwen/Qwen2.5-3B-Instruct \
  --dataset 'hjh0119/shareAI-Llama3-DPO-zh-en-emoji' --tuner_type full --torch_dtype bfloat16 \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --max_length 2048 --deepspeed zero2

# examples/train/seq_cls/regression/sft.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-0.5B --dataset 'sentence-transformers/stsb:reg#20000' \
  --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 16 --lora_rank 8 --target_modules all-linear \
  --gradient_accumulation_steps 1 --max_length 2048 --num_labels 1 --task_type seq_cls

# examples/train/sequence_parallel/sequence_parallel.sh
NPROC_PER_NODE=8 CELOSS_PARALLEL_SIZE=2048 swift sft --model Qwen/Qwen2.5-3B-Instruct \
  --dataset 'AI-ModelScope/LongAlpaca-12k' --tuner_type lora --torch_dtype bfloat16 --per_device_train_batch_size 4 \
  --target_modules all-linear --gradient_accumulation_steps 8 --max_length 65536 --attn_impl flash_attn \
  --sequence_parallel_size 8 --use_logits_to_keep false --padding_free true

# examples/train/streaming/lazy_tokenize.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --per_device_train_batch_size 1 --lora_rank 8 --gradient_accumulation_steps 16

# examples/train/think_model/deepseek_r1.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model deepseek-ai/DeepSeek-R1-0528-Qwen3-8B \
  --dataset 'swift/DeepSeek-R1-Qwen3-8B-Distill#1800' 'swift/self-cognition:empty_think#600' --tuner_type lora \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --target_modules all-linear \
  --gradient_accumulation_steps 16 --max_length 2048 --use_liger_kernel true

# examples/train/tuners/adalora/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type adalora --per_device_train_batch_size 1 --gradient_accumulation_steps 16

# examples/train/tuners/adapter/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type adapter --per_device_train_batch_size 1 --gradient_accumulation_steps 16

# examples/train/tuners/boft/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type boft --per_device_train_batch_size 1 --gradient_accumulation_steps 16

# examples/train/tuners/bone/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type bone --per_device_train_batch_size 1 --gradient_accumulation_steps 16

# examples/train/tuners/dora/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --use_dora true --per_device_train_batch_size 1 --lora_rank 8 --gradient_accumulation_steps 16

# examples/train/tuners/galore/train_galore.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type full --per_device_train_batch_size 1 --gradient_accumulation_steps 16 --use_galore true \
  --galore_optim_per_parameter true

# examples/train/tuners/galore/train_qgalore.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'lvjianjin/AdvertiseGen#1000' \
  --tuner_type full --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 16 \
  --use_galore true --galore_quantization true

# examples/train/tuners/lisa/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type full --lisa_activated_layers 2 --per_device_train_batch_size 1 --gradient_accumulation_steps 16

# examples/train/tuners/llamapro/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type llamapro --llamapro_num_new_blocks 4 --per_device_train_batch_size 1 --gradient_accumulation_steps 16

# examples/train/tuners/lora/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --per_device_train_batch_size 1 --lora_rank 8 --gradient_accumulation_steps 16

# examples/train/tuners/neftune/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --per_device_train_batch_size 1 --lora_rank 8 --gradient_accumulation_steps 16

# examples/train/tuners/olora/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --per_device_train_batch_size 1 --lora_rank 8 --gradient_accumulation_steps 16

# examples/train/tuners/pissa/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_type lora --per_device_train_batch_size 1 --lora_rank 8 --gradient_accumulation_steps 16

# examples/train/tuners/unsloth/train.sh
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset 'swift/self-cognition#1000' \
  --tuner_backend unsloth --tuner_type lora --per_device_train_batch_size 1 --lora_rank 8 \
  --gradient_accumulation_steps 16
