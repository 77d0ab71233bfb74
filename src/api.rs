//! The WebAssembly module without the page: the JavaScript package, and what the page loads on first use. See
//! [`shardscope::web`].

use shardscope as _;

fn main() {}
