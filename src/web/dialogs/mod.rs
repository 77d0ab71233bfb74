//! What opens over the page: import, export, share.

pub mod page;

#[cfg(feature = "ui")]
pub(crate) mod body;
#[cfg(feature = "ui")]
pub(crate) mod dialog;
#[cfg(feature = "ui")]
pub(crate) mod share;
