//! Building blocks of the plan: its buttons, chips and folds.

use crate::node::action::PlanFold;
use crate::prelude::*;
use shardscope_core::search::session::{PlanCommand, PlanQuery, PlanResult};

/// Inputs of the panel's parts.
pub struct PlanView<'a> {
    pub query: &'a PlanQuery,
    /// The answer so far.
    pub result: &'a PlanResult,
    /// The page's run.
    pub own: Option<&'a Evaluation>,
    pub folds: &'a [PlanFold],
    pub unit: MemoryUnit,
}

/// A button for a command.
pub(super) fn button(class: &str, command: PlanCommand, pressed: Option<bool>, label: impl Into<Message>) -> Node {
    let pressed = match pressed {
        Some(true) => "true",
        Some(false) => "false",
        None => "",
    };
    let attributes = [("class", class), ("aria-pressed", pressed)];
    el("button", &attributes, &[text(label)]).on(PanelAction::Plan(command))
}

/// Buttons with their commands and labels.
pub(super) fn buttons(commands: &[(PlanCommand, &'static str)]) -> Node {
    let buttons = commands.iter().map(|(command, label)| button("", *command, None, *label));
    buttons.collect()
}

/// A row of chips behind a name; each with its command and whether it is on.
pub(super) fn chips_of(name: &'static str, chips: impl Iterator<Item = (PlanCommand, bool, Message)>) -> Node {
    let chips = chips.map(|(command, on, label)| button("toggle-link", command, Some(on), label));
    let inside: Node = std::iter::once(faint(name)).chain(chips).collect();
    el("p", &[("class", "chips")], &[inside])
}

/// A fold whose state the page keeps, so that it survives a redraw of the panel.
pub(super) fn fold(view: &PlanView, fold: PlanFold, summary: &'static str, inside: impl FnOnce() -> Node) -> Node {
    toggled_fold(view.folds.contains(&fold), PanelAction::Fold(fold), summary, inside)
}
