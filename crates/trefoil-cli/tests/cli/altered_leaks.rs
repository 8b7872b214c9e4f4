//! Values that come back in another form than they were sent, or in a part of an event that nobody looks at: as a number,
//! wrapped, line by line, in the arguments of a model's tool call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::tool_leaks::{left_of, run, telling};
use crate::world::Folder;

const PIN: &str = "8837261534";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkNhbmFyeSJ9.Qx7canaryQx7canaryQx7";
const KEY: &str = "-----BEGIN KEY-----\nMIIBVgIBADANcanaryAA\nBgkqhkiG9w0BcanaryBB\n-----END KEY-----\n";
pub const SECRETS: [(&str, &str); 3] =
    [("TREFOIL_SECRET_PIN", PIN), ("TREFOIL_SECRET_TOKEN", TOKEN), ("TREFOIL_SECRET_KEY", KEY)];

/// Base64 as `base64` and Python's `encodebytes` print it.
fn wrapped(text: &str) -> String {
    let letters: Vec<char> = STANDARD.encode(text).chars().collect();
    letters.chunks(76).map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// Every altered form of the three.
fn altered() -> serde_json::Value {
    let hex: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    let wide: Vec<u8> = TOKEN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    json!({
        "pin": PIN.parse::<u64>().unwrap(),
        "pins": [[8837261534.0]],
        "wrapped": wrapped(TOKEN),
        "quoted": json!({ "inside": wrapped(TOKEN) }).to_string(),
        "indented": wrapped(TOKEN).replace('\n', "\n    "),
        "hex": hex,
        "upper": hex.to_uppercase(),
        "wide": STANDARD.encode(wide),
        "twice": STANDARD.encode(STANDARD.encode(TOKEN)),
        "line": KEY.lines().nth(1).unwrap(),
        "crlf": KEY.replace('\n', "\r\n"),
        "listed": KEY.replace('\n', "\n  | "),
        "lower": TOKEN.to_lowercase(),
    })
}

/// Parts of the forms that must not be left.
fn parts() -> Vec<String> {
    let altered = altered();
    let text = |name: &str| altered[name].as_str().unwrap().to_owned();
    let middle = |text: String| text[20..text.len() - 20].to_owned();
    let mut all = vec![PIN.to_owned(), "MIIBVg".to_owned(), "BgkqhkiG9w".to_owned(), "qx7canary".to_owned()];
    all.extend(text("wrapped").lines().map(|line| line[line.len() / 4..line.len() * 3 / 4].to_owned()));
    all.extend(["hex", "upper", "wide", "twice"].map(|name| middle(text(name))));
    all
}

/// A tool that returns them. The host must be allowed.
pub fn tool(folder: &Folder, file: &str) -> String {
    let (port, _) = telling("application/json", |_, _| altered().to_string());
    folder.write(
        file,
        format!(
            "id: look\nkind: tool\ntool:\n  kind: http\n  name: show\n  method: POST\n  url: \"http://127.0.0.1:{port}/\"\n  \
             headers: {{ X-Pin: \"{{{{secrets.PIN}}}}\", X-Token: \"{{{{secrets.TOKEN}}}}\" }}\n  body: {{ key: \"{{{{secrets.KEY}}}}\" }}\n"
        ),
    );
    format!("127.0.0.1:{port}")
}

/// Fails if any of them is left.
pub fn clean(left: &str) {
    let found: Vec<String> = parts().into_iter().filter(|part| left.contains(part)).collect();
    assert!(found.is_empty(), "{found:?} is left: {left}");
    assert!(left.contains("***"), "nothing was hidden, so nothing was tried");
}

#[test]
fn altered_secrets_are_hidden_wherever_they_come_back() {
    let folder = Folder::new();
    let host = tool(&folder, "one.yaml");
    let (ran, left) = left_of(&folder, &["--allow-host", &host], &SECRETS, 0);
    clean(&left);
    assert!(ran.out.contains("***"));
}

/// The model repeats an environment value in the arguments of a call.
#[test]
fn an_environment_value_in_a_model_s_tool_call_is_hidden_in_events_and_traces() {
    let (model, prompts) = telling("application/json", |asked, _| {
        let asked: serde_json::Value = serde_json::from_str(asked).unwrap_or_default();
        let has_called = asked["messages"].as_array().into_iter().flatten().any(|m| m["role"] == "tool");
        let arguments = json!({ "q": "env-canary-5566", "deep": [{ "x": "env-canary-5566" }] }).to_string();
        let said = match has_called {
            true => json!({"role": "assistant", "content": "done"}),
            false => {
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": arguments}}]})
            }
        };
        json!({"id": "1", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": said, "finish_reason": if has_called { "stop" } else { "tool_calls" }}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).to_string()
    });
    let folder = Folder::new();
    folder.write("config/config.toml", "[tools.look]\ncommand = [\"cat\"]\n");
    folder.write(
        "one.yaml",
        "id: one\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Go.\nprompt: \"Find {{env.SEEN}}\"\n\
         outputSchema: { verdict: string }\ntools:\n  - { kind: local, tools: [look] }\n",
    );
    let base = format!("http://127.0.0.1:{model}/v1");
    let env = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", base.as_str()), ("SEEN", "env-canary-5566")];
    let args = ["run", "one.yaml", "--input", "x", "--ephemeral", "--trace", "t.json", "--events", "jsonl"];
    let ran = run(&folder, &args, &env);
    assert!(prompts.lock().unwrap().matches("env-canary-5566").count() > 2, "the model gets its own call back");
    let called = ran.lines().into_iter().filter(|event| event["event"] == "model_started").any(|event| {
        event["messages"].as_array().into_iter().flatten().any(|message| message["calls"][0]["arguments"]["q"] == "***")
    });
    assert!(called, "{}", ran.out);
    run(&folder, &["trace", "t.json", "--html", "page.html"], &[]).exits(0);
    let mut left = format!("{}{}", ran.out, ran.err);
    for file in ["t.json", "page.html"] {
        left += &std::fs::read_to_string(folder.path().join(file)).unwrap();
    }
    assert!(!left.contains("env-canary"), "{left}");
}

/// A guardrail of the workflow redacts what an agent reads. Nothing shows the input, or an item of it, unredacted.
#[test]
fn personal_data_that_a_guardrail_redacts_is_in_no_event_and_no_line() {
    let folder = Folder::new();
    folder.write(
        "one.yaml",
        "version: \"0.1\"\nguardrails: [{ name: pii }]\nagents:\n  a: { model: \"openai:m\", system: You look. }\n\
         nodes:\n  one: { agent: a, writes: output.said }\nedges: []\ninput: { message: it }\n",
    );
    let input = "mail ann@example.com, card 4111111111111111";
    let args = ["--input", input, "--store", "runs.db", "--model", "embedded"];
    let ran = run(&folder, &[&["run", "one.yaml", "--events", "jsonl", "--trace", "t.json"], &args[..]].concat(), &[]);
    let events = ran.exits(0).lines();
    assert!(events[0].to_string().contains("[REDACTED]"), "{}", events[0]);
    let left = format!("{}{}", ran.out, std::fs::read_to_string(folder.path().join("t.json")).unwrap());
    assert!(!left.contains("ann@") && !left.contains("41111111"), "{left}");
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    assert!(trace.contains("pii changed: personal data in the input"), "{trace}");
    let items = r#"["ann@example.com", "bob"]"#;
    folder.write(
        "many.yaml",
        "version: \"0.1\"\nguardrails: [{ name: pii }]\nagents:\n  a: { model: \"openai:m\", system: You look. }\n\
         nodes:\n  one: { type: factory, agent: a, for_each: \"{{ inputs.message }}\", inputs: { task: \"{{ item }}\" }, writes: output.said }\n\
         edges: []\ninput: { message: it }\n",
    );
    let many = |more: &[&str]| {
        let args = ["run", "many.yaml", "--input", items, "--ephemeral", "--model", "embedded"];
        let ran = run(&folder, &[&args[..], more].concat(), &[]);
        ran.exits(0);
        // The advice at the end repeats the user's own command.
        let said = ran.out.lines().chain(ran.err.lines()).filter(|line| !line.contains("--input"));
        assert!(said.into_iter().all(|line| !line.contains("ann@")), "{ran:?}");
    };
    many(&["--events", "jsonl"]);
    many(&[]);
    // A changed text is not silent, and stays known.
    let lines = run(&folder, &[&["run", "one.yaml"], &args[..]].concat(), &[]);
    lines.exits(0).says(&["pii changed: personal data in the input"]);
    let id = events[0]["run"].as_str().unwrap();
    let json = run(&folder, &["runs", "show", id, "--store", "runs.db", "--output", "json"], &[]).json();
    let rulings: Vec<_> = json["verdicts"].as_array().unwrap().iter().map(|verdict| &verdict["ruling"]).collect();
    assert_eq!(rulings, ["changed", "passed", "passed", "passed"], "{json}");
    let told = events.iter().find(|event| event["ruling"] == "changed").unwrap();
    for member in ["key", "by", "of", "why"] {
        assert_eq!(json["verdicts"][0][member], told[member], "{told}");
    }
    let shown = run(&folder, &["runs", "show", id, "--store", "runs.db"], &[]);
    assert!(shown.exits(0).out.contains("verdict  pii changed: personal data in the input"), "{}", shown.out);
}

/// What every agent redacts is not in the store either, and an input that something needs as it is is said to be stored.
#[test]
fn personal_data_that_every_reader_redacts_is_not_stored() {
    let folder = Folder::new();
    let workflow = |more: &str, guards: &str| {
        format!(
            "version: \"0.1\"\n{guards}agents:\n  a: {{ model: \"openai:m\", system: You look. }}\n  b: {{ model: \"openai:m\", \
             system: \"About {{{{ inputs.message }}}}.\" }}\nnodes:\n  one: {{ agent: a, writes: output.said }}\n{more}\
             edges: []\ninput: {{ message: it }}\n"
        )
    };
    let redact = "guardrails: [{ name: pii }]\n";
    let stored = |name: &str, yaml: String| {
        folder.write("one.yaml", &yaml);
        let input = "mail ann@example.com";
        let ran = run(
            &folder,
            &["run", "one.yaml", "--input", input, "--store", name, "--model", "embedded", "--events", "jsonl"],
            &[],
        );
        let bytes: Vec<u8> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|file| file.file_name().unwrap().to_string_lossy().starts_with(name))
            .flat_map(|file| std::fs::read(file).unwrap())
            .collect();
        let is_stored = bytes.windows(4).any(|part| part == b"ann@");
        let warned = ran.out.contains("personal data in the input: `email`; it is stored as it is, because");
        (is_stored, warned, ran)
    };
    let (is_stored, warned, ran) = stored("redacted.db", workflow("", redact));
    ran.exits(0);
    assert!(!is_stored && !warned, "{}", ran.out);
    let id = ran.lines()[0]["run"].as_str().unwrap().to_owned();
    let replayed = run(&folder, &["replay", &id, "--store", "redacted.db"], &[]);
    replayed.exits(0);
    let shown = run(&folder, &["runs", "show", &id, "--store", "redacted.db"], &[]);
    assert!(shown.exits(0).out.contains("verdict  pii changed: personal data in the input: `email`"), "{}", shown.out);
    // An edited run says that it gets the redacted input.
    folder.write("edited.yaml", workflow("", "").replace("You look.", "You read."));
    let edited =
        ["resume", &id, "--with", "edited.yaml", "--from-scratch", "--store", "redacted.db", "--model", "embedded"];
    run(&folder, &edited, &[])
        .exits(0)
        .says(&["pii changed: personal data in the input: `email`; it is stored redacted"]);
    // A system prompt is not redacted.
    let reads = "  two: { agent: b, writes: output.more }\n";
    let (is_stored, warned, ran) = stored("read.db", workflow(reads, redact));
    assert!(is_stored && warned, "{}", ran.out);
    // A guardrail that blocks must find what it blocks.
    let (is_stored, warned, ran) =
        stored("blocked.db", workflow("", "guardrails: [{ name: pii, config: { action: block } }]\n"));
    assert!(is_stored && warned, "{}", ran.out);
    // Two agents that redact different data.
    let other = "agents:\n  c: { model: \"openai:m\", system: Look., guardrails: [{ name: pii, config: { entities: [ssn] } }] }\n";
    let nodes = "  two: { agent: c, writes: output.more }\n  end: { agent: a, writes: output.end }\n";
    let edges = "edges: [{ from: one, to: end }, { from: two, to: end }]";
    let two = workflow(nodes, redact).replace("agents:\n", other).replace("edges: []", edges);
    let (is_stored, warned, ran) = stored("two.db", two);
    assert!(is_stored && warned, "{}{}", ran.out, ran.err);
    let (is_stored, warned, ran) = stored("none.db", workflow("", ""));
    assert!(is_stored && !warned, "{}", ran.out);
}

/// What a run waits for hides environment values as its events do.
#[test]
fn a_question_that_is_waited_for_hides_environment_values() {
    let folder = Folder::new();
    folder.write(
        "ask.yaml",
        "version: \"0.1\"\nnodes:\n  h: { type: human, prompt: \"Say {{ inputs.message }} with {{ env.TOKEN_OF_MINE }}\", writes: output.h }\nedges: []\ninput: { message: it }\n",
    );
    let value = "env-canary-77";
    let args = ["run", "ask.yaml", "--input", value, "--store", "runs.db", "--model", "embedded"];
    let ran = run(&folder, &args, &[("TOKEN_OF_MINE", value)]);
    ran.exits(75).says(&["Say *** with ***"]);
    assert!(!ran.err.contains(value) && !ran.out.contains(value), "{}", ran.err);
}
