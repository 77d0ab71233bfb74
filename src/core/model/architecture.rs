//! The shapes of a transformer, in the names of its own configuration file.

use super::images::{ImageSize, ImageSizes};
use super::mixers::{Compressed, DeltaNet, Indexer, Kda, Mamba, SecondHeads};
use super::pattern::Pattern;
use crate::field::Steps::{By, Double, Valid};
use crate::field::{model, one_of, shape};
use crate::units::whole;
use std::marker::PhantomData;

one_of! {
    /// Normalisation before attention and FFN.
    Norm {
        /// One weight a channel.
        Rms = "rmsnorm" "RMSNorm",
        /// Weight and bias a channel.
        Layer = "layernorm" "LayerNorm",
    }
}

one_of! {
    /// Linear layers that carry a bias.
    Biases {
        /// None (Llama).
        None = "none" "none",
        /// Only the query, key and value projections (Qwen 2).
        Qkv = "qkv" "QKV only",
        /// Every linear (GPT).
        All = "all" "all linears",
    }
}

one_of! {
    /// Norm of queries and keys before attention (latent attention has its own).
    QkNorm {
        /// None (Llama).
        None = "none" "none",
        /// One over each head, its weights shared by all (Qwen 3).
        Head = "head" "by head",
        /// One over all heads (`MiniMax` M2, `OLMo` 3).
        All = "all" "over all heads",
    }
}

shape! {
    /// Mixture of experts: the FFN of every layer but the first `dense_layers`, or of those that the pattern says.
    pub struct Moe, MoeParts in "model.moe." {
        /// routed experts per layer; 0: dense
        experts: u64 => model("Experts").symbol("E").count(0, 1 << 16, Double).advanced(),
        /// routed experts that a token visits
        top_k: u64 => model("Experts per token").symbol("K").count(1, 1 << 10, By(1.0)).advanced(),
        /// FFN width of one expert
        expert_ffn: u64 => model("Expert FFN size").count(1, 1 << 24, By(128.0)).advanced(),
        /// experts that every token visits
        shared_experts: u64 = 0 => model("Shared experts").count(0, 1 << 10, By(1.0)).advanced(),
        /// layers before the first with experts
        dense_layers: u64 = 0 => model("Leading dense layers").count(0, 100_000, By(1.0)).advanced(),
        /// groups that the experts stand in, one a node as a rule; 1: none
        groups: u64 = 1 => model("Expert groups").count(1, 1 << 16, Double).advanced(),
        /// groups that a token's experts come from at most
        top_groups: u64 = groups => model("Groups per token").count(1, 1 << 16, By(1.0)).advanced(),
        /// width that tokens are projected to before they are routed; 0: the hidden size
        latent: u64 = 0 => model("Latent width").count(0, 1 << 20, By(128.0)).advanced(),
    }
}

impl Moe {
    /// Experts in every layer, none shared, that a token may take from anywhere.
    pub const fn new(experts: u64, top_k: u64, expert_ffn: u64) -> Self {
        Self { experts, top_k, expert_ffn, ..Self::BARE }
    }
    /// Width of what enters a routed expert: the latent one, or the hidden size.
    pub const fn input(&self, hidden: u64) -> u64 {
        if self.latent == 0 { hidden } else { self.latent }
    }
}

shape! {
    /// Multi-head latent attention (DeepSeek-V2 and V3).
    pub struct Mla, MlaParts in "model.mla." {
        /// rank of the query's down-projection; 0: none
        q_lora_rank: u64 = 0 => model("Query rank").count(0, 1 << 20, By(64.0)).advanced(),
        /// rank of the joint key-value down-projection
        kv_lora_rank: u64 => model("Key-value rank").count(1, 1 << 20, By(64.0)).advanced(),
        /// query and key width without rotary position
        qk_nope_head_dim: u64 => model("Head width, no position").count(1, 1 << 16, By(32.0)).advanced(),
        /// query and key width with rotary position
        qk_rope_head_dim: u64 => model("Head width, rotary").count(1, 1 << 16, By(32.0)).advanced(),
        /// value width of a head
        v_head_dim: u64 => model("Head width, value").count(1, 1 << 16, By(32.0)).advanced(),
    }
}

