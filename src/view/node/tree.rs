//! A piece of a view and its element.

use super::action::{Action, Press};
use shardscope_core::message::{Message, verbatim};
use std::sync::Arc;

/// A piece of a view. Parts are shared, so a tree is cheap to clone.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Node {
    /// An element with its children.
    Element(Arc<Element>),
    /// Text for people, in the language of the page where it is shown.
    Text(Arc<Message>),
    /// A sentence whose words of the field say what they mean, as [`glossary::marked`](super::glossary::marked) marks
    /// them.
    Prose(Arc<Message>),
    /// A picture of another writer, as well-formed SVG text.
    Picture(Arc<str>),
    /// Pieces one after the other, without an element around them.
    List(Vec<Node>),
}

/// An element of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its name: `div`.
    pub tag: &'static str,
    /// Its attributes, none of them empty; those that people read (`title`, `aria-label`) are translated.
    pub attributes: Vec<(&'static str, Message)>,
    /// Action of a press on it.
    pub action: Option<Press>,
    /// Key that tells it from its siblings of the same tag, where they may come, go or move.
    pub key: String,
    /// Field of the report that it shows, and whose report it is: see [`figure`](super::figure). The document has no
    /// trace of it.
    pub figure: Option<Arc<(String, String)>>,
    /// Its contents; no lists.
    pub children: Vec<Node>,
}

impl Default for Node {
    fn default() -> Self {
        Self::none()
    }
}

impl Node {
    /// Nothing.
    pub const fn none() -> Self {
        Self::List(Vec::new())
    }

    /// An element that does `action` when it is pressed; anything else stays as it is. Its attribute `data-action` is
    /// for style sheets and tests: the page never reads it.
    pub fn on(self, press: impl Into<Press>) -> Self {
        let press = press.into();
        self.with(|element| {
            element.attributes.push(("data-action", verbatim(press.name())));
            element.action = Some(press);
        })
    }

    /// An element that keeps its identity under `key` when siblings come, go or move.
    pub fn keyed(self, key: &str) -> Self {
        self.with(|element| key.clone_into(&mut element.key))
    }

    /// An element whose attribute `name` says `message`; an empty one is left out.
    pub fn say(self, name: &'static str, message: impl Into<Message>) -> Self {
        let message = message.into();
        if message.is_empty() {
            return self;
        }
        self.with(|element| element.attributes.push((name, message)))
    }

    /// An element with a name for screen readers.
    pub fn label(self, message: impl Into<Message>) -> Self {
        self.say("aria-label", message)
    }

    /// An element that shows `message` under the pointer.
    pub fn title(self, message: impl Into<Message>) -> Self {
        self.say("title", message)
    }

    /// Calls `visit` with every template of the tree: texts and attributes.
    pub fn templates(&self, visit: &mut impl FnMut(&'static str)) {
        match self {
            Self::Element(element) => {
                for (_, message) in &element.attributes {
                    message.templates(visit);
                }
                for child in &element.children {
                    child.templates(visit);
                }
            }
            Self::Text(message) | Self::Prose(message) => message.templates(visit),
            Self::Picture(_) => {}
            Self::List(pieces) => {
                for piece in pieces {
                    piece.templates(visit);
                }
            }
        }
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Element)) -> Self {
        if let Self::Element(element) = &mut self {
            change(Arc::make_mut(element));
        }
        self
    }

    /// Appends this node to `out`, lists piece by piece.
    pub(crate) fn flatten_into(&self, out: &mut Vec<Node>) {
        match self {
            Self::List(pieces) => pieces.iter().for_each(|piece| piece.flatten_into(out)),
            piece => out.push(piece.clone()),
        }
    }

    /// Every press of the tree, in the order of the document.
    pub fn presses(&self) -> Vec<&Press> {
        let mut found = Vec::new();
        self.collect_presses(&mut found);
        found
    }

    /// Every action of the page in the tree, in the order of the document.
    pub fn actions(&self) -> Vec<&Action> {
        let presses = self.presses().into_iter();
        presses
            .filter_map(|press| match press {
                Press::Page(action) => Some(action),
                Press::Panel(_) => None,
            })
            .collect()
    }

    fn collect_presses<'a>(&'a self, found: &mut Vec<&'a Press>) {
        let children = match self {
            Self::Element(element) => {
                found.extend(&element.action);
                &element.children
            }
            Self::List(pieces) => pieces,
            Self::Text(_) | Self::Prose(_) | Self::Picture(_) => return,
        };
        for child in children {
            child.collect_presses(found);
        }
    }
}

impl Element {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Message> {
        let mut attributes = self.attributes.iter();
        attributes.find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl From<Message> for Node {
    fn from(message: Message) -> Self {
        Self::Text(Arc::new(message))
    }
}

impl From<&'static str> for Node {
    fn from(words: &'static str) -> Self {
        Message::plain(words).into()
    }
}

impl FromIterator<Node> for Node {
    fn from_iter<I: IntoIterator<Item = Node>>(pieces: I) -> Self {
        let mut list = Vec::new();
        for piece in pieces {
            match piece {
                Self::List(mut inner) => list.append(&mut inner),
                piece => list.push(piece),
            }
        }
        Self::List(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::markup::{el, text};

    #[test]
    fn an_element_has_no_lists_among_its_children() {
        let pieces = || [text("a"), Node::none(), text("b")];
        let nested = Node::List(vec![Node::List(pieces().into()), Node::from_iter(pieces())]);
        let Node::Element(element) = el("p", &[], &[nested, text("c")]) else {
            panic!("el makes an element");
        };
        assert_eq!(element.children, ["a", "b", "a", "b", "c"].map(text));
    }
}
