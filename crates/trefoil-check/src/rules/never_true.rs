//! Comparisons and conditions that never hold.

use trefoil_syntax::Severity;

use super::settled;
use crate::rule::{Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "never-true",
    group: Group::Types,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("never_true.md"),
    run: Run::Program(|cx| settled::run(cx, false)),
};
