//! The GPU of an import: as the options of its batch job or its words name it, else that of the page.

use crate::dialect::programs::{NamedGpu, named_gpu};
use crate::dialect::text::slurm;
use shardscope_core::message::Message;
use shardscope_core::run::{Based, Run};
use shardscope_core::t;

/// No GPU that is known is named.
pub(super) struct NoGpu {
    /// What is said of the page's, which is taken.
    pub why: Message,
}

/// Takes the GPU that a text names: `launch` is the text that starts the program, `words` are those that run. Returns
/// what is said of it.
pub(super) fn gpu_of_text(run: &mut Run, launch: &str, words: &str) -> Result<Message, NoGpu> {
    let (typed, features) = (slurm::gpu_types(launch), slurm::features(launch));
    let asked = typed.iter().chain(&features).find_map(|name| named_gpu(name));
    let named = asked.or_else(|| named_gpu(words));
    let Some(NamedGpu { preset, word, sure }) = named else {
        let gpu = run.gpu.title();
        let why = typed.into_iter().next().map_or_else(
            || t!("the GPU is {gpu}, as on this page: the text does not say", gpu = gpu.clone()),
            |other| t!("the GPU is {gpu}, as on this page: {other} is not known", gpu = gpu.clone(), other),
        );
        return Err(NoGpu { why });
    };
    if run.gpu.base != Some(preset) || run.gpu.is_changed() {
        run.gpu = Based::preset(preset);
    }
    let gpu = run.gpu.title();
    Ok(if sure {
        t!("the GPU is {gpu}, which the text names", gpu)
    } else {
        let word = word.to_ascii_uppercase();
        t!("the GPU is {gpu}: the text names {word} and does not say which kind of it", gpu, word)
    })
}
