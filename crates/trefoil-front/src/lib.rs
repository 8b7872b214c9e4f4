//! Front ends: from the spanned YAML of a dialect to the IR.
//!
//! The only crate that knows the words of a dialect. Does no IO: the caller loads files, asks [`FrontEnd::needs`] which
//! others a document needs, and adds them to the [`Project`]. Reading and lowering report everything they find and
//! never stop at the first mistake.

pub mod bound;
pub mod build;
pub mod compiled;
mod depths;
pub mod learn;
pub mod mend;
pub mod names;
pub mod project;
pub mod providers;
pub mod read;
pub mod requests;
pub mod schema;
pub mod source;
pub mod types;

pub mod aegis;
pub mod agntz;
pub mod sirenspec;

use std::collections::BTreeSet;

use trefoil_ir::Detail;
use trefoil_syntax::{Location, Span, yaml::Node};
use trefoil_template::Policy;

pub use build::Builder;
pub use compiled::{Compiled, Linked};
pub use project::{Document, Lowered, Need, NeedKind, Project};
pub use read::{Fields, Findings, Reader};
pub use source::Source;

/// A dialect's front end.
pub trait FrontEnd: Sync {
    /// `agntz`, `aegis`, `sirenspec`: the name for `--dialect` and in messages.
    fn name(&self) -> &'static str;
    /// The name of the format in prose, and the keys by which a person recognises its files.
    fn described(&self) -> (&'static str, &'static str);
    /// The format as a JSON Schema (draft 2020-12) with a description of every key. Unknown keys are allowed, because
    /// the checker reports them.
    fn schema(&self) -> &'static str;
    /// Its template rules.
    fn policy(&self) -> &'static Policy;
    /// The keys that show that it is of this dialect, with their places; empty if it is not.
    fn evidence(&self, root: &Node) -> Vec<Evidence>;
    /// Whether a text that could not be parsed may be of this dialect. `has`: whether a line starts with a key.
    fn resembles(&self, text: &str, has: &dyn Fn(&str) -> bool) -> bool;
    /// The name, for messages, of a kind of document that belongs to this dialect but is not a unit (such as a skill
    /// file). Only called if there is no evidence.
    fn companion(&self, _root: &Node) -> Option<&'static str> {
        None
    }
    /// Whether agents read the texts of [`Project::context`] and [`Project::skills`].
    fn reads_texts(&self) -> bool {
        false
    }
    /// Other files that this document needs, as relative paths.
    fn needs(&self, document: &Document) -> Vec<Need>;
    /// The ids by which the document's top-level unit can be named (`dir#id`, `ref`, `agent`), with their places.
    fn ids(&self, document: &Document) -> Vec<(String, Location)>;
    /// The description in the document, shown when the flow is offered to a model or a person.
    fn about<'d>(&self, document: &'d Document) -> Option<&'d str> {
        said(&document.root, "description")
    }
    /// The units that the document mentions by id, as far as a quick scan shows. If one is unknown, the caller may load
    /// more manifests before lowering. Units that only lowering finds are reported as `unknown-reference`.
    fn names<'d>(&self, _document: &'d Document) -> BTreeSet<&'d str> {
        BTreeSet::new()
    }
    /// Whether an unresolved name at a place of the document may refer to a unit in another file.
    fn seeks(&self, _document: &Document, _at: Span) -> bool {
        true
    }
    /// Reads, binds and lowers documents as the entries of one program, with everything that they reach in the project.
    /// `detail` says which facts are needed. Finds only mistakes of reading and binding; `trefoil-lint` finds the
    /// others.
    fn compile<'p>(&self, project: &'p Project, entries: &[usize], detail: Detail) -> Compiled<'p>;
}

/// The text under a key.
fn said<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    let text = node.mapping()?.get(key)?.value.string()?;
    Some(text.value.trim()).filter(|text| !text.is_empty())
}

/// The texts under keys with these names, at any depth.
fn under<'n>(root: &'n Node, keys: &[&str]) -> BTreeSet<&'n str> {
    let mut found = BTreeSet::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        for entry in node.mapping().into_iter().flat_map(|m| &m.entries) {
            match entry.value.string() {
                Some(text) if keys.contains(&&*entry.key.value) => drop(found.insert(&*text.value)),
                Some(_) => {}
                None => stack.push(&entry.value),
            }
        }
        stack.extend(node.sequence().into_iter().flatten());
    }
    found
}

/// A key that shows that a document is of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The key as written.
    pub key: String,
    /// Its span.
    pub span: trefoil_syntax::Span,
}

/// The compiled documents of a dialect, with their names bound.
pub enum CompiledUnits<'p> {
    /// Agents.
    Agntz(Box<agntz::Units<'p>>),
    /// Agents and workflows.
    Aegis(aegis::Units<'p>),
    /// Workflows.
    Sirenspec(sirenspec::Units<'p>),
}

impl CompiledUnits<'_> {
    /// Every text in them, with its names bound.
    pub fn texts(&self) -> Vec<&bound::BoundText> {
        match self {
            Self::Agntz(units) => units.texts(),
            Self::Aegis(units) => units.texts(),
            Self::Sirenspec(units) => units.texts(),
        }
    }
}

/// Every front end. A new dialect starts with a folder, a line here and one in [`CompiledUnits`].
pub static FRONT_ENDS: &[&dyn FrontEnd] = &[&agntz::Agntz, &aegis::Aegis, &sirenspec::SirenSpec];

/// The front end with this name.
pub fn front_end(name: &str) -> Option<&'static dyn FrontEnd> {
    FRONT_ENDS.iter().copied().find(|f| f.name() == name)
}

/// A description of a document that is of no dialect, for a clearer message: `an agntz skill file, not an agent`.
pub fn companion(root: &Node) -> Option<&'static str> {
    FRONT_ENDS.iter().find_map(|f| f.companion(root))
}

/// The dialect of a document, judging by its structure.
pub enum Detection {
    /// Exactly one dialect matches.
    One(&'static dyn FrontEnd),
    /// Several dialects match: their names, each with its evidence.
    Several(Vec<(&'static str, Evidence)>),
    /// No dialect matches.
    Unknown,
}

/// Detects the dialect of a document.
pub fn detect(root: &Node) -> Detection {
    let mut found: Vec<_> =
        FRONT_ENDS.iter().copied().filter_map(|f| f.evidence(root).into_iter().next().map(|e| (f, e))).collect();
    match found.len() {
        0 => Detection::Unknown,
        1 => found.pop().map_or(Detection::Unknown, |(f, _)| Detection::One(f)),
        _ => Detection::Several(found.into_iter().map(|(f, e)| (f.name(), e)).collect()),
    }
}
