//! Environment values that models, tools and templates repeat: a credential is left nowhere; configuration is in data and
//! results, and no view shows it, live or later, whether or not the variable is still set.

use serde_json::json;

use crate::tool_leaks::{left_of, run, telling};
use crate::world::{Folder, Ran};

const VALUE: &str = "quartz-lantern-7741";

/// Ways in which a variable gets into a request as a credential, with the files that they need.
fn positions(port: u16) -> Vec<(&'static str, String)> {
    let http = |rest: &str| {
        format!(
            "id: one\nkind: tool\ntool: {{ kind: http, name: show, method: POST, url: \"http://127.0.0.1:{port}/\", {rest} }}\n"
        )
    };
    let siren = |header: &str, name: &str| {
        format!(
            "version: \"0.1\"\nagents: {{}}\nnodes:\n  n:\n    type: tool\n    tool: http\n    config: {{ url: \"http://127.0.0.1:{port}/\", \
             headers: {{ {header}: \"Bearer {{{{ env.{name} }}}}\" }} }}\n    output_key: said\nedges: []\ninput: {{ message: hi }}\n"
        )
    };
    let through_input = format!(
        "id: one\nkind: sequential\nsteps:\n  - agent:\n      id: child\n      kind: tool\n      inputSchema: {{ key: string }}\n      tool: {{ kind: http, name: show, method: POST, \
         url: \"http://127.0.0.1:{port}/\", headers: {{ x-api-key: \"{{{{key}}}}\" }} }}\n    input: {{ key: \"{{{{env.PLACE}}}}\" }}\n"
    );
    vec![
        ("a header of a SirenSpec node", siren("Authorization", "PLACE")),
        ("a header by its name", siren("X-Vendor-Token", "PLACE")),
        ("a variable by its name", siren("X-Other", "ITS_TOKEN")),
        ("a header of an agntz tool", http("headers: { Cookie: \"id={{env.PLACE}}\" }")),
        ("a member of a body", http("body: { client_secret: \"{{env.PLACE}}\" }")),
        ("a header that gets it as an input", through_input),
    ]
}

#[test]
fn a_credential_from_the_environment_is_left_nowhere() {
    let env = [("PLACE", "canary-Zx81\"äö/+= &<end>"), ("ITS_TOKEN", "canary-Zx81\"äö/+= &<end>")];
    let (port, sent) = telling("application/json", |_, forms| json!({ "said": forms }).to_string());
    let host = format!("127.0.0.1:{port}");
    let mut tried = 0;
    for (what, text) in positions(port) {
        let folder = Folder::new();
        folder.write("one.yaml", text);
        let (ran, left) = left_of(&folder, &["--allow-host", &host], &env, 0);
        for part in ["canary-Zx81", "canary%2DZx81", "Y2FuYXJ5LVp4OD"] {
            let at = left.find(part).map(|at| left[at.saturating_sub(200)..].chars().take(400).collect::<String>());
            assert!(at.is_none(), "{what}: {part} is left: {at:?}");
        }
        assert!(left.contains("***"), "{what}: {}", ran.out);
        // The output of the SirenSpec workflows is empty.
        let changed = !what.contains("SirenSpec") && !what.contains("by its name");
        assert_eq!(ran.out.contains("the result contains `***`"), changed, "{what}: {}", ran.out);
        tried += 1;
    }
    assert_eq!(tried, 6);
    assert!(sent.lock().unwrap().contains("canary-Zx81"), "it was sent");
}

fn configured(folder: &Folder) {
    folder.write(
        "one.yaml",
        "version: \"0.1\"\nagents:\n  a: { model: \"openai:m\", system: \"A {{ env.DOOR_CODE }}\" }\n  b: { model: \"openai:m\", system: \"B {{ n.output }}\" }\n\
         nodes:\n  n: { agent: a, writes: working.r }\n  m: { agent: b, writes: output.m }\nedges: [{ from: n, to: m }]\ninput: { message: hi }\n",
    );
    folder.write("script.yaml", format!("answers: {{ \"*\": \"I read {VALUE} there\" }}\n"));
}

