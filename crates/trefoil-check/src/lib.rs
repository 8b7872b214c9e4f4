//! Check: what can be proved about a program before a token is spent.
//!
//! ```text
//! program, facts --(semantic)--> model --(rules)--> diagnostics --(levels)--> what a person sees
//! ```
//!
//! Knows no dialect, does no IO and runs nothing. Loading finds the mistakes that keep a program from being made; this crate
//! finds those in programs that load, and has the page, the group and the level of every rule of both kinds.

pub mod catalogue;
pub mod levels;
pub mod rule;
pub mod rules;
pub mod semantic;
pub mod suppress;

mod words;

pub use levels::{Level, Levels, keeps_from_loading};
pub use rule::{Context, Group, Limits, Rule, Run};
pub use rules::{RULES, rule};
pub use semantic::Model;
pub use suppress::Suppressions;

use trefoil_ir::{Facts, Program};
use trefoil_syntax::Diagnostic;

/// Everything the rules have to say about a program. `facts` are those of its lowering.
pub fn check(program: &Program, facts: &Facts, limits: &Limits) -> Vec<Diagnostic> {
    let model = Model::new(program, facts);
    let mut found = Vec::new();
    for rule in rules::RULES.iter().copied() {
        if let Run::Program(run) = rule.run {
            run(&mut Context { model: &model, limits, rule, found: &mut found });
        }
    }
    found
}
