//! Kinds of layers of a model, and how many of each are among some of its layers.

use super::architecture::Architecture;
use super::pattern::{Ffn, LayerKind, MAX_KINDS, Mixer};
use std::ops::{Deref, Range};

/// The kinds of some layers, each with how many layers are of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerKinds {
    list: [(LayerKind, u64); MAX_KINDS],
    count: usize,
}

impl LayerKinds {
    const NONE: Self = Self { list: [(LayerKind::DENSE, 0); MAX_KINDS], count: 0 };

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
    /// These and `times` those.
    pub(crate) fn with(mut self, others: &Self, times: u64) -> Self {
        for (kind, layers) in others.iter() {
            self.add(*kind, times * layers);
        }
        self
    }
}

impl Deref for LayerKinds {
    type Target = [(LayerKind, u64)];
    fn deref(&self) -> &Self::Target {
        self.list.get(..self.count).unwrap_or_default()
    }
}

impl Architecture {
    /// Kind of the layers behind the leading dense ones, of a uniform model.
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
    pub fn kind(&self, index: u64) -> LayerKind {
        let kinds = self.kinds(index..index + 1);
        kinds.first().map_or(LayerKind::DENSE, |(kind, _)| *kind)
    }

    /// The kinds among `layers`, in the order in which they first appear.
    pub fn kinds(&self, layers: Range<u64>) -> LayerKinds {
        let mut kinds = LayerKinds::NONE;
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
        // The layers beyond whole repeats, from `first` on, perhaps over the end of the period.
        let rest = first..first + asked % period;
        let runs = self.pattern.runs();
        let mut at = 0;
        for (kind, count) in runs.clone().chain(runs) {
            if repeats == 0 && at >= rest.end {
                break;
            }
            let (start, end) = (at, at + count);
            let inside = rest.end.clamp(start, end) - rest.start.clamp(start, end);
            let whole = if start < period { repeats * count } else { 0 };
            kinds.add(kind, inside + whole);
            at = end;
        }
        kinds
    }

    pub fn all_kinds(&self) -> LayerKinds {
        self.kinds(0..self.layers)
    }

    /// The kinds of the layers of one multi-token-prediction module: as the pattern says, else the last layer's.
    pub(crate) fn module_kinds(&self) -> LayerKinds {
        let mut kinds = LayerKinds::NONE;
        for kind in self.pattern.module() {
            kinds.add(kind, 1);
        }
        if kinds.is_empty() {
            return self.kinds(self.layers.saturating_sub(1)..self.layers);
        }
        kinds
    }

    pub fn any_layer(&self, test: impl Fn(LayerKind) -> bool) -> bool {
        self.all_kinds().iter().any(|(kind, _)| test(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Moe, Pattern};

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
                    let same = (start..end).filter(|i| listed[usize::try_from(*i).unwrap() % listed.len()] == *kind);
                    assert_eq!(same.count() as u64, *count, "{text} {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn a_uniform_model_is_one_kind_behind_its_dense_layers() {
        let model = Architecture {
            moe: Some(Moe { dense_layers: 3, ..Moe::new(256, 8, 2048) }),
            ..Architecture::llama(61, 64, 256, 4, 4, 100)
        };
        let experts = LayerKind::new(Mixer::Full, Ffn::Experts);
        assert_eq!(*model.all_kinds(), [(LayerKind::DENSE, 3), (experts, 58)]);
        assert_eq!(*model.kinds(2..4), [(LayerKind::DENSE, 1), (experts, 1)]);
        assert_eq!(*model.module_kinds(), [(experts, 1)]);
    }
}
