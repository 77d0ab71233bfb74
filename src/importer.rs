//! The WebAssembly module of the importers, which the page loads on first use: see [`shardscope::web`].

use shardscope as _;

fn main() {}
