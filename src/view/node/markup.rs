//! The builders of view trees: elements, text, and the parts that panels share.

pub use super::action::{Action, PanelAction, Press};
pub use crate::node::Node;

use crate::node::Element;
use crate::node::action::Save;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::report::Figure;
use shardscope_core::run::Run;
use shardscope_core::source::Source;
use std::sync::Arc;

/// Text for people.
pub fn text(message: impl Into<Message>) -> Node {
    Node::Text(Arc::new(message.into()))
}

/// A sentence whose words of the field say what they mean.
pub(crate) fn prose(message: &Message) -> Node {
    Node::Prose(Arc::new(message.clone()))
}

/// An element with attributes (an empty value leaves one out) and children. What people read in an attribute is said by
/// [`Node::label`], [`Node::title`] or [`Node::say`].
pub fn el(tag: &'static str, attributes: &[(&'static str, &str)], children: &[Node]) -> Node {
    let given = attributes.iter().filter(|(_, value)| !value.is_empty());
    let attributes = given.map(|(key, value)| (*key, verbatim(*value)));
    let mut inside = Vec::with_capacity(children.len());
    for child in children {
        child.flatten_into(&mut inside);
    }
    Node::Element(Arc::new(Element {
        tag,
        attributes: attributes.collect(),
        action: None,
        key: String::new(),
        figure: None,
        children: inside,
    }))
}

/// Output of a writer of its own: an SVG picture.
pub fn raw(svg: &str) -> Node {
    Node::Picture(svg.into())
}

/// An element of a class that holds only text.
pub fn leaf(name: &'static str, class: &str, content: impl Into<Message>) -> Node {
    el(name, &[("class", class)], &[text(content)])
}

/// The title of a panel or page.
pub fn title(words: impl Into<Message>) -> Node {
    leaf("h2", "", words)
}

/// The heading of a part.
pub fn heading(words: impl Into<Message>) -> Node {
    leaf("h3", "", words)
}

/// The heading of a part of a part.
pub fn subheading(words: impl Into<Message>) -> Node {
    leaf("h4", "", words)
}

pub fn paragraph(words: impl Into<Message>) -> Node {
    leaf("p", "", words)
}

/// A paragraph that steps back.
pub fn muted(words: impl Into<Message>) -> Node {
    leaf("p", "muted", words)
}

/// A paragraph that steps back below a table or picture.
pub fn footnote(words: impl Into<Message>) -> Node {
    leaf("p", "muted note", words)
}

/// The words below a picture.
pub fn caption(words: impl Into<Message>) -> Node {
    leaf("figcaption", "muted", words)
}

/// Words within a line.
pub fn inline(words: impl Into<Message>) -> Node {
    leaf("span", "", words)
}

/// Words within a line that step back.
pub fn faint(words: impl Into<Message>) -> Node {
    leaf("span", "muted", words)
}

/// Small words beside others.
pub fn aside(words: impl Into<Message>) -> Node {
    leaf("small", "", words)
}

/// Words that stand out.
pub fn strong(words: impl Into<Message>) -> Node {
    leaf("b", "", words)
}

/// An item of a list.
pub fn bullet(words: impl Into<Message>) -> Node {
    leaf("li", "", words)
}

/// A button that looks like a link.
pub fn link_button(words: impl Into<Message>) -> Node {
    leaf("button", "link", words)
}

/// A length as a style: `left:12.5%`.
pub fn percent(property: &str, share: f64) -> String {
    format!("{property}:{:.3}%", share * 100.0)
}

/// A bar on a track, from the share `start` of its length on, `share` of it long.
pub(crate) fn bar_at(class: &str, start: f64, share: f64) -> Node {
    let place = format!("{};{}", percent("left", start), percent("width", share));
    el("i", &[("class", class), ("style", &place)], &[])
}

/// A range as a bracket from one share of its track to another.
pub(crate) fn bracket(low: f64, high: f64) -> Node {
    let place = format!("{};{}", percent("left", low), percent("width", high - low));
    el("u", &[("style", &place)], &[])
}

