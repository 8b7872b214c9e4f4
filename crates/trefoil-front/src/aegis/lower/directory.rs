//! Which agents and workflows a project declares, by name.

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_syntax::{Diagnostic, FileId, Location, Span, suggest};

use crate::aegis::manifest::{self, Unit};
use crate::read::respelt;
use crate::{FrontEnd, Project};
use trefoil_syntax::suggest::Near;
use trefoil_syntax::yaml::Text;

/// The named units of a project.
pub(super) struct Directory {
    entries: Vec<Named>,
    by_name: HashMap<(Unit, Arc<str>), Vec<usize>>,
    origins: Vec<Location>,
    places: HashMap<usize, Location>,
}

struct Named {
    unit: Unit,
    name: Arc<str>,
    document: usize,
    at: Location,
}

impl Directory {
    /// Of a project's AEGIS documents. Of several units of one name those count that are nearest to the document at `from`.
    pub fn of(project: &Project, from: usize) -> Self {
        let from = project.documents.get(from).map_or("", |d| &d.path);
        let mut entries = Vec::new();
        let mut places = HashMap::default();
        for (document, d) in project.documents.iter().enumerate() {
            if d.front.name() != crate::aegis::Aegis.name() {
                continue;
            }
            if let Some((unit, name)) = manifest::unit(&d.root).zip(manifest::name(&d.root)) {
                let at = Location::new(d.file, name.span);
                places.insert(document, Location::new(d.file, name.content()));
                entries.push(Named { unit, name: name.value.clone(), document, at });
            }
        }
        let mut by_name: HashMap<_, Vec<usize>> = HashMap::default();
        for entry in &entries {
            by_name.entry((entry.unit, entry.name.clone())).or_default().push(entry.document);
        }
        for found in by_name.values_mut() {
            *found = project.nearest(from, std::mem::take(found));
        }
        let origins = project.documents.iter().map(|d| Location::new(d.file, d.root.span)).collect();
        Self { entries, by_name, origins, places }
    }

    fn find(&self, unit: Unit, name: &str) -> Vec<usize> {
        self.by_name.get(&(unit, Arc::from(name))).cloned().unwrap_or_default()
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
        let mut seen = HashSet::default();
        let of_sort = self.entries.iter().filter(|e| e.unit == unit && seen.insert(e.name.clone()));
        of_sort.map(|e| (e.name.clone(), e.document)).collect()
    }

    /// The name of a document's unit, without quotes.
    pub fn place(&self, document: usize) -> Option<Location> {
        self.places.get(&document).copied()
    }

    /// The place of a document.
    pub fn origin(&self, document: usize) -> Location {
        self.origins.get(document).copied().unwrap_or(Location::new(FileId(0), Span::new(0, 0)))
    }

    /// The finding that an agent is not declared.
    pub fn missing_agent(&self, text: &Text, at: Location) -> Diagnostic {
        let name = &*text.value;
        let d = Diagnostic::warning("unknown-reference", at, format!("no agent in this folder is called `{name}`"));
        match self.near(Unit::Agent, name) {
            Some(near) => {
                let d = self.declared(Unit::Agent, near.name, d.help(format!("did you mean `{}`?", near.name)));
                respelt(d, at, text, near)
            }
            None if looks_like_uuid(name) => {
                d.help("the id of a server's agent means nothing here: write the agent's `metadata.name`")
            }
            None => d.help("only the embedded model can play it; for any other model put its manifest into the folder"),
        }
    }

    /// The finding with the place where a unit is declared.
    pub fn declared(&self, unit: Unit, name: &str, d: Diagnostic) -> Diagnostic {
        match self.entries.iter().find(|e| e.unit == unit && &*e.name == name) {
            Some(entry) => d.label(entry.at, format!("`{name}` is declared here")),
            None => d,
        }
    }

    /// The nearest name of a sort.
    pub fn near(&self, unit: Unit, name: &str) -> Option<Near<'_>> {
        let near = suggest::near(name, self.entries.iter().filter(|e| e.unit == unit).map(|e| &*e.name))?;
        // A name that is wrong itself is no reason to change another.
        Some(Near { sure: near.sure && manifest::metadata::is_name(near.name), ..near })
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
