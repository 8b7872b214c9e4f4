//! What a caller has to know about an agent: how it is called, what it returns, which inner results it shows.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::FlowId;
use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::agntz::manifest::Agent;
use crate::agntz::schema::nullable;
use crate::names::Members;

/// An agent as its callers see it.
#[derive(Debug)]
pub struct Signature {
    /// Its id.
    pub id: Arc<str>,
    /// Where members of its output are declared.
    pub members: Members,
    /// Its flow.
    pub flow: FlowId,
    /// What it takes.
    pub inputs: Arc<Inputs>,
    /// The type of what it returns.
    pub output: Value,
    /// The step keys of a pipeline.
    pub exports: Vec<Exported>,
    /// What of its input reaches a model.
    pub prompted: Prompted,
    /// Its user message is its input, because it has no `prompt`.
    pub sends_input: bool,
    /// It reads its input at all.
    pub reads_input: bool,
    /// It is a pipeline.
    pub is_pipeline: bool,
    /// It calls a model, itself or in a step that always runs.
    pub calls_model: bool,
}

/// Which parts of an agent's input reach a model: where a secret must not go.
#[derive(Debug, Clone, Default)]
pub struct Prompted {
    names: BTreeSet<Arc<str>>,
}

impl Prompted {
    /// Notes a name; `userQuery` stands for the whole input unless the input has a key of that name.
    pub fn add(&mut self, name: &str) {
        self.names.insert(name.into());
    }
    /// Whether the value of this key of an input map gets there.
    pub fn reaches(&self, key: &str, mut keys: impl Iterator<Item = impl AsRef<str>>) -> bool {
        self.names.contains(key) || (self.names.contains("userQuery") && !keys.any(|k| k.as_ref() == "userQuery"))
    }
}

/// A step of a pipeline as the pipeline's callers see it.
#[derive(Debug)]
pub struct Exported {
    /// Its state key.
    pub key: Arc<str>,
    /// The id, where it is another way to name the key.
    pub alias: Option<Arc<str>>,
    /// The type of what it holds.
    pub schema: Value,
    /// Where the step is declared.
    pub at: Option<Location>,
    /// Where members of what it holds are declared.
    pub members: Members,
    /// The step's own agent.
    pub inner: Option<Arc<Signature>>,
}

impl Exported {
    /// Whether a path segment names it.
    pub fn is(&self, name: &str) -> bool {
        &*self.key == name || self.alias.as_deref() == Some(name)
    }
}

/// The input contract.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// There is an `inputSchema`.
    pub declared: bool,
    /// Only the declared properties may be given.
    pub closed: bool,
    /// The properties.
    pub properties: Vec<Property>,
    /// Where they are declared, and what is inside of them.
    pub members: Members,
    /// The properties are complete: no null is added to them (a root with `anyOf` and the like).
    pub combined: bool,
    /// The input is a plain value that `userQuery` names.
    pub has_query: bool,
}

/// A declared property.
#[derive(Debug, Clone)]
pub struct Property {
    /// Its name.
    pub name: Arc<str>,
    /// Its schema; null is allowed unless the property is required.
    pub json: Value,
    /// Used when it is left out.
    pub default: Option<Value>,
    /// Null is no value for it: a canonical schema lists it in `required`.
    pub required: bool,
    /// A caller has to give it: it has no default, and the shorthand or `required` demands it.
    pub needed: bool,
    /// Where it is declared.
    pub span: trefoil_syntax::Span,
}

impl Inputs {
    /// The contract that a manifest declares.
    pub fn of(agent: &Agent<'_>) -> Self {
        let Some(schema) = &agent.input else { return Self { has_query: true, ..Self::default() } };
        let properties = schema.properties.iter().map(|p| Property {
            name: p.name.value.clone(),
            json: if p.required { p.json.clone() } else { nullable(&p.json) },
            default: p.default.clone(),
            required: p.required,
            needed: p.default.is_none() && (p.required || schema.shorthand),
            span: p.name.span,
        });
        Self {
            declared: true,
            // after an error nothing is known for sure; do not report names because of it
            closed: schema.closed && schema.sound,
            properties: properties.collect(),
            members: Members::default(),
            combined: schema.combined,
            has_query: schema.sound && !schema.object,
        }
    }
    /// The property of a name.
    pub fn get(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|p| &*p.name == name)
    }
}

/// A file and the reference that led into it, for cycles.
#[derive(Debug, Clone)]
pub struct Link {
    /// The document.
    pub document: usize,
    /// Its id.
    pub id: Arc<str>,
    /// The reference that leads on from it.
    pub leaves: Option<Location>,
}
