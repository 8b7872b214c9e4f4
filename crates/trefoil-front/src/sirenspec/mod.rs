//! The sirenspec front end.

use trefoil_syntax::{Diagnostics, Location, yaml::Node};
use trefoil_template::Policy;

use crate::{Document, Evidence, FrontEnd, Lowered, Need, Project};

/// The sirenspec front end.
pub struct SirenSpec;

impl FrontEnd for SirenSpec {
    fn name(&self) -> &'static str {
        "sirenspec"
    }
    fn policy(&self) -> &'static Policy {
        &Policy::SIRENSPEC
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
