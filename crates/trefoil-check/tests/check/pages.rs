//! Every page of a rule of this crate: its wrong example gets the rule, its right one does not and has no error.

use trefoil_check::{RULES, Run};
use trefoil_syntax::Severity;

use super::support::{check, line};

/// The blocks below a heading: dialect, file name, text.
fn blocks<'p>(page: &'p str, heading: &str) -> Vec<(&'p str, &'p str, &'p str)> {
    let section = page.split("\n## ").find_map(|s| s.strip_prefix(heading)).unwrap_or_default();
    let mut all = Vec::new();
    for block in section.split("```yaml ").skip(1) {
        let (head, rest) = block.split_once('\n').unwrap();
        let (text, _) = rest.split_once("```").unwrap();
        let (dialect, name) = head.split_once(' ').unwrap_or((head, "first.yaml"));
        all.push((dialect, name, text));
    }
    all
}

#[test]
fn examples_show_what_their_page_says() {
    let mut bad = Vec::new();
    for rule in RULES.iter().filter(|r| !matches!(r.run, Run::Load) && r.page.contains("\n## ")) {
        for heading in ["Wrong", "Right"] {
            let blocks = blocks(rule.page, heading);
            let Some((dialect, ..)) = blocks.first() else {
                bad.push(format!("{}: no example under `{heading}`", rule.name));
                continue;
            };
            let files: Vec<(&str, &str)> = blocks.iter().map(|(_, name, text)| (*name, *text)).collect();
            let (project, found) = check(Some(dialect), &files);
            let shown: Vec<String> = found.iter().map(|d| format!("{} {}", d.rule, line(&project, d))).collect();
            let hit = found.iter().any(|d| d.rule == rule.name);
            let error = found.iter().any(|d| d.severity == Severity::Error && d.rule != rule.name);
            if error || hit != (heading == "Wrong") {
                bad.push(format!("{} {heading}:\n  {}", rule.name, shown.join("\n  ")));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
