//! Adapters beside a frozen base: what a person sets, and what it means.

use super::precision::{Format, Precision};
use super::presets::Software;
use crate::field::Steps::Double;
use crate::field::{OneOf, fields, one_of, training};
use crate::model::{Architecture, LayerKind, Linear, Target, joined, linears};

one_of! {
    /// Ways to fine-tune a model beside its frozen weights.
    AdapterMethod {
        Lora = "lora" "LoRA",
        /// LoRA with a magnitude a row.
        Dora = "dora" "DoRA",
        /// LoRA beside a quantised base.
        Qlora = "qlora" "QLoRA",
    }
}

one_of! {
    /// Format of adapters.
    AdapterType {
        /// fp32, as PEFT casts them (`autocast_adapter_dtype`).
        Fp32 = "fp32" "fp32",
        /// bf16, as the model.
        Bf16 = "bf16" "bf16",
    }
}

one_of! {
    /// Adapters beside routed experts.
    ExpertAdapters {
        /// One beside each expert: PEFT's modules and `target_parameters`, ms-swift's grouped linears.
        Each = "each" "one each",
        /// The experts of a rank share one (Megatron-Bridge's `share_expert_adapters`).
        Shared = "shared" "one a rank",
        /// None: experts in one parameter, which PEFT adapts by `target_parameters` alone.
        None = "none" "none",
    }
}

one_of! {
    /// Formats of the linears of the frozen base.
    BaseFormat {
        /// NormalFloat 4, blocks of 64 with fp32 scales.
        Nf4 = "nf4" "NF4",
        /// NormalFloat 4, blocks of 64 with quantised scales.
        Nf4Double = "nf4-double" "NF4, double quantisation",
        /// int8, a scale a row.
        Int8 = "int8" "int8",
        /// GPTQ in 4 bits, groups of 128.
        Gptq4 = "gptq4" "GPTQ, 4 bits",
        /// GPTQ in 4 bits, a scale a row.
        Gptq4Row = "gptq4-row" "GPTQ, 4 bits, no groups",
        /// GPTQ in 4 bits, groups of 128, unpacked by PyTorch's operators.
        Gptq4Torch = "gptq4-torch" "GPTQ, 4 bits, no kernel",
        /// e2m1 in blocks of 16 with a scale of one byte, as NVFP4 products read it.
        Nvfp4 = "nvfp4" "NVFP4",
        /// fp8 with a scale a tensor and no copy in 16 bits, as fp8 products read it (Transformer Engine's
        /// `fp8_model_init`).
        Fp8 = "fp8" "fp8",
    }
}

one_of! {
    /// An end of the model that is trained whole, as a copy (PEFT's `modules_to_save`).
    Saved {
        Embedding = "embed_tokens" "embedding",
        Head = "lm_head" "head",
    }
}

impl BaseFormat {
    /// Bytes a weight of a linear whose rows have `input` elements: the element and its part of the scales.
    ///
    /// Source: bitsandbytes `functional.py` (`quantize_4bit`: blocks of 64, fp32 scales; `compress_statistics`: scales
    /// in 8 bit, blocks of 256 of them with an fp32 scale); axolotl pull request 3721 (NVFP4, `base_mode: storage`);
    /// GPTQ: fp16 scale and 4-bit zero for 128 elements, an int32 group number a row; fp8: MLPerf Training v4.0,
    /// NVIDIA, `megatron_gpt_peft_tuning_config.yaml` (`fp8_params`, `disable_parameter_transpose_cache`).
    pub fn bytes(self, input: f64) -> f64 {
        match self {
            Self::Nf4 | Self::Nvfp4 => 0.5 + 4.0 / 64.0,
            Self::Nf4Double => 0.5 + 1.0 / 64.0 + 4.0 / (64.0 * 256.0),
            Self::Int8 => 1.0 + 4.0 / input,
            Self::Fp8 => 1.0,
            Self::Gptq4 | Self::Gptq4Torch => 0.5 + (2.0 + 0.5) / 128.0 + 4.0 / input,
            Self::Gptq4Row => 0.5 + (2.0 + 0.5 + 4.0) / input,
        }
    }

