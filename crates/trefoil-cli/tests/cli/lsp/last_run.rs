//! What an editor shows of the last run of a file: values of placeholders, and the effect of an edit.
#![cfg(unix)]

use serde_json::{Value, json};

use super::client::Client;
use crate::durable::{only, trefoil};
use crate::edited::{FIRST, pipeline};
use crate::provider::Provider;
use crate::world::Folder;

/// A file with a run, and an editor that has both, with these settings.
fn opened(settings: &Value) -> (Client, Provider, String) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let run = only(&folder, &provider);
    let mut options = json!({ "store": folder.path().join("runs.db") });
    options.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let mut client = started(folder, &options);
    client.open("main.yaml");
    (client, provider, run)
}

/// An editor with these options.
fn started(folder: Folder, options: &Value) -> Client {
    let mut client = Client::spawn(folder);
    let root = client.root();
    let params = json!({
        "processId": null, "rootUri": root, "capabilities": { "general": { "positionEncodings": ["utf-16"] } },
        "workspaceFolders": [{ "uri": root, "name": "w" }], "initializationOptions": options,
    });
    client.ask("initialize", params);
    client.tell("initialized", json!({}));
    client
}

fn hovered(client: &mut Client, word: &str) -> String {
    let at = client.at("main.yaml", word);
    let found = client.ask("textDocument/hover", at);
    found["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

fn lenses(client: &mut Client) -> Vec<Value> {
    let params = json!({ "textDocument": { "uri": client.uri("main.yaml") } });
    let found = client.ask("textDocument/codeLens", params);
    found.as_array().unwrap().iter().map(|lens| lens["command"].clone()).collect()
}

#[test]
fn a_placeholder_shows_what_it_was_in_the_last_run_wherever_the_edit_has_moved_it() {
    let (mut client, _provider, run) = opened(&json!({}));
    let text = hovered(&mut client, "two after {{te|xt}}");
    assert!(text.contains(&format!("in the last run ({run})")) && text.contains("say one"), "{text}");
    client.edit("main.yaml", "id: main", "# a line more\nid: main");
    let text = hovered(&mut client, "three after {{te|xt}}");
    assert!(text.contains("two after say one"), "{text}");
}

#[test]
fn an_editor_that_does_not_want_it_is_told_nothing_of_runs() {
    let (mut client, _provider, _) = opened(&json!({ "lastRun": false }));
    let text = hovered(&mut client, "two after {{te|xt}}");
    assert!(!text.contains("last run") && !text.is_empty(), "{text}");
    assert_eq!(lenses(&mut client).len(), 3);
}

#[test]
fn what_an_unsaved_edit_would_run_again_is_said_and_nothing_is_called() {
    let (mut client, provider, run) = opened(&json!({}));
    let all = lenses(&mut client);
    assert_eq!(all[3]["command"], "trefoil.resume");
    let target = std::fs::canonicalize(client.folder.path().join("main.yaml")).unwrap();
    let arguments = all[3]["arguments"].as_array().unwrap();
    assert_eq!(arguments[..3], [json!(client.uri("main.yaml")), json!(run), json!(target)]);
    let why = json!({ "command": "trefoil.why", "arguments": all[4]["arguments"] });
    let said = client.ask("workspace/executeCommand", why.clone());
    assert_eq!(said, format!("no step would run again: all 3 results of run {run} are kept"));
    client.edit("main.yaml", "two after", "two well after");
    let said = client.ask("workspace/executeCommand", why);
    let said = said.as_str().unwrap();
    for part in ["two runs again: user message", "{+well+}", "depends on the new results: three", "kept: 1 of run"] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert_eq!(provider.asked().len(), 3);
}

#[test]
fn a_file_that_was_edited_on_disk_since_still_has_its_last_run() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    std::fs::create_dir(folder.path().join("flows")).unwrap();
    folder.write("flows/main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "flows/main.yaml"]).exits(0);
    folder.write("flows/main.yaml", format!("# edited\n{}", pipeline(FIRST)));
    let options = json!({ "store": folder.path().join("runs.db") });
    let mut client = started(folder, &options);
    client.open("flows/main.yaml");
    let at = client.at("flows/main.yaml", "two after {{te|xt}}");
    let text = client.ask("textDocument/hover", at)["contents"]["value"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("in the last run") && text.contains("say one"), "{text}");
    let arguments = json!([client.uri("flows/main.yaml")]);
    let why = json!({ "command": "trefoil.why", "arguments": arguments });
    let said = client.ask("workspace/executeCommand", why);
    assert!(said.as_str().unwrap().contains("no step would run again"), "{said}");
}

/// A file of an agent with these tools and this prompt.
fn with_tools(tools: &str, prompt: &str) -> String {
    format!(
        "id: main\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: {prompt}\n\
         tools: [{{ kind: local, tools: [{tools}] }}]\n"
    )
}

#[test]
fn what_an_edit_of_an_agent_with_tools_would_run_again_is_said() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let tool = |name: &str| format!("[tools.{name}]\ncommand = [\"echo\", \"a {name}\"]\n");
    folder.write("main.yaml", with_tools("note, memo", "P."));
    folder.write("config/config.toml", tool("note") + &tool("memo"));
    let mut first = crate::durable::command(&folder, &provider, &["run", "main.yaml"]);
    first.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    crate::world::finish(first).exits(0);
    let (run, turns) = (only(&folder, &provider), provider.asked().len());
    let options = json!({ "store": folder.path().join("runs.db") });
    let mut client = started(folder, &options);
    client.open("main.yaml");
    let uri = client.uri("main.yaml");
    let why = move |client: &mut Client| {
        let asked = json!({ "command": "trefoil.why", "arguments": [uri] });
        client.ask("workspace/executeCommand", asked).as_str().unwrap_or_default().to_owned()
    };
    let said = why(&mut client);
    assert!(said.starts_with("no step would run again: all ") && said.contains(&run), "{said}");
    // A prompt is edited: the tools are known, and the first turn is what runs again.
    client.edit("main.yaml", "prompt: P.", "prompt: Q.");
    let said = why(&mut client);
    assert!(
        said.contains("main@1 runs again: user message") && said.contains("depends on the new results: "),
        "{said}"
    );
    client.edit("main.yaml", "prompt: Q.", "prompt: P.");
    // A tool is taken from the list: what is left is known.
    client.edit("main.yaml", "note, memo", "memo");
    let said = why(&mut client);
    assert!(said.contains("main@1 runs again: ") && said.contains("`note`"), "{said}");
    assert_eq!(provider.asked().len(), turns, "nothing was called");
}

#[test]
#[cfg(feature = "mcp")]
fn no_secret_is_shown_of_the_last_run_in_whatever_form_it_came_back() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let host = crate::altered_leaks::tool(&folder, "look.yaml");
    let say = "id: say\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\ninputSchema: { text: object }\nprompt: \"Say {{text}}\"\n";
    folder.write("say.yaml", say);
    folder.write(
        "main.yaml",
        "id: main\nkind: sequential\nsteps:\n  - ref: look\n  - ref: say\n    input: { text: \"{{look}}\" }\n",
    );
    let mut first = crate::durable::command(&folder, &provider, &["run", "main.yaml", "--allow-host", &host]);
    first.envs(crate::altered_leaks::SECRETS);
    crate::world::finish(first).exits(0);
    let options = json!({ "store": folder.path().join("runs.db") });
    let mut client = started(folder, &options);
    client.open("main.yaml");
    let text = hovered(&mut client, "{{lo|ok}}");
    assert!(text.contains("in the last run"), "{text}");
    crate::altered_leaks::clean(&text);
}

