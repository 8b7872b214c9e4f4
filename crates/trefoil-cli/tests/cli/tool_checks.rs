//! What `check` knows about tools declared in `trefoil.toml`: their arguments, results and effects.

use crate::world::{Folder, finish};

const TOOLS: &str = "[tools.search]\ncommand = [\"search\", \"--most={most?}\", \"--\", \"{text}\"]\neffects = \"read_only\"\n\n[tools.search.parameters]\ntype = \"object\"\nrequired = [\"text\"]\nproperties = { text = { type = \"string\" }, most = { type = \"integer\", maximum = 50 } }\n\n[tools.search.result]\ntype = \"object\"\nrequired = [\"hits\"]\nadditionalProperties = false\nproperties = { hits = { type = \"array\" } }\n\n[tools.post]\ncommand = [\"post\"]\nparameters = { type = \"object\", properties = { text = { type = \"string\" } } }\n";

/// A pipeline that calls `search` with these parameters, and then continues.
fn checked(params: &str, then: &str) -> Vec<String> {
    let folder = Folder::new();
    let input = "{ q: \"{{q}}\", n: \"{{n}}\", b: \"{{b}}\" }";
    let step = format!(
        "  - agent: {{ id: search, kind: tool, inputSchema: {{ q: string, n: integer, b: boolean }}, tool: {{ kind: local, name: search, params: {params} }} }}\n    input: {input}\n"
    );
    folder.write("trefoil.toml", TOOLS);
    folder.write(
        "flow.yaml",
        format!(
            "id: flow\nkind: sequential\ninputSchema: {{ q: string, n: integer, b: boolean }}\nsteps:\n{step}{then}"
        ),
    );
    let report = folder.trefoil(&["check", "flow.yaml", "--format", "json"]).json();
    let found = report["diagnostics"].as_array().unwrap().iter();
    found.map(|d| format!("{}: {}", d["rule"].as_str().unwrap(), d["message"].as_str().unwrap())).collect()
}

fn says(found: &[String], what: &str) {
    assert!(found.iter().any(|one| one.contains(what)), "{what}: {found:?}");
}

