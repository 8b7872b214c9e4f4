//! The format of the file: its number, and whether its tables are those of a store.
//!
//! A file may come from anybody. A view or a trigger of another making could compute without end in any query, so nothing is
//! read before the schema was compared with ours. Only what a later build may add without a new format is accepted: further
//! tables, further columns and plain indexes.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::fault::SqliteResult;
use super::store_file::StoreFile;
use crate::FORMAT;
use crate::error::StoreError;

/// `TRFL`: the application id by which SQLite's tools and `file` recognize a store.
pub const APPLICATION: i64 = 0x5452_464C;
/// The application id of builds before the first format.
const EARLIER: i64 = 0x5452_4546;
const SCHEMA: &str = include_str!("schema.sql");

/// An object of a schema: its type, its table, and the statement that creates it.
#[derive(PartialEq)]
struct SchemaItem {
    sort: String,
    table: String,
    sql: String,
}

type SchemaItems = BTreeMap<String, SchemaItem>;

impl StoreFile {
    /// The number of the file's format; 0 if it is empty. Fails if it is not a store that this build can use.
    pub fn read_format(&self, c: &Connection) -> SqliteResult<i64> {
        // A single statement sees one state of the file: another process may be creating it.
        let (application, format, tables): (i64, i64, i64) = c.query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let path = self.path.clone();
        let foreign = |why: String| StoreError::Foreign { path: self.path.clone(), why };
        match (application, format) {
            (APPLICATION, FORMAT) => match find_altered(c)? {
                None => Ok(FORMAT),
                Some(name) => Err(foreign(format!("`{name}` in its schema is not what a store has")).into()),
            },
            (APPLICATION, found) if found > FORMAT => Err(StoreError::Newer { path, found, known: FORMAT }.into()),
            (APPLICATION | EARLIER, _) => Err(StoreError::Earlier { path }.into()),
            (0, 0) if tables == 0 => Ok(0),
            _ => Err(foreign("it is the database of another program".to_owned()).into()),
        }
    }

    /// Creates the tables, if the file is empty.
    pub fn create_tables(&self, c: &Connection) -> SqliteResult<()> {
        if self.read_format(c)? == FORMAT {
            return Ok(());
        }
        c.execute_batch("BEGIN IMMEDIATE")?;
        let filled = self.fill_once(c);
        c.execute_batch(if filled.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        filled
    }

    fn fill_once(&self, c: &Connection) -> SqliteResult<()> {
        // Another process may have done it first.
        if self.read_format(c)? == FORMAT {
            return Ok(());
        }
        c.execute_batch(SCHEMA)?;
        c.pragma_update(None, "application_id", APPLICATION)?;
        c.pragma_update(None, "user_version", FORMAT)?;
        Ok(())
    }
}

fn items(c: &Connection) -> rusqlite::Result<SchemaItems> {
    let mut select = c.prepare("SELECT name, type, tbl_name, coalesce(sql, '') FROM sqlite_schema")?;
    let items = select.query_map([], |row| {
        Ok((row.get(0)?, SchemaItem { sort: row.get(1)?, table: row.get(2)?, sql: row.get(3)? }))
    })?;
    items.collect()
}

/// The schema of a new store.
fn expected_items() -> rusqlite::Result<&'static SchemaItems> {
    static OURS: OnceLock<SchemaItems> = OnceLock::new();
    if let Some(ours) = OURS.get() {
        return Ok(ours);
    }
    let c = Connection::open_in_memory()?;
    c.execute_batch(SCHEMA)?;
    let ours = items(&c)?;
    Ok(OURS.get_or_init(|| ours))
}

/// The first object that is missing, or is not what a store has.
fn find_altered(c: &Connection) -> SqliteResult<Option<String>> {
    let (ours, found) = (expected_items()?, items(c)?);
    let missing = ours.keys().find(|name| !found.contains_key(*name));
    let strange = found.iter().find(|(name, item)| !is_ours(ours, name, item)).map(|(name, _)| name);
    Ok(strange.or(missing).cloned())
}

fn is_ours(ours: &SchemaItems, name: &str, found: &SchemaItem) -> bool {
    match (ours.get(name), found.sort.as_str()) {
        (Some(known), _) if known == found => true,
        (Some(known), "table") => found.sort == known.sort && has_columns_more(&known.sql, &found.sql),
        (Some(_), _) => false,
        (None, "table") => is_plain_table(&found.sql),
        (None, "index") => is_plain_index(&found.sql),
        (None, _) => false,
    }
}

