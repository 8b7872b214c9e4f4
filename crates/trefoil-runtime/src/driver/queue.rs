//! The queue of model calls that are delayed by a host limit, or because their provider keeps failing.
//!
//! The coordinator knows which calls wait. Here is what they wait for, and their permits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use trefoil_coordinator::AdmittedCalls;
use trefoil_ir::StepId;
use trefoil_machine::key::{Key, KeyMap};
use trefoil_machine::request::{Activity, ModelRequest, Request};

use super::run_context::RunContext;
use crate::limits::{CallDelay, CallPermit, DelayReporter, RunCallPermits};
use crate::locks::lock;
use crate::ports::{CallPause, ModelProvider};

/// The name of a delay that is no limit: the provider does not admit the call.
const CIRCUIT_BREAKER: &str = "circuit_breaker";

/// The waiting calls of a run.
pub struct ModelCallQueue {
    /// `None`: calls do not wait.
    permits: Option<Arc<RunCallPermits>>,
    waiting: KeyMap<AbortHandle>,
    /// `None`: no call has had to wait so far.
    turns: Option<FuturesUnordered<QueueTurn>>,
    /// Calls whose turn has come.
    turned: Vec<Key>,
    /// The permits of calls that have not started.
    admitted: KeyMap<Arc<CallPermit>>,
    context: Arc<RunContext>,
    /// Delays of calls whose steps may not be known to watchers yet.
    delays: Arc<PendingDelays>,
}

type PendingDelays = Mutex<Vec<(Arc<Activity>, CallDelay)>>;

type QueueTurn = Abortable<BoxFuture<'static, (Key, Arc<CallPermit>)>>;

impl ModelCallQueue {
    pub fn new(permits: Option<RunCallPermits>, context: Arc<RunContext>) -> Self {
        Self {
            permits: permits.map(Arc::new),
            waiting: KeyMap::default(),
            turns: None,
            turned: Vec::new(),
            admitted: KeyMap::default(),
            context,
            delays: Arc::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.turned.is_empty()
    }

    /// Returns the calls that may start now: those whose turn has come, and of these calls those that do not have to wait.
    pub fn admit_calls(&mut self, calls: Vec<Arc<Activity>>) -> AdmittedCalls {
        while let Some(turns) = &mut self.turns
            && let Some(Some(turn)) = turns.next().now_or_never()
        {
            self.accept_turn(turn);
        }
        let turned = std::mem::take(&mut self.turned);
        let mut at_once = Vec::new();
        for call in calls {
            let key = call.key.clone();
            if self.enter(call) {
                at_once.push(key);
            }
        }
        AdmittedCalls { turned, at_once }
    }

    /// Whether a call may start now. Otherwise it waits here.
    fn enter(&mut self, activity: Arc<Activity>) -> bool {
        let Some(permits) = self.permits.clone() else { return true };
        let key = activity.key.clone();
        let (tell, entered) = self.delay_reporter(&activity);
        let models = self.context.ports.models.clone();
        let mut turn = async move {
            let permit = match &activity.request {
                Request::Model(request) => admitted(&*models, &permits, activity.step, request, tell).await,
                _ => std::future::pending().await,
            };
            (activity.key.clone(), Arc::new(permit))
        }
        .boxed();
        let at_once = (&mut turn).now_or_never();
        // A call that starts at once may have to wait later, for a fallback model.
        entered.store(true, Ordering::Relaxed);
        if let Some((_, permit)) = at_once {
            self.admitted.insert(key, permit);
            return true;
        }
        let (handle, registration) = AbortHandle::new_pair();
        self.turns.get_or_insert_default().push(Abortable::new(turn, registration));
        self.waiting.insert(key, handle);
        false
    }

    /// The permit of a call that starts.
    pub fn take_permit(&mut self, key: &Key) -> Option<Arc<CallPermit>> {
        let permit = self.admitted.swap_remove(key);
        if self.admitted.is_empty() {
            // A run may wait for its calls for a long time.
            self.admitted = KeyMap::default();
        }
        permit
    }

    /// Reports the delays of a call. Those that it has when it enters the queue wait for [`Self::tell_delays`]: the switch is
    /// set after that.
    fn delay_reporter(&self, activity: &Arc<Activity>) -> (DelayReporter, Arc<AtomicBool>) {
        let entered = Arc::new(AtomicBool::new(false));
        let (context, delays, activity, is_entered) =
            (self.context.clone(), self.delays.clone(), activity.clone(), entered.clone());
        let tell = move |delay: CallDelay| match is_entered.load(Ordering::Relaxed) {
            true => context.report_delay(&activity, delay),
            false => lock(&delays).push((activity.clone(), delay)),
        };
        (Arc::new(tell), entered)
    }

    /// Reports the delays of the calls that have entered the queue since the last time and still wait.
    pub fn tell_delays(&self) {
        let delays = std::mem::take(&mut *lock(&self.delays));
        for (activity, delay) in delays {
            if self.waiting.contains_key(&activity.key) {
                self.context.report_delay(&activity, delay);
            }
        }
    }

    /// Returns when the turn of a call has come.
    pub async fn wait_turn(&mut self) {
        while self.turned.is_empty() {
            let next = match &mut self.turns {
                Some(turns) => turns.next().await,
                None => None,
            };
            match next {
                Some(turn) => self.accept_turn(turn),
                None => std::future::pending().await,
            }
        }
    }

    fn accept_turn(&mut self, turn: Result<(Key, Arc<CallPermit>), Aborted>) {
        // A call that was taken back is skipped.
        if let Ok((key, permit)) = turn
            && self.waiting.swap_remove(&key).is_some()
        {
            self.admitted.insert(key.clone(), permit);
            self.turned.push(key);
        }
    }

    /// Calls that are not needed any more leave the queue.
    pub fn remove_calls(&mut self, keys: &[Key]) {
        for key in keys {
            if let Some(handle) = self.waiting.swap_remove(key) {
                handle.abort();
            }
            self.admitted.swap_remove(key);
            self.turned.retain(|turned| turned != key);
        }
    }
}

/// Waits until the provider admits a call, and for a permit.
async fn admitted(
    models: &dyn ModelProvider,
    permits: &RunCallPermits,
    step: StepId,
    request: &ModelRequest,
    tell: DelayReporter,
) -> CallPermit {
    let provider = request.provider.as_deref().unwrap_or_default();
    let paused = |CallPause { wait, why }: CallPause| {
        tell(CallDelay { provider: provider.into(), limit: CIRCUIT_BREAKER, wait, why: Some(why) });
    };
    loop {
        // A call that waits here holds no permit.
        let admission = models.admit_call(step, request, &paused).await;
        let permit = permits.wait_for_permit(request, tell.clone()).await;
        // The provider may have begun to fail while the call waited for its permit.
        if admission.is_final() || models.call_pause(step, request).is_none() {
            return permit.with_kept(Box::new(admission));
        }
        permit.give_back();
    }
}
