//! Stores runs: their journals, summary records, files, and incoming messages to a run.
//!
//! ```text
//! driver --Journal--> Owner --Store--> SqliteStore (one file)
//!                      leases            ^  lists, records, messages: read by commands and viewers
//! ```
//!
//! [`Store`] is the interface of a store; every implementation must pass [`conformance`]. The trait is defined here and
//! not with the runtime's ports, because the driver needs only a [`Journal`](trefoil_runtime::Journal). [`Owner`] makes
//! one from any store: it represents a process that runs runs and holds a lease for each. SQL is used only in `sqlite/`
//! and `postgres/`. This crate knows nothing about dialects, HTTP or the command line.
//!
//! # Guarantees
//!
//! When [`Store::append_batch`] returns, the entries survive the end of the process and, with [`StoreDurability::Sync`], of the
//! machine. A run's entries, figures and status change in one transaction, and only the holder of its lease can change
//! them.

mod additions;
mod address;
mod audit;
mod batch;
mod blob;
mod document;
mod error;
mod inbox;
mod label;
mod lease;
mod list;
mod location;
mod packed_blob;
mod port;
mod record;
mod upkeep;

pub mod conformance;
pub mod owner;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod sqlite;

pub use address::{ServerAddress, without_password};
pub use batch::{EntryBatch, StoredEntry};
pub use blob::{Blob, ContentHash, INLINE};
pub use document::Document;
pub use error::{StoreError, StoreResult};
pub use inbox::{InboxMessage, MessageKind, PostedMessage};
pub use label::{LabelFault, RESERVED_LABEL, check_labels, check_user_labels, parse_label};
pub use lease::{Claim, ClaimShare, Lease};
pub use list::{RunCursor, RunFilter, RunPage, SpendingFilter};
pub use location::StoreLocation;
pub use owner::{LeasedRun, Owner, StoreInbox, StoreLimits};
pub use port::{NewRun, Store};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use record::{Content, Record, RunSpending, Status, UNSEEN_MS};
pub use sqlite::{SqliteStore, StoreDurability, StoreOptions};
pub use upkeep::{PruneResult, RunRetention, StoreHealth, StoreSize};

/// The format of the stores that this build creates, in files and in Postgres.
pub const FORMAT: i64 = 1;
