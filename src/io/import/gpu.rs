//! The GPU of an import: as the options of its batch job or its words name it, else that of the page; and how many of
//! them its comments speak of.

use crate::dialect::programs::{NamedGpu, is_memory, named_gpu, words};
use crate::dialect::text::slurm;
use shardscope_core::message::Message;
use shardscope_core::run::{Based, Run};
use shardscope_core::t;

/// No GPU that is known is named.
pub(super) struct NoGpu {
    /// What is said of the page's, which is taken.
    pub why: Message,
}

/// Takes the GPU that a text names: `launch` is the text that starts the program, `words` are those that run. Returns
/// what is said of it.
pub(super) fn gpu_of_text(run: &mut Run, launch: &str, words: &str) -> Result<Message, NoGpu> {
    let (typed, features) = (slurm::gpu_types(launch), slurm::features(launch));
    let asked = typed.iter().chain(&features).find_map(|name| named_gpu(name));
    let named = asked.or_else(|| named_gpu(words));
    let Some(NamedGpu { preset, word, sure }) = named else {
        let gpu = run.gpu.title();
        let why = typed.into_iter().next().map_or_else(
            || t!("the GPU is {gpu}, as on this page: the text does not say", gpu = gpu.clone()),
            |other| t!("the GPU is {gpu}, as on this page: {other} is not known", gpu = gpu.clone(), other),
        );
        return Err(NoGpu { why });
    };
    if run.gpu.base != Some(preset) || run.gpu.is_changed() {
        run.gpu = Based::preset(preset);
    }
    let gpu = run.gpu.title();
    Ok(if sure {
        t!("the GPU is {gpu}, which the text names", gpu)
    } else {
        let word = word.to_ascii_uppercase();
        t!("the GPU is {gpu}: the text names {word} and does not say which kind of it", gpu, word)
    })
}

/// Words between a number and the word "GPUs", or behind `8 x`.
const BESIDE: [&str; 9] = ["x", "nvidia", "amd", "sxm", "sxm5", "sxm4", "pcie", "hopper", "instinct"];
const GPUS: [&str; 4] = ["gpu", "gpus", "cards", "accelerators"];
/// Words before a number that is no count of all GPUs.
const SHARES: [&str; 5] = ["per", "every", "each", "tp", "rank"];

/// The GPUs that the comments of a text speak of, with the words of the first that does: "a preset for 128 H100 GPUs",
/// "8 * 78GB", "4 nodes of 8 GPUs", `accelerate launch --num_processes 8 train.py`; none where comments speak of
/// several numbers.
pub(super) fn gpus_of_comments(text: &str) -> Option<(u64, String)> {
    const LENGTH: usize = 80;
    let comments = text.lines().filter_map(|line| {
        let (_, comment) = line.split_once('#')?;
        let comment = comment.trim_start_matches('#').trim();
        (!comment.starts_with("SBATCH") && !comment.starts_with('!')).then_some(comment)
    });
    let mut said =
        comments.filter_map(|comment| Some((gpus_launched(comment).or_else(|| gpus_said(comment))?, comment)));
    let (gpus, comment) = said.next()?;
    if said.any(|(other, _)| other != gpus) {
        return None;
    }
    let end = comment.char_indices().nth(LENGTH).map_or(comment.len(), |(at, _)| at);
    Some((gpus, comment[..end].to_owned()))
}

/// The processes that a comment's command starts by Accelerate, one for each GPU of all nodes. Processes of each node
/// are not taken: recipes of torchtune print such a command as one example of several.
fn gpus_launched(comment: &str) -> Option<u64> {
    let mut words = comment.split([' ', '\t', '=']).filter(|word| !word.is_empty());
    let starts = comment.split_whitespace().any(|word| ["accelerate", "trl"].contains(&word));
    words.find(|word| *word == "--num_processes").filter(|_| starts)?;
    words.next()?.parse::<u64>().ok().filter(|count| (1..=1 << 20).contains(count))
}