#[test]
fn a_tool_that_an_aegis_agent_names_twice_is_offered_once() {
    let folder = Folder::new();
    folder.write(
        "config/config.toml",
        "[mcp.files]\ncommand = [\"no-such-program-17\"]\n[tools.look]\ncommand = [\"cat\"]\n",
    );
    let offered = |tools: &str| {
        folder.write(
            "a.yaml",
            format!(
                "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: a, version: \"1.0.0\" }}\nspec:\n  runtime: {{ model: \"openai:m\" }}\n  task: {{ instruction: Go. }}\n  tools: [{tools}]\n"
            ),
        );
        let mut command = folder.command(&["ir", "a.yaml"]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        let ir = finish(command).exits(0).out.clone();
        ir.lines().map(str::trim).filter(|line| line.starts_with("offers ")).collect::<String>()
    };
    assert_eq!(offered("files, \"mcp:files/read\", files, \"mcp:files\""), "offers tools `mcp__files__`");
    let twice = offered("\"mcp:files/read\", \"mcp:files/read\", look, look");
    assert_eq!(twice, offered("\"mcp:files/read\", look"));
    assert!(twice.contains("look"), "{twice}");
}

#[test]
fn arguments_are_those_that_a_tool_takes() {
    let input = "{ text: \"{{q}}\", most: \"{{n}}\" }";
    let fine = checked(input, "");
    assert!(!fine.iter().any(|one| one.starts_with("tool-arguments")), "{fine:?}");
    says(&checked("{ txt: \"{{q}}\" }", ""), "tool-arguments: the tool `search` has no parameter `txt`");
    says(&checked("{ txt: \"{{q}}\" }", ""), "tool-arguments: the tool `search` needs the parameter `text`");
    says(
        &checked("{ text: \"{{q}}\", most: \"{{b}}\" }", ""),
        "`most` of the tool `search` does not accept this value",
    );
    says(&checked("{ text: \"{{q}}\", most: \"many\" }", ""), "it must be a number, not text");
}

#[test]
fn tools_of_the_users_own_settings_are_known_without_a_project_file() {
    let folder = Folder::new();
    let flow = |name: &str| {
        format!(
            "id: one\nkind: tool\ninputSchema: {{ q: string }}\ntool: {{ kind: local, name: {name}, params: {{ txt: \"{{{{q}}}}\" }} }}\n"
        )
    };
    folder.write("config/config.toml", TOOLS).write("one.yaml", flow("search")).write("two.yaml", flow("find"));
    let checked = |file: &str| {
        let mut command = folder.command(&["check", file]);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        finish(command)
    };
    let known = checked("one.yaml");
    assert!(!known.out.contains("missing-tool"), "{}", known.out);
    assert!(known.out.contains("the tool `search` has no parameter `txt`"), "{}", known.out);
    assert!(checked("two.yaml").out.contains("missing-tool"));
}

#[test]
fn a_server_that_is_named_like_a_tool_is_explained() {
    let folder = Folder::new();
    folder.write("config/config.toml", "[mcp.files]\ncommand = [\"no-such-program-17\"]\n");
    let agent = |tools: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: a, version: \"1.0.0\" }}\nspec:\n  runtime: {{ model: \"openai:m\" }}\n  task: {{ instruction: Go. }}\n  tools: [{tools}]\n"
        )
    };
    folder.write("bare.yaml", agent("files")).write("whole.yaml", agent("\"mcp:files\""));
    folder.write("one.yaml", agent("\"mcp:files/read_text_file\"")).write("none.yaml", agent("\"mcp:fiels\""));
    let said = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("OPENAI_API_KEY", "sk-0123456789abcdef");
        let ran = finish(command);
        format!("{}{}", ran.out, ran.err)
    };
    let help = "`[mcp.files]` is a server: offer its tools as `mcp:files` in a list of names, or in an entry with `kind: mcp` and `server: files`";
    folder.write(
        "local.yaml",
        "id: local\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Go.\ntools: [{ kind: local, tools: [files] }]\n",
    );
    assert!(said(&["check", "local.yaml"]).contains(help), "{}", said(&["check", "local.yaml"]));
    assert!(said(&["run", "local.yaml", "--input", "x"]).contains(help));
    let none = said(&["check", "none.yaml"]);
    assert!(
        none.contains("the MCP server `fiels` is not declared") && none.contains("did you mean `files`?"),
        "{none}"
    );
    // So is a name that is nearly that of a server, or that lacks `mcp:`.
    folder.write("near.yaml", agent("flies")).write("slash.yaml", agent("files/read"));
    let near = said(&["check", "near.yaml"]);
    assert!(near.contains("did you mean `files`? `[mcp.files]` is a server"), "{near}");
    let slash = said(&["check", "slash.yaml"]);
    assert!(slash.contains("as `mcp:files/read` in a list of names"), "{slash}");
    // An AEGIS agent means the server by its name.
    for file in ["bare.yaml", "whole.yaml", "one.yaml"] {
        assert!(!said(&["check", file]).contains("missing-tool"), "{}", said(&["check", file]));
        // It is found, and its program is searched.
        let ran = said(&["run", file, "--input", "x"]);
        assert!(ran.contains("missing-program") && ran.contains("`no-such-program-17` is in no folder"), "{ran}");
    }
}