    /// True if products in `format` read it as it is stored: no kernel unpacks it, no pass quantises it.
    pub(crate) fn is_read_by(self, format: Format) -> bool {
        matches!((self, format), (Self::Fp8, Format::Fp8) | (Self::Nvfp4, Format::Fp4))
    }

    /// True if a matrix in 16 bits stays from its forward to its backward pass: kernels unpack it for each product.
    /// Source: `AutoGPTQ` `qlinear_cuda_old.py`, bitsandbytes `MatMul4Bit`, fms-acceleration `triton_utils/dequant.py`.
    pub(crate) fn stays_unpacked(self) -> bool {
        self == Self::Gptq4Torch
    }
}

fields! {
    /// Adapters as a person sets them; unset: the method's own.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AdapterParts in "adapter." {
        /// train low-rank adapters beside a frozen base; unset: everything is trained
        method: Option<AdapterMethod> => training("Adapters"),
        /// rank of the adapters; unset: 8
        rank: Option<u64> => training("Adapter rank").symbol("r").count(1, 1 << 16, Double),
        /// linears of a layer with an adapter; unset: all
        targets: Option<Vec<Target>> => training("Adapted linears"),
        /// adapters beside routed experts: one each, one that the experts of a rank share, or none; unset: shared under
        /// Megatron's buffers, else one each
        experts: Option<ExpertAdapters> => training("Adapters of experts").advanced(),
        /// what adapters are kept in: PEFT casts them to fp32
        dtype: Option<AdapterType> => training("Adapter type").advanced(),
        /// how the frozen linears are quantised; unset: QLoRA's NF4 with double quantisation, else not
        base: Option<BaseFormat> => training("Base format"),
        /// copies of the embedding or the head that are trained beside the adapters
        modules_to_save: Option<Vec<Saved>> => training("Trained whole").advanced(),
        /// adapters are sharded as the base is; off: every rank has all of them
        sharded: Option<bool> => training("Sharded adapters").advanced(),
        /// layers' inputs wait in fp32, as PEFT's prepare_model_for_kbit_training makes them
        upcast: Option<bool> => training("fp32 residual").advanced(),
    }
}

/// Rank where none is said. Source: PEFT `LoraConfig.r`, LLaMA-Factory `lora_rank`, torchtune.
const RANK: u64 = 8;

/// Adapters with all that is unset resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    pub method: AdapterMethod,
    pub rank: u64,
    /// The linears with an adapter.
    pub targets: Vec<Target>,
    /// Bytes of a parameter of an adapter: weight, gradient and moments.
    pub bytes: Precision,
    /// Format of the base, where it is quantised.
    pub base: Option<BaseFormat>,
    /// Ends of the model that are trained whole.
    pub saved: Vec<Saved>,
    /// True if adapters are sharded with the base.
    pub sharded: bool,
    /// True if the residual stream is fp32.
    pub upcast: bool,
    pub experts: ExpertAdapters,
    /// True if linears that are one matrix share an A: queries, keys and values, gate and up (Megatron core's
    /// `linear_qkv` and `linear_fc1`).
    pub joins: bool,
}

impl AdapterParts {
    /// Format of the base, where a method quantises it.
    fn base_format(&self) -> Option<BaseFormat> {
        let method = self.method?;
        self.base.or((method == AdapterMethod::Qlora).then_some(BaseFormat::Nf4Double))
    }

    /// True if no published software cuts the frozen linears by tensor parallelism: quantised ones that products in
    /// `format` cannot read as they are stored.
    pub(crate) fn is_uncut(&self, format: Format) -> bool {
        self.base_format().is_some_and(|base| !base.is_read_by(format))
    }

    /// The adapters under `software`, beside a base of `precision`; none without a method.
    pub fn resolve(&self, software: &Software, precision: Precision) -> Option<Adapter> {
        let method = self.method?;
        let every = || Target::ALL.iter().map(|(target, _)| *target).collect();
        Some(Adapter {
            method,
            rank: self.rank.unwrap_or(RANK),
            targets: self.targets.clone().unwrap_or_else(every),
            bytes: adapter_bytes(self.dtype, software, precision),
            base: self.base_format(),
            saved: self.modules_to_save.clone().unwrap_or_default(),
            sharded: self.sharded.unwrap_or(true),
            upcast: self.upcast.unwrap_or(false),
            experts: self.experts.unwrap_or(if software.flat_buffers {
                ExpertAdapters::Shared
            } else {
                ExpertAdapters::Each
            }),
            joins: software.flat_buffers,
        })
    }
}

