//! Actions that create something missing: after applying them, nothing is missing and there are no new findings.

use serde_json::{Value, json};

use super::{AEGIS, AGNTZ, Client, SIRENSPEC, rules};
use crate::world::Folder;

/// A client that can create files.
fn start(folder: Folder) -> Client {
    let capabilities =
        json!({ "workspace": { "workspaceEdit": { "documentChanges": true, "resourceOperations": ["create"] } } });
    Client::start_as(folder, capabilities).0
}

fn offered(client: &mut Client, context: &str) -> Vec<Value> {
    let mut params = client.at("a.yaml", context);
    let at = params["position"].clone();
    params["range"] = json!({ "start": at, "end": at });
    params["context"] = json!({ "diagnostics": [], "only": ["quickfix"] });
    client.ask("textDocument/codeAction", params).as_array().unwrap().clone()
}

fn titles(client: &mut Client, context: &str) -> Vec<String> {
    let all = offered(client, context);
    let made = all.iter().map(|a| a["title"].as_str().unwrap().to_owned());
    made.filter(|t| ["create", "add ", "declare", "pass"].iter().any(|verb| t.starts_with(verb))).collect()
}

/// Applies an action; returns the text of `a.yaml` and the names of new files.
fn taken(client: &mut Client, context: &str, title: &str) -> (String, Vec<String>) {
    let all = offered(client, context);
    let action = all.iter().find(|a| a["title"] == title);
    let titles: Vec<&str> = all.iter().map(|a| a["title"].as_str().unwrap()).collect();
    let edit = &action.unwrap_or_else(|| panic!("`{title}` is not among {titles:?}"))["edit"];
    let before = client.text("a.yaml");
    let mut new = Vec::new();
    for change in edit["documentChanges"].as_array().into_iter().flatten() {
        if change["kind"] == "create" {
            let path = change["uri"].as_str().unwrap().strip_prefix(&format!("{}/", client.root())).unwrap();
            client.folder.write(path, "");
            new.push(path.to_owned());
        } else {
            let path =
                change["textDocument"]["uri"].as_str().unwrap().strip_prefix(&format!("{}/", client.root())).unwrap();
            client.folder.write(path, change["edits"][0]["newText"].as_str().unwrap());
        }
    }
    let after = client.applied("a.yaml", edit);
    client.edit("a.yaml", &before, &after);
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": [] }));
    (after, new)
}

/// The rules of the current findings in the files.
fn found(client: &mut Client, names: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    for name in names {
        client.folder.write(name, client.text(name));
        let ran = client.folder.trefoil(&["check", "--format", "json", name]);
        let all = ran.json()["diagnostics"].as_array().unwrap().clone();
        out.extend(all.iter().filter(|d| d["severity"] != "info").map(|d| d["rule"].as_str().unwrap().to_owned()));
    }
    out
}

fn with(text: &str) -> Client {
    let folder = Folder::new();
    folder.write("a.yaml", text);
    let mut client = start(folder);
    client.open("a.yaml");
    client
}

