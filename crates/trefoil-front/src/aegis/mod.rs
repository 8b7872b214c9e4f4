//! The aegis front end.

use trefoil_syntax::{Diagnostics, Location, yaml::Node};
use trefoil_template::Policy;

use crate::{Document, Evidence, FrontEnd, Lowered, Need, Project};

/// The aegis front end.
pub struct Aegis;

impl FrontEnd for Aegis {
    fn name(&self) -> &'static str {
        "aegis"
    }
    fn policy(&self) -> &'static Policy {
        &Policy::AEGIS
    }
    fn evidence(&self, _root: &Node) -> Vec<Evidence> {
        Vec::new()
    }
    fn needs(&self, _document: &Document) -> Vec<Need> {
        Vec::new()
    }
    fn ids(&self, _document: &Document) -> Vec<(String, Location)> {
        Vec::new()
    }
    fn lower(&self, _project: &Project, _document: usize, _diagnostics: &mut Diagnostics) -> Option<Lowered> {
        None
    }
}
