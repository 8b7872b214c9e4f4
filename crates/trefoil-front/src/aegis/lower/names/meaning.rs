//! What the segments of a name mean in a workflow's template or expression. Reports nothing.

use trefoil_ir::{Defined, Position, Source, Visible};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Value};

use super::check::{ALWAYS, OF_RESULTS};
use super::{Place, Scene, Shape, is_special};
use crate::learn::{Meaning, Resolve, integer_type, member_type, object_type, text_type, walk, walk_in};
use crate::lookalike::{Tags, is_path};

/// A text of a place.
pub(in crate::aegis::lower) struct Here<'s, 'a, 'd> {
    scene: &'s Scene<'a, 'd>,
    place: Place,
    position: Position,
}

impl<'a, 'd> Scene<'a, 'd> {
    /// The names of a place, for a text that is for this.
    pub fn here(&self, place: Place, position: Position) -> Here<'_, 'a, 'd> {
        Here { scene: self, place, position }
    }
}

impl Resolve for Here<'_, '_, '_> {
    fn bind(&mut self, reference: &Reference, at: Location) -> (Source, u16) {
        self.scene.resolve(self.place, reference, at)
    }

    fn position(&self) -> Position {
        self.position
    }

    fn visible(&self) -> Visible {
        let (known, place) = (self.scene.known.clone(), self.place);
        Visible::lazily(move || known.visible(place))
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        let segments: Vec<&str> = reference.path.iter().map(|s| &*s.name).collect();
        let mut all = Vec::with_capacity(segments.len());
        self.up(&segments, &mut all);
        all
    }

    fn is_there(&self, path: &str, _alone: bool) -> bool {
        let names = self.scene.names;
        let declared = |key: &str| {
            names.keys.contains(key) || names.schema.as_ref().is_some_and(|s| s.properties().any(|(p, _)| &**p == key))
        };
        match plain_path(path).as_deref() {
            Some(["workflow", "context", key, ..] | ["blackboard", key, ..]) => {
                declared(key) || names.index(key).is_some()
            }
            Some(["workflow", "name" | "task" | "version"] | ["state" | "human", "feedback"] | ["execution", "id"]) => {
                true
            }
            Some(["input", field]) => names.schema.is_none() || declared(field) || ALWAYS.contains(field),
            // What another workflow leaves has names of its own.
            Some([name, of, ..]) => names.index(name).is_some_and(|state| {
                OF_RESULTS.contains(of) || *of == "feedback" || *names.shape(state) == Shape::Open
            }),
            _ => false,
        }
    }

    fn tags(&self) -> Option<&'static Tags> {
        Some(&TAGS)
    }
}

/// A path of names and nothing else.
pub(in crate::aegis::lower) fn plain_path(path: &str) -> Option<Vec<&str>> {
    is_path(path).then(|| path.split('.').collect())
}

/// How tags are written.
pub(in crate::aegis::lower) const TAGS: Tags = Tags {
    space: "",
    statements: "blocks are written `{{#if path}}...{{else}}...{{/if}}` and `{{#each list}}...{{/each}}`",
    comparison: Some("put the comparison into the tag: `{{#if (eq a b)}}`"),
};

