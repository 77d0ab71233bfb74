//! Kinds of mistakes found in public files that were read setting by setting, each by the program's own source.

use crate::meaning::{assumed, import, says};
use shardscope::core::run::Run;
use shardscope::io::dialect::Given;
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

fn names(read: &Meaning, name: &str) -> bool {
    let same = |known: &str| known.replace('_', "-") == name.replace('_', "-");
    read.unread.iter().any(|one| same(&one.name) && one.kind == UnreadKind::NotModelled)
}

/// microsoft/DeepSpeedExamples 45b4b71 `applications/DeepSpeed-Chat/training`:
/// `step1_supervised_finetuning/main.py:154` and `:159`, `step2_reward_model_finetuning/main.py:59` with
/// `dschat/utils/model/reward_model.py:31`.
#[test]
fn deepspeed_chat_has_its_stage_among_its_arguments_and_its_rewards_have_no_vocabulary() {
    let command = |rest: &str| {
        import(&format!(
            "deepspeed --num_gpus 8 main.py --model_name_or_path meta-llama/Llama-2-7b-hf --max_seq_len 512 \
             --per_device_train_batch_size 4 --gradient_accumulation_steps 1 --deepspeed --num_warmup_steps 0 \
             --data_split 2,4,4 {rest}"
        ))
    };
    let second = command("--zero_stage 2 --lora_dim 128 --lora_module_name layers.");
    expect(&second, &[("gpus", "8"), ("zero", "2"), ("seq_len", "512"), ("objective", "next-token")]);
    assert!(names(&second, "lora_dim") && second.unread.iter().all(|one| one.kind != UnreadKind::MissingFile));
    expect(&command("--lora_dim 0"), &[("zero", "0")]);
    expect(&command("--zero_stage 3 --num_padding_at_beginning 0"), &[("zero", "3"), ("objective", "reward")]);
}

/// allenai/open-instruct e6c3044 `configs/train_configs/tulu3/tulu3_dpo_8b.yaml`, its settings;
/// `open_instruct/dpo_utils.py:76` (losses), `open_instruct/dpo_tune_cache.py:310` (bf16).
#[test]
fn a_file_of_open_instruct_has_its_loss_and_its_format() {
    let text = |loss: &str| {
        format!(
            "model_name_or_path: meta-llama/Llama-3.1-8B\ngradient_checkpointing: true\nuse_slow_tokenizer: true\n\
             max_seq_length: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 16\n\
             num_epochs: 1\nwith_tracking: true\nuse_lora: false\nloss_type: {loss}\nbeta: 5\n"
        )
    };
    let read = import(&text("dpo_norm"));
    expect(&read, &[("objective", "dpo"), ("recompute", "full"), ("seq_len", "2048"), ("micro_batch", "1")]);
    assert!(says(&read, "precision").starts_with("bf16"), "{}", says(&read, "precision"));
    // A loss that is not known is not taken for that of the next token in silence.
    assert!(names(&import(&text("some_new_loss")), "loss_type"));
}

/// An optimizer that is not known is named, not only assumed: NVIDIA-NeMo/Automodel 36044ad
/// `examples/convergence/tulu3/models/qwen3-4b/qwen3_4b_cp2_flashoptim.yaml`; DeepSpeed edaa722
/// `runtime/config.py` (`ONEBIT_ADAM_OPTIMIZER`); so are a model and adapters, pytorch/torchtune bd2a0fc
/// `recipes/configs/gemma2/27B_lora_single_device.yaml`.
#[test]
fn what_is_taken_for_something_else_is_named() {
    let flash = "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  \
        pretrained_model_name_or_path: Qwen/Qwen3-4B-Base\ndistributed:\n  strategy: fsdp2\n  tp_size: 1\n\
        step_scheduler:\n  global_batch_size: 128\n  local_batch_size: 8\n\
        optimizer:\n  _target_: flashoptim.FlashAdamW\n  lr: 1.0e-5\n";
    assert!(names(&import(flash), "optimizer._target_"));
    let one_bit = "{\"zero_optimization\": {\"stage\": 1}, \"optimizer\": {\"type\": \"OneBitAdam\"}}";
    assert!(names(&import(one_bit), "optimizer.type"));
    let gemma = "model:\n  _component_: torchtune.models.gemma2.lora_gemma2_27b\n  lora_rank: 8\n  \
        lora_attn_modules: ['q_proj', 'v_proj']\nbatch_size: 2\n\
        gradient_accumulation_steps: 8\ndtype: bf16\noptimizer:\n  _component_: torch.optim.AdamW\n\
        loss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n";
    assert!(names(&import(gemma), "model._component_"));
}

/// Switches that are on where nothing is said, switched off: ms-swift 3602360 `swift/arguments/tuner_args.py:123`,
/// LLaMA-Factory ff6d4d1 `hparams/finetuning_args.py:546`, NeMo Automodel 36044ad
/// `components/models/common/utils.py:334`, axolotl 067b021 `integrations/cut_cross_entropy/args.py:33`.
#[test]
fn a_switch_that_is_on_by_itself_is_not_silent_where_it_is_off() {
    let swift = |rest: &str| {
        import(&format!("swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --train_type full --max_length 2048 {rest}"))
    };
    assert!(names(&swift("--freeze_vit false"), "--freeze_vit") && !names(&swift("--freeze_vit true"), "--freeze_vit"));
    let factory = "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 2048\n\
        bf16: true\nfreeze_vision_tower: false\n";
    assert!(names(&import(factory), "freeze_vision_tower"));
    let automodel = "model:\n  pretrained_model_name_or_path: Qwen/Qwen3-8B\n  backend:\n    rope_fusion: false\n\
        distributed:\n  strategy: fsdp2\n  tp_size: 1\nstep_scheduler:\n  global_batch_size: 8\n  \
        local_batch_size: 1\n";
    assert!(names(&import(automodel), "model.backend.rope_fusion"));
    let axolotl = |rest: &str| {
        import(&format!(
            "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n\
             gradient_accumulation_steps: 1\nplugins:\n  \
             - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n{rest}"
        ))
    };
    expect(&axolotl(""), &[("cross_entropy", "fused-linear")]);
    assert_ne!(says(&axolotl("cut_cross_entropy: false\n"), "cross_entropy"), "fused-linear");
}

