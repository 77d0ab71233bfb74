//! A program's own arguments, as it prints them: `  tensor_model_parallel_size ...................... 8`.

use super::line::number;
use crate::dialect::launcher;
use crate::dialect::{Dialect, SettingEntries, deepspeed, megatron};
use crate::import::{Meaning, read_entries};
use shardscope_core::issue::Issue;
use shardscope_core::run::{Run, Value};
use shardscope_core::t;

/// Arguments that are kept; Megatron-LM has some 700.
const MAX_ENTRIES: usize = 4000;

/// Arguments that all ranks of a run share: where one is printed again with another value, another run begins.
const OF_A_RUN: [&str; 22] = [
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "world_size",
    "micro_batch_size",
    "global_batch_size",
    "seq_length",
    "num_layers",
    "hidden_size",
    "num_experts",
    "recompute_granularity",
    "recompute_num_layers",
    "fp8",
    "bf16",
    "use_distributed_optimizer",
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "zero_config",
    "zero_optimization_stage",
];

/// The arguments that a log states; of an argument that is printed again the last value.
#[derive(Clone, Default)]
pub(crate) struct Dump(Vec<(String, String)>);

/// How a line belongs to the arguments that were read before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentLine {
    /// No argument.
    None,
    /// An argument, which is kept.
    Kept,
    /// An argument of [`OF_A_RUN`] with another value than before, which is not kept: another run begins.
    OfAnotherRun,
}

impl Dump {
    /// Reads a line of the log and keeps its argument. A changed value means another run only where one `may_begin`.
    pub fn take(&mut self, line: &str, may_begin: bool) -> ArgumentLine {
        // The vocabulary is only known once the tokenizer is read, behind the arguments.
        if let Some((_, sizes)) = line.split_once("> padded vocab (size:") {
            let padded = sizes.split_once("new size:").and_then(|(_, size)| number(size));
            return padded
                .map_or(ArgumentLine::None, |(size, _)| self.set("padded_vocab_size", &size.to_string(), may_begin));
        }
        self.take_argument(line, may_begin).unwrap_or(ArgumentLine::None)
    }

    /// Keeps the argument of a line `name ..... value`; none where the line is no such one.
    fn take_argument(&mut self, line: &str, may_begin: bool) -> Option<ArgumentLine> {
        let (before, behind) = line.split_once(" ..")?;
        let name = before.trim_end().rsplit([' ', ']', ':']).next().unwrap_or_default();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let value = behind.trim_start_matches('.');
        if name.is_empty() || !name.chars().all(is_name) || !value.starts_with(' ') {
            return None;
        }
        Some(self.set(name, value.trim(), may_begin))
    }

