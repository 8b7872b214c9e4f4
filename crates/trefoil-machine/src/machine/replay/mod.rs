//! Replays a journal: completions are passed to the machine in their recorded order, and every activity is compared
//! with the one recorded under its key.
//!
//! The order in which activities were requested is not compared: a version that requests two of them in another order,
//! or one more timer, can still continue the run. A completed activity is found by its key, and its content must be the
//! same.

mod differences;
mod reopening;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::SEMANTICS;
use trefoil_template::Value;

pub use differences::{DifferenceKind, ReplayDifference};
pub use reopening::{FailureScan, JournalReopening, KeptResult, ReplayRebuild};

use super::prepared_program::PreparedProgram;
use super::{ActivityCompletion, Machine, MachineCommand, MachineEvent, MachineOutput};
use crate::clock::{RunMs, WorkMs};
use crate::error::RunError;
use crate::event::EventKind;
use crate::journal::{ActivityMetadata, CalledRun, Entry, EntryKind, LostModelCall, ResumeChanges, RunStart, VERSION};
use crate::key::{ContentKey, Key, KeyMap, own_step, without_try};
use crate::private::PrivateValue;
use crate::receipt::AnswerReceipt;
use crate::request::{Activity, Request, Usage};

/// A run in the state at the end of its journal.
#[derive(Debug)]
pub struct ReplayedRun {
    /// Ready for the next completion.
    pub machine: Machine,
    /// Activities recorded as scheduled but not as ended, in the order of their entries. They must be started again,
    /// without a new entry; their outcome is unknown.
    pub restart: Vec<Activity>,
    /// What the machine requested beyond the end of the journal, to be scheduled and started. Without events, which a
    /// [`ReplayObserver`] got.
    pub output: MachineOutput,
    /// How the run started.
    pub started: RunStart,
    /// How often the run was resumed so far.
    pub executions: u32,
    /// How often in a row it was resumed without any completion. Something that kills its process would do so again.
    pub fruitless: u32,
    /// How the run ended, according to the journal.
    pub finished: Option<Result<Value, RunError>>,
    /// The last setting of what answers model calls: see [`RunStart::answers`].
    pub answers: String,
    /// The time at which the run's clock was 0, in milliseconds since 1970-01-01 UTC.
    pub origin: u64,
    /// Results from before the run was reopened that were not requested yet.
    pub kept: BTreeMap<Key, KeptResult>,
    /// Notes for whoever resumes the run.
    pub notes: Vec<String>,
    /// For a replay that [collects](Replay::to_compare) differences: all differences between the journal and the
    /// program.
    pub differences: Vec<ReplayDifference>,
    /// The number of the next entry.
    pub next_seq: u64,
    /// The last entry's time stamp.
    pub at_ms: u64,
}

impl Machine {
    /// Replays a journal. `NONDETERMINISM`: it belongs to another program, or the program now does something else.
    pub fn replay_journal(prepared: Arc<PreparedProgram>, entries: &[Entry]) -> Result<ReplayedRun, RunError> {
        let Some((first, rest)) = entries.split_first() else { return Err(differs("the journal is empty")) };
        let mut replay = Replay::from_first_entry(prepared, first, &mut NoObserver)?;
        for (at, entry) in rest.iter().enumerate() {
            match replay.find_reopening(entry)? {
                None => replay.replay_entry(entry, &mut NoObserver)?,
                Some(next) => {
                    let mut rebuild = replay.begin_rebuild(first, next)?;
                    for entry in rest.iter().take(at) {
                        rebuild.replay_entry(entry)?;
                    }
                    rebuild.finish_rebuild(entry, &mut replay, &mut NoObserver)?;
                }
            }
        }
        replay.finish_replay(&mut NoObserver)
    }
}