/// A template's place for a value is no map: YAML 1.2.2, "Flow mappings"; jinja.palletsprojects.com, "Expressions".
#[test]
fn what_a_template_leaves_open_is_named() {
    let text = "base_model: Qwen/Qwen3-8B\nmicro_batch_size: {{ batch }}\nsequence_len: 2048\n\
        gradient_checkpointing: {{ck}}\noptimizer: {{ opt | default('adamw_torch') }}\n";
    let read = import(text);
    for name in ["micro_batch_size", "gradient_checkpointing", "optimizer"] {
        assert!(is_undecided(&read, name), "{name}: {:?}", read.unread);
    }
}

/// ModalMinds/MM-EUREKA bccddd7 `examples/scripts/train_mm_eureka_qwen_7b_multi_node.sh`, its conditions and what
/// decides the sharding: where no rank is set, a shell starts nothing.
#[test]
fn a_command_behind_an_open_condition_is_read_and_the_condition_is_named() {
    let text = "OUTPUT_DIR='/out'\nif [ ! -d \"$OUTPUT_DIR\" ]; then\n  mkdir -p \"$OUTPUT_DIR\"\nfi\n\
        if [ \"$PET_NODE_RANK\" -eq 0 ]; then\n  ray start --head --num-gpus 8\nelse\n  sleep 30\n  \
        ray start --address=\"$MASTER_ADDR:6379\" --num-gpus 8 --block\nfi\nsleep 30\n\
        if [ \"$NODE_RANK\" -eq 0 ]; then\n  ray job submit --working-dir . -- python3 -m openrlhf.cli.train_ppo_ray \
        --actor_num_nodes 2 --actor_num_gpus_per_node 8 --vllm_num_engines 8 --vllm_tensor_parallel_size 1 \
        --pretrain Qwen/Qwen2.5-7B-Instruct --micro_train_batch_size 2 --train_batch_size 128 \
        --rollout_batch_size 128 --n_samples_per_prompt 8 --prompt_max_len 3000 --generate_max_len 4096 \
        --advantage_estimator group_norm --zero_stage 1 --bf16 --adam_offload --gradient_checkpointing\nfi\n";
    let read = import(text);
    expect(&read, &[("zero", "1"), ("micro_batch", "2"), ("model", "qwen-2.5-7b"), ("offload.optimizer", "cpu")]);
    let hides = read.branches.iter().find(|branch| branch.rests_on == ["NODE_RANK"]);
    assert!(hides.is_some_and(|branch| branch.taken && !branch.decided), "{:?}", read.branches);
    assert!(assumed(&read).contains("$NODE_RANK"), "{}", assumed(&read));
}

/// deepspeedai/Megatron-DeepSpeed `examples_deepspeed/MoE/ds_pretrain_gpt_350M_PR-MoE32or64.sh`: a number of experts
/// for each layer that has some, of which one is read.
#[test]
fn several_numbers_where_one_is_read_are_named() {
    let experts = |numbers: &str| {
        import(&format!(
            "deepspeed --num_gpus 8 {MEGATRON} --moe-expert-parallel-size 8 --num-experts {numbers} --mlp-type residual"
        ))
    };
    assert!(names(&experts("32 32 64 64"), "--num-experts"));
    assert!(!names(&experts("32"), "--num-experts") && !names(&experts("32 32"), "--num-experts"));
}

/// verl-project/verl 1dda039 `verl/workers/config/engine.py` (`strategy`): Automodel has no file of defaults for actors
/// (`verl/trainer/config/model_engine`).
#[test]
fn an_engine_of_verl_that_is_not_read_is_named() {
    let verl = |engine: &str| {
        import(&format!(
            "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-8B \
             {engine} data.train_batch_size=16 trainer.n_gpus_per_node=8 trainer.nnodes=1"
        ))
    };
    let strategy = "actor_rollout_ref.actor.strategy";
    for known in ["fsdp", "fsdp2", "megatron"] {
        assert!(verl(&format!("{strategy}={known}")).unread.iter().all(|one| one.name != strategy), "{known}");
    }
    for other in ["torchtitan", "automodel"] {
        assert!(names(&verl(&format!("{strategy}={other}")), strategy), "{other}");
    }
    assert!(names(&verl("model_engine=automodel"), "model_engine"));
    let degree = "actor_rollout_ref.actor.automodel.tensor_parallel_size";
    assert!(names(&verl(&format!("model_engine=automodel {degree}=2")), degree));
}

