//! The field's words, each with a source; marked where they are used: hover or focus shows the meaning.

use super::markup::{Node, cited_at, el, text, title};
use shardscope_core::message::{Catalogue, Message, verbatim};
use shardscope_core::sort::sort_by;
use shardscope_core::source::{CHIMERA, HANAYO, SEQ1F1B, ZERO_BUBBLE, ZERO_PLUS_PLUS};
use shardscope_core::source::{
    DEEPSEEK_V3, FLASH_3, FP8_LM, GPIPE, KORTHIKANTI_2022, LLAMA_2, LLAMA_3, MEGATRON, MIXTRAL, NARAYANAN_2021,
    PLAYBOOK, STAS, Source, TORCHTITAN, TRANSFORMER_ENGINE, UNEVEN_PP, ZERO,
};

/// A word of the field.
pub struct Word {
    /// As it is written, and how else.
    pub names: &'static [&'static str],
    /// Meaning, in a sentence.
    pub meaning: &'static str,
    /// The source of the definition.
    pub source: &'static Source,
    pub place: &'static str,
}

const fn word(names: &'static [&'static str], source: (&'static Source, &'static str), meaning: &'static str) -> Word {
    Word { names, meaning, source: source.0, place: source.1 }
}

/// All words, in the order of the panel; longer names before shorter ones that they contain.
pub static WORDS: &[Word] = &[
    word(
        &["micro-batch", "micro-batches"],
        (&GPIPE, "section 2.2"),
        "The sequences that a rank works on at once; a batch is cut into several so that pipeline stages work at the \
            same time.",
    ),
    word(
        &["global batch"],
        (&MEGATRON, "arguments"),
        "All sequences between two updates of the weights, over all ranks.",
    ),
    word(
        &["data parallel"],
        (&ZERO, "section 2"),
        "Ranks with a copy of the model each, or shards of one, that work on different sequences and add up their \
            gradients.",
    ),
    word(&["expert tensor parallel"], (&MEGATRON, "arguments"), "Ranks that share the matrices of one expert."),
    word(
        &["tensor parallel", "tensor parallelism"],
        (&NARAYANAN_2021, "section 2.3"),
        "Ranks that share every matrix of a layer; they exchange activations twice a layer and pass.",
    ),
    word(
        &["sequence parallel", "sequence parallelism"],
        (&KORTHIKANTI_2022, "section 4.2.2"),
        "Norms and dropouts cut along the sequence over the tensor-parallel ranks; saves their activations at no \
            traffic.",
    ),
    word(
        &["context parallel", "context parallelism"],
        (&LLAMA_3, "section 3.3.2"),
        "Ranks that share a sequence in every layer; attention needs the keys and values of the others.",
    ),
    word(
        &["Dynamic CP"],
        (&MEGATRON, "arguments.py, hybrid-context-parallel"),
        "Gives each micro-batch as many context-parallel ranks as its samples need, not all of them.",
    ),
    word(
        &["Tokens a rank"],
        (&MEGATRON, "arguments.py, max-seqlen-per-dp-cp-rank"),
        "Tokens of a sample that one rank takes under dynamic context parallelism: a longer sample takes more ranks.",
    ),
    word(
        &["CP all-to-all"],
        (&MEGATRON, "transformer_config.py, cp_comm_type"),
        "Near ranks that exchange heads for tokens where context parallelism has two levels; a ring joins their \
            groups.",
    ),
    word(
        &["hpZ group"],
        (&ZERO_PLUS_PLUS, "section 3.2"),
        "Ranks of a node that hold a second copy of the weights, from which ZeRO-3 gathers for the backward pass.",
    ),
    word(
        &["8-bit weights (qwZ)"],
        (&ZERO_PLUS_PLUS, "section 3.1"),
        "Weights are quantised block by block before they are gathered: half of the bytes.",
    ),
    word(
        &["4-bit gradients (qgZ)"],
        (&ZERO_PLUS_PLUS, "section 3.3"),
        "Gradients are quantised for two all-to-alls, in the node and between nodes: a quarter of the bytes.",
    ),
    word(
        &["CP exchange"],
        (&LLAMA_3, "section 3.3.2"),
        "How context-parallel ranks meet all keys and values: round a ring, gathered at once, or heads for tokens \
            (Ulysses).",
    ),
    word(
        &["rank order"],
        (&MEGATRON, "core/parallel_state.py"),
        "The order of the parallel sizes that ranks are numbered along, the fastest first: it decides which groups \
            stay inside a node.",
    ),
    word(
        &["expert parallel", "expert parallelism"],
        (&DEEPSEEK_V3, "section 3.2"),
        "Ranks that hold different experts; tokens travel to theirs and back, by all-to-all.",
    ),
    word(
        &["pipeline parallel", "pipeline"],
        (&GPIPE, "section 2"),
        "Ranks that hold different layers; micro-batches pass from one to the next.",
    ),
    word(
        &["ZeRO stage", "Gradients are reduced", "ZeRO-1", "ZeRO-2", "ZeRO-3", "ZeRO"],
        (&ZERO, "section 5"),
        "What data-parallel ranks shard instead of copying: 1 optimizer states, 2 also gradients, 3 also weights.",
    ),
    word(
        &["expert weight shards", "weight shards"],
        (&MEGATRON, "arguments"),
        "Ranks beyond tensor parallelism that store a part of every matrix each and gather it before its product.",
    ),
    word(
        &["HSDP shard group", "HSDP"],
        (&TORCHTITAN, "parallelism"),
        "Shards within a group of ranks, copies between the groups: less traffic between nodes for more memory.",
    ),
    word(
        &["FSDP double buffers"],
        (&MEGATRON, "arguments"),
        "Two sets of buffers for gathered weights and for gradients, which stay for the whole run: nothing is \
            allocated from layer to layer, for more memory.",
    ),
    word(
        &["virtual stages", "virtual stage"],
        (&NARAYANAN_2021, "section 2.2"),
        "Chunks of layers that a rank holds apart from each other, so that the pipeline fills sooner.",
    ),
    word(
        &["micro-batch group"],
        (&LLAMA_3, "section 3.3.2"),
        "Micro-batches of one chunk in a row before an interleaved schedule turns to the next chunk.",
    ),
    word(
        &["layers by stage", "uneven pipeline"],
        (&UNEVEN_PP, "introduction"),
        "A number of layers for every stage, so that stages with embedding, head or vision tower hold fewer.",
    ),
    word(
        &["activation limit"],
        (&ZERO_BUBBLE, "section 3"),
        "How many activations an automatic schedule may keep at once.",
    ),
    word(
        &["sequence splits"],
        (&SEQ1F1B, "cutting sequences"),
        "Pieces of a sequence that pass the pipeline one after another.",
    ),
    word(
        &["Chimera variant"],
        (&CHIMERA, "section 3.5"),
        "How Chimera goes on where a batch has more micro-batches than the pipeline has ranks.",
    ),
    word(
        &["Hanayo waves"],
        (&HANAYO, "wave-like pipelines"),
        "How often the stages of Hanayo snake over the ranks, forth and back.",
    ),
    word(
        &["own order", "schedule"],
        (&PLAYBOOK, "pipeline parallelism"),
        "The order in which a rank works through forwards and backwards of its micro-batches.",
    ),
    word(
        &["bubble"],
        (&GPIPE, "section 2.3"),
        "Time in which a rank waits because the pipeline fills, drains or is uneven.",
    ),
    word(
        &["in flight", "in-flight activations"],
        (&NARAYANAN_2021, "section 2.2"),
        "Activations of micro-batches whose backward pass has not freed them yet.",
    ),
    word(
        &["recomputation", "recomputed layers", "recomputed modules", "recompute"],
        (&KORTHIKANTI_2022, "section 5"),
        "Activations dropped after the forward pass and computed again in the backward pass: time for memory.",
    ),
    word(
        &["MFU", "model FLOPs utilisation"],
        (&KORTHIKANTI_2022, "section 6.3"),
        "FLOPs that the model needs, a second, over what the hardware could do.",
    ),
    word(
        &["HFU", "hardware FLOPs utilisation"],
        (&KORTHIKANTI_2022, "section 6.3"),
        "All FLOPs that a GPU runs, those that recomputation adds included, a second, over what the hardware could do.",
    ),
    word(
        &["exposed communication"],
        (&PLAYBOOK, "overlapping"),
        "Time on the wire that no compute hides: it lengthens the step.",
    ),
    word(
        &["grouped-query attention", "key-value heads"],
        (&LLAMA_3, "section 3.2"),
        "Several query heads share a key and a value head: fewer keys and values to keep and to send.",
    ),
    word(
        &["latent attention", "query rank", "key-value rank"],
        (&DEEPSEEK_V3, "section 2.1.1"),
        "Keys and values squeezed into one narrow vector a token, from which every head unfolds its own.",
    ),
    word(
        &["FlashAttention"],
        (&FLASH_3, "section 2.3"),
        "Attention computed tile by tile on the chip, so that its scores are never stored.",
    ),
    word(
        &["gated FFN", "SwiGLU"],
        (&LLAMA_2, "section 2.2"),
        "An FFN with a third matrix, whose output scales the inner values one by one.",
    ),
    word(
        &["tied embeddings"],
        (&MEGATRON, "arguments"),
        "One matrix for embedding and output head; first and last stage add up its gradients.",
    ),
    word(
        &["MTP modules", "multi-token prediction", "stage of MTP"],
        (&DEEPSEEK_V3, "section 2.2"),
        "Layers behind the last that predict tokens further ahead, each with the head's logits once more.",
    ),
    word(
        &["shared experts"],
        (&DEEPSEEK_V3, "section 2.1.2"),
        "FFNs that every token passes, beside those it is routed to.",
    ),
    word(
        &["routed experts", "experts per token", "experts"],
        (&MIXTRAL, "section 2.1"),
        "FFNs side by side, of which a router sends every token to a few.",
    ),
    word(
        &["capacity factor"],
        (&MEGATRON, "mixture of experts"),
        "How many tokens an expert takes, over the average; the rest is dropped.",
    ),
    word(
        &["dummy weight gradients"],
        (&TRANSFORMER_ENGINE, "linear layers"),
        "Buffers that Transformer Engine hands to autograd in place of gradients it accumulates itself.",
    ),
    word(&["master weights"], (&FP8_LM, "section 2.2"), "The optimizer's own, more exact copy of the weights."),
    word(
        &["optimizer states", "optimizer"],
        (&ZERO, "section 3.1"),
        "What is kept a parameter besides its weight and gradient: Adam's two moments, and a more exact weight.",
    ),
    word(
        &["mixed precision", "precision"],
        (&ZERO, "section 3.1"),
        "Passes compute in 16 or 8 bits a number, the optimizer in 32.",
    ),
    word(
        &["loss kernel", "cross-entropy"],
        (&MEGATRON, "arguments"),
        "How the loss is made of the logits; the less it fuses, the more copies of them it keeps.",
    ),
    word(
        &["CUDA graphs"],
        (&MEGATRON, "arguments"),
        "Kernels recorded once and launched together, so that the host does not set the pace.",
    ),
    word(
        &["DP overlap", "TP overlap", "CP overlap", "EP overlap", "overlap"],
        (&PLAYBOOK, "overlapping"),
        "Communication that runs beside compute and takes no time of its own, as far as the compute reaches.",
    ),
    word(
        &["scale-up link"],
        (&STAS, "network"),
        "The wires between GPUs of one node or rack, such as NVLink: many times as fast as the network.",
    ),
    word(
        &["gradient accumulation"],
        (&PLAYBOOK, "first steps"),
        "Gradients of several micro-batches added up before they are exchanged.",
    ),
];

