//! The rules: one file and one page each, and one line here. Those of loading have only a page; `load` lists them.

use std::sync::LazyLock;
use trefoil_syntax::hash::HashMap;

use crate::rule::Rule;
pub(crate) use crate::rule::Run;

mod credential;
mod load;

macro_rules! rules {
    ($($name:ident,)*) => {
        $(mod $name;)*
        /// The rules of this crate, in the order in which they look.
        static PROGRAM: &[Rule] = &[$($name::RULE,)*];
    };
}

rules! {
    constant_condition,
    unused_output,
    unused_input,
    index_out_of_range,
    text_as_number,
    not_a_list,
    object_in_prompt,
    wrong_input_type,
    unreachable_state,
    unreachable_step,
    unconnected_node,
    loop_never_ends,
    endless_loop,
    missing_transition,
    implicit_end,
    score_gap,
    score_overlap,
    dead_transition,
    no_terminal_state,
    dead_fallback,
    too_many_calls,
    unbounded_fan_out,
    volatile_prefix,
    untrusted_command,
    untrusted_url,
    prompt_injection,
    hard_coded_secret,
    parameter_range,
    unenforceable_schema,
    empty_prompt,
    untrusted_tool_url,
    same_question,
    reads_nothing,
    unencrypted_credential,
    portability,
}

mod always_there;
mod denied;
mod maybe_undefined;
mod members;
mod never_true;
mod secret_in_prompt;
mod shadowed_name;
mod siblings;
mod unanswered;
mod unordered_read;
mod write_conflict;

/// Rules of loading that look on in the program: where lowering does not see far enough. What loading has said already is
/// taken out by [`crate::unsaid`].
pub(crate) static BEYOND_LOADING: &[(&str, Run)] = &[
    ("unordered-read", Run::Program(unordered_read::run)),
    ("maybe-undefined", Run::Program(maybe_undefined::run)),
    ("unknown-property", Run::Program(members::unknown_property)),
    ("unknown-property", Run::Program(members::of_items)),
    ("property-of-text", Run::Program(members::property_of_text)),
    ("never-true", Run::Program(never_true::run)),
    ("no-effect", Run::Program(denied::run)),
    ("unknown-value", Run::Declared(unanswered::run)),
    ("never-true", Run::Program(always_there::run)),
    ("secret-in-prompt", Run::Program(secret_in_prompt::run)),
    ("shadowed-name", Run::Program(shadowed_name::run)),
    ("write-conflict", Run::Whole(write_conflict::run)),
];

/// Every rule, those of loading first.
pub static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| load::RULES.iter().chain(PROGRAM).collect());

/// The rules by name: every finding is asked for its rule more than once.
static BY_NAME: LazyLock<HashMap<&'static str, &'static Rule>> =
    LazyLock::new(|| RULES.iter().rev().map(|r| (r.name, *r)).collect());

/// What the documentation of a format calls the findings of a rule, and the rule. A rule can be named like this wherever
/// one can be named.
const ALSO_CALLED: &[(&str, &str)] =
    &[("circular_ref", "circular-ref"), ("working_dot_node_id", "working-dot-node-id")];

/// The rule of a name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    let own = |name: &str| BY_NAME.get(name).copied();
    own(name).or_else(|| own(ALSO_CALLED.iter().find(|(other, _)| *other == name)?.1))
}
