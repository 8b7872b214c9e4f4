//! What the flows do in a run, from manifest to result.

use expect_test::expect;
use serde_json::{Value, json};

use super::world::World;
use crate::support::bless;

/// A model that answers with the speaker and the prompt.
fn says(speaker: &str, _: usize, prompt: &str) -> Result<String, u16> {
    Ok(format!("<{speaker}: {prompt}>"))
}

#[test]
fn a_pipeline_hands_outputs_on() {
    let world = World::new(
        "  states:
    - { name: WRITE_DRAFT, kind: Agent, agent_id: a }
    - name: REVIEW_DRAFT
      kind: Agent
      agent_id: b
      input_template: |
        Review the following draft:
        {{WRITE_DRAFT.output}}
",
        &["a", "b"],
    );
    let ended = world.run(json!("tea"), says);
    assert_eq!(ended.prompts("a"), ["tea"], "without a template the agent gets the start input");
    assert_eq!(ended.text(), "<b: Review the following draft:\n<a: tea>\n>");
}

const SEED_PROMPT: &str = "prompt_template: \"{{#if instruction}}Task: {{instruction}}\\n{{/if}}{{#if iteration_number}}[Iteration {{iteration_number}}]\\n{{/if}}{{#if previous_error}}Previous attempt failed: {{previous_error}}\\n{{/if}}{{#if input}}Input: {{input}}{{/if}}\"";

#[test]
fn a_prompt_is_rendered_for_every_iteration() {
    let validation =
        "  execution: { mode: iterative, max_iterations: 3, validation: [{ type: regex, pattern: '^ok' }] }\n";
    let task = format!("instruction: Work., {SEED_PROMPT}");
    let ended = World::agent("a", &task, validation)
        .run(json!("x"), |_, before, _| Ok(if before == 1 { "ok then".into() } else { "no".into() }));
    assert_eq!(ended.text(), "ok then");
    let prompts = ended.prompts("a");
    assert_eq!(prompts[0], "Task: Work.\n[Iteration 1]\nInput: x");
    assert!(prompts[1].starts_with("Task: Work.\n[Iteration 2]\nPrevious attempt failed: "), "{}", prompts[1]);
    assert!(prompts[1].contains("regex"), "it says what failed: {}", prompts[1]);

    let ended = World::agent("a", &task, validation).run(json!("x"), |_, _, _| Ok("no".into()));
    assert!(ended.error().starts_with("MAX_ITERATIONS_EXCEEDED"), "{}", ended.error());
    assert_eq!(ended.seen.len(), 3);
}

#[test]
fn the_default_prompt_has_an_empty_line_and_no_line_end() {
    let run = |input: Value| World::agent("a", "instruction: Work.", "").run(input, |_, _, _| Ok("x".into()));
    assert_eq!(run(json!("tea")).prompts("a"), ["Task: Work.\n\nInput: tea"]);
    assert_eq!(run(Value::Null).prompts("a"), ["Task: Work.\n\n"]);
    assert_eq!(run(json!({"a": 1})).prompts("a"), ["Task: Work.\n\nInput: {\"a\":1}"]);
}

#[test]
fn an_input_that_is_an_object_has_fields_and_an_intent() {
    let task = "instruction: x, prompt_template: '{{input.a.b}} {{intent}} {{input.none}}|'";
    let ended = World::agent("a", task, "").run(json!({"a": {"b": 1}, "intent": "fast"}), says);
    assert_eq!(ended.prompts("a"), ["1 fast |"]);
}

#[test]
fn a_failing_model_call_is_a_failed_iteration() {
    let ended = World::agent(
        "a",
        "instruction: x, prompt_template: '{{iteration_number}} {{previous_error}}'",
        "  execution: { mode: iterative }\n",
    )
    // A call without an answer is tried three times before the iteration fails.
    .run(json!("x"), |_, before, _| if before < 3 { Err(500) } else { Ok("well".into()) });
    assert_eq!(ended.text(), "well");
    let prompts = ended.prompts("a");
    assert_eq!(prompts[..3], ["1 ", "1 ", "1 "]);
    assert!(prompts[3].starts_with("2 ") && prompts[3].contains("500"), "{:?}", ended.seen);
}

