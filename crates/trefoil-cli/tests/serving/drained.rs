//! A server is told to stop while its runs call something.

use std::time::Duration;

use serde_json::json;

use crate::http::Request;
use crate::scene::{Scene, chain, eventually};

/// How long a call takes here: longer than it takes to be told to stop.
const CALL: Duration = Duration::from_secs(3);

/// A command, and then another one.
const COMMANDS: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: commands, version: \"1.0.0\" }\nspec:\n  initial_state: SLOW\n  states:\n    SLOW: { kind: System, command: \"echo began >> began; sleep 3; echo done >> done\", transitions: [{ condition: always, target: LAST }] }\n    LAST: { kind: System, command: \"echo last >> last\" }\n";

#[test]
fn a_call_in_progress_ends_and_is_paid_once_also_beside_another_server() {
    let scene = Scene::new();
    let (mut server, other) = (scene.serve(&[]), scene.serve(&[]));
    scene.provider.wait_before_answers(CALL);
    let run = server.start(&chain("a"));
    eventually("nothing is called", || scene.provider.asked().len() == 1);
    server.terminate();
    eventually("nobody is told that it stops", || {
        let ready = Request::get("/ready").send(server.address);
        matches!(ready, Ok(reply) if reply.status == 503)
    });
    server.post("/api/v1/runs", &chain("b")).fails(503, "STOPPING");
    assert!(server.wait_exit(), "{}", scene.log());
    scene.provider.wait_before_answers(Duration::ZERO);
    let ended = other.until(&run, "completed");
    assert_eq!(ended["usage"]["unknown_calls"], json!(null), "{ended}");
    let mut asked = scene.provider.asked_by_now();
    assert_eq!(asked.len(), 3, "{asked:?}");
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), 3, "{asked:?}");
}

#[test]
fn a_command_in_progress_ends_by_itself_and_is_not_taken_for_one_that_failed() {
    for drain in ["60", "0"] {
        let scene = Scene::new();
        scene.folder.write("flows/commands.yaml", COMMANDS);
        let mut server = scene.serve(&["--allow-command", "--drain", drain]);
        let run = server.start(&json!({ "flow": "commands", "input": {} }));
        let began = format!("{}/began", scene.folder.path().display());
        eventually("the command does not begin", || std::fs::exists(&began).unwrap());
        server.terminate();
        assert!(server.wait_exit(), "{}", scene.log());
        let lines = |name: &str| {
            let text = std::fs::read_to_string(scene.folder.path().join(name)).unwrap_or_default();
            text.lines().count()
        };
        let events = scene.say(&["runs", "events", &run]);
        assert!(!events.contains("137"), "{events}");
        if drain == "60" {
            assert_eq!(lines("done"), 1, "{events}");
        }
        assert_eq!(lines("last"), 0, "{events}");
    }
}
