//! Several watchers of a run, one of which is the handle.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use trefoil_runtime::locks::lock;
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventSink};

/// Combines several watchers.
pub(crate) fn combine_sinks(sinks: &[Arc<dyn EventSink>]) -> Arc<dyn EventSink> {
    match sinks {
        [] => Arc::new(NoEvents),
        [one] => one.clone(),
        all => Arc::new(EventFan(all.to_vec())),
    }
}

/// Several watchers.
struct EventFan(Vec<Arc<dyn EventSink>>);

impl EventSink for EventFan {
    fn wants_provenance(&self) -> bool {
        self.0.iter().any(|sink| sink.wants_provenance())
    }
    fn receive_event(&self, event: &Event) {
        for sink in &self.0 {
            sink.receive_event(event);
        }
    }
    fn receive_owned(&self, event: Event) {
        let Some((last, others)) = self.0.split_last() else { return };
        others.iter().for_each(|sink| sink.receive_event(&event));
        last.receive_owned(event);
    }
    fn caught_up(&self) {
        self.0.iter().for_each(|sink| sink.caught_up());
    }
}

/// Maximum number of events in a block.
const BLOCK: usize = 1_024;

/// Events that the handle has not read yet. A channel would reserve memory for dozens of events for each of thousands
/// of waiting runs. They are in blocks, because a long queue would be copied each time it grows, and a resumed run repeats all
/// events at once.
#[derive(Default)]
struct UnreadEvents {
    blocks: VecDeque<VecDeque<Event>>,
    reader: Option<Waker>,
    /// Whether the reader or the writer is gone.
    closed: bool,
}

impl UnreadEvents {
    fn push(&mut self, event: Event) {
        match self.blocks.back_mut().filter(|block| block.len() < BLOCK) {
            Some(block) => block.push_back(event),
            None => self.blocks.push_back(VecDeque::from([event])),
        }
    }

    /// Frees each block after its last event.
    fn pop(&mut self) -> Option<Event> {
        let block = self.blocks.front_mut()?;
        let event = block.pop_front();
        if block.is_empty() {
            self.blocks.pop_front();
        }
        if self.blocks.is_empty() {
            self.blocks = VecDeque::new();
        }
        event
    }
}

type SharedEvents = Arc<Mutex<UnreadEvents>>;

/// Passes events to the handle.
pub(super) struct HandleSink(SharedEvents);

/// The reading end, in the handle.
pub(crate) struct EventReader(SharedEvents);

pub(super) fn to_handle() -> (HandleSink, EventReader) {
    let shared = SharedEvents::default();
    (HandleSink(shared.clone()), EventReader(shared))
}

impl EventSink for HandleSink {
    fn receive_event(&self, event: &Event) {
        self.receive_owned(event.clone());
    }
    fn receive_owned(&self, event: Event) {
        let mut unread = lock(&self.0);
        // Discarded if the reader is gone.
        if !unread.closed {
            unread.push(event);
            let reader = unread.reader.take();
            drop(unread);
            reader.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for HandleSink {
    fn drop(&mut self) {
        let mut unread = lock(&self.0);
        unread.closed = true;
        let reader = unread.reader.take();
        drop(unread);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl EventReader {
    /// The next event; `None`: there will be no more.
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Option<Event>> {
        let mut unread = lock(&self.0);
        match unread.pop() {
            Some(event) => Poll::Ready(Some(event)),
            None if unread.closed => Poll::Ready(None),
            None => {
                unread.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Stops reading.
    pub fn close(&mut self) {
        let mut unread = lock(&self.0);
        (unread.closed, unread.blocks) = (true, VecDeque::new());
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.close();
    }
}
