//! Kinds of mistakes found in public files that were read setting by setting, each by the program's own source.

use crate::meaning::{assumed, import, says};
use shardscope::core::run::Run;
use shardscope::io::import::{Meaning, UnreadKind, read};

fn expect(read: &Meaning, values: &[(&str, &str)]) {
    for (key, value) in values {
        assert_eq!(says(read, key), *value, "{key}: {}", assumed(read));
    }
}

fn is_undecided(read: &Meaning, name: &str) -> bool {
    read.unread.iter().any(|one| one.name == name && one.kind == UnreadKind::Undecided)
}

const TRAIN: &str = "train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 --bf16 True";
const MEGATRON: &str = "pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 32 --hidden-size 4096 \
    --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --bf16";

/// The number of nodes or GPUs that a text leaves to its reader is none: pytorch `torch/distributed/run.py` starts one
/// node where nothing is said alone.
#[test]
fn a_number_of_gpus_that_the_text_does_not_set_is_named() {
    for (command, name) in [
        (format!("deepspeed --num_gpus ${{WORLD_SIZE}} {TRAIN}"), "num_gpus"),
        (format!("deepspeed --num_nodes $N --num_gpus 8 {TRAIN}"), "nnodes"),
        (format!("torchrun --nproc_per_node '<NUM_GPUS>' {TRAIN}"), "nproc_per_node"),
        (format!("torchrun --nnodes=$NNODES --nproc_per_node=8 {TRAIN}"), "nnodes"),
        (format!("#SBATCH --nodes=<N>\n#SBATCH --gpus-per-node=8\nsrun torchrun --nproc_per_node 8 {TRAIN}"), "nnodes"),
        (format!("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=<GPUS>\nsrun python {TRAIN}"), "nproc_per_node"),
        (format!("torchrun --nnodes '{{nodes}}' --nproc_per_node 8 {MEGATRON}"), "--nnodes"),
        (format!("#SBATCH --nodes=<N>\nsrun torchrun --nproc_per_node 8 {MEGATRON}"), "--nnodes"),
    ] {
        let read = import(&command);
        assert!(is_undecided(&read, name), "{command}: {:?}", read.unread);
        // Those of the page.
        expect(&read, &[("gpus", "64")]);
    }
}

/// Other numbers that a person fills in, in a file and in Hydra's settings.
#[test]
fn a_place_for_a_value_is_no_value() {
    let file = "base_model: Qwen/Qwen3-8B\nmicro_batch_size: <BATCH_SIZE>\nsequence_len: 2048\n";
    assert!(is_undecided(&import(file), "micro_batch_size"));
    let verl = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.nnodes='???' \
        trainer.n_gpus_per_node=8 data.train_batch_size=256";
    assert!(is_undecided(&import(verl), "trainer.nnodes"));
}

/// docs.github.com, "Workflow syntax for GitHub Actions".
#[test]
fn a_workflow_is_no_file_of_settings() {
    let text = format!(
        "name: train\non: workflow_dispatch\njobs:\n  train:\n    runs-on: self-hosted\n    steps:\n      \
         - run: torchrun --nproc_per_node 8 {TRAIN}\nbase_model: x\n"
    );
    let issues = read(&text, &Run::default()).unwrap_err();
    assert!(issues[0].message.to_string().contains("workflow"), "{issues:?}");
}

/// alibaba/ROLL 8eb27cc `mcore_adapter/examples/train/run_dpo_train.sh`, its settings, and `training_args.py:326`,
/// `:57`, `:144`; hiyouga/LLaMA-Factory ff6d4d1 `examples/megatron/qwen3_moe_full.yaml` and
/// `megatron_bridge_args.py:109`.
#[test]
fn mcore_adapter_has_its_own_defaults() {
    let command = "torchrun --nproc_per_node=8 run_train.py --do_train --stage=dpo --finetuning_type=full \
        --cutoff_len=8192 --model_name_or_path=Qwen/Qwen3-8B --per_device_train_batch_size=1 \
        --gradient_accumulation_steps=8 --bf16 --tensor_model_parallel_size 2 --pipeline_model_parallel_size 1 \
        --sequence_parallel --use_mca";
    let read = import(command);
    let values = [("model", "qwen-3-8b"), ("gpus", "8"), ("tp", "2"), ("seq_len", "8192"), ("micro_batch", "1")];
    expect(&read, &values);
    // Nothing shards the states unless it is told.
    expect(&read, &[("zero", "0"), ("global_batch", "32"), ("objective", "dpo")]);
    let sharded = import(&format!("{command} --use_distributed_optimizer"));
    expect(&sharded, &[("zero", "1")]);
    let file = "model_name_or_path: Qwen/Qwen3-30B-A3B\nstage: sft\nfinetuning_type: full\ncutoff_len: 4096\n\
        bf16: true\n\
        tensor_model_parallel_size: 2\npipeline_model_parallel_size: 2\nexpert_model_parallel_size: 2\n";
    expect(&import(file), &[("zero", "0"), ("etp", "1")]);
    expect(&import(&format!("{file}mixed_precision: bf16_mixed\n")), &[("zero", "1")]);
}