#[test]
fn a_missing_agent_gets_a_file() {
    let calls = "id: a\nkind: sequential\ninputSchema: { topic: string }\nsteps:\n  - ref: writer\n    input: { topic: \"{{topic}}\" }\n";
    let mut client = with(calls);
    let (after, new) = taken(&mut client, "ref: wri‸ter", "create agent `writer` in `writer.yaml`");
    assert_eq!((after.as_str(), new), (calls, vec!["writer.yaml".to_owned()]));
    assert_eq!(found(&mut client, &["a.yaml", "writer.yaml"]), [""; 0]);
    assert!(client.text("writer.yaml").contains("topic: {{topic}}"), "what it is given is read");

    let folder = Folder::new();
    folder.write("agents/other.yaml", "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: other, version: \"1.0.0\" }\nspec: { runtime: { model: smart }, task: { instruction: x } }\n");
    folder.write(
        "a.yaml",
        AEGIS.replace("kind: System\n      command: echo hi", "kind: Agent\n      agent: helper\n      input: x"),
    );
    let mut client = start(folder);
    client.open("a.yaml");
    let (_, new) = taken(&mut client, "agent: hel‸per", "create agent `helper` in `agents/helper.yaml`");
    assert_eq!(new, ["agents/helper.yaml"], "where the other agents are");
    assert_eq!(found(&mut client, &["agents/helper.yaml"]), [""; 0]);
    assert!(!found(&mut client, &["a.yaml"]).contains(&"unknown-reference".to_owned()));

    for (text, context) in [
        (SIRENSPEC.replacen("agent: planner", "agent: helper", 1), "agent: hel‸per"),
        (SIRENSPEC.replace("agents:\n  planner:\n    model: \"openai:gpt-4o-mini\"\n    system: |\n      \u{1f98a} Plan for {{ inputs.audience | default('all') }}.\n      Be short.\n", "").replace("planner", "helper").replace(", audience: children", ""), "agent: hel‸per"),
        (SIRENSPEC.replacen("agent: planner", "agent: helper", 1).replace('\n', "\r\n"), "agent: hel‸per"),
    ] {
        let mut client = with(&text);
        let (after, new) = taken(&mut client, context, "add agent `helper`");
        assert!(new.is_empty() && after.contains("helper:"), "{after}");
        assert_eq!(after.contains("\r\n"), text.contains("\r\n"));
        assert!(!after.replace("\r\n", "").contains('\n') || !text.contains('\r'), "line ends are those of the file");
        assert_eq!(found(&mut client, &["a.yaml"]), [""; 0], "{after}");
    }
}

#[test]
fn a_missing_state_or_node_is_put_behind_the_others() {
    let mut client = with(&AEGIS.replace("condition: always, target: SHOW", "condition: always, target: NEXT"));
    let (after, _) = taken(&mut client, "target: NE‸XT", "add state `NEXT`");
    assert!(after.ends_with("    NEXT:\n      kind: System\n      command: echo done\n"), "{after}");
    assert!(!found(&mut client, &["a.yaml"]).contains(&"unknown-reference".to_owned()));
    // A list of states.
    let list = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: a }\nspec:\n  states:\n    - name: ONE\n      kind: System\n      command: echo hi\n      transitions: [{ target: TWO }]\n";
    let mut client = with(list);
    let (after, _) = taken(&mut client, "target: TW‸O", "add state `TWO`");
    assert_eq!(after, format!("{list}    - name: TWO\n      kind: System\n      command: echo done\n"));
    assert_eq!(found(&mut client, &["a.yaml"]), [""; 0]);

    let mut client = with(
        &SIRENSPEC
            .replace("to: write", "to: check")
            .replace("  write:\n    agent: planner\n    writes: output.text\n", ""),
    );
    let (after, _) = taken(&mut client, "to: che‸ck", "add node `check`");
    assert!(
        after.contains("    writes: working.outline\n  check:\n    agent: planner\n    writes: output.check\nedges:"),
        "{after}"
    );
    assert_eq!(found(&mut client, &["a.yaml"]), [""; 0]);
    // In braces.
    let flow = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: x } }\nnodes: { one: { agent: a, writes: output.one } }\nedges: [{ from: one, to: two }]\ninput: { message: hi }\n";
    let mut client = with(flow);
    let (after, _) = taken(&mut client, "to: tw‸o", "add node `two`");
    assert!(
        after.contains("nodes: { one: { agent: a, writes: output.one }, two: { agent: a, writes: output.two } }"),
        "{after}"
    );
    assert_eq!(found(&mut client, &["a.yaml"]), [""; 0]);
}

