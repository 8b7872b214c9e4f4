//! A secret in what a run is given is refused before anything is stored: in its input, in a fork's, in an answer, and for a worker.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tool_leaks::run;
use crate::world::{Folder, Ran};

const SECRET: &str = "token-canary-7788";
const SET: [(&str, &str); 1] = [("TREFOIL_SECRET_TOKEN", SECRET)];

/// A step whose tool gets the secret in its environment, with two declared inputs.
fn looking() -> Folder {
    let folder = Folder::new();
    folder.write(
        "config/config.toml",
        "[tools.look]\ncommand = [\"cat\"]\neffects = \"read_only\"\nenv = { TOKEN = \"{{secrets.TOKEN}}\" }\n",
    );
    folder.write(
        "one.yaml",
        "id: one\nkind: tool\ninputSchema:\n  q: string\n  more: { type: array, items: { type: string }, optional: true }\n\
         tool: { kind: local, name: look, params: { q: \"{{q}}\" } }\n",
    );
    folder
}

/// It did not start, says which input, and neither the output nor the store has the secret.
fn is_refused(folder: &Folder, ran: &Ran, what: &str) {
    ran.exits(2).says(&["secret-in-input", what, "the secret `TOKEN`", "`{{secrets.TOKEN}}`"]);
    let said = format!("{}{}", ran.out, ran.err);
    let stored = ["runs.db", "runs.db-wal"].map(|file| std::fs::read(folder.path().join(file)).unwrap_or_default());
    let stored = String::from_utf8_lossy(&stored.concat()).into_owned();
    for form in [SECRET.to_owned(), STANDARD.encode(SECRET), SECRET.replace('-', "%2D")] {
        assert!(!said.contains(&form) && !stored.contains(&form), "{form} in {said}");
    }
}

