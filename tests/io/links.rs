//! Links: what goes in comes out, nothing throws, and what was ever published still opens.
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use shardscope::core::run::registry::{FIELDS, Field, Slot};
use shardscope::core::run::{Choice, Run, Value};
use shardscope::io::link::{decode, encode, encode_with};
use shardscope::view::view_state::ViewState;
use std::collections::BTreeSet;

/// A value that a field takes.
fn value(field: &'static Field) -> BoxedStrategy<Value> {
    match &field.slot {
        Slot::Count { range: (low, high), .. } => (*low..=*high.min(&(1 << 40))).prop_map(Value::from).boxed(),
        Slot::Number { range: (low, high), .. } => (*low..=*high).prop_map(Value::Number).boxed(),
        Slot::Toggle => any::<bool>().prop_map(Value::Bool).boxed(),
        Slot::Choice { options, .. } => {
            proptest::sample::select(options()).prop_map(|choice| Value::Text(choice.id.to_owned())).boxed()
        }
        Slot::Counts => proptest::collection::vec(0u64..1000, 1..9)
            .prop_map(|list| Value::List(list.into_iter().map(Value::from).collect()))
            .boxed(),
        Slot::Numbers { length, range, .. } => proptest::collection::vec(range.0..=range.1, *length)
            .prop_map(|list| Value::List(list.into_iter().map(Value::Number).collect()))
            .boxed(),
        Slot::Set { options, .. } => proptest::sample::subsequence(options(), 1..=options().len())
            .prop_map(|ids| Value::List(ids.into_iter().map(|c| Value::Text(c.id.to_owned())).collect()))
            .boxed(),
        Slot::Text if field.key == "failures" => "vetted|shared|unknown|[1-9][0-9]{0,3}".prop_map(Value::Text).boxed(),
        Slot::Text if field.key == "context_phases" => {
            "[1-9][0-9]{3,5}:[1-9][0-9]{9,11}(:[1-9])?(,[1-9][0-9]{3,5}:[1-9][0-9]{9,11})?"
                .prop_map(Value::Text)
                .boxed()
        }
        Slot::Text if field.key == "lengths.values" => {
            "[1-9][0-9]{2,4}:[1-9][0-9]?(,[1-9][0-9]{5}:[1-9])?".prop_map(Value::Text).boxed()
        }
        Slot::Text if field.key == "model.vision.image_sizes" => {
            "([1-9]\\*)?[1-9][0-9]{2}x[1-9][0-9]{2}:[1-9](,[1-9][0-9]{3}x[1-9][0-9]{3}:[1-9])?"
                .prop_map(Value::Text)
                .boxed()
        }
        Slot::Text if field.key == "prices" => {
            "(b200-sxm|gb200|mi300x):[1-9](\\.[1-9])?(,h100-sxm-80gb:[1-9])?".prop_map(Value::Text).boxed()
        }
        Slot::Text => "[0-9FBW(),;|]{1,30}".prop_map(Value::Text).boxed(),
    }
}

