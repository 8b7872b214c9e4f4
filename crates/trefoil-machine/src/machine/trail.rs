//! The origins of values, as far as messages need them: stored next to the slots, and only if the run records
//! provenance. The machine's decisions never read them.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::key::Key;
use crate::provenance::{Origin, OriginKind, OriginPlaceholder, TextPart, covered_len};

/// The origin of a value; `None`: unknown.
pub type OriginTrail = Option<Arc<TrailNode>>;

/// The maximum number of parts of a text; the rest counts as one part.
const MOST_PARTS: usize = 4096;
/// The maximum number of placeholders recorded through which a text was passed.
const MOST_VIA: usize = 8;
/// The maximum number of members of a value.
const MOST_MEMBERS: usize = 1024;

/// The origin of a value.
#[derive(Debug)]
pub enum TrailNode {
    /// The whole value has one origin.
    Whole(Origin),
    /// An object: members with other origins, and the origin of the rest.
    Object(Vec<(Arc<str>, OriginTrail)>, OriginTrail),
    /// A list.
    List(Vec<OriginTrail>),
    /// A text in parts.
    Text(Vec<TextPart>),
}

/// A value with a single origin.
pub fn from_origin_kind(from: OriginKind) -> OriginTrail {
    from_origin(Origin::from_kind(from))
}

/// The same with further data.
pub fn from_origin(origin: Origin) -> OriginTrail {
    Some(Arc::new(TrailNode::Whole(origin)))
}

/// An object composed of these members.
pub fn object_trail(members: impl IntoIterator<Item = (Arc<str>, OriginTrail)>, rest: OriginTrail) -> OriginTrail {
    let members: Vec<_> = members.into_iter().take(MOST_MEMBERS).collect();
    if members.is_empty() && rest.is_some() { rest } else { Some(Arc::new(TrailNode::Object(members, rest))) }
}

/// The item of a fan-out: the origin of the list's item, marked as an item.
pub fn as_item(trail: OriginTrail) -> OriginTrail {
    match trail.as_deref() {
        Some(TrailNode::Whole(known)) => {
            let by = match &known.from {
                OriginKind::Step(key) => Some(key.clone()),
                OriginKind::Item(key) => key.clone(),
                _ => None,
            };
            from_origin(Origin { from: OriginKind::Item(by), ..known.clone() })
        }
        _ => trail,
    }
}

/// The origin of a member of a value.
pub fn trail_member(trail: &OriginTrail, path: &[Arc<str>]) -> OriginTrail {
    let mut at = trail.clone();
    for (depth, name) in path.iter().enumerate() {
        let node = at?;
        at = match &*node {
            TrailNode::Whole(known) => {
                let mut known = known.clone();
                known.member.extend(path.iter().skip(depth).cloned());
                return from_origin(known);
            }
            TrailNode::Object(members, rest) => match members.iter().rev().find(|(known, _)| known == name) {
                Some((_, trail)) => trail.clone(),
                None => return trail_member(rest, path.get(depth..).unwrap_or_default()),
            },
            TrailNode::List(items) => items.get(name.parse::<usize>().ok()?)?.clone(),
            TrailNode::Text(_) => return None,
        };
    }
    at
}

/// The single origin of a value that is printed as a whole.
pub fn collapse_origins(trail: &OriginTrail) -> Origin {
    let mut seen = OriginCollector::default();
    seen.take(trail, 0);
    match (seen.only, seen.mixed, seen.steps.as_slice()) {
        (Some(only), false, _) => only,
        (_, _, []) => Origin::from_kind(OriginKind::Other),
        (_, _, [one]) => Origin::from_kind(OriginKind::Step(one.clone())),
        _ => Origin::from_kind(OriginKind::Several(seen.steps)),
    }
}

#[derive(Default)]
struct OriginCollector {
    only: Option<Origin>,
    mixed: bool,
    steps: Vec<Key>,
}

impl OriginCollector {
    fn take(&mut self, trail: &OriginTrail, depth: usize) {
        let Some(node) = trail else {
            self.mixed = true;
            return;
        };
        // Values have a limited depth, and origins follow values.
        match &**node {
            _ if depth > trefoil_template::limits::VALUE_DEPTH => self.mixed = true,
            TrailNode::Whole(origin) => self.add_origin(origin),
            TrailNode::Object(members, rest) => {
                members.iter().for_each(|(_, trail)| self.take(trail, depth + 1));
                if rest.is_some() {
                    self.take(rest, depth + 1);
                }
            }
            TrailNode::List(items) => items.iter().take(MOST_MEMBERS).for_each(|trail| self.take(trail, depth + 1)),
            TrailNode::Text(parts) => parts.iter().for_each(|part| self.add_origin(&part.origin)),
        }
    }

