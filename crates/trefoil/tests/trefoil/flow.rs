//! Flows from disk and from memory, and every way in which loading fails.

use trefoil::{Error, Flow};

use crate::Folder;

const MAIN: &str = "id: main\nkind: sequential\nsteps:\n  - ref: hello\n";
const HELLO: &str =
    "id: hello\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You greet.\nprompt: Say hello.\n";

/// The findings of a flow that does not load: rules, and the text for people.
fn refused(flow: trefoil::Result<Flow>) -> (Vec<&'static str>, String) {
    match flow {
        Err(Error::Load(found)) => (found.found_diagnostics().iter().map(|d| d.rule).collect(), found.to_string()),
        Err(other) => panic!("{other}"),
        Ok(flow) => panic!("{flow:?} loads"),
    }
}

#[test]
fn one_flow_is_the_same_from_disk_and_from_memory() {
    let files = [("main.yaml", MAIN), ("agents/hello.yaml", HELLO)];
    let folder = Folder::with(&[("main.yaml", MAIN), ("hello.yaml", HELLO)]);
    let disk = Flow::load_from_disk(format!("{}#main", folder.0.display())).unwrap();
    for entry in ["main.yaml", "#main", ""] {
        let memory = Flow::from_files(entry, files).unwrap();
        assert_eq!((memory.name(), memory.dialect()), (disk.name(), disk.dialect()), "{entry}");
        assert_eq!(
            memory.plan().render_text().replace("agents/", ""),
            disk.plan().render_text().replace(&format!("{}/", folder.0.display()), "")
        );
    }
    assert_eq!(Flow::from_text("anything at all", HELLO).unwrap().name(), "hello");
}

#[test]
fn findings_in_memory_name_the_files_as_they_were_given() {
    let wrong = HELLO.replace("kind: llm", "kind: lm");
    let (rules, text) = refused(Flow::from_files("#main", [("main.yaml", MAIN), ("a/b.yaml", &wrong)]));
    assert_eq!(rules, ["unknown-value"], "{text}");
    assert!(text.contains("a/b.yaml:2:7"), "{text}");
    let (rules, text) = refused(Flow::from_text("row 7 of flows", "id: [\n"));
    assert_eq!(rules, ["yaml-syntax"], "{text}");
    assert!(text.contains("row 7 of flows:"), "{text}");
}

#[test]
fn nothing_is_read_from_disk_for_a_flow_in_memory() {
    let folder = Folder::with(&[("hello.yaml", HELLO), (".env", "A=1\n"), ("trefoil.toml", "not TOML")]);
    let here = folder.0.display();
    // The same names next to files on disk, and equal to them.
    for entry in ["main.yaml".to_owned(), format!("{here}/main.yaml").trim_start_matches('/').to_owned()] {
        let (rules, text) = refused(Flow::from_files(&entry, [(&*entry, MAIN)]));
        assert_eq!(rules, ["unknown-reference"], "{text}");
    }
    let (rules, text) = refused(Flow::load_from_disk(format!("{here}/nothing.yaml")));
    assert_eq!(rules, ["file-not-found", "project-file"], "{text}");
    let env = "version: '0.1'\nenv_file: .env\nagents: { a: { model: 'openai:m', system: S } }\nnodes: { n: { agent: a, writes: output.x } }\n";
    let (rules, text) = refused(Flow::from_text("flow.yaml", env));
    assert_eq!(rules, ["missing-env-file"], "{text}");
    Flow::from_files("flow.yaml", [("flow.yaml", env), (".env", "A=1\n")]).unwrap();
    let out = env.replace(".env", &format!("../{here}/.env"));
    let (rules, text) = refused(Flow::from_text("flow.yaml", out));
    assert_eq!(rules, ["outside-project"], "{text}");
    assert!(!text.contains("--allow-path") && !text.contains("/memory"), "{text}");
}

#[test]
fn files_in_memory_have_paths_of_their_own() {
    for files in [
        [("a.yaml", HELLO), ("./a.yaml", MAIN)],
        [("a.yaml", HELLO), ("../b.yaml", MAIN)],
        [("a.yaml", HELLO), ("", MAIN)],
    ] {
        let (rules, text) = refused(Flow::from_files("a.yaml", files));
        assert_eq!(rules, ["outside-project"], "{text}");
    }
    let (rules, text) = refused(Flow::from_files("b.yaml", [("a.yaml", HELLO)]));
    assert_eq!(rules, ["file-not-found"], "{text}");
    assert!(text.contains("did you mean `a.yaml`?"), "{text}");
    let (rules, text) = refused(Flow::from_files("#main", [("a.yaml", HELLO)]));
    assert_eq!(rules, ["unknown-id"], "{text}");
    let none: [(&str, &str); 0] = [];
    let (rules, text) = refused(Flow::from_files("", none));
    assert_eq!(rules, ["no-manifest"], "{text}");
}

#[test]
fn a_project_file_in_memory_counts() {
    let unused = HELLO.replace("prompt:", "inputSchema: { topic: string }\nprompt:");
    let warned = Flow::from_text("a.yaml", unused.as_str()).unwrap();
    assert_eq!(warned.load_warnings().found_diagnostics().iter().map(|d| d.rule).collect::<Vec<_>>(), ["unused-input"]);
    assert!(!warned.load_warnings().has_errors() && warned.load_warnings().to_string().contains("a.yaml:5:"));
    let deny = [("a.yaml", unused.as_str()), ("trefoil.toml", "[rules]\nunused-input = \"deny\"\n")];
    assert_eq!(refused(Flow::from_files("a.yaml", deny)).0, ["unused-input"]);
    let allow = [("a.yaml", unused.as_str()), ("trefoil.toml", "[rules]\nunused-input = \"allow\"\n")];
    assert!(Flow::from_files("a.yaml", allow).unwrap().load_warnings().is_empty());
}

#[test]
fn a_flow_is_checked_unless_that_is_not_wanted() {
    let unused = HELLO.replace("prompt:", "inputSchema: { topic: string }\nprompt:");
    let files = [("a.yaml", unused.as_str()), ("trefoil.toml", "[rules]\nunused-input = \"deny\"\n")];
    assert_eq!(refused(Flow::from_files("a.yaml", files)).0, ["unused-input"]);
    assert!(Flow::load_options().without_checks().from_files("a.yaml", files).unwrap().load_warnings().is_empty());
    let broken = HELLO.replace("kind: llm", "kind: lm");
    assert_eq!(
        refused(Flow::load_options().without_checks().from_text("a.yaml", broken)).0.len(),
        1,
        "it does not load at all"
    );
}

#[test]
fn a_dialect_can_be_said_and_has_to_exist() {
    assert_eq!(Flow::load_options().with_dialect("agntz").from_text("a.yaml", HELLO).unwrap().dialect(), "agntz");
    let (rules, text) = refused(Flow::load_options().with_dialect("agents").from_text("a.yaml", HELLO));
    assert_eq!(rules, ["unknown-dialect"]);
    assert!(text.contains("`agents`") && text.contains("sirenspec"), "{text}");
}

#[test]
fn findings_are_json_for_programs() {
    let Err(Error::Load(found)) = Flow::from_text("a.yaml", "id: a\nkind: lm\n") else { panic!("it loads") };
    let json: serde_json::Value = serde_json::from_str(&found.to_json()).unwrap();
    assert_eq!(json["diagnostics"][0]["file"], "a.yaml", "{json}");
}
