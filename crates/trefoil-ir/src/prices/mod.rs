//! The cost of model calls. Amounts are whole numbers of micro-dollars; an unknown price is `None`, never zero.
//!
//! [`ModelPrice`] is the price of one model and computes the cost of a call. [`list_price`] looks a model up in the compiled-in
//! table of public list prices; [`context_window`] returns its context window. [`estimate`] estimates the tokens of a text.

mod dollars;
pub mod estimate;
mod price;
mod table;

pub use dollars::{DollarAmount, parse_dollars};
pub use price::{CallTokens, ModelPrice, PriceTier, TokenRates};
pub use table::{context_window, is_known_model, known_models, list_price, table_source};
