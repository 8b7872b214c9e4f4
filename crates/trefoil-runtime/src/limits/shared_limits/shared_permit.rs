//! A permit from when it is asked for until it is given back.

use std::sync::Arc;

use super::{PermitAnswer, PermitRequest, PermitUse, PermitWait, ProviderLimits, ReturnedPermit, SharedLimits};

/// A permit of a subject that is limited for all processes together. Dropping it gives it back, also while it waits.
#[derive(Debug)]
pub struct SharedPermit {
    limits: Arc<dyn SharedLimits>,
    request: PermitRequest,
    state: PermitState,
    used: PermitUse,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PermitState {
    /// Nothing is known of it outside this process.
    New,
    /// It may have a place in the queue, or be granted without anybody knowing.
    Asked,
    /// It is granted.
    Granted { begun: Option<u64> },
    /// It counts nowhere.
    Unavailable { why: String },
}

impl SharedPermit {
    /// A permit that was not asked for yet. `tokens`: what is expected to be used.
    pub fn for_subject(
        limits: Arc<dyn SharedLimits>,
        subject: String,
        of_subject: ProviderLimits,
        tokens: u64,
    ) -> Self {
        let id = limits.new_request_id();
        let request = PermitRequest { id, subject, limits: of_subject, tokens, asked: None, waits: true };
        Self { limits, request, state: PermitState::New, used: PermitUse::Unknown }
    }

    /// Takes a permit if there is room now, for callers that do not wait: they leave no place in the queue. Also if nobody can say
    /// whether there is: see [`unavailable_reason`](Self::unavailable_reason).
    ///
    /// # Errors
    ///
    /// Why there is no room.
    pub async fn take_now(
        limits: Arc<dyn SharedLimits>,
        subject: String,
        of_subject: ProviderLimits,
    ) -> Result<Self, PermitWait> {
        let mut permit = Self::for_subject(limits, subject, of_subject, 0);
        permit.request.waits = false;
        match permit.try_take().await {
            None => Ok(permit),
            Some(wait) => Err(wait),
        }
    }

    /// Asks once. `None`: it is granted, or nobody can say. Otherwise it has a place in the queue.
    pub async fn try_take(&mut self) -> Option<PermitWait> {
        // If this future is dropped, nobody knows the answer.
        self.state = PermitState::Asked;
        match self.limits.take_permit(&self.request).await {
            PermitAnswer::Granted { begun } => {
                self.state = PermitState::Granted { begun };
                None
            }
            PermitAnswer::Unavailable { why } => {
                self.state = PermitState::Unavailable { why };
                None
            }
            PermitAnswer::Wait(wait) => {
                self.request.asked = Some(wait.asked);
                if !self.request.waits {
                    self.state = PermitState::New;
                }
                Some(wait)
            }
        }
    }

    /// Returns when asking again may help.
    pub async fn wait_for_return(&self, wait: &PermitWait) {
        self.limits.wait_for_permit(wait).await;
    }

    /// Why the limits of all processes could not be asked.
    pub fn unavailable_reason(&self) -> Option<&str> {
        match &self.state {
            PermitState::Unavailable { why } => Some(why),
            PermitState::New | PermitState::Asked | PermitState::Granted { .. } => None,
        }
    }

    /// Sets what was used. Without it, what was expected counts.
    pub fn set_used(&mut self, used: PermitUse) {
        if matches!(used, PermitUse::Tokens(_)) && self.request.limits.tokens_per_minute.is_none() {
            return;
        }
        self.used = used;
    }
}

impl Drop for SharedPermit {
    fn drop(&mut self) {
        let begun = match self.state {
            PermitState::New | PermitState::Unavailable { .. } => return,
            PermitState::Asked => None,
            PermitState::Granted { begun } => begun,
        };
        let PermitRequest { id, subject, tokens, .. } = &self.request;
        let returned = ReturnedPermit { id: *id, subject: subject.clone(), begun, tokens: *tokens, used: self.used };
        // Nothing is held, and nothing has to be corrected.
        if matches!(self.state, PermitState::Granted { .. }) && !self.request.is_held() && !returned.corrects_rate() {
            return;
        }
        self.limits.return_permit(returned);
    }
}
