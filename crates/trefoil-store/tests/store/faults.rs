//! Files that cannot be opened or written, and their error messages. No acknowledged data is lost.

use std::path::Path;
use std::time::Duration;

use expect_test::expect;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use trefoil_machine::Entry;
use trefoil_store::{
    Claim, ClaimShare, Content, EntryBatch, Lease, RunFilter, RunRetention, SqliteStore, Status, Store, StoreError,
    StoreOptions,
};

use crate::runs::until;
use crate::world::{append, claim, create, entries, on_both, open, started, step};

/// An error and its help text, without the name of the folder.
fn said(error: &StoreError, folder: &Path) -> String {
    let text = format!("{error}\n{}", error.help_text().unwrap_or_default());
    text.replace(&folder.display().to_string(), "FOLDER")
}

#[test]
fn sqlite_is_recent_enough_and_our_own() {
    // Up to 3.51.2, a checkpoint of one connection can damage what another one writes.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
#[cfg(unix)]
fn the_files_are_their_user_s_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("trefoil").join("runs.db");
        let store = open(&path);
        create(&store, "r").await.unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (name, wanted) in
            [("runs.db", 0o600), ("runs.db-wal", 0o600), ("runs.db-shm", 0o600), ("", 0o700), ("..", 0o700)]
        {
            assert_eq!(mode(&path.with_file_name(name)), wanted, "{name}");
        }
        store.backup_to(&folder.path().join("copy.db")).await.unwrap();
        assert_eq!(mode(&folder.path().join("copy.db")), 0o600);
    });
}

#[test]
fn while_another_process_writes_others_read_and_whoever_waits_too_long_is_told() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        let lease = create(&store, "r").await.unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = append(&store, &lease, step(1, 80)).await.unwrap_err();
        expect![[r#"
            the store `FOLDER/runs.db` is locked: another process has been writing to it for more than 50 ms
            wait until that process has finished, or use another store with `--store PATH`"#]]
        .assert_eq(&said(&error, folder.path()));
        assert_eq!(entries(&store, "r").await.unwrap(), [started("r")]);
        // Opening does not write.
        assert_eq!(entries(&open(&path), "r").await.unwrap().len(), 1);
        other.execute_batch("COMMIT").unwrap();
        append(&store, &lease, step(1, 80)).await.unwrap();
        assert_eq!(entries(&store, "r").await.unwrap(), [started("r"), step(1, 80)]);
    });
}

#[test]
fn a_full_store_keeps_what_it_has_and_says_what_makes_room() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store =
            SqliteStore::open(&path, StoreOptions { max_bytes: Some(400_000), ..StoreOptions::default() }).unwrap();
        let lease = create(&store, "r").await.unwrap();
        let mut kept = vec![started("r")];
        let error = loop {
            let next = step(kept.len() as u64, 10_000);
            match append(&store, &lease, next.clone()).await {
                Ok(()) => kept.push(next),
                Err(error) => break error,
            }
        };
        expect![[r#"
            the store `FOLDER/runs.db` is full: database or disk is full
            delete runs that are not needed any more, or use another disk"#]]
        .assert_eq(&said(&error, folder.path()));
        assert!(kept.len() > 10, "{}", kept.len());
        assert_eq!(entries(&store, "r").await.unwrap(), kept);
        assert_eq!(store.record("r").await.unwrap().entries, kept.len() as u64);
        drop(store);
        let store = open(&path);
        assert_eq!(entries(&store, "r").await.unwrap(), kept);
        assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
        append(&store, &lease, step(kept.len() as u64, 10_000)).await.unwrap();
    });
}

#[test]
fn work_that_fails_spoils_nothing_that_is_committed_with_it() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("runs.db"));
        let mut leases = Vec::new();
        for n in 0..50 {
            leases.push(create(&store, &format!("run-{n}")).await.unwrap());
        }
        let gone = Some("test".to_owned());
        store.claim_run("run-7", Claim { gone, ..claim("other") }).await.unwrap();
        let all = leases.iter().map(|lease| append(&store, lease, step(1, 80)));
        for (n, result) in futures::future::join_all(all).await.into_iter().enumerate() {
            assert_eq!(result.is_err(), n == 7, "run-{n}: {result:?}");
            assert_eq!(entries(&store, &format!("run-{n}")).await.unwrap().len(), if n == 7 { 1 } else { 2 });
        }
        assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
    });
}

