//! Panels: each is shown somewhere on the page.

use crate::common::tokens::rust_files;
use shardscope::view::panel::{Panel, Tab};
use std::fs;
use std::path::Path;

/// What is tested and recorded of "every panel" is what `Panel::ALL` lists.
#[test]
fn the_list_of_panels_has_every_variant() {
    let code = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/view/panel.rs")).unwrap();
    let (_, variants) = code.split_once("pub enum Panel {").unwrap();
    let (variants, _) = variants.split_once("\n}").unwrap();
    let name = |line: &str| {
        let line = line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase))?;
        line.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned)
    };
    let variants: Vec<String> = variants.lines().filter_map(name).collect();
    let listed = Panel::ALL.iter().map(|panel| format!("{panel:?}"));
    let listed: Vec<String> =
        listed.map(|name| name.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned()).collect();
    assert!(variants.len() > 20, "{variants:?}");
    assert_eq!(listed, variants);
}

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
        "offer them in `OFFERED` of src/view/panel.rs, or show them in src/web by `shown` or `fold` of src/web/document/panel.rs: {hidden:?}"
    );
}
