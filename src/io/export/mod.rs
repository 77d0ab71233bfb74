//! Exports: a report for a wiki, figures as JSON and CSV, launch settings of other programs; and the pipeline
//! timeline as a table of ops, a picture, a trace for Perfetto.

mod bars;
mod card;
mod commands;
mod csv;
mod formats;
mod markdown;
pub mod menu;
mod ops;
mod picture;
mod rl;
mod rl_settings;
mod stamp;
mod trace;
mod whole;

pub use bars::picture;
pub use card::compared_card;
pub use formats::{ExportFormat, FORMATS, export, ids, trial};
pub use ops::ops_csv;
pub use picture::{Picture, stacked, svg};
pub use stamp::Stamp;
pub use trace::chrome_trace;

use shardscope_core::report::Evaluation;
use shardscope_core::run::OneOf;

/// A name for a file of this Run: `shardscope-llama-3-1-8b-64-1f1b.svg`.
pub fn file_name(evaluation: &Evaluation, end: &str) -> String {
    let run = &evaluation.scenario.run;
    let words = format!("shardscope-{}-{}-{}", run.model.title(), run.gpus, evaluation.report.pipeline.schedule.id());
    let mut name = String::new();
    for c in words.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    format!("{name}.{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Run;

    #[test]
    fn a_file_is_named_after_its_run() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let name = file_name(&evaluation, "svg");
        assert_eq!(name, "shardscope-llama-3-1-8b-64-1f1b.svg");
    }
}
