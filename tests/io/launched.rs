//! What launch texts say beside the program's own settings: GPUs by their name and their number, the defaults that a
//! command names, and defaults of releases.

use crate::meaning::{assumed, import, says};
use shardscope::core::run::Run;
use shardscope::core::run::registry::field;
use shardscope::io::import::read;

const MEGATRON: &str = "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --max-position-embeddings 4096 --bf16 --micro-batch-size 1 --global-batch-size 256";

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
/// optimizer step runs on CPU", so that both versions keep the same there. axolotl takes version 1 where `fsdp_version`
/// is not said (`utils/schemas/validation.py`).
#[test]
fn offloading_of_both_versions_of_fsdp_is_one() {
    let file = |version: &str| {
        format!(
            "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\nbf16: auto\n\
             {version}fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n  fsdp_offload_params: true\n"
        )
    };
    for version in ["", "fsdp_version: 1\n", "fsdp_version: 2\n"] {
        let read = import(&file(version));
        assert_eq!(says(&read, "offload.parameters"), "cpu", "{version}");
        assert_eq!(says(&read, "offload.framework"), "fsdp2", "{version}");
        assert!(!assumed(&read).contains("offloading"), "{version}: {}", assumed(&read));
    }
}

/// volcengine/verl b178a3c `verl/trainer/config/sft_trainer.yaml` (names and defaults),
/// `verl/trainer/fsdp_sft_trainer.py:202` (weights in `model_dtype`), `:250` (passes in bf16), `:147` (a batch of all
/// ranks).
#[test]
fn fine_tuning_of_verl_before_its_engines_is_read() {
    let command = |more: &str| {
        format!(
            "torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer \
             data.train_files=a.parquet model.partial_pretrain=Qwen/Qwen2.5-7B-Instruct {more}\n"
        )
    };
    let says_all = |more: &str, expected: &[(&str, &str)]| {
        let read = import(&command(more));
        for (key, value) in expected {
            assert_eq!(says(&read, key), *value, "{more} {key}");
        }
    };
    let silent = [
        ("model", "qwen-2.5-7b"),
        ("gpus", "8"),
        ("zero", "3"),
        ("micro_batch", "4"),
        ("global_batch", "256"),
        ("seq_len", "1024"),
        ("recompute", "full"),
        ("precision", "fsdp-mixed"),
        ("adapter.method", ""),
    ];
    says_all("", &silent);
    says_all("trainer.nnodes=2 trainer.n_gpus_per_node=4", &[("gpus", "8")]);
    says_all("model.fsdp_config.model_dtype=bf16", &[("precision", "bf16-pure")]);
    says_all("model.lora_rank=32 data.micro_batch_size_per_gpu=2", &[("adapter.rank", "32"), ("micro_batch", "2")]);
    says_all("ulysses_sequence_parallel_size=2 use_remove_padding=true", &[("cp", "2"), ("cp_comm", "ulysses")]);
    let file = "data:\n  micro_batch_size_per_gpu: 8\n  max_length: 2048\nmodel:\n  \
        partial_pretrain: Qwen/Qwen2.5-7B\n  enable_gradient_checkpointing: False\n";
    let read = import(file);
    assert_eq!((says(&read, "micro_batch"), says(&read, "recompute")), ("8".to_owned(), "none".to_owned()));
}

/// THUDM/slime 624b824 `scripts/run-qwen3-4B-base-sft.sh`: `--loss-type sft_loss` trains on samples as they are, and
/// `--debug-train-only` starts no engine (`slime/utils/arguments.py:1594`).
#[test]
fn fine_tuning_of_slime_is_no_reinforcement_learning() {
    let command = |loss: &str| {
        format!(
            "ray job submit -- python3 train_async.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 \
             --hf-checkpoint Qwen/Qwen3-8B --rollout-function-path slime.rollout.sft_rollout.generate_rollout \
             --rollout-batch-size 128 --global-batch-size 128 {loss} --recompute-granularity full \
             --recompute-method uniform --recompute-num-layers 1 --context-parallel-size 2 \
             --use-dynamic-batch-size --max-tokens-per-gpu 9216\n"
        )
    };
    let tuned = import(&command("--loss-type sft_loss --debug-train-only"));
    for (key, value) in [
        ("rl.algorithm", ""),
        ("phases.framework", ""),
        ("objective", "next-token"),
        ("gpus", "8"),
        ("micro_batch", "1"),
        // The tokens of both ranks of context parallelism.
        ("seq_len", "18432"),
        ("global_batch", "128"),
    ] {
        assert_eq!(says(&tuned, key), value, "{key}");
    }
    assert!(assumed(&tuned).contains("tokens of a micro-batch"), "{}", assumed(&tuned));
    assert_eq!(says(&import(&command("")), "rl.algorithm"), "grpo");
}

