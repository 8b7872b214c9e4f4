//! The results of agents and workflows that a state calls, as declared in their own files.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_syntax::Location;

use crate::Document;
use crate::aegis::directory::Directory;
use crate::aegis::manifest::state::StateKind;
use crate::aegis::manifest::{self, Unit};
use crate::names::{Members, places};
use crate::read::to_value;

/// The result of a unit.
#[derive(Clone)]
pub struct Answer {
    /// Its type.
    pub schema: Type,
    /// Where its members are declared.
    pub members: Members,
}

impl Default for Answer {
    fn default() -> Self {
        Self { schema: Type::Any, members: Members::default() }
    }
}

impl Answer {
    /// The results of the units that a state calls, in order.
    pub fn of_state(directory: &Directory<'_>, state: Option<&StateKind>) -> Vec<Self> {
        let of = |unit: Unit, name: &Arc<str>| {
            let answer = directory.document(unit, name).and_then(|document| match unit {
                Unit::Agent => Self::of_agent(document),
                Unit::Workflow => Self::of_workflow(document),
            });
            answer.unwrap_or_default()
        };
        match state {
            Some(StateKind::Agent(state)) => state.agent.iter().map(|a| of(Unit::Agent, &a.value)).collect(),
            Some(StateKind::Parallel(state)) => state.agents.iter().map(|a| of(Unit::Agent, &a.agent.value)).collect(),
            Some(StateKind::Subworkflow(state)) if state.blocking => {
                state.workflow.iter().map(|w| of(Unit::Workflow, &w.value)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_agent(document: &Document) -> Option<Self> {
        let node = manifest::answer_schema(&document.root)?;
        let schema = Type::declared(&to_value(node));
        Some(Self { members: places(document.file, node, &schema), schema })
    }

    /// The type of its `output_template`; without one, that of its last state's result.
    fn of_workflow(document: &Document) -> Option<Self> {
        let template = manifest::of_metadata(&document.root, "output_template")?.mapping()?;
        let node = manifest::of_metadata(&document.root, "output_schema");
        let declared = node.map_or(Type::Any, |node| Type::declared(&to_value(node)));
        let places = node.map(|n| places(document.file, n, &declared)).unwrap_or_default();
        let keys = template.entries.iter().map(|entry| &entry.key.value);
        let schema = Type::fields(keys.map(|key| (key.clone(), declared.property(key))));
        let members = template.entries.iter().map(|entry| {
            let key = &entry.key;
            let own = || (Some(Location::new(document.file, key.content())), Members::default());
            let (at, inner) = places.get(&key.value).unwrap_or_else(own);
            (key.value.clone(), at, inner)
        });
        Some(Self { schema, members: Members::of(members.collect()) })
    }
}
