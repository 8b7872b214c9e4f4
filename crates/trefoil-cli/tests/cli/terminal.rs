//! `trefoil run` on a terminal: questions, the final picture, the end.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::flow_tools::calling_twice;
pub use crate::pty::Screen;
use crate::world::Folder;

const GATE: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate, version: \"1.0.0\" }\nspec:\n  \
    initial_state: DRAFT\n  states:\n    DRAFT:\n      kind: System\n      command: echo \"About {{workflow.task}}\"\n      transitions:\n        \
    - { condition: always, target: APPROVE }\n    APPROVE:\n      kind: Human\n      prompt: Ship it?\n      timeout: 24h\n      transitions:\n        \
    - { condition: input_equals_yes, target: DONE }\n        - { condition: input_equals_no, target: DONE }\n    DONE:\n      \
    kind: System\n      command: echo shipped\n      transitions: []\n";

#[test]
fn a_question_leaves_on_the_screen_what_ran_before_it() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let args = ["run", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "tea"];
    let screen = Screen::new(&folder, &args, 90);
    screen.waits_for("(yes/no)> ");
    let before = screen.seen();
    // A fast machine draws one frame, a slow one several; only the last one matters.
    let question = before.rsplit("✓ DRAFT").next().expect("what ran before");
    assert!(question.contains("Ship it?") && question.contains("24 h to answer"), "{before}");
    screen.types("maybe\n").waits_for("\"maybe\" is not one of the answers: yes, no.");
    screen.waits_for_nth("(yes/no)> ", 2).types("\n").waits_for("Please type an answer: yes, no.");
    screen.waits_for_nth("(yes/no)> ", 3).types("yes\n");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let after = seen.rsplit("(yes/no)> ").next().unwrap();
    assert!(after.contains("✓ APPROVE") && after.contains("shipped"), "{after}");
    assert!(!after.contains("DRAFT") && !seen.contains("transition"), "{seen}");
}

#[test]
fn what_a_guardrail_changed_and_warnings_stay_below_the_tree() {
    let folder = Folder::new();
    folder.write(
        "pii.yaml",
        "version: \"0.1\"\nguardrails: [{ name: pii }]\nagents:\n  a: { model: \"openai:m\", system: You look. }\n\
         nodes:\n  one: { agent: a, writes: output.said }\nedges: []\ninput: { message: it }\n",
    );
    let (code, seen) =
        Screen::new(&folder, &["run", "pii.yaml", "--model", "embedded", "--input", "mail ann@example.com"], 90).ends();
    assert_eq!(code, 0, "{seen}");
    let last = seen.rsplit("✓ one").next().unwrap();
    assert!(last.contains("! pii changed: personal data in the input: `email`"), "{seen}");
    folder.write("calls.yaml", "id: calls\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Go.\nspawnable: [{ kind: inline, definition: { id: helper, kind: llm, model: { provider: openai, name: m }, instruction: Help. } }]\n");
    folder.write("s.yaml", "answers:\n  calls:\n    - calls: [{ name: nothing, arguments: {} }]\n    - done\n");
    let (code, seen) =
        Screen::new(&folder, &["run", "calls.yaml", "--model", "scripted=s.yaml", "--input", "x"], 90).ends();
    assert_eq!(code, 0, "{seen}");
    let last = seen.rsplit("✓ calls").next().unwrap();
    assert!(last.contains("! calls: the model called `nothing`: there is no such tool"), "{seen}");
}

#[test]
fn a_question_that_nobody_answers_in_time_stays_as_it_was_asked() {
    let folder = Folder::new();
    let late = "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Ship it?\", timeout: 1, on_timeout: use_default, \
                default_output: \"no\", writes: output.ok }\n";
    folder.write("late.yaml", late);
    let (code, seen) = Screen::new(&folder, &["run", "late.yaml", "--model", "embedded", "-i", "x"], 90).ends();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("1 s to answer, then it is: no") && seen.contains("[no]> \r\n"), "{seen:?}");
}

#[test]
fn an_answer_of_the_command_line_that_was_refused_leaves_the_question_to_the_person() {
    let folder = Folder::new();
    // The answers that match a `custom` condition are not known in advance.
    let open = GATE.replace(
        "condition: input_equals_yes",
        "condition: custom, expression: \"{{DRAFT.output}} == {{APPROVE.response}}\"",
    );
    folder.write("gate.yaml", open);
    let args = [
        "run",
        "gate.yaml",
        "--allow-command",
        "--no-check",
        "--model",
        "embedded",
        "-i",
        "tea",
        "--answer",
        "APPROVE=maybe",
    ];
    let screen = Screen::new(&folder, &args, 90);
    screen.waits_for("Ship it?").waits_for("maybe").waits_for("> ").types("no\n");
    let (code, seen) = screen.ends();
    assert_eq!((code, seen.matches("Ship it?").count()), (0, 1), "{seen}");
}

