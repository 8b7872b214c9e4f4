//! Tool calls that start runs: if such a run is suspended, the calling run waits too, and repeats the call when it can continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json as j;
use trefoil_ir::{CommandCall, OnItemFailure, Program, StepId, StepKind, ToolCall, ToolKind};
use trefoil_machine::PreparedProgram;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::CalledRun;
use trefoil_runtime::ports::{
    CallSite, Clock as _, MapSecrets, RawRunMessage, RawSuspension, SuspendedCall, ToolError,
};
use trefoil_runtime::{Entry, EntryKind, EventKind, ToolHost, ToolRequest, Usage, driver};
use trefoil_template::Value;

use crate::waiting::{Inbox, numbered, resume};
use crate::world::{World, block_on, json};
use testbed::Build;

/// A tool whose run waits for an answer. The run is ended if the tool is called with the stop switch used.
#[derive(Default)]
struct Called {
    calls: AtomicUsize,
    answered: AtomicBool,
    /// The number of the call at which the answer has arrived. 0: it does not arrive by itself.
    answered_at: usize,
    called_off: AtomicBool,
    wake_at: Option<u64>,
    /// What its run asks, instead of `Ship?`.
    asks: Option<&'static str>,
}

#[async_trait]
impl ToolHost for Called {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, at: CallSite<'_>, _request: &ToolRequest) -> Result<Value, ToolError> {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if at.meter.stop_switch().is_cancelled() {
            self.called_off.store(true, Ordering::SeqCst);
            return Err(ToolError::Failed("called off".into()));
        }
        if self.answered.load(Ordering::SeqCst) || calls == self.answered_at {
            return Ok("shipped".into());
        }
        let waiting = AwaitedActivity {
            key: "ok".into(),
            step: "ok".into(),
            sort: "human",
            run: Some("r2".into()),
            prompt: Some(self.asks.unwrap_or("Ship?").into()),
            ..AwaitedActivity::default()
        };
        let usage = Usage { calls_beneath: 2, input_tokens: 7, cost_micro: 30, ..Usage::default() };
        let call = SuspendedCall { run: "r2".into(), waiting: vec![waiting], wake_at: self.wake_at, usage };
        Err(ToolError::Suspended(Box::new(RawSuspension(call))))
    }
    fn is_idempotent(&self, _request: &ToolRequest) -> bool {
        true
    }
}

/// A call with a time limit of a second.
fn ship(b: &mut Build) -> StepId {
    let call = ToolCall { name: "ship".into(), kind: ToolKind::Local, arguments: b.value("{{input}}") };
    let ship = b.step("ship", StepKind::Tool(Box::new(call)));
    b.at(ship).policy.timeout_ms = Some(1_000);
    b.out(ship, "ship")
}