/// verl-project/verl 1dda039 `verl/trainer/config/engine/torchtitan.yaml:29`, `:50`, `:70` and `engine/automodel.yaml`;
/// `verl/workers/engine/torchtitan/transformer_impl.py:363`: a budget of tokens is of all tensor-parallel ranks.
#[test]
fn engines_of_verl_on_torchtitan_and_automodel_have_their_own_degrees() {
    let titan = "actor_rollout_ref.actor.torchtitan";
    let read = import(&format!(
        "python3 -m verl.trainer.main_ppo model_engine=torchtitan algorithm.adv_estimator=grpo \
         actor_rollout_ref.model.path=Qwen/Qwen3-8B {titan}.tensor_parallel_size=2 {titan}.data_parallel_shard_size=4 \
         {titan}.param_offload=True data.train_batch_size=16 trainer.n_gpus_per_node=8 trainer.nnodes=1"
    ));
    let unread = |read: &Meaning, name: &str| read.unread.iter().any(|one| one.name == name);
    expect(&read, &[("tp", "2"), ("gpus", "8"), ("phases.offload", "true"), ("stack", "torchtitan")]);
    assert!(!unread(&read, "model_engine") && !unread(&read, &format!("{titan}.tensor_parallel_size")));
    let tuned = |engine: &str| {
        import(&format!(
            "torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer \
             model.path=Qwen/Qwen2.5-7B engine={engine} data.train_batch_size=64 data.max_length=4096"
        ))
    };
    let of_titan = tuned("torchtitan engine.tensor_parallel_size=2");
    // 8192 tokens of each of two ranks are four sequences of 4096.
    expect(&of_titan, &[("tp", "2"), ("micro_batch", "4"), ("stack", "torchtitan"), ("zero", "3")]);
    let of_automodel = tuned("automodel engine.tp_size=2");
    expect(&of_automodel, &[("tp", "2"), ("micro_batch", "2"), ("recompute", "none")]);
}

/// Rows that a second reader found to be called harmless: transformers 5.2.0 `models/gpt2/configuration_gpt2.py:144`,
/// TRL f2cd577 `grpo_config.py:866`, torchtune bd2a0fc `recipes/configs/dev/3B_full_grpo.yaml:57`, Megatron-LM d98e8a6
/// `training_config.py:141`, verl b178a3c `_generated_ppo_trainer.yaml:610`.
#[test]
fn settings_that_a_second_reader_doubted_are_named() {
    let megatron = |rest: &str| import(&format!("torchrun --nproc_per_node 8 {MEGATRON} {rest}"));
    assert!(names(&megatron("--skip-train"), "--skip-train"));
    let trl = "python train_grpo.py --model_name_or_path Qwen/Qwen3-8B --max_prompt_length 512 \
        --per_device_train_batch_size 1 --entropy_coef 0.01";
    assert!(names(&import(trl), "entropy_coef"));
}

/// pytorch/torchtune bd2a0fc `torchtune/_cli/run.py` (torchrun's options), `torchtune/config/_utils.py`
/// (`_merge_yaml_and_cli_args`: an override of a section that has a component names another one), and its recipes for
/// a single device, which train on one GPU. In the form of anilkeshwani/speech-text-alignment 6fc4075
/// `tune_llama_3_2/configs/1B_full_single_device.yaml` and its README.
#[test]
fn torchtunes_command_says_gpus_and_components() {
    let file = "model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\nbatch_size: 4\ndtype: bf16\n\
        tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 2048\n\
        loss:\n  _component_: torch.nn.CrossEntropyLoss\n\
        optimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5\n";
    let run = |command: &str| {
        let files = vec![("full.yaml".to_owned(), file.to_owned())];
        let given = Given { files, ..Given::default() };
        shardscope::io::import::read_given(command, &Run::default(), &given).unwrap()
    };
    let one = run("tune run recipes/full_finetune_single_device.py --config full.yaml");
    expect(&one, &[("gpus", "1"), ("zero", "0"), ("model.layers", "16"), ("model.hidden", "2048")]);
    let many = run("tune run --nnodes 2 --nproc_per_node 4 full_finetune_distributed --config full.yaml \
        loss=torchtune.modules.loss.LinearCrossEntropyLoss optimizer=bitsandbytes.optim.PagedAdamW8bit");
    expect(&many, &[("gpus", "8"), ("zero", "3"), ("cross_entropy", "chunked"), ("optimizer", "adam-8bit-paged")]);
    assert_eq!((&one.unread, &many.unread), (&vec![], &vec![]));
}

/// What is at its default "off" is no alarm: PeterGriffinJin/Search-R1 a14dc3a `train_ppo.sh` (the list of the GPUs
/// that it counts), radixark/miles 31f1ca9 `run-qwen3-4b-fp8.sh` (`--entropy-coef 0.00`, slime's default).
#[test]
fn what_says_what_is_counted_anyway_is_no_alarm() {
    let verl = import(
        "export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\npython3 -m verl.trainer.main_ppo \
        actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.nnodes=1 trainer.n_gpus_per_node=8 \
        data.train_batch_size=512 actor_rollout_ref.actor.calculate_entropy=False",
    );
    expect(&verl, &[("gpus", "8")]);
    let slime = import(
        "python3 train.py --hf-checkpoint Qwen/Qwen3-4B --actor-num-nodes 1 \
        --actor-num-gpus-per-node 8 --rollout-batch-size 32 --n-samples-per-prompt 8 --entropy-coef 0.00",
    );
    let named = |read: &Meaning| read.unread.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert!(!named(&verl).contains(&"$CUDA_VISIBLE_DEVICES".to_owned()), "{:?}", named(&verl));
    assert!(!named(&verl).iter().any(|name| name.contains("entropy")), "{:?}", named(&verl));
    assert!(!named(&slime).contains(&"--entropy-coef".to_owned()), "{:?}", named(&slime));
    let on = import(
        "python3 train.py --hf-checkpoint Qwen/Qwen3-4B --actor-num-nodes 1 --actor-num-gpus-per-node 8 \
        --rollout-batch-size 32 --n-samples-per-prompt 8 --entropy-coef 0.01",
    );
    assert!(named(&on).contains(&"--entropy-coef".to_owned()), "{:?}", named(&on));
}

