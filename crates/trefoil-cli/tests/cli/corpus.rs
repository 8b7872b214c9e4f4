//! Real manifests: each loads or is reported with a place, and each that can run ends with the embedded model.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::world::Folder;

fn corpus(dialect: &str) {
    let Some(dir) = untested::shared_folder("corpus") else { return };
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir.join(dialect)).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut counts = [0; 3];
    for file in &files {
        counts[one(file)] += 1;
    }
    let [ran, reported, not_started] = counts;
    eprintln!("{dialect}: {ran} ran, {reported} reported, {not_started} refused before the first call");
    assert!(ran > 0);
}

/// 0: it ran; 1: it was reported; 2: it did not start.
fn one(file: &Path) -> usize {
    let name = file.file_name().unwrap().to_str().unwrap();
    let folder = Folder::new();
    folder.write(name, std::fs::read(file).unwrap());
    let checked = folder.trefoil(&["check", "--format", "json", name]);
    let json = checked.json();
    let errors: Vec<&Value> =
        json["diagnostics"].as_array().unwrap().iter().filter(|d| d["severity"] == "error").collect();
    for error in &errors {
        assert!(error["line"].is_u64(), "{name}: an error without a line: {error}");
    }
    if !errors.is_empty() {
        checked.exits(1);
        folder.trefoil(&["run", name]).silent(2);
        return 1;
    }
    checked.exits(0);
    for args in [&["plan", name][..], &["graph", name], &["graph", name, "--format", "svg"], &["ir", name]] {
        folder.trefoil(args).exits(0);
    }
    let plan = folder.trefoil(&["plan", "--format", "json", name]).json();
    let mut args = vec!["run".to_owned(), "--model".to_owned(), "embedded".to_owned(), name.to_owned()];
    for input in plan["input"].as_array().unwrap().iter().filter(|i| i["required"] == true) {
        args.extend([
            "--input".to_owned(),
            format!("{}={}", input["name"].as_str().unwrap(), sample(&input["schema"])),
        ]);
    }
    if plan["input"].as_array().unwrap().is_empty() {
        args.extend(["--input".to_owned(), "a topic".to_owned()]);
    }
    let ran = folder.trefoil(&args.iter().map(String::as_str).collect::<Vec<_>>());
    match ran.code {
        0 => 0,
        2 => {
            assert_eq!(ran.out, "");
            let why: Vec<_> = ran.err.lines().filter(|line| line.starts_with("error")).collect();
            eprintln!("{name}: {}", why.join("; "));
            2
        }
        code => panic!("{name} exits {code}: {}", ran.err),
    }
}

fn sample(schema: &Value) -> String {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.as_str().map_or_else(|| first.to_string(), str::to_owned);
    }
    match schema["type"].as_str() {
        Some("number" | "integer") => "3",
        Some("boolean") => "true",
        Some("array") => "[]",
        Some("object") => "{}",
        _ => "some text",
    }
    .to_owned()
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn agntz() {
        corpus("agntz");
    }

    #[test]
    fn aegis() {
        corpus("aegis");
    }

    #[test]
    fn sirenspec() {
        corpus("sirenspec");
    }
}
