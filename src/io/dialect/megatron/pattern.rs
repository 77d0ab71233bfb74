//! The kinds of a model's layers in Megatron-LM's arguments: hybrid patterns by letter, and the lists that say which
//! layers have a window, linear attention or experts.
//!
//! Source: NVIDIA/Megatron-LM, `hybrid_layer_allocation.py`, `transformer/utils.py` (windows), `training.py` (linear
//! attention), `arguments.py`.

use super::forks;
use super::release::Release;
use crate::config::attention;
use crate::dialect::rows::prelude::*;
use shardscope_core::model::{Architecture, Ffn, LayerKind, Mixer, Pattern};

/// Layers that a list may name.
const MAX_LAYERS: usize = 100_000;

/// The letters of a hybrid model, its stages apart by `|` left out.
pub(crate) fn hybrid(reader: &mut SettingsReader) -> Option<(String, u64)> {
    let names = ["--hybrid-layer-pattern", "--hybrid-override-pattern"];
    let texts = names.map(|name| reader.word(name, "layers by letter"));
    let text = texts.into_iter().flatten().next()?;
    let (decoder, _) = text.split_once('/').unwrap_or((&text, ""));
    let stages: Vec<u64> = decoder.split('|').map(|stage| stage.chars().count() as u64).collect();
    let letters = text.replace('|', "");
    match Pattern::parse(&letters) {
        Ok(pattern) => {
            if stages.len() > 1 {
                reader.run.stage_layers = Some(stages);
            }
            Some((letters, pattern.layers()))
        }
        Err(error) => {
            let message = error.message(&letters);
            reader.errors.push(Issue::error("model.pattern", message));
            None
        }
    }
}

/// Shapes of what mixes tokens, and the pattern of their layers.
pub fn read(reader: &mut SettingsReader, parts: &mut ModelParts, letters: Option<String>) {
    let layers = parts.layers.unwrap_or(0);
    parts.output_gate = Some(reader.flag("--attention-output-gate", "output gate"));
    let softmax = reader.word("--softmax-type", "softmax");
    parts.sinks = Some(matches!(softmax.as_deref(), Some("learnable" | "off-by-one")));
    let sliding = window(reader, parts, layers);
    let variant = reader.word("--experimental-attention-variant", "attention");
    let linear = match variant.as_deref() {
        Some("dsa") => {
            indexer(reader, parts);
            None
        }
        Some("gdn" | "gdn2" | "gated_delta_net") => {
            delta_net(reader, parts);
            list(reader, "--linear-attention-freq", "linear attention", layers, |i, n| i % n != 0)
        }
        _ => None,
    };
    if let Some(letters) = letters {
        mamba(reader, parts);
        parts.pattern = Some(letters);
        return;
    }
    let said = list(reader, "--moe-layer-freq", "layers with experts", layers, |i, n| (i - 1) % n == 0);
    let experts = if parts.moe.experts.is_some() { forks::routed(reader, layers, said) } else { said };
    let has_experts = parts.moe.experts.is_some();
    let full = attention(parts);
    let at = |list: &Option<Vec<bool>>, layer: usize, other: bool| {
        list.as_ref().map_or(other, |list| list.get(layer).copied().unwrap_or(other))
    };
    let kinds: Vec<LayerKind> = (0..usize::try_from(layers).unwrap_or(0).min(MAX_LAYERS))
        .map(|layer| {
            let mixer = match (at(&linear, layer, false), at(&sliding, layer, false)) {
                (true, _) => Mixer::DeltaNet,
                (false, true) => Mixer::Window,
                (false, false) => full,
            };
            let routed = has_experts && at(&experts, layer, true);
            LayerKind::new(mixer, if routed { Ffn::Experts } else { Ffn::Dense })
        })
        .collect();
    if let Err(error) = parts.set_kinds(&kinds) {
        let message = error.message("");
        reader.errors.push(Issue::error("model.pattern", message));
    }
}

/// `--window-size 127,0` is 128 keys with the query's own; which layers: all, or by `--window-attn-skip-freq`.
fn window(reader: &mut SettingsReader, parts: &mut ModelParts, layers: u64) -> Option<Vec<bool>> {
    let text = reader.word("--window-size", "sliding window")?;
    let left = text.trim_matches(['(', ')', ' ', '\'', '"']);
    let left = left.split(',').next().and_then(|left| left.trim().parse::<u64>().ok());
    let Some(left) = left else {
        reader.assume(t!("no sliding window: --window-size {text} has none", text));
        return None;
    };
    parts.window = Some(left + 1);
    let frequency = "--window-attn-skip-freq";
    if !reader.has(frequency) {
        return Some(vec![true; usize::try_from(layers).ok()?.min(MAX_LAYERS)]);
    }
    list(reader, frequency, "layers with a window", layers, |i, n| i % n != 0)
}

