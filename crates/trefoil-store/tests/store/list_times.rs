//! How long lists and sums of 100,000 runs take, with each filter.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use testbed::postgres::server;
use trefoil_store::{RunFilter, SpendingFilter, Status, Store, StoreOptions};

use crate::postgres::on;
use crate::world::open;

const RUNS: u64 = 100_000;
/// How often each list is read.
const TIMES: usize = 100;

/// SQL: of run `i`, its status. Most are completed, 5 % failed, 1 % cancelled, 0.5 % wait.
const STATUS: &str = "CASE WHEN i % 20 = 0 THEN 'failed' WHEN i % 100 = 1 THEN 'cancelled' WHEN i % 200 = 3 THEN 'waiting' \
                      WHEN i % 10000 = 7 THEN 'interrupted' ELSE 'completed' END";

/// SQL: the labels of run `i`: one of ten keys, a session of five runs, one that all have, and one that only the oldest 5 % have.
const LABELS: [&str; 4] = [
    "SELECT i, 'trefoil.key', 'k' || (i % 10) FROM n",
    "SELECT i, 'session', 's' || (i / 5) FROM n",
    "SELECT i, 'team', 'all' FROM n",
    "SELECT i, 'campaign', 'old' FROM n WHERE i <= 5000",
];

fn body() -> String {
    format!(r#"{{"v":1,"seq":0,"at_ms":0,"entry":{{"started":{{"input":"{}"}}}}}}"#, "x".repeat(400))
}

fn fill_file(path: &Path) {
    let c = Connection::open(path).unwrap();
    let n = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS})");
    let ended = format!("CASE WHEN {STATUS} IN ('waiting', 'interrupted') THEN NULL ELSE i * 1000 + 9 END");
    c.execute_batch(&format!(
        "BEGIN; INSERT INTO run (id, flow, program, status, started, ended, calls, tokens_in, cost_micro, next) \
         {n} SELECT printf('%016x', i * 7919), 'flow-' || (i % 100), printf('%064x', i % 100), {STATUS}, i * 1000, {ended}, 3, 900, 40, 1 FROM n; \
         INSERT INTO entry (id, body) {n} SELECT i << 32, '{}' FROM n; COMMIT",
        body()
    ))
    .unwrap();
    for labels in LABELS {
        c.execute_batch(&format!("INSERT INTO label {n} {labels}")).unwrap();
    }
}

fn fill_database(sql: impl Fn(&str)) {
    let n = format!("FROM generate_series(1, {RUNS}) AS i");
    let ended = format!("CASE WHEN {STATUS} IN ('waiting', 'interrupted') THEN NULL ELSE i * 1000 + 9 END");
    sql(&format!(
        "INSERT INTO trefoil.run (id, flow, program, status, started, ended, calls, tokens_in, cost_micro, next) \
         SELECT md5(i::text), 'flow-' || (i % 100), md5((i % 100)::text), {STATUS}, i * 1000, {ended}, 3, 900, 40, 1 {n}; \
         INSERT INTO trefoil.entry (run, seq, body) SELECT i, 0, '{}' {n}",
        body()
    ));
    for labels in LABELS {
        sql(&format!("INSERT INTO trefoil.label {}", labels.replace("FROM n", &n)));
    }
}

/// The lists: a name, and the filter of the nth try.
fn lists(nth: usize) -> Vec<(&'static str, RunFilter)> {
    let label = |key: &str, value: String| (key.to_owned(), value);
    let key = label("trefoil.key", format!("k{}", nth % 10));
    let flow = Some(format!("flow-{}", nth % 100));
    let since = Some(RUNS * 1000 * (nth as u64 % 100) / 100);
    let all = RunFilter::default;
    let (failed, ended) = (vec![Status::Failed], vec![Status::Failed, Status::Completed, Status::Cancelled]);
    let open = vec![Status::Pending, Status::Running, Status::Interrupted, Status::Waiting];
    vec![
        ("everything", all()),
        ("status", RunFilter { status: failed.clone(), ..all() }),
        ("three statuses", RunFilter { status: ended.clone(), ..all() }),
        ("open", RunFilter { status: open.clone(), ..all() }),
        ("no run has this status", RunFilter { status: vec![Status::Running], ..all() }),
        ("flow", RunFilter { flow: flow.clone(), ..all() }),
        ("flow, three statuses", RunFilter { flow: flow.clone(), status: ended.clone(), ..all() }),
        ("since", RunFilter { since, ..all() }),
        ("until", RunFilter { until: since, ..all() }),
        ("label", RunFilter { labels: vec![key.clone()], ..all() }),
        ("rare label", RunFilter { labels: vec![label("session", format!("s{}", nth * 199))], ..all() }),
        ("label of all runs", RunFilter { labels: vec![label("team", "all".into())], ..all() }),
        ("label of old runs", RunFilter { labels: vec![label("campaign", "old".into())], ..all() }),
        ("label of no run", RunFilter { labels: vec![label("campaign", "new".into())], ..all() }),
        ("two labels", RunFilter { labels: vec![key.clone(), label("team", "all".into())], ..all() }),
        ("two labels, one old", RunFilter { labels: vec![key.clone(), label("campaign", "old".into())], ..all() }),
        ("label, status", RunFilter { labels: vec![key.clone()], status: failed.clone(), ..all() }),
        ("label, open", RunFilter { labels: vec![key.clone()], status: open.clone(), ..all() }),
        ("label, flow", RunFilter { labels: vec![key.clone()], flow: flow.clone(), ..all() }),
        (
            "label, flow that never meet",
            RunFilter { labels: vec![key.clone()], flow: Some(format!("flow-{}", (nth + 1) % 10)), ..all() },
        ),
        ("label, since", RunFilter { labels: vec![key.clone()], since, ..all() }),
        ("label, flow, status, since", RunFilter { labels: vec![key], flow, status: failed, since, ..all() }),
    ]
}

