//! Limits that hold for all processes together, not only for the runs of this one.
//!
//! What is limited is named by a *subject*: `provider:openai`, or whatever else a host limits in the same way. A process asks
//! for a permit, and holds it until it gives it back. A process that has to wait has a place in a queue, which is first come,
//! first served, and asks again: when permits were given back, and now and then. So whoever asks most often gains nothing.
//!
//! What is known of a subject is a [`SubjectState`], which decides. Implementations keep it where all processes see it, and let one
//! request at a time change it.

mod decision;
mod memory_limits;
mod return_signal;
mod shared_permit;
mod subject_state;

use std::fmt;

use async_trait::async_trait;

use super::ProviderLimits;

pub use memory_limits::MemoryLimits;
pub use return_signal::ReturnSignal;
pub use shared_permit::SharedPermit;
pub use subject_state::SubjectState;

/// The period over which rates are measured, in milliseconds.
pub const MINUTE_MS: u64 = 60_000;

/// The port to the limits that several processes share.
#[async_trait]
pub trait SharedLimits: fmt::Debug + Send + Sync {
    /// A number for a request that no other request has. Databases have signed numbers, so it is below 2^63.
    fn new_request_id(&self) -> u64;
    /// Asks once for a permit. If it is not granted and the request [waits](PermitRequest::waits), it has a place in the queue
    /// from now on, until it is granted or [given back](Self::return_permit). A place that is not asked about for some seconds is
    /// passed over; asking again with [`PermitRequest::asked`] brings it back.
    async fn take_permit(&self, request: &PermitRequest) -> PermitAnswer;
    /// Returns when asking again may help, at the latest after about a second. Only a hint.
    async fn wait_for_permit(&self, wait: &PermitWait);
    /// Gives a permit back, or a place in the queue. Returns at once: others see it a moment later.
    fn return_permit(&self, returned: ReturnedPermit);
}

/// A request for a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitRequest {
    /// A number that no other request has, below 2^63.
    pub id: u64,
    /// What is limited.
    pub subject: String,
    /// Its limits. Each process passes its own, and they are compared with what all of them use.
    pub limits: ProviderLimits,
    /// The tokens that the call is expected to use.
    pub tokens: u64,
    /// When it was asked for first, by the clock of the limits: see [`PermitWait::asked`].
    pub asked: Option<u64>,
    /// Whether it gets a place in the queue if it is not granted.
    pub waits: bool,
}

/// Who asks for a permit, and how long it may be held without being renewed. Times are milliseconds by the clock of the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitLease {
    /// The process, by a name that no other process ever has.
    pub holder: String,
    /// The current time.
    pub now: u64,
    /// The expiry of the permit if it is not renewed.
    pub until: u64,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermitAnswer {
    /// It is granted.
    Granted {
        /// When it counts as begun for the limits per minute, by the clock of the limits. `None`: it does not count.
        begun: Option<u64>,
    },
    /// It is not granted now.
    Wait(PermitWait),
    /// Nobody can say, so the limits hold for this process only.
    Unavailable {
        /// Why, in a sentence.
        why: String,
    },
}

/// Why a permit is not granted, and until when. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitWait {
    /// The limit, by its name in the settings.
    pub limit: &'static str,
    /// The time until there is room even if nothing is given back. `None`: unknown.
    pub wait_ms: Option<u64>,
    /// The requests before it in the queue.
    pub ahead: u64,
    /// When it was asked for first, by the clock of the limits: its place in the queue.
    pub asked: u64,
    /// How long it has waited.
    pub waited_ms: u64,
    /// How many returns its process had seen before it asked: [`ReturnSignal::seen_returns`].
    pub seen: u64,
}

/// What a call has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermitUse {
    /// It was not made, so it does not count.
    Unused,
    /// It was made, and its tokens are unknown: it counts as expected.
    Unknown,
    /// It was made and used this many tokens.
    Tokens(u64),
}

/// A permit, or a place in the queue, that is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedPermit {
    /// The number of the request.
    pub id: u64,
    /// What is limited.
    pub subject: String,
    /// As in [`PermitAnswer::Granted`].
    pub begun: Option<u64>,
    /// The tokens that were expected.
    pub tokens: u64,
    /// What was used.
    pub used: PermitUse,
}

impl ReturnedPermit {
    /// Whether something else counts from now on than what was expected.
    fn corrects_rate(&self) -> bool {
        self.begun.is_some()
            && match self.used {
                PermitUse::Unused => true,
                PermitUse::Unknown => false,
                PermitUse::Tokens(used) => used != self.tokens,
            }
    }
}
