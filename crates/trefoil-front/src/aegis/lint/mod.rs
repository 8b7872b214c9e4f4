//! What is wrong with manifests that can be read: finders of mistakes over the manifest, its names and its bound texts. One
//! file a subject; each finder is a line in one of the lists. None of them changes what a run does.

mod asked;
mod callee;
mod command;
mod condition;
mod context;
mod cycle;
mod feedback;
mod given;
mod handler;
mod input;
mod key;
mod limit;
mod names;
mod order;
mod output;
mod prompt;
mod reach;
mod result;
mod state;
mod target;
mod template;
mod text;
mod unit;

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_syntax::Diagnostic;

pub use cycle::cycles;
use unit::Found;
pub use unit::{Agent, Workflow};

/// The finders of mistakes in workflows.
const OF_WORKFLOWS: &[fn(&Workflow<'_, '_>, &mut Found)] = &[
    text::of_workflow,
    state::names,
    state::unanswered,
    reach::initial,
    reach::unreachable,
    reach::endless,
    limit::entries,
    limit::visits,
    target::unknown,
    condition::impossible,
    condition::same_as_success,
    condition::scale,
    condition::thresholds,
    names::unknown,
    feedback::unread,
    context::templates,
    output::keys,
    output::without_template,
    command::commands,
    command::keys,
    command::result_keys,
    given::inputs,
    callee::intents,
];

/// The finders of mistakes in agents.
const OF_AGENTS: &[fn(&Agent<'_, '_>, &mut Found)] = &[
    text::of_agent,
    prompt::unknown,
    prompt::unread,
    prompt::unread_context,
    prompt::templates,
    prompt::files,
    limit::iteration,
];

/// The mistakes in a workflow. `said`: the missing agents that were told of already.
pub fn workflow(unit: &Workflow<'_, '_>, said: &mut BTreeSet<Arc<str>>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    OF_WORKFLOWS.iter().for_each(|find| find(unit, &mut found));
    callee::unknown(unit.reader, unit.callees, unit.directory, None, said, &mut found);
    found
}

/// The mistakes in an agent.
pub fn agent(unit: &Agent<'_, '_>, said: &mut BTreeSet<Arc<str>>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    OF_AGENTS.iter().for_each(|find| find(unit, &mut found));
    let own = Some(&*unit.agent.identity.name);
    callee::unknown(unit.reader, unit.callees, unit.directory, own, said, &mut found);
    found
}
