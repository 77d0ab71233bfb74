//! Figures in the sentences of a diagnosis: whose each is, so that a test holds equal ones to one text.

use crate::message::{FigureKey, Message};
use crate::units::{Seconds, show_percent, show_seconds};

/// Whose figures those are that were measured.
pub const FILES: &str = "files";
/// Whose figures those are that the files are compared with: the run that they state, else that of the page.
pub const COMPARED: &str = "compared";

/// The figure `shown` of the files; `field` says what was measured.
pub(super) fn of_files(field: impl Into<String>, shown: impl Into<String>) -> Message {
    Message::figure(shown, FigureKey { field: field.into(), scope: FILES.to_owned() })
}

/// The figure `shown` of the report of the run that is compared, by the name of its `field` there.
pub(super) fn of_report(field: impl Into<String>, shown: impl Into<String>) -> Message {
    Message::figure(shown, FigureKey { field: field.into(), scope: COMPARED.to_owned() })
}

/// Seconds of the files.
pub(super) fn seconds_of_files(field: impl Into<String>, seconds: f64) -> Message {
    of_files(field, show_seconds(Seconds(seconds)))
}

/// A share of the files.
pub(super) fn share_of_files(field: impl Into<String>, share: f64) -> Message {
    of_files(field, show_percent(share))
}

/// Seconds of the report.
pub(super) fn seconds_of_report(field: impl Into<String>, seconds: f64) -> Message {
    of_report(field, show_seconds(Seconds(seconds)))
}
