//! The share link: `#v=1&tp=4&model=llama-3.1-70b`, the whole configuration in readable pairs.
//!
//! Written canonically (version first, fields in the registry's order, defaults left out), read leniently (any order,
//! a bad value takes its default with a notice, an unknown key is left out with one). Reading never fails and never
//! panics. View state is beside the Run under `view.`, under `b.` what a second Run has other than the first.

use shardscope_core::issue::Issue;
use shardscope_core::run::Run;
use shardscope_core::search::auto::{KEY, VALUES, of_layout};
use shardscope_core::t;
use shardscope_view::panels::chosen::LayoutOrigin;
use shardscope_view::view_state::ViewState;

/// The version that is written; defaults and presets are frozen under it.
pub(crate) const VERSION: u64 = 1;

/// Longer text is refused unread. The longest lists and the longest text that the fields take stay below it.
const MAX_LENGTH: usize = 1 << 22;
/// More pairs than this are not read.
const MAX_PAIRS: usize = 512;

#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub run: Run,
    pub view: ViewState,
    /// Where its layout is from.
    pub origin: LayoutOrigin,
    /// The fields of the layout that the link gives, where it leaves the others to the search; none where it does not.
    pub auto: Option<Vec<String>>,
    /// Keys and values that were not understood, by field.
    pub notices: Vec<Issue>,
}

/// The Run alone, without `#`: `v=1` for the default Run.
pub fn encode(run: &Run) -> String {
    encode_with(run, &ViewState::default())
}

/// The Run and what to show of it, without `#`.
pub fn encode_with(run: &Run, view: &ViewState) -> String {
    let mut link = format!("v={VERSION}");
    let mut push = |key: &str, value: &str| {
        link.push('&');
        link.push_str(key);
        link.push('=');
        escape(value, &mut link);
    };
    for (key, value) in run.changed_texts() {
        push(&key, &value);
    }
    if let Some(second) = &view.second {
        let differences = second.differences(run);
        for (key, value) in &differences {
            push(&format!("b.{key}"), value);
        }
        if differences.is_empty() {
            push("b.v", "1");
        }
    }
    for (name, value) in view.pairs() {
        push(&format!("view.{name}"), &value);
    }
    link
}

/// The Run that the page opens with at `text`: without an address [`Run::example`], whose link then says its software,
/// and the first edit chooses its layout. A link that says no software means the default of the format, for ever.
pub fn opened(text: &str) -> Decoded {
    let mut read = decode(text);
    let example = Run::example();
    if fragment(text).is_empty() {
        read.run = example;
        read.view.chosen = true;
        read.origin = LayoutOrigin::Example;
    } else if read.view.chosen && read.auto.is_none() && read.run == example {
        // The page's own address, loaded again.
        read.origin = LayoutOrigin::Example;
    }
    read
}

/// Reads a fragment or a whole address; everything before `#` (or `?`, where there is no `#`) is ignored.
pub fn decode(text: &str) -> Decoded {
    let mut notices = Vec::new();
    let mut view = ViewState::default();
    let mut pairs = Vec::new();
    let mut second = Vec::new();
    let mut is_auto = false;
    let text = if text.len() > MAX_LENGTH {
        notices.push(Issue::notice("", "the link is over 4 MB long and was not read"));
        ""
    } else {
        fragment(text)
    };
    let pairs_of = || text.split('&').filter(|pair| !pair.is_empty());
    if pairs_of().nth(MAX_PAIRS).is_some() {
        notices.push(Issue::notice("", "the link has over 512 settings; those behind were not read"));
    }
    for pair in pairs_of().take(MAX_PAIRS) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (unescape(key), unescape(value));
        match key.split_once('.') {
            _ if key == "v" => notices.extend(version_notice(&value)),
            _ if key == KEY => match VALUES.iter().position(|name| *name == value) {
                Some(at) => is_auto = at == 0,
                None => notices.push(Issue::warning(KEY, "layout takes auto or as-given; as-given is used")),
            },
            Some(("b", key)) => second.push((key.to_owned(), value)),
            Some(("view", name)) => pairs.extend(view.read(name, value).err().map(|value| (key, value))),
            _ => pairs.push((key, value)),
        }
    }
    let (run, issues) = Run::from_pairs(&pairs);
    notices.extend(issues);
    let given: Vec<String> = pairs.iter().map(|(key, _)| key).filter(|key| of_layout(key).is_some()).cloned().collect();
    let origin = match (view.chosen, given.is_empty()) {
        (true, _) => LayoutOrigin::Chosen,
        (false, true) => LayoutOrigin::Default,
        (false, false) => LayoutOrigin::Link,
    };
    let auto = is_auto.then_some(given);
    if !second.is_empty() {
        // Only says that there is one.
        second.retain(|(key, _)| key != "v");
        let (second, issues) = run.with_differences(&second);
        notices.extend(issues.into_iter().map(|issue| Issue { field: format!("b.{}", issue.field), ..issue }));
        view.second = Some(second);
    }
    Decoded { run, view, origin, auto, notices }
}

fn version_notice(version: &str) -> Option<Issue> {
    match version.parse::<u64>() {
        Ok(VERSION) => None,
        Ok(newer) if newer > VERSION => {
            Some(Issue::notice("v", t!("made by a newer version (link {newer}); what this one knows is shown", newer)))
        }
        _ => Some(Issue::notice("v", t!("link version 1 expected; read as version {version}", version = VERSION))),
    }
}