#[test]
fn judges_reasons_come_back_as_the_previous_error() {
    let verdicts = |speaker: &str, before: usize, _: &str| {
        Ok(match (speaker, before) {
            ("judge", 0) => r#"{"score": 0.2, "confidence": 0.9, "reasoning": "too short"}"#.to_owned(),
            ("judge", _) => r#"```json
{"score": 0.9, "confidence": 0.9, "reasoning": "fine"}
```"#
                .to_owned(),
            _ => format!("draft {before}"),
        })
    };
    let validation =
        "  execution: { mode: iterative, validation: [{ type: semantic, judge_agent: judge, criteria: Be long. }] }\n";
    let ended = World::agent("a", "instruction: x, prompt_template: '{{previous_error}}'", validation)
        .with(
            "judge",
            "instruction: x, prompt_template: '{{input.output}} by {{input.criteria}} for {{input.task}}'",
            "",
        )
        .run(json!("tea"), verdicts);
    assert_eq!(ended.text(), "draft 1");
    assert_eq!(ended.prompts("judge"), ["draft 0 by Be long. for tea", "draft 1 by Be long. for tea"]);
    assert!(ended.prompts("a")[1].contains("too short"), "{:?}", ended.seen);
}

#[test]
fn structured_answers_have_fields_and_lists() {
    let world = World::new(
        "  states:
    - { name: ANALYSE, kind: Agent, agent: a, input: x }
    - name: REPORT
      kind: Agent
      agent: b
      input: |
        {{#each ANALYSE.output.issues}}
        - {{this.severity}}: {{this.description}} (line {{this.line}})
        {{/each}}
        {{ANALYSE.output.nested.key}}{{ANALYSE.output.none.x}}
        {{ANALYSE.output}}
",
        &["a", "b"],
    );
    let ended = world.run(Value::Null, |speaker, _, prompt| {
        Ok(match speaker {
            "a" => "```json\n{\"issues\": [{\"severity\": \"high\", \"description\": \"d\", \"line\": 3}], \"nested\": {\"key\": \"v\"}}\n```".into(),
            _ => prompt.to_owned(),
        })
    });
    let all = r#"{"issues":[{"severity":"high","description":"d","line":3}],"nested":{"key":"v"}}"#;
    assert_eq!(ended.text(), format!("- high: d (line 3)\nv\n{all}\n"));
}

const LOOP: &str = "  initial_state: WRITE
  states:
    WRITE:
      kind: Agent
      agent: a
      input: '{{iteration_number}} {{#if state.feedback}}again: {{state.feedback}}{{else}}{{workflow.task}}{{/if}}'
      transitions: [{ condition: on_success, target: REVIEW }]
    REVIEW:
      kind: Agent
      agent: b
      input: '{{WRITE.output}}'
      transitions:
        - { condition: score_above, threshold: 0.8, target: DONE }
        - { condition: score_below, threshold: 0.8, target: WRITE, feedback: '{{REVIEW.output.reasoning}} ({{REVIEW.score}})' }
    DONE: { kind: System, command: 'echo {{WRITE.output}}' }
";

fn score(score: f64) -> String {
    json!({"score": score, "reasoning": "because"}).to_string()
}

#[test]
fn a_loop_refines_with_feedback() {
    let ended = World::new(LOOP, &["a", "b"]).run(json!("tea"), |speaker, before, _| {
        Ok(if speaker == "a" { format!("draft {before}") } else { score([0.3, 0.9][before]) })
    });
    assert_eq!(ended.prompts("a"), ["1 tea", "2 again: because (0.3)"]);
    assert_eq!(ended.prompts("b"), ["draft 0", "draft 1"]);
    assert_eq!(ended.text(), "draft 1\n");
}

