//! The rule `portability`: off by default; if enabled, it reports each place that the original implementation treats
//! differently.

use crate::world::Folder;

const FILE: &str = r#"version: "0.1"
agents:
  a: { model: "openai:m", system: "About {{ inputs.topic }}" }
  b: { model: "openai:m", system: "Shorten {{ working.text }}" }
  c: { model: "openai:m", system: "First: {{ many.outputs.0 }}" }
  d: { model: "openai:m", system: "{{ one.output | default('') }} {{ one.output | default('none') }} {{ inputs.message }}" }
  w: { model: "openai:m", system: "Do {{ inputs.task }}" }
nodes:
  one: { agent: a, writes: working.text }
  many:
    type: factory
    agent: w
    for_each: "{{ one.output | json_or_default('[]') }}"
    inputs: { task: "{{ item }}" }
    writes: working.many
  two: { agent: b, writes: output.two }
  three: { agent: c, writes: output.three }
  four: { agent: d, writes: output.four }
budget: { max_calls: 20 }
input: { message: hi, topic: tea }
"#;

#[test]
fn what_the_original_reads_otherwise_is_told_when_asked_for() {
    let folder = Folder::new();
    folder.write("flow.yaml", FILE);
    let told = |args: &[&str]| {
        let ran = folder.trefoil(&[&["check", "--format", "json", "flow.yaml"], args].concat());
        ran.exits(0);
        let all = ran.json();
        let all = all["diagnostics"].as_array().unwrap().clone();
        let found = all.iter().filter(|d| d["rule"] == "portability");
        found.map(|d| d["line"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(told(&[]), [0_u64; 0]);
    let mut lines = told(&["--warn", "portability"]);
    lines.sort_unstable();
    assert_eq!(lines, [3, 4, 5, 6, 13, 19], "the values of a node's own `inputs` are known to both");
}

#[test]
fn other_formats_are_not_judged_by_it() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    let ran = folder.trefoil(&["check", "--deny", "portability", "a.yaml"]);
    ran.exits(0);
    assert!(!ran.out.contains("portability"), "{}", ran.out);
}