const MODEL: &str = "kind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\n";

/// A file that calls another one, and an editor that has the other one open.
fn caller() -> (Client, Provider, String) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    std::fs::create_dir(folder.path().join("agents")).unwrap();
    folder.write(
        "main.yaml",
        "id: main\nkind: sequential\ninputSchema: { n: string }\nsteps:\n  - ref: sub\n    input: { text: '{{n}}' }\n",
    );
    folder.write(
        "agents/sub.yaml",
        format!("id: sub\n{MODEL}inputSchema: {{ text: string }}\nprompt: 'about {{{{text}}}}'\n"),
    );
    trefoil(&folder, &provider, &["run", "main.yaml", "-i", "n=tea"]).exits(0);
    let run = only(&folder, &provider);
    let options = json!({ "store": folder.path().join("runs.db") });
    let mut client = started(folder, &options);
    client.open("agents/sub.yaml");
    (client, provider, run)
}

#[test]
fn an_edit_of_a_called_file_resumes_the_file_that_the_run_started_with() {
    let (mut client, provider, run) = caller();
    let main = std::fs::canonicalize(client.folder.path().join("main.yaml")).unwrap();
    let params = json!({ "textDocument": { "uri": client.uri("agents/sub.yaml") } });
    let found = client.ask("textDocument/codeLens", params);
    let resumes = found.as_array().unwrap().iter().find(|lens| lens["command"]["command"] == "trefoil.resume").unwrap();
    let arguments = resumes["command"]["arguments"].as_array().unwrap();
    assert_eq!(arguments[..3], [json!(client.uri("agents/sub.yaml")), json!(run), json!(main)]);
    let asked = json!({ "command": "trefoil.resume", "arguments": [client.uri("agents/sub.yaml")] });
    let said = client.ask("workspace/executeCommand", asked);
    // Complete: with the store that the client named.
    let store = client.folder.path().join("runs.db");
    let words = [&*run, "--with", main.to_str().unwrap(), "--store", store.to_str().unwrap()];
    assert_eq!(said, format!("trefoil resume {}", words.join(" ")));
    assert_eq!(arguments[3..], [said], "an editor types it into a terminal");
    let words: Vec<&str> = ["resume"].into_iter().chain(words).chain(["--dry-run"]).collect();
    crate::world::finish(crate::durable::command(&client.folder, &provider, &words)).exits(0);
    // The command line says so, too.
    let resumed = |with: &str| {
        let args = ["resume", &run, "--with", with];
        crate::world::finish(crate::durable::command(&client.folder, &provider, &args))
    };
    resumed("agents/sub.yaml").exits(2).says(&["is only a part of run", "write `--with main.yaml`"]);
    assert_eq!(provider.asked().len(), 1, "nothing was called");
    resumed("main.yaml").exits(0);
}