impl Mla {
    /// The widths of DeepSeek-V2 and V3.
    pub const DEEPSEEK: Self =
        Self { q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 };
}

one_of! {
    /// A published vision encoder.
    VisionEncoder {
        /// Shapes that are given one by one.
        Own = "own" "own shapes",
        Qwen2Vl = "qwen2-vl" "Qwen2-VL, 675 M",
        /// Windows of 112 px, four layers over the whole image.
        Qwen25Vl = "qwen2.5-vl" "Qwen2.5-VL",
        /// Three layers are handed on to the language model besides.
        Qwen3Vl = "qwen3-vl" "Qwen3-VL, 27 layers",
        Qwen3VlSmall = "qwen3-vl-4b" "Qwen3-VL 4B, 24 layers",
        Qwen35 = "qwen3.5" "Qwen3.5",
        KimiK25 = "kimi-k2.5" "MoonViT (Kimi-VL, Kimi K2.5)",
        KimiK3 = "kimi-k3" "Kimi K3",
        Glm45V = "glm-4.5v" "GLM-4.5V",
        InternVit6b = "internvit-6b" "InternViT-6B (InternVL3 78B)",
        InternVit300m = "internvit-300m" "InternViT-300M (InternVL3 8B)",
        Llama4 = "llama-4" "Llama 4",
        Gemma3 = "gemma-3" "SigLIP (Gemma 3)",
        Gemma4 = "gemma-4" "Gemma 4",
        RadioH = "radio-h" "RADIO-H (Nemotron Omni)",
        Vit22b = "vit-22b" "ViT-22B",
    }
}

one_of! {
    /// Ranks that a vision tower is on.
    TowerPlace {
        /// Those of the first stage, with its tensor parallelism.
        FirstStage = "first-stage" "the first stage",
        /// Its own, beside the pipeline.
        OwnRanks = "own-ranks" "ranks of its own",
    }
}

