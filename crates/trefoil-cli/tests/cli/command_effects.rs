//! Commands of AEGIS states that change something elsewhere are found like tools: with text from a model, and in states that are entered
//! again.

use crate::world::Folder;

/// A model writes a text, and a command gets it. `again`: where the command leads if it fails.
fn flow(command: &str, again: &str) -> String {
    let head = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: flow, version: \"1.0.0\" }\nspec:\n  initial_state: WRITE\n  states:\n";
    let write = "    WRITE:\n      kind: Agent\n      agent: writer\n      input: \"{{workflow.task}}\"\n      transitions: [{ condition: always, target: SEND }]\n";
    let send = format!(
        "    SEND:\n      kind: System\n      command: {command}\n      transitions:\n        - {{ condition: exit_code_zero, target: DONE }}\n        - {{ condition: exit_code_non_zero, target: {again} }}\n"
    );
    let end = "    DONE:\n      kind: System\n      command: echo done\n";
    format!("{head}{write}{send}{end}")
}

/// The findings of both rules, each with its line and message.
fn found(command: &str, again: &str) -> Vec<String> {
    let folder = Folder::new();
    folder.write(
        "writer.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: writer, version: \"1.0.0\" }\nspec:\n  \
         runtime: { model: \"openai:gpt-5.4\" }\n  task: { instruction: Write. }\n",
    );
    folder.write("flow.yaml", flow(command, again));
    let checked = folder.trefoil(&["check", "flow.yaml", "--format", "json"]).json();
    let rules = ["repeated-write", "unreviewed-write"];
    let found = checked["diagnostics"].as_array().unwrap_or_else(|| panic!("{checked}")).iter();
    let found = found.filter(|one| rules.contains(&one["rule"].as_str().unwrap_or_default()));
    let told = |one: &serde_json::Value| {
        assert!(one["help"].is_string(), "{one}");
        format!("{}: {}", one["line"], one["message"].as_str().unwrap_or_default())
    };
    found.map(told).collect()
}

#[test]
fn a_command_that_sends_a_model_s_text_is_said() {
    let with = "with text from a model's answer, and no person reviews it first";
    for (command, said) in [
        ("curl -d \"{{WRITE.output}}\" https://example.com/x", Some("this sends a POST request")),
        (
            "gh issue create --title News --body \"{{WRITE.output}}\"",
            Some("this runs `gh issue create`, which changes something,"),
        ),
        ("echo \"{{WRITE.output}}\" | mail a@example.com", Some("this runs `mail`, which changes something,")),
        ("curl -G -d \"q={{WRITE.output}}\" https://example.com/x", None),
        ("echo \"{{WRITE.output}}\" > news.txt", None),
        ("curl -d \"{{workflow.task}}\" https://example.com/x", None),
    ] {
        let all = found(&format!("'{command}'"), "DONE");
        assert_eq!(all, said.map(|said| format!("14: {said} {with}")).into_iter().collect::<Vec<_>>(), "{command}");
    }
}

#[test]
fn a_command_in_a_state_that_is_entered_again_is_said_if_it_changes_something_each_time() {
    for (command, said) in [
        ("curl -X POST https://example.com/x", Some("this POST request")),
        ("gh pr comment 5 --body Hi", Some("this call of `gh pr comment`")),
        ("git push origin main", None),
        ("cargo test", None),
    ] {
        let all = found(command, "WRITE");
        let again = "may be made again each time that `SEND` is entered again";
        assert_eq!(all, said.map(|said| format!("12: {said} {again}")).into_iter().collect::<Vec<_>>(), "{command}");
        assert_eq!(found(command, "DONE"), [""; 0], "{command}");
    }
}
