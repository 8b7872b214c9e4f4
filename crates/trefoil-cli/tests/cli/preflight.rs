//! What a run lacks is found before its first call, with the same words by every command that looks for it.

use std::io::{Read as _, Write as _};

use expect_test::expect;

use crate::world::{Folder, finish};

/// The second agent needs a variable, and both are always called.
const NEEDS: &str = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: one }, z: { model: \"openai:m\", system: \"For {{ env.TREFOIL_TEAM }}\" } }\n\
                     nodes:\n  a: { agent: a, writes: working.a }\n  z: { agent: z, writes: output.z }\ninput: { message: hi }\n";

fn python(module: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: \"{{{{ f.d }}}}\" }} }}\nnodes:\n  f: {{ type: tool, tool: python, \
         config: {{ module: {module}, function: add, args: {{}} }}, output_key: d }}\n  n: {{ agent: a, writes: output.o }}\n\
         edges: [ {{ from: f, to: n }} ]\ninput: {{ message: hi }}\n"
    )
}

#[test]
fn an_unset_variable_of_a_node_that_always_runs_is_found_before_the_first_call() {
    let folder = Folder::new();
    folder.write("w.yaml", NEEDS);
    let ran = folder.trefoil(&["run", "w.yaml", "--model", "embedded", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    expect![[r#"
        error[missing-env]: the environment variable `TREFOIL_TEAM` is not set; `z` needs it
         --> w.yaml:2:90
          |
        2 | agents: { a: { model: "openai:m", system: one }, z: { model: "openai:m", system: "For {{ env.TREFOIL_TEAM }}" } }
          |                                                                                          ^^^^^^^^^^^^^^^^
          |
          = help: set it, for example: `export TREFOIL_TEAM=...`
    "#]].assert_eq(&ran.err);
    assert_eq!(folder.trefoil(&["check", "--strict", "w.yaml"]).code, 0);
    let mut set = folder.command(&["run", "w.yaml", "--model", "embedded", "--quiet"]);
    set.env("TREFOIL_TEAM", "red");
    let set = finish(set);
    assert_eq!(set.code, 0, "{}", set.err);
    // With a default, or in a node that may not run, nothing is certain.
    folder.write("d.yaml", NEEDS.replace("TREFOIL_TEAM }}", "TREFOIL_TEAM | default('x') }}"));
    let ran = folder.trefoil(&["run", "d.yaml", "--model", "embedded", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let edge = "edges: [ { from: a, to: z, when: \"working.a == 'never'\" } ]\ninput";
    folder.write("e.yaml", NEEDS.replace("input", edge));
    let ran = folder.trefoil(&["run", "e.yaml", "--model", "embedded", "--quiet"]);
    assert_ne!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_function_is_a_matter_of_permission_and_its_module_is_tried_where_it_is_allowed() {
    let folder = Folder::new();
    folder.write("py.yaml", python("no_such_module_17"));
    let ran = folder.trefoil(&["run", "py.yaml", "--model", "embedded", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    expect![[r#"
        error[command-not-allowed]: this step runs the Python function `no_such_module_17.add`, which is off by default
         --> py.yaml:4:3
          |
        4 |   f: { type: tool, tool: python, config: { module: no_such_module_17, function: add, args: {} }, output_key: d }
          |   ^
          |
          = help: review the function, then pass `--allow-command`; or answer it with `--model scripted=FILE`
    "#]].assert_eq(&ran.err);
    let ran = folder.trefoil(&["run", "py.yaml", "--model", "embedded", "--quiet", "--allow-command"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    expect![[r#"
        error[missing-module]: cannot import the module `no_such_module_17`: No module named 'no_such_module_17'
         --> py.yaml:4:3
          |
        4 |   f: { type: tool, tool: python, config: { module: no_such_module_17, function: add, args: {} }, output_key: d }
          |   ^
          |
          = help: install the module for this interpreter with `pip`, choose another one with `command` of `[python]`, or add the module's folder to `path` there
    "#]].assert_eq(&ran.err);
}

#[test]
fn other_commands_say_the_same() {
    let folder = Folder::new();
    folder.write("w.yaml", NEEDS);
    let said = "the environment variable `TREFOIL_TEAM` is not set; `z` needs it";
    let plan = folder.trefoil(&["plan", "w.yaml", "--model", "embedded"]);
    assert_eq!(plan.code, 0, "{}", plan.err);
    assert!(plan.out.contains("does not run\n") && plan.out.contains(said), "{}", plan.out);
    let here = folder.trefoil(&["check", "--here", "w.yaml"]);
    assert_eq!(here.code, 1, "{}", here.out);
    assert!(here.out.contains(said), "{}", here.out);
    let doctor = folder.trefoil(&["doctor", "w.yaml"]);
    assert_eq!(doctor.code, 1, "{}", doctor.out);
    assert!(doctor.out.contains(said), "{}", doctor.out);
    folder.write("py.yaml", python("no_such_module_17"));
    let off = folder.trefoil(&["doctor", "py.yaml"]);
    assert!(off.out.contains("no_such_module_17.add`, which is off by default"), "{}", off.out);
    let tried = folder.trefoil(&["doctor", "py.yaml", "--allow-command"]);
    assert!(tried.out.contains("cannot import the module `no_such_module_17`"), "{}", tried.out);
}

#[test]
fn what_the_operator_declares_runs_with_any_model() {
    let folder = Folder::new();
    folder.write(
        "trefoil.toml",
        "[tools.hello]\ncommand = [\"echo\", \"hi\"]\n[tools.gone]\ncommand = [\"no-such-program-17\"]\n",
    );
    folder.write("l.yaml", "id: l\nkind: tool\ntool: { kind: local, name: hello }\n");
    folder.write("g.yaml", "id: g\nkind: tool\ntool: { kind: local, name: gone }\n");
    folder.write("m.yaml", "id: m\nkind: tool\ntool: { kind: local, name: other }\n");
    folder.write("s.yaml", "answers: { \"*\": ok }\n");
    folder.write("t.yaml", "answers: { \"*\": ok }\ntools: { hello: from the script, other: scripted }\n");
    // Trust is kept in the user's own folder.
    let trefoil = |words: &[&str]| {
        let mut command = folder.command(words);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        finish(command)
    };
    let untrusted = trefoil(&["run", "l.yaml", "--model", "embedded", "--quiet"]);
    assert_eq!(untrusted.code, 2, "{}", untrusted.out);
    assert_eq!(trefoil(&["trust", "."]).code, 0);
    for model in ["embedded", "scripted=s.yaml"] {
        let ran = trefoil(&["run", "l.yaml", "--quiet", "--model", model]);
        assert_eq!((ran.code, ran.out.trim()), (0, "hi"), "{model}: {}", ran.err);
    }
    let scripted = trefoil(&["run", "l.yaml", "--quiet", "--model", "scripted=t.yaml"]);
    assert_eq!((scripted.code, scripted.out.trim()), (0, "from the script"), "{}", scripted.err);
    let mut words = String::new();
    for (flow, model) in [("m.yaml", "embedded"), ("m.yaml", "scripted=s.yaml"), ("g.yaml", "embedded")] {
        let ran = trefoil(&["run", flow, "--quiet", "--model", model]);
        assert_eq!(ran.code, 2, "{flow} {model}: {}", ran.out);
        words.push_str(&format!("{flow} with {model}:\n{}\n", ran.err));
    }
    expect![[r#"
        m.yaml with embedded:
        error[missing-tool]: no implementation for the tool `other`
         --> m.yaml:3:1
          |
        3 | tool: { kind: local, name: other }
          | ^^^^
          |
          = help: declare it in `trefoil.toml`: `[tools.other]` with `command = ["program", "argument"]` or `flow = "FILE"`; or answer it with `--model scripted=FILE`

        m.yaml with scripted=s.yaml:
        error[missing-tool]: no implementation for the tool `other`
         --> m.yaml:3:1
          |
        3 | tool: { kind: local, name: other }
          | ^^^^
          |
          = help: declare it in `trefoil.toml`: `[tools.other]` with `command = ["program", "argument"]` or `flow = "FILE"`; or add `other` under `tools:` of the script

        g.yaml with embedded:
        error[missing-program]: the program of `[tools.gone]` cannot be started: `no-such-program-17` is in no folder of `PATH`
         --> g.yaml:3:1
          |
        3 | tool: { kind: local, name: gone }
          | ^^^^
          |
          = help: install it, or correct `command` of `[tools.gone]`

    "#]].assert_eq(&words);
}

#[test]
fn a_host_is_allowed_with_its_port_and_without_a_real_model_only_by_name() {
    let folder = Folder::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\ntea",
            );
        }
    });
    let tool = |url: &str| format!("id: t\nkind: tool\ntool: {{ kind: http, name: x, method: GET, url: \"{url}\" }}\n");
    folder.write("h.yaml", tool(&format!("http://127.0.0.1:{port}/x")));
    folder.write("p.yaml", tool("https://api.example.com/x"));
    let run = |flow: &str, more: &[&str]| {
        let mut words = vec!["run", flow, "--quiet", "--model", "embedded"];
        words.extend(more);
        folder.trefoil(&words)
    };
    let refused = run("h.yaml", &["--allow-host", "127.0.0.1"]);
    assert_eq!(refused.code, 2, "{}", refused.out);
    let named = format!("127.0.0.1:{port}");
    let allowed = run("h.yaml", &["--allow-host", &named]);
    assert_eq!((allowed.code, allowed.out.trim()), (0, "tea"), "{}", allowed.err);
    let public = run("p.yaml", &[]);
    assert_eq!(public.code, 2, "{}", public.out);
    expect![[r#"
        error[host-not-allowed]: `x` cannot be called: `127.0.0.1` was allowed for ports 80 and 443, not for PORT
         --> h.yaml:3:1
          |
        3 | tool: { kind: http, name: x, method: GET, url: "http://127.0.0.1:PORT/x" }
          | ^^^^
          |
          = help: review the tool, then pass `--allow-host 127.0.0.1:PORT`, or set `allow` under `[http]` in your settings

        error[host-not-allowed]: `x` cannot be called: without a real model, only hosts that are allowed by name are called
         --> p.yaml:3:1
          |
        3 | tool: { kind: http, name: x, method: GET, url: "https://api.example.com/x" }
          | ^^^^
          |
          = help: review the tool, then pass `--allow-host api.example.com`, or set `allow` under `[http]` in your settings
    "#]].assert_eq(&format!("{}\n{}", refused.err.replace(&port.to_string(), "PORT"), public.err));
    // A script has no list of a server's tools, so the server is asked.
    let agent = "id: g\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: x\ntools: [ { kind: mcp, server: \"https://example.com/mcp\" } ]\n";
    folder.write("g.yaml", agent).write("s.yaml", "answers: { g: ok }\ntools: { f: { value: 1 } }\n");
    let listed = folder.trefoil(&["run", "g.yaml", "--quiet", "--model", "scripted=s.yaml"]);
    assert!(listed.code == 2 && listed.err.contains("error[host-not-allowed]"), "{listed:?}");
}

#[test]
fn an_agent_without_a_prompt_is_not_paid_for() {
    let folder = Folder::new();
    folder.write(
        "b.yaml",
        "id: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: \"{{q}}\"\ninputSchema: { q: string }\n",
    );
    let ran = folder.trefoil(&["run", "b.yaml", "--quiet", "--model", "embedded"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    expect![[r#"
        error[input-invalid]: the whole prompt of `b` is the input `q`, which is not set
         --> b.yaml:1:5
          |
        1 | id: b
          |     ^
          |
          = help: pass `--input q=...`
    "#]]
    .assert_eq(&ran.err);
    let given = folder.trefoil(&["run", "b.yaml", "--quiet", "--model", "embedded", "--input", "q=x"]);
    assert_eq!(given.code, 0, "{}", given.err);
}

#[test]
fn a_script_that_does_not_exist_is_no_missing_model() {
    let folder = Folder::new();
    folder.write("a.yaml", "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: x\n");
    let ran = folder.trefoil(&["run", "a.yaml", "--quiet", "--model", "scripted=none.json"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    expect![[r#"
        error[invalid-script]: none.json: cannot read the script: no such file or directory
         = help: correct the path in `--model scripted=FILE`, or fix the file as docs/models.md describes it
    "#]]
    .assert_eq(&ran.err);
}

/// A condition or a list is no way to a variable that is missing only when a run comes to it: either it does not load, or an unset
/// variable is empty text there.
#[test]
fn a_variable_in_a_condition_or_a_list_is_no_surprise_in_any_format() {
    let folder = Folder::new();
    let siren = |node: &str, more: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ w: {{ model: \"openai:m\", system: W }} }}\nnodes:\n  a: {{ type: agent, agent: w, writes: working.a }}\n  \
             z: {{ type: {node}, agent: w, writes: output.z }}\nedges: [ {{ from: a, to: z{more} }} ]\ninput: {{ message: x }}\n"
        )
    };
    let one = "kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: x";
    let pipeline = format!(
        "id: p\nkind: sequential\nsteps:\n  - agent: {{ id: a, {one} }}\n  - agent: {{ id: b, {one} }}\n    when: \"{{{{env.TREFOIL_MODE}}}} == x\"\n"
    );
    let state = |what: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: A\n  states:\n    \
             A: {{ kind: System, command: \"echo a\", transitions: [ {what}, {{ condition: always, target: B }} ] }}\n    \
             B: {{ kind: System, command: \"echo b\", transitions: [] }}\n"
        )
    };
    let custom = "{ condition: custom, expression: \"env.TREFOIL_MODE == 'x'\", target: B }";
    for (text, code, rule) in [
        (siren("agent", ", when: \"env.TREFOIL_MODE == 'x'\""), 2, "condition-unknown-name"),
        (siren("factory, for_each: \"{{ env.TREFOIL_MODE }}\"", ""), 2, "env-decides"),
        (pipeline, 0, ""),
        (state(custom), 0, ""),
    ] {
        folder.write("f.yaml", &text);
        let ran = folder.trefoil(&["run", "f.yaml", "--model", "embedded", "--allow-command"]);
        assert!(ran.code == code && ran.err.contains(rule), "{text}\n{}", ran.err);
    }
}

#[test]
fn what_a_flow_that_is_called_as_a_tool_needs_is_found_before_the_first_call() {
    let folder = Folder::new();
    folder
        .write("trefoil.toml", "[tools.part]\nflow = \"parts/part.yaml\"\n")
        .write("parts/part.yaml", python("no_such_module_17"))
        .write("main.yaml", "id: m\nkind: tool\ntool: { kind: local, name: part, params: {} }\n");
    let trusted = folder.trefoil(&["trust", "."]);
    assert_eq!(trusted.code, 0, "{}", trusted.err);
    for command in [&["run", "main.yaml", "--model", "embedded"][..], &["doctor", "main.yaml"]] {
        let ran = folder.trefoil(&[command, &["--allow-command"]].concat());
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("cannot import the module `no_such_module_17`"), "{said}");
        assert!(said.contains("in the flow of the tool `part`"), "{said}");
    }
    // Every run comes to the call, and so to the variable.
    folder.write("parts/part.yaml", NEEDS);
    let ran = folder.trefoil(&["run", "main.yaml", "--model", "embedded"]);
    assert!(
        ran.code == 2 && ran.err.contains("error[missing-env]") && ran.err.contains("of the tool `part`"),
        "{}",
        ran.err
    );
}

/// An AEGIS project whose agent has a model alias.
fn aliased() -> Folder {
    let folder = Folder::new();
    folder.write(
        "agents/notes.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: notes, version: \"1.0.0\" }\nspec:\n  runtime: { language: \
         python, version: \"3.11\", model: smart }\n  task: { instruction: Write release notes. }\n",
    );
    folder.write(
        "release.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: release, version: \"1.0.0\" }\nspec:\n  initial_state: \
         NOTES\n  states:\n    NOTES:\n      kind: Agent\n      agent: notes\n      input: \"{{workflow.task}}\"\n      \
         transitions: []\n",
    );
    folder
}

/// The messages of the errors in an output of `run`.
fn messages(err: &str) -> Vec<String> {
    let message = |line: &str| Some(line.strip_prefix("error[")?.split_once("]: ")?.1.to_owned());
    err.lines().filter_map(message).collect()
}

#[test]
fn whatever_run_refuses_the_doctor_says_in_the_same_words() {
    let folder = aliased();
    let file = |name: &str, text: &str| {
        folder.write(name, text);
    };
    file(
        "keyless.yaml",
        "id: k\nkind: llm\nmodel: { provider: anthropic, name: claude-x }\ninstruction: I\nprompt: P\n",
    );
    file(
        "required.yaml",
        "id: r\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I\nprompt: 'On {{a}} {{b}}'\n\
          inputSchema: { type: object, properties: { a: { type: string }, b: { type: string } }, required: [a, b] }\n",
    );
    file(
        "typed.yaml",
        "id: t\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I\nprompt: 'On {{a}}'\n\
          inputSchema: { type: object, properties: { a: { type: string, minLength: 5 } }, required: [a] }\n",
    );
    file("broken.yaml", "id: broken\nkind: llm\n");
    file("checked.yaml", "id: c\nkind: sequential\nsteps:\n  - ref: nobody\n");
    file("env.yaml", NEEDS);
    file("py.yaml", &python("no_such_module_17"));
    file("m.yaml", "id: m\nkind: tool\ntool: { kind: local, name: other }\n");
    file("h.yaml", "id: t\nkind: tool\ntool: { kind: http, name: x, method: GET, url: \"http://127.0.0.1:9/x\" }\n");
    file("ask.yaml", include_str!("../crash/manifests/human.yaml").replace("{{ env.SECRET_WORD }}", "print").as_str());
    let cases: &[&[&str]] = &[
        &["release.yaml"],
        &[".#release"],
        &["release.yaml", "--model", "smarter=openai:m"],
        &["release.yaml", "--model", "smart=mistral:m"],
        &["keyless.yaml"],
        &["required.yaml", "-i", "a=1"],
        &["required.yaml", "--input-json", "{}"],
        &["typed.yaml", "-i", "a=1"],
        &["required.yaml", "-i", "c=1"],
        &["required.yaml", "--input-json", "{"],
        &["broken.yaml"],
        &["checked.yaml"],
        &["env.yaml"],
        &["py.yaml"],
        &["py.yaml", "--allow-command"],
        &["m.yaml"],
        &["h.yaml"],
        &["ask.yaml", "--answer", "nobody=yes"],
        &["release.yaml", "--model", "scripted=none.yaml"],
        &["keyless.yaml", "--model", "openai:gpt-4o", "--max-calls", "0"],
        &["keyless.yaml", "--model", "openai:unheard-of", "--max-cost", "1"],
    ];
    for words in cases {
        let with = |command: &str| {
            let mut command = folder.command(&[&[command], *words].concat());
            command.env("OPENAI_API_KEY", "sk-test").env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
            // In a store, a question can be answered later.
            command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
            finish(command)
        };
        let (ran, doctor) = (with("run"), with("doctor"));
        ran.exits(2);
        let mut said = messages(&ran.err);
        said.extend(
            ran.err
                .lines()
                .filter_map(|line| line.strip_prefix("error: the run did not start: it may"))
                .map(str::to_owned),
        );
        assert!(!said.is_empty(), "{words:?}: {ran:?}");
        for message in said {
            assert!(doctor.out.contains(&message), "{words:?}: {message}\n{doctor:?}");
        }
        assert_eq!(doctor.code, 1, "{words:?}: {doctor:?}");
    }
}

/// A missing file, and a project that is not trusted: those who only look have the words of `run`, and no other advice.
#[test]
fn what_looks_at_a_run_has_its_words_for_a_missing_file_and_an_untrusted_project() {
    let folder = Folder::new();
    let missing = |command: &str| folder.trefoil(&[command, "flow.yml"]).exits(2).err.clone();
    folder.write("flow.yaml", "id: m\nkind: tool\ntool: { kind: local, name: hello, params: {} }\n");
    let said = missing("plan");
    assert!(said.contains("error[file-not-found]") && said.contains("did you mean `flow.yaml`?"), "{said}");
    assert!(missing("run").starts_with(&*said), "{said}");
    for command in ["doctor", "models", "graph"] {
        assert_eq!(missing(command), said, "{command}");
    }
    folder.write("trefoil.toml", "[tools.hello]\ncommand = [\"echo\", \"hi\"]\n");
    let message = "`[tools]` would run programs as tools, but you have not trusted this project";
    folder.trefoil(&["run", "flow.yaml"]).silent(2).says(&["error[untrusted-project]", message]);
    for args in
        [&["doctor", "flow.yaml"][..], &["doctor", "."], &["plan", "flow.yaml"], &["check", "flow.yaml", "--here"]]
    {
        let ran = folder.trefoil(args);
        assert_eq!(ran.out.matches(message).count(), 1, "{args:?}: {ran:?}");
        assert!(!ran.out.contains("no implementation"), "{args:?}: {ran:?}");
        assert!(ran.out.contains("trefoil.toml:1"), "{args:?}: {ran:?}");
    }
}

#[test]
fn doctor_and_models_take_the_targets_and_models_of_run() {
    let folder = aliased();
    folder
        .write("other.yaml", "id: other\nkind: llm\nmodel: { provider: openai, name: n }\ninstruction: I\nprompt: P\n");
    let trefoil = |words: &[&str]| {
        let mut command = folder.command(words);
        command.env("OPENAI_API_KEY", "sk-test").env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
        finish(command)
    };
    let listed = trefoil(&["models", ".#release", "--model", "smart=openai:m"]);
    assert!(listed.exits(0).out.contains("models in .#release\n  openai:m  "), "{listed:?}");
    assert!(!listed.out.contains("openai:n"), "{listed:?}");
    trefoil(&["models", ".#nobody"]).exits(2).says(&["nobody"]);
    trefoil(&["doctor", ".#nobody"]).exits(2).says(&["nobody"]);
    // Of the folder, only one flow has the alias.
    for target in [".#release", "."] {
        let doctor = trefoil(&["doctor", target, "--model", "smart=openai:m"]);
        assert!(doctor.out.contains("openai:m: not called"), "{doctor:?}");
        assert!(
            !doctor.out.contains("smart") && doctor.out.ends_with("\n1 problem found\n"),
            "only the address: {doctor:?}"
        );
    }
    let unknown = trefoil(&["doctor", ".", "--model", "smarter=openai:m"]);
    assert!(unknown.exits(1).out.contains("no alias, agent or step is named `smarter`"), "{unknown:?}");
    let embedded = trefoil(&["doctor", "release.yaml", "--model", "embedded"]);
    assert!(!embedded.out.contains("not called") && !embedded.out.contains("no model"), "{embedded:?}");
}

#[test]
fn an_input_that_a_later_step_certainly_needs_is_found_before_the_first_call() {
    let folder = Folder::new();
    let agent = "id: a, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: \"Hello {{place}}\", inputSchema: { \
                 place: string }";
    let two = |last: &str| {
        format!(
            "id: two\nkind: sequential\ninputSchema: {{ place: string }}\nsteps:\n  - agent: {{ {agent} }}\n    input: {{ place: \
             \"{{{{place}}}}\" }}\n{last}"
        )
    };
    let tool = |url: &str| {
        format!(
            "  - agent:\n      id: b\n      kind: tool\n      inputSchema: {{ at: string }}\n      tool: {{ kind: http, name: tide, \
             url: \"{url}\", params: {{ place: \"{{{{at}}}}\" }} }}\n    input: {{ at: \"{{{{place}}}}\" }}\n"
        )
    };
    folder.write("two.yaml", two(&tool("https://tides.example.com/x?place={place}")));
    let run = |flow: &str, more: &[&str]| {
        folder.trefoil(
            &[&["run", flow, "--quiet", "--model", "embedded", "--allow-host", "tides.example.com"], more].concat(),
        )
    };
    let refused = run("two.yaml", &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    expect![[r#"
        error[input-invalid]: `{place}` in the URL of `tide` has no value, because the input `place` is not set
          --> two.yaml:11:7
           |
        11 |       tool: { kind: http, name: tide, url: "https://tides.example.com/x?place={place}", params: { place: "{{at}}...
           |       ^^^^
           |
           = help: pass `--input place=...`
    "#]].assert_eq(&refused.err);
    let doctor = folder.trefoil(&["doctor", "two.yaml", "--model", "embedded", "--input-json", "{}"]);
    assert!(doctor.out.contains(&messages(&refused.err)[0]), "{doctor:?}");
    // The step makes its request, which fails for another reason.
    assert!(run("two.yaml", &["-i", "place=Bergen"]).err.contains("tides.example.com"));
    // An optional pair is left out, and a step that may not run needs nothing.
    folder.write("optional.yaml", two(&tool("https://tides.example.com/x?place={place?}")));
    assert_ne!(run("optional.yaml", &[]).code, 2);
    let strict = "  - agent: { id: c, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: \"At {{at}}\", inputSchema: \
                  { type: object, properties: { at: { type: string } }, required: [at] } }\n    input: { at: \"{{place}}\" }\n";
    folder.write("strict.yaml", two(strict));
    let refused = run("strict.yaml", &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    expect![[r#"
        error[input-invalid]: `c` needs its input `at`, but that is the input `place`, which is not set
         --> strict.yaml:7:5
          |
        7 |   - agent: { id: c, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: "At {{at}}", inputSchema: { type: object, properties: { at: {...
          |     ^^^^^                                                                                                                                             -- required here
          |
          = help: pass `--input place=...`
    "#]].assert_eq(&refused.err);
}
