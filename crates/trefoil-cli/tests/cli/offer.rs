//! `trefoil models` and `trefoil doctor`: the available providers and models, and whether they work.

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
    // A manifest that does not load does not affect the list of the others.
    folder.write("flows/broken.yaml", "id: broken\nkind: llm\n");
    folder
}

/// Runs the binary with the project's settings and these environment variables.
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
          prices are per million tokens
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
        ok       settings: can be read and apply
        ok       store: no runs yet; `runs.db` will be created
        ok       secrets: none are set
        skipped  anthropic: `anthropic` needs `ANTHROPIC_API_KEY` in the environment
        ok       openai-compatible: ADDRESS answers and offers 2 models
        warning  openai-compatible:mm: `openai-compatible` does not list it
                 did you mean `openai-compatible:m`?
        skipped  openai-compatible:mm: not called; add `--yes` to call the models
        1 warning found
    "#]]
    .assert_eq(&out);
    expect![[r#"
        note: 1 call to test `openai-compatible:mm`: `Reply with the word OK.`, 16 tokens for the answer; at most $0.000063
    "#]].assert_eq(&ran.err);
    // Warnings are also counted if there are problems.
    let settings = std::fs::read_to_string(folder.path().join("config/config.toml")).unwrap_or_default();
    folder.write("config/config.toml", format!("{settings}\n[mcp.calc]\ncommand = [\"no-such-server\"]\n"));
    let ran = trefoil(&folder, &url, &["doctor", "flows/reader.yaml"]);
    assert!(ran.exits(1).out.ends_with("\n1 problem and 1 warning found\n"), "{}", ran.out);
    folder.write("config/config.toml", settings);

    let ran = trefoil(&folder, &url, &["doctor", "flows/reader.yaml", "--yes", "--format", "json"]);
    assert_eq!(provider.asked(), ["Reply with the word OK."]);
    let checks = ran.exits(0).json()["checks"].clone();
    let last = checks.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["what"], &last["result"]), (&json!("openai-compatible:mm"), &json!("ok")));
}

#[test]
fn the_doctor_tries_each_source_of_secrets() {
    let folder = project();
    folder.write(
        "config/config.toml",
        "[secrets]\ncommand = [\"no-such-program\", \"read\", \"{name}\"]\nenv_file = \"none.env\"\n",
    );
    folder.write("config/secrets.json", "{");
    let env = [("TREFOIL_SECRETS_DIR", "flows"), ("TREFOIL_SECRET_A", "x"), ("TREFOIL_STORE", "runs.db")];
    let ran = trefoil(&folder, &env, &["doctor", "flows/writer.yaml"]);
    let said = ran.exits(1).out.replace(&folder.path().display().to_string(), "HERE");
    let said: String = said.lines().filter(|line| line.contains("secrets")).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        ok       secrets (environment): 1 secret in `TREFOIL_SECRET_*`
        error    secrets (env file): `HERE/config/none.env`: no such file
        ok       secrets (folder): `flows`
        error    secrets (command): `no-such-program` is in no folder of `PATH`
        error    secrets (encrypted file): `HERE/config/secrets.json` is damaged, or written by a later version
    "#]]
    .assert_eq(&said);
}

