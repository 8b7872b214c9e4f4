//! Tools that are programs.
#![cfg(unix)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};
use trefoil_ir::ToolKind;
use trefoil_machine::Effects;
use trefoil_runtime::conformance::{ToolSample, check_tools};
use trefoil_runtime::ports::MapSecrets;
use trefoil_runtime::{ToolError, ToolHost as _};
use trefoil_tools::process::{OperatorProgram, ProcessEnvironment};
use trefoil_tools::{CommandResult, CommandTool, CommandToolDeclaration, CommandTools};

use crate::site::{call, request};

pub fn declared(name: &str, command: &[&str]) -> CommandToolDeclaration {
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    CommandToolDeclaration {
        result: None,
        name: name.to_owned(),
        description: String::new(),
        program: OperatorProgram {
            command,
            folder: Some(PathBuf::from("/")),
            environment: ProcessEnvironment::default(),
        },
        parameters: None,
        effects: Effects::Writes,
        input: None,
        output: CommandResult::Either,
        time: Duration::from_secs(20),
    }
}

fn host(all: impl IntoIterator<Item = CommandToolDeclaration>) -> CommandTools {
    let all = all.into_iter().map(|one| CommandTool::new(one).unwrap());
    CommandTools::new(all, Arc::new(MapSecrets::new().with_secret("TOKEN", "canary-17")))
}

async fn run(declared: CommandToolDeclaration, arguments: Json) -> Result<Json, ToolError> {
    let name = declared.name.clone();
    let found = call(&host([declared]), &request(ToolKind::Local, &name, arguments), false).await;
    found.map(|value| value.to_json())
}

fn fails(expected: Expect, found: Result<Json, ToolError>) {
    expected.assert_eq(&format!("{:?}", found.unwrap_err()));
}

#[tokio::test]
async fn programs_conform() {
    let all = [
        declared("cat", &["cat"]),
        declared("false", &["sh", "-c", "echo no luck >&2; exit 4"]),
        CommandToolDeclaration { effects: Effects::ReadOnly, ..declared("list", &["ls", "--", "{folder}"]) },
    ];
    let sample = ToolSample {
        works: Some((
            request(ToolKind::Local, "cat", json!({"a": [1]})),
            trefoil_template::Value::from_json(json!({"a": [1]})),
        )),
        fails: Some(request(ToolKind::Local, "false", json!({}))),
        unknown: request(ToolKind::Local, "rm", json!({})),
        lists: vec!["cat", "false", "list"],
    };
    let host = host(all);
    assert!(!host.offers_tool("cat", &ToolKind::Python));
    check_tools(Arc::new(host), &sample).await.unwrap();
}