#[test]
fn a_missing_workflow_gets_a_file() {
    let flow = SIRENSPEC.replace(
        "    agent: planner\n    writes: working.outline",
        "    type: workflow\n    ref: ./parts/plan.yaml\n    inputs: { topic: x }\n    writes: working.outline",
    );
    let mut client = with(&flow);
    let (_, new) = taken(&mut client, "./parts/pl‸an.yaml", "create workflow `./parts/plan.yaml`");
    assert_eq!(new, ["parts/plan.yaml"]);
    assert_eq!(found(&mut client, &["parts/plan.yaml"]), [""; 0]);
    assert!(!found(&mut client, &["a.yaml"]).contains(&"unknown-reference".to_owned()));
    client.edit("a.yaml", "./parts/plan.yaml", "../../outside.yaml");
    assert_eq!(titles(&mut client, "../../out‸side.yaml"), [""; 0], "nothing is made outside");

    let call = AEGIS.replace(
        "kind: System\n      command: echo hi",
        "kind: Subworkflow\n      workflow_id: part\n      mode: blocking\n      result_key: made",
    );
    let mut client = with(&call);
    let (_, new) = taken(&mut client, "workflow_id: pa‸rt", "create workflow `part` in `part.yaml`");
    assert_eq!(new, ["part.yaml"]);
    assert_eq!(found(&mut client, &["part.yaml"]), [""; 0]);
}

#[test]
fn an_input_that_is_read_is_declared() {
    let mut client = with(&AGNTZ.replace("{{subject}}", "{{subject}} {{tone}}"));
    let (after, _) = taken(&mut client, "{{to‸ne}}", "declare input `tone`");
    assert!(after.contains("inputSchema: { subject: string, tone: string }"), "{after}");
    assert_eq!(found(&mut client, &["a.yaml"]), [""; 0]);
    // For an inline agent of the step, which has no schema yet.
    let mut client = with(&AGNTZ.replace("about {{topic}}", "about {{title}}"));
    let (after, _) = taken(&mut client, "{{ti‸tle}}", "declare input `title`");
    assert!(after.contains("      kind: llm\n      inputSchema:\n        title: string\n      model:"), "{after}");

    let schema = "metadata:\n  name: review\n  input_schema:\n    type: object\n    additionalProperties: false\n    properties:\n      a: { type: string }\n";
    let mut client = with(
        &AEGIS.replace("metadata: { name: review }\n", schema).replace("echo hi", "echo {{input.topic}} {{input.a}}"),
    );
    let (after, _) = taken(&mut client, "{{input.to‸pic}}", "declare input `topic`");
    assert!(after.contains("      a: { type: string }\n      topic: { type: string }\nspec:"), "{after}");

    let mut client = with(&SIRENSPEC.replace("Be short.", "Be {{ inputs.tone }}."));
    let (after, _) = taken(&mut client, "inputs.to‸ne", "declare input `tone`");
    assert!(after.contains("input: { message: Hello, audience: children, tone: \"\" }"), "{after}");
    assert_eq!(found(&mut client, &["a.yaml"]), [""; 0]);
}

#[test]
fn what_a_call_leaves_out_is_passed() {
    let writer = "id: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { topic: string, tone: string }\ninstruction: \"{{topic}} {{tone}}\"\nprompt: go\n";
    let head = "id: a\nkind: sequential\ninputSchema: { topic: string }\nsteps:\n  - ref: writer\n";
    for (input, title, expected) in [
        ("", "pass `topic`, `tone`", "  - ref: writer\n    input: { topic: \"{{topic}}\", tone: \"\" }\n"),
        (
            "    input: { tone: \"{{topic}}\" }\n",
            "pass `topic`",
            "    input: { tone: \"{{topic}}\", topic: \"{{topic}}\" }\n",
        ),
        (
            "    input:\n      tone: \"{{topic}}\"\n",
            "pass `topic`",
            "      tone: \"{{topic}}\"\n      topic: \"{{topic}}\"\n",
        ),
    ] {
        let folder = Folder::new();
        folder.write("writer.yaml", writer).write("a.yaml", format!("{head}{input}"));
        let mut client = start(folder);
        client.open("a.yaml");
        assert_eq!(rules(&client.diagnostics("a.yaml"))[0], "missing-input");
        let (after, _) = taken(&mut client, "ref: wri‸ter", title);
        assert!(after.ends_with(expected), "{after}");
        assert!(!found(&mut client, &["a.yaml"]).contains(&"missing-input".to_owned()), "{after}");
        assert_eq!(titles(&mut client, "ref: wri‸ter"), [""; 0], "once is enough");
    }
}

