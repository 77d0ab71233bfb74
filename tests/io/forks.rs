//! Launch texts of forks and of programs beside those that are read: the settings that only they have mean what their
//! own source says, and a program that no reader takes is refused by its name.

use crate::meaning::{assumed, import, says};
use shardscope::core::run::{AttentionKernel, Run};
use shardscope::io::import::{Meaning, read};

fn expect(read: &Meaning, values: &[(&str, &str)]) {
    for (key, value) in values {
        assert_eq!(says(read, key), *value, "{key}");
    }
}

/// deepspeedai/Megatron-DeepSpeed 4efb479 `examples_deepspeed/MoE/ds_pretrain_gpt_350M_MoE128.sh`, its settings;
/// `megatron/arguments.py:612` (one expert a token), `:614` and `megatron/model/transformer.py:1658` (experts in every
/// second layer), `:1074` (ranks of experts), `:1151` (not cut by tensor parallelism unless it is said), `:910`, `:913`
/// (tokens beyond the even share are dropped), `:927` (scores are kept unless a kernel is chosen).
#[test]
fn experts_of_megatron_deepspeed_have_its_own_defaults() {
    let command = |more: &str| {
        format!(
            "deepspeed --num_nodes 8 --num_gpus 8 pretrain_gpt.py --tensor-model-parallel-size 1 \
             --moe-expert-parallel-size 64 --num-experts 128 --moe-loss-coeff 0.01 --moe-train-capacity-factor 1.0 \
             --micro-batch-size 4 --global-batch-size 256 --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
             --seq-length 2048 --max-position-embeddings 2048 --fp16 --checkpoint-activations \
             --create-moe-param-group --deepspeed --pipeline-model-parallel-size 1 --no-pipeline-parallel {more}\n"
        )
    };
    let plain = import(&command(""));
    expect(&plain, &[("model.moe.top_k", "1"), ("ep", "64"), ("etp", "1"), ("capacity_factor", "1"), ("gpus", "64")]);
    let model = plain.run.model.resolve().unwrap();
    let routed = |layer| model.kind(layer).ffn == shardscope::core::model::Ffn::Experts;
    assert_eq!((0..24).filter(|layer| routed(*layer)).collect::<Vec<_>>(), (1..24).step_by(2).collect::<Vec<_>>());
    assert_eq!(plain.run.attention_kernel(), AttentionKernel::Eager);
    let other = import(&command("--topk 2 --expert-interval 1 --disable-moe-token-dropping --use-flash-attn-v2"));
    expect(&other, &[("model.moe.top_k", "2"), ("capacity_factor", "")]);
    assert!((0..24).all(|layer| other.run.model.resolve().unwrap().kind(layer).ffn == model.kind(1).ffn));
    assert_ne!(other.run.attention_kernel(), AttentionKernel::Eager);
}

/// The same, `examples_deepspeed/pretrain_llama_distributed.sh`; `megatron/arguments.py:647` ("layernorm", "rmsnorm"),
/// `:623`.
#[test]
fn names_of_megatron_deepspeed_for_norm_and_heads_are_read() {
    let read = import(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 24 --hidden-size 2048 \
         --ffn-hidden-size 5504 --num-attention-heads 16 --num-key-value-heads 4 --micro-batch-size 4 \
         --global-batch-size 32 --seq-length 2048 --max-position-embeddings 2048 --bf16 \
         --use-rotary-position-embeddings --swiglu --normalization rmsnorm --disable-bias-linear --zero-stage 1\n",
    );
    expect(&read, &[("model.norm", "rmsnorm"), ("model.kv_heads", "4")]);
}

