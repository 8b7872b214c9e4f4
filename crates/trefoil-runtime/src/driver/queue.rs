//! The queue of model calls that are delayed by a host limit, or because their provider keeps failing.
//!
//! A waiting call has not been made: it has no entry in the journal, it can be taken back without a trace, and if the process ends,
//! its outcome is not unknown. Its time limit starts when its turn comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use trefoil_ir::StepId;
use trefoil_machine::key::{Key, KeyMap, KeyPart};
use trefoil_machine::request::{Activity, ModelRequest, Request};

use super::activity::World;
use crate::limits::{CallPermit, Delay, PlacesOfRun, Tell};
use crate::ports::{CallPause, ModelProvider};

/// The name of a delay that is no limit: the provider does not admit the call.
const CIRCUIT_BREAKER: &str = "circuit_breaker";

/// The waiting calls of a run.
pub struct Queue {
    /// `None`: calls do not wait.
    places: Option<Arc<PlacesOfRun>>,
    waiting: KeyMap<Waiting>,
    /// `None`: no call has had to wait so far.
    turns: Option<FuturesUnordered<Turn>>,
    /// Calls whose turn has come.
    turned: Vec<Ready>,
    world: Arc<World>,
    /// Delays of calls whose steps may not be known to watchers yet.
    delays: Arc<Delays>,
}

type Delays = Mutex<Vec<(Arc<Activity>, Delay)>>;

type Turn = Abortable<BoxFuture<'static, (Key, Arc<CallPermit>)>>;

struct Waiting {
    call: Arc<Activity>,
    limit: Option<Arc<Activity>>,
    handle: AbortHandle,
}

/// An activity that may start.
pub struct Ready {
    pub activity: Arc<Activity>,
    /// The permit of a model call.
    pub place: Option<Arc<CallPermit>>,
    /// The time limit of the call.
    pub limit: Option<Arc<Activity>>,
}

impl Ready {
    /// An activity that does not have to wait.
    pub fn at_once(activity: Arc<Activity>) -> Self {
        Self { activity, place: None, limit: None }
    }
}

impl Queue {
    pub fn new(places: Option<PlacesOfRun>, world: Arc<World>) -> Self {
        Self {
            places: places.map(Arc::new),
            waiting: KeyMap::default(),
            turns: None,
            turned: Vec::new(),
            world,
            delays: Arc::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.turned.is_empty()
    }

    /// The waiting calls.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<Activity>> {
        self.waiting.values().map(|waiting| &waiting.call).chain(self.turned.iter().map(|ready| &ready.activity))
    }

    /// Returns a requested activity if it may start now. Otherwise it waits here.
    pub fn enter(&mut self, activity: Arc<Activity>) -> Option<Ready> {
        if let Some(call) = limits(&activity)
            && let Some(waiting) = self.waiting.get_mut(&Key::from(call))
        {
            waiting.limit = Some(activity);
            return None;
        }
        let Some(places) = self.places.clone().filter(|_| matches!(activity.request, Request::Model(_))) else {
            return Some(Ready::at_once(activity));
        };
        let call = activity.clone();
        let (tell, entered) = self.tell(&activity);
        let models = self.world.ports.models.clone();
        let mut turn = async move {
            let place = match &call.request {
                Request::Model(request) => admitted(&*models, &places, call.step, request, tell).await,
                _ => std::future::pending().await,
            };
            (call.key.clone(), Arc::new(place))
        }
        .boxed();
        let at_once = (&mut turn).now_or_never();
        // A call that starts at once may have to wait later, for a fallback model.
        entered.store(true, Ordering::Relaxed);
        if let Some((_, place)) = at_once {
            return Some(Ready { activity, place: Some(place), limit: None });
        }
        let (handle, registration) = AbortHandle::new_pair();
        self.turns.get_or_insert_default().push(Abortable::new(turn, registration));
        self.waiting.insert(activity.key.clone(), Waiting { call: activity, limit: None, handle });
        None
    }

