//! The binary's own reference: rules, their pages, schemas of its output.

use crate::world::{AGENT, Folder, root};

#[track_caller]
fn fits(schema: &str, value: &serde_json::Value) {
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A folder with many kinds of mistakes: in two files, with and without fixes, with and without places.
fn mistakes() -> Folder {
    let folder = Folder::new();
    folder
        .write("a.yaml", format!("{AGENT}colour: blue\nexmples: []\n"))
        .write("b b.yaml", "id: b\nkind: llm\nmodel: [\n")
        .write("c.yaml", "id: c\nkind: sequential\nsteps:\n  - ref: helper\n  - ref: nowhere\n")
        .write("d.yaml", "")
        .write("trefoil.toml", "[rules]\nnothing = \"deny\"\n");
    folder
}

#[test]
fn the_json_of_a_check_fits_its_published_schema() {
    let folder = mistakes();
    let schema = folder.trefoil(&["schema", "check-output"]);
    schema.exits(0);
    assert_eq!(schema.out, std::fs::read_to_string(root().join("docs/schemas/check.json")).unwrap());
    let json = folder.trefoil(&["check", "--format", "json", ".", "missing.yaml"]).json();
    assert!(json["diagnostics"].as_array().unwrap().iter().any(|d| d["fix"].is_object()), "{json:#}");
    fits(&schema.out, &json);
    folder.trefoil(&["schema", "nothing"]).silent(2);
}

#[test]
fn sarif_fits_the_published_schema() {
    let folder = mistakes();
    let ran = folder.trefoil(&["check", "--format", "sarif", ".", "missing.yaml"]);
    ran.exits(2);
    let log = ran.json();
    let schema = root().join("crates/trefoil-syntax/tests/syntax/sarif-2.1.0.schema.json");
    // See the renderer's own test.
    let schema = std::fs::read_to_string(schema).unwrap().replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}?$");
    fits(&schema, &log);
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        if let Some(index) = result["ruleIndex"].as_u64() {
            assert_eq!(rules[index as usize]["id"], result["ruleId"]);
        }
    }
    let unknown = run["results"].as_array().unwrap().iter().find(|r| r["ruleId"] == "unknown-key").unwrap();
    assert!(
        rules[unknown["ruleIndex"].as_u64().unwrap() as usize]["help"]["markdown"]
            .as_str()
            .unwrap()
            .contains("## Wrong")
    );
    let uris: Vec<_> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|r| r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str())
        .collect();
    assert!(uris.contains(&"b%20b.yaml"), "{uris:?}");
}

#[test]
fn rules_are_listed_with_their_levels() {
    let folder = Folder::new();
    let ran = folder.trefoil(&["rules"]);
    ran.exits(0);
    let line = ran.out.lines().find(|l| l.starts_with("unknown-key ")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..4], ["unknown-key", "warning", "error", "form"]);
    let json = folder.trefoil(&["rules", "--format", "json"]).json();
    let rule = json.as_array().unwrap().iter().find(|r| r["name"] == "unknown-key").unwrap();
    assert_eq!((&rule["level"], &rule["strict_level"]), (&"warning".into(), &"error".into()));
    assert_eq!(json.as_array().unwrap().len() + 1, ran.out.lines().count());
}

#[test]
fn every_rule_that_is_listed_is_explained() {
    let folder = Folder::new();
    for rule in folder.trefoil(&["rules", "--format", "json"]).json().as_array().unwrap() {
        let ran = folder.trefoil(&["explain", rule["name"].as_str().unwrap()]);
        ran.exits(0);
        assert!(ran.out.starts_with(rule["name"].as_str().unwrap()) && !ran.out.contains("```"), "{}", ran.out);
    }
    folder.trefoil(&["explain", "unknow-key"]).silent(2).says(&["`unknow-key`", "did you mean `unknown-key`?"]);
}

#[test]
fn every_code_of_a_failed_run_is_explained() {
    let folder = Folder::new();
    for name in ["NO_TRANSITION", "no_transition", "missing-model", "BUDGET_EXCEEDED"] {
        let ran = folder.trefoil(&["explain", name]);
        ran.exits(0);
        assert!(ran.out.contains("How to fix it") && !ran.out.contains('#'), "{}", ran.out);
    }
    folder.trefoil(&["explain", "NO_TRANSITIONS"]).silent(2).says(&["did you mean `NO_TRANSITION`?"]);
    folder.trefoil(&["explain", "no_transitoin"]).silent(2).says(&["did you mean `NO_TRANSITION`?"]);
    folder.trefoil(&["explian", "x"]).silent(2).says(&["'explain'"]);
}

/// Every member of the JSON output is documented on its page.
#[test]
fn the_page_about_json_knows_every_member() {
    let page = std::fs::read_to_string(root().join("docs/json.md")).unwrap();
    let world = Folder::new();
    let trace = world.path().join("trace.json").display().to_string();
    let examples = root().join("examples");
    let missing = |json: &serde_json::Value| {
        let names = json.as_object().unwrap().keys();
        names.filter(|name| !page.contains(&format!("`{name}`"))).cloned().collect::<Vec<String>>()
    };
    for (target, more) in [
        ("agntz/write-review-loop.yaml", ["--input", "topic=tea"]),
        ("aegis/approval.yaml", ["--answer", "APPROVE=yes"]),
        ("sirenspec/resilient.yaml", ["--input", "tea"]),
    ] {
        let target = examples.join(target).display().to_string();
        let plan = world.trefoil(&["plan", &target, "--format", "json"]).exits(0).json();
        assert_eq!(missing(&plan), Vec::<String>::new());
        assert_eq!(missing(&plan["steps"][0]), Vec::<String>::new());
        let run =
            [&["run", "--model", "embedded", &target, "--events", "jsonl", "--trace", &trace], &more[..]].concat();
        for event in world.trefoil(&run).exits(0).lines() {
            assert_eq!(missing(&event), Vec::<String>::new(), "{event}");
        }
        let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
        assert_eq!(missing(&trace), Vec::<String>::new());
        for step in trace["steps"].as_array().unwrap() {
            assert_eq!(missing(step), Vec::<String>::new());
            for call in step["calls"].as_array().unwrap() {
                assert_eq!(missing(call), Vec::<String>::new());
            }
        }
    }
}
