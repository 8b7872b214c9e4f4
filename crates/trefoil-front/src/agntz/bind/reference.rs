//! `ref: ID`: from an id to the agent of a manifest. Unknown ids, ids declared twice, versions, cycles.

use std::sync::Arc;

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location, suggest};

use super::{Units, index};
use crate::agntz::ids::AgentRef;
use crate::agntz::signature::{Link, Signature};
use crate::learn;
use crate::mend::{listed, rewritten};
use crate::read::Reader;

impl Units<'_> {
    /// The agent that a step calls; what is wrong with the reference is reported at it.
    pub(super) fn reference(&self, reader: &Reader<'_>, text: &Text) -> Option<(usize, Arc<Signature>)> {
        let document = self.find(reader, text)?;
        let at = reader.at(text.span);
        let from = self.current.as_ref().map_or(document, |(from, _)| *from);
        if let Some(ring) = self.rings.get(&(from, text.span)) {
            report_ring(reader, text, ring, at);
            return None;
        }
        Some((document, self.agents.get(&document)?.as_ref()?.signature.clone()))
    }

    /// The document that a reference names.
    pub(super) fn find(&self, reader: &Reader<'_>, text: &Text) -> Option<usize> {
        let at = reader.at(text.span);
        let reference = match AgentRef::parse(&text.value) {
            Ok(reference) => reference,
            Err(why) => {
                let message = format!("`{}` is not a reference to an agent: {why}", text.value);
                reader.report(Diagnostic::error("invalid-reference", at, message));
                return None;
            }
        };
        let named = reader.at(text.source(0..reference.id.len() as u32));
        let from = self.current.as_ref()?.0;
        match self.ids.find(from, reference.id).as_slice() {
            [(document, _)] => {
                learn::names_at(reader, named, index::place(self.project, *document));
                if let Some(version) = reference.version {
                    let message = format!(
                        "the version `{version}` is ignored: `{}` is the manifest in this folder",
                        reference.id
                    );
                    reader.report(Diagnostic::info("reference-version", at, message));
                }
                Some(*document)
            }
            [] => {
                learn::names_at(reader, named, None);
                self.unknown(reader, text, (from, reference.id), at);
                None
            }
            [(first, place), others @ ..] => {
                let mut d =
                    Diagnostic::error("duplicate-id", at, format!("several manifests have the id `{}`", reference.id));
                for other in std::iter::once(place).chain(others.iter().map(|(_, l)| l)) {
                    d = d.label(*other, "declared here");
                }
                reader.report(d);
                // for the checks that follow any of them will do
                learn::names_at(reader, named, index::place(self.project, *first));
                Some(*first)
            }
        }
    }

    /// The id that a reference was meant to have, so that what reads its step is no second mistake: of a path to a file the name
    /// of that file, if it is an id.
    pub(super) fn meant<'t>(&self, id: &'t str) -> &'t str {
        let Some((from, stem)) = self.current.as_ref().map(|(from, _)| *from).zip(file_stem(id)) else { return id };
        let is_id = || self.ids.find(from, id).is_empty() && self.ids.names(from).any(|name| name == stem);
        if is_id() { stem } else { id }
    }

    fn unknown(&self, reader: &Reader<'_>, text: &Text, (from, id): (usize, &str), at: Location) {
        let own = self.current.as_ref().map(|(_, id)| &**id);
        let others = || self.ids.names(from).filter(|n| Some(*n) != own);
        let d = Diagnostic::error("unknown-reference", at, format!("no manifest in this folder has the id `{id}`"));
        if let Some(stem) = file_stem(id) {
            let known = others().any(|name| name == stem);
            let instead =
                if known { format!("write `ref: {stem}`") } else { format!("available: {}", listed(others())) };
            let d = d.help(format!("`ref` is the `id` of an agent, not a path; {instead}"));
            let place = text.value.find(id).map(|found| text.source(found as u32..(found + id.len()) as u32));
            return reader.report(match place.filter(|_| known) {
                Some(place) => d.fix(format!("write `{stem}`"), reader.at(place), stem),
                None => d,
            });
        }
        reader.report(match suggest::near(id, others()) {
            Some(near) => {
                let d = d.help(format!("did you mean `{}`?", near.name));
                // a version after the id stays
                let found = text.value.find(id).map_or(0, |i| i as u32);
                let place = reader.at(text.source(found..found + id.len() as u32));
                rewritten(d, Some(place), near.name, near.sure)
            }
            None if others().next().is_none() => d.help("this folder has no other manifest"),
            None => d.help(format!("available: {}", listed(others()))),
        });
    }
}

/// A reference that closes a ring: the way around starts at what it names.
fn report_ring(reader: &Reader<'_>, text: &Text, ring: &[Link], at: Location) {
    let mut way: Vec<&str> = ring.iter().map(|l| &*l.id).collect();
    way.extend(way.first().copied());
    let message = if ring.len() <= 1 {
        format!("`{}` calls itself", text.value)
    } else {
        format!("circular references: {}", way.join(" -> "))
    };
    let mut d = Diagnostic::error("reference-cycle", at, message);
    for link in ring {
        if let Some(leaves) = link.leaves.filter(|l| *l != at) {
            d = d.label(leaves, format!("called by `{}`", link.id));
        }
    }
    reader.report(d.help("repeat steps with `until` and `maxIterations` instead"));
}

/// The name of the file, if a path to one is written instead of an id.
fn file_stem(id: &str) -> Option<&str> {
    let name = id.rsplit('/').next()?;
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name);
    (stem.len() < id.len() && !stem.is_empty()).then_some(stem)
}