/// A table that scrolls sideways where it must; the first column is named, the others are figures. `marked` rows are
/// the ones to notice.
pub fn table<H>(label: impl Into<Message>, head: &[H], rows: &[(bool, Vec<Node>)]) -> Node
where
    for<'a> &'a H: Into<Message>,
{
    // A column of buttons has no name.
    let cell = |name: Message| leaf(if name.is_empty() { "td" } else { "th" }, "", name);
    let (label, names): (Message, Vec<Message>) = (label.into(), head.iter().map(Into::into).collect());
    let head: Node = names.iter().cloned().map(cell).collect();
    let rows: Node = rows
        .iter()
        .enumerate()
        .map(|(row, (marked, cells))| {
            let place = TablePlace { table: &label, names: &names, row, cells };
            let cells: Node = (0..cells.len()).map(|column| place.cell(column)).collect();
            el("tr", &[("class", if *marked { "peak" } else { "" })], &[cells])
        })
        .collect();
    scrolled(label, grid("", head, rows))
}

/// A row of a table.
struct TablePlace<'a> {
    table: &'a Message,
    names: &'a [Message],
    row: usize,
    cells: &'a [Node],
}

impl TablePlace<'_> {
    /// A cell; a figure that says of itself of which field it is keeps that, any other is of its place: table and
    /// column, and the row by its number and name.
    fn cell(&self, column: usize) -> Node {
        let content = &self.cells[column];
        let cell = el("td", &[], std::slice::from_ref(content));
        match content {
            Node::Text(words) if column > 0 && is_figure(words) => {
                let name = self.names.get(column).map(ToString::to_string).unwrap_or_default();
                let field = format!("table {}: {column} {name}", self.table);
                cell.stands_at(field, format!("row {} {}", self.row, self.cells[0].said()))
            }
            _ => cell,
        }
    }
}

/// True if a text begins with a number, behind signs at most.
fn is_figure(words: &Message) -> bool {
    let words = words.to_string();
    words
        .trim_start_matches(['+', '−', '-', '±', '≈', '<', '$', '€', '¥', ' '])
        .starts_with(|c: char| c.is_ascii_digit())
}

/// A table in the making: a row a thing, a column for each of its figures.
pub struct Rows<T> {
    things: Vec<T>,
    head: Vec<Message>,
    lines: Vec<(bool, Vec<Node>)>,
}

impl<T> Rows<T> {
    /// Rows without columns yet.
    pub fn of(things: impl IntoIterator<Item = T>) -> Self {
        let things: Vec<T> = things.into_iter().collect();
        let lines = things.iter().map(|_| (false, Vec::new())).collect();
        Self { things, head: Vec::new(), lines }
    }
    /// Adds a column; `cell` makes its part of a row.
    pub(crate) fn column<C: Into<Node>>(mut self, name: impl Into<Message>, cell: impl Fn(&T) -> C) -> Self {
        self.head.push(name.into());
        for (thing, (_, cells)) in self.things.iter().zip(&mut self.lines) {
            cells.push(cell(thing).into());
        }
        self
    }
    /// Adds a column of figures or names, the same in every language.
    pub(crate) fn figures(self, name: impl Into<Message>, cell: impl Fn(&T) -> String) -> Self {
        self.column(name, |thing| verbatim(cell(thing)))
    }
    /// Marks the rows to notice.
    pub(crate) fn marked(mut self, is_marked: impl Fn(&T) -> bool) -> Self {
        for (thing, (marked, _)) in self.things.iter().zip(&mut self.lines) {
            *marked = is_marked(thing);
        }
        self
    }
    /// The table; `label` names it.
    pub fn table(self, label: impl Into<Message>) -> Node {
        table(label, &self.head, &self.lines)
    }
}

/// A table of rows below a row of heads.
pub(crate) fn grid(class: &str, head: Node, rows: Node) -> Node {
    let parts = [el("thead", &[], &[el("tr", &[], &[head])]), el("tbody", &[], &[rows])];
    el("table", &[("class", class)], &parts)
}

