//! The page of sources beside the calculator: where every constant comes from. Made at build time from the tables that
//! the calculator itself reads (`examples/pages.rs`).

use crate::core::accuracy::{SOURCES, constants};
use crate::core::memory::methods::METHODS;
use crate::core::message::{Catalogue, verbatim};
use crate::core::model::Architecture;
use crate::core::pipeline::SCHEDULES;
use crate::core::run::OneOf;
use crate::core::run::precision::POLICIES;
use crate::core::run::presets::{GPUS, MODELS, STACKS};
use crate::core::source::{ALL, Source};
use crate::core::t;
use crate::core::units::{show_count, significant};
use crate::view::node::markup::{Node, cited, el, leaf, paragraph, table, text};

/// The source of every constant.
pub fn sources() -> Node {
    let words = "Every constant that the calculator uses, from its own tables. Formulas are cited where they stand: ask \
        any figure of the page.";
    [
        leaf("h1", "", "Sources of Shardscope"),
        paragraph(words),
        of_constants(),
        of_gpus(),
        of_presets(),
        of_schedules_and_methods(),
        of_measurements_and_documents(),
    ]
    .into_iter()
    .collect()
}

/// A heading and its table.
fn section(title: &'static str, head: &[&'static str], rows: impl Iterator<Item = Vec<Node>>) -> Node {
    let rows: Vec<(bool, Vec<Node>)> = rows.map(|cells| (false, cells)).collect();
    el("section", &[], &[leaf("h2", "", title), table(title, head, &rows)])
}

fn of_constants() -> Node {
    let rows = constants()
        .into_iter()
        .map(|constant| vec![text(&constant.name), text(&constant.value), text(&constant.how), cite(constant.source)]);
    let head = ["what", "value", "how it was obtained", "source"];
    section("Constants of the time and memory models", &head, rows)
}

fn of_gpus() -> Node {
    let rows = GPUS.iter().map(|preset| {
        let gpu = preset.gpu;
        let number = |value: f64| text(verbatim(significant(value, 4)));
        vec![
            text(preset.choice.label),
            number(gpu.memory.gib()),
            number(gpu.usable.gib()),
            number(gpu.bf16.0 / 1e12),
            number(gpu.fp8.0 / 1e12),
            number(gpu.fp4.0 / 1e12),
            number(gpu.hbm.0 / 1e12),
            number(gpu.intra.0 / 1e9),
            number(gpu.inter.0 / 1e9),
            text(verbatim(gpu.per_node.to_string())),
            cite(preset.source),
            cite(preset.usable_source),
            text(preset.remark),
        ]
    });
    let head = [
        "GPU",
        "GiB",
        "usable GiB",
        "bf16 TFLOP/s",
        "fp8 TFLOP/s",
        "fp4 TFLOP/s",
        "HBM TB/s",
        "scale-up GB/s",
        "network GB/s",
        "a node",
        "source",
        "usable memory",
        "remark",
    ];
    section("GPUs", &head, rows)
}

/// Active parameters by the three conventions that publishers follow.
fn active(model: &Architecture) -> String {
    model.active_by_convention().map(|count| show_count(count as f64)).join(" / ")
}

fn of_presets() -> Node {
    let models = MODELS.iter().map(|preset| {
        vec![
            text(preset.choice.label),
            text(verbatim(show_count(preset.published))),
            text(verbatim(show_count(preset.architecture.elements().total() as f64))),
            text(verbatim(active(&preset.architecture))),
            name(preset.place),
            cite(preset.source),
        ]
    });
    let policies = POLICIES.iter().map(|policy| {
        let bytes = significant(policy.bytes.total(), 4);
        vec![text(policy.choice.label), text(verbatim(&bytes)), cite(policy.source)]
    });
    let model_head = [
        "model",
        "parameters as published",
        "counted here, without multi-token prediction",
        "a token visits: without embedding and head / with the head / with both",
        "place",
        "source",
    ];
    let policy_head = ["policy", "bytes per parameter", "source"];
    let stacks = STACKS.iter().map(|row| vec![name(row.choice.label), text(row.remark), cite(row.source)]);
    [
        section("Software stacks", &["software", "what it decides", "source"], stacks),
        section("Models", &model_head, models),
        section("Precision policies", &policy_head, policies),
    ]
    .into_iter()
    .collect()
}

fn of_schedules_and_methods() -> Node {
    let schedules = SCHEDULES.iter().map(|row| vec![text(row.name()), text(row.idea), cite(row.source)]);
    let methods = METHODS.iter().map(|row| vec![text(row.method.choice().label), cite(row.source)]);
    [
        section("Schedules", &["schedule", "idea", "source"], schedules),
        section("Memory methods", &["method", "source"], methods),
    ]
    .into_iter()
    .collect()
}

fn of_measurements_and_documents() -> Node {
    let measured = SOURCES
        .iter()
        .map(|row| vec![name(row.name), text(row.kind.words()), name(row.stack), leaf("code", "", row.file)]);
    let documents =
        ALL.iter().map(|source| vec![name(source.short), name(source.title), cited(source, source.locator)]);
    [
        section("Published measurements", &["rows", "used as", "software", "table"], measured),
        section("Documents", &["short", "title", "where"], documents),
    ]
    .into_iter()
    .collect()
}

/// A whole document around `content`, to stand beside the page: in English, or in the language of a catalogue with its tag.
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
body{margin:0 auto;padding:24px;max-width:1180px;background:var(--bg);color:var(--text);font:14px/1.5 system-ui,sans-serif}\
h1{font-size:20px}h2{font-size:16px;margin:32px 0 8px}a{color:var(--accent)}li{margin:4px 0;max-width:800px}\
.scroll-x{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\
td,th{padding:4px 16px 4px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}th{color:var(--muted);font-weight:400}";

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
        let shown = |words: &str| page.contains(&text(verbatim(words)).to_html());
        for source in ALL {
            assert!(shown(source.title) && shown(source.locator), "{}", source.short);
        }
        assert!(constants().iter().all(|constant| shown(&constant.how.to_string())));
        for preset in GPUS {
            assert!(shown(preset.choice.label), "{}", preset.choice.id);
        }
        for preset in MODELS {
            assert!(shown(preset.place), "{}", preset.choice.id);
        }
        for row in SCHEDULES {
            assert!(shown(row.name()), "{}: its row of SCHEDULES needs idea and source", row.id());
        }
    }
}
