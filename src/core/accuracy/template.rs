//! A line of a table as a Run: `tp={tp}&recompute={recompute}` filled from the cells.
//!
//! `{column}` must not be empty, `{column|other}` may; a pair whose value stays empty is left out. A few columns are
//! derived, because sources say the same thing in different words: see [`derived`].

use super::table::Line;
use super::tuned::tuned;
use crate::run::Run;

/// The Run of `line` by `template`; none where the line leaves out too much or contradicts itself.
#[must_use]
pub fn run(template: &str, line: Line) -> Option<Run> {
    let text = fill(template, line)?;
    let mut pairs = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=')?;
        if !value.is_empty() {
            pairs.push((key.trim().to_owned(), value.to_owned()));
        }
    }
    let (run, issues) = Run::from_pairs(&pairs);
    issues.is_empty().then_some(run)
}

/// `template` with its braces filled.
#[must_use]
pub fn fill(template: &str, line: Line) -> Option<String> {
    let mut pieces = template.split('{');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (name, after) = piece.split_once('}')?;
        let (column, other) = match name.split_once('|') {
            Some((column, other)) => (column, Some(other)),
            None => (name, None),
        };
        let cell = derived(column, line).unwrap_or_else(|| line.text(column).trim_end_matches(".0").to_owned());
        match other {
            None if cell.is_empty() => return None,
            Some(other) if cell.is_empty() => match other.strip_prefix('@') {
                Some(column) => out.push_str(line.text(column).trim_end_matches(".0")),
                None => out.push_str(other),
            },
            _ => out.push_str(&cell),
        }
        out.push_str(after);
    }
    Some(out)
}

/// Columns that no table has.
/// - `chunks`, `schedule`: model chunks a rank (">1" is at least two; one without a pipeline), and what runs them
/// - `zero_stage`, `shard`: "fsdp" is stage 3, "zero1=8" stage 1 in groups of 8
/// - `policy`: recipes of Transformer Engine: NVIDIA's "FP8" of 2025 and later scales by the current largest value, "fp8"
///   before that by those of past steps; else bf16
/// - `sp`: whether sequence parallelism was on
/// - `wide`: the feed-forward width, four times the hidden size where it is not given
/// - `id`: the preset that a Llama is; `gpu_id`: that a GPU is
/// - `local`, `local_batch`: torchtitan's local batch, cut into as many micro-batches as there are stages
/// - `four_batches`, `four_dp`: batches long enough to fill the pipeline, where the peak does not depend on them
/// - `first_word`: of `recompute`
/// - `tokens`, `tuned_...`: of fine-tuning runs, see [`tuned`]
#[allow(clippy::too_many_lines)] // one arm a column
fn derived(column: &str, line: Line) -> Option<String> {
    let count = |column, other| line.count(column, other).unwrap_or(other).max(1);
    let pp = count("pp", 1);
    let chunks = match line.text("vpp") {
        _ if pp == 1 => 1,
        ">1" => 2,
        _ => count("vpp", 1),
    };
    let tp = count("tp", 1);
    let (zero, notes) = (line.text("zero"), line.text("notes"));
    Some(match column {
        "chunks" => chunks.to_string(),
        "schedule" if chunks > 1 && (line.text("recipe").contains("ep_overlap") || notes.contains("1f1b a2a")) => {
            "interleaved-overlap".to_owned()
        }
        "schedule" if chunks > 1 => "interleaved-1f1b".to_owned(),
        "schedule" => "1f1b".to_owned(),
        "zero_stage" => match zero {
            "fsdp" => "3",
            "0" | "2" | "3" => zero,
            _ => "1",
        }
        .to_owned(),
        "shard" => zero.strip_prefix("zero1=").unwrap_or("").to_owned(),
        "policy" => {
            let precision = line.text("precision");
            let has = |part| precision.contains(part);
            match () {
                () if has("NVFP4") => "nvfp4",
                () if has("MX") => "mxfp8",
                () if has("FP8") => "fp8-current",
                () if has("fp8") => "fp8-delayed",
                () => "bf16-fp32-grads",
            }
            .to_owned()
        }
        "sp" => matches!(line.text("sp"), "1" | "1.0" | "yes").to_string(),
        "wide" if line.text("ffn").is_empty() => (4 * line.count("hidden", 0)?).to_string(),
        "wide" => line.text("ffn").trim_end_matches(".0").to_owned(),
        "id" => line.text("model").to_ascii_lowercase().replace("llama3-", "llama-3.1-").replace(' ', "-"),
        "gpu_id" => match line.text("gpu_type") {
            "H100" | "H100-80GB" | "h100_80gb" => "h100-sxm-80gb",
            "a100_40gb" => "a100-sxm-40gb",
            "B200" => "b200-sxm",
            "B300" => "b300-sxm",
            "GB200" => "gb200",
            "GB300" => "gb300",
            "H200" => "h200-sxm-141gb",
            text if text.to_ascii_lowercase().contains("a100") => "a100-sxm-80gb",
            _ => "",
        }
        .to_owned(),
        "local" if pp > 1 => (count("mbs", 1) / (pp * chunks)).to_string(),
        "local" => count("mbs", 1).to_string(),
        "local_batch" => (count("mbs", 1) * count("gpus", 1) / (tp * pp)).to_string(),
        // Containers 25.09 and 25.11 are of 2025.
        "release" => {
            let source = line.text("source");
            match () {
                () if source.contains("[25.09") => "stack.base=megatron-2025",
                () if source.contains("[25.11") => "stack.base=megatron-2025",
                () => "stack.base=megatron-2026",
            }
            .to_owned()
        }
        // NVFP4 by Megatron-Bridge keeps the last 14 of Nemotron 3 Super's 88 layers in bf16 (`mixed_precision.py`).
        "bf16_last" if line.text("precision").contains("NVFP4") => "14".to_owned(),
        "norm" if line.text("model").contains("llama") => "rmsnorm".to_owned(),
        "norm" => "layernorm".to_owned(),
        "cut_batch" => {
            let ranks = count("gpus", 1) / (tp * pp * count("cp", 1));
            (count("gbs", 1) / ranks / (pp * chunks)).to_string()
        }
        // Megatron-Bridge's recipe (`set_deepseek_v3_pipeline_model_parallel_layout`): fewer layers beside the loss.
        "deepseek_stages" if pp * chunks == 16 => format!("{}1", "4,".repeat(15)),
        "deepseek_stages" if pp * chunks == 8 => format!("{}5", "8,".repeat(7)),
        "bf16_last" | "deepseek_stages" => String::new(),
        // DeepSeek-V3's rows count its module unless they say otherwise (FLOPs a token).
        "mtp" => u8::from(!line.text("model").contains("w/o MTP")).to_string(),
        "four_batches" => (4 * count("gbs", 1)).to_string(),
        "four_dp" => (4 * count("dp", 1)).to_string(),
        "tokens" => {
            let said = line.text("seq").trim_start_matches("avg ");
            said.split(' ').next()?.to_owned()
        }
        "tuned_batch" => (count("micro_batch", 1) * count("gpus", 1) * count("grad_accum", 1)).to_string(),
        "titan" => titan(line).to_owned(),
        "titan_precision" if line.text("precision").contains("fp8") => "fp8-current".to_owned(),
        "titan_precision" => "fsdp-mixed".to_owned(),
        "async_tp" if notes.contains("async") => "async-tp".to_owned(),
        "async_tp" => "none".to_owned(),
        "moe_zoo" => {
            let dispatch = if notes.contains("DeepEP") { "per-node" } else { "all-to-all" };
            let modules = match line.text("recompute") {
                "norm, act" => "recompute.modules=norm,moe_act",
                "full" => "recompute=full",
                _ => "",
            };
            format!("moe_dispatch={dispatch}&{modules}")
        }
        "nemo" => NEMO_MODELS.iter().find(|(name, _)| line.text("model").ends_with(name))?.1.to_owned(),
        _ if column.starts_with("tuned_") => tuned(column.strip_prefix("tuned_")?, line)?,
        "first_word" => {
            let words = line.text("recompute").split([' ', ',']);
            words.take(1).collect()
        }
        _ => return None,
    })
}

