//! `plan`, `graph` and `ir` of the examples, compared with reviewed snapshots.

use crate::world::{bare, finish, root};

/// Examples that together use every feature.
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
fn a_fingerprint_depends_on_what_runs_and_not_on_how_it_is_written() {
    let folder = crate::world::Folder::new();
    let hash = |file: &str, text: &str| {
        folder.write(file, text);
        folder.trefoil(&["ir", "--hash", file]).exits(0).out.clone()
    };
    let text = "id: a\nname: A\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Hi\n";
    let one = hash("a.yaml", text);
    assert_eq!(one.trim_end().len(), 64, "{one}");
    assert_eq!(hash("b.yaml", &text.replace("instruction: Hi", "# why\n\ninstruction: 'Hi'")), one);
    assert_ne!(hash("c.yaml", &text.replace("Hi", "Hello")), one);
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
    folder.trefoil(&["run", "--model", "embedded", ".", "--input", "x=w", "--allow-command"]).exits(1);
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
        // In a quoted string of dot, and only there, `<` has no meaning.
        assert!(format == "dot" || !ran.out.contains("<script>"), "{}", ran.out);
        match format {
            "dot" => assert!(ran.out.contains("\\\\\\\" ]]"), "{}", ran.out),
            "mermaid" => assert!(!ran.out.contains("\" ]]"), "{}", ran.out),
            _ => assert!(ran.out.contains("&lt;b&gt;&amp;"), "{}", ran.out),
        }
    }
}

#[test]
fn a_picture_goes_to_a_file_in_the_format_of_its_ending_and_in_either_direction() {
    let folder = crate::world::Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    let ran = folder.trefoil(&["graph", "a.yaml", "--direction", "right", "-o", "a.svg"]);
    ran.exits(0);
    assert_eq!(ran.out, "");
    let svg = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("prefers-color-scheme:dark"), "{svg}");
    assert!(svg.contains("<a href=\"./a.yaml#L1\">") && svg.contains("a.yaml:1</title>"), "{svg}");
    let box_ = |title: &str| {
        let at = svg.find(&format!(">{title}</text>")).unwrap();
        let x = svg[..at].rsplit("x=\"").next().unwrap();
        x.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(box_("end") > box_("helper") + 50.0, "{svg}");
    assert!(trefoil(&["graph", "--direction", "right", "examples/agntz#text-analysis"]).contains("flowchart LR"));
    folder.trefoil(&["graph", "a.yaml", "-o", "no/such/folder.svg"]).exits(1).says(&["cannot write"]);
}

#[test]
fn stages_that_each_run_in_parallel_meet_in_one_point() {
    let folder = crate::world::Folder::new();
    let branch = |id: &str| {
        format!(
            "        - agent: {{ id: {id}, kind: llm, model: {{ provider: openai, name: m }}, instruction: x, prompt: y }}\n"
        )
    };
    let stage = |id: &str, one: &str, two: &str| {
        format!("  - agent:\n      id: {id}\n      kind: parallel\n      branches:\n{}{}", branch(one), branch(two))
    };
    folder
        .write("p.yaml", format!("id: p\nkind: sequential\nsteps:\n{}{}", stage("s", "a", "b"), stage("t", "c", "d")));
    let ran = folder.trefoil(&["graph", "p.yaml"]);
    ran.exits(0);
    let dot = ran.out.lines().find(|l| l.contains("(( ))")).unwrap().trim().split('(').next().unwrap().to_owned();
    assert_eq!(ran.out.lines().filter(|l| l.contains(&format!("--> {dot}"))).count(), 2, "{}", ran.out);
    assert_eq!(ran.out.lines().filter(|l| l.contains(&format!("{dot} -->"))).count(), 2, "{}", ran.out);
    assert!(ran.out.contains("[\"s: in parallel\"]"), "a frame's title is one line: {}", ran.out);
}

#[test]
fn commands_are_shown_as_they_are_written() {
    let folder = crate::world::Folder::new();
    folder.write(
        "w.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  initial_state: A\n  states:\n    \
         A: {kind: System, command: \"printf 'a {{workflow.task}}' \\\"b {{workflow.task}}\\\"\"}\n",
    );
    let written = "printf 'a {{workflow.task}}' \"b {{workflow.task}}\"";
    let plan = folder.trefoil(&["plan", "w.yaml"]);
    plan.exits(0);
    assert!(plan.out.contains(&format!("runs {written}")), "{}", plan.out);
    let dot = folder.trefoil(&["graph", "w.yaml", "--format", "dot"]);
    assert!(dot.out.contains(&written.replace('"', "\\\"")), "{}", dot.out);
}

