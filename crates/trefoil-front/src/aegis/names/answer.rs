//! The results of agents and workflows that a state calls, as declared in their own files.

use trefoil_ir::types::ValueType;
use trefoil_syntax::Location;
use trefoil_syntax::yaml::YamlEntry;

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
        let mut results = Vec::new();
        match state {
            Some(StateKind::Agent(state)) => {
                if let Some(agent) = &state.agent {
                    results.push(Self::of_unit(directory, AegisUnitKind::Agent, &agent.value));
                }
            }
            Some(StateKind::Parallel(state)) => {
                for branch in &state.agents {
                    results.push(Self::of_unit(directory, AegisUnitKind::Agent, &branch.agent.value));
                }
            }
            Some(StateKind::Subworkflow(state)) if state.blocking => {
                if let Some(workflow) = &state.workflow {
                    results.push(Self::of_unit(directory, AegisUnitKind::Workflow, &workflow.value));
                }
            }
            _ => {}
        }
        results
    }

    fn of_unit(directory: &AegisDirectory<'_>, unit: AegisUnitKind, name: &str) -> Self {
        let Some(document) = directory.document_of(unit, name) else { return Self::default() };
        let answer = match unit {
            AegisUnitKind::Agent => Self::of_agent(document),
            AegisUnitKind::Workflow => Self::of_workflow(document),
        };
        answer.unwrap_or_default()
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
        let mut declared = ValueType::Any;
        let mut places = MemberDeclarations::default();
        if let Some(node) = node {
            declared = ValueType::from_schema(&to_value(node));
            places = property_declarations(document.file, node, &declared);
        }
        let mut fields = Vec::with_capacity(template.entries.len());
        let mut members = Vec::with_capacity(template.entries.len());
        for YamlEntry { key, .. } in &template.entries {
            let (at, inner) = match places.get(&key.value) {
                Some(declaration) => declaration,
                None => (Some(Location::new(document.file, key.content_span())), MemberDeclarations::default()),
            };
            fields.push((key.value.clone(), declared.property_type(&key.value)));
            members.push((key.value.clone(), at, inner));
        }
        let schema = ValueType::optional_fields(fields);
        Some(Self { schema, members: MemberDeclarations::from_members(members) })
    }
}