    fn set(&mut self, name: &str, value: &str, may_begin: bool) -> ArgumentLine {
        let full = self.0.len() >= MAX_ENTRIES;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if may_begin && known != value && OF_A_RUN.contains(&name) => {
                return ArgumentLine::OfAnotherRun;
            }
            Some((_, known)) => value.clone_into(known),
            None if !full => self.0.push((name.to_owned(), value.to_owned())),
            None => {}
        }
        ArgumentLine::Kept
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| *value != "None")
    }

    /// The Run that they state, over `present`; none where they are of no known program.
    ///
    /// # Errors
    /// Every argument that cannot be read.
    pub fn run(&self, present: &Run) -> Option<Result<Meaning, Vec<Issue>>> {
        let (dialect, mut entries): (&Dialect, SettingEntries) = if self.get("tensor_model_parallel_size").is_some() {
            (&megatron::DIALECT, self.megatron())
        } else if self.get("train_micro_batch_size_per_gpu").is_some() {
            (&deepspeed::DIALECT, self.deepspeed())
        } else {
            return None;
        };
        entries.retain(|(_, value)| *value != Value::Null);
        // The software is the page's where someone chose one of this program, or where no argument tells its release.
        let chosen = present.stack.base != Run::default().stack.base;
        let is_of_program = launcher(present) == dialect.id;
        let is_told = (dialect.told)(&entries).is_some();
        let is_own = is_of_program && (chosen || !is_told);
        let stack = (!is_own).then(|| dialect.stack(&entries));
        let mut read = read_entries(dialect, entries, present, stack);
        if let (true, Ok(read)) = (is_own, &mut read) {
            let label = present.stack.preset_row().choice.label;
            read.assumed.push(t!("software, as on this page: {label}", label));
        }
        Some(read)
    }

    /// As Megatron-LM's command line has them: the dump names what was parsed, and holds every default.
    fn megatron(&self) -> SettingEntries {
        let mut entries: SettingEntries = Vec::new();
        if let Some(world) = self.get("world_size") {
            entries.push(("--nnodes".to_owned(), Value::Number(1.0)));
            entries.push(("--nproc-per-node".to_owned(), scalar(world)));
        }
        for (name, value) in &self.0 {
            let renamed = match (name.as_str(), value.as_str()) {
                ("fp8", _) => "--fp8-format".to_owned(),
                ("fp4", _) => "--fp4-format".to_owned(),
                ("padded_vocab_size", _) => "--vocab-size".to_owned(),
                ("add_bias_linear", "False") => "--disable-bias-linear".to_owned(),
                ("bias_swiglu_fusion", "False") => "--no-bias-swiglu-fusion".to_owned(),
                ("virtual_pipeline_model_parallel_size", _) => "--num-virtual-stages-per-pipeline-rank".to_owned(),
                _ => format!("--{}", name.replace('_', "-")),
            };
            let inverted = renamed.starts_with("--disable") || renamed.starts_with("--no-");
            let value = match value.as_str() {
                "False" if inverted => Value::Bool(true),
                "None" | "[]" | "False" => continue,
                "True" => Value::Bool(true),
                other => scalar(word_of_object(other)),
            };
            // The size of the vocabulary before padding, and settings that only a granularity gives a meaning.
            let unused = match name.as_str() {
                "vocab_size" => self.get("padded_vocab_size").is_some(),
                "recompute_method" | "recompute_num_layers" => self.get("recompute_granularity") != Some("full"),
                "recompute_modules" => self.get("recompute_granularity") != Some("selective"),
                "num_virtual_stages_per_pipeline_rank" | "num_layers_per_virtual_pipeline_stage" => {
                    self.get("virtual_pipeline_model_parallel_size").is_some()
                }
                moe if moe.starts_with("moe_") || moe.starts_with("expert_") => self.get("num_experts").is_none(),
                mla if mla.contains("lora_rank") || mla.contains("_head_dim") => {
                    self.get("multi_latent_attention") != Some("True")
                }
                "num_query_groups" => self.get("group_query_attention") == Some("False"),
                _ => false,
            };
            if !unused {
                entries.push((renamed, value));
            }
        }
        entries
    }

    /// As DeepSpeed's JSON has them.
    fn deepspeed(&self) -> SettingEntries {
        let stage = self.get("zero_optimization_stage").or_else(|| {
            let config = self.get("zero_config")?;
            let (_, behind) = config.split_once("stage=")?;
            behind.get(..1)
        });
        let on = |name: &str| (self.get(name) == Some("True")).then_some("true");
        let named = [
            ("train_batch_size", self.get("train_batch_size")),
            ("train_micro_batch_size_per_gpu", self.get("train_micro_batch_size_per_gpu")),
            ("gradient_accumulation_steps", self.get("gradient_accumulation_steps")),
            ("zero_optimization.stage", stage),
            ("bf16.enabled", on("bfloat16_enabled")),
            ("fp16.enabled", on("fp16_enabled").or_else(|| on("float16_enabled"))),
        ];
        let entries = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), scalar(value?))));
        entries.collect()
    }
}

/// The word of a command line for a Python object: "flash" of `AttnBackend.flash`, "bf16" of `torch.bfloat16`.
fn word_of_object(value: &str) -> &str {
    match value.split_once('.') {
        Some(("torch", "float32")) => "fp32",
        Some(("torch", "bfloat16")) => "bf16",
        Some(("torch", "float16")) => "fp16",
        Some(("torch", "uint8")) => "fp8",
        Some((class, name)) if class.starts_with(|c: char| c.is_ascii_uppercase()) => name,
        _ => value,
    }
}

/// A number, a truth, a list in brackets, or text.
fn scalar(text: &str) -> Value {
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let items: Vec<Value> = list.split(',').map(|item| scalar(item.trim().trim_matches(['\'', '"']))).collect();
        return match <[Value; 1]>::try_from(items) {
            Ok([one]) => one,
            Err(items) => Value::List(items),
        };
    }
    match (text, text.parse::<f64>()) {
        ("true", _) => Value::Bool(true),
        (_, Ok(number)) if number.is_finite() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    }
}