shape! {
    /// A vision tower in front of the language model.
    pub struct Vision, VisionParts in "model.vision." {
        /// a published encoder, whose shapes are those that are not given one by one
        base: VisionEncoder = VisionEncoder::Own => model("Vision encoder").advanced(),
        /// pixels across
        image_width: u64 = 224 => model("Image width").unit("px").count(1, 1 << 16, By(14.0)).advanced(),
        /// pixels down
        image_height: u64 = 224 => model("Image height").unit("px").count(1, 1 << 16, By(14.0)).advanced(),
        /// sizes of the images with the share of each, instead of one size: 448x448:60,1024x768:30; with the images of
        /// a sample in front, shares of samples: 8*448x448:60,1*1024x768:40
        image_sizes: ImageSizes = ImageSizes::NONE => model("Image sizes").unit("px").advanced(),
        /// 3 for colour
        channels: u64 = 3 => model("Image channels").count(1, 1 << 10, By(1.0)).advanced(),
        /// pixels along one side of a patch
        patch: u64 = 14 => model("Patch side").unit("px").count(1, 1 << 10, By(1.0)).advanced(),
        /// width of the vision tower
        hidden: u64 => model("ViT hidden size").count(1, 1 << 20, By(128.0)).advanced(),
        /// FFN width of the vision tower
        ffn: u64 = 4 * hidden => model("ViT FFN size").count(1, 1 << 24, By(128.0)).advanced(),
        /// layers of the vision tower
        layers: u64 => model("ViT layers").count(1, 10_000, By(1.0)).advanced(),
        /// the tower keeps its weights only; its projector is trained
        frozen: bool = false => model("ViT frozen").advanced(),
        /// patches along a side that become one token of the language model (Qwen-VL 2); 1: each
        merge: u64 = 1 => model("Patches merged").count(1, 16, By(1.0)).advanced(),
        /// frames that a patch spans; an image fills them with copies (Qwen-VL 2)
        temporal: u64 = 1 => model("Frames of a patch").count(1, 64, By(1.0)).advanced(),
        /// FFN of three matrices instead of two (Qwen2.5-VL, GLM-4.5V)
        gated: bool = false => model("ViT FFN gated").advanced(),
        /// side of the windows that attention sees; 0: the whole image (Qwen2.5-VL 112)
        window: u64 = 0 => model("ViT window").unit("px").count(0, 1 << 16, By(14.0)).advanced(),
        /// layers that see the whole image where the others see windows (Qwen2.5-VL 4)
        full_layers: u64 = 0 => model("ViT full-attention layers").count(0, 10_000, By(1.0)).advanced(),
        /// attention heads of the tower; 0: not known, 128 wide
        heads: u64 = 0 => model("ViT heads").count(0, 1 << 10, By(1.0)).advanced(),
        /// width of queries, keys and values (Kimi K3 1536); 0: that of the tower
        attention_width: u64 = 0 => model("ViT attention width").count(0, 1 << 20, By(128.0)).advanced(),
        /// side of the tiles that an image is cut into, with one of the whole image besides; 0: the image as it is
        /// (InternVL 448, Llama 4 336)
        tile: u64 = 0 => model("Tile side").unit("px").count(0, 1 << 12, By(14.0)).advanced(),
        /// tokens of the language model that an image has whatever its size (Gemma 3 256); 0: by its size
        fixed_tokens: u64 = 0 => model("Tokens an image").unit("tokens").count(0, 1 << 16, Double).advanced(),
        /// merged patches are averaged, and one linear projects them (Gemma), instead of two over all of them
        pooled: bool = false => model("Patches averaged").advanced(),
        /// inner width of the projector; 0: as wide as its input, or as the language model where none are merged
        projector: u64 = 0 => model("Projector width").count(0, 1 << 20, By(128.0)).advanced(),
        /// layers whose outputs are merged and handed on besides (Qwen3-VL 3)
        deepstack: u64 = 0 => model("ViT layers handed on").count(0, 64, By(1.0)).advanced(),
        /// where the tower is: on the first stage with its tensor parallelism, or on ranks of its own, which work
        /// beside the pipeline (MIMO of Megatron-Core)
        placement: TowerPlace = TowerPlace::FirstStage => model("ViT stands on").advanced(),
        /// of a tower on ranks of its own, among all GPUs of the run
        gpus: u64 = 1 => model("ViT GPUs").count(1, 1 << 20, By(1.0)).advanced(),
        /// of a tower on ranks of its own; its other GPUs are replicas
        tp: u64 = 1 => model("ViT tensor parallel").count(1, 1 << 10, Double).advanced(),
        /// images a sequence, on average, where no sizes have counts
        images: f64 = 1.0 => model("Images a sequence").number(0.0, 4096.0, 1.0).advanced(),
    }
}

/// A mean in whole ones.
fn rounded(mean: f64) -> u64 {
    whole(mean.round()).unwrap_or(u64::MAX)
}

/// Tiles of an image at most. Source: `InternVL2.5` and `InternVL3`, `max_dynamic_patch` of their fine-tuning.
const MOST_TILES: u64 = 12;

