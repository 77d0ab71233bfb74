//! Programs of Python that call Hugging Face's Trainer or TRL: their keywords are the names of its command line
//! (huggingface/trl f2cd577 `docs/source/clis.md`: "the same arguments as in the configuration classes").

use crate::meaning::{assumed, import, says};
use shardscope::core::run::Run;
use shardscope::core::run::registry::FIELDS;
use shardscope::io::evidence;
use shardscope::io::import::{UnreadKind, read};
use shardscope::io::pasted::{PastedKind, pasted};

/// In the form of `docs/source/grpo_trainer.md` and `examples/scripts/rloo.py` of TRL.
const GRPO: &str = r#"
from datasets import load_dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

dataset = load_dataset("trl-lib/tldr", split="train")

def reward_len(completions, **kwargs):
    return [-abs(20 - len(completion)) for completion in completions]

training_args = GRPOConfig(
    output_dir="out",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2 * 2,
    num_generations=8,
    max_prompt_length=512,
    max_completion_length=2_048,
    bf16=True,
    use_vllm=True,
    vllm_mode="colocate",
    gradient_checkpointing=True,
)
trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-7B-Instruct",
    reward_funcs=reward_len,
    args=training_args,
    train_dataset=dataset,
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"),
)
trainer.train()
"#;

#[test]
fn a_program_means_what_the_command_with_its_keywords_means() {
    let command = "trl grpo --model_name_or_path Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 4 \
        --gradient_accumulation_steps 4 --num_generations 8 --max_prompt_length 512 --max_completion_length 2048 \
        --bf16 true --use_vllm true --vllm_mode colocate --gradient_checkpointing true --use_peft true --lora_r 16 \
        --lora_alpha 32 --lora_target_modules all-linear";
    let (program, command) = (import(GRPO), import(command));
    for field in FIELDS.iter() {
        assert_eq!(field.get(&program.run.resolved()), field.get(&command.run.resolved()), "{}", field.key);
    }
    for (key, value) in [("rl.algorithm", "grpo"), ("micro_batch", "4"), ("adapter.rank", "16"), ("seq_len", "2560")] {
        assert_eq!(says(&program, key), value, "{key}");
    }
    assert_eq!(program.unread, []);
}

/// Hugging Face transformers v5.2.0 `trainer.py` (`args`): a trainer that is given none makes its own, so that those
/// which a program builds beside it may count nowhere.
#[test]
fn settings_that_no_trainer_is_given_are_said_to_be_taken() {
    let doubt = "settings of GRPOConfig are taken";
    assert!(!assumed(&import(GRPO)).contains(doubt), "{}", assumed(&import(GRPO)));
    let (lost, kept) = (GRPO.replace("    args=training_args,\n", ""), GRPO.replace("args=training_args", "args=ours"));
    for text in [lost, kept] {
        let read = import(&text);
        assert_eq!(says(&read, "micro_batch"), "4");
        assert!(assumed(&read).contains(doubt), "{}", assumed(&read));
    }
}

/// `from_pretrained`, `BitsAndBytesConfig` and DPO's own settings; PEFT's rank where it is not said is 8, and
/// `prepare_model_for_kbit_training` computes layers again (huggingface/peft v0.18.0 `tuners/lora/config.py:387`,
/// `utils/other.py`).
#[test]
fn the_model_its_bits_and_its_adapters_are_read_from_their_calls() {
    let text = "import torch\nfrom trl import DPOConfig, DPOTrainer\nname = 'Qwen/Qwen2.5-7B'\n\
        bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True, \
        bnb_4bit_compute_dtype=torch.bfloat16)\n\
        model = AutoModelForCausalLM.from_pretrained(name, quantization_config=bits, device_map='auto')\n\
        model = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, LoraConfig())\n\
        trainer = DPOTrainer(model, args=DPOConfig(per_device_train_batch_size=2, max_length=1024, bf16=True, \
        gradient_checkpointing=False), ref_model=None)\ntrainer.train()\n";
    let read = import(text);
    let said = [
        ("model", "qwen-2.5-7b"),
        ("objective", "dpo"),
        ("adapter.method", "qlora"),
        ("adapter.rank", "8"),
        ("micro_batch", "2"),
        ("seq_len", "1024"),
        ("recompute", "none"),
    ];
    for (key, value) in said {
        assert_eq!(says(&read, key), value, "{key}");
    }
    assert!(assumed(&read).contains("rank 8: PEFT"), "{}", assumed(&read));
    assert!(read.unread.iter().any(|one| one.name == "device_map"), "{:?}", read.unread);
}

