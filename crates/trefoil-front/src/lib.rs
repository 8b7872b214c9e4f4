//! Front ends: from the spanned YAML of a dialect to the IR.
//!
//! The only crate that knows a dialect's words. Does no IO: whoever loads files asks [`FrontEnd::needs`] what else a
//! document wants and adds it to the [`Project`]. Reading and lowering report everything they find and never stop at the
//! first mistake.

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
pub mod rules;
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
    /// `agntz`, `aegis`, `sirenspec`: as `--dialect` takes it and messages print it.
    fn name(&self) -> &'static str;
    /// The format as prose names it, and the keys by which a person tells its files.
    fn described(&self) -> (&'static str, &'static str);
    /// The format as a JSON Schema (draft 2020-12) with a description of every key. Unknown keys stay open: they are
    /// the checker's to report.
    fn schema(&self) -> &'static str;
    /// Its template rules.
    fn policy(&self) -> &'static Policy;
    /// The keys (with their places) that speak for this dialect; none: not this one.
    fn evidence(&self, root: &Node) -> Vec<Evidence>;
    /// Whether a text that could not be parsed may be of this dialect. `has`: whether a line starts with a key.
    fn resembles(&self, text: &str, has: &dyn Fn(&str) -> bool) -> bool;
    /// What a document is that belongs to this dialect without being a unit of it (a skill file, say), as a message
    /// names it. Asked only if there is no evidence.
    fn companion(&self, _root: &Node) -> Option<&'static str> {
        None
    }
    /// Whether agents read the texts of [`Project::context`] and [`Project::skills`].
    fn reads_texts(&self) -> bool {
        false
    }
    /// Other files that this document needs, relative to it.
    fn needs(&self, document: &Document) -> Vec<Need>;
    /// The ids by which the document's top-level unit can be named (`dir#id`, `ref`, `agent`), with their places.
    fn ids(&self, document: &Document) -> Vec<(String, Location)>;
    /// What the document says that it is for: whoever offers it to a model or a person shows it.
    fn about<'d>(&self, document: &'d Document) -> Option<&'d str> {
        said(&document.root, "description")
    }
    /// The units that the document's text names by id, as far as a look at it tells: whoever has none of that id may look
    /// for more manifests before lowering. What only lowering finds, it reports as `unknown-reference`.
    fn names<'d>(&self, _document: &'d Document) -> BTreeSet<&'d str> {
        BTreeSet::new()
    }
    /// Whether what is at a place of the document, and was found to name nothing, may be a unit of another file.
    fn seeks(&self, _document: &Document, _at: Span) -> bool {
        true
    }
    /// Reads, binds and lowers documents as the entries of one program, with all that they lead to in the project.
    /// `detail` says which facts anybody asks for. Finds no mistakes beyond those of reading and binding: that is what
    /// `trefoil-lint` is for.
    fn compile<'p>(&self, project: &'p Project, entries: &[usize], detail: Detail) -> Compiled<'p>;
}

/// The text under a key.
fn said<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    let text = node.mapping()?.get(key)?.value.string()?;
    Some(text.value.trim()).filter(|text| !text.is_empty())
}

/// The texts under keys of these names, wherever they are.
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

/// A key that speaks for a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The key as written.
    pub key: String,
    /// Its bytes.
    pub span: trefoil_syntax::Span,
}

/// What documents of a dialect became, with their names bound.
pub enum CompiledUnits<'p> {
    /// Agents.
    Agntz(Box<agntz::Units<'p>>),
    /// Agents and workflows.
    Aegis(aegis::Units<'p>),
    /// Workflows.
    Sirenspec(sirenspec::Units<'p>),
}

/// Every front end. A new dialect begins with a folder, a line here and one in [`CompiledUnits`].
pub static FRONT_ENDS: &[&dyn FrontEnd] = &[&agntz::Agntz, &aegis::Aegis, &sirenspec::SirenSpec];

/// The front end of this name.
pub fn front_end(name: &str) -> Option<&'static dyn FrontEnd> {
    FRONT_ENDS.iter().copied().find(|f| f.name() == name)
}

/// What a document of no dialect is after all, for a clearer message: `an agntz skill file, not an agent`.
pub fn companion(root: &Node) -> Option<&'static str> {
    FRONT_ENDS.iter().find_map(|f| f.companion(root))
}

/// What a document is, by its shape.
pub enum Detection {
    /// One dialect speaks for it.
    One(&'static dyn FrontEnd),
    /// Two or more do: the names, each with its evidence.
    Several(Vec<(&'static str, Evidence)>),
    /// None does.
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
