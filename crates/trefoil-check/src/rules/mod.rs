//! The rules: one file and one page each, and one line here. Those of loading have only a page; [`load`] lists them.

use crate::rule::Rule;
pub(crate) use crate::rule::Run;

mod load;

macro_rules! rules {
    ($($name:ident,)*) => {
        $(mod $name;)*
        /// The rules of this crate, in the order in which they look.
        static PROGRAM: &[Rule] = &[$($name::RULE,)*];
    };
}

rules! {
    maybe_undefined,
    unused_output,
}

/// Every rule, those of loading first.
pub static RULES: std::sync::LazyLock<Vec<&'static Rule>> =
    std::sync::LazyLock::new(|| load::RULES.iter().chain(PROGRAM).collect());

/// The rule of a name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|r| r.name == name)
}