/// Whether a table is a known one with further columns, which are computed from nothing.
fn has_columns_more(known: &str, found: &str) -> bool {
    let same = known.bytes().zip(found.bytes()).take_while(|(known, found)| known == found).count();
    let (Some(known_rest), Some(found_rest)) = (known.get(same..), found.get(same..)) else { return false };
    let Some(added) = found_rest.strip_suffix(known_rest) else { return false };
    added.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ ,.'-\n".contains(&byte))
}

/// Whether a table computes nothing: it is not virtual, and has neither checks nor generated columns.
fn is_plain_table(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    // The tables of SQLite itself have these statements, too.
    upper.starts_with("CREATE TABLE ")
        && !upper.contains("CHECK")
        && !upper.split_whitespace().any(|word| word == "AS" || word.starts_with("AS("))
}

/// Whether an index only sorts columns. One that SQLite made for a key has no statement.
fn is_plain_index(sql: &str) -> bool {
    let parentheses = sql.bytes().filter(|byte| *byte == b'(').count();
    sql.is_empty() || parentheses == 1 && !sql.to_ascii_uppercase().contains("WHERE")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes to the schema, and whether this build still uses the store.
    const CHANGES: [(&str, bool); 21] = [
        ("ALTER TABLE run ADD COLUMN later INTEGER NOT NULL DEFAULT 0", true),
        ("ALTER TABLE run ADD COLUMN later TEXT", true),
        ("ALTER TABLE run ADD COLUMN one TEXT; ALTER TABLE run ADD COLUMN two TEXT DEFAULT 'x-y'", true),
        ("ALTER TABLE label ADD COLUMN later TEXT", true),
        ("ALTER TABLE inbox ADD COLUMN sender TEXT", true),
        ("CREATE TABLE later (a INTEGER PRIMARY KEY, b TEXT) STRICT", true),
        ("CREATE INDEX later ON run (program)", true),
        ("CREATE UNIQUE INDEX later ON label (value, key)", true),
        ("ANALYZE", true),
        ("DROP INDEX run_ready", false),
        ("DROP TABLE asked", false),
        ("DROP TRIGGER tally_new", false),
        ("ALTER TABLE run DROP COLUMN attended", false),
        ("ALTER TABLE run RENAME COLUMN attended TO watched", false),
        ("ALTER TABLE run ADD COLUMN later TEXT AS (hex(zeroblob(1000000000)))", false),
        ("ALTER TABLE run ADD COLUMN later TEXT CHECK (later <> hex(zeroblob(1000000000)))", false),
        ("CREATE INDEX later ON run (hex(zeroblob(1000000000)))", false),
        ("CREATE INDEX later ON run (program) WHERE length(program) > 3", false),
        ("CREATE TRIGGER later AFTER INSERT ON run BEGIN DELETE FROM entry; END", false),
        ("CREATE VIEW later AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n", false),
        ("CREATE TABLE later (a TEXT, b TEXT AS (hex(a)))", false),
    ];

    #[test]
    fn only_additions_that_compute_nothing_are_accepted() {
        for (change, accepted) in CHANGES {
            let c = Connection::open_in_memory().unwrap();
            c.execute_batch(SCHEMA).unwrap();
            assert_eq!(find_altered(&c).unwrap(), None);
            c.execute_batch(change).unwrap();
            assert_eq!(find_altered(&c).unwrap().is_none(), accepted, "{change}");
        }
    }

    #[test]
    fn a_view_in_place_of_any_table_is_refused() {
        for (name, _) in
            expected_items().unwrap().iter().filter(|(name, item)| item.sort == "table" && !name.starts_with("sqlite_"))
        {
            let c = Connection::open_in_memory().unwrap();
            c.execute_batch(SCHEMA).unwrap();
            c.execute_batch(&format!(
                "PRAGMA legacy_alter_table = ON; ALTER TABLE {name} RENAME TO hidden; CREATE VIEW {name} AS \
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT n.i, hidden.* FROM n, hidden"
            ))
            .unwrap();
            assert!(find_altered(&c).unwrap().is_some(), "{name}");
        }
    }
}
