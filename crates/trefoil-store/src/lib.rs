//! Stores runs: their journals, summary records, files, and incoming letters (messages to a run).
//!
//! ```text
//! driver --Journal--> Owner --Store--> SqliteStore (one file)
//!                      leases            ^  lists, records, letters: read by commands and viewers
//! ```
//!
//! [`Store`] is the interface of a store; every implementation must pass [`conformance`]. The trait is defined here and
//! not with the runtime's ports, because the driver needs only a [`Journal`](trefoil_runtime::Journal). [`Owner`] makes
//! one from any store: it represents a process that runs runs and holds a lease for each. SQL is used only in `sqlite/`
//! and `postgres/`. This crate knows nothing about dialects, HTTP or the command line.
//!
//! # Guarantees
//!
//! When [`Store::append`] returns, the entries survive the end of the process and, with [`Durability::Sync`], of the
//! machine. A run's entries, figures and status change in one transaction, and only the holder of its lease can change
//! them.

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
pub use lease::{Claim, ClaimShare, Lease};
pub use list::{Cursor, Filter, Page};
pub use location::Location;
pub use owner::{Hold, Inbox, Owner};
pub use port::{NewRun, Store};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use record::{Content, Record, Spent, Status, UNSEEN_MS};
pub use sqlite::{Durability, Options, SqliteStore};
pub use upkeep::{Health, Pruned, Retention, Size};

/// The format of the stores that this build creates, in files and in Postgres.
pub const FORMAT: i64 = 1;
