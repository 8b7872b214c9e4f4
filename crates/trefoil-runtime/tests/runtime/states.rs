//! State machines: which transition is taken, and how a run ends.

use expect_test::expect;
use std::sync::{Arc, Mutex};

use serde_json::json as j;

use async_trait::async_trait;
use trefoil_ir::{
    HumanCall, MatchedOutcome, OnTimeout, Source, StateId, StateMachine, StateTransition, StepId, StepKind,
    ValueExpression, WorkflowState,
};
use trefoil_machine::request::HumanRequest;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{EntryKind, EventKind, HumanInbox, QuestionState, RunOutcome};
use trefoil_template::Value;

use crate::world::{World, json, status};
use testbed::build::{Build, nowhere};

pub fn go(b: &mut Build, takes: MatchedOutcome, when: &str, target: u32) -> StateTransition {
    let cond = (!when.is_empty()).then(|| b.cond(when));
    let text = if when.is_empty() { "always" } else { when };
    StateTransition {
        takes,
        when: cond,
        target: StateId(target),
        target_at: nowhere(),
        feedback: None,
        origin: nowhere(),
        text: text.into(),
    }
}

pub fn state(name: &str, step: StepId, transitions: Vec<StateTransition>) -> WorkflowState {
    WorkflowState {
        name: name.into(),
        step,
        failed: None,
        max_visits: 5,
        max_visits_at: None,
        transitions,
        ends_unmatched: false,
        fails_when: None,
    }
}

pub fn machine(states: Vec<WorkflowState>) -> StateMachine {
    StateMachine {
        states: states.into(),
        initial: StateId(0),
        max_entries: 50,
        max_entries_at: None,
        feedback: None,
        previous_error: None,
        visit: None,
    }
}

