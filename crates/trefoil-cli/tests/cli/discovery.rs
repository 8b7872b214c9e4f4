//! Which manifests are found: in a folder, and for an id that a manifest refers to.

use crate::world::{AGENT, Folder};

const PIPELINE: &str = "id: main\nkind: sequential\nsteps:\n  - ref: writer\n    input: { userQuery: x }\n";

fn agent(id: &str) -> String {
    AGENT.replace("helper", id)
}

/// The rule and severity of the findings, by file.
fn found(folder: &Folder, args: &[&str]) -> Vec<String> {
    let json = folder.trefoil(&[&["check", "--format", "json"], args].concat()).json();
    let text = |d: &serde_json::Value, key: &str| d[key].as_str().unwrap_or("-").to_owned();
    let all = json["diagnostics"].as_array().unwrap().iter();
    all.map(|d| format!("{} {} {}", text(d, "file"), text(d, "severity"), text(d, "rule"))).collect()
}

fn model_of(folder: &Folder, target: &str) -> String {
    let ran = folder.trefoil(&["ir", target]);
    ran.exits(0);
    ran.out
}

#[test]
fn an_id_is_looked_for_from_the_own_folder_outwards() {
    let folder = Folder::new();
    let writer = |says: &str| agent("writer").replace("You help.", says);
    folder.write("trefoil.toml", "").write("flows/deep/main.yaml", PIPELINE);
    assert!(found(&folder, &["flows/deep/main.yaml"])[0].contains("unknown-reference"));
    for (place, says) in [
        ("other/agents/writer.yaml", "From the rest."),
        ("writer.yaml", "From the top."),
        ("flows/writer.yaml", "From above."),
        ("flows/deep/writer.yaml", "From beside."),
    ] {
        folder.write(place, writer(says));
        assert_eq!(found(&folder, &["flows/deep/main.yaml"]), [""; 0], "{place}");
        assert!(model_of(&folder, "flows/deep/main.yaml").contains(says), "{place}");
        assert_eq!(found(&folder, &["flows"]), [""; 0], "{place}");
    }
    // Files outside of the project are not searched.
    let folder = Folder::new();
    folder.write("trefoil.toml", "").write("writer.yaml", agent("writer"));
    folder.write("inner/trefoil.toml", "").write("inner/main.yaml", PIPELINE);
    assert!(found(&folder, &["inner/main.yaml"])[0].contains("unknown-reference"));
}

#[test]
fn two_at_the_same_distance_are_an_error_where_they_are_named() {
    let folder = Folder::new();
    folder.write("trefoil.toml", "").write("flows/main.yaml", PIPELINE);
    folder.write("a/one.yaml", agent("writer")).write("b/two.yaml", agent("writer"));
    assert_eq!(found(&folder, &["flows/main.yaml"]), ["flows/main.yaml error ambiguous-reference"]);
    let said = folder.trefoil(&["check", "flows/main.yaml"]).out;
    assert!(said.contains("a/one.yaml") && said.contains("b/two.yaml"), "{said}");
    let run = folder.trefoil(&["run", "--model", "embedded", "flows/main.yaml"]);
    run.silent(2).says(&["a/one.yaml", "b/two.yaml"]);
    // If nothing refers to them, duplicate ids are no mistake.
    let folder = Folder::new();
    folder.write("one.yaml", agent("writer")).write("two.yaml", agent("writer"));
    folder.write("far/three.yaml", agent("writer"));
    assert_eq!(found(&folder, &["."]), ["./two.yaml warning duplicate-id"]);
    folder.trefoil(&["run", ".#writer"]).silent(2).says(&["one.yaml", "two.yaml"]);
}

