//! The facts about names from lowering an AEGIS project.

use trefoil_front::aegis::AegisFrontEnd;
use trefoil_ir::ValuePresence;

use super::support::learn;

const FLOW: &str = r#"apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: refine
  input_schema: {type: object, properties: {topic: {type: string}, more: {type: object, properties: {a: {type: string}}}}, required: [topic]}
  output_template: {text: "{{WRITE.output.text}}"}
spec:
  initial_state: WRITE
  context: {style: plain}
  states:
    WRITE:
      kind: Agent
      agent: writer
      input: "{{input.topic}} {{workflow.context.style}} {{state.feedback}} {{blackboard.round}} {{input.more.a}} {{topic}}"
      transitions:
        - {condition: score_above, threshold: 0.8, target: ASK}
        - {condition: always, target: COUNT, feedback: "{{state_output.output}} {{WRITE.score}} {{REVEIW.output}}"}
    COUNT:
      kind: System
      command: update_blackboard
      env: {round: "{{iteration_number}}"}
      transitions: [{condition: always, target: WRITE}]
    ASK:
      kind: Human
      prompt: "Good? {{WRITE.output}} {{COUNT.updated}} {{WRITE.answer}}"
      transitions:
        - {condition: custom, expression: "ASK.response == 'yes'", target: END}
        - {condition: input_equals_no, target: NOWHERE}
    END: {kind: System, command: "printf '%s' {{ASK.response}}", transitions: []}
"#;

const WRITER: &str = r#"apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: {name: writer, version: "1.0.0"}
spec:
  runtime: {language: python, version: "3.11", model: smart}
  input_schema: {type: object, properties: {topic: {type: string}}}
  task: {instruction: write, prompt_template: "{{instruction}} {{input.topic}} {{previous_eror}}"}
  execution:
    validation: [{type: multi_judge, judges: [critic], criteria: good}]
"#;

#[test]
fn a_workflow() {
    let learned = learn(&AegisFrontEnd, &[("flow.yaml", FLOW), ("writer.yaml", WRITER)]);
    learned.check();
    insta::assert_snapshot!(learned.story());
}

#[test]
fn what_is_being_typed_has_its_scope() {
    let text = FLOW.replace("{{WRITE.output}} {{COUNT.updated}} {{WRITE.answer}}", "{{#if WRITE.output}} {{WRI");
    let learned = learn(&AegisFrontEnd, &[("flow.yaml", &text), ("writer.yaml", WRITER)]);
    let names = learned.names_at("{{WRI");
    assert!(names.contains(&"WRITE".to_owned()) && names.contains(&"COUNT?".to_owned()), "{names:?}");
    assert!(!names.contains(&"END".to_owned()), "it never runs before: {names:?}");
    let text = WRITER.replace("{{previous_eror}}", "{{ prev");
    let learned = learn(&AegisFrontEnd, &[("writer.yaml", &text)]);
    assert!(learned.names_at("{{ prev").contains(&"previous_error?".to_owned()));
}

#[test]
fn states_are_there_from_where_they_have_run() {
    let learned = learn(&AegisFrontEnd, &[("flow.yaml", FLOW), ("writer.yaml", WRITER)]);
    let at = |name: &str, line: usize| {
        let (_, file) = learned.files.iter().next().unwrap();
        let on = |m: &&trefoil_ir::Mention| file.line_column(m.at.span.start).line as usize == line;
        learned.facts.mentions.iter().filter(on).find(|m| learned.text(m.at) == name).unwrap().defined
    };
    assert_eq!(at("WRITE", 25), ValuePresence::Always);
    assert_eq!(at("COUNT", 25), ValuePresence::Sometimes);
}
