//! Counts with their noun, which is one or several: "one forward pass", "3 forward passes".

use crate::prelude::*;

pub(super) fn forward_passes(count: u64) -> Message {
    match count {
        1 => t!("one forward pass"),
        count => t!("{count} forward passes", count),
    }
}

pub(super) fn passes(count: u64) -> Message {
    match count {
        1 => t!("one pass"),
        count => t!("{count} passes", count),
    }
}

pub(super) fn steps(count: u64) -> Message {
    match count {
        1 => t!("one step"),
        count => t!("{count} steps", count),
    }
}

pub(super) fn ranks(count: u64) -> Message {
    match count {
        1 => t!("one rank"),
        count => t!("{count} ranks", count),
    }
}

pub(super) fn layers(count: u64) -> Message {
    match count {
        1 => t!("one layer"),
        count => t!("{count} layers", count),
    }
}

/// "one sequence of 8192 tokens", "4 sequences of 8192 tokens".
pub(super) fn sequences(count: u64, tokens: u64) -> Message {
    match count {
        1 => t!("one sequence of {tokens} tokens", tokens),
        count => t!("{count} sequences of {tokens} tokens", count, tokens),
    }
}

/// "once", "4 times".
pub(super) fn times(count: u64) -> Message {
    match count {
        1 => t!("once"),
        count => t!("{count} times", count),
    }
}

/// "one copy", "1.5 copies".
pub(super) fn copies(count: f64) -> Message {
    match number(count, 3) {
        one if one == "1" => t!("one copy"),
        count => t!("{count} copies", count),
    }
}