fn id_of(folder: &Folder) -> String {
    let listed = run(folder, &["runs", "list", "--store", "runs.db", "--output", "json"], &[]).json();
    listed["runs"][0]["run"].as_str().unwrap().to_owned()
}

/// Every command that shows a run, with the file that it writes.
fn readers(id: &str) -> Vec<(Vec<String>, Option<&'static str>)> {
    let of = |args: &[&str], file| {
        let args = args.iter().map(|arg| (*arg).to_owned()).chain(["--store".to_owned(), "runs.db".to_owned()]);
        (args.collect(), file)
    };
    vec![
        of(&["trace", id], None),
        of(&["trace", id, "--json"], None),
        of(&["trace", id, "--html", "later.html"], Some("later.html")),
        of(&["runs", "events", id], None),
        of(&["runs", "show", id], None),
        of(&["runs", "list"], None),
        of(&["runs", "diff", id, id], None),
        of(&["runs", "diff", id, id, "--output", "json"], None),
    ]
}

fn shows_nothing(folder: &Folder, id: &str, env: &[(&str, &str)]) -> usize {
    let all = readers(id);
    for (args, file) in &all {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = run(folder, &args, env);
        let file = file.map(|file| std::fs::read_to_string(folder.path().join(file)).unwrap());
        let text = format!("{}{}{}", ran.out, ran.err, file.unwrap_or_default());
        assert!(!text.contains(VALUE), "{args:?}: {text}");
        assert_ne!(ran.code, 101, "{args:?}: {text}");
    }
    all.len()
}

#[test]
fn configuration_is_in_the_result_and_in_no_view() {
    let folder = Folder::new();
    configured(&folder);
    let env = [("DOOR_CODE", VALUE)];
    let args = ["run", "one.yaml", "--store", "runs.db", "--model", "scripted=script.yaml"];
    let ran = run(&folder, &[&args[..], &["--trace", "live.json", "--events", "jsonl"]].concat(), &env);
    ran.exits(0);
    let live = std::fs::read_to_string(folder.path().join("live.json")).unwrap();
    for text in [&ran.out, &ran.err, &live] {
        assert!(!text.contains(VALUE), "{text}");
    }
    assert!(live.contains("I read *** there"), "{live}");
    // The next step was sent what the first one said, and the result has it.
    let id = id_of(&folder);
    for env in [&[][..], &env[..]] {
        assert_eq!(shows_nothing(&folder, &id, env), 8);
        let again = run(&folder, &["resume", &id, "--store", "runs.db", "--quiet"], env);
        assert!(again.out.contains(&format!("I read {VALUE} there")), "{again:?}");
    }
    // A program gets the text and where it must not be shown.
    let export = run(&folder, &["runs", "export", &id, "--store", "runs.db"], &[]).out;
    assert!(export.contains(VALUE) && export.contains("$private"), "{export}");
    let result = run(&folder, &[&args[..], &["--quiet"]].concat(), &env);
    assert!(result.out.contains(&format!("I read {VALUE} there")), "{result:?}");
}

