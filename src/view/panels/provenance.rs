//! The page of sources beside the calculator: where every constant comes from. Made at build time from the tables that
//! the calculator itself reads (`examples/pages.rs`).

use crate::prelude::*;
use shardscope_core::accuracy::{SOURCES, constants};
use shardscope_core::memory::methods::METHODS;
use shardscope_core::message::Catalogue;
use shardscope_core::model::Architecture;
use shardscope_core::pipeline::SCHEDULES;
use shardscope_core::run::precision::POLICIES;
use shardscope_core::run::presets::{GPUS, MODELS, STACKS};
use shardscope_core::source::{ALL, Source};

/// The source of every constant.
pub fn sources() -> Node {
    let words = "Every constant that the calculator uses, from its own tables. Formulas are cited where they stand: \
        ask \
        any figure of the page.";
    Node::from_iter([
        leaf("h1", "", "Sources of Shardscope"),
        paragraph(words),
        of_constants(),
        of_gpus(),
        of_presets(),
        of_schedules_and_methods(),
        of_measurements_and_documents(),
    ])
}

/// A heading and its table.
fn section<T>(title: &'static str, rows: Rows<T>) -> Node {
    el("section", &[], &[leaf("h2", "", title), rows.table(title)])
}

fn of_constants() -> Node {
    let rows = Rows::of(constants())
        .column("what", |constant| constant.name.clone())
        .column("value", |constant| constant.value.clone())
        .column("how it was obtained", |constant| constant.how.clone())
        .column("source", |constant| cite(constant.source));
    section("Constants of the time and memory models", rows)
}

fn of_gpus() -> Node {
    let number = |value: f64| significant(value, 4);
    let rows = Rows::of(GPUS)
        .column("GPU", |preset| preset.choice.label)
        .figures("GiB", |preset| number(preset.gpu.memory.gib()))
        .figures("usable GiB", |preset| number(preset.gpu.usable.gib()))
        .figures("bf16 TFLOP/s", |preset| number(preset.gpu.bf16.0 / 1e12))
        .figures("fp8 TFLOP/s", |preset| number(preset.gpu.fp8.0 / 1e12))
        .figures("fp4 TFLOP/s", |preset| number(preset.gpu.fp4.0 / 1e12))
        .figures("HBM TB/s", |preset| number(preset.gpu.hbm.0 / 1e12))
        .figures("scale-up GB/s", |preset| number(preset.gpu.intra.0 / 1e9))
        .figures("network GB/s", |preset| number(preset.gpu.inter.0 / 1e9))
        .figures("a node", |preset| preset.gpu.per_node.to_string())
        .column("source", |preset| cite(preset.source))
        .column("usable memory", |preset| cite(preset.usable_source))
        .column("remark", |preset| preset.remark);
    section("GPUs", rows)
}

/// Active parameters by the three conventions that publishers follow.
fn active(model: &Architecture) -> String {
    model.active_by_convention().map(|count| show_count(count as f64)).join(" / ")
}

fn of_presets() -> Node {
    let stacks = Rows::of(STACKS)
        .column("software", |row| name(row.choice.label))
        .column("what it decides", |row| row.remark)
        .column("source", |row| cite(row.source));
    let models = Rows::of(MODELS)
        .column("model", |preset| preset.choice.label)
        .figures("parameters as published", |preset| show_count(preset.published))
        .figures("counted here, without multi-token prediction", |preset| {
            show_count(preset.architecture.elements().total() as f64)
        })
        .figures("a token visits: without embedding and head / with the head / with both", |preset| {
            active(&preset.architecture)
        })
        .column("place", |preset| name(preset.place))
        .column("source", |preset| cite(preset.source));
    let policies = Rows::of(POLICIES)
        .column("policy", |policy| policy.choice.label)
        .figures("bytes per parameter", |policy| significant(policy.bytes.total(), 4))
        .column("source", |policy| cite(policy.source));
    Node::from_iter([
        section("Software stacks", stacks),
        section("Models", models),
        section("Precision policies", policies),
    ])
}

