//! The layers of a model as a sequence of kinds: what mixes the tokens of a layer, and which FFN follows.
//!
//! A uniform model is the sequence of one kind behind its leading dense layers; a [`Pattern`] is any other, and the
//! layers of a model are whole repeats of it. Everything that counts over layers counts over [`Kinds`](super::Kinds).

use crate::field::{MissingParts, PresetShape};
use crate::message::Message;
use crate::t;

/// The operator that mixes the tokens of a layer. `M` is the letter of Megatron-LM's hybrid patterns, the others are
/// ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixer {
    /// No mixer: the layer is an FFN alone.
    None,
    /// `A`: attention over all earlier tokens.
    Full,
    /// `W`: attention over a sliding window.
    Window,
    /// `B`: full attention with the second shape of heads.
    Second,
    /// `C`: attention inside chunks of the sequence.
    Chunked,
    /// `L`: latent attention (MLA).
    Latent,
    /// `S`: latent attention over the keys that an indexer selects (DSA).
    Sparse,
    /// `G`: gated delta net.
    DeltaNet,
    /// `K`: Kimi delta attention.
    Kda,
    /// `M`: Mamba-2.
    Mamba,
    /// `X<r>`: DeepSeek-V4's attention over a window and keys compressed by r; 0: the window alone.
    Compressed(u8),
}

/// The FFN of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ffn {
    /// No FFN: the layer is a mixer alone.
    None,
    /// `d`: one FFN for all tokens.
    Dense,
    /// `e`: routed experts, with the shared ones of the model.
    Experts,
    /// `x`: a dense FFN and routed experts side by side.
    Both,
}

impl Ffn {
    /// True if tokens are routed to experts.
    pub fn is_routed(self) -> bool {
        matches!(self, Self::Experts | Self::Both)
    }
    /// True if one FFN of the dense width takes all tokens.
    pub(crate) fn is_dense(self) -> bool {
        matches!(self, Self::Dense | Self::Both)
    }
}

/// Mixer and FFN of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerKind {
    pub mixer: Mixer,
    pub ffn: Ffn,
}

impl LayerKind {
    /// Full attention and a dense FFN.
    pub(crate) const DENSE: Self = Self::new(Mixer::Full, Ffn::Dense);

    /// A mixer with an FFN behind it.
    pub const fn new(mixer: Mixer, ffn: Ffn) -> Self {
        Self { mixer, ffn }
    }
    /// Its operations, each behind a norm: a mixer, an FFN, or both.
    pub fn operations(self) -> u8 {
        u8::from(self.mixer != Mixer::None) + u8::from(self.ffn != Ffn::None)
    }
    /// A number that no other kind has.
    const fn code(self) -> u32 {
        let ratio = if let Mixer::Compressed(ratio) = self.mixer { ratio } else { 0 };
        u32::from_be_bytes([0, self.mixer.letter(), ratio, self.ffn as u8])
    }
}

impl Mixer {
    /// Its letter in a pattern; 0 for none.
    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Full => b'A',
            Self::Window => b'W',
            Self::Second => b'B',
            Self::Chunked => b'C',
            Self::Latent => b'L',
            Self::Sparse => b'S',
            Self::DeltaNet => b'G',
            Self::Kda => b'K',
            Self::Mamba => b'M',
            Self::Compressed(_) => b'X',
        }
    }
}

/// Kinds that one model may have.
pub(crate) const MAX_KINDS: usize = 8;
/// Runs of equal layers that one period of a pattern may have.
pub(super) const MAX_RUNS: usize = 128;
/// Kinds in a multi-token-prediction module.
pub(super) const MAX_MODULE: usize = 4;
/// Largest number after `*`.
pub(super) const MAX_REPEATS: u32 = 100_000;

/// One period of the layers of a model, as runs of equal layers, and the layers of a multi-token-prediction module.
/// Without runs: a uniform model.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Pattern {
    /// Kinds of its layers and its module, each kind once.
    pub(super) kinds: [LayerKind; MAX_KINDS],
    pub(super) kind_count: usize,
    /// Places in `kinds`, and how many such layers follow each other.
    pub(super) runs: [(u8, u8); MAX_RUNS],
    pub(super) run_count: usize,
    /// Places in `kinds` of the module's layers.
    pub(super) module: [u8; MAX_MODULE],
    pub(super) module_count: usize,
    /// Modules that the text writes.
    pub(super) modules: u64,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{self}")
    }
}

/// Read together with the layers that it is repeated to, by the Run.
impl PresetShape for Pattern {
    type Parts = Option<String>;
    const STAND_IN: Self = Self::UNIFORM;

    fn resolve(_: &Self::Parts, base: Option<Self>, _: &'static str, _: Option<Self>, _: &mut MissingParts) -> Self {
        base.unwrap_or(Self::UNIFORM)
    }

    fn spelled(self) -> Self::Parts {
        (!self.is_uniform()).then(|| self.to_string())
    }
}

impl Pattern {
    /// No pattern: the model is uniform.
    pub(crate) const UNIFORM: Self = Self {
        kinds: [LayerKind::DENSE; MAX_KINDS],
        kind_count: 0,
        runs: [(0, 0); MAX_RUNS],
        run_count: 0,
        module: [0; MAX_MODULE],
        module_count: 0,
        modules: 0,
    };

