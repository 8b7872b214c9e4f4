//! OpenAI-compatible endpoints under names of the operator's choice.

use crate::provider::{KEY, Provider};
use crate::world::{Folder, Ran, finish};

fn folder(settings: &str) -> Folder {
    let folder = Folder::new();
    folder.write("config/config.toml", settings);
    folder.write(
        "one.yaml",
        "id: one\nkind: llm\nmodel: { provider: myvllm, name: m }\ninstruction: I.\nprompt: '{{userQuery}}'\n",
    );
    folder
}

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).env("OPENAI_API_KEY", KEY);
    finish(command)
}

#[test]
fn one_is_used_like_any_other_provider() {
    let provider = Provider::start();
    let settings = format!(
        "[models]\nsmart = \"myvllm:m\"\n[limits.myvllm]\nin_flight = 1\n[prices]\n\"myvllm:m\" = {{ input = 1, output = 2 }}\n\
         [providers.myvllm]\nbase_url = \"{}\"\n",
        provider.address()
    );
    let folder = folder(&settings);
    trefoil(&folder, &["check", "one.yaml"]).exits(0);
    let ran = trefoil(&folder, &["run", "one.yaml", "--input", "hello"]);
    assert!(ran.exits(0).out.contains("hello"), "{}", ran.err);
    ran.says(&["`myvllm` is called at http://127.0.0.1:", "(from `[providers.myvllm]` in", "myvllm:m", "$0.0000"]);
    folder.write(
        "other.yaml",
        "id: other\nkind: llm\nmodel: { provider: openai, name: gpt-4o }\ninstruction: I.\nprompt: hi\n",
    );
    let ran = trefoil(&folder, &["run", "other.yaml", "--model", "myvllm:m"]);
    assert!(ran.exits(0).out.contains("hi"), "{}", ran.err);
    assert_eq!(provider.asked().len(), 2);
    let listed = trefoil(&folder, &["models", "one.yaml", "--format", "json"]).exits(0).json();
    let all = listed["providers"].as_array().unwrap();
    let mine = all.iter().find(|one| one["name"] == "myvllm").unwrap();
    assert_eq!((&mine["status"], &mine["protocol"]), (&"ready".into(), &"chat-completions".into()));
    assert_eq!((&mine["key"]["variable"], &mine["address"]["encrypted"]), (&serde_json::Value::Null, &false.into()));
    assert_eq!(listed["models"][0]["problem"], serde_json::Value::Null);
    let doctor = trefoil(&folder, &["doctor", "one.yaml"]);
    assert!(doctor.out.contains("ok       myvllm: http://127.0.0.1:"), "{}", doctor.out);
}

#[test]
fn one_that_is_not_declared_is_unknown_and_the_help_says_how_to_declare_it() {
    let folder = folder("");
    let ran = trefoil(&folder, &["run", "one.yaml", "--input", "x"]);
    ran.silent(2).says(&["unknown provider `myvllm`", "declare it with `base_url` under `[providers.myvllm]`"]);
    let ran = trefoil(&folder, &["run", "one.yaml", "--input", "x", "--model", "nowhere:m"]);
    ran.silent(2).says(&["unknown provider `nowhere`", "under `[providers.nowhere]`"]);
    let ran = trefoil(&folder, &["check", "one.yaml", "--deny", "unknown-provider"]);
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains("unknown provider `myvllm`") && all.contains("under `[providers.myvllm]`"), "{all}");
    // A project may declare it; whether the project is trusted is decided when it is run.
    folder.write("trefoil.toml", "[providers.myvllm]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    trefoil(&folder, &["check", "one.yaml", "--deny", "unknown-provider"]).exits(0);
    trefoil(&folder, &["run", "one.yaml", "--input", "x"]).silent(2).says(&["untrusted-project"]);
}

#[test]
fn wrong_declarations_are_reported() {
    let wrong = [
        ("[providers.myvllm]\napi = \"chat\"", "`[providers.myvllm]` needs `base_url`"),
        ("[providers.myvllm]\nbase_url = \"ftp://h\"", "`base_url` of `myvllm` is not an http or https URL"),
        ("[providers.myvllm]\nbase_url = \"http://h\"\napi = \"x\"", "`api` must be `\"chat\"` or `\"responses\"`"),
        ("[providers.myvllm]\nbase_url = \"http://h\"\nkey = \"x\"", "its keys are `base_url`, `api`, `key_env`"),
        (
            "[providers.myvllm]\nbase_url = \"http://h\"\nkey_env = \"OPENAI_API_KEY\"",
            "`OPENAI_API_KEY` has the key of `openai`",
        ),
        ("[providers.opneai]\nbase_url = \"http://h\"", "unknown provider `opneai`; did you mean `openai`?"),
        ("[providers.\"a:b\"]\nbase_url = \"http://h\"", "must be named with letters, digits"),
        (
            "[models]\nsmart = \"nowhere:m\"",
            "unknown provider `nowhere`; did you mean `cohere`? If not, declare it with `base_url` under `[providers.nowhere]`",
        ),
        ("[providers.azure]\nbase_url = \"https://r.openai.azure.com/openai/deployments/d\"", "names a deployment"),
    ];
    for (settings, says) in wrong {
        let ran = trefoil(&folder(settings), &["models"]);
        assert!(ran.err.contains(says), "{settings}: {}", ran.err);
    }
}