#[test]
fn a_store_of_a_later_version_is_left_alone() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        create(&open(&path), "r").await.unwrap();
        // A process that was killed leaves a log, here with the format.
        let later = Connection::open(&path).unwrap();
        later.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        later.execute_batch("PRAGMA user_version = 99").unwrap();
        drop(later);
        let log = folder.path().join("runs.db-wal");
        for log_left in [true, false] {
            if !log_left {
                Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            }
            let before = (std::fs::read(&path).unwrap(), std::fs::read(&log).ok());
            assert_eq!(before.1.is_some(), log_left);
            for open in [SqliteStore::open, SqliteStore::open_to_read] {
                let error = open(path.clone(), StoreOptions::default()).unwrap_err();
                expect![[r#"
                    the store `FOLDER/runs.db` was written by a later version: its format is 99, but this version supports only up to 1
                    update trefoil, or use another store with `--store PATH`"#]]
                .assert_eq(&said(&error, folder.path()));
                assert!((std::fs::read(&path).unwrap(), std::fs::read(&log).ok()) == before, "{log_left}");
            }
        }
    });
}

/// Every application id and number that builds before the first format have written.
#[test]
fn a_store_of_an_earlier_build_is_refused_and_left_alone() {
    for format in 1..=5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        Connection::open(&path)
            .unwrap()
            .execute_batch(&format!(
                "PRAGMA application_id = 0x54524546; PRAGMA user_version = {format}; CREATE TABLE run (no INTEGER PRIMARY KEY)"
            ))
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        let opened = [
            SqliteStore::open(&path, StoreOptions::default()),
            SqliteStore::open(&path, StoreOptions { create: false, ..StoreOptions::default() }),
            SqliteStore::open_to_read(&path, StoreOptions::default()),
        ];
        for opened in opened {
            expect![[r#"
                the store `FOLDER/runs.db` was written by an earlier build, and this version cannot use it
                move the file away, so that the next run creates a new one, or use another store with `--store PATH`"#]]
            .assert_eq(&said(&opened.unwrap_err(), folder.path()));
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

/// Opening it would take back what the other program was doing when it was killed.
#[test]
fn a_change_that_another_program_has_not_ended_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (live, killed) = (folder.path().join("live.db"), folder.path().join("killed.db"));
    let journal = |path: &std::path::Path| path.with_extension("db-journal");
    let c = Connection::open(&live).unwrap();
    c.execute_batch("PRAGMA cache_size = 1; CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000)); BEGIN")
        .unwrap();
    c.execute("UPDATE t SET x = randomblob(100000)", []).unwrap();
    for (from, to) in [(live.clone(), killed.clone()), (journal(&live), journal(&killed))] {
        std::fs::copy(from, to).unwrap();
    }
    let bytes = || (std::fs::read(&killed).unwrap(), std::fs::read(journal(&killed)).unwrap());
    let before = bytes();
    for opened in [
        SqliteStore::open(&killed, StoreOptions::default()),
        SqliteStore::open(&killed, StoreOptions { create: false, ..StoreOptions::default() }),
        SqliteStore::open_to_read(&killed, StoreOptions::default()),
    ] {
        assert!(said(&opened.unwrap_err(), folder.path()).contains("another program has not ended a change of it"));
    }
    assert_eq!(bytes(), before);
    // It would have been taken back.
    assert_eq!(Connection::open(&killed).unwrap().query_row("SELECT count(*) FROM t", [], |row| row.get(0)), Ok(1));
    assert!(!journal(&killed).exists());
}

/// Neither a pipe, nor a name that SQLite has for itself, nor a schema that computes without end makes anybody wait.
#[test]
#[cfg(unix)]
fn what_is_no_file_of_ours_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.db");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (endless, work) = (folder.path().join("endless.db"), folder.path().join("work.db"));
    for path in [&endless, &work] {
        drop(open(path));
    }
    Connection::open(&endless)
        .unwrap()
        .execute_batch(
            "PRAGMA legacy_alter_table = ON; ALTER TABLE run RENAME TO hidden; CREATE VIEW run AS \
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT hidden.* FROM n, hidden",
        )
        .unwrap();
    Connection::open(&work)
        .unwrap()
        .execute_batch("CREATE TRIGGER more AFTER UPDATE ON run BEGIN DELETE FROM entry; END")
        .unwrap();
    let mut all = String::new();
    for path in [&pipe, &endless, &work, Path::new(":memory:")] {
        let opened = [
            SqliteStore::open(path, StoreOptions::default()),
            SqliteStore::open_to_read(path, StoreOptions::default()),
        ];
        let errors = opened.map(|opened| said(&opened.unwrap_err(), folder.path()));
        assert_eq!(errors[0], errors[1]);
        all += &format!("{}\n", errors[0]);
    }
    expect![[r#"
        the store `FOLDER/pipe.db` cannot be opened: it is not a regular file
        check the path and the disk, or use another store with `--store PATH`
        `FOLDER/endless.db` is not a Trefoil store: `asked` in its schema is not what a store has
        pass another file with `--store PATH`
        `FOLDER/work.db` is not a Trefoil store: `more` in its schema is not what a store has
        pass another file with `--store PATH`
        the store `:memory:` would be lost when the process ends
        store nothing with `--ephemeral`, or write `./:memory:` for a file of that name
    "#]]
    .assert_eq(&all);
    assert!(!Path::new(":memory:").exists());
}

#[test]
fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database at all\n".repeat(100)).unwrap();
    let database = folder.path().join("mail.db");
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE mail (text)").unwrap();
    let mut all = String::new();
    for path in [&text, &database] {
        let before = std::fs::read(path).unwrap();
        let error = SqliteStore::open(path, StoreOptions::default()).unwrap_err();
        all += &format!("{}\n", said(&error, folder.path()));
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    let error = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap_err();
    all += &format!("{}\n", said(&error, folder.path()));
    let error = SqliteStore::open(text.join("runs.db"), StoreOptions::default()).unwrap_err();
    all += &said(&error, folder.path());
    expect![[r#"
        `FOLDER/notes.txt` is not a Trefoil store: file is not a database
        pass another file with `--store PATH`
        `FOLDER/mail.db` is not a Trefoil store: it is the database of another program
        pass another file with `--store PATH`
        the store `FOLDER` cannot be opened: it is a folder
        check the path and the disk, or use another store with `--store PATH`
        the store `FOLDER/notes.txt/runs.db` cannot be opened: `FOLDER/notes.txt` is not a folder
        check the path and the disk, or use another store with `--store PATH`"#]]
    .assert_eq(&all);
}

#[test]
fn a_value_that_cannot_be_read_is_told_without_the_words_of_the_client() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        create(&store, "r").await.unwrap();
        Connection::open(&path).unwrap().execute_batch("UPDATE run SET status = 'odd'").unwrap();
        let error = store.record("r").await.unwrap_err();
        expect![[r#"
            the store `FOLDER/runs.db` is damaged: unknown status `odd`; available: `pending`, `running`, `interrupted`, `waiting`, `completed`, `failed`, `cancelled`
            look for what is damaged, or use another store with `--store PATH`"#]]
        .assert_eq(&said(&error, folder.path()));
    });
}

#[test]
fn a_damaged_file_is_told_and_no_entry_of_it_is_wrong() {
    let [runtime, _] = crate::world::runtimes();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        let lease = create(&store, "r").await.unwrap();
        for seq in 1..100 {
            append(&store, &lease, step(seq, 1_000)).await.unwrap();
        }
        let wanted = entries(&store, "r").await.unwrap();
        drop(store);
        let whole = std::fs::read(&path).unwrap();
        let pages = whole.len() / 4_096;
        assert!(pages > 15, "{pages}");
        let mut damaged: Vec<Vec<u8>> = (1..pages).map(|page| whole[..page * 4_096].to_vec()).collect();
        damaged.extend((0..pages).map(|page| {
            let mut bytes = whole.clone();
            bytes[page * 4_096..(page + 1) * 4_096].fill(0x5a);
            bytes
        }));
        for (case, bytes) in damaged.into_iter().enumerate() {
            let copy = folder.path().join(format!("damaged-{case}.db"));
            std::fs::write(&copy, bytes).unwrap();
            let store = match SqliteStore::open(&copy, StoreOptions::default()) {
                Ok(store) => store,
                Err(StoreError::Corrupt { .. } | StoreError::Foreign { .. }) => continue,
                Err(error) => panic!("case {case}: {error}"),
            };
            let told = match store.check_integrity().await {
                Ok(health) => !health.problems.is_empty(),
                Err(StoreError::Corrupt { .. } | StoreError::Foreign { .. }) => true,
                Err(error) => panic!("case {case}: {error}"),
            };
            assert!(told, "case {case}: nothing is said about it");
            match entries(&store, "r").await {
                Ok(found) => assert!(wanted.starts_with(&found), "case {case}: other entries"),
                Err(StoreError::Corrupt { .. } | StoreError::NoRun { .. }) => {}
                Err(error) => panic!("case {case}: {error}"),
            }
            // A read-only store detects the damage, too.
            drop(store);
            match SqliteStore::open_to_read(&copy, StoreOptions::default()) {
                Ok(store) => assert!(!store.check_integrity().await.unwrap().problems.is_empty(), "case {case}"),
                Err(StoreError::Corrupt { .. } | StoreError::Foreign { .. }) => {}
                Err(error) => panic!("case {case}: {error}"),
            }
        }
    });
}

/// The frames of a write-ahead log: the end of each, and whether it ends a commit.
fn frames(wal: &[u8]) -> Vec<(usize, bool)> {
    let salt = &wal[16..24];
    let frames = (0..).map(|n| 32 + n * (24 + 4_096)).take_while(|at| at + 24 + 4_096 <= wal.len());
    let frames = frames.take_while(|at| &wal[at + 8..at + 16] == salt);
    frames.map(|at| (at + 24 + 4_096, wal[at + 4..at + 8] != [0; 4])).collect()
}

#[test]
fn processes_that_create_a_store_at_the_same_time_share_it() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let stores = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| SqliteStore::open(&path, StoreOptions::default()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect::<Vec<_>>()
        });
        let [runtime, _] = crate::world::runtimes();
        runtime.block_on(async {
            for (n, store) in stores.iter().enumerate() {
                create(store, &format!("run-{n}")).await.unwrap();
            }
            assert_eq!(stores[0].measure_size().await.unwrap().runs, 4);
            assert_eq!(stores[3].check_integrity().await.unwrap().problems, Vec::<String>::new());
        });
    }
}

