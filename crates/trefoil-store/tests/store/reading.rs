//! Read-only stores: without write access, without a file, or while another process writes.

use std::path::Path;

use trefoil_store::{RunFilter, SqliteStore, Status, Store, StoreError, StoreOptions};

use crate::world::{append, claim, create, entries, on_both, open, runtimes, started, step};

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn look(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_to_read(path, StoreOptions { busy_ms: 50, ..StoreOptions::default() })
}

#[test]
fn looking_creates_nothing_changes_nothing_and_leaves_nothing() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub").join("runs.db");
        let error = look(&path).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        let error = SqliteStore::open(&path, StoreOptions { create: false, ..StoreOptions::default() }).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        assert!(names(folder.path()).is_empty());
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(matches!(look(&path), Err(StoreError::Missing { .. })), "an empty file has no runs");
        create(&open(&path), "r").await.unwrap();
        let before = (std::fs::read(&path).unwrap(), names(path.parent().unwrap()));
        let store = look(&path).unwrap();
        assert_eq!(entries(&store, "r").await.unwrap(), [started("r")]);
        assert_eq!(store.list_runs(&RunFilter::default(), None, 10).await.unwrap().runs.len(), 1);
        assert!(store.check_integrity().await.unwrap().problems.is_empty());
        store.backup_to(&folder.path().join("copy.db")).await.unwrap();
        let denied = [
            store.claim_run("r", claim("other")).await.map(drop),
            create(&store, "s").await.map(drop),
            store.delete_run("r", 0).await,
            store.set_label("r", "a", Some("b")).await,
        ];
        for (n, denied) in denied.into_iter().enumerate() {
            assert!(matches!(denied, Err(StoreError::ReadOnly { .. })), "{n}: {denied:?}");
        }
        drop(store);
        assert_eq!((std::fs::read(&path).unwrap(), names(path.parent().unwrap())), before);
    });
}

#[test]
fn whoever_looks_sees_what_another_connection_has_just_written() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = open(&path);
        let lease = create(&store, "r").await.unwrap();
        let looking = look(&path).unwrap();
        for seq in 1..20 {
            append(&store, &lease, step(seq, 80)).await.unwrap();
            assert_eq!(entries(&looking, "r").await.unwrap().len() as u64, seq + 1);
        }
    });
}

/// A log that a killed process has left stays where it is, also in a folder that can be written.
#[test]
fn looking_leaves_a_log_as_it_is() {
    on_both(async || {
        let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = copy.path().join("runs.db");
        let store = open(&folder.path().join("runs.db"));
        let lease = create(&store, "r").await.unwrap();
        append(&store, &lease, step(1, 80)).await.unwrap();
        for name in ["runs.db", "runs.db-wal"] {
            std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
        }
        let bytes = || ["runs.db", "runs.db-wal"].map(|name| std::fs::read(copy.path().join(name)).unwrap());
        let before = bytes();
        let looking = look(&path).unwrap();
        assert_eq!(entries(&looking, "r").await.unwrap().len(), 2);
        assert_eq!(
            looking.list_runs(&RunFilter::default(), None, 10).await.unwrap().runs[0].status,
            Status::Interrupted
        );
        assert!(looking.check_integrity().await.unwrap().problems.is_empty());
        drop(looking);
        assert_eq!(bytes(), before);
        assert_eq!(entries(&open(&path), "r").await.unwrap().len(), 2);
    });
}

#[cfg(unix)]
mod without_rights {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    use expect_test::expect;

    use super::*;

    const LOOK: &str = "TREFOIL_TEST_LOOK";

    fn set(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The output of a process that may read a folder but not write to it.
    fn seen(folder: &Path) -> String {
        // Root can write every file, so the child process runs as another user.
        let exe = tempfile::tempdir().unwrap();
        set(exe.path(), 0o755);
        let program = exe.path().join("exe");
        // In a process of its own: a child of another test, begun meanwhile, would hold this one's handle open for
        // writing, and a program that is open for writing cannot run ("Text file busy").
        let copied = std::process::Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
        assert!(copied.unwrap().success());
        set(&program, 0o755);
        names(folder)
            .iter()
            .map(|name| folder.join(name))
            .filter(|path| path.is_file())
            .for_each(|path| set(&path, 0o444));
        set(folder, 0o555);
        let mut child = std::process::Command::new(&program);
        child.args(["--exact", "reading::without_rights::says_what_it_sees", "--nocapture"]);
        child.env(LOOK, folder.join("runs.db")).current_dir("/");
        if std::fs::metadata(folder).unwrap().uid() == 0 {
            child.uid(65_534);
        }
        let output = child.output().unwrap();
        set(folder, 0o755);
        let output = String::from_utf8(output.stdout).unwrap();
        let lines = output.lines().filter_map(|line| line.split_once("seen: ").map(|(_, line)| line));
        lines.collect::<Vec<_>>().join("\n").replace(&folder.display().to_string(), "FOLDER")
    }

    /// Child process of [`seen`].
    #[test]
    #[allow(clippy::print_stdout, reason = "its parent reads it")]
    fn says_what_it_sees() {
        let Some(path) = std::env::var_os(LOOK) else { return };
        let [runtime, _] = runtimes();
        let path = Path::new(&path);
        match look(path) {
            Err(error) => println!("\nseen: {error}"),
            Ok(store) => runtime.block_on(async {
                let found = entries(&store, "r").await.map(|entries| entries.len());
                println!("\nseen: {}", found.map_or_else(|error| error.to_string(), |n| format!("{n} entries")));
                println!("seen: {} problems", store.check_integrity().await.unwrap().problems.len());
            }),
        }
        let opened = SqliteStore::open(path, StoreOptions::default());
        println!("seen: {}", opened.map_or_else(|error| error.to_string(), |_| "opened to write".to_owned()));
    }

    #[test]
    fn a_store_that_may_only_be_read_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let [runtime, _] = runtimes();
        runtime.block_on(create(&open(&folder.path().join("runs.db")), "r")).unwrap();
        expect![[r#"
            1 entries
            0 problems
            the store `FOLDER/runs.db` is read-only"#]]
        .assert_eq(&seen(folder.path()));
    }

    #[test]
    fn a_store_that_another_process_writes_can_be_read_without_rights() {
        let folder = tempfile::tempdir().unwrap();
        let [runtime, _] = runtimes();
        let store = open(&folder.path().join("runs.db"));
        runtime.block_on(async {
            let lease = create(&store, "r").await.unwrap();
            append(&store, &lease, step(1, 80)).await.unwrap();
        });
        expect![[r#"
            2 entries
            0 problems
            the store `FOLDER/runs.db` is read-only"#]]
        .assert_eq(&seen(folder.path()));
    }

    #[test]
    fn a_log_that_a_killed_process_left_is_read_without_rights() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let [runtime, _] = runtimes();
        let store = open(&path);
        let copy = tempfile::tempdir().unwrap();
        runtime.block_on(async {
            create(&store, "r").await.unwrap();
            // The state that a killed process leaves, copied to another machine.
            for name in ["runs.db", "runs.db-wal"] {
                std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
            }
        });
        expect![[r#"
            1 entries
            0 problems
            the store `FOLDER/runs.db` is read-only"#]]
        .assert_eq(&seen(copy.path()));
        assert_eq!(names(copy.path()), ["runs.db", "runs.db-wal"]);
    }
}
