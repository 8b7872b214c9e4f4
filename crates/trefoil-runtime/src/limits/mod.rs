//! Host limits: the number of concurrent model calls, and their rate.
//!
//! All runs that share [`CallPermits`] share the limits. Calls wait in a queue. A call that is no longer needed leaves it
//! when its future is dropped.

mod provider_rate;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trefoil_ir::prices::estimate;
use trefoil_machine::request::{ModelRequest, Usage};

use crate::locks::lock;
use provider_rate::ProviderRate;

/// The number of concurrent model calls, and their rate. `None`: no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLimits {
    /// Concurrent calls of all runs together.
    pub in_flight: Option<u32>,
    /// Concurrent calls of one run.
    pub in_flight_per_run: Option<u32>,
    /// Maximum number of runs of one flow that a worker works on at a time.
    pub runs_per_flow: Option<u32>,
    /// Limits of providers, by name.
    pub providers: BTreeMap<String, ProviderLimits>,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self { in_flight: Some(64), in_flight_per_run: None, runs_per_flow: None, providers: BTreeMap::new() }
    }
}

/// The limits of one provider, for all runs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Concurrent calls.
    pub in_flight: Option<u32>,
    /// Calls started within any minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens of the calls started within any minute. Until its usage is known, a call counts with an estimate.
    pub tokens_per_minute: Option<u64>,
}

/// The queue of model calls.
#[derive(Debug)]
pub struct CallPermits {
    all: Option<Arc<Semaphore>>,
    per_run: Option<u32>,
    providers: BTreeMap<String, ProviderPermits>,
}

#[derive(Debug)]
struct ProviderPermits {
    in_flight: Option<Arc<Semaphore>>,
    pace: Option<Arc<ProviderRate>>,
}

impl Default for CallPermits {
    fn default() -> Self {
        Self::new(&HostLimits::default())
    }
}

fn semaphore(limit: Option<u32>) -> Option<Arc<Semaphore>> {
    // A limit of 0 would block all calls.
    limit.map(|limit| Arc::new(Semaphore::new((limit.max(1) as usize).min(Semaphore::MAX_PERMITS))))
}

impl CallPermits {
    /// A queue with these limits.
    pub fn new(limits: &HostLimits) -> Self {
        let provider = |(name, limits): (&String, &ProviderLimits)| {
            let provider = ProviderPermits {
                in_flight: semaphore(limits.in_flight),
                pace: ProviderRate::new(limits).map(Arc::new),
            };
            (name.clone(), provider)
        };
        Self {
            all: semaphore(limits.in_flight),
            per_run: limits.in_flight_per_run,
            providers: limits.providers.iter().map(provider).collect(),
        }
    }

    /// The permits of one run.
    pub(crate) fn of_run(self: &Arc<Self>) -> RunCallPermits {
        RunCallPermits { run: semaphore(self.per_run), shared: self.clone() }
    }
}

/// The queue for the calls of one run.
#[derive(Debug)]
pub(crate) struct RunCallPermits {
    run: Option<Arc<Semaphore>>,
    shared: Arc<CallPermits>,
}

impl RunCallPermits {
    /// Waits for a permit. `tell` is called if the call has to wait for a rate limit.
    pub async fn wait_for_permit(&self, request: &ModelRequest, tell: DelayReporter) -> CallPermit {
        let run = acquire_permit(self.run.as_ref()).await;
        let held = self.shared.at_provider(request, &tell).await;
        CallPermit { _run: run, _kept: None, shared: self.shared.clone(), held: Mutex::new(held), tell }
    }
}

impl CallPermits {
    /// Waits for a permit for the provider of this request. The shared limit is acquired last, so that a call that waits for
    /// its provider does not hold a permit that other calls could use.
    async fn at_provider(&self, request: &ModelRequest, tell: &DelayReporter) -> ProviderPermit {
        let name = request.provider.as_deref().unwrap_or_default();
        let provider = self.providers.get(name);
        let own = acquire_permit(provider.and_then(|p| p.in_flight.as_ref())).await;
        let paced = match provider.and_then(|p| p.pace.as_ref()) {
            Some(pace) => {
                let told = |limit, wait| tell(CallDelay { provider: name.into(), limit, wait, why: None });
                Some((pace.clone(), pace.wait_for_start(expected(request), told).await))
            }
            None => None,
        };
        ProviderPermit { _own: own, paced, _all: acquire_permit(self.all.as_ref()).await }
    }
}

/// A call that has to wait for a rate limit, or until its provider admits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallDelay {
    pub provider: String,
    /// The limit, by its name in the settings.
    pub limit: &'static str,
    /// About how long it waits, if known.
    pub wait: Option<Duration>,
    /// Why its provider does not admit it.
    pub why: Option<String>,
}

/// Reports a delay to watchers.
pub(crate) type DelayReporter = Arc<dyn Fn(CallDelay) + Send + Sync>;

async fn acquire_permit(of: Option<&Arc<Semaphore>>) -> Option<OwnedSemaphorePermit> {
    // Semaphores are never closed.
    of?.clone().acquire_owned().await.ok()
}

/// The tokens that a call is estimated to use.
fn expected(request: &ModelRequest) -> u64 {
    let messages = (request.messages.len() as u64).saturating_mul(estimate::MESSAGE);
    let prompt = estimate::cautious_tokens(request.prompt_size()).saturating_add(messages);
    prompt.saturating_add(estimate::answer_tokens(request.parameters.max_tokens))
}

/// The permission to make a call, until it is dropped.
pub(crate) struct CallPermit {
    _kept: Option<Box<dyn Any + Send + Sync>>,
    _run: Option<OwnedSemaphorePermit>,
    shared: Arc<CallPermits>,
    held: Mutex<ProviderPermit>,
    tell: DelayReporter,
}

/// The part of a permission that depends on the provider.
#[derive(Debug, Default)]
struct ProviderPermit {
    _own: Option<OwnedSemaphorePermit>,
    paced: Option<(Arc<ProviderRate>, u64)>,
    _all: Option<OwnedSemaphorePermit>,
}

impl CallPermit {
    fn lock_provider_permit(&self) -> MutexGuard<'_, ProviderPermit> {
        lock(&self.held)
    }

    /// Keeps something until the permission is dropped.
    pub fn with_kept(self, kept: Box<dyn Any + Send + Sync>) -> Self {
        Self { _kept: Some(kept), ..self }
    }

    /// The call was not made, so it does not count.
    pub fn give_back(self) {
        if let Some((pace, id)) = &self.lock_provider_permit().paced {
            pace.cancel_call(*id);
        }
    }

    /// Reports the usage of the call, if it is known.
    pub fn report_usage(&self, usage: Option<Usage>) {
        if let (Some((pace, id)), Some(usage)) = (&self.lock_provider_permit().paced, usage.filter(Usage::is_known)) {
            pace.report_tokens(*id, usage.total_tokens());
        }
    }

    /// The call continues with this request, at another model. Gives the permit back, with what the previous model used,
    /// then waits for one at the provider of this request.
    pub async fn move_to(&self, request: &ModelRequest, used: Option<Usage>) {
        self.report_usage(used);
        // A call that waits must not hold a permit that the one before it in the queue needs.
        drop(std::mem::take(&mut *self.lock_provider_permit()));
        let held = self.shared.at_provider(request, &self.tell).await;
        *self.lock_provider_permit() = held;
    }
}

impl fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPermit").field("held", &self.held).finish_non_exhaustive()
    }
}
