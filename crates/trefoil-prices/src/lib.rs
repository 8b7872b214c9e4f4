//! What model calls cost. Money is a whole number of micro-dollars; a price that nobody knows is none, never zero.
//!
//! [`Price`] is the price of one model, and what a call costs at it. [`listed`] looks a model up in the table of public list
//! prices that is compiled in, [`window`] says how long its prompts can be. [`estimate`] has what a text is taken to be before
//! anybody has counted its tokens.
//!
//! Knows nothing about programs, runs and providers' addresses, and does no IO.

mod dollars;
pub mod estimate;
mod price;
mod table;

pub use dollars::{Dollars, parse_dollars};
pub use price::{Price, Rates, Tier, Tokens};
pub use table::{listed, source, window};
