//! Loading a folder repeatedly with a cache of trees gives the same findings as without.

use std::collections::HashMap;
use std::sync::Arc;

use trefoil_project::load::{LoadOptions, LoadReport, ParseCache};

use crate::Folder;

const AGENT: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You help.\nprompt: \"{{userQuery}}\"\n";
const MAIN: &str = "id: main\nkind: sequential\nsteps:\n  - ref: helper\n    input: { userQuery: x }\noutput: { said: \"{{helper}}\" }\n";

fn check(folder: &Folder, cache: Option<&ParseCache>) -> LoadReport {
    let options = LoadOptions { cache: cache.cloned(), ..LoadOptions::default().with_checks() };
    trefoil_project::load::check_paths(&[folder.0.display().to_string()], &options)
}

/// Checks with the cached trees; the findings must be those without a cache.
fn again(folder: &Folder, cache: &ParseCache) -> Vec<&'static str> {
    let (kept, fresh) = (check(folder, Some(cache)), check(folder, None));
    assert_eq!(kept.text(), fresh.text());
    assert_eq!(kept.checked, fresh.checked);
    kept.diagnostics.iter().map(|d| d.rule).collect()
}

#[test]
fn a_folder_that_changes_is_seen_as_it_is() {
    let folder = Folder::with(&[("main.yaml", MAIN), ("helper.yaml", AGENT)]);
    let cache = ParseCache::default();
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    assert_eq!(again(&folder, &cache), [""; 0]);
    assert_eq!(again(&folder, &cache), [""; 0]);
    // The other file has not changed, but its findings have.
    write("helper.yaml", &AGENT.replace("id: helper", "id: helpre"));
    assert_eq!(again(&folder, &cache), ["unknown-reference"]);
    write("helper.yaml", AGENT);
    assert_eq!(again(&folder, &cache), [""; 0]);
    // A new file before the others changes their file ids.
    write("a.yaml", &AGENT.replace("id: helper", "id: first").replace("instruction", "instrction"));
    assert!(again(&folder, &cache).contains(&"unknown-key"));
    write("main.yaml", &MAIN.replace("{{helper}}", "{{helpre}}"));
    let rules = again(&folder, &cache);
    assert!(rules.contains(&"unknown-key") && rules.contains(&"unresolved-name"), "{rules:?}");
    std::fs::remove_file(folder.0.join("helper.yaml")).unwrap();
    assert!(again(&folder, &cache).contains(&"unknown-reference"));
}

#[test]
fn a_text_with_findings_of_its_own_keeps_them() {
    // The parser reports it, so a tree alone would lose it.
    let folder = Folder::with(&[("main.yaml", MAIN), ("helper.yaml", &format!("%YAML 1.1\n---\n{AGENT}"))]);
    let cache = ParseCache::default();
    let first = again(&folder, &cache);
    assert!(!first.is_empty());
    assert_eq!(again(&folder, &cache), first);
}

#[test]
fn an_unsaved_text_and_the_file_do_not_get_mixed_up() {
    let folder = Folder::with(&[("main.yaml", MAIN), ("helper.yaml", AGENT)]);
    let path = folder.0.join("helper.yaml").canonicalize().unwrap();
    let buffer: Arc<str> = AGENT.replace("id: helper", "id: other").into();
    let overlay = Arc::new(HashMap::from([(path, buffer)]));
    let cache = ParseCache::default();
    let unsaved = LoadOptions { overlay, cache: Some(cache.clone()), ..LoadOptions::default().with_checks() };
    let folders = [folder.0.display().to_string()];
    for _ in 0..2 {
        let rules: Vec<_> =
            trefoil_project::load::check_paths(&folders, &unsaved).diagnostics.iter().map(|d| d.rule).collect();
        assert_eq!(rules, ["unknown-reference"]);
        assert_eq!(again(&folder, &cache), [""; 0]);
    }
}

#[test]
fn comments_count_whether_or_not_a_tree_was_kept() {
    let allowed = AGENT.replace("instruction:", "# trefoil: allow unknown-key\ncolour: red\ninstruction:");
    let folder = Folder::with(&[("helper.yaml", &allowed)]);
    let cache = ParseCache::default();
    assert_eq!(again(&folder, &cache), [""; 0]);
    assert_eq!(again(&folder, &cache), [""; 0]);
}