/// verl-project/verl 1dda039 `verl/trainer/config/engine/veomni.yaml`, `examples/grpo_trainer/run_qwen3_30b_veomni.sh`,
/// `tests/special_e2e/run_v1_separate_async.sh` and `verl/trainer/ppo/v1/trainer_separate_async.py:52`.
#[test]
fn engines_of_later_verl_are_read() {
    let command = "python3 -m verl.trainer.main_ppo model_engine=veomni algorithm.adv_estimator=grpo \
        actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B data.train_batch_size=16 \
        actor_rollout_ref.actor.ppo_mini_batch_size=8 actor_rollout_ref.actor.veomni.ulysses_parallel_size=2 \
        actor_rollout_ref.actor.veomni.expert_parallel_size=4 actor_rollout_ref.actor.veomni.param_offload=True \
        actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=4 trainer.n_gpus_per_node=8 trainer.nnodes=1";
    let read = import(command);
    expect(&read, &[("cp", "2"), ("ep", "4"), ("zero", "3"), ("phases.offload", "true")]);
    let apart = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.use_v1=True \
        trainer.v1.trainer_mode=separate_async trainer.v1.separate_async.num_warmup_batches=1 \
        trainer.v1.separate_async.parameter_sync_step=4 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B \
        data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=16 actor_rollout_ref.rollout.n=4 \
        actor_rollout_ref.rollout.nnodes=1 actor_rollout_ref.rollout.n_gpus_per_node=4 \
        trainer.n_gpus_per_node=4 trainer.nnodes=1";
    let read = import(apart);
    expect(&read, &[("gpus", "8"), ("rl.rollout_gpus", "4"), ("rl.staleness", "1"), ("rl.updates", "4")]);
    // Without engines of their own all is on the trainer's GPUs.
    let same = import(&apart.replace("separate_async ", "sync "));
    expect(&same, &[("gpus", "4")]);
}

/// OptimalScale/LMFlow f3597db `scripts/run_finetune_with_lisa.sh` and `src/lmflow/args.py:639`; the same of
/// LLaMA-Factory's full fine-tuning.
#[test]
fn lisa_trains_some_layers() {
    let command = |lisa: &str| {
        format!(
            "accelerate launch --num_processes 8 examples/finetune.py --model_name_or_path meta-llama/Llama-3.2-3B \
             {lisa} --lisa_activated_layers 1 --lisa_interval_steps 20 --block_size 512 --bf16 \
             --per_device_train_batch_size 1 --do_train"
        )
    };
    let read = import(&command("--use_lisa 1"));
    assert!(read.run.adapter.method.is_some() && assumed(&read).contains("LISA"), "{}", assumed(&read));
    assert!(import(&command("--use_lisa 0")).run.adapter.method.is_none());
}

/// OpenGVLab/InternVL 2410d1d `internvl_chat/internvl/train/internvl_chat_finetune.py:132`, `:140` (checkpoints are on
/// unless they are switched off), `internvl/model/internvl_chat/modeling_internvl_chat.py:121`.
#[test]
fn adapters_of_internvl_are_those_of_its_language_model() {
    let command = |rest: &str| {
        format!(
            "torchrun --nproc_per_node=2 internvl/train/internvl_chat_finetune.py --conv_style internvl2_5 \
             --force_image_size 448 --freeze_llm True --bf16 True --per_device_train_batch_size 4 \
             --model_name_or_path OpenGVLab/InternVL2_5-8B --max_seq_length 8192 --do_train True {rest}"
        )
    };
    let read = import(&command("--use_llm_lora 16"));
    expect(&read, &[("gpus", "2"), ("adapter.method", "lora"), ("adapter.rank", "16"), ("recompute", "full")]);
    let whole = import(&command("--use_llm_lora 0 --grad_checkpoint False"));
    expect(&whole, &[("recompute", "none")]);
    assert!(whole.run.adapter.method.is_none());
    for name in ["force_image_size", "freeze_llm"] {
        assert!(whole.unread.iter().any(|one| one.name == name && one.kind == UnreadKind::NotModelled), "{name}");
    }
}

