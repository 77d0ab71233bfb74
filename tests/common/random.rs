//! Random Runs, the same for the same seed: as people set them, with sizes that do not divide among those that do.

use shardscope::core::report::schedule_ids;
use shardscope::core::run::Run;
use shardscope::core::run::registry::field;

/// Marsaglia's xorshift, 64 bits.
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }
    /// One of `list`.
    pub fn one<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
    /// One of the numbers below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count.max(1) as u64).unwrap_or(0)
    }
    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
}

/// Fields, how often each is set (once in so many Runs), and its values.
const FIELDS: &[(&str, u64, &[&str])] = &[
    (
        "gpus",
        1,
        &[
            "1", "2", "4", "8", "12", "16", "24", "48", "60", "64", "64", "72", "96", "100", "128", "256", "512",
            "1000", "1024",
        ],
    ),
    ("gpus_per_node", 4, &["4", "6", "8", "16", "72"]),
    ("tp", 1, &["1", "1", "2", "2", "3", "4", "4", "5", "6", "7", "8", "8", "12", "16"]),
    ("pp", 1, &["1", "1", "2", "2", "3", "4", "4", "5", "6", "8", "8", "16"]),
    ("cp", 3, &["1", "2", "2", "3", "4", "8"]),
    ("ep", 4, &["2", "2", "3", "4", "8", "16"]),
    ("etp", 10, &["2", "3", "8"]),
    ("sequence_parallel", 8, &["false"]),
    ("cp_comm", 5, &["all-gather", "ulysses"]),
    ("zero", 2, &["0", "1", "2", "3"]),
    ("hsdp_shard", 10, &["1", "2", "3", "4", "8", "64"]),
    ("hsdp_optimizer", 20, &["true"]),
    ("fsdp_double_buffer", 20, &["true"]),
    ("virtual_stages", 3, &["2", "2", "3", "4", "7"]),
    ("schedule_options.group", 12, &["1", "2", "4", "5", "9"]),
    ("schedule_options.variant", 12, &["forward-doubling", "backward-halving"]),
    ("schedule_options.waves", 12, &["2", "3"]),
    ("schedule_options.memory_limit", 12, &["1", "2", "4", "40"]),
    ("schedule_options.splits", 12, &["1", "3", "4"]),
    ("stage_layers", 20, &["8,8,8,8", "9,8,8,7", "16,16", "32", "10,10,12", "0,16,16,0"]),
    ("seq_len", 2, &["128", "1000", "2048", "4096", "4095", "8192", "32768", "131072"]),
    ("micro_batch", 2, &["1", "1", "2", "3", "4", "8"]),
    ("global_batch", 1, &["1", "7", "16", "24", "32", "64", "96", "100", "128", "256", "256", "384", "512"]),
    ("microbatch_lengths", 40, &["8192,4096", "1000,2000,3000,4000"]),
    ("precision", 4, &["bf16", "fp16", "fp32", "fsdp-mixed", "te-fp8", "deepseek-fp8"]),
    ("recompute", 3, &["full", "selective"]),
    ("recompute.layers", 8, &["1", "4", "100"]),
    ("recompute.modules", 8, &["norm", "mlp", "core_attn", "moe_act"]),
    ("flash_attention", 8, &["false"]),
    ("cross_entropy", 4, &["megatron-fused", "te-fused"]),
    ("model.layers", 8, &["1", "7", "30", "61", "80"]),
    ("model.heads", 12, &["7", "12", "48", "64"]),
    ("model.kv_heads", 12, &["1", "3", "5", "8", "12"]),
    ("model.ffn", 12, &["1000", "11008", "14337"]),
    ("model.moe.groups", 20, &["3", "4", "8"]),
    ("model.moe.top_groups", 20, &["1", "4", "9"]),
    ("memory_method", 8, &["fujii-4d", "he-blog", "uneven-pp", "playbook"]),
    ("gpu", 3, &["a100-sxm-80gb", "h200-sxm-141gb", "b200-sxm"]),
    ("stack", 4, &["hf-trainer", "hf-fused", "torchtune", "deepspeed", "fsdp2"]),
    ("adapter.method", 6, &["lora", "dora", "qlora"]),
    ("adapter.rank", 40, &["8", "64"]),
    ("adapter.base", 40, &["nf4", "int8", "gptq4"]),
    ("adapter.targets", 30, &["q_proj,v_proj", "gate_proj"]),
    ("optimizer", 8, &["adam-8bit", "adam-8bit-paged", "adam-paged", "galore", "lion"]),
    ("offload.optimizer", 12, &["cpu", "cpu", "nvme"]),
    ("offload.gradients", 20, &["cpu", "nvme"]),
    ("offload.parameters", 12, &["cpu", "cpu", "nvme"]),
    ("offload.activations", 12, &["cpu", "nvme"]),
    ("offload.framework", 30, &["deepspeed", "megatron", "fsdp2", "torchao"]),
    ("offload.fraction", 40, &["0.5"]),
    ("offload.layers", 40, &["10"]),
    ("host_memory_gib", 3, &["64", "512", "2048"]),
    ("phases.framework", 8, &["verl", "openrlhf", "trl", "nemo-rl"]),
    ("phases.placement", 20, &["colocated", "engine-apart", "pairs", "apart"]),
    ("phases.rollout_gib", 16, &["20", "60", "100"]),
    ("phases.rollout_tp", 20, &["2", "3", "8"]),
    ("phases.sleep", 20, &["off", "2"]),
    ("phases.critic", 16, &["policy", "llama-2-7b"]),
    ("phases.reward", 16, &["policy", "gpt-2-xl"]),
];

const MODELS: &[&str] = &[
    "llama-3.1-8b",
    "llama-3.1-8b",
    "llama-2-7b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "gpt-3-175b",
    "mixtral-8x7b",
    "deepseek-v3",
    "qwen-2.5-72b",
];

/// A Run whose fields are drawn one by one; of every second Run the sizes are powers of two, so that many divide.
pub fn random_run(random: &mut Random) -> Run {
    let mut run = Run::default();
    let even = random.once_in(2);
    let mut set = |key: &str, text: &str| {
        let field = field(key).unwrap_or_else(|| panic!("{key}"));
        let value = field.parse(text).unwrap_or_else(|why| panic!("{key}={text}: {why}"));
        // A part that this model has not.
        let _ = field.set(&mut run, &value);
    };
    set("model", random.one(MODELS));
    if random.once_in(2) {
        let ids: Vec<&str> = schedule_ids().filter(|id| *id != "custom").collect();
        set("schedule", random.one(&ids));
    }
    for (key, times, values) in FIELDS {
        if random.once_in(*times) {
            let value = random.one(values);
            let odd = value.parse::<u64>().is_ok_and(|size| !size.is_power_of_two() && size > 0);
            if !(even && odd) {
                set(key, value);
            }
        }
    }
    run
}
