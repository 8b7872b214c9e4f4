//! The Postgres store, with a real server.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testbed::postgres::{PASSWORD, Server, server};
use trefoil_machine::{AnswerSender, Entry};
use trefoil_store::{
    Blob, Claim, EntryBatch, InboxMessage, Lease, MessageKind, NewRun, RunFilter, Store, StoreDurability, StoreError,
    StoreHealth, StoreLocation, StoreOptions, conformance,
};

use crate::world::{runtimes, started, step};

/// Opens a database.
pub fn open(url: &str, options: StoreOptions) -> Arc<dyn Store> {
    StoreLocation::parse(OsStr::new(url), |_| None).unwrap().open(options).unwrap()
}

#[test]
fn a_store_in_postgres_does_what_a_store_does() {
    let Some(server) = server() else { return };
    for durability in [StoreDurability::Sync, StoreDurability::Batch] {
        for runtime in runtimes() {
            let options = StoreOptions { durability, ..StoreOptions::default() };
            let store = open(&server.address(&server.database()), options.clone());
            runtime.block_on(conformance::check_store(store)).unwrap();
            // Leases of other runs would expire meanwhile.
            let store = open(&server.address(&server.database()), options.clone());
            runtime.block_on(conformance::expired_leases(store)).unwrap();
        }
    }
}

#[test]
fn hosts_share_runs_and_former_owners_are_fenced_off() {
    let Some(server) = server() else { return };
    let url = server.address(&server.database());
    // Two hosts, one of them with a different clock.
    let (one, other) = (open(&url, StoreOptions::default()), open(&url, StoreOptions::default()));
    on(async {
        let now = one.clock().wall_ms();
        assert!(now.abs_diff(other.clock().wall_ms()) < 500, "both go by the server's clock");
        let lease = begin(&*one, "shared", "first", now, now + 60_000).await;
        // A claim with a clock that is far ahead: the lease has still not expired.
        let hasty = Claim { now: now + 100_000_000, until: now + 200_000_000, ..claim("second", now) };
        assert!(matches!(other.claim_run("shared", hasty.clone()).await, Err(StoreError::Held { .. })));
        assert_eq!(other.reclaim_runs(now + 100_000_000).await.unwrap(), 0);
        assert!(matches!(other.delete_run("shared", now + 100_000_000).await, Err(StoreError::Held { .. })));
        assert_eq!(other.claimable_runs(now + 100_000_000, 10).await.unwrap(), Vec::<String>::new());
        // The lease expires; nothing checks whether the process is alive.
        // It expires after the start of the server, which may be a moment ago: the owners of others could not renew them.
        one.renew_leases(vec![lease.clone()], one.clock().wall_ms() + 20).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(other.reclaim_runs(other.clock().wall_ms()).await.unwrap(), 1);
        let taken = other.claim_run("shared", claim("second", now)).await.unwrap();
        assert!(matches!(one.append_batch(&lease, batch(&[step(1, 80)])).await, Err(StoreError::NotHeld { .. })));
        assert_eq!(one.renew_leases(vec![lease.clone()], now + 9_000).await.unwrap(), ["shared"]);
        one.release_run(&lease).await.unwrap();
        other.append_batch(&taken, batch(&[step(1, 80)])).await.unwrap();
        assert_eq!(entries(&*one, "shared").await.len(), 2);
        sound(&*one).await;
    });
}

#[test]
fn whoever_waits_for_runs_is_told_at_once() {
    let Some(server) = server() else { return };
    let url = server.address(&server.database());
    let (waits, makes) = (open(&url, StoreOptions::default()), open(&url, StoreOptions::default()));
    on(async {
        // The first wait begins to listen, and is short. How long that takes depends on the machine: what is made before it
        // listens tells nobody.
        waits.wait_for_work(Duration::from_millis(1)).await;
        let began = Instant::now();
        let long = Duration::from_secs(120);
        let make = async {
            for number in 0..1000 {
                tokio::time::sleep(Duration::from_millis(300)).await;
                let run = format!("pending-{number}");
                let new = NewRun { batch: batch(&[started(&run)]), run, ..NewRun::default() };
                makes.create_run(new).await.unwrap();
            }
        };
        tokio::select! {
            () = waits.wait_for_work(long) => {}
            () = make => {}
        }
        assert!(began.elapsed() < long / 2);
        assert_eq!(waits.claimable_runs(waits.clock().wall_ms(), 1).await.unwrap(), ["pending-0"]);
    });
}