#[test]
fn ignored_and_excluded_files_are_not_found() {
    let folder = Folder::new();
    let wrong = format!("{}colour: blue\n", agent("wrong"));
    folder.write("a.yaml", AGENT).write("build/b.yaml", &wrong).write("drafts/c.yaml", &wrong);
    folder.write("x.tmpl.yaml", &wrong).write("deep/d.gen.yaml", &wrong).write("deep/kept.gen.yaml", &wrong);
    let all = found(&folder, &["."]);
    assert_eq!(all.iter().filter(|d| d.ends_with("unknown-key")).count(), 5, "{all:?}");
    folder.write(".gitignore", "build/\n*.gen.yaml\n").write("deep/.ignore", "!kept.gen.yaml\n");
    folder.write("trefoil.toml", "[check]\nexclude = [\"drafts/\", \"*.tmpl.yaml\"]\n");
    assert_eq!(found(&folder, &["."]), ["./deep/kept.gen.yaml warning unknown-key"]);
    // Files and folders on the command line are always checked.
    assert_eq!(found(&folder, &["build/b.yaml"]), ["build/b.yaml warning unknown-key"]);
    assert_eq!(found(&folder, &["build"]), ["build/b.yaml warning unknown-key"]);
    assert_eq!(found(&folder, &["--no-config", "drafts"]), ["drafts/c.yaml warning unknown-key"]);
    folder.write("trefoil.toml", "[check]\nexclude = \"drafts\"\n");
    let ran = folder.trefoil(&["check", "a.yaml"]);
    assert!(ran.out.contains("`exclude` must be a list of patterns"), "{}", ran.out);
}

#[test]
fn a_large_folder_is_cut_off_and_that_is_said() {
    let folder = Folder::new();
    for n in 0..60 {
        folder.write(&format!("deep/{n}/agent.yaml"), agent(&format!("agent-{n}")));
    }
    folder.write("near.yaml", format!("{AGENT}colour: blue\n"));
    let ran = folder.trefoil(&["check", ".", "--max-files", "20"]);
    ran.exits(0);
    for part in ["near.yaml", "more than 20 YAML files", "--max-files", "in 20 files"] {
        assert!(ran.out.contains(part), "`{part}` is not in\n{}", ran.out);
    }
    assert!(!folder.trefoil(&["check", ".", "--max-files", "61"]).out.contains("folder-limit"));
}

#[test]
fn a_diff_shows_what_a_fix_would_change_and_changes_nothing() {
    let folder = Folder::new();
    let text = AGENT.replace("instruction", "instrction");
    folder.write("sub/a.yaml", &text).write("b.yaml", agent("b"));
    for args in [&["check", "--diff", "."][..], &["check", "--fix", "--diff", "."]] {
        let ran = folder.trefoil(args);
        ran.exits(0);
        let expected = "--- a/sub/a.yaml\n+++ b/sub/a.yaml\n@@ -1,4 +1,4 @@\n id: helper\n kind: llm\n model: { provider: \
                        openai, name: gpt-x }\n-instrction: You help.\n+instruction: You help.\n";
        assert_eq!(ran.out, expected);
        assert_eq!(std::fs::read_to_string(folder.path().join("sub/a.yaml")).unwrap(), text);
    }
    // The exit code is that of the state after the fixes.
    folder.write("b.yaml", "id: b\nkind: llm\n");
    folder.trefoil(&["check", "--diff", "."]).exits(1);
}

fn aegis_agent(says: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: helper, version: 1.0.0 }}\nspec:\n  runtime: {{ \
         model: smart }}\n  task: {{ instruction: {says} }}\n"
    )
}

fn aegis_workflow(name: &str, states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: {name}, version: 1.0.0 }}\nspec:\n  \
         initial_state: DO\n  states:\n{states}"
    )
}

fn siren(node: &str) -> String {
    format!(
        "version: \"0.1\"\nagents:\n  writer: {{ model: \"openai:gpt-4o-mini\", system: Write. }}\nnodes:\n  \
         first: {{ agent: writer, writes: output.first }}\n  second: {{ {node}, writes: output.text }}\ninput: {{ message: x }}\n"
    )
}

const BY_AGENT: &str = "    DO: { kind: Agent, agent: helper, input: go }\n";