/// pytorch `torch/distributed/run.py`, `determine_local_world_size`, before ms-swift (`swift/cli/main.py:31` hands
/// `NPROC_PER_NODE` on to it) and OpenRLHF.
#[test]
fn all_gpus_of_a_node_start_every_program() {
    let swift = "--model Qwen/Qwen2.5-7B-Instruct --max_length 2048";
    let rlhf = "--pretrain Qwen/Qwen2.5-7B --max_len 2048 --micro_train_batch_size 1";
    for (text, gpus) in [
        (format!("NPROC_PER_NODE=gpu swift sft {swift} --deepspeed zero3"), "8"),
        (format!("NNODES=2 NPROC_PER_NODE=auto swift sft {swift} --deepspeed zero3"), "16"),
        (format!("torchrun --nproc_per_node gpu swift/cli/sft.py {swift} --deepspeed zero3"), "8"),
        (format!("NPROC_PER_NODE=gpu megatron sft {swift}"), "8"),
        (format!("torchrun --nnodes 2 --nproc_per_node auto -m openrlhf.cli.train_sft {rlhf}"), "16"),
        (format!("NPROC_PER_NODE=4 swift sft {swift} --deepspeed zero3"), "4"),
    ] {
        let read = import(&text);
        assert_eq!(says(&read, "gpus"), gpus, "{text}");
        assert_eq!(assumed(&read).contains("is all that a node has"), !text.contains("=4 "), "{text}");
    }
}

/// huggingface/trl, each at its tag: `gradient_checkpointing` is true since v0.22.0 and `bf16` without `fp16` since
/// v0.19.0 (`trl/trainer/sft_config.py`), `max_seq_length` is gone since v0.20.0, `dtype` is there since v0.23.0
/// (`model_config.py`), `loss_type` is `chunked_nll` since v1.7.0, the base is loaded in fp32 unless `dtype` says else.
#[test]
fn defaults_of_trl_are_those_of_the_release_that_the_text_is_for() {
    let text = |more: &str| {
        format!(
            "torchrun --nproc_per_node 8 sft.py --model_name_or_path Qwen/Qwen2.5-7B --dataset_name a \
             --per_device_train_batch_size 1 {more}\n"
        )
    };
    for (more, recompute, precision) in [
        ("--max_length 2048", "full", "fsdp-mixed"),
        ("--max_length 2048 --dtype bfloat16", "full", "bf16-pure"),
        ("--max_length 2048 --torch_dtype auto", "full", "bf16-pure"),
        ("--max_seq_length 2048 --bf16", "none", "fsdp-mixed"),
        ("--max_seq_length 2048", "none", "fp32"),
        ("--max_seq_length 2048 --mixed_precision bf16", "none", "fsdp-mixed"),
        ("--max_seq_length 2048 --bf16 --gradient_checkpointing", "full", "fsdp-mixed"),
        ("--max_length 2048 --use_peft", "full", "fsdp-mixed"),
        ("--max_length 2048 --use_peft --dtype bfloat16", "full", "bf16"),
        ("--max_length 2048 --use_peft --load_in_4bit", "full", "bf16"),
        ("--max_length 2048 --use_peft --deepspeed zero3.json", "full", "bf16"),
    ] {
        let read = import(&text(more));
        assert_eq!(
            (says(&read, "recompute").as_str(), says(&read, "precision").as_str()),
            (recompute, precision),
            "{more}"
        );
    }
    let open = import(&text("--max_length 2048"));
    let conditions: Vec<&str> = open.branches.iter().map(|branch| branch.condition.as_str()).collect();
    assert_eq!(conditions, ["TRL is release 0.22 or later", "TRL is release 1.7 or later"]);
    assert_eq!(says(&import(&text("--max_length 2048 --loss_type chunked_nll")), "cross_entropy"), "chunked");
    // 7.6 billion frozen weights of four bytes instead of two.
    let weights = |more: &str| {
        let run = import(&text(more)).run;
        shardscope::core::report::report(&run).unwrap().memory.peak_bytes.gib()
    };
    let both = weights("--max_length 2048 --use_peft") - weights("--max_length 2048 --use_peft --dtype bfloat16");
    assert!((both / (2.0 * 7.6e9 / 1024.0_f64.powi(3)) - 1.0).abs() < 0.1, "{both}");
}