/// Ascend/MindSpeed-LLM c77308a `examples/mcore/deepseek3/tune_deepseek3_671b_4k_full_A3_ptd.sh`, its settings;
/// `core/transformer/transformer_block.py:188` (layers that do nothing, from 0), `:163` (the first layers have no
/// experts), `features_manager/moe/shared_expert.py:16`, `features_manager/moe/tp_extend_ep.py` (ranks of tensor
/// parallelism hold whole experts). arXiv 2412.19437, section 4.2: 61 layers, the first 3 dense, 1 shared expert.
#[test]
fn layers_and_experts_of_mindspeed_are_those_of_the_model() {
    let read = import(
        "python -m torch.distributed.launch --nproc_per_node 16 --nnodes 16 posttrain_gpt.py --multi-latent-attention \
         --qk-pos-emb-head-dim 64 --qk-head-dim 128 --q-lora-rank 1536 --kv-lora-rank 512 --v-head-dim 128 \
         --qk-layernorm --moe-grouped-gemm --moe-tp-extend-ep --moe-token-dispatcher-type alltoall_seq \
         --first-k-dense-replace 3 --moe-layer-freq 1 --n-shared-experts 1 --num-experts 256 --moe-router-topk 8 \
         --moe-ffn-hidden-size 2048 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
         --use-distributed-optimizer --reuse-fp32-param --use-flash-attn --use-mcore-models --noop-layers 47,62,63 \
         --tensor-model-parallel-size 2 --pipeline-model-parallel-size 16 --expert-model-parallel-size 8 \
         --sequence-parallel --num-layers 64 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 \
         --seq-length 4096 --max-position-embeddings 163840 --untie-embeddings-and-output-weights \
         --disable-bias-linear --hidden-dropout 0.0 --position-embedding-type rope --normalization RMSNorm --swiglu \
         --vocab-size 129280 --padded-vocab-size 129280 --micro-batch-size 1 --global-batch-size 1024 --bf16 \
         --stage sft\n",
    );
    expect(
        &read,
        &[
            ("model.layers", "61"),
            ("model.moe.dense_layers", "3"),
            ("model.moe.shared_experts", "1"),
            ("ep", "16"),
            ("etp", "1"),
            ("gpus", "256"),
        ],
    );
    let stages = read.run.stage_layers.clone().unwrap();
    assert_eq!((stages[11], stages[15], stages.iter().sum::<u64>()), (3, 2, 61));
    assert!(assumed(&read).contains("NPUs of Ascend"), "{}", assumed(&read));
    assert!(read.unread.iter().any(|one| one.name == "--reuse-fp32-param"));
}