#[test]
fn a_server_that_is_started_again_is_waited_for() {
    let Some(server) = Server::start(false) else { return };
    let store = open(&server.address(&server.database()), StoreOptions::default());
    on(async {
        let now = store.clock().wall_ms();
        let lease = begin(&*store, "through", "host", now, now + 600_000).await;
        let restart = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            tokio::task::block_in_place(|| {
                server.crash();
                server.begin();
            });
            true
        };
        let write = async {
            let began = Instant::now();
            let mut seq = 1;
            while began.elapsed() < Duration::from_secs(4) {
                store.append_batch(&lease, batch(&[step(seq, 80)])).await.unwrap();
                seq += 1;
            }
            seq
        };
        let (written, _) = tokio::join!(write, restart);
        assert_eq!(entries(&*store, "through").await.len() as u64, written);
        sound(&*store).await;
    });
}

#[test]
fn content_that_runs_share_stays_as_long_as_one_of_them_does() {
    let Some(server) = server() else { return };
    let url = server.address(&server.database());
    on(async {
        let hosts = (0..4).map(|host| {
            let store = open(&url, StoreOptions::default());
            tokio::spawn(async move {
                for n in 0..40 {
                    let run = format!("run-{host}-{n}");
                    let files =
                        vec![Arc::new(Blob::new(b"shared by all".to_vec())), Arc::new(Blob::new(vec![n % 3; 9_000]))];
                    let new = NewRun { run: run.clone(), files, batch: batch(&[started(&run)]), ..NewRun::default() };
                    store.create_run(new).await.unwrap();
                    if n % 4 != 0 {
                        store.delete_run(&run, store.clock().wall_ms()).await.unwrap();
                    }
                }
            })
        });
        for host in hosts.collect::<Vec<_>>() {
            host.await.unwrap();
        }
        let store = open(&url, StoreOptions::default());
        assert_eq!(sound(&*store).await.runs, 40);
        assert!(store.read_blob(Blob::new(b"shared by all".to_vec()).hash()).await.unwrap().is_some());
    });
}

