//! An agent during binding, and its result.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_syntax::Location;

use crate::agntz::manifest::Agent;
use crate::agntz::signature::Exported;
use crate::names::Members;

/// An agent and its place.
pub struct Subject<'a, 'p> {
    /// The agent.
    pub agent: &'a Agent<'p>,
    /// Its id.
    pub id: Arc<str>,
    /// The place of its name in the manifest.
    pub at: Location,
}

/// The result of an agent.
pub struct AgentOutcome {
    /// Its type.
    pub schema: Type,
    /// Where its members are declared.
    pub members: Members,
    /// Inner results.
    pub exported: Vec<Exported>,
}

impl AgentOutcome {
    /// A value of this type.
    pub fn of(schema: Type) -> Self {
        Self { schema, members: Members::default(), exported: Vec::new() }
    }
}
