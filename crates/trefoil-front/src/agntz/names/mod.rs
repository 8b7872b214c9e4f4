//! The names of one agent: what its texts may start with, as the shared tree of names.
//!
//! An agent sees what it is given, the results of its own steps as far as they have run by then (decisions A9 to A14), and
//! the namespaces `env` and `secrets`. It does not see the pipeline around it.

mod step;
mod tree;

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{Position, SlotId};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{FileId, Location};
use trefoil_template::Segment;

use crate::agntz::signature::{Inputs, Signature};
use crate::names::Tags;
use crate::names::{Bound, Doubt, End, Entry, Place};

/// The namespaces, which are no state: the driver fills in what they hold at the effect (decisions A18, C8).
pub const NAMESPACES: [&str; 2] = ["env", "secrets"];

/// How tags are written.
pub const TAGS: Tags = Tags {
    space: "",
    statements: "the only block is `{{#if path}}...{{/if}}`, with two braces",
    comparison: Some("put the comparison in the tag: `{{#if path == literal}}`"),
};

/// The names of one agent.
#[derive(Debug, Clone)]
pub struct AgentNames {
    /// Its declared input.
    pub inputs: Arc<Inputs>,
    /// The slot of its input.
    pub input: SlotId,
    /// The slot of `userQuery`, where there is one.
    pub query: Option<SlotId>,
    /// The slot of its input as it came, where that is what it sends.
    pub raw: Option<SlotId>,
    /// Its steps, in order; added by [`AgentNames::add`].
    pub steps: Vec<StepName>,
    /// Steps by key and by alias.
    by_name: HashMap<Arc<str>, Vec<usize>>,
    /// How its steps are ordered.
    pub order: Order,
    /// What is around it, if it is written inside a step.
    pub outside: Option<Arc<Outside>>,
    /// The file it is in.
    pub file: FileId,
}

/// How steps see each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each sees those before it.
    Once,
    /// The same, and from the second pass on all of them.
    Loop,
    /// None sees another.
    Parallel,
}

/// A step as templates name it.
#[derive(Debug, Clone)]
pub struct StepName {
    /// Its state key.
    pub key: Arc<str>,
    /// What of the step names it: its `stateKey`, else the id of the agent inside, else the `ref`.
    pub at: Location,
    /// The id, where it is another way to name the key.
    pub alias: Option<Arc<str>>,
    /// The id of the agent it calls.
    pub id: Arc<str>,
    /// The slot of its output.
    pub slot: SlotId,
    /// The slot of its inner results.
    pub exports: Option<SlotId>,
    /// What it calls, as far as that is known.
    pub callee: Option<Arc<Signature>>,
    /// Its `when`, as written.
    pub when: Option<Arc<str>>,
    /// It goes by the id of another manifest, which is declared there.
    pub by_ref: bool,
}

/// What surrounds an agent that is written inside a step.
#[derive(Debug)]
pub struct Outside {
    /// The names that the step gives it; none: the step has no `input`.
    pub given: Option<Vec<Text>>,
    /// What it gives is unknown (reported).
    pub unclear: bool,
    /// What of the step names it.
    pub step: Location,
    /// The names of the pipeline around it, which it cannot see.
    pub names: Arc<[Arc<str>]>,
}

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// In the step of this index.
    Step(usize),
    /// After all steps (or in an agent without steps).
    End,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Part of what a model reads.
    Prompt,
    /// An argument of a tool, the input of a step, a part of the output.
    Data,
    /// A part of an http request, in which single braces are placeholders of its own.
    Request,
    /// `when`, `until`.
    Condition,
    /// Part of something that is not run.
    Unused,
}

impl AgentNames {
    /// Those of an agent without steps.
    pub fn new(
        inputs: Arc<Inputs>,
        input: SlotId,
        query: Option<SlotId>,
        outside: Option<Arc<Outside>>,
        file: FileId,
    ) -> Self {
        let (steps, by_name, order) = (Vec::new(), HashMap::default(), Order::Once);
        Self { inputs, input, query, raw: None, steps, by_name, order, outside, file }
    }

    /// Adds the next step.
    pub fn add(&mut self, step: StepName) {
        for name in std::iter::once(&step.key).chain(&step.alias) {
            self.by_name.entry(name.clone()).or_default().push(self.steps.len());
        }
        self.steps.push(step);
    }

    /// The steps that a name means, in order.
    pub fn named(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// What the step around it gives, where the agent itself declares nothing.
    pub fn given(&self) -> Option<&[Text]> {
        self.outside.as_ref().filter(|_| !self.inputs.declared)?.given.as_deref()
    }

    /// Every name that a template may start with, except the namespaces.
    pub fn roots(&self, at: At) -> Vec<Arc<str>> {
        let visible = |i: usize| match (self.order, at) {
            (_, At::End) | (Order::Loop, _) => true,
            (Order::Once, At::Step(here)) => i < here,
            (Order::Parallel, At::Step(_)) => false,
        };
        // A step that calls nobody (reported) has no name to write.
        let steps = self.steps.iter().enumerate().filter(|(i, s)| visible(*i) && !s.id.is_empty());
        let mut seen = HashSet::default();
        let inputs = self.inputs.properties.iter().map(|p| p.name.clone());
        let given = self.given().into_iter().flatten().map(|n| n.value.clone());
        inputs
            .chain(self.query.map(|_| Arc::from("userQuery")))
            .chain(given)
            .chain(steps.map(|(_, s)| s.key.clone()))
            .filter(|n| seen.insert(n.clone()))
            .collect()
    }
}

/// A place in an agent.
pub struct Here {
    /// The agent's names.
    pub names: Arc<AgentNames>,
    /// Where in it.
    pub at: At,
    /// What the text is for.
    pub purpose: Purpose,
    /// The same in the words of facts.
    pub position: Position,
}

impl Here {
    /// A place to look names up in, for whom it does not matter what the text is for.
    pub fn anywhere(names: &Arc<AgentNames>, at: At) -> Self {
        Self { names: names.clone(), at, purpose: Purpose::Condition, position: Position::Condition }
    }
    /// Whether a path names something that is there.
    pub fn has(&self, path: &str) -> bool {
        let path: Vec<Segment> = path.split('.').map(|name| Segment { name: name.into(), span: 0..0 }).collect();
        let bound = crate::names::bind(&self.root(), &path);
        !matches!(bound.end, End::Nothing(_)) && self.is_meant(&path, &bound, true)
    }
}

impl Place for Here {
    fn position(&self) -> Position {
        self.position
    }

    fn root(&self) -> Entry {
        tree::root(self.names.clone(), self.at)
    }

    fn tags(&self) -> Option<&'static Tags> {
        // In an address single braces are placeholders of its own.
        (self.position != Position::Url).then_some(&TAGS)
    }

    fn is_meant(&self, path: &[Segment], bound: &Bound, _alone: bool) -> bool {
        match path {
            [root, rest @ ..] if NAMESPACES.contains(&&*root.name) => {
                let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
                matches!(rest, [name] if name.name.chars().all(plain))
            }
            _ => {
                let doubt = bound.entries.first().and_then(|e| e.doubt.as_ref());
                bound.end != End::Open(0) && !matches!(doubt, Some(Doubt::Own | Doubt::Beside | Doubt::Later))
            }
        }
    }
}
