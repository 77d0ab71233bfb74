//! Turns a document that shows one view tree into one that shows another, and touches only what differs: the focus,
//! open folds, selected text and scroll positions of everything else survive.
//!
//! A child is reused by tag and key, else by its place among its like. When children change places, those stay that
//! together weigh most; what holds the focus weighs more than everything else, for moving it would lose the focus.
//!
//! A closed fold shows its summary alone: what it holds is put into the document when it opens, and taken out when it
//! closes.
//!
//! Half of the file are property tests.

use super::action::Press;
use super::glossary;
use crate::node::{Element, Node};
use shardscope_core::message::{Catalogue, Message};
use std::sync::Arc;

/// A document, as far as a patch needs it.
pub trait Document {
    /// A node of it; clones are the same node.
    type Node: Clone + PartialEq;
    /// The language that it is in; messages are translated by it.
    fn catalogue(&self) -> &Catalogue;
    /// A new element; `svg`: of that namespace.
    fn element(&self, tag: &str, svg: bool) -> Self::Node;
    /// A new text.
    fn text(&self, text: &str) -> Self::Node;
    /// A new picture from SVG text.
    fn picture(&self, svg: &str) -> Self::Node;
    fn set_text(&self, node: &Self::Node, text: &str);
    /// Sets an attribute and the property that goes with it, or removes both.
    fn set_attribute(&self, node: &Self::Node, name: &str, value: Option<&str>);
    /// Puts `child` before a sibling, or last; from wherever it was.
    fn insert(&self, parent: &Self::Node, child: &Self::Node, before: Option<&Self::Node>);
    /// Takes a node out. Handlers of the events "blur" and "change" may run meanwhile.
    fn remove(&self, node: &Self::Node);
    /// True if a node holds the focus, itself or inside.
    fn has_focus(&self, node: &Self::Node) -> bool;
    /// True if a `details` element is closed.
    fn is_closed(&self, details: &Self::Node) -> bool;
}

/// A [`Node`] in the document: the document's node for it, and those of its children.
pub struct Mounted<N> {
    node: N,
    view: Node,
    children: Vec<Mounted<N>>,
}

/// Makes `parent`, which shows `old`, show `new`.
pub fn patch<D: Document>(
    document: &D,
    parent: &D::Node,
    old: Vec<Mounted<D::Node>>,
    new: &Node,
) -> Vec<Mounted<D::Node>> {
    let mut flat = Vec::new();
    new.flatten_into(&mut flat);
    children(document, parent, old, &flat, false)
}

/// The action of the innermost element of `shown` that has one, on the way inwards along `path`.
pub fn action_at<'a, N: PartialEq>(shown: &'a [Mounted<N>], path: &[N]) -> Option<&'a Press> {
    let (first, rest) = path.split_first()?;
    let mounted = shown.iter().find(|mounted| mounted.node == *first)?;
    let inner = action_at(&mounted.children, rest);
    inner.or(match &mounted.view {
        Node::Element(element) => element.action.as_ref(),
        _ => None,
    })
}

/// Shows what the fold at the end of `path` holds now: all of it while it is open, its summary alone while it is
/// closed.
pub fn toggle<D: Document>(document: &D, shown: &mut [Mounted<D::Node>], path: &[D::Node]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let Some(mounted) = shown.iter_mut().find(|mounted| mounted.node == *first) else {
        return;
    };
    if !rest.is_empty() {
        return toggle(document, &mut mounted.children, rest);
    }
    if let Node::Element(element) = &mounted.view {
        let inside = std::mem::take(&mut mounted.children);
        // No fold is within a drawing.
        mounted.children = children(document, &mounted.node, inside, seen(document, &mounted.node, element), false);
    }
}

/// The children of `element` that the document shows.
fn seen<'a, D: Document>(document: &D, node: &D::Node, element: &'a Element) -> &'a [Node] {
    match element.children.first() {
        Some(Node::Element(summary))
            if element.tag == "details" && summary.tag == "summary" && document.is_closed(node) =>
        {
            &element.children[..1]
        }
        _ => &element.children,
    }
}

