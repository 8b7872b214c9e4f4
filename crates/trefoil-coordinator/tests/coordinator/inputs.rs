//! Every input in every state.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use testbed::Build;
use trefoil_coordinator::{
    AdmittedCalls, CoordinatorState, HostFacts, ReceivedMessage, RunCoordinator, RunInput, RunMessage, StopRequest,
    UnexpectedInput,
};
use trefoil_ir::{OnItemFailure, Program, StepKind, ValueExpression};
use trefoil_machine::PreparedProgram;
use trefoil_template::Value;

use crate::memory_host::{Left, MemoryHost};

/// One input of each kind, that changes nothing but what its kind changes.
fn inputs() -> Vec<RunInput> {
    vec![
        RunInput::Found(Vec::new()),
        RunInput::DecisionRead(None),
        RunInput::InboxRead(None),
        RunInput::Appended(Ok(())),
        RunInput::Admitted(AdmittedCalls::default()),
        RunInput::MayProceed,
        RunInput::WorkEnded(Vec::new()),
        RunInput::TurnCame,
        RunInput::Arrived(ReceivedMessage::without_inbox(RunMessage::Unknown)),
        RunInput::StopWanted(StopRequest::No),
        RunInput::MomentOver,
    ]
}

/// The name of a state.
fn name(state: CoordinatorState) -> &'static str {
    match state {
        CoordinatorState::Ready => "Ready",
        CoordinatorState::LookingUp => "LookingUp",
        CoordinatorState::Deciding => "Deciding",
        CoordinatorState::ReadingInbox => "ReadingInbox",
        CoordinatorState::Appending => "Appending",
        CoordinatorState::Admitting => "Admitting",
        CoordinatorState::Yielding => "Yielding",
        CoordinatorState::Working { .. } => "Working",
        CoordinatorState::WindingDown => "WindingDown",
        CoordinatorState::Ended => "Ended",
    }
}

/// The inputs that a state expects.
fn expected(state: &str) -> &'static [&'static str] {
    match state {
        "Ready" => &["StopWanted"],
        "LookingUp" => &["Found", "StopWanted"],
        "Deciding" => &["DecisionRead", "StopWanted"],
        "ReadingInbox" => &["InboxRead", "StopWanted"],
        "Appending" => &["Appended", "StopWanted"],
        "Admitting" => &["Admitted", "StopWanted"],
        "Yielding" => &["MayProceed", "StopWanted"],
        "Working" => &["WorkEnded", "TurnCame", "Arrived", "StopWanted"],
        "WindingDown" => &["WorkEnded", "StopWanted", "MomentOver"],
        _ => &[],
    }
}

/// Sends every input that the state does not expect, and `StopWanted` where it says what is known.
fn send_all(run: &mut RunCoordinator, facts: &dyn HostFacts) {
    let state = run.current_state();
    for input in inputs() {
        let input_name = input.name();
        if expected(name(state)).contains(&input_name) && input_name != "StopWanted" {
            continue;
        }
        let answer = run.handle_input(input, facts);
        match expected(name(state)).contains(&input_name) {
            true => assert_eq!(answer, Ok(()), "{input_name} in {state:?}"),
            false => assert_eq!(answer, Err(UnexpectedInput { state, input: input_name })),
        }
        assert_eq!(run.current_state(), state, "after {input_name}");
    }
}

/// A program that does something of everything: many items, a tool that must not be repeated, a call, and a branch that fails while
/// another one works.
fn many() -> Arc<Program> {
    let mut build = Build::new();
    build.begin_item();
    let item = build.compute("item", "{{item}}");
    let each = build.flow("each", item, None);
    build.slots = vec!["input".into()];
    let items = Value::from((0..6_000).map(Value::from).collect::<Vec<Value>>());
    let list = build.step("list", StepKind::Compute(ValueExpression::Const(items)));
    let list = build.out(list, "list");
    let all = build.for_each("all", "{{list}}", each, OnItemFailure::Abort);
    let first = build.model("first", "{{input}}");
    let bad = build.model("bad", "{{input}}");
    let slow = build.model("slow", "{{input}}");
    let both = build.parallel("both", &[bad, slow], OnItemFailure::Abort);
    let body = build.sequence("", &[list, all, first, both]);
    let main = build.flow("main", body, None);
    build.program(main)
}

#[test]
fn an_input_that_does_not_belong_to_a_state_is_an_error_and_changes_nothing() {
    let met: Rc<RefCell<BTreeSet<&'static str>>> = Rc::default();
    let watched = |host: &mut MemoryHost| {
        let met = met.clone();
        host.watch = Some(Box::new(move |run, facts| {
            met.borrow_mut().insert(name(run.current_state()));
            send_all(run, facts);
        }));
    };
    for seed in 0..20 {
        let program = crate::random::program(&busy(seed));
        let large = (seed == 0).then(|| (many(), usize::MAX));
        for (program, crash) in [(program.clone(), usize::MAX), (program, 7 + seed as usize)].into_iter().chain(large) {
            let program = PreparedProgram::new(program);
            let mut plain = MemoryHost::new(&program, seed);
            let mut host = MemoryHost::new(&program, seed);
            for host in [&mut plain, &mut host] {
                (host.looks_up, host.winds_down) = (true, true);
            }
            watched(&mut host);
            let mut actions = crash;
            loop {
                let (one, other) = (plain.process(actions), host.process(actions));
                assert_eq!(plain.entries, host.entries);
                actions = usize::MAX;
                match (one, other) {
                    (Left::Ended(one), Left::Ended(other)) => {
                        assert_eq!(one.is_ok(), other.is_ok());
                        break;
                    }
                    (Left::Crashed, Left::Crashed) | (Left::Suspended, Left::Suspended) => {}
                    _ => panic!("another end"),
                }
            }
        }
    }
    let all = [
        "Admitting",
        "Appending",
        "Deciding",
        "Ended",
        "LookingUp",
        "ReadingInbox",
        "Ready",
        "WindingDown",
        "Working",
        "Yielding",
    ];
    assert_eq!(met.borrow().iter().copied().collect::<Vec<_>>(), all);
}

/// A tool, a question and a model at the same time.
fn busy(seed: u64) -> crate::random::Node {
    use crate::random::Node;
    let tool = || Node::Tool(seed as u8);
    let branches = vec![tool(), Node::Human, Node::Model { read: 0, sort: 0, when: 0 }, Node::Command(0)];
    Node::Sequence(vec![tool(), Node::Parallel { branches, concurrency: 0, bad: true }, Node::Wait])
}
