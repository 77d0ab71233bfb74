//! Programs whose settings are not read here, known by words that they alone have: their texts share names with
//! programs that are read, and are refused by the program's name.
//!
//! Sources, each at the commit where its words were looked up: `OpenRLHF` 3c3be62 and before, `openrlhf/cli`;
//! allenai/open-instruct e6c3044 `open_instruct` (its `finetune.py` alone is a loop of Accelerate under Trainer's
//! names); PKU-Alignment/align-anything 3f9decc `align_anything/trainers` (batches and precision are in its own files);
//! microsoft/DeepSpeedExamples `applications/DeepSpeed-Chat/training/step3_rlhf_finetuning`; AI-Hypercomputer/maxtext
//! e591f30 `configs/base.yml`; stanford-crfm/levanter 9263f81 `config`; facebookresearch/lingua 437d680
//! `apps/main/configs`; Lightning-AI/litgpt 2685705 `config_hub`; inclusionAI/AReaL 4aef98d `examples`; alibaba/ROLL
//! 8eb27cc `examples`; InternLM/xtuner b934f46 `xtuner/configs`, `autotest/config`; hpcaitech/ColossalAI 4f9953b
//! `examples`; allenai/OLMo-core fa6c501 `scripts/train`; PrimeIntellect-ai/prime-rl 559b447 `configs`;
//! NovaSky-AI/SkyRL a956457 `examples/train`; EleutherAI/gpt-neox ea7aefd `configs`; NVIDIA-NeMo/NeMo 8cfedd7
//! `scripts/performance/llm`; Ascend/MindSpeed-LLM c77308a `examples/fsdp2`; mlfoundations/dclm 361714b
//! `training/configs`.

/// Words of a program. A word with a colon at its end begins a line, as a key of YAML; one with a bracket at its
/// beginning is a section of TOML; others stand anywhere outside of comments.
struct Foreign {
    name: &'static str,
    /// One of these says it.
    any: &'static [&'static str],
    /// All of these say it together.
    all: &'static [&'static str],
}

const fn by(name: &'static str, any: &'static [&'static str]) -> Foreign {
    Foreign { name, any, all: &[] }
}

static FOREIGN: [Foreign; 23] = [
    by("OpenRLHF", &["openrlhf.cli.", "openrlhf/cli/"]),
    by(
        "open-instruct",
        &[
            "open_instruct/grpo",
            "open_instruct/dpo",
            "open_instruct/ppo",
            "open_instruct/reward_modeling",
            "open_instruct/olmo_core",
        ],
    ),
    by("align-anything", &["align_anything.trainers."]),
    by("DeepSpeed-Chat", &["--actor_zero_stage"]),
    by(
        "MaxText",
        &[
            "maxtext/configs/",
            "MaxText/configs/",
            "MaxText.train",
            "MaxText/train.py",
            "maxtext.train",
            "framework: maxtext",
            "ici_fsdp_parallelism:",
            "base_emb_dim:",
        ],
    ),
    by("Levanter", &["levanter.main.", "levanter/main/", "p=f32,c=bfloat16", "tensor_parallel_axes:"]),
    Foreign { name: "Levanter", any: &[], all: &["trainer:", "tracker:"] },
    by("Meta Lingua", &["lingua.stool", "apps.main.train", "fsdp_type:"]),
    by("LitGPT", &["litgpt finetune", "litgpt pretrain", "litgpt finetune_", "litgpt.pretrain"]),
    Foreign { name: "LitGPT", any: &[], all: &["logger_name:", "train:"] },
    by("AReaL", &["areal.launcher", "areal/launcher", "areal.infra.launcher"]),
    Foreign { name: "AReaL", any: &[], all: &["experiment_name:", "trial_name:", "cluster:"] },
    by("ROLL", &["strategy_args:"]),
    by("XTuner", &["xtuner train", "from xtuner", "import xtuner", "xtuner/v1/train"]),
    by("Colossal-AI", &["colossalai run", "import colossalai", "from colossalai"]),
    by("OLMo", &["save_interval_unsharded:", "softmax_auxiliary_loss:"]),
    Foreign { name: "open_lm (DCLM)", any: &[], all: &["\"chinchilla_multiplier\"", "\"global_bs\""] },
    by("OLMo-core", &["from olmo_core", "import olmo_core"]),
    by(
        "PRIME-RL",
        &[
            "prime_rl.",
            "[optim]",
            "[trainer.optim]",
            "[orchestrator",
            "[deployment]",
            "[ckpt]",
            "[data.fake]",
            "[monitors",
        ],
    ),
    by("SkyRL", &["skyrl_train.", "skyrl.train.", "trainer.policy.model.path="]),
    by("GPT-NeoX", &["\"pipe_parallel_size\"", "\"pipe-parallel-size\"", "\"no_weight_tying\"", "deepy.py train.py"]),
    by("NeMo 2", &["from nemo.collections import llm", "nemo.collections.llm", "nemo llm pretrain"]),
    by("MindSpeed-LLM's FSDP2", &["train_fsdp2.py"]),
];

/// The program whose settings a text has, if it is one of these, unless it is `read`, one that a reader takes.
pub(super) fn foreign(text: &str, read: Option<&str>) -> Option<&'static str> {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.starts_with("//")).collect();
    let has = |word: &&str| {
        lines.iter().any(|line| {
            if word.ends_with(':') || word.starts_with('[') { line.starts_with(word) } else { line.contains(word) }
        })
    };
    let is = |one: &&Foreign| one.any.iter().any(has) || !one.all.is_empty() && one.all.iter().all(has);
    FOREIGN.iter().filter(|one| read != Some(one.name)).find(is).map(|one| one.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comment that names a program is none of its settings.
    #[test]
    fn a_comment_names_no_program() {
        assert_eq!(foreign("# as in skyrl_train.entrypoints\nmodel: x", None), None);
        assert_eq!(foreign("python -m skyrl_train.entrypoints.main_base", None), Some("SkyRL"));
    }
}