/// What a command line, the environment or a condition decides is named and not guessed.
#[test]
fn what_the_program_does_not_decide_is_named() {
    let text = GRPO
        .replace("per_device_train_batch_size=4", "per_device_train_batch_size=int(os.environ[\"BATCH\"])")
        .replace("bf16=True", "bf16=True, **more")
        .replace("\"Qwen/Qwen2.5-7B-Instruct\"", "args.model");
    let read = import(&text);
    let open: Vec<&str> =
        read.unread.iter().filter(|one| one.kind == UnreadKind::Undecided).map(|one| one.name.as_str()).collect();
    for name in ["per_device_train_batch_size", "**more", "model_name_or_path"] {
        assert!(open.contains(&name), "{name}: {open:?}");
    }
    let with_default = GRPO.replace(
        "training_args =",
        "parser.add_argument(\"--batch\", default=2)\nargs = parser.parse_args()\ntraining_args =",
    );
    let read = import(&with_default.replace("batch_size=4", "batch_size=args.batch"));
    assert_eq!(says(&read, "micro_batch"), "2");
    assert!(assumed(&read).contains("args.batch 2: defaults"), "{}", assumed(&read));
}

/// `examples/scripts/sft_gemma3.py`: the command that starts it stands in its description.
#[test]
fn the_launcher_may_stand_in_the_description() {
    let text = "\"\"\"\nTrain.\n\naccelerate launch --num_processes 4 \\\n    train.py\n\"\"\"\n\
        from trl import SFTConfig, SFTTrainer\ntrainer = SFTTrainer(model='Qwen/Qwen2.5-7B', \
        args=SFTConfig(per_device_train_batch_size=1, max_length=8192))\n";
    let read = import(text);
    assert_eq!((says(&read, "gpus"), says(&read, "seq_len")), ("4".to_owned(), "8192".to_owned()));
    assert!(assumed(&read).contains("accelerate launch --num_processes 4 train.py"), "{}", assumed(&read));
}

/// A pasted program opens the import, which says what of it is read; a log it is not.
#[test]
fn a_program_of_python_is_never_a_log() {
    let unsaid = "import torch\nfor epoch in range(3):\n    print({'loss': 1.2, 'step': 10, 'epoch': 0.1})\n";
    let own = "import deepspeed\nengine = deepspeed.initialize(config={})\n";
    for text in [GRPO, unsaid, own] {
        assert_eq!(pasted(text), Some(PastedKind::Settings), "{text}");
        // Alone it is settings of a run at most, and no run left it behind.
        let file = evidence::read(text.as_bytes(), &Run::default());
        let found = evidence::diagnose(&[&file], &Run::default()).ok();
        assert!(found.is_none_or(|found| found.window_ns == 0 && found.series.is_none()), "{text}");
    }
    for (text, word) in [
        (own, "DeepSpeed"),
        (unsaid, "Python"),
        ("from transformers import HfArgumentParser\nx = HfArgumentParser(A).parse_args()\n", "command line"),
        ("from trl import GRPOTrainer\na = TrlParser((A, B)).parse_args()\nt = GRPOTrainer(args=a)\n", "command line"),
        ("from trl import SFTTrainer\nt = SFTTrainer(model='a/b', peft_config=IA3Config())\n", "IA3Config"),
    ] {
        let issues = read(text, &Run::default()).unwrap_err();
        assert!(issues[0].message.to_string().contains(word), "{issues:?}");
    }
}

/// huggingface/nanotron `examples/config_tiny_llama.py` writes the YAML that nanotron reads: names are the same.
#[test]
fn a_program_that_writes_nanotrons_file_means_the_file() {
    let python = "from nanotron.config import Config, ParallelismArgs, TokensArgs\n\
        parallelism = ParallelismArgs(dp=4, tp=2, pp=1, recompute_layer=True)\n\
        tokens = TokensArgs(sequence_length=4096, micro_batch_size=2)\n\
        config = Config(parallelism=parallelism, tokens=tokens, model=ModelArgs(dtype=\"bfloat16\"))\n";
    let yaml = "parallelism:\n  dp: 4\n  tp: 2\n  pp: 1\n  recompute_layer: true\ntokens:\n  sequence_length: 4096\n  \
        micro_batch_size: 2\nmodel:\n  dtype: bfloat16\n";
    assert_eq!(import(python).run, import(yaml).run);
}
