//! Call sites for the suites, and helpers that wait for futures.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use trefoil_ir::StepId;
use trefoil_machine::key::Key;

use crate::ports::{CallSite, Meter};

/// Owns the data of a [`CallSite`].
pub struct TestCallSite {
    run: &'static str,
    key: Key,
    labels: Vec<Arc<str>>,
    meter: Meter,
}

impl TestCallSite {
    pub fn new(run: &'static str, key: &str) -> Self {
        let label = key.rsplit('/').next().unwrap_or(key);
        Self { run, key: Key(key.into()), labels: vec![label.into()], meter: Meter::default() }
    }

    pub fn call_site(&self) -> CallSite<'_> {
        let Self { run, key, labels, meter } = self;
        CallSite { run, execution: 0, key, step: StepId(0), labels, meter, discloses: false, limit_ms: None }
    }
}

/// The time limit of [`finish_in_time`].
const LONG: Duration = Duration::from_secs(60);

/// Waits for a future that must finish within a reasonable time.
pub async fn finish_in_time<T>(what: &str, future: impl Future<Output = T>) -> Result<T, String> {
    tokio::time::timeout(LONG, future).await.map_err(|_| format!("{what} takes more than a minute"))
}

/// Polls a future at most `times` times more after the first, then drops it.
pub async fn poll_briefly<T>(times: u32, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let mut left = times;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(came) => Poll::Ready(Some(came)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}