#[test]
fn a_placeholder_that_was_in_no_prompt_shows_nothing() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    let step = |id: &str, when: &str| {
        format!(
            "  - agent: {{ id: {id}, kind: llm, model: {{ provider: openai, name: m }}, instruction: I., \
             prompt: '{id} about {{{{n}}}}' }}\n    input: {{ n: '{{{{n}}}}' }}\n{when}"
        )
    };
    let steps = step("one", "") + &step("two", "    when: '{{n}} == \"never\"'\n");
    folder.write("main.yaml", format!("id: main\nkind: sequential\ninputSchema: {{ n: string }}\nsteps:\n{steps}"));
    trefoil(&folder, &provider, &["run", "main.yaml", "-i", "n=tea"]).exits(0);
    let options = json!({ "store": folder.path().join("runs.db") });
    let mut client = started(folder, &options);
    client.open("main.yaml");
    assert!(hovered(&mut client, "one about {{|n}}").contains("tea"));
    let skipped = hovered(&mut client, "two about {{|n}}");
    assert!(!skipped.contains("last run") && !skipped.is_empty(), "{skipped}");
}

#[test]
fn an_environment_value_is_masked_whatever_its_default_is() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write(
        "main.yaml",
        "version: \"0.1\"\nagents:\n  a: { model: \"openai:m\", system: \"At {{ env.PLACE | default('nowhere') }} now\" }\n\
         nodes:\n  n: { agent: a, writes: output.n }\n",
    );
    let mut ran = crate::durable::command(&folder, &provider, &["run", "main.yaml", "--input", "x"]);
    ran.env("PLACE", "Kx7-place");
    crate::world::finish(ran).exits(0);
    let run = only(&folder, &provider);
    let events = trefoil(&folder, &provider, &["runs", "events", &run]);
    assert!(events.exits(0).out.contains("At *** now"), "{events:?}");
    let options = json!({ "store": folder.path().join("runs.db") });
    let mut client = started(folder, &options);
    client.open("main.yaml");
    let text = hovered(&mut client, "env.PL|ACE |");
    assert!(text.contains("text\n***\n") && !text.contains("Kx7"), "{text}");
}

#[test]
fn a_server_that_does_not_respond_holds_nothing_up() {
    // It accepts connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://me@{}/runs", silent.local_addr().unwrap());
    let folder = Folder::new();
    folder.write("main.yaml", pipeline(FIRST));
    let mut client = started(folder, &json!({ "store": store }));
    client.open("main.yaml");
    let began = std::time::Instant::now();
    for _ in 0..5 {
        assert!(!hovered(&mut client, "two after {{te|xt}}").is_empty());
    }
    assert_eq!(lenses(&mut client).len(), 3);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_run_is_found_however_many_runs_of_others_are_newer_and_read_again_when_it_goes_on() {
    use trefoil_host::engine::Engine;
    use trefoil_project::load::{LoadOptions, load_target};
    use trefoil_project::target::LoadTarget;
    let (mut client, _provider, run) = opened(&json!({}));
    let other = client.folder.path().join("other.yaml");
    std::fs::write(&other, format!("id: other\n{MODEL}prompt: P.\n")).unwrap();
    let target = LoadTarget::parse(other.to_str().unwrap());
    let flow =
        trefoil::Flow::from(load_target(&target, &LoadOptions::default()).map_err(|_| "it does not load").unwrap());
    let location = trefoil::store::StoreLocation::File(client.folder.path().join("runs.db"));
    let store = location.open(trefoil::store::StoreOptions::default()).unwrap();
    let engine = Engine::new().store(store).for_others();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..310 {
            engine.prepare_run(&flow).unwrap().submit_run(&serde_json::Value::Null).await.unwrap();
        }
    });
    let text = hovered(&mut client, "two after {{te|xt}}");
    assert!(text.contains(&format!("in the last run ({run})")), "{text}");
}
