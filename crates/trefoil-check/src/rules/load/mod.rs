//! The rules that reading and lowering report, with their pages.

use trefoil_syntax::Severity;

use crate::rule::{Group, Rule, Run};

macro_rules! load {
    ($($name:literal $group:ident $level:ident $($strict:ident)?;)*) => {
        &[$(Rule {
            name: $name,
            group: Group::$group,
            level: load!(@level $level),
            strict: load!(@strict $($strict)?),
            page: include_str!(concat!($name, ".md")),
            run: Run::Load,
        },)*]
    };
    (@level Off) => { None };
    (@level $level:ident) => { Some(Severity::$level) };
    (@strict) => { None };
    (@strict $strict:ident) => { Some(Severity::$strict) };
}

/// Name, group, usual severity (`Off`: only on request), and the one with `--strict` if different.
pub(super) static RULES: &[Rule] = load! {
    "project-file" Form Warning Error;
    "unknown-suppression" Form Warning Error;
    "unused-suppression" Form Warning Error;
    "yaml-syntax" Form Error;
    "yaml-tab" Form Error;
    "yaml-typographic-quotes" Form Warning Error;
    "yaml-cut-by-comment" Form Warning Error;
    "yaml-stray-quote" Form Warning Error;
    "yaml-unquoted-braces" Form Error;
    "yaml-empty" Form Error;
    "yaml-encoding" Form Error;
    "yaml-character" Form Error;
    "yaml-duplicate-key" Form Error;
    "yaml-key" Form Error;
    "yaml-tag" Form Error;
    "yaml-alias" Form Error;
    "yaml-merge" Form Error;
    "yaml-multiple-documents" Form Error;
    "yaml-directive" Form Warning;
    "yaml-limit" Form Error;
    "file-not-found" Form Error;
    "file-unreadable" Form Error;
    "missing-env-file" Form Error;
    "env-file-line" Form Info;
    "outside-project" Safety Error;
    "no-manifest" Form Error;
    "unknown-id" Form Error;
    "ambiguous-target" Form Error;
    "folder-limit" Form Warning;
    "unknown-dialect" Form Error;
    "ambiguous-dialect" Form Error;
    "not-an-agent" Form Error;
    "unknown-key" Form Warning Error;
    "missing-key" Form Error;
    "wrong-type" Form Error;
    "out-of-range" Form Error;
    "unknown-value" Form Error;
    "no-effect" Form Warning;
    "deprecated" Form Warning Error;
    "duplicate-id" Form Error;
    "overlapping-mounts" Form Warning;
    "invalid-name" Form Error;
    "invalid-regex" Form Error;
    "invalid-url" Form Error;
    "both-spellings" Form Error;
    "conflicting-keys" Form Error;
    "bad-path" Form Error;
    "empty-message" Form Warning Error;
    "template-unclosed" Form Error;
    "template-unclosed-block" Form Error;
    "template-stray-close" Form Error;
    "template-stray-else" Form Error;
    "template-unknown-block" Form Error;
    "template-unknown-helper" Form Error;
    "template-bad-filter" Form Error;
    "template-bad-arguments" Form Error;
    "template-bad-condition" Form Error;
    "template-bad-path" Form Error;
    "template-syntax" Form Error;
    "template-empty" Form Error;
    "template-unsupported" Form Error;
    "template-too-large" Form Error;
    "template-too-deep" Form Error;
    "not-a-placeholder" Form Warning Error;
    "not-computed" Form Warning Error;
    "unused" Form Warning;
    "redundant" Form Warning;
    "unlikely-timeout" Form Warning;
    "conflicting-limits" Form Warning;
    "portability" Form Off;
    "misleading-operator" Form Warning Error;
    "swallowed-key" Form Warning Error;
    "condition-empty" Form Error;
    "condition-syntax" Form Error;
    "condition-bad-operator" Form Error;
    "condition-bad-path" Form Error;
    "condition-unknown-name" Form Error;
    "condition-unsupported" Form Error;
    "condition-too-large" Form Error;
    "condition-too-deep" Form Error;
    "unresolved-name" Names Error Error;
    "loop-variable" Names Error;
    "state-key" Names Warning Error;
    "reserved-name" Names Warning Error;
    "working-dot-node-id" Names Error;
    "invalid-schema" Types Error;
    "wrong-default" Types Warning Error;
    "schema-mismatch" Types Warning Error;
    "missing-score" Types Warning Error;
    "bad-fan-out" Types Error;
    "text-as-boolean" Types Warning Error;
    "missing-input" Types Error Error;
    "unknown-input" Types Error;
    "copied-value" Names Info Warning;
    "unknown-reference" Flow Error Error;
    "ambiguous-reference" Flow Error;
    "reference-cycle" Flow Error;
    "unknown-answer" Flow Warning Error;
    "edge-cycle" Flow Error;
    "circular-ref" Flow Error;
    "invalid-reference" Flow Error;
    "reference-version" Flow Info;
    "ambiguous-step" Flow Error;
    "too-deep" Flow Error;
    "env-decides" Flow Error;
    "bad-model" Models Error;
    "unknown-provider" Models Warning Error;
    "tool-clash" Models Warning Error;
    "refused" Models Warning;
    "untrusted-tool-url" Safety Warning Error;
    "unsafe-placeholder" Safety Error;
    "command-from-data" Safety Warning Error;
    "command-syntax" Form Warning Error;
};
