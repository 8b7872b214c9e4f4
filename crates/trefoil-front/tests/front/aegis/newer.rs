//! Keys and states of version 1.2.0-beta: what runs, what is refused by name, what has no effect.

use expect_test::expect;
use serde_json::json;

use super::support::{END, agent, load, of_agent, of_workflow};
use super::world::World;

#[test]
fn an_action_state_updates_the_blackboard() {
    let ended = World::new(
        "  initial_state: NOTE\n  states:\n    NOTE: { kind: Action, action: update_blackboard, args: { count: \"3\", who: \"{{input.name}}\", list: [1, 2] }, transitions: [{ condition: on_success, target: SAY }] }\n    SAY: { kind: System, command: \"echo {{blackboard.count}} {{who}} {{list}}\", transitions: [] }\n",
        &[],
    )
    .run(json!({ "name": "Ada" }), |_, _, _| Ok(String::new()));
    assert_eq!(ended.text(), "3 Ada [1,2]\n");
}

#[test]
fn other_actions_are_refused_by_name() {
    for action in ["repository_diff", "tree_read", "archive_create", "image_generate", "drift_report"] {
        let text = super::support::workflow(&format!(
            "    A: {{ kind: Action, action: {action}, args: {{ path: x }}, transitions: [{{ condition: always, target: END }}] }}\n{END}"
        ));
        let folder = load(&[("w.yaml", &text)]);
        let found: Vec<_> = folder.diagnostics.into_sorted().into_iter().map(|d| (d.rule, d.message)).collect();
        let message = format!("the action `{action}` is not supported yet: it needs an AEGIS server");
        assert_eq!(found, [("refused", message)]);
        assert!(folder.lowered.is_some(), "it can be drawn");
    }
    of_workflow(
        "    A: { kind: Action, action: update_blackbord, args: { a: 1 }, transitions: [{ condition: always, target: END }] }\n    B: { kind: Action, action: update_blackboard, transitions: [{ condition: always, target: END }] }\n",
        expect![[r#"
            error 7:32 unknown-value: `action` cannot be `update_blackbord` (did you mean `update_blackboard`? available: `update_blackboard`) {fix: "update_blackboard"}
            warning 8:32 no-effect: `update_blackboard` has no effect: `args` is empty (put the keys and their values under `args`)
        "#]],
    );
}

#[test]
fn what_changes_the_meaning_of_success_is_refused_and_the_rest_has_no_effect() {
    of_agent(
        "  contexts: [{ service: calendar, required: true }]\n  repositories: [{ name: r }]\n  program: { path: run.py }\n  execution: { done_when: { new_files: [a.txt] }, outputs: [{ path: a.txt, min_bytes: 1, magic: PNG }], require_tool_call: true, max_tool_calls: 3 }\n",
        expect![[r#"
            info 7:3 no-effect: `contexts` has no effect: the agent is not connected to any service
            warning 8:3 refused: `repositories` is not supported yet: the agent has no repository of an AEGIS server (you can check and draw this file, but not run it)
            warning 9:3 refused: `program` is not supported yet: the agent runs as a model call, not as a program (you can check and draw this file, but not run it)
            warning 10:16 refused: `done_when` is not supported yet: the agent has no files (you can check and draw this file, but not run it)
            warning 10:51 refused: `outputs` is not supported yet: the agent has no files (you can check and draw this file, but not run it)
            warning 10:105 no-effect: `require_tool_call` has no effect: the agent has no tools
            warning 10:146 no-effect: `max_tool_calls` has no effect: the agent has no tools
        "#]],
    );
    // Its names can be read where there are repositories.
    let text = agent("a", "  repositories: [{ name: r }]\n")
        .replace("instruction: Work.", "instruction: Work., prompt_template: '{{repository.url}}'");
    let found = load(&[("a.yaml", &text)]).diagnostics.into_sorted();
    let rules: Vec<_> = found.iter().map(|d| d.rule).collect();
    assert!(rules.contains(&"refused") && !rules.contains(&"unresolved-name"), "{rules:?}");
}
