//! The origins of values, as far as messages need them: stored next to the slots, and only if the run records
//! provenance. The machine's decisions never read them.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::key::Key;
use crate::provenance::{From, Origin, TextPart, Via, covered};

/// The origin of a value; `None`: unknown.
pub type Trail = Option<Arc<TrailNode>>;

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
    Object(Vec<(Arc<str>, Trail)>, Trail),
    /// A list.
    List(Vec<Trail>),
    /// A text in parts.
    Text(Vec<TextPart>),
}

/// A value with a single origin.
pub fn whole(from: From) -> Trail {
    origin(Origin::of(from))
}

/// The same with further data.
pub fn origin(origin: Origin) -> Trail {
    Some(Arc::new(TrailNode::Whole(origin)))
}

/// An object composed of these members.
pub fn object(members: impl IntoIterator<Item = (Arc<str>, Trail)>, rest: Trail) -> Trail {
    let members: Vec<_> = members.into_iter().take(MOST_MEMBERS).collect();
    if members.is_empty() && rest.is_some() { rest } else { Some(Arc::new(TrailNode::Object(members, rest))) }
}

/// The item of a fan-out: the origin of the list's item, marked as an item.
pub fn as_item(trail: Trail) -> Trail {
    match trail.as_deref() {
        Some(TrailNode::Whole(known)) => {
            let by = match &known.from {
                From::Step(key) => Some(key.clone()),
                From::Item(key) => key.clone(),
                _ => None,
            };
            origin(Origin { from: From::Item(by), ..known.clone() })
        }
        _ => trail,
    }
}

/// The origin of a member of a value.
pub fn member(trail: &Trail, path: &[Arc<str>]) -> Trail {
    let mut at = trail.clone();
    for (depth, name) in path.iter().enumerate() {
        let node = at?;
        at = match &*node {
            TrailNode::Whole(known) => {
                let mut known = known.clone();
                known.member.extend(path.iter().skip(depth).cloned());
                return origin(known);
            }
            TrailNode::Object(members, rest) => match members.iter().rev().find(|(known, _)| known == name) {
                Some((_, trail)) => trail.clone(),
                None => return member(rest, path.get(depth..).unwrap_or_default()),
            },
            TrailNode::List(items) => items.get(name.parse::<usize>().ok()?)?.clone(),
            TrailNode::Text(_) => return None,
        };
    }
    at
}

/// The single origin of a value that is printed as a whole.
pub fn collapse(trail: &Trail) -> Origin {
    let mut seen = SeenNodes::default();
    seen.take(trail, 0);
    match (seen.only, seen.mixed, seen.steps.as_slice()) {
        (Some(only), false, _) => only,
        (_, _, []) => Origin::of(From::Other),
        (_, _, [one]) => Origin::of(From::Step(one.clone())),
        _ => Origin::of(From::Several(seen.steps)),
    }
}

#[derive(Default)]
struct SeenNodes {
    only: Option<Origin>,
    mixed: bool,
    steps: Vec<Key>,
}

impl SeenNodes {
    fn take(&mut self, trail: &Trail, depth: usize) {
        let Some(node) = trail else {
            self.mixed = true;
            return;
        };
        // Values have a limited depth, and origins follow values.
        match &**node {
            _ if depth > trefoil_template::limits::VALUE_DEPTH => self.mixed = true,
            TrailNode::Whole(origin) => self.one(origin),
            TrailNode::Object(members, rest) => {
                members.iter().for_each(|(_, trail)| self.take(trail, depth + 1));
                if rest.is_some() {
                    self.take(rest, depth + 1);
                }
            }
            TrailNode::List(items) => items.iter().take(MOST_MEMBERS).for_each(|trail| self.take(trail, depth + 1)),
            TrailNode::Text(parts) => parts.iter().for_each(|part| self.one(&part.origin)),
        }
    }

    fn one(&mut self, origin: &Origin) {
        if let From::Step(key) | From::Item(Some(key)) = &origin.from
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
pub struct Placeholder {
    /// As written.
    pub path: Arc<str>,
    /// Its place.
    pub place: Location,
}

impl Placeholder {
    /// The origin with this placeholder added to those through which it was passed.
    fn on(&self, mut origin: Origin) -> Origin {
        if origin.place.is_none() {
            (origin.place, origin.path) = (Some(self.place), Some(self.path.clone()));
        } else {
            origin.via.insert(0, Via { path: self.path.clone(), place: self.place });
            origin.via.truncate(MOST_VIA);
        }
        origin
    }

    /// The origin of a value that is passed through this placeholder.
    pub fn hand_on(&self, trail: &Trail) -> Trail {
        self.hand(trail, 0)
    }

    fn hand(&self, trail: &Trail, depth: usize) -> Trail {
        let node = trail.as_ref()?;
        if depth > trefoil_template::limits::VALUE_DEPTH {
            return None;
        }
        let inner = |trail: &Trail| self.hand(trail, depth + 1);
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
pub struct Parts(pub Vec<TextPart>);

impl Parts {
    /// Appends text with a single origin.
    pub fn push(&mut self, len: usize, origin: Origin) {
        if len == 0 {
            return;
        }
        let origin = if self.0.len() < MOST_PARTS { origin } else { Origin::of(From::Other) };
        match self.0.last_mut() {
            Some(last) if last.origin == origin => last.len += len as u32,
            _ => self.0.push(TextPart { len: len as u32, origin }),
        }
    }

    /// Appends a value printed as text of this length, with separate parts if the origin is a text that has them.
    pub fn push_value(&mut self, len: usize, trail: &Trail) {
        match trail.as_deref() {
            Some(TrailNode::Text(parts)) if covered(parts) == len => {
                for part in parts {
                    self.push(part.len as usize, part.origin.clone());
                }
            }
            _ => self.push(len, collapse(trail)),
        }
    }

    /// The origin of the text as a value.
    pub fn into_trail(self) -> Trail {
        Some(Arc::new(TrailNode::Text(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(key: &str) -> Trail {
        whole(From::Step(Key(key.into())))
    }
    fn path(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|n| Arc::from(*n)).collect()
    }

    #[test]
    fn a_path_leads_to_the_writer_of_what_is_there() {
        let all = object([("a".into(), step("one")), ("b".into(), step("two"))], step("rest"));
        let from = |names: &[&str]| {
            let origin = collapse(&member(&all, &path(names)));
            (origin.from, origin.member.join("."))
        };
        assert_eq!(from(&["a", "x", "y"]), (From::Step(Key("one".into())), "x.y".to_owned()));
        assert_eq!(from(&["b"]), (From::Step(Key("two".into())), String::new()));
        assert_eq!(from(&["c", "d"]), (From::Step(Key("rest".into())), "c.d".to_owned()));
        let keys = ["one", "two", "rest"].map(|k| Key(k.into())).to_vec();
        assert_eq!(collapse(&all).from, From::Several(keys));
        assert_eq!(collapse(&member(&whole(From::Input), &path(&["x"]))).from, From::Input);
        assert_eq!(collapse(&None).from, From::Other);
    }
}