fn pipeline(folder: &Folder, variable: &str) -> Vec<(&'static str, &'static str)> {
    let step =
        "steps: [ { agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: x } } ]";
    let hole = format!("{{{{env.{variable}}}}}");
    folder.write("direct.yaml", format!("id: direct\nkind: sequential\n{step}\noutput: {{ r: \"{hole}\" }}\n"));
    folder.write("text.yaml", format!("id: text\nkind: sequential\n{step}\noutput: {{ r: {{ s: \"in {hole}\" }} }}\n"));
    let inner = format!("id: inner\nkind: sequential\n{step}\noutput: {{ r: \"{hole}\", a: \"{{{{a}}}}\" }}\n");
    folder.write("inner.yaml", &inner);
    let indented = inner.lines().map(|line| format!("      {line}\n")).collect::<String>();
    folder.write(
        "nested.yaml",
        format!("id: nested\nkind: sequential\nsteps:\n  - agent:\n{indented}output: {{ r: \"{{{{inner.r}}}}\" }}\n"),
    );
    folder.write("default.yaml", format!("id: default\nkind: sequential\nsteps:\n  - agent:\n{indented}"));
    folder
        .write("ref.yaml", "id: ref\nkind: sequential\nsteps: [ { ref: inner } ]\noutput: { r: \"so {{inner.r}}\" }\n");
    folder.write("all.yaml", format!("id: all\nkind: parallel\nbranches:\n  - agent:\n{indented}"));
    vec![
        ("direct.yaml", "a placeholder"),
        ("text.yaml", "in a text"),
        ("nested.yaml", "a nested pipeline"),
        ("default.yaml", "a default output"),
        ("ref.yaml", "a referenced pipeline"),
        ("all.yaml", "the default output of branches"),
    ]
}

#[test]
fn a_credential_in_a_result_is_a_load_error_by_every_way() {
    let refused = |ran: &Ran, way: &str| {
        assert_eq!(ran.code, 2, "{way}: {ran:?}");
        assert!(ran.err.contains("secret-in-result") || ran.out.contains("secret-in-result"), "{way}: {ran:?}");
    };
    let folder = Folder::new();
    let mut tried = 0;
    for (file, way) in pipeline(&folder, "DOOR_TOKEN") {
        let checked = folder.trefoil(&["check", "--allow", "secret-in-result", file]);
        assert!(checked.code != 0 && format!("{checked:?}").contains("secret-in-result"), "{way}: {checked:?}");
        refused(&run(&folder, &["run", file, "--ephemeral", "--model", "embedded"], &[("DOOR_TOKEN", VALUE)]), way);
        tried += 1;
    }
    // By where another step sends it.
    folder.write(
        "sent.yaml",
        "id: sent\nkind: sequential\nsteps:\n  - agent:\n      id: look\n      kind: tool\n      inputSchema: { key: string }\n      \
         tool: { kind: http, name: look, url: \"https://example.com/\", headers: { Authorization: \"Bearer {{key}}\" } }\n    \
         input: { key: \"{{env.PLACE}}\" }\noutput: { r: \"{{env.PLACE}}\" }\n",
    );
    refused(&run(&folder, &["run", "sent.yaml", "--ephemeral", "--model", "embedded"], &[("PLACE", VALUE)]), "sent");
    assert_eq!(tried, 6);
}

