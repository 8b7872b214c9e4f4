//! Resumes a run that failed, from the step that failed.
//!
//! A machine that has ended has no state left, so the journal is replayed again without the cause of the failure: the
//! ends of certain activities are *void* ([`FailureScan`] finds them), and so is the end of the run. Everything else that had
//! ended is kept and not paid for again. If the order of requests is different now, results are stored until they are
//! requested (*memo*).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{
    Entry, EntryKind, Machine, NoObserver, PreparedProgram, RecordedRequest, Replay, ReplayObserver, RequestedActivity,
    RunError, differs,
};
use crate::clock::WorkMs;
use crate::event::EventKind;
use crate::guard::validator::exit_code;
use crate::journal::{ActivityMetadata, ResumeChanges, RunSpec};
use crate::key::{ContentKey, Key, own_step};
use crate::machine::MachineEvent;
use crate::private::PrivateValue;
use crate::request::{Activity, HumanRequest, Request};

/// The error code of a model call that was cancelled.
const STOPPED: &str = "CANCELLED";
/// The mark of a delay before a retry.
const DELAY: &str = "~delay";

/// The contents of a reopening.
#[derive(Debug, Clone)]
pub struct JournalReopening {
    /// The number of its entry; only ends before it are void.
    pub seq: u64,
    /// The activities whose ends are void.
    pub again: Vec<Key>,
}

/// A result that was paid for but not requested again yet.
#[derive(Debug, Clone)]
pub struct KeptResult {
    /// The entry that has it.
    pub seq: u64,
    /// The content key of its request.
    pub content: ContentKey,
    /// The result.
    pub value: PrivateValue,
    /// Further data of the completion.
    pub about: ActivityMetadata,
}

/// Finds the activities that caused a failure: those of the failed step itself. If there are none, those under it that
/// failed and did not succeed in a later try. Also finds the failed tries of the steps that the failure stopped, because
/// these steps start over as well.
#[derive(Debug, Default)]
pub struct FailureScan {
    at: String,
    /// The step at the top, if it has the name of the program.
    top: Option<String>,
    own: BTreeMap<Key, u64>,
    /// Its tools and commands. What one of them has done is not done again because of what follows.
    effects: BTreeMap<Key, Cow<'static, str>>,
    failed: BTreeMap<Key, u64>,
    /// Steps with a successful try.
    fine: BTreeSet<String>,
    /// Failed tries of all steps, and the delays after them.
    tries: BTreeSet<Key>,
}

impl FailureScan {
    /// For a failure of a run of this program.
    pub fn for_failure(error: &RunError, program: &str) -> Self {
        let at = match &error.key {
            Some(key) => own_step(key.as_str()).to_owned(),
            None => String::new(),
        };
        // A step without a label at the top has the name of the program in failures, and none in keys.
        let (at, top) = if at == crate::key::escape_label(program) { (String::new(), Some(at)) } else { (at, None) };
        Self { at, top, ..Self::default() }
    }

    /// The next entry.
    pub fn scan_entry(&mut self, entry: &Entry) {
        let (key, error) = match &entry.kind {
            EntryKind::Scheduled { key, sort, .. } if self.is_own(key) && (sort == "tool" || sort == "command") => {
                self.effects.insert(key.clone(), sort.clone());
                return;
            }
            EntryKind::Completed { key, value, about } if self.is_done(key, value, about) => return,
            EntryKind::Completed { key, .. } => (key, None),
            EntryKind::Failed { key, error, .. } if error.code != STOPPED => (key, Some(error)),
            EntryKind::Reopened { again, .. } => {
                for key in again {
                    self.own.remove(key);
                    self.failed.remove(key);
                    self.tries.remove(key);
                }
                return;
            }
            _ => return,
        };
        if error.is_some() || key.as_str().contains(DELAY) {
            self.tries.insert(key.clone());
        }
        let step = own_step(key.as_str());
        if self.is_own(key) {
            self.own.insert(key.clone(), entry.seq);
        } else if self.is_beneath(step) {
            match error {
                Some(_) => drop(self.failed.insert(key.clone(), entry.seq)),
                None if !key.as_str().contains('~') => drop(self.fine.insert(step.to_owned())),
                None => {}
            }
        }
    }

    /// Whether a step is under the failed one.
    fn is_beneath(&self, step: &str) -> bool {
        self.at.is_empty()
            || matches!(step.strip_prefix(self.at.as_str()), Some(rest) if rest.starts_with(['/', '@', '[', '#']))
    }

