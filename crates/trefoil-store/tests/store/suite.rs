//! The suite that every store must pass.

use std::sync::Arc;

use trefoil_store::{Durability, Options, SqliteStore, conformance};

use crate::world::runtimes;

#[test]
fn a_store_in_a_file_does_what_a_store_does() {
    for durability in [Durability::Sync, Durability::Batch] {
        for runtime in runtimes() {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { durability, ..Options::default() };
            let store = SqliteStore::open(folder.path().join("runs.db"), options).unwrap();
            runtime.block_on(conformance::store(Arc::new(store))).unwrap();
        }
    }
}
