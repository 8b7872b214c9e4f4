//! Loops end within their limits, but not always in the first pass.

use serde_json::json;
use trefoil_ir::{
    MatchedOutcome, Source, StateId, StateMachine, StateTransition, StepId, StepKind, ValueExpression, WorkflowState,
};

use crate::{kinds, run, tally};
use testbed::build::{Build, nowhere};

const SEEDS: u64 = 40;

fn passes(keys: impl Iterator<Item = String>) -> usize {
    keys.filter(|k| k.ends_with("/review") || k.ends_with("review")).count()
}

#[test]
fn a_review_loop_ends_in_its_first_passes() {
    for (until, schema) in [
        ("{{review.approved}} == true", json!({"approved": {"type": "boolean"}, "feedback": {"type": "string"}})),
        ("{{review.score}} >= 8 && {{review.done}}", json!({"score": {"type": "number"}, "done": {"type": "boolean"}})),
        ("{{review.verdict}} != \"revise\"", json!({"verdict": {"enum": ["revise", "accept"]}})),
    ] {
        for max in [1, 2, 5] {
            let mut b = Build::new();
            let draft = b.model("draft", "{{input}} {{review.feedback}}");
            let review = b.model_with("review", json!({"type": "object", "properties": schema}));
            let body = b.sequence("", &[draft, review]);
            let repeat = b.repeat("refine", body, until, max);
            let main = b.flow("main", repeat, Some("{{review}}"));
            let program = b.program(main);
            let all = tally(SEEDS, |seed| passes(run(&program, seed).answers.into_keys()).to_string());
            let expected: Vec<String> = (1..=max.min(3)).map(|n| n.to_string()).collect();
            assert_eq!(all.into_keys().collect::<Vec<_>>(), expected, "{until} at most {max}");
        }
    }
}

#[test]
fn a_loop_on_text_ends_on_its_word() {
    let mut b = Build::new();
    let review = b.model("review", "{{input}}");
    let repeat = b.repeat("refine", review, "{{review}} == \"APPROVED\"", 4);
    let main = b.flow("main", repeat, Some("{{review}}"));
    let program = b.program(main);
    for seed in 0..SEEDS {
        assert_eq!(run(&program, seed).output, json!("APPROVED"));
    }
}

#[test]
fn the_pass_of_the_right_loop_counts() {
    // A loop in a loop, the inner one in a separate flow.
    let mut b = Build::new();
    let check = b.model("check", "{{input}}");
    let inner = b.repeat("inner", check, "{{check}} == \"ok\"", 3);
    let callee = b.flow("callee", inner, Some("{{check}}"));
    let call = b.call("called", callee, "x");
    let review = b.model("review", "{{called}}");
    let body = b.sequence("", &[call, review]);
    let outer = b.repeat("outer", body, "{{review}} == \"good\" && {{called}} == \"ok\"", 3);
    let main = b.flow("main", outer, Some("{{review}}"));
    let program = b.program(main);
    let rounds = kinds(SEEDS, |seed| {
        let seen = run(&program, seed);
        assert_eq!(seen.output, json!("good"));
        passes(seen.answers.into_keys()).to_string()
    });
    assert_eq!(rounds, ["1", "2", "3"]);
}

#[test]
fn an_answer_from_before_the_loop_lets_it_end_at_once() {
    let mut b = Build::new();
    let plan = b.model("plan", "{{input}}");
    let work = b.model("work", "{{plan}}");
    let repeat = b.repeat("refine", work, "{{plan}} == \"simple\"", 2);
    let body = b.sequence("", &[plan, repeat]);
    let main = b.flow("main", body, Some("{{plan}}"));
    let program = b.program(main);
    for seed in 0..SEEDS {
        assert_eq!(run(&program, seed).output, json!("simple"));
    }
}

struct Machine {
    b: Build,
    states: Vec<WorkflowState>,
}

impl Machine {
    fn new() -> Self {
        Self { b: Build::new(), states: Vec::new() }
    }

    /// A state whose result is `{output}`, and transitions as `(condition, target)`.
    fn state(&mut self, name: &str, transitions: &[(&str, u32)]) -> StepId {
        let step = self.b.model(name, "{{input}}");
        let output = ValueExpression::Structured(Box::new(ValueExpression::Read(Source::Result)));
        self.b.at(step).shape = Some(ValueExpression::Object(vec![("output".into(), output)]));
        let transitions = transitions
            .iter()
            .map(|(when, target)| StateTransition {
                takes: MatchedOutcome::Success,
                when: (!when.is_empty()).then(|| self.b.cond(when)),
                target: StateId(*target),
                target_at: nowhere(),
                feedback: None,
                origin: nowhere(),
                text: (*when).into(),
            })
            .collect();
        self.states.push(WorkflowState {
            name: name.into(),
            step,
            failed: None,
            max_visits: 5,
            max_visits_at: None,
            transitions,
            ends_unmatched: false,
            fails_when: None,
        });
        step
    }

    fn program(mut self) -> std::sync::Arc<trefoil_ir::Program> {
        let machine = StateMachine {
            states: self.states.into(),
            initial: StateId(0),
            max_entries: 50,
            max_entries_at: None,
            feedback: None,
            previous_error: None,
            visit: None,
        };
        let body = self.b.step("", StepKind::StateMachine(machine));
        let main = self.b.flow("main", body, None);
        self.b.program(main)
    }
}

#[test]
fn a_state_machine_refines_and_ends() {
    let mut machine = Machine::new();
    machine.state("draft", &[("", 1)]);
    machine.state("review", &[("{{result.output.score}} > 0.8", 2), ("{{result.output.score}} <= 0.8", 0)]);
    machine.state("done", &[]);
    let program = machine.program();
    let all = tally(SEEDS, |seed| run(&program, seed).ran.join(" "));
    assert!(all.contains_key("draft review done") && all.contains_key("draft review draft review done"), "{all:?}");
    assert!(all.keys().all(|k| k.split(' ').count() <= 7), "{all:?}");
}

#[test]
fn every_transition_is_taken_some_time() {
    let mut machine = Machine::new();
    machine.state(
        "triage",
        &[("{{result.output.kind}} == \"bug\"", 1), ("{{result.output.kind}} == \"praise\"", 3), ("", 2)],
    );
    machine.state("fix", &[("{{fix.output}} == \"fixed\"", 3), ("{{fix.output}} == \"unclear\"", 0), ("", 1)]);
    machine.state("answer", &[("", 3)]);
    machine.state("done", &[]);
    let program = machine.program();
    let runs = kinds(200, |seed| run(&program, seed).ran.join(" "));
    let taken = |step: &str| runs.iter().any(|r| r.contains(step));
    for step in ["triage fix", "triage done", "triage answer", "fix done", "fix triage", "fix fix"] {
        assert!(taken(step), "{step}: {runs:?}");
    }
}
