//! The turns of a run: what came back, what the machine makes of it, what is written down, what is started.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use indexmap::IndexMap;
use trefoil_template::Value;

use super::activity::{self, Done, Performed, World};
use super::cancel::{self, INTERRUPTED, Stop};
use super::memo::Memo;
use super::queue::{self, Queue, Ready};
use super::reuse::Guard;
use super::suspend::{self, Suspended};
use super::told::{STOPPED, Untold};
use super::{Cancel, Options, Recovery, RunOutcome};
use crate::allowance::Allowance;
use crate::limits::CallPermit;
use crate::ports::{Arrived, Meter};
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{About, Entry, EntryKind, VERSION};
use trefoil_machine::key::Key;
use trefoil_machine::machine::Kept;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Command, Completion, Machine, Output};

/// Completions taken together before the journal is written.
const BATCH: usize = 256;

/// A run in progress.
pub struct Driver {
    pub(super) machine: Machine,
    pub(super) world: Arc<World>,
    pub(super) going: Going,
    next_seq: u64,
    /// Whether anybody keeps the entries.
    keeps: bool,
    /// Whether any of them has been written, by this process or an earlier one.
    is_kept: bool,
    /// Entries not yet written.
    buffer: Vec<Entry>,
    /// What happened, to be told once the entries that led to it are written.
    untold: Vec<Untold>,
    /// What the machine asked for. It has an entry when nothing can take it back any more.
    pub(super) asked: Vec<Arc<Activity>>,
    /// Model calls that wait for their turn.
    pub(super) queue: Queue,
    /// What has its entry already and is to be started.
    pub(super) starting: Vec<(Arc<Activity>, Option<CallPermit>)>,
    /// What has ended without having been started here.
    pub(super) done: Vec<Done>,
    /// What came in for these is in the buffer.
    pub(super) settled: Vec<Key>,
    pub(super) work: FuturesUnordered<Abortable<BoxFuture<'static, Performed>>>,
    pub(super) under_way: IndexMap<Key, UnderWay>,
    /// Of calls of tools that were stopped: those that bring something to an end.
    pub(super) winding: Vec<(Arc<Activity>, Arc<Meter>)>,
    /// What this run may use, with those above it and beneath it.
    pub(super) allowance: Arc<Allowance>,
    /// A call of a tool may have a part of it.
    pub(super) has_parts: bool,
    /// Model calls stopped on their way, to be booked when the machine waits again.
    stopped: Vec<(Arc<Activity>, Arc<Meter>)>,
    /// Of calls that have ended, until the machine knows.
    places: Vec<CallPermit>,
    finished: Option<Box<Result<Value, RunError>>>,
    /// What ends here goes on elsewhere.
    pub(super) stays: bool,
    /// Results from the time before the run was reopened.
    pub(super) kept: BTreeMap<Key, Kept>,
    /// The limits of a run that uses them.
    pub(super) guard: Guard,
    /// What earlier runs have.
    pub(super) memo: Option<Box<Memo>>,
}

/// What of the options still matters when a run has begun.
pub struct Going {
    pub(super) cancel: Cancel,
    pub(super) recovery: Recovery,
    pub(super) linger_ms: u64,
}

/// An activity in progress.
pub struct UnderWay {
    pub(super) activity: Arc<Activity>,
    pub(super) waits: Waits,
    /// None: nothing of it is in this process.
    handle: Option<AbortHandle>,
    /// What it is known to have used.
    pub(super) meter: Arc<Meter>,
}

/// What an activity waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Something is being done.
    Work,
    /// Until then, on the run's clock.
    Time(u64),
    /// A person's answer, which arrives some time.
    Answer,
    /// Somebody's decision.
    Decision,
}

/// What a run continues with.
enum Next {
    Done(Box<Done>),
    /// The turn of a model call has come.
    Turn,
    Arrived(Arrived),
    Cancelled,
    Suspended(Suspended),
}

/// How the turns of a run end.
enum TurnsEnd {
    With(Result<Value, RunError>),
    Suspended(Suspended),
}

