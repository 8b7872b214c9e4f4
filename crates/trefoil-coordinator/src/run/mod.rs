//! The coordinator of a run: takes inputs, and says what its host must do.
//!
//! Completions go to the machine, and are stored in one append with the machine's next requests. Only then is anybody told, and is
//! anything started. So nothing is seen or performed before the entries that led to it are stored.
//!
//! What is to be done next is on the agenda. [`RunCoordinator::next_action`] works through it until a step needs the host; then
//! the state says which input is due. If the agenda is empty, a new turn begins ([`TurnPhase`]).

mod end;
mod limits;
mod messages;
mod recovery;
mod reuse;
mod steps;
mod suspension;
mod turn;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trefoil_machine::clock::{DueTime, RunClock, RunMs};
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{ActivityMetadata, EntryKind};
use trefoil_machine::key::{Key, KeyMap};
use trefoil_machine::machine::KeptResult;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Usage};
use trefoil_machine::{ActivityCompletion, Machine, MachineOutput, RunLimits};
use trefoil_template::Value;

use crate::action::{HostAction, JournalAppend, WorkId};
use crate::allowance::{Allowance, Share};
use crate::facts::HostFacts;
use crate::inbox_messages::InboxMessageIds;
use crate::input::{EndedActivity, EndedWork, RunInput, StopRequest, SuspendedCall, WorkOutcome};
use crate::memo::Memo;
use crate::notice::Notice;
use crate::outbox::JournalOutbox;
use crate::queue::CallQueue;
use crate::recovery::RecoveryPolicy;
use crate::state::{CoordinatorState, TurnPhase, UnexpectedInput};
use end::PendingRunEnd;
pub use recovery::{ResumedRun, RunResumption};
use suspension::LocalSuspension;

/// What does not change during a run in one process.
#[derive(Debug)]
pub struct RunSettings {
    /// The run's id.
    pub run: Arc<str>,
    /// How often it has been resumed: 0 in the process that started it.
    pub execution: u32,
    /// Whether its journal stores entries.
    pub keeps: bool,
    /// Whether model calls wait in a queue.
    pub queues: bool,
    /// How to handle activities with an unknown outcome.
    pub recovery: RecoveryPolicy,
    /// A run that waits for people is suspended only if its next timer is more than this many milliseconds away.
    pub linger_ms: u64,
    /// The limits of a run that reuses results of earlier runs. They are not enforced by the machine, because it counts all requests
    /// and does not know in advance which of them have results already.
    pub limits: RunLimits,
    /// Usage already counted for tool calls that may be made again.
    pub counted: BTreeMap<Key, Usage>,
}

/// A run in progress.
#[derive(Debug)]
pub struct RunCoordinator {
    machine: Machine,
    settings: RunSettings,
    state: CoordinatorState,
    agenda: VecDeque<AgendaTask>,
    /// What the host must do before the agenda continues.
    actions: VecDeque<HostAction>,
    /// How the run is to stop.
    wanted: StopRequest,
    /// The entries not yet written, with the messages that they act on.
    outbox: JournalOutbox,
    /// What to tell once the entries that led to it are written, and their times.
    notices: Vec<(RunMs, Notice)>,
    /// Activities that the machine requested. They have no entries yet, because the machine may still take them back.
    asked: Vec<Arc<Activity>>,
    /// Requested activities that are not performed, because [only one step](Memo::limited_to_step) is.
    omitted: Vec<Arc<Activity>>,
    /// Model calls that wait for their turn.
    queue: CallQueue,
    /// Activities that already have an entry and are to be started.
    starting: Vec<Arc<Activity>>,
    /// Activities that have ended without being started here.
    done: Vec<EndedActivity>,
    /// Runs started by tool calls. A message said that they can continue while the calls were still in progress.
    called_back: BTreeMap<String, InboxMessageIds>,
    under_way: KeyMap<InProgressActivity>,
    /// Stopped tool calls that have been given a moment to end.
    winding: Vec<(WorkId, Arc<Activity>)>,
    next_work: u64,
    /// What this run may use, together with the runs above and below it.
    allowance: Arc<Allowance>,
    /// Whether a tool call may have a share of the allowance.
    has_parts: bool,
    /// Stopped model calls, with what was known of them. Their usage is recorded when the machine waits again.
    stopped: Vec<(Arc<Activity>, ActivityMetadata)>,
    finished: Option<Box<Result<Value, RunError>>>,
    /// The activity whose decision is read.
    deciding: Option<Arc<Activity>>,
    /// How the run ends, while that is stored.
    ending: Option<Box<PendingRunEnd>>,
    /// Whether the run stops here without having ended, because it can be resumed.
    stays: bool,
    /// Whether it waits for permission to continue.
    is_suspended: bool,
    /// The secrets that were replaced in incoming data.
    replaced: BTreeSet<String>,
    /// Results from before the run was reopened.
    kept: BTreeMap<Key, KeptResult>,
    /// The results of earlier runs.
    memo: Option<Box<Memo>>,
}