    /// Reports the delays of a call. Those that it has when it enters the queue wait for [`Self::tell_delays`]: the switch is
    /// set after that.
    fn tell(&self, activity: &Arc<Activity>) -> (Tell, Arc<AtomicBool>) {
        let entered = Arc::new(AtomicBool::new(false));
        let (world, delays, activity, is_entered) =
            (self.world.clone(), self.delays.clone(), activity.clone(), entered.clone());
        let tell = move |delay: Delay| match is_entered.load(Ordering::Relaxed) {
            true => world.delayed(&activity, delay),
            false => delays.lock().unwrap_or_else(PoisonError::into_inner).push((activity.clone(), delay)),
        };
        (Arc::new(tell), entered)
    }

    /// Reports the delays of the calls that have entered the queue since the last time and still wait.
    pub fn tell_delays(&self) {
        let delays = std::mem::take(&mut *self.delays.lock().unwrap_or_else(PoisonError::into_inner));
        for (activity, delay) in delays {
            if self.waiting.contains_key(&activity.key) {
                self.world.delayed(&activity, delay);
            }
        }
    }

    /// Returns the next call whose turn has already come.
    pub fn ready(&mut self) -> Option<Ready> {
        while self.turned.is_empty()
            && let Some(turns) = &mut self.turns
            && let Some(Some(turn)) = turns.next().now_or_never()
        {
            self.turned(turn);
        }
        self.turned.pop()
    }

    /// Returns when the turn of a call has come.
    pub async fn turn(&mut self) {
        while self.turned.is_empty() {
            let next = match &mut self.turns {
                Some(turns) => turns.next().await,
                None => None,
            };
            match next {
                Some(turn) => self.turned(turn),
                None => std::future::pending().await,
            }
        }
    }

    fn turned(&mut self, turn: Result<(Key, Arc<CallPermit>), Aborted>) {
        // A call that was taken back is skipped.
        if let Ok((key, place)) = turn
            && let Some(Waiting { call, limit, .. }) = self.waiting.swap_remove(&key)
        {
            self.turned.push(Ready { activity: call, place: Some(place), limit });
        }
    }

    /// Removes calls from the queue, and returns them.
    pub fn take_back(&mut self, unwanted: impl Fn(&Key) -> bool) -> Vec<Arc<Activity>> {
        let mut back = Vec::new();
        self.turned.retain(|ready| {
            let stays = !unwanted(&ready.activity.key);
            if !stays {
                back.push(ready.activity.clone());
            }
            stays
        });
        self.waiting.retain(|key, waiting| {
            let stays = !unwanted(key);
            if !stays {
                waiting.handle.abort();
                back.push(waiting.call.clone());
            }
            stays
        });
        back
    }
}

/// Waits until the provider admits a call, and for a place.
async fn admitted(
    models: &dyn ModelProvider,
    places: &PlacesOfRun,
    step: StepId,
    request: &ModelRequest,
    tell: Tell,
) -> CallPermit {
    let provider = request.provider.as_deref().unwrap_or_default();
    let paused = |CallPause { wait, why }: CallPause| {
        tell(Delay { provider: provider.into(), limit: CIRCUIT_BREAKER, wait, why: Some(why) });
    };
    loop {
        // A call that waits here occupies no place.
        let admission = models.admit(step, request, &paused).await;
        let place = places.enter(request, tell.clone()).await;
        // The provider may have begun to fail while the call waited for its place.
        if admission.is_final() || models.pause(step, request).is_none() {
            return place.keeping(Box::new(admission));
        }
        place.give_back();
    }
}

/// If an activity is the time limit of a call, returns the key of that call.
pub fn limits(activity: &Activity) -> Option<&str> {
    let timer = matches!(activity.request, Request::Timer { .. });
    let limit =
        matches!(activity.key.parts().last(), Some(KeyPart::Own(name)) if name.split('.').next() == Some("limit"));
    if timer && limit { activity.key.parent() } else { None }
}