fn indexer(reader: &mut SettingsReader, parts: &mut ModelParts) {
    let mut count = |name, what| reader.count(name, what);
    parts.indexer.heads = count("--dsa-indexer-n-heads", "indexer heads");
    parts.indexer.head_dim = count("--dsa-indexer-head-dim", "indexer head width");
    parts.indexer.top_k = count("--dsa-indexer-topk", "selected keys");
}

/// Two widths, of which the keys' is taken: all published models have one.
fn delta_net(reader: &mut SettingsReader, parts: &mut ModelParts) {
    let mut count = |name, what, default| reader.count(name, what).or(Some(default));
    parts.delta_net.key_heads = count("--linear-num-key-heads", "delta net key heads", 16);
    parts.delta_net.value_heads = count("--linear-num-value-heads", "delta net value heads", 32);
    parts.delta_net.head_dim = count("--linear-key-head-dim", "delta net head width", 128);
    count("--linear-value-head-dim", "delta net head width", 128);
}

/// The defaults of Megatron-LM: heads of 64 over twice the hidden size, state 128, 8 groups.
fn mamba(reader: &mut SettingsReader, parts: &mut ModelParts) {
    let mut count = |name, what, default| reader.count(name, what).unwrap_or(default);
    let width = count("--mamba-head-dim", "Mamba head width", 64);
    let heads = 2 * parts.hidden.unwrap_or(0) / width.max(1);
    parts.mamba.head_dim = Some(width);
    parts.mamba.heads = Some(count("--mamba-num-heads", "Mamba heads", heads));
    parts.mamba.state = Some(count("--mamba-state-dim", "Mamba state", 128));
    parts.mamba.groups = Some(count("--mamba-num-groups", "Mamba groups", 8));
}

/// Expands a list over every layer: a number n by `rule(layer, n)`, layers from 1, or a Python list of 0 and 1.
fn list(
    reader: &mut SettingsReader,
    name: &'static str,
    what: &'static str,
    layers: u64,
    rule: fn(u64, u64) -> bool,
) -> Option<Vec<bool>> {
    let text = reader.word(name, what)?;
    if let Ok(every) = text.trim().parse::<u64>() {
        let layers = layers.min(MAX_LAYERS as u64);
        return Some((1..=layers).map(|layer| rule(layer, every.max(1))).collect());
    }
    let listed = evaluated(&text);
    if listed.as_ref().is_none_or(|list| list.len() as u64 != layers) {
        let message = t!(
            "{name} takes a number, or a list of 0 and 1 for {layers} layers such as ([0]*3+[1]*58)",
            name = name.to_owned(),
            layers
        );
        reader.errors.push(Issue::error("model.pattern", message));
        return None;
    }
    listed
}

/// A Python expression of lists: `([1]*3+[0])*12`.
fn evaluated(text: &str) -> Option<Vec<bool>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !"'\"".contains(*c)).collect();
    let (list, rest) = sum(&text, 0)?;
    rest.is_empty().then_some(list)
}

fn sum(text: &str, depth: usize) -> Option<(Vec<bool>, &str)> {
    let (mut list, mut rest) = product(text, depth)?;
    while let Some(next) = rest.strip_prefix('+') {
        let (more, after) = product(next, depth)?;
        list.extend(more);
        rest = after;
    }
    (list.len() <= MAX_LAYERS).then_some((list, rest))
}

fn product(text: &str, depth: usize) -> Option<(Vec<bool>, &str)> {
    let (mut list, mut rest) = if let Some(inside) = text.strip_prefix('(') {
        let (list, rest) = sum(inside, depth.checked_add(1).filter(|depth| *depth < 16)?)?;
        (list, rest.strip_prefix(')')?)
    } else {
        let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
        let items = inside.split(',').filter(|item| !item.is_empty());
        let list: Option<Vec<bool>> = items
            .map(|item| match item {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            })
            .collect();
        (list?, rest)
    };
    while let Some(next) = rest.strip_prefix('*') {
        let digits = next.chars().take_while(char::is_ascii_digit).count();
        let times: usize = next.get(..digits)?.parse().ok()?;
        let grown = list.len().checked_mul(times)?;
        if grown > MAX_LAYERS {
            return None;
        }
        list = list.repeat(times);
        rest = next.get(digits..)?;
    }
    Some((list, rest))
}

/// A Python list of which layers of `model` satisfy `test`: one period, repeated.
fn python(model: &Architecture, test: impl Fn(LayerKind) -> bool) -> String {
    let period = match model.pattern.layers() {
        0 => model.layers,
        period => period,
    };
    let mut runs: Vec<(bool, u64)> = Vec::new();
    for layer in 0..period {
        let yes = test(model.kind(layer));
        match runs.last_mut() {
            Some((last, count)) if *last == yes => *count += 1,
            _ => runs.push((yes, 1)),
        }
    }
    let runs: Vec<String> = runs.into_iter().map(|(yes, count)| format!("[{}]*{count}", u8::from(yes))).collect();
    let one = runs.join("+");
    match model.layers / period.max(1) {
        1 => format!("({one})"),
        repeats => format!("({one})*{repeats}"),
    }
}