fn children<D: Document>(
    document: &D,
    parent: &D::Node,
    old: Vec<Mounted<D::Node>>,
    new: &[Node],
    svg: bool,
) -> Vec<Mounted<D::Node>> {
    let places = matches(&old, new);
    let stays = staying(document, &old, &places);
    let mut old: Vec<Option<Mounted<D::Node>>> = old.into_iter().map(Some).collect();
    let reused: Vec<_> = places.iter().map(|place| place.and_then(|place| old[place].take())).collect();
    for gone in old.into_iter().flatten() {
        document.remove(&gone.node);
    }
    let mounts: Vec<_> = new
        .iter()
        .zip(reused)
        .map(|(view, mounted)| match mounted {
            Some(mounted) => update(document, mounted, view, svg),
            None => create(document, view, svg),
        })
        .collect();
    let mut next = None;
    for (mounted, stays) in mounts.iter().zip(stays).rev() {
        if !stays {
            document.insert(parent, &mounted.node, next);
        }
        next = Some(&mounted.node);
    }
    mounts
}

/// For each new child the place of the old one that it reuses.
fn matches<N>(old: &[Mounted<N>], new: &[Node]) -> Vec<Option<usize>> {
    let mut used = vec![false; old.len()];
    let mut first = 0;
    let reuse = |view: &Node| {
        while used.get(first) == Some(&true) {
            first += 1;
        }
        let mut places = first..old.len();
        let place = places.find(|place| !used[*place] && alike(&old[*place].view, view))?;
        used[place] = true;
        Some(place)
    };
    new.iter().map(reuse).collect()
}

fn alike(old: &Node, new: &Node) -> bool {
    match (old, new) {
        (Node::Element(old), Node::Element(new)) => old.tag == new.tag && old.key == new.key,
        (Node::Text(_), Node::Text(_)) => true,
        (old, new) => old == new,
    }
}

/// New children that stay in place: of those reused, the ones in their old order that together weigh most.
fn staying<D: Document>(document: &D, old: &[Mounted<D::Node>], places: &[Option<usize>]) -> Vec<bool> {
    let mut stays: Vec<bool> = places.iter().map(Option::is_some).collect();
    let reused: Vec<(usize, usize)> =
        places.iter().enumerate().filter_map(|(at, place)| Some((at, (*place)?))).collect();
    if reused.is_sorted_by_key(|(_, place)| *place) {
        return stays;
    }
    // The heaviest run that ends with each, and the one before it in that run.
    let mut runs: Vec<(usize, Option<usize>)> = Vec::with_capacity(reused.len());
    for (at, (_, place)) in reused.iter().enumerate() {
        let weight = if document.has_focus(&old[*place].node) { usize::MAX / 2 } else { size(&old[*place]) };
        let before = (0..at).filter(|before| reused[*before].1 < *place);
        let before = before.max_by_key(|before| runs[*before].0);
        let run = before.map_or(0, |before| runs[before].0);
        runs.push((weight + run, before));
    }
    let mut end = (0..runs.len()).max_by_key(|at| runs[*at].0);
    stays.fill(false);
    while let Some(at) = end {
        stays[reused[at].0] = true;
        end = runs[at].1;
    }
    stays
}

fn say<D: Document>(document: &D, message: &Message) -> String {
    message.translated(document.catalogue())
}

fn size<N>(mounted: &Mounted<N>) -> usize {
    1 + mounted.children.iter().map(size).sum::<usize>()
}