#[test]
fn a_backup_is_the_store_at_one_moment_and_overwrites_nothing() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("runs.db"));
        let lease = create(&store, "r").await.unwrap();
        append(&store, &lease, step(1, 100_000)).await.unwrap();
        let copy = folder.path().join("copy.db");
        store.backup_to(&copy).await.unwrap();
        append(&store, &lease, step(2, 80)).await.unwrap();
        let error = store.backup_to(&copy).await.unwrap_err();
        expect![[r#"
            `FOLDER/copy.db` already exists
            choose a file that does not exist"#]]
        .assert_eq(&said(&error, folder.path()));
        let names =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        assert_eq!(
            names,
            ["copy.db", "runs.db", "runs.db-owners", "runs.db-shm", "runs.db-wal"],
            "nothing else is left"
        );
        let copy = open(&copy);
        assert_eq!(entries(&copy, "r").await.unwrap(), [started("r"), step(1, 100_000)]);
        assert_eq!(copy.check_integrity().await.unwrap().problems, Vec::<String>::new());
        let error = store.backup_to(&folder.path().join("no").join("folder.db")).await.unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
    });
}

#[test]
fn what_was_changed_is_found() {
    let found = std::sync::Mutex::new(std::collections::BTreeSet::new());
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        for (run, bytes) in [("r", 100_000), ("s", 80)] {
            let lease = create(&store, run).await.unwrap();
            append(&store, &lease, step(1, bytes)).await.unwrap();
        }
        let sql = "UPDATE blob SET data = x'00', packed = 0; UPDATE run SET calls = 7, next = 5 WHERE id = 's'; \
                   DELETE FROM uses; UPDATE tally SET n = 4; INSERT INTO entry VALUES (99 << 32, '{}', NULL)";
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let problems = store.check_integrity().await.unwrap().problems.join("\n");
        found.lock().unwrap().insert(problems);
    });
    let found = found.into_inner().unwrap().into_iter().collect::<Vec<_>>().join("\n\n");
    expect![[r#"
        entries of no run, number: 99
        no run uses the content: `c323e8381f05f77c4824c14d1ce984a540a06323fb0cd14e327c38a434471524`
        wrong count of runs that are: `pending`
        wrong count of runs that are: `running`
        the content `c323e8381f05f77c4824c14d1ce984a540a06323fb0cd14e327c38a434471524` is damaged
        entry 1 of `r` cannot be read: expected value at line 1 column 1
        `s` has 2 entries, but its record says 5
        the record of `s` has different figures than its journal"#]]
    .assert_eq(&found);
}

#[test]
fn a_run_whose_process_was_killed_can_be_continued_at_once() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "faults::holds_a_run", "--nocapture"]).env(HOLD, &path);
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        until(async || store.record("r").await.is_ok()).await;
        let held = store.claim_run("r", claim("other")).await;
        assert!(matches!(&held, Err(StoreError::Held { owner, .. }) if owner == "test"), "{held:?}");
        store.reclaim_runs(100_000).await.unwrap();
        let status = async || store.record("r").await.unwrap().status;
        assert_eq!(status().await, Status::Running, "its process lives, whatever its lease says");
        // Its lease has expired long ago; the lock is worth as much again, by the clock of whoever wants the run.
        let late = |now| Claim { now, until: now + 300, ..claim("other") };
        assert!(matches!(store.claim_run("r", late(100_000)).await, Err(StoreError::Held { .. })));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(
            matches!(store.claim_run("r", late(100_000_000)).await, Err(StoreError::Held { .. })),
            "however late it is"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        let looking = SqliteStore::open_to_read(&path, StoreOptions::default()).unwrap();
        let interrupted = RunFilter { status: vec![Status::Interrupted], ..RunFilter::default() };
        let running = RunFilter { status: vec![Status::Running], ..RunFilter::default() };
        let seen = looking.record("r").await.unwrap();
        assert_eq!((seen.status, seen.owner), (Status::Interrupted, None), "whoever looks sees that it has ended");
        assert_eq!(looking.list_runs(&interrupted, None, 10).await.unwrap().runs.len(), 1);
        assert_eq!(looking.list_runs(&running, None, 10).await.unwrap().runs.len(), 0);
        let counts = looking.count_by_status().await.unwrap();
        assert!(counts.contains(&(Status::Interrupted, 1)) && counts.contains(&(Status::Running, 0)), "{counts:?}");
        drop(looking);
        assert_eq!(store.reclaim_runs(0).await.unwrap(), 1);
        assert_eq!(status().await, Status::Interrupted);
        let lease = store.claim_run("r", claim("other")).await.unwrap();
        append(&store, &lease, step(1, 80)).await.unwrap();
        assert_eq!(entries(&store, "r").await.unwrap(), [started("r"), step(1, 80)]);
        assert!(folder.path().join("runs.db-owners").exists());
        store.release_run(&lease).await.unwrap();
        drop(store);
        assert!(!folder.path().join("runs.db-owners").exists(), "nothing is left of processes that have ended");
    });
}

