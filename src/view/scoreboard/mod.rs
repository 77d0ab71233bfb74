//! The scoreboard: how wrong each calculator is on the published runs, as a table, a scatter and a list.

mod board;
mod head;
mod list;
mod scatter;
mod table;

pub use board::{Board, DROPPED, Tool};
pub use head::{head, submit, verdicts};
pub use list::list;
pub use scatter::scatter;
pub use table::{readings, table};
