//! A view as HTML text, for static pages and native tests.

use super::glossary::marked;
use super::tree::{Element, Node};
use shardscope_core::message::Catalogue;

/// Elements that have no content and no end tag.
const VOID: [&str; 5] = ["br", "img", "input", "link", "meta"];

impl Node {
    /// The tree as HTML text in English, well-formed and escaped.
    pub fn to_html(&self) -> String {
        self.to_html_in(&Catalogue::default())
    }

    /// The tree as HTML text in the language of `catalogue`.
    pub fn to_html_in(&self, catalogue: &Catalogue) -> String {
        let mut out = String::new();
        self.write(&mut out, catalogue);
        out
    }

    fn write(&self, out: &mut String, catalogue: &Catalogue) {
        match self {
            Self::Element(element) => element.write(out, catalogue),
            Self::Text(message) => escape(&message.translated(catalogue), out),
            Self::Prose(message) => marked(message, catalogue).write(out, catalogue),
            Self::Picture(svg) => out.push_str(svg),
            Self::List(pieces) => pieces.iter().for_each(|piece| piece.write(out, catalogue)),
        }
    }
}

impl Element {
    fn write(&self, out: &mut String, catalogue: &Catalogue) {
        out.push('<');
        out.push_str(self.tag);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            escape(&value.translated(catalogue), out);
            out.push('"');
        }
        out.push('>');
        for child in &self.children {
            child.write(out, catalogue);
        }
        if !VOID.contains(&self.tag) {
            out.push_str("</");
            out.push_str(self.tag);
            out.push('>');
        }
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::node::markup::{el, leaf, text};

    #[test]
    fn text_and_attributes_never_become_markup() {
        let html = el("p", &[], &[text("<b>&")]).title("\"><script>").to_html();
        assert_eq!(html, "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;&amp;</p>");
    }

    #[test]
    fn empty_attributes_are_left_out() {
        assert_eq!(leaf("td", "", "1").to_html(), "<td>1</td>");
    }
}
