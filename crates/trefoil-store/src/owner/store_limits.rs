//! Limits that hold for all processes of a store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::runtime::Handle;
use trefoil_runtime::Random as _;
use trefoil_runtime::limits::shared_limits::{
    PermitAnswer, PermitLease, PermitRequest, PermitUse, PermitWait, ReturnedPermit, SharedLimits,
};

use super::Owner;
use crate::port::Store;
use trefoil_runtime::locks::lock;
use trefoil_runtime::ports::SystemRandom;

/// The limits that this owner shares with all processes of its store. Its permits have leases like its runs, so those of a process
/// that was killed come back.
#[derive(Debug)]
pub struct StoreLimits {
    owner: Arc<Owner>,
}

/// The permits of an owner.
#[derive(Debug, Default)]
pub(super) struct OwnerPermits {
    /// The subjects of those that are held, by the numbers of their requests.
    held: Mutex<BTreeMap<u64, String>>,
    /// Those that are to be given back, by subject.
    returned: Mutex<BTreeMap<String, Vec<ReturnedPermit>>>,
}

impl OwnerPermits {
    /// Renews those that are held. Returns whether they were renewed.
    pub async fn renew_all(&self, store: &dyn Store, until: u64) -> bool {
        let mut subjects: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (id, subject) in &*lock(&self.held) {
            subjects.entry(subject.clone()).or_default().push(*id);
        }
        let mut are_renewed = true;
        for (subject, ids) in subjects {
            are_renewed &= store.renew_shared_permits(&subject, ids, until).await.is_ok();
        }
        are_renewed
    }

    /// Gives those of a subject back that are to be given back.
    async fn flush_subject(&self, store: &dyn Store, subject: &str) {
        let returned = lock(&self.returned).remove(subject);
        if let Some(returned) = returned {
            // If the store fails, they expire, because they are not renewed any more.
            let _ = store.return_shared_permits(subject, returned).await;
        }
    }

    /// Gives all of them back.
    pub async fn return_all(&self, store: &dyn Store) {
        let held = std::mem::take(&mut *lock(&self.held));
        let mut returned = std::mem::take(&mut *lock(&self.returned));
        for (id, subject) in held {
            let used = PermitUse::Unknown;
            let permit = ReturnedPermit { id, subject: subject.clone(), begun: None, tokens: 0, used };
            returned.entry(subject).or_default().push(permit);
        }
        for (subject, returned) in returned {
            // If the store fails, they expire.
            let _ = store.return_shared_permits(&subject, returned).await;
        }
    }
}

impl StoreLimits {
    /// The limits of an owner.
    pub fn new(owner: Arc<Owner>) -> Self {
        Self { owner }
    }
}

#[async_trait]
impl SharedLimits for StoreLimits {
    fn new_request_id(&self) -> u64 {
        SystemRandom.next_number() >> 1
    }

    async fn take_permit(&self, request: &PermitRequest) -> PermitAnswer {
        let owner = &self.owner;
        // What this process has given back makes room first. If the store fails, it expires.
        let returned = lock(&owner.permits.returned).remove(&request.subject).unwrap_or_default();
        let lease = PermitLease { holder: owner.name.clone(), now: owner.clock.wall_ms(), until: owner.lease_end() };
        match owner.store.take_shared_permit(request, lease, returned).await {
            Ok(answer) => {
                if request.is_held() && matches!(answer, PermitAnswer::Granted { .. }) {
                    lock(&owner.permits.held).insert(request.id, request.subject.clone());
                    owner.keep_renewing();
                }
                answer
            }
            Err(error) => PermitAnswer::Unavailable { why: error.to_string() },
        }
    }

    async fn wait_for_permit(&self, wait: &PermitWait) {
        self.owner.store.wait_for_shared_permit(wait).await;
    }

    fn return_permit(&self, returned: ReturnedPermit) {
        let permits = &self.owner.permits;
        lock(&permits.held).remove(&returned.id);
        let subject = returned.subject.clone();
        lock(&permits.returned).entry(subject.clone()).or_default().push(returned);
        // Without a runtime, the permit is given back with the next one, or expires.
        let Ok(runtime) = Handle::try_current() else { return };
        let owner = self.owner.clone();
        self.owner.spawn_leaving(&runtime, async move {
            owner.permits.flush_subject(&*owner.store, &subject).await;
        });
    }
}
