//! The rules that reading and lowering report, with their pages.

use trefoil_syntax::Severity;

use crate::rule::{Group, Rule, Run};

macro_rules! load {
    ($($name:literal $group:ident $level:ident $($strict:ident)?;)*) => {
        &[$(Rule {
            name: $name,
            group: Group::$group,
            level: Some(Severity::$level),
            strict: load!(@strict $($strict)?),
            page: include_str!(concat!("load/", $name, ".md")),
            run: Run::Load,
        },)*]
    };
    (@strict) => { None };
    (@strict $strict:ident) => { Some(Severity::$strict) };
}

/// Name, group, usual severity, and the one under `--strict` where that differs.
pub(super) static RULES: &[Rule] = load! {
    "project-file" Form Warning Error;
    "unknown-key" Form Warning Error;
    "unknown-suppression" Form Warning Error;
    "unused-suppression" Form Warning Error;
};
