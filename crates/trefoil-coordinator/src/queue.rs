//! The model calls that wait for their turn, because of a limit of the host or because their provider keeps failing.
//!
//! A waiting call has not been made: it has no entry in the journal, it can be taken back without a trace, and if the process ends,
//! its outcome is not unknown. Its time limit starts when its turn comes.

use std::sync::Arc;

use trefoil_machine::key::{Key, KeyMap, KeyPart};
use trefoil_machine::request::{Activity, Request};

/// The waiting calls of a run.
#[derive(Debug, Default)]
pub struct CallQueue {
    waiting: KeyMap<WaitingCall>,
}

/// A call that waits.
#[derive(Debug)]
pub struct WaitingCall {
    /// The call.
    pub call: Arc<Activity>,
    /// Its time limit.
    pub limit: Option<Arc<Activity>>,
}

impl CallQueue {
    /// Whether no call waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The waiting calls.
    pub fn waiting_calls(&self) -> impl Iterator<Item = &Arc<Activity>> {
        self.waiting.values().map(|waiting| &waiting.call)
    }

    /// A call waits from now on.
    pub fn add_call(&mut self, call: Arc<Activity>) {
        self.waiting.insert(call.key.clone(), WaitingCall { call, limit: None });
    }

    /// Returns an activity, unless it is the time limit of a waiting call.
    pub fn keep_limit(&mut self, activity: Arc<Activity>) -> Option<Arc<Activity>> {
        if let Some(call) = limited_call_key(&activity)
            && let Some(waiting) = self.waiting.get_mut(&Key::from(call))
        {
            waiting.limit = Some(activity);
            return None;
        }
        Some(activity)
    }

    /// The turn of a call has come.
    pub fn remove_call(&mut self, key: &Key) -> Option<WaitingCall> {
        self.waiting.swap_remove(key)
    }

    /// Removes calls, and returns them.
    pub fn take_back(&mut self, unwanted: impl Fn(&Key) -> bool) -> Vec<Arc<Activity>> {
        let mut back = Vec::new();
        self.waiting.retain(|key, waiting| {
            let stays = !unwanted(key);
            if !stays {
                back.push(waiting.call.clone());
            }
            stays
        });
        back
    }
}

/// If an activity is the time limit of a call, returns the key of that call.
pub fn limited_call_key(activity: &Activity) -> Option<&str> {
    let timer = matches!(activity.request, Request::Timer { .. });
    let limit =
        matches!(activity.key.iter_parts().last(), Some(KeyPart::Own(name)) if name.split('.').next() == Some("limit"));
    if timer && limit { activity.key.parent_key() } else { None }
}
