//! A name in the `tools` of an AEGIS agent that is the name of an MCP server.

use crate::provider::{KEY, Provider};
use crate::tool_neighbours::with_server;
use crate::world::{Folder, Ran, finish};

const TOOL: &str = "[tools.bad]\ncommand = [\"echo\", \"from the program\"]\n";
/// A tool of the server.
const OF_SERVER: &str = "mcp__bad__greets";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write(
        "one.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model: \"openai:m\" }\n  task: { instruction: Go. }\n  tools: [bad]\n",
    );
    folder
}

/// The settings: the server, and a program of the same name.
fn declares(folder: &Folder, server: bool, tool: bool) {
    with_server(folder, &format!("tools = [\"greets\"]\n{}", if tool { TOOL } else { "" }));
    if !server {
        folder.write("config/config.toml", TOOL);
    }
}

/// `works`: the provider has the model.
fn trefoil(folder: &Folder, provider: &Provider, works: bool, args: &[&str]) -> Ran {
    let mut command = folder.command(&[args, &["--store", "runs.db"]].concat());
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    let address = if works { provider.address().to_owned() } else { provider.address().replace("/v1", "/nowhere") };
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", address);
    finish(command)
}

fn trace(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("t.json")).unwrap()
}

#[test]
fn the_name_of_a_server_offers_its_tools_unless_another_tool_has_it() {
    let (folder, provider) = (folder(), Provider::start());
    let run = ["run", "one.yaml", "--input", "x", "--trace", "t.json"];
    declares(&folder, true, false);
    trefoil(&folder, &provider, true, &run).exits(0);
    assert!(trace(&folder).contains(OF_SERVER) && trace(&folder).contains("hello"), "{}", trace(&folder));
    let checked = trefoil(&folder, &provider, true, &["check", "one.yaml"]);
    assert!(!checked.out.contains("missing-tool"), "{}", checked.out);
    declares(&folder, true, true);
    trefoil(&folder, &provider, true, &run).exits(0);
    assert!(!trace(&folder).contains(OF_SERVER) && trace(&folder).contains("from the program"), "{}", trace(&folder));
}

#[test]
fn a_name_means_the_same_when_the_run_is_resumed() {
    // What is declared at the start, what is declared later, and what is missing then.
    for (begins, later, missing) in
        [((true, false), (false, true), "no MCP server `bad`"), ((true, true), (true, false), "`bad`")]
    {
        let (folder, provider) = (folder(), Provider::start());
        declares(&folder, begins.0, begins.1);
        trefoil(&folder, &provider, false, &["run", "one.yaml", "--input", "x"]).exits(1).says(&["no such model"]);
        let runs = trefoil(&folder, &provider, true, &["runs", "list", "--output", "json"]).json();
        let id = runs["runs"][0]["run"].as_str().unwrap().to_owned();
        let resume = ["resume", &*id, "--trace", "t.json"];
        declares(&folder, later.0, later.1);
        trefoil(&folder, &provider, true, &resume).silent(2).says(&["missing-tool", missing]);
        // Both are declared: it is still the one of the start. Also if the file is gone.
        std::fs::remove_file(folder.path().join("one.yaml")).unwrap();
        declares(&folder, true, true);
        trefoil(&folder, &provider, true, &resume).exits(0);
        assert_eq!(trace(&folder).contains(OF_SERVER), !begins.1, "{}", trace(&folder));
    }
}