    /// Whether it is an activity of the failed step itself.
    fn is_own(&self, key: &Key) -> bool {
        let step = own_step(key.as_str());
        (step == self.at || self.top.as_deref() == Some(step)) && !key.as_str().contains("~budget")
    }

    /// Whether it is a tool or a command of the failed step that has succeeded, here or in the run that its result is from.
    fn is_done(&self, key: &Key, value: &PrivateValue, about: &ActivityMetadata) -> bool {
        match self.effects.get(key) {
            Some(sort) => sort == "tool" || exit_code(value.exact_value()) == 0,
            None => about.from.is_some() && about.model.is_none() && self.is_own(key),
        }
    }

    /// The activities found. `stopped`: see [`Replay::stopped_steps`].
    pub fn finish_scan(self, stopped: &BTreeSet<Arc<str>>) -> Vec<Key> {
        let Self { own, failed, fine, mut tries, .. } = self;
        tries.retain(|key| stopped.contains(own_step(key.as_str())));
        // If the step itself failed, failures under it may have been handled.
        let mut again: BTreeSet<Key> = match own.is_empty() {
            false => own.into_keys().collect(),
            true => failed.into_keys().filter(|key| !fine.contains(own_step(key.as_str()))).collect(),
        };
        again.extend(tries);
        again.into_iter().collect()
    }
}

/// A replay from the start, without what is void.
#[derive(Debug)]
pub struct ReplayRebuild {
    replay: Replay,
    void: Vec<(u64, BTreeSet<Key>)>,
    /// Activities that were requested before but not in this replay.
    strangers: BTreeMap<Key, ContentKey>,
    active: ActiveSteps,
}

/// Collects the steps that have started but not ended.
#[derive(Debug, Default)]
struct ActiveSteps(Vec<MachineEvent>);

impl ReplayObserver for ActiveSteps {
    fn observe_notice(&mut self, _at: WorkMs, past: super::ReplayNotice<'_>) {
        let super::ReplayNotice::Noted(noted) = past else { return };
        match &noted.kind {
            EventKind::StepStarted { .. } => self.0.push(noted.clone()),
            EventKind::StepFinished { .. } | EventKind::StepFailed { .. } => {
                self.0.retain(|begun| begun.key != noted.key);
            }
            _ => {}
        }
    }
}

impl ReplayRebuild {
    /// Starts with the first entry and the current limits. `before`: the complete replay as it was.
    pub fn from_first_entry(
        prepared: Arc<PreparedProgram>,
        first: &Entry,
        before: &Replay,
        next: JournalReopening,
        changes: &ResumeChanges,
    ) -> Result<Self, RunError> {
        let mut limits = before.machine.flags().clone();
        limits.apply_changes(changes);
        let mut active = ActiveSteps::default();
        let limits = ResumeChanges {
            spec: RunSpec { reserve: Some(limits.spec.reserve()), ..limits.spec },
            windows: limits.windows,
            ..ResumeChanges::default()
        };
        let traces = before.machine.core.traces;
        let differences = before.differences.clone();
        let replay = Replay::begin_with(prepared, first, &limits, (traces, differences), &mut active)?;
        let mut void = Vec::new();
        for reopening in before.reopenings.iter().chain([&next]) {
            void.push((reopening.seq, reopening.again.iter().cloned().collect()));
        }
        Ok(Self { replay, void, strangers: BTreeMap::new(), active })
    }

    /// The next entry.
    pub fn replay_entry(&mut self, entry: &Entry) -> Result<(), RunError> {
        let Self { replay, active, .. } = self;
        (replay.next_seq, replay.at_ms) = (entry.seq.saturating_add(1), entry.at_ms);
        if !matches!(entry.kind, EntryKind::Resumed { .. }) {
            replay.machine.read_entry(entry.at_ms);
        }
        match &entry.kind {
            EntryKind::Scheduled { key, sort, content, .. } => {
                replay.catch_up(active);
                if let Some(asked) = replay.asked.get_mut(key) {
                    replay.machine.mark_begun(&asked.activity);
                    asked.recorded = Some(RecordedRequest { seq: entry.seq, sort: sort.clone(), content: *content });
                } else {
                    self.strangers.insert(key.clone(), *content);
                }
                Ok(())
            }
            EntryKind::Completed { key, value, about } => self.apply_result(entry, key, Ok(value.clone()), about),
            EntryKind::Failed { key, error, about } => self.apply_result(entry, key, Err(error.clone()), about),
            EntryKind::Resumed { lost, changes, .. } => {
                replay.catch_up(active);
                replay.machine.mark_resumed(entry.at_ms);
                let prices = ResumeChanges { models: changes.models.clone(), ..ResumeChanges::default() };
                replay.machine.apply_changes(&prices);
                for lost in lost {
                    replay.machine.add_spent_usage(&lost.key, lost.usage);
                }
                let output = replay.machine.put_off(lost.iter().map(|lost| &lost.key));
                replay.take(output, active);
                Ok(())
            }
            EntryKind::Reopened { changes, .. } => {
                replay.catch_up(active);
                let prices = ResumeChanges { models: changes.models.clone(), ..ResumeChanges::default() };
                replay.machine.apply_changes(&prices);
                Ok(())
            }
            EntryKind::Restarted { key, given_by: _ } => {
                replay.catch_up(active);
                let output = replay.machine.restart_effect(key, entry.at_ms);
                replay.take(output, active);
                Ok(())
            }
            EntryKind::Started(_)
            | EntryKind::Suspended { .. }
            | EntryKind::CancelRequested {}
            | EntryKind::Finished { .. } => Ok(()),
        }
    }

