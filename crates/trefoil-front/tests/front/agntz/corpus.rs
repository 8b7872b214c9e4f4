//! Real manifests, each in a separate folder: the findings about each, and their places. Judged by hand.
//!
//! Read from the shared material next to the project. If it is missing, the test says so and passes.

use super::support::{load, show};

/// A file, then its errors and warnings as `line:column rule`, errors with `!`. Files that are not listed load without
/// either.
const FINDINGS: &[(&str, &[&str])] = &[
    ("contract-parallel.yaml", &["!8:10 unknown-reference"]),
    ("contract-sequential.yaml", &["!8:10 unknown-reference"]),
    ("contract-simple-llm.yaml", &["18:1 no-effect"]),
    ("doc-concepts-agent-kinds-02.yaml", &["2:7 refused", "10:1 no-effect"]),
    ("doc-concepts-agent-kinds-03.yaml", &["2:7 refused", "13:1 no-effect"]),
    ("doc-concepts-agent-kinds-05.yaml", &["!12:10 unknown-reference", "16:5 empty-message", "21:36 unresolved-name"]),
    (
        "doc-concepts-agent-kinds-06.yaml",
        &["!8:10 unknown-reference", "10:17 unresolved-name", "!12:10 unknown-reference"],
    ),
    ("doc-concepts-context-and-resources-01.yaml", &["8:1 refused"]),
    ("doc-schema-resources-01.yaml", &["8:1 refused"]),
    ("doc-tools-callback-01.yaml", &["12:5 refused"]),
    ("ex-hosted-nutritionist-callback.yaml", &["11:5 refused", "37:1 no-effect"]),
    ("ex-researcher-bot.yaml", &["16:1 refused"]),
    ("ex-social-transcription.yaml", &["2:7 refused", "13:1 no-effect"]),
    ("ex-text-analysis.yaml", &["!11:10 unknown-reference"]),
    (
        "history-memrez-curator.yaml",
        &["15:5 unresolved-name", "18:5 unresolved-name", "21:5 unresolved-name", "24:5 unresolved-name"],
    ),
    (
        "history-memrez-tagger.yaml",
        &[
            "15:5 unresolved-name",
            "18:5 unresolved-name",
            "21:5 unresolved-name",
            "24:5 unresolved-name",
            "27:5 unresolved-name",
        ],
    ),
    (
        "olddoc-concepts-agent-kinds-03.yaml",
        &["!8:10 unknown-reference", "12:5 empty-message", "17:36 unresolved-name"],
    ),
    ("olddoc-concepts-agent-kinds-05.yaml", &["!8:10 unknown-reference", "!10:10 unknown-reference"]),
    (
        "olddoc-concepts-agent-kinds-06.yaml",
        &[
            "!17:16 unknown-reference",
            "18:30 unresolved-name",
            "!19:16 unknown-reference",
            "!30:16 unknown-reference",
            "32:23 unresolved-name",
            "33:22 unresolved-name",
            "34:29 unresolved-name",
            "!37:16 unknown-reference",
            "49:42 unresolved-name",
        ],
    ),
    ("olddoc-concepts-context-and-resources-01.yaml", &["8:1 refused"]),
    ("olddoc-schema-common-fields-01.yaml", &["!1:1 missing-key", "!1:1 missing-key"]),
    ("olddoc-schema-pipeline-steps-06.yaml", &["!8:10 unknown-reference", "!10:10 unknown-reference"]),
    ("readme-README-02.yaml", &["!2:1 missing-key", "38:1 no-effect"]),
    ("readme-memrez-README-01.yaml", &["8:1 refused"]),
    ("readme-schema-reference-01.yaml", &["!1:1 missing-key", "!1:1 missing-key"]),
    ("readme-schema-reference-15.yaml", &["2:7 refused", "16:1 no-effect"]),
    ("readme-schema-reference-18.yaml", &["!12:10 unknown-reference", "!32:10 unknown-reference"]),
    ("readme-schema-reference-20.yaml", &["!8:10 unknown-reference"]),
    ("readme-worker-README-01.yaml", &["2:7 refused", "9:1 no-effect"]),
    ("sdkfix-spawn-parent.yaml", &["!11:14 unknown-reference"]),
    ("skill-summarizer.yaml", &["!2:1 not-an-agent"]),
    ("test-block-run-routes-003.yaml", &["!4:10 unknown-reference"]),
    ("test-edit-agent-001.yaml", &["4:5 empty-message"]),
    ("test-import-routes-002.yaml", &["!4:10 unknown-reference"]),
    ("test-manifest-schema-002.yaml", &["!3:1 missing-key"]),
    ("test-manifest-schema-003.yaml", &["!3:1 missing-key"]),
    ("test-manifest-schema-005.yaml", &["4:5 empty-message", "!10:11 wrong-type"]),
    ("test-manifest_contract-001.yaml", &["!5:5 ambiguous-step"]),
    ("test-manifest_contract-002.yaml", &["5:1 no-effect", "!5:20 wrong-type"]),
    ("test-memrez_resource_provider-003.yaml", &["7:1 refused"]),
    ("test-memrez_resource_provider-004.yaml", &["7:1 refused"]),
    ("test-parser-002.yaml", &["15:23 unresolved-name", "!19:12 unknown-reference"]),
    ("test-parser-003.yaml", &["13:18 unresolved-name"]),
    ("test-parser-004.yaml", &["7:1 refused"]),
    ("test-parser-009.yaml", &["!4:10 unknown-reference", "6:16 unresolved-name", "!7:10 unknown-reference"]),
    ("test-parser-010.yaml", &["4:5 empty-message", "10:34 unresolved-name"]),
    ("test-parser-011.yaml", &["!4:5 missing-key", "5:13 unresolved-name"]),
    ("test-parser-012.yaml", &["!9:14 unknown-reference"]),
    ("test-parser-014.yaml", &["!8:11 unknown-value"]),
    ("test-parser-016.yaml", &["!9:14 unknown-reference", "!10:14 invalid-reference"]),
    ("test-parser-017.yaml", &["!9:12 unknown-reference", "!11:12 unknown-reference"]),
    ("test-parser-018.yaml", &["!9:12 unknown-reference", "!10:14 invalid-reference"]),
    ("test-parser-019.yaml", &["!9:12 invalid-reference"]),
    ("test-parser-020.yaml", &["!4:10 unknown-reference", "!5:10 unknown-reference"]),
    ("test-validate-003.yaml", &["!1:1 missing-key"]),
    ("test-validate-007.yaml", &["7:1 refused"]),
    ("test-validate-012.yaml", &["!1:1 missing-key"]),
    ("test-validate-013.yaml", &["!3:1 missing-key"]),
    ("test-validate-018.yaml", &["3:1 no-effect", "!5:10 unknown-reference"]),
    ("test-validate-019.yaml", &["!4:5 missing-key", "4:5 empty-message"]),
    ("test-validate-023.yaml", &["!6:10 unknown-reference", "!8:16 unordered-read", "!9:10 unknown-reference"]),
    ("test-validate-028.yaml", &["!4:10 unknown-reference", "7:15 unresolved-name"]),
    ("test-validate-029.yaml", &["!17:7 unknown-input"]),
    ("test-validate-032.yaml", &["!4:10 unknown-reference"]),
    ("test-validate-036.yaml", &["!12:18 wrong-type"]),
    ("test-validate-043.yaml", &["!9:14 unknown-reference"]),
    ("test-validate-046.yaml", &["!9:14 unknown-reference", "11:14 duplicate-id"]),
    ("test-validate-047.yaml", &["!15:20 unresolved-name"]),
    ("test-validate-049.yaml", &["!9:14 unknown-reference", "!12:14 unknown-reference"]),
    ("test-validate-050.yaml", &["!9:14 unknown-reference", "!10:14 invalid-reference"]),
    ("test-validate-052.yaml", &["!10:41 invalid-url"]),
    ("test-validate-054.yaml", &["14:16 unresolved-name"]),
    ("test-validate-057.yaml", &["!11:13 unknown-value"]),
    ("test-validate-058.yaml", &["!12:5 conflicting-keys"]),
    ("test-validate-063.yaml", &["!20:17 unknown-value"]),
    ("test-validate-064.yaml", &["!10:10 invalid-url"]),
];

