//! Comparisons and conditions that always hold.

use trefoil_syntax::FindingSeverity;

use super::constant_comparisons;
use crate::rule::{Rule, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "always-true",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("always_true.md"),
    run: RuleSource::Program(|cx| constant_comparisons::run(cx, true)),
};
