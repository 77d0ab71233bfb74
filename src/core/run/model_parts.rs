//! The shapes and the layers of a model as a Run sets them, together with those of a preset.

use super::ModelParts;
use super::based::{Based, Preset, title};
use super::presets::{self, MODELS};
use crate::field::{Choice, MissingParts};
use crate::issue::Issue;
use crate::message::{Message, verbatim};
use crate::model::{Architecture, Compressed, Ffn, LayerKind, Mixer, MoeParts, Pattern, PatternError, VisionEncoder};
use crate::t;
use std::borrow::Cow;

/// An issue for every part that a layer of the pattern needs and the model does not have.
fn check_kinds(model: &Architecture, missing: &mut MissingParts) {
    let (layers, modules) = (model.all_kinds(), model.module_kinds());
    let others = modules.iter().filter(|(kind, _)| layers.iter().all(|(known, _)| known != kind));
    for (kind, _) in layers.iter().chain(others) {
        for key in needs(model, *kind) {
            let kind = kind.to_string();
            let message = t!("layers {kind} of model.pattern need it", kind);
            missing.issue(Issue::error(key, message));
        }
    }
}

/// The fields that a layer of `kind` needs and `model` does not have.
fn needs(model: &Architecture, kind: LayerKind) -> impl Iterator<Item = &'static str> {
    let mixer = match kind.mixer {
        Mixer::Window => ("model.window", model.window > 0),
        Mixer::Chunked => ("model.chunk", model.chunk > 0),
        Mixer::Second => ("model.second.head_dim", model.second.is_some()),
        Mixer::Latent => ("model.mla.kv_lora_rank", model.mla.is_some()),
        Mixer::Sparse if model.mla.is_none() => ("model.mla.kv_lora_rank", false),
        Mixer::Sparse => ("model.dsa.top_k", model.indexer.is_some()),
        Mixer::DeltaNet => ("model.gdn.value_heads", model.delta_net.is_some()),
        Mixer::Kda => ("model.kda.heads", model.kda.is_some()),
        Mixer::Mamba => ("model.mamba.heads", model.mamba.is_some()),
        Mixer::Compressed(_) if model.window == 0 => ("model.window", false),
        Mixer::Compressed(Compressed::INDEXED) if model.indexer.is_none() => ("model.dsa.top_k", false),
        Mixer::Compressed(_) => ("model.csa.q_lora_rank", model.compressed.is_some()),
        Mixer::None | Mixer::Full => ("", true),
    };
    let ffn = ("model.moe.experts", model.moe.is_some() || !kind.ffn.is_routed());
    [mixer, ffn].into_iter().filter_map(|(key, there)| (!there).then_some(key))
}

impl Preset for ModelParts {
    fn presets() -> Vec<Choice> {
        MODELS.iter().map(|preset| preset.choice).collect()
    }
}

impl Based<ModelParts> {
    /// The shapes meant.
    ///
    /// # Errors
    /// One issue for every shape that is not set.
    pub fn resolve(&self) -> Result<Architecture, Vec<Issue>> {
        let mut base = self.base.and_then(presets::model).map(|preset| preset.architecture);
        let mut missing = MissingParts::default();
        let (pattern, layers) = self.layers(base, &mut missing);
        let mut parts = Cow::Borrowed(&self.parts);
        // Nothing to share without heads of a second shape.
        let second = &parts.second;
        let has_second =
            base.is_some_and(|base| base.second.is_some()) || second.kv_heads.or(second.head_dim).is_some();
        if second.shared_kv.is_some() && !has_second {
            parts.to_mut().second.shared_kv = None;
        }
        if parts.moe.experts.is_some_and(|experts| experts < 2) {
            parts.to_mut().moe = MoeParts::default();
            base = base.map(|base| Architecture { moe: None, ..base });
        }
        if let Some(base) = &mut base {
            parts.release(base);
        }
        if let Some(encoder) = parts.vision.base.and_then(VisionEncoder::shape) {
            let vision = parts.vision.over(Some(encoder), &mut missing);
            parts.to_mut().vision = vision.into();
        }
        let mut model = parts.over(base, &mut missing);
        (model.pattern, model.layers) = (pattern, layers);
        if parts.mtp_modules.is_none() && parts.pattern.is_some() && pattern.modules() > 0 {
            model.mtp_modules = pattern.modules();
        }
        check_kinds(&model, &mut missing);
        missing.done(model)
    }

    /// Its name on the page: its own, else the preset's, "modified" where shapes differ; where none is named, the
    /// preset that has the same shapes.
    pub fn title(&self) -> Message {
        let name = self.base.and_then(presets::model).map(|preset| preset.choice.label);
        if let Some(given) = &self.parts.name {
            return verbatim(given.clone());
        }
        if name.is_none() {
            match self.alike()[..] {
                [] => {}
                [only] => return verbatim(only),
                [first, ..] => return t!("shapes of {name}", name = verbatim(first)),
            }
        }
        title(name, "own model", self.as_published().is_none())
    }