#[test]
fn ids_of_one_project_mean_nothing_in_another() {
    let child = siren("agent: writer");
    for (name, main, callee, missing) in [
        ("writer.yaml", PIPELINE.to_owned(), agent("writer"), "error unknown-reference"),
        ("helper.yaml", aegis_workflow("main", BY_AGENT), aegis_agent("Help."), "warning unknown-reference"),
        ("child.yaml", siren("type: workflow, ref: child"), child, "error unknown-reference"),
    ] {
        let folder = Folder::new();
        folder.write("a/trefoil.toml", "").write("b/trefoil.toml", "");
        folder.write("a/main.yaml", main).write(&format!("b/{name}"), &callee);
        assert_eq!(found(&folder, &["."]), [format!("./a/main.yaml {missing}")]);
        // In one project, these two would be equally far away.
        folder.write(&format!("a/lib/{name}"), callee);
        assert_eq!(found(&folder, &["."]), [""; 0], "{name}");
    }
}

#[test]
fn what_is_nearest_is_measured_from_the_manifest_that_names_it() {
    let folder = Folder::new();
    let inner = "    DO: { kind: Subworkflow, workflow_id: inner, mode: blocking, result_key: answer, input: go }\n";
    folder.write("trefoil.toml", "").write("main.yaml", aegis_workflow("main", inner));
    folder.write("helper.yaml", aegis_agent("Top."));
    folder.write("flows/inner.yaml", aegis_workflow("inner", BY_AGENT));
    folder.write("flows/helper.yaml", aegis_agent("Beside."));
    // With the folder or one of its files as the target.
    for target in [".#main", "main.yaml"] {
        assert_eq!(found(&folder, &[target.split('#').next().unwrap()]), [""; 0]);
        let program = model_of(&folder, target);
        assert!(program.contains("Beside.") && !program.contains("Top."), "{target}: {program}");
    }
}

#[test]
fn what_is_above_the_entry_looks_for_ids_from_its_own_folder() {
    let folder = Folder::new();
    let inner = "    DO: { kind: Subworkflow, workflow_id: inner, mode: blocking, result_key: answer, input: go }\n";
    folder.write("trefoil.toml", "").write("flows/main.yaml", aegis_workflow("main", inner));
    folder.write("flows/helper.yaml", aegis_agent("Beside the entry."));
    folder
        .write("inner.yaml", aegis_workflow("inner", BY_AGENT))
        .write("helper.yaml", aegis_agent("Beside the caller."));
    for (checked, target) in [(".", ".#main"), ("flows", "flows#main"), ("flows/main.yaml", "flows/main.yaml")] {
        assert_eq!(found(&folder, &[checked]), [""; 0], "{target}");
        let program = model_of(&folder, target);
        assert!(program.contains("Beside the caller.") && !program.contains("the entry"), "{target}: {program}");
    }
}

#[test]
fn a_bare_name_with_several_files_equally_near_is_an_error() {
    let folder = Folder::new();
    folder.write("trefoil.toml", "").write("flows/main.yaml", siren("type: workflow, ref: child"));
    let child = siren("agent: writer");
    folder.write("a/child.yaml", &child).write("b/child.yaml", &child);
    assert_eq!(found(&folder, &["flows/main.yaml"]), ["flows/main.yaml error ambiguous-reference"]);
    folder.write("flows/child.yaml", &child);
    assert_eq!(found(&folder, &["flows/main.yaml"]), [""; 0]);
}

#[test]
fn a_path_into_another_project_is_refused_though_its_files_are_listed() {
    let folder = Folder::new();
    folder.write("a/trefoil.toml", "").write("b/trefoil.toml", "");
    folder.write("a/main.yaml", siren("type: workflow, ref: ../b/child.yaml"));
    folder.write("b/child.yaml", siren("agent: writer"));
    assert_eq!(found(&folder, &["."]), ["./a/main.yaml error outside-project"]);
    assert_eq!(found(&folder, &[".", "--allow-path", "b"]), [""; 0]);
}
