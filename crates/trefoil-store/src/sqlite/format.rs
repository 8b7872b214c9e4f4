//! The format of the file: its number, and whether its tables are those of a store.
//!
//! A file may come from anybody. A view or a trigger of another making could compute without end in any query, so nothing is
//! read before the schema was compared with ours. Only what a later build may add without a new format is accepted: further
//! tables, further columns and plain indexes. The tables of `schema.sql` must be there; what `additions.sql` has may be missing, in a
//! file of an earlier build, and is added when the file is opened for writing.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rusqlite::{Connection, ErrorCode};

use super::fault::{SqliteError, SqliteResult};
use super::store_file::StoreFile;
use crate::FORMAT;
use crate::additions::{SchemaAddition, SchemaPart, parse_additions};
use crate::error::StoreError;

/// `TRFL`: the application id by which SQLite's tools and `file` recognize a store.
pub const APPLICATION: i64 = 0x5452_464C;
/// The application id of builds before the first format.
const EARLIER: i64 = 0x5452_4546;
/// The tables of the first build with this format.
const SCHEMA: &str = include_str!("schema.sql");
/// What later builds have added.
const ADDITIONS: &str = include_str!("additions.sql");

/// An object of a schema: its type, its table, and the statement that creates it.
#[derive(PartialEq)]
struct SchemaItem {
    sort: String,
    table: String,
    sql: String,
}

type SchemaItems = BTreeMap<String, SchemaItem>;

/// The schemas that builds with this format have made.
struct KnownSchema {
    /// The objects of the first build.
    first: SchemaItems,
    /// Each object as the first build made it, and after each addition that changed it.
    forms: BTreeMap<String, Vec<SchemaItem>>,
    /// In order.
    additions: Vec<SchemaAddition>,
}

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
            (APPLICATION, FORMAT) => match known_schema()?.find_altered(c)? {
                None => Ok(FORMAT),
                Some(name) => Err(foreign(format!("`{name}` in its schema is not what a store has")).into()),
            },
            (APPLICATION, found) if found > FORMAT => Err(StoreError::Newer { path, found, known: FORMAT }.into()),
            (APPLICATION | EARLIER, _) => Err(StoreError::Earlier { path }.into()),
            (0, 0) if tables == 0 => Ok(0),
            _ => Err(foreign("it is the database of another program".to_owned()).into()),
        }
    }

    /// Creates the tables, if the file is empty, and adds what an earlier build did not have.
    pub fn create_tables(&self, c: &Connection) -> SqliteResult<()> {
        if self.read_format(c)? != FORMAT {
            return in_transaction(c, || self.fill_once(c));
        }
        if find_lacking(c)?.is_empty() {
            return Ok(());
        }
        match in_transaction(c, || add_lacking(c)) {
            // What frees space must be able to open it. Whoever needs what is missing is told.
            Err(SqliteError::Sql(error)) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => Ok(()),
            done => done,
        }
    }

    fn fill_once(&self, c: &Connection) -> SqliteResult<()> {
        // Another process may have done it first.
        if self.read_format(c)? != FORMAT {
            c.execute_batch(SCHEMA)?;
            c.pragma_update(None, "application_id", APPLICATION)?;
            c.pragma_update(None, "user_version", FORMAT)?;
        }
        add_lacking(c)
    }
}

fn in_transaction(c: &Connection, work: impl FnOnce() -> SqliteResult<()>) -> SqliteResult<()> {
    c.execute_batch("BEGIN IMMEDIATE")?;
    let done = match work() {
        Ok(()) => c.execute_batch("COMMIT").map_err(SqliteError::from),
        failed => failed,
    };
    if done.is_err() && !c.is_autocommit() {
        // The first error is reported, not one of the rollback.
        let _ = c.execute_batch("ROLLBACK");
    }
    done
}