#[test]
fn limits_and_gaps_end_a_loop_and_say_so() {
    let of = |value: f64| {
        World::new(LOOP, &["a", "b"])
            .run(json!("tea"), move |speaker, _, _| Ok(if speaker == "a" { "x".into() } else { score(value) }))
            .error()
    };
    assert!(of(0.1).starts_with("MAX_STATE_VISITS_EXCEEDED"), "{}", of(0.1));
    bless(
        &of(0.8),
        &expect![
            "NO_TRANSITION: no transition of state `REVIEW` matched (`score_above 0.8`, `score_below 0.8`): `REVIEW.score` is 0.8"
        ],
    );
    let text = World::new(LOOP, &["a", "b"]).run(json!("x"), |_, _, _| Ok("no verdict".into())).error();
    assert!(text.starts_with("NO_TRANSITION"), "a missing score never matches: {text}");
}

#[test]
fn a_failed_agent_takes_on_failure_and_nothing_else() {
    let spec = "  initial_state: A
  states:
    A:
      kind: Agent
      agent: a
      input: x
      transitions:
        - { condition: always, target: NEVER }
        - { condition: on_failure, target: SORRY }
    NEVER: { kind: System, command: echo never }
    SORRY: { kind: System, command: 'echo {{previous_error}} {{A.status}}' }
";
    let ended = World::new(spec, &["a"]).run(Value::Null, |_, _, _| Err(500));
    assert!(ended.text().contains("500") && ended.text().ends_with(" failed\n"), "{}", ended.text());
    let without = spec.replace("        - { condition: on_failure, target: SORRY }\n", "");
    let ended = World::new(&without, &["a"]).run(Value::Null, |_, _, _| Err(500));
    assert!(ended.error().contains("500"), "{}", ended.error());
    let custom = without.replace(
        "condition: always, target: NEVER",
        "condition: custom, expression: 'state_output.status == \"failed\"', target: SORRY",
    );
    let ended = World::new(&custom, &["a"]).run(Value::Null, |_, _, _| Err(500));
    assert!(ended.text().ends_with(" failed\n"), "{}", ended.text());
}

#[test]
fn the_blackboard_keeps_types_and_is_live() {
    let spec = "  context: { limit: 3, flag: true, list: [], who: nobody }
  initial_state: SET
  states:
    SET:
      kind: System
      command: update_blackboard
      env:
        flag: '{{default input.flag workflow.context.flag}}'
        list: '{{{json input.items}}}'
        sum: '{{input.n}}'
        text: '{{input.n}} and more'
        answer: '{\"a\": [1]}'
      transitions: [{ condition: custom, expression: 'blackboard.sum >= workflow.context.limit', target: SAY }]
    SAY:
      kind: Agent
      agent: a
      input: '{{#if blackboard.flag}}yes{{else}}no{{/if}} {{#each list}}{{this}};{{/each}} {{workflow.context.text}} {{answer.a.0}} {{who}} {{json SET.updated}}'
";
    let ended = World::new(spec, &["a"])
        .run(json!({"flag": false, "items": ["x", "y"], "n": 4, "who": "Ada"}), |_, _, prompt| Ok(prompt.into()));
    assert_eq!(ended.text(), "no x;y; 4 and more 1 Ada [\"flag\",\"list\",\"sum\",\"text\",\"answer\"]");
}

const ASK: &str = "  initial_state: ASK
  states:
    ASK:
      kind: Human
      prompt: 'Send {{input.what}}?'
      timeout: 1h
      transitions:
        - { condition: input_equals_yes, target: YES }
        - { condition: input_equals_no, target: NO, feedback: '{{human.feedback}}' }
    YES: { kind: System, command: 'echo yes {{ASK.response}}' }
    NO: { kind: System, command: 'echo no {{state.feedback}}' }
";

