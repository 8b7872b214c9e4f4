//! The facts about names from lowering a SirenSpec project.

use trefoil_front::sirenspec::SirenSpecFrontEnd;
use trefoil_ir::ValuePresence;

use super::support::learn;

const FLOW: &str = r#"version: "0.1"
input:
  message:
  tone: calm
state:
  working: {style: {name: plain}}
agents:
  planner: {model: "openai:m", system: "Plan in a {{ inputs.tone }} tone, {{ style.name }}"}
  writer: {model: "openai:m", system: "Write {{ plan.output }} for {{ item.name }} of {{ inputs.topic }}"}
  checker: {model: "openai:m", system: "{{ draft.text }} {{ team.agents.a.output }} {{ plam.output }} {{ env.KEY }}"}
nodes:
  plan: {agent: planner, writes: working.draft.text}
  each: {type: factory, agent: writer, for_each: "{{ plan.output }}", inputs: {topic: "{{ item }}"}, writes: output.texts}
  team:
    type: swrm
    agents: [{id: a, provider: openai, prompt: "{{ each.outputs.0 }}"}]
    synthesis: {provider: openai, prompt: "{{ team.agents.a.output }}"}
  check: {agent: checker, writes: working.draft.text}
  sub: {type: workflow, ref: ./child.yaml, inputs: {who: "{{ check.output }}"}}
  last: {type: human, prompt: "{{ sub.output.answer }} {{ sub.output.inner }}", writes: output.last}
edges:
  - {from: plan, to: each}
  - {from: each, to: team}
  - {from: team, to: check, when: "working.draft.text == 'x' and output.texts"}
  - {from: check, to: sub}
  - {from: sub, to: last}
"#;

const CHILD: &str = r#"version: "0.1"
input: {message: , who: nobody}
agents: {a: {model: "openai:m", system: "{{ inputs.who }}"}}
nodes: {inner: {agent: a, writes: output.answer}}
"#;

#[test]
fn a_workflow() {
    let learned = learn(&SirenSpecFrontEnd, &[("flow.yaml", FLOW), ("child.yaml", CHILD)]);
    learned.check();
    insta::assert_snapshot!(learned.story());
}

#[test]
fn what_is_being_typed_has_its_scope() {
    let text = r#"version: "0.1"
agents: {a: {model: "openai:m", system: "Go on: {{ pl"}, b: {model: "openai:m", system: "{{ }}"}}
nodes:
  plan: {agent: b, writes: working.x}
  next: {agent: a, writes: working.y}
"#;
    let learned = learn(&SirenSpecFrontEnd, &[("flow.yaml", text)]);
    assert!(learned.names_at("{{ pl").contains(&"plan".to_owned()));
    assert!(!learned.names_at("{{ pl").contains(&"next".to_owned()), "a node does not see itself");
    assert!(!learned.names_at("{{ }}").contains(&"plan".to_owned()));
}

#[test]
fn a_node_that_may_not_have_run_is_there_sometimes() {
    let text = r#"version: "0.1"
agents: {a: {model: "openai:m", system: "x"}, b: {model: "openai:m", system: "{{ maybe.output }} {{ first.output }}"}}
nodes:
  first: {agent: a, writes: working.f}
  maybe: {agent: a, writes: working.m}
  end: {agent: b, writes: working.e}
edges:
  - {from: first, to: maybe, when: "working.f == 'x'"}
  - {from: first, to: end}
  - {from: maybe, to: end}
"#;
    let learned = learn(&SirenSpecFrontEnd, &[("flow.yaml", text)]);
    let at = |name: &str| learned.facts.mentions.iter().find(|m| m.template && learned.text(m.at) == name).unwrap();
    assert_eq!(at("maybe").defined, ValuePresence::Sometimes);
    assert_eq!(at("first").defined, ValuePresence::Always);
}