/// A variable whose name says nothing, with the value of a secret or of the key of a provider, alone or in a text.
#[test]
fn a_variable_with_the_value_of_a_secret_is_that_secret() {
    let (key, secret) = ("sk-test-0123456789", "shed-key-4471");
    let mut tried = 0;
    for value in [key, secret, "Bearer sk-test-0123456789", "c2hlZC1rZXktNDQ3MQ=="] {
        let folder = Folder::new();
        folder.write("script.yaml", "answers: { \"*\": ok }\ntools: { same: { value: ok } }\n");
        let env = [("PLACE", value), ("OPENAI_API_KEY", key), ("TREFOIL_SECRET_SHED_KEY", secret)];
        // The secret is used somewhere else.
        let use_of_it = "  - agent: { id: t, kind: tool, tool: { kind: local, name: same, params: { k: \"{{secrets.SHED_KEY}}\" } } }\n";
        let refused = |rest: &str, rule: &str| {
            folder.write("one.yaml", format!("id: one\nkind: sequential\nsteps:\n{use_of_it}{rest}"));
            let checked = folder.trefoil(&["check", "one.yaml"]);
            assert!(!format!("{checked:?}").contains(rule), "its name says nothing: {checked:?}");
            for args in [&["run", "one.yaml", "--model", "scripted=script.yaml"][..], &["doctor", "one.yaml"]] {
                let (command, ran) = (args[0], run(&folder, args, &env));
                let said = format!("{}{}", ran.out, ran.err);
                assert!(ran.code != 0 && said.contains("the value of `env.PLACE` contains"), "{value}: {ran:?}");
                assert!(command == "doctor" || said.contains(rule), "{value}: {ran:?}");
                assert!(!said.contains(value), "{value}: {ran:?}");
            }
            // Another value of the variable is configuration.
            let args = ["run", "one.yaml", "--ephemeral", "--model", "scripted=script.yaml"];
            run(&folder, &args, &[&[("PLACE", "north")], &env[1..]].concat()).exits(0);
        };
        let step = "  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: \"x {{env.PLACE}}\" }\n";
        refused(step, "secret-in-prompt");
        refused("output: { r: \"in {{env.PLACE}}\" }\n", "secret-in-result");
        // What comes back from a tool.
        folder.write(
            "script.yaml",
            format!("answers: {{ \"*\": ok }}\ntools: {{ same: {{ value: {{ k: {value:?} }} }} }}\n"),
        );
        let sends = "  - agent: { id: u, kind: tool, tool: { kind: local, name: same, params: { k: \"{{env.PLACE}}\" } } }\noutput: { got: \"{{u.k}}\" }\n";
        folder.write("one.yaml", format!("id: one\nkind: sequential\nsteps:\n{use_of_it}{sends}"));
        let args = ["run", "one.yaml", "--store", "runs.db", "--model", "scripted=script.yaml", "--trace", "t.json"];
        let ran = run(&folder, &args, &env);
        assert!(ran.exits(0).out.contains("***"), "{value}: {ran:?}");
        let stored = std::fs::read(folder.path().join("runs.db")).unwrap();
        let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
        for left in [&ran.out, &ran.err, &trace, &String::from_utf8_lossy(&stored).into_owned()] {
            assert!(!left.contains(value), "{value} is left");
        }
        tried += 1;
    }
    assert_eq!(tried, 4);
}

#[test]
fn a_variable_with_the_value_of_a_credential_is_not_in_a_result() {
    let folder = Folder::new();
    let step = "steps: [ { agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: \"{{env.DOOR_TOKEN}}\" } } ]";
    folder.write(
        "one.yaml",
        format!("id: one\nkind: sequential\n{step}\noutput: {{ a: \"{{{{a}}}}\", r: \"{{{{env.PLACE}}}}\" }}\n"),
    );
    let args = ["run", "one.yaml", "--ephemeral", "--model", "embedded"];
    for value in [VALUE.to_owned(), format!("Bearer {VALUE}")] {
        let ran = run(&folder, &args, &[("PLACE", &value), ("DOOR_TOKEN", VALUE)]);
        let said = "the value of `env.PLACE` contains that of the secret `env.DOOR_TOKEN`, and would be in the result";
        assert!(ran.code == 2 && ran.err.contains(said) && ran.err.contains("secret-in-result"), "{ran:?}");
    }
    run(&folder, &args, &[("PLACE", "north"), ("DOOR_TOKEN", VALUE)]).exits(0);
}

