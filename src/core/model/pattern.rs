//! The layers of a model as a sequence of kinds: what mixes the tokens of a layer, and which FFN follows.
//!
//! A uniform model is the sequence of one kind behind its leading dense layers; a [`Pattern`] is any other, and the
//! layers of a model are whole repeats of it. Everything that counts over layers counts over [`Kinds`].

use super::architecture::Architecture;
use super::pattern_text::PatternError;
use std::ops::{Deref, Range};

/// What mixes the tokens of a layer. Source of the letters: `reference/architectures.md`, section 1.3; Megatron-LM's
/// hybrid patterns.
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
    /// Whether tokens are routed to experts.
    #[must_use]
    pub fn is_routed(self) -> bool {
        matches!(self, Self::Experts | Self::Both)
    }
    /// Whether one FFN of the dense width takes all tokens.
    #[must_use]
    pub(crate) fn is_dense(self) -> bool {
        matches!(self, Self::Dense | Self::Both)
    }
}

/// What a layer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerKind {
    /// What mixes its tokens.
    pub mixer: Mixer,
    /// Its FFN.
    pub ffn: Ffn,
}

impl LayerKind {
    /// Full attention and a dense FFN.
    pub(crate) const DENSE: Self = Self::new(Mixer::Full, Ffn::Dense);

    /// A mixer with an FFN behind it.
    #[must_use]
    pub const fn new(mixer: Mixer, ffn: Ffn) -> Self {
        Self { mixer, ffn }
    }
    /// Its operations, each behind a norm: a mixer, an FFN, or both.
    #[must_use]
    pub fn operations(self) -> u8 {
        u8::from(self.mixer != Mixer::None) + u8::from(self.ffn != Ffn::None)
    }
    /// A number that no other kind has.
    const fn code(self) -> u32 {
        let mixer = match self.mixer {
            Mixer::None => 0,
            Mixer::Full => 1,
            Mixer::Window => 2,
            Mixer::Second => 3,
            Mixer::Chunked => 4,
            Mixer::Latent => 5,
            Mixer::Sparse => 6,
            Mixer::DeltaNet => 7,
            Mixer::Kda => 8,
            Mixer::Mamba => 9,
            Mixer::Compressed(ratio) => 10 + ratio as u32,
        };
        4 * mixer + self.ffn as u32
    }
}

/// Kinds that one model may have.
pub(crate) const MAX_KINDS: usize = 8;
/// Runs of equal layers that one period of a pattern may have.
pub(super) const MAX_RUNS: usize = 128;
/// Kinds in a multi-token-prediction module.
pub(super) const MAX_MODULE: usize = 4;

/// One period of the layers of a model, as runs of equal layers, and the layers of a multi-token-prediction module.
/// Without runs: a uniform model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// What its layers and its module are, each kind once.
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
    /// Where they are of too many kinds, or change between them too often.
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

    /// Whether a model with it is uniform.
    #[must_use]
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
    #[must_use]
    pub const fn modules(&self) -> u64 {
        self.modules
    }

    /// Its layers.
    #[must_use]
    pub fn layers(&self) -> u64 {
        self.runs().map(|(_, count)| count).sum()
    }

    /// Every layer's kind, in order.
    pub fn iter(&self) -> impl Iterator<Item = LayerKind> + '_ {
        self.runs()
            .flat_map(|(kind, count)| (0..count).map(move |_| kind))
    }

    /// The shortest pattern whose repeats it is: `(We,Ae)*18` is `We,Ae`.
    #[must_use]
    pub fn shortest(&self) -> Self {
        let layers: Vec<LayerKind> = self.iter().collect();
        let module: Vec<LayerKind> = self.module().collect();
        let short = Self::of(&layers).and_then(|short| short.with_module(&module, self.modules));
        short.unwrap_or(*self)
    }

    /// The same with multi-token-prediction modules of these layers.
    ///
    /// # Errors
    /// Where they are too many, or of too many kinds.
    pub(crate) fn with_module(
        mut self,
        module: &[LayerKind],
        modules: u64,
    ) -> Result<Self, PatternError> {
        if module.len() > MAX_MODULE {
            return Err(PatternError::Module(0));
        }
        for (layer, kind) in module.iter().enumerate() {
            self.module[layer] = self.place(*kind)?;
        }
        (self.module_count, self.modules) = (module.len(), modules);
        Ok(self)
    }

    /// Where `kind` stands among its kinds, which it joins.
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

    /// Adds a run.
    pub(super) const fn push(&mut self, place: u8, count: u8) -> Result<(), PatternError> {
        if self.run_count == MAX_RUNS {
            return Err(PatternError::Runs);
        }
        self.runs[self.run_count] = (place, count);
        self.run_count += 1;
        Ok(())
    }
}

/// The kinds of some layers, each with how many layers are of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    list: [(LayerKind, u64); MAX_KINDS],
    count: usize,
}

impl Kinds {
    const NONE: Self = Self {
        list: [(LayerKind::DENSE, 0); MAX_KINDS],
        count: 0,
    };

    fn add(&mut self, kind: LayerKind, layers: u64) {
        if layers == 0 {
            return;
        }
        let (held, free) = self.list.split_at_mut(self.count);
        if let Some((_, sum)) = held.iter_mut().find(|(known, _)| *known == kind) {
            *sum += layers;
        } else if let Some(free) = free.first_mut() {
            *free = (kind, layers);
            self.count += 1;
        }
    }
}