/// OpenRLHF 3c3be62 `openrlhf/cli/train_ppo_ray.py:41`, `:107`: actor and reference share GPUs with
/// `colocate_actor_ref`, critic and reward model have others; `colocate_all` puts all on the same ones.
#[test]
fn the_critic_of_openrlhf_stands_apart_from_the_actor() {
    let text = |more: &str| {
        format!(
            "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 8 \
             --critic.num_nodes 1 --critic.num_gpus_per_node 8 --vllm.num_engines 4 --vllm.tensor_parallel_size 2 \
             --actor.model_name_or_path Qwen/Qwen3-8B --rollout.batch_size 1024 --train.batch_size 128 \
             --data.max_len 2048 --ds.zero_stage 3 --algo.advantage.estimator gae {more}\n"
        )
    };
    for (more, placement) in [
        ("", "apart"),
        ("--train.colocate_actor_ref", "pairs"),
        ("--train.colocate_all", ""),
        ("--train.colocate_all --train.colocate_actor_ref", ""),
        ("--train.colocate_actor_ref --train.colocate_all", ""),
    ] {
        let run = import(&text(more)).run;
        assert_eq!(field("phases.placement").unwrap().text(&run).unwrap_or_default(), placement, "{more}");
    }
}

/// NVIDIA/NeMo 000316c `nemo/collections/nlp/models/language_modeling/megatron_base_model.py`, `setup_optimization`:
/// distributed Adam stores 16 bits beside a bf16 weight unless weights are fp8.
#[test]
fn distributed_adam_of_apex_keeps_remainders_of_masters() {
    let file = |more: &str| {
        format!(
            "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16\n  max_steps: 100\nexp_manager:\n  name: a\n\
             model:\n  micro_batch_size: 1\n  global_batch_size: 256\n  encoder_seq_length: 2048\n  \
             max_position_embeddings: 2048\n  num_layers: 24\n  hidden_size: 4096\n  ffn_hidden_size: 16384\n  \
             num_attention_heads: 32\n  tensor_model_parallel_size: 2\n  megatron_amp_O2: true\n{more}"
        )
    };
    for (more, master) in [
        ("  optim:\n    name: distributed_fused_adam\n", "2"),
        ("  fp8_params: true\n  optim:\n    name: distributed_fused_adam\n", "4"),
        ("  optim:\n    name: mcore_distributed_optim\n", "4"),
    ] {
        let read = import(&file(more));
        assert_eq!(says(&read, "precision.master"), master, "{more}");
        assert_eq!(says(&read, "zero"), "1", "{more}");
    }
}