#[test]
fn what_a_workflow_needs_is_passed() {
    let child = "version: \"0.1\"\ninput: { style: }\nagents:\n  a: { model: \"openai:m\", system: \"In {{ inputs.style }}\" }\nnodes:\n  n: { agent: a, writes: output.text }\n";
    let main = "version: \"0.1\"\nnodes:\n  sub: { type: workflow, ref: ./child.yaml, writes: output.text }\ninput: { message: hi }\n";
    let folder = Folder::new();
    folder.write("child.yaml", child).write("a.yaml", main);
    let mut client = start(folder);
    client.open("a.yaml");
    assert!(rules(&client.diagnostics("a.yaml")).contains(&"missing-input"));
    let (after, _) = taken(&mut client, "ref: ./ch‸ild.yaml", "pass `style`");
    assert!(after.contains("inputs: { style: \"\" }"), "{after}");
    assert!(!found(&mut client, &["a.yaml"]).contains(&"missing-input".to_owned()), "{after}");
}

#[test]
fn nothing_is_made_where_it_may_be_there() {
    // Nothing is offered for invalid YAML, for an impossible name, and for a client that cannot create files.
    let calls = "id: a\nkind: sequential\nsteps:\n  - ref: writer\n";
    let mut client = with(&format!("{calls}output: {{ x: [\n"));
    assert_eq!(titles(&mut client, "ref: wri‸ter"), [""; 0]);
    for name in ["../writer", "w r", "wri{{ter"] {
        let mut client = with(&calls.replace("writer", name));
        assert_eq!(titles(&mut client, &format!("ref: ‸{name}")), [""; 0], "{name}");
    }
    let mut client = super::one(calls);
    assert_eq!(titles(&mut client, "ref: wri‸ter"), [""; 0]);
    // A tag that is being typed.
    let mut client = with(&AGNTZ.replace("{{topic}}.", "{{ti"));
    assert_eq!(titles(&mut client, "about {{t‸i"), [""; 0]);
    // Things that exist.
    let mut client = with(AGNTZ);
    for context in ["{{top‸ic}}.", "{{sub‸ject}}", "id: wri‸ter", "kind: se‸quential"] {
        assert_eq!(titles(&mut client, context), [""; 0], "{context}");
    }
}

#[test]
fn a_missing_environment_file_is_made_with_the_names_that_are_read() {
    let flow = format!(
        "env_file: ./config/.env\n{}",
        SIRENSPEC.replace("Be short.", "Be short. {{ env.TONE }} {{ env.TONE }} {{ env.HOST }}")
    );
    let mut client = with(&flow);
    assert_eq!(titles(&mut client, "ver‸sion"), [""; 0], "only at the path");
    let title = "create environment file `./config/.env`";
    let all = offered(&mut client, "./config/‸.env");
    let text = all.iter().find(|a| a["title"] == title).unwrap()["edit"].to_string();
    assert!(text.contains("HOST=\\nTONE=\\n"), "{text}");
    let (_, new) = taken(&mut client, "./config/‸.env", title);
    assert_eq!(new, ["config/.env"]);
    assert_eq!(titles(&mut client, "./config/‸.env"), [""; 0], "it exists");
    client.edit("a.yaml", "./config/.env", "../outside/.env");
    assert_eq!(titles(&mut client, "../outside/‸.env"), [""; 0], "nothing is made outside");
}