    fn add_origin(&mut self, origin: &Origin) {
        if let OriginKind::Step(key) | OriginKind::Item(Some(key)) = &origin.from
            && !self.steps.contains(key)
            && self.steps.len() < 64
        {
            self.steps.push(key.clone());
        }
        match &self.only {
            None => self.only = Some(origin.clone()),
            Some(known) if known == origin => {}
            Some(known) if known.from == origin.from && known.place == origin.place => {
                // Different members of one source are combined to their common path.
                let shared = known.member.iter().zip(&origin.member).take_while(|(a, b)| a == b).count();
                if let Some(known) = &mut self.only {
                    known.member.truncate(shared);
                }
            }
            Some(_) => self.mixed = true,
        }
    }
}

/// A placeholder: its path and where it is.
#[derive(Debug, Clone)]
pub struct TrailPlaceholder {
    /// As written.
    pub path: Arc<str>,
    /// Its place.
    pub place: Location,
}

impl TrailPlaceholder {
    /// The origin with this placeholder added to those through which it was passed.
    fn on(&self, mut origin: Origin) -> Origin {
        if origin.place.is_none() {
            (origin.place, origin.path) = (Some(self.place), Some(self.path.clone()));
        } else {
            origin.via.insert(0, OriginPlaceholder { path: self.path.clone(), place: self.place });
            origin.via.truncate(MOST_VIA);
        }
        origin
    }

    /// The origin of a value that is passed through this placeholder.
    pub fn hand_on(&self, trail: &OriginTrail) -> OriginTrail {
        self.hand(trail, 0)
    }

    fn hand(&self, trail: &OriginTrail, depth: usize) -> OriginTrail {
        let node = trail.as_ref()?;
        if depth > trefoil_template::limits::VALUE_DEPTH {
            return None;
        }
        let inner = |trail: &OriginTrail| self.hand(trail, depth + 1);
        Some(Arc::new(match &**node {
            TrailNode::Whole(origin) => TrailNode::Whole(self.on(origin.clone())),
            TrailNode::Object(members, rest) => TrailNode::Object(
                members.iter().map(|(name, trail)| (name.clone(), inner(trail))).collect(),
                inner(rest),
            ),
            TrailNode::List(items) => TrailNode::List(items.iter().map(inner).collect()),
            TrailNode::Text(parts) => {
                TrailNode::Text(parts.iter().map(|p| TextPart { origin: self.on(p.origin.clone()), ..*p }).collect())
            }
        }))
    }
}

/// A text under construction, by parts.
#[derive(Debug, Default)]
pub struct TextPartsBuilder(pub Vec<TextPart>);

impl TextPartsBuilder {
    /// Appends text with a single origin.
    pub fn push(&mut self, len: usize, origin: Origin) {
        if len == 0 {
            return;
        }
        let origin = if self.0.len() < MOST_PARTS { origin } else { Origin::from_kind(OriginKind::Other) };
        match self.0.last_mut() {
            Some(last) if last.origin == origin => last.len += len as u32,
            _ => self.0.push(TextPart { len: len as u32, origin }),
        }
    }

    /// Appends a value printed as text of this length, with separate parts if the origin is a text that has them.
    pub fn push_value(&mut self, len: usize, trail: &OriginTrail) {
        match trail.as_deref() {
            Some(TrailNode::Text(parts)) if covered_len(parts) == len => {
                for part in parts {
                    self.push(part.len as usize, part.origin.clone());
                }
            }
            _ => self.push(len, collapse_origins(trail)),
        }
    }

    /// The origin of the text as a value.
    pub fn into_trail(self) -> OriginTrail {
        Some(Arc::new(TrailNode::Text(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(key: &str) -> OriginTrail {
        from_origin_kind(OriginKind::Step(Key(key.into())))
    }
    fn path(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|n| Arc::from(*n)).collect()
    }

    #[test]
    fn a_path_leads_to_the_writer_of_what_is_there() {
        let all = object_trail([("a".into(), step("one")), ("b".into(), step("two"))], step("rest"));
        let from = |names: &[&str]| {
            let origin = collapse_origins(&trail_member(&all, &path(names)));
            (origin.from, origin.member.join("."))
        };
        assert_eq!(from(&["a", "x", "y"]), (OriginKind::Step(Key("one".into())), "x.y".to_owned()));
        assert_eq!(from(&["b"]), (OriginKind::Step(Key("two".into())), String::new()));
        assert_eq!(from(&["c", "d"]), (OriginKind::Step(Key("rest".into())), "c.d".to_owned()));
        let keys = ["one", "two", "rest"].map(|k| Key(k.into())).to_vec();
        assert_eq!(collapse_origins(&all).from, OriginKind::Several(keys));
        assert_eq!(
            collapse_origins(&trail_member(&from_origin_kind(OriginKind::Input), &path(&["x"]))).from,
            OriginKind::Input
        );
        assert_eq!(collapse_origins(&None).from, OriginKind::Other);
    }
}
