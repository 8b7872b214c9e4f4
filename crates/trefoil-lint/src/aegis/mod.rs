//! Mistakes in readable manifests: finders that check the manifest, its names and its bound texts. One file for each
//! subject; each finder is a line in one of the lists. None of them affects a run.

mod asked;
mod callee;
mod command;
mod condition;
mod context;
mod cycle;
mod feedback;
mod given;
mod initial;
mod judge;
mod key;
mod limit;
mod mounts;
mod names;
mod output;
mod output_types;
mod passed;
mod prompt;
mod result;
mod state;
mod target;
mod template;
mod text;
mod unit;

use trefoil_syntax::Diagnostic;

use passed::LazyMentions;
use trefoil_front::aegis::callees::Callee;
use trefoil_front::aegis::{Content, Unit, Units};
use trefoil_front::{Document, Source};
use unit::{AgentUnit, Found, Workflow};

/// The finders for workflows.
const OF_WORKFLOWS: &[fn(&Workflow<'_, '_>, &mut Found)] = &[
    text::of_workflow,
    state::names,
    state::blank_inputs,
    initial::unknown,
    target::unknown,
    condition::same_as_success,
    condition::scale,
    condition::unscored,
    names::unknown,
    feedback::unread,
    context::templates,
    output::keys,
    output_types::check,
    output::without_template,
    command::commands,
    command::keys,
    command::result_keys,
    given::inputs,
    callee::intents,
    mounts::unknown,
    limit::of_states,
];

/// The finders for agents.
const OF_AGENTS: &[fn(&AgentUnit<'_, '_>, &mut Found)] = &[
    text::of_agent,
    prompt::unknown,
    prompt::unread,
    prompt::unread_context,
    prompt::templates,
    prompt::files,
    limit::too_short,
];

/// The mistakes in everything that can be reached from entries.
pub fn check(units: &Units<'_>) -> Vec<Diagnostic> {
    let documents = units.all.iter().filter_map(|unit| Some((units.project.documents.get(unit.document)?, unit)));
    let mentions: LazyMentions<'_> = LazyMentions::new(Box::new(|| passed::Mentions::of(units)));
    let mut found: Vec<Diagnostic> =
        documents.flat_map(|(document, unit)| self::unit(units, document, unit, &mentions)).collect();
    found.extend(cycle::cycles(&units.calls));
    found
}

fn unit(units: &Units<'_>, document: &Document, unit: &Unit, mentions: &LazyMentions<'_>) -> Vec<Diagnostic> {
    let at = unit.document;
    let file = Source::of(units.project, document);
    let directory = &units.directory.seen_from(unit.document);
    let mut found = Vec::new();
    match &unit.content {
        Content::Agent { agent, names, texts } => {
            let (callees, project) = (&Callee::of_agent(agent), units.project);
            let unit = AgentUnit { file, document, agent, names, texts, project };
            OF_AGENTS.iter().for_each(|find| find(&unit, &mut found));
            passed::of_agent(&unit, mentions, at, &mut found);
            callee::unknown(file, callees, directory, Some(&*agent.identity.name), &mut found);
            judge::check(file, callees, directory, &mut found);
        }
        Content::Workflow { workflow, names, texts } => {
            let callees = &Callee::of_workflow(workflow, texts);
            let unit = Workflow { file, workflow, names, texts, callees, directory };
            OF_WORKFLOWS.iter().for_each(|find| find(&unit, &mut found));
            passed::of_workflow(&unit, mentions, at, &mut found);
            callee::unknown(file, callees, directory, None, &mut found);
            judge::check(file, callees, directory, &mut found);
        }
    }
    found
}