#[test]
fn a_secret_that_a_tool_returns_is_named_when_it_changes_the_result() {
    let folder = Folder::new();
    folder.write(
        "one.yaml",
        "id: k\nkind: sequential\nsteps: [ { agent: { id: t, kind: tool, tool: { kind: local, name: same, params: { k: \"{{secrets.SHED_KEY}}\" } } } } ]\noutput: { got: \"{{t.k}}\" }\n",
    );
    folder.write("script.yaml", "answers: { \"*\": ok }\ntools: { same: { value: { k: shed-key-4471 } } }\n");
    let env = [("TREFOIL_SECRET_SHED_KEY", "shed-key-4471")];
    let args = ["run", "one.yaml", "--store", "runs.db", "--model", "scripted=script.yaml", "--trace", "t.json"];
    let ran = run(&folder, &args, &env);
    ran.exits(0);
    let warning = "the result contains `***` where a model or a tool returned the value of `secrets.SHED_KEY`";
    assert!(ran.err.contains(warning) && ran.out.contains("***"), "{ran:?}");
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let unused = "1 answer of the script for `*` was not used";
    assert_eq!(trace["warnings"], json!([warning, unused]));
    let id = id_of(&folder);
    for args in [&["runs", "events", &id][..], &["trace", &id, "--json"]] {
        let ran = run(&folder, &[args, &["--store", "runs.db"]].concat(), &[]);
        assert!(ran.out.contains(warning), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_child_input_from_the_environment_must_match_its_schema() {
    let folder = Folder::new();
    folder.write("script.yaml", "answers: { \"*\": ok }\n");
    let mut tried = 0;
    for (schema, bad, good) in [
        ("enum: [warm, cold]", "lukewarm", "cold"),
        ("pattern: \"^[a-z]+$\"", "Ab-1", "abc"),
        ("minLength: 4", "abc", "abcd"),
        ("maxLength: 4", "abcde", "abcd"),
    ] {
        folder.write(
            "one.yaml",
            format!(
                "id: p\nkind: sequential\nsteps:\n  - agent: {{ id: c, kind: llm, model: {{ provider: openai, name: m }}, \
                 inputSchema: {{ tone: {{ type: string, {schema} }} }}, instruction: I., prompt: \"{{{{tone}}}}\" }}\n    input: {{ tone: \"{{{{env.TONE}}}}\" }}\n"
            ),
        );
        let args = ["run", "one.yaml", "--ephemeral", "--model", "scripted=script.yaml"];
        let wrong = run(&folder, &args, &[("TONE", bad)]);
        wrong.exits(1).says(&["INPUT_INVALID", "`tone`", "`env.TONE`"]);
        assert!(!wrong.err.contains(bad) && !wrong.out.contains(bad), "{schema}: {wrong:?}");
        run(&folder, &args, &[("TONE", good)]).exits(0);
        run(&folder, &args, &[]).exits(0);
        tried += 1;
    }
    assert_eq!(tried, 4);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_result_has_the_value_of_a_variable_by_every_way_and_no_view_has() {
        let folder = Folder::new();
        folder.write("script.yaml", "answers: { \"*\": ok }\n");
        let env = [("PLACE", VALUE)];
        let mut tried = 0;
        for (file, way) in pipeline(&folder, "PLACE") {
            let checked = folder.trefoil(&["check", "--strict", file]);
            assert_eq!(checked.code, 0, "{way}: {checked:?}");
            let args = ["run", file, "--store", "runs.db", "--model", "scripted=script.yaml"];
            let json = run(&folder, &[&args[..], &["--quiet", "--output", "json"]].concat(), &env);
            assert!(json.out.contains(VALUE) && !json.out.contains("***"), "{way}: {json:?}");
            let id = id_of(&folder);
            for env in [&[][..], &env[..]] {
                assert_eq!(shows_nothing(&folder, &id, env), 8);
                let again = run(&folder, &["resume", &id, "--store", "runs.db", "--quiet", "--output", "json"], env);
                assert_eq!(again.out, json.out, "{way}");
            }
            let shown = run(&folder, &["runs", "show", &id, "--store", "runs.db", "--output", "json"], &[]).json();
            assert_eq!(shown["result"], json.json(), "{way}");
            let live = run(&folder, &[&args[..], &["--trace", "live.json", "--events", "jsonl"]].concat(), &env);
            let trace = std::fs::read_to_string(folder.path().join("live.json")).unwrap();
            assert!(!format!("{}{}{trace}", live.out, live.err).contains(VALUE), "{way}: {live:?}");
            tried += 1;
        }
        assert_eq!(tried, 6);
    }
}
