//! What commands do with the store.

mod ids;
mod retention;

use trefoil::Error;
use trefoil::store::StoreError;

use crate::refusal::{cannot_start, did_not_start, refuse_space, refuse_store};

pub use ids::full_id;
pub use retention::{lost_failures, prune_expired, retention_now};

/// Waits for an operation of a store.
pub fn await_store<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, u8> {
    block_on(work)?.map_err(|error| refuse_store(&error))
}

/// Waits for an operation that frees space in a store.
pub fn await_space<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, u8> {
    block_on(work)?.map_err(|error| refuse_space(&error))
}

/// Waits for an operation on a run. A failure is that of a run that did not start.
pub fn await_run<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, u8> {
    block_on(work)?.map_err(|error| did_not_start(&error))
}

/// Waits for a future.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| cannot_start(&error))?;
    Ok(runtime.block_on(work))
}