    fn apply_result(
        &mut self,
        entry: &Entry,
        key: &Key,
        result: Result<PrivateValue, RunError>,
        about: &ActivityMetadata,
    ) -> Result<(), RunError> {
        let Self { replay, active, .. } = self;
        replay.catch_up(active);
        let void = self.void.iter().any(|(seq, keys)| entry.seq < *seq && keys.contains(key));
        // Calls that a limit ended were cancelled as well, and each of several reports it.
        let stopped = result.as_ref().is_err_and(|error| error.code == STOPPED || error.code == "BUDGET_EXCEEDED");
        if (void || stopped)
            && let Some(asked) = replay.asked.get_mut(key)
        {
            // It is repeated, but its usage counts.
            asked.recorded = None;
            replay.machine.add_spent_usage(key, about.usage.unwrap_or_default());
            return Ok(());
        }
        let wanted = replay.asked.contains_key(key) || replay.cancelled.contains_key(key);
        if wanted {
            replay.apply_result(entry, key, result, about, active)?;
            return self.remember(entry);
        }
        let cited = about.from.as_ref().map(|cited| cited.content);
        if let (Ok(value), Some(content), false) = (result, self.strangers.remove(key).or(cited), void) {
            let kept = KeptResult { seq: entry.seq, content, value, about: about.clone() };
            self.replay.memo.insert(key.clone(), kept);
        }
        Ok(())
    }

    /// An activity requested now whose result arrived earlier.
    fn remember(&mut self, entry: &Entry) -> Result<(), RunError> {
        let Self { replay, active, .. } = self;
        loop {
            replay.catch_up(active);
            let Some(key) = replay.first_known_request() else { return Ok(()) };
            let Some(KeptResult { seq, content, value, about }) = replay.memo.remove(&key) else { return Ok(()) };
            if let Some(asked) = replay.asked.get_mut(&key) {
                let sort = asked.activity.request.sort_name().into();
                asked.recorded = Some(RecordedRequest { seq, sort, content });
            }
            replay.apply_result(entry, &key, Ok(value), &about, active)?;
        }
    }

    /// How the run has ended again, if it has: resuming it is useless.
    pub fn ended_with(&mut self) -> Option<&Result<trefoil_template::Value, RunError>> {
        self.replay.catch_up(&mut self.active);
        self.replay.finished.as_ref()
    }

