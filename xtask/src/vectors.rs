//! Runs the conformance vectors through `trefoil render --jsonl`.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::{Outcome, offline};

/// Runs every `*.jsonl` file of a folder.
pub fn run(bin: &Path, dir: &Path) -> Outcome {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .map_err(|e| format!("{}: {e}", dir.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    files.sort();
    let (mut failed, mut passed) = (0, 0);
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let cases: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let answers = ask(bin, &cases)?;
        for (case, answer) in cases.iter().zip(answers) {
            match mismatch(case, &answer) {
                None => passed += 1,
                Some(why) => {
                    failed += 1;
                    println!("{}: {why}\n  text: {}\n  got:  {answer}", show(case, "id"), show(case, "text"));
                }
            }
        }
    }
    println!("vectors: {passed} passed, {failed} failed");
    Ok(failed)
}

fn ask(bin: &Path, cases: &[Value]) -> Result<Vec<Value>, String> {
    let mut child = offline(bin)
        .args(["render", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{}: {e}", bin.display()))?;
    let mut input = String::new();
    for case in cases {
        let question: Value = ["dialect", "kind", "text", "state"]
            .iter()
            .map(|k| ((*k).to_owned(), case.get(*k).cloned().unwrap_or_default()))
            .collect();
        input.push_str(&question.to_string());
        input.push('\n');
    }
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    writer.join().map_err(|_| "the writer died".to_owned())?.map_err(|e| e.to_string())?;
    let answers: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    if answers.len() == cases.len() {
        Ok(answers)
    } else {
        Err(format!("{} answers to {} questions", answers.len(), cases.len()))
    }
}

fn mismatch(case: &Value, answer: &Value) -> Option<String> {
    let ok = answer.get("ok").and_then(Value::as_bool) == Some(true);
    if case.get("load_error").is_some() {
        let placed = answer.pointer("/error/line").is_some_and(Value::is_u64);
        return (ok || answer.get("phase") != Some(&json!("load")) || !placed)
            .then(|| "must be refused at load, with a position".to_owned());
    }
    if let Some(error) = case.get("error") {
        let wrong = ["expression", "namespace", "reason"]
            .iter()
            .any(|k| answer.pointer(&format!("/error/{k}")) != error.get(*k));
        return (ok || wrong).then(|| format!("expected the error {error}"));
    }
    let expect = case.get("expect")?;
    (!ok || answer.get("result") != Some(expect)).then(|| format!("expected {expect}"))
}

fn show<'v>(case: &'v Value, key: &str) -> &'v Value {
    case.get(key).unwrap_or(&Value::Null)
}
