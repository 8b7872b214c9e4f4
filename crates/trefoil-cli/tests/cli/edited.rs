//! Runs of an edited file that reuse results of an earlier run; the provider counts the calls.
#![cfg(unix)]

use crate::durable::{command, only, signal, trefoil, until};
use crate::provider::Provider;
use crate::world::{Folder, wait};

/// A pipeline of steps, each with a name, an input and a prompt.
pub fn pipeline(steps: &[(&str, &str, &str)]) -> String {
    let mut text = "id: main\nkind: sequential\nsteps:\n".to_owned();
    for (name, given, prompt) in steps {
        let agent = format!(
            "  - input: {{ text: '{given}' }}\n    agent:\n      id: {name}\n      kind: llm\n      model: {{ provider: openai, name: m }}\n"
        );
        text.push_str(&agent);
        text.push_str("      inputSchema: { text: string }\n      instruction: I.\n");
        text.push_str(&format!("      prompt: '{prompt}'\n"));
    }
    text
}

pub const FIRST: &[(&str, &str, &str)] =
    &[("one", "x", "say one"), ("two", "{{one}}", "two after {{text}}"), ("three", "{{two}}", "three after {{text}}")];

/// A run of such a pipeline. The provider's record of requests is cleared.
fn begun() -> (Folder, Provider, String, usize) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let (run, asked) = (only(&folder, &provider), provider.asked().len());
    assert_eq!(asked, 3);
    (folder, provider, run, asked)
}

#[test]
fn only_what_an_edit_changes_is_asked_again() {
    let (folder, provider, run, before) = begun();
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml", "--explain"]);
    ran.exits(0).says(&[
        "✓ one  kept\n",
        "  kept  one\n",
        " again  two    user message, edited.yaml:19: two {+well+} after say one\n",
        " again  three  user message, the result of `two` at edited.yaml:20: three after two {+well+} after say one\n",
        "note: 1 result of run",
        " reused (saved 13 tokens, $?), 2 model calls made",
    ]);
    assert_eq!(provider.asked()[before..], ["two well after say one", "three after two well after say one"]);
    // The new run is complete in itself: its journal can be read and names the results that it reused.
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let new = all["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_ne!(new, run);
    // Its events contain that, too.
    let events = trefoil(&folder, &provider, &["runs", "events", &new]).lines();
    let finished: Vec<_> = events.iter().filter(|event| event["event"] == "model_finished").collect();
    let from: Vec<_> = finished.iter().map(|event| event["reused_from"]["run"].as_str()).collect();
    assert_eq!(from, [Some(run.as_str()), None, None]);
    assert_eq!(finished[0]["reused_from"]["usage"]["input_tokens"], 10);
    let shown = trefoil(&folder, &provider, &["runs", "show", &new]);
    assert_eq!(shown.exits(0).out.matches("kept  say one").count(), 1, "{}", shown.out);
    let exported = trefoil(&folder, &provider, &["runs", "export", &new]).exits(0).out.clone();
    assert!(exported.contains(&format!("\"basis\":{{\"run\":\"{run}\"")), "{exported}");
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn a_step_with_another_name_keeps_its_result() {
    let (folder, provider, run, before) = begun();
    let steps = [("uno", "x", "say one"), ("two", "{{uno}}", "two after {{text}}"), FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml"]);
    ran.exits(0).says(&["`uno` keeps its result: it was renamed from `one`", "3 results of run"]);
    assert_eq!(provider.asked().len(), before, "nothing is asked again");
}

#[test]
fn a_person_is_not_asked_again_because_the_step_has_another_name() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let flow = include_str!("../crash/manifests/human.yaml").replace("{{ env.SECRET_WORD }}", "print");
    folder.write("main.yaml", &flow);
    trefoil(&folder, &provider, &["run", "main.yaml", "--answer", "approve=yes"]).exits(0);
    let (mut run, before) = (only(&folder, &provider), provider.asked().len());
    let prompt = "May {{ draft.output }} go";
    for (name, was) in [("review", "approve"), ("release", "review")] {
        folder.write("edited.yaml", flow.replace("approve", name));
        let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml"]);
        ran.exits(0)
            .says(&[&format!("✓ {name}  kept"), &format!("`{name}` keeps its result: it was renamed from `{was}`")]);
        run = newest(&folder, &provider);
        trefoil(&folder, &provider, &["replay", &run]).exits(0);
    }
    // The question is different.
    folder.write("edited.yaml", flow.replace("approve", "permit").replace(prompt, "Shall {{ draft.output }} go"));
    trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml"]).exits(75);
    assert_eq!(provider.asked().len(), before, "no model is asked again");
}

#[test]
fn what_is_compared_by_its_name_only_is_said() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let flow =
        "id: main\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: 'In {{env.TONGUE}}.'\nprompt: P.\n";
    folder.write("main.yaml", flow);
    let ran = |tongue: &str, args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TONGUE", tongue);
        crate::world::finish(command)
    };
    ran("English", &["run", "main.yaml"]).exits(0);
    let run = only(&folder, &provider);
    let by_name = "reused without comparing the value of `env.TONGUE`; if it has changed, ";
    let again = ran("German", &["resume", &run, "--with", "main.yaml"]);
    again.exits(0).says(&[by_name, "run its steps again with `--from STEP`"]);
    ran("German", &["run", "main.yaml", "--reuse"]).exits(0).says(&[by_name, "run without `--reuse`"]);
    assert_eq!(provider.asked().len(), 1);
}