#[test]
fn a_person_decides() {
    let of = |answer: &str| World::new(ASK, &[]).answer("ASK", answer).run(json!({"what": "it"}), says);
    for yes in ["yes", " YES ", "y", "1", "Approve", "approved", "true"] {
        assert_eq!(of(yes).text(), format!("yes {yes}\n"), "{yes}");
    }
    for no in ["no", "N", "0", "reject", "Rejected", "false"] {
        assert_eq!(of(no).text(), "no \n", "{no}");
    }
    let with_reason = of(r#"{"response": "no", "feedback": "too long"}"#);
    assert_eq!(with_reason.text(), "no too long\n");
    let neither = of("perhaps").error();
    assert!(neither.starts_with("NO_TRANSITION") && neither.contains("perhaps"), "{neither}");
}

#[test]
fn nobody_there_means_the_default_or_a_failure() {
    let ended = World::new(&ASK.replace("timeout: 1h", "default_response: \"yes\""), &[]).run(Value::Null, says);
    assert_eq!(ended.text(), "yes yes\n");
    let ended = World::new(&ASK.replace("timeout: 1h", "reject_on_timeout: true"), &[]).run(Value::Null, says);
    assert_eq!(ended.text(), "no \n");
    let ended = World::new(ASK, &[]).run(Value::Null, says);
    assert!(ended.error().starts_with("HUMAN_TIMEOUT"), "{}", ended.error());
}

#[test]
fn several_agents_reach_a_consensus() {
    let spec = "  initial_state: PANEL
  states:
    PANEL:
      kind: ParallelAgents
      agents: [{ agent: a, input: one, weight: 3 }, { agent: b, input: two }, { agent: c, input: three }]
      consensus: { strategy: weighted_average, threshold: 0.7, min_judges_required: 2 }
      transitions:
        - { condition: consensus, threshold: 0.7, target: GOOD }
        - { condition: score_below, threshold: 0.7, target: BAD }
        - { condition: on_failure, target: NOBODY }
    GOOD: { kind: System, command: 'echo good {{PANEL.consensus.score}} {{PANEL.agents.0.output.reasoning}} {{PANEL.agents.2.output}}' }
    BAD: { kind: System, command: 'echo bad {{PANEL.score}}' }
    NOBODY: { kind: System, command: 'echo {{previous_error}}' }
";
    let verdict = |score: f64| Ok(json!({"score": score, "confidence": 1.0, "reasoning": "r"}).to_string());
    let ended = World::new(spec, &["a", "b", "c"]).run(Value::Null, move |speaker, _, _| match speaker {
        "a" => verdict(1.0),
        "b" => verdict(0.6),
        _ => Err(500),
    });
    assert_eq!(ended.text(), "good 0.9 r \n", "one that fails has no verdict");
    let ended = World::new(spec, &["a", "b", "c"]).run(Value::Null, move |_, _, _| verdict(0.25));
    assert_eq!(ended.text(), "bad 0.25\n");
    let ended = World::new(spec, &["a", "b", "c"]).run(Value::Null, move |speaker, _, _| match speaker {
        "a" => verdict(1.0),
        _ => Ok("no verdict".into()),
    });
    assert!(ended.text().contains('2'), "fewer verdicts than required fail the state: {}", ended.text());
}

#[test]
fn judges_may_judge_all_answers_together() {
    let spec = "  states:
    - name: PANEL
      kind: ParallelAgents
      agents: [{ agent: a, input: one }, { agent: b, input: two }]
      consensus: { strategy: majority }
      judges_for_parallel: [{ agent_id: j }]
      transitions: [{ condition: score_above, threshold: 0.5, target: OK }]
    - { name: OK, kind: System, command: 'echo {{PANEL.consensus.metadata.pass_votes}}' }
";
    let ended = World::new(spec, &["a", "b", "j"])
        .run(Value::Null, |speaker, _, _| Ok(if speaker == "j" { score(0.9) } else { format!("text of {speaker}") }));
    assert_eq!(ended.prompts("j"), ["text of a\n\ntext of b"]);
    assert_eq!(ended.text(), "1\n");
}

#[test]
fn a_judged_state_makes_rounds_and_fails_without_a_pass() {
    let spec = "  states:
    - { name: A, kind: Agent, agent: a, input: 'x {{iteration_number}}', judges: [{ agent_id: j }], max_iterations: 2 }
";
    let ended = World::new(spec, &["a", "j"]).run(Value::Null, |speaker, before, _| {
        Ok(if speaker == "j" { score([0.4, 0.9][before]) } else { format!("draft {before}") })
    });
    assert_eq!(ended.text(), "draft 1");
    assert_eq!(ended.prompts("j"), ["draft 0", "draft 1"], "a judge reads the answer");
    assert_eq!(ended.prompts("a")[0], "x 1");
    let second = ended.prompts("a")[1];
    assert!(second.starts_with("x 2\n\n") && second.contains("because"), "{second}");
    assert!(second.ends_with("Please refine your response."), "{second}");
    let ended = World::new(spec, &["a", "j"])
        .run(Value::Null, |speaker, _, _| Ok(if speaker == "j" { score(0.1) } else { "draft".into() }));
    assert!(ended.error().starts_with("MAX_ITERATIONS_EXCEEDED"), "{}", ended.error());
}

#[test]
fn commands_have_output_exit_code_and_fields() {
    let spec = "  initial_state: RUN
  states:
    RUN:
      kind: System
      command: |
        printf '{\"n\": %s}' {{input.n}}; echo \"$NAME\" >&2; exit {{input.code}}
      env: { NAME: '{{input.name}}' }
      transitions:
        - { condition: exit_code, value: 3, target: THREE }
        - { condition: on_success, target: GOOD }
        - { condition: exit_code_non_zero, target: OTHER }
    THREE: { kind: System, command: echo three }
    GOOD: { kind: System, command: 'echo {{RUN.output}} {{RUN.output.n}} {{RUN.output.exit_code}} {{RUN.stderr}}' }
    OTHER: { kind: System, command: 'echo {{RUN.exit_code}} {{RUN.status}}' }
";
    let of = |code: i64| World::new(spec, &[]).run(json!({"n": 5, "name": "a;b", "code": code}), says).text();
    assert_eq!(of(0), "{\"n\": 5} 5 0 a;b\n\n");
    assert_eq!(of(3), "three\n");
    assert_eq!(of(4), "4 failed\n");
    let json = "  states: [{ name: RUN, kind: System, command: 'printf [1]' }]\n";
    assert_eq!(World::new(json, &[]).run(Value::Null, says).json(), json!("[1]"), "what is printed stays text");
    let last = "  states: [{ name: RUN, kind: System, command: exit 2 }]\n";
    let error = World::new(last, &[]).run(Value::Null, says).error();
    assert!(error.contains("RUN"), "a terminal command that fails, fails the run: {error}");
    let pipeline =
        "  states: [{ name: RUN, kind: System, command: exit 2 }, { name: B, kind: System, command: echo }]\n";
    let error = World::new(pipeline, &[]).run(Value::Null, says).error();
    bless(&error, &expect!["NO_TRANSITION: no transition of state `RUN` matched (`on_success`): `RUN.exit_code` is 2"]);
}

#[test]
fn a_workflow_calls_another() {
    let spec = "  initial_state: SUB
  states:
    SUB:
      kind: Subworkflow
      workflow_id: child
      result_key: answer
      input: 'INPUT'
      transitions: [{ target: END }]
    END: { kind: System, command: 'echo {{answer.said}} {{SUB.said}} {{SUB.output.said}} {{SUB.status}}' }
";
    let child = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: child
  output_template: { said: '{{A.output}}' }
spec:
  states: [{ name: A, kind: Agent, agent: a, input: '{{input.x}}{{input.input}}' }]
";
    let of = |input: &str| {
        let world = World::new(&spec.replace("INPUT", input), &["a"]).file("child.yaml", child);
        world.run(json!("tea"), |_, _, prompt| Ok(format!("[{prompt}]"))).text()
    };
    assert_eq!(of("{\"x\": \"{{workflow.task}}\"}"), "[tea] [tea] [tea] success\n", "JSON is the input");
    assert_eq!(of("just {{workflow.task}}"), "[just tea] [just tea] [just tea] success\n", "text is its `input`");
}

#[test]
fn a_thrown_away_workflow_fails_nobody() {
    let spec = "  initial_state: SUB
  states:
    SUB: { kind: Subworkflow, workflow_id: child, mode: fire_and_forget, transitions: [{ target: END }] }
    END: { kind: System, command: 'echo {{SUB.mode}}' }
";
    let child = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: child }\nspec: { states: [{ name: A, kind: Agent, agent: a }] }\n";
    let ended = World::new(spec, &["a"]).file("child.yaml", child).run(Value::Null, |_, _, _| Err(500));
    assert_eq!(ended.text(), "fire_and_forget\n");
}

