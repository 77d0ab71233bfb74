//! Building blocks of programs' settings, and the counts of a Run in them.

use shardscope_core::run::{Based, Format, PrecisionParts, Run, Value};

/// The name of an argument as a file of settings writes it: `--model-name` is `model_name`.
pub(crate) fn bare(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}

/// A setting that a program and a Run count alike.
pub struct Same {
    pub name: &'static str,
    pub field: &'static str,
    /// The program's default; none where silence says nothing.
    pub default: Option<u64>,
}

pub const fn same(name: &'static str, field: &'static str, default: Option<u64>) -> Same {
    Same { name, field, default }
}

/// Format of the passes: policies of as many bytes may differ by it.
pub fn computes(precision: &Based<PrecisionParts>) -> &'static str {
    match precision.computes() {
        Format::Fp32 => "fp32",
        Format::Fp16 => "fp16",
        Format::Fp8 => "fp8",
        Format::Fp4 => "fp4",
        Format::Bf16 => "bf16",
    }
}

/// True if two policies are one: as many bytes of everything, computed in the same.
pub fn alike(one: &Based<PrecisionParts>, other: &Based<PrecisionParts>) -> bool {
    one.resolve() == other.resolve()
}

/// True if `run` keeps the bytes of the policy `id`.
pub(in crate::dialect) fn is_precision(run: &Run, id: &'static str) -> bool {
    let policy: Based<PrecisionParts> = Based::preset(id);
    run.precision.resolve() == policy.resolve()
}

/// Tokens that `steps` of `run` see.
pub fn tokens(run: &Run, steps: u64) -> f64 {
    steps as f64 * run.global_batch as f64 * run.seq_len as f64
}

/// Steps that see the Run's tokens, if it has a budget.
pub fn steps(run: &Run) -> Option<u64> {
    let steps = run.tokens_total? / tokens(run, 1);
    shardscope_core::units::whole(steps.ceil())
}

/// True of the value of a switch that is off: what Hugging Face's parser takes for false (`string_to_bool` of
/// transformers `hf_argparser.py`, in any case), and a value that is none.
pub(crate) fn is_off(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => *number == 0.0,
        Value::Text(text) => {
            ["false", "f", "no", "n", "off", "none", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
        }
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
    }
}
