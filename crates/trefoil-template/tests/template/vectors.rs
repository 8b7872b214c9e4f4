//! Test cases that several implementations share, if they are available (`TREFOIL_SHARED`).

use trefoil_template::state::{RenderFailure, TextKind, evaluate_text};
use trefoil_template::{EvalError, Policy, Value};

#[derive(serde::Deserialize)]
struct Vector {
    id: String,
    dialect: String,
    kind: String,
    text: String,
    state: Value,
    expect: Option<Value>,
    error: Option<Expected>,
    #[serde(default)]
    load_error: bool,
}

#[derive(serde::Deserialize)]
struct Expected {
    expression: String,
    namespace: String,
    reason: String,
}

#[test]
fn all_shared_vectors_hold() {
    let Some(vectors) = untested::shared_folder("vectors") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for dialect in ["agntz", "aegis", "sirenspec"] {
        let text = std::fs::read_to_string(vectors.join(format!("{dialect}.jsonl"))).unwrap();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let vector: Vector = serde_json::from_str(line).unwrap();
            count += 1;
            if let Err(why) = check(&vector) {
                wrong.push(format!("{} {:?}: {why}", vector.id, vector.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} vectors fail:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 400, "only {count} vectors were found");
}

fn check(vector: &Vector) -> Result<(), String> {
    let policy = match vector.dialect.as_str() {
        "agntz" => Policy::AGNTZ,
        "aegis" => Policy::AEGIS,
        "sirenspec" => Policy::SIRENSPEC,
        other => return Err(format!("unknown dialect {other}")),
    };
    let kind = match vector.kind.as_str() {
        "template" => TextKind::Template,
        "value" => TextKind::Value,
        "condition" => TextKind::Condition,
        other => return Err(format!("unknown kind {other}")),
    };
    let got = evaluate_text(&policy, kind, &vector.text, &vector.state);
    let fits = match (&got, &vector.error) {
        (Ok(value), None) => !vector.load_error && *value == vector.expect.clone().unwrap_or_default(),
        (Err(RenderFailure::Load(errors)), None) => {
            vector.load_error && errors.iter().all(|e| e.line > 0 && e.column > 0 && !e.error.message.is_empty())
        }
        (Err(RenderFailure::Run(EvalError::Undefined { expression, namespace, reason, .. })), Some(expected)) => {
            **expression == *expected.expression && **namespace == *expected.namespace && *reason == expected.reason
        }
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("{got:?}")) }
}
