//! System commands run by a real `sh` with hostile values: a value remains a single text, wherever its placeholder is.

use expect_test::expect;
use std::process::Command;

use trefoil_ir::{BoundTemplate, Source, StepKind, ValueExpression};
use trefoil_template::{MissingCause, SourceValue, Value, ValueScope};

use super::support::{Folder, check_one, load};

const HOSTILE: &[&str] = &[
    "plain",
    "",
    "two words",
    "  spaces around  ",
    "'; echo owned; '",
    "\"; echo owned; \"",
    "$(echo owned)",
    "`echo owned`",
    "$HOME ${PATH} $$ $1 $@",
    "a\nb\necho owned",
    "back\\slash \\n \\",
    "* ? [a-z] ~ {a,b}",
    "-n",
    "%s %d",
    "&& echo owned || true; # >/dev/null",
    "é世界🎉",
    "{{input.b}}",
    "'\"'\"'",
];

fn workflow(command: &str) -> String {
    let command = serde_json::Value::from(command);
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: shell }}\nspec:\n  initial_state: RUN\n  \
         states:\n    RUN:\n      kind: System\n      command: {command}\n      transitions: []\n"
    )
}

/// A scope that returns the start input for every slot.
struct Input<'a> {
    text: &'a BoundTemplate,
    input: Value,
}

impl ValueScope for Input<'_> {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        match &self.text.sources[source as usize] {
            Source::Slot(_) => SourceValue::Borrowed(&self.input),
            _ => SourceValue::Missing(MissingCause::Key(0)),
        }
    }
}

/// The script and the rendered parameters of the only command.
fn call(folder: &Folder, input: &Value) -> (String, Vec<String>) {
    let program = &folder.lowered.as_ref().expect("a program").program;
    let call = program.steps.iter().find_map(|s| match &s.kind {
        StepKind::Command(call) => Some(call),
        _ => None,
    });
    let call = call.expect("a command");
    let arguments = call.arguments.iter().map(|argument| match argument {
        ValueExpression::Template(text) => {
            let scope = Input { text, input: input.clone() };
            text.template.render_text(&scope).expect("renders").as_str().expect("text").to_owned()
        }
        other => panic!("not a template: {other:?}"),
    });
    (call.script.to_string(), arguments.collect())
}

fn run(command: &str, a: &str) -> String {
    let folder = load(&[("shell.yaml", &workflow(command))]);
    let input: Value = [("a", a), ("b", "unrelated")].into_iter().collect();
    let (script, arguments) = call(&folder, &input);
    let output = Command::new("sh").arg("-c").arg(&script).arg("trefoil").args(&arguments).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hostile_values_stay_one_piece_of_text() {
    // `<` marks where the value is expected in the output.
    let commands = [
        ("printf '%s|' {{input.a}}", "<|"),
        ("printf '%s|' x {{input.a}} y", "x|<|y|"),
        ("printf '%s|' pre{{input.a}}post", "pre<post|"),
        ("printf '%s|' --id={{input.a}}", "--id=<|"),
        ("printf '%s|' 'a {{input.a}} b'", "a < b|"),
        ("printf '%s|' \"a {{input.a}} b\"", "a < b|"),
        ("printf '%s|' 'a \"{{input.a}}\" b'", "a \"<\" b|"),
        ("printf '%s|' \"it's {{input.a}}\"", "it's <|"),
        ("printf '%s|' \"$(printf '%s.' {{input.a}})\"", "<.|"),
        ("printf '%s|' \"$(printf '%s.' \"{{input.a}}\")\"", "<.|"),
        ("X={{input.a}}; printf '%s|' \"$X\"", "<|"),
        ("(printf '%s|' {{input.a}}) # {{input.a}} is only a comment", "<|"),
        ("if test x = x; then printf '%s|' {{input.a}}; fi", "<|"),
        ("printf '%s|' {{{input.a}}} {{input.a}}", "<|<|"),
        ("for i in {{input.a}} z; do printf '%s|' \"$i\"; done", "<|z|"),
        ("case {{input.a}} in *) printf '%s|' {{input.a}};; esac", "<|"),
        ("printf '%s|' a\\ {{input.a}}", "a <|"),
        ("printf '%s|' \\{{ {{input.a}}", "{{|<|"),
    ];
    for (command, expected) in commands {
        for value in HOSTILE {
            assert_eq!(run(command, value), expected.replace('<', value), "{command} with {value:?}");
        }
    }
}

#[test]
fn a_block_that_renders_to_nothing_is_no_word() {
    let command = "printf '%s|' a {{#if input.a}}--verbose{{/if}} b";
    assert_eq!(run(command, "yes"), "a|--verbose|b|");
    assert_eq!(run(command, ""), "a|b|");
    assert_eq!(run("printf '%s|' \"a{{#if input.a}} and more{{/if}}\"", "yes"), "a and more|");
    assert_eq!(run("printf '%s|' {{#if input.a}}{{input.a}}{{else}}none{{/if}}", "a b;c"), "a b;c|");
}

#[test]
fn a_command_without_placeholders_is_left_alone() {
    assert_eq!(run("f() { printf '%s|' \"$1\"; }; set -- a b; f \"$2\"; printf '%s' \"$#\"", "x"), "b|2");
    assert_eq!(run("cat <<EOF\n$((1 + 2))\nEOF\n", "x"), "3\n");
}

#[test]
fn a_placeholder_that_a_shell_would_read_as_code_is_an_error_where_it_stands() {
    let manifest = "\
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: shell }
spec:
  initial_state: RUN
  states:
    RUN:
      kind: System
      command: |
        set -e
        sh -c 'echo {{input.a}}'
        echo $(( {{input.n}} + 1 ))
      transitions: []
";
    check_one(
        manifest,
        expect![[r#"
            error 11:21 unsafe-placeholder: a placeholder is not allowed in text that a shell parses again as code (put the value in `env`, and write "$NAME" in the command)
            error 12:18 unsafe-placeholder: a placeholder is not allowed in shell arithmetic, which evaluates its value as code (put the value in `env`, and write "$NAME" in the command)
        "#]],
    );
}

#[test]
fn a_block_around_shell_syntax_is_an_error() {
    check_one(
        &workflow("run {{#if input.x}}--flag value{{/if}}"),
        expect![[r#"
            error 9:21 unsafe-placeholder: a block is not allowed around shell syntax (put the value in `env`, and write "$NAME" in the command)
        "#]],
    );
}

#[test]
fn a_program_that_the_input_names_is_an_error() {
    check_one(
        &workflow("{{input.command}}"),
        expect![[r#"
            error 9:17 command-from-data: the run's input decides which program runs (write the program's name here, and pass the value as an argument or in `env`)
        "#]],
    );
}

#[test]
fn a_program_named_by_other_data_is_a_warning() {
    check_one(
        &workflow("{{blackboard.command}} now"),
        expect![[r#"
            warning 9:17 command-from-data: data decides which program runs (the value is used as the name of one program, without arguments)
        "#]],
    );
}

#[test]
fn a_plain_echo_and_update_blackboard_need_no_shell() {
    for command in ["echo", "echo 'done: {{input.a}}'", "update_blackboard"] {
        let folder = load(&[("shell.yaml", &workflow(command))]);
        let program = &folder.lowered.as_ref().unwrap().program;
        assert!(!program.steps.iter().any(|s| matches!(s.kind, StepKind::Command(_))), "{command}");
    }
}
