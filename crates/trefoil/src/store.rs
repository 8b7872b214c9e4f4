//! Stored runs: see [`Engine::store`](crate::Engine::store). A [`Store`] also lists runs and their costs, deletes old
//! ones, and reads their journals.

pub use trefoil_store::{
    ClaimShare, Content, ContentHash, FORMAT, InboxMessage, MessageKind, PostedMessage, PruneResult, Record, RunCursor,
    RunFilter, RunPage, RunRetention, RunSpending, ServerAddress, SqliteStore, Status, Store, StoreDurability,
    StoreError, StoreHealth, StoreLocation, StoreOptions, StoreResult, StoreSize, UNSEEN_MS, without_password,
};
