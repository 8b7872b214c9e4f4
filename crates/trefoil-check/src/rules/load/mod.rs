//! The rules that reading and lowering report, with their pages.

use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleGroup, RuleSource};

macro_rules! load {
    ($($name:literal $group:ident $level:ident $($strict:ident)? $(, $run:ident)?;)*) => {
        &[$(Rule {
            name: $name,
            group: RuleGroup::$group,
            level: load!(@level $level),
            strict: load!(@strict $($strict)?),
            page: include_str!(concat!($name, ".md")),
            run: load!(@run $($run)?),
        },)*]
    };
    (@level $level:ident) => { Some(FindingSeverity::$level) };
    (@run) => { RuleSource::Load };
    (@run $run:ident) => { RuleSource::$run };
    (@strict) => { None };
    (@strict $strict:ident) => { Some(FindingSeverity::$strict) };
}

/// Name, group, usual severity, the one with `--strict` if different, and `Place` if a finding depends on
/// its own place only.
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
    "unknown-key" Form Warning Error, Place;
    "missing-key" Form Error;
    "wrong-type" Form Error, Place;
    "out-of-range" Form Error, Place;
    "unknown-value" Form Error, Place;
    "no-effect" Form Warning;
    "deprecated" Form Warning Error;
    "duplicate-id" Form Error;
    "overlapping-mounts" Form Warning;
    "invalid-name" Form Error, Place;
    "invalid-regex" Form Error;
    "invalid-url" Form Error, Place;
    "both-spellings" Form Error;
    "conflicting-keys" Form Error;
    "bad-path" Form Error;
    "empty-message" Form Warning Error;
    "template-unclosed" Form Error, Place;
    "template-unclosed-block" Form Error, Place;
    "template-stray-close" Form Error, Place;
    "template-stray-else" Form Error, Place;
    "template-unknown-block" Form Error, Place;
    "template-unknown-helper" Form Error, Place;
    "template-bad-filter" Form Error, Place;
    "template-bad-arguments" Form Error, Place;
    "template-bad-condition" Form Error, Place;
    "template-bad-path" Form Error, Place;
    "template-syntax" Form Error, Place;
    "template-empty" Form Error, Place;
    "template-unsupported" Form Error, Place;
    "template-too-large" Form Error, Place;
    "template-too-deep" Form Error, Place;
    "not-a-placeholder" Form Warning Error;
    "not-computed" Form Warning Error;
    "unused" Form Warning;
    "redundant" Form Warning;
    "conflicting-limits" Form Warning;
    "misleading-operator" Form Warning Error, Place;
    "swallowed-key" Form Warning Error;
    "condition-empty" Form Error, Place;
    "condition-syntax" Form Error, Place;
    "condition-bad-operator" Form Error, Place;
    "condition-bad-path" Form Error, Place;
    "condition-unknown-name" Form Error, Place;
    "condition-unsupported" Form Error, Place;
    "condition-too-large" Form Error, Place;
    "condition-too-deep" Form Error, Place;
    "unresolved-name" Names Error Error;
    "loop-variable" Names Error;
    "state-key" Names Warning Error;
    "reserved-name" Names Warning Error;
    "working-dot-node-id" Names Error;
    "invalid-schema" Types Error;
    "wrong-default" Types Warning Error;
    "schema-mismatch" Types Warning Error;
    "bad-fan-out" Types Error;
    "missing-input" Types Error Error;
    "unknown-input" Types Error;
    "unknown-reference" Flow Error Error;
    "ambiguous-reference" Flow Error;
    "reference-cycle" Flow Error;
    "edge-cycle" Flow Error;
    "circular-ref" Flow Error;
    "invalid-reference" Flow Error;
    "reference-version" Flow Info;
    "ambiguous-step" Flow Error;
    "too-deep" Flow Error;
    "env-decides" Flow Error;
    "bad-model" Models Error;
    "unknown-provider" Models Warning Error, Place;
    "tool-clash" Models Warning Error;
    "refused" Models Warning;
    "untrusted-tool-url" Safety Warning Error;
    "unsafe-placeholder" Safety Error;
    "command-from-data" Safety Warning Error;
    "command-syntax" Form Warning Error;
};