/// A process that lives and does not renew its leases keeps its runs for as long again; then another one gets them.
#[test]
fn a_run_of_a_process_that_is_stuck_is_taken_from_it() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "faults::holds_a_run", "--nocapture"]).env(HOLD, &path);
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        until(async || store.record("r").await.is_ok()).await;
        let late = Claim { now: 100_000, until: 100_200, ..claim("other") };
        let share = ClaimShare { most: 10, ..ClaimShare::default() };
        assert_eq!(store.claim_some(late.clone(), share.clone()).await.unwrap(), []);
        // A renewal begins the time again.
        let holder = Lease { run: "r".to_owned(), no: 1, epoch: 1, content: Content::All };
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(store.renew_leases(vec![holder], 99_000).await.unwrap(), Vec::<String>::new());
        assert_eq!(store.claim_some(late.clone(), share.clone()).await.unwrap(), []);
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(store.claim_some(late.clone(), share.clone()).await.unwrap(), []);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let taken = store.claim_some(late, share).await.unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!(store.record("r").await.unwrap().taken_from.as_deref(), Some("test"));
        child.kill().unwrap();
        child.wait().unwrap();
    });
}

/// What can happen to the file of a store while a process writes to it.
#[test]
#[cfg(unix)]
fn a_store_that_is_taken_away_is_told_at_the_next_step() {
    type Harm = fn(&Path, &Path);
    let harms: [(&str, Harm); 8] = [
        ("deleted", |file, _| std::fs::remove_file(file).unwrap()),
        ("moved", |file, to| std::fs::rename(file, to).unwrap()),
        ("replaced by another", |file, to| {
            std::fs::copy(file, to).unwrap();
            std::fs::rename(to, file).unwrap();
        }),
        ("replaced by an empty one", |file, _| {
            std::fs::remove_file(file).unwrap();
            std::fs::write(file, "").unwrap();
        }),
        ("emptied", |file, _| std::fs::write(file, "").unwrap()),
        ("cut", |file, _| std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(3 * 4_096).unwrap()),
        ("without its log", |file, _| std::fs::remove_file(file.with_file_name("runs.db-wal")).unwrap()),
        ("in a moved folder", |file, to| std::fs::rename(file.parent().unwrap(), to).unwrap()),
    ];
    for (what, harm) in harms {
        on_both(async || {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("data").join("runs.db");
            let store = open(&path);
            let lease = create(&store, "r").await.unwrap();
            append(&store, &lease, step(1, 80)).await.unwrap();
            // The log is moved into the file.
            std::thread::sleep(Duration::from_millis(400));
            harm(&path, &folder.path().join("elsewhere"));
            let error = append(&store, &lease, step(2, 80)).await.unwrap_err();
            let told =
                matches!(error, StoreError::Replaced { .. } | StoreError::Corrupt { .. } | StoreError::Io { .. });
            assert!(told, "{what}: {error:?}");
        });
    }
}