fn create<D: Document>(document: &D, view: &Node, svg: bool) -> Mounted<D::Node> {
    let (node, inside) = match view {
        Node::Element(element) => {
            let svg = svg || element.tag == "svg";
            let node = document.element(element.tag, svg);
            for (name, value) in &element.attributes {
                document.set_attribute(&node, name, Some(&say(document, value)));
            }
            let inside = children(document, &node, Vec::new(), seen(document, &node, element), svg);
            (node, inside)
        }
        Node::Text(message) => (document.text(&say(document, message)), Vec::new()),
        Node::Prose(message) => {
            let sentence = glossary::marked(message, document.catalogue());
            let mounted = create(document, &sentence, svg);
            (mounted.node, mounted.children)
        }
        Node::Picture(svg) => (document.picture(svg), Vec::new()),
        // Children are flat.
        Node::List(_) => (document.text(""), Vec::new()),
    };
    Mounted { node, view: view.clone(), children: inside }
}

fn update<D: Document>(document: &D, mounted: Mounted<D::Node>, view: &Node, svg: bool) -> Mounted<D::Node> {
    let Mounted { node, view: before, children: inside } = mounted;
    let inside = match (&before, view) {
        (Node::Element(old), Node::Element(new)) if !Arc::ptr_eq(old, new) => {
            attributes(document, &node, old, new);
            let svg = svg || new.tag == "svg";
            children(document, &node, inside, seen(document, &node, new), svg)
        }
        (Node::Text(old), Node::Text(new)) if old != new => {
            document.set_text(&node, &say(document, new));
            inside
        }
        _ => inside,
    };
    Mounted { node, view: view.clone(), children: inside }
}

