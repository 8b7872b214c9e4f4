//! From manifests to the IR: references resolved over the project, names bound to slots, children checked against what
//! they are given.
//!
//! One flow an agent. A file's flow is made once, however often it is referenced; an agent inside a step has a flow of
//! its own.

mod agent;
mod declare;
mod index;
mod intake;
mod llm;
mod output;
mod pipeline;
mod reference;
mod step;
mod text;
mod tool;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::Node;

use crate::agntz::evidence;
use crate::agntz::manifest::{self, Place};
use crate::agntz::signature::{Link, Signature};
use crate::build::Builder;
use crate::project::{Lowered, Project};
use crate::read::{Findings, Reader};
pub use index::id_of;

/// Where to point for a finding about a whole file.
fn first_key(root: &Node) -> Span {
    root.mapping().and_then(|m| m.entries.first()).map_or(root.span, |e| e.key.span)
}

/// A program under construction.
pub struct Lowering<'p> {
    project: &'p Project,
    builder: Builder,
    units: BTreeMap<usize, Unit>,
    chain: Vec<Link>,
    /// How many agents are being lowered, one inside or below the other.
    depth: usize,
    findings: Findings,
}

/// A file on its way.
enum Unit {
    /// Being lowered: a reference to it is a cycle.
    Open,
    /// Lowered; none: it is not even an agent (reported).
    Done(Option<Arc<Signature>>),
}

/// Lowers a document as the entry of a program.
pub fn lower(project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
    let mut lowering = Lowering {
        project,
        builder: Builder::default(),
        units: BTreeMap::new(),
        chain: Vec::new(),
        depth: 0,
        findings: findings.apart(),
    };
    let entry = lowering.document(document, true);
    let failed = lowering.findings.diagnostics.has_errors();
    findings.absorb(std::mem::take(&mut lowering.findings));
    let sources = lowering.units.keys().filter_map(|i| project.documents.get(*i));
    let texts: Vec<_> = sources.filter_map(|d| project.files.get(d.file)).map(|f| f.text().clone()).collect();
    let program = lowering.builder.finish(entry?.flow, texts.iter().map(|t| &**t))?;
    findings.sound(Some(Lowered { program, env_files: Vec::new() }), failed)
}

impl Lowering<'_> {
    /// Lowers a file, once.
    fn document(&mut self, document: usize, entry: bool) -> Option<Arc<Signature>> {
        if let Some(Unit::Done(signature)) = self.units.get(&document) {
            return signature.clone();
        }
        let found = self.project.documents.get(document)?;
        self.units.insert(document, Unit::Open);
        let findings = RefCell::new(self.findings.apart());
        let text = self.project.files.get(found.file).map(|f| &**f.text());
        let reader = Reader::new(found.file, &findings).with_text(text);
        let signature = self.root(&reader, document, &found.root, entry);
        self.findings.absorb(findings.into_inner());
        self.units.insert(document, Unit::Done(signature.clone()));
        signature
    }

    fn root(&mut self, reader: &Reader<'_>, document: usize, root: &Node, entry: bool) -> Option<Arc<Signature>> {
        if let Some(what) = evidence::companion(root) {
            reader.error("not-an-agent", first_key(root), format!("this is {what}"));
            return None;
        }
        let agent = manifest::agent(reader, root, Place::File)?;
        self.chain.push(Link { document, id: agent.name().into(), leaves: None });
        let signature = agent::lower(self, reader, &agent, None, entry);
        self.chain.pop();
        Some(signature)
    }
}
