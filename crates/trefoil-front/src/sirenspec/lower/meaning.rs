//! What the segments of a name mean in a template or condition, and which names there are: the side of [`Scope`] that
//! editors ask. Reports nothing.

use std::sync::Arc;

use trefoil_ir::{Defined, Name, Position, Source, Visible};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Segment, Value};

use super::known::{Key, Known, KnownNode};
use super::scope::{Reading, Scope};
use super::there;
use crate::learn::{self, Meaning, Resolve, integer_type, is_closed, member_type, object_of, object_type, text_type};
use crate::lookalike::Tags;
use crate::sirenspec::manifest::Root;

/// A text of a place.
pub struct Here<'a, 's, 'm, 'd> {
    /// The place.
    pub scope: &'a Scope<'s, 'm, 'd>,
    /// What the text is for.
    pub position: Position,
    /// It is a condition.
    pub condition: bool,
}

impl Resolve for Here<'_, '_, '_, '_> {
    fn bind(&mut self, reference: &Reference, at: Location) -> (Source, u16) {
        if self.condition {
            return self.scope.condition(reference, at);
        }
        if matches!(self.position, Position::System | Position::User | Position::Person) {
            self.scope.credential(reference, at);
        }
        self.scope.template(reference, at)
    }

    fn position(&self) -> Position {
        self.position
    }

    fn visible(&self) -> Visible {
        let (known, who, condition) = (self.scope.flow.known.clone(), self.scope.who, self.condition);
        let mut local = self.scope.locals();
        if !condition {
            local.extend(self.scope.swarm());
        }
        Visible::lazily(move || known.visible(who, condition, local))
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        self.scope.meanings(reference)
    }

    fn is_there(&self, path: &str, _alone: bool) -> bool {
        there::is_there(self.scope, path)
    }

    fn whole_path(&self, path: &str) -> Option<String> {
        there::field(self.scope, path).then(|| format!("inputs.{path}"))
    }

    fn tags(&self) -> Option<&'static Tags> {
        Some(&TAGS)
    }
}

/// How tags are written.
const TAGS: Tags = Tags {
    space: " ",
    statements: "this format has no blocks; use `| default('text')` or `when` on an edge",
    comparison: None,
};