impl Driver {
    /// Nothing has happened yet.
    pub fn new(machine: Machine, world: Arc<World>, options: Options, guard: Guard) -> Box<Self> {
        let Options { cancel, recovery, linger_ms, places, memo, within, .. } = options;
        let memo = memo.map(|memo| Box::new(memo.used_by(&world.prepared)));
        Box::new(Self {
            machine,
            keeps: world.ports.journal.keeps(),
            is_kept: false,
            world,
            going: Going { cancel, recovery, linger_ms },
            next_seq: 0,
            buffer: Vec::new(),
            untold: Vec::new(),
            asked: Vec::new(),
            queue: Queue::new(places.map(|places| places.of_run())),
            starting: Vec::new(),
            done: Vec::new(),
            settled: Vec::new(),
            work: FuturesUnordered::new(),
            under_way: IndexMap::new(),
            winding: Vec::new(),
            allowance: Allowance::new(within),
            has_parts: false,
            stopped: Vec::new(),
            places: Vec::new(),
            finished: None,
            stays: false,
            kept: BTreeMap::new(),
            guard,
            memo,
        })
    }

    /// The number of the next entry, and what need not be done because it was done before.
    pub fn continue_at(&mut self, seq: u64, kept: BTreeMap<Key, Kept>) {
        (self.next_seq, self.kept, self.is_kept) = (seq, kept, true);
    }

    /// Goes on until the run has ended or is suspended.
    pub async fn drive(mut self: Box<Self>, output: Output) -> RunOutcome {
        match self.turns(output).await {
            // Each run has its end once, and waits for long before it: the room for it is made then.
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
            let command = |a: &&Arc<Activity>| matches!(a.request, Request::Command(_));
            let starting = self.starting.iter().map(|(activity, _)| activity);
            let next = self.asked.iter().chain(starting).find(command).cloned();
            if let Some(error) = next.and_then(|command| self.may_not(&command)) {
                return TurnsEnd::With(Err(error));
            }
            self.look_up().await;
            if let Err(error) = self.reuse() {
                return TurnsEnd::With(Err(error));
            }
            if let Some(error) = self.beyond_limits() {
                let output = self.machine.end(error);
                self.take_piece(output);
                self.book_stopped();
                turn = Ok(());
                continue;
            }
            self.schedule();
            if let Err(error) = self.commit().await {
                return TurnsEnd::With(Err(error));
            }
            self.start();
            if !self.done.is_empty() {
                turn = Ok(());
                continue;
            }
            turn = match self.next().await {
                // A run waits far longer than this takes: it keeps no room for it meanwhile.
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
            // A run of nothing but instant answers still lets others have their turn.
            turns += 1;
            if turns.is_multiple_of(64) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Why a run that is resumed stops here, if it does: it has come to a command, and this process may not run any. Another
    /// one may.
    pub(super) fn may_not(&mut self, next: &Activity) -> Option<RunError> {
        let command = matches!(next.request, Request::Command(_)) && self.world.ports.commands.is_none();
        if !command || !self.keeps || self.world.execution == 0 {
            return None;
        }
        self.stays = true;
        Some(activity::not_allowed(Some(next.key.clone())))
    }

    /// To be told when what has been recorded so far is written.
    pub(super) fn tell(&mut self, untold: Untold) {
        self.untold.push(untold);
    }

    /// The same, of an activity that begins.
    pub(super) fn tell_began(&mut self, activity: &Activity) {
        let began = self.world.began(activity);
        self.untold.extend(began);
    }

    /// What the machine asked for gets its entries: nothing can take it back any more. A model call that has to wait gets its
    /// own with its turn.
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

    /// Gives some of what was asked for its entries, and takes it: it is not started here.
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
            Some(of) if call.is_some_and(|call| call.as_str() == of) => from_now(&activity, now),
            _ => activity,
        };
        self.write_down(now, &activity);
        self.starting.push((activity, place));
        if let Some(limit) = limit {
            self.begin(now, Ready::at_once(limit));
        }
    }

    /// Its entry.
    fn write_down(&mut self, now: u64, activity: &Activity) {
        self.record_at(now, || EntryKind::Scheduled {
            key: activity.key.clone(),
            sort: activity.request.sort().to_owned(),
            content: activity.content,
            due_ms: if let Request::Timer { due_ms, .. } = activity.request { Some(due_ms) } else { None },
            again: activity.again,
        });
        self.tell_began(activity);
    }

    /// Writes what has happened and what was requested, then tells it.
    pub(super) async fn commit(&mut self) -> Result<(), RunError> {
        self.flush().await?;
        for (key, location, kind) in std::mem::take(&mut self.untold) {
            self.world.watch.note(key, location, kind);
        }
        for key in std::mem::take(&mut self.settled) {
            self.world.ports.humans.taken(&self.world.watch.run, &key).await;
        }
        Ok(())
    }

    /// Starts what has its entry.
    fn start(&mut self) {
        for (activity, place) in std::mem::take(&mut self.starting) {
            let (handle, registration) = AbortHandle::new_pair();
            let meter = self.meter(&activity);
            let waits = match activity.request {
                Request::Timer { due_ms, .. } => Waits::Time(due_ms),
                _ => Waits::Work,
            };
            let handle = Some(handle);
            let under_way = UnderWay { activity: activity.clone(), waits, handle, meter: meter.clone() };
            self.under_way.insert(activity.key.clone(), under_way);
            let future = activity::perform(self.world.clone(), activity, meter, place).boxed();
            self.work.push(Abortable::new(future, registration));
        }
    }

    /// Leaves out what was to be started, until it is asked for anew.
    pub(super) fn not_yet(&mut self, key: Option<&Key>) {
        self.starting.retain(|(activity, _)| Some(&activity.key) != key);
        self.asked.retain(|activity| Some(&activity.key) != key);
    }

    /// Nothing is done about an activity until something arrives for it.
    pub(super) fn wait(&mut self, activity: Arc<Activity>, waits: Waits) {
        let key = activity.key.clone();
        self.under_way.insert(key, UnderWay { activity, waits, handle: None, meter: Arc::default() });
    }

    /// What the run continues with.
    async fn next(&mut self) -> Result<Next, RunError> {
        loop {
            let cancel = &self.going.cancel;
            if cancel.is_cancelled() {
                return Ok(Next::Cancelled);
            }
            if let Some(suspended) = self.only_waits() {
                return Ok(Next::Suspended(suspended));
            }
            if self.work.is_empty() && self.queue.is_empty() {
                return Err(RunError::new("LIMIT_EXCEEDED", "internal error: nothing is in flight"));
            }
            let performed = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(Next::Cancelled),
                arrived = self.world.ports.humans.arrived(&self.world.watch.run) => return Ok(Next::Arrived(arrived)),
                performed = self.work.next(), if !self.work.is_empty() => performed,
                () = self.queue.turn(), if !self.queue.is_empty() => return Ok(Next::Turn),
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
                Some(Ok(Performed::Kept(key))) => self.kept(&key),
                // One that was cancelled is gone now.
                Some(Err(_)) | None => {}
            }
        }
    }

