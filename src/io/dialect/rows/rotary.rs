//! Rotary positions of presets as arguments of Megatron-LM, whose own base is 10,000 (`arguments.py`). No figure here
//! depends on them, so a preset does not hold them.
//!
//! Sources: THUDM/slime 624b824 `scripts/models/*.sh`; NVIDIA/Megatron-LM d98e8a6
//! `examples/mixtral/train_mixtral_8x7b_distributed.sh`; the config.json of Llama 3.1 8B, 70B and 405B and of Llama 2.

use shardscope_core::run::Run;

/// Presets and their arguments, in the order in which an import keeps them.
const ROTARY: &[(&[&str], &str)] = &[
    (
        &["llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"],
        "--rotary-base 500000 --rope-scaling-factor 8 --use-rope-scaling",
    ),
    (&["llama-2-7b", "llama-2-13b", "llama-2-70b", "deepseek-v3"], "--rotary-base 10000"),
    (&["mixtral-8x7b"], "--rotary-base 1000000"),
    (&["qwen-2.5-7b", "qwen-3-8b", "qwen-3-32b"], "--rotary-base 1000000"),
    (&["qwen-3-30b-a3b", "qwen-3-235b-a22b"], "--rotary-base 1000000 --rotary-percent 1"),
    (&["qwen-3-next-80b-a3b", "qwen-3.5-27b", "qwen-3.5-35b-a3b"], "--rotary-base 10000000 --rotary-percent 0.25"),
    (&["glm-4.5", "glm-4.5-air"], "--rotary-base 1000000 --rotary-percent 0.5"),
    (&["glm-5"], "--rotary-base 1000000"),
    (&["minimax-m2"], "--rotary-base 5000000 --rotary-percent 0.5"),
    (&["kimi-k2"], "--rotary-base 50000"),
    (&["moonlight-16b-a3b"], "--rotary-base 50000 --rotary-percent 1"),
];

/// The arguments of the preset that `run` trains.
pub(crate) fn rotary(run: &Run) -> Option<&'static str> {
    let id = run.model.base?;
    ROTARY.iter().find(|(presets, _)| presets.contains(&id)).map(|(_, arguments)| *arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::passed::of_config;
    use shardscope_core::run::{Based, Value};

    /// The released files: what a preset says of its positions is what its config.json says.
    #[test]
    fn rotary_positions_of_presets_are_those_of_their_released_files() {
        let mut compared = 0;
        for line in include_str!("../../../../tests/data/released_configs.jsonl").lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let (Some(Value::Text(name)), Some(config)) = (row.get("name"), row.get("config")) else {
                panic!("{line}");
            };
            let Some(id) = ROTARY.iter().flat_map(|(ids, _)| ids.iter()).find(|id| *id == name) else { continue };
            let ours = rotary(&Run { model: Based::preset(id), ..Run::default() }).unwrap();
            let Some(theirs) = of_config(config).0.filter(|words| words.contains("--rotary-base")) else { continue };
            for pair in ["--rotary-base", "--rotary-percent", "--rope-scaling-factor"] {
                let value = |words: &str| {
                    let mut words = words.split(' ').skip_while(|word| *word != pair).skip(1);
                    words.next().and_then(|word| word.parse::<f64>().ok())
                };
                assert_eq!(value(ours), value(&theirs), "{name} {pair}");
            }
            compared += 1;
        }
        assert!(compared >= 3, "{compared}");
    }
}