#[test]
fn every_file_is_judged() {
    let Some(corpus) = untested::shared_folder("corpus/agntz") else { return };
    let mut names: Vec<_> =
        std::fs::read_dir(corpus.clone()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut wrong = Vec::new();
    for name in names.iter().filter(|n| n.ends_with(".yaml")) {
        let text = std::fs::read_to_string(corpus.join(name)).unwrap();
        let folder = load(&[(name, &text)]);
        let clean = !folder.diagnostics.has_errors();
        assert_eq!(folder.lowered.is_some(), clean, "{name}: a program comes back exactly when there is no error");
        let shown = show(&folder.project.files, folder.diagnostics, false);
        let found: Vec<String> = shown.lines().filter_map(brief).collect();
        let expected = FINDINGS.iter().find(|(n, _)| n == name).map_or(&[][..], |(_, f)| f);
        if found != expected {
            wrong.push(format!("    (\"{name}\", &{found:?}),\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    for (name, _) in FINDINGS {
        assert!(names.iter().any(|n| n == name), "{name} is gone from the corpus");
    }
}

/// `error 3:5 rule: message` as `!3:5 rule`; infos are omitted.
fn brief(line: &str) -> Option<String> {
    let (severity, rest) = line.split_once(' ')?;
    let place = rest.split_once(": ").map_or(rest, |(place, _)| place);
    match severity {
        "error" => Some(format!("!{place}")),
        "warning" => Some(place.to_owned()),
        _ => None,
    }
}
