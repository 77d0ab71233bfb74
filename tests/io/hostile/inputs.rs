//! Inputs of the entry points: texts that a person might send, then cut, doubled, spliced and spiked.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use shardscope::core::run::registry::{FIELDS, Field, Slot};
use std::fs;

/// Texts that break parsers or look like a number.
const SPIKES: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "-1",
    "-0.0",
    "0.5",
    "1e-320",
    "1e15",
    "1000000000000000",
    "9007199254740993",
    "18446744073709551616",
    "1e308",
    "1e400",
    "-1e308",
    "NaN",
    "inf",
    "null",
    "true",
    "{}",
    "[]",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":1}}}",
    "\"",
    "\\u0000",
    "%",
    "%zz",
    "%FF",
    "%00",
    "&",
    "=",
    "#",
    "|",
    ",",
    ";",
    "(",
    ")",
    "\n",
    "\t",
    "\u{0}",
    "\u{1F980}",
    "\u{202E}",
    "e\u{301}",
    "<script>",
    "0F0",
    "0BW0",
    "4294967295F4294967295",
    "0F4294967296",
    "(0F0;0B0)",
    "model.base",
    "dp",
    "8k",
    "1_000",
    "٣",
    "\u{FF18}",
    "\u{200E}8",
    "%E2%80%AE",
    "-0",
    "+8",
    "0x10",
    "1e-400",
    "nan",
    "8%",
    "\\ud800",
    "b.tp",
    "b.",
    "view.compare",
    "- - - - a: 1",
    "$V",
    "&a [*a, *a]",
    "<<: *a",
    "__proto__",
];

/// Files that some entry point reads, read from where the tests of the calculator keep them.
pub mod pasted {
    use super::*;

    fn text(path: &str) -> String {
        fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// Files of released checkpoints.
    pub fn configs() -> Vec<String> {
        let all = text("tests/data/released_configs.jsonl");
        let files = all.lines().filter_map(|line| line.split_once("\"config\":")?.1.strip_suffix('}'));
        files.map(str::to_owned).collect()
    }

    /// Links that were published.
    pub fn links() -> Vec<String> {
        let all = text("tests/data/links.txt");
        let links = all.lines().filter(|line| !line.starts_with('#'));
        links.filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
    }

    /// Orders that implementations made, those that are quickly run.
    pub fn orders() -> Vec<String> {
        let folder = format!("{}/tests/data/schedule_orders", env!("CARGO_MANIFEST_DIR"));
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
        texts.filter(|text| text.len() < 800).collect()
    }
}

/// A change to a text: where (as a share of it), how much, with what.
fn edit() -> impl Strategy<Value = (u8, f64, usize, String)> {
    (0u8..6, 0.0f64..1.0, 1usize..12, spike())
}

fn spike() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(SPIKES).prop_map(str::to_owned),
        2 => (0u32..70).prop_map(|bits| (1u128 << bits).to_string()),
        2 => (0..FIELDS.len()).prop_map(|at| FIELDS[at].key.to_owned()),
        1 => "\\PC{0,8}",
        1 => any::<f64>().prop_map(|number| number.to_string()),
    ]
}

fn edited(text: &str, (kind, at, length, spike): &(u8, f64, usize, String)) -> String {
    let chars: Vec<char> = text.chars().collect();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of the length
    let at = (at * chars.len() as f64) as usize;
    let end = (at + length).min(chars.len());
    let string = |part: &[char]| part.iter().collect::<String>();
    let (before, part, after) = (string(&chars[..at]), string(&chars[at..end]), string(&chars[end..]));
    // The word or number around the place.
    let wordy = |c: &char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let from = chars[..at].iter().rposition(|c| !wordy(c)).map_or(0, |place| place + 1);
    let to = chars[at..].iter().position(|c| !wordy(c)).map_or(chars.len(), |place| at + place);
    match kind {
        0 => format!("{before}{after}"),
        1 => format!("{before}{part}{part}{after}"),
        2 => format!("{before}{spike}{after}"),
        3 => before,
        _ => format!("{}{spike}{}", string(&chars[..from]), string(&chars[to..])),
    }
}