/// Space that is given back, here or by another process, is no harm.
#[test]
fn a_store_that_shrinks_by_itself_is_used_on() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let (store, other) = (open(&path), open(&path));
        let lease = create(&store, "r").await.unwrap();
        for n in 0..3 {
            let run = format!("large-{n}");
            let large = create(&store, &run).await.unwrap();
            append(&store, &large, step(1, 900_000)).await.unwrap();
            other.prune_runs(&RunRetention::default()).await.unwrap();
            store.release_run(&large).await.unwrap();
            other.delete_run(&run, 100_000).await.unwrap();
            other.prune_runs(&RunRetention::default()).await.unwrap();
            append(&store, &lease, step(n + 1, 80)).await.unwrap();
        }
        assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
    });
}

#[test]
fn a_process_that_could_not_give_its_runs_back_is_seen_to_have_ended() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        create(&store, "r").await.unwrap();
        drop(store);
        let store = open(&path);
        let lease = store.claim_run("r", claim("other")).await.unwrap();
        assert_eq!(lease.epoch, 2);
    });
}

const HOLD: &str = "TREFOIL_TEST_HOLD";

/// Child process of the test above.
#[test]
fn holds_a_run() {
    if let Some(path) = std::env::var_os(HOLD) {
        let [runtime, _] = crate::world::runtimes();
        let store = open(Path::new(&path));
        runtime.block_on(create(&store, "r")).unwrap();
        std::thread::sleep(Duration::from_secs(600));
    }
}

