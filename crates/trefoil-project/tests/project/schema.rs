//! The formats' JSON Schemas compared with the readers and real manifests, and their completions at a place.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;
use trefoil_front::FRONT_ENDS;
use trefoil_front::yaml_reader::to_value;
use trefoil_project::load::{LoadOptions, LoadReport, check_paths};
use trefoil_project::schema::{SchemaSegment, ValueForm, keys_at, schema_text, values_at};
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind};
use trefoil_syntax::{FindingSeverity, SourceFile, SourceFiles, yaml};

use super::manifests::{manifests, root};

fn dialects() -> impl Iterator<Item = &'static str> {
    FRONT_ENDS.iter().map(|front| front.name())
}

fn schema(dialect: &str) -> Value {
    serde_json::from_str(schema_text(dialect).unwrap()).unwrap()
}

fn parse(source: &str) -> Option<YamlNode> {
    let mut files = SourceFiles::default();
    let file = files.add_file(SourceFile::new("a.yaml", source));
    yaml::parse(file, files.get(file)?, &yaml::YamlLimits::default()).root
}

fn checked(path: &Path, text: Option<String>) -> LoadReport {
    let overlay: HashMap<PathBuf, Arc<str>> = text.map(|t| (path.to_owned(), Arc::from(t))).into_iter().collect();
    check_paths(&[path.display().to_string()], &LoadOptions { overlay: Arc::new(overlay), ..LoadOptions::default() })
}

#[test]
fn schemas_are_schemas() {
    for dialect in dialects() {
        let schema = schema(dialect);
        jsonschema::meta::validate(&schema).unwrap_or_else(|e| panic!("{dialect}: {e} at {}", e.instance_path()));
    }
}

#[test]
fn every_key_has_a_description() {
    fn look(at: &Value, path: &str, bare: &mut Vec<String>) {
        let Some(object) = at.as_object() else { return };
        for (name, inner) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let described = ["description", "const", "$ref"].iter().any(|k| inner.get(k).is_some());
            let narrows = inner.as_object().is_some_and(|o| o.keys().all(|k| k == "properties"));
            if !described && !narrows {
                bare.push(format!("{path}.{name}"));
            }
        }
        for keyword in ["properties", "$defs"] {
            for (name, inner) in object.get(keyword).and_then(Value::as_object).into_iter().flatten() {
                look(inner, &format!("{path}.{name}"), bare);
            }
        }
        for keyword in ["items", "additionalProperties", "then", "else"] {
            object.get(keyword).into_iter().for_each(|inner| look(inner, path, bare));
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let all = object.get(keyword).and_then(Value::as_array).into_iter().flatten();
            all.for_each(|inner| look(inner, path, bare));
        }
    }
    for dialect in dialects() {
        let mut bare = Vec::new();
        look(&schema(dialect), dialect, &mut bare);
        assert!(bare.is_empty(), "{bare:#?}");
    }
}

fn missing(
    dialect: &str,
    root: &YamlNode,
    node: &YamlNode,
    path: &mut Vec<SchemaSegment>,
    source: &str,
    edits: &mut Vec<(usize, String)>,
) {
    match &*node.kind {
        YamlNodeKind::Mapping(mapping) => {
            if let Some(first) = mapping.entries.first() {
                let at = first.key.span.start as usize;
                let line = source[..at].rfind('\n').map_or(0, |n| n + 1);
                let flow = source[node.span.start as usize..].starts_with('{');
                let between = if flow { ", ".to_owned() } else { format!("\n{}", " ".repeat(at - line)) };
                for key in keys_at(dialect, root, path) {
                    if mapping.get(&key.name).is_none() {
                        edits.push((at, format!("{}: null{between}", key.name)));
                    }
                }
            }
            for entry in &mapping.entries {
                path.push(SchemaSegment::Key(entry.key.value.to_string()));
                missing(dialect, root, &entry.value, path, source, edits);
                path.pop();
            }
        }
        YamlNodeKind::Sequence(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(SchemaSegment::Item(at));
                missing(dialect, root, item, path, source, edits);
                path.pop();
            }
        }
        YamlNodeKind::Scalar(..) => {}
    }
}

