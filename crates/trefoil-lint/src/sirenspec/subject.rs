//! The data that every finder uses.

use trefoil_syntax::{FileId, Location, Span};

use trefoil_front::bound_text::BoundText;
use trefoil_front::sirenspec::manifest::{FactoryNode, NodeKind, SirenManifest};
use trefoil_front::sirenspec::names::binding::SirenTexts;
use trefoil_front::sirenspec::names::callee::SirenCallee;
use trefoil_front::sirenspec::names::links::NodeLinks;
use trefoil_front::sirenspec::names::node_part::{NodePart, ReadingPoint};
use trefoil_front::sirenspec::names::workflow_names::SirenNames;

pub(crate) use crate::FindingList;

/// A workflow to check.
pub struct CheckedWorkflow<'s> {
    /// Its file.
    pub file: FileId,
    /// Its manifest.
    pub manifest: &'s SirenManifest<'s>,
    /// The names available in it.
    pub known: &'s SirenNames,
    /// The links between its nodes.
    pub links: &'s NodeLinks,
    /// Its texts.
    pub texts: &'s SirenTexts,
    /// The workflows that its nodes call, by node.
    pub children: &'s [Option<SirenCallee>],
}

impl<'s> CheckedWorkflow<'s> {
    /// The location of a span in its file.
    pub fn location_of(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }

    /// The factories, by their nodes.
    pub fn factory_nodes(&self) -> Vec<(usize, &'s FactoryNode<'s>)> {
        let mut factories = Vec::new();
        for (at, node) in self.manifest.nodes.iter().enumerate() {
            if let NodeKind::Factory(factory) = &node.kind {
                factories.push((at, factory));
            }
        }
        factories
    }

    /// A text of a node.
    pub fn node_text(
        &self,
        node: usize,
        stand: NodePart,
        text: &trefoil_syntax::yaml::YamlText,
    ) -> Option<&'s BoundText> {
        Some(&self.texts.get(ReadingPoint::Node(node), stand, text)?.text)
    }
}

/// The text around placeholders.
pub fn text_outside_placeholders(text: &str, template: &trefoil_template::Template) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for reference in template.references() {
        let (start, end) = (reference.span.start as usize, reference.span.end as usize);
        let open = text.get(..start).unwrap_or_default().rfind("{{").unwrap_or(start);
        rest.push_str(text.get(at..open).unwrap_or_default());
        at = match text.get(end..).unwrap_or_default().find("}}") {
            Some(close) => end + close + 2,
            None => end,
        };
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    rest
}