#[test]
fn arguments_are_those_that_a_flow_takes_which_is_a_tool() {
    let folder = Folder::new();
    folder.write("trefoil.toml", "[tools.brew]\nflow = \"tools/brew.yaml\"\n[tools.say]\nflow = \"tools/say.yaml\"\n[tools.out]\nflow = \"../out.yaml\"\n");
    let model = "model: { provider: openai, name: gpt-5.4 }\n";
    let brew = "id: brew\nkind: llm\ninputSchema: { kind: string, minutes: { type: integer, default: 3 } }\ninstruction: \"{{kind}} {{minutes}}\"\n";
    folder.write("tools/brew.yaml", format!("{brew}{model}"));
    folder.write("tools/say.yaml", format!("id: say\nkind: llm\ninstruction: I.\n{model}"));
    let found = |tool: &str, params: &str| {
        folder.write(
            "one.yaml",
            format!("id: one\nkind: tool\ntool: {{ kind: local, name: {tool}, params: {params} }}\n"),
        );
        let report = folder.trefoil(&["check", "one.yaml", "--format", "json"]).json();
        let found = report["diagnostics"].as_array().unwrap().iter();
        found
            .map(|d| format!("{}: {}", d["rule"].as_str().unwrap(), d["message"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    for (tool, params) in [("brew", "{ kind: green }"), ("say", "{ input: hello }"), ("out", "{ any: 1 }")] {
        let found = found(tool, params);
        assert!(!found.iter().any(|one| one.starts_with("tool-arguments")), "{found:?}");
    }
    says(&found("brew", "{ kindd: green }"), "the tool `brew` has no parameter `kindd`");
    says(&found("brew", "{ kind: green, minutes: long }"), "`minutes` of the tool `brew` does not accept this value");
    says(&found("say", "{ input: hello, times: often }"), "the tool `say` has no parameter `times`");
    says(&found("say", "{}"), "the tool `say` needs the parameter `input`");
}

#[test]
fn what_a_tool_returns_is_known_to_who_reads_it() {
    let reads = |path: &str| {
        let step = format!(
            "  - agent: {{ id: last, kind: llm, inputSchema: {{ x: string }}, model: {{ provider: openai, name: gpt-5.4 }}, instruction: \"{{{{x}}}}\" }}\n    input: {{ x: \"Hits: {{{{search.{path}}}}}\" }}\n"
        );
        checked("{ text: \"{{q}}\" }", &step)
    };
    let fine = reads("hits");
    assert!(!fine.iter().any(|one| one.starts_with("unknown-property")), "{fine:?}");
    says(&reads("hitz"), "unknown-property: ");
}

#[test]
fn text_of_a_tool_in_a_tool_that_writes_is_said() {
    let post = "  - agent: { id: post, kind: tool, inputSchema: { text: string }, tool: { kind: local, name: post, params: { text: \"{{text}}\" } } }\n    input: { text: \"Found: {{search}}\" }\n";
    says(&checked("{ text: \"{{q}}\" }", post), "unreviewed-write: this calls `post`, which changes something,");
}

#[test]
fn a_tool_that_writes_and_that_a_model_calls_itself_is_said() {
    let found = |tools: &str| {
        let folder = Folder::new();
        folder.write("trefoil.toml", TOOLS);
        let model = "model: { provider: openai, name: gpt-5.4 }";
        folder.write("one.yaml", format!("id: one\nkind: llm\n{model}\ninstruction: I.\ntools:\n  - {tools}\n"));
        let report = folder.trefoil(&["check", "one.yaml", "--format", "json"]).json();
        let found = report["diagnostics"].as_array().unwrap().iter().filter(|d| d["rule"] == "unreviewed-write");
        found.map(|d| format!("{}: {}", d["line"], d["message"].as_str().unwrap())).collect::<Vec<_>>()
    };
    says(
        &found("{ kind: local, tools: [search, post] }"),
        "this calls `post`, which changes something, with what a model gives it",
    );
    assert_eq!(found("{ kind: local, tools: [search] }"), Vec::<String>::new());
    let http = |more: &str| format!("{{ kind: http, name: send, url: \"https://example.com/{{to}}\"{more} }}");
    says(&found(&http(", method: POST")), "this sends a POST request with what a model gives it");
    assert_eq!(found(&http("")), Vec::<String>::new());
    assert_eq!(found(&http(", method: POST, params: { to: me }")), Vec::<String>::new());
}

#[test]
fn a_tool_that_nobody_declares_is_declared_as_toml_wants_it() {
    let folder = Folder::new();
    folder.write("one.yaml", "id: one\nkind: tool\ntool: { kind: local, name: fs.read }\n");
    let found = folder.trefoil(&["check", "one.yaml"]);
    assert!(found.out.contains("[tools.\"fs.read\"]"), "{}", found.out);
    folder.trefoil(&["run", "one.yaml", "--input", "x"]).exits(2).says(&["[tools.\"fs.read\"]"]);
    folder.write("trefoil.toml", TOOLS);
    folder.write("one.yaml", "id: one\nkind: tool\ntool: { kind: local, name: serch, params: { text: x } }\n");
    let found = folder.trefoil(&["check", "one.yaml"]);
    assert!(
        found.out.contains("`serch` is not declared") && found.out.contains("did you mean `search`?"),
        "{}",
        found.out
    );
}

/// The server is declared, so declaring it would not help.
#[test]
fn a_tool_that_is_not_in_the_list_of_its_server_is_added_to_that_list() {
    let folder = Folder::new();
    folder.write("config/config.toml", "[mcp.files]\ncommand = [\"files\"]\ntools = [\"read_file\"]\n");
    folder.write("one.yaml", "id: one\nkind: tool\ntool: { kind: mcp, server: files, name: stat }\n");
    let mut command = folder.command(&["run", "one.yaml", "--ephemeral"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    let ran = finish(command);
    ran.exits(2).says(&["no tool `stat` of the MCP server `files`", "add it to `tools` under `[mcp.files]`"]);
}

#[test]
fn a_result_that_is_not_as_declared_fails_the_step() {
    let folder = Folder::new();
    folder.write("one.yaml", "id: one\nkind: tool\ntool: { kind: local, name: search, params: { text: tea } }\n");
    folder.write(
        "config/config.toml",
        TOOLS.replace("\"search\", \"--most={most?}\"", "\"echo\", \"{{\\\"hits\\\": 3}}\", \"--most={most?}\""),
    );
    let mut command = folder.command(&["run", "one.yaml", "--input", "x"]);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    crate::world::finish(command).exits(1).says(&["TOOL_ERROR", "does not match `result`"]);
}

#[test]
fn a_secret_on_a_command_line_is_found_before_anything_runs() {
    let folder = Folder::new();
    let tools = "[tools.shown]\ncommand = ['echo', '{key}']\n[tools.hidden]\ncommand = ['cat']\n";
    folder.write("trefoil.toml", format!("{tools}[tools.called]\nflow = 'called.yaml'\n"));
    folder.write(
        "called.yaml",
        "id: called\nkind: tool\ninputSchema: { key: string }\ntool: { kind: local, name: hidden }\n",
    );
    let with = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("TREFOIL_SECRET_K", "4711-4711");
        crate::world::finish(command)
    };
    with(&["trust", "."]).exits(0);
    for (tool, hole, found) in [
        ("shown", "secrets.K", Some("the secret `K` would be a command-line argument of `shown`")),
        ("shown", "env.PATH", Some("the value of `env.PATH` would be a command-line argument of `shown`")),
        ("shown", "userQuery", None),
        ("hidden", "secrets.K", None),
        ("called", "secrets.K", Some("the secret `K` would be stored as input of the flow `called`")),
        ("called", "userQuery", None),
    ] {
        let step = format!("tool: {{ kind: local, name: {tool}, params: {{ key: \"{{{{{hole}}}}}\" }} }}");
        folder.write("one.yaml", format!("id: one\nkind: tool\n{step}\n"));
        let checked = with(&["check", "one.yaml"]);
        assert_eq!(checked.out.contains("error[secret-in-argument]"), found.is_some(), "{}", checked.out);
        let model = ["--model", "ollama:m", "--input", "x", "--no-check"];
        let ran = with(&[&["run", "one.yaml"], &model[..]].concat());
        match found {
            Some(what) => ran.exits(2).says(&["secret-in-argument", "one.yaml:3", what]),
            None => ran.exits(0),
        };
    }
}