/// NVIDIA/NeMo 00a115f `examples/nlp/language_modeling/conf/megatron_llama_config.yaml`: `num_query_groups` alone
/// groups heads, "If None, normal attention is used". A vocabulary is that of the tokenizer that the file names:
/// GPT-2's 50,257 words.
#[test]
fn nemo_1_groups_heads_by_a_number_alone() {
    let file = std::fs::read_to_string("tests/data/launch/nemo1_gpt3_5b.yaml").unwrap();
    expect(&import(&file), &[("model.kv_heads", "32"), ("model.vocab", "50257")]);
    let text = file.replace("num_query_groups: null", "num_query_groups: 8");
    assert_ne!(text, file);
    expect(&import(&text), &[("model.kv_heads", "8")]);
    let text = file.replace("'GPT2BPETokenizer'", "meta-llama/Llama-3.1-8B");
    expect(&import(&text), &[("model.vocab", "128256")]);
}

/// pytorch/torchtitan `torchtitan/config/job_config.py` (`ActivationCheckpoint`): of the modes "none" recomputes
/// nothing, whatever the option of "selective" is.
#[test]
fn no_recomputation_is_read_in_a_file_of_primus() {
    let file = std::fs::read_to_string("tests/data/launch/primus_torchtitan.yaml").unwrap();
    expect(&import(&file), &[("recompute", "full")]);
    let text = file.replace("mode: full", "mode: none");
    assert_ne!(text, file);
    let read = import(&text);
    expect(&read, &[("recompute", "none")]);
    assert!(read.used.iter().any(|(name, _)| name.ends_with("activation_checkpoint.mode")), "{:?}", read.used);
}

/// pytorch/torchtitan `torchtitan/config_manager.py` of October 2024 has `--training.tensor_parallel_degree`,
/// `--training.data_parallel_replicate_degree` and `--experimental.pipeline_parallel_degree`.
#[test]
fn torchtitan_of_2024_had_its_degrees_in_other_sections() {
    let text = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nbatch_size = 2\nseq_len = 4096\n\
        tensor_parallel_degree = 8\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 4\n\
        [experimental]\npipeline_parallel_degree = 4\ncontext_parallel_degree = 2\n";
    let read = import(text);
    expect(&read, &[("tp", "8"), ("pp", "4"), ("cp", "2"), ("gpus", "512")]);
    for name in ["training.tensor_parallel_degree", "experimental.pipeline_parallel_degree"] {
        assert!(read.used.iter().any(|(used, _)| used == name), "{:?}", read.used);
    }
}

/// allenai/OLMo `configs/official-0425/OLMo2-1B-stage1.yaml` has names of Composer's batch, and settings of its own:
/// the model would be another one.
#[test]
fn a_file_of_olmo_is_refused_by_its_name() {
    let text = "model:\n  d_model: 2048\n  n_layers: 16\nmax_duration: 4e12T\nglobal_train_batch_size: 512\n\
        device_train_microbatch_size: 4\nprecision: amp_bf16\nsave_interval_unsharded: 1000\n";
    let issues = read(text, &Run::default()).unwrap_err();
    assert!(format!("{issues:?}").contains("OLMo"), "{issues:?}");
}

/// NVIDIA-NeMo/Megatron-Bridge names PyTorch's types: `exp_avg_dtype: torch.bfloat16`. A type that is none is unread.
#[test]
fn types_of_moments_are_read_by_either_name() {
    let command = |dtype: &str| {
        format!("{MEGATRON} --use-distributed-optimizer --use-precision-aware-optimizer --exp-avg-dtype {dtype}")
    };
    for (dtype, bytes) in [("bf16", "2"), ("torch.bfloat16", "2"), ("torch.float32", "4"), ("torch.uint8", "1")] {
        expect(&import(&command(dtype)), &[("precision.moment1", bytes)]);
    }
    let read = import(&command("int4"));
    assert!(read.unread.iter().any(|one| one.name == "--exp-avg-dtype"), "{:?}", read.unread);
}

/// allenai/open-instruct e6c3044 `configs/train_configs/dpo/final_best_70b_dpo_config.yaml` switches adapters off by
/// name; `scripts/dpo_train_with_accelerate_config.sh` and `scripts/finetune_lora_with_accelerate_config.sh` start such
/// files by DeepSpeed with stage 3. Of other files who shards is open, and said.
#[test]
fn a_file_without_its_launcher_says_what_shards_the_states() {
    let file = "model_name_or_path: meta-llama/Llama-3.1-70B\nuse_slow_tokenizer: true\nmax_seq_length: 2048\n\
        per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nwith_tracking: true\nloss_type: dpo_norm\n";
    let off = import(&format!("{file}use_lora: false\n"));
    expect(&off, &[("zero", &says(&import(file), "zero"))]);
    expect(&off, &[("zero", "3")]);
    assert!(assumed(&off).contains("ZeRO stage 3"), "{}", assumed(&off));
    let on = import(&format!("{file}use_lora: true\n"));
    expect(&on, &[("zero", "3")]);
    // `open_instruct/finetune.py:559`: the base of QLoRA is on each GPU ("force data-parallel training"), and
    // `scripts/finetune_qlora_with_accelerate_config.sh` starts `configs/train_configs/sft/tulu2_7b_qlora.yaml` by
    // Accelerate alone.
    let quantised = format!("{file}use_lora: true\nuse_qlora: true\nlora_rank: 64\n");
    expect(&import(&quantised), &[("zero", "0"), ("adapter.base", "nf4")]);
    // A command of Accelerate without DeepSpeed is none of those that start it.
    let command = |more: &str| {
        format!(
            "accelerate launch {more} open_instruct/finetune.py --model_name_or_path meta-llama/Llama-3.1-8B \
             --use_slow_tokenizer --with_tracking --max_seq_length 2048 --per_device_train_batch_size 1\n"
        )
    };
    for more in ["", "--num_machines 1 --num_processes 8"] {
        expect(&import(&command(more)), &[("zero", "0")]);
    }
    let third = "--use_deepspeed --deepspeed_config_file configs/ds_configs/stage3_no_offloading_accelerate.conf";
    expect(&import(&command(third)), &[("zero", "3")]);
    // Another program's file of adapters.
    let other = import(
        "model_name_or_path: meta-llama/Llama-3.1-8B\nuse_peft: true\nmax_length: 2048\n\
        per_device_train_batch_size: 1\n",
    );
    expect(&other, &[("zero", "0")]);
    assert!(assumed(&other).contains("states are counted as not sharded"), "{}", assumed(&other));
}

