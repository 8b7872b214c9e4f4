//! From a name in a template or condition to where its value is (decision S4), and what is wrong with names that have
//! none, or have it too late.

use std::cell::RefCell;
use std::sync::Arc;

use trefoil_ir::{Part, SlotId, Source};
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Missing, Object, Reference, Segment, Value};

use super::body::Body;
use super::flow::Workflow;
use super::names::{Look, NodeName};
use crate::sirenspec::manifest::Root;

/// Where a template stands: what it can see from there.
pub struct Scope<'s, 'm, 'd> {
    /// The workflow.
    pub flow: &'s Workflow<'m, 'd>,
    /// Who reads.
    pub who: Reading,
    /// The agents of the reader's own swarm: slots of the workflow, or of the body where there is one.
    pub own: &'s [(Arc<str>, SlotId)],
    /// One failing agent leaves the others to go on.
    pub partial: bool,
    /// Inside a factory instance.
    pub body: Option<&'s RefCell<Body>>,
    /// A key whose value decides what is done (`for_each`, `swarm_size`): the environment is out of reach.
    pub decides: Option<&'static str>,
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A node, when it starts.
    Node(usize),
    /// An edge, when the node it leaves has ended.
    EdgeFrom(usize),
    /// An agent that no node uses.
    Nobody,
}

/// A source and how many segments it stands for.
pub type Bound = (Source, u16);

impl<'s, 'm, 'd> Scope<'s, 'm, 'd> {
    /// What a plain template of a node sees.
    pub fn new(flow: &'s Workflow<'m, 'd>, who: Reading) -> Self {
        Self { flow, who, own: &[], partial: false, body: None, decides: None }
    }

    /// Binds a template's reference.
    pub fn template(&self, reference: &Reference, at: Location) -> Bound {
        let Some((head, rest)) = reference.path.split_first() else {
            return (Source::Missing(Missing::Key(0)), 0);
        };
        if let Some(default) = reference.default.as_deref().filter(|text| text.contains("{{")) {
            let message = format!("the default is literal text; `{default}` in it is not read");
            let d = Diagnostic::warning("not-a-placeholder", at, message);
            self.flow.reader.report(d.help("a default cannot be another value: put both placeholders side by side"));
        }
        match &*head.name {
            "inputs" => self.input(reference, at),
            "env" => self.environment(reference, at),
            "item" | "index" | "total" => self.loop_variable(reference, at),
            "_budget" => self.budget(reference, at, 0),
            "working" if self.is_budget(rest) => self.budget(reference, at, 1),
            "working" => {
                if let Some((node, taken)) = self.flow.names.node_at(rest)
                    && let Some(node) = self.flow.names.nodes.get(node)
                {
                    self.working_dot_node_id(reference, at, node, taken);
                    if !self.leads(Root::Working, rest) {
                        // That is the slip; what is not there behind it is no other one.
                        return (Source::Missing(Missing::Key(reference.path.len().saturating_sub(1) as u16)), 0);
                    }
                }
                self.path(Root::Working, 1, reference, at)
            }
            "output" => self.path(Root::Output, 1, reference, at),
            _ => self.path(Root::Working, 0, reference, at),
        }
    }

    /// Binds a condition's reference: `working`, `output` or `_budget`.
    pub fn condition(&self, reference: &Reference, at: Location) -> Bound {
        match reference.path.first().map(|s| &*s.name) {
            Some("_budget") => self.budget(reference, at, 0),
            Some("working") if self.is_budget(reference.path.get(1..).unwrap_or(&[])) => self.budget(reference, at, 1),
            Some("output") => self.path(Root::Output, 1, reference, at),
            _ => self.path(Root::Working, 1, reference, at),
        }
    }

    fn input(&self, reference: &Reference, at: Location) -> Bound {
        let Some(field) = reference.path.get(1) else {
            return self.no_field(reference, at, "inputs");
        };
        let rest = reference.path.get(2..).unwrap_or(&[]);
        if let Some(body) = self.body
            && let Some(bound) = body.borrow().input(&field.name)
        {
            return bound;
        }
        let inputs = self.flow.inputs;
        match inputs.shape(&field.name) {
            Some(shape) => {
                if let Some(at_segment) = shape.missing(rest) {
                    return self.undefined(
                        reference,
                        at,
                        at_segment + 2,
                        shape.keys(rest.get(..at_segment).unwrap_or(&[])),
                    );
                }
                inputs.read(reference, at);
                if let Some(default) = inputs.default(&field.name).filter(|_| reference.default.is_none()) {
                    self.not_by_default(reference, at, default, rest);
                }
                (self.close(Source::Slot(inputs.slot)), 1)
            }
            // Perhaps a factory's input, if anybody used the agent.
            None if self.who == Reading::Nobody
                && (self.flow.manifest.gives(&field.name)
                    || suggest::near(&field.name, inputs.names()).is_none_or(|near| !near.sure)) =>
            {
                (Source::Missing(Missing::Key(1)), 0)
            }
            None => {
                inputs.lack(reference);
                let mut names: Vec<String> = inputs.names().map(str::to_owned).collect();
                names.extend(self.body.iter().flat_map(|b| b.borrow().input_names()));
                self.undefined(reference, at, 1, names.iter().map(String::as_str).collect())
            }
        }
    }