impl Scope<'_, '_, '_> {
    /// Loop variables and rendered inputs.
    fn locals(&self) -> Vec<Name> {
        let Some(body) = self.body else { return Vec::new() };
        let body = body.borrow();
        let mut names = Vec::new();
        if body.item.is_some() {
            names.push(Name::new("item", Defined::Always).note("the list element of this instance"));
        }
        let number = |name: &str, note: &str| Name::new(name, Defined::Always).schema(integer_type()).note(note);
        names.push(number("index", "the position of this instance, from 0"));
        names.push(number("total", "how many instances there are"));
        names.extend(body.inputs().iter().map(|(name, at)| {
            Name::new(format!("inputs.{name}"), Defined::Always).declared(*at).note("an input of this instance")
        }));
        names
    }

    /// The agents of the reader's own swarm, for its synthesis.
    fn swarm(&self) -> Option<Name> {
        let Reading::Node(me) = self.who else { return None };
        if self.own.is_empty() {
            return None;
        }
        let node = self.flow.known.nodes.get(me)?;
        let agent = || object_of([("output".into(), text_type())]);
        let schema = object_of(self.own.iter().map(|(id, _)| (id.clone(), agent())));
        let name = Name::new(format!("{}.agents", node.name), Defined::Always);
        Some(name.schema(schema).note("the agents of this swarm").declared(node.at))
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        let path = reference.path.as_slice();
        let Some((head, rest)) = path.split_first() else { return Vec::new() };
        let root = |schema: Value| Meaning::built_in(Defined::Always, schema);
        let mut all = Vec::with_capacity(path.len());
        match &*head.name {
            "inputs" => {
                all.push(root(object_type()));
                if let Some((field, rest)) = rest.split_first() {
                    all.push(self.field(&field.name));
                    walk(&mut all, rest);
                }
            }
            "env" => {
                all.push(root(object_type()));
                all.extend(rest.first().map(|_| Meaning::built_in(Defined::Sometimes, text_type())));
            }
            "item" | "index" | "total" => {
                all.push(match self.body.and_then(|b| b.borrow().variable(&head.name)) {
                    Some(_) if &*head.name == "item" => root(Value::Bool(true)),
                    Some(_) => root(integer_type()),
                    None => self.unknown(),
                });
                walk(&mut all, rest);
            }
            "_budget" => {
                all.push(root(budget_type()));
                walk(&mut all, rest);
            }
            "working" => {
                all.push(root(object_type()));
                self.tree(Root::Working, rest, &mut all);
            }
            "output" => {
                all.push(root(object_type()));
                self.tree(Root::Output, rest, &mut all);
            }
            _ => self.tree(Root::Working, path, &mut all),
        }
        all
    }

    fn field(&self, name: &str) -> Meaning {
        if let Some(body) = self.body
            && let Some((_, at)) = body.borrow().inputs().iter().find(|(n, _)| &**n == name)
        {
            return Meaning { to: Some(*at), defined: Defined::Always, schema: Value::Bool(true) };
        }
        let known = self.flow.known.inputs.iter().find(|n| n.name.strip_prefix("inputs.") == Some(name));
        match known {
            Some(n) => Meaning { to: n.declared, defined: n.defined, schema: n.schema.clone() },
            None => self.unknown(),
        }
    }

    /// What is not there. In an agent that nobody uses it may yet be, where somebody does.
    fn unknown(&self) -> Meaning {
        match self.who {
            Reading::Nobody => Meaning::built_in(Defined::Sometimes, Value::Bool(true)),
            _ => Meaning::nothing(),
        }
    }

    /// A path under `working` or `output`: written and seeded keys first, then nodes (decision S4).
    fn tree(&self, root: Root, path: &[Segment], all: &mut Vec<Meaning>) {
        if path.is_empty() {
            return;
        }
        let (names, known) = (self.flow.names, self.flow.known);
        let look = names.look(root, path);
        if let Some((node, taken)) = look.named
            && self.who == Reading::Node(node)
            && path.get(taken).is_some_and(|s| &*s.name == "agents")
            && let Some(swarm) = self.swarm()
            && let Some(node) = known.nodes.get(node)
        {
            let of_agents = object_of([("agents".into(), swarm.schema)]);
            return in_node(node, of_agents, taken, Defined::Always, path, all);
        }
        let provided = look.seeded || look.writes.iter().any(|w| names.provides(*w, path));
        let node = look.named.filter(|_| look.in_node || !provided);
        let written = look.writes.iter().filter(|w| names.provides(**w, path)).filter_map(|w| names.writes.get(*w));
        let mut producers: Vec<usize> = written.map(|w| w.node).chain(node.map(|(n, _)| n)).collect();
        producers.sort_unstable();
        producers.dedup();
        let ended: Vec<usize> = producers.iter().copied().filter(|p| self.ended(*p)).collect();
        let defined = match ended.as_slice() {
            _ if look.seeded => Defined::Always,
            [] => Defined::Never,
            some if self.surely(some) => Defined::Always,
            _ => Defined::Sometimes,
        };
        if let (Some((node, taken)), false) = (node, provided) {
            let Some(node) = known.nodes.get(node) else { return };
            in_node(node, node.schema.clone(), taken, defined, path, all);
            return;
        }
        let mut prefix: Vec<Arc<str>> = Vec::with_capacity(path.len());
        let mut last: Option<&Key> = None;
        for (i, segment) in path.iter().enumerate() {
            prefix.push(segment.name.clone());
            match known.keys.get(&(root, prefix.clone())) {
                Some(key) => {
                    let defined = if key.seeded { Defined::Always } else { defined };
                    all.push(Meaning { to: Some(key.at), defined, schema: key.schema.clone() });
                    last = Some(key);
                }
                None if last.is_some() => return walk(all, path.get(i..).unwrap_or_default()),
                None => {
                    all.push(Meaning::nothing());
                    return walk(all, path.get(i + 1..).unwrap_or_default());
                }
            }
        }
    }
}

