//! The server's errors as those of a store, and which of them say that nothing was done.

use tokio_postgres::error::SqlState;

use crate::address::Address;
use crate::error::StoreError;

/// What a piece of work with the server ends with.
pub type Done<T> = Result<T, Fault>;

/// Why it did not.
#[derive(Debug)]
pub enum Fault {
    /// The server or the connection says so.
    Sql(tokio_postgres::Error),
    /// The store says so.
    Store(StoreError),
}

/// What an error of the server means for whoever tries again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was done, and nothing will be by trying again.
    Failed,
    /// Nothing was done: others were at the same rows.
    Collided,
    /// The connection is gone: nobody knows what was done.
    Unknown,
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// What it means for whoever tries again.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Store(_) => Outcome::Failed,
            Self::Sql(error) => outcome(error),
        }
    }

    /// As the store's callers see it.
    pub fn at(self, address: &Address) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => of_sql(&error, address),
        }
    }
}

fn outcome(error: &tokio_postgres::Error) -> Outcome {
    let Some(state) = error.code() else {
        return if is_of_connection(error) { Outcome::Unknown } else { Outcome::Failed };
    };
    // A file or a value was removed while a run began to use it, or the other way round.
    if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::FOREIGN_KEY_VIOLATION,
        SqlState::LOCK_NOT_AVAILABLE,
    ]
    .contains(state)
    {
        return Outcome::Collided;
    }
    let gone = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    // Class 08: connections.
    if gone.contains(state) || state.code().starts_with("08") { Outcome::Unknown } else { Outcome::Failed }
}

fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    error.is_closed()
}

/// What an error says, without where in the client it came up.
pub fn said(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => {
            let mut words = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
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

fn of_sql(error: &tokio_postgres::Error, address: &Address) -> StoreError {
    let (path, why) = (address.path(), said(error));
    let Some(state) = error.code() else {
        // What has a source is about the connection, or about how to begin one.
        return StoreError::Unreachable { path, why };
    };
    // Class 28: who may connect.
    let refused = state.code().starts_with("28") || *state == SqlState::INVALID_CATALOG_NAME;
    match state {
        _ if refused || outcome(error) == Outcome::Unknown => StoreError::Unreachable { path, why },
        state if *state == SqlState::DISK_FULL => StoreError::Full { path, why },
        state if *state == SqlState::READ_ONLY_SQL_TRANSACTION || *state == SqlState::INSUFFICIENT_PRIVILEGE => {
            StoreError::ReadOnly { path }
        }
        state if *state == SqlState::DATA_CORRUPTED || *state == SqlState::INDEX_CORRUPTED => {
            StoreError::Corrupt { path, why }
        }
        _ => StoreError::Server { path, why },
    }
}
