//! AEGIS: agents (`kind: Agent`) and state machines (`kind: Workflow`). `docs/compat/aegis.md` says where they differ
//! from the original system.
//!
//! `manifest/` has the contents of a file, `names/` the names available in its texts, `texts` the bound texts, and
//! `lower/` makes flows and steps; `program` takes a document through all of them.

pub mod callees;
pub mod directory;
mod evidence;
mod lowering;
pub mod manifest;
pub mod names;
mod program;
pub mod shell;
pub mod texts;

use std::collections::BTreeSet;

use trefoil_ir::FactDetail;
use trefoil_syntax::{Location, yaml::YamlNode};
use trefoil_template::Policy;

pub use lowering::NamedFlowCall;
pub use program::{AegisUnit, AegisUnitContent, AegisUnits};

use crate::{CompileFindings, DialectCompilation, DialectEvidence, FrontEnd, ManifestDocument, NeededFile, Project};

/// The AEGIS front end.
pub struct AegisFrontEnd;

impl FrontEnd for AegisFrontEnd {
    fn name(&self) -> &'static str {
        "aegis"
    }
    fn format_description(&self) -> (&'static str, &'static str) {
        ("AEGIS", "its `apiVersion` and `kind`")
    }
    fn manifest_schema(&self) -> &'static str {
        include_str!("../../schemas/aegis.json")
    }
    fn policy(&self) -> &'static Policy {
        &Policy::AEGIS
    }
    fn find_evidence(&self, root: &YamlNode) -> Vec<DialectEvidence> {
        evidence::find_evidence(root)
    }
    fn matches_unparsed(&self, text: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has("apiVersion") && text.contains(evidence::OWNER)
    }
    fn companion_kind(&self, root: &YamlNode) -> Option<&'static str> {
        evidence::companion_kind(root)
    }
    fn needed_files(&self, document: &ManifestDocument) -> Vec<NeededFile> {
        manifest::agent::needed_files(&document.root, document.file)
    }
    fn unit_ids(&self, document: &ManifestDocument) -> Vec<(String, Location)> {
        match manifest::unit_name(&document.root) {
            Some(name) => vec![(name.value.to_string(), Location::new(document.file, name.span))],
            None => Vec::new(),
        }
    }
    fn unit_description<'d>(&self, document: &'d ManifestDocument) -> Option<&'d str> {
        crate::text_under_key(&document.root.as_mapping()?.get("metadata")?.value, "description")
    }
    fn mentioned_units<'d>(&self, document: &'d ManifestDocument) -> BTreeSet<&'d str> {
        crate::texts_under_keys(&document.root, &["agent", "agent_id", "workflow_id"])
    }
    fn reads_texts(&self) -> bool {
        true
    }
    fn compile_documents<'p>(
        &self,
        project: &'p Project,
        entries: &[usize],
        detail: FactDetail,
    ) -> DialectCompilation<'p> {
        program::compile_documents(project, entries, CompileFindings::with_facts(detail, self.policy().words))
    }
}
