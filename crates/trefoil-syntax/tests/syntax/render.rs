//! The output of the renderers.

use trefoil_syntax::diagnostic::render::{
    JSON_SCHEMA, SarifRule, TextOptions, render_github, render_json, render_sarif, render_summary, render_text,
};
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Fix, Location, SourceEdit, SourceFile, SourceFiles, Span};

const FLOW: &str =
    "id: demo\nsteps:\n  - id: résumé\n    prompt: |\n      Hello {{ name }},\n      bye\n  - id: b\n    when: x\n";

/// Three files: a small one, an agent, one with a line of 100 KB.
fn files() -> SourceFiles {
    let mut files = SourceFiles::default();
    files.add_file(SourceFile::new("flows/demo.yaml", FLOW));
    files.add_file(SourceFile::new("agents/a,b: 100%.yaml", "\u{feff}id: b\r\nmodel: x\r\n"));
    files.add_file(SourceFile::new("long.yaml", format!("a: {}\nb: 1\n", "xé".repeat(40_000))));
    files
}

/// The place of a text in a file.
fn at(files: &SourceFiles, file: u32, part: &str) -> Location {
    let start = files.get(FileId(file)).unwrap().text().find(part).unwrap() as u32;
    Location::new(FileId(file), Span::new(start, start + part.len() as u32))
}

fn place(file: u32, start: u32, end: u32) -> Location {
    Location::new(FileId(file), Span::new(start, end))
}

fn all(files: &SourceFiles) -> Vec<Diagnostic> {
    let end = FLOW.len() as u32;
    vec![
        Diagnostic::new_error("unknown-name", at(files, 0, "name"), "`name` is not defined")
            .with_label(at(files, 0, "résumé"), "in this step")
            .with_label(at(files, 1, "id: b"), "the agent it runs")
            .with_help("did you mean `names`?"),
        Diagnostic::new_warning("no-effect", at(files, 1, "model: x"), "`model` has no effect"),
        Diagnostic::new_info(
            "several-lines",
            at(files, 0, "prompt: |\n      Hello {{ name }},\n      bye"),
            "three lines and more",
        ),
        Diagnostic::new_info("two-lines", at(files, 0, "{{ name }},\n      bye"), "two lines"),
        Diagnostic::new_error("at-the-end", place(0, end, end), "the file ends here"),
        Diagnostic::new_error("past-the-end", place(0, end + 10, end + 20), "no such place"),
        Diagnostic::new_error("empty-place", place(0, 9, 9), "before `steps`"),
        Diagnostic::new_error("long-line", place(2, 60_004, 60_007), "in the middle")
            .with_label(place(2, 3, 6), "the beginning"),
        Diagnostic::new_warning("long-span", place(2, 3, 120_000), "all of it"),
        Diagnostic::without_location("no-place", FindingSeverity::Warning, Some(FileId(1)), "about a file")
            .with_help("rename it"),
        Diagnostic::without_location("no-file", FindingSeverity::Error, None, "about none"),
        Diagnostic::new_error("no-such-file", place(9, 0, 1), "in a file that is not there"),
        Diagnostic::new_error("tricky", at(files, 0, "demo"), "moves \u{1b}[2J the\ncursor \u{202e}back")
            .with_help("50%\r\n, no"),
        Diagnostic::new_warning("misspelt", at(files, 0, "when"), "no key `when`")
            .with_help("did you mean `if`?")
            .with_safe_fix("write `if`", at(files, 0, "when"), "if"),
        Diagnostic::new_warning("too-much", at(files, 0, "steps"), "a line too many").with_suggestion(
            "remove the line",
            at(files, 0, "    prompt: |\n"),
            "",
        ),
        in_two_files(files),
        Diagnostic::new_error("in-a-long-line", place(2, 60_004, 60_007), "in the middle").with_safe_fix(
            "write `x`",
            place(2, 60_004, 60_007),
            "x",
        ),
    ]
}

/// A fix that renames something where it is declared and where it is read.
fn in_two_files(files: &SourceFiles) -> Diagnostic {
    let edit = |location, text: &str| SourceEdit { location, text: text.to_owned() };
    let edits = vec![
        edit(at(files, 0, "demo"), "show"),
        edit(at(files, 0, "résumé"), "summary"),
        edit(at(files, 1, "id: b"), "id: c"),
    ];
    let fix = Fix { message: "rename all".to_owned(), edits, safe: true };
    Diagnostic { fix: Some(Box::new(fix)), ..Diagnostic::new_warning("names", at(files, 0, "demo"), "bad names") }
}

#[test]
fn text_shows_excerpts() {
    let files = files();
    insta::assert_snapshot!(render_text(&all(&files), &files, TextOptions::default()));
}

