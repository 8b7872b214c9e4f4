//! The cost of model calls. Amounts are whole numbers of micro-dollars; an unknown price is `None`, never zero.
//!
//! [`Price`] is the price of one model and computes the cost of a call. [`listed`] looks a model up in the compiled-in
//! table of public list prices; [`window`] returns its context window. [`estimate`] estimates the tokens of a text.

mod dollars;
pub mod estimate;
mod price;
mod table;

pub use dollars::{Dollars, parse_dollars};
pub use price::{Price, Rates, Tier, Tokens};
pub use table::{is_known_model, known_models, listed, source, window};
