//! The WebAssembly module of the page. Its initialisation does nothing: the page calls [`shardscope::web::mount`], its
//! worker and JavaScript programs call the other exported functions.

use shardscope as _;

fn main() {}
