//! The data that the rules about names use.

use trefoil_syntax::Location;
use trefoil_template::Reference;

use crate::sirenspec::subject::Subject;
use trefoil_front::names::Use;
use trefoil_front::sirenspec::manifest::NodeKind;
use trefoil_front::sirenspec::names::binding::Bound;
use trefoil_front::sirenspec::names::known::Known;
use trefoil_front::sirenspec::names::place::Here;
use trefoil_front::sirenspec::names::stand::Reading;

/// A reference with its context.
#[derive(Clone, Copy)]
pub struct Name<'a, 's> {
    /// The workflow.
    pub subject: &'a Subject<'s>,
    /// The text that contains it.
    pub text: &'a Bound,
    /// The bound reference.
    pub used: &'a Use,
}

impl<'a, 's> Name<'a, 's> {
    /// The place of its text.
    pub fn here(&self) -> &'a Here {
        &self.text.here
    }
    /// The names of the workflow.
    pub fn known(&self) -> &'a Known {
        self.subject.known
    }
    /// The reference.
    pub fn reference(&self) -> &'a Reference {
        &self.used.reference
    }
    /// Its place in the file.
    pub fn at(&self) -> Location {
        self.used.at
    }
    /// As written.
    pub fn dotted(&self) -> String {
        self.used.reference.dotted()
    }
    /// The node that contains the text.
    pub fn reader(&self) -> Option<&'s trefoil_front::sirenspec::manifest::Node<'s>> {
        match self.here().who {
            Reading::Node(me) => self.subject.manifest.nodes.get(me),
            _ => None,
        }
    }
    /// The type of a node.
    pub fn kind(&self, node: usize) -> Option<&'s NodeKind<'s>> {
        self.subject.manifest.nodes.get(node).map(|node| &node.kind)
    }
}
