//! The rules: one file, one page and one line here for each. Load rules have only a page; `load` lists them.

use std::sync::LazyLock;
use trefoil_syntax::Diagnostic;
use trefoil_syntax::hash::HashMap;

use crate::rule::Rule;

mod credential;
mod load;

macro_rules! rules {
    ($($name:ident,)*) => {
        $(mod $name;)*
        /// The rules of this crate, in the order in which they run.
        static PROGRAM: &[Rule] = &[$($name::RULE,)*];
    };
}

pub(crate) use secret_in_result::sent_credentials;

/// Looks for what a rule finds, with variables of which only their values tell that they are secrets.
pub(crate) type LeakSearch = fn(&mut crate::RuleContext<'_>, &[(std::sync::Arc<str>, String)]);
/// The rules that are also applied to variables of which only their values tell that they are secrets: for the result, for prompts.
pub(crate) const LEAKS: [(&Rule, LeakSearch); 2] = [
    (&secret_in_result::RULE, secret_in_result::find_result_leaks),
    (&secret_in_prompt::RULE, secret_in_prompt::find_prompt_leaks),
];

rules! {
    unordered_read,
    unknown_property,
    property_of_text,
    shadowed_name,
    maybe_undefined,
    inverted_guard,
    write_conflict,
    secret_in_prompt,
    secret_in_result,
    secret_in_argument,
    constant_condition,
    unused_output,
    unused_input,
    index_out_of_range,
    text_as_number,
    tool_arguments,
    not_a_list,
    json_by_hand,
    object_in_prompt,
    wrong_input_type,
    unreachable_state,
    unreachable_step,
    unconnected_node,
    loop_never_ends,
    never_true,
    always_true,
    endless_loop,
    outer_timeout,
    missing_transition,
    unmatched_default,
    implicit_end,
    impossible_transition,
    score_gap,
    score_overlap,
    dead_transition,
    no_terminal_state,
    dead_fallback,
    too_many_calls,
    too_expensive,
    unbounded_fan_out,
    untrusted_command,
    untrusted_url,
    prompt_injection,
    hard_coded_secret,
    parameter_range,
    unknown_model,
    unenforceable_schema,
    missing_tool,
    empty_prompt,
    unencrypted_credential,
    repeated_write,
    bypassed_gate,
    unread_input,
    unreviewed_write,
    other_case,
}

mod constant_comparisons;
mod existence_tests;
mod lost_write;
mod value_replacements;

/// All rules, load rules first.
pub static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| load::RULES.iter().chain(PROGRAM).collect());

/// The rules by name, because every finding's rule is looked up several times.
static BY_NAME: LazyLock<HashMap<&'static str, &'static Rule>> =
    LazyLock::new(|| RULES.iter().rev().map(|r| (r.name, *r)).collect());

/// Names for findings in the documentation of a format, and the equivalent rule. They are accepted wherever a rule can
/// be named.
const ALSO_CALLED: &[(&str, &str)] =
    &[("circular_ref", "circular-ref"), ("working_dot_node_id", "working-dot-node-id")];

/// Rules that were split from others. Levels and comments for the old rule also apply to the new one.
const SPLIT_FROM: &[(&str, &[&str])] = &[
    ("always-true", &["never-true"]),
    ("ambiguous-reference", &["duplicate-id"]),
    ("bad-fan-out", &["wrong-type"]),
    ("conflicting-limits", &["no-effect", "out-of-range"]),
    ("inverted-guard", &["no-effect"]),
    ("misleading-operator", &["condition-bad-operator"]),
    ("missing-input", &["missing-key"]),
    ("not-a-placeholder", &["no-effect"]),
    ("outer-timeout", &["conflicting-limits", "no-effect"]),
    ("redundant", &["no-effect"]),
    ("schema-mismatch", &["wrong-type", "unknown-value", "missing-key", "wrong-default"]),
    ("state-key", &["invalid-name", "no-effect"]),
    ("unknown-input", &["no-effect"]),
    ("unmatched-default", &["unknown-value"]),
    ("unresolved-name", &["wrong-default"]),
    ("unused", &["no-effect"]),
];

/// The rules that a rule was split from.
pub fn split_from(name: &str) -> &'static [&'static str] {
    match SPLIT_FROM.iter().find(|(part, _)| *part == name) {
        Some((_, wholes)) => wholes,
        None => &[],
    }
}

/// The rules that a finding belonged to before it moved. Levels and comments for them apply to it as well.
pub fn former_rules(finding: &Diagnostic) -> &'static [&'static str] {
    if finding.of_property { &["unknown-property", "property-of-text"] } else { &[] }
}

/// The rule with this name.
pub fn find_rule(name: &str) -> Option<&'static Rule> {
    if let Some(rule) = BY_NAME.get(name) {
        return Some(rule);
    }
    let (_, rule) = ALSO_CALLED.iter().find(|(other, _)| *other == name)?;
    BY_NAME.get(rule).copied()
}