#[test]
fn a_secret_in_the_input_keeps_the_run_from_starting() {
    let folder = looking();
    let go = |args: &[&str]| run(&folder, &[&["run", "one.yaml", "--store", "runs.db"], args].concat(), &SET);
    is_refused(&folder, &go(&["-i", &format!("q=use {SECRET}")]), "the input `q`");
    is_refused(&folder, &go(&["-i", &format!("q={}", STANDARD.encode(SECRET))]), "the input `q`");
    let json = format!(r#"{{"q": "x", "more": ["a", "{SECRET}"]}}"#);
    let refused = go(&["--input-json", &json]);
    is_refused(&folder, &refused, "the input `more`");
    refused.says(&["one.yaml:5"]);
    // A wrong input is not quoted.
    is_refused(&folder, &go(&["--input-json", &format!(r#"{{"q": ["{SECRET}"]}}"#)]), "the input `q`");
    is_refused(&folder, &go(&["--input-json", &format!(r#"{{"q": "x", "{SECRET}": "x"}}"#)]), "the input contains");
    is_refused(&folder, &go(&["-i", &format!("q={SECRET}"), "--detach"]), "the input `q`");
    let runs = run(&folder, &["runs", "list", "--output", "json", "--store", "runs.db"], &[]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(0), "{runs}");
}

/// Only what is hidden elsewhere is a secret.
#[test]
fn an_input_with_an_environment_value_or_a_short_secret_starts() {
    let folder = looking();
    let go = |input: &str, env: &[(&str, &str)]| {
        run(&folder, &["run", "one.yaml", "--ephemeral", "-i", input], env).exits(0);
    };
    go("q=nothing", &SET);
    go("q=say word", &[("TREFOIL_SECRET_TOKEN", "word")]);
    folder.write(
        "one.yaml",
        "id: one\nkind: tool\ninputSchema: { q: string }\ntool: { kind: local, name: look, params: { q: \"{{q}} {{env.SEEN}}\" } }\n",
    );
    go("q=ordinary-value", &[SET[0], ("SEEN", "ordinary-value")]);
}

#[test]
fn a_fork_and_an_answer_with_a_secret_do_not_start() {
    let folder = looking();
    let store = ["--store", "runs.db"];
    let passed = format!("q={SECRET}");
    let began = [&["run", "one.yaml", "-i", "q=x", "--events", "jsonl"], &store[..]].concat();
    let id = run(&folder, &began, &SET).lines()[0]["run"].as_str().unwrap().to_owned();
    let edited = [&["resume", &id, "--with", "one.yaml", "-i", &passed], &store[..]].concat();
    is_refused(&folder, &run(&folder, &edited, &SET), "the input `q`");
    // The input of the first run contains what is a secret only now.
    let began = [&["run", "one.yaml", "-i", "q=say later-canary", "--events", "jsonl"], &store[..]].concat();
    let id = run(&folder, &began, &SET).lines()[0]["run"].as_str().unwrap().to_owned();
    let forked =
        run(&folder, &[&["runs", "fork", &id], &store[..]].concat(), &[("TREFOIL_SECRET_TOKEN", "later-canary")]);
    forked.exits(2).says(&["secret-in-input", "the input `q`", "`{{secrets.TOKEN}}`"]);
    folder.write(
        "asks.yaml",
        "version: \"0.1\"\nagents:\n  a: { model: \"openai:m\", system: Go. }\nnodes:\n  \
         ok: { type: human, prompt: \"Sure?\", writes: working.said }\n  go: { agent: a, writes: output.said }\n\
         edges: [{ from: ok, to: go }]\ninput: { message: it }\n",
    );
    let key = "sk-canary-of-a-provider-1";
    let args = ["run", "asks.yaml", "--input", "x", "--ephemeral", "--answer", &format!("ok={key}")];
    let asked = run(&folder, &args, &[("OPENAI_API_KEY", key)]);
    asked.exits(2).says(&["secret-in-input", "the answer to `ok` contains the key of a model provider"]);
    assert!(!asked.err.contains(key), "{}", asked.err);
}

/// A run of an earlier version may have one in its input.
#[test]
fn a_stored_run_whose_input_has_a_secret_resumes() {
    let folder = looking();
    folder.write(
        "config/config.toml",
        "[tools.look]\ncommand = [\"false\"]\neffects = \"read_only\"\nenv = { TOKEN = \"{{secrets.TOKEN}}\" }\n",
    );
    let store = ["--store", "runs.db"];
    let input = format!("q={SECRET}");
    let began = [&["run", "one.yaml", "-i", &input, "--events", "jsonl"], &store[..]].concat();
    let began = run(&folder, &began, &[("TREFOIL_SECRET_TOKEN", "was another one")]);
    let id = began.exits(1).lines()[0]["run"].as_str().unwrap().to_owned();
    folder.write(
        "config/config.toml",
        "[tools.look]\ncommand = [\"cat\"]\neffects = \"read_only\"\nenv = { TOKEN = \"{{secrets.TOKEN}}\" }\n",
    );
    let resumed = run(&folder, &[&["resume", &id], &store[..]].concat(), &SET);
    resumed.exits(0);
    assert!(!resumed.out.contains(SECRET), "{}", resumed.out);
}

#[test]
fn the_key_of_a_provider_is_refused_whatever_answers() {
    let folder = Folder::new();
    folder.write("script.yaml", "answers:\n  one: fine\n");
    folder.write("one.yaml", "id: one\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Go.\n");
    let key = "sk-canary-0123456789abcdef";
    for model in ["embedded", "scripted=script.yaml", "openai:m"] {
        let args = ["run", "one.yaml", "--store", "runs.db", "--model", model, "--input", &format!("use {key}")];
        let ran = run(&folder, &args, &[("OPENAI_API_KEY", key)]);
        ran.exits(2).says(&["secret-in-input", "the key of a model provider"]);
        assert!(!format!("{}{}", ran.out, ran.err).contains(key), "{model}");
    }
}
