//! Work that keeps a thread busy: checking a large input or manifest, replaying a long journal. The threads that serve requests must
//! not do it, and a few requests must not take all other threads, so all of it goes through here.

use std::future::Future;
use std::sync::Arc;
use std::thread::available_parallelism;

use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use trefoil_project::error::{Error, Result};

/// The most that is done at the same time, whatever the machine has.
const MOST: usize = 8;
/// The number of values in an input that is checked at once.
const SMALL_VALUES: usize = 2_000;
/// The bytes of texts in an input that is checked at once.
const SMALL_BYTES: usize = 128 << 10;

/// Does work on threads beside those of requests, a little at a time.
pub struct BlockingWork {
    permits: Arc<Semaphore>,
}

impl Default for BlockingWork {
    fn default() -> Self {
        let threads = available_parallelism().map_or(2, usize::from);
        Self { permits: Arc::new(Semaphore::new(threads.clamp(2, MOST))) }
    }
}

impl BlockingWork {
    /// Does it, when there is room. What has begun is done to its end, also if nobody waits for it any more.
    ///
    /// # Errors
    ///
    /// [`Error::NoRuntime`] if the process stops.
    pub async fn perform_work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| Error::NoRuntime)?;
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        done.await.map_err(|_| Error::NoRuntime)
    }

    /// Does work that reads the store between.
    ///
    /// # Errors
    ///
    /// As [`Self::perform_work`].
    pub async fn perform_reading<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = T>,
    {
        let runtime = Handle::try_current().map_err(|_| Error::NoRuntime)?;
        self.perform_work(move || runtime.block_on(work())).await
    }
}

/// Whether checking a value takes longer than other requests may wait.
pub fn is_large_value(value: &Json) -> bool {
    let (mut values, mut bytes) = (0, 0);
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        values += 1;
        match value {
            Json::String(text) => bytes += text.len(),
            Json::Array(items) => left.extend(items.iter().take(SMALL_VALUES)),
            Json::Object(members) => {
                for (name, member) in members.iter().take(SMALL_VALUES) {
                    bytes += name.len();
                    left.push(member);
                }
            }
            _ => {}
        }
        if values + left.len() > SMALL_VALUES || bytes > SMALL_BYTES {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_value_is_large_by_its_values_or_its_texts() {
        assert!(!is_large_value(&serde_json::json!({ "a": [1, "text"] })));
        assert!(is_large_value(&Json::from(vec![0; SMALL_VALUES])));
        assert!(is_large_value(&serde_json::json!([{ "a": "x".repeat(SMALL_BYTES + 1) }])));
    }

    #[tokio::test]
    async fn work_leaves_the_thread_of_requests_to_others() {
        let work = Arc::new(BlockingWork::default());
        let mut busy = Vec::new();
        for _ in 0..MOST * 2 {
            let work = work.clone();
            busy.push(tokio::spawn(async move {
                work.perform_work(|| std::thread::sleep(Duration::from_millis(50))).await
            }));
        }
        let begun = std::time::Instant::now();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(begun.elapsed() < Duration::from_millis(50), "the only thread was kept busy");
        for one in busy {
            one.await.unwrap().unwrap();
        }
        assert_eq!(work.perform_reading(|| async { 5 }).await.unwrap(), 5);
    }
}
