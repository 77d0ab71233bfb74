//! View trees in the document: how they are patched in, what wraps them, and the keys of any page.

pub(crate) mod arriving;
pub(crate) mod choice_row;
pub(crate) mod drawer;
pub(crate) mod fold;
pub(crate) mod menu;
pub(crate) mod modal;
pub(crate) mod panel;
pub(crate) mod render;
pub(crate) mod shortcuts;
