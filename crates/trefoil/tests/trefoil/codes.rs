//! The pages of error codes: every code of a run has one, and the page of all codes is current.

use std::collections::BTreeSet;
use std::path::Path;

use trefoil_project::codes::{CODES, CodeOccasion};

/// Every Rust file in a folder.
fn sources(folder: &Path, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_code_of_the_sources_has_a_page() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut texts = Vec::new();
    for name in ["trefoil", "trefoil-embedded", "trefoil-machine", "trefoil-models", "trefoil-runtime"] {
        sources(&crates.join(name).join("src"), &mut texts);
    }
    let made = regex::Regex::new(r#"(?:RunError|Self)::new\(\s*"([A-Z_]+)""#).unwrap();
    let used: BTreeSet<&str> =
        texts.iter().flat_map(|t| made.captures_iter(t)).map(|c| c.get(1).unwrap().as_str()).collect();
    assert!(used.contains("NO_TRANSITION") && used.len() > 15, "{used:?}");
    let listed: BTreeSet<&str> = CODES.iter().map(|c| c.name).collect();
    let missing: Vec<_> = used.difference(&listed).collect();
    assert!(missing.is_empty(), "no page in src/codes for {missing:?}");
    let not_started: BTreeSet<&str> =
        CODES.iter().filter(|c| c.when == CodeOccasion::NotStarted).map(|c| c.name).collect();
    let mut texts = Vec::new();
    for folder in ["trefoil-host/src", "trefoil-project/src/secrets"] {
        sources(&crates.join(folder), &mut texts);
    }
    let named = regex::Regex::new(r#"(?m)^pub const [A-Z_]+: &str = "([a-z]+(?:-[a-z]+)+)";"#).unwrap();
    let reasons: Vec<&str> =
        texts.iter().flat_map(|t| named.captures_iter(t)).map(|c| c.get(1).unwrap().as_str()).collect();
    assert!(reasons.contains(&"missing-agent") && reasons.len() > 15, "{reasons:?}");
    let has_page = |name: &str| not_started.contains(name) || trefoil_check::find_rule(name).is_some();
    let missing: Vec<_> = reasons.into_iter().filter(|name| !has_page(name)).collect();
    assert!(missing.is_empty(), "no page in src/codes for {missing:?}");
}

#[test]
fn every_page_says_what_it_is_and_how_to_fix_it() {
    for code in CODES {
        assert!(code.page.starts_with(&format!("# {}\n\n", code.name)), "{}", code.name);
        assert!(code.summary_line().ends_with('.'), "{}: {}", code.name, code.summary_line());
        assert!(code.page.contains("\n## How to fix it\n\n"), "{}", code.name);
    }
}

#[test]
fn the_page_of_all_codes_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == trefoil_project::codes::render_markdown(),
        "docs/errors.md is out of date; run `cargo xtask rules`"
    );
}
