//! Which files declare which id. Nothing is built in advance: most manifests name few others, and every manifest of a
//! folder is lowered as an entry of its own when the folder is checked.

use trefoil_syntax::yaml::Node;
use trefoil_syntax::{Location, Span};

use crate::project::Project;

/// The documents with this id that are nearest to the one that names it, in the order of the project.
pub fn find(project: &Project, from: &str, id: &str) -> Vec<(usize, Location)> {
    let found: Vec<_> = ids(project).filter(|(_, found, _)| *found == id).map(|(i, _, at)| (i, at)).collect();
    let nearest = project.nearest(from, found.iter().map(|(i, _)| *i).collect());
    found.into_iter().filter(|(i, _)| nearest.contains(i)).collect()
}

/// Every id, in the order of the project.
pub fn names(project: &Project) -> impl Iterator<Item = &str> {
    ids(project).map(|(_, id, _)| id)
}

fn ids(project: &Project) -> impl Iterator<Item = (usize, &str, Location)> {
    let documents = project.documents.iter().enumerate().filter(|(_, d)| d.front.name() == crate::agntz::NAME);
    documents.filter_map(|(i, d)| id_of(&d.root).map(|(id, span)| (i, id, Location::new(d.file, span))))
}

/// The id that a document declares.
pub fn id_of(root: &Node) -> Option<(&str, Span)> {
    let text = root.mapping()?.get("id")?.value.string()?;
    Some((&text.value, text.span))
}

/// Where a document's id stands, without quotes.
pub fn place(project: &Project, document: usize) -> Option<Location> {
    let document = project.documents.get(document)?;
    let id = document.root.mapping()?.get("id")?.value.string()?;
    Some(Location::new(document.file, id.content()))
}
