//! Stores that an earlier build has made: they lack what later ones have added. `first_schema` has the tables of the first build.

use std::path::Path;

use rusqlite::Connection;
use trefoil_store::{Document, RunFilter, SqliteStore, Store, StoreError, StoreOptions};

use crate::world::{create, on_both, open};

const FIRST: &str = include_str!("first_schema/sqlite.sql");

/// A file of the first build, with a run.
fn earlier_file(path: &Path) {
    let c = Connection::open(path).unwrap();
    c.execute_batch(&format!(
        "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; {FIRST} \
         PRAGMA application_id = {}; PRAGMA user_version = 1; \
         INSERT INTO run (id, flow, status, started, ended) VALUES ('old', 'main', 'completed', 5, 6); \
         INSERT INTO label VALUES (1, 'who', 'Ada');",
        0x5452_464C
    ))
    .unwrap();
}

fn tables(path: &Path) -> Vec<String> {
    let c = Connection::open(path).unwrap();
    let mut select = c.prepare("SELECT name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
    let names = select.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

fn document(name: &str) -> Document {
    let (collection, value) = ("keys".to_owned(), "{}".to_owned());
    Document { collection, name: name.to_owned(), version: 0, value, expires: None }
}

/// What whoever reads a store without a table for documents sees.
async fn has_none(store: &dyn Store) {
    assert_eq!(store.record("old").await.unwrap().labels, [("who".to_owned(), "Ada".to_owned())]);
    let filter = RunFilter { labels: vec![("who".to_owned(), "Ada".to_owned())], ..RunFilter::default() };
    assert_eq!(store.list_runs(&filter, None, 10).await.unwrap().runs.len(), 1);
    assert_eq!(store.read_document("keys", "one", 0).await.unwrap(), None);
    assert_eq!(store.list_documents("keys", None, 10, 0).await.unwrap(), []);
    assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
}

#[test]
fn an_earlier_file_that_is_only_read_stays_as_it_is_and_has_no_documents() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        earlier_file(&path);
        let (before, bytes) = (tables(&path), std::fs::read(&path).unwrap());
        let reader = SqliteStore::open_to_read(&path, StoreOptions::default()).unwrap();
        has_none(&reader).await;
        let refused = reader.write_document(document("one")).await;
        assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(tables(&path), before);
        // Another process of this build writes to it meanwhile.
        let writer = open(&path);
        writer.write_document(document("one")).await.unwrap().unwrap();
        assert_eq!(reader.read_document("keys", "one", 0).await.unwrap().unwrap().value, "{}");
    });
}

#[test]
fn an_earlier_file_gets_what_it_lacks_when_it_is_opened_for_writing() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let (path, new) = (folder.path().join("runs.db"), folder.path().join("new.db"));
        earlier_file(&path);
        // An earlier build has it open, and goes on to use it.
        let earlier = Connection::open(&path).unwrap();
        // Several processes open it at the same time.
        let openings: Vec<_> = (0..4)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || drop(SqliteStore::open(path, StoreOptions::default()).unwrap()))
            })
            .collect();
        openings.into_iter().for_each(|opening| opening.join().unwrap());
        let store = open(&path);
        has_none(&store).await;
        store.write_document(document("one")).await.unwrap().unwrap();
        create(&store, "run-new").await.unwrap();
        earlier.execute("INSERT INTO label VALUES (1, 'of', 'earlier')", []).unwrap();
        assert_eq!(store.record("old").await.unwrap().labels.len(), 2);
        assert_eq!(store.list_documents("keys", None, 10, 0).await.unwrap().len(), 1);
        drop(open(&new));
        assert_eq!(tables(&path), tables(&new));
        drop(store);
        assert!(open(&path).read_document("keys", "one", 0).await.unwrap().is_some());
    });
}

/// Whoever frees its space must be able to open it.
#[test]
fn an_earlier_file_that_is_full_can_be_opened_and_says_what_it_lacks() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        earlier_file(&path);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let full = StoreOptions { max_bytes: Some(bytes), create: false, ..StoreOptions::default() };
        let store = SqliteStore::open(&path, full).unwrap();
        has_none(&store).await;
        let error = store.write_document(document("one")).await.unwrap_err();
        assert!(matches!(&error, StoreError::Lacking { .. }) && error.help_text().is_some(), "{error}");
        assert!(!store.delete_document("keys", "one").await.unwrap());
        store.reclaim_runs(1_000).await.unwrap();
        store.delete_run("old", 1_000).await.unwrap();
        drop(store);
        open(&path).write_document(document("one")).await.unwrap().unwrap();
    });
}