impl Here<'_, '_, '_> {
    fn up(&self, segments: &[&str], all: &mut Vec<Meaning>) {
        let names = self.scene.names;
        let known = &self.scene.known;
        let built_in = |schema: Value| Meaning::built_in(Defined::Always, schema);
        let perhaps = || Meaning::built_in(Defined::Sometimes, Value::Bool(true));
        match segments {
            [] => {}
            ["blackboard", rest @ ..] => {
                all.push(built_in(object_type()));
                match rest {
                    [key, ..] if is_special(key) || names.index(key).is_some() => self.up(rest, all),
                    _ => self.key(rest, all),
                }
            }
            ["workflow", rest @ ..] => {
                all.push(built_in(object_type()));
                match rest {
                    [] => {}
                    ["context", inner @ ..] => {
                        all.push(built_in(object_type()));
                        self.key(inner, all);
                    }
                    ["name" | "version", ..] => all.push(built_in(text_type())),
                    ["task", inner @ ..] => {
                        all.push(perhaps());
                        walk(all, inner);
                    }
                    _ => all.push(Meaning::nothing()),
                }
            }
            ["input", rest @ ..] => {
                all.push(built_in(known.input.clone()));
                if let [field, inner @ ..] = rest {
                    self.field(field, inner, all);
                }
            }
            ["state", "feedback", inner @ ..] => {
                all.push(built_in(object_type()));
                all.push(Meaning::built_in(self.feedback(), Value::Bool(true)));
                walk(all, inner);
            }
            ["state", rest @ ..] | ["human", rest @ ..] => {
                all.push(built_in(object_type()));
                match rest {
                    ["feedback", inner @ ..] => {
                        all.push(perhaps());
                        walk(all, inner);
                    }
                    [] => {}
                    _ => all.push(Meaning::nothing()),
                }
            }
            ["execution", rest @ ..] => {
                all.push(built_in(object_type()));
                all.extend(rest.first().map(|f| match *f {
                    "id" => built_in(text_type()),
                    _ => Meaning::nothing(),
                }));
            }
            ["iteration_number", rest @ ..] => {
                all.push(built_in(integer_type()));
                walk(all, rest);
            }
            ["previous_error", rest @ ..] => {
                all.push(Meaning::built_in(Defined::Sometimes, text_type()));
                walk(all, rest);
            }
            ["state_output", rest @ ..] if matches!(self.place, Place::Deciding(_) | Place::Leaving(_)) => {
                if let Place::Deciding(state) | Place::Leaving(state) = self.place {
                    let of = known.states.get(state);
                    all.push(built_in(of.map_or(Value::Bool(true), |s| s.schema.clone())));
                    walk_in(all, rest, &of.map(|s| s.members.clone()).unwrap_or_default());
                }
            }
            [name, rest @ ..] => match names.index(name).and_then(|at| Some((at, known.states.get(at)?))) {
                Some((at, state)) => {
                    let defined = known.defined(at, self.place);
                    all.push(Meaning { to: Some(state.at), defined, schema: state.schema.clone() });
                    walk_in(all, rest, &state.members);
                }
                None => self.key(segments, all),
            },
        }
    }

    /// Whether any transition into this state says something.
    fn feedback(&self) -> Defined {
        let (Place::Entering(state) | Place::Leaving(state) | Place::Deciding(state)) = self.place else {
            return Defined::Sometimes;
        };
        let given = self.scene.names.states.get(state).is_none_or(|s| !s.given_feedback.is_empty());
        let told = !given && self.scene.paths.reachable(state);
        if told { Defined::Never } else { Defined::Sometimes }
    }

    /// A field of the start input.
    fn field(&self, field: &str, inner: &[&str], all: &mut Vec<Meaning>) {
        let known = &self.scene.known;
        let declared = known.inputs.iter().find(|n| n.name.strip_prefix("input.") == Some(field));
        let closed = self.scene.names.schema.as_ref().is_some_and(|s| s.of_objects() && s.closed());
        let mut members = known.members.get(field).map(|(_, inner)| inner);
        all.push(match declared {
            Some(name) => Meaning { to: name.declared, defined: name.defined, schema: name.schema.clone() },
            None if closed && !ALWAYS.contains(&field) => Meaning::nothing(),
            None => Meaning::built_in(Defined::Sometimes, Value::Bool(true)),
        });
        for segment in inner {
            let Some(Meaning { schema, defined, .. }) = all.last() else { return };
            let found = members.as_ref().and_then(|m| m.get(segment));
            let (schema, defined) = (member_type(schema, segment), *defined);
            let to = found.as_ref().and_then(|(at, _)| *at);
            all.push(Meaning { to, defined, schema });
            members = found.map(|(_, inner)| inner);
        }
    }

    /// A key of the Blackboard: of the context, of an update, of the start input.
    fn key(&self, segments: &[&str], all: &mut Vec<Meaning>) {
        let [name, rest @ ..] = segments else { return };
        let known = &self.scene.known;
        if let Some(key) = known.keys.get(*name) {
            let defined = known.key_defined(key, self.place);
            all.push(Meaning { to: Some(key.at), defined, schema: key.schema.clone() });
            // A start input may have it with other members.
            let (mut members, mut schema) = (Some(key.members.clone()), key.schema.clone());
            for segment in rest {
                let found = members.and_then(|m| m.get(segment));
                schema = if found.is_some() { member_type(&schema, segment) } else { Value::Bool(true) };
                let to = found.as_ref().and_then(|(at, _)| *at);
                all.push(Meaning { to, defined, schema: schema.clone() });
                members = found.map(|(_, inner)| inner);
            }
            return;
        }
        let like_a_result = rest.first().is_some_and(|field| OF_RESULTS.contains(field));
        let declared = known.inputs.iter().any(|n| n.name.strip_prefix("input.") == Some(name));
        if like_a_result && !declared && !ALWAYS.contains(name) && *name != "consensus" {
            return all.push(Meaning::nothing());
        }
        self.field(name, rest, all);
    }
}