    fn environment(&self, reference: &Reference, at: Location) -> Bound {
        if reference.path.len() < 2 {
            return self.no_field(reference, at, "env");
        }
        if reference.path.len() > 2 {
            return self.undefined(reference, at, 2, Vec::new());
        }
        if let Some(key) = self.decides {
            self.flow.reader.report(
                Diagnostic::error(
                    "env-decides",
                    at,
                    format!(
                        "`{}` cannot be used in `{key}`: what a run does must not depend on the environment",
                        reference.dotted()
                    ),
                )
                .help("pass the value in as a field of `input`"),
            );
        }
        (Source::Environment, 1)
    }

    fn loop_variable(&self, reference: &Reference, at: Location) -> Bound {
        let head = reference.path.first().map_or("", |s| &*s.name);
        let slot = self.body.and_then(|body| body.borrow().variable(head));
        if let Some(slot) = slot {
            if head != "item" && reference.path.len() > 1 {
                return self.undefined(reference, at, 1, Vec::new());
            }
            if let Some(body) = self.body {
                let mut body = body.borrow_mut();
                body.reads_item |= head == "item";
                body.reads_index |= head == "index";
            }
            if head == "item" && reference.default.is_none() {
                self.no_item_has(reference, at);
            }
            return (Source::Slot(slot), 1);
        }
        if reference.default.is_none() && self.who != Reading::Nobody {
            let message = if self.body.is_some() {
                format!("`{head}` is not defined with `swarm_size`: there is no list")
            } else {
                format!("`{head}` is defined only inside a factory")
            };
            let mut d = Diagnostic::error("loop-variable", at, message);
            d = match self.who {
                Reading::Node(node) if !self.is_factory(node) => d.help(format!(
                    "node `{}` is not a factory; use `{{{{ {} | default('...') }}}}` where an agent works in both",
                    self.id(node),
                    reference.dotted()
                )),
                _ => d.help("it stands for the list element in a factory's `inputs` and in its agents' prompts"),
            };
            self.flow.reader.report(d);
        }
        (Source::Missing(Missing::OutsideLoop), 0)
    }

    fn is_factory(&self, node: usize) -> bool {
        let node = self.flow.manifest.nodes.get(node);
        node.is_some_and(|n| matches!(n.kind, crate::sirenspec::manifest::NodeKind::Factory(_)))
    }

    /// Whether a path under `working` is what was spent so far, which stands there as well.
    fn is_budget(&self, path: &[Segment]) -> bool {
        path.first().is_some_and(|s| &*s.name == "_budget") && !self.flow.names.look(Root::Working, path).seeded
    }

    /// What was spent so far, after `base` segments.
    fn budget(&self, reference: &Reference, at: Location, base: usize) -> Bound {
        const FIELDS: [&str; 2] = ["total_tokens", "estimated_usd"];
        if let Some(field) = reference.path.get(base + 1)
            && !FIELDS.contains(&&*field.name)
        {
            return self.undefined(reference, at, base + 1, FIELDS.to_vec());
        }
        let skip = base as u16 + 1;
        let mut spent: Vec<SlotId> = Vec::new();
        let slot = |node: usize| self.flow.names.nodes.get(node).map(|n| n.slot);
        if let (Some(order), Reading::Node(node) | Reading::EdgeFrom(node)) = (&self.flow.links.order, self.who) {
            spent.extend(order.preceding(node).filter_map(slot));
        }
        if let Reading::EdgeFrom(node) = self.who {
            spent.extend(slot(node));
        }
        if spent.is_empty() {
            let nothing: Object = [("total_tokens".into(), Value::from(0i64)), ("estimated_usd".into(), Value::Null)]
                .into_iter()
                .collect();
            return (Source::Const(Value::Object(Arc::new(nothing))), skip);
        }
        (self.close(Source::Spent(spent)), skip)
    }

