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
use trefoil_syntax::yaml::{YamlNode, YamlText};
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
        let interactions = mapping.get("interactions")?.value.as_sequence()?;
        interactions.first()?.as_mapping()?.get("response")?;
        Some("a SirenSpec cassette, not a workflow")
    }

    fn needed_files(&self, document: &ManifestDocument) -> Vec<NeededFile> {
        let needed = |kind: NeededFileKind, text: &YamlText| NeededFile {
            kind,
            path: text.value.to_string(),
            location: Location::new(document.file, text.span),
        };
        let mut needs = Vec::new();
        if let Some(root) = document.root.as_mapping()
            && let Some(entry) = root.get("env_file")
            && let Some(text) = entry.value.as_string()
        {
            needs.push(needed(NeededFileKind::EnvFile, text));
        }
        for node in references::workflow_nodes(&document.root) {
            if let Some(entry) = references::reference_entry(node)
                && let Some(text) = entry.value.as_string()
                && references::is_path(&text.value)
            {
                needs.push(needed(NeededFileKind::Manifest, text));
            }
        }
        needs
    }

    fn unit_ids(&self, document: &ManifestDocument) -> Vec<(String, Location)> {
        // A workflow has no id, so the name of its file is used.
        vec![(path_stem(&document.path).to_owned(), Location::new(document.file, document.root.span))]
    }

    fn mentioned_units<'d>(&self, document: &'d ManifestDocument) -> BTreeSet<&'d str> {
        let mut names = BTreeSet::new();
        for node in references::workflow_nodes(&document.root) {
            if let Some(entry) = references::reference_entry(node)
                && let Some(text) = entry.value.as_string()
                && !references::is_path(&text.value)
            {
                names.insert(&*text.value);
            }
        }
        names
    }

    fn may_reference_files(&self, document: &ManifestDocument, at: Span) -> bool {
        // Agents and nodes are declared in the file itself.
        references::workflow_nodes(&document.root).any(|node| match references::reference_entry(node) {
            Some(entry) => entry.value.span.start <= at.start && at.end <= entry.value.span.end,
            None => false,
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