impl Vision {
    /// The tower of the note on uneven pipelines, 28 layers of `hidden`.
    #[cfg(test)]
    pub(crate) const fn of_the_uneven_note(hidden: u64) -> Self {
        let size = 224;
        Self {
            image_width: size,
            image_height: size,
            channels: 3,
            patch: 14,
            hidden,
            ffn: 4 * hidden,
            layers: 28,
            ..Self::BARE
        }
    }
    /// True if it is on ranks of its own.
    pub fn is_apart(&self) -> bool {
        self.placement == TowerPlace::OwnRanks
    }
    /// Replicas of a tower on ranks of its own.
    pub fn replicas(&self) -> u64 {
        (self.gpus / self.tp.max(1)).max(1)
    }
    /// Patches across and down of an image, in whole groups that are merged.
    fn grid(&self, size: [u64; 2]) -> [u64; 2] {
        let (side, merge) = (self.patch.max(1), self.merge.max(1));
        size.map(|pixels| pixels.div_ceil(side).next_multiple_of(merge))
    }
    /// Width of queries, keys and values.
    pub fn queries(&self) -> u64 {
        if self.attention_width > 0 { self.attention_width } else { self.hidden }
    }
    /// Tiles of an image, the whole image besides where there are several; none where it stays as it is. Source:
    /// `InternVL`'s processor, at most 12; each side is rounded to whole tiles.
    fn tiles(&self, [width, height]: [u64; 2]) -> Option<u64> {
        let side = self.tile;
        if side == 0 {
            return None;
        }
        let along = |pixels: u64| ((pixels + side / 2) / side).max(1);
        let tiles = along(width).saturating_mul(along(height)).min(MOST_TILES);
        Some(if tiles > 1 { tiles + 1 } else { 1 })
    }
    /// Patches of one tile.
    fn tile_patches(&self) -> u64 {
        let along = (self.tile / self.patch.max(1)).max(1);
        along * along
    }
    /// Patches of an image of `size`, the tower's tokens: `ceil(W/p) ceil(H/p)`, or those of its tiles.
    fn patches_of(&self, size: [u64; 2]) -> u64 {
        if self.fixed_tokens > 0 {
            let merge = self.merge.max(1);
            return self.fixed_tokens * merge * merge;
        }
        self.tiles(size).map_or_else(|| self.grid(size).iter().product(), |tiles| tiles * self.tile_patches())
    }
    /// Patches of one image; of several sizes the mean, in whole ones.
    pub fn patches(&self) -> u64 {
        if self.image_sizes.differ() {
            return rounded(self.image_sizes.mean(|size| self.patches_of(size.pixels()) as f64));
        }
        self.patches_of([self.image_width, self.image_height])
    }
    /// Patches of the image that a patch stands in, on average: a larger image has more of them.
    fn patches_beside(&self) -> u64 {
        if !self.image_sizes.differ() {
            return self.patches();
        }
        let patches = |size: ImageSize| self.patches_of(size.pixels()) as f64;
        let squares = self.image_sizes.mean(|size| patches(size) * patches(size));
        rounded(squares / self.image_sizes.mean(patches).max(1.0))
    }
    /// The tower with images of one size alone.
    fn of_size(&self, size: ImageSize) -> Self {
        let [image_width, image_height] = size.pixels();
        Self { image_width, image_height, image_sizes: ImageSizes::NONE, ..*self }
    }
    /// The tower with images of each of its sizes alone, and their shares; none where all have one size.
    pub fn by_size(&self) -> impl Iterator<Item = (Self, f64)> + '_ {
        // All sequences have as many images on average, whatever their size.
        let images = self.images_a_sequence();
        self.image_sizes.shares().map(move |(size, share)| (Self { images, ..self.of_size(size) }, share))
    }
    /// Images of a sequence, on average.
    pub fn images_a_sequence(&self) -> f64 {
        self.image_sizes.images().unwrap_or(self.images)
    }
    /// The tower with images of its largest size alone, or of the sample with most patches where sizes have counts: the
    /// micro-batch that has most to keep.
    #[must_use]
    pub fn largest(&self) -> Self {
        let sizes = self.image_sizes.iter().filter(|size| size.weight > 0.0);
        let patches = |size: &ImageSize| self.patches_of(size.pixels()) as f64 * size.images();
        let largest = sizes.max_by(|one, other| patches(one).total_cmp(&patches(other)));
        let counted = self.image_sizes.images().is_some();
        largest.map_or(*self, |size| {
            let images = if counted { size.images() } else { self.images };
            Self { images, ..self.of_size(size) }
        })
    }
    /// Tokens that the language model gets of one image: `1/merge²` of the patches.
    pub fn tokens(&self) -> u64 {
        let merge = self.merge.max(1);
        self.patches() / (merge * merge)
    }
    /// Elements of a patch: `C P²` of every frame that it spans.
    pub fn patch_elements(&self) -> u64 {
        self.channels * self.patch * self.patch * self.temporal.max(1)
    }
    /// Inner width of the projector in front of a language model of width `hidden`: that of the merged patches,
    /// `merge² h_v` (Qwen2-VL, `PatchMerger`; Llama 4 after its pixel shuffle), or `hidden` where none are merged.
    pub fn projector_width(&self, hidden: u64) -> u64 {
        if self.projector > 0 {
            return self.projector;
        }
        if self.merge > 1 { self.projector_input() } else { hidden }
    }
    /// Elements of the projector and of those of the layers that are handed on: two matrices, or one where patches are
    /// averaged.
    pub fn projector_elements(&self, hidden: u64) -> u64 {
        let (input, inner) = (self.projector_input(), self.projector_width(hidden));
        let one = if self.pooled { input * hidden } else { input * inner + inner * hidden };
        one * (1 + self.deepstack)
    }
    /// Width of a token at the projector's input, `merge² h_v`; `h_v` of averaged patches.
    pub fn projector_input(&self) -> u64 {
        if self.pooled {
            return self.hidden;
        }
        self.hidden * self.merge * self.merge
    }
    /// Matrices of an FFN.
    pub fn ffn_matrices(&self) -> u64 {
        if self.gated { 3 } else { 2 }
    }
    /// Layers by the patches that a patch attends to: all of the image, or those of its window.
    pub fn attention(&self) -> [(u64, u64); 2] {
        let patches = self.patches_beside();
        if self.fixed_tokens == 0 && self.tile > 0 {
            return [(self.layers, self.tile_patches()), (0, patches)];
        }
        if self.window == 0 {
            return [(self.layers, patches), (0, patches)];
        }
        let side = (self.window / self.patch.max(1)).max(1);
        let full = self.full_layers.min(self.layers);
        [(full, patches), (self.layers - full, (side * side).min(patches))]
    }
}

