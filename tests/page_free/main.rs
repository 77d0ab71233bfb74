//! Texts and tables of the page, tested without a browser.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers that tests share

#[path = "../common/mod.rs"]
mod common;

mod diagnosed;
mod explained;
mod messages;
mod numbers;
mod one_answer;
mod ranks;
mod sums;
mod translations;
mod words;
