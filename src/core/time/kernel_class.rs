//! Classes of GPU kernels, by their names.
//!
//! The first rule that matches counts: what waits inside libraries of experts, their messages, NCCL and RCCL by
//! operation, other collectives, then compute from attention to elementwise kernels. Names are of public traces
//! (`HolisticTraceAnalysis`, `TraceLens`), of the libraries' sources and of PyTorch.

use crate::statics::named;
use serde::{Deserialize, Serialize};

named! {
    /// Kind of work of a kernel. Compute comes first, in the order in which time is given to classes that run at once;
    /// then messages, with waits last, so that a wait counts only while nothing else runs.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum KernelClass: name {
        /// Matrix products.
        Products = "products",
        /// Products of routed experts.
        Grouped = "grouped_products",
        /// The core of attention.
        Attention = "attention",
        /// State-space models and linear attention.
        Recurrence = "recurrence",
        /// Convolutions.
        Convolution = "convolution",
        /// Quantisation, transposes with a cast, scales.
        Casts = "casts",
        /// The loss over the vocabulary.
        Loss = "loss",
        /// Look-ups of embeddings.
        Embedding = "embedding",
        /// Normalisations.
        Norms = "norms",
        /// The optimizer and work on all gradients.
        Optimizer = "optimizer",
        /// Kernels that only move data.
        Copies = "copies",
        /// Everything else that computes.
        Elementwise = "elementwise",
        AllReduce = "all_reduce",
        ReduceScatter = "reduce_scatter",
        AllGather = "all_gather",
        Broadcast = "broadcast",
        /// Sends and receives: of a pipeline, a ring or an all-to-all.
        SendRecv = "send_recv",
        AllToAll = "all_to_all",
        /// Tokens to their experts.
        Dispatch = "dispatch",
        /// Results of experts back.
        Combine = "combine",
        /// Messages whose operation the name does not say.
        Message = "message",
        /// Kernels of an expert library that only wait for other ranks.
        ExpertWait = "expert_wait",
    }
}

/// The class and pass of a kernel, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedKernel {
    pub class: KernelClass,
    /// False where no rule and no usual name covers it: it is counted as elementwise.
    pub known: bool,
}

/// Characters of a name that are read: some traces cut names, and arguments say nothing of the kernel.
const READ: usize = 200;

impl KernelClass {
    /// True for messages between GPUs and the waits for them.
    pub fn is_message(self) -> bool {
        self >= Self::AllReduce
    }

    /// The class of the kernel called `name`.
    pub fn of(name: &str) -> NamedKernel {
        let text = shortened(name);
        let found = message(&text).or_else(|| compute(&text));
        let usual = || has(&text, &USUAL);
        NamedKernel { class: found.unwrap_or(Self::Elementwise), known: found.is_some() || usual() }
    }

    /// The class of a collective as PyTorch names it: `_allgather_base`, `all_to_allv`.
    pub fn of_collective(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase().replace('_', "");
        let all = [
            ("allreduce", Self::AllReduce),
            ("reducescatter", Self::ReduceScatter),
            ("allgather", Self::AllGather),
            ("alltoall", Self::AllToAll),
            ("broadcast", Self::Broadcast),
            ("send", Self::SendRecv),
            ("recv", Self::SendRecv),
        ];
        all.into_iter().find(|(word, _)| lower.contains(word)).map(|(_, class)| class)
    }
}

/// Words of elementwise kernels of PyTorch and its compilers.
const USUAL: [&str; 22] = [
    "elementwise",
    "at::native",
    "triton_",
    "reduce_kernel",
    "softmax",
    "gelu",
    "silu",
    "swiglu",
    "relu",
    "rope",
    "rotary",
    "index",
    "scatter",
    "gather",
    "topk",
    "sort",
    "scan",
    "fill",
    "permute",
    "pool",
    "dropout",
    "radix",
];

