//! Which files declare which id.

use trefoil_syntax::yaml::Node;
use trefoil_syntax::{Location, Span};

use crate::project::Project;

/// The documents with this id that are nearest to the one that names it, in the order of the project.
pub fn find(project: &Project, from: &str, id: &str) -> Vec<(usize, Location)> {
    let all = ids(project).map(|(i, id, _)| (i, id));
    let found: Vec<_> = match project.index.find(project.documents.len(), id, all) {
        Some(found) => found.iter().filter_map(|i| declared(project, *i)).filter(|(_, own, _)| *own == id).collect(),
        None => ids(project).filter(|(_, found, _)| *found == id).collect(),
    };
    let nearest = project.nearest(from, found.iter().map(|(i, ..)| *i).collect());
    found.into_iter().filter(|(i, ..)| nearest.contains(i)).map(|(i, _, at)| (i, at)).collect()
}

/// Every id, in the order of the project.
pub fn names(project: &Project) -> impl Iterator<Item = &str> {
    ids(project).map(|(_, id, _)| id)
}

fn ids(project: &Project) -> impl Iterator<Item = (usize, &str, Location)> {
    (0..project.documents.len()).filter_map(|i| declared(project, i))
}

/// A document with the id that it declares, if it is one of this dialect.
fn declared(project: &Project, document: usize) -> Option<(usize, &str, Location)> {
    let found = project.documents.get(document).filter(|d| d.front.name() == crate::agntz::NAME)?;
    let (id, span) = id_of(&found.root)?;
    Some((document, id, Location::new(found.file, span)))
}

/// The id that a document declares.
pub fn id_of(root: &Node) -> Option<(&str, Span)> {
    let text = root.mapping()?.get("id")?.value.string()?;
    Some((&text.value, text.span))
}

/// Where a document's id is, without quotes.
pub fn place(project: &Project, document: usize) -> Option<Location> {
    let document = project.documents.get(document)?;
    let id = document.root.mapping()?.get("id")?.value.string()?;
    Some(Location::new(document.file, id.content()))
}
