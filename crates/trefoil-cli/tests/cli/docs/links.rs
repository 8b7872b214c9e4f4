//! Links between the documents.

use std::collections::BTreeSet;
use std::path::Path;

use crate::world::root;

/// The files below `docs/`.
pub fn pages() -> Vec<String> {
    fn add(folder: &Path, name: &str, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}/{}", entry.file_name().into_string().unwrap());
            if entry.path().is_dir() { add(&entry.path(), &name, all) } else { all.push(name) }
        }
    }
    let mut all = Vec::new();
    add(&root().join("docs"), "docs", &mut all);
    all
}

/// The targets of the links of a page.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains(char::is_whitespace)).collect()
}

/// The names of the headings of a page in links, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut all = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if let (false, Some(title)) = (is_code, line.strip_prefix('#')) {
            let title = title.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
            all.insert(kept.collect::<String>().replace(' ', "-"));
        }
    }
    all
}

#[test]
fn the_readme_links_every_page() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let linked = links(&readme);
    // Decisions have their own list.
    let pages = pages().into_iter().filter(|page| !page.starts_with("docs/decisions/") || page.ends_with("/README.md"));
    let missing: Vec<String> = pages.filter(|page| !linked.contains(&&**page)).collect();
    assert!(missing.is_empty(), "the README links none of {missing:?}");
}

#[test]
fn the_list_of_decisions_links_every_decision() {
    let list = std::fs::read_to_string(root().join("docs/decisions/README.md")).unwrap();
    let linked = links(&list);
    let pages = pages();
    let decisions = pages.iter().filter_map(|page| page.strip_prefix("docs/decisions/"));
    let missing: Vec<&str> = decisions.filter(|page| *page != "README.md" && !linked.contains(page)).collect();
    assert!(missing.is_empty(), "the list of decisions links none of {missing:?}");
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages().into_iter().chain(["README.md".to_owned(), "CONTRIBUTING.md".to_owned()]) {
        let path = root().join(&page);
        let text = std::fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.is_empty() {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let anchored = || std::fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor));
            if !target.exists() || (!anchor.is_empty() && !anchored()) {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
