//! Sends the events of a replay, with the same numbers and in the same order as in the live run.

use std::collections::{BTreeMap, BTreeSet};

use super::DriverOptions;
use super::activity_events::warning_events;
use super::run_context::RunContext;
use crate::ports::ToolDigests;
use trefoil_coordinator::Memo;
use trefoil_machine::clock::WorkMs;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{MachineEvent, NoObserver, ReplayNotice, ReplayObserver, RunStart};

/// Sends the events of a replay to the run's watcher.
pub struct ReplayReporter<'w>(pub &'w RunContext);

/// Watches a journal that is read from its start.
pub trait JournalObserver: ReplayObserver {
    /// Called with the start of the run.
    fn observe_start(&mut self, started: &RunStart, options: &DriverOptions);
}

impl JournalObserver for ReplayReporter<'_> {
    fn observe_start(&mut self, started: &RunStart, options: &DriverOptions) {
        for MachineEvent { key, location, kind } in self.0.run_start_events(started, options) {
            self.0.watch.note_at(WorkMs(0), key, location, kind);
        }
    }
}

impl JournalObserver for NoObserver {
    fn observe_start(&mut self, _started: &RunStart, _options: &DriverOptions) {}
}

impl ReplayObserver for ReplayReporter<'_> {
    fn observe_notice(&mut self, at: WorkMs, past: ReplayNotice<'_>) {
        report_past(self.0, at, past, &mut |MachineEvent { key, location, kind }| {
            self.0.watch.note_at(at, key, location, kind);
        });
    }

    fn wants_provenance(&self) -> bool {
        self.0.ports.events.wants_provenance()
    }
}

/// Sends the events of a replay, and records the results that the run reused, the usage of its tool calls, and the descriptions of its tools.
pub struct ResumeObserver<'w> {
    /// Sends the events.
    pub reporter: ReplayReporter<'w>,
    /// The results of earlier runs, if there are any.
    pub memo: Option<&'w mut Memo>,
    /// Usage already counted for tool calls that may be made again.
    pub counted: &'w mut BTreeMap<Key, Usage>,
    /// The descriptions of tools.
    pub tool_digests: &'w ToolDigests,
    /// The secrets that were replaced in incoming data.
    pub replaced: &'w mut BTreeSet<String>,
    /// What answers now. Empty: the same as before.
    pub answers: String,
    /// Whether that answered at this point of the journal.
    pub recalls: bool,
}

impl ResumeObserver<'_> {
    fn answered_by(&mut self, answers: &str) {
        self.recalls = self.answers.is_empty() || self.answers == answers;
    }
}

impl JournalObserver for ResumeObserver<'_> {
    fn observe_start(&mut self, started: &RunStart, options: &DriverOptions) {
        self.answered_by(&started.answers);
        self.reporter.observe_start(started, options);
    }
}

impl ReplayObserver for ResumeObserver<'_> {
    fn observe_notice(&mut self, at: WorkMs, past: ReplayNotice<'_>) {
        if let Some(memo) = &mut self.memo {
            match &past {
                ReplayNotice::Began(activity, _) => memo.record_request(activity),
                ReplayNotice::Ended(activity, _, about) => {
                    about.from.iter().for_each(|cited| memo.record_use(&activity.key, cited))
                }
                _ => {}
            }
        }
        if let ReplayNotice::Ended(
            Activity { key, request: Request::Tool(_), .. },
            _,
            ActivityMetadata { usage: Some(usage), .. },
        ) = &past
        {
            self.counted.entry(key.clone()).or_default().add_usage(*usage);
        }
        if let ReplayNotice::Resumed(_, Some(answers)) = &past {
            self.answered_by(answers);
        }
        if let ReplayNotice::Ended(activity, result, about) = &past
            && self.recalls
            && !about.is_reused()
        {
            self.reporter.0.recall_ended_call(activity, result.as_ref().err());
        }
        if let ReplayNotice::Ended(_, _, about) = &past {
            self.tool_digests.load_stored(&about.tools);
            self.replaced.extend(about.replaced.iter().cloned());
        }
        self.reporter.observe_notice(at, past);
    }

    fn wants_provenance(&self) -> bool {
        self.reporter.wants_provenance()
    }
}

/// Passes on the events for one item of a replay.
pub fn report_past(context: &RunContext, at: WorkMs, past: ReplayNotice<'_>, emit: &mut dyn FnMut(MachineEvent)) {
    match past {
        ReplayNotice::Noted(event) => emit(context.take_displayed_event(event)),
        ReplayNotice::Began(activity, given_by) => context.report_start(activity, given_by, emit),
        ReplayNotice::Ended(activity, result, about) => context.report_end(activity, result, about, emit),
        ReplayNotice::Resumed(execution, _) => emit(MachineEvent::for_run(EventKind::RunResumed { execution })),
        ReplayNotice::Lost(activity, lost) => emit(context.lost_call_event(activity, lost)),
        ReplayNotice::Suspended(waiting, called, wake_at, why) => {
            emit(context.suspension_event(waiting.into_iter(), called, wake_at, why));
        }
        ReplayNotice::Finished(machine, output, error, warnings) => {
            let (usage, calls) = (machine.usage(), machine.call_count());
            let (output, error) = (output.cloned(), error.cloned());
            output.iter().for_each(|output| context.masking.hide_parts_of(output));
            let items = machine.failed_items();
            let finished = EventKind::RunFinished { output, error, items, usage, calls, duration_ms: at.0 };
            warning_events(warnings).for_each(&mut *emit);
            emit(MachineEvent::for_run(finished));
        }
    }
}
