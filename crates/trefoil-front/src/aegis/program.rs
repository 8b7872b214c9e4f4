//! One program's worth of work: the document that is run, and every agent and workflow that it names. Each is read, its
//! names are gathered, its texts bound, its mistakes found, and then it is lowered.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::Flow;

use super::callees::{Callee, mention, mention_states};
use super::lint;
use super::lower::{self, FlowKey, Lowering, Work};
use super::manifest::{self, Unit};
use super::names::{AgentNames, WorkflowNames, declare_agent, declare_workflow};
use super::texts::Texts;
use crate::{Document, Findings, Lowered, Project, Reader, learn};

/// Lowers a document as the entry of a program.
pub fn program(project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
    let root = &project.documents.get(document)?.root;
    let key = match manifest::unit(root) {
        Some(Unit::Workflow) => FlowKey::Workflow(document),
        // What is neither is read as what it looks like, to report what is wrong with its header.
        None if manifest::looks_like(root) == Some(Unit::Workflow) => FlowKey::Workflow(document),
        Some(Unit::Agent) | None => FlowKey::Agent { document, intent: false },
    };
    let mut lowering = Lowering::new(project, document);
    let entry = lowering.flow(key);
    // Of an agent that is missing it is said once, where it is named first.
    let mut said = BTreeSet::new();
    while let Some(work) = lowering.next() {
        let own = RefCell::new(findings.apart());
        let flow = unit(&mut lowering, &work, &own, &mut said);
        let own = own.into_inner();
        let broken = own.diagnostics.has_errors();
        if !work.candidate {
            findings.diagnostics.extend(own.diagnostics.into_sorted());
            findings.facts.merge(own.facts);
        }
        lowering.done(&work, flow.filter(|_| !(broken && work.candidate)));
    }
    findings.diagnostics.extend(lint::cycles(&lowering.calls));
    let program = lowering.finish(entry)?;
    Some(Lowered { program, env_files: Vec::new() })
}

fn unit(
    lowering: &mut Lowering<'_>,
    work: &Work,
    findings: &RefCell<Findings>,
    said: &mut BTreeSet<Arc<str>>,
) -> Option<Flow> {
    let (document, intent) = match &work.key {
        FlowKey::Missing(name) => return Some(lower::missing_agent(lowering, name)),
        FlowKey::Agent { document, intent } => (*document, Some(*intent)),
        FlowKey::Workflow(document) => (*document, None),
    };
    let project = lowering.project;
    let document = project.documents.get(document)?;
    let text = project.files.get(document.file).map(|f| &**f.text());
    let reader = Reader::new(document.file, findings).with_text(text);
    match intent {
        Some(intent) => agent(lowering, &reader, document, intent, said),
        None => workflow(lowering, &reader, document, said),
    }
}

fn agent(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    document: &Document,
    intent: bool,
    said: &mut BTreeSet<Arc<str>>,
) -> Option<Flow> {
    let mut fields = reader.fields(&document.root, "an AEGIS manifest")?;
    manifest::header(&mut fields, Unit::Agent);
    let agent = manifest::agent::read(reader, &mut fields);
    fields.finish();

    declare_agent(reader, &agent);
    let names = AgentNames::of(lowering.project, document, &agent, intent);
    let texts = Texts::of_agent(document.file, &agent, &names.prompt);
    texts.all().for_each(|text| learn::text(reader, text));
    let callees = Callee::of_agent(&agent);
    let (directory, project) = (&lowering.directory, lowering.project);
    mention(reader, &callees, directory);
    let unit = lint::Agent {
        reader,
        document,
        agent: &agent,
        names: &names,
        texts: &texts,
        callees: &callees,
        directory,
        project,
    };
    lint::agent(&unit, said).into_iter().for_each(|d| reader.report(d));
    Some(lower::agent(lowering, document.file, &agent, names, &texts))
}

fn workflow(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    document: &Document,
    said: &mut BTreeSet<Arc<str>>,
) -> Option<Flow> {
    let mut fields = reader.fields(&document.root, "an AEGIS manifest")?;
    manifest::header(&mut fields, Unit::Workflow);
    let workflow = manifest::workflow::read(reader, &mut fields);
    fields.finish();

    let mut slots = super::names::Slots::default();
    let names = Arc::new(WorkflowNames::of(document.file, &workflow, &lowering.directory, &mut slots));
    declare_workflow(reader, &workflow, &names);
    let texts = Texts::of_workflow(document.file, &workflow, &names);
    texts.all().for_each(|text| learn::text(reader, text));
    let callees = Callee::of_workflow(&workflow, &texts);
    let directory = &lowering.directory;
    mention(reader, &callees, directory);
    mention_states(reader, &workflow, &names);
    let unit =
        lint::Workflow { reader, workflow: &workflow, names: &names, texts: &texts, callees: &callees, directory };
    lint::workflow(&unit, said).into_iter().for_each(|d| reader.report(d));
    Some(lower::workflow(lowering, document.file, &workflow, &names, &texts, slots))
}
