//! What people get wrong in SirenSpec workflows: one file a subject, each a function over what was read and bound, called from
//! one list. Nothing here changes what a workflow does.

mod agents;
mod answers;
mod calls;
mod count;
mod cycles;
mod edges;
mod fallbacks;
mod instances;
mod list;
mod names;
mod subject;
mod swarm;
mod texts;
mod when;
mod writes;

pub use subject::Subject;

type Rule = fn(&Subject<'_, '_>);

/// Everything that is looked for.
const RULES: [Rule; 14] = [
    texts::check,
    edges::check,
    fallbacks::check,
    cycles::check,
    agents::check,
    calls::check,
    writes::check,
    names::check,
    list::check,
    count::check,
    instances::check,
    swarm::check,
    when::check,
    answers::check,
];

/// Reports all that is found.
pub fn check(subject: &Subject<'_, '_>) {
    RULES.iter().for_each(|rule| rule(subject));
}
