//! The rules: one file and one page each, and one line here. Those of loading have only a page; [`load`] lists them.

pub(crate) use crate::rule::Run;
use crate::rule::{Context, Rule};

mod load;

macro_rules! rules {
    ($($name:ident,)*) => {
        $(mod $name;)*
        /// The rules of this crate, in the order in which they look.
        static PROGRAM: &[Rule] = &[$($name::RULE,)*];
    };
}

rules! {
    unused_output,
    unreachable_step,
    loop_never_ends,
    missing_transition,
    score_gap,
    score_overlap,
    dead_transition,
    no_terminal_state,
    dead_fallback,
    write_conflict,
    too_many_calls,
    unbounded_fan_out,
    volatile_prefix,
}

mod maybe_undefined;

/// Rules of loading that look on in the program: where lowering does not see far enough. What loading has said already is
/// taken out by [`crate::unsaid`].
pub(crate) static BEYOND_LOADING: &[(&str, fn(&mut Context<'_>))] = &[("maybe-undefined", maybe_undefined::run)];

/// Every rule, those of loading first.
pub static RULES: std::sync::LazyLock<Vec<&'static Rule>> =
    std::sync::LazyLock::new(|| load::RULES.iter().chain(PROGRAM).collect());

/// The rule of a name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|r| r.name == name)
}