shape! {
    /// A decoder-only transformer.
    #[allow(clippy::struct_excessive_bools)] // independent facts of a model
    pub struct Architecture {
        /// The head gives a score or a vector of a sequence, not logits over the vocabulary.
        headless: bool = false,
    }, ArchitectureParts in "model." {
        /// transformer layers
        layers: u64 = 1 => model("Layers").symbol("L").count(1, 100_000, Valid),
        /// width of the residual stream
        hidden: u64 => model("Hidden size").symbol("h").count(1, 1 << 20, By(128.0)),
        /// width of a dense FFN
        ffn: u64 => model("FFN size").symbol("f").count(1, 1 << 24, By(128.0)).advanced(),
        /// query heads
        heads: u64 => model("Attention heads").symbol("a").count(1, 1 << 16, Valid).advanced(),
        /// fewer than the query heads: grouped-query attention
        kv_heads: u64 = heads => model("Key-value heads").symbol("k").count(1, 1 << 16, Valid).advanced(),
        /// hidden size over heads, unless the model says otherwise
        head_dim: u64 = hidden / if heads > 1 { heads } else { 1 }
            => model("Head width").symbol("d").count(1, 1 << 16, Double).advanced(),
        /// entries of the embedding, unpadded
        vocab: u64 => model("Vocabulary").symbol("v").count(1, 1 << 26, By(128.0)).advanced(),
        /// SwiGLU's third matrix
        gated_ffn: bool = true => model("Gated FFN").advanced(),
        /// the head shares the embedding's weights
        tied_embeddings: bool = false => model("Tied embeddings").advanced(),
        /// RMSNorm has no bias
        norm: Norm = Norm::Rms => model("Normalisation").advanced(),
        /// a norm after attention and FFN too (Gemma 2 and 3)
        post_norms: bool = false => model("Norms after").advanced(),
        /// a norm of queries and keys: by head, or over all heads
        qk_norm: QkNorm = QkNorm::None => model("Query-key norm").advanced(),
        /// which linears carry one
        biases: Biases = Biases::None => model("Biases").advanced(),
        /// its masks are kept for the backward pass
        dropout: bool = false => model("Dropout").advanced(),
        /// 0 with rotary positions
        learned_positions: u64 = 0 => model("Learned positions").unit("rows").count(0, 1 << 26, Double).advanced(),
        /// multi-token-prediction modules after the last layer
        mtp_modules: u64 = 0 => model("MTP modules").count(0, 64, By(1.0)).advanced(),
        /// kinds of layers, repeated to model.layers: (Wd*5,Ad)*10, MEM*E; unset: one kind behind the leading dense
        /// layers
        pattern: Pattern = Pattern::UNIFORM => model("Layer pattern").advanced(),
        /// what this model is called on the page and in reports
        name: PhantomData<String> = PhantomData => model("Model name").advanced(),
        /// of Megatron-LM, that change no figure, as the model's config.json has them: --rotary-base 500000
        arguments: PhantomData<String> = PhantomData => model("Launch arguments").advanced(),
        /// keys that a query of a sliding-window layer meets, its own included
        window: u64 = 0 => model("Window").unit("tokens").count(0, 1 << 30, Double).advanced(),
        /// tokens that attention of a chunked layer stays in
        chunk: u64 = 0 => model("Attention chunk").unit("tokens").count(0, 1 << 30, Double).advanced(),
        /// 0: as the head width
        value_head_dim: u64 = 0 => model("Head width, value (GQA)").count(0, 1 << 16, Double).advanced(),
        /// a learned logit per head, which takes part in every softmax
        sinks: bool = false => model("Attention sinks").advanced(),
        /// the output of attention is multiplied by a gate as wide as itself
        output_gate: bool = false => model("Output gate").advanced(),
        /// heads of layers of the second shape
        second: Option<SecondHeads> = None,
        /// selection of the keys of sparse attention
        indexer: Option<Indexer> = None,
        /// Mamba-2 layers
        mamba: Option<Mamba> = None,
        /// gated delta nets
        delta_net: Option<DeltaNet> = None,
        /// Kimi delta attention
        kda: Option<Kda> = None,
        /// attention over compressed keys
        compressed: Option<Compressed> = None,
        /// mixture of experts
        moe: Option<Moe> = None,
        /// latent attention
        mla: Option<Mla> = None,
        /// vision tower
        vision: Option<Vision> = None,
    }
}