/// Weights, gradients and moments of an adapter: `4 + 4 + 8` as PEFT casts them, `2 + 2 + 4` in pure bf16, and what the
/// precision says in Megatron's buffers.
fn adapter_bytes(dtype: Option<AdapterType>, software: &Software, precision: Precision) -> Precision {
    // No master weight: what is computed with is what is updated.
    let alone = |bytes: f64| Precision {
        computes: precision.computes,
        ..Precision::new(Format::Bf16, [bytes, bytes, 0.0, 0.0, bytes, bytes])
    };
    match dtype {
        None if software.flat_buffers => Precision { recipe: None, ..precision },
        None if software.trains_bf16 => alone(2.0),
        Some(AdapterType::Bf16) => alone(2.0),
        None | Some(AdapterType::Fp32) => alone(4.0),
    }
}

impl Adapter {
    /// True if the products of a layer of `precision` read the frozen linears as they are stored: no kernel unpacks
    /// them, no pass quantises them again.
    pub(crate) fn is_read_by(&self, precision: Precision) -> bool {
        self.base.map_or(precision.param_gather, |base| base.is_read_by(precision.computes))
    }

    /// The linears of a layer of `kind` that have one, those that share an A as one: what memory, checkpoints, FLOPs
    /// and messages count.
    pub fn beside(&self, model: &Architecture, kind: LayerKind) -> Vec<Linear> {
        let list = self.beside_apart(model, kind);
        if self.joins { joined(list, kind) } else { list }
    }

    /// The linears of a layer of `kind` that have one, each by itself: what the time of a step counts, also of those
    /// that share an A. Shared there too, steps of MLPerf's LoRA, which are predicted too fast, are so by more.
    pub(crate) fn beside_apart(&self, model: &Architecture, kind: LayerKind) -> Vec<Linear> {
        let mut list = linears(model, kind);
        let adapted = |linear: &Linear| linear.experts.is_none() || self.experts != ExpertAdapters::None;
        list.retain(|linear| self.adapts(linear.target) && adapted(linear));
        list
    }

    /// True if routed experts have an adapter beside one of `targets`.
    pub(crate) fn adapts_experts(&self, targets: &[Target]) -> bool {
        self.experts != ExpertAdapters::None && targets.iter().any(|target| self.adapts(*target))
    }

    /// True if linears of this name have one.
    pub(crate) fn adapts(&self, target: Target) -> bool {
        self.targets.contains(&target)
    }

    /// Elements of the adapters of a layer of `kind` that one token meets: outside the routed experts, and beside those
    /// that it visits.
    pub fn active(&self, model: &Architecture, kind: LayerKind) -> [f64; 2] {
        let visited = model.moe.map_or(0, |moe| moe.top_k) as f64;
        let added = |experts: bool| {
            let list = self.beside(model, kind);
            let list = list.iter().filter(|linear| linear.experts.is_some() == experts);
            list.map(|linear| linear.adapter(self.rank, false, 1)).sum::<f64>()
        };
        [added(false), visited * added(true)]
    }

    /// Elements of the adapters that a token meets, over all layers.
    pub(crate) fn active_elements(&self, model: &Architecture) -> f64 {
        let kinds = model.all_kinds();
        let added = |(kind, layers): &(LayerKind, u64)| *layers as f64 * self.active(model, *kind).iter().sum::<f64>();
        kinds.iter().map(added).sum()
    }

    /// Elements of the adapters of a layer of `kind` on one rank: outside the routed experts, and beside them.
    pub fn elements(&self, model: &Architecture, kind: LayerKind, tp: u64, ep: u64, etp: u64) -> [f64; 2] {
        let magnitudes = self.method == AdapterMethod::Dora;
        let (mut dense, mut routed) = (0.0, 0.0);
        for linear in self.beside(model, kind) {
            let one = |tp| linear.adapter(self.rank, magnitudes, tp);
            match linear.experts {
                None => dense += one(tp),
                Some(_) if self.experts == ExpertAdapters::Shared => routed += one(etp),
                Some(experts) => routed += experts as f64 / ep as f64 * one(etp),
            }
        }
        [dense, routed]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Run, Scenario};

