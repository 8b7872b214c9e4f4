//! The location of a store: a file, or a server that several hosts share.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use etcetera::BaseStrategy as _;

use crate::address::ServerAddress;
use crate::error::{StoreError, StoreResult};
use crate::port::Store;
use crate::sqlite::{SqliteStore, StoreOptions};

/// The environment variable that sets the location of the store.
pub const VARIABLE: &str = "TREFOIL_STORE";

/// The location of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A file.
    File(PathBuf),
    /// A server.
    Server(ServerAddress),
}

impl StoreLocation {
    /// Parses user input: an address that starts with `postgres://` or `postgresql://`, otherwise a path. `env` reads
    /// an environment variable; `PGPASSWORD` supplies a password that the address does not contain.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`] if it looks like an address of another kind.
    pub fn parse(text: &OsStr, env: impl Fn(&str) -> Option<OsString>) -> StoreResult<Self> {
        if let Some(words) = text.to_str()
            && let Some(address) = ServerAddress::parse(words, &env)?
        {
            return Ok(Self::Server(address));
        }
        Ok(Self::File(text.into()))
    }

    /// The location in `TREFOIL_STORE`, or `trefoil/runs.db` in the platform's data folder: `$XDG_DATA_HOME` or
    /// `~/.local/share`, on Windows `%APPDATA%`. `env` reads an environment variable.
    pub fn of_user(env: impl Fn(&str) -> Option<OsString>) -> StoreResult<Self> {
        match env(VARIABLE) {
            Some(place) if !place.is_empty() => Self::parse(&place, env),
            _ => {
                let folders = etcetera::choose_base_strategy().map_err(|_| StoreError::NoHome)?;
                Ok(Self::File(folders.data_dir().join("trefoil").join("runs.db")))
            }
        }
    }

    /// Opens the store; creates it if [`StoreOptions::create`] says so. May wait for a file lock or a server.
    pub fn open(&self, options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
        match self {
            Self::File(path) => Ok(Arc::new(SqliteStore::open(path, options)?)),
            Self::Server(address) => connect(address, options),
        }
    }

    /// Opens the store for reading; creates nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is no store yet.
    pub fn open_to_read(&self, options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
        match self {
            Self::File(path) => Ok(Arc::new(SqliteStore::open_to_read(path, options)?)),
            Self::Server(address) => connect_to_read(address, options),
        }
    }
}

/// Shown without a password.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(address) => address.fmt(f),
        }
    }
}

#[cfg(feature = "postgres")]
fn connect(address: &ServerAddress, options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
    Ok(Arc::new(crate::postgres::PostgresStore::open(address.clone(), options)?))
}

#[cfg(feature = "postgres")]
fn connect_to_read(address: &ServerAddress, options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
    Ok(Arc::new(crate::postgres::PostgresStore::open_to_read(address.clone(), options)?))
}

#[cfg(not(feature = "postgres"))]
fn connect_to_read(address: &ServerAddress, options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
    connect(address, options)
}

