//! Sends the events of a replay, with the same numbers and in the same order as in the live run.

use std::collections::{BTreeMap, BTreeSet};

use super::Options;
use super::told::{Untold, warned};
use super::world::World;
use crate::ports::SeenTools;
use trefoil_coordinator::Memo;
use trefoil_machine::clock::WorkMs;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::About;
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Past, Started, Unwatched, Watcher};

/// Sends the events of a replay to the run's watcher.
pub struct Teller<'w>(pub &'w World);

/// Watches a journal that is read from its start.
pub trait Reader: Watcher {
    /// Called with the start of the run.
    fn began(&mut self, started: &Started, options: &Options);
}

impl Reader for Teller<'_> {
    fn began(&mut self, started: &Started, options: &Options) {
        for (key, location, began) in self.0.began_run(started, options) {
            self.0.watch.note_at(WorkMs(0), key, location, began);
        }
    }
}

impl Reader for Unwatched {
    fn began(&mut self, _started: &Started, _options: &Options) {}
}

impl Watcher for Teller<'_> {
    fn past(&mut self, at: WorkMs, past: Past<'_>) {
        told(self.0, at, past, &mut |(key, location, kind)| self.0.watch.note_at(at, key, location, kind));
    }

    fn wants_provenance(&self) -> bool {
        self.0.ports.events.wants_provenance()
    }
}

/// Sends the events of a replay, and records the results that the run reused, the usage of its tool calls, and the descriptions of its tools.
pub struct Using<'w> {
    /// Sends the events.
    pub teller: Teller<'w>,
    /// The results of earlier runs, if there are any.
    pub memo: Option<&'w mut Memo>,
    /// Usage already counted for tool calls that may be made again.
    pub counted: &'w mut BTreeMap<Key, Usage>,
    /// The descriptions of tools.
    pub seen: &'w SeenTools,
    /// The secrets that were replaced in incoming data.
    pub replaced: &'w mut BTreeSet<String>,
    /// What answers now. Empty: the same as before.
    pub answers: String,
    /// Whether that answered at this point of the journal.
    pub recalls: bool,
}

impl Using<'_> {
    fn answered_by(&mut self, answers: &str) {
        self.recalls = self.answers.is_empty() || self.answers == answers;
    }
}

impl Reader for Using<'_> {
    fn began(&mut self, started: &Started, options: &Options) {
        self.answered_by(&started.answers);
        self.teller.began(started, options);
    }
}

impl Watcher for Using<'_> {
    fn past(&mut self, at: WorkMs, past: Past<'_>) {
        if let Some(memo) = &mut self.memo {
            match &past {
                Past::Began(activity) => memo.met(activity),
                Past::Ended(activity, _, about) => about.from.iter().for_each(|cited| memo.used(&activity.key, cited)),
                _ => {}
            }
        }
        if let Past::Ended(Activity { key, request: Request::Tool(_), .. }, _, About { usage: Some(usage), .. }) = &past
        {
            self.counted.entry(key.clone()).or_default().add(*usage);
        }
        if let Past::Resumed(_, Some(answers)) = &past {
            self.answered_by(answers);
        }
        if let Past::Ended(activity, result, about) = &past
            && self.recalls
            && !about.is_reused()
        {
            self.teller.0.recall(activity, result.as_ref().err());
        }
        if let Past::Ended(_, _, about) = &past {
            self.seen.recall(&about.tools);
            self.replaced.extend(about.replaced.iter().cloned());
        }
        self.teller.past(at, past);
    }

    fn wants_provenance(&self) -> bool {
        self.teller.wants_provenance()
    }
}

/// Passes on the events for one item of a replay.
pub fn told(world: &World, at: WorkMs, past: Past<'_>, tell: &mut dyn FnMut(Untold)) {
    match past {
        Past::Noted(noted) => tell(world.noted(noted)),
        Past::Began(activity) => world.began(activity, tell),
        Past::Ended(activity, result, about) => world.ended(activity, result, about, tell),
        Past::Resumed(execution, _) => tell((None, None, EventKind::RunResumed { execution })),
        Past::Lost(activity, lost) => tell(world.lost(activity, lost)),
        Past::Suspended(waiting, called, wake_at, why) => {
            tell(world.suspended(waiting.into_iter(), called, wake_at, why));
        }
        Past::Finished(machine, output, error, warnings) => {
            let (usage, calls) = (machine.usage(), machine.calls());
            let (output, error) = (output.cloned(), error.cloned());
            output.iter().for_each(|output| world.masking.learn(output));
            let items = machine.failed_items();
            let finished = EventKind::RunFinished { output, error, items, usage, calls, duration_ms: at.0 };
            warned(warnings).chain([(None, None, finished)]).for_each(tell);
        }
    }
}
