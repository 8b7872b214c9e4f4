//! Requests for a whole file: links, lenses, symbols of all files.

use serde_json::{Value, json};

use super::{AEGIS, AGNTZ, Client, SIRENSPEC, one, whole};
use crate::world::Folder;

#[test]
fn paths_to_files_of_the_project_are_links() {
    let folder = Folder::new();
    folder.write(".env", "A=b\n").write("parts/step.yaml", SIRENSPEC).write("notes.md", "x");
    let flow = "version: \"0.1\"\nenv_file: .env\nnodes:\n  part: { ref: ./parts/step.yaml, writes: output.a }\n  lost: { ref: ./nowhere.yaml }\n  out: { ref: ../../../../etc/passwd }\ninput: { message: v1.5 }\n";
    folder.write("a.yaml", flow);
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let found = whole(&mut client, "textDocument/documentLink", "a.yaml");
    let shown = |l: &Value| {
        let target = l["target"].as_str().unwrap().strip_prefix(&client.root()).unwrap().to_owned();
        (client.slice("a.yaml", &l["range"]), target)
    };
    let found: Vec<_> = found.as_array().unwrap().iter().map(shown).collect();
    let is = |text: &str, target: &str| (text.to_owned(), target.to_owned());
    assert_eq!(found, [is(".env", "/.env"), is("./parts/step.yaml", "/parts/step.yaml")]);
}

/// The commands of lenses.
const ALL: [&str; 5] = ["trefoil.run", "trefoil.plan", "trefoil.dev", "trefoil.resume", "trefoil.why"];

#[test]
fn programs_have_lenses_to_run_and_to_plan_them() {
    for (text, named) in [(AGNTZ, "pipeline"), (AEGIS, "review")] {
        let mut client = one(text);
        let found = whole(&mut client, "textDocument/codeLens", "a.yaml");
        assert_eq!(client.slice("a.yaml", &found[0]["range"]), named);
        assert_eq!(found[0]["command"]["command"], "trefoil.run");
        assert_eq!(found[1]["command"]["command"], "trefoil.plan");
        assert_eq!(found[1]["command"]["arguments"], json!([client.uri("a.yaml")]));
        assert_eq!(found[2]["command"]["command"], "trefoil.dev");
    }
    let mut client = one(SIRENSPEC);
    let found = whole(&mut client, "textDocument/codeLens", "a.yaml");
    assert_eq!((found.as_array().unwrap().len(), &found[0]["range"]["start"]["line"]), (3, &json!(0)));
    let mut client = one("services: {}\n");
    assert_eq!(whole(&mut client, "textDocument/codeLens", "a.yaml"), json!([]), "somebody else's");
}

#[test]
fn a_plan_is_shown_with_unsaved_changes_and_nothing_is_run() {
    let folder = Folder::new();
    folder.write("a.yaml", SIRENSPEC);
    let (mut client, said) = Client::start(folder);
    assert_eq!(said["capabilities"]["executeCommandProvider"]["commands"], json!(ALL));
    client.open("a.yaml");
    client.edit("a.yaml", "openai:gpt-4o-mini", "openai:other-model");
    let arguments = json!([client.uri("a.yaml")]);
    let plan = client.ask("workspace/executeCommand", json!({ "command": "trefoil.plan", "arguments": arguments }));
    assert!(plan.as_str().unwrap().contains("other-model"), "{plan}");
    let shown = client.wait(|m| m["method"] == "window/showMessage");
    assert_eq!(shown["params"]["message"], plan);
    let run = client.ask("workspace/executeCommand", json!({ "command": "trefoil.run", "arguments": arguments }));
    assert_eq!(run, format!("trefoil run {}", client.folder.path().join("a.yaml").display()));
    client.edit("a.yaml", "agent: planner", "agent: nobody");
    for (command, arguments) in
        [("trefoil.plan", arguments), ("trefoil.plan", json!([])), ("trefoil.plan", json!([3])), ("rm", json!([]))]
    {
        let params = json!({ "command": command, "arguments": arguments });
        client.try_ask("workspace/executeCommand", params).unwrap_err();
    }
}

#[test]
fn a_client_with_commands_of_its_own_runs_them() {
    let folder = Folder::new();
    let commands = json!({ "experimental": { "commands": { "commands": ["trefoil.run", "trefoil.plan"] } } });
    let (_, said) = Client::start_as(folder, commands);
    let left = &said["capabilities"]["executeCommandProvider"]["commands"];
    assert_eq!(*left, json!(ALL[2..]), "it would register the others twice");
}

#[test]
fn symbols_of_all_files_are_found_by_a_part_of_their_name() {
    let folder = Folder::new();
    folder.write("a.yaml", AGNTZ).write("b.yaml", AEGIS).write("c.yaml", SIRENSPEC);
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let mut found = |query: &str| {
        let found = client.ask("workspace/symbol", json!({ "query": query }));
        let shown = |s: &Value| {
            let place = client.places(&s["location"]).remove(0);
            format!("{place} in {}", s["containerName"].as_str().unwrap_or("-"))
        };
        found.as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(found("WRI")[..2], ["b.yaml:07 WRITE in review", "c.yaml:12 write in c"]);
    assert_eq!(found("plnr"), ["c.yaml:03 planner in c"]);
    assert_eq!(found("no such thing"), [""; 0]);
    assert!(found("").len() > 8);
}