#[test]
fn a_question_of_a_called_flow_says_which_call_asks() {
    let folder = calling_twice();
    let args = ["run", "flows/two.yaml", "--model", "scripted=script.yaml", "--answer", "one/ok=yes"];
    let config = folder.path().join("config");
    let screen = Screen::with(&folder, &args, 90, &[("TREFOIL_CONFIG_DIR", config.to_str().unwrap())]);
    screen.waits_for("both/other/ok").waits_for("Ship tea?").waits_for("> ").types("yes\n");
    let (code, seen) = screen.ends();
    assert!(code == 0 && !seen.contains("both/one/ok"), "{code}: {seen}");
}

#[test]
fn the_end_of_input_is_no_answer_and_the_run_waits() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let args = ["run", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "tea", "--store", "runs.db"];
    let screen = Screen::with(&folder, &args, 90, &[("TREFOIL_EPHEMERAL", "false")]);
    screen.waits_for("> ").types("\u{4}");
    let (code, seen) = screen.ends();
    assert!(code == 75 && seen.contains("trefoil runs answer"), "{code}: {seen}");
}

#[test]
fn inputs_are_asked_for_and_what_is_required_says_so() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let needs = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { type: object, required: [topic], \
                 properties: { topic: { type: string } } }\ninstruction: \"About {{topic}}\"\n";
    folder.write("a.yaml", needs);
    let screen = Screen::new(&folder, &["run", "a.yaml", "--model", "embedded"], 90);
    screen.waits_for("topic").waits_for("> ").types("\n").waits_for("topic is required");
    screen.waits_for_nth("> ", 2).types("\u{4}");
    let (code, seen) = screen.ends();
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("the input `topic` is missing") && seen.contains("--input topic=..."), "{seen}");
    // A missing text is requested if something reads it.
    let args = ["run", "gate.yaml", "--allow-command", "--model", "embedded", "--answer", "APPROVE=yes"];
    let screen = Screen::new(&folder, &args, 90);
    screen.waits_for("task").waits_for("> ").types("tea\n");
    let (code, seen) = screen.ends();
    assert!(code == 0 && seen.contains("About tea"), "{seen}");
}

#[test]
fn failed_items_are_listed_in_full_and_items_that_went_well_are_counted() {
    let folder = Folder::new();
    let each = "version: \"0.1\"\nagents: { a: { system: s, model: \"openai:m\" } }\nnodes:\n  f: { type: factory, agent: a, \
                for_each: \"{{ inputs.list }}\", on_failure: continue, writes: output.f }\ninput: { message: hi, list: LIST }\n";
    let list: Vec<String> = (0..25).map(|n| format!("city{n}")).collect();
    folder.write("a.yaml", each.replace("LIST", &format!("[{}]", list.join(", "))));
    let why = "this is a long error that no row of a narrow tree has enough room for, to its very end";
    let failed = format!("{{error: {{status: 400, message: {why:?}}}}}");
    let answers: Vec<&str> = (0..25).map(|n| if n == 3 || n == 7 { failed.as_str() } else { "fine" }).collect();
    folder.write("s.yaml", format!("answers:\n  f: [{}]\n", answers.join(", ")));
    let (code, seen) = Screen::new(&folder, &["run", "a.yaml", "--model", "scripted=s.yaml"], 60).ends();
    assert_eq!(code, 0, "{seen}");
    let last = seen.rsplit("\u{1b}[?2026h").next().unwrap();
    assert!(
        last.contains("… 23 items done") && last.contains("✗ 4/25 city3") && !last.contains("3/25 city2"),
        "{last}"
    );
    let plain: String = last.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(last.contains("(a.yaml:4:"), "{last}");
    assert!(
        plain.replace("\u{1b}[K", "").contains("row of a narrow tree has enough room for, to its very end"),
        "{last}"
    );
}

#[test]
fn after_a_failure_what_did_not_run_shows() {
    let folder = Folder::new();
    folder.write(
        "gate.yaml",
        GATE.replace("echo \"About {{workflow.task}}\"", "exit 3")
            .replace("condition: always", "condition: on_success"),
    );
    let args = ["run", "gate.yaml", "--allow-command", "--model", "embedded", "--answer", "APPROVE=yes", "-i", "x"];
    let (code, seen) = Screen::with(&folder, &args, 100, &[("LC_ALL", "C")]).ends();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains(". APPROVE  did not run"), "{seen}");
}

#[test]
fn single_keys_drive_the_loop_and_the_terminal_is_left_as_it_was() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let store = folder.path().join("runs.db");
    let args = ["dev", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "tea"];
    let screen = Screen::with(&folder, &args, 90, &[("TREFOIL_STORE", store.to_str().unwrap())]);
    let before = rustix::termios::tcgetattr(&screen.keys).unwrap();
    screen.waits_for("press").types("a").waits_for("(yes/no) > ").types("yes\n");
    screen.waits_for("shipped").waits_for_nth("press", 2).types("q");
    let keys = screen.keys.try_clone().unwrap();
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let after = rustix::termios::tcgetattr(&keys).unwrap();
    assert_eq!(after.local_modes, before.local_modes, "lines and echo");
    assert!(!seen.contains("WOULD_REPEAT"), "{seen}");
}