/// The word that is at the start of `text`, and how long it is written there.
fn at(text: &str) -> Option<(&'static Word, usize)> {
    let mut found: Option<(&'static Word, usize)> = None;
    for word in WORDS {
        for name in word.names {
            let Some(start) = text.get(..name.len()) else {
                continue;
            };
            // "ZeRO-1" is ZeRO, "zero-bubble" is another word.
            let mut behind = text[name.len()..].chars();
            let ends = match behind.next() {
                Some('-') => behind.next().is_none_or(|c| !c.is_alphabetic()),
                next => next.is_none_or(|c| !c.is_alphanumeric()),
            };
            if ends && start.eq_ignore_ascii_case(name) && found.is_none_or(|(_, longest)| name.len() > longest) {
                found = Some((word, name.len()));
            }
        }
    }
    found
}

/// The word that `text` uses first.
pub fn find(text: &str) -> Option<&'static Word> {
    starts(text).find_map(|start| at(&text[start..])).map(|(word, _)| word)
}

/// Places at which words begin in `text`.
fn starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut before = ' ';
    text.char_indices().filter_map(move |(index, c)| {
        let starts = c.is_alphanumeric() && !before.is_alphanumeric() && before != '-';
        before = c;
        starts.then_some(index)
    })
}

/// A sentence in the language of `catalogue`; its words of the field, each the first time only, say what they mean.
pub fn marked(message: &Message, catalogue: &Catalogue) -> Node {
    let english = message.to_string();
    let sentence = message.translated(catalogue);
    let mut marks: Vec<(usize, usize, &Word)> = Vec::new();
    let mut done = 0;
    for start in starts(&english) {
        let Some((word, length)) = at(&english[start..]).filter(|_| start >= done) else {
            continue;
        };
        done = start + length;
        // In another language the word is elsewhere in the sentence.
        let name = &english[start..done];
        let name = catalogue.get(name).map_or(name, String::as_str);
        let Some(place) = sentence.find(name) else {
            continue;
        };
        let is_new = |(from, length, other): &(usize, usize, &Word)| {
            !std::ptr::eq(*other, word) && (place >= from + length || place + name.len() <= *from)
        };
        if marks.iter().all(is_new) {
            marks.push((place, name.len(), word));
        }
    }
    sort_by(&mut marks, |(a, ..), (b, ..)| a.cmp(b));
    let mut pieces = Vec::new();
    let mut done = 0;
    for (place, length, word) in marks {
        pieces.push(text(verbatim(&sentence[done..place])));
        done = place + length;
        let name = text(verbatim(&sentence[place..done]));
        pieces.push(el("abbr", &[("tabindex", "0")], &[name]).title(word.meaning));
    }
    pieces.push(text(verbatim(&sentence[done..])));
    el("span", &[], &pieces)
}

