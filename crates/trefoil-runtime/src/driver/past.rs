//! What a replay shows, told as if it happened now: with the same numbers, in the same order.

use super::activity::World;
use trefoil_machine::event::EventKind;
use trefoil_machine::{Past, Watcher};

/// Tells whoever watches a run what its journal has.
pub struct Teller<'w>(pub &'w World);

impl Watcher for Teller<'_> {
    fn past(&mut self, at_ms: u64, past: Past<'_>) {
        let Self(world) = self;
        let told = match past {
            Past::Noted(noted) => vec![world.noted(*noted)],
            Past::Began(activity) => world.began(activity),
            Past::Ended(activity, result, about) => world.ended(activity, result, about),
            Past::Resumed(execution) => vec![(None, None, EventKind::RunResumed { execution })],
            Past::Suspended(waiting, wake_at) => vec![world.suspended(waiting.into_iter(), wake_at)],
            Past::Finished(machine, output, error) => {
                let (usage, calls) = (machine.usage(), machine.calls());
                let (output, error) = (output.cloned(), error.cloned());
                vec![(None, None, EventKind::RunFinished { output, error, usage, calls, duration_ms: at_ms })]
            }
        };
        for (key, location, kind) in told {
            world.watch.note_at(at_ms, key, location, kind);
        }
    }

    fn wants_provenance(&self) -> bool {
        self.0.ports.events.wants_provenance()
    }
}
