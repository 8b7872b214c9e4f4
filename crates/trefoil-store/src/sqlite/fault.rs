//! Converts SQLite's errors to store errors.

use rusqlite::ErrorCode;

use super::store_file::StoreFile;
use crate::error::StoreError;

/// The result of an operation on the database.
pub type SqliteResult<T> = Result<T, SqliteError>;

/// The error of an operation.
#[derive(Debug)]
pub enum SqliteError {
    /// From SQLite.
    Sql(rusqlite::Error),
    /// From the store itself.
    Store(StoreError),
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for SqliteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl SqliteError {
    /// Converts it to the error that callers of the store see.
    pub fn at_file(self, file: &StoreFile) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => of_sql(&error, file),
        }
    }
}

fn of_sql(error: &rusqlite::Error, file: &StoreFile) -> StoreError {
    let path = file.path.clone();
    let why = error.to_string();
    // The client's words name columns by number, and types as it calls them.
    let odd = match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, why) => Some(why.to_string()),
        rusqlite::Error::InvalidColumnType(_, column, _) => Some(format!("`{column}` has a value of another type")),
        rusqlite::Error::IntegralValueOutOfRange(..) => Some("a number is out of range".to_owned()),
        rusqlite::Error::Utf8Error(..) => Some("a text is not UTF-8".to_owned()),
        _ => None,
    };
    if let Some(why) = odd {
        return StoreError::Corrupt { path, why };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited_ms: file.options.busy_ms }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path, why },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, why },
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, why },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::Open { path, why },
        _ => StoreError::Io { path, why },
    }
}