/// Meaning of a word, and its source.
pub fn meaning(word: &Word) -> Node {
    // A name and no link: the Tab key stops at settings only.
    let source = text(verbatim(format!("{}, {}", word.source.short, word.place)));
    let named = el("small", &[("translate", "no")], &[source]);
    Node::from_iter([text(word.meaning), text(" "), named])
}

/// The names of `word` in the language of the page, and below them the English ones, which an English page hides: who
/// looks for either finds it.
fn names(word: &Word) -> Node {
    let names = word.names.iter().map(|name| Message::plain(name));
    let english = text(verbatim(word.names.join(", ")));
    let english = el("small", &[("class", "muted"), ("lang", "en"), ("translate", "no")], &[english]);
    el("dt", &[], &[text(Message::joined(", ", names)), text(" "), english])
}

/// The panel: every word with its meaning and source; `of` alone, where it names one.
pub fn panel(of: &str) -> Node {
    let one = find(of);
    let words = WORDS.iter().filter(|word| one.is_none_or(|one| std::ptr::eq(one, *word)));
    let mut words: Vec<&Word> = words.collect();
    let name = |word: &Word| word.names[0].to_lowercase();
    sort_by(&mut words, |a, b| name(a).cmp(&name(b)));
    let rows: Node = words
        .into_iter()
        .flat_map(|word| {
            [
                names(word),
                el(
                    "dd",
                    &[],
                    &[
                        text(word.meaning),
                        text(" "),
                        el("small", &[("class", "muted")], &[cited_at(word.source, word.place)]),
                    ],
                ),
            ]
        })
        .collect();
    Node::from_iter([title("Glossary"), el("dl", &[("class", "glossary")], &[rows])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::registry::{FIELDS, Group};

    #[test]
    fn every_setting_of_parallelism_is_explained() {
        for field in FIELDS.iter().filter(|field| field.group == Group::Parallelism) {
            assert!(find(field.label).is_some(), "{}", field.label);
        }
        for label in
            ["Micro-batch", "Global batch", "Recompute", "Capacity factor", "Dummy weight gradients", "Master weights"]
        {
            assert!(FIELDS.iter().any(|field| field.label == label), "{label} is no label any more");
            assert!(find(label).is_some(), "{label}");
        }
    }

    #[test]
    fn a_longer_name_wins_over_one_that_it_contains() {
        let label = |key: &str| FIELDS.iter().find(|field| field.key == key).unwrap().label;
        let html = meaning(find(label("etp")).unwrap()).to_html();
        assert!(html.starts_with("Ranks that share the matrices of one expert."), "{html}");
        assert!(find(label("price_per_gpu_hour")).is_none());
    }

    #[test]
    fn words_are_marked_once_whole_and_escaped() {
        let html =
            marked(&"micro-batches <in flight>, and micro-batches of a pipelined stage".into(), &Catalogue::default())
                .to_html();
        assert_eq!(html.matches("<abbr").count(), 2, "{html}");
        assert!(html.contains(">micro-batches</abbr> &lt;"), "{html}");
        assert_eq!(marked(&"nothing to say".into(), &Catalogue::default()).to_html(), "<span>nothing to say</span>");
        assert_eq!(find("ZeRO-1 shards").map(|word| word.names[0]), Some("ZeRO stage"));
    }

    /// Terms of CONTRIBUTING.md: a Chinese reader finds 气泡 and 重计算, and the English name beside each.
    #[test]
    fn names_stand_in_both_languages() {
        let catalogue = std::fs::read_to_string("../../locales/zh.json").unwrap();
        let catalogue: Catalogue = serde_json::from_str(&catalogue).unwrap();
        for (english, chinese) in [("bubble", "气泡"), ("recomputation", "重计算"), ("schedule", "调度")] {
            let word = find(english).unwrap();
            assert!(word.names.iter().any(|name| catalogue.get(*name).is_some_and(|found| found == chinese)));
            let html = names(word).to_html();
            assert!(html.matches(english).count() >= 2 && html.contains("lang=\"en\""), "{html}");
        }
        // A meaning stands alone in the list and in a hint.
        assert!(WORDS.iter().all(|word| !word.meaning.starts_with("The same")));
    }

    #[test]
    fn every_word_stands_once_with_a_sentence() {
        for (index, word) in WORDS.iter().enumerate() {
            assert!(word.meaning.ends_with('.') && !word.place.is_empty());
            for name in word.names {
                assert!(WORDS[..index].iter().all(|other| !other.names.contains(name)), "{name}");
            }
        }
        assert!(panel("").to_html().matches("<dt>").count() == WORDS.len());
        assert_eq!(panel("bubble").to_html().matches("<dt>").count(), 1);
    }
}
