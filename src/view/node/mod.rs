//! The view tree: what a panel shows, as data. The page patches it into the document in place
//! (`web::document::render`), static pages and native tests read it as HTML text.

pub mod action;
pub mod figure;
mod fold;
pub mod glossary;
mod html;
pub mod markup;
pub mod patch;
mod tree;

pub use tree::{Element, Node};
