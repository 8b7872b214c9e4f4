//! The agents and workflows that a project declares, by name.

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_syntax::{FileId, Location, Span, suggestions};

use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::{self, AegisUnitKind};
use crate::yaml_reader::to_value;
use crate::{FrontEnd, ManifestDocument, Project};
use trefoil_syntax::suggestions::NearMatch;

/// The named units of a project, as seen from one of its documents. Switching to another document is cheap.
#[derive(Clone)]
pub struct AegisDirectory<'p> {
    project: &'p Project,
    from: usize,
    index: Arc<AegisUnitIndex>,
}

#[derive(Default)]
struct AegisUnitIndex {
    entries: Vec<(AegisUnitKind, Arc<str>, usize)>,
    by_name: HashMap<(AegisUnitKind, Arc<str>), Vec<usize>>,
    places: HashMap<usize, UnitNameLocation>,
}

/// Where a unit's name is written.
struct UnitNameLocation {
    /// As written.
    written: Location,
    /// Without its quotes.
    content: Location,
}

impl<'p> AegisDirectory<'p> {
    /// The directory of a project's AEGIS documents.
    pub fn for_project(project: &'p Project) -> Self {
        let mut index = AegisUnitIndex::default();
        for (document, d) in project.documents.iter().enumerate() {
            if d.front.name() != crate::aegis::AegisFrontEnd.name() {
                continue;
            }
            if let (Some(unit), Some(name)) = (manifest::unit_kind(&d.root), manifest::unit_name(&d.root)) {
                let [written, content] = [name.span, name.content_span()].map(|span| Location::new(d.file, span));
                index.places.insert(document, UnitNameLocation { written, content });
                index.by_name.entry((unit, name.value.clone())).or_default().push(document);
                index.entries.push((unit, name.value.clone(), document));
            }
        }
        Self { project, from: usize::MAX, index: Arc::new(index) }
    }

    /// The directory as seen from another document: of several units with one name, only those nearest to the document
    /// count.
    #[must_use]
    pub fn seen_from(&self, document: usize) -> Self {
        Self { from: document, ..self.clone() }
    }

    /// The documents that declare a unit with this name.
    pub fn find_documents(&self, unit: AegisUnitKind, name: &str) -> Vec<usize> {
        let found = self.index.by_name.get(&(unit, Arc::from(name)));
        self.project.nearest_documents(self.from, found.map(Vec::as_slice).unwrap_or_default())
    }

    /// The document of a unit; the first one if there are several.
    pub fn document_of(&self, unit: AegisUnitKind, name: &str) -> Option<&'p ManifestDocument> {
        self.project.documents.get(*self.find_documents(unit, name).first()?)
    }

    /// The declarations of this name in the project, each with its document.
    pub fn declarations_of(&self, unit: AegisUnitKind, name: &str) -> impl Iterator<Item = (usize, Location)> {
        let found = self.index.by_name.get(&(unit, Arc::from(name))).into_iter().flatten();
        found.filter_map(|document| {
            let place = self.index.places.get(document)?;
            if self.project.is_same_project(*document, self.from) { Some((*document, place.written)) } else { None }
        })
    }

    /// The input schema of a unit, if it describes an object, with the file that declares it.
    pub fn takes_object(&self, unit: AegisUnitKind, name: &str) -> Option<(FileId, JsonSchema)> {
        let document = self.document_of(unit, name)?;
        let node = match unit {
            AegisUnitKind::Agent => manifest::input_schema(&document.root)?,
            AegisUnitKind::Workflow => manifest::of_metadata(&document.root, "input_schema")?,
        };
        if node.is_null() {
            return None;
        }
        let schema = JsonSchema::new(to_value(node), node.clone());
        if schema.of_objects() { Some((document.file, schema)) } else { None }
    }

    /// All units of a kind, each name once.
    pub fn list_units(&self, unit: AegisUnitKind) -> Vec<(Arc<str>, usize)> {
        let mut seen = HashSet::default();
        let mut units = Vec::new();
        for (kind, name, _) in &self.index.entries {
            if *kind != unit || !seen.insert(name.clone()) {
                continue;
            }
            if let Some(document) = self.find_documents(unit, name).first() {
                units.push((name.clone(), *document));
            }
        }
        units
    }

    /// The place of the name of a document's unit, without quotes.
    pub fn name_location(&self, document: usize) -> Option<Location> {
        Some(self.index.places.get(&document)?.content)
    }

    /// The place of a document.
    pub fn document_location(&self, document: usize) -> Location {
        match self.project.documents.get(document) {
            Some(document) => Location::new(document.file, document.root.span),
            None => Location::new(FileId(0), Span::new(0, 0)),
        }
    }

    /// The most similar name of a unit of this kind in the project.
    pub fn similar_name(&self, unit: AegisUnitKind, name: &str, except: Option<&str>) -> Option<NearMatch<'_>> {
        let mut names = Vec::new();
        for (kind, candidate, document) in &self.index.entries {
            let is_excepted = except == Some(candidate);
            if *kind == unit && !is_excepted && self.project.is_same_project(*document, self.from) {
                names.push(&**candidate);
            }
        }
        let near = suggestions::find_near_match(name, names)?;
        // Do not suggest a name that is itself invalid.
        Some(NearMatch { sure: near.sure && manifest::metadata::is_name(near.name), ..near })
    }
}
