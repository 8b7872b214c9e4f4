//! `trefoil dev`: keys and prompts, and saves during a model call.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::dev::{Dev, world};
use crate::durable::{GATE, until};
use crate::edited::{FIRST, pipeline};
use crate::provider::Provider;
use crate::world::Folder;

#[test]
fn the_steps_to_run_again_from_are_those_of_the_files_as_they_are_now() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    let renamed = pipeline(&[FIRST[0], ("deux", "{{one}}", FIRST[1].2), ("three", "{{deux}}", FIRST[2].2)]);
    folder.write("main.yaml", renamed);
    let said = dev.turn();
    assert!(said.contains("3 results kept"), "{said}");
    dev.types("f");
    until("the prompt", || dev.seen().ends_with("(number or name)> "));
    let seen = dev.seen();
    let steps: Vec<&str> = seen.rsplit("q quit\n").next().unwrap().lines().collect();
    assert_eq!(steps[..steps.len() - 1], ["  1  one", "  2  deux", "  3  three"], "{seen}");
    dev.types("3");
    let said = dev.turn();
    assert_eq!(provider.asked().len(), 4, "{said}");
    dev.quits();
}

#[test]
fn a_prompt_can_be_cancelled_and_a_refused_line_leads_back_to_the_keys() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    for (key, line, said) in [
        ("f", "\u{1b}", "note: cancelled"),
        ("f", "none", "the run has no step `none`"),
        ("f", "one@3", "it has `one`"),
        ("f", "", ""),
        ("i", "\u{1b}", "note: cancelled"),
    ] {
        dev.types(key);
        until("the prompt", || dev.seen().ends_with("> "));
        dev.types(line);
        let seen = dev.turn();
        assert!(seen.contains(said), "{key} {line:?}: {seen}");
    }
    for (key, said) in [("a", "nothing waits for an answer"), ("y", "no step waits to be allowed")] {
        dev.types(key);
        let seen = dev.turn();
        assert!(seen.contains(said), "{seen}");
    }
    assert_eq!(provider.asked().len(), 3, "nothing has run");
    dev.quits();
}

#[test]
fn what_a_failed_turn_used_is_said_once() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = |command: &str| {
        GATE.replace("kind: Human\n      prompt: Ship it?", &format!("kind: System\n      command: {command}"))
    };
    folder.write("gate.yaml", flow("echo yes"));
    let mut dev = Dev::start(&folder, &provider, &["gate.yaml", "--allow-command", "--model", "embedded"]);
    folder.write("gate.yaml", flow("exit 3"));
    let said = dev.turn();
    assert!(said.contains("failed after") && !said.contains("spent: "), "{said}");
    dev.quits();
}

/// Answers that match the schema only once somebody has said so.
fn valid_later(request: &serde_json::Value) -> String {
    match request["response_format"].is_null() || IS_VALID.load(Ordering::SeqCst) {
        true => "{\"ok\": true}".to_owned(),
        false => "{}".to_owned(),
    }
}
static IS_VALID: AtomicBool = AtomicBool::new(false);

#[test]
fn a_key_tries_again_what_has_failed_and_a_save_of_something_else_does_not() {
    let (folder, provider) = (Folder::new(), Provider::that_writes(valid_later));
    let checked = "  - agent: { id: two, kind: llm, model: { provider: openai, name: m }, outputSchema: { ok: boolean }, instruction: I. }\n";
    let flow = |end: &str| format!("{}{checked}{end}", pipeline(&FIRST[..1]));
    folder.write("main.yaml", flow(""));
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    let asked = provider.asked().len();
    assert!(dev.seen().contains("STRUCTURED_OUTPUT_INVALID"), "{}", dev.seen());
    IS_VALID.store(true, Ordering::SeqCst);
    folder.write("main.yaml", flow("# A remark.\n"));
    let said = dev.turn();
    assert!(said.contains("failed after") && provider.asked().len() == asked, "{said}");
    dev.types("");
    let said = dev.turn();
    assert!(said.contains("up to date after") && said.contains("1 result kept"), "{said}");
    assert_eq!(provider.asked().len(), asked + 1, "{said}");
    dev.quits();
}

#[test]
fn a_run_of_earlier_files_is_not_called_up_to_date() {
    let (folder, provider) = world();
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    provider.wait_before_answers(std::time::Duration::from_secs(2));
    folder.write("main.yaml", pipeline(&[FIRST[0], FIRST[1], ("three", "{{two}}", "at last {{text}}")]));
    until("the call", || provider.asked().len() == 4);
    folder.write("main.yaml", "kind: [");
    let said = dev.turn();
    assert!(said.contains("with the earlier files") && !said.contains("up to date"), "{said}");
    dev.quits();
}

#[test]
fn a_call_that_the_save_does_not_change_is_awaited_and_kept() {
    let (folder, provider) = world();
    let slow = ("two", "{{one}}", "two slowly after {{text}}");
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    provider.wait_before_answers(std::time::Duration::from_secs(3));
    folder.write("main.yaml", pipeline(&[FIRST[0], slow, FIRST[2]]));
    until("the call", || provider.asked().len() == 4);
    folder.write("main.yaml", pipeline(&[FIRST[0], slow, ("three", "{{two}}", "at last {{text}}")]));
    until("the note", || dev.seen().contains("`two` is the same in the saved files"));
    let said = dev.turn();
    assert!(said.contains("2 results kept") && said.contains("1 model call made"), "{said}");
    assert_eq!(provider.asked()[3..], ["two slowly after say one", "at last two slowly after say one"]);
    dev.quits();
}

#[test]
fn a_call_that_is_awaited_is_stopped_by_a_save_that_changes_it_or_a_key() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let hangs = |last: &str| pipeline(&[("one", "x", "hang one"), ("two", "{{one}}", last)]);
    folder.write("main.yaml", pipeline(&[("one", "x", "say one"), ("two", "{{one}}", "two")]));
    let mut dev = Dev::start(&folder, &provider, &["main.yaml"]);
    let asked = |count| until("the call", || provider.asked().len() == count);
    let told = |dev: &Dev, count| {
        until("the note", || dev.seen().matches("`one` is the same in the saved files").count() == count)
    };
    folder.write("main.yaml", hangs("two b"));
    asked(3);
    folder.write("main.yaml", hangs("two c"));
    told(&dev, 1);
    // A file that does not load lets the run go on, and its correction holds it again.
    folder.write("main.yaml", "kind: [");
    until("the finding", || dev.seen().contains("continues with the earlier files"));
    folder.write("main.yaml", hangs("two d"));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(provider.asked().len(), 3, "{}", dev.seen());
    dev.types("x");
    asked(4);
    folder.write("main.yaml", hangs("two e"));
    told(&dev, 2);
    folder.write("main.yaml", pipeline(&[("one", "x", "said one"), ("two", "{{one}}", "two")]));
    let said = dev.turn();
    assert_eq!(provider.asked()[2..], ["hang one", "hang one", "said one"], "{said}");
    assert!(said.contains("1 result kept"), "`two` is known: {said}");
    dev.quits();
}
