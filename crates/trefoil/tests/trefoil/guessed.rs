//! Keys that are only guessed, names that look like others, lists for the shorthand `object`, and lines of environment files: what a check says, and what runs.

use serde_json::json;
use trefoil::ports::{FnModel, MessageRole, ModelRequest};
use trefoil::{Engine, Error, Flow, Key};
use trefoil_project::load::{LoadOptions, check_paths, load_target};
use trefoil_project::target::LoadTarget;
use trefoil_syntax::FindingSeverity;

use crate::Folder;

fn found(folder: &Folder, file: &str) -> Vec<String> {
    let report = check_paths(&[folder.0.join(file).display().to_string()], &LoadOptions::default().with_checks());
    let root = folder.0.display().to_string();
    report
        .diagnostics
        .iter()
        .map(|d| format!("{:?} {}: {}", d.severity, d.rule, d.message.replace(&root, ".")))
        .collect()
}

const AGENT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: '1' }\nspec:\n  runtime: { model: smart }\n  \
                     task: { instruction: Work. }\n";
const SIREN: &str = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: s } }\ninput: { message: hi }\n";
const PIPELINE: &str = "id: p\nkind: sequential\nsteps:\n  - agent: { id: b, kind: llm, model: { provider: openai, name: m }, \
                        instruction: I., prompt: x }\n";

/// Keys that are near a known one, with a value that would be wrong for it.
#[test]
fn what_is_below_a_guessed_key_stops_no_run() {
    let cases: [(&str, &str, String); 8] = [
        ("context", "contxt", format!("{AGENT}  contxt: [ {{ service: calendar, required: true }} ]\n")),
        ("tools", "tool", format!("{AGENT}  tool: {{ name: x }}\n")),
        ("input_schema", "inputs_schema", format!("{AGENT}  inputs_schema: {{ type: 5 }}\n")),
        ("execution", "executions", format!("{AGENT}  executions: {{ max_iterations: 900 }}\n")),
        (
            "defaults",
            "default",
            format!(
                "{SIREN}default: {{ retry: {{ max_attempts: -1 }} }}\nnodes: {{ n: {{ agent: a, writes: output.r }} }}\n"
            ),
        ),
        (
            "retry",
            "retrys",
            format!("{SIREN}nodes: {{ n: {{ agent: a, writes: output.r, retrys: {{ max_attempts: 0 }} }} }}\n"),
        ),
        ("timeoutMs", "timeoutMS", format!("{PIPELINE}timeoutMS: soon\n")),
        ("output", "outputs", format!("{PIPELINE}outputs: [ 1, 2 ]\n")),
    ];
    for (meant, written, text) in cases {
        let folder = Folder::with(&[("main.yaml", &text)]);
        let target = LoadTarget::parse(&folder.0.join("main.yaml").display().to_string());
        let loaded = load_target(&target, &LoadOptions::default().with_checks());
        let loaded = loaded.unwrap_or_else(|report| panic!("{written} for {meant}: {}", report.text()));
        let named = loaded.diagnostics.iter().any(|d| d.rule == "unknown-key" && d.message.contains(written));
        assert!(
            named && loaded.diagnostics.iter().all(|d| d.severity < FindingSeverity::Error),
            "{written} for {meant}"
        );
    }
}