#[test]
fn the_first_matching_transition_is_taken_with_its_feedback() {
    let mut b = Build::new();
    let draft = b.model("DRAFT", "draft {{feedback}}");
    let review = b.model("REVIEW", "review");
    let done = b.model("DONE", "done: {{DRAFT}}");
    let mut again = go(&mut b, MatchedOutcome::Success, "{{REVIEW}} == \"bad\"", 0);
    again.feedback = Some(b.text("because {{result}}"));
    let always = go(&mut b, MatchedOutcome::Success, "", 2);
    let to_review = go(&mut b, MatchedOutcome::Success, "", 1);
    let mut states = machine(vec![
        state("DRAFT", draft, vec![to_review]),
        state("REVIEW", review, vec![again, always]),
        state("DONE", done, vec![]),
    ]);
    states.feedback = Some(b.slot("feedback"));
    let body = b.step("flow", StepKind::StateMachine(states));
    let main = b.flow("main", body, None);
    let world = World::model(|key, user| Ok(if key == "flow/REVIEW@1" { "bad".into() } else { user.to_owned() }));
    let outcome = world.run(&b.program(main), "x");
    assert_eq!(json(&outcome.result.unwrap()), j!("done: draft because bad"));
    let keys: Vec<String> = world
        .journal
        .entries("r1")
        .iter()
        .filter_map(|e| match &e.kind {
            trefoil_runtime::EntryKind::Scheduled { key, .. } => Some(key.0.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["flow/DRAFT@1", "flow/REVIEW@1", "flow/DRAFT@2", "flow/REVIEW@2", "flow/DONE@1"]);
}

#[test]
fn no_match_fails_and_says_which_values_were_seen() {
    let mut b = Build::new();
    let rate = b.model("RATE", "0.8");
    let end = b.model("END", "x");
    let above = go(&mut b, MatchedOutcome::Success, "{{RATE}} > 0.8", 1);
    let below = go(&mut b, MatchedOutcome::Success, "{{RATE}} < 0.8", 1);
    let states = machine(vec![state("RATE", rate, vec![above, below]), state("END", end, vec![])]);
    let body = b.step("", StepKind::StateMachine(states));
    let main = b.flow("main", body, None);
    let error = World::echo().run(&b.program(main), "x").result.unwrap_err();
    assert_eq!(error.code, "NO_TRANSITION");
    expect!["no transition of state `RATE` matched (`{{RATE}} > 0.8`, `{{RATE}} < 0.8`): `RATE` is 0.8"]
        .assert_eq(&error.message);
    assert_eq!(error.into_data().key.map(|k| k.0.to_string()).as_deref(), Some("RATE@1"));
}

#[test]
fn a_failed_state_takes_only_transitions_for_failures() {
    let run = |takes: MatchedOutcome| {
        let mut b = Build::new();
        let work = b.model("WORK", "x");
        let mend = b.model("MEND", "mend {{WORK}} {{error}}");
        let to = go(&mut b, takes, "", 1);
        let mut first = state("WORK", work, vec![to]);
        first.failed = Some(ValueExpression::Object(vec![("why".into(), ValueExpression::Read(Source::Failure))]));
        let mut states = machine(vec![first, state("MEND", mend, vec![])]);
        states.previous_error = Some(b.slot("error"));
        let body = b.step("", StepKind::StateMachine(states));
        let main = b.flow("main", body, None);
        let world =
            World::model(|key, user| if key.starts_with("WORK@1") { Err(status(503)) } else { Ok(user.to_owned()) });
        world.run(&b.program(main), "x").result
    };
    assert_eq!(json(&run(MatchedOutcome::Failure).unwrap()), j!("mend {\"why\":\"status 503\"} status 503"));
    assert_eq!(run(MatchedOutcome::Success).unwrap_err().message, "status 503");
}

#[test]
fn visits_and_entries_have_limits() {
    let run = |max_visits: u32, max_entries: u32| {
        let mut b = Build::new();
        let spin = b.compute("SPIN", "x");
        let to = go(&mut b, MatchedOutcome::Both, "", 0);
        let mut spinning = state("SPIN", spin, vec![to]);
        spinning.max_visits = max_visits;
        let mut states = machine(vec![spinning]);
        states.max_entries = max_entries;
        let body = b.step("", StepKind::StateMachine(states));
        let main = b.flow("main", body, None);
        World::echo().run(&b.program(main), "x").result.unwrap_err()
    };
    let visits = run(3, 10);
    assert_eq!(visits.code, "MAX_STATE_VISITS_EXCEEDED");
    expect!["state `SPIN` entered more than 3 times"].assert_eq(&visits.message);
    assert_eq!(visits.key.as_ref().map(|k| k.0.to_string()).as_deref(), Some("SPIN@3"));
    assert_eq!(run(10, 3).code, "MAX_TRANSITIONS_EXCEEDED");
    assert_eq!(run(10, 2).key.as_ref().map(|k| k.0.to_string()).as_deref(), Some("SPIN@2"));
}

#[test]
fn a_terminal_state_may_fail_the_run() {
    let mut b = Build::new();
    let end =
        b.step("END", StepKind::Compute(ValueExpression::Const([("exit_code", Value::from(3))].into_iter().collect())));
    let end = b.out(end, "END");
    let mut last = state("END", end, vec![]);
    last.fails_when = Some(b.cond("{{END.exit_code}} != 0"));
    let body = b.step("", StepKind::StateMachine(machine(vec![last])));
    let main = b.flow("main", body, None);
    let error = World::echo().run(&b.program(main), "x").result.unwrap_err();
    assert_eq!(error.code, "COMMAND_FAILED");
    assert_eq!(error.into_data().key.map(|k| k.0.to_string()).as_deref(), Some("END@1"));
}

#[test]
fn a_state_whose_transitions_are_all_for_failures_ends_the_run_when_it_succeeds() {
    let run = |code: i32, ends: bool| {
        let mut b = Build::new();
        let make = b.step(
            "MAKE",
            StepKind::Compute(ValueExpression::Const([("exit_code", Value::from(code))].into_iter().collect())),
        );
        let make = b.out(make, "MAKE");
        let report = b.model("REPORT", "reported");
        let on_three = go(&mut b, MatchedOutcome::Success, "{{MAKE.exit_code}} == 3", 1);
        let mut first = state("MAKE", make, vec![on_three]);
        first.ends_unmatched = ends;
        first.fails_when = Some(b.cond("{{MAKE.exit_code}} != 0"));
        let body = b.step("", StepKind::StateMachine(machine(vec![first, state("REPORT", report, vec![])])));
        let main = b.flow("main", body, None);
        World::echo().run(&b.program(main), "x").result
    };
    assert_eq!(json(&run(0, true).unwrap()), j!({"exit_code": 0}));
    assert_eq!(json(&run(3, true).unwrap()), j!("reported"));
    // A failure without a matching transition, and a success of a state that has no matching transition.
    for (code, ends) in [(4, true), (0, false)] {
        let error = run(code, ends).unwrap_err();
        assert_eq!(error.code, "NO_TRANSITION");
        assert!(error.message.ends_with(&format!("`MAKE.exit_code` is {code}")), "{}", error.message);
    }
}

/// The key, the accepted answers, and the previous answer if it was rejected.
type Question = (String, Vec<String>, Option<String>);

/// A person who gives these answers in turn, then none, and records the questions.
#[derive(Default)]
struct Person {
    says: Mutex<Vec<&'static str>>,
    asked: Mutex<Vec<Question>>,
}

#[async_trait]
impl HumanInbox for Person {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        let accepts = request.accepts.iter().map(ToString::to_string).collect();
        let refused = request.refused.as_ref().map(ToString::to_string);
        self.asked.lock().unwrap().push((at.key.0.to_string(), accepts, refused));
        let mut says = self.says.lock().unwrap();
        (!says.is_empty()).then(|| says.remove(0).to_owned()).into()
    }
}

fn gate(says: &[&'static str], on_timeout: OnTimeout) -> (RunOutcome, World, Arc<Person>) {
    let mut b = Build::new();
    let prompt = ValueExpression::Template(b.text("ok?"));
    let ask = b.step(
        "ASK",
        StepKind::Human(Box::new(HumanCall { prompt, timeout_ms: Some(1_000), on_timeout, answer_at: None })),
    );
    let ask = b.out(ask, "ASK");
    let done = b.model("DONE", "done: {{ASK}}");
    let yes = go(&mut b, MatchedOutcome::Success, "{{ASK}} == \"yes\"", 1);
    let no = go(&mut b, MatchedOutcome::Success, "{{ASK}} == \"no\"", 1);
    let states = machine(vec![state("ASK", ask, vec![yes, no]), state("DONE", done, vec![])]);
    let body = b.step("", StepKind::StateMachine(states));
    let main = b.flow("main", body, None);
    let person = Arc::new(Person { says: Mutex::new(says.to_vec()), ..Person::default() });
    let mut world = World::echo();
    world.ports.humans = person.clone();
    let outcome = world.run(&b.program(main), "x");
    (outcome, world, person)
}

#[test]
fn an_answer_that_no_transition_takes_is_asked_for_again() {
    let (outcome, world, person) = gate(&["maybe", "yes"], OnTimeout::Fail);
    assert_eq!(json(&outcome.result.unwrap()), j!("done: yes"));
    let words = || vec!["yes".to_owned(), "no".to_owned()];
    let asked = person.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [("ASK@1".into(), words(), None), ("ASK@1!2".into(), words(), Some("maybe".into()))],
        "the second question is an activity of its own, and says what was refused"
    );
    let answers: Vec<String> = world
        .journal
        .entries("r1")
        .iter()
        .filter_map(|e| match &e.kind {
            EntryKind::Completed { key, value, .. } if key.0.starts_with("ASK") => {
                Some(value.exact_value().to_text().to_string())
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers, ["maybe", "yes"]);
    let failed = world.kinds().iter().any(|e| matches!(e, EventKind::StepFailed { .. }));
    assert!(!failed, "a wrong word is no failure of the step");
}

#[test]
fn where_nobody_can_be_asked_again_the_run_fails_at_the_question() {
    for on_timeout in [OnTimeout::Fail, OnTimeout::Answer("yes".into())] {
        let (outcome, world, person) = gate(&["maybe"], on_timeout);
        let error = outcome.result.unwrap_err();
        assert_eq!(error.code, "NO_TRANSITION");
        assert!(error.message.ends_with("`ASK` is maybe"), "{}", error.message);
        assert_eq!(person.asked.lock().unwrap().len(), 2);
        let failed = world.events.collected_events().into_iter().find_map(|e| match e.kind {
            EventKind::StepFailed { error, .. } => Some((e.key.unwrap().0.to_string(), error.into_data().code)),
            _ => None,
        });
        assert_eq!(failed, Some(("ASK@1".into(), "NO_TRANSITION".into())), "the step is shown as failed");
    }
}

#[test]
fn a_person_who_never_answers_well_is_not_asked_for_ever() {
    let (outcome, _, person) = gate(&["maybe"; 80], OnTimeout::Fail);
    assert_eq!(outcome.result.unwrap_err().code, "NO_TRANSITION");
    assert_eq!(person.asked.lock().unwrap().len(), 50);
}
