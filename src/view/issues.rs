//! What is wrong or doubtful, in words, with the way to the field and the button that mends it.

use super::markup::{Html, el, leaf, text};
use crate::core::issue::{Fix, Issue, Severity};
use crate::core::run::registry::field;
use std::fmt::Display;

/// One issue with its fix.
#[must_use]
pub fn line(issue: &Issue) -> Html {
    let (class, mark) = match issue.severity {
        Severity::Error => ("issue error", "✕ "),
        Severity::Warning => ("issue warning", "⚠ "),
        Severity::Notice => ("issue notice", "ℹ "),
    };
    let button = |fix: &Fix| {
        let attributes = [("class", "fix"), ("data-fix", &*written(&fix.set))];
        el("button", &attributes, &[text(&fix.label.to_string())])
    };
    let fix = issue.fixes().map(button).collect();
    el(
        "p",
        &[("class", class)],
        &[text(mark), text(&issue.message.to_string()), fix],
    )
}

/// All of them, each with a way to its field.
#[must_use]
pub fn list(issues: &[Issue]) -> Html {
    issues
        .iter()
        .map(|issue| {
            let go = match field(&issue.field) {
                Some(field) => {
                    let attributes = [("class", "link field-link"), ("data-go", field.key)];
                    el("button", &attributes, &[text(field.label)])
                }
                // A key of a link that is no field is named as it was written.
                None if !issue.field.is_empty() => leaf("code", "", &issue.field),
                None => Html::none(),
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
pub fn fault(issue: &Issue, stands_in: bool) -> Html {
    let first = list(std::slice::from_ref(issue));
    let lines = el("ul", &[("class", "issues")], &[first]);
    Html::from_iter([leaf("p", "", instead(stands_in)), lines])
}

/// What the link asked for and did not get.
#[must_use]
pub fn refused(notices: &[Issue]) -> Html {
    if notices.is_empty() {
        return Html::none();
    }
    let lines = el("ul", &[("class", "issues")], &[list(notices)]);
    let words = leaf("p", "", "This link asks for something that is not shown.");
    el("div", &[("role", "status")], &[words, lines])
}

/// What a frame says that cannot show the Run of its link; nothing where it can.
#[must_use]
pub fn framed(errors: &[Issue], notices: &[Issue], stands_in: bool) -> Html {
    if errors.is_empty() && notices.is_empty() {
        return Html::none();
    }
    let words = if errors.is_empty() {
        Html::none()
    } else {
        leaf("p", "", instead(stands_in))
    };
    let lines: Html = errors.iter().chain(notices).map(line).collect();
    el("div", &[("role", "status")], &[words, lines])
}

/// Fields as a `data-fix` or `data-run` attribute: `key=value` pairs with `&`.
#[must_use]
pub fn written<K: Display>(set: &[(K, String)]) -> String {
    let pairs: Vec<_> = set
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.join("&")
}

/// The pairs of a `data-fix` attribute.
#[must_use]
pub fn read_fix(attribute: &str) -> Vec<(&'static str, String)> {
    attribute
        .split('&')
        .filter_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            Some((field(key)?.key, value.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_no_field_is_named() {
        let html = list(&[Issue::notice("nonsense", "left out")]).into_string();
        assert!(html.contains("nonsense"), "{html}");
    }

    #[test]
    fn a_frame_says_only_what_keeps_it_from_showing_its_link() {
        assert_eq!(framed(&[], &[], false), Html::none());
        let notice = framed(&[], &[Issue::notice("wings", "left out")], false).into_string();
        assert!(notice.contains("left out") && !notice.contains("cannot work"));
        let error = framed(&[Issue::error("tp", "tp does not divide")], &[], true).into_string();
        assert!(error.contains("cannot work") && error.contains("tp does not divide"));
    }

    #[test]
    fn a_fix_survives_its_attribute() {
        let issue = Issue::error("tp", "no")
            .with_fixes("use both", vec![("tp", "4".into()), ("pp", "2".into())]);
        let fix = issue.fix.as_ref().unwrap();
        assert_eq!(read_fix(&written(&fix.set)), fix.set);
        assert!(list(&[issue]).into_string().contains("data-go=\"tp\""));
    }
}
