//! An export that the page requests from the second module, as data.

use super::formats::{Stamp, export};
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
}

impl Order {
    /// The text; none where the Run or the form makes no sense.
    #[must_use]
    pub fn written(&self) -> Option<String> {
        let stamp = Stamp {
            date: &self.date,
            address: &self.address,
        };
        export(&link::decode(&self.link).run, &self.format, &stamp).ok()
    }
}