#[test]
fn appending_nothing_writes_nothing() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("runs.db"));
        let lease = create(&store, "r").await.unwrap();
        let before = store.record("r").await.unwrap();
        store.append_batch(&lease, EntryBatch::default()).await.unwrap();
        assert_eq!(store.record("r").await.unwrap(), before);
    });
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn of_a_log_that_is_cut_or_torn_every_whole_commit_is_kept_and_nothing_else() {
        on_both(async || {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let wal = folder.path().join("runs.db-wal");
            let store = open(&path);
            let lease = create(&store, "r").await.unwrap();
            // An open read transaction keeps the log from being moved into the database.
            let reader = Connection::open(&path).unwrap();
            reader.execute_batch("BEGIN").unwrap();
            reader.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0)).unwrap();
            let base = frames(&std::fs::read(&wal).unwrap()).len();
            let mut written = vec![started("r")];
            let reopened = async |bytes: &[u8]| -> Vec<Entry> {
                let copy = tempfile::tempdir().unwrap();
                std::fs::copy(&path, copy.path().join("runs.db")).unwrap();
                std::fs::write(copy.path().join("runs.db-wal"), bytes).unwrap();
                let store = open(&copy.path().join("runs.db"));
                assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
                entries(&store, "r").await.unwrap()
            };
            for seq in 1..12 {
                append(&store, &lease, step(seq, 1_000)).await.unwrap();
                written.push(step(seq, 1_000));
                // The state if the process were killed now.
                assert_eq!(reopened(&std::fs::read(&wal).unwrap()).await, written);
            }
            let bytes = std::fs::read(&wal).unwrap();
            let all = frames(&bytes);
            assert!(all.len() > base + 11, "{all:?}");
            let mut kept = 1;
            for (end, commit) in &all[base..] {
                for cut in [end - 1, end - 2_000, end - 4_096 - 12] {
                    assert_eq!(reopened(&bytes[..cut]).await, written[..kept], "cut at {cut}");
                    // A torn page: only its first part has reached the disk.
                    let torn: Vec<u8> = bytes[..cut].iter().copied().chain(std::iter::repeat_n(0, end - cut)).collect();
                    assert_eq!(reopened(&torn).await, written[..kept], "torn at {cut}");
                }
                kept += usize::from(*commit);
                assert_eq!(reopened(&bytes[..*end]).await, written[..kept], "cut at {end}");
            }
            assert_eq!(kept, written.len());
        });
    }
}

