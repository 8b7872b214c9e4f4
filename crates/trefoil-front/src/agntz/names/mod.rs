//! The names available in the texts of one agent, as the shared tree of names.
//!
//! An agent sees its input, the results of its own steps that have run by then, and the namespaces `env` and `secrets`.
//! It does not see the enclosing pipeline.

mod step;
mod tree;

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{SlotId, TextRole};
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{FileId, Location};
use trefoil_template::PathSegment;

use crate::agntz::signature::{AgentInputs, AgentSignature};
use crate::names::TagNotation;
use crate::names::{BoundPath, NameEntry, NameScope, PathResolution};
use crate::names::{is_there, is_variable};

/// The namespaces. They are not state: the driver fills in their values when it performs the effect
/// (`docs/decisions/secrets.md`).
pub const NAMESPACES: [&str; 2] = ["env", "secrets"];

/// The notation of tags.
pub const TAGS: TagNotation = TagNotation {
    space: "",
    statements: "the only block is `{{#if path}}...{{/if}}`, with two braces",
    comparison: Some("put the comparison in the tag: `{{#if path == literal}}`"),
};

/// The names of one agent.
#[derive(Debug, Clone)]
pub struct AgntzAgentNames {
    /// Its declared input.
    pub inputs: Arc<AgentInputs>,
    /// The slot of its input.
    pub input: SlotId,
    /// The slot of `userQuery`, if there is one.
    pub query: Option<SlotId>,
    /// The slot of its unprocessed input, if that is its message.
    pub raw: Option<SlotId>,
    /// Its steps, in order; added by [`AgntzAgentNames::add_step`].
    pub steps: Vec<StepName>,
    /// Steps by key and by alias.
    by_name: HashMap<Arc<str>, Vec<usize>>,
    /// The order of its steps.
    pub order: StepOrder,
    /// The enclosing step, if it is written inside one.
    pub outside: Option<Arc<EnclosingStep>>,
    /// The file it is in.
    pub file: FileId,
}

/// Which results steps can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOrder {
    /// Each step sees those before it.
    Once,
    /// The same, and from the second pass on all of them.
    Loop,
    /// No step sees another.
    Parallel,
}

/// The names of a step in templates.
#[derive(Debug, Clone)]
pub struct StepName {
    /// Its state key.
    pub key: Arc<str>,
    /// The text that names the step: its `stateKey`, otherwise the id of the agent inside, otherwise the `ref`.
    pub at: Location,
    /// The id, if it can be used instead of the key.
    pub alias: Option<Arc<str>>,
    /// The id of the agent it calls.
    pub id: Arc<str>,
    /// The slot of its output.
    pub slot: SlotId,
    /// The slot of its inner results.
    pub exports: Option<SlotId>,
    /// The agent that it calls, if known.
    pub callee: Option<Arc<AgentSignature>>,
    /// Its `when` as written.
    pub when: Option<Arc<str>>,
    /// Whether it is named by the id of another manifest, where that id is declared.
    pub by_ref: bool,
}

/// The context of an agent that is written inside a step.
#[derive(Debug)]
pub struct EnclosingStep {
    /// The names that the step passes to it; `None`: the step has no `input`.
    pub given: Option<Vec<YamlText>>,
    /// Whether what it passes is unknown (reported).
    pub unclear: bool,
    /// The text that names the step.
    pub step: Location,
    /// The names of the enclosing pipeline, which the agent cannot see.
    pub names: Arc<[Arc<str>]>,
}

/// The place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipelinePosition {
    /// In the step with this index.
    Step(usize),
    /// After all steps (or in an agent without steps).
    End,
}

/// What a text is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgntzTextPurpose {
    /// Part of what a model reads.
    Prompt,
    /// An argument of a tool, the input of a step, a part of the output.
    Data,
    /// Part of an http request, in which single braces are placeholders of the request.
    Request,
    /// `when`, `until`.
    Condition,
    /// Part of an unsupported feature.
    Unused,
}

