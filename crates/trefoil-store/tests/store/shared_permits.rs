//! Permits that several handles of a store share, as several processes do, and what a permit costs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trefoil_runtime::limits::ProviderLimits;
use trefoil_runtime::limits::shared_limits::{SharedLimits, SharedPermit};
use trefoil_store::{Claim, ContentHash, NewRun, Owner, SqliteStore, Store, StoreLimits, StoreOptions};

/// Processes, each with a handle of its own.
type Processes = Vec<(Arc<Owner>, Arc<dyn SharedLimits>)>;

fn process(store: Arc<dyn Store>, lease_ms: u64) -> (Arc<Owner>, Arc<dyn SharedLimits>) {
    let owner = Owner::of_process_with_lease(store, lease_ms);
    (owner.clone(), Arc::new(StoreLimits::new(owner)))
}

fn in_file(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, StoreOptions::default()).unwrap())
}

fn on<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(test)
}

fn in_flight(calls: u32) -> ProviderLimits {
    ProviderLimits { in_flight: Some(calls), ..ProviderLimits::default() }
}

fn permit(limits: &Arc<dyn SharedLimits>, of: ProviderLimits) -> SharedPermit {
    SharedPermit::for_subject(limits.clone(), "provider:test".to_owned(), of, 0)
}

async fn taken(limits: &Arc<dyn SharedLimits>, of: ProviderLimits) -> SharedPermit {
    let mut permit = permit(limits, of);
    while let Some(wait) = permit.try_take().await {
        permit.wait_for_return(&wait).await;
    }
    assert_eq!(permit.unavailable_reason(), None);
    permit
}

/// The calls of some processes.
struct Counts {
    /// Those in progress, and the most of them at a time.
    now: AtomicUsize,
    most: AtomicUsize,
    /// Those that each process has made.
    made: Vec<AtomicUsize>,
}

impl Counts {
    async fn call(&self, number: usize, limits: &Arc<dyn SharedLimits>, of: ProviderLimits) {
        let permit = taken(limits, of).await;
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(3)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        self.made[number].fetch_add(1, Ordering::SeqCst);
        drop(permit);
    }
}

/// Each process makes calls of some milliseconds, one after the other. Returns how many each of them had made when the first one had
/// made all of its calls.
async fn compete(processes: &Processes, calls: usize, of: ProviderLimits, most: usize) -> Vec<usize> {
    // Connecting takes long.
    const FIRST: usize = 4;
    let made = processes.iter().map(|_| AtomicUsize::new(0)).collect();
    let counts = Arc::new(Counts { now: AtomicUsize::new(0), most: AtomicUsize::new(0), made });
    let start = Arc::new(tokio::sync::Barrier::new(processes.len()));
    let mut tasks = tokio::task::JoinSet::new();
    for (number, (_, limits)) in processes.iter().enumerate() {
        let (limits, counts, start) = (limits.clone(), counts.clone(), start.clone());
        tasks.spawn(async move {
            for call in 0..FIRST + calls {
                if call == FIRST {
                    start.wait().await;
                }
                counts.call(number, &limits, of).await;
            }
        });
    }
    tasks.join_next().await.unwrap().unwrap();
    let made = counts.made.iter().map(|made| made.load(Ordering::SeqCst) - FIRST).collect();
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let seen = counts.most.load(Ordering::SeqCst);
    assert!(seen <= most, "{seen} calls at once");
    made
}

/// More processes than permits: none is left behind. How fast each of them is depends on the machine.
async fn all_get_their_turn(processes: &Processes, calls: u32) {
    let made = compete(processes, 12, in_flight(calls), calls as usize).await;
    assert!(made.iter().all(|made| *made >= 2), "{made:?} of 12 calls each, when the first process has ended");
}

#[test]
fn processes_with_a_file_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    on(async {
        let processes: Processes = (0..3).map(|_| process(in_file(&path), 30_000)).collect();
        all_get_their_turn(&processes, 1).await;
    });
}

/// A process that ends gives everything back, also its place in the queue.
async fn gives_back(ends: (Arc<Owner>, Arc<dyn SharedLimits>), stays: &Arc<dyn SharedLimits>) {
    let held = taken(&ends.1, in_flight(1)).await;
    let mut waiting = permit(&ends.1, in_flight(1));
    assert!(waiting.try_take().await.is_some());
    std::mem::forget((held, waiting));
    ends.0.release_all().await.unwrap();
    // The place of a request that was forgotten is passed over after some seconds.
    tokio::time::timeout(Duration::from_secs(20), taken(stays, in_flight(1))).await.unwrap();
}

