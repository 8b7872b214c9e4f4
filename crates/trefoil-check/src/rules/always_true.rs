//! Comparisons and conditions that always hold.

use trefoil_syntax::Severity;

use super::settled;
use crate::rule::{Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "always-true",
    group: Group::Types,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("always_true.md"),
    run: Run::Program(|cx| settled::run(cx, true)),
};