    /// Replaces the complete replay by the run as it continues. `entry`: the reopening.
    pub fn finish_rebuild(
        mut self,
        entry: &Entry,
        before: &mut Replay,
        watcher: &mut dyn ReplayObserver,
    ) -> Result<(), RunError> {
        let EntryKind::Reopened { again, execution, at, changes, .. } = &entry.kind else {
            return Err(differs(format!("entry {} does not reopen the run", entry.seq)));
        };
        if self.ended_with().is_some() {
            return Err(differs(format!("entry {} reopens a run that ends again", entry.seq)));
        }
        let Self { mut replay, active, .. } = self;
        // Usage remains, even of activities that are void.
        replay.machine.core.spent_before(&before.machine.core);
        replay.reopenings = std::mem::take(&mut before.reopenings);
        replay.reopenings.push(JournalReopening { seq: entry.seq, again: again.clone() });
        replay.answers = std::mem::take(&mut before.answers);
        if let Some(models) = &changes.models {
            replay.answers.clone_from(&models.answers);
        }
        replay.notes = std::mem::take(&mut before.notes);
        replay.executions = *execution;
        replay.fruitless = 0;
        let origin = at.saturating_sub(entry.at_ms);
        replay.machine.begin_at(origin);
        for asked in replay.asked.values_mut() {
            // Who is asked again has all of the time again.
            let step = own_step(asked.activity.key.as_str());
            let is_again = again.iter().any(|key| own_step(key.as_str()) == step);
            if let Request::Human(HumanRequest { answer_by: Some(by), timeout_ms, .. }) = &mut asked.activity.request {
                *by = match timeout_ms {
                    Some(ms) if is_again => at.saturating_add(*ms),
                    _ => by.saturating_add(origin.saturating_sub(replay.origin)),
                };
            }
        }
        replay.origin = origin;
        (replay.next_seq, replay.at_ms) = (entry.seq.saturating_add(1), entry.at_ms);
        replay.machine.apply_changes(changes);
        let answers = changes.models.as_ref().map(|models| models.answers.as_str());
        watcher.observe_notice(replay.work_time(), super::ReplayNotice::Resumed(*execution, answers));
        for mut noted in active.0 {
            watcher.observe_notice(replay.work_time(), super::ReplayNotice::Noted(&mut noted));
        }
        for activity in replay.under_way().filter(|a| matches!(a.request, Request::Human(_))) {
            watcher.observe_notice(replay.work_time(), super::ReplayNotice::Began(activity, None));
        }
        let mut keys = Vec::new();
        for asked in replay.asked.values() {
            keys.extend(done_again(&asked.activity, again));
        }
        for (key, _) in &keys {
            replay.asked.swap_remove(key);
        }
        let output = replay.machine.ask_again(&keys, entry.at_ms);
        replay.take(output, watcher);
        *before = replay;
        Ok(())
    }
}

impl Replay {
    /// The number of the next entry.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The last entry's time stamp.
    pub fn at_ms(&self) -> u64 {
        self.at_ms
    }

    /// How often the run was resumed so far.
    pub fn execution_count(&self) -> u32 {
        self.executions
    }

    /// The machine at the end of the journal.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The last setting of what answers model calls.
    pub fn answer_source(&self) -> &str {
        &self.answers
    }

    /// The keys of the steps that the failure of the run has stopped.
    pub fn stopped_steps(&self) -> &BTreeSet<Arc<str>> {
        &self.stopped
    }

    /// How the machine has ended the run.
    pub fn ended_with(&mut self) -> Option<&Result<trefoil_template::Value, RunError>> {
        self.catch_up(&mut NoObserver);
        self.finished.as_ref()
    }

    /// What the run asks for that its journal has no result of, in its order.
    pub fn asked_anew(&self) -> Vec<Arc<Activity>> {
        let mut unknown: Vec<&RequestedActivity> = Vec::new();
        for (key, asked) in &self.asked {
            if !self.is_known_request(key, asked) && asked.recorded.is_none() {
                unknown.push(asked);
            }
        }
        unknown.sort_by_key(|asked| asked.at);
        unknown.into_iter().map(|asked| Arc::new(asked.activity.clone())).collect()
    }

    /// Whether a result from before is one of this request.
    fn is_known_request(&self, key: &Key, asked: &RequestedActivity) -> bool {
        matches!(self.memo.get(key), Some(kept) if kept.content == asked.activity.content)
    }

    /// The first request, by its key, that has a result from before.
    fn first_known_request(&self) -> Option<Key> {
        for (key, kept) in &self.memo {
            if let Some(asked) = self.asked.get(key)
                && asked.activity.content == kept.content
            {
                return Some(key.clone());
            }
        }
        None
    }

    /// As [`Machine::begin_activities`]. Whether the run ends at a limit of the manifest.
    pub fn ends_before<'a>(&mut self, asked: impl IntoIterator<Item = &'a Activity>) -> bool {
        !self.machine.begin_activities(asked).commands.is_empty()
    }

    /// How the run ended, according to its journal.
    pub fn journal_outcome(&mut self) -> Option<&Result<trefoil_template::Value, RunError>> {
        self.catch_up(&mut NoObserver);
        if self.ended { self.finished.as_ref() } else { None }
    }
}

/// Whether an activity is requested again when the run is reopened, and its request if it is a timer. True for model calls that the
/// failure cancelled, and for the cause of the failure.
fn done_again(activity: &Activity, again: &[Key]) -> Option<(Key, Option<Request>)> {
    let named = again.contains(&activity.key);
    let key = activity.key.clone();
    match activity.request {
        Request::Model(_) => Some((key, None)),
        Request::Tool(_) | Request::Command(_) | Request::Human(_) if named => Some((key, None)),
        Request::Timer { .. } if named => Some((key, Some(activity.request.clone()))),
        _ => None,
    }
}
