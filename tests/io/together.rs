//! Files that belong together: a launch script with the program and the settings that its command names, and the cells
//! of a notebook.

use crate::meaning::{assumed, import, says};
use shardscope::core::run::Run;
use shardscope::io::dialect::Given;
use shardscope::io::import::{Meaning, read_given};
use shardscope::io::pasted::{PastedKind, pasted};

/// DeepSpeed's own settings (`docs/_pages/config-json.md`): states on the host.
const ZERO: &str = r#"{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}"#;

/// In the form of transformers 5.2.0 `docs/source/en/trainer.md`, with settings of a parser.
const PROGRAM: &str = r#"
import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--model_id", default="Qwen/Qwen3-4B")
parser.add_argument("--batch_size", type=int, default=1)
parser.add_argument("--steps", type=int)
parser.add_argument("--bf16", action="store_true")
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model_id)
training_args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=args.batch_size,
    gradient_accumulation_steps=2,
    bf16=args.bf16,
    max_steps=args.steps,
    deepspeed="zero3.json",
)
trainer = Trainer(model=model, args=training_args)
trainer.train()
"#;

const SCRIPT: &str = "#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nMODEL=Qwen/Qwen3-8B\n\
    srun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 run.py --model_id $MODEL --batch_size 4 --bf16\n";