    /// Names of the presets that have exactly these shapes.
    fn alike(&self) -> Vec<&'static str> {
        let Ok(own) = self.resolve() else { return Vec::new() };
        MODELS.iter().filter(|preset| preset.architecture == own).map(|preset| preset.choice.label).collect()
    }

    /// The preset whose shapes these are, where one is named.
    pub fn as_published(&self) -> Option<&'static str> {
        let shapes = |model: &Self| model.resolve().ok();
        self.base.filter(|_| !self.is_changed() || shapes(self).is_some_and(|own| shapes(&self.bare()) == Some(own)))
    }

    /// The pattern that was said, else the preset's, and the layers: as said, else those that the pattern writes, else
    /// the preset's; whole repeats of the pattern.
    fn layers(&self, base: Option<Architecture>, missing: &mut MissingParts) -> (Pattern, u64) {
        let parts = &self.parts;
        let kept = base.map_or(Pattern::UNIFORM, |m| m.pattern);
        let written = parts.pattern.as_deref().map(|text| {
            Pattern::parse(text).map_err(|error| {
                missing.issue(Issue::error("model.pattern", error.message(text)));
            })
        });
        let (pattern, own) = match written {
            Some(Ok(pattern)) => (pattern.shortest(), Some(pattern.layers())),
            Some(Err(())) => (Pattern::UNIFORM, Some(1)),
            None => (kept, base.map(|m| m.layers)),
        };
        let layers = parts.layers.or(own).unwrap_or_else(|| missing.need("model.layers"));
        let period = pattern.layers().max(1);
        if !layers.is_multiple_of(period) {
            let message = t!("{layers} layers are no whole repeats of the pattern of {period}", layers, period);
            let nearest = (layers / period).max(1);
            let whole = [nearest * period, (nearest + 1) * period];
            let issue = Issue::error("model.layers", message);
            missing.issue(issue.with_near("model.layers", layers, whole));
        }
        (pattern, layers)
    }
}

impl ModelParts {
    /// Derives sizes of `base` anew from the sizes that are set here, if `base` derives them too.
    fn release(&self, base: &mut Architecture) {
        let head_dim = |hidden, heads| hidden / u64::max(heads, 1);
        if base.head_dim * base.heads == base.hidden {
            base.head_dim = head_dim(self.hidden.unwrap_or(base.hidden), self.heads.unwrap_or(base.heads));
        }
        // Heads without key-value heads beside them have one of those each.
        base.kv_heads = self.heads.unwrap_or(base.kv_heads);
        let Some(moe) = &mut base.moe else { return };
        // A preset's groups are of its own experts, its leading dense layers of its own pattern.
        if self.moe.experts.or(self.moe.top_k).is_some() {
            (moe.groups, moe.top_groups) = (1, 1);
        }
        // A token may go to all groups, unless it is told to fewer.
        moe.top_groups = self.moe.groups.unwrap_or(moe.top_groups);
        if self.pattern.is_some() {
            moe.dense_layers = 0;
        }
    }

    /// Takes the kinds of all layers: leading dense layers before one kind with experts, or a pattern.
    ///
    /// # Errors
    /// The issue of layers that are too many for a pattern.
    pub fn set_kinds(&mut self, kinds: &[LayerKind]) -> Result<(), PatternError> {
        let routed = |kind: &LayerKind| kind.ffn == Ffn::Experts;
        let dense = kinds.iter().take_while(|kind| !routed(kind)).count();
        let (first, rest) = kinds.split_at(dense);
        let mixers = [Mixer::Full, Mixer::Latent, Mixer::Sparse];
        let like = |kind: &LayerKind| mixers.contains(&kind.mixer) && kind.mixer == kinds[0].mixer;
        let uniform =
            kinds.iter().all(like) && first.iter().all(|kind| kind.ffn == Ffn::Dense) && rest.iter().all(routed);
        if uniform {
            self.moe.dense_layers = self.moe.experts.map(|_| dense as u64);
        } else {
            self.moe.dense_layers = self.moe.dense_layers.map(|_| 0);
            self.pattern = Some(Pattern::of(kinds)?.to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::run::{Based, Run};

    /// Shapes of Llama 3 8B (Grattafiori et al. 2024, table 3; vocabulary: section 3.2), each set by itself: the preset
    /// with the same shapes is named. With another width none is.
    #[test]
    fn a_model_that_names_no_preset_is_called_by_its_shapes() {
        let sizes = [
            ("model.layers", "32"),
            ("model.hidden", "4096"),
            ("model.ffn", "14336"),
            ("model.heads", "32"),
            ("model.kv_heads", "8"),
            ("model.vocab", "128256"),
        ];
        let none = Run { model: Based::default(), ..Run::default() };
        let run = none.with_texts(&sizes).unwrap();
        assert_eq!(run.model.base, None);
        let title = run.model.title().to_string();
        assert!(title.contains("Llama 3"), "{title}");
        let wider = run.with_texts(&[("model.ffn", "14337")]).unwrap();
        assert_eq!(wider.model.title().to_string(), "own model");
    }
}