/// The other direction: every key that a reader requests is in the schema. Extracted from the readers' sources, so that
/// a new key without a description is noticed.
#[test]
fn schemas_know_every_key_of_the_readers() {
    let asks = Regex::new(
        r#"(?:take|take_nullable|require|text|require_text|integer|number|boolean|list|word|fields|plain|require_plain|whole|count|seconds|flag|field|spelled|spelled_text|require_spelled|usual|positive|pair|one|tree)\(\s*(?:&mut \w+|fields|config|retry|inner|budget|state|settings|reader)?,?\s*((?:"[^"]*",?\s*)+)"#,
    )
    .unwrap();
    let listed = Regex::new(r#"(?:for (?:key|name) in |no_effect\(\s*&)\[((?:\s*"[\w$]+",?)+)\s*\]"#).unwrap();
    let quoted = Regex::new(r#""([A-Za-z$_]\w*)""#).unwrap();
    let mut asked = 0;
    for dialect in dialects() {
        let mut known = BTreeSet::new();
        names(&schema(dialect), &mut known);
        let mut sources = Vec::new();
        rust(&root().join("crates/trefoil-front/src").join(dialect).join("manifest"), &mut sources);
        let before = asked;
        for path in sources {
            let source = std::fs::read_to_string(&path).unwrap();
            for found in asks.captures_iter(&source).chain(listed.captures_iter(&source)) {
                for key in quoted.captures_iter(&found[1]) {
                    asked += 1;
                    assert!(
                        known.contains(&key[1]),
                        "{dialect} reads `{}` in {}: describe it in crates/trefoil-front/schemas/{dialect}.json",
                        &key[1],
                        path.display()
                    );
                }
            }
        }
        assert!(asked > before, "no keys found in the sources of {dialect}");
    }
    assert!(asked > 300, "only {asked} keys found");
}

fn names(at: &Value, known: &mut BTreeSet<String>) {
    match at {
        Value::Object(object) => {
            known.extend(
                object.get("properties").and_then(Value::as_object).into_iter().flat_map(|p| p.keys().cloned()),
            );
            object.values().for_each(|v| names(v, known));
        }
        Value::Array(items) => items.iter().for_each(|v| names(v, known)),
        _ => {}
    }
}

fn rust(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => rust(&path, files),
            path => files.push(path),
        }
    }
}

fn path(text: &str) -> Vec<SchemaSegment> {
    let segment = |s: &str| s.parse().map_or_else(|_| SchemaSegment::Key(s.to_owned()), SchemaSegment::Item);
    text.split('.').filter(|s| !s.is_empty()).map(segment).collect()
}

#[test]
fn the_kind_decides_which_keys_are_offered() {
    let root =
        parse("id: a\nkind: sequential\nsteps:\n  - ref: b\n    agent:\n      id: c\n      kind: llm\n").unwrap();
    let offered = |at: &str| keys_at("agntz", &root, &path(at)).into_iter().map(|k| k.name).collect::<Vec<_>>();
    assert!(offered("").contains(&"until".to_owned()) && !offered("").contains(&"instruction".to_owned()));
    assert!(offered("steps.0").contains(&"stateKey".to_owned()));
    assert!(offered("steps.0.agent").contains(&"instruction".to_owned()));
    assert!(!offered("steps.0.agent").contains(&"until".to_owned()));
    let keys = keys_at("agntz", &root, &path(""));
    let key = |name: &str| keys.iter().find(|k| k.name == name).unwrap();
    assert!(key("steps").required && !key("until").required);
    assert_eq!(
        (key("steps").takes, key("output").takes, key("until").takes),
        (ValueForm::List, ValueForm::Mapping, ValueForm::Scalar)
    );
    assert!(key("until").description.contains("maxIterations"));
    let step = keys_at("agntz", &root, &path("steps.0"));
    assert!(step.iter().all(|k| !k.required), "`ref` or `agent`: neither by itself");
}