#[test]
fn an_agent_chosen_by_a_template_is_called_or_not_found() {
    let spec = "  states: [{ name: A, kind: Agent, agent: '{{input.who}}', input: hi }]\n";
    assert_eq!(World::new(spec, &["a", "b"]).run(json!({"who": "b"}), says).text(), "<b: hi>");
    let error = World::new(spec, &["a", "b"]).run(json!({"who": "c"}), says).error();
    assert!(error.starts_with("AGENT_NOT_FOUND"), "{error}");
}

#[test]
fn an_agent_with_an_input_schema_gets_an_object_from_json_text() {
    let schema = "  input_schema: { type: object, required: [topic], properties: { topic: { type: string } } }\n";
    let spec = "  states: [{ name: A, kind: Agent, agent: a, input: '{\"topic\": \"{{workflow.task}}\"}', intent: be brief }]\n";
    let world =
        World::new(spec, &[]).with("a", "instruction: x, prompt_template: '{{input.topic}} {{intent}}'", schema);
    assert_eq!(world.run(json!("tea"), says).text(), "<a: tea be brief>");
    let wrong = spec.replace("topic\\\"", "x\\\"").replace("\"topic\"", "\"x\"");
    let world = World::new(&wrong, &[]).with("a", "instruction: x", schema);
    let error = world.run(json!("tea"), says).error();
    assert!(error.starts_with("INPUT_INVALID"), "{error}");
}