#[cfg(not(feature = "postgres"))]
fn connect(address: &ServerAddress, _options: StoreOptions) -> StoreResult<Arc<dyn Store>> {
    Err(StoreError::NoServer { path: address.display_path() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::without_password;

    #[test]
    fn addresses_are_told_from_paths() {
        let files = [
            "runs.db",
            "/a/b.db",
            "postgres",
            "./postgres://x",
            "./host=x",
            "C:/runs.db",
            "C:\\runs.db",
            "a:b",
            "a=b.db",
            "postgres.db",
            "postgres/runs.db",
            "C:\\me@host.db",
        ];
        for path in files {
            assert_eq!(StoreLocation::parse(OsStr::new(path), |_| None), Ok(StoreLocation::File(path.into())));
            assert_eq!(without_password(path), path);
        }
        for url in
            ["postgres://h/d", "postgresql://h/d", "postgres:///d?host=/tmp", "PostgreSQL://h/d", " postgres://h/d"]
        {
            assert!(matches!(StoreLocation::parse(OsStr::new(url), |_| None), Ok(StoreLocation::Server(_))), "{url}");
        }
    }

    #[test]
    fn an_address_that_is_not_supported_is_not_the_name_of_a_file() {
        let cases = [
            "mysql://me:Kx7@h/d",
            "postgres:/me:Kx7@h/d",
            "postgresql+psycopg://me:Kx7@h/d",
            "jdbc:postgresql://h/d?password=Kx7",
            "'postgres://me:Kx7@h/d'",
            "me:Kx7@h/d",
            "postgres:me:Kx7@h",
            "host=h password=Kx7 dbname=d",
            "dbname = d  PASSWORD = Kx7",
            "postgres//me:Kx7@h/d",
            "postgresql//me:Kx7",
            "Postgres:Kx7",
            "postgres//Kx7/d",
            "folder/me:Kx7@h",
            "me:K/x7@h Kx7",
            "u:Kx7@h/d",
        ];
        let whys = cases.map(|text| {
            let error = StoreLocation::parse(OsStr::new(text), |_| None).unwrap_err();
            assert!(matches!(error, StoreError::Address { .. }), "{text}: {error:?}");
            assert!(!without_password(&format!("--store={text}")).contains("Kx7"), "{text}");
            assert!(!without_password(text).contains("Kx7"), "{text}");
            assert!(!format!("{error} {error:?} {:?}", error.help_text()).contains("Kx7"), "{error:?}");
            format!("{text}: {error}\n")
        });
        expect_test::expect![[r#"
            mysql://me:Kx7@h/d: the address of the store is not supported: it starts with `mysql://`
            postgres:/me:Kx7@h/d: the address of the store is not supported: it starts with `postgres:/`
            postgresql+psycopg://me:Kx7@h/d: the address of the store is not supported: it starts with `postgresql+psycopg://`
            jdbc:postgresql://h/d?password=Kx7: the address of the store is not supported: it does not start with `postgres://`
            'postgres://me:Kx7@h/d': the address of the store is not supported: it does not start with `postgres://`
            me:Kx7@h/d: the address of the store is not supported: it does not start with `postgres://`
            postgres:me:Kx7@h: the address of the store is not supported: it does not start with `postgres://`
            host=h password=Kx7 dbname=d: the address of the store is not supported: it is a list of parameters
            dbname = d  PASSWORD = Kx7: the address of the store is not supported: it is a list of parameters
            postgres//me:Kx7@h/d: the address of the store is not supported: it does not start with `postgres://`
            postgresql//me:Kx7: the address of the store is not supported: it does not start with `postgres://`
            Postgres:Kx7: the address of the store is not supported: it does not start with `postgres://`
            postgres//Kx7/d: the address of the store is not supported: it does not start with `postgres://`
            folder/me:Kx7@h: the address of the store is not supported: it does not start with `postgres://`
            me:K/x7@h Kx7: the address of the store is not supported: it does not start with `postgres://`
            u:Kx7@h/d: the address of the store is not supported: it does not start with `postgres://`
        "#]].assert_eq(&whys.concat());
    }

    #[test]
    fn nobody_sees_a_password() {
        let cases = [
            ("postgres://me:Kx7@h:5433/runs?sslmode=require", "postgres://me@h:5433/runs?sslmode=require"),
            ("postgresql://me:K/x?7#@h/runs", "postgresql://me@h/runs"),
            ("postgres://me:Kx7@Kx7:Kx7@h/runs", "postgres://me@h/runs"),
            ("postgres://me@h/runs?password=Kx7&connect_timeout=3", "postgres://me@h/runs?connect_timeout=3"),
            ("postgres:///runs?host=/tmp&pass%77ord=Kx7", "postgres:///runs?host=/tmp"),
            ("postgres://:Kx7@h", "postgres://h"),
            ("postgres://h/runs", "postgres://h/runs"),
            ("Postgres://me:Kx7@h/runs", "postgres://me@h/runs"),
            // The host was forgotten.
            ("postgres://me:Kx7", "postgres://me"),
            ("postgres://me:Kx7/runs?sslmode=disable", "postgres://me/runs?sslmode=disable"),
            ("postgres://me:12:Kx7", "postgres://me"),
            ("postgres://me:700000Kx7", "postgres://me"),
            ("postgres://h:5433/runs", "postgres://h:5433/runs"),
            ("postgres://me:Kx7@[::1]:5433/runs", "postgres://me@[::1]:5433/runs"),
            ("postgres://a:1,b:2/runs", "postgres://a:1,b:2/runs"),
        ];
        for (url, shown) in cases {
            let place = StoreLocation::parse(OsStr::new(url), |_| Some("Kx7".into())).unwrap();
            assert_eq!(place.to_string(), shown);
            assert!(!format!("{place:?}").contains("Kx7"), "{place:?}");
            let word = without_password(&format!("--store={url}"));
            assert!(word.eq_ignore_ascii_case(&format!("--store={shown}")), "{word}");
        }
        assert_eq!(without_password("--store=runs.db"), "--store=runs.db");
    }

    #[test]
    fn the_environment_may_name_it() {
        let of =
            |value: Option<&str>| StoreLocation::of_user(|name| value.filter(|_| name == VARIABLE).map(Into::into));
        assert_eq!(of(Some("x.db")).unwrap(), StoreLocation::File("x.db".into()));
        assert_eq!(of(Some("postgres://me:Kx7@h/d")).unwrap().to_string(), "postgres://me@h/d");
        assert!(of(Some("")).unwrap().to_string().ends_with("runs.db"));
        assert!(of(None).unwrap().to_string().ends_with("runs.db"));
    }
}
