//! Edits and forks as users make them: what a new run reads is as from scratch, and nothing is done twice unasked.
#![cfg(unix)]

use crate::durable::{command, only, signal, trefoil, until};
use crate::edited::{newest, pipeline};
use crate::provider::Provider;
use crate::world::{Folder, wait};

fn begun(text: &str, args: &[&str]) -> (Folder, Provider, String) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("w.yaml", text);
    let args = [["run", "w.yaml", "--allow-command"].as_slice(), args].concat();
    trefoil(&folder, &provider, &args);
    let run = only(&folder, &provider);
    (folder, provider, run)
}

/// A workflow with these states.
fn states(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: A\n  \
         states:\n{states}"
    )
}

fn lines(folder: &Folder, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_prompt_and_a_condition_that_read_the_budget_are_as_from_scratch() {
    let text = "version: \"0.1\"\nbudget: { max_tokens: 50000 }\nagents:\n  a: { model: \"openai:m\", system: A }\n  \
                b: { model: \"openai:m\", system: \"B after {{ _budget.total_tokens }} tokens\" }\nnodes:\n  \
                x: { agent: a, writes: working.x }\n  y: { agent: b, writes: output.y }\nedges:\n  \
                - { from: x, to: y, when: \"_budget.total_tokens > 5\" }\ninput: { message: hi }\n";
    let (folder, provider, run) = begun(text, &[]);
    assert_eq!(provider.asked().len(), 2);
    let dry = trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml", "--dry-run"]);
    assert_eq!(dry.exits(0).out, format!("2 of run {run} would be kept\n"));
    trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml", "--explain"]).exits(0).says(&["  kept  y\n"]);
    trefoil(&folder, &provider, &["runs", "fork", &newest(&folder, &provider)]).exits(0).says(&["no calls made"]);
    assert_eq!(provider.asked().len(), 2);
    trefoil(&folder, &provider, &["replay", &newest(&folder, &provider)]).exits(0);
}

#[test]
fn a_fork_skips_the_nodes_that_the_run_has_skipped() {
    let text = "version: \"0.1\"\nbudget: { max_calls: 1, on_exceeded: skip_remaining }\nagents:\n  \
                a: { model: \"openai:m\", system: A }\n  b: { model: \"openai:m\", system: B }\n  \
                c: { model: \"openai:m\", system: C }\nnodes:\n  x: { agent: a, writes: output.x }\n  \
                y: { agent: b, writes: output.y }\n  z: { agent: c, writes: output.z }\nedges:\n  \
                - { from: x, to: y }\n  - { from: y, to: z }\ninput: { message: hi }\n";
    let (folder, provider, run) = begun(text, &[]);
    let before = provider.asked().len();
    let fork = trefoil(&folder, &provider, &["runs", "fork", &run]);
    assert!(!fork.exits(0).json().as_object().unwrap().contains_key("z"), "{}", fork.out);
    assert_eq!((before, provider.asked().len()), (2, 2));
}

#[test]
fn later_steps_see_the_execution_id_that_earlier_ones_have_used() {
    let text = |b: &str| {
        states(&format!(
            "    A: {{ kind: System, command: \"echo {{{{execution.id}}}} >> log\", transitions: [{{ condition: always, target: B }}] }}\n    \
             B: {{ kind: System, command: \"{b} >> log\" }}\n"
        ))
    };
    let (folder, provider, run) = begun(&text("echo b"), &[]);
    trefoil(&folder, &provider, &["runs", "fork", &run, "--allow-command"]).exits(0);
    folder.write("w.yaml", text("echo b {{execution.id}}"));
    let fork = newest(&folder, &provider);
    let edited = ["resume", &fork, "--with", "w.yaml", "--allow-command", "--rerun", "B"];
    trefoil(&folder, &provider, &edited).exits(0).says(&["1 result of run", "1 command run"]);
    assert_eq!(lines(&folder, "log"), [run.clone(), "b".to_owned(), format!("b {run}")]);
    trefoil(&folder, &provider, &["replay", &newest(&folder, &provider)]).exits(0);
    trefoil(&folder, &provider, &["run", "w.yaml", "--allow-command"]).exits(0);
    assert_eq!(lines(&folder, "log").last(), Some(&format!("b {}", newest(&folder, &provider))));
}

#[test]
fn an_answer_that_is_not_accepted_any_more_is_requested_again_and_that_is_said() {
    let text = |first: &str| {
        states(&format!(
            "    A:\n      kind: Human\n      prompt: \"Which?\"\n      transitions:\n        - {{ {first}, target: GO }}\n        \
             - {{ condition: input_equals_no, target: STOP }}\n    GO: {{ kind: System, command: \"echo go\" }}\n    \
             STOP: {{ kind: System, command: \"echo stop\" }}\n"
        ))
    };
    let (folder, provider, run) = begun(&text("condition: input_equals_yes"), &["--answer", "A=yes"]);
    folder.write("w.yaml", text("condition: custom, expression: \"human.feedback\""));
    let edited = ["resume", &run, "--with", "w.yaml", "--allow-command", "--explain"];
    trefoil(&folder, &provider, &edited).exits(75).says(&[
        " again  A@1  the accepted answers changed\n",
        "0 results of run",
        "1 question asked",
    ]);
}

#[test]
fn a_command_that_was_renamed_and_changed_waits_for_permission() {
    let text = |name: &str, word: &str| {
        states(&format!("    {name}: {{ kind: System, command: \"echo {word} > state; echo {word} >> log\" }}\n"))
            .replace("initial_state: A", &format!("initial_state: {name}"))
    };
    let (folder, provider, run) = begun(&text("A", "v1"), &[]);
    folder.write("w.yaml", text("B", "v2"));
    let stopped = trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml", "--allow-command", "--explain"]);
    stopped.exits(75).says(&[
        "`A@1` of the earlier run is gone, and this may be the same step, which may not be safe to run again",
        " stops  B@1 (was A@1)  script, ",
        " --rerun B@1 --allow-command\n",
    ]);
    let new = newest(&folder, &provider);
    trefoil(&folder, &provider, &["resume", &new, "--allow-command", "--rerun", "B"]).exits(0);
    // What was run last is `B`: the result of `A` does not hold any more.
    folder.write("w.yaml", text("A", "v1"));
    let back = ["resume", &new, "--with", "w.yaml", "--allow-command"];
    trefoil(&folder, &provider, &back).exits(75).says(&["WOULD_REPEAT", "--rerun A"]);
    assert_eq!((lines(&folder, "log"), lines(&folder, "state")), (vec!["v1".into(), "v2".into()], vec!["v2".into()]));
}

#[test]
fn a_step_that_was_renamed_and_changed_is_explained() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder
        .write("main.yaml", pipeline(&[("one", "x", "say one"), ("two", "x", "say two"), ("three", "x", "say three")]));
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let run = only(&folder, &provider);
    folder
        .write("main.yaml", pipeline(&[("one", "x", "say one"), ("zwei", "x", "say well two"), ("new", "x", "other")]));
    let edited = trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--explain"]);
    edited.exits(0).says(&[
        "  kept  one\n",
        " again  zwei (was two)   user message, main.yaml:19: say {+well+} two\n",
        " again  new (was three)  user message, main.yaml:27: [-say three-]{+other+}\n",
    ]);
    assert!(!edited.err.contains("unused"), "{}", edited.err);
}