fn attributes<D: Document>(document: &D, node: &D::Node, old: &Element, new: &Element) {
    for (name, _) in &old.attributes {
        if new.attribute(name).is_none() {
            document.set_attribute(node, name, None);
        }
    }
    for (name, value) in &new.attributes {
        if old.attribute(name) != Some(value) {
            document.set_attribute(node, name, Some(&say(document, value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::markup::{Action, el, text};
    use super::*;
    use proptest::prelude::*;
    use shardscope_core::message::verbatim;
    use std::cell::RefCell;

    /// A document in memory: nodes by number, with what was done to them.
    #[derive(Default)]
    struct Page {
        nodes: RefCell<Vec<Item>>,
        focus: RefCell<Option<usize>>,
        /// Nodes that were put somewhere, taken out or changed.
        touched: RefCell<Vec<usize>>,
        catalogue: Catalogue,
    }

    #[derive(Clone, Default)]
    struct Item {
        name: String,
        attributes: Vec<(String, String)>,
        parent: Option<usize>,
        children: Vec<usize>,
    }

    impl Page {
        fn add(&self, name: &str) -> usize {
            let mut nodes = self.nodes.borrow_mut();
            let name = name.to_owned();
            nodes.push(Item { name, ..Item::default() });
            nodes.len() - 1
        }
        fn write(&self, node: usize) -> String {
            let item = self.nodes.borrow()[node].clone();
            let mut attributes = item.attributes;
            attributes.sort();
            let inside: Vec<_> = item.children.iter().map(|child| self.write(*child)).collect();
            format!("<{} {attributes:?}>{}", item.name, inside.join(""))
        }
        fn detach(&self, node: usize) {
            let mut nodes = self.nodes.borrow_mut();
            if let Some(parent) = nodes[node].parent.take() {
                nodes[parent].children.retain(|child| *child != node);
            }
        }
        fn holds(&self, node: usize, mut inner: usize) -> bool {
            let nodes = self.nodes.borrow();
            while inner != node {
                match nodes[inner].parent {
                    Some(parent) => inner = parent,
                    None => return false,
                }
            }
            true
        }
        fn touch(&self, node: usize) {
            self.touched.borrow_mut().push(node);
        }
    }

    impl Document for Page {
        type Node = usize;
        fn catalogue(&self) -> &Catalogue {
            &self.catalogue
        }
        fn element(&self, tag: &str, svg: bool) -> usize {
            self.add(&format!("{tag}{}", if svg { " svg" } else { "" }))
        }
        fn text(&self, text: &str) -> usize {
            self.add(&format!("#{text}"))
        }
        fn picture(&self, svg: &str) -> usize {
            self.add(&format!("!{svg}"))
        }
        fn set_text(&self, node: &usize, text: &str) {
            self.touch(*node);
            self.nodes.borrow_mut()[*node].name = format!("#{text}");
        }
        fn set_attribute(&self, node: &usize, name: &str, value: Option<&str>) {
            self.touch(*node);
            let attributes = &mut self.nodes.borrow_mut()[*node].attributes;
            attributes.retain(|(known, _)| known != name);
            attributes.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        }
        fn insert(&self, parent: &usize, child: &usize, before: Option<&usize>) {
            self.touch(*child);
            self.detach(*child);
            let mut nodes = self.nodes.borrow_mut();
            let siblings = &nodes[*parent].children;
            let end = siblings.len();
            let at = before.map_or(end, |before| {
                let mut others = siblings.iter();
                others.position(|one| one == before).expect("a sibling")
            });
            nodes[*parent].children.insert(at, *child);
            nodes[*child].parent = Some(*parent);
        }
        fn remove(&self, node: &usize) {
            self.touch(*node);
            self.detach(*node);
        }
        fn has_focus(&self, node: &usize) -> bool {
            let focus = *self.focus.borrow();
            focus.is_some_and(|focus| self.holds(*node, focus))
        }
        fn is_closed(&self, details: &usize) -> bool {
            !self.nodes.borrow()[*details].attributes.iter().any(|(name, _)| name == "open")
        }
    }

    /// Trees of a few tags, some with keys that are unique among their siblings.
    fn tree() -> impl Strategy<Value = Node> {
        let leaf = prop_oneof![
            "[a-c]{0,2}".prop_map(|said| text(verbatim(&said))),
            "[xy]".prop_map(|svg| Node::Picture(svg.as_str().into())),
        ];
        leaf.prop_recursive(4, 60, 8, |inner| {
            let tag = prop_oneof![Just("p"), Just("b"), Just("svg")];
            let children = prop::collection::vec((inner, 0..12usize), 0..8);
            (tag, "[uv]{0,1}", children).prop_map(|(tag, class, children)| {
                let mut seen = Vec::new();
                let keyed = children.into_iter().map(|(child, key)| {
                    if key > 5 || seen.contains(&key) {
                        return child;
                    }
                    seen.push(key);
                    child.keyed(&key.to_string())
                });
                el(tag, &[("class", &class)], &keyed.collect::<Vec<_>>())
            })
        })
    }

    fn mount(page: &Page, view: &Node) -> (usize, Vec<Mounted<usize>>) {
        let root = page.add("root");
        (root, patch(page, &root, Vec::new(), view))
    }

    proptest! {
        /// Whatever was shown before, a patched document is the same as one that was built for the view.
        #[test]
        fn a_patched_document_is_the_fresh_one(
            views in prop::collection::vec(tree(), 2..6),
            focus: prop::sample::Index
        ) {
            let page = Page::default();
            let (root, mut shown) = mount(&page, &views[0]);
            for view in &views[1..] {
                let count = page.nodes.borrow().len();
                *page.focus.borrow_mut() = Some(focus.index(count));
                shown = patch(&page, &root, shown, view);
                let fresh = Page::default();
                let (other, _) = mount(&fresh, view);
                prop_assert_eq!(page.write(root), fresh.write(other));
                page.touched.borrow_mut().clear();
                shown = patch(&page, &root, shown, view);
                prop_assert!(page.touched.borrow().is_empty(), "the same view touches nothing");
            }
        }

        /// Rows that change places, come and go keep their nodes; the one with the focus is not even moved.
        #[test]
        fn rows_keep_their_nodes_and_the_focus_stays(
            first in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(),
            second in Just((0..12usize).collect::<Vec<_>>()).prop_shuffle(),
            left in 1..12usize,
            focus in 0..9usize,
        ) {
            let rows = |order: &[usize]| -> Node {
                let row = |key: &usize| {
                    el("tr", &[], &[el("td", &[], &[text(verbatim(key.to_string()))])]).keyed(&key.to_string())
                };
                order.iter().map(row).collect()
            };
            let page = Page::default();
            let (root, shown) = mount(&page, &rows(&first));
            let nodes: Vec<usize> = shown.iter().map(|row| row.node).collect();
            let cell = page.nodes.borrow()[nodes[focus]].children[0];
            *page.focus.borrow_mut() = Some(cell);
            page.touched.borrow_mut().clear();
            let second = &second[..left];
            let patched = patch(&page, &root, shown, &rows(second));
            for (key, row) in second.iter().zip(&patched) {
                if let Some(at) = first.iter().position(|known| known == key) {
                    prop_assert_eq!(row.node, nodes[at]);
                }
            }
            if second.contains(&first[focus]) {
                prop_assert!(!page.touched.borrow().contains(&nodes[focus]));
            }
        }
    }

    #[test]
    fn a_change_touches_nothing_else() {
        let panel = |figure: &'static str, class: &str| {
            let fold = el("details", &[], &[text("fold")]).keyed("fold");
            let cell = el("td", &[("class", class)], &[text(figure)]);
            Node::from_iter([text("before"), cell, fold])
        };
        let page = Page::default();
        let (root, shown) = mount(&page, &panel("1", ""));
        let figure = shown[1].children[0].node;
        page.touched.borrow_mut().clear();
        let patched = patch(&page, &root, shown, &panel("2", ""));
        assert_eq!(*page.touched.borrow(), [figure]);
        let cell = patched[1].node;
        page.touched.borrow_mut().clear();
        patch(&page, &root, patched, &panel("2", "peak"));
        assert_eq!(*page.touched.borrow(), [cell]);
    }

    #[test]
    fn a_fold_holds_its_contents_while_it_is_open() {
        let view = |figure: &'static str| {
            let inner = super::super::markup::fold("inner", text("deep"));
            let fold = super::super::markup::fold("outer", Node::from_iter([text(figure), inner]));
            el("section", &[], &[fold])
        };
        let page = Page::default();
        let (root, mut shown) = mount(&page, &view("1"));
        let outer = shown[0].children[0].node;
        let path = [shown[0].node, outer];
        let texts = |page: &Page| page.write(root).matches('#').count();
        assert_eq!(texts(&page), 1, "the summary: {}", page.write(root));
        page.set_attribute(&outer, "open", Some(""));
        toggle(&page, &mut shown, &path);
        assert_eq!(texts(&page), 3, "both summaries and the figure: {}", page.write(root));
        // What changes behind it does not close it, and a closed one stays empty.
        shown = patch(&page, &root, shown, &view("2"));
        assert!(page.write(root).contains("#2") && !page.write(root).contains("deep"));
        page.set_attribute(&outer, "open", None);
        toggle(&page, &mut shown, &path);
        shown = patch(&page, &root, shown, &view("3"));
        assert_eq!((texts(&page), shown.len()), (1, 1), "{}", page.write(root));
        // A path that leads nowhere changes nothing.
        toggle(&page, &mut shown, &[outer]);
        toggle(&page, &mut shown, &[]);
        assert_eq!(texts(&page), 1);
    }

    #[test]
    fn a_press_does_what_the_innermost_element_says() {
        let inner = el("b", &[], &[text("word")]);
        let button = el("button", &[], &[inner, text("more")]).on(Action::Undo);
        let page = Page::default();
        let (_, shown) = mount(&page, &el("p", &[], &[button, text("beside")]));
        let paragraph = &shown[0];
        let button = &paragraph.children[0];
        let word = &button.children[0];
        let path = [paragraph.node, button.node, word.node];
        assert_eq!(action_at(&shown, &path), Some(&Action::Undo.into()));
        assert_eq!(action_at(&shown, &[paragraph.node]), None);
        let beside = [paragraph.node, paragraph.children[1].node];
        assert_eq!(action_at(&shown, &beside), None);
    }
}
