//! What is wrong or doubtful, in words, with the way to the field and the button that mends it.

use crate::core::issue::{Fix, Issue, Severity};
use crate::core::run::registry::field;
use crate::view::node::markup::{Action, Node, apply, el, leaf, text};

/// One issue with its fix.
#[must_use]
pub fn line(issue: &Issue) -> Node {
    let (class, mark) = match issue.severity {
        Severity::Error => ("issue error", "✕ "),
        Severity::Warning => ("issue warning", "⚠ "),
        Severity::Notice => ("issue notice", "ℹ "),
    };
    let button = |fix: &Fix| apply("fix", fix.set.clone(), "", &fix.label);
    let fix = issue.fixes().map(button).collect();
    el(
        "p",
        &[("class", class)],
        &[text(mark), text(&issue.message), fix],
    )
}

/// All of them, each with a way to its field.
#[must_use]
pub fn list(issues: &[Issue]) -> Node {
    issues
        .iter()
        .map(|issue| {
            let go = match field(&issue.field) {
                Some(field) => {
                    let button = leaf("button", "link field-link", field.label);
                    button.on(Action::Focus(field.key))
                }
                // A key of a link that is no field is named as it was written.
                None if !issue.field.is_empty() => leaf("code", "", &issue.field),
                None => Node::none(),
            };
            el("li", &[], &[go, line(issue)])
        })
        .collect()
}

/// Said above figures that are of another Run: the default one where none made sense yet.
const fn instead(stands_in: bool) -> &'static str {
    if stands_in {
        "This run cannot work. Greyed below: the default run."
    } else {
        "This run cannot work. Greyed below: the last one that could."
    }
}

/// What stands over the greyed figures: what is wrong first, with what mends it.
#[must_use]
pub fn fault(issue: &Issue, stands_in: bool) -> Node {
    let first = list(std::slice::from_ref(issue));
    let lines = el("ul", &[("class", "issues")], &[first]);
    Node::from_iter([leaf("p", "", instead(stands_in)), lines])
}

/// What the link asked for and did not get.
#[must_use]
pub fn refused(notices: &[Issue]) -> Node {
    if notices.is_empty() {
        return Node::none();
    }
    let lines = el("ul", &[("class", "issues")], &[list(notices)]);
    let words = leaf("p", "", "This link asks for something that is not shown.");
    el("div", &[("role", "status")], &[words, lines])
}

/// What a frame says that cannot show the Run of its link; nothing where it can.
#[must_use]
pub fn framed(errors: &[Issue], notices: &[Issue], stands_in: bool) -> Node {
    if errors.is_empty() && notices.is_empty() {
        return Node::none();
    }
    let words = if errors.is_empty() {
        Node::none()
    } else {
        leaf("p", "", instead(stands_in))
    };
    let lines: Node = errors.iter().chain(notices).map(line).collect();
    el("div", &[("role", "status")], &[words, lines])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_no_field_is_named() {
        let html = list(&[Issue::notice("nonsense", "left out")]).to_html();
        assert!(html.contains("nonsense"), "{html}");
    }

    #[test]
    fn a_frame_says_only_what_keeps_it_from_showing_its_link() {
        assert_eq!(framed(&[], &[], false), Node::none());
        let notice = framed(&[], &[Issue::notice("wings", "left out")], false).to_html();
        assert!(notice.contains("left out") && !notice.contains("cannot work"));
        let error = framed(&[Issue::error("tp", "tp does not divide")], &[], true).to_html();
        assert!(error.contains("cannot work") && error.contains("tp does not divide"));
    }

    #[test]
    fn an_issue_leads_to_its_field_and_mends_it() {
        let set = vec![("tp", "4".into()), ("pp", "2".into())];
        let issue = Issue::error("tp", "no").with_fixes("use both", set.clone());
        let actions = [Action::Focus("tp"), Action::Apply(set)];
        assert_eq!(list(&[issue]).actions(), actions.each_ref());
    }
}