impl Architecture {
    /// A dense Llama-style model (RMSNorm, SwiGLU, no biases, untied embeddings); the shapes that differ are given.
    pub const fn llama(layers: u64, hidden: u64, ffn: u64, heads: u64, kv_heads: u64, vocab: u64) -> Self {
        let head_dim = hidden / heads;
        Self { layers, hidden, ffn, heads, kv_heads, head_dim, vocab, ..Self::BARE }
    }

    /// A dense GPT-style model: LayerNorm, two-matrix FFN of 4 h, biases, tied embeddings, learned positions.
    pub const fn gpt(layers: u64, hidden: u64, heads: u64, vocab: u64, positions: u64) -> Self {
        Self {
            gated_ffn: false,
            tied_embeddings: true,
            norm: Norm::Layer,
            biases: Biases::All,
            dropout: true,
            learned_positions: positions,
            ..Self::llama(layers, hidden, 4 * hidden, heads, heads, vocab)
        }
    }

    /// Layers that route their FFN over experts.
    pub fn moe_layers(&self) -> u64 {
        let kinds = self.all_kinds();
        let routed = kinds.iter().filter(|(kind, _)| kind.ffn.is_routed());
        routed.map(|(_, count)| *count).sum()
    }
    /// Width of queries (and of the attention output) over all heads.
    pub(crate) fn query_width(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Ranks of `tp` that cut keys and values of the first and of the second shape of heads: one for each head at most.
    /// Latent attention makes as many of them as of queries.
    pub(crate) fn key_value_ranks(&self, tp: u64) -> [u64; 2] {
        let first = if self.mla.is_some() { self.heads } else { self.kv_heads };
        let second = self.second.map_or(first, |second| second.kv_heads);
        [first, second].map(|heads| tp.min(heads).max(1))
    }
}
