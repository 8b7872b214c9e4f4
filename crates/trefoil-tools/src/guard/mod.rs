//! The guarded HTTP client. A manifest, an input or an answer can name any address; this decides which are called.
//!
//! - `http` and `https` only, without a user and password in the address, at the ports of [`Rules`].
//! - The address is checked after the name was looked up, and the connection goes to what was checked: a name that means
//!   something else a moment later (DNS rebinding) gains nothing. Addresses in any notation are the addresses that they are.
//! - Addresses that are not public ([`check`]) are refused, unless the operator allows that host.
//! - Every redirect is checked in the same way. Headers with credentials do not follow to another origin.
//! - Time, bytes and redirects have limits. Answers are not asked for compressed, and are not unpacked.
//! - Proxies of the environment are not used: they would look the name up by themselves.

mod address;
mod client;
mod fault;
mod lookup;
mod rules;

pub use address::{Refused, check};
pub use client::{Call, Client, Follow, HttpAnswer, Opened};
pub use fault::Fault;
pub use lookup::{Lookup, System};
pub use rules::{AllowedHost, NotAHost, RequestLimits, Rules};