/// modelscope/ms-swift 3602360 `swift/dataset/packing.py:113`: a pair is as long as the sum of both, and a pack holds
/// `packing_length` tokens, `max_length` where it is not said.
#[test]
fn packs_of_pairs_hold_both_sequences() {
    for (command, length) in [
        ("swift rlhf --rlhf_type dpo --max_length 8192 --packing true", "4096"),
        ("swift rlhf --rlhf_type dpo --max_length 8192 --packing true --packing_length 16384", "8192"),
        ("swift rlhf --rlhf_type dpo --max_length 8192", "8192"),
        ("swift sft --max_length 8192 --packing true", "8192"),
        ("swift sft --max_length 8192 --packing true --packing_length 16384", "16384"),
        ("megatron rlhf --rlhf_type dpo --max_length 8192 --packing true --micro_batch_size 1", "4096"),
    ] {
        let read = import(&format!("NPROC_PER_NODE=4 {command} --model Qwen/Qwen2.5-7B-Instruct\n"));
        assert_eq!(says(&read, "seq_len"), length, "{command}");
    }
}

/// lm-sys/FastChat 0e6d3e4 `scripts/train_lora.sh`, `fastchat/train/train_lora.py:57`: a rank without a switch trains
/// adapters; huggingface/trl f2cd577 `trl/trainer/utils.py`, `get_peft_config`: TRL's rank without `use_peft` is none.
#[test]
fn a_rank_of_adapters_trains_them_where_the_script_is_not_of_trl() {
    let shared = "--model_name_or_path Qwen/Qwen2.5-7B --lora_r 16 --bf16 True --per_device_train_batch_size 2";
    let own =
        import(&format!("deepspeed --num_gpus 4 fastchat/train/train_lora.py {shared} --model_max_length 2048\n"));
    assert_eq!((says(&own, "adapter.method"), says(&own, "adapter.rank")), ("lora".to_owned(), "16".to_owned()));
    assert!(assumed(&own).contains("nothing switches them on"), "{}", assumed(&own));
    let bits = import(
        "python unsloth-cli.py --model_name_or_path Qwen/Qwen2.5-7B --max_seq_length 4096 --load_in_4bit --r 32 \
         --per_device_train_batch_size 2 --use_gradient_checkpointing unsloth\n",
    );
    let got = ["adapter.method", "adapter.rank", "recompute"].map(|key| says(&bits, key));
    assert_eq!(got, ["qlora", "32", "full"]);
    let trl = import(&format!("trl sft {shared} --dataset_name a --max_length 2048\n"));
    assert_eq!(says(&trl, "adapter.method"), "");
}

/// huggingface/alignment-handbook 925acdf `scripts/run_dpo.py`; simplescaling/s1 77272c6 `train/sft.sh`
/// (`--block_size`, `--model_name`): a script's name has its objective.
#[test]
fn scripts_beside_trl_are_named_by_their_objective_and_lengths() {
    let text = |script: &str| {
        format!(
            "accelerate launch --num_processes 8 {script} --model_name Qwen/Qwen2.5-7B --block_size 4096 --bf16 True \
             --per_device_train_batch_size 1 --gradient_checkpointing True\n"
        )
    };
    for (script, objective) in [
        ("scripts/run_dpo.py", "dpo"),
        ("train_orpo.py", "orpo"),
        ("train/sft.py", "next-token"),
        ("run_kto.py", "kto"),
    ] {
        let read = import(&text(script));
        assert_eq!(says(&read, "objective"), objective, "{script}");
        assert_eq!((says(&read, "seq_len"), says(&read, "model")), ("4096".to_owned(), "qwen-2.5-7b".to_owned()));
    }
}

/// princeton-nlp/SimPO 1b3e8f3 `training_configs/llama-3-8b-instruct-simpo.yaml`, `scripts/simpo_config.py:56`;
/// huggingface/trl v0.18.0 `trl/trainer/cpo_config.py:132`, `kto_config.py:127`.
#[test]
fn weights_of_one_loss_name_its_trainer() {
    for (weight, objective) in
        [("gamma_beta_ratio: 0.5", "simpo"), ("simpo_gamma: 0.5", "simpo"), ("desirable_weight: 1.0", "kto")]
    {
        let read = import(&format!(
            "model_name_or_path: Qwen/Qwen2.5-7B\nbf16: true\nbeta: 2.5\n{weight}\ngradient_checkpointing: true\n\
             max_length: 2048\nmax_prompt_length: 1800\nper_device_train_batch_size: 2\n"
        ));
        assert_eq!(says(&read, "objective"), objective, "{weight}");
    }
}