    /// A question is kept for whoever answers it.
    fn kept(&mut self, key: &Key) {
        if let Some(under_way) = self.under_way.get_mut(key) {
            under_way.waits = Waits::Answer;
        }
    }

    /// Something came in from elsewhere.
    fn arrive(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Cancel => self.stop(),
            Arrived::Answer(key, answer) => {
                let asked = self.under_way.get(&key).filter(|u| matches!(u.activity.request, Request::Human(_)));
                if let Some(activity) = asked.map(|u| u.activity.clone()) {
                    self.put_away(&key);
                    let result = Ok(self.world.secrets.scrub_value(answer.into()));
                    self.done.push(Done { activity, result, about: About::default(), spent: Vec::new() });
                } else {
                    self.settled.push(key);
                }
            }
            Arrived::Decided(key, decided) => {
                let open = self.under_way.get(&key).filter(|u| u.waits == Waits::Decision);
                if let Some(activity) = open.map(|u| u.activity.clone()) {
                    self.put_away(&key);
                    self.decide(activity, decided);
                } else {
                    self.settled.push(key);
                }
            }
        }
    }

    /// Whatever of it is in this process ends.
    fn put_away(&mut self, key: &Key) -> Option<UnderWay> {
        let under_way = self.under_way.swap_remove(key)?;
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

    /// Tells the machine what is done, with what else is done by now.
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
                Ok(Performed::Kept(key)) => self.kept(&key),
                Err(_aborted) => {}
            }
        }
        self.complete(batch).await
    }

    async fn complete(&mut self, batch: Vec<Done>) -> Result<(), RunError> {
        let batch = self.wound_down(batch);
        // All of them have ended, whatever the machine makes of the first.
        for done in &batch {
            self.under_way.swap_remove(&done.activity.key);
        }
        let now = self.world.watch.now_ms();
        for Done { activity, result, mut about, spent } in batch {
            let key = activity.key.clone();
            if about.is_reused() {
                self.machine.not_made(&activity);
            }
            // From here on the journal says what it cost.
            let usage = about.usage.map(|usage| self.priced(&activity, usage, about.model.as_deref(), &spent));
            about.usage = usage;
            let repeatable = about.repeatable;
            let ended = self.world.ended(&activity, &result, &about);
            self.untold.extend(ended);
            if matches!(activity.request, Request::Human(_)) {
                self.settled.push(key.clone());
            }
            self.record_at(now, || match result.clone() {
                Ok(value) => EntryKind::Completed { key: key.clone(), value, about },
                Err(error) => EntryKind::Failed { key: key.clone(), error: error.stored(), about },
            });
            let output = self.machine.on(Completion { key, at_ms: now, result, usage, repeatable });
            self.take(output).await?;
        }
        self.places.clear();
        Ok(())
    }

    /// What an activity used, and what models used that were asked before: each at its own price.
    fn priced(&self, activity: &Activity, usage: Usage, by: Option<&str>, spent: &[(String, Usage)]) -> Usage {
        // The last one may have used nothing at all, where others have.
        let is_used = spent.is_empty() || usage != Usage::default();
        let mut all = if is_used { self.machine.priced(activity, usage, by) } else { usage };
        for (name, used) in spent {
            all.add(self.machine.priced(activity, *used, Some(name)));
        }
        all
    }

    /// The switch was used.
    fn stopped(&mut self) -> Result<(), RunError> {
        if self.keeps && self.going.cancel.wanted() == Stop::Interrupt {
            return Err(cancel::interrupted());
        }
        self.stop();
        Ok(())
    }

    /// Somebody asked the run to stop.
    fn stop(&mut self) {
        self.record(EntryKind::CancelRequested {});
        let output = self.machine.cancel();
        self.take_piece(output);
        self.book_stopped();
    }

    /// Books what stopped model calls are known to have used: it was spent, whoever wanted the answer.
    fn book_stopped(&mut self) {
        let now = self.world.watch.now_ms();
        for (activity, meter) in std::mem::take(&mut self.stopped) {
            let key = activity.key.clone();
            let result = Err(RunError::new(STOPPED, "the call was stopped"));
            let usage = self.machine.priced(&activity, meter.read(), None);
            let model = self.world.model(&activity);
            let about = About { model, partial: self.world.partial(&activity, &meter), ..About::usage(Some(usage)) };
            let ended = self.world.ended(&activity, &result, &about);
            self.untold.extend(ended);
            if let Err(error) = &result {
                self.record_at(now, || EntryKind::Failed { key: key.clone(), error: error.clone().stored(), about });
            }
            // Nothing waits for it: the machine only adds up what was used.
            self.machine.on(Completion { key, at_ms: now, result, usage: Some(usage), repeatable: false });
        }
    }

    /// Acts on what the machine says, until it waits for something or has ended.
    pub(super) async fn take(&mut self, mut output: Output) -> Result<(), RunError> {
        loop {
            let more = output.more;
            self.take_piece(output);
            if !more {
                self.book_stopped();
                return Ok(());
            }
            // Whoever watches a long stretch sees it continue.
            self.commit().await?;
            if self.going.cancel.is_cancelled() {
                return self.stopped();
            }
            // Others have their turn, too: whoever cancels is one of them.
            tokio::task::yield_now().await;
            output = self.machine.proceed();
        }
    }

    pub(super) fn take_piece(&mut self, output: Output) {
        for noted in output.events {
            let untold = self.world.noted(noted);
            self.untold.push(untold);
        }
        let mut void = BTreeSet::new();
        for command in output.commands {
            match command {
                Command::Start(activity) => {
                    // Stopped, and asked for anew.
                    if void.remove(&activity.key) {
                        self.take_back(|key| *key == activity.key);
                    }
                    self.asked.push(Arc::new(activity));
                }
                Command::Cancel(key) => match self.put_away(&key) {
                    Some(UnderWay { activity, waits, meter, .. }) => {
                        if matches!(activity.request, Request::Model(_)) {
                            self.stopped.push((activity, meter));
                        } else if matches!(waits, Waits::Answer | Waits::Decision) {
                            self.settled.push(key);
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

    /// What was requested and has not begun is not wanted any more: it was never requested.
    fn take_back(&mut self, unwanted: impl Fn(&Key) -> bool) {
        self.starting.retain(|(activity, _)| !unwanted(&activity.key));
        let (back, asked) = std::mem::take(&mut self.asked).into_iter().partition(|asked| unwanted(&asked.key));
        self.asked = asked;
        for activity in self.queue.take_back(unwanted).into_iter().chain(back) {
            self.machine.not_made(&activity);
        }
    }

    /// An entry, to be written with the next commit.
    pub fn record(&mut self, kind: EntryKind) {
        let now = self.world.watch.now_ms();
        self.record_at(now, || kind);
    }

    pub(super) fn record_at(&mut self, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        if self.keeps {
            self.buffer.push(Entry { v: VERSION, seq: self.next_seq, at_ms, kind: kind() });
            self.next_seq += 1;
        }
    }

    async fn flush(&mut self) -> Result<(), RunError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.buffer);
        let written = self.world.ports.journal.append(&self.world.watch.run, &entries).await;
        self.is_kept |= written.is_ok();
        written.map_err(|error| {
            // What these entries led to has not happened: nobody is told of it, and no answer was taken.
            self.untold.clear();
            self.settled.clear();
            super::journal_error(error)
        })
    }

    pub(super) async fn end(mut self: Box<Self>, result: Result<Value, RunError>) -> RunOutcome {
        // The machine's own errors may repeat what a model or a tool gave back.
        let result = result.map_err(|error| self.world.secrets.hide_error(error));
        self.wind_down().await;
        // Everything under way ends here: its futures are dropped.
        self.work.clear();
        let mut result = result.map(|value| self.world.result(value));
        let (output, error) = sides(&result);
        // One whose journal cannot be written, or that continues elsewhere, has not ended.
        let mut open =
            self.stays || error.as_ref().is_some_and(|e| ["JOURNAL_ERROR", INTERRUPTED].contains(&e.code.as_str()));
        if open {
            self.keep_drafts().await;
        } else {
            self.record(EntryKind::Finished { output, error: error.map(RunError::stored) });
        }
        if let Err(failed) = self.commit().await
            && !open
        {
            (result, open) = (Err(failed), true);
        }
        let failed = result.as_ref().err().filter(|error| self.keeps && !open && error.code != STOPPED);
        let continues = match failed {
            Some(error) => super::reopen::is_possible(&self.world, error).await,
            None => open && self.keeps && self.is_kept,
        };
        let outcome = RunOutcome { continues, ..self.outcome(result, Vec::new()) };
        let RunOutcome { usage, calls, duration_ms, .. } = outcome;
        let (output, error) = sides(&outcome.result);
        let finished = EventKind::RunFinished { output, error, usage, calls, duration_ms };
        match open {
            true => self.world.watch.delta(None, None, finished),
            false => self.world.watch.note(None, None, finished),
        }
        outcome
    }

    fn outcome(&self, result: Result<Value, RunError>, waiting: Vec<trefoil_machine::event::Waiting>) -> RunOutcome {
        // What could not be written was not sent, nor was what waits for its turn.
        let starting = self.starting.iter().map(|(activity, _)| activity);
        let unsent = self.asked.iter().chain(starting).chain(self.queue.calls());
        let unsent = unsent.filter(|a| matches!(a.request, Request::Model(_)) && !a.again).count() as u64;
        let (mut usage, calls) = (self.machine.usage(), self.machine.calls().saturating_sub(unsent));
        // Of a run that has not ended: nobody will know what they used. Whoever resumes it counts them as lost.
        let cut_off = self.under_way.values().map(|one| &one.activity);
        for activity in cut_off.filter(|activity| matches!(activity.request, Request::Model(_))) {
            usage.add(self.machine.priced(activity, Usage::unknown(), None));
        }
        let (run, duration_ms) = (self.world.watch.run.clone(), self.world.watch.now_ms());
        let continues = !waiting.is_empty();
        RunOutcome { run, result, waiting, continues, usage, calls, duration_ms }
    }
}

/// A time limit that begins now.
fn from_now(limit: &Arc<Activity>, now: u64) -> Arc<Activity> {
    let Request::Timer { ms, .. } = limit.request else { return limit.clone() };
    let request = Request::Timer { ms, due_ms: now.saturating_add(ms) };
    Arc::new(Activity { request, ..(**limit).clone() })
}

/// The output, and the error.
fn sides(result: &Result<Value, RunError>) -> (Option<Value>, Option<RunError>) {
    match result {
        Ok(value) => (Some(value.clone()), None),
        Err(error) => (None, Some(error.clone())),
    }
}
