//! Several who watch a run, and the handle as one of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventSink};

/// All of them as one.
pub(super) fn all(sinks: &[Arc<dyn EventSink>]) -> Arc<dyn EventSink> {
    match sinks {
        [] => Arc::new(NoEvents),
        [one] => one.clone(),
        all => Arc::new(Fan(all.to_vec())),
    }
}

/// Several who watch.
struct Fan(Vec<Arc<dyn EventSink>>);

impl EventSink for Fan {
    fn wants_provenance(&self) -> bool {
        self.0.iter().any(|sink| sink.wants_provenance())
    }
    fn event(&self, event: &Event) {
        for sink in &self.0 {
            sink.event(event);
        }
    }
    fn take(&self, event: Event) {
        let Some((last, others)) = self.0.split_last() else { return };
        others.iter().for_each(|sink| sink.event(&event));
        last.take(event);
    }
    fn caught_up(&self) {
        self.0.iter().for_each(|sink| sink.caught_up());
    }
}

/// Events that whoever holds the run has not read yet. A channel would set aside room for dozens of them, for each of the
/// thousands of runs that may wait.
#[derive(Default)]
struct Unread {
    events: VecDeque<Event>,
    reader: Option<Waker>,
    /// Nobody reads them any more, or nobody writes them.
    closed: bool,
}

type Shared = Arc<Mutex<Unread>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Unread> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands events to whoever holds the run.
pub(super) struct ToHandle(Shared);

/// The handle's end.
pub(crate) struct Events(Shared);

pub(super) fn to_handle() -> (ToHandle, Events) {
    let shared = Shared::default();
    (ToHandle(shared.clone()), Events(shared))
}

impl EventSink for ToHandle {
    fn event(&self, event: &Event) {
        self.take(event.clone());
    }
    fn take(&self, event: Event) {
        let mut unread = lock(&self.0);
        // Whoever does not read them any more does not want them.
        if !unread.closed {
            unread.events.push_back(event);
            let reader = unread.reader.take();
            drop(unread);
            reader.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for ToHandle {
    fn drop(&mut self) {
        let mut unread = lock(&self.0);
        unread.closed = true;
        let reader = unread.reader.take();
        drop(unread);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl Events {
    /// The next one; none: there will be no more.
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Option<Event>> {
        let mut unread = lock(&self.0);
        match unread.events.pop_front() {
            Some(event) => {
                // The least room that it has is more than a kilobyte.
                if unread.events.is_empty() {
                    unread.events = VecDeque::new();
                }
                Poll::Ready(Some(event))
            }
            None if unread.closed => Poll::Ready(None),
            None => {
                unread.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Nobody reads them any more.
    pub fn close(&mut self) {
        let mut unread = lock(&self.0);
        (unread.closed, unread.events) = (true, VecDeque::new());
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.close();
    }
}