/// Adds what an earlier build did not have.
fn add_lacking(c: &Connection) -> SqliteResult<()> {
    for addition in find_lacking(c)? {
        c.execute_batch(&addition.sql)?;
    }
    Ok(())
}

/// The additions whose part is missing.
fn find_lacking(c: &Connection) -> SqliteResult<Vec<&'static SchemaAddition>> {
    let mut lacking = Vec::new();
    for addition in &known_schema()?.additions {
        let is_there = match &addition.part {
            SchemaPart::Object(name) => has_object(c, name)?,
            SchemaPart::Column { table, column } => c
                .prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2")?
                .exists([table.as_str(), column.as_str()])?,
        };
        if !is_there {
            lacking.push(addition);
        }
    }
    Ok(lacking)
}

/// Whether a file has a table or an index.
pub fn has_object(c: &Connection, name: &str) -> SqliteResult<bool> {
    Ok(c.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = ?1")?.exists([name])?)
}

fn items(c: &Connection) -> rusqlite::Result<SchemaItems> {
    let mut select = c.prepare("SELECT name, type, tbl_name, coalesce(sql, '') FROM sqlite_schema")?;
    let items = select.query_map([], |row| {
        Ok((row.get(0)?, SchemaItem { sort: row.get(1)?, table: row.get(2)?, sql: row.get(3)? }))
    })?;
    items.collect()
}

impl KnownSchema {
    fn with_additions(additions: Vec<SchemaAddition>) -> rusqlite::Result<Self> {
        let c = Connection::open_in_memory()?;
        c.execute_batch(SCHEMA)?;
        let mut forms: BTreeMap<String, Vec<SchemaItem>> = BTreeMap::new();
        let mut note = |items: SchemaItems| {
            for (name, item) in items {
                let known = forms.entry(name).or_default();
                if !known.contains(&item) {
                    known.push(item);
                }
            }
        };
        note(items(&c)?);
        for addition in &additions {
            c.execute_batch(&addition.sql)?;
            note(items(&c)?);
        }
        let first = Connection::open_in_memory()?;
        first.execute_batch(SCHEMA)?;
        Ok(Self { first: items(&first)?, forms, additions })
    }

    /// The first object that is missing, or is not what a store has.
    fn find_altered(&self, c: &Connection) -> SqliteResult<Option<String>> {
        let found = items(c)?;
        let missing = self.first.keys().find(|name| !found.contains_key(*name));
        let strange = found.iter().find(|(name, item)| !self.is_ours(name, item)).map(|(name, _)| name);
        Ok(strange.or(missing).cloned())
    }

    fn is_ours(&self, name: &str, found: &SchemaItem) -> bool {
        let Some(forms) = self.forms.get(name) else {
            return match found.sort.as_str() {
                "table" => is_plain_table(&found.sql),
                "index" => is_plain_index(&found.sql),
                _ => false,
            };
        };
        let is_extended = |known: &SchemaItem| {
            found.sort == "table" && known.sort == "table" && has_columns_more(&known.sql, &found.sql)
        };
        forms.contains(found) || forms.iter().any(is_extended)
    }
}

/// The schemas of this build and those before it.
fn known_schema() -> rusqlite::Result<&'static KnownSchema> {
    static KNOWN: OnceLock<KnownSchema> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    let known = KnownSchema::with_additions(parse_additions(ADDITIONS))?;
    Ok(KNOWN.get_or_init(|| known))
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
    const CHANGES: [(&str, bool); 22] = [
        ("ALTER TABLE run ADD COLUMN later INTEGER NOT NULL DEFAULT 0", true),
        ("ALTER TABLE run ADD COLUMN later TEXT", true),
        ("ALTER TABLE run ADD COLUMN one TEXT; ALTER TABLE run ADD COLUMN two TEXT DEFAULT 'x-y'", true),
        ("ALTER TABLE label ADD COLUMN later TEXT", true),
        ("ALTER TABLE inbox ADD COLUMN sender TEXT", true),
        ("CREATE TABLE later (a INTEGER PRIMARY KEY, b TEXT) STRICT", true),
        ("CREATE INDEX later ON run (program)", true),
        ("CREATE UNIQUE INDEX later ON label (value, key)", true),
        ("ANALYZE", true),
        ("DROP TABLE IF EXISTS document", true),
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
            for c in [new_store(), earlier_store()] {
                assert_eq!(known_schema().unwrap().find_altered(&c).unwrap(), None);
                c.execute_batch(change).unwrap();
                assert_eq!(known_schema().unwrap().find_altered(&c).unwrap().is_none(), accepted, "{change}");
            }
        }
    }

    #[test]
    fn a_view_in_place_of_any_table_is_refused() {
        let names: Vec<String> = items(&new_store()).unwrap().into_iter().filter_map(table_name).collect();
        assert!(names.contains(&"run".to_owned()) && names.contains(&"document".to_owned()), "{names:?}");
        for name in names {
            let c = new_store();
            c.execute_batch(&format!(
                "PRAGMA legacy_alter_table = ON; ALTER TABLE {name} RENAME TO hidden; CREATE VIEW {name} AS \
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT n.i, hidden.* FROM n, hidden"
            ))
            .unwrap();
            assert!(known_schema().unwrap().find_altered(&c).unwrap().is_some(), "{name}");
        }
    }

    #[test]
    fn a_store_of_an_earlier_build_gets_what_it_lacks() {
        let c = earlier_store();
        assert!(!find_lacking(&c).unwrap().is_empty());
        add_lacking(&c).unwrap();
        assert!(find_lacking(&c).unwrap().is_empty());
        assert!(items(&c).unwrap() == items(&new_store()).unwrap(), "it has the schema of a new store");
    }

    /// The build before the first addition has only this rule for the schemas that it accepts.
    #[test]
    fn earlier_builds_accept_what_this_one_adds() {
        let earlier = KnownSchema::with_additions(Vec::new()).unwrap();
        assert_eq!(earlier.find_altered(&new_store()).unwrap(), None);
    }

    /// Builds that were made side by side have added their columns in different orders.
    #[test]
    fn columns_are_added_once_in_any_order() {
        let script = "CREATE TABLE IF NOT EXISTS later (a TEXT) STRICT; ALTER TABLE inbox ADD COLUMN later TEXT; \
                      ALTER TABLE inbox ADD COLUMN then_one INTEGER; ALTER TABLE later ADD COLUMN b TEXT;";
        let known = KnownSchema::with_additions(parse_additions(script)).unwrap();
        for made in [
            "ALTER TABLE inbox ADD COLUMN then_one INTEGER; ALTER TABLE inbox ADD COLUMN later TEXT",
            "ALTER TABLE inbox ADD COLUMN later TEXT; CREATE TABLE IF NOT EXISTS later (a TEXT) STRICT",
            "CREATE TABLE IF NOT EXISTS later (a TEXT) STRICT; ALTER TABLE later ADD COLUMN b TEXT",
        ] {
            let c = earlier_store();
            c.execute_batch(made).unwrap();
            assert_eq!(known.find_altered(&c).unwrap(), None, "{made}");
        }
        let c = earlier_store();
        c.execute_batch("CREATE TABLE later (b TEXT) STRICT").unwrap();
        assert_eq!(known.find_altered(&c).unwrap().as_deref(), Some("later"), "a table of this name is another one");
    }

    fn earlier_store() -> Connection {
        let c = Connection::open_in_memory().unwrap();
        c.execute_batch(SCHEMA).unwrap();
        c
    }

    fn new_store() -> Connection {
        let c = earlier_store();
        add_lacking(&c).unwrap();
        c
    }

    fn table_name((name, item): (String, SchemaItem)) -> Option<String> {
        (item.sort == "table" && !name.starts_with("sqlite_")).then_some(name)
    }
}
