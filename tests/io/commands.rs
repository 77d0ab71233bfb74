//! What a command line says: switches with a value, the variables that stand before it, and what is left to a launcher
//! that is not here.

use serde_json::{Value, json};
use shardscope::io::request::{Answer, Verb, answer};

/// The answer to an import of `text` with `set`, as plain data.
fn imported(text: &str, set: &Value) -> Value {
    let request = json!({ "text": text, "set": set }).to_string();
    let read: Answer = answer(Verb::Import, &request).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
    serde_json::to_value(read).unwrap()
}

fn read(text: &str) -> Value {
    imported(text, &json!({}))
}

/// The assumptions of an answer that hold `words`.
fn assumed<'a>(read: &'a Value, words: &str) -> Vec<&'a str> {
    let assumed = read["assumed"].as_array().unwrap().iter().filter_map(Value::as_str);
    assumed.filter(|text| text.contains(words)).collect()
}

const TRAINER: &str = "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B \
    --per_device_train_batch_size 4 --model_max_length 2048";

/// `string_to_bool` of transformers `hf_argparser.py` takes true, t, yes, y, 1 and false, f, no, n, 0 in any case.
#[test]
fn a_switch_of_hugging_faces_parser_is_off_by_any_of_its_words() {
    for off in ["False", "false", "FALSE", "no", "n", "f", "0"] {
        for between in [" ", "="] {
            let run = &read(&format!("{TRAINER} --bf16 True --gradient_checkpointing{between}{off}"))["run"];
            assert!(run["recompute"].is_null() || run["recompute"] == "none", "{off}: {run}");
            let run = &read(&format!("{TRAINER} --bf16{between}{off} --fp16 True"))["run"];
            let as_fp16 = &read(&format!("{TRAINER} --fp16"))["run"];
            assert_eq!(run["precision"], as_fp16["precision"], "{off}");
        }
    }
    for on in ["True", "true", "TRUE", "yes", "1"] {
        let run = &read(&format!("{TRAINER} --bf16 --gradient_checkpointing {on}"))["run"];
        assert_eq!(run["recompute"], "full", "{on}");
    }
    let text = "accelerate launch --num_processes 8 trl sft --model_name_or_path Qwen/Qwen2.5-7B --use_peft False \
        --load_in_4bit False --per_device_train_batch_size 4 --max_length 2048";
    assert!(read(text)["run"]["adapter"].is_null(), "{}", read(text)["run"]);
}

/// A value of a switch ends its argument: the word behind it is the program's.
#[test]
fn a_word_behind_true_is_no_second_value() {
    let text = "torchrun --nproc_per_node 8 --no_python True train.py --model_name_or_path Qwen/Qwen2.5-7B \
        --bf16 True --per_device_train_batch_size 4 --model_max_length 2048";
    assert_eq!(read(text)["run"]["gpus"], 8);
}

/// Bash: assignments before a command are for that command alone; what comes after it does not reach it.
#[test]
fn the_environment_of_another_command_is_not_that_of_the_training() {
    let swift = "swift sft --model Qwen/Qwen3-8B --tuner_type lora --per_device_train_batch_size 1 --max_length 4096";
    let after = [
        "CUDA_VISIBLE_DEVICES=0 NPROC_PER_NODE=1 swift infer --adapters x --stream true",
        "NPROC_PER_NODE=1 \\\nmegatron export --model Qwen/Qwen3-8B --to_hf true --merge_lora true",
        "export NPROC_PER_NODE=1\nswift infer --adapters x",
    ];
    for other in after {
        let read = read(&format!("NPROC_PER_NODE=4 {swift}\n{other}\n"));
        assert_eq!(read["run"]["gpus"], 4, "{other}: {}", read["run"]);
    }
    let before = "CUDA_VISIBLE_DEVICES=0 python prepare_data.py --out x\n";
    let deepspeed = "deepspeed --num_gpus 8 train.py --model_name_or_path Qwen/Qwen3-8B --bf16 true \
        --per_device_train_batch_size 1 --max_length 2048 --deepspeed zero2.json";
    assert_eq!(read(&format!("{before}{deepspeed}"))["run"]["gpus"], 8);
    let exported = format!("export NPROC_PER_NODE=4\nNPROC_PER_NODE=1 swift export --adapters x\n{swift}\n");
    assert_eq!(read(&exported)["run"]["gpus"], 4);
}

/// OpenRLHF's `train_ppo_ray_slurm.sh` starts a cluster of Ray on each node, then one training.
#[test]
fn a_cluster_of_ray_is_no_training() {
    let text = "srun --nodes=1 bash -c 'ray start --head' &\nsrun --nodes=1 bash -c 'ray start --address x' &\n\
        srun --nodes=1 bash -c 'ray job submit --address=http://localhost:8265 -- python3 -m \
        openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 4 --actor.model_name_or_path \
        meta-llama/Meta-Llama-3-8B --train.batch_size 128 --rollout.batch_size 1024 --vllm.num_engines 4 \
        --vllm.tensor_parallel_size 2 --ds.zero_stage 3'";
    assert_eq!(assumed(&read(text), "trainings"), Vec::<&str>::new());
}

/// A comment ends a command that goes on: Bash runs what follows as a command of its own.
#[test]
fn arguments_behind_a_comment_are_said_to_belong_to_no_command() {
    let arguments = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \
        --max-position-embeddings 4096 --bf16 --micro-batch-size 1";
    let whole =
        format!("torchrun --nproc_per_node 8 pretrain_gpt.py {arguments} \\\n  --pipeline-model-parallel-size 2\n");
    assert_eq!(assumed(&read(&whole), "belong to no command"), Vec::<&str>::new());
    let cut = whole.replace("\\\n", "\\\n#  --tensor-model-parallel-size 8 \\\n");
    assert_eq!(assumed(&read(&cut), "belong to no command").len(), 1);
}

/// Recipes of open-r1 and alignment-handbook have no sharding: their README launches them by Accelerate with
/// `zero3.yaml`. The states of 32 billion parameters take 512 GB.
#[test]
fn a_recipe_without_its_launcher_offers_both_ways_to_hold_the_states() {
    let recipe = |model: &str, more: &str| {
        format!(
            "model_name_or_path: {model}\nbf16: true\ngradient_checkpointing: true\nmax_length: 4096\n\
             per_device_train_batch_size: 1\n{more}"
        )
    };
    let condition = "the launcher shards the states";
    let branch = |read: &Value| {
        let branches = read["branches"].as_array().unwrap().clone();
        branches.into_iter().find(|branch| branch["condition"] == condition)
    };
    let large = recipe("Qwen/Qwen2.5-32B-Instruct", "");
    let sharded = read(&large);
    assert_eq!(sharded["run"]["zero"], 3, "{}", sharded["run"]);
    assert_eq!(branch(&sharded).unwrap()["taken"], true);
    let whole = imported(&large, &json!({ condition: "false" }));
    assert!(whole["run"]["zero"].is_null() || whole["run"]["zero"] == 0, "{}", whole["run"]);
    let adapter = read(&recipe("Qwen/Qwen2.5-7B-Instruct", "use_peft: true\nlora_r: 16\n"));
    assert!(branch(&adapter).is_none(), "{adapter}");
    let small = read(&recipe("Qwen/Qwen2.5-0.5B-Instruct", ""));
    assert_eq!(branch(&small).unwrap()["taken"], false);
    // A recipe that names its DeepSpeed configuration has no branch.
    let decided = read(&recipe("Qwen/Qwen2.5-32B-Instruct", "deepspeed: zero2.json\n"));
    assert!(branch(&decided).is_none(), "{decided}");
}