    /// The shortest pattern whose repeats these layers are.
    ///
    /// # Errors
    /// Too many kinds of layers, or too many changes between them.
    pub fn of(layers: &[LayerKind]) -> Result<Self, PatternError> {
        let repeats = |period: &usize| {
            let (first, rest) = (&layers[..layers.len() - period], &layers[*period..]);
            layers.len().is_multiple_of(*period) && first == rest
        };
        let period = (1..layers.len()).find(repeats).unwrap_or(layers.len());
        let mut pattern = Self::UNIFORM;
        for kind in &layers[..period] {
            let place = pattern.place(*kind)?;
            match pattern.runs[..pattern.run_count].last_mut() {
                Some((last, count)) if *last == place && *count < u8::MAX => *count += 1,
                _ => pattern.push(place, 1)?,
            }
        }
        Ok(pattern)
    }

    /// True if a model with it is uniform.
    pub const fn is_uniform(&self) -> bool {
        self.run_count == 0
    }

    /// Its runs: a kind and how many layers of it follow each other.
    pub fn runs(&self) -> impl Iterator<Item = (LayerKind, u64)> + Clone + '_ {
        let runs = self.runs[..self.run_count].iter();
        runs.map(|(place, count)| (self.kinds[usize::from(*place)], u64::from(*count)))
    }

    /// Layers of a multi-token-prediction module, where they are said.
    pub fn module(&self) -> impl Iterator<Item = LayerKind> + '_ {
        let module = self.module[..self.module_count].iter();
        module.map(|place| self.kinds[usize::from(*place)])
    }

    /// Multi-token-prediction modules that the text writes after `/`.
    pub const fn modules(&self) -> u64 {
        self.modules
    }

    pub fn layers(&self) -> u64 {
        self.runs().map(|(_, count)| count).sum()
    }

    /// Every layer's kind, in order.
    pub fn iter(&self) -> impl Iterator<Item = LayerKind> + '_ {
        self.runs().flat_map(|(kind, count)| (0..count).map(move |_| kind))
    }

    /// The shortest pattern whose repeats it is: `(We,Ae)*18` is `We,Ae`.
    pub fn shortest(&self) -> Self {
        let layers: Vec<LayerKind> = self.iter().collect();
        let module: Vec<LayerKind> = self.module().collect();
        let short = Self::of(&layers).and_then(|short| short.with_module(&module, self.modules));
        short.unwrap_or(*self)
    }

    /// The pattern with `modules` multi-token-prediction modules of the layers `module`.
    ///
    /// # Errors
    /// Too many layers, or layers of too many kinds.
    pub(crate) fn with_module(mut self, module: &[LayerKind], modules: u64) -> Result<Self, PatternError> {
        if module.len() > MAX_MODULE {
            return Err(PatternError::Module(0));
        }
        for (layer, kind) in module.iter().enumerate() {
            self.module[layer] = self.place(*kind)?;
        }
        (self.module_count, self.modules) = (module.len(), modules);
        Ok(self)
    }

    /// Index of `kind` among its kinds, which it joins.
    #[allow(clippy::cast_possible_truncation)] // at most MAX_KINDS
    pub(super) const fn place(&mut self, kind: LayerKind) -> Result<u8, PatternError> {
        let mut at = 0;
        while at < self.kind_count {
            if self.kinds[at].code() == kind.code() {
                return Ok(at as u8);
            }
            at += 1;
        }
        if at == MAX_KINDS {
            return Err(PatternError::Kinds);
        }
        self.kinds[at] = kind;
        self.kind_count += 1;
        Ok(at as u8)
    }

    pub(super) const fn push(&mut self, place: u8, count: u8) -> Result<(), PatternError> {
        if self.run_count == MAX_RUNS {
            return Err(PatternError::Runs);
        }
        self.runs[self.run_count] = (place, count);
        self.run_count += 1;
        Ok(())
    }
}

/// Why a text is no pattern, and the letter where it stops being one (0-based).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// A letter that no layer begins with.
    Letter(usize),
    /// `*` without a number from 1, or with one too large.
    Repeats(usize),
    /// A bracket without its other half, or nothing inside.
    Bracket(usize),
    /// `X` without its ratio.
    Ratio(usize),
    /// Multi-token-prediction modules that differ, or are none or too many layers.
    Module(usize),
    /// More runs of equal layers than are read.
    Runs,
    /// More kinds of layers than one model may have.
    Kinds,
    /// No layer at all.
    Empty,
}

impl PatternError {
    pub fn message(self, text: &str) -> Message {
        let at = |at: usize| text.chars().nth(at).map_or_else(String::new, String::from);
        match self {
            Self::Letter(place) => t!(
                "\"{letter}\" at {place} is no layer: write a mixer (A W B C L S G K M X<ratio>) and an FFN (d e x), \
                    as in (Wd*5,Ad)*10, or Megatron's letters (M * E -)",
                letter = at(place),
                place = place as u64 + 1
            ),
            Self::Repeats(place) => t!(
                "the * at {place} takes a number from 1 to {MAX_REPEATS}",
                place = place as u64 + 1,
                MAX_REPEATS = u64::from(MAX_REPEATS)
            ),
            Self::Bracket(place) => {
                t!("the bracket at {place} has no other half, or nothing inside", place = place as u64 + 1)
            }
            Self::Ratio(place) => {
                t!("the X at {place} takes its compression from 0 to 255, as in X4e", place = place as u64 + 1)
            }
            Self::Module(place) => t!(
                "the / at {place} begins a module of one to four layers; all modules are alike",
                place = place as u64 + 1
            ),
            Self::Runs => t!(
                "more than {MAX_RUNS} changes of kind: write one period, model.layers repeats it",
                MAX_RUNS = MAX_RUNS as u64
            ),
            Self::Kinds => t!("more than {MAX_KINDS} kinds of layers", MAX_KINDS = MAX_KINDS as u64),
            Self::Empty => t!("a pattern needs a layer: Ad is attention with a dense FFN"),
        }
    }
}
