//! What the page asks the second module, in which other programs' settings are read and written.

use super::export::Order;
use super::import::Question;
use serde::{Deserialize, Serialize};

/// A question of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Asked {
    /// What a text means; the answer is a [`super::import::Reading`].
    Import(Question),
    /// A Run as a text; the answer is an optional text.
    Export(Order),
}