/// The part behind `#`, or behind `?`; text without either is taken whole.
pub(crate) fn fragment(text: &str) -> &str {
    let text = text.trim();
    match text.split_once('#') {
        Some((_, fragment)) => fragment,
        None => match text.split_once('?') {
            Some((_, query)) => query,
            None => text,
        },
    }
}

/// Percent-encodes all that chat programs and wikis are known to mangle.
pub(crate) fn escape(value: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b',') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Decodes percent-encoding. A `%` without two hexadecimal digits stays as it is; bytes that are no UTF-8 are replaced.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |offset: usize| {
            bytes
                .get(at + offset)
                .and_then(|byte| char::from(*byte).to_digit(16))
                .and_then(|digit| u8::try_from(digit).ok())
        };
        match (bytes[at], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(high << 4 | low);
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_view::views::Embed;

    /// The format's default never changes; the page starts with today's software, which its link names.
    #[test]
    fn a_page_without_an_address_starts_with_the_software_of_2025() {
        let start = opened("").run;
        assert_eq!(encode(&start), "v=1&stack=megatron-2025");
        assert_eq!(opened(&encode(&start)).run, start);
        assert_eq!(opened("#v=1").run, Run::default());
    }

    /// The pill of the layout says where it is from.
    #[test]
    fn a_link_says_where_its_layout_is_from() {
        for (text, origin) in [
            ("", LayoutOrigin::Example),
            ("v=1&stack=megatron-2025&view.layout=chosen", LayoutOrigin::Example),
            ("v=1&stack=megatron-2025", LayoutOrigin::Default),
            ("v=1", LayoutOrigin::Default),
            ("v=1&gpus=128&seq_len=4096", LayoutOrigin::Default),
            ("v=1&gpus=128&tp=4", LayoutOrigin::Link),
            ("v=1&recompute.modules=mlp", LayoutOrigin::Link),
            ("v=1&gpus=128&tp=4&view.layout=chosen", LayoutOrigin::Chosen),
        ] {
            assert_eq!(opened(text).origin, origin, "{text}");
        }
        assert_eq!(opened("v=1&gpus=128&layout=auto").auto, Some(Vec::new()));
        assert_eq!(opened("v=1&tp=2&layout=as-given").auto, None);
        assert_eq!(opened("v=1&layout=best").notices[0].field, "layout");
    }

    #[test]
    fn the_default_run_is_the_bare_version_tag() {
        assert_eq!(encode(&Run::default()), "v=1");
        assert_eq!(decode("#v=1").run, Run::default());
        assert_eq!(decode("").run, Run::default());
    }

    #[test]
    fn links_are_read_in_any_order_and_written_in_the_registrys() {
        let link = decode("https://wiki/x/?a#pp=2&model.layers=40&v=1&model.base=llama-3.1-8b&tp=4");
        assert_eq!(link.notices, []);
        assert_eq!(encode(&link.run), "v=1&model.base=llama-3.1-8b&model.layers=40&tp=4&pp=2");
    }

    #[test]
    fn what_is_shown_beside_the_run_comes_back() {
        let view = ViewState { compare: Some("zb-v".to_owned()), ..ViewState::default() };
        let link = encode_with(&Run::default(), &view);
        assert_eq!(link, "v=1&view.compare=zb-v");
        assert_eq!(decode(&link).view, view);
    }

    #[test]
    fn a_second_run_is_said_by_what_differs_from_the_first() {
        let first = decode("v=1&tp=4&recompute=full&model.base=llama-3.1-8b&model.layers=40").run;
        let second = Run { tp: 4, pp: 2, ..Run::default() };
        let view = ViewState { second: Some(second), ..ViewState::default() };
        let link = encode_with(&first, &view);
        assert_eq!(
            link,
            "v=1&model.base=llama-3.1-8b&model.layers=40&tp=4&recompute=full\
             &b.model=llama-3.1-8b&b.pp=2&b.recompute=none"
        );
        assert_eq!(decode(&link).view, view);
        assert_eq!(decode("v=1&b.v=1").view.second, Some(Run::default()));
        assert_eq!(decode("v=1").view.second, None);
        let bad = decode("v=1&tp=4&b.tp=x&b.wings=2");
        assert_eq!(bad.view.second.map(|run| run.tp), Some(4));
        let fields: Vec<_> = bad.notices.iter().map(|issue| &*issue.field).collect();
        assert_eq!(fields, ["b.tp", "b.wings"]);
    }

    #[test]
    fn what_is_not_understood_is_told_and_left_out() {
        let link = decode("v=1&tp=four&wings=2&seq_len=4k&view.embed=memory");
        let fields: Vec<_> = link.notices.iter().map(|issue| issue.field.as_str()).collect();
        assert_eq!(fields, ["tp", "wings"]);
        assert_eq!(link.run, Run { seq_len: 4096, ..Run::default() });
        assert_eq!(link.view.embed, Some(Embed::Memory));
        // The notice says that the default is used, so it is, whatever is elsewhere.
        let twice = decode("v=1&tp=4&tp=x");
        assert_eq!((twice.run.tp, twice.notices.len()), (2, 1));
        assert_eq!(decode("v=1&tp=x&tp=4").run.tp, 4);
        assert_eq!(decode("v=7&tp=4").notices[0].field, "v");
    }
}
