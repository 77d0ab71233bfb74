//! Panels: each is shown somewhere on the page.

use crate::common::tokens::rust_files;
use shardscope::view::panel::{Panel, Tab};
use std::fs;
use std::path::Path;

#[test]
fn every_panel_is_shown_on_the_page() {
    let mut files = Vec::new();
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web"), &mut files).unwrap();
    let page: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let offered = |panel: &Panel| {
        [Tab::Overlap, Tab::Pipeline].into_iter().flat_map(Panel::offered).any(|(_, one)| one == *panel)
    };
    let names = Panel::ALL.iter().filter(|panel| !offered(panel)).map(|panel| format!("{panel:?}"));
    let names = names.map(|name| name.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned());
    let hidden: Vec<String> = names.filter(|name| !page.contains(&format!("Panel::{name}"))).collect();
    assert!(
        hidden.is_empty(),
        "name a tab in their row of src/view/panel.rs, or show them in src/web by `shown` or `fold` of src/web/document/panel.rs: {hidden:?}"
    );
}