/// What is to be done.
#[derive(Debug)]
enum AgendaTask {
    /// The next phase of a turn.
    Phase(TurnPhase),
    /// The machine has more pieces, and the events of the last one are told.
    Yield,
    /// The machine's next piece.
    Piece,
    /// The machine gets results, of this moment.
    Results(std::vec::IntoIter<EndedActivity>, u64),
    /// An activity whose outcome is unknown is continued.
    TakeUp(Arc<Activity>),
    /// The same, for all of these and for those of the requested activities that have these keys.
    TakeUpAll(Vec<Arc<Activity>>, BTreeSet<Key>),
    /// The machine requests lost model calls again.
    Lost(Vec<trefoil_machine::journal::LostModelCall>, u64),
    /// The messages that are in the inbox are handled.
    ReadInbox,
    /// Stopped calls get a moment to end.
    WindDown,
    /// The run is suspended, and that is stored.
    Suspended(Box<LocalSuspension>),
    /// The run ends.
    End(Result<Value, RunError>),
    /// The same, after stopped calls have ended.
    Store(Result<Value, RunError>),
    /// The end is stored.
    Close,
}

/// An activity in progress.
#[derive(Debug)]
struct InProgressActivity {
    activity: Arc<Activity>,
    waits: WaitTarget,
    /// The work for it. `None`: nobody works on it.
    work: Option<WorkId>,
}

/// What an activity waits for.
#[derive(Debug, PartialEq)]
enum WaitTarget {
    /// Work that is in progress.
    Work,
    /// A time.
    Time(DueTime),
    /// A person's answer, which arrives later.
    Answer,
    /// A person's decision.
    Decision,
    /// The run that the activity, a tool call, has started.
    Run(Box<SuspendedCall>),
}

impl RunCoordinator {
    fn new(machine: Machine, settings: RunSettings, memo: Option<Memo>, within: Option<Share>) -> Self {
        Self {
            machine,
            state: CoordinatorState::Ready,
            agenda: VecDeque::new(),
            actions: VecDeque::new(),
            wanted: StopRequest::No,
            outbox: JournalOutbox::new(settings.keeps),
            settings,
            notices: Vec::new(),
            asked: Vec::new(),
            omitted: Vec::new(),
            queue: CallQueue::default(),
            starting: Vec::new(),
            done: Vec::new(),
            called_back: BTreeMap::new(),
            under_way: KeyMap::default(),
            winding: Vec::new(),
            next_work: 0,
            allowance: Allowance::new(within),
            has_parts: false,
            stopped: Vec::new(),
            finished: None,
            deciding: None,
            ending: None,
            stays: false,
            is_suspended: false,
            replaced: BTreeSet::new(),
            kept: BTreeMap::new(),
            memo: memo.map(Box::new),
        }
    }

    /// The coordinator of a run that starts. `output`: what the machine requests first. `within`: the share of the call that started
    /// the run.
    pub fn begin_run(
        (machine, output): (Machine, MachineOutput),
        started: EntryKind,
        settings: RunSettings,
        (memo, within): (Option<Memo>, Option<Share>),
        facts: &dyn HostFacts,
    ) -> Self {
        let mut run = Self::new(machine, settings, memo, within);
        run.record(started, facts);
        run.take_output(output, facts);
        run
    }

    /// What it waits for.
    pub fn current_state(&self) -> CoordinatorState {
        self.state
    }

    /// Both clocks of the run.
    pub fn clock(&self) -> RunClock {
        self.machine.clock()
    }

    /// The results of earlier runs.
    pub fn memo(&self) -> Option<&Memo> {
        self.memo.as_deref()
    }

    /// The activity in progress under this key.
    pub fn running_activity(&self, key: &Key) -> Option<&Arc<Activity>> {
        Some(&self.under_way.get(key)?.activity)
    }

    /// The work in progress, in no particular order.
    pub fn running_work(&self) -> impl Iterator<Item = (WorkId, &Arc<Activity>)> {
        self.under_way.values().filter_map(|one| Some((one.work?, &one.activity)))
    }