#[test]
fn from_a_step_on_everything_is_done_again() {
    let (folder, provider, run, before) = begun();
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--from", "two", "--explain"]);
    ran.exits(0).says(&["  kept  one\n", " again  two    it was selected to run again\n"]);
    assert_eq!(provider.asked()[before..], ["two after say one", "three after two after say one"]);
    let unknown = trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--from", "tow"]);
    unknown.exits(2).says(&["the run has no step `tow`", "did you mean `two`? Its steps are `one`, `two`, `three`"]);
    assert_eq!(provider.asked().len(), before + 2, "nothing was asked for that");
}

/// A dry run of an edited file, without a key: the exit code and the output.
fn would(folder: &Folder, provider: &Provider, run: &str, more: &[&str]) -> (i32, String) {
    let mut args = vec!["resume", run, "--with", "main.yaml", "--dry-run"];
    args.extend(more);
    let mut command = command(folder, provider, &args);
    command.env_remove("OPENAI_API_KEY").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    let ran = crate::world::finish(command);
    (ran.code, ran.out)
}

#[test]
fn what_would_be_done_from_a_step_on_is_all_of_it() {
    let (folder, provider, run, before) = begun();
    let (code, out) = would(&folder, &provider, &run, &["--from", "two"]);
    assert_eq!(code, 1, "{out}");
    for part in
        [" again  two  it was selected to run again\n", " later  three: depends on the new results\n", "1 of run"]
    {
        assert!(out.contains(part), "no `{part}` in {out}");
    }
    // A removed step does not count as a step that would run.
    folder.write("main.yaml", pipeline(&FIRST[..2]));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert_eq!((code, out), (0, format!("unused  three\n2 of run {run} would be kept\n")));
    assert_eq!(provider.asked().len(), before, "nothing was called");
}