#[test]
fn letters_are_not_missed_whoever_else_writes_at_the_same_time() {
    let Some(server) = server() else { return };
    let url = server.address(&server.database());
    on(async {
        let store = open(&url, StoreOptions::default());
        let now = store.clock().wall_ms();
        begin(&*store, "asked", "host", now, now + 600_000).await;
        let writers = (0..4).map(|writer| {
            let store = open(&url, StoreOptions::default());
            tokio::spawn(async move {
                for n in 0..50 {
                    let message = InboxMessage {
                        kind: MessageKind::Signal,
                        key: format!("{writer}-{n}"),
                        value: "x".into(),
                        at: n,
                        as_of: 1,
                        sender: None,
                    };
                    store.post_message("asked", message).await.unwrap();
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        let (mut seen, mut after) = (0, 0);
        while seen < 200 {
            let over = writers.iter().all(|writer| writer.is_finished());
            let messages = store.messages_for_owner("host", after).await.unwrap();
            seen += messages.len();
            after = messages.last().map_or(after, |last| last.id);
            assert!(!over || seen == 200 || !messages.is_empty(), "{seen} letters were seen, and no more come");
        }
        assert_eq!(store.read_inbox("asked").await.unwrap().len(), 200);
    });
}

#[test]
fn a_store_that_cannot_be_used_is_told_without_its_password() {
    let Some(server) = server() else { return };
    let fails = |url: &str, env: Option<&str>, create: bool| {
        let at =
            StoreLocation::parse(OsStr::new(url), |name| env.filter(|_| name == "PGPASSWORD").map(Into::into)).unwrap();
        let error = at.open(StoreOptions { create, ..StoreOptions::default() }).map(|_| "it opens").unwrap_err();
        let said = format!("{error} {error:?} {at:?} {}", error.help_text().unwrap_or_default());
        assert!(!said.contains(PASSWORD), "{said}");
        error
    };
    let database = server.database();
    assert!(matches!(fails(&server.address(&database), None, false), StoreError::Missing { .. }));
    // With the password from the environment, the tables are created; then read-only access works as well.
    let bare = server.address_without_password(&database);
    StoreLocation::parse(OsStr::new(&bare), |_| Some(PASSWORD.into())).unwrap().open(StoreOptions::default()).unwrap();
    StoreLocation::parse(OsStr::new(&bare), |_| Some(PASSWORD.into()))
        .unwrap()
        .open_to_read(StoreOptions::default())
        .unwrap();
    open(&server.local_address(&database), StoreOptions::default());
    assert!(matches!(fails(&bare, Some("wrong"), true), StoreError::Unreachable { .. }));
    assert!(matches!(fails(&bare, None, true), StoreError::Unreachable { .. }));
    assert!(matches!(fails(&server.address("nowhere"), None, true), StoreError::Unreachable { .. }));
    // The server has no certificate.
    let encrypted = format!("{}?sslmode=require", server.address(&database));
    assert!(matches!(fails(&encrypted, None, true), StoreError::Unreachable { .. }));
    let unknown = format!("{}?color=green", server.address(&database));
    let error = fails(&unknown, None, true);
    assert!(matches!(error, StoreError::Open { .. }));
    assert!(error.help_text().unwrap().contains("`sslrootcert`"), "{error}");
    let at = server.address(&database).replace(PASSWORD, &format!("{PASSWORD}@x"));
    assert!(fails(&at, None, true).to_string().contains("%40"));
    server.sql(&database, "UPDATE trefoil.store SET format = 99");
    assert!(matches!(fails(&server.address(&database), None, true), StoreError::Newer { found: 99, .. }));
    let foreign = server.database();
    server.sql(&foreign, "CREATE SCHEMA trefoil; CREATE TABLE trefoil.run (x int)");
    assert!(matches!(fails(&server.address(&foreign), None, true), StoreError::Foreign { .. }));
    let earlier = server.database();
    server.sql(
        &earlier,
        "CREATE SCHEMA trefoil; CREATE TABLE trefoil.format (version integer); CREATE TABLE trefoil.run (x int)",
    );
    for create in [false, true] {
        let error = fails(&server.address(&earlier), None, create);
        assert!(matches!(error, StoreError::Earlier { .. }), "{error:?}");
        assert!(error.help_text().unwrap().contains("DROP SCHEMA trefoil CASCADE"));
    }
    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    server.sql("postgres", latin);
    assert!(matches!(fails(&server.address("latin"), None, true), StoreError::Foreign { .. }));
}

#[test]
fn processes_that_start_together_create_the_tables_once() {
    let Some(server) = server() else { return };
    for _ in 0..3 {
        let url = server.address(&server.database());
        let all = std::thread::scope(|scope| {
            let start =
                || StoreLocation::parse(OsStr::new(&url), |_| None).unwrap().open(StoreOptions::default()).map(drop);
            let all: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(all, vec![Ok(()); 8]);
    }
}

#[test]
fn a_user_without_the_rights_is_told_so_and_needs_no_more_than_the_schema() {
    let Some(server) = server() else { return };
    let database = server.database();
    server.sql(&database, "CREATE ROLE guest LOGIN");
    let url = server.local_address(&database).replace("tester@", "guest@");
    let opened = || StoreLocation::parse(OsStr::new(&url), |_| None).unwrap().open(StoreOptions::default());
    let denied = opened().map(|_| "it opens").unwrap_err();
    assert!(matches!(&denied, StoreError::Denied { why, .. } if why.contains("permission denied")), "{denied}");
    assert!(denied.help_text().unwrap().contains("GRANT") && !denied.is_temporary());
    server.sql(&database, "CREATE SCHEMA trefoil AUTHORIZATION guest");
    drop(opened().unwrap());
    server.sql(&database, "ALTER ROLE guest SET default_transaction_read_only = on");
    let error = on_result(async { opened().unwrap().index_requests().await }).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(error.help_text().unwrap().contains("primary"));
}

#[test]
fn the_address_may_name_the_certificates_to_trust() {
    let Some(server) = Server::start(false) else { return };
    let authority = server.encrypt();
    let url = server.address(&server.database()).replace("127.0.0.1", "localhost");
    let opened = |options: &str| {
        let location = StoreLocation::parse(OsStr::new(&format!("{url}{options}")), |_| None).unwrap();
        location.open(StoreOptions::default()).map(drop)
    };
    let copy = tempfile::tempdir().unwrap();
    // The server's own folder cannot be read by others.
    let (trusted, other) = (copy.path().join("a b.crt"), copy.path().join("other.crt"));
    std::fs::copy(authority, &trusted).unwrap();
    std::fs::write(&other, "").unwrap();
    let named = |file: &std::path::Path| file.display().to_string().replace(' ', "%20");
    assert!(matches!(opened("?sslmode=require"), Err(StoreError::Unreachable { .. })));
    assert_eq!(opened(&format!("?sslmode=verify-full&sslrootcert={}", named(&trusted))), Ok(()));
    assert!(matches!(opened(&format!("?sslmode=require&sslrootcert={}", named(&other))), Err(StoreError::Open { .. })));
}

#[test]
fn tables_of_another_making_are_told_without_the_words_of_the_client() {
    let Some(server) = server() else { return };
    let database = server.database();
    on(async {
        let store = open(&server.address(&database), StoreOptions::default());
        begin(&*store, "r", "host", 1, 2).await;
        server.sql(&database, "ALTER TABLE trefoil.run ALTER COLUMN calls TYPE text");
        let error =
            open(&server.address(&database), StoreOptions::default()).record("r").await.unwrap_err().to_string();
        assert!(error.contains("has another type than this version of Trefoil gives it"), "{error}");
        assert!(!error.contains("Rust type") && !error.contains("i64"), "{error}");
    });
}

#[test]
fn whoever_may_only_read_can_look() {
    let Some(server) = server() else { return };
    let database = server.database();
    on(async {
        let store = open(&server.address(&database), StoreOptions::default());
        begin(&*store, "seen", "host", 1, 2).await;
        server.sql(
            &database,
            "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA trefoil TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA trefoil TO reader",
        );
        let url = server.local_address(&database).replace("tester@", "reader@");
        let reader =
            StoreLocation::parse(OsStr::new(&url), |_| None).unwrap().open_to_read(StoreOptions::default()).unwrap();
        assert_eq!(entries(&*reader, "seen").await.len(), 1);
        sound(&*reader).await;
        assert!(matches!(reader.reclaim_runs(reader.clock().wall_ms()).await, Err(StoreError::ReadOnly { .. })));
        assert!(matches!(reader.backup_to("copy.db".as_ref()).await, Err(StoreError::NoBackup { .. })));
    });
}

#[test]
fn characters_that_the_server_does_not_take_do_no_harm() {
    let Some(server) = server() else { return };
    let store = open(&server.address(&server.database()), StoreOptions::default());
    on(async {
        let labels = vec![("a\0b".to_owned(), "c\0d".to_owned())];
        let new = NewRun { run: "odd".into(), labels, parent: Some("p\0".into()), ..NewRun::default() };
        store.create_run(new).await.unwrap();
        let record = store.record("odd").await.unwrap();
        assert_eq!(record.labels, [("a\u{fffd}b".to_owned(), "c\u{fffd}d".to_owned())]);
        assert!(matches!(store.record("o\0d").await, Err(StoreError::NoRun { .. })));
        let filter = RunFilter { text: Some("c\0D".into()), ..RunFilter::default() };
        assert_eq!(store.list_runs(&filter, None, 10).await.unwrap().runs.len(), 1);
    });
}

/// Runs a test on several threads.
pub fn on(test: impl Future<Output = ()>) {
    on_result(test);
}

/// Runs a future on several threads.
fn on_result<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

pub fn batch(entries: &[Entry]) -> EntryBatch {
    EntryBatch::from_entries(entries).unwrap()
}

pub fn claim(owner: &str, now: u64) -> Claim {
    Claim { owner: owner.to_owned(), now, until: now + 600_000, gone: None, failed: false }
}

pub async fn begin(store: &dyn Store, run: &str, owner: &str, now: u64, until: u64) -> Lease {
    let claim = Some(Claim { until, ..claim(owner, now) });
    let new = NewRun { run: run.to_owned(), claim, batch: batch(&[started(run)]), now, ..NewRun::default() };
    store.create_run(new).await.unwrap().unwrap()
}

pub async fn entries(store: &dyn Store, run: &str) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let page = store.read_entries(run, all.len() as u64).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

async fn sound(store: &dyn Store) -> StoreHealth {
    let health = store.check_integrity().await.unwrap();
    assert_eq!(health.problems, Vec::<String>::new());
    health
}

/// A proxy between a store and its server that breaks connections, some before a request arrives, others before the
/// response does.
struct Proxy {
    port: u16,
    breaks: Arc<AtomicBool>,
    broken: Arc<AtomicUsize>,
}

impl Proxy {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (breaks, broken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (on, count) = (breaks.clone(), broken.clone());
        std::thread::spawn(move || {
            for (n, client) in listener.incoming().enumerate() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
                // Chooses the last piece that is passed on: late enough for a login and some work.
                let last = 16 + n * 7 % 19;
                for (towards, n) in [(true, n % 2), (false, (n + 1) % 2)] {
                    let (from, to) = if towards { (&client, &server) } else { (&server, &client) };
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (on, count) = (on.clone(), count.clone());
                    std::thread::spawn(move || {
                        let (mut bytes, mut pieces) = (vec![0; 1 << 16], 0);
                        while let Ok(length @ 1..) = from.read(&mut bytes) {
                            pieces += 1;
                            if n == 1 && pieces >= last && on.load(Ordering::SeqCst) {
                                count.fetch_add(1, Ordering::SeqCst);
                                break;
                            }
                            if to.write_all(&bytes[..length]).is_err() {
                                break;
                            }
                        }
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Self { port, breaks, broken }
    }
}

#[test]
fn a_server_of_an_earlier_build_gets_a_place_for_senders_with_the_first_one() {
    let Some(server) = server() else { return };
    let database = server.database();
    let url = server.address(&database);
    on(async {
        let store = open(&url, StoreOptions::default());
        let now = store.clock().wall_ms();
        begin(&*store, "asked", "host", now, now + 600_000).await;
        let message = |key: &str, sender: &str| InboxMessage {
            kind: MessageKind::Answer,
            key: key.to_owned(),
            value: "yes".into(),
            at: 1,
            as_of: 1,
            sender: Some(AnswerSender::new(sender, "terminal")),
        };
        let senders = async || {
            let inbox = store.read_inbox("asked").await.unwrap();
            inbox.into_iter().map(|posted| posted.message.sender).collect::<Vec<_>>()
        };
        store.post_message("asked", message("a", "ada")).await.unwrap();
        assert_eq!(senders().await, [message("a", "ada").sender]);
        // As an earlier build has made it.
        server.sql(&database, "ALTER TABLE trefoil.inbox DROP COLUMN sender");
        assert_eq!(senders().await, [None]);
        // A user who may not change tables: the answer counts, without its sender.
        let guest = "CREATE ROLE helper LOGIN; GRANT USAGE ON SCHEMA trefoil TO helper; \
                     GRANT ALL ON ALL TABLES IN SCHEMA trefoil TO helper";
        server.sql(&database, guest);
        let helper = open(&server.local_address(&database).replace("tester@", "helper@"), StoreOptions::default());
        helper.post_message("asked", message("b", "bo")).await.unwrap();
        assert_eq!(senders().await, [None, None]);
        // The owner's first message with a sender adds the column, for everybody.
        store.post_message("asked", message("c", "cy")).await.unwrap();
        helper.post_message("asked", message("d", "di")).await.unwrap();
        assert_eq!(senders().await, [None, None, message("c", "cy").sender, message("d", "di").sender]);
    });
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn what_was_acknowledged_is_there_once_however_often_connections_break() {
        let Some(server) = server() else { return };
        let database = server.database();
        let proxy = Proxy::to(server.port());
        let url = server.address(&database).replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port));
        let store = open(&url, StoreOptions::default());
        proxy.breaks.store(true, Ordering::SeqCst);
        on(async {
            for run in 0..8 {
                let run = format!("broken-{run}");
                let now = store.clock().wall_ms();
                let lease = begin(&*store, &run, "host", now, now + 600_000).await;
                for seq in 1..25 {
                    // Some entries are large.
                    store
                        .append_batch(&lease, batch(&[step(seq, if seq % 5 == 0 { 70_000 } else { 80 })]))
                        .await
                        .unwrap();
                }
                let message = InboxMessage {
                    kind: MessageKind::Signal,
                    key: "k\0".into(),
                    value: "once".into(),
                    at: 5,
                    as_of: 25,
                    sender: None,
                };
                store.post_message(&run, message.clone()).await.unwrap();
                let inbox = store.read_inbox(&run).await.unwrap();
                assert_eq!(inbox.iter().map(|posted| &posted.message).collect::<Vec<_>>(), [&message]);
                let again = store.claim_run(&run, claim("host", now)).await.unwrap();
                assert!(again.epoch > lease.epoch);
                let numbers: Vec<u64> = entries(&*store, &run).await.iter().map(|entry| entry.seq).collect();
                assert_eq!(numbers, (0..25).collect::<Vec<_>>());
            }
            // Reading everything takes longer than a connection lasts through this proxy.
            proxy.breaks.store(false, Ordering::SeqCst);
            sound(&*store).await;
        });
        let broken = proxy.broken.load(Ordering::SeqCst);
        assert!(broken > 12, "only {broken} connections were broken");
    }
}