/// The GPUs that one comment says; none where it says two numbers of them.
fn gpus_said(comment: &str) -> Option<u64> {
    // What a sign sets is a setting.
    let words = words(&comment.replace(['=', ':', ';'], " is "));
    let number = |at: usize| words.get(at)?.parse::<u64>().ok().filter(|count| (1..=1 << 20).contains(count));
    let mut found: Option<(u64, usize)> = None;
    for at in 0..words.len() {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(String::as_str);
        let is_other = before.is_some_and(|word| word == "is" || SHARES.contains(&word));
        let Some(count) = number(at).filter(|_| !is_other) else { continue };
        let names_gpu = |word: &String| named_gpu(word).is_some() || word.len() > 2 && word.starts_with("mi3");
        let beside = words[at + 1..]
            .iter()
            .take(5)
            .take_while(|word| BESIDE.contains(&word.as_str()) || is_memory(word) || names_gpu(word));
        let beside: Vec<&String> = beside.collect();
        let is_named = words.get(at + 1 + beside.len()).is_some_and(|word| GPUS.contains(&word.as_str()));
        let is_times = beside.first().is_some_and(|word| *word == "x")
            && beside.iter().any(|word| is_memory(word) || names_gpu(word));
        if !is_named && !is_times {
            continue;
        }
        match found {
            None => found = Some((count, at)),
            Some((other, _)) if other == count => {}
            Some(_) => return None,
        }
    }
    let (count, at) = found?;
    // "4 nodes of 8 GPUs", "4 nodes with 8 GPUs each".
    let is_node = |place: usize| words.get(place).is_some_and(|word| ["node", "nodes"].contains(&word.as_str()));
    let nodes = (0..at).rev().take(4).find_map(|place| number(place).filter(|_| is_node(place + 1)));
    let after = (at + 1..words.len()).find_map(|place| number(place).filter(|_| is_node(place + 1)));
    let between = |word: &str| words[at.saturating_sub(2)..at].iter().any(|known| known == word);
    let each = words[at..].iter().any(|word| ["each", "node"].contains(&word.as_str()));
    let joins = each || ["of", "with", "x"].into_iter().any(between);
    match nodes {
        Some(nodes) if joins => count.checked_mul(nodes),
        Some(_) => None,
        // Of each of how many nodes is not said, or they stand on nodes that do not share them evenly.
        None => Some(count).filter(|count| !each && after.is_none_or(|nodes| count % nodes == 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comments of pytorch/torchtitan `llama3_405b.toml` of v0.1.0, modelscope/ms-swift 3602360 `examples/train`, and
    /// of launch scripts of other programs.
    #[test]
    fn comments_say_how_many_gpus_a_text_is_for() {
        for (comment, gpus) in [
            ("NOTE: this toml config is a preset for 128 H100 GPUs.", 128),
            ("NOTE: this toml config is a preset for 64 A100 GPUs.", 64),
            ("8 * 78GB", 8),
            ("4 * 50GiB", 4),
            ("8xH100", 8),
            ("run on 64 GPUs", 64),
            ("This script is tested on 8 x A100 80GB", 8),
            ("4 nodes of 8 GPUs", 32),
            ("16 nodes with 8 H100 GPUs each", 128),
            // TRL `docs/source/clis.md`.
            ("trl sft --config trl.yaml --num_processes 8", 8),
            ("accelerate launch --num_processes=8 train.py", 8),
        ] {
            let text = format!("# {comment}\n[training]\nsteps = 1 # each step\n");
            assert_eq!(gpus_of_comments(&text), Some((gpus, comment.to_owned())), "{comment}");
        }
        for comment in [
            "TP=8 GPUs=64 are settings",
            "batch of 4 per 8 GPUs",
            "8 GPUs per node",
            "64 GPUs or 128 GPUs",
            "Llama 3 8B on GPUs",
            "2 GPUs in 4 ways on 3 nodes",
            "A100 80GB",
            "SBATCH --gpus 8 GPUs",
            "trl sft --config trl.yaml --num_processes $GPUS",
            "--num_processes 8 of the tokenizer",
        ] {
            assert_eq!(gpus_of_comments(&format!("x: 1 # {comment}\n")), None, "{comment}");
        }
        assert_eq!(gpus_of_comments("# 8 GPUs\n# 16 GPUs\n"), None);
    }
}