fn given(text: &str, files: &[(&str, &str)]) -> Meaning {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let read = read_given(text, &Run::default(), &Given { files, ..Given::default() });
    read.unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

fn expect(read: &Meaning, values: &[(&str, &str)]) {
    for (key, value) in values {
        assert_eq!(says(read, key), *value, "{key}: {}", assumed(read));
    }
}

/// A command's settings are those of the program's parser, in place of its defaults (`argparse`); its launcher says the
/// GPUs. What nobody says is named.
#[test]
fn a_script_and_the_program_that_it_starts_are_one_run() {
    let beside = given(SCRIPT, &[("run.py", PROGRAM), ("zero3.json", ZERO)]);
    let parts = [SCRIPT, PROGRAM, ZERO].join("\n---\n");
    let swapped = [ZERO, PROGRAM, SCRIPT].join("\n---\n");
    for read in [beside, import(&parts), import(&swapped)] {
        let values = [("gpus", "32"), ("model", "qwen-3-8b"), ("micro_batch", "4"), ("global_batch", "256")];
        expect(&read, &values);
        expect(&read, &[("zero", "3"), ("offload.optimizer", "cpu")]);
        // The length of the training, which the text leaves open, is named as one that changes no step.
        let names: Vec<&str> = read.unread.iter().map(|one| one.name.as_str()).collect();
        assert!(names.is_empty(), "{names:?}");
        assert!(read.ignored.iter().any(|one| one.to_string().starts_with("max_steps: the length")));
    }
    // Alone its defaults count, and are said.
    let alone = given(PROGRAM, &[("zero3.json", ZERO)]);
    expect(&alone, &[("micro_batch", "1")]);
    assert!(assumed(&alone).contains("args.batch_size 1"), "{}", assumed(&alone));
}

/// axolotl 067b021 `src/axolotl/utils/schemas/config.py` (`deepspeed`: a path), Accelerate's `--config_file`.
#[test]
fn files_of_settings_are_those_that_the_command_and_each_other_name() {
    let yaml = "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 2\ndeepspeed: zero3.json\n";
    let script = "accelerate launch --num_machines 2 --num_processes 16 -m axolotl.cli.train train.yaml\n";
    let values = [("gpus", "16"), ("zero", "3"), ("offload.optimizer", "cpu"), ("seq_len", "4096")];
    expect(&given(script, &[("train.yaml", yaml), ("zero3.json", ZERO)]), &values);
    expect(&import(&[yaml, ZERO, script].join("\n---\n")), &values);
    // The settings alone over the file that they name.
    expect(&import(&[yaml, ZERO].join("\n---\n")), &values[1..]);
    let launcher = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n\
        num_machines: 1\nnum_processes: 8\n";
    let script = "accelerate launch --config_file fsdp.yaml run.py --model_id Qwen/Qwen3-8B --batch_size 2\n";
    let program = PROGRAM.replace("    deepspeed=\"zero3.json\",\n", "");
    let read = import(&[script, launcher, &program].join("\n---\n"));
    expect(&read, &[("gpus", "8"), ("zero", "3"), ("micro_batch", "2"), ("model", "qwen-3-8b")]);
}

/// What is not given is asked for by its name.
#[test]
fn a_program_that_is_not_there_is_asked_for() {
    let issues = read_given("deepspeed --num_gpus 4 train.py", &Run::default(), &Given::default()).unwrap_err();
    assert!(issues[0].message.to_string().contains("train.py"), "{issues:?}");
}

fn notebook(cells: &[&str]) -> String {
    let cell = |source: &&str| {
        let lines: Vec<String> = source.split_inclusive('\n').map(str::to_owned).collect();
        serde_json::json!({"cell_type": "code", "metadata": {}, "outputs": [], "source": lines})
    };
    let cells: Vec<_> = cells.iter().map(cell).collect();
    serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
}

/// jupyter/nbformat v5.10 `format_description.rst`; ipython 8.30 `reference.rst` (`!`), `osm.py` (`%%writefile`). A
/// notebook is one process, which Accelerate's `notebook_launcher` multiplies.
#[test]
fn a_notebook_is_the_training_that_its_cells_start() {
    let program = PROGRAM.replace("    deepspeed=\"zero3.json\",\n", "");
    let python = ["!pip install -q transformers", "%load_ext autoreload\nname = 1", program.as_str()];
    let text = notebook(&python);
    assert_eq!(pasted(&text), Some(PastedKind::Settings));
    let read = import(&text);
    expect(&read, &[("gpus", "1"), ("micro_batch", "1"), ("zero", "0")]);
    assert!(assumed(&read).contains("notebook"), "{}", assumed(&read));
    let more = notebook(&[&program, "from accelerate import notebook_launcher\nnotebook_launcher(f, num_processes=4)"]);
    expect(&import(&more), &[("gpus", "4")]);
    let shell = notebook(&[
        "%%writefile train.yaml\nbase_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 2\n",
        "!accelerate launch --num_processes 2 \\\n    -m axolotl.cli.train train.yaml \\\n    --gradient_accumulation_steps 4",
    ]);
    let values = [("gpus", "2"), ("model", "qwen-3-8b"), ("seq_len", "4096"), ("global_batch", "16")];
    expect(&import(&shell), &values);
}

/// simplescaling/s1 77272c6 `train/sft.py`: a field of the program's own dataclass is handed on by an assignment to
/// what the parser fills (huggingface/transformers `hf_argparser.py`, `parse_args_into_dataclasses`: one object for
/// each class). A field that it hands to nothing that is read is named, and so is one that a branch may set.
#[test]
fn what_a_program_sets_on_its_arguments_is_read_and_the_rest_is_named() {
    const SFT: &str = "import transformers\nimport trl\nclass TrainingConfig:\n    \
        model_name: str = field(default=\"Qwen/Qwen2.5-32B\")\n    block_size: int = field(default=32768)\n    \
        row_size: int = field(default=1)\ndef train():\n    \
        parser = transformers.HfArgumentParser((TrainingConfig, trl.SFTConfig))\n    \
        config, args = parser.parse_args_into_dataclasses()\n    print(config.row_size)\n    \
        model = transformers.AutoModelForCausalLM.from_pretrained(config.model_name)\n    \
        args.max_seq_length = config.block_size\n    trainer = trl.SFTTrainer(model, args=args)\n    \
        trainer.train()\ntrain()\n";
    let script = "torchrun --nproc-per-node 8 train/sft.py --block_size=16384 --row_size=7 \
        --per_device_train_batch_size=1 --model_name=Qwen/Qwen2.5-7B-Instruct --bf16=True";
    let names = |read: &Meaning| read.unread.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let read = given(script, &[("sft.py", SFT)]);
    expect(&read, &[("seq_len", "16384"), ("model", "qwen-2.5-7b"), ("gpus", "8")]);
    assert_eq!(names(&read), ["row_size"]);
    let silent = given(&script.replace(" --block_size=16384", ""), &[("sft.py", SFT)]);
    expect(&silent, &[("seq_len", "32768")]);
    assert!(assumed(&silent).contains("config.block_size 32768: defaults"), "{}", assumed(&silent));
    let perhaps = SFT.replace("    args.max_seq_length", "    if unknown():\n        args.max_seq_length");
    let perhaps = given(script, &[("sft.py", &perhaps)]);
    assert!(names(&perhaps).contains(&"max_seq_length".to_owned()), "{:?}", perhaps.unread);
}

/// huggingface transformers v5.2.0 `configuration_llama.py`: `max_position_embeddings` is the longest sequence that the
/// model might ever be used with. A longer one is no error, for positions can be extended (arXiv:2309.00071).
#[test]
fn a_sequence_beyond_the_positions_of_the_config_is_noted() {
    let config = |positions: u64| {
        format!(
            r#"{{"model_type":"llama","hidden_size":4096,"intermediate_size":11008,"num_attention_heads":32,
            "num_hidden_layers":32,"num_key_value_heads":32,"vocab_size":32000,"tie_word_embeddings":false,
            "max_position_embeddings":{positions}}}"#
        )
    };
    let settings = "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --seq-length 8192 \
        --micro-batch-size 1 --global-batch-size 64 --bf16\n";
    let note = "max_position_embeddings of config.json is 4096, less than the sequence of 8192";
    let both = |positions| import(&format!("{}\n---\n{settings}", config(positions)));
    assert!(assumed(&both(4096)).contains(note), "{}", assumed(&both(4096)));
    assert!(!assumed(&both(8192)).contains("max_position_embeddings"), "{}", assumed(&both(8192)));
    // Alone it stands beside the sequence of the page.
    let alone = |seq_len| {
        let page = Run { seq_len, ..Run::default() };
        assumed(&shardscope::io::import::read(&config(4096), &page).unwrap())
    };
    assert!(alone(8192).contains(note), "{}", alone(8192));
    assert!(!alone(4096).contains("max_position_embeddings"), "{}", alone(4096));
}