impl Kinds {
    /// These and `times` those.
    #[must_use]
    pub(crate) fn with(mut self, others: &Self, times: u64) -> Self {
        for (kind, layers) in others.iter() {
            self.add(*kind, times * layers);
        }
        self
    }
}

impl Deref for Kinds {
    type Target = [(LayerKind, u64)];
    fn deref(&self) -> &Self::Target {
        self.list.get(..self.count).unwrap_or_default()
    }
}

impl Architecture {
    /// What a layer of a uniform model is behind its leading dense ones.
    fn uniform_kind(&self) -> LayerKind {
        let mixer = match (self.mla, self.indexer) {
            (Some(_), Some(_)) => Mixer::Sparse,
            (Some(_), None) => Mixer::Latent,
            _ if self.window > 0 => Mixer::Window,
            _ if self.chunk > 0 => Mixer::Chunked,
            _ => Mixer::Full,
        };
        let ffn = match self.moe {
            Some(_) => Ffn::Experts,
            None => Ffn::Dense,
        };
        LayerKind { mixer, ffn }
    }

    /// The kind of layer `index` (0-based).
    #[must_use]
    pub fn kind(&self, index: u64) -> LayerKind {
        let kinds = self.kinds(index..index + 1);
        kinds.first().map_or(LayerKind::DENSE, |(kind, _)| *kind)
    }

    /// The kinds among `layers`, in the order in which they first appear.
    #[must_use]
    pub fn kinds(&self, layers: Range<u64>) -> Kinds {
        let mut kinds = Kinds::NONE;
        if layers.is_empty() {
            return kinds;
        }
        if self.pattern.is_uniform() {
            let kind = self.uniform_kind();
            let leading = self.moe.map_or(0, |moe| moe.dense_layers);
            let dense = leading.clamp(layers.start, layers.end) - layers.start;
            kinds.add(LayerKind::new(kind.mixer, Ffn::Dense), dense);
            kinds.add(kind, layers.end - layers.start - dense);
            return kinds;
        }
        let (period, asked) = (self.pattern.layers(), layers.end - layers.start);
        let (repeats, first) = (asked / period, layers.start % period);
        // What is more than whole repeats, from `first` on, perhaps over the end of the period.
        let rest = first..first + asked % period;
        let runs = self.pattern.runs();
        let mut at = 0;
        for (kind, count) in runs.clone().chain(runs) {
            let (start, end) = (at, at + count);
            let inside = rest.end.clamp(start, end) - rest.start.clamp(start, end);
            let whole = if start < period { repeats * count } else { 0 };
            kinds.add(kind, inside + whole);
            at = end;
        }
        kinds
    }

    /// The kinds of all layers.
    #[must_use]
    pub fn all_kinds(&self) -> Kinds {
        self.kinds(0..self.layers)
    }

    /// The kinds of the layers of one multi-token-prediction module: as the pattern says, else the last layer's.
    #[must_use]
    pub(crate) fn module_kinds(&self) -> Kinds {
        let mut kinds = Kinds::NONE;
        for kind in self.pattern.module() {
            kinds.add(kind, 1);
        }
        if kinds.is_empty() {
            return self.kinds(self.layers.saturating_sub(1)..self.layers);
        }
        kinds
    }

    /// Whether its layers are those of a Llama, of a DeepSeek-V3 or of a GPT, whose tensors have formulas of one line.
    #[must_use]
    pub(crate) fn is_plain(&self) -> bool {
        let latent = self.moe.is_some_and(|moe| moe.latent > 0);
        self.pattern.is_uniform()
            && self.indexer.is_none()
            && !self.output_gate
            && self.value_head_dim == 0
            && !latent
    }

    /// Whether any layer satisfies `test`.
    #[must_use]
    pub fn any_layer(&self, test: impl Fn(LayerKind) -> bool) -> bool {
        self.all_kinds().iter().any(|(kind, _)| test(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Moe;

    #[test]
    fn kinds_of_a_range_are_those_of_its_layers_one_by_one() {
        let mut model = Architecture::llama(62, 64, 256, 4, 4, 100);
        for text in ["Wd*5,Ad", "Ad", "MEMEM*E", "Ad,(Wd*3,Ad)*2,Wd", "Wd,Ad,Wd"] {
            model.pattern = Pattern::parse(text).unwrap();
            let listed: Vec<LayerKind> = model.pattern.iter().collect();
            for (start, end) in [(0, 62), (5, 5), (4, 9), (5, 23), (11, 12), (0, 6)] {
                let kinds = model.kinds(start..end);
                assert_eq!(kinds.iter().map(|(_, n)| n).sum::<u64>(), end - start);
                for (kind, count) in kinds.iter() {
                    let same = (start..end)
                        .filter(|i| listed[usize::try_from(*i).unwrap() % listed.len()] == *kind);
                    assert_eq!(same.count() as u64, *count, "{text} {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn a_uniform_model_is_one_kind_behind_its_dense_layers() {
        let model = Architecture {
            moe: Some(Moe {
                dense_layers: 3,
                ..Moe::new(256, 8, 2048)
            }),
            ..Architecture::llama(61, 64, 256, 4, 4, 100)
        };
        let experts = LayerKind::new(Mixer::Full, Ffn::Experts);
        assert_eq!(*model.all_kinds(), [(LayerKind::DENSE, 3), (experts, 58)]);
        assert_eq!(*model.kinds(2..4), [(LayerKind::DENSE, 1), (experts, 1)]);
        assert_eq!(*model.module_kinds(), [(experts, 1)]);
    }
}
