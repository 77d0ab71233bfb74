//! Lengths of the samples of data sets that a program names.
//!
//! Source: ms-swift 3602360 `docs/source_en/Instruction/Supported-models-and-datasets.md`, its own count of tokens
//! (`scripts/utils/run_dataset_info.py`, the tokenizer of Qwen2.5). Here are the data sets of text alone whose count
//! is of whole samples and of all of them: they stand there with the same count since release 3.0, whose templates
//! encoded the answers too (b40f31d, `swift/llm/template/base.py:211`), and have at most the 100,000 samples that it
//! draws. Counts of later releases hold the prompts alone; of pairs one of both is counted, of images none.

use shardscope_core::run::Value;

/// Tokens of the longest sample by the data set, under its names on `ModelScope` and on Hugging Face's Hub.
static LONGEST: [(&str, u64); 69] = [
    ("AI-ModelScope/alpaca-cleaned", 1028),
    ("AI-ModelScope/alpaca-gpt4-data-en", 607),
    ("AI-ModelScope/alpaca-gpt4-data-zh", 544),
    ("AI-ModelScope/blossom-math-v2", 563),
    ("AI-ModelScope/CodeAlpaca-20k", 857),
    ("AI-ModelScope/COIG-CQIA", 19288),
    ("AI-ModelScope/databricks-dolly-15k", 5987),
    ("AI-ModelScope/Duet-v0.5", 2344),
    ("AI-ModelScope/GuanacoDataset", 987),
    ("AI-ModelScope/lawyer_llama_data", 832),
    ("AI-ModelScope/leetcode-solutions-python", 2117),
    ("AI-ModelScope/LongAlpaca-12k", 25826),
    ("AI-ModelScope/ms_agent_for_agentfabric", 2055),
    ("AI-ModelScope/Open-Platypus", 3153),
    ("AI-ModelScope/sql-create-context", 282),
    ("AI-ModelScope/synthetic_text_to_sql", 616),
    ("AI-ModelScope/texttosqlv2_25000_v2", 1971),
    ("AI-ModelScope/webnovel_cn", 490_480),
    ("Azure99/blossom-math-v2", 563),
    ("b-mc2/sql-create-context", 282),
    ("Clinton/texttosqlv2_25000_v2", 1971),
    ("codefuse-ai/CodeExercise-Python-27k", 2826),
    ("codefuse-ai/Evol-instruction-66k", 2661),
    ("damo/zh_cls_fudan-news", 19548),
    ("damo/zh_ner-JAVE", 223),
    ("DAMO_NLP/jd", 1699),
    ("databricks/databricks-dolly-15k", 5987),
    ("G-reen/Duet-v0.5", 2344),
    ("garage-bAInd/Open-Platypus", 3153),
    ("gretelai/synthetic_text_to_sql", 616),
    ("Hello-SimpleAI/HC3", 2267),
    ("Hello-SimpleAI/HC3-Chinese", 1070),
    ("huangjintao/AgentInstruct_copy", 6412),
    ("HuggingFaceH4/CodeAlpaca_20K", 857),
    ("HuggingFaceH4/no_robots", 6739),
    ("HuggingFaceTB/cosmopedia-100k", 2818),
    ("iic/100PoisonMpts", 656),
    ("iic/ms_agent", 2070),
    ("iic/MSAgent-MultiRole", 936),
    ("iic/MSAgent-Pro", 8064),
    ("JosephusCheung/GuanacoDataset", 987),
    ("lightblue/tagengo-gpt4", 1726),
    ("llm-wizard/alpaca-gpt4-data-zh", 544),
    ("lvjianjin/AdvertiseGen", 232),
    ("modelscope/chinese-poetry-collection", 71),
    ("modelscope/DuReader_robust-QG", 1416),
    ("modelscope/self-cognition", 131),
    ("sahil2801/CodeAlpaca-20k", 857),
    ("shibing624/AdvertiseGen", 232),
    ("simpleai/HC3", 2267),
    ("simpleai/HC3-Chinese", 1070),
    ("Skepsun/lawyer_llama_data", 832),
    ("ssbuild/alpaca_finance_en", 2268),
    ("swift/classical_chinese_translate", 815),
    ("swift/cosmopedia-100k", 2818),
    ("swift/longwriter-6k-filtered", 17050),
    ("swift/no_robots", 6739),
    ("swift/self-cognition", 131),
    ("swift/tagengo-gpt4", 1726),
    ("vicgalle/alpaca-gpt4", 607),
    ("wyj123456/code_alpaca_en", 857),
    ("wyj123456/finance_en", 2268),
    ("yahma/alpaca-cleaned", 1028),
    ("YorickHe/CoT", 410),
    ("YorickHe/CoT_zh", 401),
    ("Yukang/LongAlpaca-12k", 25826),
    ("zai-org/LongWriter-6k", 30354),
    ("ZhipuAI/LongWriter-6k", 30354),
    ("zxbsmk/webnovel_cn", 490_480),
];

/// Tokens of the longest sample of the data sets that `value` names; none where one of them has not been counted, or is
/// a part of another name (`:subset`). `#500` takes so many samples of one, which are no longer.
pub(super) fn longest(value: &Value) -> Option<u64> {
    let words: Vec<&str> = match value {
        Value::Text(text) => text.split_whitespace().collect(),
        Value::List(items) => items.iter().map(Value::text).collect::<Option<_>>()?,
        _ => return None,
    };
    let each = words.iter().map(|word| {
        let name = word.split('#').next().unwrap_or_default();
        LONGEST.iter().find(|(known, _)| *known == name).map(|(_, tokens)| *tokens)
    });
    each.collect::<Option<Vec<u64>>>()?.into_iter().max()
}
