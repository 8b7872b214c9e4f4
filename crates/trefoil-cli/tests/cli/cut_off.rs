//! Answers that were cut off because their process ended: the received part is kept as evidence of what was paid for.

use std::process::Child;

use serde_json::json;

use crate::durable::{command, only, signal, trefoil, until};
use crate::provider::Provider;
use crate::world::{Folder, wait};

/// An answer whose words all arrive, but not its end.
const SAID: &str = "these words arrive and stall";

fn stalled(folder: &Folder, provider: &Provider, more: &[&str]) -> Child {
    folder.write(
        "flow.yaml",
        format!(
            "version: \"0.1\"\nagents:\n  long: {{ model: \"openai:m\", system: \"{SAID}\" }}\nnodes:\n  \
             tell: {{ agent: long, streaming: true, writes: output.tell }}\nedges: []\ninput:\n  message: go\n"
        ),
    );
    command(folder, provider, &[&["run", "flow.yaml"], more].concat()).spawn().unwrap()
}

fn arrived(folder: &Folder, provider: &Provider) -> serde_json::Value {
    let run = only(folder, provider);
    trefoil(folder, provider, &["runs", "show", &run, "--output", "json"]).json()["arrived"].take()
}

#[test]
fn a_run_that_was_killed_or_interrupted_has_what_had_arrived() {
    for how in ["-KILL", "-INT"] {
        let provider = Provider::start();
        let folder = Folder::new();
        let child = stalled(&folder, &provider, &[]);
        until("the question", || provider.asked().len() == 1);
        until("the store", || folder.path().join("runs.db").exists());
        let expected = json!([{ "key": "tell", "text": SAID }]);
        if how == "-KILL" {
            until("what has arrived", || arrived(&folder, &provider) == expected);
        } else {
            // The draft is written at once, not only after a second.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        signal(&child, how);
        wait(child);
        assert_eq!(arrived(&folder, &provider), expected, "{how}");
        let run = only(&folder, &provider);
        let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
        assert!(shown.exits(0).out.contains("answer   28 characters received for `tell`"), "{shown:?}");
        trefoil(&folder, &provider, &["store", "check"]).exits(0);

        provider.hang(false);
        let resumed = trefoil(&folder, &provider, &["resume", &run, "--trace", "t.json"]);
        resumed.exits(0).says(&["⊘ tell  28 characters received", "✓ tell "]);
        assert_eq!(arrived(&folder, &provider), json!(null), "its place is in the journal now");
        let told = trefoil(&folder, &provider, &["runs", "events", &run]).lines();
        let stopped: Vec<_> = told.iter().filter(|event| event["event"] == "model_stopped").collect();
        assert_eq!((stopped.len(), &stopped[0]["partial"]), (1, &json!(SAID)));
        let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
        let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
        assert_eq!(trace["steps"][0]["calls"][0]["partial"], json!(SAID), "{trace}");
        trefoil(&folder, &provider, &["store", "check"]).exits(0);
    }
}

#[test]
fn without_content_nothing_of_a_cut_off_answer_is_kept() {
    let provider = Provider::start();
    let folder = Folder::new();
    let child = stalled(&folder, &provider, &["--no-content"]);
    until("the question", || provider.asked().len() == 1);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    signal(&child, "-INT");
    wait(child);
    assert_eq!(arrived(&folder, &provider), json!(null));
    provider.hang(false);
    let run = only(&folder, &provider);
    let resumed = trefoil(&folder, &provider, &["resume", &run]);
    assert!(!resumed.exits(0).err.contains("characters received"), "{resumed:?}");
}
