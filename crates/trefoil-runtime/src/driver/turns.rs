//! The loop of a run. In each turn, the machine gets completions, and its next requests are recorded and started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use trefoil_template::Value;

use super::activity::{self, Done, Performed, World};
use super::cancel::{self, INTERRUPTED, Stop};
use super::fill::Incoming;
use super::memo::Memo;
use super::model;
use super::outbox::Outbox;
use super::queue::{self, Queue, Ready};
use super::reuse::Guard;
use super::suspend::{self, Suspended};
use super::told::{STOPPED, Untold, warned};
use super::{Cancel, Options, Recovery, RunOutcome};
use crate::allowance::Allowance;
use crate::limits::CallPermit;
use crate::ports::{Arrived, Letters, Meter, Received, SuspendedCall};
use trefoil_machine::clock::Due;
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{About, EntryKind};
use trefoil_machine::key::{Key, KeyMap};
use trefoil_machine::machine::Kept;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Command, Completion, Machine, Output};

/// Maximum number of completions that are processed before the journal is written.
const BATCH: usize = 256;

/// A run in progress.
pub struct Driver {
    pub(super) machine: Machine,
    pub(super) world: Arc<World>,
    pub(super) going: Going,
    /// The entries not yet written, with the letters that they act on.
    pub(super) outbox: Outbox,
    /// Events to send once the entries that led to them are written.
    untold: Vec<Untold>,
    /// Activities that the machine requested. They have no entries yet, because the machine may still take them back.
    pub(super) asked: Vec<Arc<Activity>>,
    /// Model calls that wait for their turn.
    pub(super) queue: Queue,
    /// Activities that already have an entry and are to be started.
    pub(super) starting: Vec<(Arc<Activity>, Option<Arc<CallPermit>>)>,
    /// Activities that have ended without being started here.
    pub(super) done: Vec<Done>,
    /// Runs started by tool calls. A message said that they can continue while the calls were still in progress.
    pub(super) called_back: BTreeMap<String, Letters>,
    pub(super) work: FuturesUnordered<Abortable<BoxFuture<'static, Performed>>>,
    pub(super) under_way: KeyMap<UnderWay>,
    /// Stopped tool calls that have been given a moment to end.
    pub(super) winding: Vec<(Arc<Activity>, Arc<Meter>)>,
    /// What this run may use, together with the runs above and below it.
    pub(super) allowance: Arc<Allowance>,
    /// Whether a tool call may have a share of the allowance.
    pub(super) has_parts: bool,
    /// Stopped model calls. Their usage is recorded when the machine waits again.
    stopped: Vec<(Arc<Activity>, Arc<Meter>)>,
    /// Permits of calls that have ended, held until the machine knows the results.
    places: Vec<Arc<CallPermit>>,
    pub(super) finished: Option<Box<Result<Value, RunError>>>,
    /// Whether the run stops here without having ended, because it can be resumed.
    pub(super) stays: bool,
    /// Whether it waits for permission to continue.
    pub(super) is_suspended: bool,
    /// The secrets that were replaced in incoming data.
    pub(super) replaced: BTreeSet<String>,
    /// Results from before the run was reopened.
    pub(super) kept: BTreeMap<Key, Kept>,
    /// The limits of a run that reuses results of earlier runs.
    pub(super) guard: Guard,
    /// The results of earlier runs.
    pub(super) memo: Option<Box<Memo>>,
}

/// The options that are needed after the start.
pub struct Going {
    pub(super) cancel: Cancel,
    pub(super) recovery: Recovery,
    pub(super) linger_ms: u64,
}

/// An activity in progress.
pub struct UnderWay {
    pub(super) activity: Arc<Activity>,
    pub(super) waits: Waits,
    /// Aborts the activity's future. `None`: this process has no future for it.
    handle: Option<AbortHandle>,
    /// Its usage so far.
    pub(super) meter: Arc<Meter>,
}

