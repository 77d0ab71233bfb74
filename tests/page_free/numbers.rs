//! Numbers as the page prints them: whatever a link holds, none is NaN, and none takes more digits than a person reads.

use shardscope::core::issue::Issue;
use shardscope::core::report::evaluate;
use shardscope::core::run::Run;
use shardscope::core::run::registry::{FIELDS, Slot};
use shardscope::core::units::MemoryUnit;
use shardscope::io::link;
use shardscope::view::node::Node;
use shardscope::view::panel::Panel;
use shardscope::view::panels::issues::line;
use shardscope::view::panels::strip::strip;
use shardscope::view::panels::waterfall::waterfall;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

/// Values that a link may hold and that nobody has: the least and largest numbers, and counts beyond any machine.
const VALUES: [&str; 3] = ["1e-320", "1e15", "1e300"];

/// Digits in a row, thin spaces between thousands aside, that are too many: u64 has 20.
const TOO_MANY: usize = 21;

/// The text of a view, without its tags and attributes.
fn text(node: &Node) -> String {
    let html = node.to_html();
    let mut inside = false;
    let kept = html.chars().map(|c| {
        inside = c == '<' || inside && c != '>';
        if inside || c == '>' { ' ' } else { c }
    });
    kept.collect()
}

/// The first number that no person reads; the value that was typed may stand in a message as it was.
fn unreadable(text: &str, typed: &str) -> Option<String> {
    let text = text.replace(typed, "").replace('\u{202f}', "");
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '.'));
    let bad = |word: &&str| {
        let digits = word.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
        ["NaN", "inf", "Infinity"].contains(word) || digits >= Some(TOO_MANY)
    };
    words.into_iter().find(bad).map(str::to_owned)
}

fn views(run: &Run) -> Vec<Node> {
    match evaluate(run) {
        Ok(evaluation) => {
            let panels = Panel::ALL.iter().map(|panel| panel.view(&evaluation, MemoryUnit::Gib));
            let beside = [strip(&evaluation.scenario.run, &evaluation.report, MemoryUnit::Gib), waterfall(&evaluation)];
            panels.chain(beside).chain(evaluation.warnings().iter().map(line)).collect()
        }
        Err(issues) => issues.iter().map(line).collect(),
    }
}

/// Views of Runs that were looked at with one typed value, by the link of the Run: a field that refuses the value
/// leaves the Run as it was, whose views are the same again.
#[derive(Default)]
struct Seen(BTreeMap<String, usize>);

impl Seen {
    /// Views of what `link` means, each of them without a number that no person reads.
    fn held(&mut self, link: &str, typed: &str) -> usize {
        let read = link::decode(link);
        let notices: Vec<Issue> = read.notices;
        let of_run = link::encode(&read.run);
        let known = self.0.get(&of_run).copied();
        let views = if known.is_some() { Vec::new() } else { views(&read.run) };
        let count = known.unwrap_or(views.len());
        self.0.insert(of_run, count);
        for view in notices.iter().map(line).chain(views) {
            if let Some(number) = unreadable(&text(&view), typed) {
                panic!("{link}: {number}");
            }
        }
        notices.len() + count
    }
}

#[test]
fn no_number_of_any_field_is_too_long_or_none() {
    let fields = || FIELDS.iter().filter(|field| !matches!(field.slot, Slot::Choice { .. }));
    let all = |value| {
        let mut seen = Seen::default();
        fields().map(|field| seen.held(&format!("v=1&{}={value}", field.key), value)).sum::<usize>()
    };
    let seen: usize = thread::scope(|scope| {
        let threads = VALUES.map(|value| scope.spawn(move || all(value)));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).sum()
    });
    assert!(seen > 1000, "{seen}");
}

/// The links that once widened the page, and denormals of several fields at once.
#[test]
fn figures_of_links_that_nobody_has_are_short() {
    for (link, typed) in [
        ("v=1&tokens_total=1e-320", "1e-320"),
        ("v=1&gpu.bf16_tflops=1e-300", "1e-300"),
        ("v=1&gpu.bf16_tflops=1e-300&tokens_total=1e300", "1e300"),
        ("v=1&tokens_total=1e300&price_per_gpu_hour=1e300", "1e300"),
        ("v=1&seq_len=1099511627776", "1099511627776"),
    ] {
        Seen::default().held(link, typed);
    }
    assert!(unreadable("0.000000000000000000000001 s", "").is_some() && unreadable("a NaN", "").is_some());
    assert!(unreadable("12\u{202f}345.6 s of 18446744073709551615", "").is_none());
}
