//! What launch texts say beside the program's own settings: GPUs by their name and their number, the defaults that a
//! command names, and defaults of releases.

use shardscope::core::run::Run;
use shardscope::core::run::registry::field;
use shardscope::io::import::{Meaning, read};

const MEGATRON: &str = "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --max-position-embeddings 4096 --bf16 --micro-batch-size 1 --global-batch-size 256";

fn import(text: &str) -> Meaning {
    read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

fn says(read: &Meaning, key: &str) -> String {
    field(key).unwrap().text(&read.run.resolved()).unwrap_or_default()
}

fn assumed(read: &Meaning) -> String {
    read.assumed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// `sbatch(1)`: `--gres=name[[:type]:count]`, `--gpus=[type:]number`, `--gpus-per-node=[type:]number`, `--constraint`
/// with features of nodes. The accounts of bigscience-workshop/bigscience `train/tr11-176B-ml` are `six@v100`,
/// `six@a100`.
#[test]
fn the_gpu_is_the_one_that_a_launch_text_names() {
    for (options, gpu) in [
        ("--gres=gpu:a100:8", "a100-sxm-80gb"),
        ("--gpus a100:8", "a100-sxm-80gb"),
        ("--gpus-per-node=h200:4", "h200-sxm-141gb"),
        ("--gres=gpu:8\n#SBATCH --constraint=a100", "a100-sxm-80gb"),
        ("-C v100-32g", "v100-sxm2-32gb"),
        ("--account=six@v100", "v100-sxm2-16gb"),
    ] {
        let read =
            import(&format!("#!/bin/bash\n#SBATCH {options}\nif [ -n \"$A\" ]; then B=1; fi\nsrun {MEGATRON}\n"));
        // What may be about the other way of a condition names no GPU, except the job's own options.
        if options.starts_with("--account") {
            assert!(assumed(&read).contains("the text does not say"), "{options}: {}", assumed(&read));
        } else {
            assert_eq!(says(&read, "gpu"), gpu, "{options}");
        }
        let plain = import(&format!("#SBATCH {options}\nsrun {MEGATRON}\n"));
        assert_eq!(says(&plain, "gpu"), gpu, "{options}");
        let kind = assumed(&plain).contains("does not say which kind");
        assert_eq!(kind, !["h200-sxm-141gb", "v100-sxm2-32gb"].contains(&gpu), "{options}: {}", assumed(&plain));
    }
    let unknown = import(&format!("#SBATCH --gres=gpu:p100:4\nsrun {MEGATRON}\n"));
    assert!(assumed(&unknown).contains("p100 is not known"), "{}", assumed(&unknown));
    // Texts of every program say whose the GPU is.
    for text in [
        MEGATRON,
        "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4",
        "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\n",
        "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: lora\ncutoff_len: 2048\n",
        "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n",
    ] {
        let read = import(text);
        assert!(assumed(&read).contains("as on this page: the text does not say"), "{text}: {}", assumed(&read));
    }
}

/// `srun(1)`: options that `srun` does not give are those of the job; a task is a process, of which a plain `srun`
/// starts one for each GPU that trains.
#[test]
fn a_batch_job_says_how_many_gpus_train() {
    for (options, command, gpus) in [
        ("-N 4\n#SBATCH --ntasks-per-node=8", "srun", "32"),
        ("-N 4\n#SBATCH --ntasks-per-node=8", "srun -N 2", "16"),
        ("--gpus=32\n#SBATCH --ntasks=32", "srun", "32"),
        ("-n 16\n#SBATCH --gpus-per-task=1", "srun", "16"),
        ("-n4 --gpus-per-task=2", "srun", "8"),
        ("--nodes=2\n#SBATCH --gpus-per-node=h100:4", "srun", "8"),
        ("--nodes=2", "srun --gpus-per-node=h100:4", "8"),
        ("--nodes=2 --ntasks-per-node=1 --gres=gpu:a100:8", "srun", "16"),
        // Each task starts its node's processes.
        ("--nodes=2 --ntasks-per-node=1", "srun torchrun --nnodes 2 --nproc-per-node 8", "16"),
    ] {
        let read = import(&format!("#SBATCH {options}\n{command} {MEGATRON}\n"));
        assert_eq!(says(&read, "gpus"), gpus, "{options} {command}: {}", assumed(&read));
    }
}

/// pytorch `torch/distributed/run.py`, `determine_local_world_size`: `gpu` and `auto` are the devices of the node.
#[test]
fn all_gpus_of_a_node_are_those_of_the_page() {
    let train = "train.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 True --per_device_train_batch_size 4";
    for (launcher, gpus) in
        [("torchrun --nproc_per_node gpu", "8"), ("torchrun --nnodes 2 --nproc-per-node=auto", "16")]
    {
        let read = import(&format!("{launcher} {train}\n"));
        assert_eq!(says(&read, "gpus"), gpus, "{launcher}");
        assert!(assumed(&read).contains("is all that a node has"), "{launcher}: {}", assumed(&read));
        let megatron = import(&format!("{launcher} {}\n", MEGATRON.replace("python ", "")));
        assert_eq!(says(&megatron, "gpus"), gpus, "{launcher}");
    }
}

/// A script that writes its launcher's file, as `accelerate launch --config_file` takes it.
#[test]
fn a_script_that_writes_a_file_of_accelerate_is_a_script() {
    let text = "cat > acc.yaml <<EOF\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  \
        fsdp_reshard_after_forward: true\nmixed_precision: bf16\nnum_processes: 16\nnum_machines: 2\nEOF\n\
        accelerate launch --config_file acc.yaml train.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 true \
        --per_device_train_batch_size 2 --max_length 2048\n";
    let read = import(text);
    for (key, value) in
        [("model", "qwen-2.5-7b"), ("gpus", "16"), ("zero", "3"), ("micro_batch", "2"), ("seq_len", "2048")]
    {
        assert_eq!(says(&read, key), value, "{key}");
    }
}

/// volcengine/verl b178a3c `verl/trainer/config/ppo_megatron_trainer.yaml`: the actor is `megatron_actor`, whose engine
/// has the distributed optimizer, one rank of tensor and of pipeline parallelism (`config/engine/megatron.yaml`). The
/// command is `examples/ppo_trainer/run_deepseek_full_hh_rlhf.sh` with another model. `verl.trainer.fsdp_sft_trainer`
/// has names that are not read.
#[test]
fn the_defaults_that_a_command_of_verl_names_decide_its_engine() {
    let command = |config: &str| {
        format!(
            "python3 -m verl.trainer.main_ppo --config-path=./config {config} algorithm.adv_estimator=gae \
             data.train_batch_size=512 data.max_prompt_length=128 data.max_response_length=128 \
             actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.ppo_mini_batch_size=128 \
             actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
        )
    };
    for config in ["--config-name='ppo_megatron_trainer'", "--config-name=ppo_megatron_trainer.yaml"] {
        let read = import(&command(config));
        for (key, value) in [("zero", "1"), ("tp", "1"), ("pp", "1"), ("micro_batch", "4"), ("global_batch", "128")] {
            assert_eq!(says(&read, key), value, "{config} {key}");
        }
        assert!(says(&read, "stack").starts_with("megatron"), "{config}");
    }
    let shards = import(&command("--config-name=ppo_trainer"));
    assert_eq!((says(&shards, "zero"), says(&shards, "stack")), ("3".to_owned(), "torchtitan-eager".to_owned()));
    let tuning = "torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.micro_batch_size_per_gpu=4 \
        model.partial_pretrain=Qwen/Qwen2.5-0.5B-Instruct\n";
    let refused = read(tuning, &Run::default()).unwrap_err();
    assert!(refused[0].message.to_string().contains("verl.trainer.fsdp_sft_trainer"), "{refused:?}");
}

/// huggingface/trl `trl/trainer/grpo_config.py`: `vllm_mode` is "server" in v0.18.0 to v0.29.0 and "colocate" since
/// v1.0.0; `max_prompt_length` is a setting up to v0.27.
#[test]
fn vllm_of_trl_is_where_the_release_of_the_text_has_it() {
    let file = |more: &str| {
        format!(
            "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nbf16: true\nuse_vllm: true\ngradient_accumulation_steps: 4\n\
             max_completion_length: 1024\nnum_generations: 16\nper_device_train_batch_size: 16\n{more}"
        )
    };
    for (more, placement, said) in [
        ("max_prompt_length: 512\n", "split", "before 1.0"),
        ("", "colocated", "since 1.0"),
        ("max_prompt_length: 512\nvllm_mode: colocate\n", "colocated", ""),
        ("vllm_mode: server\n", "split", ""),
    ] {
        let read = import(&file(more));
        assert_eq!(says(&read, "rl.placement"), placement, "{more}");
        assert!(!assumed(&read).contains("training alone is counted"), "{}", assumed(&read));
        assert!(assumed(&read).contains(said), "{more}: {}", assumed(&read));
        assert_eq!(assumed(&read).contains("vllm_mode is not said"), !said.is_empty(), "{more}");
    }
}

/// modelscope/ms-swift 3602360 `swift/arguments`: `lora_rank` is a default of adapters; DeepSpeed keeps copies in fp32
/// beside weights in bf16 (`runtime/bf16_optimizer.py`).
#[test]
fn defaults_that_change_nothing_are_not_said() {
    let swift = |more: &str| {
        let text = format!("NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 4096 {more}\n");
        assumed(&import(&text))
    };
    let sharded = swift("--tuner_type full --deepspeed zero3");
    assert!(!sharded.contains("rank of the adapters") && !sharded.contains("pure bf16"), "{sharded}");
    let alone = swift("--tuner_type full");
    assert!(alone.contains("pure bf16") && !alone.contains("; bf16:"), "{alone}");
    let adapted = swift("--tuner_type lora");
    assert!(adapted.contains("rank of the adapters 8") && !adapted.contains("pure bf16"), "{adapted}");
}

/// pytorch `torch/distributed/fsdp/api.py`, `CPUOffload`: "offloads gradients to CPU as well, meaning that the
/// optimizer step runs on CPU". axolotl takes version 1 where `fsdp_version` is not said (`utils/schemas/validation.py`).
#[test]
fn offloading_of_the_first_fsdp_is_said_to_be_counted_as_the_second() {
    let file = |version: &str| {
        format!(
            "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\nbf16: auto\n\
             {version}fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n  fsdp_offload_params: true\n"
        )
    };
    for (version, said) in [("", true), ("fsdp_version: 1\n", true), ("fsdp_version: 2\n", false)] {
        let read = import(&file(version));
        assert_eq!(says(&read, "offload.parameters"), "cpu", "{version}");
        assert_eq!(assumed(&read).contains("counted as FSDP2's"), said, "{version}: {}", assumed(&read));
    }
}