/// A path that begins with a node's id.
fn in_node(node: &KnownNode, schema: Value, taken: usize, defined: Defined, path: &[Segment], all: &mut Vec<Meaning>) {
    // An id with dots is no single segment: no part of it is the name.
    for _ in 1..taken {
        all.push(Meaning::built_in(defined, object_type()));
    }
    let to = (taken == 1).then_some(node.at);
    all.push(Meaning { to, defined, schema });
    let mut members = Some(node.members.clone());
    for segment in path.get(taken..).unwrap_or_default() {
        let Some(Meaning { schema, .. }) = all.last() else { return };
        let found = members.as_ref().and_then(|m| m.get(&segment.name));
        let schema = member_type(schema, &segment.name);
        let missing = found.is_none() && all.last().is_some_and(|m| is_closed(&m.schema, &segment.name));
        let to = found.as_ref().and_then(|(at, _)| *at);
        all.push(Meaning { to, defined: if missing { Defined::Never } else { defined }, schema });
        members = found.map(|(_, inner)| inner);
    }
}

/// The rest of a path inside of a value whose type is known.
fn walk(all: &mut Vec<Meaning>, rest: &[Segment]) {
    learn::walk(all, rest.iter().map(|s| &*s.name));
}

fn budget_type() -> Value {
    object_of([("total_tokens".into(), integer_type()), ("estimated_usd".into(), Value::Bool(true))])
}

impl Known {
    /// What may be named in a place. Whether a node has run on the way there is told from the node alone here: one that a
    /// condition may leave out is there `sometimes`, even where every way to the place leads through it.
    fn visible(&self, who: Reading, condition: bool, local: Vec<Name>) -> Vec<Name> {
        let ended = |node: usize| -> Option<Defined> {
            let (before, sure) = match (&self.order, who) {
                (None, _) | (_, Reading::Nobody) => (true, false),
                (Some(order), Reading::Node(me)) => (order.precedes(node, me), false),
                (Some(order), Reading::EdgeFrom(from)) => (node == from || order.precedes(node, from), node == from),
            };
            let always = sure || self.nodes.get(node).is_some_and(|n| n.always);
            before.then_some(if always { Defined::Always } else { Defined::Sometimes })
        };
        let mut names = Vec::new();
        let nodes = self.nodes.iter().enumerate().filter_map(|(at, node)| {
            let name = if condition { format!("working.{}", node.name).into() } else { node.name.clone() };
            let name = Name::new(name, ended(at)?).declared(node.at).schema(node.schema.clone());
            Some(name.note(node.note.clone()))
        });
        names.extend(nodes);
        if condition {
            names.extend(self.key_names(Root::Working, "working.", &ended));
            names.extend(self.key_names(Root::Output, "output.", &ended));
            names
                .push(Name::new("_budget", Defined::Always).schema(budget_type()).note("what the run has used so far"));
            return names;
        }
        // Within an instance its own inputs hide the workflow's.
        let hidden = |name: &Name| local.iter().any(|l| l.name == name.name);
        names.extend(self.inputs.iter().filter(|n| !hidden(n)).cloned());
        names.extend(self.key_names(Root::Working, "", &ended));
        names.extend(self.key_names(Root::Working, "working.", &ended));
        names.extend(self.key_names(Root::Output, "output.", &ended));
        names.splice(0..0, local);
        names.push(Name::new("env", Defined::Always).schema(object_type()).note("environment variables: `env.NAME`"));
        names.push(Name::new("_budget", Defined::Always).schema(budget_type()).note("what the run has used so far"));
        names
    }
}