#[test]
fn whether_a_store_can_be_written_to_is_known_without_a_write() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let (path, away) = (folder.path().join("runs.db"), folder.path().join("away.db"));
        let store = open(&path);
        let lease = create(&store, "r").await.unwrap();
        store.check_writable().await.unwrap();
        let size = || std::fs::metadata(path.with_extension("db-wal")).map(|log| log.len()).unwrap_or_default();
        let before = size();
        store.check_writable().await.unwrap();
        assert_eq!(size(), before, "it has written");
        std::fs::rename(&path, &away).unwrap();
        // Nobody has tried to write yet.
        assert!(matches!(store.check_writable().await, Err(StoreError::Replaced { .. })));
        append(&store, &lease, step(1, 80)).await.unwrap_err();
        assert!(matches!(store.check_writable().await, Err(StoreError::Replaced { .. })));
        std::fs::rename(&away, &path).unwrap();
        store.check_writable().await.unwrap();
    });
}

#[test]
fn a_full_store_cannot_be_written_to_until_there_is_room() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store =
            SqliteStore::open(&path, StoreOptions { max_bytes: Some(400_000), ..StoreOptions::default() }).unwrap();
        let lease = create(&store, "r").await.unwrap();
        let mut seq = 1;
        while append(&store, &lease, step(seq, 20_000)).await.is_ok() {
            store.check_writable().await.unwrap();
            seq += 1;
        }
        let error = store.check_writable().await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        // A page that is there can be written, so after a while a try succeeds.
        tokio::time::sleep(Duration::from_secs(6)).await;
        store.check_writable().await.unwrap();
    });
}
