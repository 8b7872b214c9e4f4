//! A Postgres server that is down for longer than usual, or that accepts connections and does not respond.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use testbed::postgres::{Server, server};
use trefoil_store::{StoreError, StoreLocation, StoreOptions};

use crate::postgres::{batch, begin, claim, entries, on, open};
use crate::world::step;

/// A proxy that can stop passing on anything. What was connected then stays silent.
struct Deaf {
    port: u16,
    deaf: Arc<AtomicBool>,
}

impl Deaf {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let deaf = Arc::new(AtomicBool::new(false));
        let off = deaf.clone();
        std::thread::spawn(move || {
            // Silent connections stay open.
            let kept = Arc::new(Mutex::new(Vec::new()));
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
                kept.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let is_silent = Arc::new(AtomicBool::new(false));
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (off, is_silent) = (off.clone(), is_silent.clone());
                    std::thread::spawn(move || {
                        let mut bytes = vec![0; 1 << 16];
                        while let Ok(length @ 1..) = from.read(&mut bytes) {
                            if off.load(Ordering::SeqCst) {
                                is_silent.store(true, Ordering::SeqCst);
                            }
                            if !is_silent.load(Ordering::SeqCst) && to.write_all(&bytes[..length]).is_err() {
                                break;
                            }
                        }
                    });
                }
            }
        });
        Self { port, deaf }
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn an_append_waits_as_long_as_the_server_is_down_and_keeps_its_lease() {
        static SAID: AtomicUsize = AtomicUsize::new(0);
        let Some(server) = Server::start(false) else { return };
        let url = server.address(&server.database());
        let options = StoreOptions::default().with_patience(|said| {
            assert!(
                said.starts_with("waiting until it responds again: ") && !said.contains(testbed::postgres::PASSWORD)
            );
            SAID.fetch_add(1, Ordering::SeqCst);
        });
        let store = open(&url, options.clone());
        on(async {
            let now = store.clock().wall_ms();
            let lease = begin(&*store, "through", "host", now, now + 5_000).await;
            let down = async {
                tokio::task::block_in_place(|| {
                    // Longer than the lease, and than other operations wait.
                    std::thread::sleep(Duration::from_secs(27));
                    // A process that starts now waits, too.
                    let late = std::thread::spawn({
                        let url = url.clone();
                        move || StoreLocation::parse(OsStr::new(&url), |_| None).unwrap().open(options).map(|_| "open")
                    });
                    std::thread::sleep(Duration::from_millis(500));
                    server.begin();
                    assert_eq!(late.join().unwrap().unwrap(), "open");
                });
                // Others look for runs whose process has ended.
                let other = open(&url, StoreOptions::default());
                let now = other.clock().wall_ms();
                let taken = other
                    .claim_some(claim("other", now), trefoil_store::ClaimShare { most: 10, ..Default::default() })
                    .await
                    .unwrap();
                (other.reclaim_runs(now).await.unwrap(), taken.len())
            };
            // Otherwise the append may be done before the crash.
            tokio::task::block_in_place(|| server.crash());
            let append = store.append_batch(&lease, batch(&[step(1, 80)]));
            // The first one is begun first, and the other one blocks.
            let (appended, others) = tokio::join!(append, down);
            assert_eq!(others, (0, 0), "the lease expired while nobody could renew it");
            appended.unwrap();
            assert_eq!(entries(&*store, "through").await.len(), 2);
            // Reading gives up earlier, and everybody is told once for each outage; a server that is starting may close a connection again.
            assert!((1..=4).contains(&SAID.load(Ordering::SeqCst)), "{SAID:?}");
        });
    }

    #[test]
    fn a_lease_that_ends_while_the_server_recovers_stays_valid() {
        let Some(server) = Server::start(false) else { return };
        let url = server.address(&server.database());
        let store = open(&url, StoreOptions::default());
        on(async {
            let now = store.clock().wall_ms();
            begin(&*store, "recovers", "host", now, now + 8_000).await;
            drop(store);
            tokio::task::block_in_place(|| {
                server.crash();
                server.begin();
                // Nobody can connect yet.
                std::thread::sleep(Duration::from_secs(9));
            });
            let other = open(&url, StoreOptions::default());
            let now = other.clock().wall_ms();
            assert_eq!(other.reclaim_runs(now).await.unwrap(), 0);
            tokio::time::sleep(Duration::from_secs(17)).await;
            let now = other.clock().wall_ms();
            assert_eq!(other.reclaim_runs(now).await.unwrap(), 1, "its owner did not reconnect");
        });
    }

    #[test]
    fn a_server_that_does_not_respond_is_noticed() {
        let Some(server) = server() else { return };
        let proxy = Deaf::to(server.port());
        let url =
            server.address(&server.database()).replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port));
        let url = format!("{url}?connect_timeout=3");
        let store = open(&url, StoreOptions::default());
        on(async {
            let now = store.clock().wall_ms();
            let lease = begin(&*store, "heard", "host", now, now + 600_000).await;
            proxy.deaf.store(true, Ordering::SeqCst);
            let began = Instant::now();
            let opened = StoreLocation::parse(OsStr::new(&url), |_| None).unwrap().open(StoreOptions::default());
            let error = opened.map(|_| "it opens").unwrap_err();
            assert!(
                matches!(&error, StoreError::Unreachable { why, .. } if why.contains("does not respond")),
                "{error}"
            );
            assert!(began.elapsed() < Duration::from_secs(15));
            let heals = async {
                tokio::time::sleep(Duration::from_secs(8)).await;
                proxy.deaf.store(false, Ordering::SeqCst);
            };
            // The connection that was open stays silent; another one is used.
            let append =
                tokio::time::timeout(Duration::from_secs(60), store.append_batch(&lease, batch(&[step(1, 80)])));
            let (appended, ()) = tokio::join!(append, heals);
            appended.unwrap().unwrap();
            assert_eq!(entries(&*store, "heard").await.len(), 2);
        });
    }

    #[test]
    fn a_server_that_works_for_long_is_not_taken_for_a_silent_one() {
        let Some(server) = server() else { return };
        let database = server.database();
        let url = format!("{}?connect_timeout=8", server.address(&database));
        drop(open(&url, StoreOptions::default()));
        // The server runs as long as somebody has it.
        let locking = server.clone();
        let locked = std::thread::spawn(move || {
            locking.sql(&database, "BEGIN; LOCK TABLE trefoil.store; SELECT pg_sleep(25); COMMIT");
        });
        std::thread::sleep(Duration::from_millis(700));
        let began = Instant::now();
        // It is not retried: one try must last.
        drop(open(&url, StoreOptions::default()));
        assert!(began.elapsed() > Duration::from_secs(18), "it was not locked");
        locked.join().unwrap();
    }
}
