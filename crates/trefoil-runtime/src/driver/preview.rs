//! What a run that goes by earlier ones would do first: it goes on with what they have, and does nothing itself.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::Prepared;
use trefoil_machine::request::ToolSpec;
use trefoil_template::Value;

use super::{Options, RunOutcome, run_prepared};
use crate::ports::{
    Asked, CallSite, Clock, CommandHost, CommandOutput, HumanInbox, ModelAnswer, ModelError, ModelProvider, NoEvents,
    NoJournal, Ports, Secrets, SeededRandom, ToolError, ToolHost,
};
use crate::{CommandRequest, HumanRequest, ModelRequest, ToolRequest};

/// Runs a program with the results of [`Options::memo`] until only calls are left that would have to be made. None of them is.
/// What became of what was asked for so far is in the decisions of the memo.
///
/// Returns how the run ended, if it does without any call: with a result, because nothing has changed, or with an error. None: it
/// would make a call.
///
/// `tools` say what may be called twice; `secrets` say what is set.
pub fn preview(
    prepared: Arc<Prepared>,
    input: Option<Value>,
    (tools, secrets): (Arc<dyn ToolHost>, Arc<dyn Secrets>),
    options: Options,
) -> Option<RunOutcome> {
    let still = Arc::new(Still(tools));
    let ports = Ports {
        models: still.clone(),
        tools: still.clone(),
        commands: Some(still.clone()),
        humans: still.clone(),
        journal: Arc::new(NoJournal),
        clock: still,
        random: Arc::new(SeededRandom::new(0)),
        secrets,
        events: Arc::new(NoEvents),
    };
    let run = async { run_prepared(prepared, input, ports, Options { places: None, ..options }).await };
    // On a thread of its own: a runtime would keep to itself that the run has something left to do.
    std::thread::scope(|scope| scope.spawn(|| until_still(run)).join().ok().flatten())
}

/// Polls a future as long as it has something to do by itself.
fn until_still<T>(future: impl Future<Output = T>) -> Option<T> {
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    let mut future = pin!(future);
    while woken.0.swap(false, Ordering::SeqCst) {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(done);
        }
    }
    None
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Nothing comes back from anything.
struct Still(Arc<dyn ToolHost>);

#[async_trait]
impl ModelProvider for Still {
    async fn call(
        &self,
        _at: CallSite<'_>,
        _request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        pending().await
    }
    fn label(&self, request: &ModelRequest) -> String {
        request.model.to_string()
    }
}

#[async_trait]
impl ToolHost for Still {
    fn offers(&self, name: &str, kind: &ToolKind) -> bool {
        self.0.offers(name, kind)
    }
    async fn call(&self, _at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        pending().await
    }
    async fn list(&self, _at: CallSite<'_>, _kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        pending().await
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.0.is_idempotent(request)
    }
}

#[async_trait]
impl CommandHost for Still {
    async fn run(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        pending().await
    }
}

#[async_trait]
impl HumanInbox for Still {
    async fn ask(&self, _at: CallSite<'_>, _request: &HumanRequest) -> Asked {
        pending().await
    }
}

#[async_trait]
impl Clock for Still {
    fn now_ms(&self) -> u64 {
        0
    }
    async fn sleep(&self, _ms: u64) {
        pending().await
    }
    fn wall_ms(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_is_polled_until_it_waits_for_something_else() {
        let mut left = 3;
        let busy = std::future::poll_fn(move |context| {
            left -= 1;
            if left > 0 {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready("done")
        });
        assert_eq!(until_still(busy), Some("done"));
        assert_eq!(until_still(pending::<()>()), None);
    }
}
