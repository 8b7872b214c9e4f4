//! The agntz front end: folders of manifests, one agent in each file, with `ref` between them.
//!
//! - `ids`: ids, state keys, `id@version`
//! - `schema`: `inputSchema` and `outputSchema`
//! - `manifest`: the file as written, key by key
//! - `names`: the names available in its texts
//! - `bind`: resolves references and binds texts
//! - `lower`: makes the program
//!
//! `docs/compat/agntz.md` says where the behaviour differs from the original system.

pub mod binding;
mod evidence;
pub mod ids;
mod lowering;
pub mod manifest;
pub mod names;
pub mod schema;
pub mod signature;

use std::collections::BTreeSet;

use trefoil_ir::FactDetail;
use trefoil_syntax::{Location, yaml::YamlNode};
use trefoil_template::Policy;

pub use binding::AgntzUnits;

use crate::{CompileFindings, DialectCompilation, DialectEvidence, FrontEnd, ManifestDocument, NeededFile, Project};

/// The name for `--dialect`.
const NAME: &str = "agntz";

/// The agntz front end.
pub struct AgntzFrontEnd;

impl FrontEnd for AgntzFrontEnd {
    fn name(&self) -> &'static str {
        NAME
    }
    fn format_description(&self) -> (&'static str, &'static str) {
        ("agntz", "`id` and `kind`")
    }
    fn manifest_schema(&self) -> &'static str {
        include_str!("../../schemas/agntz.json")
    }
    fn policy(&self) -> &'static Policy {
        &Policy::AGNTZ
    }
    fn find_evidence(&self, root: &YamlNode) -> Vec<DialectEvidence> {
        evidence::find_evidence(root)
    }
    fn matches_unparsed(&self, _text: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has("id") && ["kind", "instruction", "steps", "branches"].into_iter().any(has)
    }
    fn companion_kind(&self, root: &YamlNode) -> Option<&'static str> {
        evidence::companion_kind(root)
    }
    fn needed_files(&self, _document: &ManifestDocument) -> Vec<NeededFile> {
        Vec::new()
    }
    fn unit_ids(&self, document: &ManifestDocument) -> Vec<(String, Location)> {
        match binding::id_of(&document.root) {
            Some((id, span)) => vec![(id.to_owned(), Location::new(document.file, span))],
            None => Vec::new(),
        }
    }
    fn mentioned_units<'d>(&self, document: &'d ManifestDocument) -> BTreeSet<&'d str> {
        crate::texts_under_keys(&document.root, &["ref"]).into_iter().map(ids::referenced_id).collect()
    }
    fn compile_documents<'p>(
        &self,
        project: &'p Project,
        entries: &[usize],
        detail: FactDetail,
    ) -> DialectCompilation<'p> {
        let mut units =
            binding::bind_documents(project, entries, &CompileFindings::with_facts(detail, self.policy().words));
        let found = std::mem::take(&mut units.findings);
        let (program, entries) = lowering::lower_documents(&units, entries);
        let units = crate::CompiledUnits::Agntz(Box::new(units));
        DialectCompilation { units, program, entries, env_files: Vec::new(), found, aside: BTreeSet::new() }
    }
}