/// AMD-AGI/Primus fd1eeab `primus/configs/models/megatron/llama4_17B16E.yaml` and `torchtitan/llama4_17Bx128E.yaml`;
/// pytorch/torchtune bd2a0fc `torchtune.models.llama3_2.llama3_2_3b`; lmsys/vicuna-13b-v1.5, whose card says Llama 2;
/// the cache of `ModelScope` in ligw1998/PRIV-QA 5f7f9b6 `code/finetune_recover.sh`.
#[test]
fn models_are_known_by_the_names_that_programs_give_them() {
    let swift = |model: &str| import(&format!("swift sft --model '{model}' --train_type lora --max_length 2048"));
    for (name, id) in [
        ("llama4_17B16E", "llama-4-scout"),
        ("llama4_17Bx128E-fp8", "llama-4-maverick"),
        ("llama3_2_3b", "llama-3.2-3b"),
        ("lmsys/vicuna-13b-v1.5", "llama-2-13b"),
        ("/path/to/your/Qwen2-1___5B-Instruct", "qwen2.5-1.5b"),
    ] {
        let read = swift(name);
        assert!(read.model.sure && read.model.id == id, "{name}: {:?}", read.model);
    }
}

/// huggingface/trl, each at its tag: `max_completion_length` is 256 in v0.14.0 to v1.8.0, `use_liger` is the name of
/// `use_liger_kernel` up to v0.15.0. The settings are those of EvolvingLMMs-Lab/open-r1-multimodal 232b7ba
/// `local_scripts/train_qwen2_vl.sh` and of philschmid/deep-learning-pytorch-huggingface 59b3797
/// `training/receipes/llama-3-1-8b-spectrum.yaml`.
#[test]
fn defaults_and_names_of_trl_are_those_of_its_releases() {
    let grpo = "torchrun --nproc_per_node=8 src/open_r1/grpo.py --model_name_or_path Qwen/Qwen2.5-3B \
        --max_prompt_length 8192 --per_device_train_batch_size 1 --bf16 --gradient_checkpointing true";
    let read = import(grpo);
    expect(&read, &[("seq_len", "8448")]);
    assert!(assumed(&read).contains("256 tokens"), "{}", assumed(&read));
    let liger = "model_name_or_path: Qwen/Qwen2.5-3B\nuse_liger: true\nbf16: true\nmax_seq_length: 1024\n\
        packing: true\nper_device_train_batch_size: 8\n";
    expect(&import(liger), &[("cross_entropy", "fused-linear"), ("stack", "hf-fused")]);
}

/// mosaicml/examples daddaef `support_chatbot/mcli_yamls/finetune/finetune_30b_chat.yaml`, its settings: a file of the
/// platform has those of llm-foundry inside.
#[test]
fn a_file_of_mosaic_is_that_of_its_parameters() {
    let text = "name: chat\ncompute:\n  gpus: 8\ncommand: |\n  composer train/train.py /mnt/config/parameters.yaml\n\
        parameters:\n  max_seq_len: 8192\n  model:\n    name: hf_causal_lm\n    \
        pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\n  optimizer:\n    name: decoupled_lionw\n  \
        global_train_batch_size: 64\n  device_train_microbatch_size: 1\n  precision: amp_bf16\n  fsdp_config:\n    \
        sharding_strategy: FULL_SHARD\n    mixed_precision: PURE\n    activation_checkpointing: true\n";
    let values = [("gpus", "8"), ("seq_len", "8192"), ("global_batch", "64"), ("micro_batch", "1"), ("zero", "3")];
    let read = import(text);
    expect(&read, &values);
    expect(&read, &[("optimizer", "lion"), ("recompute", "full"), ("model", "llama-3.1-8b")]);
}

/// DeepSpeed edaa722 `runtime/engine.py:2237`: a name of `torch.optim` is that optimizer; `torch.optim.SGD` keeps a
/// buffer where its momentum is not 0.
#[test]
fn momentum_of_deepspeeds_sgd_is_a_state() {
    let file = |params: &str| {
        format!(
            "{{\"zero_optimization\": {{\"stage\": 1}}, \
             \"optimizer\": {{\"type\": \"SGD\", \"params\": {{{params}}}}}}}"
        )
    };
    expect(&import(&file("\"lr\": 0.1, \"momentum\": 0.9")), &[("optimizer", "sgd-momentum")]);
    expect(&import(&file("\"lr\": 0.1")), &[("optimizer", "sgd")]);
}
