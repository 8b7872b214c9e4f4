//! The pages of the rules: every rule has one, and its examples show what it says they show.

use std::collections::BTreeSet;

use trefoil::internals::{Checks, LoadOptions, rules};
use trefoil_check::{Level, Levels, Rule};
use trefoil_syntax::Severity;

use crate::Folder;

/// What a page holds.
struct Page<'p> {
    /// Files of the section by name; the first is the one that is checked.
    wrong: Vec<(String, &'p str)>,
    right: Vec<(String, &'p str)>,
    /// Why there is no example.
    without: Option<&'p str>,
}

/// Reads a page, or says what is wrong with it.
fn page(rule: &Rule) -> Result<Page<'_>, String> {
    let text = rule.page;
    if text.lines().next() != Some(&format!("# {}", rule.name)) {
        return Err("the first line is not the rule's name".to_owned());
    }
    let summary = rule.summary();
    if summary.is_empty() || !summary.ends_with('.') || summary.contains('\n') {
        return Err(format!("the first paragraph is not one sentence in one line: {summary:?}"));
    }
    if section(text, "How to fix it").is_none_or(|s| s.trim().is_empty()) {
        return Err("it does not say how to fix it".to_owned());
    }
    let without =
        text.split_once("<!-- no example: ").and_then(|(_, rest)| rest.split_once(" -->")).map(|(why, _)| why);
    let blocks = |name| section(text, name).map(blocks).unwrap_or_default();
    let page = Page { wrong: blocks("Wrong"), right: blocks("Right"), without };
    match (page.without, page.wrong.is_empty(), page.right.is_empty()) {
        (None, false, false) => Ok(page),
        (Some(why), true, true) if !why.trim().is_empty() => Ok(page),
        _ => Err("it has neither both examples nor a reason why there are none".to_owned()),
    }
}

/// The text below a heading of the second level.
fn section<'p>(text: &'p str, heading: &str) -> Option<&'p str> {
    let (_, rest) = text.split_once(&format!("\n## {heading}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest))
}

/// The fenced blocks of a section, with the names of their files: ```` ```yaml agntz child.yaml ````.
fn blocks(section: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let mut rest = section;
    while let Some((_, opened)) = rest.split_once("\n```") {
        let (info, body) = opened.split_once('\n').expect("a block has lines");
        let (text, after) = body.split_once("\n```").expect("a block is closed");
        let named = info.split_whitespace().skip(1).find(|word| word.contains('.'));
        let name = named.map_or_else(|| "main.yaml".to_owned(), str::to_owned);
        found.push((name, text));
        rest = after;
    }
    found
}

/// The findings about a folder with these files, with one rule turned on.
fn findings(files: &[(String, &str)], rule: &Rule) -> (Vec<(Severity, &'static str)>, String) {
    let files: Vec<(&str, String)> = files.iter().map(|(name, text)| (name.as_str(), format!("{text}\n"))).collect();
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = Folder::with(&borrowed);
    let mut levels = Levels::default();
    if rule.level.is_none() {
        assert!(levels.set(rule.name, Level::Deny));
    }
    let checks = Checks { levels, ..Checks::default() };
    let options = LoadOptions { checks: Some(checks), ..LoadOptions::default() };
    let report = trefoil::internals::check(&[folder.0.join(files[0].0).display().to_string()], &options);
    (report.diagnostics.iter().map(|d| (d.severity, d.rule)).collect(), report.text())
}

#[test]
fn every_example_shows_its_rule() {
    let mut bad = Vec::new();
    for rule in trefoil_check::RULES.iter() {
        let page = match page(rule) {
            Ok(page) => page,
            Err(why) => {
                bad.push(format!("{}: {why}", rule.name));
                continue;
            }
        };
        if page.without.is_some() {
            continue;
        }
        let (wrong, text) = findings(&page.wrong, rule);
        if !wrong.iter().any(|(_, name)| *name == rule.name) {
            bad.push(format!("{}: the wrong example is not told so:\n{text}", rule.name));
        }
        let (right, text) = findings(&page.right, rule);
        if right.iter().any(|(severity, name)| *name == rule.name || *severity == Severity::Error) {
            bad.push(format!("{}: the right example is not right:\n{text}", rule.name));
        }
    }
    assert!(bad.is_empty(), "{} pages:\n\n{}", bad.len(), bad.join("\n\n"));
}

#[test]
fn the_registry_lists_exactly_what_loading_reports() {
    let of_crates: BTreeSet<&str> =
        [trefoil_syntax::yaml::RULES, trefoil_template::RULES, trefoil_front::rules::RULES, rules::RULES]
            .into_iter()
            .flatten()
            .map(|(name, _)| *name)
            .collect();
    let listed: BTreeSet<&str> = trefoil_check::RULES.iter().filter(|r| r.is_of_loading()).map(|r| r.name).collect();
    let without: Vec<_> = of_crates.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&of_crates).collect();
    assert!(without.is_empty(), "no page in checker for {without:?}");
    assert!(unknown.is_empty(), "no crate reports {unknown:?}");
    let names: BTreeSet<&str> = trefoil_check::RULES.iter().map(|r| r.name).collect();
    assert_eq!(names.len(), trefoil_check::RULES.len(), "a rule is listed twice");
}
