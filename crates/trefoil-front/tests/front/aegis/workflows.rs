//! `kind: Workflow`: forms, states, transitions, output.

use expect_test::expect;
use trefoil_ir::{FlowId, MatchedOutcome, OnTimeout, StateMachine, StepKind};

use super::support::{Folder, check, check_one, ir, load};

const HEAD: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n";

/// A workflow with these lines below `spec`.
fn workflow(spec: &str) -> String {
    format!("{HEAD}{spec}")
}

fn agent(name: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec: {{ runtime: {{}}, task: {{ instruction: Work. }} }}\n"
    )
}

fn machine(folder: &Folder) -> &StateMachine {
    let program = &folder.lowered.as_ref().expect("a program").program;
    let found = program.steps.iter().find_map(|s| match &s.kind {
        StepKind::StateMachine(machine) => Some(machine),
        _ => None,
    });
    found.expect("a state machine")
}

/// `takes: text -> TARGET when REFERENCES` of every transition of a state.
fn transitions(folder: &Folder, state: &str) -> Vec<String> {
    let machine = machine(folder);
    let state = machine.states.iter().find(|s| &*s.name == state).unwrap();
    let shown = state.transitions.iter().map(|t| {
        let takes = match t.takes {
            MatchedOutcome::Success => "success",
            MatchedOutcome::Failure => "failure",
            MatchedOutcome::Both => "both",
        };
        let when = t.when.as_ref().map(|w| {
            let names: Vec<_> = w.condition.references().iter().map(trefoil_template::Reference::dotted_path).collect();
            format!(" when {}", names.join(", "))
        });
        format!("{takes}: {} -> {}{}", t.text, machine.states[t.target].name, when.unwrap_or_default())
    });
    shown.collect()
}

/// The output of `trefoil ir` below a line that contains `from`.
fn ir_from(files: &[(&str, &str)], from: &str) -> String {
    let text = ir(&load(files));
    let at = text.find(from).unwrap_or_else(|| panic!("`{from}` in\n{text}"));
    text[at..].to_owned()
}

#[test]
fn a_list_without_transitions_is_a_pipeline() {
    let manifest = workflow(
        "  states:
    - { name: A, kind: Agent, agent_id: a }
    - { name: B, kind: System, command: make }
    - { name: C, kind: Agent, agent_id: a, input_template: '{{A.output}}{{B.output}}' }
",
    );
    let folder = load(&[("flow.yaml", &manifest), ("a.yaml", &agent("a"))]);
    assert_eq!(transitions(&folder, "A"), ["success: on_success -> B"]);
    assert_eq!(
        transitions(&folder, "B"),
        ["success: on_success -> C when B.exit_code"],
        "a failing command ends the run"
    );
    assert!(transitions(&folder, "C").is_empty());
    check(&[("flow.yaml", &manifest), ("a.yaml", &agent("a"))], expect![""]);
}

#[test]
fn a_list_with_any_transition_is_none() {
    let manifest = workflow(
        "  states:
    - { name: A, kind: Human, prompt: 'Go?', transitions: [{ condition: approved, target: C }, { condition: rejected, target: B }] }
    - { name: B, kind: System, command: echo no }
    - { name: C, kind: System, command: echo yes }
",
    );
    let folder = load(&[("flow.yaml", &manifest)]);
    assert_eq!(
        transitions(&folder, "A"),
        ["success: input_equals_yes -> C when A.response", "success: input_equals_no -> B when A.response"]
    );
    assert!(transitions(&folder, "B").is_empty(), "without transitions of its own it ends the run");
    assert_eq!(machine(&folder).initial.index(), 0, "the first entry is where it starts");
}

