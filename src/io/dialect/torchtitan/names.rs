//! Names of torchtitan's settings that several files here say.

/// The sequence length, and its name before 2026.
pub const LENGTH: &str = "training.max_context_length";
pub const LENGTH_BEFORE: &str = "training.seq_len";
/// Tokens of a micro-batch and a rank; micro-batches of a pipeline.
pub const TOKENS: &str = "training.num_tokens_per_microbatch_per_dp_rank";
pub const PIECES: &str = "parallelism.num_pp_microbatches";
/// Recomputation and the loss.
pub const CHECKPOINT: &str = "activation_checkpoint";
pub const LOSS: &str = "loss";
