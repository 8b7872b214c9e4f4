//! The suite that every store must pass.

use std::sync::Arc;

use trefoil_store::{Durability, Options, SqliteStore, conformance};

pub fn runtimes() -> [tokio::runtime::Runtime; 2] {
    // One commits in place, the other one by the writer's thread.
    let mut several = tokio::runtime::Builder::new_multi_thread();
    let mut one = tokio::runtime::Builder::new_current_thread();
    [several.worker_threads(2), &mut one].map(|builder| builder.enable_time().build().unwrap())
}

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
