//! The guarded HTTP client. A manifest, an input or an answer can name any address; this module decides which are
//! called.
//!
//! - Only `http` and `https`, without a user and password in the address, at the ports of [`Rules`].
//! - Addresses are checked after the name lookup, and the connection uses the checked address, so that a name whose
//!   address changes in the meantime (DNS rebinding) is no risk. The notation of an address makes no difference.
//! - Addresses that are not public ([`check`]) are rejected, unless the operator allows the host.
//! - Every redirect is checked in the same way. Headers with credentials are not sent to another origin.
//! - Time, bytes and redirects are limited. Compressed responses are neither requested nor decompressed.
//! - Proxies of the environment are not used, because they would resolve names themselves.

mod address;
mod client;
mod fault;
mod lookup;
mod rules;
mod shown;

pub use address::{Refused, check};
pub use client::{Call, Client, HttpAnswer, Opened};
pub use fault::Fault;
pub use lookup::{Lookup, System};
pub use rules::{AllowedHost, NotAHost, RequestLimits, Rules};
