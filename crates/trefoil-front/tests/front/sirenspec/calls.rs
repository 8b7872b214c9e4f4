//! Workflow nodes: the called file, its inputs, and what can be read from its result.

use expect_test::{Expect, expect};
use trefoil_front::sirenspec::SirenSpecFrontEnd;
use trefoil_front::{FrontEnd, NeededFileKind};

use super::support::{check, lines_with, load};

const CHILD: &str = "version: \"0.1\"\nagents: {c: {model: \"openai:m\", system: \"{{ inputs.topic }} {{ inputs.style }}\"}}\nnodes:\n  write: {agent: c, writes: output.text}\n  check: {agent: c, writes: working.checked}\ninput: {topic: tea, style: plain}\n";

/// A workflow that calls `child.yaml` with these additional keys, and reads this from its result.
fn parent(keys: &str, read: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{p: {{model: \"openai:m\", system: {read:?}}}}}\nnodes:\n  run: {{type: workflow, ref: ./sub/child.yaml{keys}}}\n  last: {{agent: p, writes: output.last}}\n"
    )
}

#[track_caller]
fn expect_pair(parent: &str, child: &str, expected: Expect) {
    check(&[("parent.yaml", parent), ("sub/child.yaml", child)], expected);
}

#[test]
fn its_output_tree_and_its_nodes_can_be_read() {
    let read = "{{ run.output }} {{ run.output.text }} {{ run.output.write }} {{ run.output.check }} {{ output.run.text }} {{ both }}";
    expect_pair(&parent(", writes: working.both", read), CHILD, expect![""]);
    expect_pair(
        &parent("", "{{ run.output.txt }} {{ run.output.checked }} {{ run.text }}"),
        CHILD,
        expect![[r#"
            error parent.yaml 2:45 unresolved-name: `run.output.txt` is not defined: `run.output` has no `txt` (did you mean `run.output.text`?) {fix: parent.yaml 2:56 "text"}
            error parent.yaml 2:66 unresolved-name: `run.output.checked` is not defined: `run.output` has no `checked` (did you mean `run.output.check`?) {fix: parent.yaml 2:77 "check"}
            error parent.yaml 2:91 unresolved-name: `run.text` is not defined: `run` has no `text` (available: `output`)
        "#]],
    );
}

#[test]
fn its_nodes_lie_beneath_its_output() {
    let parent = parent("", "{{ run.output.check }}");
    let files = [("parent.yaml", &*parent), ("sub/child.yaml", CHILD)];
    let lines = lines_with(&files, &["call ", "exports", "export ", "system text \"\\\"{{ run"]);
    assert!(
        lines.iter().any(|l| l.contains("run.output.check <- ($run.output over $run (inner)).check")),
        "{lines:#?}"
    );
    assert!(lines.contains(&"export check = $check.output".to_owned()), "{lines:#?}");
}

#[test]
fn inputs_that_it_does_not_read_and_inputs_that_it_needs() {
    expect_pair(
        &parent(", inputs: {topic: x, stile: y}", "x"),
        CHILD,
        expect![[r#"
            warning parent.yaml 4:67 unknown-input: `./sub/child.yaml` has no input `stile` (did you mean `style`?) [sub/child.yaml 6:21 declared here] {fix: "style"}
        "#]],
    );
    let needs = CHILD.replace("style: plain", "style: ");
    expect_pair(
        &parent(", inputs: {topic: x}", "x"),
        &needs,
        expect![[r#"
            error parent.yaml 4:30 missing-input: `./sub/child.yaml` needs the input `style` (pass it: `inputs: {style: ...}`) [sub/child.yaml 6:21 declared here]
        "#]],
    );
    // Inputs that the caller passes need not be declared.
    let undeclared = CHILD.replace("input: {topic: tea, style: plain}\n", "");
    expect_pair(&parent(", inputs: {topic: x, style: y}", "x"), &undeclared, expect![""]);
    expect_pair(
        &parent(", inputs: {topic: x}", "x"),
        &undeclared,
        expect![[r#"
            error parent.yaml 4:30 missing-input: `./sub/child.yaml` reads `inputs.style`, which is neither passed here nor declared there (pass it: `inputs: {style: ...}`)
            error sub/child.yaml 2:64 unresolved-name: `inputs.style` is not defined: `inputs` has no `style` (declare it: `input: {style: ...}`)
        "#]],
    );
}

#[test]
fn a_file_that_others_call_can_be_checked_by_itself() {
    let undeclared = CHILD.replace("input: {topic: tea, style: plain}\n", "");
    let caller = parent(", inputs: {topic: x, style: y}", "x").replace("./sub/child.yaml", "child.yaml");
    check(&[("child.yaml", &undeclared), ("parent.yaml", &caller)], expect![""]);
    check(
        &[("child.yaml", &undeclared)],
        expect![[r#"
            error 2:45 unresolved-name: `inputs.topic` is not defined: `inputs` has no `topic` (declare it: `input: {topic: ...}`)
            error 2:64 unresolved-name: `inputs.style` is not defined: `inputs` has no `style` (declare it: `input: {style: ...}`)
        "#]],
    );
    let fields = lines_with(&[("child.yaml", &undeclared), ("parent.yaml", &caller)], &["field "]);
    assert_eq!(fields, ["field message {\"type\":\"string\"}", "field topic {}", "field style {}"]);
}

#[test]
fn the_message_is_inherited() {
    let call = |parent: &str, child: &str| {
        lines_with(&[("parent.yaml", parent), ("sub/child.yaml", child)], &["input merge", "input {", "input if"])
            .join("\n")
    };
    let needs = "version: \"0.1\"\nagents: {c: {model: \"openai:m\", system: x}}\nnodes: {write: {agent: c, writes: output.text}}\n";
    assert_eq!(call(&parent(", inputs: {}", "x"), needs), "input merge({message: $inputs.message}, {})");
    // Its own message is only used by runs without one.
    let own = format!("{needs}input: {{message: own}}\n");
    assert_eq!(
        call(&parent("", "x"), &own),
        "input merge(if $inputs.message then {message: $inputs.message} else {}, {})"
    );
    let swarm = "version: \"0.1\"\nnodes: {s: {type: swrm, agents: [{id: p, provider: openai, prompt: x}]}}\n";
    assert_eq!(call(&parent("", "x"), swarm), "input {}");
    assert_eq!(call(&parent(", inputs: {message: mine}", "x"), needs), "input {message: \"mine\"}");
}

#[test]
fn references_to_nothing_and_in_circles() {
    let here = "version: \"0.1\"\nnodes:\n  a: {type: workflow, ref: ./chld.yaml}\n  b: {type: workflow, ref: child}\n  c: {type: workflow, ref: registered-name}\n";
    let child = "version: \"0.1\"\nnodes: {back: {type: workflow, ref: ../a.yaml}}\n";
    check(
        &[("a.yaml", here), ("sub/child.yaml", child)],
        expect![[r#"
            error a.yaml 3:28 unknown-reference: no workflow at `./chld.yaml` (did you mean the file of `child`? `ref` is relative to this file)
            error a.yaml 5:28 unknown-reference: no workflow at `registered-name` (write the path of a file relative to this one: `./child.yaml`)
            error sub/child.yaml 2:37 reference-cycle: circular references: `a.yaml` -> `sub/child.yaml` -> `a.yaml` (remove one of these calls: a workflow cannot contain itself)
        "#]],
    );
}

#[test]
fn depth() {
    let level = |next: &str, depth: u32| {
        format!("version: \"0.1\"\nnodes: {{run: {{type: workflow, ref: {next}, max_depth: {depth}}}}}\n")
    };
    let leaf = "version: \"0.1\"\nnodes: {s: {type: swrm, agents: [{id: p, provider: openai, prompt: x}]}}\n";
    let files = |limit| [level("./b.yaml", 1), level("./c.yaml", limit), leaf.to_owned()];
    let [a, b, c] = files(2);
    check(&[("a.yaml", &a), ("b.yaml", &b), ("c.yaml", &c)], expect![""]);
    let [a, b, c] = files(1);
    check(
        &[("a.yaml", &a), ("b.yaml", &b), ("c.yaml", &c)],
        expect![[r#"
            error b.yaml 2:36 out-of-range: node `run` nests workflows deeper than its `max_depth` of 1
        "#]],
    );
}

#[test]
fn files_that_are_needed() {
    let text = "version: \"0.1\"\nenv_file: ../.env\nnodes:\n  a: {type: workflow, ref: ./x.yaml}\n  b: {type: workflow, ref: by-name}\n  c: {agent: a, ref: ./no.yaml}\n";
    let folder = load(&[("sub/a.yaml", text)]);
    let needs = SirenSpecFrontEnd.needed_files(&folder.project.documents[0]);
    let all: Vec<_> = needs.iter().map(|n| (n.kind, n.path.as_str())).collect();
    assert_eq!(all, [(NeededFileKind::EnvFile, "../.env"), (NeededFileKind::Manifest, "./x.yaml")]);
    let ids: Vec<_> = SirenSpecFrontEnd.unit_ids(&folder.project.documents[0]).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["a"]);
}

#[test]
fn environment_files_of_all_workflows() {
    let parent = format!("{}env_file: .env\n", parent("", "x"));
    let child = format!("{CHILD}env_file: ../more.env\n");
    let folder = load(&[("parent.yaml", &parent), ("sub/child.yaml", &child)]);
    assert_eq!(folder.lowered.unwrap().env_files, [".env", "more.env"]);
}