/// Megatron-LM `core_r0.12.0` `megatron/training/tokenizer/tokenizer.py` (`_Llama2Tokenizer`): the vocabulary is that
/// of the file, whoever trained it. In the form of llm-jp/scripts 0a70387 `pretrain/scripts/v4-training`.
#[test]
fn the_file_of_a_tokenizer_decides_its_vocabulary() {
    let command = |file: &str| {
        let sizes = "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
            --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 \
            --position-embedding-type rope --untie-embeddings-and-output-weights --swiglu --normalization RMSNorm \
            --disable-bias-linear --hidden-dropout 0.0 --attention-dropout 0.0 --micro-batch-size 1 \
            --global-batch-size 64 --bf16";
        format!(
            "torchrun --nproc_per_node 8 pretrain_gpt.py {sizes} --tokenizer-type Llama2Tokenizer \
            --tokenizer-model {file}"
        )
    };
    // The folder may be unknown.
    let within = import(&command("${ENV_DIR}/ver3.0/llm-jp-tokenizer-100k.ver3.0b1.model"));
    assert!(!within.model.sure && assumed(&within).contains("decides it"), "{:?}", within.model);
    let another = import(&command("models/ver3.0/llm-jp-tokenizer-100k.ver3.0b1.model"));
    expect(&another, &[("model.vocab", "32000")]);
    assert!(!another.model.sure && another.model.id.is_empty(), "{:?}", another.model);
    assert!(assumed(&another).contains("the file models/ver3.0/llm-jp"), "{}", assumed(&another));
    assert!(!assumed(&another).contains("Mistral"), "{}", assumed(&another));
    let own = import(&command("llama2/tokenizer.model"));
    expect(&own, &[("model.vocab", "32000")]);
    assert!(own.model.sure, "{:?}", own.model);
    // The file of google/gemma-7b has this name too, and 256000 tokens (its `config.json`).
    let anyone = import(&command("/data/tokenizer.model"));
    expect(&anyone, &[("model.vocab", "32000")]);
    assert!(!anyone.model.sure && assumed(&anyone).contains("the file /data/tokenizer.model"), "{}", assumed(&anyone));
}

/// Bash's manual, Shell Parameters: `X="${X} more"` appends, as `X+=" more"` does. In the form of llm-jp/scripts
/// 0a70387 `pretrain/scripts/v3-172b-exp2-sakura/train.sh`, whose list of data has 112 lines.
#[test]
fn a_list_that_grows_line_by_line_is_read() {
    let path = "/data/llm-jp-corpus/v3.0.0/tokenized/sample/ja_common_crawl_dedup_text_document_part_number";
    let lines = |count: usize| {
        let line = |at| format!("DATA=\"${{DATA}} 1234567890 {path}_{at}\"\n");
        (0..count).map(line).collect::<String>()
    };
    let script = |count| format!("DATA=\"\"\n{}torchrun {MEGATRON} --data-path ${{DATA}}\n", lines(count));
    expect(&import(&script(300)), &[("tp", "2"), ("global_batch", "64")]);
    // Doubling is no list.
    let doubled = "X=\"${X}${X}\"\n".repeat(60);
    let issues = read(&format!("X=a\n{doubled}torchrun {MEGATRON} $X\n"), &Run::default()).unwrap_err();
    assert!(format!("{issues:?}").contains("more text"), "{issues:?}");
}

/// Slurm's `srun(1)`: it starts what is given, a tool too. In the form of LLM360/Reasoning360 1315834
/// `scripts/train/example_multinode_rl_qwen2.5_32b_base_fsdp.sh`.
#[test]
fn a_tool_on_every_node_is_no_training_and_a_folder_may_be_unknown() {
    let script = "#SBATCH --nodes=4\nworker_num=$SLURM_NNODES\nmodel=Qwen/Qwen2.5-32B\n\
        srun --nodes=$worker_num --ntasks-per-node=1 ${BIN_PATH}ray stop\n\
        srun --nodes=$worker_num --ntasks-per-node=1 rm -rf /tmp/ray/ray_current_cluster\n\
        srun --nodes=1 --ntasks=1 -w \"$head\" ${BIN_PATH}ray start --head --num-gpus 8 --block &\n\
        \"${BIN_PATH}python\" -m recipe.dapo.main_dapo actor_rollout_ref.model.path=$model data.train_batch_size=512 \
        trainer.n_gpus_per_node=8 trainer.nnodes=$worker_num\n";
    let read = import(script);
    assert!(read.format.to_string().contains("verl"), "{}", read.format);
    expect(&read, &[("gpus", "32")]);
    assert_eq!(read.model.id, "qwen2.5-32b");
}