#[test]
fn esc_cancels_a_prompt_at_once_and_the_line_can_be_edited() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let store = folder.path().join("runs.db");
    let args = ["dev", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "tea"];
    let screen = Screen::with(&folder, &args, 90, &[("TREFOIL_STORE", store.to_str().unwrap())]);
    screen.waits_for("press").types("a").waits_for("(yes/no) > ").types("ye\u{1b}");
    screen.waits_for("note: cancelled").waits_for_nth("press", 2);
    screen.types("a").waits_for_nth("(yes/no) > ", 2).types("no\u{7f}\u{7f}yes\r");
    screen.waits_for("shipped").waits_for_nth("press", 3).types("i").waits_for("key=value)> ").types("\u{1b}");
    screen.waits_for_nth("note: cancelled", 2).waits_for_nth("press", 4).types("q");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
}

#[test]
fn ctrl_c_ends_the_loop_and_says_how_to_continue() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let store = folder.path().join("runs.db");
    let args = ["dev", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "tea"];
    let screen = Screen::with(&folder, &args, 90, &[("TREFOIL_STORE", store.to_str().unwrap())]);
    screen.waits_for("press");
    assert!(
        std::process::Command::new("kill").args(["-INT", &screen.child.id().to_string()]).status().unwrap().success()
    );
    let (code, seen) = screen.ends();
    assert_eq!(code, 130, "{seen}");
    assert!(seen.contains("to continue: trefoil resume"), "{seen}");
}

/// A run that was stopped at a question can be answered later: the question is the last thing on the screen.
#[test]
fn ctrl_c_at_a_question_says_what_was_asked_and_how_to_answer_it() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let store = folder.path().join("runs.db");
    let args = ["run", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "tea"];
    let mut command = folder.command(&args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", store).env("NO_COLOR", "1");
    let screen = Screen::of(command, 90);
    screen.waits_for("(yes/no)");
    crate::durable::signal(&screen.child, "-INT");
    let (code, seen) = screen.ends();
    let end = seen.split("interrupted").last().unwrap();
    let at = |part: &str| end.find(part).unwrap_or_else(|| panic!("no `{part}` in {seen}"));
    assert!(code == 130 && at("waiting: `") < at("trefoil runs answer "), "{seen}");
    assert!(at(" yes") < at("to continue: trefoil resume"), "{seen}");
}

fn vault(folder: &Folder, args: &[&str]) -> Command {
    let mut command = folder.command(&[&["secrets"], args].concat());
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command
}

#[test]
fn a_pasted_text_of_several_lines_is_not_stored_as_a_secret() {
    let folder = Folder::new();
    for pasted in ["-----BEGIN KEY-----\nMIIB\n-----END KEY-----\n", "first\nsecond"] {
        let screen = Screen::of(vault(&folder, &["set", "PEM"]), 90);
        // The prompt comes before the terminal stops showing what is typed, and drops what was typed until then.
        screen.waits_for("not shown while you type");
        std::thread::sleep(Duration::from_millis(500));
        screen.types(pasted);
        let (code, seen) = screen.ends();
        assert_eq!(code, 2, "{seen}");
        assert!(seen.contains("several lines") && seen.contains("trefoil secrets set PEM < FILE"), "{seen}");
        assert!(!seen.contains("MIIB") && !seen.contains("second"), "{seen}");
        assert_eq!(crate::world::finish(vault(&folder, &["list"])).exits(0).out, "");
    }
    let screen = Screen::of(vault(&folder, &["set", "ONE"]), 90);
    screen.waits_for("not shown while you type");
    std::thread::sleep(Duration::from_millis(500));
    screen.types("a single line\n");
    let (code, seen) = screen.ends();
    assert!(code == 0 && seen.contains("kept in") && !seen.contains("single"), "{seen}");
}

#[test]
fn a_passphrase_is_asked_at_the_terminal_if_the_value_comes_from_a_pipe() {
    let folder = Folder::new();
    for (args, said) in [(&["set", "ONE"][..], "1"), (&["passphrase"], "correct horse")] {
        let mut command = vault(&folder, args);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
        crate::world::wait(child).exits(0);
    }
    // A session with this terminal.
    let mut command = Command::new("setsid");
    let script = format!("printf two | '{}' secrets set TWO; echo code $?", env!("CARGO_BIN_EXE_trefoil"));
    command.args(["--ctty", "--wait", "sh", "-c", &script]).current_dir(folder.path());
    crate::world::bare(&mut command);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    let screen = Screen::of(command, 90);
    screen.waits_for("passphrase of");
    std::thread::sleep(Duration::from_millis(500));
    screen.types("correct horse\n");
    let (_, seen) = screen.ends();
    assert!(seen.contains("kept in") && seen.contains("code 0"), "{seen}");
    assert_eq!(crate::world::finish(vault(&folder, &["list"])).exits(0).out, "ONE\nTWO\n");
}
