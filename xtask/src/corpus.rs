//! Tests every manifest of a corpus: it must load or be reported with a position, never panic, and if it loads and can
//! run, end with the embedded model.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Outcome, offline};

/// Checks and runs every YAML file below a folder, each in a separate folder.
pub fn run(bin: &Path, dir: &Path) -> Outcome {
    let mut files = Vec::new();
    collect(dir, &mut files)?;
    files.sort();
    let scratch = std::env::temp_dir().join(format!("trefoil-corpus-{}", std::process::id()));
    let mut problems = 0;
    let mut counts = [0usize; 4];
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for file in &files {
        let result = one(bin, file, &scratch);
        let _ = std::fs::remove_dir_all(&scratch);
        match result? {
            Verdict::Ran => counts[0] += 1,
            Verdict::Reported => counts[1] += 1,
            Verdict::NotStarted(why) => {
                counts[2] += 1;
                why.into_iter().for_each(|one| *reasons.entry(one).or_default() += 1);
            }
            Verdict::Problem(why) => {
                counts[3] += 1;
                problems += 1;
                println!("{}: {why}", file.display());
            }
        }
    }
    let [ran, reported, not_started, bad] = counts;
    println!(
        "corpus: {} files: {ran} ran to their end, {reported} reported, {not_started} refused before the first call, {bad} problems",
        files.len()
    );
    for (why, files) in reasons {
        println!("  {files:>3} refused because {why}");
    }
    Ok(problems)
}

enum Verdict {
    Ran,
    Reported,
    /// Why, each reason once.
    NotStarted(BTreeSet<String>),
    Problem(String),
}

fn one(bin: &Path, file: &Path, scratch: &Path) -> Result<Verdict, String> {
    std::fs::create_dir_all(scratch).map_err(|e| e.to_string())?;
    let name = file.file_name().ok_or("no file name")?;
    let copy = scratch.join(name);
    std::fs::copy(file, &copy).map_err(|e| format!("{}: {e}", file.display()))?;

    let check = offline(bin).args(["check", "--format", "json"]).arg(&copy).output().map_err(|e| e.to_string())?;
    let report: Value = match serde_json::from_slice(&check.stdout) {
        Ok(report) => report,
        Err(e) => {
            return Ok(Verdict::Problem(format!(
                "check printed no JSON ({e}): {}",
                String::from_utf8_lossy(&check.stderr)
            )));
        }
    };
    let errors: Vec<&Value> = report
        .get("diagnostics")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|d| d.get("severity").and_then(Value::as_str) == Some("error"))
        .collect();
    match check.status.code() {
        Some(0) if errors.is_empty() => {}
        Some(1) if !errors.is_empty() => {
            return Ok(match errors.iter().find(|d| d.get("line").is_none_or(Value::is_null)) {
                Some(d) => Verdict::Problem(format!("an error without a line: {d}")),
                None => Verdict::Reported,
            });
        }
        code => return Ok(Verdict::Problem(format!("check exited {code:?} with {} errors", errors.len()))),
    }

    let mut command = offline(bin);
    command.args(["run", "--quiet", "--model", "embedded"]).arg(&copy).stdin(std::process::Stdio::null());
    for input in inputs(bin, &copy)? {
        command.arg("--input").arg(input);
    }
    let ran = command.output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&ran.stderr);
    Ok(match ran.status.code() {
        Some(0) => Verdict::Ran,
        Some(2) => Verdict::NotStarted(reasons(&said)),
        code => Verdict::Problem(format!("run exited {code:?}: {}", said.trim())),
    })
}

/// The errors of a run that did not start, without the names of the user's own things.
fn reasons(said: &str) -> BTreeSet<String> {
    let errors = said.lines().filter_map(|line| line.strip_prefix("error[")?.split_once("]: "));
    errors
        .map(|(rule, message)| match rule {
            "refused" => message.to_owned(),
            _ => rule.to_owned(),
        })
        .collect()
}

/// `key=value` for every required input in `plan --format json`, so that a manifest with required inputs starts.
fn inputs(bin: &Path, file: &Path) -> Result<Vec<String>, String> {
    let plan = offline(bin).args(["plan", "--format", "json"]).arg(file).output().map_err(|e| e.to_string())?;
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap_or_default();
    let fields = plan.pointer("/input").and_then(Value::as_array).cloned().unwrap_or_default();
    if fields.is_empty() {
        return Ok(vec!["a topic of interest".to_owned()]);
    }
    let required = fields.iter().filter(|f| f.get("required").and_then(Value::as_bool) == Some(true));
    Ok(required.filter_map(|f| Some(format!("{}={}", f.get("name")?.as_str()?, sample(f)))).collect())
}

fn sample(field: &Value) -> String {
    if let Some(first) = field.pointer("/schema/enum/0") {
        return first.as_str().map_or_else(|| first.to_string(), str::to_owned);
    }
    match field.pointer("/schema/type").and_then(Value::as_str) {
        Some("number" | "integer") => "3",
        Some("boolean") => "true",
        Some("array") => "[]",
        Some("object") => "{}",
        _ => "some text",
    }
    .to_owned()
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            out.push(path);
        }
    }
    Ok(())
}
