//! Scripts as people bring them: what a shell would start is what is read, and what it cannot know is named.

use serde_json::{Value as Json, json};
use shardscope::core::report::report;
use shardscope::core::run::{Recompute, Run};
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
    let given = Given { set: pairs(set), files: pairs(files) };
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