/// True if the layers of `model` are mixers and FFNs alone.
pub(crate) fn is_hybrid(model: &Architecture) -> bool {
    !model.pattern.is_uniform() && model.any_layer(|kind| kind.operations() == 1)
}

/// The letters of a hybrid model with its modules; none where Megatron-LM has none for a layer.
fn letters(model: &Architecture) -> Option<String> {
    let letter = |kind: LayerKind| {
        Some(match (kind.mixer, kind.ffn) {
            (Mixer::Mamba, Ffn::None) => 'M',
            (Mixer::DeltaNet, Ffn::None) => 'G',
            (Mixer::Full, Ffn::None) => '*',
            (Mixer::Sparse, Ffn::None) => 'D',
            (Mixer::Latent, Ffn::None) => '+',
            (Mixer::None, Ffn::Dense) => '-',
            (Mixer::None, Ffn::Experts) => 'E',
            _ => return None,
        })
    };
    let mut text: String = (0..model.layers).map(|layer| letter(model.kind(layer))).collect::<Option<_>>()?;
    let module: String = model.pattern.module().map(letter).collect::<Option<_>>()?;
    if !module.is_empty() {
        for _ in 0..model.mtp_modules.max(model.pattern.modules()) {
            text.push('/');
            text.push_str(&module);
        }
    }
    Some(text)
}

pub fn write(model: &Architecture, release: Release, writer: &mut SettingsWriter) {
    if is_hybrid(model) {
        if let Some(letters) = letters(model) {
            let old = release < Release::Y2026;
            writer.say(if old { "--hybrid-override-pattern" } else { "--hybrid-layer-pattern" }, letters);
        }
        if let Some(own) = model.mamba {
            writer.say("--mamba-num-heads", own.heads);
            writer.say("--mamba-head-dim", own.head_dim);
            writer.say("--mamba-state-dim", own.state);
            writer.say("--mamba-num-groups", own.groups);
        }
    }
    let is = |mixer: Mixer| move |kind: LayerKind| kind.mixer == mixer;
    if model.any_layer(is(Mixer::Window)) {
        writer.say("--window-size", format!("{},0", model.window - 1));
        if model.any_layer(|kind| kind.mixer != Mixer::Window) {
            writer.say("--window-attn-skip-freq", python(model, is(Mixer::Window)));
        }
    }
    writer.when(model.sinks, "--softmax-type", "learnable");
    writer.when(model.output_gate, "--attention-output-gate", true);
    if let Some(own) = model.indexer.filter(|_| model.any_layer(is(Mixer::Sparse))) {
        writer.say("--experimental-attention-variant", "dsa");
        writer.say("--dsa-indexer-n-heads", own.heads);
        writer.say("--dsa-indexer-head-dim", own.head_dim);
        writer.say("--dsa-indexer-topk", own.top_k);
    }
    if let Some(own) = model.delta_net.filter(|_| model.any_layer(is(Mixer::DeltaNet))) {
        writer.say("--experimental-attention-variant", "gdn");
        writer.say("--linear-num-key-heads", own.key_heads);
        writer.say("--linear-num-value-heads", own.value_heads);
        writer.say("--linear-key-head-dim", own.head_dim);
        writer.say("--linear-value-head-dim", own.head_dim);
        if model.any_layer(|kind| kind.mixer != Mixer::DeltaNet) {
            writer.say("--linear-attention-freq", python(model, is(Mixer::DeltaNet)));
        }
    }
    let Some(moe) = model.moe.filter(|_| !is_hybrid(model)) else {
        return;
    };
    if moe.dense_layers > 0 || model.any_layer(|kind| !kind.ffn.is_routed()) {
        let routed = python(model, |kind| kind.ffn.is_routed());
        writer.say("--moe-layer-freq", routed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_python_would() {
        let numbers = |text| evaluated(text).map(|list| list.into_iter().map(u8::from).collect::<Vec<_>>());
        assert_eq!(numbers("[0, 1, 1]"), Some(vec![0, 1, 1]));
        assert_eq!(numbers("([0]*3+[1]*2)"), Some(vec![0, 0, 0, 1, 1]));
        assert_eq!(numbers("([1]*2+[0])*2+[1]"), Some(vec![1, 1, 0, 1, 1, 0, 1]));
        for wrong in ["[2]", "([1]", "[1]*x", "[1]*999999999", "1", ""] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }
}