    /// A path under `working` or `output`, after `base` segments that name the tree.
    fn path(&self, root: Root, base: usize, reference: &Reference, at: Location) -> Bound {
        let path = reference.path.get(base..).unwrap_or(&[]);
        if path.is_empty() {
            return (self.close(self.whole(root)), base as u16);
        }
        let names = self.flow.names;
        let mut look = names.look(root, path);
        if let Some((node, taken)) = look.named
            && self.who == Reading::Node(node)
            && !self.own.is_empty()
            && path.get(taken).is_some_and(|s| &*s.name == "agents")
        {
            return self.own_context(node, base + taken, reference, at);
        }
        let late: Vec<usize> = look.writes.iter().copied().filter(|w| !self.written(*w)).collect();
        look.writes.retain(|w| self.written(*w));
        let provided = look.seeded || look.writes.iter().any(|w| names.provides(*w, path));
        let node = look.named.filter(|_| look.in_node);
        let node = match node {
            Some((node, taken)) if self.who == Reading::Node(node) => {
                if !provided {
                    return self.own_context(node, base + taken, reference, at);
                }
                None
            }
            Some((node, _)) if !self.ended(node) => {
                if !provided {
                    return self.too_early(reference, at, node, false);
                }
                None
            }
            node => node,
        };
        if !provided && node.is_none() {
            let later = late.iter().find(|w| names.provides(**w, path)).and_then(|w| names.writes.get(*w));
            return match later {
                Some(write) if self.who == Reading::Node(write.node) => self.own_output(reference, at, write.node),
                Some(write) => self.too_early(reference, at, write.node, true),
                None => self.unknown_path(root, base, &look, reference, at),
            };
        }
        if look.seeded && node.is_none() && names.seeded(root, path).is_some_and(Value::is_null) {
            self.seeded_null(&look, reference, at);
        }
        self.perhaps(&look, node, path, reference, at);
        let bound = match (provided, node) {
            (false, Some((node, taken))) => self.in_node(node, base + taken, reference),
            (true, None) => self.in_tree(root, base, &look, path),
            _ => {
                let laid = node.and_then(|(node, _)| names.nodes.get(node)).map(lay_node);
                match laid {
                    Some(second) => {
                        let first = self.composed(root, path, &look.writes);
                        (Source::Either(Box::new(first), Box::new(second)), base as u16)
                    }
                    None => self.in_tree(root, base, &look, path),
                }
            }
        };
        (self.close(bound.0), bound.1)
    }

    /// A node's context, alone.
    fn in_node(&self, node: usize, skip: usize, reference: &Reference) -> Bound {
        let Some(node) = self.flow.names.nodes.get(node) else { return (Source::Missing(Missing::Key(0)), 0) };
        let rest = reference.path.get(skip..).unwrap_or(&[]);
        match (node.exports, rest) {
            (Some(under), [output, _, ..]) if &*output.name == "output" => {
                (Source::Layered { top: node.slot, path: vec!["output".into()], under }, skip as u16 + 1)
            }
            _ => (Source::Slot(node.slot), skip as u16),
        }
    }

    /// Written and seeded values, alone.
    fn in_tree(&self, root: Root, base: usize, look: &Look, path: &[Segment]) -> Bound {
        let names = self.flow.names;
        if let [write] = look.writes.as_slice()
            && let Some(write) = names.writes.get(*write)
            && write.path.len() <= path.len()
            && path.first().is_some_and(|s| names.seeds(root).get(&s.name).is_none())
            && self.surely(&[write.node])
            && let Some(node) = names.nodes.get(write.node)
        {
            return (Source::Member(node.slot, write.member.clone()), (base + write.path.len()) as u16);
        }
        (self.composed(root, path, &look.writes), base as u16)
    }

    /// The part of a tree that a path leads into.
    fn composed(&self, root: Root, path: &[Segment], writes: &[usize]) -> Source {
        let mut seed = Object::default();
        if let Some(head) = path.first()
            && let Some(value) = self.flow.names.seeds(root).get(&head.name)
        {
            seed.insert(head.name.clone(), value.clone());
        }
        laid_over(seed, self.flow.parts(writes))
    }

    /// A whole tree, as far as it is there by now.
    fn whole(&self, root: Root) -> Source {
        let names = self.flow.names;
        let mut parts = Vec::new();
        if root == Root::Working {
            let ended = names.nodes.iter().enumerate().filter(|(at, _)| self.ended(*at));
            parts.extend(ended.map(|(_, n)| Part { at: segments(&n.id.value), slot: n.slot, member: Vec::new() }));
        }
        let written: Vec<usize> = (0..names.writes.len())
            .filter(|w| names.writes.get(*w).is_some_and(|write| write.root == root) && self.written(*w))
            .collect();
        parts.extend(self.flow.parts(&written));
        laid_over(names.seeds(root).clone(), parts)
    }

