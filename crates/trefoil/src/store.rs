//! Where runs are kept: see [`Engine::store`](crate::Engine::store). A [`Store`] also lists runs, says what they have cost, removes
//! old ones, and hands over their journals.

pub use trefoil_store::{
    Address, Content, Cursor, Durability, Filter, Hash, Health, Letter, LetterKind, Location, Options, Page, Posted,
    Pruned, Record, Result, Retention, Size, Spent, SqliteStore, Status, Store, StoreError, without_password,
};
