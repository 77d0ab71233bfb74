//! Recipes of Megatron-Bridge's published runs: what the columns `run` and `matched` of the tables say of them, made
//! again from what each recipe's functions returned (`tests/data/bridge_recipes.csv`).

use crate::common::{Row, evidence, table};
use shardscope::core::accuracy::record::as_printed;
use shardscope::core::accuracy::{DATED, Measurement};
use shardscope::core::report::{EXPERTS_BESIDE, WHOLE_GRAPHS};
use shardscope::core::run::presets::Peers;
use shardscope::core::run::registry::FIELDS;
use shardscope::core::run::{EpOverlap, GraphPart, Scenario};
use shardscope::core::time::StepClass;
use std::collections::BTreeMap;

/// Columns by which a run finds its recipe, as the recipes name them and as the tables do.
const KEYS: [(&str, &str); 12] = [
    ("model", "model"),
    ("gpu", "gpu_type"),
    ("precision", "precision"),
    ("gpus", "gpus"),
    ("seq", "seq"),
    ("tp", "tp"),
    ("pp", "pp"),
    ("vpp", "vpp"),
    ("cp", "cp"),
    ("ep", "ep"),
    ("mbs", "mbs"),
    ("gbs", "gbs"),
];

/// Printed layouts that are those of the release before: the tables hold the layout of the recipe that ran, by its
/// speed (Qwen3-30B on H100 26.02.01 runs as 26.04, 25.11 as 26.02; gpt-oss on B200 25.11 over 64 ranks).
const STALE: [(&str, &str, &str); 3] =
    [("Qwen3_30B_a3B", "H100", "26.02.01"), ("Qwen3_30B_a3B", "H100", "25.11"), ("GPT OSS 120B", "B200", "25.11")];

/// Container of a line of the tables: `[26.08 NeMo Container; ...]`.
fn container(row: &Row) -> Option<&str> {
    row["source"].split_once("Megatron-Bridge")?.1.split_once('[')?.1.split_once(" NeMo")?.0.into()
}

fn key(row: &Row, side: fn(&(&'static str, &'static str)) -> &'static str, container: &str) -> Vec<String> {
    let mut key = vec![container.to_owned()];
    key.extend(KEYS.iter().map(|pair| match row[side(pair)].trim_end_matches(".0") {
        "" => "1".to_owned(),
        cell => cell.to_owned(),
    }));
    key
}

/// Fields of a run that recipes decide.
const DECIDED: [&str; 9] = [
    "graph_scope",
    "moe_dispatch",
    "ep_overlap",
    "delay_wgrad",
    "recompute.modules",
    "recompute.layers",
    "stack.attention",
    "stack.moe_fused",
    "capacity_factor",
];

/// Values of a run in these fields.
fn decided(run: &str) -> Vec<String> {
    let pairs = run.split('&').filter(|pair| pair.split_once('=').is_some_and(|(key, _)| DECIDED.contains(&key)));
    pairs.map(str::to_owned).collect()
}

/// Values of a recipe, in the fields of a run.
fn fields(recipe: &Row) -> Vec<String> {
    let cell = |name: &str| recipe[name].as_str();
    let mut pairs: Vec<String> = Vec::new();
    let mut push = |key: &str, value: &str| pairs.push(format!("{key}={value}"));
    match cell("cuda_graph_impl") {
        "" => {}
        "none" => push("graph_scope", "none"),
        "full_iteration" => push("graph_scope", "iteration"),
        _ => push("graph_scope", &cell("cuda_graph_scope").replace(' ', ",")),
    }
    match cell("dispatcher") {
        "" => {}
        "alltoall" => push("moe_dispatch", "all-to-all"),
        "deepep" => push("moe_dispatch", "per-node"),
        other => push("moe_dispatch", other),
    }
    if cell("ep_overlap") == "1" {
        push("ep_overlap", "1f1b");
    }
    if cell("delay_wgrad") == "1" {
        push("delay_wgrad", "true");
    }
    match (cell("recompute_modules"), cell("recompute_modules").strip_prefix("full:")) {
        ("", _) => {}
        (_, Some(layers)) => push("recompute.layers", layers.trim_end_matches(" layers")),
        (modules, None) => push("recompute.modules", &modules.replace(' ', ",")),
    }
    if cell("fp8_attention") == "1" {
        push("stack.attention", "fp8");
    }
    match cell("fused_experts") {
        "1" => push("stack.moe_fused", "true"),
        "0" => push("stack.moe_fused", "false"),
        _ => {}
    }
    if !cell("token_drop").is_empty() {
        push("capacity_factor", cell("token_drop").trim_end_matches(".0"));
    }
    pairs
}

