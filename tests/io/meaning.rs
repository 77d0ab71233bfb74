//! What an imported text means, as tests of importers ask for it.

use shardscope::core::run::Run;
use shardscope::core::run::registry::field;
use shardscope::io::import::{Meaning, read};

/// What a text means on the run that the page opens with.
pub fn import(text: &str) -> Meaning {
    read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
}

/// A field of the run that was read, as text.
pub fn says(read: &Meaning, key: &str) -> String {
    field(key).unwrap().text(&read.run.resolved()).unwrap_or_default()
}

/// Everything that was assumed, in one line.
pub fn assumed(read: &Meaning) -> String {
    read.assumed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