fn sums(nth: usize) -> Vec<(&'static str, SpendingFilter, u64)> {
    let key = Some(("trefoil.key".to_owned(), format!("k{}", nth % 10)));
    let all = Some(("team".to_owned(), "all".to_owned()));
    let flow = Some(format!("flow-{}", nth % 100));
    // A tenth of the runs.
    let day = RUNS * 900;
    vec![
        ("sum of a tenth of the runs", SpendingFilter::default(), day),
        ("sum of all runs", SpendingFilter::default(), 0),
        ("sum of a flow, a tenth", SpendingFilter { flow: flow.clone(), label: None }, day),
        ("sum of a flow", SpendingFilter { flow: flow.clone(), label: None }, 0),
        ("sum of a label, a tenth", SpendingFilter { flow: None, label: key.clone() }, day),
        ("sum of a label", SpendingFilter { flow: None, label: key.clone() }, 0),
        ("sum of a flow and a label", SpendingFilter { flow, label: key }, 0),
        ("sum of a label of all runs, a tenth", SpendingFilter { flow: None, label: all.clone() }, day),
        ("sum of a label of all runs", SpendingFilter { flow: None, label: all }, 0),
    ]
}

/// Prints half and 99 % of the times, and returns the worst 99 % of a list.
#[allow(clippy::print_stdout, reason = "figures of docs/performance.md")]
async fn measure(store: &dyn Store, what: &str) -> Duration {
    let mut worst = Duration::ZERO;
    let mut print = |name: &str, mut times: Vec<Duration>, found: usize| {
        times.sort();
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
        println!("{what}: {name}: {:.1?}, p99 {:.1?} ({found} found)", at(50), at(98));
        if !name.starts_with("sum") {
            worst = worst.max(at(98));
        }
    };
    for at in 0..lists(0).len() {
        let (mut times, mut found, mut name) = (Vec::new(), 0, "");
        for nth in 0..TIMES {
            let (list, filter) = lists(nth).swap_remove(at);
            name = list;
            let began = Instant::now();
            let page = store.list_runs(&filter, None, 50).await.unwrap();
            times.push(began.elapsed());
            found = found.max(page.runs.len());
        }
        print(name, times, found);
    }
    for at in 0..sums(0).len() {
        let (mut times, mut found, mut name) = (Vec::new(), 0, "");
        for nth in 0..TIMES / 5 {
            let (sum, filter, since) = sums(nth).swap_remove(at);
            name = sum;
            let began = Instant::now();
            let spent = store.spending_since(&filter, since).await.unwrap();
            times.push(began.elapsed());
            found = found.max(spent.calls as usize / 3);
        }
        print(name, times, found);
    }
    worst
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    /// Without its indexes, a list takes more than a second.
    const LONG: Duration = Duration::from_millis(500);

    #[test]
    fn a_page_of_many_runs_takes_little_time_with_each_filter() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let store = open(&path);
            fill_file(&path);
            let worst = measure(&store, "a file").await;
            assert!(worst < LONG, "{worst:?}");
        });
    }

    #[test]
    fn a_page_of_many_runs_takes_little_time_in_postgres() {
        let Some(server) = server() else { return };
        let database = server.database();
        on(async {
            let store: Arc<dyn Store> = crate::postgres::open(&server.address(&database), StoreOptions::default());
            fill_database(|sql| drop(server.sql(&database, sql)));
            for analyzed in [false, true] {
                if analyzed {
                    server.sql(&database, "VACUUM ANALYZE");
                }
                let worst = measure(&*store, if analyzed { "Postgres" } else { "Postgres, not analyzed" }).await;
                assert!(worst < LONG, "{worst:?}");
            }
        });
    }
}
