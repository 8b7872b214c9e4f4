//! SQLite's errors as those of a store.

use rusqlite::ErrorCode;

use super::place::StorePlace;
use crate::error::StoreError;

/// What a piece of work with the database ends with.
pub type Done<T> = Result<T, Fault>;

/// Why it did not.
#[derive(Debug)]
pub enum Fault {
    /// SQLite says so.
    Sql(rusqlite::Error),
    /// The store says so.
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// As the store's callers see it.
    pub fn at(self, place: &StorePlace) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => of_sql(&error, place),
        }
    }
}

fn of_sql(error: &rusqlite::Error, place: &StorePlace) -> StoreError {
    let path = place.path.clone();
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited_ms: place.options.busy_ms }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path, why },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, why },
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, why },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::Open { path, why },
        _ => StoreError::Io { path, why },
    }
}
