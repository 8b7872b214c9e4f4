//! Host limits: the number of concurrent model calls, and their rate.
//!
//! All runs that share [`CallPermits`] share the limits. Calls wait in a queue. A call that is no longer needed leaves it
//! when its future is dropped.
//!
//! The limits of providers hold for all processes together if a run has [`SharedLimits`]: those are asked after the queue of
//! this process.

mod provider_rate;
pub mod shared_limits;
mod shared_queue;

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
use shared_limits::{PermitUse, SharedLimits, SharedPermit};
use shared_queue::SharedQueue;

/// The number of concurrent model calls, and their rate. `None`: no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLimits {
    /// Concurrent calls of all runs together.
    pub in_flight: Option<u32>,
    /// Concurrent calls of one run.
    pub in_flight_per_run: Option<u32>,
    /// Maximum number of runs of one flow that a worker works on at a time.
    pub runs_per_flow: Option<u32>,
    /// Limits of providers, by name. They hold for all processes together if runs have [`SharedLimits`].
    pub providers: BTreeMap<String, ProviderLimits>,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self { in_flight: Some(64), in_flight_per_run: None, runs_per_flow: None, providers: BTreeMap::new() }
    }
}

/// The limits of one provider, for all runs together; or of another [subject](shared_limits).
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
    limits: ProviderLimits,
    in_flight: Option<Arc<Semaphore>>,
    pace: Option<Arc<ProviderRate>>,
    /// For runs whose limits are shared with other processes.
    queue: SharedQueue,
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
                limits: *limits,
                in_flight: semaphore(limits.in_flight),
                pace: ProviderRate::new(limits).map(Arc::new),
                queue: SharedQueue::default(),
            };
            (name.clone(), provider)
        };
        Self {
            all: semaphore(limits.in_flight),
            per_run: limits.in_flight_per_run,
            providers: limits.providers.iter().map(provider).collect(),
        }
    }

    /// The permits of one run. `shared`: the limits that it shares with other processes.
    pub(crate) fn of_run(self: &Arc<Self>, shared: Option<Arc<dyn SharedLimits>>) -> RunCallPermits {
        let sources = PermitSources { host: self.clone(), shared };
        RunCallPermits { run: semaphore(self.per_run), sources }
    }
}

/// The queue for the calls of one run.
#[derive(Debug)]
pub(crate) struct RunCallPermits {
    run: Option<Arc<Semaphore>>,
    sources: PermitSources,
}

impl RunCallPermits {
    /// Waits for a permit. `tell` is called if the call has to wait for a rate limit.
    pub async fn wait_for_permit(&self, request: &ModelRequest, tell: DelayReporter) -> CallPermit {
        let run = acquire_permit(self.run.as_ref()).await;
        let held = self.sources.at_provider(request, &tell).await;
        CallPermit { _run: run, _kept: None, sources: self.sources.clone(), held: Mutex::new(held), tell }
    }
}

/// Where the calls of a run get their permits from.
#[derive(Debug, Clone)]
struct PermitSources {
    /// The limits of this process.
    host: Arc<CallPermits>,
    /// Those of all processes.
    shared: Option<Arc<dyn SharedLimits>>,
}

impl PermitSources {
    /// Waits for a permit for the provider of this request. The limit of all calls is acquired last, so that a call that waits for
    /// its provider does not hold a permit that other calls could use.
    async fn at_provider(&self, request: &ModelRequest, tell: &DelayReporter) -> ProviderPermit {
        let (name, all) = (request.provider.as_deref().unwrap_or_default(), self.host.all.as_ref());
        let Some(provider) = self.host.providers.get(name) else {
            return ProviderPermit { _all: acquire_permit(all).await, ..ProviderPermit::default() };
        };
        let told = |limit, wait| tell(CallDelay { provider: name.into(), limit, wait, why: None });
        let own = acquire_permit(provider.in_flight.as_ref()).await;
        let mut unavailable = None;
        if let Some(shared) = &self.shared
            && provider.limits != ProviderLimits::default()
        {
            let tokens = if provider.limits.tokens_per_minute.is_some() { expected(request) } else { 0 };
            let subject = provider_subject(name);
            let mut permit = SharedPermit::for_subject(shared.clone(), subject, provider.limits, tokens);
            let place = provider.queue.take_permit(&mut permit, all, told).await;
            if permit.unavailable_reason().is_none() {
                return ProviderPermit { shared: Some(permit), _own: own, paced: None, _all: place };
            }
            unavailable = Some(permit);
        }
        let paced = match &provider.pace {
            Some(pace) => Some((pace.clone(), pace.wait_for_start(expected(request), told).await)),
            None => None,
        };
        ProviderPermit { shared: unavailable, _own: own, paced, _all: acquire_permit(all).await }
    }
}

/// The subject of the shared limits of a provider.
pub fn provider_subject(provider: &str) -> String {
    format!("provider:{provider}")
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
    sources: PermitSources,
    held: Mutex<ProviderPermit>,
    tell: DelayReporter,
}

/// The part of a permission that depends on the provider.
#[derive(Debug, Default)]
struct ProviderPermit {
    // Fields are dropped in this order: the next call of this process asks when others can have the place.
    shared: Option<SharedPermit>,
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
        let mut held = self.lock_provider_permit();
        if let Some((pace, id)) = &held.paced {
            pace.cancel_call(*id);
        }
        if let Some(shared) = &mut held.shared {
            shared.set_used(PermitUse::Unused);
        }
    }

    /// What is wrong with the limits of the provider.
    pub fn limit_warning(&self) -> Option<String> {
        let held = self.lock_provider_permit();
        let why = held.shared.as_ref()?.unavailable_reason()?;
        Some(format!("the limits of the provider held for this process only: {why}"))
    }

    /// Reports the usage of the call, if it is known.
    pub fn report_usage(&self, usage: Option<Usage>) {
        let Some(usage) = usage.filter(Usage::is_known) else { return };
        let mut held = self.lock_provider_permit();
        if let Some((pace, id)) = &held.paced {
            pace.report_tokens(*id, usage.total_tokens());
        }
        if let Some(shared) = &mut held.shared {
            shared.set_used(PermitUse::Tokens(usage.total_tokens()));
        }
    }

    /// The call continues with this request, at another model. Gives the permit back, with what the previous model used,
    /// then waits for one at the provider of this request.
    pub async fn move_to(&self, request: &ModelRequest, used: Option<Usage>) {
        self.report_usage(used);
        // A call that waits must not hold a permit that the one before it in the queue needs.
        drop(std::mem::take(&mut *self.lock_provider_permit()));
        let held = self.sources.at_provider(request, &self.tell).await;
        *self.lock_provider_permit() = held;
    }
}

impl fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPermit").field("held", &self.held).finish_non_exhaustive()
    }
}