#[test]
fn a_key_of_the_newer_format_is_no_misspelling() {
    let folder =
        Folder::with(&[("main.yaml", &format!("{AGENT}  contexts: [ {{ service: calendar, required: true }} ]\n"))]);
    assert_eq!(
        found(&folder, "main.yaml"),
        ["Info no-effect: `contexts` has no effect: the agent is not connected to any service"]
    );
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn ended(engine: &Engine, flow: &Flow) -> trefoil::Result<serde_json::Value> {
    block_on(async { engine.start_run(flow, json!({}))?.wait_output().await })
}

fn echo() -> impl trefoil::ports::ModelProvider {
    FnModel(|_: &Key, request: &ModelRequest| {
        let user = request.messages.iter().find(|m| m.role == MessageRole::User).unwrap();
        Ok(user.content.to_text().to_string())
    })
}

/// A step that gives its callee, whose input has this schema, the result of a tool or a list.
fn mender(schema: &str, faults: &str) -> String {
    format!(
        "id: p\nkind: sequential\nsteps:\n  - agent: {{ id: look, kind: tool, tool: {{ kind: local, name: inspect }} }}\n  - agent: {{ id: mend, \
         kind: llm, model: {{ provider: openai, name: m }}, inputSchema: {schema}, instruction: I., prompt: \"{{{{faults}}}}\" }}\n    \
         input: {{ faults: {faults} }}\n"
    )
}

#[test]
fn the_shorthand_object_takes_a_list() {
    let run = |schema: &str| {
        let flow = Flow::from_text("p.yaml", mender(schema, "\"{{look.faults}}\"")).unwrap();
        let engine = Engine::new().provider(echo()).tool("inspect", async |_: serde_json::Value| {
            Ok(json!({ "faults": [{ "where": "a" }, { "where": "b" }] }))
        });
        match ended(&engine, &flow) {
            Ok(value) => value.to_string(),
            Err(Error::Failed(failure)) => failure.error_code().to_owned(),
            Err(other) => panic!("{other}"),
        }
    };
    let list = r#""[{\"where\":\"a\"},{\"where\":\"b\"}]""#;
    assert_eq!(run("{ faults: object }"), list);
    assert_eq!(run("{ faults: { type: object } }"), list);
    // What is said about the object is checked, and a JSON Schema means what it says.
    assert_eq!(run("{ faults: { type: object, properties: { where: string } } }"), "INPUT_INVALID");
    assert_eq!(run("{ type: object, properties: { faults: { type: object } } }"), "INPUT_INVALID");
}

#[test]
fn a_line_of_an_environment_file_that_sets_nothing_is_named() {
    let flow = SIREN.replace("system: s", "system: \"<{{ env.TREFOIL_TEST_TICKET }}>\"")
        + "env_file: s.env\nnodes: { n: { agent: a, writes: output.r } }\n";
    let skipped = Folder::with(&[("main.yaml", &flow), ("s.env", "export TREFOIL_TEST_TICKET=abc123\n")]);
    let line = "Info env-file-line: `./s.env:1` is not `NAME=value` and was skipped";
    assert_eq!(found(&skipped, "main.yaml"), [line]);
    let open =
        Folder::with(&[("main.yaml", &flow), ("s.env", "\nTREFOIL_TEST_TICKET=\"-----BEGIN\nMIIB\n-----END\"\n")]);
    assert_eq!(found(&open, "main.yaml")[0], "Error env-file-line: `./s.env:2` has a quote without an end");
    let marked = Folder::with(&[("main.yaml", &flow), ("s.env", "\u{feff}TREFOIL_TEST_TICKET=abc123\r\n")]);
    assert_eq!(found(&marked, "main.yaml"), [""; 0]);
    let run = |folder: &Folder| {
        let flow = Flow::load_from_disk(folder.0.join("main.yaml").display().to_string()).unwrap();
        match ended(&Engine::new().provider(echo()), &flow) {
            Ok(value) => value.to_string(),
            Err(other) => other.to_string(),
        }
    };
    assert_eq!(run(&marked), r#"{"r":"hi"}"#);
    let why = run(&skipped);
    assert!(why.contains("s.env:1") && !why.contains("abc123"), "{why}");
}

/// Names, keys and words of each format in which one character is another one than it seems to be.
#[test]
fn the_character_is_named_by_which_names_that_look_equal_differ() {
    let agntz = |key: &str, name: &str| {
        format!(
            "id: c\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninputSchema: {{ recipe: string }}\n{key}: I.\nprompt: \"{{{{{name}}}}}\"\n"
        )
    };
    let siren = |node: &str| {
        format!(
            "{SIREN}nodes: {{ one: {{ agent: a, writes: working.r }}, two: {{ agent: a, writes: output.r }} }}\nedges: [ {{ from: one, to: {node} }} ]\n"
        )
    };
    let aegis = |target: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: A\n  states:\n    A: {{ kind: System, command: ls, transitions: [ {{ condition: always, target: {target} }} ] }}\n    DONE: {{ kind: System, command: ls }}\n"
        )
    };
    let cases = [
        (
            agntz("instruction", "r\u{435}cipe"),
            Some("the name here contains `U+0435`, a Cyrillic letter that looks like `e`"),
        ),
        (agntz("instruction", "rec\u{200b}ipe"), Some("the name here contains `U+200B`, which is invisible")),
        (agntz("instruction", "rcipe"), None),
        (
            agntz("instru\u{441}tion", "recipe"),
            Some("the name here contains `U+0441`, a Cyrillic letter that looks like `c`"),
        ),
        (siren("tw\u{43e}"), Some("the name here contains `U+043E`, a Cyrillic letter that looks like `o`")),
        // More than half of the letters.
        (aegis("D\u{39f}\u{39d}\u{395}"), Some("the name here contains `U+039F`, a Greek letter that looks like `O`")),
    ];
    for (text, said) in cases {
        let folder = Folder::with(&[("main.yaml", &text)]);
        let report =
            check_paths(&[folder.0.join("main.yaml").display().to_string()], &LoadOptions::default().with_checks());
        let help: Vec<&str> = report.diagnostics.iter().filter_map(|d| d.help.as_deref()).collect();
        let named: Vec<&&str> = help.iter().filter(|help| help.contains("U+")).collect();
        match said {
            Some(said) => assert!(help.iter().any(|help| help.contains(said)), "{text}: {help:?}"),
            None => assert!(named.is_empty(), "{text}: {help:?}"),
        }
    }
    // The declared name may be the strange one.
    let text = agntz("instruction", "recipe").replace("{ recipe:", "{ r\u{435}cipe:");
    let folder = Folder::with(&[("main.yaml", &text)]);
    let report =
        check_paths(&[folder.0.join("main.yaml").display().to_string()], &LoadOptions::default().with_checks());
    assert!(report.text().contains("U+0435"), "{}", report.text());
}
