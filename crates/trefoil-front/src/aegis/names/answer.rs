//! The results of agents and workflows that a state calls, as declared in their own files.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_syntax::Location;

use crate::ManifestDocument;
use crate::aegis::directory::AegisDirectory;
use crate::aegis::manifest::state::StateKind;
use crate::aegis::manifest::{self, AegisUnitKind};
use crate::names::{MemberDeclarations, property_declarations};
use crate::yaml_reader::to_value;

/// The result of a unit.
#[derive(Clone)]
pub struct UnitResult {
    /// Its type.
    pub schema: ValueType,
    /// Where its members are declared.
    pub members: MemberDeclarations,
}

impl Default for UnitResult {
    fn default() -> Self {
        Self { schema: ValueType::Any, members: MemberDeclarations::default() }
    }
}

impl UnitResult {
    /// The results of the units that a state calls, in order.
    pub fn of_state(directory: &AegisDirectory<'_>, state: Option<&StateKind>) -> Vec<Self> {
        let of = |unit: AegisUnitKind, name: &Arc<str>| {
            let answer = directory.document_of(unit, name).and_then(|document| match unit {
                AegisUnitKind::Agent => Self::of_agent(document),
                AegisUnitKind::Workflow => Self::of_workflow(document),
            });
            answer.unwrap_or_default()
        };
        match state {
            Some(StateKind::Agent(state)) => state.agent.iter().map(|a| of(AegisUnitKind::Agent, &a.value)).collect(),
            Some(StateKind::Parallel(state)) => {
                state.agents.iter().map(|a| of(AegisUnitKind::Agent, &a.agent.value)).collect()
            }
            Some(StateKind::Subworkflow(state)) if state.blocking => {
                state.workflow.iter().map(|w| of(AegisUnitKind::Workflow, &w.value)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_agent(document: &ManifestDocument) -> Option<Self> {
        let node = manifest::answer_schema(&document.root)?;
        let schema = ValueType::from_schema(&to_value(node));
        Some(Self { members: property_declarations(document.file, node, &schema), schema })
    }

    /// The type of its `output_template`; without one, that of its last state's result.
    fn of_workflow(document: &ManifestDocument) -> Option<Self> {
        let template = manifest::of_metadata(&document.root, "output_template")?.as_mapping()?;
        let node = manifest::of_metadata(&document.root, "output_schema");
        let declared = node.map_or(ValueType::Any, |node| ValueType::from_schema(&to_value(node)));
        let places = node.map(|n| property_declarations(document.file, n, &declared)).unwrap_or_default();
        let keys = template.entries.iter().map(|entry| &entry.key.value);
        let schema = ValueType::optional_fields(keys.map(|key| (key.clone(), declared.property_type(key))));
        let members = template.entries.iter().map(|entry| {
            let key = &entry.key;
            let own = || (Some(Location::new(document.file, key.content_span())), MemberDeclarations::default());
            let (at, inner) = places.get(&key.value).unwrap_or_else(own);
            (key.value.clone(), at, inner)
        });
        Some(Self { schema, members: MemberDeclarations::from_members(members.collect()) })
    }
}
