//! What is wrong with manifests that can be read: finders of mistakes over the manifest, its names and its bound texts. One
//! file a subject; each finder is a line in one of the lists. None of them changes what a run does.

mod callee;
mod command;
mod condition;
mod context;
mod cycle;
mod feedback;
mod given;
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

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_syntax::Diagnostic;

use super::callees::Callee;
use super::directory::Directory;
use super::manifest;
use super::names::{AgentNames, WorkflowNames};
use super::texts::Texts;
use crate::{Document, Project, Reader};

pub use cycle::cycles;

/// A workflow, as finders of mistakes see it.
pub struct Workflow<'a, 'd> {
    /// Its file.
    pub reader: &'a Reader<'d>,
    /// What is written.
    pub workflow: &'a manifest::workflow::Workflow,
    /// What its texts can name.
    pub names: &'a Arc<WorkflowNames>,
    /// Its texts.
    pub texts: &'a Texts,
    /// Whom it calls.
    pub callees: &'a [Callee<'a>],
    /// Who can be called.
    pub directory: &'a Directory<'a>,
}

/// An agent, as finders of mistakes see it.
pub struct Agent<'a, 'd> {
    /// Its file.
    pub reader: &'a Reader<'d>,
    /// The same as a document.
    pub document: &'a Document,
    /// What is written.
    pub agent: &'a manifest::agent::Agent,
    /// What its prompt can name.
    pub names: &'a AgentNames,
    /// Its prompt.
    pub texts: &'a Texts,
    /// Who judges it.
    pub callees: &'a [Callee<'a>],
    /// Who can be called.
    pub directory: &'a Directory<'a>,
    /// The texts of other files.
    pub project: &'a Project,
}

/// Findings, in the order of finding.
type Found = Vec<Diagnostic>;

/// The finders of mistakes in workflows.
const OF_WORKFLOWS: &[fn(&Workflow<'_, '_>, &mut Found)] = &[
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
const OF_AGENTS: &[fn(&Agent<'_, '_>, &mut Found)] =
    &[prompt::unknown, prompt::unread, prompt::unread_context, prompt::templates, prompt::files, limit::iteration];

/// The mistakes in a workflow. `said`: the missing agents that were told of already.
pub fn workflow(unit: &Workflow<'_, '_>, said: &mut BTreeSet<Arc<str>>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    OF_WORKFLOWS.iter().for_each(|find| find(unit, &mut found));
    callee::unknown(unit.reader, unit.callees, unit.directory, said, &mut found);
    found
}

/// The mistakes in an agent.
pub fn agent(unit: &Agent<'_, '_>, said: &mut BTreeSet<Arc<str>>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    OF_AGENTS.iter().for_each(|find| find(unit, &mut found));
    callee::unknown(unit.reader, unit.callees, unit.directory, said, &mut found);
    found
}

/// The finding with help, if there is some.
fn helped(d: Diagnostic, help: &str) -> Diagnostic {
    if help.is_empty() { d } else { d.help(help) }
}
