//! Model calls that wait for their turn, and their time limits, which begin with it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use tokio::sync::Notify;
use trefoil_machine::key::{Key, KeyPart};
use trefoil_machine::request::{ModelRequest, Usage};

use super::activity::World;
use crate::limits::{Place, PlacesOfRun};
use crate::ports::Meter;

/// The calls of a run that had to wait.
pub struct Queue {
    places: PlacesOfRun,
    /// How many milliseconds each has waited. None: it still does.
    waited: Mutex<BTreeMap<Key, Option<u64>>>,
    began: Notify,
}

impl Queue {
    pub fn new(places: PlacesOfRun) -> Self {
        Self { places, waited: Mutex::default(), began: Notify::new() }
    }

    fn waited(&self) -> MutexGuard<'_, BTreeMap<Key, Option<u64>>> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, key: &Key, waited: Option<u64>) {
        self.waited().insert(key.clone(), waited);
        self.began.notify_waiters();
    }

    /// How long a call has waited, once its turn has come.
    async fn had_to_wait(&self, call: &str) -> u64 {
        loop {
            let began = self.began.notified();
            let waited = self.waited().iter().find(|(key, _)| key.as_str() == call).map(|(_, waited)| *waited);
            match waited {
                Some(None) => began.await,
                Some(Some(waited)) => return waited,
                None => return 0,
            }
        }
    }
}

/// A call whose turn has come.
pub struct Turn<'w> {
    queue: &'w Queue,
    key: &'w Key,
    place: Option<Place>,
}

impl Turn<'_> {
    /// The call has ended, and has used so much. Its place is free when what this returns is dropped.
    pub fn end(mut self, usage: Option<Usage>) -> Option<Place> {
        let place = self.place.take()?;
        if let Some(usage) = usage.filter(Usage::is_known) {
            place.used(usage.total());
        }
        Some(place)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queue.waited().remove(self.key);
        self.queue.began.notify_waiters();
    }
}

impl World {
    /// Waits for the turn of a call. None: calls need not wait.
    pub async fn turn<'w>(&'w self, key: &'w Key, request: &ModelRequest, meter: &Meter) -> Option<Turn<'w>> {
        let queue = self.queue.as_ref()?;
        let mut turn = Turn { queue, key, place: None };
        let mut enter = std::pin::pin!(queue.places.enter(request));
        if let Some(place) = enter.as_mut().now_or_never() {
            turn.place = Some(place);
            return Some(turn);
        }
        // A call that is stopped before its turn has used nothing.
        meter.tell(Usage::default());
        queue.tell(key, None);
        let since = self.watch.now_ms();
        turn.place = Some(enter.await);
        meter.tell(Usage::unknown());
        queue.tell(key, Some(self.watch.now_ms().saturating_sub(since)));
        Some(turn)
    }

    /// Waits until a time of the run's clock. The time limit of a call is as much later as the call had to wait.
    pub async fn until(&self, due_ms: u64, key: &Key) {
        let sleep = |due: u64| self.ports.clock.sleep(due.saturating_sub(self.watch.now_ms()));
        sleep(due_ms).await;
        let limit = matches!(key.parts().last(), Some(KeyPart::Own(name)) if name.split('.').next() == Some("limit"));
        if let (Some(queue), true, Some(call)) = (&self.queue, limit, key.parent()) {
            sleep(due_ms.saturating_add(queue.had_to_wait(call).await)).await;
        }
    }
}