#[test]
fn the_recipes_of_the_tables_are_those_of_the_recipes_functions() {
    let recipes = table("bridge_recipes.csv");
    let by_key: BTreeMap<Vec<String>, &Row> =
        recipes.iter().map(|recipe| (key(recipe, |pair| pair.0, &recipe["container"]), recipe)).collect();
    let (mut joined, mut stale, mut wrong) = (0, 0, Vec::new());
    for row in ["throughput.csv", "throughput_2.csv"].into_iter().flat_map(table) {
        let Some(container) = container(&row) else { continue };
        let named = STALE.contains(&(&row["model"], &row["gpu_type"], container));
        let Some(recipe) = by_key.get(&key(&row, |pair| pair.1, container)) else {
            assert!(named && row["run"].contains("graph_scope"), "{row:?}");
            stale += 1;
            continue;
        };
        joined += 1;
        let made = (fields(recipe), recipe["matched"].clone());
        let (told, computed) = ((decided(&row["run"]), row["matched"].clone()), !row["run"].is_empty());
        if computed && made != told {
            wrong.push(format!("{} {} {container}: {made:?}, the table has {told:?}", row["model"], row["gpu_type"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((joined, stale, recipes.len()), (280, 3, 283));
}

/// `llama3_llm_pretrain.py`, `llama31_llm_pretrain.py`: `tp_comm_overlap = False if precision == "nvfp4"`; other
/// precisions of Llama overlap.
#[test]
fn tensor_parallel_messages_of_llama_in_nvfp4_wait() {
    let mut held = [0; 2];
    for row in ["throughput.csv", "throughput_2.csv"].into_iter().flat_map(table) {
        if container(&row).is_none() || row["run"].is_empty() || !row["model"].starts_with("LLAMA") || row["tp"] == "1"
        {
            continue;
        }
        let nvfp4 = row["precision"] == "NVFP4";
        assert_eq!(row["run"].contains("stack.tp_overlap=none"), nvfp4, "{row:?}");
        held[usize::from(nvfp4)] += 1;
    }
    assert!(held.iter().all(|runs| *runs > 10), "{held:?}");
}

/// Bytes of gradients, weights and moments: every recipe sets `grad_reduce_in_fp32 = False`, and Megatron's gradient
/// buffer has the format that it reduces (`param_and_grad_buffer.py`); `mixed_precision.py` gathers parameters in fp8
/// and MXFP8, in NVFP4 from v0.4.2 on, which Muon's optimizer (Kimi K2) and Nemotron 3 Super switch off; DeepSeek-V3
/// has bf16 moments.
#[test]
fn gradients_weights_and_moments_have_the_formats_of_the_recipes() {
    let mut held = 0;
    for row in ["throughput.csv", "throughput_2.csv"].into_iter().flat_map(table) {
        let Some(container) = container(&row).filter(|_| !row["run"].is_empty()) else { continue };
        let set = |pair: &str| row["run"].split('&').any(|other| other == pair);
        let model = row["model"].as_str();
        let gathers = match () {
            () if set("precision.base=mxfp8") => !model.starts_with("Kimi"),
            () if set("precision.base=nvfp4") => model.starts_with("LLAMA") && container >= "26.04.01",
            () => set("precision.base=fp8-current"),
        };
        assert!(set("precision.grads=2") || set("precision.base=bf16") || set("precision=bf16"), "{row:?}");
        assert_eq!(set("precision.param_gather=true"), gathers, "{row:?}");
        for moment in ["precision.moment1=2", "precision.moment2=2"] {
            assert_eq!(set(moment), model.starts_with("DeepSeekV3"), "{row:?}");
        }
        held += 1;
    }
    assert!(held > 250, "{held}");
}

/// Settings that are no shape of the model and no fact of the machine.
fn is_of_the_recipe(key: &str) -> bool {
    key != "model" && key != "gpus" && !["model.", "gpu"].iter().any(|of| key.starts_with(of))
}

/// Where the setting `key` of `row` comes from: the first line of the notes that names it, a column only where the row
/// fills it.
fn note<'a>(notes: &'a [Row], file: &str, row: &Row, key: &str) -> Option<&'a Row> {
    let source = row.get("source").map_or("", String::as_str);
    let names = |note: &&Row| {
        let is_filled = || row.get(&note["where"]).is_some_and(|cell| !cell.trim().is_empty());
        file.starts_with(&note["table"])
            && source.contains(&note["contains"])
            && note["fields"].split(' ').any(|field| field == key)
            && (note["kind"] != "column" || is_filled())
    };
    notes.iter().find(names)
}

/// Columns of a step, of which a row has one.
const STEP_COLUMNS: [&str; 5] =
    ["step_time_s", "step_s", "tokens_per_s", "tokens_per_s_per_gpu", "tflops_per_gpu_or_oom"];

/// Published rows with a step, with their table.
fn timed() -> Vec<(&'static str, Row)> {
    let is_timed = |row: &Row| {
        let has = |column: &str| row.get(column).is_some_and(|cell| !cell.is_empty());
        has("run") && STEP_COLUMNS.into_iter().any(has)
    };
    let rows = |file: &'static str| table(file).into_iter().map(move |row| (file, row));
    DATED.into_iter().flat_map(rows).filter(|(_, row)| is_timed(row)).collect()
}

/// Every setting of a published step says who states it: its document, a file of the program that ran at its commit, or
/// the software's default. None is set because the step comes out right with it.
#[test]
fn every_setting_of_a_published_step_has_a_source() {
    let notes = table("recipe_notes.csv");
    let (mut without, mut used) = (Vec::new(), BTreeMap::new());
    for (file, row) in timed() {
        for (key, _) in row["run"].split('&').filter_map(|pair| pair.split_once('=')) {
            match note(&notes, file, &row, key) {
                _ if !is_of_the_recipe(key) => {}
                Some(note) => *used.entry(&note["where"]).or_insert(0) += 1,
                None => without.push(format!("{file} {:?}: {key}", row.get("source"))),
            }
        }
    }
    assert!(without.is_empty(), "{} settings without a source: {without:#?}", without.len());
    for note in &notes {
        assert!(["column", "printed", "recipe", "default", "follows"].contains(&note["kind"].as_str()), "{note:?}");
        assert!(!note["where"].is_empty() && used.contains_key(&note["where"]), "no row needs {note:?}");
    }
}

/// A recipe of Megatron-Bridge is a line of a file at the commit of its release.
#[test]
fn every_recipe_names_its_file_and_line() {
    for recipe in table("bridge_recipes.csv") {
        let place = recipe["source"].split_once('@').map(|(_, place)| place.split(':').collect::<Vec<_>>());
        let Some([commit, file, line, ..]) = place.as_deref() else { panic!("{recipe:?}") };
        let line = line.split(' ').next().unwrap_or_default();
        assert!(commit.len() == 9 && file.starts_with('s') && line.parse::<u32>().is_ok(), "{}", recipe["source"]);
    }
}

/// What the page says of runs not seen before takes the settings of a recipe's file away, and those alone.
#[test]
fn as_printed_takes_away_what_only_a_recipe_says() {
    let notes = table("recipe_notes.csv");
    let mut taken = 0;
    for file in DATED {
        for row in evidence(file).iter().filter(|row| matches!(row.measured, Measurement::Step(_))) {
            let mut printed = row.run.clone();
            as_printed(row, &mut printed);
            for field in FIELDS.iter().filter(|field| field.get(&row.run) != field.get(&printed)) {
                let source = Row::from([("source".to_owned(), row.origin.clone())]);
                // The schedule that overlaps experts is the overlap of the recipe.
                let key = if field.key == "schedule" { "ep_overlap" } else { field.key };
                let note = note(&notes, file, &source, key).unwrap_or_else(|| panic!("{key}"));
                assert_eq!(note["kind"], "recipe", "{key}");
                taken += 1;
            }
        }
    }
    assert!(taken > 500, "{taken}");
}

/// Probabilities of the two settings of routed layers that a range counts where a run leaves them open: the shares of
/// Megatron's published steps with routed experts that have them. No step of a hybrid has either.
#[test]
fn open_settings_of_routed_layers_are_as_likely_as_published_recipes_say() {
    let mut counts = [[0.0; 3]; 2];
    for row in DATED.into_iter().flat_map(evidence) {
        let scenario = Scenario::new(&row.run).unwrap();
        let is_of_now = matches!(scenario.software.peers, Some(Peers::Megatron2025 | Peers::Megatron2026));
        let kind = match StepClass::of(&scenario) {
            StepClass::Experts => 0,
            StepClass::Hybrids => 1,
            _ => continue,
        };
        if !matches!(row.measured, Measurement::Step(_)) || !is_of_now {
            continue;
        }
        let parts = row.run.graph_scope.unwrap_or_default();
        let whole = [GraphPart::Layer, GraphPart::Iteration].iter().any(|part| parts.contains(part));
        let beside = scenario.software.ep_overlap != EpOverlap::None;
        for (count, one) in counts[kind].iter_mut().zip([true, whole, beside]) {
            *count += f64::from(u8::from(one));
        }
    }
    println!("runs, whole graphs, exchange beside another micro-batch; of experts and hybrids: {counts:?}");
    let [[runs, whole, beside], hybrids] = counts;
    for (told, count) in [(WHOLE_GRAPHS, whole), (EXPERTS_BESIDE, beside)] {
        assert!((told - count / runs).abs() < 0.01, "{told}: {count} of {runs}");
    }
    assert!(hybrids[0] > 0.0 && hybrids[1..] == [0.0, 0.0], "{hybrids:?}");
}