#[test]
fn names_of_the_users_own_offer_nothing() {
    let root = parse("version: \"0.1\"\nagents:\n  a: {model: x}\nnodes:\n  n: {agent: a}\n").unwrap();
    assert_eq!(keys_at("sirenspec", &root, &path("nodes")), []);
    let node = keys_at("sirenspec", &root, &path("nodes.n"));
    assert!(node.iter().any(|k| k.name == "max_tokens_per_call"), "a node without `type` is an agent node");
    assert!(node.iter().all(|k| k.name != "swarm_size"));
}

#[test]
fn words_are_offered_where_there_is_a_choice() {
    let texts = |dialect: &str, source: &str, at: &str| {
        let root = parse(source).unwrap();
        values_at(dialect, &root, &path(at)).into_iter().map(|c| c.text).collect::<Vec<_>>()
    };
    assert_eq!(texts("agntz", "kind: ll\n", "kind")[..2], ["llm", "tool"]);
    assert!(texts("agntz", "kind: llm\nmodel: {provider: }\n", "model.provider").contains(&"openai".to_owned()));
    let states = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nspec:\n  states:\n    A:\n      kind: Agent\n      transitions:\n        - condition: alw\n";
    assert!(texts("aegis", states, "spec.states.A.transitions.0.condition").contains(&"always".to_owned()));
    assert!(texts("aegis", states, "spec.states.A.kind").contains(&"System".to_owned()));
    let retry = "nodes:\n  n:\n    agent: a\n    retry: {jitter: }\n";
    assert_eq!(texts("sirenspec", retry, "nodes.n.retry.jitter")[..2], ["true", "false"]);
    // The current value excludes no choice.
    let begun = retry.replace("jitter: ", "jitter: tr");
    assert_eq!(texts("sirenspec", &begun, "nodes.n.retry.jitter")[..2], ["true", "false"]);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    /// Inserts every key of the schema, with an empty value, into every mapping of every manifest: no reader may report it
    /// as unknown.
    #[test]
    fn readers_know_every_key_of_the_schemas() {
        let mut offered = 0;
        for dialect in dialects() {
            for path in manifests(dialect) {
                let source = std::fs::read_to_string(&path).unwrap();
                let Some(node) = parse(&source) else { continue };
                let mut edits = Vec::new();
                missing(dialect, &node, &node, &mut Vec::new(), &source, &mut edits);
                offered += edits.len();
                let unknown = |report: &LoadReport| -> BTreeSet<String> {
                    let found = report.diagnostics.iter().filter(|d| d.rule == "unknown-key");
                    found.map(|d| d.message.clone()).collect()
                };
                let before = checked(&path, None);
                if before
                    .diagnostics
                    .iter()
                    .any(|d| matches!(d.rule, "unknown-dialect" | "ambiguous-dialect" | "not-an-agent"))
                {
                    continue;
                }
                edits.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
                let mut text = source.clone();
                for (at, key) in &edits {
                    text.insert_str(*at, key);
                }
                assert!(parse(&text).is_some(), "{}:\n{text}", path.display());
                let after = unknown(&checked(&path, Some(text)));
                let new: Vec<_> = after.difference(&unknown(&before)).cloned().collect();
                assert!(new.is_empty(), "{}: {new:#?}", path.display());
            }
        }
        assert!(offered > 1000, "only {offered} keys were tried");
    }

    #[test]
    fn what_loads_is_valid() {
        let mut looked = 0;
        for dialect in dialects() {
            let validator = jsonschema::validator_for(&schema(dialect)).unwrap();
            for path in manifests(dialect) {
                let source = std::fs::read_to_string(&path).unwrap();
                let report = checked(&path, None);
                // In the file itself; wrong references are not mistakes of the format.
                let wrong = report
                    .diagnostics
                    .iter()
                    .any(|d| d.severity == FindingSeverity::Error && d.rule != "unknown-reference");
                let Some(node) = parse(&source).filter(|_| !wrong) else { continue };
                let json = to_value(&node).to_json();
                if let Some(e) = validator.iter_errors(&json).next() {
                    panic!("{}: {e} at {}", path.display(), e.instance_path());
                }
                looked += 1;
            }
        }
        assert!(looked >= 30, "only {looked} manifests");
    }
}