#[cfg(feature = "postgres")]
mod postgres {
    use std::ffi::OsStr;
    use std::sync::Arc;

    use testbed::postgres::{Server, server};
    use trefoil_store::{StoreLocation, StoreResult};

    use super::*;
    use crate::postgres::on;

    const FIRST: &str = include_str!("first_schema/postgres.sql");

    /// A database of the first build, with a run.
    fn earlier_database(server: &Server) -> String {
        let database = server.database();
        server.sql(
            &database,
            &format!(
                "CREATE SCHEMA trefoil; SET search_path TO trefoil; {FIRST}; INSERT INTO store (format) VALUES (1); \
                 INSERT INTO run (id, flow, status, started, ended) VALUES ('old', 'main', 'completed', 5, 6); \
                 INSERT INTO label VALUES (1, 'who', 'Ada')"
            ),
        );
        database
    }

    fn tables(server: &Server, database: &str) -> String {
        server.sql(
            database,
            "SELECT relname, attname, format_type(atttypid, atttypmod) FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid \
             WHERE relnamespace = 'trefoil'::regnamespace AND attnum > 0 ORDER BY 1, 2",
        )
    }

    fn location(url: &str) -> StoreLocation {
        StoreLocation::parse(OsStr::new(url), |_| None).unwrap()
    }

    fn open_again(url: &str) -> StoreResult<Arc<dyn Store>> {
        location(url).open(StoreOptions { create: false, ..StoreOptions::default() })
    }

    #[test]
    fn an_earlier_database_gets_what_it_lacks_when_it_is_opened_for_writing() {
        let Some(server) = server() else { return };
        let (database, new) = (earlier_database(&server), server.database());
        let url = server.address(&database);
        let before = tables(&server, &database);
        on(async {
            let reader = location(&url).open_to_read(StoreOptions::default()).unwrap();
            has_none(&*reader).await;
            let refused = reader.write_document(document("one")).await;
            assert!(refused.is_err(), "{refused:?}");
            assert_eq!(tables(&server, &database), before);
            // Several processes open it at the same time.
            let openings: Vec<_> = (0..4)
                .map(|_| {
                    let url = url.clone();
                    std::thread::spawn(move || drop(open_again(&url).unwrap()))
                })
                .collect();
            openings.into_iter().for_each(|opening| opening.join().unwrap());
            let store = open_again(&url).unwrap();
            has_none(&*store).await;
            store.write_document(document("one")).await.unwrap().unwrap();
            assert_eq!(reader.read_document("keys", "one", 0).await.unwrap().unwrap().value, "{}");
            drop(crate::postgres::open(&server.address(&new), StoreOptions::default()));
            assert_eq!(tables(&server, &database), tables(&server, &new));
        });
    }

    /// A role may use all tables, and may not add any.
    #[test]
    fn a_role_that_may_not_add_tables_is_told_when_it_needs_one() {
        let Some(server) = server() else { return };
        let database = earlier_database(&server);
        server.sql(
            &database,
            "CREATE ROLE user_of_tables LOGIN; GRANT USAGE ON SCHEMA trefoil TO user_of_tables; \
             GRANT ALL ON ALL TABLES IN SCHEMA trefoil TO user_of_tables",
        );
        let url = server.local_address(&database).replace("tester@", "user_of_tables@");
        on(async {
            let store = open_again(&url).unwrap();
            has_none(&*store).await;
            store.reclaim_runs(store.clock().wall_ms()).await.unwrap();
            assert!(!store.delete_document("keys", "one").await.unwrap());
            let error = store.write_document(document("one")).await.unwrap_err();
            assert!(matches!(&error, StoreError::Lacking { .. }), "{error:?}");
            assert!(error.to_string().contains(&database), "it names the store: {error}");
            assert!(error.help_text().unwrap().contains("trefoil store migrate"), "{error}");
            // Their owner adds them; the role needs a right for each.
            drop(open_again(&server.local_address(&database)).unwrap());
            let error = store.write_document(document("one")).await.unwrap_err();
            assert!(matches!(&error, StoreError::Denied { .. }), "{error:?}");
            assert!(error.help_text().unwrap().contains("GRANT ALL ON ALL TABLES"), "{error}");
            server.sql(&database, "GRANT ALL ON ALL TABLES IN SCHEMA trefoil TO user_of_tables");
            store.write_document(document("one")).await.unwrap().unwrap();
        });
    }
}
