//! `ref: ID`: finds the agent with an id. If there is no single one, this is recorded for `lint` to report.

use std::sync::Arc;

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, Location};

use super::{AgntzUnits, id_index};
use crate::agntz::ids::AgentRef;
use crate::agntz::signature::{AgentSignature, CycleLink};
use crate::name_facts;
use crate::yaml_reader::ManifestReader;

/// A reference that does not resolve to a single agent.
pub struct LostReference<'p> {
    /// The document that contains it.
    pub from: usize,
    /// The reference as written.
    pub text: &'p YamlText,
    /// The id in it.
    pub id: &'p str,
    /// The reason.
    pub why: NoAgent,
}

/// Why a reference does not resolve to a single agent.
pub enum NoAgent {
    /// No manifest has the id.
    Unknown,
    /// Several manifests have it.
    Several(Vec<Location>),
    /// It closes this cycle of calls, which starts at the referenced agent.
    Ring(Vec<CycleLink>),
}

impl<'p> AgntzUnits<'p> {
    /// The agent that a step calls. A malformed reference is reported; one that does not resolve to a single agent is
    /// recorded.
    pub(super) fn resolve_reference(
        &mut self,
        reader: &ManifestReader<'_>,
        text: &'p YamlText,
    ) -> Option<(usize, Arc<AgentSignature>)> {
        let document = self.find(reader, text)?;
        let from = match &self.current {
            Some((from, _)) => *from,
            None => document,
        };
        if let Some(ring) = self.rings.get(&(from, text.span)) {
            let why = NoAgent::Ring(ring.clone());
            self.lost.push(LostReference { from, text, id: &text.value, why });
            return None;
        }
        Some((document, self.agents.get(&document)?.as_ref()?.signature.clone()))
    }

    /// The document that a reference names.
    fn find(&mut self, reader: &ManifestReader<'_>, text: &'p YamlText) -> Option<usize> {
        let at = reader.location_of(text.span);
        let reference = match AgentRef::parse(&text.value) {
            Ok(reference) => reference,
            Err(why) => {
                let message = format!("`{}` is not a reference to an agent: {why}", text.value);
                reader.report_finding(Diagnostic::new_error("invalid-reference", at, message));
                return None;
            }
        };
        let named = reader.location_of(text.source_span(0..reference.id.len() as u32));
        let from = self.current.as_ref()?.0;
        let documents = self.ids.find_documents(from, reference.id);
        match documents.as_slice() {
            [(document, _)] => {
                name_facts::names_at(reader, named, id_index::id_location(self.project, *document));
                if let Some(version) = reference.version {
                    let message = format!(
                        "the version `{version}` is ignored: `{}` is the manifest in this folder",
                        reference.id
                    );
                    reader.report_finding(Diagnostic::new_info("reference-version", at, message));
                }
                Some(*document)
            }
            [] => {
                name_facts::names_at(reader, named, None);
                self.lost.push(LostReference { from, text, id: reference.id, why: NoAgent::Unknown });
                None
            }
            [(first, _), ..] => {
                let places = documents.iter().map(|(_, place)| *place).collect();
                self.lost.push(LostReference { from, text, id: reference.id, why: NoAgent::Several(places) });
                name_facts::names_at(reader, named, id_index::id_location(self.project, *first));
                // What follows from one of them is not reported.
                None
            }
        }
    }

    /// The id that was probably meant, so that references to its step are not reported as well: for a path to a file,
    /// the file's name, if that is an id.
    pub(super) fn intended_id<'t>(&self, id: &'t str) -> &'t str {
        let (Some((from, _)), Some(stem)) = (&self.current, file_stem(id)) else { return id };
        let is_unknown = self.ids.find_documents(*from, id).is_empty();
        if is_unknown && self.ids.visible_ids(*from).any(|name| name == stem) { stem } else { id }
    }
}

/// The file name without extension, if the reference is a path instead of an id.
pub fn file_stem(id: &str) -> Option<&str> {
    let name = id.rsplit('/').next()?;
    let stem = match name.strip_suffix(".yaml") {
        Some(stem) => stem,
        None => name.strip_suffix(".yml").unwrap_or(name),
    };
    if stem.len() < id.len() && !stem.is_empty() { Some(stem) } else { None }
}
