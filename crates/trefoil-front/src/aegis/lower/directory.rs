//! Which agents and workflows a project declares, by name.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, FileId, Location, Span, suggest};

use crate::aegis::manifest::{self, Unit};
use crate::{FrontEnd, Project};

/// The named units of a project.
pub(super) struct Directory {
    entries: Vec<Named>,
    origins: Vec<Location>,
}

struct Named {
    unit: Unit,
    name: Arc<str>,
    document: usize,
    at: Location,
}

impl Directory {
    /// Of a project's AEGIS documents.
    pub fn of(project: &Project) -> Self {
        let mut entries = Vec::new();
        for (document, d) in project.documents.iter().enumerate() {
            if d.front.name() != crate::aegis::Aegis.name() {
                continue;
            }
            if let Some((unit, name)) = manifest::unit(&d.root).zip(manifest::name(&d.root)) {
                let at = Location::new(d.file, name.span);
                entries.push(Named { unit, name: name.value.clone(), document, at });
            }
        }
        let origins = project.documents.iter().map(|d| Location::new(d.file, d.root.span)).collect();
        Self { entries, origins }
    }

    fn find(&self, unit: Unit, name: &str) -> Vec<usize> {
        self.entries.iter().filter(|e| e.unit == unit && &*e.name == name).map(|e| e.document).collect()
    }

    /// Documents that declare an agent of this name.
    pub fn agents(&self, name: &str) -> Vec<usize> {
        self.find(Unit::Agent, name)
    }

    /// Documents that declare a workflow of this name.
    pub fn workflows(&self, name: &str) -> Vec<usize> {
        self.find(Unit::Workflow, name)
    }

    /// All of a sort, each name once.
    pub fn all(&self, unit: Unit) -> Vec<(Arc<str>, usize)> {
        let mut all: Vec<(Arc<str>, usize)> = Vec::new();
        for entry in self.entries.iter().filter(|e| e.unit == unit) {
            if !all.iter().any(|(name, _)| *name == entry.name) {
                all.push((entry.name.clone(), entry.document));
            }
        }
        all
    }

    /// The place of a document.
    pub fn origin(&self, document: usize) -> Location {
        self.origins.get(document).copied().unwrap_or(Location::new(FileId(0), Span::new(0, 0)))
    }

    /// The finding that an agent is not declared.
    pub fn missing_agent(&self, name: &str, at: Location) -> Diagnostic {
        let d = Diagnostic::warning("unknown-reference", at, format!("no agent in this folder is called `{name}`"));
        match self.nearest(Unit::Agent, name) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None if looks_like_uuid(name) => {
                d.help("the id of a server's agent means nothing here: write the agent's `metadata.name`")
            }
            None => d.help("only the embedded model can play it; for any other model put its manifest into the folder"),
        }
    }

    /// The nearest name of a sort.
    pub fn nearest(&self, unit: Unit, name: &str) -> Option<&str> {
        suggest::nearest(name, self.entries.iter().filter(|e| e.unit == unit).map(|e| &*e.name))
    }

    /// The finding that several documents declare what is referenced (decision C10).
    pub fn ambiguous(&self, sort: &str, name: &str, at: Location, found: &[usize]) -> Diagnostic {
        let mut d = Diagnostic::error("duplicate-id", at, format!("several {sort} are called `{name}`"));
        for entry in self.entries.iter().filter(|e| &*e.name == name && found.contains(&e.document)) {
            d = d.label(entry.at, "one of them");
        }
        d.help("rename all but one")
    }
}

fn looks_like_uuid(name: &str) -> bool {
    let groups: Vec<_> = name.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}