#[test]
fn a_fork_of_a_failed_run_repeats_the_step_that_failed() {
    let text = states(
        "    A: { kind: System, command: \"echo a >> log\", transitions: [{ condition: always, target: B }] }\n    \
         B: { kind: System, command: \"echo b >> log; test -f ok\", transitions: [{ condition: exit_code_zero, target: C }] }\n    \
         C: { kind: System, command: \"echo c >> log\" }\n",
    );
    let (folder, provider, run) = begun(&text, &[]);
    folder.write("ok", "");
    let fork = trefoil(&folder, &provider, &["runs", "fork", &run, "--allow-command", "--explain"]);
    fork.exits(0).says(&["  kept  A@1\n", " again  B@1  it failed before: NO_TRANSITION\n"]);
    assert_eq!(lines(&folder, "log"), ["a", "b", "b", "c"]);
}

#[test]
fn a_run_in_progress_is_not_edited_or_forked() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let steps = |second: &'static str| pipeline(&[("one", "x", "say one"), ("two", "x", second)]);
    folder.write("main.yaml", steps("hang"));
    let child = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    let run = only(&folder, &provider);
    folder.write("main.yaml", steps("say two"));
    for args in [["resume", run.as_str(), "--with", "main.yaml"].as_slice(), &["runs", "fork", &run]] {
        let refused = trefoil(&folder, &provider, args);
        refused.exits(2).says(&["is in progress in another process", "trefoil runs cancel"]);
    }
    assert_eq!(only(&folder, &provider), run);
    signal(&child, "-KILL");
    wait(child);
    provider.hang(false);
    let edited = trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml"]);
    edited
        .exits(0)
        .says(&[&format!("note: run {run} has not ended (interrupted)"), &format!("`trefoil runs cancel {run}")]);
}

#[test]
fn a_tool_that_a_model_calls_at_another_place_of_its_turn_is_not_called_again_unasked() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let settings = |parameter: &str| {
        let tool = |name: &str, parameter: &str| {
            format!("[tools.{name}]\ncommand = [\"sh\", \"-c\", \"echo {name} $0 >> sent\", \"{{{parameter}}}\"]\n")
        };
        folder.write("trefoil.toml", tool("notify", parameter) + &tool("pay", "text"));
        trefoil(&folder, &provider, &["trust", "."]).exits(0);
    };
    let agent = |tools: &str| {
        let model = "model: { provider: openai, name: m }\ninstruction: I.\nprompt: go";
        folder
            .write("w.yaml", format!("id: ag\nkind: llm\n{model}\ntools:\n  - {{ kind: local, tools: [{tools}] }}\n"));
    };
    settings("text");
    agent("notify, pay");
    trefoil(&folder, &provider, &["run", "w.yaml"]).exits(0);
    let run = only(&folder, &provider);
    // The provider calls each tool once in each of two turns, in the order in which they are offered.
    let sent = lines(&folder, "sent").len();
    assert_eq!(sent, 4);
    settings("words");
    agent("pay, notify");
    let edited = trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml"]);
    edited.exits(75).says(&["WOULD_REPEAT", "notify"]);
    assert_eq!(lines(&folder, "sent").len(), sent);
}
