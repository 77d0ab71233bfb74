//! Orders with the least makespan, and proofs of how far any order is from it.
//!
//! For given stage times and memory: an order, its makespan U, and a proven lower bound L on every order. In standard
//! terms a job shop of chains with a storage constraint ([`problem`]); a layered search over active schedules
//! ([`beam`]) under a bound by backward induction ([`tails`], [`state`]) finds the order, and what it drops proves the
//! bound ([`search`]), as does the same of some of the chains ([`relaxed`]). The goal is
//! the makespan of a step; transfers between ranks are a lag without contention. Nothing here reads a clock: work is
//! counted in states, so that every machine gives the same answer.
//!
//! Sources: Giffler and Thompson 1960 (active schedules), Jackson's one-machine rule with delivery times, Carlier and
//! Pinson 1989 (heads and tails), Bautista and Pereira (bounded dynamic programming).

pub mod beam;
pub mod certificate;
pub mod ends;
pub mod joint;
pub mod leaving;
pub mod many;
pub mod memo;
pub mod modulo;
pub mod offload;
pub mod orders;
pub mod problem;
pub mod relaxed;
pub mod room;
pub mod root;
pub mod search;
pub mod splits;
pub mod stages;
pub mod state;
pub mod tails;

pub use certificate::{Certificate, Proof};
pub use problem::Problem;
pub use search::OrderSearch;
pub use stages::StepStages;
