//! AEGIS: agents (`kind: Agent`) and state machines (`kind: Workflow`). `docs/compat/aegis.md` says where they differ
//! from the original system.
//!
//! `manifest/` has the contents of a file, `names/` the names available in its texts, `texts` the bound texts, and
//! `lower/` makes flows and steps; `program` takes a document through all of them.

pub mod callees;
pub mod directory;
mod evidence;
mod lower;
pub mod manifest;
pub mod names;
mod program;
pub mod shell;
pub mod texts;

use std::collections::BTreeSet;

use trefoil_ir::Detail;
use trefoil_syntax::{Location, yaml::Node};
use trefoil_template::Policy;

pub use lower::CallSite;
pub use program::{Content, Unit, Units};

use crate::{Compiled, Document, Evidence, Findings, FrontEnd, Need, Project};

/// The AEGIS front end.
pub struct Aegis;

impl FrontEnd for Aegis {
    fn name(&self) -> &'static str {
        "aegis"
    }
    fn described(&self) -> (&'static str, &'static str) {
        ("AEGIS", "its `apiVersion` and `kind`")
    }
    fn schema(&self) -> &'static str {
        include_str!("../../schemas/aegis.json")
    }
    fn policy(&self) -> &'static Policy {
        &Policy::AEGIS
    }
    fn evidence(&self, root: &Node) -> Vec<Evidence> {
        evidence::of(root)
    }
    fn resembles(&self, text: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has("apiVersion") && text.contains(evidence::OWNER)
    }
    fn companion(&self, root: &Node) -> Option<&'static str> {
        evidence::companion(root)
    }
    fn needs(&self, document: &Document) -> Vec<Need> {
        manifest::agent::needs(&document.root, document.file)
    }
    fn ids(&self, document: &Document) -> Vec<(String, Location)> {
        let name = manifest::name(&document.root);
        name.map(|n| (n.value.to_string(), Location::new(document.file, n.span))).into_iter().collect()
    }
    fn about<'d>(&self, document: &'d Document) -> Option<&'d str> {
        crate::said(&document.root.mapping()?.get("metadata")?.value, "description")
    }
    fn names<'d>(&self, document: &'d Document) -> BTreeSet<&'d str> {
        crate::under(&document.root, &["agent", "agent_id", "workflow_id"])
    }
    fn reads_texts(&self) -> bool {
        true
    }
    fn compile<'p>(&self, project: &'p Project, entries: &[usize], detail: Detail) -> Compiled<'p> {
        program::compile(project, entries, Findings::with_facts(detail, self.policy().words))
    }
}
