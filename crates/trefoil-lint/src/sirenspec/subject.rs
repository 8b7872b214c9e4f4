//! The data that every finder uses.

use trefoil_syntax::{FileId, Location, Span};

use trefoil_front::bound::BoundText;
use trefoil_front::sirenspec::manifest::{FactoryNode, Manifest, NodeKind};
use trefoil_front::sirenspec::names::binding::Texts;
use trefoil_front::sirenspec::names::child::Child;
use trefoil_front::sirenspec::names::known::Known;
use trefoil_front::sirenspec::names::links::Links;
use trefoil_front::sirenspec::names::stand::{Reading, Stand};

pub(crate) use crate::Found;

/// A workflow to check.
pub struct Subject<'s> {
    /// Its file.
    pub file: FileId,
    /// Its manifest.
    pub manifest: &'s Manifest<'s>,
    /// The names available in it.
    pub known: &'s Known,
    /// The links between its nodes.
    pub links: &'s Links,
    /// Its texts.
    pub texts: &'s Texts,
    /// The workflows that its nodes call, by node.
    pub children: &'s [Option<Child>],
}

impl<'s> Subject<'s> {
    /// The location of a span in its file.
    pub fn at(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }

    /// The factories, by their nodes.
    pub fn factories(&self) -> impl Iterator<Item = (usize, &'s FactoryNode<'s>)> {
        self.manifest.nodes.iter().enumerate().filter_map(|(at, node)| match &node.kind {
            NodeKind::Factory(factory) => Some((at, factory)),
            _ => None,
        })
    }

    /// A text of a node.
    pub fn text(&self, node: usize, stand: Stand, text: &trefoil_syntax::yaml::Text) -> Option<&'s BoundText> {
        Some(&self.texts.get(Reading::Node(node), stand, text)?.text)
    }
}

/// The text around placeholders.
pub fn outside(text: &str, template: &trefoil_template::Template) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for reference in template.references() {
        let (start, end) = (reference.span.start as usize, reference.span.end as usize);
        let open = text.get(..start).and_then(|t| t.rfind("{{")).unwrap_or(start);
        rest.push_str(text.get(at..open).unwrap_or_default());
        at = text.get(end..).and_then(|t| t.find("}}")).map_or(end, |close| end + close + 2);
    }
    rest.push_str(text.get(at..).unwrap_or_default());
    rest
}
