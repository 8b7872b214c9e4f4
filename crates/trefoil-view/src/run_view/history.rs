//! The picture of a run after any number of its events.

use trefoil_runtime::Event;

use super::RunView;

/// The first distance between two snapshots, in events.
const DISTANCE: usize = 500;
/// Maximum number of snapshots. If there are more, every second one is dropped.
const MOST: usize = 32;

/// The events of a run, with snapshots of its picture, so that no picture is far from one.
#[derive(Debug, Clone)]
pub struct RunHistory {
    events: Vec<Event>,
    now: RunView,
    /// After each `distance` events. They share the steps that did not change in between.
    snapshots: Vec<RunView>,
    distance: usize,
}

impl RunHistory {
    /// The history of a run of which this is the picture without an event.
    pub fn new(empty: RunView) -> Self {
        Self { events: Vec::new(), now: empty.clone(), snapshots: vec![empty], distance: DISTANCE }
    }

    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.now.apply_event(&event);
        self.events.push(event);
        if !self.events.len().is_multiple_of(self.distance) {
            return;
        }
        self.snapshots.push(self.now.clone());
        if self.snapshots.len() > MOST {
            let mut number = 0..;
            self.snapshots.retain(|_| number.next().is_some_and(|number| number % 2 == 0));
            self.distance *= 2;
        }
    }

    /// The picture after all of them.
    pub fn current_view(&self) -> &RunView {
        &self.now
    }

    /// The picture after the first `count` events.
    pub fn state_at(&self, count: usize) -> RunView {
        let count = count.min(self.events.len());
        let number = (count / self.distance).min(self.snapshots.len().saturating_sub(1));
        let mut view = self.snapshots.get(number).cloned().unwrap_or_default();
        for event in self.events.get(number * self.distance..count).unwrap_or_default() {
            view.apply_event(event);
        }
        view
    }
}