/// What an activity waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Waits {
    /// Work that is in progress.
    Work,
    /// A time.
    Time(Due),
    /// A person's answer, which arrives later.
    Answer,
    /// A person's decision.
    Decision,
    /// The run that the activity, a tool call, has started.
    Run(Box<SuspendedCall>),
}

/// What ends the wait between two turns.
enum Next {
    Done(Box<Done>),
    /// A waiting model call may start, or a tool call waits for the run that it started.
    Turn,
    Arrived(Received<Arrived>),
    Cancelled,
    Suspended(Suspended),
}

/// How the loop ends.
enum TurnsEnd {
    With(Result<Value, RunError>),
    Suspended(Suspended),
}

impl Driver {
    /// The driver of a run in which nothing has happened yet.
    pub fn new(machine: Machine, world: Arc<World>, options: Options, guard: Guard) -> Box<Self> {
        let Options { cancel, recovery, linger_ms, places, memo, within, .. } = options;
        let memo = memo.map(|memo| Box::new(memo.used_by(&world.prepared, &world.ports.tools)));
        let queue = Queue::new(places.map(|places| places.of_run()), world.clone());
        Box::new(Self {
            machine,
            outbox: Outbox::of(&*world.ports.journal),
            world,
            going: Going { cancel, recovery, linger_ms: linger_ms.unwrap_or(super::LINGER_MS) },
            untold: Vec::new(),
            asked: Vec::new(),
            queue,
            starting: Vec::new(),
            done: Vec::new(),
            called_back: BTreeMap::new(),
            work: FuturesUnordered::new(),
            under_way: KeyMap::default(),
            winding: Vec::new(),
            allowance: Allowance::new(within),
            has_parts: false,
            stopped: Vec::new(),
            places: Vec::new(),
            finished: None,
            stays: false,
            is_suspended: false,
            replaced: BTreeSet::new(),
            kept: BTreeMap::new(),
            guard,
            memo,
        })
    }

    /// Sets the number of the next entry, and the results from before the run was reopened.
    pub fn continue_at(&mut self, seq: u64, kept: BTreeMap<Key, Kept>) {
        self.kept = kept;
        self.outbox.continue_at(seq);
    }

    /// Drives the run until it has ended or is suspended.
    pub async fn drive(mut self: Box<Self>, output: Output) -> RunOutcome {
        match self.turns(output).await {
            // Boxed, because this future is needed only once, at the end: it would take memory while the run waits.
            TurnsEnd::With(result) => Box::pin(self.end(result)).await,
            TurnsEnd::Suspended(suspended) => {
                self.wind_down().await;
                self.outcome(Err(suspend::error(&suspended.waiting)), suspended.waiting)
            }
        }
    }