/// `srun(1)`, `mpirun(1)`: what stands behind an option that takes a value is its value, whatever it is called; the
/// first word that is neither is the program, whatever stands behind it.
#[test]
fn a_value_of_an_option_is_not_the_program_that_is_started() {
    let settings = MEGATRON.split_once(' ').map_or("", |(_, settings)| settings);
    for launcher in [
        "srun -p test",
        "srun --partition test",
        "srun -l -p test --job-name date",
        "srun -K1 -N2 -p test",
        "mpirun -np 16 --allow-run-as-root -x test -mca read test",
    ] {
        let read = import(&format!("{launcher} ./train.sh {settings}\nsrun -N 2 cp train.py /scratch\n"));
        expect(&read, &[("tp", "2"), ("global_batch", "64")]);
    }
}

/// In the form of aws-samples/awsome-distributed-training 7217859 `3.test_cases/pytorch/trl/grpo/train.sbatch`: the
/// command stands in two variables, and the server of the rollouts is started last (`trl vllm-serve`).
#[test]
fn a_server_of_rollouts_is_no_training() {
    let program = "from trl import GRPOConfig, GRPOTrainer\ntrainer = GRPOTrainer(model='Qwen/Qwen2.5-7B', \
        args=GRPOConfig(per_device_train_batch_size=4, num_generations=8, bf16=True, use_vllm=True), \
        reward_funcs=[])\n";
    let script = "#SBATCH --nodes=9\nNODES=$((SLURM_NNODES - 1))\nLAUNCHER=\"accelerate launch \\\n    \
        --num_processes $((NODES * 8)) \\\n    --num_machines ${NODES} --machine_rank \\$SLURM_NODEID \"\n\
        CMD=\"/grpo/train.py --vllm_server_host $HOST\"\n\
        srun -l --nodes=$NODES --ntasks=$NODES bash -c \"$LAUNCHER $CMD\" &\n\
        srun -l --nodes=1 --ntasks=1 trl vllm-serve --model Qwen/Qwen2.5-7B --tensor_parallel_size 4 &\nwait\n";
    let given = Given { files: vec![("train.py".to_owned(), program.to_owned())], ..Given::default() };
    let read = shardscope::io::import::read_given(script, &Run::default(), &given).unwrap();
    expect(&read, &[("gpus", "64"), ("micro_batch", "4"), ("rl.algorithm", "grpo")]);
}

/// arcee-ai/NeMo-RL 0be5512 `nemo_rl/models/policy/dtensor_v2/v2_policy_worker.py` takes the degrees and the
/// recomputation from its second section, where that is enabled.
#[test]
fn a_section_counts_where_its_switch_is_on() {
    let file = |on: &str| {
        format!(
            "policy:\n  model_name: Qwen/Qwen3-30B-A3B\n  train_global_batch_size: 8\n  train_micro_batch_size: 2\n  \
             max_total_sequence_length: 512\n  precision: bfloat16\n  dtensor_cfg:\n    enabled: false\n  \
             dtensor_v2_cfg:\n    enabled: {on}\n    activation_checkpointing: true\n    tensor_parallel_size: 2\n    \
             expert_parallel_size: 8\ncluster:\n  gpus_per_node: 8\n  num_nodes: 1\n"
        )
    };
    let read = import(&file("true"));
    expect(&read, &[("recompute", "full"), ("tp", "2")]);
    assert!(!assumed(&read).contains("activation_checkpoint"), "{}", assumed(&read));
    let names = |read: &Meaning, name: &str| read.unread.iter().any(|one| one.name.ends_with(name));
    assert!(names(&read, "dtensor_v2_cfg.expert_parallel_size"), "{:?} {:?}", read.unread, read.ignored);
    let off = import(&file("false"));
    expect(&off, &[("recompute", "none"), ("tp", "1")]);
    let why = off.ignored.iter().map(ToString::to_string).find(|why| why.contains("v2_cfg.activation_checkpointing"));
    assert!(why.is_some_and(|why| why.contains("switched off")), "{:?}", off.ignored);
}