/// `seeds` with a few changes each, or none.
pub fn mutated(seeds: Vec<String>) -> BoxedStrategy<String> {
    (select(seeds), vec(edit(), 0..5))
        .prop_map(|(seed, edits)| edits.iter().fold(seed, |text, edit| edited(&text, edit)))
        .boxed()
}

/// Text for a field: mostly what it takes, at times at the edge or beyond it.
fn value(field: &'static Field) -> BoxedStrategy<String> {
    let meant = match &field.slot {
        Slot::Count { range: (low, high), .. } => {
            let (low, high) = (*low, *high);
            prop_oneof![
                5 => (0u32..7).prop_map(|bits| (1u64 << bits).to_string()),
                2 => (0u64..200).prop_map(|count| count.to_string()),
                1 => (low..=high).prop_map(|count| count.to_string()),
                1 => select(vec![low, low + 1, high - 1, high, high + 1]).prop_map(|count| count.to_string()),
            ]
            .boxed()
        }
        Slot::Number { range: (low, high), .. } => {
            let (low, high) = (*low, *high);
            prop_oneof![
                3 => (0.0f64..2.0).prop_map(|number| number.to_string()),
                3 => (low..=high).prop_map(|number| number.to_string()),
                1 => select(vec![low, high]).prop_map(|number| number.to_string()),
            ]
            .boxed()
        }
        Slot::Toggle => any::<bool>().prop_map(|yes| yes.to_string()).boxed(),
        Slot::Choice { options, .. } => select(options()).prop_map(|choice| choice.id.to_owned()).boxed(),
        Slot::Counts => {
            vec(0u64..20, 1..9).prop_map(|list| list.iter().map(u64::to_string).collect::<Vec<_>>().join(",")).boxed()
        }
        Slot::Numbers { length, range, .. } => vec(range.0..=range.1, length - 1..=*length)
            .prop_map(|list| list.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
            .boxed(),
        Slot::Set { options, .. } => vec(select(options()), 0..5)
            .prop_map(|ids| ids.iter().map(|choice| choice.id).collect::<Vec<_>>().join(","))
            .boxed(),
        Slot::Text => prop_oneof![
            select(pasted::orders()).prop_map(|order| {
                let ranks = order.lines().filter(|line| !line.starts_with('#'));
                ranks.collect::<Vec<_>>().join("|")
            }),
            "[0-3]{1}(F|B|W|BW)[0-3]{1}(,[0-3]{1}(F|B|W|BW)[0-3]{1}){0,8}",
        ]
        .boxed(),
    };
    prop_oneof![15 => meant, 1 => spike()].boxed()
}

/// A few settings; `most` at once.
fn settings(most: usize) -> BoxedStrategy<Vec<(String, String)>> {
    let keys: Vec<BoxedStrategy<(String, String)>> =
        FIELDS.iter().map(|field| value(field).prop_map(|text| (field.key.to_owned(), text)).boxed()).collect();
    let one = prop_oneof![
        60 => (0..FIELDS.len()).prop_flat_map(move |at| keys[at].clone()),
        1 => (spike(), spike()),
    ];
    vec(one, 0..most).boxed()
}

/// Links: made of settings, of a published one with settings behind it, or of what is no link any more.
pub fn links() -> BoxedStrategy<String> {
    let pairs = |settings: Vec<(String, String)>| -> String {
        let pairs = settings.iter().map(|(key, value)| format!("&{key}={value}"));
        pairs.collect()
    };
    let made =
        (select(pasted::links()), settings(6)).prop_map(move |(link, settings)| format!("{link}{}", pairs(settings)));
    let alone = settings(12).prop_map(move |settings| format!("#v=1{}", pairs(settings)));
    // Beside the Run: a second one, what is shown, the same key again.
    let beside = prop_oneof![
        6 => settings(6).prop_map(|settings| under("b.", settings)),
        1 => (select(vec!["embed", "compare", "page", "theme", "lang", "made", "nonsense"]), spike())
            .prop_map(|(key, value)| vec![(format!("view.{key}"), value)]),
        1 => settings(3).prop_map(|settings| [settings.clone(), settings].concat()),
    ];
    let two = (settings(6), beside).prop_map(move |(first, beside)| format!("#v=1{}{}", pairs(first), pairs(beside)));
    prop_oneof![4 => made, 4 => alone, 3 => two, 2 => mutated(pasted::links()), 1 => "\\PC{0,200}"].boxed()
}

fn under(prefix: &str, settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let named = settings.into_iter();
    named.map(|(key, value)| (format!("{prefix}{key}"), value)).collect()
}

/// Files of other programs, and what each of their forms is known to be broken by.
pub fn files(seeds: Vec<String>) -> Vec<String> {
    let bombs = [
        "general:\n  project: x\nparallelism:\n  dp: 8\n  tp: &a 2\n  pp: *a\ntokens: &b [*a, *a]\nall: &c [*b, *b]\n",
        "parallelism:\n- - - tp: 2\n  dp:\n    - - a: 1\nmodel:\n model_config:\n  hidden_size: 4096\n",
        "[parallelism]\ntensor_parallel_degree = 2\n[a.b.c.d]\nx = [[1, [2]], [\n[3],\n]]\n[[training]]\nseq_len = nan\n",
        "parallelism: &a {dp: 8, <<: *a}\ntokens: [&b [1, 2], &c [*b, *b], &d [*c, *c]]\nmodel:\n  <<: [*c, {dtype: !!str 1}]\n  x: |2-\n   y\n",
        "training = { seq_len = 8192, a.b.c.d = [{}, { x = '''{{[''' }] }\nmodel.\"na.me\".x = 1979-05-27T07:32:00Z\nmodel.name = \"\"\"\\\n  llama3\"\"\"\n",
        "V='$V --x'\nA=aaaa; B=$A$A$A; C=$B$B$B; D=\"$C $C\"\n$V torchrun x.py --tensor-model-parallel-size ${TP:-2} --seq-length $D ${N[@]} $(($A * 2))",
        "{\"model_type\":\"llama\",\"hidden_size\":1e999,\"hidden_size\":4096,\"num_hidden_layers\":-0,\"a\":{\"a\":{\"a\":[[[[]]]]}}}",
        "{\"tp\":2,\"tp\":4,\"model\":{\"base\":\"llama-3.1-8b\",\"model\":{}},\"__proto__\":{\"tp\":8},\"x\":\"\\ud83e\\udd80\"}",
        "{\"zero_optimization\":{\"stage\":3,\"stage\":\"3\"},\"train_batch_size\":\"auto\",\"bf16\":{\"enabled\":[true]}}",
    ];
    let bombs = bombs.iter().map(|text| (*text).to_owned());
    seeds.into_iter().chain(bombs).collect()
}

/// Runs as JSON: nested as the keys are, flat, or broken.
pub fn json_runs() -> BoxedStrategy<String> {
    let object = settings(8).prop_map(|settings| {
        let entries: Vec<String> = settings
            .iter()
            .filter(|(key, _)| !key.contains(['"', '\\', '\n', '\t', '\u{0}']))
            .map(|(key, value)| format!("\"{key}\":{}", json(value)))
            .collect();
        format!("{{{}}}", entries.join(","))
    });
    let nested = r#"{"model":{"base":"llama-3.1-8b","layers":40,"moe":{"experts":8,"top_k":2}},"gpu":{"base":"h100-sxm","memory_gib":80},"gpus":64,"tp":2,"pp":4,"recompute":{"modules":["norm","mlp"]},"overlap":{"dp":0.5},"stage_layers":[10,10,10,10]}"#;
    prop_oneof![3 => object, 1 => mutated(vec![nested.to_owned()])].boxed()
}

/// A setting's text as JSON.
fn json(text: &str) -> String {
    let list = text.contains(',') && !text.contains('F');
    if list {
        let items: Vec<String> = text.split(',').map(json).collect();
        return format!("[{}]", items.join(","));
    }
    if text.parse::<f64>().is_ok_and(f64::is_finite) && !text.starts_with(['+', '.']) && !text.ends_with('.') {
        return text.to_owned();
    }
    if matches!(text, "true" | "false" | "null" | "{}" | "[]") {
        return text.to_owned();
    }
    serde_json::to_string(text).unwrap()
}

/// Orders of one's own: tokens and PyTorch's CSV.
pub fn orders() -> BoxedStrategy<String> {
    let torch = pasted::orders()
        .iter()
        .map(|order| order.replace('B', "I").replace("IW", "B").replace(')', ")OVERLAP_F_B"))
        .collect();
    prop_oneof![
        3 => mutated(pasted::orders()),
        2 => mutated(torch),
        1 => "[0-9FBWI(),;|\n]{0,60}",
        1 => "\\PC{0,100}",
    ]
    .boxed()
}

/// Requests for one schedule.
pub fn schedules() -> BoxedStrategy<String> {
    let ids: Vec<&str> =
        shardscope::core::pipeline::SCHEDULES.iter().map(shardscope::core::pipeline::ScheduleInfo::id).collect();
    let small = |most: u32| prop_oneof![8 => (0..most).prop_map(f64::from), 1 => any::<u32>().prop_map(f64::from), 1 => any::<f64>()];
    let time = || prop_oneof![6 => 0.0f64..4.0, 1 => Just(0.0), 1 => any::<f64>()];
    let entry = prop_oneof![
        (select(vec!["pp", "microbatches"]), small(12)).boxed(),
        (select(vec!["virtual_stages", "group", "waves", "memory_limit", "splits"]), small(5)).boxed(),
        (select(vec!["forward_s", "backward_input_s", "backward_weight_s", "pair_s", "p2p_s"]), time()).boxed(),
    ]
    .prop_map(|(key, number)| format!(",\"{key}\":{number}"));
    let object =
        (select(ids), vec(entry, 0..7), proptest::option::of(vec(time(), 0..9))).prop_map(|(id, entries, scale)| {
            let scale = scale.map(|scale| format!(",\"stage_scale\":{scale:?}"));
            format!("{{\"schedule\":\"{id}\"{}{}}}", entries.concat(), scale.unwrap_or_default())
        });
    let seeds = vec![
        r#"{"schedule":"1f1b","pp":4,"microbatches":8,"ops":false}"#.to_owned(),
        r#"{"schedule":"chimera","pp":4,"microbatches":8,"variant":"concat","stage_scale":[1,2,3,4]}"#.to_owned(),
        r#"{"schedule":"custom","order":[["0F0","0BW0"],["1F0","1BW0"]]}"#.to_owned(),
    ];
    prop_oneof![4 => object, 1 => mutated(seeds)].boxed()
}

/// Requests for a plan.
pub fn plans() -> BoxedStrategy<String> {
    let seeds = vec![
        r#"{"run":{"model":"llama-3.1-8b","gpus":16},"top":3,"pin":["tp"],"space":{"pp":[1,2,4]}}"#.to_owned(),
        r#"{"run":{"model":"mixtral-8x7b","gpus":8},"top":1,"space":{"tp":[1],"zero":[1,3],"schedule":["1f1b"]}}"#
            .to_owned(),
    ];
    let run = json_runs().prop_map(|run| format!("{{\"run\":{run},\"top\":2}}"));
    prop_oneof![2 => mutated(seeds), 1 => run].boxed()
}

/// A link and the name of a page of the dialog, a line each.
pub fn panels() -> BoxedStrategy<String> {
    let pages = ["methods", "glossary bubble", "published", "export"];
    let page = prop_oneof![
        1 => spike(),
        1 => mutated(pages.map(str::to_owned).into()),
    ];
    let link = (select(pasted::links()), settings(4)).prop_map(|(link, settings)| {
        let pairs = settings.iter().map(|(key, value)| format!("&{key}={value}"));
        format!("{link}{}", pairs.collect::<String>()).replace('\n', "")
    });
    (link, page).prop_map(|(link, page)| format!("{link}\n{page}")).boxed()
}
