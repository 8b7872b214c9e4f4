//! `trefoil models` and `trefoil doctor`: what can be called from here, and whether it can.

use expect_test::expect;
use serde_json::json;

use crate::provider::{KEY, Provider};
use crate::world::{Folder, Ran, finish};

const MODELS: &str = "id: writer\nkind: llm\nmodel: { provider: openai, name: gpt-4o }\ninstruction: I\n";
const LOCAL: &str = "id: reader\nkind: llm\nmodel: { provider: openai-compatible, name: mm }\ninstruction: I\n";

fn project() -> Folder {
    let folder = Folder::new();
    folder.write(
        "config/config.toml",
        "[models]\nsmart = \"anthropic:claude-x\"\n[prices]\n\"openai-compatible:mm\" = { input = 1, output = 2 }\n",
    );
    folder.write("flows/writer.yaml", MODELS).write("flows/reader.yaml", LOCAL);
    // What does not load does not keep the rest from being listed.
    folder.write("flows/broken.yaml", "id: broken\nkind: llm\n");
    folder
}

/// With the settings of the project, and this in the environment.
fn trefoil(folder: &Folder, env: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.envs(env.iter().copied()).env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(command)
}

#[test]
fn models_are_listed_with_what_they_cost_and_who_asks_for_them() {
    let folder = project();
    let env = [("OPENAI_API_KEY", KEY), ("OPENAI_COMPATIBLE_BASE_URL", "http://10.0.0.7:8000/v1?token=abc")];
    let ran = trefoil(&folder, &env, &["models", "flows"]);
    ran.exits(0);
    expect![[r#"
        providers
          openai             key from OPENAI_API_KEY  https://api.openai.com/v1
          anthropic          needs ANTHROPIC_API_KEY  https://api.anthropic.com
          openai-compatible  no key needed            http://10.0.0.7:8000/v1 (from OPENAI_COMPATIBLE_BASE_URL, not encrypted)
          not set up: ollama, mistral, groq, deepseek, openrouter, xai, perplexity, together, google, cohere, azure

        aliases
          smart  anthropic:claude-x

        models in flows
          openai-compatible:mm  $1 in, $2 out      window unknown  reader
          openai:gpt-4o         $2.50 in, $10 out  128,000 tokens  writer
          prices are for a million tokens
    "#]].assert_eq(&ran.out);
    assert!(!ran.out.contains(KEY) && !ran.out.contains("abc"));
}

#[test]
fn the_list_is_also_there_for_programs() {
    let folder = project();
    let ran = trefoil(&folder, &[("OPENAI_API_KEY", KEY)], &["models", "flows", "--format", "json"]);
    let json = ran.exits(0).json();
    let of = |name: &str| json["providers"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    assert_eq!(of("openai")["key"], json!({"variable": "OPENAI_API_KEY", "set": true}));
    assert_eq!(of("anthropic")["status"], "needs-key");
    assert_eq!(json["aliases"], json!([{"name": "smart", "models": ["anthropic:claude-x"]}]));
    let models = json["models"].as_array().unwrap();
    let names: Vec<_> = models.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["openai-compatible:mm", "openai:gpt-4o"]);
    assert_eq!(models[0]["usd_per_million_tokens"]["input"], 1.0);
    assert!(models[0]["problem"].as_str().unwrap().contains("OPENAI_COMPATIBLE_BASE_URL"));
    assert_eq!((&models[1]["problem"], &models[1]["agents"]), (&json!(null), &json!(["writer"])));
    assert!(!ran.out.contains(KEY));
    trefoil(&folder, &[], &["models", "nowhere"]).silent(2);
}

#[test]
fn the_doctor_tries_providers_and_calls_nobody_unasked() {
    let (folder, provider) = (project(), Provider::start());
    let url = [("OPENAI_COMPATIBLE_BASE_URL", provider.address()), ("TREFOIL_STORE", "runs.db")];
    let ran = trefoil(&folder, &url, &["doctor", "flows/reader.yaml"]);
    ran.exits(0);
    assert!(provider.asked().is_empty(), "nothing that costs money is done unasked");
    let out = ran.out.replace(provider.address(), "ADDRESS");
    expect![[r#"
        ok       settings: can be read, and what they say counts
        ok       store: no runs yet; `runs.db` will be created
        ok       secrets: 0 secrets in the encrypted file
        skipped  anthropic: `anthropic` needs `ANTHROPIC_API_KEY` in the environment
        ok       openai-compatible: ADDRESS answers and offers 2 models
        warning  openai-compatible:mm: `openai-compatible` does not list it
                 did you mean `openai-compatible:m`?
        skipped  openai-compatible:mm: not called; add `--yes` to call it
        nothing is wrong
    "#]]
    .assert_eq(&out);
    expect![[r#"
        note: 1 call to try `openai-compatible:mm`: `Reply with the word OK.`, 16 tokens for the answer; at most $0.000063
    "#]].assert_eq(&ran.err);

    let ran = trefoil(&folder, &url, &["doctor", "flows/reader.yaml", "--yes", "--format", "json"]);
    assert_eq!(provider.asked(), ["Reply with the word OK."]);
    let checks = ran.exits(0).json()["checks"].clone();
    let last = checks.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["what"], &last["result"]), (&json!("openai-compatible:mm"), &json!("ok")));
}

#[test]
fn what_is_wrong_is_found_and_told_with_what_to_do() {
    let folder = project();
    folder.write("config/config.toml", "[models]\nsmart = 7\n");
    let env = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("TREFOIL_STORE", "runs.db")];
    let ran = trefoil(&folder, &env, &["doctor", "flows"]);
    expect![[r#"
        error    settings: the model of `smart` must be `"provider:name"`
        ok       store: no runs yet; `runs.db` will be created
        ok       secrets: 0 secrets in the encrypted file
        error    openai: `openai` cannot be reached at http://127.0.0.1:1: Connection refused (os error 111)
                 check the address and the network; proxies come from `HTTPS_PROXY`
        error    openai-compatible: `openai-compatible` needs `OPENAI_COMPATIBLE_BASE_URL` in the environment
        skipped  openai:gpt-4o: not called; add `--yes` to call it
        3 problems found
    "#]]
    .assert_eq(&ran.exits(1).out);
}
