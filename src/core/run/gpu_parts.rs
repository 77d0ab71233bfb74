//! The figures of a GPU as a Run sets them, together with those of a preset.

use super::based::{Based, Preset, title};
use super::presets::{self, GPUS};
use crate::cluster::{Gpu, GpuParts};
use crate::field::{Choice, MissingParts};
use crate::issue::Issue;
use crate::message::Message;
use crate::units::Bytes;

impl Preset for GpuParts {
    fn presets() -> Vec<Choice> {
        GPUS.iter().map(|preset| preset.choice).collect()
    }
}

impl Based<GpuParts> {
    pub fn family(&self) -> Option<presets::GpuFamily> {
        self.base.and_then(presets::gpu).map(|preset| preset.family)
    }
    /// The figures meant.
    ///
    /// # Errors
    /// One issue for every figure that is not set.
    pub fn resolve(&self) -> Result<Gpu, Vec<Issue>> {
        let mut base = self.base.and_then(presets::gpu).map(|preset| preset.gpu);
        if let Some(base) = &mut base {
            // A larger box with the same driver: what the driver keeps stays what it was.
            let memory = self.parts.memory.unwrap_or(base.memory.gib());
            base.usable = Bytes::from_gib((base.usable.gib() + memory - base.memory.gib()).max(0.0));
        }
        let mut missing = MissingParts::default();
        let gpu = self.parts.over(base, &mut missing);
        missing.done(gpu)
    }

    pub fn title(&self) -> Message {
        let name = self.base.and_then(presets::gpu).map(|preset| preset.choice.label);
        title(name, "own GPU", self.is_changed())
    }
}
