//! The guarded HTTP client. A manifest, an input or an answer can name any address; this module decides which are
//! called.
//!
//! - Only `http` and `https`, without a user and password in the address, at the ports of [`GuardRules`].
//! - Addresses are checked after the name lookup, and the connection uses the checked address, so that a name whose
//!   address changes in the meantime (DNS rebinding) is no risk. The notation of an address makes no difference.
//! - Addresses that are not public ([`check_public`]) are rejected, unless the operator allows the host.
//! - Every redirect is checked in the same way. Headers with credentials are not sent to another origin.
//! - Time, bytes and redirects are limited. Compressed responses are neither requested nor decompressed.
//! - Proxies of the environment are not used, because they would resolve names themselves.

mod address;
mod client;
mod display;
mod fault;
mod lookup;
mod rules;

pub use address::{NonPublicAddress, check_public};
pub use client::{GuardedClient, GuardedRequest, HttpAnswer, OpenResponse};
pub use fault::HttpFault;
pub use lookup::{HostNameLookup, SystemLookup};
pub use rules::{AllowedHost, GuardRules, HostRestriction, InvalidHost, RequestLimits};
