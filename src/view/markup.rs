//! What a panel says, as HTML text: pure, tested without a browser, small to download.
//!
//! Every distinct reactive view costs the page kilobytes; a panel that is redrawn whole with each Run is text instead.
//! Text is escaped where it enters; buttons say what they do in a `data-` attribute, and the page listens once for all.

use crate::core::source::Source;

/// A piece of HTML, well-formed and escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    /// The text to put into the document.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(pieces: I) -> Self {
        let mut all = String::new();
        for piece in pieces {
            all.push_str(&piece.0);
        }
        Self(all)
    }
}

/// Escaped text.
#[must_use]
pub fn text(text: &str) -> Html {
    let mut out = String::with_capacity(text.len());
    escape(text, &mut out);
    Html(out)
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

/// An element with attributes (an empty value leaves one out) and children.
#[must_use]
pub fn el(name: &str, attributes: &[(&str, &str)], children: &[Html]) -> Html {
    let mut out = String::from("<");
    out.push_str(name);
    for (key, value) in attributes {
        if value.is_empty() {
            continue;
        }
        out.push(' ');
        out.push_str(key);
        out.push_str("=\"");
        escape(value, &mut out);
        out.push('"');
    }
    out.push('>');
    for child in children {
        out.push_str(&child.0);
    }
    out.push_str("</");
    out.push_str(name);
    out.push('>');
    Html(out)
}

/// What a writer of its own has made: an SVG picture.
#[must_use]
pub fn raw(markup: String) -> Html {
    Html(markup)
}

/// An element of a class that holds only text.
#[must_use]
pub fn leaf(name: &str, class: &str, content: &str) -> Html {
    el(name, &[("class", class)], &[text(content)])
}

/// A length as a style: `left:12.5%`.
#[must_use]
pub fn percent(property: &str, share: f64) -> String {
    format!("{property}:{:.3}%", share * 100.0)
}

/// A table that scrolls sideways where it must; the first column is named, the others are figures. `marked` rows are
/// the ones to notice.
#[must_use]
pub fn table(label: &str, head: &[&str], rows: &[(bool, Vec<Html>)]) -> Html {
    // A column of buttons has no name.
    let cell = |name: &&str| leaf(if name.is_empty() { "td" } else { "th" }, "", name);
    let head: Html = head.iter().map(cell).collect();
    let rows: Html = rows
        .iter()
        .map(|(marked, cells)| {
            let cells: Html = cells
                .iter()
                .map(|cell| el("td", &[], std::slice::from_ref(cell)))
                .collect();
            el(
                "tr",
                &[("class", if *marked { "peak" } else { "" })],
                &[cells],
            )
        })
        .collect();
    let table = el(
        "table",
        &[],
        &[
            el("thead", &[], &[el("tr", &[], &[head])]),
            el("tbody", &[], &[rows]),
        ],
    );
    scrolled(label, table)
}

/// What is wider than some screens, as a region of its own that scrolls sideways; `label` names it.
#[must_use]
pub fn scrolled(label: &str, table: Html) -> Html {
    let region = [
        ("class", "scroll-x"),
        ("tabindex", "0"),
        ("role", "region"),
        ("aria-label", label),
    ];
    el("div", &region, &[table])
}

/// A panel's head with one thing to choose: what is read before it and what the group is called, then what each button
/// asks of the panel (`data-of`), what it says and whether it is the one; `beside` stands at the other end.
#[must_use]
pub fn choices<'a>(
    [words, label]: [&str; 2],
    options: impl IntoIterator<Item = (&'a str, &'a str, bool)>,
    beside: Html,
) -> Html {
    let button = |(of, label, chosen): (&str, &str, bool)| {
        let attributes = [
            ("class", "toggle-link"),
            ("data-of", of),
            ("aria-pressed", if chosen { "true" } else { "false" }),
        ];
        el("button", &attributes, &[text(label)])
    };
    let group = [("class", "tools"), ("role", "group"), ("aria-label", label)];
    let buttons: Html = options.into_iter().map(button).collect();
    let head = [
        leaf("small", "", words),
        el("span", &group, &[buttons]),
        beside,
    ];
    el("div", &[("class", "panel-head")], &head)
}

/// A fold with a summary line.
#[must_use]
pub fn fold(summary: &str, content: Html) -> Html {
    el(
        "details",
        &[("class", "twin")],
        &[leaf("summary", "", summary), content],
    )
}

/// A button that asks where a figure comes from; `figure` as [`Figure::id`](crate::core::report::Figure::id) writes it.
#[must_use]
pub fn ask(class: &str, figure: &str, content: &[Html]) -> Html {
    el("button", &[("class", class), ("data-ask", figure)], content)
}

/// A source by `name`, as a link where it has an address. A name is the same in every language.
#[must_use]
pub fn cited(source: &Source, name: &str) -> Html {
    let title = ("title", source.title);
    let kept = ("translate", "no");
    if source.locator.starts_with("http") {
        let link = [
            ("href", source.locator),
            ("target", "_blank"),
            ("rel", "noopener"),
            title,
            kept,
        ];
        el("a", &link, &[text(name)])
    } else {
        el("span", &[title, kept], &[text(name)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_typed_never_becomes_markup() {
        let html = el("p", &[("title", "\"><script>")], &[text("<b>&")]).into_string();
        assert_eq!(
            html,
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;&amp;</p>"
        );
    }

    #[test]
    fn empty_attributes_are_left_out() {
        assert_eq!(leaf("td", "", "1").into_string(), "<td>1</td>");
    }
}
