//! Why entries of settings change no figure.

use shardscope_core::message::{Message, verbatim};
use shardscope_core::t;

/// Words of an entry's name, and what the entry is about; the first that stands in the name counts.
const TOPICS: [(&str, &str); 10] = [
    ("padding packing packed", "every sequence is counted at its full length"),
    ("rollout generation vllm sglang reward grpo algorithm sampling eval val test", "outside of the training step"),
    (
        "wandb log logger logging tensorboard metrics report profile profiler profiling project exp name \
         experiment owner work user workspace timeout nsys run ci mlflow",
        "names, logs and profiles change no figure",
    ),
    (
        "save load checkpoint ckpt checkpointing resume output out export finetune",
        "checkpoints are outside of the step",
    ),
    (
        "data dataset dataloader tokenizer template split path blend samples prompt columns collate",
        "says where data come from",
    ),
    (
        "lr learning warmup decay scheduler beta betas beta1 beta2 eps weight clip momentum grad min alpha \
         loss kl coef entropy epochs epoch init std seed dropout rng",
        "a number of the optimizer or the loss: it changes neither memory nor time",
    ),
    (
        "nccl cuda nvte torch pytorch env master port account partition walltime container dgxsystem",
        "the environment's: not modelled here",
    ),
    (
        "recipe framework config source module strategy target stage task class function work",
        "names what the other settings say",
    ),
    ("gc workers proc cpu pin trust", "work of the host that a step does not wait for here"),
    ("rotary rope norm router softmax activation", "changes numbers, not shapes"),
];

/// An ignored entry, with its reason.
pub(super) fn ignored(name: &str) -> Message {
    // verl's name for all of its models.
    let lower = name.to_ascii_lowercase().replace("actor_rollout_ref.", "");
    let about = |part: &str| {
        let words: Vec<&str> = part.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        TOPICS.iter().find(|(known, _)| known.split(' ').any(|word| words.contains(&word)))
    };
    // The last name tells more than the sections that it stands in.
    let topic = lower.rsplit('.').next().and_then(about).or_else(|| about(&lower));
    let reason: &'static str = topic.map_or("not modelled here", |(_, reason)| reason);
    t!("{name}: {reason}", name = verbatim(name), reason)
}