/// Models of NeMo's performance summaries and the benchmarks of DGX Cloud, by the end of their names; shapes of NeMo's
/// launcher scripts and of Nemotron-4's reports.
#[rustfmt::skip]
const NEMO_MODELS: [(&str, &str); 12] = [
    ("GPT3-5B", "model.base=gpt-3-175b&model.layers=24&model.hidden=4096&model.ffn=16384&model.heads=32&model.kv_heads=32&model.head_dim=128"),
    ("GPT3 5B PaxML FSDP", "model.base=gpt-3-175b&model.layers=24&model.hidden=4096&model.ffn=16384&model.heads=32&model.kv_heads=32&model.head_dim=128"),
    ("GPT3-20B", "model.base=gpt-3-175b&model.layers=44&model.hidden=6144&model.ffn=24576&model.heads=48&model.kv_heads=48&model.head_dim=128"),
    ("GPT3-175B", "model.base=gpt-3-175b"),
    ("GPT3 175B", "model.base=gpt-3-175b"),
    ("GPT3 175B PaxML FSDP", "model.base=gpt-3-175b"),
    ("LLAMA2-7B", "model.base=llama-2-7b"),
    ("LLAMA2-13B", "model.base=llama-2-13b"),
    ("LLAMA2-70B", "model.base=llama-2-70b"),
    ("LLAMA3-8B", "model.base=llama-3.1-8b"),
    ("LLAMA3-70B", "model.base=llama-3.1-70b"),
    ("340B", "model.layers=96&model.hidden=18432&model.ffn=73728&model.heads=96&model.kv_heads=8&model.head_dim=192&model.vocab=256000&model.gated_ffn=false&model.tied_embeddings=false&model.norm=layernorm&model.biases=none&model.dropout=false"),
];

/// torchtitan's rows say what is compiled; the loss is since 2025.
fn titan(line: Line) -> &'static str {
    let notes = line.text("notes");
    match () {
        () if notes.ends_with("FSDP") || notes.contains("FSDP;") => "torchtitan-eager",
        () if line.text("source").contains("2025") => "torchtitan",
        () => "torchtitan&cross_entropy=megatron",
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;

    #[test]
    fn cells_fill_the_template_and_missing_ones_leave_the_line_out() {
        let table = Table::read("tp,pp,vpp,recompute\n4,2.0,3,\n,2,,full\n");
        let lines: Vec<_> = table.lines().collect();
        let template = "tp={tp}&pp={pp|1}&virtual_stages={chunks}&schedule={schedule}&recompute={recompute|}";
        let run = run(template, lines[0]).unwrap();
        assert_eq!((run.tp, run.pp, run.virtual_stages), (4, 2, 3));
        assert_eq!(run.recompute, crate::run::Recompute::None);
        assert!(super::run(template, lines[1]).is_none());
        assert!(super::run("wings={tp}", lines[0]).is_none());
    }
}
