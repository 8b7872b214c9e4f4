//! What a caller needs to know about an agent: how it is called, its result, and the inner results that it exports.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::FlowId;
use trefoil_ir::types::ValueType;
use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::agntz::manifest::AgntzAgentManifest;
use crate::agntz::schema::{SchemaProperty, allow_null};
use crate::names::MemberDeclarations;

/// An agent as its callers see it.
#[derive(Debug)]
pub struct AgentSignature {
    /// Its id.
    pub id: Arc<str>,
    /// Where members of its output are declared.
    pub members: MemberDeclarations,
    /// Its flow.
    pub flow: FlowId,
    /// Its input contract.
    pub inputs: Arc<AgentInputs>,
    /// The type of its result.
    pub output: ValueType,
    /// The step keys of a pipeline.
    pub exports: Vec<ExportedStep>,
    /// The parts of its input that reach a model.
    pub prompted: PromptedInputs,
    /// Whether its user message is its input, because it has no `prompt`.
    pub sends_input: bool,
    /// Whether it reads its input at all.
    pub reads_input: bool,
    /// Whether it is a pipeline.
    pub is_pipeline: bool,
    /// Whether it calls a model, itself or in a step that always runs.
    pub calls_model: bool,
}

/// The parts of an agent's input that reach a model, so they must not contain secrets.
#[derive(Debug, Clone, Default)]
pub struct PromptedInputs {
    names: BTreeSet<Arc<str>>,
}

impl PromptedInputs {
    /// Adds a name. `userQuery` means the whole input, unless the input has a key with that name.
    pub fn add_name(&mut self, name: &str) {
        self.names.insert(name.into());
    }
    /// Whether the value of this key of an input map reaches a model.
    pub fn reaches_model(&self, key: &str, mut keys: impl Iterator<Item = impl AsRef<str>>) -> bool {
        self.names.contains(key) || (self.names.contains("userQuery") && !keys.any(|k| k.as_ref() == "userQuery"))
    }
}

/// A step of a pipeline, as seen by the pipeline's callers.
#[derive(Debug)]
pub struct ExportedStep {
    /// Its state key.
    pub key: Arc<str>,
    /// The id, if it can be used instead of the key.
    pub alias: Option<Arc<str>>,
    /// The type of its result.
    pub schema: ValueType,
    /// Where the step is declared.
    pub at: Option<Location>,
    /// Where members of its result are declared.
    pub members: MemberDeclarations,
    /// The step's own agent.
    pub inner: Option<Arc<AgentSignature>>,
}

impl ExportedStep {
    /// Whether a path segment names it.
    pub fn has_name(&self, name: &str) -> bool {
        &*self.key == name || self.alias.as_deref() == Some(name)
    }
}

/// The input contract.
#[derive(Debug, Clone, Default)]
pub struct AgentInputs {
    /// Whether there is an `inputSchema`.
    pub declared: bool,
    /// Whether only declared properties are allowed.
    pub closed: bool,
    /// The properties.
    pub properties: Vec<InputProperty>,
    /// Where they and their members are declared.
    pub members: MemberDeclarations,
    /// Whether null is not filled in for omitted properties (a root with `anyOf` and the like).
    pub combined: bool,
    /// Whether the input is a plain value named `userQuery`.
    pub has_query: bool,
}

/// A declared property.
#[derive(Debug, Clone)]
pub struct InputProperty {
    /// Its name.
    pub name: Arc<str>,
    /// Its schema; null is allowed unless the property is required.
    pub json: Value,
    /// Its type.
    pub of: ValueType,
    /// The same with lists, which a property takes that the shorthand calls an `object` without saying more.
    pub with_lists: Option<Value>,
    /// The value if it is omitted.
    pub default: Option<Value>,
    /// Whether null is not allowed, because a canonical schema lists it in `required`.
    pub required: bool,
    /// Whether a caller must pass it: it has no default, and the shorthand or `required` demands it.
    pub needed: bool,
    /// Where it is declared.
    pub span: trefoil_syntax::Span,
}

impl InputProperty {
    fn from_schema(property: &SchemaProperty<'_>, shorthand: bool) -> Self {
        let json = if property.required { property.json.clone() } else { allow_null(&property.json) };
        Self {
            name: property.name.value.clone(),
            with_lists: if shorthand { with_lists(&json) } else { None },
            of: ValueType::from_schema(&json),
            json,
            default: property.default.clone(),
            required: property.required,
            needed: property.default.is_none() && (property.required || shorthand),
            span: property.name.span,
        }
    }
}

impl AgentInputs {
    /// The contract that a manifest declares.
    pub fn from_agent(agent: &AgntzAgentManifest<'_>) -> Self {
        let Some(schema) = &agent.input else { return Self { has_query: true, ..Self::default() } };
        let properties =
            schema.properties.iter().map(|property| InputProperty::from_schema(property, schema.shorthand));
        Self {
            declared: true,
            // after an error nothing is certain, so do not report names because of it
            closed: schema.closed && schema.sound,
            properties: properties.collect(),
            members: MemberDeclarations::default(),
            combined: schema.combined,
            has_query: schema.sound && !schema.object,
        }
    }
    /// The property with this name.
    pub fn get(&self, name: &str) -> Option<&InputProperty> {
        self.properties.iter().find(|p| &*p.name == name)
    }
}

/// A file and the reference that leads to the next one, for cycles.
#[derive(Debug, Clone)]
pub struct CycleLink {
    /// The document.
    pub document: usize,
    /// Its id.
    pub id: Arc<str>,
    /// The reference to the next file.
    pub leaves: Option<Location>,
}

/// The schema of a property that the shorthand calls an `object` without saying more. It takes a list, too, as in the original: the word
/// is used for any structure. `None`: it is none.
fn with_lists(json: &Value) -> Option<Value> {
    let members = json.as_object()?;
    if members.keys().any(|key| !["type", "default", "description", "title", "examples"].contains(&&**key)) {
        return None;
    }
    let kinds = members.get("type")?.as_list()?;
    if !kinds.iter().any(|kind| kind.as_str() == Some("object")) || kinds.len() > 2 {
        return None;
    }
    let mut members = members.clone();
    members.insert("type".into(), Value::from([kinds, &[Value::from("array")]].concat()));
    Some(members.into())
}
