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
            if let Some((unit, name)) = manifest::unit_kind(&d.root).zip(manifest::unit_name(&d.root)) {
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
        let own = found.filter(|document| self.project.is_same_project(**document, self.from));
        own.filter_map(|document| Some((*document, self.index.places.get(document)?.written)))
    }

    /// The input schema of a unit, if it describes an object, with the file that declares it.
    pub fn takes_object(&self, unit: AegisUnitKind, name: &str) -> Option<(FileId, JsonSchema)> {
        let document = self.document_of(unit, name)?;
        let node = match unit {
            AegisUnitKind::Agent => manifest::input_schema(&document.root)?,
            AegisUnitKind::Workflow => {
                manifest::of_metadata(&document.root, "input_schema").filter(|n| !n.is_null())?
            }
        };
        let schema = JsonSchema::new(to_value(node), node.clone());
        schema.of_objects().then_some((document.file, schema))
    }

    /// All units of a kind, each name once.
    pub fn list_units(&self, unit: AegisUnitKind) -> Vec<(Arc<str>, usize)> {
        let mut seen = HashSet::default();
        let of_sort = self.index.entries.iter().filter(|(sort, name, _)| *sort == unit && seen.insert(name.clone()));
        of_sort.filter_map(|(_, name, _)| Some((name.clone(), *self.find_documents(unit, name).first()?))).collect()
    }

    /// The place of the name of a document's unit, without quotes.
    pub fn name_location(&self, document: usize) -> Option<Location> {
        self.index.places.get(&document).map(|place| place.content)
    }

    /// The place of a document.
    pub fn document_location(&self, document: usize) -> Location {
        let origin = self.project.documents.get(document).map(|d| Location::new(d.file, d.root.span));
        origin.unwrap_or(Location::new(FileId(0), Span::new(0, 0)))
    }

    /// The most similar name of a unit of this kind in the project.
    pub fn similar_name(&self, unit: AegisUnitKind, name: &str, except: Option<&str>) -> Option<NearMatch<'_>> {
        let own = |document: usize| self.project.is_same_project(document, self.from);
        let names = self.index.entries.iter().filter(|(sort, _, document)| *sort == unit && own(*document));
        let names = names.map(|(_, name, _)| &**name);
        let near = suggestions::find_near_match(name, names.filter(|name| Some(*name) != except))?;
        // Do not suggest a name that is itself invalid.
        Some(NearMatch { sure: near.sure && manifest::metadata::is_name(near.name), ..near })
    }
}