#[test]
fn what_would_be_done_lists_new_steps_and_says_before_what_the_run_may_stop() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("config/config.toml", "[tools.note]\ncommand = [\"cat\"]\n");
    let model = "kind: llm, model: { provider: openai, name: m }, instruction: I.";
    let flow = |prompt: &str, more: &str| {
        format!(
            "id: main\nkind: sequential\nsteps:\n  - agent: {{ id: a, {model}, prompt: {prompt} }}\n  - input: {{ x: '{{{{a}}}}' }}\n    \
             agent: {{ id: send, kind: tool, tool: {{ kind: local, name: note, params: {{ text: '{{{{x}}}}' }} }} }}\n{more}"
        )
    };
    folder.write("main.yaml", flow("go", ""));
    let configured = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        crate::world::finish(command)
    };
    configured(&["run", "main.yaml", "--input", "a text"]).exits(0);
    let run = only(&folder, &provider);
    let more = format!("  - agent: {{ id: d, {model}, prompt: new }}\n");
    folder.write("main.yaml", flow("went", &more));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert_eq!(code, 1, "{out}");
    for part in [
        " later  send: depends on the new results; if its request changes, the run may stop before it until `--rerun` allows it\n",
        " later  d: depends on the new results; it is new\n",
    ] {
        assert!(out.contains(part), "no `{part}` in {out}");
    }
    // A run that does not start has no id.
    folder.write(
        "main.yaml",
        flow("go", "").replace("kind: sequential\n", "kind: sequential\ninputSchema: { topic: string }\n"),
    );
    let refused = configured(&["resume", &run, "--with", "main.yaml"]);
    refused.exits(2).says(&["input-invalid"]);
    assert!(!refused.err.lines().any(|line| line.starts_with("run ")), "{}", refused.err);
}

/// A run of edited files has the models of these files: the printed command keeps those that were chosen.
#[test]
fn a_command_for_an_edit_keeps_the_models_that_were_chosen() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(&FIRST[..2]));
    let fails = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("OPENAI_BASE_URL", provider.address().replace("/v1", "/nowhere"));
        let ran = crate::world::finish(command);
        ran.exits(1);
        let next = ran.err.lines().filter(|line| line.contains(": trefoil "));
        let next: Vec<String> = next.map(|line| line.split(" --store").next().unwrap().to_owned()).collect();
        next
    };
    let next = fails(&["run", "main.yaml", "--model", "one=openai:n", "--model", "two=openai:o"]);
    let run = only(&folder, &provider);
    let offered = [
        format!("after an edit: trefoil resume {run} --with main.yaml --model one=openai:n --model two=openai:o"),
        format!("with another model: trefoil runs fork {run} --model two=openai:o --model one=PROVIDER:NAME"),
        format!("unchanged: trefoil resume {run}"),
    ];
    assert_eq!(next, offered);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]).exits(0).out.clone();
    assert!(offered.iter().all(|line| shown.contains(line)), "{shown}");
    // A fork has them without being told, and a run of the file does not.
    let chosen = " --model one=openai:n --model two=openai:o";
    assert!(fails(&["runs", "fork", &run])[0].ends_with(chosen));
    assert!(!fails(&["resume", &run, "--with", "main.yaml"])[0].contains("--model"));
}

/// The earlier run did not come to the step that was edited.
#[test]
fn what_would_be_done_lists_an_edited_step_that_has_not_run() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    let mut fails = command(&folder, &provider, &["run", "main.yaml"]);
    fails.env("OPENAI_BASE_URL", provider.address().replace("/v1", "/nowhere"));
    crate::world::finish(fails).exits(1);
    let run = only(&folder, &provider);
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert!(code == 1 && out.contains(" again  one  it failed before") && !out.contains("three"), "{out}");
    folder.write("main.yaml", pipeline(&[FIRST[0], FIRST[1], ("three", "{{two}}", "another {{text}}")]));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains(" later  three: depends on the new results; it was changed\n"), "{out}");
    assert!(!out.contains("two"), "{out}");
}

