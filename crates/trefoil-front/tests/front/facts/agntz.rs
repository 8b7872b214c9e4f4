//! The facts about names from lowering an agntz project.

use trefoil_front::agntz::AgntzFrontEnd;
use trefoil_ir::{DeclarationKind as Kind, ValuePresence};

use super::support::learn;

const PIPELINE: &str = r#"id: article
kind: sequential
inputSchema:
  topic: {type: string, description: What to write about}
  reader: {type: object, properties: {name: string}}
steps:
  - ref: web-researcher
    input: {question: "{{topic}} for {{reader.name}}"}
  - agent:
      id: reviewer
      kind: llm
      model: {provider: openai, name: m}
      prompt: "{{text}} {{facts}}"
      outputSchema: {approved: boolean, issues: {type: array, items: {type: object, properties: {line: integer}}}}
    stateKey: review
    input: {text: "{{webResearcher.facts}} {{web-researcher.fact}}"}
    when: "{{webResearcher.sure}} == false"
  - agent: {id: fixer, kind: llm, model: {provider: openai, name: m}, instruction: "{{draft}}", prompt: go}
    input: {draft: "{{review.issues.0.line}} {{nothing}}"}
until: "{{review.approved}}"
maxIterations: 3
output: {done: "{{fixer}}", ok: "{{review.approved}}"}
"#;

const CHILD: &str = r#"id: web-researcher
kind: llm
model: {provider: openai, name: m}
inputSchema: {type: object, properties: {question: {type: string}}, required: [question]}
outputSchema: {facts: string, sure: boolean}
instruction: "Find out: {{question}} in {{env.LANG}}"
"#;

#[test]
fn a_pipeline() {
    let learned = learn(&AgntzFrontEnd, &[("article.yaml", PIPELINE), ("web-researcher.yaml", CHILD)]);
    learned.check();
    insta::assert_snapshot!(learned.story());
}

#[test]
fn nested_pipelines_show_their_steps() {
    let inner = r#"id: writing
kind: sequential
inputSchema: {topic: string}
steps:
  - agent: {id: writer, kind: llm, model: {provider: openai, name: m}, prompt: go, outputSchema: {draft: string}}
  - agent: {id: closer, kind: llm, model: {provider: openai, name: m}, prompt: go}
"#;
    let outer = r#"id: all
kind: sequential
steps:
  - {ref: writing, input: {topic: x}}
output: {text: "{{writing.writer.draft}}"}
"#;
    let learned = learn(&AgntzFrontEnd, &[("all.yaml", outer), ("writing.yaml", inner)]);
    learned.check();
    let names = ["writing", "writer", "draft"].map(|name| {
        let m = learned.facts.mentions.iter().find(|m| m.template && learned.text(m.at) == name).unwrap();
        let d = learned.facts.declaration_at(m.to.unwrap()).unwrap();
        (d.kind, d.name.to_string())
    });
    let expected = [(Kind::Step, "writing"), (Kind::Step, "writer"), (Kind::Property, "draft")];
    assert_eq!(names, expected.map(|(kind, name)| (kind, name.to_owned())));
}

#[test]
fn what_is_being_typed_has_its_scope() {
    let text = r#"id: p
kind: sequential
steps:
  - agent: {id: writer, kind: llm, model: {provider: openai, name: m}, prompt: go}
  - agent: {id: fixer, kind: llm, model: {provider: openai, name: m}, instruction: "{{#if text}} {{ te", prompt: go}
    input: {text: "a {{ wri", other: "{{}}"}
    when: "{{wri"
"#;
    let learned = learn(&AgntzFrontEnd, &[("p.yaml", text)]);
    for place in ["a {{ wri", "\"{{}}\"", "\"{{wri\""] {
        assert!(learned.names_at(place).contains(&"writer".to_owned()), "{place}: {:?}", learned.names_at(place));
    }
    assert_eq!(learned.names_at("{{ te")[..2], ["text".to_owned(), "other".to_owned()]);
}

#[test]
fn steps_are_there_from_where_they_have_run() {
    let step = |id: &str, input: &str| {
        format!(
            "  - agent: {{id: {id}, kind: llm, model: {{provider: openai, name: m}}, prompt: x}}\n    input: {{x: \"{input}\"}}\n"
        )
    };
    let steps = step("one", "{{two}}") + &step("two", "{{one}}");
    let once = format!("id: p\nkind: sequential\nsteps:\n{steps}");
    let learned = learn(&AgntzFrontEnd, &[("p.yaml", &once)]);
    assert_eq!(
        (learned.mention("two").defined, learned.mention("one").defined),
        (ValuePresence::Never, ValuePresence::Always)
    );
    let looped = format!("{once}until: \"{{{{two}}}} == x\"\nmaxIterations: 2\n");
    let learned = learn(&AgntzFrontEnd, &[("p.yaml", &looped)]);
    assert_eq!(
        (learned.mention("two").defined, learned.mention("one").defined),
        (ValuePresence::Sometimes, ValuePresence::Always)
    );
    assert_eq!(learned.names_at("{{two}}")[1..3], ["one?".to_owned(), "two?".to_owned()]);
}
