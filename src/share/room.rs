//! What the page's dialog shows: import, export, and what else has no place of its own.

use super::export::{Stamp, menu::menu};
use super::import::summary::summary;
use crate::run::Run;
use crate::scene::markup::Html;
use crate::units::MemoryUnit;

/// The dialog's content; `of` names it and says what of it, with a blank between: "export megatron".
#[must_use]
pub fn room(of: &str, run: &Run, stamp: &Stamp, _unit: MemoryUnit) -> Html {
    let (name, of) = of.split_once(' ').unwrap_or((of, ""));
    match name {
        "import" => summary(of, run),
        "export" => menu(run, of, stamp),
        _ => Html::none(),
    }
}