#[test]
fn what_would_be_done_is_known_for_the_models_that_are_chosen() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(&FIRST[..1]));
    let chosen = ["--model", "one=openai:n"];
    trefoil(&folder, &provider, &["run", "main.yaml", "--model", "one=openai:n"]).exits(0);
    let run = only(&folder, &provider);
    assert_eq!(would(&folder, &provider, &run, &chosen), (0, format!("1 of run {run} would be kept\n")));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert!(code == 1 && out.contains("`openai:m`, was `openai:n`"), "{out}");
    folder.write("config/config.toml", "[models]\none = \"openai:n\"\n");
    assert_eq!(would(&folder, &provider, &run, &[]), (0, format!("1 of run {run} would be kept\n")));
    assert_eq!(provider.asked().len(), 1, "nothing was called");
}

#[test]
fn what_would_be_done_is_known_for_agents_with_tools() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let flow = "id: main\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: P.\n\
                tools: [{ kind: local, tools: [note] }]\n";
    folder.write("main.yaml", flow).write("config/config.toml", "[tools.note]\ncommand = [\"echo\", \"a note\"]\n");
    let mut first = command(&folder, &provider, &["run", "main.yaml"]);
    first.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    crate::world::finish(first).exits(0);
    let run = only(&folder, &provider);
    // Each turn of the model, and the tool call between two of them.
    let turns = provider.asked().len();
    assert!(turns > 1, "the tool was called");
    assert_eq!(would(&folder, &provider, &run, &[]), (0, format!("{} of run {run} would be kept\n", 2 * turns - 1)));
    folder.write("main.yaml", flow.replace("P.", "Q."));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert!(code == 1 && out.contains(" again  ") && out.contains("0 of run"), "{out}");
    assert_eq!(provider.asked().len(), turns, "nothing was called");
    // When it is done, it is said what was done.
    let mut again =
        command(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--from", "main", "--rerun", "main"]);
    again.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    crate::world::finish(again)
        .exits(0)
        .says(&["0 results of run", &format!("{turns} model calls and {} tool calls made", turns - 1)]);
}

#[test]
fn what_would_be_done_is_known_for_an_agent_that_lost_a_tool() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let flow = |tools: &str| {
        format!(
            "id: main\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: P.\n\
             tools: [{{ kind: local, tools: [{tools}] }}]\n"
        )
    };
    let tool = |name: &str| format!("[tools.{name}]\ncommand = [\"echo\", \"a {name}\"]\n");
    let config = [tool("note"), tool("memo"), tool("other")].concat();
    folder.write("main.yaml", flow("note, memo")).write("config/config.toml", config);
    let mut first = command(&folder, &provider, &["run", "main.yaml"]);
    first.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    crate::world::finish(first).exits(0);
    let (run, turns) = (only(&folder, &provider), provider.asked().len());
    folder.write("main.yaml", flow("memo"));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert!(code == 1 && out.starts_with(" again  main@1  tool `note`: not set, was "), "{out}");
    // What was never described is not known, and nobody is asked.
    folder.write("main.yaml", flow("note, other"));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert!(code == 1 && !out.contains(" again ") && out.contains(" later  main@1"), "{out}");
    assert_eq!(provider.asked().len(), turns, "nothing was called");
}

#[test]
fn what_would_be_done_is_known_with_the_variables_of_an_environment_file() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let flow = |of: &str| {
        format!(
            "version: \"0.1\"\nenv_file: vars.env\nagents:\n  a: {{ model: \"openai:m\", system: \"{of} {{{{ env.PLACE }}}}.\" }}\nnodes:\n  n: {{ agent: a, writes: output.n }}\n"
        )
    };
    folder.write("main.yaml", flow("In")).write("vars.env", "PLACE=here\n");
    trefoil(&folder, &provider, &["run", "main.yaml", "--input", "x"]).exits(0);
    let run = only(&folder, &provider);
    assert_eq!(would(&folder, &provider, &run, &[]), (0, format!("1 of run {run} would be kept\n")));
    folder.write("main.yaml", flow("Near"));
    let (code, out) = would(&folder, &provider, &run, &[]);
    assert!(code == 1 && out.contains("[-In-]{+Near+}"), "{out}");
}