/// NVIDIA/Megatron-LM d98e8a6 `megatron/training/arguments.py:3190` (`optim_grads_params`), modelscope/ms-swift 3602360
/// `swift/megatron/arguments/megatron_args.py:590`, verl-project/verl 1dda039 `verl/utils/megatron_utils.py:415` and
/// `examples/sft/gsm8k/run_qwen_megatron_fsdp.sh`, its settings.
#[test]
fn megatron_fsdp_shards_the_weights_where_no_strategy_is_said() {
    let megatron = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \
        --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 \
        --use-distributed-optimizer";
    let swift = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B --max_length 4096 --micro_batch_size 1 \
        --global_batch_size 64";
    let verl = "torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer data.train_batch_size=8 \
        model.path=Qwen/Qwen2.5-Math-7B optim=megatron engine=megatron engine.tensor_model_parallel_size=4 \
        engine.use_mbridge=True";
    for (text, name, zero) in [
        (megatron, "--use-megatron-fsdp", "3"),
        (megatron, "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "2"),
        (megatron, "--use-custom-fsdp", "1"),
        (swift, "--use_megatron_fsdp true", "3"),
        (verl, "engine.use_megatron_fsdp=True", "3"),
        (verl, "", "1"),
    ] {
        assert_eq!(says(&import(&format!("{text} {name}\n")), "zero"), zero, "{name}");
    }
}

/// huggingface/alignment-handbook 925acdf `recipes/smollm3/dpo/apo.yaml`, its settings; huggingface/trl f2cd577
/// `trl/trainer/dpo_config.py:82`, `:345` (losses of DPO, one or several), `trl/trainer/kto_config.py`.
#[test]
fn every_loss_of_preferences_has_their_trainer() {
    let file = |loss: &str| {
        format!(
            "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\ntorch_dtype: bfloat16\nbf16: true\nbeta: 0.05\n\
             gradient_accumulation_steps: 2\nloss_type: {loss}\nmax_length: 24576\nper_device_train_batch_size: 1\n"
        )
    };
    for (loss, objective) in [
        ("apo_zero", "dpo"),
        ("aot", "dpo"),
        ("aot_unpaired", "dpo"),
        ("sigmoid", "dpo"),
        ("[sigmoid, sft]", "dpo"),
        ("apo_zero_unpaired", "kto"),
        ("nll", "next-token"),
    ] {
        let base = import(&file(loss)).run.objective.base;
        assert_eq!(base.unwrap_or("next-token"), objective, "{loss}");
    }
}

/// allenai/open-instruct e6c3044 `scripts/train/olmo2/finetune_13b.sh`, its settings; `mason.py:533`: the processes of
/// the command are those of one node.
#[test]
fn processes_behind_mason_are_those_of_one_of_its_nodes() {
    let read = import(
        "python mason.py --cluster ai2/jupiter --num_nodes 8 --budget ai2/oe-other --gpus 8 -- accelerate launch \
         --mixed_precision bf16 --num_processes 8 --use_deepspeed --deepspeed_config_file configs/ds_configs/\
         stage3_no_offloading_accelerate.conf open_instruct/finetune.py --model_name_or_path Qwen/Qwen2.5-7B \
         --max_seq_length 4096 --per_device_train_batch_size 1 --gradient_accumulation_steps 1 \
         --gradient_checkpointing\n",
    );
    expect(&read, &[("gpus", "64"), ("global_batch", "64")]);
}

/// agentica-project/rllm 874daa4 `verl/examples/split_placement/run_deepseek7b_llm.sh`, its settings; volcengine/verl
/// b178a3c `verl/workers/fsdp_workers.py:249`, `verl/workers/megatron_workers.py:357`: the older name counts the
/// sequences of all ranks that have their own.
#[test]
fn the_older_micro_batch_of_verl_is_that_of_all_ranks() {
    let command = |more: &str| {
        format!(
            "python3 -m verl.trainer.main_ppo data.train_batch_size=1024 data.max_prompt_length=512 \
             data.max_response_length=512 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \
             actor_rollout_ref.actor.ppo_mini_batch_size=256 trainer.n_gpus_per_node=8 trainer.nnodes=1 {more}\n"
        )
    };
    for (more, micro) in [
        ("actor_rollout_ref.actor.ppo_micro_batch_size=16", "2"),
        (
            "actor_rollout_ref.actor.ppo_micro_batch_size=16 \
             actor_rollout_ref.actor.ulysses_sequence_parallel_size=2",
            "4",
        ),
        (
            "actor_rollout_ref.actor.ppo_micro_batch_size=16 actor_rollout_ref.actor.strategy=megatron \
             actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4",
            "8",
        ),
        ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16", "16"),
    ] {
        assert_eq!(says(&import(&command(more)), "micro_batch"), micro, "{more}");
    }
}

/// yanring/Megatron-MoE-ModelZoo e865051 `model_configs/benchmarking/Qwen3-235B-A22B.yaml` names the tokenizer and
/// parts of 1187; the model's `config.json` has a vocabulary of 151936 = 128 x 1187.
#[test]
fn a_vocabulary_that_is_not_said_is_that_of_the_tokenizer() {
    let read = import(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --tokenizer-type HuggingFaceTokenizer --tokenizer-model \
         Qwen/Qwen3-8B --make-vocab-size-divisible-by 1187 --num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 \
         --num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 \
         --micro-batch-size 1 --global-batch-size 8 --bf16 --tensor-model-parallel-size 1\n",
    );
    expect(&read, &[("model.vocab", "151936")]);
}

/// Each text is cut from a file of the program's own repository, at the commit that `io/import/foreign.rs` names.
#[test]
fn a_program_whose_settings_are_not_read_is_refused_by_its_name() {
    for (text, name) in [
        ("max_steps = 3000\n\n[model]\nname = \"Qwen/Qwen3.5-0.8B\"\n\n[optim]\nlr = 1e-5\n", "PRIME-RL"),
        (
            "{\n  \"pipe_parallel_size\": 1,\n  \"num_layers\": 24,\n  \"train_micro_batch_size_per_gpu\": 4,\n  \
             \"zero_optimization\": {\"stage\": 1}\n}\n",
            "GPT-NeoX",
        ),
        ("python3 -m maxtext.trainers.pre_train.train maxtext/configs/base.yml per_device_batch_size=4\n", "MaxText"),
        ("work_group: main_group\nmodules:\n  pre_trainer:\n    framework: maxtext\n", "MaxText"),
        ("data:\n  id: x\ntrainer:\n  tracker:\n    type: wandb\n  mp: p=f32,c=bfloat16\n", "Levanter"),
        ("dump_dir: /tmp\nsteps: 100\ndistributed:\n  fsdp_type: full_shard\n  compile: true\n", "Meta Lingua"),
        ("checkpoint_dir: x\nprecision: bf16-true\ntrain:\n  micro_batch_size: 1\nlogger_name: csv\n", "LitGPT"),
        ("experiment_name: gsm8k\ntrial_name: trial0\ncluster:\n  n_nodes: 1\nactor:\n  path: x\n", "AReaL"),
        (
            "exp_name: x\nactor_train:\n  training_args:\n    per_device_train_batch_size: 1\n  strategy_args:\n    \
             strategy_name: megatron_train\n  model_args:\n    lora_target: all-linear\n",
            "ROLL",
        ),
        ("from xtuner.v1.train import TrainerConfig\nsequence_length = 4096\n", "XTuner"),
        ("colossalai run --nproc_per_node 4 run_clm.py --model_name_or_path x --num_train_epochs 1\n", "Colossal-AI"),
        ("from olmo_core.train import TrainerConfig\nSEQUENCE_LENGTH = 8192\n", "OLMo-core"),
        ("uv run -m skyrl.train.entrypoints.main_base trainer.policy.model.path=Qwen/Qwen3-8B\n", "SkyRL"),
        ("from nemo.collections import llm\nrecipe = llm.llama3_70b.pretrain_recipe()\n", "NeMo 2"),
        ("torchrun --nproc_per_node 8 train_fsdp2.py examples/fsdp2/qwen3/pretrain.yaml\n", "MindSpeed-LLM"),
    ] {
        let Err(issues) = read(text, &Run::default()) else { panic!("{name} is read") };
        let said = issues[0].message.to_string();
        assert!(said.starts_with(&format!("settings of {name}")), "{name}: {said}");
    }
}

/// AI-Hypercomputer/gpu-recipes 2e1fd5e `training/a4x-max/gpt-oss-120b/megatron-bridge-gke/nemo2604/
/// 64gpus-fp8mx-seq4096-gbs1280/recipe/launcher.sh`, its settings: the launcher runs a text that ends with a tool.
#[test]
fn what_a_launcher_runs_is_the_training_and_not_the_tool_behind_it() {
    let read = import(
        "worker_command=$(cat <<- EOM\n  cd /opt/Megatron-Bridge ;\n  nv_smi_pid=\\$!\n  nice -10 \\\n  \
         python scripts/performance/run_script.py \\\n    --model_recipe_name gpt_oss_120b \\\n    --gpu gb300 \\\n    \
         --num_gpus 64 \\\n    --gpus_per_node 4 \\\n    --compute_dtype fp8_mx \\\n    --seq_length 4096 \\\n    \
         --global_batch_size 1280 \\\n    --micro_batch_size 4 \\\n    --tensor_model_parallel_size 1 \\\n    \
         --pipeline_model_parallel_size 1 \\\n    --expert_model_parallel_size 64 \\\n    \
         logger.log_throughput=True\n\n  kill -9 \\$nv_smi_pid\nEOM\n)\necho \"$worker_command\" > \
         worker_command.sh\nchmod 777 worker_command.sh\ntorchrun --nproc-per-node=\"4\" --nnodes=\"16\" --no-python \
         bash worker_command.sh\n",
    );
    expect(&read, &[("model", "gpt-oss-120b"), ("gpus", "64"), ("ep", "64"), ("micro_batch", "4")]);
}

/// NVIDIA-NeMo/Megatron-Bridge 067f987 `scripts/performance/argument_parser.py:178` to `:942`: each option has a short
/// name.
#[test]
fn short_options_of_megatron_bridge_mean_the_long_ones() {
    let read = import(
        "python scripts/performance/setup_experiment.py -a account -p batch -m llama -mr llama3_70b -g h100 -ng 64 \
         -gn 8 -c bf16 -sl 8192 -gb 128 -mb 1 -tp 4 -pp 4 -cp 2 -vp 5 -ep 1\n",
    );
    let values = [("model", "llama-3.1-70b"), ("gpus", "64"), ("tp", "4"), ("pp", "4"), ("cp", "2")];
    expect(&read, &values);
    expect(&read, &[("virtual_stages", "5"), ("global_batch", "128"), ("micro_batch", "1"), ("seq_len", "8192")]);
}

/// aws-samples/awsome-distributed-training 7217859 `3.test_cases/pytorch/FSDP/kubernetes/llama3_1_8b-fsdp.yaml`.
#[test]
fn a_manifest_asks_for_the_command_of_its_container() {
    let text = "apiVersion: \"kubeflow.org/v1\"\nkind: PyTorchJob\nmetadata:\n  name: llama3-1-8b-fsdp\nspec:\n  \
        elasticPolicy:\n    rdzvBackend: c10d\n";
    let Err(issues) = read(text, &Run::default()) else { panic!("it is read") };
    assert!(issues[0].message.to_string().starts_with("a manifest of Kubernetes"), "{issues:?}");
}
