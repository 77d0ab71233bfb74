//! An export that the page requests from the second module, as data.

use super::formats::{export, trial};
use super::stamp::Stamp;
use crate::io::link;
use serde::{Deserialize, Serialize};

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The link of the Run.
    pub link: String,
    /// Id of the form.
    pub format: String,
    /// As in [`Stamp`].
    pub date: String,
    /// As in [`Stamp`].
    pub address: String,
    /// Some steps on mock data are to be launched, instead of a training.
    pub trial: bool,
}

impl Order {
    /// The text; none where the Run or the form makes no sense.
    #[must_use]
    pub fn written(&self) -> Option<String> {
        let stamp = Stamp { date: &self.date, address: &self.address };
        let run = link::decode(&self.link).run;
        if self.trial {
            return trial(&run, &stamp).ok();
        }
        export(&run, &self.format, &stamp).ok()
    }
}
