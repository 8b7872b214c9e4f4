//! The rules page of the documentation.

use trefoil_check::{RULES, catalogue};

#[test]
fn the_rules_page_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == catalogue::render_markdown(), "docs/rules.md is out of date; run `cargo xtask rules`");
}

#[test]
fn every_rule_has_one_name_and_a_page_that_begins_with_it() {
    let mut seen = std::collections::HashSet::new();
    for rule in RULES.iter() {
        assert!(seen.insert(rule.name), "`{}` is there twice", rule.name);
        assert_eq!(rule.page.lines().next(), Some(&*format!("# {}", rule.name)));
        let summary = rule.page_summary();
        assert!(
            !summary.is_empty() && !summary.contains('\n'),
            "the page of `{}` needs one sentence after its title: {summary:?}",
            rule.name
        );
    }
}
