//! The SirenSpec front end: one file is one workflow of agents, swarms, factories, sub-workflows, people and tools.
//!
//! `manifest` reads a file, `names` defines the names available in texts and binds them, and `lower` makes flows;
//! `session` does this for a file and all files that it calls. `docs/compat/sirenspec.md` lists the differences from
//! the original system.

mod call_graph;
mod evidence;
mod lowering;
pub mod manifest;
pub mod names;
pub mod references;
mod session;

use std::collections::BTreeSet;

use trefoil_ir::FactDetail;
use trefoil_syntax::yaml::YamlNode;
use trefoil_syntax::{Location, Span};
use trefoil_template::Policy;

use references::path_stem;

pub use session::SirenUnits;

use crate::{
    CompileFindings, DialectCompilation, DialectEvidence, FrontEnd, ManifestDocument, NeededFile, NeededFileKind,
    Project,
};

/// The SirenSpec front end.
pub struct SirenSpecFrontEnd;

impl FrontEnd for SirenSpecFrontEnd {
    fn name(&self) -> &'static str {
        "sirenspec"
    }

    fn format_description(&self) -> (&'static str, &'static str) {
        ("SirenSpec", "`version` and `nodes`")
    }

    fn manifest_schema(&self) -> &'static str {
        include_str!("../../schemas/sirenspec.json")
    }

    fn policy(&self) -> &'static Policy {
        &Policy::SIRENSPEC
    }

    fn find_evidence(&self, root: &YamlNode) -> Vec<DialectEvidence> {
        evidence::find_evidence(root)
    }

    fn matches_unparsed(&self, _text: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has("nodes") && (has("version") || has("agents") || has("edges"))
    }

    fn companion_kind(&self, root: &YamlNode) -> Option<&'static str> {
        let mapping = root.as_mapping()?;
        let has = |key: &str| mapping.get(key).is_some();
        if has("workflow") && (has("assertions") || has("input")) {
            return Some("a SirenSpec test fixture, not a workflow");
        }
        let interactions = mapping.get("interactions").and_then(|e| e.value.as_sequence())?;
        let recorded = interactions.first().and_then(YamlNode::as_mapping).is_some_and(|m| m.get("response").is_some());
        recorded.then_some("a SirenSpec cassette, not a workflow")
    }

    fn needed_files(&self, document: &ManifestDocument) -> Vec<NeededFile> {
        let mut needs = Vec::new();
        let mut need = |kind: NeededFileKind, node: &YamlNode| {
            if let Some(text) = node.as_string() {
                let location = Location::new(document.file, text.span);
                needs.push(NeededFile { kind, path: text.value.to_string(), location });
            }
        };
        let root = document.root.as_mapping();
        if let Some(entry) = root.and_then(|m| m.get("env_file")) {
            need(NeededFileKind::EnvFile, &entry.value);
        }
        for node in references::workflow_nodes(&document.root) {
            if let Some(entry) = node.as_mapping().and_then(|m| m.get("ref"))
                && entry.value.as_string().is_some_and(|text| references::is_path(&text.value))
            {
                need(NeededFileKind::Manifest, &entry.value);
            }
        }
        needs
    }

    fn unit_ids(&self, document: &ManifestDocument) -> Vec<(String, Location)> {
        // A workflow has no id, so the name of its file is used.
        vec![(path_stem(&document.path).to_owned(), Location::new(document.file, document.root.span))]
    }

    fn mentioned_units<'d>(&self, document: &'d ManifestDocument) -> BTreeSet<&'d str> {
        let references = references::workflow_nodes(&document.root).filter_map(|node| node.as_mapping()?.get("ref"));
        references
            .filter_map(|e| e.value.as_string())
            .map(|text| &*text.value)
            .filter(|name| !references::is_path(name))
            .collect()
    }

    fn may_reference_files(&self, document: &ManifestDocument, at: Span) -> bool {
        // Agents and nodes are declared in the file itself.
        references::workflow_nodes(&document.root).any(|node| {
            let reference = node.as_mapping().and_then(|m| m.get("ref"));
            reference.is_some_and(|e| e.value.span.start <= at.start && at.end <= e.value.span.end)
        })
    }

    fn compile_documents<'p>(
        &self,
        project: &'p Project,
        entries: &[usize],
        detail: FactDetail,
    ) -> DialectCompilation<'p> {
        session::compile_documents(project, entries, CompileFindings::with_facts(detail, self.policy().words))
    }
}