#[test]
fn a_process_that_ends_gives_its_permits_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    on(async {
        gives_back(process(in_file(&path), 600_000), &process(in_file(&path), 600_000).1).await;
    });
}

#[test]
fn the_permits_of_a_process_that_was_killed_are_free_at_once() {
    // Others may find out that it is gone because they want its permits, or its runs.
    for by_its_runs in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        on(async {
            let (killed, limits) = process(in_file(&path), 600_000);
            std::mem::forget(taken(&limits, in_flight(1)).await);
            let name = killed.name().to_owned();
            let claim = Claim { until: u64::MAX >> 1, ..crate::world::claim(&name) };
            let new = NewRun { run: "run".to_owned(), claim: Some(claim), ..NewRun::default() };
            killed.store().create_run(new).await.unwrap();
            // What it leaves: a lock that nobody holds any more.
            let lock = folder.path().join("runs.db-owners").join(ContentHash::from_bytes(name.as_bytes()).to_string());
            std::fs::remove_file(&lock).unwrap();
            std::fs::write(&lock, "").unwrap();
            let (_, other) = process(in_file(&path), 600_000);
            if by_its_runs {
                let store = in_file(&path);
                assert_eq!(store.reclaim_runs(store.clock().wall_ms()).await.unwrap(), 1);
                assert!(!lock.exists());
            }
            tokio::time::timeout(Duration::from_secs(30), taken(&other, in_flight(1))).await.unwrap();
            assert_eq!(lock.exists(), !by_its_runs, "its lock also says that its runs are free");
        });
    }
}

