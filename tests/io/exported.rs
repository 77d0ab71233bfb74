//! What exported files say of the run that they are made from: that it does not fit.

use shardscope::core::report::report;
use shardscope::core::run::{Based, Run};
use shardscope::io::dialect::DIALECTS;
use shardscope::io::export::menu::menu;
use shardscope::io::export::{FORMATS, Stamp, export};
use shardscope::io::pasted::{PastedKind, pasted};
use shardscope::view::node::markup::Node;

/// Qwen2.5-72B on the page as it opens: far above the memory of its GPUs.
fn unfit() -> Run {
    Run { model: Based::preset("qwen-2.5-72b"), ..Run::default() }
}

/// Formats with a place for words: an order is cells alone, and the JSON has the verdict as a field.
fn worded() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.id).filter(|id| !["order", "json"].contains(id))
}

fn dialog(run: &Run, id: &str) -> String {
    let node: Node = menu(run, id, &Stamp::default());
    node.to_html()
}

/// The figures are those of the report, in GiB of 2^30 bytes with one decimal.
#[test]
fn a_run_that_does_not_fit_says_so_in_every_file_and_dialog() {
    let run = unfit();
    let memory = report(&run).unwrap().memory;
    let gib = |bytes: f64| format!("{:.1}", bytes / f64::from(1 << 30));
    let (need, capacity) = (gib(memory.peak_bytes.0), gib(memory.capacity_bytes.0));
    let sentence = format!("Out of memory on this page: needs {need} of {capacity} GiB.");
    for id in worded() {
        let text = export(&run, id, &Stamp::default()).unwrap();
        assert!(text.lines().take(12).any(|line| line.contains(&sentence)), "{id}: {sentence}\n{text}");
        let html = dialog(&run, id);
        assert!(html.contains("Out of memory on this page"), "{id}: {html}");
        let fits = export(&Run::default(), id, &Stamp::default()).unwrap();
        assert!(!fits.contains("Out of memory"), "{id}: {fits}");
    }
    assert!(!dialog(&Run::default(), "csv").contains("Out of memory"));
}

/// The sentence is an estimate of this page: no paste takes a file with it for the message of an allocator.
#[test]
fn a_file_that_says_that_it_does_not_fit_is_still_a_file_of_settings() {
    let run = unfit();
    for id in DIALECTS.iter().map(|dialect| dialect.id).filter(|id| *id != "peft") {
        let text = export(&run, id, &Stamp::default()).unwrap();
        assert_eq!(pasted(&text), Some(PastedKind::Settings), "{id}: {text}");
    }
}