/// arcee-ai/NeMo-RL 0912707 `rlkit/models/policy/lm_policy.py:86`: with the second section on, degrees are its own, 1
/// where it does not say one, whatever the first has; `examples/configs/rl/reverser/qwen3_0.6B_dtv2.yaml` switches the
/// first off, and a section that is off says nothing.
#[test]
fn the_first_section_says_nothing_where_the_second_is_on() {
    let file = |first: &str, second: &str| {
        format!(
            "policy:\n  model_name: Qwen/Qwen3-0.6B\n  train_global_batch_size: 256\n  train_micro_batch_size: 4\n  \
             max_total_sequence_length: 512\n  precision: bfloat16\n  dtensor_cfg:\n    {first}\n    \
             cpu_offload: true\n    activation_checkpointing: true\n    tensor_parallel_size: 4\n    \
             context_parallel_size: 2\n  dtensor_v2_cfg:\n    enabled: {second}\n    tensor_parallel_size: 2\n\
             cluster:\n  gpus_per_node: 8\n  num_nodes: 1\n"
        )
    };
    for first in ["enabled: true", "enabled: false", "custom_parallel_plan: null"] {
        let read = import(&file(first, "true"));
        expect(&read, &[("tp", "2"), ("cp", "1"), ("recompute", "none")]);
        assert!(read.run.offload.parameters.is_none(), "{first}: {:?}", read.run.offload);
        assert!(!names(&read, "policy.dtensor_cfg.tensor_parallel_size"), "{first}: {:?}", read.unread);
        let why = read.ignored.iter().map(ToString::to_string).find(|why| why.contains("dtensor_cfg.context_parallel"));
        assert!(why.is_some_and(|why| why.contains("another section")), "{first}: {:?}", read.ignored);
    }
    // Its offload is its own; degrees of 1 are none.
    let more = "tensor_parallel_size: 2\n    cpu_offload: true\n    pipeline_parallel_size: 1\n    \
        expert_parallel_size: 1\n    sequence_parallel: false\n";
    let own = import(&file("enabled: false", "true").replace("tensor_parallel_size: 2\n", more));
    expect(&own, &[("tp", "2"), ("pp", "1"), ("ep", "1")]);
    assert!(own.run.offload.parameters.is_some(), "{:?}", own.run.offload);
    assert!(own.unread.iter().all(|one| !one.name.contains("dtensor_v2_cfg")), "{:?}", own.unread);
    expect(&import(&file("enabled: true", "false")), &[("tp", "4"), ("cp", "2"), ("recompute", "full")]);
    expect(&import(&file("enabled: false", "false")), &[("tp", "1"), ("cp", "1"), ("recompute", "none")]);
}

/// NVIDIA-NeMo/Megatron-Bridge 717c62d (v0.2.0) `scripts/performance/argument_parser.py` and `utils/utils.py`
/// (`get_model_recipe`): the name of the model has two parts, and the precision is `--compute_dtype`. In the form of
/// AI-Hypercomputer/gpu-recipes 2e1fd5e `training/a4x-max/deepseek-v3`.
#[test]
fn a_command_of_megatron_bridge_before_is_told_by_the_parts_of_its_model() {
    let command = "torchrun --nproc-per-node 4 --nnodes 64 scripts/performance/run_script.py --model_name deepseek \
        --model_size v3 --gpu gb300 --num_gpus 256 --gpus_per_node 4 --compute_dtype bf16 --global_batch_size 2048 \
        --micro_batch_size 1 --tensor_model_parallel_size 1 --pipeline_model_parallel_size 4 \
        --virtual_pipeline_model_parallel_size 4 --expert_model_parallel_size 64";
    let read = import(command);
    assert!(read.format.to_string().contains("Megatron-Bridge"), "{}", read.format);
    assert_eq!(read.model.id, "deepseek-v3");
    expect(&read, &[("gpus", "256"), ("pp", "4"), ("ep", "64"), ("virtual_stages", "4"), ("zero", "1")]);
    assert_eq!(read.run.precision.base, Some("bf16"));
    assert_eq!(read.unread, []);
}

/// AMD-AGI/Primus fd1eeab names its files by sizes, `primus/configs/models/torchtitan/deepseek_v3_671b.yaml`; a file of
/// a model that is given stands below the overrides of its module (`primus/core/launcher/parser.py`,
/// `parse_trainer_module`).
#[test]
fn a_model_file_of_primus_is_known_or_taken_from_files() {
    let file = std::fs::read_to_string("tests/data/launch/primus_torchtitan.yaml").unwrap();
    let at = file.lines().find(|line| line.trim().starts_with("model: ")).unwrap();
    let read = import(&file.replace(at, "    model: deepseek_v3_671b.yaml"));
    assert_eq!(read.model.id, "deepseek-v3");
    let text = "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    \
        model: own.yaml\n    overrides:\n      seq_length: 4096\n      micro_batch_size: 1\n      \
        global_batch_size: 64\n";
    let own = "num_layers: 12\nhidden_size: 1024\nnum_attention_heads: 16\nffn_hidden_size: 4096\nseq_length: 512\n";
    let given = Given { files: vec![("own.yaml".to_owned(), own.to_owned())], ..Given::default() };
    let read = shardscope::io::import::read_given(text, &Run::default(), &given).unwrap();
    expect(&read, &[("model.layers", "12"), ("model.hidden", "1024"), ("seq_len", "4096")]);
    // One that is not given and whose name tells no model is named.
    let own = file.replace(at, "    model: own.yaml");
    for text in [text, &own] {
        let read = import(text);
        let missing = |one: &&shardscope::io::import::Unread| one.kind == UnreadKind::MissingFile;
        assert_eq!(
            read.unread.iter().find(missing).map(|one| one.name.as_str()),
            Some("own.yaml"),
            "{:?}",
            read.unread
        );
    }
}

/// AMD-AGI/Primus fd1eeab `primus/configs/models/torchtitan/qwen3_8b.yaml` and `primus/core/launcher/parser.py:320`:
/// the model's settings, then the overrides of the module over them, in whichever order the files are pasted.
#[test]
fn a_model_file_of_primus_on_torchtitan_is_read_beside_its_experiment() {
    let model = "job:\n  description: \"Qwen3 8B model training\"\nmodel:\n  name: \"qwen3\"\n  flavor: \"8B\"\n  \
        hf_assets_path: \"Qwen/Qwen3-8B\"\n  converters:\n    - primus_turbo\ntraining:\n  seq_len: 512\n  \
        local_batch_size: 2\n";
    let experiment = "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: pre_trainer.yaml\n    \
        model: own.yaml\n    overrides:\n      training:\n        seq_len: 4096\n      parallelism:\n        \
        tensor_parallel_degree: 2\n";
    let given = Given { files: vec![("own.yaml".to_owned(), model.to_owned())], ..Given::default() };
    let given = shardscope::io::import::read_given(experiment, &Run::default(), &given).unwrap();
    let pasted = import(&format!("{model}---\n{experiment}"));
    let swapped = import(&format!("{experiment}---\n{model}"));
    for read in [given, pasted, swapped] {
        assert_eq!((read.model.id.as_str(), read.model.sure), ("qwen-3-8b", true));
        expect(&read, &[("seq_len", "4096"), ("tp", "2"), ("micro_batch", "2")]);
        assert!(read.unread.iter().all(|one| one.kind != UnreadKind::MissingFile), "{:?}", read.unread);
        assert!(read.unread.iter().all(|one| !one.name.contains(".model")), "{:?}", read.unread);
    }
}