#[test]
fn names_cannot_move_the_cursor() {
    let folder = crate::world::Folder::new();
    // ESC, a C1 control sequence introducer, a line break and a mark that changes the text direction.
    let name = "\"x\\e[31m\\u009b2J\\nevil line\\u202e\"";
    folder.write(
        "s.yaml",
        format!(
            "version: \"0.1\"\nagents:\n  a: {{ model: {name}, system: x }}\nnodes:\n  {name}: {{ agent: a, writes: output.x }}\n\
             input: {{ message: hi }}\n"
        ),
    );
    folder.write(
        "p.yaml",
        format!(
            "id: p\nkind: llm\nmodel: {{ provider: openai, name: {name} }}\ninstruction: x\n\
             inputSchema:\n  {name}: string\n"
        ),
    );
    for args in [["plan", "p.yaml"], ["ir", "p.yaml"], ["plan", "s.yaml"], ["ir", "s.yaml"]] {
        let ran = folder.trefoil(&args);
        let shown = format!("{}{}", ran.out, ran.err);
        let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!shown.contains(bad), "{args:?}: {shown:?}");
        assert!(!shown.lines().any(|l| l.starts_with("evil")), "{args:?}: {shown}");
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

#[test]
fn a_model_can_be_chosen_for_a_state_that_alone_runs_its_agent() {
    let folder = crate::world::Folder::new();
    for name in ["writer", "judge"] {
        let agent = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: 1.0.0 }}\nspec:\n  runtime: {{ \
             language: python, version: '3.11', model: smart }}\n  task: {{ instruction: Work. }}\n"
        );
        folder.write(&format!("{name}.yaml"), agent);
    }
    let state = |name: &str, agent: &str, then: &str| {
        format!("    {name}:\n      kind: Agent\n      agent: {agent}\n      input: x\n      transitions: {then}\n")
    };
    folder.write(
        "w.yaml",
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: 1.0.0 }}\nspec:\n  initial_state: \
             WRITE\n  states:\n{}{}{}",
            state("WRITE", "writer", "[{ condition: always, target: EDIT }]"),
            state("EDIT", "writer", "[{ condition: always, target: CHECK }]"),
            state("CHECK", "judge", "[]"),
        ),
    );
    let plan = |models: &[&str]| {
        let mut args = vec!["plan", "w.yaml"];
        models.iter().for_each(|model| args.extend(["--model", model]));
        let mut command = folder.command(&args);
        command.env("OPENAI_API_KEY", "k");
        crate::world::finish(command)
    };
    let ran = plan(&["CHECK=openai:large", "smart=openai:small"]);
    ran.exits(0);
    assert!(ran.out.contains("openai:large  1") && ran.out.contains("openai:small  2"), "{}", ran.out);
    // It could not run like this.
    let lacks = |models: &[&str], parts: [&str; 2]| {
        let ran = plan(models);
        let (_, lacks) = ran.exits(0).out.split_once("\ndoes not run\n").unwrap_or_else(|| panic!("{}", ran.out));
        assert!(parts.iter().all(|part| lacks.contains(part)), "{lacks}");
    };
    lacks(&["WRITE=openai:large", "smart=openai:small"], ["run the same agent, `writer`", "--model writer="]);
    lacks(&["CHEKC=openai:large", "smart=openai:small"], ["`CHEKC`", "`CHECK`"]);
}

#[test]
fn a_graph_is_not_written_as_something_that_it_is_not() {
    let folder = crate::world::Folder::new();
    folder.write("one.yaml", "id: one\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\n");
    folder.trefoil(&["graph", "one.yaml", "-o", "one.png"]).exits(2).says(&["cannot be written as `.png`", "`.svg`"]);
    assert!(!folder.path().join("one.png").exists());
    folder.trefoil(&["graph", "one.yaml", "-o", "one.png", "--format", "dot"]).exits(0);
}