    async fn turns(&mut self, output: Output) -> TurnsEnd {
        let mut turns = 0u32;
        let mut turn = self.take(output).await;
        loop {
            let ended = std::mem::take(&mut self.done);
            if turn.is_ok() && !ended.is_empty() {
                turn = Box::pin(self.complete(ended)).await;
            }
            if let Err(error) = turn {
                return TurnsEnd::With(Err(error));
            }
            if let Some(result) = self.finished.take() {
                return TurnsEnd::With(*result);
            }
            let starting = self.starting.iter().map(|(activity, _)| activity);
            let lacks = self.asked.iter().chain(starting).find_map(|next| self.lacks_permission(next));
            if let Some(error) = lacks {
                self.leave_to_others(&error);
                return TurnsEnd::With(Err(error));
            }
            self.look_up().await;
            if let Err(error) = self.reuse() {
                return TurnsEnd::With(Err(error));
            }
            if self.finished.is_some() {
                turn = Ok(());
                continue;
            }
            if let Some((error, waits)) = self.beyond_limits() {
                if waits {
                    self.stop_before_asked(&error);
                    return TurnsEnd::With(Err(error));
                }
                let output = self.machine.end(error);
                self.take_piece(output);
                self.book_stopped();
                turn = Ok(());
                continue;
            }
            // A run that is being stopped starts nothing that would be stopped at once.
            if !self.is_held() && !self.going.cancel.is_cancelled() {
                self.schedule();
            }
            if let Err(error) = self.commit().await {
                return TurnsEnd::With(Err(error));
            }
            self.start();
            if !self.done.is_empty() {
                turn = Ok(());
                continue;
            }
            turn = match self.next().await {
                // Boxed, so that this future takes no memory while the run waits.
                Ok(Next::Done(first)) => Box::pin(self.complete_with(*first)).await,
                Ok(Next::Turn) => Ok(()),
                Ok(Next::Arrived(arrived)) => {
                    self.arrive(arrived);
                    Ok(())
                }
                Ok(Next::Cancelled) => self.stopped(),
                Ok(Next::Suspended(suspended)) => match self.suspend(&suspended).await {
                    Ok(()) => return TurnsEnd::Suspended(suspended),
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            // Lets other tasks run, even if all answers arrive at once.
            turns += 1;
            if turns.is_multiple_of(64) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The permission that this process lacks for an activity of a resumed run, or of the run of a call. Another process may have it.
    pub(super) fn lacks_permission(&self, next: &Activity) -> Option<RunError> {
        let is_later = self.world.execution > 0 || self.allowance.is_of_call();
        if self.outbox.keeps() && is_later { self.world.not_allowed(next) } else { None }
    }

    /// Sends an event once the entries recorded so far are written.
    pub(super) fn tell(&mut self, untold: Untold) {
        self.untold.push(untold);
    }

    /// The same for the events of an activity that starts.
    pub(super) fn tell_began(&mut self, activity: &Activity) {
        self.world.began(activity, &mut |untold| self.untold.push(untold));
    }

    /// Records entries for the requested activities, which can no longer be taken back. A model call that has to wait gets its
    /// entry when its turn comes.
    fn schedule(&mut self) {
        let now = self.world.watch.now_ms();
        while let Some(ready) = self.queue.ready() {
            self.begin(now, ready);
        }
        for activity in std::mem::take(&mut self.asked) {
            if let Some(ready) = self.queue.enter(activity) {
                self.begin(now, ready);
            }
        }
    }

    /// Records entries for the requested activities with these keys, and returns them without starting them.
    pub(super) fn begin_those(&mut self, keys: &BTreeSet<Key>) -> Vec<Arc<Activity>> {
        let now = self.world.watch.now_ms();
        let (those, asked): (Vec<_>, _) =
            std::mem::take(&mut self.asked).into_iter().partition(|activity| keys.contains(&activity.key));
        self.asked = asked;
        for activity in &those {
            self.write_down(now, activity);
        }
        those
    }

    fn begin(&mut self, now: u64, ready: Ready) {
        let Ready { activity, place, limit } = ready;
        let model =
            |(last, _): &(Arc<Activity>, _)| matches!(last.request, Request::Model(_)).then(|| last.key.clone());
        let call = self.starting.last().and_then(model);
        let activity = match queue::limits(&activity) {
            Some(of) if call.is_some_and(|call| call.as_str() == of) => self.limit_from_now(&activity),
            _ => activity,
        };
        self.write_down(now, &activity);
        self.starting.push((activity, place));
        if let Some(limit) = limit {
            self.begin(now, Ready::at_once(limit));
        }
    }

    /// A time limit that starts now.
    fn limit_from_now(&self, limit: &Arc<Activity>) -> Arc<Activity> {
        let Request::Timer { ms, due } = limit.request else { return limit.clone() };
        let request = Request::Timer { ms, due: self.world.watch.due_from_now(due, ms) };
        Arc::new(Activity { request, ..(**limit).clone() })
    }

    /// Records the entry of an activity that is to be started.
    fn write_down(&mut self, now: u64, activity: &Activity) {
        self.record_at(now, || EntryKind::Scheduled {
            key: activity.key.clone(),
            sort: activity.request.sort().into(),
            content: activity.content,
            due_ms: if let Request::Timer { due: Due::Run(at), .. } = activity.request { Some(at.0) } else { None },
            again: activity.again,
        });
        self.tell_began(activity);
    }

    /// Writes the recorded entries, then sends their events.
    pub(super) async fn commit(&mut self) -> Result<(), RunError> {
        self.flush().await?;
        for (key, location, kind) in std::mem::take(&mut self.untold) {
            self.world.watch.note(key, location, kind);
        }
        self.queue.tell_delays();
        Ok(())
    }

    /// Starts the activities that have an entry.
    fn start(&mut self) {
        for (activity, place) in std::mem::take(&mut self.starting) {
            let (handle, registration) = AbortHandle::new_pair();
            let meter = self.meter(&activity);
            let waits = match activity.request {
                Request::Timer { due, .. } => Waits::Time(due),
                _ => Waits::Work,
            };
            let handle = Some(handle);
            let under_way = UnderWay { activity: activity.clone(), waits, handle, meter: meter.clone() };
            self.under_way.insert(activity.key.clone(), under_way);
            let future = activity::perform(self.world.clone(), activity, meter, place).boxed();
            self.work.push(Abortable::new(future, registration));
        }
    }

    /// Removes an activity that was to be started, until it is requested again.
    pub(super) fn not_yet(&mut self, key: Option<&Key>) {
        self.starting.retain(|(activity, _)| Some(&activity.key) != key);
        self.asked.retain(|activity| Some(&activity.key) != key);
    }

    /// Adds an activity that only waits for a message.
    pub(super) fn wait(&mut self, activity: Arc<Activity>, waits: Waits) {
        let key = activity.key.clone();
        self.under_way.insert(key, UnderWay { activity, waits, handle: None, meter: Arc::default() });
    }

    /// Waits until the run can continue.
    async fn next(&mut self) -> Result<Next, RunError> {
        loop {
            let cancel = &self.going.cancel;
            if cancel.is_cancelled() {
                return Ok(Next::Cancelled);
            }
            let drains = cancel.is_draining();
            // A run that this one has called may wait only because it was drained, too.
            let waits = if drains && self.waits_for_called() { None } else { self.only_waits() };
            if let Some(suspended) = waits {
                return Ok(Next::Suspended(suspended));
            }
            if self.is_drained() {
                return Ok(Next::Cancelled);
            }
            if drains {
                self.drain_called();
            }
            let held = self.is_held();
            if self.work.is_empty() && self.queue.is_empty() && !held {
                return Err(RunError::new("LIMIT_EXCEEDED", "internal error: nothing is in flight"));
            }
            let performed = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(Next::Cancelled),
                arrived = self.world.ports.humans.arrived(&self.world.watch.run) => return Ok(Next::Arrived(arrived)),
                performed = self.work.next(), if !self.work.is_empty() => performed,
                () = self.queue.turn(), if !held && !self.queue.is_empty() => return Ok(Next::Turn),
                () = self.going.cancel.released(), if held => return Ok(Next::Turn),
                () = self.going.cancel.drained(), if !drains => continue,
                () = self.world.drafts_due() => {
                    self.keep_drafts().await;
                    continue;
                }
            };
            match performed {
                Some(Ok(Performed::Done(done, place))) => {
                    self.places.extend(place);
                    return Ok(Next::Done(done));
                }
                Some(Ok(Performed::Kept(key))) => self.kept(&key, Waits::Answer),
                Some(Ok(Performed::Called(key, call))) => {
                    self.called(&key, call);
                    return Ok(Next::Turn);
                }
                // The future of a cancelled activity has ended.
                Some(Err(_)) | None => {}
            }
        }
    }

    /// Marks an activity in progress as waiting for a message.
    fn kept(&mut self, key: &Key, waits: Waits) {
        if let Some(under_way) = self.under_way.get_mut(key) {
            under_way.waits = waits;
        }
    }

    /// Called when the run that a tool call started is suspended. The step's time limit applies to the work, not to the wait, so it
    /// starts again with the next call.
    fn called(&mut self, key: &Key, call: Box<SuspendedCall>) {
        if let Some(limit) = self.machine.limit_of(key) {
            self.put_away(&limit);
        }
        let can_continue = self.called_back.remove(&*call.run);
        self.kept(key, Waits::Run(call));
        if let Some(letters) = can_continue {
            self.call_again(key, letters);
        }
    }

    /// Repeats a tool call whose run can continue.
    pub(super) fn call_again(&mut self, key: &Key, letters: Letters) {
        if let Some(UnderWay { activity, .. }) = self.put_away(key) {
            self.repeat(activity, letters);
        }
    }

    /// Ends a suspended run that is no longer needed: makes its tool call again with the stop switch used, so that the tool ends
    /// the run.
    fn call_off(&mut self, activity: Arc<Activity>) {
        let meter = self.meter(&activity);
        meter.stop().cancel();
        self.winding.push((activity.clone(), meter.clone()));
        let (_, registration) = AbortHandle::new_pair();
        let future = activity::perform(self.world.clone(), activity, meter, None).boxed();
        self.work.push(Abortable::new(future, registration));
    }

    /// An activity ends with a value that no port returned.
    pub(super) fn came_in(&mut self, activity: Arc<Activity>, value: Value, letters: Letters) {
        let Incoming { value, replaced } = self.world.secrets.take_in(value);
        let about = About { replaced, ..About::default() };
        self.done.push(Done { activity, result: Ok(value), about, letters });
    }

    /// Removes an activity in progress, and stops its work in this process.
    pub(super) fn put_away(&mut self, key: &Key) -> Option<UnderWay> {
        let under_way = self.under_way.swap_remove(key)?;
        // This process does no work for it.
        if matches!(under_way.waits, Waits::Run(_)) {
            return Some(under_way);
        }
        match (under_way.meter.winds_down(), &under_way.handle) {
            (Some(stop), _) => {
                stop.cancel();
                self.winding.push((under_way.activity.clone(), under_way.meter.clone()));
            }
            (None, Some(handle)) => handle.abort(),
            (None, None) => {}
        }
        Some(under_way)
    }

    /// Passes a completed activity to the machine, together with all others that have ended by now.
    async fn complete_with(&mut self, first: Done) -> Result<(), RunError> {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Some(Some(next)) = self.work.next().now_or_never()
        {
            match next {
                Ok(Performed::Done(done, place)) => {
                    self.places.extend(place);
                    batch.push(*done);
                }
                Ok(Performed::Kept(key)) => self.kept(&key, Waits::Answer),
                Ok(Performed::Called(key, call)) => self.called(&key, call),
                Err(_aborted) => {}
            }
        }
        self.complete(batch).await
    }

    async fn complete(&mut self, batch: Vec<Done>) -> Result<(), RunError> {
        let batch = self.wound_down(batch);
        // All of them have ended, even if the machine reacts to the first by cancelling others.
        for done in &batch {
            self.under_way.swap_remove(&done.activity.key);
        }
        let now = self.world.watch.now_ms();
        for Done { activity, result, mut about, letters } in batch {
            let key = activity.key.clone();
            if about.is_reused() {
                self.machine.not_made(&activity);
            }
            if about.from.is_none() {
                self.machine.begun(&activity);
            }
            self.price(&activity, &mut about);
            let (usage, reused, repeatable, sent) = (about.usage, about.reused(), about.repeatable, about.sent.clone());
            self.world.ended(&activity, &result, &about, &mut |untold| self.untold.push(untold));
            self.replaced.extend(about.replaced.iter().cloned());
            self.record_for(letters, now, || match result.clone() {
                Ok(value) => EntryKind::Completed { key: key.clone(), value, about: Box::new(about) },
                Err(error) => EntryKind::Failed { key: key.clone(), error: error.stored(), about: Box::new(about) },
            });
            let result = result.map(PrivateValue::into_exact);
            let output = self.machine.on(Completion { key, at_ms: now, result, usage, reused, repeatable, sent });
            self.take(output).await?;
        }
        self.places.clear();
        Ok(())
    }

    /// What an activity used, and what models used that were asked before: each at its own price. From here on the journal says it.
    fn price(&self, activity: &Activity, about: &mut About) {
        let mut before: Option<Usage> = None;
        for one in &mut about.told.before {
            one.usage = one.usage.map(|usage| self.machine.priced(activity, usage.plausible(), Some(&one.model)));
            one.usage.into_iter().for_each(|usage| before.get_or_insert_default().add(usage));
        }
        // Providers may report any numbers, and so may an embedder's tools.
        let Some(own) = about.usage.map(Usage::plausible) else { return };
        // The last model may have used nothing, although others have.
        let is_used = before.is_none() || own != Usage::default();
        let mut all = if is_used { self.machine.priced(activity, own, about.model.as_deref()) } else { own };
        before.into_iter().for_each(|before| all.add(before));
        about.usage = Some(all.plausible());
    }

    /// Handles the use of the cancel switch.
    fn stopped(&mut self) -> Result<(), RunError> {
        if self.outbox.keeps() && matches!(self.going.cancel.wanted(), Stop::Interrupt | Stop::Drain) {
            return Err(cancel::interrupted());
        }
        self.stop(Letters::default());
        Ok(())
    }

    /// Cancels the run. `letters`: those that request it.
    pub(super) fn stop(&mut self, letters: Letters) {
        let now = self.world.watch.now_ms();
        self.record_for(letters, now, || EntryKind::CancelRequested {});
        let output = self.machine.cancel();
        self.take_piece(output);
        self.book_stopped();
    }

    /// Records the known usage of stopped model calls, because it was spent.
    pub(super) fn book_stopped(&mut self) {
        let now = self.world.watch.now_ms();
        for (activity, meter) in std::mem::take(&mut self.stopped) {
            let key = activity.key.clone();
            let result: Result<PrivateValue, _> = Err(RunError::new(STOPPED, "the call was stopped"));
            let told = meter.instead().map(|instead| model::called(&self.world, &instead)).unwrap_or_default();
            let model = told.instead.clone().or_else(|| self.world.model(&activity));
            let partial = self.world.partial(&activity, &meter);
            let mut about = About { model, partial, told, ..About::usage(Some(meter.read())) };
            self.price(&activity, &mut about);
            let usage = about.usage;
            self.world.ended(&activity, &result, &about, &mut |untold| self.untold.push(untold));
            if let Err(error) = &result {
                let about = Box::new(about);
                self.record_at(now, || EntryKind::Failed { key: key.clone(), error: error.clone().stored(), about });
            }
            // Nothing waits for the result: the machine only adds the usage.
            let result = result.map(PrivateValue::into_exact);
            self.machine.on(Completion { usage, ..Completion::new(key, now, result) });
        }
    }

    /// Processes the machine's output until the machine waits or has ended.
    pub(super) async fn take(&mut self, mut output: Output) -> Result<(), RunError> {
        loop {
            let more = output.more;
            self.take_piece(output);
            if !more {
                self.book_stopped();
                return Ok(());
            }
            // Sends the events so far, so that watchers see progress.
            self.commit().await?;
            if self.going.cancel.is_cancelled() {
                return self.stopped();
            }
            // Lets other tasks run, including one that cancels the run.
            tokio::task::yield_now().await;
            output = self.machine.proceed();
        }
    }

    pub(super) fn take_piece(&mut self, output: Output) {
        for mut noted in output.events {
            let untold = self.world.noted(&mut noted);
            self.untold.push(untold);
        }
        let mut void = BTreeSet::new();
        for command in output.commands {
            match command {
                Command::Start(activity) => {
                    // Cancelled, and requested again in the same output.
                    if void.remove(&activity.key) {
                        self.take_back(|key| *key == activity.key);
                    }
                    self.asked.push(Arc::new(activity));
                }
                Command::Cancel(key) => match self.put_away(&key) {
                    Some(UnderWay { activity, waits, meter, .. }) => {
                        if matches!(activity.request, Request::Model(_)) {
                            self.stopped.push((activity, meter));
                        } else if matches!(waits, Waits::Run(_)) {
                            self.call_off(activity);
                        }
                    }
                    None => {
                        void.insert(key);
                    }
                },
                Command::Finish(result) => self.finished = Some(Box::new(result)),
            }
        }
        if !void.is_empty() {
            self.take_back(|key| void.contains(key));
        }
    }

    /// Takes back activities that have not started, as if they had never been requested.
    fn take_back(&mut self, unwanted: impl Fn(&Key) -> bool) {
        self.starting.retain(|(activity, _)| !unwanted(&activity.key));
        let (back, asked) = std::mem::take(&mut self.asked).into_iter().partition(|asked| unwanted(&asked.key));
        self.asked = asked;
        for activity in self.queue.take_back(unwanted).into_iter().chain(back) {
            self.machine.not_made(&activity);
        }
    }

    /// Records an entry, which is written with the next commit.
    pub fn record(&mut self, kind: EntryKind) {
        let now = self.world.watch.now_ms();
        self.record_at(now, || kind);
    }

    pub(super) fn record_at(&mut self, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        self.record_for(Letters::default(), at_ms, kind);
    }

    /// Records an entry that acts on letters.
    pub(super) fn record_for(&mut self, letters: Letters, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        self.outbox.put(letters, at_ms, kind);
    }

    async fn flush(&mut self) -> Result<(), RunError> {
        let written = self.outbox.flush(&*self.world.ports.journal, &self.world.watch.run).await;
        written.map_err(|error| {
            // The entries are not stored, so their events are not sent.
            self.untold.clear();
            super::journal_error(error)
        })
    }

    pub(super) async fn end(mut self: Box<Self>, result: Result<Value, RunError>) -> RunOutcome {
        // The machine's own errors may quote results of models and tools.
        let result = result.map_err(|error| self.world.secrets.hide_error(error));
        self.wind_down().await;
        // Drops the futures of all activities in progress.
        self.work.clear();
        let mut result = result.and_then(|value| self.world.secrets.result(&*self.world.ports.secrets, &value));
        let mut warnings = result.as_ref().map(|value| self.changed(value.exact())).unwrap_or_default();
        let (output, error) = sides(&result);
        // A run has not ended if its journal cannot be written, or if it stops here to be resumed.
        let mut open =
            self.stays || error.as_ref().is_some_and(|e| ["JOURNAL_ERROR", INTERRUPTED].contains(&e.code.as_str()));
        if open {
            self.keep_drafts().await;
        } else {
            let (error, warnings) = (error.map(RunError::stored), warnings.clone());
            self.record(EntryKind::Finished { output, error, items: self.machine.failed_items(), warnings });
        }
        // A run is reported as waiting only once that is stored.
        if let Err(failed) = self.commit().await
            && (!open || std::mem::take(&mut self.is_suspended))
        {
            (result, open) = (Err(failed), true);
            warnings.clear();
        }
        let failed = result.as_ref().err().filter(|error| self.outbox.keeps() && !open && error.code != STOPPED);
        let continues = match failed {
            Some(error) => super::reopen::is_possible(&self.world, error, self.memo.as_deref()).await,
            None => open && self.outbox.is_kept(),
        };
        let (output, error) = sides(&result);
        let outcome = RunOutcome { continues, warnings: warnings.clone(), ..self.outcome(result, Vec::new()) };
        if outcome.suspended {
            return outcome;
        }
        let RunOutcome { items, usage, calls, duration_ms, .. } = outcome;
        for (key, location, kind) in warned(&warnings) {
            self.world.watch.note(key, location, kind);
        }
        let finished = EventKind::RunFinished { output, error, items, usage, calls, duration_ms };
        match open {
            true => self.world.watch.delta(None, None, finished),
            false => self.world.watch.note(None, None, finished),
        }
        outcome
    }
}

/// The output, and the error.
fn sides(result: &Result<PrivateValue, RunError>) -> (Option<PrivateValue>, Option<RunError>) {
    match result {
        Ok(value) => (Some(value.clone()), None),
        Err(error) => (None, Some(error.clone())),
    }
}