#[test]
fn text_with_colour_says_the_same() {
    let files = files();
    let plain = render_text(&all(&files), &files, TextOptions::default());
    let colored = render_text(&all(&files), &files, TextOptions { color: true, ..TextOptions::default() });
    assert!(colored.contains("\x1b[") && !plain.contains('\x1b'));
    let mut stripped = String::new();
    let mut escape = false;
    for c in colored.chars() {
        match (escape, c) {
            (false, '\x1b') => escape = true,
            (true, c) => escape = c != 'm',
            (false, c) => stripped.push(c),
        }
    }
    assert_eq!(stripped, plain);
}

#[test]
fn text_fits_the_terminal() {
    let files = files();
    let narrow = render_text(&all(&files)[7..9], &files, TextOptions { width: 60, ..TextOptions::default() });
    assert!(narrow.lines().all(|l| l.chars().count() <= 62), "{narrow}");
}

#[test]
fn a_thousand_findings_on_a_long_line_do_not_take_long() {
    let files = files();
    let many: Vec<Diagnostic> =
        (0..1000).map(|i| Diagnostic::new_error("r", place(2, 3 + i * 3, 4 + i * 3), "m")).collect();
    let start = std::time::Instant::now();
    let out = render_text(&many, &files, TextOptions::default());
    assert!(out.len() < 1000 * 2000 && start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn json_has_the_documented_shape() {
    let files = files();
    let out = render_json(&all(&files), &files, 7);
    assert!(out.ends_with("}\n") && out.matches('\n').count() == 1);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let first = &value["diagnostics"][0];
    assert_eq!(
        *first,
        serde_json::json!({
            "rule": "unknown-name", "severity": "error", "message": "`name` is not defined",
            "file": "flows/demo.yaml", "line": 5, "column": 16, "end_line": 5, "end_column": 20,
            "help": "did you mean `names`?",
            "labels": [
                {"message": "in this step", "file": "flows/demo.yaml", "line": 3, "column": 9, "end_line": 3, "end_column": 15},
                {"message": "the agent it runs", "file": "agents/a,b: 100%.yaml", "line": 1, "column": 1, "end_line": 1, "end_column": 6},
            ],
            "fix": null,
        })
    );
    let keys: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["rule", "severity", "message", "file", "line", "column", "end_line", "end_column", "help", "labels", "fix"]
    );
    assert_eq!(value["files"], 7);
    let misspelt = &value["diagnostics"][13]["fix"];
    assert_eq!(
        *misspelt,
        serde_json::json!({
            "message": "write `if`", "safe": true, "edits": [
                {"file": "flows/demo.yaml", "line": 8, "column": 5, "end_line": 8, "end_column": 9, "text": "if"},
            ],
        })
    );
    fits(JSON_SCHEMA, &value);
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn the_published_schema_of_the_json_is_this_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/check.json");
    assert_eq!(std::fs::read_to_string(path).unwrap(), JSON_SCHEMA, "copy one over the other");
    let schema: serde_json::Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let wrong = serde_json::json!({"files": 1, "diagnostics": [{"rule": "a"}]});
    assert!(!jsonschema::validator_for(&schema).unwrap().is_valid(&wrong));
}

#[test]
fn sarif_fits_the_published_schema() {
    let files = files();
    let rules =
        [SarifRule { name: "misspelt", summary: "A key.", page: "# misspelt\n", level: Some(FindingSeverity::Info) }];
    let out = render_sarif(&all(&files), &files, &rules, "1.2.3");
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    // The published pattern of language tags has an extra bracket, which strict regex parsers reject.
    let schema = include_str!("sarif-2.1.0.schema.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}?$");
    fits(&schema, &value);
    let run = &value["runs"][0];
    let rule = &run["tool"]["driver"]["rules"][0];
    assert_eq!((&rule["id"], &rule["defaultConfiguration"]["level"]), (&"misspelt".into(), &"note".into()));
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), all(&files).len());
    assert_eq!(
        results[0]["relatedLocations"][1]["physicalLocation"],
        serde_json::json!({
            "artifactLocation": {"uri": "agents/a%2Cb%3A%20100%25.yaml"},
            "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 6},
        })
    );
    assert_eq!(results[13]["ruleIndex"], 0);
    assert_eq!(results[13]["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"], "if");
    assert_eq!(results[15]["fixes"][0]["artifactChanges"].as_array().unwrap().len(), 2);
    assert!(results[10].get("locations").is_none(), "a finding about no file has no place: {}", results[10]);
}

#[track_caller]
fn fits(schema: &str, value: &serde_json::Value) {
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn github_escapes_what_it_has_to() {
    let files = files();
    insta::assert_snapshot!(render_github(&all(&files), &files));
}

#[test]
fn nothing_found_is_nothing_said() {
    let files = SourceFiles::default();
    assert_eq!(render_text(&[], &files, TextOptions::default()), "");
    assert_eq!(render_json(&[], &files, 0), "{\"files\":0,\"diagnostics\":[]}\n");
    assert_eq!(render_github(&[], &files), "");
    assert_eq!(render_summary(&[], 2), "no errors in 2 files");
}
