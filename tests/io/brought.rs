//! Scripts as people bring them: what a shell would start is what is read, and what it cannot know is named.

use serde_json::{Value as Json, json};
use shardscope::core::report::report;
use shardscope::core::run::{OffloadTo, Optimizer, Recompute, Run};
use shardscope::io::dialect::Given;
use shardscope::io::import::{Meaning, UnreadKind, read, read_given};
use shardscope::io::request::{Verb, answer};

/// Llama 3.1 8B as Megatron-LM's `examples/llama/train_llama3_8b_h100_fp8.sh` writes its shapes.
const SHAPES: &str = "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
    --group-query-attention --num-query-groups 8 --vocab-size 128256 --swiglu --normalization RMSNorm \
    --disable-bias-linear --untie-embeddings-and-output-weights --seq-length 8192 --micro-batch-size 1 \
    --global-batch-size 128 --tensor-model-parallel-size 2 --use-distributed-optimizer --bf16";

/// Read over 8 GPUs.
fn run(text: &str) -> Meaning {
    let present = Run { gpus: 8, ..Run::default() };
    read(text, &present).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

fn told(text: &str, set: &[(&str, &str)], files: &[(&str, &str)]) -> Meaning {
    let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let present = Run { gpus: 8, ..Run::default() };
    let given = Given { set: pairs(set), files: pairs(files), ..Given::default() };
    read_given(text, &present, &given).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

#[test]
fn a_branch_that_does_not_run_sets_nothing() {
    let full = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
    let test = format!(
        "RECOMPUTE=0\nARGS=( {SHAPES} )\n[[ $RECOMPUTE == 1 ]] && ARGS+=( {full} )\n\
        torchrun --nproc_per_node 8 pretrain_gpt.py \"${{ARGS[@]}}\"\n"
    );
    let off = run(&test);
    assert_eq!((off.run.recompute, off.branches[0].taken, off.branches[0].decided), (Recompute::None, false, true));
    assert_eq!(run(&test.replace("RECOMPUTE=0", "RECOMPUTE=1")).run.recompute, Recompute::Full);

    let chain = |ac: &str| {
        format!(
            "AC={ac}\nif [ $AC = full ]; then\n  act=\"{full}\"\nelif [ $AC = sel ]; then\n  \
            act=\"--recompute-activations\"\nelse\n  act=\"\"\nfi\n\
            if [ \"$CP_ON\" == \"yes\" ]; then X=\"--context-parallel-size 4\"; fi\n\
            torchrun --nproc_per_node 8 pretrain_gpt.py {SHAPES} $act $X\n"
        )
    };
    for (ac, recompute) in [("none", Recompute::None), ("sel", Recompute::Selective), ("full", Recompute::Full)] {
        let read = run(&chain(ac));
        assert_eq!((read.run.recompute, read.run.cp), (recompute, 1), "{ac}");
    }
    // What stands in the environment is named, and the request takes the other way.
    let open = run(&chain("none"));
    let branch = open.branches.iter().find(|branch| !branch.decided).unwrap();
    assert_eq!((branch.rests_on.join(","), branch.taken), ("CP_ON".to_owned(), false));
    assert_eq!(told(&chain("none"), &[("CP_ON", "yes")], &[]).run.cp, 4);
    assert_eq!(told(&chain("none"), &[(&branch.condition, "true")], &[]).run.cp, 4);
}

/// A script that names a GPU in a branch that does not run is not for that GPU.
#[test]
fn a_gpu_in_a_branch_that_does_not_run_is_not_taken() {
    let script = |machine: &str| {
        format!(
            "MACHINE={machine}\nif [ $MACHINE = big ]; then\n  GPU=b200\nelse\n  GPU=h100\nfi\n\
            python scripts/run.py --model-recipe-name llama3_8b --gpu $GPU --num-gpus 8 --seq-length 8192\n"
        )
    };
    assert_eq!(run(&script("small")).run.gpu.base, Some("h100-sxm-80gb"));
    assert_eq!(run(&script("big")).run.gpu.base, Some("b200-sxm"));
}

const TRAINER: &str = "train.py --model_name_or_path meta-llama/Llama-3.1-8B --max_seq_length 4096 \
    --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --bf16 True --gradient_checkpointing True";

/// torchrun `--nnodes`, `--nproc_per_node`; DeepSpeed `launcher/runner.py`; Accelerate `commands/launch.py`; `srun(1)`;
/// `mpirun(1)`.
#[test]
fn launchers_say_the_gpus() {
    for (launch, gpus) in [
        ("torchrun --nnodes 2 --nproc_per_node 8", 16),
        ("torchrun --nnodes=2 --nproc-per-node=4", 8),
        ("deepspeed --num_nodes 2 --num_gpus 8 --hostfile hosts", 16),
        ("deepspeed --num_gpus=4", 4),
        ("deepspeed --include localhost:0,1,2", 3),
        ("deepspeed --include worker-0:0,1@worker-1:2,3", 4),
        ("accelerate launch --num_machines 2 --num_processes 16", 16),
        ("mpirun -np 32 python", 32),
        ("srun --nodes=4 --ntasks-per-node=8 python", 32),
        // One task a node starts torchtune's launcher, which starts the processes.
        ("srun -N 2 -n 2 tune run --nnodes 2 --nproc_per_node 4", 8),
        ("srun -N 2 -n 2 torchrun --nnodes 2 --nproc_per_node 4", 8),
        ("NNODES=3 NPROC_PER_NODE=8\nexport NNODES NPROC_PER_NODE\npython", 24),
        ("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun python", 32),
        ("CUDA_VISIBLE_DEVICES=0,1 python", 2),
        ("N=$(echo 0,1,2,3 | tr ',' '\\n' | wc -l)\ntorchrun --nproc_per_node $N", 4),
    ] {
        let read = run(&format!("{launch} {TRAINER} --fsdp \"full_shard auto_wrap\"\n"));
        assert_eq!((read.run.gpus, read.run.zero), (gpus, 3), "{launch}");
    }
    let read = run(&format!("deepspeed --num_nodes 2 --num_gpus 8 {TRAINER} --deepspeed ds_z3.json\n"));
    assert_eq!((read.run.gpus, read.run.zero), (16, 3));
}

/// The files of a launcher decide the shards: given or written by the script they are read, else it is said.
#[test]
fn a_launchers_file_that_is_not_here_is_no_replication_in_silence() {
    let launch = format!("accelerate launch --config_file conf/mine.yaml --num_processes 8 {TRAINER}\n");
    let without = run(&launch);
    assert_eq!(without.unread[0].kind, UnreadKind::MissingFile);
    assert_eq!(without.run.zero, 3);
    let branch = without.branches.iter().find(|branch| !branch.decided).unwrap();
    assert_eq!(told(&launch, &[(&branch.condition, "false")], &[]).run.zero, 0);
    let file = "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\nnum_processes: 4\n";
    let with = told(&launch, &[], &[("mine.yaml", file)]);
    assert_eq!((with.run.zero, with.run.gpus), (2, 8));
    assert!(with.unread.iter().all(|one| one.kind != UnreadKind::MissingFile));

    let written = format!(
        "cat > ds.json <<EOF\n{{\"zero_optimization\": {{\"stage\": 2}}}}\nEOF\n\
        deepspeed --num_gpus 8 {TRAINER} --deepspeed ds.json\n"
    );
    assert_eq!(run(&written).run.zero, 2);
    let unknown = run(&format!("deepspeed --num_gpus 8 {TRAINER} --deepspeed ds.json\n"));
    assert!(unknown.branches.iter().any(|branch| !branch.decided && branch.condition.contains("ZeRO stage 3")));
}

/// ms-swift 3602360 `swift/megatron/arguments/megatron_args.py:619`: `expert_tensor_parallel_size: int = 1`.
#[test]
fn experts_of_ms_swift_are_whole_unless_it_is_told() {
    let read = run("NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --train_type full \
        --tensor_model_parallel_size 2 --sequence_parallel true --expert_model_parallel_size 4 --micro_batch_size 1 \
        --global_batch_size 16 --max_length 4096\n");
    assert_eq!((read.run.tp, read.run.ep, read.run.etp, read.run.gpus), (2, 4, 1, 8));
}

/// DeepSpeed edaa722 `runtime/engine.py:3041`: `no_sync` is refused with ZeRO-2 and 3, so each micro-batch ends with
/// shards of its gradients, and more micro-batches need no more memory.
#[test]
fn gradients_of_zero_3_are_shards_after_each_micro_batch() {
    let peak = |accumulation: u64| {
        let read = run(&format!(
            "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-32B --train_type full --torch_dtype bfloat16 \
             --deepspeed zero3 --max_length 8192 --packing true --use_liger_kernel true --attn_impl flash_attn \
             --per_device_train_batch_size 1 --gradient_accumulation_steps {accumulation}\n"
        ));
        assert_eq!((read.run.zero, read.run.gpus, read.run.global_batch), (3, 8, 8 * accumulation));
        report(&read.run).unwrap().memory.peak_bytes.0
    };
    assert!(peak(8) <= peak(2) * 1.001, "{} {}", peak(8), peak(2));
}

/// OpenRLHF 3c3be623 `examples/scripts/train_sft.sh` (`--ds.zero_stage 2`, `--train.micro_batch_size 2`),
/// `openrlhf/cli/train_sft.py:168` (checkpoints are off unless they are said), `train_dpo.py:45` (a reference of its
/// own beside adapters too), `train_ppo_ray.py:84` (no reference without a penalty) and `:373`.
#[test]
fn openrlhf_is_read_by_its_own_names_and_those_before() {
    let tune = |trainer: &str, more: &str| {
        run(&format!(
            "read -r -d '' training_commands <<EOF\nopenrlhf.cli.{trainer} \\\n   --data.max_len 4096 \\\n   \
            --train.batch_size 256 --train.micro_batch_size 2 --model.model_name_or_path Qwen/Qwen3-8B \\\n   \
            --ds.zero_stage 2 --ds.param_dtype bf16 --ds.packing_samples {more}\nEOF\n\
            if [[ ${{1}} != \"slurm\" ]]; then\n    deepspeed --num_nodes 2 --num_gpus 8 --module \
            $training_commands\nfi\n"
        ))
    };
    let sft = tune("train_sft", "");
    let got = &sft.run;
    assert_eq!((got.gpus, got.zero, got.micro_batch, got.global_batch, got.seq_len), (16, 2, 2, 256, 4096));
    assert_eq!((got.model.base, got.recompute.clone()), (Some("qwen-3-8b"), Recompute::None));
    assert!(sft.unread.is_empty(), "{:?}", sft.unread);
    assert_eq!(tune("train_sft", "--model.gradient_checkpointing_enable").run.recompute, Recompute::Full);
    let adapted = tune("train_dpo", "--ds.lora.rank 8 --ref.offload");
    let learnt = adapted.run.to_value();
    assert_eq!(learnt.get("objective").unwrap().get("base"), Some(&"dpo".into()), "{learnt:?}");

    let old = run("deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen3-8B --max_len 4096 --zero_stage 3 \
        --micro_train_batch_size 2 --train_batch_size 64 --bf16 --flash_attn --adam_offload \
        --gradient_checkpointing\n");
    assert_eq!((old.run.zero, old.run.micro_batch, old.run.global_batch), (3, 2, 64));
    assert!(old.run.offload.optimizer.is_some() && old.run.recompute == Recompute::Full);

    let learn = |more: &str| {
        let read = run(&format!(
            "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 8 \
            --vllm.num_engines 4 --vllm.tensor_parallel_size 2 --actor.model_name_or_path Qwen/Qwen3-8B \
            --rollout.batch_size 1024 --train.batch_size 128 --data.max_len 2048 --ds.zero_stage 3 {more}\n"
        ));
        (read.run.gpus, read.run.rl.rollout_gpus, read.run.rl.updates, read.run.phases.reference)
    };
    assert_eq!(learn(""), (16, Some(8), Some(8), None));
    assert_eq!(learn("--train.colocate_all --algo.kl.init_coef 0"), (8, None, Some(8), Some(false)));
}

/// The programs' own examples: modelscope/ms-swift `examples/yaml/deepspeed/sft.sh`, hiyouga/LLaMA-Factory
/// `examples/extras/fsdp_qlora/train.sh`, NVIDIA-NeMo/RL `examples/run_grpo.py`, pytorch/torchtitan `run_train.sh`.
#[test]
fn the_file_that_a_command_names_is_read_with_what_the_command_says_over_it() {
    let tuning = "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: full\ncutoff_len: 4096\nbf16: true\n\
        per_device_train_batch_size: 2\ndeepspeed: examples/deepspeed/ds_z3_config.json\n";
    let launch = "FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train conf/full.yaml cutoff_len=8192\n";
    let stage = ("ds_z3_config.json", "{\"zero_optimization\": {\"stage\": 2}}");
    let read = told(launch, &[], &[("full.yaml", tuning), stage]);
    let got = (read.run.gpus, read.run.zero, read.run.micro_batch, read.run.seq_len);
    assert_eq!(got, (16, 2, 2, 8192), "{:?}", read.unread);
    assert!(read.unread.is_empty(), "{:?}", read.unread);
    // Without it nothing is made up.
    let issues = read_given(launch, &Run::default(), &Given::default()).unwrap_err();
    assert!(issues[0].message.to_string().contains("conf/full.yaml"), "{issues:?}");

    let swift = "model: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\nlora_rank: 16\nmax_length: 1024\n\
        target_modules:\n  - q_proj\n  - v_proj\ndeepspeed: zero2\n";
    let launch = "NPROC_PER_NODE=2 \\\nCUDA_VISIBLE_DEVICES=0,1 \\\nswift sft examples/sft.yaml --max_length 2048\n";
    let read = told(launch, &[], &[("examples/sft.yaml", swift)]);
    assert_eq!((read.run.gpus, read.run.zero, read.run.seq_len), (2, 2, 2048));
    assert_eq!((read.run.adapter.rank, read.run.adapter.targets.as_ref().map(Vec::len)), (Some(16), Some(2)));
    let without = run(launch);
    assert_eq!(without.unread[0].kind, UnreadKind::MissingFile);

    let written = format!(
        "cat > run.yaml <<EOF\n{tuning}EOF\n\
        accelerate launch --config_file zero3.yaml --num_processes 4 src/train.py run.yaml\n"
    );
    let read = run(&written.replace("deepspeed: examples/deepspeed/ds_z3_config.json\n", ""));
    assert_eq!((read.run.gpus, read.run.zero, read.run.seq_len), (4, 3, 4096));

    let learning = "policy:\n  model_name: Qwen/Qwen3-8B\n  train_global_batch_size: 512\n  \
        train_micro_batch_size: 4\n  max_total_sequence_length: 2048\n  dtensor_cfg:\n    enabled: true\n    \
        tensor_parallel_size: 2\ncluster:\n  num_nodes: 1\n  gpus_per_node: 8\n";
    let launch = "uv run examples/run_grpo.py --config conf/grpo.yaml cluster.num_nodes=4 \
        policy.dtensor_cfg.tensor_parallel_size=4\n";
    let read = told(launch, &[], &[("grpo.yaml", learning)]);
    assert_eq!((read.run.gpus, read.run.tp, read.run.micro_batch), (32, 4, 4));

    let titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\nlocal_batch_size = 2\n\
        [parallelism]\ntensor_parallel_degree = 2\n";
    let launch = "torchrun --nproc_per_node 8 --nnodes 4 -m torchtitan.train --job.config_file conf/8b.toml \
        --training.seq_len 4096\n";
    let read = told(launch, &[], &[("8b.toml", titan)]);
    assert_eq!((read.run.gpus, read.run.tp, read.run.micro_batch, read.run.seq_len), (32, 2, 2, 4096));
}

/// NVIDIA/Megatron-LM d98e8a6 `tests/functional_tests/test_cases/gpt/gpt3_mcore_te_tp2_pp2/model_config.yaml`, and its
/// `shell_test_utils/_run_training.sh:140`: true is the argument alone.
#[test]
fn arguments_in_a_file_of_yaml_are_those_of_a_command() {
    let text = "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n  \
        --num-attention-heads: 8\n  --micro-batch-size: 4\n  --global-batch-size: 32\n  --seq-length: ${SEQ}\n  \
        --tensor-model-parallel-size: 2\n  --pipeline-model-parallel-size: 2\n  --sequence-parallel: true\n  \
        --recompute-granularity: full\n  --recompute-method: uniform\n  --recompute-num-layers: 1\n  --bf16: true\n";
    let read = told(text, &[("SEQ", "1024")], &[]);
    let got = (read.run.tp, read.run.pp, read.run.micro_batch, read.run.global_batch, read.run.seq_len);
    assert_eq!(got, (2, 2, 4, 32, 1024));
    assert_eq!((read.run.recompute, read.run.sequence_parallel), (Recompute::Full, true));
    let open = run(text);
    assert!(open.unread.iter().any(|one| one.name == "--seq-length" && one.kind == UnreadKind::Undecided));
}

/// bigscience-workshop/bigscience `train/tr11-176B-ml/tr11-176B-ml.slurm`; Megatron-LM v2.6 `megatron/arguments.py`:
/// `--checkpoint-activations` is full recomputation.
#[test]
fn megatron_deepspeed_says_its_stage_and_recomputation() {
    let text = "ZERO_STAGE=1\ncat <<EOT > ds_config.json\n{\"zero_optimization\": {\"stage\": $ZERO_STAGE}}\nEOT\n\
        python pretrain_gpt.py --num-layers 70 --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 \
        --micro-batch-size 2 --global-batch-size 2048 --train-samples 220_000_000 --bf16 \
        --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --deepspeed --deepspeed_config ds_config.json";
    let read = run(&format!("{text} --checkpoint-activations\n"));
    assert_eq!((read.run.zero, read.run.recompute), (1, Recompute::Full));
    assert_eq!(run(&format!("{text} --zero-stage 2\n")).run.zero, 2);
}

/// foundation-model-stack/fms-fsdp `scripts/train_speculator.sh`, bigscience `evaluation/results/tr13/tzeroeval`.
#[test]
fn a_name_that_many_programs_have_makes_no_program() {
    for text in [
        "torchrun --nproc_per_node=8 speculator/train_speculator.py --model_arch=embedllama --seq_length=4096 \
            --batch_size=8 --sharding_strategy=hsdp",
        "accelerate launch t-zero/evaluation/run_eval.py --model_name_or_path bigscience/T0 --max_length 2048 \
            --per_device_eval_batch_size 8",
        // hiyouga/LLaMA-Factory `examples/inference/qwen3.yaml`.
        "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\ntemplate: qwen3_nothink\ninfer_backend: huggingface\n",
        // pytorch/torchtune `recipes/configs/qwen2/evaluation.yaml`.
        "output_dir: ./\nmodel:\n  _component_: torchtune.models.qwen2.qwen2_0_5b\ntasks: [truthfulqa_mc2]\n",
    ] {
        assert!(read(text, &Run::default()).is_err(), "{text}");
    }
}

/// axolotl 067b021 `utils/schemas/enums.py` (`RLType`); pytorch/torchtune bd2a0fc `recipes/configs/llama3_1`;
/// alignment-handbook `recipes/zephyr-7b-beta/dpo/config_full.yaml`, whose trainer is the script's name.
#[test]
fn files_that_train_on_preferences_are_no_supervised_tuning() {
    let base = |text: &str| {
        let read = run(text);
        let objective = read.run.to_value().get("objective").cloned();
        (objective.and_then(|value| value.text().map(str::to_owned)), read.branches)
    };
    let axolotl = "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\nadapter: lora\nlora_r: 8\n";
    assert_eq!(base(&format!("{axolotl}rl: kto\n")).0.as_deref(), Some("kto"));
    assert_eq!(base(axolotl).0, None);
    let torchtune = "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\ntokenizer:\n  \
        max_seq_len: 2048\nbatch_size: 4\noptimizer:\n  _component_: torch.optim.AdamW\nloss:\n  \
        _component_: torchtune.rlhf.loss.DPOLoss\n";
    assert_eq!(base(torchtune).0.as_deref(), Some("dpo"));
    let handbook = "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 8\nmax_length: 1024\n\
        max_prompt_length: 512\nbeta: 0.01\n";
    let (objective, branches) = base(handbook);
    assert_eq!(objective.as_deref(), Some("dpo"));
    let branch = branches.iter().find(|branch| !branch.decided).unwrap();
    assert_eq!(told(handbook, &[(&branch.condition, "false")], &[]).run.to_value().get("objective"), None);
}

/// What is switched off needs nothing of what stands in its section; a switch that is counted as on is named where it
/// is off.
#[test]
fn what_changes_nothing_is_no_problem() {
    let text = |compile: &str, fused: &str| {
        format!(
            "step_scheduler:\n  global_batch_size: 64\n  local_batch_size: 1\nmodel:\n  _target_: \
            nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: Qwen/Qwen3-8B\n\
            distributed:\n  strategy: fsdp2\ncompile:\n  enabled: {compile}\n  mode: {fused}\n"
        )
    };
    let unread = |text: &str| run(text).unread.into_iter().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(unread(&text("false", "default")), Vec::<String>::new());
    assert_eq!(unread(&text("true", "default")), ["compile.mode"]);
    // fp8 that is switched off is none.
    let bridge = "model:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 1\n  fp8: false\n";
    assert!(run(bridge).run.precision.base.is_none_or(|base| !base.contains("fp8")));
}

/// Files of settings whose launcher is not beside them: huggingface/open-r1 1416fa0
/// `recipes/OlympicCoder-7B/sft/config_v00.00.yaml`, which its `README.md:110` starts with
/// `--config_file=recipes/accelerate_configs/zero3.yaml`; hiyouga/LLaMA-Factory ff6d4d1
/// `examples/ascend/qwen3_full_sft_fsdp2.yaml`.
#[test]
fn a_file_alone_says_that_its_launcher_may_shard() {
    let recipe = "model_name_or_path: Qwen/Qwen2.5-Coder-7B-Instruct\ntorch_dtype: bfloat16\nbf16: true\n\
        attn_implementation: flash_attention_2\ngradient_accumulation_steps: 8\ngradient_checkpointing: true\n\
        packing: false\nmax_length: 32768\nper_device_train_batch_size: 2\nuse_liger_kernel: true\n";
    let factory = "model_name_or_path: Qwen/Qwen3-8B\nflash_attn: fa2\nstage: sft\nfinetuning_type: full\n\
        cutoff_len: 2048\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 1\nbf16: true\n";
    for text in [recipe, factory] {
        let read = run(text);
        let branch = read.branches.iter().find(|branch| !branch.decided).unwrap();
        // 16 bytes of each of 7.6 and 8.2 billion parameters fit no GPU of 80 GB.
        assert_eq!((read.run.zero, branch.taken), (3, true), "{text}");
        assert_eq!(told(text, &[(&branch.condition, "false")], &[]).run.zero, 0, "{text}");
    }
    // Adapters are seldom sharded, and a command says what it shards.
    for text in [recipe.replace("packing: false", "use_peft: true"), factory.replace("full", "lora")] {
        assert!(run(&text).branches.is_empty(), "{text}");
    }
    assert!(run(&format!("torchrun --nproc_per_node 8 {TRAINER}\n")).branches.is_empty());
}

/// pytorch/torchtune bd2a0fc `recipes/configs/llama2/7B_lora_dpo_single_device.yaml` ("This config works only for
/// training on single device") and `7B_lora.yaml`, whose comments name the other's file.
#[test]
fn a_recipe_of_torchtune_for_one_device_has_one_gpu() {
    let settings = "model:\n  _component_: torchtune.models.llama2.lora_llama2_7b\n  lora_rank: 8\ntokenizer:\n  \
        max_seq_len: 1024\nbatch_size: 4\noptimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\n";
    let one = "# To launch on a single device, run the following command from root:\n#   tune run \
        lora_dpo_single_device --config llama2/7B_lora_dpo_single_device\n";
    let read = run(&format!("{one}{settings}"));
    assert_eq!((read.run.gpus, read.run.zero), (1, 0));
    let several = "# To launch on 2 devices, run the following command from root:\n#   tune run --nnodes 1 \
        --nproc_per_node 2 lora_finetune_distributed --config llama2/7B_lora\n# For single device LoRA finetuning \
        please use 7B_lora_single_device.yaml\n";
    assert_eq!((run(&format!("{several}{settings}")).run.gpus, run(settings).run.gpus), (8, 8));
}

/// Optimizers with Adam's name and states of other sizes: NVIDIA-NeMo/Automodel 36044ad
/// `examples/convergence/tulu3/models/moonlight-16b/moonlight_16b_ep8_flashoptim.yaml` (`flashoptim.FlashAdamW`);
/// transformers `training_args.py` (`OptimizerNames`: `apollo_adamw`, `ao_adamw_4bit`, `ao_adamw_fp8`).
#[test]
fn an_optimizer_with_the_name_of_adam_alone_is_adam() {
    let automodel = |class: &str| {
        let text = format!(
            "step_scheduler:\n  global_batch_size: 128\n  local_batch_size: 4\nmodel:\n  _target_: \
            nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: \
            moonshotai/Moonlight-16B-A3B\ndistributed:\n  strategy: fsdp2\n  ep_size: 8\noptimizer:\n  \
            _target_: {class}\n  lr: 1.0e-5\n"
        );
        run(&text).assumed.iter().any(|one| one.to_string().contains("is not known"))
    };
    assert!(automodel("flashoptim.FlashAdamW"));
    for known in ["torch.optim.AdamW", "torch.optim.Adam", "transformer_engine.pytorch.optimizers.FusedAdam"] {
        assert!(!automodel(known), "{known}");
    }
    let trainer = |optimizer: &str| {
        let read = run(&format!("torchrun --nproc_per_node 8 {TRAINER} --optim {optimizer}\n"));
        (read.run.optimizer, read.assumed.iter().any(|one| one.to_string().contains("is not known")))
    };
    assert_eq!(trainer("ao_adamw_fp8"), (Optimizer::Adam8Bit, false));
    assert!(trainer("apollo_adamw").1 && trainer("ao_adamw_4bit").1);
    assert_eq!(trainer("adamw_torch_fused"), (Optimizer::Adam, false));
}

/// NVIDIA-NeMo/RL 7ea279a `examples/configs/dpo.yaml` and `rm.yaml` on `DTensor`; NVIDIA-NeMo/Automodel 36044ad
/// `examples/llm_seq_cls`, whose class of models has a head of scores.
#[test]
fn trainings_of_nemo_on_dtensor_can_run() {
    for (section, objective) in [("dpo:\n  sft_loss_weight: 0\n", "dpo"), ("rm:\n  max_num_epochs: 1\n", "reward")] {
        let text = format!(
            "{section}policy:\n  model_name: meta-llama/Llama-3.2-1B-Instruct\n  train_global_batch_size: 128\n  \
            train_micro_batch_size: 2\n  max_total_sequence_length: 1024\n  precision: bfloat16\n  dtensor_cfg:\n    \
            enabled: true\ncluster:\n  gpus_per_node: 8\n  num_nodes: 1\n"
        );
        let read = run(&text);
        assert_eq!(read.run.objective.base, Some(objective));
        assert!(report(&read.run).is_ok(), "{:?}", report(&read.run).err());
    }
    let text = "step_scheduler:\n  global_batch_size: 64\n  local_batch_size: 1\nmodel:\n  _target_: \
        nemo_automodel.NeMoAutoModelForSequenceClassification.from_pretrained\n  pretrained_model_name_or_path: \
        Qwen/Qwen3-8B\ndistributed:\n  strategy: fsdp2\n";
    let read = run(text);
    assert_eq!(read.run.objective.base, Some("classification"));
    assert!(report(&read.run).is_ok(), "{:?}", report(&read.run).err());
}

/// volcengine/verl b178a3c `examples/grpo_trainer/run_qwen3-235b_megatron_96gb.sh`;
/// `verl/utils/megatron/optimizer.py:54` hands the settings on to Megatron-LM's `OptimizerConfig`.
#[test]
fn settings_of_the_optimizer_that_verl_hands_on_are_read() {
    let text = |more: &str| {
        format!(
            "python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer.yaml' data.max_prompt_length=2048 \
            data.max_response_length=9632 data.train_batch_size=32 actor_rollout_ref.rollout.n=8 \
            actor_rollout_ref.model.path=Qwen/Qwen3-235B-A22B actor_rollout_ref.actor.ppo_mini_batch_size=16 \
            actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8 \
            actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \
            actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 trainer.nnodes=4 \
            trainer.n_gpus_per_node=8 {more}"
        )
    };
    let set = "+actor_rollout_ref.actor.optim.override_optimizer_config";
    assert_eq!(run(&text("")).run.offload.optimizer, None);
    let read = run(&text(&format!("{set}.optimizer_cpu_offload=True {set}.optimizer_offload_fraction=1.")));
    assert_eq!(read.run.offload.optimizer, Some(OffloadTo::Cpu));
    assert!(read.unread.iter().all(|one| !one.name.contains("optimizer_cpu_offload")), "{:?}", read.unread);
    let part = run(&text(&format!("{set}.optimizer_cpu_offload=True {set}.optimizer_offload_fraction=0.5")));
    assert_eq!(part.run.offload.fraction, Some(0.5));
}

/// volcengine/verl b178a3c `verl/experimental/fully_async_policy/shell/dapo_7b_math_fsdp2_4_12.sh`, and the meaning of
/// its settings in `docs/advance/fully_async.md`: between two weight syncs `trigger_parameter_sync_step *
/// require_batches * ppo_mini_batch_size` samples are trained on. One step off: `docs/advance/one_step_off.md`.
#[test]
fn engines_of_verl_beside_its_trainer_are_gpus_of_their_own() {
    let text = |module: &str, more: &str| {
        format!(
            "python -m verl.experimental.{module} data.max_prompt_length=2048 data.max_response_length=8192 \
            actor_rollout_ref.rollout.n=16 algorithm.adv_estimator=grpo actor_rollout_ref.actor.strategy=fsdp2 \
            actor_rollout_ref.actor.use_kl_loss=False actor_rollout_ref.hybrid_engine=False \
            actor_rollout_ref.model.path=Qwen/Qwen2.5-Math-7B actor_rollout_ref.actor.ppo_mini_batch_size=32 \
            actor_rollout_ref.rollout.gpu_memory_utilization=0.80 trainer.nnodes=2 trainer.n_gpus_per_node=6 \
            rollout.nnodes=2 rollout.n_gpus_per_node=2 {more}"
        )
    };
    let streams = "data.train_batch_size=0 async_training.staleness_threshold=0.1 \
        async_training.trigger_parameter_sync_step=4 async_training.require_batches=4 \
        async_training.use_rollout_log_probs=True";
    let read = run(&text("fully_async_policy.fully_async_main", streams));
    let rl = &read.run.rl;
    assert_eq!((read.run.gpus, rl.rollout_gpus, rl.prompts, rl.samples), (16, Some(4), Some(512), Some(16)));
    assert_eq!((rl.updates, rl.staleness, rl.old_log_probs), (Some(16), Some(0.1), Some(false)));
    assert_eq!(read.run.global_batch, 512);
    let waits = run(&text("one_step_off_policy.main_ppo", "data.train_batch_size=64"));
    let rl = &waits.run.rl;
    assert_eq!((waits.run.gpus, rl.rollout_gpus, rl.prompts, rl.updates), (16, Some(4), Some(64), Some(2)));
    assert_eq!((rl.staleness, rl.old_log_probs), (Some(1.0), None));
}

/// OpenRLHF 3c3be62 `cli/train_ppo_ray.py:97`: the engines stand on GPUs of their own, so that none of them has a shard
/// of the critic.
#[test]
fn a_critic_is_sharded_over_the_gpus_that_train() {
    let text = |engines: u64| {
        format!(
            "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 4 \
            --vllm.num_engines {engines} --vllm.tensor_parallel_size 2 --train.colocate_actor_ref \
            --actor.model_name_or_path Qwen/Qwen3-8B --train.micro_batch_size 8 --train.batch_size 128 \
            --rollout.batch_size 1024 --data.max_len 2048 --ds.zero_stage 3\n"
        )
    };
    let peak = |engines: u64| {
        let read = run(&text(engines));
        report(&read.run).unwrap_or_else(|refused| panic!("{engines}: {refused:?}")).memory.peak_bytes.0
    };
    // 4 and 12 GPUs in all: more engines take no shards from those that train.
    assert_eq!(peak(2), peak(4));
}

#[test]
fn a_request_gives_variables_files_and_the_other_way_of_a_branch() {
    let text = "source env.sh\nif [ \"$BIG\" = 1 ]; then TP=8; fi\n\
        torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size ${TP:-1} --seq-length 8192 $EXTRA_ARGS\n";
    let ask = |more: Json| {
        let mut request = json!({ "text": text });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(Verb::Import, &request.to_string()).map(|answer| serde_json::to_value(answer).unwrap())
    };
    let plain = ask(json!({})).unwrap();
    let kinds: Vec<&str> =
        plain["unread"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"missing-file") && kinds.contains(&"undecided"), "{kinds:?}");
    assert_eq!(plain["branches"][0]["condition"], "[ \"$BIG\" = 1 ]");
    assert_eq!(plain["branches"][0]["rests_on"], json!(["BIG"]));
    let tp = |more| ask(more).unwrap()["run"]["tp"].clone();
    assert_eq!(tp(json!({ "set": { "BIG": 1 } })), 8);
    assert_eq!(tp(json!({ "set": { "[ \"$BIG\" = 1 ]": true } })), 8);
    assert_eq!(tp(json!({ "set": { "TP": 4 } })), 4);
    assert_eq!(tp(json!({ "files": [{ "name": "env.sh", "text": "BIG=1" }] })), 8);
    assert_eq!(tp(json!({ "set": { "EXTRA_ARGS": "--tensor-model-parallel-size 4" } })), 4);
    let wrong = ask(json!({ "set": { "NOWHERE": 1 } })).err().unwrap();
    assert_eq!(wrong[0].field, "set.NOWHERE");
    assert!(ask(json!({ "set": [1] })).is_err() && ask(json!({ "files": [{}] })).is_err());
}

/// What a shell refuses is refused at its line.
#[test]
fn a_script_without_its_end_is_refused() {
    let issues = read(&format!("if true; then\ntorchrun train.py {SHAPES}\n"), &Run::default()).unwrap_err();
    assert!(issues[0].message.to_string().contains("line 1"), "{issues:?}");
    let issues = read(&format!("torchrun train.py {SHAPES}\nX=\"open\n"), &Run::default()).unwrap_err();
    assert!(issues[0].message.to_string().contains("line 2"), "{issues:?}");
}
