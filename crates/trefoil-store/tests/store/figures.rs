//! What a step and a look for work cost, as numbers that do not depend on the machine's load: bytes, and the same work with and
//! without many waiting runs.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use testbed::postgres::server;
use trefoil_store::{ClaimShare, NewRun, Store, StoreOptions};

use crate::postgres::{claim as claim_at, on};
use crate::world::{append, create, entries, on_both, open, step};

/// Runs that wait for people.
const WAITING: u64 = 100_000;

/// Bytes of the write-ahead log for a step of 378 bytes, in a run of many. They were 20,000 with pages of 8 KB.
#[test]
#[allow(clippy::print_stdout, reason = "a figure of docs/performance.md")]
fn a_step_writes_few_bytes() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        let lease = create(&store, "r").await.unwrap();
        // An open read transaction keeps the log from being moved into the database.
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        reader.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0)).unwrap();
        let length = || std::fs::metadata(folder.path().join("runs.db-wal")).unwrap().len();
        let before = length();
        let steps = 500;
        for seq in 1..=steps {
            append(&store, &lease, step(seq, 312)).await.unwrap();
        }
        let bytes = (length() - before) / steps;
        let body = trefoil_store::EntryBatch::from_entries(&[step(9, 312)]).unwrap().bodies[0].json.len();
        println!("a step of {body} bytes writes {bytes} bytes of log");
        assert!((370..390).contains(&body), "{body}");
        assert!(bytes <= 10_000, "{bytes}");
        assert_eq!(entries(&store, "r").await.unwrap().len() as u64, steps + 1);
    });
}

/// The time of a look for work, the least of several. The first ones prepare their statements.
async fn polled(store: &dyn Store, wanted: &str) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..30 {
        let now = store.clock().wall_ms();
        let began = Instant::now();
        store.reclaim_runs(now).await.unwrap();
        assert_eq!(store.claimable_runs(now, 8).await.unwrap(), [wanted]);
        let share = ClaimShare { except: vec![wanted.to_owned()], most: 8, per_flow: None };
        assert_eq!(store.claim_some(claim_at("worker", now), share).await.unwrap(), []);
        least = least.min(began.elapsed());
    }
    least
}

#[allow(clippy::print_stdout, reason = "a figure of docs/performance.md")]
async fn compared(store: &dyn Store, what: &str, fill: impl AsyncFnOnce()) {
    let new = NewRun { run: "ready".to_owned(), now: 1, ..NewRun::default() };
    store.create_run(new).await.unwrap();
    let few = polled(store, "ready").await;
    fill().await;
    let many = polled(store, "ready").await;
    println!("a look for work in {what}: {few:?}; with {WAITING} waiting runs: {many:?}");
    // Without its indexes, it would take more than a hundred times as long.
    assert!(many < few * 10 + Duration::from_millis(10), "{few:?}, {many:?}");
}

/// Rows of waiting runs: a tenth of them wakes some time, and none has ended.
fn fill(path: &Path) {
    let c = Connection::open(path).unwrap();
    c.execute_batch(&format!(
        "INSERT INTO run (id, flow, status, started, wake_at) \
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {WAITING}) \
         SELECT 'waits-' || i, 'flow-' || (i % 7), 'waiting', i, CASE WHEN i % 10 = 0 THEN 9000000000000 + i END FROM n"
    ))
    .unwrap();
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn looking_for_work_costs_the_same_however_many_runs_wait() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let store = open(&path);
            compared(&store, "a file", async || fill(&path)).await;
        });
    }

    #[test]
    fn looking_for_work_costs_the_same_in_postgres() {
        let Some(server) = server() else { return };
        let database = server.database();
        on(async {
            let store = crate::postgres::open(&server.address(&database), StoreOptions::default());
            compared(&*store, "Postgres", async || {
                server.sql(
                    &database,
                    &format!(
                        "INSERT INTO trefoil.run (id, flow, status, started, wake_at) SELECT 'waits-' || i, 'flow-' || (i % 7), 'waiting', i, \
                         CASE WHEN i % 10 = 0 THEN 9000000000000 + i END FROM generate_series(1, {WAITING}) AS i"
                    ),
                );
                server.sql(&database, "ANALYZE trefoil.run");
            })
            .await;
        });
    }
}
