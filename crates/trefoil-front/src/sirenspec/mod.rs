//! The SirenSpec front end: one file is one workflow of agents, swarms, factories, sub-workflows, people and tools.
//!
//! `manifest` reads a file, `names` defines the names available in texts and binds them, and `lower` makes flows;
//! `session` does this for a file and all files that it calls. `docs/compat/sirenspec.md` lists the differences from
//! the original system.

mod calls;
mod evidence;
mod lower;
pub mod manifest;
pub mod names;
pub mod references;
mod session;

use std::collections::BTreeSet;

use trefoil_ir::Detail;
use trefoil_syntax::yaml::Node;
use trefoil_syntax::{Location, Span};
use trefoil_template::Policy;

use references::stem;

pub use session::Units;

use crate::{Compiled, Document, Evidence, Findings, FrontEnd, Need, NeedKind, Project};

/// The SirenSpec front end.
pub struct SirenSpec;

impl FrontEnd for SirenSpec {
    fn name(&self) -> &'static str {
        "sirenspec"
    }

    fn described(&self) -> (&'static str, &'static str) {
        ("SirenSpec", "`version` and `nodes`")
    }

    fn schema(&self) -> &'static str {
        include_str!("../../schemas/sirenspec.json")
    }

    fn policy(&self) -> &'static Policy {
        &Policy::SIRENSPEC
    }

    fn evidence(&self, root: &Node) -> Vec<Evidence> {
        evidence::of(root)
    }

    fn resembles(&self, _text: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has("nodes") && (has("version") || has("agents") || has("edges"))
    }

    fn companion(&self, root: &Node) -> Option<&'static str> {
        let mapping = root.mapping()?;
        let has = |key: &str| mapping.get(key).is_some();
        if has("workflow") && (has("assertions") || has("input")) {
            return Some("a SirenSpec test fixture, not a workflow");
        }
        let interactions = mapping.get("interactions").and_then(|e| e.value.sequence())?;
        let recorded = interactions.first().and_then(Node::mapping).is_some_and(|m| m.get("response").is_some());
        recorded.then_some("a SirenSpec cassette, not a workflow")
    }

    fn needs(&self, document: &Document) -> Vec<Need> {
        let mut needs = Vec::new();
        let mut need = |kind: NeedKind, node: &Node| {
            if let Some(text) = node.string() {
                let location = Location::new(document.file, text.span);
                needs.push(Need { kind, path: text.value.to_string(), location });
            }
        };
        let root = document.root.mapping();
        if let Some(entry) = root.and_then(|m| m.get("env_file")) {
            need(NeedKind::EnvFile, &entry.value);
        }
        for node in references::workflow_nodes(&document.root) {
            if let Some(entry) = node.mapping().and_then(|m| m.get("ref"))
                && entry.value.string().is_some_and(|text| references::is_path(&text.value))
            {
                need(NeedKind::Manifest, &entry.value);
            }
        }
        needs
    }

    fn ids(&self, document: &Document) -> Vec<(String, Location)> {
        // A workflow has no id, so the name of its file is used.
        vec![(stem(&document.path).to_owned(), Location::new(document.file, document.root.span))]
    }

    fn names<'d>(&self, document: &'d Document) -> BTreeSet<&'d str> {
        let references = references::workflow_nodes(&document.root).filter_map(|node| node.mapping()?.get("ref"));
        references
            .filter_map(|e| e.value.string())
            .map(|text| &*text.value)
            .filter(|name| !references::is_path(name))
            .collect()
    }

    fn seeks(&self, document: &Document, at: Span) -> bool {
        // Agents and nodes are declared in the file itself.
        references::workflow_nodes(&document.root).any(|node| {
            let reference = node.mapping().and_then(|m| m.get("ref"));
            reference.is_some_and(|e| e.value.span.start <= at.start && at.end <= e.value.span.end)
        })
    }

    fn compile<'p>(&self, project: &'p Project, entries: &[usize], detail: Detail) -> Compiled<'p> {
        session::compile(project, entries, Findings::with_facts(detail, self.policy().words))
    }
}
