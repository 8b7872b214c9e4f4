//! The suites for tools and people: the implementations in this crate pass, and wrong ones fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_runtime::conformance::{InboxFixture, ToolSample, check_inbox, check_shared_limits, check_tools};
use trefoil_runtime::limits::shared_limits::{
    MemoryLimits, PermitAnswer, PermitRequest, PermitWait, ReturnedPermit, SharedLimits,
};
use trefoil_runtime::ports::{CallSite, NoHumans, NoTools, SystemClock};
use trefoil_runtime::{
    Effects, HumanInbox, HumanRequest, QuestionState, RawRunMessage, ToolError, ToolHost, ToolRequest, ToolSpec,
};
use trefoil_template::Value;

fn request(name: &str) -> ToolRequest {
    let arguments = [("text", Value::from("tea"))].into_iter().collect();
    ToolRequest { name: name.into(), kind: ToolKind::Local, arguments }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn no_tools_and_nobody_conform() {
    let sample = ToolSample { works: None, fails: None, unknown: request("none"), lists: Vec::new() };
    assert_eq!(runtime().block_on(check_tools(Arc::new(NoTools), &sample)), Ok(()));
    assert_eq!(runtime().block_on(check_inbox(&One(Arc::new(NoHumans), QuestionState::Nobody))), Ok(()));
}

/// What is wrong with a tool.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    /// It offers every tool.
    Offers,
    /// It returns a different result the second time.
    Counts,
    /// It lists nothing.
    Lists,
    /// Its list says that it is idempotent, but the host says that it is not.
    Effects,
}

struct Tool(Wrong, AtomicUsize);

#[async_trait]
impl ToolHost for Tool {
    fn offers_tool(&self, name: &str, _kind: &ToolKind) -> bool {
        self.0 == Wrong::Offers || name == "echo"
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let before = self.1.fetch_add(1, Ordering::SeqCst);
        match &*request.name {
            "echo" if self.0 == Wrong::Counts => Ok(Value::from(before as u64)),
            "echo" => Ok(request.arguments.clone()),
            other => Err(ToolError::Failed(format!("unknown tool `{other}`"))),
        }
    }
    async fn list_tools(&self, _at: CallSite<'_>, _kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        let parameters = [("type", Value::from("object"))].into_iter().collect();
        let effects = if self.0 == Wrong::Effects { Effects::ReadOnly } else { Effects::Writes };
        let spec = ToolSpec { name: "echo".into(), description: "".into(), parameters, effects };
        Ok(if self.0 == Wrong::Lists { Vec::new() } else { vec![spec] })
    }
}

#[test]
fn a_tool_host_that_breaks_a_promise_does_not_pass() {
    let works = Some((request("echo"), request("echo").arguments));
    let sample = ToolSample { works, fails: None, unknown: request("none"), lists: vec!["echo"] };
    let passes = |wrong| {
        let host: Arc<dyn ToolHost> = Arc::new(Tool(wrong, AtomicUsize::new(0)));
        // A host in an `Arc` behaves the same.
        runtime().block_on(check_tools(Arc::new(host), &sample))
    };
    assert_eq!(passes(Wrong::Nothing), Ok(()));
    for wrong in [Wrong::Offers, Wrong::Counts, Wrong::Lists, Wrong::Effects] {
        assert!(passes(wrong).is_err());
    }
}

/// An inbox that receives no messages.
struct One(Arc<dyn HumanInbox>, QuestionState);

#[async_trait]
impl InboxFixture for One {
    fn inbox(&self) -> Arc<dyn HumanInbox> {
        self.0.clone()
    }
    async fn send(&self, _run: &str, _what: RawRunMessage) -> bool {
        false
    }
    fn expected_state(&self) -> &QuestionState {
        &self.1
    }
}

/// An inbox that gives a different answer every time.
struct Fickle(AtomicUsize);

#[async_trait]
impl HumanInbox for Fickle {
    async fn ask_question(&self, _at: CallSite<'_>, _request: &HumanRequest) -> QuestionState {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => QuestionState::Later,
            _ => QuestionState::Nobody,
        }
    }
}

#[test]
fn an_inbox_that_breaks_a_promise_does_not_pass() {
    let fickle = One(Arc::new(Fickle(AtomicUsize::new(0))), QuestionState::Later);
    assert!(runtime().block_on(check_inbox(&fickle)).is_err());
}

#[test]
fn limits_in_memory_conform() {
    let limits: Arc<dyn SharedLimits> = Arc::new(MemoryLimits::new(Arc::new(SystemClock::new())));
    assert_eq!(runtime().block_on(check_shared_limits(&[limits.clone(), limits])), Ok(()));
}

/// What is wrong with shared limits.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WrongLimits {
    /// They are not shared.
    Apart,
    /// Whoever asks when there is room gets it.
    Overtaken,
    /// Nothing is given back.
    Kept,
}

/// Limits in memory with a mistake.
#[derive(Debug)]
struct FaultyLimits(Arc<MemoryLimits>, WrongLimits);

#[async_trait]
impl SharedLimits for FaultyLimits {
    fn new_request_id(&self) -> u64 {
        trefoil_runtime::Random::next_number(&trefoil_runtime::ports::SystemRandom) >> 1
    }
    async fn take_permit(&self, request: &PermitRequest) -> PermitAnswer {
        let waits = request.waits && self.1 != WrongLimits::Overtaken;
        self.0.take_permit(&PermitRequest { waits, ..request.clone() }).await
    }
    async fn wait_for_permit(&self, wait: &PermitWait) {
        self.0.wait_for_permit(wait).await;
    }
    fn return_permit(&self, returned: ReturnedPermit) {
        if self.1 != WrongLimits::Kept {
            self.0.return_permit(returned);
        }
    }
}

#[test]
fn wrong_limits_do_not_conform() {
    let says = |wrong: WrongLimits| {
        let memory = || Arc::new(MemoryLimits::new(Arc::new(SystemClock::new())));
        let one = memory();
        let other = if wrong == WrongLimits::Apart { memory() } else { one.clone() };
        let processes = [one, other].map(|memory| Arc::new(FaultyLimits(memory, wrong)) as Arc<dyn SharedLimits>);
        let check = async {
            // A permit that nobody gives back is waited for.
            let checked = tokio::time::timeout(std::time::Duration::from_secs(3), check_shared_limits(&processes));
            checked.await.unwrap_or_else(|_| Err("it never ends".to_owned()))
        };
        runtime().block_on(check).unwrap_err()
    };
    assert_eq!(says(WrongLimits::Apart), "a third of two is granted");
    assert!(says(WrongLimits::Overtaken).starts_with("it does not know who is before it"));
    assert_eq!(says(WrongLimits::Kept), "it never ends");
}