/// A Run with up to a dozen fields set at random.
fn run() -> impl Strategy<Value = Run> {
    let set = (0..FIELDS.len()).prop_flat_map(|at| value(&FIELDS[at]).prop_map(move |v| (at, v)));
    proptest::collection::vec(set, 0..12).prop_map(|changes| {
        let mut run = Run::default();
        for (at, value) in changes {
            FIELDS[at].set(&mut run, &value).unwrap();
        }
        run
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_link_opens_the_run_it_was_made_from(run in run()) {
        let link = encode(&run);
        let read = decode(&format!("https://example.org/x/#{link}"));
        prop_assert_eq!(&read.notices, &[], "{}", link);
        prop_assert_eq!(&read.run, &run, "{}", link);
        prop_assert_eq!(encode(&read.run), link);
    }

    #[test]
    fn a_link_opens_both_runs_it_was_made_from(first in run(), second in run()) {
        let view = ViewState { second: Some(second), ..ViewState::default() };
        let link = encode_with(&first, &view);
        let read = decode(&link);
        prop_assert_eq!(&read.notices, &[], "{}", link);
        prop_assert_eq!(&read.run, &first, "{}", link);
        prop_assert_eq!(&read.view, &view, "{}", link);
        prop_assert_eq!(encode_with(&read.run, &read.view), link);
    }

    #[test]
    fn an_object_means_the_run_it_was_made_from(run in run()) {
        let json = serde_json::to_string(&run.to_value()).unwrap();
        let back = Run::from_value(&serde_json::from_str(&json).unwrap()).unwrap();
        prop_assert_eq!(back, run);
    }

    #[test]
    fn no_text_breaks_the_reader_or_the_report(text in "\\PC{0,200}") {
        let read = decode(&text);
        let _ = shardscope::core::run::Scenario::new(&read.run);
    }

    #[test]
    fn no_mangled_link_breaks_the_reader(
        keys in proptest::collection::vec((0..FIELDS.len(), "[-+0-9a-zA-Z.,%|]{0,24}"), 0..9)
    ) {
        let pairs: Vec<_> = keys.iter().map(|(at, v)| format!("{}={v}", FIELDS[*at].key)).collect();
        let read = decode(&pairs.join("&"));
        if let Ok(report) = shardscope::core::report::report(&read.run) {
            let json = serde_json::to_string(&report).unwrap();
            // A ratio to no compute at all is none: `overlap.dp=0`.
            prop_assert!(!json.replace("\"ratio\":null", "").contains("null"), "{json}");
        }
    }
}

/// A number with many digits is read back to the bit: what once was not.
#[test]
fn a_price_of_many_digits_comes_back() {
    let run = Run { price_per_gpu_hour: Some(971_949.588_689_750_5), ..Run::default() };
    assert_eq!(decode(&encode(&run)).run, run);
}

#[test]
fn every_field_has_its_own_key_label_and_hint() {
    for (index, field) in FIELDS.iter().enumerate() {
        assert!(!field.label.is_empty() && !field.hint.is_empty(), "{}", field.key);
        assert!(FIELDS[..index].iter().all(|other| other.key != field.key), "{}", field.key);
    }
}

/// `tests/data/links.txt` is append-only: a link that was ever published opens the same Run for ever.
#[test]
fn published_links_still_open() {
    let text = include_str!("../data/links.txt");
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut parts = line.split('\t');
        let read = decode(parts.next().unwrap());
        assert_eq!(read.notices, [], "{line}");
        let mut run = || {
            let object = serde_json::from_str::<Value>(parts.next()?).unwrap();
            Some(Run::from_value(&object).unwrap())
        };
        assert_eq!(Some(read.run), run(), "{line}");
        assert_eq!(read.view.second, run(), "{line}");
    }
}

/// Steps of lessons were linked by their number: each opens the step that it opened then.
#[test]
fn old_numbers_of_steps_still_open_them() {
    let text = include_str!("../data/lesson_numbers.txt");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (old, now) = line.split_once('\t').unwrap();
        let read = decode(&format!("v=1&view.lesson={old}"));
        assert_eq!(read.notices, [], "{line}");
        assert_eq!(encode_with(&read.run, &read.view), format!("v=1&view.lesson={now}"), "{line}");
    }
}

/// Appended lines stay: the first lines of the file, whole, by their FNV-1a hash. More may follow them.
#[test]
fn published_links_are_only_appended() {
    const LINES: usize = 356;
    let text = include_str!("../data/links.txt");
    let first: String = text.split_inclusive('\n').take(LINES).collect();
    let hash = first
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(hash, 0xe6a8_7030_3de7_8175, "a line of tests/data/links.txt was changed: {hash:#x}");
}

/// A link in which `field` has `value`, with the Run that it means, as a line of `tests/data/links.txt`.
fn line(field: &Field, value: &Value) -> String {
    let mut run = Run::default();
    field.set(&mut run, value).unwrap();
    let link = Some(encode(&run)).filter(|link| link.contains(field.key));
    // A value that the default Run has.
    let link = link.unwrap_or_else(|| format!("v=1&{}={}", field.key, field.text(&run).unwrap()));
    format!("{link}\t{}\n", serde_json::to_string(&run.to_value()).unwrap())
}

/// A key or an id that is renamed breaks links, so that each stands in one that [`published_links_still_open`] opens.
/// The lines of new ones are written here.
#[test]
fn every_key_and_every_id_is_in_a_published_link() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/links.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let links = text.lines().filter_map(|line| line.split('\t').next());
    let pairs: BTreeSet<&str> = links.flat_map(|link| link.split('&')).collect();
    let keys: BTreeSet<&str> = pairs.iter().filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
    let mut runner = TestRunner::deterministic();
    let mut missing = String::new();
    for field in FIELDS.iter() {
        let ids: Vec<_> = match &field.slot {
            // Second models are those of the first field.
            Slot::Choice { options } if field.key.starts_with("phases.") => options()
                .into_iter()
                .filter(|choice| !pairs.contains(format!("model={}", choice.id).as_str()))
                .collect(),
            Slot::Choice { options } | Slot::Set { options } => options(),
            _ => Vec::new(),
        };
        let is_missing = |id: &Choice| !pairs.contains(format!("{}={}", field.key, id.id).as_str());
        for id in ids.into_iter().filter(is_missing) {
            let id = Value::Text(id.id.to_owned());
            let is_set = matches!(field.slot, Slot::Set { .. });
            missing += &line(field, &if is_set { Value::List(vec![id]) } else { id });
        }
        if !keys.contains(field.key) && !missing.contains(&format!("&{}=", field.key)) {
            missing += &line(field, &value(field).new_tree(&mut runner).unwrap().current());
        }
    }
    if !missing.is_empty() {
        std::fs::write(path, text + &missing).unwrap();
        panic!(
            "tests/data/links.txt got the links of new keys and ids, which have to open from now on: commit it\n{missing}"
        );
    }
}
