//! The data that the rules about names use.

use trefoil_syntax::Location;
use trefoil_template::Reference;

use crate::sirenspec::subject::CheckedWorkflow;
use trefoil_front::names::BoundReference;
use trefoil_front::sirenspec::manifest::NodeKind;
use trefoil_front::sirenspec::names::binding::SirenText;
use trefoil_front::sirenspec::names::name_scope::SirenScope;
use trefoil_front::sirenspec::names::node_part::ReadingPoint;
use trefoil_front::sirenspec::names::workflow_names::SirenNames;

/// A reference with its context.
#[derive(Clone, Copy)]
pub struct NameReference<'a, 's> {
    /// The workflow.
    pub subject: &'a CheckedWorkflow<'s>,
    /// The text that contains it.
    pub text: &'a SirenText,
    /// The bound reference.
    pub used: &'a BoundReference,
}

impl<'a, 's> NameReference<'a, 's> {
    /// The place of its text.
    pub fn text_position(&self) -> &'a SirenScope {
        &self.text.here
    }
    /// The names of the workflow.
    pub fn workflow_names(&self) -> &'a SirenNames {
        self.subject.known
    }
    /// The reference.
    pub fn reference(&self) -> &'a Reference {
        &self.used.reference
    }
    /// The first word of its path.
    pub fn first_word(&self) -> &'a str {
        match self.used.reference.path.first() {
            Some(segment) => &segment.name,
            None => "",
        }
    }
    /// Its place in the file.
    pub fn source_location(&self) -> Location {
        self.used.at
    }
    /// As written.
    pub fn dotted_path(&self) -> String {
        self.used.reference.dotted_path()
    }
    /// The node that contains the text.
    pub fn reader_node(&self) -> Option<&'s trefoil_front::sirenspec::manifest::SirenNode<'s>> {
        match self.text_position().who {
            ReadingPoint::Node(me) => self.subject.manifest.nodes.get(me),
            _ => None,
        }
    }
    /// The type of a node.
    pub fn node_kind(&self, node: usize) -> Option<&'s NodeKind<'s>> {
        self.subject.manifest.nodes.get(node).map(|node| &node.kind)
    }
}