    /// What the host must do next. `None`: an input is due, or the run has ended here.
    pub fn next_action(&mut self, facts: &dyn HostFacts) -> Option<HostAction> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                if matches!(action, HostAction::Wait { .. }) {
                    self.free_buffers();
                }
                return Some(action);
            }
            if self.state != CoordinatorState::Ready {
                return None;
            }
            let task = self.agenda.pop_front().unwrap_or(AgendaTask::Phase(TurnPhase::Results));
            if let Err(error) = self.perform(task, facts) {
                self.fail(error);
            }
        }
    }

    /// Frees the memory that is only needed between two waits. A process may hold thousands of runs that wait.
    fn free_buffers(&mut self) {
        self.agenda.shrink_to_fit();
        self.actions.shrink_to_fit();
        self.notices.shrink_to_fit();
        self.asked.shrink_to_fit();
        self.starting.shrink_to_fit();
        self.done.shrink_to_fit();
        self.stopped.shrink_to_fit();
    }

    /// Takes an input.
    ///
    /// # Errors
    ///
    /// The state does not expect it. Nothing has changed then.
    pub fn handle_input(&mut self, input: RunInput, facts: &dyn HostFacts) -> Result<(), UnexpectedInput> {
        self.state.check_input(&input)?;
        let before = std::mem::replace(&mut self.state, CoordinatorState::Ready);
        match input {
            RunInput::Found(found) => {
                if let Some(memo) = &mut self.memo {
                    memo.add_found_answers(found);
                }
            }
            RunInput::DecisionRead(decided) => {
                if let Err(error) = self.decision_read(decided, facts) {
                    self.fail(error);
                }
            }
            RunInput::InboxRead(received) => {
                if let Some(received) = received {
                    self.receive_message(received, facts);
                    self.agenda.push_front(AgendaTask::ReadInbox);
                }
            }
            RunInput::Appended(stored) => {
                self.outbox.finish_write(stored.is_ok());
                if let Err(error) = stored {
                    self.not_stored(error);
                }
            }
            RunInput::Admitted(admitted) => self.start_admitted(admitted, facts),
            RunInput::MayProceed => self.agenda.push_front(AgendaTask::Piece),
            RunInput::WorkEnded(ended) if before == CoordinatorState::WindingDown => {
                self.ended_late(ended, facts);
                self.state = if self.winding.is_empty() { CoordinatorState::Ready } else { before };
            }
            RunInput::WorkEnded(ended) => self.work_ended(ended, facts),
            RunInput::TurnCame | RunInput::MomentOver => {}
            RunInput::Arrived(received) => self.receive_message(received, facts),
            RunInput::StopWanted(wanted) => self.stop_wanted(wanted, before),
        }
        Ok(())
    }

    fn stop_wanted(&mut self, wanted: StopRequest, before: CoordinatorState) {
        let is_same = std::mem::replace(&mut self.wanted, wanted) == wanted;
        let CoordinatorState::Working { is_held } = before else {
            self.state = before;
            return;
        };
        if is_same {
            self.state = before;
        } else if !is_held || self.is_held() {
            self.agenda.push_back(AgendaTask::Phase(TurnPhase::Wait));
        }
    }

    fn perform(&mut self, task: AgendaTask, facts: &dyn HostFacts) -> Result<(), RunError> {
        match task {
            AgendaTask::Phase(phase) => return self.perform_phase(phase, facts),
            AgendaTask::Yield if self.wanted.is_now() => return self.stop_as_wanted(facts),
            AgendaTask::Yield => self.ask(HostAction::Yield, CoordinatorState::Yielding),
            AgendaTask::Piece => {
                let output = self.machine.next_piece();
                self.take_output(output, facts);
            }
            AgendaTask::Results(results, at_ms) => self.pass_results(results, at_ms, facts),
            AgendaTask::TakeUp(activity) => self.take_up(activity, facts),
            AgendaTask::TakeUpAll(restart, unknown) => self.take_up_all(restart, &unknown, facts),
            AgendaTask::Lost(lost, at_ms) => {
                let output = self.machine.recover_lost_calls(&lost, at_ms);
                self.take_output(output, facts);
            }
            AgendaTask::ReadInbox if self.finished.is_some() => {}
            AgendaTask::ReadInbox => self.ask(HostAction::ReadInbox, CoordinatorState::ReadingInbox),
            AgendaTask::WindDown if self.winding.is_empty() => {}
            AgendaTask::WindDown => self.ask(HostAction::WindDown, CoordinatorState::WindingDown),
            AgendaTask::Suspended(suspended) => self.end_suspended(*suspended, facts),
            AgendaTask::End(result) => self.end_run(result, facts),
            AgendaTask::Store(result) => self.store_end(result, facts),
            AgendaTask::Close => self.report_end(facts),
        }
        Ok(())
    }

    /// Asks the host for something, and waits for its reply.
    fn ask(&mut self, action: HostAction, state: CoordinatorState) {
        self.actions.push_back(action);
        self.state = state;
    }

    /// Nothing else is done but to end the run.
    fn finish(&mut self, result: Result<Value, RunError>) {
        self.agenda.clear();
        self.agenda.push_back(AgendaTask::End(result));
    }

    fn fail(&mut self, error: RunError) {
        self.finish(Err(error));
    }

    /// Stores the recorded entries, and then tells what they led to.
    fn commit(&mut self) {
        let written = self.outbox.take_batch();
        let notices = std::mem::take(&mut self.notices);
        if written.is_none() && notices.is_empty() {
            return;
        }
        let (entries, message_ids) = written.unwrap_or_default();
        self.ask(
            HostAction::Append(Box::new(JournalAppend { entries, message_ids, notices })),
            CoordinatorState::Appending,
        );
    }

    fn not_stored(&mut self, error: RunError) {
        match &mut self.ending {
            Some(ending) => ending.not_stored(error, &mut self.is_suspended),
            None => self.fail(error),
        }
    }

    /// Records an entry, which is written with the next commit.
    fn record(&mut self, kind: EntryKind, facts: &dyn HostFacts) {
        self.record_at(facts.now_ms(), || kind);
    }

    fn record_at(&mut self, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        self.record_for(InboxMessageIds::default(), at_ms, kind);
    }

    /// Records an entry that acts on messages.
    fn record_for(&mut self, message_ids: InboxMessageIds, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        self.outbox.add_entry(message_ids, at_ms, kind);
    }

    /// Tells what the last entry led to, once that is written.
    fn tell(&mut self, notice: Notice) {
        self.notices.push((self.outbox.last_at(), notice));
    }

    /// Tells that an activity starts.
    fn tell_began(&mut self, activity: &Arc<Activity>, facts: &dyn HostFacts) {
        if facts.is_watched() {
            self.tell(Notice::Began(activity.clone(), None));
        }
    }

    /// Records and tells that an activity has ended. What of its result must not be shown is told even if nobody watches. Returns
    /// what the machine gets.
    fn record_ended(&mut self, at_ms: u64, done: EndedActivity, facts: &dyn HostFacts) -> ActivityCompletion {
        let EndedActivity { activity, result, about, message_ids } = done;
        let is_private = result.as_ref().is_ok_and(|value| !value.hidden_parts().is_empty());
        let is_told = facts.is_watched() || is_private;
        let mut notice = None;
        if is_told {
            notice = Some(Notice::Ended(activity.clone(), result.clone(), Box::new(about.clone())));
        }
        let (key, is_reused) = (activity.key.clone(), about.is_reused());
        let completion = ActivityCompletion {
            key: key.clone(),
            at_ms,
            result: result.clone().map(PrivateValue::into_exact),
            usage: about.usage,
            reused: about.reused_usage(),
            repeatable: about.repeatable,
            sent: about.sent.clone(),
        };
        self.record_for(message_ids, at_ms, || match result {
            Ok(value) => EntryKind::Completed { key, value, about: Box::new(about) },
            Err(error) => EntryKind::Failed { key, error: error.without_location(), about: Box::new(about) },
        });
        if is_reused {
            self.tell_began(&activity, facts);
        }
        if let Some(notice) = notice {
            self.tell(notice);
        }
        completion
    }

    /// Milliseconds on the run's work clock.
    fn worked_ms(&self, facts: &dyn HostFacts) -> u64 {
        self.machine.clock().work_at(RunMs(facts.now_ms())).0
    }

    /// How long a timer still runs.
    fn time_left(&self, due: DueTime, facts: &dyn HostFacts) -> u64 {
        self.machine.clock().time_left(due, RunMs(facts.now_ms()))
    }

    /// The permission that this process lacks for an activity of a resumed run, or of the run of a call. Another process may have it.
    fn lacks_permission(&self, next: &Activity, facts: &dyn HostFacts) -> Option<RunError> {
        let is_later = self.settings.execution > 0 || self.allowance.is_of_call();
        if self.outbox.is_journaled() && is_later { facts.permission_refusal(next) } else { None }
    }

    /// Work of the host has ended.
    fn work_ended(&mut self, ended: Vec<EndedWork>, facts: &dyn HostFacts) {
        let (mut done, mut is_turn) = (Vec::new(), false);
        for EndedWork { work, key, how } in ended {
            match how {
                WorkOutcome::Done(one) => done.extend(self.accept_result(work, *one, facts)),
                WorkOutcome::Kept => self.mark_waiting(work, &key, WaitTarget::Answer),
                WorkOutcome::Called(call) => {
                    self.suspend_call(work, &key, call, facts);
                    is_turn = true;
                }
            }
        }
        if !done.is_empty() {
            self.complete_activities(done, facts);
        } else if !is_turn {
            self.agenda.push_back(AgendaTask::Phase(TurnPhase::Wait));
        }
    }
}