#[test]
fn placeholders_are_not_taken_for_answers() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "main.yaml", "--model", "embedded"]).exits(0);
    let run = only(&folder, &provider);
    trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml"]).exits(0).says(&["3 results of run"]);
    trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--model", "openai:m"]).exits(0);
    assert_eq!(provider.asked().len(), 3, "a model is asked for each of them");
}

/// Changes texts in the store, as an attacker might.
fn forge(folder: &Folder, before: &str, after: &str) {
    let path = folder.path().join("runs.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(before.as_bytes())).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at..at + after.len()].copy_from_slice(after.as_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// The newest run.
pub fn newest(folder: &Folder, provider: &Provider) -> String {
    let all = trefoil(folder, provider, &["runs", "list", "--output", "json"]).json();
    all["runs"][0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_journal_is_verified_with_what_it_says_of_the_run_before() {
    let (folder, provider, run, before) = begun();
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml", "-q"]).exits(0);
    let new = newest(&folder, &provider);
    // The files may have changed meanwhile; the run keeps its own.
    folder.write("edited.yaml", "nothing");
    folder.write("main.yaml", "nothing");
    let verified = trefoil(&folder, &provider, &["replay", &new]);
    verified.exits(0);
    for line in
        [&format!("run       {new}\n"), "3 results", &format!("kept      1 result of run {run}\n"), "verified  "]
    {
        assert!(verified.out.contains(line), "{line}: {verified:?}");
    }
    let json = trefoil(&folder, &provider, &["replay", &new, "--output", "json"]).json();
    assert_eq!((&json["verified"], &json["kept"][&run], &json["ended"]), (&true.into(), &1.into(), &true.into()));
    trefoil(&folder, &provider, &["replay", &run]).exits(0);
    // Someone changes a model's answer in both runs; the next prompt reveals that.
    forge(&folder, "\"say one\"", "\"say won\"");
    let forged = trefoil(&folder, &provider, &["replay", &new, "--output", "json"]);
    assert_eq!(forged.code, 1);
    let differences = &forged.json()["differences"];
    assert_eq!((&differences[0]["key"], &differences[0]["what"]), (&"two".into(), &"content".into()), "{differences}");
    let text = trefoil(&folder, &provider, &["replay", &new]);
    assert!(text.code == 1 && text.out.contains("differs   content: ") && text.out.contains("failed    "), "{text:?}");
    forge(&folder, "\"say won\"", "\"say one\"");
    trefoil(&folder, &provider, &["replay", &new]).exits(0);
    let deleted = trefoil(&folder, &provider, &["runs", "delete", &run]);
    deleted.exits(0).says(&[&format!("run {new} reused results of it")]);
    let gone = trefoil(&folder, &provider, &["replay", &new]);
    let unchecked = format!("unchecked 1 result of run {run}, which was deleted");
    assert!(gone.exits(0).out.contains(&unchecked), "{gone:?}");
    let json = trefoil(&folder, &provider, &["replay", &new, "--output", "json"]).json();
    assert_eq!((&json["verified"], &json["unchecked"][&run]), (&true.into(), &1.into()), "{json}");
    assert_eq!(provider.asked().len(), before + 2, "nothing was asked for that");
}

#[test]
fn a_fork_keeps_what_is_complete_and_asks_again_from_a_step_on() {
    let (folder, provider, run, before) = begun();
    // The fork uses the files of the run, not the current ones.
    folder.write("main.yaml", pipeline(&[("one", "x", "say something else")]));
    let all = trefoil(&folder, &provider, &["runs", "fork", &run]);
    all.exits(0).says(&["3 results of run", "no calls made"]);
    assert_eq!(all.out, "three after two after say one\n");
    assert_eq!(provider.asked().len(), before);
    let some = trefoil(&folder, &provider, &["runs", "fork", &run, "--from", "two", "--explain"]);
    some.exits(0).says(&[" kept  one", "again  two", "again  three", "2 model calls made"]);
    assert_eq!(provider.asked()[before..], ["two after say one", "three after two after say one"]);
    trefoil(&folder, &provider, &["replay", &newest(&folder, &provider)]).exits(0);
    trefoil(&folder, &provider, &["runs", "fork", &run, "--from", "tow"]).exits(2).says(&["the run has no step `tow`"]);
    let fork = format!("use `trefoil runs fork {run} --from two`");
    trefoil(&folder, &provider, &["resume", &run, "--from", "two"]).silent(2).says(&["--with FILE", &fork]);
    let apart = trefoil(&folder, &provider, &["run", "main.yaml", "--reuse", &run]);
    apart.silent(2).says(&[&format!("write `--reuse={run}`")]);
}

const ARTICLE: &str = "id: article
kind: sequential
steps:
  - agent:
      id: research
      kind: llm
      model: { provider: openai, name: m, temperature: 0.25 }
      instruction: |
        You are careful.
        List facts.
      prompt: Research tides.
  - input: { notes: '{{research}}' }
    agent:
      id: draft
      kind: llm
      model: { provider: openai, name: m }
      inputSchema: { notes: string }
      instruction: Write.
      prompt: 'Use these notes: {{notes}}'
  - input: { text: '{{draft}}' }
    agent:
      id: review
      kind: llm
      model: { provider: openai, name: m }
      inputSchema: { text: string }
      instruction: Judge.
      prompt: 'Rate this, whatever it is about: {{text}}'
";

/// The lines about steps in the output of `--explain` for an edit.
#[track_caller]
fn explained(folder: &Folder, provider: &Provider, run: &str, before: &str, after: &str) -> String {
    assert_eq!(ARTICLE.matches(before).count(), 1, "{before}");
    folder.write("e.yaml", ARTICLE.replace(before, after));
    let ran = trefoil(folder, provider, &["resume", run, "--with", "e.yaml", "--explain"]);
    let is = |line: &&str| {
        let first = line.split_whitespace().next();
        line.starts_with("     ") && first == Some("user") || matches!(first, Some("kept" | "again" | "new" | "unused"))
    };
    ran.exits(0).err.lines().filter(is).map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_sort_of_edit_is_explained_by_what_it_changed() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", ARTICLE);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let run = only(&folder, &provider);
    let edits = [
        ("List facts.", "List three facts."),
        ("        List facts.\n", ""),
        ("Research tides.", "Research the tides."),
        ("temperature: 0.25", "temperature: 0.5"),
        (", temperature: 0.25", ""),
        ("name: m, temperature", "name: m-large, temperature"),
        ("instruction: Judge.", "instruction: Judge.\n      outputSchema: { score: number }"),
        ("text: '{{draft}}'", "text: '{{research}}'"),
        ("id: review", "id: verdict"),
        ("kind: sequential", "kind: sequential # nothing"),
    ];
    let mut all = String::new();
    for (before, after) in edits {
        if after.contains("outputSchema") {
            // An answer that does not match its schema fails the run, but only the output before that matters.
            folder.write("e.yaml", ARTICLE.replace(before, after));
            let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "e.yaml", "--explain"]);
            let line = ran.err.lines().find(|line| line.starts_with(" again  review"));
            all += &format!("--- {after}\n{}\n", line.unwrap_or_default());
            continue;
        }
        all += &format!("--- {}\n{}", after.trim(), explained(&folder, &provider, &run, before, after));
    }
    let shorter = ARTICLE.find("  - input: { text").unwrap();
    folder.write("e.yaml", &ARTICLE[..shorter]);
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "e.yaml", "--explain"]);
    ran.exits(0).says(&["  kept  research\n", "  kept  draft\n", "unused  review\n"]);
    expect_test::expect![[r#"
        --- List three facts.
         again  research  system message, e.yaml:10: You are careful.⏎List {+three+} facts.⏎
         again  draft     user message, the result of `research` at e.yaml:12: ... are careful.⏎List {+three+} facts.⏎
         again  review    user message, the result of `draft` at e.yaml:20: ... are careful.⏎List {+three+} facts.⏎
        --- 
         again  research  system message, its own text: You are careful.⏎[-List facts.⏎-]
         again  draft     user message, the result of `research`: ... You are careful.⏎[-List facts.⏎-]
         again  review    user message, the result of `draft`: ... You are careful.⏎[-List facts.⏎-]
        --- Research the tides.
         again  research  user message, e.yaml:11: Research {+the+} tides.
          kept  draft
          kept  review
        --- temperature: 0.5
         again  research  parameter `temperature`: 0.5, was 0.25
          kept  draft
          kept  review
        --- 
         again  research  parameter `temperature`: not set, was 0.25
          kept  draft
          kept  review
        --- name: m-large, temperature
         again  research  model: `openai:m-large`, was `openai:m`
          kept  draft
          kept  review
        --- instruction: Judge.
              outputSchema: { score: number }
         again  review  schema of the answer: {"type":"object","properties":{"score":{"type":"number"}},"r..., was not set
        --- text: '{{research}}'
          kept  research
          kept  draft
         again  review  user message, `text` at e.yaml:27 is the result of `research`, was the result of `draft`
        --- id: verdict
          kept  research
          kept  draft
          kept  verdict  it was renamed from `review`
        --- kind: sequential # nothing
          kept  research
          kept  draft
          kept  review
    "#]].assert_eq(&all);
}

#[test]
fn two_runs_are_compared_step_by_step_and_word_by_word() {
    let (folder, provider, run, before) = begun();
    let steps = [("uno", "x", "say one"), ("two", "{{uno}}", "two well after {{text}}"), ("four", "y", "four")];
    folder.write("edited.yaml", pipeline(&steps));
    trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml", "-q"]).exits(0);
    let new = newest(&folder, &provider);
    let diff = trefoil(&folder, &provider, &["runs", "diff", &run, &new]);
    diff.exits(0);
    for line in [
        format!("a  {run}  main  completed  3 calls, 30 tokens in, 9 out, $?, "),
        format!("b  {new}  main  completed  2 calls, 20 tokens in, 6 out, $?, "),
        "   same  uno (a: one)  kept; a: 13 tokens, $?".to_owned(),
        "changed  two  13 tokens, $?, ".to_owned(),
        "           user message, edited.yaml:19: two {+well+} after say one\n".to_owned(),
        "           answer: two {+well+} after say one\n".to_owned(),
        " only a  three  13 tokens, $?, ".to_owned(),
        "           answer: three after two after say one\n".to_owned(),
        " only b  four  13 tokens, $?, ".to_owned(),
        " output  [-three after two after say one-]{+four+}\n".to_owned(),
    ] {
        assert!(diff.out.contains(&line), "{line}\n{}", diff.out);
    }
    assert!(!diff.out.contains('\x1b'), "nobody sees colours in a pipe");
    let mut colored = command(&folder, &provider, &["runs", "diff", &run, &new]);
    colored.env("CLICOLOR_FORCE", "1");
    assert!(crate::world::finish(colored).out.contains("two \x1b["));
    let json = trefoil(&folder, &provider, &["runs", "diff", &run, &new, "--output", "json"]).json();
    let steps = json["steps"].as_array().unwrap();
    let keys = |side: &str| steps.iter().map(|step| step[side]["key"].as_str()).collect::<Vec<_>>();
    assert_eq!(keys("a"), [Some("one"), Some("two"), Some("three"), None]);
    assert_eq!(keys("b"), [Some("uno"), Some("two"), None, Some("four")]);
    assert_eq!((&steps[0]["same"], &steps[1]["same"]), (&true.into(), &false.into()));
    assert_eq!(steps[0]["b"]["kept"]["run"], run.as_str());
    let reason = &steps[1]["request"][0];
    assert_eq!((&reason["text"], &reason["source"]), (&"user message".into(), &"edited.yaml:19".into()));
    assert_eq!(reason["words"][1]["added"], "well ");
    assert_eq!(json["a"]["usage"]["input_tokens"], 30);
    // A run compared with itself has no differences.
    let same = trefoil(&folder, &provider, &["runs", "diff", &run, &run]);
    assert_eq!(same.out.matches("   same  ").count(), 3, "{}", same.out);
    assert!(!same.out.contains("changed"), "{}", same.out);
    assert_eq!(provider.asked().len(), before + 2, "nothing was asked for that");
}

/// A second process that ends midway leaves a run that can be resumed and still uses the first run's results.
#[test]
fn an_edited_run_that_is_killed_still_pays_for_nothing_twice() {
    let (folder, provider, run, before) = begun();
    provider.hang(true);
    let steps = [("new", "x", "hang"), FIRST[0], FIRST[1], FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    let child = command(&folder, &provider, &["resume", &run, "--with", "edited.yaml"]).spawn().unwrap();
    until("the new call", || provider.asked().len() == before + 1);
    signal(&child, "-KILL");
    wait(child);
    provider.hang(false);
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let new = all["runs"][0]["run"].as_str().unwrap().to_owned();
    trefoil(&folder, &provider, &["resume", &new]).exits(0);
    assert_eq!(provider.asked()[before..], ["hang", "hang"], "the call that was under way, and nothing else");
}

#[test]
fn what_must_not_be_done_twice_ends_the_run_unless_somebody_says_so() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let workflow = |word: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: SEND\n  \
             states:\n    SEND:\n      kind: System\n      command: \"echo {word} >> sent.txt\"\n      transitions: []\n"
        )
    };
    folder.write("w.yaml", workflow("first"));
    let sent = || std::fs::read_to_string(folder.path().join("sent.txt")).unwrap_or_default();
    trefoil(&folder, &provider, &["run", "w.yaml", "--allow-command"]).exits(0);
    assert_eq!(sent(), "first\n");
    let run = only(&folder, &provider);
    folder.write("w.yaml", workflow("second"));
    let refused = trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml", "--allow-command", "--explain"]);
    refused.exits(75).says(&[
        "WOULD_REPEAT",
        "--rerun SEND",
        "to continue: trefoil resume",
        " --rerun SEND@1 --allow-command\n",
        "reused, no calls made",
    ]);
    refused.says(&[" stops  SEND@1  script, w.yaml:7: echo [-first-]{+second+} >> sent.txt\n"]);
    assert_eq!(sent(), "first\n");
    // The run that stopped before the step continues with permission.
    let stopped = newest(&folder, &provider);
    trefoil(&folder, &provider, &["replay", &stopped]).exits(0);
    trefoil(&folder, &provider, &["resume", "--all", "--allow-command"]).exits(0).says(&["no run can continue now"]);
    trefoil(&folder, &provider, &["resume", &stopped, "--allow-command"]).exits(75).says(&["WOULD_REPEAT"]);
    trefoil(&folder, &provider, &["resume", &stopped, "--allow-command", "--rerun", "SEND"]).exits(0);
    assert_eq!(sent(), "first\nsecond\n");
    std::fs::write(folder.path().join("sent.txt"), "first\n").unwrap();
    folder.write("w.yaml", workflow("first"));
    let from = ["resume", &run, "--with", "w.yaml", "--allow-command", "--from", "SEND"];
    trefoil(&folder, &provider, &from).exits(75).says(&["WOULD_REPEAT"]);
    assert_eq!(sent(), "first\n");
    folder.write("w.yaml", workflow("second"));
    let again = ["resume", &run, "--with", "w.yaml", "--allow-command", "--rerun", "SEND"];
    trefoil(&folder, &provider, &again).exits(0).says(&["note: 0 results of run", " reused, 1 command run\n"]);
    assert_eq!(sent(), "first\nsecond\n");
}