    /// Adapters of rank 16 of a run with `set`: trained parameters as memory and messages hold them, and those that a
    /// token meets, which FLOPs count.
    fn counted(set: &[(&str, &str)]) -> [f64; 2] {
        let alone = [("adapter.method", "lora"), ("adapter.rank", "16"), ("gpus", "1"), ("tp", "1"), ("pp", "1")];
        let run = Run::default().with_texts(&alone).unwrap().with_texts(set).unwrap();
        let scenario = Scenario::new(&run).unwrap();
        let adapter = scenario.adapter.as_ref().unwrap();
        let model = &scenario.model;
        let kinds = model.all_kinds();
        let of = |(kind, layers): &(LayerKind, u64)| {
            *layers as f64 * adapter.elements(model, *kind, 1, 1, 1).iter().sum::<f64>()
        };
        [kinds.iter().map(of).sum(), adapter.active_elements(model)]
    }

    /// Megatron-Bridge's LoRA has one adapter a matrix, `r (h + (a + 2 k) e)` of `linear_qkv` and `r (h + 2 f)` of
    /// `linear_fc1`; PEFT one for each of q, k, v, gate and up (`docs/training/peft.md`, `LoRA` and `CanonicalLoRA`).
    /// Llama 3.1 70B: h 8192, (a + 2 k) e 10240, f 28672.
    #[test]
    fn joined_linears_share_one_a_in_memory_and_in_flops() {
        let [attention, up] = ["q_proj,k_proj,v_proj", "gate_proj,up_proj"];
        for (stack, targets, layer) in [
            ("megatron-2025", attention, 16 * (8192 + 10_240)),
            ("megatron-2025", up, 16 * (8192 + 2 * 28_672)),
            ("hf-trainer", attention, 16 * (3 * 8192 + 10_240)),
            ("hf-trainer", up, 16 * (2 * 8192 + 2 * 28_672)),
        ] {
            let set = [("model", "llama-3.1-70b"), ("stack", stack), ("adapter.targets", targets)];
            assert_eq!(counted(&set), [80.0 * f64::from(layer); 2], "{stack} {targets}");
        }
    }

    /// DeepSeek-V3's down-projections of queries and of keys are matrices of their own in Megatron core, which cannot
    /// join them: `linear_q_down_proj` (7168 to 1536), `linear_q_up_proj` (to 24576), `linear_kv_down_proj` (to 576),
    /// `linear_kv_up_proj` (512 to 32768). Gate and up of its shared expert and its dense layers are one `linear_fc1`.
    #[test]
    fn a_latent_attention_joins_gate_and_up_alone() {
        let layers = |targets| {
            let set = [("model", "deepseek-v3"), ("stack", "megatron-2025"), ("adapter.targets", targets)];
            counted(&[&set[..], &[("adapter.experts", "none"), ("model.mtp_modules", "0")]].concat())
        };
        let attention = 61 * 16 * (7168 + 1536 + 1536 + 24_576 + 7168 + 576 + 512 + 32_768);
        assert_eq!(layers("q_proj,k_proj,v_proj"), [f64::from(attention); 2]);
        let up = 3 * 16 * (7168 + 2 * 18_432) + 58 * 16 * (7168 + 2 * 2048);
        assert_eq!(layers("gate_proj,up_proj"), [f64::from(up); 2]);
    }

    /// Dettmers et al. 2023 (QLoRA), section 3: blocks of 64 cost 0.5 bit a parameter, with double quantisation 0.127.
    #[test]
    fn scales_cost_what_qlora_prints() {
        let scale_bits = |format: BaseFormat| 8.0 * (format.bytes(4096.0) - 0.5);
        assert!((scale_bits(BaseFormat::Nf4) - 0.5).abs() < 1e-12);
        assert!((scale_bits(BaseFormat::Nf4Double) - 0.127).abs() < 0.0005);
    }
}