/// allenai/open-instruct e6c3044 `scripts/train/qwen/grpo_fast_7b_orz.sh`, `open_instruct/grpo_fast.py`;
/// PKU-Alignment/align-anything 3f9decc `scripts/gemma3/gemma3_sft.sh`: programs with files or names of their own.
#[test]
fn programs_that_share_names_with_trainer_are_refused_by_their_name() {
    for (text, name) in [
        (
            "python mason.py --gpus 8 -- python open_instruct/grpo_fast.py --model_name_or_path Qwen/Qwen2.5-7B \
             --per_device_train_batch_size 1 --gradient_checkpointing --deepspeed_stage 3 --num_learners_per_node 8\n",
            "open-instruct",
        ),
        (
            "accelerate launch open_instruct/dpo_tune_cache.py --model_name_or_path Qwen/Qwen2.5-7B \
             --max_seq_length 2048 --per_device_train_batch_size 1\n",
            "open-instruct",
        ),
        (
            "deepspeed --module align_anything.trainers.text_to_text.sft --model_name_or_path Qwen/Qwen2.5-7B \
             --train_datasets a --output_dir b\n",
            "align-anything",
        ),
    ] {
        let refused = read(text, &Run::default()).unwrap_err();
        assert!(refused[0].message.to_string().contains(name), "{refused:?}");
    }
    let tuned = "accelerate launch --num_processes 8 open_instruct/finetune.py --model_name_or_path Qwen/Qwen2.5-7B \
        --max_seq_length 4096 --per_device_train_batch_size 1\n";
    assert_eq!(says(&import(tuned), "recompute"), "none");
}

/// deepspeedai/Megatron-DeepSpeed 4efb479 `megatron/arguments.py:974`, `megatron/initialize.py:247`: DeepSpeed-Ulysses,
/// which takes the place of sequence parallelism.
#[test]
fn the_ranks_that_megatron_deepspeed_shares_a_sequence_by_are_read() {
    let text = format!("deepspeed --num_gpus 8 {} --ds-sequence-parallel-size 4\n", MEGATRON.replace("python ", ""));
    let read = import(&text);
    assert_eq!((says(&read, "cp"), says(&read, "cp_comm")), ("4".to_owned(), "ulysses".to_owned()));
}

/// microsoft/DeepSpeedExamples `applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py` (names, fp16
/// where `dtype` is not said), `dschat/utils/ds_utils.py` (`offload`); its third step has models of its own.
#[test]
fn deepspeed_chat_is_read_but_for_its_third_step() {
    let text = |more: &str| {
        format!(
            "deepspeed --num_gpus 8 main.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4 \
             --max_seq_len 512 --zero_stage 3 --gradient_checkpointing {more}\n"
        )
    };
    for (more, precision, leaves) in [("", "fp16", ""), ("--dtype bf16", "bf16", ""), ("--offload", "fp16", "cpu")] {
        let read = import(&text(more));
        let got =
            ["precision", "offload.optimizer", "offload.parameters", "seq_len", "zero"].map(|key| says(&read, key));
        assert_eq!(got, [precision, leaves, leaves, "512", "3"], "{more}");
    }
    let refused = read(&text("--actor_zero_stage 3 --critic_zero_stage 3"), &Run::default()).unwrap_err();
    assert!(refused[0].message.to_string().contains("DeepSpeed-Chat"), "{refused:?}");
}

/// modelscope/ms-swift v2.6.1 `swift/llm/utils/argument.py`: `sft_type`, `model_id_or_path`, `batch_size`.
#[test]
fn names_of_the_second_ms_swift_are_read() {
    let read = import(
        "NPROC_PER_NODE=4 swift sft --model_id_or_path Qwen/Qwen2.5-7B-Instruct --sft_type full --max_length 4096 \
         --batch_size 2 --deepspeed default-zero3\n",
    );
    let got = ["model", "adapter.method", "micro_batch", "zero"].map(|key| says(&read, key));
    assert_eq!(got, ["qwen-2.5-7b", "", "2", "3"]);
}
