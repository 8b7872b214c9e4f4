//! Where runs are kept: their journals, what is known about them at a glance, their files, and what waits for them.
//!
//! ```text
//! driver --Journal--> Owner --Store--> SqliteStore (one file)
//!                      leases            ^  lists, records, letters: whoever looks at runs
//! ```
//!
//! [`Store`] is what a store does; another one implements it and passes [`conformance`]. The trait is here and not with the
//! runtime's ports, because the driver needs nothing of it but a [`Journal`](trefoil_runtime::Journal), which [`Owner`] makes of
//! any store: the process that runs, with a lease for each of its runs. SQL is in `sqlite/` only. Knows nothing about dialects,
//! HTTP or the command line.
//!
//! # What is never lost
//!
//! When [`Store::append`] returns, the entries survive the end of the process, and, with [`Durability::Sync`], that of the
//! machine. Entries, figures and status of a run change in one transaction, and only for whoever holds its lease.

mod address;
mod audit;
mod batch;
mod blob;
mod error;
mod inbox;
mod lease;
mod list;
mod location;
mod packed;
mod port;
mod record;
mod upkeep;

pub mod conformance;
pub mod owner;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod sqlite;

pub use address::{Address, without_password};
pub use batch::{Batch, Body};
pub use blob::{Blob, Hash, INLINE};
pub use error::{Result, StoreError};
pub use inbox::{Letter, LetterKind, Posted};
pub use lease::{Claim, Lease};
pub use list::{Cursor, Filter, Page};
pub use location::Location;
pub use owner::{Hold, Inbox, Owner};
pub use port::{NewRun, Store};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use record::{Content, Record, Spent, Status};
pub use sqlite::{Durability, Options, SqliteStore};
pub use upkeep::{Health, Pruned, Retention, Size};
