//! What JavaScript may call. Importing the package mounts nothing.

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the calculator, such as "0.1.0".
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
