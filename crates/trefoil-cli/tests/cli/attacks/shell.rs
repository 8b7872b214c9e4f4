//! Data that tries to be code: values in every position of a command, run by a real shell.

use crate::world::Folder;

/// Values that do harm if they are parsed as more than one word. `CANARY` is a file that must not be created.
const VALUES: [&str; 12] = [
    "; touch CANARY;",
    "$(touch CANARY)",
    "`touch CANARY`",
    "\n touch CANARY\n",
    "| touch CANARY",
    "& touch CANARY &",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "') ; touch CANARY; ('",
    "${IFS}$(touch${IFS}CANARY)",
    "a[$(touch CANARY)]",
    "> CANARY",
];

/// Commands with a value in every allowed position. They only print it.
const POSITIONS: [&str; 16] = [
    "printf '%s' {{input.x}}",
    "printf '%s' \"a {{input.x}} b\"",
    "printf '%s' 'a {{input.x}} b'",
    "printf '%s' --id={{input.x}}",
    "printf '%s' \"$(printf '%s' {{input.x}})\"",
    "printf '%s' $(printf '%s' \"{{input.x}}\")",
    "true && printf '%s' {{input.x}}; true # {{input.x}}",
    "A={{input.x}} printenv A || true",
    "if [ {{input.x}} = y ]; then true; else printf '%s' no; fi",
    "case {{input.x}} in y) true ;; *) printf '%s' no ;; esac",
    "for w in {{input.x}} b; do printf '%s' \"$w\"; done",
    "(printf '%s' {{input.x}})",
    "printf '%s' {{#if input.x}}{{input.x}}{{/if}}",
    "printf '%s' \"$X\"",
    "printf '%s' \"costs ${{input.x}}\"",
    "printf '%s' {{input.x}} 2>&1",
];

/// Commands in which a shell, or a program that it starts, would parse the value as code. None of them may start.
const REFUSED: [&str; 25] = [
    "eval {{input.x}}",
    "eval \"printf {{input.x}}\"",
    "sh -c 'printf {{input.x}}'",
    "sh -c \"{{input.x}}\"",
    "printf '%s' `printf {{input.x}}`",
    "printf '%s' $(( {{input.x}} + 1 ))",
    "printf '%s' ${A:-{{input.x}}}",
    "printf '%s' $[ {{input.x}} + 1 ]",
    "printf '%s' $(( $1 + 1 )) {{input.x}}",
    "printf '%s' \"`printf $1`\" {{input.x}}",
    "sh 2>/dev/null -c {{input.x}}",
    "sh 2>&1 -c {{input.x}}",
    "cat <<EOF\\n{{input.x}}\\nEOF",
    "(( {{input.x}} > 1 )) && true",
    "[[ {{input.x}} -eq 3 ]] && true",
    "let n={{input.x}}",
    "declare -i n={{input.x}}",
    "[ -v {{input.x}} ]",
    "python3 -c \"print('{{input.x}}')\"",
    "f() { printf '%s' {{input.x}}; }; f",
    "set -- a; printf '%s' {{input.x}}",
    "sh -c 'eval \"$X\"'",
    "E=eval; $E \"$X\"",
    "printf '%s' \"$X\" | sh",
    "((X > 1)) && true",
];

fn flow(folder: &Folder, command: &str) {
    // Written as JSON, which is valid YAML, so the command needs no other quoting.
    let command = serde_json::Value::from(command.replace("\\n", "\n"));
    folder.write(
        "w.yaml",
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: RUN\n  states:\n    RUN: {{ kind: System, env: {{ X: \"{{{{input.x}}}}\" }}, command: {command} }}\n"
        ),
    );
}

fn run(folder: &Folder, value: &str) -> crate::world::Ran {
    let input = serde_json::json!({ "x": value }).to_string();
    folder.trefoil(&["run", "w.yaml", "--allow-command", "--input-json", &input, "--model", "embedded", "-q"])
}

#[test]
fn a_command_that_would_read_a_value_as_code_does_not_start() {
    let folder = Folder::new();
    for command in REFUSED {
        flow(&folder, command);
        run(&folder, "touch CANARY").silent(2);
        assert!(!folder.path().join("CANARY").exists(), "`{command}`");
    }
}

#[test]
fn a_value_that_names_a_program_is_told_before_anything_runs() {
    let folder = Folder::new();
    for command in ["find . -exec \"$X\" {} +", "timeout 5 {{input.x}}"] {
        flow(&folder, command);
        let checked = folder.trefoil(&["check", "w.yaml"]);
        let said = format!("{}{}", checked.out, checked.err);
        assert!(
            said.contains("warning[untrusted-command]") && said.contains("which program runs"),
            "{command}: {said}"
        );
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn no_value_in_any_position_runs_a_command() {
        let folder = Folder::new();
        for command in POSITIONS {
            flow(&folder, command);
            for value in VALUES {
                let ran = run(&folder, value);
                assert!(!ran.err.contains("panicked"), "{}", ran.err);
                assert!(!folder.path().join("CANARY").exists(), "`{command}` with `{value}`");
            }
            // The value arrives unchanged and was not split.
            if command.starts_with("printf '%s' {{input.x}}") {
                assert_eq!(run(&folder, "a  b;c").exits(0).out.trim_end(), "a  b;c");
            }
            if command.contains("costs") {
                assert_eq!(run(&folder, "5").exits(0).out.trim_end(), "costs $5");
            }
        }
    }
}