/// What stands between the settings and their reader is named as it is: a program that is not given, one that calls
/// nothing known, a file that Hydra reads, a script that another runs.
#[test]
fn a_refusal_names_what_it_lacks() {
    let refused = |text: &str, files: &[(&str, &str)]| {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let given = Given { files, ..Given::default() };
        let issues = shardscope::io::import::read_given(text, &Run::default(), &given).unwrap_err();
        issues[0].message.to_string()
    };
    // In the form of jzhang38/EasyContext 6b0d310 `train_scripts/EasyContext-1M-Llama-2-7B.sh`.
    let own_loop =
        "accelerate launch --num_processes 8 train.py --batch-size 1 --seq-length 32768 --rope-theta 1000000\n";
    assert!(refused(own_loop, &[]).contains("the command starts train.py"));
    let program = "import torch\nfrom accelerate import Accelerator\naccelerator = Accelerator()\n\
        for batch in data:\n    accelerator.backward(loss)\n";
    let given = refused(own_loop, &[("train.py", program)]);
    assert!(given.contains("train.py is given") && !given.contains("not here"), "{given}");
    // NVIDIA/NeMo-Framework-Launcher 26e42fa `examples/training/llama/h100/llama3_8b_bf16.sh`.
    let launcher = "python3 $HOME_DIR/launcher_scripts/main.py training=llama/llama3_8b stages=[training] \
        training.trainer.num_nodes=1\n";
    assert!(refused(launcher, &[]).contains("conf/training/llama/llama3_8b.yaml"), "{}", refused(launcher, &[]));
    // Another repository keeps what its program reads elsewhere: Hydra, "Config groups" (any folder, any name).
    let another = "python3 train.py training=llama/llama3_8b\n";
    assert!(refused(another, &[]).contains("training=llama/llama3_8b may choose"), "{}", refused(another, &[]));
    assert!(!refused(another, &[]).contains("conf/"), "{}", refused(another, &[]));
    // haeggee/Megatron-LM 3d4cf43 `submissions/110m/110m-fog.sh`.
    let submits = "source .env\nSCALE=0.28\nbash submissions/submit.sh 110 --no-pre-norm --layer-scale $SCALE $*\n";
    assert!(refused(submits, &[]).contains("submissions/submit.sh"), "{}", refused(submits, &[]));
    // What prepares the shell is none, run or sourced: conda's `profile.d/conda.sh`.
    let prepares = format!("bash /opt/conda/etc/profile.d/conda.sh\n{submits}");
    assert!(refused(&prepares, &[]).contains("submissions/submit.sh"), "{}", refused(&prepares, &[]));
    // mlfoundations/dclm 361714b `training/configs`, and a file of a program that is not known.
    let dclm = r#"{"model": "open_lm_7b.json", "tokens": 137788211200, "global_bs": 2048, "chinchilla_multiplier": 2}"#;
    assert!(refused(dclm, &[]).contains("open_lm"), "{}", refused(dclm, &[]));
    let other = r#"{"model": {"hidden": 1}, "distributed": {"tp_size": 2}, "dataset": {}, "logging": {}}"#;
    assert!(refused(other, &[]).contains("distributed"), "{}", refused(other, &[]));
    // Of its four entries a run has none but the model.
    assert!(refused(other, &[]).contains("most of the entries"), "{}", refused(other, &[]));
    // Azure/torchtune-azureml 827273d `scripts/knowledge_distillation_qwen2.yaml`.
    let template = "model:\n  _component_: torchtune.models.qwen2.lora_qwen2_0_5b\ntokenizer:\n  \
        path: {{student_model_dir}}/vocab.json\n";
    assert!(refused(template, &[]).contains("a template"), "{}", refused(template, &[]));
    // hkust-nlp/simpleRL-reason cf1c785 `train_grpo_math_tune_ray.sh`.
    let verl = "export ARNOLD_WORKER_NUM=TO_BE_FILLED\npython3 -m verl.trainer.main_ppo \
        actor_rollout_ref.model.path=Qwen/Qwen3-8B trainer.nnodes=$ARNOLD_WORKER_NUM trainer.n_gpus_per_node=8\n";
    assert!(refused(verl, &[]).contains("set ARNOLD_WORKER_NUM"), "{}", refused(verl, &[]));
    let several = refused(&format!("export DATA=TO_BE_FILLED\n{verl}"), &[]);
    assert!(several.contains("set ARNOLD_WORKER_NUM"), "{several}");
    // A variable with an equal value is not where a setting has its own from.
    let literal = verl.replace("=$ARNOLD_WORKER_NUM", "=TO_BE_FILLED");
    let equal = refused(&literal, &[]);
    assert!(equal.contains("trainer.nnodes takes a number, not TO_BE_FILLED"), "{equal}");
}