/// The tool call and another branch in parallel, then a model call.
fn beside(branch: impl FnOnce(&mut Build) -> StepId) -> Arc<Program> {
    let mut b = Build::new();
    let branches = [ship(&mut b), branch(&mut b)];
    let all = b.parallel("all", &branches, OnItemFailure::Abort);
    let steps = [all, b.model("end", "{{ship}}")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn world(tool: &Arc<Called>, inbox: &Arc<Inbox>, entries: &[Entry]) -> World {
    let mut world = crate::waiting::world(inbox, entries);
    world.ports.tools = tool.clone();
    world
}

#[test]
fn a_run_waits_with_the_one_that_it_has_called_and_calls_it_again_when_it_is_resumed() {
    let (tool, inbox) = (Arc::new(Called { wake_at: Some(1_735_690_200_000), ..Called::default() }), Arc::default());
    let program = beside(|b| b.wait("pause", 5));
    let first = world(&tool, &inbox, &[]);
    let outcome = first.run(&program, "x");
    let [one] = outcome.waiting.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((one.step.as_str(), one.run.as_deref(), one.sort), ("ok", Some("r2"), "human"));
    assert_eq!(one.calls, ["all/ship".into()]);
    assert_eq!((outcome.calls, outcome.usage.cost_micro), (2, 30), "what the called run has used so far");
    let entries = first.journal.entries("r1");
    let EntryKind::Suspended { wake_at, called, .. } = &entries.last().unwrap().kind else { panic!("{entries:?}") };
    assert_eq!(*wake_at, Some(1_735_690_200_000), "it is due when the called run is");
    assert_eq!(called.as_slice(), [CalledRun { key: "all/ship".into(), run: "r2".into() }]);
    // An hour later there is still no answer. The step's time limit does not run meanwhile.
    let second = world(&tool, &inbox, &entries);
    block_on(second.clock.sleep_ms(3_600_000));
    assert_eq!(resume(&second, &program).waiting.len(), 1);
    tool.answered.store(true, Ordering::SeqCst);
    let third = world(&tool, &inbox, &second.journal.entries("r1"));
    block_on(third.clock.sleep_ms(7_200_000));
    assert_eq!(json(&resume(&third, &program).result.unwrap()), j!("shipped"));
    assert_eq!(tool.calls.load(Ordering::SeqCst), 3);
    // A replay of the journal produces the same events.
    let told = numbered(&third);
    let fourth = world(&tool, &inbox, &third.journal.entries("r1"));
    block_on(driver::retell_events(PreparedProgram::new(program), "r1", fourth.ports.clone(), &fourth.options))
        .unwrap();
    assert_eq!(numbered(&fourth), told);
    let waits = |world: &World| -> Vec<_> {
        let of = |kind| if let EventKind::RunSuspended { waiting, .. } = kind { Some(waiting) } else { None };
        world.kinds().into_iter().filter_map(of).flatten().map(|one| (one.sort, one.run)).collect()
    };
    assert_eq!(waits(&fourth), vec![("run", Some("r2".to_owned())); 2]);
    assert_eq!(waits(&first), waits(&fourth)[..1]);
}

#[test]
fn what_a_called_run_asks_is_shown_without_the_secrets_of_its_caller() {
    let tool = Arc::new(Called { asks: Some("Ship with tr0ub4dor?"), ..Called::default() });
    let mut b = Build::new();
    let call = ToolCall { name: "ship".into(), kind: ToolKind::Local, arguments: b.value("{{secrets.TOKEN}}") };
    let ship = b.step("ship", StepKind::Tool(Box::new(call)));
    let main = b.flow("main", ship, None);
    let mut world = world(&tool, &Arc::default(), &[]);
    world.ports.secrets = Arc::new(MapSecrets::new().with_secret("TOKEN", "tr0ub4dor"));
    let outcome = world.run(&b.program(main), "x");
    let asked: Vec<_> = outcome.waiting.iter().map(|one| one.prompt.as_deref()).collect();
    assert_eq!(asked, [Some("Ship with ***?")]);
}

#[test]
fn a_run_that_is_told_that_the_called_one_can_continue_calls_it_again_at_once() {
    let (tool, inbox) = (Arc::new(Called { answered_at: 2, ..Called::default() }), Arc::new(Inbox::default()));
    inbox.arriving.lock().unwrap().push(RawRunMessage::Continue("r2".into()));
    let world = world(&tool, &inbox, &[]);
    let program = beside(|b| b.wait("pause", 5));
    assert_eq!(json(&world.run(&program, "x").result.unwrap()), j!("shipped"));
    assert_eq!(tool.calls.load(Ordering::SeqCst), 2);
    assert_eq!(inbox.taken(&world), ["r2"], "the message has been taken in");
}

#[test]
fn a_called_run_that_waits_is_called_off_when_its_caller_fails() {
    let (tool, inbox) = (Arc::new(Called::default()), Arc::default());
    let program = beside(|b| {
        let call = CommandCall { script: "pay".into(), arguments: Vec::new(), env: Vec::new(), workdir: None };
        let steps = [b.wait("pause", 5_000), b.step("pay", StepKind::Command(Box::new(call)))];
        b.sequence("", &steps)
    });
    let world = world(&tool, &inbox, &[]);
    assert_eq!(world.run(&program, "x").result.unwrap_err().code, "REFUSED");
    assert!(tool.called_off.load(Ordering::SeqCst));
}
