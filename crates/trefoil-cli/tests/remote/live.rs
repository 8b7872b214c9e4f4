//! Runs of a server that are followed on a terminal.

use std::time::Duration;

use crate::pty::Screen;
use crate::scene::{Scene, command_after, run_id, until};
use crate::world::wait;

/// What is on the screen after the last line with this text.
fn after_last<'s>(seen: &'s str, text: &str) -> &'s str {
    seen.rsplit(text).next().unwrap()
}

fn on_terminal(scene: &Scene, args: &[&str]) -> Screen {
    let mut command = scene.client(args);
    command.env("NO_COLOR", "1");
    Screen::of(command, 100)
}

#[test]
fn a_question_is_asked_in_place() {
    let scene = Scene::start();
    let screen = on_terminal(&scene, &["run", "publish"]);
    screen.waits_for("go to print?").waits_for("> ").types("\n");
    screen.waits_for("Please type an answer").waits_for_nth("> ", 2).types("yes\n");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("publish draft for print because yes"), "{seen}");
    assert_eq!(scene.provider.asked().len(), 2);
    // Who answered is the client of the server, and the run is not asked again.
    let shown = scene.remote(&["runs", "show", "last"]);
    assert!(shown.exits(0).out.contains("answered approve: yes (by local, "), "{}", shown.out);
}

#[test]
fn a_question_that_somebody_else_answers_does_not_wait_here() {
    let scene = Scene::start();
    let screen = on_terminal(&scene, &["run", "publish"]);
    screen.waits_for("go to print?").waits_for("> ");
    scene.remote(&["runs", "answer", "last", "approve", "yes"]).exits(0);
    let (code, seen) = screen.ends();
    assert!(code == 0 && seen.contains("publish draft for print because yes"), "{code}: {seen}");
}

#[test]
fn the_end_of_input_leaves_the_question_open() {
    let scene = Scene::start();
    let screen = on_terminal(&scene, &["run", "publish"]);
    screen.waits_for("go to print?").waits_for("> ").types("\u{4}");
    let (code, seen) = screen.ends();
    assert!(code == 75 && after_last(&seen, "go to print?").contains("trefoil runs answer"), "{code}: {seen}");
    // It is asked again where the run is resumed.
    let screen = on_terminal(&scene, &["resume", "last"]);
    screen.waits_for("go to print?").waits_for("> ").types("yes\n");
    assert_eq!(screen.ends().0, 0);
}

#[test]
fn what_was_seen_of_a_run_that_goes_on_is_said() {
    let scene = Scene::start();
    scene.provider.wait_before_answers(Duration::from_secs(3));
    let screen = on_terminal(&scene, &["run", "pair", "-i", "text=tea"]);
    until("the second call", || scene.provider.asked().len() == 2);
    std::thread::sleep(Duration::from_millis(500));
    screen.interrupt();
    let (code, seen) = screen.ends();
    assert_eq!(code, 130, "{seen}");
    let last = after_last(&seen, "✓ hello");
    assert!(last.contains("10 tokens in, 3 out") && last.contains(" so far"), "{seen}");
    assert!(last.contains("… second") && !last.contains("? second"), "{seen}");
}

#[test]
fn what_was_seen_is_said_without_a_terminal_as_well() {
    let mut scene = Scene::start();
    scene.provider.wait_before_answers(Duration::from_secs(3));
    let child = scene.client(&["run", "pair", "-i", "text=tea"]).spawn().unwrap();
    until("the second call", || scene.provider.asked().len() == 2);
    std::thread::sleep(Duration::from_millis(500));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    wait(child).exits(130).says(&["10 tokens in, 3 out", " so far"]);
    scene.kill_server();
}

#[test]
fn a_resumed_run_shows_what_was_before_then_what_is_new() {
    let mut scene = Scene::without_models();
    let failed = scene.remote(&["run", "pair", "-i", "text=tea"]);
    let resume = command_after(failed.exits(1), "to continue: ");
    let run = run_id(&failed);
    assert!(resume.contains(&run), "{resume}");
    scene.restart_server();
    let screen = on_terminal(&scene, &["resume", &run]);
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let last = after_last(&seen, "pair  openai:m");
    let at = |text: &str| last.find(text).unwrap_or_else(|| panic!("no `{text}` in {last}"));
    assert!(at("✗ hello") < at("resumed"), "{last}");
    assert!(at("resumed") < at("✓ hello") && at("✓ hello") < at("✓ second"), "{last}");
    // These ran just now.
    assert!(!last.contains("kept"), "{last}");
    // In lines, too.
    let mut scene = Scene::without_models();
    let failed = scene.remote(&["run", "pair", "-i", "text=tea"]);
    let run = run_id(failed.exits(1));
    scene.restart_server();
    let resumed = scene.remote(&["resume", &run]);
    assert!(!resumed.exits(0).err.contains("kept"), "{}", resumed.err);
    resumed.says(&["resumed", "second"]);
}
