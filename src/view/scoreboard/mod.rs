//! The scoreboard: how wrong each calculator is on the published runs, as a table, a scatter and a list.

mod board;
mod head;
mod list;
mod scatter;
mod table;

pub use board::{Board, DROPPED, Tool};
pub use head::{head, name, submit, verdicts};
pub use list::{alike, list, nearest};
pub use scatter::{left_out, points, scatter};
pub use table::{listed, readings, table};
