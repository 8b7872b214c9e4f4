//! An agent during binding, and its result.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_syntax::Location;

use crate::agntz::manifest::AgntzAgentManifest;
use crate::agntz::signature::ExportedStep;
use crate::names::MemberDeclarations;

/// An agent and its place.
pub struct BindingSubject<'a, 'p> {
    /// The agent.
    pub agent: &'a AgntzAgentManifest<'p>,
    /// Its id.
    pub id: Arc<str>,
    /// The place of its name in the manifest.
    pub at: Location,
}

/// The result of an agent.
pub struct AgentOutcome {
    /// Its type.
    pub schema: ValueType,
    /// Where its members are declared.
    pub members: MemberDeclarations,
    /// Inner results.
    pub exported: Vec<ExportedStep>,
}

impl AgentOutcome {
    /// A value of this type.
    pub fn from_type(schema: ValueType) -> Self {
        Self { schema, members: MemberDeclarations::default(), exported: Vec::new() }
    }
}