#[test]
fn an_optional_input_that_is_left_out_stays_out() {
    let schema = "  input_schema: { type: object, required: [a], properties: { a: { type: string }, b: { type: string }, c: { default: 3 } }, additionalProperties: false }\n";
    let of = |input: Value| {
        World::agent("x", "instruction: i, prompt_template: '{{input}} {{input.b}}'", schema).run(input, says)
    };
    assert_eq!(of(json!({"a": "1"})).text(), "<x: {\"a\":\"1\",\"c\":3} >");
    assert_eq!(of(json!({"a": "1", "b": "2", "c": 4})).text(), "<x: {\"a\":\"1\",\"b\":\"2\",\"c\":4} 2>");
    for wrong in [json!({}), json!({"a": 1}), json!({"a": "1", "d": 1}), json!("text")] {
        let error = of(wrong).error();
        assert!(error.starts_with("INPUT_INVALID"), "{error}");
    }
}

#[test]
fn output_is_coerced_by_its_schema() {
    let flow = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: flow
  output_schema: { properties: { n: { type: integer }, f: { type: number }, ok: { type: boolean }, l: { type: array } } }
  output_template: { n: '{{A.output.n}}', f: '{{A.output.f}}', ok: '{{A.output.ok}}', l: '{{json A.output.l}}', text: '{{A.output.n}}', bad: '{{A.output.none}}', fixed: 1 }
spec:
  states: [{ name: A, kind: Agent, agent: a }]
";
    let world = World::new("", &["a"]).file("main.yaml", flow).main_last();
    let ended = world.run(Value::Null, |_, _, _| Ok(r#"{"n": 3, "f": 0.5, "ok": true, "l": [1]}"#.into()));
    assert_eq!(ended.json(), json!({"n": 3, "f": 0.5, "ok": true, "l": [1], "text": "3", "bad": "", "fixed": 1}));
}

#[test]
fn data_is_never_a_template() {
    let spec = "  states:
    - { name: A, kind: Agent, agent: a, input: '{{input.x}}' }
    - { name: B, kind: System, command: 'echo {{A.output}}' }
";
    let ended =
        World::new(spec, &["a"]).run(json!({"x": "{{input.secret}} \\{{x}}", "secret": "S"}), |_, _, p| Ok(p.into()));
    assert_eq!(ended.text(), "{{input.secret}} \\{{x}}\n");
}
