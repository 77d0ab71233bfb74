//! The symbols of the formulas: one table.

use super::Unit;
pub use super::quantity::Symbol;

const fn symbol(sign: &'static str, name: &'static str, unit: Unit) -> Symbol {
    Symbol { sign, name, unit }
}

const fn count(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Count)
}

const fn bytes(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Bytes)
}

const fn ratio(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Ratio)
}

const fn parameters(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Parameters)
}

const fn seconds(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Seconds)
}

const fn flops(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Flops)
}

const fn bandwidth(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Bandwidth)
}

const fn flop_rate(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::FlopRate)
}

const fn tokens(sign: &'static str, name: &'static str) -> Symbol {
    symbol(sign, name, Unit::Tokens)
}

macro_rules! table {
    ($($kind:ident { $($name:ident = $sign:literal, $meaning:literal;)* })*) => {
        $($(
            #[doc = concat!("`", $sign, "`: ", $meaning, ".")]
            pub const $name: Symbol = $kind($sign, $meaning);
        )*)*
        pub const ALL: &[Symbol] = &[$($($name),*),*];
    };
}

table! {
    tokens {
        SEQUENCE = "s", "tokens per sequence";
        TOKENS = "T", "tokens of a micro-batch on a rank";
        MICROBATCH_TOKENS = "T", "tokens per micro-batch";
        RANK_SEQUENCE = "s", "tokens of a sequence on a rank";
        PATCHES = "T_v", "patches of the images of a micro-batch";
        HALF_RATE = "k", "tokens at which attention runs at half of that rate";
    }
    seconds {
        MUON = "m", "Muon's products, a parameter that the rank updates";
        STEP_END = "e", "the end of a step";
        HOST_ADDED = "H", "the host's optimizer and copies that nothing hides";
        LOADING = "l", "for a sample, over the square of its tokens";
        LOADER = "f", "what the loader needs";
        STAGE_LOADING = "l_1", "loading on the first stage, a micro-batch";
        LOADED = "l_s", "loading on the first stage, of the average rank";
        BUSY = "b", "what the GPUs need";
        CORE_FORWARD = "f", "its forward pass, a layer and micro-batch";
        CORE_BACKWARD = "g", "its backward pass, a layer and micro-batch";
        INDEXER_SCORES = "i", "scores of the indexer, a layer and micro-batch";
        LAUNCH_GAP = "l", "gap of a launch";
        ON_WIRE = "W", "wire time";
        HIDDEN_TIME = "H", "wire time that hides beside compute";
        WIRE_LATENCY = "latency", "latency of a message";
        LAYER_GAP = "g", "a layer and micro-batch";
        LAYER_KERNELS = "g", "kernels and messages of a routed layer";
        LAYER_HOST = "H", "host of a routed layer";
        PASS_HOST = "H", "launches of a pass";
        PASS_DEVICE = "D", "kernels and messages of a pass";
    }
    flops {
        PROJECTIONS = "m_p", "forward FLOPs of a token in the mixer's projections";
        INDEXER = "m_i", "forward FLOPs of a token in the indexer's projections";
        MIXER_CORE = "m_c", "forward FLOPs of a token in the mixer's recurrence or the indexer's scores";
        VISION_FLOPS = "V", "vision tower and projector, forward and backward";
        LAYER_FLOPS = "f", "a layer of the language model, forward and backward";
        CORE_FLOPS = "n", "FLOPs of both products of the forward pass";
    }
    bandwidth {
        MEMORY_RATE = "β", "rate of the memory, as kernels reach it";
        ONE_WAY = "B", "bandwidth, one direction";
        WIRE_RATE = "bandwidth", "bandwidth of a wire, as messages reach it";
        OPERAND_RATE = "b", "operands and results through memory";
    }
    flop_rate {
        BF16_PEAK = "F", "bf16 peak";
        FORWARD_RATE = "R", "rate on long sequences";
        BACKWARD_RATE = "R", "rate of the backward pass on long sequences";
        GEMM_RATE = "r", "GEMM rate in training";
        PLAIN_RATE = "r", "rate of products that do not run in fewer bits";
    }
    count {
        HIDDEN = "h", "hidden size";
        FFN = "f", "FFN size";
        HEADS = "a", "heads";
        KV_HEADS = "k", "key-value heads";
        HEAD_DIM = "d", "head size";
        TOP_K = "K", "experts per token";
        EXPERTS = "E", "routed experts";
        EXPERT_FFN = "f_e", "FFN size of an expert";
        SHARED_EXPERTS = "n_s", "shared experts";
        QUERY_RANK = "q_r", "rank of the queries' latent";
        KEY_RANK = "k_r", "rank of the keys' and values' latent";
        PLAIN_DIM = "d_n", "head size without rotary";
        ROTARY_DIM = "d_r", "rotary head size";
        VALUE_DIM = "d_v", "head size of the values";
        PADDED = "V", "vocabulary, padded to equal parts";
        COUNTED_KEYS = "s", "keys that a query meets, as counted";
        KEYS = "s", "keys that a query meets";
        TENSOR = "t", "tensor parallel";
        EXPERT_TENSOR = "t_e", "expert tensor parallel";
        CONTEXT = "c", "context parallel";
        RESIDUAL = "r", "ranks that cut norms and residuals";
        LINEAR_INPUT = "r_l", "ranks that cut the inputs of the linears";
        OUTPUTS = "o", "copies of the attention output";
        MODEL_HEADS = "e", "heads of the model: its own and one for each predicted token more";
        LAYERS = "n", "layers";
        PREDICTORS = "q", "modules of multi-token prediction";
        VERSIONS = "c", "copies of the weights";
        SHARDS = "N", "ranks that share the states";
        EXPERT_SHARDS = "N", "ranks that share the experts' states";
        SECOND_SHARDS = "N_2", "ranks that share the second copy of the weights";
        LATENT_WIDTH = "h_e", "width of what is routed";
        GROUPED = "g_o", "width of the grouped output";
        LARGEST_TENSOR = "n", "elements of the largest tensor";
        ENGINE_GPUS = "t_r", "GPUs of an engine";
        EXPERT_RANKS = "x", "expert parallel";
        EXCHANGE_RANKS = "u", "ranks that exchange heads for tokens";
        QUERY_WIDTH = "q", "width of the queries";
        KEY_WIDTH = "w", "width of the keys on a rank, as of the values";
        MIXER_WIDTH = "w", "width of what a mixer exchanges, there and back";
        MICROBATCHES = "m", "micro-batches";
        LAYER_PASSES = "P", "passes over the layers of the rank (one whose FFN is routed counts half)";
        END_PASSES = "P_e", "passes over the embedding and the head of the rank";
        FORWARD_PASSES = "f", "forward passes of a micro-batch, those that run again among them";
        RANK_LAYERS = "l", "layers of the rank";
        ROUTED_PASSES = "P", "passes over the routed layers of the rank";
        CLONES = "y", "slots of a rank for clones of experts";
        CLONED_FORWARDS = "f", "forward passes over the routed layers of the rank";
        CLONED_LAYERS = "l", "routed layers of the rank";
        STATES_SENT = "v", "hidden states and gradients that the stages of the rank send";
        SHARING = "N", "ranks that share them";
        COPIES = "y", "ranks that hold the same";
        REDUCTIONS = "R", "reductions of a stage's gradients";
        GATHERINGS = "G", "gatherings of a stage's weights";
        UPDATES = "k", "updates of the weights";
        VOCABULARY = "v", "vocabulary";
        EMBEDDINGS = "n", "ranks of the pipeline that hold the embedding";
        SAMPLES = "n", "samples of a rank";
        EXPERT_GROUP = "N_e", "ranks that share the experts' states";
        VISION_HIDDEN = "h_v", "hidden size of the vision tower";
        PROJECTED = "T_p", "tokens of the images, patches merged";
        PROJECTOR = "w_p", "inner width of the projector";
        STEP_SEQUENCES = "b", "sequences of a data-parallel rank";
        SEQUENCES = "b", "sequences per micro-batch";
        DATA = "d", "data parallel";
        PIPELINE = "p", "pipeline parallel";
        DROPOUT_RANKS = "SP", "ranks that cut norms and dropout";
        CHECKPOINTING = "AC", "what checkpointing divides by";
        HELD_LAYERS = "n", "layers of the rank";
        IMAGE_PATCHES = "N", "patches of an image";
        IMAGE_VALUES = "x", "pixels of an image, in all channels";
        CHANNELS = "C", "channels of an image";
        PATCH_SIDE = "p", "pixels a patch is wide";
        TOWER_HIDDEN = "h", "width of the tower";
        TOWER_FFN = "F", "FFN size of the tower";
        TOWER_LAYERS = "L", "layers of the tower";
        MODEL_HIDDEN = "H", "hidden size of the language model";
        MODEL_LAYERS = "L", "layers of the language model";
        PIPELINE_RANKS = "r", "pipeline ranks";
        OTHER_LAYERS = "c", "layers of every other rank";
        RANK_HEADS = "a", "query heads on the rank";
        CORE_WIDTH = "d", "mean width of a key and a value head";
        SEEN_KEYS = "s", "keys that a kernel sees at once";
        EARLIER_KEYS = "s", "earlier keys of a query, in the mean";
        INDEXER_WIDTH = "w", "width of the indexer's queries";
        MULTIPROCESSORS = "S", "multiprocessors";
        TILE_ROWS = "u", "queries of a tile";
        TILES = "q", "tiles of all heads";
        PRODUCT_ROWS = "M", "rows of a product";
        PRODUCT_COLUMNS = "N", "columns of a product";
        PRODUCT_DEPTH = "K", "elements that each result of a product sums over";
        LINEAR_OUT = "out", "outputs of a linear on the rank";
        LINEAR_IN = "in", "inputs of a linear on the rank";
        NARROW_SIDE = "m", "shorter side of a hidden matrix";
        WIDE_SIDE = "n", "longer side of a hidden matrix";
        CORE_PASSES = "N", "layers with it on the average rank times their micro-batches";
    }
    ratio {
        EULER = "e", "base of the exponential";
        TILE_WASTE = "q", "what tiles waste of a product: its time over that of its FLOPs";
        SLOWED_BY = "x", "what a hidden second slows compute by";
        GAP_SHARE = "z", "share of a layer";
        PLACES = "m", "places on one of which each expert of a token stands";
        PLACE_GROUPS = "n", "places of which one is the token's own";
        OFFLOADED = "f", "share of the states that leave the GPU";
        MEASURED = "x", "measured over predicted step";
        NARROW_HEADS = "w", "share of that rate that narrow heads reach";
        REACH = "ρ", "share of that rate that this run's attention reaches";
        TOUCHED = "y", "keys of the blocks that a window touches over those in it";
        PACE = "q", "how sharply the slower sets the pace, fitted";
        SENT_IMBALANCE = "u", "imbalance";
        CROSSING = "X", "copies of a token over the network";
        INSIDE = "I", "copies inside nodes";
        IMBALANCE = "u", "rows of the busiest rank over the average";
        SCALE = "y", "bytes of an element with its scale over those of bf16";
        REPEATS = "x", "key-value heads as attention reads them over those that are projected";
        KEPT_SHARE = "z", "share that recomputation and offloading leave";
        CLONED_SHARE = "y", "slots for clones over experts of a rank";
        RESIDENT = "j", "share of the layers whose activations stay on the GPU";
        IN_FLIGHT = "i", "micro-batches in flight";
        HEADS_IN_FLIGHT = "i", "micro-batches of the last stage in flight";
        RESERVED = "φ", "reserved over allocated";
        STATES_LEFT = "z", "share of the states that stays on the GPU";
        NEXT_LAYERS = "L", "layers of the next stage";
        LAYERS_IN_FLIGHT = "n_f", "layers in flight";
    }
    bytes {
        ELEMENT = "b", "bytes an activation";
        KERNEL_BYTES = "B", "bytes that a kernel reads and writes";
        PRODUCT_BYTES = "B", "bytes of the operands and the result";
        MESSAGE_BYTES = "bytes", "bytes that a message takes over a wire";
        MODULE_LAYER = "A_l", "activations of the layer of a module";
        CUBLAS_WORKSPACE = "c", "workspace of cuBLAS";
        ENGINE_WORKSPACE = "e", "workspaces of Transformer Engine";
        SCORE_BYTES = "m", "bytes of scores that its kernels read and write";
        ELEMENT_THERE = "b_t", "bytes of an element to the experts";
        ELEMENT_GATHERED = "b_g", "bytes of an element that an all-gather moves";
        ELEMENT_BACK = "b_f", "bytes of an element back from them";
        STATES_MOVED = "o", "bytes of states per parameter, read and written";
        REDUCED = "g", "bytes per gradient between ranks";
        IN_ONE_LAYER = "A_1", "bytes in one layer";
        SAVED = "w", "bytes of a token that the mixer's kernels save";
        SAVED_WHOLE = "w_r", "the same, whole on every rank";
        LOGIT_HELD = "l", "bytes per logit held";
        LOGIT_PEAK = "p", "bytes per logit at the worst instant";
        WEIGHT = "w", "bytes per weight";
        QUANTISED = "q", "bytes of the quantised copies of a weight";
        STORED = "q", "bytes of a weight as it is stored";
        GATHERED = "w", "bytes a gathered weight";
        GRADIENT = "g", "bytes per gradient and its accumulation";
        STATES = "o", "bytes of states per parameter";
        MASTER = "m_w", "bytes of a master weight";
        SENT_AT_ONCE = "k", "bytes that are sent at once";
        ALLOCATED = "M", "allocated";
        UNBROKEN = "L", "logits, which do not fragment";
        WORKSPACES = "v", "workspaces, which do not either";
        STANDING = "S", "weights and states, which are never freed";
        SENT_ELEMENT = "e", "bytes per element";
        ACTIVATION = "k", "bytes an activation";
        PLAIN_GRADIENT = "g", "bytes per gradient";
        ACCUMULATION = "g_a", "bytes of a gradient's accumulation";
    }
    parameters {
        ELEMENTS = "P", "parameters on the GPU";
        LINEARS = "L", "parameters of linears in quantised copies";
        STORED_LINEARS = "L", "parameters of linears that are stored quantised";
        LARGEST_MATRIX = "m", "largest matrix, which stays whole";
        LARGEST_LAYER = "U", "parameters of the largest layer";
        EXPERTS_OF_LAYER = "U_e", "parameters of a layer's experts on the rank";
        LARGEST_WEIGHT = "m", "parameters of the largest weight on the rank";
        TWO_CHUNKS = "A", "parameters of the two largest chunks";
        ROOT = "R", "embedding, head and final norm";
        DENSE = "P_d", "parameters outside the experts";
        ROUTED = "P_e", "routed experts";
        UPDATED = "U", "parameters that the rank updates";
        SWEPT = "P", "parameters whose gradients it reads for the norm and clears";
        SHARED = "P", "parameters of the GPU";
        MODEL = "P", "parameters";
        HEAD = "H", "parameters of the head";
        ONE_EXPERT = "p", "parameters of an expert on the rank";
        BUCKET = "k", "gradients that are sent at once";
        RANK_PARAMETERS = "P", "parameters of the rank";
        PART_PARAMETERS = "P", "parameters";
        TEACHER = "P", "parameters of the teacher on a tensor- and expert-parallel rank, of all stages";
        ALL_PARAMETERS = "θ", "parameters of the model";
    }
}
