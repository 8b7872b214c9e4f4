//! `plan`, `graph` and `ir` of the examples, as they looked when their snapshots were read.

use crate::world::{bare, finish, root};

/// What shows something of everything.
const SHOWN: &[(&str, &str)] = &[
    ("agntz", "examples/agntz#article-pipeline"),
    ("agntz", "examples/agntz#text-analysis"),
    ("aegis", "examples/aegis/refine-loop.yaml"),
    ("aegis", "examples/aegis/panel.yaml"),
    ("sirenspec", "examples/sirenspec/resilient.yaml"),
    ("sirenspec", "examples/sirenspec/grade-essays.yaml"),
    ("sirenspec", "examples/sirenspec/review-with-policy.yaml"),
];

#[test]
fn plans() {
    each("plan", &["plan"]);
}

#[test]
fn mermaid() {
    each("mermaid", &["graph"]);
}

#[test]
fn dot() {
    each("dot", &["graph", "--format", "dot"]);
}

#[test]
fn programs() {
    each("ir", &["ir"]);
}

#[test]
fn svg_is_whole_and_the_same_again() {
    for (_, target) in SHOWN {
        let svg = trefoil(&["graph", "--format", "svg", target]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg, trefoil(&["graph", "--format", "svg", target]));
        // Every box is inside the picture.
        let number = |line: &str, key: &str| -> Option<f64> {
            line.split(&format!(" {key}=\"")).nth(1)?.split('"').next()?.parse().ok()
        };
        let width = number(&svg, "width").unwrap();
        for line in svg.lines().filter(|l| l.starts_with("<rect class=\"box")) {
            assert!(number(line, "x").unwrap() + number(line, "width").unwrap() <= width, "{line}");
        }
    }
}

#[test]
fn a_flow_that_calls_itself_has_a_plan_and_no_bound() {
    let folder = crate::world::Folder::new();
    folder.write(
        "w.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  initial_state: A\n  states:\n    \
         B: {kind: System, command: ls}\n    \
         A: {kind: Subworkflow, workflow_id: \"{{input.x}}\", mode: blocking, result_key: r, transitions: [{condition: always, target: B}]}\n",
    );
    let text = folder.trefoil(&["plan", "."]);
    text.exits(0);
    assert!(text.out.contains("calls itself") && text.out.contains("command: no limit"), "{}", text.out);
    let json = folder.trefoil(&["plan", ".", "--format", "json"]);
    assert_eq!(json.exits(0).json()["calls"]["command"], serde_json::json!({"at_most": null, "text": "no limit"}));
    folder.trefoil(&["graph", "."]).exits(0);
    folder.trefoil(&["ir", "."]).exits(0);
    folder.trefoil(&["run", ".", "--input", "x=w", "--allow-command"]).exits(1);
}

#[test]
fn pictures_say_nothing_that_the_text_did_not() {
    let folder = crate::world::Folder::new();
    let hostile = "</text><script>alert(1)</script> \\\" ]] --> %% \\n {{x}}";
    folder.write(
        "a.yaml",
        format!(
            "id: a\nkind: sequential\nsteps:\n  - agent:\n      id: one\n      kind: llm\n      model: {{ provider: openai, name: {} }}\n      \
             instruction: x\n    when: \"{{{{userQuery}}}} == '<b>&'\"\n",
            serde_json::Value::from(hostile)
        ),
    );
    for format in ["svg", "mermaid", "dot"] {
        let ran = folder.trefoil(&["graph", "--format", format, "a.yaml"]);
        ran.exits(0);
        // In a quoted string of dot, and only there, `<` means nothing.
        assert!(format == "dot" || !ran.out.contains("<script>"), "{}", ran.out);
        match format {
            "dot" => assert!(ran.out.contains("\\\\\\\" ]]"), "{}", ran.out),
            "mermaid" => assert!(!ran.out.contains("\" ]]"), "{}", ran.out),
            _ => assert!(ran.out.contains("&lt;b&gt;&amp;"), "{}", ran.out),
        }
    }
}

fn each(what: &str, args: &[&str]) {
    let mut shown = String::new();
    for (_, target) in SHOWN {
        let mut all = args.to_vec();
        all.push(target);
        shown.push_str(&format!("$ trefoil {}\n{}\n", all.join(" "), trefoil(&all)));
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(what, shown);
    });
}

fn trefoil(args: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_trefoil"));
    bare(&mut command);
    command.args(args).current_dir(root());
    let ran = finish(command);
    ran.exits(0);
    ran.out
}
