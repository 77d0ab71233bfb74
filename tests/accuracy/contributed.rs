//! Runs that somebody adds to the tables: what is checked, and what the tables then say.

use shardscope::core::accuracy::{Measurement, read};
use shardscope::io::contributed::{Contribution, TABLE};
use std::fs::read_to_string;

fn table() -> String {
    read_to_string(format!("{}/public/data/{TABLE}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The table's Llama 2 7B on eight GPUs: 16,934 tokens a second and GPU, 3.8701 s (NeMo 24.07), with half of the batch.
fn contribution() -> Contribution {
    Contribution {
        document: "NVIDIA/NeMo: performance_summary.md [NeMo 24.07, another table]".to_owned(),
        date: 2024.6,
        publisher: "NVIDIA".to_owned(),
        link: "https://example.org/#v=1&model=llama-2-7b&gpu=h100-sxm-80gb&stack=nemo-2024&gpus=8&tp=1&pp=1&cp=1&\
            seq_len=4096&micro_batch=1&global_batch=64&recompute=none&zero=1&precision=fp8-delayed"
            .to_owned(),
        note: "NeMo 24.07; the optimizer's formats are not printed".to_owned(),
        step_s: Some(1.95),
        ..Contribution::default()
    }
}

fn refused(contribution: &Contribution) -> Vec<String> {
    let issues = contribution.check(&table()).unwrap_err();
    let mut fields: Vec<String> = issues.into_iter().map(|issue| issue.field).collect();
    fields.dedup();
    fields
}

#[test]
fn an_added_line_is_read_as_the_run_of_its_link_with_what_was_measured() {
    let said = Contribution { step_s: None, tokens_per_s_per_gpu: Some(16_934.0), ..contribution() };
    let checked = said.check(&table()).unwrap();
    assert_eq!(checked.source, Some("NeMo 24.07 on H100"));
    // The document's name holds that of one whose date is known.
    assert_eq!(checked.origin, None);
    let (before, after) =
        (read(TABLE, &table()).0, read(TABLE, &format!("{}\n{}\n", table().trim_end(), checked.line)).0);
    assert_eq!(after.len(), before.len() + 1);
    let row = after.iter().find(|row| before.iter().all(|known| known.id != row.id)).unwrap();
    assert_eq!(row.run, shardscope::io::link::decode(&said.link).run);
    // 64 sequences of 4096 tokens over 8 GPUs.
    let seconds = 64.0 * 4096.0 / 16_934.0 / 8.0;
    assert!(matches!(row.measured, Measurement::Step(step) if (step / seconds - 1.0).abs() < 1e-9));
    assert_eq!((&row.origin, &row.note), (&said.document, &said.note));
}

#[test]
fn a_document_that_no_source_reads_says_so_and_brings_its_date() {
    let said =
        Contribution { document: "A report, table 2".to_owned(), publisher: "Somebody".to_owned(), ..contribution() };
    let checked = said.check(&table()).unwrap();
    assert_eq!(checked.source, None);
    assert_eq!(
        checked.origin.as_deref(),
        Some("throughput_3.csv,\"A report, table 2\",2024.6,Somebody,stated by who added it")
    );
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let with = |change: &dyn Fn(&mut Contribution)| {
        let mut said = contribution();
        change(&mut said);
        refused(&said)
    };
    assert_eq!(with(&|said| said.document.clear()), ["document"]);
    assert_eq!(with(&|said| said.note = "two\nlines".to_owned()), ["note"]);
    assert_eq!(with(&|said| said.date = 24.5), ["date"]);
    assert_eq!(with(&|said| said.step_s = None), ["step_s"]);
    assert_eq!(with(&|said| said.step_s = Some(-1.0)), ["step_s"]);
    assert_eq!(with(&|said| said.step_s = Some(f64::NAN)), ["step_s"]);
    // Milliseconds in place of seconds.
    assert_eq!(with(&|said| said.step_s = Some(1950.0)), ["link"]);
    assert_eq!(with(&|said| said.tokens_per_s_per_gpu = Some(4000.0)), ["step_s"]);
    assert_eq!(with(&|said| said.link += "&wings=2"), ["link"]);
    assert_eq!(with(&|said| said.link += "&tp=3"), ["link"]);
    assert_eq!(with(&|said| said.link += "&measured_step_s=2"), ["link"]);
    let unknown = Contribution { link: contribution().link + "&wings=2", ..contribution() };
    assert!(unknown.check(&table()).unwrap_err()[0].message.to_string().starts_with("wings: "));
    let far = Contribution { step_s: Some(1950.0), anyway: true, ..contribution() };
    assert!(far.check(&table()).is_ok());
}

#[test]
fn a_run_that_the_table_has_is_not_added_twice() {
    let checked = contribution().check(&table()).unwrap();
    let both = format!("{}\n{}\n", table().trim_end(), checked.line);
    let again = contribution().check(&both).unwrap_err();
    assert_eq!(again[0].field, "link");
}
