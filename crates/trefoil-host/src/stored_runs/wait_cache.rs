//! What waiting runs wait for, as their journals tell: kept in memory, because reading a journal takes much longer than looking
//! whether it has grown.

use std::collections::HashMap;
use std::sync::Mutex;

use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::locks::lock;
use trefoil_store::{Record, Status};

use crate::durable::FlowCache;

/// Maximum size in bytes of the texts in the younger half. The older half has at most as many.
const HALF: usize = 16 << 20;
/// What a run counts for in addition to its texts.
const OVERHEAD: usize = 256;

/// The waiting steps of runs that were read before, and their flows. It forgets those that were not asked for in a while.
#[derive(Default)]
pub struct WaitCache {
    halves: Mutex<CacheHalves>,
    flows: FlowCache,
}

/// When the younger half is full, it becomes the older one.
#[derive(Default)]
struct CacheHalves {
    young: HashMap<String, CachedSteps>,
    old: HashMap<String, CachedSteps>,
    /// Of the younger half.
    bytes: usize,
}

/// What a run waits for, by its journal up to this number of entries.
#[derive(Clone)]
struct CachedSteps {
    entries: u64,
    steps: Vec<AwaitedActivity>,
}

impl WaitCache {
    /// The flows of the runs that were read.
    pub(super) fn known_flows(&self) -> &FlowCache {
        &self.flows
    }

    /// The waiting steps of a run, if its journal is the one that was read.
    pub(super) fn find_steps(&self, record: &Record) -> Option<Vec<AwaitedActivity>> {
        if record.status != Status::Waiting {
            return None;
        }
        let mut halves = lock(&self.halves);
        if let Some(known) = halves.young.get(&record.run) {
            return known.steps_of(record);
        }
        let known = halves.old.remove(&record.run)?;
        let steps = known.steps_of(record)?;
        halves.add(&record.run, known);
        Some(steps)
    }

    /// Keeps the waiting steps of a run. What a run in progress waits for does not depend on its journal alone.
    pub(super) fn keep_steps(&self, record: &Record, steps: &[AwaitedActivity]) {
        if record.status == Status::Waiting {
            lock(&self.halves).add(&record.run, CachedSteps { entries: record.entries, steps: steps.to_vec() });
        }
    }
}

impl CacheHalves {
    fn add(&mut self, run: &str, known: CachedSteps) {
        self.bytes = self.bytes.saturating_add(known.text_bytes());
        if self.bytes > HALF {
            self.bytes = known.text_bytes();
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(run.to_owned(), known);
    }
}

impl CachedSteps {
    fn steps_of(&self, record: &Record) -> Option<Vec<AwaitedActivity>> {
        if self.entries == record.entries { Some(self.steps.clone()) } else { None }
    }

    fn text_bytes(&self) -> usize {
        let mut bytes = OVERHEAD;
        for AwaitedActivity { prompt, call, accepts, choices, .. } in &self.steps {
            bytes += OVERHEAD;
            for text in prompt.iter().chain(accepts).chain(choices) {
                bytes = bytes.saturating_add(text.len());
            }
            if let Some(call) = call {
                bytes = bytes.saturating_add(call.to_text().len());
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(run: &str, entries: u64) -> Record {
        Record { run: run.to_owned(), entries, ..testbed_record() }
    }

    fn testbed_record() -> Record {
        Record {
            run: String::new(),
            flow: String::new(),
            program: String::new(),
            status: Status::Waiting,
            started: 0,
            ended: None,
            error: None,
            items: None,
            spent: trefoil_store::RunSpending::default(),
            in_flight: 0,
            entries: 0,
            parent: None,
            base: None,
            owner: None,
            epoch: 1,
            wake_at: None,
            content: trefoil_store::Content::All,
            taken_from: None,
            labels: Vec::new(),
        }
    }

    fn question(bytes: usize) -> Vec<AwaitedActivity> {
        vec![AwaitedActivity { prompt: Some("x".repeat(bytes)), ..AwaitedActivity::default() }]
    }

    #[test]
    fn a_run_is_known_until_its_journal_grows() {
        let cache = WaitCache::default();
        cache.keep_steps(&waiting("a", 3), &question(1));
        assert_eq!(cache.find_steps(&waiting("a", 3)), Some(question(1)));
        assert_eq!(cache.find_steps(&waiting("a", 4)), None);
        assert_eq!(cache.find_steps(&waiting("b", 3)), None);
        let running = Record { status: Status::Running, ..waiting("a", 3) };
        assert_eq!(cache.find_steps(&running), None);
    }

    #[test]
    fn its_size_is_limited_and_what_is_asked_for_stays() {
        let cache = WaitCache::default();
        cache.keep_steps(&waiting("wanted", 1), &question(1));
        for n in 0..200 {
            cache.keep_steps(&waiting(&format!("r{n}"), 1), &question(HALF / 8));
            assert!(cache.find_steps(&waiting("wanted", 1)).is_some(), "{n}");
        }
        let halves = lock(&cache.halves);
        assert!(halves.young.len() + halves.old.len() < 20);
        assert!(halves.bytes <= HALF);
    }
}