impl AgntzAgentNames {
    /// The names of an agent without steps.
    pub fn new(
        inputs: Arc<AgentInputs>,
        input: SlotId,
        query: Option<SlotId>,
        outside: Option<Arc<EnclosingStep>>,
        file: FileId,
    ) -> Self {
        let (steps, by_name, order) = (Vec::new(), HashMap::default(), StepOrder::Once);
        Self { inputs, input, query, raw: None, steps, by_name, order, outside, file }
    }

    /// Adds the next step.
    pub fn add_step(&mut self, step: StepName) {
        for name in std::iter::once(&step.key).chain(&step.alias) {
            self.by_name.entry(name.clone()).or_default().push(self.steps.len());
        }
        self.steps.push(step);
    }

    /// The steps with this name, in order.
    pub fn steps_named(&self, name: &str) -> &[usize] {
        match self.by_name.get(name) {
            Some(steps) => steps,
            None => &[],
        }
    }

    /// The names that the enclosing step passes, if the agent itself declares none.
    pub fn passed_names(&self) -> Option<&[YamlText]> {
        if self.inputs.declared {
            return None;
        }
        self.outside.as_ref()?.given.as_deref()
    }

    /// Every name with which a path can start, except the namespaces.
    pub fn root_names(&self, at: PipelinePosition) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for property in &self.inputs.properties {
            names.push(property.name.clone());
        }
        if self.query.is_some() {
            names.push(Arc::from("userQuery"));
        }
        for name in self.passed_names().unwrap_or_default() {
            names.push(name.value.clone());
        }
        let visible_steps = match (self.order, at) {
            (_, PipelinePosition::End) | (StepOrder::Loop, _) => self.steps.len(),
            (StepOrder::Once, PipelinePosition::Step(here)) => here,
            (StepOrder::Parallel, PipelinePosition::Step(_)) => 0,
        };
        for step in self.steps.iter().take(visible_steps) {
            // A step without a callee (reported) has no usable name.
            if !step.id.is_empty() {
                names.push(step.key.clone());
            }
        }
        let mut seen = HashSet::default();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

/// A place in an agent.
pub struct AgntzScope {
    /// The agent's names.
    pub names: Arc<AgntzAgentNames>,
    /// The place in the agent.
    pub at: PipelinePosition,
    /// What the text is used for.
    pub purpose: AgntzTextPurpose,
    /// The same for facts.
    pub position: TextRole,
}

impl AgntzScope {
    /// A place for looking up names independently of a text's purpose.
    pub fn for_lookup(names: &Arc<AgntzAgentNames>, at: PipelinePosition) -> Self {
        Self { names: names.clone(), at, purpose: AgntzTextPurpose::Condition, position: TextRole::Condition }
    }
    /// Whether a path names something that exists.
    pub fn has_path(&self, path: &str) -> bool {
        is_there(self, &self.root_entry(), path, true)
    }
}

impl NameScope for AgntzScope {
    fn text_position(&self) -> TextRole {
        self.position
    }

    fn root_entry(&self) -> NameEntry {
        tree::root_entry(self.names.clone(), self.at)
    }

    fn tag_notation(&self) -> Option<&'static TagNotation> {
        // In an address, single braces are placeholders of the address.
        match self.position {
            TextRole::Url => None,
            _ => Some(&TAGS),
        }
    }

    // `lint` knows what else these names are called elsewhere.
    fn scope_description(&self) -> Option<&'static str> {
        None
    }

    fn is_meant(&self, path: &[PathSegment], bound: &BoundPath, _alone: bool) -> bool {
        match path {
            [root, rest @ ..] if NAMESPACES.contains(&&*root.name) => {
                matches!(rest, [name] if is_variable(&name.name))
            }
            _ => {
                let is_late = matches!(bound.entries.first(), Some(entry) if tree::is_late(entry));
                bound.end != PathResolution::Open(0) && !is_late
            }
        }
    }
}