#[test]
fn both_spellings_mean_the_same_and_exclude_each_other() {
    let map = workflow("  initial_state: A\n  states: { A: { kind: Agent, agent: a, input: 'x {{input.y}}' } }\n");
    let list = workflow("  states: [{ name: A, kind: Agent, agent_id: a, input_template: 'x {{input.y}}' }]\n");
    let of = |manifest: &str| {
        let text = ir_from(&[("flow.yaml", manifest), ("a.yaml", &agent("a"))], "call flow");
        text.lines().take(2).map(|l| l.split(" @ ").next().unwrap().trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&map), of(&list));
    check(
        &[
            (
                "flow.yaml",
                &workflow(
                    "  initial_state: A
  states:
    A: { kind: Agent, agent: a, agent_id: a, input_template: x, input: y }
    B: { kind: Human, prompt: x, timeout: 5m, timeout_seconds: 3 }
",
                ),
            ),
            ("a.yaml", &agent("a")),
        ],
        expect![[r#"
            error flow.yaml 7:33 both-spellings: `agent` and `agent_id` are the same key (remove one of them) [flow.yaml 7:23 already set here] {maybe: remove `agent_id`: flow.yaml 7:31 ""}
            error flow.yaml 7:65 both-spellings: `input_template` and `input` are the same key (remove one of them) [flow.yaml 7:46 already set here] {maybe: remove `input`: flow.yaml 7:63 ""}
            error flow.yaml 8:47 both-spellings: `timeout` and `timeout_seconds` are the same key (remove one of them) [flow.yaml 8:34 already set here]
        "#]],
    );
}

#[test]
fn what_is_missing_or_unknown_is_reported_where_it_stands() {
    check_one(
        &workflow(
            "  initial_state: STRAT
  max_total_transitions: 500
  states:
    START:
      kind: Sytem
      command: echo
    MORE:
      kind: System
      max_state_visits: 50
      timout: 5s
      transitions:
        - { condition: score_abov, target: START }
        - { condition: always, target: STRT }
        - { condition: custom, target: START }
        - { condition: exit_code, target: START }
        - { target: ~ }
",
        ),
        expect![[r#"
            error 5:18 unknown-reference: unknown state `STRAT` (did you mean `START`?) {fix: "START"}
            error 6:26 out-of-range: `max_total_transitions` must be from 1 to 100, not 500
            error 9:13 unknown-value: `kind` cannot be `Sytem` (did you mean `System`? available: `Agent`, `System`, `Action`, `Human`, `ParallelAgents`, `ContainerRun`, `ParallelContainerRun`, `Subworkflow`) {fix: "System"}
            error 11:5 missing-key: state `MORE` needs `command`
            error 13:25 out-of-range: `max_state_visits` must be from 1 to 20, not 50
            warning 14:7 unknown-key: state `MORE` has no key `timout` (did you mean `timeout`?) {fix: "timeout"}
            error 16:24 unknown-value: `condition` cannot be `score_abov` (did you mean `score_above`? available: `always`, `on_success`, `on_failure`, `exit_code_zero`, `exit_code_non_zero`, `exit_code`, `score_above`, `score_below`, `score_between`, `confidence_above`, `score_and_confidence_above`, `consensus`, `all_approved`, `any_rejected`, `input_equals`, `input_equals_yes`, `input_equals_no`, `approved`, `rejected`, `custom`) {fix: "score_above"}
            error 17:40 unknown-reference: unknown state `STRT` (did you mean `START`?) {fix: "START"}
            error 18:13 missing-key: a transition needs `expression`
            error 19:13 missing-key: a transition needs `value`
            error 20:13 missing-key: `target` names no state (to end the run here, point to a state with `transitions: []`)
        "#]],
    );
    check_one(
        &workflow("  states: {}\n"),
        expect![[r#"
            error 4:1 missing-key: spec needs `initial_state`
            error 5:11 missing-key: a workflow needs at least one state
        "#]],
    );
    check_one(
        &workflow(
            "  states:\n    - { kind: System, command: echo }\n    - { name: A, kind: System, command: echo }\n    - { name: A, kind: System, command: echo }\n",
        ),
        expect![[r#"
            error 6:9 missing-key: a state needs `name`
            error 8:15 duplicate-id: two states are named `A` [7:15 the first one]
        "#]],
    );
}

#[test]
fn every_condition_becomes_what_it_says() {
    let manifest = workflow(
        "  initial_state: JUDGE
  states:
    JUDGE:
      kind: Agent
      agent: a
      transitions:
        - { condition: score_above, threshold: 0.8, target: END }
        - { condition: score_below, threshold: 0.2, target: END }
        - { condition: score_between, min: 0.2, max: 0.4, target: END }
        - { condition: confidence_above, threshold: 0.5, target: END }
        - { condition: score_and_confidence_above, threshold: 0.5, target: END }
        - { condition: exit_code_zero, target: END }
        - { condition: custom, expression: '{{state_output.output.n < workflow.context.max}}', target: END }
        - { condition: on_success, target: COMMAND }
        - { condition: on_failure, target: END }
    COMMAND:
      kind: System
      command: make
      transitions:
        - { condition: exit_code, value: 3, target: END }
        - { condition: exit_code_non_zero, target: END }
        - { condition: on_failure, target: END }
        - { target: PANEL, feedback: 'code {{COMMAND.exit_code}}' }
    PANEL:
      kind: ParallelAgents
      agents: [{ agent: a, input: x }, { agent: a, input: y }]
      consensus: { strategy: majority, threshold: 0.6, min_agreement_confidence: 0.3 }
      transitions:
        - { condition: all_approved, threshold: 0.9, target: END }
        - { condition: any_rejected, target: END }
        - { condition: consensus, target: ASK }
        - { condition: score_below, threshold: 0.5, target: END }
    ASK:
      kind: Human
      prompt: ok?
      transitions:
        - { condition: input_equals, value: maybe, target: END }
        - { condition: input_equals_yes, target: END }
        - { condition: input_equals_no, target: END }
    END:
      kind: System
      command: echo
",
    );
    let folder = load(&[("flow.yaml", &manifest), ("a.yaml", &agent("a"))]);
    assert_eq!(
        transitions(&folder, "JUDGE"),
        [
            "success: score_above 0.8 -> END when JUDGE.score",
            "success: score_below 0.2 -> END when JUDGE.score",
            "success: score_between 0.2 0.4 -> END when JUDGE.score",
            "success: confidence_above 0.5 -> END when JUDGE.confidence",
            "success: score_and_confidence_above 0.5 0.5 -> END when JUDGE.score, JUDGE.confidence",
            "success: exit_code_zero -> END",
            "both: {{state_output.output.n < workflow.context.max}} -> END when state_output.output.n, workflow.context.max",
            "success: on_success -> COMMAND",
            "failure: on_failure -> END",
        ]
    );
    assert_eq!(
        transitions(&folder, "COMMAND"),
        [
            "success: exit_code 3 -> END when COMMAND.exit_code",
            "success: exit_code_non_zero -> END when COMMAND.exit_code",
            "both: on_failure -> END when COMMAND.exit_code",
            "both: always -> PANEL",
        ]
    );
    assert_eq!(
        transitions(&folder, "PANEL"),
        [
            "success: all_approved 0.9 -> END when PANEL.agents.0.score, PANEL.agents.1.score",
            "success: any_rejected 0.8 -> END when PANEL.agents.0.score, PANEL.agents.1.score",
            "success: consensus -> ASK when PANEL.score, PANEL.confidence",
            "success: score_below 0.5 -> END when PANEL.score",
        ]
    );
    assert_eq!(
        transitions(&folder, "ASK"),
        [
            "success: input_equals maybe -> END when ASK.response",
            "success: input_equals_yes -> END when ASK.response",
            "success: input_equals_no -> END when ASK.response",
        ]
    );
}

#[test]
fn conditions_that_cannot_hold_and_numbers_that_do_nothing_are_warnings() {
    check(
        &[
            (
                "flow.yaml",
                &workflow(
                    "  initial_state: A
  states:
    A:
      kind: Agent
      agent: a
      transitions:
        - { condition: exit_code_non_zero, target: END }
        - { condition: input_equals_yes, target: END }
        - { condition: all_approved, target: END }
        - { condition: score_above, target: END }
        - { condition: always, threshold: 0.5, target: ASK }
    ASK:
      kind: Human
      prompt: ok?
      transitions:
        - { condition: score_above, threshold: 0.5, target: END }
        - { expression: 'x', target: END }
    END: { kind: System, command: echo }
",
                ),
            ),
            ("a.yaml", &agent("a")),
        ],
        expect![[r#"
            warning flow.yaml 14:24 missing-key: `score_above` without `threshold` compares with 0 (write `threshold`)
            warning flow.yaml 15:32 no-effect: `threshold` has no effect: the condition `always` does not use it
            warning flow.yaml 21:13 no-effect: `expression` has no effect: a transition without `condition` is always taken (write `condition: custom`)
        "#]],
    );
}

#[test]
fn a_human_has_a_question_a_time_limit_and_a_default() {
    let cases = [
        ("timeout: 1h 30m, default_response: \"yes\"", 5_400_000, OnTimeout::Answer("yes".into())),
        ("timeout_seconds: 60", 60_000, OnTimeout::Fail),
        ("reject_on_timeout: true", 3_600_000, OnTimeout::Answer("no".into())),
        ("reject_on_timeout: false", 3_600_000, OnTimeout::Fail),
        ("default_response: true", 3_600_000, OnTimeout::Answer("true".into())),
    ];
    for (more, timeout, on_timeout) in cases {
        let manifest =
            workflow(&format!("  states: [{{ name: ASK, kind: Human, prompt: 'Ok, {{{{input.who}}}}?', {more} }}]\n"));
        let folder = load(&[("flow.yaml", &manifest)]);
        let program = &folder.lowered.as_ref().unwrap().program;
        let human = program.steps.iter().find_map(|s| match &s.kind {
            StepKind::Human(call) => Some((call, s)),
            _ => None,
        });
        let (call, step) = human.unwrap();
        assert_eq!((call.timeout_ms, &call.on_timeout), (Some(timeout), &on_timeout), "{more}");
        assert_eq!(step.label.as_deref(), Some("ASK"), "what `--answer` names");
        assert_eq!(step.policy.timeout_ms, None, "running out of time is not a failure of its own");
    }
    check_one(
        &workflow("  states: [{ name: ASK, kind: Human, timeout: 90 }]\n"),
        expect![[r#"
            error 5:14 missing-key: a state needs `prompt`
            error 5:47 wrong-type: `timeout` must be a duration, not a number without a unit (write `90s` for seconds)
        "#]],
    );
}

#[test]
fn update_blackboard_keeps_json_and_guards_its_keys() {
    let manifest = workflow(
        "  initial_state: SET
  states:
    SET:
      kind: System
      command: update_blackboard
      env:
        count: 3
        list: [1, '{{input.a}}']
        text: '{{input.a}} and {{input.b}}'
        input: x
        SET: y
",
    );
    check_one(
        &manifest,
        expect![[r#"
            error 14:9 state-key: `update_blackboard` cannot write `input`: it is a reserved name (choose another key)
            error 15:9 state-key: `update_blackboard` cannot write `SET`: it is the result of a state (choose another key)
        "#]],
    );
    let good = manifest.replace("        input: x\n        SET: y\n", "");
    let text = ir_from(&[("flow.yaml", &good)], "compute merge");
    let line = text.lines().next().unwrap();
    assert!(line.starts_with("compute merge($blackboard, {count: 3, list: [1, structured(typed"), "{line}");
    assert!(line.ends_with("-> $blackboard"), "{line}");
}

#[test]
fn the_older_form_of_a_blackboard_update_is_understood() {
    check_one(
        &workflow(
            "  states: [{ name: SET, kind: system, action: blackboard.set, params: { key: a, value: '{{input.b}}' } }]\n",
        ),
        expect![[r#"
            warning 5:31 deprecated: `system` is an old spelling (write `System`) {fix: "System"}
            warning 5:39 deprecated: `action` is an old spelling (write `command: update_blackboard` with the keys under `env`)
        "#]],
    );
}

#[test]
fn containers_are_checked_and_refused() {
    check_one(
        &workflow(
            "  initial_state: BUILD
  storage: { shared_volumes: [{ name: code }] }
  states:
    BUILD:
      kind: ContainerRun
      image: alpine
      command: [make, '{{input.target']
      volumes: [{ name: cod, mount_path: src }]
      transitions: [{ target: TEST }]
    TEST:
      kind: ParallelContainerRun
      steps:
        - { name: a, image: x, command: [y] }
        - { name: a, image: x, command: [] }
",
        ),
        expect![[r#"
            warning 6:3 no-effect: `storage` has no effect: volumes are not mounted
            warning 8:5 refused: a `ContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
            error 11:24 template-unclosed: `{{input.target` has no closing `}}` (end it with `}}`; write `\{{` for literal braces) {maybe: close it with `}}`: "{{input.target}}"}
            error 12:25 unknown-reference: unknown shared volume `cod` (did you mean `code`?) {fix: "code"}
            error 12:42 unknown-value: `mount_path` must start with `/`
            error 14:5 missing-key: state `TEST` needs `completion`
            warning 14:5 refused: a `ParallelContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
            error 18:19 duplicate-id: two steps are named `a` [17:19 the first one]
            error 18:41 missing-key: `command` is empty
        "#]],
    );
}

#[test]
fn a_subworkflow_is_called_by_name_and_its_result_lands_on_the_blackboard() {
    let parent = workflow(
        "  initial_state: SUB
  states:
    SUB:
      kind: Subworkflow
      workflow_id: child
      mode: blocking
      result_key: answer
      input: '{{workflow.task}}'
      transitions: [{ target: END }]
    END: { kind: System, command: 'echo {{answer}} {{SUB.anything}} {{SUB.output}}' }
",
    );
    let child = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: child }\nspec: { states: [{ name: X, kind: System, command: echo hi }] }\n";
    let files = [("flow.yaml", parent.as_str()), ("child.yaml", child)];
    check(
        &files,
        expect![[r#"
        warning flow.yaml 14:58 unknown-property: `SUB` has no `anything` (its properties are `status`, `output`, `error`) [child.yaml 3:19 its properties are declared here]
    "#]],
    );
    let text = ir_from(&files, "`SUB` sequence");
    assert!(text.contains("compute merge($blackboard, {answer: $subworkflow.result}) -> $blackboard"), "{text}");
    check(
        &files[..1],
        expect![[r#"
            warning 9:20 unknown-reference: no workflow in this folder is named `child` (add its manifest to the folder; a run that can reach this state does not start)
        "#]],
    );
    let wrong = parent.replace("mode: blocking", "mode: fire_and_forget");
    check(
        &[("flow.yaml", &wrong), ("child.yaml", child)],
        expect![[r#"
            warning flow.yaml 10:13 no-effect: `fire_and_forget` does not run in the background: the state waits, and discards the result (use `mode: blocking` to keep the result; with `fire_and_forget` a failure of the workflow is ignored)
            error flow.yaml 11:7 conflicting-keys: `result_key` cannot be combined with `mode: fire_and_forget` (write `mode: blocking` to keep the result)
            warning flow.yaml 14:58 unknown-property: `SUB` has no `anything` (its properties are `status`, `output`, `error`, `mode`) [child.yaml 3:19 its properties are declared here]
        "#]],
    );
    let circular =
        child.replace("kind: System, command: echo hi", "kind: Subworkflow, workflow_id: flow, result_key: r");
    check(
        &[("flow.yaml", &parent), ("child.yaml", &circular)],
        expect![[r#"
            error flow.yaml 9:20 reference-cycle: `child` calls itself, directly or through others (remove one of these calls: a judge cannot judge itself, and a workflow cannot wait for itself) [child.yaml 4:61 calls `flow`]
            warning flow.yaml 14:58 unknown-property: `SUB` has no `anything` (its properties are `status`, `output`, `error`) [child.yaml 3:19 its properties are declared here]
            warning child.yaml 4:20 missing-key: a Subworkflow state has no `mode` (other tools for this format require it; without it the state waits, as with `mode: blocking`)
        "#]],
    );
}

#[test]
fn unknown_agents_are_a_warning_and_several_of_one_name_an_error() {
    let manifest = workflow("  states: [{ name: A, kind: Agent, agent_id: writr }]\n");
    check(
        &[("flow.yaml", &manifest), ("a.yaml", &agent("writer"))],
        expect![[r#"
            warning flow.yaml 5:46 unknown-reference: no agent in this folder is named `writr` (did you mean `writer`?) [a.yaml 3:19 `writer` is declared here] {fix: "writer"}
        "#]],
    );
    check(
        &[("flow.yaml", &manifest), ("a.yaml", &agent("writr")), ("b.yaml", &agent("writr"))],
        expect![[r#"
            error flow.yaml 5:46 ambiguous-reference: several agents are named `writr` (rename all but one) [a.yaml 3:19 one of them] [b.yaml 3:19 one of them]
        "#]],
    );
    let other = workflow("  states: [{ name: A, kind: System, command: echo }]\n");
    check(&[("flow.yaml", &other), ("a.yaml", &agent("writr")), ("b.yaml", &agent("writr"))], expect![""]);
}

#[test]
fn an_agent_named_by_a_template_is_chosen_from_the_folder() {
    let manifest = workflow("  states: [{ name: A, kind: Agent, agent: '{{workflow.context.who}}' }]\n");
    let broken = agent("broken").replace("task: { instruction: Work. }", "task: {}");
    let files =
        [("flow.yaml", manifest.as_str()), ("a.yaml", &agent("a")), ("b.yaml", &agent("b")), ("c.yaml", &broken)];
    check(&files, expect![""]);
    let text = ir_from(&files, "`A` call");
    let line = text.lines().next().unwrap();
    assert!(line.contains("who") && line.contains("`a`") && line.contains("`b`"), "{line}");
}

#[test]
fn mistakes_of_a_called_agent_are_reported_in_its_file() {
    let manifest = workflow("  states: [{ name: A, kind: Agent, agent: a }]\n");
    let broken = agent("a").replace("instruction: Work.", "instruction: Work., prompt_template: '{{#if x}}'");
    check(
        &[("flow.yaml", &manifest), ("a.yaml", &broken)],
        expect![[r#"
            error a.yaml 4:68 template-unclosed-block: `{{#if}}` is never closed (end it with `{{/if}}`)
            warning a.yaml 4:74 unresolved-name: a prompt has no `x`, so it is always empty (write `input.x` for a field of the input)
        "#]],
    );
}

#[test]
fn an_intent_travels_beside_the_input() {
    let manifest =
        workflow("  states: [{ name: A, kind: Agent, agent: a, input: 'x', intent: 'be {{input.tone}}' }]\n");
    let worker = agent("a").replace("Work.", "Work., prompt_template: '{{intent}} {{input}}'");
    let text = ir_from(&[("flow.yaml", &manifest), ("a.yaml", &worker)], "`A` call");
    assert!(text.lines().nth(1).unwrap().contains("{input: \"x\", intent: text"), "{text}");
    assert!(text.contains("[intent <- $intent, input <- $input]"), "{text}");
}

#[test]
fn judges_of_a_state_make_rounds() {
    let manifest = workflow(
        "  states:
    - name: A
      kind: Agent
      agent: a
      input: 'x {{iteration_number}} {{previous_error}}'
      judges: [{ agent_id: j, weight: 2 }]
      max_iterations: 4
",
    );
    let text = ir_from(&[("flow.yaml", &manifest), ("a.yaml", &agent("a")), ("j.yaml", &agent("j"))], "`A` attempts");
    assert!(text.starts_with("`A` attempts max 4"), "{text}");
    assert!(text.contains("iteration_number <- $A.iteration_number, previous_error <- $A.previous_error"), "{text}");
    assert!(text.contains("judge `j` flow"), "{text}");
    assert!(text.contains("score 0.8"), "{text}");
    check(
        &[
            (
                "flow.yaml",
                &workflow(
                    "  states: [{ name: A, kind: Agent, agent: a, max_iterations: 4, pre_execution_validator: x }]\n",
                ),
            ),
            ("a.yaml", &agent("a")),
        ],
        expect![[r#"
            warning flow.yaml 5:46 no-effect: `max_iterations` has no effect: the state has no `judges`
            warning flow.yaml 5:65 refused: `pre_execution_validator` is not supported yet: nothing is checked before an agent runs (you can check and draw this file, but not run it)
        "#]],
    );
}

#[test]
fn output_is_the_template_or_what_the_last_state_answered() {
    let last = workflow("  states: [{ name: A, kind: Agent, agent: a }]\n");
    assert!(ir(&load(&[("flow.yaml", &last), ("a.yaml", &agent("a"))])).contains("output $result.output"));
    let manifest = last.replace(
        "metadata: { name: flow }",
        "metadata:
  name: flow
  output_schema: { properties: { n: { type: integer }, ok: { type: boolean }, list: { type: array } } }
  output_template: { text: '{{A.output}}', n: '{{A.output.n}}', ok: '{{A.output.ok}}', list: '{{json A.output.l}}', fixed: 3, deep: { x: '{{input.y}}' } }",
    );
    let text = ir_from(&[("flow.yaml", &manifest), ("a.yaml", &agent("a"))], "output {");
    let line = text.lines().next().unwrap();
    for part in ["text: text", "n: integer(", "ok: boolean(", "list: list(", "fixed: 3", "deep: {x: text"] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

#[test]
fn a_text_as_start_input_is_the_task() {
    let manifest = workflow("  states: [{ name: A, kind: System, command: 'echo {{workflow.task}} {{input}}' }]\n");
    let folder = load(&[("flow.yaml", &manifest)]);
    let intake = &folder.lowered.as_ref().unwrap().program.flows[FlowId(0)].intake;
    assert_eq!(intake.wrap.as_deref(), Some("task"));
    let text = ir(&folder);
    assert!(text.contains("workflow.task <- $input#0.task") && text.contains("input <- $input#1"), "{text}");
}

#[test]
fn volumes_that_are_mounted_in_one_place() {
    let mounted = |one: &str, other: &str| {
        workflow(&format!(
            "  initial_state: A\n  states:\n    A: {{ kind: ContainerRun, name: b, image: alpine, command: [ls], volumes: [{{ name: a, mount_path: {one} }}, {{ name: b, mount_path: {other} }}], transitions: [] }}\n"
        ))
    };
    check_one(
        &mounted("/data", "/data/in"),
        expect![[r#"
        warning 7:5 refused: a `ContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
        warning 7:134 overlapping-mounts: two volumes have overlapping mount paths [7:102 the other one]
    "#]],
    );
    check_one(
        &mounted("/data", "/data"),
        expect![[r#"
        warning 7:5 refused: a `ContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
        warning 7:134 overlapping-mounts: two volumes have overlapping mount paths [7:102 the other one]
    "#]],
    );
    check_one(
        &mounted("/data", "/database"),
        expect![[r#"
        warning 7:5 refused: a `ContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
    "#]],
    );
    check_one(
        &mounted("/workspace", "/workspace/in"),
        expect![[r#"
        warning 7:5 refused: a `ContainerRun` state is not supported yet: no container runtime is configured (you can check and draw this file, but not run it)
    "#]],
    );
}