/// The steps of a replay, in the order of the entries that caused them; the same in every replay of a journal.
#[derive(Debug)]
pub enum ReplayNotice<'a> {
    /// The machine emitted an event, which the watcher may take.
    Noted(&'a mut MachineEvent),
    /// An activity was started, or requested again by a process that resumed the run; and who decided that it is repeated.
    Began(&'a Activity, Option<&'a AnswerReceipt>),
    /// It ended.
    Ended(&'a Activity, &'a Result<PrivateValue, RunError>, &'a ActivityMetadata),
    /// Another process resumed the run, and perhaps set another source of answers: see [`RunStart::answers`].
    Resumed(u32, Option<&'a str>),
    /// The outcome of a model call is unknown.
    Lost(&'a Activity, &'a LostModelCall),
    /// The run could only wait for these; some of them wait for runs that they have started.
    Suspended(Vec<&'a Activity>, &'a [CalledRun], Option<u64>, Option<&'a RunError>),
    /// The run ended, with these warnings about its output. The machine has its usage.
    Finished(&'a Machine, Option<&'a PrivateValue>, Option<&'a RunError>, &'a [String]),
}

/// Observes a replay.
pub trait ReplayObserver {
    /// Something happened at this time of the work clock.
    fn observe_notice(&mut self, at: WorkMs, past: ReplayNotice<'_>);
    /// Whether to record where each part of a message came from: see [`Machine::with_provenance`].
    fn wants_provenance(&self) -> bool {
        false
    }
}

/// No observer.
#[derive(Debug, Clone, Copy)]
pub struct NoObserver;

impl ReplayObserver for NoObserver {
    fn observe_notice(&mut self, _at: WorkMs, _past: ReplayNotice<'_>) {}
}

/// A replay in progress, which gets one entry after the other.
#[derive(Debug)]
pub struct Replay {
    machine: Machine,
    started: RunStart,
    answers: String,
    origin: u64,
    reopenings: Vec<JournalReopening>,
    /// Results from before the run was reopened that were not requested yet.
    memo: BTreeMap<Key, KeptResult>,
    executions: u32,
    fruitless: u32,
    notes: Vec<String>,
    /// Requested but not ended in the journal so far.
    asked: KeyMap<RequestedActivity>,
    next_asked: u64,
    /// Requested and cancelled: their usage counts, but their results are not needed.
    cancelled: KeyMap<CancelledActivity>,
    /// Recorded as scheduled, but not requested so far.
    unasked: BTreeMap<Key, RecordedRequest>,
    /// The steps that were stopped since the last end of an activity, because a step around them failed.
    stopped: BTreeSet<Arc<str>>,
    /// Whether the machine can continue without another entry.
    more: bool,
    /// The end according to the machine.
    finished: Option<Result<Value, RunError>>,
    /// Whether the journal has ended the run.
    ended: bool,
    /// The differences, if they are collected; `None`: the first one ends the replay.
    differences: Option<Vec<ReplayDifference>>,
    next_seq: u64,
    at_ms: u64,
}

/// A requested activity.
#[derive(Debug)]
struct RequestedActivity {
    /// Its position in the order of requests.
    at: u64,
    activity: Activity,
    /// Its record in the journal, if it was scheduled.
    recorded: Option<RecordedRequest>,
}

/// An activity that was cancelled.
#[derive(Debug)]
struct CancelledActivity {
    /// `None` for a time limit or a delay: nobody is told how it ended, and a run may have one for each of a million items.
    activity: Option<Box<Activity>>,
    /// Whether the journal has it as scheduled but not as ended.
    open: bool,
}

/// The record of a requested activity in the journal.
#[derive(Debug)]
struct RecordedRequest {
    seq: u64,
    sort: Cow<'static, str>,
    content: ContentKey,
}

impl Replay {
    /// Starts with the first entry. Another program is rejected. The same program under another version of the
    /// semantics is resumed as long as it requests the same activities.
    pub fn from_first_entry(
        prepared: Arc<PreparedProgram>,
        first: &Entry,
        watcher: &mut dyn ReplayObserver,
    ) -> Result<Self, RunError> {
        let traces = watcher.wants_provenance();
        Self::begin_with(prepared, first, &ResumeChanges::default(), (traces, None), watcher)
    }

    /// The same with other limits.
    fn begin_with(
        prepared: Arc<PreparedProgram>,
        first: &Entry,
        limits: &ResumeChanges,
        (traces, mut differences): (bool, Option<Vec<ReplayDifference>>),
        watcher: &mut dyn ReplayObserver,
    ) -> Result<Self, RunError> {
        version(first)?;
        let EntryKind::Started(started) = &first.kind else {
            return Err(differs("the journal does not start with the start of a run"));
        };
        let mut notes = Vec::new();
        let (then, now) = (&started.program, prepared.fingerprint());
        if then.semantics != SEMANTICS {
            notes.push(format!(
                "the run started under version {} of the semantics and continues under version {SEMANTICS}; every completed step is compared with this version's request",
                then.semantics
            ));
        } else if then.fingerprint != now {
            let short = |text: &str| text.chars().take(16).collect::<String>();
            let message =
                format!("the journal is for program {}, but this is program {}", short(&then.fingerprint), short(now));
            differences::note_difference(
                &mut differences,
                ReplayDifference::for_entry(first.seq, None, DifferenceKind::Program, message),
            )?;
        }
        let mut machine = Machine::from_prepared(prepared, started.flags.clone()).in_pieces().with_provenance(traces);
        machine.apply_changes(limits);
        machine.begin_at(started.at);
        let output =
            machine.start_run(started.execution_id(), started.input.as_ref().map(|input| input.exact_value().clone()));
        let mut replay = Self {
            machine,
            started: (**started).clone(),
            answers: started.answers.clone(),
            origin: started.at,
            reopenings: Vec::new(),
            memo: BTreeMap::new(),
            executions: 0,
            fruitless: 0,
            notes,
            asked: KeyMap::default(),
            next_asked: 0,
            cancelled: KeyMap::default(),
            unasked: BTreeMap::new(),
            stopped: BTreeSet::new(),
            more: false,
            finished: None,
            ended: false,
            differences,
            next_seq: first.seq.saturating_add(1),
            at_ms: first.at_ms,
        };
        replay.take(output, watcher);
        Ok(replay)
    }

    /// How the run started.
    pub fn run_start(&self) -> &RunStart {
        &self.started
    }

    /// The next entry.
    pub fn replay_entry(&mut self, entry: &Entry, watcher: &mut dyn ReplayObserver) -> Result<(), RunError> {
        version(entry)?;
        self.reach(entry, watcher);
        match &entry.kind {
            EntryKind::Started(_) => Err(differs(format!("entry {} starts the run a second time", entry.seq))),
            EntryKind::Scheduled { key, sort, content, .. } => {
                let recorded = RecordedRequest { seq: entry.seq, sort: sort.clone(), content: *content };
                self.scheduled(key, recorded, watcher);
                Ok(())
            }
            EntryKind::Completed { key, value, about } => {
                self.fruitless = 0;
                self.apply_result(entry, key, Ok(value.clone()), about, watcher)
            }
            EntryKind::Failed { key, error, about } => {
                self.fruitless = 0;
                self.apply_result(entry, key, Err(error.clone()), about, watcher)
            }
            EntryKind::Resumed { execution, lost, changes, .. } => {
                self.executions = *execution;
                self.fruitless = self.fruitless.saturating_add(1);
                let answers = changes.models.as_ref().map(|models| models.answers.as_str());
                watcher.observe_notice(self.work_time(), ReplayNotice::Resumed(*execution, answers));
                for activity in self.under_way().filter(|a| matches!(a.request, Request::Human(_))) {
                    watcher.observe_notice(self.work_time(), ReplayNotice::Began(activity, None));
                }
                if let Some(models) = &changes.models {
                    self.answers.clone_from(&models.answers);
                }
                self.machine.apply_changes(changes);
                self.lose(entry, lost, watcher)
            }
            EntryKind::Reopened { .. } => {
                Err(differs(format!("entry {} reopens the run: it has to be replayed from its start", entry.seq)))
            }
            EntryKind::Restarted { key, given_by } => {
                self.catch_up(watcher);
                let Some(RequestedActivity { activity, .. }) = self.asked.get(key) else {
                    return Err(differs(format!("entry {} starts `{key}` again, which is not in progress", entry.seq)));
                };
                watcher.observe_notice(self.work_time(), ReplayNotice::Began(activity, given_by.as_deref()));
                let output = self.machine.restart_effect(key, entry.at_ms);
                self.take(output, watcher);
                Ok(())
            }
            EntryKind::Suspended { wake_at, called, why } => {
                self.catch_up(watcher);
                self.fruitless = 0;
                // A run that stops before something may have been in the middle of something else.
                let waits = |a: &&Activity| match a.request {
                    Request::Timer { .. } => false,
                    Request::Human(_) => true,
                    _ => why.is_none(),
                };
                let waiting = self.under_way().filter(waits).collect();
                watcher.observe_notice(
                    self.work_time(),
                    ReplayNotice::Suspended(waiting, called, *wake_at, why.as_deref()),
                );
                Ok(())
            }
            EntryKind::CancelRequested {} => {
                // A run may be cancelled in the middle of a long piece of work. The piece was finished if the journal
                // has what was requested at its end.
                if !self.unasked.is_empty() {
                    self.catch_up(watcher);
                }
                let output = self.machine.cancel_run();
                self.take(output, watcher);
                Ok(())
            }
            EntryKind::Finished { output, error, warnings, items: _ } => {
                self.finished(entry, output.as_ref(), error.as_ref(), warnings, watcher)
            }
        }
    }

    /// Sets the clocks to the time of an entry.
    fn reach(&mut self, entry: &Entry, watcher: &mut dyn ReplayObserver) {
        if let EntryKind::Resumed { .. } = entry.kind {
            // What is possible without another entry happened before.
            self.catch_up(watcher);
            self.machine.mark_resumed(entry.at_ms);
        } else {
            self.machine.read_entry(entry.at_ms);
        }
        (self.next_seq, self.at_ms) = (entry.seq.saturating_add(1), entry.at_ms);
    }

    /// The last entry's time on the work clock.
    pub fn work_time(&self) -> WorkMs {
        self.machine.clock().work_at(RunMs(self.at_ms))
    }

    /// An activity was scheduled.
    fn scheduled(&mut self, key: &Key, recorded: RecordedRequest, watcher: &mut dyn ReplayObserver) {
        self.catch_up(watcher);
        let at = self.work_time();
        if let Some(asked) = self.asked.get_mut(key) {
            self.machine.mark_begun(&asked.activity);
            watcher.observe_notice(at, ReplayNotice::Began(&asked.activity, None));
            asked.recorded = Some(recorded);
        } else if let Some(cancelled) = self.cancelled.get_mut(key) {
            cancelled.open = true;
        } else {
            self.unasked.insert(key.clone(), recorded);
        }
    }

    /// The last entry of a run, which must match the program.
    fn finished(
        &mut self,
        entry: &Entry,
        output: Option<&PrivateValue>,
        error: Option<&RunError>,
        warnings: &[String],
        watcher: &mut dyn ReplayObserver,
    ) -> Result<(), RunError> {
        self.catch_up(watcher);
        self.ended = true;
        // A limit shared with other runs; the machine alone does not know that it was reached.
        if let Some(error) = error
            && error.code == "BUDGET_EXCEEDED"
            && self.finished.is_none()
        {
            let output = self.machine.end_run(error.clone());
            self.take(output, watcher);
        }
        // For a run that was cancelled while no process worked on it.
        for (key, cancelled) in &self.cancelled {
            if cancelled.open
                && let Some(activity) = &cancelled.activity
                && matches!(activity.request, Request::Model(_))
            {
                self.machine.add_spent_usage(key, self.machine.price_usage(activity, Usage::for_unknown_call(), None));
            }
        }
        watcher.observe_notice(self.work_time(), ReplayNotice::Finished(&self.machine, output, error, warnings));
        let message = match (&self.finished, error) {
            (Some(Ok(_)), None) | (Some(Err(_)), Some(_)) => {
                return self.compare_end(entry.seq, output.map(PrivateValue::exact_value), error);
            }
            _ => {
                let what = if error.is_some() { "failed" } else { "succeeded" };
                format!("entry {} says that the run {what}, but the program disagrees", entry.seq)
            }
        };
        self.add_difference(ReplayDifference::for_entry(entry.seq, None, DifferenceKind::End, message))
    }

    /// The reopening in an entry, if it is one: the entries before it must then be [replayed again](Self::begin_rebuild).
    pub fn find_reopening(&self, entry: &Entry) -> Result<Option<(JournalReopening, ResumeChanges)>, RunError> {
        version(entry)?;
        let EntryKind::Reopened { again, changes, .. } = &entry.kind else { return Ok(None) };
        if !self.ended {
            return Err(differs(format!("entry {} reopens a run that has not ended", entry.seq)));
        }
        Ok(Some((JournalReopening { seq: entry.seq, again: again.clone() }, (**changes).clone())))
    }

    /// A replay of the same run without what a reopening makes void.
    pub fn begin_rebuild(
        &self,
        first: &Entry,
        (next, changes): (JournalReopening, ResumeChanges),
    ) -> Result<ReplayRebuild, RunError> {
        ReplayRebuild::from_first_entry(self.machine.prepared_program().clone(), first, self, next, &changes)
    }

    /// The activities recorded as scheduled but not as ended, so far, in the order of their entries.
    fn under_way(&self) -> impl Iterator<Item = &Activity> {
        let mut all: Vec<(u64, &Activity)> = Vec::new();
        for asked in self.asked.values() {
            if let Some(recorded) = &asked.recorded {
                all.push((recorded.seq, &asked.activity));
            }
        }
        all.sort_by_key(|(seq, _)| *seq);
        all.into_iter().map(|(_, activity)| activity)
    }

    /// The outcome of these model calls is unknown.
    fn lose(
        &mut self,
        entry: &Entry,
        lost: &[LostModelCall],
        watcher: &mut dyn ReplayObserver,
    ) -> Result<(), RunError> {
        for one in lost {
            let key = &one.key;
            let Some(RequestedActivity { activity, recorded: Some(recorded), .. }) = self.asked.swap_remove(key) else {
                return Err(differs(format!("entry {} gives `{key}` up, which is not in progress", entry.seq)));
            };
            self.compare_activity(&recorded, &activity)?;
            watcher.observe_notice(self.work_time(), ReplayNotice::Lost(&activity, one));
        }
        if !lost.is_empty() {
            let output = self.machine.recover_lost_calls(lost, entry.at_ms);
            self.take(output, watcher);
        }
        Ok(())
    }

    fn apply_result(
        &mut self,
        entry: &Entry,
        key: &Key,
        result: Result<PrivateValue, RunError>,
        about: &ActivityMetadata,
        watcher: &mut dyn ReplayObserver,
    ) -> Result<(), RunError> {
        self.catch_up(watcher);
        let at = self.work_time();
        let (asked, recorded) = match self.asked.swap_remove(key) {
            Some(RequestedActivity { activity, recorded, .. }) => (Some(activity), recorded),
            None => (None, self.unasked.remove(key)),
        };
        let mut earlier = about.from.as_ref().map(|cited| (entry.seq, cited.content));
        if about.kept.is_some()
            && let Some(kept) = self.memo.remove(key)
        {
            earlier = Some((kept.seq, kept.content));
        }
        let recorded = match earlier {
            Some((seq, content)) => {
                let sort = match &asked {
                    Some(activity) => activity.request.sort_name().into(),
                    None => Cow::default(),
                };
                Some(RecordedRequest { seq, sort, content })
            }
            None => recorded,
        };
        match (asked, recorded) {
            (Some(activity), Some(recorded)) => {
                if about.is_reused() {
                    watcher.observe_notice(at, ReplayNotice::Began(&activity, None));
                    self.machine.not_made(&activity);
                }
                if about.from.is_none() {
                    self.machine.mark_begun(&activity);
                }
                self.compare_activity(&recorded, &activity)?;
                self.stopped.clear();
                watcher.observe_notice(at, ReplayNotice::Ended(&activity, &result, about));
            }
            // The result was not needed any more, but its usage counts.
            (None, _) if let Some(cancelled) = self.cancelled.get_mut(key) => {
                cancelled.open = false;
                if let Some(activity) = &cancelled.activity {
                    watcher.observe_notice(at, ReplayNotice::Ended(activity, &result, about));
                }
            }
            (None, Some(recorded)) => return self.add_difference(recorded.unasked_difference(key)),
            (asked, None) => {
                let message = format!("entry {} ends `{key}`, which is not in progress", entry.seq);
                self.add_difference(ReplayDifference::for_entry(
                    entry.seq,
                    Some(key),
                    DifferenceKind::Unknown,
                    message,
                ))?;
                if asked.is_none() {
                    return Ok(());
                }
            }
        }
        let completion = ActivityCompletion {
            key: key.clone(),
            at_ms: entry.at_ms,
            result: result.map(PrivateValue::into_exact),
            usage: about.usage,
            reused: about.reused_usage(),
            repeatable: about.repeatable,
            sent: about.sent.clone(),
        };
        let output = self.machine.complete_activity(completion);
        self.take(output, watcher);
        Ok(())
    }

    /// Does everything that is possible without another entry.
    fn catch_up(&mut self, watcher: &mut dyn ReplayObserver) {
        while self.more {
            let output = self.machine.next_piece();
            self.take(output, watcher);
        }
    }

    fn take(&mut self, output: MachineOutput, watcher: &mut dyn ReplayObserver) {
        self.more = output.more;
        for mut event in output.events {
            self.note_stopped(&event);
            watcher.observe_notice(self.work_time(), ReplayNotice::Noted(&mut event));
        }
        for command in output.commands {
            match command {
                MachineCommand::Start(activity) => {
                    let again = self.cancelled.swap_remove(&activity.key).is_some();
                    let recorded = if again { None } else { self.unasked.remove(&activity.key) };
                    let (key, at) = (activity.key.clone(), self.next_asked);
                    self.asked.insert(key, RequestedActivity { at, activity, recorded });
                    self.next_asked += 1;
                }
                MachineCommand::Cancel(key) => {
                    if let Some(RequestedActivity { activity, recorded, .. }) = self.asked.swap_remove(&key) {
                        let open = recorded.is_some();
                        if !open {
                            self.machine.not_made(&activity);
                        }
                        let own = own_step(key.as_str()) != without_try(key.as_str());
                        let untold = own && matches!(activity.request, Request::Timer { .. });
                        let activity = if untold { None } else { Some(Box::new(activity)) };
                        self.cancelled.insert(key, CancelledActivity { activity, open });
                    }
                }
                MachineCommand::Finish(result) => self.finished = Some(result),
            }
        }
    }

    /// Records the steps that a failure stops, until the failure is handled.
    fn note_stopped(&mut self, event: &MachineEvent) {
        match &event.kind {
            EventKind::StepFailed { handled_as: "cancel", .. } => {
                if let Some(key) = &event.key {
                    self.stopped.insert(key.0.clone());
                }
            }
            EventKind::StepFailed { handled_as: "fail", .. } => {}
            EventKind::StepFailed { .. }
            | EventKind::StepFinished { .. }
            | EventKind::RetryScheduled { .. }
            | EventKind::ValidationFailed { .. } => self.stopped.clear(),
            _ => {}
        }
    }

    /// The journal ends here.
    pub fn finish_replay(mut self, watcher: &mut dyn ReplayObserver) -> Result<ReplayedRun, RunError> {
        self.catch_up(watcher);
        let (mut restart, mut starts) = (Vec::new(), Vec::new());
        for RequestedActivity { at, activity, recorded } in std::mem::take(&mut self.asked).into_values() {
            match recorded {
                Some(recorded) => {
                    self.compare_activity(&recorded, &activity)?;
                    restart.push((recorded.seq, activity));
                }
                None => starts.push((at, MachineCommand::Start(activity))),
            }
        }
        for (key, recorded) in std::mem::take(&mut self.unasked) {
            self.add_difference(recorded.unasked_difference(&key))?;
        }
        restart.sort_by_key(|(seq, _)| *seq);
        starts.sort_by_key(|(at, _)| *at);
        let finished = if self.ended { self.finished.take() } else { None };
        let mut commands: Vec<MachineCommand> = starts.into_iter().map(|(_, start)| start).collect();
        if let Some(result) = self.finished {
            commands.push(MachineCommand::Finish(result));
        }
        Ok(ReplayedRun {
            restart: restart.into_iter().map(|(_, activity)| activity).collect(),
            output: MachineOutput { commands, ..MachineOutput::default() },
            started: self.started,
            answers: self.answers,
            origin: self.origin,
            kept: self.memo,
            executions: self.executions,
            fruitless: self.fruitless,
            finished,
            notes: self.notes,
            differences: self.differences.unwrap_or_default(),
            next_seq: self.next_seq,
            at_ms: self.at_ms,
            machine: Machine { pieces: false, ..self.machine },
        })
    }
}

fn version(entry: &Entry) -> Result<(), RunError> {
    if entry.v > VERSION {
        return Err(differs(format!(
            "entry {} has version {}, but this build reads only up to {VERSION}",
            entry.seq, entry.v
        )));
    }
    Ok(())
}

fn differs(what: impl Into<String>) -> RunError {
    RunError::new("NONDETERMINISM", what)
}
