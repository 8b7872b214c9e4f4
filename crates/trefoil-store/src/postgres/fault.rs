//! Converts the server's errors to store errors, and classifies which of them mean that nothing was written.

use std::io::ErrorKind;

use tokio_postgres::error::SqlState;

use crate::address::ServerAddress;
use crate::error::StoreError;

/// The result of an operation on the server.
pub type PostgresResult<T> = Result<T, PostgresError>;

/// The error of an operation.
#[derive(Debug)]
pub enum PostgresError {
    /// From the server or the connection.
    Sql(tokio_postgres::Error),
    /// From the store itself.
    Store(StoreError),
    /// The server is connected, but does not respond.
    Silent,
}

/// What an error means for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryClass {
    /// Nothing was done, and a retry would fail, too.
    Failed,
    /// Nothing was done, because of a conflict with another transaction; it can be retried.
    Collided,
    /// The connection is lost, so the outcome is unknown.
    Unknown,
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for PostgresError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PostgresError {
    /// What the error means for a retry.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::Store(_) => RetryClass::Failed,
            Self::Sql(error) => outcome(error),
            Self::Silent => RetryClass::Unknown,
        }
    }

    /// Converts it to the error that callers of the store see.
    pub fn at_address(self, address: &ServerAddress) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => of_sql(&error, address),
            Self::Silent => {
                StoreError::Unreachable { path: address.display_path(), why: "the server does not respond".to_owned() }
            }
        }
    }

    /// The server's code for the error.
    pub fn sql_state(&self) -> Option<&SqlState> {
        match self {
            Self::Sql(error) => error.code(),
            Self::Store(_) | Self::Silent => None,
        }
    }
}

fn outcome(error: &tokio_postgres::Error) -> RetryClass {
    let Some(state) = error.code() else {
        return if is_of_connection(error) { RetryClass::Unknown } else { RetryClass::Failed };
    };
    // The foreign key error occurs if a file or value is deleted while a run starts to use it, or the reverse.
    if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::FOREIGN_KEY_VIOLATION,
        SqlState::LOCK_NOT_AVAILABLE,
    ]
    .contains(state)
    {
        return RetryClass::Collided;
    }
    let gone = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    // Class 08: connections.
    if gone.contains(state) || state.code().starts_with("08") { RetryClass::Unknown } else { RetryClass::Failed }
}

fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<std::io::Error>() {
            // A certificate that is not trusted stays so.
            return !matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput);
        }
        source = cause.source();
    }
    error.is_closed()
}

/// The text of an error, without the client's internal context.
pub fn error_text(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => {
            let mut words = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                if cause.is::<tokio_postgres::types::WrongType>() {
                    return "a column of its tables has another type than this version of Trefoil gives it".to_owned();
                }
                let more = cause.to_string();
                if !words.contains(&more) {
                    words = format!("{words}: {more}");
                }
                source = cause.source();
            }
            words
        }
    }
}

fn of_sql(error: &tokio_postgres::Error, address: &ServerAddress) -> StoreError {
    let (path, why) = (address.display_path(), error_text(error));
    let Some(state) = error.code() else {
        // Errors without a code come from the connection, or from setting it up.
        return StoreError::Unreachable { path, why };
    };
    // Class 28: invalid authorization.
    let refused = state.code().starts_with("28") || *state == SqlState::INVALID_CATALOG_NAME;
    match state {
        _ if refused || outcome(error) == RetryClass::Unknown => StoreError::Unreachable { path, why },
        state if *state == SqlState::DISK_FULL => StoreError::Full { path, why },
        state if *state == SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly { path },
        state if *state == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Denied { path, why },
        state if *state == SqlState::DATA_CORRUPTED || *state == SqlState::INDEX_CORRUPTED => {
            StoreError::Corrupt { path, why }
        }
        _ => StoreError::Server { path, why },
    }
}
