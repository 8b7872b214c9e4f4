//! Parses and evaluates conditions, for each policy.

use trefoil_template::policy::ConditionGrammar;
use trefoil_template::state::{self, TextKind};
use trefoil_template::{Condition, EvalError, Policy, Value};

use crate::text::{World, aegis, agntz, check_mistakes, check_references, mark, sirenspec};
use crate::{Target, fixed};

const ABOUT: &str =
    "no text panics, every mistake and reference has a place, evaluation is total and settles, data is never code";

pub(crate) const AGNTZ: Target = Target::of_text(
    "condition-agntz",
    ABOUT,
    || fixed(agntz::CONDITIONS),
    agntz::WORDS,
    |bytes| run(bytes, &Policy::AGNTZ),
);
pub(crate) const AEGIS: Target = Target::of_text(
    "condition-aegis",
    ABOUT,
    || fixed(aegis::CONDITIONS),
    aegis::WORDS,
    |bytes| run(bytes, &Policy::AEGIS),
);
pub(crate) const SIRENSPEC: Target = Target::of_text(
    "condition-sirenspec",
    ABOUT,
    || fixed(sirenspec::CONDITIONS),
    sirenspec::WORDS,
    |bytes| run(bytes, &Policy::SIRENSPEC),
);

fn run(bytes: &[u8], policy: &'static Policy) {
    let text = &*String::from_utf8_lossy(bytes);
    let condition = match Condition::parse(text, policy) {
        Err(mistakes) => return check_mistakes(text, &mistakes),
        Ok(condition) => condition,
    };
    check_references(text, condition.references());
    assert_eq!(condition.is_constant(), condition.references().is_empty());

    let mut truths = Vec::new();
    for world in [World::new(policy), World::harmless(policy)] {
        let mut bound = condition.clone();
        bound.bind_references(|reference| world.bind(reference));
        let truth = loop {
            match bound.evaluate_in(&world) {
                Err(EvalError::Undecided(question)) => world.answer(&question),
                other => break other,
            }
        };
        assert!(matches!(truth, Ok(_) | Err(EvalError::Limit(_))), "{text:?} is {truth:?}");
        assert_eq!(truth, bound.evaluate_in(&world), "evaluated twice");
        let alone = state::evaluate_text(policy, TextKind::Condition, text, world.state());
        assert!(alone.as_ref().map_or(true, |v| matches!(v, Value::Bool(_))), "{alone:?}");
        truths.push((truth, mark(&format!("{alone:?}"))));
    }
    // Only SirenSpec's conditions can search in a text: `'{' in working.a`.
    if policy.conditions != ConditionGrammar::Python || !text.contains(['{', '}', '|', '~']) {
        assert!(truths.first() == truths.last(), "the braces of data made a difference to {text:?}: {truths:?}");
    }
}
