//! Requests of the page to the second module, which is loaded on first use: it reads and writes other programs' settings,
//! and holds the lessons, the published runs and tables that are not seen first.

use super::export::Order;
use super::import::Question;
use crate::view::cluster::crossing;
use crate::view::learn;
use crate::view::panels::accuracy;
use serde::{Deserialize, Serialize};

/// A question of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Asked {
    /// What a text means; the answer is a [`super::import::Reading`].
    Import(Question),
    /// A Run as a text; the answer is an optional text.
    Export(Order),
    /// A step of a lesson; the answer is a [`learn::Page`].
    Lesson(Box<learn::Question>),
    /// The published runs; the answer is an [`accuracy::Answer`].
    Accuracy(accuracy::Question),
    /// Which groups leave their node; the answer is a [`crate::view::node::Node`].
    Crossings(Box<crossing::Question>),
}
