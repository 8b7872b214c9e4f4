//! Front ends: from the spanned YAML of a dialect to the IR.
//!
//! The only crate that knows the words of a dialect. Does no IO: the caller loads files, asks [`FrontEnd::needed_files`] which
//! others a document needs, and adds them to the [`Project`]. Reading and lowering report everything they find and
//! never stop at the first mistake.

pub mod bound_text;
mod call_depths;
pub mod compilation;
pub mod manifest_source;
pub mod name_facts;
pub mod names;
pub mod program_builder;
pub mod project;
pub mod providers;
pub mod requests;
pub mod schema;
pub mod spelling_fixes;
pub mod types;
pub mod yaml_reader;

pub mod aegis;
pub mod agntz;
pub mod sirenspec;

use std::collections::BTreeSet;

use trefoil_ir::FactDetail;
use trefoil_syntax::{Location, Span, yaml::YamlNode};
use trefoil_template::Policy;

pub use compilation::{DialectCompilation, LinkedDocuments};
pub use manifest_source::ManifestSource;
pub use program_builder::ProgramBuilder;
pub use project::{LoweredDocument, ManifestDocument, NeededFile, NeededFileKind, Project};
pub use yaml_reader::{CompileFindings, ManifestReader, MappingReader};

/// A dialect's front end.
pub trait FrontEnd: Sync {
    /// `agntz`, `aegis`, `sirenspec`: the name for `--dialect` and in messages.
    fn name(&self) -> &'static str;
    /// The name of the format in prose, and the keys by which a person recognises its files.
    fn format_description(&self) -> (&'static str, &'static str);
    /// The format as a JSON Schema (draft 2020-12) with a description of every key. Unknown keys are allowed, because
    /// the checker reports them.
    fn manifest_schema(&self) -> &'static str;
    /// Its template rules.
    fn policy(&self) -> &'static Policy;
    /// The keys that show that it is of this dialect, with their places; empty if it is not.
    fn find_evidence(&self, root: &YamlNode) -> Vec<DialectEvidence>;
    /// Whether a text that could not be parsed may be of this dialect. `has`: whether a line starts with a key.
    fn matches_unparsed(&self, text: &str, has: &dyn Fn(&str) -> bool) -> bool;
    /// The name, for messages, of a kind of document that belongs to this dialect but is not a unit (such as a skill
    /// file). Only called if there is no evidence.
    fn companion_kind(&self, _root: &YamlNode) -> Option<&'static str> {
        None
    }
    /// Whether agents read the texts of [`Project::context`] and [`Project::skills`].
    fn reads_texts(&self) -> bool {
        false
    }
    /// Other files that this document needs, as relative paths.
    fn needed_files(&self, document: &ManifestDocument) -> Vec<NeededFile>;
    /// The ids by which the document's top-level unit can be named (`dir#id`, `ref`, `agent`), with their places.
    fn unit_ids(&self, document: &ManifestDocument) -> Vec<(String, Location)>;
    /// The description in the document, shown when the flow is offered to a model or a person.
    fn unit_description<'d>(&self, document: &'d ManifestDocument) -> Option<&'d str> {
        text_under_key(&document.root, "description")
    }
    /// The units that the document mentions by id, as far as a quick scan shows. If one is unknown, the caller may load
    /// more manifests before lowering. Units that only lowering finds are reported as `unknown-reference`.
    fn mentioned_units<'d>(&self, _document: &'d ManifestDocument) -> BTreeSet<&'d str> {
        BTreeSet::new()
    }
    /// Whether an unresolved name at a place of the document may refer to a unit in another file.
    fn may_reference_files(&self, _document: &ManifestDocument, _at: Span) -> bool {
        true
    }
    /// Reads, binds and lowers documents as the entries of one program, with everything that they reach in the project.
    /// `detail` says which facts are needed. Finds only mistakes of reading and binding; `trefoil-lint` finds the
    /// others.
    fn compile_documents<'p>(
        &self,
        project: &'p Project,
        entries: &[usize],
        detail: FactDetail,
    ) -> DialectCompilation<'p>;
}

/// The text under a key.
fn text_under_key<'n>(node: &'n YamlNode, key: &str) -> Option<&'n str> {
    let text = node.as_mapping()?.get(key)?.value.as_string()?;
    let trimmed = text.value.trim();
    if trimmed.is_empty() { None } else { Some(trimmed) }
}

/// The texts under keys with these names, at any depth.
fn texts_under_keys<'n>(root: &'n YamlNode, keys: &[&str]) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if let Some(mapping) = node.as_mapping() {
            for entry in &mapping.entries {
                match entry.value.as_string() {
                    Some(text) if keys.contains(&&*entry.key.value) => drop(found.insert(&*text.value)),
                    Some(_) => {}
                    None => stack.push(&entry.value),
                }
            }
        }
        stack.extend(node.as_sequence().into_iter().flatten());
    }
    found
}

/// A key that shows that a document is of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectEvidence {
    /// The key as written.
    pub key: String,
    /// Its span.
    pub span: trefoil_syntax::Span,
}

/// The compiled documents of a dialect, with their names bound.
pub enum CompiledUnits<'p> {
    /// Agents.
    Agntz(Box<agntz::AgntzUnits<'p>>),
    /// Agents and workflows.
    Aegis(aegis::AegisUnits<'p>),
    /// Workflows.
    Sirenspec(sirenspec::SirenUnits<'p>),
}

impl CompiledUnits<'_> {
    /// Every text in them, with its names bound.
    pub fn bound_texts(&self) -> Vec<&bound_text::BoundText> {
        match self {
            Self::Agntz(units) => units.bound_texts(),
            Self::Aegis(units) => units.bound_texts(),
            Self::Sirenspec(units) => units.bound_texts(),
        }
    }
}

/// Every front end. A new dialect starts with a folder, a line here and one in [`CompiledUnits`].
pub static FRONT_ENDS: &[&dyn FrontEnd] =
    &[&agntz::AgntzFrontEnd, &aegis::AegisFrontEnd, &sirenspec::SirenSpecFrontEnd];

/// The front end with this name.
pub fn front_end(name: &str) -> Option<&'static dyn FrontEnd> {
    FRONT_ENDS.iter().copied().find(|f| f.name() == name)
}

/// A description of a document that is of no dialect, for a clearer message: `an agntz skill file, not an agent`.
pub fn companion_kind(root: &YamlNode) -> Option<&'static str> {
    FRONT_ENDS.iter().find_map(|f| f.companion_kind(root))
}

/// The dialect of a document, judging by its structure.
pub enum DialectDetection {
    /// Exactly one dialect matches.
    One(&'static dyn FrontEnd),
    /// Several dialects match: their names, each with its evidence.
    Several(Vec<(&'static str, DialectEvidence)>),
    /// No dialect matches.
    Unknown,
}

/// Detects the dialect of a document.
pub fn detect_dialect(root: &YamlNode) -> DialectDetection {
    let mut found = Vec::new();
    for front_end in FRONT_ENDS.iter().copied() {
        if let Some(evidence) = front_end.find_evidence(root).into_iter().next() {
            found.push((front_end, evidence));
        }
    }
    match found.as_slice() {
        [] => DialectDetection::Unknown,
        [(front_end, _)] => DialectDetection::One(*front_end),
        _ => {
            let named = found.into_iter().map(|(front_end, evidence)| (front_end.name(), evidence));
            DialectDetection::Several(named.collect())
        }
    }
}
