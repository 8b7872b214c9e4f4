//! An edited flow that is a tool of other flows: its callers do not keep results of the earlier version.

use crate::dev::Dev;
use crate::durable::priced;
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish};

/// Calls the flow `notes`, and then a model with its result.
const CALLER: &str = "id: caller\nkind: sequential\nsteps:\n  - { ref: asks, stateKey: asked, input: { userQuery: '{{userQuery}}' } }\n  - { ref: sums, input: { text: '{{asked}}' } }\n";
const ASKS: &str = "id: asks\nkind: tool\ninputSchema: { userQuery: string }\ntool: { kind: local, name: notes, params: { input: '{{userQuery}}' } }\n";
const SUMS: &str = "id: sums\nkind: llm\ninputSchema: { text: string }\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: 'sum {{text}}'\n";
/// Passes its input on to `deeper`.
const NOTES: &str = "id: notes\nkind: tool\ntool: { kind: local, name: deeper, params: { input: '{{userQuery}}' } }\n";

fn deeper(second: &str) -> String {
    let step = |id: &str, prompt: &str| {
        format!(
            "  - agent: {{ id: {id}, kind: llm, inputSchema: {{ x: string }}, model: {{ provider: openai, name: m }}, instruction: I., prompt: '{prompt}' }}\n"
        )
    };
    let (one, two) = (step("one", "one {{x}}"), step("two", second));
    format!(
        "id: deeper\nkind: sequential\nsteps:\n{one}    input: {{ x: '{{{{userQuery}}}}' }}\n{two}    input: {{ x: '{{{{one}}}}' }}\n"
    )
}

fn world() -> (Folder, Provider) {
    let folder = Folder::new();
    folder.write("flows/caller.yaml", CALLER).write("flows/asks.yaml", ASKS).write("flows/sums.yaml", SUMS);
    folder.write("other/notes.yaml", NOTES).write("other/deep/deeper.yaml", deeper("two {{x}}"));
    let tools = "[tools.notes]\nflow = \"../other/notes.yaml\"\n[tools.deeper]\nflow = \"../other/deep/deeper.yaml\"\n";
    folder.write("flows/trefoil.toml", tools);
    let provider = Provider::start();
    ran(&folder, &provider, &["trust", "flows"]).exits(0);
    (folder, provider)
}

fn ran(folder: &Folder, provider: &Provider, args: &[&str]) -> Ran {
    finish(priced(folder, provider, args))
}

/// The newest run of the caller.
fn newest(folder: &Folder, provider: &Provider) -> String {
    let all = ran(folder, provider, &["runs", "list", "--output", "json"]).json();
    let mut runs = all["runs"].as_array().unwrap().iter();
    runs.find(|run| run["flow"] == "caller").unwrap()["run"].as_str().unwrap().to_owned()
}

const EDITED: &str = "the flow of the tool `notes` was edited";

#[test]
fn a_caller_is_brought_up_to_date_with_the_flow_that_was_edited() {
    let (folder, provider) = world();
    ran(&folder, &provider, &["run", "flows/caller.yaml", "--input", "tea"]).exits(0);
    assert_eq!(provider.asked(), ["one tea", "two one tea", "sum two one tea"]);
    let with = |run: &str, more: &[&str]| {
        ran(&folder, &provider, &[&["resume", run, "--with", "flows/caller.yaml"], more].concat())
    };
    let run = newest(&folder, &provider);

    // A comment changes nothing.
    folder.write("other/deep/deeper.yaml", format!("# Deep.\n{}", deeper("two {{x}}")));
    let same = with(&run, &["--explain"]);
    assert!(!same.exits(0).err.contains("again") && provider.asked().len() == 3, "{}", same.err);

    // Two levels below the caller.
    folder.write("other/deep/deeper.yaml", deeper("deux {{x}}"));
    let would = with(&run, &["--dry-run"]).out;
    assert!(would.contains("again  asks") && would.contains(EDITED), "{would}");
    assert_eq!(provider.asked().len(), 3);
    with(&run, &["--explain"]).exits(0).says(&["again  asks", EDITED, "again  sums"]);
    assert_eq!(provider.asked()[3..], ["deux one tea", "sum deux one tea"], "`one` is kept");
    let edited = newest(&folder, &provider);
    assert_ne!(edited, run);
    ran(&folder, &provider, &["replay", &edited]).exits(0);

    // It is up to date now.
    let same = with(&edited, &["--explain"]);
    assert!(!same.exits(0).err.contains("again") && provider.asked().len() == 5, "{}", same.err);

    // Also if the call was kept twice in a row.
    let same = with(&newest(&folder, &provider), &["--explain"]);
    assert!(!same.exits(0).err.contains("again") && provider.asked().len() == 5, "{}", same.err);
    // A file of a called flow is not one that the run started with.
    let part = ran(&folder, &provider, &["resume", &edited, "--with", "other/deep/deeper.yaml"]);
    part.exits(2).says(&["is only a part of run", "flows/caller.yaml"]);

    // Everything about the first version is known.
    folder.write("other/deep/deeper.yaml", deeper("two {{x}}"));
    let back = with(&newest(&folder, &provider), &["--explain"]);
    back.exits(0).says(&["again  asks", EDITED]);
    assert!(back.out.contains("sum two one tea"), "{}", back.out);
    assert_eq!(provider.asked().len(), 5);
}

#[test]
fn a_fork_has_the_results_of_its_run_whatever_was_edited() {
    let (folder, provider) = world();
    ran(&folder, &provider, &["run", "flows/caller.yaml", "--input", "tea"]).exits(0);
    folder.write("other/deep/deeper.yaml", deeper("deux {{x}}"));
    let run = newest(&folder, &provider);
    let forked = ran(&folder, &provider, &["runs", "fork", &run, "--from", "sums"]);
    forked.exits(0);
    assert_eq!(provider.asked()[3..], ["sum two one tea"], "{}", forked.err);
}

#[test]
fn the_loop_watches_the_flows_that_are_called_and_the_settings() {
    let (folder, provider) = world();
    provider.hang(false);
    folder.write("config/config.toml", "[models]\nsums = \"openai:m\"\n");
    let mut dev = Dev::with(priced(&folder, &provider, &["dev", "flows/caller.yaml", "--input", "tea"]), &folder);
    assert_eq!(provider.asked().len(), 3);
    folder.write("other/deep/deeper.yaml", deeper("deux {{x}}"));
    let said = dev.turn();
    assert!(said.contains(EDITED) && said.contains("   now  sum [-two-]{+deux+} one tea"), "{said}");
    assert_eq!(provider.asked()[3..], ["deux one tea", "sum deux one tea"]);
    // A flow that does not load prevents the run, and its correction lets it run.
    folder.write("other/notes.yaml", NOTES.replace("kind: tool", "kind: tol"));
    let said = dev.turn();
    assert!(said.contains("does not load"), "{said}");
    folder.write("other/notes.yaml", NOTES);
    dev.turn();
    assert_eq!(provider.asked().len(), 5);
    // Another model.
    folder.write("config/config.toml", "[models]\nsums = \"openai:m2\"\n");
    let said = dev.turn();
    assert!(said.contains("again  sums") && said.contains("m2"), "{said}");
    assert_eq!(provider.asked().len(), 6);
    dev.quits();
}
