//! Published methods, reproduced as printed, one file each.

pub mod fujii;