/// Contents wider than some screens, as a region of its own that scrolls sideways; `label` names it.
pub(crate) fn scrolled(label: impl Into<Message>, table: Node) -> Node {
    let region = [("class", "scroll-x"), ("tabindex", "0"), ("role", "region")];
    el("div", &region, &[table]).label(label)
}

/// A panel's head with a group of buttons of which one is chosen: the words before the group and its name, then for
/// each button its action, its text and whether it is chosen. `beside` is at the other end of the head.
pub fn choices(
    [words, label]: [&'static str; 2],
    options: impl IntoIterator<Item = (impl Into<Press>, Message, bool)>,
    beside: Node,
) -> Node {
    let group = [("class", "tools"), ("role", "group")];
    let buttons = options.into_iter().map(|(press, label, chosen)| {
        let attributes = [("class", "toggle-link"), ("aria-pressed", if chosen { "true" } else { "false" })];
        el("button", &attributes, &[text(label)]).on(press)
    });
    let head = [leaf("small", "", words), el("span", &group, &[buttons.collect()]).label(label), beside];
    el("div", &[("class", "panel-head")], &head)
}

/// A fold with a summary line.
pub fn fold(summary: impl Into<Message>, content: Node) -> Node {
    let summary = summary.into();
    let key = summary.to_string();
    let parts = [leaf("summary", "", summary), content];
    el("details", &[("class", "fold")], &parts).keyed(&key)
}

/// A fold that `toggle` opens and closes; its content is computed only while it is `open`.
pub(crate) fn toggled_fold(
    open: bool,
    toggle: impl Into<Press>,
    summary: &'static str,
    content: impl FnOnce() -> Node,
) -> Node {
    let content = if open { content() } else { Node::none() };
    let parts = [leaf("summary", "", summary).on(toggle), content];
    let state = if open { "open" } else { "" };
    el("details", &[("class", "fold"), ("open", state)], &parts).keyed(summary)
}

/// A button that explains `figure`.
pub fn ask(class: &str, figure: Figure, content: &[Node]) -> Node {
    el("button", &[("class", class)], content).on(Action::Explain(figure))
}

/// A button that sets fields; `title` where its words do not say all.
pub(crate) fn apply(
    class: &str,
    set: Vec<(&'static str, String)>,
    title: impl Into<Message>,
    label: impl Into<Message>,
) -> Node {
    el("button", &[("class", class)], &[text(label)]).title(title).on(Action::Apply(set))
}

/// A button that loads `run`.
pub fn load(class: &str, run: &Run, title: impl Into<Message>, content: &[Node]) -> Node {
    el("button", &[("class", class)], content).title(title).on(Action::Load(Arc::new(run.clone())))
}

/// A text to take along, in a frame of its own with a button that copies it; `beside` is behind the button.
pub fn copied(class: &str, content: &str, beside: Node) -> Node {
    let copy = leaf("button", class, "Copy").on(Action::Save(Save::Copy(content.into())));
    el("div", &[("class", "taken")], &[file(content), copy, beside])
}

/// The text of a file as it is.
pub(crate) fn file(content: &str) -> Node {
    el("pre", &[("class", "file"), ("tabindex", "0")], &[text(verbatim(content))])
}

/// The name of a document, the same in every language: a link where it has an address.
pub(crate) fn document(name: impl Into<Message>, address: Option<&str>) -> Node {
    let name = [text(name)];
    match address {
        Some(href) => el("a", &[("href", href), ("target", "_blank"), ("rel", "noopener"), ("translate", "no")], &name),
        None => el("span", &[("translate", "no")], &name),
    }
}

/// A source by `name`, as a link where it has an address.
pub(crate) fn cited(source: &Source, name: &str) -> Node {
    let address = Some(source.locator).filter(|locator| locator.starts_with("http"));
    document(verbatim(name), address).title(verbatim(source.title))
}

/// A place in a document, as a link.
pub(crate) fn cited_at(source: &Source, place: &str) -> Node {
    cited(source, &format!("{}, {place}", source.short))
}