    /// The reader's own context: its swarm's agents, and nothing else.
    fn own_context(&self, node: usize, skip: usize, reference: &Reference, at: Location) -> Bound {
        match reference.path.get(skip..).unwrap_or(&[]) {
            [agents, agent, ..] if &*agents.name == "agents" && !self.own.is_empty() => {
                match self.own.iter().find(|(id, _)| *id == agent.name) {
                    Some((_, slot)) => {
                        self.perhaps_failed(reference, at, &agent.name);
                        (Source::Slot(*slot), skip as u16 + 2)
                    }
                    None => {
                        let known = self.own.iter().map(|(id, _)| &**id).collect();
                        self.undefined(reference, at, skip + 1, known)
                    }
                }
            }
            [] | [_] if !self.own.is_empty() && reference.path.get(skip).is_none_or(|s| &*s.name == "agents") => {
                let parts = self
                    .own
                    .iter()
                    .map(|(id, slot)| Part { at: vec!["agents".into(), id.clone()], slot: *slot, member: Vec::new() })
                    .collect();
                let seed: Object = [("agents".into(), Value::Object(Arc::default()))].into_iter().collect();
                (Source::Compose { seed: Value::Object(Arc::new(seed)), parts }, skip as u16)
            }
            _ => self.own_output(reference, at, node),
        }
    }

    /// A node's id.
    pub fn id(&self, node: usize) -> &str {
        self.flow.names.nodes.get(node).map_or("", |n| &*n.id.value)
    }

    /// Whether a node has ended by now.
    pub(super) fn ended(&self, node: usize) -> bool {
        match (&self.flow.links.order, self.who) {
            (None, _) | (_, Reading::Nobody) => true,
            (Some(order), Reading::Node(me)) => order.precedes(node, me),
            (Some(order), Reading::EdgeFrom(from)) => node == from || order.precedes(node, from),
        }
    }

    fn written(&self, write: usize) -> bool {
        self.flow.names.writes.get(write).is_some_and(|w| self.ended(w.node))
    }

    /// Whether one of these nodes has left its result for sure.
    pub fn surely(&self, producers: &[usize]) -> bool {
        match self.who {
            Reading::Node(me) => self.flow.links.surely(me, producers),
            Reading::EdgeFrom(from) => {
                (producers.contains(&from) && !self.flow.links.skips(from)) || self.flow.links.surely(from, producers)
            }
            Reading::Nobody => true,
        }
    }

    /// What a body reads from outside comes in through its captures.
    fn close(&self, source: Source) -> Source {
        match self.body {
            Some(body) => body.borrow_mut().close(self.flow, source),
            None => source,
        }
    }
}

/// Parts over a seed; the seed alone is known at load.
fn laid_over(seed: Object, parts: Vec<Part>) -> Source {
    let seed = Value::Object(Arc::new(seed));
    if parts.is_empty() { Source::Const(seed) } else { Source::Compose { seed, parts } }
}

/// A node's context as a tree of its own, so that a path from the node's id leads into it.
fn lay_node(node: &NodeName<'_>) -> Source {
    let at = segments(&node.id.value);
    let seed = at.iter().rev().fold(Value::Object(Arc::default()), |inner, key| {
        Value::Object(Arc::new([(key.clone(), inner)].into_iter().collect()))
    });
    Source::Compose { seed, parts: vec![Part { at, slot: node.slot, member: Vec::new() }] }
}

/// A node's id as a path: ids may hold dots.
fn segments(id: &str) -> Vec<Arc<str>> {
    id.split('.').map(Arc::from).collect()
}

impl Workflow<'_, '_> {
    /// Written values as parts of a tree, the later node's last.
    pub fn parts(&self, writes: &[usize]) -> Vec<Part> {
        let mut parts: Vec<(usize, Part)> = writes
            .iter()
            .filter_map(|w| {
                let write = self.names.writes.get(*w)?;
                let node = self.names.nodes.get(write.node)?;
                let rank =
                    self.links.order.as_ref().and_then(|o| o.rank.get(write.node).copied()).unwrap_or(write.node);
                Some((rank, Part { at: write.path.clone(), slot: node.slot, member: write.member.clone() }))
            })
            .collect();
        parts.sort_by_key(|(rank, _)| *rank);
        parts.into_iter().map(|(_, part)| part).collect()
    }
}