fn of_schedules_and_methods() -> Node {
    let schedules = Rows::of(SCHEDULES)
        .column("schedule", |row| row.name())
        .column("idea", |row| row.idea)
        .column("source", |row| cite(row.source));
    let methods =
        Rows::of(METHODS).column("method", |row| row.method.choice().label).column("source", |row| cite(row.source));
    Node::from_iter([section("Schedules", schedules), section("Memory methods", methods)])
}

fn of_measurements_and_documents() -> Node {
    let measured = Rows::of(SOURCES)
        .column("rows", |row| name(row.name))
        .column("used as", |row| row.kind.words())
        .column("software", |row| name(row.stack))
        .column("table", |row| leaf("code", "", row.file));
    let documents = Rows::of(ALL)
        .column("short", |source| name(source.short))
        .column("title", |source| name(source.title))
        .column("where", |source| cited(source, source.locator));
    Node::from_iter([section("Published measurements", measured), section("Documents", documents)])
}

/// A whole document around `content`, to stand beside the page: in English, or in the language of a catalogue with its
/// tag.
pub fn document(title: &'static str, content: Node, language: (&str, &Catalogue)) -> String {
    let (tag, catalogue) = language;
    let meta = |name: &str, content: &str| el("meta", &[("name", name), ("content", content)], &[]);
    let icon = [("rel", "icon"), ("href", "icon.svg"), ("type", "image/svg+xml")];
    let head = [
        el("meta", &[("charset", "utf-8")], &[]),
        meta("viewport", "width=device-width, initial-scale=1"),
        meta("color-scheme", "light dark"),
        leaf("title", "", t!("{page} · Shardscope", page = title)),
        el("link", &icon, &[]),
        leaf("style", "", STYLE),
    ];
    let link = |address: &'static str, label: &'static str| leaf("a", "", label).say("href", address);
    let links = [
        link("./", "Shardscope"),
        link("sources.html", "Sources"),
        link("limits.html", "What it does not model"),
        link("licences.txt", "Licences"),
    ];
    let between = |(at, link)| [text(if at > 0 { " · " } else { "" }), link];
    let links: Node = links.into_iter().enumerate().flat_map(between).collect();
    let parts = [el("nav", &[], &[links]), el("main", &[], &[content])];
    let page = el(
        "html",
        &[("lang", tag), ("dir", "ltr")],
        &[el("head", &[], &[head.into_iter().collect()]), el("body", &[], &parts)],
    );
    format!("<!doctype html>\n{}\n", page.to_html_in(catalogue))
}

/// The page's own neutrals and sizes, light and dark.
const STYLE: &str = "\
:root{--bg:#fff;--line:#d5dae0;--text:#14181d;--muted:#59616b;--accent:#1a5fb0}\
@media(prefers-color-scheme:dark){:root{--bg:#0f1317;--line:#2b323a;--text:#e8ecf0;--muted:#9aa4af;--accent:#67b6fe}}\
body{margin:0 auto;padding:24px;max-width:1180px;background:var(--bg);color:var(--text);font:14px/1.5 \
system-ui,sans-serif}\
h1{font-size:20px}h2{font-size:16px;margin:32px 0 8px}a{color:var(--accent)}li{margin:4px 0;max-width:800px}\
.scroll-x{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\
td,th{padding:4px 16px 4px 0;border-bottom:1px solid \
var(--line);text-align:left;vertical-align:top}th{color:var(--muted);font-weight:400}";

fn cite(source: &Source) -> Node {
    cited(source, source.short)
}

/// A name, the same in every language.
fn name(words: &str) -> Node {
    el("span", &[("translate", "no")], &[text(verbatim(words))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_preset_and_constant_stands_on_the_sources_page() {
        let page = sources().to_html();
        let cited = |words: &str| page.contains(&text(verbatim(words)).to_html());
        for source in ALL {
            assert!(cited(source.title) && cited(source.locator), "{}", source.short);
        }
        assert!(constants().iter().all(|constant| cited(&constant.how.to_string())));
        for preset in GPUS {
            assert!(cited(preset.choice.label), "{}", preset.choice.id);
        }
        for preset in MODELS {
            assert!(cited(preset.place), "{}", preset.choice.id);
        }
        for row in SCHEDULES {
            assert!(cited(row.name()), "{}: its row of SCHEDULES needs idea and source", row.id());
        }
    }
}
