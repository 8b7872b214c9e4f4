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

pub mod bind;
mod evidence;
pub mod ids;
mod lower;
pub mod manifest;
pub mod names;
pub mod schema;
pub mod signature;

use std::collections::BTreeSet;

use trefoil_ir::Detail;
use trefoil_syntax::{Location, yaml::Node};
use trefoil_template::Policy;

pub use bind::Units;

use crate::{Compiled, Document, Evidence, Findings, FrontEnd, Need, Project};

/// The name for `--dialect`.
const NAME: &str = "agntz";

/// The agntz front end.
pub struct Agntz;

impl FrontEnd for Agntz {
    fn name(&self) -> &'static str {
        NAME
    }
    fn described(&self) -> (&'static str, &'static str) {
        ("agntz", "`id` and `kind`")
    }
    fn schema(&self) -> &'static str {
        include_str!("../../schemas/agntz.json")
    }
    fn policy(&self) -> &'static Policy {
        &Policy::AGNTZ
    }
    fn evidence(&self, root: &Node) -> Vec<Evidence> {
        evidence::of(root)
    }
    fn resembles(&self, _text: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has("id") && ["kind", "instruction", "steps", "branches"].into_iter().any(has)
    }
    fn companion(&self, root: &Node) -> Option<&'static str> {
        evidence::companion(root)
    }
    fn needs(&self, _document: &Document) -> Vec<Need> {
        Vec::new()
    }
    fn ids(&self, document: &Document) -> Vec<(String, Location)> {
        bind::id_of(&document.root)
            .map(|(id, span)| (id.to_owned(), Location::new(document.file, span)))
            .into_iter()
            .collect()
    }
    fn names<'d>(&self, document: &'d Document) -> BTreeSet<&'d str> {
        let references = crate::under(&document.root, &["ref"]).into_iter();
        references.map(|text| ids::AgentRef::parse(text).map_or(text, |r| r.id)).collect()
    }
    fn compile<'p>(&self, project: &'p Project, entries: &[usize], detail: Detail) -> Compiled<'p> {
        let mut units = bind::bind(project, entries, &Findings::with_facts(detail, self.policy().words));
        let found = std::mem::take(&mut units.findings);
        let (program, entries) = lower::lower(&units, entries);
        let units = crate::CompiledUnits::Agntz(Box::new(units));
        Compiled { units, program, entries, env_files: Vec::new(), found, aside: BTreeSet::new() }
    }
}