/// While its process lives, a permit outlives its lease.
async fn is_renewed(store: Arc<dyn Store>, other: Arc<dyn Store>) {
    let ((_owner, holds), (_, waits)) = (process(store, 1_500), process(other, 1_500));
    let held = taken(&holds, in_flight(1)).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(4_000) {
        let now = SharedPermit::take_now(waits.clone(), "provider:test".to_owned(), in_flight(1)).await;
        assert!(now.is_err(), "its lease has expired after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(held);
    taken(&waits, in_flight(1)).await;
}

#[test]
fn a_permit_is_renewed_while_its_process_lives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    on(is_renewed(in_file(&path), in_file(&path)));
}

/// What a permit costs.
#[allow(clippy::print_stdout, reason = "figures are for whoever runs it")]
async fn cost(store: Arc<dyn Store>, name: &str) {
    let (_, limits) = process(store, 30_000);
    let all = [
        ("in flight", in_flight(4)),
        ("requests", ProviderLimits { requests_per_minute: Some(1_000_000), ..ProviderLimits::default() }),
        (
            "all",
            ProviderLimits {
                in_flight: Some(4),
                requests_per_minute: Some(1_000_000),
                tokens_per_minute: Some(1_000_000_000),
            },
        ),
    ];
    for (what, of) in all {
        let mut took = Vec::new();
        for _ in 0..1_000 {
            let asked = Instant::now();
            let permit = taken(&limits, of).await;
            took.push(asked.elapsed());
            drop(permit);
        }
        took.sort();
        println!(
            "{name}, {what}: {:?} (at best {:?}) to give one permit back and to ask for the next",
            took[500], took[0]
        );
    }
}

/// What takes long, or only prints figures.
mod hunt {
    use super::*;

    #[test]
    fn what_a_permit_costs_with_a_file() {
        let folder = tempfile::tempdir().unwrap();
        on(cost(in_file(&folder.path().join("runs.db")), "file"));
    }
}

#[cfg(feature = "postgres")]
mod with_a_server {
    use testbed::postgres::server;

    use super::*;
    use crate::postgres::open;

    #[test]
    fn processes_with_a_server_take_turns() {
        let Some(server) = server() else { return };
        let url = server.address(&server.database());
        on(async {
            let processes: Processes = (0..4).map(|_| process(open(&url, StoreOptions::default()), 30_000)).collect();
            all_get_their_turn(&processes, 1).await;
            all_get_their_turn(&processes, 2).await;
        });
    }

    #[test]
    fn a_process_that_ends_gives_its_permits_back_to_a_server() {
        let Some(server) = server() else { return };
        let url = server.address(&server.database());
        let new = || process(open(&url, StoreOptions::default()), 600_000);
        on(async { gives_back(new(), &new().1).await });
    }

    #[test]
    fn a_permit_of_a_server_is_renewed_while_its_process_lives() {
        let Some(server) = server() else { return };
        let url = server.address(&server.database());
        on(is_renewed(open(&url, StoreOptions::default()), open(&url, StoreOptions::default())));
    }

    #[test]
    fn whoever_waits_is_told_at_once() {
        let Some(server) = server() else { return };
        let url = server.address(&server.database());
        on(async {
            let [(_, one), (_, other)] = [0, 1].map(|_| process(open(&url, StoreOptions::default()), 30_000));
            // The first wait begins to listen.
            let held = taken(&one, in_flight(1)).await;
            let mut waits = permit(&other, in_flight(1));
            let wait = waits.try_take().await.unwrap();
            waits.wait_for_return(&wait).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            let mut took = Vec::new();
            let mut held = Some(held);
            for _ in 0..5 {
                while let Some(wait) = waits.try_take().await {
                    let given = held.take();
                    let back = async {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        drop(given);
                        Instant::now()
                    };
                    let (back, ()) = tokio::join!(back, waits.wait_for_return(&wait));
                    took.push(back.elapsed());
                }
                held = Some(std::mem::replace(&mut waits, permit(&other, in_flight(1))));
            }
            took.sort();
            assert!(took[took.len() / 2] < Duration::from_millis(500), "{took:?}");
        });
    }

    mod hunt {
        use testbed::postgres::Server;
        use trefoil_runtime::limits::shared_limits::{PermitAnswer, PermitLease, PermitRequest};

        use super::*;

        #[test]
        fn a_permit_that_could_not_be_renewed_because_the_server_was_down_is_still_held() {
            let Some(server) = Server::start(false) else { return };
            let url = server.address(&server.database());
            on(async {
                let [(_owner, holds), (_, other)] = [0, 1].map(|_| process(open(&url, StoreOptions::default()), 9_000));
                let held = taken(&holds, in_flight(1)).await;
                let expect_held = async |when: &str| {
                    let now = SharedPermit::take_now(other.clone(), "provider:test".to_owned(), in_flight(1)).await;
                    match now {
                        Err(wait) => assert_eq!(wait.limit, "in_flight", "{when}"),
                        Ok(permit) => panic!("{when}: not held any more: {:?}", permit.unavailable_reason()),
                    }
                };
                expect_held("before").await;
                tokio::task::block_in_place(|| {
                    // Nobody waits for the disk with a permit. What is written after it, and waited for, stores it as well.
                    server.sql("postgres", "CREATE TABLE written_after ()");
                    server.crash();
                    // Longer than the lease, which is long enough for a busy machine to renew it.
                    std::thread::sleep(Duration::from_millis(11_000));
                    server.begin();
                });
                for _ in 0..50 {
                    expect_held("its process lives").await;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                drop(held);
                taken(&other, in_flight(1)).await;
            });
        }

        /// One of so many requests removes what does not count any more, by its number.
        const SWEEPING: u64 = 64;

        #[test]
        fn what_is_removed_after_a_crash_is_not_what_still_counts() {
            let Some(server) = Server::start(false) else { return };
            let url = server.address(&server.database());
            on(async {
                let store = open(&url, StoreOptions::default());
                let ask = async |id: u64, subject: &str| {
                    let now = store.clock().wall_ms();
                    let subject = subject.to_owned();
                    let request =
                        PermitRequest { id, subject, limits: in_flight(1), tokens: 0, asked: None, waits: false };
                    let lease = PermitLease { holder: format!("holder {id}"), now, until: now + 1_000 };
                    store.take_shared_permit(&request, lease, Vec::new()).await.unwrap()
                };
                assert!(matches!(ask(1, "held").await, PermitAnswer::Granted { .. }));
                tokio::task::block_in_place(|| {
                    server.sql("postgres", "CREATE TABLE written_after ()");
                    server.crash();
                    std::thread::sleep(Duration::from_millis(2_000));
                    server.begin();
                });
                assert!(matches!(ask(SWEEPING, "other").await, PermitAnswer::Granted { .. }));
                let again = ask(2, "held").await;
                assert!(matches!(again, PermitAnswer::Wait(_)), "its process could not renew it: {again:?}");
            });
        }

        #[test]
        fn what_a_permit_costs_with_a_server() {
            let Some(server) = server() else { return };
            on(cost(open(&server.address(&server.database()), StoreOptions::default()), "server"));
        }
    }
}