#[tokio::test]
async fn no_shell_reads_what_a_value_holds() {
    let folder = std::env::temp_dir().join(format!("trefoil-words-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mark = folder.join("mark");
    for attack in [
        format!("$(touch {})", mark.display()),
        format!("`touch {}`", mark.display()),
        format!("x; touch {} #", mark.display()),
        format!("x\ntouch {}", mark.display()),
        format!("| touch {}", mark.display()),
        format!("' \" ; touch {} ;", mark.display()),
        "*".to_owned(),
        "~".to_owned(),
        "${HOME}".to_owned(),
    ] {
        let found = run(declared("say", &["printf", "%s.", "{it}", "a={it}"]), json!({"it": attack})).await.unwrap();
        assert_eq!(found, json!(format!("{attack}.a={attack}.")));
    }
    assert!(!mark.exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_value_is_no_option_and_no_other_argument() {
    let tool = || declared("list", &["ls", "{folder}"]);
    fails(
        expect![[
            r#"Advised { why: "`folder` must not start with `-`, because the command would read it as an option", help: "pass another value, or write `--` before it in `command`" }"#
        ]],
        run(tool(), json!({"folder": "--help"})).await,
    );
    fails(
        expect![[
            r#"Arguments { why: "Additional properties are not allowed ('more' was unexpected)", help: "fix the arguments of the call, or `parameters` in the settings of the tool" }"#
        ]],
        run(tool(), json!({"folder": "/", "more": 1})).await,
    );
    fails(
        expect![[
            r#"Arguments { why: "\"folder\" is a required property", help: "fix the arguments of the call, or `parameters` in the settings of the tool" }"#
        ]],
        run(tool(), json!({})).await,
    );
    fails(
        expect![[
            r#"Arguments { why: "[\"/\",\"-la\"] is not of types \"boolean\", \"number\", \"string\" (at `/folder`)", help: "fix the arguments of the call, or `parameters` in the settings of the tool" }"#
        ]],
        run(tool(), json!({"folder": ["/", "-la"]})).await,
    );
}

#[tokio::test]
async fn a_secret_is_never_in_a_command_line() {
    let words = host([declared("say", &["printf", "%s", "{it}"]), declared("cat", &["cat"])]);
    let found = call(&words, &request(ToolKind::Local, "say", json!({"it": "canary-17"})), true).await.unwrap_err();
    assert!(!found.to_string().contains("canary"), "{found}");
    assert!(format!("{found:?}").contains("input = \\\"json\\\""), "{found:?}");
    let cat = call(&words, &request(ToolKind::Local, "cat", json!({"it": "canary-17"})), true).await.unwrap();
    assert_eq!(cat.to_json(), json!({"it": "canary-17"}));
}

#[tokio::test]
async fn a_program_gets_what_the_operator_lists_and_nothing_else() {
    let mut tool = declared("env", &["env"]);
    tool.program.environment =
        ProcessEnvironment { pass: vec!["CARGO_PKG_NAME".to_owned()], set: vec![("MODE".to_owned(), "fast".into())] };
    let found = run(tool, json!({})).await.unwrap();
    let names: Vec<&str> = found.as_str().unwrap().lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"MODE") && names.contains(&"CARGO_PKG_NAME") && names.contains(&"PATH"), "{names:?}");
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
}

#[tokio::test]
async fn output_is_read_as_it_is_declared() {
    let print = |text: &str| declared("p", &["printf", "%s", text]);
    assert_eq!(run(print("{{\"a\": 1}}\n"), json!({})).await.unwrap(), json!({"a": 1}));
    assert_eq!(run(print("12\n"), json!({})).await.unwrap(), json!("12"));
    let json = |text| CommandToolDeclaration { output: CommandResult::Json, ..print(text) };
    assert_eq!(run(json("12"), json!({})).await.unwrap(), json!(12));
    fails(
        expect![[
            r#"UnusableResult { why: "its output is not JSON: EOF while parsing a value at line 1 column 0", help: "let the program print JSON and nothing else, or set `output = \"text\"`" }"#
        ]],
        run(json(""), json!({})).await,
    );
    let text = CommandToolDeclaration { output: CommandResult::Text, ..print("[1]") };
    assert_eq!(run(text, json!({})).await.unwrap(), json!("[1]"));
}

#[tokio::test]
async fn a_program_that_fails_hangs_or_floods_is_ended_and_said() {
    fails(
        expect![[r#"Failed("it exited with 4: no luck")"#]],
        run(declared("x", &["sh", "-c", "echo no luck >&2; exit 4"]), json!({})).await,
    );
    fails(
        expect![[r#"Unusable("it was ended by signal 9")"#]],
        run(declared("x", &["sh", "-c", "kill -9 $$"]), json!({})).await,
    );
    fails(
        expect![[
            r#"UnusableResult { why: "the command printed more than 16 MB", help: "let it print less, or write to a file" }"#
        ]],
        run(declared("x", &["yes"]), json!({})).await,
    );
    let before = Instant::now();
    let slow =
        CommandToolDeclaration { time: Duration::from_millis(300), ..declared("x", &["sh", "-c", "sleep 50 & wait"]) };
    assert_eq!(run(slow, json!({})).await, Err(ToolError::Timeout));
    assert!(before.elapsed() < Duration::from_secs(30));
    fails(
        expect![[
            r#"Advised { why: "cannot start `no-such-program-17`: it was not found", help: "install the program, or fix `command` and `folder` in the settings" }"#
        ]],
        run(declared("x", &["no-such-program-17"]), json!({})).await,
    );
}

#[test]
fn a_declaration_that_cannot_work_is_refused() {
    let wrong = |change: fn(&mut CommandToolDeclaration), expected: Expect| {
        let mut tool = declared("x", &["ls", "{a}"]);
        change(&mut tool);
        expected.assert_eq(&CommandTool::new(tool).unwrap_err());
    };
    wrong(|tool| tool.program.command.clear(), expect!["a command needs a program"]);
    wrong(
        |tool| tool.program.command[0] = "{a}".to_owned(),
        expect!["the program must be a name or a path without placeholders"],
    );
    wrong(
        |tool| tool.parameters = Some(json!({"type": "object", "properties": {"b": {}}})),
        expect!["`{a}` is not one of the properties of `parameters`"],
    );
    wrong(
        |tool| tool.parameters = Some(json!({"a": "string"})),
        expect![[r#"`parameters` must be a JSON Schema with `type = "object"`"#]],
    );
    wrong(
        |tool| tool.parameters = Some(json!({"type": "object", "properties": {"a": {"type": "strng"}}})),
        expect![[
            r#"`parameters` is not a JSON Schema: "strng" is not valid under any of the schemas listed in the 'anyOf' keyword"#
        ]],
    );
}

/// A command whose start is not known yet when another one's strays are looked for is not one of them.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn commands_that_end_at_once_are_no_strays_of_each_other() {
    trefoil_tools::process::adopt_orphans();
    let all = (0..8).map(|_| {
        tokio::spawn(async {
            for _ in 0..200 {
                assert_eq!(run(declared("quick", &["echo", "1"]), json!({})).await, Ok(json!("1")));
            }
        })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap();
    }
}