/// The name without its arguments, in small letters.
fn shortened(name: &str) -> String {
    let mut text = String::with_capacity(READ);
    let mut depth = 0i32;
    let plain = name.replace("(anonymous namespace)", "");
    for letter in plain.chars().take(READ) {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth <= 0 && !text.trim_end_matches("void ").is_empty() => break,
            _ => {}
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// True if `word` is in `text` where `not` does not follow it.
fn has_not_before(text: &str, word: &str, not: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[at + word.len()..].starts_with(not))
}

/// Libraries that send tokens to experts.
const EXPERTS: [&str; 8] = ["dpsk::ep", "deep_ep", "hybrid_ep", "internode", "intranode", "mori", "uccl", "epdispatch"];

fn message(text: &str) -> Option<KernelClass> {
    let experts = has(text, &EXPERTS) || has(text, &["epcombine"]);
    if experts {
        let waits = ["cached_notify", "notify_dispatch", "notify_combine", "barrier", "device_sync_kernel"];
        if has(text, &waits) || text.contains("epcombinesync") {
            return Some(KernelClass::ExpertWait);
        }
        if text.contains("get_dispatch_layout") {
            return Some(KernelClass::Message);
        }
        if text.contains("dispatch") {
            return Some(KernelClass::Dispatch);
        }
        if text.contains("combine") {
            return Some(KernelClass::Combine);
        }
    }
    if has(text, &["ncclkernel", "nccldevkernel", "ncclsymkdevkernel", "rccl", "nccl_kernel", "ncclsymk"]) {
        // `ncclKernel_AllReduce_RING_LL_Sum_float`.
        let operation = KernelClass::of_collective(&text.replace("ncclkernel", "").replace("nccldevkernel", ""));
        return Some(operation.unwrap_or(KernelClass::Message));
    }
    let reduces = [
        "cross_device_reduce",
        "multimem_all_reduce",
        "one_shot_all_reduce",
        "two_shot_all_reduce",
        "allreduce_fusion_kernel",
        "multimem_one_shot",
    ];
    if has(text, &reduces) {
        return Some(KernelClass::AllReduce);
    }
    // Transformer Engine's overlap of tensor parallelism names the half that it does.
    if text.contains("userbuffers") {
        return Some(match () {
            () if has(text, &["_rs", "reduce_scatter"]) => KernelClass::ReduceScatter,
            () if has(text, &["_ag", "allgather"]) => KernelClass::AllGather,
            () => KernelClass::Message,
        });
    }
    has(text, &["nvshmem", "rocshmem", "mscclpp", "msccl"]).then_some(KernelClass::Message)
}

/// Scans and convolutions over the tokens: the mixers that are no attention.
const RECURRENT: [&str; 10] = [
    "selective_scan",
    "chunk_scan",
    "chunk_state",
    "state_passing",
    "gated_delta",
    "delta_rule",
    "causal_conv1d",
    "wkv5",
    "wkv6",
    "wkv7",
];

fn compute(text: &str) -> Option<KernelClass> {
    if is_attention(text) {
        return Some(KernelClass::Attention);
    }
    if is_grouped(text) {
        return Some(KernelClass::Grouped);
    }
    if has(text, &RECURRENT) {
        return Some(KernelClass::Recurrence);
    }
    if is_cast(text) {
        return Some(KernelClass::Casts);
    }
    if is_convolution(text) {
        return Some(KernelClass::Convolution);
    }
    let products =
        ["nvjet", "gemm", "cublas", "cijk_", "_xmma_", "cutlass", "splitkreduce", "gemv", "triton_tem_", "gemvx"];
    if has(text, &products) {
        return Some(KernelClass::Products);
    }
    if is_optimizer(text) {
        return Some(KernelClass::Optimizer);
    }
    let loss = ["cross_entropy", "crossentropy", "nll_loss", "logsumexp", "softmaxforward", "softmaxbackward"];
    if has(text, &loss) {
        return Some(KernelClass::Loss);
    }
    if has(text, &["indexselect", "embedding", "vectorized_gather"]) {
        return Some(KernelClass::Embedding);
    }
    let norms = ["rms_norm", "rmsnorm", "layer_norm", "layernorm", "ln_fwd", "ln_bwd", "bn_fw", "bn_bw", "batch_norm"];
    if has(text, &norms) {
        return Some(KernelClass::Norms);
    }
    let copies =
        ["catarray", "split_with_sizes_copy", "chunk_cat", "direct_copy", "foreach_copy", "copybuffer", "fillbuffer"];
    has(text, &copies).then_some(KernelClass::Copies)
}

fn is_attention(text: &str) -> bool {
    let names = [
        "flash",
        "fmha",
        "sdpa",
        "attn_fwd",
        "attn_bwd",
        "_attn_",
        "fused_attn",
        "flex_attention",
        "mla_fwd",
        "mla_bwd",
        "sparse_attn",
    ];
    // FlashInfer also holds norms, activations and samplers.
    has(text, &names) && !has(text, &["flashinfer::norm", "flashinfer::activation", "flashinfer::sampling"])
}

/// Products of several experts in one kernel.
fn is_grouped(text: &str) -> bool {
    // In `dpsk::grouped_gemm::` only `m_grouped_*` is grouped: `fp8_ptp128c` is dense, `fp8_dptp128c_acc` accumulates.
    if text.contains("dpsk::grouped_gemm") {
        return text.contains("m_grouped");
    }
    has(text, &["grouped_gemm", "groupedgemm", "group_gemm", "m_grouped", "grouped_mm", "fused_moe_kernel"])
        || text.starts_with("bmm_") && has(text, &["e4m3", "e2m1"])
}

fn is_cast(text: &str) -> bool {
    let names = [
        "per_token_cast",
        "per_channel_cast",
        "cast_transpose",
        "cast_and_transpose",
        "mxfp8",
        "nvfp4",
        "amax",
        "hadamard",
    ];
    has(text, &names) || has_not_before(text, "quant", "um")
}

fn is_convolution(text: &str) -> bool {
    has_not_before(text, "conv", "ert")
        || has(text, &["implicit", "miopen"])
        || has(text, &["fprop", "dgrad", "wgrad"]) && has(text, &["cudnn", "xmma", "cutlass"])
}

fn is_optimizer(text: &str) -> bool {
    has(text, &["multi_tensor_apply", "muon", "newton_schulz"])
        || has_not_before(text, "adam", "ax")
        || has_not_before(text, "lamb", "da")
}

#[cfg(test)]
mod tests {
    use super::*;
    use KernelClass as C;

    /// Names of public traces and sources, with the class that the table of patterns gives them.
    #[test]
    fn names_of_public_traces_have_their_class() {
        for (name, class) in [
            ("void dpsk::ep::internode::cached_notify<false>(int*)", C::ExpertWait),
            ("void deep_ep::intranode::notify_dispatch<false, 8>(int)", C::ExpertWait),
            ("hybrid_ep::device_sync_kernel()", C::ExpertWait),
            ("void mori::moe::EpCombineSync<float>()", C::ExpertWait),
            ("dpsk::ep::internode::get_dispatch_layout(int)", C::Message),
            ("void dpsk::ep::internode::dispatch<false, 8, true>(int4*)", C::Dispatch),
            ("EpDispatchInterNodeV1Kernel", C::Dispatch),
            ("hybrid_ep::combine_kernel", C::Combine),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", C::SendRecv),
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", C::AllReduce),
            ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", C::AllGather),
            ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", C::ReduceScatter),
            ("ncclDevKernel_Broadcast_RING_LL", C::Broadcast),
            ("ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC", C::AllReduce),
            ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", C::Message),
            ("void multimem_all_reduce_kernel<c10::BFloat16, 16>(int)", C::AllReduce),
            ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8", C::ReduceScatter),
            ("userbuffers_fp16_sum_inplace_gpu_rw_ag", C::AllGather),
            ("kuserbuffers_pushsend", C::Message),
            ("mscclpp::allreduce2", C::Message),
            ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32>>()", C::Attention),
            ("void cutlass::device_kernel<flash::FlashAttnBwd<int>>(int)", C::Attention),
            ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", C::Attention),
            ("_ZN7ck_tile6kentryILi256EFmhaBatchPrefillE", C::Attention),
            ("void dpsk::grouped_gemm::cuda::m_grouped_fp8_ptp128c::GemmKernel<int>()", C::Grouped),
            ("void dpsk::grouped_gemm::cuda::fp8_ptp128c::GemmKernel<int>()", C::Products),
            ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x8", C::Grouped),
            ("void cuda::per_token_cast_to_fp8_with_channels<int>()", C::Casts),
            ("quantize_with_block_size<1>", C::Casts),
            ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", C::Products),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", C::Products),
            ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT128x256x32", C::Products),
            ("deep_gemm::sm90_fp8_gemm_1d2d_impl", C::Products),
            ("void selective_scan_fwd_kernel<int>", C::Recurrence),
            ("void layer_norm::ln_fwd_kernel<int>", C::Norms),
            ("void cudnn::bn_bw_1C11_kernel_new<float, float>(float)", C::Norms),
            ("void at::native::CatArrayBatchedCopy<float>(float*)", C::Copies),
            ("__amd_rocclr_copyBuffer", C::Copies),
            ("triton_poi_fused_add_mul_3", C::Elementwise),
        ] {
            assert_eq!(C::of(name).class, class, "{name}");
        }
    }

    /// Words that are inside others: a lambda is no LAMB, quantum no cast, a reduction no all-reduce, a conversion
    /// inside a norm no convolution.
    #[test]
    fn words_inside_other_words_do_not_count() {
        for (name, class) in [
            ("void at::native::unrolled<at::native::{lambda(float)#1}, std::array<char*, 2ul>>(int)", C::Elementwise),
            ("void quantum_state_kernel<int>", C::Elementwise),
            ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)", C::Elementwise),
            ("void vllm::rms_norm_kernel<vllm::_typeConvert<c10::BFloat16>>(int)", C::Norms),
            ("void lamb_stage_1<float>", C::Optimizer),
            ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>()", C::Optimizer),
            ("void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>", C::Norms),
        ] {
            assert_eq!(C::of(name).class, class, "{name}");
        }
        assert!(!C::of("my_own_thing").known);
        assert!(C::of("void at::native::vectorized_elementwise_kernel<4>()").known);
    }

    #[test]
    fn collectives_have_the_names_of_pytorch() {
        for (name, class) in [
            ("allreduce", C::AllReduce),
            ("_allgather_base", C::AllGather),
            ("_reduce_scatter_base", C::ReduceScatter),
            ("all_to_allv", C::AllToAll),
            ("nccl:all_to_all", C::AllToAll),
            ("allreduce_coalesced", C::AllReduce),
        ] {
            assert_eq!(C::of_collective(name), Some(class));
        }
        assert_eq!(C::of_collective("barrier"), None);
    }
}