#[test]
fn the_doctor_searches_the_programs_of_tools_and_servers() {
    let folder = project();
    let tool = |name: &str, program: &str| format!("[tools.{name}]\ndescription = \"d\"\ncommand = [\"{program}\"]\n");
    let server = "[mcp.calc]\ncommand = [\"no-such-server\"]\n";
    let tools = [tool("one", "sh"), tool("two", "./no-such-file"), server.to_owned()].concat();
    folder.write("config/config.toml", tools);
    let ran = trefoil(&folder, &[("TREFOIL_STORE", "runs.db")], &["doctor", "flows/writer.yaml"]);
    let said = ran.exits(1).out.replace(&folder.path().display().to_string(), "HERE");
    let said: String = said.split_inclusive('\n').skip_while(|line| !line.contains("[tools.one]")).take(5).collect();
    expect![[r#"
        ok       [tools.one]: `sh` is installed; it was not started
        error    [tools.two]: `HERE/config/no-such-file` does not exist
                 install it, or correct `command` of [tools.two]
        error    [mcp.calc]: `no-such-server` is in no folder of `PATH`
                 install it, or correct `command` of [mcp.calc]
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_is_wrong_is_found_and_told_with_what_to_do() {
    let folder = project();
    folder.write("config/config.toml", "[models]\nsmart = 7\n");
    let env = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("TREFOIL_STORE", "runs.db")];
    let ran = trefoil(&folder, &env, &["doctor", "flows"]);
    let here = folder.path().display().to_string();
    expect![[r#"
        error    HERE/config/config.toml:2: the model of `smart` must be `"provider:name"`, or a list of at most 8 of them
        ok       store: no runs yet; `runs.db` will be created
        ok       secrets: none are set
        error    flows/broken.yaml:1: an agent needs `model`
        error    flows/broken.yaml:1: an agent needs `instruction`
        error    flows/reader.yaml:3: `OPENAI_COMPATIBLE_BASE_URL` is not set: `reader` (1 agent)
                 set `OPENAI_COMPATIBLE_BASE_URL`, or choose another model with `--model provider:name`
        error    openai: `openai` cannot be reached at http://127.0.0.1:1: Connection refused (os error 111)
                 check the address and the network; proxies come from `HTTPS_PROXY`
        skipped  openai-compatible: `openai-compatible` needs `OPENAI_COMPATIBLE_BASE_URL` in the environment
        skipped  openai:gpt-4o: not called; add `--yes` to call the models
        5 problems found
    "#]]
    .assert_eq(&ran.exits(1).out.replace(&here, "HERE"));
}

/// The user's `trefoil.toml`: the first model of the agent does not exist.
fn with_fallback(folder: &Folder) {
    let models = "[models]\nreader = [\"openai-compatible:mm\", \"ollama:nn\"]\n";
    let prices =
        "[prices]\n\"openai-compatible:mm\" = { input = 1, output = 2 }\n\"ollama:nn\" = { input = 10, output = 20 }\n";
    folder.write("config/config.toml", format!("{models}{prices}"));
}

#[test]
fn another_model_answers_where_the_first_cannot_and_everybody_is_told() {
    let (folder, provider) = (project(), Provider::start());
    with_fallback(&folder);
    let env = [("OPENAI_COMPATIBLE_BASE_URL", "http://127.0.0.1:1/v1"), ("OLLAMA_BASE_URL", provider.address())];
    let args = ["run", "flows/reader.yaml", "-i", "hello", "--max-cost", "1", "--events", "jsonl", "--trace", "t.json"];
    let ran = trefoil(&folder, &env, &args);
    let events = ran.exits(0).lines();
    let of =
        |kind: &str| events.iter().find(|event| event["event"] == kind).unwrap_or_else(|| panic!("{ran:?}")).clone();
    let warning = of("warning")["message"].as_str().unwrap().to_owned();
    expect!["`ollama:nn` answered instead of `openai-compatible:mm`: `openai-compatible` cannot be reached at http://127.0.0.1:1: Connection refused (os error 111)"].assert_eq(&warning);
    // 10 input and 3 output tokens, at the prices of the model that answered.
    assert_eq!(of("run_finished")["usage"]["cost_micro"], 160);
    assert_eq!(provider.asked().len(), 1);
    let trace: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    let call = &trace["steps"][0]["calls"][0];
    assert_eq!((&call["model"], &call["instead"]), (&"openai-compatible:mm".into(), &"ollama:nn".into()));
    let before = &call["before"][0];
    assert_eq!((&before["model"], &before["usage"]), (&call["model"], &serde_json::Value::Null), "it used nothing");
    assert!(before["why"].as_str().unwrap().contains("cannot be reached"), "{before}");
    let schema = folder.trefoil(&["schema", "trace-output"]).json();
    jsonschema::draft202012::new(&schema).unwrap().validate(&trace).unwrap();
    let shown = trefoil(&folder, &[], &["trace", "t.json", "--step", "reader"]);
    let all =
        ["instead: ollama:nn", "before: openai-compatible:mm did not answer: `openai-compatible` cannot be reached"];
    assert!(all.iter().all(|said| shown.out.contains(said)), "{shown:?}");
}

#[test]
fn a_run_shows_the_model_that_answered() {
    let (folder, provider) = (project(), Provider::start());
    with_fallback(&folder);
    let run = |args: &[&str]| {
        let mut command = folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
        command.env("OPENAI_COMPATIBLE_BASE_URL", "http://127.0.0.1:1/v1").env("OLLAMA_BASE_URL", provider.address());
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        finish(command)
    };
    run(&["run", "flows/reader.yaml", "-i", "hello"]).exits(0);
    let listed = run(&["runs", "list", "--output", "json"]).json();
    let shown = run(&["runs", "show", listed["runs"][0]["run"].as_str().unwrap()]);
    assert!(shown.exits(0).out.contains("ollama:nn") && !shown.out.contains("openai-compatible:mm"), "{shown:?}");
}

#[test]
fn a_limit_on_money_goes_by_the_dearest_of_the_models() {
    let (folder, provider) = (project(), Provider::start());
    with_fallback(&folder);
    let env = [("OPENAI_COMPATIBLE_BASE_URL", provider.address()), ("OLLAMA_BASE_URL", "http://127.0.0.1:1/v1")];
    // An answer of 1,000 tokens would cost $0.002 with the first model, and $0.02 with the other.
    let ran = trefoil(&folder, &env, &["run", "flows/reader.yaml", "-i", "hello", "--max-cost", "0.01"]);
    assert!(ran.exits(1).err.contains("BUDGET_EXCEEDED"), "{ran:?}");
    assert!(provider.asked().is_empty());
    trefoil(&folder, &env, &["run", "flows/reader.yaml", "-i", "hello", "--max-cost", "0.03"]).exits(0);
}

#[test]
fn a_missing_key_is_no_reason_not_to_start_where_another_model_can_answer() {
    let (folder, provider) = (project(), Provider::start());
    with_fallback(&folder);
    let args = ["run", "flows/reader.yaml", "-i", "hello"];
    trefoil(&folder, &[("OLLAMA_BASE_URL", provider.address())], &args).exits(0);
    let none = trefoil(&folder, &[("MISTRAL_API_KEY", KEY)], &args);
    assert!(none.exits(2).err.contains("OPENAI_COMPATIBLE_BASE_URL"), "{none:?}");
    for wrong in ["[]", "[\"openai:x\", 7]", "\"gpt\"", "[\"openai:x\", \"opnai:y\"]"] {
        folder.write("config/config.toml", format!("[models]\nreader = {wrong}\n"));
        trefoil(&folder, &[("OLLAMA_BASE_URL", provider.address())], &args).exits(2);
    }
}

#[test]
fn a_provider_that_says_no_fails_the_step_at_its_place_and_the_run_can_go_on() {
    let (folder, provider) = (project(), Provider::start());
    folder.write("flows/two.yaml", "id: two\nkind: sequential\nsteps:\n  - ref: first\n  - ref: late\n");
    folder.write("flows/first.yaml", format!("{LOCAL}prompt: say hello\n").replace("reader", "first"));
    folder.write(
        "flows/late.yaml",
        "id: late\nkind: llm\nmodel: { provider: ollama, name: nn }\ninstruction: I\nprompt: say goodbye\n",
    );
    let (ollama, bad) = (provider.address().to_owned(), provider.address().replace("/v1", "/nowhere"));
    let env = |url: &'static str, address: &str| {
        let store = folder.path().join("runs.db").display().to_string();
        [
            ("TREFOIL_EPHEMERAL", "0".to_owned()),
            ("TREFOIL_STORE", store),
            ("OPENAI_COMPATIBLE_BASE_URL", ollama.clone()),
            (url, address.to_owned()),
        ]
    };
    fn on(folder: &Folder, env: [(&'static str, String); 4], args: &[&str]) -> Ran {
        let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
        trefoil(folder, &env, args)
    }
    let ran = on(&folder, env("OLLAMA_BASE_URL", &bad), &["run", "flows/two.yaml", "-i", "hello"]);
    ran.exits(1).says(&[
        "MODEL_ERROR in `late`",
        "flows/late.yaml:",
        "answered with 404",
        "download it with `ollama pull`",
        "trefoil resume",
    ]);
    assert_eq!(provider.asked(), ["say hello"]);
    let run = ran.err.split("trefoil resume ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    on(&folder, env("OLLAMA_BASE_URL", &ollama), &["resume", &run]).exits(0);
    assert_eq!(provider.asked(), ["say hello", "say goodbye"], "what was answered is not asked again");
}
