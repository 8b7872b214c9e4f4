//! Stored runs: see [`Engine::store`](crate::Engine::store). A [`Store`] also lists runs and their costs, deletes old
//! ones, and reads their journals.

pub use trefoil_store::{
    ClaimShare, Content, ContentHash, Document, FORMAT, InboxMessage, LabelFault, MessageKind, PostedMessage,
    PruneResult, RESERVED_LABEL, Record, RunCursor, RunFilter, RunPage, RunRetention, RunSpending, ServerAddress,
    SpendingFilter, SqliteStore, Status, Store, StoreDurability, StoreError, StoreHealth, StoreLocation, StoreOptions,
    StoreResult, StoreSize, UNSEEN_MS, check_labels, check_user_labels, parse_label, without_password,
};
