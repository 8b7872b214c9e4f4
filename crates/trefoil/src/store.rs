//! Stored runs: see [`Engine::store`](crate::Engine::store). A [`Store`] also lists runs and their costs, deletes old
//! ones, and reads their journals.

pub use trefoil_store::{
    Address, ClaimShare, Content, Cursor, Durability, FORMAT, Filter, Hash, Health, Letter, LetterKind, Location,
    Options, Page, Posted, Pruned, Record, Result, Retention, Size, Spent, SqliteStore, Status, Store, StoreError,
    UNSEEN_MS, without_password,
};
